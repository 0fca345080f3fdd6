"""Batched gradients of torch.autograd: those of `is_grads_batched=True` and `vectorize=True`, an older kind than torch.func's."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def pull_back(pull: Callable[[Tensor], tuple[Tensor, ...]], grad: Tensor) -> tuple[Tensor, ...]:
    """Give pull(grad); a batch of gradients that torch.autograd hides in `grad` goes through `torch.func.vmap` instead."""
    if not torch._C._functorch.is_legacy_batchedtensor(grad):
        return pull(grad)
    level = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    rows = torch._remove_batch_dim(grad, level, 1, 0)
    return tuple(torch._add_batch_dim(x, 0, level) for x in torch.func.vmap(pull)(rows))
