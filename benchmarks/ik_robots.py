"""The robots of the benchmark of inverse kinematics, their targets, and Pinocchio as the judge of solutions."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pinocchio
import torch

import pk_core as pk

REPOSITORY = Path(__file__).parents[1]
SHARED = Path(os.environ.get("PK_SHARED") or REPOSITORY.parent / "shared")
CORPUS = SHARED / "corpus" / "robots"

# name: file, frames to place, first frame of the path
ROBOTS: dict[str, tuple[Path, tuple[str, ...], str]] = {
    "panda": (REPOSITORY / "config" / "robots" / "panda.urdf", ("panda_hand_tcp",), ""),
    "iiwa7": (CORPUS / "iiwa7.urdf", ("ee_link",), ""),
    "ur5e": (REPOSITORY / "config" / "robots" / "ur5e.urdf", ("tool0",), ""),
    "fetch": (CORPUS / "fetch.urdf", ("gripper_link",), ""),
    "jaco": (CORPUS / "jaco_j2s7s300.urdf", ("j2s7s300_end_effector",), ""),
    "gen3_lite": (CORPUS / "gen3_lite.urdf", ("tool_frame",), ""),
    "fanuc": (CORPUS / "fanuc_m10ia.urdf", ("tool0",), ""),
    "yumi": (CORPUS / "yumi.urdf", ("gripper_r_base",), ""),
    "g1": (CORPUS / "g1_29dof_with_hand.urdf", ("right_hand_palm_link",), ""),
}
# both hands at once, over a waist where there is one
HANDS = {
    "yumi": ("gripper_r_base", "gripper_l_base"),
    "g1": ("right_hand_palm_link", "left_hand_palm_link"),
}


@dataclass(frozen=True)
class Arm:
    """A robot with the frame to place, as pk and as Pinocchio know it."""

    name: str
    urdf: bytes
    tips: tuple[str, ...]
    root: str

    @classmethod
    def load(cls, name: str) -> Arm:
        file, tips, root = ROBOTS[name]
        return cls(name, file.read_bytes(), tips, root)

    @cached_property
    def chain(self) -> pk.SerialChain:
        """The path to the frame, float64."""
        return pk.build_serial_chain_from_urdf(self.urdf, self.tips[0], self.root, dtype=torch.float64)

    @cached_property
    def model(self) -> pinocchio.Model:
        """Pinocchio's model of the joints on the path alone: what is no part of the problem costs it no time."""
        whole = pinocchio.buildModelFromXML(self.urdf.decode())
        off = [whole.getJointId(name) for name in whole.names[1:] if name not in self.moving]
        return pinocchio.buildReducedModel(whole, off, pinocchio.neutral(whole))

    @cached_property
    def moving(self) -> set[str]:
        """Names of the joints that move a tip."""
        return set(self.chain.get_joint_parameter_names())

    @cached_property
    def low(self) -> np.ndarray:
        return np.array(self.chain.get_joint_limits()[0])

    @cached_property
    def high(self) -> np.ndarray:
        return np.array(self.chain.get_joint_limits()[1])

    @cached_property
    def span(self) -> tuple[np.ndarray, np.ndarray]:
        """Finite ends of the range of each joint: a turn where there is no limit."""
        return np.where(np.isinf(self.low), -np.pi, self.low), np.where(np.isinf(self.high), np.pi, self.high)

    def uniform(self, n: int, seed: int = 0) -> np.ndarray:
        """Draw configurations (n, nq) inside the limits."""
        low, high = self.span
        return np.random.default_rng(seed).uniform(low, high, (n, len(low)))

    def near_limits(self, n: int, seed: int = 0) -> np.ndarray:
        """Draw configurations with about half of the joints within a hundredth of their range of a limit."""
        (low, high), generator = self.span, np.random.default_rng(seed)
        edge = generator.uniform(0, 0.01, (n, len(low)))
        fraction = np.where(generator.random(edge.shape) < 0.5, edge, 1 - edge)
        q = low + np.where(generator.random(edge.shape) < 0.5, generator.random(edge.shape), fraction) * (high - low)
        return np.clip(q, low, high)

    def near_singular(self, n: int, seed: int = 0) -> np.ndarray:
        """Draw twenty times as many configurations and keep those whose Jacobian has the smallest last singular value."""
        q = self.uniform(20 * n, seed)
        J = self.chain.jacobian(torch.from_numpy(q))
        smallest = torch.linalg.svdvals(J)[:, -1].numpy()
        return q[np.argsort(smallest)[:n]]

    def poses(self, q: np.ndarray, tip: str | None = None) -> np.ndarray:
        """Give the poses (n, 4, 4) of the (first) tip at q (n, nq) by Pinocchio, in the frame of the path's root."""
        data, frame = self.model.createData(), self.model.getFrameId(tip or self.tips[0])
        poses = np.empty((len(q), 4, 4))
        for i, x in enumerate(self.to_pinocchio(q)):
            pinocchio.framesForwardKinematics(self.model, data, x)
            poses[i] = data.oMf[frame].homogeneous
        return poses

    def to_pinocchio(self, q: np.ndarray) -> np.ndarray:
        """Order columns as Pinocchio does, with a cosine and a sine for joints without limits."""
        out = np.empty((len(q), self.model.nq))
        for column, name in enumerate(self.chain.get_joint_parameter_names()):
            if name not in self.moving:
                continue
            joint = self.model.joints[self.model.getJointId(name)]
            values = [q[:, column]] if joint.nq == 1 else [np.cos(q[:, column]), np.sin(q[:, column])]
            out[:, joint.idx_q : joint.idx_q + joint.nq] = np.stack(values, 1)
        return out

    def errors(self, q: np.ndarray, targets: np.ndarray, tip: str | None = None) -> np.ndarray:
        """Judge solutions (n, nq): position and rotation errors (n, 2) [m], [rad]."""
        poses = self.poses(q, tip)
        position = np.linalg.norm(poses[:, :3, 3] - targets[:, :3, 3], axis=1)
        R = poses[:, :3, :3].swapaxes(1, 2) @ targets[:, :3, :3]
        return np.stack([position, [np.linalg.norm(pinocchio.log3(r)) for r in R]], 1)

    def inside(self, q: np.ndarray) -> np.ndarray:
        """Say which solutions (n, nq) are inside the limits."""
        return ((q >= self.low) & (q <= self.high)).all(1)

    def out_of_reach(self, n: int, seed: int = 0) -> np.ndarray:
        """Push targets out along the line from the base, to 1.1 times the distance that no drawn configuration passes."""
        far = np.linalg.norm(self.poses(self.uniform(20_000, seed + 1))[:, :3, 3], axis=1).max()
        targets = self.poses(self.uniform(n, seed))
        targets[:, :3, 3] *= 1.1 * far / np.linalg.norm(targets[:, :3, 3], axis=1, keepdims=True)
        return targets

    def path(self, n: int, seed: int = 0) -> np.ndarray:
        """Give n configurations on a smooth closed curve well inside the limits: a continuous solution of its poses."""
        (low, high), generator = self.span, np.random.default_rng(seed)
        t = np.linspace(0, 2 * np.pi, n)[:, None]
        phase = generator.uniform(0, 2 * np.pi, (2, len(low)))
        wave = 0.25 * np.sin(t + phase[0]) + 0.1 * np.sin(2 * t + phase[1])
        half = np.minimum(0.5 * (high - low), 2.0)
        return 0.5 * (low + high) + half * wave

    def thousand_calls(self):
        """Give a function that calls Pinocchio's forwardKinematics a thousand times: the unit of cost."""
        model, data = self.model, self.model.createData()
        q = pinocchio.randomConfiguration(model)

        def call() -> None:
            for _ in range(1000):
                pinocchio.forwardKinematics(model, data, q)

        return call


class Hands(Arm):
    """A robot with both of its hands to place at once."""

    @classmethod
    def load(cls, name: str) -> Hands:
        file, _, root = ROBOTS[name]
        return cls(name, file.read_bytes(), HANDS[name], root)

    @cached_property
    def chain(self) -> pk.Chain:
        """The whole robot, float64."""
        return pk.build_chain_from_urdf(self.urdf).to(dtype=torch.float64)

    @cached_property
    def moving(self) -> set[str]:
        """Names of the joints that move a hand."""
        paths = (pk.SerialChain(self.chain, tip) for tip in self.tips)
        return {name for path in paths for name in path.get_joint_parameter_names()}

    def targets(self, q: np.ndarray) -> dict[str, np.ndarray]:
        """Give the poses of each hand at q."""
        return {tip: self.poses(q, tip) for tip in self.tips}
