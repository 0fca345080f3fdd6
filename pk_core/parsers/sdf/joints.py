"""The joints of SDF: their type, axes, limits, thread and what they follow."""

from __future__ import annotations

import logging
import math
from typing import Final

from ...model import Axis, Joint, JointType, Mimic
from ...pose import Vector
from ..xml import Element
from .frames import Frames
from .scopes import MODEL_FRAME, Item
from .values import Version, child_number, child_vector, refuse_children, single, truth, unit_vector

WORLD_AS_CHILD_SINCE: Final[Version] = (1, 10)
UNLIMITED: Final = 1e16  # what SDF writes where a joint has no limit

_MODEL_AXES_UNTIL: Final[Version] = (1, 4)  # an axis was given in the frame of the model
_USE_PARENT_MODEL_FRAME_UNTIL: Final[Version] = (1, 6)

_TYPES = {
    "revolute": JointType.REVOLUTE,
    "continuous": JointType.CONTINUOUS,
    "prismatic": JointType.PRISMATIC,
    "fixed": JointType.FIXED,
    "screw": JointType.SCREW,
    "universal": JointType.UNIVERSAL,
    "revolute2": JointType.UNIVERSAL,  # two revolute joints in series, whatever their angle
    "ball": JointType.BALL,
}
_AXES = {JointType.FIXED: (), JointType.BALL: (), JointType.UNIVERSAL: ("axis", "axis2")}
_IN_JOINT = ("parent", "child", "pose", "axis", "axis2", "screw_thread_pitch", "thread_pitch")
_IN_AXIS = ("xyz", "limit", "mimic", "use_parent_model_frame")

_log = logging.getLogger(__name__)


def read_joint(item: Item, frames: Frames) -> Joint:
    """Read a joint between the links that carry its parent and its child frame; the world is a link called world here.

    Raises:
        ParseError: an unknown type, parent or child, an axis that is missing or zero, limits in the wrong order...
    """
    element = item.element
    kind = _joint_type(item)
    refuse_children(element, _IN_JOINT, ("origin", "mimic"))
    parent, child = (frames.body(end) for end in (frames.parent(item), frames.child(item)))
    if child.kind == "world" and item.scope.version < WORLD_AS_CHILD_SINCE:
        message = f"the child of {item.label} is the world, which it may be since SDF 1.10 only"
        raise item.model_error(message, element.child("child"))
    if parent is child:
        raise item.model_error(f"parent and child of {item.label} are parts of one link, {child.name!r}")
    return Joint(
        name=item.name,
        type=kind,
        parent=parent.name,
        child=child.name,
        origin=frames.between(parent, item),
        axes=tuple(_read_axis(item, tag, kind, frames) for tag in _AXES.get(kind, ("axis",))),
        child_offset=frames.between(item, child),
        pitch=_pitch(element) if kind is JointType.SCREW else 0.0,
        line=element.line,
    )


def _joint_type(joint: Item) -> JointType:
    written = joint.element.required("type").strip()
    kind = written.lower()
    if kind == "gearbox":
        raise joint.model_error(
            f"{joint.label} is a gearbox: it couples links that have joints, and a tree has no loop"
        )
    if kind not in _TYPES:
        raise joint.element.error(f"unknown joint type {written!r}; valid: {', '.join(_TYPES)}")
    return _TYPES[kind]


def _read_axis(joint: Item, tag: str, kind: JointType, frames: Frames) -> Axis:
    element = single(joint.element, tag)
    if element is None:
        raise joint.element.error(f"{joint.label} has no <{tag}>; a {kind.value} joint needs one")
    refuse_children(element, _IN_AXIS, ())
    for attribute in element.attributes:
        if ":" not in attribute:
            raise element.error(f"unknown attribute {attribute!r} of an axis; its direction is <xyz>0 0 1</xyz>")
    limits = _read_limits(joint, element, kind)
    return Axis(_direction(joint, element, frames), *limits, mimic=_read_mimic(joint, element, frames))


def _direction(joint: Item, axis: Element, frames: Frames) -> Vector:
    """Read the direction of an axis in the joint frame; 0 0 1 where it is not written."""
    xyz = axis.child("xyz")
    values = child_vector(axis, "xyz", default=(0.0, 0.0, 1.0))
    direction = unit_vector(axis if xyz is None else xyz, values, f"axis of {joint.label}")
    name = _frame_of_axis(joint, axis, "" if xyz is None else xyz.get("expressed_in", "").strip())
    if not name:
        return direction
    frame = frames.reference(joint, name, axis if xyz is None else xyz, "expressed_in")
    turned = frames.between(joint, frame).rotate(direction)
    return unit_vector(axis, turned, f"axis of {joint.label}")


def _frame_of_axis(joint: Item, axis: Element, expressed_in: str) -> str:
    """Give the name of the frame in which an axis is written, "" for the joint's own."""
    version = joint.scope.version
    if version <= _MODEL_AXES_UNTIL:
        return MODEL_FRAME
    flag = axis.child("use_parent_model_frame")
    if flag is None or not truth(flag.text, flag, "use_parent_model_frame"):
        return expressed_in
    if version > _USE_PARENT_MODEL_FRAME_UNTIL:
        _log.warning("%s", flag.error("ignored: since SDF 1.7 an axis says expressed_in"))
        return expressed_in
    return MODEL_FRAME


def _read_limits(joint: Item, axis: Element, kind: JointType) -> tuple[float, float, float, float]:
    """Read lower, upper, velocity, effort; infinite where the description gives none."""
    limit = single(axis, "limit")
    if limit is None:
        return -math.inf, math.inf, math.inf, math.inf
    refuse_children(limit, ("lower", "upper", "velocity", "effort"), ())
    velocity, effort = (_largest(child_number(limit, tag, math.inf, infinite=True)) for tag in ("velocity", "effort"))
    if kind is JointType.CONTINUOUS:
        return -math.inf, math.inf, velocity, effort
    lower = child_number(limit, "lower", -math.inf, infinite=True)
    upper = child_number(limit, "upper", math.inf, infinite=True)
    lower, upper = (value if abs(value) < UNLIMITED else math.copysign(math.inf, value) for value in (lower, upper))
    if not lower <= upper or lower == math.inf or upper == -math.inf:
        raise limit.error(f"limit of {joint.label}: lower {lower} is above upper {upper}, or nothing is between them")
    return lower, upper, velocity, effort


def _largest(value: float) -> float:
    return value if 0.0 <= value < UNLIMITED else math.inf  # -1 is written where there is none


def _read_mimic(joint: Item, axis: Element, frames: Frames) -> Mimic | None:
    """Read `follower = multiplier * (leader - reference) + offset`."""
    element = single(axis, "mimic")
    if element is None:
        return None
    name = element.required("joint").strip()
    leader = frames.reference(joint, name, element, "leader")
    if leader.kind != "joint":
        raise joint.model_error(f"{joint.label} mimics {leader.label}, which is no joint", element)
    which = element.get("axis", "").strip() or "axis"
    if which not in ("axis", "axis2"):
        raise element.error(f"unknown axis {which!r} of a leader; valid: axis, axis2")
    if leader is joint and which == axis.tag:
        raise joint.model_error(f"{joint.label} mimics itself", element)
    multiplier = child_number(element, "multiplier")
    offset = child_number(element, "offset", 0.0) - multiplier * child_number(element, "reference", 0.0)
    return Mimic(leader.name, multiplier, offset, ("axis", "axis2").index(which))


def _pitch(joint: Element) -> float:
    """Read the pitch of a screw [m/rad]: `screw_thread_pitch` is in metres a turn, `thread_pitch` its -2 pi / x."""
    if joint.child("screw_thread_pitch") is not None:
        return child_number(joint, "screw_thread_pitch") / (2.0 * math.pi)
    if joint.child("thread_pitch") is None:
        raise joint.error("a screw joint has no <screw_thread_pitch>")
    pitch = child_number(joint, "thread_pitch")
    if pitch == 0.0:
        raise joint.error("thread_pitch is zero: the joint would move infinitely far")
    return -1.0 / pitch
