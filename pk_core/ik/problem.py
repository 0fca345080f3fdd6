"""What all targets of a chain's frame share, made once: the path, the limits, where attempts start."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from ..errors import ModelError, UnknownJoint
from ..tree import SCALAR, Tree
from . import seeds
from .path import P_MULTIPLIER, P_SLIDE, P_TURN, Path, make_path, movable_columns
from .records import Problem

TURN_CAP = 1.0  # beyond it a step of an angle says little [rad]; a slide is linear and may go all the way


@lru_cache(maxsize=256)
def make_problem(tree: Tree, locked: frozenset[str], bounds: tuple[tuple[float, ...], tuple[float, ...]]) -> Problem:
    """Make the problem of placing the only frame of a pruned tree with q inside bounds (low, high).

    Raises:
        UnknownJoint: a locked joint that the chain does not have.
        ModelError: a joint that has to move has a lower limit above its upper one.
    """
    names = [span.joint.name for span in tree.spans]
    for name in locked:
        if name not in names:
            raise UnknownJoint("joint to lock", name, names)
    low, high = (np.array(bound) for bound in bounds)
    path = make_path(tree, low, high)
    movable = movable_columns(tree, path, locked)
    _check_limits(tree, movable, low, high)
    slot = {int(column): k for k, column in enumerate(movable)}
    slots = [slot.get(int(column), -1) if kind == SCALAR else -1 for kind, column in zip(path.kinds, path.columns)]
    turns = np.array([_turns(path, column) for column in movable], dtype=np.bool_)
    low, high = low[movable], high[movable]
    slides, length = _slides(path, movable), _length(path)
    start, end = seeds.sampling_range(low, high, turns, path.reach)
    return Problem(
        kinds=path.kinds,
        columns=path.columns,
        slots=np.array(slots, dtype=np.int64),
        constants=path.constants,
        movable=movable,
        low=low,
        high=high,
        turns=turns,
        wraps=turns & (high - low >= 2 * math.pi),
        ease=np.where(slides, length**2, 1.0),
        cap=np.where(slides, np.inf, TURN_CAP),
        start=start,
        span=end - start,
        steps=seeds.kronecker_steps(len(movable)),
        shoulder=path.shoulder,
        reach=path.reach,
        scale=1.0 / length,
    )


def _slides(path: Path, movable: np.ndarray) -> np.ndarray:
    """Say which coordinates only slide."""
    turning = {int(column) for column, c in zip(path.columns, path.constants) if c[P_TURN] != 0}
    return np.array([column not in turning for column in movable], dtype=np.bool_)


def _turns(path: Path, column: int) -> bool:
    """Say whether a whole turn of this coordinate gives the same pose."""
    rows = path.constants[:-1][(path.kinds == SCALAR) & (path.columns == column)]
    turned = np.abs(rows[:, P_TURN] * rows[:, P_MULTIPLIER])
    return bool(np.all(rows[:, P_SLIDE] == 0) and np.allclose(turned, np.round(turned)) and turned.any())


def _length(path: Path) -> float:
    """Give the length at which a position error weighs as much as one radian [m]."""
    return 0.5 * path.reach if math.isfinite(path.reach) and path.reach > 0 else 1.0


def _check_limits(tree: Tree, movable: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    names = [name for span in tree.spans for name in span.names]
    for column in movable:
        if low[column] > high[column]:
            raise ModelError(
                f"joint {names[column]!r} has its lower limit {low[column]:g} above its upper one {high[column]:g}: "
                "no configuration is inside; lock the joint or mend the limits"
            )
