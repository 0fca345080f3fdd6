"""Solutions in torch's graph: constants that follow targets and model parameters by `sensitivity.py`, first order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from typing import Any

import torch
from torch import Tensor

from .. import kinematics
from ..errors import UnsupportedError
from ..kinematics import TreeTensors
from ..kinematics.batched_gradients import pull_back
from .options import IKStatus
from .result import IKResult
from .sensitivity import Rule, Solved, pull, push
from .targets import as_matrices

Search = Callable[[TreeTensors, "Sequence[Tensor]", "Tensor | None", "Tensor | None"], IKResult]


def solutions_in_graph(
    search: Search, rule: Rule, poses: Sequence[Tensor], seeds: Tensor | None, axes: Tensor | None, neutral: Tensor
) -> IKResult:
    """Search for solutions, and put them into torch's graph as functions of the poses and of the constants of the tree.

    Args:
        poses: of each tip, (*batch, 4, 4) or (*batch, 7) in the root frame.
        seeds: (*batch, nq) or (1, nq); axes: (*batch, 3, 3) or (1, 3, 3), the axes of the weights if not those of the tip.
    """
    T, tree = torch.stack([as_matrices(pose)[0].double() for pose in poses], -3), rule.tree
    seeds = None if seeds is None else seeds.expand(*T.shape[:-3], tree.nq)
    axes = None if axes is None else axes.expand(*T.shape[:-3], 3, 3)
    names = tuple(name for span in tree.tree.spans for name in span.names)
    found = IKResult(*_Search.apply(tree.constants, tree, search, seeds, axes, *poses), joint_names=names)
    solved = (found.status == IKStatus.CONVERGED).to(neutral.device)
    q = torch.where(solved.unsqueeze(-1), found.solutions, neutral)  # no NaN may reach the parameters from other rows
    F = kinematics.forward_kinematics(q, tree).movedim(0, -3)
    T = T.to(q.device).unsqueeze(-4).expand(*solved.shape, len(poses), 4, 4)
    axes = F[..., :3, :3].detach() if axes is None else axes.to(q)[..., None, None, :, :].expand(*T.shape[:-2], 3, 3)
    return replace(found, solutions=_Follow.apply(T, F, q, axes, solved, tree.constants, found.solutions, rule))


class _Search(torch.autograd.Function):
    """The search itself: its results are constants, whatever transform is at work."""

    @staticmethod
    def forward(
        constants: Tensor, tree: TreeTensors, search: Search, seeds: Tensor | None, axes: Tensor | None, *poses: Tensor
    ) -> tuple[Tensor, ...]:
        if tree.parametrised and constants is not tree.constants:
            tree = tree.with_constants(constants)
        result = search(tree, poses, seeds, axes)
        return tuple(getattr(result, field.name) for field in fields(result) if field.name != "joint_names")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: tuple[Tensor, ...]) -> None:
        ctx.mark_non_differentiable(*output)
        ctx.inputs = len(inputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, ...]:
        return (None,) * ctx.inputs

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor) -> tuple[None, ...]:
        return (None,) * (len(fields(IKResult)) - 1)

    @staticmethod
    def vmap(info: Any, in_dims: tuple, *inputs: Any) -> tuple[tuple[Tensor, ...], tuple[int, ...]]:
        constants, tree, search, *rows = inputs
        if in_dims[0] is not None:
            raise UnsupportedError("inverse kinematics of several arms at once is not supported: solve for each alone")
        rows = [
            None if x is None else x.expand(info.batch_size, *x.shape) if dim is None else x.movedim(dim, 0)
            for x, dim in zip(rows, in_dims[3:])
        ]
        outputs = _Search.apply(constants, tree, search, *rows)
        return outputs, (0,) * len(outputs)


class _Follow(torch.autograd.Function):
    """Give what was found unchanged, as a function of the target T and of the tip's pose F (see `Solved`)."""

    generate_vmap_rule = True

    @staticmethod
    def forward(
        T: Tensor, F: Tensor, q: Tensor, axes: Tensor, solved: Tensor, constants: Tensor, found: Tensor, rule: Rule
    ) -> Tensor:
        return found.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: Tensor) -> None:
        *tensors, _, ctx.rule = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        at = ctx.saved_tensors
        return *pull_back(lambda g: _Pull.apply(g, *at, ctx.rule), grad), *(None,) * 6

    @staticmethod
    def jvp(ctx: Any, dT: Tensor | None, dF: Tensor | None, *_: None) -> Tensor:
        T, F, *_ = ctx.saved_tensors
        dT, dF = (torch.zeros_like(X) if dX is None else dX for X, dX in ((T, dT), (F, dF)))
        return _Push.apply(dT, dF, *ctx.saved_tensors, ctx.rule)


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
    @staticmethod
    def forward(grad: Tensor, *at_and_rule: Any) -> tuple[Tensor, Tensor]:
        *at, rule = at_and_rule
        return pull(grad, Solved(*at), rule)


class _Push(_FirstOrder):
    @staticmethod
    def forward(dT: Tensor, dF: Tensor, *at_and_rule: Any) -> Tensor:
        *at, rule = at_and_rule
        return push(dT, dF, Solved(*at), rule)
