"""Functions of rotations that are smooth where their textbook formulas divide zero by zero.

sin(t)/t and its kin are analytic in s = t^2. Below s = 1 their power series is evaluated, above it the closed form;
each branch sees only arguments it can bear (the unused one is fed a harmless constant), so values and derivatives of
every order are finite and right, without a branch on values: they work under vmap, forward and reverse mode and
torch.compile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import factorial
from typing import Final

import torch
from torch import Tensor

# What the series leave out is below rounding, second derivatives included: all terms in float64, the first 8 in less.
_TERMS: Final = 11
_FEW: Final = 8

_COS: Final = [(-1) ** n / factorial(2 * n) for n in range(_TERMS)]
_SINE_RATIO: Final = [(-1) ** n / factorial(2 * n + 1) for n in range(_TERMS)]
_VERSINE_RATIO: Final = [(-1) ** n / factorial(2 * n + 2) for n in range(_TERMS)]
_SINE_DEFECT: Final = [(-1) ** n / factorial(2 * n + 3) for n in range(_TERMS)]
_LOG_DEFECT: Final = [(-1) ** n * (2 * n + 2) / factorial(2 * n + 4) for n in range(18)]
_ARCTAN_RATIO: Final = [(-1) ** n / (2 * n + 1) for n in range(15)]


def cosine(s: Tensor) -> Tensor:
    """Compute cos(t) from s = t^2."""
    return _analytic(s, _COS, torch.cos)


def sine_ratio(s: Tensor) -> Tensor:
    """Compute sin(t) / t from s = t^2."""
    return _analytic(s, _SINE_RATIO, lambda t: torch.sin(t) / t)


def versine_ratio(s: Tensor) -> Tensor:
    """Compute (1 - cos(t)) / t^2 from s = t^2."""
    return _analytic(s, _VERSINE_RATIO, lambda t: 2.0 * (torch.sin(0.5 * t) / t) ** 2)


def sine_defect(s: Tensor) -> Tensor:
    """Compute (t - sin(t)) / t^3 from s = t^2."""
    return _analytic(s, _SINE_DEFECT, lambda t: (t - torch.sin(t)) / t**3)


def log_coefficient(s: Tensor) -> Tensor:
    """Compute (1 - (t/2) cot(t/2)) / t^2 from s = t^2 for t <= pi: the last coefficient of the SE(3) logarithm.

    The numerator over that of `versine_ratio`, (2 (1 - cos(t)) / t^2 - sin(t) / t) / t^2, is summed as a series
    throughout: the closed form would lose half the digits of a float32 Hessian.
    """
    return 0.5 * _polynomial(s, _LOG_DEFECT) / versine_ratio(s)


def rotation_vector_ratio(w: Tensor, s: Tensor) -> Tensor:
    """Compute angle / |v| of a quaternion (w, v) from its real part and s = |v|^2: 2 atan2(|v|, w) / |v|.

    At v = 0 with negative w the axis is undefined; there the quaternion is taken for its negative, the same rotation.
    """
    series = (s < w * w / 16) & ((w > 0) | (s == 0))
    real = torch.where(series, w, 1.0)
    squared_tangent = torch.where(series, s, 0.0) / (real * real)
    small = 2.0 / real * _polynomial(squared_tangent, _enough(_ARCTAN_RATIO, s.dtype))
    length = torch.where(series | (s == 0), 1.0, s).sqrt()
    return torch.where(series, small, 2.0 * torch.atan2(length, torch.where(series, 1.0, w)) / length)


def components(v: Tensor) -> tuple[Tensor, ...]:
    """Take vectors `(..., n)` apart into n tensors `(..., 1)`.

    The dimension is kept because torch's forward mode makes float64 of the tangent of a float32 tensor without
    dimensions where that meets a Python number.
    """
    return v.split(1, -1)


def norm(v: Tensor, keepdim: bool = False) -> Tensor:
    """Compute the length of vectors `(..., n)`; its gradient is zero where the length is."""
    s = (v * v).sum(-1, keepdim=keepdim)
    zero = s == 0
    return torch.where(zero, 0.0, torch.where(zero, 1.0, s).sqrt())


def normalize(v: Tensor) -> Tensor:
    """Scale vectors `(..., n)` to length one; zero vectors stay zero, with finite gradients."""
    s = (v * v).sum(-1, keepdim=True)
    return v / torch.where(s == 0, 1.0, s).sqrt()


def arctan2(y: Tensor, x: Tensor, undefined: Tensor) -> Tensor:
    """Compute atan2(y, x), and zero with zero gradients where `undefined` is true."""
    angle = torch.atan2(torch.where(undefined, 0.0, y), torch.where(undefined, 1.0, x))
    return torch.where(undefined, 0.0, angle)


def _analytic(s: Tensor, coefficients: Sequence[float], closed_form: Callable[[Tensor], Tensor]) -> Tensor:
    """Evaluate the series in s below s = 1 and the closed form in t = sqrt(s) above."""
    small = s < 1.0
    series = _polynomial(torch.where(small, s, 0.0), _enough(coefficients, s.dtype))
    return torch.where(small, series, closed_form(torch.where(small, 1.0, s).sqrt()))


def _enough(coefficients: Sequence[float], dtype: torch.dtype) -> Sequence[float]:
    return coefficients if dtype == torch.float64 else coefficients[:_FEW]


def _polynomial(x: Tensor, coefficients: Sequence[float]) -> Tensor:
    """Evaluate by Horner's rule; coefficients from the constant term up."""
    value = x * coefficients[-1] + coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        value = value * x + coefficient
    return value
