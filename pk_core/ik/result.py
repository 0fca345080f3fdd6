"""What the solver returns."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import IKFailed
from .options import IKStatus


@dataclass(frozen=True, eq=False)
class IKResult:
    """Solutions of a batch of targets; k of each.

    Attributes:
        solutions: (*batch, k, nq) [rad] and [m]; the best configuration seen where the first did not converge, NaN where
            a further one was not found or the input is invalid. In the graph where targets or model parameters require grad.
        status: (*batch, k) int64, values of `IKStatus`.
        position_error, rotation_error: (*batch, k) of the solutions as returned, by an independent FK [m], [rad]; with targets
            for several frames, each the largest over the frames.
        iterations, restarts: (*batch,) int64, over all attempts.
        n_solutions: (*batch,) int64, distinct solutions found.
        converged_any: (*batch,) bool.
        joint_names: names of the columns of `solutions`.
    """

    solutions: Tensor
    status: Tensor
    position_error: Tensor
    rotation_error: Tensor
    iterations: Tensor
    restarts: Tensor
    n_solutions: Tensor
    converged_any: Tensor
    joint_names: tuple[str, ...]

    @property
    def converged(self) -> Tensor:
        """(*batch, k) bool: which solutions are inside tolerances and limits."""
        return self.status == IKStatus.CONVERGED

    def best(self) -> Tensor:
        """Give the first solution of each target, (*batch, nq)."""
        return self.solutions[..., 0, :]

    def raise_if_failed(self) -> IKResult:
        """Return self, or raise where a target has no solution.

        Raises:
            IKFailed: says how many targets failed, how, and which is the first.
        """
        if bool(self.converged_any.all()):
            return self
        failed = (~self.converged_any).nonzero()
        values, counts = torch.unique(self.status[..., 0][~self.converged_any], return_counts=True)
        how = ", ".join(f"{count} {IKStatus(value).name}" for value, count in zip(values.tolist(), counts.tolist()))
        raise IKFailed(
            f"{len(failed)} of {self.converged_any.numel()} targets have no solution ({how}); first: {failed[0].tolist()}"
        )
