"""The launch file. `launch` is in no wheel: stand-ins that keep what they are given show what it would start."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from pk_ros.parameters import PARAMETERS

REPOSITORY = Path(__file__).parents[2]
FILE = REPOSITORY / "launch" / "kinematics.launch.py"


class Kept(SimpleNamespace):
    """What a constructor was given: positional arguments in `args`."""

    def __init__(self, *args: Any, **fields: Any) -> None:
        super().__init__(args=args, **fields)


class LaunchConfiguration(Kept):
    """Looks its name up in the context, here a dictionary."""

    def perform(self, context: dict[str, str]) -> str:
        return context[self.args[0]]


@pytest.fixture
def launch_file(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the file defines when `launch` is stood in for and the package is installed as the repository lies here."""
    contents = {
        "ament_index_python.packages": {"get_package_share_directory": lambda package: str(REPOSITORY)},
        "launch": {"LaunchContext": dict, "LaunchDescription": Kept},
        "launch.actions": {"DeclareLaunchArgument": Kept, "OpaqueFunction": Kept},
        "launch.substitutions": {"LaunchConfiguration": LaunchConfiguration},
        "launch_ros": {},
        "launch_ros.actions": {"Node": Kept},
        "launch_ros.parameter_descriptions": {"ParameterValue": Kept},
    }
    for name, content in contents.items():
        module = ModuleType(name)
        vars(module).update(content)
        monkeypatch.setitem(sys.modules, name, module)
    return runpy.run_path(str(FILE))


def started(launch_file: dict[str, Any], **given: str) -> list[Kept]:
    """The nodes that are started where these arguments are given."""
    *arguments, start = launch_file["generate_launch_description"]().args[0]
    context = {argument.args[0]: argument.default_value for argument in arguments}
    assert not set(given) - set(context)
    return start.function(context | given)


def plain(parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters as the node gets them: a ParameterValue is its text, read as the type it names."""
    return {
        name: value.value_type(value.args[0]) if isinstance(value, Kept) else value
        for name, value in parameters.items()
    }


def test_every_argument_has_a_default_and_a_description(launch_file: dict[str, Any]) -> None:
    *arguments, _ = launch_file["generate_launch_description"]().args[0]
    assert {argument.args[0] for argument in arguments} >= {
        "robot_file", "robot_description_topic", "tip", "device", "publish_tf", "params_file", "namespace", "demo",
    }  # fmt: skip
    for argument in arguments:
        assert isinstance(argument.default_value, str)
        assert argument.description.endswith(".")


def test_by_default_only_our_node_starts_with_the_params_file_as_it_is(launch_file: dict[str, Any]) -> None:
    (node,) = started(launch_file)
    assert (node.package, node.executable, node.name) == ("pk_ros", "kinematics_node", "kinematics")
    (params_file,) = node.parameters
    assert Path(params_file) == REPOSITORY / "config" / "kinematics.yaml"
    assert Path(params_file).is_file()


def test_arguments_given_override_the_params_file_and_are_parameters_of_the_node(launch_file: dict[str, Any]) -> None:
    given = {"robot_file": "/robot.urdf", "tip": "1", "device": "cuda:0", "publish_tf": "True", "managed": "0"}
    (node,) = started(launch_file, **given, frame_prefix="2/", publish_rate="50", use_sim_time="1")
    _, overrides = node.parameters
    assert overrides.pop("use_sim_time") is True  # of every node of ROS
    assert plain(overrides) == {
        "robot_file": "/robot.urdf", "tip": "1", "device": "cuda:0", "publish_tf": True, "managed": False,
        "frame_prefix": "2/", "publish_rate": 50.0,
    }  # fmt: skip
    declared = {parameter.name: parameter for parameter in PARAMETERS}
    assert [declared[name].problem(value) for name, value in plain(overrides).items()] == [""] * 7


def test_topics_and_namespace_are_as_given(launch_file: dict[str, Any]) -> None:
    (node,) = started(
        launch_file,
        name="arm",
        namespace="left",
        robot_description_topic="/description",
        joint_states_topic="/left/joints",
    )
    assert (node.namespace, node.name) == ("left", "arm")
    assert dict(node.remappings) == {"robot_description": "/description", "joint_states": "/left/joints"}


def test_the_demo_adds_moving_joints_on_the_same_robot(launch_file: dict[str, Any]) -> None:
    node, moving_joints = started(launch_file, demo="true", namespace="left")
    robot_file = plain(node.parameters[1])["robot_file"]
    assert Path(robot_file).is_file()
    assert plain(moving_joints.parameters[0]) == {"robot_file": robot_file}
    assert moving_joints.namespace == node.namespace
    assert moving_joints.remappings == node.remappings
    _, moving_joints = started(launch_file, demo="1", robot_file="/robot.urdf")
    assert plain(moving_joints.parameters[0]) == {"robot_file": "/robot.urdf"}


def test_what_is_started_is_installed(launch_file: dict[str, Any]) -> None:
    installed = (REPOSITORY / "CMakeLists.txt").read_text()
    for node in started(launch_file, demo="true"):
        script = f"scripts/{node.executable}"
        assert script in installed
        assert (REPOSITORY / script).stat().st_mode & 0o111


@pytest.mark.parametrize("name", ["demo", "managed", "publish_tf", "use_sim_time"])
def test_neither_true_nor_false_is_an_error(launch_file: dict[str, Any], name: str) -> None:
    with pytest.raises(ValueError, match="neither true nor false"):
        started(launch_file, **{name: "maybe"})
