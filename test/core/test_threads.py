"""Several Python threads at once, and processes that begin after the kernels have run: bit for bit what one call gives."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch
from robots import panda
from torch import Tensor

import pk_core as pk
from pk_core import SerialChain


def gradient(arm: SerialChain, q: Tensor) -> Tensor:
    x = q.detach().clone().requires_grad_()
    arm.forward_kinematics_tensor(x).sin().sum().backward()
    return x.grad


def solutions(arm: SerialChain, q: Tensor) -> Tensor:
    return pk.solve_ik(arm, arm.forward_kinematics_tensor(q[:20])[-1]).solutions


WORK: list[Callable[[SerialChain, Tensor], Tensor]] = [
    lambda arm, q: arm.forward_kinematics_tensor(q),
    lambda arm, q: arm.jacobian(q),
    gradient,
    solutions,
]


def test_threads_that_do_different_things_get_their_own_results():
    arm, once = panda(), panda()
    jobs = [(work, arm.random(n)) for work in WORK for n in (1, 70, 6000)] * 2
    expected = [work(once, q) for work, q in jobs]
    start = threading.Barrier(4)  # all begin at once, on a chain that nobody has used

    def run(mine: int) -> list[tuple[int, Tensor]]:
        start.wait(60)
        return [(k, jobs[k][0](arm, jobs[k][1])) for k in range(mine, len(jobs), 4)]

    with ThreadPoolExecutor(4) as pool:
        for done in pool.map(run, range(4)):
            for k, got in done:
                assert torch.equal(got, expected[k])


class Results(torch.utils.data.Dataset):
    """Gradients and solutions computed by the worker."""

    def __init__(self) -> None:
        self.arm = panda()
        self.q = self.arm.random(4 * 3000).view(4, 3000, 7)

    def __len__(self) -> int:
        return 4

    def __getitem__(self, k: int) -> tuple[Tensor, ...]:
        return tuple(work(self.arm, self.q[k]) for work in WORK[1:])


@pytest.mark.parametrize("method, workers", [("fork", 2), ("spawn", 1)])
def test_workers_of_a_data_loader_compute_gradients_and_solutions(method, workers):
    data = Results()
    expected = [data[k] for k in range(4)]  # the threads of this process are at work before the workers begin
    loader = torch.utils.data.DataLoader(data, batch_size=None, num_workers=workers, multiprocessing_context=method)
    for got, wanted in zip(loader, expected):
        assert all(torch.equal(a, b) for a, b in zip(got, wanted))
