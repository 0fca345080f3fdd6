"""Fused CPU kernel of the Jacobian, and of its product with velocities, over slices of a batch."""

from __future__ import annotations

import numpy as np

from ..tree import AXIS, FIXED, FREE, KIND, MULTIPLIER, PARENT, SCALAR, SLIDE, TURN, V_COLUMN
from .compilation import jit, kernel, kernel_part
from .forward import LANES, forward_block
from .scalar import cross


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


@jit
def _weight(rates, row, column, one):
    """Give a column's factor and where it is added: columns stand apart in a Jacobian, and meet in its product with rates."""
    if rates is None:
        return one, column
    return rates[row, column], 0


@jit
def load_points(tip, locations, start, point):
    """Fill point[component, lane] with the points of a frame, root axes."""
    for lane in range(point.shape[1]):
        x, y, z = locations[min(start + lane, locations.shape[0] - 1)]
        for i in range(3):
            point[i, lane] = (
                tip[9 + i, lane] + tip[3 * i, lane] * x + tip[3 * i + 1, lane] * y + tip[3 * i + 2, lane] * z
            )


@jit
def _rare_columns(rare, kind, here, point, rates, start, count, column, first, jacobian):
    """Add the columns of a ball or a free node, about and along its own axes."""
    if rare is None:
        return
    one, zero = jacobian.dtype.type(1), jacobian.dtype.type(0)
    for lane in range(count):
        for k in range(3):
            ax, ay, az = (one if k == 0 else zero), (one if k == 1 else zero), (one if k == 2 else zero)
            if kind == FREE:
                weight, own = _weight(rates, start + lane, column + k, one)
                _slide_column(ax, ay, az, here, first, lane, own, weight, jacobian)
            weight, own = _weight(rates, start + lane, column + k + (3 if kind == FREE else 0), one)
            _turn_column(ax, ay, az, here, point, first, lane, own, weight, jacobian)


@kernel_part
def jacobian_block(start, count, constants, layout, rare, node, locations, rates, jacobian, first, pose, point):
    """Add the Jacobians of a block of poses, or their products with rates, to rows of `jacobian` from `first` on."""
    load_points(pose[node], locations, start, point)
    one = jacobian.dtype.type(1)
    while node >= 0:
        kind, column, here = layout[node, KIND], layout[node, V_COLUMN], pose[node]
        if kind == SCALAR:
            for lane in range(count):
                c = constants[min(start + lane, constants.shape[0] - 1), node]
                ax, ay, az = c[AXIS], c[AXIS + 1], c[AXIS + 2]
                weight, own = _weight(rates, start + lane, column, one)
                turn, slide = weight * c[MULTIPLIER] * c[TURN], weight * c[MULTIPLIER] * c[SLIDE]
                _turn_column(ax, ay, az, here, point, first, lane, own, turn, jacobian)
                if slide != 0:
                    _slide_column(ax, ay, az, here, first, lane, own, slide, jacobian)
        elif kind != FIXED:
            _rare_columns(rare, kind, here, point, rates, start, count, column, first, jacobian)
        node = layout[node, PARENT]


@kernel
def jacobian_slice(q, constants, layout, rare, node, locations, rates, jacobian, begin, end):
    """Add the world-aligned Jacobian [v; w] at a point of a frame to jacobian (n, 6, nv), or J rates to it (n, 6, 1).

    Args:
        node: the node of the frame; locations: (n or 1, 3) the point in that frame [m].
        rates: None, or velocities (n, nv); Numba compiles each case alone.
    """
    pose, point = np.empty((layout.shape[0], 12, LANES), q.dtype), np.empty((3, LANES), q.dtype)
    motion, local = np.empty((3, LANES), q.dtype), np.empty((12, LANES), q.dtype)
    for start in range(begin, end, LANES):
        count = min(LANES, end - start)
        forward_block(q, start, constants, layout, rare, pose, motion, local)
        jacobian_block(start, count, constants, layout, rare, node, locations, rates, jacobian, start, pose, point)
