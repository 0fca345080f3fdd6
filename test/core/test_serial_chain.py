"""Paths between any two frames, down and up the tree."""

from __future__ import annotations

import itertools

import pytest
import torch
from robots import all_joint_types, chain, joint, panda, robot

from pk_core import Chain, SerialChain, UnknownLink, UnsupportedError

EVERY = Chain(all_joint_types(), dtype=torch.float64)
ABOVE_BALL = ["a", "b", "c", "e", "g", "j", "tool"]  # a path among these climbs through neither ball nor floating joint


def on_path(serial: Chain, whole: Chain, q: torch.Tensor) -> torch.Tensor:
    """Pick the columns of a serial chain out of a configuration of the whole robot."""
    columns = [whole.get_joint_parameter_names().index(name) for name in serial.get_joint_parameter_names()]
    return q[:, columns]


@pytest.mark.parametrize(("root", "end"), list(itertools.product(ABOVE_BALL, repeat=2)))
def test_a_pose_between_two_frames_is_the_quotient_of_their_poses(root, end):
    serial = SerialChain(EVERY, end, root)
    q = EVERY.random(5)
    poses = EVERY.forward_kinematics(q)
    T_root = torch.linalg.inv(poses[root].get_matrix())
    x = on_path(serial, EVERY, q)
    got = serial.forward_kinematics(x, end_only=False)
    assert list(got)[-1] == end and next(iter(got)) == root
    for name, pose in got.items():
        torch.testing.assert_close(pose.get_matrix(), T_root @ poses[name].get_matrix(), rtol=0, atol=1e-13)
    torch.testing.assert_close(serial.forward_kinematics(x).get_matrix(), got[end].get_matrix(), rtol=0, atol=1e-15)


@pytest.mark.parametrize(("root", "end"), [("world", "tool"), ("tool", "a"), ("c", "tool"), ("j", "b"), ("a", "d")])
def test_the_jacobian_is_in_the_frame_of_the_root(root, end):
    serial = SerialChain(EVERY, end, root)
    x, v = serial.random(8), torch.randn(8, serial.nv, dtype=torch.float64)
    e = 1e-6
    T1, T0 = (serial.forward_kinematics(serial.integrate(x, s * e * v)).get_matrix() for s in (1, -1))
    dp = (T1 - T0)[:, :3, 3] / (2 * e)
    W = (T1 - T0)[:, :3, :3] @ (T1 + T0)[:, :3, :3].mT / (4 * e)
    w = torch.stack([W[:, 2, 1], W[:, 0, 2], W[:, 1, 0]], -1)
    twist = (serial.jacobian(x) @ v.unsqueeze(-1)).squeeze(-1)
    torch.testing.assert_close(twist, torch.cat([dp, w], -1), rtol=0, atol=1e-7)


def test_columns_are_in_path_order_and_signs_unchanged():
    down, up = SerialChain(EVERY, "i", "a"), SerialChain(EVERY, "a", "i")
    assert down.get_joint_names() == ["plane", "cardan", "leader"]
    assert up.get_joint_names() == ["leader", "cardan", "plane"]


def test_the_way_back_is_the_inverse():
    arm = chain("panda")
    there, back = (
        SerialChain(arm, "panda_leftfinger", "panda_link2"),
        SerialChain(arm, "panda_link2", "panda_leftfinger"),
    )
    q = there.random(10)
    product = there.forward_kinematics(q).get_matrix() @ back.forward_kinematics(q.flip(-1)).get_matrix()
    torch.testing.assert_close(product, torch.eye(4, dtype=torch.float64).expand(10, 4, 4), rtol=0, atol=1e-14)


def test_a_leader_off_the_path_is_a_coordinate():
    finger = SerialChain(chain("panda"), "panda_rightfinger", "panda_link6")
    assert finger.get_joint_names() == ["panda_joint7", "panda_finger_joint1"]
    poses = finger.forward_kinematics(torch.tensor([[0.0, 0.0], [0.0, 0.03]], dtype=torch.float64)).get_matrix()
    assert (poses[1] - poses[0])[:3, 3].norm().item() == pytest.approx(0.03)
    assert finger.low.tolist() == [-2.8973, 0.0]


def test_a_chain_that_starts_below_the_root_does_not_count_the_joint_above_it():
    serial = SerialChain(chain("panda"), "panda_link5", "panda_link3")
    assert serial.get_joint_names() == ["panda_joint4", "panda_joint5"]
    assert serial.get_frame_names() == ["panda_link3", "panda_link4", "panda_link5"]


def test_from_a_frame_to_itself_is_the_identity():
    for name in ("a", "tool", "world"):
        serial = SerialChain(EVERY, name, name)
        assert serial.nq == 0
        assert torch.equal(serial.forward_kinematics([]).get_matrix(), torch.eye(4, dtype=torch.float64)[None])


def test_an_empty_root_is_the_robots_own():
    assert torch.equal(
        panda().forward_kinematics(torch.zeros(1, 7, dtype=torch.float64)).get_matrix(),
        SerialChain(chain("panda"), "panda_hand_tcp", "panda_link0").forward_kinematics([0.0] * 7).get_matrix(),
    )


def test_fixed_joints_first_last_and_between_are_kept():
    arm = Chain(
        robot(
            joint("f1", "fixed", "a", "b"), joint("j1", "revolute", "b", "c"), joint("f2", "fixed", "c", "d"),
            joint("j2", "prismatic", "d", "e"), joint("f3", "fixed", "e", "f"), joint("f4", "fixed", "c", "side"),
        ),
        dtype=torch.float64,
    )  # fmt: skip
    serial = SerialChain(arm, "f")
    assert serial.get_frame_names() == ["a", "b", "c", "d", "e", "f"]
    q = arm.random(3)
    poses = arm.forward_kinematics(q)
    for name, pose in serial.forward_kinematics(q, end_only=False).items():
        assert torch.equal(pose.get_matrix(), poses[name].get_matrix())


def test_unknown_ends_and_roots_are_named():
    with pytest.raises(UnknownLink, match="panda_hadn.*panda_hand"):
        SerialChain(chain("panda"), "panda_hadn")
    with pytest.raises(UnknownLink, match="nowhere"):
        SerialChain(chain("panda"), "panda_hand", "nowhere")


def test_climbing_through_a_ball_or_floating_joint_is_refused_by_name():
    with pytest.raises(UnsupportedError, match="ball joint 'ball'"):
        SerialChain(EVERY, "a", "d")
    with pytest.raises(UnsupportedError, match="floating joint 'float'"):
        SerialChain(EVERY, "world", "body")
