"""How long answers take from when their solver is to stop until they leave, learnt from those that left. No rclpy."""

from __future__ import annotations

_LEARNT = 0.1  # the share of what an answer shows that is taken over
_LARGE = 4096  # rows: from here on it is they that take the time
# [s] that one answer may be late for what is learnt of it: a machine that was busy tells nothing of the next
_MOST = 0.01


class AnswerTime:
    """A time for any answer and a time for each row. One thread learns, others may ask."""

    def __init__(self) -> None:
        """Begin with what two cores of a laptop take."""
        self._any, self._row = 2e-3, 1e-7  # [s]

    def expected(self, rows: int) -> float:
        """Give the time of an answer with so many rows [s]."""
        return self._any + self._row * rows

    def learn(self, rows: int, took: float) -> None:
        """Take the time that an answer took [s]: small ones tell the time of any, large ones that of a row."""
        expected = self.expected(rows)
        change = _LEARNT * (min(took, expected + _MOST) - expected)
        if rows < _LARGE:
            self._any = max(0.0, self._any + change)
        else:
            self._row = max(0.0, self._row + change / rows)
