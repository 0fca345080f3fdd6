"""The names, signatures and conventions of pytorch_kinematics, where that is installed: equal at generic points."""

from __future__ import annotations

import inspect
import warnings
from types import ModuleType

import pytest
import torch
from rotation_samples import EULER_CONVENTIONS
from torch import Tensor

from pk_core.transforms import elementary, euler, quaternion, rotation, se3, so3, transform3d

OURS = {
    name: getattr(module, name)
    for module in (elementary, euler, quaternion, rotation, se3, so3, transform3d)
    for name in module.__all__
}
SAME_AT_GENERIC_POINTS = {
    "acos_linear_extrapolation": "x",
    "axis_and_angle_to_matrix_33": "va",
    "axis_and_d_to_pris_matrix": "va",
    "axis_angle_to_quaternion": "v",
    "matrix44_to_se3_9d": "T",
    "matrix_to_pos_rot": "T",
    "matrix_to_rotation_6d": "R",
    "pos_rot_to_matrix": "vq",
    "quaternion_angular_distance": "qp",
    "quaternion_apply": "qv",
    "quaternion_close": "qp",
    "quaternion_from_euler": "v",
    "quaternion_invert": "q",
    "quaternion_multiply": "qp",
    "quaternion_raw_multiply": "qp",
    "quaternion_to_axis_angle": "s",
    "quaternion_to_matrix": "q",
    "rotation_6d_to_matrix": "6",
    "se3_9d_to_matrix44": "9",
    "so3_exp_map": "v",
    "so3_log_map": "R",
    "so3_relative_angle": "RS",
    "so3_rotation_angle": "R",
    "standardize_quaternion": "s",
    "wxyz_to_xyzw": "q",
    "xyzw_to_wxyz": "q",
}


@pytest.fixture(scope="module")
def peer() -> ModuleType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own dependencies
        return pytest.importorskip("pytorch_kinematics.transforms")


@pytest.fixture
def arguments() -> dict[str, Tensor]:
    """Give 50 of each kind, in general position: angles between 0.3 and 2.8."""
    axis = torch.nn.functional.normalize(torch.randn(50, 3, dtype=torch.float64), dim=-1)
    vectors = axis * (0.3 + 2.5 * torch.rand(50, 1, dtype=torch.float64))
    quaternions = quaternion.axis_angle_to_quaternion(vectors)
    matrices = so3.so3_exp_map(vectors)
    return {
        "a": torch.randn(50, dtype=torch.float64),
        "x": torch.linspace(-1.2, 1.2, 50, dtype=torch.float64),
        "v": vectors,
        "q": quaternions,
        "p": quaternion.quaternion_raw_multiply(quaternions, quaternions[0]).roll(1, 0),
        "s": torch.where(torch.rand(50, 1) < 0.5, quaternions, -quaternions),
        "R": matrices,
        "S": matrices @ so3.so3_exp_map(vectors.roll(1, 0)),
        "T": se3.homogeneous(matrices, vectors.roll(1, 0)),
        "6": torch.randn(50, 6, dtype=torch.float64),
        "9": torch.randn(50, 9, dtype=torch.float64),
    }


def test_every_name_is_there_with_the_same_arguments_in_the_same_order(peer: ModuleType) -> None:
    names = [name for name in peer.__all__ if not inspect.ismodule(getattr(peer, name))]
    assert len(names) >= 40
    for name in names:
        theirs = list(inspect.signature(getattr(peer, name)).parameters)
        assert list(inspect.signature(OURS[name]).parameters)[: len(theirs)] == theirs, name


@pytest.mark.parametrize("name", SAME_AT_GENERIC_POINTS)
def test_values_are_the_same_at_generic_points(peer: ModuleType, arguments: dict[str, Tensor], name: str) -> None:
    given = [arguments[kind] for kind in SAME_AT_GENERIC_POINTS[name]]
    theirs = getattr(peer, name)(*(argument.clone() for argument in given))  # some change their arguments
    ours = OURS[name](*given)
    if name == "matrix_to_pos_rot":  # its quaternions have either sign
        ours, theirs = (
            (position, quaternion.standardize_quaternion(quaternion.xyzw_to_wxyz(xyzw)))
            for position, xyzw in (ours, theirs)
        )
    if name == "so3_relative_angle":  # exact here, linearly extrapolated there near the ends
        generic = (theirs > 0.1) & (theirs < 3.0)
        ours, theirs = ours[generic], theirs[generic]
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)


def test_quaternions_of_matrices_are_the_same_up_to_sign(peer: ModuleType, arguments: dict[str, Tensor]) -> None:
    theirs = quaternion.standardize_quaternion(peer.matrix_to_quaternion(arguments["S"]))
    torch.testing.assert_close(rotation.matrix_to_quaternion(arguments["S"]), theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("convention", EULER_CONVENTIONS)
def test_euler_angles_are_the_same(peer: ModuleType, arguments: dict[str, Tensor], convention: str) -> None:
    angles, matrices = arguments["v"], arguments["R"]
    for name, given in (("euler_angles_to_matrix", angles), ("matrix_to_euler_angles", matrices)):
        theirs = getattr(peer, name)(given, convention)
        torch.testing.assert_close(OURS[name](given, convention), theirs, rtol=0, atol=1e-11)
    for frame, order in (("s", convention[::-1]), ("r", convention)):
        axes = frame + order.lower()
        theirs = peer.quaternion_from_euler(angles.clone(), axes)
        torch.testing.assert_close(euler.quaternion_from_euler(angles, axes), theirs, rtol=0, atol=1e-12)


def test_sequences_of_axes_may_be_numbers_as_well(peer: ModuleType, arguments: dict[str, Tensor]) -> None:
    angles = arguments["v"]
    for code in [(a, b, c, d) for a in range(3) for b in range(2) for c in range(2) for d in range(2)]:
        theirs = peer.quaternion_from_euler(angles.clone(), code)
        torch.testing.assert_close(euler.quaternion_from_euler(angles, code), theirs, rtol=0, atol=1e-12)


@pytest.mark.parametrize("fraction", [0.0, 0.3, 1.0])
def test_slerp_is_the_same(peer: ModuleType, arguments: dict[str, Tensor], fraction: float) -> None:
    start, end = arguments["q"], arguments["p"]
    theirs = peer.quaternion_slerp(start.clone(), end.clone(), fraction)
    torch.testing.assert_close(quaternion.quaternion_slerp(start, end, fraction), theirs, rtol=0, atol=1e-12)


def test_transforms_are_the_same(peer: ModuleType, arguments: dict[str, Tensor]) -> None:
    points, operators = torch.randn(2, 7, 3).double(), torch.randn(7, 3, 3).double()

    def build(module: ModuleType | type) -> list[Tensor]:
        one = module.Transform3d(pos=[1.0, 2.0, 3.0], rot=[0.1, 0.2, 0.3], dtype=torch.float64)
        many = module.Transform3d(matrix=arguments["T"])
        chained = one.translate(1.0, 2.0, 3.0).rotate_axis_angle(20.0, "Y").rotate(arguments["q"][0])
        transforms = (
            one,
            many,
            chained,
            many.compose(one),
            one.compose(many),
            many.inverse(),
            one.stack(many),
            many[3],
        )
        scaled = module.Transform3d(dtype=torch.float64).scale(2.0, 3.0, 4.0).translate(arguments["v"])
        return [
            *(t.get_matrix() for t in (*transforms, scaled)),
            one.transform_points(points[0]),
            one.transform_points(points),
            many.transform_points(points[0]),
            many.transform_normals(points[0]),
            many.transform_normals(arguments["v"], batch_to_batch=True),
            one.transform_shape_operator(operators),
        ]

    theirs = build(peer)
    ours = build(type("Ours", (), OURS))
    for found, expected in zip(ours, theirs, strict=True):
        # turns and steps of float64 transforms are made in float32 there
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)
