"""What calibration says about itself: derivatives, covariance, what the data don't tell; and what it refuses."""

from __future__ import annotations

import math

import pytest
import torch
from measuring import NOISE, perturbed, placed, seen, tips
from robots import all_joint_types, chain, panda, ur5e
from torch import Tensor

import pk_core as pk
from pk_core import CalibrationError, CalibrationOptions, CalibrationResult, Chain, SerialChain
from pk_core.calibration.linear import LinearSystem
from pk_core.calibration.losses import make_loss
from pk_core.calibration.measurements import Measurements
from pk_core.calibration.parameters import ModelParameters, make_blocks
from pk_core.calibration.solver import linearised, residuals_of

KINDS = ("origins", "axes", "offsets", "mimic")


@pytest.fixture
def generator() -> torch.Generator:
    return torch.Generator().manual_seed(1)


def everything(robot: Chain, frame: str, generator: torch.Generator) -> ModelParameters:
    """Give every parameter of every joint that has it, base and tool, none at a special value."""
    scalar = [j for j in robot.robot.joints if len(j.axes) == 1 and j.type.value != "planar"]
    chosen = {kind: [j.name for j in scalar] for kind in ("axes", "offsets")}
    chosen["origins"] = [j.name for j in robot.robot.joints]
    chosen["mimic"] = [j.name for j in scalar if j.mimic]
    blocks = make_blocks(robot, chosen, True, placed(generator, 0.2), 0.01, 0.02)
    start = ModelParameters(robot, frame, torch.eye(4, dtype=torch.float64), blocks)
    return start.moved(0.2 * torch.randn(len(start.names), dtype=torch.float64, generator=generator))


@pytest.mark.parametrize("poses", [True, False])
def test_derivatives_by_every_parameter_are_those_of_finite_differences(poses, generator):
    robot = Chain(all_joint_types(), dtype=torch.float64)
    parameters = everything(robot, "tool", generator)
    q = robot.random(3, generator)
    T = seen(parameters.poses(q), generator, 0.1, 0.3)
    data = Measurements(q, T[:, :3, 3], T[:, :3, :3] if poses else None)
    residuals, jacobian = linearised(parameters, data)
    torch.testing.assert_close(residuals, residuals_of(parameters, data))
    for k in range(len(parameters.names)):
        step = torch.zeros(len(parameters.names), dtype=torch.float64)
        step[k] = 1e-6
        ahead, behind = (residuals_of(parameters.moved(s), data) for s in (step, -step))
        wanted = (behind - ahead) / 2e-6
        torch.testing.assert_close(
            jacobian[..., k], wanted, rtol=0, atol=1e-7, msg=lambda m, k=k: parameters.names[k] + m
        )
    unseen = {name.split()[0] for name, column in zip(parameters.names, jacobian.unbind(-1)) if not column.any()}
    assert unseen == {"slide", "screw", "ball"} | (
        set() if poses else {"tool"}
    )  # another branch; how a point is turned


def test_a_change_is_what_moves_one_value_to_the_other(generator):
    start = everything(Chain(all_joint_types(), dtype=torch.float64), "tool", generator)
    change = 0.3 * torch.randn(len(start.names), dtype=torch.float64, generator=generator)
    torch.testing.assert_close(start.moved(change).change_from(start), change, rtol=0, atol=1e-12)
    torch.testing.assert_close(start.change_from(start), torch.zeros_like(change), rtol=0, atol=1e-15)


@pytest.mark.parametrize("name", ["squared", "huber", "cauchy"])
def test_weights_and_stiffness_are_derivatives_of_the_loss(name):
    loss = make_loss(name, None)
    r = torch.randn(200, 6, dtype=torch.float64).mul(2).requires_grad_()
    (slope,) = torch.autograd.grad(loss.value(r.square().mean(-1)).sum(), r, create_graph=True)
    u = r.square().mean(-1)
    torch.testing.assert_close(slope, loss.weight(u)[:, None] * r / 3)
    assert ((loss.weight(u) > 0) & (loss.weight(u) <= 1)).all()
    second = torch.stack([torch.autograd.grad(slope[:, k].sum(), r, retain_graph=True)[0][:, k] for k in range(6)], -1)
    torch.testing.assert_close(second.mean(-1) * 3, loss.stiffness(u, 6))


def assert_covariance(changes: Tensor, predicted: Tensor) -> None:
    """Compare the scatter of changes (repetitions, p) with what was predicted (p, p)."""
    scale = predicted.diagonal().sqrt()
    torch.testing.assert_close(changes.std(0) / scale, torch.ones_like(scale), rtol=0, atol=0.25)
    correlation = predicted / torch.outer(scale, scale)
    torch.testing.assert_close(changes.mT.corrcoef(), correlation, rtol=0, atol=0.4)


def test_the_covariance_is_that_of_many_repetitions(generator):
    arm = ur5e()
    q = arm.random(10, generator)
    T = tips(arm, q, "tool0")
    results = [pk.calibrate(arm, q, seen(T, generator, NOISE, 3 * NOISE), offsets="all") for _ in range(60)]
    predicted = torch.stack([result.covariance for result in results]).mean(0)
    assert_covariance(torch.stack([result.change for result in results]), predicted)
    noise = torch.tensor([result.noise for result in results]).mean(0)
    torch.testing.assert_close(noise, torch.tensor([NOISE, 3 * NOISE]), rtol=0.05, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["squared", "huber", "cauchy"])
def test_the_covariance_under_a_robust_loss_is_that_of_many_repetitions(name, generator):
    """Of linear problems, solved until the weights stay, with normal noise and one row in twenty of ten times as much."""
    jacobian = torch.randn(40, 6, 5, dtype=torch.float64, generator=generator)
    loss, ones = make_loss(name, None), torch.ones(6, dtype=torch.float64)
    changes, predicted = [], []
    for _ in range(150):
        noise = torch.randn(40, 6, dtype=torch.float64, generator=generator)
        noise[torch.randperm(40, generator=generator)[:2]] *= 10
        x = torch.zeros(5, dtype=torch.float64)
        for _ in range(6 if loss.robust else 1):
            residuals = noise - jacobian @ x
            weights = loss.weight(residuals.square().mean(-1))
            system = LinearSystem.make(residuals, jacobian, ones, weights, torch.ones(5, dtype=torch.float64))
            x = x + system.step(0.0)
        changes.append(x)
        predicted.append(system.covariance(loss))
    assert_covariance(torch.stack(changes), torch.stack(predicted).mean(0))


def test_parallel_joints_may_slide_along_their_axes_against_each_other(generator):
    """The elbow and the first wrist joint of a UR5e are parallel: only with each other are these two origins known."""
    arm = ur5e()
    q = arm.random(100, generator)
    true = arm.with_parameters(offsets={"elbow_joint": 0.01})
    result = pk.calibrate(arm, q, seen(tips(true, q, "tool0"), generator), origins=["elbow_joint", "wrist_2_joint"])
    (slide,) = result.undetermined
    assert set(slide.names) == {"elbow_joint origin z", "wrist_2_joint origin y"}
    assert slide.changes["elbow_joint origin z"] == pytest.approx(-slide.changes["wrist_2_joint origin y"], rel=1e-3)
    assert max(map(abs, slide.changes.values())) == pytest.approx(0.01)
    assert {name for name, known in zip(result.names, result.determined) if not known} == set(slide.names)
    assert result.change[8 + 2].abs() < 1e-3 and result.change[5] == pytest.approx(0.01, abs=1e-3)


def test_directions_that_only_noise_would_tell_are_undetermined(generator):
    """Axes a hair from parallel tell how far they are along, if the measurements are good enough."""
    arm = ur5e()
    tilt = torch.tensor([1e-3, 0.0, 1.0], dtype=torch.float64)
    arm = arm.with_parameters(axes={"elbow_joint": tilt / tilt.norm()})
    q = arm.random(100, generator)
    names = ["elbow_joint", "wrist_2_joint"]
    coarse, fine = (
        pk.calibrate(arm, q, seen(tips(arm, q, "tool0"), generator, noise, noise), origins=names)
        for noise in (1e-3, 1e-7)
    )
    assert len(coarse.undetermined) == 1 and coarse.change.abs().max() < 5e-3
    assert not fine.undetermined and 1e-6 < fine.standard_deviation.max() < 1e-3


def test_consecutive_joints_share_the_slide_and_the_turn_along_the_axis_between_them(generator):
    arm = ur5e()
    q = arm.random(100, generator)
    measured = seen(tips(arm, q, "tool0"), generator)
    result = pk.calibrate(arm, q, measured, origins=["elbow_joint", "wrist_1_joint"])
    slide, turn = sorted(result.undetermined, key=lambda one: "origin rz" in str(one))
    assert set(slide.names) == {"elbow_joint origin z", "wrist_1_joint origin z"}
    assert {"elbow_joint origin rz", "wrist_1_joint origin rz"} < set(turn.names)
    assert len(turn.names) == 3  # the turn takes the next origin along


def test_undetermined_parameters_stay_where_they_were(generator):
    arm = panda()
    true = perturbed(arm, generator)
    q = arm.random(100, generator)
    positions = seen(tips(true, q, "panda_hand_tcp"), generator)[:, :3, 3]
    result = pk.calibrate(arm, q, positions, origins=["panda_joint2", "panda_hand_tcp_joint"], tool=True)
    change = dict(zip(result.names, result.change.tolist()))
    for letter in "xyz":
        assert any(one.names == (f"tool r{letter}",) for one in result.undetermined) and change[f"tool r{letter}"] == 0
        pair = {f"tool {letter}", f"panda_hand_tcp_joint origin {letter}"}
        assert any(set(one.names) == pair for one in result.undetermined)
        # either would do; the tool is known by less, so it moves and the joint stays
        assert abs(change[f"panda_hand_tcp_joint origin {letter}"]) < 1e-3 * abs(change[f"tool {letter}"])
    assert len(result.undetermined) == 9


def test_a_joint_that_does_not_move_the_frame_is_undetermined(generator):
    robot = chain("panda")
    q = robot.random(30, generator)
    measured = seen(tips(robot, q, "panda_link4"), generator)
    result = pk.calibrate(robot, q, measured, "panda_link4", offsets=["panda_joint2", "panda_joint6"])
    assert [one.names for one in result.undetermined] == [("panda_joint6 offset",)]
    assert result.determined.tolist() == [True, False] and result.change[1] == 0 == result.standard_deviation[1]


def test_too_few_rows_blow_nothing_up(generator):
    arm = panda()
    true = perturbed(arm, generator)
    for rows in (1, 3):
        q = arm.random(rows, generator)
        result = pk.calibrate(
            arm, q, seen(tips(true, q, "panda_hand_tcp"), generator), origins="all", base=True, tool=True
        )
        assert result.converged and len(result.undetermined) == 72 - 6 * rows
        assert result.position_rms[1] < 1e-6 and result.change.abs().max() < 1.0
        assert result.standard_deviation.isnan().any() or rows == 0


def test_undetermined_combinations_change_nothing_measured(generator):
    arm = panda()
    true = perturbed(arm, generator)
    q = arm.random(100, generator)
    result = pk.calibrate(
        arm, q, seen(tips(true, q, "panda_hand_tcp"), generator), origins="all", axes="all", offsets="all"
    )
    blocks = make_blocks(result.chain, {kind: _names(result, kind) for kind in KINDS}, False, None, 0.01, 0.02)
    found = ModelParameters(result.chain, "panda_hand_tcp", torch.eye(4, dtype=torch.float64), blocks)
    assert found.names == result.names
    before = found.poses(q)
    assert len(result.undetermined) > 20
    for one in result.undetermined:
        little = torch.tensor([1e-3 * one.changes.get(name, 0.0) for name in found.names], dtype=torch.float64)
        assert (found.moved(little).poses(q) - before).abs().max() < 2e-3 * NOISE, str(one)


def _names(result: CalibrationResult, kind: str) -> list[str]:
    word = {"origins": "origin", "axes": "axis", "offsets": "offset", "mimic": "mimic"}[kind]
    return list(dict.fromkeys(name.split()[0] for name in result.names if name.split()[1] == word))


def test_noise_that_is_given_weighs_positions_against_rotations(generator):
    arm = ur5e()
    q = arm.random(40, generator)
    measured = seen(tips(arm, q, "tool0"), generator, 1e-3, 1e-5)
    good = pk.calibrate(arm, q, measured, offsets="all")
    options = CalibrationOptions(position_noise=1e-5, rotation_noise=1e-2)
    bad = pk.calibrate(arm, q, measured, offsets="all", options=options)
    assert good.noise == pytest.approx((1e-3, 1e-5), rel=0.2) and bad.noise == (1e-5, 1e-2)
    assert bad.change.norm() > 5 * good.change.norm()


EYE = torch.eye(4, dtype=torch.float64)
NAN = math.nan


@pytest.mark.parametrize(
    "error, message, changes",
    [
        (pk.UnknownJoint, "did you mean \\['elbow_joint'\\]", dict(origins=["elbow_jiont"])),
        (pk.UnsupportedError, r"axes\['flange-tool0'\]: a fixed joint", dict(axes=["flange-tool0"])),
        (pk.UnsupportedError, r"offsets\['flange-tool0'\]: a fixed joint", dict(offsets=["flange-tool0"])),
        (pk.UnknownJoint, "unknown mimic joint 'elbow_joint'", dict(mimic=["elbow_joint"])),
        (
            CalibrationError,
            "offsets must be a list of joint names or 'all', got the string",
            dict(offsets="elbow_joint"),
        ),
        (CalibrationError, "nothing to estimate", dict(offsets=[])),
        (pk.UnknownLink, "unknown frame 'tol0'", dict(frame="tol0")),
        (pk.ShapeError, r"q has shape \(2, 2, 6\); it must be \(n, 6\)", dict(q=torch.zeros(2, 2, 6))),
        (pk.ShapeError, "its last dimension must be 6", dict(q=torch.zeros(4, 7))),
        (pk.ShapeError, "q has 4 rows and measured has 3", dict(measured=torch.zeros(3, 3))),
        (pk.ShapeError, r"measured has shape \(4, 5\)", dict(measured=torch.zeros(4, 5))),
        (pk.ShapeError, r"measured has shape \(4,\)", dict(measured=torch.zeros(4))),
        (pk.ShapeError, r"measured has shape \(\)", dict(measured=1.0)),
        (CalibrationError, "measured: rows 1, 3 hold NaN", dict(measured=torch.tensor([[0.0] * 3, [NAN] * 3] * 2))),
        (CalibrationError, "q: rows 0, 1, 2, 3 hold NaN", dict(q=torch.full((4, 6), NAN))),
        (CalibrationError, "measured: rows 0, 1, 2, 3 are no rigid", dict(measured=(2 * EYE).expand(4, 4, 4))),
        (CalibrationError, "no rows", dict(q=torch.zeros(0, 6), measured=torch.zeros(0, 3))),
        (pk.UnknownJoint, "which leaves out", dict(q={"elbow_joint": [0.0] * 4})),
        (pk.ShapeError, r"tool_pose has shape \(3, 3\)", dict(tool_pose=torch.eye(3))),
        (pk.ShapeError, "tool_pose is no rigid transform", dict(tool_pose=-EYE)),
    ],
)
def test_what_is_wrong_is_named(error, message, changes):
    given = dict(q=torch.zeros(4, 6), measured=torch.zeros(4, 3), offsets="all") | changes
    with pytest.raises(error, match=message):
        pk.calibrate(ur5e(), given.pop("q"), given.pop("measured"), **given)


def test_a_tree_needs_the_name_of_the_frame_and_one_robot():
    robot = chain("ur5e")
    rows: dict[str, Tensor] = dict(q=torch.zeros(4, 6), measured=torch.zeros(4, 3))
    with pytest.raises(CalibrationError, match="name the frame"):
        pk.calibrate(robot, **rows, offsets="all")
    several = SerialChain(robot.with_parameters(offsets={"elbow_joint": torch.zeros(4).double()}), "tool0")
    with pytest.raises(CalibrationError, match="for each row"):
        pk.calibrate(several, **rows, offsets="all")


@pytest.mark.parametrize(
    "name, value",
    [("loss", "l2"), ("threshold", 0.0), ("position_noise", -1), ("angle_scale", NAN), ("max_iterations", 0)],
)
def test_options_that_can_not_be_are_named(name, value):
    with pytest.raises(CalibrationError, match=name):
        CalibrationOptions(**{name: value})


def test_it_says_when_it_had_to_stop_early(generator):
    arm = panda()
    true = perturbed(arm, generator)
    q = arm.random(50, generator)
    options = CalibrationOptions(max_iterations=1)
    result = pk.calibrate(arm, q, tips(true, q, "panda_hand_tcp"), origins="all", options=options)
    assert not result.converged and result.iterations == 1 and result.position_rms[1] < 0.1 * result.position_rms[0]
