"""From what callers of the solver hand in to the records that the kernel takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from ..chain import Chain
from ..configuration import limits, neutral, quaternion_columns
from ..errors import ShapeError
from ..kinematics import TreeTensors
from ..tree import Tree
from .options import OBJECTIVES, TOLERANCES, IKOptionError, IKOptions, numbers
from .problem import Bounds, make_problem
from .records import WRAPS, Options, Problem
from .targets import as_matrices

SETUPS = 64  # at most for one set of frames


@dataclass(frozen=True, eq=False)
class Setup:
    """What calls of the same frames with the same options share.

    Attributes:
        exact: the tree in float64.
        low, high: (nq,) limits of all coordinates.
        call: the record for the kernel, but for what each call gives.
        tolerances: (1, 2), or None where rows have their own.
        objective: as the kernel takes it, or None.
        posture: (1, nq), or None where it is the seed.
    """

    exact: TreeTensors
    problem: Problem
    low: np.ndarray
    high: np.ndarray
    names: tuple[str, ...]
    call: Options
    tolerances: np.ndarray | None
    objective: int | None
    posture: np.ndarray | None
    no_seeds: tuple[np.ndarray, np.ndarray, np.ndarray]


_setups: WeakKeyDictionary[TreeTensors, dict[tuple, Setup]] = WeakKeyDictionary()


def prepare(tensors: TreeTensors, options: IKOptions) -> Setup:
    """Give the setup for the frames of a pruned tree, made once for options of the same values."""
    of_tree = _setups.get(tensors)
    if of_tree is None:
        of_tree = _setups[tensors] = {}
    key = options.key()
    setup = of_tree.get(key)
    if setup is None:
        if len(of_tree) >= SETUPS:
            of_tree.clear()
        setup = of_tree[key] = _setup(tensors.numeric_tree, options)
    return setup


def _setup(tree: Tree, options: IKOptions) -> Setup:
    problem, bounds = pose_problem(options, tree)
    low, high = (np.array(bound) for bound in bounds)
    base = np.clip(neutral(tree), low, high)
    no_seeds = np.empty((1, 0, tree.nq)), np.empty((1, 0), np.uint64), np.ones(1, np.bool_)
    objective = None if options.objective is None else OBJECTIVES.index(options.objective)
    return Setup(
        exact=TreeTensors.make(tree, torch.float64, torch.device("cpu")),
        problem=problem,
        low=low,
        high=high,
        names=tuple(name for span in tree.spans for name in span.names),
        call=_template(options, base),
        tolerances=_tolerances(options, torch.Size([1])) if None not in options.key()[:2] else None,
        objective=objective,
        posture=_posture(options, base),
        no_seeds=no_seeds,
    )


def pose_problem(options: IKOptions, tree: Tree) -> tuple[Problem, Bounds]:
    """Give the problem of placing the frames of a pruned tree, and the limits (low, high) of all coordinates.

    Raises:
        IKOptionError, UnknownJoint, ModelError: limits, margins or locked joints that don't fit the tree.
    """
    locked, bounds = (frozenset(options.locked_joints), frozenset(options.unlocked_joints)), _bounds(options, tree)
    problem = make_problem(tree, *locked, bounds)
    if not np.any(options.limit_margin):
        return problem, bounds
    bounds = _narrowed(bounds, np.array(options.limit_margin), _limited(problem), tree)
    return make_problem(tree, *locked, bounds), bounds


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


def seed_rows(seeds: Tensor | None, setup: Setup) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give (n or 1, number of seeds, nq) float64, inside the limits; the same as integers; and which rows are sound.

    Sound rows hold finite numbers and no zero quaternion.
    """
    if seeds is None:
        return setup.no_seeds
    nq = len(setup.low)
    given = seeds.detach().reshape(math.prod(seeds.shape[:-1]), 1, nq).to("cpu", torch.float64).numpy()
    rows = np.ascontiguousarray(np.maximum(np.minimum(given, setup.high), setup.low))
    sound = np.isfinite(rows).all((1, 2))
    for columns in quaternion_columns(setup.exact.tree):
        sound &= (rows[..., columns] != 0).any(-1).all(-1)
    return rows, rows.reshape(len(rows), nq).view(np.uint64), sound


def weight_axes(options: IKOptions, base: Tensor | None) -> Tensor | None:
    """Give the axes of the weights as the columns of rotations (n or 1, 3, 3); None for those of the tip."""
    if options.weights_frame == "tool" or options.weights is None:
        return None
    if base is None:
        return torch.eye(3, device="cpu").unsqueeze(0)
    return as_matrices(base)[0][..., :3, :3].mT.detach()


def call_record(
    options: IKOptions, setup: Setup, given: np.ndarray, starts: np.ndarray, batch: torch.Size, axes: Tensor | None
) -> Options:
    """Fill in what this call gives: target matrices (n, t, 16), starts and axes of the weights."""
    posture = setup.posture
    if posture is None:
        posture = starts[:, 0] if starts.shape[1] else setup.call.base[None]
    return setup.call._replace(
        given=given,
        bits=given.reshape(len(given), 16 * given.shape[1]).view(np.uint64),
        tolerances=_tolerances(options, batch) if setup.tolerances is None else setup.tolerances,
        weight_axes=setup.call.weight_axes
        if axes is None
        else axes.to("cpu", torch.float64).reshape(-1, 9).contiguous().numpy(),
        posture=np.ascontiguousarray(posture),
        stop=np.zeros(1, dtype=np.int64),
    )


def _template(options: IKOptions, base: np.ndarray) -> Options:
    """Bring options to the types that the kernel was compiled for."""
    none = np.empty(0)
    return Options(
        given=none,
        bits=none,
        tolerances=none,
        base=base,
        weights=unit_weights(options),
        weight_axes=np.empty((0, 9)),
        weighted=options.weights is not None,
        full_position=bool(unit_weights(options)[:3].all()),
        max_iterations=int(options.max_iterations),
        max_restarts=int(options.max_restarts),
        patience=int(options.patience),
        damping=float(options.damping),
        gain=float(options.gain),
        distinct=float(options.distinct),
        posture=none,
        random_seed=int(options.random_seed) % 2**63,  # the kernel takes signed 64 bits
        stop=none,
    )


def _posture(options: IKOptions, base: np.ndarray) -> np.ndarray | None:
    """Give the posture to come near to, (1, nq); None where it is the seed."""
    if options.posture is None:
        return None if options.objective == "posture" else base[None]
    posture = np.array(options.posture)
    if posture.shape != base.shape or not np.isfinite(posture).all():
        raise IKOptionError(f"posture must be {len(base)} finite numbers, got shape {posture.shape}: {posture}")
    return posture[None]


def _limited(problem: Problem) -> np.ndarray:
    """Give the columns that have a range of numbers, (n,)."""
    return problem.movable[problem.ways <= WRAPS]


def unit_weights(options: IKOptions) -> np.ndarray:
    """Give the six weights, the largest of them 1."""
    weights = np.ones(6) if options.weights is None else numbers("weights", options.weights)
    return weights / weights.max()


def _bounds(options: IKOptions, tree: Tree) -> Bounds:
    low, high = limits(tree) if options.joint_limits is None else options.joint_limits
    bounds = tuple(low), tuple(high)
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
    for column, name in enumerate(TOLERANCES):
        value = numbers(name, getattr(options, name))
        try:
            tolerances[..., column] = value
        except ValueError:
            raise ShapeError(
                f"{name} has shape {value.shape}; it must be one number, or broadcast with the batch {tuple(batch)} of targets"
            ) from None
    return tolerances.reshape(-1, 2)
