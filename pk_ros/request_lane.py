"""Services that are taken on a thread of their own, so that nothing else of a node delays a request. rclpy is known here.

rclpy builds a wait set of all that its executor looks at, three times for a request: of a whole node that takes longer than
to solve one target. And what the node's own executor is at, such as a long description in a parameter, holds up no request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.executors import SingleThreadedExecutor
from rclpy.guard_condition import GuardCondition
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.service import Service

_LOOK_UP_EVERY = 0.2  # [s]


class RequestGroup(ReentrantCallbackGroup):
    """Marks what a lane takes; the node keeps it from its own executor from the moment that it is made."""


class RequestLane:
    """As much of a node as an executor looks at: its services for requests, and what wakes their coroutines."""

    subscriptions = timers = clients = waitables = ()

    def __init__(self, node: Node, qos: QoSProfile, complain: Callable[[str], None]) -> None:
        """Start the thread.

        Args:
            complain: is told what a callback raises.
        """
        self._node, self._qos, self._complain = node, qos, complain
        self._group = RequestGroup()
        self.executor = None
        self._guard = node.create_guard_condition(lambda: None, callback_group=self._group)
        self.guards: list[GuardCondition] = [self._guard]
        self.services: list[Service] = []
        self._closed = threading.Event()
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(self)
        self._thread = threading.Thread(target=self._spin, name="pk_requests")
        self._thread.start()

    def offer(self, service_type: type, name: str, callback: Callable[..., Any]) -> None:
        """Advertise a service whose coroutine `callback` runs here."""
        service = self._node.create_service(
            service_type, name, callback, qos_profile=self._qos, callback_group=self._group
        )
        self.services = [*self.services, service]
        self.wake()

    def withdraw(self) -> None:
        """Advertise none any longer."""
        services, self.services = self.services, []
        self.wake()
        for service in services:
            self._node.destroy_service(service)

    def wake(self) -> None:
        """Look at what has changed, and at coroutines that wait; called on any thread."""
        if not self._closed.is_set():
            self._guard.trigger()

    def close(self) -> None:
        """End the thread."""
        self.withdraw()
        self._closed.set()
        self._thread.join()
        self._executor.shutdown()

    def _spin(self) -> None:
        while not self._closed.is_set():
            try:
                self._executor.spin_once(timeout_sec=_LOOK_UP_EVERY)
            except Exception as error:  # such as an answer whose caller is gone
                self._complain(f"{type(error).__name__}: {error}")
