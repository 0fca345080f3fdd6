"""Odd and hostile MJCF: what is refused says where and why, what is accepted means what its author meant."""

from __future__ import annotations

import math

import corpus
import pytest
import torch
from mujoco_oracle import GEOM, world

from pk_core.chain import Chain
from pk_core.errors import ModelError, ParseError
from pk_core.model import Robot
from pk_core.parsers import parse_mjcf

# Where the corpus leaves the choice, docs/formats.md tells ours.
CHOICES = {
    "mjcf_range_no_autolimits.xml": "error",
    "mjcf_replicate_zero.xml": "error",
    "mjcf_no_worldbody_text.xml": "accept",
    "mjcf_mocap_not_top.xml": "error",
    "real_mjcf_main_renamed.xml": "accept",
}


@pytest.mark.parametrize("case", corpus.malformed("mjcf"), ids=corpus.name)
def test_an_odd_input_of_the_corpus_ends_as_expected(case: corpus.Entry) -> None:
    data = corpus.path(case).read_bytes()
    expect = CHOICES[corpus.name(case)] if case["expect"] == "either" else case["expect"]
    if expect == "accept":
        check_result(parse_mjcf(data), case.get("result", {}))
        return
    with pytest.raises(ParseError) as caught:
        parse_mjcf(data, source="my.xml")
    assert caught.value.line == case.get("line", caught.value.line)
    assert all(word in str(caught.value) for word in ["my.xml", *case.get("must_mention", [])])


def check_result(robot: Robot, result: dict) -> None:
    chain = Chain(robot, dtype=torch.float64)
    assert chain.nv == result.get("dof", chain.nv)
    assert chain.get_link_names() == result.get("links", chain.get_link_names())
    assert chain.get_joint_names() == result.get("joints", chain.get_joint_names())
    bodies = [name for name in chain.get_link_names() if name != "world"]
    assert result.get("n_bodies", len(bodies)) in (len(bodies), len(bodies) + 1)  # the corpus counts the world at times
    if "tip" in result:
        position = chain.forward_kinematics(chain.neutral())[result["tip"]].get_matrix()[0, :3, 3]
        assert position.numpy() == pytest.approx(result["tip_xyz"], abs=1e-9)


def test_a_file_that_attaches_itself_is_refused_when_it_can_be_read() -> None:
    data = corpus.path({"file": "malformed/mjcf_attach_recursive.xml"}).read_bytes()
    name = "mjcf_attach_recursive.xml"
    with pytest.raises(ParseError, match="cycle of models"):
        parse_mjcf(data, assets={name: data}, path=name)


REFUSED = {  # name: (content of the worldbody, sections before it, line, words)
    "unknown_section": ("", "\n<worldBody/>", 2, ["worldBody", "worldbody"]),
    "foreign_section": ("", "\n<link/>", 2, ["link", "valid"]),
    "a_body_outside_of_the_world": ("", "\n<body/>", 2, ["body"]),
    "pose_of_the_world": ('</worldbody>\n<worldbody pos="1 2 3">', "", 2, ["pos"]),
    "joint_of_the_world": ("\n<joint/>", "", 2, ["world", "<body>"]),
    "freejoint_of_the_world": ("<frame>\n<freejoint/></frame>", "", 2, ["world"]),
    "unknown_element": ("<body>\n<link/></body>", "", 2, ["link", "valid"]),
    "misspelt_element": ("<body>\n<Joint/></body>", "", 2, ["Joint", "<joint>"]),
    "misspelt_default": ("", "<default>\n<Joint/></default>", 2, ["Joint", "<joint>"]),
    "misspelt_attribute_of_a_default": ("", '<default>\n<joint ais="1 0 0"/></default>', 2, ["'ais'", "'axis'"]),
    "named_default": ("", '<default>\n<site nam="s"/></default>', 2, ["'nam'", "'name'"]),
    "default_of_what_has_none": ("", '<default>\n<body pos="1 0 0"/></default>', 2, ["body", "joint, geom"]),
    "misspelt_attribute": ('<body>\n<joint ais="1 0 0"/></body>', "", 2, ["'ais'", "'axis'"]),
    "attribute_in_capitals": ('\n<body Pos="1 0 0"/>', "", 2, ["'Pos'", "'pos'"]),
    "attribute_of_another_element": ('\n<frame mocap="true"/>', "", 2, ["mocap"]),
    "misspelt_compiler": ("", '\n<compiler angel="radian"/>', 2, ["'angel'", "'angle'"]),
    "unknown_angle": ("", '\n<compiler angle="grad"/>', 2, ["grad", "degree, radian"]),
    "unknown_flag": ("", '\n<compiler autolimits="yes"/>', 2, ["yes", "false, true"]),
    "empty_eulerseq": ("", '\n<compiler eulerseq=""/>', 2, ["eulerseq"]),
    "strange_eulerseq": ("", '\n<compiler eulerseq="xyw"/>', 2, ["eulerseq", "xyw"]),
    "class_defined_twice": ("", '<default>\n<default class="a"/>\n<default class="a"/></default>', 3, ["'a'", "twice"]),
    "class_called_main": ("", '<default>\n<default class="main"/></default>', 2, ["'main'", "twice"]),
    "top_class_called_as_another": (
        "",
        '<default><default class="a"/></default>\n<default class="a"/>',
        2,
        ["'a'", "twice"],
    ),
    "unknown_childclass": (
        '\n<body childclass="gost"/>',
        '<default><default class="ghost"/></default>',
        2,
        ["'ghost'"],
    ),
    "empty_class": ('<body>\n<joint class=""/></body>', "", 2, ["''"]),
    "unknown_class_of_a_site": ('\n<site name="s" class="a"/>', "", 2, ["'a'"]),
    "error_in_a_class": ("<body><joint/></body>", '<default>\n<joint axis="1 0"/></default>', 2, ["axis", "3 numbers"]),
    "two_orientations": ('\n<body quat="1 0 0 0" euler="0 0 0"/>', "", 2, ["quat", "euler"]),
    "axisangle_without_axis": ('\n<body axisangle="0 0 0 1"/>', "", 2, ["axisangle"]),
    "zaxis_zero": ('\n<body zaxis="0 0 0"/>', "", 2, ["zaxis"]),
    "pos_infinite": ('\n<body pos="inf 0 0"/>', "", 2, ["pos", "inf"]),
    "pos_not_a_number": ('\n<body pos="nan 0 0"/>', "", 2, ["pos", "nan"]),
    "pos_of_four": ('\n<body pos="0 0 0 0"/>', "", 2, ["pos", "3 numbers"]),
    "axis_zero": ('<body>\n<joint axis="0 0 0"/></body>', "", 2, ["axis", "zero"]),
    "range_of_one": ('<body>\n<joint range="1"/></body>', "", 2, ["range", "2 numbers"]),
    "range_of_zero_width": ('<body>\n<joint name="j" limited="true"/></body>', "", 2, ["range", "'j'"]),
    "force_range_swapped": (
        '<body>\n<joint name="j" actuatorfrclimited="true" actuatorfrcrange="1 -1"/></body>',
        "",
        2,
        ["frcrange", "'j'"],
    ),
    "free_and_another_joint": ("<body><freejoint/>\n<joint/></body>", "", 1, ["free", "alone"]),
    "seven_hinges": ("\n<body>" + "<joint/>" * 7 + "</body>", "", 2, ["7 degrees"]),
    "hinge_after_ball": ('<body><joint type="ball"/><joint type="slide"/>\n<joint/></body>', "", 2, ["ball"]),
    "mocap_with_a_joint": ('\n<body mocap="true"><joint/></body>', "", 2, ["mocap"]),
    "free_below_a_mocap": ('<body mocap="true"><body>\n<freejoint/></body></body>', "", 2, ["free"]),
    "duplicate_joint": ('<body><joint name="j"/>\n<joint name="j"/></body>', "", 2, ["'j'", "line 1"]),
    "duplicate_site": ('<site name="s"/>\n<site name="s"/>', "", 2, ["'s'", "line 1"]),
    "duplicate_by_replication": ('<body name="a0"/>\n<replicate count="1"><body name="a"/></replicate>', "", 2, ["a0"]),
    "site_by_pos_and_ends": ('\n<site name="s" pos="0 0 0" fromto="0 0 0 0 0 1"/>', "", 2, ["pos", "fromto"]),
    "site_of_one_end": ('\n<site name="s" fromto="0 0 1 0 0 1"/>', "", 2, ["fromto", "same point"]),
    "joint_to_be_replicated": (
        '<body><replicate count="2"><frame>\n<joint/></frame></replicate></body>',
        "",
        2,
        ["replicate"],
    ),
    "replicate_without_count": ("\n<replicate/>", "", 2, ["count"]),
    "replicate_half": ('\n<replicate count="1.5"/>', "", 2, ["count"]),
    "replicate_with_a_pose": ('\n<replicate count="2" pos="1 0 0"/>', "", 2, ["pos"]),
    "composite": ('\n<composite type="cable"/>', "", 2, ["composite"]),
    "scaled_frame": ('\n<frame scale="2"/>', "", 2, ["scale"]),
    "alignfree": (f"<body name='a'>\n<freejoint/>{GEOM}</body>", '<compiler alignfree="true"/>', 2, ["'a'", "align"]),
    "aligned_free_joint": (f'<body name="a">\n<freejoint align="true"/>{GEOM}</body>', "", 2, ["'a'", "align"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused_with_its_file_and_line(name: str) -> None:
    content, before, line, words = REFUSED[name]
    with pytest.raises(ParseError) as caught:
        parse_mjcf(world(content, before), source="my.xml")
    assert caught.value.line == line, caught.value
    assert all(word in str(caught.value) for word in ["my.xml", f"line {line}", *words]), caught.value


@pytest.mark.parametrize(
    ("root", "word"), [("robot", "URDF"), ("sdf", "SDF"), ("MuJoCo", "case"), ("mujocoinclude", "include")]
)
def test_another_root_is_refused_by_its_format(root: str, word: str) -> None:
    with pytest.raises(ParseError, match=word):
        parse_mjcf(f"<{root}/>")


def test_a_renamed_top_class_is_known_by_both_names() -> None:
    classes = '<default class="mother"><joint axis="1 0 0"/><default class="k"/></default>'
    content = (
        '<body childclass="mother"><joint/></body><body><joint class="main"/></body><body><joint class="k"/></body>'
    )
    assert {joint.axis for joint in parse_mjcf(world(content, classes)).joints} == {(1.0, 0.0, 0.0)}


def test_a_range_in_the_wrong_order_that_limits_nothing_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    robot = parse_mjcf(world('<body><joint name="j" range="2 1"/></body>'), source="my.xml")
    assert robot.joint("j").limits == (-math.inf, math.inf)
    assert "my.xml, line 1" in caplog.text and "range of joint 'j'" in caplog.text


def test_particles_are_left_out_with_a_report(caplog: pytest.LogCaptureFixture) -> None:
    robot = parse_mjcf(world('<flexcomp name="cloth" count="3 3 1"/><body name="a"/>'))
    assert [link.name for link in robot.links] == ["world", "a"]
    assert 'flexcomp name="cloth"' in caplog.text


def test_what_moves_nothing_is_ignored() -> None:
    text = """<mujoco xmlns:x="y" x:a="b"><option/><size/><visual/><statistic/><extension/><custom/><asset/><deformable/>
    <contact/><equality><weld/></equality><tendon/><actuator/><sensor/><keyframe/><x:any/><default><motor/></default>
    <worldbody><body x:a="b"><camera/><light/><plugin/><x:any><body/></x:any>text<joint damping="1" user="1 2"/></body>
    </worldbody></mujoco>"""
    assert [link.name for link in parse_mjcf(text).links] == ["world", "#body1"]


def test_two_models_with_the_same_names_are_no_tree() -> None:
    with pytest.raises(ModelError, match="duplicate body name 'a', first in line 1"):
        parse_mjcf(world('<body name="a"/>\n<body name="a"/>'))


def test_deep_nesting_is_read_in_linear_time() -> None:
    n = 5000
    text = world("".join(f'<body name="b{k}" pos="0 0 1"><joint/>' for k in range(n)) + "</body>" * n)
    robot = parse_mjcf(text)
    assert len(robot.links) == n + 1 and robot.joints[-1].child == f"b{n - 1}"


def test_many_nested_classes_and_frames_are_read() -> None:
    n = 3000
    classes = "".join(f'<default class="c{k}">' for k in range(n)) + "</default>" * n
    text = world('<frame pos="0 0 1">' * n + '<body name="a"/>' + "</frame>" * n, f"<default>{classes}</default>")
    assert parse_mjcf(text).joints[0].origin.xyz == (0.0, 0.0, float(n))
