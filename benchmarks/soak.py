"""Load the node for a long time and watch what it holds: `PYTHONPATH=. python benchmarks/soak.py [--seconds 1800]`. Needs ROS.

joint_states of a humanoid come at 500 Hz while one client asks for inverse kinematics of one target to 1,000, and now and
then for what can't be answered. Prints the node's memory, threads and open files as time goes by; exit code 1 if they grew
after the first quarter of the time, poses stayed out or a request was not answered.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import node_poses  # before rclpy: it chooses a domain
import numpy as np
import rclpy
import soak_judgement
import torch
from rclpy.executors import SingleThreadedExecutor
from soak_judgement import Usage

import pk_core as pk
from pk_ros.client import KinematicsClient, RequestRefused

TIP, BASE = "left_arm_end", "torso_3"
SIZES = (1, 1, 1, 30, 1000)  # targets of the requests, in turn


class Load(threading.Thread):
    """Asks for inverse kinematics again and again."""

    def __init__(self, text: str) -> None:
        super().__init__(name="load", daemon=True)
        self._arm = pk.SerialChain(pk.Chain(pk.parse_urdf(text), dtype=torch.float64), TIP, BASE)
        self.ended = threading.Event()
        self.requests = self.targets = self.solved = self.refused = 0
        self.problem = ""

    def run(self) -> None:
        """Ask until the end, or until an answer is wrong or missing."""
        q = self._arm.random(1000, generator=torch.Generator().manual_seed(1))
        Ts = self._arm.forward_kinematics(q).get_matrix().numpy()
        try:
            with KinematicsClient("/bench/kinematics", timeout=60.0) as client:
                while not self.ended.is_set():
                    self._ask(client, Ts[: SIZES[self.requests % len(SIZES)]])
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"

    def _ask(self, client: KinematicsClient, Ts: np.ndarray) -> None:
        answer = client.solve_ik(TIP, Ts, frame_id=BASE, base_link=BASE)
        self.requests, self.targets = self.requests + 1, self.targets + len(Ts)
        self.solved += int(answer.solved.sum())
        if answer.solved.mean() < 0.9:
            raise ValueError(f"of targets within reach: {answer.message}")
        try:
            client.solve_ik("no such link" * self.requests, np.full((1, 7), np.nan))
        except RequestRefused:
            self.refused += 1


def watch(node: subprocess.Popen, probe: node_poses.Probe, load: Load, seconds: float) -> list[Usage]:
    """Sample what the node holds while it is under load, from when it has answered the first requests."""
    executor = SingleThreadedExecutor()
    executor.add_node(probe)
    while probe.status.get("robot") != "humanoid" or not probe.count_subscribers("joint_states"):
        executor.spin_once(timeout_sec=0.1)
        if node.poll() is not None:
            raise SystemExit("the node has ended")
    time.sleep(1.0)  # the poses' publisher is found, too
    load.start()
    publisher = threading.Thread(target=probe.publish_all, daemon=True)
    publisher.start()
    samples: list[Usage] = []
    started, every = time.monotonic(), seconds / 100.0
    while publisher.is_alive() and node.poll() is None:
        due = started + every * len(samples)
        if load.requests and time.monotonic() > due:
            samples.append(Usage.of(node.pid))
            if len(samples) % 10 == 1:
                print(f"{time.monotonic() - started:7.1f} s: {samples[-1]}, {load.requests} requests", flush=True)
        executor.spin_once(timeout_sec=0.1)
    load.ended.set()
    load.join()
    executor.shutdown()
    return samples


def main() -> int:
    """Run, and say what was wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1800.0)
    parser.add_argument("--rate", type=float, default=500.0, help="of joint_states [Hz]")
    parser.add_argument("--lost", type=float, default=0.001, help="share of joint_states that may stay without poses")
    options = parser.parse_args()
    text, names = node_poses.humanoid()
    path = Path(tempfile.mkdtemp()) / "humanoid.urdf"
    path.write_text(text)
    arguments = ["--ros-args", "-r", "__ns:=/bench", "-p", f"robot_file:={path}"]
    node = subprocess.Popen([sys.executable, "-m", "pk_ros.node", *arguments])
    rclpy.init()
    probe = node_poses.Probe(names, options.rate, int(options.rate * options.seconds))
    load = Load(text)
    try:
        samples = watch(node, probe, load, options.seconds)
        problems = soak_judgement.growth(samples) if node.poll() is None else [f"the node ended with {node.returncode}"]
    finally:
        node.terminate()
        node.wait()
        probe.close()
        probe.destroy_node()
        rclpy.shutdown()
    lost = int(np.isnan(probe.came).sum())
    print(f"{len(names)} joints, {len(probe.came)} joint_states at {options.rate:g} Hz: {lost} without poses")
    print(
        f"{load.requests} requests with {load.targets} targets, all solved, and {load.refused} refused as they should"
    )
    problems += soak_judgement.losses(lost, len(probe.came), options.lost)
    problems += soak_judgement.load(load.requests, load.refused, load.problem)
    print("; ".join(problems) or "nothing grew")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
