"""Run a kernel over slices of a batch, on as many threads as torch is allowed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait

import numpy as np
import torch

# [ns]: handing a slice to a thread costs some tens of microseconds, on virtual machines hundreds
WORTH_A_THREAD = 400_000
WORTH_WAITING = 20_000_000  # [ns]: shorter calls need no ear for signals
SLICES_A_THREAD = 4

_lock = threading.Lock()
_pool: tuple[int, ThreadPoolExecutor] | None = None


def run_slices(
    kernel: Callable, n: int, nanoseconds: int, align: int, *arguments: object, interrupt: np.ndarray | None = None
) -> None:
    """Call `kernel(*arguments, begin, end)` for slices that cover `range(n)`.

    The calling thread takes slices too and ends with the last one, whether or not the others came to run: where torch's
    own threads keep the cores busy, nobody waits for a thread that has not begun.

    Args:
        nanoseconds: a rough estimate for all n; little work runs in the calling thread alone.
        align: slices begin at multiples of this.
        interrupt: an array that the kernel looks at: an exception in the calling thread, as of Ctrl-C, sets it. The calling
            thread then only waits, for a signal can't reach it in a kernel.
    """
    threads = min(torch.get_num_threads(), -(-n // align)) if nanoseconds > WORTH_A_THREAD else 1
    attentive = interrupt is not None and nanoseconds > WORTH_WAITING
    if threads <= 1 and not attentive:
        kernel(*arguments, 0, n)
        return
    slices = _Slices(n, threads * SLICES_A_THREAD, align)

    def take_slices() -> None:
        for begin, end in slices:
            kernel(*arguments, begin, end)

    helpers: list[Future] = []
    try:
        for _ in range(threads - (not attentive)):
            helpers.append(_executor(threads).submit(take_slices))
        if attentive:
            wait(helpers)
        else:
            take_slices()
    except BaseException:
        if interrupt is not None:
            interrupt.fill(1)
        raise
    finally:  # never return while a thread still writes
        failures = [helper.exception() for helper in helpers if not helper.cancel()]
    for failure in failures:
        if failure is not None:
            raise failure


class _Slices(Iterator[tuple[int, int]]):
    """Deal out slices of `range(n)` to whoever asks next, on any thread."""

    def __init__(self, n: int, count: int, align: int) -> None:
        self._n, self._step = n, -(-n // (count * align)) * align
        self._begin, self._lock = 0, threading.Lock()

    def __next__(self) -> tuple[int, int]:
        with self._lock:
            begin = self._begin
            self._begin += self._step
        if begin >= self._n:
            raise StopIteration
        return begin, min(begin + self._step, self._n)


def _executor(threads: int) -> ThreadPoolExecutor:
    global _pool
    with _lock:
        if _pool is None or _pool[0] < threads:
            _pool = (threads, ThreadPoolExecutor(threads, thread_name_prefix="pk"))
        return _pool[1]


def _forget_pool() -> None:
    """A forked child has the pool object but not its threads: make a new one at need."""
    global _pool, _lock
    _pool, _lock = None, threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
