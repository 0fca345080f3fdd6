"""Every URDF robot of the shared corpus reads as other programs read it."""

from __future__ import annotations

import math

import corpus
import pytest
from plain_kinematics import entries, link_poses

from pk_core.model import Mimic, Robot
from pk_core.parsers import parse_urdf

SCALARS = ("revolute", "continuous", "prismatic")


def read(entry: corpus.Entry) -> Robot:
    return parse_urdf(corpus.path(entry).read_bytes(), source=entry["file"])


@pytest.mark.parametrize("entry", corpus.entries("urdf"), ids=corpus.name)
def test_a_robot_has_the_links_joints_and_mimics_of_its_reference(entry: corpus.Entry) -> None:
    robot, reference = read(entry), corpus.load_reference(entry)
    assert robot.root == reference["root_link"]
    assert [link.name for link in robot.links] == reference["links"]
    assert [joint.name for joint in robot.joints] == reference["joints"]
    for joint in robot.joints:
        info = reference["joint_info"][joint.name]
        assert (joint.type.value, joint.parent, joint.child) == (info["type"], info["parent"], info["child"])
        if joint.type.value in SCALARS:
            assert joint.mimic == (Mimic(**info["mimic"]) if "mimic" in info else None)
    assert sum(joint.nv for joint in robot.joints if not joint.mimic) == entry["dof"]
    assert sum(joint.mimic is not None for joint in robot.joints) == entry["n_mimic"]


@pytest.mark.parametrize("entry", corpus.entries("urdf"), ids=corpus.name)
def test_a_robot_has_the_limits_of_its_file_and_no_others(entry: corpus.Entry) -> None:
    limits = corpus.load_reference(entry)["limits"]
    for joint in read(entry).joints:
        if joint.type.value in SCALARS:
            lower, upper = limits.get(joint.name, (-math.inf, math.inf))
            assert joint.limits == (lower, upper), joint.name
        else:
            assert joint.name not in limits


@pytest.mark.parametrize("entry", corpus.entries("urdf"), ids=corpus.name)
def test_a_robot_stands_where_other_programs_put_it(entry: corpus.Entry) -> None:
    robot, reference = read(entry), corpus.load_reference(entry)
    for q, expected in zip(reference["q"], reference["poses"], strict=True):
        found = link_poses(robot, q)
        for link, matrix in expected.items():
            assert entries(found[link]) == pytest.approx(matrix, abs=1e-9), link
