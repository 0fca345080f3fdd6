"""Robots to measure on: two of the repository, some of the corpus where there is one, and chains of any length."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parents[1]
CORPUS = Path(os.environ.get("PK_SHARED") or ROOT.parent / "shared") / "corpus" / "robots"

# name -> (URDF, the frame whose Jacobian is measured)
FILES = {
    "ur5e": (ROOT / "config/robots/ur5e.urdf", "tool0"),
    "iiwa": (CORPUS / "iiwa7.urdf", "ee_link"),
    "humanoid": (CORPUS / "g1_29dof_with_hand.urdf", "left_hand_palm_link"),
}
# what is measured unless something else is asked for
USUAL = ["iiwa", "humanoid", "chain100"] if CORPUS.is_dir() else ["ur5e", "chain100"]


def urdf_of(name: str) -> tuple[bytes, str]:
    """Give the URDF of a robot, or of `chain<N>`, and the frame whose Jacobian is measured."""
    if name.startswith("chain"):
        return long_chain(int(name.removeprefix("chain")))
    path, frame = FILES[name]
    if not path.is_file():
        raise SystemExit(
            f"{name} is in the corpus, and there is none at {CORPUS}: set PK_SHARED, or take another robot"
        )
    return path.read_bytes(), frame


def long_chain(n: int) -> tuple[bytes, str]:
    """Make n revolute joints in a row, about x, y and z in turn."""
    parts = ['<robot name="chain"><link name="link0"/>']
    for i in range(1, n + 1):
        axis = ("1 0 0", "0 1 0", "0 0 1")[i % 3]
        parts.append(
            f'<link name="link{i}"/><joint name="joint{i}" type="revolute"><parent link="link{i - 1}"/><child link="link{i}"/>'
            f'<origin xyz="0.01 0 0.05" rpy="0.1 0 0.2"/><axis xyz="{axis}"/>'
            '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint>'
        )
    return ("".join(parts) + "</robot>").encode(), f"link{n}"
