"""Mutated descriptions end as a valid robot or as an error of pk, soon: never in another exception or a hang."""

from __future__ import annotations

import time
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutations import mutate, mutation
from plain_kinematics import link_poses

from pk_core.errors import PkError
from pk_core.model import JointType
from pk_core.parsers import parse_urdf
from pk_core.validation import validate

DATA = Path(__file__).parents[1] / "data"
SEEDS = [path.read_bytes() for folder in ("robots", "malformed") for path in sorted((DATA / folder).glob("*urdf*"))]

SMALL = b"""<?xml version="1.0"?>
<robot name="r"><material name="m"><color rgba="1 0 0 1"/></material>
<link name="a"><visual><origin xyz="0 0 1"/><geometry><box size="1 1 1"/></geometry><material name="m"/></visual></link>
<link name="b"><inertial><mass value="1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>
<link name="c"/><link name="d"/>
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/><limit lower="-1"/></joint>
<joint name="k" type="prismatic"><parent link="b"/><child link="c"/><mimic joint="j" multiplier="2" offset="1"/></joint>
<joint name="l" type="floating"><parent link="c"/><child link="d"/><origin xyz="1 2 3" rpy="0.1 0.2 0.3"/></joint>
</robot>
"""

# What may stand where something else stood: numbers that aren't, names of others, tags, markup.
ODD = [
    b"", b" ", b"0", b"-1", b"1e308", b"1e999", b"nan", b"inf", b"1_0", b"0x1", b"1 2 3", b"a", b"b", b"j", b"k",
    b"revolute", b"continuous", b"planar", b"floating", b"fixed", b"link", b"joint", b"robot", b"origin", b"mimic",
    b"<", b">", b"/>", b'"', b"&", b"&amp;", b"&x;", b"]]>", b"<!--", b"-->", b"<?", b"<![CDATA[", b"\0", b"\xff",
    "手".encode(), b"\xef\xbb\xbf", b"${x}", b"$(find x)", b"<xacro:x/>", b'<!DOCTYPE r [<!ENTITY x "y">]>',
    b"x" * 5000, b"<a>" * 3000, b"</a>" * 3000, b"9" * 5000,
]  # fmt: skip


def check(data: str | bytes) -> None:
    """Read a description and use what comes out."""
    start = time.process_time()
    try:
        robot = parse_urdf(data, source="fuzz.urdf")
    except PkError as error:
        assert "fuzz.urdf" in str(error)
    else:
        validate(robot)
        assert len(list(robot.walk())) == len(robot.links)
        if all(joint.type is not JointType.PLANAR for joint in robot.joints):
            link_poses(robot, {})
    assert time.process_time() - start < 2.0


@settings(max_examples=350, suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example])
@given(st.sampled_from([SMALL, *SEEDS]), st.lists(mutation, max_size=6), st.booleans())
def test_a_mutated_description_is_read_or_refused(
    seed: bytes, mutations: list[tuple[str, int, int]], as_text: bool
) -> None:
    data = mutate(seed, mutations, ODD)
    check(data.decode("utf-8", errors="surrogateescape") if as_text else data)


@settings(max_examples=60)
@given(st.one_of(st.binary(max_size=200), st.text(max_size=200)))
def test_noise_is_refused(data: str | bytes) -> None:
    check(data)


numbers = st.one_of(st.floats().map(repr), st.sampled_from(["", "1 2", "1_0", "x", "-0", "1e400", "５"]))  # noqa: RUF001
triples = st.one_of(numbers, st.lists(numbers, min_size=3, max_size=3).map(" ".join))
names = st.sampled_from(["a", "b", "c", "d", "e"])
joints = st.builds(
    '<joint name="{}" type="{}"><parent link="{}"/><child link="{}"/><origin xyz="{}"/>{}</joint>'.format,
    st.sampled_from(["j", "k", "l", "m"]),
    st.sampled_from(["revolute", "continuous", "prismatic", "fixed", "floating"]),
    names,
    names,
    st.one_of(st.just("0 0 1"), triples),
    st.one_of(
        st.just(""),
        st.builds('<axis xyz="{}"/>'.format, triples),
        st.builds('<mimic joint="{}" offset="{}"/>'.format, st.sampled_from(["j", "k", "l", "m"]), numbers),
        st.builds('<limit lower="{}" upper="{}" velocity="{}"/>'.format, numbers, numbers, numbers),
    ),
)


@settings(max_examples=250)
@given(st.lists(names, max_size=5), st.lists(joints, max_size=4))
def test_any_joints_between_any_links_are_a_tree_or_refused(links: list[str], joints: list[str]) -> None:
    check('<robot name="r">' + "".join(f'<link name="{name}"/>' for name in links) + "".join(joints) + "</robot>")
