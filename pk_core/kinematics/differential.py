"""Differential kinematics: twists, Jacobians in three references, their time derivative and the kinematic Hessian.

Motion i turns about the axis a_i through p_i and slides along s_i, all in root axes, for one unit of its velocity. It is
carried by the motions before it. Seen at the point x of the frame it makes the twist (Siciliano et al., Robotics:
Modelling, Planning and Control, section 3.1.3)

    J_i = [u_i; a_i],   u_i = a_i x (x - p_i) + s_i

What moves with motion k turns with it: d J_i / d q_k = a_k x J_i (both halves) for k before i or of the same node. For k
after i the column stands still but for its point: d u_i / d q_k = a_i x u_k.

All is plain torch over poses that come from the kernels where those serve, so derivatives of any order and mix are
right. Shapes: q (*batch, nq), dq (*batch, nv), locations (3,) or (*batch, 3), the point x in the frame [m]. Inside, twists
are rows v and w, (..., 2, 3), in axes of the root, of the point x.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, get_args

import torch
from torch import Tensor
from torch.linalg import cross
from torch.nn.functional import pad

from ..transforms.rotation import matrix_product
from . import forward_kinematics
from . import jacobian as world_aligned_jacobian
from . import twist as world_aligned_twist
from .motions import Motions
from .tensors import TreeTensors

Reference = Literal["world", "local", "world_aligned"]
"""Whose velocity, in which axes: `Chain.jacobian` says."""
REFERENCES: Final[tuple[str, ...]] = get_args(Reference)


def jacobian(q: Tensor, locations: Tensor, reference: Reference, tree: TreeTensors) -> Tensor:
    """Give the Jacobian [v; w] (*batch, 6, nv) of the tree's only frame."""
    J = world_aligned_jacobian(q, locations, tree)
    if reference == "world_aligned":
        return J
    R, x = _rotation_and_point(forward_kinematics(q, tree)[0], locations)
    return _twists_in(reference, J.mT.unflatten(-1, (2, 3)), R, x).flatten(-2).mT.contiguous()


def frame_velocity(q: Tensor, dq: Tensor, locations: Tensor, reference: Reference, tree: TreeTensors) -> Tensor:
    """Give the twist [v, w] (*batch, 6) of the tree's only frame, J dq, without forming J."""
    twist = world_aligned_twist(q, dq, locations, tree)
    if reference == "world_aligned":
        return twist
    R, x = _rotation_and_point(forward_kinematics(q, tree)[0], locations)
    return _twists_in(reference, twist.unflatten(-1, (1, 2, 3)), R, x).flatten(-3)


def jacobian_dot(q: Tensor, dq: Tensor, locations: Tensor, reference: Reference, motions: Motions) -> Tensor:
    """Give the time derivative (*batch, 6, nv) of `jacobian` while q moves along dq.

    The sum over k of the derivatives above: dJ_i = w_i x J_i + [a_i x (dx - v_i - w_i x (x - p_i)); 0], where v_i and w_i are
    the velocity of p_i and the angular velocity of the node of motion i, so that the bracket is what later motions add to dx.
    """
    here = _Placed.at(q, locations, motions)
    v, w, tip = here.velocities(dq)
    J, a, r = here.columns(), here.turn, here.x.unsqueeze(-2) - here.p
    stretch = cross(a, tip[..., :1, :] - v - cross(w, r, dim=-1), dim=-1)
    rates = cross(w.unsqueeze(-2), J, dim=-1) + _linear(stretch)
    rates = _rates_in(reference, rates, J, tip.unsqueeze(-3), here.R, here.x.unsqueeze(-2))
    return _add_columns(rates.flatten(-2).mT, motions, -1)


def kinematic_hessian(q: Tensor, locations: Tensor, reference: Reference, motions: Motions) -> Tensor:
    """Give the kinematic Hessian (*batch, 6, nv, nv): H[..., i, j, k] = d J[..., i, j] / d q_k, along unit velocities k.

    Source: Haviland and Corke, Manipulator Differential Kinematics, Part 2, 2023, for revolute joints.
    """
    here = _Placed.at(q, locations, motions)
    J, before = here.columns(), (motions.nodes <= motions.nodes.unsqueeze(-1)).unsqueeze(-1)  # [i, k]: k is not after i
    v, w = cross(here.turn[..., None, :, None, :], J.unsqueeze(-3), dim=-1).unbind(-2)
    rates = torch.stack([torch.where(before, v, v.transpose(-3, -2)), torch.where(before, w, 0.0)], -2)
    rates = _rates_in(reference, rates, J.unsqueeze(-3), J.unsqueeze(-4), here.R, here.x[..., None, None, :])
    return _add_columns(_add_columns(rates.flatten(-2).movedim(-1, -3), motions, -1), motions, -2)


@dataclass(frozen=True, eq=False)
class _Placed:
    """Motions at a configuration, in root axes.

    Attributes:
        motions: what is placed.
        turn, slide, p: a, s and p of every motion, (*batch, n, 3).
        R, x: the rotation of the frame and its point, (*batch, 3, 3) and (*batch, 3).
    """

    motions: Motions
    turn: Tensor
    slide: Tensor
    p: Tensor
    R: Tensor
    x: Tensor

    @staticmethod
    def at(q: Tensor, locations: Tensor, motions: Motions) -> _Placed:
        poses = forward_kinematics(q, motions.tree)
        axes, p = poses[:-1, ..., :3, :3].movedim(0, -3), poses[:-1, ..., :3, 3].movedim(0, -2)
        turn, slide = (_apply(axes, local) for local in motions.local())
        return _Placed(motions, turn, slide, p, *_rotation_and_point(poses[-1], locations))

    def columns(self) -> Tensor:
        """Give the Jacobian's columns by motion, (*batch, n, 2, 3)."""
        return torch.stack([cross(self.turn, self.x.unsqueeze(-2) - self.p, dim=-1) + self.slide, self.turn], -2)

    def velocities(self, dq: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Hand velocities on from the root to the frame.

        Returns:
            v, w: (*batch, n, 3): the velocity of p and the angular velocity of what each motion's node moves.
            tip: (*batch, 2, 3): the twist of the frame.
        """
        rates = dq.index_select(-1, self.motions.columns).unsqueeze(-1)
        w = (rates * self.turn).cumsum(-2)
        way = torch.cat([self.p, self.x.unsqueeze(-2)], -2).diff(dim=-2)
        # p of a motion moves as a point of the body before it, and slides on that
        v = (pad(rates * self.slide, (0, 0, 0, 1)) + pad(cross(w, way, dim=-1), (0, 0, 1, 0))).cumsum(-2)
        w = pad(w, (0, 0, 1, 0))
        last = self.motions.last
        return (
            v.index_select(-2, last),
            w.index_select(-2, last + 1),
            torch.stack([v[..., -1, :], w[..., -1, :]], -2),
        )


def _rotation_and_point(T: Tensor, locations: Tensor) -> tuple[Tensor, Tensor]:
    R = T[..., :3, :3]
    return R, T[..., :3, 3] + _apply(R, locations)


def _twists_in(reference: Reference, twists: Tensor, R: Tensor, x: Tensor) -> Tensor:
    """Give twists (*batch, n, 2, 3) in another reference."""
    if reference == "local":
        return _turned_back(twists, R)
    if reference == "world":
        return twists + _linear(cross(x.unsqueeze(-2), twists[..., 1, :], dim=-1))
    return twists


def _rates_in(reference: Reference, rates: Tensor, twists: Tensor, motion: Tensor, R: Tensor, x: Tensor) -> Tensor:
    """Give the rates of twists in another reference, which moves as the twist `motion` of the frame says."""
    v, w = motion.unbind(-2)
    if reference == "local":
        return _turned_back(rates - cross(w.unsqueeze(-2), twists, dim=-1), R)
    if reference == "world":
        return rates + _linear(cross(v, twists[..., 1, :], dim=-1) + cross(x, rates[..., 1, :], dim=-1))
    return rates


def _turned_back(twists: Tensor, R: Tensor) -> Tensor:
    """Turn rows (*batch, ..., 3) from root axes to those of the frame."""
    return matrix_product(twists.flatten(R.dim() - 2, -2), R).reshape(twists.shape)


def _linear(v: Tensor) -> Tensor:
    """Give twists (..., 2, 3) with no turn."""
    return torch.stack([v, torch.zeros_like(v)], -2)


def _add_columns(entries: Tensor, motions: Motions, dim: int) -> Tensor:
    """Bring a dimension of motions to one of velocities: motions that one joint drives add up."""
    shape = list(entries.shape)
    shape[dim] = motions.tree.nv
    return entries.new_zeros(shape).index_add(dim, motions.columns, entries)


def _apply(R: Tensor, u: Tensor) -> Tensor:
    """Turn vectors (..., 3): three products of columns, which is faster than many small matrix products."""
    return R[..., 0] * u[..., :1] + R[..., 1] * u[..., 1:2] + R[..., 2] * u[..., 2:]
