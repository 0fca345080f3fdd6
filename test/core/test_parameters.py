"""Model parameters as tensors: values as in an edited description, gradients as by finite differences."""

from __future__ import annotations

import pytest
import torch
from robots import panda

import pk_core as pk
from pk_core import Chain, SerialChain, Transform3d
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
    return [torch.randn(*batch, *s, dtype=torch.float64, generator=generator).mul(0.3).requires_grad_() for s in sizes]


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
