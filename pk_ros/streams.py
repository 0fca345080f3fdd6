"""The messages that go out for each joint_states: made once for a model, filled anew each time. No rclpy.

The message classes are handed in, so that this runs without ROS and where `tf2_msgs` is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .conversions import fill_poses, fill_transforms, inverse, rows_from_matrices
from .served_model import ServedModel, TreeJoints


class LinkPosesStream:
    """One LinkPoses message with the links whose place is known: those behind a joint never seen are left out."""

    def __init__(self, model: ServedModel, message_type: Callable[[], Any], pose_type: Callable[[], Any]) -> None:
        self._model = model
        self._pose_type = pose_type
        self._message = message_type()
        self._message.header.frame_id = model.root
        self._rows = np.empty(0, dtype=np.intp)
        self._seen: np.ndarray | None = None

    def fill(self, Ts: np.ndarray, seen: np.ndarray, stamp: Any) -> Any:
        """Write the poses of `ServedModel.place`, (n_frames, 4, 4), where the coordinates `seen` (nq,) have been seen.

        The message given is the same object each time.
        """
        if self._seen is None or (seen != self._seen).any():
            self._choose_links(seen)
        fill_poses(self._message.poses, rows_from_matrices(Ts[self._rows]))
        self._message.header.stamp = stamp
        return self._message

    def _choose_links(self, seen: np.ndarray) -> None:
        self._seen = seen.copy()
        self._rows = np.flatnonzero(self._model.visible(seen)[: self._model.n_links])
        self._message.names = [self._model.frame_names[row] for row in self._rows]
        self._message.poses = [self._pose_type() for _ in self._rows]


class TransformStream:
    """One TFMessage with the moving joints, or the fixed ones, each from its parent link to its child link."""

    def __init__(
        self, model: ServedModel, message_type: Callable[[], Any], transform_type: Callable[[], Any], *, fixed: bool
    ) -> None:
        self._model = model
        self._joints: TreeJoints = model.tree_joints(fixed=fixed)
        self._message = message_type()
        self._stamped = [transform_type() for _ in self._joints.children]
        for stamped, parent, child in zip(self._stamped, self._joints.parents, self._joints.children):
            stamped.header.frame_id, stamped.child_frame_id = parent, child
        self._visible = np.empty(0, dtype=np.intp)
        self._seen: np.ndarray | None = None

    def fill(self, Ts: np.ndarray, seen: np.ndarray, stamp: Any) -> Any:
        """Write the joints whose child's place is known; the message given is the same object each time."""
        if self._seen is None or (seen != self._seen).any():
            self._seen = seen.copy()
            self._visible = np.flatnonzero(self._model.visible(seen)[self._joints.child_rows])
            self._message.transforms = [self._stamped[i] for i in self._visible]
        parents, children = self._joints.parent_rows[self._visible], self._joints.child_rows[self._visible]
        rows = rows_from_matrices(inverse(Ts[parents]) @ Ts[children])
        fill_transforms((stamped.transform for stamped in self._message.transforms), rows)
        for stamped in self._message.transforms:
            stamped.header.stamp = stamp
        return self._message
