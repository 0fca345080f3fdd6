"""Fused CPU kernel of the reverse sweep: gradients of all joints from gradients of poses."""

from __future__ import annotations

import numpy as np

from ..tree import AXIS, BALL, FREE, KIND, MULTIPLIER, PARENT, Q_COLUMN, SCALAR, SLIDE, TURN
from .compilation import jit, kernel, kernel_part
from .forward import LANES, forward_block
from .pose_rows import read_poses
from .scalar import cross


@jit
def add_wrench(source, pull, wrench):
    """Add the wrench about the root's origin that the gradient of one frame's pose exerts: f = dL/dp, t = p x f + sum r_k x g_k."""
    for lane in range(wrench.shape[1]):
        fx, fy, fz = pull[9, lane], pull[10, lane], pull[11, lane]
        tx, ty, tz = cross(source[9, lane], source[10, lane], source[11, lane], fx, fy, fz)
        for k in range(3):
            x, y, z = cross(
                source[k, lane],
                source[3 + k, lane],
                source[6 + k, lane],
                pull[k, lane],
                pull[3 + k, lane],
                pull[6 + k, lane],
            )
            tx, ty, tz = tx + x, ty + y, tz + z
        wrench[0, lane] += fx
        wrench[1, lane] += fy
        wrench[2, lane] += fz
        wrench[3, lane] += tx
        wrench[4, lane] += ty
        wrench[5, lane] += tz


@kernel_part
def _scalar_gradient(c, here, wrench, slope):
    """Fill slope with dL/dq of a scalar node: the wrench below it, projected on its motion."""
    ax, ay, az, m = c[AXIS], c[AXIS + 1], c[AXIS + 2], c[MULTIPLIER]
    turn, slide = m * c[TURN], m * c[SLIDE]
    for lane in range(slope.shape[0]):
        x = here[0, lane] * ax + here[1, lane] * ay + here[2, lane] * az
        y = here[3, lane] * ax + here[4, lane] * ay + here[5, lane] * az
        z = here[6, lane] * ax + here[7, lane] * ay + here[8, lane] * az
        fx, fy, fz = wrench[0, lane], wrench[1, lane], wrench[2, lane]
        px, py, pz = cross(here[9, lane], here[10, lane], here[11, lane], fx, fy, fz)
        tx, ty, tz = wrench[3, lane] - px, wrench[4, lane] - py, wrench[5, lane] - pz
        slope[lane] = turn * (x * tx + y * ty + z * tz) + slide * (x * fx + y * fy + z * fz)


@jit
def _quaternion_gradient(rare, q, here, wrench, start, count, column, grad_q):
    """dL/dq of a quaternion of any length: (2 / |q|^2) q (0, R^T t), with t the torque about the node's origin."""
    if rare is None:
        return
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
def _free_gradient(rare, c, parent, root, wrench, start, count, column, grad_q):
    """dL/dxyz of a free node: the force in the axes of its origin."""
    if rare is None:
        return
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


@kernel_part
def sweep_back(q, start, count, constants, layout, rare, grad_q, pose, wrench, slope):
    """Add dL/dq to grad_q for a block of configurations: one sweep from the leaves to the root.

    With f, t the wrench that all frames below a node exert about the root's origin, a node at p with axis a has
    dL/dq = turn a.(t - p x f) + slide a.f, and hands (f, t) unchanged to its parent.
    """
    for node in range(layout.shape[0] - 1, -1, -1):
        kind, column, parent = layout[node, KIND], layout[node, Q_COLUMN], layout[node, PARENT]
        c = constants[0, node]
        if kind == SCALAR:
            _scalar_gradient(c, pose[node], wrench[node], slope)
            for lane in range(count):
                grad_q[start + lane, column] += slope[lane]
        elif kind == BALL:
            _quaternion_gradient(rare, q, pose[node], wrench[node], start, count, column, grad_q)
        elif kind == FREE:
            _quaternion_gradient(rare, q, pose[node], wrench[node], start, count, column + 3, grad_q)
            _free_gradient(rare, c, pose[max(parent, 0)], parent < 0, wrench[node], start, count, column, grad_q)
        if parent >= 0:
            for k in range(6):
                for lane in range(wrench.shape[2]):
                    wrench[parent, k, lane] += wrench[node, k, lane]


@kernel
def backward_slice(q, constants, layout, rare, frame_nodes, grad_out, grad_q, begin, end):
    """Add dL/dq to grad_q (n, nq), given dL/dT grad_out (n_frames, n, 16); all rows share the constants (1, n_nodes, 19)."""
    n_nodes = layout.shape[0]
    pose, wrench = np.empty((n_nodes, 12, LANES), q.dtype), np.empty((n_nodes, 6, LANES), q.dtype)
    motion, local = np.empty((3, LANES), q.dtype), np.empty((12, LANES), q.dtype)
    for start in range(begin, end, LANES):
        count = min(LANES, end - start)
        forward_block(q, start, constants, layout, rare, pose, motion, local)
        wrench[:] = 0
        for frame in range(frame_nodes.shape[0]):
            read_poses(grad_out[frame], start, count, local)
            add_wrench(pose[frame_nodes[frame]], local, wrench[frame_nodes[frame]])
        sweep_back(q, start, count, constants, layout, rare, grad_q, pose, wrench, motion[0])
