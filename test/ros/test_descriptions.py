"""Descriptions that come while the node runs, over DDS: read first, refused with the reason, swapped between messages."""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: no ROS here")
pytest.importorskip("pinocchio", reason="pin is the judge of these tests")

from bench import LATCHED, Bench, Program, held, serving
from oracle import PANDA, UR5E, Oracle, pose_matrix
from pk_ros.msg import LinkPoses, Model
from pk_ros.srv import ComputeFK
from rclpy.qos import QoSProfile

SDF = """<sdf version="1.9"><model name="slider"><link name="rail"/><link name="cart"><pose>0 0 1 0 0 0</pose></link>
<joint name="along" type="prismatic"><parent>rail</parent><child>cart</child><axis><xyz>1 0 0</xyz>
<limit><lower>-0.5</lower><upper>2</upper></limit></axis></joint></model></sdf>"""
MJCF = """<mujoco model="swing"><worldbody><body name="rod" pos="0 0 2"><joint name="pivot" axis="0 1 0"/></body></worldbody>
</mujoco>"""


def turntable(n: int) -> str:
    """Write a robot whose first link turns about z and carries others in a row along x, each n + 2 metres from the last."""
    links = "".join(f'<link name="l{i}_{n}"/>' for i in range(n + 2))
    fixed = "".join(
        f'<joint name="f{i}" type="fixed"><parent link="l{i}_{n}"/><child link="l{i + 1}_{n}"/><origin xyz="{n + 2} 0 0"/></joint>'
        for i in range(1, n + 1)
    )
    return (
        f'<robot name="r{n}">{links}<joint name="turn" type="continuous"><parent link="l0_{n}"/><child link="l1_{n}"/>'
        f'<axis xyz="0 0 1"/></joint>{fixed}</robot>'
    )


TURNTABLES = [turntable(0), turntable(1)]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """A node that serves the UR5e at first."""
    with serving(tmp_path_factory.mktemp("swap"), "/swap", UR5E) as program:
        yield program


@pytest.fixture
def bench(node: Program) -> Iterator[Bench]:
    with Bench("/swap") as bench:
        yield bench


def serve(bench: Bench, models: list[Model], text: str) -> Model:
    """Have a description served by parameter; give what the node tells of it."""
    wanted = hashlib.sha256(text.encode()).hexdigest()
    bench.wait_until(lambda: models, "the model served now")
    if models[-1].hash != wanted:
        assert bench.set_parameter("robot_description", text) == (True, "")
        bench.wait_until(lambda: models[-1].hash == wanted, "the model")
    return models[-1]


def test_the_model_is_told_to_who_comes_later(bench: Bench) -> None:
    models = bench.collect(Model, "kinematics/model", LATCHED)
    model = serve(bench, models, PANDA.read_text())
    oracle = Oracle(PANDA)
    assert model.name == "panda"
    assert model.root == oracle.root
    assert set(model.links) == set(oracle.links)
    assert set(model.coordinates) == set(oracle.joints)
    for name, lower, upper in zip(model.coordinates, model.lower, model.upper, strict=True):
        assert (lower, upper) == oracle.limits[name]
    joints = {joint.name: joint for joint in model.joints}
    assert len(joints) == 12
    assert joints["panda_joint4"].type == "revolute"
    assert (joints["panda_joint4"].parent, joints["panda_joint4"].child) == ("panda_link3", "panda_link4")
    assert joints["panda_joint4"].velocity == pytest.approx(2.175)
    assert (joints["panda_finger_joint2"].mimic, joints["panda_finger_joint2"].multiplier) == (
        "panda_finger_joint1",
        1.0,
    )
    assert joints["panda_joint8"].type == "fixed"
    assert math.isinf(joints["panda_joint8"].upper)


@pytest.mark.parametrize(
    ("text", "link", "joint", "xyz"), [(SDF, "cart", "along", [0.3, 0, 1]), (MJCF, "rod", "pivot", [0, 0, 2])]
)
def test_sdf_and_mjcf_are_served_too(bench: Bench, text: str, link: str, joint: str, xyz: list[float]) -> None:
    models = bench.collect(Model, "kinematics/model", LATCHED)
    model = serve(bench, models, text)
    assert list(model.coordinates) == [joint]
    arrived = bench.collect(LinkPoses, "kinematics/link_poses")
    message = bench.joint_states().poses_of(arrived, [joint], [0.3])
    assert np.allclose(pose_matrix(message.poses[message.names.index(link)])[:3, 3], xyz)


def test_a_file_is_read_when_the_parameter_is_set_and_again_when_it_is_set_again(bench: Bench, tmp_path: Path) -> None:
    models = bench.collect(Model, "kinematics/model", LATCHED)
    path = tmp_path / "robot.sdf"
    for name in ("first", "second"):
        path.write_text(SDF.replace("slider", name))
        assert bench.set_parameter("robot_file", str(path)) == (True, "")
        bench.wait_until(lambda: models and models[-1].name == name, name)  # noqa: B023
        assert models[-1].source == f"robot_file {path}"
    path.write_text("<sdf><model/></sdf>")
    successful, reason = bench.set_parameter("robot_file", str(path))
    assert not successful
    assert "line 1" in reason


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<robot name='r'><link/></robot>", "name"),
        ("<html/>", "<html>"),
        ("/etc/passwd", "does not begin with '<'"),
        ("   ", "empty"),
        ("<robot name='r'><link name='a'/><link name='b'/></robot>", "root"),
        (
            "<sdf version='1.9'><model name='m'><include><uri>file:///etc/passwd</uri></include></model></sdf>",
            "include",
        ),
        ("<mujoco><include file='/etc/passwd'/></mujoco>", "include"),
    ],
)
def test_a_bad_description_is_refused_and_the_old_one_stays(bench: Bench, text: str, words: str) -> None:
    models = bench.collect(Model, "kinematics/model", LATCHED)
    serve(bench, models, UR5E.read_text())
    successful, reason = bench.set_parameter("robot_description", text)
    assert not successful
    assert words in reason
    bench.latch_description(text)
    values = bench.diagnosis(words, level=1)
    assert words in values["description refused"]
    assert "a newer description was refused" in values["message"]
    assert values["robot"] == models[-1].name == "ur5e"
    oracle = Oracle(UR5E)
    request = ComputeFK.Request(links=["tool0"], joint_names=oracle.joints, positions=[0.0] * 6)
    assert bench.call(ComputeFK, "kinematics/compute_fk", request).error_code == ComputeFK.Response.SUCCESS


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_thousand_swaps_under_load_mix_no_models_and_leave_nothing_behind(node: Program, bench: Bench) -> None:
    models = bench.collect(Model, "kinematics/model", LATCHED)
    serve(bench, models, TURNTABLES[1])
    arrived = bench.collect(LinkPoses, "kinematics/link_poses", 1000)
    joint_states = bench.joint_states()
    client = bench.node.create_client(ComputeFK, "kinematics/compute_fk", qos_profile=QoSProfile(depth=1000))
    bench.wait_until(client.service_is_ready, "the service")
    request = ComputeFK.Request(joint_names=["turn"], positions=[math.pi / 2])
    first = models[-1].stamp
    requests, answers = [], []
    for count in range(1, 1001):
        bench.latch_description(TURNTABLES[count % 2])
        n_models, sent_again = len(models), time.monotonic() + 1.0
        while len(models) == n_models:
            joint_states.send(["turn"], [math.pi / 2])
            if not requests or requests[-1].done() or time.monotonic() > sent_again:  # an answer may be lost at first
                requests.append(client.call_async(request))
                sent_again = time.monotonic() + 1.0
            bench.spin_for(0.002)
        if count == 200:
            before = held(node.pid)
    after = held(node.pid)
    bench.spin_for(0.2)
    assert models[-1000].stamp != first
    assert [model.name for model in models[-1000:]] == ["r0", "r1"][::-1] * 500
    answers = [future.result() for future in requests if future.done()]
    assert len(answers) > 200 and len(arrived) > 1000
    told = set()
    for message in arrived:
        size = int(message.header.frame_id[-1]) + 2
        told.add(tuple(message.names))
        assert list(message.names) == [f"l{i}_{size - 2}" for i in range(size)]
        ends = [pose.position.y for pose in message.poses[1:]]
        assert np.allclose(ends, np.arange(size - 1) * float(size), atol=1e-9)  # turned by a quarter
    for answer in answers:
        rows = np.reshape(answer.poses, (-1, 7))
        assert len(rows) in (2, 3)
        assert np.allclose(rows[1:, 1], np.arange(len(rows) - 1) * float(len(rows)), atol=1e-9)
        told.add(len(rows))
    assert len(told) == 4  # both robots were told of and asked
    assert after["threads"] <= before["threads"] and after["files"] <= before["files"]
    assert after["memory"] < before["memory"] + 8.0
    assert node.running
