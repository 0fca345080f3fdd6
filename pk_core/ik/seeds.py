"""Where the attempts of one target start: the caller's seed, mid-range, then a low-discrepancy sequence.

The sequence is shifted for each row by a hash of the row's own numbers, never by its place in the batch.
"""

from __future__ import annotations

import math

import numpy as np

from ..kinematics.compilation import jit_exact


def kronecker_steps(dimensions: int) -> np.ndarray:
    """Give the steps of the additive recurrence x_k = frac(x_0 + k a), a_j = g^-(j+1) with g^(d+1) = g + 1.

    (M. Roberts, "The Unreasonable Effectiveness of Quasirandom Sequences", 2018.)
    """
    g = 2.0
    for _ in range(60):
        g = (1.0 + g) ** (1.0 / (dimensions + 1))
    return np.array([g ** -(j + 1) % 1.0 for j in range(dimensions)])


def sampling_range(low: np.ndarray, high: np.ndarray, turns: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Give finite bounds to draw starts from: the limits, but no more than a turn, and the reach for unlimited slides."""
    span = np.where(turns, 2 * math.pi, 2 * (reach if math.isfinite(reach) else 1.0))
    middle = np.where(
        np.isinf(low), np.where(np.isinf(high), 0.0, high - span / 2), np.where(np.isinf(high), low + span / 2, 0.0)
    )
    finite = np.isfinite(low) & np.isfinite(high)
    middle = np.where(finite, 0.5 * (np.where(finite, low, 0.0) + np.where(finite, high, 0.0)), middle)
    half = np.where(finite, 0.5 * (np.where(finite, high, 0.0) - np.where(finite, low, 0.0)), np.inf)
    half = np.minimum(half, span / 2)
    return middle - half, middle + half


@jit_exact
def mix(state, value):
    """Mix 64 bits into a hash state (the finaliser of splitmix64)."""
    state = (state ^ value) + np.uint64(0x9E3779B97F4A7C15)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@jit_exact
def unit(state):
    """Give a number in [0, 1) from 64 bits."""
    return float(state >> np.uint64(11)) * (1.0 / 9007199254740992.0)
