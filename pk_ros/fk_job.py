"""A request for forward kinematics as a job of the work queue, done in slices: plain data in and out, no rclpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from .answers import FKAnswer
from .conversions import inverse, rows_from_matrices
from .frames import Frames, locate_frame
from .joint_states import JointSnapshot
from .requests import Settings, count_configurations, read_configurations, read_links
from .served_model import ServedModel
from .sliced_request import SlicedRequest

_SLICE = 1024  # configurations


class FKJob(SlicedRequest):
    """A ComputeFK request. A row of positions that is not finite gives a row of NaN poses.

    Attributes:
        weight: number of configurations.
        deadline: none.
    """

    _kind = FKAnswer
    deadline = float("inf")

    def __init__(
        self,
        model: ServedModel,
        joints: JointSnapshot,
        request: Any,
        settings: Settings,
        *,
        frames: Frames | None = None,
    ) -> None:
        """Refuse what is too large; all else waits for the first step."""
        self._model, self._joints, self._request, self._frames = model, joints, request, frames
        self._prefix = settings.frame_prefix
        self._poses: np.ndarray | None = None
        self._done = self.weight = 0
        self._guard(lambda: self._admit(settings))

    def _admit(self, settings: Settings) -> None:
        self.weight = count_configurations(self._model, self._request, settings)

    def _advance(self) -> None:
        if self._poses is None:
            self._read()
        end = min(self._done + _SLICE, len(self._q))
        if end > self._done:
            self._poses[self._done : end] = self._place(self._q[self._done : end])
        self._done = end
        if end == len(self._q):
            self.answer = FKAnswer(poses=self._poses)

    def _read(self) -> None:
        """Check the request."""
        model, request = self._model, self._request
        self._links = read_links(model, request.links)
        self._base, self._T_base_frame = locate_frame(model, request.header.frame_id, self._frames, self._prefix)
        self._q = read_configurations(model, self._joints, request.joint_names, request.positions)
        self._poses = np.empty((len(self._q), len(self._links), 7))

    def _place(self, q: np.ndarray) -> np.ndarray:
        """Place the links: q (n, nq) -> (n, L, 7)."""
        Ts = self._model.place(q)
        T_root_frame = Ts[self._model.frame_names.index(self._base)] @ self._T_base_frame
        return np.swapaxes(rows_from_matrices(inverse(T_root_frame) @ Ts[self._links]), 0, 1)
