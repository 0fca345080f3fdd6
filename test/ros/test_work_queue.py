"""The queue of requests: turns, bounds and its end, with jobs that wait for the test where it matters."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator

import pytest

from pk_ros.work_queue import QueueFull, WorkQueue

PATIENCE = 30.0  # [s]


class Steps:
    """A job of a number of steps, each of which waits for the gate."""

    def __init__(self, steps: int, weight: int = 1, gate: threading.Event | None = None) -> None:
        self.weight = weight
        self.deadline = float("inf")
        self.left = steps
        self.began = threading.Event()
        self.ended = threading.Event()
        self.told: list[bool] = []
        self._gate = gate

    def step(self) -> bool:
        self.began.set()
        if self._gate:
            assert self._gate.wait(PATIENCE)
        self.left -= 1
        return self.left == 0

    def tell(self, finished: bool) -> None:
        self.told.append(finished)
        if finished:
            self.ended.set()


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    gate = threading.Event()
    yield gate
    gate.set()  # lets the workers go


@pytest.fixture
def queue() -> Iterator[WorkQueue]:
    queue = WorkQueue(4, 100, time.monotonic)
    yield queue
    queue.close()


def test_a_job_is_told_of_after_each_step(queue: WorkQueue) -> None:
    job = Steps(3)
    queue.submit(job, job.tell)
    assert job.ended.wait(PATIENCE)
    assert job.told == [False, False, True]
    assert queue.waiting == 0


def test_small_jobs_are_done_while_a_large_one_is_at_its_second_step(queue: WorkQueue, gate: threading.Event) -> None:
    class Large(Steps):
        def step(self) -> bool:
            return super().step() if self.told else False  # the first step is short

    large = Large(2, gate=gate)
    queue.submit(large, large.tell)
    assert large.began.wait(PATIENCE)
    for _ in range(3):
        small = Steps(1)
        queue.submit(small, small.tell)
        assert small.ended.wait(PATIENCE)
    assert not large.ended.is_set()


def test_a_flood_of_small_jobs_does_not_starve_a_large_one() -> None:
    queue = WorkQueue(1000, 10**6, time.monotonic)
    large = Steps(200)
    queue.submit(large, large.tell)
    small = [Steps(1) for _ in range(900)]
    for job in small:
        queue.submit(job, job.tell)
    while not large.ended.is_set():  # as long as it takes there is a small one waiting
        job = Steps(1)
        if queue.waiting < 900:
            queue.submit(job, job.tell)
    queue.close()


def test_large_jobs_take_turns(queue: WorkQueue) -> None:
    order: list[Steps] = []
    begun = threading.Event()

    class Large(Steps):
        def step(self) -> bool:
            if self.told:  # not the first step
                assert begun.wait(PATIENCE)
                order.append(self)
            return super().step()

        def tell(self, finished: bool) -> None:
            super().tell(finished)
            if all(job.told for job in jobs):
                begun.set()

    jobs = [Large(20), Large(20)]
    for job in jobs:
        queue.submit(job, job.tell)
    for job in jobs:
        assert job.ended.wait(PATIENCE)
    assert all(one is not next_ for one, next_ in itertools.pairwise(order))


def test_a_job_whose_time_is_over_is_ended_before_others_go_on(queue: WorkQueue, gate: threading.Event) -> None:
    order: list[Steps] = []

    class Noted(Steps):
        def step(self) -> bool:
            order.append(self)
            return super().step()

    jobs = [Noted(3, gate=gate) for _ in range(3)]
    for job in jobs:
        queue.submit(job, job.tell)
    assert jobs[0].began.wait(PATIENCE)
    jobs[2].deadline = 0.0
    gate.set()
    assert jobs[2].ended.wait(PATIENCE)
    own = [i for i, job in enumerate(order) if job is jobs[2]]
    assert own[2] - own[1] <= 2  # nothing but the first lane's job came between


def test_too_many_jobs_are_refused_and_taken_again_when_some_are_done(queue: WorkQueue, gate: threading.Event) -> None:
    jobs = [Steps(1, gate=gate) for _ in range(4)]
    for job in jobs:
        queue.submit(job, job.tell)
    further = Steps(1)
    with pytest.raises(QueueFull, match="4 requests are waiting"):
        queue.submit(further, further.tell)
    gate.set()
    for job in jobs:
        assert job.ended.wait(PATIENCE)
    queue.submit(further, further.tell)
    assert further.ended.wait(PATIENCE)


def test_jobs_that_are_too_heavy_together_are_refused(queue: WorkQueue, gate: threading.Event) -> None:
    first, heavy = Steps(1, weight=1, gate=gate), Steps(1, weight=100)
    queue.submit(first, first.tell)
    with pytest.raises(QueueFull, match="requests with 1 rows are waiting; with the 100 of this one"):
        queue.submit(heavy, heavy.tell)
    gate.set()
    assert first.ended.wait(PATIENCE)
    while queue.waiting:
        time.sleep(0.001)
    queue.submit(heavy, heavy.tell)
    assert heavy.ended.wait(PATIENCE)


def test_the_threads_of_a_closed_queue_end() -> None:
    before = threading.active_count()
    queue = WorkQueue(4, 100, time.monotonic)
    assert threading.active_count() == before + 2
    queue.close()
    deadline = time.monotonic() + PATIENCE
    while threading.active_count() > before and time.monotonic() < deadline:
        time.sleep(0.001)
    assert threading.active_count() == before
