"""Memory for results: in line with the cache, and large blocks used again.

The C library gives a large block back to the system when it is freed, and the next one comes back empty, page by page: that
took as long as to compute a large result. So the last large block whose result is gone waits for the next result of its size.
"""

from __future__ import annotations

import math
import weakref

import numpy as np
import numpy.typing as npt

LINE = 64  # [bytes] of a cache line: vectors across two of them are written at half the speed
LARGE = 32 << 20  # [bytes] from here on the C library keeps no block for later
KEPT = 512 << 20  # [bytes] no larger block is kept

_spare: list[np.ndarray] = []  # one at most; popped and replaced in one step each, so threads need no lock


def empty(shape: tuple[int, ...], dtype: npt.DTypeLike) -> np.ndarray:
    """Make an array of any content; its memory may be used again once the array is gone, so hand out no view of it alone."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size <= LINE * LINE:
        return np.empty(shape, dtype)
    block = _take(size + LINE) if size >= LARGE else np.empty(size + LINE, np.uint8)
    begin = -block.ctypes.data % LINE
    array = block[begin : begin + size].view(dtype).reshape(shape)
    if LARGE <= size <= KEPT:
        weakref.finalize(array, _keep, block).atexit = False
    return array


def _take(size: int) -> np.ndarray:
    try:
        block = _spare.pop()
    except IndexError:
        return np.empty(size, np.uint8)
    return block if size <= block.nbytes <= 2 * size else np.empty(size, np.uint8)


def _keep(block: np.ndarray) -> None:
    _spare[:] = [block]
