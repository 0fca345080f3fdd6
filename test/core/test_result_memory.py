"""Memory of large results is used again, but only when nobody can see the result any more."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from robots import chain

from pk_core.kinematics import memory


@pytest.fixture
def small_is_large(monkeypatch):
    """Have every result that fills some lines taken for a large one."""
    monkeypatch.setattr(memory, "LARGE", 1 << 13)
    monkeypatch.setattr(memory, "_spare", [])


def test_memory_is_used_again_when_its_array_is_gone(small_is_large):
    first = memory.empty((100, 4, 4), np.float64)
    where = first.ctypes.data
    second = memory.empty((100, 4, 4), np.float64)
    assert second.ctypes.data != where
    del first
    assert memory.empty((100, 4, 4), np.float64).ctypes.data == where


def test_memory_is_not_used_again_while_any_view_of_the_poses_lives(small_is_large):
    ur5e = chain("ur5e", torch.float32)
    q = ur5e.random(70)
    views = [
        ur5e.forward_kinematics_tensor(q)[3, 5:].numpy(),
        ur5e.forward_kinematics(q)["tool0"].get_matrix()[7].numpy(),
    ]
    before = [np.copy(view) for view in views]
    for _ in range(4):
        ur5e.forward_kinematics_tensor(q + 1.0)
    for view, copy in zip(views, before):
        np.testing.assert_array_equal(view, copy)


def test_poses_in_used_memory_are_whole(small_is_large):
    ur5e = chain("ur5e", torch.float32)
    q = ur5e.random(70)
    expected = ur5e.forward_kinematics_tensor(q).clone()
    for count in (70, 41, 70):
        ur5e.forward_kinematics_tensor(q[:count]).fill_(torch.nan)
        torch.testing.assert_close(ur5e.forward_kinematics_tensor(q), expected, rtol=0, atol=0)


@pytest.mark.parametrize("shape", [(2, 3), (0, 4), (500, 16), (3, 5000, 16)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_are_contiguous_and_large_ones_begin_a_line_of_the_cache(shape, dtype):
    array = memory.empty(shape, dtype)
    assert array.shape == shape and array.dtype == dtype and array.flags.c_contiguous and array.flags.writeable
    assert array.nbytes <= memory.LINE**2 or array.ctypes.data % memory.LINE == 0
