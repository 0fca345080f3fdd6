"""`PseudoInverseIK` of pytorch_kinematics, over the same solver as everything else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..errors import ShapeError
from ..serial_chain import SerialChain
from ..transforms.transform3d import Transform3d
from .options import IKOptionError, IKOptions
from .solver import solve_ik


@dataclass(frozen=True, eq=False)
class IKSolution:
    """Results of M targets from R starts each, under the names of pytorch_kinematics.

    Attributes:
        solutions: (M, R, dof) [rad] and [m]; where `converged` is False the best configuration of that start.
        err_pos, err_rot: (M, R) [m], [rad]; converged, converged_pos, converged_rot: (M, R) bool.
        converged_any, converged_pos_any, converged_rot_any, remaining: (M,) bool; remaining targets have no solution.
        iterations: the most that one target took.
    """

    solutions: Tensor
    err_pos: Tensor
    err_rot: Tensor
    converged: Tensor
    converged_pos: Tensor
    converged_rot: Tensor
    converged_any: Tensor
    converged_pos_any: Tensor
    converged_rot_any: Tensor
    remaining: Tensor
    iterations: int
    pos_tolerance: float
    rot_tolerance: float

    @property
    def num_problems(self) -> int:
        """M."""
        return self.solutions.shape[0]

    @property
    def num_retries(self) -> int:
        """R."""
        return self.solutions.shape[1]

    @property
    def dof(self) -> int:
        """Number of coordinates."""
        return self.solutions.shape[2]


class PseudoInverseIK:
    """Solve from given or sampled starts, with the constructor of pytorch_kinematics.

    Where none of a target's starts leads to a solution, the solver goes on from starts of its own, and the solution takes
    the place of the first. The limits of the chain hold, and `joint_limits` beside them, unless `enforce_joint_limits` is
    False. How to step is the solver's affair: `lr`, `line_search`, `regularlization`, `lm_damping`, `early_stopping_*`,
    `num_limit_refinement_iterations`, `clamp_to_limits`, `use_compile` and `debug` are accepted and change nothing.

    Args:
        retry_configs: (R, dof) or (M, R, dof) starts; or num_retries: how many to sample for each target.
        joint_limits: (dof, 2) bounds of samples and solutions [rad] or [m].
        config_sampling_method: "uniform" in the limits, "gaussian", or a function of the number of configurations.
        position_weight, orientation_weight: how position and rotation errors count against each other on the way.
    """

    def __init__(
        self,
        serial_chain: SerialChain,
        pos_tolerance: float = 1e-3,
        rot_tolerance: float = 1e-2,
        retry_configs: Tensor | None = None,
        num_retries: int | None = None,
        joint_limits: Tensor | None = None,
        config_sampling_method: str | Callable[[int], Tensor] = "uniform",
        max_iterations: int = 50,
        lr: float = 1.0,
        line_search: object = None,
        regularlization: float = 1e-9,
        lm_damping: float = 0.1,
        position_weight: float = 1.0,
        orientation_weight: float = 1.0,
        debug: bool = False,
        early_stopping_any_converged: bool = False,
        early_stopping_no_improvement: str | float | None = "any",
        early_stopping_no_improvement_patience: int = 2,
        enforce_joint_limits: bool = True,
        num_limit_refinement_iterations: int = 10,
        clamp_to_limits: bool = False,
        use_compile: bool = False,
    ) -> None:
        if not isinstance(serial_chain, SerialChain):
            raise IKOptionError(f"PseudoInverseIK takes a SerialChain, got {type(serial_chain).__name__}")
        if retry_configs is None and (type(num_retries) is not int or num_retries < 1):
            raise IKOptionError(f"give retry_configs, or num_retries >= 1 to sample; got num_retries={num_retries!r}")
        retry_configs, joint_limits = (
            None if given is None else torch.as_tensor(given) for given in (retry_configs, joint_limits)
        )
        self.chain = serial_chain
        self.dof = serial_chain.nq
        bounds = _bounds(serial_chain, joint_limits, enforce_joint_limits)
        self._sample_bounds = bounds if joint_limits is None else joint_limits.to(bounds)
        self.config_sampling_method = config_sampling_method
        self.initial_config = self.sample_configs(num_retries) if retry_configs is None else retry_configs
        if self.initial_config.dim() < 2 or self.initial_config.shape[-1] != self.dof:
            shape = tuple(self.initial_config.shape)
            raise ShapeError(f"retry_configs has shape {shape}; it must be (R, {self.dof}) or (M, R, {self.dof})")
        self.num_retries = self.initial_config.shape[-2]
        weights = [position_weight] * 3 + [orientation_weight] * 3
        self.options = IKOptions(
            position_tolerance=pos_tolerance,
            rotation_tolerance=rot_tolerance,
            weights=None if position_weight == orientation_weight == 1.0 else weights,
            joint_limits=tuple(bounds.T.tolist()),
            max_iterations=max_iterations,
        )

    def sample_configs(self, num_configs: int) -> Tensor:
        """Draw starts (num_configs, dof) by the sampling method."""
        method, chain = self.config_sampling_method, self.chain
        if callable(method):
            return method(num_configs)
        if method == "uniform":
            if not bool(self._sample_bounds.isfinite().all()):
                return chain.random(num_configs)
            low, high = self._sample_bounds.to(dtype=chain.dtype, device=chain.device).T
            return low + (high - low) * torch.rand(num_configs, self.dof, dtype=chain.dtype, device=chain.device)
        if method == "gaussian":
            return torch.randn(num_configs, self.dof, dtype=chain.dtype, device=chain.device)
        raise IKOptionError(f"config_sampling_method must be 'uniform', 'gaussian' or a function, got {method!r}")

    def solve(self, target_poses: Transform3d | Tensor) -> IKSolution:
        """Solve for poses of the chain's end in its root frame, M of them."""
        poses = target_poses.get_matrix() if isinstance(target_poses, Transform3d) else target_poses
        if poses.shape[-2:] != (4, 4):
            raise ShapeError(f"target_poses has shape {tuple(poses.shape)}; it must be (M, 4, 4)")
        poses = poses.detach().reshape(-1, 4, 4)
        m, r = len(poses), self.num_retries
        if self.initial_config.dim() > 2 and self.initial_config.shape[0] not in (1, m):
            shape = tuple(self.initial_config.shape)
            raise ShapeError(f"retry_configs has shape {shape}, for {shape[0]} targets; there are {m}")
        seeds = self.initial_config.to(dtype=self.chain.dtype, device=self.chain.device).expand(m, r, self.dof)
        rows = poses.unsqueeze(1).expand(m, r, 4, 4)
        first = solve_ik(self.chain, rows, seeds=seeds, options=replace(self.options, max_restarts=0))
        solutions, errors = (
            first.best().clone(),
            torch.stack([first.position_error[..., 0], first.rotation_error[..., 0]]),
        )
        iterations, converged = first.iterations.sum(-1), first.converged[..., 0].clone()
        lost = ~converged.any(1)
        if bool(lost.any()):
            again = solve_ik(self.chain, poses[lost], seeds=seeds[lost, 0], options=self.options)
            solutions[lost, 0], converged[lost, 0] = again.best(), again.converged[:, 0]
            errors[:, lost, 0] = torch.stack([again.position_error[:, 0], again.rotation_error[:, 0]])
            iterations[lost] += again.iterations
        return self._solution(solutions, errors, converged, iterations)

    def _solution(self, solutions: Tensor, errors: Tensor, converged: Tensor, iterations: Tensor) -> IKSolution:
        device = self.chain.device
        near = (
            errors
            <= errors.new_tensor([self.options.position_tolerance, self.options.rotation_tolerance])[:, None, None]
        )
        (near_pos, near_rot), converged = near.to(device), converged.to(device)
        return IKSolution(
            solutions=solutions,
            err_pos=errors[0].to(device, self.chain.dtype),
            err_rot=errors[1].to(device, self.chain.dtype),
            converged=converged,
            converged_pos=near_pos,
            converged_rot=near_rot,
            converged_any=converged.any(1),
            converged_pos_any=near_pos.any(1),
            converged_rot_any=near_rot.any(1),
            remaining=~converged.any(1),
            iterations=int(iterations.max()) if len(iterations) else 0,
            pos_tolerance=self.options.position_tolerance,
            rot_tolerance=self.options.rotation_tolerance,
        )


def _bounds(chain: SerialChain, joint_limits: Tensor | None, enforce: bool) -> Tensor:
    """Give the bounds (dof, 2) of solutions, float64: the chain's limits and the caller's together."""
    bounds = torch.tensor(chain.get_joint_limits(), dtype=torch.float64, device="cpu").T
    if not enforce:
        return torch.tensor([[-torch.inf, torch.inf]], dtype=torch.float64, device="cpu").expand_as(bounds)
    if joint_limits is None:
        return bounds
    if joint_limits.shape != bounds.shape:
        raise ShapeError(f"joint_limits has shape {tuple(joint_limits.shape)}; it must be {tuple(bounds.shape)}")
    given = joint_limits.to("cpu", torch.float64)
    return torch.stack([torch.maximum(bounds[:, 0], given[:, 0]), torch.minimum(bounds[:, 1], given[:, 1])], -1)
