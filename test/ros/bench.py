"""What the ROS tests stand on: processes of the node, and a test's own node that is spun only while the test waits.

No thread spins in the background: nothing runs at the end of a test that could outlive it.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rcl_interfaces.srv import SetParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String

with warnings.catch_warnings():  # what ROS imports at the first message type warns on newer Pythons
    warnings.simplefilter("ignore")
    import rosidl_generator_py  # noqa: F401

REPOSITORY = Path(__file__).parents[2]
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)
BEST_EFFORT = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)
PATIENCE = 150.0  # [s]; a node imports torch and may compile its kernels, on a machine that others use too

_numbers = itertools.count()


class Program:
    """A program of ours in a process of its own; killed at the end if it is still there."""

    def __init__(self, log: Path, module: str, *arguments: str, environment: dict[str, str] | None = None) -> None:
        paths = [str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._log = log
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)} | (environment or {}),
            )

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    @property
    def output(self) -> str:
        """What it has printed so far."""
        return self._log.read_text(errors="replace")

    def stop(self, number: int = signal.SIGINT, timeout: float = PATIENCE) -> int:
        """Send a signal to the process alone; give its exit code."""
        self._process.send_signal(number)
        return self.wait(timeout)

    def wait(self, timeout: float = PATIENCE) -> int:
        """Wait for its end; give its exit code."""
        return self._process.wait(timeout)

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_: object) -> None:
        if self.running:
            self._process.kill()
            self._process.wait()


def kinematics_node(
    folder: Path,
    namespace: str,
    environment: dict[str, str] | None = None,
    module: str = "pk_ros.node",
    **parameters: str | bool | int | float,
) -> Program:
    """Start the node in a namespace, as config/kinematics.yaml has it but for `parameters`: `__` stands for a dot."""
    file = folder / f"parameters{next(_numbers)}.yaml"
    lines = [f"    {name.replace('__', '.')}: {_yaml(value)}\n" for name, value in parameters.items()]
    file.write_text("".join(["/**:\n  ros__parameters:\n", *lines]) if lines else "")
    log = folder / f"node{next(_numbers)}.log"
    defaults = REPOSITORY / "config" / "kinematics.yaml"
    arguments = ["-r", f"__ns:={namespace}", "--params-file", str(defaults)]
    if lines:
        arguments += ["--params-file", str(file)]
    return Program(log, module, "--ros-args", *arguments, environment=environment)


def _yaml(value: str | bool | int | float) -> str:
    """Write a scalar: in double quotes, with the escapes that YAML and JSON share."""
    return json.dumps(value)


class Bench:
    """A node of the test's own, in a context of its own, in the namespace of the node under test."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = Node(f"bench{next(_numbers)}", namespace=namespace, context=self.context)
        self._executor = SingleThreadedExecutor(context=self.context)
        self._executor.add_node(self.node)

    def __enter__(self) -> Bench:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)

    def wait_until(self, condition: Callable[[], Any], what: str, timeout: float = PATIENCE) -> Any:
        """Spin until the condition gives something true, and give that; fail with `what` was waited for."""
        deadline = time.monotonic() + timeout
        while not (found := condition()):
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {timeout:g} s in vain for {what}")
            self._executor.spin_once(timeout_sec=0.02)
        return found

    def spin_for(self, duration: float) -> None:
        """Take messages for a while [s]."""
        end = time.monotonic() + duration
        while time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.02)

    def collect(self, message_type: type, topic: str, qos: QoSProfile | int = 100) -> list[Any]:
        """Subscribe; the list that is given fills while the bench spins."""
        messages: list[Any] = []
        self.node.create_subscription(message_type, topic, messages.append, qos)
        return messages

    def latch_description(self, text: str) -> None:
        """Publish a robot_description that stays."""
        if not hasattr(self, "_description"):
            self._description = self.node.create_publisher(String, "robot_description", LATCHED)
        self._description.publish(String(data=text))

    def joint_states(self, qos: QoSProfile | int = 10) -> JointStates:
        """Make a publisher of joint_states."""
        return JointStates(self, qos)

    def diagnosis(self, wanted: str, level: int | None = None) -> dict[str, str]:
        """Wait until the node's diagnosis, or a value of it, holds the words `wanted`; give the values."""
        arrays = self.collect(DiagnosticArray, "/diagnostics")

        def found() -> dict[str, str] | None:
            for status in (status for array in arrays for status in array.status):
                ours = status.name.startswith(f"{self.namespace}/kinematics")
                values = {pair.key: pair.value for pair in status.values} | {"message": status.message}
                if ours and level in (None, status.level[0]) and any(wanted in value for value in values.values()):
                    return values
            return None

        return self.wait_until(found, f"a diagnosis with {wanted!r}")

    def set_parameter(self, name: str, value: str | bool | int | float) -> tuple[bool, str]:
        """Set a parameter of the node; give whether it took it, and why not."""
        request = SetParameters.Request(parameters=[Parameter(name, value=value).to_parameter_msg()])
        (result,) = self.call(SetParameters, "kinematics/set_parameters", request).results
        return result.successful, result.reason

    def call(self, service_type: type, name: str, request: Any) -> Any:
        """Call a service and give its response. It is asked again: a server may drop its first answer to a new client."""
        client = self.node.create_client(service_type, name)
        futures: list[Any] = []
        again_at = 0.0

        def answered() -> Any:
            nonlocal again_at
            if time.monotonic() > again_at:
                futures.append(client.call_async(request))
                again_at = time.monotonic() + 5.0
            return next((future for future in futures if future.done()), None)

        try:
            self.wait_until(client.service_is_ready, f"the service {name}")
            return self.wait_until(answered, f"an answer of {name}").result()
        finally:
            self.node.destroy_client(client)


def held(pid: int) -> dict[str, float]:
    """Give what a process holds: memory [MB], threads and open files."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    counts = {what: len(os.listdir(f"/proc/{pid}/{folder}")) for what, folder in (("threads", "task"), ("files", "fd"))}
    return {"memory": pages * os.sysconf("SC_PAGE_SIZE") / 2**20, **counts}


@contextmanager
def serving(folder: Path, namespace: str, robot: Path) -> Iterator[Program]:
    """Run a node that serves a robot, given as a parameter, and is still there at the end."""
    with kinematics_node(folder, namespace, robot_description=robot.read_text()) as program:
        with Bench(namespace) as bench:
            bench.diagnosis(f"serving {robot.stem}")  # the first start of all compiles the kernels
        yield program
        assert program.running, program.output


class JointStates:
    """A publisher of joint_states whose messages can be told apart by their stamps."""

    def __init__(self, bench: Bench, qos: QoSProfile | int) -> None:
        self._bench = bench
        self._publisher = bench.node.create_publisher(JointState, "joint_states", qos)
        self._count = 0

    def send(
        self, names: Sequence[str], positions: Sequence[float], velocities: Sequence[float] = (), back: int = 0
    ) -> int:
        """Send one message; give the nanoseconds of its stamp, which no other message has unless it goes `back`."""
        message = JointState(name=list(names), position=[float(value) for value in positions])
        message.velocity = [float(value) for value in velocities]
        message.header.stamp.sec = id(self) % 2**31
        self._count += 1
        message.header.stamp.nanosec = self._count - back
        self._publisher.publish(message)
        return self._count

    def poses_of(
        self, arrived: list[Any], names: Sequence[str], positions: Sequence[float], what: str = "its link poses"
    ) -> Any:
        """Send until the node answers, and give the LinkPoses with the stamp of a message sent here.

        It is sent again, since a volatile message sent before the two have found each other is lost.
        """
        stamps: set[int] = set()
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            stamps.add(self.send(names, positions))
            self._bench.spin_for(0.05)
            for poses in arrived:
                stamp = poses.header.stamp
                if stamp.sec == id(self) % 2**31 and stamp.nanosec in stamps:
                    return poses
        raise AssertionError(f"waited {PATIENCE:g} s in vain for {what}")
