"""The parameters of the node, each declared once, as plain data; `config/kinematics.yaml` lists them all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Value = bool | int | float | str


@dataclass(frozen=True)
class Parameter:
    """One parameter of the node.

    Attributes:
        default: its type is the parameter's type.
        range: least and greatest value of a number, both allowed.
        choices: the strings allowed, empty for any.
        read_only: taken once, at the start.
    """

    name: str
    default: Value
    description: str
    range: tuple[float, float] | None = None
    choices: tuple[str, ...] = ()
    read_only: bool = False

    def problem(self, value: object) -> str:
        """Say what is wrong with a value, empty where nothing is."""
        if type(value) is not type(self.default):
            return f"{self.name} must be a {type(self.default).__name__}, not {value!r}"
        if self.choices and value not in self.choices:
            return f"{self.name} must be one of {list(self.choices)}, not {value!r}"
        if self.range and not self.range[0] <= value <= self.range[1]:
            return f"{self.name} must lie in {list(self.range)}, not {value!r}"
        return ""


PARAMETERS: tuple[Parameter, ...] = (
    Parameter(
        "robot_description",
        "",
        "The robot, as the text of a URDF. Empty: robot_file, else the latched topic robot_description. The latest "
        "description that can be read is served, wherever it came from.",
    ),
    Parameter("robot_file", "", "Path of a URDF file, read once at the start. Empty: none.", read_only=True),
    Parameter("tip", "", "The link that requests with an empty tip_link mean. Empty: such requests are refused."),
    Parameter(
        "device", "cpu", "Where kinematics is computed: cpu, cuda or cuda:<number>, as torch names it.", read_only=True
    ),
    Parameter(
        "publish_tf",
        False,
        "Also publish the moving joints on /tf and the fixed ones on /tf_static, as robot_state_publisher does; needs "
        "tf2_msgs.",
        read_only=True,
    ),
    Parameter(
        "joint_states.reliability",
        "best_effort",
        "QoS of the joint_states subscription: best_effort connects to every publisher, reliable to reliable ones.",
        choices=("best_effort", "reliable"),
        read_only=True,
    ),
    Parameter(
        "joint_states.depth",
        10,
        "How many joint_states messages wait while the node is busy; older ones are dropped.",
        range=(1, 10_000),
        read_only=True,
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
)


def find_problems(values: Mapping[str, object]) -> list[str]:
    """Say what is wrong with values of parameters, by name; names that are not ours are left to others."""
    problems = (parameter.problem(values[parameter.name]) for parameter in PARAMETERS if parameter.name in values)
    return [problem for problem in problems if problem]
