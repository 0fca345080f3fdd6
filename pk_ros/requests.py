"""Read the fields of service requests, by the names of their messages, and refuse what can't be meant. No rclpy.

Every refusal names the field and what would be valid.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

import pk_core as pk

from .conversions import array_from_field, rows_from_poses, seconds
from .joint_states import JointSnapshot
from .served_model import ServedModel

_MOST_SOLUTIONS = 1000  # of one target; more is a slip
_RESULTS_A_TARGET = 10  # on average: bounds the memory of an answer


class ErrorCode(IntEnum):
    """The values of moveit_msgs/MoveItErrorCodes that are used."""

    SUCCESS = 1
    FAILURE = 99999
    TIMED_OUT = -6
    PREEMPTED = -7
    INVALID_GROUP_NAME = -15
    INVALID_GOAL_CONSTRAINTS = -16
    INVALID_ROBOT_STATE = -17
    INVALID_LINK_NAME = -18
    FRAME_TRANSFORM_FAILURE = -21
    COLLISION_CHECKING_UNAVAILABLE = -22
    NO_IK_SOLUTION = -31


class Refusal(Exception):
    """A request that can't be answered: the code for the caller, and the reason."""

    def __init__(self, code: ErrorCode, reason: str) -> None:
        self.code = code
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True)
class Settings:
    """The node's parameters that requests depend on: what fields left empty or zero mean, and the most that is taken.

    Attributes:
        frame_prefix: frames of requests may bear it.
        refuse_collisions: refuse MoveIt's requests that are to avoid collisions.
        groups: base and tip of MoveIt's planning groups.
    """

    tip: str = ""
    frame_prefix: str = ""
    position_tolerance: float = 1e-4
    rotation_tolerance: float = 1e-3
    timeout: float = 5.0
    timeout_per_target: float = 1e-3
    max_targets: int = 100_000
    refuse_collisions: bool = False
    groups: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def max_results(self) -> int:
        """The most solutions, or poses, of one answer."""
        return _RESULTS_A_TARGET * self.max_targets


def count_targets(request: Any, settings: Settings) -> int:
    """Count the targets of a request, and refuse too many before any work is done for them."""
    poses = len(request.targets) or len(request.target_array) // 7
    n = poses // max(1, len(request.tip_links))
    if poses > settings.max_targets:
        raise Refusal(
            ErrorCode.INVALID_GOAL_CONSTRAINTS,
            f"{poses} targets are more than the {settings.max_targets} of one request (parameter requests.max_targets)",
        )
    if n * max(1, request.num_solutions) > settings.max_results:
        raise Refusal(
            ErrorCode.INVALID_GOAL_CONSTRAINTS,
            f"{n} targets with num_solutions {request.num_solutions} are more than {settings.max_results} solutions, the "
            "most of one request (ten times the parameter requests.max_targets)",
        )
    return n


def count_configurations(model: ServedModel, request: Any, settings: Settings) -> int:
    """Count the configurations of a ComputeFK request, and refuse too many."""
    n = len(request.positions) // max(1, len(request.joint_names) or len(model.columns))
    n_links = len(request.links) or model.n_links
    if n > settings.max_targets or n * n_links > settings.max_results:
        raise Refusal(
            ErrorCode.INVALID_ROBOT_STATE,
            f"{n} configurations of {n_links} links are too many: at most {settings.max_targets} configurations (parameter "
            f"requests.max_targets) and {settings.max_results} poses (ten times as many)",
        )
    return n


def read_targets(request: Any, n_tips: int = 1) -> np.ndarray:
    """Read either target field into pose rows (N, tips, 7); rows that are no pose are left for the solver to mark."""
    if len(request.targets) and len(request.target_array):
        raise Refusal(ErrorCode.INVALID_GOAL_CONSTRAINTS, "targets and target_array are both filled; fill one")
    if len(request.targets):
        rows = rows_from_poses(request.targets)
    else:
        flat = array_from_field(request.target_array)
        if len(flat) % 7:
            raise Refusal(
                ErrorCode.INVALID_GOAL_CONSTRAINTS,
                f"target_array holds {len(flat)} numbers; it must be N x 7 (x y z qx qy qz qw)",
            )
        rows = flat.reshape(-1, 7)
    if len(rows) % n_tips:
        raise Refusal(
            ErrorCode.INVALID_GOAL_CONSTRAINTS, f"{len(rows)} poses are no whole number of targets for {n_tips} tips"
        )
    return rows.reshape(-1, n_tips, 7)


def read_tips(model: ServedModel, request: Any, settings: Settings) -> tuple[str, ...]:
    """Read which links are placed, one or several together."""
    names = tuple(request.tip_links)
    if not names:
        return (read_tip(model, request.tip_link or settings.tip),)
    if request.tip_link:
        raise Refusal(ErrorCode.INVALID_LINK_NAME, "tip_link and tip_links are both filled; fill one")
    if len(set(names)) != len(names):
        raise Refusal(ErrorCode.INVALID_LINK_NAME, "tip_links names a link twice")
    return tuple(_known(name, model.frame_names, "tip_links", ErrorCode.INVALID_LINK_NAME) for name in names)


def read_tip(model: ServedModel, name: str) -> str:
    if not name:
        raise Refusal(
            ErrorCode.INVALID_LINK_NAME,
            f"tip_link is empty and the node's parameter tip too; links without children: {model.leaves()}",
        )
    return _known(name, model.frame_names, "tip_link", ErrorCode.INVALID_LINK_NAME)


def read_base(model: ServedModel, name: str) -> str:
    return _known(name, model.frame_names, "base_link", ErrorCode.INVALID_GROUP_NAME) if name else model.root


def read_timeout(request: Any, settings: Settings, n_targets: int) -> float:
    """Read how long the whole request may take [s]."""
    default = settings.timeout + n_targets * settings.timeout_per_target
    return _positive("timeout", seconds(request.timeout), default)


def read_options(
    request: Any, settings: Settings, names: tuple[str, ...], locked: tuple[str, ...] = ()
) -> pk.IKOptions:
    """Read what the request asks of the solver, but for its timeout; options it leaves alone are left alone here too.

    Args:
        names: of the coordinates that solve; locked: joints that do not, whatever the request says.
    """
    chosen: dict[str, Any] = {"locked_joints": locked}
    if len(request.weights):
        chosen["weights"] = _weights(array_from_field(request.weights))
    if request.locked_joints:
        distinct_columns(request.locked_joints, names, "locked_joints", ErrorCode.INVALID_GROUP_NAME)
        chosen["locked_joints"] = (*request.locked_joints, *locked)
    if request.preference not in (0, 1):
        raise Refusal(
            ErrorCode.INVALID_GOAL_CONSTRAINTS, f"preference {request.preference} is not ANY (0) or NEAREST (1)"
        )
    if request.preference == 1:
        chosen["prefer"] = "nearest"
    return pk.IKOptions(
        position_tolerance=_positive("position_tolerance", request.position_tolerance, settings.position_tolerance),
        rotation_tolerance=_positive("rotation_tolerance", request.rotation_tolerance, settings.rotation_tolerance),
        random_seed=int(request.random_seed),
        **chosen,
    )


def _weights(weights: np.ndarray) -> tuple[float, ...]:
    if len(weights) != 6 or not np.isfinite(weights).all() or (weights < 0.0).any() or not weights.any():
        raise Refusal(
            ErrorCode.INVALID_GOAL_CONSTRAINTS,
            f"weights must be none or 6 numbers (x y z rx ry rz) of 0 and more, not all 0, not {weights[:10].tolist()}",
        )
    return tuple(weights.tolist())


def read_num_solutions(request: Any) -> int:
    if request.num_solutions > _MOST_SOLUTIONS:
        raise Refusal(
            ErrorCode.INVALID_GOAL_CONSTRAINTS, f"num_solutions is {request.num_solutions}; at most {_MOST_SOLUTIONS}"
        )
    return max(1, int(request.num_solutions))


def read_links(model: ServedModel, names: Sequence[str]) -> list[int]:
    rows = {name: row for row, name in enumerate(model.frame_names)}
    if not names:
        return list(range(model.n_links))
    return [rows[_known(name, rows, "links", ErrorCode.INVALID_LINK_NAME)] for name in names]


def read_configurations(
    model: ServedModel, joints: JointSnapshot, names: Sequence[str], positions: Sequence[float]
) -> np.ndarray:
    """Read N configurations of the whole robot (N, nq); joints not named stand as last seen, else neutral."""
    flat = array_from_field(positions)
    given = tuple(names) or model.columns
    columns = distinct_columns(given, model.columns, "joint_names", ErrorCode.INVALID_ROBOT_STATE)
    if len(flat) % len(columns) if columns else len(flat):
        raise Refusal(
            ErrorCode.INVALID_ROBOT_STATE, f"positions holds {len(flat)} numbers; it must be N x {len(columns)} joints"
        )
    rows = len(flat) // len(columns) if columns else 0
    q = np.tile(joints.q, (rows, 1))
    q[:, columns] = flat.reshape(rows, len(columns))
    return q


def unknown_frame(model: ServedModel, name: str, more: str) -> Refusal:
    """Refuse a header's frame."""
    reason = str(pk.UnknownLink("link", abridged(name), model.frame_names, "header.frame_id"))
    return Refusal(ErrorCode.FRAME_TRANSFORM_FAILURE, "; ".join(filter(None, [reason, more])))


def _known(name: str, valid: Sequence[str] | dict[str, int], what: str, code: ErrorCode) -> str:
    if name not in valid:
        raise Refusal(code, str(pk.UnknownLink("link", abridged(name), valid, what)))
    return name


def distinct_columns(names: Sequence[str], valid: tuple[str, ...], what: str, code: ErrorCode) -> list[int]:
    columns = {name: column for column, name in enumerate(valid)}
    for name in names:
        if name not in columns:
            raise Refusal(code, str(pk.UnknownJoint("joint", abridged(name), valid, what)))
    if len(set(names)) != len(names):
        raise Refusal(code, f"{what} names a joint twice")
    return [columns[name] for name in names]


def _positive(what: str, value: float, default: float) -> float:
    if value == 0.0:
        return default
    if not math.isfinite(value) or value < 0.0:
        raise Refusal(ErrorCode.INVALID_GOAL_CONSTRAINTS, f"{what} must be positive, or 0 (the default), not {value!r}")
    return value


def abridged(text: str, most: int = 100) -> str:
    """Cut a text that a stranger chose to a length that a message bears."""
    return text if len(text) <= most else f"{text[:most]}..."
