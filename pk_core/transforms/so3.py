"""The rotation group SO(3) and its algebra: rotation vectors are axis times angle [rad]."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from ..shapes import require_trailing
from .quaternion import quaternion_to_axis_angle
from .rotation import matrix_product, matrix_to_quaternion, stack_matrix
from .smooth import components, norm, sine_defect, sine_ratio, versine_ratio

__all__ = [
    "acos_linear_extrapolation",
    "hat",
    "hat_inv",
    "so3_exp_map",
    "so3_left_jacobian",
    "so3_log_map",
    "so3_relative_angle",
    "so3_rotation_angle",
]


def hat(v: Tensor) -> Tensor:
    """Give the skew matrices `(*batch, 3, 3)` of vectors `(*batch, 3)`: hat(v) @ p = v x p."""
    require_trailing("v", v, 3)
    x, y, z = components(v)
    zero = torch.zeros_like(x)
    return stack_matrix((zero, -z, y, z, zero, -x, -y, x, zero))


def hat_inv(h: Tensor) -> Tensor:
    """Give the vectors `(*batch, 3)` of skew matrices `(*batch, 3, 3)`; of other matrices, those of their skew part."""
    require_trailing("h", h, 3, 3)
    difference = (h[..., 2, 1] - h[..., 1, 2], h[..., 0, 2] - h[..., 2, 0], h[..., 1, 0] - h[..., 0, 1])
    return 0.5 * torch.stack(difference, -1)


def so3_exp_map(log_rot: Tensor, eps: float = 0.0001) -> Tensor:
    """Convert rotation vectors `(*batch, 3)` [rad] to rotation matrices `(*batch, 3, 3)`, exactly for every angle.

    Args:
        eps: taken for compatibility; nothing is clamped here.

    Source: Rodrigues' formula.
    """
    require_trailing("log_rot", log_rot, 3)
    s = (log_rot * log_rot).sum(-1, keepdim=True)
    return _identity_plus(sine_ratio(s), versine_ratio(s), log_rot, s)


def so3_log_map(R: Tensor, eps: float = 0.0001) -> Tensor:
    """Convert rotation matrices `(*batch, 3, 3)` to rotation vectors `(*batch, 3)` with angles [rad] in [0, pi].

    At pi, where both signs are right, the largest component is positive and the gradient is that branch's.

    Args:
        eps: taken for compatibility; nothing is clamped here.
    """
    require_trailing("R", R, 3, 3)
    return quaternion_to_axis_angle(matrix_to_quaternion(R))


def so3_left_jacobian(log_rot: Tensor) -> Tensor:
    """Give the left Jacobians `(*batch, 3, 3)` of rotation vectors `(*batch, 3)`.

    exp(v + dv) = exp(J dv) exp(v) to first order, so J turns the rate of v into the angular velocity in the fixed
    frame.

    Source: Sola, Deray, Atchuthan, A micro Lie theory for state estimation in robotics, 2018, eq. 145.
    """
    require_trailing("log_rot", log_rot, 3)
    s = (log_rot * log_rot).sum(-1, keepdim=True)
    return _identity_plus(versine_ratio(s), sine_defect(s), log_rot, s)


def so3_rotation_angle(R: Tensor, eps: float = 1e-4, cos_angle: bool = False, cos_bound: float = 1e-4) -> Tensor:
    """Measure the angles `(*batch)` [rad] in [0, pi] of rotation matrices `(*batch, 3, 3)`.

    At the identity the angle has a corner and its gradient here is zero.

    Args:
        cos_angle: give the cosine of the angle.
        eps, cos_bound: taken for compatibility; the angle is exact everywhere, and no value is checked.
    """
    require_trailing("R", R, 3, 3)
    if cos_angle:
        return (0.5 * (R[..., 0, :1] + R[..., 1, 1:2] + R[..., 2, 2:] - 1.0)).squeeze(-1)
    q = matrix_to_quaternion(R)
    return (2.0 * torch.atan2(norm(q[..., 1:], keepdim=True), q[..., :1])).squeeze(-1)


def so3_relative_angle(R1: Tensor, R2: Tensor, cos_angle: bool = False) -> Tensor:
    """Measure the angles `(*batch)` [rad] in [0, pi] between rotation matrices `(*batch, 3, 3)`; batches broadcast."""
    require_trailing("R1", R1, 3, 3)
    require_trailing("R2", R2, 3, 3)
    return so3_rotation_angle(matrix_product(R1, R2.mT), cos_angle=cos_angle)


def acos_linear_extrapolation(x: Tensor, bound: float | tuple[float, float] = 1.0 - 1e-4) -> Tensor:
    """Compute acos(x), continued by its tangents outside the bounds, so that gradients stay finite.

    Args:
        bound: (lower, upper) within (-1, 1), or one number for (-bound, bound).

    Raises:
        ValueError: the bounds are out of order or not within (-1, 1).
    """
    lower, upper = bound if isinstance(bound, (tuple, list)) else (-bound, bound)
    if not -1.0 < lower <= upper < 1.0:
        raise ValueError(f"bound must have -1 < lower <= upper < 1, got ({lower}, {upper})")
    below, above = x <= lower, x >= upper
    inside = torch.acos(torch.where(below | above, 0.0, x))
    return torch.where(below, _acos_tangent(x, lower), torch.where(above, _acos_tangent(x, upper), inside))


def _acos_tangent(x: Tensor, at: float) -> Tensor:
    return math.acos(at) - (x - at) / math.sqrt(1.0 - at * at)


def _identity_plus(a: Tensor, b: Tensor, v: Tensor, s: Tensor) -> Tensor:
    """Compute I + a hat(v) + b hat(v)^2 with s = |v|^2, where hat(v)^2 = v v^T - s I."""
    x, y, z = components(v)
    d = 1.0 - b * s
    entries = (
        d + b * x * x, b * x * y - a * z, b * x * z + a * y,
        b * x * y + a * z, d + b * y * y, b * y * z - a * x,
        b * x * z - a * y, b * y * z + a * x, d + b * z * z,
    )  # fmt: skip
    return stack_matrix(entries)
