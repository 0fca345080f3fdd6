"""Damped least squares for one target after another: the whole loop of a problem in one compiled function, float64.

Each attempt walks dq = J_f^T (J_f J_f^T + l I)^-1 e over the joints f that no limit holds, with the damping l growing
with the error (Sugihara, "Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method", 2011), and gives
up after some iterations or when it stands still; then the next start is tried. A target is one pose, or one for each of
several tips that are placed together.
"""

from __future__ import annotations

import math

import numpy as np

from ..kinematics.compilation import jit, kernel, kernel_part
from .records import (
    CHANGE,
    CONVERGED,
    ERROR,
    FOLLOWS,
    INVALID_INPUT,
    LIMIT_BLOCKED,
    MAX_ITERATIONS,
    NOT_FOUND,
    ORTHONORMAL,
    PUSHES,
    SPAN,
    SPINS,
    STALLED,
    START,
    STRIDE,
    TIMEOUT,
    UNREACHABLE,
    WRAPS,
    Scratch,
)
from .secondary import improve
from .seeds import mix, unit
from .step import TWO_PI, apply_step, copy, largest_change, project_step
from .walk import measure

FAR = 10.0  # an error whose square is larger damps no more [rad^2]
FIRST = 15  # iterations of the first attempt; each further one has one more
STILL = 1e-9  # a step smaller than this is standing still [rad] or [m]


@kernel_part
def _attempt(q, row, longest, problem, options, targets, w):
    """Walk from q until the targets are met or there is no getting on; return (status, iterations).

    The best configuration that any attempt of this row saw is kept in w.best, its score in w.score.
    """
    last, slow, blocked, e, step = math.inf, 0, False, w.errors[ERROR], w.steps[CHANGE]
    for iteration in range(longest):
        if options.stop[0] != 0:
            return TIMEOUT, iteration
        score = measure(q, row, problem, options, targets, w)
        if score < w.score[0]:
            w.score[0] = score
            copy(q, w.best)
        if score <= 1.0:
            return CONVERGED, iteration
        squared = 0.0
        for i in range(e.shape[0]):
            squared += e[i] * e[i]
        slow = slow + 1 if squared > 0.5 * last else 0
        last = squared
        if slow >= options.patience:
            return (LIMIT_BLOCKED if blocked else STALLED), iteration + 1
        blocked = project_step(q, problem, options.damping + options.gain * min(squared, FAR), w)
        apply_step(q, problem, step)
        if largest_change(step) < STILL:
            return (LIMIT_BLOCKED if blocked else STALLED), iteration + 1
    return MAX_ITERATIONS, longest


@jit
def _longest(attempt, n_seeds, options):
    """Give how many iterations an attempt has: starts of ours few at first, for another start is the better bet."""
    if attempt < n_seeds or attempt == n_seeds + options.max_restarts:
        return options.max_iterations
    return min(options.max_iterations, FIRST + attempt)


@jit
def _start(q, attempt, seeds, given, state, problem, options):
    """Fill q with the start of an attempt: caller's seeds, mid-range, then the shifted sequence."""
    n_seeds, c = seeds.shape[1], problem.coordinates
    if n_seeds == 0:
        copy(options.base, q)
    else:
        copy(seeds[given, min(attempt, n_seeds - 1)], q)
    index = attempt - n_seeds
    if index < 0:
        return
    for k in range(problem.movable.shape[0]):
        if problem.ways[k] <= WRAPS:  # floating and ball joints start where the seed has them
            fraction = 0.5
            if index > 0:
                fraction = unit(mix(state, np.uint64(k))) + index * c[STRIDE, k]
                fraction -= math.floor(fraction)
            q[problem.movable[k]] = c[START, k] + fraction * c[SPAN, k]


@jit
def _apart(a, b, k, problem):
    """Give how far a coordinate is from one configuration to another [rad] or [m]."""
    way, c = problem.ways[k], problem.movable[k]
    if way == FOLLOWS:
        return 0.0
    if way == SPINS:  # q and -q are one rotation
        cosine = a[c] * b[c] + a[c + 1] * b[c + 1] + a[c + 2] * b[c + 2] + a[c + 3] * b[c + 3]
        return 2.0 * math.sqrt(max(0.0, 2.0 - 2.0 * abs(cosine)))
    d = abs(a[c] - b[c])
    if way == PUSHES:
        return max(d, max(abs(a[c + 1] - b[c + 1]), abs(a[c + 2] - b[c + 2])))
    return abs(d - TWO_PI * math.floor(d / TWO_PI + 0.5)) if problem.turns[k] else d


@jit
def _keep(q, row, problem, options, out):
    """Store a solution unless one like it is stored, and count it."""
    for s in range(out.found[row]):
        distance = 0.0
        for k in range(problem.movable.shape[0]):
            distance = max(distance, _apart(q, out.solutions[row, s], k, problem))
        if distance < options.distinct:
            return
    copy(q, out.solutions[row, out.found[row]])
    out.found[row] += 1


@jit
def _load_target(T, target):
    """Take the rotation by rows and the position out of a matrix by rows; return whether it is a pose."""
    for i in range(3):
        for j in range(3):
            target[3 * i + j] = T[4 * i + j]
        target[9 + i] = T[4 * i + 3]
    t = target
    worst = abs(T[15] - 1.0) + abs(T[12]) + abs(T[13]) + abs(T[14])
    for i in range(12):
        worst += 0.0 * t[i]  # NaN where one is not finite
    if not worst == 0.0:
        return False
    for i in range(3):
        for j in range(i + 1):
            gram = t[i] * t[j] + t[3 + i] * t[3 + j] + t[6 + i] * t[6 + j]
            worst = max(worst, abs(gram - (1.0 if i == j else 0.0)))
    determinant = (
        t[0] * (t[4] * t[8] - t[5] * t[7]) - t[1] * (t[3] * t[8] - t[5] * t[6]) + t[2] * (t[3] * t[7] - t[4] * t[6])
    )
    return worst < ORTHONORMAL and determinant > 0.0


@jit
def _hash_row(row, given, seed_bits, options):
    state = mix(np.uint64(options.random_seed), np.uint64(0x5EED))
    for i in range(options.bits.shape[1]):
        state = mix(state, options.bits[row, i])
    for i in range(seed_bits.shape[1]):
        state = mix(state, seed_bits[given, i])
    return state


@jit
def _beyond(row, problem, options, targets):
    """Say whether a target is further away than the bound on reach."""
    tolerance = options.tolerances[min(row, options.tolerances.shape[0] - 1), 0]
    for tip in range(targets.shape[0]):
        r, t = problem.reach[tip], targets[tip]
        if math.sqrt((t[9] - r[0]) ** 2 + (t[10] - r[1]) ** 2 + (t[11] - r[2]) ** 2) > r[3] + tolerance:
            return options.full_position
    return False


@kernel_part
def _solve_row(row, objective, problem, options, seeds, seed_bits, out, w):
    """Solve one row: attempts from one start after another until enough distinct solutions are found."""
    targets = out.targets[row]
    n_seeds, wanted = seeds.shape[1], out.solutions.shape[1]
    given = min(row, seeds.shape[0] - 1)
    state = _hash_row(row, given, seed_bits, options)
    beyond = _beyond(row, problem, options, targets)
    w.score[0] = math.inf
    status, iterations, attempt = MAX_ITERATIONS, 0, 0
    for attempt in range(1 if beyond else n_seeds + 1 + options.max_restarts):
        _start(w.q, attempt, seeds, given, state, problem, options)
        if attempt == 0:
            copy(w.q, w.best)
        if options.stop[0] != 0:
            status = TIMEOUT
            break
        before = w.score[0]
        longest = _longest(attempt, n_seeds, options)
        code, used = _attempt(w.q, row, longest, problem, options, targets, w)
        iterations += used
        if code == CONVERGED:
            if objective is not None:
                improve(w.q, objective, row, problem, options, targets, w)
            _keep(w.q, row, problem, options, out)
            if out.found[row] == wanted:
                break
        elif code == TIMEOUT:
            status = TIMEOUT
            break
        elif w.score[0] < before:
            status = code
        if out.found[row] > 0 and attempt >= n_seeds + options.max_restarts // 3:
            break  # there may be no more
    for s in range(wanted):
        out.status[row, s] = CONVERGED if s < out.found[row] else (TIMEOUT if status == TIMEOUT else NOT_FOUND)
    if out.found[row] == 0:
        copy(w.best, out.solutions[row, 0])
        out.status[row, 0] = UNREACHABLE if beyond else status
    out.iterations[row] = iterations
    out.restarts[row] = attempt


@kernel
def solve_slice(problem, options, objective, seeds, seed_bits, sound, out, begin, end):
    """Solve the rows begin .. end; see `records.py` for what the records hold.

    Rows that are no poses, or whose seeds are not sound, get INVALID_INPUT and NaN. Without an objective (None, not a number)
    its code is not compiled.
    """
    n, m, size, nq = problem.nodes.shape[0], problem.movable.shape[0], 6 * problem.reach.shape[0], options.base.shape[0]
    w = Scratch(
        np.empty((3, problem.columns.shape[0])), np.empty((n, 12)), np.empty((m, size)), np.empty((size, size)),
        np.empty((3, size)), np.empty((4, m)), np.empty(nq), np.empty(nq), np.empty(nq), np.empty(1),
    )  # fmt: skip
    for row in range(begin, end):
        valid = sound[min(row, sound.shape[0] - 1)]
        for tip in range(problem.reach.shape[0]):
            valid = _load_target(options.given[row, tip], out.targets[row, tip]) and valid
        for s in range(out.solutions.shape[1]):
            out.status[row, s] = INVALID_INPUT
            for i in range(nq):
                out.solutions[row, s, i] = np.nan
        out.iterations[row] = out.restarts[row] = out.found[row] = 0
        if valid:
            _solve_row(row, objective, problem, options, seeds, seed_bits, out, w)
