"""Ask for the joint angles that take the Panda's tool along a circle, each step near the one before.

python examples/inverse_kinematics.py
"""

from __future__ import annotations

import math
from pathlib import Path

import torch

import pk_core as pk

PANDA = Path(__file__).parents[1] / "config" / "robots" / "panda.urdf"


def main() -> None:
    arm = pk.build_serial_chain_from_urdf(PANDA.read_text(), "panda_hand_tcp", dtype=torch.float64)
    angle = torch.linspace(0.0, 2 * math.pi, 100, dtype=torch.float64)
    circle = torch.stack([0.45 + 0 * angle, 0.2 * torch.cos(angle), 0.5 + 0.2 * torch.sin(angle)], -1)
    down = torch.tensor([0.0, 1.0, 0.0, 0.0], dtype=torch.float64).expand(100, 4)  # a quaternion wxyz
    targets = torch.cat([circle, down], -1)

    everywhere = pk.solve_ik(arm, targets).raise_if_failed()
    print(f"100 targets in one call: worst error {everywhere.position_error.max():.1e} m")

    q, path = arm.neutral(), []
    for target in targets:  # the solution before is where the next search starts
        q = pk.solve_ik(arm, target, seeds=q, options=pk.IKOptions(prefer="nearest")).raise_if_failed().best()[0]
        path.append(q)
    steps = torch.stack(path).diff(dim=0).abs().amax(-1)
    print(f"one after the other: largest change of a joint {steps.max():.3f} rad a step")


if __name__ == "__main__":
    main()
