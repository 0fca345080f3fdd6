"""A robot on a device: batched forward kinematics of the whole tree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from . import configuration, kinematics
from .chain_info import ChainInfo
from .chain_velocities import ChainVelocities
from .configuration import Configuration, Missing
from .errors import UnknownJoint, UnknownLink
from .flatten import flatten
from .kinematics import TreeTensors
from .kinematics.motions import Motions
from .kinematics.tracing import lasts
from .model import Robot
from .parameters import Parameters, check_parameters, parametrised
from .transforms.transform3d import Transform3d
from .tree import Tree


class Chain(ChainInfo, ChainVelocities):
    """A robot's kinematic tree as tensors.

    Configurations `th` are (*batch, nq), [rad] and [m], columns as `get_joint_parameter_names()` says; mimic joints are
    no columns, they follow. Poses are those of the links in the root link's frame.

    Args:
        robot: the model, in float64.
        dtype, device: of all tensors in and out; float32 on the CPU unless said otherwise, whatever torch's defaults are.
    """

    def __init__(self, robot: Robot, dtype: torch.dtype = torch.float32, device: torch.device | str = "cpu") -> None:
        self.root_frame = robot.root
        self._set(robot, flatten(robot), None, dtype, device)

    def _set(
        self, robot: Robot, tree: Tree, parameters: Parameters | None, dtype: torch.dtype, device: torch.device | str
    ) -> None:
        self.robot = robot
        self.parameters = parameters
        self._tree = tree
        self._place(dtype, torch.device(device))

    def _place(self, dtype: torch.dtype, device: torch.device) -> None:
        """Make all tensors anew, then take them: nothing of the old dtype or device stays behind, or nothing changes."""
        if dtype not in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
            raise TypeError(f"a chain has a floating dtype, got {dtype}")
        with torch.inference_mode(False):  # what is made in inference mode can't take part in a backward pass
            described = TreeTensors.make(self._tree, dtype, device)
            parameters = None if self.parameters is None else self.parameters.to(dtype, device)
            low, high = (bound.to(device) for bound in configuration.limit_tensors(self._tree, dtype))
        tensors = described if parameters is None else self._parametrised(described, parameters)
        self.dtype, self.device, self._described, self.low, self.high = dtype, device, described, low, high
        self._take(parameters, tensors)

    def _parametrised(self, described: TreeTensors, parameters: Parameters) -> TreeTensors:
        """Put parameters in the place of what the description says."""
        with torch.inference_mode(False):
            constants = parametrised(self.robot, self._tree, described.constants, parameters)
        return described.with_constants(constants)

    def _take(self, parameters: Parameters | None, tensors: TreeTensors) -> None:
        self.parameters, self._tensors = parameters, tensors
        self._pruned: dict[tuple[str, ...], TreeTensors] = {self._tree.frame_names: tensors}
        self._motions_of: dict[str, Motions] = {}

    def to(
        self,
        *args: torch.dtype | torch.device | str,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ):
        """Move to a dtype or a device, in place, and return the chain."""
        for argument in args:
            if isinstance(argument, torch.dtype):
                dtype = argument
            elif argument is not None:
                device = argument
        self._place(dtype or self.dtype, torch.device(device) if device is not None else self.device)
        return self

    def with_parameters(
        self,
        *,
        origins: Mapping[str, Tensor | Transform3d] | None = None,
        axes: Mapping[str, Tensor] | None = None,
        offsets: Mapping[str, Tensor | float] | None = None,
        mimic: Mapping[str, tuple[Tensor | float, Tensor | float]] | None = None,
        base: Tensor | Transform3d | None = None,
    ):
        """Give a chain of the same robot with other model parameters, by joint name; what is left out stays.

        Tensors may require grad: forward kinematics and Jacobians carry gradients to them. With a batch (any that
        broadcasts with that of configurations) each row has an arm of its own. Limits and `robot` stay as they are.

        Args:
            origins: `T_parent_joint` (*batch, 4, 4), of fixed joints too.
            axes: direction in the joint frame (*batch, 3), normalised here.
            offsets: added to the joint's coordinate (*batch,) [rad] or [m]; joints that mimic it follow the sum.
            mimic: (multiplier, offset), each (*batch,), of joints that mimic another.
            base: `T_base_root` (*batch, 4, 4): poses and Jacobians are then given in the frame `base`.

        Raises:
            UnknownJoint, UnsupportedError, ShapeError, TensorTypeError: what is wrong, by the name of the argument.
        """
        given = check_parameters(
            self.robot, origins or {}, axes or {}, offsets or {}, mimic or {}, base, self.dtype, self.device
        )
        other = object.__new__(type(self))  # as copy.copy does, which torch.compile can't trace
        other.__dict__.update(self.__dict__)
        merged = self.parameters.merged(given) if self.parameters else given
        other._take(merged, self._parametrised(self._described, merged))
        return other

    def ensure_tensor(self, th: Configuration, missing: Missing = "neutral") -> Tensor:
        """Turn a list, array, tensor or dict (by joint name) into q (*batch, nq); one dimension is a batch of one.

        A scalar joint of a dict takes a number, (*batch,) or (N, 1); one with k > 1 coordinates (*batch, k). Joints that a
        dict leaves out stand at `neutral()`, unless `missing` is "error" or "warn".

        Raises:
            ShapeError, TensorTypeError, UnknownJoint: what is wrong with `th`; of a joint that mimics another, whom it follows.
        """
        if not isinstance(th, Tensor) and isinstance(th, Mapping):
            self._refuse_followers(th)
        return configuration.as_tensor(th, self._tree, self.dtype, self.device, missing)

    def _refuse_followers(self, th: Mapping[str, object]) -> None:
        leaders = {joint.name: joint.mimic.joint for joint in self.robot.joints if joint.mimic is not None}
        for name in th:
            if name in leaders:
                where = f"the configuration: it follows {leaders[name]!r} and is no coordinate"
                raise UnknownJoint("joint", name, self.get_joint_names(), where)

    def neutral(self) -> Tensor:
        """Give the resting configuration (nq,): zeros, identity quaternions, MJCF qpos0."""
        return torch.tensor(configuration.neutral(self._tree), dtype=self.dtype, device=self.device)

    def random(self, n: int, generator: torch.Generator | None = None) -> Tensor:
        """Draw n configurations (n, nq), uniform inside the limits; in [-pi, pi] where there are none."""
        return configuration.random(self._tree, n, generator).to(device=self.device, dtype=self.dtype)

    def clamp(self, th: Configuration) -> Tensor:
        """Clamp a configuration (*batch, nq) to the position limits."""
        return torch.clamp(self.ensure_tensor(th), self.low, self.high)

    def forward_kinematics_tensor(self, th: Configuration, analytical_grad: bool = True) -> Tensor:
        """Give the poses of all frames, (n_frames, *batch, 4, 4), rows as in `frame_to_idx`.

        Args:
            analytical_grad: False forces plain autograd through the definition; gradients of any order are right either way.
        """
        return kinematics.forward_kinematics(self.ensure_tensor(th), self._tensors, plain=not analytical_grad)

    def forward_kinematics(
        self, th: Configuration, frame_indices: Sequence[int] | Tensor | None = None
    ) -> dict[str, Transform3d]:
        """Give the poses of all frames, or of those of `get_frame_indices(...)`, by name."""
        names = self._tree.frame_names
        if frame_indices is not None:
            names = tuple(names[i] for i in self._indices(frame_indices))
        poses = kinematics.forward_kinematics(self.ensure_tensor(th), self._frames(names))
        return {name: Transform3d._of(pose) for name, pose in zip(names, poses)}

    def get_frame_indices(self, *frame_names: str) -> Tensor:
        """Give the rows of frames in the results of `forward_kinematics_tensor`.

        Raises:
            UnknownLink: no such frame.
        """
        return torch.tensor([self._row(name) for name in frame_names], dtype=torch.long, device=self.device)

    def get_all_frame_indices(self) -> Tensor:
        """Give the rows of all frames."""
        return self.get_frame_indices(*self._tree.frame_names)

    def _indices(self, frame_indices: Sequence[int] | Tensor) -> list[int]:
        given = frame_indices.tolist() if isinstance(frame_indices, Tensor) else list(frame_indices)
        for index in given:
            if type(index) is not int or not 0 <= index < len(self._tree.frame_names):
                raise UnknownLink("frame index", index, map(str, range(len(self._tree.frame_names))))
        return given

    def _row(self, name: str) -> int:
        if name not in self._tree.frame_names:
            raise UnknownLink("frame", name, self._tree.frame_names)
        return self._tree.frame_names.index(name)

    def _frames(self, names: Iterable[str]) -> TreeTensors:
        """Give the tree that ends at these frames, made once where that is the same for every call."""
        key = tuple(names)
        # while compiling, what is kept would be a reason to compile anew
        if not torch.compiler.is_dynamo_compiling() and key in self._pruned:
            return self._pruned[key]
        for name in key:
            self._row(name)
        made = kinematics.pruned(self._tensors, key)
        if lasts(made.constants) and lasts(self._tensors.constants):
            self._pruned[key] = made
        return made

    def _motions(self, frame: str) -> Motions:
        """Give what moves a frame, made once where that is the same for every call."""
        if not torch.compiler.is_dynamo_compiling() and frame in self._motions_of:
            return self._motions_of[frame]
        self._row(frame)
        made = Motions.make(self._tensors.pruned((frame,)))
        if lasts(made.columns) and lasts(made.tree.constants) and lasts(self._tensors.constants):
            self._motions_of[frame] = made
        return made
