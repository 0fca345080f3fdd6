"""Frames of /tf that requests may be given in, with Pinocchio as the judge of where links are."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("pinocchio", reason="pin is the judge of these tests")

from oracle import PANDA, Oracle, matrix_row, row_matrix

from pk_ros.frames import Frames, locate_frame, place_frame
from pk_ros.joint_states import JointSnapshot, JointTable
from pk_ros.requests import ErrorCode, Refusal
from pk_ros.served_model import ServedModel, read_model

READY = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785, 0.04]
RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def model() -> ServedModel:
    return read_model(PANDA.read_text())


@pytest.fixture(scope="module")
def ready(model: ServedModel) -> JointSnapshot:
    table = JointTable(model.columns, model.neutral)
    table.merge(model.columns, READY)
    return table.snapshot()


@pytest.fixture(scope="module")
def link_poses() -> dict[str, np.ndarray]:
    oracle = Oracle(PANDA)
    return oracle.poses(dict(zip(oracle.joints, READY)))


def random_transform() -> np.ndarray:
    q = RNG.normal(size=4)
    return row_matrix(np.concatenate([RNG.normal(size=3), q / np.linalg.norm(q)]))


def stamped(parent: str, child: str, T_parent_child: np.ndarray) -> SimpleNamespace:
    x, y, z, qx, qy, qz, qw = matrix_row(T_parent_child)
    return SimpleNamespace(
        header=SimpleNamespace(frame_id=parent),
        child_frame_id=child,
        transform=SimpleNamespace(
            translation=SimpleNamespace(x=x, y=y, z=z), rotation=SimpleNamespace(x=qx, y=qy, z=qz, w=qw)
        ),
    )


def test_a_frame_on_a_link_moves_with_it(
    model: ServedModel, ready: JointSnapshot, link_poses: dict[str, np.ndarray]
) -> None:
    T_hand_mount, T_mount_camera = random_transform(), random_transform()
    frames = Frames()
    frames.merge([stamped("panda_hand", "mount", T_hand_mount), stamped("/mount", "/camera", T_mount_camera)])
    T = place_frame(model, ready, "camera", "panda_link2", frames)
    wanted = np.linalg.inv(link_poses["panda_link2"]) @ link_poses["panda_hand"] @ T_hand_mount @ T_mount_camera
    assert np.allclose(T, wanted, atol=1e-9)


def test_a_frame_above_the_root_and_one_beside_it_are_found(model: ServedModel, ready: JointSnapshot) -> None:
    T_map_odom, T_odom_root, T_map_table = (random_transform() for _ in range(3))
    frames = Frames()
    frames.merge(
        [
            stamped("map", "odom", T_map_odom),
            stamped("odom", model.root, T_odom_root),
            stamped("map", "table", T_map_table),
        ]
    )
    T_root_map = np.linalg.inv(T_map_odom @ T_odom_root)
    for name, wanted in (
        ("map", T_root_map),
        ("odom", np.linalg.inv(T_odom_root)),
        ("table", T_root_map @ T_map_table),
    ):
        assert np.allclose(place_frame(model, ready, name, model.root, frames), wanted, atol=1e-9), name


def test_the_latest_transform_counts(model: ServedModel, ready: JointSnapshot) -> None:
    frames = Frames()
    for _ in range(3):
        T = random_transform()
        frames.merge([stamped(model.root, "table", T)])
    assert np.allclose(place_frame(model, ready, "table", model.root, frames), T, atol=1e-9)


def test_a_link_of_the_model_stands_where_its_joints_put_it_whatever_tf_says(
    model: ServedModel, ready: JointSnapshot, link_poses: dict[str, np.ndarray]
) -> None:
    frames = Frames()
    frames.merge([stamped("map", "panda_hand", random_transform())])
    T = place_frame(model, ready, "panda_hand", model.root, frames)
    assert np.allclose(T, link_poses["panda_hand"], atol=1e-9)


@pytest.mark.parametrize("known", [[], [("map", "table")], [("table", "tray"), ("tray", "table")]])
def test_a_frame_that_nothing_ties_to_the_robot_is_refused(model: ServedModel, known: list[tuple[str, str]]) -> None:
    frames = Frames()
    frames.merge([stamped(parent, child, np.eye(4)) for parent, child in known])
    with pytest.raises(Refusal, match=r"header\.frame_id.*no transform of /tf ties it") as refusal:
        locate_frame(model, "table", frames)
    assert refusal.value.code == ErrorCode.FRAME_TRANSFORM_FAILURE


def test_a_transform_that_is_none_is_left_out(model: ServedModel) -> None:
    frames = Frames()
    zero_quaternion, nan = stamped(model.root, "a", np.eye(4)), stamped(model.root, "b", np.eye(4))
    zero_quaternion.transform.rotation.w = 0.0
    nan.transform.translation.x = float("nan")
    frames.merge([zero_quaternion, nan, stamped("", "c", np.eye(4)), stamped(model.root, "d", np.eye(4))])
    for name in "abc":
        with pytest.raises(Refusal):
            locate_frame(model, name, frames)
    assert locate_frame(model, "d", frames)[0] == model.root


def test_frames_with_the_prefix_of_the_robot_are_its_links(model: ServedModel) -> None:
    frames = Frames()
    T_map_root = random_transform()
    frames.merge([stamped("map", f"left/{model.root}", T_map_root), stamped("left/panda_hand", "camera", np.eye(4))])
    for name in ("left/panda_link4", "/left/panda_link4", "panda_link4"):
        assert locate_frame(model, name, None, "left/")[0] == "panda_link4"
    assert locate_frame(model, "camera", frames, "left/")[0] == "panda_hand"
    link, T_root_map = locate_frame(model, "map", frames, "left/")
    assert link == model.root and np.allclose(T_root_map @ T_map_root, np.eye(4), atol=1e-9)
    with pytest.raises(Refusal, match="right/panda_link4"):
        locate_frame(model, "right/panda_link4", frames, "left/")
