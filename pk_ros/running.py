"""Run a node as a program until Ctrl-C or SIGTERM, and end with exit code 0. Imports nothing that takes its time."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from types import FrameType

    from rclpy.node import Node

_stop = threading.Event()


def leave_on_signals(code: int = 0) -> None:
    """Let Ctrl-C and SIGTERM end the process at once, with an exit code.

    A program begins with this, before it imports rclpy and torch: that takes seconds, and the exception that Python
    raises on Ctrl-C is lost wherever a module catches everything while it is imported.
    """
    _on_signals(lambda *_: os._exit(code))


def leave(code: int) -> NoReturn:
    """End the process without waiting for threads that compute: what they work at is nobody's any more."""
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def watch_signals() -> None:
    """Let Ctrl-C and SIGTERM set a flag, which `stopped` reads."""
    _on_signals(lambda *_: _stop.set())


def _on_signals(handler: Callable[[int, FrameType | None], None]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, handler)


def stopped() -> bool:
    """Say whether one of the signals has come."""
    return _stop.is_set()


def run(make_node: Callable[[], Node], args: Sequence[str] | None = None) -> int:
    """Spin the node that `make_node` gives until a signal comes; return the exit code.

    rclpy's own handling of SIGTERM races with the executor (hangs, exit code 1); a flag that the loop reads does not.
    """
    import rclpy
    from rclpy.executors import SingleThreadedExecutor
    from rclpy.signals import SignalHandlerOptions

    watch_signals()
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    try:
        executor = SingleThreadedExecutor()
        node = make_node()
        watch_signals()  # again: the events executor that a node may have takes them for itself
        executor.add_node(node)
        while not stopped() and rclpy.ok():
            try:
                executor.spin_once(timeout_sec=0.1)
            except Exception as error:  # such as an answer whose caller is gone: no reason for a robot's node to end
                node.get_logger().error(f"{type(error).__name__}: {error}", throttle_duration_sec=5.0)
        executor.shutdown()
        node.destroy_node()
    finally:
        rclpy.shutdown()
    return 0
