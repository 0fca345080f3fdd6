"""Fused CPU kernels over slices of a batch: forward kinematics, its reverse sweep, the Jacobian.

LANES configurations go through the tree together, component by component (`pose[node, component, lane]`), so that every
inner loop runs at full vector width. The tail of a batch is padded to a whole block: a configuration gives the same
bits wherever it stands in a batch. Shapes: q (n, nq), constants (n_nodes, 19), layout (n_nodes, 4); see `tree.py`.
"""

from __future__ import annotations

import math

import numpy as np

from ..tree import (
    AXIS,
    BALL,
    FIXED,
    FREE,
    KIND,
    MULTIPLIER,
    OFFSET,
    ORIGIN,
    PARENT,
    POSITION,
    Q_COLUMN,
    SCALAR,
    SLIDE,
    TURN,
    V_COLUMN,
)
from .compilation import jit, kernel
from .scalar import SINCOS_RANGE, axis_rotation, cross, quaternion_rotation, sincos

LANES = 64


@jit
def _load_scalar(q, begin, column, multiplier, offset, turn, motion):
    """Fill motion rows 0, 1, 2 with sin and cos of the angle turned and with the value, for a block of lanes."""
    last = q.shape[0] - 1
    sines, cosines, values = motion[0], motion[1], motion[2]
    for lane in range(LANES):
        values[lane] = multiplier * q[min(begin + lane, last), column] + offset
    for lane in range(LANES):
        sines[lane], cosines[lane] = sincos(turn * values[lane])
    far = 0
    for lane in range(LANES):
        far += abs(turn * values[lane]) > SINCOS_RANGE
    if far:  # angles of thousands of turns: leave the vectorised path
        for lane in range(LANES):
            sines[lane], cosines[lane] = math.sin(turn * values[lane]), math.cos(turn * values[lane])


@jit
def _load_quaternion(q, begin, column, local):
    """Fill rows 0..8 of `local` with the rotations of a block of quaternions."""
    last = q.shape[0] - 1
    for lane in range(LANES):
        row = min(begin + lane, last)
        rotation = quaternion_rotation(
            float(q[row, column]), float(q[row, column + 1]), float(q[row, column + 2]), float(q[row, column + 3])
        )
        for k in range(9):
            local[k, lane] = rotation[k]


@jit
def _local_fixed(c, local):
    for k in range(12):
        for lane in range(LANES):
            local[k, lane] = c[k]


@jit
def _local_scalar(c, motion, local):
    """origin @ (rotation about the axis, slide along it), row by row."""
    ax, ay, az = c[AXIS], c[AXIS + 1], c[AXIS + 2]
    for i in range(3):
        ox, oy, oz = c[ORIGIN + 3 * i], c[ORIGIN + 3 * i + 1], c[ORIGIN + 3 * i + 2]
        a, b, d = axis_rotation(ox, oy, oz, ax, ay, az)
        a0, a1, a2, b0, b1, b2, d0, d1, d2 = a[0], a[1], a[2], b[0], b[1], b[2], d[0], d[1], d[2]
        p, along = c[POSITION + i], c[SLIDE] * (ox * ax + oy * ay + oz * az)
        for lane in range(LANES):
            sin, cos = motion[0, lane], motion[1, lane]
            local[3 * i, lane] = a0 + sin * b0 + cos * d0
            local[3 * i + 1, lane] = a1 + sin * b1 + cos * d1
            local[3 * i + 2, lane] = a2 + sin * b2 + cos * d2
            local[9 + i, lane] = p + along * motion[2, lane]


@jit
def _local_quaternion(c, q, begin, column, free, motion, local):
    """origin @ (translation of a free node, rotation of the quaternion)."""
    last = q.shape[0] - 1
    _load_quaternion(q, begin, column + 3 * free, local)
    for k in range(3):
        for lane in range(LANES):
            motion[k, lane] = q[min(begin + lane, last), column + k] if free else q[0, 0] - q[0, 0]
    for j in range(3):  # column j of the rotation
        for lane in range(LANES):
            x, y, z = local[j, lane], local[3 + j, lane], local[6 + j, lane]
            for i in range(3):
                local[3 * i + j, lane] = c[3 * i] * x + c[3 * i + 1] * y + c[3 * i + 2] * z
    for i in range(3):
        for lane in range(LANES):
            local[9 + i, lane] = (
                c[POSITION + i] + c[3 * i] * motion[0, lane] + c[3 * i + 1] * motion[1, lane] + c[3 * i + 2] * motion[2, lane]
            )


@jit
def _compose(parent, local, out):
    """out = parent @ local for a block of poses; one component a loop, for LLVM to see that no two arrays overlap."""
    for i in range(3):
        r0, r1, r2 = parent[3 * i], parent[3 * i + 1], parent[3 * i + 2]
        for j in range(3):
            l0, l1, l2, target = local[j], local[3 + j], local[6 + j], out[3 * i + j]
            for lane in range(LANES):
                target[lane] = r0[lane] * l0[lane] + r1[lane] * l1[lane] + r2[lane] * l2[lane]
        p, l0, l1, l2, target = parent[9 + i], local[9], local[10], local[11], out[9 + i]
        for lane in range(LANES):
            target[lane] = r0[lane] * l0[lane] + r1[lane] * l1[lane] + r2[lane] * l2[lane] + p[lane]


@jit
def _forward_block(q, begin, constants, layout, pose, motion, local):
    """Fill pose[node, component, lane] for the configurations begin .. begin + LANES."""
    for node in range(layout.shape[0]):
        kind, column, parent = layout[node, KIND], layout[node, Q_COLUMN], layout[node, PARENT]
        c = constants[node]
        target = pose[node] if parent < 0 else local
        if kind == FIXED:
            _local_fixed(c, target)
        elif kind == SCALAR:
            _load_scalar(q, begin, column, c[MULTIPLIER], c[OFFSET], c[TURN], motion)
            _local_scalar(c, motion, target)
        else:
            _local_quaternion(c, q, begin, column, 1 if kind == FREE else 0, motion, target)
        if parent >= 0:
            _compose(pose[parent], local, pose[node])


@kernel
def forward_slice(q, constants, layout, frame_nodes, out, begin, end):
    """Write `T_root_frame` into out (n_frames, n, 16) for the configurations begin .. end."""
    pose = np.empty((layout.shape[0], 12, LANES), q.dtype)
    motion, local = np.empty((3, LANES), q.dtype), np.empty((12, LANES), q.dtype)
    for start in range(begin, end, LANES):
        _forward_block(q, start, constants, layout, pose, motion, local)
        count = min(LANES, end - start)
        for frame in range(frame_nodes.shape[0]):
            source = pose[frame_nodes[frame]]
            target = out[frame]
            for lane in range(count):
                row = target[start + lane]
                for i in range(3):
                    row[4 * i] = source[3 * i, lane]
                    row[4 * i + 1] = source[3 * i + 1, lane]
                    row[4 * i + 2] = source[3 * i + 2, lane]
                    row[4 * i + 3] = source[9 + i, lane]
                row[12] = 0
                row[13] = 0
                row[14] = 0
                row[15] = 1


@jit
def _gather_wrench(source, grad, start, count, wrench):
    """Add the wrench about the root's origin that the gradient of one frame's pose exerts: f = dL/dp, t = p x f + sum r_k x g_k."""
    for lane in range(count):
        g = grad[start + lane]
        fx, fy, fz = g[3], g[7], g[11]
        tx, ty, tz = cross(source[9, lane], source[10, lane], source[11, lane], fx, fy, fz)
        for k in range(3):
            x, y, z = cross(source[k, lane], source[3 + k, lane], source[6 + k, lane], g[k], g[4 + k], g[8 + k])
            tx, ty, tz = tx + x, ty + y, tz + z
        wrench[0, lane] += fx
        wrench[1, lane] += fy
        wrench[2, lane] += fz
        wrench[3, lane] += tx
        wrench[4, lane] += ty
        wrench[5, lane] += tz


@jit
def _scalar_gradient(c, here, wrench, start, count, column, grad_q):
    """dL/dq of a scalar node: the wrench below it, projected on its motion."""
    ax, ay, az, m = c[AXIS], c[AXIS + 1], c[AXIS + 2], c[MULTIPLIER]
    turn, slide = m * c[TURN], m * c[SLIDE]
    for lane in range(count):
        x = here[0, lane] * ax + here[1, lane] * ay + here[2, lane] * az
        y = here[3, lane] * ax + here[4, lane] * ay + here[5, lane] * az
        z = here[6, lane] * ax + here[7, lane] * ay + here[8, lane] * az
        fx, fy, fz = wrench[0, lane], wrench[1, lane], wrench[2, lane]
        px, py, pz = cross(here[9, lane], here[10, lane], here[11, lane], fx, fy, fz)
        tx, ty, tz = wrench[3, lane] - px, wrench[4, lane] - py, wrench[5, lane] - pz
        grad_q[start + lane, column] += turn * (x * tx + y * ty + z * tz) + slide * (x * fx + y * fy + z * fz)


@jit
def _quaternion_gradient(q, here, wrench, start, count, column, grad_q):
    """dL/dq of a quaternion of any length: (2 / |q|^2) q (0, R^T t), with t the torque about the node's origin."""
    for lane in range(count):
        fx, fy, fz = wrench[0, lane], wrench[1, lane], wrench[2, lane]
        px, py, pz = cross(here[9, lane], here[10, lane], here[11, lane], fx, fy, fz)
        tx, ty, tz = wrench[3, lane] - px, wrench[4, lane] - py, wrench[5, lane] - pz
        x = here[0, lane] * tx + here[3, lane] * ty + here[6, lane] * tz
        y = here[1, lane] * tx + here[4, lane] * ty + here[7, lane] * tz
        z = here[2, lane] * tx + here[5, lane] * ty + here[8, lane] * tz
        row = start + lane
        qw, qx, qy, qz = q[row, column], q[row, column + 1], q[row, column + 2], q[row, column + 3]
        s = (qw * qw + qx * qx + qy * qy + qz * qz) / 2
        grad_q[row, column] += -(qx * x + qy * y + qz * z) / s
        grad_q[row, column + 1] += (qw * x + qy * z - qz * y) / s
        grad_q[row, column + 2] += (qw * y + qz * x - qx * z) / s
        grad_q[row, column + 3] += (qw * z + qx * y - qy * x) / s


@jit
def _free_gradient(c, parent, root, wrench, start, count, column, grad_q):
    """dL/dxyz of a free node: the force in the axes of its origin."""
    for lane in range(count):
        fx, fy, fz = wrench[0, lane], wrench[1, lane], wrench[2, lane]
        if not root:
            fx, fy, fz = (
                parent[0, lane] * fx + parent[3, lane] * fy + parent[6, lane] * fz,
                parent[1, lane] * fx + parent[4, lane] * fy + parent[7, lane] * fz,
                parent[2, lane] * fx + parent[5, lane] * fy + parent[8, lane] * fz,
            )
        for k in range(3):
            grad_q[start + lane, column + k] += c[k] * fx + c[3 + k] * fy + c[6 + k] * fz


@kernel
def backward_slice(q, constants, layout, frame_nodes, grad_out, grad_q, begin, end):
    """Add dL/dq to grad_q (n, nq), given dL/dT grad_out (n_frames, n, 16): one sweep from the leaves to the root.

    With f, t the wrench that all frames below a node exert about the root's origin, a node at p with axis a has
    dL/dq = turn a.(t - p x f) + slide a.f, and hands (f, t) unchanged to its parent.
    """
    n_nodes = layout.shape[0]
    pose, wrench = np.empty((n_nodes, 12, LANES), q.dtype), np.empty((n_nodes, 6, LANES), q.dtype)
    motion, local = np.empty((3, LANES), q.dtype), np.empty((12, LANES), q.dtype)
    for start in range(begin, end, LANES):
        _forward_block(q, start, constants, layout, pose, motion, local)
        count = min(LANES, end - start)
        wrench[:] = 0
        for frame in range(frame_nodes.shape[0]):
            node = frame_nodes[frame]
            _gather_wrench(pose[node], grad_out[frame], start, count, wrench[node])
        for node in range(n_nodes - 1, -1, -1):
            kind, column, parent = layout[node, KIND], layout[node, Q_COLUMN], layout[node, PARENT]
            c = constants[node]
            if kind == SCALAR:
                _scalar_gradient(c, pose[node], wrench[node], start, count, column, grad_q)
            elif kind == BALL:
                _quaternion_gradient(q, pose[node], wrench[node], start, count, column, grad_q)
            elif kind == FREE:
                _quaternion_gradient(q, pose[node], wrench[node], start, count, column + 3, grad_q)
                _free_gradient(c, pose[max(parent, 0)], parent < 0, wrench[node], start, count, column, grad_q)
            if parent >= 0:
                for k in range(6):
                    for lane in range(LANES):
                        wrench[parent, k, lane] += wrench[node, k, lane]


@jit
def _turn_column(ax, ay, az, here, point, start, lane, column, scale, jacobian):
    """Add the column of a turn about the axis a (local) through `here`, seen at `point`."""
    x = scale * (here[0, lane] * ax + here[1, lane] * ay + here[2, lane] * az)
    y = scale * (here[3, lane] * ax + here[4, lane] * ay + here[5, lane] * az)
    z = scale * (here[6, lane] * ax + here[7, lane] * ay + here[8, lane] * az)
    rx, ry, rz = point[0, lane] - here[9, lane], point[1, lane] - here[10, lane], point[2, lane] - here[11, lane]
    vx, vy, vz = cross(x, y, z, rx, ry, rz)
    row = jacobian[start + lane]
    row[0, column] += vx
    row[1, column] += vy
    row[2, column] += vz
    row[3, column] += x
    row[4, column] += y
    row[5, column] += z


@jit
def _slide_column(ax, ay, az, here, start, lane, column, scale, jacobian):
    """Add the column of a slide along the axis a (local)."""
    row = jacobian[start + lane]
    for i in range(3):
        row[i, column] += scale * (here[3 * i, lane] * ax + here[3 * i + 1, lane] * ay + here[3 * i + 2, lane] * az)


@kernel
def jacobian_slice(q, constants, layout, node, locations, jacobian, begin, end):
    """Add the world-aligned Jacobian [v; w] at a point of a frame to jacobian (n, 6, nv).

    Args:
        node: the node of the frame; locations: (n or 1, 3) the point in that frame [m].
    """
    pose = np.empty((layout.shape[0], 12, LANES), q.dtype)
    motion, local = np.empty((3, LANES), q.dtype), np.empty((12, LANES), q.dtype)
    point = np.empty((3, LANES), q.dtype)
    one, zero = q.dtype.type(1), q.dtype.type(0)
    for start in range(begin, end, LANES):
        _forward_block(q, start, constants, layout, pose, motion, local)
        count = min(LANES, end - start)
        tip = pose[node]
        for lane in range(count):
            x, y, z = locations[min(start + lane, locations.shape[0] - 1)]
            for i in range(3):
                point[i, lane] = tip[9 + i, lane] + tip[3 * i, lane] * x + tip[3 * i + 1, lane] * y + tip[3 * i + 2, lane] * z
        i = node
        while i >= 0:
            kind, column, here, c = layout[i, KIND], layout[i, V_COLUMN], pose[i], constants[i]
            if kind == SCALAR:
                ax, ay, az = c[AXIS], c[AXIS + 1], c[AXIS + 2]
                turn, slide = c[MULTIPLIER] * c[TURN], c[MULTIPLIER] * c[SLIDE]
                for lane in range(count):
                    _turn_column(ax, ay, az, here, point, start, lane, column, turn, jacobian)
                    if slide != 0:
                        _slide_column(ax, ay, az, here, start, lane, column, slide, jacobian)
            elif kind != FIXED:
                for lane in range(count):
                    for k in range(3):
                        ax, ay, az = (one if k == 0 else zero), (one if k == 1 else zero), (one if k == 2 else zero)
                        if kind == FREE:
                            _slide_column(ax, ay, az, here, start, lane, column + k, one, jacobian)
                        _turn_column(ax, ay, az, here, point, start, lane, column + k + 3 * (kind == FREE), one, jacobian)
            i = layout[i, PARENT]
