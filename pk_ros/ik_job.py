"""A request for inverse kinematics as a job of the work queue, done in slices: plain data in and out, no rclpy.

It raises nothing: what goes wrong becomes an answer that says so. The answer is the same bits whatever the slices.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import pk_core as pk

from .answers import IKAnswer
from .conversions import array_from_tensor, move_rows, wxyz_rows
from .frames import Frames, place_frame
from .ik_plan import IKPlan, joints_between, read_seeds
from .joint_states import JointSnapshot
from .requests import (
    ErrorCode,
    Refusal,
    Settings,
    count_targets,
    read_base,
    read_num_solutions,
    read_options,
    read_targets,
    read_timeout,
    read_tips,
)
from .served_model import ServedModel
from .sliced_request import SlicedRequest

CANCELED = 8  # SolveIKBatch.Result.CANCELED
_TOLD = (pk.IKStatus.CONVERGED, pk.IKStatus.TIMEOUT, pk.IKStatus.INVALID_INPUT, CANCELED)  # any other is NOT_FOUND
_SLICE_TIME = 0.01  # [s]
_FIRST_SLICE = 16  # targets: what the solver does on one thread


class _Rows:
    """The rows of an answer, filled slice by slice; a row that no slice has reached yet has no solution.

    Attributes:
        reasons: (N, K) uint8, the solver's own status.
    """

    def __init__(self, n: int, k: int, n_joints: int) -> None:
        self.positions = np.full((n, k, n_joints), np.nan)
        self.reasons = np.full((n, k), pk.IKStatus.TIMEOUT, np.uint8)
        self.num_found = np.zeros(n, np.uint32)
        self.errors = np.full((2, n, k), np.nan)
        self.iterations = np.zeros((n, k), np.uint32)

    def put(self, begin: int, end: int, result: pk.IKResult, columns: np.ndarray) -> None:
        """Take columns of a result; only what converged has positions, the rest is NaN, for nobody to move to."""
        self.reasons[begin:end] = array_from_tensor(result.status, np.uint8)
        self.positions[begin:end] = array_from_tensor(result.solutions, np.float64)[..., columns]
        self.positions[begin:end][self.reasons[begin:end] != pk.IKStatus.CONVERGED] = np.nan
        self.num_found[begin:end] = array_from_tensor(result.n_solutions, np.uint32)
        self.errors[0, begin:end] = array_from_tensor(result.position_error, np.float64)
        self.errors[1, begin:end] = array_from_tensor(result.rotation_error, np.float64)
        self.iterations[begin:end] = array_from_tensor(result.iterations, np.uint32)[:, None]


class IKJob(SlicedRequest):
    """A SolveIK request, or a goal of SolveIKBatch.

    Attributes:
        weight: number of targets.
        deadline: when the solver is to stop, so that the answer leaves in time [s].
        timed_out: whether it was stopped, and answered what was done.
        n_done, n_solved: targets tried so far, and those of them with a solution.
    """

    _kind = IKAnswer

    def __init__(
        self,
        model: ServedModel,
        joints: JointSnapshot,
        request: Any,
        settings: Settings,
        arrived: float,
        *,
        frames: Frames | None = None,
        now: Callable[[], float] = time.monotonic,
        answer_time: Callable[[int], float] = lambda rows: 0.0,
    ) -> None:
        """Refuse what is too large; all else waits for the first step.

        Args:
            joints: the joints when the request arrived; they place a `frame_id` that moves.
            arrived: when it arrived, on the clock `now` [s]; the timeout counts from there.
            frames: frames besides those of the model.
            answer_time: gives how long an answer with so many rows takes to leave [s]; at most half of the timeout is kept for it.
        """
        self._model, self._joints, self._request, self._settings = model, joints, request, settings
        self._frames, self._now, self._answer_time = frames, now, answer_time
        self._plan: IKPlan | None = None
        self._rows = _Rows(0, 1, 0)
        self._slice, self._solver_time, self._canceled = _FIRST_SLICE, 0.0, False
        self.n_done = self.n_solved = self.weight = 0
        self.deadline, self.timed_out = arrived, False
        self._guard(self._admit)

    def cancel(self) -> None:
        """End with what is done by the next step."""
        self._canceled = True

    def _admit(self) -> None:
        self.weight = count_targets(self._request, self._settings)
        self._timeout = read_timeout(self._request, self._settings, self.weight)
        self.deadline += self._timeout - min(self._answer_time(self.weight), 0.5 * self._timeout)

    def _advance(self) -> None:
        if self._plan is None and self.answer is None:
            self._plan = self._read()
        if self._plan is None:
            return
        n, started = len(self._plan), self._now()
        left = self.deadline - started
        if left > 0.0 and not self._canceled and self.n_done < n:
            end = min(self.n_done + self._slice, n)
            result = self._plan.solve(self.n_done, end, left)
            self._rows.put(self.n_done, end, result, self._plan.joints.columns)
            self.n_solved += int(result.converged_any.sum())
            self._measure(end - self.n_done, self._now() - started)
            self.n_done = end
        elif not self.n_done and n and not self._canceled:
            raise Refusal(ErrorCode.TIMED_OUT, f"its time of {self._timeout:g} s was over before its turn came")
        if self.n_done == n or self._canceled or self.deadline <= self._now():
            self._end()

    def _measure(self, rows: int, elapsed: float) -> None:
        """Let the next slice take about the time of a slice, if its targets are as those of the last."""
        self._solver_time += elapsed
        factor = min(4.0, max(0.25, _SLICE_TIME / max(elapsed, 1e-6)))
        self._slice = max(_FIRST_SLICE, int(rows * factor))

    def _read(self) -> IKPlan | None:
        """Check the request and bring it to what the solver takes; None where the answer is already clear."""
        request, model, settings = self._request, self._model, self._settings
        asks_nothing = not len(request.targets) and not len(request.target_array)
        if asks_nothing and not (request.tip_links or request.tip_link or settings.tip):
            self.answer = IKAnswer()
            return None
        tips, base = read_tips(model, request, settings), read_base(model, request.base_link)
        targets = read_targets(request, len(tips))
        joints = joints_between(model, tips, base, self._joints.q)
        seeds = read_seeds(request, joints, len(targets))
        num_solutions = read_num_solutions(request)
        options = read_options(request, settings, joints.names, joints.locked)
        rows = wxyz_rows(self._moved(targets, base, joints.T_root_base))
        self._rows = _Rows(len(targets), num_solutions, len(joints.names))
        by_tip = {tip: np.ascontiguousarray(rows[:, i]) for i, tip in enumerate(tips)}
        return IKPlan(joints, by_tip, seeds, num_solutions, options)

    def _moved(self, targets: np.ndarray, base: str, T_root_base: np.ndarray) -> np.ndarray:
        """Express targets (N, tips, 7) in the root of the chain that solves."""
        return move_rows(T_root_base @ self._place_frame(self._request.header.frame_id, base), targets)

    def _place_frame(self, frame_id: str, base: str) -> np.ndarray:
        return place_frame(self._model, self._joints, frame_id, base, self._frames, self._settings.frame_prefix)

    def _end(self) -> None:
        rows, n = self._rows, len(self._rows.num_found)
        if self._canceled:
            rows.reasons[self.n_done :] = CANCELED
            code, message = ErrorCode.PREEMPTED, f"canceled after {self.n_done} of {n} targets"
        else:
            self.timed_out = bool((rows.reasons == pk.IKStatus.TIMEOUT).any())
            failed = bool((rows.reasons[:, 0] != pk.IKStatus.CONVERGED).any())
            code = ErrorCode.NO_IK_SOLUTION if failed else ErrorCode.SUCCESS
            message = _tell(rows.reasons, rows.num_found)
        self.answer = IKAnswer(
            joint_names=self._plan.joints.names,
            positions=rows.positions,
            status=np.where(np.isin(rows.reasons, _TOLD), rows.reasons, np.uint8(pk.IKStatus.NOT_FOUND)),
            num_found=rows.num_found,
            position_errors=rows.errors[0],
            rotation_errors=rows.errors[1],
            iterations=rows.iterations,
            solver_time=self._solver_time,
            error_code=code,
            message=message,
        )


def _tell(reasons: np.ndarray, num_found: np.ndarray) -> str:
    """Say how many targets have no solution and why, which a row does not tell, and how many have fewer than asked for."""
    n, k = reasons.shape
    first, fewer = reasons[:, 0], int(((num_found > 0) & (num_found < k)).sum())
    values, counts = np.unique(first[first != pk.IKStatus.CONVERGED], return_counts=True)
    why = ", ".join(f"{count} {pk.IKStatus(int(value)).name}" for value, count in zip(values, counts))
    parts = [f"{counts.sum()} of {n} targets did not converge: {why}"] if len(values) else []
    if fewer:
        parts.append(f"{fewer} of {n} targets have fewer than {k} distinct solutions")
    return "; ".join(parts)
