"""What elements of SDF hold: names, numbers, truth values and poses."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Final

from ...pose import IDENTITY, Pose, Vector
from ..numbers import numbers
from ..xml import Element

Version = tuple[int, int]

SEPARATOR: Final = "::"
SCOPED_NAMES_SINCE: Final[Version] = (1, 8)  # before, a name could hold the separator: a nested model written flat
POSE_FRAME_UNTIL: Final[Version] = (1, 6)  # `relative_to` was called `frame`

_POSE_ATTRIBUTES = ("relative_to", "rotation_format", "degrees")
_TRUE, _FALSE = ("true", "1"), ("false", "0")


def read_name(element: Element, version: Version) -> str:
    """Read the name of a model, link, joint or frame; raises ParseError where it is missing or reserved."""
    name = element.required("name").strip()
    if not name:
        raise element.error("the name is blank")
    if name == "world" or (len(name) >= 4 and name.startswith("__") and name.endswith("__")):
        raise element.error(f"the name {name!r} is reserved: no element may be called world or __...__")
    if "${" in name or "$(" in name:
        raise element.error("unexpanded xacro expression in the name; expand the file with xacro first")
    if SEPARATOR in name and version >= SCOPED_NAMES_SINCE:
        raise element.error(f"the name {name!r} holds '::', which since SDF 1.8 names what stands in a nested model")
    return name


def single(parent: Element, tag: str) -> Element | None:
    """Give the only child with a tag, None without one; raises ParseError where there are several, even if alike."""
    found = parent.all(tag)
    if len(found) > 1:
        raise found[1].error(f"a second <{tag}> in <{parent.label}>, which has one in line {found[0].line}")
    return found[0] if found else None


def child_text(parent: Element, tag: str) -> str:
    """Give the text of the only child with a tag, "" without one."""
    child = parent.child(tag)
    return "" if child is None else child.text.strip()


def child_number(parent: Element, tag: str, default: float | None = None, *, infinite: bool = False) -> float:
    """Read the number in a child element.

    Args:
        default: the value where there is no such child or it is empty; None if it has to be there.

    Raises:
        ParseError: no number, or missing without a default.
    """
    child = parent.child(tag)
    if child is None or not child.text.strip():
        if default is None:
            raise (parent if child is None else child).error(f"<{tag}> is missing or empty")
        return default
    return numbers(child.text, child, tag, size=1, infinite=infinite)[0]


def child_vector(parent: Element, tag: str, size: int = 3, default: Sequence[float] | None = None) -> tuple[float, ...]:
    """Read the numbers in a child element; raises ParseError as `child_number` does."""
    child = parent.child(tag)
    if child is None or not child.text.strip():
        if default is None:
            raise (parent if child is None else child).error(f"<{tag}> is missing or empty")
        return tuple(default)
    return numbers(child.text, child, tag, size=size)


def truth(text: str, element: Element, what: str) -> bool:
    """Read true, false, 1 or 0, in upper or lower case; "" is false."""
    word = text.strip().lower()
    if word not in (*_TRUE, *_FALSE, ""):
        raise element.error(f"{what} is true or false, found {text.strip()!r}")
    return word in _TRUE


def relative_to(pose: Element | None, version: Version) -> str:
    """Give the name of the frame in which a `<pose>` is written, "" for the default one.

    Raises:
        ParseError: an attribute that SDF does not have, or `frame` where it is called `relative_to`.
    """
    if pose is None:
        return ""
    frame = pose.get("frame", "").strip()
    if frame and version > POSE_FRAME_UNTIL:
        raise pose.error("attribute 'frame' of a pose is called 'relative_to' since SDF 1.7")
    for attribute in pose.attributes:
        if attribute not in (*_POSE_ATTRIBUTES, "frame") and ":" not in attribute:
            raise pose.error(f"unknown attribute {attribute!r} of a pose; valid: {', '.join(_POSE_ATTRIBUTES)}")
    return frame or pose.get("relative_to", "").strip()


def read_pose(pose: Element | None) -> Pose:
    """Read a `<pose>`: x y z [m] and roll, pitch, yaw or a quaternion xyzw; none or an empty one is the identity.

    Raises:
        ParseError: an unknown rotation_format, a wrong count of numbers, a zero quaternion.
    """
    if pose is None:
        return IDENTITY
    form = pose.get("rotation_format", "").strip() or "euler_rpy"
    degrees = truth(pose.get("degrees", ""), pose, "degrees")
    if form == "euler_rpy":
        values = numbers(pose.text, pose, "pose", size=6) if pose.text.strip() else (0.0,) * 6
        rpy = tuple(map(math.radians, values[3:])) if degrees else values[3:]
        return Pose.from_xyz_rpy(values[:3], rpy) if any(rpy) else Pose(values[:3])
    if form != "quat_xyzw":
        raise pose.error(f"unknown rotation_format {form!r} of a pose; valid: euler_rpy, quat_xyzw")
    if degrees:
        raise pose.error("a pose with a quaternion has no degrees")
    if not pose.text.strip():
        return IDENTITY
    *xyz, x, y, z, w = numbers(pose.text, pose, "pose", size=7)
    if not any((x, y, z, w)):
        raise pose.error("the quaternion of the pose is zero; no rotation is 0 0 0 1")
    return Pose.from_xyz_wxyz(tuple(xyz), (w, x, y, z))


def unit_vector(element: Element, values: Vector, what: str) -> Vector:
    """Scale a vector to length one; raises ParseError where it is zero."""
    size = max(map(abs, values))
    if size == 0.0:
        raise element.error(f"{what} is zero; it must point somewhere, as 0 0 1 does")
    scaled = [c / size for c in values]  # first, because the squares of large or tiny numbers leave float64
    length = math.hypot(*scaled)
    return tuple(c / length for c in scaled)


def refuse_children(parent: Element, known: Collection[str], foreign: Collection[str]) -> None:
    """Refuse what may be meant to move a link and would be ignored: a tag in the wrong case, or of another format."""
    for child in parent.children:
        if child.tag not in known and child.tag.lower() in known:
            raise child.error(f"unknown element in <{parent.label}>; did you mean <{child.tag.lower()}>?")
        if child.tag.startswith("xacro:"):
            raise child.error("unexpanded xacro; expand the file with xacro first")
        if child.tag in foreign:
            raise child.error(f"not an element of SDF here, and would move links; SDF has {', '.join(known)}")
