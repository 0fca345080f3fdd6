"""The robot that the node serves: what was worked out once when its description came. Immutable; no rclpy."""

from __future__ import annotations

import hashlib
import threading
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import torch

import pk_core as pk
from pk_core.flatten import flatten
from pk_core.model import Joint, JointType, Robot
from pk_core.tree import BALL, FREE, KIND, PARENT, Q_COLUMN, SCALAR, JointSpan, Tree

_COLUMNS_OF_KIND = {SCALAR: 1, BALL: 4, FREE: 7}
_STEP = 1e-5  # [rad] or [m]; a central difference over it is right to about 1e-10


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

    def only(self, chosen: np.ndarray) -> TreeJoints:
        """Give those of a mask."""
        return TreeJoints(
            parents=tuple(parent for parent, is_chosen in zip(self.parents, chosen) if is_chosen),
            children=tuple(child for child, is_chosen in zip(self.children, chosen) if is_chosen),
            parent_rows=self.parent_rows[chosen],
            child_rows=self.child_rows[chosen],
        )


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
        spans: where each moving joint stands among the coordinates and the velocities.
        rates: (nq,) which velocity is the rate of each coordinate, -1 for those of ball and floating joints.
        nv: the number of velocities.
        limits: (2, nq) lower and upper ones, infinite where there are none [rad] or [m].
    """

    text: str = field(repr=False)
    robot: Robot
    chain: pk.Chain
    columns: tuple[str, ...]
    neutral: np.ndarray
    frame_names: tuple[str, ...]
    needs: np.ndarray
    silent: frozenset[str]
    spans: tuple[JointSpan, ...]
    rates: np.ndarray
    nv: int
    limits: np.ndarray
    _serials: dict[tuple[str, str], pk.SerialChain] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @property
    def n_links(self) -> int:
        """How many of `frame_names` are links."""
        return len(self.frame_names) - len(self.robot.frames)

    @property
    def hash(self) -> str:
        """SHA-256 of the description's text in UTF-8, in hexadecimal: tells models apart."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def root(self) -> str:
        """The link that poses are given in."""
        return self.robot.root

    def place(self, q: np.ndarray) -> np.ndarray:
        """Place every frame in the root link: q (nq,) -> (n_frames, 4, 4), or (N, nq) -> (n_frames, N, 4, 4)."""
        Ts = self.chain.forward_kinematics_tensor(self._tensor(q)).cpu().numpy()
        return Ts.reshape(len(self.frame_names), *q.shape[:-1], 4, 4)

    def twists(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Give the velocity [v; w] of each frame's origin in the axes of the root: q (nq,), v (nv,) -> (n_frames, 6).

        A central difference of `place`: the same for every kind of joint, and for mimics.
        """
        step = _STEP / max(1.0, np.abs(v).max(initial=0.0))
        before, after = np.swapaxes(self.place(np.stack([self._moved(q, -step * v), self._moved(q, step * v)])), 0, 1)
        turn = after[:, :3, :3] @ np.swapaxes(before[:, :3, :3], 1, 2)  # exp of the angle turned
        turn = 0.5 * (turn - np.swapaxes(turn, 1, 2))
        w = np.stack([turn[:, 2, 1], turn[:, 0, 2], turn[:, 1, 0]], axis=1)
        return np.concatenate([after[:, :3, 3] - before[:, :3, 3], w], axis=1) / (2.0 * step)

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

    def above(self, frame: str) -> list[str]:
        """Name the link of a frame and all links above it, up to the root; none for a name that is no frame."""
        parents = {joint.child: joint.parent for joint in self.robot.joints}
        link = next((each.link for each in self.robot.frames if each.name == frame), frame)
        if link not in parents and link != self.root:
            return []
        links = [link]
        while links[-1] in parents:
            links.append(parents[links[-1]])
        return links

    def leaves(self) -> list[str]:
        """Name the links without children: the likely tips."""
        parents = {joint.parent for joint in self.robot.joints}
        return [link.name for link in self.robot.links if link.name not in parents and not link.hidden]

    def links_like(self, patterns: tuple[str, ...]) -> np.ndarray:
        """Give the rows of the links that match one of the patterns of the shell; of all where there are no patterns."""
        links = self.frame_names[: self.n_links]
        chosen = [not patterns or any(fnmatchcase(link, pattern) for pattern in patterns) for link in links]
        return np.flatnonzero(chosen)

    def tree_joints(self, *, fixed: bool) -> TreeJoints:
        """Give the fixed joints, or the moving ones; a link without a name for users joins those on its two sides."""
        rows = {name: row for row, name in enumerate(self.frame_names)}
        joints = [
            (parent, link)
            for link, (parent, is_fixed) in self._parents(rows).items()
            if is_fixed is fixed and link in rows and parent in rows
        ]
        return TreeJoints(
            parents=tuple(parent for parent, _ in joints),
            children=tuple(child for _, child in joints),
            parent_rows=np.array([rows[parent] for parent, _ in joints], dtype=np.intp),
            child_rows=np.array([rows[child] for _, child in joints], dtype=np.intp),
        )

    def _parents(self, named: dict[str, int]) -> dict[str, tuple[str, bool]]:
        """Find for each link the next one above that has a name, and whether all joints between are fixed."""
        parents: dict[str, tuple[str, bool]] = {}
        for link, joint in self.robot.walk():
            if joint is not None:
                parent, is_fixed = joint.parent, joint.type is JointType.FIXED
                if parent not in named and parent in parents:
                    parent, is_fixed = parents[parent][0], is_fixed and parents[parent][1]
                parents[link.name] = parent, is_fixed
        return parents

    def multi_dof_joints(self) -> list[Joint]:
        """Give the joints that are no single number and no two: ball, floating and planar ones."""
        kinds = (JointType.BALL, JointType.FLOATING, JointType.PLANAR)
        return [span.joint for span in self.spans if span.joint.type in kinds]

    def root_joints(self) -> list[Joint]:
        """Give the floating and planar joints right at the root: those that a pose of the whole robot can move."""
        joints = [joint for joint in self.multi_dof_joints() if joint.parent == self.root]
        return [joint for joint in joints if joint.type is not JointType.BALL]

    def _moved(self, q: np.ndarray, dq: np.ndarray) -> np.ndarray:
        if len(q) == self.nv:
            return q + dq
        return self.chain.integrate(self._tensor(q), self._tensor(dq)).cpu().numpy().reshape(q.shape)

    def _tensor(self, q: np.ndarray) -> torch.Tensor:
        tensor = torch.from_numpy(np.ascontiguousarray(q))
        return tensor if self.chain.device.type == "cpu" else tensor.to(self.chain.device)


def read_model(text: str, device: str = "cpu", path: Path | None = None) -> ServedModel:
    """Read a URDF, SDF or MJCF. Poses are computed in float64.

    Args:
        path: where the text stands, for what it includes from beside it; None: it may include nothing.

    Raises:
        ParseError, ModelError: the description is not one of a robot.
        PkError: the device can't be used.
    """
    if not text.lstrip("\ufeff \t\r\n").startswith("<"):  # else it would be taken for a path
        raise pk.ParseError("no robot description: it does not begin with '<'")
    if problem := device_problem(device):
        raise pk.UnsupportedError(problem)
    return _tabulate(text, pk.load(path or text, dtype=torch.float64, device=device))


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


def device_problem(device: str) -> str:
    """Say why a device can't be used here, empty where it can."""
    try:
        torch.zeros((), dtype=torch.float64, device=device).item()  # "meta" has no numbers
    except (RuntimeError, AssertionError, TypeError) as error:  # torch raises these for a device that is not there
        return f"device {device!r} can't be used here: {str(error).splitlines()[0]}"
    return ""


def _tabulate(text: str, chain: pk.Chain) -> ServedModel:
    robot = chain.robot
    tree = flatten(robot)
    columns = tuple(chain.get_joint_parameter_names())
    coordinates = {span.joint.name for span in tree.spans}
    rates = np.full(tree.nq, -1)
    for span in tree.spans:
        if span.joint.nq == span.joint.nv:
            rates[span.q_slice] = range(span.v_start, span.v_start + span.joint.nv)
    return ServedModel(
        text=text,
        robot=robot,
        chain=chain,
        columns=columns,
        neutral=chain.neutral().cpu().numpy().astype(np.float64),
        frame_names=tree.frame_names,
        needs=_needs(tree),
        silent=frozenset(joint.name for joint in robot.joints if joint.name not in coordinates),
        spans=tree.spans,
        rates=rates,
        nv=tree.nv,
        limits=np.array(chain.get_joint_limits(), dtype=np.float64).reshape(2, tree.nq),
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
