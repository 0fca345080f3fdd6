"""Rigid transforms `T_a_b` as 4x4 matrices: built, taken apart, exponential, logarithm, perturbed. Lengths in m."""

from __future__ import annotations

import torch
from torch import Tensor

from ..shapes import broadcast_batches, require_trailing
from .quaternion import wxyz_to_xyzw, xyzw_to_wxyz
from .rotation import (
    axis_and_angle_to_matrix_33,
    matrix_product,
    matrix_to_quaternion,
    matrix_to_rotation_6d,
    quaternion_to_matrix,
    rotation_6d_to_matrix,
)
from .smooth import log_coefficient, normalize, sine_defect, versine_ratio
from .so3 import so3_exp_map, so3_log_map

__all__ = [
    "axis_and_angle_to_matrix_44",
    "axis_and_d_to_pris_matrix",
    "matrix44_to_se3_9d",
    "matrix_to_pos_rot",
    "pos_rot_to_matrix",
    "sample_perturbations",
    "se3_9d_to_matrix44",
    "se3_exp_map",
    "se3_log_map",
]


def se3_exp_map(twist: Tensor) -> Tensor:
    """Convert twists `(*batch, 6)`, [v, w] in [m] and [rad], to rigid transforms `(*batch, 4, 4)`.

    The transform is where a body is after moving with this twist, constant in its own axes, for one unit of time.
    """
    require_trailing("twist", twist, 6)
    v, w = twist[..., :3], twist[..., 3:]
    s = (w * w).sum(-1, keepdim=True)
    turned = torch.linalg.cross(w, v)
    # the left Jacobian of w times v
    position = v + versine_ratio(s) * turned + sine_defect(s) * torch.linalg.cross(w, turned)
    return homogeneous(so3_exp_map(w), position)


def se3_log_map(transform: Tensor) -> Tensor:
    """Convert rigid transforms `(*batch, 4, 4)` to twists `(*batch, 6)`, [v, w] in [m] and [rad], |w| in [0, pi].

    Source: Sola, Deray, Atchuthan, A micro Lie theory for state estimation in robotics, 2018, eqs. 146 and 173.
    """
    require_trailing("transform", transform, 4, 4)
    position, w = transform[..., :3, 3], so3_log_map(transform[..., :3, :3])
    s = (w * w).sum(-1, keepdim=True)
    turned = torch.linalg.cross(w, position)
    v = position - 0.5 * turned + log_coefficient(s) * torch.linalg.cross(w, turned)
    return torch.cat((v, w), -1)


def homogeneous(rotation: Tensor, position: Tensor) -> Tensor:
    """Put matrices `(*batch, 3, 3)` and positions `(*batch, 3)` together as `(*batch, 4, 4)`; batches broadcast."""
    batch = broadcast_batches("rotation and position", rotation.shape[:-2], position.shape[:-1])
    column = position.unsqueeze(-1).expand(*batch, 3, 1)
    top = torch.cat((rotation.expand(*batch, 3, 3), column), -1)
    bottom = torch.eye(4, dtype=top.dtype, device=top.device)[3:].expand(*batch, 1, 4)
    return torch.cat((top, bottom), -2)


def pos_rot_to_matrix(pos: Tensor, rot: Tensor) -> Tensor:
    """Put positions `(*batch, 3)` [m] and quaternions `(*batch, 4)` in **xyzw** order together as `(*batch, 4, 4)`."""
    require_trailing("pos", pos, 3)
    require_trailing("rot", rot, 4)
    return homogeneous(quaternion_to_matrix(xyzw_to_wxyz(rot)), pos)


def matrix_to_pos_rot(m: Tensor) -> tuple[Tensor, Tensor]:
    """Take transforms `(*batch, 4, 4)` apart: positions `(*batch, 3)` [m], quaternions `(*batch, 4)` as **xyzw**."""
    require_trailing("m", m, 4, 4)
    return m[..., :3, 3], wxyz_to_xyzw(matrix_to_quaternion(m[..., :3, :3]))


def matrix44_to_se3_9d(matrix: Tensor) -> Tensor:
    """Convert transforms `(*batch, 4, 4)` to `(*batch, 9)`: two rows of the rotation (6), then the position (3) [m]."""
    require_trailing("matrix", matrix, 4, 4)
    return torch.cat((matrix_to_rotation_6d(matrix[..., :3, :3]), matrix[..., :3, 3]), -1)


def se3_9d_to_matrix44(se3: Tensor) -> Tensor:
    """Convert `(*batch, 9)`, two rows of a rotation and a position [m], to transforms `(*batch, 4, 4)`."""
    require_trailing("se3", se3, 9)
    return homogeneous(rotation_6d_to_matrix(se3[..., :6]), se3[..., 6:])


def axis_and_angle_to_matrix_44(axis: Tensor, theta: Tensor) -> Tensor:
    """Turn by theta `(*batch)` [rad] about unit axes `(*batch, 3)`: transforms `(*batch, 4, 4)`; batches broadcast."""
    return homogeneous(axis_and_angle_to_matrix_33(axis, theta), torch.zeros_like(axis))


def axis_and_d_to_pris_matrix(axis: Tensor, d: Tensor) -> Tensor:
    """Move by d `(*batch)` [m] along unit axes `(*batch, 3)`: transforms `(*batch, 4, 4)`; batches broadcast."""
    require_trailing("axis", axis, 3)
    return homogeneous(torch.eye(3, dtype=axis.dtype, device=axis.device), axis * d.unsqueeze(-1))


def sample_perturbations(
    T: Tensor,
    num_perturbations: int,
    radian_sigma: float,
    translation_sigma: float,
    axis_of_rotation: Tensor | None = None,
    translation_perpendicular_to_axis_of_rotation: bool = True,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draw transforms near T: turned about T's origin and moved, both in the outer frame, by zero-mean Gaussians.

    Args:
        T: `(*batch, 4, 4)`; its batch broadcasts with `(num_perturbations,)`: `(4, 4)` and `(1, 4, 4)` are perturbed
            `num_perturbations` times, `(num_perturbations, 4, 4)` once each, `(n, 1, 4, 4)` each of the n as often.
        radian_sigma: standard deviation of the angle [rad]; axes are uniform on the sphere.
        translation_sigma: standard deviation of each component of the translation [m].
        axis_of_rotation: unit vector `(3,)` to turn about instead.
        translation_perpendicular_to_axis_of_rotation: with such an axis, move in the plane normal to it only.

    Returns:
        `(*batch, 4, 4)` of the broadcast batch, in the dtype and on the device of T.

    Raises:
        ShapeError: the batch of T does not broadcast with `(num_perturbations,)`.
    """
    require_trailing("T", T, 4, 4)
    batch = broadcast_batches("T and (num_perturbations,)", T.shape[:-2], (num_perturbations,))

    def gaussian(*shape: int) -> Tensor:
        return torch.randn(batch + shape, dtype=T.dtype, device=T.device, generator=generator)

    translation = translation_sigma * gaussian(3)
    if axis_of_rotation is None:
        axis = normalize(gaussian(3))
    else:
        require_trailing("axis_of_rotation", axis_of_rotation, 3)
        axis = axis_of_rotation.to(T).expand(*batch, 3)
        if translation_perpendicular_to_axis_of_rotation:
            translation = translation - (translation * axis).sum(-1, keepdim=True) * axis
    turn = axis_and_angle_to_matrix_33(axis, radian_sigma * gaussian())
    return homogeneous(matrix_product(turn, T[..., :3, :3]), T[..., :3, 3] + translation)
