"""From what callers of the solver hand in to the records that the kernel takes."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from ..chain import Chain
from ..configuration import limits, neutral, quaternion_columns
from ..errors import ShapeError
from ..tree import Tree
from .options import IKOptionError, IKOptions, numbers
from .problem import make_problem
from .records import Options, Problem
from .targets import as_matrices

Bounds = tuple[tuple[float, ...], tuple[float, ...]]


def pose_problem(options: IKOptions, tree: Tree) -> tuple[Problem, Bounds]:
    """Give the problem of placing the only frame of a pruned tree, and the limits (low, high) of all coordinates.

    Raises:
        IKOptionError, UnknownJoint, ModelError: limits, margins or locked joints that don't fit the tree.
    """
    locked, bounds = frozenset(options.locked_joints), _bounds(options, tree)
    problem = make_problem(tree, locked, bounds)
    if not np.any(options.limit_margin):
        return problem, bounds
    bounds = _narrowed(bounds, numbers("limit_margin", options.limit_margin), problem.movable, tree)
    return make_problem(tree, locked, bounds), bounds


def seed_tensor(seeds: object, chain: Chain, batch: torch.Size) -> Tensor | None:
    """Give seeds as (*batch, nq) or (1, nq).

    Raises:
        ShapeError: neither one configuration nor one for each target.
    """
    if seeds is None:
        return None
    q = chain.ensure_tensor(seeds)
    if q.shape[:-1] not in ((1,), batch):
        raise ShapeError(f"seeds have shape {tuple(q.shape)}; they must be ({chain.nq},) or {(*batch, chain.nq)}")
    return q


def seed_rows(seeds: Tensor | None, bounds: Bounds) -> np.ndarray:
    """Give (n or 1, number of seeds, nq) float64, inside the limits."""
    low, high = (np.array(bound) for bound in bounds)
    if seeds is None:
        return np.empty((1, 0, len(low)))
    rows = seeds.detach().reshape(math.prod(seeds.shape[:-1]), 1, len(low)).to("cpu", torch.float64).numpy()
    return np.ascontiguousarray(np.maximum(np.minimum(rows, high), low))


def sound(rows: np.ndarray, tree: Tree) -> np.ndarray:
    """Say which rows of seeds hold finite numbers and no zero quaternion, (n or 1,) bool."""
    good = np.isfinite(rows).all((1, 2))
    for columns in quaternion_columns(tree):
        good &= (rows[..., columns] != 0).any(-1).all(-1)
    return good


def weight_axes(options: IKOptions, base: Tensor | None) -> Tensor | None:
    """Give the axes of the weights as the columns of rotations (n or 1, 3, 3); None for those of the tip."""
    if options.weights_frame == "tool" or options.weights is None:
        return None
    if base is None:
        return torch.eye(3, device="cpu").unsqueeze(0)
    return as_matrices(base)[0][..., :3, :3].mT.detach()


def call_record(
    options: IKOptions,
    rows: np.ndarray,
    valid: np.ndarray,
    tree: Tree,
    bounds: Bounds,
    batch: torch.Size,
    axes: Tensor | None,
) -> Options:
    """Bring options to the types that the kernel was compiled for."""
    return Options(
        targets=rows,
        valid=valid,
        tolerances=_tolerances(options, batch),
        base=np.clip(neutral(tree), *bounds),
        weights=unit_weights(options),
        weight_axes=np.empty((0, 9))
        if axes is None
        else axes.to("cpu", torch.float64).reshape(-1, 9).contiguous().numpy(),
        weighted=options.weights is not None,
        full_position=bool(unit_weights(options)[:3].all()),
        max_iterations=int(options.max_iterations),
        max_restarts=int(options.max_restarts),
        patience=int(options.patience),
        damping=float(options.damping),
        gain=float(options.gain),
        distinct=float(options.distinct),
        random_seed=int(options.random_seed) % 2**63,  # the kernel takes signed 64 bits
        stop=np.zeros(1, dtype=np.int64),
    )


def unit_weights(options: IKOptions) -> np.ndarray:
    """Give the six weights, the largest of them 1."""
    weights = np.ones(6) if options.weights is None else numbers("weights", options.weights)
    return weights / weights.max()


def _bounds(options: IKOptions, tree: Tree) -> Bounds:
    low, high = limits(tree) if options.joint_limits is None else options.joint_limits
    bounds = tuple(float(bound) for bound in low), tuple(float(bound) for bound in high)
    if any(len(bound) != tree.nq for bound in bounds) or any(math.isnan(x) for bound in bounds for x in bound):
        raise IKOptionError(f"joint_limits must be (low, high) of {tree.nq} numbers each, got {options.joint_limits}")
    return bounds


def _narrowed(bounds: Bounds, margin: np.ndarray, movable: np.ndarray, tree: Tree) -> Bounds:
    """Take a margin off both ends of the range of the joints that move."""
    if margin.shape not in ((), (tree.nq,)):
        raise IKOptionError(f"limit_margin must be one number or {tree.nq}, got {len(margin)}")
    kept = np.zeros(tree.nq)
    kept[movable] = np.broadcast_to(margin, tree.nq)[movable]
    low, high = np.array(bounds[0]) + kept, np.array(bounds[1]) - kept
    for column in movable:
        if low[column] > high[column]:
            name = [name for span in tree.spans for name in span.names][column]
            raise IKOptionError(
                f"limit_margin {kept[column]:g} leaves joint {name!r} nothing of its range "
                f"{bounds[0][column]:g} .. {bounds[1][column]:g}"
            )
    return tuple(low.tolist()), tuple(high.tolist())


def _tolerances(options: IKOptions, batch: torch.Size) -> np.ndarray:
    """Give (n, 2) [m], [rad]: what the options say for each target."""
    tolerances = np.empty((*batch, 2))
    for column, name in enumerate(("position_tolerance", "rotation_tolerance")):
        value = numbers(name, getattr(options, name))
        try:
            tolerances[..., column] = value
        except ValueError:
            raise ShapeError(
                f"{name} has shape {value.shape}; it must be one number, or broadcast with the batch {tuple(batch)} of targets"
            ) from None
    return tolerances.reshape(-1, 2)
