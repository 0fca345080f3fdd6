"""Gradients of solutions: against finite differences of the solver itself, and against the Jacobian they have to undo."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from robots import chain, joint, panda, robot, ur5e

from pk_core import Chain, IKOptions, SerialChain, Transform3d, UnsupportedError, hat, matrix_to_quaternion, solve_ik
from pk_core.model import Mimic

EXACT = IKOptions(position_tolerance=1e-10, rotation_tolerance=1e-10, damping=1e-13, gradient_damping=1e-13)
STEP = 1e-4
FIVE_AXES = (
    joint("j1", "revolute", "a", "b", lower=-2.0, upper=2.0),
    joint("j2", "revolute", "b", "c", (0.0, 1.0, 0.0), mimic=Mimic("j3", -0.5, 0.1)),
    joint("j3", "revolute", "c", "d", (0.0, 1.0, 0.0), lower=-2.0, upper=2.0),
    joint("j4", "prismatic", "d", "e", (1.0, 0.0, 0.0), lower=0.0, upper=0.4),
    joint("j5", "continuous", "e", "f", (0.6, 0.8, 0.0)),
    joint("j6", "screw", "f", "g", pitch=0.1),
)
SEVEN_AXES = (
    *FIVE_AXES,
    joint("j7", "prismatic", "g", "h"),
    joint("j8", "revolute", "h", "end", (0.0, 0.6, 0.8), lower=-3.0, upper=3.0),
)


def tiny(*joints) -> SerialChain:
    """Make an arm that has slides, a screw and a mimic."""
    whole = Chain(robot(*joints), dtype=torch.float64)
    return SerialChain(whole, joints[-1].child)


ARMS = {"ur5e": ur5e(), "panda": panda(), "five axes": tiny(*FIVE_AXES), "seven axes": tiny(*SEVEN_AXES)}


def inner(arm: SerialChain, n: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw configurations away from limits and singularities, and the poses they give."""
    q = arm.random(500, generator=torch.Generator().manual_seed(1))
    q = 0.8 * q + 0.2 * arm.neutral() if arm.nq < 6 else q
    rank = min(6, arm.nq) - 1
    far = (
        (q - arm.low > 0.1 * (arm.high - arm.low).clamp(max=2))
        & (arm.high - q > 0.1 * (arm.high - arm.low).clamp(max=2))
    ).all(-1)
    q = q[far & (torch.linalg.svdvals(arm.jacobian(q))[:, rank] > 0.08)][:n]
    assert len(q) == n
    return q, arm.forward_kinematics(q).get_matrix()


def moved(T: torch.Tensor, twist: torch.Tensor) -> torch.Tensor:
    """Move poses by twists [dp; w] in root axes."""
    top = torch.cat(
        [torch.linalg.matrix_exp(hat(twist[..., 3:])) @ T[..., :3, :3], (T[..., :3, 3] + twist[..., :3]).unsqueeze(-1)],
        -1,
    )
    return torch.cat([top, T[..., 3:, :].expand(*top.shape[:-2], 1, 4)], -2)


def derivative(solve, T: torch.Tensor, twist: torch.Tensor) -> torch.Tensor:
    """Push a twist through the gradient of a function of poses."""
    return torch.func.jvp(
        lambda e: solve(moved(T, e * twist)),
        (torch.zeros((), dtype=torch.float64),),
        (torch.ones((), dtype=torch.float64),),
    )[1]


def difference(solve, T: torch.Tensor, twist: torch.Tensor) -> torch.Tensor:
    return (solve(moved(T, STEP * twist)) - solve(moved(T, -STEP * twist))) / (2 * STEP)


@pytest.mark.parametrize("name", ARMS)
def test_solutions_follow_targets_as_finite_differences_say(name):
    """Also where a joint is to spare: from a seed that is the solution the solver takes the least step."""
    arm = ARMS[name]
    q, _ = inner(arm, 6)
    direction = torch.randn(6, arm.nq, dtype=torch.float64, generator=torch.Generator().manual_seed(2))

    def along(e):
        return solve_ik(arm, arm.forward_kinematics(q + e * direction), seeds=q, options=EXACT).best()

    zero, one = torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64)
    same, tangent = torch.func.jvp(along, (zero,), (one,))
    assert torch.equal(same, q)
    torch.testing.assert_close(tangent, (along(zero + STEP) - along(zero - STEP)) / (2 * STEP), rtol=1e-4, atol=1e-5)
    if arm.nq < 7:
        torch.testing.assert_close(tangent, direction, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", ARMS)
def test_backward_is_the_transpose_of_forward_mode(name):
    arm = ARMS[name]
    q, T = inner(arm, 3)
    twist, weights = torch.randn(3, 6, dtype=torch.float64), torch.randn(3, arm.nq, dtype=torch.float64)

    def solve(twist):
        return solve_ik(arm, moved(T, twist), seeds=q).best()

    x = torch.zeros(3, 6, dtype=torch.float64, requires_grad=True)
    (grad,) = torch.autograd.grad((solve(x) * weights).sum(), x)
    tangent = torch.func.jvp(solve, (torch.zeros_like(twist),), (twist,))[1]
    torch.testing.assert_close((grad * twist).sum(-1), (weights * tangent).sum(-1), rtol=1e-6, atol=1e-6)


def test_a_spare_joint_moves_as_little_as_it_can():
    arm = ARMS["panda"]
    q, T = inner(arm, 8)
    twist = torch.randn(8, 6, dtype=torch.float64)
    dq = derivative(lambda T: solve_ik(arm, T, seeds=q, options=EXACT).best(), T, twist)
    J = arm.jacobian(q)
    torch.testing.assert_close((J @ dq.unsqueeze(-1)).squeeze(-1), twist, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(dq, (torch.linalg.pinv(J) @ twist.unsqueeze(-1)).squeeze(-1), rtol=1e-6, atol=1e-6)


def test_every_form_of_a_target_carries_gradients():
    arm = ARMS["ur5e"]
    q, T = inner(arm, 2)
    x = torch.cat([T[:, :3, 3], 1.7 * matrix_to_quaternion(T[:, :3, :3])], -1).requires_grad_()

    def from_wxyz(x):
        return solve_ik(arm, x, seeds=q, options=EXACT).best()

    assert torch.autograd.gradcheck(from_wxyz, x, eps=STEP, atol=1e-4, rtol=1e-4, fast_mode=True)

    def from_transform(x):
        return solve_ik(arm, Transform3d(pos=x[:, :3], rot=x[:, 3:]), seeds=q, options=EXACT).best()

    expected, got = (torch.autograd.functional.jacobian(f, x) for f in (from_wxyz, from_transform))
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-9)


def test_values_are_the_same_bits_with_and_without_a_graph():
    arm = panda(torch.float32)
    T = arm.forward_kinematics(arm.random(50)).get_matrix()
    plain, recorded = (solve_ik(arm, x, num_solutions=2) for x in (T, T.clone().requires_grad_()))
    assert plain.solutions.grad_fn is None and recorded.solutions.grad_fn is not None
    assert torch.equal(plain.solutions.nan_to_num(9), recorded.solutions.detach().nan_to_num(9))
    assert torch.equal(plain.status, recorded.status) and plain.joint_names == recorded.joint_names
    with torch.no_grad():
        assert not solve_ik(arm, T.clone().requires_grad_()).solutions.requires_grad
    x = T.double().requires_grad_()
    solve_ik(arm, x).best().sum().backward()
    assert x.grad.dtype == torch.float64


@pytest.mark.parametrize("held", [{"locked_joints": ["panda_joint3"]}, {"joint_limits": True}, {"limit_margin": True}])
def test_joints_that_are_locked_or_at_a_limit_stand_still_and_the_others_follow(held):
    arm = ARMS["panda"]
    q, T = inner(arm, 1)
    low, high = arm.low.clone(), arm.high.clone()
    if "joint_limits" in held:
        high[2] = q[0, 2]
        held = {"joint_limits": (low.tolist(), high.tolist())}
    elif "limit_margin" in held:
        held = {"limit_margin": [0.0, 0.0, (q[0, 2] - low[2]).item(), 0.0, 0.0, 0.0, 0.0]}
    options = IKOptions(**{**vars(EXACT), **held})
    twist = torch.randn(1, 6, dtype=torch.float64)
    dq = derivative(lambda T: solve_ik(arm, T, seeds=q, options=options).best(), T, twist)
    assert dq[0, 2] == 0.0
    torch.testing.assert_close((arm.jacobian(q) @ dq.unsqueeze(-1)).squeeze(-1), twist, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("axes", ["tool", "base"])
@pytest.mark.parametrize("weights", [[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0], [0, 1, 1, 2.0, 1, 1]])
def test_what_is_free_is_not_followed_and_the_rest_is(weights, axes):
    arm = ARMS["ur5e"]
    q, T = inner(arm, 5)
    options = IKOptions(**{**vars(EXACT), "weights": weights, "weights_frame": axes})

    def solve(T):
        return solve_ik(arm, T, seeds=q, options=options).best()

    twist = torch.randn(5, 6, dtype=torch.float64)
    dq = derivative(solve, T, twist)
    R = T[:, :3, :3] if axes == "tool" else torch.eye(3, dtype=torch.float64).expand(5, 3, 3)
    missed = (arm.jacobian(q) @ dq.unsqueeze(-1)).squeeze(-1) - twist
    missed = torch.cat([(R.mT @ half.unsqueeze(-1)).squeeze(-1) for half in missed.split(3, -1)], -1)
    counts = torch.tensor(weights) != 0
    assert missed[:, counts].abs().max() < 1e-6 and missed[:, ~counts].abs().max() > 0.1
    torch.testing.assert_close(dq, difference(solve, T, twist), rtol=1e-4, atol=1e-5)


def test_each_of_several_solutions_has_a_gradient_of_its_own():
    arm = ARMS["ur5e"]
    _, T = inner(arm, 3)
    twist = torch.randn(3, 6, dtype=torch.float64)
    for options in (EXACT, IKOptions(**{**vars(EXACT), "prefer": "nearest"})):
        solve = partial(solve_ik, arm, num_solutions=3, options=options)
        result = solve(T)
        assert result.converged.all()
        dq = derivative(lambda T, solve=solve: solve(T).solutions, T, twist)
        got = (arm.jacobian(result.solutions) @ dq.unsqueeze(-1)).squeeze(-1)
        torch.testing.assert_close(got, twist.unsqueeze(1).expand(3, 3, 6), rtol=1e-5, atol=1e-5)


def test_rows_without_a_solution_give_nan_where_they_are_asked_and_nothing_where_they_are_not():
    arm = ARMS["panda"]
    q, T = inner(arm, 4)
    T = T.clone()
    T[1, :3, 3] += 5.0
    T[2, 0, 0] = torch.nan
    T.requires_grad_()
    result = solve_ik(arm, T, seeds=q)
    assert result.converged_any.tolist() == [True, False, False, True]
    result.solutions[result.converged].sum().backward(retain_graph=True)
    assert T.grad.isfinite().all() and (T.grad[[1, 2]] == 0).all() and T.grad[[0, 3]].abs().amax((1, 2)).min() > 0
    T.grad = None
    result.solutions.sum().backward()
    assert T.grad[1, :3].isnan().all() and T.grad[[0, 3]].isfinite().all()
    further = solve_ik(ARMS["ur5e"], inner(ARMS["ur5e"], 1)[1].requires_grad_(), num_solutions=40)
    assert not further.converged.all()  # there are 8, some wound otherwise
    further.solutions[further.converged].sum().backward()


@pytest.mark.parametrize("damping", [1e-8, 1e-4])
def test_a_singular_arm_has_a_bounded_gradient(damping):
    arm = ARMS["ur5e"]
    q = torch.tensor([[0.3, -1.0, 0.0, 0.4, 0.0, 0.2]], dtype=torch.float64)  # stretched elbow, wrist axes in line
    T = arm.forward_kinematics(q).get_matrix()
    options = IKOptions(gradient_damping=damping)
    jacobian = torch.func.jacrev(lambda T: solve_ik(arm, T, seeds=q, options=options).best())(T)
    assert jacobian.isfinite().all() and 1 < jacobian.abs().max() <= 2 / damping**0.5


def test_gradients_reach_the_pose_of_the_base():
    arm = ARMS["ur5e"]
    q, T = inner(arm, 3)
    base = moved(torch.eye(4, dtype=torch.float64), torch.tensor([0.3, -1.0, 0.2, 0.5, 0.4, -0.8], dtype=torch.float64))
    twist = torch.randn(6, dtype=torch.float64)

    def solve(base_now):
        options = IKOptions(
            **{**vars(EXACT), "base_pose": base_now, "weights": [1, 1, 1, 1, 1, 0.5], "weights_frame": "base"}
        )
        return solve_ik(arm, base @ T, seeds=q, options=options).best()

    torch.testing.assert_close(derivative(solve, base, twist), difference(solve, base, twist), rtol=1e-4, atol=1e-5)
    for given in (base.clone().requires_grad_(), Transform3d(matrix=base.clone().requires_grad_())):
        assert solve(given).requires_grad


@pytest.mark.parametrize("name", ["panda", "ur5e"])
def test_solutions_follow_model_parameters_as_finite_differences_say(name):
    arm = ARMS[name]
    q, T = inner(arm, 4)
    joints = arm.get_joint_names()
    twist = torch.randn(6, dtype=torch.float64)
    origin = torch.tensor(
        [[*row, x] for row, x in zip(*_pose(arm.robot.joint(joints[1]).origin))] + [[0, 0, 0, 1.0]], dtype=torch.float64
    )

    def solve(e):
        other = arm.with_parameters(
            origins={joints[1]: moved(origin, e * twist)},
            offsets={joints[3]: 0.3 * e},
            axes={joints[2]: torch.stack([0.2 * e, -0.1 * e, 1.0 + 0 * e])},
            base=moved(torch.eye(4, dtype=torch.float64), -0.5 * e * twist),
        )
        return solve_ik(other, T, seeds=q, options=EXACT).best()

    zero = torch.zeros((), dtype=torch.float64)
    expected = (solve(zero + STEP) - solve(zero - STEP)) / (2 * STEP)
    torch.testing.assert_close(torch.func.jacfwd(solve)(zero), expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(torch.func.jacrev(solve)(zero), expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(torch.autograd.functional.jacobian(solve, zero), expected, rtol=1e-4, atol=1e-5)


def _pose(pose):
    return pose.rotation, pose.xyz


def test_rows_without_a_solution_leave_the_gradients_of_parameters_alone():
    arm = ARMS["panda"]
    q, T = inner(arm, 3)
    T = T.clone()
    T[1, :3, 3] = torch.nan
    offset = torch.zeros((), dtype=torch.float64, requires_grad=True)
    result = solve_ik(arm.with_parameters(offsets={"panda_joint3": offset}), T, seeds=q)
    (grad,) = torch.autograd.grad(result.solutions[result.converged].sum(), offset, retain_graph=True)
    assert grad.isfinite() and grad != 0
    assert torch.autograd.grad(result.solutions.sum(), offset)[0].isnan()


def test_function_transforms_give_the_same_gradients():
    from torch.func import grad, jacfwd, jacrev, vjp, vmap

    arm = ARMS["panda"]
    q, T = inner(arm, 3)

    def solve(T, seed):
        return solve_ik(arm, T, seeds=seed, options=EXACT).best()

    expected = torch.autograd.functional.jacobian(lambda T: solve(T, q), T)
    torch.testing.assert_close(jacrev(solve)(T, q), expected, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(jacfwd(solve)(T, q), expected, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(grad(lambda T: solve(T, q).sum())(T), expected.sum((0, 1)), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(
        vjp(lambda T: solve(T, q), T)[1](q)[0], torch.einsum("ni,nimjk->mjk", q, expected), rtol=1e-9, atol=1e-9
    )
    assert torch.equal(vmap(solve)(T, q), solve(T, q).unsqueeze(1))
    assert torch.equal(vmap(solve, in_dims=(1, None))(T.unsqueeze(1), q), solve(T, q).unsqueeze(0))
    assert torch.equal(vmap(lambda T: solve(T, q[0]))(T), solve(T, q[:1]).unsqueeze(1))
    each = vmap(jacrev(lambda T, seed: solve(T, seed)[0]))(T, q)
    torch.testing.assert_close(each, torch.stack([expected[n, :, n] for n in range(3)]), rtol=1e-9, atol=1e-9)


def test_tolerances_and_the_base_may_differ_by_row_under_vmap():
    arm = ARMS["ur5e"]
    q, T = inner(arm, 6)
    bases = moved(torch.eye(4, dtype=torch.float64), 0.3 * torch.randn(3, 6, dtype=torch.float64))
    options = IKOptions(
        base_pose=bases, weights=[1, 1, 1, 1, 1, 0], weights_frame="base",
        position_tolerance=torch.tensor([1e-8, 1e-3, 1e-6], dtype=torch.float64),
    )  # fmt: skip
    T, q = bases @ T.view(2, 3, 4, 4), q.view(2, 3, 6)

    def solve(T, q):
        return solve_ik(arm, T, seeds=q, options=options).best()

    assert torch.equal(torch.func.vmap(solve)(T, q), torch.stack([solve(T[k], q[k]) for k in range(2)]))


def test_second_derivatives_are_refused_and_not_wrong():
    from torch.func import hessian, jacfwd, jacrev

    arm = ARMS["ur5e"]
    q, T = inner(arm, 1)

    def f(T):
        return (solve_ik(arm, T, seeds=q).best() ** 2).sum()

    for second in (hessian(f), jacrev(jacrev(f)), jacfwd(jacfwd(f)), jacrev(jacfwd(f))):
        with pytest.raises(UnsupportedError, match="no second"):
            second(T)
    x = T.clone().requires_grad_()
    (grad,) = torch.autograd.grad(f(x), x, create_graph=True)
    with pytest.raises(UnsupportedError, match="no second"):
        grad.sum().backward()


def test_a_frame_of_a_tree_is_followed_by_the_joints_that_carry_it_and_no_other():
    whole = chain("panda")
    q, T = inner(ARMS["panda"], 2)
    seeds = torch.cat([q, torch.full((2, 1), 0.02, dtype=torch.float64)], -1)

    def solve(T):
        return solve_ik(whole, T, frame="panda_hand_tcp", seeds=seeds, options=EXACT).best()

    twist = torch.randn(2, 6, dtype=torch.float64)
    dq = derivative(solve, T, twist)
    assert (dq[:, 7] == 0).all()
    torch.testing.assert_close((ARMS["panda"].jacobian(q) @ dq[:, :7, None]).squeeze(-1), twist, rtol=1e-5, atol=1e-5)


def test_joints_on_a_floating_base_follow_while_it_stands():
    base = Chain(robot(joint("float", "floating", "w", "a"), *FIVE_AXES[:-1]), dtype=torch.float64)
    q = base.random(3)
    T = base.forward_kinematics(q)["f"].get_matrix()
    twist = torch.randn(3, base.nv, dtype=torch.float64)
    twist[:, :6] = 0
    delta = (base.jacobian(q, "f") @ twist.unsqueeze(-1)).squeeze(-1)
    dq = derivative(lambda T: solve_ik(base, T, frame="f", seeds=q, options=EXACT).best(), T, delta)
    torch.testing.assert_close(dq[:, 7:], twist[:, 6:], rtol=1e-3, atol=1e-4)
    assert (dq[:, :7] == 0).all()


def test_an_empty_batch_has_empty_gradients():
    T = torch.empty(0, 4, 4, dtype=torch.float64, requires_grad=True)
    solve_ik(ARMS["panda"], T).solutions.sum().backward()
    assert T.grad.shape == (0, 4, 4)


def test_a_robot_without_joints_has_an_empty_gradient():
    fixed = SerialChain(chain("panda"), "panda_hand", "panda_link7")
    T = fixed.forward_kinematics([]).get_matrix().requires_grad_()
    solve_ik(fixed, T).solutions.sum().backward()
    assert (T.grad == 0).all()


def test_a_float32_chain_gives_the_gradients_of_a_float64_one():
    q, T = inner(ARMS["panda"], 5)
    grads = []
    for arm in (ARMS["panda"], panda(torch.float32)):
        x = T.clone().requires_grad_()
        solve_ik(arm, x, seeds=q.to(arm.dtype)).solutions.sum().backward()
        grads.append(x.grad)
    torch.testing.assert_close(*grads, rtol=1e-3, atol=1e-3)


def test_batched_gradients_of_autograd_give_the_same():
    arm = ARMS["ur5e"]
    q, T = inner(arm, 2)

    def solve(T):
        return solve_ik(arm, T, seeds=q).best()

    row, whole = (torch.autograd.functional.jacobian(solve, T, vectorize=v) for v in (False, True))
    torch.testing.assert_close(whole, row, rtol=1e-9, atol=1e-9)
