"""Checks of tensor shapes, done once at the public door: the error names the argument and the shape it should have."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .errors import ShapeError, TensorTypeError


def values_are_hidden() -> bool:
    """Say whether a compiler or a function transform is at work, for which tensors have shapes but no numbers to check."""
    return torch.compiler.is_compiling() or torch._C._are_functorch_transforms_active()


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
