"""Run a node as a program until Ctrl-C or SIGTERM, and end with exit code 0."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Sequence

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions


def run(make_node: Callable[[], Node], args: Sequence[str] | None = None) -> int:
    """Spin the node that `make_node` gives until a signal comes; return the exit code.

    rclpy's own handling of SIGTERM races with the executor (hangs, exit code 1); a flag that the loop reads does not.
    """
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    try:
        executor = SingleThreadedExecutor()
        node = make_node()
        executor.add_node(node)
        while not stop.is_set() and rclpy.ok():
            try:
                executor.spin_once(timeout_sec=0.1)
            except Exception as error:  # such as an answer whose caller is gone: no reason for a robot's node to end
                node.get_logger().error(f"{type(error).__name__}: {error}", throttle_duration_sec=5.0)
        executor.shutdown()
        node.destroy_node()
    finally:
        rclpy.shutdown()
    return 0
