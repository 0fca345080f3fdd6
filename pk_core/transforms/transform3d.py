"""Batches of affine transforms of space."""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import ShapeError, TensorTypeError
from ..shapes import broadcast_batches, require_trailing
from .arguments import (
    ArrayLike,
    Device,
    assemble_matrix,
    orientation_matrix,
    scale_matrix,
    translation_matrix,
    turn_matrix,
)
from .rotation import inverse_33, matrix_product, matrix_to_quaternion
from .se3 import sample_perturbations

__all__ = ["Transform3d"]


class Transform3d:
    """A batch of affine transforms `T_a_b`: matrices `(*batch, 4, 4)` that take points of b, as columns, to frame a.

    There is at least one batch dimension: a single 4x4 matrix is a batch of one. `t1.compose(t2)` (or `t1 @ t2`)
    applies t2 first; `t.translate(...)`, `rotate`, `scale` compose on the right as well. Batches broadcast as in torch.
    No method changes an object or its tensors: each gives a new one. Lengths in metres, quaternions wxyz.

    Args:
        default_batch_size: number of identities where no matrix is given.
        dtype: of numbers, sequences and defaults; floating tensors keep theirs (the widest of the given decides).
        device: where those are made; tensors stay where they are.
        matrix: `(4, 4)` or `(*batch, 4, 4)`, last row 0 0 0 1.
        rot: replaces the rotation: quaternions `(*batch, 4)`, matrices `(*batch, 3, 3)`, or Euler angles `(*batch, 3)`
            [rad], Rx(a) Ry(b) Rz(c). Three triples of Euler angles look like a matrix, and are taken for one.
        pos: replaces the position, `(*batch, 3)` [m].

    Raises:
        ShapeError: an argument has another shape, or the batches do not broadcast.
    """

    def __init__(
        self,
        default_batch_size: int = 1,
        dtype: torch.dtype = torch.float32,
        device: Device = "cpu",
        matrix: ArrayLike | None = None,
        rot: ArrayLike | None = None,
        pos: ArrayLike | None = None,
    ) -> None:
        self._matrix = assemble_matrix(matrix, rot, pos, default_batch_size, dtype, device)

    @staticmethod
    def _of(matrix: Tensor) -> Transform3d:
        """Make one of a floating matrix (*batch, 4, 4) with a batch dimension, unchecked, in a tenth of the time."""
        made = object.__new__(Transform3d)
        made._matrix = matrix
        return made

    @property
    def dtype(self) -> torch.dtype:
        """Give the dtype of the matrices."""
        return self._matrix.dtype

    @property
    def device(self) -> torch.device:
        """Give the device of the matrices."""
        return self._matrix.device

    def __len__(self) -> int:
        return self._matrix.shape[0]

    def __getitem__(self, item: object) -> Transform3d:
        """Index the batch dimensions as a tensor's; one transform alone comes as a batch of one."""
        index = item if isinstance(item, tuple) else (item,)
        if not any(entry is Ellipsis for entry in index):
            index = (*index, Ellipsis)
        matrix = self._matrix[(*index, slice(None), slice(None))]
        return Transform3d(matrix=matrix)

    def __matmul__(self, other: Transform3d) -> Transform3d:
        return self.compose(other)

    def __repr__(self) -> str:
        rot, pos = matrix_to_quaternion(self._matrix[..., :3, :3]), self._matrix[..., :3, 3]
        return f"Transform3d(rot={rot}, pos={pos})".replace("\n       ", "")

    def get_matrix(self) -> Tensor:
        """Give the matrices `(*batch, 4, 4)`."""
        return self._matrix

    def compose(self, *others: Transform3d) -> Transform3d:
        """Multiply matrices from left to right: the last of `others` acts first; the result has this object's dtype.

        Raises:
            ShapeError: the batches do not broadcast.
            TensorTypeError: they lie on different devices.
        """
        matrix = self._matrix
        for other in others:
            matrix = matrix_product(matrix, self._matching(other, matrix))
        return Transform3d(matrix=matrix)

    def inverse(self, invert_composed: bool = False) -> Transform3d:
        """Invert, scaling included (the last row of the matrices is taken to be 0 0 0 1).

        Args:
            invert_composed: taken for compatibility; there is nothing it would change.
        """
        linear = inverse_33(self._matrix[..., :3, :3])
        position = -matrix_product(linear, self._matrix[..., :3, 3:])
        top = torch.cat((linear, position), -1)
        return Transform3d(matrix=torch.cat((top, self._matrix[..., 3:, :]), -2))

    def stack(self, *others: Transform3d) -> Transform3d:
        """Concatenate along the first batch dimension.

        Raises:
            ShapeError: the further batch dimensions differ.
        """
        matrices = [self._matrix, *(other.get_matrix() for other in others)]
        shapes = {tuple(matrix.shape[1:]) for matrix in matrices}
        if len(shapes) > 1:
            raise ShapeError(f"others must agree in all but the first dimension, got {sorted(shapes)}")
        return Transform3d(matrix=torch.cat(matrices, 0))

    def transform_points(self, points: Tensor, eps: float | None = None, batch_to_batch: bool = False) -> Tensor:
        """Take points of frame b to frame a.

        Args:
            points: `(P, 3)` or `(*batch, P, 3)`; every transform takes all P points of its batch element.
            eps: smallest denominator of the homogeneous division, of either sign.
            batch_to_batch: points are `(*batch, 3)`, one for each transform.

        Returns:
            `(*batch, P, 3)` in the dtype of the points; `(P, 3)` where one transform meets points `(P, 3)`; with
            `batch_to_batch`, `(*batch, 3)`.
        """
        rows, matrix = self._rows("points", points, batch_to_batch)
        moved = matrix_product(rows, matrix[..., :3].mT) + matrix[..., None, :, 3]
        denominator = moved[..., 3:]
        if eps is not None:
            sign = torch.where(denominator < 0, -1.0, 1.0).to(denominator.dtype)
            denominator = sign * denominator.abs().clamp(min=eps)
        return self._unrows(moved[..., :3] / denominator, points, batch_to_batch)

    def transform_normals(self, normals: Tensor, batch_to_batch: bool = False) -> Tensor:
        """Take surface normals of frame b to frame a, by the inverse transpose; scaling changes their lengths.

        Args and shapes as for `transform_points`.
        """
        rows, matrix = self._rows("normals", normals, batch_to_batch)
        return self._unrows(matrix_product(rows, inverse_33(matrix[..., :3, :3])), normals, batch_to_batch)

    def transform_shape_operator(self, shape_operators: Tensor) -> Tensor:
        """Take shape operators `(P, 3, 3)` or `(*batch, P, 3, 3)`, Hessians of a signed distance, to frame a."""
        require_trailing("shape_operators", shape_operators, 3, 3)
        inverse = inverse_33(self._matrix[..., None, :3, :3].to(shape_operators.dtype))
        moved = matrix_product(matrix_product(inverse.mT, shape_operators), inverse)
        return moved.reshape(shape_operators.shape) if self._alone and shape_operators.ndim == 3 else moved

    def translate(self, *args: ArrayLike, **kwargs: object) -> Transform3d:
        """Compose with `Translate(...)` on the right."""
        return self.compose(Transform3d(matrix=translation_matrix(*args, **self._kind(kwargs))))

    def scale(self, *args: ArrayLike, **kwargs: object) -> Transform3d:
        """Compose with `Scale(...)` on the right."""
        return self.compose(Transform3d(matrix=scale_matrix(*args, **self._kind(kwargs))))

    def rotate(self, *args: ArrayLike, **kwargs: object) -> Transform3d:
        """Compose with `Rotate(...)` on the right."""
        return self.compose(Transform3d(matrix=orientation_matrix(*args, **self._kind(kwargs))))

    def rotate_axis_angle(self, *args: ArrayLike, **kwargs: object) -> Transform3d:
        """Compose with `RotateAxisAngle(...)` on the right."""
        return self.compose(Transform3d(matrix=turn_matrix(*args, **self._kind(kwargs))))

    def sample_perturbations(
        self, num_perturbations: int, radian_sigma: float, translation_sigma: float
    ) -> Transform3d:
        """Draw transforms near this one, or near each of `num_perturbations`: see `pk_core.sample_perturbations`."""
        matrix = sample_perturbations(self._matrix, num_perturbations, radian_sigma, translation_sigma)
        return Transform3d(matrix=matrix)

    def clone(self) -> Transform3d:
        """Copy, tensors included; gradients flow through."""
        return Transform3d(matrix=self._matrix.clone())

    def to(
        self, device: Device | torch.dtype = None, copy: bool = False, dtype: torch.dtype | None = None
    ) -> Transform3d:
        """Give this transform on a device and in a dtype: itself where nothing changes and `copy` is false."""
        if isinstance(device, torch.dtype):
            device, dtype = None, device
        matrix = self._matrix.to(device=device, dtype=dtype, copy=copy)
        return self if matrix is self._matrix else Transform3d(matrix=matrix)

    def cpu(self) -> Transform3d:
        """Give this transform on the CPU."""
        return self.to("cpu")

    def cuda(self) -> Transform3d:
        """Give this transform on the current CUDA device."""
        return self.to("cuda")

    @property
    def _alone(self) -> bool:
        return self._matrix.ndim == 3 and self._matrix.shape[0] == 1

    def _kind(self, kwargs: dict[str, object]) -> dict[str, object]:
        return {"dtype": self.dtype, "device": self.device, **kwargs}

    def _matching(self, other: Transform3d, matrix: Tensor) -> Tensor:
        if other.device != self.device:
            raise TensorTypeError(
                f"others are on {other.device}, this transform on {self.device}; use .to({self.device})"
            )
        broadcast_batches("transforms", matrix.shape[:-2], other.get_matrix().shape[:-2])
        return other.get_matrix().to(self.dtype)

    def _rows(self, name: str, vectors: Tensor, batch_to_batch: bool) -> tuple[Tensor, Tensor]:
        """Check vectors; give them as `(*batch, P, 3)`, and the matrices in their dtype."""
        require_trailing(name, vectors, 3)
        if vectors.ndim < 2:
            raise ShapeError(f"{name} must have shape (P, 3) or (*batch, P, 3), got {tuple(vectors.shape)}")
        rows = vectors.unsqueeze(-2) if batch_to_batch else vectors
        broadcast_batches(f"{name} and the transforms", rows.shape[:-2], self._matrix.shape[:-2])
        return rows, self._matrix.to(vectors.dtype)

    def _unrows(self, rows: Tensor, vectors: Tensor, batch_to_batch: bool) -> Tensor:
        if batch_to_batch:
            return rows.squeeze(-2)
        return rows.reshape(vectors.shape) if self._alone and vectors.ndim == 2 else rows
