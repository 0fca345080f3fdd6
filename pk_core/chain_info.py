"""What a chain can tell about itself: names, joints, limits, the picture of its tree. No maths."""

from __future__ import annotations

import math

from .configuration import limits
from .model import Joint, JointType, Link, Robot
from .tree import Tree


class ChainInfo:
    """The questions by name that `Chain` and `SerialChain` answer alike."""

    robot: Robot
    _tree: Tree

    @property
    def nq(self) -> int:
        """Number of coordinates, the columns of q."""
        return self._tree.nq

    @property
    def nv(self) -> int:
        """Number of velocities, the columns of the Jacobian."""
        return self._tree.nv

    @property
    def n_joints(self) -> int:
        """Number of coordinates, under the name that pytorch_kinematics gives it."""
        return self._tree.nq

    @property
    def frame_to_idx(self) -> dict[str, int]:
        """Row of each frame in the results of `forward_kinematics_tensor`."""
        return {name: i for i, name in enumerate(self._tree.frame_names)}

    @property
    def idx_to_frame(self) -> dict[int, str]:
        """Name of each row in the results of `forward_kinematics_tensor`."""
        return dict(enumerate(self._tree.frame_names))

    def get_joints(self, exclude_fixed: bool = True) -> list[Joint]:
        """Give the joints that are coordinates, in the order of their columns; or all joints, depth first."""
        if exclude_fixed:
            return [span.joint for span in self._tree.spans]
        between = _joints_between(self.robot, set(self._tree.frame_names))
        return [
            joint for _, joint in self.robot.walk() if joint is not None and joint.name in between and not joint.hidden
        ]

    def get_joint_names(self) -> list[str]:
        """Give the names of the joints that are coordinates: the keys of a configuration given as a dict."""
        return [span.joint.name for span in self._tree.spans]

    def get_joint_parameter_names(self, exclude_fixed: bool = True) -> list[str]:
        """Give one name for each column of q: the joint's name, or `joint/x`... where it has several coordinates."""
        if not exclude_fixed:
            return [joint.name for joint in self.get_joints(exclude_fixed=False)]
        return [name for span in self._tree.spans for name in span.names]

    def get_links(self) -> list[Link]:
        """Give the links of the chain in the order of their rows."""
        return [self.robot.link(name) for name in self.get_link_names()]

    def get_link_names(self) -> list[str]:
        """Give the names of the links in the order of their rows."""
        extra = {frame.name for frame in self.robot.frames}
        return [name for name in self._tree.frame_names if name not in extra]

    def get_frame_names(self, exclude_fixed: bool = False) -> list[str]:
        """Give the names of all frames in the order of their rows; or only of links that a moving joint carries."""
        if not exclude_fixed:
            return list(self._tree.frame_names)
        carried = {joint.child for joint in self.robot.joints if joint.type is not JointType.FIXED}
        return [name for name in self._tree.frame_names if name in carried]

    def find_link(self, name: str) -> Link | None:
        """Find a link of the chain, None where it has no such link."""
        return self.robot.link(name) if name in self.get_link_names() else None

    def find_joint(self, name: str) -> Joint | None:
        """Find a joint of the chain, None where it has no such joint."""
        return next((joint for joint in self.get_joints(exclude_fixed=False) if joint.name == name), None)

    def get_joint_limits(self) -> tuple[list[float], list[float]]:
        """Give lower and upper position limits [rad] or [m], one for each column of q; infinite where there are none."""
        return limits(self._tree)

    def get_joint_velocity_limits(self) -> tuple[list[float], list[float]]:
        """Give the velocity limits (-v, v) [rad/s] or [m/s], one for each column of v; infinite where there are none."""
        return self._rate_limits("velocity")

    def get_joint_effort_limits(self) -> tuple[list[float], list[float]]:
        """Give the effort limits (-e, e) [N m] or [N], one for each column of v; infinite where there are none."""
        return self._rate_limits("effort")

    def _rate_limits(self, which: str) -> tuple[list[float], list[float]]:
        high = []
        for span in self._tree.spans:
            axes, nv = span.joint.axes, span.joint.nv
            high += [getattr(axis, which) for axis in axes] if len(axes) == nv else [math.inf] * nv
        return [-bound for bound in high], high

    def print_tree(self, do_print: bool = True, details: bool = False) -> str:
        """Give, and print, the tree of links; `details` adds each joint's name, type, limits and leader."""
        text = tree_text(self.robot, self._tree.frame_names, details)
        if do_print:
            print(text)
        return text

    def __str__(self) -> str:
        return tree_text(self.robot, self._tree.frame_names)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.robot.name!r}, nq={self.nq}, {len(self._tree.frame_names)} frames)"


def tree_text(robot: Robot, names: tuple[str, ...], details: bool = False) -> str:
    """Draw the part of the robot's tree that has these names, one link a line."""
    inside = set(names)
    top = next(link.name for link, joint in robot.walk() if link.name in inside)
    lines = [top]
    stack = [(branch, "") for branch in _last_first(robot, top, inside)]
    while stack:
        (joints, is_last), prefix = stack.pop()
        child, notes = joints[-1].child, "".join(map(_details, joints)) if details else ""
        lines.append(f"{prefix}{'└── ' if is_last else '├── '}{child}{notes}")
        below = prefix + ("    " if is_last else "│   ")
        stack.extend((branch, below) for branch in _last_first(robot, child, inside))
    return "\n".join(lines) + "\n"


def _last_first(robot: Robot, link: str, inside: set[str]) -> list[tuple[tuple[Joint, ...], bool]]:
    """Give the ways from a link down to the next ones that have these names, each through hidden links only."""
    branches = []
    stack = [(joint,) for joint in reversed(robot.child_joints(link))]
    while stack:
        way = stack.pop()
        child = way[-1].child
        if child in inside:
            branches.append(way)
        elif robot.link(child).hidden:
            stack.extend((*way, joint) for joint in reversed(robot.child_joints(child)))
    return [(way, i == len(branches) - 1) for i, way in reversed(list(enumerate(branches)))]


def _joints_between(robot: Robot, inside: set[str]) -> set[str]:
    """Give the names of the joints that lead, through hidden links only, from one of these links to another."""
    found: set[str] = set()
    for link in robot.links:
        way = []
        joint = robot.parent_joint(link.name) if link.name in inside else None
        while joint is not None:
            way.append(joint.name)
            if joint.parent in inside:
                found.update(way)
                break
            joint = robot.parent_joint(joint.parent) if robot.link(joint.parent).hidden else None
    return found


def _details(joint: Joint) -> str:
    if joint.hidden:
        return ""
    text = f"  [{joint.name}: {joint.type.value}"
    for axis in joint.axes:
        if math.isfinite(axis.lower) or math.isfinite(axis.upper):
            text += f", {axis.lower:g} .. {axis.upper:g}"
        if axis.mimic is not None:
            text += f", mimics {axis.mimic.multiplier:g} * {axis.mimic.joint} + {axis.mimic.offset:g}"
    return text + "]"
