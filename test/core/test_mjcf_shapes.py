"""Geoms and inertia ride along on the bodies of MJCF, and can't stop them."""

from __future__ import annotations

import logging

import pytest
from mujoco_oracle import world

from pk_core.model import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Inertial,
    Mesh,
    Plane,
    Shape,
    Sphere,
    UnknownGeometry,
)
from pk_core.parsers import parse_mjcf
from pk_core.pose import Pose

SHAPES = {
    'type="box" size="1 2 3"': Box((2.0, 4.0, 6.0)),
    'size="0.5"': Sphere(0.5),
    'type="cylinder" size="1 2"': Cylinder(1.0, 4.0),
    'type="capsule" size="1 2"': Capsule(1.0, 4.0),
    'type="ellipsoid" size="1 2 3"': Ellipsoid((1.0, 2.0, 3.0)),
    'type="plane" size="1 2 0.1"': Plane(size=(2.0, 4.0)),
    'type="mesh" mesh="arm"': Mesh("meshes/arm.stl", (1.0, 2.0, 1.0)),
    'type="mesh" mesh="hand"': Mesh("meshes/hand.obj", (0.5, 0.5, 0.5)),
    'type="box" mesh="arm"': Mesh("meshes/arm.stl", (1.0, 2.0, 1.0)),
    'type="mesh" mesh="?"': UnknownGeometry("mesh"),
    'type="hfield" hfield="h"': UnknownGeometry("hfield"),
    'type="sdf" mesh="arm"': UnknownGeometry("sdf"),
    'type="capsule" size="0.1" fromto="0 0 0 0 0 2"': Capsule(0.1, 2.0),
    'type="box" size="0.1" fromto="0 0 0 0 0 2"': Box((0.2, 0.2, 2.0)),
}
ASSET = """<compiler meshdir="meshes"/><default><mesh scale="0.5 0.5 0.5"/></default><asset>
    <mesh name="arm" file="arm.stl"
scale="1 2 1"/><mesh file="hand.obj"/><mesh name="bad" file="x" scale="1"/>
    <material name="red" rgba="1 0 0 1"/></asset>"""


@pytest.mark.parametrize("written", SHAPES)
def test_a_geom_rides_along(written: str) -> None:
    (shape,) = parse_mjcf(world(f"<body><geom {written}/></body>", ASSET)).links[1].visuals
    assert shape.geometry == SHAPES[written]


def test_a_geom_by_its_ends_stands_between_them() -> None:
    (shape,) = parse_mjcf(world('<geom type="capsule" size="1" fromto="0 0 1 0 0 3"/>')).links[0].visuals
    assert shape.origin.is_close(Pose((0.0, 0.0, 2.0), ((1.0, 0.0, 0.0), (0.0, -1.0, 0.0), (0.0, 0.0, -1.0))))


def test_geoms_are_seen_or_collide_or_both() -> None:
    geoms = (
        '<geom name="both" material="red"/><geom name="seen" contype="0" conaffinity="0" group="4" rgba="0 1 0 1"/>'
        '<geom name="hits" group="3"/>'
    )
    link = parse_mjcf(world(f'<body><frame pos="0 0 1">{geoms}</frame></body>', ASSET)).links[1]
    assert [(shape.name, shape.rgba) for shape in link.visuals] == [("both", (1, 0, 0, 1)), ("seen", (0, 1, 0, 1))]
    assert [(shape.name, shape.rgba) for shape in link.collisions] == [("both", None), ("hits", None)]
    assert {shape.origin.xyz for shape in (*link.visuals, *link.collisions)} == {(0.0, 0.0, 1.0)}


def test_what_rides_along_can_not_stop_the_kinematics(caplog: pytest.LogCaptureFixture) -> None:
    wrong = (
        '<geom name="g" type="cone"/><geom class="?"/><geom size="x"/><geom pos="1"/><inertial mass="x" pos="0 0 0"/>'
    )
    with caplog.at_level(logging.WARNING, logger="pk_core.parsers"):
        robot = parse_mjcf(world(f'<body name="a">{wrong}<joint name="j"/></body>'), source="my.xml")
    link = robot.link("a")
    assert link.visuals[0] == Shape(UnknownGeometry("geom"), name="g") and len(link.visuals) == 4
    assert link.inertial is None and robot.joint("j")
    assert len(caplog.records) == 5 and "my.xml, line 1" in caplog.text and "cone" in caplog.text


def test_inertia_is_read_in_its_frame() -> None:
    inertials = (
        '<inertial pos="1 0 0" mass="2" fullinertia="1 2 3 4 5 6"/>',
        '<frame pos="1 0 0"><inertial pos="0 0 0" mass="2" diaginertia="1 2 3"/></frame>',
        '<inertial pos="0 0 0" mass="2"/>',
    )
    links = parse_mjcf(world("".join(f"<body>{inertial}</body>" for inertial in inertials))).links[1:]
    assert [link.inertial for link in links] == [
        Inertial(2.0, (1.0, 4.0, 5.0, 2.0, 6.0, 3.0), Pose((1.0, 0.0, 0.0))),
        Inertial(2.0, (1.0, 0.0, 0.0, 2.0, 0.0, 3.0), Pose((1.0, 0.0, 0.0))),
        Inertial(2.0),
    ]
