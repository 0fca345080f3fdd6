"""What calibration returns."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..chain import Chain
from ..parsers.urdf.rewrite import Description, rewrite_urdf
from .description import described

SHOWN = 0.05  # smaller parts of a combination are left out of its text
HARDLY = 0.1  # a parameter that no undetermined combination holds more of is determined


@dataclass(frozen=True)
class Undetermined:
    """A combination of parameters that the data don't tell, and that was left alone.

    Attributes:
        changes: by parameter: changed together like this [m], [rad], they change nothing that was measured, or less than its
            noise.
        shares: the same in units of `length_scale`, `angle_scale` and tenths of a multiplier, the largest 1.
    """

    changes: dict[str, float]
    shares: dict[str, float]

    @property
    def names(self) -> tuple[str, ...]:
        """Parameters with more than a twentieth of the largest share, the largest first."""
        named = [name for name, share in self.shares.items() if abs(share) >= SHOWN]
        return tuple(sorted(named, key=lambda name: -abs(self.shares[name])))

    def __str__(self) -> str:
        return ", ".join(f"{name} {1e3 * self.changes[name]:+.3g}" for name in self.names)


@dataclass(frozen=True, eq=False)
class CalibrationResult:
    """A calibrated robot, and how well it is known. p parameters, n rows; float64 on the CPU but for the chain.

    A pose is moved in its own axes: `x y z` [m] along them, `rx ry rz` [rad] about them. An axis is turned towards two
    coordinates of its joint frame [rad].

    Attributes:
        chain: of the class, dtype and device of the one that was given, with the calibrated parameters; the base too.
        base: `T_base_root` (4, 4), None unless estimated.
        tool: `T_frame_tool` (4, 4), as estimated, given, or the identity.
        names: of the p parameters: `joint origin x`, `joint axis y`, `joint offset`, `joint mimic multiplier`, `tool rz`...
        change: (p,), from where each began.
        covariance: (p, p) of the estimate, the undetermined combinations held; NaN without redundant measurements.
        undetermined: the combinations of parameters that the data don't tell.
        undetermined_share: (p,), how much of each parameter lies in those, from 0 to 1.
        residuals_before, residuals: (n, 3) or (n, 6), measured - modelled: position [m] and rotation vector [rad] in the axes
            in which the poses are given.
        weights: (n,), in (0, 1]: how much the loss let each row count.
        noise: (position [m], rotation [rad]), standard deviations of one residual: given, or estimated; NaN for a rotation
            that was not measured.
        iterations: steps taken.
        converged: False: `max_iterations` passed, or no step would lower the loss further.
    """

    chain: Chain
    base: Tensor | None
    tool: Tensor
    names: tuple[str, ...]
    change: Tensor
    covariance: Tensor
    undetermined: tuple[Undetermined, ...]
    undetermined_share: Tensor
    residuals_before: Tensor
    residuals: Tensor
    weights: Tensor
    noise: tuple[float, float]
    iterations: int
    converged: bool

    @property
    def standard_deviation(self) -> Tensor:
        """(p,), of each parameter, the undetermined combinations held."""
        return self.covariance.diagonal().sqrt()

    @property
    def determined(self) -> Tensor:
        """(p,) bool: which parameters the data tell by themselves."""
        return self.undetermined_share <= HARDLY**2

    @property
    def position_error(self) -> Tensor:
        """(n,), distances between measured and modelled positions [m]."""
        return self.residuals[:, :3].norm(dim=-1)

    @property
    def rotation_error(self) -> Tensor:
        """(n,), angles between measured and modelled rotations [rad]; NaN where positions alone were measured."""
        return _angles(self.residuals)

    @property
    def position_rms(self) -> tuple[float, float]:
        """Root mean squares of the position errors before and after [m]."""
        return _rms(self.residuals_before[:, :3].norm(dim=-1)), _rms(self.position_error)

    @property
    def rotation_rms(self) -> tuple[float, float]:
        """Root mean squares of the rotation errors before and after [rad]."""
        return _rms(_angles(self.residuals_before)), _rms(self.rotation_error)

    def corrected_urdf(self, urdf: Description) -> Description:
        """Write the calibrated chain into the URDF that it was read from: text to text, bytes to bytes.

        `<origin>`, `<axis>` and `<mimic>` of what was estimated get their new numbers, every other byte stays. An offset
        becomes part of its joint's origin, of a mimic joint part of its `<mimic>`; so it does in the `<mimic>` of those
        that follow the joint. Base and tool have no place in a URDF: add them where you use it.

        Raises:
            ParseError, UnknownJoint: not a URDF of this robot.
        """
        return rewrite_urdf(urdf, **described(self.chain))

    def summary(self) -> str:
        """Describe the result, a line for each parameter; lengths in mm, angles in mrad, multipliers in thousandths."""
        errors = [("position", self.position_rms, "mm")]
        errors += [("rotation", self.rotation_rms, "mrad")] if self.residuals.shape[1] == 6 else []
        lines = [f"{name} rms {1e3 * a:.4g} -> {1e3 * b:.4g} {unit}" for name, (a, b), unit in errors]
        width = max(map(len, self.names))
        rows = zip(self.names, self.change.tolist(), self.standard_deviation.tolist(), self.determined.tolist())
        for name, change, deviation, determined in rows:
            note = "" if determined else "  undetermined"
            lines.append(f"{name:{width}s} {1e3 * change:+10.4f} +- {1e3 * deviation:.4f}{note}")
        lines += [f"undetermined, left alone: {combination}" for combination in self.undetermined]
        return "\n".join(lines)


def name_undetermined(basis: Tensor, names: tuple[str, ...], units: Tensor) -> tuple[Undetermined, ...]:
    """Name combinations (p, k): others that span the same, each of as few parameters as can be."""
    found = []
    for row in _reduced(basis.mT.clone()):
        shares = {name: share for name, share in zip(names, row.tolist()) if abs(share) > 1e-6}
        unit_of = dict(zip(names, units.tolist()))
        found.append(Undetermined({name: share * unit_of[name] for name, share in shares.items()}, shares))
    return tuple(found)


def _reduced(rows: Tensor) -> Tensor:
    """Give rows that span the same, by Gauss-Jordan elimination with full pivoting; the largest entry of each is 1."""
    open_rows = list(range(len(rows)))
    while open_rows:
        row, column = divmod(int(rows[open_rows].abs().argmax()), rows.shape[1])
        row = open_rows.pop(row)
        rows[row] = rows[row] / rows[row, column].clone()
        others = torch.arange(len(rows), device=rows.device) != row
        rows[others] = rows[others] - rows[others, column, None] * rows[row]
    largest = rows.gather(1, rows.abs().argmax(1, keepdim=True))
    return rows / largest


def _angles(residuals: Tensor) -> Tensor:
    if residuals.shape[1] == 3:
        return torch.full((len(residuals),), torch.nan, dtype=residuals.dtype, device=residuals.device)
    return residuals[:, 3:].norm(dim=-1)


def _rms(errors: Tensor) -> float:
    return float(errors.square().mean().sqrt())
