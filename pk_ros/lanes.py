"""A node some of whose subscriptions and services are taken by executors other than its own. rclpy is known here."""

from __future__ import annotations

from collections.abc import Iterator

from rclpy.guard_condition import GuardCondition
from rclpy.node import Node
from rclpy.service import Service
from rclpy.subscription import Subscription
from rclpy.waitable import Waitable

from .fast_lane import FastLane
from .request_lane import RequestGroup


class NodeWithLanes(Node):
    """Keeps from its executor what a `FastLane` and a `RequestLane` take.

    Attributes:
        fast_lane: None until there is one; rclpy asks already while the node is made.
    """

    fast_lane: FastLane | None = None

    @property
    def subscriptions(self) -> Iterator[Subscription]:
        """Those that the node's executor takes."""
        taken = self.fast_lane.subscriptions if self.fast_lane is not None else ()
        return (subscription for subscription in super().subscriptions if subscription not in taken)

    @property
    def waitables(self) -> Iterator[Waitable]:
        """Those that the node's executor takes."""
        taken = self.fast_lane.waitables if self.fast_lane is not None else ()
        return (waitable for waitable in super().waitables if waitable not in taken)

    @property
    def services(self) -> Iterator[Service]:
        """Those that the node's executor takes."""
        return (service for service in super().services if not isinstance(service.callback_group, RequestGroup))

    @property
    def guards(self) -> Iterator[GuardCondition]:
        """Those that the node's executor looks at."""
        return (guard for guard in super().guards if not isinstance(guard.callback_group, RequestGroup))
