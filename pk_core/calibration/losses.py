"""Robust losses of a row of residuals, by u: the mean square of the row in units of its noise.

    loss(u), weight = d loss / du

With the weight, least squares takes the step that the loss asks for (iteratively reweighted least squares).

Source: Holland, Welsch, Robust regression using iteratively reweighted least-squares, 1977, also for the thresholds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import torch
from torch import Tensor

_USUAL_THRESHOLD: Final = {"squared": 1.0, "huber": 1.345, "cauchy": 2.385}


@dataclass(frozen=True)
class Loss:
    """One loss with its threshold; functions of tensors of any shape.

    Attributes:
        value: the loss.
        weight: its derivative, in (0, 1].
        stiffness: the derivative of weight * residual by the residual, averaged over directions of a row of m residuals:
            as a function of (u, m).
    """

    value: Callable[[Tensor], Tensor]
    weight: Callable[[Tensor], Tensor]
    stiffness: Callable[[Tensor, int], Tensor]
    robust: bool = True


def make_loss(name: str, threshold: float | None) -> Loss:
    """Make a loss; without a threshold it is 95 % efficient on normal noise."""
    k = threshold or _USUAL_THRESHOLD[name]
    if name == "squared":
        return Loss(lambda u: u, torch.ones_like, lambda u, m: torch.ones_like(u), robust=False)
    if name == "huber":

        def value(u: Tensor) -> Tensor:
            return torch.where(u <= k * k, u, 2 * k * u.sqrt() - k * k)

        def weight(u: Tensor) -> Tensor:
            return (k / u.clamp_min(k * k).sqrt()).clamp_max(1.0)

        return Loss(value, weight, lambda u, m: weight(u) * torch.where(u <= k * k, 1.0, 1 - 1 / m))

    def fading(u: Tensor) -> Tensor:
        return 1 / (1 + u / k**2)

    return Loss(
        lambda u: k * k * torch.log1p(u / k**2), fading, lambda u, m: fading(u) - 2 * u / k**2 * fading(u) ** 2 / m
    )
