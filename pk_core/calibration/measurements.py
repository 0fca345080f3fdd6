"""What was measured: configurations, and the position or the pose of one frame at each."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from ..chain import Chain
from ..configuration import Configuration
from ..errors import ShapeError
from ..ik.targets import are_poses, as_rows
from ..transforms.rotation import matrix_product, matrix_to_quaternion, quaternion_to_matrix
from ..transforms.so3 import so3_log_map
from ..transforms.transform3d import Transform3d
from .options import CalibrationError


@dataclass(frozen=True, eq=False)
class Measurements:
    """n rows, float64 on the CPU.

    Attributes:
        q: (n, nq).
        position: (n, 3) of the measured point, in the frame that poses are given in [m].
        rotation: (n, 3, 3) of the measured frame, None where positions alone were measured.
    """

    q: Tensor
    position: Tensor
    rotation: Tensor | None

    @property
    def width(self) -> int:
        """Residuals a row: 3, with rotations 6."""
        return 3 if self.rotation is None else 6

    def __len__(self) -> int:
        return len(self.q)

    def rows(self, begin: int, end: int) -> Measurements:
        """Take some of the rows."""
        rotation = None if self.rotation is None else self.rotation[begin:end]
        return replace(self, q=self.q[begin:end], position=self.position[begin:end], rotation=rotation)

    def residuals(self, T: Tensor) -> Tensor:
        """Give measured - modelled (*batch, n, 3 or 6) for poses T (*batch, n, 4, 4), in the axes of their common frame.

        The last three are the rotation vectors that turn the modelled frame to the measured one [rad].
        """
        translation = self.position - T[..., :3, 3]
        if self.rotation is None:
            return translation
        turn = so3_log_map(matrix_product(self.rotation, T[..., :3, :3].mT))
        return torch.cat([translation, turn], -1)


def read_measurements(chain: Chain, q: Configuration, measured: object) -> Measurements:
    """Check what a caller hands in.

    Raises:
        ShapeError: shapes that are not (n, nq) and (n, 3), (n, 4, 4) or (n, 7).
        CalibrationError: rows that hold NaN or are no rigid transforms, by number; or no rows at all.
    """
    if isinstance(q, Tensor):
        q = q.detach().to("cpu", torch.float64)
    q = chain.ensure_tensor(q, missing="error")
    if q.dim() != 2:
        raise ShapeError(f"q has shape {tuple(q.shape)}; it must be (n, {chain.nq}), a row for each measurement")
    position, rotation = _read_measured(measured)
    if len(position) != len(q):
        raise ShapeError(f"q has {len(q)} rows and measured has {len(position)}; there must be one for each")
    if len(q) == 0:
        raise CalibrationError("q and measured have no rows")
    _refuse_rows("q", ~q.isfinite().all(-1), "hold NaN or infinity")
    return Measurements(q.clone(), position, rotation)


def _read_measured(measured: object) -> tuple[Tensor, Tensor | None]:
    if isinstance(measured, Transform3d):
        measured = measured.get_matrix()
    given = measured if isinstance(measured, Tensor) else torch.as_tensor(np.asarray(measured), device="cpu")
    given = given.detach().to("cpu", torch.float64)
    if given.shape[1:] not in ((3,), (4, 4), (7,)):
        raise ShapeError(
            f"measured has shape {tuple(given.shape)}; it must be positions (n, 3), or poses (n, 4, 4) or (n, 7) as x y z and "
            "a quaternion wxyz"
        )
    unknown = ~given.flatten(1).isfinite().all(-1)
    _refuse_rows("measured", unknown, "hold NaN or infinity; leave them out, of q too")
    if given.shape[1:] == (3,):
        return given.clone(), None
    T = torch.from_numpy(as_rows(given)).unflatten(-1, (4, 4))
    _refuse_rows("measured", ~are_poses(T), "are no rigid transforms")
    return T[:, :3, 3], quaternion_to_matrix(matrix_to_quaternion(T[:, :3, :3]))  # float32 made float64


def _refuse_rows(name: str, wrong: Tensor, what: str) -> None:
    rows = wrong.nonzero().flatten().tolist()
    if rows:
        shown = ", ".join(map(str, rows[:10])) + (f" and {len(rows) - 10} more" if len(rows) > 10 else "")
        raise CalibrationError(f"{name}: rows {shown} {what}")
