"""What pip installs: all of the Python, the embedded robots, and no need of ROS."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `pip install --target` filled from a copy of the source tree, without its dependencies."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("target")
    for folder in ("pk_core", "pk_ros", "config"):
        shutil.copytree(ROOT / folder, source / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("setup.py", "pyproject.toml", "package.xml", "MANIFEST.in"):
        shutil.copy(ROOT / file, source)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", target, source], check=True, capture_output=True, timeout=120)
    return target


def files_below(folder: Path, *patterns: str) -> set[Path]:
    return {file.relative_to(folder) for pattern in patterns for file in folder.rglob(pattern)}


@pytest.mark.parametrize("package", ["pk_core", "pk_ros"])
def test_every_module_is_installed(installed: Path, package: str) -> None:
    assert files_below(ROOT / package, "*.py", "py.typed") == files_below(installed / package, "*.py", "py.typed")


def test_type_checkers_are_told_that_pk_core_has_types(installed: Path) -> None:
    assert (installed / "pk_core/py.typed").is_file()


def test_the_embedded_robots_are_installed(installed: Path) -> None:
    robots = files_below(ROOT / "config", "*.urdf", "*.yaml")
    assert robots
    assert robots <= files_below(installed / "share/pk_ros/config", "*")


def test_extras_that_messages_speak_of_exist(installed: Path) -> None:
    [metadata] = installed.glob("pk-*.dist-info/METADATA")
    extras = set(re.findall(r"^Provides-Extra: (.+)$", metadata.read_text(), re.MULTILINE))
    spoken_of = {
        name for file in (ROOT / "pk_core").rglob("*.py") for name in re.findall(r"pk\[(\w+)\]", file.read_text())
    }
    assert spoken_of == extras


def test_the_version_is_that_of_the_ros_package(installed: Path) -> None:
    [metadata] = installed.glob("pk-*.dist-info/METADATA")
    version = next(line for line in metadata.read_text().splitlines() if line.startswith("Version: "))
    assert f"<version>{version.removeprefix('Version: ')}</version>" in (ROOT / "package.xml").read_text()


def test_pk_core_is_imported_without_ros(installed: Path, tmp_path: Path) -> None:
    program = (
        f"import sys; sys.path.insert(0, {str(installed)!r}); import pk_core; "
        "assert 'rclpy' not in sys.modules and 'pk_ros' not in sys.modules; print(pk_core.__file__)"
    )
    environment = {**os.environ, "PYTHONPATH": "", "PK_CACHE_DIR": str(tmp_path)}
    python = [sys.executable, "-c", program]
    done = subprocess.run(python, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.strip()).is_relative_to(installed)
