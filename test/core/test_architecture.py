"""Imports only point down, and no floor drags in what it must not know."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "pk_core"

# from the ground up; a module may import from its own floor and from those before it
FLOORS = (
    ("errors", "pose", "model", "validation", "subtree"),
    ("shapes",),
    ("transforms",),
    ("parsers",),
    ("tree", "flatten"),
    ("kinematics",),
    ("integration", "configuration", "chain_info", "parameters", "chain_velocities", "chain", "serial_chain"),
    ("description_files", "load", "builders"),
    ("ik",),
    ("calibration",),
    ("warmup",),
    ("__init__",),
)


def floor(module: str) -> int:
    """Find the floor of a module by its first name below pk_core."""
    name = module.split(".")[0] or "__init__"
    for level, names in enumerate(FLOORS):
        if name in names:
            return level
    pytest.fail(f"pk_core.{module} stands on no floor: give it one in {Path(__file__).name} and in docs/design.md")


def imports(path: Path) -> list[str]:
    """List what a file imports, absolute names."""
    package = ["pk_core", *path.relative_to(CORE).parent.parts]
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            names += [f"{stem}.{alias.name}" for alias in node.names] if node.module is None else [stem]
    return names


FILES = sorted(CORE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CORE)))
def test_imports_point_down(path):
    own = path.relative_to(CORE).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    for name in imports(path):
        if name.split(".")[0] == "pk_core":
            target = name.removeprefix("pk_core").removeprefix(".")
            assert floor(target) <= floor(own), f"{path.name} imports {name}, which stands above it"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(CORE)))
def test_pk_core_knows_no_ros(path):
    foreign = {name.split(".")[0] for name in imports(path)} & {"rclpy", "pk_ros", "sensor_msgs", "geometry_msgs"}
    assert not foreign


def test_the_ground_and_the_readers_need_no_torch():
    code = "import importlib.util, sys; sys.modules['torch'] = None; sys.path.insert(0, sys.argv[1]); "
    # the package's own door imports torch; its modules are loaded below an empty package
    code += "import types; p = types.ModuleType('pk_core'); p.__path__ = [sys.argv[1] + '/pk_core']; sys.modules['pk_core'] = p; "
    code += "import pk_core.parsers, pk_core.validation, pk_core.flatten"
    subprocess.run([sys.executable, "-c", code, str(ROOT)], check=True)


def test_every_file_that_compiles_kernels_is_in_the_fingerprint_of_the_cache():
    from pk_core.kinematics.compilation import KERNEL_SOURCES

    compiled = {
        path.relative_to(CORE).as_posix() for path in FILES if "pk_core.kinematics.compilation" in imports(path)
    }
    compiled -= {"warmup.py"}
    assert compiled <= set(KERNEL_SOURCES)


def test_every_module_that_a_kernel_takes_names_from_is_in_the_fingerprint():
    from pk_core.kinematics.compilation import KERNEL_SOURCES

    for source in KERNEL_SOURCES:
        if "pk_core.kinematics.compilation" in imports(CORE / source):
            used = {name for name in imports(CORE / source) if name.startswith("pk_core.")}
            files = {name.removeprefix("pk_core.").replace(".", "/") + ".py" for name in used}
            assert files <= set(KERNEL_SOURCES), source
