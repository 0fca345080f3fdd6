"""Which modules of pk_ros may know ROS: what is decided is decided where no ROS is needed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "pk_ros"
KNOW_RCLPY = {
    "client.py",
    "demo.py",
    "fast_lane.py",
    "lanes.py",
    "managed.py",
    "moving_joints.py",
    "node.py",
    "pose_topics.py",
    "request_lane.py",
    "running.py",
    "serving.py",
}
KNOW_MESSAGES = KNOW_RCLPY | {"messages.py"}
MESSAGES = {
    "builtin_interfaces",
    "diagnostic_msgs",
    "geometry_msgs",
    "moveit_msgs",
    "nav_msgs",
    "rcl_interfaces",
    "sensor_msgs",
    "std_msgs",
    "tf2_msgs",
}


def imported(file: Path) -> set[str]:
    """Top-level names of what a module imports; of its own package `.name`."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add("." * node.level + (node.module or "").split(".")[0])
    return names


@pytest.mark.parametrize("file", sorted(PACKAGE.glob("*.py")), ids=lambda file: file.name)
def test_ros_is_known_only_in_the_thin_shell(file: Path) -> None:
    names = imported(file)
    if file.name not in KNOW_RCLPY:
        assert "rclpy" not in names
        assert not names & {f".{Path(name).stem}" for name in KNOW_RCLPY}
    if file.name not in KNOW_MESSAGES:
        assert not names & (MESSAGES | {".action", ".msg", ".srv"})
