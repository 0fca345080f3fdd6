"""Time calls against each other: in one process, in turn, so that a machine whose speed drifts gives the same ratio."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping

Call = Callable[[], object]


SAMPLE = 2e-3  # [s] that a sample takes at least: a short call after a long one of somebody else finds cold caches


def medians(
    calls: Mapping[str, Call], seconds: float = 1.0, least: int = 5, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Give the median time [s] of each call; they run in turn, after one warm-up each, until `seconds` have passed.

    Short calls run several times in a row, and the mean of these is one sample, as `timeit` does it.
    """
    repeats = {name: _repeats(call) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or min(map(len, times.values())) < least:
        for name, call in calls.items():
            start = clock()
            for _ in range(repeats[name]):
                call()
            times[name].append((clock() - start) / repeats[name])
    return {name: statistics.median(values) for name, values in times.items()}


def _repeats(call: Call) -> int:
    """Say how many calls make a sample, by one call after one to warm up."""
    call()
    start = time.perf_counter()
    call()
    return max(1, round(SAMPLE / (time.perf_counter() - start)))


def table(title: str, header: list[str], rows: list[list[str]]) -> None:
    """Print a table, columns as wide as they need to be."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    print(f"\n{title}")
    for row in [header, *rows]:
        print("  " + "  ".join(cell.rjust(width) for cell, width in zip(row, widths)))
