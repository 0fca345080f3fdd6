"""What else than autograd may be at work around a call: compilers, tracers, function transforms."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def constant_while_compiling(function: Callable) -> Callable:
    """Have torch.compile call a function while it traces, and take the result as it is.

    `torch.compiler.assume_constant_result` sets this mark too; it imports all of the compiler first, which takes a second.
    """
    function._dynamo_marked_constant = True
    return function


def is_traced(q: Tensor) -> bool:
    """Say whether every torch operation of the call must be seen: kernels would work behind somebody's back.

    - while compiling: Inductor fuses the definition, and a custom function can't be differentiated in every way there;
    - under a tracer (torch.jit.trace, make_fx), or with a tensor that has no numbers of its own (FakeTensor);
    - under `functionalize`, which knows no custom functions, and in forward mode inside forward mode, where torch gives
      the derivative of any custom function as zero.
    """
    if torch.compiler.is_compiling():
        return True
    if torch._C._is_tracing() or torch._C._len_torch_dispatch_stack() or not _has_numbers(q):
        return True
    return torch._C._are_functorch_transforms_active() and _transforms_need_the_definition()


def is_recorded(*inputs: object) -> bool:
    """Say whether torch must know of a call: one of its tensors wants a gradient, or a transform (vmap, jvp...) is at work."""
    if torch._C._are_functorch_transforms_active() or torch.autograd.forward_ad._current_level >= 0:
        return True
    if torch.is_grad_enabled():
        for x in inputs:
            if isinstance(x, Tensor) and x.requires_grad:
                return True
    return False


def lasts(x: Tensor) -> bool:
    """Say whether a tensor may be kept for later calls: it belongs to no graph, tracer, transform or inference mode."""
    return not (
        torch.compiler.is_compiling()
        or not _has_numbers(x)
        or x.requires_grad
        or x.is_inference()
        or torch._C._functorch.is_functorch_wrapped_tensor(x)
    )


def _has_numbers(x: Tensor) -> bool:
    """Say whether a tensor is no subclass that handles torch's operations itself."""
    return type(x) is Tensor or type(x).__torch_dispatch__ is Tensor.__torch_dispatch__


def _transforms_need_the_definition() -> bool:
    kinds = torch._C._functorch.TransformType
    transforms = [level.key() for level in torch._C._functorch.get_interpreter_stack()]
    return kinds.Functionalize in transforms or transforms.count(kinds.Jvp) > 1
