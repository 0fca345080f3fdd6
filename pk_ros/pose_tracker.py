"""From what comes in of the joints to what goes out of the poses. Plain data, no rclpy."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from pk_core.model import JointType

from .cdr import JointStateView
from .conversions import matrices_from_rows
from .joint_states import JointSnapshot, JointTable, Merge
from .root_pose import coordinates, motion_between, problem_of_row, rates
from .served_model import ServedModel
from .streams import PoseSettings, PoseStreams


@dataclass(frozen=True)
class TrackerSettings:
    """How joint_states are taken: the node's parameters of the same names.

    Attributes:
        publish_rate: the most often poses are published [Hz]; 0: for each message.
        ignore_timestamp: take messages that are older than what is known, too.
        stale_after: when a joint is stale that is not heard of any more [s].
        leave_out_stale: links behind stale joints are left out, as those behind joints never seen.
        poses: what is published.
    """

    publish_rate: float = 0.0
    ignore_timestamp: bool = False
    stale_after: float = 1.0
    leave_out_stale: bool = False
    poses: PoseSettings = field(default_factory=PoseSettings)


@dataclass(frozen=True)
class Update:
    """What a message leads to.

    Attributes:
        messages: serialised, by topic; none where nothing was to be published.
        merge: what became of the message.
    """

    messages: dict[str, bytes]
    merge: Merge


class PoseTracker:
    """Follows the joints of one model. For one thread at a time.

    Attributes:
        joints: what is known of them.
    """

    def __init__(self, model: ServedModel, settings: TrackerSettings = TrackerSettings()) -> None:
        self.model = model
        self.joints = JointTable(model.columns, model.neutral, model.silent, model.rates, model.nv)
        self._spans = {span.joint.name: span for span in model.spans}
        self.configure(settings)

    def configure(self, settings: TrackerSettings) -> None:
        """Publish by other settings from the next message on; what is known of the joints stays."""
        self.settings = settings
        self.streams = PoseStreams(self.model, settings.poses)
        self._due = -np.inf

    def take(self, message: JointStateView, now: float) -> Update:
        """Take joint_states that came at a time [s] on a monotonic clock."""
        stamp = None if self.settings.ignore_timestamp or not message.stamp else message.stamp
        merge = self.joints.merge(message.names, message.position, message.velocity, stamp=stamp, now=now)
        return self._publish(merge, message.stamp, now)

    def take_multi_dof(self, names: list[str], rows: np.ndarray, twists: np.ndarray, stamp: int, now: float) -> Update:
        """Take a MultiDOFJointState: how each joint has moved from its own frame, (n, 7), and twists (n, 6) or none."""
        if len(names) != len(rows) or len(twists) not in (0, len(names)):
            return Update({}, Merge(0, f"{len(names)} joints, {len(rows)} transforms, {len(twists)} twists"))
        problems = [
            self._put(name, row, twists[i] if len(twists) else None, stamp, now)
            for i, (name, row) in enumerate(zip(names, rows))
        ]
        used = problems.count("")
        told = "; ".join(f"{name}: {problem}" for name, problem in zip(names, problems) if problem)
        return self._publish(Merge(used, told if names else "no joints at all"), stamp, now)

    def take_root_pose(
        self, parent: str, child: str, row: np.ndarray, twist: np.ndarray | None, stamp: int, now: float
    ) -> Update:
        """Take the pose of the robot's root as odometry tells it.

        Args:
            parent, child: the frames it names; either may be empty, or the parent a frame that the robot does not have.
            row: (7,) the child's pose in the parent.
            twist: (6,) [v, w] in the axes of the child, or None.
        """
        prefix = self.settings.poses.frame_prefix
        parent, child = parent.removeprefix(prefix), child.removeprefix(prefix)
        joints = [joint for joint in self.model.root_joints() if child in ("", joint.child)]
        if len(joints) != 1:
            which = f"to {child!r}" if child else ""
            return Update({}, Merge(0, f"the robot has {len(joints)} floating or planar joints from its root {which}"))
        if parent in self.model.frame_names and parent != joints[0].parent:
            return Update(
                {}, Merge(0, f"its frame_id is {parent!r}; the joint {joints[0].name!r} is in {joints[0].parent!r}")
            )
        problem = problem_of_row(row)
        if not problem:
            row = motion_between(joints[0], matrices_from_rows(row))
            problem = self._put(joints[0].name, row, twist, stamp, now)
        return self._publish(Merge(not problem, problem), stamp, now)

    def known(self, now: float) -> np.ndarray:
        """Say which coordinates (nq,) count as known."""
        if not self.settings.leave_out_stale:
            return self.joints.seen
        return self.joints.seen & ~self.stale(now)

    def stale(self, now: float) -> np.ndarray:
        """Say which coordinates (nq,) were seen but are no longer heard of."""
        return self.joints.is_stale(now, self.settings.stale_after)

    def snapshot(self, now: float) -> JointSnapshot:
        """Copy what is known of the joints."""
        return self.joints.snapshot(self.known(now))

    def outside_limits(self, tolerance: float = 1e-3) -> np.ndarray:
        """Say which coordinates (nq,) were seen outside their limits."""
        low, high = self.model.limits
        return self.joints.seen & ((self.joints.q < low - tolerance) | (self.joints.q > high + tolerance))

    def _put(self, name: str, row: np.ndarray, twist: np.ndarray | None, stamp: int, now: float) -> str:
        """Set one joint from a pose row; give what is wrong with it, empty where nothing is."""
        span = self._spans.get(name)
        if span is None or span.joint.type not in (JointType.BALL, JointType.FLOATING, JointType.PLANAR):
            return "no ball, floating or planar joint of the robot"
        if problem := problem_of_row(row):
            return problem
        q = coordinates(span.joint, row)
        self.joints.put(span.q_slice, q, stamp=stamp or None, now=now)
        if twist is not None and np.isfinite(twist).all():
            self.joints.v[span.v_start : span.v_start + span.joint.nv] = rates(span.joint, q, twist[:3], twist[3:])
            self.joints.moving[span.q_slice] = True
        return ""

    def _publish(self, merge: Merge, stamp: int, now: float) -> Update:
        if (not merge.used and self.model.columns) or not self._is_due(now):
            return Update({}, merge)
        joints = self.joints
        return Update(self.streams.fill(joints.q, self.known(now), stamp, joints.v, joints.moving), merge)

    def _is_due(self, now: float) -> bool:
        """Keep to the publish_rate; messages a little early or late do not lower it."""
        if not self.settings.publish_rate:
            return True
        if now < self._due:
            return False
        period = 1.0 / self.settings.publish_rate
        on_time = now < self._due + period
        self._due = self._due + period if on_time else now + period
        return True
