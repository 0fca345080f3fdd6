"""The node: link poses for each joint_states message, and inverse and forward kinematics as services.

The thin shell: what is decided is decided in modules that know no rclpy.

Threads: the executor's one thread takes every message but joint_states and their like, which `_poses` takes and answers on
its own; `_reader` reads descriptions and compiles kernels; `_server` takes requests on one thread and solves them on two more, so
that a large one neither delays joint_states nor the small one behind it. They hand back through guard conditions, which wake
the executors.
"""

from __future__ import annotations

from .running import leave, leave_on_signals, run

if __name__ == "__main__":
    leave_on_signals()  # until run() takes over: the imports below take seconds

import functools
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.msg import SetParametersResult
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.clock import Clock, ClockType, JumpThreshold
from rclpy.duration import Duration
from rclpy.exceptions import InvalidParameterTypeException, InvalidParameterValueException
from rclpy.parameter import Parameter as RosParameter
from rclpy.task import Future
from std_msgs.msg import String
from std_srvs.srv import Trigger

from .description import Description, DescriptionReader, Outcome, make_ready
from .diagnostics import Facts, Level, abridged, diagnose
from .lanes import NodeWithLanes
from .managed import Managed
from .messages import descriptor, diagnostic_array, model_message
from .msg import Model
from .node_log import Announcer, NodeLog
from .parameters import PARAMETERS, find_problems, request_settings, value_problems
from .pose_topics import LATCHED, PoseTopics
from .served_model import ServedModel, warm_up
from .serving import KinematicsServer


def _never_raises(callback: Callable[..., None]) -> Callable[..., None]:
    """Log what a callback raises: an exception in one message must not end the node."""

    @functools.wraps(callback)
    def guarded(self: KinematicsNode, *args: Any) -> None:
        try:
            callback(self, *args)
        except Exception as error:
            self._log.complain(f"{callback.__name__}: {type(error).__name__}: {error}")

    return guarded


class KinematicsNode(Managed, NodeWithLanes):
    """Serve the kinematics of one robot. See `parameters.PARAMETERS` for what can be set."""

    def __init__(self, **options: Any) -> None:
        self._at_end = ExitStack()  # first of all: rclpy destroys a node that could not be made, too
        NodeWithLanes.__init__(self, "kinematics", **options)
        self._log = NodeLog(self.get_logger())
        self._values = self._declare_parameters()
        self._facts = Facts()
        self._announcer = Announcer()
        self._model: ServedModel | None = None
        self._served: Description | None = None
        self._heard: Description | None = None
        self._offered: Description | None = None
        self._serving = False
        self._waking = threading.Lock()
        self._wake = self.create_guard_condition(self._on_wake)
        self._at_end.callback(self._forget_guard)
        self._poses = PoseTopics(self, self._log.complain)
        self.fast_lane = self._poses.lane
        self._at_end.callback(self.fast_lane.close)
        self._poses.configure(self._values)
        self._reader = DescriptionReader(self._trigger)
        self._at_end.callback(self._reader.close)
        self._server = KinematicsServer(
            self,
            self._values,
            view=self._poses.view,
            settings=lambda: request_settings(self._value),
            wake=self._trigger,
            complain=self._log.complain,
        )
        self._at_end.callback(self._server.close)
        self._warmer = ThreadPoolExecutor(1, "pk_warm_up")
        self._at_end.callback(self._warmer.shutdown, wait=False, cancel_futures=True)
        self._connect()
        if self._values["managed"]:
            self.manage()
        else:
            self.begin_serving()
            if (description := self._description_in(self._values)) is not None:
                self._offer(description)

    def destroy_node(self) -> None:
        """Stop the threads, without waiting for what they are at, then the rest."""
        self._at_end.close()
        super().destroy_node()

    def _connect(self) -> None:
        """Make what is there in every state of the node."""
        self._diagnostics = self.create_publisher(DiagnosticArray, "/diagnostics", 10)
        self._models = self.create_publisher(Model, "~/model", LATCHED)
        self.create_subscription(String, "robot_description", self._on_description, LATCHED)
        self.create_service(Trigger, "~/reset", self._on_reset)
        self.create_service(Trigger, "~/warmup", self._on_warmup, callback_group=ReentrantCallbackGroup())
        self.create_timer(1.0, self._report, clock=Clock(clock_type=ClockType.STEADY_TIME))
        back = JumpThreshold(min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True)
        self._jumps = self.get_clock().create_jump_callback(back, post_callback=lambda _: self._poses.forget_time())

    # --- what a lifecycle is made of ------------------------------------------------------------------------------------

    def prepare(self) -> bool:
        """Read the description and compile; without one that can be served there is nothing to serve."""
        description = self._description_in(self._values) or self._heard
        if description is None:
            self._refuse("nowhere", "there is none yet: set robot_description or robot_file, or latch it on the topic")
            return False
        self._take(make_ready(description))
        return self._model is not None

    def begin_serving(self) -> None:
        """Subscribe, publish poses, and offer services where there is a robot."""
        self._serving = True
        self._poses.open()
        if self._model is not None:
            self._server.offer()

    def end_serving(self) -> None:
        """Take that back; the robot is kept."""
        self._serving = False
        self._poses.close()
        self._server.withdraw()

    def forget(self) -> None:
        """Forget the robot."""
        self._model = self._served = None
        self._poses.serve(None)
        self._facts.robot = self._facts.source = self._facts.hash = self._facts.refused = ""

    # --- parameters ---------------------------------------------------------------------------------------------------

    def _declare_parameters(self) -> dict[str, Any]:
        try:
            for parameter in PARAMETERS:
                self.declare_parameter(parameter.name, parameter.default, descriptor(parameter))
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            raise SystemExit(f"{self.get_name()}: {error}") from error
        values = self._all_values()
        if problems := value_problems(values):
            raise SystemExit(f"{self.get_name()}: {'; '.join(problems)}")
        self.add_on_set_parameters_callback(self._on_parameters)
        return values

    def _value(self, name: str) -> Any:
        return self.get_parameter(name).value

    def _all_values(self) -> dict[str, Any]:
        return {parameter.name: self._value(parameter.name) for parameter in PARAMETERS}

    def _on_parameters(self, parameters: Sequence[RosParameter]) -> SetParametersResult:
        """Say whether values may be set; `_on_wake` does what follows from them once they are."""
        values = {parameter.name: parameter.value for parameter in parameters}
        problems = find_problems(values, self._model)
        if not problems and (description := self._description_in(values)) is not None:
            if problem := description.problem():
                problems.append(f"description from {description.source} refused: {abridged(problem)}")
            elif self.state != "unconfigured":
                self._offer(description)
        if not problems:
            self._trigger()
        return SetParametersResult(successful=not problems, reason="; ".join(problems))

    def _description_in(self, values: Mapping[str, Any]) -> Description | None:
        """Give the description that values of parameters bring, None where they bring none."""
        device = values.get("device", self._values["device"])
        if text := values.get("robot_description"):
            return Description(text, "the parameter robot_description", device)
        if path := values.get("robot_file"):
            return Description(Path(path), f"robot_file {path}", device)
        present = self._served or self._offered
        return replace(present, device=device) if present is not None and device != present.device else None

    # --- descriptions -------------------------------------------------------------------------------------------------

    @_never_raises
    def _on_description(self, message: String) -> None:
        self._heard = Description(message.data, "the topic robot_description", self._values["device"])
        if self.state != "unconfigured":
            self._offer(self._heard)

    def _offer(self, description: Description) -> None:
        self._offered = description
        self._reader.offer(description)

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
        if (values := self._all_values()) != self._values:
            self._values = values
            self._poses.configure(values)
            self._note_what_does_not_fit()
        for outcome in self._reader.take():
            self._take(outcome)
            self._report()

    def _take(self, outcome: Outcome) -> None:
        if outcome.model is None:
            self._refuse(outcome.description.source, outcome.reason)
        elif self.state != "finalized":
            self._install(outcome.model, outcome.description)

    def _refuse(self, source: str, reason: str) -> None:
        self._facts.refused = reason
        self._log.say(Level.ERROR, f"description from {source} refused: {abridged(reason)}")

    def _install(self, model: ServedModel, description: Description) -> None:
        """Serve a model from the next message on; requests that are being answered go on with theirs."""
        self._model, self._served = model, description
        self._poses.serve(model)
        self._models.publish(model_message(model, description.source, self.get_clock().now().to_msg()))
        self._facts.robot, self._facts.hash = model.robot.name or "a robot without a name", model.hash
        self._facts.source, self._facts.refused, self._facts.device = description.source, "", description.device
        self._note_what_does_not_fit()
        if self._serving:
            self._server.offer()
        self._log.say(Level.OK, f"serving {model.robot!r}, description from {description.source}")

    def _note_what_does_not_fit(self) -> None:
        """Find what is set and does not fit the robot or the machine: it was set before they were known."""
        self._facts.notes = find_problems(self._values, self._model)

    # --- services -----------------------------------------------------------------------------------------------------

    def _on_reset(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Forget the joints, the counts and the refused description; the robot stays."""
        self._poses.reset()
        self._server.reset()
        self._facts.refused = ""
        response.success, response.message = True, "forgot what was heard of the joints, and what was counted"
        return response

    async def _on_warmup(self, request: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Compile or load whatever requests use; answer when that is done."""
        if self._model is None:
            response.message = "there is no robot yet"
            return response
        started = time.monotonic()
        problem: Future = Future()
        self._warmer.submit(self._warm_up, self._model, problem)
        await problem
        response.success = not problem.result()
        response.message = problem.result() or f"warm after {time.monotonic() - started:.3f} s"
        return response

    def _warm_up(self, model: ServedModel, problem: Future) -> None:
        try:
            warm_up(model)
        except Exception as error:  # the caller shall hear of it, whatever it is
            problem.set_result(f"{type(error).__name__}: {error}")
        else:
            problem.set_result("")
        self._trigger()  # the executor looks at waiting coroutines when it wakes

    # --- what it says of itself ---------------------------------------------------------------------------------------

    @_never_raises
    def _report(self) -> None:
        self._poses.tell(self._facts)
        self._server.tell(self._facts)
        self._facts.loading, self._facts.state = self._reader.busy, self.state
        now = time.monotonic()
        diagnosis = diagnose(self._facts, now)
        if self._announcer.is_news(diagnosis, now):
            self._log.say(diagnosis.level, diagnosis.message)
        name, stamp = self.get_fully_qualified_name(), self.get_clock().now().to_msg()
        self._diagnostics.publish(diagnostic_array(diagnosis, name, self._facts.robot, stamp))


def main(args: Sequence[str] | None = None) -> int:
    """Run the node as a program; return the exit code."""
    return run(KinematicsNode, args)


if __name__ == "__main__":
    leave(main())
