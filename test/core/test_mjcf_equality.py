"""Constraints between joints of MJCF are soft; folded, they hold as MuJoCo means them."""

from __future__ import annotations

import math

import mujoco
import numpy as np
import pytest
import torch
from mujoco_oracle import GEOM, assert_same_poses, world

import pk_core as pk
from pk_core.model import JointType, Mimic, Robot
from pk_core.parsers import parse_mjcf


def folded(content: str, equalities: str, **options: dict) -> Robot:
    return parse_mjcf(world(content, f"<equality>{equalities}</equality>"), fold_equalities=True, **options)


TWO = (
    f'<body name="a"><joint name="j" ref="30" range="-90 90"/>{GEOM}</body>'
    f'<body name="b"><joint name="k" type="slide" ref="0.5"/>{GEOM}</body>'
)


def test_constraints_between_joints_are_soft_unless_they_are_folded() -> None:
    text = world(TWO, '<equality><joint joint1="j" joint2="k" polycoef="0.1 2"/></equality>')
    assert parse_mjcf(text).joint("j").mimic is None
    chain = pk.build_chain_from_mjcf(text, fold_equalities=True, dtype=torch.float64)
    assert chain.get_joint_names() == ["k"]
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    for k in (-1.0, 0.5, 2.0):  # the residual of the constraint, as MuJoCo computes it, is zero
        j = chain.robot.joint("j").mimic
        data.qpos[:] = [j.multiplier * k + j.offset, k]
        mujoco.mj_forward(model, data)
        assert abs(data.efc_pos[0]) < 1e-12
        assert_same_poses(model, data, chain, np.array([k]), 1e-9)


def test_a_missing_coefficient_is_that_of_equality() -> None:
    robot = folded(TWO, '<joint joint1="j" joint2="k"/>')
    assert robot.joint("j").mimic == Mimic("k", 1.0, pytest.approx(math.radians(30) - 0.5))
    assert folded(TWO, '<joint joint1="k" joint2="j" polycoef="0 -3"/>').joint("k").mimic.multiplier == -3.0


def test_a_joint_held_at_a_value_becomes_fixed() -> None:
    robot = folded(TWO, '<joint joint1="j" polycoef="0.25"/><joint joint1="k" polycoef="0.75"/>')
    assert {joint.type for joint in robot.joints} == {JointType.FIXED}
    model = mujoco.MjModel.from_xml_string(world(TWO))
    data = mujoco.MjData(model)
    data.qpos[:] = [math.radians(30) + 0.25, 0.5 + 0.75]
    mujoco.mj_kinematics(model, data)
    assert robot.joint("j").origin.rotation[0] == pytest.approx(data.xmat[1][:3])
    assert robot.joint("k").origin.xyz == pytest.approx(data.xpos[2])


@pytest.mark.parametrize(
    ("equalities", "reason"),
    [
        ('<joint joint1="j" joint2="k" active="false"/>', ""),
        ('<joint joint1="j" joint2="k" class="off"/>', ""),
        ('<joint joint1="j" joint2="k" polycoef="0 1 0.5"/>', "not linear"),
        ('<connect body1="a" body2="b" anchor="0 0 0"/>', ""),
    ],
)
def test_what_is_not_linear_or_not_active_is_left_out(
    equalities: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    classes = '<default><default class="off"><equality active="false"/></default></default>'
    text = world(TWO, f"{classes}<equality>{equalities}</equality>")
    assert parse_mjcf(text, fold_equalities=True) == parse_mjcf(text)
    assert reason in caplog.text and bool(reason) == bool(caplog.text)


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        ('<joint joint1="j" joint2="k" polycoef="0 3"/>', "bound by another"),
        ('<joint joint1="k" joint2="j"/>', "follow itself"),
        ('<joint joint1="k"/>', "leads others"),
        ('<joint joint1="k" joint2="k"/>', "follow itself"),
    ],
)
def test_a_constraint_that_contradicts_one_before_is_left_out(
    second: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    robot = folded(TWO, f'<joint joint1="j" joint2="k" polycoef="0 2"/>{second}')
    assert robot.joint("j").mimic.multiplier == 2.0 and robot.joint("k").mimic is None
    assert reason in caplog.text


def test_a_joint_that_is_held_leads_none(caplog: pytest.LogCaptureFixture) -> None:
    robot = folded(TWO, '<joint joint1="k"/><joint joint1="j" joint2="k"/>')
    assert robot.joint("j").mimic is None and "held" in caplog.text


def test_constraints_are_copied_with_their_joints() -> None:
    kid = world(TWO, '<equality><joint joint1="j" joint2="k"/></equality>').encode()
    content = (
        '<body name="o"><joint name="o"/></body>'
        '<replicate count="2"><body><joint name="a"/><body><joint name="b"/></body></body></replicate>'
        '<attach model="m" prefix="x_"/><attach model="m" prefix="y_"/>'
    )
    asset = '<asset><model name="m" file="kid.xml"/></asset>'
    equality = '<equality><joint joint1="a" joint2="b"/><joint joint1="o" joint2="a"/></equality>'
    robot = parse_mjcf(world(content, asset + equality), assets={"kid.xml": kid}, fold_equalities=True)
    mimics = {joint.name: joint.mimic.joint for joint in robot.joints if joint.mimic}
    assert mimics == {"a0": "b0", "a1": "b1", "x_j": "x_k", "y_j": "y_k"}


@pytest.mark.parametrize(
    ("equality", "words"),
    [
        ('<joint joint2="k"/>', "joint1"),
        ('<joint joint1="jj" joint2="k"/>', "'jj'.*'j'"),
        ('<joint joint1="j" joint2="f"/>', "floating"),
        ('<joint joint1="j" joint2="k" polycoef="1 2 3 4 5 6"/>', "polycoef"),
        ('<joint joint1="j" joint2="k" active="no"/>', "active"),
    ],
)
def test_a_wrong_constraint_is_refused_only_when_it_is_folded(equality: str, words: str) -> None:
    content = TWO + '<body><freejoint name="f"/></body>'
    text = world(content, f"<equality>\n{equality}</equality>")
    assert parse_mjcf(text)
    with pytest.raises(pk.ParseError, match=f"(?s)line 2.*{words}"):
        parse_mjcf(text, fold_equalities=True)
