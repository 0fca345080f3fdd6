"""Messages that are in no wheel of the Python package index, built for tests from their definitions in `message_packages/`."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from bench import REPOSITORY

_SOURCES = Path(__file__).parent / "message_packages"
_NEEDS = {"moveit_msgs": ("object_recognition_msgs",)}


def environment(*packages: str) -> dict[str, str]:
    """Give what processes need to import packages, which are built once, and again when the definitions change."""
    paths = [str(REPOSITORY), str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    if all(importlib.util.find_spec(package) for package in packages):
        return {"PYTHONPATH": os.pathsep.join(paths)}
    files = sorted(file for file in _SOURCES.rglob("*") if file.is_file())
    key = hashlib.sha256(b"".join([sys.prefix.encode(), *(file.read_bytes() for file in files)])).hexdigest()[:16]
    prefix = REPOSITORY / "build" / f"messages-{key}"
    for package in packages:
        _build(package, prefix)
    (python,) = prefix.glob("lib/python3*/site-packages")
    libraries = [str(prefix / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    return {"PYTHONPATH": os.pathsep.join([*paths, str(python)]), "LD_LIBRARY_PATH": os.pathsep.join(libraries)}


def _build(package: str, prefix: Path) -> None:
    """Build a package and what it needs into a prefix, unless that was done."""
    complete = prefix / f"{package}.complete"
    if complete.is_file() or importlib.util.find_spec(package):
        return
    for needed in _NEEDS.get(package, ()):
        _build(needed, prefix)
    folder, wheels = prefix / "build" / package, REPOSITORY / "cmake" / "ros_wheels.cmake"
    prefixes = [str(prefix), *os.environ.get("AMENT_PREFIX_PATH", sys.prefix).split(os.pathsep)]
    for command in (
        ["cmake", "-S", _SOURCES / package, "-B", folder, f"-DCMAKE_INSTALL_PREFIX={prefix}", "-DBUILD_TESTING=OFF",
         f"-DCMAKE_PREFIX_PATH={';'.join(prefixes)}", f"-DCMAKE_PROJECT_INCLUDE={wheels}"],
        ["cmake", "--build", folder, "--target", "install", "--parallel"],
    ):  # fmt: skip
        variables = {
            "PATH": f"{sys.prefix}/bin{os.pathsep}{os.environ['PATH']}",
            "VIRTUAL_ENV": sys.prefix,
            "AMENT_PREFIX_PATH": os.pathsep.join(prefixes),
        }
        done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    complete.touch()
