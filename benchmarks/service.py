"""Measure the node as its clients see it: `python benchmarks/service.py`. Needs ROS; starts the node on the embedded Panda.

Prints, for 10,000 targets, the round trip against the solver's own time (all cores of this machine, in one process); the
latency of one target, alone and beside a batch of 100,000; and how exactly timeouts are kept.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import numpy as np
import rclpy
import torch

import pk_core as pk
from pk_ros.client import KinematicsClient, RequestRefused
from pk_ros.demo import embedded_robot

TIP = "panda_hand"
NAMESPACE = "/pk_bench"
LARGE = 100_000


def percentile(values: list[float], share: float) -> float:
    """Give the value that a share of all is no greater than."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def targets(arm: pk.SerialChain, n: int) -> np.ndarray:
    """Draw reachable targets (n, 4, 4)."""
    q = arm.random(n, generator=torch.Generator().manual_seed(1))
    return arm.forward_kinematics(q).get_matrix().numpy()


def panda() -> pk.SerialChain:
    """Read the arm that the node serves."""
    return pk.SerialChain(pk.Chain(pk.parse_urdf(embedded_robot("panda").read_text()), dtype=torch.float64), TIP)


def environment() -> dict[str, str]:
    """Give what other processes need to find this repository."""
    return os.environ | {"PYTHONPATH": f"{Path(__file__).parents[1]}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}


def batch(client: KinematicsClient, arm: pk.SerialChain, n: int, repetitions: int = 7) -> None:
    """Compare the round trip with `solve_ik` called here on the same targets."""
    Ts = targets(arm, n)
    options = pk.IKOptions(timeout=60.0)
    round_trips, solver_times, own = [], [], []
    for _ in range(repetitions):
        started = time.perf_counter()
        answer = client.solve_ik(TIP, Ts)
        round_trips.append(time.perf_counter() - started)
        solver_times.append(answer.solver_time)
        started = time.perf_counter()
        pk.solve_ik(arm, torch.from_numpy(Ts), options=options)
        own.append(time.perf_counter() - started)
    trip = median(round_trips)
    print(
        f"{n:7} targets: round trip {trip * 1e3:7.1f} ms, solver in the node {median(solver_times) * 1e3:7.1f} ms "
        f"({trip / median(solver_times):.2f} x), solve_ik in one call here {median(own) * 1e3:7.1f} ms "
        f"({trip / median(own):.2f} x)",
        flush=True,
    )


def small(
    client: KinematicsClient, T: np.ndarray, n: int | None, beside: subprocess.Popen | None = None
) -> list[float]:
    """Ask for one target again and again, n times or until a process ends; give the latencies [s]."""
    latencies: list[float] = []
    while beside.poll() is None if beside else len(latencies) < n:
        started = time.perf_counter()
        client.solve_ik(TIP, T)
        latencies.append(time.perf_counter() - started)
        time.sleep(0.002)
    return latencies


def show(latencies: list[float], what: str) -> None:
    """Print percentiles."""
    p50, p90, p99 = (percentile(latencies, share) * 1e3 for share in (0.5, 0.9, 0.99))
    print(f"one target {what}: p50 {p50:.2f}, p90 {p90:.2f}, p99 {p99:.2f}, max {max(latencies) * 1e3:.2f} ms "
          f"of {len(latencies)}", flush=True)  # fmt: skip


def large(node: str, hard: bool) -> None:
    """Ask for a batch; a hard one has targets that no arm reaches, within any bound on reach."""
    if hard:
        stretched_and_looking_back = [0.75, 0.0, 0.333, 0.0, -(0.5**0.5), 0.0, 0.5**0.5]
        rows: np.ndarray = np.tile(stretched_and_looking_back, (LARGE, 1))
    else:
        rows = np.resize(targets(panda(), 1000), (LARGE, 4, 4))
    with KinematicsClient(node, timeout=120.0) as client:
        client.wait_until_ready()
        print("begun", flush=True)
        client.solve_ik(TIP, rows, solve_timeout=3.0 if hard else 60.0)


def beside_a_batch(node: str, client: KinematicsClient, T: np.ndarray, hard: bool) -> None:
    """Measure one target while a batch runs, which a process of its own has asked for."""
    latencies: list[float] = []
    for _ in range(3):
        command = [sys.executable, __file__, "--large", node, *(["--hard"] if hard else [])]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment())
        process.stdout.readline()
        latencies += small(client, T, None, process)
    show(latencies, f"beside {LARGE} {'hard ' if hard else ''}ones")


def timeouts(client: KinematicsClient) -> None:
    """Ask for more than can be done in a given time."""
    for n in (100, 1000, 10_000):
        rows = np.tile([0.75, 0.0, 0.333, 0.0, -(0.5**0.5), 0.0, 0.5**0.5], (n, 1))
        for timeout in (0.005, 0.02, 0.1):
            late = [lateness(client, rows, timeout) for _ in range(15)]
            print(f"{n} targets, timeout {timeout * 1e3:g} ms: answered {median(late) * 1e3:.1f} ms later", flush=True)


def lateness(client: KinematicsClient, rows: np.ndarray, timeout: float) -> float:
    """Give how long after the timeout the answer is here [s]."""
    started = time.perf_counter()
    try:
        client.solve_ik(TIP, rows, solve_timeout=timeout)
    except RequestRefused:  # the time was over before its turn came
        pass
    return time.perf_counter() - started - timeout


def main() -> None:
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    if sys.argv[1:2] == ["--large"]:
        rclpy.init()
        large(sys.argv[2], "--hard" in sys.argv)
        rclpy.shutdown()
        return
    robot = embedded_robot("panda")
    arguments = ["--ros-args", "-r", f"__ns:={NAMESPACE}", "-p", f"robot_file:={robot}"]
    process = subprocess.Popen(
        [sys.executable, "-m", "pk_ros.node", *arguments],
        start_new_session=True,
        env=environment(),
    )
    arm = panda()
    rclpy.init()
    try:
        node = f"{NAMESPACE}/kinematics"
        with KinematicsClient(node, timeout=120.0) as client:
            client.wait_until_ready()
            Ts = targets(arm, 1000)
            batch(client, arm, 1000)
            batch(client, arm, 10_000)
            batch(client, arm, LARGE, 3)
            show(small(client, Ts[0], 300), "alone")
            beside_a_batch(node, client, Ts[0], hard=False)
            beside_a_batch(node, client, Ts[0], hard=True)
            timeouts(client)
    finally:
        rclpy.shutdown()
        process.terminate()
        started = time.perf_counter()
        process.wait()
        print(
            f"the node ended {(time.perf_counter() - started) * 1e3:.0f} ms after SIGTERM, exit code {process.returncode}"
        )


if __name__ == "__main__":
    main()
