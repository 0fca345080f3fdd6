"""MoveIt's services over DDS, node and caller in processes of their own. moveit_msgs is in no wheel: it is built first."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: no ROS here")
pytest.importorskip("pinocchio", reason="pin is the judge of these tests")

import message_packages
from bench import Bench, Program, kinematics_node
from oracle import PANDA, Oracle, errors, matrix_row, row_matrix

from pk_ros.requests import ErrorCode

TIP, ELBOW = "panda_hand", "panda_link4"


@pytest.mark.timeout(600)  # the first run builds the messages
def test_moveit_s_requests_are_answered_over_dds(tmp_path: Path) -> None:
    environment = message_packages.environment("moveit_msgs")
    oracle = Oracle(PANDA)
    poses = oracle.poses(dict(zip(oracle.joints, oracle.random(1)[0])))
    T = poses[TIP]
    node = kinematics_node(
        tmp_path, "/moveit", environment, robot_file=str(PANDA), moveit__fk_service="/moveit/fk/of_moveit"
    )
    rows = [text for tip in (TIP, ELBOW) for text in (tip, *map(str, matrix_row(poses[tip])))]
    with (
        node,
        Program(tmp_path / "client.json", "moveit_client", "/moveit", *rows, environment=environment) as client,
    ):
        assert client.wait() == 0, client.output + node.output
        assert node.running
    assert node.output.count("is to avoid collisions, which are not looked for") == 1
    said = json.loads(client.output.splitlines()[-1])
    assert said["solved"]["code"] == ErrorCode.SUCCESS
    for placed in (oracle.poses(said["solved"]["positions"])[TIP], row_matrix(np.array(said["placed"]))):
        position_error, rotation_error = errors(placed, T)
        assert position_error <= 1e-4
        assert rotation_error <= 1e-3
    assert said["frame"] == oracle.root
    assert said["far"]["code"] == ErrorCode.NO_IK_SOLUTION
    assert said["late"]["code"] == ErrorCode.TIMED_OUT
    assert said["two tips"]["code"] == ErrorCode.SUCCESS, said["two tips"]["reason"]
    found = oracle.poses(said["two tips"]["positions"])
    for tip in (TIP, ELBOW):
        position_error, rotation_error = errors(found[tip], poses[tip])
        assert position_error <= 1e-4
        assert rotation_error <= 1e-3
    assert said["one pose of two"]["code"] == ErrorCode.INVALID_LINK_NAME


@pytest.mark.skipif(importlib.util.find_spec("moveit_msgs") is not None, reason="moveit_msgs is installed")
def test_without_moveit_msgs_the_services_are_not_offered(panda_bench: Bench) -> None:
    panda_bench.diagnosis("serving panda")
    names = {name for name, _ in panda_bench.node.get_service_names_and_types()}
    assert "/panda/kinematics/solve_ik" in names
    assert not {"/panda/solve_ik", "/panda/solve_fk"} & names
