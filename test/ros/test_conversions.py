"""Numbers of messages against numbers of pk; Pinocchio is the judge of rotations."""

from __future__ import annotations

from array import array
from types import SimpleNamespace

import numpy as np
import pytest

from pk_ros.conversions import (
    array_from_field,
    float64_field,
    inverse,
    matrices_from_rows,
    move_rows,
    nanoseconds,
    row_from_pose,
    rows_from_matrices,
    rows_from_poses,
    rows_from_transforms,
    rows_from_twists,
    seconds,
    uint8_field,
    uint32_field,
    wxyz_rows,
    xyzw_rows,
)

pin = pytest.importorskip("pinocchio", reason="pin is the judge of these tests")


def random_transforms(n: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    Ts = np.tile(np.eye(4), (n, 1, 1))
    for T, xyzw in zip(Ts, rng.normal(size=(n, 4))):
        T[:3, :3] = pin.Quaternion(xyzw / np.linalg.norm(xyzw)).toRotationMatrix()
    Ts[:, :3, 3] = rng.normal(size=(n, 3))
    return Ts


def half_turns() -> np.ndarray:
    """Transforms where qw is zero and one entry of the quaternion, or two, stand out: each branch of the conversion."""
    axes = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (0, 1, -1), (1, 2, 3), (-1, 1e-9, 0)]
    Ts = np.tile(np.eye(4), (len(axes), 1, 1))
    for T, axis in zip(Ts, axes):
        T[:3, :3] = pin.exp3(np.pi * np.array(axis) / np.linalg.norm(axis))
    return Ts


def pose_message(row: list[float]) -> SimpleNamespace:
    x, y, z, qx, qy, qz, qw = row
    return SimpleNamespace(position=SimpleNamespace(x=x, y=y, z=z), orientation=SimpleNamespace(x=qx, y=qy, z=qz, w=qw))


@pytest.mark.parametrize(
    "Ts", [random_transforms(500), half_turns(), np.eye(4)[None]], ids=["random", "half turns", "identity"]
)
def test_a_transform_turned_into_a_row_is_the_same_transform(Ts: np.ndarray) -> None:
    rows = rows_from_matrices(Ts)
    for T, row in zip(Ts, rows):
        assert np.allclose(row[:3], T[:3, 3], atol=0.0)
        assert np.allclose(pin.Quaternion(row[3:]).toRotationMatrix(), T[:3, :3], atol=1e-15 * 10)
    assert np.allclose(matrices_from_rows(rows), Ts, atol=1e-14)


def test_quaternions_have_unit_length_and_no_negative_real_part() -> None:
    rows = rows_from_matrices(np.concatenate((random_transforms(500), half_turns())))
    assert np.allclose(np.linalg.norm(rows[:, 3:], axis=1), 1.0, atol=1e-15)
    assert (rows[:, 6] >= 0.0).all()


def test_leading_dimensions_are_kept() -> None:
    Ts = random_transforms(6).reshape(2, 3, 4, 4)
    assert rows_from_matrices(Ts).shape == (2, 3, 7)
    assert matrices_from_rows(rows_from_matrices(Ts)).shape == (2, 3, 4, 4)
    assert rows_from_matrices(np.empty((0, 4, 4))).shape == (0, 7)


def test_a_nan_transform_gives_a_nan_row_and_leaves_the_others_alone() -> None:
    Ts = random_transforms(3)
    clean = rows_from_matrices(Ts)
    Ts[1] = np.nan
    rows = rows_from_matrices(Ts)
    assert np.isnan(rows[1]).all()
    assert np.array_equal(rows[[0, 2]], clean[[0, 2]])


def test_rows_moved_to_another_frame_are_the_product_of_the_transforms() -> None:
    T_a_b, *Ts_b = random_transforms(20, seed=1)
    moved = move_rows(T_a_b, rows_from_matrices(np.array(Ts_b)))
    assert np.allclose(matrices_from_rows(moved), T_a_b @ np.array(Ts_b), atol=1e-14)


def test_a_row_that_is_no_pose_is_still_none_after_a_move() -> None:
    T = random_transforms(1)[0]
    rows = np.array([[1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0], [np.nan] * 7])
    moved = move_rows(T, rows)
    assert (moved[0, 3:] == 0.0).all()
    assert np.isnan(moved[1]).all()


def test_a_zero_quaternion_is_no_rotation_at_all() -> None:
    assert np.isnan(matrices_from_rows(np.zeros((1, 7)))[0, :3, :3]).all()


def test_a_quaternion_that_is_not_unit_length_means_its_direction() -> None:
    rows = rows_from_matrices(random_transforms(5))
    assert np.allclose(matrices_from_rows(rows * [1, 1, 1, 3, 3, 3, 3]), matrices_from_rows(rows), atol=1e-14)


def test_the_inverse_undoes_the_transform() -> None:
    Ts = random_transforms(10)
    assert np.allclose(inverse(Ts) @ Ts, np.eye(4), atol=1e-14)


def test_the_order_of_quaternions_changes_and_changes_back() -> None:
    row = np.array([[1.0, 2.0, 3.0, 0.1, 0.2, 0.3, 0.9]])
    assert wxyz_rows(row).tolist() == [[1.0, 2.0, 3.0, 0.9, 0.1, 0.2, 0.3]]
    assert np.array_equal(xyzw_rows(wxyz_rows(row)), row)


def test_pose_messages_give_their_rows() -> None:
    rows = rows_from_matrices(random_transforms(4))
    poses = [pose_message(row) for row in rows.tolist()]
    assert np.array_equal(rows_from_poses(poses), rows)
    assert np.array_equal(row_from_pose(poses[1]), rows[1])
    assert rows_from_poses([]).shape == (0, 7)
    transforms = [SimpleNamespace(translation=pose.position, rotation=pose.orientation) for pose in poses]
    assert np.array_equal(rows_from_transforms(transforms), rows)
    assert rows_from_transforms([]).shape == (0, 7)


def test_twist_messages_give_their_rows() -> None:
    linear, angular = SimpleNamespace(x=1.0, y=2.0, z=3.0), SimpleNamespace(x=4.0, y=5.0, z=6.0)
    twists = [SimpleNamespace(linear=linear, angular=angular)] * 2
    assert rows_from_twists(twists).tolist() == [[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]] * 2
    assert rows_from_twists([]).shape == (0, 6)


def test_fields_are_the_arrays_that_rclpy_takes_and_come_back_without_a_copy() -> None:
    values = np.array([[1.0, np.nan], [np.inf, -2.5]]).T  # not contiguous
    field = float64_field(values)
    assert field.typecode == "d"
    assert np.array_equal(array_from_field(field), values.ravel(), equal_nan=True)
    assert np.shares_memory(array_from_field(field), np.frombuffer(field))
    assert uint8_field(np.array([0, 7])).typecode == "B"
    assert list(uint32_field(np.array([0, 4_000_000_000]))) == [0, 4_000_000_000]
    assert array_from_field([1, 2]).tolist() == [1.0, 2.0]
    assert array_from_field(array("d")).shape == (0,)


def test_a_duration_counts_its_nanoseconds() -> None:
    assert seconds(SimpleNamespace(sec=2, nanosec=500_000_000)) == 2.5
    assert nanoseconds(SimpleNamespace(sec=-1, nanosec=5)) == -999_999_995
