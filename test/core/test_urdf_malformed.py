"""Odd and hostile URDF: what is refused says where and why, what is accepted means what its author meant."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any

import corpus
import pytest
from plain_kinematics import link_poses

from pk_core.errors import ModelError, ParseError
from pk_core.model import Robot, UnknownGeometry
from pk_core.parsers import parse_urdf
from pk_core.pose import IDENTITY

DATA = Path(__file__).parents[1] / "data" / "malformed"

REFUSED = {  # name: line, words of the message
    "not_xml": (1, ["XML"]),
    "truncated": (5, ["attribute l", "<parent l", "inside <joint"]),
    "extra_after_root": (7, ["second"]),
    "nul_byte": (5, ["U+0000"]),
    "xxe_file": (3, ["entity 'x'"]),
    "xxe_parameter_entity": (3, ["entity 'p'"]),
    "billion_laughs": (3, ["entity 'l0'"]),
    "invalid_utf8": (5, ["utf-8", "0xff"]),
    "cr_only_error": (5, ["'zz'", "child", "'j'"]),
    "cycle_plus_root": (8, ["cycle", "b -> a -> b"]),
    "mimic_cycle3_plus_tail": (9, ["cycle", "j1 -> j2 -> j3 -> j1"]),
    "xacro_unexpanded": (3, ["xacro:property", "expand"]),
    "num_unicode_digits": (5, ["xyz", "１"]),  # noqa: RUF001
    "mixed_case_tags": (3, ["Link", "<link>"]),
}

ACCEPTED = (
    "bom_utf8",
    "declared_ascii_has_utf8",
    "str_with_declaration",
    "xml_version_00",
    "unbound_prefix",
    "comments_everywhere",
    "extension_tags",
    "xacro_ns_only_declared",
    "bad_inertia",
)

# Where the corpus leaves the choice, docs/formats.md tells ours.
CHOICES = {
    "urdf_xxe_file.urdf": "error",
    "urdf_xxe_parameter_entity.urdf": "error",
    "urdf_declared_ascii_has_utf8.urdf": "accept",
    "urdf_xml_version_00.urdf": "accept",
    "urdf_world_not_declared.urdf": "error",
    "urdf_axis_empty_element.urdf": "error",
    "urdf_limit_inf.urdf": "accept",
    "urdf_limit_no_effort.urdf": "accept",
    "urdf_mimic_fixed_leader.urdf": "error",
    "urdf_unbound_prefix.urdf": "accept",
    "urdf_deep_xml_nesting.urdf": "accept",
    "real_fetch_unbound_prefix.urdf": "accept",
    "real_bullet_version00.urdf": "accept",
    "real_acrobot_implicit_world.urdf": "error",
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_wrong_is_refused_with_its_file_and_line(name: str) -> None:
    line, words = REFUSED[name]
    with pytest.raises(ParseError) as caught:
        parse_urdf((DATA / f"urdf_{name}.urdf").read_bytes(), source="my.urdf")
    assert caught.value.line == line
    assert all(word in str(caught.value) for word in ["my.urdf", f"line {line}", *words])


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("name", ACCEPTED)
def test_what_is_only_odd_is_accepted_as_bytes_and_as_text(name: str, as_text: bool) -> None:
    data = (DATA / f"urdf_{name}.urdf").read_bytes()
    robot = parse_urdf(data.decode("utf-8") if as_text else data)
    assert [link.name for link in robot.links] == ["a", "b"]
    assert [joint.name for joint in robot.joints] in (["j"], ["jé"])


def test_a_mimic_of_a_fixed_joint_is_ignored() -> None:
    robot = parse_urdf((DATA / "urdf_mimic_on_fixed.urdf").read_bytes())
    assert robot.joint("f").axes == ()


def test_an_entity_of_another_file_leaves_no_trace_in_the_error() -> None:
    with pytest.raises(ParseError) as caught:
        parse_urdf((DATA / "urdf_xxe_file.urdf").read_bytes())
    assert "root:" not in str(caught.value)


def test_a_broken_inertia_or_mesh_is_left_out_and_reported(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="pk_core"):
        robot = parse_urdf((DATA / "urdf_bad_inertia.urdf").read_bytes())
    assert robot.link("a").inertial is None
    assert robot.link("b").visuals[0].geometry == UnknownGeometry("mesh")
    assert ["line 3" in message for message in caplog.messages] == [True, False]
    assert "scale" in caplog.messages[1]


@pytest.mark.parametrize("case", corpus.malformed("urdf"), ids=corpus.name)
def test_the_malformed_inputs_of_the_corpus_end_as_they_should(case: dict[str, Any]) -> None:
    data = corpus.path(case).read_bytes()
    expect = CHOICES[corpus.name(case)] if case["expect"] == "either" else case["expect"]
    source = case["file"]
    text_or_bytes = data.decode("utf-8") if case["input_mode"] == "str" else data
    if expect == "accept":
        _check_result(parse_urdf(text_or_bytes, source=source), case.get("result", {}))
        return
    with pytest.raises(ParseError) as caught:
        parse_urdf(text_or_bytes, source=source)
    message = str(caught.value)
    assert source in message
    assert case.get("line") in (None, caught.value.line)
    for word in case.get("must_mention", []) + case.get("should_mention", []):
        assert word in message


def _check_result(robot: Robot, result: dict[str, Any]) -> None:
    free = [joint for joint in robot.joints if not joint.mimic]
    found = {
        "links": [link.name for link in robot.links],
        "joints": [joint.name for joint in robot.joints],
        "root": robot.root,
        "dof": sum(joint.nq for joint in free),
        "n_links": len(robot.links),
        "axis": list(robot.joints[0].axis or ()) if robot.joints else None,
        "origin_xyz": list(robot.joints[0].origin.xyz) if robot.joints else None,
        "limits": {joint.name: list(joint.limits) for joint in robot.joints if joint.limits},
        "poses": {link.name: "identity" for link in robot.links},
        "tip": robot.links[-1].name,
        "tip_xyz": None,
    }
    if "tip" in result:
        xyz = link_poses(robot, {})[result["tip"]].xyz
        assert xyz == pytest.approx(result["tip_xyz"], abs=1e-9)
        turned = link_poses(robot, {joint.name: 0.001 for joint in free})[result["tip"]].rotation
        angle = 0.001 * len(free)
        assert turned[0] == pytest.approx((math.cos(angle), -math.sin(angle), 0.0), abs=1e-9)
    if "poses" in result:
        assert all(pose == IDENTITY for pose in link_poses(robot, {}).values())
    for key in result.keys() - {"tip_xyz"}:
        assert found[key] == result[key], key


def test_every_choice_of_the_corpus_is_made_here() -> None:
    assert {corpus.name(case) for case in corpus.malformed("urdf") if case["expect"] == "either"} <= CHOICES.keys()


def joint(inner: str = "", kind: str = "revolute") -> str:
    return (
        '<robot name="r">\n<link name="a"/>\n<link name="b"/>\n'
        f'<joint name="j" type="{kind}">\n<parent link="a"/>\n<child link="b"/>\n{inner}\n</joint>\n</robot>'
    )


@pytest.mark.parametrize(
    ("inner", "words"),
    [
        ('<origin xyz="1_0 0 0"/>', ["xyz", "1_0"]),
        ('<origin xyz="nan 0 0"/>', ["xyz", "nan"]),
        ('<origin xyz="1e999 0 0"/>', ["xyz", "too large"]),
        ('<origin xyz="1\u00a00 0"/>', ["xyz"]),
        ('<origin xyz=""/>', ["xyz", "3 numbers", "found 0"]),
        ('<origin xyz="0 0 0 0"/>', ["xyz", "3 numbers", "found 4"]),
        ('<origin rpy="0 0"/>', ["rpy", "3 numbers"]),
        ('<origin XYZ="1 0 0"/>', ["XYZ", "valid: xyz, rpy"]),
        ('<origin xyz="0 0 0" quat="1 0 0 0"/>', ["quat", "quat_xyzw"]),
        ('<origin quat_xyzw="0 0 0 0"/>', ["quat_xyzw", "zero"]),
        ('<origin quat_xyzw="0 0 0 1" rpy="0 0 0"/>', ["both"]),
        ('<Origin xyz="1 0 0"/>', ["Origin", "<origin>"]),
        ('<orgin xyz="1 0 0"/>', ["orgin", "<origin>"]),
        ("<pose>1 0 0 0 0 0</pose>", ["pose", "not an element of URDF"]),
        ('<origin xyz="1 0 0"/><origin xyz="2 0 0"/>', ["second <origin>"]),
        ('<axis xyz="1 0 0"/><axis xyz="0 1 0"/>', ["second <axis>"]),
        ('<axis rpy="0 0 1" xyz="1 0 0"/>', ["rpy"]),
        ('<axis xyz="0 0"/>', ["xyz", "3 numbers"]),
        ('<limit lower="nan" upper="1"/>', ["lower", "nan"]),
        ('<limit Lower="-1" upper="1"/>', ["Lower", "'lower'"]),
        ('<limit lower="0.5" effort="1"/>', ["limit", "0.5", "not written"]),
        ('<mimic multiplier="2"/>', ["'joint'", "missing"]),
        ('<mimic joint=""/>', ["'joint'", "empty"]),
        ('<mimic joint="j"/>', ["mimics itself"]),
        ('<mimic joint="jj"/>', ["'jj'", "did you mean 'j'"]),
        ('<mimic joint="j" multipler="2"/>', ["multipler", "multiplier"]),
        ('<mimic joint="j" offset="inf"/>', ["offset", "inf"]),
    ],
)
def test_nothing_that_moves_a_link_is_ignored_or_guessed(inner: str, words: list[str]) -> None:
    with pytest.raises(ParseError) as caught:
        parse_urdf(joint(inner))
    assert caught.value.line == 7
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize("kind", ["ball", "screw", "Fixed", "revolute "])
def test_a_joint_type_of_another_format_is_refused_with_the_valid_ones(kind: str) -> None:
    with pytest.raises(ParseError, match=r"unknown joint type .*valid: revolute, continuous"):
        parse_urdf(joint(kind=kind))


@pytest.mark.parametrize("kind", ["planar", "floating"])
def test_a_joint_of_several_coordinates_can_not_follow_another(kind: str) -> None:
    with pytest.raises(ParseError, match=f"{kind} joint 'j': only joints of one coordinate"):
        parse_urdf(joint('<mimic joint="k"/>', kind=kind))


@pytest.mark.parametrize(
    ("top", "words"),
    [
        ("<Joint/>", ["Joint", "<joint>"]),
        ("<links/>", ["links", "<link>"]),
        ('<include filename="b.urdf"/>', ["include"]),
        ('<xi:include href="b.urdf"/>', ["xi:include"]),
        ('<x:macro xmlns:x="http://www.ros.org/wiki/xacro"/>', []),
        ('<link name="${p}_l"/>', ["xacro", "name"]),
        ('<link name=""/>', ["name", "empty"]),
        ('<link Name="c"/>', ["'name' is missing", "'Name'"]),
        ('<joint type="fixed"/>', ["'name' is missing"]),
        ('<joint name="k" type="fixed"><parent link="a"/></joint>', ["'k'", "child"]),
        (
            '<joint name="k" type="fixed"><parent link="a"/><child link="b"/></joint>',
            ["'b'", "two joints", "'k' and 'j'"],
        ),
        (
            '<link name="c"/><joint name="j" type="fixed"><parent link="b"/><child link="c"/></joint>',
            ["duplicate joint"],
        ),
    ],
)
def test_what_can_not_stand_in_a_robot_is_refused(top: str, words: list[str]) -> None:
    text = joint().replace('<robot name="r">', f'<robot name="r" xmlns:x="http://www.ros.org/wiki/xacro">{top}')
    with pytest.raises(ParseError) as caught:
        parse_urdf(text)
    assert caught.value.line in (1, 4)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_robot_without_links_is_refused() -> None:
    with pytest.raises(ModelError, match="no link"):
        parse_urdf('<robot name="r"/>')


def test_a_root_in_the_wrong_case_is_refused_with_a_hint() -> None:
    with pytest.raises(ParseError, match="found <Robot>; upper and lower case matter"):
        parse_urdf('<Robot name="r"/>')


def test_a_lone_link_is_a_robot() -> None:
    robot = parse_urdf('<robot name="r"><link name="a"/></robot>')
    assert (robot.root, robot.joints) == ("a", ())
