"""Answer the two services: plain data in and out. A request is read by the fields of its message; no rclpy.

The answer_... functions raise nothing: what goes wrong becomes an answer that says so.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch

import pk_core as pk

from .conversions import (
    array_from_tensor,
    float64_field,
    inverse,
    move_rows,
    rows_from_matrices,
    uint8_field,
    uint32_field,
    wxyz_rows,
)
from .joint_states import JointSnapshot
from .requests import (
    Defaults,
    ErrorCode,
    Refusal,
    read_base,
    read_configurations,
    read_frame,
    read_links,
    read_num_solutions,
    read_options,
    read_seeds,
    read_targets,
    read_tip,
)
from .served_model import ServedModel

_TOLD = (pk.IKStatus.CONVERGED, pk.IKStatus.TIMEOUT, pk.IKStatus.INVALID_INPUT)  # any other is NOT_FOUND to a caller
_ROWS_AT_ONCE = 4096  # configurations whose frames are all held in memory at a time


@dataclass(frozen=True)
class IKAnswer:
    """N targets, K solutions each, J joints. The arrays are empty where the request was refused.

    Attributes:
        positions: (N, K, J) [rad] or [m]; NaN unless the status is CONVERGED.
        status: (N, K) uint8, the constants of SolveIK.
        num_found: (N,) uint32.
        position_errors, rotation_errors: (N, K) [m], [rad].
        iterations: (N, K) uint32.
        solver_time: [s].
    """

    joint_names: tuple[str, ...] = ()
    positions: np.ndarray = field(default_factory=lambda: np.empty((0, 1, 0)))
    status: np.ndarray = field(default_factory=lambda: np.empty((0, 1), np.uint8))
    num_found: np.ndarray = field(default_factory=lambda: np.empty(0, np.uint32))
    position_errors: np.ndarray = field(default_factory=lambda: np.empty((0, 1)))
    rotation_errors: np.ndarray = field(default_factory=lambda: np.empty((0, 1)))
    iterations: np.ndarray = field(default_factory=lambda: np.empty((0, 1), np.uint32))
    solver_time: float = 0.0
    error_code: ErrorCode = ErrorCode.SUCCESS
    message: str = ""


@dataclass(frozen=True)
class FKAnswer:
    """Attributes: poses: (N, L, 7) pose rows, empty where the request was refused."""

    poses: np.ndarray = field(default_factory=lambda: np.empty((0, 0, 7)))
    error_code: ErrorCode = ErrorCode.SUCCESS
    message: str = ""


def answer_ik(
    model: ServedModel,
    joints: JointSnapshot,
    request: Any,
    defaults: Defaults,
    arrived: float,
    now: Callable[[], float] = time.monotonic,
) -> IKAnswer:
    """Answer a SolveIK request.

    Args:
        joints: the joints when it arrived; they place a `frame_id` that moves.
        arrived: when it arrived, on the clock `now` [s]; the timeout counts from there.
    """
    try:
        return _solve(model, joints, request, defaults, arrived, now)
    except Refusal as refusal:
        return IKAnswer(error_code=refusal.code, message=refusal.reason)
    except pk.PkError as error:  # an option that pk knows of but does not do
        return IKAnswer(error_code=ErrorCode.FAILURE, message=str(error))
    except Exception as error:  # whatever it is, the node must go on and the caller must hear of it
        return IKAnswer(error_code=ErrorCode.FAILURE, message=f"{type(error).__name__}: {error}")


def answer_fk(model: ServedModel, joints: JointSnapshot, request: Any) -> FKAnswer:
    """Answer a ComputeFK request. A row of positions that is not finite gives a row of NaN poses."""
    try:
        links = read_links(model, request.links)
        base = read_frame(model, request.header.frame_id)
        q = read_configurations(model, joints, request.joint_names, request.positions)
        return FKAnswer(poses=_poses(model, links, base, q))
    except Refusal as refusal:
        return FKAnswer(error_code=refusal.code, message=refusal.reason)
    except Exception as error:  # as above
        return FKAnswer(error_code=ErrorCode.FAILURE, message=f"{type(error).__name__}: {error}")


def fill_ik_response(response: Any, answer: IKAnswer) -> Any:
    """Write an answer into a SolveIK response; return it."""
    response.joint_names = list(answer.joint_names)
    response.positions = float64_field(answer.positions)
    response.status = uint8_field(answer.status)
    response.num_found = uint32_field(answer.num_found)
    response.position_errors = float64_field(answer.position_errors)
    response.rotation_errors = float64_field(answer.rotation_errors)
    response.iterations = uint32_field(answer.iterations)
    response.solver_time = answer.solver_time
    response.error_code, response.message = int(answer.error_code), answer.message
    return response


def fill_fk_response(response: Any, answer: FKAnswer) -> Any:
    """Write an answer into a ComputeFK response; return it."""
    response.poses = float64_field(answer.poses)
    response.error_code, response.message = int(answer.error_code), answer.message
    return response


def _solve(
    model: ServedModel,
    joints: JointSnapshot,
    request: Any,
    defaults: Defaults,
    arrived: float,
    now: Callable[[], float],
) -> IKAnswer:
    targets = read_targets(request)
    if not len(targets) and not (request.tip_link or defaults.tip):
        return IKAnswer()
    tip, base = read_tip(model, request.tip_link or defaults.tip), read_base(model, request.base_link)
    serial = model.serial(tip, base)
    names = tuple(serial.get_joint_parameter_names())
    seeds = read_seeds(request, serial, names, len(targets))
    options = read_options(request, defaults, names, len(targets))
    num_solutions = read_num_solutions(request)
    targets = move_rows(_place_frame(model, joints, request.header.frame_id, base), targets)
    if not len(targets):
        return IKAnswer(joint_names=names)
    started = now()
    left = options.timeout - (started - arrived)
    if left <= 0.0:
        raise Refusal(ErrorCode.TIMED_OUT, f"its time of {options.timeout:g} s was over before its turn came")
    device = model.chain.device
    result = pk.solve_ik(
        serial,
        torch.from_numpy(wxyz_rows(targets)).to(device),
        seeds=None if seeds is None else torch.from_numpy(seeds).to(device),
        num_solutions=num_solutions,
        options=replace(options, timeout=left),
    )
    return _ik_answer(names, result, now() - started)


def _ik_answer(names: tuple[str, ...], result: Any, solver_time: float) -> IKAnswer:
    """Turn a result into an answer: only what converged has positions, the rest is NaN, for nobody to move to."""
    failed = int((~result.converged_any).sum())
    reasons = array_from_tensor(result.status, np.uint8)
    iterations = array_from_tensor(result.iterations, np.uint32).reshape(len(reasons), -1)
    positions = array_from_tensor(result.solutions, np.float64).copy()
    positions[reasons != pk.IKStatus.CONVERGED] = np.nan
    return IKAnswer(
        joint_names=names,
        positions=positions,
        status=np.where(np.isin(reasons, _TOLD), reasons, np.uint8(pk.IKStatus.NOT_FOUND)),
        num_found=array_from_tensor(result.n_solutions, np.uint32),
        position_errors=array_from_tensor(result.position_error, np.float64),
        rotation_errors=array_from_tensor(result.rotation_error, np.float64),
        iterations=np.broadcast_to(iterations, reasons.shape),
        solver_time=solver_time,
        error_code=ErrorCode.NO_IK_SOLUTION if failed else ErrorCode.SUCCESS,
        message=_tell_failures(reasons[:, 0]) if failed else "",
    )


def _tell_failures(reasons: np.ndarray) -> str:
    """Say how many targets have no solution and why: the status of the solver, which a row does not tell."""
    values, counts = np.unique(reasons[reasons != pk.IKStatus.CONVERGED], return_counts=True)
    why = ", ".join(f"{count} {pk.IKStatus(int(value)).name}" for value, count in zip(values, counts))
    return f"{counts.sum()} of {len(reasons)} targets did not converge: {why}"


def _place_frame(model: ServedModel, joints: JointSnapshot, frame_id: str, base: str) -> np.ndarray:
    """Give T_base_frame as the joints place it; only the joints between the two matter."""
    frame = read_frame(model, frame_id)
    try:
        columns = model.columns_between(frame, base)
    except pk.PkError as error:
        raise Refusal(ErrorCode.FRAME_TRANSFORM_FAILURE, f"header.frame_id: {error}") from error
    unseen = [model.columns[column] for column in columns if not joints.seen[column]]
    if unseen:
        raise Refusal(
            ErrorCode.FRAME_TRANSFORM_FAILURE,
            f"header.frame_id {frame!r} moves against {base!r} with joints not seen in joint_states yet: {unseen}",
        )
    return model.place_between(frame, base, joints.q)


def _poses(model: ServedModel, links: list[int], base: str, q: np.ndarray) -> np.ndarray:
    poses = np.empty((len(q), len(links), 7))
    base_row = model.frame_names.index(base)
    for start in range(0, len(q), _ROWS_AT_ONCE):
        Ts = model.place(q[start : start + _ROWS_AT_ONCE])
        chosen = Ts[links] if base == model.root else inverse(Ts[base_row]) @ Ts[links]
        poses[start : start + _ROWS_AT_ONCE] = np.swapaxes(rows_from_matrices(chosen), 0, 1)
    return poses
