"""Which path a call takes: the one place that chooses between the kernels, called or as operators, and the definition."""

from __future__ import annotations

import warnings
from functools import cache
from types import ModuleType

import torch
from torch import Tensor

from . import fused
from .tensors import TreeTensors
from .tracing import constant_while_compiling, is_traced

# compilers before don't call a function of ours with an object while they trace
_OPERATORS = torch.__version__ >= (2, 13)


def kernels_for(q: Tensor) -> ModuleType | None:
    """Give the fused kernels that serve q, None where the definition must.

    The CPU has its kernels always, a GPU with the extra `cuda`; other devices and dtypes have none.
    """
    if q.dtype not in (torch.float32, torch.float64) or is_traced(q):
        return None
    return kernels_of(q)


def kernels_of(q: Tensor) -> ModuleType | None:
    """Give the fused kernels where q lies, None where there are none."""
    return fused if q.is_cpu else kernels_on(q.device)


def kernels_on(device: torch.device) -> ModuleType | None:
    """Give the fused kernels of a device, None where it has none."""
    if device.type == "cpu":
        return fused
    return _cuda_kernels() if device.type == "cuda" else None


def operators_serve(tree: TreeTensors) -> bool:
    """Say whether torch.compile traces the call, and the kernels as its operators are right there."""
    if not torch.compiler.is_dynamo_compiling() or not _OPERATORS or torch.compiler.is_exporting():
        return False
    if tree.parametrised or tree.operator == "":
        return False
    return _operators_serve(tree.constants.device, tree.constants.dtype)


@constant_while_compiling
def _operators_serve(device: torch.device, dtype: torch.dtype) -> bool:
    """Say it, but for what can be traced: torch.compile calls this while it traces."""
    transformed = torch._C._are_functorch_transforms_active() or torch.autograd.forward_ad._current_level >= 0
    return not transformed and dtype in (torch.float32, torch.float64) and kernels_on(device) is not None


@cache
def _cuda_kernels() -> ModuleType | None:
    try:
        from . import cuda
    except ImportError as error:
        warnings.warn(
            f"no fused kernels on the GPU ({error}): plain torch serves it, right and slower; "
            "pip install 'pk[cuda]' brings them",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return cuda
