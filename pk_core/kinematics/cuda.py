"""The fused kernels on a GPU: one thread a configuration, made of the same functions as those of the CPU.

Kernels run on torch's current stream, on torch's memory; nothing is copied and nobody waits. Shapes as in `fused.py`.
A thread is a block of one lane: scratch is local memory, sized when a kernel is compiled, for some number of nodes.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numba
import torch
from numba import cuda
from torch import Tensor

from .forward import forward_block
from .jacobians import jacobian_block
from .parameter_sweep import jacobian_sweep_block, parameter_block
from .pose_rows import read_one
from .reverse import add_wrench, sweep_back
from .tensors import TreeTensors

THREADS = 64  # of a block
PADDED = THREADS + 1  # so that columns of a tile lie in different banks
WIDTH = 16  # numbers of a row that go through shared memory at a time
SLOTS = 1 << 14  # threads that sum the gradients of shared constants
RARE = 1  # kernels here serve every robot


def forward_kinematics(q: Tensor, tree: TreeTensors) -> Tensor:
    """Launch the forward kernel."""
    rows, n_frames = _rows(q, q.shape[-1]), len(tree.frame_nodes)
    out = q.new_empty((n_frames, *q.shape[:-1], 4, 4))
    outputs = (_array(out.view(n_frames, len(rows), 16)),)
    _launch("forward", len(rows), tree, _array(rows), *_tree(tree), _array(tree.frame_nodes_tensor), *outputs)
    return out


def reverse_sweep(q: Tensor, grad: Tensor, tree: TreeTensors) -> Tensor:
    """Launch the backward kernel; constants are shared."""
    rows, grad_q = _rows(q, q.shape[-1]), q.new_zeros(q.shape)
    arguments = (_array(tree.frame_nodes_tensor), _array(_frame_rows(grad, q)), _array(_rows(grad_q, q.shape[-1])))
    _launch("backward", len(rows), tree, _array(rows), *_tree(tree), *arguments)
    return grad_q


def parameter_sweep(q: Tensor, grad: Tensor, tree: TreeTensors) -> tuple[Tensor, Tensor]:
    """Launch the backward kernel that reaches the constants: (dL/dq, dL/dconstants)."""
    rows, grad_q = _rows(q, q.shape[-1]), q.new_zeros(q.shape)
    grad_c = _gradient_rows(len(rows), tree)
    outputs = (_array(_rows(grad_q, q.shape[-1])), _array(grad_c))
    arguments = (_array(tree.frame_nodes_tensor), _array(_frame_rows(grad, q)), *outputs)
    _launch("parameters", _threads(len(rows), tree), tree, _array(rows), *_tree(tree), *arguments)
    return grad_q, _of_constants(grad_c, tree)


def jacobian(q: Tensor, locations: Tensor, tree: TreeTensors) -> Tensor:
    """Launch the Jacobian kernel."""
    rows, out = _rows(q, q.shape[-1]), q.new_empty((*q.shape[:-1], 6, tree.nv))
    arguments = (tree.frame_nodes[-1], _array(_points(locations, q)), _array(out.view(len(rows), 6 * tree.nv)))
    _launch("jacobian", len(rows), tree, _array(rows), *_tree(tree), *arguments)
    return out


def twist(q: Tensor, dq: Tensor, locations: Tensor, tree: TreeTensors) -> Tensor:
    """Launch the Jacobian kernel on its product with dq."""
    rows, out = _rows(q, q.shape[-1]), q.new_zeros((*q.shape[:-1], 6))
    arguments = (_array(_points(locations, q)), _array(_rows(dq, tree.nv)), _array(out.view(len(rows), 6, 1)))
    _launch("twist", len(rows), tree, _array(rows), *_tree(tree), tree.frame_nodes[-1], *arguments)
    return out


def jacobian_sweep(q: Tensor, locations: Tensor, grad: Tensor, tree: TreeTensors) -> tuple[Tensor, Tensor, Tensor]:
    """Launch the backward kernel of the Jacobian: (dL/dq, dL/dlocations, dL/dconstants)."""
    rows, grad_q, grad_x = _rows(q, q.shape[-1]), q.new_zeros(q.shape), q.new_zeros((*q.shape[:-1], 3))
    grad_c = _gradient_rows(len(rows), tree)
    grad_rows = grad.detach().to(q.dtype).contiguous().view(len(rows), 6, tree.nv)
    outputs = (_array(_rows(grad_q, q.shape[-1])), _array(grad_x.view(-1, 3)), _array(grad_c))
    arguments = (tree.frame_nodes[-1], _array(_points(locations, q)), _array(grad_rows), *outputs)
    _launch("jacobian_sweep", _threads(len(rows), tree), tree, _array(rows), *_tree(tree), *arguments)
    return grad_q, grad_x.sum_to_size(locations.shape), _of_constants(grad_c, tree)


def _launch(name: str, threads: int, tree: TreeTensors, q: Any, *arguments: Any) -> None:
    """Launch a kernel on torch's current stream."""
    if threads == 0:
        return
    capacity = 16 << max(0, math.ceil(math.log2(max(len(tree.layout), tree.nv) / 16)))
    kernel = _kernels(capacity, str(tree.constants.dtype).removeprefix("torch."))[name]
    device = tree.constants.device
    stream = cuda.external_stream(torch.cuda.current_stream(device).cuda_stream) if device.type == "cuda" else 0
    kernel[-(-threads // THREADS), THREADS, stream](q, *arguments)


@cuda.jit(device=True)
def _write_rows(values, height, width, out, tile):
    """Write a matrix (height, width) of each thread to its row of out (n, height * width).

    The numbers go through shared memory, so that neighbouring threads write neighbouring numbers.
    """
    lane, first = cuda.threadIdx.x, cuda.blockIdx.x * THREADS
    for start in range(0, height * width, WIDTH):
        for k in range(min(WIDTH, height * width - start)):
            tile[k, lane] = values[(start + k) // width, (start + k) % width]
        cuda.syncthreads()
        for i in range(WIDTH):
            k, row = (lane + i * THREADS) % WIDTH, (lane + i * THREADS) // WIDTH
            if start + k < height * width and first + row < out.shape[0]:
                out[first + row, start + k] = tile[k, row]
        cuda.syncthreads()


@cache
def _kernels(capacity: int, dtype: str) -> dict[str, Any]:
    """Compile the kernels for robots of up to `capacity` nodes and velocities."""
    real, double = getattr(numba, dtype), numba.float64

    @cuda.jit
    def forward(q, constants, layout, frame_nodes, out):
        pose = cuda.local.array((capacity, 12, 1), real)
        motion, local = cuda.local.array((3, 1), real), cuda.local.array((12, 1), real)
        values, tile = cuda.local.array((4, 4), real), cuda.shared.array((WIDTH, PADDED), real)
        row = min(cuda.grid(1), q.shape[0] - 1)  # threads beyond the batch help to write
        forward_block(q, row, constants, layout, RARE, pose, motion, local)
        for k in range(4):
            values[3, k] = 1 if k == 3 else 0
        for frame in range(frame_nodes.shape[0]):
            source = pose[frame_nodes[frame]]
            for i in range(3):
                for j in range(3):
                    values[i, j] = source[3 * i + j, 0]
                values[i, 3] = source[9 + i, 0]
            _write_rows(values, 4, 4, out[frame], tile)

    @cuda.jit
    def backward(q, constants, layout, frame_nodes, grad_out, grad_q):
        pose, wrench = cuda.local.array((capacity, 12, 1), real), cuda.local.array((capacity, 6, 1), real)
        motion, local = cuda.local.array((3, 1), real), cuda.local.array((12, 1), real)
        row = cuda.grid(1)
        if row < q.shape[0]:
            forward_block(q, row, constants, layout, RARE, pose, motion, local)
            for node in range(layout.shape[0]):
                for k in range(6):
                    wrench[node, k, 0] = 0
            for frame in range(frame_nodes.shape[0]):
                read_one(grad_out[frame, row], local, 0)
                add_wrench(pose[frame_nodes[frame]], local, wrench[frame_nodes[frame]])
            sweep_back(q, row, 1, constants, layout, RARE, grad_q, pose, wrench, motion[0])

    @cuda.jit
    def parameters(q, constants, layout, frame_nodes, grad_out, grad_q, grad_constants):
        pose, grad = cuda.local.array((capacity, 12, 1), real), cuda.local.array((capacity, 12, 1), real)
        motion, local = cuda.local.array((3, 1), real), cuda.local.array((12, 1), real)
        slot = cuda.grid(1)
        own = slot if constants.shape[0] == 1 else 0
        for row in range(slot, q.shape[0], cuda.gridsize(1)):
            forward_block(q, row, constants, layout, RARE, pose, motion, local)
            parameter_block(
                q, row, 1, own, constants, layout, frame_nodes, grad_out, grad_q, grad_constants, pose, grad
            )  # fmt: skip

    @cuda.jit
    def jacobian(q, constants, layout, node, locations, out):
        pose, point = cuda.local.array((capacity, 12, 1), real), cuda.local.array((3, 1), real)
        motion, local = cuda.local.array((3, 1), real), cuda.local.array((12, 1), real)
        own, tile = cuda.local.array((1, 6, capacity), real), cuda.shared.array((WIDTH, PADDED), real)
        row, nv = min(cuda.grid(1), q.shape[0] - 1), out.shape[1] // 6
        for i in range(6):
            for k in range(nv):
                own[0, i, k] = 0
        forward_block(q, row, constants, layout, RARE, pose, motion, local)
        jacobian_block(row, 1, constants, layout, RARE, node, locations, None, own, 0, pose, point)
        _write_rows(own[0], 6, nv, out, tile)

    @cuda.jit
    def twist(q, constants, layout, node, locations, rates, out):
        pose, point = cuda.local.array((capacity, 12, 1), real), cuda.local.array((3, 1), real)
        motion, local = cuda.local.array((3, 1), real), cuda.local.array((12, 1), real)
        row = cuda.grid(1)
        if row < q.shape[0]:
            forward_block(q, row, constants, layout, RARE, pose, motion, local)
            jacobian_block(row, 1, constants, layout, RARE, node, locations, rates, out, row, pose, point)

    @cuda.jit
    def jacobian_sweep(q, constants, layout, tip, locations, grad_jacobian, grad_q, grad_locations, grad_constants):
        pose, grad = cuda.local.array((capacity, 12, 1), real), cuda.local.array((capacity, 12, 1), real)
        motion, local = cuda.local.array((3, 1), real), cuda.local.array((12, 1), real)
        point, pull = cuda.local.array((3, 1), real), cuda.local.array(3, double)
        slot = cuda.grid(1)
        own = slot if constants.shape[0] == 1 else 0
        for row in range(slot, q.shape[0], cuda.gridsize(1)):
            forward_block(q, row, constants, layout, RARE, pose, motion, local)
            jacobian_sweep_block(
                q, row, 1, own, constants, layout, tip, locations, grad_jacobian, grad_q, grad_locations, grad_constants,
                pose, grad, point, pull,
            )  # fmt: skip

    return dict(
        forward=forward, backward=backward, parameters=parameters, jacobian=jacobian, twist=twist, jacobian_sweep=jacobian_sweep
    )  # fmt: skip


def _array(x: Tensor) -> Any:
    """Give a tensor's memory as kernels take it."""
    x = x.detach().resolve_neg()
    return cuda.as_cuda_array(x, sync=False) if x.device.type == "cuda" else x.numpy()


def _tree(tree: TreeTensors) -> tuple[Any, Any]:
    c = tree.constants
    c = c.reshape(math.prod(c.shape[:-2]), *c.shape[-2:]).contiguous()
    return _array(c), _array(tree.layout_tensor)


def _rows(x: Tensor, width: int) -> Tensor:
    return x.detach().reshape(math.prod(x.shape[:-1]), width).contiguous()


def _frame_rows(grad: Tensor, q: Tensor) -> Tensor:
    return grad.detach().to(q.dtype).contiguous().view(grad.shape[0], math.prod(q.shape[:-1]), 16)


def _points(locations: Tensor, q: Tensor) -> Tensor:
    return _rows(locations if locations.dim() == 1 else locations.expand(*q.shape[:-1], 3), 3)


def _threads(n: int, tree: TreeTensors) -> int:
    """Say how many threads sum gradients of constants: one a row, or no more than there are slots for shared ones."""
    return n if tree.constants.dim() > 2 else min(n, SLOTS)


def _gradient_rows(n: int, tree: TreeTensors) -> Tensor:
    return tree.constants.detach().new_zeros(_threads(n, tree), *tree.constants.shape[-2:])


def _of_constants(rows: Tensor, tree: TreeTensors) -> Tensor:
    return rows.sum(0) if tree.constants.dim() == 2 else rows.view(tree.constants.shape)
