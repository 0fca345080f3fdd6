"""Descriptions that are read in the background."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pk_ros import description
from pk_ros.description import Description, DescriptionReader, Outcome

ROBOT = '<robot name="{name}"><link name="base"/></robot>'


@pytest.fixture
def reader() -> Iterator[tuple[DescriptionReader, Callable[[], list[Outcome]]]]:
    """A reader, and what waits until it has read all that it will."""
    woken = threading.Event()
    reader = DescriptionReader(woken.set)

    def settle() -> list[Outcome]:
        outcomes: list[Outcome] = []
        deadline = time.monotonic() + 100.0
        while reader.busy:
            assert time.monotonic() < deadline
            woken.wait(0.05)
            outcomes += reader.take()
        return outcomes

    yield reader, settle
    reader.close()


def test_a_description_becomes_a_model_or_a_reason(reader: tuple) -> None:
    reader, settle = reader
    reader.offer(Description(ROBOT.format(name="one"), "here"))
    (outcome,) = settle()
    assert outcome.model.robot.name == "one"
    reader.offer(Description("<robot>", "here"))
    (outcome,) = settle()
    assert outcome.model is None
    assert "line 1" in outcome.reason


def test_a_text_that_is_offered_again_is_not_read_again(reader: tuple, tmp_path: Path) -> None:
    reader, settle = reader
    text, path = ROBOT.format(name="one"), tmp_path / "robot.urdf"
    path.write_text(text)
    reader.offer(Description(text, "here"))
    assert len(settle()) == 1
    reader.offer(Description(text, "here"))
    assert not settle()
    reader.offer(Description(text, "here", device="cpu:0"))  # elsewhere it is another
    assert len(settle()) == 1
    for _ in range(2):  # a file may have changed
        reader.offer(Description(path, "file"))
        assert len(settle()) == 1


def test_of_those_that_wait_only_the_latest_is_read(reader: tuple) -> None:
    reader, settle = reader
    for i in range(200):
        reader.offer(Description(ROBOT.format(name=f"r{i}"), "here"))
    outcomes = settle()
    assert outcomes[-1].model.robot.name == "r199"
    assert len(outcomes) < 200


def test_a_text_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(description, "MOST_CHARACTERS", 100)
    assert "more than 100 characters" in Description("<robot>" + " " * 100, "here").problem()


def test_a_device_that_is_not_there_is_told_as_such() -> None:
    problem = Description(ROBOT.format(name="one"), "here", device="toaster").problem()
    assert problem.startswith("device 'toaster' can't be used here")


@pytest.mark.parametrize("text", ["robot.urdf", "/etc/passwd", "file:///etc/passwd", "\ufeff /etc/passwd"])
def test_a_text_is_never_taken_for_a_path(text: str) -> None:
    assert "does not begin with '<'" in Description(text, "here").problem()


def test_a_file_that_can_not_be_read_is_told(tmp_path: Path) -> None:
    assert "can't be read" in Description(tmp_path / "none.urdf", "file").problem()
    (tmp_path / "latin.urdf").write_bytes(b"<robot name='\xe9'/>")
    assert "can't be read" in Description(tmp_path / "latin.urdf", "file").problem()
    for path in (tmp_path, Path("/dev/zero")):  # one has no end
        assert "is no file" in Description(path, "file").problem()
