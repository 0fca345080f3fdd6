"""What a request for inverse kinematics comes to once it is checked: the joints that solve, their starts, the targets. No rclpy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

import pk_core as pk

from .conversions import array_from_field, array_from_tensor
from .requests import ErrorCode, Refusal, distinct_columns
from .served_model import ServedModel

_WORST_TIME = 4e-4  # [s] that a target without a solution may take, for the square of the number of joints


@dataclass(frozen=True)
class SolvingJoints:
    """The joints that place one link, or several together, against a base.

    Attributes:
        chain: the path from the base where one link is placed, else the whole robot.
        names: of the J coordinates that solve; columns: (J,) where the chain has them.
        start: (nq,) where coordinates of the chain stand that no seed is given for.
        T_root_base: (4, 4) of the base in the chain's root.
        locked: joints of the chain that are not between the base and a tip.
    """

    chain: pk.Chain
    names: tuple[str, ...]
    columns: np.ndarray
    start: np.ndarray
    T_root_base: np.ndarray
    locked: tuple[str, ...] = ()


def joints_between(model: ServedModel, tips: tuple[str, ...], base: str, q: np.ndarray) -> SolvingJoints:
    """Find the joints on the paths from the base to the tips.

    Args:
        q: (nq,) of the whole robot, for joints of it that do not solve: between the root and the base.

    Raises:
        Refusal: with several tips, a base that is not above all of them, or that their joints move.
    """
    if len(tips) > 1:
        return _joints_of_several(model, tips, base, q)
    chain = model.serial(tips[0], base)
    names = tuple(chain.get_joint_parameter_names())
    return SolvingJoints(chain, names, np.arange(len(names)), _mid_range(chain), np.eye(4))


def _joints_of_several(model: ServedModel, tips: tuple[str, ...], base: str, q: np.ndarray) -> SolvingJoints:
    base_link = model.above(base)[0]
    if beside := [tip for tip in tips if base_link not in model.above(tip)]:
        raise Refusal(
            ErrorCode.INVALID_GROUP_NAME,
            f"base {base!r} is not above {beside}: several tips are placed together from a link above all of them",
        )
    columns = sorted({column for tip in tips for column in model.columns_between(tip, base)})
    if both := set(columns) & set(model.columns_between(base, model.root)):
        names = [model.columns[column] for column in sorted(both)]
        raise Refusal(ErrorCode.INVALID_GROUP_NAME, f"{names} move the base {base!r} as well as the tips")
    chain = model.chain
    rest = array_from_tensor(chain.clamp(torch.from_numpy(q).to(chain.device))).reshape(-1)  # as the solver holds it
    start = rest.copy()
    start[columns] = _mid_range(chain)[columns]
    return SolvingJoints(
        chain=chain,
        names=tuple(model.columns[column] for column in columns),
        columns=np.array(columns, dtype=np.intp),
        start=start,
        T_root_base=model.place_between(base, model.root, rest),
        locked=tuple(span.joint.name for span in model.spans if span.q_start not in columns),
    )


def read_seeds(request: Any, joints: SolvingJoints, n_targets: int) -> np.ndarray | None:
    """Read the seeds into (nq,) or (N, nq) of the chain; joints not named start in the middle of their range.

    Raises:
        Refusal: names of joints that do not solve or given twice, or another number of rows than one and N.
    """
    flat = array_from_field(request.seeds)
    flat = np.where(np.isfinite(flat), flat, np.nan)  # the solver would bring an infinite one to the limit
    given = tuple(request.seed_joint_names) or joints.names
    chosen = distinct_columns(given, joints.names, "seed_joint_names", ErrorCode.INVALID_GROUP_NAME)
    if not len(flat):
        return joints.start if joints.locked else None
    rows = len(flat) // len(chosen) if chosen else 0
    if rows not in (1, n_targets) or rows * len(chosen) != len(flat):
        raise Refusal(
            ErrorCode.INVALID_ROBOT_STATE,
            f"seeds holds {len(flat)} numbers; it must be one row or {n_targets} rows of {list(given)}",
        )
    seeds = np.tile(joints.start, (rows, 1))
    seeds[:, joints.columns[chosen]] = flat.reshape(rows, len(chosen))
    return seeds[0] if rows == 1 else seeds


def _mid_range(chain: pk.Chain) -> np.ndarray:
    """Give the middle of each joint's range; where a side is open, the neutral position or the bound next to it."""
    low, high, neutral = map(array_from_tensor, (chain.low, chain.high, chain.neutral()))
    bounded = np.isfinite(low) & np.isfinite(high)
    middle = np.clip(neutral, low, high)
    middle[bounded] = 0.5 * (low[bounded] + high[bounded])
    return middle


@dataclass(frozen=True)
class IKPlan:
    """What a request asks, checked.

    Attributes:
        targets: of each tip, (N, 7) in the chain's root, x y z qw qx qy qz.
        seeds: None, (nq,) or (N, nq).
    """

    joints: SolvingJoints
    targets: Mapping[str, np.ndarray]
    seeds: np.ndarray | None
    num_solutions: int
    options: pk.IKOptions

    def __len__(self) -> int:
        return len(next(iter(self.targets.values())))

    def solve(self, begin: int, end: int, timeout: float) -> pk.IKResult:
        """Solve some of the targets."""
        seeds = self.seeds[begin:end] if self.seeds is not None and self.seeds.ndim == 2 else self.seeds
        device = self.joints.chain.device
        return pk.solve_ik(
            self.joints.chain,
            {tip: torch.from_numpy(rows[begin:end]).to(device) for tip, rows in self.targets.items()},
            seeds=None if seeds is None else torch.from_numpy(seeds).to(device),
            num_solutions=self.num_solutions,
            options=self.options if self._worst(end - begin) < timeout else replace(self.options, timeout=timeout),
        )

    def _worst(self, rows: int) -> float:
        """Bound the time of a slice [s]: where its end is not near, it needs no clock, which costs more than a solution."""
        rows *= self.num_solutions * len(self.targets)
        return rows * len(self.joints.names) ** 2 * _WORST_TIME
