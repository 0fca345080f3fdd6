"""What a solution is to be beside right: steps in the null space of the Jacobian towards an objective, never off the target."""

from __future__ import annotations

import math

from ..kinematics.compilation import jit
from .records import CHANGE, EASE, ERROR, HIGH, LOW, PLAIN, PULL, SOLUTION, WRAPS
from .step import TWO_PI, apply_step, copy, project_step, solve_dense
from .walk import measure

POSTURE, LIMITS, MANIPULABILITY = range(3)

STEPS = 40  # at most
LONGEST = 0.3  # step towards the objective [rad], slides in lengths of the robot
CORRECTIONS = 3  # Newton steps back to the target after each
LEAST_GAIN = 1.0 / 64.0
ENOUGH = 1e-6  # a smaller improvement, as a part of the value, ends the search
DIFFERENCE = 1e-6  # of finite differences [rad]


@jit
def _measure(q, row, problem, options, targets, w):
    """Call `measure`, which is compiled into each place that calls it, from one place."""
    return measure(q, row, problem, options, targets, w)


@jit
def _towards_target(q, problem, options, w):
    """Take the step that removes w.errors."""
    project_step(q, problem, options.damping, w)
    apply_step(q, problem, w.steps[CHANGE])


@jit
def _value(q, objective, row, problem, options, w):
    """Give what is to be small: half the squared distance from the posture, from mid-range in half ranges, or -log det J U J^T.

    w.J is that of q.
    """
    if objective == MANIPULABILITY:
        return _log_volume(problem, w)
    total, c = 0.0, problem.coordinates
    for k in range(problem.movable.shape[0]):
        if problem.ways[k] <= WRAPS:
            d = _offset(q, k, objective, row, problem, options)
            total += 0.5 * d * d * (1.0 / c[EASE, k] if objective == POSTURE else 1.0)
    return total


@jit
def _posture(k, row, problem, options):
    return options.posture[min(row, options.posture.shape[0] - 1), problem.movable[k]]


@jit
def _offset(q, k, objective, row, problem, options):
    """Give how far a coordinate is from where the objective wants it: [rad] or [m], or parts of half its range."""
    column, low, high = problem.movable[k], problem.coordinates[LOW, k], problem.coordinates[HIGH, k]
    if objective == POSTURE:
        d = q[column] - _posture(k, row, problem, options)
        return d - TWO_PI * math.floor(d / TWO_PI + 0.5) if problem.ways[k] == WRAPS else d
    if problem.ways[k] != PLAIN or not high - low < math.inf or not high > low:
        return 0.0
    return (2.0 * q[column] - low - high) / (high - low)


@jit
def _log_volume(problem, w):
    """Give minus the logarithm of det(J U J^T), by the factor that the solver of steps leaves."""
    for k in range(w.J.shape[0]):
        w.steps[CHANGE, k] = 0.0
    solve_dense(w.J, w.errors[ERROR], w.steps[CHANGE], problem.coordinates[EASE], 1e-12, w.A, w.errors[SOLUTION])
    total = 0.0
    for i in range(w.A.shape[0]):
        total -= math.log(w.A[i, i])
    return total


@jit
def _pull(q, objective, row, problem, options, targets, w):
    """Fill w.steps[PULL] with the steepest way down, no longer than LONGEST."""
    c, pull, longest = problem.coordinates, w.steps[PULL], 1e-300
    for k in range(pull.shape[0]):
        pull[k] = 0.0
        if problem.ways[k] > WRAPS:
            continue
        if objective == MANIPULABILITY:
            pull[k] = -_slope(q, k, objective, row, problem, options, targets, w) * c[EASE, k]
        elif objective == POSTURE:
            pull[k] = -_offset(q, k, objective, row, problem, options)
        elif c[HIGH, k] > c[LOW, k]:
            pull[k] = -_offset(q, k, objective, row, problem, options) * c[EASE, k]
        longest = max(longest, abs(pull[k]) / math.sqrt(c[EASE, k]))
    for k in range(pull.shape[0]):
        pull[k] *= min(1.0 if objective == POSTURE else math.inf, LONGEST / longest)


@jit
def _slope(q, k, objective, row, problem, options, targets, w):
    """Give the derivative of the value by a coordinate, as a central difference."""
    h, column, total = DIFFERENCE * math.sqrt(problem.coordinates[EASE, k]), problem.movable[k], 0.0
    before = q[column]
    for sign in (1.0, -1.0):
        q[column] = before + sign * h
        _measure(q, row, problem, options, targets, w)
        total += sign * _value(q, objective, row, problem, options, w)
    q[column] = before
    return total / (2.0 * h)


@jit
def _step_aside(q, gain, problem, options, w):
    """Move q by the pull, less what the pull does to the tips; w.errors and w.J are those of q."""
    e, step = w.errors[ERROR], w.steps[CHANGE]
    for k in range(step.shape[0]):  # a pull against a limit is none
        w.steps[PULL, k] = _allowed(q, k, gain, problem, w.steps[PULL, k])
        for i in range(e.shape[0]):
            e[i] -= gain * w.steps[PULL, k] * w.J[k, i]
    project_step(q, problem, options.damping, w)
    for k in range(step.shape[0]):
        step[k] += gain * w.steps[PULL, k]
    apply_step(q, problem, step)


@jit
def _allowed(q, k, gain, problem, pull):
    """Give a pull that takes a coordinate no further than its limit."""
    if problem.ways[k] != PLAIN:
        return pull
    low, high, x = problem.coordinates[LOW, k], problem.coordinates[HIGH, k], q[problem.movable[k]]
    return min(max(pull, (low - x) / gain), (high - x) / gain)


@jit
def improve(q, objective, row, problem, options, targets, w):
    """Move q towards the objective as far as it goes while all tips stay on their targets, and the limits hold.

    Errors stay below a tenth of the tolerances, or what they were.
    """
    accurate = max(_measure(q, row, problem, options, targets, w), 0.1)
    value, gain, moved = _value(q, objective, row, problem, options, w), 1.0, True
    for _ in range(STEPS):
        if options.stop[0] != 0:
            break
        if moved:
            _pull(q, objective, row, problem, options, targets, w)
        copy(q, w.trial)
        _measure(q, row, problem, options, targets, w)
        _step_aside(w.trial, gain, problem, options, w)
        score = _measure(w.trial, row, problem, options, targets, w)
        for _ in range(CORRECTIONS):
            if score <= accurate:
                break
            _towards_target(w.trial, problem, options, w)
            score = _measure(w.trial, row, problem, options, targets, w)
        reached = _value(w.trial, objective, row, problem, options, w)
        moved = score <= accurate and reached < value
        if moved:
            copy(w.trial, q)
            done = value - reached < ENOUGH * max(abs(value), 1e-9)
            value, gain = reached, min(1.0, 2.0 * gain)
            if done:
                break
        else:
            gain *= 0.5
            if gain < LEAST_GAIN:
                break
    if objective == POSTURE:
        _wind(q, row, problem, options)


@jit
def _wind(q, row, problem, options):
    """Take whole turns, which move no tip, towards the posture where the limits leave room for them."""
    for k in range(problem.movable.shape[0]):
        if problem.ways[k] == WRAPS:
            column, low, high = problem.movable[k], problem.coordinates[LOW, k], problem.coordinates[HIGH, k]
            x = q[column] + TWO_PI * math.floor((_posture(k, row, problem, options) - q[column]) / TWO_PI + 0.5)
            if x > high:
                x -= TWO_PI * math.ceil((x - high) / TWO_PI)
            if x < low:
                x += TWO_PI * math.ceil((low - x) / TWO_PI)
            q[column] = min(max(x, low), high)
