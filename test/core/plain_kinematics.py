"""Forward kinematics of a `Robot` in plain Python, link by link: to test readers without the tensors above them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from pk_core.model import Joint, JointType, Robot
from pk_core.pose import IDENTITY, Pose, Vector

Coordinates = Mapping[str, float | Sequence[float]]


def link_poses(robot: Robot, q: Coordinates) -> dict[str, Pose]:
    """Give `T_root_link` of every link; joints left out of `q` stand at zero, mimic joints follow."""
    poses: dict[str, Pose] = {}
    for link, joint in robot.walk():
        if joint is None:
            poses[link.name] = IDENTITY
        else:
            poses[link.name] = poses[joint.parent] @ joint.origin @ _motion(joint, robot, q) @ joint.child_offset
    return poses


def entries(pose: Pose) -> list[float]:
    """Give the 16 numbers of a pose's matrix, row by row, as the references list them."""
    return [number for row in pose.matrix() for number in row]


def rotation_about(axis: Vector, angle: float) -> Pose:
    """Turn about a unit axis by Rodrigues' formula: R = c I + s [a]x + (1 - c) a a^T."""
    x, y, z = axis
    s, c = math.sin(angle), math.cos(angle)
    v = 1.0 - c
    return Pose(
        rotation=(
            (c + v * x * x, v * x * y - s * z, v * x * z + s * y),
            (v * x * y + s * z, c + v * y * y, v * y * z - s * x),
            (v * x * z - s * y, v * y * z + s * x, c + v * z * z),
        )
    )


def _motion(joint: Joint, robot: Robot, q: Coordinates) -> Pose:
    if joint.type is JointType.FIXED:
        return IDENTITY
    if joint.type is JointType.FLOATING:
        x, y, z, *wxyz = q.get(joint.name, (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0))
        return Pose.from_xyz_wxyz((x, y, z), tuple(wxyz))
    if joint.type is JointType.PLANAR:
        assert joint.axis == (0.0, 0.0, 1.0), "only the plane of x and y is drawn here"
        x, y, theta = q.get(joint.name, (0.0, 0.0, 0.0))
        return Pose((x, y, 0.0)) @ rotation_about(joint.axis, theta)
    value = _value(joint, robot, q)
    if joint.type is JointType.PRISMATIC:
        return Pose(tuple(value * c for c in joint.axis))
    assert joint.type in (JointType.REVOLUTE, JointType.CONTINUOUS)
    return rotation_about(joint.axis, value)


def _value(joint: Joint, robot: Robot, q: Coordinates) -> float:
    multiplier, offset = 1.0, 0.0
    while joint.mimic is not None:
        offset += multiplier * joint.mimic.offset
        multiplier *= joint.mimic.multiplier
        joint = robot.joint(joint.mimic.joint)
    return multiplier * q.get(joint.name, 0.0) + offset
