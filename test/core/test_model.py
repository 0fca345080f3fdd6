"""The robot as data: lookups, walks and the errors they raise."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from pk_core.errors import ParseError, PkError, UnknownJoint, UnknownLink
from pk_core.model import COORDINATE_SUFFIXES, Axis, Joint, JointType, Link, Mimic, Robot


def joint(name: str, parent: str, child: str, kind: JointType = JointType.REVOLUTE, *axes: Axis) -> Joint:
    return Joint(name, kind, parent, child, axes=axes or (Axis(),))


@pytest.fixture
def robot() -> Robot:
    """A trunk with two arms, the joints of the arms interleaved, and children before their parents."""
    joints = (joint("l2", "l1", "l2"), joint("r1", "trunk", "r1"), joint("l1", "trunk", "l1"), joint("r2", "r1", "r2"))
    return Robot("r", tuple(map(Link, ("l2", "r1", "l1", "trunk", "r2"))), joints, "trunk")


def test_walk_goes_depth_first_with_children_in_the_order_of_the_description(robot: Robot) -> None:
    assert [link.name for link, _ in robot.walk()] == ["trunk", "r1", "r2", "l1", "l2"]
    assert [above and above.child for _, above in robot.walk()] == [None, "r1", "r2", "l1", "l2"]


def test_links_and_joints_are_found_by_name_and_by_each_other(robot: Robot) -> None:
    assert robot.link("l1").name == "l1"
    assert robot.joint("l2").parent == "l1"
    assert robot.parent_joint("l2") is robot.joint("l2")
    assert robot.parent_joint("trunk") is None
    assert [below.name for below in robot.child_joints("trunk")] == ["r1", "l1"]
    assert robot.child_joints("r2") == ()


def test_an_unknown_name_is_an_error_that_lists_close_or_valid_names(robot: Robot) -> None:
    with pytest.raises(UnknownLink, match=r"unknown link 'trunc'; did you mean \['trunk'\]"):
        robot.link("trunc")
    with pytest.raises(UnknownJoint, match=r"unknown joint 'elbow'; valid: \['l2', 'r1', 'l1', 'r2'\]"):
        robot.joint("elbow")
    with pytest.raises(UnknownLink):
        robot.child_joints("nowhere")
    with pytest.raises(KeyError):
        robot.parent_joint("nowhere")


def test_a_robot_says_what_it_is(robot: Robot) -> None:
    assert repr(robot) == "Robot('r', root='trunk', 5 links, 4 moving of 4 joints)"


def test_nothing_of_a_robot_can_be_changed(robot: Robot) -> None:
    with pytest.raises(FrozenInstanceError):
        robot.root = "l1"  # type: ignore[misc]
    with pytest.raises(FrozenInstanceError):
        robot.joint("l1").name = "x"  # type: ignore[misc]


def test_lines_do_not_count_when_robots_are_compared(robot: Robot) -> None:
    assert Link("a", line=1) == Link("a", line=2)
    assert Joint("j", JointType.FIXED, "a", "b", line=1) == Joint("j", JointType.FIXED, "a", "b", line=2)


@pytest.mark.parametrize(
    ("kind", "nq", "nv"),
    [("fixed", 0, 0), ("revolute", 1, 1), ("universal", 2, 2), ("planar", 3, 3), ("ball", 4, 3), ("floating", 7, 6)],
)
def test_a_joint_counts_its_coordinates_and_velocities(kind: str, nq: int, nv: int) -> None:
    joint = Joint("j", JointType(kind), "a", "b")
    assert (joint.nq, joint.nv) == (nq, nv)


def test_every_joint_type_names_its_coordinates() -> None:
    assert set(COORDINATE_SUFFIXES) == set(JointType)


def test_a_joint_shows_its_first_axis() -> None:
    axis = Axis((0.0, 1.0, 0.0), -1.0, 2.0, velocity=3.0, effort=4.0, mimic=Mimic("k"))
    shown = joint("j", "a", "b", JointType.REVOLUTE, axis)
    assert (shown.axis, shown.limits, shown.mimic) == ((0.0, 1.0, 0.0), (-1.0, 2.0), Mimic("k"))
    assert (shown.velocity_limits, shown.effort_limits) == ((-3.0, 3.0), (-4.0, 4.0))
    fixed = Joint("f", JointType.FIXED, "a", "b")
    assert (fixed.axis, fixed.limits, fixed.mimic, fixed.velocity_limits, fixed.effort_limits) == (None,) * 5


def test_a_parse_error_says_file_line_and_element_and_is_a_value_error() -> None:
    error = ParseError("no", line=3, element="link", source="a.urdf")
    assert str(error) == "a.urdf, line 3, <link>: no"
    assert str(ParseError("no")) == "no"
    assert isinstance(error, PkError) and isinstance(error, ValueError)
