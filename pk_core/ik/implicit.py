"""Solutions that carry gradients to targets and model parameters, by the implicit function theorem; first order.

Where a solution q meets its target, F(q, theta) = T stays true as both move: J dq = t, with J the Jacobian of the tip and t the
twist of dT less that of the derivative of F along d theta, q held. Of all dq the one is taken that a step of the solver takes,

    dq = U J_f^T W^T (W J_f U J_f^T W^T + damping I)^-1 W t,

over the joints f that may move and stand at no limit: the least where a joint is to spare, the nearest where one is missing
(Nakamura and Hanafusa, "Inverse kinematic solutions with singularity robustness for robot manipulator control", 1986).
U holds the squares of what counts as a step of size one, W the weights in their axes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .. import kinematics
from ..errors import UnsupportedError
from ..kinematics import TreeTensors
from ..tree import Tree
from .options import IKStatus
from .records import Problem
from .result import IKResult
from .targets import as_matrices

AT_LIMIT = 4  # a joint stands at its limit within this many roundings of it

Search = Callable[[TreeTensors, Tensor, "Tensor | None", "Tensor | None"], IKResult]


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
        return Rule(tree, movable, columns, slots, problem.low, problem.high, problem.ease, scale, damping)


def solutions_in_graph(
    search: Search, rule: Rule, poses: Tensor, seeds: Tensor | None, axes: Tensor | None, neutral: Tensor
) -> IKResult:
    """Search for solutions, and put them into torch's graph as functions of the poses and of the constants of the tree.

    Args:
        poses: (*batch, 4, 4) or (*batch, 7) in the root frame.
        seeds: (*batch, nq) or (1, nq); axes: (*batch, 3, 3) or (1, 3, 3), the axes of the weights if not those of the tip.
    """
    (T, _), tree = as_matrices(poses), rule.tree
    seeds = None if seeds is None else seeds.expand(*T.shape[:-2], tree.nq)
    axes = None if axes is None else axes.expand(*T.shape[:-2], 3, 3)
    names = tuple(name for span in tree.tree.spans for name in span.names)
    found = IKResult(*_Search.apply(poses, seeds, axes, tree.constants, tree, search), joint_names=names)
    q, solved = found.solutions, (found.status == IKStatus.CONVERGED).to(found.solutions.device)
    at = torch.where(solved.unsqueeze(-1), q, neutral)  # no NaN may reach the parameters through rows that do not count
    F = kinematics.forward_kinematics(at, tree)[0]
    T = T.to(q.device).unsqueeze(-3).expand(*solved.shape, 4, 4)
    axes = F[..., :3, :3].detach() if axes is None else axes.to(q).unsqueeze(-3).expand(*solved.shape, 3, 3)
    return replace(found, solutions=_Follow.apply(T, F, q, at, axes, solved, tree.constants, rule))


class _Search(torch.autograd.Function):
    """The search itself: its results are constants, whatever transform is at work."""

    @staticmethod
    def forward(
        poses: Tensor, seeds: Tensor | None, axes: Tensor | None, constants: Tensor, tree: TreeTensors, search: Search
    ) -> tuple[Tensor, ...]:
        if tree.parametrised and constants is not tree.constants:
            tree = tree.with_constants(constants)
        result = search(tree, poses, seeds, axes)
        return tuple(getattr(result, field.name) for field in fields(result) if field.name != "joint_names")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*output)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, ...]:
        return (None,) * 6

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor) -> tuple[None, ...]:
        return (None,) * (len(fields(IKResult)) - 1)

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *inputs: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        *rows, constants, tree, search = inputs
        if in_dims[3] is not None:
            raise UnsupportedError("inverse kinematics of several arms at once is not supported: solve for each alone")
        rows = [
            None if x is None else x.expand(info.batch_size, *x.shape) if dim is None else x.movedim(dim, 0)
            for x, dim in zip(rows, in_dims)
        ]
        outputs = _Search.apply(*rows, constants, tree, search)
        return outputs, (0,) * len(outputs)


class _Follow(torch.autograd.Function):
    """Give q unchanged, as a function of the target T and of the tip's pose F at constant q, both (*batch, k, 4, 4)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        T: Tensor, F: Tensor, q: Tensor, at: Tensor, axes: Tensor, solved: Tensor, constants: Tensor, rule: Rule
    ) -> Tensor:
        return q.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Tensor) -> None:
        *tensors, ctx.rule = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        T, F, _, *others = ctx.saved_tensors
        return *_Pull.apply(grad, T, F, *others, ctx.rule), *(None,) * 6

    @staticmethod
    def jvp(ctx: Any, dT: Tensor | None, dF: Tensor | None, *_: Any) -> Tensor:
        T, F, _, *others = ctx.saved_tensors
        dT, dF = (torch.zeros_like(X) if dX is None else dX for X, dX in ((T, dT), (F, dF)))
        return _Push.apply(dT, dF, T, F, *others, ctx.rule)


class _FirstOrder(torch.autograd.Function):
    """A derivative that is not differentiated again."""

    generate_vmap_rule = True

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> None:
        raise UnsupportedError("solutions of inverse kinematics have first derivatives only, no second ones")

    jvp = backward


class _Pull(_FirstOrder):
    """From the gradient of q (*batch, k, nq) to those of T and F."""

    @staticmethod
    def forward(
        grad: Tensor, T: Tensor, F: Tensor, at: Tensor, axes: Tensor, solved: Tensor, constants: Tensor, rule: Rule
    ) -> tuple[Tensor, Tensor]:
        J, R = _weighted_jacobian(at, axes, constants, rule)
        g = _tensor(rule.ease, J) * grad[..., rule.movable].double()
        y = _turned(_tensor(rule.scale, J) * _damped_solve(J, (J @ g.unsqueeze(-1)).squeeze(-1), rule), R)
        y = _nan_where_unsolved(y, solved, grad)
        return _from_twist(y, T), -_from_twist(y, F)


class _Push(_FirstOrder):
    """From the derivatives of T and F to that of q (*batch, k, nq)."""

    @staticmethod
    def forward(
        dT: Tensor,
        dF: Tensor,
        T: Tensor,
        F: Tensor,
        at: Tensor,
        axes: Tensor,
        solved: Tensor,
        constants: Tensor,
        rule: Rule,
    ) -> Tensor:
        J, R = _weighted_jacobian(at, axes, constants, rule)
        t = _tensor(rule.scale, J) * _turned(_twist(dT, T) - _twist(dF, F), R.mT)
        moved = _tensor(rule.ease, J) * (J.mT @ _damped_solve(J, t, rule).unsqueeze(-1)).squeeze(-1)
        moved = _nan_where_unsolved(moved, solved, t)
        return torch.cat([moved, torch.zeros_like(moved[..., :1])], -1)[..., rule.slots].to(at.dtype)


def _weighted_jacobian(at: Tensor, axes: Tensor, constants: Tensor, rule: Rule) -> tuple[Tensor, Tensor]:
    """Give W J_f (*batch, k, 6, m), columns of joints at their limits zero, and the axes of the weights; float64."""
    q, R = at.double(), axes.double()
    J = kinematics.jacobian(q, q.new_zeros(3), rule.tree.with_constants(constants.double()))[..., rule.columns]
    J = torch.stack([_turned(column, R.mT) for column in J.unbind(-1)], -1)
    q = q[..., rule.movable]
    rounding = AT_LIMIT * torch.finfo(at.dtype).eps * q.abs()
    held = (q - _tensor(rule.low, q) <= rounding) | (_tensor(rule.high, q) - q <= rounding)
    return torch.where(held.unsqueeze(-2), 0.0, _tensor(rule.scale, J).unsqueeze(-1) * J), R


def _damped_solve(J: Tensor, b: Tensor, rule: Rule) -> Tensor:
    """Solve (J U J^T + damping I) y = b (*batch, k, 6)."""
    A = J @ (_tensor(rule.ease, J).unsqueeze(-1) * J.mT) + rule.damping * torch.eye(6, dtype=J.dtype, device=J.device)
    return torch.linalg.solve(A, b.unsqueeze(-1)).squeeze(-1)


def _tensor(array: np.ndarray, like: Tensor) -> Tensor:
    """Give an array as a tensor: made where it is used, for a transform wraps what is made under it."""
    return torch.from_numpy(array).to(like.device)


def _turned(twist: Tensor, R: Tensor) -> Tensor:
    """Turn both halves of (*batch, 6) by R (*batch, 3, 3)."""
    return (R.unsqueeze(-3) @ twist.unflatten(-1, (2, 3)).unsqueeze(-1)).flatten(-3)


def _twist(dT: Tensor, T: Tensor) -> Tensor:
    """Give the twist [dp; w] at the tip in root axes, dR = [w] R, of a derivative of a pose; float64."""
    columns, derivatives = T[..., :3, :3].double(), dT[..., :3, :3].double()
    w = 0.5 * torch.linalg.cross(columns, derivatives, dim=-2).sum(-1)
    return torch.cat([dT[..., :3, 3].double(), w], -1)


def _from_twist(y: Tensor, T: Tensor) -> Tensor:
    """Give the gradient (*batch, 4, 4) of a pose from that of its twist: the transpose of `_twist`."""
    R = 0.5 * torch.linalg.cross(y[..., 3:].unsqueeze(-1), T[..., :3, :3].double(), dim=-2)
    top = torch.cat([R, y[..., :3].unsqueeze(-1)], -1)
    return torch.cat([top, torch.zeros_like(top[..., :1, :])], -2).to(T.dtype)


def _nan_where_unsolved(derivative: Tensor, solved: Tensor, asked: Tensor) -> Tensor:
    """Put NaN in rows that have no solution and whose derivative is asked for, zero in those where it is not."""
    none = torch.where((asked != 0).any(-1, keepdim=True), torch.nan, 0.0)
    return torch.where(solved.unsqueeze(-1), derivative, none)


def _velocity_columns(tree: Tree) -> dict[int, int]:
    """Give the column of the Jacobian for each column of q that has one of its own."""
    return {
        span.q_start + i: span.v_start + i
        for span in tree.spans
        if span.joint.nq == span.joint.nv
        for i in range(span.joint.nq)
    }
