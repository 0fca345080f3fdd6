"""Forward kinematics and Jacobians: the definition in torch, fused kernels beside it, and the choice between them."""

from __future__ import annotations

import torch
from torch import Tensor

from ..errors import ShapeError
from . import functions, operators, reference
from .paths import kernels_for, operators_serve
from .tensors import TreeTensors

__all__ = ["TreeTensors", "forward_kinematics", "jacobian", "pruned", "twist"]


def forward_kinematics(q: Tensor, tree: TreeTensors, *, plain: bool = False) -> Tensor:
    """Give the poses `T_root_frame` (n_frames, *batch, 4, 4) at q (*batch, nq), [rad] and [m].

    Args:
        plain: take plain autograd through the definition whatever the fused path could do.
    """
    if tree.constants.dim() > 2:
        q, tree = _for_each_arm(q, tree)
    if not plain and (key := _operator(tree)):
        return operators.forward_kinematics(q, key)
    if plain or kernels_for(q) is None:
        return reference.forward_kinematics(q, tree)
    return functions.ForwardKinematics.apply(q, tree.constants, tree)


def jacobian(q: Tensor, locations: Tensor, tree: TreeTensors) -> Tensor:
    """Give the Jacobian [v; w] (*batch, 6, nv) at a point of the tree's last frame, in the axes of the root frame."""
    if tree.constants.dim() > 2:
        q, tree = _for_each_arm(q, tree)
    if key := _operator(tree):
        return operators.jacobian(q, locations, key)
    if kernels_for(q) is None:
        return reference.jacobian(q, locations, tree)
    return functions.Jacobian.apply(q, tree.constants, locations, tree)


def twist(q: Tensor, dq: Tensor, locations: Tensor, tree: TreeTensors) -> Tensor:
    """Give the twist [v, w] (*batch, 6) of a point of the tree's last frame, in the axes of the root frame: J dq."""
    if tree.constants.dim() > 2:
        q, tree = _for_each_arm(q, tree)
    if dq.shape[:-1] != q.shape[:-1]:
        dq = dq.expand(*q.shape[:-1], dq.shape[-1])
    if key := _operator(tree):
        return (operators.jacobian(q, locations, key) * dq.unsqueeze(-2)).sum(-1)
    if kernels_for(q) is None:
        return reference.twist(q, dq, locations, tree)
    return functions.Twist.apply(q, tree.constants, locations, dq, tree)


def pruned(tree: TreeTensors, frame_names: tuple[str, ...]) -> TreeTensors:
    """Keep only the nodes that move these frames."""
    return operators.pruned(tree, frame_names) if operators_serve(tree) else tree.pruned(frame_names)


def _for_each_arm(q: Tensor, tree: TreeTensors) -> tuple[Tensor, TreeTensors]:
    """Give a row of q to each set of constants, and a set to each row."""
    c = tree.constants
    try:
        batch = torch.broadcast_shapes(q.shape[:-1], c.shape[:-2])
    except RuntimeError:
        raise ShapeError(
            f"the batch {tuple(q.shape[:-1])} of the configurations and that of the model parameters, "
            f"{tuple(c.shape[:-2])}, do not broadcast"
        ) from None
    return q.expand(*batch, q.shape[-1]), tree.with_constants(c.expand(*batch, *c.shape[-2:]))


def _operator(tree: TreeTensors) -> str | None:
    """Give what operators call a tree, None where they don't serve."""
    if not operators_serve(tree):
        return None
    return operators.register(tree) if tree.operator is None else tree.operator
