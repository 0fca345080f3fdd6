"""Euler angles [rad] to and from rotations, for all 24 conventions."""

from __future__ import annotations

import math
from functools import reduce

import torch
from torch import Tensor

from ..shapes import require_trailing
from .quaternion import quaternion_raw_multiply
from .rotation import matrix_product, matrix_to_quaternion, stack_matrix
from .smooth import arctan2, components, norm

__all__ = ["euler_angles_to_matrix", "matrix_to_euler_angles", "quaternion_from_euler"]


def euler_angles_to_matrix(euler_angles: Tensor, convention: str) -> Tensor:
    """Convert Euler angles `(*batch, 3)` [rad] to rotation matrices `(*batch, 3, 3)`.

    Args:
        convention: three letters of X, Y, Z, the axes in the order of the product: "XYZ" is Rx(a) Ry(b) Rz(c).

    Raises:
        ValueError: two neighbours of the convention are equal, or a letter is not an axis.
    """
    require_trailing("euler_angles", euler_angles, 3)
    _axes_of(convention)
    turns = [axis_rotation(letter, angle) for letter, angle in zip(convention, components(euler_angles), strict=True)]
    return reduce(matrix_product, turns)


def matrix_to_euler_angles(matrix: Tensor, convention: str) -> Tensor:
    """Convert rotation matrices `(*batch, 3, 3)` to Euler angles `(*batch, 3)` [rad].

    The outer angles lie in (-pi, pi], the middle one in [-pi/2, pi/2], or in [0, pi] where the first and last axis are
    equal. In gimbal lock only the sum or difference of the outer angles is determined: the last is zero then, and the
    gradient is finite. Near the lock the angles lose no precision, but their true derivatives grow without bound.

    Source: Bernardes and Viollet, Quaternion to Euler angles conversion: a direct, general and computationally
    efficient method, 2022. The letters: the convention is i, j, k; n is the axis normal to i and j; the parity is 1
    where i, j, n is right-handed.
    """
    require_trailing("matrix", matrix, 3, 3)
    i, j, k = _axes_of(convention)
    n = 3 - i - j
    parity = 1.0 if (j - i) % 3 == 1 else -1.0
    distinct = i != k
    w, *v = components(matrix_to_quaternion(matrix))
    if distinct:  # R Rj(parity pi/2) has its last axis parallel to the first, and its last angle negated
        w, vi, vj, vn = w - parity * v[j], v[i] - v[n], w + parity * v[j], v[n] + v[i]
    else:
        vi, vj, vn = v[i], v[j], parity * v[n]
    outer_length, middle_length = (
        norm(torch.cat((w, vi), -1), keepdim=True),
        norm(torch.cat((vj, vn), -1), keepdim=True),
    )
    half_sum, half_difference = _outer_half_angles((w, vi, outer_length), (vj, vn, middle_length))
    middle = 2.0 * torch.atan2(middle_length, outer_length)
    first, last = half_sum + half_difference, half_sum - half_difference
    if distinct:
        middle, last = parity * (middle - math.pi / 2), -last
    return torch.cat((_wrap(first), middle, _wrap(last)), -1)


def quaternion_from_euler(rpy: Tensor, axes: str | tuple[int, int, int, int] = "sxyz") -> Tensor:
    """Convert Euler angles `(*batch, 3)` [rad] to unit quaternions `(*batch, 4)`.

    Args:
        axes: "s" (fixed axes) or "r" (axes that turn along) and three letters in the order of turning; or the same as
            (first axis, parity, repetition, frame). The default is roll, pitch, yaw about fixed x, y, z, as in URDF.

    Raises:
        ValueError: it is none of the 24 sequences.
    """
    require_trailing("rpy", rpy, 3)
    turning, order = _sequence_of(axes)
    turns = [_axis_quaternion(axis, half) for axis, half in zip(order, components(0.5 * rpy), strict=True)]
    return reduce(quaternion_raw_multiply, turns if turning else turns[::-1])


def axis_rotation(letter: str, angle: Tensor) -> Tensor:
    """Turn by angles `(*batch, 1)` [rad] about the axis X, Y or Z: matrices `(*batch, 3, 3)`."""
    c, s = torch.cos(angle), torch.sin(angle)
    one, zero = torch.ones_like(angle), torch.zeros_like(angle)
    entries = {
        "X": (one, zero, zero, zero, c, -s, zero, s, c),
        "Y": (c, zero, s, zero, one, zero, -s, zero, c),
        "Z": (c, -s, zero, s, c, zero, zero, zero, one),
    }
    return stack_matrix(entries[letter])


def _axis_quaternion(axis: int, half_angle: Tensor) -> Tensor:
    parts = [torch.zeros_like(half_angle)] * 3
    parts[axis] = torch.sin(half_angle)
    return torch.cat((torch.cos(half_angle), *parts), -1)


def _outer_half_angles(
    outer: tuple[Tensor, Tensor, Tensor], middle: tuple[Tensor, Tensor, Tensor]
) -> tuple[Tensor, Tensor]:
    """Give half the sum and half the difference of the outer angles; a length of rounding size frees its angle."""
    noise = 2.0 * torch.finfo(outer[0].dtype).eps
    free_sum, free_difference = outer[2] <= noise, middle[2] <= noise
    half_sum = arctan2(outer[1], outer[0], free_sum)
    half_difference = arctan2(middle[1], middle[0], free_difference)
    return (
        torch.where(free_sum, half_difference, half_sum),
        torch.where(free_difference, half_sum, half_difference),
    )


def _wrap(angle: Tensor) -> Tensor:
    """Bring angles of (-2 pi, 2 pi) to (-pi, pi]."""
    turn = 2.0 * math.pi
    return torch.where(angle > math.pi, angle - turn, torch.where(angle <= -math.pi, angle + turn, angle))


def _axes_of(convention: str) -> tuple[int, int, int]:
    letters = len(convention) == 3 and all(letter in "XYZ" for letter in convention)
    if not letters or convention[1] in (convention[0], convention[2]):
        raise ValueError(f"convention must be three letters of X, Y, Z, neighbours different, got {convention!r}")
    first, middle, last = ("XYZ".index(letter) for letter in convention)
    return first, middle, last


def _sequence_of(axes: str | tuple[int, int, int, int]) -> tuple[bool, tuple[int, int, int]]:
    """Give whether the axes turn along, and their order of turning."""
    if isinstance(axes, str):
        if len(axes) != 4 or axes[0].lower() not in "rs":
            raise ValueError(f"axes must be 's' or 'r' and three letters of x, y, z, as 'sxyz', got {axes!r}")
        return axes[0].lower() == "r", _axes_of(axes[1:].upper())
    if len(axes) != 4 or axes[0] not in (0, 1, 2) or any(flag not in (0, 1) for flag in axes[1:]):
        raise ValueError(f"axes must be (first axis, parity, repetition, frame), as (0, 0, 0, 0), got {axes!r}")
    first, parity, repetition, frame = axes
    middle = (first + (2 if parity else 1)) % 3
    order = (first, middle, first if repetition else 3 - first - middle)
    return bool(frame), order[::-1] if frame else order
