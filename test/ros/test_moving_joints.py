"""The swinging robot of the demo."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: no ROS here")

from oracle import PANDA, UR5E

from pk_core import parse_urdf
from pk_ros.moving_joints import swing, swinging_joints


@pytest.mark.parametrize("path", [PANDA, UR5E], ids=["panda", "ur5e"])
def test_every_joint_swings_inside_its_limits(path: object) -> None:
    joints = swinging_joints(parse_urdf(path.read_text()))
    assert all(joint.mimic is None for joint in joints)
    history = [swing(joints, 0.1 * step)[0] for step in range(100)]
    for joint, values in zip(joints, zip(*history)):
        lower, upper = joint.limits
        assert lower < min(values) < max(values) < upper
        assert max(values) - min(values) > 0.7 * (upper - lower)


def test_velocities_are_the_slope_of_the_positions() -> None:
    joints = swinging_joints(parse_urdf(PANDA.read_text()))
    (before, _), (_, velocity), (after, _) = (swing(joints, 3.0 + step) for step in (-1e-5, 0.0, 1e-5))
    assert [(b - a) / 2e-5 for a, b in zip(before, after)] == pytest.approx(velocity, abs=1e-6)


def test_joints_without_limits_swing_too() -> None:
    robot = parse_urdf("""<robot name="r"><link name="a"/><link name="b"/><link name="c"/>
        <joint name="turn" type="continuous"><parent link="a"/><child link="b"/></joint>
        <joint name="slide" type="prismatic"><parent link="b"/><child link="c"/>
            <limit effort="1" velocity="1" lower="-0.1" upper="0.1"/></joint></robot>""")
    positions, _ = swing(swinging_joints(robot), 1.0)
    assert len(positions) == 2
    assert abs(positions[0]) < 3.2
    assert abs(positions[1]) < 0.1
