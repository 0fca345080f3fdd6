"""Put poses into a loss: bring 64 random UR5e postures to a common height while they stay near where they were.

python examples/pose_in_a_loss.py
"""

from __future__ import annotations

from pathlib import Path

import torch

import pk_core as pk

UR5E = Path(__file__).parents[1] / "config" / "robots" / "ur5e.urdf"


def main() -> None:
    arm = pk.build_serial_chain_from_urdf(UR5E.read_text(), "tool0")
    start = 0.5 * arm.random(64, generator=torch.Generator().manual_seed(0))
    q = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([q], lr=0.02)
    for step in range(301):
        height = arm.forward_kinematics(q).get_matrix()[:, 2, 3]
        loss = ((height - 0.3) ** 2).mean() + 1e-3 * ((q - start) ** 2).mean()
        if step % 100 == 0:
            print(
                f"step {step:3d}: loss {loss.item():.5f}, heights {height.min().item():.3f} .. {height.max().item():.3f} m"
            )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
