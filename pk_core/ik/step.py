"""One damped step that stays inside the limits."""

from __future__ import annotations

import math

from ..kinematics.compilation import jit

TWO_PI = 2.0 * math.pi
ROUNDS = 4  # solves of one step, each with more joints held at limits


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
def _solve_damped(J, e, held, ease, damping):
    """Solve (J_f U J_f^T + damping I) y = e by blocks [[P, B^T], [B, R]], all in registers; U = diag(ease)."""
    p00 = p11 = p22 = r00 = r11 = r22 = damping
    p10 = p20 = p21 = r10 = r20 = r21 = 0.0
    b00 = b01 = b02 = b10 = b11 = b12 = b20 = b21 = b22 = 0.0
    for k in range(J.shape[0]):
        if held[k]:
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
    return u0, u1, u2, u3, u4, u5


@jit
def _damped_step(J, e, held, ease, damping, dq):
    """Fill dq = U J_f^T (J_f U J_f^T + damping I)^-1 e, U = diag(ease); zero where a joint is held."""
    y = _solve_damped(J, e, held, ease, damping)
    for k in range(J.shape[0]):
        dot = J[k, 0] * y[0] + J[k, 1] * y[1] + J[k, 2] * y[2] + J[k, 3] * y[3] + J[k, 4] * y[4] + J[k, 5] * y[5]
        dq[k] = 0.0 if held[k] else ease[k] * dot


@jit
def largest_change(step):
    largest = 0.0
    for k in range(step.shape[0]):
        largest = max(largest, abs(step[k]))
    return largest


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
        for i in range(6):
            rest[i] *= scale


@jit
def project_step(J, e, q, problem, damping, w):
    """Fill w.dq with a damped step that stays inside the limits; return whether a limit held a joint.

    A joint that the step would take past its limit goes to the limit and is held there; the others solve for what is
    left of the error, until no joint crosses.
    """
    m, held, blocked = J.shape[0], w.held, False
    for k in range(m):
        held[k] = False
    copy(e, w.rest)
    for _ in range(ROUNDS):
        _damped_step(J, w.rest, held, problem.ease, damping, w.step)
        _shorten(w.step, problem.cap, w.rest)
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
def apply_step(q, problem, dq):
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
