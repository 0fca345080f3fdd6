"""Calibrate a Panda that differs from its description everywhere, and write the description that fits it.

python examples/calibrate_arm.py [corrected.urdf]
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import torch
from torch import Tensor

import pk_core as pk

PANDA = Path(__file__).parents[1] / "config" / "robots" / "panda.urdf"
DRAW = torch.Generator().manual_seed(0)


def normal(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=DRAW)


def as_built(arm: pk.SerialChain) -> pk.SerialChain:
    """Move every origin by up to 5 mm and turn it by up to 1 degree: the robot that stands in the laboratory."""
    origins = {}
    for joint in arm.get_joints(exclude_fixed=False):
        size = torch.tensor([5e-3] * 3 + [math.radians(1.0)] * 3, dtype=torch.float64)
        twist = size * (2 * torch.rand(6, dtype=torch.float64, generator=DRAW) - 1)
        origins[joint.name] = torch.tensor(joint.origin.matrix(), dtype=torch.float64) @ pk.se3_exp_map(twist)
    return arm.with_parameters(origins=origins)


def measure(poses: Tensor) -> Tensor:
    """See poses (n, 4, 4) as a tracker does, with a noise of 0.1 mm and 0.1 mrad; every twentieth is wrong altogether."""
    seen = poses.clone()
    seen[:, :3, :3] = pk.so3_exp_map(1e-4 * normal(len(poses), 3)) @ poses[:, :3, :3]
    seen[:, :3, 3] += 1e-4 * normal(len(poses), 3)
    seen[::20, :3, 3] += 0.1 * normal(len(poses[::20]), 3)
    return seen


def tip_error(arm: pk.SerialChain, robot: pk.SerialChain, q: Tensor) -> float:
    tips = [chain.forward_kinematics(q).get_matrix()[:, :3, 3] for chain in (arm, robot)]
    return (tips[0] - tips[1]).norm(dim=-1).max().item()


def main() -> None:
    arm = pk.build_serial_chain_from_urdf(PANDA.read_text(), "panda_hand_tcp", dtype=torch.float64)
    robot = as_built(arm)
    q = arm.random(200, generator=DRAW)
    measured = measure(robot.forward_kinematics(q).get_matrix())

    result = pk.calibrate(arm, q, measured, origins="all", options=pk.CalibrationOptions(loss="huber"))
    corrected = result.corrected_urdf(PANDA.read_bytes())
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_bytes(corrected)

    elsewhere = arm.random(1000, generator=DRAW)
    again = pk.build_serial_chain_from_urdf(corrected, "panda_hand_tcp", dtype=torch.float64)
    print(f"{len(result.names)} parameters, {len(result.undetermined)} combinations of them that poses don't tell, as")
    print(f"  {result.undetermined[0]} (mm, mrad)")
    noise, spoilt = [1e3 * size for size in result.noise], int((result.weights < 0.05).sum())
    print(f"noise {noise[0]:.3f} mm, {noise[1]:.3f} mrad; rows that hardly count: {spoilt}")
    print(f"largest tip error at fresh poses: before {1e3 * tip_error(arm, robot, elsewhere):.3f} mm")
    print(f"largest tip error at fresh poses: after  {1e3 * tip_error(again, robot, elsewhere):.3f} mm")


if __name__ == "__main__":
    main()
