"""`Transform3d` and the elementary transforms: any batch, broadcasting, what they accept and refuse, and their laws."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
import torch
from rotation_samples import DTYPES, turned_by
from torch import Tensor

from pk_core.errors import ShapeError
from pk_core.transforms.elementary import Rotate, RotateAxisAngle, Scale, Translate
from pk_core.transforms.euler import euler_angles_to_matrix
from pk_core.transforms.quaternion import random_quaternions
from pk_core.transforms.rotation import quaternion_to_matrix, random_rotations
from pk_core.transforms.se3 import se3_exp_map
from pk_core.transforms.transform3d import Transform3d

BATCHES = ((1,), (5,), (2, 3), (4, 1, 3))


def poses(*batch: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return se3_exp_map(torch.randn(*batch, 6, dtype=dtype))


def affine(*batch: int) -> Transform3d:
    return Transform3d(matrix=poses(*batch)).scale(torch.rand(*batch, 3, dtype=torch.float64) + 0.5)


def test_without_arguments_it_is_one_identity_in_float32_on_the_cpu() -> None:
    t = Transform3d()
    assert torch.equal(t.get_matrix(), torch.eye(4)[None])
    assert (len(t), t.dtype, t.device) == (1, torch.float32, torch.device("cpu"))
    assert torch.equal(Transform3d(3, torch.float64).get_matrix(), torch.eye(4, dtype=torch.float64).expand(3, 4, 4))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_batch_and_dtype_of_a_matrix_are_kept_and_a_single_one_is_a_batch_of_one(
    batch: tuple[int, ...], dtype: torch.dtype
) -> None:
    matrix = poses(*batch, dtype=dtype)
    t = Transform3d(matrix=matrix)
    assert torch.equal(t.get_matrix(), matrix)
    assert t.dtype == dtype and len(t) == batch[0]
    alone = matrix.reshape(-1, 4, 4)[0]
    assert torch.equal(Transform3d(matrix=alone).get_matrix(), alone[None])


def test_rotations_may_be_quaternions_matrices_or_euler_angles() -> None:
    q = random_quaternions(5, dtype=torch.float64)
    angles = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)
    for rot, expected in (
        (q, quaternion_to_matrix(q)),
        (q[0], quaternion_to_matrix(q[:1])),
        (random_rotations(2), None),
        (angles, euler_angles_to_matrix(angles, "XYZ")[None]),
        (angles.expand(4, 2, 3), euler_angles_to_matrix(angles, "XYZ").expand(4, 2, 3, 3)),
        ([1.0, 0.0, 0.0, 0.0], torch.eye(3)[None]),
        (np.eye(3), torch.eye(3)[None]),
    ):
        matrix = Transform3d(rot=rot).get_matrix()
        assert torch.equal(matrix[..., :3, :3], rot if expected is None else expected)
        assert torch.equal(Rotate(rot).get_matrix(), matrix)
        assert not matrix[..., :3, 3].any()


def test_position_and_rotation_replace_those_of_the_matrix_and_batches_broadcast() -> None:
    matrix, q, p = poses(3), random_quaternions(3, dtype=torch.float64), torch.randn(2, 3, 3, dtype=torch.float64)
    whole = Transform3d(matrix=matrix, rot=q, pos=p).get_matrix()
    assert whole.shape == (2, 3, 4, 4)
    assert torch.equal(whole[..., :3, :3], quaternion_to_matrix(q).expand(2, 3, 3, 3))
    assert torch.equal(whole[..., :3, 3], p)
    only_moved = Transform3d(matrix=matrix, pos=[1.0, 2.0, 3.0]).get_matrix()
    assert torch.equal(only_moved[:, :3, :3], matrix[:, :3, :3])
    assert torch.equal(only_moved[:, :3, 3], torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64).expand(3, 3))


def test_numbers_take_the_dtype_asked_for_and_tensors_keep_theirs() -> None:
    double = torch.zeros(3, dtype=torch.float64)
    assert Transform3d(pos=[1, 2, 3]).dtype == torch.float32
    assert Transform3d(pos=[1, 2, 3], dtype=torch.float64).dtype == torch.float64
    assert Transform3d(pos=double).dtype == torch.float64
    assert Transform3d(pos=torch.tensor([1, 2, 3])).dtype == torch.float32
    assert Translate(double).dtype == torch.float64
    assert RotateAxisAngle(torch.tensor(30.0, dtype=torch.float64)).dtype == torch.float64
    assert RotateAxisAngle(30.0).dtype == torch.float32
    third = Transform3d(dtype=torch.float64).translate(1 / 3, 0, 0).get_matrix()[0, 0, 3]
    assert third == 1 / 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"matrix": torch.eye(3)}, r"matrix must have shape \(\.\.\., 4, 4\), got \(3, 3\)"),
        ({"pos": torch.zeros(2)}, r"pos must have shape \(\.\.\., 3\), got \(2,\)"),
        ({"rot": torch.zeros(2, 5)}, r"rot must be quaternions wxyz .* got \(2, 5\)"),
        ({"rot": torch.tensor(1.0)}, r"rot must be quaternions wxyz"),
        ({"pos": torch.zeros(2, 3), "rot": torch.zeros(5, 4)}, "matrix, rot and pos must broadcast"),
    ],
)
def test_wrong_shapes_are_errors_that_name_the_argument(arguments: dict[str, Tensor], message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        Transform3d(**arguments)


def test_composing_multiplies_from_left_to_right_and_broadcasts() -> None:
    a, b, c = affine(2, 1), affine(3), affine(1)
    expected = a.get_matrix() @ b.get_matrix() @ c.get_matrix()
    torch.testing.assert_close(a.compose(b, c).get_matrix(), expected)
    torch.testing.assert_close((a @ b @ c).get_matrix(), expected)
    points = torch.randn(2, 3, 6, 3, dtype=torch.float64)
    one_after_the_other = a.transform_points(b.transform_points(c.transform_points(points)))
    torch.testing.assert_close(a.compose(b, c).transform_points(points), one_after_the_other)
    assert Transform3d(matrix=poses(2, dtype=torch.float32)).compose(affine(2)).dtype == torch.float32
    with pytest.raises(ShapeError, match="transforms must broadcast"):
        affine(2).compose(affine(3))


@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_the_inverse_undoes_moves_turns_and_scales(batch: tuple[int, ...]) -> None:
    t = affine(*batch)
    identity = torch.eye(4, dtype=torch.float64).expand(*batch, 4, 4)
    torch.testing.assert_close(t.inverse().compose(t).get_matrix(), identity)
    torch.testing.assert_close(t.compose(t.inverse()).get_matrix(), identity)
    assert torch.equal(t.inverse().get_matrix()[..., 3, :], identity[..., 3, :])


def test_building_step_by_step_composes_on_the_right() -> None:
    t = Transform3d(dtype=torch.float64)
    built = t.translate(1, 2, 3).rotate_axis_angle(90, "z").scale(2).rotate([0.0, 1.0, 0.0, 0.0])
    expected = torch.tensor([[0.0, 2, 0, 1], [2, 0, 0, 2], [0, 0, -2, 3], [0, 0, 0, 1]], dtype=torch.float64)
    torch.testing.assert_close(built.get_matrix(), expected[None])
    assert torch.equal(t.get_matrix(), torch.eye(4, dtype=torch.float64)[None])
    torch.testing.assert_close(
        built.get_matrix(),
        t.compose(Translate(1, 2, 3), RotateAxisAngle(90, "z"), Scale(2), Rotate([0.0, 1.0, 0.0, 0.0])).get_matrix(),
        rtol=0,
        atol=1e-6,
    )


def test_translations_and_scalings_take_vectors_or_coordinates_that_broadcast() -> None:
    x = torch.tensor([1.0, 2.0])
    for elementary, place in (
        (Translate, lambda m: m[..., :3, 3]),
        (Scale, lambda m: m.diagonal(dim1=-2, dim2=-1)[..., :3]),
    ):
        torch.testing.assert_close(
            place(elementary(x, 5.0, x).get_matrix()), torch.tensor([[1.0, 5.0, 1.0], [2.0, 5.0, 2.0]])
        )
        rows = torch.randn(2, 4, 3)
        torch.testing.assert_close(place(elementary(rows).get_matrix()), rows)
        with pytest.raises(ShapeError, match="must be given together"):
            elementary(1.0, 2.0)
        with pytest.raises(ShapeError, match=r"x \(without y and z\) must have shape"):
            elementary(torch.zeros(5, 2))
    torch.testing.assert_close(Translate([1, 2, 3]).get_matrix(), Translate(1, 2, 3).get_matrix())
    torch.testing.assert_close(Scale(x).get_matrix(), Scale(x, x, x).get_matrix())
    torch.testing.assert_close(Scale(3).get_matrix(), torch.diag(torch.tensor([3.0, 3.0, 3.0, 1.0]))[None])


def test_turns_about_an_axis_are_in_degrees_unless_told_otherwise() -> None:
    for axis, vector in (("X", (1, 0, 0)), ("y", (0, 1, 0)), ("Z", (0, 0, 1))):
        expected = turned_by(vector, math.radians(30)).float()[None]
        torch.testing.assert_close(RotateAxisAngle(30, axis).get_matrix()[:, :3, :3], expected)
        turned = RotateAxisAngle(torch.full((2, 1), math.radians(30)), axis, degrees=False)
        torch.testing.assert_close(turned.get_matrix()[..., :3, :3], expected.expand(2, 1, 3, 3))
    with pytest.raises(ValueError, match="axis must be 'X', 'Y' or 'Z', got 'w'"):
        RotateAxisAngle(30, "w")


@pytest.mark.parametrize("batch", BATCHES, ids=str)
def test_points_are_moved_by_every_transform_of_their_batch(batch: tuple[int, ...]) -> None:
    t = affine(*batch)
    points = torch.randn(6, 3, dtype=torch.float64)
    linear, offset = t.get_matrix()[..., :3, :3], t.get_matrix()[..., :3, 3]
    expected = torch.einsum("...ij,pj->...pi", linear, points) + offset[..., None, :]
    found = t.transform_points(points)
    torch.testing.assert_close(found, expected[0] if batch == (1,) else expected)
    own = torch.randn(*batch, 6, 3, dtype=torch.float64)
    torch.testing.assert_close(
        t.transform_points(own), torch.einsum("...ij,...pj->...pi", linear, own) + offset[..., None, :]
    )
    assert t.transform_points(points.float()).dtype == torch.float32
    torch.testing.assert_close(
        t.transform_points(own[..., 0, :], batch_to_batch=True), t.transform_points(own)[..., 0, :]
    )


def test_one_transform_moves_many_batches_of_points() -> None:
    t = affine(1)
    assert t.transform_points(torch.randn(4, 6, 3, dtype=torch.float64)).shape == (4, 6, 3)
    assert affine(4).transform_points(torch.randn(1, 6, 3, dtype=torch.float64)).shape == (4, 6, 3)


def test_normals_stay_normal_to_surfaces_under_scaling() -> None:
    t = affine(4)
    tangents = torch.randn(4, 6, 3, dtype=torch.float64)
    normals = torch.linalg.cross(tangents, torch.randn(4, 6, 3, dtype=torch.float64))
    moved = tangents @ t.get_matrix()[:, :3, :3].mT
    assert (t.transform_normals(normals) * moved).sum(-1).abs().max() < 1e-12
    assert t.transform_normals(normals[0]).shape == (4, 6, 3)
    assert affine(1).transform_normals(normals[0]).shape == (6, 3)
    rows = t.transform_normals(normals)[:, 0]
    torch.testing.assert_close(t.transform_normals(normals[:, 0], batch_to_batch=True), rows)


def test_shape_operators_are_hessians_of_the_moved_distance() -> None:
    t = affine(2)
    hessians = torch.randn(2, 5, 3, 3, dtype=torch.float64)
    found = t.transform_shape_operator(hessians)
    inverse = torch.linalg.inv(t.get_matrix()[:, None, :3, :3])
    torch.testing.assert_close(found, inverse.mT @ hessians @ inverse)
    assert t.transform_shape_operator(hessians[0]).shape == (2, 5, 3, 3)
    assert affine(1).transform_shape_operator(hessians[0]).shape == (5, 3, 3)


def test_wrong_points_are_errors_that_name_them() -> None:
    with pytest.raises(ShapeError, match=r"points must have shape \(\.\.\., 3\), got \(5, 2\)"):
        Transform3d().transform_points(torch.zeros(5, 2))
    with pytest.raises(ShapeError, match=r"points must have shape \(P, 3\)"):
        Transform3d().transform_points(torch.zeros(3))
    with pytest.raises(ShapeError, match="points and the transforms must broadcast"):
        Transform3d(2).transform_points(torch.zeros(5, 4, 3))
    with pytest.raises(ShapeError, match="shape_operators must have shape"):
        Transform3d().transform_shape_operator(torch.zeros(5, 3))


def test_the_homogeneous_coordinate_divides_and_can_be_kept_from_zero() -> None:
    projection = torch.eye(4).clone()
    projection[3] = torch.tensor([0.0, 0.0, 1.0, 0.0])
    t = Transform3d(matrix=projection)
    torch.testing.assert_close(t.transform_points(torch.tensor([[2.0, 4.0, 2.0]])), torch.tensor([[1.0, 2.0, 1.0]]))
    at_zero = torch.tensor([[1.0, 1.0, 0.0], [1.0, 1.0, -1e-6]])
    expected = torch.tensor([[100.0, 100.0, 0.0], [-100.0, -100.0, 1e-4]])
    torch.testing.assert_close(t.transform_points(at_zero, eps=0.01), expected)


def test_indexing_and_iterating_reach_the_batch_and_never_the_matrix() -> None:
    matrix = poses(4, 5)
    t = Transform3d(matrix=matrix)
    assert torch.equal(t[1].get_matrix(), matrix[1])
    assert torch.equal(t[1, 2].get_matrix(), matrix[1, 2][None])
    assert torch.equal(t[..., 2].get_matrix(), matrix[:, 2])
    assert torch.equal(t[1:3, None].get_matrix(), matrix[1:3, None])
    mask = torch.tensor([True, False, True, False])
    assert torch.equal(t[mask].get_matrix(), matrix[mask])
    assert torch.equal(t[torch.tensor([3, 0])].get_matrix(), matrix[[3, 0]])
    assert len(list(t)) == len(t) == 4
    with pytest.raises(IndexError):
        t[0, 0, 0]
    with pytest.raises(IndexError):
        t[4]


def test_stacking_concatenates_the_first_dimension() -> None:
    a, b = affine(2, 3), affine(4, 3)
    assert torch.equal(a.stack(b, b).get_matrix(), torch.cat((a.get_matrix(), b.get_matrix(), b.get_matrix())))
    with pytest.raises(ShapeError, match="agree in all but the first dimension"):
        a.stack(affine(2))


def test_moving_to_where_it_is_already_gives_the_same_object() -> None:
    t = affine(2)
    assert t.to("cpu") is t and t.cpu() is t and t.to(dtype=torch.float64) is t
    assert t.to("cpu", copy=True).get_matrix().data_ptr() != t.get_matrix().data_ptr()
    for single in (t.to("cpu", dtype=torch.float32), t.to(torch.float32), t.to(dtype=torch.float32)):
        assert single.dtype == torch.float32 and t.dtype == torch.float64
    assert t.to("meta").device == torch.device("meta")


def test_copies_are_independent_and_keep_gradients() -> None:
    matrix = poses(2).requires_grad_()
    t = Transform3d(matrix=matrix)
    cloned = t.clone()
    assert cloned.get_matrix().data_ptr() != matrix.data_ptr()
    cloned.get_matrix().sum().backward()
    assert torch.equal(matrix.grad, torch.ones_like(matrix))
    for copied in (pickle.loads(pickle.dumps(affine(2))), copy.deepcopy(affine(2))):
        assert isinstance(copied, Transform3d) and len(copied) == 2


def test_parameters_of_every_step_receive_gradients() -> None:
    angle, offset, factor, pos, rot = (
        torch.randn(2, *shape, dtype=torch.float64, requires_grad=True) for shape in ((), (3,), (3,), (3,), (4,))
    )
    t = Transform3d(rot=rot, pos=pos).rotate_axis_angle(angle, "Y").translate(offset).scale(factor)
    t.inverse().transform_points(torch.ones(5, 3, dtype=torch.float64)).square().sum().backward()
    for parameter in (angle, offset, factor, pos, rot):
        assert torch.isfinite(parameter.grad).all() and parameter.grad.abs().min() > 0


def test_perturbations_of_one_transform_are_many() -> None:
    t = Transform3d(matrix=poses(1))
    drawn = t.sample_perturbations(6, 0.0, 0.0)
    torch.testing.assert_close(drawn.get_matrix(), t.get_matrix().expand(6, 4, 4))
    assert affine(3)[:, None].sample_perturbations(6, 0.1, 0.1).get_matrix().shape == (3, 6, 4, 4)


def test_no_method_changes_the_transform_or_its_arguments() -> None:
    t = affine(2)
    points, other = torch.randn(2, 5, 3, dtype=torch.float64), affine(2)
    before = [x.clone() for x in (t.get_matrix(), other.get_matrix(), points)]
    t.compose(other).inverse().stack(t).translate(1, 2, 3).scale(2).rotate_axis_angle(20)
    t.transform_points(points, eps=0.1)
    t.transform_normals(points)
    t.sample_perturbations(2, 0.1, 0.1)
    repr(t), t[0], t.to(torch.float32)
    for now, then in zip((t.get_matrix(), other.get_matrix(), points), before, strict=True):
        assert torch.equal(now, then)


def test_the_repr_shows_rotation_and_position() -> None:
    text = repr(Transform3d(pos=[1.0, 2.0, 3.0]))
    assert text == "Transform3d(rot=tensor([[1., 0., 0., 0.]]), pos=tensor([[1., 2., 3.]]))"


def test_transforms_work_inside_vmap() -> None:
    matrices, points = poses(4), torch.randn(4, 5, 3, dtype=torch.float64)
    mapped = torch.func.vmap(lambda m, p: Transform3d(matrix=m).translate(1, 2, 3).inverse().transform_points(p))
    expected = Transform3d(matrix=matrices).translate(1, 2, 3).inverse().transform_points(points)
    torch.testing.assert_close(mapped(matrices, points), expected)


def test_a_right_angle_in_numbers_turns_exactly():
    turned = Transform3d().rotate_axis_angle(90.0, axis="Z").get_matrix()[0, :2, :2]
    assert turned.dtype == torch.float32
    torch.testing.assert_close(turned, torch.tensor([[0.0, -1.0], [1.0, 0.0]]), rtol=0, atol=1e-15)
