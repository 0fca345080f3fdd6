"""The ROS tests keep to themselves: an own domain on this machine only, quick discovery, logs in a folder of theirs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

_PROFILES = str(Path(__file__).parent / "fastdds.xml")

os.environ["ROS_DOMAIN_ID"] = str(1 + os.getpid() % 101)
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
os.environ["ROS_LOCALHOST_ONLY"] = "1"  # the same, as Humble says it
os.environ["FASTDDS_DEFAULT_PROFILES_FILE"] = os.environ["FASTRTPS_DEFAULT_PROFILES_FILE"] = _PROFILES
os.environ["ROS_PYTHON_CHECK_FIELDS"] = "1"  # fields are checked as on Humble
os.environ["ROS_LOG_DIR"] = tempfile.mkdtemp(prefix="pk_ros_log")


@pytest.fixture(scope="session")
def panda_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """A node that serves the Panda in the namespace /panda, its description given as a parameter."""
    from bench import serving
    from oracle import PANDA

    with serving(tmp_path_factory.mktemp("panda"), "/panda", PANDA) as program:
        yield program


@pytest.fixture
def panda_bench(panda_node: object) -> Iterator[object]:
    """A node of the test's own beside `panda_node`."""
    from bench import Bench

    assert panda_node.running, panda_node.output
    with Bench("/panda") as bench:
        yield bench
