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
ROUNDS = 4  # solves of one step, each with more joints held at limits
STILL = 1e-9  # a step smaller than this is standing still


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


@jit
def _row_times(a0, a1, a2, m):
    """Give a row times a matrix of nine."""
    return a0 * m[0] + a1 * m[3] + a2 * m[6], a0 * m[1] + a1 * m[4] + a2 * m[7], a0 * m[2] + a1 * m[5] + a2 * m[8]


@jit
def _load_motions(q, kinds, columns, constants, motions):
    """Fill motions (3, n) with sin, cos and slide of the scalar nodes; apart from the walk, so that it is vectorised."""
    sines, cosines, slides = motions[0], motions[1], motions[2]
    for i in range(kinds.shape[0]):
        value = constants[i, P_MULTIPLIER] * q[columns[i]] + constants[i, P_OFFSET]
        cosines[i] = constants[i, P_TURN] * value
        slides[i] = constants[i, P_SLIDE] * value
    for i in range(kinds.shape[0]):
        sines[i], cosines[i] = sincos(cosines[i])


@jit
def _walk(q, kinds, columns, constants, motions, axes, tip):
    """Fill axes (n, 6): axis and a point on it of each node, and tip (12): rotation by rows, position; root frame."""
    _load_motions(q, kinds, columns, constants, motions)
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0
    px, py, pz = 0.0, 0.0, 0.0
    n = kinds.shape[0]
    for i in range(n + 1):
        x, y, z = constants[i, 9], constants[i, 10], constants[i, 11]
        px, py, pz = px + r00 * x + r01 * y + r02 * z, py + r10 * x + r11 * y + r12 * z, pz + r20 * x + r21 * y + r22 * z
        c = (
            constants[i, 0], constants[i, 1], constants[i, 2], constants[i, 3], constants[i, 4],
            constants[i, 5], constants[i, 6], constants[i, 7], constants[i, 8],
        )  # fmt: skip
        r00, r01, r02 = _row_times(r00, r01, r02, c)
        r10, r11, r12 = _row_times(r10, r11, r12, c)
        r20, r21, r22 = _row_times(r20, r21, r22, c)
        if i == n:  # the tool does not move
            break
        if kinds[i] == SCALAR:
            s, k, along = motions[0, i], motions[1, i], motions[2, i]
            r00, r01 = r00 * k + r01 * s, r01 * k - r00 * s
            r10, r11 = r10 * k + r11 * s, r11 * k - r10 * s
            r20, r21 = r20 * k + r21 * s, r21 * k - r20 * s
            px, py, pz = px + r02 * along, py + r12 * along, pz + r22 * along
        else:
            column = columns[i]
            if kinds[i] == FREE:
                x, y, z = q[column], q[column + 1], q[column + 2]
                px, py, pz = px + r00 * x + r01 * y + r02 * z, py + r10 * x + r11 * y + r12 * z, pz + r20 * x + r21 * y + r22 * z
                column += 3
            c = quaternion_rotation(q[column], q[column + 1], q[column + 2], q[column + 3])
            r00, r01, r02 = _row_times(r00, r01, r02, c)
            r10, r11, r12 = _row_times(r10, r11, r12, c)
            r20, r21, r22 = _row_times(r20, r21, r22, c)
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
        J[slot, 0] += turn * (ay * z - az * y) + slide * ax
        J[slot, 1] += turn * (az * x - ax * z) + slide * ay
        J[slot, 2] += turn * (ax * y - ay * x) + slide * az
        J[slot, 3] += turn * ax
        J[slot, 4] += turn * ay
        J[slot, 5] += turn * az


@jit
def _norms(e):
    return math.sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]), math.sqrt(e[3] * e[3] + e[4] * e[4] + e[5] * e[5])


@jit
def _weigh(weights, tip, J, e):
    """Turn the rows of J and e into the axes of the tip and weigh them; return the norms of the error rows that count."""
    position = rotation = 0.0
    for row in range(J.shape[0] + 1):
        v = J[row] if row < J.shape[0] else e
        for h in (0, 3):
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
def _factor3(a00, a10, a11, a20, a21, a22):
    """Factor a symmetric 3x3 matrix as L D L^T: (l10, l20, l21, 1/d0, 1/d1, 1/d2)."""
    i0 = 1.0 / a00
    l10, l20 = a10 * i0, a20 * i0
    i1 = 1.0 / (a11 - l10 * a10)
    b21 = a21 - l20 * a10
    l21 = b21 * i1
    return l10, l20, l21, i0, i1, 1.0 / (a22 - l20 * a20 - l21 * b21)


@jit
def _solve3(f, x, y, z):
    """Solve L D L^T u = (x, y, z) for a factor of `_factor3`."""
    y -= f[0] * x
    z -= f[1] * x + f[2] * y
    z *= f[5]
    y = y * f[4] - f[2] * z
    return x * f[3] - f[0] * y - f[1] * z, y, z


@jit
def _solve_damped(J, e, held, damping):
    """Solve (J_f J_f^T + damping I) y = e by blocks [[P, B^T], [B, R]], all in registers."""
    p00 = p11 = p22 = r00 = r11 = r22 = damping
    p10 = p20 = p21 = r10 = r20 = r21 = 0.0
    b00 = b01 = b02 = b10 = b11 = b12 = b20 = b21 = b22 = 0.0
    for k in range(J.shape[0]):
        if held[k]:
            continue
        v0, v1, v2, w0, w1, w2 = J[k, 0], J[k, 1], J[k, 2], J[k, 3], J[k, 4], J[k, 5]
        p00, p10, p11, p20, p21, p22 = p00 + v0 * v0, p10 + v1 * v0, p11 + v1 * v1, p20 + v2 * v0, p21 + v2 * v1, p22 + v2 * v2
        r00, r10, r11, r20, r21, r22 = r00 + w0 * w0, r10 + w1 * w0, r11 + w1 * w1, r20 + w2 * w0, r21 + w2 * w1, r22 + w2 * w2
        b00, b01, b02 = b00 + w0 * v0, b01 + w0 * v1, b02 + w0 * v2
        b10, b11, b12 = b10 + w1 * v0, b11 + w1 * v1, b12 + w1 * v2
        b20, b21, b22 = b20 + w2 * v0, b21 + w2 * v1, b22 + w2 * v2
    P = _factor3(p00, p10, p11, p20, p21, p22)
    x0, y0, z0 = _solve3(P, b00, b01, b02)  # the rows of B P^-1
    x1, y1, z1 = _solve3(P, b10, b11, b12)
    x2, y2, z2 = _solve3(P, b20, b21, b22)
    S = _factor3(
        r00 - (x0 * b00 + y0 * b01 + z0 * b02),
        r10 - (x1 * b00 + y1 * b01 + z1 * b02),
        r11 - (x1 * b10 + y1 * b11 + z1 * b12),
        r20 - (x2 * b00 + y2 * b01 + z2 * b02),
        r21 - (x2 * b10 + y2 * b11 + z2 * b12),
        r22 - (x2 * b20 + y2 * b21 + z2 * b22),
    )
    e0, e1, e2, e3, e4, e5 = e[0], e[1], e[2], e[3], e[4], e[5]
    u3, u4, u5 = _solve3(
        S,
        e3 - (x0 * e0 + y0 * e1 + z0 * e2),
        e4 - (x1 * e0 + y1 * e1 + z1 * e2),
        e5 - (x2 * e0 + y2 * e1 + z2 * e2),
    )
    u0, u1, u2 = _solve3(
        P,
        e0 - (b00 * u3 + b10 * u4 + b20 * u5),
        e1 - (b01 * u3 + b11 * u4 + b21 * u5),
        e2 - (b02 * u3 + b12 * u4 + b22 * u5),
    )
    return u0, u1, u2, u3, u4, u5


@jit
def _damped_step(J, e, held, damping, dq):
    """Fill dq = J_f^T (J_f J_f^T + damping I)^-1 e; zero where a joint is held."""
    y = _solve_damped(J, e, held, damping)
    for k in range(J.shape[0]):
        dq[k] = J[k, 0] * y[0] + J[k, 1] * y[1] + J[k, 2] * y[2] + J[k, 3] * y[3] + J[k, 4] * y[4] + J[k, 5] * y[5]
        if held[k]:
            dq[k] = 0.0


@jit
def _copy(source, target):
    for i in range(source.shape[0]):
        target[i] = source[i]


@jit
def _largest(step):
    largest = 0.0
    for k in range(step.shape[0]):
        largest = max(largest, abs(step[k]))
    return largest


@jit
def _shorten(step, rest):
    """Shorten a step, and the error it is to remove, to STEP_CAP."""
    largest = _largest(step)
    if largest > STEP_CAP:
        scale = STEP_CAP / largest
        for k in range(step.shape[0]):
            step[k] *= scale
        for i in range(6):
            rest[i] *= scale


@jit
def _project_step(J, e, q, problem, damping, w):
    """Fill w.dq with a damped step that stays inside the limits; return whether a limit held a joint.

    A joint that the step would take past its limit goes to the limit and is held there; the others solve for what is
    left of the error, until no joint crosses.
    """
    m, held, blocked = J.shape[0], w.held, False
    for k in range(m):
        held[k] = False
    _copy(e, w.rest)
    for _ in range(ROUNDS):
        _damped_step(J, w.rest, held, damping, w.step)
        _shorten(w.step, w.rest)
        crossed = False
        for k in range(m):
            if held[k]:
                continue
            w.dq[k] = w.step[k]
            if problem.wraps[k]:
                continue
            room = (problem.high[k] if w.step[k] > 0.0 else problem.low[k]) - q[problem.movable[k]]
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
    """Add a step to the joints that may move; whole turns are taken off where the limits leave room for one."""
    for k in range(dq.shape[0]):
        column, low, high = problem.movable[k], problem.low[k], problem.high[k]
        value = q[column] + dq[k]
        if problem.wraps[k]:
            if value > high or value > problem.start[k] + 1.5 * problem.span[k]:
                value -= TWO_PI
            elif value < low or value < problem.start[k] - 0.5 * problem.span[k]:
                value += TWO_PI
        q[column] = min(max(value, low), high)


@jit
def _attempt(q, target, row, problem, options, w):
    """Walk from q until the target is met or there is no getting on; return (status, iterations).

    The best configuration that any attempt of this target saw is kept in w.best, its errors in w.best_error.
    """
    tolerance_p, tolerance_r = options.tolerances[row, 0], options.tolerances[row, 1]
    last, slow, blocked = math.inf, 0, False
    for iteration in range(options.max_iterations):
        _walk(q, problem.kinds, problem.columns, problem.constants, w.motions, w.axes, w.tip)
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
        _apply_step(q, problem, w.dq)
        if _largest(w.dq) < STILL:
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
        np.empty((3, n)), np.empty((n, 6)), np.empty(12), np.empty((m, 6)), np.empty(6), np.empty(6), np.empty(m), np.empty(m),
        np.empty(m, np.bool_), np.empty(options.base.shape[0]), np.empty(options.base.shape[0]), np.empty(3),
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
