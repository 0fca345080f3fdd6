"""Poses of a humanoid by the node, as joint_states come: what is lost, how late poses are, and the node's share of a core.

    PYTHONPATH=. python benchmarks/node_poses.py [--rate 1000] [--seconds 20] [--tf]

It needs the interfaces (`make interfaces`). This process publishes joint_states and takes the poses, both as bytes, so that it
takes little of the machine; the node is a process of its own.
"""

from __future__ import annotations

import argparse
import os
import struct
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

os.environ.setdefault("ROS_DOMAIN_ID", str(1 + os.getpid() % 101))
os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from pk_ros.msg import LinkPoses
from rclpy.executors import SingleThreadedExecutor
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from pk_ros.fast_lane import FastLane
from pk_ros.lanes import NodeWithLanes

LIMBS = {"torso": 3, "head": 2, "left_arm": 7, "right_arm": 7, "left_leg": 6, "right_leg": 6}  # 31 joints
AXES = ("1 0 0", "0 1 0", "0 0 1")


def humanoid() -> tuple[str, list[str]]:
    """Write a robot with the joints of a humanoid and a frame at the end of each limb; give it and its joints."""
    links, joints, names = ['<link name="pelvis"/>'], [], []
    for limb, count in LIMBS.items():
        parent = "torso_3" if limb in ("head", "left_arm", "right_arm") else "pelvis"
        for i in range(1, count + 1):
            name = f"{limb}_{i}"
            links.append(f'<link name="{name}"/>')
            joints.append(
                f'<joint name="{name}_joint" type="revolute"><parent link="{parent}"/><child link="{name}"/>'
                f'<origin xyz="0.02 {0.05 * i} 0.1" rpy="0.1 0 {0.2 * i}"/><axis xyz="{AXES[i % 3]}"/>'
                '<limit lower="-2" upper="2" effort="100" velocity="10"/></joint>'
            )
            names.append(f"{name}_joint")
            parent = name
        links.append(f'<link name="{limb}_end"/>')
        joints.append(
            f'<joint name="{limb}_end_joint" type="fixed"><parent link="{parent}"/><child link="{limb}_end"/></joint>'
        )
    return f'<robot name="humanoid">{"".join(links + joints)}</robot>', names


class Probe(NodeWithLanes):
    """Publishes joint_states at a steady rate, and notes when the poses of each come."""

    def __init__(self, names: list[str], rate: float, count: int) -> None:
        super().__init__("probe", namespace="/bench")
        message = JointState(name=names, position=[0.1] * len(names), velocity=[0.2] * len(names))
        self._message, self._period, self._count = bytearray(serialize_message(message)), 1.0 / rate, count
        self.sent, self.came = np.full(count, np.nan), np.full(count, np.nan)
        self.status: dict[str, str] = {}
        self._publisher = self.create_publisher(JointState, "joint_states", 1000)
        self.fast_lane = FastLane(self.context, print)
        self.fast_lane.add(self.create_subscription(LinkPoses, "kinematics/link_poses", self._on_poses, 1000, raw=True))
        self.create_subscription(DiagnosticArray, "/diagnostics", self._on_diagnostics, 10)

    def publish_all(self) -> None:
        """Publish for as long as it takes, from this thread."""
        due = time.monotonic()
        for i in range(self._count):
            struct.pack_into("<iI", self._message, 4, 1, i)
            self.sent[i] = time.monotonic()
            self._publisher.publish(bytes(self._message))
            due += self._period
            time.sleep(max(0.0, due - time.monotonic()))

    def close(self) -> None:
        self.fast_lane.close()

    def _on_poses(self, raw: bytes) -> None:
        seconds, number = struct.unpack_from("<iI", raw, 4)
        if seconds == 1:
            self.came[number] = time.monotonic()

    def _on_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self.status = {pair.key: pair.value for pair in status.values}


def cpu_seconds(pid: int) -> float:
    """Give the processor time of a process so far [s]."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rate", type=float, default=1000.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--tf", action="store_true", help="also publish /tf (needs tf2_msgs)")
    options = parser.parse_args()
    text, names = humanoid()
    path = Path(tempfile.mkdtemp()) / "humanoid.urdf"
    path.write_text(text)
    parameters = ["-p", f"robot_file:={path}", "-p", f"publish_tf:={str(options.tf).lower()}"]
    node = subprocess.Popen([sys.executable, "-m", "pk_ros.node", "--ros-args", "-r", "__ns:=/bench", *parameters])
    rclpy.init()
    probe = Probe(names, options.rate, int(options.rate * options.seconds))
    executor = SingleThreadedExecutor()
    executor.add_node(probe)
    try:
        while probe.status.get("robot") != "humanoid" or not probe.count_subscribers("joint_states"):
            executor.spin_once(timeout_sec=0.1)
        time.sleep(1.0)  # the poses' publisher is found, too
        publisher = threading.Thread(target=probe.publish_all)
        begin, used = time.monotonic(), cpu_seconds(node.pid)
        publisher.start()
        while publisher.is_alive():
            executor.spin_once(timeout_sec=0.1)
        took, used = time.monotonic() - begin, cpu_seconds(node.pid) - used
        time.sleep(0.5)
    finally:
        node.terminate()
        node.wait()
        executor.shutdown()
        probe.close()
        probe.destroy_node()
        rclpy.shutdown()
    late = 1e3 * (probe.came - probe.sent)
    lost = int(np.isnan(late).sum())
    p50, p99, most = np.nanpercentile(late, [50, 99, 100])
    print(f"{len(names)} joints, {len(late)} joint_states at {len(late) / took:.0f} Hz: {lost} without poses")
    print(f"from publishing them to receiving the poses [ms]: p50 {p50:.2f}, p99 {p99:.2f}, most {most:.2f}")
    print(f"in the node, from receipt to publish p50 p95 p99 [ms]: {probe.status['pose time p50 p95 p99 [ms]']}")
    print(f"processor: {100.0 * used / took:.0f} % of a core")


if __name__ == "__main__":
    main()
