"""What goes into the kernel and comes out of it, as records of arrays that Numba takes whole.

n nodes move, t tips hang on them, m coordinates may change; a call has N rows. Few arrays, for each costs time to compile.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# values of `IKStatus`
CONVERGED, NOT_FOUND, LIMIT_BLOCKED, UNREACHABLE, STALLED, MAX_ITERATIONS, TIMEOUT, INVALID_INPUT = range(8)
ORTHONORMAL = 1e-3  # how far R^T R of a target may be from the identity
# columns of Problem.nodes: parent node (-1: the root), kind as in `tree`, first column of q, first coordinate (-1: none moves)
PARENT, KIND, COLUMN, SLOT = range(4)
# rows of Problem.motions: value = multiplier * q + offset, turned `turn` radians about z and slid `slide` along it a unit
MULTIPLIER, OFFSET, TURN, SLIDE = range(4)
# rows of Problem.coordinates: limits; square of what counts as a step of size one, a radian or the length of the robot [m];
# largest change in one step; the range that starts are drawn from, and the step of the low-discrepancy sequence
LOW, HIGH, EASE, CAP, START, SPAN, STRIDE = range(7)
# values of Problem.ways, how a coordinate changes q: a number between limits; an angle whose limits leave room for a whole
# turn; the first of three that push a floating joint, or spin a ball, in its own axes; or one that goes with the one before
PLAIN, WRAPS, PUSHES, SPINS, FOLLOWS = range(5)
# rows of Scratch.errors and Scratch.steps
ERROR, REST, SOLUTION = range(3)
CHANGE, TRIAL, HELD, PULL = range(4)


class Problem(NamedTuple):
    """What all targets share: the moving nodes between the root and the tips, in order, each turning about its own z."""

    nodes: np.ndarray  # (n + t, 4) int64, parents first, the tips last
    origins: np.ndarray  # (n + t, 12) in the parent's frame: rotation by rows, position
    motions: np.ndarray  # (4, a multiple of 8) of scalar nodes
    columns: np.ndarray  # (a multiple of 8,) columns of q of the nodes
    coordinates: np.ndarray  # (7, m)
    movable: np.ndarray  # (m,) column of q that a coordinate changes; of three together the first
    ways: np.ndarray  # (m,) int64
    turns: np.ndarray  # (m,) whether 2 pi more is the same pose
    reach: np.ndarray  # (t, 4) no configuration takes a tip further than the last number from the point [m]
    scale: float  # position errors are weighed as angles of this many radians a metre

    @property
    def low(self) -> np.ndarray:
        """(m,) lower limits."""
        return self.coordinates[LOW]

    @property
    def high(self) -> np.ndarray:
        """(m,) upper limits."""
        return self.coordinates[HIGH]


class Options(NamedTuple):
    """What a call asks for; arrays over rows hold one row where all are alike."""

    given: np.ndarray  # (N, t, 16) target matrices
    bits: np.ndarray  # (N, 16 t) the same as integers, to hash
    tolerances: np.ndarray  # (N or 1, 2) [m], [rad]
    base: np.ndarray  # (nq,) what joints that don't move stand at, without seeds
    weights: np.ndarray  # (6,)
    weight_axes: np.ndarray  # (N or 1, 9) the axes of the weights as columns, root frame; (0, 9): those of the tip
    weighted: bool
    full_position: bool  # whether all of the position counts, so that the reach bounds it
    max_iterations: int
    max_restarts: int
    patience: int
    damping: float
    gain: float
    distinct: float  # solutions closer than this are one [rad] or [m]
    posture: np.ndarray  # (N or 1, nq) where the objective is to come near to one
    random_seed: int
    stop: np.ndarray  # (1,) set by the clock


class Output(NamedTuple):
    """Filled by the kernel; solutions (N, k, nq), status (N, k), targets (N, t, 12), the others (N,)."""

    solutions: np.ndarray
    status: np.ndarray
    targets: np.ndarray  # rotation by rows, position
    iterations: np.ndarray
    restarts: np.ndarray
    found: np.ndarray


class Scratch(NamedTuple):
    """Room for one thread."""

    motions: np.ndarray  # (3, a multiple of 8)
    poses: np.ndarray  # (n + t, 12) rotation by rows, position; root frame
    J: np.ndarray  # (m, 6 t)
    A: np.ndarray  # (6 t, 6 t)
    errors: np.ndarray  # (3, 6 t) of the tips; what held joints leave of them; a solution
    steps: np.ndarray  # (4, m) the step; one that may cross limits; 1 where a limit holds; towards the objective
    q: np.ndarray  # (nq,)
    best: np.ndarray  # (nq,) of all attempts
    trial: np.ndarray  # (nq,)
    score: np.ndarray  # (1,) of the best
