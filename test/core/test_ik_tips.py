"""Several frames placed at once: a dict of targets, joints that tips share, one result; judged by Pinocchio."""

from __future__ import annotations

import corpus
import numpy as np
import pinocchio
import pytest
import torch
from robots import chain, joint, robot
from test_ik_gradients import EXACT, STEP, moved

from pk_core import (
    Chain,
    IKOptionError,
    IKOptions,
    IKStatus,
    ShapeError,
    Transform3d,
    UnknownLink,
    matrix_to_quaternion,
    parse_urdf,
    solve_ik,
)
from pk_core.model import Mimic

HANDS = {
    "yumi": ("gripper_r_base", "gripper_l_base"),
    "g1_29dof_with_hand": ("right_hand_palm_link", "left_hand_palm_link"),
}


def humanoid() -> Chain:
    """Make a waist of two joints with an arm of six on each side."""
    joints = [
        joint("yaw", "revolute", "base", "waist", lower=-1.0, upper=1.0),
        joint("lean", "revolute", "waist", "chest", (0.0, 1.0, 0.0), lower=-0.4, upper=0.9),
    ]
    axes = [(0.0, 0.0, 1.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)]
    for side, sign in (("left", 1.0), ("right", -1.0)):
        names = ["chest", *(f"{side}_{k}" for k in range(5)), side]
        joints += [
            joint(f"{side}_j{k}", "revolute", names[k], names[k + 1], axis, xyz=(0.2, sign * 0.15, 0.0), rpy=(0.1 * sign, 0.2, 0.0),
                  lower=-2.2, upper=2.2)
            for k, axis in enumerate(axes)
        ]  # fmt: skip
    return Chain(robot(*joints), dtype=torch.float64)


BODY = humanoid()


def targets_of(body: Chain, q: torch.Tensor, names: tuple[str, ...]) -> dict[str, torch.Tensor]:
    poses = body.forward_kinematics(q)
    return {name: poses[name].get_matrix() for name in names}


def draw(body: Chain, n: int, *names: str, seed: int = 0) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """Draw configurations inside the limits, and the poses they give to some frames."""
    q = body.random(n, generator=torch.Generator().manual_seed(seed))
    return q, targets_of(body, q, names)


@corpus.require_corpus
@pytest.mark.parametrize("name", HANDS)
def test_both_hands_of_a_robot_reach_their_targets_at_once_as_pinocchio_judges(name):
    urdf = corpus.path(name).read_text()
    whole = Chain(parse_urdf(urdf), dtype=torch.float64)
    _, T = draw(whole, 200, *HANDS[name])
    result = solve_ik(whole, T)
    assert result.converged_any.double().mean() >= 0.99
    x = result.best()
    assert ((x >= whole.low) & (x <= whole.high)).all()
    model = pinocchio.buildModelFromXML(urdf)
    data, names = model.createData(), whole.get_joint_parameter_names()
    for row in result.converged_any.nonzero().flatten().tolist():
        full = np.zeros(model.nq)
        for column, joint_name in enumerate(names):
            full[model.joints[model.getJointId(joint_name)].idx_q] = x[row, column]
        pinocchio.framesForwardKinematics(model, data, full)
        worst = np.zeros(2)
        for tip in HANDS[name]:
            pose, goal = data.oMf[model.getFrameId(tip)], T[tip][row].numpy()
            angle = np.linalg.norm(pinocchio.log3(pose.rotation.T @ goal[:3, :3]))
            worst = np.maximum(worst, [np.linalg.norm(pose.translation - goal[:3, 3]), angle])
        assert (worst <= [1e-4, 1e-3]).all()
        judged = result.position_error[row, 0].item(), result.rotation_error[row, 0].item()
        np.testing.assert_allclose(judged, worst, rtol=0, atol=1e-7)


def test_hands_that_share_a_waist_are_placed_together():
    q, T = draw(BODY, 100, "left", "right")
    result = solve_ik(BODY, T)
    assert result.converged_any.double().mean() >= 0.99
    reached = targets_of(BODY, result.best(), ("left", "right"))
    for name in T:
        torch.testing.assert_close(
            reached[name][result.converged_any], T[name][result.converged_any], rtol=0, atol=2e-3
        )
    tight = solve_ik(BODY, T, seeds=q + 0.1, options=IKOptions(position_tolerance=1e-9, rotation_tolerance=1e-9))
    assert tight.converged_any.double().mean() >= 0.99 and tight.position_error[tight.converged].max() <= 1e-9


def test_one_hand_out_of_reach_fails_both():
    _, T = draw(BODY, 3, "left", "right")
    T["right"][1, :3, 3] = 9.0
    result = solve_ik(BODY, T)
    assert result.status[1].item() == IKStatus.UNREACHABLE and result.position_error[1].item() > 5
    assert result.converged_any.tolist() == [True, False, True]


def test_one_frame_in_a_dict_is_that_frame_alone_to_the_bit():
    _, T = draw(BODY, 20, "left")
    alone, named = solve_ik(BODY, T["left"], frame="left"), solve_ik(BODY, T)
    assert torch.equal(alone.solutions, named.solutions) and torch.equal(alone.iterations, named.iterations)


def test_a_batch_of_two_hands_is_a_loop_to_the_bit_and_a_permutation_permutes():
    q, T = draw(BODY, 40, "left", "right")
    whole = solve_ik(BODY, T, seeds=q.flip(0))
    for k in (0, 39):
        row = solve_ik(BODY, {name: pose[k] for name, pose in T.items()}, seeds=q.flip(0)[k : k + 1])
        assert torch.equal(row.solutions[0], whole.solutions[k])
    order = torch.randperm(40)
    permuted = solve_ik(BODY, {name: pose[order] for name, pose in T.items()}, seeds=q.flip(0)[order])
    assert torch.equal(permuted.solutions, whole.solutions[order])


def test_every_frame_may_have_a_form_of_its_own():
    _, T = draw(BODY, 6, "left", "right")
    left, right = T["left"], T["right"]
    wxyz = torch.cat([right[:, :3, 3], matrix_to_quaternion(right[:, :3, :3])], -1)
    mixed = solve_ik(BODY, {"left": Transform3d(matrix=left), "right": wxyz})
    assert mixed.converged_any.all()
    reached = targets_of(BODY, mixed.best(), ("left", "right"))
    for name in T:
        torch.testing.assert_close(reached[name], T[name], rtol=0, atol=2e-3)
    shaped = solve_ik(BODY, {name: pose.view(2, 3, 4, 4) for name, pose in T.items()}, num_solutions=2)
    assert shaped.solutions.shape == (2, 3, 2, BODY.nq) and shaped.n_solutions.shape == (2, 3)


def test_a_bad_pose_of_one_frame_spoils_its_row_alone():
    _, T = draw(BODY, 4, "left", "right")
    clean = solve_ik(BODY, T)
    T["right"] = T["right"].clone()
    T["right"][2, 0, 0] = torch.nan
    result = solve_ik(BODY, T)
    assert (result.status[:, 0] == IKStatus.INVALID_INPUT).tolist() == [False, False, True, False]
    assert result.solutions[2].isnan().all()
    assert torch.equal(result.solutions[[0, 1, 3]], clean.solutions[[0, 1, 3]])


def test_the_target_of_a_frame_on_the_way_to_another_counts_too():
    arm = chain("panda")
    _, T = draw(arm, 30, "panda_link4", "panda_hand_tcp")
    result = solve_ik(arm, T, seeds=arm.neutral())
    assert result.converged_any.double().mean() > 0.9
    good = result.converged_any
    torch.testing.assert_close(targets_of(arm, result.best(), ("panda_link4",))["panda_link4"][good], T["panda_link4"][good],
                               rtol=0, atol=2e-3)  # fmt: skip


def test_fingers_that_mimic_one_joint_are_placed_by_it_and_the_arm():
    hand = chain("panda")
    tips = ("panda_leftfinger", "panda_rightfinger")
    q, T = draw(hand, 60, *tips)
    result = solve_ik(hand, T)
    assert result.converged_any.double().mean() >= 0.98
    torch.testing.assert_close(result.best()[result.converged_any, 7], q[result.converged_any, 7], rtol=0, atol=3e-4)
    apart = {tips[0]: T[tips[0]], tips[1]: T[tips[1]].clone()}
    apart[tips[1]][:, :3, 3] += 0.05  # no opening of the gripper does that
    assert not solve_ik(hand, apart).converged_any.any()


def test_fingers_of_a_tree_meet_points_with_rotations_left_free():
    bent = dict(axis=(0.0, 1.0, 0.0), lower=-1.5, upper=1.5)
    fingers = [joint("palm", "revolute", "arm", "palm", lower=-2.0, upper=2.0)]
    for k in range(3):
        fingers += [
            joint(
                f"spread{k}",
                "revolute",
                "palm",
                f"a{k}",
                (1.0, 0.0, 0.0),
                xyz=(0.0, 0.02 * k, 0.0),
                lower=-1.5,
                upper=1.5,
            ),
            joint(f"bend{k}", "revolute", f"a{k}", f"b{k}", xyz=(0.0, 0.0, 0.04), **bent),
            joint(
                f"tip{k}", "revolute", f"b{k}", f"c{k}", xyz=(0.0, 0.0, 0.03), mimic=Mimic(f"bend{k}", 0.7, 0.0), **bent
            ),
            joint(f"end{k}", "fixed", f"c{k}", f"pad{k}", xyz=(0.0, 0.0, 0.02)),
        ]
    hand = Chain(robot(*fingers), dtype=torch.float64)
    pads = ("pad0", "pad1", "pad2")
    _, T = draw(hand, 50, *pads)
    result = solve_ik(hand, T, options=IKOptions(weights=[1, 1, 1, 0, 0, 0]))
    assert result.converged_any.double().mean() >= 0.98
    reached = targets_of(hand, result.best(), pads)
    for name in pads:
        gap = (reached[name] - T[name])[result.converged_any, :3, 3].norm(dim=-1)
        assert gap.max() <= 1e-4 + 1e-9


def test_what_a_dict_of_targets_may_not_be_is_said():
    _, T = draw(BODY, 4, "left", "right")
    with pytest.raises(ShapeError, match=r"one batch.*'left': \(4,\), 'right': \(3,\)"):
        solve_ik(BODY, {"left": T["left"], "right": T["right"][:3]})
    with pytest.raises(IKOptionError, match="empty dict"):
        solve_ik(BODY, {})
    with pytest.raises(IKOptionError, match="frame='left' beside"):
        solve_ik(BODY, T, frame="left")
    with pytest.raises(UnknownLink, match="lfet"):
        solve_ik(BODY, {"lfet": T["left"]})
    with pytest.raises(ShapeError, match="targets of 'right' have shape"):
        solve_ik(BODY, {"left": T["left"], "right": torch.zeros(4, 3)})


def test_an_empty_batch_of_two_hands_is_empty():
    none = torch.empty(0, 4, 4, dtype=torch.float64)
    assert solve_ik(BODY, {"left": none, "right": none}).solutions.shape == (0, 1, BODY.nq)


def test_the_nearest_and_several_solutions_of_two_hands_are_right():
    q, T = draw(BODY, 10, "left", "right")
    near = BODY.clamp(q + 0.05)
    result = solve_ik(BODY, T, seeds=near, num_solutions=3, options=IKOptions(prefer="nearest"))
    assert result.converged_any.all()
    reached = targets_of(BODY, result.solutions, ("left", "right"))
    for name in T:
        gap = (reached[name][..., :3, 3] - T[name][:, None, :3, 3]).norm(dim=-1)
        assert gap[result.converged].max() <= 1e-4
    distance = (result.solutions - near[:, None]).norm(dim=-1)
    assert (distance[:, 0] <= distance.nan_to_num(9.0).min(-1).values + 1e-9).all()


def test_one_base_pose_moves_the_targets_of_both_hands():
    q, T = draw(BODY, 5, "left", "right")
    base = torch.tensor([[0.0, -1, 0, 2], [1, 0, 0, -1], [0, 0, 1, 0.5], [0, 0, 0, 1]], dtype=torch.float64)
    world = {name: base @ pose for name, pose in T.items()}
    result = solve_ik(BODY, world, seeds=q, options=IKOptions(base_pose=base))
    assert result.iterations.max() == 0 and torch.equal(result.best(), q)


def inner(n: int) -> torch.Tensor:
    """Draw configurations away from limits and singularities."""
    q = BODY.random(400, generator=torch.Generator().manual_seed(1))
    q = 0.8 * q + 0.2 * BODY.neutral()
    J = torch.cat([BODY.jacobian(q, name) for name in ("left", "right")], -2)
    q = q[torch.linalg.svdvals(J)[:, -1] > 0.03][:n]
    assert len(q) == n
    return q


def test_solutions_of_two_hands_follow_their_targets_as_finite_differences_say():
    q, direction = inner(4), torch.randn(4, BODY.nq, dtype=torch.float64, generator=torch.Generator().manual_seed(2))

    def along(e):
        return solve_ik(BODY, targets_of(BODY, q + e * direction, ("left", "right")), seeds=q, options=EXACT).best()

    zero, one = torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64)
    same, tangent = torch.func.jvp(along, (zero,), (one,))
    assert torch.equal(same, q)
    torch.testing.assert_close(tangent, (along(zero + STEP) - along(zero - STEP)) / (2 * STEP), rtol=1e-4, atol=1e-4)
    for name in ("left", "right"):
        J = BODY.jacobian(q, name)
        torch.testing.assert_close(J @ tangent.unsqueeze(-1), J @ direction.unsqueeze(-1), rtol=1e-5, atol=1e-5)


def test_gradients_of_two_hands_reach_both_targets_and_parameters_backwards_too():
    q = inner(2)
    T, weights = targets_of(BODY, q, ("left", "right")), torch.randn(2, BODY.nq, dtype=torch.float64)
    twists = {name: torch.randn(2, 6, dtype=torch.float64) for name in T}

    def solve(left, right, offset):
        body = BODY.with_parameters(offsets={"yaw": offset})
        goals = {"left": moved(T["left"], left), "right": moved(T["right"], right)}
        return solve_ik(body, goals, seeds=q, options=EXACT).best()

    at = [
        torch.zeros(2, 6, dtype=torch.float64),
        torch.zeros(2, 6, dtype=torch.float64),
        torch.zeros((), dtype=torch.float64),
    ]
    along = [twists["left"], twists["right"], torch.tensor(0.7, dtype=torch.float64)]
    tangent = torch.func.jvp(solve, tuple(at), tuple(along))[1]
    expected = (
        solve(*(x + STEP * d for x, d in zip(at, along))) - solve(*(x - STEP * d for x, d in zip(at, along)))
    ) / (2 * STEP)
    torch.testing.assert_close(tangent, expected, rtol=1e-3, atol=1e-3)
    inputs = [x.clone().requires_grad_() for x in at]
    grads = torch.autograd.grad((solve(*inputs) * weights).sum(), inputs)
    forward, backward = (weights * tangent).sum(), sum((g * d).sum() for g, d in zip(grads, along))
    torch.testing.assert_close(backward, forward, rtol=1e-6, atol=1e-6)


def test_values_for_two_hands_are_the_same_bits_with_and_without_a_graph():
    _, T = draw(BODY, 10, "left", "right")
    plain = solve_ik(BODY, T)
    recorded = solve_ik(BODY, {name: pose.clone().requires_grad_() for name, pose in T.items()})
    assert recorded.solutions.requires_grad and torch.equal(plain.solutions, recorded.solutions.detach())
    assert torch.equal(torch.func.vmap(lambda left, right: solve_ik(BODY, {"left": left, "right": right}).best()[0])(*T.values()),
                       plain.best())  # fmt: skip
