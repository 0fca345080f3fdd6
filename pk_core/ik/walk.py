"""One problem's forward kinematics, errors and Jacobian, and the judgement of what is returned: scalar, float64."""

from __future__ import annotations

import math

import numpy as np

from ..kinematics.compilation import jit, jit_exact, jit_inline, kernel
from ..kinematics.scalar import quaternion_rotation, sincos
from ..tree import FIXED, FREE, SCALAR
from .records import COLUMN, CONVERGED, ERROR, KIND, MULTIPLIER, OFFSET, PARENT, SLIDE, SLOT, STALLED, TURN


@jit
def _row_times(a0, a1, a2, m):
    """Give a row times a matrix of nine."""
    return a0 * m[0] + a1 * m[3] + a2 * m[6], a0 * m[1] + a1 * m[4] + a2 * m[7], a0 * m[2] + a1 * m[5] + a2 * m[8]


@jit
def _load_motions(q, problem, motions):
    """Fill motions (3, n) with sin, cos and slide of the nodes: eight at a time, apart from the walk, to be vectorised."""
    c = problem.motions
    for first in range(0, c.shape[1], 8):
        for i in range(first, first + 8):
            value = c[MULTIPLIER, i] * q[problem.columns[i]] + c[OFFSET, i]
            motions[1, i] = c[TURN, i] * value
            motions[2, i] = c[SLIDE, i] * value
        for i in range(first, first + 8):
            motions[0, i], motions[1, i] = sincos(motions[1, i])


@jit
def walk(q, problem, motions, poses):
    """Fill poses (n + t, 12) of nodes and tips: rotation by rows, position; root frame."""
    _load_motions(q, problem, motions)
    nodes, origins = problem.nodes, problem.origins
    r00, r01, r02, r10, r11, r12, r20, r21, r22 = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0
    px, py, pz = 0.0, 0.0, 0.0
    for i in range(nodes.shape[0]):
        parent, kind, column = nodes[i, PARENT], nodes[i, KIND], nodes[i, COLUMN]
        if parent < 0:
            r00, r01, r02, r10, r11, r12, r20, r21, r22 = 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0
            px, py, pz = 0.0, 0.0, 0.0
        elif parent != i - 1:  # the pose of the node before is at hand
            p = poses[parent]
            r00, r01, r02, r10, r11, r12, r20, r21, r22 = p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8]
            px, py, pz = p[9], p[10], p[11]
        o = origins[i]
        x, y, z = o[9], o[10], o[11]
        px, py, pz = (
            px + r00 * x + r01 * y + r02 * z,
            py + r10 * x + r11 * y + r12 * z,
            pz + r20 * x + r21 * y + r22 * z,
        )
        c = (o[0], o[1], o[2], o[3], o[4], o[5], o[6], o[7], o[8])
        r00, r01, r02 = _row_times(r00, r01, r02, c)
        r10, r11, r12 = _row_times(r10, r11, r12, c)
        r20, r21, r22 = _row_times(r20, r21, r22, c)
        if kind == SCALAR:
            s, k, along = motions[0, i], motions[1, i], motions[2, i]
            r00, r01 = r00 * k + r01 * s, r01 * k - r00 * s
            r10, r11 = r10 * k + r11 * s, r11 * k - r10 * s
            r20, r21 = r20 * k + r21 * s, r21 * k - r20 * s
            px, py, pz = px + r02 * along, py + r12 * along, pz + r22 * along
        elif kind != FIXED:
            if kind == FREE:
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
        p = poses[i]
        p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8] = r00, r01, r02, r10, r11, r12, r20, r21, r22
        p[9], p[10], p[11] = px, py, pz


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
def pose_error(r, t, e, o):
    """Fill e[o: o + 6] with [position; rotation vector] from pose r to target t, in root axes [m], [rad]."""
    e[o], e[o + 1], e[o + 2] = t[9] - r[9], t[10] - r[10], t[11] - r[11]
    e[o + 3], e[o + 4], e[o + 5] = rotation_log(
        t[0] * r[0] + t[1] * r[1] + t[2] * r[2], t[0] * r[3] + t[1] * r[4] + t[2] * r[5], t[0] * r[6] + t[1] * r[7] + t[2] * r[8],
        t[3] * r[0] + t[4] * r[1] + t[5] * r[2], t[3] * r[3] + t[4] * r[4] + t[5] * r[5], t[3] * r[6] + t[4] * r[7] + t[5] * r[8],
        t[6] * r[0] + t[7] * r[1] + t[8] * r[2], t[6] * r[3] + t[7] * r[4] + t[8] * r[5], t[6] * r[6] + t[7] * r[7] + t[8] * r[8],
    )  # fmt: skip


@jit
def _add_turn(J, o, ax, ay, az, x, y, z, turn, scale):
    """Add what turning about an axis does to a point (x, y, z) from it; positions count `scale`."""
    arm = turn * scale
    J[o] += arm * (ay * z - az * y)
    J[o + 1] += arm * (az * x - ax * z)
    J[o + 2] += arm * (ax * y - ay * x)
    J[o + 3] += turn * ax
    J[o + 4] += turn * ay
    J[o + 5] += turn * az


@jit_inline
def fill_jacobian(problem, poses, tip, J):
    """Fill the columns of a tip in J (m, 6 t), one row a coordinate: [v; w] in root axes at the tip, v scaled."""
    o, nodes, c, scale = 6 * tip, problem.nodes, problem.motions, problem.scale
    for k in range(J.shape[0]):
        for i in range(6):
            J[k, o + i] = 0.0
    end = nodes.shape[0] - problem.reach.shape[0] + tip
    tx, ty, tz = poses[end, 9], poses[end, 10], poses[end, 11]
    node = nodes[end, PARENT]
    while node >= 0:
        slot, p = nodes[node, SLOT], poses[node]
        x, y, z = tx - p[9], ty - p[10], tz - p[11]
        if slot >= 0 and nodes[node, KIND] == SCALAR:
            turn, slide = c[MULTIPLIER, node] * c[TURN, node], c[MULTIPLIER, node] * c[SLIDE, node]
            _add_turn(J[slot], o, p[2], p[5], p[8], x, y, z, turn, scale)
            slide *= scale
            J[slot, o] += slide * p[2]
            J[slot, o + 1] += slide * p[5]
            J[slot, o + 2] += slide * p[8]
        elif slot >= 0:
            if nodes[node, KIND] == FREE:
                for i in range(3):
                    J[slot + i, o] = scale * p[i]
                    J[slot + i, o + 1], J[slot + i, o + 2] = scale * p[3 + i], scale * p[6 + i]
                slot += 3
            for i in range(3):
                _add_turn(J[slot + i], o, p[i], p[3 + i], p[6 + i], x, y, z, 1.0, scale)
        node = nodes[node, PARENT]


@jit
def _weight_axes(given, row, tip):
    """Give the axes of the weights of a row, as the columns of a rotation by rows: those given, or the tip's."""
    a = tip if given.shape[0] == 0 else given[min(row, given.shape[0] - 1)]
    return a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8]


@jit
def weigh(options, row, tip, o, J, e):
    """Turn six columns of J and e from o on into the axes of the weights and weigh them; return what counts of the error."""
    a, weights = _weight_axes(options.weight_axes, row, tip), options.weights
    position = rotation = 0.0
    for k in range(J.shape[0] + 1):
        v = J[k] if k < J.shape[0] else e
        for h in (o, o + 3):
            x, y, z = v[h], v[h + 1], v[h + 2]
            v[h], v[h + 1], v[h + 2] = (
                a[0] * x + a[3] * y + a[6] * z,
                a[1] * x + a[4] * y + a[7] * z,
                a[2] * x + a[5] * y + a[8] * z,
            )
        if k == J.shape[0]:
            for i in range(3):
                position += v[o + i] * v[o + i] * (weights[i] != 0.0)
                rotation += v[o + 3 + i] * v[o + 3 + i] * (weights[3 + i] != 0.0)
        for i in range(6):
            v[o + i] *= weights[i]
    return math.sqrt(position), math.sqrt(rotation)


@jit_inline
def measure(q, row, problem, options, targets, w):
    """Fill w.poses, w.J and w.errors at q, weighed and scaled; return the score: at most 1 where all tips are on target."""
    walk(q, problem, w.motions, w.poses)
    tips, e, J, scale, score = targets.shape[0], w.errors[ERROR], w.J, problem.scale, 0.0
    allowed = options.tolerances[min(row, options.tolerances.shape[0] - 1)]
    for tip in range(tips):
        o, pose = 6 * tip, w.poses[w.poses.shape[0] - tips + tip]
        pose_error(pose, targets[tip], e, o)
        fill_jacobian(problem, w.poses, tip, J)
        if options.weighted:
            position, rotation = weigh(options, row, pose, o, J, e)
        else:
            position = math.sqrt(e[o] * e[o] + e[o + 1] * e[o + 1] + e[o + 2] * e[o + 2])
            rotation = math.sqrt(e[o + 3] * e[o + 3] + e[o + 4] * e[o + 4] + e[o + 5] * e[o + 5])
        score = max(score, max(position / allowed[0], rotation / allowed[1]))
        for i in range(3):
            e[o + i] *= scale
    return score


@kernel
def judge_slice(poses, targets, options, errors, status, found, begin, end):
    """Fill errors (N, k, 2) [m], [rad]: the largest over tips of poses (t, N, k, 4, 4) against targets (N, t, 12).

    Parts of weight zero don't count. What is CONVERGED in status (N, k) and outside a tolerance becomes STALLED: rounding to
    the chain's dtype took it out; found (N,) counts the others.
    """
    size = 6 * poses.shape[0]
    e, no_rows, r = np.empty(size), np.empty((0, size)), np.empty(12)
    for row in range(begin, end):
        allowed, found[row] = options.tolerances[min(row, options.tolerances.shape[0] - 1)], 0
        for s in range(poses.shape[2]):
            errors[row, s, 0] = errors[row, s, 1] = 0.0
            for tip in range(poses.shape[0]):
                for i in range(3):
                    r[9 + i] = poses[tip, row, s, i, 3]
                    for j in range(3):
                        r[3 * i + j] = poses[tip, row, s, i, j]
                pose_error(r, targets[row, tip], e, 6 * tip)
                position, rotation = weigh(options, row, r, 6 * tip, no_rows, e)
                for i, error in ((0, position), (1, rotation)):
                    if not error <= errors[row, s, i]:  # NaN is the largest
                        errors[row, s, i] = error
            if status[row, s] == CONVERGED:
                if errors[row, s, 0] <= allowed[0] and errors[row, s, 1] <= allowed[1]:
                    found[row] += 1
                else:
                    status[row, s] = STALLED
