"""Quaternions, real part first (`wxyz`). q and -q are the same rotation; products follow Hamilton."""

from __future__ import annotations

import torch
from torch import Tensor

from ..shapes import require_trailing
from .smooth import arctan2, cosine, norm, normalize, rotation_vector_ratio, sine_ratio

__all__ = [
    "axis_angle_to_quaternion",
    "quaternion_angular_distance",
    "quaternion_apply",
    "quaternion_close",
    "quaternion_invert",
    "quaternion_multiply",
    "quaternion_raw_multiply",
    "quaternion_slerp",
    "quaternion_to_axis_angle",
    "random_quaternions",
    "standardize_quaternion",
    "wxyz_to_xyzw",
    "xyzw_to_wxyz",
]


def xyzw_to_wxyz(quaternions: Tensor) -> Tensor:
    """Move the real part of quaternions `(*batch, 4)` from the last place to the first."""
    require_trailing("quaternions", quaternions, 4)
    return torch.cat((quaternions[..., 3:], quaternions[..., :3]), -1)


def wxyz_to_xyzw(quaternions: Tensor) -> Tensor:
    """Move the real part of quaternions `(*batch, 4)` from the first place to the last."""
    require_trailing("quaternions", quaternions, 4)
    return torch.cat((quaternions[..., 1:], quaternions[..., :1]), -1)


def standardize_quaternion(quaternions: Tensor) -> Tensor:
    """Choose of q and -q `(*batch, 4)` the one whose real part is not negative."""
    require_trailing("quaternions", quaternions, 4)
    return torch.where(quaternions[..., :1] < 0, -quaternions, quaternions)


def quaternion_raw_multiply(a: Tensor, b: Tensor) -> Tensor:
    """Multiply quaternions `(*batch, 4)`; batches broadcast, the sign of the product is kept."""
    require_trailing("a", a, 4)
    require_trailing("b", b, 4)
    aw, ax, ay, az = a.unbind(-1)
    bw, bx, by, bz = b.unbind(-1)
    product = (
        aw * bw - ax * bx - ay * by - az * bz,
        aw * bx + ax * bw + ay * bz - az * by,
        aw * by - ax * bz + ay * bw + az * bx,
        aw * bz + ax * by - ay * bx + az * bw,
    )
    return torch.stack(product, -1)


def quaternion_multiply(a: Tensor, b: Tensor) -> Tensor:
    """Compose rotations `(*batch, 4)`, b first; the real part of the product is not negative."""
    return standardize_quaternion(quaternion_raw_multiply(a, b))


def quaternion_invert(quaternion: Tensor) -> Tensor:
    """Invert rotations given as unit quaternions `(*batch, 4)`."""
    require_trailing("quaternion", quaternion, 4)
    return torch.cat((quaternion[..., :1], -quaternion[..., 1:]), -1)


def quaternion_apply(quaternion: Tensor, point: Tensor) -> Tensor:
    """Rotate points `(*batch, 3)` by unit quaternions `(*batch, 4)`; batches broadcast."""
    require_trailing("quaternion", quaternion, 4)
    require_trailing("point", point, 3)
    w, v = quaternion[..., :1], quaternion[..., 1:]
    v, p = torch.broadcast_tensors(v, point)
    along = (v * p).sum(-1, keepdim=True)
    # q p q*, written out: also right for quaternions whose length is not one, which scale by its square
    return (w * w - (v * v).sum(-1, keepdim=True)) * p + 2.0 * (along * v + w * torch.linalg.cross(v, p))


def axis_angle_to_quaternion(axis_angle: Tensor) -> Tensor:
    """Convert rotation vectors `(*batch, 3)`, axis times angle [rad], to unit quaternions `(*batch, 4)`.

    The real part is cos(angle / 2): negative for angles between pi and 3 pi.
    """
    require_trailing("axis_angle", axis_angle, 3)
    quarter = 0.25 * (axis_angle * axis_angle).sum(-1, keepdim=True)
    return torch.cat((cosine(quarter), 0.5 * sine_ratio(quarter) * axis_angle), -1)


def quaternion_to_axis_angle(quaternions: Tensor) -> Tensor:
    """Convert quaternions `(*batch, 4)` to rotation vectors `(*batch, 3)`, axis times angle [rad].

    The angle lies in [0, 2 pi]: above pi where the real part is negative (standardize first for the shorter way round).
    (-1, 0, 0, 0), whose axis is undefined, gives zero.
    """
    require_trailing("quaternions", quaternions, 4)
    w, v = quaternions[..., :1], quaternions[..., 1:]
    return rotation_vector_ratio(w, (v * v).sum(-1, keepdim=True)) * v


def quaternion_angular_distance(q1: Tensor, q2: Tensor) -> Tensor:
    """Measure the angle [rad] in [0, pi] between rotations `(*batch, 4)`, one a row; batches broadcast.

    Where the rotations coincide, the angle has a corner and its gradient here is zero.
    """
    return (2.0 * half_angle_between(q1, q2)).squeeze(-1)


def half_angle_between(q1: Tensor, q2: Tensor) -> Tensor:
    """Measure half the angle [rad] between rotations `(*batch, 4)`, as `(*batch, 1)`; that of equal ones is zero to the bit."""
    inverse = quaternion_invert(q1)
    cos = quaternion_raw_multiply(inverse, q2)[..., :1]
    nearer = torch.where(cos < 0, -q2, q2)  # q1* q1 is real, so q1* (q2 - q1) has the vector part of q1* q2
    sin = norm(quaternion_raw_multiply(inverse, nearer - q1)[..., 1:], keepdim=True)
    cos = torch.where(cos < 0, -cos, cos)
    return arctan2(sin, cos, (sin == 0) & (cos == 0))


def quaternion_close(q1: Tensor, q2: Tensor, eps: float = 1e-4) -> Tensor:
    """Tell, as one boolean tensor, whether all pairs of unit quaternions `(*batch, 4)` have 1 - <q1, q2>^2 < eps."""
    require_trailing("q1", q1, 4)
    require_trailing("q2", q2, 4)
    return torch.all(1.0 - (q1 * q2).sum(-1) ** 2 < eps)


def quaternion_slerp(q1: Tensor, q2: Tensor, t: float | Tensor) -> Tensor:
    """Interpolate from unit quaternions q1 to q2 `(*batch, 4)` along the shorter way at constant speed.

    Args:
        t: 0 gives q1, 1 gives q2 or -q2, whichever is nearer; a number, or a tensor that broadcasts with `batch`.
    """
    relative = _relative(q1, q2)
    fraction = t.to(relative).unsqueeze(-1) if isinstance(t, Tensor) else t
    step = axis_angle_to_quaternion(fraction * quaternion_to_axis_angle(relative))
    return quaternion_raw_multiply(q1, step)


def random_quaternions(
    n: int,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
    requires_grad: bool = False,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draw n rotations uniformly, as unit quaternions `(n, 4)` with real part not negative.

    Args:
        dtype, device: torch's defaults where None.
    """
    gaussian = torch.randn((n, 4), dtype=dtype, device=device, generator=generator)
    return standardize_quaternion(normalize(gaussian)).requires_grad_(requires_grad)


def _relative(q1: Tensor, q2: Tensor) -> Tensor:
    """Give the turn that leads from q1 to q2, the shorter way."""
    return standardize_quaternion(quaternion_raw_multiply(quaternion_invert(q1), q2))
