"""Start the kinematics node: `ros2 launch pk_ros kinematics.launch.py --show-args` lists what can be given."""

from __future__ import annotations

from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node
from launch_ros.parameter_descriptions import ParameterValue

from launch import LaunchContext, LaunchDescription

SHARE = Path(get_package_share_directory("pk_ros"))

# name: (default, description). An empty default leaves the parameter of the same name as the params file has it.
ARGUMENTS = {
    "name": ("kinematics", "Name of the node; its topics and services stand below it."),
    "robot_file": ("", "Path of a URDF, SDF or MJCF file. Empty: the params file's, else the topic."),
    "robot_description_topic": (
        "robot_description",
        "Latched topic with the description, as of robot_state_publisher.",
    ),
    "joint_states_topic": ("joint_states", "Topic with the joint states."),
    "tip": ("", "The link that IK requests with an empty tip_link mean."),
    "device": ("", "Where kinematics is computed: cpu, cuda or cuda:<number>."),
    "publish_tf": ("", "true: also publish /tf and /tf_static. Not beside a robot_state_publisher of the same robot."),
    "frame_prefix": ("", "Put before every frame_id that is published, such as left/ for one of two robots."),
    "publish_rate": ("", "The most often that poses are published [Hz]; 0: for each joint_states message."),
    "use_sim_time": ("", "true: take the time of /clock."),
    "managed": ("", "true: be a lifecycle node, which serves when it is configured and activated."),
    "params_file": (str(SHARE / "config" / "kinematics.yaml"), "YAML file with the node's parameters."),
    "namespace": ("", "Namespace of the node and its topics."),
    "demo": ("false", "true: also publish moving joint states; without a robot_file, of the embedded Panda."),
}


def parameters_given(given: dict[str, str]) -> dict[str, ParameterValue | bool | float]:
    """Choose the arguments that override the params file: those that are not empty."""
    parameters: dict[str, ParameterValue | bool | float] = {
        name: ParameterValue(given[name], value_type=str)  # else a link named 1 would become a number
        for name in ("robot_file", "tip", "device", "frame_prefix")
        if given[name]
    }
    parameters |= {name: is_true(given[name]) for name in ("publish_tf", "use_sim_time", "managed") if given[name]}
    if given["publish_rate"]:
        parameters["publish_rate"] = float(given["publish_rate"])
    return parameters


def is_true(text: str) -> bool:
    """Read a launch argument as yes or no, as launch does."""
    if text.lower() not in ("true", "1", "false", "0"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() in ("true", "1")


def start(context: LaunchContext) -> list[Node]:
    """Make the nodes, now that the arguments are known."""
    given = {name: LaunchConfiguration(name).perform(context) for name in ARGUMENTS}
    demo = is_true(given["demo"])
    if demo and not given["robot_file"]:
        given["robot_file"] = str(SHARE / "config" / "robots" / "panda.urdf")
    remappings = [
        ("robot_description", given["robot_description_topic"]),
        ("joint_states", given["joint_states_topic"]),
    ]
    overrides = parameters_given(given)
    kinematics = Node(
        package="pk_ros",
        executable="kinematics_node",
        name=given["name"],
        namespace=given["namespace"],
        parameters=[given["params_file"], overrides] if overrides else [given["params_file"]],
        remappings=remappings,
        output="screen",
    )
    moving_joints = Node(
        package="pk_ros",
        executable="moving_joints",
        name="moving_joints",
        namespace=given["namespace"],
        parameters=[{"robot_file": ParameterValue(given["robot_file"], value_type=str)}],
        remappings=remappings,
        output="screen",
    )
    return [kinematics, moving_joints] if demo else [kinematics]


def generate_launch_description() -> LaunchDescription:
    """Declare the arguments and start the nodes."""
    arguments = [
        DeclareLaunchArgument(name, default_value=default, description=description)
        for name, (default, description) in ARGUMENTS.items()
    ]
    return LaunchDescription([*arguments, OpaqueFunction(function=start)])
