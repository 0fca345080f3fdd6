"""pytorch_kinematics' own tests hold when `pytorch_kinematics` is `pk_core`, all but those that assert what is wrong there.

They are not in its wheel: `make test` fetches its source distribution to `.venv/peer`. The robots that they read are not in
that either: `test/data/peer_robots` has the same kinematics, without shapes, and of big ones the part that the tests look at.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
PEER = Path(sys.prefix) / "peer" / "pytorch_kinematics-0.10.0.tar.gz"

NEED_PYBULLET_OR_MENAGERIE = {"test_inverse_kinematics.py", "test_menagerie.py"}
TESTS = 48
"""So many do without."""
DO_NOT_HOLD = {"test_empty_limits", "test_fkik", "test_compile_ik_step"}
"""What each asserts, and what is true instead, stands in docs/coming_from_pytorch_kinematics.md."""

CHANGE_THE_IMPORT = """
import sys
import pk_core

sys.modules["pytorch_kinematics"] = pk_core
for module in ("", ".math", ".rotation_conversions"):
    sys.modules["pytorch_kinematics.transforms" + module] = pk_core.transforms
pk_core.transforms.rotation_conversions = pk_core.transforms
"""


@pytest.mark.slow
@pytest.mark.timeout(600)  # torch compiles some of it
@pytest.mark.skipif(not PEER.exists(), reason=f"no {PEER}; `make test` fetches it")
def test_its_own_tests_hold_with_the_import_alone_changed(tmp_path):
    (tmp_path / "tests").symlink_to(_unpacked_tests(tmp_path))
    (tmp_path / "conftest.py").write_text(CHANGE_THE_IMPORT)
    left_out = [f"--ignore=tests/{name}" for name in sorted(NEED_PYBULLET_OR_MENAGERIE)]
    command = [sys.executable, "-m", "pytest", "-q", "--junitxml=report.xml", *left_out, "tests"]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=580)
    cases = list(ElementTree.parse(tmp_path / "report.xml").iter("testcase"))
    failed = {case.get("name") for case in cases if case.find("failure") is not None or case.find("error") is not None}
    assert failed == DO_NOT_HOLD, run.stdout
    assert len(cases) == TESTS and not any(case.find("skipped") is not None for case in cases), run.stdout


def test_the_document_says_why_some_do_not_hold():
    text = (ROOT / "docs" / "coming_from_pytorch_kinematics.md").read_text(encoding="utf8")
    assert set(re.findall(r"^\| `(test_\w+)` \|", text, re.MULTILINE)) == DO_NOT_HOLD


def _unpacked_tests(tmp_path: Path) -> Path:
    """Unpack the peer's tests and lay the robots that they read beside them."""
    with tarfile.open(PEER) as archive:
        archive.extractall(tmp_path / "peer", filter="data")
    tests = next((tmp_path / "peer").glob("*/tests"))
    robots = ROOT / "test" / "data" / "peer_robots"
    for robot in robots.rglob("*.*"):
        link = tests / robot.relative_to(robots)
        link.parent.mkdir(exist_ok=True)
        link.symlink_to(robot)
    return tests
