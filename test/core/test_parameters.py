"""Model parameters as tensors: values as in an edited description, gradients as by finite differences."""

from __future__ import annotations

import math

import pytest
import torch
from robots import all_joint_types, panda

import pk_core as pk
from pk_core import Chain, SerialChain, Transform3d, kinematics
from pk_core.kinematics import reference
from pk_core.pose import Pose

URDF = """
<robot name="three">
  <link name="base"/><link name="a"/><link name="b"/><link name="finger"/><link name="tool"/>
  <joint name="turn" type="revolute"><parent link="base"/><child link="a"/><origin xyz="{x} 0 0.3" rpy="0.1 {pitch} 0.2"/>
    <axis xyz="{axis}"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <joint name="slide" type="prismatic"><parent link="a"/><child link="b"/><origin xyz="0 0.2 0" rpy="0.4 0 0"/>
    <axis xyz="0 1 0"/><limit lower="-2" upper="2" effort="1" velocity="1"/></joint>
  <joint name="follow" type="revolute"><parent link="b"/><child link="finger"/><origin xyz="0.1 0 0"/>
    <axis xyz="0 0 1"/><limit lower="-2" upper="2" effort="1" velocity="1"/>
    <mimic joint="turn" multiplier="{m}" offset="{o}"/></joint>
  <joint name="mount" type="fixed"><parent link="finger"/><child link="tool"/><origin xyz="0 0 {z}" rpy="0 0.3 0"/></joint>
</robot>
"""
PLAIN = dict(x=0.1, pitch=0.3, axis="0 0 1", m=2, o=0.1, z=0.05)


def three(**changes: object) -> Chain:
    return pk.build_chain_from_urdf(URDF.format(**(PLAIN | changes)), dtype=torch.float64)


def pose(x: float, y: float, z: float, *rpy: float) -> torch.Tensor:
    made = Pose.from_xyz_rpy((x, y, z), rpy or (0.0, 0.0, 0.0))
    return torch.tensor([[*row, p] for row, p in zip(made.rotation, made.xyz)] + [[0, 0, 0, 1]], dtype=torch.float64)


CHANGES = [
    (dict(x=0.7, pitch=-0.5), dict(origins={"turn": pose(0.7, 0, 0.3, 0.1, -0.5, 0.2)})),
    (dict(z=0.4), dict(origins={"mount": Transform3d(matrix=pose(0, 0, 0.4, 0, 0.3, 0))})),
    (dict(axis="0 0.6 0.8"), dict(axes={"turn": torch.tensor([0.0, 3.0, 4.0], dtype=torch.float64)})),
    (dict(m=-1.5, o=0.7), dict(mimic={"follow": (-1.5, 0.7)})),
]


@pytest.mark.parametrize("root", ["", "tool"])
@pytest.mark.parametrize("edit, parameters", CHANGES)
def test_parameters_give_the_chain_of_an_edited_description(edit, parameters, root):
    q = three().random(5)
    end = "base" if root else "tool"
    for made, wanted in (
        (three().with_parameters(**parameters), three(**edit)),
        (SerialChain(three().with_parameters(**parameters), end, root), SerialChain(three(**edit), end, root)),
        (SerialChain(three(), end, root).with_parameters(**parameters), SerialChain(three(**edit), end, root)),
    ):
        torch.testing.assert_close(
            made.forward_kinematics_tensor(q), wanted.forward_kinematics_tensor(q), rtol=0, atol=1e-12
        )
        assert type(made) is type(wanted)
        J, wanted_J = (Chain.jacobian(chain, q, end) for chain in (made, wanted))
        torch.testing.assert_close(J, wanted_J, rtol=0, atol=1e-12)


def test_a_joint_offset_moves_the_joint_and_those_that_mimic_it():
    q = three().random(5)
    shifted = q + torch.tensor([0.3, 0.0])
    made = three().with_parameters(offsets={"turn": 0.3})
    torch.testing.assert_close(made.forward_kinematics_tensor(q), three().forward_kinematics_tensor(shifted))


def test_an_offset_of_a_follower_moves_it_alone():
    q = three().random(5)
    made = three().with_parameters(offsets={"follow": 0.3})
    torch.testing.assert_close(made.forward_kinematics_tensor(q), three(o=0.4).forward_kinematics_tensor(q))


def test_the_base_moves_every_pose_and_no_path_from_elsewhere():
    q, base = three().random(5), pose(1, 2, 3, 0.4, 0.5, 0.6)
    made = three().with_parameters(base=base)
    torch.testing.assert_close(made.forward_kinematics_tensor(q), base @ three().forward_kinematics_tensor(q))
    a, b = (SerialChain(chain, "tool", "a").forward_kinematics(q[:, :2]).get_matrix() for chain in (made, three()))
    torch.testing.assert_close(a, b)


def test_each_row_has_an_arm_of_its_own():
    q = three().random(4)
    lengths = torch.stack([pose(0, 0, z, 0, 0.3, 0) for z in (0.1, 0.2, 0.3, 0.4)])
    ratios = torch.tensor([1.0, -1.0, 2.0, 0.5], dtype=torch.float64)
    made = three().with_parameters(origins={"mount": lengths}, mimic={"follow": (ratios, 0.2)})
    J = made.jacobian(q, "tool")
    for row, (z, m) in enumerate(zip((0.1, 0.2, 0.3, 0.4), ratios.tolist())):
        alone = three(z=z, m=m, o=0.2)
        wanted = alone.forward_kinematics_tensor(q[row])[:, 0]
        torch.testing.assert_close(made.forward_kinematics_tensor(q)[:, row], wanted)
        torch.testing.assert_close(J[row], alone.jacobian(q[row], "tool")[0])
    one = made.forward_kinematics_tensor(q[:1])
    assert one.shape == (5, 4, 4, 4)  # one configuration, four arms
    torch.testing.assert_close(one[:, 0], made.forward_kinematics_tensor(q)[:, 0])


def test_later_parameters_replace_earlier_ones_of_the_same_name_only():
    q = three().random(3)
    made = three().with_parameters(mimic={"follow": (5.0, 0.0)}, axes={"turn": [0.0, 0.6, 0.8]})
    made = made.with_parameters(mimic={"follow": (-1.5, 0.7)})
    wanted = three(axis="0 0.6 0.8", m=-1.5, o=0.7)
    torch.testing.assert_close(made.forward_kinematics_tensor(q), wanted.forward_kinematics_tensor(q))


@pytest.mark.parametrize(
    "given, message",
    [
        (dict(origins={"trun": pose(0, 0, 0)}), "did you mean \\['turn'\\]"),
        (dict(origins={"turn": torch.eye(3, dtype=torch.float64)}), r"origins\['turn'\] has shape"),
        (dict(origins={"turn": 2 * torch.eye(4, dtype=torch.float64)}), "no rotation"),
        (dict(axes={"mount": [0.0, 0.0, 1.0]}), "a fixed joint has no single axis"),
        (dict(offsets={"turn": torch.zeros(())}), "float32"),
        (dict(mimic={"turn": (1.0, 0.0)}), "unknown mimic joint 'turn'; valid: \\['follow'\\]"),
        (dict(mimic={"follow": 1.0}), "must be a pair"),
    ],
)
def test_wrong_parameters_are_named(given, message):
    with pytest.raises(pk.PkError, match=message):
        three().with_parameters(**given)


def test_batches_that_do_not_fit_are_named():
    made = three().with_parameters(offsets={"turn": torch.zeros(3, dtype=torch.float64)})
    with pytest.raises(pk.ShapeError, match="do not broadcast"):
        made.forward_kinematics_tensor(torch.zeros(4, 2, dtype=torch.float64))


def leaves(batch: tuple[int, ...] = ()) -> list[torch.Tensor]:
    """Give numbers that move every parameter of the robot with all joint types, and its configuration."""
    generator = torch.Generator().manual_seed(3)
    sizes = [(6,), (6,), (3,), (), ()]
    return [
        torch.randn((*batch, *s), dtype=torch.float64, generator=generator).mul(0.3).requires_grad_() for s in sizes
    ]


def arms(twist: torch.Tensor, fixed: torch.Tensor, axis: torch.Tensor, m: torch.Tensor, o: torch.Tensor) -> Chain:
    at = pose(0.1, 0, 0.3, 0.1, 0.3, 0.2)
    return three().with_parameters(
        origins={"turn": at @ pk.se3_exp_map(twist), "mount": pk.se3_exp_map(fixed)},
        axes={"turn": axis + torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64)},
        mimic={"follow": (m, o)},
        offsets={"slide": o},
        base=pk.se3_exp_map(fixed),
    )


def test_inverse_kinematics_solves_for_the_parameters_that_hold():
    arm = panda().with_parameters(
        offsets={"panda_joint2": 0.2}, origins={"panda_joint4": pose(0.1, 0, 0, 1.5708, 0, 0)}
    )
    targets = arm.forward_kinematics(arm.random(50)).get_matrix()
    result = pk.solve_ik(arm, targets)
    assert result.converged.double().mean() > 0.95
    reached = arm.forward_kinematics(result.best()).get_matrix()
    good = result.converged[:, 0]
    torch.testing.assert_close(reached[good, :3, 3], targets[good, :3, 3], rtol=0, atol=1e-4)
    with pytest.raises(pk.UnsupportedError, match="several arms"):
        pk.solve_ik(arm.with_parameters(offsets={"panda_joint2": torch.zeros(3, dtype=torch.float64)}), targets)


LEAVES = ["twist", "fixed", "axis", "multiplier", "offset"]


def gradients(loss, *inputs: torch.Tensor) -> list[torch.Tensor]:
    return list(torch.autograd.grad(loss(*inputs), inputs, create_graph=True))


@pytest.mark.parametrize("batch", [(), (3,), (2, 1)])
def test_gradients_of_poses_reach_every_parameter_as_by_plain_autograd(batch):
    q, given = three().random(3).requires_grad_(), leaves(batch)
    weights = torch.randn(5, *torch.broadcast_shapes(batch, (3,)), 4, 4, dtype=torch.float64)

    def loss(q: torch.Tensor, *given: torch.Tensor, analytical: bool = True) -> torch.Tensor:
        return (arms(*given).forward_kinematics_tensor(q, analytical_grad=analytical) * weights).sum()

    fused = gradients(loss, q, *given)
    plain = gradients(lambda *x: loss(*x, analytical=False), q, *given)
    for name, ours, wanted in zip(["q", *LEAVES], fused, plain):
        torch.testing.assert_close(ours, wanted, rtol=0, atol=1e-11, msg=lambda m, n=name: f"{n}: {m}")
        assert wanted.abs().max() > 0, name


def test_parameter_gradients_of_poses_and_jacobians_pass_gradcheck():
    q = three().random(2).requires_grad_()
    x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    for given in (leaves(), leaves((2,))):
        for f, inputs in (
            (lambda q, *g: arms(*g).forward_kinematics_tensor(q), (q, *given)),
            (lambda q, x, *g: arms(*g).jacobian(q, "tool", x), (q, x, *given)),
        ):
            assert torch.autograd.gradcheck(f, inputs)
            assert torch.autograd.gradgradcheck(f, inputs, fast_mode=True)


@pytest.mark.parametrize("batched", [False, True])
def test_every_joint_type_hands_gradients_to_its_constants(batched):
    """All nineteen constants of every node, of poses and of Jacobians, against automatic differentiation."""
    every = Chain(all_joint_types(), dtype=torch.float64)
    q = every.random(70)
    frame = every.get_frame_names()[-1]
    for tree, f, definition in (
        (every._tensors, kinematics.forward_kinematics, reference.forward_kinematics),
        (every._frames((frame,)), kinematics.jacobian, reference.jacobian),
    ):
        constants = tree.constants.expand(70, -1, -1) if batched else tree.constants
        at = () if f is kinematics.forward_kinematics else (torch.tensor([0.1, -0.2, 0.3], dtype=torch.float64),)
        found = []
        for function in (f, definition):
            c, x = constants.clone().requires_grad_(), q.clone().requires_grad_()
            out = function(x, *at, tree.with_constants(c))
            weights = torch.randn(out.shape, dtype=out.dtype, generator=torch.Generator().manual_seed(4))
            found.append(torch.autograd.grad((out * weights).sum(), (x, c)))
        torch.testing.assert_close(found[0][0], found[1][0], rtol=0, atol=1e-10)
        difference = (found[0][1] - found[1][1]).abs()
        assert difference.max() < 1e-10, difference.amax(tuple(range(difference.dim() - 1)))


def test_function_transforms_reach_parameters():
    q, given = three().random(4), [x.detach() for x in leaves()]
    weights = torch.randn(4, 4, dtype=torch.float64)

    def one(q: torch.Tensor, *given: torch.Tensor) -> torch.Tensor:
        chain = arms(*given)
        return (chain.forward_kinematics_tensor(q)[-1, 0] * weights).sum() + chain.jacobian(q, "tool").sum()

    def plain(q: torch.Tensor, *given: torch.Tensor) -> torch.Tensor:
        chain = arms(*given)
        tree = chain._frames(("tool",))
        J = reference.jacobian(q.unsqueeze(0), q.new_zeros(3), tree)
        return (chain.forward_kinematics_tensor(q, analytical_grad=False)[-1, 0] * weights).sum() + J.sum()

    places = tuple(range(6))
    each = [torch.stack([x * s for s in (1.0, 0.5, -1.0, 2.0)]) for x in given]
    for transform in (
        lambda f: torch.func.grad(f, places)(q[0], *given),
        lambda f: torch.func.jacfwd(f, places)(q[0], *given),
        lambda f: torch.func.hessian(f, (0, 3, 4))(q[0], *given),
        lambda f: torch.func.vmap(f)(q, *each),
        lambda f: torch.func.vmap(torch.func.grad(f, places))(q, *each),
        lambda f: torch.func.vmap(torch.func.grad(f, places), (0, *(None,) * 5))(q, *given),
        lambda f: torch.func.vmap(torch.func.jacfwd(torch.func.grad(f, 3), 0), (0, *(None,) * 5))(q, *given),
        lambda f: torch.func.grad(lambda *g: torch.func.vmap(f, (0, *(None,) * 5))(q, *g).sum(), places[:-1])(*given),
    ):
        torch.testing.assert_close(transform(one), transform(plain), rtol=0, atol=1e-10)


def test_float32_parameters_learn():
    """Descend to the link length that the measured poses have."""
    single = pk.build_chain_from_urdf(URDF.format(**PLAIN))
    q = single.random(64)
    measured = pk.build_chain_from_urdf(URDF.format(**(PLAIN | dict(z=0.25)))).forward_kinematics_tensor(q)
    z = torch.tensor(0.05, requires_grad=True)
    up = torch.zeros(4, 4).index_put((torch.tensor(2), torch.tensor(3)), torch.tensor(1.0))
    mount = pose(0, 0, 0, 0, 0.3, 0).float()
    optimiser = torch.optim.SGD([z], lr=0.2)
    for _ in range(50):
        optimiser.zero_grad()
        poses = single.with_parameters(origins={"mount": mount + z * up}).forward_kinematics_tensor(q)
        (poses - measured).square().sum((0, 2, 3)).mean().backward()
        optimiser.step()
    assert math.isclose(z.item(), 0.25, abs_tol=1e-5)


def test_a_moved_chain_keeps_its_parameters_and_their_gradients():
    leaf = torch.tensor(0.3, dtype=torch.float64, requires_grad=True)
    chain = three().with_parameters(offsets={"turn": leaf}).to(torch.float32)
    chain.forward_kinematics_tensor(torch.zeros(1, 2))[-1, 0, 0, 3].backward()
    assert leaf.grad is not None and leaf.grad.abs() > 0
