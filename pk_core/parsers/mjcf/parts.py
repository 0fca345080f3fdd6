"""The parts of an MJCF model between its text and its robot: bodies, groups of what they hold, joints, sites, shapes.

Groups stand for `<frame>`s, for the copies of a `<replicate>` and for what `<attach>` brings in. Copies share their
content and differ in pose and names, so they cost nothing before `expand.py` unfolds them.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ...model import Axis, Inertial, JointType, Shape
from ...pose import IDENTITY, Pose, Vector
from ..xml import Element


@dataclass(frozen=True, eq=False)
class JointPart:
    """A joint of a body.

    Attributes:
        anchor: a point that the joint doesn't move, in the frame of its group [m].
        axis: direction in the frame of its group, limits [rad] or [m] and reference; None for ball and free joints.
        aligned: whether a free joint's body takes its inertial frame as frame, if it has no children.
        everywhere: whether a free joint may stand below bodies that don't move.
        owner: the model that declares it.
    """

    element: Element
    name: str
    type: JointType
    anchor: Vector = (0.0, 0.0, 0.0)
    axis: Axis | None = None
    aligned: bool = False
    everywhere: bool = False
    owner: object = None


@dataclass(frozen=True, eq=False)
class SitePart:
    """A site: a named frame."""

    element: Element
    name: str
    pose: Pose


@dataclass(frozen=True, eq=False)
class ShapePart:
    """A geom, to be seen, to collide, or both."""

    element: Element
    shape: Shape
    visual: bool
    collision: bool


@dataclass(frozen=True, eq=False)
class InertialPart:
    """The inertia of a body."""

    element: Element
    inertial: Inertial


@dataclass(frozen=True, eq=False)
class Group:
    """Some content, moved and renamed together.

    Attributes:
        name: of a `<frame>`, "" without one.
        pose: `T_parent_group`, where the parent is a body or another group.
        prefix, suffix: put around the names of the content.
    """

    element: Element
    name: str
    pose: Pose = IDENTITY
    content: list[Part] = field(default_factory=list)
    prefix: str = ""
    suffix: str = ""


@dataclass(frozen=True, eq=False)
class Body:
    """A body; `pose` is `T_parent_body`, where the parent is a body or a group."""

    element: Element
    name: str
    pose: Pose = IDENTITY
    content: list[Part] = field(default_factory=list)
    mocap: bool = False


Part = Body | Group | JointPart | SitePart | ShapePart | InertialPart


@dataclass(frozen=True, eq=False)
class Scope:
    """How names are made in one copy of some content; two parts are of one copy if their scopes are the same object."""

    prefix: str = ""
    suffix: str = ""

    def inside(self, group: Group) -> Scope:
        """Give the scope of a group's content: inner prefixes and suffixes stand nearer to the name."""
        if not (group.prefix or group.suffix):
            return self
        return Scope(self.prefix + group.prefix, group.suffix + self.suffix)

    def rename(self, name: str) -> str:
        """Give the full name of an element, "" if it has none."""
        return f"{self.prefix}{name}{self.suffix}" if name else ""
