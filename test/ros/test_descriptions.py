"""Descriptions that come while the node runs, over DDS: read first, refused with the reason, swapped between messages."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: no ROS here")
pytest.importorskip("pinocchio", reason="pin is the judge of these tests")

from bench import LATCHED, Bench, Program, serving
from oracle import PANDA, UR5E, Oracle, pose_matrix
from pk_ros.msg import LinkPoses, Model
from pk_ros.srv import ComputeFK

SDF = """<sdf version="1.9"><model name="slider"><link name="rail"/><link name="cart"><pose>0 0 1 0 0 0</pose></link>
<joint name="along" type="prismatic"><parent>rail</parent><child>cart</child><axis><xyz>1 0 0</xyz>
<limit><lower>-0.5</lower><upper>2</upper></limit></axis></joint></model></sdf>"""
MJCF = """<mujoco model="swing"><worldbody><body name="rod" pos="0 0 2"><joint name="pivot" axis="0 1 0"/></body></worldbody>
</mujoco>"""


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


def test_swaps_under_load_mix_no_models(node: Program, bench: Bench) -> None:
    models = bench.collect(Model, "kinematics/model", LATCHED)
    serve(bench, models, UR5E.read_text())
    oracles = {"panda": Oracle(PANDA), "ur5e": Oracle(UR5E)}
    arrived = bench.collect(LinkPoses, "kinematics/link_poses", 1000)
    joint_states = bench.joint_states()
    wanted = {name: oracle.poses({joint: 0.1 for joint in oracle.joints}) for name, oracle in oracles.items()}
    names = [joint for oracle in oracles.values() for joint in oracle.joints]
    for count in range(20):
        text = oracles[("panda", "ur5e")[count % 2]].text
        bench.latch_description(text)
        n_models = len(models)
        while len(models) == n_models:
            joint_states.send(names, [0.1] * len(names))
            bench.spin_for(0.005)
    bench.spin_for(0.2)
    assert [model.name for model in models[-20:]] == ["panda", "ur5e"] * 10
    assert len(arrived) > 20
    for message in arrived:
        (name,) = (name for name, oracle in oracles.items() if oracle.root == message.header.frame_id)
        assert set(message.names) == set(
            oracles[name].links
        )  # this joint_states has moved all joints, or no poses came
        assert np.allclose(pose_matrix(message.poses[-1]), wanted[name][message.names[-1]], atol=1e-9)
    assert node.running
