"""Distances between rotations, and between poses, as losses: one value a row, gradients finite everywhere.

phi1 to phi6 are the functions of Huynh, Metrics for 3D Rotations: Comparison and Analysis, 2009, under the paper's
numbers and names. phi2 to phi6 are metrics of rotations that no change of frame alters; phi1, on Euler angles, is the
one it warns of. A distance has a corner where it is zero; its gradient there is taken as zero. `squared=True` gives the
smooth square, whose gradient and Hessian are right there too. At the largest distance the gradient is that of one of
the two shortest ways.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..shapes import require_trailing
from .quaternion import half_angle_between
from .rotation import matrix_product
from .smooth import norm
from .so3 import so3_log_map

__all__ = [
    "phi1_euler_angles",
    "phi2_quaternion_difference",
    "phi3_quaternion_arccos",
    "phi4_quaternion_inner_product",
    "phi5_deviation_from_identity",
    "phi6_geodesic",
    "se3_chordal_distance",
    "se3_geodesic_distance",
    "so3_chordal_distance",
    "so3_geodesic_distance",
]


def phi1_euler_angles(angles1: Tensor, angles2: Tensor) -> Tensor:
    """Measure the Euclidean distance between the Euler angles `(*batch, 3)` [rad], each the short way round the circle.

    Lies in [0, pi sqrt(3)]. No metric of rotations: equal rotations may differ.
    """
    require_trailing("angles1", angles1, 3)
    require_trailing("angles2", angles2, 3)
    difference = torch.remainder(angles1 - angles2 + math.pi, 2.0 * math.pi) - math.pi
    return norm(difference)


def phi2_quaternion_difference(q1: Tensor, q2: Tensor) -> Tensor:
    """Measure the norm of the difference of unit quaternions `(*batch, 4)`, min |q1 -+ q2|: in [0, sqrt(2)]."""
    require_trailing("q1", q1, 4)
    require_trailing("q2", q2, 4)
    opposite = (q1 * q2).sum(-1, keepdim=True) < 0
    return norm(q1 - torch.where(opposite, -q2, q2))


def phi3_quaternion_arccos(q1: Tensor, q2: Tensor) -> Tensor:
    """Measure arccos |<q1, q2>| of unit quaternions `(*batch, 4)`, half the angle between them: in [0, pi/2]."""
    return half_angle_between(q1, q2).squeeze(-1)


def phi4_quaternion_inner_product(q1: Tensor, q2: Tensor) -> Tensor:
    """Measure 1 - |<q1, q2>| of unit quaternions `(*batch, 4)`: in [0, 1], smooth at zero."""
    require_trailing("q1", q1, 4)
    require_trailing("q2", q2, 4)
    product = (q1 * q2).sum(-1, keepdim=True)
    distance = 1.0 - torch.where(product < 0, -product, product)  # abs would have no gradient where the product is zero
    return distance.squeeze(-1)


def phi5_deviation_from_identity(R1: Tensor, R2: Tensor) -> Tensor:
    """Measure the deviation of R1 R2^T `(*batch, 3, 3)` from the identity, Frobenius norm: in [0, 2 sqrt(2)]."""
    return so3_chordal_distance(R1, R2)


def phi6_geodesic(R1: Tensor, R2: Tensor) -> Tensor:
    """Measure the geodesic on the unit sphere, the angle of R1 R2^T `(*batch, 3, 3)` [rad]: in [0, pi]."""
    return so3_geodesic_distance(R1, R2)


def so3_geodesic_distance(R1: Tensor, R2: Tensor, squared: bool = False) -> Tensor:
    """Measure the angle [rad] between rotation matrices `(*batch, 3, 3)`, or its square; batches broadcast."""
    require_trailing("R1", R1, 3, 3)
    require_trailing("R2", R2, 3, 3)
    return _length(so3_log_map(matrix_product(R1, R2.mT)), squared)


def so3_chordal_distance(R1: Tensor, R2: Tensor, squared: bool = False) -> Tensor:
    """Measure |R1 - R2| of matrices `(*batch, 3, 3)`, or its square: the Frobenius norm, 2 sqrt(2) sin(angle / 2)."""
    require_trailing("R1", R1, 3, 3)
    require_trailing("R2", R2, 3, 3)
    return _length((R1 - R2).flatten(-2), squared)


def se3_geodesic_distance(T1: Tensor, T2: Tensor, rotation_weight: float = 1.0, squared: bool = False) -> Tensor:
    """Measure sqrt(|p1 - p2|^2 + (weight angle)^2) [m] between poses `(*batch, 4, 4)`, or its square.

    Args:
        rotation_weight: the length [m] that counts as much as a radian.

    Source: Park, Distance metrics on the rigid-body motions with applications to mechanism design, 1995 (moving the
    fixed frame does not alter it; no metric of poses is unaltered by both frames).
    """
    require_trailing("T1", T1, 4, 4)
    require_trailing("T2", T2, 4, 4)
    angle = so3_log_map(matrix_product(T1[..., :3, :3], T2[..., :3, :3].mT))
    return _length(torch.cat((T1[..., :3, 3] - T2[..., :3, 3], rotation_weight * angle), -1), squared)


def se3_chordal_distance(T1: Tensor, T2: Tensor, rotation_weight: float = 1.0, squared: bool = False) -> Tensor:
    """Measure sqrt(|p1 - p2|^2 + weight^2 |R1 - R2|^2) [m] between poses `(*batch, 4, 4)`, or its square.

    Args:
        rotation_weight: the length [m] that a unit of the Frobenius norm counts as.
    """
    require_trailing("T1", T1, 4, 4)
    require_trailing("T2", T2, 4, 4)
    difference = T1 - T2
    turned = rotation_weight * difference[..., :3, :3].flatten(-2)
    return _length(torch.cat((difference[..., :3, 3], turned), -1), squared)


def _length(v: Tensor, squared: bool) -> Tensor:
    return (v * v).sum(-1) if squared else norm(v)
