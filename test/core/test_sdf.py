"""Joints, axes, limits and poses of SDF, each in a robot of its own."""

from __future__ import annotations

import logging
import math
from dataclasses import replace

import pytest
from sdf_samples import model, turned, two_links, where

from pk_core import Chain, SerialChain
from pk_core.model import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Inertial,
    JointType,
    Mesh,
    Mimic,
    Plane,
    Robot,
    Sphere,
    UnknownGeometry,
)
from pk_core.parsers import parse_sdf, parse_urdf
from pk_core.pose import IDENTITY, Pose

Z_AXIS = "<axis><xyz>0 0 1</xyz></axis>"


@pytest.mark.parametrize(
    "pose",
    [
        "<pose>1 2 3 0.1 0.2 0.3</pose>",
        "<pose>\n\t1 2 3\n0.1 2e-1 +.3 </pose>",
        f'<pose degrees="true">1 2 3 {math.degrees(0.1)} {math.degrees(0.2)} {math.degrees(0.3)}</pose>',
        '<pose rotation_format="euler_rpy" degrees="0">1 2 3 0.1 0.2 0.3</pose>',
    ],
)
def test_roll_turns_first_and_yaw_last(pose: str) -> None:
    found = where(model(f'<link name="a">{pose}</link>'), "a")
    x = Pose.from_xyz_rpy((0.0, 0.0, 0.0), (0.1, 0.0, 0.0))
    y = Pose.from_xyz_rpy((0.0, 0.0, 0.0), (0.0, 0.2, 0.0))
    z = Pose.from_xyz_rpy((0.0, 0.0, 0.0), (0.0, 0.0, 0.3))
    assert found.is_close(Pose((1.0, 2.0, 3.0)) @ z @ y @ x)


def test_a_quaternion_has_its_real_part_last_and_any_length() -> None:
    text = model('<link name="a"><pose rotation_format="quat_xyzw">1 2 3 0 0 3 3</pose></link>')
    assert where(text, "a").is_close(turned(1, 2, 3, yaw=90))


@pytest.mark.parametrize("pose", ["", "<pose/>", "<pose> </pose>", '<pose rotation_format="quat_xyzw"/>'])
def test_no_pose_and_an_empty_one_are_the_identity(pose: str) -> None:
    assert parse_sdf(model(f'<link name="a">{pose}</link>')).joints[0].origin == IDENTITY


# The model is turned 90 degrees about z, link b about x in it, the joint -90 about y in b.
TURNED = """<pose>0 0 0 0 0 1.5707963267948966</pose><link name="a"/>
<link name="b"><pose>0 0 0 1.5707963267948966 0 0</pose></link>
<joint name="j" type="revolute"><parent>a</parent><child>b</child><pose>0 0 0 0 -1.5707963267948966 0</pose>
<axis>{}</axis></joint>"""
IN_MODEL, IN_JOINT, IN_CHILD = (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)  # where their x points in the world


@pytest.mark.parametrize(
    ("version", "axis", "expected"),
    [
        ("1.2", "<xyz>1 0 0</xyz>", IN_MODEL),
        ("1.4", "<xyz>1 0 0</xyz>", IN_MODEL),
        ("1.5", "<xyz>1 0 0</xyz>", IN_JOINT),
        ("1.6", "<xyz>1 0 0</xyz><use_parent_model_frame>0</use_parent_model_frame>", IN_JOINT),
        ("1.5", "<xyz>1 0 0</xyz><use_parent_model_frame>1</use_parent_model_frame>", IN_MODEL),
        ("1.6", "<xyz>1 0 0</xyz><use_parent_model_frame>True</use_parent_model_frame>", IN_MODEL),
        ("1.7", "<xyz>1 0 0</xyz>", IN_JOINT),
        ("1.10", "<xyz>1 0 0</xyz>", IN_JOINT),
        ("1.11", '<xyz expressed_in="__model__">1 0 0</xyz>', IN_MODEL),
        ("1.7", '<xyz expressed_in="b">1 0 0</xyz>', IN_CHILD),
        ("1.7", '<xyz expressed_in="j">1 0 0</xyz>', IN_JOINT),
        ("1.7", '<xyz expressed_in="">1 0 0</xyz>', IN_JOINT),
    ],
)
def test_the_frame_of_an_axis_depends_on_the_version(version: str, axis: str, expected: tuple[float, ...]) -> None:
    robot = parse_sdf(model(TURNED.format(axis), version))
    joint = robot.joint("j")
    axis_in_b = joint.child_offset.inverse().rotate(joint.axis)
    assert where(robot, "b").rotate(axis_in_b) == pytest.approx(expected, abs=1e-12)


def test_since_1_7_the_flag_of_1_5_is_ignored_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    axis = "<xyz>1 0 0</xyz><use_parent_model_frame>1</use_parent_model_frame>"
    robot = parse_sdf(model(TURNED.format(axis), "1.7"))
    assert robot.joint("j").axis == (1.0, 0.0, 0.0)
    assert "use_parent_model_frame" in caplog.text


@pytest.mark.parametrize("axis", ["<xyz>0 0 5</xyz>", "<xyz>0 0 1e-200</xyz>", "<xyz>0 0 1e300</xyz>", "<xyz/>", ""])
def test_an_axis_has_length_one_and_is_z_by_default(axis: str) -> None:
    assert parse_sdf(two_links(f"<axis>{axis}</axis>")).joint("j").axis == (0.0, 0.0, 1.0)


def test_a_joint_stands_in_its_child_and_moves_in_its_own_frame() -> None:
    text = two_links("<axis><xyz>0 0 1</xyz></axis>", pose="<pose>1 0 0 0 0 0</pose>")
    assert where(text, "b", {"j": math.pi / 2}).is_close(turned(1, -1, 1, yaw=90))


def test_a_prismatic_joint_slides_along_an_axis_that_another_frame_gives() -> None:
    text = two_links(
        '<axis><xyz expressed_in="a">3 0 4</xyz></axis>', kind="prismatic", pose="<pose>0 0 0 0 0 1</pose>"
    )
    assert where(text, "b", {"j": 5.0}).is_close(Pose((3.0, 0.0, 5.0)))


def test_a_universal_joint_turns_about_its_first_axis_then_about_the_second_that_the_first_moved() -> None:
    axes = "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>"
    for kind in ("universal", "revolute2"):
        found = where(two_links(axes, kind=kind), "b", {"j": [0.3, 0.4]})
        first, second = (Pose.from_xyz_rpy((0.0, 0.0, 0.0), rpy) for rpy in ((0.3, 0, 0), (0, 0.4, 0)))
        assert found.is_close(Pose((0.0, 0.0, 1.0)) @ first @ second)


def test_the_second_axis_of_an_old_universal_joint_is_in_the_model_frame_too() -> None:
    text = two_links(
        "<axis><xyz>1 0 0</xyz></axis><axis2><xyz>0 1 0</xyz></axis2>", "1.4", "universal", "<pose>0 0 0 0 0 1.5</pose>"
    )
    first, second = (Pose(rotation=turned(yaw=math.degrees(-1.5)).rotation).rotate(v) for v in ((1, 0, 0), (0, 1, 0)))
    axes = parse_sdf(text).joint("j").axes
    assert (axes[0].direction, axes[1].direction) == (pytest.approx(first), pytest.approx(second))


def test_a_ball_joint_turns_in_the_joint_frame() -> None:
    text = two_links("", kind="ball", pose="<pose>0 0 1 0 0 1.5707963267948966</pose>")
    half = math.sqrt(0.5)
    # 90 degrees about x of the joint, which is y of b, about the point one metre above b.
    assert where(text, "b", {"j": [half, half, 0, 0]}).is_close(turned(-1, 0, 2, pitch=90))
    assert Chain(parse_sdf(text)).get_joint_parameter_names() == ["j/qw", "j/qx", "j/qy", "j/qz"]


@pytest.mark.parametrize(
    "thread",
    [
        "<screw_thread_pitch>0.5</screw_thread_pitch>",
        f"<thread_pitch>{-2 * math.pi / 0.5}</thread_pitch>",
        "<screw_thread_pitch>0.5</screw_thread_pitch><thread_pitch>7</thread_pitch>",
    ],
)
def test_a_screw_moves_its_pitch_along_the_axis_a_turn(thread: str) -> None:
    found = where(two_links(f"{Z_AXIS}{thread}", kind="screw"), "b", {"j": math.pi / 2})
    assert found.is_close(turned(0, 0, 1.125, yaw=90))


def test_joint_types_may_be_written_in_capitals_as_libsdformat_takes_them() -> None:
    assert parse_sdf(two_links("", kind="Fixed")).joint("j").type is JointType.FIXED


@pytest.mark.parametrize(
    ("kind", "limit", "expected"),
    [
        ("revolute", "", (-math.inf, math.inf)),
        ("revolute", "<limit/>", (-math.inf, math.inf)),
        ("revolute", "<limit><lower>-1e16</lower><upper>1e+16</upper></limit>", (-math.inf, math.inf)),
        ("revolute", "<limit><lower>-inf</lower><upper>1.79769e+308</upper></limit>", (-math.inf, math.inf)),
        ("prismatic", "<limit><lower>-0.5</lower></limit>", (-0.5, math.inf)),
        ("screw", "<limit><upper>2</upper><lower>1</lower></limit>", (1.0, 2.0)),
        ("revolute", "<limit><lower>0</lower><upper>0</upper></limit>", (0.0, 0.0)),
        ("continuous", "<limit><lower>-1</lower><upper>1</upper></limit>", (-math.inf, math.inf)),
    ],
)
def test_there_are_the_limits_of_the_file_and_no_others(kind: str, limit: str, expected: tuple[float, float]) -> None:
    joint = parse_sdf(two_links(f"<axis>{limit}</axis><screw_thread_pitch>1</screw_thread_pitch>", kind=kind)).joint(
        "j"
    )
    assert joint.limits == expected


@pytest.mark.parametrize(("written", "largest"), [("", math.inf), ("-1", math.inf), ("inf", math.inf), ("2.5", 2.5)])
def test_negative_velocity_and_effort_mean_none(written: str, largest: float) -> None:
    limit = f"<limit><effort>{written}</effort><velocity>{written}</velocity></limit>"
    axis = parse_sdf(two_links(f"<axis>{limit}</axis>")).joint("j").axes[0]
    assert (axis.effort, axis.velocity) == (largest, largest)


def test_a_follower_counts_from_the_reference_of_its_leader() -> None:
    mimic = '<mimic joint="k"><multiplier>-2</multiplier><offset>0.5</offset><reference>0.25</reference></mimic>'
    text = two_links(f"<axis>{mimic}</axis>", "1.11").replace(
        "</model>",
        f'<link name="c"/><joint name="k" type="revolute"><parent>b</parent><child>c</child>{Z_AXIS}</joint></model>',
    )
    chain = Chain(parse_sdf(text))
    assert chain.get_joint_names() == ["k"]
    assert where(text, "b", {"k": 0.5}).is_close(turned(0, 0, 1, yaw=math.degrees(-2 * 0.25 + 0.5)))


LEADER = '<mimic joint="{}" axis="{}"><multiplier>3</multiplier></mimic>'
UNIVERSAL = """<link name="a"/><link name="b"/><link name="c"/>
<joint name="u" type="universal"><parent>a</parent><child>b</child>
<axis><xyz>1 0 0</xyz>{}</axis><axis2><xyz>0 1 0</xyz>{}</axis2></joint>
<joint name="k" type="revolute"><parent>b</parent><child>c</child><axis><xyz>0 0 1</xyz>{}</axis></joint>"""


@pytest.mark.parametrize(
    ("first", "second", "third", "coordinates", "angles"),
    [
        ("", "", "", ["u/0", "u/1", "k"], (0.1, 0.2, 0.3)),
        ("", "", LEADER.format("u", "axis2"), ["u/0", "u/1"], (0.1, 0.2, 0.6)),
        ("", "", LEADER.format("u", ""), ["u/0", "u/1"], (0.1, 0.2, 0.3)),
        (LEADER.format("k", "axis"), LEADER.format("k", "axis"), "", ["k"], (0.3, 0.3, 0.1)),
        (LEADER.format("k", "axis"), "", "", ["u/1", "k"], (0.6, 0.1, 0.2)),
        ("", LEADER.format("k", "axis"), "", ["u/0", "k"], (0.1, 0.6, 0.2)),
        ("", LEADER.format("u", "axis"), "", ["u/0", "k"], (0.1, 0.3, 0.2)),
        ("", LEADER.format("u", "axis"), LEADER.format("u", "axis2"), ["u/0"], (0.1, 0.3, 0.9)),
        (LEADER.format("k", ""), LEADER.format("u", "axis"), "", ["k"], (0.3, 0.9, 0.1)),
    ],
)
def test_each_axis_of_a_universal_joint_may_lead_or_follow(
    first: str, second: str, third: str, coordinates: list[str], angles: tuple[float, float, float]
) -> None:
    robot = parse_sdf(model(UNIVERSAL.format(first, second, third), "1.11"))
    chain = Chain(robot)
    assert chain.get_joint_parameter_names() == coordinates
    assert chain.get_link_names() == ["a", "b", "c"]
    rpy = [(angles[0], 0, 0), (0, angles[1], 0), (0, 0, angles[2])]
    x, y, z = (Pose.from_xyz_rpy((0.0, 0.0, 0.0), each) for each in rpy)
    values = {"u": [0.1, 0.2], "k": 0.3} if len(coordinates) == 3 else {}
    if coordinates == ["u/0", "u/1"]:
        values = {"u": [0.1, 0.2]}
    values = values or {name: 0.1 * (i + 1) for i, name in enumerate(coordinates)}
    assert where(robot, "c", values).is_close(x @ y @ z)


def test_a_joint_to_the_world_is_turned_round_with_what_is_above_it() -> None:
    text = model(
        f"""<link name="hand"/><link name="arm"><pose>0 0 1 0 0 0</pose></link>
        <link name="base"><pose>0 0 2 0 0 0</pose></link>
        <joint name="wrist" type="revolute"><parent>hand</parent><child>arm</child>{Z_AXIS}</joint>
        <joint name="rail" type="prismatic"><parent>arm</parent><child>base</child><axis><xyz>1 0 0</xyz></axis></joint>
        <joint name="foot" type="fixed"><parent>base</parent><child>world</child></joint>""",
        "1.10",
    )
    robot = parse_sdf(text)
    assert [(joint.parent, joint.child) for joint in robot.joints] == [
        ("arm", "hand"),
        ("base", "arm"),
        ("world", "base"),
    ]
    # base stands; arm moves from it by the inverse of rail, hand from arm by the inverse of wrist.
    assert where(robot, "base", {"rail": 0.5}).is_close(Pose((0.0, 0.0, 2.0)))
    assert where(robot, "arm", {"rail": 0.5}).is_close(Pose((-0.5, 0.0, 1.0)))
    assert where(robot, "hand", {"rail": 0.5, "wrist": math.pi / 2}).is_close(turned(-0.5, 0, 0, yaw=-90))


def test_of_two_joints_that_share_a_child_the_second_is_turned_round() -> None:
    text = model(
        f"""<link name="a"/><link name="b"><pose>0 0 1 0 0 0</pose></link><link name="c"><pose>1 0 1 0 0 0</pose></link>
        <joint name="j" type="revolute"><parent>a</parent><child>b</child>{Z_AXIS}</joint>
        <joint name="k" type="revolute"><parent>c</parent><child>b</child>{Z_AXIS}</joint>"""
    )
    robot = parse_sdf(text)
    assert [(joint.parent, joint.child) for joint in robot.joints] == [("a", "b"), ("b", "c"), ("world", "a")]
    assert Chain(robot).get_joint_names() == ["j", "k"]
    assert where(robot, "b", {"j": math.pi / 2, "k": math.pi / 2}).is_close(turned(0, 0, 1, yaw=90))
    # k turns about b's origin: first c stands at (0, 1, 1) with j, then k takes it back to where it was.
    assert where(robot, "c", {"j": math.pi / 2, "k": math.pi / 2}).is_close(turned(1, 0, 1))
    assert where(robot, "c", {"k": math.pi / 2}).is_close(turned(0, -1, 1, yaw=-90))


def test_a_fixed_joint_may_be_to_the_world_and_from_a_frame() -> None:
    text = model(
        '<pose>1 0 0 0 0 0</pose><link name="a"><pose>0 2 0 0 0 0</pose></link><frame name="f" attached_to="a"/>'
        '<joint name="j" type="fixed"><parent>world</parent><child>f</child></joint>'
    )
    robot = parse_sdf(text)
    assert [joint.name for joint in robot.joints] == ["j"]
    assert where(robot, "a").is_close(Pose((1.0, 2.0, 0.0)))


URDF = """<robot name="m"><link name="a"/><link name="b"/><link name="c"/><link name="d"/><link name="e"/>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>
<axis xyz="0 3 4"/><limit lower="-1" upper="2" velocity="3" effort="4"/></joint>
<joint name="k" type="continuous"><parent link="b"/><child link="c"/><origin xyz="0 0 1"/><axis xyz="0 0 1"/></joint>
<joint name="l" type="prismatic"><parent link="b"/><child link="d"/><axis xyz="1 0 0"/>
<mimic joint="j" multiplier="0.5" offset="0.1"/></joint>
<joint name="f" type="fixed"><parent link="d"/><child link="e"/><origin rpy="0 0 1"/></joint></robot>"""

SDF = """<sdf version="1.11"><model name="m"><link name="a"/>
<link name="b"><pose relative_to="a">1 2 3 0.1 0.2 0.3</pose></link>
<link name="c"><pose relative_to="k"/></link><link name="d"><pose relative_to="b"/></link>
<link name="e"><pose relative_to="d">0 0 0 0 0 1</pose></link>
<joint name="j" type="revolute"><parent>a</parent><child>b</child><axis><xyz>0 3 4</xyz>
<limit><lower>-1</lower><upper>2</upper><velocity>3</velocity><effort>4</effort></limit></axis></joint>
<joint name="k" type="continuous"><pose relative_to="b">0 0 1 0 0 0</pose>
<parent>b</parent><child>c</child><axis/></joint>
<joint name="l" type="prismatic"><parent>b</parent><child>d</child><axis><xyz>1 0 0</xyz>
<mimic joint="j"><multiplier>0.5</multiplier><offset>0.1</offset></mimic></axis></joint>
<joint name="f" type="fixed"><parent>d</parent><child>e</child></joint></model></sdf>"""


def below_world(robot: Robot) -> Robot:
    """Take the world away from a robot that hangs on it by one hidden joint."""
    links = tuple(link for link in robot.links if not link.hidden)
    joints = tuple(joint for joint in robot.joints if not joint.hidden)
    frames = tuple(frame for frame in robot.frames if frame.name != "world")
    return replace(robot, links=links, joints=joints, frames=frames, root=links[0].name)


def test_the_same_robot_in_urdf_and_sdf_is_the_same_robot() -> None:
    assert below_world(parse_sdf(SDF)) == parse_urdf(URDF)
    assert parse_sdf(SDF).joints[-1] == parse_sdf(SDF).joint("__world_a__")
    assert parse_sdf(SDF).joint("__world_a__").origin == IDENTITY


def test_the_values_of_sdf_1_0_stand_in_attributes() -> None:
    old = """<gazebo version="1.0"><model name="m" static="false"><origin pose="1 0 0 0 0 0"/>
    <link name="a"><visual name="v"><origin pose="0 0 1 0 0 0"/><geometry><box size="1 2 3"/></geometry></visual>
    <inertial mass="2"><inertia ixx="1" iyy="2" izz="3" ixy="0" ixz="0" iyz="0"/></inertial></link>
    <link name="b"><origin pose="0 0 1 0.5 0 0"/></link>
    <joint name="j" type="revolute"><parent link="a"/><child link="b"/><origin pose="0 1 0 0 0 0"/>
    <axis xyz="1 0 0"><limit lower="-1" upper="1" effort="3" velocity="4"/></axis></joint></model></gazebo>"""
    new = """<sdf version="1.4"><model name="m"><static>false</static><pose>1 0 0 0 0 0</pose>
    <link name="a"><visual name="v"><pose>0 0 1 0 0 0</pose><geometry><box><size>1 2 3</size></box></geometry></visual>
    <inertial><mass>2</mass><inertia><ixx>1</ixx><iyy>2</iyy><izz>3</izz></inertia></inertial></link>
    <link name="b"><pose>0 0 1 0.5 0 0</pose></link>
    <joint name="j" type="revolute"><parent>a</parent><child>b</child><pose>0 1 0 0 0 0</pose><axis><xyz>1 0 0</xyz>
    <limit><lower>-1</lower><upper>1</upper><effort>3</effort><velocity>4</velocity></limit></axis></joint></model></sdf>"""
    assert parse_sdf(old) == parse_sdf(new)
    assert parse_sdf(old).link("a").inertial == Inertial(2.0, (1.0, 0.0, 0.0, 2.0, 0.0, 3.0))


def test_shapes_ride_along_where_their_poses_put_them() -> None:
    text = model(
        """<frame name="f"><pose>1 0 0 0 0 0</pose></frame><link name="a"><pose>0 1 0 0 0 0</pose>
        <visual name="b"><pose relative_to="f">0 0 1 0 0 0</pose><geometry><box><size>1 2 3</size></box></geometry>
        <material><diffuse>1 0.5 0</diffuse></material></visual>
        <visual name="c"><geometry><cylinder><radius>1</radius><length>2</length></cylinder></geometry></visual>
        <visual name="d"><geometry><mesh><uri>model://x/y.dae</uri><scale>1 2 3</scale></mesh></geometry></visual>
        <visual name="e"><geometry><plane><normal>0 2 0</normal><size>3 4</size></plane></geometry></visual>
        <collision name="f"><geometry><capsule><radius>1</radius><length>2</length></capsule></geometry></collision>
        <collision name="g"><geometry><ellipsoid><radii>1 2 3</radii></ellipsoid></geometry></collision>
        <collision name="h"><geometry><sphere><radius>1</radius></sphere></geometry></collision>
        <collision name="i"><geometry><heightmap/></geometry></collision><collision name="j"/></link>"""
    )
    link = parse_sdf(text).link("a")
    assert [shape.geometry for shape in link.visuals] == [
        Box((1.0, 2.0, 3.0)),
        Cylinder(1.0, 2.0),
        Mesh("model://x/y.dae", (1.0, 2.0, 3.0)),
        Plane((0.0, 1.0, 0.0), (3.0, 4.0)),
    ]
    assert [shape.geometry for shape in link.collisions] == [
        Capsule(1.0, 2.0),
        Ellipsoid((1.0, 2.0, 3.0)),
        Sphere(1.0),
        UnknownGeometry("heightmap"),
        UnknownGeometry(""),
    ]
    assert link.visuals[0].origin.is_close(Pose((1.0, -1.0, 1.0)))
    assert (link.visuals[0].rgba, link.visuals[1].rgba) == ((1.0, 0.5, 0.0, 1.0), None)


def test_what_rides_along_and_can_not_be_read_is_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    text = model(
        '<link name="a"><inertial><mass>heavy</mass></inertial>'
        '<visual name="v"><pose relative_to="ghost"/><geometry><box><size>1 1 1</size></box></geometry></visual>'
        '<collision name="c"><geometry><sphere><radius>big</radius></sphere></geometry></collision></link>'
    )
    with caplog.at_level(logging.WARNING, logger="pk_core"):
        link = parse_sdf(text).link("a")
    assert link.inertial is None
    assert (link.visuals[0].geometry, link.collisions[0].geometry) == (
        UnknownGeometry("box"),
        UnknownGeometry("sphere"),
    )
    assert ["heavy" in caplog.text, "ghost" in caplog.text, "big" in caplog.text] == [True] * 3


def test_an_inertia_without_numbers_has_those_that_sdf_gives_it() -> None:
    text = model('<link name="a"><inertial><pose>0 0 1 0 0 0</pose></inertial></link>')
    inertial = parse_sdf(text).link("a").inertial
    assert inertial == Inertial(1.0, (1.0, 0.0, 0.0, 1.0, 0.0, 1.0), Pose((0.0, 0.0, 1.0)))


def test_the_world_is_a_frame_and_no_link() -> None:
    chain = Chain(parse_sdf(SDF))
    assert chain.get_link_names() == ["a", "b", "c", "d", "e"]
    assert chain.get_frame_names() == ["a", "b", "c", "d", "e", "world"]
    assert chain.find_link("world") is None
    assert [joint.name for joint in chain.get_joints(exclude_fixed=False)] == ["j", "k", "l", "f"]
    assert chain.print_tree(do_print=False).splitlines()[:2] == ["world", "└── a"]
    assert "__world" not in chain.print_tree(do_print=False, details=True)
    serial = SerialChain(chain, "d")
    assert (serial.root_frame, serial.get_joint_names()) == ("world", ["j"])
    assert SerialChain(chain, "world", "d").forward_kinematics([0.0]).get_matrix().shape == (1, 4, 4)


def test_a_tree_is_drawn_through_the_hidden_link_of_a_split_joint() -> None:
    robot = parse_sdf(model(UNIVERSAL.format(LEADER.format("k", ""), "", ""), "1.11"))
    chain = Chain(robot)
    assert chain.print_tree(do_print=False).splitlines() == ["world", "└── a", "    └── b", "        └── c"]
    assert [joint.name for joint in chain.get_joints(exclude_fixed=False)] == ["u/0", "u/1", "k"]
    assert robot.joint("k").mimic is None and robot.joint("u/0").mimic == Mimic("k", 3.0)
