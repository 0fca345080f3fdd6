"""Odd and hostile SDF: what is refused says where and why, what is accepted means what its author meant."""

from __future__ import annotations

from typing import Any

import corpus
import pytest
from sdf_samples import model, two_links, where

from pk_core.errors import ModelError, ParseError
from pk_core.parsers import parse_sdf

# Where the corpus leaves the choice, docs/formats.md tells ours.
CHOICES = {
    "sdf_two_top_models.sdf": "error",
    "sdf_world_and_model.sdf": "error",
    "sdf_version_99.sdf": "error",
    "sdf_joint_child_world.sdf": "error",
    "sdf_joint_gearbox.sdf": "error",
    "sdf_closed_loop.sdf": "error",
    "sdf_nested_300.sdf": "accept",
    "sdf_gazebo_root.sdf": "accept",
    "real_cassie_loops.sdf": "error",
    "real_gz_demo_joint_types.sdf": "error",
}

FIXED = '<joint name="j" type="fixed"><parent>{}</parent><child>{}</child></joint>'


@pytest.mark.parametrize("case", corpus.malformed("sdf"), ids=corpus.name)
def test_the_malformed_inputs_of_the_corpus_end_as_they_should(case: dict[str, Any]) -> None:
    data, source = corpus.path(case).read_bytes(), case["file"]
    expect = CHOICES[corpus.name(case)] if case["expect"] == "either" else case["expect"]
    if expect == "accept":
        names = [link.name for link in parse_sdf(data, source=source).links if not link.hidden]
        assert names == case.get("result", {}).get("links", names)
        return
    with pytest.raises(ParseError) as caught:
        parse_sdf(data, source=source)
    message = str(caught.value)
    assert source in message
    assert caught.value.line is not None
    assert case.get("line") in (None, caught.value.line)
    for word in case.get("must_mention", []) + case.get("should_mention", []):
        assert word in message


def test_every_choice_of_the_corpus_is_made_here() -> None:
    assert {corpus.name(case) for case in corpus.malformed("sdf") if case["expect"] == "either"} <= CHOICES.keys()


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", None, ["empty"]),
        ("<sdf", 1, ["XML"]),
        ("<robot/>", 1, ["<sdf>", "this is URDF"]),
        ("<SDF/>", 1, ["upper and lower case"]),
        ("<sdf/>", 1, ["'version' is missing"]),
        ('<sdf version="1"/>', 1, ["version '1'", "1.0 to 1.12"]),
        ('<sdf version="2.0"/>', 1, ["'2.0'"]),
        ('<sdf version="1.9"/>', 1, ["no <model>"]),
        ('<gazebo version="1.5"><model name="m"><link name="a"/></model></gazebo>', 1, ["<gazebo>", "<sdf>"]),
        ('<sdf version="1.9">\n<model/></sdf>', 2, ["'name' is missing"]),
        ('<sdf version="1.9">\n<model name=" "><link name="a"/></model></sdf>', 2, ["blank"]),
        ('<sdf version="1.9">\n<world name="a"/>\n<world name="b"/></sdf>', 3, ["'a'", "'b'"]),
    ],
)
def test_a_file_that_is_no_sdf_is_refused(text: str, line: int | None, words: list[str]) -> None:
    with pytest.raises(ParseError) as caught:
        parse_sdf(text)
    assert caught.value.line == line
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize(
    ("joint", "words"),
    [
        ("", ["j", "<axis>", "revolute"]),
        ("<axis><xyz>0 0 0</xyz></axis>", ["axis of joint 'j'", "zero"]),
        ("<axis><xyz>0 0</xyz></axis>", ["xyz", "3 numbers"]),
        ("<axis><xyz>0 0 nan</xyz></axis>", ["xyz", "nan"]),
        ("<axis><XYZ>0 0 1</XYZ></axis>", ["XYZ", "<xyz>"]),
        ('<axis xyz="1 0 0"/>', ["'xyz'", "<xyz>"]),
        ('<axis><xyz expressed_in="ghost">0 0 1</xyz></axis>', ["expressed_in", "ghost", "'j'"]),
        ('<axis><xyz expressed_in="world">0 0 1</xyz></axis>', ["expressed_in", "world"]),
        ("<axis/><axis><xyz>1 0 0</xyz></axis>", ["second <axis>"]),
        ("<Axis><xyz>1 0 0</xyz></Axis>", ["Axis", "<axis>"]),
        ("<axis><limit><lower>1</lower><upper>-1</upper></limit></axis>", ["limit", "lower 1.0", "upper -1.0"]),
        ("<axis><limit><lower>one</lower></limit></axis>", ["lower", "one"]),
        ("<axis><limit><upper>-1e17</upper></limit></axis>", ["limit"]),
        ("<axis><mimic><multiplier>1</multiplier></mimic></axis>", ["'joint' is missing"]),
        ('<axis><mimic joint="k"><multiplier>1</multiplier></mimic></axis>', ["leader 'k'", "'j'"]),
        ('<axis><mimic joint="a"><multiplier>1</multiplier></mimic></axis>', ["link 'a'", "no joint"]),
        ('<axis><mimic joint="j"><multiplier>1</multiplier></mimic></axis>', ["mimics itself"]),
        ('<axis><mimic joint="j" axis="axis3"><multiplier>1</multiplier></mimic></axis>', ["'axis3'", "axis2"]),
        ('<axis><mimic joint="j" axis="axis2"><multiplier>1</multiplier></mimic></axis>', ["axis 1", "'j'"]),
        ('<axis><mimic joint="j" axis="axis2"/></axis>', ["<multiplier>"]),
        ('<axis/><mimic joint="k"/>', ["mimic", "not an element of SDF here"]),
        ('<axis/><origin xyz="1 0 0"/>', ["origin", "not an element of SDF"]),
        ("<axis><limit/><limit/></axis>", ["second <limit>"]),
        ("<axis/><pose>1 2 3</pose>", ["pose", "6 numbers"]),
        ('<axis/><pose relative_to="j"/>', ["cycle", "joint 'j'"]),
        ('<axis/><pose relative="a"/>', ["'relative'", "relative_to"]),
        ('<axis/><pose frame="a"/>', ["'frame'", "'relative_to'"]),
        ('<axis/><pose degrees="yes">0 0 0 0 0 0</pose>', ["degrees", "yes"]),
        ('<axis/><pose rotation_format="quat_xyzw">0 0 0 0 0 0 0</pose>', ["quaternion", "zero"]),
        ('<axis/><pose rotation_format="quat_xyzw">0 0 0 0 0 0</pose>', ["7 numbers", "found 6"]),
        ('<axis/><pose rotation_format="quat_xyzw" degrees="1">0 0 0 0 0 0 1</pose>', ["degrees"]),
    ],
)
def test_nothing_that_moves_a_link_is_ignored_or_guessed(joint: str, words: list[str]) -> None:
    with pytest.raises(ParseError) as caught:
        parse_sdf(two_links(joint, "1.11"))
    assert caught.value.line in (5, 6)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize(
    ("kind", "inside", "words"),
    [
        ("planar", "<axis/>", ["'planar'", "valid: revolute, continuous"]),
        ("gearbox", "<axis/>", ["gearbox", "'j'"]),
        ("screw", "<axis/>", ["screw_thread_pitch"]),
        ("screw", "<axis/><thread_pitch>0</thread_pitch>", ["thread_pitch", "zero"]),
        ("universal", "<axis/>", ["<axis2>"]),
        ("", "<axis/>", ["'type' is empty"]),
    ],
)
def test_a_joint_that_can_not_be_is_refused(kind: str, inside: str, words: list[str]) -> None:
    with pytest.raises(ParseError) as caught:
        parse_sdf(two_links(inside, kind=kind))
    assert caught.value.line == 5
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize(
    ("inside", "line", "words"),
    [
        ('<link name="a"/>\n<link name="a"/>', 4, ["duplicate name 'a'", "line 3"]),
        ('<link name="a"/>\n<frame name="a"/>', 4, ["duplicate name 'a'", "link"]),
        ('<link name="a"/>\n<model name="a"><link name="b"/></model>', 4, ["duplicate name 'a'"]),
        ('<link name="a::b"/>', 3, ["'a::b'", "1.8"]),
        ('<link name="world"/>', 3, ["'world'", "reserved"]),
        ('<Link name="a"/>', 3, ["Link", "<link>"]),
        ('<link name="${prefix}a"/>', 3, ["xacro"]),
        ('<link name="a"/>\n<xacro:arm prefix="left"/>', 4, ["xacro"]),
        ('<link name="a"><origin xyz="1 0 0"/></link>', 3, ["origin"]),
        ('<link name="a"><pose relative_to="world"/></link>', 3, ["'world'", "model 'm'"]),
        ('<link name="aa"/><link name="b"><pose relative_to="a"/></link>', 3, ["'a'", "did you mean 'aa'"]),
        ('<link name="a"/>\n<frame name="f" attached_to="f"/>', 4, ["cycle", "frame 'f'"]),
        (
            '<link name="a"/>\n<frame name="f" attached_to="g"><pose relative_to="a"/></frame>\n'
            '<frame name="g" attached_to="f"><pose relative_to="a"/></frame>',
            4, ["cycle of attachments", "'f' -> frame 'g' -> frame 'f'"],
        ),
        ('<link name="a"/>\n<model name="n"><pose relative_to="n::l"/><link name="l"/></model>', 4, ["cycle", "n"]),
        ('<link name="a"/>\n<model name="n" placement_frame="k"><link name="l"/></model>', 4, ["placement_frame 'k'"]),
        ('<link name="a"/>\n<model name="n"><link name="l"><pose relative_to="a"/></link></model>', 4, ["'a'", "'n'"]),
        ('<link name="a"/>\n<model name="n"/>', 4, ["model 'n'", "no link"]),
        ('<link name="a"/>\n<joint name="j" type="fixed"><child>a</child></joint>', 4, ["'j'", "<parent>"]),
        (f'<link name="a"/>\n{FIXED.format("a", "j")}', 4, ["cycle", "'j'"]),
        (f'<link name="a"/>\n{FIXED.format("__model__", "a")}', 4, ["'j'", "one link"]),
        ('<link name="a"/>\n<include><uri>model://x</uri></include>', 4, ["'model://x'"]),
        ('<link name="a"/>\n<include/>', 4, ["<uri>"]),
    ],
)  # fmt: skip
def test_names_that_mean_nothing_or_too_much_are_refused(inside: str, line: int, words: list[str]) -> None:
    with pytest.raises(ParseError) as caught:
        parse_sdf(model(inside))
    assert caught.value.line == line
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_model_that_stands_alone_is_relative_to_nothing() -> None:
    with pytest.raises(ParseError, match="nothing is around a model"):
        parse_sdf(model('<pose relative_to="a">1 0 0 0 0 0</pose><link name="a"/>'))


TRIANGLE = '<link name="a"/><link name="b"/><link name="c"/>'


@pytest.mark.parametrize(
    ("joints", "words"),
    [
        ("ab bc ca", ["'j2' closes a loop", "from 'c' to 'a'"]),
        ("ab ac bc", ["'j2' closes a loop", "from 'b' to 'c'"]),
        ("ab ab", ["'j1' closes a loop"]),
        ("ab ba", ["'j1' closes a loop"]),
    ],
)
def test_joints_that_make_no_tree_are_refused(joints: str, words: list[str]) -> None:
    written = "".join(
        f'<joint name="j{i}" type="fixed"><parent>{ends[0]}</parent><child>{ends[1]}</child></joint>'
        for i, ends in enumerate(joints.split())
    )
    with pytest.raises(ModelError) as caught:
        parse_sdf(model(TRIANGLE + written))
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_two_ways_from_the_world_to_a_link_are_a_loop() -> None:
    written = FIXED.format("world", "a") + FIXED.format("a", "b").replace('"j"', '"k"')
    written += FIXED.format("world", "b").replace('"j"', '"l"')
    with pytest.raises(ModelError, match="'l' closes a loop: joints lead from 'world' to 'b' already"):
        parse_sdf(model(TRIANGLE + written))


@pytest.mark.parametrize("kind", ["universal", "ball"])
def test_a_joint_of_several_coordinates_can_not_be_turned_round(kind: str) -> None:
    joint = f'<joint name="j" type="{kind}"><parent>a</parent><child>world</child><axis/><axis2/></joint>'
    with pytest.raises(ModelError, match=f"{kind} joint 'j' leads up to 'world'"):
        parse_sdf(model(f'<link name="a"/>{joint}', "1.10"))


def test_a_name_longer_than_any_is_refused_before_many_are_made_of_it() -> None:
    deep = "".join(f'<model name="m{i}"><link name="l"/>' for i in range(3000)) + "</model>" * 3000
    with pytest.raises(ParseError, match="longer than 4096"):
        parse_sdf(f'<sdf version="1.9">{deep}</sdf>')


def test_a_newer_version_is_read_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert parse_sdf(model('<link name="a"/>', "1.13")).link("a")
    assert "1.13" in caplog.text


def test_what_can_not_move_a_link_is_ignored() -> None:
    text = model(
        """<static>false</static><plugin name="p" filename="f"><link name="q"/><pose>x</pose></plugin>
        <link name="a"><sensor name="s" type="camera"><pose>broken</pose></sensor><gravity>0</gravity>
        <drake:x xmlns:drake="d"/></link><gripper name="g"/><self_collide>maybe</self_collide>
        <frame name="f"><description>text</description></frame><stray> stray</stray>"""
    )
    assert where(text, "f").is_close(where(text, "a"))
