"""Rotation matrices, and what they are converted from and to. Column vectors: `R_a_b` takes vectors of b to a."""

from __future__ import annotations

import torch
from torch import Tensor

from ..shapes import require_trailing
from .quaternion import axis_angle_to_quaternion, quaternion_to_axis_angle, random_quaternions, standardize_quaternion
from .smooth import components, normalize

__all__ = [
    "axis_and_angle_to_matrix_33",
    "axis_angle_to_matrix",
    "matrix_to_axis_angle",
    "matrix_to_quaternion",
    "matrix_to_rotation_6d",
    "quaternion_to_matrix",
    "random_rotation",
    "random_rotations",
    "rotation_6d_to_matrix",
]


def quaternion_to_matrix(quaternions: Tensor) -> Tensor:
    """Convert quaternions `(*batch, 4)` of any length but zero to rotation matrices `(*batch, 3, 3)`."""
    require_trailing("quaternions", quaternions, 4)
    w, x, y, z = components(quaternions)
    s = 2.0 / (quaternions * quaternions).sum(-1, keepdim=True)
    entries = (
        1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y),
        s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x),
        s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y),
    )  # fmt: skip
    return stack_matrix(entries)


def matrix_to_quaternion(matrix: Tensor) -> Tensor:
    """Convert rotation matrices `(*batch, 3, 3)` to unit quaternions `(*batch, 4)` with real part not negative.

    Continuous except where it has to jump, at rotations by pi, where the sign of the axis is free: there the largest
    component is positive. The gradient is that of the branch taken, and right on both sides.

    The entries give the matrix 4 q q^T; its row with the largest diagonal entry, which is never below 1, is q up to
    length and sign (after Shepperd, 1978). Choosing before dividing leaves no branch that could divide by zero.
    """
    require_trailing("matrix", matrix, 3, 3)
    a, b, c, d, e, f, g, h, i = components(matrix.flatten(-2))
    squares = (1.0 + a + e + i, 1.0 + a - e - i, 1.0 - a + e - i, 1.0 - a - e + i)
    rows = (
        (squares[0], h - f, c - g, d - b),
        (h - f, squares[1], d + b, c + g),
        (c - g, d + b, squares[2], h + f),
        (d - b, c + g, h + f, squares[3]),
    )
    outer = torch.stack([torch.cat(row, -1) for row in rows], -2)
    best = torch.cat(squares, -1).argmax(-1)[..., None, None]
    row = outer.gather(-2, best.expand(*best.shape[:-1], 4)).squeeze(-2)
    return standardize_quaternion(normalize(row))


def axis_angle_to_matrix(axis_angle: Tensor) -> Tensor:
    """Convert rotation vectors `(*batch, 3)`, axis times angle [rad], to rotation matrices `(*batch, 3, 3)`."""
    return quaternion_to_matrix(axis_angle_to_quaternion(axis_angle))


def matrix_to_axis_angle(matrix: Tensor) -> Tensor:
    """Convert rotation matrices `(*batch, 3, 3)` to rotation vectors `(*batch, 3)` with angles [rad] in [0, pi]."""
    return quaternion_to_axis_angle(matrix_to_quaternion(matrix))


def axis_and_angle_to_matrix_33(axis: Tensor, theta: Tensor) -> Tensor:
    """Turn by theta `(*batch)` [rad] about unit axes `(*batch, 3)`: matrices `(*batch, 3, 3)`; batches broadcast.

    Source: Rodrigues' formula, cos(theta) I + sin(theta) [axis] + (1 - cos(theta)) axis axis^T.
    """
    require_trailing("axis", axis, 3)
    x, y, z = components(axis)
    theta = theta.unsqueeze(-1)
    s, c = torch.sin(theta), torch.cos(theta)
    v = 2.0 * torch.sin(0.5 * theta) ** 2  # 1 - cos(theta) without cancellation
    entries = (
        c + v * x * x, v * x * y - s * z, v * x * z + s * y,
        v * x * y + s * z, c + v * y * y, v * y * z - s * x,
        v * x * z - s * y, v * y * z + s * x, c + v * z * z,
    )  # fmt: skip
    return stack_matrix(entries)


def rotation_6d_to_matrix(d6: Tensor) -> Tensor:
    """Convert two vectors `(*batch, 6)` to rotation matrices `(*batch, 3, 3)`: by Gram-Schmidt, the first rows.

    Source: Zhou et al., On the Continuity of Rotation Representations in Neural Networks, 2019, section B.
    """
    require_trailing("d6", d6, 6)
    first = normalize(d6[..., :3])
    second = d6[..., 3:]
    second = normalize(second - (first * second).sum(-1, keepdim=True) * first)
    return torch.stack((first, second, torch.linalg.cross(first, second)), -2)


def matrix_to_rotation_6d(matrix: Tensor) -> Tensor:
    """Give the first two rows of rotation matrices `(*batch, 3, 3)` as `(*batch, 6)`."""
    require_trailing("matrix", matrix, 3, 3)
    return matrix[..., :2, :].clone().flatten(-2)


def random_rotations(
    n: int,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
    requires_grad: bool = False,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draw n rotation matrices `(n, 3, 3)` uniformly; dtype and device are torch's defaults where None."""
    quaternions = random_quaternions(n, dtype=dtype, device=device, generator=generator)
    return quaternion_to_matrix(quaternions).requires_grad_(requires_grad)


def random_rotation(
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
    requires_grad: bool = False,
    generator: torch.Generator | None = None,
) -> Tensor:
    """Draw one rotation matrix `(3, 3)` uniformly."""
    return random_rotations(1, dtype, device, generator=generator)[0].requires_grad_(requires_grad)


def stack_matrix(entries: tuple[Tensor, ...]) -> Tensor:
    """Arrange nine tensors `(*batch, 1)`, row by row, as matrices `(*batch, 3, 3)`; the entries broadcast."""
    return torch.cat(torch.broadcast_tensors(*entries), -1).unflatten(-1, (3, 3))


def matrix_product(a: Tensor, b: Tensor) -> Tensor:
    """Multiply matrices `(*batch, n, k)` and `(*batch, k, m)` in their full precision, whatever torch is set to.

    Under autocast, and on CUDA with TF32 allowed, `@` would round poses to ten bits: there, outer products are summed. So
    they are while compiling: they fuse with what comes before and after, and torch can't trace forward mode of `@` in vmap.
    """
    if a.device.type == "cpu" and not torch.is_autocast_enabled("cpu") and not torch.compiler.is_compiling():
        return a @ b
    products = [a[..., :, k, None] * b[..., None, k, :] for k in range(a.shape[-1])]
    return sum(products[1:], products[0])


def inverse_33(matrix: Tensor) -> Tensor:
    """Invert matrices `(*batch, 3, 3)` by cross products of their rows: to rounding for rotations, without pivots."""
    a, b, c = matrix.unbind(-2)
    columns = torch.stack((torch.linalg.cross(b, c), torch.linalg.cross(c, a), torch.linalg.cross(a, b)), -1)
    determinant = (a * columns[..., 0]).sum(-1)
    return columns / determinant[..., None, None]
