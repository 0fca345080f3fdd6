"""Names and frames of SDF: what a reference means, where frames stand, which link they move with."""

from __future__ import annotations

import math

import pytest
from sdf_samples import model, turned, where

from pk_core import Chain
from pk_core.model import Robot
from pk_core.parsers import parse_sdf
from pk_core.pose import Pose


def frame_link(robot: Robot, name: str) -> str:
    return next(frame.link for frame in robot.frames if frame.name == name)


def test_a_chain_of_poses_is_multiplied_from_its_end() -> None:
    text = model(
        """<link name="c"><pose relative_to="b">1 0 0 0 0 0</pose></link>
        <link name="b"><pose relative_to="f">1 0 0 0 0 1.5707963267948966</pose></link>
        <frame name="f"><pose>0 0 1 0 0 1.5707963267948966</pose></frame>"""
    )
    assert where(text, "c").is_close(turned(-1, 1, 1, yaw=180))


def test_a_frame_stands_relative_to_what_it_is_attached_to() -> None:
    text = model(
        """<link name="a"/><link name="b"><pose>0 0 1 0 0 0</pose></link>
        <joint name="j" type="prismatic"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis></joint>
        <frame name="f" attached_to="b"><pose>1 0 0 0 0 0</pose></frame>
        <frame name="g" attached_to="j"><pose relative_to="a">1 0 0 0 0 0</pose></frame>
        <frame name="h" attached_to="g"/><frame name="i"/>"""
    )
    robot = parse_sdf(text)
    assert [frame_link(robot, name) for name in "fghi"] == ["b", "b", "b", "a"]
    assert [where(robot, name, {"j": 0.5}).xyz for name in "fghi"] == [
        pytest.approx(xyz) for xyz in ((1.0, 0.0, 1.5), (1.0, 0.0, 0.5), (1.0, 0.0, 0.5), (0.0, 0.0, 0.0))
    ]


def test_a_placement_frame_stands_where_the_pose_of_its_model_says() -> None:
    text = model(
        """<pose>1 2 3 0 0 1.5707963267948966</pose><link name="a"/><link name="b"><pose>5 0 0 0 0.5 0</pose></link>
        <model name="n" placement_frame="tip"><pose relative_to="b">0 0 1 0 0 0</pose>
        <link name="x"><pose>1 1 1 0.1 0.2 0.3</pose></link>
        <frame name="tip" attached_to="x"><pose>0.5 0 0 0 0 1</pose></frame></model>""",
        attributes='placement_frame="b"',
    )
    assert where(text, "b").is_close(turned(1, 2, 3, yaw=90))
    assert where(text, "n::tip").is_close(turned(1, 2, 3, yaw=90) @ Pose((0.0, 0.0, 1.0)))


def test_a_placement_frame_may_be_in_a_nested_model_that_has_one_too() -> None:
    text = model(
        """<pose>0 0 7 0 0 0</pose><link name="a"/>
        <model name="n" placement_frame="l"><pose>0 1 0 0 0 0</pose><link name="l"><pose>3 0 0 0 0 0</pose></link>
        <link name="k"/></model>""",
        attributes='placement_frame="n::k"',
    )
    assert where(text, "n::k").is_close(Pose((0.0, 0.0, 7.0)))
    assert where(text, "n::l").is_close(Pose((3.0, 0.0, 7.0)))


def test_a_reference_may_name_what_is_in_nested_models_and_their_own_frames() -> None:
    text = model(
        """<link name="a"/>
        <model name="n"><pose>1 0 0 0 0 0</pose><link name="l"><pose>0 1 0 0 0 0</pose></link>
          <model name="o"><pose>0 0 1 0 0 0</pose><link name="l"/><frame name="f"/></model></model>
        <link name="b"><pose relative_to="n">0 0 0.5 0 0 0</pose></link>
        <link name="c"><pose relative_to="n::l"/></link>
        <link name="d"><pose relative_to="n::o::__model__"/></link>
        <frame name="e" attached_to="n::o"/>
        <joint name="j" type="revolute"><parent>n::o</parent><child>n::l</child>
        <axis><xyz expressed_in="n::o::f">1 0 0</xyz></axis></joint>
        """
    )
    robot = parse_sdf(text)
    assert [link.name for link in robot.links] == ["world", "a", "b", "c", "d", "n::l", "n::o::l"]
    assert [where(robot, name).xyz for name in "bcde"] == [(1, 0, 0.5), (1, 1, 0), (1, 0, 1), (1, 0, 1)]
    assert (robot.joint("j").parent, robot.joint("j").child) == ("n::o::l", "n::l")
    assert frame_link(robot, "e") == frame_link(robot, "n::o::f") == "n::o::l"


@pytest.mark.parametrize(
    ("attributes", "inside", "link"),
    [
        ("", '<model name="n"><link name="x"/></model><link name="a"/><link name="b"/>', "a"),
        ('canonical_link="b"', '<link name="a"/><link name="b"/>', "b"),
        ('canonical_link="n::x"', '<link name="a"/><model name="n"><link name="x"/></model>', "n::x"),
        ("", '<model name="n"><model name="o"><link name="x"/></model></model>', "n::o::x"),
        ("", '<model name="n" canonical_link="y"><link name="x"/><link name="y"/></model>', "n::y"),
        ("", "<static>true</static>", "world"),
        ("", '<model name="n"><static>1</static></model><model name="o"><link name="x"/></model>', "world"),
    ],
)
def test_a_model_frame_moves_with_the_canonical_link(attributes: str, inside: str, link: str) -> None:
    written = f'<model name="m" {attributes}>{inside}<frame name="f"/></model>'
    robot = parse_sdf(f'<sdf version="1.8"><world name="w">{written}</world></sdf>')
    assert frame_link(robot, "m::f") == (link if link == "world" else f"m::{link}")


def test_models_of_a_world_stand_side_by_side_and_may_be_joined() -> None:
    text = """<sdf version="1.10"><world name="w">
    <frame name="table"><pose>0 0 1 0 0 0</pose></frame>
    <model name="arm"><pose relative_to="table">1 0 0 0 0 0</pose><link name="base"/>
    <link name="tip"><pose>0 0 0.5 0 0 0</pose></link>
    <joint name="j" type="revolute"><parent>base</parent><child>tip</child><axis><xyz>0 0 1</xyz></axis></joint></model>
    <model name="hand"><pose relative_to="arm::tip">0 0 0.1 0 0 0</pose><link name="palm"/></model>
    <model name="cup"><pose relative_to="hand">0 0 0.1 0 0 0</pose><link name="cup"/></model>
    <joint name="mount" type="fixed"><parent>arm::tip</parent><child>hand</child></joint>
    <frame name="grasp" attached_to="hand::palm"/></world></sdf>"""
    robot = parse_sdf(text)
    assert [link.name for link in robot.links[1:]] == ["arm::base", "arm::tip", "hand::palm", "cup::cup"]
    assert [joint.name for joint in robot.joints if not joint.hidden] == ["arm::j", "mount"]
    assert where(robot, "grasp", {"arm::j": math.pi / 2}).is_close(turned(1, 0, 1.6, yaw=90))
    assert where(robot, "cup::cup", {"arm::j": math.pi / 2}).is_close(Pose((1.0, 0.0, 1.7)))
    assert where(robot, "table").is_close(Pose((0.0, 0.0, 1.0)))


def test_coordinates_follow_the_order_of_models_whether_joints_hold_them_or_not() -> None:
    links = '<link name="a"/><link name="b"/>'
    links += '<joint name="j" type="revolute"><parent>a</parent><child>b</child><axis/></joint>'
    held = f'{links}<joint name="k" type="fixed"><parent>world</parent><child>a</child></joint>'
    text = "".join(f'<model name="m{i}">{held if i % 2 else links}</model>' for i in range(4))
    chain = Chain(parse_sdf(f'<sdf version="1.9"><world name="w">{text}</world></sdf>'))
    assert chain.get_joint_names() == ["m0::j", "m1::j", "m2::j", "m3::j"]


def test_a_link_that_no_joint_holds_is_fixed_where_it_rests() -> None:
    robot = parse_sdf(model('<pose>1 0 0 0 0 0</pose><link name="a"/><link name="b"><pose>0 1 0 0 0 0</pose></link>'))
    assert [(joint.parent, joint.child, joint.hidden) for joint in robot.joints] == [
        ("world", "a", True),
        ("world", "b", True),
    ]
    assert Chain(robot).nq == 0
    assert where(robot, "b").is_close(Pose((1.0, 1.0, 0.0)))


def test_in_files_of_before_1_7_a_name_of_several_kinds_is_made_unique_as_libsdformat_does() -> None:
    inside = """<link name="x"/><link name="y"/><link name="x_joint"/><model name="y"><link name="l"/></model>
    <joint name="x" type="fixed"><parent>x</parent><child>x_joint</child></joint><frame name="x"/>"""
    robot = parse_sdf(model(inside, "1.6"))
    assert [link.name for link in robot.links[1:]] == ["x", "y_link", "x_joint", "y::l"]
    assert [joint.name for joint in robot.joints if not joint.hidden] == ["x_joint0"]
    assert [frame.name for frame in robot.frames] == ["world", "x_frame"]


def test_poses_of_before_1_7_name_their_frame_so() -> None:
    inside = """<link name="a"><pose frame="">1 0 0 0 0 0</pose></link>
    <link name="b"><pose frame="a">1 0 0 0 0 0</pose></link>"""
    assert where(model(inside, "1.6"), "b").is_close(Pose((2.0, 0.0, 0.0)))


def test_a_nested_model_that_was_written_flat_reads_as_its_names_say() -> None:
    text = model(
        """<frame name="n::__model__" attached_to="n::l"><pose relative_to="__model__">1 0 0 0 0 0</pose></frame>
        <link name="n::l"><pose relative_to="n::__model__">0 1 0 0 0 0</pose></link>
        <link name="n::k"><pose relative_to="n::l">0 0 1 0 0 0</pose></link>
        <frame name="n::f" attached_to="n::__model__"/><frame name="g" attached_to="n"/>""",
        "1.7",
    )
    robot = parse_sdf(text)
    assert [link.name for link in robot.links[1:]] == ["n::l", "n::k"]
    assert [frame.name for frame in robot.frames] == ["world", "n::f", "g"]
    assert where(robot, "n::k").is_close(Pose((1.0, 1.0, 1.0)))
    assert where(robot, "n::f").is_close(where(robot, "g"))


def test_a_deep_chain_and_a_wide_tree_load_without_recursion() -> None:
    n = 5000
    links = "".join(
        f'<link name="l{i}"><pose relative_to="l{i - 1}">0 0 0.001 0 0 0</pose></link>' for i in range(1, n)
    )
    joints = "".join(
        f'<joint name="j{i}" type="revolute"><parent>l{i - 1}</parent><child>l{i}</child><axis/></joint>'
        for i in range(1, n)
    )
    robot = parse_sdf(model(f'<link name="l0"/>{links}{joints}'))
    assert len(list(robot.walk())) == n + 1
    assert robot.joint(f"j{n - 1}").origin == Pose((0.0, 0.0, 0.001))
    wide = "".join(f'<link name="l{i}"/>' for i in range(20_000))
    assert len(parse_sdf(model(wide)).joints) == 20_000


def test_models_may_be_nested_as_deep_as_their_names_allow() -> None:
    n = 300
    deep = "".join(f'<model name="m{i}"><pose>0 0 1 0 0 0</pose><link name="l"/>' for i in range(n)) + "</model>" * n
    robot = parse_sdf(f'<sdf version="1.9">{deep}</sdf>')
    assert robot.joints[-1].origin.is_close(Pose((0.0, 0.0, float(n))))
    assert robot.links[-1].name == "::".join([*(f"m{i}" for i in range(1, n)), "l"])
