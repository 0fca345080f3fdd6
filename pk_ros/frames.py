"""Where a frame stands that poses are given in: a link of the model, or a frame that /tf ties to it. No rclpy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

import pk_core as pk

from .conversions import inverse, matrices_from_rows
from .joint_states import JointSnapshot
from .requests import ErrorCode, Refusal, unknown_frame
from .served_model import ServedModel

_MOST_FRAMES = 10_000  # a sender that makes up names forever must not fill the memory


class Frames:
    """The latest transform of each frame of /tf and /tf_static. One thread writes, others may read."""

    def __init__(self) -> None:
        self._parents: dict[str, tuple[str, np.ndarray]] = {}

    def merge(self, transforms: Iterable[Any]) -> None:
        """Take geometry_msgs/TransformStamped; what is no transform is left out."""
        for stamped in transforms:
            t, q = stamped.transform.translation, stamped.transform.rotation
            T_parent_child = matrices_from_rows(np.array([t.x, t.y, t.z, q.x, q.y, q.z, q.w]))
            child, parent = _bare(stamped.child_frame_id), _bare(stamped.header.frame_id)
            room = child in self._parents or len(self._parents) < _MOST_FRAMES
            if room and child and parent and np.isfinite(T_parent_child).all():
                self._parents[child] = (parent, T_parent_child)

    def upwards(self, frame: str) -> Iterator[tuple[str, np.ndarray]]:
        """Give the frame itself, then each frame above it, with T_above_frame (4, 4)."""
        T, visited = np.eye(4), set()
        while frame not in visited:
            yield frame, T
            visited.add(frame)
            if frame not in self._parents:
                return
            frame, T_parent_child = self._parents[frame]
            T = T_parent_child @ T


def link_of_frame(model: ServedModel, frame_id: str, prefix: str = "") -> str:
    """Give the link that a frame_id names, as it is or with the `frame_prefix` of what is published; empty for none."""
    names = (_bare(frame_id), _bare(frame_id).removeprefix(_bare(prefix)))
    return next((name for name in names if name in model.frame_names), "")


def locate_frame(model: ServedModel, frame_id: str, frames: Frames | None, prefix: str = "") -> tuple[str, np.ndarray]:
    """Give the link of the model that a frame is tied to, and T_link_frame (4, 4). An empty frame_id is the root.

    Args:
        prefix: the robot's frames may bear it, and on /tf they do.

    Raises:
        Refusal: neither the model nor /tf knows it, or /tf does not tie it to the model.
    """
    name = _bare(frame_id) or model.root
    above: dict[str, np.ndarray] = {}
    for frame, T_above_frame in frames.upwards(name) if frames else [(name, np.eye(4))]:
        if link := link_of_frame(model, frame, prefix):
            return link, T_above_frame
        above[frame] = T_above_frame
    for common, T_common_root in frames.upwards(_bare(prefix) + model.root) if frames else []:
        if common in above:
            return model.root, inverse(T_common_root) @ above[common]
    raise unknown_frame(model, name, "no transform of /tf ties it to the robot either" if frames else "")


def place_frame(
    model: ServedModel, joints: JointSnapshot, frame_id: str, base: str, frames: Frames | None, prefix: str = ""
) -> np.ndarray:
    """Give T_base_frame (4, 4) as the joints place it; only the joints between the two matter.

    Raises:
        Refusal: the frame is unknown, or moves with joints not seen yet.
    """
    link, T_link_frame = locate_frame(model, frame_id, frames, prefix)
    try:
        columns = model.columns_between(link, base)
    except pk.PkError as error:
        raise Refusal(ErrorCode.FRAME_TRANSFORM_FAILURE, f"header.frame_id: {error}") from error
    unseen = [model.columns[column] for column in columns if not joints.seen[column]]
    if unseen:
        raise Refusal(
            ErrorCode.FRAME_TRANSFORM_FAILURE,
            f"header.frame_id {link!r} moves against {base!r} with joints not seen in joint_states yet: {unseen}",
        )
    return model.place_between(link, base, joints.q) @ T_link_frame


def _bare(frame_id: str) -> str:
    """Forgive the leading slash of old ROS."""
    return frame_id.removeprefix("/")
