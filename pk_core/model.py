"""The robot as data: what every reader produces and every chain is made from. Frozen, float64, no tensors.

A `Robot` is a tree of links joined by joints. A joint places its child link by

    T_parent_child(q) = origin @ motion(q) @ child_offset

where `motion` is a rotation or translation about the joint's axes in the joint frame. Lengths are metres, angles radians.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

from .errors import UnknownJoint, UnknownLink
from .pose import IDENTITY, Pose, Vector


class JointType(str, Enum):
    """How a joint moves, and its coordinates."""

    FIXED = "fixed"  # no coordinate
    REVOLUTE = "revolute"  # one angle about the axis
    CONTINUOUS = "continuous"  # a revolute joint without position limits
    PRISMATIC = "prismatic"  # one translation along the axis
    SCREW = "screw"  # one angle about the axis, `pitch` metres along it a radian
    UNIVERSAL = "universal"  # two angles, the second about an axis moved by the first
    BALL = "ball"  # a quaternion wxyz
    PLANAR = "planar"  # x, y, theta in the plane normal to the axis
    FLOATING = "floating"  # x, y, z and a quaternion wxyz


COORDINATE_SUFFIXES: dict[JointType, tuple[str, ...]] = {
    JointType.FIXED: (),
    JointType.REVOLUTE: ("",),
    JointType.CONTINUOUS: ("",),
    JointType.PRISMATIC: ("",),
    JointType.SCREW: ("",),
    JointType.UNIVERSAL: ("0", "1"),
    JointType.BALL: ("qw", "qx", "qy", "qz"),
    JointType.PLANAR: ("x", "y", "theta"),
    JointType.FLOATING: ("x", "y", "z", "qw", "qx", "qy", "qz"),
}

_TANGENT_SIZE = {JointType.BALL: 3, JointType.FLOATING: 6}


@dataclass(frozen=True)
class Mimic:
    """A coordinate that follows another: value = multiplier * leader + offset.

    Attributes:
        joint: name of the leading joint.
        axis: which axis of the leader, for leaders with two.
    """

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0
    axis: int = 0


@dataclass(frozen=True)
class Axis:
    """One scalar motion of a joint. What the description does not limit is infinite here.

    Attributes:
        direction: unit vector in the joint frame.
        lower, upper: position limits [rad] or [m].
        velocity: largest speed [rad/s] or [m/s].
        effort: largest torque or force [N m] or [N].
        reference: the coordinate at which the joint does not move (MJCF `ref`): the motion is q - reference.
        mimic: the coordinate this one follows, or None.
    """

    direction: Vector = (1.0, 0.0, 0.0)
    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    reference: float = 0.0
    mimic: Mimic | None = None


@dataclass(frozen=True)
class Joint:
    """A joint between two links.

    Attributes:
        origin: `T_parent_joint`, where the motion happens in the parent link.
        axes: one for the scalar types and planar (its normal), two for universal, none for the others.
        child_offset: `T_joint_child` once the joint has moved (MJCF anchors, SDF joint poses).
        pitch: of a screw joint [m/rad].
        neutral: the resting coordinates where they are not zeros and the identity (MJCF qpos0 of a free joint).
        hidden: it stands for no joint of the description (SDF fixes to the world what no joint holds).
        line: where it stands in its file; not compared.
    """

    name: str
    type: JointType
    parent: str
    child: str
    origin: Pose = IDENTITY
    axes: tuple[Axis, ...] = ()
    child_offset: Pose = IDENTITY
    pitch: float = 0.0
    neutral: tuple[float, ...] = ()
    hidden: bool = False
    line: int | None = field(default=None, compare=False)

    @property
    def axis(self) -> Vector | None:
        """Direction of the first axis in the joint frame, None where the joint has none."""
        return self.axes[0].direction if self.axes else None

    @property
    def mimic(self) -> Mimic | None:
        """What the joint follows, None where it moves by itself."""
        return self.axes[0].mimic if self.axes else None

    @property
    def limits(self) -> tuple[float, float] | None:
        """Position limits (lower, upper) of the first axis, None where the joint has none."""
        return (self.axes[0].lower, self.axes[0].upper) if self.axes else None

    @property
    def velocity_limits(self) -> tuple[float, float] | None:
        """Velocity limits (-largest, largest) of the first axis."""
        return (-self.axes[0].velocity, self.axes[0].velocity) if self.axes else None

    @property
    def effort_limits(self) -> tuple[float, float] | None:
        """Effort limits (-largest, largest) of the first axis."""
        return (-self.axes[0].effort, self.axes[0].effort) if self.axes else None

    @property
    def nq(self) -> int:
        """Number of coordinates, followers included."""
        return len(COORDINATE_SUFFIXES[self.type])

    @property
    def nv(self) -> int:
        """Number of velocities, followers included."""
        return _TANGENT_SIZE.get(self.type, self.nq)


@dataclass(frozen=True)
class Box:
    """A box, full edge lengths [m]."""

    size: Vector


@dataclass(frozen=True)
class Cylinder:
    """A cylinder along z, centred [m]."""

    radius: float
    length: float


@dataclass(frozen=True)
class Sphere:
    """A sphere [m]."""

    radius: float


@dataclass(frozen=True)
class Capsule:
    """A cylinder along z with half spheres on both ends; length without them [m]."""

    radius: float
    length: float


@dataclass(frozen=True)
class Ellipsoid:
    """An ellipsoid, half axes [m]."""

    radii: Vector


@dataclass(frozen=True)
class Plane:
    """A plane through the origin; size is for drawing [m]."""

    normal: Vector = (0.0, 0.0, 1.0)
    size: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True)
class Mesh:
    """A mesh file, named as in the description, with a scale for each axis."""

    uri: str
    scale: Vector = (1.0, 1.0, 1.0)


@dataclass(frozen=True)
class UnknownGeometry:
    """Geometry that pk has no class for: kept by its element's name, never an error."""

    tag: str


Geometry = Box | Cylinder | Sphere | Capsule | Ellipsoid | Plane | Mesh | UnknownGeometry


@dataclass(frozen=True)
class Shape:
    """A visual or a collision of a link.

    Attributes:
        origin: `T_link_shape`.
        rgba: colour of a visual, None where the description gives none.
    """

    geometry: Geometry
    origin: Pose = IDENTITY
    name: str = ""
    rgba: tuple[float, float, float, float] | None = None


@dataclass(frozen=True)
class Inertial:
    """Mass [kg], inertia (ixx, ixy, ixz, iyy, iyz, izz) [kg m^2] about the centre of mass, whose frame is `origin`."""

    mass: float
    inertia: tuple[float, float, float, float, float, float] = (0.0,) * 6
    origin: Pose = IDENTITY


@dataclass(frozen=True)
class Link:
    """A rigid body. `hidden` links stand between the joints of one body and have no name for users."""

    name: str
    visuals: tuple[Shape, ...] = ()
    collisions: tuple[Shape, ...] = ()
    inertial: Inertial | None = None
    hidden: bool = False
    line: int | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Frame:
    """A named frame fixed to a link (MJCF site, SDF frame); `origin` is `T_link_frame`."""

    name: str
    link: str
    origin: Pose = IDENTITY


@dataclass(frozen=True)
class Robot:
    """A tree of links and joints, in the order of the description.

    Attributes:
        root: name of the link without a parent joint.
        frames: extra frames besides the links.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    root: str
    frames: tuple[Frame, ...] = ()

    @cached_property
    def _links(self) -> dict[str, Link]:
        return {link.name: link for link in self.links}

    @cached_property
    def _joints(self) -> dict[str, Joint]:
        return {joint.name: joint for joint in self.joints}

    @cached_property
    def _parent_joints(self) -> dict[str, Joint]:
        return {joint.child: joint for joint in self.joints}

    @cached_property
    def _child_joints(self) -> dict[str, list[Joint]]:
        children: dict[str, list[Joint]] = {link.name: [] for link in self.links}
        for joint in self.joints:
            children[joint.parent].append(joint)
        return children

    def link(self, name: str) -> Link:
        """Find a link by name; raises UnknownLink."""
        if name not in self._links:
            raise UnknownLink("link", name, self._links)
        return self._links[name]

    def joint(self, name: str) -> Joint:
        """Find a joint by name; raises UnknownJoint."""
        if name not in self._joints:
            raise UnknownJoint("joint", name, self._joints)
        return self._joints[name]

    def parent_joint(self, link: str) -> Joint | None:
        """Give the joint above a link, None for the root."""
        return self._parent_joints.get(self.link(link).name)

    def child_joints(self, link: str) -> tuple[Joint, ...]:
        """Give the joints below a link, in the order of the description."""
        return tuple(self._child_joints[self.link(link).name])

    def walk(self) -> Iterator[tuple[Link, Joint | None]]:
        """Visit every link and the joint above it, depth first from the root, children in the order of the description."""
        stack = [self.root]
        while stack:
            name = stack.pop()
            yield self._links[name], self._parent_joints.get(name)
            stack.extend(joint.child for joint in reversed(self._child_joints[name]))

    def __repr__(self) -> str:
        moving = sum(joint.type is not JointType.FIXED for joint in self.joints)
        return f"Robot({self.name!r}, root={self.root!r}, {len(self.links)} links, {moving} moving of {len(self.joints)} joints)"
