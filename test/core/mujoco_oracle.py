"""Compare what pk reads from an MJCF with what MuJoCo makes of it: names, limits, poses of links and sites."""

from __future__ import annotations

import math
from collections.abc import Mapping

import mujoco
import numpy as np
import pytest

from pk_core.chain import Chain
from pk_core.parsers import parse_mjcf

GEOM = '<geom size="0.1"/>'  # MuJoCo wants mass wherever something moves


def world(content: str, before: str = "") -> str:
    """Make a model of what stands in its worldbody, and of sections before that."""
    return f'<mujoco model="tiny">{before}<worldbody>{content}</worldbody></mujoco>'


def assert_as_in_mujoco(
    text: str, assets: Mapping[str, bytes] | None = None, *, n: int = 3, tolerance: float = 1e-9, seed: int = 0
) -> Chain:
    """Compare at the resting place and at random configurations; give the chain for further questions."""
    model = mujoco.MjModel.from_xml_string(text, assets=dict(assets or {}))
    chain = Chain(parse_mjcf(text, assets=assets), dtype=_float64())
    _assert_same_parts(model, chain)
    data, rng = mujoco.MjData(model), np.random.default_rng(seed)
    for k in range(n + 1):
        data.qpos[:] = model.qpos0 if k == 0 else rng.uniform(-2.0, 2.0, model.nq)
        mujoco.mj_kinematics(model, data)  # normalises the quaternions of its own copy only
        assert_same_poses(model, data, chain, data.qpos, tolerance)
    return chain


def _float64():
    import torch

    return torch.float64


def assert_same_poses(
    model: mujoco.MjModel, data: mujoco.MjData, chain: Chain, q: np.ndarray, tolerance: float
) -> None:
    """Compare the pose of every body and of every site with a name that is no body's."""
    poses = chain.forward_kinematics(np.array(q))
    frames = [(body_name(model, i), data.xpos[i], data.xmat[i]) for i in range(model.nbody)]
    bodies = {name for name, _, _ in frames}
    sites = [(model.site(i).name, data.site_xpos[i], data.site_xmat[i]) for i in range(model.nsite)]
    frames += [(f"#site:{name}" if name in bodies else name, xpos, xmat) for name, xpos, xmat in sites if name]
    assert set(poses) == {name for name, _, _ in frames}
    for name, position, rotation in frames:
        found = poses[name].get_matrix()[0].numpy()
        assert found[:3, 3] == pytest.approx(position, abs=tolerance), name
        assert found[:3, :3].ravel() == pytest.approx(rotation, abs=tolerance), name


def _assert_same_parts(model: mujoco.MjModel, chain: Chain) -> None:
    assert chain.get_link_names() == [body_name(model, i) for i in range(model.nbody)]
    joints = [joint for joint in chain.get_joints()]
    assert [joint.name for joint in joints] == [model.joint(i).name or f"#joint{i}" for i in range(model.njnt)]
    assert chain.nq == model.nq and chain.nv == model.nv
    for i, joint in enumerate(joints):
        if joint.axes:
            limits = tuple(model.jnt_range[i]) if model.jnt_limited[i] else (-math.inf, math.inf)
            assert joint.limits == pytest.approx(limits, abs=1e-12), joint.name
            bound = max(abs(model.jnt_actfrcrange[i])) if model.jnt_actfrclimited[i] else math.inf
            assert joint.axes[0].effort == pytest.approx(bound), joint.name
    assert _up_to_sign(chain.neutral().numpy(), model) == pytest.approx(_up_to_sign(model.qpos0, model), abs=1e-12)


def body_name(model: mujoco.MjModel, index: int) -> str:
    """Name a body as pk does."""
    return model.body(index).name or f"#body{index}"


def _up_to_sign(q: np.ndarray, model: mujoco.MjModel) -> np.ndarray:
    """Give coordinates with quaternions whose largest component is positive: q and -q are one rotation."""
    q = np.array(q)
    for i in range(model.njnt):
        kind = mujoco.mjtJoint(int(model.jnt_type[i]))
        if kind in (mujoco.mjtJoint.mjJNT_FREE, mujoco.mjtJoint.mjJNT_BALL):
            start = model.jnt_qposadr[i] + (3 if kind == mujoco.mjtJoint.mjJNT_FREE else 0)
            wxyz = q[start : start + 4]
            q[start : start + 4] = wxyz * np.sign(wxyz[np.argmax(np.abs(wxyz))])
    return q
