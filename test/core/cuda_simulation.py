"""Run the kernels of the GPU in numba-cuda's simulator and hold them to the definition; `test_cuda.py` starts this."""

from __future__ import annotations

import sys

import torch
from robots import all_joint_types, panda

from pk_core import Chain
from pk_core.kinematics import TreeTensors, cuda, reference

N = 70  # more than one block of threads


def close(ours: torch.Tensor, definition: torch.Tensor) -> None:
    tolerance = 1e-11 if ours.dtype == torch.float64 else 3e-4
    torch.testing.assert_close(ours, definition, rtol=tolerance, atol=tolerance)


def check(chain: Chain, frame: str, own_arms: bool) -> None:
    """Compare values and gradients of poses and Jacobians."""
    q = chain.random(N, torch.Generator().manual_seed(1))
    x = torch.randn(N, 3, dtype=q.dtype)
    for tree, tip in ((chain._tensors, False), (chain._frames((frame,)), True)):
        c = tree.constants.expand(N, -1, -1) if own_arms else tree.constants
        tree = tree.with_constants(c.detach().clone())
        check_jacobian(q, x, tree) if tip else check_poses(q, tree)


def check_poses(q: torch.Tensor, tree: TreeTensors) -> None:
    at, c = q.clone().requires_grad_(), tree.constants.clone().requires_grad_()
    definition = reference.forward_kinematics(at, tree.with_constants(c))
    close(cuda.forward_kinematics(q, tree), definition)
    grad = torch.randn_like(definition)
    grad_q, grad_c = torch.autograd.grad(definition, (at, c), grad)
    ours_q, ours_c = cuda.parameter_sweep(q, grad, tree)
    close(ours_q, grad_q)
    close(ours_c, grad_c)
    if c.dim() == 2:
        close(cuda.reverse_sweep(q, grad, tree), grad_q)


def check_jacobian(q: torch.Tensor, x: torch.Tensor, tree: TreeTensors) -> None:
    at, c, point = (t.clone().requires_grad_() for t in (q, tree.constants, x))
    definition = reference.jacobian(at, point, tree.with_constants(c))
    close(cuda.jacobian(q, x, tree), definition)
    dq = torch.randn(len(q), tree.nv, dtype=q.dtype)
    close(cuda.twist(q, dq, x, tree), reference.twist(q, dq, x, tree))
    grad = torch.randn_like(definition)
    wanted = torch.autograd.grad(definition, (at, point, c), grad)
    for ours, theirs in zip(cuda.jacobian_sweep(q, x, grad, tree), wanted):
        close(ours, theirs)
    close(cuda.jacobian(q, x[0], tree), reference.jacobian(q, x[0], tree))  # one point for all


if __name__ == "__main__":
    torch.manual_seed(0)
    dtype = getattr(torch, sys.argv[1])
    every = Chain(all_joint_types(), dtype=dtype)
    for own_arms in (False, True):
        check(every, every.get_frame_names()[-1], own_arms)
    check(panda(dtype), "panda_hand_tcp", False)
    empty = cuda.forward_kinematics(torch.empty(0, every.nq, dtype=dtype), every._tensors)
    assert empty.shape == (len(every.get_frame_names()), 0, 4, 4)
    print("agrees")
