"""What must not stop the node: hours of load, floods, a machine that lacks something. The node is a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: no ROS here")
pytest.importorskip("pinocchio", reason="pin is the judge of these tests")

import numpy as np
import torch
from bench import REPOSITORY, Bench, Program, kinematics_node
from oracle import PANDA, UR5E
from pk_ros.srv import ComputeFK, SolveIK
from std_msgs.msg import Header

TIP = "panda_hand"
TARGET = [0.4, 0.0, 0.4, 1.0, 0.0, 0.0, 0.0]


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_soak_finds_nothing_that_grows() -> None:
    """A minute of what `benchmarks/soak.py` does for half an hour by default; a busy machine loses some joint_states."""
    paths = [str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]
    done = subprocess.run(
        [sys.executable, str(REPOSITORY / "benchmarks" / "soak.py"), "--seconds", "60", "--lost", "0.1"],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing grew" in done.stdout


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_device_that_is_not_there_is_told_and_the_node_serves_once_another_is_set(tmp_path: Path) -> None:
    with (
        kinematics_node(tmp_path, "/no_gpu", device="cuda", robot_file=str(UR5E)) as program,
        Bench("/no_gpu") as bench,
    ):
        values = bench.diagnosis("device 'cuda' can't be used here", level=2)
        assert "device 'cuda' can't be used here" in values["message"]
        assert not bench.node.get_node_names_and_namespaces() or program.running
        assert bench.set_parameter("device", "cpu") == (True, "")
        bench.diagnosis("serving ur5e")
        successful, reason = bench.set_parameter("device", "cuda")
        assert not successful and "device 'cuda' can't be used here" in reason
        request = ComputeFK.Request(positions=[0.0] * 6)
        assert bench.call(ComputeFK, "kinematics/compute_fk", request).error_code == ComputeFK.Response.SUCCESS
        assert program.stop(signal.SIGTERM) == 0, program.output
    assert "device 'cuda' can't be used here" in program.output
    assert "Traceback" not in program.output


def test_a_cache_folder_that_can_not_be_written_is_told_and_the_node_lives(tmp_path: Path) -> None:
    environment = {"PK_CACHE_DIR": "/proc/nowhere"}
    with kinematics_node(tmp_path, "/no_cache", environment, robot_file=str(UR5E)) as program:
        with Bench("/no_cache") as bench:
            bench.diagnosis("reading the robot_description and warming up", level=1)  # it compiles, for itself
            assert "pk compiles its kernels anew in each process" in program.output
            assert program.stop(signal.SIGTERM) == 0, program.output


def test_a_flood_of_what_is_wrong_does_not_fill_the_log(panda_node: Program, panda_bench: Bench) -> None:
    before = len(panda_node.output.splitlines())
    joint_states = panda_bench.joint_states()
    for count in range(300):
        panda_bench.latch_description(f"<robot name='bad{count}'/>")
        joint_states.send(["no such joint"] * 3, [float(count)] * 2)
        panda_bench.spin_for(0.005)
    values = panda_bench.diagnosis("a newer description was refused", level=1)
    assert values["robot"] == "panda"
    assert len(panda_node.output.splitlines()) - before < 80
    panda_bench.latch_description(PANDA.read_text())
    panda_bench.diagnosis("waiting for joint_states")


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"target_array": TARGET[:5]}, SolveIK.Response.INVALID_GOAL_CONSTRAINTS),
        ({"target_array": [np.nan] * 7}, SolveIK.Response.NO_IK_SOLUTION),
        ({"target_array": [0.4, 0.0, 0.4, 0.0, 0.0, 0.0, 0.0]}, SolveIK.Response.NO_IK_SOLUTION),
        ({"target_array": [1e308] * 7}, SolveIK.Response.NO_IK_SOLUTION),
        ({"tip_link": "x" * 10_000_000}, SolveIK.Response.INVALID_LINK_NAME),
        ({"header": Header(frame_id="no such frame")}, SolveIK.Response.FRAME_TRANSFORM_FAILURE),
        ({"tip_link": "", "tip_links": [TIP] * 100_000}, SolveIK.Response.INVALID_LINK_NAME),
        ({"tip_link": "", "tip_links": [TIP, "panda_link4"]}, SolveIK.Response.INVALID_GOAL_CONSTRAINTS),
        ({"base_link": "\u20ac" * 1000}, SolveIK.Response.INVALID_GROUP_NAME),
        ({"seeds": [0.0] * 8}, SolveIK.Response.INVALID_ROBOT_STATE),
        ({"seeds": [np.inf] * 7}, SolveIK.Response.NO_IK_SOLUTION),
        ({"weights": [-1.0] * 6}, SolveIK.Response.INVALID_GOAL_CONSTRAINTS),
        ({"num_solutions": 2**32 - 1}, SolveIK.Response.INVALID_GOAL_CONSTRAINTS),
        ({"position_tolerance": np.nan}, SolveIK.Response.INVALID_GOAL_CONSTRAINTS),
        ({"target_array": TARGET * 1_000_000}, SolveIK.Response.INVALID_GOAL_CONSTRAINTS),
        ({"locked_joints": ["panda_joint1"] * 100_000}, SolveIK.Response.INVALID_GROUP_NAME),
        ({"target_array": []}, SolveIK.Response.SUCCESS),
        ({}, SolveIK.Response.SUCCESS),
    ],
)
def test_a_malformed_request_is_answered_over_dds(
    panda_node: Program, panda_bench: Bench, fields: dict[str, object], code: int
) -> None:
    request = SolveIK.Request(**({"tip_link": TIP, "target_array": TARGET} | fields))
    response = panda_bench.call(SolveIK, "kinematics/solve_ik", request)
    assert response.error_code == code, response.message
    assert bool(response.message) == (code != SolveIK.Response.SUCCESS)
    assert len(response.message) < 1000
    assert panda_node.running
