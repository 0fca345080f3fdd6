"""Levenberg-Marquardt over the parameters of a chain, with robust losses and noise that is estimated on the way."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from .linear import LinearSystem
from .losses import Loss, make_loss
from .measurements import Measurements
from .options import CalibrationOptions
from .parameters import ModelParameters

ROWS_AT_ONCE = 500  # each needs a robot of its own for each of its residuals
SMALLEST_NOISE = 1e-9  # of the reach [m], and [rad]: rounding is below
SETTLED = 3e-3  # a smaller relative change of the noise is none
CONVERGED = 1e-4  # of a sum of squares in units of the noise: steps far below the standard deviations
LARGEST_DAMPING = 1e6
FIRST_DAMPING = 1e-6


@dataclass(frozen=True, eq=False)
class Fit:
    """Where the iterations ended.

    Attributes:
        system: the linear problem there; its predicted decrease says how much there was still to gain.
    """

    parameters: ModelParameters
    system: LinearSystem
    loss: Loss
    iterations: int
    converged: bool


def fit(parameters: ModelParameters, measured: Measurements, options: CalibrationOptions) -> Fit:
    """Move parameters to the smallest loss, and the noise to what the residuals then show."""
    loss = make_loss(options.loss, options.threshold)
    floor = _smallest_noise(measured)
    residuals, jacobian = linearised(parameters, measured)

    def system(noise: Tensor, weighted: bool = True) -> LinearSystem:
        u = (residuals / noise).square().mean(-1)
        weights = loss.weight(u) if weighted else torch.ones_like(u)
        return LinearSystem.make(residuals, jacobian, noise, weights, parameters.scales)

    def noise_of(at: LinearSystem) -> Tensor:
        return _given(options, torch.maximum(at.estimate_noise(loss.robust), floor))

    noise = noise_of(system(floor, weighted=False))
    damping = 0.0
    for iteration in range(options.max_iterations):
        at = system(noise)
        estimated = noise_of(at)
        settled = bool(((estimated / noise).log().abs() < SETTLED).all())
        if at.predicted_decrease < CONVERGED and settled:
            return Fit(parameters, at, loss, iteration, True)
        noise = estimated
        at = system(noise)
        if at.predicted_decrease < CONVERGED:
            continue
        moved, damping = _step(parameters, measured, at, loss, damping)
        if moved is None:
            return Fit(parameters, at, loss, iteration, False)
        parameters = moved
        residuals, jacobian = linearised(parameters, measured)
    return Fit(parameters, system(noise), loss, options.max_iterations, False)


def linearised(parameters: ModelParameters, measured: Measurements) -> tuple[Tensor, Tensor]:
    """Give residuals (n, m), and minus their derivatives by all changes (n, m, p).

    By the chain rule through the constants of the tree and the tool's matrix, c numbers, which all rows share.
    """
    starts = range(0, len(measured), ROWS_AT_ONCE)
    parts = [_by_constants(parameters, measured.rows(start, start + ROWS_AT_ONCE)) for start in starts]
    residuals, by_constants = (torch.cat(part) for part in zip(*parts))
    return residuals, -by_constants @ _constants_by_change(parameters)


# Each number to be derived is given a robot of its own: then one reverse sweep gives all derivatives.


def _by_constants(parameters: ModelParameters, measured: Measurements) -> tuple[Tensor, Tensor]:
    """Give residuals (n, m) and their derivatives by the constants (n, m, c)."""
    batch = (measured.width, len(measured))
    constants = [c.expand(*batch, *c.shape).clone().requires_grad_() for c in parameters.constants()]
    with torch.enable_grad():
        residuals = measured.residuals(parameters.poses_with(measured.q, *constants))
        gradients = torch.autograd.grad(residuals.diagonal(dim1=0, dim2=-1).sum(), constants)
    return residuals[0].detach(), torch.cat([g.flatten(2) for g in gradients], -1).transpose(0, 1)


def _constants_by_change(parameters: ModelParameters) -> Tensor:
    """Give the derivatives of the constants by the changes (c, p)."""
    n = sum(c.numel() for c in parameters.constants())
    change = torch.zeros(n, len(parameters.names), dtype=torch.float64, device="cpu", requires_grad=True)
    with torch.enable_grad():
        constants = [c.expand(n, *c.shape[-2:]).flatten(1) for c in parameters.moved(change).constants()]
        (gradient,) = torch.autograd.grad(torch.cat(constants, 1).diagonal().sum(), change)
    return gradient


def residuals_of(parameters: ModelParameters, measured: Measurements) -> Tensor:
    """Give measured - modelled (n, m)."""
    with torch.no_grad():
        return measured.residuals(parameters.poses(measured.q))


def _step(
    parameters: ModelParameters, measured: Measurements, at: LinearSystem, loss: Loss, damping: float
) -> tuple[ModelParameters | None, float]:
    """Give the parameters after a step that lowers the loss and the damping for the next; None where none lowers it."""

    def cost(residuals: Tensor) -> float:
        return float(loss.value((residuals / at.noise).square().mean(-1)).sum())

    before = cost(at.residuals)
    while damping <= LARGEST_DAMPING:
        moved = parameters.moved(at.step(damping))
        if cost(residuals_of(moved, measured)) < before:
            return moved, damping / 10 if damping > FIRST_DAMPING else 0.0
        damping = max(10 * damping, FIRST_DAMPING)
    return None, 0.0


def _smallest_noise(measured: Measurements) -> Tensor:
    reach = max(float(measured.position.abs().max()), 1e-3)
    return SMALLEST_NOISE * torch.tensor([reach] * 3 + [1.0] * 3, dtype=torch.float64, device="cpu")[: measured.width]


def _given(options: CalibrationOptions, noise: Tensor) -> Tensor:
    """Put the noise that the caller knows in place of the estimated."""
    known = [options.position_noise] * 3 + [options.rotation_noise] * 3
    return torch.tensor([n.item() if k is None else k for k, n in zip(known, noise)], dtype=torch.float64, device="cpu")
