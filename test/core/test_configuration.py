"""What may be handed in as a configuration, and what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from robots import all_joint_types, chain, joint, panda, robot, text

from pk_core import Chain, ShapeError, TensorTypeError, UnknownJoint, parse_urdf

PANDA = chain("panda", torch.float32)
EVERY = Chain(all_joint_types(), dtype=torch.float64)


def test_lists_arrays_tensors_and_dicts_say_the_same():
    values = [0.1, -0.2, 0.3, -1.5, 0.5, 1.0, 0.7, 0.02]
    expected = torch.tensor([values])
    assert torch.equal(PANDA.ensure_tensor(values), expected)
    assert torch.equal(PANDA.ensure_tensor(tuple(values)), expected)
    assert torch.equal(PANDA.ensure_tensor(np.array(values)), expected)
    assert torch.equal(PANDA.ensure_tensor(np.array(values, dtype=np.float32)), expected)
    assert torch.equal(PANDA.ensure_tensor(expected), expected)
    assert torch.equal(PANDA.ensure_tensor(dict(zip(PANDA.get_joint_names(), values))), expected)
    assert torch.equal(PANDA.ensure_tensor([torch.tensor(v) for v in values]), expected)


def test_integers_are_cast():
    assert PANDA.ensure_tensor([0] * 8).dtype == torch.float32
    assert PANDA.ensure_tensor(torch.zeros(3, 8, dtype=torch.long)).dtype == torch.float32


def test_a_tensor_of_another_floating_dtype_is_an_error_that_names_to():
    with pytest.raises(TensorTypeError, match=r"float64.*float32.*\.to\("):
        PANDA.forward_kinematics_tensor(torch.zeros(8, dtype=torch.float64))


def test_a_tensor_on_another_device_is_an_error_that_names_to():
    with pytest.raises(TensorTypeError, match=r"meta.*cpu.*\.to\("):
        PANDA.forward_kinematics_tensor(torch.zeros(8, device="meta"))


@pytest.mark.parametrize("value", [[0.0] * 7, [], torch.zeros(8, 3), torch.tensor(1.0), np.zeros((2, 9))])
def test_a_wrong_number_of_columns_names_the_joints(value):
    with pytest.raises(ShapeError, match="8.*panda_joint1"):
        PANDA.forward_kinematics(value)


@pytest.mark.parametrize("value", ["panda", None, object(), [[1.0], [1.0, 2.0]]])
def test_what_is_no_configuration_is_refused(value):
    with pytest.raises(ShapeError):
        PANDA.forward_kinematics(value)


def test_an_unknown_joint_in_a_dict_lists_close_names():
    with pytest.raises(UnknownJoint, match="panda_jiont1.*panda_joint1"):
        PANDA.ensure_tensor({"panda_jiont1": 0.0})


def test_a_mimic_joint_is_no_key_of_a_dict():
    with pytest.raises(UnknownJoint, match="panda_finger_joint2"):
        PANDA.ensure_tensor({"panda_finger_joint2": 0.0})


def test_joints_left_out_stand_at_neutral_unless_that_is_refused():
    q = EVERY.ensure_tensor({"turn": 0.5})
    expected = EVERY.neutral()
    expected[EVERY.get_joint_parameter_names().index("turn")] = 0.5
    assert torch.equal(q[0], expected)
    assert EVERY.ensure_tensor({})[0].tolist() == EVERY.neutral().tolist()
    with pytest.raises(UnknownJoint, match="slide"):
        EVERY.ensure_tensor({"turn": 0.5}, missing="error")
    with pytest.warns(UserWarning, match="slide"):
        EVERY.ensure_tensor({"turn": 0.5}, missing="warn")


def test_values_of_a_dict_broadcast_to_one_batch():
    q = EVERY.ensure_tensor({"turn": torch.zeros(4, 1), "ball": [1.0, 0, 0, 0], "slide": 0.1})
    assert q.shape == (4, EVERY.nq)
    q = EVERY.ensure_tensor({"turn": np.zeros((3, 4)), "slide": np.ones((3, 1)), "ball": np.ones((4, 4))})
    assert q.shape == (3, 4, EVERY.nq)
    with pytest.raises(ShapeError, match="broadcast.*turn"):
        EVERY.ensure_tensor({"turn": np.zeros(3), "slide": np.zeros(4)})
    with pytest.raises(ShapeError, match="ball.*4 coordinates"):
        EVERY.ensure_tensor({"ball": np.zeros(3)})


def test_gradients_reach_the_values_of_a_dict():
    x = torch.tensor(0.3, requires_grad=True)
    PANDA.forward_kinematics({"panda_joint2": x})["panda_hand"].get_matrix()[0, 0, 3].backward()
    assert x.grad.abs() > 0.1


def test_parameter_names_say_which_coordinate_a_column_is():
    assert EVERY.get_joint_parameter_names() == [
        *(f"float/{c}" for c in ("x", "y", "z", "qw", "qx", "qy", "qz")),
        "turn",
        "slide",
        "screw",
        *(f"ball/{c}" for c in ("qw", "qx", "qy", "qz")),
        "plane/x",
        "plane/y",
        "plane/theta",
        "cardan/0",
        "cardan/1",
        "leader",
    ]
    assert EVERY.get_joint_names() == ["float", "turn", "slide", "screw", "ball", "plane", "cardan", "leader"]
    assert (EVERY.nq, EVERY.nv, EVERY.n_joints) == (20, 18, 20)


def test_neutral_is_zero_the_identity_and_the_reference():
    values = dict(zip(EVERY.get_joint_parameter_names(), EVERY.neutral().tolist()))
    assert values.pop("leader") == 0.3
    assert {name for name, value in values.items() if value} == {"float/qw", "ball/qw"}


def test_random_configurations_stay_inside_the_limits():
    q = EVERY.random(2000, generator=torch.Generator().manual_seed(3))
    assert torch.equal(q, EVERY.random(2000, generator=torch.Generator().manual_seed(3)))
    assert ((q >= EVERY.low) & (q <= EVERY.high)).all()
    columns = {name: q[:, i] for i, name in enumerate(EVERY.get_joint_parameter_names())}
    assert columns["turn"].min() < -1.9 and columns["turn"].max() > 1.4
    assert columns["leader"].abs().max() <= math.pi and columns["leader"].max() > 3.0
    torch.testing.assert_close(q[:, 10:14].norm(dim=-1), torch.ones(2000, dtype=torch.float64))
    one_sided = Chain(robot(joint("j", "revolute", "a", "b", lower=1.0), joint("k", "revolute", "b", "c", upper=-5.0)))
    q = one_sided.random(100)
    assert (q[:, 0] >= 1.0).all() and (q[:, 1] <= -5.0).all()


def test_clamp_keeps_the_inside_and_cuts_the_outside():
    q = EVERY.neutral()
    q[7], q[8] = 5.0, 0.1
    clamped = EVERY.clamp(q)[0]
    assert clamped[7] == 1.5 and clamped[8] == 0.1 and clamped[3] == 1.0


def test_integrating_nothing_changes_nothing_but_the_length_of_quaternions():
    q = EVERY.random(3)
    torch.testing.assert_close(EVERY.integrate(q, torch.zeros(3, EVERY.nv, dtype=torch.float64)), q, rtol=0, atol=1e-15)
    with pytest.raises(ShapeError, match="18"):
        EVERY.integrate(q, torch.zeros(3, 20, dtype=torch.float64))


def test_a_serial_chain_counts_its_own_joints():
    with pytest.raises(ShapeError, match="7"):
        panda().forward_kinematics(torch.zeros(8, dtype=torch.float64))


def test_a_list_of_tensors_is_rows_in_every_dtype():
    rows = [torch.rand(8) for _ in range(8)]
    assert torch.equal(PANDA.ensure_tensor(rows), torch.stack(rows))
    halves = [row.bfloat16() for row in rows]
    assert torch.equal(PANDA.ensure_tensor(halves), torch.stack(halves).float())
    x = torch.tensor(0.2, requires_grad=True)
    PANDA.forward_kinematics([x] * 8)["panda_hand"].get_matrix().sum().backward()
    assert x.grad is not None


def test_complex_values_are_refused():
    with pytest.raises(TensorTypeError, match="complex"):
        PANDA.forward_kinematics(torch.zeros(8, dtype=torch.complex64))
    with pytest.raises(ShapeError):
        PANDA.forward_kinematics(np.zeros(8, dtype=complex))


def test_velocities_have_the_dtype_of_the_chain():
    with pytest.raises(TensorTypeError, match="v is torch.float64"):
        PANDA.integrate(torch.zeros(8), torch.zeros(8, dtype=torch.float64))


def test_what_is_clamped_is_inside_the_exact_limits_in_every_dtype():
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        arm = Chain(parse_urdf(text("panda")), dtype=dtype)
        low, high = (torch.tensor(bound, dtype=torch.float64) for bound in arm.get_joint_limits())
        for value in (-100.0, 100.0):
            q = arm.clamp(torch.full((arm.nq,), value, dtype=dtype)).double()
            assert ((q >= low) & (q <= high)).all()


def test_a_value_for_a_joint_that_mimics_is_refused_with_the_name_of_its_leader():
    arm = chain("panda")
    with pytest.raises(UnknownJoint, match="'panda_finger_joint2'.*follows 'panda_finger_joint1'"):
        arm.forward_kinematics({"panda_finger_joint2": 0.01})
