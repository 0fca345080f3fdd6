"""Show the node at work on the embedded robot: `python -m pk_ros.demo`.

Starts the node and a swinging robot as processes of their own, prints link poses as they arrive, asks the node for the
IK of 1,000 reachable targets, checks every answer by forward kinematics, and prints a table. Exits 0 only if all holds.
"""

from __future__ import annotations

from .running import leave_on_signals, stopped, watch_signals

if __name__ == "__main__":
    leave_on_signals(130)  # until main() takes over: the imports below take seconds

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import rclpy
import torch
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions

import pk_core as pk

from .client import KinematicsClient, KinematicsError
from .msg import LinkPoses

NAMESPACE = "/pk_demo"  # apart from whatever else runs on this machine
TIP = "panda_hand"
N_TARGETS = 1000
N_POSES = 5
POSITION_TOLERANCE, ROTATION_TOLERANCE = 1e-4, 1e-3  # [m], [rad]
START_TIMEOUT = 120.0  # [s]; the first start compiles the kernels
STOP_TIMEOUT = 10.0  # [s]


class DemoFailed(RuntimeError):
    """Something that the demo promises did not hold."""


class Interrupted(Exception):
    """Ctrl-C or SIGTERM came."""


def go_on() -> None:
    """Raise Interrupted once a signal has come: called wherever the demo may end, and nowhere else can it."""
    if stopped():
        raise Interrupted


@dataclass(frozen=True)
class Judgement:
    """What the answers are worth, by a forward kinematics of our own.

    Attributes:
        solved: how many targets are reached within the tolerances and the limits.
        worst_position, worst_rotation: largest errors of those the node calls solved [m], [rad].
        outside: how many of those lie outside the joint limits.
    """

    solved: int
    worst_position: float
    worst_rotation: float
    outside: int


def embedded_robot(name: str) -> Path:
    """Find a robot of `config/robots`: beside this package in the source tree, else where the package is installed."""
    beside = Path(__file__).parents[1] / "config" / "robots" / f"{name}.urdf"
    if beside.is_file():
        return beside
    from ament_index_python.packages import get_package_share_directory  # there is no index in a source tree

    return Path(get_package_share_directory("pk_ros")) / "config" / "robots" / f"{name}.urdf"


@contextlib.contextmanager
def processes(robot_file: Path) -> Iterator[list[subprocess.Popen]]:
    """Run the node and the swinging robot; both are ended whatever happens here."""
    arguments = ["--ros-args", "-r", f"__ns:={NAMESPACE}", "-p", f"robot_file:={robot_file}"]
    running: list[subprocess.Popen] = []
    try:
        for module in ("pk_ros.node", "pk_ros.moving_joints"):
            running.append(subprocess.Popen([sys.executable, "-m", module, *arguments], start_new_session=True))
        yield running
    finally:
        for process in running:
            process.send_signal(signal.SIGINT)
        for process in running:
            try:
                process.wait(STOP_TIMEOUT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def show_link_poses(node: Node, running: list[subprocess.Popen]) -> None:
    """Print the tip's pose as the node publishes it, at most five times a second."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    arrived: list[LinkPoses] = []
    subscription = node.create_subscription(LinkPoses, f"{NAMESPACE}/kinematics/link_poses", arrived.append, 1)
    deadline, shown = time.monotonic() + START_TIMEOUT, 0
    try:
        while shown < N_POSES:
            go_on()
            executor.spin_once(timeout_sec=0.2)
            if any(process.poll() is not None for process in running):
                raise DemoFailed("a process ended early; see above")
            if time.monotonic() > deadline:
                raise DemoFailed(f"no link poses in {START_TIMEOUT:g} s")
            if arrived:
                print(_pose_line(arrived[-1]), flush=True)
                shown += 1
                arrived.clear()
                time.sleep(0.2)
    finally:
        executor.shutdown()
        node.destroy_subscription(subscription)


def _pose_line(message: LinkPoses) -> str:
    pose = message.poses[message.names.index(TIP)]
    p, q = pose.position, pose.orientation
    return (
        f"  {TIP} of {len(message.names)} links: xyz {p.x:+.3f} {p.y:+.3f} {p.z:+.3f} m, "
        f"xyzw {q.x:+.3f} {q.y:+.3f} {q.z:+.3f} {q.w:+.3f}"
    )


def random_targets(arm: pk.SerialChain, n: int) -> np.ndarray:
    """Draw reachable targets (n, 4, 4): the tip at random configurations inside the limits."""
    q = arm.random(n, generator=torch.Generator().manual_seed(1))
    return arm.forward_kinematics(q).get_matrix().numpy()


def judge(arm: pk.SerialChain, targets: np.ndarray, positions: np.ndarray, claimed: np.ndarray) -> Judgement:
    """Compare answers (N, nq) with targets (N, 4, 4); `claimed` (N,) are those that the node calls solved."""
    if not claimed.any():
        return Judgement(0, np.nan, np.nan, 0)
    q = torch.from_numpy(positions[claimed])
    reached, wanted = arm.forward_kinematics(q).get_matrix().numpy(), targets[claimed]
    position_error = np.linalg.norm(reached[:, :3, 3] - wanted[:, :3, 3], axis=1)
    rotation_error = rotation_angles(np.swapaxes(wanted[:, :3, :3], 1, 2) @ reached[:, :3, :3])
    inside = ((q >= arm.low) & (q <= arm.high)).all(dim=1).numpy()
    good = (position_error <= POSITION_TOLERANCE) & (rotation_error <= ROTATION_TOLERANCE) & inside
    return Judgement(int(good.sum()), position_error.max(), rotation_error.max(), int((~inside).sum()))


def rotation_angles(rotations: np.ndarray) -> np.ndarray:
    """Give the angles of rotations (N, 3, 3) in [0, pi] [rad]; precise for small ones, since the sine counts too."""
    skew = rotations - np.swapaxes(rotations, 1, 2)
    sine = 0.5 * np.sqrt(0.5) * np.linalg.norm(skew, axis=(1, 2))
    cosine = 0.5 * (np.trace(rotations, axis1=1, axis2=2) - 1.0)
    return np.arctan2(sine, cosine)


def solve_and_judge(robot_file: Path) -> None:
    """Ask the node for the targets' IK, print the table; raises DemoFailed where it does not hold."""
    chain = pk.Chain(pk.parse_urdf(robot_file.read_text(encoding="utf-8")), dtype=torch.float64)
    arm = pk.SerialChain(chain, TIP)
    targets = random_targets(arm, N_TARGETS)
    with KinematicsClient(f"{NAMESPACE}/kinematics", timeout=30.0) as kinematics:
        kinematics.wait_until_ready()
        go_on()
        started = time.perf_counter()
        answer = kinematics.solve_ik(
            TIP, targets, position_tolerance=POSITION_TOLERANCE, rotation_tolerance=ROTATION_TOLERANCE
        )
        round_trip = time.perf_counter() - started
    if answer.joint_names != tuple(arm.get_joint_parameter_names()):
        raise DemoFailed(f"the node solves for {answer.joint_names}")
    judgement = judge(arm, targets, answer.positions[:, 0], answer.solved)
    print(
        f"""
  targets             {N_TARGETS}
  solved              {judgement.solved} ({judgement.outside} outside the limits)
  worst position      {judgement.worst_position:.2e} m
  worst rotation      {judgement.worst_rotation:.2e} rad
  round trip          {round_trip * 1e3:.1f} ms
  solver time         {answer.solver_time * 1e3:.1f} ms
""",
        flush=True,
    )
    if judgement.solved < N_TARGETS:
        raise DemoFailed(f"{N_TARGETS - judgement.solved} targets are not solved")


def main() -> int:
    """Run the demo; return the exit code."""
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    watch_signals()
    robot_file = embedded_robot("panda")
    print(f"Starting the kinematics node on {robot_file.name}; the first start compiles its kernels.", flush=True)
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    try:
        with processes(robot_file) as running:
            node = Node("pk_demo", namespace=NAMESPACE)
            show_link_poses(node, running)
            node.destroy_node()
            solve_and_judge(robot_file)
    except (DemoFailed, KinematicsError) as failure:
        print(f"The demo failed: {failure}", file=sys.stderr)
        return 1
    except Interrupted:
        return 130
    finally:
        rclpy.shutdown()
    print("All targets are solved, inside the limits, as our own forward kinematics judges.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
