"""Rates and percentiles."""

from __future__ import annotations

import pytest

from pk_ros.statistics import Durations, RateMeter


def test_a_steady_stream_has_its_rate_from_the_start_and_none_when_it_ends() -> None:
    meter = RateMeter()
    assert meter.rate(0.0) == 0.0
    for i in range(2000):
        meter.count(i * 0.001)
        if i in (500, 1999):
            assert meter.rate(i * 0.001 + 1e-6) == pytest.approx(1000.0, rel=0.01)
    assert meter.rate(100.0) == 0.0


def test_percentiles_are_those_of_the_latest() -> None:
    durations = Durations(most=100)
    assert durations.percentiles(50, 99) == []
    for i in range(1000):
        durations.count(float(i))
    assert durations.percentiles(0, 50, 100) == [900.0, 949.5, 999.0]
