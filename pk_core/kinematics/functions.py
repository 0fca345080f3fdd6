"""The fused kernels inside torch's graph: forward kinematics and the Jacobian as differentiable functions.

Constants are (n_nodes, 19), or (*batch, n_nodes, 19) with the batch of q.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._functorch.utils import unwrap_dead_wrappers

from . import reference
from .batched_gradients import pull_back
from .paths import kernels_of
from .tensors import TreeTensors
from .tracing import is_recorded


class Fused(torch.autograd.Function):
    """A kernel as a function of torch's graph."""

    @classmethod
    def apply(cls, *inputs: Any) -> Any:
        """Call the kernel, through torch where it has to know of the call.

        Without a transform this is `torch.autograd.Function.apply` less its binding of arguments by name, which takes
        several times as long as a kernel for one configuration.
        """
        if not is_recorded(*inputs):
            return cls.forward(*inputs)
        if torch._C._are_functorch_transforms_active():
            return super().apply(*inputs)
        return super(torch.autograd.Function, cls).apply(*unwrap_dead_wrappers(inputs))


class ForwardKinematics(Fused):
    """`forward_kinematics` with its analytic backward, forward mode and a batching rule."""

    @staticmethod
    def forward(q: Tensor, constants: Tensor, tree: TreeTensors) -> Tensor:
        return kernels_of(q).forward_kinematics(q, _with(tree, constants))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, TreeTensors], output: Tensor) -> None:
        ctx.save_for_backward(*inputs[:2])
        ctx.save_for_forward(*inputs[:2])
        ctx.set_materialize_grads(False)  # constants without a tangent are the usual case
        ctx.tree = inputs[2]

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> tuple[Tensor | None, Tensor | None, None]:
        q, constants = ctx.saved_tensors
        if grad is None:
            return None, None, None
        if ctx.needs_input_grad[1] or constants.dim() > 2:
            return *pull_back(lambda g: ParameterSweep.apply(q, constants, g, ctx.tree), grad), None
        return *pull_back(lambda g: (ReverseSweep.apply(q, constants, g, ctx.tree),), grad), None, None

    @staticmethod
    def jvp(ctx: Any, dq: Tensor | None, dconstants: Tensor | None, _: None) -> Tensor:
        q, constants = ctx.saved_tensors
        if dconstants is None:
            return reference.forward_tangent(q, dq, _with(ctx.tree, constants))
        return _push_forward(_forward_definition(ctx.tree), (q, constants), (dq, dconstants))

    @staticmethod
    def vmap(info: Any, in_dims: tuple, q: Tensor, constants: Tensor, tree: TreeTensors) -> tuple[Tensor, int]:
        q, constants = _mapped(info, in_dims, q, constants, shared=True)
        return ForwardKinematics.apply(q, constants, tree), 1


class _Defined(Fused):
    """A kernel whose derivatives are those of its definition, `ctx.definition(*tensors)`."""

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        out, pull = torch.func.vjp(ctx.definition, *ctx.saved_tensors)
        return (*pull(grads if isinstance(out, tuple) else grads[0]), None)

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor | tuple[Tensor, ...]:
        return _push_forward(ctx.definition, ctx.saved_tensors, tangents[:-1])

    @staticmethod
    def save(ctx: Any, inputs: tuple, definition: Callable) -> None:
        ctx.save_for_backward(*inputs[:-1])
        ctx.save_for_forward(*inputs[:-1])
        ctx.definition = definition


class ReverseSweep(_Defined):
    """`reverse_sweep`, differentiable again through its definition."""

    @staticmethod
    def forward(q: Tensor, constants: Tensor, grad: Tensor, tree: TreeTensors) -> Tensor:
        return kernels_of(q).reverse_sweep(q, grad, _with(tree, constants))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, TreeTensors], output: Tensor) -> None:
        _Defined.save(ctx, inputs, lambda q, c, grad: reference.reverse_sweep(q, grad, inputs[3].with_constants(c)))

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple, q: Tensor, constants: Tensor, grad: Tensor, tree: TreeTensors
    ) -> tuple[Tensor, int]:
        q, constants = _mapped(info, in_dims, q, constants, shared=True)
        return ReverseSweep.apply(q, constants, _batched(grad, in_dims[2], info.batch_size, 1), tree), 0


class ParameterSweep(_Defined):
    """`parameter_sweep`, differentiable again through its definition."""

    @staticmethod
    def forward(q: Tensor, constants: Tensor, grad: Tensor, tree: TreeTensors) -> tuple[Tensor, Tensor]:
        return kernels_of(q).parameter_sweep(q, grad, _with(tree, constants))

    @staticmethod
    def setup_context(
        ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, TreeTensors], output: tuple[Tensor, Tensor]
    ) -> None:
        forward = _forward_definition(inputs[3])
        _Defined.save(ctx, inputs, lambda q, c, grad: torch.func.vjp(forward, q, c)[1](grad))

    @staticmethod
    def vmap(info: Any, in_dims: tuple, q: Tensor, constants: Tensor, grad: Tensor, tree: TreeTensors) -> tuple:
        inner = constants.dim() - (in_dims[1] is not None)
        q, constants = _mapped(info, in_dims, q, constants, shared=False)
        grad_q, grad_c = ParameterSweep.apply(q, constants, _batched(grad, in_dims[2], info.batch_size, 1), tree)
        return (grad_q, _sum_batch(grad_c, inner)), (0, 0)


class Jacobian(Fused):
    """`jacobian` with its analytic backward, forward mode and a batching rule."""

    @staticmethod
    def forward(q: Tensor, constants: Tensor, locations: Tensor, tree: TreeTensors) -> Tensor:
        return kernels_of(q).jacobian(q, locations, _with(tree, constants))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, TreeTensors], output: Tensor) -> None:
        _Defined.save(ctx, inputs, _jacobian_definition(inputs[3]))
        ctx.tree = inputs[3]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        q, constants, locations = ctx.saved_tensors
        grad_q, grad_x, grad_c = pull_back(lambda g: JacobianSweep.apply(q, constants, locations, g, ctx.tree), grad)
        return grad_q, grad_c, grad_x, None

    jvp = _Defined.jvp

    @staticmethod
    def vmap(info: Any, in_dims: tuple, q: Tensor, constants: Tensor, locations: Tensor, tree: TreeTensors) -> tuple:
        q, constants = _mapped(info, in_dims, q, constants, shared=True)
        return Jacobian.apply(q, constants, _lined_up(locations, in_dims[2], q), tree), 0


class Twist(Fused):
    """`twist`, the Jacobian times dq, whose backward is made of the Jacobian and its sweep."""

    @staticmethod
    def forward(q: Tensor, constants: Tensor, locations: Tensor, dq: Tensor, tree: TreeTensors) -> Tensor:
        return kernels_of(q).twist(q, dq, locations, _with(tree, constants))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Tensor) -> None:
        tree = inputs[4]
        _Defined.save(ctx, inputs, lambda q, c, x, dq: reference.twist(q, dq, x, tree.with_constants(c)))
        ctx.tree = tree

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, None]:
        q, constants, locations, dq = ctx.saved_tensors

        def pull(g: Tensor) -> tuple[Tensor, ...]:
            to_J = g.unsqueeze(-1) * dq.unsqueeze(-2)
            grad_q, grad_x, grad_c = JacobianSweep.apply(q, constants, locations, to_J, ctx.tree)
            J = Jacobian.apply(q, constants, locations, ctx.tree)
            return grad_q, grad_c, grad_x, (J * g.unsqueeze(-1)).sum(-2)

        return *pull_back(pull, grad), None

    jvp = _Defined.jvp

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple, q: Tensor, constants: Tensor, locations: Tensor, dq: Tensor, tree: TreeTensors
    ) -> tuple[Tensor, int]:
        q, constants = _mapped(info, in_dims, q, constants, shared=True)
        dq = _batched(dq, in_dims[3], info.batch_size, 0)
        return Twist.apply(q, constants, _lined_up(locations, in_dims[2], q), dq, tree), 0


class JacobianSweep(_Defined):
    """`jacobian_sweep`, differentiable again through its definition."""

    @staticmethod
    def forward(q: Tensor, constants: Tensor, locations: Tensor, grad: Tensor, tree: TreeTensors) -> tuple:
        return kernels_of(q).jacobian_sweep(q, locations, grad, _with(tree, constants))

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple[Tensor, Tensor, Tensor]) -> None:
        forward = _jacobian_definition(inputs[4])

        def definition(q: Tensor, c: Tensor, x: Tensor, grad: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            grad_q, grad_c, grad_x = torch.func.vjp(forward, q, c, x)[1](grad)
            return grad_q, grad_x, grad_c

        _Defined.save(ctx, inputs, definition)

    @staticmethod
    def vmap(
        info: Any, in_dims: tuple, q: Tensor, constants: Tensor, locations: Tensor, grad: Tensor, tree: TreeTensors
    ) -> tuple:
        c_dims, x_dims = constants.dim() - (in_dims[1] is not None), locations.dim() - (in_dims[2] is not None)
        q, constants = _mapped(info, in_dims, q, constants, shared=False)
        locations = _batched(locations, in_dims[2], info.batch_size, 0)
        locations = locations.reshape(info.batch_size, *(1,) * (q.dim() - locations.dim()), *locations.shape[1:])
        inner = locations.shape[1:]
        locations = locations.expand(*q.shape[:-1], 3)
        grad = _batched(grad, in_dims[3], info.batch_size, 0)
        grad_q, grad_x, grad_c = JacobianSweep.apply(q, constants, locations, grad, tree)
        grad_x = grad_x.sum_to_size(info.batch_size, *inner)
        grad_x = grad_x.reshape(info.batch_size, *inner[len(inner) - x_dims :])
        return (grad_q, grad_x, _sum_batch(grad_c, c_dims)), (0, 0, 0)


def _push_forward(f: Callable, inputs: tuple[Tensor, ...], tangents: tuple[Tensor | None, ...]) -> Tensor | tuple:
    """Give the derivative of f along tangents, in reverse mode alone, for torch nests no forward mode in dual numbers.

    The pull of a gradient is linear in it, and the transpose of the pull is the derivative wanted.
    """
    given = tuple(torch.zeros_like(x) if d is None else d for x, d in zip(inputs, tangents))
    out, pull = torch.func.vjp(f, *inputs)
    zeros = tuple(map(torch.zeros_like, out)) if isinstance(out, tuple) else torch.zeros_like(out)
    return torch.func.vjp(pull, zeros)[1](given)[0]


def _forward_definition(tree: TreeTensors) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda q, constants: reference.forward_kinematics(q, tree.with_constants(constants))


def _jacobian_definition(tree: TreeTensors) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    return lambda q, constants, locations: reference.jacobian(q, locations, tree.with_constants(constants))


def _with(tree: TreeTensors, constants: Tensor) -> TreeTensors:
    return tree if constants is tree.constants else tree.with_constants(constants)


def _mapped(info: Any, in_dims: tuple, q: Tensor, constants: Tensor, shared: bool) -> tuple[Tensor, Tensor]:
    """Put the mapped dimension of q and constants first; constants that all share stay so where `shared` allows it."""
    q = _batched(q, in_dims[0], info.batch_size, 0)
    if shared and in_dims[1] is None and constants.dim() == 2:
        return q, constants
    constants = _batched(constants, in_dims[1], info.batch_size, 0)
    if constants.dim() == 3:  # one set for all rows of an element
        constants = constants.view(info.batch_size, *(1,) * (q.dim() - 2), *constants.shape[1:])
    return q, constants.expand(*q.shape[:-1], *constants.shape[-2:])


def _lined_up(locations: Tensor, dim: int | None, q: Tensor) -> Tensor:
    """Line the mapped dimension of locations up with the first one of q."""
    if dim is None:
        return locations
    locations = locations.movedim(dim, 0)
    return locations.reshape(-1, *(1,) * (q.dim() - locations.dim()), *locations.shape[1:])


def _sum_batch(grad: Tensor, dims: int) -> Tensor:
    """Sum the gradient of constants (B, *batch, n_nodes, 19) over the batch where an element's rows share them."""
    return grad.flatten(1, -3).sum(1) if dims == 2 and grad.dim() > 3 else grad


def _batched(x: Tensor, dim: int | None, size: int, to: int) -> Tensor:
    return x.unsqueeze(to).expand(*x.shape[:to], size, *x.shape[to:]) if dim is None else x.movedim(dim, to)
