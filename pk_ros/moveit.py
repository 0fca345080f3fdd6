"""MoveIt's services GetPositionIK and GetPositionFK as jobs of the work queue: message fields in and out. No rclpy, no moveit_msgs.

The node knows no planning groups. So a request is about the joints on the paths to its tips: from the base of the group where
the parameter `moveit.groups` has it; else from the frame of its poses where that is a link above the tips, as MoveIt's
service-backed plugin gives the base of a group, which takes the joints of the group alone from a solution; else from the root.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

import pk_core as pk
from pk_core.model import JointType

from .answers import IKAnswer
from .conversions import array_from_field, fill_pose, float64_field, move_rows, rows_from_transforms
from .fk_job import FKJob
from .frames import Frames, link_of_frame, locate_frame
from .ik_job import IKJob
from .joint_states import JointSnapshot
from .requests import ErrorCode, Refusal, Settings, abridged, read_base, read_links, read_tips
from .root_pose import coordinates, problem_of_row
from .served_model import ServedModel

_CODES = {pk.IKStatus.TIMEOUT: ErrorCode.TIMED_OUT, pk.IKStatus.INVALID_INPUT: ErrorCode.INVALID_GOAL_CONSTRAINTS}


class PositionIKJob(IKJob):
    """A PositionIKRequest.

    Attributes:
        leaves_collisions: it asks for a solution free of collisions, which is not looked for.
        state: the joints as its robot_state has them, over those of joint_states.
    """

    def __init__(
        self,
        model: ServedModel,
        joints: JointSnapshot,
        ik_request: Any,
        settings: Settings,
        arrived: float,
        *,
        frames: Frames | None = None,
        now: Callable[[], float] = time.monotonic,
        answer_time: Callable[[int], float] = lambda rows: 0.0,
    ) -> None:
        """Refuse what is not done; all else waits for the first step, as with any IKJob."""
        self._ik_request, self.state = ik_request, joints
        self.leaves_collisions = bool(ik_request.avoid_collisions) and not settings.refuse_collisions
        super().__init__(model, joints, ik_request, settings, arrived, frames=frames, now=now, answer_time=answer_time)

    def _admit(self) -> None:
        _refuse_what_is_not_done(self._ik_request, self._settings)
        stamped, tips = _read_goal(self._ik_request)
        self._frame_ids = [each.header.frame_id for each in stamped]
        self._request = SimpleNamespace(
            tip_link="",
            tip_links=tips,
            targets=[each.pose for each in stamped],
            target_array=(),
            seed_joint_names=(),
            seeds=(),
            base_link="",
            weights=(),
            locked_joints=(),
            preference=0,
            position_tolerance=0.0,
            rotation_tolerance=0.0,
            num_solutions=1,
            timeout=self._ik_request.timeout,
            random_seed=0,
        )
        super()._admit()

    def _read(self) -> Any:
        model, request = self._model, self._request
        self.state = self._joints = read_state(model, self._joints, self._ik_request.robot_state)
        request.base_link, request.tip_links = _read_path(
            model, self._ik_request.group_name, request.tip_links, self._frame_ids, self._settings
        )
        tips, base = read_tips(model, request, self._settings), read_base(model, request.base_link)
        columns = sorted({column for tip in tips for column in model.columns_between(tip, base)})
        columns = [column for column in columns if self.state.seen[column]]
        request.seed_joint_names = tuple(model.columns[column] for column in columns)
        request.seeds = self.state.q[columns]
        return super()._read()

    def _moved(self, targets: np.ndarray, base: str, T_root_base: np.ndarray) -> np.ndarray:
        frames = [T_root_base @ self._place_frame(frame_id, base) for frame_id in self._frame_ids]
        return np.stack([move_rows(T, targets[:, i]) for i, T in enumerate(frames)], axis=1)

    def fill(self, response: Any, stamp: Any) -> Any:
        """Write the answer into a GetPositionIK response; return it. The solution names all joints that are known."""
        code = _code(self.answer)
        if code is ErrorCode.SUCCESS:
            columns = [self._model.columns.index(name) for name in self.answer.joint_names]
            q, seen = self.state.q.copy(), self.state.seen.copy()
            q[columns], seen[columns] = self.answer.positions[0, 0], True
            chosen = [span.q_start for span in self._model.spans if span.joint.nq == 1 and seen[span.q_start]]
            joint_state = response.solution.joint_state
            joint_state.header.stamp = stamp
            joint_state.header.frame_id = self._settings.frame_prefix + self._model.root
            joint_state.name = [self._model.columns[column] for column in chosen]
            joint_state.position = float64_field(q[chosen])
            response.solution.is_diff = True  # what is not named stays
        message = self.answer.message
        if code is ErrorCode.NO_IK_SOLUTION:
            base, tips = self._request.base_link or self._model.root, " and ".join(self._request.tip_links)
            message += f" by the joints from {base} to {tips}"
        _fill_error(response.error_code, code, message)
        return response


class PositionFKJob(FKJob):
    """A GetPositionFK request: one configuration."""

    def __init__(
        self,
        model: ServedModel,
        joints: JointSnapshot,
        fk_request: Any,
        settings: Settings,
        *,
        frames: Frames | None = None,
    ) -> None:
        """Refuse what names no links; all else waits for the first step."""
        self._fk_request = fk_request
        super().__init__(model, joints, fk_request, settings, frames=frames)

    def _admit(self, settings: Settings) -> None:
        if not self._fk_request.fk_link_names:
            raise Refusal(ErrorCode.INVALID_LINK_NAME, "fk_link_names is empty: name the links whose poses are wanted")
        self._request = SimpleNamespace(
            header=self._fk_request.header,
            links=self._fk_request.fk_link_names,
            joint_names=self._model.columns,
            positions=self._model.neutral,  # for the count, until `_read`
        )
        super()._admit(settings)

    def _read(self) -> None:
        model, request = self._model, self._request
        state = read_state(model, self._joints, self._fk_request.robot_state)
        link, _ = locate_frame(model, request.header.frame_id, self._frames, self._prefix)
        rows = [*read_links(model, request.links), model.frame_names.index(link)]
        unseen = model.needs[rows].any(axis=0) & ~state.seen
        if unseen.any():
            names = [model.columns[column] for column in np.flatnonzero(unseen)]
            raise Refusal(
                ErrorCode.INVALID_ROBOT_STATE, f"robot_state and joint_states say nothing of the joints {names[:20]}"
            )
        request.positions = state.q
        super()._read()

    def fill(self, response: Any, stamp: Any, stamped_pose: Callable[[], Any]) -> Any:
        """Write the answer into a GetPositionFK response, of poses that `stamped_pose` makes; return it."""
        frame_id = self._fk_request.header.frame_id or self._prefix + self._model.root
        if self.answer.error_code is ErrorCode.SUCCESS:
            response.fk_link_names = list(self._fk_request.fk_link_names)
            response.pose_stamped = [stamped_pose() for _ in response.fk_link_names]
            for stamped, row in zip(response.pose_stamped, self.answer.poses[0]):
                stamped.header.stamp, stamped.header.frame_id = stamp, frame_id
                fill_pose(stamped.pose, row)
        _fill_error(response.error_code, self.answer.error_code, self.answer.message)
        return response


def read_state(model: ServedModel, joints: JointSnapshot, robot_state: Any) -> JointSnapshot:
    """Put what a RobotState says over what joint_states said.

    Joints of several coordinates that the robot does not have are left out: MoveIt has one of its own, between the
    world and the robot. So are bodies attached to the robot: they move no link.

    Raises:
        Refusal: names of joints that the robot does not have or given twice, unequal lengths, numbers that are not finite.
    """
    q, seen = joints.q.copy(), joints.seen.copy()
    names, positions = robot_state.joint_state.name, array_from_field(robot_state.joint_state.position)
    if len(names) != len(positions):
        raise _wrong_state(f"{len(names)} names but {len(positions)} positions")
    columns = {name: column for column, name in enumerate(model.columns)}
    if unknown := [name for name in names if name not in columns and name not in model.silent]:
        raise _wrong_state(str(pk.UnknownJoint("joint", abridged(unknown[0]), model.columns, "joint_state")))
    if len(set(names)) != len(names):
        raise _wrong_state("joint_state names a joint twice")
    if not np.isfinite(positions).all():
        raise _wrong_state(f"{abridged(names[int(np.argmin(np.isfinite(positions)))])!r} is at no finite position")
    entries = [entry for entry, name in enumerate(names) if name in columns]
    chosen = [columns[names[entry]] for entry in entries]
    q[chosen], seen[chosen] = positions[entries], True
    _put_multi_dof(model, robot_state.multi_dof_joint_state, q, seen)
    return JointSnapshot(q, seen)


def _put_multi_dof(model: ServedModel, state: Any, q: np.ndarray, seen: np.ndarray) -> None:
    if len(state.joint_names) != len(state.transforms):
        raise _wrong_state(f"{len(state.joint_names)} multi-DOF joints but {len(state.transforms)} transforms")
    kinds = (JointType.BALL, JointType.FLOATING, JointType.PLANAR)
    spans = {span.joint.name: span for span in model.spans if span.joint.type in kinds}
    for name, row in zip(state.joint_names, rows_from_transforms(state.transforms)):
        if (span := spans.get(name)) is None:
            continue
        if problem := problem_of_row(row):
            raise _wrong_state(f"{name}: {problem}")
        q[span.q_slice], seen[span.q_slice] = coordinates(span.joint, row), True


def _wrong_state(reason: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_ROBOT_STATE, f"robot_state: {reason}")


def _refuse_what_is_not_done(ik_request: Any, settings: Settings) -> None:
    if ik_request.avoid_collisions and settings.refuse_collisions:
        raise Refusal(
            ErrorCode.COLLISION_CHECKING_UNAVAILABLE,
            "avoid_collisions is set, and the node checks no collisions; with the parameter moveit.avoid_collisions at "
            "'ignore' it solves all the same, for callers that check for themselves",
        )
    kinds = ("joint_constraints", "position_constraints", "orientation_constraints", "visibility_constraints")
    if given := [kind for kind in kinds if getattr(ik_request.constraints, kind)]:
        raise Refusal(ErrorCode.INVALID_GOAL_CONSTRAINTS, f"constraints are not taken: {', '.join(given)}")


def _read_goal(ik_request: Any) -> tuple[list[Any], tuple[str, ...]]:
    """Give the poses and their tips; no tip where it is left to the group. The fields for several, if filled, come first."""
    stamped, tips = list(ik_request.pose_stamped_vector), tuple(ik_request.ik_link_names)
    if not stamped and not tips:
        stamped = [ik_request.pose_stamped]
    if len(stamped) == 1 and not tips:
        tips = (ik_request.ik_link_name,) if ik_request.ik_link_name else ()
    elif len(tips) != len(stamped):
        raise Refusal(
            ErrorCode.INVALID_LINK_NAME,
            f"{len(tips)} ik_link_names but {len(stamped)} poses in pose_stamped_vector: each needs the other",
        )
    return stamped, tips


def _read_path(
    model: ServedModel, group: str, tips: tuple[str, ...], frame_ids: list[str], settings: Settings
) -> tuple[str, tuple[str, ...]]:
    """Give the base, empty for the root, and the tips."""
    if settings.groups and (group or not tips):
        if group not in settings.groups:
            known = list(settings.groups)
            raise Refusal(
                ErrorCode.INVALID_GROUP_NAME,
                f"group_name {abridged(group)!r} is none of {known}, the parameter moveit.groups",
            )
        base, own_tip = settings.groups[group]
        return base, tips or (own_tip,)
    tips = tips or ((settings.tip,) if settings.tip else ())
    links = {link_of_frame(model, frame_id, settings.frame_prefix) for frame_id in frame_ids}
    frame = links.pop() if len(links) == 1 else ""
    is_base = tips and all(frame in model.above(tip) and model.columns_between(tip, frame) for tip in tips)
    return (frame if is_base else ""), tips


def _code(answer: IKAnswer) -> ErrorCode:
    """Give the error code of an answer for one target, which has a status of its own."""
    if answer.error_code is ErrorCode.NO_IK_SOLUTION:
        return _CODES.get(pk.IKStatus(answer.status[0, 0]), ErrorCode.NO_IK_SOLUTION)
    return answer.error_code


def _fill_error(error_code: Any, code: ErrorCode, message: str) -> None:
    """Fill a MoveItErrorCodes, which tells reasons on some distributions only."""
    error_code.val = int(code)
    if message and hasattr(error_code, "message"):
        error_code.message, error_code.source = message, "pk"
