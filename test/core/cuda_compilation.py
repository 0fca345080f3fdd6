"""Compile the kernels of the GPU to PTX on a machine without one; `test_cuda.py` starts this."""

from __future__ import annotations

from types import SimpleNamespace

import numba
import numba.cuda.dispatcher
from numba import cuda, types

from pk_core.kinematics.cuda import _kernels

# what it would ask a driver for
numba.cuda.dispatcher.get_current_device = lambda: SimpleNamespace(compute_capability=(9, 0))


def signatures(real: types.Float) -> dict[str, tuple]:
    """Give the arguments of every kernel."""
    two, three = types.Array(real, 2, "C"), types.Array(real, 3, "C")
    tree = (two, three, types.Array(types.int64, 2, "C"))
    frames = types.Array(types.int64, 1, "C")
    return dict(
        forward=(*tree, frames, three),
        backward=(*tree, frames, three, two),
        parameters=(*tree, frames, three, two, three),
        jacobian=(*tree, types.int64, two, two),
        twist=(*tree, types.int64, two, two, three),
        jacobian_sweep=(*tree, types.int64, two, three, two, two, three),
    )


if __name__ == "__main__":
    for real in (numba.float32, numba.float64):
        for name, signature in signatures(real).items():
            kernel = _kernels(16, str(real))[name].py_func
            ptx, _ = cuda.compile(kernel, types.void(*signature), cc=(9, 0), device=False, abi="numba")
            assert ".entry" in ptx, name
    print("compiles")
