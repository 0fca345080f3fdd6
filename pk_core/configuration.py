"""Configurations: from what users hand in to a tensor q (*batch, nq), and what can be done with q itself."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from .errors import ShapeError, TensorTypeError, UnknownJoint
from .model import JointType
from .tree import JointSpan, Tree

Configuration = Tensor | np.ndarray | Sequence | Mapping[str, object]
Missing = Literal["neutral", "warn", "error"]


def as_tensor(
    value: object, tree: Tree, dtype: torch.dtype, device: torch.device, missing: Missing = "neutral"
) -> Tensor:
    """Turn a list, array, tensor or dict of joint values into q (*batch, nq); one dimension is a batch of one.

    Raises:
        ShapeError: the last dimension is not nq, or values of a dict don't broadcast.
        TensorTypeError: a tensor of another floating dtype or device.
        UnknownJoint: a dict names a joint that is no coordinate, or, with missing="error", leaves one out.
    """
    if isinstance(value, Tensor):
        check_tensor("th", value, dtype, device)
        q = value if value.dtype == dtype else value.to(dtype)
    elif isinstance(value, Mapping):
        return _from_mapping(value, tree, dtype, device, missing)
    else:
        q = _cast(value, dtype, device)
    if q.dim() == 1:
        q = q.unsqueeze(0)
    if q.dim() == 0 or q.shape[-1] != tree.nq:
        raise ShapeError(
            f"th has shape {tuple(q.shape)}; its last dimension must be {tree.nq}: {[n for s in tree.spans for n in s.names]}"
        )
    return q


def check_tensor(name: str, value: Tensor, dtype: torch.dtype, device: torch.device) -> None:
    """Refuse a tensor on another device or in another floating dtype than the chain's."""
    if value.dtype != dtype and value.is_floating_point():
        raise TensorTypeError(
            f"{name} is {value.dtype}, the chain is {dtype}: use {name}.to({dtype}) or chain.to(dtype={value.dtype})"
        )
    _refuse_complex(name, value)
    if value.is_nested:
        raise TensorTypeError(f"{name} is a nested tensor: use {name}.to_padded_tensor(0.0), or one call for each part")
    if value.layout is not torch.strided:
        raise TensorTypeError(f"{name} has the layout {value.layout}: use {name}.to_dense()")
    here = value.device
    if here != device and (here.type != device.type or (device.index is not None and here.index != device.index)):
        raise TensorTypeError(
            f"{name} is on {value.device}, the chain on {device}: use {name}.to({str(device)!r}) or chain.to(device=...)"
        )


def neutral(tree: Tree) -> list[float]:
    """Give the resting configuration: zeros, identity quaternions, MJCF qpos0."""
    return [value for span in tree.spans for value in span.neutral]


def limits(tree: Tree) -> tuple[list[float], list[float]]:
    """Give lower and upper position limits for each column of q; infinite where there are none."""
    low, high = [], []
    for span in tree.spans:
        scalar = span.joint.axes and span.joint.type is not JointType.PLANAR
        low += [axis.lower for axis in span.joint.axes] if scalar else [-math.inf] * span.joint.nq
        high += [axis.upper for axis in span.joint.axes] if scalar else [math.inf] * span.joint.nq
    return low, high


def limit_tensors(tree: Tree, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Give `limits` in a dtype, rounded towards the inside, so that what is clamped to them is inside the exact ones."""
    low, high = (torch.tensor(bound, dtype=torch.float64, device="cpu") for bound in limits(tree))
    if dtype not in (torch.float32, torch.bfloat16):  # torch knows no neighbour of a float16
        return low.to(dtype), high.to(dtype)
    infinity = torch.full_like(low, math.inf, dtype=dtype)
    rounded_low, rounded_high = low.to(dtype), high.to(dtype)
    rounded_low = torch.where(rounded_low.double() < low, torch.nextafter(rounded_low, infinity), rounded_low)
    return rounded_low, torch.where(
        rounded_high.double() > high, torch.nextafter(rounded_high, -infinity), rounded_high
    )


def random(tree: Tree, n: int, generator: torch.Generator | None) -> Tensor:
    """Draw n configurations (n, nq), float64: uniform inside the limits, in [-pi, pi] (rad or m) where there are none."""
    low, high = (torch.tensor(bound, dtype=torch.float64, device="cpu") for bound in limits(tree))
    low = torch.where(low.isinf(), torch.where(high.isinf(), torch.full_like(low, -math.pi), high - 2 * math.pi), low)
    high = torch.where(
        high.isinf(), torch.where(low == -math.pi, torch.full_like(high, math.pi), low + 2 * math.pi), high
    )
    q = low + (high - low) * torch.rand(n, tree.nq, dtype=torch.float64, device="cpu", generator=generator)
    for columns in quaternion_columns(tree):
        wxyz = torch.randn(n, 4, dtype=torch.float64, device="cpu", generator=generator)
        q[:, columns] = wxyz / wxyz.norm(dim=-1, keepdim=True)
    return q


def quaternion_columns(tree: Tree) -> list[slice]:
    """Give the columns of q that hold quaternions."""
    starts = [s.q_start + 3 * (s.joint.type is JointType.FLOATING) for s in tree.spans if s.joint.nv != s.joint.nq]
    return [slice(start, start + 4) for start in starts]


def _from_mapping(value: Mapping, tree: Tree, dtype: torch.dtype, device: torch.device, missing: Missing) -> Tensor:
    spans = {span.joint.name: span for span in tree.spans}
    for name in value:
        if name not in spans:
            raise UnknownJoint("joint", name, spans, "the configuration")
    absent = [name for name in spans if name not in value]
    if absent and missing == "error":
        raise UnknownJoint("value for joint", absent[0], value, f"the configuration, which leaves out {absent}")
    if absent and missing == "warn":
        warnings.warn(f"joints left out of the configuration stand at neutral: {absent}", stacklevel=4)
    given = {name: _cast(v, dtype, device) for name, v in value.items()}
    parts = _drop_column_dimension(given, spans)
    for name, span in spans.items():
        if name not in parts:
            parts[name] = torch.tensor(span.neutral, dtype=dtype, device=device)
        if parts[name].dim() == 0 or parts[name].shape[-1] != span.joint.nq:
            raise ShapeError(
                f"joint {name!r} has {span.joint.nq} coordinates {span.names}; got shape {tuple(given[name].shape)}"
            )
    try:
        batch = torch.broadcast_shapes(*(part.shape[:-1] for part in parts.values())) or (1,)
    except RuntimeError:
        shapes = {name: tuple(v.shape) for name, v in given.items()}
        raise ShapeError(f"the values of the configuration do not broadcast to one batch: {shapes}") from None
    expanded = [parts[name].expand(*batch, -1) for name in spans]
    return torch.cat(expanded, -1) if expanded else torch.empty(1, 0, dtype=dtype, device=device)


def _drop_column_dimension(given: dict[str, Tensor], spans: dict[str, JointSpan]) -> dict[str, Tensor]:
    """Give every value its coordinate dimension last.

    (N, 1) of a scalar joint means (N,), unless another value has two batch dimensions.
    """
    scalar = {name for name in given if spans[name].joint.nq == 1}
    batch_dims = {name: v.dim() - (name not in scalar) for name, v in given.items()}
    columns = {name for name in scalar if given[name].dim() == 2 and given[name].shape[-1] == 1}
    two = any(dims >= 2 for name, dims in batch_dims.items() if name not in columns)
    return {
        name: v if name not in scalar or (name in columns and not two) else v.unsqueeze(-1) for name, v in given.items()
    }


def _cast(value: object, dtype: torch.dtype, device: torch.device) -> Tensor:
    if isinstance(value, Sequence) and any(isinstance(entry, Tensor) for entry in value):
        return torch.stack([_cast(entry, dtype, device) for entry in value])
    if isinstance(value, Tensor):
        _refuse_complex("a joint value", value)
        return value.to(dtype=dtype, device=device)
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise TypeError
        return torch.as_tensor(array.astype(np.float64), dtype=dtype, device=device)
    except (TypeError, ValueError):
        wanted = "numbers, an array, a tensor or a dict of these by joint name"
        raise ShapeError(f"can't make joint values of {value!r:.80}: {wanted}") from None


def _refuse_complex(name: str, value: Tensor) -> None:
    if value.is_complex():
        raise TensorTypeError(f"{name} is {value.dtype}: joint values are real")
