"""Derivatives of rotations, first and second, where formulas break; transforms of torch.func; compilation."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
import torch
from rotation_samples import EULER_CONVENTIONS, rotation_matrices, turned_by
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from pk_core.transforms import distance, elementary, euler, quaternion, rotation, se3, so3, transform3d

# torch warns of its own use of torch.jit when forward mode and the compiler are first used
pytestmark = pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")

AXIS = (0.48, -0.6, 0.64)
TURNS = {
    "identity": 0.0,
    "small": 1e-3,
    "where the quaternion's largest component changes": math.pi / 2,
    "where series and closed form meet": 1.0,
    "pi": math.pi,
    "a whole turn": 2 * math.pi,
}
FROM_VECTORS: dict[str, Callable[[Tensor], Tensor]] = {
    "so3_exp_map": so3.so3_exp_map,
    "so3_left_jacobian": so3.so3_left_jacobian,
    "axis_angle_to_quaternion": quaternion.axis_angle_to_quaternion,
    "axis_angle_to_matrix": rotation.axis_angle_to_matrix,
    "se3_exp_map": lambda v: se3.se3_exp_map(torch.cat((v.flip(-1), v), -1)),
    "quaternion_from_euler": euler.quaternion_from_euler,
    "euler_angles_to_matrix": lambda v: euler.euler_angles_to_matrix(v, "ZXZ"),
}
FROM_MATRICES: dict[str, Callable[[Tensor], Tensor]] = {
    "matrix_to_quaternion": rotation.matrix_to_quaternion,
    "so3_log_map": so3.so3_log_map,
    "se3_log_map": lambda R: se3.se3_log_map(se3.homogeneous(R, R[..., 0])),
    "matrix_to_euler_angles": lambda R: euler.matrix_to_euler_angles(R, "XYZ"),
    "matrix_to_rotation_6d": rotation.matrix_to_rotation_6d,
    "squared geodesic": lambda R: distance.so3_geodesic_distance(R, turned_by(AXIS, 1.0).to(R), squared=True),
    "squared chord": lambda R: distance.so3_chordal_distance(R, turned_by(AXIS, 1.0).to(R), squared=True),
    "slerp": lambda R: quaternion.quaternion_slerp(
        torch.tensor([1.0, 0.0, 0.0, 0.0], dtype=R.dtype), rotation.matrix_to_quaternion(R), 0.3
    ),
}


def near(matrix: Tensor, convert: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Give convert as a function of a rotation vector added to a rotation, so that every argument is a rotation."""
    return lambda v: convert(matrix @ so3.so3_exp_map(v))


@pytest.mark.parametrize("angle", TURNS.values(), ids=TURNS)
@pytest.mark.parametrize("name", FROM_VECTORS)
def test_derivatives_by_rotation_vectors_are_those_of_finite_differences(name: str, angle: float) -> None:
    vector = (angle * torch.tensor(AXIS, dtype=torch.float64)).requires_grad_()
    assert gradcheck(FROM_VECTORS[name], vector, check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(FROM_VECTORS[name], vector)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 1.0, 2.0, 3.1])
@pytest.mark.parametrize("name", FROM_MATRICES)
def test_derivatives_by_rotations_are_those_of_finite_differences(name: str, angle: float) -> None:
    function = near(turned_by(AXIS, angle), FROM_MATRICES[name])
    vector = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    assert gradcheck(function, vector, check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(function, vector)


@pytest.mark.parametrize("axis", [AXIS, (1.0, 0.0, 0.0), (0.0, -1.0, 0.0)])
@pytest.mark.parametrize("name", ["matrix_to_quaternion", "so3_log_map", "se3_log_map", "slerp"])
def test_at_pi_both_derivatives_are_the_limits_from_inside(name: str, axis: tuple[float, float, float]) -> None:
    half_turn = turned_by(axis, math.pi)
    sign = torch.sign(so3.so3_log_map(half_turn) @ torch.tensor(axis, dtype=torch.float64))
    inside = turned_by(axis, float(sign) * (math.pi - 1e-7))
    zero = torch.zeros(3, dtype=torch.float64)
    for derivative in (torch.func.jacrev, lambda f: torch.func.jacfwd(torch.func.jacrev(f))):
        at_pi, limit = (derivative(near(R, FROM_MATRICES[name]))(zero) for R in (half_turn, inside))
        torch.testing.assert_close(at_pi, limit, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", FROM_MATRICES)
def test_first_and_second_derivatives_by_the_nine_entries_are_finite_at_every_rotation(name: str) -> None:
    matrices = rotation_matrices()
    for derivative in (torch.func.jacrev(FROM_MATRICES[name]), torch.func.hessian(FROM_MATRICES[name])):
        assert torch.isfinite(torch.func.vmap(derivative)(matrices)).all()


@pytest.mark.parametrize("convention", EULER_CONVENTIONS)
def test_euler_angles_have_finite_derivatives_in_gimbal_lock(convention: str) -> None:
    for lock in (0.0, math.pi / 2, -math.pi / 2, math.pi):
        angles = torch.tensor([0.4, lock, -1.1], dtype=torch.float64)
        matrix = euler.euler_angles_to_matrix(angles, convention)
        for derivative in (torch.func.jacrev, torch.func.hessian):
            result = derivative(lambda R: euler.matrix_to_euler_angles(R, convention))(matrix)
            assert torch.isfinite(result).all()


@pytest.mark.parametrize("q", [(1.0, 0, 0, 0), (-1.0, 0, 0, 0), (0, 1.0, 0, 0), (0, 0, -0.6, 0.8)])
def test_quaternions_of_no_turn_and_of_half_turns_have_finite_derivatives(q: tuple[float, ...]) -> None:
    point = torch.tensor(q, dtype=torch.float64)
    functions = (
        quaternion.quaternion_to_axis_angle,
        rotation.quaternion_to_matrix,
        lambda x: quaternion.quaternion_angular_distance(x, point),
        lambda x: quaternion.quaternion_angular_distance(x, -point.roll(1)),
        lambda x: quaternion.quaternion_slerp(x, point, 0.7),
        lambda x: quaternion.quaternion_slerp(x, point.roll(1), 0.7),
    )
    for function in functions:
        for derivative in (torch.func.jacrev, torch.func.jacfwd, torch.func.hessian):
            assert torch.isfinite(derivative(function)(point)).all()


def test_the_derivative_at_the_negative_identity_is_that_of_the_rotation() -> None:
    """(-1, 0, 0, 0) is no turn at all: moving it by dv turns by -2 dv."""
    jacobian = torch.func.jacrev(quaternion.quaternion_to_axis_angle)(torch.tensor([-1.0, 0.0, 0.0, 0.0]))
    assert torch.equal(jacobian, torch.cat((torch.zeros(3, 1), -2.0 * torch.eye(3)), -1))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("name", FROM_MATRICES)
def test_reverse_forward_and_nested_modes_agree_batched_and_not(name: str, dtype: torch.dtype) -> None:
    function = near(turned_by(AXIS, 1.2).to(dtype), FROM_MATRICES[name])
    vectors = 0.3 * torch.randn(4, 3, dtype=dtype)
    tolerance = 1e-10 if dtype == torch.float64 else 2e-3
    by_rows = torch.func.vmap(torch.func.jacrev(function))(vectors)
    torch.testing.assert_close(torch.func.vmap(torch.func.jacfwd(function))(vectors), by_rows, rtol=0, atol=tolerance)
    second = torch.func.vmap(torch.func.hessian(function))(vectors)
    twice_forward = torch.func.vmap(torch.func.jacfwd(torch.func.jacfwd(function)))(vectors)
    torch.testing.assert_close(twice_forward, second, rtol=0, atol=tolerance)
    torch.testing.assert_close(torch.func.jacfwd(function)(vectors[0]), by_rows[0], rtol=0, atol=tolerance)


def straight_through_a_transform(matrix: Tensor) -> Tensor:
    moved = transform3d.Transform3d(matrix=matrix).translate(1.0, 2.0, 3.0).rotate_axis_angle(30.0, "Z").scale(2.0)
    return moved.inverse().compose(transform3d.Transform3d(pos=[0.1, 0.2, 0.3])).transform_points(matrix[..., :3, :3])


COMPILED: dict[str, tuple[Callable[[Tensor], Tensor], tuple[int, ...]]] = {
    "matrix_to_quaternion": (rotation.matrix_to_quaternion, (3, 3)),
    "se3_exp_map": (se3.se3_exp_map, (6,)),
    "se3_log_map": (se3.se3_log_map, (4, 4)),
    "matrix_to_euler_angles": (lambda R: euler.matrix_to_euler_angles(R, "ZYX"), (3, 3)),
    "quaternion_to_matrix": (rotation.quaternion_to_matrix, (4,)),
    "Transform3d": (straight_through_a_transform, (4, 4)),
    "RotateAxisAngle": (lambda v: elementary.RotateAxisAngle(v[:, 0], "y").get_matrix(), (3,)),
}


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_without_graph_breaks_values_and_gradients_are_the_same(name: str) -> None:
    function, shape = COMPILED[name]
    compiled = torch.compile(function, fullgraph=True, dynamic=True, backend="aot_eager")
    for batch in (3, 8):
        argument = torch.randn(batch, *shape)
        eager_argument = argument.clone().requires_grad_()
        compiled_argument = argument.clone().requires_grad_()
        expected, found = function(eager_argument), compiled(compiled_argument)
        torch.testing.assert_close(found, expected)
        expected.square().sum().backward()
        found.square().sum().backward()
        torch.testing.assert_close(compiled_argument.grad, eager_argument.grad, rtol=1e-3, atol=1e-3)


def test_a_compiled_function_may_return_a_transform() -> None:
    compiled = torch.compile(lambda m: transform3d.Transform3d(matrix=m).translate(1.0, 2.0, 3.0), fullgraph=True)
    matrix = se3.se3_exp_map(torch.randn(3, 6))
    expected = transform3d.Transform3d(matrix=matrix).translate(1.0, 2.0, 3.0).get_matrix()
    torch.testing.assert_close(compiled(matrix).get_matrix(), expected)


class Logarithm(torch.nn.Module):
    """The logarithm of poses, twice moved."""

    def forward(self, matrix: Tensor) -> Tensor:
        return se3.se3_log_map(transform3d.Transform3d(matrix=matrix).translate(1.0, 0.0, 0.0).inverse().get_matrix())


def test_exported_with_a_dynamic_batch_values_are_the_same() -> None:
    batch = {"matrix": {0: torch.export.Dim("batch", min=2)}}
    exported = torch.export.export(Logarithm(), (se3.se3_exp_map(torch.randn(3, 6)),), dynamic_shapes=batch)
    matrix = se3.se3_exp_map(torch.randn(11, 6))
    torch.testing.assert_close(exported.module()(matrix), Logarithm()(matrix))


def test_autocast_takes_no_digits_from_poses() -> None:
    matrix = se3.se3_exp_map(torch.randn(5, 6))
    expected = straight_through_a_transform(matrix)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = straight_through_a_transform(matrix)
    assert found.dtype == torch.float32
    torch.testing.assert_close(found, expected)
