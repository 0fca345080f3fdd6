"""The path from the root to a tip, in the form that the IK kernel walks fastest: moving nodes only, all about their own z."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model import JointType
from ..tree import AXIS, FIXED, KIND, OFFSET, ORIGIN, POSITION, Q_COLUMN, SCALAR, Tree

# columns of Path.constants after the origin (rotation by rows, position): turn, slide, multiplier, offset
P_TURN, P_SLIDE, P_MULTIPLIER, P_OFFSET = 12, 13, 14, 15


@dataclass(frozen=True, eq=False)
class Path:
    """Moving nodes in order.

    Attributes:
        kinds: (n,) int64, SCALAR, BALL or FREE.
        columns: (n,) int64, first column of q.
        constants: (n + 1, 16) float64: origin (rotation by rows, position [m]) with z along the axis, then turn, slide,
            multiplier, offset; the last row is the tool, from the last node to the tip.
        reach: no configuration takes the tip further than this from `shoulder` [m]; infinite with an unlimited slide.
        shoulder: (3,) a point that no coordinate of the path moves, in the root frame [m].
    """

    kinds: np.ndarray
    columns: np.ndarray
    constants: np.ndarray
    shoulder: np.ndarray
    reach: float


def make_path(tree: Tree, low: np.ndarray, high: np.ndarray) -> Path:
    """Make the path to the last frame of a tree that has only that frame (see `TreeTensors.pruned`)."""
    pending = np.eye(4)
    kinds, columns, constants = [], [], []
    for row, c in zip(tree.layout, tree.constants):
        pending = pending @ _matrix(c)
        if row[KIND] == FIXED:
            continue
        turn = _z_to(c[AXIS : AXIS + 3]) if row[KIND] == SCALAR else np.eye(4)
        kinds.append(row[KIND])
        columns.append(row[Q_COLUMN])
        constants.append(np.concatenate([_flat(pending @ turn), c[AXIS + 3 : OFFSET + 1]]))
        pending = turn.T
    table = np.array([*constants, np.concatenate([_flat(pending), np.zeros(4)])])
    return Path(
        kinds=np.array(kinds, dtype=np.int64),
        columns=np.array(columns, dtype=np.int64),
        constants=table,
        shoulder=table[0, POSITION : POSITION + 3].copy(),
        reach=_reach(kinds, columns, table, low, high),
    )


def movable_columns(tree: Tree, path: Path, locked: frozenset[str]) -> np.ndarray:
    """Give the columns of q that the solver may move: scalar joints on the path that are neither locked nor planar."""
    held = {
        column
        for span in tree.spans
        if span.joint.name in locked or span.joint.type in (JointType.PLANAR, JointType.FLOATING, JointType.BALL)
        for column in range(span.q_slice.start, span.q_slice.stop)
    }
    on_path = {int(column) for kind, column in zip(path.kinds, path.columns) if kind == SCALAR}
    return np.array(sorted(on_path - held), dtype=np.int64)


def _reach(kinds: list, columns: list, table: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Add up the links and the longest slides beyond the first node: a bound by the triangle inequality."""
    total = float(np.linalg.norm(table[1:, POSITION : POSITION + 3], axis=1).sum())
    for kind, column, c in zip(kinds, columns, table):
        if kind != SCALAR:
            return float("inf")
        if c[P_SLIDE]:
            ends = c[P_MULTIPLIER] * np.array([low[column], high[column]]) + c[P_OFFSET]
            total += float(abs(c[P_SLIDE]) * np.abs(ends).max())
    return total


def _matrix(c: np.ndarray) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = c[ORIGIN : ORIGIN + 9].reshape(3, 3)
    T[:3, 3] = c[POSITION : POSITION + 3]
    return T


def _flat(T: np.ndarray) -> np.ndarray:
    return np.concatenate([T[:3, :3].ravel(), T[:3, 3]])


def _z_to(axis: np.ndarray) -> np.ndarray:
    """Give a rotation (4x4) that takes z to a unit axis."""
    helper = np.eye(3)[np.argmin(np.abs(axis))]
    x = np.cross(helper, axis)
    x /= np.linalg.norm(x)
    T = np.eye(4)
    T[:3, :3] = np.stack([x, np.cross(axis, x), axis], 1)
    return T
