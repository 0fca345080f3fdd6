"""Unfold the groups of an MJCF model: every body once, in the order of MuJoCo's ids, with all that it holds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ...model import Axis, Inertial, Shape
from ...pose import IDENTITY, Pose, Vector
from ..xml import Element
from .model import Model
from .parts import Body, Group, InertialPart, JointPart, Part, Scope, ShapePart, SitePart


@dataclass(frozen=True, eq=False)
class PlacedJoint:
    """A joint of one body: its anchor and axis in the frame of the body."""

    part: JointPart
    name: str
    scope: Scope
    anchor: Vector
    axis: Axis | None


@dataclass(frozen=True)
class PlacedSite:
    """A site of one body; `pose` is `T_body_site`."""

    name: str
    pose: Pose
    element: Element


@dataclass(eq=False)
class PlacedBody:
    """A body of the robot.

    Attributes:
        name: full name, "" if it has none.
        parent: index of its parent, -1 for the world.
        pose: `T_parent_body`.
        leaf: whether it has no child bodies.
    """

    element: Element
    name: str
    parent: int
    pose: Pose
    mocap: bool
    leaf: bool = True
    joints: list[PlacedJoint] = field(default_factory=list)
    sites: list[PlacedSite] = field(default_factory=list)
    visuals: list[Shape] = field(default_factory=list)
    collisions: list[Shape] = field(default_factory=list)
    inertial: Inertial | None = None


@dataclass(frozen=True)
class _Place:
    """Where the content of a body or group stands: `pose` is `T_body_group`."""

    body: int
    pose: Pose
    scope: Scope


def expand(model: Model) -> list[PlacedBody]:
    """Give the bodies depth first, the world before all others.

    Raises:
        ParseError: copies of copies come to too many.
    """
    bodies = [PlacedBody(model.world.element, "world", -1, IDENTITY, mocap=False)]
    stack = [(iter(model.world.content), _Place(0, IDENTITY, Scope()))]
    while stack:
        content, place = stack[-1]
        part = next(content, None)
        if part is None:
            stack.pop()
            continue
        model.budget.spend(part.element)
        if isinstance(part, Body):
            bodies[place.body].leaf = False
            pose = _times(place.pose, part.pose)
            bodies.append(PlacedBody(part.element, place.scope.rename(part.name), place.body, pose, part.mocap))
            stack.append((iter(part.content), _Place(len(bodies) - 1, IDENTITY, place.scope)))
        elif isinstance(part, Group):
            below = _Place(place.body, _times(place.pose, part.pose), place.scope.inside(part))
            stack.append((iter(part.content), below))
        else:
            _put(part, bodies[place.body], place)
    return bodies


def _put(part: Part, body: PlacedBody, place: _Place) -> None:
    if isinstance(part, JointPart):
        body.joints.append(_placed_joint(part, place))
    elif isinstance(part, SitePart):
        body.sites.append(PlacedSite(place.scope.rename(part.name), _times(place.pose, part.pose), part.element))
    elif isinstance(part, ShapePart):
        origin = _times(place.pose, part.shape.origin)
        shape = replace(part.shape, origin=origin, name=place.scope.rename(part.shape.name))
        if part.visual:
            body.visuals.append(shape)
        if part.collision:
            body.collisions.append(replace(shape, rgba=None))  # colours are what is seen
    elif isinstance(part, InertialPart):
        body.inertial = replace(part.inertial, origin=_times(place.pose, part.inertial.origin))


def _placed_joint(part: JointPart, place: _Place) -> PlacedJoint:
    anchor, axis = part.anchor, part.axis
    if place.pose is not IDENTITY:
        anchor = place.pose.apply(anchor)
        axis = axis and replace(axis, direction=place.pose.rotate(axis.direction))
    return PlacedJoint(part, place.scope.rename(part.name), place.scope, anchor, axis)


def _times(outer: Pose, inner: Pose) -> Pose:
    if outer is IDENTITY:
        return inner
    return outer if inner is IDENTITY else outer @ inner
