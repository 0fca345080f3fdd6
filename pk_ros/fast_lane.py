"""Subscriptions that are taken on a thread of their own, each message at the cost of its callback. rclpy is known here.

rclpy's executors build a wait set of all that a node has for each message, half a millisecond where joint_states come each
millisecond. The events executor (Kilted and later) does not, but has no guard conditions and goes round without rest
while a coroutine waits: so it gets these subscriptions alone. Without it they stay with the node's executor. Their event
handlers go with them: a wait set that holds one wakes for each message of its subscription.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from rclpy.context import Context
from rclpy.subscription import Subscription
from rclpy.waitable import Waitable

try:
    from rclpy.experimental.events_executor import EventsExecutor
except ImportError:  # Humble, Jazzy
    EventsExecutor = None

_LOOK_UP_EVERY = 0.2  # [s]


class FastLane:
    """As much of a node as an executor looks at: some of its subscriptions.

    Attributes:
        subscriptions, waitables: what is taken here; the node keeps it from its own executor.
    """

    timers = clients = services = guards = ()

    def __init__(self, context: Context, complain: Callable[[str], None]) -> None:
        """Start the thread.

        Args:
            complain: is told what a callback raises.
        """
        self.subscriptions: list[Subscription] = []
        self.executor = None
        self._complain = complain
        self._closed = threading.Event()
        if EventsExecutor is not None:
            self._executor = EventsExecutor(context=context)
            self._executor.add_node(self)
            self._thread = threading.Thread(target=self._spin, name="pk_fast_lane")
            self._thread.start()

    def add(self, subscription: Subscription) -> None:
        """Take a subscription's messages here from now on, where that can be."""
        if EventsExecutor is not None:
            self.subscriptions = [*self.subscriptions, subscription]
            self._executor.wake()

    def remove(self, subscription: Subscription) -> None:
        """Take them no longer; the node is to destroy it."""
        if EventsExecutor is not None:
            self.subscriptions = [other for other in self.subscriptions if other is not subscription]
            self._executor.wake()

    @property
    def waitables(self) -> list[Waitable]:
        """What tells of events of the subscriptions, such as publishers whose QoS does not fit."""
        return [handler for subscription in self.subscriptions for handler in subscription.event_handlers]

    def close(self) -> None:
        """End the thread."""
        self._closed.set()
        if EventsExecutor is not None:
            self._thread.join()
            self._executor.shutdown()

    def _spin(self) -> None:
        while not self._closed.is_set():
            try:
                self._executor.spin_once(timeout_sec=_LOOK_UP_EVERY)
            except Exception as error:
                self._complain(f"{type(error).__name__}: {error}")
