"""Move a configuration along velocities: the exponential of each joint's tangent."""

from __future__ import annotations

import torch
from torch import Tensor

from .errors import ShapeError
from .model import JointType
from .transforms.quaternion import axis_angle_to_quaternion, quaternion_apply, quaternion_raw_multiply
from .tree import Tree


def integrate(tree: Tree, q: Tensor, v: Tensor) -> Tensor:
    """Give q (*batch, nq) moved along v (*batch, nv) for unit time.

    Scalar and planar joints add their rates. A ball turns by its angular velocity, a floating joint moves straight along
    its linear velocity and turns by its angular one, all in the axes of the child link. Quaternions come out normalised.
    """
    if v.shape[-1:] != (tree.nv,):
        raise ShapeError(f"v has shape {tuple(v.shape)}; its last dimension must be {tree.nv}")
    parts = [q[..., :0].expand(*torch.broadcast_shapes(q.shape[:-1], v.shape[:-1]), 0)]
    for span in tree.spans:
        here, rate = q[..., span.q_slice], v[..., span.v_start : span.v_start + span.joint.nv]
        if span.joint.type is JointType.FLOATING:
            wxyz = here[..., 3:] / here[..., 3:].norm(dim=-1, keepdim=True)
            parts += [here[..., :3] + quaternion_apply(wxyz, rate[..., :3]), _turn(wxyz, rate[..., 3:])]
        elif span.joint.type is JointType.BALL:
            parts.append(_turn(here / here.norm(dim=-1, keepdim=True), rate))
        else:
            parts.append(here + rate)
    return torch.cat(parts, -1)


def _turn(wxyz: Tensor, w: Tensor) -> Tensor:
    return quaternion_raw_multiply(wxyz, axis_angle_to_quaternion(w))
