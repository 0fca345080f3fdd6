"""Scalar functions that the fused kernels are made of: plain numbers and tuples in, the same out.

A rotation is a tuple of nine by rows; a pose is (rotation, x, y, z).
"""

from __future__ import annotations

import math

import numpy as np

from .compilation import jit, jit_exact

_TWO_OVER_PI = 2.0 / math.pi
# pi/2 in three parts, the first two of 33 bits, so that their products with k < 2**20 are exact (fdlibm, e_rem_pio2.c)
_PIO2_1, _PIO2_2, _PIO2_3 = 1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21
# a number so large that what is added to it is rounded to an integer: no call, the same on a CPU and on a GPU
_ROUND = 1.5 * 2.0**52
SINCOS_RANGE = 1.0e6


@jit_exact
def sincos(x):
    """Give (sin x, cos x) to 1 ulp for |x| < SINCOS_RANGE, without a branch, so that a loop over lanes is vectorised.

    Cody-Waite reduction, then the minimax polynomials of fdlibm (k_sin.c, k_cos.c) on [-pi/4, pi/4].
    """
    k = (x * _TWO_OVER_PI + _ROUND) - _ROUND
    r = ((x - k * _PIO2_1) - k * _PIO2_2) - k * _PIO2_3
    z = r * r
    p = -2.50507602534068634195e-08 + z * 1.58969099521155010221e-10
    p = 2.75573137070700676789e-06 + z * p
    p = -1.98412698298579493134e-04 + z * p
    p = 8.33333333332248946124e-03 + z * p
    p = -1.66666666666666324348e-01 + z * p
    s = r + r * z * p
    p = 2.08757232129817482790e-09 + z * -1.13596475577881948265e-11
    p = -2.75573143513906633035e-07 + z * p
    p = 2.48015872894767294178e-05 + z * p
    p = -1.38888888888741095749e-03 + z * p
    p = 4.16666666666666019037e-02 + z * p
    c = 1.0 - (0.5 * z - z * z * p)
    quadrant = k - 4.0 * (((0.25 * k - 0.375) + _ROUND) - _ROUND)
    swap = (quadrant == 1.0) | (quadrant == 3.0)
    sin_x, cos_x = (c if swap else s), (s if swap else c)
    return (-sin_x if quadrant >= 2.0 else sin_x), (-cos_x if (quadrant == 1.0) | (quadrant == 2.0) else cos_x)


# pi/2 in three parts, the first two of so few bits that their products with k < 2**16 are exact in float32, and
# polynomials on [-pi/4, pi/4] (S. Moshier, Cephes, sinf.c)
_SINGLE_TWO_OVER_PI, _SINGLE_ROUND = np.float32(2.0 / math.pi), np.float32(1.5 * 2.0**23)
_HALF, _QUARTER, _THREE_EIGHTHS = np.float32(0.5), np.float32(0.25), np.float32(0.375)
_SINGLE_1, _SINGLE_2, _SINGLE_3 = (
    np.float32(1.5703125),
    np.float32(4.837512969970703125e-4),
    np.float32(7.54978995489188e-8),
)
_S1, _S2, _S3 = np.float32(-1.6666654611e-1), np.float32(8.3321608736e-3), np.float32(-1.9515295891e-4)
_C1, _C2, _C3 = np.float32(4.166664568298827e-2), np.float32(-1.388731625493765e-3), np.float32(2.443315711809948e-5)
_ONE, _TWO, _THREE, _FOUR = np.float32(1), np.float32(2), np.float32(3), np.float32(4)
SINCOS_SINGLE_RANGE = 8192.0


@jit_exact
def sincos_single(x):
    """Give (sin x, cos x) of a float32 to 1e-7 for |x| < SINCOS_SINGLE_RANGE, in float32 throughout."""
    k = (x * _SINGLE_TWO_OVER_PI + _SINGLE_ROUND) - _SINGLE_ROUND
    r = ((x - k * _SINGLE_1) - k * _SINGLE_2) - k * _SINGLE_3
    z = r * r
    s = r + r * z * (_S1 + z * (_S2 + z * _S3))
    c = _ONE - (_HALF * z - z * z * (_C1 + z * (_C2 + z * _C3)))
    quadrant = k - _FOUR * (((_QUARTER * k - _THREE_EIGHTHS) + _SINGLE_ROUND) - _SINGLE_ROUND)
    swap = (quadrant == _ONE) | (quadrant == _THREE)
    sin_x, cos_x = (c if swap else s), (s if swap else c)
    return (-sin_x if quadrant >= _TWO else sin_x), (-cos_x if (quadrant == _ONE) | (quadrant == _TWO) else cos_x)


@jit
def axis_rotation(ox, oy, oz, cx, cy, cz):
    """Split the turning of one row of a rotation about an axis into parts that do not depend on the angle.

    For a row o of O and the unit axis a, the row of O Rot(a, t) is A + sin(t) B + cos(t) C with
    A = (o.a) a, B = o x a (as a row: o [a]_x), C = o - A (Rodrigues).
    """
    dot = ox * cx + oy * cy + oz * cz
    ax, ay, az = dot * cx, dot * cy, dot * cz
    return (ax, ay, az), (oy * cz - oz * cy, oz * cx - ox * cz, ox * cy - oy * cx), (ox - ax, oy - ay, oz - az)


@jit
def quaternion_rotation(w, x, y, z):
    """Give the rotation of a quaternion of any length but zero (which gives NaN)."""
    s = 2.0 / (w * w + x * x + y * y + z * z)
    return (
        1.0 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y),
        s * (x * y + w * z), 1.0 - s * (x * x + z * z), s * (y * z - w * x),
        s * (x * z - w * y), s * (y * z + w * x), 1.0 - s * (x * x + y * y),
    )  # fmt: skip


@jit
def cross(ax, ay, az, bx, by, bz):
    """Give a x b."""
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


@jit
def multiply(a, b):
    """Give A B of two 3x3 matrices by rows."""
    return (
        a[0] * b[0] + a[1] * b[3] + a[2] * b[6], a[0] * b[1] + a[1] * b[4] + a[2] * b[7], a[0] * b[2] + a[1] * b[5] + a[2] * b[8],
        a[3] * b[0] + a[4] * b[3] + a[5] * b[6], a[3] * b[1] + a[4] * b[4] + a[5] * b[7], a[3] * b[2] + a[4] * b[5] + a[5] * b[8],
        a[6] * b[0] + a[7] * b[3] + a[8] * b[6], a[6] * b[1] + a[7] * b[4] + a[8] * b[7], a[6] * b[2] + a[7] * b[5] + a[8] * b[8],
    )  # fmt: skip


@jit
def transpose(a):
    """Give A^T."""
    return a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]


@jit
def apply(a, v):
    """Give A v."""
    return (
        a[0] * v[0] + a[1] * v[1] + a[2] * v[2],
        a[3] * v[0] + a[4] * v[1] + a[5] * v[2],
        a[6] * v[0] + a[7] * v[1] + a[8] * v[2],
    )


@jit
def outer(a, b):
    """Give a b^T."""
    return (
        a[0] * b[0],
        a[0] * b[1],
        a[0] * b[2],
        a[1] * b[0],
        a[1] * b[1],
        a[1] * b[2],
        a[2] * b[0],
        a[2] * b[1],
        a[2] * b[2],
    )


@jit
def add9(a, b):
    """Give A + B of two 3x3 matrices."""
    return (
        a[0] + b[0],
        a[1] + b[1],
        a[2] + b[2],
        a[3] + b[3],
        a[4] + b[4],
        a[5] + b[5],
        a[6] + b[6],
        a[7] + b[7],
        a[8] + b[8],
    )


@jit
def dot(a, b):
    """Give a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@jit
def skew_part(m):
    """Give u with <M, [w]> = u . w for every w: the pull of a gradient through the cross product matrix."""
    return m[7] - m[5], m[2] - m[6], m[3] - m[1]


@jit
def sincos_far(x):
    """Give (sin x, cos x) for any x, with a branch."""
    if abs(x) > SINCOS_RANGE:
        return math.sin(x), math.cos(x)
    return sincos(x)
