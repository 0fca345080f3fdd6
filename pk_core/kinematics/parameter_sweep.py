"""Fused CPU kernels of the reverse sweep that reaches the model parameters too, from poses and from Jacobians.

A node has T = T_parent O M(q): with G = dL/dT of all that hangs below it, dL/dO = R_parent^T G M^T, dL/dM = O^T R_parent^T G,
and its parent gets G (O M)^T. Gradients are those of all twelve entries of a pose, as automatic differentiation gives them.
"""

from __future__ import annotations

import numpy as np

from ..tree import (
    AXIS,
    FIXED,
    FREE,
    KIND,
    MULTIPLIER,
    OFFSET,
    PARENT,
    POSITION,
    Q_COLUMN,
    SCALAR,
    SLIDE,
    TURN,
    V_COLUMN,
)
from .compilation import jit, kernel, kernel_part
from .forward import LANES, forward_block, local_of, motion_of, origin_of
from .jacobians import load_points
from .scalar import add9, apply, cross, dot, multiply, outer, sincos_far, skew_part, transpose


@jit
def _pose_of(block, lane):
    """Read a pose, or the gradient of one, from component-major scratch: (3x3 matrix, vector), float64."""
    return (
        np.float64(block[0, lane]), np.float64(block[1, lane]), np.float64(block[2, lane]),
        np.float64(block[3, lane]), np.float64(block[4, lane]), np.float64(block[5, lane]),
        np.float64(block[6, lane]), np.float64(block[7, lane]), np.float64(block[8, lane]),
    ), (np.float64(block[9, lane]), np.float64(block[10, lane]), np.float64(block[11, lane]))  # fmt: skip


@jit
def _add_pose(block, lane, matrix, vector):
    for k in range(9):
        block[k, lane] += matrix[k]
    for k in range(3):
        block[9 + k, lane] += vector[k]


@jit
def _scalar_gradient(c, q, row, column, G, g, grad_q, grad_c):
    """Add the gradients of a scalar motion, given those of its matrix and translation (Rodrigues' formula)."""
    a = (np.float64(c[AXIS]), np.float64(c[AXIS + 1]), np.float64(c[AXIS + 2]))
    m, turn, slide = np.float64(c[MULTIPLIER]), np.float64(c[TURN]), np.float64(c[SLIDE])
    value = m * q[row, column] + c[OFFSET]
    sin, cos = sincos_far(turn * value)
    K = (0.0, -a[2], a[1], a[2], 0.0, -a[0], -a[1], a[0], 0.0)
    KK = multiply(K, K)
    d_angle = 0.0
    for k in range(9):
        d_angle += G[k] * (cos * K[k] + sin * KK[k])
    along = dot(g, a)
    d_value = turn * d_angle + slide * along
    grad_q[row, column] += m * d_value
    grad_c[MULTIPLIER] += q[row, column] * d_value
    grad_c[OFFSET] += d_value
    grad_c[TURN] += value * d_angle
    grad_c[SLIDE] += value * along
    twice = add9(multiply(G, transpose(K)), multiply(transpose(K), G))
    u, w = skew_part(G), skew_part(twice)
    for k in range(3):
        grad_c[AXIS + k] += sin * u[k] + (1.0 - cos) * w[k] + slide * value * g[k]


@jit
def _quaternion_gradient(q, row, column, R, G, grad_q):
    """Add the gradient of a quaternion of any length: (2 / |q|^2) q (0, u), with u that in body axes."""
    u = skew_part(multiply(transpose(R), G))
    w, x, y, z = (
        np.float64(q[row, column]),
        np.float64(q[row, column + 1]),
        np.float64(q[row, column + 2]),
        np.float64(q[row, column + 3]),
    )
    s = (w * w + x * x + y * y + z * z) / 2.0
    grad_q[row, column] += -(x * u[0] + y * u[1] + z * u[2]) / s
    grad_q[row, column + 1] += (w * u[0] + y * u[2] - z * u[1]) / s
    grad_q[row, column + 2] += (w * u[1] + z * u[0] - x * u[2]) / s
    grad_q[row, column + 3] += (w * u[2] + x * u[1] - y * u[0]) / s


@jit
def _node_gradient(q, c, kind, column, parent, pose, grad, node, lane, row, grad_q, grad_c):
    R_origin, p_origin = origin_of(c)
    R_motion, p_motion = motion_of(kind, c, q, row, column)
    G, g = _pose_of(grad[node], lane)
    if parent >= 0:
        R_local, p_local = local_of(R_origin, p_origin, R_motion, p_motion)
        _add_pose(grad[parent], lane, add9(multiply(G, transpose(R_local)), outer(g, p_local)), g)
        back = transpose(_pose_of(pose[parent], lane)[0])
        G, g = multiply(back, G), apply(back, g)
    to_origin = add9(multiply(G, transpose(R_motion)), outer(g, p_motion))
    for k in range(9):
        grad_c[k] += to_origin[k]
    for k in range(3):
        grad_c[POSITION + k] += g[k]
    back = transpose(R_origin)
    G, g = multiply(back, G), apply(back, g)
    if kind == SCALAR:
        _scalar_gradient(c, q, row, column, G, g, grad_q, grad_c)
    elif kind == FREE:
        for k in range(3):
            grad_q[row, column + k] += g[k]
        _quaternion_gradient(q, row, column + 3, R_motion, G, grad_q)
    elif kind != FIXED:
        _quaternion_gradient(q, row, column, R_motion, G, grad_q)


@jit
def _sweep(q, constants, layout, pose, grad, start, count, slot, grad_q, grad_constants):
    """Take the gradients of the poses of all nodes from the leaves to the root, a block of rows.

    A row adds to row `slot` of grad_constants and, where rows have arms of their own, as many further as it is itself.
    """
    for node in range(layout.shape[0] - 1, -1, -1):
        kind, column, parent = layout[node, KIND], layout[node, Q_COLUMN], layout[node, PARENT]
        for lane in range(count):
            row = start + lane
            arm = min(row, constants.shape[0] - 1)
            c, grad_c = constants[arm, node], grad_constants[arm + slot, node]
            _node_gradient(q, c, kind, column, parent, pose, grad, node, lane, row, grad_q, grad_c)


@kernel_part
def parameter_block(
    q, start, count, slot, constants, layout, frame_nodes, grad_out, grad_q, grad_constants, pose, grad
):  # fmt: skip
    """Add dL/dq and dL/dconstants of a block of configurations and their poses."""
    grad[:] = 0
    for frame in range(frame_nodes.shape[0]):
        own = grad[frame_nodes[frame]]
        for lane in range(count):
            g = grad_out[frame, start + lane]
            for i in range(3):
                for j in range(3):
                    own[3 * i + j, lane] += g[4 * i + j]
                own[9 + i, lane] += g[4 * i + 3]
    _sweep(q, constants, layout, pose, grad, start, count, slot, grad_q, grad_constants)


@kernel
def parameter_slice(q, constants, layout, rare, frame_nodes, grad_out, grad_q, grad_constants, begin, end):
    """Add dL/dq to grad_q (n, nq) and dL/dconstants to grad_constants, given dL/dT grad_out (n_frames, n, 16)."""
    n_nodes = layout.shape[0]
    pose, grad = np.empty((n_nodes, 12, LANES), q.dtype), np.empty((n_nodes, 12, LANES), q.dtype)
    motion, local = np.empty((3, LANES), q.dtype), np.empty((12, LANES), q.dtype)
    for start in range(begin, end, LANES):
        count, slot = min(LANES, end - start), (start // LANES if constants.shape[0] == 1 else 0)
        forward_block(q, start, constants, layout, rare, pose, motion, local)
        parameter_block(
            q, start, count, slot, constants, layout, frame_nodes, grad_out, grad_q, grad_constants, pose, grad
        )  # fmt: skip


@jit
def _column_gradient(R, a, turn, slide, r, gv, gw, grad, lane, pull):
    """Pull one Jacobian column [turn a x r + slide a; turn a], a in the axes of its node, back to the node's pose.

    Returns the gradient of the axis in root axes; adds that of r = point - node to `pull`.
    """
    world = apply(R, a)
    x, y, z = cross(r[0], r[1], r[2], gv[0], gv[1], gv[2])
    to_axis = (
        turn * (x + gw[0]) + slide * gv[0],
        turn * (y + gw[1]) + slide * gv[1],
        turn * (z + gw[2]) + slide * gv[2],
    )
    x, y, z = cross(gv[0], gv[1], gv[2], world[0], world[1], world[2])
    to_r = (turn * x, turn * y, turn * z)
    _add_pose(grad, lane, outer(to_axis, a), (-to_r[0], -to_r[1], -to_r[2]))
    for k in range(3):
        pull[k] += to_r[k]
    return to_axis


@jit
def _column_of(grad_jacobian, row, column):
    g = grad_jacobian[row]
    return (np.float64(g[0, column]), np.float64(g[1, column]), np.float64(g[2, column])), (
        np.float64(g[3, column]), np.float64(g[4, column]), np.float64(g[5, column])
    )  # fmt: skip


@jit
def _node_columns(c, kind, column, pose, x, grad_jacobian, row, lane, grad, grad_c, pull):
    """Pull the columns of one node back to its pose and its constants."""
    R, p = _pose_of(pose, lane)
    r = (x[0] - p[0], x[1] - p[1], x[2] - p[2])
    if kind == SCALAR:
        m, turn, slide = np.float64(c[MULTIPLIER]), np.float64(c[TURN]), np.float64(c[SLIDE])
        a = (np.float64(c[AXIS]), np.float64(c[AXIS + 1]), np.float64(c[AXIS + 2]))
        gv, gw = _column_of(grad_jacobian, row, column)
        to_axis = apply(transpose(R), _column_gradient(R, a, m * turn, m * slide, r, gv, gw, grad, lane, pull))
        for k in range(3):
            grad_c[AXIS + k] += to_axis[k]
        world = apply(R, a)
        along = dot(gv, world)
        about = dot(gw, world) + dot(gv, cross(world[0], world[1], world[2], r[0], r[1], r[2]))
        grad_c[MULTIPLIER] += turn * about + slide * along
        grad_c[TURN] += m * about
        grad_c[SLIDE] += m * along
    elif kind != FIXED:
        for k in range(3):
            a = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
            if kind == FREE:
                gv, gw = _column_of(grad_jacobian, row, column + k)
                _column_gradient(R, a, 0.0, 1.0, r, gv, gw, grad, lane, pull)
            gv, gw = _column_of(grad_jacobian, row, column + k + 3 * (kind == FREE))
            _column_gradient(R, a, 1.0, 0.0, r, gv, gw, grad, lane, pull)


@kernel_part
def jacobian_sweep_block(
    q, start, count, slot, constants, layout, tip, locations, grad_jacobian, grad_q, grad_locations, grad_constants,
    pose, grad, point, pull,
):  # fmt: skip
    """Add dL/dq, dL/dx and dL/dconstants of a block of configurations and their poses."""
    load_points(pose[tip], locations, start, point)
    grad[:] = 0
    for lane in range(count):
        row = start + lane
        x = (np.float64(point[0, lane]), np.float64(point[1, lane]), np.float64(point[2, lane]))
        pull[:] = 0.0
        node = tip
        while node >= 0:
            kind, column = layout[node, KIND], layout[node, V_COLUMN]
            arm = min(row, constants.shape[0] - 1)
            c, grad_c = constants[arm, node], grad_constants[arm + slot, node]
            _node_columns(c, kind, column, pose[node], x, grad_jacobian, row, lane, grad[node], grad_c, pull)
            node = layout[node, PARENT]
        at = locations[min(row, locations.shape[0] - 1)]
        force = (pull[0], pull[1], pull[2])
        R, _ = _pose_of(pose[tip], lane)
        _add_pose(grad[tip], lane, outer(force, (np.float64(at[0]), np.float64(at[1]), np.float64(at[2]))), force)
        to_location = apply(transpose(R), force)
        for k in range(3):
            grad_locations[row, k] = to_location[k]
    _sweep(q, constants, layout, pose, grad, start, count, slot, grad_q, grad_constants)


@kernel
def jacobian_sweep_slice(
    q, constants, layout, rare, tip, locations, grad_jacobian, grad_q, grad_locations, grad_constants, begin, end
):
    """Add dL/dq to grad_q, dL/dx to grad_locations (n, 3) and dL/dconstants, given dL/dJ grad_jacobian (n, 6, nv)."""
    n_nodes = layout.shape[0]
    pose, grad = np.empty((n_nodes, 12, LANES), q.dtype), np.empty((n_nodes, 12, LANES), q.dtype)
    motion, local = np.empty((3, LANES), q.dtype), np.empty((12, LANES), q.dtype)
    point, pull = np.empty((3, LANES), q.dtype), np.empty(3)
    for start in range(begin, end, LANES):
        count, slot = min(LANES, end - start), (start // LANES if constants.shape[0] == 1 else 0)
        forward_block(q, start, constants, layout, rare, pose, motion, local)
        jacobian_sweep_block(
            q, start, count, slot, constants, layout, tip, locations, grad_jacobian, grad_q, grad_locations, grad_constants,
            pose, grad, point, pull,
        )  # fmt: skip
