"""Flatten a robot, or the path between two of its frames, into a `Tree`."""

from __future__ import annotations

import numpy as np

from .errors import ModelError, UnknownLink, UnsupportedError
from .model import Axis, Joint, JointType, Robot
from .pose import IDENTITY, Pose, Vector
from .tree import BALL, FIXED, FREE, N_CONSTANTS, SCALAR, JointSpan, NodeSource, Tree


def flatten(robot: Robot) -> Tree:
    """Flatten the whole robot: links depth first, then extra frames, in the root link's frame."""
    builder = _Builder(robot, [joint for _, joint in robot.walk() if joint is not None])
    for link, joint in robot.walk():
        if joint is None:
            node = builder.add_fixed(-1, IDENTITY)
        else:
            node = builder.add_joint(builder.node_of[joint.parent], joint)
        builder.node_of[link.name] = node
        if not link.hidden:
            builder.name_frame(link.name, node)
    for frame in robot.frames:
        builder.name_frame(frame.name, builder.add_fixed(builder.node_of[frame.link], frame.origin))
    return builder.tree()


def flatten_path(robot: Robot, root: str, end: str) -> Tree:
    """Flatten the path between two frames, in the frame `root`; it may climb towards the robot's root first.

    Raises:
        UnknownLink: a name that is neither a link nor a frame.
        UnsupportedError: the path climbs through a ball or floating joint.
    """
    frames = {frame.name: frame for frame in robot.frames}
    links = [link.name for link in robot.links if not link.hidden]
    for name in (root, end):
        if name not in frames and name not in links:
            raise UnknownLink("frame", name, [*links, *frames])
    up, down = _path(robot, _link_of(frames, root), _link_of(frames, end))
    builder = _Builder(robot, [*up, *down])
    node = builder.add_fixed(-1, IDENTITY)
    builder.name_frame(root, node)
    if root in frames and root != end:
        node = builder.add_fixed(node, frames[root].origin.inverse())
        builder.name_link(frames[root].link, node)
    for joint in up:
        node = builder.add_reversed_joint(node, joint)
        builder.name_link(joint.parent, node)
    for joint in down:
        node = builder.add_joint(node, joint)
        builder.name_link(joint.child, node)
    if end in frames and root != end:
        builder.name_frame(end, builder.add_fixed(node, frames[end].origin))
    return builder.tree()


class _Builder:
    """Collects nodes; columns are given out beforehand to the joints that will be walked, in that order."""

    def __init__(self, robot: Robot, joints: list[Joint]) -> None:
        self.robot = robot
        self.layout: list[tuple[int, int, int, int]] = []
        self.constants: list[list[float]] = []
        self.sources: list[NodeSource] = []
        self.frames: dict[str, int] = {}
        self.node_of: dict[str, int] = {}
        self.spans: dict[str, JointSpan] = {}
        self.nq = self.nv = 0
        leaders = [leader for joint in joints if joint.mimic for leader in self._leaders(joint)]
        for joint in [*(joint for joint in joints if not joint.mimic), *leaders]:
            self._add_span(joint)

    def _add_span(self, joint: Joint) -> None:
        if joint.nq and joint.name not in self.spans:
            self.spans[joint.name] = JointSpan(joint, self.nq, self.nv)
            self.nq += joint.nq
            self.nv += joint.nv

    def _leaders(self, joint: Joint) -> list[Joint]:
        return [_resolve(self.robot, joint, k)[0] for k in range(len(joint.axes))]

    def tree(self) -> Tree:
        return Tree(
            layout=np.array(self.layout, dtype=np.int64).reshape(-1, 4),
            constants=np.array(self.constants, dtype=np.float64).reshape(-1, N_CONSTANTS),
            sources=tuple(self.sources),
            frame_names=tuple(self.frames),
            frame_nodes=np.array(list(self.frames.values()), dtype=np.int64),
            spans=tuple(self.spans.values()),
            nq=self.nq,
            nv=self.nv,
        )

    def name_frame(self, name: str, node: int) -> None:
        self.frames[name] = node

    def name_link(self, name: str, node: int) -> None:
        if not self.robot.link(name).hidden:
            self.frames[name] = node

    def add_fixed(self, parent: int, origin: Pose, origin_of: str = "", reversed: bool = False) -> int:
        return self._add(parent, FIXED, origin, origin_of=origin_of, reversed=reversed)

    def add_joint(self, parent: int, joint: Joint) -> int:
        """Add the nodes from the parent link to the child link; return the child's."""
        if joint.type is JointType.FIXED:
            return self.add_fixed(parent, joint.origin @ joint.child_offset, joint.name)
        node, origin, origin_of = parent, joint.origin, joint.name
        if joint.type in (JointType.BALL, JointType.FLOATING):
            span = self.spans[joint.name]
            kind = BALL if joint.type is JointType.BALL else FREE
            node = self._add(node, kind, origin, origin_of=origin_of, q_column=span.q_start, v_column=span.v_start)
        for motion in self._motions(joint):
            node = self._add(node, SCALAR, origin, origin_of=origin_of, **motion)
            origin, origin_of = IDENTITY, ""
        return node if joint.child_offset == IDENTITY else self.add_fixed(node, joint.child_offset)

    def add_reversed_joint(self, parent: int, joint: Joint) -> int:
        """Add the nodes from the child link up to the parent link; return the parent's.

        The inverse of a motion about an axis is the same motion about the negated axis.
        """
        if joint.type is JointType.FIXED:
            return self.add_fixed(parent, (joint.origin @ joint.child_offset).inverse(), joint.name, reversed=True)
        if joint.type in (JointType.BALL, JointType.FLOATING):
            raise UnsupportedError(
                f"a serial chain can't climb from {joint.child!r} to {joint.parent!r} through the {joint.type.value} joint "
                f"{joint.name!r}; take {joint.parent!r} or a link above it as root"
            )
        node, origin = parent, joint.child_offset.inverse()
        for motion in reversed(self._motions(joint)):
            x, y, z = motion.pop("axis")
            node = self._add(node, SCALAR, origin, axis=(-x, -y, -z), reversed=True, **motion)
            origin = IDENTITY
        return self.add_fixed(node, joint.origin.inverse(), joint.name, reversed=True)

    def _motions(self, joint: Joint) -> list[dict]:
        """Give the scalar motions of a joint in the order in which they act, as arguments of `_add`."""
        if joint.type is JointType.PLANAR:
            start = self.spans[joint.name]
            normal = joint.axes[0].direction if joint.axes else (0.0, 0.0, 1.0)
            ways = [(axis, 0.0, 1.0) for axis in plane_axes(normal)] + [(normal, 1.0, 0.0)]
            return [
                dict(axis=axis, turn=turn, slide=slide, q_column=start.q_start + k, v_column=start.v_start + k)
                for k, (axis, turn, slide) in enumerate(ways)
            ]
        turn, slide = {JointType.PRISMATIC: (0.0, 1.0), JointType.SCREW: (1.0, joint.pitch)}.get(joint.type, (1.0, 0.0))
        return [
            dict(turn=turn, slide=slide, motion_of=joint.name, axis_index=k, **self._follow(joint, axis, k))
            for k, axis in enumerate(joint.axes)
        ]

    def _follow(self, joint: Joint, axis: Axis, k: int) -> dict:
        """Find the column that moves an axis, and how: value = multiplier * q[column] + offset."""
        leader, k, multiplier, offset = _resolve(self.robot, joint, k)
        span = self.spans[leader.name]
        return dict(
            axis=axis.direction,
            q_column=span.q_start + k,
            v_column=span.v_start + k,
            multiplier=multiplier,
            offset=offset - axis.reference,
        )

    def _add(
        self,
        parent: int,
        kind: int,
        origin: Pose,
        *,
        axis: Vector = (0.0, 0.0, 1.0),
        turn: float = 0.0,
        slide: float = 0.0,
        q_column: int = -1,
        v_column: int = -1,
        multiplier: float = 1.0,
        offset: float = 0.0,
        origin_of: str = "",
        motion_of: str = "",
        axis_index: int = 0,
        reversed: bool = False,
    ) -> int:
        self.layout.append((parent, kind, q_column, v_column))
        self.sources.append(NodeSource(origin_of, motion_of, axis_index, reversed))
        rotation = [entry for row in origin.rotation for entry in row]
        self.constants.append([*rotation, *origin.xyz, *axis, turn, slide, multiplier, offset])
        return len(self.layout) - 1


def mimic_chain(robot: Robot, joint: Joint, k: int = 0) -> list[tuple[Joint, int]]:
    """List an axis of a joint, (joint, axis), the one that it mimics, and so on to the leader, which mimics none.

    Raises:
        ModelError: joints mimic each other in a cycle, or one that has no such axis.
    """
    chain, seen = [(joint, k)], {(joint.name, k)}
    while (mimic := joint.axes[k].mimic) is not None:
        joint, k = robot.joint(mimic.joint), mimic.axis
        if (joint.name, k) in seen:
            names = sorted({name for name, _ in seen})
            raise ModelError(f"joints mimic each other in a cycle: {names}", line=joint.line, element="joint")
        if joint.type is JointType.PLANAR or k >= len(joint.axes):
            raise ModelError(
                f"joint {joint.name!r} can't be mimicked: a {joint.type.value} joint has no single coordinate to follow",
                line=joint.line,
                element="joint",
            )
        chain.append((joint, k))
        seen.add((joint.name, k))
    return chain


def _resolve(robot: Robot, joint: Joint, k: int = 0) -> tuple[Joint, int, float, float]:
    """Follow a chain of mimics to its leader: (leader, its axis, multiplier, offset)."""
    *followers, (leader, axis) = mimic_chain(robot, joint, k)
    multiplier, offset = 1.0, 0.0
    for follower, own in followers:
        mimic = follower.axes[own].mimic
        offset += multiplier * mimic.offset
        multiplier *= mimic.multiplier
    return leader, axis, multiplier, offset


def plane_axes(normal: Vector) -> tuple[Vector, Vector]:
    """Give the x and y directions of a plane: those of the joint frame, turned the shortest way from z to the normal."""
    x, y, z = normal
    if z < -1.0 + 1e-12:
        return (1.0, 0.0, 0.0), (0.0, -1.0, 0.0)
    k = 1.0 / (1.0 + z)
    return (1.0 - k * x * x, -k * x * y, -x), (-k * x * y, 1.0 - k * y * y, -y)


def _link_of(frames: dict, name: str) -> str:
    return frames[name].link if name in frames else name


def _path(robot: Robot, root: str, end: str) -> tuple[list[Joint], list[Joint]]:
    """Give the joints climbed from `root` to the common ancestor, then those descended to `end`."""
    up, down = _ancestors(robot, root), _ancestors(robot, end)
    while up and down and up[-1] is down[-1]:
        up.pop()
        down.pop()
    return up, down[::-1]


def _ancestors(robot: Robot, link: str) -> list[Joint]:
    joints = []
    while (joint := robot.parent_joint(link)) is not None:
        joints.append(joint)
        link = joint.parent
    return joints
