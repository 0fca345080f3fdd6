"""Start the kinematics_node that a workspace installed, ask it to reach a pose, and check the answer with Pinocchio.

Run by `run` beside this file, with the workspace's setup file sourced.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

# Before rclpy reads them: a domain of our own, on this machine only.
os.environ["ROS_DOMAIN_ID"] = str(1 + os.getpid() % 101)
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"

import numpy as np
import pinocchio
import rclpy
from ament_index_python.packages import get_package_prefix, get_package_share_directory
from pk_ros.srv import ComputeFK, SolveIK
from rclpy.client import Client
from rclpy.node import Node

import pk_core

WORKSPACE: Final = Path(sys.argv[1])
ROBOT: Final = Path(get_package_share_directory("pk_ros"), "config/robots/panda.urdf")
EXECUTABLE: Final = Path(get_package_prefix("pk_ros"), "lib/pk_ros/kinematics_node")
SERVICES: Final = {ComputeFK: "/kinematics/compute_fk", SolveIK: "/kinematics/solve_ik"}
TIP: Final = "panda_hand"
Q: Final = [0.3, -0.4, 0.2, -1.9, 0.1, 1.7, 0.6]  # of a pose that the arm can reach [rad]
START_TIMEOUT: Final = 300.0  # [s]; the first start compiles the kernels
POSITION_TOLERANCE: Final = 1e-4  # [m]
ROTATION_TOLERANCE: Final = 1e-3  # [rad]


def main() -> None:
    """Run the whole check; any failure is an exception."""
    check_origin()
    process = subprocess.Popen([EXECUTABLE, "--ros-args", "-p", f"robot_file:={ROBOT}"], start_new_session=True)
    try:
        ask(process)
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 0, f"kinematics_node ended with {process.returncode}"
    finally:
        process.kill()
    print(f"colcon test: {EXECUTABLE.relative_to(WORKSPACE)} answered, and ended in order")


def check_origin() -> None:
    """Make sure that what is tested is the workspace's, not a copy elsewhere on the path."""
    installed = WORKSPACE / "install"
    files = [EXECUTABLE, ROBOT, pk_core.__file__, sys.modules[SolveIK.__module__].__file__]
    foreign = [file for file in files if not Path(file).is_relative_to(installed)]
    assert not foreign, f"not installed by the workspace: {foreign}"


def ask(process: subprocess.Popen) -> None:
    """Ask the node for the pose of Q, then for joint positions that reach it, and compare the two poses."""
    rclpy.init()
    node = rclpy.create_node("ask")
    fk, ik = (node.create_client(kind, name) for kind, name in SERVICES.items())
    wait_until_served([fk, ik], process)
    names = [f"panda_joint{i}" for i in range(1, 8)]
    pose = call(node, fk, ComputeFK.Request(links=[TIP], joint_names=names, positions=Q)).poses
    answer = call(node, ik, SolveIK.Request(tip_link=TIP, target_array=pose))
    assert answer.error_code == SolveIK.Response.SUCCESS, answer.message
    check_reached(dict(zip(names, Q)), dict(zip(answer.joint_names, answer.positions)))
    node.destroy_node()
    rclpy.shutdown()


def wait_until_served(clients: list[Client], process: subprocess.Popen) -> None:
    """Wait until the services are advertised, which is after the kernels are compiled; raises TimeoutError."""
    deadline = time.monotonic() + START_TIMEOUT
    while not all(client.service_is_ready() for client in clients):
        assert process.poll() is None, f"kinematics_node ended with {process.returncode}"
        if time.monotonic() > deadline:
            raise TimeoutError(f"not advertised within {START_TIMEOUT:g} s: {list(SERVICES.values())}")
        time.sleep(0.1)


def call(node: Node, client: Client, request: object) -> object:
    """Call a service and give the response; raises TimeoutError."""
    future = client.call_async(request)
    rclpy.spin_until_future_complete(node, future, timeout_sec=30)
    if not future.done():
        raise TimeoutError(f"{client.srv_name} did not answer")
    return future.result()


def check_reached(asked: dict[str, float], answered: dict[str, float]) -> None:
    """Compare the poses of the tip at two sets of joint positions, as Pinocchio sees them."""
    model = pinocchio.buildModelFromUrdf(str(ROBOT))
    error = tip_pose(model, asked).actInv(tip_pose(model, answered))
    assert np.linalg.norm(error.translation) <= POSITION_TOLERANCE * 1.01, error
    assert np.linalg.norm(pinocchio.log3(error.rotation)) <= ROTATION_TOLERANCE * 1.01, error


def tip_pose(model: pinocchio.Model, joints: dict[str, float]) -> pinocchio.SE3:
    """Give `T_root_tip`; joints not named are at zero."""
    q = pinocchio.neutral(model)
    for name, value in joints.items():
        q[model.idx_qs[model.getJointId(name)]] = value
    data = model.createData()
    pinocchio.framesForwardKinematics(model, data, q)
    return data.oMf[model.getFrameId(TIP)]


if __name__ == "__main__":
    main()
