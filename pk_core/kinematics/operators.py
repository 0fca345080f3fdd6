"""The kernels as operators that torch.compile leaves whole: Inductor takes minutes for the definition and makes slower code.

They know first derivatives in reverse mode. Whatever else a compiled function asks for (transforms of torch.func, forward
mode, parameters that want gradients, export) takes the definition, which is right in all of them.

A robot goes into a graph as a string, a digest of all that a kernel takes of it: graphs are kept on disk and meet other robots.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from .paths import kernels_of
from .tensors import TreeTensors
from .tracing import constant_while_compiling

_trees: dict[str, TreeTensors] = {}


@constant_while_compiling
def register(tree: TreeTensors) -> str:
    """Keep a tree for operators and give its name there; torch.compile calls this while it traces."""
    return _register(tree)


@constant_while_compiling
def pruned(tree: TreeTensors, frame_names: tuple[str, ...]) -> TreeTensors:
    """Prune and register a tree as if torch.compile were not tracing: what it makes there it can't hand to `register`."""
    made = tree.pruned(frame_names)
    return replace(made, operator=_register(made))


def _register(tree: TreeTensors) -> str:
    key = hashlib.sha256(str((tree.constants.dtype, tree.constants.device, tree.nq, tree.nv)).encode())
    for part in (tree.constants.numpy(force=True), tree.tree.layout, tree.tree.frame_nodes):
        key.update(str(part.shape).encode() + part.tobytes())
    _trees.setdefault(key.hexdigest(), tree)
    return key.hexdigest()


@torch.library.custom_op("pk::forward_kinematics", mutates_args=())
def forward_kinematics(q: Tensor, tree: str) -> Tensor:
    """Give the poses of all frames, as `reference.forward_kinematics` does."""
    return kernels_of(q).forward_kinematics(q, _trees[tree])


@forward_kinematics.register_fake
def _(q: Tensor, tree: str) -> Tensor:
    return q.new_empty(len(_trees[tree].frame_nodes), *q.shape[:-1], 4, 4)


@torch.library.custom_op("pk::reverse_sweep", mutates_args=())
def reverse_sweep(q: Tensor, grad: Tensor, tree: str) -> Tensor:
    """Give dL/dq from dL/dT, as `reference.reverse_sweep` does."""
    return kernels_of(q).reverse_sweep(q, grad, _trees[tree])


@reverse_sweep.register_fake
def _(q: Tensor, grad: Tensor, tree: str) -> Tensor:
    return q.new_empty(q.shape)


@torch.library.custom_op("pk::jacobian", mutates_args=())
def jacobian(q: Tensor, locations: Tensor, tree: str) -> Tensor:
    """Give the Jacobian of the last frame, as `reference.jacobian` does."""
    return kernels_of(q).jacobian(q, locations, _trees[tree])


@jacobian.register_fake
def _(q: Tensor, locations: Tensor, tree: str) -> Tensor:
    return q.new_empty(*q.shape[:-1], 6, _trees[tree].nv)


@torch.library.custom_op("pk::jacobian_sweep", mutates_args=())
def jacobian_sweep(q: Tensor, locations: Tensor, grad: Tensor, tree: str) -> tuple[Tensor, Tensor]:
    """Give (dL/dq, dL/dlocations) from dL/dJ."""
    return kernels_of(q).jacobian_sweep(q, locations, grad, _trees[tree])[:2]


@jacobian_sweep.register_fake
def _(q: Tensor, locations: Tensor, grad: Tensor, tree: str) -> tuple[Tensor, Tensor]:
    return q.new_empty(q.shape), locations.new_empty(locations.shape)


def _save(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
    *tensors, ctx.tree = inputs
    ctx.save_for_backward(*tensors)


def _forward_backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
    return reverse_sweep(*ctx.saved_tensors, grad, ctx.tree), None


def _jacobian_backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:
    return *jacobian_sweep(*ctx.saved_tensors, grad, ctx.tree), None


def _no_second_derivative(ctx: Any, *grads: Tensor) -> None:
    raise NotImplementedError(
        "inside torch.compile a second derivative of kinematics is torch.func's to take (grad, hessian, jacfwd of jacrev); "
        "or call with analytical_grad=False, or leave the call out of the compiled function"
    )


forward_kinematics.register_autograd(_forward_backward, setup_context=_save)
jacobian.register_autograd(_jacobian_backward, setup_context=_save)
reverse_sweep.register_autograd(_no_second_derivative, setup_context=_save)
jacobian_sweep.register_autograd(_no_second_derivative, setup_context=_save)
