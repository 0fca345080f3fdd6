"""Damped least squares for one target after another: the whole loop of a problem in one compiled function, float64.

Each attempt walks dq = J_f^T (J_f J_f^T + l I)^-1 e over the joints f that no limit holds, with the damping l growing
with the error (Sugihara, "Solvability-unconcerned inverse kinematics by the Levenberg-Marquardt method", 2011), and gives
up after some iterations or when it stands still; then the next start is tried.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..kinematics.compilation import jit, jit_exact, kernel
from ..kinematics.scalar import quaternion_rotation, sincos
from ..tree import FREE, SCALAR
from .path import P_MULTIPLIER, P_OFFSET, P_SLIDE, P_TURN
from .seeds import mix, unit

CONVERGED, NOT_FOUND, LIMIT_BLOCKED, UNREACHABLE, STALLED, MAX_ITERATIONS, TIMEOUT, INVALID_INPUT = range(8)

TWO_PI = 2.0 * math.pi
STEP_CAP = 1.0  # largest change of a joint in one step [rad] or [m]
STILL = 1e-9  # a step smaller than this is standing still


class Problem(NamedTuple):
    """What all targets share: the path (see `path.Path`), and m joints that may move."""

    kinds: np.ndarray  # (n,)
    columns: np.ndarray  # (n,) columns of q
    slots: np.ndarray  # (n,) which movable joint a node belongs to, -1 for none
    constants: np.ndarray  # (n, 16)
    tool: np.ndarray  # (12,)
    movable: np.ndarray  # (m,) columns of q
    low: np.ndarray  # (m,) limits
    high: np.ndarray
    turns: np.ndarray  # (m,) whether 2 pi more is the same pose
    wraps: np.ndarray  # (m,) whether the limits leave room for a whole turn
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
    weights: np.ndarray  # (6,) in the axes of the tip
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

    axes: np.ndarray  # (n, 6)
    tip: np.ndarray  # (12,)
    J: np.ndarray  # (m, 6)
    e: np.ndarray  # (6,)
    rest: np.ndarray  # (6,) the error that held joints leave
    A: np.ndarray  # (6, 6)
    y: np.ndarray  # (6,)
    dq: np.ndarray  # (m,)
    step: np.ndarray  # (m,)
    held: np.ndarray  # (m,)
    q: np.ndarray  # (nq,)
    best: np.ndarray  # (nq,)
    best_error: np.ndarray  # (3,) the score, position [m], rotation [rad]


@jit
def _walk(q, kinds, columns, constants, tool, axes, tip):
    """Fill axes (n, 6): axis and a point on it of each node, and tip (12): rotation by rows, position; root frame."""
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0
    px, py, pz = 0.0, 0.0, 0.0
    n = kinds.shape[0]
    for i in range(n + 1):
        c = constants[i] if i < n else tool
        px, py, pz = (
            px + r00 * c[9] + r01 * c[10] + r02 * c[11],
            py + r10 * c[9] + r11 * c[10] + r12 * c[11],
            pz + r20 * c[9] + r21 * c[10] + r22 * c[11],
        )
        r00, r01, r02 = (
            r00 * c[0] + r01 * c[3] + r02 * c[6], r00 * c[1] + r01 * c[4] + r02 * c[7], r00 * c[2] + r01 * c[5] + r02 * c[8],
        )  # fmt: skip
        r10, r11, r12 = (
            r10 * c[0] + r11 * c[3] + r12 * c[6], r10 * c[1] + r11 * c[4] + r12 * c[7], r10 * c[2] + r11 * c[5] + r12 * c[8],
        )  # fmt: skip
        r20, r21, r22 = (
            r20 * c[0] + r21 * c[3] + r22 * c[6], r20 * c[1] + r21 * c[4] + r22 * c[7], r20 * c[2] + r21 * c[5] + r22 * c[8],
        )  # fmt: skip
        if i == n:
            break
        column = columns[i]
        if kinds[i] == SCALAR:
            value = c[P_MULTIPLIER] * q[column] + c[P_OFFSET]
            if c[P_TURN] != 0.0:
                s, k = sincos(c[P_TURN] * value)
                r00, r01 = r00 * k + r01 * s, r01 * k - r00 * s
                r10, r11 = r10 * k + r11 * s, r11 * k - r10 * s
                r20, r21 = r20 * k + r21 * s, r21 * k - r20 * s
            along = c[P_SLIDE] * value
            px, py, pz = px + r02 * along, py + r12 * along, pz + r22 * along
        else:
            if kinds[i] == FREE:
                x, y, z = q[column], q[column + 1], q[column + 2]
                px, py, pz = px + r00 * x + r01 * y + r02 * z, py + r10 * x + r11 * y + r12 * z, pz + r20 * x + r21 * y + r22 * z
                column += 3
            m = quaternion_rotation(q[column], q[column + 1], q[column + 2], q[column + 3])
            r00, r01, r02 = (
                r00 * m[0] + r01 * m[3] + r02 * m[6], r00 * m[1] + r01 * m[4] + r02 * m[7], r00 * m[2] + r01 * m[5] + r02 * m[8],
            )  # fmt: skip
            r10, r11, r12 = (
                r10 * m[0] + r11 * m[3] + r12 * m[6], r10 * m[1] + r11 * m[4] + r12 * m[7], r10 * m[2] + r11 * m[5] + r12 * m[8],
            )  # fmt: skip
            r20, r21, r22 = (
                r20 * m[0] + r21 * m[3] + r22 * m[6], r20 * m[1] + r21 * m[4] + r22 * m[7], r20 * m[2] + r21 * m[5] + r22 * m[8],
            )  # fmt: skip
        axes[i, 0], axes[i, 1], axes[i, 2], axes[i, 3], axes[i, 4], axes[i, 5] = r02, r12, r22, px, py, pz
    tip[0], tip[1], tip[2], tip[3], tip[4], tip[5], tip[6], tip[7], tip[8] = r00, r01, r02, r10, r11, r12, r20, r21, r22
    tip[9], tip[10], tip[11] = px, py, pz


@jit_exact
def rotation_log(r00, r01, r02, r10, r11, r12, r20, r21, r22):
    """Give the rotation vector of a rotation matrix, by its quaternion: safe at 0 and at pi."""
    trace = r00 + r11 + r22
    if trace > 0.0:
        w, x, y, z = 1.0 + trace, r21 - r12, r02 - r20, r10 - r01
    elif r00 >= r11 and r00 >= r22:
        w, x, y, z = r21 - r12, 1.0 + r00 - r11 - r22, r01 + r10, r02 + r20
    elif r11 >= r22:
        w, x, y, z = r02 - r20, r01 + r10, 1.0 + r11 - r00 - r22, r12 + r21
    else:
        w, x, y, z = r10 - r01, r02 + r20, r12 + r21, 1.0 + r22 - r00 - r11
    if w < 0.0:
        w, x, y, z = -w, -x, -y, -z
    sine = math.sqrt(x * x + y * y + z * z)
    if sine < 1e-12 * w:
        return 2.0 * x / w, 2.0 * y / w, 2.0 * z / w
    scale = 2.0 * math.atan2(sine, w) / sine
    return scale * x, scale * y, scale * z


@jit
def pose_error(tip, target, e):
    """Fill e with [target position - tip position; rotation vector from tip to target], in root axes [m], [rad]."""
    e[0], e[1], e[2] = target[9] - tip[9], target[10] - tip[10], target[11] - tip[11]
    t, r = target, tip
    e[3], e[4], e[5] = rotation_log(
        t[0] * r[0] + t[1] * r[1] + t[2] * r[2], t[0] * r[3] + t[1] * r[4] + t[2] * r[5], t[0] * r[6] + t[1] * r[7] + t[2] * r[8],
        t[3] * r[0] + t[4] * r[1] + t[5] * r[2], t[3] * r[3] + t[4] * r[4] + t[5] * r[5], t[3] * r[6] + t[4] * r[7] + t[5] * r[8],
        t[6] * r[0] + t[7] * r[1] + t[8] * r[2], t[6] * r[3] + t[7] * r[4] + t[8] * r[5], t[6] * r[6] + t[7] * r[7] + t[8] * r[8],
    )  # fmt: skip


@jit
def _fill_jacobian(kinds, slots, constants, axes, tip, J):
    """Fill J (m, 6), one row a joint that may move: [v; w] in root axes at the tip."""
    for k in range(J.shape[0]):
        for i in range(6):
            J[k, i] = 0.0
    for i in range(kinds.shape[0]):
        slot = slots[i]
        if slot < 0:
            continue
        ax, ay, az = axes[i, 0], axes[i, 1], axes[i, 2]
        x, y, z = tip[9] - axes[i, 3], tip[10] - axes[i, 4], tip[11] - axes[i, 5]
        turn, slide = constants[i, P_MULTIPLIER] * constants[i, P_TURN], constants[i, P_MULTIPLIER] * constants[i, P_SLIDE]
        row = J[slot]
        row[0] += turn * (ay * z - az * y) + slide * ax
        row[1] += turn * (az * x - ax * z) + slide * ay
        row[2] += turn * (ax * y - ay * x) + slide * az
        row[3] += turn * ax
        row[4] += turn * ay
        row[5] += turn * az


@jit
def _norms(e):
    return math.sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]), math.sqrt(e[3] * e[3] + e[4] * e[4] + e[5] * e[5])


@jit
def _weigh(weights, tip, J, e):
    """Turn the rows of J and e into the axes of the tip and weigh them; return the norms of the error rows that count."""
    position = rotation = 0.0
    for row in range(J.shape[0] + 1):
        v = J[row] if row < J.shape[0] else e
        for h in range(0, 6, 3):
            x, y, z = v[h], v[h + 1], v[h + 2]
            v[h], v[h + 1], v[h + 2] = (
                tip[0] * x + tip[3] * y + tip[6] * z,
                tip[1] * x + tip[4] * y + tip[7] * z,
                tip[2] * x + tip[5] * y + tip[8] * z,
            )
        if row == J.shape[0]:
            for i in range(3):
                position += v[i] * v[i] * (weights[i] != 0.0)
                rotation += v[3 + i] * v[3 + i] * (weights[3 + i] != 0.0)
        for i in range(6):
            v[i] *= weights[i]
    return math.sqrt(position), math.sqrt(rotation)


@jit
def _damped_step(J, e, held, damping, A, y, dq):
    """Fill dq = J_f^T (J_f J_f^T + damping I)^-1 e over the joints that are not held, by Cholesky."""
    m = J.shape[0]
    for i in range(6):
        for j in range(i + 1):
            A[i, j] = 0.0
    for k in range(m):
        if not held[k]:
            row = J[k]
            for i in range(6):
                for j in range(i + 1):
                    A[i, j] += row[i] * row[j]
    for i in range(6):
        A[i, i] += damping
        for j in range(i):
            total = A[i, j]
            for k in range(j):
                total -= A[i, k] * A[j, k]
            A[i, j] = total * A[j, j]
        total = A[i, i]
        for k in range(i):
            total -= A[i, k] * A[i, k]
        A[i, i] = 1.0 / math.sqrt(max(total, 1e-300))  # the inverse of the diagonal is kept
    for i in range(6):
        total = e[i]
        for k in range(i):
            total -= A[i, k] * y[k]
        y[i] = total * A[i, i]
    for i in range(5, -1, -1):
        total = y[i]
        for k in range(i + 1, 6):
            total -= A[k, i] * y[k]
        y[i] = total * A[i, i]
    for k in range(m):
        row = J[k]
        dq[k] = 0.0 if held[k] else (
            row[0] * y[0] + row[1] * y[1] + row[2] * y[2] + row[3] * y[3] + row[4] * y[4] + row[5] * y[5]
        )  # fmt: skip


@jit
def _copy(source, target):
    for i in range(source.shape[0]):
        target[i] = source[i]


@jit
def _project_step(J, e, q, problem, damping, w):
    """Fill w.dq with a damped step that stays inside the limits; return whether a limit held a joint.

    A joint that the step would take past its limit goes to the limit and is held there; the others solve for what is
    left of the error, until no joint crosses.
    """
    m = J.shape[0]
    held, blocked = w.held, False
    for k in range(m):
        held[k] = False
    _copy(e, w.rest)
    for _ in range(m + 1):
        _damped_step(J, w.rest, held, damping, w.A, w.y, w.step)
        crossed = False
        for k in range(m):
            if held[k]:
                continue
            w.dq[k] = w.step[k]
            if problem.wraps[k]:
                continue
            here = q[problem.movable[k]]
            room = (problem.high[k] if w.step[k] > 0.0 else problem.low[k]) - here
            if abs(w.step[k]) > abs(room):
                held[k], crossed, w.dq[k] = True, True, room
                for i in range(6):
                    w.rest[i] -= J[k, i] * room
        blocked = blocked or crossed
        if not crossed:
            break
    return blocked


@jit
def _apply_step(q, problem, dq):
    """Add a step, shortened to STEP_CAP, to the joints that may move; return the largest change."""
    largest = 0.0
    for k in range(dq.shape[0]):
        largest = max(largest, abs(dq[k]))
    scale = min(1.0, STEP_CAP / max(largest, 1e-300))
    for k in range(dq.shape[0]):
        column, low, high = problem.movable[k], problem.low[k], problem.high[k]
        value = q[column] + scale * dq[k]
        if problem.wraps[k]:
            if value > high or value > problem.start[k] + 1.5 * problem.span[k]:
                value -= TWO_PI
            elif value < low or value < problem.start[k] - 0.5 * problem.span[k]:
                value += TWO_PI
        q[column] = min(max(value, low), high)
    return scale * largest


@jit
def _attempt(q, target, row, problem, options, w):
    """Walk from q until the target is met or there is no getting on; return (status, iterations).

    The best configuration that any attempt of this target saw is kept in w.best, its errors in w.best_error.
    """
    tolerance_p, tolerance_r = options.tolerances[row, 0], options.tolerances[row, 1]
    last, slow, blocked = math.inf, 0, False
    for iteration in range(options.max_iterations):
        _walk(q, problem.kinds, problem.columns, problem.constants, problem.tool, w.axes, w.tip)
        pose_error(w.tip, target, w.e)
        _fill_jacobian(problem.kinds, problem.slots, problem.constants, w.axes, w.tip, w.J)
        e = w.e
        position, rotation = _weigh(options.weights, w.tip, w.J, e) if options.weighted else _norms(e)
        score = max(position / tolerance_p, rotation / tolerance_r)
        if score < w.best_error[0]:
            w.best_error[0], w.best_error[1], w.best_error[2] = score, position, rotation
            _copy(q, w.best)
        if score <= 1.0:
            return CONVERGED, iteration
        for i in range(3):
            e[i] *= problem.scale
            for k in range(w.J.shape[0]):
                w.J[k, i] *= problem.scale
        squared = (position * problem.scale) ** 2 + rotation**2
        slow = slow + 1 if squared > 0.5 * last else 0
        last = squared
        if slow >= options.patience:
            return (LIMIT_BLOCKED if blocked else STALLED), iteration + 1
        blocked = _project_step(w.J, e, q, problem, options.damping + options.gain * squared, w)
        if _apply_step(q, problem, w.dq) < STILL:
            return (LIMIT_BLOCKED if blocked else STALLED), iteration + 1
    return MAX_ITERATIONS, options.max_iterations


@jit
def _start(q, attempt, n_seeds, state, problem):
    """Fill q with the start of an attempt: caller's seeds, mid-range, then the shifted sequence."""
    index = attempt - n_seeds
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
    _copy(q, out.solutions[row, count])
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
        (target[9] - problem.shoulder[0]) ** 2 + (target[10] - problem.shoulder[1]) ** 2 + (target[11] - problem.shoulder[2]) ** 2
    )
    beyond = options.full_position and distance > problem.reach + options.tolerances[row, 0]
    w.best_error[0] = w.best_error[1] = w.best_error[2] = math.inf
    status, iterations, attempt = MAX_ITERATIONS, 0, 0
    for attempt in range(1 if beyond else n_seeds + 1 + options.max_restarts):
        if options.stop[0] != 0:
            status = TIMEOUT
            break
        _copy(options.base, w.q)
        if n_seeds:
            _copy(seeds[given, min(attempt, n_seeds - 1)], w.q)
        if attempt >= n_seeds:
            _start(w.q, attempt, n_seeds, state, problem)
        before = w.best_error[0]
        code, used = _attempt(w.q, target, row, problem, options, w)
        iterations += used
        if code == CONVERGED:
            count = _keep(w.q, count, row, problem, options, out)
            if count == wanted:
                break
        elif w.best_error[0] < before:
            status = code
    for s in range(wanted):
        out.status[row, s] = CONVERGED if s < count else (TIMEOUT if status == TIMEOUT else NOT_FOUND)
    if count == 0:
        _copy(w.best, out.solutions[row, 0])
        out.status[row, 0] = UNREACHABLE if beyond else status
    out.iterations[row] = iterations
    out.restarts[row] = attempt
    out.found[row] = count


@kernel
def solve_slice(problem, options, seeds, out, begin, end):
    """Solve the targets begin .. end; see `solver.py` for what the records hold."""
    n, m = problem.kinds.shape[0], problem.movable.shape[0]
    w = Scratch(
        np.empty((n, 6)), np.empty(12), np.empty((m, 6)), np.empty(6), np.empty(6), np.empty((6, 6)), np.empty(6),
        np.empty(m), np.empty(m), np.empty(m, np.bool_), np.empty(options.base.shape[0]), np.empty(options.base.shape[0]), np.empty(3),
    )  # fmt: skip
    for row in range(begin, end):
        if options.valid[row]:
            _solve_row(row, problem, options, seeds, out, w)


@kernel
def judge_slice(poses, targets, weights, errors, begin, end):
    """Fill errors (n, k, 2) [m], [rad] of poses (n, k, 12) against targets (n, 12); parts of weight zero don't count."""
    e, no_rows = np.empty(6), np.empty((0, 6))
    for row in range(begin, end):
        for s in range(poses.shape[1]):
            pose_error(poses[row, s], targets[row], e)
            errors[row, s, 0], errors[row, s, 1] = _weigh(weights, poses[row, s], no_rows, e)
