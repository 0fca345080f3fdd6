"""What a caller of the solver may ask for, and what each status means."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from operator import attrgetter
from typing import Literal

import numpy as np
from torch import Tensor

from ..errors import PkError
from ..transforms.transform3d import Transform3d


class IKStatus(IntEnum):
    """How the search for one solution ended."""

    CONVERGED = 0  # inside both tolerances and the limits
    NOT_FOUND = 1  # fewer distinct solutions were found than asked for
    LIMIT_BLOCKED = 2  # the best attempt ended where limits hold it
    UNREACHABLE = 3  # beyond a proven bound on reach
    STALLED = 4  # the best attempt stopped getting closer
    MAX_ITERATIONS = 5  # the best attempt ran out of iterations
    TIMEOUT = 6  # the clock ran out
    INVALID_INPUT = 7  # the target or seed holds NaN, or is no rotation


class IKOptionError(PkError, ValueError):
    """An option of the solver has a value it can't have."""


TOLERANCES = ("position_tolerance", "rotation_tolerance")
OBJECTIVES = ("posture", "limits", "manipulability")  # in the order of `secondary`


def numbers(name: str, value: object) -> np.ndarray:
    """Give the value of an option, numbers of any nesting or a tensor anywhere, as a float64 array.

    Raises:
        IKOptionError: it holds no numbers.
    """
    try:
        return np.asarray(value.detach().cpu() if isinstance(value, Tensor) else value, dtype=float)
    except (TypeError, ValueError):
        raise IKOptionError(f"{name} must be numbers, got {value!r:.80}") from None


@dataclass(frozen=True)
class IKOptions:
    """Options of `solve_ik`.

    Attributes:
        position_tolerance: largest position error of a solution [m]; a number or one for each target. It is absolute: choose
            it smaller for robots of millimetres; in a float32 chain no smaller than its rounding, 1e-7 of its size.
        rotation_tolerance: largest rotation error of a solution [rad]; a number or one for each target.
        weights: six numbers [vx vy vz wx wy wz]: how much each part of the error counts against the others on the way;
            where a weight is zero that part is free and not judged. A mask of booleans serves too: [1, 1, 1, 0, 0, 0] places
            a point, [1, 1, 1, 1, 1, 0] leaves the tool free to spin about its z.
        weights_frame: whose axes the weights are in: those of the tip ("tool"), or those that targets are given in ("base").
        locked_joints: names of joints that stay at the seed (or neutral), brought inside the limits.
        unlocked_joints: names of planar, floating and ball joints that may move too; without limits, from where the seed has them.
        joint_limits: (low, high), nq numbers each [rad] or [m], in place of the model's; infinite where there is none.
        limit_margin: distance that joints which move keep from their limits [rad] or [m]; a number or one for each of nq.
        base_pose: pose of the chain's root in the frame that targets are given in, as targets are: one, or one for each.
        prefer: "nearest" compares several solutions, the seed's own among them, and returns the nearest to the seed first;
            a redundant arm has endless others.
        objective: what solutions are to be beside right, as far as limits, tolerances and the null space let them: near a
            "posture"; far from "limits"; of high "manipulability" (det J J^T).
        posture: (nq,) [rad] and [m]; the seed, or neutral, if left out.
        max_iterations: of one attempt; the first ones from starts that are not given have less, from 15 on.
        max_restarts: attempts after the seeds and mid-range; once there is a solution, others are looked for in a third of them.
        timeout: wall-clock time of the whole call [s]; rows not done by then get TIMEOUT.
        random_seed: results are a function of the inputs and this number.
        distinct: two solutions whose joints all differ by less are one [rad] or [m].
        patience, damping, gain: an attempt ends after `patience` iterations that don't take a factor of 0.7 off the error;
            the damping is `damping + gain * |error|^2`.
        gradient_damping: of the gradients of solutions. With the error in radians, positions being taken for angles by half
            the reach of the robot, what moves the tip by s a unit is followed by s / (s^2 + gradient_damping) instead of 1 / s.
    """

    position_tolerance: float | Tensor = 1e-4
    rotation_tolerance: float | Tensor = 1e-3
    weights: Sequence[float] | None = None
    weights_frame: Literal["tool", "base"] = "tool"
    locked_joints: Sequence[str] = ()
    unlocked_joints: Sequence[str] = ()
    joint_limits: tuple[Sequence[float], Sequence[float]] | None = None
    limit_margin: float | Sequence[float] = 0.0
    base_pose: Transform3d | Tensor | None = None
    prefer: Literal["any", "nearest"] = "any"
    objective: Literal["posture", "limits", "manipulability"] | None = None
    posture: Sequence[float] | Tensor | None = None
    max_iterations: int = 40
    max_restarts: int = 300
    timeout: float | None = None
    random_seed: int = 0
    distinct: float = 0.05
    patience: int = 4
    damping: float = 1e-7
    gain: float = 3e-2
    gradient_damping: float = 1e-8

    def __post_init__(self) -> None:
        self._freeze()
        for name in TOLERANCES:
            tolerance = numbers(name, getattr(self, name))
            if not np.all(tolerance > 0):
                raise IKOptionError(f"{name} must be greater than zero, got {getattr(self, name)}")
        if self.weights is not None:
            weights = np.array(self.weights)
            if weights.shape != (6,) or not np.all(np.isfinite(weights) & (weights >= 0)) or not weights.any():
                raise IKOptionError(f"weights must be six finite numbers >= 0, not all zero, got {self.weights}")
        if self.weights_frame not in ("tool", "base"):
            raise IKOptionError(f"weights_frame must be 'tool' or 'base', got {self.weights_frame!r}")
        margin = np.array(self.limit_margin)
        if margin.ndim > 1 or not np.all((margin >= 0) & (margin < math.inf)):
            raise IKOptionError(
                f"limit_margin must be a number >= 0, or one for each coordinate, got {self.limit_margin}"
            )
        if self.prefer not in ("any", "nearest"):
            raise IKOptionError(f"prefer must be 'any' or 'nearest', got {self.prefer!r}")
        if self.timeout is not None and not 0 < self.timeout <= threading.TIMEOUT_MAX:
            raise IKOptionError(f"timeout must be a finite number of seconds > 0 or None, got {self.timeout}")
        if self.objective not in (None, *OBJECTIVES):
            raise IKOptionError(f"objective must be None or one of {OBJECTIVES}, got {self.objective!r}")
        if self.posture is not None and self.objective != "posture":
            raise IKOptionError(f'a posture is for objective="posture", which is {self.objective!r}')
        for name, least in (("max_iterations", 1), ("max_restarts", 0), ("patience", 1), ("random_seed", 0)):
            value = getattr(self, name)
            if type(value) is not int or value < least or (name != "random_seed" and value > 10**9):
                raise IKOptionError(f"{name} must be a whole number of at least {least}, got {value!r}")
        for name in ("damping", "gain", "distinct"):
            if not 0 <= getattr(self, name) < math.inf:
                raise IKOptionError(f"{name} must be a finite number >= 0, got {getattr(self, name)!r}")
        if not 0 < self.gradient_damping < math.inf:
            raise IKOptionError(f"gradient_damping must be a finite number > 0, got {self.gradient_damping!r}")

    def _freeze(self) -> None:
        """Make plain numbers and tuples of what could change after it was checked; not of the tensors that rows have."""
        for name in (*TOLERANCES, "damping", "gain", "distinct", "gradient_damping"):
            value = numbers(name, getattr(self, name))
            if value.ndim == 0:
                object.__setattr__(self, name, float(value))
            elif name not in TOLERANCES:
                raise IKOptionError(f"{name} must be one number, got {value.size}")
        for name in ("weights", "limit_margin", "posture"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _nested(numbers(name, getattr(self, name)).tolist()))
        for name in ("locked_joints", "unlocked_joints"):
            if isinstance(getattr(self, name), str):
                raise IKOptionError(f"{name} must be a list of names, got the string {getattr(self, name)!r}")
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.joint_limits is not None:
            given = self.joint_limits if hasattr(self.joint_limits, "__len__") else ()
            bounds = tuple(_nested(numbers("joint_limits", bound).tolist()) for bound in given)
            if len(bounds) != 2 or not all(isinstance(bound, tuple) for bound in bounds):
                raise IKOptionError(
                    f"joint_limits must be (low, high), a list of numbers each, got {self.joint_limits}"
                )
            object.__setattr__(self, "joint_limits", bounds)

    def key(self) -> tuple:
        """Give what the setup of a search depends on."""
        tolerances = [
            value if isinstance(value, float) else None for value in (self.position_tolerance, self.rotation_tolerance)
        ]
        return *tolerances, *_SETUP_FIELDS(self)


_SETUP_FIELDS = attrgetter(
    "weights", "locked_joints", "unlocked_joints", "joint_limits", "limit_margin", "objective", "posture", "max_iterations",
    "max_restarts", "patience", "damping", "gain", "distinct", "random_seed",
)  # fmt: skip


def _nested(value: list | float) -> tuple | float:
    return tuple(map(_nested, value)) if isinstance(value, list) else value
