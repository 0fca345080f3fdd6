"""The topics of the node that have to do with joints and poses. Part of the thin shell: rclpy is known here.

What comes in of the joints is taken on the thread of `FastLane` and answered there. `_lock` is held by who reads or writes
what is known of the joints, and until the poses are published: so a model is swapped between messages.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from geometry_msgs.msg import PoseArray, PoseStamped
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState, MultiDOFJointState

from .cdr import CdrError, JointStateReader, JointStateView
from .conversions import nanoseconds, row_from_pose, rows_from_transforms, rows_from_twists
from .diagnostics import Facts
from .fast_lane import FastLane
from .joint_states import JointSnapshot
from .msg import LinkPoses, LinkTwists
from .parameters import tracker_settings
from .pose_tracker import PoseTracker, TrackerSettings, Update
from .served_model import ServedModel
from .statistics import Durations, RateMeter

try:
    from tf2_msgs.msg import TFMessage
except ModuleNotFoundError:  # only publish_tf needs it
    TFMessage = None
try:
    from nav_msgs.msg import Odometry
except ModuleNotFoundError:  # PoseStamped tells the same, without twist
    Odometry = None

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL, reliability=ReliabilityPolicy.RELIABLE)


class PoseTopics:
    """Takes joint_states and their like, and publishes poses, while it is open and has a model.

    Attributes:
        lane: what the node's own executor has to leave alone; to be closed before the node is destroyed.
    """

    def __init__(self, node: Node, complain: Callable[[str], None]) -> None:
        self._node, self._complain = node, complain
        self._lock = threading.RLock()
        self.lane = FastLane(node.context, complain)
        self._reader = JointStateReader()
        self._tracker: PoseTracker | None = None
        self._settings = TrackerSettings()
        self._qos = QoSProfile(depth=1)
        self._is_open = False
        self._subscriptions: dict[str, Subscription] = {}
        self._publishers: dict[str, Publisher] = {}
        self.reset()

    def reset(self) -> None:
        """Forget what was heard of the joints, and what was counted."""
        with self._lock:
            self._rate, self._durations = RateMeter(), Durations()
            self._messages = self._rejected = self._times_back = 0
            self._last_message: float | None = None
            self._last_problem = ""
            if self._tracker is not None:
                self._tracker.joints.forget()

    def forget_time(self) -> None:
        """Take stamps of any age again: the clock was set back."""
        with self._lock:
            self._times_back += 1
            if self._tracker is not None:
                self._tracker.joints.forget_time()

    def configure(self, values: Mapping[str, Any]) -> None:
        """Go by the parameters as they are now."""
        if values["publish_tf"] and TFMessage is None:
            self._node.get_logger().error(
                "publish_tf is set but the package tf2_msgs is not installed: nothing goes to /tf"
            )
        reliable = values["joint_states.reliability"] == "reliable"
        qos = QoSProfile(
            depth=values["joint_states.depth"],
            reliability=ReliabilityPolicy.RELIABLE if reliable else ReliabilityPolicy.BEST_EFFORT,
        )
        with self._lock:
            settings = tracker_settings(values, can_publish_tf=TFMessage is not None)
            is_new, self._settings = settings != self._settings, settings
            if self._tracker is not None and is_new:
                self._tracker.configure(settings)
            if self._is_open:
                self._connect_publishers()
                if is_new:
                    self._publish_fixed()
        if qos != self._qos:
            self._qos = qos
            for topic in tuple(self._subscriptions):
                self._unsubscribe(topic)
            self._subscribe()

    def serve(self, model: ServedModel | None) -> None:
        """Follow another robot from the next message on, of which nothing is known yet; None: no robot."""
        with self._lock:
            self._tracker = PoseTracker(model, self._settings) if model is not None else None
            self._last_message, self._last_problem = None, ""
            if self._is_open:
                self._publish_fixed()
        self._subscribe()

    def open(self) -> None:
        """Subscribe and publish."""
        self._is_open = True
        with self._lock:
            self._connect_publishers()
            self._publish_fixed()
        self._subscribe()

    def close(self) -> None:
        """Neither subscribe nor publish; what was latched is gone."""
        self._is_open = False
        self._subscribe()
        with self._lock:
            for publisher in self._publishers.values():
                self._node.destroy_publisher(publisher)
            self._publishers = {}

    def view(self) -> tuple[ServedModel, JointSnapshot]:
        """Give the model that is served, and a copy of what is known of its joints."""
        with self._lock:
            return self._tracker.model, self._tracker.snapshot(time.monotonic())

    def tell(self, facts: Facts) -> None:
        """Write down what is known of the joints."""
        now = time.monotonic()
        with self._lock:
            facts.messages, facts.rejected, facts.times_back = self._messages, self._rejected, self._times_back
            facts.last_message, facts.last_problem = self._last_message, self._last_problem
            facts.rate, facts.pose_times = self._rate.rate(now), self._durations.percentiles(50, 95, 99)
            facts.stale_after = self._settings.stale_after
            if self._tracker is not None:
                joints = self._tracker.joints
                facts.columns, facts.missing, facts.unknown = len(joints.q), joints.missing(), sorted(joints.unknown)
                facts.stale = joints.named(self._tracker.stale(now))
                facts.outside = joints.named(self._tracker.outside_limits())

    # --- out ----------------------------------------------------------------------------------------------------------

    def _connect_publishers(self) -> None:
        """Make the publishers that are wanted, and destroy those that are not: what they latched goes with them."""
        poses = self._settings.poses
        wanted: dict[str, tuple[Any, str, QoSProfile | int]] = {"link_poses": (LinkPoses, "~/link_poses", 10)}
        if poses.publish_pose_array:
            wanted["pose_array"] = (PoseArray, "~/pose_array", 10)
        if poses.publish_twists:
            wanted["link_twists"] = (LinkTwists, "~/link_twists", 10)
        if poses.publish_tf:
            wanted["tf"] = (TFMessage, "/tf", 100)
            wanted["tf_static"] = (TFMessage, "/tf_static", LATCHED)
        for name in set(self._publishers) - set(wanted):
            self._node.destroy_publisher(self._publishers.pop(name))
        for name in set(wanted) - set(self._publishers):
            self._publishers[name] = self._node.create_publisher(*wanted[name])

    def _publish_fixed(self) -> None:
        """Latch the fixed joints of this model in place of those of the last one."""
        if self._tracker is not None and "tf_static" in self._publishers:
            stamp = self._node.get_clock().now().nanoseconds
            self._publishers["tf_static"].publish(self._tracker.streams.fixed(stamp))

    # --- in -----------------------------------------------------------------------------------------------------------

    def _subscribe(self) -> None:
        """Subscribe to what moves this robot, and no longer to what does not; what stays misses no message."""
        model = self._tracker.model if self._tracker is not None else None
        wanted: dict[str, tuple[Any, Callable[[Any], None]]] = {}
        if self._is_open:
            wanted["joint_states"] = (JointState, self._on_joint_states)
        if self._is_open and model is not None and model.multi_dof_joints():
            wanted["multi_dof_joint_states"] = (MultiDOFJointState, self._on_multi_dof)
        if self._is_open and model is not None and model.root_joints():
            wanted["root_pose"] = (PoseStamped, self._on_root_pose)
            if Odometry is not None:
                wanted["odom"] = (Odometry, self._on_odometry)
        for topic in set(self._subscriptions) - set(wanted):
            self._unsubscribe(topic)
        for topic in set(wanted) - set(self._subscriptions):
            kind, callback = wanted[topic]
            subscription = self._node.create_subscription(kind, topic, callback, self._qos, raw=kind is JointState)
            self.lane.add(subscription)
            self._subscriptions[topic] = subscription

    def _unsubscribe(self, topic: str) -> None:
        subscription = self._subscriptions.pop(topic)
        self.lane.remove(subscription)
        self._node.destroy_subscription(subscription)

    def _on_joint_states(self, raw: bytes) -> None:
        def take(tracker: PoseTracker, now: float) -> Update:
            return tracker.take(self._read(raw), now)

        self._take("joint_states", take)

    def _on_multi_dof(self, message: MultiDOFJointState) -> None:
        def take(tracker: PoseTracker, now: float) -> Update:
            rows, twists = rows_from_transforms(message.transforms), rows_from_twists(message.twist)
            return tracker.take_multi_dof(message.joint_names, rows, twists, nanoseconds(message.header.stamp), now)

        self._take("multi_dof_joint_states", take)

    def _on_root_pose(self, message: PoseStamped) -> None:
        def take(tracker: PoseTracker, now: float) -> Update:
            row = row_from_pose(message.pose)
            return tracker.take_root_pose(
                message.header.frame_id, "", row, None, nanoseconds(message.header.stamp), now
            )

        self._take("root_pose", take)

    def _on_odometry(self, message: Odometry) -> None:
        def take(tracker: PoseTracker, now: float) -> Update:
            row, (twist,) = row_from_pose(message.pose.pose), rows_from_twists([message.twist.twist])
            parent, child = message.header.frame_id, message.child_frame_id
            return tracker.take_root_pose(parent, child, row, twist, nanoseconds(message.header.stamp), now)

        self._take("odom", take)

    def _take(self, topic: str, take: Callable[[PoseTracker, float], Update]) -> None:
        """Have a message taken, publish what it leads to, and count; raises nothing."""
        now = time.monotonic()
        try:
            with self._lock:
                self._messages += 1
                self._rate.count(now)
                if self._tracker is None or not self._is_open:
                    return
                update = take(self._tracker, now)
                for name, message in update.messages.items():
                    self._publishers[name].publish(message)
                self._count(topic, update, now)
        except Exception as error:  # whatever it is, the next message may be right
            self._rejected += 1
            self._last_problem = f"{topic}: {type(error).__name__}: {error}"
            self._complain(self._last_problem)

    def _count(self, topic: str, update: Update, now: float) -> None:
        merge = update.merge
        if merge.used or not self._tracker.model.columns:
            self._last_message = now
        else:
            self._rejected += 1
        if update.messages:
            self._durations.count(time.monotonic() - now)
        if merge.problem:
            self._last_problem = f"{topic}: {merge.problem}"
            self._complain(self._last_problem)
        if merge.time_went_back:
            self._times_back += 1
            self._complain(
                f"{topic}: stamps go back by more than a second: time was set back, and they count from there"
            )

    def _read(self, raw: bytes) -> JointStateView:
        try:
            return self._reader.read(raw)
        except CdrError:  # a representation that only the middleware knows, or no message at all: then it raises, too
            message = deserialize_message(raw, JointState)
            return JointStateView(
                nanoseconds(message.header.stamp), tuple(message.name), message.position, message.velocity
            )
