"""The links of URDF with what rides along: shapes, colours, inertia. Nothing here can stop the kinematics.

A shape or an inertia that can't be read is reported by a warning of this module's logger; the shape is kept as unknown.
"""

from __future__ import annotations

import contextlib
import logging

from ...errors import ParseError
from ...model import Box, Capsule, Cylinder, Geometry, Inertial, Link, Mesh, Shape, Sphere, UnknownGeometry
from ..numbers import number, vector
from ..xml import Element
from .parts import read_origin, required_name

Colour = tuple[float, float, float, float]

_log = logging.getLogger(__name__)


def material_colours(robot: Element) -> dict[str, Colour]:
    """Map the names of materials to their colours, from the robot's own and those defined inside visuals.

    The first definition of a name counts, the robot's own before those inside visuals.
    """
    visuals = [visual for link in robot.all("link") for visual in link.all("visual")]
    inside = [material for visual in visuals for material in visual.all("material")]
    colours: dict[str, Colour] = {}
    for material in robot.all("material") + inside:
        try:
            colour = _colour(material)
        except ParseError as error:
            _log.warning("%s; the colour is left out", error)
            continue
        if colour is not None:
            colours.setdefault(material.get("name", ""), colour)
    return colours


def read_link(element: Element, colours: dict[str, Colour]) -> Link:
    """Read a link; raises ParseError where it has no name."""
    return Link(
        required_name(element),
        visuals=tuple(_read_shape(shape, colours) for shape in element.all("visual")),
        collisions=tuple(_read_shape(shape) for shape in element.all("collision")),
        inertial=_read_inertial(element),
        line=element.line,
    )


def _read_shape(element: Element, colours: dict[str, Colour] | None = None) -> Shape:
    name = element.get("name", "")
    geometry = next((child for parent in element.all("geometry") for child in parent.children), None)
    rgba = None if colours is None else _shape_colour(element, colours)
    try:
        return Shape(_read_geometry(geometry), read_origin(element), name, rgba)
    except ParseError as error:
        _log.warning("%s; the %s is kept as unknown", error, element.tag)
        return Shape(UnknownGeometry(geometry.tag if geometry is not None else ""), name=name, rgba=rgba)


def _read_geometry(element: Element | None) -> Geometry:
    if element is None:
        return UnknownGeometry("")
    if element.tag == "box":
        return Box(vector(element, "size"))
    if element.tag == "cylinder":
        return Cylinder(number(element, "radius"), number(element, "length"))
    if element.tag == "sphere":
        return Sphere(number(element, "radius"))
    if element.tag == "capsule":
        return Capsule(number(element, "radius"), number(element, "length"))
    if element.tag == "mesh":
        return Mesh(element.required("filename"), vector(element, "scale", default=(1.0, 1.0, 1.0)))
    return UnknownGeometry(element.tag)


def _shape_colour(element: Element, colours: dict[str, Colour]) -> Colour | None:
    for material in element.all("material"):
        with contextlib.suppress(ParseError):  # reported by material_colours
            return _colour(material) or colours.get(material.get("name", ""))
    return None


def _colour(material: Element) -> Colour | None:
    color = next(iter(material.all("color")), None)
    return None if color is None else vector(color, "rgba", size=4)


def _read_inertial(link: Element) -> Inertial | None:
    for element in link.all("inertial"):
        try:
            mass = _needed_child(element, "mass")
            inertia = _needed_child(element, "inertia")
            components = tuple(number(inertia, key) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
            return Inertial(number(mass, "value"), components, read_origin(element))
        except ParseError as error:
            _log.warning("%s; the inertia is left out", error)
    return None


def _needed_child(element: Element, tag: str) -> Element:
    child = element.child(tag)
    if child is None:
        raise element.error(f"has no <{tag}>")
    return child
