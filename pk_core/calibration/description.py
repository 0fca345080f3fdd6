"""The model parameters of a chain as the numbers of a URDF."""

from __future__ import annotations

import torch
from torch import Tensor

from ..chain import Chain
from ..model import Joint, JointType, Robot
from ..parameters import Parameters
from ..pose import IDENTITY, Pose
from ..transforms.so3 import so3_exp_map


def described(chain: Chain) -> dict[str, dict]:
    """Give origins, axes and mimics of the joints that the chain's parameters set, base aside: arguments of `rewrite_urdf`.

    A URDF has no joint offsets: that of a joint becomes a motion in its origin, that of a mimic joint part of its mimic
    offset. Joints that mimic an offset joint follow the coordinate of the file, which lacks the offset: theirs makes up.
    """
    robot, given = chain.robot, chain.parameters or Parameters()
    axes = {name: tuple(_unit(axis).tolist()) for name, axis in given.axes.items()}
    mimic = {name: (float(multiplier), float(offset)) for name, (multiplier, offset) in given.mimic.items()}
    origins = {name: _pose(origin) for name, origin in given.origins.items()}
    for name, value in given.offsets.items():
        joint, offset = robot.joint(name), float(value)
        if joint.mimic:
            mimic[name] = _with_offset(joint, mimic, offset)
        else:
            origins[name] = origins.get(name, joint.origin) @ _motion(joint, axes.get(name, joint.axis), offset)
            for follower in _followers(robot, name):
                multiplier, _ = _with_offset(follower, mimic, 0.0)
                mimic[follower.name] = _with_offset(follower, mimic, multiplier * offset)
    return {"origins": origins, "axes": axes, "mimic": mimic}


def _with_offset(joint: Joint, mimic: dict[str, tuple[float, float]], more: float) -> tuple[float, float]:
    multiplier, offset = mimic.get(joint.name, (joint.mimic.multiplier, joint.mimic.offset))
    return multiplier, offset + more


def _followers(robot: Robot, leader: str) -> list[Joint]:
    return [joint for joint in robot.joints if joint.mimic and joint.mimic.joint == leader]


def _motion(joint: Joint, axis: tuple[float, float, float], value: float) -> Pose:
    along = torch.tensor(axis, dtype=torch.float64, device="cpu") * value
    if joint.type is JointType.PRISMATIC:
        return Pose(tuple(along.tolist()))
    return Pose(IDENTITY.xyz, tuple(map(tuple, so3_exp_map(along).tolist())))


def _pose(T: Tensor) -> Pose:
    T = T.detach().to("cpu", torch.float64)
    return Pose(tuple(T[:3, 3].tolist()), tuple(map(tuple, T[:3, :3].tolist())))


def _unit(axis: Tensor) -> Tensor:
    axis = axis.detach().to("cpu", torch.float64)
    return axis / axis.norm()
