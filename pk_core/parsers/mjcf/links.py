"""From the bodies of an MJCF model to links, joints and frames, with the names of MuJoCo.

A body with several joints hangs from as many joints in a row, with hidden links between them:

    T_parent_body(q) = pose  @  about(anchor_1, motion_1)  @  about(anchor_2, motion_2) ...

where `about(a, M)` moves by M around the point a. The steps between anchors go into the joints' origins.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from ...errors import ModelError
from ...model import Frame, Joint, JointType, Link
from ...pose import IDENTITY, Pose, Vector
from ..xml import Element
from .compiler import wxyz_of
from .expand import PlacedBody, PlacedJoint

_log = logging.getLogger(__name__)


@dataclass
class Names:
    """Names of one kind that are given away, with the element that has each."""

    kind: str
    owners: dict[str, Element] = field(default_factory=dict)

    def take(self, name: str, element: Element) -> str:
        """Give away a name; raises ModelError where it is taken."""
        if name in self.owners:
            line, source = self.owners[name].line, self.owners[name].source
            where = f"line {line}" + (f" of {source}" if source != element.source else "")
            message = f"duplicate {self.kind} name {name!r}, first in {where}"
            raise ModelError(message, line=element.line, element=element.label, source=element.source)
        self.owners[name] = element
        return name

    def make(self, name: str, element: Element) -> str:
        """Give away a name that no description wrote, lengthened until it is free."""
        while name in self.owners:
            name += "'"
        self.owners[name] = element
        return name


@dataclass
class Built:
    """The parts of the robot; `joint_names` maps each joint of the description to its name in the robot."""

    links: list[Link] = field(default_factory=list)
    joints: list[Joint] = field(default_factory=list)
    frames: list[Frame] = field(default_factory=list)
    joint_names: dict[PlacedJoint, str] = field(default_factory=dict)


def build(bodies: list[PlacedBody]) -> Built:
    """Make links, joints and frames of the bodies of a model.

    Raises:
        ParseError: joints that can't stand together in a body, or where their body stands.
        ModelError: a name used twice.
    """
    built, links, joints = Built(), Names("body"), Names("joint")
    body_names = [links.take(body.name or f"#body{k}", body.element) for k, body in enumerate(bodies)]
    moving = [joint for body in bodies for joint in body.joints]
    for k, joint in enumerate(moving):
        built.joint_names[joint] = joints.take(joint.name or f"#joint{k}", joint.part.element)
    places = _places_of_still_bodies(bodies)
    for body, name in zip(bodies, body_names):
        if body.parent >= 0:
            _check_joints(body, places[body.parent] is not None, name)
            if _is_free(body):
                _float(body, name, body_names[0], places[body.parent] or IDENTITY, built)
            else:
                _hang(body, name, body_names[body.parent], built, links, joints)
        visuals, collisions = tuple(body.visuals), tuple(body.collisions)
        built.links.append(Link(name, visuals, collisions, body.inertial, line=body.element.line))
    _add_frames(bodies, body_names, built, links)
    return built


def _places_of_still_bodies(bodies: list[PlacedBody]) -> list[Pose | None]:
    """Give `T_world_body` of the bodies that never move, None for the others."""
    places: list[Pose | None] = []
    for body in bodies:
        above = IDENTITY if body.parent < 0 else places[body.parent]
        moves = above is None or body.joints or body.mocap
        places.append(None if moves else above @ body.pose)
    return places


def _is_free(body: PlacedBody) -> bool:
    return bool(body.joints) and body.joints[0].part.type is JointType.FLOATING


def _float(body: PlacedBody, name: str, world: str, place: Pose, built: Built) -> None:
    """Add the joint of a body that moves freely: it places the body in the world by itself."""
    pose, line = place @ body.pose, body.joints[0].part.element.line
    neutral = () if pose == IDENTITY else (*pose.xyz, *wxyz_of(pose))
    joint_name = built.joint_names[body.joints[0]]
    built.joints.append(Joint(joint_name, JointType.FLOATING, world, name, neutral=neutral, line=line))


def _hang(body: PlacedBody, name: str, parent: str, built: Built, links: Names, joints: Names) -> None:
    """Add the joints between a body and its parent, and the hidden links between them."""
    line = body.element.line
    if not body.joints:
        fixed = joints.make(f"{name}_fixed_joint", body.element)
        built.joints.append(Joint(fixed, JointType.FIXED, parent, name, body.pose, line=line))
        return
    origin, before = body.pose, (0.0, 0.0, 0.0)
    for k, joint in enumerate(body.joints):
        joint_name, part = built.joint_names[joint], joint.part
        anchor = before if part.type is JointType.PRISMATIC else joint.anchor  # a translation has no fixed point
        last = k == len(body.joints) - 1
        child = name if last else links.make(f"#{name}/{joint_name}", part.element)
        if not last:
            built.links.append(Link(child, hidden=True, line=part.element.line))
        origin = _moved(origin, anchor, before)
        offset = _moved(IDENTITY, (0.0, 0.0, 0.0), anchor) if last else IDENTITY
        axes = (joint.axis,) if joint.axis is not None else ()
        built.joints.append(Joint(joint_name, part.type, parent, child, origin, axes, offset, line=part.element.line))
        parent, origin, before = child, IDENTITY, anchor


def _moved(origin: Pose, to: Vector, start: Vector) -> Pose:
    step = tuple(a - b for a, b in zip(to, start))
    return origin @ Pose(step) if any(step) else origin


def _check_joints(body: PlacedBody, parent_still: bool, name: str) -> None:
    top = body.parent == 0
    if body.mocap and (body.joints or not top):
        raise body.element.error(f"mocap body {name!r} must be a child of the world without joints")
    types = [joint.part.type for joint in body.joints]
    for k, joint in enumerate(body.joints):
        element = joint.part.element
        if types[k] in (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.BALL) and JointType.BALL in types[:k]:
            raise element.error(f"body {name!r}: a hinge or ball joint after a ball joint turns nothing new")
        if types[k] is JointType.FLOATING:
            _check_free(body, joint, top or (joint.part.everywhere and parent_still), name)
    n_freedoms = sum(3 if kind is JointType.BALL else 1 for kind in types)
    if n_freedoms > 6:
        raise body.element.error(f"body {name!r} has {n_freedoms} degrees of freedom; the most is 6")


def _check_free(body: PlacedBody, joint: PlacedJoint, allowed: bool, name: str) -> None:
    element = joint.part.element
    if not allowed:
        raise element.error(f"free joint of body {name!r}, which is no child of the world: it needs to be one")
    if len(body.joints) > 1:
        raise element.error(f"body {name!r} has a free joint and others; a free joint stands alone")
    if joint.part.aligned and body.leaf:
        message = (
            f"the frame of body {name!r} would move into its centre of mass (align or alignfree), which is not done"
        )
        raise element.error(f"{message}; write align='false', or save the model from MuJoCo")


def _add_frames(bodies: list[PlacedBody], body_names: list[str], built: Built, links: Names) -> None:
    """Add the sites; one with the name of a body is known by another name."""
    sites = Names("site")
    for body, link in zip(bodies, body_names):
        for site in body.sites:
            name = sites.take(site.name, site.element)
            if name in links.owners:
                name = sites.make(f"#site:{name}", site.element)
                _log.warning("%s", site.element.error(f"a body has the same name; the site is frame {name!r}"))
            built.frames.append(Frame(name, link, site.pose))
