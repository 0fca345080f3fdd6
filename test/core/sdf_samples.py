"""What tests of the SDF reader share: small descriptions, and where their links stand."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch

from pk_core import Chain
from pk_core.model import Robot
from pk_core.parsers import parse_sdf
from pk_core.pose import Pose


def model(inner: str, version: str = "1.9", attributes: str = "") -> str:
    """Write a model that stands alone; `inner` begins in line 3."""
    return f'<sdf version="{version}">\n<model name="m" {attributes}>\n{inner}\n</model>\n</sdf>'


def two_links(joint: str, version: str = "1.9", kind: str = "revolute", pose: str = "") -> str:
    """Write links a and b, b one metre above a, and the inside of a joint j between them; `joint` stands in line 6."""
    links = '<link name="a"/>\n<link name="b"><pose>0 0 1 0 0 0</pose></link>\n'
    ends = f"<parent>a</parent><child>b</child>{pose}"
    return model(f'{links}<joint name="j" type="{kind}">{ends}\n{joint}\n</joint>', version)


def where(robot: Robot | str, frame: str, q: Mapping[str, float | Sequence[float]] | None = None) -> Pose:
    """Give `T_world_frame`; joints that `q` leaves out stand at rest."""
    chain = Chain(parse_sdf(robot) if isinstance(robot, str) else robot, dtype=torch.float64)
    at = chain.forward_kinematics(dict(q or {}))[frame].get_matrix()[0].tolist()
    return Pose(tuple(row[3] for row in at[:3]), tuple(tuple(row[:3]) for row in at[:3]))


def turned(
    x: float = 0.0, y: float = 0.0, z: float = 0.0, *, roll: float = 0.0, pitch: float = 0.0, yaw: float = 0.0
) -> Pose:
    """Build a pose from a position [m] and fixed-axis angles [deg]."""
    return Pose.from_xyz_rpy((x, y, z), tuple(map(math.radians, (roll, pitch, yaw))))
