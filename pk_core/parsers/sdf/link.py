"""The links of SDF with what rides along: shapes, colours, inertia. Nothing here can stop the kinematics.

A shape or an inertia that can't be read is reported by a warning of this module's logger; the shape is kept as unknown.
"""

from __future__ import annotations

import contextlib
import logging

from ...errors import ParseError
from ...model import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Geometry,
    Inertial,
    Link,
    Mesh,
    Plane,
    Shape,
    Sphere,
    UnknownGeometry,
)
from ...pose import Pose
from ..xml import Element
from .frames import Frames
from .scopes import Item
from .values import child_number, child_text, child_vector, read_pose, refuse_children, relative_to, unit_vector

_UNIT_INERTIA = (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)

Colour = tuple[float, float, float, float]

_log = logging.getLogger(__name__)


def read_link(item: Item, frames: Frames) -> Link:
    """Read a link; raises ParseError for what is no SDF and would move it."""
    element = item.element
    refuse_children(element, ("pose",), ("origin", "joint"))
    return Link(
        item.name,
        visuals=tuple(_read_shape(shape, item, frames) for shape in element.all("visual")),
        collisions=tuple(_read_shape(shape, item, frames) for shape in element.all("collision")),
        inertial=_read_inertial(element),
        line=element.line,
    )


def _read_shape(element: Element, link: Item, frames: Frames) -> Shape:
    name = element.get("name", "").strip()
    geometry = next((child for parent in element.all("geometry") for child in parent.children), None)
    rgba = _colour(element) if element.tag == "visual" else None
    try:
        return Shape(_read_geometry(geometry), _shape_pose(element, link, frames), name, rgba)
    except ParseError as error:
        _log.warning("%s; the %s is kept as unknown", error, element.tag)
        return Shape(UnknownGeometry(geometry.tag if geometry is not None else ""), name=name, rgba=rgba)


def _shape_pose(element: Element, link: Item, frames: Frames) -> Pose:
    pose = element.child("pose")
    name = relative_to(pose, link.scope.version)
    own = read_pose(pose)
    return frames.between(link, frames.reference(link, name, pose, "relative_to")) @ own if name else own


def _read_geometry(element: Element | None) -> Geometry:
    if element is None:
        return UnknownGeometry("")
    if element.tag == "box":
        return Box(child_vector(element, "size"))
    if element.tag == "cylinder":
        return Cylinder(child_number(element, "radius"), child_number(element, "length"))
    if element.tag == "sphere":
        return Sphere(child_number(element, "radius"))
    if element.tag == "capsule":
        return Capsule(child_number(element, "radius"), child_number(element, "length"))
    if element.tag == "ellipsoid":
        return Ellipsoid(child_vector(element, "radii"))
    if element.tag == "plane":
        normal = unit_vector(element, child_vector(element, "normal", default=(0.0, 0.0, 1.0)), "the normal")
        return Plane(normal, child_vector(element, "size", 2, default=(1.0, 1.0)))
    if element.tag == "mesh":
        uri = child_text(element, "uri") or child_text(element, "filename") or element.required("filename")
        return Mesh(uri, child_vector(element, "scale", default=(1.0, 1.0, 1.0)))
    return UnknownGeometry(element.tag)


def _colour(visual: Element) -> Colour | None:
    """Read the diffuse colour; alpha is 1 where there are three numbers only."""
    for material in visual.all("material"):
        with contextlib.suppress(ParseError):
            size = len(child_text(material, "diffuse").split())
            if size:
                return (*child_vector(material, "diffuse", size if size in (3, 4) else 4), 1.0)[:4]
    return None


def _read_inertial(link: Element) -> Inertial | None:
    """Read mass and inertia; SDF says that what is left out is 1 kg, 1 kg m^2 about each axis, 0 off the diagonal."""
    for element in link.all("inertial"):
        if element.get("auto", "").strip().lower() in ("true", "1"):
            continue  # to be computed from the collisions
        try:
            inertia = next(iter(element.all("inertia")), None)
            components = [
                child_number(inertia, key, default) if inertia is not None else default
                for key, default in zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), _UNIT_INERTIA, strict=True)
            ]
            return Inertial(child_number(element, "mass", 1.0), tuple(components), read_pose(element.child("pose")))
        except ParseError as error:
            _log.warning("%s; the inertia is left out", error)
    return None
