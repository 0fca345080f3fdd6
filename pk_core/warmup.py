"""Compile what the first calls would wait for."""

from __future__ import annotations

import torch

from . import kinematics
from .chain import Chain
from .ik import IKOptions, solve_ik
from .serial_chain import SerialChain


def warmup(chain: Chain) -> None:
    """Compile, or load from the disk cache, every kernel that calls on this chain take; seconds once a machine."""
    q = chain.neutral().unsqueeze(0).requires_grad_()
    dq = q.new_zeros(1, chain._tensors.nv)
    frame = chain.end_frame if isinstance(chain, SerialChain) else chain.get_frame_names()[-1]
    with torch.enable_grad():
        jacobian, twist = Chain.jacobian(chain, q, frame), Chain.frame_velocity(chain, q, dq, frame)
        for out in (chain.forward_kinematics_tensor(q), jacobian, twist):
            torch.autograd.grad(out.sum(), q, allow_unused=True)
    with torch.no_grad():
        target = kinematics.forward_kinematics(q, chain._frames((frame,)))[0]
    solve_ik(chain, target, frame=frame, options=IKOptions(max_restarts=0))
