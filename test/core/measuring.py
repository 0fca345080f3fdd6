"""Robots that differ from their descriptions, and instruments that measure them with noise."""

from __future__ import annotations

import math

import torch
from torch import Tensor

import pk_core as pk
from pk_core import Chain

NOISE = 1e-4  # of a coordinate [m] and of a rotation about an axis [rad]


def small(scales: list[float], generator: torch.Generator) -> Tensor:
    """Draw numbers up to these sizes."""
    return torch.tensor(scales, dtype=torch.float64) * (
        2 * torch.rand(len(scales), dtype=torch.float64, generator=generator) - 1
    )


def perturbed(chain: Chain, generator: torch.Generator, position: float = 5e-3, degrees: float = 1.0) -> Chain:
    """Move the origins of all joints by up to so much along and about each axis."""
    moved = {}
    for joint in chain.get_joints(exclude_fixed=False):
        twist = small([position] * 3 + [math.radians(degrees)] * 3, generator)
        moved[joint.name] = torch.tensor(joint.origin.matrix(), dtype=torch.float64) @ pk.se3_exp_map(twist)
    return chain.with_parameters(origins=moved)


def placed(generator: torch.Generator, reach: float) -> Tensor:
    """Draw a pose (4, 4), turned anyhow."""
    T = torch.eye(4, dtype=torch.float64)
    T[:3, :3] = pk.random_rotation(dtype=torch.float64, generator=generator)
    T[:3, 3] = small([reach] * 3, generator)
    return T


def seen(T: Tensor, generator: torch.Generator, position: float = NOISE, rotation: float = NOISE) -> Tensor:
    """Measure poses (n, 4, 4) with normal noise."""
    twist = torch.randn(len(T), 6, dtype=torch.float64, generator=generator)
    noisy = T.clone()
    noisy[:, :3, :3] = pk.so3_exp_map(rotation * twist[:, 3:]) @ T[:, :3, :3]
    noisy[:, :3, 3] += position * twist[:, :3]
    return noisy


def tips(chain: Chain, q: Tensor, frame: str, tool: Tensor | None = None) -> Tensor:
    """Give the poses (n, 4, 4) of a frame, or of a tool on it."""
    T = Chain.forward_kinematics(chain, q)[frame].get_matrix()
    return T if tool is None else T @ tool
