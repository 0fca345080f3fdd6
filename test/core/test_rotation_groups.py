"""Exponentials and logarithms of SO(3) and SE(3): Pinocchio's values, the laws of groups; perturbations."""

from __future__ import annotations

import math

import numpy as np
import pinocchio
import pytest
import torch
from rotation_samples import DTYPES, rotation_matrices, rotation_vectors, rounding, turned_by
from torch import Tensor

from pk_core.errors import ShapeError
from pk_core.transforms import rotation, se3, so3

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")


def twists() -> Tensor:
    vectors = rotation_vectors()
    return torch.cat((torch.randn(len(vectors), 3, dtype=torch.float64), vectors), -1)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_exponential_of_twists_is_pinocchios(dtype: torch.dtype) -> None:
    given = twists()
    expected = np.stack([pinocchio.exp6(twist).homogeneous for twist in given.numpy()])
    found = se3.se3_exp_map(given.to(dtype))
    torch.testing.assert_close(
        found, torch.from_numpy(expected).to(dtype), rtol=0, atol=max(1e-12, 4 * rounding(dtype))
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_poses_survive_logarithm_and_exponential(dtype: torch.dtype) -> None:
    matrices = rotation_matrices(dtype)
    poses = se3.homogeneous(matrices, torch.randn(len(matrices), 3, dtype=dtype))
    torch.testing.assert_close(se3.se3_exp_map(se3.se3_log_map(poses)), poses, rtol=0, atol=4 * rounding(dtype))


def test_the_logarithm_of_poses_is_pinocchios_away_from_pi() -> None:
    generic = twists()[twists()[:, 3:].norm(dim=-1) < 3.0]
    poses = [pinocchio.exp6(twist) for twist in generic.numpy()]
    expected = torch.from_numpy(np.stack([pinocchio.log6(pose).vector for pose in poses]))
    matrices = torch.from_numpy(np.stack([pose.homogeneous for pose in poses]))
    torch.testing.assert_close(se3.se3_log_map(matrices), expected, rtol=0, atol=1e-7)
    torch.testing.assert_close(se3.se3_log_map(matrices), generic, rtol=0, atol=1e-12)


def test_twists_about_one_axis_add_and_their_negatives_undo() -> None:
    twist = torch.randn(10, 6, dtype=torch.float64)
    whole = se3.se3_exp_map(twist)
    torch.testing.assert_close(se3.se3_exp_map(0.3 * twist) @ se3.se3_exp_map(0.7 * twist), whole)
    identity = torch.eye(4, dtype=torch.float64).expand(10, 4, 4)
    torch.testing.assert_close(se3.se3_exp_map(-twist) @ whole, identity)
    vector = twist[:, 3:]
    torch.testing.assert_close(so3.so3_exp_map(-vector), so3.so3_exp_map(vector).mT)


@pytest.mark.parametrize("angle", [0.0, 1e-6, 0.5, 1.5, 3.0, math.pi, 5.0])
def test_the_left_jacobian_turns_rates_into_angular_velocity(angle: float) -> None:
    vector = torch.tensor([0.48, -0.6, 0.64], dtype=torch.float64) * angle
    rate = torch.tensor([0.2, 0.5, -1.0], dtype=torch.float64)
    matrix, derivative = torch.func.jvp(so3.so3_exp_map, (vector,), (rate,))
    velocity = so3.hat_inv(derivative @ matrix.mT)
    torch.testing.assert_close(so3.so3_left_jacobian(vector) @ rate, velocity)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rotation_angles_keep_their_digits_at_both_ends(dtype: torch.dtype) -> None:
    angles = rotation_vectors().norm(dim=-1).to(dtype)
    matrices = rotation_matrices(dtype)
    torch.testing.assert_close(so3.so3_rotation_angle(matrices), angles, rtol=0, atol=2 * rounding(dtype))
    torch.testing.assert_close(
        so3.so3_rotation_angle(matrices, cos_angle=True), torch.cos(angles), rtol=0, atol=rounding(dtype)
    )
    start = rotation.random_rotations(len(matrices), dtype=dtype)
    torch.testing.assert_close(
        so3.so3_relative_angle(matrices @ start, start), angles, rtol=0, atol=4 * rounding(dtype)
    )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_perturbations_have_the_spread_asked_for(dtype: torch.dtype) -> None:
    pose = se3.se3_exp_map(torch.randn(6, dtype=dtype))
    drawn = se3.sample_perturbations(pose, 20_000, 0.1, 0.02)
    assert drawn.shape == (20_000, 4, 4) and drawn.dtype == dtype
    offset = drawn[:, :3, 3] - pose[:3, 3]
    turn = so3.so3_log_map(drawn[:, :3, :3] @ pose[:3, :3].mT)
    assert offset.std(0) == pytest.approx([0.02] * 3, rel=0.03)
    assert turn.norm(dim=-1).square().mean().sqrt() == pytest.approx(0.1, rel=0.03)
    assert turn.mean(0).abs().max() < 0.003


def test_perturbations_about_an_axis_turn_about_it_and_move_across_it() -> None:
    axis = torch.tensor([0.6, 0.0, 0.8])
    pose = se3.se3_exp_map(torch.randn(6))
    drawn = se3.sample_perturbations(pose, 50, 0.3, 0.1, axis_of_rotation=axis)
    turn = so3.so3_log_map(drawn[:, :3, :3] @ pose[:3, :3].mT)
    assert torch.linalg.cross(turn, axis.expand(50, 3)).abs().max() < 1e-5
    assert ((drawn[:, :3, 3] - pose[:3, 3]) @ axis).abs().max() < 1e-5
    free = se3.sample_perturbations(
        pose, 50, 0.3, 0.1, axis_of_rotation=axis, translation_perpendicular_to_axis_of_rotation=False
    )
    assert ((free[:, :3, 3] - pose[:3, 3]) @ axis).abs().max() > 0.05


def test_perturbations_broadcast_with_the_batch_and_let_gradients_through() -> None:
    poses = se3.se3_exp_map(torch.randn(3, 6)).requires_grad_()
    assert se3.sample_perturbations(poses, 3, 0.1, 0.1).shape == (3, 4, 4)
    assert se3.sample_perturbations(poses[:, None], 7, 0.1, 0.1).shape == (3, 7, 4, 4)
    still = se3.sample_perturbations(poses[:, None], 7, 0.0, 0.0)
    torch.testing.assert_close(still, poses[:, None].expand(3, 7, 4, 4))
    still.sum().backward()
    torch.testing.assert_close(poses.grad[:, :3], torch.full((3, 3, 4), 7.0))
    with pytest.raises(ShapeError, match=r"T and \(num_perturbations,\) must broadcast"):
        se3.sample_perturbations(poses, 7, 0.1, 0.1)


def test_a_turn_and_back_is_the_identity() -> None:
    forth, back = turned_by((1, 2, 3), 1.0), turned_by((1, 2, 3), -1.0)
    torch.testing.assert_close(rotation.matrix_product(forth, back), torch.eye(3, dtype=torch.float64))
    torch.testing.assert_close(rotation.inverse_33(forth), back)
