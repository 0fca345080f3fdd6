"""What a caller of the calibration may ask for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from ..errors import PkError


class CalibrationError(PkError, ValueError):
    """An option or a measurement that calibration can't use; the message names it."""


@dataclass(frozen=True)
class CalibrationOptions:
    """Options of `calibrate`.

    Attributes:
        loss: how rows of measurements count. "squared" is right for noise without outliers; "huber" counts large residuals
            by their size; "cauchy" lets them fade, and bears a tenth of the rows being wrong altogether.
        threshold: from where on a loss other than "squared" counts a row for less: the root mean square of the row's residuals in
            units of their noise; None takes what keeps 95 % of the efficiency on normal noise: 1.345 for "huber",
            2.385 for "cauchy".
        position_noise: standard deviation of a measured coordinate [m]; None estimates it from the residuals.
        rotation_noise: standard deviation of a measured rotation about each axis [rad]; None estimates it. The two weigh
            positions against rotations, scale the threshold and decide what counts as undetermined.
        length_scale: a change of a length in the model that would be plausible [m], a hundred times that for base and tool. What
            the data leave uncertain by more than that is undetermined, and is not changed.
        angle_scale: the same of an angle [rad].
        max_iterations: how often the model may be moved.
    """

    loss: Literal["squared", "huber", "cauchy"] = "squared"
    threshold: float | None = None
    position_noise: float | None = None
    rotation_noise: float | None = None
    length_scale: float = 0.01
    angle_scale: float = 0.02
    max_iterations: int = 100

    def __post_init__(self) -> None:
        if self.loss not in ("squared", "huber", "cauchy"):
            raise CalibrationError(f"loss must be 'squared', 'huber' or 'cauchy', got {self.loss!r}")
        for name in ("threshold", "position_noise", "rotation_noise", "length_scale", "angle_scale"):
            value = getattr(self, name)
            if value is None and not name.endswith("scale"):
                continue
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
                raise CalibrationError(f"{name} must be a finite number > 0, got {value!r}")
        if type(self.max_iterations) is not int or self.max_iterations < 1:
            raise CalibrationError(f"max_iterations must be a whole number of at least 1, got {self.max_iterations!r}")
