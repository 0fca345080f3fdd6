"""Run a kernel over slices of a batch, one slice a thread, as many threads as torch is allowed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import torch

_lock = threading.Lock()
_pool: tuple[int, ThreadPoolExecutor] | None = None


def run_slices(kernel: Callable, n: int, work: int, align: int, *arguments: object) -> None:
    """Call `kernel(*arguments, begin, end)` for slices that cover `range(n)`.

    Args:
        work: a rough count of operations for all n; little work runs in the calling thread.
        align: slices begin at multiples of this.
    """
    threads = min(torch.get_num_threads(), -(-n // align)) if work > 200_000 else 1
    if threads <= 1:
        kernel(*arguments, 0, n)
        return
    step = -(-n // (threads * align)) * align
    bounds = [(begin, min(begin + step, n)) for begin in range(0, n, step)]
    waiting = [_executor(threads).submit(kernel, *arguments, *slice_) for slice_ in bounds[1:]]
    try:
        kernel(*arguments, *bounds[0])
    finally:  # never return while a thread still writes
        failures = [future.exception() for future in waiting]
    for failure in failures:
        if failure is not None:
            raise failure


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
