"""What is no proper robot is refused, whoever put it together, with its name and line."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pk_core.errors import ModelError
from pk_core.model import Axis, Frame, Joint, JointType, Link, Mimic, Robot
from pk_core.pose import Pose
from pk_core.validation import assemble, validate

Z = Axis((0.0, 0.0, 1.0))


def hinge(name: str, parent: str, child: str, axis: Axis = Z, line: int = 7) -> Joint:
    return Joint(name, JointType.REVOLUTE, parent, child, axes=(axis,), line=line)


def links(names: str) -> list[Link]:
    return [Link(name, line=number + 1) for number, name in enumerate(names)]


def two_links(**changes: object) -> Robot:
    return assemble("r", links("ab"), [replace(hinge("j", "a", "b"), **changes)])


def test_a_valid_robot_is_given_back_itself() -> None:
    robot = assemble("r", links("abc"), [hinge("j", "a", "b"), hinge("k", "a", "c")], [Frame("f", "c")])
    assert robot.root == "a"
    assert validate(robot) is robot


def test_the_root_need_not_come_first() -> None:
    assert assemble("r", links("bca"), [hinge("k", "b", "c"), hinge("j", "a", "b")]).root == "a"


def test_a_root_that_is_none_is_refused() -> None:
    robot = replace(two_links(), root="b")
    with pytest.raises(ModelError, match="root is 'a', not 'b'"):
        validate(robot)


@pytest.mark.parametrize(
    ("names", "joints", "words"),
    [
        ("", [], ["no link"]),
        ("aba", [], ["line 3", "duplicate link name 'a'", "first in line 1"]),
        ("abc", [("j", "a", "b"), ("j", "b", "c")], ["line 7", "duplicate joint name 'j'"]),
        ("abc", [("j", "a", "b")], ["line 3", "2 root links", "'a', 'c'"]),
        ("ab", [("j", "a", "b"), ("k", "b", "a")], ["cycle", "b -> a -> b"]),
        ("abcde", [("j", "a", "b"), ("k", "c", "d"), ("l", "d", "c"), ("m", "d", "e")], ["cycle", 'joint name="k"']),
        ("a", [("j", "a", "a")], ["'j'", "'a' to itself"]),
        ("ab", [("j", "a", "x")], ["child link 'x' of joint 'j' does not exist"]),
        ("ab", [("j", "x", "b")], ["parent link 'x' of joint 'j' does not exist"]),
        ("abc", [("j", "a", "c"), ("k", "b", "c")], ["'c' is the child of two joints, 'j' and 'k'"]),
    ],
)
def test_what_is_no_tree_is_refused(names: str, joints: list[tuple[str, str, str]], words: list[str]) -> None:
    with pytest.raises(ModelError) as caught:
        assemble("r", links(names), [hinge(*ends) for ends in joints], source="my.urdf")
    assert all(word in str(caught.value) for word in ["my.urdf", *words]), str(caught.value)


def test_a_cycle_is_found_below_any_of_its_branches_and_named_without_them() -> None:
    joints = [hinge(child, parent, child) for parent, child in ("cd", "de", "ec", "ef", "fg")]
    with pytest.raises(ModelError, match="cycle of links without a root") as caught:
        assemble("r", links("acdefg"), joints)
    assert not {"f", "g", "a"} & set(str(caught.value).rpartition(": ")[2].split(" -> "))


def test_many_roots_are_listed_in_part() -> None:
    with pytest.raises(ModelError, match=r"1000 root links.* and 990 more"):
        assemble("r", [Link(f"l{i}") for i in range(1000)], [])


@pytest.mark.parametrize("kind", ["link", "joint", "frame"])
def test_an_empty_name_is_refused(kind: str) -> None:
    parts = {"link": links("ab"), "joint": [hinge("j", "a", "b")], "frame": [Frame("f", "a")]}
    parts[kind] = [replace(parts[kind][0], name="")]
    with pytest.raises(ModelError, match=f"a {kind} has an empty name"):
        assemble("r", parts["link"], parts["joint"], parts["frame"])


@pytest.mark.parametrize(
    ("frames", "words"),
    [
        ([Frame("f", "x")], "frame 'f' is fixed to link 'x'"),
        ([Frame("f", "a"), Frame("f", "b")], "duplicate frame name 'f'"),
        ([Frame("f", "a", Pose((math.nan, 0.0, 0.0)))], "origin of frame 'f' is not finite"),
    ],
)
def test_a_frame_needs_a_link_a_name_of_its_own_and_a_finite_origin(frames: list[Frame], words: str) -> None:
    with pytest.raises(ModelError, match=words):
        assemble("r", links("ab"), [hinge("j", "a", "b")], frames)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"origin": Pose((math.inf, 0.0, 0.0))}, "origin of joint 'j' is not finite"),
        ({"child_offset": Pose(rotation=((math.nan,) * 3,) * 3)}, "child_offset of joint 'j' is not finite"),
        ({"axes": ()}, "a revolute joint has 1 axes, not 0"),
        ({"type": JointType.FIXED}, "a fixed joint has 0 axes, not 1"),
        ({"type": JointType.UNIVERSAL}, "a universal joint has 2 axes, not 1"),
        ({"type": JointType.SCREW, "pitch": math.nan}, "pitch nan is not finite"),
        ({"neutral": (1.0, 2.0)}, "neutral has 2 numbers, not 1"),
        ({"neutral": (math.nan,)}, "neutral .* is not finite"),
    ],
)
def test_a_joint_needs_finite_numbers_and_the_axes_of_its_type(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ModelError, match=f"line 7.*{words}" if "origin" not in words else words):
        two_links(**changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"direction": (0.0, 0.0, 0.0)}, "no unit vector"),
        ({"direction": (0.0, 0.0, 2.0)}, "no unit vector"),
        ({"direction": (math.nan, 0.0, 1.0)}, "no unit vector"),
        ({"lower": 1.0, "upper": -1.0}, "limit: lower 1.0 must not be above upper -1.0"),
        ({"lower": math.nan}, "limit"),
        ({"lower": math.inf}, "limit"),
        ({"upper": -math.inf}, "limit"),
        ({"velocity": -1.0}, "velocity -1.0"),
        ({"effort": math.nan}, "effort nan"),
        ({"reference": math.inf}, "reference inf"),
        ({"mimic": Mimic("k", multiplier=math.nan)}, "multiplier nan"),
    ],
)
def test_an_axis_needs_a_direction_and_ordered_limits(changes: dict[str, object], words: str) -> None:
    with pytest.raises(ModelError, match=f"<joint name=\"j\">: joint 'j': .*{words}"):
        two_links(axes=(replace(Z, **changes),))


def test_limits_may_meet_and_be_infinite() -> None:
    for lower, upper in ((0.0, 0.0), (-math.inf, 0.0), (0.0, math.inf), (-math.inf, math.inf)):
        assert two_links(axes=(replace(Z, lower=lower, upper=upper),)).joint("j").limits == (lower, upper)


def fingers(*leaders: str | None) -> Robot:
    """Join links a, b, c... in a row by joints b, c..., each named for its child, which follow the given joints."""
    names = "abcdefgh"[: len(leaders) + 1]
    axes = [replace(Z, mimic=None if leader is None else Mimic(leader)) for leader in leaders]
    joints = [
        hinge(child, parent, child, axis) for parent, child, axis in zip(names[:-1], names[1:], axes, strict=True)
    ]
    return assemble("r", links(names), joints)


def test_chains_of_mimics_may_end_anywhere_in_the_file() -> None:
    assert fingers("c", "d", None).joint("b").mimic == Mimic("c")


def test_a_mimic_of_nobody_is_refused() -> None:
    with pytest.raises(ModelError, match="joint 'b' mimics joint 'x', which does not exist"):
        fingers("x")


@pytest.mark.parametrize(
    ("leaders", "cycle"), [(("b",), "b -> b"), (("c", "b"), "b -> c -> b"), (("c", "d", "e", "c"), "c -> d -> e -> c")]
)
def test_a_cycle_of_mimics_is_refused_and_named_without_its_tail(leaders: tuple[str, ...], cycle: str) -> None:
    with pytest.raises(ModelError, match=f"cycle of mimics: {cycle}"):
        fingers(*leaders)


@pytest.mark.parametrize("kind", [JointType.FIXED, JointType.BALL, JointType.FLOATING, JointType.PLANAR])
def test_a_leader_must_have_values_to_follow(kind: JointType) -> None:
    leader = Joint("k", kind, "b", "c", axes=(Z,) if kind is JointType.PLANAR else ())
    with pytest.raises(ModelError, match=f"joint 'j' mimics {kind.value} joint 'k'"):
        assemble("r", links("abc"), [hinge("j", "a", "b", replace(Z, mimic=Mimic("k"))), leader])


def test_a_mimic_may_follow_the_second_axis_of_a_universal_joint_but_no_third() -> None:
    leader = Joint("k", JointType.UNIVERSAL, "b", "c", axes=(Z, Axis()))
    for axis in (0, 1):
        assemble("r", links("abc"), [hinge("j", "a", "b", replace(Z, mimic=Mimic("k", axis=axis))), leader])
    with pytest.raises(ModelError, match="axis 2 of joint 'k', which has no such axis"):
        assemble("r", links("abc"), [hinge("j", "a", "b", replace(Z, mimic=Mimic("k", axis=2))), leader])


def test_the_axes_of_a_universal_joint_may_follow_each_other_but_not_in_a_circle() -> None:
    def universal(*axes: Axis) -> Robot:
        return assemble("r", links("ab"), [Joint("u", JointType.UNIVERSAL, "a", "b", axes=axes)])

    assert universal(Z, replace(Z, mimic=Mimic("u", axis=0))).joint("u").nq == 2
    with pytest.raises(ModelError, match="cycle of mimics: u -> u"):
        universal(replace(Z, mimic=Mimic("u", axis=1)), replace(Z, mimic=Mimic("u", axis=0)))


def test_long_chains_of_links_and_mimics_are_checked_without_recursion() -> None:
    n = 20_000
    axes = [replace(Z, mimic=Mimic(f"j{i + 1}")) for i in range(1, n - 1)] + [Z]
    joints = [hinge(f"j{i}", f"l{i - 1}", f"l{i}", axis) for i, axis in enumerate(axes, start=1)]
    robot = assemble("r", [Link(f"l{i}") for i in range(n)], joints)
    assert robot.root == "l0"
