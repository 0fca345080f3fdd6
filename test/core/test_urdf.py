"""What URDF means, told by tiny robots."""

from __future__ import annotations

import math
import subprocess
import sys
import time
from pathlib import Path

import pytest
from plain_kinematics import link_poses, rotation_about

from pk_core.model import Box, Capsule, Cylinder, Inertial, JointType, Mesh, Mimic, Robot, Sphere, UnknownGeometry
from pk_core.parsers import parse_urdf
from pk_core.pose import IDENTITY, Pose

REPOSITORY = Path(__file__).parents[2]
ROBOTS = REPOSITORY / "test" / "data" / "robots"
INF = math.inf


def one_joint(inner: str = "", kind: str = "revolute") -> Robot:
    return parse_urdf(
        f'<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="{kind}">'
        f'<parent link="a"/><child link="b"/>{inner}</joint></robot>'
    )


def one_link(inner: str, top: str = "") -> Robot:
    return parse_urdf(f'<robot name="r">{top}<link name="a">{inner}</link></robot>')


@pytest.mark.parametrize("kind", ["revolute", "continuous", "prismatic", "fixed", "floating", "planar"])
def test_a_joint_of_each_type_has_the_axes_it_needs(kind: str) -> None:
    joint = one_joint('<axis xyz="0 0 1"/>', kind).joint("j")
    assert joint.type is JointType(kind)
    assert joint.axis == (None if kind in ("fixed", "floating") else (0.0, 0.0, 1.0))


def test_a_missing_axis_is_x() -> None:
    assert one_joint().joint("j").axis == (1.0, 0.0, 0.0)


@pytest.mark.parametrize("scale", [1.0, 1e-5, 1e300, 1e-300])
def test_an_axis_of_any_length_becomes_a_unit_vector(scale: float) -> None:
    axis = one_joint(f'<axis xyz="0 {3 * scale} {-4 * scale}"/>', "prismatic").joint("j").axis
    assert axis == pytest.approx((0.0, 0.6, -0.8), abs=1e-15)


def test_the_axis_of_a_fixed_joint_says_nothing_not_even_zero() -> None:
    assert one_joint('<axis xyz="0 0 0"/><limit lower="1" upper="0"/>', "fixed").joint("j").axes == ()


def test_roll_pitch_yaw_turn_about_fixed_axes_in_this_order() -> None:
    roll, pitch, yaw = 0.3, -0.4, 0.5
    origin = one_joint(f'<origin xyz="1 2 3" rpy="{roll} {pitch} {yaw}"/>').joint("j").origin
    x, y, z = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
    turned = rotation_about(z, yaw) @ rotation_about(y, pitch) @ rotation_about(x, roll)
    assert origin.is_close(Pose((1, 2, 3)) @ turned)


def test_a_quaternion_origin_has_its_real_part_last_and_any_length() -> None:
    s, c = math.sin(0.35), math.cos(0.35)
    origin = one_joint(f'<origin quat_xyzw="0 0 {2 * s} {2 * c}"/>').joint("j").origin
    assert origin.is_close(rotation_about((0.0, 0.0, 1.0), 0.7))


@pytest.mark.parametrize(
    ("kind", "limit", "expected"),
    [
        ("revolute", "", (-INF, INF)),
        ("revolute", '<limit effort="1" velocity="1"/>', (-INF, INF)),
        ("revolute", '<limit lower="-1" upper="2"/>', (-1.0, 2.0)),
        ("revolute", '<limit lower="0" upper="0"/>', (0.0, 0.0)),
        ("revolute", '<limit lower="-inf" upper="inf"/>', (-INF, INF)),
        ("prismatic", '<limit upper="0.4"/>', (0.0, 0.4)),
        ("prismatic", '<limit lower="-0.4"/>', (-0.4, 0.0)),
        ("continuous", '<limit lower="-1" upper="1"/>', (-INF, INF)),
        ("continuous", '<limit lower="1" upper="-1"/>', (-INF, INF)),
        ("planar", '<limit lower="-1" upper="1"/>', (-INF, INF)),
    ],
)
def test_position_limits_are_those_of_the_file_or_none(kind: str, limit: str, expected: tuple[float, float]) -> None:
    assert one_joint(limit, kind).joint("j").limits == expected


def test_velocity_and_effort_below_zero_or_missing_mean_no_limit() -> None:
    joint = one_joint('<limit velocity="-1" effort="2.5"/>', "continuous").joint("j")
    assert joint.velocity_limits == (-INF, INF)
    assert joint.effort_limits == (-2.5, 2.5)
    assert one_joint('<limit velocity="0"/>').joint("j").velocity_limits == (0.0, 0.0)


def test_soft_limits_and_dynamics_do_not_touch_the_joint() -> None:
    plain = one_joint('<limit lower="-1" upper="1"/>')
    extra = '<safety_controller soft_lower_limit="-0.1" soft_upper_limit="0.1" k_velocity="x"/><dynamics damping="1"/>'
    assert one_joint(f'<limit lower="-1" upper="1"/>{extra}<calibration rising="0"/>') == plain


def test_a_mimic_is_kept_as_written_with_its_defaults() -> None:
    robot = parse_urdf((ROBOTS / "syn_urdf_tricky_a.urdf").read_bytes())
    assert robot.joint("j_mimic2").mimic == Mimic("j_mimic1", -0.25, 0.1)
    assert robot.joint("j_mimic1").mimic == Mimic("j_lead", 2.0, -0.5)
    assert robot.joint("j_lead").mimic is None


def test_a_mimic_of_a_mimic_declared_before_its_leaders_follows_the_first_leader() -> None:
    robot = parse_urdf((ROBOTS / "syn_urdf_tricky_a.urdf").read_bytes())
    poses = link_poses(robot, {"j_lead": 0.7})
    joint = robot.joint("j_mimic2")
    slide = (poses["arm 2"] @ joint.origin).inverse() @ poses["slider"]
    value = -0.25 * (2.0 * 0.7 - 0.5) + 0.1
    assert slide.is_close(Pose((0.0, 0.6 * value, 0.8 * value)))


def test_blanks_of_every_kind_may_stand_between_numbers() -> None:
    robot = parse_urdf((ROBOTS / "syn_urdf_whitespace.urdf").read_bytes())
    assert robot.name == "ws"
    assert robot.joint("j1").origin == Pose.from_xyz_rpy((0.1, -0.025, 0.3), (0.1, 0.2, 0.3))
    assert robot.joint("j1").limits == (-1.0, 1.0)


def test_a_planar_joint_keeps_the_normal_of_its_plane() -> None:
    robot = parse_urdf((ROBOTS / "syn_urdf_planar_z.urdf").read_bytes())
    assert robot.joint("planar_base").axis == (0.0, 0.0, 1.0)
    assert robot.joint("planar_base").nq == 3


def test_names_may_hold_blanks_slashes_and_any_letters() -> None:
    robot = parse_urdf((ROBOTS / "syn_urdf_tricky_a.urdf").read_bytes())
    assert robot.root == "base/link"
    assert robot.link("geländer_手").line == 45


def test_a_link_and_a_joint_may_share_a_name() -> None:
    robot = parse_urdf((ROBOTS / "syn_urdf_tricky_a.urdf").read_bytes())
    assert robot.joint("same_name").child == robot.link("same_name").name


def test_elements_inside_extensions_are_no_links_and_joints() -> None:
    robot = parse_urdf(
        '<robot name="r"><link name="a"/><gazebo><link name="b"/></gazebo>'
        '<transmission><joint name="j"/></transmission>'
        '<ros2_control><joint name="k" type="x"/></ros2_control><drake:joint name="l"/></robot>'
    )
    assert ([link.name for link in robot.links], robot.joints) == (["a"], ())


def test_every_visual_and_collision_is_kept_whatever_its_geometry() -> None:
    shapes = {
        '<box size="1 2 3"/>': Box((1.0, 2.0, 3.0)),
        '<cylinder radius="1" length="2"/>': Cylinder(1.0, 2.0),
        '<sphere radius="0.5"/>': Sphere(0.5),
        '<capsule radius="1" length="2"/>': Capsule(1.0, 2.0),
        '<mesh filename="package://p/m.stl" scale="1 1 -1"/>': Mesh("package://p/m.stl", (1.0, 1.0, -1.0)),
        '<mesh filename="m.dae"/>': Mesh("m.dae"),
        "<torus/>": UnknownGeometry("torus"),
        "": UnknownGeometry(""),
    }
    for tag in ("visual", "collision"):
        inner = "".join(f"<{tag}><geometry>{written}</geometry></{tag}>" for written in shapes)
        link = one_link(inner).link("a")
        assert [shape.geometry for shape in getattr(link, f"{tag}s")] == list(shapes.values())


def test_a_shape_has_a_name_and_an_origin() -> None:
    link = one_link('<visual name="v"><origin xyz="1 2 3"/><geometry><sphere radius="1"/></geometry></visual>').link(
        "a"
    )
    (shape,) = link.visuals
    assert (shape.name, shape.origin, shape.rgba) == ("v", Pose((1.0, 2.0, 3.0)), None)


def test_a_colour_is_that_of_the_visual_or_of_the_material_it_names_wherever_that_stands() -> None:
    def coloured(inner: str) -> str:
        return f"<visual><geometry><sphere radius='1'/></geometry>{inner}</visual>"

    robot = one_link(
        coloured('<material name="red"/>')
        + coloured('<material name="blue"/>')
        + coloured('<material name="blue"><color rgba="0 0 1 1"/></material>')
        + coloured('<material name="red"><color rgba="0.5 0 0 1"/></material>')
        + coloured('<material name="nowhere"/>')
        + coloured('<material name="bad"><color rgba="1 0"/></material>'),
        top='<material name="red"><color rgba="1 0 0 1"/></material>'
        '<material name="red"><color rgba="0 9 0 1"/></material>',
    )
    blue = (0.0, 0.0, 1.0, 1.0)
    colours = [shape.rgba for shape in robot.link("a").visuals]
    assert colours == [(1.0, 0.0, 0.0, 1.0), blue, blue, (0.5, 0.0, 0.0, 1.0), None, None]


def test_inertia_is_read_where_it_is_whole() -> None:
    written = '<inertia ixx="1" ixy="2" ixz="3" iyy="4" iyz="5" izz="6"/>'
    link = one_link(f'<inertial><origin xyz="0 0 1"/><mass value="7"/>{written}</inertial>').link("a")
    assert link.inertial == Inertial(7.0, (1.0, 2.0, 3.0, 4.0, 5.0, 6.0), Pose((0.0, 0.0, 1.0)))
    assert one_link('<inertial><mass value="7"/></inertial>').link("a").inertial is None


def test_a_second_element_that_says_the_same_is_harmless() -> None:
    assert one_joint('<axis xyz="0 0 1"/><axis xyz="0 0 1"/>') == one_joint('<axis xyz="0 0 1"/>')


def test_an_identity_joint_leaves_the_child_where_the_parent_is() -> None:
    assert link_poses(one_joint(kind="fixed"), {}) == {"a": IDENTITY, "b": IDENTITY}


def chain(n: int, parent: str = "chain") -> str:
    parents = {"chain": lambda i: i - 1, "star": lambda i: 0, "tree": lambda i: (i - 1) // 3}[parent]
    links = "\n".join(f'<link name="l{i}"/>' for i in range(n))
    joints = "\n".join(
        f'<joint name="j{i}" type="revolute"><parent link="l{parents(i)}"/><child link="l{i}"/>'
        '<origin xyz="0 0 0.001"/><axis xyz="0 0 1"/></joint>'
        for i in range(1, n)
    )
    return f'<robot name="big">\n{links}\n{joints}\n</robot>'


def test_a_chain_of_5000_links_loads_and_reaches_its_end() -> None:
    robot = parse_urdf(chain(5000))
    assert link_poses(robot, {})["l4999"].xyz == pytest.approx((0.0, 0.0, 4.999), abs=1e-9)


@pytest.mark.parametrize(("shape", "n"), [("chain", 5000), ("star", 5000), ("tree", 20_000)])
def test_loading_takes_linear_time(shape: str, n: int) -> None:
    seconds = []
    for size in (n // 10, n):
        text = chain(size, shape)
        start = time.process_time()
        assert len(parse_urdf(text).links) == size
        seconds.append(time.process_time() - start)
    assert seconds[1] < 40 * seconds[0] + 0.1  # ten times the links; quadratic would be a hundred times


def test_readers_and_validation_need_no_torch() -> None:
    # The package's own __init__ offers the tensors too; an empty one in its place shows what the readers import.
    program = (
        "import sys, types; package = types.ModuleType('pk_core'); package.__path__ = ['pk_core'];"
        "sys.modules['pk_core'] = package; sys.modules['torch'] = None; sys.modules['numpy'] = None;"
        "from pk_core.parsers import parse_urdf; from pk_core.validation import validate;"
        'print(validate(parse_urdf(\'<robot name="r"><link name="a"/></robot>\')).root)'
    )
    run = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert (run.stdout.strip(), run.stderr) == ("a", "")
