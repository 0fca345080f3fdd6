"""Gradients of every order and by every transform, on the default path."""

from __future__ import annotations

import pytest
import torch
from robots import all_joint_types, chain, panda
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vjp, vmap

from pk_core import Chain
from pk_core.kinematics import reference

EVERY = Chain(all_joint_types(), dtype=torch.float64)
WEIGHTS = torch.randn(13, 4, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(5))


def loss(q: torch.Tensor) -> torch.Tensor:
    """A scalar of all poses of one configuration (nq,)."""
    return (EVERY.forward_kinematics_tensor(q)[:, 0] * WEIGHTS).sum()


def plain_loss(q: torch.Tensor) -> torch.Tensor:
    """The same by plain autograd through the definition."""
    return (reference.forward_kinematics(q, EVERY._tensors) * WEIGHTS).sum()


@pytest.fixture
def q() -> torch.Tensor:
    return EVERY.random(1)[0]


def test_the_analytic_backward_is_plain_autograd():
    q = EVERY.random(200).requires_grad_()
    weights = torch.randn(13, 200, 4, 4, dtype=torch.float64)
    (analytic,) = torch.autograd.grad((EVERY.forward_kinematics_tensor(q) * weights).sum(), q)
    (plain,) = torch.autograd.grad((EVERY.forward_kinematics_tensor(q, analytical_grad=False) * weights).sum(), q)
    torch.testing.assert_close(analytic, plain, rtol=0, atol=1e-12)


def test_float32_gradients_agree_with_float64():
    single = Chain(all_joint_types())
    q = EVERY.random(50)
    weights = torch.randn(13, 50, 4, 4, dtype=torch.float64)
    grads = []
    for chain_, dtype in ((EVERY, torch.float64), (single, torch.float32)):
        x = q.detach().to(dtype, copy=True).requires_grad_()
        (chain_.forward_kinematics_tensor(x) * weights.to(dtype)).sum().backward()
        grads.append(x.grad.double())
    torch.testing.assert_close(grads[1], grads[0], rtol=1e-4, atol=1e-4)


def test_first_and_second_derivatives_pass_gradcheck():
    q = EVERY.random(2).requires_grad_()
    assert torch.autograd.gradcheck(EVERY.forward_kinematics_tensor, q)
    assert torch.autograd.gradgradcheck(EVERY.forward_kinematics_tensor, q)


def test_the_jacobian_passes_gradcheck():
    arm = panda()
    q = arm.random(2).requires_grad_()
    points = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(arm.jacobian, (q, points))
    assert torch.autograd.gradgradcheck(arm.jacobian, (q, points))


def test_the_hessian_is_not_zero_and_right(q):
    expected = hessian(plain_loss)(q)
    assert expected.abs().max() > 0.1
    torch.testing.assert_close(torch.autograd.functional.hessian(loss, q), expected, rtol=0, atol=1e-11)
    torch.testing.assert_close(hessian(loss)(q), expected, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    "transform",
    [grad, jacrev, jacfwd, lambda f: jacfwd(jacrev(f)), lambda f: jacrev(jacfwd(f)), lambda f: jacrev(jacrev(f))],
)
def test_function_transforms_give_the_value_of_plain_autograd(transform, q):
    torch.testing.assert_close(transform(loss)(q), transform(plain_loss)(q), rtol=0, atol=1e-11)


def test_vmap_is_a_loop():
    q = EVERY.random(6)
    expected = torch.stack([loss(row) for row in q])
    torch.testing.assert_close(vmap(loss)(q), expected, rtol=0, atol=1e-13)
    torch.testing.assert_close(vmap(loss, in_dims=1)(q.T), expected, rtol=0, atol=1e-13)
    nested = vmap(vmap(grad(loss)))(q.view(2, 3, -1)).view(6, -1)
    torch.testing.assert_close(nested, torch.stack([grad(plain_loss)(row) for row in q]), rtol=0, atol=1e-12)


def test_vmap_of_hessians_is_a_loop():
    q = EVERY.random(3)
    expected = torch.stack([hessian(plain_loss)(row) for row in q])
    torch.testing.assert_close(vmap(hessian(loss))(q), expected, rtol=0, atol=1e-11)


def test_forward_and_reverse_products_agree(q):
    dq, dT = torch.randn_like(q), torch.randn(13, 4, 4, dtype=torch.float64)
    poses = lambda x: EVERY.forward_kinematics_tensor(x)[:, 0]  # noqa: E731
    forward = jvp(poses, (q,), (dq,))[1]
    (reverse,) = vjp(poses, q)[1](dT)
    assert (forward * dT).sum().item() == pytest.approx((reverse * dq).sum().item(), abs=1e-11)


def test_dual_numbers_carry_the_tangent(q):
    import torch.autograd.forward_ad as forward_ad

    dq = torch.randn_like(q)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(EVERY.forward_kinematics_tensor(forward_ad.make_dual(q, dq))).tangent
    expected = jvp(lambda x: reference.forward_kinematics(x, EVERY._tensors), (q,), (dq,))[1]
    torch.testing.assert_close(tangent[:, 0], expected, rtol=0, atol=1e-12)


def test_transforms_of_the_jacobian(q):
    point = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)
    tree = EVERY._frames(("tool",))
    for transform in (jacrev, jacfwd):
        got = transform(lambda x: EVERY.jacobian(x, "tool", point)[0])(q)
        expected = transform(lambda x: reference.jacobian(x, point, tree))(q)
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-11)
    rows, points = EVERY.random(4), torch.randn(4, 3, dtype=torch.float64)
    mapped = vmap(lambda x, p: EVERY.jacobian(x, "tool", p)[0])(rows, points)
    torch.testing.assert_close(mapped, EVERY.jacobian(rows, "tool", points), rtol=0, atol=1e-13)


def test_a_pose_of_some_frames_has_the_gradient_of_those_alone():
    hand = chain("panda")
    q = hand.random(3).requires_grad_()
    hand.forward_kinematics(q)["panda_link4"].get_matrix().sum().backward()
    assert q.grad[:, :4].abs().sum() > 0 and torch.count_nonzero(q.grad[:, 4:]) == 0


def test_gradients_at_rest_are_finite():
    q = EVERY.neutral().unsqueeze(0).requires_grad_()
    EVERY.forward_kinematics_tensor(q).sum().backward()
    assert q.grad.isfinite().all()


@pytest.mark.parametrize("dynamic", [True, False])
def test_a_compiled_function_gives_the_same_values_and_gradients(dynamic):
    arm = panda()
    compiled = torch.compile(
        lambda x: arm.forward_kinematics_tensor(x), fullgraph=True, dynamic=dynamic, backend="aot_eager"
    )
    for n in (3, 5):
        q = arm.random(n).requires_grad_()
        torch.testing.assert_close(compiled(q), arm.forward_kinematics_tensor(q), rtol=0, atol=1e-13)
        (got,) = torch.autograd.grad(compiled(q).sum(), q)
        (expected,) = torch.autograd.grad(arm.forward_kinematics_tensor(q).sum(), q)
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-12)


def test_a_fresh_chain_compiles_without_a_call_before():
    arm = panda()
    q = arm.random(2)
    for function in (lambda x: arm.forward_kinematics(x).get_matrix(), arm.jacobian):
        compiled = torch.compile(function, fullgraph=True, backend="eager")
        torch.testing.assert_close(compiled(q), function(q), rtol=0, atol=1e-13)


def test_autocast_does_not_touch_the_poses():
    arm = panda(torch.float32)
    q = arm.random(4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = arm.forward_kinematics_tensor(q)
    assert got.dtype == torch.float32
    assert torch.equal(got, arm.forward_kinematics_tensor(q))


@pytest.mark.parametrize("vectorize", [False, True])
def test_batched_gradients_of_autograd_are_those_of_the_definition(vectorize):
    """`vectorize` and `is_grads_batched` hand the backward another kind of batched tensor than torch.func does."""
    arm = panda()
    q = arm.random(3)
    for f in (lambda q: arm.forward_kinematics(q).get_matrix(), arm.jacobian):
        got = torch.autograd.functional.jacobian(f, q, vectorize=vectorize)
        torch.testing.assert_close(got, torch.func.jacrev(f)(q), rtol=1e-9, atol=1e-9)
    offset = torch.zeros((), dtype=torch.float64, requires_grad=True)
    pose = arm.with_parameters(offsets={"panda_joint3": offset}).forward_kinematics(q).get_matrix()
    basis = torch.eye(pose.numel(), dtype=torch.float64).view(-1, *pose.shape)
    (got,) = torch.autograd.grad(pose, offset, basis, is_grads_batched=True, retain_graph=True)
    expected = [torch.autograd.grad(pose, offset, row, retain_graph=True)[0] for row in basis]
    torch.testing.assert_close(got, torch.stack(expected), rtol=1e-9, atol=1e-9)
