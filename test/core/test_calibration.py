"""Calibration finds the robot that was measured."""

from __future__ import annotations

import math

import pytest
import torch
from measuring import NOISE, perturbed, placed, seen, small, tips
from robots import chain, panda, ur5e
from torch import Tensor

import pk_core as pk
from pk_core import CalibrationOptions, Chain, SerialChain

TIP = "panda_hand_tcp"


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(1)


def worst(found: Chain, true: Chain, frame: str, generator: torch.Generator, *tools: Tensor) -> float:
    """Give the largest distance between the tips at fresh configurations [m]."""
    q = true.random(300, generator)
    tools = tools or (None, None)
    difference = tips(found, q, frame, tools[0]) - tips(true, q, frame, tools[1])
    return difference[:, :3, 3].norm(dim=-1).max().item()


def test_a_panda_with_all_origins_perturbed_is_found_from_poses(generator):
    arm = panda()
    true = perturbed(arm, generator)
    q = arm.random(200, generator)
    result = pk.calibrate(arm, q, seen(tips(true, q, TIP), generator), origins="all")
    assert result.converged and type(result.chain) is SerialChain
    assert len(result.names) == 60 and len(result.undetermined) == 2 * 7 + 2 * 6  # each turning joint, each fixed one
    assert worst(arm, true, TIP, generator) > 10e-3
    assert worst(result.chain, true, TIP, generator) < 0.1e-3
    assert result.noise == pytest.approx((NOISE, NOISE), rel=0.1)
    for before, after in (result.position_rms, result.rotation_rms):
        assert before > 10e-3 and after == pytest.approx(NOISE * math.sqrt(3), rel=0.1)
    now = tips(result.chain, q, TIP)
    measured = seen(tips(true, q, TIP), torch.Generator().manual_seed(1))  # another instrument, no better
    assert (measured - now)[:, :3, 3].norm(dim=-1).square().mean().sqrt() < 2.5 * NOISE


def test_a_panda_is_found_from_positions_alone(generator):
    arm = panda()
    true = perturbed(arm, generator)
    q = arm.random(200, generator)
    result = pk.calibrate(arm, q, seen(tips(true, q, TIP), generator)[:, :3, 3], origins="all")
    assert result.converged and worst(result.chain, true, TIP, generator) < 0.15e-3
    assert result.residuals.shape == (200, 3) and result.rotation_error.isnan().all()
    assert math.isnan(result.noise[1]) and math.isnan(result.rotation_rms[1])


@pytest.mark.parametrize("loss", ["huber", "cauchy"])
@pytest.mark.parametrize("width", [3, 6])
def test_one_row_in_ten_may_be_wrong_altogether_with_a_robust_loss(loss, width, generator):
    arm = panda()
    true = perturbed(arm, generator)
    q = arm.random(200, generator)
    measured = seen(tips(true, q, TIP), generator)
    wrong = torch.randperm(200, generator=generator)[:20]
    measured[wrong] = tips(true, arm.random(20, generator), TIP)
    if width == 3:
        measured = measured[:, :3, 3]
    result = pk.calibrate(arm, q, measured, origins="all", options=CalibrationOptions(loss=loss))
    assert result.converged and worst(result.chain, true, TIP, generator) < 0.2e-3
    good = torch.ones(200, dtype=torch.bool).index_fill(0, wrong, False)
    assert result.weights[wrong].max() < 0.05 and result.weights[good].median() > 0.8
    assert result.noise[0] == pytest.approx(NOISE, rel=0.25)


def test_outliers_spoil_least_squares(generator):
    """What the robust losses are for: with least squares all looks like noise, and the robot stays as it was."""
    arm = panda()
    true = arm.with_parameters(offsets={"panda_joint2": 0.02})
    q = arm.random(100, generator)
    measured = seen(tips(true, q, TIP), generator)
    measured[:10] = tips(arm, arm.random(10, generator), TIP)
    found = [
        pk.calibrate(arm, q, measured, offsets="all", options=CalibrationOptions(loss=loss))
        for loss in ("squared", "huber")
    ]
    errors = [worst(one.chain, true, TIP, generator) for one in found]
    assert errors[0] > 5e-3 and errors[1] < 0.2e-3


def test_joint_offsets_of_a_ur5e_are_found(generator):
    arm = ur5e()
    names = arm.get_joint_names()
    offsets = dict(zip(names, small([0.1] * 6, generator)))
    q = arm.random(50, generator)
    measured = seen(tips(arm.with_parameters(offsets=offsets), q, "tool0"), generator)
    result = pk.calibrate(arm, q, measured, offsets="all")
    assert result.names == tuple(f"{name} offset" for name in names) and not result.undetermined
    error = result.change - torch.stack(list(offsets.values()))
    assert (error.abs() < 4 * result.standard_deviation).all() and result.standard_deviation.max() < 1e-4


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("width", [3, 6])
def test_base_and_tool_are_found_wherever_they_are(seed, width):
    generator = torch.Generator().manual_seed(seed)
    base, tool = placed(generator, 2.0), placed(generator, 0.3)
    arm = panda()
    true = perturbed(arm, generator, 1e-3, 0.2).with_parameters(base=base)
    q = arm.random(100, generator)
    measured = seen(tips(true, q, TIP, tool), generator)
    measured = measured if width == 6 else measured[:, :3, 3]
    result = pk.calibrate(arm, q, measured, base=True, tool=True, origins="all")
    assert worst(result.chain, true, TIP, generator, result.tool, tool) < 0.3e-3
    torch.testing.assert_close(result.base, base, rtol=0, atol=0.02)
    if width == 6:
        torch.testing.assert_close(result.tool, tool, rtol=0, atol=0.02)


def test_a_known_tool_is_taken_as_it_is(generator):
    arm, tool = ur5e(), placed(generator, 0.2)
    q = arm.random(30, generator)
    true = arm.with_parameters(offsets={"elbow_joint": 0.05})
    measured = tips(true, q, "tool0", tool)
    for given in (tool, pk.Transform3d(matrix=tool)):
        result = pk.calibrate(arm, q, measured[:, :3, 3], offsets="all", tool_pose=given)
        torch.testing.assert_close(result.change, torch.tensor([0, 0, 0.05, 0, 0, 0]).double(), rtol=0, atol=1e-7)
        assert torch.equal(result.tool, tool) and result.base is None


def test_the_mimic_ratio_of_the_pandas_finger_is_found(generator):
    robot, finger = chain("panda"), "panda_rightfinger"
    true = robot.with_parameters(mimic={"panda_finger_joint2": (0.9, 0.002)})
    q = robot.random(200, generator)
    result = pk.calibrate(robot, q, seen(tips(true, q, finger), generator), finger, mimic="all")
    assert result.names == ("panda_finger_joint2 mimic multiplier", "panda_finger_joint2 mimic offset")
    error = result.change - torch.tensor([-0.1, 0.002], dtype=torch.float64)
    assert (error.abs() < 4 * result.standard_deviation).all() and result.standard_deviation.max() < 1e-3


def test_axes_are_found(generator):
    arm = ur5e()
    tilted = {name: pk.so3_exp_map(small([0.02, 0.02, 0], generator))[:, 2] for name in arm.get_joint_names()}
    true = arm.with_parameters(axes=tilted)
    q = arm.random(100, generator)
    result = pk.calibrate(arm, q, seen(tips(true, q, "tool0"), generator), axes="all")
    for name, axis in tilted.items():
        torch.testing.assert_close(result.chain.parameters.axes[name], axis, rtol=0, atol=3e-4)
    assert result.names[:2] == ("shoulder_pan_joint axis x", "shoulder_pan_joint axis y")
    wanted = torch.stack([axis[:2] for axis in tilted.values()]).flatten()
    torch.testing.assert_close(result.change, wanted, rtol=0, atol=3e-4)


def test_measurements_without_noise_give_the_exact_robot(generator):
    arm = ur5e()
    true = perturbed(arm, generator)
    q = arm.random(60, generator)
    result = pk.calibrate(arm, q, tips(true, q, "tool0"), origins="all")
    assert result.converged and worst(result.chain, true, "tool0", generator) < 1e-12


def test_a_path_from_elsewhere_is_calibrated_in_the_frame_of_its_root(generator):
    robot = chain("panda")
    true = perturbed(robot, generator)
    ends = ("panda_link1", "panda_hand_tcp")  # the path climbs
    arm = SerialChain(robot, *ends)
    q = arm.random(100, generator)
    measured = seen(SerialChain(true, *ends).forward_kinematics(q).get_matrix(), generator)
    result = pk.calibrate(arm, q, measured, origins="all")
    assert worst(result.chain, SerialChain(true, *ends), "panda_link1", generator) < 0.1e-3


def test_calibration_begins_where_the_chain_is_and_leaves_it_there(generator):
    arm = panda()
    base = placed(generator, 1.0)
    true = perturbed(arm, generator).with_parameters(base=base)
    leaf = torch.tensor(0.001, dtype=torch.float64, requires_grad=True)
    start = true.with_parameters(offsets={"panda_joint4": leaf}).to(torch.float32)
    held = start.parameters
    q = arm.random(50, generator)
    with torch.inference_mode():
        result = pk.calibrate(start, q.float(), tips(true, q, TIP).float(), offsets=["panda_joint4"])
    assert result.change.item() == pytest.approx(-0.001, abs=1e-6)
    assert start.parameters is held and start.dtype == torch.float32 == result.chain.dtype
    assert not result.change.requires_grad and result.change.dtype == torch.float64
    assert worst(result.chain.to(torch.float64), true, TIP, generator) < 1e-6


def test_the_default_device_plays_no_part(generator):
    arm = ur5e()
    q = arm.random(20, generator)
    measured = seen(tips(arm, q, "tool0"), generator)
    asked = dict(origins=["elbow_joint"], axes=["wrist_1_joint"], base=True, tool=True)
    for loss in ("squared", "huber", "cauchy"):
        options = CalibrationOptions(loss=loss)
        with torch.device("meta"):
            inside = pk.calibrate(arm, q, measured, **asked, options=options)
            assert "elbow_joint origin x" in inside.summary()
        outside = pk.calibrate(arm, q, measured, **asked, options=options)
        torch.testing.assert_close(inside.change, outside.change)


def test_configurations_may_be_named_and_poses_may_be_quaternions(generator):
    arm = ur5e()
    q = arm.random(20, generator)
    T = tips(arm.with_parameters(offsets={"wrist_1_joint": 0.01}), q, "tool0")
    named = {name: q[:, k].numpy() for k, name in enumerate(arm.get_joint_names())}
    wxyz = torch.cat([T[:, :3, 3], 2 * pk.matrix_to_quaternion(T[:, :3, :3])], -1)
    for rows in (wxyz, wxyz.tolist(), pk.Transform3d(matrix=T), T.numpy()):
        result = pk.calibrate(arm, named, rows, offsets=["wrist_1_joint"])
        assert result.change.item() == pytest.approx(0.01, abs=1e-9)


def test_a_summary_names_what_was_found(generator):
    arm = ur5e()
    q = arm.random(20, generator)
    text = pk.calibrate(arm, q, seen(tips(arm, q, "tool0"), generator), offsets="all", base=True).summary()
    assert text.startswith("position rms 0.1") and "\nrotation rms" in text and "\nelbow_joint offset" in text
    assert "undetermined, left alone: base rz +20, shoulder_pan_joint offset -20" in text
