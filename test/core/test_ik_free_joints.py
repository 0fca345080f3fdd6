"""Floating, planar and ball joints in the solver: they stand where the seed has them until they are unlocked."""

from __future__ import annotations

import pytest
import torch
from robots import joint, robot

from pk_core import Chain, IKOptionError, IKOptions, UnknownJoint, UnsupportedError, solve_ik

ARM = (
    joint("j1", "revolute", "body", "u", lower=-2.0, upper=2.0),
    joint("j2", "revolute", "u", "v", (0.0, 1.0, 0.0), lower=-2.0, upper=2.0),
    joint("j3", "revolute", "v", "tip", (1.0, 0.0, 0.0), lower=-2.0, upper=2.0),
)


def made(*joints) -> Chain:
    return Chain(robot(*joints), dtype=torch.float64)


FLOATING = made(joint("float", "floating", "world", "body"), *ARM)
PLANAR = made(
    joint("plane", "planar", "world", "body"),
    *ARM,
    joint("j4", "revolute", "tip", "end", (0.0, 1.0, 0.0), lower=-2, upper=2),
)
SHOULDER = made(joint("ball", "ball", "body", "a"), joint("elbow", "revolute", "a", "b", (0.0, 1.0, 0.0), lower=-2.5, upper=2.5),
                joint("wrist", "ball", "b", "tip"))  # fmt: skip


def poses(chain: Chain, q: torch.Tensor, frame: str) -> torch.Tensor:
    return chain.forward_kinematics(q)[frame].get_matrix()


@pytest.mark.parametrize(
    ("chain", "frame", "unlocked"),
    [(FLOATING, "tip", ["float"]), (PLANAR, "end", ["plane"]), (SHOULDER, "tip", ["ball", "wrist"])],
)
def test_an_unlocked_joint_moves_and_its_quaternion_stays_one(chain, frame, unlocked):
    q = chain.random(60, generator=torch.Generator().manual_seed(0))
    T = poses(chain, q, frame)
    result = solve_ik(chain, T, frame=frame, options=IKOptions(unlocked_joints=unlocked))
    assert result.converged_any.double().mean() >= 0.95
    good = result.converged_any
    torch.testing.assert_close(poses(chain, result.best(), frame)[good], T[good], rtol=0, atol=2e-3)
    held = solve_ik(chain, T, frame=frame)
    assert held.converged_any.double().mean() < 0.2
    for span in chain._tree.spans:
        if span.joint.name in ("float", "ball", "wrist"):
            quaternion = result.best()[:, span.q_slice][:, -4:]
            torch.testing.assert_close(quaternion.norm(dim=-1), torch.ones(60, dtype=torch.float64), rtol=0, atol=1e-12)


def test_tight_tolerances_are_met_with_a_free_base():
    q = FLOATING.random(20)
    T = poses(FLOATING, q, "tip")
    exact = IKOptions(unlocked_joints=["float"], position_tolerance=1e-10, rotation_tolerance=1e-10)
    result = solve_ik(FLOATING, T, frame="tip", options=exact)
    assert result.converged_any.all() and result.position_error.max() <= 1e-10


def test_a_seed_that_is_the_solution_is_left_alone():
    q = FLOATING.random(5)
    result = solve_ik(
        FLOATING, poses(FLOATING, q, "tip"), frame="tip", seeds=q, options=IKOptions(unlocked_joints=["float"])
    )
    assert torch.equal(result.best(), q) and result.iterations.max() == 0


def test_a_locked_arm_leaves_the_way_to_the_base():
    q = FLOATING.random(10)
    T = poses(FLOATING, q, "tip")
    options = IKOptions(unlocked_joints=["float"], locked_joints=["j1", "j2", "j3"])
    result = solve_ik(FLOATING, T, frame="tip", options=options)
    assert result.converged_any.all() and (result.best()[:, 7:] == 0).all()


def test_a_free_base_and_two_tips_solve_together():
    body = made(joint("float", "floating", "world", "body"), *ARM,
                joint("k1", "revolute", "body", "l", (0.0, 1.0, 0.0), xyz=(-0.3, 0.0, 0.0), lower=-2.0, upper=2.0),
                joint("k2", "revolute", "l", "other", (1.0, 0.0, 0.0), lower=-2.0, upper=2.0))  # fmt: skip
    q = body.random(40, generator=torch.Generator().manual_seed(7))
    T = {name: poses(body, q, name) for name in ("tip", "other")}
    result = solve_ik(body, T, options=IKOptions(unlocked_joints=["float"]))
    assert result.converged_any.double().mean() >= 0.9
    for name, target in T.items():
        gap = (poses(body, result.best(), name) - target)[result.converged_any, :3, 3].norm(dim=-1)
        assert gap.max() <= 1e-4


def test_a_batch_with_a_free_base_is_a_loop_to_the_bit():
    q = FLOATING.random(12)
    T, free = poses(FLOATING, q, "tip"), IKOptions(unlocked_joints=["float"])
    whole = solve_ik(FLOATING, T, frame="tip", num_solutions=2, options=free)
    alone = solve_ik(FLOATING, T[5], frame="tip", num_solutions=2, options=free)
    assert torch.equal(alone.solutions[0].nan_to_num(9), whole.solutions[5].nan_to_num(9))


def test_a_rotation_and_its_negative_quaternion_are_one_solution():
    alone = made(joint("ball", "ball", "a", "b"))
    q = alone.random(10)
    result = solve_ik(
        alone, poses(alone, q, "b"), frame="b", num_solutions=3, options=IKOptions(unlocked_joints=["ball"])
    )
    assert result.n_solutions.tolist() == [1] * 10
    torch.testing.assert_close(
        (result.best() * q).sum(-1).abs(), torch.ones(10, dtype=torch.float64), rtol=0, atol=1e-6
    )


def test_what_can_not_be_unlocked_is_said():
    T = poses(FLOATING, FLOATING.random(1), "tip")
    with pytest.raises(UnknownJoint, match="joint to unlock.*flaot"):
        solve_ik(FLOATING, T, frame="tip", options=IKOptions(unlocked_joints=["flaot"]))
    with pytest.raises(IKOptionError, match="'j1' moves anyway"):
        solve_ik(FLOATING, T, frame="tip", options=IKOptions(unlocked_joints=["j1"]))
    with pytest.raises(IKOptionError, match="unlocked_joints must be a list"):
        IKOptions(unlocked_joints="float")
    with pytest.raises(UnsupportedError, match="unlocked joints"):
        solve_ik(FLOATING, T.requires_grad_(), frame="tip", options=IKOptions(unlocked_joints=["float"]))
