"""Messages that are filled anew for each joint_states, with stand-ins for their classes: no ROS is needed."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("pinocchio", reason="pin is the judge of these tests")

from oracle import PANDA, Oracle, pose_matrix, row_matrix

from pk_ros.served_model import ServedModel, read_model
from pk_ros.streams import LinkPosesStream, TransformStream

STAMP = object()


@pytest.fixture(scope="module")
def model() -> ServedModel:
    return read_model(PANDA.read_text())


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle(PANDA)


def pose() -> SimpleNamespace:
    return SimpleNamespace(position=SimpleNamespace(), orientation=SimpleNamespace())


def link_poses() -> SimpleNamespace:
    return SimpleNamespace(header=SimpleNamespace(), names=[], poses=[])


def transform() -> SimpleNamespace:
    inner = SimpleNamespace(translation=SimpleNamespace(), rotation=SimpleNamespace())
    return SimpleNamespace(header=SimpleNamespace(), transform=inner)


def tf_message() -> SimpleNamespace:
    return SimpleNamespace(transforms=[])


def matrix(transform: SimpleNamespace) -> np.ndarray:
    t, r = transform.transform.translation, transform.transform.rotation
    return row_matrix(np.array([t.x, t.y, t.z, r.x, r.y, r.z, r.w]))


def test_link_poses_grow_as_joints_are_seen(model: ServedModel, oracle: Oracle) -> None:
    stream = LinkPosesStream(model, link_poses, pose)
    q = oracle.random(1)[0]
    wanted = oracle.poses(dict(zip(model.columns, q)))
    seen = np.zeros(8, dtype=bool)
    for joint, n_links in ((None, 1), (0, 2), (1, 3), (slice(0, 7), 11), (7, 13)):
        if joint is not None:
            seen[joint] = True
        message = stream.fill(model.place(q), seen, STAMP)
        assert len(message.names) == len(message.poses) == n_links
        assert message.header.frame_id == "panda_link0"
        assert message.header.stamp is STAMP
        for name, link_pose in zip(message.names, message.poses):
            assert np.allclose(pose_matrix(link_pose), wanted[name], atol=1e-9)


def test_transforms_chain_up_to_the_link_poses(model: ServedModel, oracle: Oracle) -> None:
    q = oracle.random(1)[0]
    everything = np.ones(8, dtype=bool)
    transforms = [
        transform
        for fixed in (False, True)
        for transform in TransformStream(model, tf_message, transform_stamped, fixed=fixed)
        .fill(model.place(q), everything, STAMP)
        .transforms
    ]
    up = {t.child_frame_id: (t.header.frame_id, matrix(t)) for t in transforms}
    assert all(t.header.stamp is STAMP for t in transforms)
    for link, wanted in oracle.poses(dict(zip(model.columns, q))).items():
        T, frame = np.eye(4), link
        while frame != "panda_link0":
            frame, T_parent_frame = up[frame]
            T = T_parent_frame @ T
        assert np.allclose(T, wanted, atol=1e-9), link


transform_stamped = transform


def test_joints_never_seen_are_not_told(model: ServedModel) -> None:
    stream = TransformStream(model, tf_message, transform_stamped, fixed=False)
    seen = np.array([name != "panda_finger_joint1" for name in model.columns])
    children = {t.child_frame_id for t in stream.fill(model.place(model.neutral), seen, STAMP).transforms}
    assert children == {f"panda_link{i}" for i in range(1, 8)}
