"""What the node counts of its work in the last seconds. Plain data, no rclpy."""

from __future__ import annotations

from collections import deque

import numpy as np

_WINDOW = 5.0  # [s]; over which a rate is measured
_MOST_TIMES = 20_000


class RateMeter:
    """Says how often something came in the last seconds."""

    def __init__(self) -> None:
        self._times: deque[float] = deque(maxlen=_MOST_TIMES)
        self._since: float | None = None

    def count(self, now: float) -> None:
        """Count one, at a time on a monotonic clock [s]."""
        if self._since is None:
            self._since = now
        self._times.append(now)

    def rate(self, now: float) -> float:
        """Give how many came a second [Hz]."""
        if self._since is None or now <= self._since:
            return 0.0
        begin = now - _WINDOW
        recent = sum(1 for time in tuple(self._times) if time > begin)
        return recent / min(_WINDOW, now - self._since)


class Durations:
    """The latest durations of something, of which percentiles are asked."""

    def __init__(self, most: int = 1000) -> None:
        self._durations: deque[float] = deque(maxlen=most)

    def count(self, duration: float) -> None:
        """Count one [s]."""
        self._durations.append(duration)

    def percentiles(self, *percents: float) -> list[float]:
        """Give the durations [s] that so many percent do not exceed; none where nothing was counted."""
        latest = list(self._durations)
        return np.percentile(latest, percents).tolist() if latest else []


class RequestCounts:
    """What became of requests.

    Attributes:
        requests, refused: those answered, and those of them refused.
        targets, solved: targets of inverse kinematics answered, and those of them with a solution.
        times: from the arrival to the answer.
    """

    def __init__(self) -> None:
        self.requests = self.refused = self.targets = self.solved = 0
        self.times = Durations()

    def count(self, duration: float, *, refused: bool = False, targets: int = 0, solved: int = 0) -> None:
        """Count one request that took a time [s]."""
        self.requests += 1
        self.refused += refused
        self.targets += targets
        self.solved += solved
        self.times.count(duration)
