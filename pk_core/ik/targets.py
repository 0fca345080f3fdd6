"""Targets from what callers hand in to the rows that the kernel takes."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..errors import ShapeError
from ..transform import Transform3d

ORTHONORMAL = 1e-3  # how far R^T R of a target may be from the identity


def as_poses(targets: object) -> tuple[torch.Size, np.ndarray, np.ndarray]:
    """Give (batch shape, (n, 12) float64 rows of rotation and position, (n,) bool which rows are poses).

    Args:
        targets: Transform3d, (*batch, 4, 4), or (*batch, 7) as position and quaternion wxyz of any length but zero.

    Raises:
        ShapeError: none of these.
    """
    if isinstance(targets, Transform3d):
        targets = targets.get_matrix()
    tensor = targets.detach() if isinstance(targets, Tensor) else torch.as_tensor(np.asarray(targets), device="cpu")
    tensor = tensor.to(device="cpu", dtype=torch.float64)
    if tensor.shape[-2:] == (4, 4):
        batch, rows = tensor.shape[:-2], _from_matrices(tensor.reshape(-1, 4, 4).numpy())
    elif tensor.shape[-1:] == (7,):
        batch, rows = tensor.shape[:-1], _from_wxyz(tensor.reshape(-1, 7).numpy())
    else:
        raise ShapeError(
            f"targets have shape {tuple(tensor.shape)}; they must be (*batch, 4, 4), or (*batch, 7) as x y z and a quaternion wxyz"
        )
    return batch or torch.Size([1]), *rows


def _from_matrices(T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    R = T[:, :3, :3]
    with np.errstate(invalid="ignore", over="ignore"):
        gram = np.abs(R.swapaxes(1, 2) @ R - np.eye(3)).max((1, 2))
        valid = (
            np.isfinite(T).all((1, 2))
            & (gram < ORTHONORMAL)
            & (np.linalg.det(R) > 0)
            & (T[:, 3] == [0, 0, 0, 1]).all(1)
        )
    return np.concatenate([R.reshape(-1, 9), T[:, :3, 3]], 1), valid


def _from_wxyz(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        norm = np.linalg.norm(rows[:, 3:], axis=1)
        w, x, y, z = (rows[:, 3:] / norm[:, None]).T
    valid = np.isfinite(rows).all(1) & np.isfinite(norm) & (norm > 0)
    R = [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 2 * (x * y + w * z), 1 - 2 * (x * x + z * z),
         2 * (y * z - w * x), 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]  # fmt: skip
    return np.ascontiguousarray(np.stack([*R, *rows[:, :3].T], 1)), valid
