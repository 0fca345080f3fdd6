"""The messages that go out for each joint_states, as bytes: written once for a model, filled anew each time. No rclpy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .cdr import MessageWriter, Template
from .conversions import inverse, rows_from_matrices
from .served_model import ServedModel, TreeJoints


@dataclass(frozen=True)
class PoseSettings:
    """What is published of the poses: the node's parameters of the same names.

    Attributes:
        link_filter: patterns of link names; none: all links. It does not concern tf, whose tree has to be whole.
        frame_prefix: put before every frame_id that is published.
    """

    link_filter: tuple[str, ...] = ()
    publish_pose_array: bool = False
    publish_twists: bool = False
    publish_tf: bool = False
    frame_prefix: str = ""


class PoseStreams:
    """Gives the messages of one configuration: those of links and joints whose place is known."""

    def __init__(self, model: ServedModel, settings: PoseSettings = PoseSettings()) -> None:
        self._model, self._settings = model, settings
        self._links = model.links_like(settings.link_filter)
        self._moving_joints = model.tree_joints(fixed=False)
        self._root = settings.frame_prefix + model.root
        self._known: bytes | None = None
        self._moving: bytes | None = None

    def fill(
        self,
        q: np.ndarray,
        known: np.ndarray,
        stamp: int,
        v: np.ndarray | None = None,
        moving: np.ndarray | None = None,
    ) -> dict[str, bytes]:
        """Give serialised messages by topic: link_poses, and pose_array, link_twists, tf where they are wanted.

        Args:
            q, known: (nq,) the coordinates, and which of them are known.
            stamp: [ns].
            v, moving: (nv,) the velocities, and (nq,) the coordinates whose rates they give, for link_twists.
        """
        settings = self._settings
        if known.tobytes() != self._known:
            self._choose(known)
        Ts = self._model.place(q)
        rows = rows_from_matrices(Ts[self._rows])
        messages = {"link_poses": self._link_poses.fill(stamp, rows)}
        if settings.publish_pose_array:
            messages["pose_array"] = self._pose_array.fill(stamp, rows)
        if settings.publish_tf:
            messages["tf"] = self._tf.fill(stamp, _between(Ts, self._joints))
        if settings.publish_twists and v is not None and moving is not None:
            if (moving & known).tobytes() != self._moving:
                self._choose_moving(moving & known)
            messages["link_twists"] = self._link_twists.fill(stamp, self._model.twists(q, v)[self._moving_rows])
        return messages

    def fixed(self, stamp: int) -> bytes:
        """Give the fixed joints as a serialised TFMessage, whatever is above them: they stand."""
        joints = self._model.tree_joints(fixed=True)
        return self._transforms(joints).fill(stamp, _between(self._model.place(self._model.neutral), joints))

    def _choose(self, known: np.ndarray) -> None:
        visible = self._model.visible(known)
        self._rows = self._links[visible[self._links]]
        self._link_poses = self._named(self._rows, 7)
        self._pose_array = _message(lambda writer: (writer.header(self._root), writer.rows(len(self._rows), 7)), 7)
        self._joints = self._moving_joints.only(visible[self._moving_joints.child_rows])
        self._tf = self._transforms(self._joints)
        self._known = known.tobytes()

    def _choose_moving(self, moving: np.ndarray) -> None:
        self._moving_rows = self._links[self._model.visible(moving)[self._links]]
        self._link_twists = self._named(self._moving_rows, 6)
        self._moving = moving.tobytes()

    def _named(self, rows: np.ndarray, size: int) -> Template:
        """Write a pk_ros/LinkPoses or LinkTwists."""
        names = tuple(self._model.frame_names[row] for row in rows)
        return _message(
            lambda writer: (writer.header(self._root), writer.strings(names), writer.rows(len(names), size)), size
        )

    def _transforms(self, joints: TreeJoints) -> Template:
        """Write a tf2_msgs/TFMessage."""
        prefix = self._settings.frame_prefix

        def write(writer: MessageWriter) -> None:
            writer.count(len(joints.children))
            for parent, child in zip(joints.parents, joints.children):
                writer.header(prefix + parent)
                writer.string(prefix + child)
                writer.row(7)

        return _message(write, 7)


def _message(write: Callable[[MessageWriter], object], size: int) -> Template:
    writer = MessageWriter()
    write(writer)
    return writer.template(size)


def _between(Ts: np.ndarray, joints: TreeJoints) -> np.ndarray:
    """Give the pose rows of child links in their parent links."""
    return rows_from_matrices(inverse(Ts[joints.parent_rows]) @ Ts[joints.child_rows])
