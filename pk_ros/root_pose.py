"""Poses and twists of joints that are no single number, as coordinates. Plain data, no rclpy."""

from __future__ import annotations

import numpy as np

from pk_core.flatten import plane_axes
from pk_core.model import Joint, JointType

from .conversions import inverse, matrices_from_rows, rows_from_matrices, wxyz_rows


def problem_of_row(row: np.ndarray) -> str:
    """Say why a pose row (7,) is no pose, empty where it is one."""
    if not np.isfinite(row).all():
        return "it is not finite"
    if not 0.5 < np.linalg.norm(row[3:]) < 2.0:
        return f"its quaternion has the length {np.linalg.norm(row[3:]):.3g}, not 1"
    return ""


def coordinates(joint: Joint, row: np.ndarray) -> np.ndarray:
    """Give the coordinates of a ball, floating or planar joint that has moved by a pose row (7,) from its own frame.

    Motion that the joint does not have is left out.
    """
    row = rows_from_matrices(matrices_from_rows(row))  # of unit length, qw >= 0
    if joint.type is JointType.FLOATING:
        return wxyz_rows(row)
    if joint.type is JointType.BALL:
        return wxyz_rows(row)[3:]
    normal, x, y = _plane(joint)
    return np.array([x @ row[:3], y @ row[:3], 2.0 * np.arctan2(normal @ row[3:6], row[6])])


def motion_between(joint: Joint, T_parent_child: np.ndarray) -> np.ndarray:
    """Give the pose row by which a joint has moved from where its links stand: T_parent_child (4, 4) -> (7,)."""
    origin, offset = (matrix(pose) for pose in (joint.origin, joint.child_offset))
    return rows_from_matrices(inverse(origin) @ T_parent_child @ inverse(offset))


def rates(joint: Joint, q: np.ndarray, linear: np.ndarray, angular: np.ndarray) -> np.ndarray:
    """Give the velocities of a joint at coordinates q from a twist (3,), (3,) in the axes of its child link."""
    if joint.type is JointType.FLOATING:
        return np.concatenate([linear, angular])
    if joint.type is JointType.BALL:
        return angular
    normal, x, y = _plane(joint)
    c, s = np.cos(q[2]), np.sin(q[2])
    return np.array([c * (x @ linear) - s * (y @ linear), s * (x @ linear) + c * (y @ linear), normal @ angular])


def _plane(joint: Joint) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    normal = joint.axes[0].direction if joint.axes else (0.0, 0.0, 1.0)
    x, y = plane_axes(normal)
    return np.array(normal), np.array(x), np.array(y)


def matrix(pose: object) -> np.ndarray:
    """Give a `pk_core.pose.Pose` as a transform (4, 4)."""
    T = np.eye(4)
    T[:3, :3], T[:3, 3] = pose.rotation, pose.xyz
    return T
