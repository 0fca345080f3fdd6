"""The parameters: declared once, listed in config/kinematics.yaml, checked."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from pk_ros.parameters import PARAMETERS, Parameter, find_problems

CONFIG = Path(__file__).parents[2] / "config" / "kinematics.yaml"


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
    ],
)
def test_a_wrong_value_is_named_with_what_would_be_right(name: str, value: object, words: str) -> None:
    (problem,) = find_problems({name: value, "use_sim_time": True})
    assert name in problem
    assert words in problem


def test_a_range_includes_its_ends() -> None:
    parameter = Parameter("x", 1.0, "X.", range=(0.0, 2.0))
    assert parameter.problem(0.0) == parameter.problem(2.0) == ""
