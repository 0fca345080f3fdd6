"""The node: link poses for each joint_states message, and inverse and forward kinematics as services.

Only here is rclpy; what is decided is decided in the modules beside this one.

Threads: the executor's one thread takes every message and publishes; `_reader` reads descriptions and compiles kernels;
`_solvers` answer requests, so that a large one neither delays joint_states nor the small one behind it. They hand back
through a guard condition, which wakes the executor.
"""

from __future__ import annotations

from .running import leave_on_signals, run

if __name__ == "__main__":
    leave_on_signals()  # until run() takes over: the imports below take seconds

import functools
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Pose, TransformStamped
from rcl_interfaces.msg import SetParametersResult
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.task import Future
from sensor_msgs.msg import JointState
from std_msgs.msg import String

import pk_core as pk

from .description import DescriptionReader
from .diagnostics import Diagnosis, Facts, Level, abridged, diagnose
from .joint_states import JointTable
from .messages import descriptor, diagnostic_array
from .msg import LinkPoses
from .parameters import PARAMETERS, find_problems
from .served_model import ServedModel
from .services import Defaults, ErrorCode, answer_fk, answer_ik, fill_fk_response, fill_ik_response
from .srv import ComputeFK, SolveIK
from .streams import LinkPosesStream, TransformStream

try:
    from tf2_msgs.msg import TFMessage
except ModuleNotFoundError:  # only publish_tf needs it
    TFMessage = None

_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)
_ANSWERED = (ErrorCode.SUCCESS, ErrorCode.NO_IK_SOLUTION)
_COMPLAIN_EVERY = 5.0  # [s]


def _never_raises(callback: Callable[..., None]) -> Callable[..., None]:
    """Log what a callback raises: an exception in one message must not end the node."""

    @functools.wraps(callback)
    def guarded(self: KinematicsNode, *args: Any) -> None:
        try:
            callback(self, *args)
        except Exception as error:
            self._complain(f"{callback.__name__}: {type(error).__name__}: {error}")

    return guarded


class KinematicsNode(Node):
    """Serve the kinematics of one robot. See `parameters.PARAMETERS` for what can be set."""

    def __init__(self, **options: Any) -> None:
        self._at_end = ExitStack()  # first of all: rclpy destroys a node that could not be made, too
        super().__init__("kinematics", **options)
        values = self._declare_parameters()
        self._facts = Facts(device=values["device"])
        self._model: ServedModel | None = None
        self._joints: JointTable | None = None
        self._said: Diagnosis | None = None
        self._waking = threading.Lock()
        self._wake = self.create_guard_condition(self._on_wake)
        self._reader = DescriptionReader(values["device"], self._trigger)
        self._solvers = ThreadPoolExecutor(2, "pk_solver")
        self._at_end.callback(self._forget_guard)
        self._at_end.callback(self._reader.close)
        self._at_end.callback(self._solvers.shutdown, wait=False, cancel_futures=True)
        self._service_group = ReentrantCallbackGroup()
        self._connect(values)
        self._offer_first(values)

    def destroy_node(self) -> None:
        """Stop the threads, without waiting for what they are at, then the rest."""
        self._at_end.close()
        super().destroy_node()

    # --- start --------------------------------------------------------------------------------------------------------

    def _declare_parameters(self) -> dict[str, Any]:
        try:
            for parameter in PARAMETERS:
                self.declare_parameter(parameter.name, parameter.default, descriptor(parameter))
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            raise SystemExit(f"{self.get_name()}: {error}") from error
        values = {parameter.name: self._value(parameter.name) for parameter in PARAMETERS}
        if problems := find_problems(values):
            raise SystemExit(f"{self.get_name()}: {'; '.join(problems)}")
        self.add_on_set_parameters_callback(self._on_parameters)
        return values

    def _value(self, name: str) -> Any:
        return self.get_parameter(name).value

    def _connect(self, values: dict[str, Any]) -> None:
        reliable = values["joint_states.reliability"] == "reliable"
        joint_states_qos = QoSProfile(
            depth=values["joint_states.depth"],
            reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        )
        self._link_poses = self.create_publisher(LinkPoses, "~/link_poses", 10)
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._tf = self._tf_static = None
        if values["publish_tf"]:
            self._connect_tf()
        self.create_subscription(String, "robot_description", self._on_description, _LATCHED)
        self.create_subscription(JointState, "joint_states", self._on_joint_states, joint_states_qos)
        self.create_timer(1.0, self._report, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def _connect_tf(self) -> None:
        if TFMessage is None:
            self.get_logger().error("publish_tf is set but the package tf2_msgs is not installed: nothing goes to /tf")
            return
        self._tf = self.create_publisher(TFMessage, "/tf", 100)
        self._tf_static = self.create_publisher(TFMessage, "/tf_static", _LATCHED)

    # --- descriptions -------------------------------------------------------------------------------------------------

    def _offer_first(self, values: dict[str, Any]) -> None:
        if values["robot_description"]:
            self._reader.offer(values["robot_description"], "the parameter robot_description")
        elif path := values["robot_file"]:
            try:
                self._reader.offer(Path(path).read_text(encoding="utf-8"), path)
            except (OSError, UnicodeDecodeError) as error:
                self._refuse(path, f"robot_file can't be read: {error}")

    def _on_parameters(self, parameters: Sequence[RosParameter]) -> SetParametersResult:
        values = {parameter.name: parameter.value for parameter in parameters}
        problems = find_problems(values)
        text = values.get("robot_description")
        if text and not problems:
            try:
                pk.parse_urdf(text)
            except pk.PkError as error:
                problems.append(str(error))
            else:
                self._reader.offer(text, "the parameter robot_description")
        return SetParametersResult(successful=not problems, reason="; ".join(problems))

    @_never_raises
    def _on_description(self, message: String) -> None:
        self._reader.offer(message.data, "the topic robot_description")

    def _trigger(self) -> None:
        """Wake the executor; called on any thread, which may outlive the node."""
        with self._waking:
            if self._wake is not None:
                self._wake.trigger()

    def _forget_guard(self) -> None:
        with self._waking:
            self._wake = None

    @_never_raises
    def _on_wake(self) -> None:
        for outcome in self._reader.take():
            if outcome.model is None:
                self._refuse(outcome.source, outcome.reason)
            else:
                self._install(outcome.model, outcome.source)
            self._report()

    def _refuse(self, source: str, reason: str) -> None:
        self._facts.refused = reason
        self.get_logger().error(f"description from {source} refused: {abridged(reason)}")

    def _install(self, model: ServedModel, source: str) -> None:
        """Serve a model from the next message on; requests that are being answered go on with theirs."""
        first = self._model is None
        self._model = model
        self._joints = JointTable(model.columns, model.neutral, model.silent)
        self._start_streams(model)
        self._facts.robot, self._facts.source, self._facts.refused = model.robot.name, source, ""
        self._facts.last_message = None
        if first:
            self.create_service(SolveIK, "~/solve_ik", self._on_solve_ik, callback_group=self._service_group)
            self.create_service(ComputeFK, "~/compute_fk", self._on_compute_fk, callback_group=self._service_group)
        self.get_logger().info(f"serving {model.robot!r}, description from {source}")

    # --- poses --------------------------------------------------------------------------------------------------------

    @_never_raises
    def _on_joint_states(self, message: JointState) -> None:
        self._facts.messages += 1
        if self._model is None:
            return
        merge = self._joints.merge(message.name, message.position)
        if merge.problem:
            self._facts.last_problem = merge.problem
            self._complain(f"joint_states: {merge.problem}")
        if not merge.used and self._model.columns:
            self._facts.rejected += 1
            return
        self._facts.last_message = time.monotonic()
        self._publish(message.header.stamp)

    def _publish(self, stamp: Time) -> None:
        Ts = self._model.place(self._joints.q)
        self._link_poses.publish(self._poses_stream.fill(Ts, self._joints.seen, stamp))
        if self._tf:
            self._tf.publish(self._tf_stream.fill(Ts, self._joints.seen, stamp))

    def _start_streams(self, model: ServedModel) -> None:
        self._poses_stream = LinkPosesStream(model, LinkPoses, Pose)
        if self._tf:
            self._tf_stream = TransformStream(model, TFMessage, TransformStamped, fixed=False)
            fixed = TransformStream(model, TFMessage, TransformStamped, fixed=True)
            everything = np.ones(len(model.columns), dtype=bool)  # a fixed joint stands, whatever is above it
            stamp = self.get_clock().now().to_msg()
            self._tf_static.publish(fixed.fill(model.place(model.neutral), everything, stamp))

    # --- services -----------------------------------------------------------------------------------------------------

    async def _on_solve_ik(self, request: SolveIK.Request, response: SolveIK.Response) -> SolveIK.Response:
        arrived = time.monotonic()
        defaults = Defaults(
            tip=self._value("tip"),
            position_tolerance=self._value("ik.position_tolerance"),
            rotation_tolerance=self._value("ik.rotation_tolerance"),
            timeout=self._value("ik.timeout"),
            timeout_per_target=self._value("ik.timeout_per_target"),
        )
        answer = await self._off_thread(answer_ik, self._model, self._joints.snapshot(), request, defaults, arrived)
        self._count(answer.error_code)
        return fill_ik_response(response, answer)

    async def _on_compute_fk(self, request: ComputeFK.Request, response: ComputeFK.Response) -> ComputeFK.Response:
        answer = await self._off_thread(answer_fk, self._model, self._joints.snapshot(), request)
        self._count(answer.error_code)
        return fill_fk_response(response, answer)

    def _off_thread(self, function: Callable[..., Any], *args: Any) -> Future:
        """Call a function, which must not raise, on a solver thread; await what this gives for its result."""
        future: Future = Future()

        def work() -> None:
            future.set_result(function(*args))
            self._trigger()  # the executor looks at waiting coroutines when it wakes

        self._solvers.submit(work)
        return future

    def _count(self, code: ErrorCode) -> None:
        self._facts.requests += 1
        self._facts.refusals += code not in _ANSWERED

    # --- what it says of itself ---------------------------------------------------------------------------------------

    @_never_raises
    def _report(self) -> None:
        if self._joints is not None:
            self._facts.missing, self._facts.unknown = self._joints.missing(), sorted(self._joints.unknown)
            self._facts.columns = len(self._joints.q)
        self._facts.loading = self._reader.busy
        diagnosis = diagnose(self._facts, time.monotonic())
        if diagnosis != self._said:
            self._said = diagnosis
            self._say(diagnosis)
        name, stamp = self.get_fully_qualified_name(), self.get_clock().now().to_msg()
        self._diagnostics.publish(diagnostic_array(diagnosis, name, self._facts.robot, stamp))

    def _say(self, diagnosis: Diagnosis) -> None:
        if diagnosis.level is Level.OK:  # one line of code for each level: rclpy wants it so
            self.get_logger().info(diagnosis.message)
        elif diagnosis.level is Level.WARN:
            self.get_logger().warning(diagnosis.message)
        else:
            self.get_logger().error(diagnosis.message)

    def _complain(self, problem: str) -> None:
        self.get_logger().warning(abridged(problem), throttle_duration_sec=_COMPLAIN_EVERY)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node as a program; return the exit code."""
    return run(KinematicsNode, args)


if __name__ == "__main__":
    sys.exit(main())
