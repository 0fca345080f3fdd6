"""Checks of tensor shapes, done once at the public door: the error names the argument and the shape it should have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from .errors import ShapeError, TensorTypeError


def values_are_hidden() -> bool:
    """Say whether a compiler or a function transform is at work, for which tensors have shapes but no numbers to check."""
    return torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()


def tensor_of_numbers(name: str, value: object, dtype: torch.dtype | None = None, device: object = "cpu") -> Tensor:
    """Give a tensor as it is, and an array or lists as a tensor.

    Raises:
        TensorTypeError: they hold anything but real numbers.
    """
    try:
        if isinstance(value, (list, tuple)) and any(isinstance(part, np.ndarray) for part in value):
            value = np.stack(value)  # torch warns that it is slow at that
        tensor = value if isinstance(value, Tensor) else torch.as_tensor(value, dtype=dtype, device=device)
    except (TypeError, ValueError, RuntimeError):
        raise TensorTypeError(f"{name} must be a tensor, an array or lists of numbers, got {value!r:.80}") from None
    if tensor.is_complex():
        raise TensorTypeError(f"{name} must be real numbers, got {tensor.dtype}")
    return tensor


def require_trailing(name: str, tensor: Tensor, *sizes: int) -> None:
    """Check that a tensor ends in the given sizes, whatever its leading batch dimensions.

    Raises:
        ShapeError: it does not.
        TensorTypeError: it is no tensor.
    """
    if not isinstance(tensor, Tensor):
        raise TensorTypeError(f"{name} must be a torch.Tensor, got {type(tensor).__name__}; call torch.as_tensor on it")
    shape = tensor.shape
    if len(shape) < len(sizes) or any(shape[i - len(sizes)] != size for i, size in enumerate(sizes)):
        raise ShapeError(f"{name} must have shape (..., {', '.join(map(str, sizes))}), got {tuple(shape)}")


def broadcast_batches(names: str, *batches: Sequence[int]) -> tuple[int, ...]:
    """Give the batch shape that these batch shapes broadcast to.

    Raises:
        ShapeError: they do not broadcast; `names` says whose they are.
    """
    first = batches[0]
    if all(batch == first for batch in batches):  # by far the usual case, and a tenth of the time
        return tuple(first)
    try:
        return tuple(torch.broadcast_shapes(*batches))
    except RuntimeError:
        shapes = ", ".join(str(tuple(batch)) for batch in batches)
        raise ShapeError(f"the batch dimensions of {names} must broadcast, got {shapes}") from None
