"""Generated MJCF models stand where MuJoCo puts them, and mutated ones end as a robot or as an error of pk, soon."""

from __future__ import annotations

import time

import mujoco
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from mujoco_oracle import GEOM, assert_as_in_mujoco
from mutations import mutate, mutation
from test_urdf_fuzz import ODD

from pk_core.errors import PkError
from pk_core.flatten import flatten
from pk_core.parsers import parse_mjcf
from pk_core.validation import validate

number = st.integers(-300, 300).map(lambda k: k / 100)
angle = st.integers(-300, 300)
classes = st.sampled_from(["", "", "arm", "wrist", "main"])


def numbers(size: int, one: st.SearchStrategy = number) -> st.SearchStrategy[str]:
    return st.lists(one, min_size=size, max_size=size).map(lambda values: " ".join(map(str, values)))


def direction(size: int = 3) -> st.SearchStrategy[str]:
    vectors = st.lists(number, min_size=size, max_size=size).filter(lambda v: sum(map(abs, v)) > 0.1)
    return vectors.map(lambda values: " ".join(map(str, values)))


def parallel(text: str) -> bool:
    a, b, c, d, e, f = map(float, text.split())
    return abs(b * f - c * e) + abs(c * d - a * f) + abs(a * e - b * d) < 0.1


orientation = st.one_of(
    st.just(""),
    numbers(3, angle).map('euler="{}"'.format),
    direction(4).map('quat="{}"'.format),
    direction().map('zaxis="{}"'.format),
    numbers(6).filter(lambda text: not parallel(text)).map('xyaxes="{}"'.format),
    st.builds('axisangle="{} {}"'.format, direction(), angle),
)
pose = st.builds('pos="{}" {}'.format, numbers(3), orientation)
attributes = st.builds(
    "{} {} {} {} {}".format,
    st.one_of(st.just(""), numbers(3).map('pos="{}"'.format)),
    st.one_of(st.just(""), direction().map('axis="{}"'.format)),
    st.one_of(st.just(""), angle.map('ref="{}"'.format)),
    st.sampled_from(["", 'range="-20 35"', 'range="1 2" limited="false"', 'limited="auto" range="-1 0"']),
    st.sampled_from(["", "", 'actuatorfrcrange="-1 2"']),
)
joint = st.builds(
    '<joint {} {} {}/>'.format,
    st.sampled_from(["", "", 'type="slide"']),
    attributes,
    classes.map(lambda name: f'class="{name}"' if name else ""),
)  # fmt: skip
ball = st.builds('<joint type="ball" range="0 0" pos="{}"/>'.format, numbers(3))
joints = st.one_of(
    st.lists(joint, max_size=3).map("".join), st.builds("{}{}".format, st.one_of(st.just(""), joint), ball)
)
childclass = classes.map(lambda name: f'childclass="{name}"' if name else "")
site = st.one_of(st.just(""), pose.map('<site {}/>'.format))  # fmt: skip


def bodies(below: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.builds(f"<body {{}} {{}}>{GEOM}{{}}{{}}{{}}</body>".format, pose, childclass, site, below, joints)
    framed = st.builds("<frame {} {}>{}{}</frame>".format, pose, childclass, body, body)
    copied = st.builds(
        '<replicate count="{}" offset="{}" euler="{}">{}</replicate>'.format,
        st.integers(1, 3), numbers(3), numbers(3, angle), body,
    )  # fmt: skip
    return st.one_of(body, st.builds("{}{}".format, body, body), framed, copied)


free = st.builds(f"<body {{}}>{GEOM}<freejoint/>{{}}</body>".format, pose, bodies(st.just("")))
models = st.builds(
    '<mujoco><compiler angle="{}" eulerseq="{}"/><default><joint {}/><site {}/><default class="arm"><joint {}/>'
    '<default class="wrist"><joint {}/></default></default></default><worldbody>{}{}</worldbody></mujoco>'.format,
    st.sampled_from(["degree", "radian"]),
    st.text("xyzXYZ", min_size=3, max_size=3),
    attributes,
    pose,
    attributes,
    attributes,
    st.one_of(st.just(""), free),
    st.recursive(st.just(""), bodies, max_leaves=8),
)


def named(text: str) -> str:
    """Give every site a name, so that it is compared."""
    head, *tail = text.split("<site ")
    return head + "".join(f'<site name="s{k}_" {part}' for k, part in enumerate(tail)).replace('name="s0_" ', "", 1)


@settings(max_examples=120, suppress_health_check=list(HealthCheck))
@given(models, st.integers(0, 1000))
def test_a_generated_model_stands_where_mujoco_puts_it(text: str, seed: int) -> None:
    text = named(text)
    assume(text.count("<body") < 200)
    assert_as_in_mujoco(text, n=2, seed=seed)


SEED = b"""<mujoco model="m"><compiler angle="radian" eulerseq="XYZ" autolimits="true"/>
<default><joint axis="1 0 0"/><default class="a"><joint ref="1" range="0 1"/><site euler="0 0 1"/></default></default>
<asset><model name="kid" file="kid.xml"/><mesh name="s" file="s.stl" scale="1 1 1"/></asset>
<worldbody><body name="b" pos="0 0 1" childclass="a"><freejoint align="false"/><geom type="box" size="1 1 1"/>
<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><body name="c" quat="1 0 0 0"><joint name="j"/><joint type="ball"/>
<site name="s" fromto="0 0 0 0 0 1" type="capsule"/></body></body>
<frame name="f" euler="0 0 1"><replicate count="3" offset="1 0 0" sep="-"><body name="r"><joint name="k" class="a"/>
<joint type="slide" name="l"/></body></replicate></frame><body mocap="true"/><include file="part.xml"/>
<attach model="kid" body="kb" prefix="x_"/><attach frame="f" prefix="y_"/></worldbody>
<equality><joint joint1="k" joint2="l" polycoef="0 1"/></equality></mujoco>
"""
ASSETS = {
    "part.xml": b'<part><body name="p"><joint/><include file="more.xml"/></body></part>',
    "more.xml": b'<more><site name="more"/></more>',
    "kid.xml": b'<mujoco><worldbody><body name="kb"><joint name="kj" axis="0 1 0"/></body></worldbody></mujoco>',
}


@settings(max_examples=400, suppress_health_check=list(HealthCheck))
@given(st.lists(mutation, max_size=6), st.booleans(), st.sampled_from(["main", *ASSETS]))
def test_a_mutated_model_is_read_or_refused(mutations: list[tuple[str, int, int]], fold: bool, which: str) -> None:
    files = {"main": SEED, **ASSETS}
    files[which] = mutate(files[which], mutations, ODD)
    start = time.process_time()
    try:
        robot = parse_mjcf(files.pop("main"), assets=files, fold_equalities=fold, source="fuzz.xml")
    except PkError as error:
        assert ".xml" in str(error)
    else:
        flatten(validate(robot))
        assert len(list(robot.walk())) == len(robot.links)
    assert time.process_time() - start < 2.0


def test_the_seed_of_the_mutations_is_a_robot() -> None:
    robot = parse_mjcf(SEED, assets=ASSETS, fold_equalities=True)
    assert {"x_kb", "y_r-0", "p", "c"} <= {link.name for link in robot.links}
    assert robot.joint("k-1").mimic.joint == "l-1"
    with pytest.raises(ValueError, match="s.stl"):  # MuJoCo wants the mesh, which moves nothing
        mujoco.MjModel.from_xml_string(SEED.decode(), assets=ASSETS)
