"""Requests that wait for their answer, worked at in slices by two threads so that none holds up the others. No rclpy.

One lane begins requests in the order of their arrival, and answers those that end with their first slice: the small ones.
The other lane goes on with those that did not, a slice each in turn. So a small request waits for no large one, a flood of
small ones starves no large one, and where both lanes are busy the operating system shares the cores between them.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


class Job(Protocol):
    """Work that is done in slices.

    Attributes:
        weight: how many rows it holds in memory.
        deadline: when it ends whatever is done by then, on the monotonic clock [s].
    """

    weight: int

    @property
    def deadline(self) -> float: ...

    def step(self) -> bool:
        """Do the next slice, of some milliseconds; give whether it was the last. Raises nothing."""


class QueueFull(Exception):
    """Too much is waiting: the reason is for the caller."""


@dataclass(frozen=True)
class _Entry:
    job: Job
    tell: Callable[[bool], None]


class WorkQueue:
    """Works at jobs on two daemon threads: what they are at is not waited for at the end of the process."""

    def __init__(self, max_jobs: int, max_weight: int, now: Callable[[], float]) -> None:
        """Start the threads.

        Args:
            max_jobs: how many jobs may be waiting or worked at.
            max_weight: the most rows of all of them; a job is taken whatever its weight where nothing else waits.
            now: the clock of the deadlines [s].
        """
        self._max_jobs, self._max_weight, self._now = max_jobs, max_weight, now
        self._fresh: deque[_Entry] = deque()
        self._begun: deque[_Entry] = deque()
        self._jobs = self._weight = 0
        self._closed = False
        self._changed = threading.Condition()
        for name, take in (("pk_first", self._take_fresh), ("pk_next", self._take_any)):
            threading.Thread(target=self._work, args=(take,), name=name, daemon=True).start()

    @property
    def waiting(self) -> int:
        """How many jobs are not done."""
        return self._jobs

    def submit(self, job: Job, tell: Callable[[bool], None]) -> None:
        """Take a job; `tell` is called on a worker thread after each slice, with whether it was the last.

        Raises:
            QueueFull: there are too many, or too large ones.
        """
        with self._changed:
            if self._jobs >= self._max_jobs:
                raise QueueFull(f"{self._jobs} requests are waiting, the most that may: ask again later")
            if self._jobs and self._weight + job.weight > self._max_weight:
                raise QueueFull(
                    f"requests with {self._weight} rows are waiting; with the {job.weight} of this one they would be more "
                    f"than {self._max_weight}: ask again later"
                )
            self._jobs += 1
            self._weight += job.weight
            self._fresh.append(_Entry(job, tell))
            self._changed.notify_all()

    def close(self) -> None:
        """Begin no further slice, and forget what waits."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _work(self, take: Callable[[], _Entry | None]) -> None:
        while (entry := self._next(take)) is not None:
            finished = entry.job.step()
            with self._changed:
                if finished:
                    self._jobs -= 1
                    self._weight -= entry.job.weight
                else:
                    self._begun.append(entry)
                    self._changed.notify_all()
            entry.tell(finished)

    def _next(self, take: Callable[[], _Entry | None]) -> _Entry | None:
        with self._changed:
            while not self._closed:
                if (entry := take()) is not None:
                    return entry
                self._changed.wait()
        return None

    def _take_fresh(self) -> _Entry | None:
        return self._fresh.popleft() if self._fresh else None

    def _take_any(self) -> _Entry | None:
        """Take one whose time is over, so that it ends; else the one that has waited longest since its last slice."""
        if not self._begun:
            return self._take_fresh()
        now = self._now()
        entry = next((entry for entry in self._begun if entry.job.deadline <= now), self._begun[0])
        self._begun.remove(entry)
        return entry
