"""What joints, links and shapes of URDF have in common: names, `<origin>`, and attributes that must not be ignored."""

from __future__ import annotations

from collections.abc import Collection

from ...pose import IDENTITY, Pose
from ..numbers import vector
from ..xml import Element


def required_name(element: Element) -> str:
    """Read the name of a link or joint; raises ParseError where there is none or xacro has still to make it."""
    name = element.required("name")
    if "${" in name or "$(" in name:
        raise element.error("unexpanded xacro expression in the name; expand the file with xacro first")
    return name


def read_origin(parent: Element) -> Pose:
    """Read the `<origin>` of a joint, visual, collision or inertial; raises ParseError."""
    element = parent.child("origin")
    if element is None:
        return IDENTITY
    refuse_attributes(element, ("xyz", "rpy", "quat_xyzw"))
    xyz = vector(element, "xyz", default=(0.0, 0.0, 0.0))
    if "quat_xyzw" not in element.attributes:
        return Pose.from_xyz_rpy(xyz, vector(element, "rpy", default=(0.0, 0.0, 0.0)))
    if "rpy" in element.attributes:
        raise element.error("both rpy and quat_xyzw; write one of them")
    x, y, z, w = vector(element, "quat_xyzw", size=4)
    if not any((w, x, y, z)):
        raise element.error("quat_xyzw is zero; no rotation is 0 0 0 1")
    return Pose.from_xyz_wxyz(xyz, (w, x, y, z))


def refuse_attributes(element: Element, known: Collection[str]) -> None:
    """Refuse an attribute that may be meant to move a link and would be ignored."""
    for attribute in element.attributes:
        if attribute not in known and ":" not in attribute and attribute != "xmlns":
            raise element.error(f"unknown attribute {attribute!r}; valid: {', '.join(known)}")


def refuse_other_case(element: Element, known: Collection[str]) -> None:
    """Refuse an attribute that is a known one but for upper and lower case."""
    for attribute in element.attributes:
        if attribute not in known and attribute.lower() in known:
            raise element.error(f"unknown attribute {attribute!r}; did you mean {attribute.lower()!r}?")
