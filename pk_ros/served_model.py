"""The robot that the node serves: what was worked out once when its description came. Immutable; no rclpy."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import numpy as np
import torch

import pk_core as pk
from pk_core.flatten import flatten
from pk_core.model import JointType, Robot
from pk_core.tree import BALL, FREE, KIND, PARENT, Q_COLUMN, SCALAR, Tree

_COLUMNS_OF_KIND = {SCALAR: 1, BALL: 4, FREE: 7}


@dataclass(frozen=True)
class TreeJoints:
    """Joints as /tf tells them: child frames and their parents.

    Attributes:
        parents, children: link names.
        parent_rows, child_rows: their rows in `ServedModel.place`.
    """

    parents: tuple[str, ...]
    children: tuple[str, ...]
    parent_rows: np.ndarray
    child_rows: np.ndarray


@dataclass(frozen=True, eq=False)
class ServedModel:
    """A robot with its chain and the tables that the node needs for each message.

    Attributes:
        text: the description it was read from.
        columns: names of the coordinates, in order.
        neutral: (nq,) coordinates that stand in for joints never seen.
        frame_names: links, then extra frames, in the order of the rows of `place`.
        needs: (n_frames, nq) bool, the coordinates that move each frame against the root.
        silent: names of joints that are no coordinate: fixed joints and mimics.
    """

    text: str = field(repr=False)
    robot: Robot
    chain: pk.Chain
    columns: tuple[str, ...]
    neutral: np.ndarray
    frame_names: tuple[str, ...]
    needs: np.ndarray
    silent: frozenset[str]
    _serials: dict[tuple[str, str], pk.SerialChain] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def n_links(self) -> int:
        """How many of `frame_names` are links."""
        return len(self.frame_names) - len(self.robot.frames)

    @property
    def root(self) -> str:
        """The link that poses are given in."""
        return self.robot.root

    def place(self, q: np.ndarray) -> np.ndarray:
        """Place every frame in the root link: q (nq,) -> (n_frames, 4, 4), or (N, nq) -> (n_frames, N, 4, 4)."""
        Ts = self.chain.forward_kinematics_tensor(self._tensor(q)).cpu().numpy()
        return Ts.reshape(len(self.frame_names), *q.shape[:-1], 4, 4)

    def place_between(self, frame: str, base: str, q: np.ndarray) -> np.ndarray:
        """Place a frame in another: q (nq,), the whole robot's -> T_base_frame (4, 4)."""
        if frame == base:
            return np.eye(4)
        serial = self.serial(frame, base)
        q_path = q[self.columns_between(frame, base)]
        return serial.forward_kinematics_tensor(self._tensor(q_path))[-1].cpu().numpy().reshape(4, 4)

    def columns_between(self, frame: str, base: str) -> list[int]:
        """Give the coordinates that move a frame against another, in the order of their serial chain."""
        if frame == base:
            return []
        return [self.columns.index(name) for name in self.serial(frame, base).get_joint_parameter_names()]

    def visible(self, seen: np.ndarray) -> np.ndarray:
        """Say which frames stand where they are known to: (nq,) coordinates seen -> (n_frames,) bool."""
        return ~(self.needs & ~seen).any(axis=1)

    def serial(self, tip: str, base: str) -> pk.SerialChain:
        """Give the chain from base to tip, made once for each pair; raises UnknownLink, UnsupportedError."""
        with self._lock:
            if (tip, base) not in self._serials:
                self._serials[tip, base] = pk.SerialChain(self.chain, tip, base)
            return self._serials[tip, base]

    def leaves(self) -> list[str]:
        """Name the links without children: the likely tips."""
        parents = {joint.parent for joint in self.robot.joints}
        return [link.name for link in self.robot.links if link.name not in parents and not link.hidden]

    def tree_joints(self, *, fixed: bool) -> TreeJoints:
        """Give the fixed joints, or the moving ones."""
        rows = {name: row for row, name in enumerate(self.frame_names)}
        joints = [
            joint
            for joint in self.robot.joints
            if (joint.type is JointType.FIXED) is fixed and joint.parent in rows and joint.child in rows
        ]
        return TreeJoints(
            parents=tuple(joint.parent for joint in joints),
            children=tuple(joint.child for joint in joints),
            parent_rows=np.array([rows[joint.parent] for joint in joints], dtype=np.intp),
            child_rows=np.array([rows[joint.child] for joint in joints], dtype=np.intp),
        )

    def _tensor(self, q: np.ndarray) -> torch.Tensor:
        tensor = torch.from_numpy(np.ascontiguousarray(q))
        return tensor if self.chain.device.type == "cpu" else tensor.to(self.chain.device)


def read_model(text: str, device: str = "cpu") -> ServedModel:
    """Read a description. Poses are computed in float64.

    Raises:
        ParseError, ModelError: the description is not one of a robot.
        PkError: the device can't be used.
    """
    robot = pk.parse_urdf(text)
    return _tabulate(text, robot, pk.Chain(robot, dtype=torch.float64, device=_usable(device)))


def warm_up(model: ServedModel) -> None:
    """Compile or load every kernel that requests use, so that the first one is as quick as the next."""
    pk.warmup(model.chain)
    place = model.place(model.neutral)
    n_joints = dict(zip(model.frame_names, model.needs.sum(axis=1)))
    tip = max(model.leaves(), key=lambda leaf: n_joints[leaf])
    target = torch.from_numpy(place[model.frame_names.index(tip)][None])
    serial = model.serial(tip, model.root)
    if serial.get_joint_parameter_names():
        pk.solve_ik(serial, target.to(model.chain.device), options=pk.IKOptions(timeout=1.0))


def _usable(device: str) -> torch.device:
    try:
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError) as error:  # torch raises either for a device that is not there
        raise pk.UnsupportedError(f"device {device!r} can't be used here: {str(error).splitlines()[0]}") from error


def _tabulate(text: str, robot: Robot, chain: pk.Chain) -> ServedModel:
    tree = flatten(robot)
    columns = tuple(chain.get_joint_parameter_names())
    coordinates = {span.joint.name for span in tree.spans}
    return ServedModel(
        text=text,
        robot=robot,
        chain=chain,
        columns=columns,
        neutral=chain.neutral().cpu().numpy().astype(np.float64),
        frame_names=tree.frame_names,
        needs=_needs(tree),
        silent=frozenset(joint.name for joint in robot.joints if joint.name not in coordinates),
    )


def _needs(tree: Tree) -> np.ndarray:
    """Find which coordinates move each frame: those of its node and of all nodes above."""
    needs = np.zeros((len(tree.layout), tree.nq), dtype=bool)
    for node, row in enumerate(tree.layout):
        if row[PARENT] >= 0:
            needs[node] = needs[row[PARENT]]
        start = row[Q_COLUMN]
        needs[node, start : start + _COLUMNS_OF_KIND.get(int(row[KIND]), 0)] = True
    return needs[tree.frame_nodes]
