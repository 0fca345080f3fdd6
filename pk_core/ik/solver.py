"""`solve_ik`: from a chain and targets to a result, around the kernel."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from .. import kinematics
from ..chain import Chain
from ..configuration import limits, neutral, quaternion_columns
from ..errors import ShapeError, UnsupportedError
from ..kinematics import TreeTensors
from ..kinematics.threads import run_slices
from ..serial_chain import SerialChain
from ..tree import Tree
from .kernel import solve_slice
from .options import IKOptionError, IKOptions, IKStatus, numbers
from .problem import make_problem
from .records import Options, Output, Problem
from .result import IKResult
from .targets import as_rows, as_tensor, in_root_frame
from .walk import judge_slice

NEAREST_OF = 8  # how many solutions a search for the nearest compares
BLOCK = 16  # slices of targets for threads begin at multiples of this
NANOSECONDS = 10_000  # a target takes about this long

Bounds = tuple[tuple[float, ...], tuple[float, ...]]


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
    (or neutral); all joints are brought inside their limits first. Targets are detached: no gradient flows to them.

    Raises:
        ShapeError: targets or seeds of a wrong shape. A row with NaN or without a rotation is no error: its status says so.
        UnknownLink, UnknownJoint: a frame or a locked joint that the chain does not have.
        UnsupportedError: several tips in one call.
    """
    options, name = options or IKOptions(), _frame(chain, targets, frame)
    if type(num_solutions) is not int or num_solutions < 1:
        raise IKOptionError(f"num_solutions must be a whole number of at least 1, got {num_solutions!r}")
    tree = chain._frames((name,)).numeric_tree
    poses = as_tensor(targets)
    batch = poses.shape[: -1 if poses.shape[-1] == 7 else -2]
    base = None if options.base_pose is None else as_tensor(options.base_pose, "base poses")
    rows, valid = as_rows(poses if base is None else in_root_frame(poses, base))
    bounds = _bounds(options, tree)
    problem = make_problem(tree, frozenset(options.locked_joints), bounds)
    if np.any(options.limit_margin):
        bounds = _narrowed(bounds, options.limit_margin, problem.movable, tree)
        problem = make_problem(tree, frozenset(options.locked_joints), bounds)
    seed_rows = _seed_rows(chain, seeds, bounds, tuple(batch))
    valid &= _sound(seed_rows, tree)
    call = _call(options, rows, valid, chain, bounds, batch, _weight_axes(options, base))
    nearest = options.prefer == "nearest"
    out = _output(len(rows), max(num_solutions, NEAREST_OF) if nearest else num_solutions, chain.nq)
    with _clock(options.timeout, call.stop):
        run_slices(
            solve_slice, len(rows), len(rows) * NANOSECONDS, BLOCK, problem, call, seed_rows, out, interrupt=call.stop
        )
    if nearest:
        _sort_by_distance(out, seed_rows[:, 0] if seed_rows.shape[1] else call.base, problem)
    return _result(chain, tree, batch, call, out, num_solutions, bounds)


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


def _bounds(options: IKOptions, tree: Tree) -> Bounds:
    low, high = limits(tree) if options.joint_limits is None else options.joint_limits
    bounds = tuple(float(bound) for bound in low), tuple(float(bound) for bound in high)
    if any(len(bound) != tree.nq for bound in bounds) or any(math.isnan(x) for bound in bounds for x in bound):
        raise IKOptionError(f"joint_limits must be (low, high) of {tree.nq} numbers each, got {options.joint_limits}")
    return bounds


def _seed_rows(chain: Chain, seeds: object, bounds: Bounds, batch: tuple[int, ...]) -> np.ndarray:
    """Give (n or 1, number of seeds, nq) float64, inside the limits."""
    if seeds is None:
        return np.empty((1, 0, chain.nq))
    q = chain.ensure_tensor(seeds)
    if q.shape[:-1] not in ((1,), batch):
        raise ShapeError(f"seeds have shape {tuple(q.shape)}; they must be ({chain.nq},) or {(*batch, chain.nq)}")
    rows = q.detach().reshape(math.prod(q.shape[:-1]), 1, chain.nq).to("cpu", torch.float64).numpy()
    low, high = (np.array(bound) for bound in bounds)
    return np.ascontiguousarray(np.maximum(np.minimum(rows, high), low))


def _sound(seed_rows: np.ndarray, tree: Tree) -> np.ndarray:
    """Say which rows of seeds hold finite numbers and no zero quaternion, (n or 1,) bool."""
    sound = np.isfinite(seed_rows).all((1, 2))
    for columns in quaternion_columns(tree):
        sound &= (seed_rows[..., columns] != 0).any(-1).all(-1)
    return sound


def _narrowed(bounds: Bounds, margin: float | Sequence[float], movable: np.ndarray, tree: Tree) -> Bounds:
    """Take a margin off both ends of the range of the joints that move."""
    given = numbers("limit_margin", margin)
    if given.shape not in ((), (tree.nq,)):
        raise IKOptionError(f"limit_margin must be one number or {tree.nq}, got {len(given)}")
    kept = np.zeros(tree.nq)
    kept[movable] = np.broadcast_to(given, tree.nq)[movable]
    low, high = np.array(bounds[0]) + kept, np.array(bounds[1]) - kept
    for column in movable:
        if low[column] > high[column] and bounds[0][column] <= bounds[1][column]:
            name = [name for span in tree.spans for name in span.names][column]
            raise IKOptionError(
                f"limit_margin {kept[column]:g} leaves joint {name!r} nothing of its range "
                f"{bounds[0][column]:g} .. {bounds[1][column]:g}"
            )
    return tuple(low.tolist()), tuple(high.tolist())


def _weight_axes(options: IKOptions, base: Tensor | None) -> np.ndarray:
    """Give the axes of the weights as the kernel takes them, (n or 1, 9); none for those of the tip."""
    if options.weights_frame == "tool" or options.weights is None:
        return np.empty((0, 9))
    if base is None:
        return np.eye(3).reshape(1, 9)
    rows, _ = as_rows(base)
    return np.ascontiguousarray(rows[:, :9].reshape(-1, 3, 3).swapaxes(1, 2)).reshape(-1, 9)


def _tolerances(options: IKOptions, batch: torch.Size) -> np.ndarray:
    """Give (n, 2) [m], [rad]: what the options say for each target."""
    tolerances = np.empty((*batch, 2))
    for column, name in enumerate(("position_tolerance", "rotation_tolerance")):
        value = numbers(name, getattr(options, name))
        try:
            tolerances[..., column] = value
        except ValueError:
            raise ShapeError(
                f"{name} has shape {value.shape}; it must be one number, or broadcast with the batch {tuple(batch)} of targets"
            ) from None
    return tolerances.reshape(-1, 2)


def _call(
    options: IKOptions,
    rows: np.ndarray,
    valid: np.ndarray,
    chain: Chain,
    bounds: Bounds,
    batch: torch.Size,
    weight_axes: np.ndarray,
) -> Options:
    """Bring options to the types that the kernel was compiled for."""
    weights = np.ones(6) if options.weights is None else numbers("weights", options.weights)
    weights = weights / weights.max()
    return Options(
        targets=rows,
        valid=valid,
        tolerances=_tolerances(options, batch),
        base=np.clip(neutral(chain._tree), *bounds),
        weights=weights,
        weight_axes=weight_axes,
        weighted=options.weights is not None,
        full_position=bool(weights[:3].all()),
        max_iterations=int(options.max_iterations),
        max_restarts=int(options.max_restarts),
        patience=int(options.patience),
        damping=float(options.damping),
        gain=float(options.gain),
        distinct=float(options.distinct),
        random_seed=int(options.random_seed) % 2**63,  # the kernel takes signed 64 bits
        stop=np.zeros(1, dtype=np.int64),
    )


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
