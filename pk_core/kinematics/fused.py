"""The fused CPU kernels called on tensors.

Shapes are those of `reference`; constants are (n_nodes, 19), or (*batch, n_nodes, 19) with the batch of q.
"""

from __future__ import annotations

import math

import numpy as np
from torch import Tensor

from .forward import LANES, forward_slice
from .jacobians import jacobian_slice
from .parameter_sweep import jacobian_sweep_slice, parameter_slice
from .reverse import backward_slice
from .tensors import TreeTensors
from .threads import run_slices


def forward_kinematics(q: Tensor, tree: TreeTensors) -> Tensor:
    """Run the forward kernel."""
    rows, n_frames = _rows(q), len(tree.frame_nodes)
    n = len(rows)
    out = q.new_empty((n_frames, *q.shape[:-1], 4, 4))
    arguments = (rows, _constants(tree), tree.tree.layout, tree.tree.frame_nodes)
    run_slices(forward_slice, n, n * len(tree.layout) * 12, LANES, *arguments, out.numpy().reshape(n_frames, n, 16))
    return out


def reverse_sweep(q: Tensor, grad: Tensor, tree: TreeTensors) -> Tensor:
    """Run the backward kernel; constants are shared."""
    rows = _rows(q)
    n, grad_q = len(rows), q.new_zeros(q.shape)
    arguments = (rows, _constants(tree), tree.tree.layout, tree.tree.frame_nodes, _frame_rows(grad, q, tree))
    run_slices(backward_slice, n, n * len(tree.layout) * 30, LANES, *arguments, grad_q.numpy().reshape(rows.shape))
    return grad_q


def parameter_sweep(q: Tensor, grad: Tensor, tree: TreeTensors) -> tuple[Tensor, Tensor]:
    """Run the backward kernel that reaches the constants: (dL/dq, dL/dconstants)."""
    rows = _rows(q)
    n, grad_q, grad_c = len(rows), q.new_zeros(q.shape), _gradient_rows(len(rows), tree)
    arguments = (rows, _constants(tree), tree.tree.layout, tree.tree.frame_nodes, _frame_rows(grad, q, tree))
    outputs = (grad_q.numpy().reshape(rows.shape), grad_c.numpy())
    run_slices(parameter_slice, n, n * len(tree.layout) * 150, LANES, *arguments, *outputs)
    return grad_q, _of_constants(grad_c, tree)


def jacobian(q: Tensor, locations: Tensor, tree: TreeTensors) -> Tensor:
    """Run the Jacobian kernel."""
    rows = _rows(q)
    n, out = len(rows), q.new_zeros((*q.shape[:-1], 6, tree.nv))
    arguments = (rows, _constants(tree), tree.tree.layout, tree.frame_nodes[-1], _points(locations, q))
    run_slices(jacobian_slice, n, n * len(tree.layout) * 20, LANES, *arguments, out.numpy().reshape(n, 6, tree.nv))
    return out


def jacobian_sweep(q: Tensor, locations: Tensor, grad: Tensor, tree: TreeTensors) -> tuple[Tensor, Tensor, Tensor]:
    """Run the backward kernel of the Jacobian: (dL/dq, dL/dlocations, dL/dconstants)."""
    rows = _rows(q)
    n, grad_q, grad_c = len(rows), q.new_zeros(q.shape), _gradient_rows(len(rows), tree)
    grad_x = q.new_zeros((*q.shape[:-1], 3))
    grad_rows = grad.detach().to(q.dtype).contiguous().view(n, 6, tree.nv).numpy(force=True)
    arguments = (rows, _constants(tree), tree.tree.layout, tree.frame_nodes[-1], _points(locations, q), grad_rows)
    outputs = (grad_q.numpy().reshape(rows.shape), grad_x.numpy().reshape(n, 3), grad_c.numpy())
    run_slices(jacobian_sweep_slice, n, n * len(tree.layout) * 200, LANES, *arguments, *outputs)
    return grad_q, grad_x.sum_to_size(locations.shape), _of_constants(grad_c, tree)


def _rows(q: Tensor) -> np.ndarray:
    """Give q as (n, nq) numbers in a row."""
    return np.ascontiguousarray(q.numpy(force=True).reshape(math.prod(q.shape[:-1]), q.shape[-1]))


def _constants(tree: TreeTensors) -> np.ndarray:
    """Give the constants as kernels take them: (n_nodes, 19), or (n, n_nodes, 19) for rows with arms of their own."""
    c = tree.constants
    if c.dim() == 2:
        return tree.constants_numpy
    return c.detach().reshape(math.prod(c.shape[:-2]), *c.shape[-2:]).contiguous().numpy(force=True)


def _frame_rows(grad: Tensor, q: Tensor, tree: TreeTensors) -> np.ndarray:
    rows = (len(tree.frame_nodes), math.prod(q.shape[:-1]), 16)
    return grad.detach().to(q.dtype).contiguous().view(rows).numpy(force=True)


def _points(locations: Tensor, q: Tensor) -> np.ndarray:
    points = locations.detach()
    if points.dim() == 1:
        return np.ascontiguousarray(points.numpy(force=True)).reshape(1, 3)
    return np.ascontiguousarray(points.expand(*q.shape[:-1], 3).numpy(force=True).reshape(math.prod(q.shape[:-1]), 3))


def _gradient_rows(n: int, tree: TreeTensors) -> Tensor:
    """Give zeros for the gradients of constants: a row for each arm, or for each block that shares one."""
    c = tree.constants.detach()
    rows = -(-n // LANES) if c.dim() == 2 else n
    return c.new_zeros(rows, *c.shape[-2:])


def _of_constants(rows: Tensor, tree: TreeTensors) -> Tensor:
    return rows.sum(0) if tree.constants.dim() == 2 else rows.view(tree.constants.shape)
