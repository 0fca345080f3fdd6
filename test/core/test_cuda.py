"""The kernels of the GPU: right in the simulator on any machine, and on a GPU where there is one."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from robots import all_joint_types, panda

from pk_core import Chain
from pk_core.kinematics import fused, paths

HERE = Path(__file__).parent


def installed(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # no such parent
        return False


needs_numba_cuda = pytest.mark.skipif(
    not installed("numba_cuda"), reason="numba-cuda is not installed: pip install 'pk[cuda]'"
)
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")


def run(program: str, *arguments: str, simulate: bool) -> str:
    """Run a program of this folder; give what it prints."""
    environment = os.environ | {"NUMBA_ENABLE_CUDASIM": str(int(simulate)), "PYTHONPATH": f"{HERE.parents[1]}:{HERE}"}
    command = [sys.executable, "-W", "error", str(HERE / program), *arguments]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=170)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


@needs_numba_cuda
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_simulated_kernels_agree_with_the_definition(dtype):
    assert run("cuda_simulation.py", dtype, simulate=True) == "agrees"


@needs_numba_cuda
@pytest.mark.skipif(not installed("nvidia.cuda_nvcc"), reason="no CUDA compiler: pip install 'pk[cuda]'")
def test_every_kernel_compiles_for_a_gpu():
    assert run("cuda_compilation.py", simulate=False) == "compiles"


def test_without_the_extra_a_warning_names_it_and_the_definition_serves(monkeypatch):
    monkeypatch.setitem(sys.modules, "pk_core.kinematics.cuda", None)  # as where numba-cuda can't be imported
    monkeypatch.delattr("pk_core.kinematics.cuda", raising=False)
    paths._cuda_kernels.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match=r"pip install 'pk\[cuda\]'"):
            assert paths.kernels_on(torch.device("cuda")) is None
        assert paths.kernels_on(torch.device("cuda")) is None  # and says it once
    finally:
        paths._cuda_kernels.cache_clear()


@needs_gpu
@needs_numba_cuda
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_kernels_on_the_gpu_agree_with_those_of_the_cpu(dtype):
    tolerance = {torch.float32: 1e-5, torch.float64: 1e-12}[dtype]
    for made in (Chain(all_joint_types(), dtype=dtype), panda(dtype)):
        here, there = Chain(made.robot, dtype=dtype), Chain(made.robot, dtype=dtype, device="cuda")
        q, frame = here.random(1000).requires_grad_(), here.get_frame_names()[-1]
        on_gpu = q.detach().cuda().requires_grad_()
        for a, b in (
            (here.forward_kinematics_tensor(q), there.forward_kinematics_tensor(on_gpu)),
            (here.jacobian(q, frame), there.jacobian(on_gpu, frame)),
        ):
            torch.testing.assert_close(b.cpu(), a, rtol=0, atol=tolerance)
            weights = torch.randn_like(a)
            (wanted,), (got,) = torch.autograd.grad(a, q, weights), torch.autograd.grad(b, on_gpu, weights.cuda())
            torch.testing.assert_close(got.cpu(), wanted, rtol=0, atol=100 * tolerance)


@needs_gpu
@needs_numba_cuda
def test_a_cuda_graph_captures_and_replays_forward_kinematics():
    arm = panda(torch.float32).to("cuda")
    q = arm.random(1000)
    arm.forward_kinematics_tensor(q)  # compiled before the capture
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        poses = arm.forward_kinematics_tensor(q)
    q.copy_(arm.random(1000))
    graph.replay()
    torch.testing.assert_close(poses, arm.forward_kinematics_tensor(q))


def test_the_cpu_has_its_kernels_whatever_is_installed():
    assert paths.kernels_on(torch.device("cpu")) is fused
