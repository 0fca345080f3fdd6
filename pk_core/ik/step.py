"""One damped step that stays inside the limits."""

from __future__ import annotations

import math

from ..kinematics.compilation import jit, jit_inline
from ..kinematics.scalar import quaternion_rotation, sincos
from .records import (
    CAP,
    CHANGE,
    EASE,
    ERROR,
    FOLLOWS,
    HELD,
    HIGH,
    LOW,
    PLAIN,
    PUSHES,
    REST,
    SOLUTION,
    SPAN,
    SPINS,
    START,
    TRIAL,
    WRAPS,
)  # fmt: skip

TWO_PI = 2.0 * math.pi
ROUNDS = 4  # solves of one step, each with more joints held at limits
TINY = 1e-300


@jit
def copy(source, target):
    for i in range(source.shape[0]):
        target[i] = source[i]


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
def _step_of_one_tip(J, e, held, ease, damping, step):
    """Fill the step for one tip: y by blocks [[P, B^T], [B, R]] in registers."""
    p00 = p11 = p22 = r00 = r11 = r22 = damping
    p10 = p20 = p21 = r10 = r20 = r21 = 0.0
    b00 = b01 = b02 = b10 = b11 = b12 = b20 = b21 = b22 = 0.0
    for k in range(J.shape[0]):
        if held[k] != 0.0:
            continue
        v0, v1, v2, w0, w1, w2 = J[k, 0], J[k, 1], J[k, 2], J[k, 3], J[k, 4], J[k, 5]
        u0, u1, u2 = ease[k] * v0, ease[k] * v1, ease[k] * v2
        x0, x1, x2 = ease[k] * w0, ease[k] * w1, ease[k] * w2
        p00, p10, p11 = p00 + u0 * v0, p10 + u1 * v0, p11 + u1 * v1
        p20, p21, p22 = p20 + u2 * v0, p21 + u2 * v1, p22 + u2 * v2
        r00, r10, r11 = r00 + x0 * w0, r10 + x1 * w0, r11 + x1 * w1
        r20, r21, r22 = r20 + x2 * w0, r21 + x2 * w1, r22 + x2 * w2
        b00, b01, b02 = b00 + x0 * v0, b01 + x0 * v1, b02 + x0 * v2
        b10, b11, b12 = b10 + x1 * v0, b11 + x1 * v1, b12 + x1 * v2
        b20, b21, b22 = b20 + x2 * v0, b21 + x2 * v1, b22 + x2 * v2
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
    for k in range(J.shape[0]):
        dot = J[k, 0] * u0 + J[k, 1] * u1 + J[k, 2] * u2 + J[k, 3] * u3 + J[k, 4] * u4 + J[k, 5] * u5
        step[k] = 0.0 if held[k] != 0.0 else ease[k] * dot


@jit
def solve_dense(J, e, held, ease, damping, A, y):
    """Solve (J_f U J_f^T + damping I) y = e by Cholesky's method, the factor in the lower half of A (6 t, 6 t)."""
    n = e.shape[0]
    for i in range(n):
        for j in range(i + 1):
            A[i, j] = 0.0
        A[i, i] = damping
        y[i] = e[i]
    for k in range(J.shape[0]):
        if held[k] == 0.0:
            for i in range(n):
                u = ease[k] * J[k, i]
                if u != 0.0:  # a joint moves some tips only
                    for j in range(i + 1):
                        A[i, j] += u * J[k, j]
    for i in range(n):
        for j in range(i + 1):
            total = A[i, j]
            for k in range(j):
                total -= A[i, k] * A[j, k]
            A[i, j] = math.sqrt(max(total, TINY)) if i == j else total / A[j, j]
        for k in range(i):
            y[i] -= A[i, k] * y[k]
        y[i] /= A[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            y[i] -= A[k, i] * y[k]
        y[i] /= A[i, i]


@jit_inline
def _damped_step(J, e, ease, damping, w):
    """Fill the trial step U J_f^T y, (J_f U J_f^T + damping I) y = e, U = diag(ease); zero where a joint is held."""
    y, held, step = w.errors[SOLUTION], w.steps[HELD], w.steps[TRIAL]
    if e.shape[0] == 6:
        _step_of_one_tip(J, e, held, ease, damping, step)
        return
    solve_dense(J, e, held, ease, damping, w.A, y)
    for k in range(J.shape[0]):
        dot = 0.0
        for i in range(e.shape[0]):
            dot += J[k, i] * y[i]
        step[k] = 0.0 if held[k] != 0.0 else ease[k] * dot


@jit
def _shorten(step, cap, rest):
    """Shorten a step, and the error it is to remove, until no joint changes by more than its cap."""
    scale = 1.0
    for k in range(step.shape[0]):
        if abs(step[k]) * scale > cap[k]:
            scale = cap[k] / abs(step[k])
    if scale < 1.0:
        for k in range(step.shape[0]):
            step[k] *= scale
        for i in range(rest.shape[0]):
            rest[i] *= scale


@jit_inline
def project_step(q, problem, damping, w):
    """Fill the step with one, damped, that removes w.errors inside the limits; return whether a limit held a joint.

    A joint that the step would take past its limit goes to the limit and is held there; the others solve for what is
    left of the error, until no joint crosses.
    """
    J, c, rest = w.J, problem.coordinates, w.errors[REST]
    step, trial, held, blocked = w.steps[CHANGE], w.steps[TRIAL], w.steps[HELD], False
    for k in range(J.shape[0]):
        held[k] = 0.0
    copy(w.errors[ERROR], rest)
    for _ in range(ROUNDS):
        _damped_step(J, rest, c[EASE], damping, w)
        _shorten(trial, c[CAP], rest)
        crossed = False
        for k in range(J.shape[0]):
            if held[k] != 0.0:
                continue
            step[k] = trial[k]
            if problem.ways[k] != PLAIN:
                continue
            room = (c[HIGH, k] if trial[k] > 0.0 else c[LOW, k]) - q[problem.movable[k]]
            if abs(trial[k]) > abs(room):
                held[k], crossed, step[k] = 1.0, True, room
                for i in range(rest.shape[0]):
                    rest[i] -= J[k, i] * room
        blocked = blocked or crossed
        if not crossed:
            break
    return blocked


@jit
def largest_change(step):
    largest = 0.0
    for k in range(step.shape[0]):
        largest = max(largest, abs(step[k]))
    return largest


@jit_inline
def apply_step(q, problem, step):
    """Add a step to q; whole turns are taken off where the limits leave room for one."""
    c = problem.coordinates
    for k in range(step.shape[0]):
        column, way = problem.movable[k], problem.ways[k]
        if way == SPINS:
            _spin(q, column, step[k], step[k + 1], step[k + 2])
        elif way == PUSHES:
            _push(q, column, step[k], step[k + 1], step[k + 2])
        elif way != FOLLOWS:
            value = q[column] + step[k]
            if way == WRAPS:
                if value > c[HIGH, k] or value > c[START, k] + 1.5 * c[SPAN, k]:
                    value -= TWO_PI
                elif value < c[LOW, k] or value < c[START, k] - 0.5 * c[SPAN, k]:
                    value += TWO_PI
            q[column] = min(max(value, c[LOW, k]), c[HIGH, k])


@jit
def _spin(q, c, x, y, z):
    """Turn the quaternion wxyz at column c by a rotation vector in its own axes; the result has length one."""
    half = 0.5 * math.sqrt(x * x + y * y + z * z)
    s, k = sincos(half)
    s = 0.5 * (s / half if half > 1e-9 else 1.0)
    x, y, z = s * x, s * y, s * z
    a, b, d, e = q[c], q[c + 1], q[c + 2], q[c + 3]
    a, b, d, e = (
        a * k - b * x - d * y - e * z,
        a * x + b * k + d * z - e * y,
        a * y - b * z + d * k + e * x,
        a * z + b * y - d * x + e * k,
    )
    length = 1.0 / math.sqrt(a * a + b * b + d * d + e * e)
    q[c], q[c + 1], q[c + 2], q[c + 3] = a * length, b * length, d * length, e * length


@jit
def _push(q, c, x, y, z):
    """Move the position at column c along the axes of the quaternion that follows it."""
    r = quaternion_rotation(q[c + 3], q[c + 4], q[c + 5], q[c + 6])
    q[c] += r[0] * x + r[1] * y + r[2] * z
    q[c + 1] += r[3] * x + r[4] * y + r[5] * z
    q[c + 2] += r[6] * x + r[7] * y + r[8] * z
