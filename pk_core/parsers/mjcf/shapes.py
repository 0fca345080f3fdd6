"""What rides along on the bodies of MJCF: geoms and inertia. Nothing here can stop the kinematics.

A geom or an inertia that can't be read is reported by a warning of this module's logger.
https://mujoco.readthedocs.io/en/stable/XMLreference.html#body-geom
"""

from __future__ import annotations

import logging
import math
import posixpath
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from ...errors import ParseError
from ...model import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Geometry,
    Inertial,
    Mesh,
    Plane,
    Shape,
    Sphere,
    UnknownGeometry,
)
from ...pose import Pose
from ..xml import Element
from .attributes import Attributes, Defaults
from .compiler import Compiler, from_z_axis
from .parts import InertialPart, ShapePart

_log = logging.getLogger(__name__)

_TYPES: Final = ("plane", "hfield", "sphere", "capsule", "ellipsoid", "cylinder", "box", "mesh", "sdf")
_WITH_ENDS: Final = ("capsule", "cylinder", "ellipsoid", "box")
_FIRST_HIDDEN_GROUP: Final = 3  # MuJoCo's viewer shows groups 0 to 2 unless asked for more

Colour = tuple[float, float, float, float]


@dataclass
class Assets:
    """The meshes and colours that geoms refer to by name."""

    meshes: dict[str, Mesh] = field(default_factory=dict)
    colours: dict[str, Colour] = field(default_factory=dict)


def read_assets(sections: Sequence[Element], defaults: Defaults, compiler: Compiler) -> Assets:
    """Read the meshes and materials of a model; what can't be read is left out with a warning."""
    assets = Assets()
    for element in (child for section in sections for child in section.children):
        try:
            if element.tag == "mesh":
                _add_mesh(defaults.attributes(element, "main"), assets, compiler)
            elif element.tag == "material":
                attributes = defaults.attributes(element, "main")
                assets.colours[element.get("name", "")] = _colour(attributes, (1.0, 1.0, 1.0, 1.0))
        except ParseError as error:
            _log.warning("%s; it is left out", error)
    return assets


def _add_mesh(attributes: Attributes, assets: Assets, compiler: Compiler) -> None:
    file = attributes.text("file")
    name = attributes.element.get("name") or posixpath.splitext(posixpath.basename(file))[0]
    uri = posixpath.join(compiler.meshdir, file) if file else ""
    assets.meshes[name] = Mesh(uri, attributes.numbers("scale", 3, (1.0, 1.0, 1.0)))


def read_geom(element: Element, childclass: str, defaults: Defaults, assets: Assets, compiler: Compiler) -> ShapePart:
    """Read a `<geom>`: to be seen if its group is shown by default, to collide if it may touch anything."""
    name = element.get("name", "")
    try:
        attributes = defaults.attributes(element, childclass)
        geometry, pose = _geometry(attributes, assets), read_pose(attributes, compiler)
        rgba = _rgba(attributes, assets)
        collides = any(attributes.number(mask, 1.0) for mask in ("contype", "conaffinity"))
        shown = attributes.number("group", 0.0) < _FIRST_HIDDEN_GROUP or not collides
    except ParseError as error:
        _log.warning("%s; the geom is kept as unknown", error)
        return ShapePart(element, Shape(UnknownGeometry("geom"), name=name), visual=True, collision=False)
    return ShapePart(element, Shape(geometry, pose, name, rgba), visual=shown, collision=collides)


def read_pose(attributes: Attributes, compiler: Compiler) -> Pose:
    """Read the pose of a geom or site, which may be given by the ends of its z axis; raises ParseError."""
    if "fromto" not in attributes:
        return compiler.pose(attributes)
    if "pos" in attributes:
        raise attributes.element.error("both pos and fromto; write one of them")
    ends = attributes.numbers("fromto", 6)
    middle = tuple(a / 2 + b / 2 for a, b in zip(ends[:3], ends[3:]))
    quaternion = from_z_axis([a - b for a, b in zip(ends[:3], ends[3:])])
    if quaternion is None:
        raise attributes.element.error("fromto: both ends are the same point")
    return Pose.from_xyz_wxyz(middle, quaternion)


def _geometry(attributes: Attributes, assets: Assets) -> Geometry:
    kind = attributes.keyword("type", _TYPES, "sphere")
    if kind in ("hfield", "sdf"):
        return UnknownGeometry(kind)
    if "mesh" in attributes:  # other types are fitted to it, which only shows in the look
        return assets.meshes.get(attributes.text("mesh"), UnknownGeometry("mesh"))
    if kind == "mesh":
        return UnknownGeometry("mesh")
    size = (*attributes.numbers("size", None, (0.0, 0.0, 0.0)), 0.0, 0.0)[:3]
    if "fromto" in attributes:
        if kind not in _WITH_ENDS:
            raise attributes.element.error(f"fromto of a {kind}; only {', '.join(_WITH_ENDS)} have two ends")
        ends = attributes.numbers("fromto", 6)
        half = math.dist(ends[:3], ends[3:]) / 2
        size = (size[0], half, 0.0) if kind in ("capsule", "cylinder") else (size[0], size[1] or size[0], half)
    return _of_size(kind, size)


def _of_size(kind: str, size: Sequence[float]) -> Geometry:
    x, y, z = size
    if kind == "box":
        return Box((2 * x, 2 * y, 2 * z))
    if kind == "plane":
        return Plane(size=(2 * x, 2 * y))
    if kind == "cylinder":
        return Cylinder(x, 2 * y)
    if kind == "capsule":
        return Capsule(x, 2 * y)
    return Ellipsoid((x, y, z)) if kind == "ellipsoid" else Sphere(x)


def _rgba(attributes: Attributes, assets: Assets) -> Colour | None:
    if "rgba" in attributes:
        return _colour(attributes, (0.5, 0.5, 0.5, 1.0))
    return assets.colours.get(attributes.text("material"))


def _colour(attributes: Attributes, default: Colour) -> Colour:
    red, green, blue, alpha = attributes.numbers("rgba", 4, default)
    return (red, green, blue, alpha)


def read_inertial(element: Element, compiler: Compiler) -> InertialPart | None:
    """Read an `<inertial>`, None with a warning where that fails.

    MJCF writes a full inertia as xx, yy, zz, xy, xz, yz.
    """
    attributes = Attributes.of(element)
    try:
        pose = compiler.pose(attributes)
        mass = attributes.numbers("mass", 1)[0]
        if "fullinertia" in attributes:
            xx, yy, zz, xy, xz, yz = attributes.numbers("fullinertia", 6)
        else:
            (xx, yy, zz), xy, xz, yz = attributes.numbers("diaginertia", 3, (0.0, 0.0, 0.0)), 0.0, 0.0, 0.0
    except ParseError as error:
        _log.warning("%s; the inertia is left out", error)
        return None
    return InertialPart(element, Inertial(mass, (xx, xy, xz, yy, yz, zz), pose))
