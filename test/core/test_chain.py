"""What a chain is, tells, and does when it moves to another dtype."""

from __future__ import annotations

import math

import pytest
import torch
from robots import all_joint_types, chain, joint, panda, robot, text

from pk_core import Chain, SerialChain, UnknownLink, build_chain_from_urdf, build_serial_chain_from_urdf


def test_a_chain_starts_in_float32_on_the_cpu_whatever_torch_defaults_to():
    torch.set_default_dtype(torch.float64)
    try:
        panda = build_chain_from_urdf(text("panda"))
        poses = panda.forward_kinematics([0.0] * 8)
    finally:
        torch.set_default_dtype(torch.float32)
    assert panda.dtype == torch.float32 and panda.device == torch.device("cpu")
    assert poses["panda_hand"].get_matrix().dtype == torch.float32


def test_the_default_device_of_torch_does_not_move_a_chain():
    torch.set_default_device("meta")
    try:
        panda = build_chain_from_urdf(text("panda"))
        poses = panda.forward_kinematics([0.0] * 8)
        random = panda.random(2)
    finally:
        torch.set_default_device(None)
    assert poses["panda_hand"].get_matrix().device.type == random.device.type == "cpu"


def test_to_acts_in_place_and_returns_the_chain():
    panda = build_chain_from_urdf(text("panda"))
    q = panda.random(4)
    single = panda.forward_kinematics_tensor(q)
    panda.jacobian(q, "panda_hand")  # fills the cache of subtrees
    assert panda.to(dtype=torch.float64) is panda
    assert panda.low.dtype == panda.neutral().dtype == torch.float64
    double = panda.forward_kinematics_tensor(q.double())
    assert double.dtype == torch.float64
    torch.testing.assert_close(double.float(), single, rtol=0, atol=1e-6)
    assert panda.jacobian(q.double(), "panda_hand").dtype == torch.float64


def test_the_model_keeps_float64_through_float32():
    there = build_chain_from_urdf(text("ur5e"), dtype=torch.float64)
    back = build_chain_from_urdf(text("ur5e")).to(torch.float64)
    q = there.random(3)
    assert torch.equal(there.forward_kinematics_tensor(q), back.forward_kinematics_tensor(q))


def test_to_takes_dtype_and_device_in_any_order():
    ur5e = build_chain_from_urdf(text("ur5e"))
    assert ur5e.to("cpu", torch.float64).dtype == torch.float64
    assert ur5e.to(torch.float32, "meta").device.type == "meta"
    with pytest.raises(TypeError, match="floating"):
        ur5e.to(torch.int32)


def test_a_serial_chain_inherits_dtype_and_device():
    serial = SerialChain(chain("panda", torch.float64), "panda_hand")
    assert serial.dtype == torch.float64
    assert SerialChain(chain("panda", torch.float64), "panda_hand", dtype=torch.float32).dtype == torch.float32
    moved = build_chain_from_urdf(text("panda")).to(device="meta")
    assert SerialChain(moved, "panda_hand").low.device.type == "meta"


def test_links_come_depth_first_and_extra_frames_last():
    every = Chain(all_joint_types())
    assert every.get_link_names() == ["world", "body", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"]
    assert every.get_frame_names() == [*every.get_link_names(), "tool"]
    assert every.get_frame_names(exclude_fixed=True) == every.get_link_names()[1:-1]
    assert every.frame_to_idx == {name: i for i, name in enumerate(every.get_frame_names())}
    assert every.idx_to_frame[12] == "tool"
    assert every.get_frame_indices("tool", "a").tolist() == [12, 2]
    with pytest.raises(UnknownLink, match="tol"):
        every.get_frame_indices("tol")


def test_joints_know_their_limits():
    panda = chain("panda")
    joints = panda.get_joints()
    assert [j.name for j in joints] == panda.get_joint_names() == panda.get_joint_parameter_names()
    assert joints[0].limits == (-2.8973, 2.8973)
    assert joints[0].velocity_limits == (-2.175, 2.175)
    assert joints[0].effort_limits == (-87.0, 87.0)
    low, high = panda.get_joint_limits()
    assert (low[3], high[3]) == (-3.0718, -0.0698) and panda.low[3] == -3.0718 and panda.high[3] == -0.0698
    assert panda.get_joint_velocity_limits()[1][4] == 2.61 and panda.get_joint_effort_limits()[0][4] == -12.0
    assert [j.name for j in panda.get_joints(exclude_fixed=False)][-1] == "panda_hand_tcp_joint"


def test_what_is_not_limited_is_infinite():
    every = Chain(all_joint_types(), dtype=torch.float64)
    low, high = every.get_joint_limits()
    finite = [n for n, lo in zip(every.get_joint_parameter_names(), low) if math.isfinite(lo)]
    assert finite == ["turn", "slide"] and high[7] == 1.5 and low[3] == -math.inf
    assert every.get_joint_velocity_limits()[1] == [math.inf] * every.nv


def test_links_and_joints_are_found_by_name():
    panda = chain("panda")
    assert panda.find_link("panda_hand").name == "panda_hand"
    assert panda.find_joint("panda_joint4").type.value == "revolute"
    assert panda.find_joint("nothing") is None and panda.find_link("nothing") is None


def test_the_tree_is_drawn_as_users_know_it(capsys):
    forked = Chain(
        robot(joint("j", "revolute", "a", "b"), joint("k", "fixed", "b", "c"), joint("l", "prismatic", "a", "d"))
    )
    drawing = "a\n├── b\n│   └── c\n└── d\n"
    assert forked.print_tree() == str(forked) == drawing
    assert capsys.readouterr().out == drawing + "\n"
    assert forked.print_tree(do_print=False) == drawing
    assert capsys.readouterr().out == ""


def test_the_detailed_tree_names_joints_limits_and_leaders():
    drawing = chain("panda").print_tree(do_print=False, details=True)
    assert "panda_link4  [panda_joint4: revolute, -3.0718 .. -0.0698]" in drawing
    assert (
        "panda_rightfinger  [panda_finger_joint2: prismatic, 0 .. 0.04, mimics 1 * panda_finger_joint1 + 0]" in drawing
    )


def test_the_tree_is_that_of_pytorch_kinematics():
    peer = pytest.importorskip("pytorch_kinematics")
    expected = peer.build_chain_from_urdf(text("ur5e").encode())
    ours = chain("ur5e")
    assert ours.print_tree(do_print=False) == expected.print_tree(do_print=False)
    assert ours.get_joint_parameter_names() == expected.get_joint_parameter_names()


def test_a_robot_of_one_link_stands_at_the_identity():
    lonely = build_chain_from_urdf("<robot name='r'><link name='a'/></robot>", dtype=torch.float64)
    assert (lonely.nq, lonely.nv, lonely.get_joint_names()) == (0, 0, [])
    poses = lonely.forward_kinematics(torch.zeros(3, 0, dtype=torch.float64))
    assert torch.equal(poses["a"].get_matrix(), torch.eye(4, dtype=torch.float64).expand(3, 4, 4))
    assert lonely.print_tree(do_print=False) == "a\n"


def test_a_chain_of_5000_links_and_a_tree_of_20000_are_built():
    deep = "".join(f"<link name='l{i}'/>" for i in range(5000)) + "".join(
        f"<joint name='j{i}' type='continuous'><parent link='l{i}'/><child link='l{i + 1}'/><origin xyz='0 0 0.001'/></joint>"
        for i in range(4999)
    )
    chain = build_chain_from_urdf(f"<robot name='deep'>{deep}</robot>", dtype=torch.float64)
    assert chain.forward_kinematics_tensor(chain.neutral())[-1, 0, 2, 3].item() == pytest.approx(4.999)
    assert chain.print_tree(do_print=False).count("\n") == 5000
    wide = "<link name='root'/>" + "".join(
        f"<link name='l{i}'/><joint name='j{i}' type='prismatic'><parent link='root'/><child link='l{i}'/></joint>"
        for i in range(19_999)
    )
    tree = build_chain_from_urdf(f"<robot name='wide'>{wide}</robot>")
    assert tree.nq == 19_999 and len(tree.get_link_names()) == 20_000


def test_the_builders_take_text_and_bytes():
    for data in (text("panda"), text("panda").encode()):
        serial = build_serial_chain_from_urdf(data, "panda_hand", "panda_link2", dtype=torch.float64)
        assert serial.get_joint_names() == [f"panda_joint{k}" for k in range(3, 8)]
    assert repr(panda()) == "SerialChain('panda', nq=7, 11 frames)"


@pytest.mark.parametrize("index", [0.5, 999, -1, "panda_hand"])
def test_what_is_no_frame_index_is_refused(index):
    with pytest.raises(UnknownLink, match="frame index"):
        chain("panda").forward_kinematics([0.0] * 8, frame_indices=[index])


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")
def test_a_move_that_fails_changes_nothing():
    arm = panda()
    with pytest.raises((RuntimeError, AssertionError)):
        arm.to(torch.float32, "cuda")
    assert (arm.dtype, arm.device.type) == (torch.float64, "cpu")
    assert arm.forward_kinematics([0.0] * 7).get_matrix().dtype == torch.float64
