"""The disk cache of compiled kernels, and kernels under threads and forks."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from robots import chain, panda

ROOT = Path(__file__).parents[2]
SHORT = """
    import warnings; warnings.simplefilter("error")
    import torch, pk_core as pk
    arm = pk.build_chain_from_urdf("<robot name='r'><link name='a'/><link name='b'/><joint name='j' type='prismatic'>"
        "<parent link='a'/><child link='b'/></joint></robot>", dtype=torch.float64)
    print(arm.forward_kinematics([0.25])["b"].get_matrix()[0, 0, 3].item())
"""


def run(code: str, package: Path = ROOT, **environment: str) -> subprocess.CompletedProcess:
    """Run code in a fresh interpreter with a package folder and environment of its own."""
    env = os.environ | {"PYTHONPATH": str(package)} | environment
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], env=env, capture_output=True, text=True, timeout=170, cwd=package
    )


def kernels_in(folder: Path) -> list[Path]:
    return list(folder.rglob("*.nbc"))


def test_an_edited_helper_takes_effect_in_spite_of_the_cache(tmp_path):
    shutil.copytree(ROOT / "pk_core", tmp_path / "pk_core", ignore=shutil.ignore_patterns("__pycache__"))
    before = run(SHORT, tmp_path, PK_CACHE_DIR=str(tmp_path / "cache"))
    assert before.stdout.strip() == "0.25", before.stderr
    helper = tmp_path / "pk_core" / "kinematics" / "forward.py"
    old = "values[lane] = multiplier * q["
    assert old in helper.read_text()
    helper.write_text(helper.read_text().replace(old, "values[lane] = 2 * multiplier * q["))
    after = run(SHORT, tmp_path, PK_CACHE_DIR=str(tmp_path / "cache"))
    assert after.stdout.strip() == "0.5", after.stderr


def test_kernels_come_from_the_disk_the_second_time(tmp_path):
    first = run(SHORT, PK_CACHE_DIR=str(tmp_path))
    assert first.returncode == 0, first.stderr
    stamps = {path: path.stat().st_mtime_ns for path in kernels_in(tmp_path)}
    assert stamps
    again = run(SHORT, PK_CACHE_DIR=str(tmp_path))
    assert again.stdout == first.stdout
    assert {path: path.stat().st_mtime_ns for path in kernels_in(tmp_path)} == stamps


def test_without_a_folder_that_can_be_written_kernels_compile_with_one_warning(tmp_path):
    (tmp_path / "file").write_text("")
    code = SHORT.replace('warnings.simplefilter("error")', 'warnings.simplefilter("always")')
    result = run(code, PK_CACHE_DIR=str(tmp_path / "file"))
    assert result.stdout.strip() == "0.25", result.stderr
    assert result.stderr.count("RuntimeWarning") == 1 and "PK_CACHE_DIR" in result.stderr


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="there are no owners of files here")
def test_a_cache_folder_that_others_may_write_is_not_trusted(tmp_path):
    assert run("import pk_core", PK_CACHE_DIR=str(tmp_path)).returncode == 0
    (folder,) = (tmp_path / "pk").iterdir()
    folder.chmod(0o777)
    result = run("import pk_core", PK_CACHE_DIR=str(tmp_path))
    assert "does not belong to this user alone" in result.stderr


def test_kernels_that_nobody_used_for_a_month_are_removed(tmp_path):
    of_others = [tmp_path / "pk" / name for name in ("0123456789abcdef", "fedcba9876543210", "notes")]
    for folder, days in zip(of_others, (31, 29, 31)):
        folder.mkdir(parents=True)
        os.utime(folder, (time.time() - days * 24 * 3600,) * 2)
    assert run("import pk_core", PK_CACHE_DIR=str(tmp_path)).returncode == 0
    assert [folder.exists() for folder in of_others] == [False, True, True]
    (ours,) = set((tmp_path / "pk").iterdir()) - set(of_others)
    os.utime(ours, (0, 0))
    assert run("import pk_core", PK_CACHE_DIR=str(tmp_path)).returncode == 0
    assert ours.stat().st_mtime > time.time() - 3600  # it was used


def test_several_threads_may_call_at_once():
    arm = panda()
    q = arm.random(3000)
    expected = arm.forward_kinematics_tensor(q)
    with ThreadPoolExecutor(8) as pool:
        for got in pool.map(lambda _: arm.forward_kinematics_tensor(q), range(64)):
            assert torch.equal(got, expected)


def test_a_forked_worker_of_a_data_loader_computes():
    class Poses(torch.utils.data.Dataset):
        arm = chain("panda", torch.float32)
        q = arm.random(8 * 4000).view(8, 4000, 8)

        def __len__(self) -> int:
            return 8

        def __getitem__(self, index: int) -> torch.Tensor:
            return self.arm.forward_kinematics_tensor(self.q[index])

    data = Poses()
    expected = [data[k] for k in range(8)]  # the pool of threads is at work before the fork
    loader = torch.utils.data.DataLoader(data, batch_size=None, num_workers=2, multiprocessing_context="fork")
    for got, poses in zip(loader, expected):
        assert torch.equal(got, poses)


def test_as_many_threads_as_torch_is_allowed_give_the_same_bits():
    arm = panda(torch.float32)
    q = arm.random(10_000)
    threads = torch.get_num_threads()
    results = []
    try:
        for n in (1, 2, 7):
            torch.set_num_threads(n)
            results.append(arm.forward_kinematics_tensor(q))
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])
