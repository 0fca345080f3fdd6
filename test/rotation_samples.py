"""Rotations on which formulas break: none, tiny, quarter and half turns, nearly half turns, and random ones."""

from __future__ import annotations

import math

import numpy as np
import pinocchio
import torch
from torch import Tensor

DTYPES = (torch.float32, torch.float64)
BATCHES = ((), (1,), (5,), (2, 3), (2, 1, 3), (0,))
EULER_CONVENTIONS = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "XYX", "XZX", "YXY", "YZY", "ZXZ", "ZYZ")


def rotation_vectors(dtype: torch.dtype = torch.float64) -> Tensor:
    """Give rotation vectors `(n, 3)` [rad] with angles up to pi."""
    generator = torch.Generator().manual_seed(7)
    random = torch.randn(40, 3, dtype=torch.float64, generator=generator)
    axes = torch.cat((torch.eye(3, dtype=torch.float64), -torch.eye(3, dtype=torch.float64), random[:6]))
    axes = axes / axes.norm(dim=-1, keepdim=True)
    angles = (0.0, 1e-12, 1e-7, 1e-3, 0.5, 1.0, math.pi / 2, 2.0, math.pi - 1e-3, math.pi - 1e-7, math.pi)
    special = torch.cat([angle * axes for angle in angles])
    wrapped = random * (
        math.pi * torch.rand(40, 1, dtype=torch.float64, generator=generator) / random.norm(dim=-1, keepdim=True)
    )
    return torch.cat((special, wrapped)).to(dtype)


def rotation_matrices(dtype: torch.dtype = torch.float64) -> Tensor:
    """Give the matrices `(n, 3, 3)` of `rotation_vectors`, made by Pinocchio."""
    return torch.from_numpy(np.stack([pinocchio.exp3(v) for v in rotation_vectors().numpy()])).to(dtype)


def rounding(dtype: torch.dtype) -> float:
    """Give what a conversion of numbers of order one may lose: some units in the last place."""
    return 8.0 * torch.finfo(dtype).eps


def turned_by(axis: tuple[float, float, float], angle: float) -> Tensor:
    """Give one rotation matrix `(3, 3)` in float64, made by Pinocchio."""
    unit = np.array(axis) / np.linalg.norm(axis)
    return torch.from_numpy(pinocchio.exp3(unit * angle))
