"""The answers to requests as plain data, and how they go into messages, which are known by their fields. No rclpy."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

import pk_core as pk

from .conversions import float64_field, uint8_field, uint32_field
from .requests import ErrorCode


class Answered:
    """What all answers have in common."""

    error_code: ErrorCode

    @property
    def refused(self) -> bool:
        """Whether there is nothing but the reason."""
        return self.error_code not in (ErrorCode.SUCCESS, ErrorCode.NO_IK_SOLUTION, ErrorCode.PREEMPTED)

    @property
    def n_targets(self) -> int:
        """How many targets of inverse kinematics it answers."""
        return 0

    @property
    def n_solved(self) -> int:
        """How many of them have a solution."""
        return 0


@dataclass(frozen=True)
class IKAnswer(Answered):
    """N targets, K solutions each, J joints. The arrays are empty where the request was refused.

    Attributes:
        positions: (N, K, J) [rad] or [m]; NaN unless the status is CONVERGED.
        status: (N, K) uint8, the constants of SolveIK.
        num_found: (N,) uint32.
        position_errors, rotation_errors: (N, K) [m], [rad]; NaN for rows that were not begun.
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

    @property
    def n_targets(self) -> int:
        """N."""
        return len(self.status)

    @property
    def n_solved(self) -> int:
        """How many targets converged."""
        return int((self.status[:, 0] == pk.IKStatus.CONVERGED).sum())


@dataclass(frozen=True)
class FKAnswer(Answered):
    """Attributes: poses: (N, L, 7) pose rows, empty where the request was refused."""

    poses: np.ndarray = field(default_factory=lambda: np.empty((0, 0, 7)))
    error_code: ErrorCode = ErrorCode.SUCCESS
    message: str = ""


def fill_ik_response(response: Any, answer: IKAnswer) -> Any:
    """Write an answer into a SolveIK response, or a result of SolveIKBatch; return it."""
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
