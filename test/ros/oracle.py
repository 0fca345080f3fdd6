"""Pinocchio as the judge of poses and of joint limits. It lets mimic joints move freely: here they follow."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pinocchio as pin

_ROBOTS = Path(__file__).parents[2] / "config" / "robots"
PANDA = _ROBOTS / "panda.urdf"
UR5E = _ROBOTS / "ur5e.urdf"


class Oracle:
    """A robot as Pinocchio reads it.

    Attributes:
        joints: names of the moving joints, mimics left out, in the order of the file.
        limits: of each of them (lower, upper).
        links: names of all links; root: the one without a parent.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.text = path.read_text()
        self._model = pin.buildModelFromUrdf(str(path))
        self._data = self._model.createData()
        robot = ElementTree.fromstring(self.text)
        moving = [joint for joint in robot.iterfind("joint") if joint.get("type") != "fixed"]
        self._mimics = {joint.get("name"): joint.find("mimic") for joint in moving if joint.find("mimic") is not None}
        own = [joint for joint in moving if joint.get("name") not in self._mimics]
        self.joints = [joint.get("name") for joint in own]
        self.limits = {joint.get("name"): _limits(joint) for joint in own}
        self.links = [link.get("name") for link in robot.iterfind("link")]
        children = {joint.find("child").get("link") for joint in robot.iterfind("joint")}
        (self.root,) = set(self.links) - children

    def poses(self, positions: Mapping[str, float]) -> dict[str, np.ndarray]:
        """Give T_root_link (4, 4) of every link; joints not named stand at 0."""
        q = pin.neutral(self._model)
        for name in self._model.names[1:]:
            q[self._model.joints[self._model.getJointId(name)].idx_q] = self._value(name, positions)
        pin.framesForwardKinematics(self._model, self._data, q)
        frame_ids = {link: self._model.getFrameId(link, pin.FrameType.BODY) for link in self.links}
        frames = {link: self._data.oMf[frame_id].homogeneous for link, frame_id in frame_ids.items()}
        back = np.linalg.inv(frames[self.root])
        return {link: back @ frame for link, frame in frames.items()}

    def twist(self, link: str, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Give the velocity [v; w] of a link's origin in the axes of the root, from q and v in the order of `joints`."""
        q_all, v_all = pin.neutral(self._model), np.zeros(self._model.nv)
        positions, rates = dict(zip(self.joints, q)), dict(zip(self.joints, v))
        for name in self._model.names[1:]:
            joint = self._model.joints[self._model.getJointId(name)]
            q_all[joint.idx_q], v_all[joint.idx_v] = self._value(name, positions), self._rate(name, rates)
        pin.forwardKinematics(self._model, self._data, q_all, v_all)
        pin.updateFramePlacements(self._model, self._data)
        root, frame = (self._model.getFrameId(name, pin.FrameType.BODY) for name in (self.root, link))
        twist = pin.getFrameVelocity(self._model, self._data, frame, pin.ReferenceFrame.LOCAL_WORLD_ALIGNED)
        back = self._data.oMf[root].rotation.T
        return np.concatenate([back @ twist.linear, back @ twist.angular])

    def random(self, n: int, seed: int = 0) -> np.ndarray:
        """Draw configurations (n, joints) inside the limits."""
        low, high = np.array([self.limits[name] for name in self.joints]).T
        return np.random.default_rng(seed).uniform(low, high, (n, len(low)))

    def _value(self, name: str, positions: Mapping[str, float]) -> float:
        if name not in self._mimics:
            return positions.get(name, 0.0)
        mimic = self._mimics[name]
        leader = self._value(mimic.get("joint"), positions)
        return float(mimic.get("multiplier", 1.0)) * leader + float(mimic.get("offset", 0.0))

    def _rate(self, name: str, rates: Mapping[str, float]) -> float:
        if name not in self._mimics:
            return rates.get(name, 0.0)
        mimic = self._mimics[name]
        return float(mimic.get("multiplier", 1.0)) * self._rate(mimic.get("joint"), rates)


def _limits(joint: ElementTree.Element) -> tuple[float, float]:
    limit = joint.find("limit")
    if joint.get("type") == "continuous" or limit is None:
        return (-math.pi, math.pi)
    return float(limit.get("lower")), float(limit.get("upper"))


def row_matrix(row: np.ndarray) -> np.ndarray:
    """Turn x y z qx qy qz qw into a transform (4, 4)."""
    return pin.XYZQUATToSE3(np.asarray(row, dtype=np.float64)).homogeneous


def matrix_row(T: np.ndarray) -> np.ndarray:
    """Turn a transform (4, 4) into x y z qx qy qz qw."""
    return pin.SE3ToXYZQUAT(pin.SE3(T))


def pose_matrix(pose: object) -> np.ndarray:
    """Turn a geometry_msgs/Pose into a transform (4, 4)."""
    p, q = pose.position, pose.orientation
    return row_matrix(np.array([p.x, p.y, p.z, q.x, q.y, q.z, q.w]))


def errors(T: np.ndarray, wanted: np.ndarray) -> tuple[float, float]:
    """Give how far two transforms are apart: position [m], rotation [rad]."""
    between = pin.SE3(np.linalg.inv(wanted) @ T)
    return float(np.linalg.norm(T[:3, 3] - wanted[:3, 3])), float(np.linalg.norm(pin.log3(between.rotation)))
