"""From joint states to poses, without ROS. Pinocchio judges floating and planar roots."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("pinocchio", reason="pin is the judge of these tests")

import pinocchio as pin
from oracle import PANDA, Oracle, matrix_row, row_matrix
from serialised import read_named

from pk_ros.cdr import JointStateView
from pk_ros.pose_tracker import PoseTracker, TrackerSettings
from pk_ros.served_model import ServedModel, read_model
from pk_ros.streams import PoseSettings

MOBILE = """<robot name="mobile"><link name="world"/><link name="base"/><link name="arm"/>
<joint name="root" type="{kind}"><parent link="world"/><child link="base"/><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>
<axis xyz="{axis}"/></joint>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="arm"/><origin xyz="0 0 1"/><axis xyz="0 1 0"/></joint>
</robot>"""
ORIGIN = pin.SE3(pin.rpy.rpyToMatrix(0.1, 0.2, 0.3), np.array([1.0, 2.0, 3.0]))


@pytest.fixture(scope="module")
def panda() -> ServedModel:
    return read_model(PANDA.read_text())


def state(
    names: tuple[str, ...], position: list[float], stamp: int = 0, velocity: tuple[float, ...] = ()
) -> JointStateView:
    return JointStateView(stamp, names, np.array(position), np.array(velocity))


def mobile(kind: str, axis: str = "0 0 1", **settings: object) -> PoseTracker:
    return PoseTracker(read_model(MOBILE.format(kind=kind, axis=axis)), TrackerSettings(**settings))


def base_of(messages: dict[str, bytes]) -> np.ndarray:
    poses = read_named(messages["link_poses"], 7)
    return row_matrix(poses.rows[poses.names.index("base")])


def test_each_message_gives_poses_with_its_stamp(panda: ServedModel) -> None:
    tracker, oracle = PoseTracker(panda), Oracle(PANDA)
    for i, q in enumerate(oracle.random(3)):
        update = tracker.take(state(panda.columns, q.tolist(), stamp=5 + i), now=0.001 * i)
        poses = read_named(update.messages["link_poses"], 7)
        assert poses.stamp == 5 + i
        wanted = oracle.poses(dict(zip(panda.columns, q)))
        assert all(np.allclose(row_matrix(row), wanted[name], atol=1e-9) for name, row in zip(poses.names, poses.rows))


def test_a_message_of_which_nothing_is_used_gives_no_poses(panda: ServedModel) -> None:
    update = PoseTracker(panda).take(state(("wheel",), [1.0]), now=0.0)
    assert not update.messages
    assert "wheel" in update.merge.problem


@pytest.mark.parametrize(("rate", "incoming"), [(30.0, 1000.0), (300.0, 1000.0), (100.0, 100.0), (50.0, 20.0)])
def test_the_rate_of_poses_is_the_lesser_of_the_two(panda: ServedModel, rate: float, incoming: float) -> None:
    tracker = PoseTracker(panda, TrackerSettings(publish_rate=rate))
    rng = np.random.default_rng(0)
    times = np.arange(0.0, 10.0, 1.0 / incoming) + rng.uniform(0.0, 0.1 / incoming, int(10 * incoming))
    published = [bool(tracker.take(state(panda.columns, [0.0] * 8), now).messages) for now in times]
    assert sum(published) == pytest.approx(10 * min(rate, incoming), rel=0.02)
    assert published[0]


def test_messages_between_two_poses_are_merged_all_the_same(panda: ServedModel) -> None:
    tracker = PoseTracker(panda, TrackerSettings(publish_rate=10.0))
    tracker.take(state(panda.columns[:4], [0.1] * 4), now=0.0)
    assert not tracker.take(state(panda.columns[4:], [0.2] * 4), now=0.01).messages
    update = tracker.take(state(panda.columns[:4], [0.1] * 4), now=0.2)
    assert len(read_named(update.messages["link_poses"], 7).names) == 13


def test_links_behind_stale_joints_stay_or_are_left_out_as_is_set(panda: ServedModel) -> None:
    for leave_out, n_links in ((False, 13), (True, 11)):
        tracker = PoseTracker(panda, TrackerSettings(leave_out_stale=leave_out))
        tracker.take(state(panda.columns, [0.0] * 8), now=0.0)
        update = tracker.take(state(panda.columns[:7], [0.0] * 7), now=1.5)
        assert len(read_named(update.messages["link_poses"], 7).names) == n_links
        assert tracker.joints.named(tracker.stale(1.5)) == ["panda_finger_joint1"]
        assert tracker.snapshot(1.5).seen[7] == (not leave_out)


def test_an_overtaken_message_is_taken_only_where_stamps_are_ignored(panda: ServedModel) -> None:
    for ignore, position in ((False, 1.0), (True, 2.0)):
        tracker = PoseTracker(panda, TrackerSettings(ignore_timestamp=ignore))
        tracker.take(state(("panda_joint1",), [1.0], stamp=2_000_000), now=0.0)
        update = tracker.take(state(("panda_joint1",), [2.0], stamp=1_000_000), now=0.0)
        assert tracker.joints.q[0] == position
        assert bool(update.messages) == ignore


def test_a_message_without_a_stamp_is_always_taken(panda: ServedModel) -> None:
    tracker = PoseTracker(panda)
    tracker.take(state(("panda_joint1",), [1.0], stamp=2_000_000), now=0.0)
    assert tracker.take(state(("panda_joint1",), [2.0], stamp=0), now=0.0).messages


def test_other_settings_keep_what_is_known(panda: ServedModel) -> None:
    tracker = PoseTracker(panda)
    tracker.take(state(panda.columns, [0.0] * 8), now=0.0)
    tracker.configure(TrackerSettings(poses=PoseSettings(link_filter=("*hand",))))
    update = tracker.take(state(("panda_joint1",), [1.0]), now=0.1)
    assert read_named(update.messages["link_poses"], 7).names == ["panda_hand"]


def test_joints_outside_their_limits_are_told(panda: ServedModel) -> None:
    tracker = PoseTracker(panda)
    tracker.take(state(("panda_joint1", "panda_joint4"), [3.5, -1.0]), now=0.0)
    assert tracker.joints.named(tracker.outside_limits()) == ["panda_joint1"]


def test_odometry_places_the_link_of_a_floating_joint() -> None:
    rng = np.random.default_rng(1)
    for _ in range(5):
        T_world_base = pin.SE3.Random()
        row, sign = matrix_row(T_world_base.homogeneous), rng.choice([-1.0, 1.0])
        row[3:] *= sign  # the same rotation
        update = mobile("floating").take_root_pose("odom", "base", row, None, stamp=7, now=0.0)
        assert not update.merge.problem
        assert np.allclose(base_of(update.messages), T_world_base.homogeneous, atol=1e-12)


def test_a_multi_dof_joint_state_moves_a_floating_joint_from_its_own_frame() -> None:
    motion = pin.SE3.Random()
    row = matrix_row(motion.homogeneous)[None]
    update = mobile("floating").take_multi_dof(["root"], row, np.empty((0, 6)), stamp=7, now=0.0)
    assert np.allclose(base_of(update.messages), (ORIGIN * motion).homogeneous, atol=1e-12)


@pytest.mark.parametrize("axis", ["0 0 1", "0 1 0", "1 2 -3", "0 0 -1"])
def test_odometry_places_the_link_of_a_planar_joint(axis: str) -> None:
    normal = np.array([float(x) for x in axis.split()])
    normal /= np.linalg.norm(normal)
    within = np.cross(normal, [0.3, -0.8, 0.5])  # in the plane
    motion = pin.SE3(pin.exp3(2.5 * normal), within)
    tracker = mobile("planar", axis)
    update = tracker.take_root_pose("world", "", matrix_row((ORIGIN * motion).homogeneous), None, stamp=0, now=0.0)
    assert np.allclose(base_of(update.messages), (ORIGIN * motion).homogeneous, atol=1e-12)
    assert tracker.joints.q[2] == pytest.approx(2.5)


def test_what_leads_out_of_the_plane_is_left_out() -> None:
    motion = pin.SE3(pin.exp3(np.array([0.0, 0.0, 0.5])), np.array([1.0, 2.0, 9.0]))
    tracker = mobile("planar")
    tracker.take_multi_dof(["root"], matrix_row(motion.homogeneous)[None], np.empty((0, 6)), stamp=0, now=0.0)
    assert np.allclose(tracker.joints.q[:3], [1.0, 2.0, 0.5])


@pytest.mark.parametrize("kind", ["floating", "planar"])
def test_the_twist_of_odometry_is_in_the_axes_of_the_child(kind: str) -> None:
    tracker = mobile(kind, poses=PoseSettings(publish_twists=True))
    motion = pin.SE3(pin.exp3(np.array([0.0, 0.0, 0.8])), np.array([1.0, 2.0, 0.0]))
    twist = np.array([0.5, -0.2, 0.0, 0.0, 0.0, 0.7])
    row = matrix_row((ORIGIN * motion).homogeneous)
    messages = tracker.take_root_pose("", "base", row, twist, stamp=0, now=0.0).messages
    twists = read_named(messages["link_twists"], 6)
    R = (ORIGIN * motion).rotation
    assert twists.names == ["world", "base"]  # the arm's joint has no velocity
    assert np.allclose(twists.rows[1], [*(R @ twist[:3]), *(R @ twist[3:])], atol=1e-8)


@pytest.mark.parametrize(
    ("names", "row", "words"),
    [
        (["shoulder"], [0, 0, 0, 0, 0, 0, 1], "no ball, floating or planar joint"),
        (["nothing"], [0, 0, 0, 0, 0, 0, 1], "nothing"),
        (["root"], [0, 0, 0, 0, 0, 0, 0], "quaternion"),
        (["root"], [0, np.nan, 0, 0, 0, 0, 1], "not finite"),
        (["root", "root"], [0, 0, 0, 0, 0, 0, 1], "2 joints, 1 transforms"),
    ],
)
def test_a_multi_dof_joint_state_that_can_not_be_is_told(names: list[str], row: list[float], words: str) -> None:
    update = mobile("floating").take_multi_dof(names, np.array([row], dtype=float), np.empty((0, 6)), stamp=0, now=0.0)
    assert update.merge.used == 0
    assert words in update.merge.problem
    assert not update.messages


@pytest.mark.parametrize(("parent", "child", "words"), [("arm", "", "'arm'"), ("odom", "arm", "0 floating or planar")])
def test_odometry_of_other_frames_is_told(parent: str, child: str, words: str) -> None:
    row = np.array([0.0, 0, 0, 0, 0, 0, 1])
    update = mobile("floating").take_root_pose(parent, child, row, None, stamp=0, now=0.0)
    assert words in update.merge.problem
    assert not update.messages


def test_a_robot_whose_root_stands_still_takes_no_odometry(panda: ServedModel) -> None:
    update = PoseTracker(panda).take_root_pose("odom", "", np.array([0.0, 0, 0, 0, 0, 0, 1]), None, stamp=0, now=0.0)
    assert "0 floating or planar joints" in update.merge.problem
