"""Tiny MJCF models, each named for what it isolates, stand where MuJoCo puts them."""

from __future__ import annotations

import math

import pytest
from mujoco_oracle import GEOM, assert_as_in_mujoco, world

from pk_core.model import JointType
from pk_core.parsers import parse_mjcf

# name: (what stands in the worldbody, the sections before it)
MODELS = {
    "angles_are_degrees": (f'<body euler="10 20 30"><joint ref="15" range="-10 100"/>{GEOM}</body>', ""),
    "angles_are_radians": (
        f'<body euler="1 2 3"><joint ref="0.5" range="-1 2"/>{GEOM}</body>',
        '<compiler angle="radian"/>',
    ),
    "slides_are_never_in_degrees": (f'<body><joint type="slide" ref="0.5" range="-1 2"/>{GEOM}</body>', ""),
    "a_joint_turns_about_its_anchor": (f'<body pos="1 2 3"><joint axis="1 2 2" pos="0.3 0.2 0.1"/>{GEOM}</body>', ""),
    "a_ball_turns_about_its_anchor": (
        f'<body pos="1 0 0" euler="0 90 0"><joint type="ball" pos="0 0.5 0.5" range="0 90"/>{GEOM}</body>',
        "",
    ),
    "joints_of_one_body_act_in_order": (
        f'<body pos="0 0 1"><joint axis="1 0 0" pos="0 1 0" ref="20"/><joint axis="0 1 0" pos="0 0 1"/>'
        f'<joint type="slide" axis="1 1 0" pos="5 5 5" ref="0.25"/><joint axis="0 0 -2" pos="1 0 0"/>{GEOM}</body>',
        "",
    ),
    "slides_then_a_ball": (
        f'<body><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint type="ball" pos="0 0 1"/>'
        f"{GEOM}</body>",
        "",
    ),
    "a_ball_then_a_slide": (
        f'<body><joint type="ball" pos="1 0 0"/><joint type="slide" axis="1 0 1"/>{GEOM}</body>',
        "",
    ),
    "joints_after_child_bodies_and_in_frames": (
        f'<body>{GEOM}<body pos="0 1 0">{GEOM}<joint/></body><joint axis="1 0 0"/>'
        f'<frame pos="0 0 1" euler="0 0 90"><joint axis="1 0 0" pos="0 2 0"/></frame></body>',
        "",
    ),
    "a_free_body_is_placed_in_the_world": (
        f'<body pos="1 2 3" quat="1 1 0 0"><freejoint/>{GEOM}<body pos="0 0 1"><joint/>{GEOM}</body></body>',
        "",
    ),
    "a_free_body_in_a_frame_rests_where_the_frame_puts_it": (
        f'<frame pos="1 2 3" euler="0 0 90"><body pos="1 0 0" euler="30 0 0"><joint type="free"/>{GEOM}</body></frame>',
        "<default><joint pos='1 1 1' axis='1 0 0' ref='1'/></default>",
    ),
    "a_free_body_at_the_origin": (f"<body><freejoint name='f'/>{GEOM}</body>", ""),
    "all_ways_to_write_an_orientation": (
        '<body quat="2 0 0 -2"/><body axisangle="1 1 0 60"/><body euler="10 20 30"/><body xyaxes="0 2 0 -1 1 0"/>'
        '<body zaxis="1 0 1"/><body zaxis="0 0 -3"/><body zaxis="0 0 2"/><body quat="1e-8 0 1e-8 0"/>'
        '<body zaxis="1e-11 0 -1"/><body axisangle="0 0 1e-5 720"/><body quat="1 2 3 4"/>',
        "",
    ),
    "intrinsic_euler_angles": ('<body euler="10 20 30"/>', '<compiler eulerseq="zyx"/>'),
    "extrinsic_euler_angles": ('<body euler="10 20 30"/>', '<compiler eulerseq="XYZ"/>'),
    "mixed_euler_angles": ('<body euler="10 20 30"/><site name="s" euler="10 20 30"/>', '<compiler eulerseq="xZy"/>'),
    "repeated_euler_axes": ('<body euler="10 20 30"/>', '<compiler eulerseq="zXz"/>'),
    "the_last_compiler_counts_for_each_attribute": (
        f'<body euler="1 2 3"><joint range="1 2"/>{GEOM}</body>',
        '<compiler angle="radian" eulerseq="XYZ"/><compiler eulerseq="ZYX"/>',
    ),
    "sites_in_every_orientation": (
        '<body pos="0 0 1"><site name="a" pos="1 2 3" xyaxes="1 1 0 0 1 1"/><site name="b" zaxis="0 1 0"/>'
        '<frame pos="0 1 0" euler="90 0 0"><site name="c" quat="0 1 0 0"/><site/></frame></body>',
        "",
    ),
    "sites_by_their_ends": (
        '<site name="a" type="capsule" size="0.1" fromto="0 0 0 0 1 0"/>'
        '<site name="b" type="cylinder" size="0.1" fromto="0 0 1 0 0 0" quat="0 1 0 0"/>'
        '<site name="c" type="box" size="0.1" fromto="0 0 0 0 0 1"/><site name="d" size="0.1" fromto="1 2 3 3 1 0"/>',
        '<default><site type="ellipsoid"/></default>',
    ),
    "a_site_with_the_name_of_a_body": ('<body name="a" pos="0 0 1"><site name="a" pos="0 1 0"/></body>', ""),
    "frames_in_frames": (
        '<frame pos="1 0 0" euler="0 0 90"><frame pos="1 0 0" axisangle="1 0 0 45"><body name="a" pos="0 0 1"/>'
        '<site name="s" pos="0 1 0"/></frame><body name="b"/></frame>',
        "",
    ),
    "classes_inherit": (
        f'<body childclass="arm">{GEOM}<joint/><body>{GEOM}<joint class="elbow"/>'
        f'<body childclass="wrist">{GEOM}<joint/><joint class="main"/></body><body>{GEOM}<joint range="0 1"/></body></body></body>',
        '<default><joint axis="1 0 0" pos="0 0 0.5"/><default class="arm"><joint range="-90 90"/><default class="elbow">'
        '<joint ref="30"/><default class="wrist"><joint type="slide" axis="0 1 1"/></default></default></default></default>',
    ),
    "an_own_class_replaces_the_childclass": (
        f'<body childclass="a"><joint class="b"/>{GEOM}</body>',
        '<default><default class="a"><joint axis="1 0 0" ref="3"/></default><default class="b"><joint pos="1 0 0"/></default>'
        "</default>",
    ),
    "a_class_inherits_what_its_parent_says_after_it": (
        f'<body><joint class="k"/>{GEOM}</body>',
        '<default><default class="k"><joint ref="3"/></default><joint axis="1 0 0"/></default>',
    ),
    "a_class_misses_what_main_says_in_a_later_section": (
        f'<body><joint class="k"/>{GEOM}</body><body><joint/>{GEOM}</body>',
        '<default><default class="k"/></default><default><joint axis="1 0 0"/></default><default class="main">'
        '<joint ref="3"/></default>',
    ),
    "a_frame_gives_a_childclass": (
        f'<body><frame childclass="k"><joint/><joint class="main"/></frame><joint/>{GEOM}</body>',
        '<default><default class="k"><joint axis="1 0 0"/></default></default>',
    ),
    "a_freejoint_takes_no_defaults": (
        f'<body pos="1 2 3"><freejoint/>{GEOM}</body>',
        '<default><joint type="slide" ref="3" range="1 2"/></default>',
    ),
    "a_site_orientation_replaces_that_of_its_class": (
        '<site name="a" quat="0 1 0 0"/><site name="b" euler="0 0 90"/><site name="c" class="k" zaxis="1 0 0"/>',
        '<default><site euler="0 90 0" pos="1 2 3"/><default class="k"><site quat="0 0 1 0"/></default></default>',
    ),
    "ranges_limit_by_themselves": (
        f'<body><joint range="0 1"/><joint range="0 0"/><joint limited="false" range="0 1"/>'
        f'<joint limited="true" range="0 1"/><joint range="2 1"/><joint range="1 1"/>{GEOM}</body>',
        "",
    ),
    "ranges_limit_only_where_they_are_told_to": (
        f'<body><joint limited="true" range="0 1"/><joint limited="false" range="0 1"/><joint/>{GEOM}</body>',
        '<compiler autolimits="false"/>',
    ),
    "infinite_ranges": (
        f'<body><joint type="slide" range="-inf 1"/><joint type="slide" range="0 inf"/>{GEOM}</body>',
        "",
    ),
    "actuator_force_ranges": (
        f'<body><joint actuatorfrcrange="-3 5"/><joint actuatorfrclimited="false" actuatorfrcrange="-3 5"/><joint/>{GEOM}</body>',
        "",
    ),
    "replicas_turn_by_multiples_of_their_angles": (
        f'<replicate count="3" offset="1 0 0.5" euler="10 20 30"><body name="a" pos="1 0 0">{GEOM}<joint/></body>'
        '<site name="s" pos="0 1 0"/></replicate>',
        "",
    ),
    "replicas_keep_the_order_of_the_document": (
        f'<replicate count="2" offset="1 0 0"><body name="z"/><frame pos="0 0 1"><body name="a">{GEOM}<joint name="j"/></body>'
        '</frame><body name="y"/></replicate>',
        "",
    ),
    "replicas_in_replicas": (
        f'<replicate count="2" offset="0 1 0" euler="90 0 0"><replicate count="11" sep="-" offset="1 0 0" euler="0 90 0">'
        f'<body name="a" pos="1 0 0"><joint name="j"/>{GEOM}</body></replicate></replicate>',
        '<compiler eulerseq="XYZ"/>',
    ),
    "replicas_in_a_body_and_a_frame": (
        f'<body pos="1 0 0"><joint/>{GEOM}<frame euler="0 0 90"><replicate count="2" offset="1 0 0" sep="_">'
        f'<frame pos="0 0 1"><body name="k"><joint/>{GEOM}</body></frame></replicate></frame></body>',
        "",
    ),
    "one_replica_is_renamed_too": ('<replicate count="1"><body name="a"/></replicate>', ""),
    "free_replicas": (
        f'<replicate count="3" offset="0 0 1" euler="0 0 45"><body pos="1 0 0"><freejoint/>{GEOM}</body></replicate>',
        "",
    ),
    "a_replica_gives_a_childclass": (
        f'<replicate count="2" childclass="k"><body><joint/>{GEOM}</body></replicate>',
        '<default><default class="k"><joint axis="1 0 0"/></default></default>',
    ),
    "a_body_attached_again": (
        f'<frame pos="9 9 9"><body name="a" pos="1 0 0">{GEOM}<joint name="j"/><body name="b" pos="0 0 1"/></body></frame>'
        f'<body name="c" pos="0 1 0">{GEOM}<frame euler="0 0 90"><attach body="a" prefix="x_"/></frame></body>',
        "",
    ),
    "a_frame_attached_again": (
        '<frame pos="0 0 1"><frame name="k" pos="0 1 0"><body name="a" pos="1 0 0"/></frame></frame>'
        '<frame pos="0 0 5"><attach frame="k" prefix="x_"/></frame>',
        "",
    ),
    "a_replica_attached_again": (
        '<replicate count="2" offset="1 0 0"><body name="a" pos="1 0 0"><body name="b"/></body></replicate>'
        '<attach body="a1" prefix="x_"/>',
        "",
    ),
    "a_sibling_attached_inside_of_a_replica": (
        '<replicate count="2" offset="1 0 0"><body name="a" pos="1 0 0"/><frame pos="0 0 1"><attach body="a" prefix="x_"/></frame>'
        "</replicate>",
        "",
    ),
    "an_attached_body_attached_again": (
        '<body name="a" pos="1 0 0"/><body name="b"><attach body="a" prefix="x_"/></body><attach body="x_a" prefix="y_"/>',
        "",
    ),
    "names_are_optional": (
        f'<body><joint/>{GEOM}<body name="k" pos="0 0 1"><joint name="j"/><joint type="slide"/>{GEOM}<body/></body></body>'
        f'<body name=""><joint name=""/>{GEOM}</body>',
        "",
    ),
    "a_mocap_body_rests_where_it_is_written": (
        f'<body name="m" mocap="true" pos="1 2 3" euler="0 90 0"><body pos="0 0 1"><joint/>{GEOM}</body></body>',
        "",
    ),
    "several_worldbodies": (f'<body name="a"/></worldbody><worldbody><body name="b"><joint/>{GEOM}</body>', ""),
    "a_body_and_its_joint_and_site_share_a_name": (
        f'<body name="a"><joint name="a"/><site name="a"/>{GEOM}</body>',
        "",
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_tiny_model_stands_where_mujoco_puts_it(name: str) -> None:
    content, before = MODELS[name]
    assert_as_in_mujoco(world(content, before))


def test_a_hinge_without_limits_is_continuous_and_rests_at_its_reference() -> None:
    robot = parse_mjcf(world('<body name="a"><joint name="j" ref="90"/><joint name="k" range="0 90"/></body>'))
    free, bounded = robot.joint("j"), robot.joint("k")
    assert (free.type, free.limits) == (JointType.CONTINUOUS, (-math.inf, math.inf))
    assert free.axes[0].reference == pytest.approx(math.pi / 2)
    assert (bounded.type, bounded.limits) == (JointType.REVOLUTE, pytest.approx((0.0, math.pi / 2)))
    assert bounded.velocity_limits == bounded.effort_limits == (-math.inf, math.inf)


def test_the_world_is_the_root_and_a_body_without_joints_is_fixed() -> None:
    robot = parse_mjcf(world('<body name="a" pos="1 2 3"/>'))
    assert robot.root == "world" and robot.name == "tiny"
    (joint,) = robot.joints
    assert (joint.name, joint.type, joint.parent, joint.child) == ("a_fixed_joint", JointType.FIXED, "world", "a")
    assert joint.origin.xyz == (1.0, 2.0, 3.0)


def test_a_fixed_joint_gets_a_name_that_is_free() -> None:
    robot = parse_mjcf(world('<body name="a"/><body name="b"><joint name="a_fixed_joint"/></body>'))
    assert [joint.name for joint in robot.joints] == ["a_fixed_joint'", "a_fixed_joint"]


def test_an_empty_model_is_the_world_alone() -> None:
    robot = parse_mjcf("<mujoco/>")
    assert [link.name for link in robot.links] == ["world"] and robot.joints == () and robot.root == "world"


def test_a_free_joint_below_bodies_that_never_move_needs_fusestatic() -> None:
    below = f'<body name="a" pos="0 0 1"><body name="b" pos="0 1 0"><freejoint name="f"/>{GEOM}</body></body>'
    joint = parse_mjcf(world(below, '<compiler fusestatic="true"/>')).joint("f")
    assert (joint.parent, joint.neutral) == ("world", (0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0))


def test_alignment_that_has_no_effect_is_accepted() -> None:
    assert_as_in_mujoco(
        world(
            f'<body><freejoint align="true"/>{GEOM}<body/></body><body><freejoint align="false"/>{GEOM}</body>',
            '<compiler alignfree="true"/>',
        )
    )


def test_settings_that_move_nothing_are_accepted() -> None:
    settings = 'boundmass="1" balanceinertia="true" inertiafromgeom="true" discardvisual="true" strippath="true"'
    assert_as_in_mujoco(world(f"<body><joint/>{GEOM}</body>", f'<compiler {settings} usethread="false"/>'))
