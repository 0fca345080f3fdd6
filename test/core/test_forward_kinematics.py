"""Forward kinematics against other programs, and its laws."""

from __future__ import annotations

import corpus
import numpy as np
import pytest
import torch
from robots import all_joint_types, chain, joint, robot

from pk_core import Chain, parse_urdf
from pk_core.kinematics import fused, reference
from pk_core.model import JointType

URDFS = corpus.entries("urdf")


def configurations(chain: Chain, ref: dict) -> torch.Tensor:
    """Give the configurations of a reference as q (n, nq)."""
    rows = [[value for span in chain._tree.spans for value in np.ravel(q[span.joint.name])] for q in ref["q"]]
    return torch.tensor(rows, dtype=torch.float64)


@corpus.require_corpus
@pytest.mark.parametrize("entry", URDFS, ids=corpus.name)
def test_every_link_of_a_real_robot_stands_where_other_programs_put_it(entry):
    ref = corpus.load_reference(entry)
    chain = Chain(parse_urdf(corpus.path(entry).read_bytes()), dtype=torch.float64)
    poses = chain.forward_kinematics(configurations(chain, ref))
    assert set(ref["poses"][0]) <= set(poses)
    for k, expected in enumerate(ref["poses"]):
        for link, T in expected.items():
            np.testing.assert_allclose(poses[link].get_matrix()[k], np.reshape(T, (4, 4)), rtol=0, atol=1e-9)


@corpus.require_corpus
@pytest.mark.parametrize("entry", URDFS, ids=corpus.name)
def test_float32_stays_within_2e_5_of_a_metre(entry):
    ref = corpus.load_reference(entry)
    chain = Chain(parse_urdf(corpus.path(entry).read_bytes()))
    assert chain.dtype == torch.float32
    poses = chain.forward_kinematics_tensor(configurations(chain, ref).float())
    scale = max(1.0, max(abs(x) for T in ref["poses"] for pose in T.values() for x in pose))
    for k, expected in enumerate(ref["poses"]):
        for link, T in expected.items():
            got = poses[chain.frame_to_idx[link], k]
            np.testing.assert_allclose(got, np.reshape(T, (4, 4)), rtol=0, atol=2e-5 * scale)


@pytest.mark.parametrize("name", ["panda", "ur5e"])
def test_the_embedded_robots_agree_with_pinocchio(name):
    import pinocchio
    from robots import text

    chain_ = chain(name)
    if int(pinocchio.__version__.split(".")[0]) < 3:  # the one that fits beside numpy 1
        pytest.skip("this Pinocchio knows no mimic joints")
    model = pinocchio.buildModelFromXML(text(name), mimic=True)
    data = model.createData()
    q = chain_.random(20)
    poses = chain_.forward_kinematics(q)
    for k in range(20):
        values = dict(zip(chain_.get_joint_parameter_names(), q[k].tolist()))
        pinocchio.framesForwardKinematics(model, data, np.array([values[n] for n in model.names[1:] if n in values]))
        for link in chain_.get_link_names():
            expected = data.oMf[model.getFrameId(link)].homogeneous
            np.testing.assert_allclose(poses[link].get_matrix()[k], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_fused_kernel_agrees_with_the_definition(dtype):
    chain = Chain(all_joint_types(), dtype=dtype)
    q = chain.random(150)
    expected = reference.forward_kinematics(q, chain._tensors)
    tolerance = {torch.float32: 5e-6, torch.float64: 1e-14}[dtype]
    torch.testing.assert_close(fused.forward_kinematics(q, chain._tensors), expected, rtol=0, atol=tolerance)


def test_angles_of_thousands_of_turns_agree_with_the_definition():
    chain = Chain(robot(joint("j", "continuous", "a", "b")), dtype=torch.float64)
    q = torch.tensor([[0.0], [1e5], [-3e6], [1e9], [7.0]], dtype=torch.float64)
    expected = reference.forward_kinematics(q, chain._tensors)
    torch.testing.assert_close(fused.forward_kinematics(q, chain._tensors), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_configuration_gives_the_same_bits_wherever_it_stands_in_a_batch(dtype):
    every = Chain(all_joint_types(), dtype=dtype)
    q = every.random(1000)
    frame = every.get_frame_names()[-1]
    tree, tip, at = every._tensors, every._frames((frame,)), torch.zeros(3, dtype=dtype)
    grad = torch.randn(len(tree.frame_nodes), 1000, 4, 4, dtype=dtype)
    grad_J = torch.randn(1000, 6, every.nv, dtype=dtype)
    kernels = (
        lambda rows: fused.forward_kinematics(q[rows], tree).movedim(1, 0),
        lambda rows: fused.jacobian(q[rows], at, tip),
        lambda rows: fused.reverse_sweep(q[rows], grad[:, rows], tree),
        lambda rows: fused.parameter_sweep(q[rows], grad[:, rows], tree)[0],
        lambda rows: fused.jacobian_sweep(q[rows], at, grad_J[rows], tip)[0],
    )
    for kernel in kernels:
        whole = kernel(slice(0, 1000))
        for begin, end in [(0, 1), (0, 16), (3, 20), (1, 66), (500, 1000), (985, 1000)]:
            assert torch.equal(kernel(slice(begin, end)), whole[begin:end])


def test_leading_batch_dimensions_are_kept():
    panda = chain("panda")
    q = panda.random(24)
    flat = panda.forward_kinematics_tensor(q)
    assert torch.equal(panda.forward_kinematics_tensor(q.view(2, 3, 4, 8)), flat.view(-1, 2, 3, 4, 4, 4))
    pose = panda.forward_kinematics(q.view(4, 6, 8))["panda_hand"]
    assert pose.get_matrix().shape == (4, 6, 4, 4)


def test_one_dimension_is_a_batch_of_one():
    panda = chain("panda")
    assert panda.forward_kinematics_tensor(torch.zeros(8, dtype=torch.float64)).shape == (13, 1, 4, 4)
    assert panda.forward_kinematics([0.0] * 8)["panda_link8"].get_matrix().shape == (1, 4, 4)


def test_an_empty_batch_gives_empty_poses():
    panda = chain("panda")
    assert panda.forward_kinematics_tensor(torch.zeros(0, 8, dtype=torch.float64)).shape == (13, 0, 4, 4)


def test_a_non_contiguous_configuration_is_read_right():
    panda = chain("panda")
    q = panda.random(16)
    assert torch.equal(panda.forward_kinematics_tensor(q.T.contiguous().T), panda.forward_kinematics_tensor(q))
    assert torch.equal(panda.forward_kinematics_tensor(q[::2]), panda.forward_kinematics_tensor(q)[:, ::2])


def test_some_frames_alone_are_the_same_as_among_all():
    panda = chain("panda")
    q = panda.random(5)
    every = panda.forward_kinematics(q)
    some = panda.forward_kinematics(q, frame_indices=panda.get_frame_indices("panda_rightfinger", "panda_link3"))
    assert list(some) == ["panda_rightfinger", "panda_link3"]
    for name, pose in some.items():
        torch.testing.assert_close(pose.get_matrix(), every[name].get_matrix(), rtol=0, atol=1e-15)


def test_a_mimic_joint_is_its_leader_substituted():
    from dataclasses import replace

    robot_ = all_joint_types()
    free = replace(
        robot_,
        joints=tuple(replace(j, axes=tuple(replace(axis, mimic=None) for axis in j.axes)) for j in robot_.joints),
    )
    mimicking, independent = Chain(robot_, dtype=torch.float64), Chain(free, dtype=torch.float64)
    q = mimicking.random(10)
    values = {span.joint.name: q[:, span.q_slice] for span in mimicking._tree.spans}
    leader = values["leader"]
    values |= {"second": 0.4 * leader - 0.1, "follower": -0.5 * (0.4 * leader - 0.1) + 0.2}
    a = mimicking.forward_kinematics_tensor(q)
    b = independent.forward_kinematics_tensor(independent.ensure_tensor(values))
    torch.testing.assert_close(a, b, rtol=0, atol=1e-14)


def test_a_joint_at_its_reference_does_not_move_its_child():
    moved = Chain(robot(joint("j", "revolute", "a", "b", reference=0.7)), dtype=torch.float64)
    plain = Chain(robot(joint("j", "fixed", "a", "b")), dtype=torch.float64)
    expected = plain.forward_kinematics([])["b"].get_matrix()
    torch.testing.assert_close(moved.forward_kinematics([0.7])["b"].get_matrix(), expected, rtol=0, atol=1e-15)
    torch.testing.assert_close(
        moved.forward_kinematics(moved.neutral())["b"].get_matrix(), expected, rtol=0, atol=1e-15
    )


def test_moving_the_base_moves_every_link():
    base = joint("base", "fixed", "floor", "root", xyz=(1.0, 2.0, 3.0))
    arm = [joint("j1", "revolute", "root", "a", (0.0, 1.0, 0.0)), joint("j2", "prismatic", "a", "b", (1.0, 0.0, 0.0))]
    moved, still = (Chain(robot(*joints), dtype=torch.float64) for joints in ([base, *arm], arm))
    q = still.random(4)
    T_floor_root = moved.forward_kinematics(q)["root"].get_matrix()
    for name, pose in still.forward_kinematics(q).items():
        torch.testing.assert_close(
            moved.forward_kinematics(q)[name].get_matrix(), T_floor_root @ pose.get_matrix(), rtol=0, atol=1e-14
        )


def test_a_zero_quaternion_gives_a_row_of_nan_and_leaves_the_others():
    chain = Chain(robot(joint("ball", "ball", "a", "b")), dtype=torch.float64)
    poses = chain.forward_kinematics(torch.tensor([[1.0, 0, 0, 0], [0, 0, 0, 0], [0, 2.0, 0, 0]], dtype=torch.float64))
    finite = poses["b"].get_matrix()[:, :3, :3].isfinite().all(-1).all(-1)
    assert finite.tolist() == [True, False, True]


def test_a_nan_in_one_row_stays_in_that_row():
    panda = chain("panda")
    q = panda.random(100)
    q[37, 3] = torch.nan
    finite = panda.forward_kinematics_tensor(q).isfinite().all(-1).all(-1)
    assert finite[:4].all()  # links above the joint
    assert not finite[6, 37] and finite[:, torch.arange(100) != 37].all()


def test_the_output_is_written_whole():
    """Every entry is written: memory that held NaN before gives no NaN."""
    panda = chain("panda", torch.float32)
    q = panda.random(777)
    for _ in range(3):
        torch.full((13, 777, 4, 4), torch.nan)  # freed at once: the next allocation of this size takes it over
        assert panda.forward_kinematics_tensor(q).isfinite().all()


def test_planar_joints_move_in_the_plane_normal_to_their_axis():
    for axis in [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (0.6, 0.0, 0.8), (1.0, 0.0, 0.0)]:
        chain = Chain(robot(joint("p", "planar", "a", "b", axis, xyz=(0, 0, 0), rpy=(0, 0, 0))), dtype=torch.float64)
        T = chain.forward_kinematics(torch.tensor([[0.3, -0.4, 0.0], [0.0, 0.0, 0.9]], dtype=torch.float64))[
            "b"
        ].get_matrix()
        normal = torch.tensor(axis, dtype=torch.float64)
        assert abs(T[0, :3, 3] @ normal) < 1e-15 and abs(T[0, :3, 3].norm() - 0.5) < 1e-15
        torch.testing.assert_close(T[1, :3, :3] @ normal, normal, rtol=0, atol=1e-15)


def test_joint_types_of_the_tree_are_all_tried():
    assert {j.type for j in all_joint_types().joints} == set(JointType)
