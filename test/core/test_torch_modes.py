"""Forward kinematics and Jacobians in the modes torch can be in, on the default path: the values of plain autograd.

The transforms that test_gradients.py has are not repeated here, nor what torch.compile does.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.autograd.forward_ad as forward_ad
from robots import every_kind_of_node, panda
from torch import Tensor
from torch.func import functionalize, grad, hessian, jacfwd, jacrev, jvp, vmap
from torch.fx.experimental.proxy_tensor import make_fx

from pk_core import Chain, TensorTypeError
from pk_core.kinematics import reference

Function = Callable[[Tensor], Tensor]

EVERY = Chain(every_kind_of_node(), dtype=torch.float64)
POINT = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)


def rows(q: Tensor) -> Tensor:
    return q if q.dim() > 1 else q[None]


PAIRS: dict[str, tuple[Function, Function]] = {  # what is called, and its definition, differentiated by plain autograd
    "poses": (
        lambda q: EVERY.forward_kinematics_tensor(q),
        lambda q: reference.forward_kinematics(rows(q), EVERY._tensors),
    ),
    "jacobian": (
        lambda q: EVERY.jacobian(q, "tool", POINT),
        lambda q: reference.jacobian(rows(q), POINT, EVERY._frames(("tool",))),
    ),
}
each_function = pytest.mark.parametrize("function, plain", PAIRS.values(), ids=PAIRS)


def bent(function: Function) -> Function:
    """A scalar in which every entry bends: no derivative of it vanishes by chance."""
    return lambda q: function(q).sin().sum()


def gradient(function: Function, q: Tensor) -> Tensor:
    leaf = q.detach().clone().requires_grad_()
    return torch.autograd.grad(bent(function)(leaf), leaf)[0]


def agree(got: Tensor, expected: Tensor, atol: float = 1e-9) -> None:
    assert expected.abs().max() > 1e-3  # a comparison of zeros would say nothing
    torch.testing.assert_close(got, expected, rtol=1e-10, atol=atol)


@pytest.fixture
def q() -> Tensor:
    return EVERY.random(3)


def dual(function: Function) -> Function:
    """Forward mode by dual numbers, along cos q."""

    def tangent(q: Tensor) -> Tensor:
        with forward_ad.dual_level():
            return forward_ad.unpack_dual(function(forward_ad.make_dual(q, q.cos()))).tangent

    return tangent


NESTED: dict[str, Callable[[Function], Function]] = {
    "backward of a gradient with create_graph": lambda f: (
        lambda q: gradient(lambda x: torch.autograd.grad(bent(f)(x), x, create_graph=True)[0], q)
    ),
    "functional.hessian": lambda f: lambda q: torch.autograd.functional.hessian(bent(f), q[0]),
    "functional.jvp": lambda f: lambda q: torch.autograd.functional.jvp(f, q, q.cos())[1],
    "dual numbers": dual,
    "gradient of dual numbers": lambda f: lambda q: gradient(dual(f), q),
    "jvp of jvp": lambda f: lambda q: jvp(lambda x: jvp(f, (x,), (x.cos(),))[1], (q,), (q.sin(),))[1],
    "jacfwd of jacfwd": lambda f: lambda q: jacfwd(jacfwd(bent(f)))(q[0]),
    "jacfwd of jacrev": lambda f: lambda q: jacfwd(jacrev(bent(f)))(q[0]),
    "jacrev of jacfwd": lambda f: lambda q: jacrev(jacfwd(bent(f)))(q[0]),
    "vmap of jacrev": lambda f: vmap(jacrev(f)),
    "vmap of jacfwd": lambda f: vmap(jacfwd(f)),
    "vmap of hessian": lambda f: vmap(hessian(bent(f))),
    "gradient of vmap": lambda f: grad(lambda q: vmap(f)(q).sin().sum()),
    "vmap of vmap": lambda f: lambda q: vmap(vmap(f))(torch.stack([q, q.sin()])),
    "third derivatives": lambda f: lambda q: grad(lambda x: hessian(bent(f))(x).sin().sum())(q[0]),
}


@each_function
@pytest.mark.parametrize("transform", NESTED.values(), ids=NESTED)
def test_nested_transforms_give_the_value_of_plain_autograd(transform, function, plain, q):
    agree(transform(function)(q), transform(plain)(q))


@each_function
def test_autocast_takes_no_digits_from_any_derivative(function, plain, q):
    expected = plain(q), gradient(plain, q), hessian(bent(plain))(q[0]), jacfwd(plain)(q[0])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = function(q), gradient(function, q), hessian(bent(function))(q[0]), jacfwd(function)(q[0])
    for ours, theirs in zip(got, expected):
        agree(ours, theirs)


def test_autocast_takes_no_digits_from_the_definition_in_float32():
    single = Chain(every_kind_of_node())
    q = single.random(3)
    expected = single.forward_kinematics_tensor(q)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        got = single.forward_kinematics_tensor(q, analytical_grad=False)
    torch.testing.assert_close(got, expected, rtol=0, atol=1e-5)


def test_the_default_device_and_dtype_of_torch_change_nothing(q):
    expected = [plain(q) for _, plain in PAIRS.values()]
    torch.set_default_dtype(torch.float16)
    try:
        with torch.device("meta"):
            made = Chain(every_kind_of_node(), dtype=torch.float64)
            moved = made.with_parameters(offsets={"screw": 0.0}, axes={"follower": [0.0, 0.6, 0.8]})
            for chain in (made, moved):
                got = chain.forward_kinematics_tensor(q), chain.jacobian(q, "tool", POINT)
                slope = gradient(lambda x, c=chain: c.jacobian(x, "tool"), q)
                assert {x.device.type for x in (*got, slope)} == {"cpu"}
                agree(got[0], expected[0])
                agree(got[1], expected[1])
            agree(gradient(EVERY.forward_kinematics_tensor, q), gradient(PAIRS["poses"][1], q))
    finally:
        torch.set_default_dtype(torch.float32)


@each_function
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_modes_without_gradients_give_the_value_and_no_graph(mode, function, plain, q):
    leaf = q.clone().requires_grad_()
    with mode():
        got = function(leaf)
    assert not got.requires_grad
    agree(got.clone(), plain(q))


FIRST_CALLS: dict[str, Callable[[Function, Tensor], object]] = {
    "in inference mode": lambda f, q: torch.inference_mode()(f)(q),
    "in grad": lambda f, q: grad(bent(f))(q),
    "in vmap": lambda f, q: vmap(f)(q),
    "in forward mode twice": lambda f, q: jvp(lambda y: jvp(f, (y,), (q,))[1], (q,), (q,)),
    "under a tracer": lambda f, q: make_fx(f)(q),
}


@pytest.mark.parametrize("first", FIRST_CALLS.values(), ids=FIRST_CALLS)
def test_what_the_first_call_was_leaves_no_trace(first, q):
    robot, fresh = (Chain(every_kind_of_node(), dtype=torch.float64) for _ in range(2))
    first(lambda x: robot.jacobian(x, "tool"), q)
    agree(robot.jacobian(q, "tool"), fresh.jacobian(q, "tool"))
    agree(*(gradient(lambda x, c=c: c.jacobian(x, "tool"), q) for c in (robot, fresh)))


def test_a_first_call_without_gradients_does_not_cut_the_parameters_off(q):
    axis = torch.tensor([0.0, 1.0, 1.0], dtype=torch.float64, requires_grad=True)
    robot = EVERY.with_parameters(axes={"screw": axis})
    with torch.no_grad():
        robot.jacobian(q, "tool")
    (got,) = torch.autograd.grad(bent(lambda q: robot.jacobian(q, "tool"))(q), axis)
    plain = lambda a: reference.jacobian(q, POINT * 0, EVERY.with_parameters(axes={"screw": a})._frames(("tool",)))  # noqa: E731
    agree(got, gradient(plain, axis))


@pytest.mark.parametrize("batch", [(), (3,)], ids=["shared", "one a row"])
@pytest.mark.parametrize(
    "name", ["jvp of jvp", "jacfwd of jacfwd", "dual numbers", "functional.hessian", "vmap of jacrev"]
)
def test_transforms_of_a_parametrised_chain_are_those_of_its_definition(name, batch, q):
    offset = torch.linspace(0.2, 0.4, 3, dtype=torch.float64)[: max(batch, default=1)].reshape(batch).requires_grad_()
    robot = EVERY.with_parameters(offsets={"screw": offset}, mimic={"follower": (offset.cos(), offset)})
    if batch and name != "dual numbers" and name != "jvp of jvp":
        q = q[:1].expand(3, -1)
    transform, tree = NESTED[name], robot._tensors
    agree(transform(robot.forward_kinematics_tensor)(q), transform(lambda q: plain_rows(q, tree))(q))


def plain_rows(q: Tensor, tree: reference.TreeTensors) -> Tensor:
    """The definition for rows with arms of their own too."""
    q = rows(q)
    batch = torch.broadcast_shapes(q.shape[:-1], tree.constants.shape[:-2])
    return reference.forward_kinematics(q.expand(*batch, q.shape[-1]), tree)


@each_function
@pytest.mark.parametrize("view", [torch._neg_view, lambda q: torch.complex(q, q).conj().imag], ids=["neg", "conj"])
def test_a_lazily_negated_configuration_is_read_right(function, plain, view, q):
    agree(function(view(q)), plain(-q))
    agree(gradient(lambda x: function(view(x)), q), gradient(lambda x: plain(-x), q))


@each_function
def test_tracers_record_operations_not_numbers(function, plain, q):
    other = EVERY.random(3)
    agree(make_fx(function)(q)(other), plain(other))
    agree(functionalize(function)(q), plain(q))


@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning", "ignore::torch.jit.TracerWarning")
def test_torch_jit_trace_records_operations_not_numbers():
    arm = panda()
    traced, q = torch.jit.trace(lambda x: arm.forward_kinematics_tensor(x), (arm.random(3),)), arm.random(3)
    torch.testing.assert_close(traced(q), arm.forward_kinematics_tensor(q), rtol=0, atol=1e-13)


@each_function
def test_batched_gradients_of_autograd_are_those_one_by_one(function, plain, q):
    leaf = q.clone().requires_grad_()
    directions = torch.randn(2, *function(q).shape, dtype=torch.float64)
    (got,) = torch.autograd.grad(function(leaf), leaf, directions, is_grads_batched=True)
    for ours, direction in zip(got, directions):
        agree(ours, torch.autograd.grad(plain(leaf), leaf, direction)[0])


def test_hooks_on_saved_tensors_are_served(q):
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x.numpy(), torch.from_numpy):
        agree(gradient(EVERY.forward_kinematics_tensor, q), gradient(PAIRS["poses"][1], q))


def test_sparse_tensors_are_refused_with_a_way_out(q):
    with pytest.raises(TensorTypeError, match=r"sparse_coo: use th.to_dense\(\)"):
        EVERY.forward_kinematics_tensor(q.to_sparse())
