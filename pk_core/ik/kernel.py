"""Damped least squares for one target after another: the whole loop of a problem in one compiled function, float64.

Each attempt walks dq = J_f^T (J_f J_f^T + l I)^-1 e over the joints f that no limit holds, with the damping l growing
with the error (Sugihara, "Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method", 2011), and gives
up after some iterations or when it stands still; then the next start is tried.
"""

from __future__ import annotations

import math

import numpy as np

from ..kinematics.compilation import jit, kernel
from .records import Scratch
from .seeds import mix, unit
from .step import TWO_PI, apply_step, copy, largest_change, project_step
from .walk import fill_jacobian, norms, pose_error, walk, weigh, weight_axes

CONVERGED, NOT_FOUND, LIMIT_BLOCKED, UNREACHABLE, STALLED, MAX_ITERATIONS, TIMEOUT, INVALID_INPUT = range(8)

FAR = 10.0  # an error whose square is larger damps no more [rad^2]
STILL = 1e-9  # a step smaller than this is standing still [rad] or [m]


@jit
def _attempt(q, target, row, problem, options, w):
    """Walk from q until the target is met or there is no getting on; return (status, iterations).

    The best configuration that any attempt of this target saw is kept in w.best, its errors in w.best_error.
    """
    tolerance_p, tolerance_r = options.tolerances[row, 0], options.tolerances[row, 1]
    last, slow, blocked = math.inf, 0, False
    for iteration in range(options.max_iterations):
        if options.stop[0] != 0:
            return TIMEOUT, iteration
        walk(q, problem.kinds, problem.columns, problem.constants, w.motions, w.axes, w.tip)
        pose_error(w.tip, target, w.e)
        fill_jacobian(problem.kinds, problem.slots, problem.constants, w.axes, w.tip, w.J)
        e = w.e
        axes = weight_axes(options.weight_axes, row, w.tip)
        position, rotation = weigh(options.weights, axes, w.J, e) if options.weighted else norms(e)
        score = max(position / tolerance_p, rotation / tolerance_r)
        if score < w.best_error[0]:
            w.best_error[0], w.best_error[1], w.best_error[2] = score, position, rotation
            copy(q, w.best)
        if score <= 1.0:
            return CONVERGED, iteration
        for i in range(3):
            e[i] *= problem.scale
            for k in range(w.J.shape[0]):
                w.J[k, i] *= problem.scale
        squared = 0.0
        for i in range(6):
            squared += e[i] * e[i]
        slow = slow + 1 if squared > 0.5 * last else 0
        last = squared
        if slow >= options.patience:
            return (LIMIT_BLOCKED if blocked else STALLED), iteration + 1
        blocked = project_step(w.J, e, q, problem, options.damping + options.gain * min(squared, FAR), w)
        apply_step(q, problem, w.dq)
        if largest_change(w.dq) < STILL:
            return (LIMIT_BLOCKED if blocked else STALLED), iteration + 1
    return MAX_ITERATIONS, options.max_iterations


@jit
def _start(q, attempt, seeds, given, state, problem, options):
    """Fill q with the start of an attempt: caller's seeds, mid-range, then the shifted sequence."""
    n_seeds = seeds.shape[1]
    copy(options.base if n_seeds == 0 else seeds[given, min(attempt, n_seeds - 1)], q)
    index = attempt - n_seeds
    if index < 0:
        return
    for k in range(problem.movable.shape[0]):
        fraction = 0.5
        if index > 0:
            fraction = unit(mix(state, np.uint64(k))) + index * problem.steps[k]
            fraction -= math.floor(fraction)
        q[problem.movable[k]] = problem.start[k] + fraction * problem.span[k]


@jit
def _keep(q, count, row, problem, options, out):
    """Store a solution unless one like it is stored; return how many there are."""
    for s in range(count):
        distance = 0.0
        for k in range(problem.movable.shape[0]):
            d = q[problem.movable[k]] - out.solutions[row, s, problem.movable[k]]
            if problem.turns[k]:
                d -= TWO_PI * math.floor(d / TWO_PI + 0.5)
            distance = max(distance, abs(d))
        if distance < options.distinct:
            return count
    copy(q, out.solutions[row, count])
    return count + 1


@jit
def _hash_row(target, seeds, row, seed):
    state = mix(np.uint64(seed), np.uint64(0x5EED))
    bits = target.view(np.uint64)
    for i in range(bits.shape[0]):
        state = mix(state, bits[i])
    for s in range(seeds.shape[1]):
        given = seeds[row, s].view(np.uint64)
        for i in range(given.shape[0]):
            state = mix(state, given[i])
    return state


@jit
def _solve_row(row, problem, options, seeds, out, w):
    """Solve one target: attempts from one start after another until enough distinct solutions are found."""
    target = options.targets[row]
    n_seeds, count, wanted = seeds.shape[1], 0, out.solutions.shape[1]
    given = min(row, seeds.shape[0] - 1)
    state = _hash_row(target, seeds, given, options.random_seed)
    distance = math.sqrt(
        (target[9] - problem.shoulder[0]) ** 2
        + (target[10] - problem.shoulder[1]) ** 2
        + (target[11] - problem.shoulder[2]) ** 2
    )
    beyond = options.full_position and distance > problem.reach + options.tolerances[row, 0]
    w.best_error[0] = w.best_error[1] = w.best_error[2] = math.inf
    status, iterations, attempt = MAX_ITERATIONS, 0, 0
    for attempt in range(1 if beyond else n_seeds + 1 + options.max_restarts):
        _start(w.q, attempt, seeds, given, state, problem, options)
        if attempt == 0:
            copy(w.q, w.best)
        if options.stop[0] != 0:
            status = TIMEOUT
            break
        before = w.best_error[0]
        code, used = _attempt(w.q, target, row, problem, options, w)
        iterations += used
        if code == CONVERGED:
            count = _keep(w.q, count, row, problem, options, out)
            if count == wanted:
                break
        elif code == TIMEOUT:
            status = TIMEOUT
            break
        elif w.best_error[0] < before:
            status = code
    for s in range(wanted):
        out.status[row, s] = CONVERGED if s < count else (TIMEOUT if status == TIMEOUT else NOT_FOUND)
    if count == 0:
        copy(w.best, out.solutions[row, 0])
        out.status[row, 0] = UNREACHABLE if beyond else status
    out.iterations[row] = iterations
    out.restarts[row] = attempt
    out.found[row] = count


@kernel
def solve_slice(problem, options, seeds, out, begin, end):
    """Solve the targets begin .. end; see `solver.py` for what the records hold."""
    n, m = problem.kinds.shape[0], problem.movable.shape[0]
    w = Scratch(
        np.empty((3, n)), np.empty((n, 6)), np.empty(12), np.empty((m, 6)), np.empty(6), np.empty(6), np.empty(m), np.empty(m),
        np.empty(m, np.bool_), np.empty(options.base.shape[0]), np.empty(options.base.shape[0]), np.empty(3),
    )  # fmt: skip
    for row in range(begin, end):
        if options.valid[row]:
            _solve_row(row, problem, options, seeds, out, w)
