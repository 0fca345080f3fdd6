"""Objectives in the null space: they improve what was asked for, and cost no accuracy, no limit and no target."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
import torch
from robots import chain, joint, panda, robot, text, ur5e

from pk_core import Chain, IKOptionError, IKOptions, SerialChain, solve_ik

ARM = panda()
OBJECTIVES = ("posture", "limits", "manipulability")
POSTURE = [0.3, -0.4, 0.2, -1.8, 0.1, 1.6, 0.5]


def values(objective: str, q: torch.Tensor) -> torch.Tensor:
    """Give what is to be small, by plain torch and Pinocchio."""
    if objective == "posture":
        return (q - torch.tensor(POSTURE, dtype=torch.float64)).square().sum(-1)
    if objective == "limits":
        middle, half = 0.5 * (ARM.low + ARM.high), 0.5 * (ARM.high - ARM.low)
        return ((q - middle) / half).square().sum(-1)
    model = pinocchio.buildModelFromXML(text("panda"))
    data, frame = model.createData(), model.getFrameId("panda_hand_tcp")
    out = []
    for x in q.numpy():
        full = np.zeros(model.nq)
        full[:7] = x
        J = pinocchio.computeFrameJacobian(model, data, full, frame)[:, :7]
        out.append(-np.sqrt(max(np.linalg.det(J @ J.T), 0.0)))
    return torch.tensor(out, dtype=torch.float64)


def options(objective: str, **more) -> IKOptions:
    return IKOptions(objective=objective, posture=POSTURE if objective == "posture" else None, **more)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
def test_an_objective_improves_and_costs_no_accuracy_and_no_limit(objective, tolerance):
    T = ARM.forward_kinematics(ARM.random(80, generator=torch.Generator().manual_seed(3))).get_matrix()
    tolerances = dict(position_tolerance=tolerance, rotation_tolerance=tolerance)
    plain, better = (solve_ik(ARM, T, options=o) for o in (IKOptions(**tolerances), options(objective, **tolerances)))
    assert plain.converged_any.all() and better.converged_any.all()
    assert better.position_error.max() <= tolerance and better.rotation_error.max() <= tolerance
    assert ((better.best() >= ARM.low) & (better.best() <= ARM.high)).all()
    before, after = values(objective, plain.best()), values(objective, better.best())
    assert (after <= before + 1e-6).all()
    assert (after < before - 1e-3).double().mean() > 0.5 and after.mean() < before.mean() - 5e-3
    T_after = ARM.forward_kinematics(better.best()).get_matrix()
    assert (T_after - T)[:, :3, 3].norm(dim=-1).max() <= tolerance


def test_the_posture_that_reaches_the_target_itself_is_found():
    posture = torch.tensor([POSTURE], dtype=torch.float64)
    T = ARM.forward_kinematics(posture).get_matrix()
    away = ARM.clamp(
        posture + 0.3 * torch.randn(30, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    )
    result = solve_ik(ARM, T.expand(30, 4, 4), seeds=away, options=options("posture"))
    assert result.converged_any.all()
    same = (result.best() - posture).abs().max(-1).values < 0.02
    assert same.double().mean() > 0.8
    free = solve_ik(ARM, T.expand(30, 4, 4), seeds=away).best()
    assert ((free - posture).abs().max(-1).values < 0.02).double().mean() < 0.3


def test_without_a_posture_of_its_own_the_seed_is_the_posture():
    T = ARM.forward_kinematics(ARM.random(20)).get_matrix()
    seed = torch.tensor(POSTURE, dtype=torch.float64)
    seeded = solve_ik(ARM, T, seeds=seed, options=IKOptions(objective="posture"))
    given = solve_ik(ARM, T, seeds=seed, options=options("posture"))
    assert torch.equal(seeded.solutions, given.solutions)


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_an_arm_without_a_spare_joint_is_left_where_it_is(objective):
    arm = ur5e()
    q = arm.random(40, generator=torch.Generator().manual_seed(2))
    q = q[torch.linalg.svdvals(arm.jacobian(q))[:, -1] > 0.05]
    T = arm.forward_kinematics(q).get_matrix()
    tight = dict(position_tolerance=1e-7, rotation_tolerance=1e-7)
    plain, asked = (solve_ik(arm, T, options=IKOptions(objective=o, **tight)) for o in (None, objective))
    turns = (asked.best() - plain.best()) / (2 * torch.pi)
    assert ((turns - turns.round()).abs() * 2 * torch.pi).max() < 1e-4  # a posture may ask for another turn of a joint
    assert objective == "posture" or (asked.best() - plain.best()).abs().max() < 1e-4
    assert asked.converged_any.all()


def test_joints_that_turn_round_are_wound_towards_the_posture():
    arm = ur5e()
    posture = torch.full((6,), 3.5, dtype=torch.float64)
    T = arm.forward_kinematics(arm.random(60, generator=torch.Generator().manual_seed(4))).get_matrix()
    result = solve_ik(arm, T, options=IKOptions(objective="posture", posture=posture))
    assert result.converged_any.all() and ((result.best() >= arm.low) & (result.best() <= arm.high)).all()
    for turn in (-2 * torch.pi, 2 * torch.pi):
        other = result.best() + turn
        room = (other >= arm.low) & (other <= arm.high)
        assert ((other - posture).abs() >= (result.best() - posture).abs() - 1e-9)[room].all()


def test_a_joint_that_can_not_turn_round_is_drawn_to_the_posture_by_its_own_range():
    """The far end of a range of 5 rad is not near because it is 1.3 rad away the other way round."""
    plane = (joint(f"j{k}", "revolute", str(k), str(k + 1), xyz=(0.4, 0.0, 0.0), rpy=(0, 0, 0), lower=-2.6, upper=2.6)
             for k in range(4))  # fmt: skip
    whole = Chain(
        robot(*plane, joint("end", "fixed", "4", "tip", xyz=(0.4, 0.0, 0.0), rpy=(0, 0, 0))), dtype=torch.float64
    )
    arm = SerialChain(whole, "tip")
    point = IKOptions(weights=[1, 1, 0, 0, 0, 0], objective="posture", posture=[2.5, 0.0, 0.0, 0.0])
    T = arm.forward_kinematics([-1.5, 0.5, -0.4, 0.3]).get_matrix()
    start = torch.tensor([-1.5, 0.5, -0.4, 0.3], dtype=torch.float64)
    result = solve_ik(arm, T, seeds=start, options=point).best()[0]
    goal = torch.tensor([2.5, 0.0, 0.0, 0.0], dtype=torch.float64)
    assert (result - goal).norm() < (start - goal).norm()


def test_objectives_are_the_same_bits_in_a_batch_and_alone():
    T = ARM.forward_kinematics(ARM.random(12)).get_matrix()
    for objective in OBJECTIVES:
        whole = solve_ik(ARM, T, options=options(objective)).solutions
        assert torch.equal(solve_ik(ARM, T[7], options=options(objective)).solutions[0], whole[7])


def test_an_objective_holds_for_a_float32_arm_and_for_several_solutions():
    arm = panda(torch.float32)
    T = arm.forward_kinematics(arm.random(30)).get_matrix()
    result = solve_ik(arm, T, num_solutions=2, options=options("limits"))
    assert result.converged_any.all() and result.position_error[result.converged].max() <= 1e-4


def test_an_objective_serves_two_tips_at_once():
    hand = chain("panda")
    q = hand.random(20, generator=torch.Generator().manual_seed(5))
    poses = hand.forward_kinematics(q)
    T = {name: poses[name].get_matrix() for name in ("panda_leftfinger", "panda_rightfinger")}
    plain, better = (solve_ik(hand, T, options=IKOptions(objective=o)) for o in (None, "limits"))
    both = plain.converged_any & better.converged_any
    assert both.double().mean() > 0.9
    arm = slice(0, 7)
    middle, half = 0.5 * (hand.low + hand.high)[arm], 0.5 * (hand.high - hand.low)[arm]
    before, after = (((r.best()[both][:, arm] - middle) / half).square().sum(-1) for r in (plain, better))
    assert after.mean() < before.mean()


def test_an_objective_that_can_not_be_is_refused():
    with pytest.raises(IKOptionError, match="objective must be None or one of.*posture"):
        IKOptions(objective="beauty")
    with pytest.raises(IKOptionError, match="posture is for objective"):
        IKOptions(posture=POSTURE)
    T = ARM.forward_kinematics(ARM.random(1)).get_matrix()
    for posture in ([0.0] * 6, [float("nan")] * 7):
        with pytest.raises(IKOptionError, match="posture must be 7 finite numbers"):
            solve_ik(ARM, T, options=IKOptions(objective="posture", posture=posture))
