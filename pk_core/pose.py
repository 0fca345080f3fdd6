"""Rigid transforms of the model: frozen, hashable, float64, plain Python."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

Vector = tuple[float, float, float]
Matrix3 = tuple[Vector, Vector, Vector]

_EYE: Final[Matrix3] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@dataclass(frozen=True)
class Pose:
    """A rigid transform `T_a_b`: takes points of frame b to frame a.

    Attributes:
        xyz: position of b's origin in a [m].
        rotation: rotation matrix, rows of a, columns are the axes of b.
    """

    xyz: Vector = (0.0, 0.0, 0.0)
    rotation: Matrix3 = _EYE

    @staticmethod
    def from_xyz_rpy(xyz: Vector, rpy: Vector) -> Pose:
        """Build from a position [m] and fixed-axis roll, pitch, yaw [rad]: R = Rz(yaw) Ry(pitch) Rx(roll)."""
        (sr, sp, sy), (cr, cp, cy) = (tuple(map(f, rpy)) for f in (math.sin, math.cos))
        return Pose(
            xyz,
            (
                (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
                (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
                (-sp, cp * sr, cp * cr),
            ),
        )

    @staticmethod
    def from_xyz_wxyz(xyz: Vector, wxyz: tuple[float, float, float, float]) -> Pose:
        """Build from a position [m] and a quaternion (real part first), normalised here.

        Raises:
            ValueError: the quaternion is zero.
        """
        norm = math.hypot(*wxyz)
        if norm == 0.0:
            raise ValueError("quaternion is zero")
        w, x, y, z = (c / norm for c in wxyz)
        return Pose(
            xyz,
            (
                (1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
                (2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
                (2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
            ),
        )

    def __matmul__(self, other: Pose) -> Pose:
        columns = tuple(zip(*other.rotation))
        rotation = tuple(tuple(_dot(row, column) for column in columns) for row in self.rotation)
        return Pose(self.apply(other.xyz), rotation)

    def apply(self, point: Vector) -> Vector:
        """Take a point of frame b [m] to frame a."""
        moved = self.rotate(point)
        return (moved[0] + self.xyz[0], moved[1] + self.xyz[1], moved[2] + self.xyz[2])

    def rotate(self, vector: Vector) -> Vector:
        """Take a free vector of frame b to frame a."""
        x, y, z = self.rotation
        return (_dot(x, vector), _dot(y, vector), _dot(z, vector))

    def inverse(self) -> Pose:
        """Give `T_b_a`."""
        back = Pose(rotation=tuple(zip(*self.rotation)))
        x, y, z = back.rotate(self.xyz)
        return Pose((-x, -y, -z), back.rotation)

    def rpy(self) -> Vector:
        """Give fixed-axis roll, pitch, yaw [rad]: the inverse of `from_xyz_rpy`; in gimbal lock the yaw is zero."""
        (xx, xy, xz), (yx, yy, yz), (zx, _, _) = self.rotation
        horizontal = math.hypot(xx, yx)
        yaw = math.atan2(yx, xx) if horizontal > 1e-15 else 0.0
        s, c = math.sin(yaw), math.cos(yaw)
        return math.atan2(s * xz - c * yz, c * yy - s * xy), math.atan2(-zx, horizontal), yaw

    def wxyz(self) -> tuple[float, float, float, float]:
        """Give the quaternion, real part first and not negative: the inverse of `from_xyz_wxyz`.

        Source: Markley, Unit quaternion from rotation matrix, 2008: the row of 4 q q^T that is largest.
        """
        (a, b, c), (d, e, f), (g, h, i) = self.rotation
        rows = (
            (1 + a + e + i, h - f, c - g, d - b),
            (h - f, 1 + a - e - i, b + d, c + g),
            (c - g, b + d, 1 - a + e - i, f + h),
            (d - b, c + g, f + h, 1 - a - e + i),
        )
        row = max(rows, key=lambda row: math.hypot(*row))
        norm = math.copysign(math.hypot(*row), row[0])
        w, x, y, z = (entry / norm for entry in row)
        return w, x, y, z

    def matrix(self) -> list[list[float]]:
        """Give the 4x4 homogeneous matrix, rows as lists."""
        rows = [[*row, p] for row, p in zip(self.rotation, self.xyz)]
        return [*rows, [0.0, 0.0, 0.0, 1.0]]

    def is_close(self, other: Pose, tolerance: float = 1e-12) -> bool:
        """Compare entry by entry."""
        rows = zip(self.matrix(), other.matrix())
        return all(abs(a - b) <= tolerance for one, two in rows for a, b in zip(one, two))


IDENTITY: Final = Pose()


def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
