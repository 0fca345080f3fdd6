"""The node as a process of its own, over DDS: this process is the robot's other nodes. Pinocchio judges the poses."""

from __future__ import annotations

import importlib.util
import signal
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: no ROS here")
pytest.importorskip("pinocchio", reason="pin is the judge of these tests")

from bench import BEST_EFFORT, Bench, Program, kinematics_node
from oracle import PANDA, UR5E, Oracle, errors, matrix_row, pose_matrix, row_matrix
from pk_ros.msg import LinkPoses
from pk_ros.srv import ComputeFK, SolveIK
from rcl_interfaces.srv import DescribeParameters

from pk_ros.parameters import PARAMETERS

ARM = [f"panda_joint{i}" for i in range(1, 8)]
READY = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]
FINGER = "panda_finger_joint1"


@pytest.fixture(scope="module")
def panda() -> Oracle:
    return Oracle(PANDA)


@pytest.fixture(scope="module")
def ur5e() -> Oracle:
    return Oracle(UR5E)


def check_poses(message: LinkPoses, oracle: Oracle, positions: dict[str, float]) -> None:
    """Every pose is where Pinocchio puts the link."""
    wanted = oracle.poses(positions)
    assert message.header.frame_id == oracle.root
    for name, pose in zip(message.names, message.poses, strict=True):
        assert np.allclose(pose_matrix(pose), wanted[name], atol=1e-9), name


# --- poses ------------------------------------------------------------------------------------------------------------


def test_poses_of_all_links_follow_the_joint_states(panda_bench: Bench, panda: Oracle) -> None:
    arrived = panda_bench.collect(LinkPoses, "kinematics/link_poses")
    joint_states = panda_bench.joint_states()
    for q in panda.random(5):
        message = joint_states.poses_of(arrived, panda.joints, q)
        assert set(message.names) == set(panda.links)
        check_poses(message, panda, dict(zip(panda.joints, q)))


def test_each_joint_states_message_gives_one_with_its_stamp(panda_bench: Bench, panda: Oracle) -> None:
    arrived = panda_bench.collect(LinkPoses, "kinematics/link_poses")
    joint_states = panda_bench.joint_states()
    joint_states.poses_of(arrived, ARM, READY)  # now both sides know each other
    panda_bench.spin_for(0.3)
    arrived.clear()
    for count in range(1, 51):
        stamp = joint_states.send(ARM, READY)
        panda_bench.wait_until(lambda: len(arrived) >= count, f"the link poses of message {count}")  # noqa: B023
        assert len(arrived) == count
        assert arrived[-1].header.stamp.nanosec == stamp


def test_a_best_effort_publisher_is_heard(panda_bench: Bench, panda: Oracle) -> None:
    arrived = panda_bench.collect(LinkPoses, "kinematics/link_poses", BEST_EFFORT)
    q = panda.random(1, seed=7)[0]
    message = panda_bench.joint_states(BEST_EFFORT).poses_of(arrived, panda.joints, q)
    check_poses(message, panda, dict(zip(panda.joints, q)))


def test_bad_messages_are_named_and_do_not_stop_the_node(
    panda_node: Program, panda_bench: Bench, panda: Oracle
) -> None:
    arrived = panda_bench.collect(LinkPoses, "kinematics/link_poses")
    joint_states = panda_bench.joint_states()
    joint_states.poses_of(arrived, panda.joints, panda.random(1)[0])
    for names, positions in [
        ([], []),
        (ARM, READY[:-1]),
        (ARM, []),
        ([], READY),
        (["no such joint"], [0.0]),
        (ARM, [np.nan] * 7),
        (ARM, [np.inf, *READY[1:]]),
        (["x" * 100_000], [0.0]),
        ([""], [0.0]),
        (["wheel", *ARM], [1.0, *READY]),
    ]:
        joint_states.send(names, positions)
        panda_bench.spin_for(0.02)
    values = panda_bench.diagnosis("wheel")
    assert "wheel" in values["joints unknown"]
    assert int(values["joint_states rejected"]) >= 5
    q = panda.random(1, seed=3)[0]
    check_poses(joint_states.poses_of(arrived, panda.joints, q), panda, dict(zip(panda.joints, q)))
    assert panda_node.running


def test_a_publisher_that_comes_back_is_heard_again(panda_node: Program, panda: Oracle) -> None:
    for seed in (1, 2):
        with Bench("/panda") as bench:
            arrived = bench.collect(LinkPoses, "kinematics/link_poses")
            q = panda.random(1, seed=seed)[0]
            message = bench.joint_states().poses_of(arrived, panda.joints, q)
            check_poses(message, panda, dict(zip(panda.joints, q)))


# --- services ---------------------------------------------------------------------------------------------------------


def test_ik_is_answered_inside_the_limits(panda_bench: Bench, panda: Oracle) -> None:
    Ts = [panda.poses(dict(zip(panda.joints, q)))["panda_hand"] for q in panda.random(200)]
    request = SolveIK.Request(tip_link="panda_hand", target_array=np.ravel([matrix_row(T) for T in Ts]).tolist())
    response = panda_bench.call(SolveIK, "kinematics/solve_ik", request)
    assert response.error_code == SolveIK.Response.SUCCESS, response.message
    assert list(response.joint_names) == ARM
    assert list(response.status) == [SolveIK.Response.CONVERGED] * 200
    assert list(response.num_found) == [1] * 200
    assert 0.0 < response.solver_time < 5.0
    for q, T in zip(np.reshape(response.positions, (200, 7)), Ts):
        assert all(panda.limits[name][0] <= value <= panda.limits[name][1] for name, value in zip(ARM, q))
        position_error, rotation_error = errors(panda.poses(dict(zip(ARM, q)))["panda_hand"], T)
        assert position_error <= 1e-4
        assert rotation_error <= 1e-3


def test_ik_in_a_frame_that_moves_takes_the_latest_joint_states(panda_bench: Bench, panda: Oracle) -> None:
    arrived = panda_bench.collect(LinkPoses, "kinematics/link_poses")
    panda_bench.joint_states().poses_of(arrived, ARM, READY)
    poses = panda.poses(dict(zip(ARM, READY)))
    T_link4_target = np.linalg.inv(poses["panda_link4"]) @ poses["panda_hand"]
    request = SolveIK.Request(tip_link="panda_hand", target_array=matrix_row(T_link4_target).tolist())
    request.header.frame_id = "panda_link4"
    response = panda_bench.call(SolveIK, "kinematics/solve_ik", request)
    assert response.error_code == SolveIK.Response.SUCCESS, response.message
    reached = panda.poses(dict(zip(ARM, response.positions)))["panda_hand"]
    assert errors(reached, poses["panda_hand"])[0] <= 1e-4


def test_fk_is_answered_as_pinocchio_does(panda_bench: Bench, panda: Oracle) -> None:
    q = panda.random(10)
    request = ComputeFK.Request(links=panda.links, joint_names=panda.joints, positions=q.ravel().tolist())
    response = panda_bench.call(ComputeFK, "kinematics/compute_fk", request)
    assert response.error_code == ComputeFK.Response.SUCCESS, response.message
    for row, poses in zip(q, np.reshape(response.poses, (10, len(panda.links), 7))):
        wanted = panda.poses(dict(zip(panda.joints, row)))
        for link, pose in zip(panda.links, poses):
            assert np.allclose(row_matrix(pose), wanted[link], atol=1e-9)


def test_requests_that_can_not_be_meant_are_refused_and_the_next_is_answered(panda_bench: Bench) -> None:
    target = [0.4, 0.0, 0.4, 1.0, 0.0, 0.0, 0.0]
    for request, code in [
        (SolveIK.Request(tip_link="panda_hnd", target_array=target), SolveIK.Response.INVALID_LINK_NAME),
        (SolveIK.Request(tip_link="panda_hand", target_array=target[:6]), SolveIK.Response.INVALID_GOAL_CONSTRAINTS),
        (SolveIK.Request(target_array=target), SolveIK.Response.INVALID_LINK_NAME),
        (SolveIK.Request(), SolveIK.Response.SUCCESS),
        (SolveIK.Request(tip_link="panda_hand", target_array=target), SolveIK.Response.SUCCESS),
    ]:
        response = panda_bench.call(SolveIK, "kinematics/solve_ik", request)
        assert response.error_code == code, response.message
        if code != SolveIK.Response.SUCCESS:
            assert response.message
            assert len(response.positions) == len(response.status) == 0


def test_a_large_request_holds_up_neither_the_poses_nor_a_small_one(panda_bench: Bench, panda: Oracle) -> None:
    arrived = panda_bench.collect(LinkPoses, "kinematics/link_poses")
    joint_states = panda_bench.joint_states()
    joint_states.poses_of(arrived, ARM, READY)
    stretched_and_looking_back = [0.75, 0.0, 0.333, 0.0, -(0.5**0.5), 0.0, 0.5**0.5]  # no arm can
    request = SolveIK.Request(tip_link="panda_hand", target_array=stretched_and_looking_back * 20_000)
    request.timeout.sec = 3
    client = panda_bench.node.create_client(SolveIK, "kinematics/solve_ik")
    panda_bench.wait_until(client.service_is_ready, "the service")
    future = client.call_async(request)
    panda_bench.spin_for(0.5)
    small = SolveIK.Request(tip_link="panda_hand", target_array=[0.4, 0.0, 0.4, 1.0, 0.0, 0.0, 0.0])
    assert panda_bench.call(SolveIK, "kinematics/solve_ik", small).error_code == SolveIK.Response.SUCCESS
    arrived.clear()
    joint_states.send(ARM, READY)
    panda_bench.wait_until(lambda: arrived, "link poses")
    assert not future.done()
    panda_bench.wait_until(future.done, "the answer to the large request")
    assert future.result().error_code == SolveIK.Response.NO_IK_SOLUTION
    assert SolveIK.Response.CONVERGED not in future.result().status
    assert SolveIK.Response.TIMEOUT in future.result().status
    assert len(future.result().status) == 20_000


# --- parameters -------------------------------------------------------------------------------------------------------


def test_every_parameter_is_described_by_the_node(panda_bench: Bench) -> None:
    request = DescribeParameters.Request(names=[parameter.name for parameter in PARAMETERS])
    descriptors = panda_bench.call(DescribeParameters, "kinematics/describe_parameters", request).descriptors
    for parameter, descriptor in zip(PARAMETERS, descriptors, strict=True):
        assert descriptor.description == parameter.description
        assert descriptor.read_only == parameter.read_only
        assert bool(descriptor.integer_range or descriptor.floating_point_range) == (parameter.range is not None)


def test_a_description_that_is_none_is_refused_with_the_reason(panda_bench: Bench) -> None:
    successful, reason = panda_bench.set_parameter("robot_description", "<robot name='r'><link/></robot>")
    assert not successful
    assert "link" in reason


def test_the_tip_can_be_set_while_the_node_runs(panda_bench: Bench) -> None:
    request = SolveIK.Request(target_array=[0.4, 0.0, 0.4, 1.0, 0.0, 0.0, 0.0])
    try:
        assert panda_bench.set_parameter("tip", "panda_hand") == (True, "")
        response = panda_bench.call(SolveIK, "kinematics/solve_ik", request)
        assert response.error_code == SolveIK.Response.SUCCESS
    finally:
        panda_bench.set_parameter("tip", "")


def test_a_wrong_parameter_ends_the_node_with_its_name(tmp_path: Path) -> None:
    with kinematics_node(tmp_path, "/wrong", joint_states__reliability="sometimes") as program:
        assert program.wait() == 1
        assert "joint_states.reliability must be one of" in program.output
        assert "Traceback" not in program.output


# --- start, stop, restart ---------------------------------------------------------------------------------------------


def test_a_description_that_is_latched_before_the_node_starts_is_served(tmp_path: Path, ur5e: Oracle) -> None:
    with Bench("/early") as bench:
        bench.latch_description(ur5e.text)
        with kinematics_node(tmp_path, "/early", robot_file="/no/such.urdf", publish_tf=True) as program:
            arrived = bench.collect(LinkPoses, "kinematics/link_poses")
            joint_states = bench.joint_states()
            first = ur5e.joints[:3]
            q = ur5e.random(1)[0]
            message = joint_states.poses_of(arrived, first, q[:3])
            assert "forearm_link" in message.names
            assert not {"wrist_1_link", "tool0"} & set(message.names)  # behind joints never seen
            check_poses(message, ur5e, dict(zip(first, q)))
            values = bench.diagnosis("never seen in joint_states")
            assert values["joints never seen"] == ", ".join(ur5e.joints[3:])
            message = joint_states.poses_of(arrived, ur5e.joints[3:], q[3:])
            assert set(message.names) == set(ur5e.links)
            check_poses(message, ur5e, dict(zip(ur5e.joints, q)))
            assert program.stop(signal.SIGTERM) == 0, program.output
    # what it could not do it said, and did the rest
    assert "description from robot_file /no/such.urdf refused: can't be read" in program.output
    assert ("tf2_msgs is not installed" in program.output) == (importlib.util.find_spec("tf2_msgs") is None)


def test_a_node_without_a_description_says_so_until_one_comes(tmp_path: Path, ur5e: Oracle, panda: Oracle) -> None:
    with Bench("/late") as bench, kinematics_node(tmp_path, "/late") as program:
        bench.diagnosis("waiting for a robot_description", level=1)
        client = bench.node.create_client(SolveIK, "kinematics/solve_ik")
        assert not client.service_is_ready()
        bench.latch_description("this is no robot")
        bench.diagnosis("waiting for a robot_description that is right", level=2)
        bench.latch_description(ur5e.text)
        bench.diagnosis("waiting for joint_states", level=1)
        bench.wait_until(client.service_is_ready, "the IK service")
        arrived = bench.collect(LinkPoses, "kinematics/link_poses")
        joint_states = bench.joint_states()
        q = ur5e.random(1)[0]
        check_poses(joint_states.poses_of(arrived, ur5e.joints, q), ur5e, dict(zip(ur5e.joints, q)))
        assert bench.set_parameter("robot_description", panda.text) == (True, "")  # the latest is served
        bench.diagnosis("serving panda; waiting for joint_states", level=1)
        q = panda.random(1)[0]
        check_poses(joint_states.poses_of(arrived, panda.joints, q), panda, dict(zip(panda.joints, q)))
        assert program.stop(signal.SIGINT) == 0, program.output


def test_a_node_that_was_killed_serves_again_after_a_restart(tmp_path: Path, ur5e: Oracle) -> None:
    request = SolveIK.Request(tip_link="tool0", target_array=matrix_row(ur5e.poses({})["tool0"]).tolist())
    with Bench("/restart") as bench:
        arrived = bench.collect(LinkPoses, "kinematics/link_poses")
        joint_states = bench.joint_states()
        for seed in (1, 2):
            with kinematics_node(tmp_path, "/restart", robot_file=str(UR5E)) as program:
                q = ur5e.random(1, seed=seed)[0]
                check_poses(joint_states.poses_of(arrived, ur5e.joints, q), ur5e, dict(zip(ur5e.joints, q)))
                response = bench.call(SolveIK, "kinematics/solve_ik", request)
                assert response.error_code == SolveIK.Response.SUCCESS
                assert program.stop(signal.SIGKILL) == -signal.SIGKILL
                arrived.clear()
