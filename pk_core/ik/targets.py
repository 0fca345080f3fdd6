"""Targets from what callers hand in to the rows that the kernel takes."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..errors import ShapeError
from ..shapes import tensor_of_numbers
from ..transforms.rotation import quaternion_to_matrix
from ..transforms.se3 import homogeneous
from ..transforms.transform3d import Transform3d
from .records import ORTHONORMAL


def as_tensor(targets: object, name: str = "targets") -> Tensor:
    """Give poses where they are, (*batch, 4, 4) or (*batch, 7); a single one is a batch of one.

    Args:
        targets: Transform3d, (*batch, 4, 4), or (*batch, 7) as position and quaternion wxyz of any length but zero.

    Raises:
        ShapeError, TensorTypeError: none of these.
    """
    if isinstance(targets, Transform3d):
        targets = targets.get_matrix()
    tensor = tensor_of_numbers(name, targets, torch.float64)
    if tensor.shape[-2:] != (4, 4) and tensor.shape[-1:] != (7,):
        raise ShapeError(
            f"{name} have shape {tuple(tensor.shape)}; they must be (*batch, 4, 4), or (*batch, 7) as x y z and a quaternion wxyz"
        )
    return tensor.unsqueeze(0) if tensor.shape in ((4, 4), (7,)) else tensor


def batch_of(poses: Tensor) -> torch.Size:
    """Give the batch of poses (*batch, 4, 4) or (*batch, 7)."""
    return poses.shape[: -1 if poses.shape[-1] == 7 else -2]


def as_matrices(poses: Tensor) -> tuple[Tensor, Tensor]:
    """Give poses of either form as (*batch, 4, 4), differentiably, and (*batch,) which rows hold one.

    Rows with NaN or a zero quaternion come out as identities, so that they don't make NaN of the gradients of others.
    """
    if poses.shape[-1] == 7:
        ok = poses.isfinite().all(-1) & (poses[..., 3:] != 0).any(-1)
        identity = torch.tensor([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], dtype=poses.dtype, device=poses.device)
        poses = torch.where(ok.unsqueeze(-1), poses, identity)
        return homogeneous(quaternion_to_matrix(poses[..., 3:]), poses[..., :3]), ok
    ok = poses.isfinite().flatten(-2).all(-1)
    return torch.where(ok[..., None, None], poses, torch.eye(4, dtype=poses.dtype, device=poses.device)), ok


def as_rows(poses: Tensor) -> np.ndarray:
    """Give poses of either form as (n, 16) float64, matrices by rows; NaN where a quaternion is none."""
    rows = poses.detach().to(device="cpu", dtype=torch.float64)
    if rows.shape[-1] == 7:
        return _from_wxyz(rows.reshape(-1, 7).numpy())
    return np.ascontiguousarray(rows.numpy()).reshape(-1, 16)


def are_poses(T: Tensor) -> Tensor:
    """Say which of T (n, 4, 4) are poses: finite, of orthonormal rotation to within ORTHONORMAL, no reflection."""
    R = T[:, :3, :3]
    error = (R.mT @ R - torch.eye(3, dtype=T.dtype, device=T.device)).abs().amax((1, 2))
    bottom = (T[:, 3] == _bottom(T)).all(-1)
    return T.flatten(1).isfinite().all(-1) & (error < ORTHONORMAL) & (torch.linalg.det(R) > 0) & bottom


def in_root_frame(targets: Tensor, base: Tensor) -> Tensor:
    """Give `T_root_tip` (*batch, 4, 4), float64, of `T_base_tip` and the pose of the root `T_base_root`, differentiably.

    Raises:
        ShapeError: base is neither one pose nor one for each target.
    """
    (T, T_ok), (B, B_ok) = as_matrices(targets), as_matrices(base)
    if B_ok.shape not in ((1,), T_ok.shape):
        raise ShapeError(f"base_pose holds poses {tuple(B_ok.shape)}; it must be one, or {tuple(T_ok.shape)}")
    T, B = T.double(), B.to(T.device).double()
    R, p = B[..., :3, :3].mT, T[..., :3, 3] - B[..., :3, 3]
    moved = homogeneous(R @ T[..., :3, :3], (R @ p.unsqueeze(-1)).squeeze(-1))
    bottom = _bottom(T)
    proper = T_ok & B_ok.to(T.device) & ((T[..., 3, :] == bottom) & (B[..., 3, :] == bottom)).all(-1)
    return torch.where(proper[..., None, None], moved, torch.nan)


def _bottom(T: Tensor) -> Tensor:
    """Give the last row of every pose, of the same dtype and device (`new_tensor` fails in transforms of torch 2.4)."""
    return torch.tensor([0.0, 0.0, 0.0, 1.0], dtype=T.dtype, device=T.device)


def _from_wxyz(rows: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        norm = np.linalg.norm(rows[:, 3:], axis=1)
        w, x, y, z = (rows[:, 3:] / norm[:, None]).T
    p, zero, one = rows.T, np.zeros(len(rows)), np.ones(len(rows))
    T = [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), p[0],
         2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x), p[1],
         2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y), p[2], zero, zero, zero, one]  # fmt: skip
    return np.stack(T, 1)
