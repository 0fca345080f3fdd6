"""The parameters that calibration moves: blocks of numbers, each with the small change that fits it.

A pose moves in its own axes, T exp(twist): six numbers; a direction over the sphere: two; joint offsets and mimic ratios
are plain numbers. So no number is redundant, and none has a limit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..chain import Chain
from ..kinematics import forward_kinematics
from ..model import Joint, JointType
from ..transforms.rotation import matrix_product
from ..transforms.se3 import homogeneous, se3_exp_map, se3_log_map
from ..transforms.smooth import cosine, sine_ratio

MULTIPLIER_UNIT = 0.1
"""A plausible change of a mimic's multiplier, in parts of itself."""
FREEDOM_OUTSIDE = 100.0
"""Base and tool are known by so much less than the robot."""


@dataclass(frozen=True, eq=False)
class Block:
    """A parameter and how it moves.

    Attributes:
        kind: "origins", "axes", "offsets", "mimic", as `Chain.with_parameters` names them; "base" or "tool".
        joint: its name; empty for base and tool.
        value: (*batch, 4, 4), (*batch, 3) or (*batch, k).
        names: of the k numbers that move it, for a reader.
        units: (k,), a change of each that matters as much as one of the others [m], [rad].
        freedom: how many of them are plausible.
    """

    kind: str
    joint: str
    value: Tensor
    names: tuple[str, ...]
    units: Tensor
    freedom: float = 1.0

    def moved(self, change: Tensor) -> Block:
        """Move by changes (*batch, k)."""
        raise NotImplementedError

    def change_from(self, start: Block) -> Tensor:
        """Give the change (k,) that moves `start` to this value."""
        raise NotImplementedError


class PoseBlock(Block):
    """A pose, moved along and about its own axes: T exp([v, w])."""

    def moved(self, change: Tensor) -> Block:
        return replace(self, value=matrix_product(self.value, se3_exp_map(change)))

    def change_from(self, start: Block) -> Tensor:
        back = start.value[:3, :3].mT
        return se3_log_map(homogeneous(back @ self.value[:3, :3], back @ (self.value - start.value)[:3, 3]))


class AxisBlock(Block):
    """A unit vector, moved along a great circle towards a combination of two directions normal to it."""

    def moved(self, change: Tensor) -> Block:
        s = (change * change).sum(-1, keepdim=True)
        across = change @ _tangents(self.value)
        return replace(self, value=self.value * cosine(s) + across * sine_ratio(s))

    def change_from(self, start: Block) -> Tensor:
        across = _tangents(start.value) @ self.value
        sine = across.norm()
        angle = torch.atan2(sine, start.value @ self.value)
        return across * (angle / sine if sine > 0 else 1.0)


class NumberBlock(Block):
    """Plain numbers."""

    def moved(self, change: Tensor) -> Block:
        return replace(self, value=self.value + change)

    def change_from(self, start: Block) -> Tensor:
        return self.value - start.value


@dataclass(frozen=True, eq=False)
class ModelParameters:
    """A chain, a frame of it, and what of it is to be found.

    Attributes:
        chain: float64 on the CPU.
        frame: the frame to which the tool is fixed.
        tool: `T_frame_tool` (4, 4), where no block holds it.
    """

    chain: Chain
    frame: str
    tool: Tensor
    blocks: tuple[Block, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all p numbers."""
        return tuple(name for block in self.blocks for name in block.names)

    @property
    def units(self) -> Tensor:
        """(p,), a change of each that matters as much as one of the others."""
        return torch.cat([block.units for block in self.blocks])

    @property
    def scales(self) -> Tensor:
        """(p,), a plausible change of each."""
        return torch.cat([block.freedom * block.units for block in self.blocks])

    def moved(self, change: Tensor) -> ModelParameters:
        """Move by changes (*batch, p)."""
        parts = change.split([len(block.names) for block in self.blocks], -1)
        return replace(self, blocks=tuple(block.moved(part) for block, part in zip(self.blocks, parts)))

    def change_from(self, start: ModelParameters) -> Tensor:
        """Give the change (p,) that moves `start` to these."""
        return torch.cat([block.change_from(other) for block, other in zip(self.blocks, start.blocks)])

    def calibrated(self) -> Chain:
        """Give the chain with these values."""
        given: dict[str, dict[str, object]] = {"origins": {}, "axes": {}, "offsets": {}, "mimic": {}}
        for block in self.blocks:
            if block.kind == "mimic":
                given["mimic"][block.joint] = block.value.unbind(-1)
            elif block.kind in given:
                given[block.kind][block.joint] = block.value[..., 0] if block.kind == "offsets" else block.value
        return self.chain.with_parameters(**given, base=self.value_of("base"))

    def value_of(self, kind: str) -> Tensor | None:
        """Give the value of base or tool if it is to be found, None otherwise."""
        return next((block.value for block in self.blocks if block.kind == kind), None)

    def constants(self) -> tuple[Tensor, Tensor]:
        """Give all that the poses depend on: the constants (n_nodes, 19) of the tree up to the frame, the tool (4, 4)."""
        tool = self.value_of("tool")
        return self.calibrated()._frames((self.frame,)).constants, self.tool if tool is None else tool

    def poses_with(self, q: Tensor, constants: Tensor, tool: Tensor) -> Tensor:
        """Give the poses of the tool (*batch, 4, 4) with such constants; batches broadcast."""
        tree = self.chain._frames((self.frame,)).with_constants(constants)
        return matrix_product(forward_kinematics(q, tree)[0], tool)

    def poses(self, q: Tensor) -> Tensor:
        """Give the poses of the tool (n, 4, 4)."""
        return self.poses_with(q, *self.constants())


def make_blocks(
    chain: Chain, chosen: dict[str, Sequence[str]], base: bool, tool: Tensor | None, length: float, angle: float
) -> tuple[Block, ...]:
    """Make the blocks of the joints chosen by kind, at the values that hold in the chain.

    Args:
        tool: where the tool starts if it is to be found.
        length, angle: plausible changes [m], [rad].
    """
    made: list[Block] = []
    if base:
        held = chain.parameters.base if chain.parameters else None
        start = torch.eye(4, dtype=torch.float64, device="cpu") if held is None else held
        made.append(_pose_block("base", "", start, length, angle, FREEDOM_OUTSIDE))
    for name in chosen["origins"]:
        made.append(_pose_block("origins", name, _origin(chain, name), length, angle))
    for name in chosen["axes"]:
        made.append(_axis_block(name, _axis(chain, name), angle))
    for name in chosen["offsets"]:
        start = chain.parameters.offsets.get(name, 0.0) if chain.parameters else 0.0
        unit = _coordinate_unit(chain.robot.joint(name), length, angle)
        made.append(NumberBlock("offsets", name, _tensor([start]), (f"{name} offset",), _tensor([unit])))
    for name in chosen["mimic"]:
        made.append(_mimic_block(chain, name, _coordinate_unit(chain.robot.joint(name), length, angle)))
    if tool is not None:
        made.append(_pose_block("tool", "", tool, length, angle, FREEDOM_OUTSIDE))
    return tuple(made)


def _pose_block(kind: str, joint: str, value: Tensor, length: float, angle: float, freedom: float = 1.0) -> Block:
    label = f"{joint} origin" if joint else kind
    names = tuple(f"{label} {part}" for part in ("x", "y", "z", "rx", "ry", "rz"))
    return PoseBlock(kind, joint, value.detach(), names, _tensor([length] * 3 + [angle] * 3), freedom)


def _axis_block(joint: str, value: Tensor, angle: float) -> Block:
    value = value.detach() / value.detach().norm()
    names = tuple(f"{joint} axis {'xyz'[k]}" for k in _least_aligned(value))
    return AxisBlock("axes", joint, value, names, _tensor([angle, angle]))


def _mimic_block(chain: Chain, name: str, offset_unit: float) -> Block:
    mimic = chain.robot.joint(name).mimic
    held = chain.parameters.mimic.get(name) if chain.parameters else None
    value = _tensor(held or (mimic.multiplier, mimic.offset))
    units = _tensor([MULTIPLIER_UNIT * (abs(value[0].item()) or 1.0), offset_unit])
    return NumberBlock("mimic", name, value, (f"{name} mimic multiplier", f"{name} mimic offset"), units)


def _origin(chain: Chain, name: str) -> Tensor:
    held = chain.parameters.origins.get(name) if chain.parameters else None
    return _tensor(chain.robot.joint(name).origin.matrix()) if held is None else held


def _axis(chain: Chain, name: str) -> Tensor:
    held = chain.parameters.axes.get(name) if chain.parameters else None
    return _tensor(chain.robot.joint(name).axes[0].direction) if held is None else held


def _coordinate_unit(joint: Joint, length: float, angle: float) -> float:
    return length if joint.type is JointType.PRISMATIC else angle


def _least_aligned(axis: Tensor) -> list[int]:
    """Give the two coordinates, in order, that a unit vector is least along."""
    return sorted(axis.abs().argsort(stable=True)[:2].tolist())


def _tangents(axis: Tensor) -> Tensor:
    """Give two unit vectors (2, 3) normal to an axis (3,) and to each other, near the coordinates it is least along."""
    first, second = torch.eye(3, dtype=axis.dtype, device=axis.device)[_least_aligned(axis)]
    u = first - axis * (axis @ first)
    u = u / u.norm()
    v = second - axis * (axis @ second) - u * (u @ second)
    return torch.stack([u, v / v.norm()])


def _tensor(values: object) -> Tensor:
    return torch.as_tensor(values, dtype=torch.float64, device="cpu")
