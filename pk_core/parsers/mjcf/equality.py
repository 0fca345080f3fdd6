"""Fold `<equality><joint>` into the robot: in MuJoCo a soft constraint between two coordinates, here a mimic.

    q1 - ref1 = c0 + c1 (q2 - ref2)

https://mujoco.readthedocs.io/en/stable/XMLreference.html#equality-joint
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from ...model import Joint, JointType, Mimic
from ...pose import Pose
from ..names import close_names
from ..xml import Element
from .links import Built
from .model import Model
from .parts import Scope

_log = logging.getLogger(__name__)

_SCALAR: Final = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC, JointType.FIXED)

Copies = dict[Scope, str]  # of one joint of a description: its name in the robot, for each copy


@dataclass(frozen=True)
class _Equality:
    """A linear constraint between copies of two joints; `leader` is "" where it holds one joint at a value."""

    element: Element
    follower: str
    leader: str
    constant: float
    slope: float


def folded(top: Model, built: Built) -> list[Joint]:
    """Give the joints of the robot with the followers of linear constraints as mimics, those held at a value as fixed.

    A constraint that is not active or not linear is left out, and so is one on a joint that follows already or that
    would close a cycle.

    Raises:
        ParseError: a joint that does not exist, or is neither a hinge nor a slide.
    """
    joints = {joint.name: joint for joint in built.joints}
    declared: dict[Model, dict[str, Copies]] = {top: {}}
    for placed, name in built.joint_names.items():
        declared.setdefault(placed.part.owner, {}).setdefault(placed.part.name, {})[placed.scope] = name
    for model, copies in declared.items():
        for element in model.equalities:
            for equality in _read(element, model, copies, joints) if element.tag == "joint" else ():
                reason = _why_not(equality, joints)
                if reason:
                    _log.warning("%s", element.error(f"{reason}; the constraint is left out"))
                else:
                    joints[equality.follower] = _followed(equality, joints)
    return list(joints.values())


def _read(element: Element, model: Model, declared: dict[str, Copies], joints: dict[str, Joint]) -> Iterable[_Equality]:
    """Read a constraint, once for each copy of its joints."""
    attributes = model.defaults.attributes(element, "main", tag="equality")
    coefficients = attributes.numbers("polycoef", None, (0.0, 1.0))
    if len(coefficients) > 5:
        raise element.error(f"polycoef takes up to 5 numbers, found {len(coefficients)}")
    constant, slope, *higher = (*coefficients, *(0.0, 1.0)[len(coefficients) :])
    followers = _copies(element, "joint1", declared, joints)
    leaders = _copies(element, "joint2", declared, joints) if element.get("joint2") else dict.fromkeys(followers, "")
    if any(higher):
        _log.warning("%s", element.error("polycoef is not linear; the constraint is left out"))
    if any(higher) or not attributes.flag("active", True):
        return []
    # A constraint between a copy and what is outside of it is none in MuJoCo either.
    pairs = [(name, leaders[scope]) for scope, name in followers.items() if scope in leaders]
    return [_Equality(element, follower, leader, constant, slope) for follower, leader in pairs]


def _copies(element: Element, which: str, declared: dict[str, Copies], joints: dict[str, Joint]) -> Copies:
    name = element.required(which)
    if name not in declared:
        raise element.error(f"{which}: there is no joint {name!r}{close_names(name, declared)}")
    for copy in declared[name].values():
        if joints[copy].type not in _SCALAR:
            raise element.error(f"{which}: joint {name!r} is a {joints[copy].type.value} joint, not a hinge or slide")
    return declared[name]


def _why_not(equality: _Equality, joints: dict[str, Joint]) -> str:
    """Say why a constraint can't be folded with those before it, "" if it can."""
    follower, leader = joints[equality.follower], joints.get(equality.leader)
    if follower.type is JointType.FIXED or follower.mimic is not None:
        return f"joint {follower.name!r} is bound by another constraint"
    if leader is None:
        led = any(joint.mimic is not None and joint.mimic.joint == follower.name for joint in joints.values())
        return f"joint {follower.name!r} leads others" if led else ""
    if leader.type is JointType.FIXED:
        return f"joint {leader.name!r} is held at a value"
    while leader.mimic is not None:
        leader = joints[leader.mimic.joint]
    return f"joint {follower.name!r} would follow itself" if leader.name == follower.name else ""


def _followed(equality: _Equality, joints: dict[str, Joint]) -> Joint:
    follower = joints[equality.follower]
    axis = follower.axes[0]
    if not equality.leader:
        return _held(follower, equality.constant)
    reference = joints[equality.leader].axes[0].reference
    offset = axis.reference + equality.constant - equality.slope * reference
    return replace(follower, axes=(replace(axis, mimic=Mimic(equality.leader, equality.slope, offset)),))


def _held(joint: Joint, motion: float) -> Joint:
    """Make a joint fixed, moved so far [rad] or [m] from its reference."""
    x, y, z = joint.axes[0].direction
    if joint.type is JointType.PRISMATIC:
        moved = Pose((motion * x, motion * y, motion * z))
    else:
        sine = math.sin(motion / 2)
        moved = Pose.from_xyz_wxyz((0.0, 0.0, 0.0), (math.cos(motion / 2), sine * x, sine * y, sine * z))
    return replace(joint, type=JointType.FIXED, origin=joint.origin @ moved, axes=())
