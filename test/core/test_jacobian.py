"""Jacobians against other programs, and the law J = d FK / d q."""

from __future__ import annotations

import corpus
import numpy as np
import pytest
import torch
from robots import all_joint_types, chain, panda
from test_forward_kinematics import URDFS, configurations

from pk_core import Chain, SerialChain, ShapeError, UnknownLink, parse_urdf
from pk_core.kinematics import fused, reference


@corpus.require_corpus
@pytest.mark.parametrize("entry", [e for e in URDFS if corpus.load_reference(e).get("jacobians")], ids=corpus.name)
def test_the_jacobian_is_that_of_other_programs(entry):
    ref = corpus.load_reference(entry)
    chain = Chain(parse_urdf(corpus.path(entry).read_bytes()), dtype=torch.float64)
    q = configurations(chain, ref)
    start = {span.joint.name: span.v_start for span in chain._tree.spans}
    for item in ref["jacobians"]:
        J = chain.jacobian(q[item["q_index"]], item["tip"])[0]
        columns = [start[name] for name in item["joints"]]
        np.testing.assert_allclose(J[:, columns], item["J"], rtol=0, atol=1e-8)
        others = [k for k in range(chain.nv) if k not in columns]
        assert torch.count_nonzero(J[:, others]) == 0


def numeric_twist(chain: Chain, q: torch.Tensor, v: torch.Tensor, frame: str, location: torch.Tensor) -> torch.Tensor:
    """Differentiate the pose of a frame along `integrate(q, e v)` by central differences: [v; w], in root axes."""
    e = 1e-6
    T1, T0 = (chain.forward_kinematics(chain.integrate(q, s * e * v))[frame].get_matrix() for s in (1, -1))
    R, dR = (T1 + T0)[..., :3, :3] / 2, (T1 - T0)[..., :3, :3] / (2 * e)
    W = dR @ R.mT
    w = torch.stack([W[..., 2, 1] - W[..., 1, 2], W[..., 0, 2] - W[..., 2, 0], W[..., 1, 0] - W[..., 0, 1]], -1) / 2
    point = torch.cat([location, torch.ones(1, dtype=torch.float64)])
    return torch.cat([((T1 - T0) @ point)[..., :3] / (2 * e), w], -1)


@pytest.mark.parametrize("frame", ["b", "c", "d", "f", "g", "j", "tool", "world"])
def test_the_jacobian_times_velocity_is_the_change_of_the_pose(frame):
    chain = Chain(all_joint_types(), dtype=torch.float64)
    q, v = chain.random(20), torch.randn(20, chain.nv, dtype=torch.float64)
    location = torch.tensor([0.1, -0.2, 0.3], dtype=torch.float64)
    J = chain.jacobian(q, frame, location)
    expected = numeric_twist(chain, q, v, frame, location)
    torch.testing.assert_close((J @ v.unsqueeze(-1)).squeeze(-1), expected, rtol=0, atol=1e-7)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_fused_kernel_agrees_with_the_definition(dtype):
    chain = Chain(all_joint_types(), dtype=dtype)
    q, locations = chain.random(150), torch.randn(150, 3, dtype=dtype)
    tree = chain._frames(("tool",))
    expected = reference.jacobian(q, locations, tree)
    tolerance = {torch.float32: 2e-5, torch.float64: 1e-13}[dtype]
    torch.testing.assert_close(fused.jacobian(q, locations, tree), expected, rtol=0, atol=tolerance)


def test_the_panda_jacobian_is_pinocchios():
    import pinocchio
    from robots import text

    arm = panda()
    model = pinocchio.buildModelFromXML(text("panda"))
    data, frame = model.createData(), model.getFrameId("panda_hand_tcp")
    for q in arm.random(10):
        full = np.concatenate([q.numpy(), [0.0, 0.0]])
        expected = pinocchio.computeFrameJacobian(model, data, full, frame, pinocchio.LOCAL_WORLD_ALIGNED)[:, :7]
        np.testing.assert_allclose(arm.jacobian(q)[0], expected, rtol=0, atol=1e-12)


def test_locations_may_be_one_or_one_a_row():
    arm = panda()
    q = arm.random(6)
    points = torch.randn(6, 3, dtype=torch.float64)
    J = arm.jacobian(q, points)
    for k in range(6):
        torch.testing.assert_close(arm.jacobian(q[k], points[k]), J[k : k + 1], rtol=0, atol=1e-15)
    assert torch.equal(arm.jacobian(q.view(2, 3, 7), points.view(2, 3, 3)), J.view(2, 3, 6, 7))
    with pytest.raises(ShapeError, match=r"locations has shape \(4, 3\), th \(6, 7\)"):
        arm.jacobian(q, points[:4])
    offsets = torch.linspace(0.0, 0.5, 6, dtype=torch.float64)
    arms = arm.with_parameters(offsets={"panda_joint2": offsets})
    with pytest.raises(ShapeError, match="parameters for each row, expand th to these rows"):
        arms.jacobian(q[:1], points)
    for k, J in enumerate(arms.jacobian(q[:1].expand(6, -1), points)):
        alone = arm.with_parameters(offsets={"panda_joint2": offsets[k]})
        torch.testing.assert_close(J, alone.jacobian(q[0], points[k])[0], rtol=0, atol=1e-14)


def test_jacobian_tensor_and_the_pose_beside_it():
    arm = panda()
    q = arm.random(6)
    J, pose = arm.jacobian(q, ret_eef_pose=True)
    assert torch.equal(J, arm.jacobian_tensor(q))
    assert torch.equal(pose, arm.forward_kinematics(q).get_matrix())


def test_the_jacobian_of_a_followed_leader_gathers_both_fingers():
    hand = chain("panda")
    J = hand.jacobian(hand.neutral(), "panda_rightfinger")[0]
    assert J[:3, 7].norm() == pytest.approx(1.0)  # the follower's slide stands in its leader's column
    assert hand.jacobian(hand.neutral(), "panda_link3")[0, :, 7].abs().max() == 0


def test_an_unknown_frame_is_named_with_close_ones():
    with pytest.raises(UnknownLink, match="panda_hnad.*panda_hand"):
        chain("panda").jacobian(torch.zeros(8, dtype=torch.float64), "panda_hnad")


def test_a_chain_without_joints_has_an_empty_jacobian():
    fixed = SerialChain(chain("panda"), "panda_hand", "panda_link7")
    assert fixed.jacobian(torch.zeros(3, 0, dtype=torch.float64)).shape == (3, 6, 0)
