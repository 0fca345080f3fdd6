"""The derivative of a solution of inverse kinematics, as tensors; first order.

Where a solution q meets its target, F(q, theta) = T stays true as both move: J dq = t, with J the Jacobian of the tip and t the
twist of dT less that of the derivative of F along d theta, q held; for several tips, theirs one below the other. Of all dq the
one is taken that a step of the solver takes,

    dq = U J_f^T W^T (W J_f U J_f^T W^T + damping I)^-1 W t,

over the joints f that may move and stand at no limit: the least where a joint is to spare, the nearest where one is missing
(Nakamura and Hanafusa, "Inverse kinematic solutions with singularity robustness for robot manipulator control", 1986).
U holds the squares of what counts as a step of size one, W the weights in their axes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from .. import kinematics
from ..kinematics import TreeTensors
from ..tree import Tree
from .records import EASE, Problem

AT_LIMIT = 4  # a joint stands at its limit within this many roundings of it


@dataclass(frozen=True, eq=False)
class Rule:
    """What derivatives of solutions need beside the tensors of a call: m joints that may move.

    Attributes:
        movable, columns: their columns of q and of the Jacobian; slots: (nq,) which of them a column of q is, m for none.
        low, high, ease: (m,) limits, and U [rad] or [m].
        scale: (6,) weights, times the scale that makes angles of positions.
    """

    tree: TreeTensors
    movable: list[int]
    columns: list[int]
    slots: list[int]
    low: np.ndarray
    high: np.ndarray
    ease: np.ndarray
    scale: np.ndarray
    damping: float

    @staticmethod
    def make(tree: TreeTensors, problem: Problem, weights: np.ndarray, damping: float) -> Rule:
        """Take from a problem what derivatives need."""
        movable, velocity = problem.movable.tolist(), _velocity_columns(tree.tree)
        slots = [movable.index(column) if column in movable else len(movable) for column in range(tree.nq)]
        columns, scale = [velocity[column] for column in movable], weights * ([problem.scale] * 3 + [1.0] * 3)
        return Rule(tree, movable, columns, slots, problem.low, problem.high, problem.coordinates[EASE], scale, damping)


@dataclass(frozen=True, eq=False)
class Solved:
    """Where the derivative is taken, (*batch, k) of each; n tips.

    Attributes:
        T, F: (n, 4, 4) the targets and the poses of the tips; they differ by less than a tolerance.
        q: (nq,) the solution, something finite where there is none; solved: whether there is one.
        axes: (n, 3, 3) the axes of the weights as columns, root frame.
        constants: those of the tree.
    """

    T: Tensor
    F: Tensor
    q: Tensor
    axes: Tensor
    solved: Tensor
    constants: Tensor


def pull(grad: Tensor, at: Solved, rule: Rule) -> tuple[Tensor, Tensor]:
    """Take the gradient of q (*batch, k, nq) to those of T and F."""
    J, R = _weighted_jacobian(at, rule)
    g = _tensor(rule.ease, J) * grad[..., rule.movable].double().unsqueeze(-1)
    y = _turned(_tensor(rule.scale, J) * _damped_solve(J, J @ g, rule).unflatten(-2, (-1, 6)), R)
    y = _nan_where_unsolved(y, at.solved, grad)
    return _from_twist(y, at.T), -_from_twist(y, at.F)


def push(dT: Tensor, dF: Tensor, at: Solved, rule: Rule) -> Tensor:
    """Take derivatives of T and F to that of q (*batch, k, nq)."""
    J, R = _weighted_jacobian(at, rule)
    t = (_tensor(rule.scale, J) * _turned(_twist(dT, at.T) - _twist(dF, at.F), R.mT)).flatten(-3, -2)
    dq = _tensor(rule.ease, J) * (J.mT @ _damped_solve(J, t, rule))
    dq = _nan_where_unsolved(dq, at.solved, t.squeeze(-1)).squeeze(-1)
    return torch.cat([dq, torch.zeros_like(at.F[..., 0, 0, :1], dtype=dq.dtype)], -1)[..., rule.slots].to(at.q.dtype)


def _weighted_jacobian(at: Solved, rule: Rule) -> tuple[Tensor, Tensor]:
    """Give W J_f (*batch, k, 6 n, m), columns of joints at their limits zero, and the axes of the weights; float64."""
    q, R, tree = at.q.double(), at.axes.double(), rule.tree.with_constants(at.constants.double())
    tips = [replace(tree, frame_nodes=[node]) for node in tree.frame_nodes]
    J = torch.stack([kinematics.jacobian(q, q.new_zeros(3), tip) for tip in tips], -3)[..., rule.columns]
    q = q[..., rule.movable]
    rounding = AT_LIMIT * torch.finfo(at.q.dtype).eps * q.abs()
    low, high = (_tensor(bound, q).squeeze(-1) for bound in (rule.low, rule.high))
    held = (q - low <= rounding) | (high - q <= rounding)
    J = (_tensor(rule.scale, J) * _turned(J, R.mT)).flatten(-3, -2)
    return torch.where(held.unsqueeze(-2), 0.0, J), R


def _damped_solve(J: Tensor, b: Tensor, rule: Rule) -> Tensor:
    """Solve (J U J^T + damping I) y = b (*batch, k, 6 n, 1)."""
    A = J @ (_tensor(rule.ease, J) * J.mT) + rule.damping * torch.eye(J.shape[-2], dtype=J.dtype, device=J.device)
    return torch.linalg.solve(A, b)


def _tensor(array: np.ndarray, like: Tensor) -> Tensor:
    """Give an array as a column (n, 1): made where it is used, for a transform wraps what is made under it."""
    return torch.from_numpy(array).to(like.device).unsqueeze(-1)


def _turned(twists: Tensor, R: Tensor) -> Tensor:
    """Turn both halves of columns (*batch, 6, n) by R (*batch, 3, 3)."""
    return (R.unsqueeze(-3) @ twists.unflatten(-2, (2, 3))).flatten(-3, -2)


def _twist(dT: Tensor, T: Tensor) -> Tensor:
    """Give the twist [dp; w] (*batch, 6, 1) at the tip in root axes, dR = [w] R, of a derivative of a pose; float64."""
    columns, derivatives = T[..., :3, :3].double(), dT[..., :3, :3].double()
    w = 0.5 * torch.linalg.cross(columns, derivatives, dim=-2).sum(-1)
    return torch.cat([dT[..., :3, 3].double(), w], -1).unsqueeze(-1)


def _from_twist(y: Tensor, T: Tensor) -> Tensor:
    """Give the gradient (*batch, 4, 4) of a pose from that of its twist: the transpose of `_twist`."""
    R = 0.5 * torch.linalg.cross(y[..., 3:, :], T[..., :3, :3].double(), dim=-2)
    top = torch.cat([R, y[..., :3, :]], -1)
    return torch.cat([top, torch.zeros_like(top[..., :1, :])], -2).to(T.dtype)


def _nan_where_unsolved(derivative: Tensor, solved: Tensor, asked: Tensor) -> Tensor:
    """Put NaN in rows that have no solution and whose derivative is asked for, zero in those where it is not."""
    none = torch.where((asked != 0).any(-1), torch.nan, 0.0)
    shape = (*solved.shape, *(1,) * (derivative.dim() - solved.dim()))
    return torch.where(solved.view(shape), derivative, none.view(shape))


def _velocity_columns(tree: Tree) -> dict[int, int]:
    """Give the column of the Jacobian for each column of q that has one of its own."""
    return {
        span.q_start + i: span.v_start + i
        for span in tree.spans
        if span.joint.nq == span.joint.nv
        for i in range(span.joint.nq)
    }
