"""The parameters: declared once, listed in config/kinematics.yaml, checked."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from pk_ros.parameters import PARAMETERS, Parameter, find_problems, request_settings, tracker_settings
from pk_ros.pose_tracker import TrackerSettings
from pk_ros.requests import Settings
from pk_ros.served_model import read_model
from pk_ros.streams import PoseSettings

CONFIG = Path(__file__).parents[2] / "config" / "kinematics.yaml"
PANDA = CONFIG.parent / "robots" / "panda.urdf"


def flattened(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        flat |= flattened(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return flat


def test_the_params_file_holds_every_parameter_with_its_default() -> None:
    yaml = pytest.importorskip("yaml")
    listed = flattened(yaml.safe_load(CONFIG.read_text())["/**"]["ros__parameters"])
    assert listed == {parameter.name: parameter.default for parameter in PARAMETERS}
    assert {name: type(value) for name, value in listed.items()} == {p.name: type(p.default) for p in PARAMETERS}


def test_every_parameter_is_described_once_and_takes_its_own_default() -> None:
    assert len({parameter.name for parameter in PARAMETERS}) == len(PARAMETERS)
    for parameter in PARAMETERS:
        assert parameter.description.endswith("."), parameter.name
        assert parameter.problem(parameter.default) == ""


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("joint_states.reliability", "sometimes", "best_effort"),
        ("joint_states.depth", 0, "[1, 10000]"),
        ("joint_states.depth", 2.5, "int"),
        ("joint_states.depth", True, "int"),
        ("ik.timeout", -1.0, "ik.timeout"),
        ("ik.timeout", math.nan, "ik.timeout"),
        ("ik.position_tolerance", 0.0, "ik.position_tolerance"),
        ("publish_tf", "yes", "bool"),
        ("tip", 7, "str"),
        ("publish_rate", -1.0, "publish_rate"),
        ("moveit.ik_service", "solve ik", "a name of a service"),
        ("moveit.fk_service", "/a//b", "a name of a service"),
        ("moveit.ik_service", "_a__b", "a name of a service"),
        ("moveit.groups", "arm=base", "name=base>tip"),
        ("moveit.groups", "arm=a>b left=c>d", "name=base>tip"),
        ("moveit.avoid_collisions", "always", "refuse"),
        ("device", "toaster", "device 'toaster' can't be used here"),
        ("device", "meta", "device 'meta' can't be used here"),
        ("device", "cuda:999", "device 'cuda:999' can't be used here"),
    ],
)
def test_a_wrong_value_is_named_with_what_would_be_right(name: str, value: object, words: str) -> None:
    (problem,) = find_problems({name: value, "use_sim_time": True})
    assert name in problem
    assert words in problem


def test_a_range_includes_its_ends() -> None:
    parameter = Parameter("x", 1.0, "X.", range=(0.0, 2.0))
    assert parameter.problem(0.0) == parameter.problem(2.0) == ""


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("tip", "panda_hnd", "panda_hand"),
        ("tip", "nonsense", "tip"),
        ("link_filter", "panda_link1, hand*", "hand*"),
        ("moveit.groups", "arm = panda_link0 > panda_hnd", "panda_hand"),
    ],
)
def test_what_the_robot_does_not_have_is_refused(name: str, value: str, words: str) -> None:
    model = read_model(PANDA.read_text())
    (problem,) = find_problems({name: value}, model)
    assert name in problem
    assert words in problem
    assert find_problems({name: value}) == []  # a robot may come that has it


def test_what_the_robot_has_is_taken() -> None:
    values = {"tip": "panda_hand_tcp", "link_filter": "panda_link[1-3],*hand*"}
    assert find_problems(values, read_model(PANDA.read_text())) == []
    assert find_problems({"tip": "", "link_filter": " , "}, read_model(PANDA.read_text())) == []
    assert find_problems({"moveit.groups": "arm=panda_link0 > panda_link8,"}, read_model(PANDA.read_text())) == []


def test_the_settings_of_poses_are_read_from_the_parameters() -> None:
    values = {parameter.name: parameter.default for parameter in PARAMETERS}
    assert tracker_settings(values) == TrackerSettings()
    values |= {"link_filter": "a*, b", "publish_tf": True, "joint_states.stale_after": 3.0, "publish_rate": 30.0}
    wanted = TrackerSettings(
        publish_rate=30.0, stale_after=3.0, poses=PoseSettings(link_filter=("a*", "b"), publish_tf=True)
    )
    assert tracker_settings(values) == wanted
    assert not tracker_settings(values, can_publish_tf=False).poses.publish_tf


def test_the_settings_of_requests_are_read_from_the_parameters() -> None:
    values = {parameter.name: parameter.default for parameter in PARAMETERS}
    assert request_settings(values.get) == Settings()
    values |= {"tip": "hand", "moveit.groups": "l=torso>left, r = torso > right", "moveit.avoid_collisions": "refuse"}
    groups = {"l": ("torso", "left"), "r": ("torso", "right")}
    assert request_settings(values.get) == Settings(tip="hand", groups=groups, refuse_collisions=True)
