"""Numba compilation with a disk cache that no edit can make stale.

Numba's cache does not see a change in a function that a cached one calls in another file. So the folder is named by a
hash of all kernel sources and of the versions that compile them, and a change of any of these starts a new folder.
The cache is unpickled when it is read, so the folder must belong to the user and be closed to others.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import llvmlite
import numba
import numpy as np

_PACKAGE = Path(__file__).parent.parent
# every file that a compiled function takes code or constants from
KERNEL_SOURCES = (
    "tree.py",
    "kinematics/compilation.py",
    "kinematics/forward.py",
    "kinematics/jacobians.py",
    "kinematics/parameter_sweep.py",
    "kinematics/pose_rows.py",
    "kinematics/reverse.py",
    "kinematics/scalar.py",
    "ik/kernel.py",
    "ik/path.py",
    "ik/records.py",
    "ik/secondary.py",
    "ik/seeds.py",
    "ik/step.py",
    "ik/walk.py",
)
# not "nnan" and "ninf": they fold `x != x` and `low == -inf` to False, and NaN rows and infinite limits go unseen
FASTMATH = {"contract", "reassoc", "arcp", "afn", "nsz"}


def kernel(function: Callable) -> Callable:
    """Compile a function that Python calls: it releases the GIL and is cached on disk where that is possible."""
    return _compile(function, fastmath=FASTMATH)


def jit(function: Callable) -> Callable:
    """Compile a function that only kernels call; it may neither make arrays nor return them."""
    return _compile(function, fastmath=FASTMATH, **_INNER)


def jit_inline(function: Callable) -> Callable:
    """Compile a function as `jit` does and put it where it is called.

    Passing many arrays costs more than a small function, and in the caller the lengths of its arrays are known numbers.
    """
    return _compile(function, fastmath=FASTMATH, forceinline=True, **_INNER)


def kernel_part(function: Callable) -> Callable:
    """Make a function a part of the kernels that call it: compiled with them, not alone.

    What a kernel is put together from would be optimised alone, and again in everything that calls it: half of the compile
    time. Arguments that say what not to compile, as None does, must go on to a `jit` function: here they prune nothing.
    """
    return _compile(function, fastmath=FASTMATH, inline="always", **_INNER)


def jit_exact(function: Callable) -> Callable:
    """Compile a function that only kernels call and whose rounding must stay as written."""
    return _compile(function, fastmath={"contract"}, **_INNER)


# Wrappers for Python would double the compile time. Without Numba's run time no function counts references to the arrays it
# is given: that took half of the time of a small function, more where threads share the counters. So they allocate none.
_INNER = dict(no_cpython_wrapper=True, no_cfunc_wrapper=True, _nrt=False)


def _compile(function: Callable, **options: object) -> Callable:
    if numba.config.ENABLE_CUDASIM:  # its kernels call plain functions only
        return function
    options |= dict(nogil=True, error_model="numpy", boundscheck=False)
    if _CACHE_FOLDER is None:
        return numba.njit(**options)(function)
    previous, numba.config.CACHE_DIR = numba.config.CACHE_DIR, str(_CACHE_FOLDER)
    try:  # the folder is fixed when a function is decorated, so users' own functions keep theirs
        return numba.njit(cache=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = previous


def _fingerprint() -> str:
    digest = hashlib.sha256()
    for source in KERNEL_SOURCES:
        digest.update((_PACKAGE / source).read_bytes())
    versions = (numba.__version__, llvmlite.__version__, np.__version__, platform.python_version(), str(_PACKAGE))
    digest.update(repr(versions).encode())
    return digest.hexdigest()[:16]


def _cache_folder() -> Path | None:
    """Find or make the private cache folder; None, with one warning, where there is none to be had."""
    base = os.environ.get("PK_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(base) / "pk" / _fingerprint()
    try:
        if not folder.exists():
            _remove_unused(folder.parent)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
        if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & 0o022):
            raise PermissionError(f"{folder} does not belong to this user alone")
        with tempfile.TemporaryFile(dir=folder):
            os.utime(folder)
    except OSError as error:
        warnings.warn(
            f"pk compiles its kernels anew in each process (some seconds): no private cache folder ({error}); "
            "set PK_CACHE_DIR to a folder that can be written",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return folder


def _remove_unused(base: Path) -> None:
    """Remove the folders of kernels that nobody has used for a month: each version of pk, Numba or Python leaves one."""
    for folder in base.glob("[0-9a-f]" * 16):
        with contextlib.suppress(OSError):  # another process may be at it
            if folder.stat().st_mtime < time.time() - _MONTH:
                shutil.rmtree(folder)


_MONTH = 30 * 24 * 3600.0
_CACHE_FOLDER = _cache_folder()
