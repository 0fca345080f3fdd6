"""A torso that turns on a lift, with two arms of seven joints: for requests that place both hands together."""

from __future__ import annotations

from itertools import pairwise

HANDS = ("left_hand", "right_hand")
TORSO = ("lift", "waist")
ARMS = tuple(f"{side}_{i}" for side in ("left", "right") for i in range(1, 8))
_AXES = ("0 0 1", "0 1 0", "0 0 1", "0 1 0", "0 0 1", "0 1 0", "0 0 1")


def two_arms() -> str:
    """Write the robot as a URDF."""
    joints = [
        _joint("lift", "ground", "carriage", "0 0 0.5", "0 0 1", "prismatic", (0.0, 0.4)),
        _joint("waist", "carriage", "torso", "0 0 0.2", "0 0 1", "revolute", (-1.5, 1.5)),
    ]
    for side, y in (("left", 0.2), ("right", -0.2)):
        links = ["torso", *(f"{side}_link_{i}" for i in range(1, 7)), f"{side}_hand"]
        for i, (ends, axis) in enumerate(zip(pairwise(links), _AXES), 1):
            origin = f"0 {y} 0.3" if i == 1 else "0.05 0 0.15"
            joints.append(_joint(f"{side}_{i}", *ends, origin, axis, "revolute", (-2.5, 2.5)))
    links = ["ground", *(joint.split('<child link="')[1].split('"')[0] for joint in joints)]
    return "\n".join(['<robot name="two_arms">', *(f'<link name="{link}"/>' for link in links), *joints, "</robot>"])


def _joint(name: str, parent: str, child: str, xyz: str, axis: str, kind: str, limits: tuple[float, float]) -> str:
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/><origin xyz="{xyz}"/>'
        f'<axis xyz="{axis}"/><limit lower="{limits[0]}" upper="{limits[1]}" effort="1" velocity="1"/></joint>'
    )
