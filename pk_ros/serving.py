"""The services and the action of the node: messages in and out of the jobs of the work queue.

Part of the thin shell, so rclpy is known here; what is decided is decided in the jobs.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping
from typing import Any

from geometry_msgs.msg import PoseStamped
from rclpy.action import ActionServer, CancelResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.task import Future

from .action import SolveIKBatch
from .answer_time import AnswerTime
from .answers import fill_fk_response, fill_ik_response
from .diagnostics import Facts
from .fk_job import FKJob
from .frames import Frames
from .ik_job import IKJob
from .joint_states import JointSnapshot
from .moveit import PositionFKJob, PositionIKJob
from .request_lane import RequestLane
from .requests import ErrorCode, Settings
from .served_model import ServedModel
from .srv import ComputeFK, SolveIK
from .statistics import RequestCounts
from .work_queue import QueueFull, WorkQueue

try:
    from moveit_msgs.srv import GetPositionFK, GetPositionIK
except ModuleNotFoundError:  # the node's own services do the same
    GetPositionFK = GetPositionIK = None
try:
    from tf2_msgs.msg import TFMessage
except ModuleNotFoundError:  # only listen_to_tf needs it
    TFMessage = None

_FEEDBACK_EVERY = 0.1  # [s]
_RESULT_KEPT = 10  # [s]
_QUEUED_REQUESTS_OF_THE_LARGEST = 10  # may wait at once: bounds memory


class KinematicsServer:
    """Answers requests on threads of its own; the node's executor is free meanwhile."""

    def __init__(
        self,
        node: Node,
        values: Mapping[str, Any],
        *,
        view: Callable[[], tuple[ServedModel, JointSnapshot]],
        settings: Callable[[], Settings],
        wake: Callable[[], None],
        complain: Callable[[str], None],
    ) -> None:
        """Start the threads; services are offered by `offer`.

        Args:
            values: of the parameters that are taken at the start.
            view: gives the model served now, and the joints as they stand.
            settings: gives the parameters as they are.
            wake: makes the node's executor look at coroutines that wait, those of goals; called on any thread.
            complain: is told what requests raise.
        """
        self._node, self._view, self._settings, self._wake = node, view, settings, wake
        self._frames = self._listen_to_tf() if values["listen_to_tf"] else None
        max_rows = _QUEUED_REQUESTS_OF_THE_LARGEST * values["requests.max_targets"]
        self._queue = WorkQueue(values["requests.max_waiting"], max_rows, time.monotonic)
        # the default keeps 10: of more requests, or answers, that come while the executor is busy the rest would be lost
        self._qos = QoSProfile(depth=values["requests.max_waiting"])
        self._lane = RequestLane(node, self._qos, complain)
        self._identity = secrets.randbits(64)
        self._answer_time = AnswerTime()
        self._goals: dict[bytes, IKJob] = {}
        self._moveit = {name: values[f"moveit.{name}_service"] for name in ("ik", "fk")}
        self._action: ActionServer | None = None
        self.reset()

    def reset(self) -> None:
        """Forget what was counted."""
        self._counts = RequestCounts()

    def tell(self, facts: Facts) -> None:
        """Write down what was counted."""
        counts = self._counts
        facts.waiting, facts.requests, facts.refused_requests = self._queue.waiting, counts.requests, counts.refused
        facts.targets, facts.solved = counts.targets, counts.solved
        facts.request_times = counts.times.percentiles(50, 95, 99)

    def offer(self) -> None:
        """Advertise the services and the action, unless they are."""
        if self._action is not None:
            return
        self._lane.offer(SolveIK, "~/solve_ik", self._on_solve_ik)
        self._lane.offer(ComputeFK, "~/compute_fk", self._on_compute_fk)
        if GetPositionIK is not None and self._moveit["ik"]:
            self._lane.offer(GetPositionIK, self._moveit["ik"], self._on_position_ik)
        if GetPositionIK is not None and self._moveit["fk"]:
            self._lane.offer(GetPositionFK, self._moveit["fk"], self._on_position_fk)
        self._action = ActionServer(
            self._node,
            SolveIKBatch,
            "~/solve_ik_batch",
            self._on_goal,
            callback_group=ReentrantCallbackGroup(),
            cancel_callback=self._on_cancel,
            goal_service_qos_profile=self._qos,
            result_service_qos_profile=self._qos,
            cancel_service_qos_profile=self._qos,
            result_timeout=_RESULT_KEPT,
        )

    def withdraw(self) -> None:
        """Advertise them no longer."""
        self._lane.withdraw()
        if self._action is not None:
            self._action.destroy()
            self._action = None

    def close(self) -> None:
        """Answer nothing more; what is being solved is not waited for."""
        self._queue.close()
        self.withdraw()
        self._lane.close()

    def _listen_to_tf(self) -> Frames | None:
        if TFMessage is None:
            self._node.get_logger().error("listen_to_tf is set but the package tf2_msgs is not installed")
            return None
        frames = Frames()
        latched = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        for topic, qos in (("/tf", QoSProfile(depth=100)), ("/tf_static", latched)):
            self._node.create_subscription(TFMessage, topic, lambda message: frames.merge(message.transforms), qos)
        return frames

    async def _on_solve_ik(self, request: SolveIK.Request, response: SolveIK.Response) -> SolveIK.Response:
        arrived = time.monotonic()
        job = self._ik_job(request, arrived)
        await self._finish(job, arrived, self._lane.wake)
        response.server = self._identity
        filled = fill_ik_response(response, job.answer)
        self._learn_from(job)
        return filled

    async def _on_compute_fk(self, request: ComputeFK.Request, response: ComputeFK.Response) -> ComputeFK.Response:
        arrived = time.monotonic()
        job = FKJob(*self._view(), request, self._settings(), frames=self._frames)
        await self._finish(job, arrived, self._lane.wake)
        response.server = self._identity
        return fill_fk_response(response, job.answer)

    async def _on_position_ik(self, request: Any, response: Any) -> Any:
        arrived = time.monotonic()
        job = self._ik_job(request.ik_request, arrived, PositionIKJob)
        if job.leaves_collisions:
            self._node.get_logger().warning(
                "a request is to avoid collisions, which are not looked for (parameter moveit.avoid_collisions)",
                once=True,
            )
        await self._finish(job, arrived, self._lane.wake)
        filled = job.fill(response, self._node.get_clock().now().to_msg())
        self._learn_from(job)
        return filled

    async def _on_position_fk(self, request: Any, response: Any) -> Any:
        arrived = time.monotonic()
        job = PositionFKJob(*self._view(), request, self._settings(), frames=self._frames)
        await self._finish(job, arrived, self._lane.wake)
        return job.fill(response, self._node.get_clock().now().to_msg(), PoseStamped)

    async def _on_goal(self, goal: ServerGoalHandle) -> SolveIKBatch.Result:
        arrived, key = time.monotonic(), bytes(goal.goal_id.uuid)
        job = self._goals[key] = self._ik_job(goal.request, arrived)
        if goal.is_cancel_requested:  # before it began
            job.cancel()
        try:
            await self._finish(job, arrived, self._wake, lambda: goal.publish_feedback(_feedback(job)))
        finally:
            del self._goals[key]
        _end_goal(goal, job.answer.error_code)
        return fill_ik_response(SolveIKBatch.Result(), job.answer)

    def _on_cancel(self, goal: ServerGoalHandle) -> CancelResponse:
        if job := self._goals.get(bytes(goal.goal_id.uuid)):
            job.cancel()
        return CancelResponse.ACCEPT

    def _ik_job(self, request: Any, arrived: float, kind: type[IKJob] = IKJob) -> IKJob:
        model, joints = self._view()
        settings, expected = self._settings(), self._answer_time.expected
        return kind(model, joints, request, settings, arrived, frames=self._frames, answer_time=expected)

    def _learn_from(self, job: IKJob) -> None:
        if job.timed_out:
            self._answer_time.learn(job.weight, time.monotonic() - job.deadline)

    async def _finish(
        self,
        job: IKJob | FKJob,
        arrived: float,
        wake: Callable[[], None],
        report: Callable[[], None] = lambda: None,
    ) -> None:
        """Have a job worked at until it has an answer; `report` is called now and then meanwhile."""
        if job.answer is None:
            progress = _Progress(wake)
            try:
                self._queue.submit(job, progress.tell)
            except QueueFull as error:
                job.refuse(ErrorCode.FAILURE, str(error))
            else:
                while not await progress.finished():
                    report()
        answer = job.answer
        self._counts.count(
            time.monotonic() - arrived, refused=answer.refused, targets=answer.n_targets, solved=answer.n_solved
        )


class _Progress:
    """Carries what a worker tells of a job to the coroutine that awaits it."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._news = Future()
        self._finished = False
        self._due = time.monotonic() + _FEEDBACK_EVERY

    def tell(self, finished: bool) -> None:
        """Take the end of a slice, on the worker's thread."""
        now = time.monotonic()
        if finished or now >= self._due:
            self._due = now + _FEEDBACK_EVERY
            self._finished = finished  # before the future is set: see below
            self._news.set_result(None)
            self._wake()

    async def finished(self) -> bool:
        """Wait for news; give whether the job is done."""
        await self._news
        self._news = Future()  # an end that was told to the old one in this instant shows in the flag
        return self._finished


def _feedback(job: IKJob) -> SolveIKBatch.Feedback:
    return SolveIKBatch.Feedback(targets=job.weight, done=job.n_done, solved=job.n_solved)


def _end_goal(goal: ServerGoalHandle, code: ErrorCode) -> None:
    if code in (ErrorCode.SUCCESS, ErrorCode.NO_IK_SOLUTION):
        goal.succeed()
    elif code is ErrorCode.PREEMPTED:
        goal.canceled()
    else:
        goal.abort()
