"""Fused CPU kernel of forward kinematics over slices of a batch.

A block of configurations goes through the tree together, component by component (`pose[node, component, lane]`), so that
every inner loop runs at full vector width; the scratch arrays say how many lanes a block has. The tail of a batch is padded
to a whole block: a configuration gives the same bits wherever it stands in a batch. What works on blocks is inlined into
the kernel that makes the scratch, so that LLVM knows the distances between its rows.

Shapes: q (n, nq), layout (n_nodes, 4), constants (1, n_nodes, 19), or (n, n_nodes, 19) for rows that each have an arm of
their own. See `tree.py`. `rare` is None where no row has, and no node is a ball or free: most robots then do without the code for
these, which takes as long to compile as all the rest.
"""

from __future__ import annotations

import math

import numpy as np

from ..tree import AXIS, FIXED, FREE, KIND, MULTIPLIER, OFFSET, ORIGIN, PARENT, POSITION, Q_COLUMN, SCALAR, SLIDE, TURN
from .compilation import jit, kernel, kernel_part
from .pose_rows import write_poses
from .scalar import (
    SINCOS_RANGE,
    SINCOS_SINGLE_RANGE,
    apply,
    axis_rotation,
    multiply,
    quaternion_rotation,
    sincos,
    sincos_far,
    sincos_single,
)

LANES = 64


@kernel_part
def _load_scalar(q, begin, column, multiplier, offset, turn, motion):
    """Fill motion rows 0, 1, 2 with sin and cos of the angle turned and with the value, for a block of lanes."""
    last = q.shape[0] - 1
    sines, cosines, values = motion[0], motion[1], motion[2]
    for lane in range(motion.shape[1]):
        values[lane] = multiplier * q[min(begin + lane, last), column] + offset
    single, far = motion.itemsize == 4, 0
    limit = SINCOS_SINGLE_RANGE if single else SINCOS_RANGE
    for lane in range(motion.shape[1]):
        far += abs(turn * values[lane]) > limit
    if far:  # angles of thousands of turns: leave the vectorised path
        for lane in range(motion.shape[1]):
            sines[lane], cosines[lane] = math.sin(turn * values[lane]), math.cos(turn * values[lane])
    elif single:
        for lane in range(motion.shape[1]):
            sines[lane], cosines[lane] = sincos_single(np.float32(turn * values[lane]))
    else:
        for lane in range(motion.shape[1]):
            sines[lane], cosines[lane] = sincos(turn * values[lane])


@jit
def _local_fixed(c, local):
    for k in range(12):
        for lane in range(local.shape[1]):
            local[k, lane] = c[k]


@kernel_part
def _local_scalar(c, motion, local):
    """origin @ (rotation about the axis, slide along it), row by row."""
    ax, ay, az = c[AXIS], c[AXIS + 1], c[AXIS + 2]
    for i in range(3):
        ox, oy, oz = c[ORIGIN + 3 * i], c[ORIGIN + 3 * i + 1], c[ORIGIN + 3 * i + 2]
        a, b, d = axis_rotation(ox, oy, oz, ax, ay, az)
        a0, a1, a2, b0, b1, b2, d0, d1, d2 = a[0], a[1], a[2], b[0], b[1], b[2], d[0], d[1], d[2]
        p, along = c[POSITION + i], c[SLIDE] * (ox * ax + oy * ay + oz * az)
        for lane in range(local.shape[1]):
            sin, cos = motion[0, lane], motion[1, lane]
            local[3 * i, lane] = a0 + sin * b0 + cos * d0
            local[3 * i + 1, lane] = a1 + sin * b1 + cos * d1
            local[3 * i + 2, lane] = a2 + sin * b2 + cos * d2
            local[9 + i, lane] = p + along * motion[2, lane]


@kernel_part
def _compose(parent, local, out):
    """out = parent @ local for a block of poses; all that a lane needs of a row is read before anything is written."""
    for i in range(3):
        for lane in range(out.shape[1]):
            x, y, z = parent[3 * i, lane], parent[3 * i + 1, lane], parent[3 * i + 2, lane]
            r0 = x * local[0, lane] + y * local[3, lane] + z * local[6, lane]
            r1 = x * local[1, lane] + y * local[4, lane] + z * local[7, lane]
            r2 = x * local[2, lane] + y * local[5, lane] + z * local[8, lane]
            p = x * local[9, lane] + y * local[10, lane] + z * local[11, lane] + parent[9 + i, lane]
            out[3 * i, lane], out[3 * i + 1, lane], out[3 * i + 2, lane], out[9 + i, lane] = r0, r1, r2, p


@jit
def origin_of(c):
    """Give the origin of a node: (rotation, position), float64."""
    R = (
        np.float64(c[0]), np.float64(c[1]), np.float64(c[2]),
        np.float64(c[3]), np.float64(c[4]), np.float64(c[5]),
        np.float64(c[6]), np.float64(c[7]), np.float64(c[8]),
    )  # fmt: skip
    return R, (np.float64(c[POSITION]), np.float64(c[POSITION + 1]), np.float64(c[POSITION + 2]))


@jit
def motion_of(kind, c, q, row, column):
    """Give the motion of a node at one configuration: (rotation, translation), float64."""
    if kind == SCALAR:
        value = np.float64(c[MULTIPLIER]) * q[row, column] + c[OFFSET]
        x, y, z = np.float64(c[AXIS]), np.float64(c[AXIS + 1]), np.float64(c[AXIS + 2])
        sin, cos = sincos_far(c[TURN] * value)
        a, b, d, along = (1.0 - cos) * x, (1.0 - cos) * y, (1.0 - cos) * z, c[SLIDE] * value
        R = (
            cos + a * x, a * y - sin * z, a * z + sin * y,
            b * x + sin * z, cos + b * y, b * z - sin * x,
            d * x - sin * y, d * y + sin * x, cos + d * z,
        )  # fmt: skip
        return R, (along * x, along * y, along * z)
    if kind == FIXED:
        return (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0)
    x, y, z = 0.0, 0.0, 0.0
    if kind == FREE:
        x, y, z = np.float64(q[row, column]), np.float64(q[row, column + 1]), np.float64(q[row, column + 2])
        column += 3
    return quaternion_rotation(
        np.float64(q[row, column]),
        np.float64(q[row, column + 1]),
        np.float64(q[row, column + 2]),
        np.float64(q[row, column + 3]),
    ), (x, y, z)


@jit
def local_of(R_origin, p_origin, R, p):
    """Give origin @ motion."""
    x, y, z = apply(R_origin, p)
    return multiply(R_origin, R), (x + p_origin[0], y + p_origin[1], z + p_origin[2])


@jit
def _local_rare(rare, q, begin, constants, node, kind, column, local):
    """origin @ motion row by row: where each row has constants of its own, and of motions too rare for more code."""
    if rare is None:
        return
    last = q.shape[0] - 1
    for lane in range(local.shape[1]):
        row = min(begin + lane, last)
        c = constants[min(row, constants.shape[0] - 1), node]
        R_origin, p_origin = origin_of(c)
        R_motion, p_motion = motion_of(kind, c, q, row, column)
        R, p = local_of(R_origin, p_origin, R_motion, p_motion)
        for k in range(9):
            local[k, lane] = R[k]
        for k in range(3):
            local[9 + k, lane] = p[k]


@kernel_part
def forward_block(q, begin, constants, layout, rare, pose, motion, local):
    """Fill pose[node, component, lane] for the configurations that begin at `begin`."""
    shared = constants.shape[0] == 1
    for node in range(layout.shape[0]):
        kind, column, parent = layout[node, KIND], layout[node, Q_COLUMN], layout[node, PARENT]
        target = local if parent >= 0 else pose[node]
        if shared and kind == SCALAR:
            c = constants[0, node]
            _load_scalar(q, begin, column, c[MULTIPLIER], c[OFFSET], c[TURN], motion)
            _local_scalar(c, motion, target)
        elif shared and kind == FIXED:
            _local_fixed(constants[0, node], target)
        else:
            _local_rare(rare, q, begin, constants, node, kind, column, target)
        if parent >= 0:
            _compose(pose[parent], local, pose[node])


@kernel
def forward_slice(q, constants, layout, rare, frame_nodes, out, begin, end):
    """Write `T_root_frame` into out (n_frames, n, 16) for the configurations begin .. end."""
    pose = np.empty((layout.shape[0], 12, LANES), q.dtype)
    motion, local = np.empty((3, LANES), q.dtype), np.empty((12, LANES), q.dtype)
    for start in range(begin, end, LANES):
        forward_block(q, start, constants, layout, rare, pose, motion, local)
        for frame in range(frame_nodes.shape[0]):
            write_poses(pose[frame_nodes[frame]], out[frame], start, min(LANES, end - start))
