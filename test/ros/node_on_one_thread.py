"""The node as it runs where rclpy has no events executor (Humble, Jazzy)."""

import runpy
import sys

sys.modules["rclpy.experimental.events_executor"] = None  # importing it raises ImportError

runpy.run_module("pk_ros.node", run_name="__main__")
