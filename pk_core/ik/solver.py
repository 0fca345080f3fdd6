"""`solve_ik`: from a chain and targets to a result, around the kernel."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial

import numpy as np
import torch
from torch import Tensor

from ..chain import Chain
from ..errors import ShapeError, UnsupportedError
from ..kinematics import TreeTensors, fused
from ..kinematics.threads import run_slices
from ..kinematics.tracing import is_recorded
from ..serial_chain import SerialChain
from .arguments import Setup, call_record, pose_problem, prepare, seed_rows, seed_tensor, unit_weights, weight_axes
from .implicit import solutions_in_graph
from .kernel import solve_slice
from .options import IKOptionError, IKOptions
from .records import Options, Output, Problem
from .result import IKResult
from .sensitivity import Rule
from .targets import as_rows, as_tensor, batch_of, in_root_frame
from .walk import judge_slice

DEFAULT = IKOptions()
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
    options: IKOptions = DEFAULT,
) -> IKResult:
    """Solve inverse kinematics for a batch of targets by damped least squares with restarts, inside the joint limits.

    Args:
        targets: poses of the frame in the chain's root frame, or in that of `options.base_pose`: `Transform3d`,
            (*batch, 4, 4), or (*batch, 7) as position [m] and quaternion wxyz; (4, 4) and (7,) are batches of one.
            A dict of these by frame name, all of one batch, places several frames together.
        frame: the frame to place; may be left out for a `SerialChain`, whose end it is then, and with a dict.
        seeds: first starts: none, one (nq,), or one a target (*batch, nq).
        num_solutions: how many distinct solutions of each target to look for.

    Scalar joints on the way to the frames move, and what `options.unlocked_joints` names. Other floating, planar and ball
    joints, and joints off the way, stay at the seed (or neutral); all joints are brought inside their limits first.

    Solutions carry gradients, of first order, to targets, `options.base_pose` and model parameters (`Chain.with_parameters`)
    that require them, in every mode of torch; none to seeds. They are those of the smallest change that follows the target:
    a joint that is locked or at its limit stands still, and near singular poses `options.gradient_damping` bounds the rest. A
    row without a solution has no derivative: its gradient is NaN, unless it is left out, as `solutions[result.converged]` does.

    Raises:
        ShapeError: targets or seeds of a wrong shape. A row with NaN or without a rotation is no error: its status says so.
        UnknownLink, UnknownJoint: a frame or a locked joint that the chain does not have.
        UnsupportedError: gradients are asked for of solutions with unlocked joints.
    """
    names, poses = _frames(chain, targets, frame)
    if type(num_solutions) is not int or num_solutions < 1:
        raise IKOptionError(f"num_solutions must be a whole number of at least 1, got {num_solutions!r}")
    tree, batch = chain._frames(names), batch_of(poses[0])
    base = None if options.base_pose is None else as_tensor(options.base_pose, "base poses")
    axes, seeds = weight_axes(options, base), seed_tensor(seeds, chain, batch)
    if base is not None:
        poses = [in_root_frame(T, base) for T in poses]
    if not is_recorded(*poses, tree.constants):
        return _search(chain, options, num_solutions, tree, poses, seeds, axes)
    if options.unlocked_joints:
        raise UnsupportedError("solutions with unlocked joints carry no gradients: detach the targets and parameters")
    search = partial(_search, chain, options, num_solutions)
    rule = Rule.make(tree, pose_problem(options, tree.tree)[0], unit_weights(options), options.gradient_damping)
    return solutions_in_graph(search, rule, poses, seeds, axes, chain.neutral())


def _search(
    chain: Chain,
    options: IKOptions,
    k: int,
    tensors: TreeTensors,
    poses: Sequence[Tensor],
    seeds: Tensor | None,
    axes: Tensor | None,
) -> IKResult:
    """Find k solutions for each of poses, (*batch, 4, 4) or (*batch, 7) of each tip, in the root frame; nothing is recorded.

    Args:
        seeds: (*batch, nq) or (1, nq); axes: (*batch, 3, 3) or (1, 3, 3), of the weights.
    """
    batch, setup = batch_of(poses[0]), prepare(tensors, options)
    rows = [as_rows(T) for T in poses]
    given = rows[0][:, None] if len(rows) == 1 else np.stack(rows, 1)
    starts, bits, sound = seed_rows(seeds, setup)
    call = call_record(options, setup, given, starts, batch, axes)
    nearest = options.prefer == "nearest"
    out, n = _output(given, max(k, NEAREST_OF) if nearest else k, len(setup.low)), len(given)
    arguments = (setup.problem, call, setup.objective, starts, bits, sound, out)
    with nullcontext() if options.timeout is None else _clock(options.timeout, call.stop):
        run_slices(solve_slice, n, n * len(rows) * NANOSECONDS, BLOCK, *arguments, interrupt=call.stop)
    if nearest:
        _sort_by_distance(out, starts[:, 0] if starts.shape[1] else call.base, setup.problem)
    return _result(chain, setup, batch, call, out, k)


def _frames(chain: Chain, targets: object, frame: str | None) -> tuple[tuple[str, ...], list[Tensor]]:
    """Give the names of the frames to place, and targets for each."""
    if not isinstance(chain, Chain):
        raise IKOptionError(f"solve_ik takes a Chain or SerialChain first, got {type(chain).__name__}")
    if isinstance(targets, Mapping):
        return _several(targets, frame)
    if frame is not None:
        return (frame,), [as_tensor(targets)]
    if not isinstance(chain, SerialChain):
        raise IKOptionError(f"a tree has many ends: say which frame to place, one of {chain.get_frame_names()}")
    return (chain.end_frame,), [as_tensor(targets)]


def _several(targets: Mapping, frame: str | None) -> tuple[tuple[str, ...], list[Tensor]]:
    if frame is not None:
        raise IKOptionError(
            f"the keys of targets name the frames {list(targets)}: frame={frame!r} beside them is too much"
        )
    if not targets:
        raise IKOptionError("targets is an empty dict: name a frame and give its targets")
    poses = [as_tensor(T, f"targets of {name!r}") for name, T in targets.items()]
    batches = {name: tuple(batch_of(T)) for name, T in zip(targets, poses)}
    if len(set(batches.values())) > 1:
        raise ShapeError(f"targets of several frames must have one batch, got {batches}")
    return tuple(targets), poses


def _output(given: np.ndarray, k: int, nq: int) -> Output:
    n, tips, _ = given.shape
    return Output(
        solutions=np.empty((n, k, nq)),
        status=np.empty((n, k), dtype=np.int64),
        targets=np.empty((n, tips, 12)),
        iterations=np.empty(n, dtype=np.int64),
        restarts=np.empty(n, dtype=np.int64),
        found=np.empty(n, dtype=np.int64),
    )


@contextmanager
def _clock(timeout: float, stop: np.ndarray) -> Iterator[None]:
    """Set `stop` after `timeout` seconds; the kernel looks at it in each iteration."""
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


def _result(chain: Chain, setup: Setup, batch: torch.Size, call: Options, out: Output, k: int) -> IKResult:
    """Judge what is returned, in the dtype in which it is returned, by the forward kinematics of the chain."""
    q, exact = _inside(out.solutions[:, :k], chain.dtype, setup)
    poses = fused.forward_kinematics(exact, setup.exact).numpy()
    errors, status = np.empty((*exact.shape[:2], 2)), np.ascontiguousarray(out.status[:, :k])
    arguments = (poses, out.targets, call, errors, status, out.found)
    run_slices(judge_slice, len(errors), poses.size * 10, BLOCK, *arguments)
    of_solutions, of_rows = (*batch, k), tuple(batch)
    return IKResult(
        solutions=q.to(chain.device).view(*of_solutions, q.shape[-1]),
        status=torch.from_numpy(status.reshape(of_solutions)),
        position_error=torch.from_numpy(errors[..., 0].reshape(of_solutions)),
        rotation_error=torch.from_numpy(errors[..., 1].reshape(of_solutions)),
        iterations=torch.from_numpy(out.iterations.reshape(of_rows)),
        restarts=torch.from_numpy(out.restarts.reshape(of_rows)),
        n_solutions=torch.from_numpy(out.found.reshape(of_rows)),
        converged_any=torch.from_numpy((out.found > 0).reshape(of_rows)),
        joint_names=setup.names,
    )


def _inside(solutions: np.ndarray, dtype: torch.dtype, setup: Setup) -> tuple[Tensor, Tensor]:
    """Round to a dtype, towards the inside where rounding would leave the limits; give the same as float64 too."""
    q = torch.from_numpy(np.ascontiguousarray(solutions))
    if dtype == torch.float64:  # as the kernel left it
        return q, q
    rounded = q.to(dtype)
    exact = rounded.double()
    for outside, inwards in (
        ((exact.numpy() > setup.high) & (solutions <= setup.high), -math.inf),
        ((exact.numpy() < setup.low) & (solutions >= setup.low), math.inf),
    ):
        if outside.any():
            inner = torch.nextafter(rounded, torch.full_like(rounded, inwards))
            rounded = torch.where(torch.from_numpy(outside), inner, rounded)
            exact = rounded.double()
    return rounded, exact
