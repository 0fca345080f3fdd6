"""PseudoInverseIK: pytorch_kinematics' constructor and fields over our solver."""

from __future__ import annotations

import pytest
import torch
from robots import panda, ur5e

from pk_core import IKOptionError, PseudoInverseIK, ShapeError

ARM = panda(torch.float32)
LIMITS = torch.tensor(ARM.get_joint_limits()).T


def test_users_of_pytorch_kinematics_change_only_the_import():
    goal_q = ARM.random(30)
    goal = ARM.forward_kinematics(goal_q)
    ik = PseudoInverseIK(
        ARM, max_iterations=30, num_retries=10, joint_limits=LIMITS, early_stopping_any_converged=True,
        early_stopping_no_improvement="all", debug=False, lr=0.2,
    )  # fmt: skip
    solution = ik.solve(goal)
    assert solution.solutions.shape == (30, 10, 7)
    assert solution.err_pos.shape == solution.err_rot.shape == solution.converged.shape == (30, 10)
    assert solution.converged_any.all() and not solution.remaining.any()
    assert (solution.num_problems, solution.num_retries, solution.dof) == (30, 10, 7)
    assert solution.iterations > 0
    poses = ARM.forward_kinematics(solution.solutions[solution.converged]).get_matrix()
    expected = goal.get_matrix().unsqueeze(1).expand(30, 10, 4, 4)[solution.converged]
    assert (poses - expected)[:, :3, 3].norm(dim=-1).max() < 1e-3


def test_each_start_has_a_solution_of_its_own():
    starts = ARM.random(5)
    goal = ARM.forward_kinematics(starts)
    solution = PseudoInverseIK(ARM, retry_configs=starts).solve(goal)
    for k in range(5):
        assert solution.converged[k, k]
        torch.testing.assert_close(solution.solutions[k, k], starts[k], rtol=0, atol=1e-6)


def test_starts_may_differ_by_target():
    starts = ARM.random(12).view(4, 3, 7)
    solution = PseudoInverseIK(ARM, retry_configs=starts).solve(ARM.forward_kinematics(starts[:, 1]))
    torch.testing.assert_close(solution.solutions[:, 1], starts[:, 1], rtol=0, atol=1e-6)


def test_the_users_limits_are_enforced_beside_the_chains():
    limits = LIMITS.clone()
    limits[0] = torch.tensor([-0.3, 9.0])
    goal = ARM.forward_kinematics(ARM.random(50))
    solution = PseudoInverseIK(ARM, num_retries=5, joint_limits=limits).solve(goal)
    assert solution.solutions[..., 0].min() >= -0.3 and (solution.solutions <= ARM.high).all()


def test_limits_can_be_let_go():
    arm = ur5e(torch.float32)
    q = torch.tensor([[9.0, -1.0, 1.0, 0.3, 0.4, 8.0]])
    ik = PseudoInverseIK(arm, retry_configs=q, enforce_joint_limits=False)
    torch.testing.assert_close(ik.solve(arm.forward_kinematics(q)).solutions[0], q)


def test_a_target_that_no_start_reaches_is_solved_all_the_same():
    goal = ARM.forward_kinematics(ARM.random(200))
    solution = PseudoInverseIK(ARM, retry_configs=torch.zeros(1, 7)).solve(goal)
    assert solution.converged_any.all()


def test_what_can_not_be_reached_is_not_called_converged():
    goal = ARM.forward_kinematics(ARM.random(3)).translate(5.0, 0.0, 0.0)
    solution = PseudoInverseIK(ARM, num_retries=4, joint_limits=LIMITS).solve(goal)
    assert solution.remaining.all() and not solution.converged.any() and (solution.err_pos > 1.0).all()


def test_wrong_starts_are_refused():
    with pytest.raises(IKOptionError, match="retry_configs.*num_retries"):
        PseudoInverseIK(ARM)
    with pytest.raises(ShapeError, match="retry_configs"):
        PseudoInverseIK(ARM, retry_configs=torch.zeros(3, 6))
    with pytest.raises(ShapeError, match="joint_limits"):
        PseudoInverseIK(ARM, num_retries=3, joint_limits=LIMITS[:5])
    with pytest.raises(IKOptionError, match="config_sampling_method"):
        PseudoInverseIK(ARM, num_retries=3, config_sampling_method="halton")


def test_starts_are_sampled_as_asked():
    ik = PseudoInverseIK(ARM, num_retries=100, joint_limits=LIMITS)
    assert ((ik.initial_config >= ARM.low) & (ik.initial_config <= ARM.high)).all()
    gaussian = PseudoInverseIK(ARM, num_retries=100, config_sampling_method="gaussian")
    assert gaussian.initial_config.std() == pytest.approx(1.0, abs=0.1)
    mine = PseudoInverseIK(ARM, num_retries=3, config_sampling_method=lambda n: torch.full((n, 7), 0.5))
    assert torch.equal(mine.initial_config, torch.full((3, 7), 0.5))


def test_lists_and_matrices_serve_as_well():
    q = ARM.random(2)
    ik = PseudoInverseIK(ARM, retry_configs=q.tolist(), joint_limits=LIMITS.tolist())
    assert ik.solve(ARM.forward_kinematics(q).get_matrix()).converged_any.all()


def test_what_can_not_be_solved_is_refused_by_name():
    from robots import chain

    with pytest.raises(IKOptionError, match="SerialChain"):
        PseudoInverseIK(chain("panda"), num_retries=3)
    with pytest.raises(IKOptionError, match="num_retries=0"):
        PseudoInverseIK(ARM, num_retries=0)
    with pytest.raises(ShapeError, match="5 targets; there are 2"):
        PseudoInverseIK(ARM, retry_configs=torch.zeros(5, 3, 7)).solve(ARM.forward_kinematics(ARM.random(2)))
