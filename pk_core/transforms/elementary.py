"""The elementary transforms: batches of translations, scalings and rotations."""

from __future__ import annotations

import torch

from .arguments import (
    ArrayLike,
    Device,
    orientation_matrix,
    scale_matrix,
    translation_matrix,
    turn_matrix,
)
from .transform3d import Transform3d

__all__ = ["Rotate", "RotateAxisAngle", "Scale", "Translate"]


class Translate(Transform3d):
    """Translations [m] by vectors x `(*batch, 3)`, or by x, y and z, numbers or tensors that broadcast."""

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike | None = None,
        z: ArrayLike | None = None,
        dtype: torch.dtype = torch.float32,
        device: Device = "cpu",
    ) -> None:
        super().__init__(matrix=translation_matrix(x, y, z, dtype, device))


class Scale(Transform3d):
    """Scalings by one factor x, by factors `(n,)`, by a factor for each axis `(*batch, 3)`, or by x, y and z."""

    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike | None = None,
        z: ArrayLike | None = None,
        dtype: torch.dtype = torch.float32,
        device: Device = "cpu",
    ) -> None:
        super().__init__(matrix=scale_matrix(x, y, z, dtype, device))


class Rotate(Transform3d):
    """Rotations by a matrix, a quaternion or Euler angles.

    Args:
        R: matrices `(*batch, 3, 3)`, quaternions wxyz `(*batch, 4)` or Euler angles XYZ `(*batch, 3)` [rad].
        orthogonal_tol: taken for compatibility; values are not looked at, so that tracing and vmap work.
    """

    def __init__(
        self, R: ArrayLike, dtype: torch.dtype = torch.float32, device: Device = "cpu", orthogonal_tol: float = 1e-5
    ) -> None:
        super().__init__(matrix=orientation_matrix(R, dtype, device, orthogonal_tol))


class RotateAxisAngle(Rotate):
    """Rotations by angles `(*batch)` about the axis "X", "Y" or "Z".

    Args:
        degrees: angles are degrees, else radians.
    """

    def __init__(
        self,
        angle: ArrayLike,
        axis: str = "X",
        degrees: bool = True,
        dtype: torch.dtype = torch.float32,
        device: Device = "cpu",
    ) -> None:
        super().__init__(turn_matrix(angle, axis, degrees, dtype, device)[..., :3, :3], dtype)
