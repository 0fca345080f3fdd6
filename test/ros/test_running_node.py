"""What can be changed and asked of a node while it runs, over DDS: parameters, topics, time, reset, lifecycle."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: no ROS here")
pytest.importorskip("pinocchio", reason="pin is the judge of these tests")

from bench import LATCHED, REPOSITORY, Bench, Program, kinematics_node, serving
from geometry_msgs.msg import PoseArray, PoseStamped, Transform
from lifecycle_msgs.srv import ChangeState, GetState
from nav_msgs.msg import Odometry
from oracle import PANDA, UR5E, Oracle, pose_matrix
from pk_ros.msg import LinkPoses, LinkTwists, Model
from pk_ros.srv import ComputeFK
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState, MultiDOFJointState
from std_srvs.srv import Trigger

ROVER = """<robot name="rover"><link name="world"/><link name="base"/><link name="mast"/>
<joint name="root" type="floating"><parent link="world"/><child link="base"/></joint>
<joint name="turn" type="continuous"><parent link="base"/><child link="mast"/><origin xyz="0 0 1"/><axis xyz="0 0 1"/></joint>
</robot>"""


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """A node that serves the UR5e."""
    with serving(tmp_path_factory.mktemp("run"), "/run", UR5E) as program:
        yield program


@pytest.fixture
def bench(node: Program) -> Iterator[Bench]:
    with Bench("/run") as bench:
        yield bench


@pytest.fixture(scope="module")
def ur5e() -> Oracle:
    return Oracle(UR5E)


def test_parameters_that_do_not_fit_are_refused_with_the_reason(bench: Bench) -> None:
    for name, value, words in [
        ("tip", "tol0", "tool0"),
        ("device", "toaster", "device 'toaster' can't be used here"),
        ("link_filter", "panda*", "panda*"),
        ("publish_rate", -1.0, "publish_rate"),
        ("managed", True, "read-only"),
        ("joint_states.reliability", "sometimes", "best_effort"),
    ]:
        successful, reason = bench.set_parameter(name, value)
        assert not successful
        assert words in reason


def test_what_is_published_can_be_changed_while_the_node_runs(bench: Bench, ur5e: Oracle) -> None:
    arrived = bench.collect(LinkPoses, "kinematics/link_poses")
    arrays = bench.collect(PoseArray, "kinematics/pose_array")
    twists = bench.collect(LinkTwists, "kinematics/link_twists")
    joint_states = bench.joint_states()
    changes = {
        "link_filter": "wrist_?_link, tool0",
        "publish_pose_array": True,
        "publish_twists": True,
        "frame_prefix": "l/",
    }
    try:
        for name, value in changes.items():
            assert bench.set_parameter(name, value) == (True, "")
        bench.wait_until(lambda: bench.node.count_publishers("kinematics/link_twists"), "the publisher")
        q, v = ur5e.random(1)[0], np.arange(6) * 0.1

        def latest_frames() -> list[str]:
            return [messages[-1].header.frame_id for messages in (arrived, arrays, twists) if messages]

        while latest_frames() != ["l/base_link"] * 3:  # set last
            joint_states.send(ur5e.joints, q, v)
            bench.spin_for(0.05)
        assert list(arrived[-1].names) == ["wrist_1_link", "wrist_2_link", "wrist_3_link", "tool0"]
        wanted = ur5e.poses(dict(zip(ur5e.joints, q)))
        assert np.allclose(pose_matrix(arrays[-1].poses[3]), wanted["tool0"], atol=1e-9)
        linear, angular = twists[-1].twists[3].linear, twists[-1].twists[3].angular
        told = [linear.x, linear.y, linear.z, angular.x, angular.y, angular.z]
        assert np.allclose(told, ur5e.twist("tool0", q, v), atol=1e-8)
    finally:
        for name, value in {
            "link_filter": "",
            "publish_pose_array": False,
            "publish_twists": False,
            "frame_prefix": "",
        }.items():
            assert bench.set_parameter(name, value) == (True, "")
    bench.wait_until(lambda: not bench.node.count_publishers("kinematics/link_twists"), "its end")


def test_the_rate_of_poses_and_the_qos_of_joint_states_can_be_changed(bench: Bench, ur5e: Oracle) -> None:
    arrived = bench.collect(LinkPoses, "kinematics/link_poses")
    joint_states = bench.joint_states()
    try:
        for name, value in [("joint_states.reliability", "reliable"), ("joint_states.depth", 5), ("publish_rate", 0.5)]:
            assert bench.set_parameter(name, value) == (True, "")
        joint_states.poses_of(arrived, ur5e.joints, [0.1] * 6)
        n_before = len(arrived)
        for _ in range(20):
            joint_states.send(ur5e.joints, [0.1] * 6)
            bench.spin_for(0.02)
        assert len(arrived) <= n_before + 1
    finally:
        for name, value in [
            ("joint_states.reliability", "best_effort"),
            ("joint_states.depth", 100),
            ("publish_rate", 0.0),
        ]:
            assert bench.set_parameter(name, value) == (True, "")


def test_reset_forgets_the_joints_and_warmup_answers_when_warm(bench: Bench, ur5e: Oracle) -> None:
    arrived = bench.collect(LinkPoses, "kinematics/link_poses")
    joint_states = bench.joint_states()
    joint_states.poses_of(arrived, ur5e.joints, [0.1] * 6)
    bench.spin_for(0.2)
    answer = bench.call(Trigger, "kinematics/reset", Trigger.Request())
    assert answer.success
    values = bench.diagnosis("waiting for joint_states", level=1)
    assert values["joint_states messages"] == "0"
    message = joint_states.poses_of(arrived, ur5e.joints[:1], [0.1])
    assert "upper_arm_link" not in message.names
    answer = bench.call(Trigger, "kinematics/warmup", Trigger.Request())
    assert answer.success, answer.message
    assert answer.message.startswith("warm after")


def test_absurd_and_twice_named_and_overtaken_joint_states_are_reported(bench: Bench, ur5e: Oracle) -> None:
    arrived = bench.collect(LinkPoses, "kinematics/link_poses")
    joint_states = bench.joint_states()
    joint_states.poses_of(arrived, ur5e.joints, [0.1] * 6)
    for names, positions, words in [
        (ur5e.joints, [1e300, *[0.1] * 5], "= 1e+300"),
        ([*ur5e.joints, ur5e.joints[0]], [0.1] * 7, "named more than once"),
        (ur5e.joints, [7.0, *[0.1] * 5], "outside their limits"),
    ]:
        joint_states.send(names, positions)
        bench.diagnosis(words)
    joint_states.send(ur5e.joints, [0.2] * 6, back=5)
    bench.diagnosis("older than what is known")


def test_a_managed_node_serves_while_it_is_active(tmp_path: Path, ur5e: Oracle) -> None:
    with Bench("/managed") as bench, kinematics_node(tmp_path, "/managed", managed=True) as program:

        def change(transition: str) -> bool:
            request = ChangeState.Request()
            request.transition.label = transition
            return bench.call(ChangeState, "kinematics/change_state", request).success

        def state() -> str:
            return bench.call(GetState, "kinematics/get_state", GetState.Request()).current_state.label

        bench.diagnosis("unconfigured: configure it")
        assert not change("configure")  # no description
        assert state() == "unconfigured"
        bench.latch_description("<robot/>")
        bench.spin_for(0.3)
        assert not change("configure")
        bench.latch_description(ur5e.text)
        bench.spin_for(0.3)
        assert change("configure"), program.output
        models = bench.collect(Model, "kinematics/model", LATCHED)
        bench.wait_until(lambda: models, "the model, which is told before it is served")
        bench.diagnosis("inactive, with ur5e: activate it to serve", level=1)
        assert not bench.node.count_publishers("kinematics/link_poses")
        client = bench.node.create_client(ComputeFK, "kinematics/compute_fk")
        assert not client.service_is_ready()
        for _ in range(2):
            assert change("activate")
            arrived = bench.collect(LinkPoses, "kinematics/link_poses")
            bench.joint_states().poses_of(arrived, ur5e.joints, [0.1] * 6)
            request = ComputeFK.Request(links=["tool0"], joint_names=ur5e.joints, positions=[0.0] * 6)
            assert bench.call(ComputeFK, "kinematics/compute_fk", request).error_code == ComputeFK.Response.SUCCESS
            assert change("deactivate")
            bench.wait_until(lambda: not client.service_is_ready(), "the end of the service")
        assert change("cleanup")
        assert state() == "unconfigured"
        assert change("shutdown")
        assert program.stop(signal.SIGTERM) == 0, program.output


def test_two_nodes_side_by_side_keep_to_their_own(tmp_path: Path, ur5e: Oracle) -> None:
    panda = Oracle(PANDA)
    left = kinematics_node(tmp_path, "/left", robot_file=str(PANDA), frame_prefix="left/")
    right = kinematics_node(tmp_path, "/right", robot_file=str(UR5E), frame_prefix="right/")
    with left, right, Bench("/left") as left_bench, Bench("/right") as right_bench:
        for bench, oracle in ((left_bench, panda), (right_bench, ur5e)):
            arrived = bench.collect(LinkPoses, "kinematics/link_poses")
            message = bench.joint_states().poses_of(arrived, oracle.joints, [0.1] * len(oracle.joints))
            assert set(message.names) == set(oracle.links)
            assert message.header.frame_id == f"{bench.namespace[1:]}/{oracle.root}"
        assert left.stop(signal.SIGINT) == right.stop(signal.SIGTERM) == 0


def test_a_node_without_the_events_executor_does_the_same(tmp_path: Path, ur5e: Oracle) -> None:
    environment = {
        "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")])
    }
    node = kinematics_node(tmp_path, "/plain", environment, "node_on_one_thread", robot_file=str(UR5E))
    with Bench("/plain") as bench, node as program:
        arrived = bench.collect(LinkPoses, "kinematics/link_poses")
        joint_states = bench.joint_states()
        q = ur5e.random(1)[0]
        message = joint_states.poses_of(arrived, ur5e.joints, q)
        wanted = ur5e.poses(dict(zip(ur5e.joints, q)))
        assert np.allclose(pose_matrix(message.poses[-1]), wanted[message.names[-1]], atol=1e-9)
        bench.latch_description(PANDA.read_text())
        bench.diagnosis("serving panda")
        joint_states.poses_of(arrived, Oracle(PANDA).joints, [0.1] * 8)
        assert program.stop(signal.SIGTERM) == 0, program.output


def test_poses_of_a_mobile_robot_follow_its_root_and_time_may_jump_back(tmp_path: Path) -> None:
    with Bench("/rover") as bench:
        parameters = {"use_sim_time": True, "publish_twists": True, "frame_prefix": "r/"}
        node = kinematics_node(tmp_path, "/rover", robot_description=ROVER, **parameters)
        with node as program:
            clock = bench.node.create_publisher(Clock, "/clock", 10)
            arrived = bench.collect(LinkPoses, "kinematics/link_poses")
            twists = bench.collect(LinkTwists, "kinematics/link_twists")
            roots = bench.node.create_publisher(PoseStamped, "root_pose", 10)
            odometry = bench.node.create_publisher(Odometry, "odom", 10)
            joints = bench.node.create_publisher(MultiDOFJointState, "multi_dof_joint_states", 10)
            turns = bench.node.create_publisher(JointState, "joint_states", 10)
            kinds = {roots: PoseStamped, odometry: Odometry, joints: MultiDOFJointState, turns: JointState}
            x = 0.0

            def send(publisher: object, at: float, step: float) -> None:
                tick = Clock()
                tick.clock.sec = int(at)
                clock.publish(tick)
                message = kinds[publisher]()
                message.header.stamp.sec = int(at)
                if publisher is roots:
                    message.header.frame_id = "odom"
                    message.pose.position.x = step
                elif publisher is odometry:
                    message.header.frame_id, message.child_frame_id = "odom", "r/base"
                    message.pose.pose.position.x, message.twist.twist.linear.x = step, 0.5
                elif publisher is joints:
                    message.joint_names, message.transforms = ["root"], [Transform()]
                    message.transforms[0].translation.x = step
                else:
                    message.name, message.position = ["turn"], [step]
                publisher.publish(message)

            def moved(publisher: object, at: float, link: str) -> object:
                nonlocal x
                while True:
                    x += 1.0
                    send(publisher, at, x)
                    bench.spin_for(0.05)
                    for message in reversed(arrived):
                        if link in message.names and message.header.stamp.sec == int(at):
                            return message

            poses = moved(roots, 100.0, "base")
            assert pose_matrix(poses.poses[1])[0, 3] in np.arange(1.0, x + 1.0)
            assert "mast" not in poses.names
            assert "mast" in moved(turns, 101.0, "mast").names
            moved(joints, 102.0, "base")
            assert pose_matrix(moved(odometry, 103.0, "base").poses[1])[0, 3] in np.arange(1.0, x + 1.0)
            linear = twists[-1].twists[1].linear
            assert np.allclose([linear.x, linear.y, linear.z], [0.5, 0.0, 0.0], atol=1e-8)
            bench.diagnosis("serving rover")
            assert "mast" in moved(turns, 10.0, "mast").names  # a simulation begins anew
            values = bench.diagnosis("serving rover")
            assert int(values["time set back"]) >= 1
            assert program.stop() == 0
