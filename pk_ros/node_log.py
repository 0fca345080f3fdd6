"""What goes to the log of the node: what has changed, and never so much that it drowns the rest. No rclpy."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from .diagnostics import Diagnosis, Level, abridged

_REPEAT_AFTER = 60.0  # [s]
_COMPLAIN_EVERY = 5.0  # [s]
_MOST_LINES, _WITHIN = 60, 60.0  # [s]


class NodeLog:
    """Writes to a logger of rclpy: at most a line a second on average, whatever is sent to the node."""

    def __init__(self, logger: Any, now: Callable[[], float] = time.monotonic) -> None:
        self._logger, self._now = logger, now
        self._lines: deque[float] = deque(maxlen=_MOST_LINES)
        self._complained = -_COMPLAIN_EVERY

    def say(self, level: Level, text: str) -> None:
        """Write a line, or nothing where there were too many in the last minute, which the last of them says."""
        now = self._now()
        if len(self._lines) == _MOST_LINES and now - self._lines[0] < _WITHIN:
            return
        self._lines.append(now)
        if len(self._lines) == _MOST_LINES and now - self._lines[0] < _WITHIN:
            text += f" (further lines are left out: {_MOST_LINES} in {_WITHIN:g} s; see /diagnostics)"
        if level is Level.OK:  # one line of code for each level: rclpy wants it so
            self._logger.info(text)
        elif level is Level.WARN:
            self._logger.warning(text)
        else:
            self._logger.error(text)

    def complain(self, problem: str) -> None:
        """Warn of what comes with each message: now and then only. Called on any thread."""
        now = self._now()
        if now - self._complained >= _COMPLAIN_EVERY:
            self._complained = now
            self.say(Level.WARN, abridged(problem))


class Announcer:
    """Decides what of a diagnosis goes to the log: what has changed, and no sentence twice in a minute."""

    def __init__(self) -> None:
        self._last: Diagnosis | None = None
        self._said: dict[str, float] = {}

    def is_news(self, diagnosis: Diagnosis, now: float) -> bool:
        """Say whether to log it, at a time [s]."""
        if diagnosis == self._last:
            return False
        level_changed = self._last is None or diagnosis.level != self._last.level
        self._last = diagnosis
        self._said = {message: time for message, time in self._said.items() if now - time < _REPEAT_AFTER}
        is_repeated = diagnosis.message in self._said
        self._said[diagnosis.message] = now
        return level_changed or not is_repeated
