"""The kernels as operators of torch.compile: what torch asks of an operator, and that compiled functions call them."""

from __future__ import annotations

import pytest
import torch
from robots import all_joint_types, panda
from torch import Tensor

from pk_core import Chain, SerialChain
from pk_core.kinematics import operators

POINT = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)


@pytest.fixture(autouse=True)
def forget_compiled_code():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.fixture(scope="module")
def chain() -> Chain:
    return Chain(all_joint_types(), dtype=torch.float64)


def test_torch_finds_nothing_wrong_with_the_operators(chain):
    key = operators._register(chain._tensors)
    q, frames = chain.random(3), len(chain.get_frame_names())
    J = torch.randn(3, 6, chain._tensors.nv, dtype=torch.float64)
    checked = ("test_schema", "test_faketensor")
    torch.library.opcheck(operators.forward_kinematics, (q.clone().requires_grad_(), key))
    torch.library.opcheck(operators.jacobian, (q.clone().requires_grad_(), POINT.clone().requires_grad_(), key))
    grad = torch.randn(frames, 3, 4, 4, dtype=torch.float64)
    torch.library.opcheck(operators.reverse_sweep, (q, grad, key), test_utils=checked)
    torch.library.opcheck(operators.jacobian_sweep, (q, POINT, J, key), test_utils=checked)


def test_a_compiled_function_calls_the_kernels_of_each_robot_in_it(chain):
    arm = SerialChain(panda(torch.float64), "panda_hand")

    def loss(q: Tensor, q_arm: Tensor) -> Tensor:
        poses = chain.forward_kinematics_tensor(q).sin().sum()
        return poses + arm.jacobian(q_arm, POINT).cos().sum() + arm.forward_kinematics(q_arm).get_matrix().sin().sum()

    called: list[str] = []

    def backend(graph: torch.fx.GraphModule, _: list[Tensor]):
        called.extend(str(node.target) for node in graph.graph.nodes if node.op == "call_function")
        return graph

    compiled = torch.compile(loss, backend=backend, fullgraph=True, dynamic=True)
    for n in (4, 9):
        inputs = (chain.random(n).requires_grad_(), arm.random(n).requires_grad_())
        expected, got = loss(*inputs), compiled(*inputs)
        torch.testing.assert_close(got, expected)
        for ours, theirs in zip(torch.autograd.grad(got, inputs), torch.autograd.grad(expected, inputs)):
            torch.testing.assert_close(ours, theirs)
    assert sorted(name for name in called if name.startswith("pk.")) == [
        "pk.forward_kinematics.default",
        "pk.forward_kinematics.default",
        "pk.jacobian.default",
    ]


def test_a_second_derivative_of_an_operator_is_refused_with_a_way_out(chain):
    key, q = operators._register(chain._tensors), chain.random(2).requires_grad_()
    loss = operators.forward_kinematics(q, key).sin().sum()
    (first,) = torch.autograd.grad(loss, q, create_graph=True)
    with pytest.raises(NotImplementedError, match=r"torch\.func"):
        torch.autograd.grad(first.sum(), q)


def test_robots_that_differ_in_anything_have_different_names(chain):
    other = Chain(chain.robot, dtype=torch.float32)
    pruned = chain._tensors.pruned(chain.get_frame_names()[:2])
    names = {operators._register(tree) for tree in (chain._tensors, other._tensors, pruned)}
    assert len(names) == 3
    assert operators._register(Chain(chain.robot, dtype=torch.float64)._tensors) in names
