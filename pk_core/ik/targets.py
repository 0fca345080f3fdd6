"""Targets from what callers hand in to the rows that the kernel takes."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from ..errors import ShapeError
from ..rotation import quaternion_to_matrix
from ..se3 import homogeneous
from ..transform import Transform3d

ORTHONORMAL = 1e-3  # how far R^T R of a target may be from the identity


def as_tensor(targets: object, name: str = "targets") -> Tensor:
    """Give poses where they are, (*batch, 4, 4) or (*batch, 7); a single one is a batch of one.

    Args:
        targets: Transform3d, (*batch, 4, 4), or (*batch, 7) as position and quaternion wxyz of any length but zero.

    Raises:
        ShapeError: none of these.
    """
    if isinstance(targets, Transform3d):
        targets = targets.get_matrix()
    tensor = targets if isinstance(targets, Tensor) else torch.as_tensor(np.asarray(targets), device="cpu")
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
        poses = torch.where(ok.unsqueeze(-1), poses, poses.new_tensor([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]))
        return homogeneous(quaternion_to_matrix(poses[..., 3:]), poses[..., :3]), ok
    ok = poses.isfinite().flatten(-2).all(-1)
    return torch.where(ok[..., None, None], poses, torch.eye(4, dtype=poses.dtype, device=poses.device)), ok


def as_rows(tensor: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Give ((n, 12) float64 rows of rotation and position, (n,) bool which rows are poses)."""
    tensor = tensor.detach().to(device="cpu", dtype=torch.float64)
    if tensor.shape[-2:] == (4, 4):
        return _from_matrices(tensor.reshape(-1, 4, 4).numpy())
    return _from_wxyz(tensor.reshape(-1, 7).numpy())


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
    bottom = T.new_tensor([0.0, 0.0, 0.0, 1.0])
    proper = T_ok & B_ok.to(T.device) & ((T[..., 3, :] == bottom) & (B[..., 3, :] == bottom)).all(-1)
    return torch.where(proper[..., None, None], moved, torch.nan)


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
