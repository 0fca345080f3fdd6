"""What every robot must be, whichever reader made it: one tree, names used once, finite numbers, mimics that end."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from .errors import ModelError
from .model import Axis, Frame, Joint, JointType, Link, Mimic, Robot
from .pose import Pose

_AXES = {JointType.FIXED: 0, JointType.BALL: 0, JointType.FLOATING: 0, JointType.UNIVERSAL: 2}  # others: one
_LEADERS = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC, JointType.SCREW, JointType.UNIVERSAL)


def validate(robot: Robot, *, source: str = "") -> Robot:
    """Check a robot and give it back.

    Args:
        robot: what a reader, or anyone else, put together.
        source: name of its file, for errors.

    Raises:
        ModelError: a name used twice, a joint between links that aren't there, several roots or none, a cycle, a number
            that isn't finite, an axis that is no unit vector, limits in the wrong order, a mimic without a leader.
    """
    root = _find_root(robot.links, robot.joints, robot.frames, source)
    if robot.root != root:
        raise ModelError(f"the root is {root!r}, not {robot.root!r}", source=source)
    return _check_numbers_and_mimics(robot, source)


def assemble(
    name: str, links: Iterable[Link], joints: Iterable[Joint], frames: Iterable[Frame] = (), *, source: str = ""
) -> Robot:
    """Make a valid robot of its parts, its root found; raises ModelError as `validate` does."""
    links, joints, frames = tuple(links), tuple(joints), tuple(frames)
    root = _find_root(links, joints, frames, source)
    return _check_numbers_and_mimics(Robot(name, links, joints, root, frames), source)


def _check_numbers_and_mimics(robot: Robot, source: str) -> Robot:
    for joint in robot.joints:
        _check_joint(joint, source)
    for frame in robot.frames:
        _check_pose(frame.origin, f"origin of frame {frame.name!r}", None, source)
    _check_mimics(robot.joints, source)
    return robot


def _find_root(links: Sequence[Link], joints: Sequence[Joint], frames: Sequence[Frame], source: str) -> str:
    """Give the name of the one link that no joint moves and from which joints lead to all others."""
    _check_names(links, joints, frames, source)
    lines = {link.name: link.line for link in links}
    if not lines:
        raise ModelError("the robot has no link", source=source)
    parents = _parents(lines, joints, source)
    roots = [name for name in lines if name not in parents]
    if len(roots) > 1:
        raise ModelError(
            f"{len(roots)} root links (links that are no joint's child): {_listed(roots)}; a robot has one",
            line=lines[roots[1]],
            element=f'link name="{roots[1]}"',
            source=source,
        )
    lost = _unreached(roots, parents)
    if lost is not None:
        cycle = _cycle({link: joint.parent for link, joint in parents.items()}, lost)
        path = " -> ".join(reversed([*cycle, cycle[0]]))
        raise _joint_error(parents[cycle[0]], f"a cycle of links without a root: {path}", source)
    return roots[0]


def _parents(links: dict[str, int | None], joints: Sequence[Joint], source: str) -> dict[str, Joint]:
    """Map each link to the joint above it."""
    parents: dict[str, Joint] = {}
    for joint in joints:
        for end, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in links:
                raise _joint_error(joint, f"{end} link {name!r} of joint {joint.name!r} does not exist", source)
        if joint.parent == joint.child:
            raise _joint_error(joint, f"joint {joint.name!r} joins link {joint.child!r} to itself", source)
        if joint.child in parents:
            both = f"{parents[joint.child].name!r} and {joint.name!r}"
            raise _joint_error(joint, f"link {joint.child!r} is the child of two joints, {both}", source)
        parents[joint.child] = joint
    return parents


def _unreached(roots: Sequence[str], parents: dict[str, Joint]) -> str | None:
    """Give a link from which no way leads up to a root, None if there is none."""
    rooted = set(roots)
    for start in parents:
        path = []
        link = start
        seen = set()
        while link not in rooted:
            if link in seen:
                return link
            seen.add(link)
            path.append(link)
            link = parents[link].parent
        rooted.update(path)
    return None


def _cycle(following: dict[str, str], start: str) -> list[str]:
    """Give the names on the cycle through `start`, each followed by the one it maps to."""
    cycle = [start]
    while following[cycle[-1]] != start:
        cycle.append(following[cycle[-1]])
    return cycle


def _check_names(links: Sequence[Link], joints: Sequence[Joint], frames: Sequence[Frame], source: str) -> None:
    for kind, parts in (("link", links), ("joint", joints), ("frame", frames)):
        first: dict[str, Link | Joint | Frame] = {}
        for part in parts:
            line = getattr(part, "line", None)
            if not part.name:
                raise ModelError(f"a {kind} has an empty name", line=line, element=kind, source=source)
            if part.name in first:
                before = getattr(first[part.name], "line", None)
                where = "" if before is None else f", first in line {before}"
                message = f"duplicate {kind} name {part.name!r}{where}"
                raise ModelError(message, line=line, element=f'{kind} name="{part.name}"', source=source)
            first[part.name] = part
    known = {link.name for link in links}
    for frame in frames:
        if frame.link not in known:
            message = f"frame {frame.name!r} is fixed to link {frame.link!r}, which does not exist"
            raise ModelError(message, source=source)


def _check_joint(joint: Joint, source: str) -> None:
    for what in ("origin", "child_offset"):
        _check_pose(getattr(joint, what), f"{what} of joint {joint.name!r}", joint.line, source)
    needed = _AXES.get(joint.type, 1)
    if len(joint.axes) != needed:
        raise _joint_error(joint, f"a {joint.type.value} joint has {needed} axes, not {len(joint.axes)}", source)
    if not math.isfinite(joint.pitch):
        raise _joint_error(joint, f"pitch {joint.pitch} is not finite", source)
    if joint.neutral and len(joint.neutral) != joint.nq:
        raise _joint_error(joint, f"neutral has {len(joint.neutral)} numbers, not {joint.nq}", source)
    if not all(map(math.isfinite, joint.neutral)):
        raise _joint_error(joint, f"neutral {joint.neutral} is not finite", source)
    for axis in joint.axes:
        reason = _wrong_axis(axis)
        if reason:
            raise _joint_error(joint, f"joint {joint.name!r}: {reason}", source)


def _wrong_axis(axis: Axis) -> str:
    """Say what is wrong with an axis, "" if nothing is."""
    if not all(map(math.isfinite, axis.direction)) or abs(math.hypot(*axis.direction) - 1.0) > 1e-9:
        return f"axis {axis.direction} is no unit vector"
    if not axis.lower <= axis.upper or axis.lower == math.inf or axis.upper == -math.inf:
        return f"limit: lower {axis.lower} must not be above upper {axis.upper}, and one finite value must be inside"
    if not (axis.velocity >= 0.0 and axis.effort >= 0.0):
        return f"velocity {axis.velocity} and effort {axis.effort} are the largest sizes, at least 0"
    if not math.isfinite(axis.reference):
        return f"reference {axis.reference} is not finite"
    if axis.mimic is not None and not (math.isfinite(axis.mimic.multiplier) and math.isfinite(axis.mimic.offset)):
        return f"mimic multiplier {axis.mimic.multiplier} and offset {axis.mimic.offset} must be finite"
    return ""


def _check_pose(pose: Pose, what: str, line: int | None, source: str) -> None:
    if not (all(map(math.isfinite, pose.xyz)) and all(math.isfinite(c) for row in pose.rotation for c in row)):
        raise ModelError(f"{what} is not finite: {pose}", line=line, source=source)


def _check_mimics(joints: Sequence[Joint], source: str) -> None:
    by_name = {joint.name: joint for joint in joints}
    leaders: dict[tuple[str, int], tuple[str, int]] = {}
    for joint in joints:
        for index, axis in enumerate(joint.axes):
            if axis.mimic is not None:
                reason = _wrong_leader(axis.mimic, by_name.get(axis.mimic.joint))
                if reason:
                    raise _joint_error(joint, f"joint {joint.name!r} mimics {reason}", source)
                leaders[joint.name, index] = (axis.mimic.joint, axis.mimic.axis)
    _check_mimic_cycles(leaders, by_name, source)


def _wrong_leader(mimic: Mimic, leader: Joint | None) -> str:
    """Say why a mimic can't follow its leader, "" if it can."""
    if leader is None:
        return f"joint {mimic.joint!r}, which does not exist"
    if leader.type not in _LEADERS:
        return f"{leader.type.value} joint {mimic.joint!r}, which has no value to follow"
    if not 0 <= mimic.axis < len(leader.axes):
        return f"axis {mimic.axis} of joint {mimic.joint!r}, which has no such axis"
    return ""


def _check_mimic_cycles(leaders: dict[tuple[str, int], tuple[str, int]], joints: dict[str, Joint], source: str) -> None:
    free: set[tuple[str, int]] = set()  # axes known to lead, in the end, to a joint that moves by itself
    for start in leaders:
        path: dict[tuple[str, int], None] = {}
        axis = start
        while axis in leaders and axis not in free:
            if axis in path:
                names = [name for name, _ in path]
                cycle = names[names.index(axis[0]) :]
                message = f"a cycle of mimics: {' -> '.join([*cycle, cycle[0]])}"
                raise _joint_error(joints[cycle[0]], message, source)
            path[axis] = None
            axis = leaders[axis]
        free.update(path)


def _joint_error(joint: Joint, message: str, source: str) -> ModelError:
    return ModelError(message, line=joint.line, element=f'joint name="{joint.name}"', source=source)


def _listed(names: Sequence[str], most: int = 10) -> str:
    shown = ", ".join(map(repr, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
