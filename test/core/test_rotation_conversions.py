"""Conversions of rotations: right against Pinocchio, to rounding and back, for every batch shape and dtype."""

from __future__ import annotations

import math

import pytest
import torch
from rotation_samples import (
    BATCHES,
    DTYPES,
    EULER_CONVENTIONS,
    rotation_matrices,
    rotation_vectors,
    rounding,
    turned_by,
)

from pk_core.errors import ShapeError, TensorTypeError
from pk_core.transforms import euler, quaternion, rotation, se3, so3

CONVERSIONS = {
    "axis_angle_to_matrix": (rotation.axis_angle_to_matrix, (3,), (3, 3)),
    "axis_angle_to_quaternion": (quaternion.axis_angle_to_quaternion, (3,), (4,)),
    "euler_angles_to_matrix": (lambda x: euler.euler_angles_to_matrix(x, "ZYX"), (3,), (3, 3)),
    "hat": (so3.hat, (3,), (3, 3)),
    "hat_inv": (so3.hat_inv, (3, 3), (3,)),
    "matrix44_to_se3_9d": (se3.matrix44_to_se3_9d, (4, 4), (9,)),
    "matrix_to_axis_angle": (rotation.matrix_to_axis_angle, (3, 3), (3,)),
    "matrix_to_euler_angles": (lambda x: euler.matrix_to_euler_angles(x, "ZYX"), (3, 3), (3,)),
    "matrix_to_pos_rot": (lambda x: se3.matrix_to_pos_rot(x)[1], (4, 4), (4,)),
    "matrix_to_quaternion": (rotation.matrix_to_quaternion, (3, 3), (4,)),
    "matrix_to_rotation_6d": (rotation.matrix_to_rotation_6d, (3, 3), (6,)),
    "quaternion_from_euler": (euler.quaternion_from_euler, (3,), (4,)),
    "quaternion_invert": (quaternion.quaternion_invert, (4,), (4,)),
    "quaternion_to_axis_angle": (quaternion.quaternion_to_axis_angle, (4,), (3,)),
    "quaternion_to_matrix": (rotation.quaternion_to_matrix, (4,), (3, 3)),
    "rotation_6d_to_matrix": (rotation.rotation_6d_to_matrix, (6,), (3, 3)),
    "se3_9d_to_matrix44": (se3.se3_9d_to_matrix44, (9,), (4, 4)),
    "se3_exp_map": (se3.se3_exp_map, (6,), (4, 4)),
    "se3_log_map": (se3.se3_log_map, (4, 4), (6,)),
    "so3_exp_map": (so3.so3_exp_map, (3,), (3, 3)),
    "so3_left_jacobian": (so3.so3_left_jacobian, (3,), (3, 3)),
    "so3_log_map": (so3.so3_log_map, (3, 3), (3,)),
    "so3_rotation_angle": (so3.so3_rotation_angle, (3, 3), ()),
    "standardize_quaternion": (quaternion.standardize_quaternion, (4,), (4,)),
    "wxyz_to_xyzw": (quaternion.wxyz_to_xyzw, (4,), (4,)),
    "xyzw_to_wxyz": (quaternion.xyzw_to_wxyz, (4,), (4,)),
}


@pytest.mark.parametrize("name", CONVERSIONS)
@pytest.mark.parametrize("batch", BATCHES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_batch_shape_and_dtype_is_kept_and_no_input_is_changed(
    name: str, batch: tuple[int, ...], dtype: torch.dtype
) -> None:
    convert, given, result = CONVERSIONS[name]
    argument = torch.randn(*batch, *given, dtype=dtype)
    before = argument.clone()
    converted = convert(argument)
    assert converted.shape == batch + result
    assert converted.dtype == dtype
    assert torch.equal(argument, before)


@pytest.mark.parametrize("name", CONVERSIONS)
def test_a_batch_is_converted_as_its_elements_are_one_by_one(name: str) -> None:
    convert, given, _ = CONVERSIONS[name]
    arguments = torch.randn(2, 3, *given, dtype=torch.float64)
    one_by_one = torch.stack([torch.stack([convert(argument) for argument in row]) for row in arguments])
    torch.testing.assert_close(convert(arguments), one_by_one, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("name", CONVERSIONS)
def test_a_wrong_shape_is_an_error_that_names_the_shape(name: str) -> None:
    convert, given, _ = CONVERSIONS[name]
    with pytest.raises(ShapeError, match=r"must have shape \(\.\.\., .*got \(7, 2\)"):
        convert(torch.zeros(7, 2))
    with pytest.raises(TensorTypeError, match="got list"):
        convert([0.0] * given[-1])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_exponential_is_pinocchios(dtype: torch.dtype) -> None:
    vectors, expected = rotation_vectors(dtype), rotation_matrices(dtype)
    for convert in (so3.so3_exp_map, rotation.axis_angle_to_matrix):
        torch.testing.assert_close(convert(vectors), expected, rtol=0, atol=rounding(dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_the_logarithm_undoes_pinocchios_exponential_up_to_the_sign_at_pi(dtype: torch.dtype) -> None:
    vectors, found = rotation_vectors(dtype), so3.so3_log_map(rotation_matrices(dtype))
    half_turn = vectors.norm(dim=-1, keepdim=True) > math.pi - 1e-6
    opposite = (found * vectors).sum(-1, keepdim=True) < 0
    assert half_turn.sum() > 10
    found = torch.where(half_turn & opposite, -found, found)
    torch.testing.assert_close(found, vectors, rtol=0, atol=4 * rounding(dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_matrices_survive_every_round_trip(dtype: torch.dtype) -> None:
    matrices = rotation_matrices(dtype)
    back_and_forth = {
        "quaternion": rotation.quaternion_to_matrix(rotation.matrix_to_quaternion(matrices)),
        "axis angle": rotation.axis_angle_to_matrix(rotation.matrix_to_axis_angle(matrices)),
        "logarithm": so3.so3_exp_map(so3.so3_log_map(matrices)),
        "6d": rotation.rotation_6d_to_matrix(rotation.matrix_to_rotation_6d(matrices)),
        **{
            name: euler.euler_angles_to_matrix(euler.matrix_to_euler_angles(matrices, name), name)
            for name in EULER_CONVENTIONS
        },
    }
    for name, result in back_and_forth.items():
        assert (result - matrices).abs().max() < rounding(dtype), name


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_rotation_vectors_survive_quaternions_even_beyond_pi(dtype: torch.dtype) -> None:
    vectors = 1.9 * rotation_vectors(dtype)
    back = quaternion.quaternion_to_axis_angle(quaternion.axis_angle_to_quaternion(vectors))
    torch.testing.assert_close(back, vectors, rtol=0, atol=4 * rounding(dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_quaternions_of_matrices_have_length_one_and_a_real_part_not_negative(dtype: torch.dtype) -> None:
    quaternions = rotation.matrix_to_quaternion(rotation_matrices(dtype))
    assert (quaternions[:, 0] >= 0).all()
    torch.testing.assert_close(quaternions.norm(dim=-1), torch.ones(len(quaternions), dtype=dtype))


def test_at_pi_the_largest_component_of_the_quaternion_is_positive() -> None:
    for axis in ((1.0, 0.2, 0.1), (-1.0, 0.2, 0.1), (0.1, -2.0, 0.3), (0.0, 0.0, -1.0)):
        half_turn = 2.0 * torch.outer(unit := torch.tensor(axis) / torch.tensor(axis).norm(), unit) - torch.eye(3)
        vector = rotation.matrix_to_quaternion(half_turn)[1:]
        assert vector[vector.abs().argmax()] > 0


def test_the_quaternion_is_continuous_along_a_turn_from_minus_pi_to_pi() -> None:
    angles = torch.linspace(-math.pi + 1e-6, math.pi - 1e-6, 2001, dtype=torch.float64)
    for axis in ((1.0, 0.0, 0.0), (0.3, -0.9, 0.2), (-0.6, -0.5, -0.7)):
        unit = torch.tensor(axis, dtype=torch.float64) / torch.tensor(axis, dtype=torch.float64).norm()
        quaternions = rotation.matrix_to_quaternion(rotation.axis_and_angle_to_matrix_33(unit, angles))
        expected = torch.cat((torch.cos(angles / 2)[:, None], torch.sin(angles / 2)[:, None] * unit), -1)
        torch.testing.assert_close(quaternions, expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("convention", EULER_CONVENTIONS)
def test_in_gimbal_lock_the_last_angle_is_zero_and_the_rotation_is_kept(convention: str, dtype: torch.dtype) -> None:
    locks = (math.pi / 2, -math.pi / 2) if len(set(convention)) == 3 else (0.0, math.pi)
    for lock in locks:
        angles = torch.tensor([0.4, lock, -1.1], dtype=dtype)
        matrix = euler.euler_angles_to_matrix(angles, convention)
        found = euler.matrix_to_euler_angles(matrix, convention)
        assert found[2] == 0
        assert found[1] == pytest.approx(lock, abs=rounding(dtype))
        torch.testing.assert_close(
            euler.euler_angles_to_matrix(found, convention), matrix, rtol=0, atol=rounding(dtype)
        )


@pytest.mark.parametrize("convention", EULER_CONVENTIONS)
def test_euler_angles_lie_in_their_ranges(convention: str) -> None:
    angles = euler.matrix_to_euler_angles(rotation_matrices(), convention)
    assert (angles[:, [0, 2]].abs() <= math.pi).all()
    lower, upper = (-math.pi / 2, math.pi / 2) if len(set(convention)) == 3 else (0.0, math.pi)
    assert (angles[:, 1] >= lower).all() and (angles[:, 1] <= upper).all()


def test_euler_angles_compose_in_the_order_of_the_letters() -> None:
    a, b, c = 0.3, -0.7, 1.9
    x, y, z = turned_by((1, 0, 0), a), turned_by((0, 1, 0), b), turned_by((0, 0, 1), c)
    angles = torch.tensor([a, b, c], dtype=torch.float64)
    torch.testing.assert_close(euler.euler_angles_to_matrix(angles, "XYZ"), x @ y @ z)


def test_roll_pitch_yaw_turns_about_fixed_axes_and_rxyz_about_moving_ones() -> None:
    a, b, c = 0.3, -0.7, 1.9
    x, y, z = turned_by((1, 0, 0), a), turned_by((0, 1, 0), b), turned_by((0, 0, 1), c)
    angles = torch.tensor([a, b, c], dtype=torch.float64)
    torch.testing.assert_close(rotation.quaternion_to_matrix(euler.quaternion_from_euler(angles)), z @ y @ x)
    torch.testing.assert_close(rotation.quaternion_to_matrix(euler.quaternion_from_euler(angles, "rxyz")), x @ y @ z)


@pytest.mark.parametrize("axes", ["xyz", "sxxy", "sxyy", "qxyz", "sxyw", (3, 0, 0, 0), (0, 0, 2, 0), (0, 0, 0)])
def test_an_unknown_sequence_of_axes_is_refused(axes: object) -> None:
    with pytest.raises(ValueError, match="must be"):
        euler.quaternion_from_euler(torch.zeros(3), axes)


@pytest.mark.parametrize("convention", ["XX", "XXY", "XYY", "xyz", "ABC", "XYZX"])
def test_an_unknown_euler_convention_is_refused(convention: str) -> None:
    with pytest.raises(ValueError, match="convention must be"):
        euler.euler_angles_to_matrix(torch.zeros(3), convention)
    with pytest.raises(ValueError, match="convention must be"):
        euler.matrix_to_euler_angles(torch.eye(3), convention)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_quaternion_products_are_products_of_matrices(dtype: torch.dtype) -> None:
    a, b = rotation_matrices(dtype)[:, None], rotation_matrices(dtype)[::7]
    product = quaternion.quaternion_multiply(rotation.matrix_to_quaternion(a), rotation.matrix_to_quaternion(b))
    assert (product[..., 0] >= 0).all()
    torch.testing.assert_close(rotation.quaternion_to_matrix(product), a @ b, rtol=0, atol=rounding(dtype))


def test_quaternions_rotate_and_invert_as_matrices_do() -> None:
    matrices, points = rotation_matrices(), torch.randn(5, 1, 3, dtype=torch.float64)
    quaternions = rotation.matrix_to_quaternion(matrices)
    expected = (matrices @ points[..., None]).squeeze(-1)
    torch.testing.assert_close(quaternion.quaternion_apply(quaternions, points), expected)
    torch.testing.assert_close(rotation.quaternion_to_matrix(quaternion.quaternion_invert(quaternions)), matrices.mT)


def test_slerp_turns_at_constant_speed_the_shorter_way() -> None:
    start = quaternion.random_quaternions(20, dtype=torch.float64)
    end = -quaternion.random_quaternions(20, dtype=torch.float64)
    end[:3] = start[:3]
    whole = quaternion.quaternion_angular_distance(start, end)
    for fraction in (0.0, 0.25, 0.5, 1.0):
        between = quaternion.quaternion_slerp(start, end, fraction)
        torch.testing.assert_close(quaternion.quaternion_angular_distance(start, between), fraction * whole)
        torch.testing.assert_close(quaternion.quaternion_angular_distance(between, end), (1 - fraction) * whole)
    torch.testing.assert_close(quaternion.quaternion_slerp(start, end, 0.0), start)


def test_slerp_takes_a_fraction_for_each_row_and_changes_neither_end() -> None:
    start, end = (quaternion.random_quaternions(4, dtype=torch.float64) for _ in range(2))
    end = -end
    copies = start.clone(), end.clone()
    fractions = torch.tensor([0.0, 0.2, 0.9, 1.0], dtype=torch.float64)
    rows = [quaternion.quaternion_slerp(a, b, float(t)) for a, b, t in zip(start, end, fractions, strict=True)]
    torch.testing.assert_close(quaternion.quaternion_slerp(start, end, fractions), torch.stack(rows))
    assert torch.equal(start, copies[0]) and torch.equal(end, copies[1])


def test_quaternions_are_close_only_where_all_pairs_are() -> None:
    q = quaternion.random_quaternions(3)
    assert quaternion.quaternion_close(q, -q)
    assert not quaternion.quaternion_close(q, q.roll(1, 0))
    assert quaternion.quaternion_angular_distance(q, q.roll(1, 0)).min() > 0


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_small_angles_between_quaternions_keep_their_digits(dtype: torch.dtype) -> None:
    angle = 1e-5
    turn = quaternion.axis_angle_to_quaternion(torch.tensor([0.0, angle, 0.0], dtype=dtype))
    q = quaternion.random_quaternions(10, dtype=dtype)
    distance = quaternion.quaternion_angular_distance(q, quaternion.quaternion_raw_multiply(q, turn))
    torch.testing.assert_close(distance, torch.full((10,), angle, dtype=dtype), rtol=0, atol=rounding(dtype))


def test_a_turn_and_a_slide_along_an_axis_are_pinocchios() -> None:
    axis = torch.tensor([0.6, 0.0, -0.8], dtype=torch.float64)
    angles = torch.linspace(-4, 4, 9, dtype=torch.float64)
    turns = se3.axis_and_angle_to_matrix_44(axis, angles)
    slides = se3.axis_and_d_to_pris_matrix(axis, angles)
    for angle, turn, slide in zip(angles, turns, slides, strict=True):
        torch.testing.assert_close(turn[:3, :3], turned_by(tuple(axis.tolist()), float(angle)))
        torch.testing.assert_close(slide[:3, 3], angle * axis)
    assert torch.equal(turns[:, 3], torch.eye(4, dtype=torch.float64)[3].expand(9, 4))
    assert torch.equal(slides[:, :3, :3], torch.eye(3, dtype=torch.float64).expand(9, 3, 3))


def test_positions_and_xyzw_quaternions_round_trip_through_matrices() -> None:
    matrix = se3.homogeneous(rotation_matrices(), torch.randn(len(rotation_matrices()), 3, dtype=torch.float64))
    position, xyzw = se3.matrix_to_pos_rot(matrix)
    torch.testing.assert_close(se3.pos_rot_to_matrix(position, xyzw), matrix, rtol=0, atol=1e-15)
    torch.testing.assert_close(
        quaternion.xyzw_to_wxyz(xyzw), rotation.matrix_to_quaternion(matrix[:, :3, :3]), rtol=0, atol=0
    )
    torch.testing.assert_close(se3.se3_9d_to_matrix44(se3.matrix44_to_se3_9d(matrix)), matrix, rtol=0, atol=1e-15)


@pytest.mark.parametrize("dtype", [None, *DTYPES], ids=str)
def test_random_rotations_are_uniform_and_reproducible(dtype: torch.dtype | None) -> None:
    drawn = [rotation.random_rotations(20_000, dtype, generator=torch.Generator().manual_seed(3)) for _ in range(2)]
    assert torch.equal(*drawn)
    matrices = drawn[0]
    assert matrices.dtype == (dtype or torch.get_default_dtype())
    assert (matrices @ matrices.mT - torch.eye(3, dtype=matrices.dtype)).abs().max() < rounding(matrices.dtype)
    assert torch.linalg.det(matrices).min() > 0.99
    assert matrices.mean(0).abs().max() < 0.02  # uniform rotations have zero mean, entries of variance 1/3
    assert (matrices.var(0) - 1 / 3).abs().max() < 0.02


def test_random_rotations_can_require_gradients() -> None:
    for drawn in (
        quaternion.random_quaternions(2, requires_grad=True),
        rotation.random_rotations(2, requires_grad=True),
        rotation.random_rotation(requires_grad=True),
    ):
        drawn.sum().backward()
        assert torch.equal(drawn.grad, torch.ones_like(drawn))


def test_hat_is_the_cross_product_and_hat_inv_its_inverse() -> None:
    v, p = torch.randn(2, 5, 3, dtype=torch.float64)
    torch.testing.assert_close((so3.hat(v) @ p[..., None]).squeeze(-1), torch.linalg.cross(v, p))
    assert torch.equal(so3.hat_inv(so3.hat(v)), v)


def test_the_extrapolated_arccosine_continues_by_its_tangents() -> None:
    x = torch.linspace(-1.5, 1.5, 61, dtype=torch.float64)
    inside = x.abs() < 0.9
    value = so3.acos_linear_extrapolation(x, 0.9)
    torch.testing.assert_close(value[inside], torch.acos(x[inside]))
    slope = -1 / math.sqrt(1 - 0.9**2)
    above = x > 0.9
    torch.testing.assert_close(value[above], math.acos(0.9) + slope * (x[above] - 0.9))
    assert so3.acos_linear_extrapolation(torch.tensor(1.0)) > 0
    for bound in (1.0, (-1.0, 0.5), (0.5, 0.4)):
        with pytest.raises(ValueError, match="bound must have"):
            so3.acos_linear_extrapolation(x, bound)


def test_the_distance_of_a_rotation_to_itself_is_zero_to_the_bit():
    q = quaternion.random_quaternions(100)
    assert (quaternion.quaternion_angular_distance(q, q) == 0).all()
    assert (quaternion.quaternion_angular_distance(q, -q) == 0).all()
