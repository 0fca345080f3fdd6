"""What `<compiler>` says about reading the rest of an MJCF model, and the poses that depend on it.

https://mujoco.readthedocs.io/en/stable/XMLreference.html#compiler
https://mujoco.readthedocs.io/en/stable/modeling.html#frame-orientations
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from ...pose import IDENTITY, Pose, Vector
from ..xml import Element
from .attributes import ORIENTATIONS, Attributes, refuse_unknown

Quaternion = tuple[float, float, float, float]

_TINY: Final = 1e-14  # shorter vectors have no direction, as in MuJoCo


@dataclass(frozen=True)
class Compiler:
    """How angles, Euler sequences, ranges and files of a model are meant.

    Attributes:
        eulerseq: three of xyzXYZ; lower case turns about the moved axes, upper case about the parent's.
        autolimits: whether a range alone limits a joint.
        alignfree: whether free bodies without children get their inertial frame as frame.
        fusestatic: whether bodies without joints count as part of their parents.
        meshdir: folder of the mesh files, as written.
    """

    degrees: bool = True
    eulerseq: str = "xyz"
    autolimits: bool = True
    alignfree: bool = False
    fusestatic: bool = False
    meshdir: str = ""

    def radians(self, angle: float) -> float:
        """Give an angle of the file in radians."""
        return math.radians(angle) if self.degrees else angle

    def rotation(self, euler: Sequence[float]) -> Quaternion:
        """Give the quaternion wxyz of three angles of the file."""
        total: Quaternion = (1.0, 0.0, 0.0, 0.0)
        for letter, angle in zip(self.eulerseq, euler):
            turn = _turn(_AXES[letter.lower()], self.radians(angle))
            total = _product(total, turn) if letter.islower() else _product(turn, total)
        return total

    def pose(self, attributes: Attributes) -> Pose:
        """Read a position and one of the five ways to write an orientation.

        Raises:
            ParseError: no numbers, several orientations, or one without a direction.
        """
        xyz = attributes.numbers("pos", 3, (0.0, 0.0, 0.0))
        given = [name for name in ORIENTATIONS if name in attributes]
        if len(given) > 1:
            raise attributes.element.error(f"both {given[0]} and {given[1]}; write one orientation")
        if not given:
            return Pose(xyz) if any(xyz) else IDENTITY
        return Pose.from_xyz_wxyz(xyz, _READERS[given[0]](attributes, self))


def read_compiler(sections: Sequence[Element]) -> Compiler:
    """Read the `<compiler>` elements of a model; of several the last word counts.

    Raises:
        ParseError: an unknown keyword, or global coordinates.
    """
    values = reduce(lambda before, section: {**before, **Attributes.of(section).values}, sections, {})
    for section in sections:
        refuse_unknown(section)
    if not sections:
        return Compiler()
    attributes = Attributes(sections[-1], values)
    if attributes.keyword("coordinate", ("local", "global"), "local") == "global":
        message = "coordinate='global' is not supported; MuJoCo up to 2.3.3 can save such a file in local coordinates"
        raise values["coordinate"][1].error(message)
    sequence = attributes.text("eulerseq") if "eulerseq" in values else "xyz"
    if len(sequence) != 3 or set(sequence) - set("xyzXYZ"):
        raise values["eulerseq"][1].error(f"eulerseq takes 3 letters of xyzXYZ, found {sequence[:20]!r}")
    return Compiler(
        degrees=attributes.keyword("angle", ("degree", "radian"), "degree") == "degree",
        eulerseq=sequence,
        autolimits=attributes.flag("autolimits", True),
        alignfree=attributes.flag("alignfree"),
        fusestatic=attributes.flag("fusestatic"),
        meshdir=attributes.text("meshdir") or attributes.text("assetdir"),
    )


def from_z_axis(direction: Sequence[float]) -> Quaternion | None:
    """Give the quaternion wxyz of the smallest turn from z to a direction, None where there is no direction.

    Of the turns by half a revolution the one about x is taken, as MuJoCo does.
    """
    unit = _unit(direction)
    if unit is None:
        return None
    x, y, z = unit
    sine = math.hypot(x, y)
    axis = (-y / sine, x / sine, 0.0) if sine >= 1e-10 else (1.0, 0.0, 0.0)
    return _turn(axis, math.atan2(sine, z))


def wxyz_of(pose: Pose) -> Quaternion:
    """Give the quaternion of a pose's rotation, from its largest component on (Shepperd's method)."""
    (a, b, c), (d, e, f), (g, h, i) = pose.rotation
    squares = (1 + a + e + i, 1 + a - e - i, 1 - a + e - i, 1 - a - e + i)
    rows = (
        (squares[0], h - f, c - g, d - b),
        (h - f, squares[1], b + d, c + g),
        (c - g, b + d, squares[2], f + h),
        (d - b, c + g, f + h, squares[3]),
    )
    row = rows[squares.index(max(squares))]
    length = math.hypot(*row)
    w, x, y, z = (component / length for component in row)
    return (w, x, y, z)


_AXES: dict[str, Vector] = {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}


def _quat(attributes: Attributes, _: Compiler) -> Quaternion:
    quaternion = attributes.numbers("quat", 4)
    size = max(map(abs, quaternion))
    if size == 0.0:
        raise attributes.values["quat"][1].error("quat is zero; no rotation is 1 0 0 0")
    w, x, y, z = (component / size for component in quaternion)
    return (w, x, y, z)


def _axisangle(attributes: Attributes, compiler: Compiler) -> Quaternion:
    *axis, angle = attributes.numbers("axisangle", 4)
    unit = _unit(axis)
    if unit is None:
        raise attributes.values["axisangle"][1].error("axisangle: the axis is zero")
    return _turn(unit, compiler.radians(angle))


def _euler(attributes: Attributes, compiler: Compiler) -> Quaternion:
    return compiler.rotation(attributes.numbers("euler", 3))


def _zaxis(attributes: Attributes, _: Compiler) -> Quaternion:
    quaternion = from_z_axis(attributes.numbers("zaxis", 3))
    if quaternion is None:
        raise attributes.values["zaxis"][1].error("zaxis is zero; it must point somewhere")
    return quaternion


def _xyaxes(attributes: Attributes, _: Compiler) -> Quaternion:
    numbers = attributes.numbers("xyaxes", 6)
    x, y = _unit(numbers[:3]), _unit(numbers[3:])
    if x is not None and y is not None:
        along = sum(a * b for a, b in zip(x, y))
        y = _unit([b - along * a for a, b in zip(x, y)])
    if x is None or y is None:
        raise attributes.values["xyaxes"][1].error("xyaxes: the x and y axes are parallel, or one of them is zero")
    z = (x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0])
    return wxyz_of(Pose(rotation=tuple(zip(x, y, z))))


_READERS: dict[str, Callable[[Attributes, Compiler], Quaternion]] = {
    "quat": _quat,
    "axisangle": _axisangle,
    "euler": _euler,
    "zaxis": _zaxis,
    "xyaxes": _xyaxes,
}


def _turn(axis: Vector, angle: float) -> Quaternion:
    sine = math.sin(angle / 2)
    return (math.cos(angle / 2), sine * axis[0], sine * axis[1], sine * axis[2])


def _product(p: Quaternion, q: Quaternion) -> Quaternion:
    a, b, c, d = p
    e, f, g, h = q
    return (
        a * e - b * f - c * g - d * h,
        a * f + b * e + c * h - d * g,
        a * g - b * h + c * e + d * f,
        a * h + b * g - c * f + d * e,
    )


def _unit(vector: Sequence[float]) -> Vector | None:
    """Give a vector of length 1 in the same direction, None where the vector is too short to have one."""
    size = max(map(abs, vector))
    if size < _TINY:
        return None
    x, y, z = (component / size for component in vector)  # first, because the squares of large numbers leave float64
    length = math.hypot(x, y, z)
    return (x / length, y / length, z / length)
