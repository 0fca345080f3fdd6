"""What all targets of a chain's frames share, made once: the paths, the limits, where attempts start."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ..errors import ModelError, UnknownJoint
from ..tree import FREE, SCALAR, Tree
from . import seeds
from .options import IKOptionError
from .path import UNLOCKABLE, Paths, make_paths, movable_nodes
from .records import FOLLOWS, MULTIPLIER, PLAIN, PUSHES, SLIDE, SPINS, TURN, WRAPS, Problem

TURN_CAP = 1.0  # beyond it a step of an angle says little [rad]; a slide is linear and may go all the way
LANES = 8  # nodes are padded to a multiple

Bounds = tuple[tuple[float, ...], tuple[float, ...]]


@lru_cache(maxsize=256)
def make_problem(tree: Tree, locked: frozenset[str], unlocked: frozenset[str], bounds: Bounds) -> Problem:
    """Make the problem of placing the frames of a pruned tree with q inside bounds (low, high).

    Raises:
        UnknownJoint: a locked or unlocked joint that the chain does not have.
        IKOptionError: a joint to unlock is none of those that are locked.
        ModelError: a joint that has to move has a lower limit above its upper one.
    """
    _check_names(tree, locked, unlocked)
    low, high = (np.array(bound) for bound in bounds)
    paths = make_paths(tree, low, high)
    nodes = movable_nodes(tree, paths, locked, unlocked)
    movable, ways, slots = _coordinates(paths, nodes)
    _check_limits(tree, movable[ways == PLAIN], low, high)
    free = ways != PLAIN
    low, high = np.where(free, -np.inf, low[movable]), np.where(free, np.inf, high[movable])
    turns = np.array([way == PLAIN and _turns(paths, column) for column, way in zip(movable, ways)], dtype=np.bool_)
    slides, length = (ways == PUSHES) | ((ways == PLAIN) & _slides(paths, movable)), _length(paths)
    for k in np.flatnonzero(ways == PUSHES):
        slides[k : k + 3] = True
    start, end = seeds.sampling_range(low, high, turns, float(paths.reach[:, 3].max()))
    ways = np.where(turns & (high - low >= 2 * math.pi), WRAPS, ways)
    ease, cap = np.where(slides, length**2, 1.0), np.where(slides, np.inf, TURN_CAP)
    steps = seeds.kronecker_steps(len(movable))
    return Problem(
        nodes=np.stack([paths.parents, paths.kinds, paths.columns, slots], 1),
        origins=paths.origins,
        motions=_padded(paths.motions),
        columns=_padded(paths.columns[: paths.motions.shape[1]]),
        coordinates=np.stack([low, high, ease, cap, start, end - start, steps]),
        movable=movable,
        ways=ways,
        turns=turns,
        reach=paths.reach,
        scale=1.0 / length,
    )


def _coordinates(paths: Paths, nodes: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Give the columns (m,) and ways (m,) of the coordinates that move, in the order of q, and the first of each node."""
    slots, rows, first = np.full(len(paths.kinds), -1, dtype=np.int64), [], {}
    for column, kind in sorted({(int(paths.columns[i]), int(paths.kinds[i])) for i in nodes}):
        first[column] = len(rows)
        if kind == SCALAR:
            rows.append((column, PLAIN))
            continue
        if kind == FREE:
            rows += [(column, PUSHES), (column, FOLLOWS), (column, FOLLOWS)]
            column += 3
        rows += [(column, SPINS), (column, FOLLOWS), (column, FOLLOWS)]
    for i in nodes:
        slots[i] = first[int(paths.columns[i])]
    movable, ways = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    return np.ascontiguousarray(movable), np.ascontiguousarray(ways), slots


def _padded(rows: np.ndarray) -> np.ndarray:
    """Pad the last dimension with zeros to a multiple of LANES, at least one."""
    n = rows.shape[-1]
    lanes = max(1, -(-n // LANES)) * LANES
    return np.concatenate([rows, np.zeros((*rows.shape[:-1], lanes - n), rows.dtype)], -1)


def _slides(paths: Paths, movable: np.ndarray) -> np.ndarray:
    """Say which coordinates only slide."""
    turning = {int(column) for column, turn in zip(paths.columns, paths.motions[TURN]) if turn != 0}
    return np.array([column not in turning for column in movable], dtype=np.bool_)


def _turns(paths: Paths, column: int) -> bool:
    """Say whether a whole turn of this coordinate gives the same pose."""
    n = paths.motions.shape[1]
    c = paths.motions[:, (paths.kinds[:n] == SCALAR) & (paths.columns[:n] == column)]
    turned = np.abs(c[TURN] * c[MULTIPLIER])
    return bool(np.all(c[SLIDE] == 0) and np.allclose(turned, np.round(turned)) and turned.any())


def _length(paths: Paths) -> float:
    """Give the length at which a position error weighs as much as one radian [m]."""
    reach = paths.reach[:, 3].max()
    return float(0.5 * reach) if math.isfinite(reach) and reach > 0 else 1.0


def _check_names(tree: Tree, locked: frozenset[str], unlocked: frozenset[str]) -> None:
    kinds = {span.joint.name: span.joint.type for span in tree.spans}
    for what, names in (("joint to lock", locked), ("joint to unlock", unlocked)):
        for name in names:
            if name not in kinds:
                raise UnknownJoint(what, name, list(kinds))
    for name in unlocked:
        if kinds[name] not in UNLOCKABLE:
            raise IKOptionError(
                f"joint {name!r} moves anyway: only planar, floating and ball joints are to be unlocked"
            )


def _check_limits(tree: Tree, movable: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    names = [name for span in tree.spans for name in span.names]
    for column in movable:
        if low[column] > high[column]:
            raise ModelError(
                f"joint {names[column]!r} has its lower limit {low[column]:g} above its upper one {high[column]:g}: "
                "no configuration is inside; lock the joint or mend the limits"
            )
