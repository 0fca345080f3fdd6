"""Forward kinematics and Jacobians under torch.compile and torch.export: transforms and parameters inside, other batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
import torch
from robots import joint, robot
from torch import Tensor
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

from pk_core import Chain, transforms
from pk_core.kinematics import reference
from pk_core.model import Mimic

Function = Callable[[Tensor], Tensor]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning"),  # Inductor imports it
]
POINT = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)


@pytest.fixture(autouse=True)
def forget_compiled_code() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def small() -> Chain:
    """A chain that made nothing yet: few nodes, for a compiler takes its time."""
    made = robot(
        joint("screw", "screw", "world", "a", (0.6, 0.0, 0.8), pitch=0.05),
        joint("ball", "ball", "a", "b"),
        joint("follower", "prismatic", "b", "tool", (0.0, 0.6, 0.8), mimic=Mimic("screw", -0.5, 0.2)),
    )
    return Chain(made, dtype=torch.float64)


def compiled(function: Callable, backend: str = "eager") -> Callable:
    return torch.compile(function, fullgraph=True, dynamic=True, backend=backend)


def pose_of(chain: Chain) -> Function:
    return lambda q: chain.forward_kinematics(q, [3])["tool"].get_matrix()


def plain_pose_of(chain: Chain) -> Function:
    """The definition, differentiated by plain autograd."""
    return lambda q: reference.forward_kinematics(q if q.dim() > 1 else q[None], chain._frames(("tool",)))[0]


def jacobian_of(chain: Chain) -> Function:
    return lambda q: chain.jacobian(q, "tool", POINT)


def plain_jacobian_of(chain: Chain) -> Function:
    return lambda q: reference.jacobian(q if q.dim() > 1 else q[None], POINT, chain._frames(("tool",)))


def bent(function: Function) -> Function:
    """A scalar in which every entry bends: no derivative of it vanishes by chance."""
    return lambda q: function(q).sin().sum()


def agree(got: Tensor, expected: Tensor, atol: float = 1e-10) -> None:
    assert expected.abs().max() > 1e-3  # a comparison of zeros would say nothing
    torch.testing.assert_close(got, expected, rtol=0, atol=atol)


TRANSFORMS: dict[str, Callable[[Function], Function]] = {
    "grad": lambda f: grad(bent(f)),
    "jvp": lambda f: lambda q: jvp(f, (q,), (q.cos(),))[1],
    "jacfwd": lambda f: lambda q: jacfwd(f)(q[0]),
    "hessian": lambda f: lambda q: hessian(bent(f))(q[0]),
    "jacrev of jacfwd": lambda f: lambda q: jacrev(jacfwd(bent(f)))(q[0]),
    "vmap of jacrev": lambda f: vmap(jacrev(f)),
    "vmap of jvp": lambda f: vmap(lambda x: jvp(f, (x,), (x.cos(),))[1]),
}


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_transforms_inside_a_compiled_function_are_those_of_plain_autograd(transform):
    run, plain = compiled(transform(pose_of(small()))), transform(plain_pose_of(small()))
    q = small().random(3)
    agree(run(q), plain(q))


def test_jacobians_can_be_differentiated_inside_a_compiled_function():
    run, plain = (vmap(jacrev(f(small()))) for f in (jacobian_of, plain_jacobian_of))
    q = small().random(3)
    agree(compiled(run)(q), plain(q))


def test_inductor_gives_the_values_and_gradients_of_plain_autograd():
    def both(pose: Function, jacobian: Function) -> Function:
        return lambda q: bent(pose)(q) + bent(jacobian)(q)

    run = both(pose_of(small()), jacobian_of(small()))
    plain = both(plain_pose_of(small()), plain_jacobian_of(small()))
    run = compiled(run, backend="inductor")
    for n in (4, 7):  # the second without compiling again
        q = small().random(n).requires_grad_()
        agree(run(q), plain(q))
        agree(*(torch.autograd.grad(function(q), q)[0] for function in (run, plain)))


@pytest.mark.parametrize("batch", [(), (3,)], ids=["shared", "one a row"])
def test_gradients_reach_parameters_set_inside_a_compiled_function(batch):
    chain, q = small(), small().random(3)
    leaves = [
        torch.linspace(0.3, 0.5, 3, dtype=torch.float64)[: max(batch, default=1)].reshape(batch).requires_grad_(),
        torch.tensor([0.1, 1.0, 2.0], dtype=torch.float64).expand(*batch, 3).clone().requires_grad_(),
    ]

    def loss(offset: Tensor, axis: Tensor, analytical: bool = True) -> Tensor:
        made = chain.with_parameters(
            offsets={"screw": offset}, axes={"follower": axis}, mimic={"follower": (offset.cos(), offset)}
        )
        return made.forward_kinematics_tensor(q, analytical_grad=analytical).sin().sum()

    got = torch.autograd.grad(compiled(loss)(*leaves), leaves)
    for ours, expected in zip(got, torch.autograd.grad(loss(*leaves, analytical=False), leaves)):
        agree(ours, expected)


def test_transforms_by_parameters_work_inside_a_compiled_function():
    chain, q = small(), small().random(3)

    def loss(offset: Tensor, analytical: bool = True) -> Tensor:
        made = chain.with_parameters(offsets={"screw": offset})
        return made.forward_kinematics_tensor(q, analytical_grad=analytical).sin().sum()

    offsets = torch.tensor([0.3, -0.4], dtype=torch.float64)
    agree(compiled(vmap(grad(loss)))(offsets), vmap(grad(lambda x: loss(x, analytical=False)))(offsets))


class Both(torch.nn.Module):
    """A pose and a Jacobian of a chain that is no part of the exported state."""

    def __init__(self, chain: Chain) -> None:
        super().__init__()
        self.functions = pose_of(chain), jacobian_of(chain)

    def forward(self, q: Tensor) -> tuple[Tensor, Tensor]:
        return self.functions[0](q), self.functions[1](q)


def test_an_exported_program_takes_other_batches():
    batch = {"q": {0: torch.export.Dim("batch", min=2, max=4096)}}
    program = torch.export.export(Both(small()), (small().random(3),), dynamic_shapes=batch).module()
    for n in (2, 1000):
        q = small().random(n)
        pose, J = program(q)
        agree(pose, plain_pose_of(small())(q))
        agree(J, plain_jacobian_of(small())(q))


def random_rotations(n: int) -> Tensor:
    return transforms.random_rotations(n, dtype=torch.float64)


CONVERSIONS: dict[str, Callable[[], tuple[Tensor, ...]]] = {
    "so3_exp_map": lambda: (torch.randn(4, 3, dtype=torch.float64),),
    "so3_log_map": lambda: (random_rotations(4),),
    "so3_left_jacobian": lambda: (torch.randn(4, 3, dtype=torch.float64),),
    "se3_exp_map": lambda: (torch.randn(4, 6, dtype=torch.float64),),
    "se3_log_map": lambda: (transforms.se3_exp_map(torch.randn(4, 6, dtype=torch.float64)),),
    "matrix_to_quaternion": lambda: (random_rotations(4),),
    "quaternion_to_axis_angle": lambda: (transforms.random_quaternions(4, dtype=torch.float64),),
    "so3_geodesic_distance": lambda: (random_rotations(4), random_rotations(4)),
    "phi1_euler_angles": lambda: (torch.rand(4, 3, dtype=torch.float64), torch.rand(4, 3, dtype=torch.float64)),
    "phi3_quaternion_arccos": lambda: tuple(transforms.random_quaternions(4, dtype=torch.float64) for _ in range(2)),
}


@pytest.mark.parametrize("name", CONVERSIONS)
def test_conversions_and_distances_have_their_values_and_derivatives_in_compiled_functions(name):
    function, inputs = getattr(transforms, name), CONVERSIONS[name]()

    def loss(*given: Tensor) -> Tensor:
        return function(*given).sin().sum()

    along = [x.cos() for x in inputs]
    agree(compiled(function)(*inputs), function(*inputs))
    agree(compiled(grad(loss))(*inputs), grad(loss)(*inputs))
    agree(compiled(lambda *x: jvp(loss, x, tuple(along))[1])(*inputs), jvp(loss, inputs, tuple(along))[1])
