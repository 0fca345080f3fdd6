"""Distances of rotations and poses: formulas of the paper, laws of metrics, gradients at zero and at the largest."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from rotation_samples import DTYPES, rotation_matrices, rounding, turned_by
from torch import Tensor

from pk_core.errors import ShapeError
from pk_core.transforms import distance
from pk_core.transforms.quaternion import random_quaternions
from pk_core.transforms.rotation import matrix_to_quaternion, random_rotations
from pk_core.transforms.se3 import se3_exp_map

pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")

Distance = Callable[[Tensor, Tensor], Tensor]


def of_matrices(metric: Distance) -> Distance:
    return lambda R1, R2: metric(matrix_to_quaternion(R1), matrix_to_quaternion(R2))


METRICS: dict[str, tuple[Distance, Callable[[float], float]]] = {
    # each as a function of two matrices, and its value for the angle between them
    "phi2": (of_matrices(distance.phi2_quaternion_difference), lambda angle: 2 * math.sin(angle / 4)),
    "phi3": (of_matrices(distance.phi3_quaternion_arccos), lambda angle: angle / 2),
    "phi4": (of_matrices(distance.phi4_quaternion_inner_product), lambda angle: 1 - math.cos(angle / 2)),
    "phi5": (distance.phi5_deviation_from_identity, lambda angle: 2 * math.sqrt(2) * math.sin(angle / 2)),
    "phi6": (distance.phi6_geodesic, lambda angle: angle),
    "geodesic": (distance.so3_geodesic_distance, lambda angle: angle),
    "chordal": (distance.so3_chordal_distance, lambda angle: 2 * math.sqrt(2) * math.sin(angle / 2)),
}


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", METRICS)
def test_a_metric_depends_on_the_angle_between_as_the_paper_says(name: str, dtype: torch.dtype) -> None:
    metric, by_angle = METRICS[name]
    start = random_rotations(5, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for angle in (0.0, 1e-4, 0.7, math.pi / 2, 3.0, math.pi):
        end = start @ turned_by((0.3, -0.4, 0.5), angle)
        expected = torch.full((5,), by_angle(angle), dtype=dtype)
        torch.testing.assert_close(metric(start.to(dtype), end.to(dtype)), expected, rtol=0, atol=4 * rounding(dtype))


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_symmetric_invariant_and_obeys_the_triangle_inequality(name: str) -> None:
    metric = METRICS[name][0]
    a, b, c, g = random_rotations(400, dtype=torch.float64).unflatten(0, (4, 100))
    torch.testing.assert_close(metric(a, b), metric(b, a))
    torch.testing.assert_close(metric(g @ a, g @ b), metric(a, b))
    torch.testing.assert_close(metric(a @ g, b @ g), metric(a, b))
    if name != "phi4":  # the paper calls phi4 a pseudo-triangle: 1 - |<q1, q2>| is half the square of phi2
        assert (metric(a, c) <= metric(a, b) + metric(b, c) + 1e-12).all()


@pytest.mark.parametrize("name", METRICS)
def test_gradients_are_finite_at_every_distance_and_zero_at_none(name: str) -> None:
    metric = METRICS[name][0]
    matrices = rotation_matrices()
    for first in (matrices, torch.eye(3, dtype=torch.float64).expand_as(matrices)):
        for derivative in (torch.func.grad(metric), torch.func.hessian(metric)):
            assert torch.isfinite(torch.func.vmap(derivative)(first.contiguous(), matrices)).all()


@pytest.mark.parametrize("name", ["phi2", "phi3", "phi4", "phi6", "geodesic"])
def test_a_half_turn_away_the_gradient_still_leads_back(name: str) -> None:
    exactly = torch.diag(torch.tensor([1.0, -1.0, -1.0], dtype=torch.float64))
    for end in (turned_by((0.3, -0.4, 0.5), math.pi), exactly):
        gradient = torch.func.grad(METRICS[name][0])(end, torch.eye(3, dtype=torch.float64))
        assert gradient.norm() > 0.1


def test_quaternions_of_either_sign_are_the_same_rotation() -> None:
    a, b = random_quaternions(20, dtype=torch.float64).unflatten(0, (2, 10))
    for metric in (
        distance.phi2_quaternion_difference,
        distance.phi3_quaternion_arccos,
        distance.phi4_quaternion_inner_product,
    ):
        torch.testing.assert_close(metric(a, -b), metric(a, b))
        torch.testing.assert_close(metric(a, -a), torch.zeros(10, dtype=torch.float64))


def test_phi1_goes_the_short_way_round_for_each_angle() -> None:
    a = torch.tensor([[3.0, 0.1, -3.0], [0.0, 0.0, 0.0]])
    b = torch.tensor([[-3.0, 0.1, 3.0], [0.3, -0.4, 2 * math.pi]])
    expected = torch.tensor([math.sqrt(2) * (2 * math.pi - 6), 0.5])
    torch.testing.assert_close(distance.phi1_euler_angles(a, b), expected)
    assert torch.isfinite(torch.func.hessian(distance.phi1_euler_angles)(a[0], a[0])).all()


@pytest.mark.parametrize("squared", [False, True])
@pytest.mark.parametrize("metric", [distance.se3_geodesic_distance, distance.se3_chordal_distance])
def test_pose_distances_add_position_and_weighted_rotation(metric: Distance, squared: bool) -> None:
    a, b = se3_exp_map(torch.randn(20, 6, dtype=torch.float64)).unflatten(0, (2, 10))
    of_rotation = (
        distance.so3_geodesic_distance if metric is distance.se3_geodesic_distance else distance.so3_chordal_distance
    )
    turned = 0.2 * of_rotation(a[:, :3, :3], b[:, :3, :3])
    moved = (a[:, :3, 3] - b[:, :3, 3]).norm(dim=-1)
    expected = turned**2 + moved**2 if squared else torch.hypot(turned, moved)
    torch.testing.assert_close(metric(a, b, rotation_weight=0.2, squared=squared), expected)
    torch.testing.assert_close(metric(a, a), torch.zeros(10, dtype=torch.float64), rtol=0, atol=1e-14)


def test_rows_broadcast_and_wrong_shapes_are_named() -> None:
    matrices = random_rotations(6, dtype=torch.float64).unflatten(0, (2, 3))
    for metric, _ in METRICS.values():
        assert metric(matrices[:, :, None], matrices.flatten(0, 1)).shape == (2, 3, 6)
    with pytest.raises(ShapeError, match=r"R2 must have shape \(\.\.\., 3, 3\)"):
        distance.phi6_geodesic(torch.eye(3), torch.zeros(4))
    with pytest.raises(ShapeError, match=r"q1 must have shape \(\.\.\., 4\)"):
        distance.phi2_quaternion_difference(torch.eye(3), torch.zeros(4))
