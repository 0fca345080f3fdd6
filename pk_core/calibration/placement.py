"""Base and tool from anywhere: found before all else, with the robot as it is, since what is far off hides the rest.

By the positions alone at first: rotations have local minima, half a turn away. And by no loss that fades with distance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from ..transforms.rotation import matrix_product
from ..transforms.se3 import homogeneous
from .measurements import Measurements
from .options import CalibrationOptions
from .parameters import ModelParameters
from .solver import fit, residuals_of

CLEARLY = 0.5  # of the error: so much better is not by chance


def roughly_placed(start: ModelParameters, data: Measurements, options: CalibrationOptions) -> ModelParameters:
    """Fit base and tool where they are to be found; leave all else as it is."""
    outer = replace(start, blocks=tuple(block for block in start.blocks if block.kind in ("base", "tool")))
    if not outer.blocks:
        return start
    options = options if options.loss == "squared" else replace(options, loss="huber", threshold=None)
    positions = replace(data, rotation=None)
    here = fit(outer, positions, options).parameters
    if outer.value_of("base") is not None:
        there = fit(_aligned(outer, positions), positions, options).parameters
        error, other = (residuals_of(fitted, positions).norm(dim=-1).median() for fitted in (here, there))
        here = there if other < CLEARLY * error else here
    if data.rotation is not None:
        here = fit(_turned(here, data), data, options).parameters
    found = {block.kind: block for block in here.blocks}
    return replace(start, blocks=tuple(found.get(block.kind, block) for block in start.blocks))


def _aligned(outer: ModelParameters, data: Measurements) -> ModelParameters:
    """Move the base so that the modelled positions lie on the measured, as well as they can.

    Source: Kabsch, A solution for the best rotation to relate two sets of vectors, 1976.
    """
    modelled = outer.poses(data.q)[:, :3, 3]
    centre, other = modelled.mean(0), data.position.mean(0)
    R = _nearest_rotation((data.position - other).mT @ (modelled - centre))
    return _with(outer, "base", lambda base: matrix_product(homogeneous(R, other - R @ centre), base))


def _turned(outer: ModelParameters, data: Measurements) -> ModelParameters:
    """Turn the tool to the mean of the measured rotations: positions don't tell how it is turned."""
    R = outer.poses(data.q)[:, :3, :3]
    turn = _nearest_rotation(matrix_product(R.mT, data.rotation).sum(0))
    return _with(outer, "tool", lambda tool: matrix_product(tool, homogeneous(turn, torch.zeros_like(turn[0]))))


def _with(outer: ModelParameters, kind: str, change: Callable[[Tensor], Tensor]) -> ModelParameters:
    blocks = (replace(b, value=change(b.value)) if b.kind == kind else b for b in outer.blocks)
    return replace(outer, blocks=tuple(blocks))


def _nearest_rotation(matrix: Tensor) -> Tensor:
    """Give the rotation (3, 3) nearest to a matrix."""
    U, _, Vh = torch.linalg.svd(matrix)
    return torch.cat([U[:, :2], U[:, 2:] * torch.linalg.det(U @ Vh)], 1) @ Vh
