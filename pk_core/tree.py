"""A robot, or a path through it, as flat float64 arrays: what every kernel reads.

One *node* stands for one elementary motion. Node i moves with its parent node:

    T_root_i = T_root_parent(i) @ origin_i @ motion_i(q)

    FIXED    no motion
    SCALAR   value = multiplier * q[column] + offset; turns `turn * value` radians about the axis, slides `slide * value` along it
    BALL     four columns of q, a quaternion wxyz, normalised
    FREE     seven columns, x y z and a quaternion wxyz

Planar and universal joints, anchored joints and joints walked from child to parent become several nodes. Only
some nodes are frames that a user can ask for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .model import COORDINATE_SUFFIXES, Joint, JointType

FIXED, SCALAR, BALL, FREE = range(4)

# columns of Tree.layout
PARENT, KIND, Q_COLUMN, V_COLUMN = range(4)
# columns of Tree.constants: origin (rotation by rows, then position), axis, how it moves
ORIGIN, POSITION, AXIS, TURN, SLIDE, MULTIPLIER, OFFSET, N_CONSTANTS = 0, 9, 12, 15, 16, 17, 18, 19


@dataclass(frozen=True)
class JointSpan:
    """Where one moving joint stands in q and in the velocities."""

    joint: Joint
    q_start: int
    v_start: int

    @property
    def q_slice(self) -> slice:
        """Columns of q."""
        return slice(self.q_start, self.q_start + self.joint.nq)

    @property
    def names(self) -> tuple[str, ...]:
        """One name for each column of q: the joint's name, or `joint/x`..."""
        suffixes = COORDINATE_SUFFIXES[self.joint.type]
        return tuple(f"{self.joint.name}/{suffix}" if suffix else self.joint.name for suffix in suffixes)

    @property
    def neutral(self) -> tuple[float, ...]:
        """Resting coordinates: zero, the identity quaternion, MJCF `ref`."""
        if self.joint.neutral:
            return self.joint.neutral
        if self.joint.axes and self.joint.type is not JointType.PLANAR:
            return tuple(axis.reference for axis in self.joint.axes)
        return tuple(1.0 if suffix == "qw" else 0.0 for suffix in COORDINATE_SUFFIXES[self.joint.type])


@dataclass(frozen=True)
class NodeSource:
    """What of the description the constants of one node stand for.

    Attributes:
        origin_of: the joint whose origin stands in the node, empty where none does.
        motion_of: the joint whose axis moves the node, empty where none does; `axis_index` says which of its axes.
        reversed: the joint is walked from its child to its parent: the origin is inverted, the axis negated.
    """

    origin_of: str = ""
    motion_of: str = ""
    axis_index: int = 0
    reversed: bool = False


@dataclass(frozen=True, eq=False)
class Tree:
    """Nodes in an order where parents come first.

    Attributes:
        layout: (n_nodes, 4) int64: parent node (-1 for the first), kind, first column of q and of v (-1 where fixed).
        constants: (n_nodes, 19) float64: see the column names above; metres and radians.
        sources: what of the description each node stands for.
        frame_names: the frames of the user, in the order of their rows in results.
        frame_nodes: (n_frames,) int64, the node of each.
        spans: the moving joints that are coordinates, in the order of their columns.
    """

    layout: npt.NDArray[np.int64]
    constants: npt.NDArray[np.float64]
    sources: tuple[NodeSource, ...]
    frame_names: tuple[str, ...]
    frame_nodes: npt.NDArray[np.int64]
    spans: tuple[JointSpan, ...]
    nq: int
    nv: int
