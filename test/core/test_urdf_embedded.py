"""The robots in `config/robots` stand where their makers' tables put them, and where other people's files do."""

from __future__ import annotations

import math
import random
from pathlib import Path

import corpus
import pytest
from plain_kinematics import entries, link_poses, rotation_about

from pk_core.model import Mimic, Robot
from pk_core.parsers import parse_urdf
from pk_core.pose import IDENTITY, Pose

ROBOTS = Path(__file__).parents[2] / "config" / "robots"

# The makers' tables, in numbers of their own: https://frankaemika.github.io/docs/control_parameters.html (modified
# Denavit-Hartenberg parameters) and the Universal Robots article "DH parameters for calculations of kinematics".
PANDA_A = (0, 0, 0, 0.0825, -0.0825, 0, 0.088)
PANDA_D = (0.333, 0, 0.316, 0, 0.384, 0, 0)
PANDA_ALPHA = tuple(quarter * math.pi / 2 for quarter in (0, -1, 1, 1, -1, 1, 1))
UR5E_A = (0, -0.425, -0.3922, 0, 0, 0)
UR5E_D = (0.1625, 0, 0, 0.1333, 0.0997, 0.0996)
UR5E_ALPHA = tuple(quarter * math.pi / 2 for quarter in (1, 0, 0, 1, -1, 0))
UR5E_JOINTS = ("shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3")


def read(name: str) -> Robot:
    return parse_urdf((ROBOTS / name).read_bytes(), source=name)


def about_x(angle: float) -> Pose:
    return rotation_about((1.0, 0.0, 0.0), angle)


def about_z(angle: float) -> Pose:
    return rotation_about((0.0, 0.0, 1.0), angle)


def random_angles(count: int, seed: int) -> list[float]:
    generator = random.Random(seed)
    return [generator.uniform(-3.0, 3.0) for _ in range(count)]


@pytest.mark.parametrize("seed", range(5))
def test_the_panda_follows_its_modified_denavit_hartenberg_parameters(seed: int) -> None:
    q = random_angles(7, seed)
    expected = IDENTITY
    for a, d, alpha, theta in zip(PANDA_A, PANDA_D, PANDA_ALPHA, q, strict=True):
        expected = expected @ about_x(alpha) @ Pose((a, 0.0, 0.0)) @ about_z(theta) @ Pose((0.0, 0.0, d))
    expected = expected @ Pose((0.0, 0.0, 0.107))
    found = link_poses(read("panda.urdf"), {f"panda_joint{i + 1}": theta for i, theta in enumerate(q)})
    assert found["panda_link8"].is_close(expected)
    tcp = expected @ about_z(-math.pi / 4) @ Pose((0.0, 0.0, 0.1034))
    assert found["panda_hand_tcp"].is_close(tcp)


@pytest.mark.parametrize("seed", range(5))
def test_the_ur5e_follows_its_denavit_hartenberg_parameters(seed: int) -> None:
    q = random_angles(6, seed)
    expected = IDENTITY
    for a, d, alpha, theta in zip(UR5E_A, UR5E_D, UR5E_ALPHA, q, strict=True):
        expected = expected @ about_z(theta) @ Pose((0.0, 0.0, d)) @ Pose((a, 0.0, 0.0)) @ about_x(alpha)
    angles = {f"{name}_joint": theta for name, theta in zip(UR5E_JOINTS, q, strict=True)}
    found = link_poses(read("ur5e.urdf"), angles)
    assert (found["base"].inverse() @ found["tool0"]).is_close(expected)


def test_the_second_finger_of_the_panda_mirrors_the_first() -> None:
    robot = read("panda.urdf")
    assert robot.joint("panda_finger_joint2").mimic == Mimic("panda_finger_joint1")
    poses = link_poses(robot, {"panda_finger_joint1": 0.03})
    left, right = (poses["panda_hand"].inverse() @ poses[f"panda_{side}finger"] for side in ("left", "right"))
    assert left.is_close(Pose((0.0, 0.03, 0.0584)))
    assert right.is_close(Pose((0.0, -0.03, 0.0584)))


def test_the_limits_are_the_published_ones() -> None:
    panda, ur5e = read("panda.urdf"), read("ur5e.urdf")
    assert panda.joint("panda_joint4").limits == (-3.0718, -0.0698)
    assert panda.joint("panda_joint6").limits == (-0.0175, 3.7525)
    assert panda.joint("panda_joint7").velocity_limits == (-2.61, 2.61)
    assert panda.joint("panda_joint1").effort_limits == (-87.0, 87.0)
    assert ur5e.joint("elbow_joint").limits == (-math.pi, math.pi)
    assert ur5e.joint("wrist_3_joint").limits == (-2 * math.pi, 2 * math.pi)


@pytest.mark.parametrize(("ours", "theirs"), [("panda.urdf", "panda_moveit"), ("ur5e.urdf", "ur5e")])
def test_the_embedded_robots_agree_with_published_files(ours: str, theirs: str) -> None:
    robot, reference = read(ours), corpus.load_reference(theirs)
    for q, expected in zip(reference["q"], reference["poses"], strict=True):
        found = link_poses(robot, q)
        shared = [link for link in expected if link in found]
        assert len(shared) >= 12
        for link in shared:  # their quarter turns have 9 or 11 digits
            assert entries(found[link]) == pytest.approx(expected[link], abs=2e-9), link
