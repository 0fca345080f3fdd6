"""The paths from the root to some tips, in the form that the IK kernel walks fastest: moving nodes, all about their own z."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model import JointType
from ..tree import AXIS, FIXED, FREE, ORIGIN, POSITION, Q_COLUMN, SCALAR, Tree
from ..tree import KIND as TREE_KIND
from ..tree import PARENT as TREE_PARENT
from .records import MULTIPLIER, OFFSET, SLIDE

UNLOCKABLE = (JointType.PLANAR, JointType.FLOATING, JointType.BALL)


@dataclass(frozen=True, eq=False)
class Paths:
    """Moving nodes in order, parents first; then a fixed one for each tip.

    Attributes:
        parents, kinds, columns: (n + t,) int64; the kind is SCALAR, BALL or FREE, of tips FIXED; first columns of q.
        origins: (n + t, 12) float64: rotation by rows, position [m], in the parent's frame, with z along the axis.
        motions: (4, n) float64: multiplier, offset, turn, slide.
        reach: (t, 4): a point that no coordinate moves, in the root frame [m], and how far a tip may be from it at most.
    """

    parents: np.ndarray
    kinds: np.ndarray
    columns: np.ndarray
    origins: np.ndarray
    motions: np.ndarray
    reach: np.ndarray


def make_paths(tree: Tree, low: np.ndarray, high: np.ndarray) -> Paths:
    """Make the paths to the frames of a tree that has only those (see `Tree.pruned`)."""
    rows: list[tuple[int, int, int]] = []
    origins, motions = [], []
    placed: list[tuple[int, np.ndarray]] = []  # of each node of the tree: the moving node it hangs on, and where
    for row, c in zip(tree.layout, tree.constants):
        parent, T = placed[row[TREE_PARENT]] if row[TREE_PARENT] >= 0 else (-1, np.eye(4))
        T = T @ _matrix(c)
        if row[TREE_KIND] != FIXED:
            turn = _z_to(c[AXIS : AXIS + 3]) if row[TREE_KIND] == SCALAR else np.eye(4)
            rows.append((parent, int(row[TREE_KIND]), int(row[Q_COLUMN])))
            origins.append(_flat(T @ turn))
            motions.append(c[[17, 18, 15, 16]] if row[TREE_KIND] == SCALAR else np.zeros(4))
            parent, T = len(rows) - 1, turn.T
        placed.append((parent, T))
    for node in tree.frame_nodes:
        parent, T = placed[node]
        rows.append((parent, FIXED, 0))
        origins.append(_flat(T))
    parents, kinds, columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    table, motion = np.array(origins), np.array(motions).reshape(-1, 4).T
    reach = [
        _reach(tip, parents, kinds, columns, table, motion, low, high) for tip in range(motion.shape[1], len(rows))
    ]
    return Paths(parents, kinds, columns, table, np.ascontiguousarray(motion), np.array(reach))


def movable_nodes(tree: Tree, paths: Paths, locked: frozenset[str], unlocked: frozenset[str]) -> list[int]:
    """Give the nodes that the solver may move: on the paths, not locked; planar, floating and ball joints if unlocked."""
    held = {
        column
        for span in tree.spans
        if span.joint.name in locked or (span.joint.type in UNLOCKABLE and span.joint.name not in unlocked)
        for column in range(span.q_slice.start, span.q_slice.stop)
    }
    return [i for i in range(paths.motions.shape[1]) if int(paths.columns[i]) not in held]


def _reach(
    tip: int,
    parents: np.ndarray,
    kinds: np.ndarray,
    columns: np.ndarray,
    origins: np.ndarray,
    motions: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
) -> np.ndarray:
    """Add up the links and the longest slides beyond the first node: a bound by the triangle inequality."""
    total, node = 0.0, tip
    while parents[node] >= 0:
        total += float(np.linalg.norm(origins[node, 9:]))
        node = int(parents[node])
        if kinds[node] == FREE:
            total = float("inf")
        elif kinds[node] == SCALAR and motions[SLIDE, node]:
            ends = motions[MULTIPLIER, node] * np.array([low[columns[node]], high[columns[node]]])
            total += float(abs(motions[SLIDE, node]) * np.abs(ends + motions[OFFSET, node]).max())
    return np.append(origins[node, 9:], total)


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
