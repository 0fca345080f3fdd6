"""Model parameters as tensors: origins, axes, joint offsets and mimic ratios that gradients reach, shared or a set for each row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from .errors import ShapeError, TensorTypeError, UnknownJoint, UnsupportedError
from .flatten import mimic_chain
from .model import Joint, JointType, Robot
from .pose import Pose
from .shapes import tensor_of_numbers, values_are_hidden
from .transforms.rotation import matrix_product
from .transforms.transform3d import Transform3d
from .tree import AXIS, MULTIPLIER, NodeSource, Tree

RIGID = 1e-3  # how far R^T R of a pose may be from the identity


@dataclass(frozen=True)
class Parameters:
    """What stands in place of the numbers of a description; tensors of any common batch.

    Attributes:
        origins: joint -> `T_parent_joint` (*batch, 4, 4).
        axes: joint -> direction in the joint frame (*batch, 3), of any length but zero.
        offsets: joint -> what is added to its coordinate (*batch,) [rad] or [m]; joints that mimic it follow the sum.
        mimic: joint -> (multiplier, offset), each (*batch,), of a joint that mimics another.
        base: `T_base_root` (*batch, 4, 4): poses are then given in the frame `base`; None leaves them in the root's.
    """

    origins: Mapping[str, Tensor] = field(default_factory=dict)
    axes: Mapping[str, Tensor] = field(default_factory=dict)
    offsets: Mapping[str, Tensor] = field(default_factory=dict)
    mimic: Mapping[str, tuple[Tensor, Tensor]] = field(default_factory=dict)
    base: Tensor | None = None

    def merged(self, other: Parameters) -> Parameters:
        """Give these with those of `other` in their place."""
        return Parameters(
            {**self.origins, **other.origins},
            {**self.axes, **other.axes},
            {**self.offsets, **other.offsets},
            {**self.mimic, **other.mimic},
            self.base if other.base is None else other.base,
        )

    def to(self, dtype: torch.dtype, device: torch.device) -> Parameters:
        """Move all tensors; gradients pass."""

        def moved(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
            return {name: x.to(device, dtype) for name, x in tensors.items()}

        mimic = {name: (m.to(device, dtype), b.to(device, dtype)) for name, (m, b) in self.mimic.items()}
        base = None if self.base is None else self.base.to(device, dtype)
        return Parameters(moved(self.origins), moved(self.axes), moved(self.offsets), mimic, base)


def check_parameters(
    robot: Robot,
    origins: Mapping[str, Tensor | Transform3d],
    axes: Mapping[str, Tensor],
    offsets: Mapping[str, Tensor | float],
    mimic: Mapping[str, tuple[Tensor | float, Tensor | float]],
    base: Tensor | Transform3d | None,
    dtype: torch.dtype,
    device: torch.device,
) -> Parameters:
    """Make `Parameters` of what a caller hands in.

    Raises:
        UnknownJoint: no such joint, or one that mimics nothing.
        UnsupportedError: an axis or offset of a joint that has not exactly one axis.
        ShapeError, TensorTypeError: what is wrong with a value.
    """
    for name in origins:
        robot.joint(name)
    for kind, given in (("axes", axes), ("offsets", offsets), ("mimic", mimic)):
        for name in given:
            _require_one_axis(robot.joint(name), kind)
    followers = [joint.name for joint in robot.joints if joint.mimic]
    for name in mimic:
        if name not in followers:
            raise UnknownJoint("mimic joint", name, followers)

    def number(what: str, value: Tensor | float) -> Tensor:
        return _checked(what, value, (), dtype, device)

    def pair(name: str, value: tuple[Tensor | float, Tensor | float]) -> tuple[Tensor, Tensor]:
        if not isinstance(value, (tuple, list)) or len(value) != 2:
            raise ShapeError(f"mimic[{name!r}] must be a pair (multiplier, offset), got {value!r:.80}")
        return number(f"mimic[{name!r}][0]", value[0]), number(f"mimic[{name!r}][1]", value[1])

    return Parameters(
        {name: _pose(f"origins[{name!r}]", pose, dtype, device) for name, pose in origins.items()},
        {name: _checked(f"axes[{name!r}]", axis, (3,), dtype, device) for name, axis in axes.items()},
        {name: number(f"offsets[{name!r}]", value) for name, value in offsets.items()},
        {name: pair(name, value) for name, value in mimic.items()},
        None if base is None else _pose("base", base, dtype, device),
    )


def parametrised(robot: Robot, tree: Tree, constants: Tensor, parameters: Parameters) -> Tensor:
    """Put parameters in the place of constants (n_nodes, 19) of a tree: (*batch, n_nodes, 19)."""
    rows = list(constants.unbind(-2))
    if parameters.base is not None:
        rows[0] = _with_origin(rows[0], parameters.base)
    moved = {*parameters.offsets, *parameters.mimic}
    for i, source in enumerate(tree.sources):
        if source.origin_of in parameters.origins:
            origin = _origin(robot.joint(source.origin_of), source, parameters.origins[source.origin_of])
            rows[i] = _with_origin(rows[i], origin)
        if source.motion_of in parameters.axes:
            axis = parameters.axes[source.motion_of]
            unit = axis / torch.linalg.vector_norm(axis, dim=-1, keepdim=True)
            rows[i] = _with_columns(rows[i], AXIS, -unit if source.reversed else unit)
        if not source.motion_of or not moved:
            continue
        chain = mimic_chain(robot, robot.joint(source.motion_of), source.axis_index)
        if any(joint.name in moved for joint, _ in chain):
            joint, k = chain[0]
            value = torch.broadcast_tensors(*_follow(chain, joint.axes[k].reference, parameters, constants))
            rows[i] = _with_columns(rows[i], MULTIPLIER, torch.stack(value, -1))
    batch = torch.broadcast_shapes(*(row.shape[:-1] for row in rows))
    return torch.stack([row.expand(*batch, row.shape[-1]) for row in rows], -2)


def _origin(joint: Joint, source: NodeSource, origin: Tensor) -> Tensor:
    """Give the constant pose of the node in which the origin of a joint stands."""
    if joint.type is JointType.FIXED:
        origin = matrix_product(origin, _matrix(joint.child_offset, origin))
    if not source.reversed:
        return origin
    R, p = origin[..., :3, :3].mT, origin[..., :3, 3:]
    return torch.cat([torch.cat([R, -matrix_product(R, p)], -1), origin[..., 3:, :]], -2)


def _follow(
    chain: list[tuple[Joint, int]], reference: float, parameters: Parameters, like: Tensor
) -> tuple[Tensor, Tensor]:
    """Give (multiplier, offset) of a node's value, its chain of mimics resolved: value = multiplier * q[column] + offset."""
    multiplier, offset = like.new_ones(()), torch.tensor(-reference, dtype=like.dtype, device=like.device)
    for joint, k in chain:
        if joint.name in parameters.offsets:
            offset = offset + multiplier * parameters.offsets[joint.name]
        if (mimic := joint.axes[k].mimic) is not None:
            ratio, shift = parameters.mimic.get(joint.name, (mimic.multiplier, mimic.offset))
            offset = offset + multiplier * shift
            multiplier = multiplier * ratio
    return multiplier, offset


def _with_origin(row: Tensor, origin: Tensor) -> Tensor:
    return _with_columns(row, 0, torch.cat([origin[..., :3, :3].flatten(-2), origin[..., :3, 3]], -1))


def _with_columns(row: Tensor, start: int, values: Tensor) -> Tensor:
    batch = torch.broadcast_shapes(row.shape[:-1], values.shape[:-1])
    row, values = row.expand(*batch, row.shape[-1]), values.expand(*batch, values.shape[-1])
    return torch.cat([row[..., :start], values, row[..., start + values.shape[-1] :]], -1)


def _matrix(pose: Pose, like: Tensor) -> Tensor:
    rows = [[*row, x] for row, x in zip(pose.rotation, pose.xyz)]
    return torch.tensor([*rows, [0.0, 0.0, 0.0, 1.0]], dtype=like.dtype, device=like.device)


def _require_one_axis(joint: Joint, kind: str) -> None:
    if len(joint.axes) != 1 or joint.type is JointType.PLANAR:
        raise UnsupportedError(f"{kind}[{joint.name!r}]: a {joint.type.value} joint has no single axis to set")


def _pose(what: str, value: Tensor | Transform3d, dtype: torch.dtype, device: torch.device) -> Tensor:
    if isinstance(value, Transform3d):
        value = value.get_matrix()
        value = value[0] if value.shape[:-2] == (1,) else value
    pose = _checked(what, value, (4, 4), dtype, device)
    R = pose.detach()[..., :3, :3]
    if not values_are_hidden() and not torch.allclose(
        matrix_product(R.mT, R), torch.eye(3, dtype=R.dtype, device=R.device), rtol=0, atol=RIGID
    ):
        raise ShapeError(
            f"{what} holds a matrix that is no rotation: R^T R differs from the identity by more than {RIGID}"
        )
    return pose


def _checked(what: str, value: object, shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    if isinstance(value, Tensor):
        if value.dtype != dtype or value.device.type != device.type:
            raise TensorTypeError(f"{what} is {value.dtype} on {value.device}, the chain {dtype} on {device}")
    else:
        value = tensor_of_numbers(what, value, dtype, device)
    if value.shape[value.dim() - len(shape) :] != shape or value.dim() < len(shape):
        wanted = ", ".join(["*batch", *map(str, shape)])
        raise ShapeError(f"{what} has shape {tuple(value.shape)}; it must be ({wanted})")
    return value
