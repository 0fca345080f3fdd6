"""The soak can fail: what it takes for a fault."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))

from soak_judgement import Usage, growth, load, losses

STEADY = [Usage(memory=400.0 + (i % 3), threads=20 + (i % 2), files=50) for i in range(40)]


def test_a_steady_node_has_no_fault_though_it_grew_at_first() -> None:
    warming = [Usage(memory=100.0, threads=3, files=10)] * 10 + STEADY[10:]
    assert growth(STEADY) == growth(warming) == losses(0, 100, 0.0) == load(10, 9, "") == []


@pytest.mark.parametrize(("name", "step"), [("memory", 1.0), ("threads", 0.2), ("files", 0.1)])
def test_what_leaks_is_named(name: str, step: float) -> None:
    leaking = [replace(sample, **{name: getattr(sample, name) + step * i}) for i, sample in enumerate(STEADY)]
    (fault,) = growth(leaking)
    assert fault.startswith(f"{name} grew from")


def test_too_few_samples_are_a_fault_and_so_are_lost_messages_and_a_load_that_was_none() -> None:
    assert growth(STEADY[:7])
    assert losses(11, 100, 0.1) == ["11 of 100 joint_states without poses"]
    assert losses(0, 0, 0.1)
    assert load(0, 0, "")
    assert load(5, 5, "ServiceTimeout: late") == ["ServiceTimeout: late"]


def test_what_a_process_holds_is_read_from_the_system() -> None:
    before = Usage.of(os.getpid())
    descriptors = [os.open(os.devnull, os.O_RDONLY) for _ in range(5)]
    block = b"x" * 2**26
    held = Usage.of(os.getpid())
    for descriptor in descriptors:
        os.close(descriptor)
    assert held.files == before.files + 5
    assert held.memory > before.memory + 0.9 * len(block) / 2**20
    assert before.threads >= 1
