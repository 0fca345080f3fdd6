"""Publish joint_states that swing every joint of a robot inside its limits: something to look at without a robot."""

from __future__ import annotations

from .running import leave_on_signals, run

if __name__ == "__main__":
    leave_on_signals()  # until run() takes over: the imports below take seconds

import math
import sys
from collections.abc import Sequence
from pathlib import Path

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from pk_core.model import Joint, JointType, Robot
from pk_core.parsers.urdf import parse_urdf

_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)
_SCALAR = (JointType.REVOLUTE, JointType.CONTINUOUS, JointType.PRISMATIC, JointType.SCREW)
_SHARE_OF_RANGE = 0.8
_PHASE_STEP = 2.4  # [rad], near the golden angle: no two joints swing alike


def swinging_joints(robot: Robot) -> list[Joint]:
    """Choose the joints with one coordinate of their own."""
    return [joint for joint in robot.joints if joint.type in _SCALAR and joint.mimic is None]


def swing(joints: Sequence[Joint], time: float, period: float = 10.0) -> tuple[list[float], list[float]]:
    """Give positions [rad] or [m] and velocities of joints at a time [s] of their swing."""
    positions, velocities = [], []
    for i, joint in enumerate(joints):
        lower, upper = _range(joint)
        reach = 0.5 * _SHARE_OF_RANGE * (upper - lower)
        angle = 2.0 * math.pi * time / period + i * _PHASE_STEP
        positions.append(0.5 * (lower + upper) + reach * math.sin(angle))
        velocities.append(reach * 2.0 * math.pi / period * math.cos(angle))
    return positions, velocities


def _range(joint: Joint) -> tuple[float, float]:
    """Give the limits of a joint, some of our own where it has none."""
    lower, upper = joint.limits
    widest = 0.5 if joint.type is JointType.PRISMATIC else math.pi
    return max(lower, -widest) if math.isinf(lower) else lower, min(upper, widest) if math.isinf(upper) else upper


class MovingJoints(Node):
    """Publish joint_states at a steady rate once a description is there: from `robot_file`, else the latched topic."""

    def __init__(self) -> None:
        super().__init__("moving_joints")
        path = self.declare_parameter("robot_file", "").value
        rate = self.declare_parameter("rate", 50.0).value
        self._period = self.declare_parameter("period", 10.0).value
        self._joints: list[Joint] = []
        self._start = self.get_clock().now()
        self._publisher = self.create_publisher(JointState, "joint_states", 10)
        if path:
            self._joints = swinging_joints(parse_urdf(Path(path).read_text(encoding="utf-8")))
        else:
            self.create_subscription(String, "robot_description", self._on_description, _LATCHED)
        self.create_timer(1.0 / rate, self._publish)

    def _on_description(self, message: String) -> None:
        self._joints = swinging_joints(parse_urdf(message.data))

    def _publish(self) -> None:
        if not self._joints:
            return
        now = self.get_clock().now()
        positions, velocities = swing(self._joints, (now - self._start).nanoseconds * 1e-9, self._period)
        message = JointState(name=[joint.name for joint in self._joints], position=positions, velocity=velocities)
        message.header.stamp = now.to_msg()
        self._publisher.publish(message)


def main(args: Sequence[str] | None = None) -> int:
    """Run the node as a program; return the exit code."""
    return run(MovingJoints, args)


if __name__ == "__main__":
    sys.exit(main())
