"""What `Transform3d` and its kin accept, turned into tensors: numbers, sequences and tensors of every batch shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce

import torch
from torch import Tensor

from ..errors import ShapeError
from ..shapes import broadcast_batches, require_trailing
from .euler import axis_rotation, euler_angles_to_matrix
from .rotation import quaternion_to_matrix
from .se3 import homogeneous

Device = torch.device | str | None
ArrayLike = Tensor | Sequence | float

EULER_CONVENTION = "XYZ"


def common_tensors(
    arguments: dict[str, ArrayLike | None], dtype: torch.dtype, device: Device
) -> dict[str, Tensor | None]:
    """Make tensors of one dtype on one device of all arguments that are given.

    Floating tensors keep theirs (the widest dtype wins, `dtype` at least); all else becomes a tensor of the result's.
    """
    tensors = [value for value in arguments.values() if isinstance(value, Tensor)]
    floating = [tensor.dtype for tensor in tensors if tensor.is_floating_point()]
    dtype = reduce(torch.promote_types, floating, dtype)
    device = tensors[0].device if tensors else device

    def convert(value: ArrayLike | None) -> Tensor | None:
        if value is None or isinstance(value, Tensor):
            return value if value is None else value.to(dtype)
        return torch.tensor(value, dtype=dtype, device=device)

    return {name: convert(value) for name, value in arguments.items()}


def assemble_matrix(
    matrix: ArrayLike | None,
    rot: ArrayLike | None,
    pos: ArrayLike | None,
    size: int,
    dtype: torch.dtype,
    device: Device,
) -> Tensor:
    """Build the matrices `(*batch, 4, 4)` of a `Transform3d` from its arguments; at least one batch dimension."""
    if isinstance(matrix, Tensor) and matrix.is_floating_point():
        dtype = matrix.dtype  # a given matrix decides, not the default of `dtype`
        if rot is None and pos is None:
            require_trailing("matrix", matrix, 4, 4)
            return _batched(matrix, 2)
    given = common_tensors({"matrix": matrix, "rot": rot, "pos": pos}, dtype, device)
    matrix, rot, pos = given["matrix"], given["rot"], given["pos"]
    if matrix is None:
        like = rot if rot is not None else pos
        kind = {"dtype": dtype, "device": device} if like is None else {"dtype": like.dtype, "device": like.device}
        matrix = torch.eye(4, **kind).expand(size, 4, 4)
    require_trailing("matrix", matrix, 4, 4)
    matrix = _batched(matrix, 2)
    if rot is None and pos is None:
        return matrix
    rotation = matrix[..., :3, :3] if rot is None else rotation_matrix("rot", rot)
    position = matrix[..., :3, 3] if pos is None else pos
    require_trailing("pos", position, 3)
    batch = broadcast_batches("matrix, rot and pos", matrix.shape[:-2], rotation.shape[:-2], position.shape[:-1])
    return homogeneous(rotation.expand(*batch, 3, 3), position.expand(*batch, 3))


def rotation_matrix(name: str, rotation: Tensor) -> Tensor:
    """Read quaternions wxyz `(*batch, 4)`, matrices `(*batch, 3, 3)` or Euler angles XYZ `(*batch, 3)` as matrices."""
    shape = rotation.shape
    if shape[-2:] == (3, 3):
        return rotation
    if shape[-1:] == (4,):
        return quaternion_to_matrix(rotation)
    if shape[-1:] == (3,):
        return euler_angles_to_matrix(rotation, EULER_CONVENTION)
    raise ShapeError(
        f"{name} must be quaternions wxyz (..., 4), matrices (..., 3, 3) or Euler angles (..., 3), got {tuple(shape)}"
    )


def translation_matrix(
    x: ArrayLike,
    y: ArrayLike | None = None,
    z: ArrayLike | None = None,
    dtype: torch.dtype = torch.float32,
    device: Device = "cpu",
) -> Tensor:
    """Build translations `(*batch, 4, 4)` from vectors `(*batch, 3)`, or from x, y, z that broadcast."""
    xyz = common_tensors({"x": x, "y": y, "z": z}, dtype, device)
    position = xyz["x"] if y is None and z is None else _stack_xyz(xyz)
    require_trailing("x (without y and z)", position, 3)
    return homogeneous(torch.eye(3, dtype=position.dtype, device=position.device), _batched(position, 1))


def scale_matrix(
    x: ArrayLike,
    y: ArrayLike | None = None,
    z: ArrayLike | None = None,
    dtype: torch.dtype = torch.float32,
    device: Device = "cpu",
) -> Tensor:
    """Build scalings from a factor, factors `(n,)`, triples `(*batch, 3)`, or x, y, z that broadcast."""
    xyz = common_tensors({"x": x, "y": y, "z": z}, dtype, device)
    if y is not None or z is not None:
        factors = _stack_xyz(xyz)
    elif xyz["x"].ndim < 2:
        factors = xyz["x"].unsqueeze(-1).expand(*xyz["x"].shape, 3)
    else:
        factors = xyz["x"]
    require_trailing("x (without y and z)", factors, 3)
    factors = _batched(factors, 1)
    return homogeneous(torch.diag_embed(factors), torch.zeros_like(factors))


def orientation_matrix(
    R: ArrayLike, dtype: torch.dtype = torch.float32, device: Device = "cpu", orthogonal_tol: float = 1e-5
) -> Tensor:
    """Build rotations `(*batch, 4, 4)` from what `rotation_matrix` reads; `orthogonal_tol` is not used."""
    rotation = _batched(rotation_matrix("R", common_tensors({"R": R}, dtype, device)["R"]), 2)
    return homogeneous(rotation, torch.zeros_like(rotation[..., 0]))


def turn_matrix(
    angle: ArrayLike,
    axis: str = "X",
    degrees: bool = True,
    dtype: torch.dtype = torch.float32,
    device: Device = "cpu",
) -> Tensor:
    """Build rotations `(*batch, 4, 4)` by angles `(*batch)` about the axis X, Y or Z."""
    letter = axis.upper()
    if letter not in ("X", "Y", "Z"):
        raise ValueError(f"axis must be 'X', 'Y' or 'Z', got {axis!r}")
    exact = torch.float64 if isinstance(angle, (int, float)) else dtype  # a right angle in numbers comes out right
    angle = _batched(common_tensors({"angle": angle}, exact, device)["angle"], 0).unsqueeze(-1)
    rotation = axis_rotation(letter, angle * (math.pi / 180.0) if degrees else angle)
    rotation = rotation.to(dtype) if exact != dtype else rotation
    return homogeneous(rotation, torch.zeros_like(rotation[..., 0]))


def _batched(tensor: Tensor, event_dims: int) -> Tensor:
    """Give a tensor without batch dimensions one of size one."""
    return tensor.unsqueeze(0) if tensor.ndim == event_dims else tensor


def _stack_xyz(xyz: dict[str, Tensor | None]) -> Tensor:
    missing = [name for name, value in xyz.items() if value is None]
    if missing:
        raise ShapeError(f"x, y and z must be given together, or x alone as (..., 3); missing: {', '.join(missing)}")
    broadcast_batches("x, y and z", *(value.shape for value in xyz.values()))
    return torch.stack(torch.broadcast_tensors(*xyz.values()), -1)
