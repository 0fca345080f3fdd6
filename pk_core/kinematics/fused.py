"""The fused CPU kernels called on tensors.

Shapes are those of `reference`; constants are (n_nodes, 19), or (*batch, n_nodes, 19) with the batch of q.
Results are allocated by numpy, which asks for huge pages: a large one is then written sooner the first time. Shapes are
changed by numpy as well: it takes a fraction of the time of torch.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from .forward import LANES, forward_slice
from .jacobians import jacobian_slice
from .memory import empty
from .parameter_sweep import jacobian_sweep_slice, parameter_slice
from .reverse import backward_slice
from .tensors import TreeTensors
from .threads import run_slices


def forward_kinematics(q: Tensor, tree: TreeTensors) -> Tensor:
    """Run the forward kernel."""
    rows, frames = _rows(q), tree.tree.frame_nodes
    n, poses = len(rows), empty((len(frames), *q.shape[:-1], 4, 4), rows.dtype)
    arguments = (rows, *_tree(tree), frames, poses.reshape(len(frames), n, 16))
    run_slices(forward_slice, n, n * len(tree.layout) * 7, LANES, *arguments)
    return torch.from_numpy(poses)


def reverse_sweep(q: Tensor, grad: Tensor, tree: TreeTensors) -> Tensor:
    """Run the backward kernel; constants are shared."""
    rows = _rows(q)
    n, grad_q = len(rows), np.zeros(rows.shape, rows.dtype)
    arguments = (rows, *_tree(tree), tree.tree.frame_nodes, _frame_rows(grad, q, tree), grad_q)
    run_slices(backward_slice, n, n * len(tree.layout) * 30, LANES, *arguments)
    return torch.from_numpy(grad_q.reshape(q.shape))


def parameter_sweep(q: Tensor, grad: Tensor, tree: TreeTensors) -> tuple[Tensor, Tensor]:
    """Run the backward kernel that reaches the constants: (dL/dq, dL/dconstants)."""
    rows = _rows(q)
    n, grad_q, grad_c = len(rows), np.zeros(rows.shape, rows.dtype), _gradient_rows(rows, tree)
    arguments = (rows, *_tree(tree), tree.tree.frame_nodes, _frame_rows(grad, q, tree))
    run_slices(parameter_slice, n, n * len(tree.layout) * 150, LANES, *arguments, grad_q, grad_c)
    return torch.from_numpy(grad_q.reshape(q.shape)), _of_constants(grad_c, tree)


def jacobian(q: Tensor, locations: Tensor, tree: TreeTensors) -> Tensor:
    """Run the Jacobian kernel."""
    rows = _rows(q)
    n, out = len(rows), np.zeros((len(rows), 6, tree.nv), rows.dtype)
    arguments = (rows, *_tree(tree), tree.frame_nodes[-1], _points(locations, q), None, out)
    run_slices(jacobian_slice, n, n * len(tree.layout) * 20, LANES, *arguments)
    return torch.from_numpy(out.reshape(*q.shape[:-1], 6, tree.nv))


def twist(q: Tensor, dq: Tensor, locations: Tensor, tree: TreeTensors) -> Tensor:
    """Run the Jacobian kernel on its product with dq."""
    rows = _rows(q)
    n, out = len(rows), np.zeros((len(rows), 6, 1), rows.dtype)
    arguments = (rows, *_tree(tree), tree.frame_nodes[-1], _points(locations, q), _rows(dq), out)
    run_slices(jacobian_slice, n, n * len(tree.layout) * 15, LANES, *arguments)
    return torch.from_numpy(out.reshape(*q.shape[:-1], 6))


def jacobian_sweep(q: Tensor, locations: Tensor, grad: Tensor, tree: TreeTensors) -> tuple[Tensor, Tensor, Tensor]:
    """Run the backward kernel of the Jacobian: (dL/dq, dL/dlocations, dL/dconstants)."""
    rows = _rows(q)
    n, grad_q, grad_c = len(rows), np.zeros(rows.shape, rows.dtype), _gradient_rows(rows, tree)
    grad_x = np.zeros((n, 3), rows.dtype)
    grad_rows = grad.detach().to(q.dtype).contiguous().view(n, 6, tree.nv).numpy(force=True)
    arguments = (rows, *_tree(tree), tree.frame_nodes[-1], _points(locations, q), grad_rows)
    run_slices(jacobian_sweep_slice, n, n * len(tree.layout) * 200, LANES, *arguments, grad_q, grad_x, grad_c)
    to_locations = torch.from_numpy(grad_x).view(*q.shape[:-1], 3).sum_to_size(locations.shape)
    return torch.from_numpy(grad_q.reshape(q.shape)), to_locations, _of_constants(grad_c, tree)


def _rows(q: Tensor) -> np.ndarray:
    """Give q as (n, nq) numbers in a row."""
    rows = q.numpy(force=True)
    return np.ascontiguousarray(rows if rows.ndim == 2 else rows.reshape(math.prod(q.shape[:-1]), q.shape[-1]))


def _tree(tree: TreeTensors) -> tuple[np.ndarray, np.ndarray, int | None]:
    """Give constants, layout and `rare` as kernels take them."""
    c = tree.constants
    if c.dim() == 2:
        return tree.constants_numpy, tree.tree.layout, tree.rare
    c = c.detach().reshape(math.prod(c.shape[:-2]), *c.shape[-2:]).contiguous().numpy(force=True)
    return c, tree.tree.layout, tree.rare


def _frame_rows(grad: Tensor, q: Tensor, tree: TreeTensors) -> np.ndarray:
    rows = grad.to(q.dtype).numpy(force=True).reshape(len(tree.frame_nodes), math.prod(q.shape[:-1]), 16)
    return np.ascontiguousarray(rows)


def _points(locations: Tensor, q: Tensor) -> np.ndarray:
    points = locations.detach()
    if points.dim() == 1:
        return np.ascontiguousarray(points.numpy(force=True)).reshape(1, 3)
    return np.ascontiguousarray(points.expand(*q.shape[:-1], 3).numpy(force=True).reshape(math.prod(q.shape[:-1]), 3))


def _gradient_rows(rows: np.ndarray, tree: TreeTensors) -> np.ndarray:
    """Give zeros for the gradients of constants: a row for each arm, or for each block that shares one."""
    count = -(-len(rows) // LANES) if tree.constants.dim() == 2 else len(rows)
    return np.zeros((count, *tree.constants.shape[-2:]), rows.dtype)


def _of_constants(rows: np.ndarray, tree: TreeTensors) -> Tensor:
    gradients = torch.from_numpy(rows)
    return gradients.sum(0) if tree.constants.dim() == 2 else gradients.view(tree.constants.shape)
