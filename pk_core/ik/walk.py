"""One problem's forward kinematics, error and Jacobian, and the judgement of what is returned: scalar, float64."""

from __future__ import annotations

import math

import numpy as np

from ..kinematics.compilation import jit, jit_exact, kernel
from ..kinematics.scalar import quaternion_rotation, sincos
from ..tree import FREE, SCALAR
from .path import P_MULTIPLIER, P_OFFSET, P_SLIDE, P_TURN


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
def walk(q, kinds, columns, constants, motions, axes, tip):
    """Fill axes (n, 6): axis and a point on it of each node, and tip (12): rotation by rows, position; root frame."""
    _load_motions(q, kinds, columns, constants, motions)
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0
    px, py, pz = 0.0, 0.0, 0.0
    n = kinds.shape[0]
    for i in range(n + 1):
        x, y, z = constants[i, 9], constants[i, 10], constants[i, 11]
        px, py, pz = (
            px + r00 * x + r01 * y + r02 * z,
            py + r10 * x + r11 * y + r12 * z,
            pz + r20 * x + r21 * y + r22 * z,
        )
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
                px, py, pz = (
                    px + r00 * x + r01 * y + r02 * z,
                    py + r10 * x + r11 * y + r12 * z,
                    pz + r20 * x + r21 * y + r22 * z,
                )
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
def fill_jacobian(kinds, slots, constants, axes, tip, J):
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
        turn, slide = (
            constants[i, P_MULTIPLIER] * constants[i, P_TURN],
            constants[i, P_MULTIPLIER] * constants[i, P_SLIDE],
        )
        J[slot, 0] += turn * (ay * z - az * y) + slide * ax
        J[slot, 1] += turn * (az * x - ax * z) + slide * ay
        J[slot, 2] += turn * (ax * y - ay * x) + slide * az
        J[slot, 3] += turn * ax
        J[slot, 4] += turn * ay
        J[slot, 5] += turn * az


@jit
def norms(e):
    return math.sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]), math.sqrt(e[3] * e[3] + e[4] * e[4] + e[5] * e[5])


@jit
def weight_axes(given, row, tip):
    """Give the axes of the weights of a row, as the columns of a rotation by rows: those given, or the tip's."""
    if given.shape[0] == 0:
        return tip[0], tip[1], tip[2], tip[3], tip[4], tip[5], tip[6], tip[7], tip[8]
    g = min(row, given.shape[0] - 1)
    return (
        given[g, 0],
        given[g, 1],
        given[g, 2],
        given[g, 3],
        given[g, 4],
        given[g, 5],
        given[g, 6],
        given[g, 7],
        given[g, 8],
    )


@jit
def weigh(weights, axes, J, e):
    """Turn the rows of J and e into these axes and weigh them; return the norms of the error rows that count."""
    position = rotation = 0.0
    for row in range(J.shape[0] + 1):
        v = J[row] if row < J.shape[0] else e
        for h in (0, 3):
            x, y, z = v[h], v[h + 1], v[h + 2]
            v[h], v[h + 1], v[h + 2] = (
                axes[0] * x + axes[3] * y + axes[6] * z,
                axes[1] * x + axes[4] * y + axes[7] * z,
                axes[2] * x + axes[5] * y + axes[8] * z,
            )
        if row == J.shape[0]:
            for i in range(3):
                position += v[i] * v[i] * (weights[i] != 0.0)
                rotation += v[3 + i] * v[3 + i] * (weights[3 + i] != 0.0)
        for i in range(6):
            v[i] *= weights[i]
    return math.sqrt(position), math.sqrt(rotation)


@kernel
def judge_slice(poses, targets, weights, axes, errors, begin, end):
    """Fill errors (n, k, 2) [m], [rad] of poses (n, k, 12) against targets (n, 12); parts of weight zero don't count."""
    e, no_rows = np.empty(6), np.empty((0, 6))
    for row in range(begin, end):
        for s in range(poses.shape[1]):
            pose_error(poses[row, s], targets[row], e)
            given = weight_axes(axes, row, poses[row, s])
            errors[row, s, 0], errors[row, s, 1] = weigh(weights, given, no_rows, e)
