"""Read URDF, as http://wiki.ros.org/urdf/XML and urdfdom define it, with the 1.2 additions quat_xyzw and capsule.

`docs/formats.md` says what is read, what is ignored because it can't move a link, and what is refused.
"""

from __future__ import annotations

import math
from collections.abc import Collection

from ...errors import ModelError
from ...model import Axis, Joint, JointType, Mimic, Robot
from ...pose import Vector
from ...validation import assemble
from ..names import close_names, meant_tag
from ..numbers import number, vector
from ..xml import Element, parse_xml
from .link import material_colours, read_link
from .parts import read_origin, refuse_attributes, refuse_other_case, required_name

JOINT_TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")

# What moves links: in URDF, and, never ignored, in other formats and in xacro before it had a namespace.
_IN_ROBOT = ("link", "joint")
_IN_JOINT = ("origin", "parent", "child", "axis", "limit", "mimic")
_FOREIGN_IN_ROBOT = ("include", "xi:include", "macro", "model", "robot")
_FOREIGN_IN_JOINT = ("pose", "axis2", "thread_pitch", "screw_thread_pitch")


def parse_urdf(data: str | bytes, *, source: str = "") -> Robot:
    """Read a robot from the text of a URDF file.

    Args:
        data: text or bytes of the file.
        source: name of the file, for errors.

    Raises:
        ParseError: not XML, or not URDF: with file, line and element.
        ModelError: its links and joints are no tree, a name is used twice, or a mimic has no leader.
    """
    root = parse_xml(data, source=source)
    if root.tag != "robot":
        raise root.error(f"the root of a URDF file is <robot>, found <{root.tag}>{_format_hint(root.tag)}")
    _refuse_xacro(root)
    _refuse_misspelt_children(root, _IN_ROBOT, _FOREIGN_IN_ROBOT)
    colours = material_colours(root)
    links = [read_link(element, colours) for element in root.all("link")]
    names = {link.name for link in links}
    joint_elements = root.all("joint")
    joints = [_read_joint(element, names) for element in joint_elements]
    _check_leaders(joint_elements, {joint.name for joint in joints})
    return assemble(root.get("name", ""), links, joints, source=source)


def _format_hint(tag: str) -> str:
    formats = {"sdf": "SDF", "mujoco": "MJCF", "mujocoinclude": "MJCF", "gazebo": "SDF"}
    if tag.lower() == "robot":
        return "; upper and lower case matter"
    return f": this is {formats[tag]}" if tag in formats else ""


def _refuse_xacro(root: Element) -> None:
    prefixes = {"xacro"} | {
        attribute.removeprefix("xmlns:")
        for attribute, uri in root.attributes.items()
        if attribute.startswith("xmlns:") and "xacro" in uri
    }
    for element in root.walk():
        prefix, colon, _ = element.tag.partition(":")
        if colon and prefix in prefixes:
            raise element.error("unexpanded xacro; expand the file with xacro first")


def _refuse_misspelt_children(parent: Element, known: tuple[str, ...], foreign: tuple[str, ...]) -> None:
    """Refuse a child that may be meant to move a link and would be ignored."""
    for child in parent.children:
        if child.tag in known:
            continue
        meant = meant_tag(child.tag, known)
        if meant:
            raise child.error(f"unknown element in <{parent.label}>; did you mean <{meant}>?")
        if child.tag in foreign:
            raise child.error(f"not an element of URDF, and would move links; URDF has {', '.join(known)}")


def _read_joint(element: Element, links: Collection[str]) -> Joint:
    name = required_name(element)
    kind = _joint_type(element)
    _refuse_misspelt_children(element, _IN_JOINT, _FOREIGN_IN_JOINT)
    return Joint(
        name=name,
        type=kind,
        parent=_end(element, "parent", links),
        child=_end(element, "child", links),
        origin=read_origin(element),
        axes=_read_axes(element, kind),
        line=element.line,
    )


def _joint_type(element: Element) -> JointType:
    written = element.required("type")
    if written not in JOINT_TYPES:
        hint = f"; did you mean {written.lower()!r}?" if written.lower() in JOINT_TYPES else ""
        raise element.error(f"unknown joint type {written!r}{hint}; valid: {', '.join(JOINT_TYPES)}")
    return JointType(written)


def _end(joint: Element, which: str, links: Collection[str]) -> str:
    element = joint.child(which)
    if element is None:
        raise joint.error(f"joint {joint.get('name')!r} has no <{which} link=...>")
    name = element.required("link")
    if name not in links:
        hint = close_names(name, links)
        if which == "parent" and not hint:
            hint = f'; if it is the root, add <link name="{name}"/>'
        message = f"{which} link {name!r} of joint {joint.get('name')!r} is not declared{hint}"
        raise ModelError(message, line=element.line, element=which, source=element.source)
    return name


def _read_axes(joint: Element, kind: JointType) -> tuple[Axis, ...]:
    mimic = joint.child("mimic")
    if kind is JointType.FIXED:  # an axis, limits or a mimic of a fixed joint say nothing
        return ()
    if mimic is not None and kind in (JointType.PLANAR, JointType.FLOATING):
        raise mimic.error(f"{kind.value} joint {joint.get('name')!r}: only joints of one coordinate can follow others")
    if kind is JointType.FLOATING:
        return ()
    lower, upper, velocity, effort = _read_limits(joint, kind)
    return (Axis(_direction(joint), lower, upper, velocity, effort, mimic=_read_mimic(mimic)),)


def _direction(joint: Element) -> Vector:
    element = joint.child("axis")
    if element is None:
        return (1.0, 0.0, 0.0)
    refuse_attributes(element, ("xyz", "rpy"))
    if any(vector(element, "rpy", default=(0.0, 0.0, 0.0))):
        raise element.error("rpy of an axis is not URDF; turn the joint's <origin>")
    direction = vector(element, "xyz")
    size = max(map(abs, direction))
    if size == 0.0:
        raise element.error(f"axis of joint {joint.get('name')!r} is zero; it must point somewhere, as 0 0 1 does")
    scaled = [c / size for c in direction]  # first, because the squares of large or tiny numbers leave float64
    length = math.hypot(*scaled)
    return tuple(c / length for c in scaled)


def _read_limits(joint: Element, kind: JointType) -> tuple[float, float, float, float]:
    """Read lower, upper, velocity, effort; infinite where the description gives none."""
    element = joint.child("limit")
    if element is None:
        return -math.inf, math.inf, math.inf, math.inf
    refuse_other_case(element, ("lower", "upper", "velocity", "effort"))
    velocity, effort = (_largest(element, attribute) for attribute in ("velocity", "effort"))
    given = {"lower", "upper"} & element.attributes.keys()
    if kind in (JointType.CONTINUOUS, JointType.PLANAR) or not given:
        return -math.inf, math.inf, velocity, effort
    lower, upper = (number(element, attribute, 0.0, infinite=True) for attribute in ("lower", "upper"))
    if not lower <= upper:
        defaults = "" if len(given) == 2 else " (0 where it is not written)"
        raise element.error(f"limit of joint {joint.get('name')!r}: lower {lower} is above upper {upper}{defaults}")
    return lower, upper, velocity, effort


def _largest(limit: Element, attribute: str) -> float:
    value = number(limit, attribute, math.inf, infinite=True)
    return value if value >= 0.0 else math.inf  # exporters write -1 where there is none


def _read_mimic(element: Element | None) -> Mimic | None:
    if element is None:
        return None
    refuse_attributes(element, ("joint", "multiplier", "offset"))
    return Mimic(element.required("joint"), number(element, "multiplier", 1.0), number(element, "offset", 0.0))


def _check_leaders(joints: list[Element], names: Collection[str]) -> None:
    """Check that mimics follow joints of the file: `validate` would too, but knows the line of the joint only."""
    for joint in joints:
        mimic = joint.child("mimic")
        if mimic is None or joint.get("type") == "fixed":
            continue
        leader = mimic.required("joint")
        if leader == joint.get("name"):
            raise ModelError(f"joint {leader!r} mimics itself", line=mimic.line, element="mimic", source=mimic.source)
        if leader not in names:
            hint = close_names(leader, names)
            message = f"joint {joint.get('name')!r} mimics joint {leader!r}, which does not exist{hint}"
            raise ModelError(message, line=mimic.line, element="mimic", source=mimic.source)
