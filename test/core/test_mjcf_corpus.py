"""Every MJCF robot of the shared corpus is what MuJoCo and others made of it."""

from __future__ import annotations

import math
import os
from functools import cache
from typing import Any

import corpus
import numpy as np
import pytest
import torch

from pk_core.chain import Chain
from pk_core.model import JointType, Robot
from pk_core.parsers import parse_mjcf

TYPES = {
    "hinge": (JointType.REVOLUTE, JointType.CONTINUOUS),
    "slide": (JointType.PRISMATIC,),
    "ball": (JointType.BALL,),
    "free": (JointType.FLOATING,),
}

each_robot = pytest.mark.parametrize("entry", corpus.entries("mjcf"), ids=corpus.name)


@cache
def read(name: str) -> Robot:
    file = corpus.path(name)
    extra = [corpus.CORPUS / extra for extra in corpus.entry(name)["extra_files"]]
    assets = {os.path.relpath(path, file.parent): path.read_bytes() for path in extra}
    return parse_mjcf(file.read_bytes(), assets=assets, source=file.name)


def load(entry: corpus.Entry) -> tuple[Chain, dict[str, Any]]:
    return Chain(read(entry["name"]), dtype=torch.float64), corpus.load_reference(entry)


@each_robot
def test_a_robot_has_the_bodies_and_joints_of_its_reference(entry: corpus.Entry) -> None:
    chain, reference = load(entry)
    assert chain.robot.root == reference["root_link"] == "world"
    assert chain.get_link_names() == reference["links"]
    assert chain.get_joint_names() == reference["joints"]
    assert (chain.nq, chain.nv) == (reference["nq"], entry["dof"])
    for name, info in reference["joint_info"].items():
        joint = chain.robot.joint(name)
        assert (joint.type in TYPES[info["type"]] and joint.child == info["body"]) or chain.robot.link(
            joint.child
        ).hidden
        if joint.axes:
            assert joint.axes[0].reference == pytest.approx(info.get("qpos0", 0.0), abs=1e-11)


@each_robot
def test_a_robot_has_the_limits_of_its_reference_and_no_others(entry: corpus.Entry) -> None:
    robot, limits = read(entry["name"]), corpus.load_reference(entry)["limits"]
    for joint in robot.joints:
        if joint.axes:
            lower, upper = limits.get(joint.name, (-math.inf, math.inf))
            assert joint.limits == pytest.approx((lower, upper), abs=1e-11), joint.name


@each_robot
def test_a_robot_rests_where_its_reference_does(entry: corpus.Entry) -> None:
    chain, reference = load(entry)
    assert reference["q_labels"][0] == "qpos0"
    assert chain.neutral().numpy() == pytest.approx(np.array(reference["qpos"][0]), abs=1e-11)


@each_robot
def test_a_robot_stands_where_its_reference_puts_it(entry: corpus.Entry) -> None:
    chain, reference = load(entry)
    frames = chain.frame_to_idx
    q = {name: torch.tensor([q[name] for q in reference["q"]], dtype=torch.float64) for name in reference["joints"]}
    by_name = chain.forward_kinematics_tensor(q)
    by_column = chain.forward_kinematics_tensor(torch.tensor(reference["qpos"], dtype=torch.float64))
    for k, expected in enumerate(reference["poses"]):
        for link, matrix in expected.items():
            assert by_name[frames[link], k].flatten().numpy() == pytest.approx(np.ravel(matrix), abs=1e-9), link
            assert by_column[frames[link], k].flatten().numpy() == pytest.approx(np.ravel(matrix), abs=1e-9), link


@each_robot
def test_the_sites_stand_where_the_reference_puts_them(entry: corpus.Entry) -> None:
    chain, reference = load(entry)
    for k, expected in enumerate(reference.get("sites", ())):
        poses = chain.forward_kinematics(reference["q"][k])
        for site, matrix in expected.items():
            frame = f"#site:{site}" if site in reference["links"] else site
            assert poses[frame].get_matrix()[0].flatten().numpy() == pytest.approx(np.ravel(matrix), abs=1e-9), site


@each_robot
def test_the_jacobians_are_those_of_the_reference(entry: corpus.Entry) -> None:
    chain, reference = load(entry)
    names = chain.get_joint_names()
    for case in reference.get("jacobians", ()):
        q = torch.tensor(reference["qpos"][case["q_index"]], dtype=torch.float64)
        found = chain.jacobian(q, case["tip"])[0].numpy()
        columns = [names.index(joint) for joint in case["joints"]]
        assert found[:, columns] == pytest.approx(np.array(case["J"]), abs=1e-8)
        assert not np.delete(found, columns, axis=1).any()


@each_robot
def test_float32_stays_within_2e_5_of_a_metre(entry: corpus.Entry) -> None:
    chain, reference = load(entry)
    poses = chain.to(torch.float32).forward_kinematics_tensor(torch.tensor(reference["qpos"], dtype=torch.float32))
    scale = max(1.0, *(abs(x) for expected in reference["poses"] for T in expected.values() for x in np.ravel(T)))
    for k, expected in enumerate(reference["poses"]):
        for link, matrix in expected.items():
            got = poses[chain.frame_to_idx[link], k].flatten().numpy()
            assert got == pytest.approx(np.ravel(matrix), abs=2e-5 * scale, rel=0), link
