"""A calibrated robot in its URDF: read again, by us and by others, it stands where the calibration puts it."""

from __future__ import annotations

import math
import re

import pytest
import torch
from measuring import perturbed, seen, tips
from robots import chain, panda, text

import pk_core as pk
from pk_core import Chain

NUMBERS = re.compile(r' (xyz|rpy|multiplier|offset)="[^"]*"')
FINGERS = """
<robot name="fingers">
  <link name="palm"/><link name="a"/><link name="b"/><link name="c"/><link name="tip"/>
  <joint name="lead" type="revolute"><parent link="palm"/><child link="a"/><origin xyz="0.1 0 0" rpy="0.2 0 0"/>
    <axis xyz="0 1 1"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <joint name="slide" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
    <limit lower="-2" upper="2" effort="1" velocity="1"/><mimic joint="lead" multiplier="0.5" offset="0.1"/></joint>
  <joint name="last" type="continuous"><parent link="b"/><child link="c"/><origin xyz="0 0.3 0"/>
    <mimic multiplier="-2" joint="slide"/></joint>
  <joint name="mount" type="fixed"><parent link="c"/><child link="tip"/><origin xyz="0 0 0.2" rpy="0 0.5 0"/></joint>
</robot>
"""


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(1)


def test_a_calibrated_panda_reads_back_and_only_its_numbers_differ(generator):
    robot, urdf = chain("panda"), text("panda")
    true = perturbed(robot, generator)
    q = robot.random(100, generator)
    measured = seen(tips(true, q, "panda_hand_tcp"), generator)
    result = pk.calibrate(robot, q, measured, "panda_hand_tcp", origins="all", offsets=["panda_joint3"])
    corrected = result.corrected_urdf(urdf)
    again = pk.build_chain_from_urdf(corrected, dtype=torch.float64)
    torch.testing.assert_close(
        again.forward_kinematics_tensor(q), result.chain.forward_kinematics_tensor(q), rtol=0, atol=1e-12
    )

    def bare(lines: str) -> list[str]:
        return [NUMBERS.sub("", line) for line in lines.splitlines()]

    assert bare(corrected) == bare(urdf)
    changed = [i for i, (a, b) in enumerate(zip(urdf.splitlines(), corrected.splitlines())) if a != b]
    in_joints = [line for i, line in enumerate(urdf.splitlines()) if i in changed]
    assert len(changed) == 10 and all(line.startswith("    <origin ") for line in in_joints)
    assert result.corrected_urdf(urdf.encode()) == corrected.encode()


def test_pinocchio_puts_the_corrected_robot_where_it_was_measured(generator):
    pinocchio = pytest.importorskip("pinocchio")
    arm = panda()
    true = perturbed(arm, generator)
    q = arm.random(200, generator)
    measured = seen(tips(true, q, "panda_hand_tcp"), generator)
    corrected = pk.calibrate(arm, q, measured, origins="all").corrected_urdf(text("panda"))
    model = pinocchio.buildModelFromXML(corrected)
    data = model.createData()
    for fresh in arm.random(20, generator):
        wanted = tips(true, fresh, "panda_hand_tcp")[0]
        configuration = torch.cat([fresh, torch.zeros(model.nq - 7, dtype=torch.float64)]).numpy()
        pinocchio.framesForwardKinematics(model, data, configuration)
        found = data.oMf[model.getFrameId("panda_hand_tcp")].homogeneous
        assert math.dist(found[:3, 3], wanted[:3, 3]) < 0.1e-3


@pytest.mark.parametrize(
    "parameters",
    [
        dict(offsets={"lead": 0.3}),
        dict(offsets={"slide": 0.05}),
        dict(offsets={"lead": 0.3, "slide": -0.1, "last": 0.2}),
        dict(
            offsets={"lead": -0.2}, mimic={"slide": (0.6, 0.07), "last": (-2.2, -0.1)}, axes={"lead": [0.1, 1.0, 0.8]}
        ),
        dict(axes={"last": [1.0, 0.1, 0.0], "slide": [0.1, 0.0, 1.0]}, offsets={"last": 0.1}),
    ],
)
def test_offsets_axes_and_ratios_of_joints_that_follow_each_other_read_back(parameters):
    robot = pk.build_chain_from_urdf(FINGERS, dtype=torch.float64)
    true = robot.with_parameters(**parameters)
    q = robot.random(30)
    wanted = true.forward_kinematics_tensor(q)
    chosen = {kind: list(values) for kind, values in parameters.items()}
    result = pk.calibrate(robot, q, wanted[-1], "tip", **chosen)
    torch.testing.assert_close(tips(result.chain, q, "tip"), wanted[-1], rtol=0, atol=1e-10)
    again = pk.build_chain_from_urdf(result.corrected_urdf(FINGERS), dtype=torch.float64)
    torch.testing.assert_close(
        again.forward_kinematics_tensor(q), result.chain.forward_kinematics_tensor(q), rtol=0, atol=1e-11
    )


def test_a_calibration_that_finds_the_robot_as_it_is_changes_no_byte():
    robot = pk.build_chain_from_urdf(FINGERS, dtype=torch.float64)
    q = robot.random(30)
    everything = dict(origins="all", axes="all", offsets="all", mimic="all", base=True, tool=True)
    result = pk.calibrate(robot, q, tips(robot, q, "tip"), "tip", **everything)
    assert result.corrected_urdf(FINGERS) == FINGERS


def test_base_and_tool_stay_out_of_the_file(generator):
    robot = pk.build_chain_from_urdf(FINGERS, dtype=torch.float64)
    base = pk.se3_exp_map(torch.tensor([1, 2, 3, 0.1, 0.2, 0.3], dtype=torch.float64))
    q = robot.random(30)
    result = pk.calibrate(robot, q, base @ tips(robot, q, "tip"), "tip", base=True)
    torch.testing.assert_close(result.base, base, rtol=0, atol=1e-9)
    torch.testing.assert_close(tips(result.chain, q, "tip"), base @ tips(robot, q, "tip"), rtol=0, atol=1e-9)
    assert result.corrected_urdf(FINGERS) == FINGERS


def test_the_urdf_of_another_robot_is_refused():
    robot = chain("ur5e")
    q = robot.random(5)
    result = pk.calibrate(robot, q, tips(robot, q, "tool0"), "tool0", origins=["elbow_joint"])
    with pytest.raises(pk.UnknownJoint, match="unknown joint 'elbow_joint' in the URDF"):
        result.corrected_urdf(text("panda"))
    assert isinstance(result.chain, Chain)
