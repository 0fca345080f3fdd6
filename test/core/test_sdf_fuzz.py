"""Mutated SDF ends as a valid robot or as an error of pk, soon: never in another exception or a hang."""

from __future__ import annotations

import time

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutations import mutate, mutation

from pk_core.errors import PkError
from pk_core.flatten import flatten
from pk_core.parsers import parse_sdf
from pk_core.parsers.sdf.scopes import MAX_NAME_LENGTH
from pk_core.validation import validate

MODEL = b"""<?xml version="1.0"?>
<sdf version="1.11"><model name="m" canonical_link="b" placement_frame="f"><pose degrees="true">1 2 3 4 5 6</pose>
<link name="a"><visual name="v"><pose relative_to="f"/><geometry><box><size>1 1 1</size></box></geometry></visual>
</link>
<link name="b"><pose relative_to="j">0 0 1 0 0 0</pose></link><link name="c"/><link name="d"/>
<frame name="f" attached_to="n::k"><pose rotation_format="quat_xyzw">0 0 0 0 0 0 1</pose></frame>
<joint name="j" type="revolute"><pose relative_to="a"/><parent>a</parent><child>b</child><axis>
<xyz expressed_in="f">0 0 1</xyz><limit><lower>-1</lower><upper>1e16</upper></limit></axis></joint>
<joint name="k" type="universal"><parent>b</parent><child>c</child><axis/><axis2><xyz>1 0 0</xyz>
<mimic joint="j" axis="axis"><multiplier>2</multiplier></mimic></axis2></joint>
<joint name="l" type="screw"><parent>c</parent><child>n::k</child><axis/><thread_pitch>2</thread_pitch></joint>
<model name="n" placement_frame="k"><pose relative_to="d"/><link name="k"/></model>
</model></sdf>
"""
WORLD = b"""<sdf version="1.7"><world name="w"><frame name="f"><pose>1 0 0 0 0 0</pose></frame>
<model name="m"><pose relative_to="f"/><link name="a"/><frame name="n::__model__" attached_to="n::a"/>
<link name="n::a"/>
<joint name="j" type="ball"><parent>a</parent><child>n</child></joint></model>
<joint name="k" type="fixed"><parent>world</parent><child>m::a</child></joint>
<include><uri>x</uri></include></world></sdf>
"""
OLD = b"""<gazebo version="1.0"><model name="m"><origin pose="1 0 0 0 0 0"/><link name="a"/><link name="b"/>
<joint name="a" type="prismatic"><parent link="a"/><child link="b"/><axis xyz="0 0 1"><limit lower="0"/></axis></joint>
</model></gazebo>
"""

# What may stand where something else stood: numbers that aren't, names of others, versions, tags, markup.
ODD = [
    b"", b" ", b"0", b"-1", b"1e308", b"1e999", b"nan", b"inf", b"1_0", b"1 2 3", b"a", b"b", b"f", b"j", b"m", b"n",
    b"world", b"__model__", b"n::__model__", b"m::n", b"::", b"x::", b"1.0", b"1.4", b"1.6", b"1.8", b"1.10", b"2.0",
    b"true", b"fixed", b"revolute", b"revolute2", b"gearbox", b"ball", b"link", b"joint", b"frame", b"model", b"pose", b"axis",
    b"mimic", b"<", b">", b"/>", b'"', b"&", b"&x;", b"<!--", b"-->", b"<?", b"<![CDATA[", b"\0", b"\xff", "手".encode(),
    b"x" * 5000, b'<model name="z">' * 500, b"</model>" * 500, b'<!DOCTYPE r [<!ENTITY x "y">]>', b"9" * 5000,
]  # fmt: skip


def include(uri: str, including: str) -> tuple[bytes, str]:
    """Give a small file for every uri."""
    return MODEL, f"{including}/{uri}"


def check(data: str | bytes) -> None:
    """Read a description and use what comes out."""
    start = time.process_time()
    try:
        robot = parse_sdf(data, source="fuzz.sdf", read_include=include)
    except PkError as error:
        assert "fuzz.sdf" in str(error)
    else:
        validate(robot)
        assert len(list(robot.walk())) == len(robot.links)
        assert all(len(link.name) <= MAX_NAME_LENGTH for link in robot.links)
        flatten(robot)
    assert time.process_time() - start < 2.0


@settings(max_examples=500, suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example])
@given(st.sampled_from([MODEL, WORLD, OLD]), st.lists(mutation, max_size=5), st.booleans())
def test_a_mutated_description_is_read_or_refused(
    seed: bytes, mutations: list[tuple[str, int, int]], as_text: bool
) -> None:
    data = mutate(seed, mutations, ODD)
    check(data.decode("utf-8", errors="surrogateescape") if as_text else data)


OUTER, INNER = ("b", "c", "d", "j", "k", "f", "g"), ("b", "j", "k", "f")
JOINT = """<joint name="{}" type="{}"><parent>{}</parent><child>{}</child>{}<axis>{}</axis>
<axis2><xyz>1 0 0</xyz>{}</axis2></joint>"""
KINDS = ("revolute", "fixed", "ball", "universal", "prismatic", "continuous")


def part(draw: st.DrawFn, name: str, references: st.SearchStrategy[str]) -> str:
    """Write a link, frame or joint of this name."""
    pose = draw(st.one_of(st.just(""), st.builds('<pose relative_to="{}">1 0 0 0 0 1</pose>'.format, references)))
    kind = draw(st.sampled_from(["link", "frame", "joint", "joint"]))
    if kind == "link":
        return f'<link name="{name}">{pose}</link>'
    if kind == "frame":
        return f'<frame name="{name}" attached_to="{draw(references)}">{pose}</frame>'
    mimic = '<mimic joint="{}" axis="{}"><multiplier>2</multiplier></mimic>'.format
    follow = st.one_of(st.just(""), st.builds(mimic, references, st.sampled_from(["axis", "axis2"])))
    axis = draw(st.one_of(follow, st.builds('<xyz expressed_in="{}">0 0 1</xyz>'.format, references)))
    parent = draw(st.one_of(references, st.just("world")))
    return JOINT.format(name, draw(st.sampled_from(KINDS)), parent, draw(references), pose, axis, draw(follow))


@st.composite
def descriptions(draw: st.DrawFn) -> str:
    """Write a model with a nested one, whose parts refer to each other at will."""
    inner_names = draw(st.lists(st.sampled_from(INNER), unique=True))
    inner_references = st.sampled_from(["a", *inner_names, "__model__"])
    inner = "".join(part(draw, name, inner_references) for name in inner_names)
    outer_names = draw(st.lists(st.sampled_from(OUTER), unique=True))
    references = st.sampled_from(["a", *outer_names, "n", "n::a", *(f"n::{name}" for name in inner_names), "__model__"])
    outer = "".join(part(draw, name, references) for name in outer_names)
    placed, place = draw(st.one_of(st.just(""), inner_references)), draw(st.one_of(st.just(""), references))
    nested = f'<model name="n" placement_frame="{placed}"><pose relative_to="{place}"/><link name="a"/>{inner}</model>'
    order = [nested, outer] if draw(st.booleans()) else [outer, nested]
    return f'<link name="a"/>{order[0]}{order[1]}'


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["1.4", "1.6", "1.7", "1.10"]), descriptions(), st.booleans())
def test_any_names_in_any_order_are_a_tree_or_refused(version: str, inside: str, in_world: bool) -> None:
    model = f'<model name="m">{inside}</model>'
    outer = f'<world name="w">{model}</world>' if in_world else model
    check(f'<sdf version="{version}">{outer}</sdf>')
