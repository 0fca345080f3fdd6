"""Inverse kinematics: what it promises about solutions, limits, status and input."""

from __future__ import annotations

import math

import corpus
import numpy as np
import pinocchio
import pytest
import torch
from robots import chain, joint, panda, robot, text, ur5e

from pk_core import (
    Chain,
    IKFailed,
    IKOptionError,
    IKOptions,
    IKStatus,
    ModelError,
    SerialChain,
    ShapeError,
    TensorTypeError,
    Transform3d,
    UnknownJoint,
    UnknownLink,
    matrix_to_quaternion,
    parse_urdf,
    solve_ik,
)

ARM = panda()
N = 500


def reachable(arm: SerialChain, n: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw configurations inside the limits, and the poses they give."""
    q = arm.random(n, generator=torch.Generator().manual_seed(seed))
    return q, arm.forward_kinematics(q).get_matrix()


def pinocchio_errors(urdf: str, frame: str, q: torch.Tensor, targets: torch.Tensor) -> np.ndarray:
    """Judge solutions (n, nq) by another program: position and rotation errors (n, 2)."""
    model = pinocchio.buildModelFromXML(urdf)
    data, index = model.createData(), model.getFrameId(frame)
    errors = []
    for x, T in zip(q.double().numpy(), targets.double().numpy()):
        full = np.zeros(model.nq)
        full[: len(x)] = x
        pinocchio.framesForwardKinematics(model, data, full)
        pose = data.oMf[index]
        R = pose.rotation.T @ T[:3, :3]
        errors.append((np.linalg.norm(pose.translation - T[:3, 3]), np.linalg.norm(pinocchio.log3(R))))
    return np.array(errors)


@pytest.mark.parametrize(("arm", "name", "frame"), [(panda(), "panda", "panda_hand_tcp"), (ur5e(), "ur5e", "tool0")])
def test_ten_thousand_reachable_targets_are_solved_inside_the_limits_as_pinocchio_judges(arm, name, frame):
    _, T = reachable(arm, 10_000)
    result = solve_ik(arm, T)
    q = result.best()
    errors = pinocchio_errors(text(name), frame, q, T)
    good = (errors[:, 0] <= 1e-4) & (errors[:, 1] <= 1e-3) & ((q >= arm.low) & (q <= arm.high)).all(-1).numpy()
    assert good.mean() >= 0.999
    assert (good == result.converged[:, 0].numpy()).all()
    np.testing.assert_allclose(result.position_error[:, 0], errors[:, 0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(result.rotation_error[:, 0], errors[:, 1], rtol=0, atol=1e-7)


@corpus.require_corpus
def test_ten_thousand_targets_of_the_iiwa_are_solved():
    urdf = corpus.path("iiwa7").read_text()
    whole = Chain(parse_urdf(urdf), dtype=torch.float64)
    arm = SerialChain(whole, whole.get_link_names()[-1])
    _, T = reachable(arm, 10_000)
    result = solve_ik(arm, T)
    errors = pinocchio_errors(urdf, arm.end_frame, result.best(), T)
    inside = ((result.best() >= arm.low) & (result.best() <= arm.high)).all(-1).numpy()
    assert ((errors <= [1e-4, 1e-3]).all(1) & inside).mean() >= 0.999


def test_float32_solutions_are_judged_as_they_are_returned():
    arm = panda(torch.float32)
    _, T = reachable(arm, N)
    result = solve_ik(arm, T)
    assert result.solutions.dtype == torch.float32
    assert result.converged_any.all()
    errors = pinocchio_errors(text("panda"), "panda_hand_tcp", result.best(), T)
    assert (errors <= [1e-4, 1e-3]).all()
    high, low = (torch.tensor(bound, dtype=torch.float64) for bound in reversed(arm.get_joint_limits()))
    assert ((result.best().double() <= high) & (result.best().double() >= low)).all()


def test_tight_tolerances_are_met():
    _, T = reachable(ARM, N)
    result = solve_ik(ARM, T, options=IKOptions(position_tolerance=1e-9, rotation_tolerance=1e-9))
    assert result.converged_any.all()
    assert result.position_error.max() <= 1e-9 and result.rotation_error.max() <= 1e-9


def test_every_form_of_a_target_is_the_same_target():
    _, T = reachable(ARM, 4)
    expected = solve_ik(ARM, T).solutions
    wxyz = torch.cat([T[:, :3, 3], matrix_to_quaternion(T[:, :3, :3])], -1)
    assert torch.equal(solve_ik(ARM, Transform3d(matrix=T)).solutions, expected)
    assert torch.equal(solve_ik(ARM, T.numpy()).solutions, expected)
    torch.testing.assert_close(
        solve_ik(ARM, 3.0 * wxyz * torch.tensor([1 / 3] * 3 + [1] * 4)).position_error < 1e-4,
        torch.ones(4, 1, dtype=torch.bool),
    )
    assert torch.equal(solve_ik(ARM, T.view(2, 2, 4, 4)).solutions, expected.view(2, 2, 1, 7))
    assert solve_ik(ARM, T[0]).solutions.shape == (1, 1, 7)
    assert solve_ik(ARM, wxyz[0]).solutions.shape == (1, 1, 7)


def test_a_batch_is_a_loop_to_the_bit_and_a_permutation_permutes():
    _, T = reachable(ARM, 200)
    seeds = ARM.random(200)
    whole = solve_ik(ARM, T, seeds=seeds)
    for k in (0, 7, 199):
        assert torch.equal(solve_ik(ARM, T[k], seeds=seeds[k : k + 1]).solutions, whole.solutions[k : k + 1])
    order = torch.randperm(200)
    assert torch.equal(solve_ik(ARM, T[order], seeds=seeds[order]).solutions, whole.solutions[order])


def test_the_number_of_threads_does_not_change_a_bit():
    _, T = reachable(ARM, 300)
    threads = torch.get_num_threads()
    results = []
    try:
        for n in (1, 2, 5):
            torch.set_num_threads(n)
            results.append(solve_ik(ARM, T).solutions)
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])


def test_a_target_equal_to_the_seed_takes_no_step():
    q, T = reachable(ARM, 10)
    result = solve_ik(ARM, T, seeds=q)
    assert result.iterations.tolist() == [0] * 10 and result.restarts.tolist() == [0] * 10
    torch.testing.assert_close(result.best(), q, rtol=0, atol=0)


def test_a_seed_near_the_solution_leads_to_it():
    q, T = reachable(ARM, N)
    near = ARM.clamp(q + 0.02 * torch.randn_like(q))
    result = solve_ik(ARM, T, seeds=near)
    assert ((result.best() - near).abs().max(-1).values < 0.3).double().mean() > 0.99


def test_one_seed_serves_all_targets_and_seeds_outside_the_limits_are_brought_inside():
    _, T = reachable(ARM, 20)
    assert solve_ik(ARM, T, seeds=ARM.neutral()).converged_any.all()
    result = solve_ik(ARM, T, seeds=torch.full((7,), 50.0, dtype=torch.float64))
    assert result.converged_any.all() and (result.best() <= ARM.high).all()


def test_bad_rows_are_marked_and_leave_the_others():
    _, T = reachable(ARM, 8)
    bad = T.clone()
    bad[1, 0, 0] = torch.nan
    bad[3, :3, :3] *= 1.1
    bad[4, :3, 0] *= -1  # a reflection
    bad[6, 3, 0] = 1.0
    result = solve_ik(ARM, bad)
    invalid = (result.status[:, 0] == IKStatus.INVALID_INPUT).tolist()
    assert invalid == [False, True, False, True, True, False, True, False]
    assert result.solutions[invalid].isnan().all() and result.position_error[invalid].isnan().all()
    assert torch.equal(result.converged_any, ~torch.tensor(invalid))
    assert torch.equal(result.solutions[[0, 2, 5, 7]], solve_ik(ARM, T).solutions[[0, 2, 5, 7]])


def test_zero_quaternions_and_bad_seeds_are_invalid_rows():
    wxyz = torch.tensor([[0.4, 0, 0.4, 0, 0, 0, 0], [0.4, 0, 0.4, 1, 0, 0, 0]], dtype=torch.float64)
    assert solve_ik(ARM, wxyz).status[0, 0] == IKStatus.INVALID_INPUT
    seeds = torch.zeros(2, 7, dtype=torch.float64)
    seeds[1, 2] = torch.inf
    seeds[0, 0] = torch.nan
    assert (solve_ik(ARM, wxyz[[1, 1]], seeds=seeds).status[:, 0] == IKStatus.INVALID_INPUT).tolist() == [True, False]


def test_targets_beyond_reach_are_called_unreachable_and_nothing_converges():
    _, T = reachable(ARM, 50)
    far = T.clone()
    far[:, :3, 3] += 3.0 * torch.nn.functional.normalize(far[:, :3, 3], dim=-1)
    result = solve_ik(ARM, far)
    assert (result.status == IKStatus.UNREACHABLE).all() and not result.converged_any.any()
    assert result.solutions.isfinite().all() and (result.best() <= ARM.high).all() and (result.best() >= ARM.low).all()


def test_the_best_configuration_is_returned_where_nothing_converged():
    T = torch.eye(4, dtype=torch.float64)
    T[:3, 3] = torch.tensor([0.0, 0.0, 1.4])  # inside the bound on reach, outside the workspace
    result = solve_ik(ARM, T)
    assert result.status.item() in (IKStatus.STALLED, IKStatus.LIMIT_BLOCKED, IKStatus.MAX_ITERATIONS)
    assert 0.01 < result.position_error.item() < 0.6
    pose = ARM.forward_kinematics(result.best()).get_matrix()[0]
    assert (pose[:3, 3] - T[:3, 3]).norm().item() == pytest.approx(result.position_error.item())


def test_raise_if_failed_says_how_many_and_which():
    _, T = reachable(ARM, 4)
    assert solve_ik(ARM, T).raise_if_failed().converged_any.all()
    T[2, :3, 3] = 9.0
    with pytest.raises(IKFailed, match=r"1 of 4.*1 UNREACHABLE.*\[2\]"):
        solve_ik(ARM, T).raise_if_failed()


def test_several_solutions_are_distinct_and_all_right():
    _, T = reachable(ARM, 20)
    result = solve_ik(ARM, T, num_solutions=4)
    assert result.solutions.shape == (20, 4, 7)
    assert torch.equal(result.n_solutions, result.converged.sum(-1))
    assert result.n_solutions.double().mean() > 3.5
    poses = ARM.forward_kinematics(result.solutions).get_matrix()
    for k in range(20):
        n = int(result.n_solutions[k])
        torch.testing.assert_close(poses[k, :n], T[k].expand(n, 4, 4), rtol=0, atol=2e-3)
        assert result.solutions[k, n:].isnan().all() and (result.status[k, n:] == IKStatus.NOT_FOUND).all()
        gaps = (result.solutions[k, :n, None] - result.solutions[k, None, :n]).abs().max(-1).values
        assert n == 1 or gaps[~torch.eye(n, dtype=torch.bool)].min() >= 0.05


def test_the_nearest_solution_is_no_further_than_the_first_found():
    arm = ur5e()
    q, T = reachable(arm, 100)
    seeds = arm.clamp(q + 0.3 * torch.randn_like(q))
    any_, nearest = (solve_ik(arm, T, seeds=seeds, options=IKOptions(prefer=p)) for p in ("any", "nearest"))
    assert nearest.converged_any.all()
    gap_any, gap_nearest = ((r.best() - seeds).norm(dim=-1) for r in (any_, nearest))
    assert (gap_nearest <= gap_any + 1e-9).all() and gap_nearest.median() < 1.0
    assert ((nearest.best() >= arm.low) & (nearest.best() <= arm.high)).all()


def test_nearest_winds_joints_by_whole_turns_where_the_limits_allow():
    arm = ur5e()
    _, T = reachable(arm, 1)
    seed = solve_ik(arm, T).best()
    seed[0, 0] = seed[0, 0] - math.copysign(2 * math.pi, seed[0, 0])  # the same pose, a turn away
    result = solve_ik(arm, T, seeds=seed, options=IKOptions(prefer="nearest"))
    torch.testing.assert_close(result.best(), seed, rtol=0, atol=1e-6)


def test_locked_joints_stay_at_the_seed():
    q, T = reachable(ARM, 50)
    seeds = ARM.random(50)
    seeds[:, 2] = q[:, 2]
    result = solve_ik(ARM, T, seeds=seeds, options=IKOptions(locked_joints=["panda_joint3"]))
    assert torch.equal(result.best()[:, 2], q[:, 2])
    assert result.converged_any.double().mean() > 0.95
    with pytest.raises(UnknownJoint, match="panda_joint33"):
        solve_ik(ARM, T, options=IKOptions(locked_joints=["panda_joint33"]))


def test_a_part_of_the_error_with_weight_zero_is_free():
    arm = ur5e()
    _, T = reachable(arm, 50)
    position_only = IKOptions(weights=[1, 1, 1, 0, 0, 0], position_tolerance=1e-6)
    result = solve_ik(arm, T, options=position_only)
    assert result.converged_any.all()
    assert (arm.forward_kinematics(result.best()).get_matrix()[:, :3, 3] - T[:, :3, 3]).norm(dim=-1).max() <= 1e-6
    assert result.iterations.double().mean() < 10
    free_spin = solve_ik(arm, T, options=IKOptions(weights=[1, 1, 1, 1, 1, 0], rotation_tolerance=1e-4))
    assert free_spin.converged_any.all()
    axis = arm.forward_kinematics(free_spin.best()).get_matrix()[:, :3, 2]
    assert torch.arccos((axis * T[:, :3, 2]).sum(-1).clamp(-1, 1)).max() < 2e-4


def test_callers_limits_take_the_place_of_the_models():
    _, T = reachable(ARM, 100)
    low, high = ARM.low.clone(), ARM.high.clone()
    low[0], high[0] = -0.5, 0.5
    result = solve_ik(ARM, T, options=IKOptions(joint_limits=(low.tolist(), high.tolist())))
    assert result.best()[:, 0].abs().max() <= 0.5
    assert result.converged_any.double().mean() > 0.3
    with pytest.raises(IKOptionError, match="joint_limits.*7"):
        solve_ik(ARM, T, options=IKOptions(joint_limits=([0.0], [1.0])))


def test_tolerances_may_differ_by_row():
    _, T = reachable(ARM, 100)
    tolerance = torch.where(torch.arange(100) % 2 == 0, 1e-8, 1e-2).double()
    result = solve_ik(ARM, T, options=IKOptions(position_tolerance=tolerance, rotation_tolerance=1e-2))
    assert result.converged_any.all() and (result.position_error[:, 0] <= tolerance).all()
    assert result.position_error[1::2].max() > 1e-8
    with pytest.raises(ShapeError, match=r"position_tolerance has shape \(3,\)"):
        solve_ik(ARM, T, options=IKOptions(position_tolerance=torch.ones(3)))


def test_unlimited_joints_beside_limited_ones_are_no_trouble():
    arm = Chain(
        robot(
            joint("spin", "continuous", "a", "b"),
            joint("lift", "prismatic", "b", "c", lower=0.0, upper=0.5),
            joint("free", "prismatic", "c", "d", (1.0, 0.0, 0.0)),
            joint("bend", "revolute", "d", "e", (0.0, 1.0, 0.0), lower=-1.0, upper=1.0),
            joint("turn", "continuous", "e", "f", (1.0, 0.0, 0.0)),
            joint("roll", "revolute", "f", "g", (0.0, 1.0, 0.0), lower=-2.0, upper=2.0),
        ),
        dtype=torch.float64,
    )
    q = arm.random(300)
    T = arm.forward_kinematics(q)["g"].get_matrix()
    result = solve_ik(arm, T, frame="g")
    assert result.converged_any.all() and result.solutions.isfinite().all()
    assert result.best()[:, 0].abs().max() <= 3 * math.pi


def test_a_frame_of_a_tree_is_placed_and_joints_off_its_path_stand_still():
    whole = chain("panda")
    q = whole.random(50)
    T = whole.forward_kinematics(q)["panda_hand_tcp"].get_matrix()
    result = solve_ik(whole, T, frame="panda_hand_tcp", seeds=q)
    assert torch.equal(result.best()[:, 7], q[:, 7])
    with pytest.raises(IKOptionError, match="which frame.*panda_hand_tcp"):
        solve_ik(whole, T)
    with pytest.raises(UnknownLink, match="panda_hnad"):
        solve_ik(whole, T, frame="panda_hnad")


def test_mimic_joints_on_the_path_follow_while_solving():
    from pk_core.model import Mimic

    arm = Chain(
        robot(
            joint("j1", "revolute", "a", "b", lower=-2.0, upper=2.0),
            joint("j2", "revolute", "b", "c", (0.0, 1.0, 0.0), mimic=Mimic("j3", -0.5, 0.1)),
            joint("j3", "revolute", "c", "d", (0.0, 1.0, 0.0), lower=-2.0, upper=2.0),
            joint("j4", "prismatic", "d", "e", (1.0, 0.0, 0.0), lower=0.0, upper=0.4),
        ),
        dtype=torch.float64,
    )
    q = arm.random(100)
    T = arm.forward_kinematics(q)["e"].get_matrix()
    result = solve_ik(arm, T, frame="e")
    assert result.converged_any.all()
    torch.testing.assert_close(arm.forward_kinematics(result.best())["e"].get_matrix(), T, rtol=0, atol=2e-3)


def test_floating_and_planar_joints_stay_at_the_seed():
    base = Chain(
        robot(
            joint("float", "floating", "w", "a"),
            joint("plane", "planar", "a", "b"),
            joint("j", "revolute", "b", "c", lower=-3.0, upper=3.0),
        ),
        dtype=torch.float64,
    )
    q = base.random(20)
    seeds = q.clone()
    seeds[:, 10] = 0.5
    result = solve_ik(base, base.forward_kinematics(q)["c"].get_matrix(), frame="c", seeds=seeds)
    assert result.converged_any.all()
    torch.testing.assert_close(result.best(), q, rtol=0, atol=1e-3)
    assert torch.equal(result.best()[:, :10], q[:, :10])


def test_a_robot_without_joints_converges_where_it_stands_and_nowhere_else():
    fixed = SerialChain(chain("panda"), "panda_hand", "panda_link7")
    T = fixed.forward_kinematics([]).get_matrix()
    assert solve_ik(fixed, T).converged_any.all()
    T[0, 0, 3] += 0.01
    assert solve_ik(fixed, T).status.item() in (IKStatus.STALLED, IKStatus.UNREACHABLE)


def test_an_empty_batch_gives_an_empty_result():
    result = solve_ik(ARM, torch.empty(0, 4, 4, dtype=torch.float64), num_solutions=2)
    assert result.solutions.shape == (0, 2, 7) and result.converged_any.shape == (0,)
    assert result.raise_if_failed() is result


def test_the_clock_ends_a_call_and_marks_what_was_not_done():
    T = torch.eye(4, dtype=torch.float64).repeat(200_000, 1, 1)
    T[:, :3, 3] = torch.tensor([0.0, 0.0, 1.4])
    T[:5] = reachable(ARM, 5)[1]
    result = solve_ik(ARM, T, options=IKOptions(timeout=0.2, max_restarts=10_000))
    assert result.converged_any[:5].all()
    assert (result.status[5:] == IKStatus.TIMEOUT).double().mean() > 0.9
    assert not result.converged_any[5:].any()


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("position_tolerance", 0.0), ("rotation_tolerance", -1.0), ("position_tolerance", math.nan), ("weights", [1.0] * 5),
        ("weights", [0.0] * 6), ("weights", [1, 1, 1, 1, 1, -1]), ("prefer", "best"), ("timeout", 0.0), ("timeout", math.inf),
        ("max_iterations", 0), ("max_restarts", -1), ("weights_frame", "world"), ("limit_margin", -0.1), ("limit_margin", math.nan),
        ("limit_margin", [[0.1]]), ("weights", [[1.0] * 6]), ("weights", [1, 1, 1, 1, 1, math.inf]), ("weights", "all"),
        ("position_tolerance", None), ("limit_margin", math.inf),
    ],
)  # fmt: skip
def test_an_option_that_can_not_be_is_refused_by_name(option, value):
    with pytest.raises(IKOptionError, match=option):
        IKOptions(**{option: value})


@pytest.mark.parametrize("targets", [torch.zeros(3, 3), torch.zeros(5), [[1, 2], [3, 4]], torch.tensor(3.0)])
def test_targets_of_a_wrong_shape_are_refused(targets):
    with pytest.raises(ShapeError, match="targets have shape"):
        solve_ik(ARM, targets)


def test_seeds_of_a_wrong_shape_are_refused():
    _, T = reachable(ARM, 4)
    with pytest.raises(ShapeError, match=r"seeds have shape \(3, 7\)"):
        solve_ik(ARM, T, seeds=torch.zeros(3, 7, dtype=torch.float64))
    with pytest.raises(ShapeError, match="7"):
        solve_ik(ARM, T, seeds=torch.zeros(6, dtype=torch.float64))
    with pytest.raises(IKOptionError, match="num_solutions"):
        solve_ik(ARM, T, num_solutions=0)


def test_limits_the_wrong_way_round_are_refused_where_they_matter():
    arm = Chain(robot(joint("j", "revolute", "a", "b", lower=-1.0, upper=1.0), joint("k", "revolute", "b", "c")))
    with pytest.raises(ModelError, match="'k'.*above"):
        solve_ik(arm, torch.eye(4), frame="c", options=IKOptions(joint_limits=([-1.0, 2.0], [1.0, -2.0])))


def test_random_seeds_give_other_solutions_and_the_same_seed_the_same():
    _, T = reachable(ARM, 100)
    first, again, other = (solve_ik(ARM, T, options=IKOptions(random_seed=s)).solutions for s in (1, 1, 2))
    assert torch.equal(first, again) and not torch.equal(first, other)


@pytest.mark.parametrize("far", [[1e200, 0, 0, 1, 0, 0, 0], [3.0, 0, 0, 1, 0, 0, 0]])
def test_a_row_without_an_answer_holds_a_configuration_of_its_own(far):
    """Never memory that was not written, nor the answer of another row."""
    reached = torch.cat([torch.tensor([0.4, 0.0, 0.4]), torch.tensor([0.0, 1.0, 0.0, 0.0])]).double()
    alone = solve_ik(ARM, torch.tensor(far, dtype=torch.float64))
    after = solve_ik(ARM, torch.stack([reached, torch.tensor(far, dtype=torch.float64)]))
    assert torch.equal(alone.solutions[0], after.solutions[1])
    assert ((alone.best() >= ARM.low) & (alone.best() <= ARM.high)).all()


def test_rows_that_the_clock_did_not_reach_hold_their_own_start():
    _, T = reachable(ARM, 3000)
    T[:, :3, 3] += 0.6
    seeds = ARM.random(3000)
    result = solve_ik(ARM, T, seeds=seeds, options=IKOptions(timeout=1e-6))
    untouched = (result.status[:, 0] == IKStatus.TIMEOUT) & (result.iterations == 0)
    assert untouched.any()
    assert torch.equal(result.best()[untouched], seeds[untouched])


def test_a_zero_quaternion_in_a_seed_is_invalid_input():
    base = Chain(robot(joint("float", "floating", "w", "a"), joint("j", "revolute", "a", "b")), dtype=torch.float64)
    T = base.forward_kinematics(base.neutral())["b"].get_matrix()
    result = solve_ik(base, T, frame="b", seeds=torch.zeros(8, dtype=torch.float64))
    assert result.status.item() == IKStatus.INVALID_INPUT


def test_locked_joints_are_brought_inside_their_limits_too():
    _, T = reachable(ARM, 3)
    for seeds in (None, torch.zeros(7, dtype=torch.float64)):  # joint 4 can't be zero
        result = solve_ik(ARM, T, seeds=seeds, options=IKOptions(locked_joints=["panda_joint4"]))
        assert (result.best()[:, 3] == ARM.high[3]).all()


@pytest.mark.parametrize("weights", [[0.01] * 6, [1e8] * 6, [1, 1, 1, 0.03, 0.03, 0.03], [1, 1, 1, 0.01, 0.01, 0.01]])
def test_weights_shape_the_way_and_do_not_hinder_it(weights):
    _, T = reachable(ARM, 100)
    result = solve_ik(ARM, T, options=IKOptions(weights=weights))
    assert result.converged_any.double().mean() >= 0.99
    if len(set(weights)) == 1:
        torch.testing.assert_close(result.solutions, solve_ik(ARM, T).solutions, rtol=0, atol=1e-3)


@pytest.mark.parametrize(("limits", "goal"), [({}, 1e4), ({"lower": 0.0, "upper": 100.0}, 97.0), ({}, 50.0)])
def test_a_slide_goes_any_way_its_limits_allow(limits, goal):
    gantry = Chain(
        robot(*(joint(f"s{k}", "prismatic", str(k), str(k + 1), axis, rpy=(0, 0, 0), **limits)
                for k, axis in enumerate([(1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)]))),
        dtype=torch.float64,
    )  # fmt: skip
    T = gantry.forward_kinematics([goal, goal / 2, goal / 3])["3"].get_matrix()
    result = solve_ik(gantry, T, frame="3")
    assert result.converged_any.all() and result.restarts.item() == 0


def test_an_interrupt_ends_a_long_call():
    code = """
    import os, signal, threading, torch, pk_core as pk
    arm = pk.build_serial_chain_from_urdf(open("config/robots/panda.urdf").read(), "panda_hand_tcp", dtype=torch.float64)
    T = torch.eye(4, dtype=torch.float64).repeat(200_000, 1, 1)
    T[:, 2, 3] = 1.4
    pk.solve_ik(arm, T[:1])
    signal.signal(signal.SIGINT, signal.default_int_handler)  # children of a background shell ignore it
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        pk.solve_ik(arm, T, options=pk.IKOptions(max_restarts=10_000))
    except KeyboardInterrupt:
        print("interrupted")
    """
    from test_compilation import run

    assert run(code).stdout == "interrupted\n"


def test_options_of_another_number_type_compile_nothing_new():
    from pk_core.ik.kernel import solve_slice

    solve_ik(ARM, reachable(ARM, 1)[1])
    before = len(solve_slice.signatures)
    solve_ik(ARM, reachable(ARM, 1)[1], options=IKOptions(damping=0, gain=0, distinct=0, weights=[1, 1, 1, 1, 1, 1]))
    assert len(solve_slice.signatures) == before
    for option in ("max_iterations", "max_restarts", "patience", "random_seed"):
        for value in (1.5, math.inf, "a", None, True):
            with pytest.raises(IKOptionError, match=option):
                IKOptions(**{option: value})
    with pytest.raises(IKOptionError, match="locked_joints"):
        IKOptions(locked_joints="panda_joint1")
    with pytest.raises(IKOptionError, match="num_solutions"):
        solve_ik(ARM, torch.eye(4), num_solutions=1.5)
    with pytest.raises(IKOptionError, match="Chain"):
        solve_ik(None, torch.eye(4))


def test_weights_in_base_axes_leave_a_turn_about_the_vertical_free():
    """As for a cup: it stays upright, whichever way it faces; the tip's own axes say another thing."""
    _, T = reachable(ARM, 30)
    upright = IKOptions(weights=[1, 1, 1, 1, 1, 0], weights_frame="base", rotation_tolerance=1e-4)
    result = solve_ik(ARM, T, options=upright)
    assert result.converged_any.all() and (result.rotation_error <= 1e-4).all()
    R = ARM.forward_kinematics(result.best()).get_matrix()[:, :3, :3] @ T[:, :3, :3].mT  # from target to tip, root axes
    vector = torch.tensor(np.array([pinocchio.log3(r) for r in R.numpy()]))
    assert vector[:, :2].norm(dim=-1).max() <= 1e-4 + 1e-9 and vector[:, 2].abs().max() > 0.1
    in_tool_axes = torch.einsum("nij,ni->nj", ARM.forward_kinematics(result.best()).get_matrix()[:, :3, :3], vector)
    assert in_tool_axes[:, :2].norm(dim=-1).max() > 0.1


def test_targets_may_be_given_in_the_frame_that_the_base_stands_in():
    q, T = reachable(ARM, 40)
    base = torch.eye(4, dtype=torch.float64)
    base[:3, :3] = torch.linalg.matrix_exp(torch.tensor([[0, -0.3, 0.8], [0.3, 0, -0.5], [-0.8, 0.5, 0]]).double())
    base[:3, 3] = torch.tensor([1.0, -2.0, 0.5])
    world = Transform3d(matrix=base).compose(Transform3d(matrix=T))
    expected = solve_ik(ARM, T)
    for pose in (base, Transform3d(matrix=base), torch.cat([base[:3, 3], matrix_to_quaternion(base[:3, :3])])):
        result = solve_ik(ARM, world, seeds=q, options=IKOptions(base_pose=pose))
        assert result.iterations.max() <= 2 and result.position_error.max() < 1e-4
    assert solve_ik(ARM, world, options=IKOptions(base_pose=base)).converged_any.all() and expected.converged_any.all()
    each = base.repeat(40, 1, 1)
    each[::2, :3, 3] += 1.0
    moved = world.get_matrix().clone()
    moved[::2, :3, 3] += 1.0
    result = solve_ik(ARM, moved, seeds=q, options=IKOptions(base_pose=each))
    assert result.converged_any.all() and result.iterations.max() <= 2
    each[3] = torch.nan
    each[5, 3, 0] = 1.0
    invalid = solve_ik(ARM, moved, options=IKOptions(base_pose=each)).status[:, 0] == IKStatus.INVALID_INPUT
    assert invalid.nonzero()[:, 0].tolist() == [3, 5]
    with pytest.raises(ShapeError, match=r"base_pose holds poses \(7,\).*\(40,\)"):
        solve_ik(ARM, moved, options=IKOptions(base_pose=each[:7]))
    with pytest.raises(ShapeError, match="base poses have shape"):
        solve_ik(ARM, moved, options=IKOptions(base_pose=torch.zeros(3)))


def test_weights_in_base_axes_turn_with_the_base():
    q, T = reachable(ARM, 20)
    base = torch.tensor([[0.0, 0, 1, 2], [1, 0, 0, 0], [0, 1, 0, -1], [0, 0, 0, 1]], dtype=torch.float64)
    free_up = IKOptions(weights=[1, 1, 0, 1, 1, 1], weights_frame="base", base_pose=base, position_tolerance=1e-6)
    target = base @ T
    target[:, 2, 3] += 0.1  # what is free does not count
    for options in (free_up, IKOptions(**{**vars(free_up), "base_pose": base.repeat(20, 1, 1)})):
        result = solve_ik(ARM, target, seeds=q, options=options)
        assert result.iterations.max() == 0 and torch.equal(result.best(), q)
    assert solve_ik(ARM, target, options=free_up).converged_any.all()


def test_joints_keep_a_margin_from_their_limits():
    q, T = reachable(ARM, 300)
    result = solve_ik(ARM, T, seeds=q, options=IKOptions(limit_margin=0.2))
    assert result.converged_any.double().mean() > 0.5
    assert ((result.best() >= ARM.low + 0.2) & (result.best() <= ARM.high - 0.2)).all()
    margins = [0.0] * 5 + [0.5, 0.0]
    some = solve_ik(ARM, T, seeds=q, options=IKOptions(limit_margin=margins)).best()
    assert (some[:, 5] <= ARM.high[5] - 0.5).all() and (some[:, 4] > ARM.high[4] - 0.5).any()
    with pytest.raises(IKOptionError, match="limit_margin 2 leaves joint 'panda_joint2'"):
        solve_ik(ARM, T, options=IKOptions(limit_margin=2.0))
    with pytest.raises(IKOptionError, match="one number or 7, got 3"):
        solve_ik(ARM, T, options=IKOptions(limit_margin=[0.1] * 3))
    whole = chain("panda")  # the fingers have no room for it, and don't move
    pose = whole.forward_kinematics(whole.neutral())["panda_hand"].get_matrix()
    assert solve_ik(whole, pose, frame="panda_hand", options=IKOptions(limit_margin=0.1)).solutions.isfinite().all()


def test_tolerances_broadcast_with_the_batch():
    _, T = reachable(ARM, 12)
    rows = torch.tensor([[1e-8], [1e-2], [1e-8]], dtype=torch.float64)
    result = solve_ik(ARM, T.view(3, 4, 4, 4), options=IKOptions(position_tolerance=rows, rotation_tolerance=1e-2))
    assert (result.position_error[..., 0] <= rows).all() and result.position_error[1].max() > 1e-8
    with pytest.raises(ShapeError, match=r"rotation_tolerance has shape \(12,\).*\(3, 4\)"):
        solve_ik(ARM, T.view(3, 4, 4, 4), options=IKOptions(rotation_tolerance=torch.full((12,), 0.1)))


def test_what_calls_share_follows_the_options_the_dtype_and_the_parameters():
    """Options of the same values share a setup; no other call does."""
    arm = panda()
    q, T = reachable(arm, 30)
    plain = solve_ik(arm, T).solutions
    assert torch.equal(solve_ik(arm, T, options=IKOptions()).solutions, plain)
    high = arm.high.tolist()
    narrow = [0.5 * x for x in high]
    limits = [arm.low.tolist(), high]
    options = IKOptions(joint_limits=limits)
    assert torch.equal(solve_ik(arm, T, options=options).solutions, plain)
    limits[1][:] = narrow  # the caller's own list: the options were made of what stood there
    assert torch.equal(solve_ik(arm, T, options=options).solutions, plain)
    halved = solve_ik(arm, T, options=IKOptions(joint_limits=limits))
    assert (halved.best() <= torch.tensor(narrow, dtype=torch.float64)).all()
    for changed in (IKOptions(random_seed=5), IKOptions(locked_joints=["panda_joint2"]), IKOptions(limit_margin=0.1),
                    IKOptions(weights=[1, 1, 1, 0, 0, 0]), IKOptions(max_iterations=1, max_restarts=0)):  # fmt: skip
        other = solve_ik(arm, T, options=changed)
        assert torch.equal(other.solutions, solve_ik(panda(), T, options=changed).solutions)
        assert not torch.equal(other.solutions, plain)
    assert torch.equal(solve_ik(arm, T).solutions, plain)
    single = solve_ik(arm.to(dtype=torch.float32), T)
    assert single.solutions.dtype == torch.float32 and single.converged_any.all()
    assert torch.equal(solve_ik(arm.to(dtype=torch.float64), T).solutions, plain)
    shifted = arm.with_parameters(offsets={"panda_joint1": torch.tensor(0.4, dtype=torch.float64)})
    moved = solve_ik(shifted, T, seeds=q)
    torch.testing.assert_close(shifted.forward_kinematics(moved.best()).get_matrix(), T, rtol=0, atol=2e-3)
    assert (moved.best() - q)[:, 0].abs().min() > 0.01


def test_tolerances_in_a_tensor_are_read_at_each_call():
    q, T = reachable(ARM, 4)
    rows = torch.full((4,), 1e-9, dtype=torch.float64)
    options = IKOptions(position_tolerance=rows)
    assert solve_ik(ARM, T, options=options).position_error.max() <= 1e-9
    rows.fill_(10.0)
    assert (
        solve_ik(ARM, T, seeds=q, options=IKOptions(position_tolerance=rows, rotation_tolerance=10.0)).iterations.max()
        == 0
    )
    loose = solve_ik(ARM, T, options=options)
    assert loose.converged_any.all() and loose.position_error.max() > 1e-9


def test_many_different_options_keep_no_more_than_a_bounded_number_of_setups():
    from pk_core.ik.arguments import SETUPS, _setups

    arm = panda()
    _, T = reachable(arm, 1)
    for seed in range(SETUPS + 5):
        solve_ik(arm, T, options=IKOptions(random_seed=seed, max_restarts=0, max_iterations=1))
    tensors = arm._frames((arm.end_frame,))
    assert 0 < len(_setups[tensors]) <= SETUPS


def test_a_chain_that_is_gone_leaves_no_setup_behind():
    import gc
    import weakref

    arm = panda()
    solve_ik(arm, reachable(arm, 1)[1])
    kept = weakref.ref(arm._frames((arm.end_frame,)))
    del arm
    gc.collect()
    assert kept() is None


@pytest.mark.parametrize("limits", [(0.0, 1.0), ([0.0] * 7,), ([0.0] * 7, "high"), 3])
def test_joint_limits_that_are_no_pair_are_refused(limits):
    with pytest.raises(IKOptionError, match="joint_limits must be"):
        IKOptions(joint_limits=limits)


def test_statuses_say_how_a_search_ended():
    T = torch.eye(4, dtype=torch.float64).repeat(3, 1, 1)
    T[0, :3, 3] = torch.tensor([0.0, 0.0, 1.4])  # inside the bound on reach, outside the workspace
    T[1], T[2, :3, 3] = reachable(ARM, 1)[1][0], torch.tensor([5.0, 0.0, 0.0])
    one = solve_ik(ARM, T, options=IKOptions(max_iterations=2, max_restarts=0, patience=5)).status[:, 0].tolist()
    assert one == [IKStatus.MAX_ITERATIONS, IKStatus.MAX_ITERATIONS, IKStatus.UNREACHABLE]
    up, along = (joint("up", "prismatic", "a", "b", rpy=(0, 0, 0), lower=0.0, upper=0.1),
                 joint("along", "prismatic", "b", "c", (1.0, 0.0, 0.0), rpy=(0, 0, 0), lower=0.0, upper=2.0))  # fmt: skip
    slider = Chain(robot(up, along), dtype=torch.float64)
    goal = slider.forward_kinematics([0.05, 1.0])["c"].get_matrix()
    goal[0, :3, 3] += goal[0, :3, :3] @ torch.tensor([0.0, 0.4, 0.0], dtype=torch.float64)
    off_axis = solve_ik(slider, goal, frame="c").status.item()
    assert off_axis == IKStatus.STALLED
    beyond = slider.forward_kinematics([0.6, 1.0])["c"].get_matrix()
    assert solve_ik(slider, beyond, frame="c").status.item() == IKStatus.LIMIT_BLOCKED


@pytest.mark.parametrize("wrong", [None, "pose", [[1.0], [2.0, 3.0]], torch.eye(4, dtype=torch.complex64)], ids=repr)
def test_targets_that_are_no_numbers_are_refused(wrong):
    with pytest.raises(TensorTypeError, match="targets must be"):
        solve_ik(ARM, wrong)


def test_a_list_of_arrays_is_a_batch():
    poses = ARM.forward_kinematics(ARM.random(3)).get_matrix()
    assert solve_ik(ARM, list(poses.numpy())).converged_any.all()
