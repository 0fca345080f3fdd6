"""`solve_ik`: from a chain and targets to a result, around the kernel."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial

import numpy as np
import torch
from torch import Tensor

from .. import kinematics
from ..chain import Chain
from ..errors import UnsupportedError
from ..kinematics import TreeTensors
from ..kinematics.threads import run_slices
from ..serial_chain import SerialChain
from ..tree import Tree
from .arguments import (
    Bounds,
    call_record,
    pose_problem,
    seed_rows,
    seed_tensor,
    sound,
    unit_weights,
    weight_axes,
)
from .implicit import solutions_in_graph
from .kernel import solve_slice
from .options import IKOptionError, IKOptions, IKStatus
from .records import Options, Output, Problem
from .result import IKResult
from .sensitivity import Rule
from .targets import as_rows, as_tensor, batch_of, in_root_frame
from .walk import judge_slice

NEAREST_OF = 8  # how many solutions a search for the nearest compares
BLOCK = 16  # slices of targets for threads begin at multiples of this
NANOSECONDS = 10_000  # a target takes about this long


def solve_ik(
    chain: Chain,
    targets: object,
    *,
    frame: str | None = None,
    seeds: object = None,
    num_solutions: int = 1,
    options: IKOptions | None = None,
) -> IKResult:
    """Solve inverse kinematics for a batch of targets by damped least squares with restarts, inside the joint limits.

    Args:
        targets: poses of the frame in the chain's root frame, or in that of `options.base_pose`: `Transform3d`,
            (*batch, 4, 4), or (*batch, 7) as position [m] and quaternion wxyz; (4, 4) and (7,) are batches of one.
        frame: the frame to place; may be left out for a `SerialChain`, whose end it is then.
        seeds: first starts: none, one (nq,), or one a target (*batch, nq).
        num_solutions: how many distinct solutions of each target to look for.

    Scalar joints on the way to the frame move. Floating, planar and ball joints, and joints off the way, stay at the seed
    (or neutral); all joints are brought inside their limits first.

    Solutions carry gradients, of first order, to targets, `options.base_pose` and model parameters (`Chain.with_parameters`)
    that require them, in every mode of torch; none to seeds. They are those of the smallest change that follows the target:
    a joint that is locked or at its limit stands still, and near singular poses `options.gradient_damping` bounds the rest. A
    row without a solution has no derivative: its gradient is NaN, unless it is left out, as `solutions[result.converged]` does.

    Raises:
        ShapeError: targets or seeds of a wrong shape. A row with NaN or without a rotation is no error: its status says so.
        UnknownLink, UnknownJoint: a frame or a locked joint that the chain does not have.
        UnsupportedError: several tips in one call.
    """
    options, name = options or IKOptions(), _frame(chain, targets, frame)
    if type(num_solutions) is not int or num_solutions < 1:
        raise IKOptionError(f"num_solutions must be a whole number of at least 1, got {num_solutions!r}")
    tree, poses = chain._frames((name,)), as_tensor(targets)
    base = None if options.base_pose is None else as_tensor(options.base_pose, "base poses")
    axes, seeds = weight_axes(options, base), seed_tensor(seeds, chain, batch_of(poses))
    if base is not None:
        poses = in_root_frame(poses, base)
    search = partial(_search, chain, options, num_solutions)
    if not kinematics._recorded(poses, tree.constants):
        return search(tree, poses, seeds, axes)
    rule = Rule.make(tree, pose_problem(options, tree.tree)[0], unit_weights(options), options.gradient_damping)
    return solutions_in_graph(search, rule, poses, seeds, axes, chain.neutral())


def _search(
    chain: Chain,
    options: IKOptions,
    k: int,
    tensors: TreeTensors,
    poses: Tensor,
    seeds: Tensor | None,
    axes: Tensor | None,
) -> IKResult:
    """Find k solutions for each of poses (*batch, 4, 4) or (*batch, 7) in the root frame; nothing is recorded.

    Args:
        seeds: (*batch, nq) or (1, nq); axes: (*batch, 3, 3) or (1, 3, 3), of the weights.
    """
    tree, batch = tensors.numeric_tree, batch_of(poses)
    problem, bounds = pose_problem(options, tree)
    rows, valid = as_rows(poses)
    starts = seed_rows(seeds, bounds)
    valid &= sound(starts, tree)
    call = call_record(options, rows, valid, chain._tree, bounds, batch, axes)
    nearest = options.prefer == "nearest"
    out = _output(len(rows), max(k, NEAREST_OF) if nearest else k, chain.nq)
    with _clock(options.timeout, call.stop):
        run_slices(
            solve_slice, len(rows), len(rows) * NANOSECONDS, BLOCK, problem, call, starts, out, interrupt=call.stop
        )
    if nearest:
        _sort_by_distance(out, starts[:, 0] if starts.shape[1] else call.base, problem)
    return _result(chain, tree, batch, call, out, k, bounds)


def _frame(chain: Chain, targets: object, frame: str | None) -> str:
    if not isinstance(chain, Chain):
        raise IKOptionError(f"solve_ik takes a Chain or SerialChain first, got {type(chain).__name__}")
    if isinstance(targets, Mapping):
        raise UnsupportedError(
            f"targets for several frames at once {list(targets)} are not supported yet; give one frame's targets"
        )
    if frame is not None:
        return frame
    if not isinstance(chain, SerialChain):
        raise IKOptionError(f"a tree has many ends: say which frame to place, one of {chain.get_frame_names()}")
    return chain.end_frame


def _output(n: int, k: int, nq: int) -> Output:
    """Make the output of the kernel; rows it does not touch are those of invalid input."""
    return Output(
        solutions=np.full((n, k, nq), np.nan),
        status=np.full((n, k), IKStatus.INVALID_INPUT, dtype=np.int64),
        iterations=np.zeros(n, dtype=np.int64),
        restarts=np.zeros(n, dtype=np.int64),
        found=np.zeros(n, dtype=np.int64),
    )


@contextmanager
def _clock(timeout: float | None, stop: np.ndarray) -> Iterator[None]:
    """Set `stop` after `timeout` seconds; the kernel looks at it in each iteration."""
    if timeout is None:
        yield
        return
    timer = threading.Timer(timeout, stop.fill, (1,))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _sort_by_distance(out: Output, seeds: np.ndarray, problem: Problem) -> None:
    """Wind each solution as near to its seed as the limits allow, then put the nearest first."""
    q = out.solutions[..., problem.movable]
    seed = np.broadcast_to(seeds, (len(q), out.solutions.shape[-1]))[:, None, problem.movable]
    turn = 2 * math.pi * problem.turns
    windings = np.round(np.divide(seed - q, turn, out=np.zeros_like(q), where=problem.turns))
    with np.errstate(invalid="ignore"):
        fewest, most = np.ceil((problem.low - q) / (2 * math.pi)), np.floor((problem.high - q) / (2 * math.pi))
    q = q + turn * np.clip(windings, np.minimum(fewest, 0), np.maximum(most, 0))
    distance = np.linalg.norm(q - seed, axis=-1)
    distance[np.arange(q.shape[1]) >= np.maximum(out.found, 1)[:, None]] = np.inf
    order = np.argsort(distance, axis=1, kind="stable")
    out.solutions[..., problem.movable] = q
    out.solutions[:] = np.take_along_axis(out.solutions, order[..., None], 1)
    out.status[:] = np.take_along_axis(out.status, order, 1)


def _result(
    chain: Chain, tree: Tree, batch: torch.Size, call: Options, out: Output, k: int, bounds: Bounds
) -> IKResult:
    """Judge what is returned, in the dtype in which it is returned, by the forward kinematics of the chain."""
    q = _inside(torch.from_numpy(out.solutions[:, :k]), chain.dtype, bounds)
    poses = kinematics.forward_kinematics(q.double(), _exact(tree))[0]
    flat = torch.cat([poses[..., :3, :3].flatten(-2), poses[..., :3, 3]], -1).numpy()
    errors = np.empty((*flat.shape[:2], 2))
    run_slices(
        judge_slice, len(flat), flat.size * 10, BLOCK, flat, call.targets, call.weights, call.weight_axes, errors
    )
    status = out.status[:, :k].copy()
    missed = (status == IKStatus.CONVERGED) & ~(errors <= call.tolerances[:, None]).all(-1)
    status[missed] = IKStatus.STALLED  # rounding to the chain's dtype took it out of a tolerance near that rounding
    found = np.where(missed.any(1), (status == IKStatus.CONVERGED).sum(1), np.minimum(out.found, k))
    return IKResult(
        solutions=q.to(chain.device).view(*batch, k, chain.nq),
        status=torch.from_numpy(status).view(*batch, k),
        position_error=torch.from_numpy(errors[..., 0]).view(*batch, k),
        rotation_error=torch.from_numpy(errors[..., 1]).view(*batch, k),
        iterations=torch.from_numpy(out.iterations).view(batch),
        restarts=torch.from_numpy(out.restarts).view(batch),
        n_solutions=torch.from_numpy(found).view(batch),
        converged_any=torch.from_numpy((status == IKStatus.CONVERGED).any(1)).view(batch),
        joint_names=tuple(chain.get_joint_parameter_names()),
    )


@lru_cache(maxsize=256)
def _exact(tree: Tree) -> TreeTensors:
    return TreeTensors.make(tree, torch.float64, torch.device("cpu"))


def _inside(q: Tensor, dtype: torch.dtype, bounds: Bounds) -> Tensor:
    """Round to a dtype, towards the inside where rounding would leave the limits."""
    if dtype == torch.float64:  # as the kernel left it
        return q
    rounded = q.to(dtype)
    low, high = (torch.tensor(bound, dtype=torch.float64, device="cpu") for bound in bounds)
    infinity = torch.full_like(rounded, math.inf)
    rounded = torch.where((rounded.double() > high) & (q <= high), torch.nextafter(rounded, -infinity), rounded)
    return torch.where((rounded.double() < low) & (q >= low), torch.nextafter(rounded, infinity), rounded)
