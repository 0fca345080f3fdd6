"""The examples run, and do what they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(path: Path) -> str:
    """Run a program of the repository as a user does; give what it prints."""
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, path], env=env, check=True, capture_output=True, text=True, timeout=170
    ).stdout


def test_inverse_kinematics_follows_the_circle_without_a_jump():
    printed = run(ROOT / "examples" / "inverse_kinematics.py")
    assert float(re.search(r"worst error (\S+) m", printed)[1]) <= 1e-4
    assert float(re.search(r"largest change of a joint (\S+) rad", printed)[1]) < 0.2


def test_the_loss_falls():
    losses = [float(x) for x in re.findall(r"loss (\S+),", run(ROOT / "examples" / "pose_in_a_loss.py"))]
    assert len(losses) == 4 and losses[-1] < 0.05 * losses[0]


def test_calibrate_arm_finds_the_robot_to_a_tenth_of_a_millimetre():
    printed = run(ROOT / "examples" / "calibrate_arm.py")
    before, after = (float(re.search(rf"{when} +(\S+) mm", printed)[1]) for when in ("before", "after"))
    assert before > 10 and after < 0.1
    assert "rows that hardly count: 10\n" in printed


def test_the_ten_lines_of_the_readme_run(tmp_path):
    code = re.search(r"```python\n(import torch.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    script = tmp_path / "readme.py"
    script.write_text(code)
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, script], env=env, cwd=ROOT, check=True, capture_output=True, text=True, timeout=170
    )
    assert done.stdout.startswith("tensor(True)") and "[1000, 1, 7]" in done.stdout


def test_every_example_is_tested():
    tested = Path(__file__).read_text()
    for path in (ROOT / "examples").glob("*.py"):
        assert path.name in tested


@pytest.mark.parametrize(
    "name", ["README.md", "docs/calibration.md", "docs/coming_from_pytorch_kinematics.md", "docs/design.md"]
)
def test_links_between_documents_lead_somewhere(name):
    document = ROOT / name
    for link in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
        assert (document.parent / link).exists(), link
