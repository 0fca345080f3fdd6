"""/tf and /tf_static of the node. Where ROS is from the package index tf2_msgs is built first: it is in no wheel."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: no ROS here")
pytest.importorskip("pinocchio", reason="pin is the judge of these tests")

import message_packages
from bench import PATIENCE, Bench, Program, kinematics_node
from oracle import PANDA, UR5E, Oracle, errors, matrix_row, row_matrix
from pk_ros.srv import SolveIK


@pytest.fixture(scope="module")
def environment() -> dict[str, str]:
    """What processes need to import tf2_msgs."""
    return message_packages.environment("tf2_msgs")


def test_moving_joints_go_to_tf_and_fixed_ones_to_tf_static(tmp_path: Path, environment: dict[str, str]) -> None:
    oracle = Oracle(PANDA)
    q = oracle.random(1)[0]
    node = kinematics_node(tmp_path, "/tf_test", environment, robot_file=str(PANDA), publish_tf=True)
    listener = Program(tmp_path / "listener.json", "tf_listener", environment=environment)
    with node, listener, Bench("/tf_test") as bench:
        joint_states = bench.joint_states()
        while listener.running:
            assert node.running, node.output
            stamp = joint_states.send(oracle.joints, q)
            bench.spin_for(0.05)
        assert listener.wait() == 0, listener.output
    said = json.loads(listener.output.splitlines()[-1])
    assert {joint["child"] for joint in said["static"]} == {"panda_link8", "panda_hand", "panda_hand_tcp"}
    assert {joint["child"] for joint in said["static"] + said["moving"]} == set(oracle.links) - {oracle.root}
    assert all(0 < joint["stamp"][1] <= stamp for joint in said["moving"])
    poses = oracle.poses(dict(zip(oracle.joints, q)))
    for joint in said["static"] + said["moving"]:
        wanted = np.linalg.inv(poses[joint["parent"]]) @ poses[joint["child"]]
        assert np.allclose(row_matrix(joint["row"]), wanted, atol=1e-9), joint["child"]


def test_nothing_of_the_last_robot_is_latched_after_a_swap(tmp_path: Path, environment: dict[str, str]) -> None:
    node = kinematics_node(tmp_path, "/tf_swap", environment, robot_file=str(PANDA), publish_tf=True, frame_prefix="a/")
    oracle = Oracle(UR5E)
    with node, Bench("/tf_swap") as bench:
        bench.diagnosis("serving panda")
        bench.latch_description(oracle.text)
        bench.diagnosis("serving ur5e")
        joint_states = bench.joint_states()
        with Program(tmp_path / "swapped.json", "tf_listener", environment=environment) as listener:
            while listener.running:
                assert node.running, node.output
                joint_states.send(oracle.joints, [0.1] * 6)
                bench.spin_for(0.05)
            assert listener.wait() == 0, listener.output
    said = json.loads(listener.output.splitlines()[-1])
    children = {joint["child"] for joint in said["static"] + said["moving"]}
    assert children == {f"a/{link}" for link in set(oracle.links) - {oracle.root}}


def test_requests_may_be_given_in_a_frame_of_tf(tmp_path: Path, environment: dict[str, str]) -> None:
    oracle = Oracle(PANDA)
    T_root_tip = oracle.poses(dict(zip(oracle.joints, oracle.random(1)[0])))["panda_hand"]
    T_map_root = row_matrix(np.array([1.0, -2.0, 0.5, 0.5, 0.5, -0.5, 0.5]))
    node = kinematics_node(tmp_path, "/tf_frames", environment, robot_file=str(PANDA), listen_to_tf=True)
    row = [str(value) for value in matrix_row(T_map_root)]
    talker = Program(tmp_path / "talker.log", "tf_talker", "map", oracle.root, *row, environment=environment)
    request = SolveIK.Request(tip_link="panda_hand", target_array=matrix_row(T_map_root @ T_root_tip).tolist())
    request.header.frame_id = "map"
    with node, talker, Bench("/tf_frames") as bench:
        response = bench.call(SolveIK, "kinematics/solve_ik", request)
        deadline = time.monotonic() + PATIENCE  # the first may come before the transform
        while response.error_code == SolveIK.Response.FRAME_TRANSFORM_FAILURE and time.monotonic() < deadline:
            assert "no transform of /tf ties it" in response.message
            response = bench.call(SolveIK, "kinematics/solve_ik", request)
    assert response.error_code == SolveIK.Response.SUCCESS, response.message
    names = [f"panda_joint{i}" for i in range(1, 8)]
    reached = oracle.poses(dict(zip(names, response.positions)))["panda_hand"]
    position_error, rotation_error = errors(reached, T_root_tip)
    assert position_error <= 1e-4 and rotation_error <= 1e-3
