"""The definition: forward kinematics and the Jacobian in plain torch, differentiable in every way torch knows.

The fused kernels are the same mathematics; the tests hold them to this file in values and gradients.
Shapes: q (*batch, nq); poses `T_root_node` (*batch, 4, 4); constants (n_nodes, 19), as in `tree.py`, or (*batch, n_nodes, 19).
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..transforms.rotation import matrix_product
from ..tree import AXIS, BALL, FREE, KIND, MULTIPLIER, OFFSET, PARENT, POSITION, Q_COLUMN, SCALAR, SLIDE, TURN, V_COLUMN
from .tensors import TreeTensors


def node_poses(q: Tensor, tree: TreeTensors) -> list[Tensor]:
    """Give `T_root_node` (*batch, 4, 4) of every node: one sweep from the root to the leaves."""
    layout, constants = tree.layout, tree.constants
    origins = _homogeneous(constants[..., :9].unflatten(-1, (3, 3)), constants[..., POSITION : POSITION + 3]).unbind(-3)
    motions = _scalar_motions(q, tree)
    poses: list[Tensor] = []
    for i, row in enumerate(layout):
        local = origins[i]
        if row[KIND] == SCALAR:
            local = matrix_product(local, motions[i])
        elif row[KIND] in (BALL, FREE):
            local = matrix_product(local, _quaternion_motion(q, row[Q_COLUMN], row[KIND] == FREE))
        root = row[PARENT] < 0
        poses.append(local.expand(*q.shape[:-1], 4, 4) if root else matrix_product(poses[row[PARENT]], local))
    return poses


def forward_kinematics(q: Tensor, tree: TreeTensors) -> Tensor:
    """Give `T_root_frame` of every frame, (n_frames, *batch, 4, 4)."""
    poses = node_poses(q, tree)
    return torch.stack([poses[node] for node in tree.frame_nodes])


def jacobian(q: Tensor, locations: Tensor, tree: TreeTensors) -> Tensor:
    """Give the Jacobian [v; w] (*batch, 6, nv) at a point of the tree's last frame, in the axes of the root frame.

    Column of a turn about the axis a through p, seen at x: [a x (x - p); a]; of a slide along it: [a; 0]
    (Siciliano et al., Robotics: Modelling, Planning and Control, section 3.1.3).

    Args:
        locations: (*batch, 3) or broadcastable: the point in that frame [m].
    """
    layout, constants, poses = tree.layout, tree.constants, node_poses(q, tree)
    node = tree.frame_nodes[-1]
    point = poses[node][..., :3, 3] + _apply(poses[node][..., :3, :3], locations)
    columns: list[Tensor] = [q.new_zeros(*q.shape[:-1], 6)] * tree.nv
    while node >= 0:
        kind, column = layout[node][KIND], layout[node][V_COLUMN]
        R, p = poses[node][..., :3, :3], poses[node][..., :3, 3]
        if kind == SCALAR:
            turn, slide = _world_motion(constants[..., node, :], R)
            v = torch.linalg.cross(turn, point - p) + slide
            columns[column] = columns[column] + torch.cat([v, turn], -1)
        elif kind in (BALL, FREE):
            turn = torch.cat([torch.linalg.cross(R, (point - p).unsqueeze(-1), dim=-2), R], -2)
            slide = torch.cat([R, torch.zeros_like(R)], -2)
            own = torch.cat([slide, turn], -1) if kind == FREE else turn
            columns[column : column + own.shape[-1]] = own.unbind(-1)
        node = layout[node][PARENT]
    return torch.stack(columns, -1) if columns else q.new_zeros(*q.shape[:-1], 6, 0)


def twist(q: Tensor, dq: Tensor, locations: Tensor, tree: TreeTensors) -> Tensor:
    """Give the twist [v, w] (*batch, 6) of that point while joints move at dq (*batch, nv): J dq."""
    return (jacobian(q, locations, tree) * dq.unsqueeze(-2)).sum(-1)


def reverse_sweep(q: Tensor, grad: Tensor, tree: TreeTensors) -> Tensor:
    """Give dL/dq (*batch, nq) from dL/dT (n_frames, *batch, 4, 4): one sweep from the leaves to the root.

    The frames below a node exert the wrench (f, t) about the root's origin, f = dL/dp, t = p x f + sum r_k x g_k over
    the columns r_k of R and g_k of dL/dR. A node at p with axis a has dL/dq = turn a.(t - p x f) + slide a.f.
    """
    layout, constants, poses = tree.layout, tree.constants, node_poses(q, tree)
    zero = q.new_zeros(*q.shape[:-1], 3)
    f, t = [zero] * len(layout), [zero] * len(layout)
    for node, g in zip(tree.frame_nodes, grad):
        R, p, force = poses[node][..., :3, :3], poses[node][..., :3, 3], g[..., :3, 3]
        f[node] = f[node] + force
        t[node] = t[node] + torch.linalg.cross(p, force) + torch.linalg.cross(R, g[..., :3, :3], dim=-2).sum(-1)
    columns: list[Tensor] = [q.new_zeros(q.shape[:-1])] * tree.nq
    for i in reversed(range(len(layout))):
        kind, column, parent = layout[i][KIND], layout[i][Q_COLUMN], layout[i][PARENT]
        R, p = poses[i][..., :3, :3], poses[i][..., :3, 3]
        torque = t[i] - torch.linalg.cross(p, f[i])
        if kind == SCALAR:
            turn, slide = _world_motion(constants[..., i, :], R)
            columns[column] = columns[column] + (turn * torque + slide * f[i]).sum(-1)
        elif kind in (BALL, FREE):
            start = column + 3 * (kind == FREE)
            wxyz = q[..., start : start + 4]
            columns[start : start + 4] = _times_vector(wxyz, _apply(R.mT, torque)).unbind(-1)
            if kind == FREE:
                columns[column:start] = _apply(_free_axes(tree, poses, i).mT, f[i]).unbind(-1)
        if parent >= 0:
            f[parent], t[parent] = f[parent] + f[i], t[parent] + t[i]
    return torch.stack(columns, -1) if columns else torch.zeros_like(q)


def forward_tangent(q: Tensor, dq: Tensor, tree: TreeTensors) -> Tensor:
    """Give the derivative of `forward_kinematics` along dq (*batch, nq): (n_frames, *batch, 4, 4).

    Each node adds its twist (v, w) about the root's origin to its parent's; then dR = [w] R and dp = v + w x p.
    """
    layout, constants, poses = tree.layout, tree.constants, node_poses(q, tree)
    v, w = [], []
    for i, (parent, kind, column, _) in enumerate(layout):
        R, p = poses[i][..., :3, :3], poses[i][..., :3, 3]
        slide = turn = torch.zeros_like(p)
        if kind == SCALAR:
            turn, slide = (dq[..., column, None] * way for way in _world_motion(constants[..., i, :], R))
        elif kind in (BALL, FREE):
            start = column + 3 * (kind == FREE)
            turn = _apply(R, _quaternion_rate(q[..., start : start + 4], dq[..., start : start + 4]))
            if kind == FREE:
                slide = _apply(_free_axes(tree, poses, i), dq[..., column:start])
        slide = slide - torch.linalg.cross(turn, p)
        v.append(slide if parent < 0 else v[parent] + slide)
        w.append(turn if parent < 0 else w[parent] + turn)
    tangents = []
    for node in tree.frame_nodes:
        R, p = poses[node][..., :3, :3], poses[node][..., :3, 3]
        dR = torch.linalg.cross(w[node].unsqueeze(-1), R, dim=-2)
        dp = v[node] + torch.linalg.cross(w[node], p)
        tangents.append(
            torch.cat(
                [torch.cat([dR, dp.unsqueeze(-1)], -1), torch.zeros_like(R[..., :1, :1]).expand(*p.shape[:-1], 1, 4)],
                -2,
            )
        )
    return torch.stack(tangents)


def _scalar_motions(q: Tensor, tree: TreeTensors) -> dict[int, Tensor]:
    """Give the motions (*batch, 4, 4) of all scalar nodes: Rodrigues' rotation about the axis and a slide along it."""
    nodes = [i for i, row in enumerate(tree.layout) if row[KIND] == SCALAR]
    if not nodes:
        return {}
    c = tree.constants[..., nodes, :]
    value = c[..., MULTIPLIER] * q[..., [tree.layout[i][Q_COLUMN] for i in nodes]] + c[..., OFFSET]
    angle, slide, (x, y, z) = c[..., TURN] * value, c[..., SLIDE] * value, c[..., AXIS : AXIS + 3].unbind(-1)
    s, v = torch.sin(angle), 1 - torch.cos(angle)
    rows = (  # of 1 + s [a]x + v [a]x [a]x, one entry at a time: torch can't trace broadcast matrices in every transform
        (1 - v * (y * y + z * z), v * x * y - s * z, v * x * z + s * y),
        (v * x * y + s * z, 1 - v * (x * x + z * z), v * y * z - s * x),
        (v * x * z - s * y, v * y * z + s * x, 1 - v * (x * x + y * y)),
    )
    R = torch.stack([torch.stack(row, -1) for row in rows], -2)
    p = torch.stack([slide * x, slide * y, slide * z], -1)
    return dict(zip(nodes, _homogeneous(R, p).unbind(-3)))


def _world_motion(c: Tensor, R: Tensor) -> tuple[Tensor, Tensor]:
    """Give the turn and the slide (*batch, 3) of a scalar node for one unit of its coordinate, in root axes."""
    a = c[..., MULTIPLIER, None] * _apply(R, c[..., AXIS : AXIS + 3])
    return c[..., TURN, None] * a, c[..., SLIDE, None] * a


def _quaternion_motion(q: Tensor, column: int, free: bool) -> Tensor:
    start = column + 3 * free
    w, x, y, z = q[..., start : start + 4].unbind(-1)
    s = 2 / (w * w + x * x + y * y + z * z)
    rows = (
        (1 - s * (y * y + z * z), s * (x * y - w * z), s * (x * z + w * y)),
        (s * (x * y + w * z), 1 - s * (x * x + z * z), s * (y * z - w * x)),
        (s * (x * z - w * y), s * (y * z + w * x), 1 - s * (x * x + y * y)),
    )
    R = torch.stack([torch.stack(row, -1) for row in rows], -2)
    return _homogeneous(R, q[..., column:start] if free else torch.zeros_like(R[..., 0]))


def _free_axes(tree: TreeTensors, poses: list[Tensor], node: int) -> Tensor:
    """Give the rotation from the frame in which x, y, z of a free node are measured to the root frame."""
    axes = tree.constants[..., node, :9].unflatten(-1, (3, 3))
    parent = tree.layout[node][PARENT]
    return axes if parent < 0 else matrix_product(poses[parent][..., :3, :3], axes)


def _times_vector(wxyz: Tensor, u: Tensor) -> Tensor:
    """Give (2 / |q|^2) q (0, u): the gradient to a quaternion of any length from that to its rotation in local axes."""
    w, xyz = wxyz[..., :1], wxyz[..., 1:]
    product = torch.cat([-(xyz * u).sum(-1, keepdim=True), w * u + torch.linalg.cross(xyz, u)], -1)
    return product * (2 / (wxyz * wxyz).sum(-1, keepdim=True))


def _quaternion_rate(wxyz: Tensor, dwxyz: Tensor) -> Tensor:
    """Give the angular velocity in local axes: (2 / |q|^2) times the vector part of conj(q) dq."""
    w, xyz, dw, dxyz = wxyz[..., :1], wxyz[..., 1:], dwxyz[..., :1], dwxyz[..., 1:]
    vector = w * dxyz - dw * xyz - torch.linalg.cross(xyz, dxyz)
    return vector * (2 / (wxyz * wxyz).sum(-1, keepdim=True))


def _apply(R: Tensor, x: Tensor) -> Tensor:
    return matrix_product(R, x.unsqueeze(-1)).squeeze(-1)


def _homogeneous(R: Tensor, p: Tensor) -> Tensor:
    bottom = torch.tensor([0.0, 0.0, 0.0, 1.0], dtype=R.dtype, device=R.device)
    rows = torch.stack([*R.unbind(-1), p], -1).unbind(-2)
    return torch.stack([*rows, bottom.expand(rows[0].shape)], -2)
