"""The messages of one configuration, as bytes: no ROS is needed."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pinocchio", reason="pin is the judge of these tests")

import pinocchio as pin
from oracle import PANDA, Oracle, row_matrix
from serialised import read_named, read_pose_array, read_transforms

from pk_ros.served_model import ServedModel, read_model
from pk_ros.streams import PoseSettings, PoseStreams

STAMP = 12 * 10**9 + 34
ALL = np.ones(8, dtype=bool)


@pytest.fixture(scope="module")
def model() -> ServedModel:
    return read_model(PANDA.read_text())


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle(PANDA)


def test_link_poses_grow_as_joints_are_seen(model: ServedModel, oracle: Oracle) -> None:
    streams = PoseStreams(model)
    q = oracle.random(1)[0]
    wanted = oracle.poses(dict(zip(model.columns, q)))
    seen = np.zeros(8, dtype=bool)
    for joint, n_links in ((None, 1), (0, 2), (1, 3), (slice(0, 7), 11), (7, 13)):
        if joint is not None:
            seen[joint] = True
        message = read_named(streams.fill(q, seen, STAMP)["link_poses"], 7)
        assert len(message.names) == len(message.rows) == n_links
        assert (message.frame_id, message.stamp) == ("panda_link0", STAMP)
        for name, row in zip(message.names, message.rows):
            assert np.allclose(row_matrix(row), wanted[name], atol=1e-9)


def test_only_what_is_asked_for_is_published(model: ServedModel) -> None:
    q = model.neutral
    assert set(PoseStreams(model).fill(q, ALL, STAMP)) == {"link_poses"}
    everything = PoseSettings(publish_pose_array=True, publish_twists=True, publish_tf=True)
    messages = PoseStreams(model, everything).fill(q, ALL, STAMP, np.zeros(8), ALL)
    assert set(messages) == {"link_poses", "pose_array", "link_twists", "tf"}


def test_the_pose_array_holds_the_same_poses(model: ServedModel, oracle: Oracle) -> None:
    messages = PoseStreams(model, PoseSettings(publish_pose_array=True)).fill(oracle.random(1)[0], ALL, STAMP)
    poses, array = read_named(messages["link_poses"], 7), read_pose_array(messages["pose_array"])
    assert np.array_equal(array.rows, poses.rows)
    assert (array.frame_id, array.stamp) == (poses.frame_id, poses.stamp)


def test_the_filter_chooses_links_by_name_and_pattern_in_the_robot_s_order(model: ServedModel) -> None:
    streams = PoseStreams(model, PoseSettings(link_filter=("panda_hand*", "panda_link[12]"), publish_tf=True))
    messages = streams.fill(model.neutral, ALL, STAMP)
    names = read_named(messages["link_poses"], 7).names
    assert names == ["panda_link1", "panda_link2", "panda_hand", "panda_hand_tcp"]
    assert len(read_transforms(messages["tf"])) == 9  # its tree stays whole


def test_transforms_chain_up_to_the_link_poses(model: ServedModel, oracle: Oracle) -> None:
    q = oracle.random(1)[0]
    streams = PoseStreams(model, PoseSettings(publish_tf=True, frame_prefix="left/"))
    transforms = read_transforms(streams.fill(q, ALL, STAMP)["tf"]) + read_transforms(streams.fixed(STAMP))
    up = {t.names[0]: (t.frame_id, row_matrix(t.rows)) for t in transforms}
    assert len(up) == len(transforms) == 12
    assert all(t.stamp == STAMP for t in transforms)
    for link, wanted in oracle.poses(dict(zip(model.columns, q))).items():
        T, frame = np.eye(4), f"left/{link}"
        while frame != "left/panda_link0":
            frame, T_parent_frame = up[frame]
            T = T_parent_frame @ T
        assert np.allclose(T, wanted, atol=1e-9), link


def test_joints_never_seen_are_not_told(model: ServedModel) -> None:
    seen = np.array([name != "panda_finger_joint1" for name in model.columns])
    message = PoseStreams(model, PoseSettings(publish_tf=True)).fill(model.neutral, seen, STAMP)["tf"]
    assert {t.names[0] for t in read_transforms(message)} == {f"panda_link{i}" for i in range(1, 8)}


def test_a_link_without_a_name_is_bridged_in_the_tree_of_transforms() -> None:
    text = """<mujoco><worldbody><body name="arm" pos="1 0 0"><joint name="a" axis="0 0 1"/><joint name="b" axis="0 1 0"/>
    <body name="tip" pos="0 0 2"/></body></worldbody></mujoco>"""
    model = read_model(text)
    streams = PoseStreams(model, PoseSettings(publish_tf=True))
    q = np.array([0.3, -0.7])
    moving = read_transforms(streams.fill(q, np.ones(2, dtype=bool), STAMP)["tf"])
    assert [(t.frame_id, t.names) for t in moving] == [("world", ["arm"])]
    wanted = pin.SE3(pin.rpy.rpyToMatrix(0.0, -0.7, 0.3), np.array([1.0, 0.0, 0.0])).homogeneous
    assert np.allclose(row_matrix(moving[0].rows), wanted, atol=1e-12)
    assert [(t.frame_id, t.names) for t in read_transforms(streams.fixed(STAMP))] == [("arm", ["tip"])]


def test_twists_are_those_of_pinocchio(model: ServedModel, oracle: Oracle) -> None:
    rng = np.random.default_rng(5)
    q, v = oracle.random(1)[0], rng.normal(size=8)
    messages = PoseStreams(model, PoseSettings(publish_twists=True)).fill(q, ALL, STAMP, v, ALL)
    message = read_named(messages["link_twists"], 6)
    assert set(message.names) == set(oracle.links)
    for name, row in zip(message.names, message.rows):
        assert np.allclose(row, oracle.twist(name, q, v), atol=1e-8), name


def test_links_behind_joints_without_velocity_have_no_twist(model: ServedModel) -> None:
    moving = np.arange(8) < 2
    streams = PoseStreams(model, PoseSettings(publish_twists=True))
    message = streams.fill(model.neutral, ALL, STAMP, np.zeros(8), moving)["link_twists"]
    assert read_named(message, 6).names == ["panda_link0", "panda_link1", "panda_link2"]
