"""One linear least-squares problem of the calibration: what the data determine, the step, the noise, the covariance.

Residuals are divided by their noise and changes by their plausible scale, so a singular value is the plausible change of a
combination of parameters over the standard deviation to which the data know it. Where that is below one the data tell less
than was known before: such combinations are left alone (a truncated singular value decomposition: of all steps that fit
the data, the smallest). A combination that changes nothing measured has a singular value of zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from .losses import Loss

MEDIAN_OF_THREE = 1.5381722544550522
"""Median length of a vector of three independent normal numbers."""


@dataclass(frozen=True, eq=False)
class LinearSystem:
    """Residuals r - J x of n rows, weighted, and their singular value decomposition.

    Attributes:
        residuals: (n, m).
        noise: (m,), standard deviation of each residual [m], [rad].
        weights: (n,), of the rows.
        scales: (p,), plausible changes.
        U, S, V: (n m, p), (p,), (p, p) of the weighted, scaled Jacobian.
    """

    residuals: Tensor
    noise: Tensor
    weights: Tensor
    scales: Tensor
    U: Tensor
    S: Tensor
    V: Tensor

    @staticmethod
    def make(residuals: Tensor, jacobian: Tensor, noise: Tensor, weights: Tensor, scales: Tensor) -> LinearSystem:
        """Decompose a Jacobian (n, m, p), minus the derivative of the residuals."""
        A = (jacobian * scales * (weights.sqrt()[:, None] / noise)[..., None]).flatten(0, 1)
        missing = max(0, A.shape[1] - A.shape[0])
        U, S, Vh = torch.linalg.svd(torch.nn.functional.pad(A, (0, 0, 0, missing)), full_matrices=False)
        return LinearSystem(residuals, noise, weights, scales, U[: A.shape[0]], S, Vh.mT)

    @property
    def rank(self) -> int:
        """Number of combinations that the data determine."""
        return int((self.S >= 1.0).sum())

    @property
    def _projected(self) -> Tensor:
        weighted = self.residuals / self.noise * self.weights.sqrt()[:, None]
        return self.U[:, : self.rank].mT @ weighted.flatten()

    @property
    def predicted_decrease(self) -> float:
        """What the full step takes off the weighted sum of squares, in units of the noise."""
        return float(self._projected.square().sum())

    def step(self, damping: float) -> Tensor:
        """Give the change (p,) by Levenberg-Marquardt: damping relative to the largest singular value squared."""
        S = self.S[: self.rank]
        gain = S / (S * S + damping * S[:1] ** 2)
        return self.scales * (self.V[:, : self.rank] @ (gain * self._projected))

    def remaining(self) -> Tensor:
        """Predict the residuals (n, m) after the full step."""
        taken = (self.U[:, : self.rank] @ self._projected).unflatten(0, self.residuals.shape)
        return self.residuals - taken * self.noise / self.weights.sqrt()[:, None]

    def estimate_noise(self, robust: bool) -> Tensor:
        """Estimate the noise (m,) of positions and of rotations from what the full step would leave.

        Each has as many degrees of freedom as the parameters leave it. With a robust loss the median of the rows counts.

        Source: Helmert's variance components, as in Forstner, Wrobel, Photogrammetric Computer Vision, 2016, 4.2.4.
        """
        remaining = self.remaining()
        used = self.U[:, : self.rank].square().sum(-1).unflatten(0, self.residuals.shape)
        noise = []
        for columns in (slice(0, 3), slice(3, 6))[: self.residuals.shape[1] // 3]:
            count = remaining[:, columns].numel()
            free = count - float(used[:, columns].sum())
            if free < 0.5:  # the parameters explain all
                noise.append(0.0)
                continue
            if robust:
                size = float(remaining[:, columns].norm(dim=-1).median()) / MEDIAN_OF_THREE
            else:
                size = float(remaining[:, columns].square().mean().sqrt())
            noise.append(size * math.sqrt(count / free))
        return torch.tensor(noise, dtype=torch.float64, device="cpu").repeat_interleave(3)

    def covariance(self, loss: Loss) -> Tensor:
        """Estimate the covariance (p, p) of the parameters, those undetermined held; NaN where no residual is redundant.

        Source: Huber, Robust Statistics, 1981, 7.6: E[psi^2] / E[psi']^2 (J^T J)^-1, here for rows of m residuals.
        """
        n, m = self.residuals.shape
        u = (self.residuals / self.noise).square().mean(-1)
        redundancy = 1 - self.rank / (n * m)
        spread = float((loss.weight(u) ** 2 * u).mean()) / redundancy if redundancy > 0 else math.nan
        spread *= float(self.weights.mean()) / float(loss.stiffness(u, m).mean()) ** 2
        root = self.scales[:, None] * self.V[:, : self.rank] / self.S[: self.rank]
        return spread * (root @ root.mT)

    def undetermined(self, units: Tensor) -> Tensor:
        """Give a basis (p, k) of the combinations left alone, orthonormal in such units (p,)."""
        return torch.linalg.qr(self.V[:, self.rank :] * (self.scales / units)[:, None]).Q
