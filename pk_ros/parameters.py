"""The parameters of the node, each declared once, as plain data; `config/kinematics.yaml` lists them all."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pk_core as pk

from .pose_tracker import TrackerSettings
from .requests import Settings
from .served_model import ServedModel, device_problem
from .streams import PoseSettings

Value = bool | int | float | str
_SERVICE = r"(?!.*__)((~/|/)?[A-Za-z_][A-Za-z0-9_]*(/[A-Za-z_][A-Za-z0-9_]*)*)?"


@dataclass(frozen=True)
class Parameter:
    """One parameter of the node.

    Attributes:
        default: its type is the parameter's type.
        range: least and greatest value of a number, both allowed.
        choices: the strings allowed, empty for any.
        form: the regular expression that a string must match, and what it stands for in words.
        read_only: taken once, at the start.
    """

    name: str
    default: Value
    description: str
    range: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()
    form: tuple[str, str] = ("", "")
    read_only: bool = False

    def problem(self, value: object) -> str:
        """Say what is wrong with a value, empty where nothing is."""
        if type(value) is not type(self.default):
            return f"{self.name} must be a {type(self.default).__name__}, not {value!r}"
        if self.choices and value not in self.choices:
            return f"{self.name} must be one of {list(self.choices)}, not {value!r}"
        pattern, what = self.form
        if pattern and not re.fullmatch(pattern, str(value)):
            return f"{self.name} must be {what}, not {value!r}"
        if self.range and not self.range[0] <= value <= self.range[1]:
            return f"{self.name} must lie in {list(self.range)}, not {value!r}"
        return ""


PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "robot_description",
        "",
        "The robot, as the text of a URDF, SDF or MJCF. Empty: robot_file, else the latched topic robot_description. The "
        "latest description that can be read is served, wherever it came from.",
    ),
    Parameter(
        "robot_file", "", "Path of a URDF, SDF or MJCF file, which may include files beside it. Empty: none. Set: read."
    ),
    Parameter("tip", "", "The link that requests with an empty tip_link mean. Empty: such requests are refused."),
    Parameter(
        "device",
        "cpu",
        "Where kinematics is computed: cpu, cuda or cuda:<number>, as torch names it. Set: the robot is read anew.",
    ),
    Parameter(
        "managed",
        False,
        "Be a lifecycle node: configure reads the description and compiles, activate serves. Else it serves by itself.",
        read_only=True,
    ),
    Parameter(
        "publish_rate",
        0.0,
        "The most often that poses are published [Hz]. 0: for each joint_states message.",
        range=(0.0, 1e5),
    ),
    Parameter(
        "link_filter",
        "",
        "The links whose poses and twists are published, as names or patterns (*, ?, [a-c]) with commas between: "
        "panda_hand*, panda_link8. Empty: all. It does not concern tf.",
    ),
    Parameter(
        "publish_pose_array",
        False,
        "Also publish the poses on ~/pose_array as geometry_msgs/PoseArray, which RViz and Foxglove show.",
    ),
    Parameter(
        "publish_twists", False, "Also publish velocities of links on ~/link_twists, from those in joint_states."
    ),
    Parameter(
        "publish_tf",
        False,
        "Also publish the moving joints on /tf and the fixed ones on /tf_static, as robot_state_publisher does; needs "
        "tf2_msgs.",
    ),
    Parameter("frame_prefix", "", "Put before every frame_id that is published, such as left/ for one of two robots."),
    Parameter(
        "ignore_timestamp",
        False,
        "Take joint_states whatever their stamps. Else what is older than what is known of a joint, by up to a second, is "
        "left out: it was overtaken. What is older by more is taken: time was set back.",
    ),
    Parameter(
        "joint_states.stale_after",
        1.0,
        "A joint of which nothing was heard for so long [s] is reported as stale.",
        range=(1e-3, 1e6),
    ),
    Parameter(
        "joint_states.leave_out_stale",
        False,
        "Leave out the links behind stale joints, as those behind joints never seen. Else they stay where they were.",
    ),
    Parameter(
        "joint_states.reliability",
        "best_effort",
        "QoS of the joint_states subscription: best_effort connects to every publisher, reliable to reliable ones.",
        choices=("best_effort", "reliable"),
    ),
    Parameter(
        "joint_states.depth",
        100,
        "How many joint_states messages wait while the node is busy; older ones are dropped.",
        range=(1, 10_000),
    ),
    Parameter(
        "ik.position_tolerance",
        1e-4,
        "Position error [m] within which a target is solved, for requests that give 0.",
        range=(1e-12, 1e3),
    ),
    Parameter(
        "ik.rotation_tolerance",
        1e-3,
        "Rotation error [rad] within which a target is solved, for requests that give 0.",
        range=(1e-12, 10.0),
    ),
    Parameter(
        "ik.timeout",
        5.0,
        "Time [s] from the arrival of a request to its answer, for requests that give 0; ik.timeout_per_target is added.",
        range=(1e-3, 3600.0),
    ),
    Parameter(
        "ik.timeout_per_target",
        1e-3,
        "Time [s] that each target of a request adds to ik.timeout.",
        range=(0.0, 3600.0),
    ),
    Parameter(
        "listen_to_tf",
        False,
        "Take the frames of /tf and /tf_static too as frame_id of requests, where tf2_msgs is installed; the latest transform "
        "counts. It costs time for each message of /tf.",
        read_only=True,
    ),
    Parameter(
        "requests.max_targets",
        100_000,
        "The most targets, or configurations, of one request; ten times as many solutions, or poses, are answered at most.",
        range=(1, 10_000_000),
        read_only=True,
    ),
    Parameter(
        "requests.max_waiting",
        1000,
        "The most requests that wait for their answer; further ones are refused, as are those that would bring all that "
        "wait over ten times requests.max_targets.",
        range=(1, 100_000),
        read_only=True,
    ),
    Parameter(
        "moveit.ik_service",
        "solve_ik",
        "Name of the service moveit_msgs/GetPositionIK, as MoveIt's kinematics_solver_service_name has it; offered where "
        "moveit_msgs is installed. Empty: none.",
        form=(_SERVICE, "a name of a service, or empty"),
        read_only=True,
    ),
    Parameter(
        "moveit.fk_service",
        "solve_fk",
        "Name of the service moveit_msgs/GetPositionFK, as above.",
        form=(_SERVICE, "a name of a service, or empty"),
        read_only=True,
    ),
    Parameter(
        "moveit.groups",
        "",
        "MoveIt's planning groups as name=base>tip with commas between: left=torso>left_hand, right=torso>right_hand. Empty: the "
        "frame that a target is given in is the base where it is a link above the tip, else the root.",
        form=(r"(\s*[^\s=>,]+\s*=\s*[^\s=>,]+\s*>\s*[^\s=>,]+\s*(,|$))*", "name=base>tip, with commas between"),
    ),
    Parameter(
        "moveit.avoid_collisions",
        "ignore",
        "What becomes of requests that are to avoid collisions, which are not looked for: ignore solves them, and warns once; "
        "refuse refuses them. MoveIt's plugin always asks so, and checks by itself.",
        choices=("ignore", "refuse"),
    ),
)


def find_problems(values: Mapping[str, object], model: ServedModel | None = None) -> list[str]:
    """Say what is wrong with values of parameters, by name; names that are not ours are left to others.

    Args:
        model: the robot that is served, which knows whether a link is one of its own.
    """
    problems = [parameter.problem(values[parameter.name]) for parameter in PARAMETERS if parameter.name in values]
    if not any(problems):
        if "device" in values and (problem := device_problem(str(values["device"]))):
            problems.append(problem)
        if model is not None:
            problems += [
                *_tip_problem(values, model),
                *_filter_problems(values, model),
                *_group_problems(values, model),
            ]
    return [problem for problem in problems if problem]


def value_problems(values: Mapping[str, object]) -> list[str]:
    """Say which values can't be right on any machine and for any robot."""
    problems = [parameter.problem(values[parameter.name]) for parameter in PARAMETERS if parameter.name in values]
    return [problem for problem in problems if problem]


def _tip_problem(values: Mapping[str, object], model: ServedModel) -> list[str]:
    tip = values.get("tip")
    return [str(pk.UnknownLink("link", tip, model.frame_names, "tip"))] if tip and tip not in model.frame_names else []


def _filter_problems(values: Mapping[str, object], model: ServedModel) -> list[str]:
    links = model.frame_names[: model.n_links]
    wrong = [
        pattern for pattern in patterns(str(values.get("link_filter", ""))) if not len(model.links_like((pattern,)))
    ]
    return [str(pk.UnknownLink("link like", pattern, links, "link_filter")) for pattern in wrong]


def _group_problems(values: Mapping[str, object], model: ServedModel) -> list[str]:
    links = [link for pair in groups(str(values.get("moveit.groups", ""))).values() for link in pair]
    wrong = [link for link in links if link not in model.frame_names]
    return [str(pk.UnknownLink("link", link, model.frame_names, "moveit.groups")) for link in wrong]


def groups(text: str) -> dict[str, tuple[str, str]]:
    """Read the parameter moveit.groups into base and tip of each group."""
    found = re.findall(r"([^\s=>,]+)\s*=\s*([^\s=>,]+)\s*>\s*([^\s=>,]+)", text)
    return {name: (base, tip) for name, base, tip in found}


def patterns(text: str) -> tuple[str, ...]:
    """Read the parameter link_filter."""
    return tuple(pattern.strip() for pattern in text.split(",") if pattern.strip())


def tracker_settings(values: Mapping[str, object], *, can_publish_tf: bool = True) -> TrackerSettings:
    """Read how joint_states are taken and what is published of the poses."""
    return TrackerSettings(
        publish_rate=values["publish_rate"],
        ignore_timestamp=values["ignore_timestamp"],
        stale_after=values["joint_states.stale_after"],
        leave_out_stale=values["joint_states.leave_out_stale"],
        poses=PoseSettings(
            link_filter=patterns(values["link_filter"]),
            publish_pose_array=values["publish_pose_array"],
            publish_twists=values["publish_twists"],
            publish_tf=values["publish_tf"] and can_publish_tf,
            frame_prefix=values["frame_prefix"],
        ),
    )


def request_settings(value: Callable[[str], Any]) -> Settings:
    """Read what requests depend on; `value` gives a parameter."""
    return Settings(
        tip=value("tip"),
        frame_prefix=value("frame_prefix"),
        position_tolerance=value("ik.position_tolerance"),
        rotation_tolerance=value("ik.rotation_tolerance"),
        timeout=value("ik.timeout"),
        timeout_per_target=value("ik.timeout_per_target"),
        max_targets=value("requests.max_targets"),
        refuse_collisions=value("moveit.avoid_collisions") == "refuse",
        groups=groups(value("moveit.groups")),
    )
