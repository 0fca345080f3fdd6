"""Between the numbers of ROS messages and those of pk: flat arrays, poses, quaternions. No rclpy.

Messages are known by their fields only. Here alone quaternions are `xyzw`; a pose row is (x, y, z, qx, qy, qz, qw).
Written in numpy, since for one robot's links at a time torch's cost per operation would be most of the work.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

_XYZW_OF_WXYZ = [1, 2, 3, 0]
_WXYZ_OF_XYZW = [3, 0, 1, 2]
_ROWS_OF_ONE_THREAD = 1000  # times 16 x 16: OpenBLAS has threads for more than 2^18 products


def rows_from_matrices(Ts: np.ndarray) -> np.ndarray:
    """Turn transforms (*batch, 4, 4) into pose rows (*batch, 7), quaternions with qw >= 0.

    Each of the four rows of the symmetric matrix 4 q q^T gives the quaternion; the one with the largest diagonal entry
    is the most precise (Shepperd, "Quaternion from rotation matrix", 1978).
    """
    flat = np.ascontiguousarray(Ts, dtype=np.float64).reshape(-1, 16)
    rows, xyzw = np.empty((len(flat), 7)), (product(flat, _SQUARES) + _IDENTITY).reshape(-1, 4, 4)
    xyzw = xyzw[np.arange(len(flat)), xyzw.reshape(-1, 16)[:, ::5].argmax(axis=1)]
    rows[:, :3] = flat[:, 3:12:4]
    rows[:, 3:] = xyzw / np.copysign(np.sqrt(np.einsum("ni,ni->n", xyzw, xyzw)), xyzw[:, 3])[:, None]
    return rows.reshape(*Ts.shape[:-2], 7)


def product(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Multiply many rows (*batch, m) by a small matrix (m, k), on this thread alone.

    The threads of OpenBLAS wait for more work for some tens of milliseconds after a large product, and wait busily: on
    cores that the solver wants. A product of few rows it does without them.
    """
    flat = rows.reshape(-1, rows.shape[-1])
    out = np.empty((len(flat), matrix.shape[1]))
    for begin in range(0, len(flat), _ROWS_OF_ONE_THREAD):
        end = begin + _ROWS_OF_ONE_THREAD
        np.matmul(flat[begin:end], matrix, out=out[begin:end])
    return out.reshape(*rows.shape[:-1], matrix.shape[1])


def _squares() -> np.ndarray:
    """Give the linear map (16, 16) from the entries of a transform to those of 4 q q^T, less the identity."""
    squares = np.zeros((4, 4, 4, 4))  # row and column of the transform, then of the square
    signs = np.array([[1, -1, -1], [-1, 1, -1], [-1, -1, 1], [1, 1, 1]])
    for i in range(3):
        squares[i, i, range(4), range(4)] = signs[:, i]
        j, k = (i + 1) % 3, (i + 2) % 3
        squares[j, i, i, j] = squares[j, i, j, i] = squares[i, j, i, j] = squares[i, j, j, i] = 1
        squares[k, j, i, 3] = squares[k, j, 3, i] = 1
        squares[j, k, i, 3] = squares[j, k, 3, i] = -1
    return squares.reshape(16, 16)


_SQUARES, _IDENTITY = _squares(), np.eye(4).reshape(16)


def matrices_from_rows(rows: np.ndarray) -> np.ndarray:
    """Turn pose rows (*batch, 7) into transforms (*batch, 4, 4). Quaternions are normalised; a zero one gives NaN."""
    x, y, z, w = np.moveaxis(_normalised(rows[..., 3:]), -1, 0)
    Ts = np.zeros((*rows.shape[:-1], 4, 4))
    Ts[..., 0, 0], Ts[..., 0, 1], Ts[..., 0, 2] = 1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)
    Ts[..., 1, 0], Ts[..., 1, 1], Ts[..., 1, 2] = 2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)
    Ts[..., 2, 0], Ts[..., 2, 1], Ts[..., 2, 2] = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)
    Ts[..., :3, 3] = rows[..., :3]
    Ts[..., 3, 3] = 1.0
    return Ts


def move_rows(T_a_b: np.ndarray, rows_b: np.ndarray) -> np.ndarray:
    """Express pose rows (*batch, 7) given in frame b in frame a; a quaternion keeps its length, a zero one stays so."""
    x, y, z, w = rows_from_matrices(T_a_b)[3:]
    left = np.array([[w, -z, y, x], [z, w, -x, y], [-y, x, w, z], [-x, -y, -z, w]])  # q -> T_a_b's quaternion * q
    with np.errstate(invalid="ignore"):  # rows with infinities become NaN, as they should
        xyz = product(rows_b[..., :3], T_a_b[:3, :3].T) + T_a_b[:3, 3]
        return np.concatenate((xyz, product(rows_b[..., 3:], left.T)), axis=-1)


def inverse(T: np.ndarray) -> np.ndarray:
    """Invert rigid transforms (*batch, 4, 4)."""
    back = np.zeros_like(T)
    back[..., :3, :3] = np.swapaxes(T[..., :3, :3], -1, -2)
    back[..., :3, 3:] = -back[..., :3, :3] @ T[..., :3, 3:]
    back[..., 3, 3] = 1.0
    return back


def wxyz_rows(rows: np.ndarray) -> np.ndarray:
    """Turn rows with xyzw quaternions into rows with wxyz, as pk_core wants them; contiguous."""
    return np.concatenate((rows[..., :3], rows[..., 3:][..., _WXYZ_OF_XYZW]), axis=-1)


def xyzw_rows(rows: np.ndarray) -> np.ndarray:
    """Turn rows with wxyz quaternions into rows with xyzw; contiguous."""
    return np.concatenate((rows[..., :3], rows[..., 3:][..., _XYZW_OF_WXYZ]), axis=-1)


def rows_from_poses(poses: Sequence[Any]) -> np.ndarray:
    """Read geometry_msgs/Pose messages into pose rows (N, 7)."""
    rows = np.empty((len(poses), 7))
    for row, pose in zip(rows, poses):
        p, q = pose.position, pose.orientation
        row[:] = (p.x, p.y, p.z, q.x, q.y, q.z, q.w)
    return rows


def row_from_pose(pose: Any) -> np.ndarray:
    """Read a geometry_msgs/Pose into a pose row (7,)."""
    return rows_from_poses([pose])[0]


def fill_pose(pose: Any, row: np.ndarray) -> None:
    """Write a pose row (7,) into a geometry_msgs/Pose."""
    p, q = pose.position, pose.orientation
    p.x, p.y, p.z, q.x, q.y, q.z, q.w = row.tolist()


def rows_from_transforms(transforms: Sequence[Any]) -> np.ndarray:
    """Read geometry_msgs/Transform messages into pose rows (N, 7)."""
    rows = [(t.translation, t.rotation) for t in transforms]
    return np.array([(p.x, p.y, p.z, q.x, q.y, q.z, q.w) for p, q in rows]).reshape(-1, 7)


def rows_from_twists(twists: Sequence[Any]) -> np.ndarray:
    """Read geometry_msgs/Twist messages into rows [v, w] (N, 6)."""
    rows = [(twist.linear, twist.angular) for twist in twists]
    return np.array([(v.x, v.y, v.z, w.x, w.y, w.z) for v, w in rows]).reshape(-1, 6)


def float64_field(values: np.ndarray) -> array:
    """Give a `float64[]` field; numpy arrays themselves are refused by its type check on some distributions."""
    return array("d", np.ascontiguousarray(values, dtype=np.float64).tobytes())


def uint32_field(values: np.ndarray) -> array:
    """Give a `uint32[]` field."""
    return array("I", np.ascontiguousarray(values, dtype=np.uint32).tobytes())


def uint8_field(values: np.ndarray) -> array:
    """Give a `uint8[]` field."""
    return array("B", np.ascontiguousarray(values, dtype=np.uint8).tobytes())


def array_from_field(field: Sequence[float], dtype: type[np.generic] = np.float64) -> np.ndarray:
    """Read a numeric field without copying it where it is an `array.array`, as rclpy delivers it."""
    return np.frombuffer(field, dtype=dtype) if isinstance(field, (array, bytes)) else np.array(field, dtype=dtype)


def array_from_tensor(tensor: Any, dtype: type[np.generic] = np.float64) -> np.ndarray:
    """Give a torch tensor's values, copied only where device or dtype ask for it."""
    return tensor.detach().cpu().numpy().astype(dtype, copy=False)


def seconds(duration: Any) -> float:
    """Read a builtin_interfaces/Duration or Time [s]."""
    return duration.sec + duration.nanosec * 1e-9


def nanoseconds(time: Any) -> int:
    """Read a builtin_interfaces/Time or Duration [ns]."""
    return time.sec * 10**9 + time.nanosec


def _normalised(xyzw: np.ndarray) -> np.ndarray:
    length = np.sqrt((xyzw * xyzw).sum(-1, keepdims=True))
    return xyzw / np.where(length == 0.0, np.nan, length)
