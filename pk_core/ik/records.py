"""What goes into the kernel and comes out of it, as records of arrays that Numba takes whole."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Problem(NamedTuple):
    """What all targets share: the path (see `path.Path`), and m joints that may move."""

    kinds: np.ndarray  # (n,)
    columns: np.ndarray  # (n,) columns of q
    slots: np.ndarray  # (n,) which movable joint a node belongs to, -1 for none
    constants: np.ndarray  # (n + 1, 16), the tool last
    movable: np.ndarray  # (m,) columns of q
    low: np.ndarray  # (m,) limits
    high: np.ndarray
    turns: np.ndarray  # (m,) whether 2 pi more is the same pose
    wraps: np.ndarray  # (m,) whether the limits leave room for a whole turn
    ease: np.ndarray  # (m,) square of what counts as a step of size one: a radian, or the length of the robot [m]
    cap: np.ndarray  # (m,) largest change in one step [rad] or [m]
    start: np.ndarray  # (m,) lower end and
    span: np.ndarray  # (m,) width of the range that starts are drawn from
    steps: np.ndarray  # (m,) of the low-discrepancy sequence
    shoulder: np.ndarray  # (3,)
    reach: float
    scale: float  # position errors are weighed as angles of this many radians a metre


class Options(NamedTuple):
    """What a call asks for; (n, ...) arrays have a row a target."""

    targets: np.ndarray  # (n, 12) rotation by rows, position
    valid: np.ndarray  # (n,)
    tolerances: np.ndarray  # (n, 2) [m], [rad]
    base: np.ndarray  # (nq,) what joints that don't move stand at, without seeds
    weights: np.ndarray  # (6,)
    weight_axes: np.ndarray  # (n or 1, 9) the axes of the weights as columns, root frame; (0, 9): those of the tip
    weighted: bool
    full_position: bool  # whether all of the position counts, so that the reach bounds it
    max_iterations: int
    max_restarts: int
    patience: int
    damping: float
    gain: float
    distinct: float  # solutions closer than this are one [rad] or [m]
    random_seed: int
    stop: np.ndarray  # (1,) set by the clock


class Output(NamedTuple):
    """Filled by the kernel; solutions (n, k, nq), status (n, k), the others (n,)."""

    solutions: np.ndarray
    status: np.ndarray
    iterations: np.ndarray
    restarts: np.ndarray
    found: np.ndarray


class Scratch(NamedTuple):
    """Room for one thread: n nodes, m joints."""

    motions: np.ndarray  # (3, n)
    axes: np.ndarray  # (n, 6)
    tip: np.ndarray  # (12,)
    J: np.ndarray  # (m, 6)
    e: np.ndarray  # (6,)
    rest: np.ndarray  # (6,) the error that held joints leave
    dq: np.ndarray  # (m,)
    step: np.ndarray  # (m,)
    held: np.ndarray  # (m,)
    q: np.ndarray  # (nq,)
    best: np.ndarray  # (nq,)
    best_error: np.ndarray  # (3,) the score, position [m], rotation [rad]
