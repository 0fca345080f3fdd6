"""What a planner gives and gets, as arrays: targets, and the answer to a SolveIK request. No rclpy, no torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .conversions import array_from_field, rows_from_matrices

_CONVERGED = 0  # SolveIK.Response.CONVERGED


@dataclass(frozen=True)
class IKSolutions:
    """N targets, K solutions each, J joints.

    Attributes:
        joint_names: of the J columns.
        positions: (N, K, J) [rad] or [m]; NaN unless the status is CONVERGED.
        status: (N, K) uint8, the constants of SolveIK.Response.
        num_found: (N,) distinct solutions found.
        position_errors, rotation_errors: (N, K) [m], [rad].
        iterations: (N, K).
        solver_time: [s].
        message: how many targets did not converge, empty if all did.
    """

    joint_names: tuple[str, ...]
    positions: npt.NDArray[np.float64]
    status: npt.NDArray[np.uint8]
    num_found: npt.NDArray[np.uint32]
    position_errors: npt.NDArray[np.float64]
    rotation_errors: npt.NDArray[np.float64]
    iterations: npt.NDArray[np.uint32]
    solver_time: float
    message: str

    @property
    def solved(self) -> npt.NDArray[np.bool_]:
        """(N,) which targets have a solution; `positions[:, 0]` is their first."""
        return self.status[:, 0] == _CONVERGED


def whole_number(name: str, value: int, least: int, most: int) -> int:
    """Check an argument; raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= value <= most:
        raise ValueError(f"{name} must be a whole number from {least} to {most}, not {value!r}")
    return int(value)


def number_between(name: str, value: float, least: float, most: float) -> float:
    """Check an argument, which NaN never is; raises ValueError."""
    if not isinstance(value, (int, float, np.number)) or not least <= value <= most:
        raise ValueError(f"{name} must be a number from {least:g} to {most:g}, not {value!r}")
    return float(value)


def pose_rows(targets: npt.ArrayLike) -> np.ndarray:
    """Bring targets to (N, 7), from rows or transforms, one or many."""
    given = np.asarray(targets, dtype=np.float64)
    if given.ndim >= 2 and given.shape[-2:] == (4, 4) and given.ndim <= 3:
        return rows_from_matrices(_transforms(given.reshape(-1, 4, 4)))
    if given.size == 0 or (given.ndim in (1, 2) and given.shape[-1] == 7):
        return given.reshape(-1, 7)
    raise ValueError(f"targets must have shape (N, 7) or (N, 4, 4), not {given.shape}")


def pose_rows_together(targets: npt.ArrayLike, n_tips: int) -> np.ndarray:
    """Bring targets of several links (N, n_tips, 7), from rows or transforms, to rows (N * n_tips, 7)."""
    given = np.asarray(targets, dtype=np.float64)
    if n_tips and given.ndim >= 3 and given.shape[1] == n_tips and given.shape[2:] in ((7,), (4, 4)):
        return pose_rows(given.reshape(-1, *given.shape[2:]))
    raise ValueError(
        f"targets of {n_tips} links must have shape (N, {n_tips}, 7) or (N, {n_tips}, 4, 4), not {given.shape}"
    )


def _transforms(Ts: np.ndarray) -> np.ndarray:
    """Refuse matrices (n, 4, 4) that are no rigid transforms; those with NaN are left to the node, a row each."""
    R = Ts[:, :3, :3]
    proper = (np.abs(R @ R.swapaxes(1, 2) - np.eye(3)).max((1, 2)) < 1e-3) & (np.linalg.det(R) > 0)
    wrong = ~proper & np.isfinite(Ts).all((1, 2))
    if wrong.any():
        raise ValueError(
            f"target {int(wrong.argmax())} is no rigid transform: its rotation must be orthonormal, right-handed"
        )
    return Ts


def read_solutions(response: Any, num_solutions: int) -> IKSolutions:
    """Read a SolveIK response that was not refused."""
    k, names = max(1, num_solutions), tuple(response.joint_names)
    return IKSolutions(
        joint_names=names,
        positions=array_from_field(response.positions).reshape(len(response.num_found), k, len(names)),
        status=array_from_field(response.status, np.uint8).reshape(-1, k),
        num_found=array_from_field(response.num_found, np.uint32),
        position_errors=array_from_field(response.position_errors).reshape(-1, k),
        rotation_errors=array_from_field(response.rotation_errors).reshape(-1, k),
        iterations=array_from_field(response.iterations, np.uint32).reshape(-1, k),
        solver_time=response.solver_time,
        message=response.message,
    )
