"""The fused CPU kernels inside torch's graph: forward kinematics and the Jacobian as differentiable functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from . import reference
from .forward import LANES, forward_slice
from .jacobians import jacobian_slice
from .reverse import backward_slice
from .tensors import TreeTensors
from .threads import run_slices


def forward_kinematics(q: Tensor, tree: TreeTensors) -> Tensor:
    """Run the forward kernel; nothing is recorded. Shapes as in `reference.forward_kinematics`."""
    flat = _rows(q)
    n, n_frames = flat.shape[0], len(tree.tree.frame_nodes)
    out = q.new_empty(n_frames, *q.shape[:-1], 4, 4)
    arguments = (flat.numpy(), tree.constants_numpy[0], tree.tree.layout, tree.tree.frame_nodes)
    run_slices(forward_slice, n, n * len(tree.tree.layout) * 12, LANES, *arguments, out.view(n_frames, n, 16).numpy())
    return out


def reverse_sweep(q: Tensor, grad: Tensor, tree: TreeTensors) -> Tensor:
    """Run the backward kernel; nothing is recorded. Shapes as in `reference.reverse_sweep`."""
    flat = _rows(q)
    n, n_frames = flat.shape[0], len(tree.tree.frame_nodes)
    grad_q = flat.new_zeros(flat.shape)
    grad_rows = grad.detach().to(q.dtype).contiguous().view(n_frames, n, 16).numpy()
    arguments = (
        flat.numpy(),
        tree.constants_numpy[0],
        tree.tree.layout,
        tree.tree.frame_nodes,
        grad_rows,
        grad_q.numpy(),
    )
    run_slices(backward_slice, n, n * len(tree.tree.layout) * 30, LANES, *arguments)
    return grad_q.view(q.shape)


def jacobian(q: Tensor, locations: Tensor, tree: TreeTensors) -> Tensor:
    """Run the Jacobian kernel; nothing is recorded. Shapes as in `reference.jacobian`."""
    flat = _rows(q)
    n = flat.shape[0]
    out = q.new_zeros(*q.shape[:-1], 6, tree.nv)
    points = locations.detach()
    points = points.expand(*q.shape[:-1], 3).reshape(n, 3) if points.dim() > 1 else points.reshape(1, 3)
    node = int(tree.tree.frame_nodes[-1])
    arguments = (flat.numpy(), tree.constants_numpy[0], tree.tree.layout, node, points.contiguous().numpy())
    run_slices(jacobian_slice, n, n * len(tree.tree.layout) * 20, LANES, *arguments, out.view(n, 6, tree.nv).numpy())
    return out


class ForwardKinematics(torch.autograd.Function):
    """`forward_kinematics` with its analytic backward (`reverse_sweep`), forward mode and a batching rule."""

    @staticmethod
    def forward(q: Tensor, tree: TreeTensors) -> Tensor:
        return forward_kinematics(q, tree)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, TreeTensors], output: Tensor) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])
        ctx.tree = inputs[1]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (q,) = ctx.saved_tensors
        return ReverseSweep.apply(q, grad, ctx.tree), None

    @staticmethod
    def jvp(ctx: Any, dq: Tensor, _: None) -> Tensor:
        (q,) = ctx.saved_tensors
        return reference.forward_tangent(q, dq, ctx.tree)

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, None], q: Tensor, tree: TreeTensors) -> tuple[Tensor, int]:
        return ForwardKinematics.apply(q.movedim(in_dims[0], 0), tree), 1


class _Defined(torch.autograd.Function):
    """A kernel of two tensors whose derivatives are those of its definition, `ctx.definition(a, b)`."""

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
        _, pull = torch.func.vjp(ctx.definition, *ctx.saved_tensors)
        return (*pull(grad), None)

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor:
        inputs = ctx.saved_tensors
        given = tuple(torch.zeros_like(x) if d is None else d for x, d in zip(inputs, tangents))
        return torch.func.jvp(ctx.definition, inputs, given)[1]

    @staticmethod
    def save(ctx: Any, inputs: tuple[Tensor, Tensor, TreeTensors], definition: Callable) -> None:
        ctx.save_for_backward(*inputs[:2])
        ctx.save_for_forward(*inputs[:2])
        ctx.definition = lambda a, b: definition(a, b, inputs[2])


class ReverseSweep(_Defined):
    """`reverse_sweep`, differentiable again through its definition."""

    @staticmethod
    def forward(q: Tensor, grad: Tensor, tree: TreeTensors) -> Tensor:
        return reverse_sweep(q, grad, tree)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, TreeTensors], output: Tensor) -> None:
        _Defined.save(ctx, inputs, reference.reverse_sweep)

    @staticmethod
    def vmap(info: Any, in_dims: tuple, q: Tensor, grad: Tensor, tree: TreeTensors) -> tuple[Tensor, int]:
        q = _batched(q, in_dims[0], info.batch_size, 0)
        return ReverseSweep.apply(q, _batched(grad, in_dims[1], info.batch_size, 1), tree), 0


class Jacobian(_Defined):
    """`jacobian`, differentiable through its definition."""

    @staticmethod
    def forward(q: Tensor, locations: Tensor, tree: TreeTensors) -> Tensor:
        return jacobian(q, locations, tree)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, TreeTensors], output: Tensor) -> None:
        _Defined.save(ctx, inputs, reference.jacobian)

    @staticmethod
    def vmap(info: Any, in_dims: tuple, q: Tensor, locations: Tensor, tree: TreeTensors) -> tuple[Tensor, int]:
        q = _batched(q, in_dims[0], info.batch_size, 0)
        if in_dims[1] is not None:  # line the mapped dimension up with that of q
            locations = locations.movedim(in_dims[1], 0)
            locations = locations.reshape(-1, *(1,) * (q.dim() - locations.dim()), *locations.shape[1:])
        return Jacobian.apply(q, locations, tree), 0


def _rows(q: Tensor) -> Tensor:
    return q.detach().reshape(math.prod(q.shape[:-1]), q.shape[-1]).contiguous()


def _batched(x: Tensor, dim: int | None, size: int, to: int) -> Tensor:
    return x.unsqueeze(to).expand(*x.shape[:to], size, *x.shape[to:]) if dim is None else x.movedim(dim, to)
