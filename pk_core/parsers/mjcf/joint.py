"""Joints of MJCF: https://mujoco.readthedocs.io/en/stable/XMLreference.html#body-joint"""

from __future__ import annotations

import logging
import math
from typing import Final

from ...model import Axis, JointType
from ...pose import Vector
from ..xml import Element
from .attributes import Attributes, refuse_unknown
from .compiler import Compiler
from .parts import JointPart

_log = logging.getLogger(__name__)

_TYPES: Final = ("hinge", "slide", "ball", "free")
_TRI_STATE: Final = ("auto", "false", "true")


def read_joint(attributes: Attributes, compiler: Compiler) -> JointPart:
    """Read a `<joint>`.

    Raises:
        ParseError: an unknown attribute or keyword, a zero axis, no numbers, limits in the wrong order.
    """
    element = attributes.element
    refuse_unknown(element)
    kind = attributes.keyword("type", _TYPES, "hinge")
    name = element.get("name", "")
    if kind == "free":
        return _free(element, name, compiler.alignfree, compiler)
    anchor = attributes.numbers("pos", 3, (0.0, 0.0, 0.0))
    if kind == "ball":
        return JointPart(element, name, JointType.BALL, anchor)
    lower, upper = _limits(attributes, kind, compiler)
    axis = Axis(
        direction=_direction(attributes),
        lower=lower,
        upper=upper,
        effort=_effort(attributes, compiler),
        reference=_value(attributes.number("ref", 0.0), kind, compiler),
    )
    if kind == "slide":  # moves all points alike
        return JointPart(element, name, JointType.PRISMATIC, axis=axis)
    limited = math.isfinite(lower) or math.isfinite(upper)
    return JointPart(element, name, JointType.REVOLUTE if limited else JointType.CONTINUOUS, anchor, axis)


def read_freejoint(element: Element, compiler: Compiler) -> JointPart:
    """Read a `<freejoint>`, which no default class touches; raises ParseError."""
    refuse_unknown(element)
    align = Attributes.of(element).keyword("align", _TRI_STATE, "auto")
    aligned = compiler.alignfree if align == "auto" else align == "true"
    return _free(element, element.get("name", ""), aligned, compiler)


def _free(element: Element, name: str, aligned: bool, compiler: Compiler) -> JointPart:
    return JointPart(element, name, JointType.FLOATING, aligned=aligned, everywhere=compiler.fusestatic)


def _value(number: float, kind: str, compiler: Compiler) -> float:
    return compiler.radians(number) if kind == "hinge" else number


def _direction(attributes: Attributes) -> Vector:
    direction = attributes.numbers("axis", 3, (0.0, 0.0, 1.0))
    size = max(map(abs, direction))
    if size < 1e-14:
        raise attributes.values["axis"][1].error("axis is zero; it must point somewhere, as 0 0 1 does")
    scaled = [c / size for c in direction]  # first, because the squares of large numbers leave float64
    length = math.hypot(*scaled)
    return tuple(c / length for c in scaled)


def _limits(attributes: Attributes, kind: str, compiler: Compiler) -> tuple[float, float]:
    """Read the position limits, infinite where there are none."""
    lower, upper = attributes.numbers("range", 2, (0.0, 0.0), infinite=True)
    if not _is_limited(attributes, "limited", "range", lower, upper, compiler):
        return -math.inf, math.inf
    return _value(lower, kind, compiler), _value(upper, kind, compiler)


def _effort(attributes: Attributes, compiler: Compiler) -> float:
    """Read the largest force or torque that actuators may bring about, infinite where there is no bound."""
    lower, upper = attributes.numbers("actuatorfrcrange", 2, (0.0, 0.0), infinite=True)
    if not _is_limited(attributes, "actuatorfrclimited", "actuatorfrcrange", lower, upper, compiler):
        return math.inf
    return max(abs(lower), abs(upper))


def _is_limited(attributes: Attributes, switch: str, what: str, lower: float, upper: float, compiler: Compiler) -> bool:
    state = attributes.keyword(switch, _TRI_STATE, "auto")
    label = f"{what} of joint {attributes.element.get('name', '')!r}"
    if state == "auto" and (lower or upper):
        if not compiler.autolimits:
            message = f"{label} without {switch}, while autolimits is false; write {switch}='true' or 'false'"
            raise attributes.element.error(message)
        if not lower < upper:
            _log.warning("%s", attributes.element.error(f"{label} is no range: {lower} to {upper}; there is no limit"))
    if state == "true" and not (lower < upper and lower < math.inf and upper > -math.inf):
        raise attributes.element.error(f"{label}: {lower} must be less than {upper}")
    return state == "true" or (state == "auto" and lower < upper)
