"""The same robot written in several formats is read as the same."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from pk_core.model import Robot
from pk_core.parsers import parse_mjcf, parse_sdf, parse_urdf
from pk_core.pose import Pose
from pk_core.subtree import subtree


def test_the_same_robot_in_urdf_and_mjcf_is_the_same() -> None:
    urdf = """<robot name="tiny"><link name="world"/><link name="base"/>
    <link name="arm"><inertial><origin xyz="0 0 0.1" rpy="0 0 0.5"/><mass value="2"/>
      <inertia ixx="1" ixy="0.1" ixz="0.2" iyy="2" iyz="0.3" izz="3"/></inertial>
      <visual name="v"><origin xyz="0 0 1" rpy="0.1 0.2 0.3"/><geometry><box size="1 2 3"/></geometry>
      <material name="m"><color rgba="1 0 0 1"/></material></visual>
      <collision name="c"><geometry><cylinder radius="0.1" length="0.4"/></geometry></collision></link>
    <link name="tool"/><link name="slider"/><link name="floater"/>
    <joint name="base_fixed_joint" type="fixed"><parent link="world"/><child link="base"/><origin xyz="1 2 3"/></joint>
    <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0 1" rpy="0.1 0.2 0.3"/>
      <axis xyz="0 3 4"/><limit lower="-1.5" upper="0.5" effort="10"/></joint>
    <joint name="k" type="continuous"><parent link="arm"/><child link="tool"/><axis xyz="0 0 1"/></joint>
    <joint name="p" type="prismatic"><parent link="base"/><child link="slider"/><axis xyz="1 0 0"/>
      <limit lower="0" upper="0.2"/><mimic joint="j" multiplier="0.5" offset="0.1"/></joint>
    <joint name="f" type="floating"><parent link="world"/><child link="floater"/></joint></robot>"""
    mjcf = """<mujoco model="tiny"><compiler angle="radian" eulerseq="XYZ"/><worldbody><body name="base" pos="1 2 3">
    <body name="arm" pos="0 0 1" euler="0.1 0.2 0.3">
    <joint name="j" axis="0 3 4" range="-1.5 0.5" actuatorfrcrange="-10 10"/>
    <inertial pos="0 0 0.1" euler="0 0 0.5" mass="2" fullinertia="1 2 3 0.1 0.2 0.3"/>
    <geom name="v" type="box" size="0.5 1 1.5" pos="0 0 1" euler="0.1 0.2 0.3" rgba="1 0 0 1" contype="0"
    conaffinity="0"/>
    <geom name="c" type="cylinder" size="0.1 0.2" group="3"/><body name="tool"><joint name="k"/></body></body>
    <body name="slider"><joint name="p" type="slide" axis="1 0 0" range="0 0.2"/></body></body>
    <body name="floater"><freejoint name="f"/></body></worldbody>
    <equality><joint joint1="p" joint2="j" polycoef="0.1 0.5"/></equality></mujoco>"""
    assert_equal(parse_urdf(urdf), parse_mjcf(mjcf, fold_equalities=True))


def test_the_same_robot_in_three_formats_is_the_same_below_its_base() -> None:
    """What stands above the base is the formats' own affair: SDF and MJCF have a world."""
    urdf = """<robot name="trio"><link name="base"/><link name="arm"><collision name="c"><origin xyz="0 0 0.2"/>
      <geometry><cylinder radius="0.1" length="0.4"/></geometry></collision></link><link name="tool"/><link name="slider"/>
    <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><origin xyz="0 0.1 1" rpy="0.1 0.2 0.3"/>
      <axis xyz="0 3 4"/><limit lower="-1.5" upper="0.5" effort="10"/></joint>
    <joint name="k" type="continuous"><parent link="arm"/><child link="tool"/><origin xyz="0 0 0.4" rpy="0 1.2 0"/>
      <axis xyz="0 0 1"/></joint>
    <joint name="p" type="prismatic"><parent link="base"/><child link="slider"/><axis xyz="1 0 0"/>
      <limit lower="0" upper="0.2"/></joint></robot>"""
    mjcf = """<mujoco model="trio"><compiler angle="radian" eulerseq="XYZ"/><worldbody><body name="base">
    <body name="arm" pos="0 0.1 1" euler="0.1 0.2 0.3"><joint name="j" axis="0 3 4" range="-1.5 0.5"
    actuatorfrcrange="-10 10"/><geom name="c" type="cylinder" size="0.1 0.2" pos="0 0 0.2" group="3"/>
    <body name="tool" pos="0 0 0.4" euler="0 1.2 0"><joint name="k"/></body></body>
    <body name="slider"><joint name="p" type="slide" axis="1 0 0" range="0 0.2"/></body></body></worldbody></mujoco>"""
    sdf = """<sdf version="1.9"><model name="trio"><link name="base"/>
    <link name="arm"><pose>0 0.1 1 0.1 0.2 0.3</pose><collision name="c"><pose>0 0 0.2 0 0 0</pose>
      <geometry><cylinder><radius>0.1</radius><length>0.4</length></cylinder></geometry></collision></link>
    <link name="tool"><pose relative_to="arm">0 0 0.4 0 1.2 0</pose></link><link name="slider"/>
    <joint name="j" type="revolute"><parent>base</parent><child>arm</child><axis><xyz>0 3 4</xyz>
      <limit><lower>-1.5</lower><upper>0.5</upper><effort>10</effort></limit></axis></joint>
    <joint name="k" type="continuous"><parent>arm</parent><child>tool</child><axis><xyz>0 0 1</xyz></axis></joint>
    <joint name="p" type="prismatic"><parent>base</parent><child>slider</child><axis><xyz>1 0 0</xyz>
      <limit><lower>0</lower><upper>0.2</upper></limit></axis></joint></model></sdf>"""
    one, two, three = (subtree(robot, "base") for robot in (parse_urdf(urdf), parse_mjcf(mjcf), parse_sdf(sdf)))
    assert_equal(one, two)
    assert_equal(one, three)


def assert_equal(one: Robot, other: Robot) -> None:
    """Compare all that robots hold but the order of their links and joints; numbers to 12 digits."""
    assert (one.name, one.root, one.frames) == (other.name, other.root, other.frames)
    for what in ("links", "joints"):
        first, second = ({part.name: part for part in getattr(robot, what)} for robot in (one, other))
        assert first.keys() == second.keys()
        for name in first:
            assert rounded(first[name]) == rounded(second[name]), name


def rounded(value: Any) -> Any:
    """Give what compares to 12 digits: the fields of a dataclass that take part in comparisons, tuples, numbers."""
    if isinstance(value, float):
        return round(value, 12) + 0.0  # no -0.0
    if isinstance(value, Pose):
        return rounded((value.xyz, value.rotation))
    if isinstance(value, tuple):
        return tuple(map(rounded, value))
    if is_dataclass(value):
        return {field.name: rounded(getattr(value, field.name)) for field in fields(value) if field.compare}
    return value
