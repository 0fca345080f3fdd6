"""The demo as a user starts it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: no ROS here")

from bench import Program


def processes_of(session: int) -> list[str]:
    """Command lines of the processes whose environment marks them as started by this test."""
    mark = f"PK_DEMO_TEST={session}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if mark in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:  # ended meanwhile, or another user's
            continue
    return found


def test_the_demo_solves_every_target_and_leaves_nothing_behind(tmp_path: Path) -> None:
    with Program(tmp_path / "demo.log", "pk_ros.demo", environment={"PK_DEMO_TEST": str(os.getpid())}) as demo:
        assert demo.wait() == 0, demo.output
        assert "solved              1000 (0 outside the limits)" in demo.output
        assert demo.output.count("panda_hand of ") == 5
    assert not processes_of(os.getpid())


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks for processes in /proc")
def test_a_demo_that_is_interrupted_takes_its_processes_with_it(tmp_path: Path) -> None:
    with Program(tmp_path / "demo.log", "pk_ros.demo", environment={"PK_DEMO_TEST": str(-os.getpid())}) as demo:
        deadline = time.monotonic() + 30.0
        while len(processes_of(-os.getpid())) < 3 and time.monotonic() < deadline:
            time.sleep(0.05)
        assert len(processes_of(-os.getpid())) == 3
        try:
            assert demo.stop(signal.SIGINT) == 130
        except subprocess.TimeoutExpired:
            pytest.fail(demo.output)
        assert not processes_of(-os.getpid())
