"""Twists, Jacobians in three references, their time derivative and the kinematic Hessian."""

from __future__ import annotations

import corpus
import mujoco
import numpy as np
import pinocchio
import pytest
import torch
from pinocchio_oracle import PinocchioRobot
from robots import all_joint_types, chain, joint, panda, robot, text, ur5e
from torch import Tensor

from pk_core import (
    Chain,
    SerialChain,
    ShapeError,
    TensorTypeError,
    UnknownLink,
    UnknownReference,
    parse_mjcf,
    parse_urdf,
)
from pk_core.kinematics.differential import REFERENCES
from pk_core.model import Mimic

EVERY = Chain(all_joint_types(), dtype=torch.float64)
POINT = torch.tensor([0.1, -0.2, 0.3], dtype=torch.float64)
FRAMES = ["body", "b", "c", "d", "e", "f", "g", "tool"]

each_reference = pytest.mark.parametrize("reference", REFERENCES)
each_frame = pytest.mark.parametrize("frame", FRAMES)


def moving(chain: Chain, n: int) -> tuple[Tensor, Tensor]:
    """Draw n configurations and velocities."""
    return chain.random(n), torch.randn(n, chain.nv, dtype=chain.dtype)


def product(J: Tensor, dq: Tensor) -> Tensor:
    return (J @ dq.unsqueeze(-1)).squeeze(-1)


# other programs


def assert_as_in_pinocchio(chain: Chain, urdf: str, frame: str, tolerance: float = 1e-11) -> None:
    """Compare twist, Jacobian, its time derivative and the Hessian at one configuration, in all references."""
    oracle = PinocchioRobot(urdf, chain, frame, POINT.numpy())
    q, dq = moving(chain, 1)
    for reference in REFERENCES:
        twist, J, dJ = oracle.velocities(q[0].numpy(), dq[0].numpy(), reference)
        more = dict(locations=POINT, reference=reference)
        np.testing.assert_allclose(chain.frame_velocity(q, dq, frame, **more)[0], twist, rtol=0, atol=tolerance)
        np.testing.assert_allclose(chain.jacobian(q, frame, **more)[0], J, rtol=0, atol=tolerance)
        np.testing.assert_allclose(chain.jacobian_dot(q, dq, frame, **more)[0], dJ, rtol=0, atol=tolerance)
        if hasattr(pinocchio, "getFrameKinematicHessian"):  # not in the one that fits beside numpy 1
            H = oracle.hessian(q[0].numpy(), reference)
            np.testing.assert_allclose(chain.kinematic_hessian(q, frame, **more)[0], H, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    "name, frame",
    [("panda", "panda_hand_tcp"), ("panda", "panda_rightfinger"), ("ur5e", "tool0"), ("ur5e", "forearm_link")],
)
def test_the_embedded_robots_move_as_in_pinocchio(name, frame):
    assert_as_in_pinocchio(chain(name), text(name), frame)


@corpus.require_corpus
@pytest.mark.parametrize(
    "name",
    ["iiwa7", "fetch", "baxter", "gen3_lite", "inspire_ftp_left_hand", "as2_floating_root", "robotiq_2f_85", "wx250s"],
)
def test_published_robots_move_as_in_pinocchio(name):
    urdf = corpus.path(name).read_bytes()
    chain = Chain(parse_urdf(urdf), dtype=torch.float64)
    links = chain.get_link_names()
    for frame in (links[-1], links[len(links) // 2]):
        assert_as_in_pinocchio(chain, urdf.decode(), frame, tolerance=1e-9)


MJCF = """
<mujoco><compiler angle="radian"/><worldbody><body name="base" pos="0.1 0.2 0.3" euler="0.3 -0.2 0.5"><freejoint name="free"/>
  <geom size="0.1"/><body name="arm" pos="0.2 0 0.1" euler="0 0.4 0"><joint name="ball" type="ball" pos="0.02 -0.03 0.01"/>
    <geom size="0.1"/><body name="hand" pos="0 0.3 0.1"><joint name="turn" axis="1 2 3" pos="0 0 0.05"/>
      <joint name="slide" type="slide" axis="0 1 1"/><geom size="0.1"/></body></body></body></worldbody></mujoco>
"""


@pytest.mark.parametrize("frame", ["base", "arm", "hand"])
def test_balls_and_free_joints_move_as_in_mujoco(frame):
    model = mujoco.MjModel.from_xml_string(MJCF)
    data, body = mujoco.MjData(model), model.body(frame).id
    chain = Chain(parse_mjcf(MJCF), dtype=torch.float64)
    q, dq = moving(chain, 1)
    wxyz = q[0, 3:7].numpy() / np.linalg.norm(q[0, 3:7].numpy())
    R = chain.forward_kinematics(q)["base"].get_matrix()[0, :3, :3].numpy()
    # MuJoCo measures the linear velocity of a free joint in the axes of the world, pk in those of the body
    change, dchange = np.eye(11), np.zeros((11, 11))
    change[:3, :3], dchange[:3, :3] = R, R @ np.cross(dq[0, 3:6].numpy(), np.eye(3), axisb=0, axisc=0)
    data.qpos[:], data.qvel[:] = q[0], change @ dq[0].numpy()
    data.qpos[3:7] = wxyz
    mujoco.mj_forward(model, data)
    point = data.xpos[body] + data.xmat[body].reshape(3, 3) @ POINT.numpy()
    J, dJ = np.zeros((6, model.nv)), np.zeros((6, model.nv))
    mujoco.mj_jac(model, data, J[:3], J[3:], point, body)
    mujoco.mj_jacDot(model, data, dJ[:3], dJ[3:], point, body)
    np.testing.assert_allclose(chain.jacobian(q, frame, POINT)[0], J @ change, rtol=0, atol=1e-12)
    np.testing.assert_allclose(
        chain.jacobian_dot(q, dq, frame, POINT)[0], dJ @ change + J @ dchange, rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(chain.frame_velocity(q, dq, frame, POINT)[0], J @ data.qvel, rtol=0, atol=1e-12)


# laws


@each_reference
@each_frame
def test_the_twist_is_the_jacobian_times_the_velocities(frame, reference):
    q, dq = moving(EVERY, 20)
    expected = product(EVERY.jacobian(q, frame, POINT, reference), dq)
    torch.testing.assert_close(EVERY.frame_velocity(q, dq, frame, POINT, reference), expected, rtol=0, atol=1e-13)


@each_reference
@each_frame
def test_jacobian_dot_is_the_change_of_the_jacobian_along_the_motion(frame, reference):
    q, dq = moving(EVERY, 20)
    e = 1e-6
    after, before = (EVERY.jacobian(EVERY.integrate(q, s * e * dq), frame, POINT, reference) for s in (1, -1))
    expected = (after - before) / (2 * e)
    torch.testing.assert_close(EVERY.jacobian_dot(q, dq, frame, POINT, reference), expected, rtol=0, atol=1e-7)


@each_reference
@each_frame
def test_the_hessian_holds_the_change_of_the_jacobian_along_every_velocity(frame, reference):
    q, dq = moving(EVERY, 5)
    H = EVERY.kinematic_hessian(q, frame, POINT, reference)
    unit = torch.eye(EVERY.nv, dtype=torch.float64).unsqueeze(1)  # one velocity at a time
    along = EVERY.jacobian_dot(q, unit, frame, POINT, reference)
    torch.testing.assert_close(H, along.movedim(0, -1), rtol=0, atol=1e-13)
    dJ = EVERY.jacobian_dot(q, dq, frame, POINT, reference)
    torch.testing.assert_close(product(H, dq.unsqueeze(-2)), dJ, rtol=0, atol=1e-13)


@each_reference
def test_jacobian_dot_is_what_forward_mode_gives_along_the_motion(reference):
    q, dq = moving(EVERY, 3)
    e = torch.zeros((), dtype=torch.float64)

    def along(function):
        return torch.func.jvp(lambda e: function(EVERY.integrate(q, e * dq)), (e,), (torch.ones_like(e),))[1]

    dJ = along(lambda x: EVERY.jacobian(x, "tool", POINT, reference))
    torch.testing.assert_close(EVERY.jacobian_dot(q, dq, "tool", POINT, reference), dJ, rtol=0, atol=1e-12)
    acceleration = along(lambda x: EVERY.frame_velocity(x, dq, "tool", POINT, reference))
    torch.testing.assert_close(acceleration, product(dJ, dq), rtol=0, atol=1e-12)


@each_frame
def test_world_and_local_are_adjoint(frame):
    q, dq = moving(EVERY, 6)
    T = EVERY.forward_kinematics(q)[frame].get_matrix()
    R, x = T[:, :3, :3], T[:, :3, 3] + T[:, :3, :3] @ POINT
    hat = torch.linalg.cross(x.unsqueeze(-1), torch.eye(3, dtype=torch.float64).expand(6, 3, 3), dim=-2)
    adjoint = torch.cat([torch.cat([R, hat @ R], -1), torch.cat([torch.zeros_like(R), R], -1)], -2)
    J = EVERY.jacobian(q, frame, POINT, "world")
    torch.testing.assert_close(J, adjoint @ EVERY.jacobian(q, frame, POINT, "local"), rtol=0, atol=1e-13)
    # d Ad = ad(V) Ad, so dJ_world = Ad dJ_local + ad(V) J_world
    v, w = EVERY.frame_velocity(q, dq, frame, POINT, "world").split(3, -1)
    bracket = torch.linalg.cross(w[:, None, None], J.mT.unflatten(-1, (2, 3)), dim=-1).flatten(-2).mT
    bracket[:, :3] += torch.linalg.cross(v.unsqueeze(-1), J[:, 3:], dim=-2)
    expected = adjoint @ EVERY.jacobian_dot(q, dq, frame, POINT, "local") + bracket
    torch.testing.assert_close(EVERY.jacobian_dot(q, dq, frame, POINT, "world"), expected, rtol=0, atol=1e-12)


def test_locations_move_as_points_of_a_rigid_body():
    q, dq = moving(EVERY, 6)
    points = torch.randn(6, 3, dtype=torch.float64)
    own = EVERY.frame_velocity(q, dq, "tool", points, "local")
    v, w = EVERY.frame_velocity(q, dq, "tool", reference="local").split(3, -1)
    expected = torch.cat([v + torch.linalg.cross(w, points), w], -1)
    torch.testing.assert_close(own, expected, rtol=0, atol=1e-13)
    for function in (EVERY.frame_velocity, EVERY.jacobian_dot):
        moved = function(q, dq, "tool", points, "world")
        torch.testing.assert_close(moved, function(q, dq, "tool", reference="world"), rtol=0, atol=1e-12)


def test_a_twist_tells_how_far_a_frame_goes():
    """Follow the pose along `integrate` by the exponential of the local twist: an error of second order."""
    from pk_core import Transform3d, se3_exp_map

    q, dq = moving(EVERY, 5)
    e = 1e-4
    start, end = (EVERY.forward_kinematics(x)["tool"] for x in (q, EVERY.integrate(q, e * dq)))
    twist = EVERY.frame_velocity(q, dq, "tool", reference="local")
    step = Transform3d(matrix=torch.linalg.solve(start.get_matrix(), end.get_matrix()))
    torch.testing.assert_close(step.get_matrix(), se3_exp_map(e * twist), rtol=0, atol=1e-6)


def all_functions(chain: Chain, reference: str = "world_aligned") -> dict:
    """Name the functions of one frame, all of (q, dq, point)."""
    frame = chain.get_frame_names()[-1]
    return {
        "jacobian": lambda q, dq, x: Chain.jacobian(chain, q, frame, x, reference),
        "velocity": lambda q, dq, x: Chain.frame_velocity(chain, q, dq, frame, x, reference),
        "rate": lambda q, dq, x: Chain.jacobian_dot(chain, q, dq, frame, x, reference),
        "hessian": lambda q, dq, x: Chain.kinematic_hessian(chain, q, frame, x, reference),
    }


each_function = pytest.mark.parametrize("name", ["jacobian", "velocity", "rate", "hessian"])


@each_function
@each_reference
def test_a_batch_is_a_loop(name, reference):
    function = all_functions(EVERY, reference)[name]
    q, dq = moving(EVERY, 6)
    points = torch.randn(6, 3, dtype=torch.float64)
    got = function(q, dq, points)
    for k in range(6):
        torch.testing.assert_close(function(q[k], dq[k], points[k])[0], got[k], rtol=0, atol=1e-13)
    block = function(q.view(2, 3, -1), dq.view(2, 3, -1), points.view(2, 3, 3))
    torch.testing.assert_close(block.flatten(0, 1), got, rtol=0, atol=1e-13)
    mapped = torch.func.vmap(lambda *row: function(*row)[0])(q, dq, points)
    torch.testing.assert_close(mapped, got, rtol=0, atol=1e-13)


SMALL = Chain(
    robot(
        joint("ball", "ball", "a", "b"),
        joint("screw", "screw", "b", "c", (0.6, 0.0, 0.8), pitch=0.1),
        joint("follower", "prismatic", "c", "d", (0.0, 1.0, 0.0), mimic=Mimic("screw", -0.5, 0.2)),
    ),
    dtype=torch.float64,
)


@each_function
@each_reference
def test_gradients_of_first_and_second_order_are_right(name, reference):
    function = all_functions(SMALL, reference)[name]
    arguments = tuple(x.requires_grad_() for x in (*moving(SMALL, 1), torch.randn(1, 3, dtype=torch.float64)))
    assert torch.autograd.gradcheck(function, arguments)
    assert torch.autograd.gradgradcheck(function, arguments)


@each_function
def test_function_transforms_agree_with_each_other(name):
    function = all_functions(SMALL, "local")[name]
    q, dq = moving(SMALL, 1)
    loss = lambda x: function(x, dq[0], POINT).square().sum()  # noqa: E731
    x = q[0].clone().requires_grad_()
    (expected,) = torch.autograd.grad(loss(x), x)
    for transform in (torch.func.grad, torch.func.jacrev, torch.func.jacfwd):
        torch.testing.assert_close(transform(loss)(q[0]), expected, rtol=1e-12, atol=1e-10)
    second = torch.autograd.functional.hessian(loss, q[0])
    for transform in (torch.func.hessian, lambda f: torch.func.jacrev(torch.func.jacrev(f))):
        torch.testing.assert_close(transform(loss)(q[0]), second, rtol=1e-11, atol=1e-9)


def test_the_derivative_of_the_twist_by_the_velocities_is_the_jacobian():
    q, dq = moving(EVERY, 1)
    for transform in (torch.func.jacfwd, torch.func.jacrev):
        J = transform(lambda v: EVERY.frame_velocity(q, v, "tool", POINT, "local")[0])(dq[0])
        torch.testing.assert_close(J, EVERY.jacobian(q, "tool", POINT, "local")[0], rtol=0, atol=1e-13)


@each_function
def test_functions_of_a_chain_that_made_nothing_yet_compile(name):
    fresh = Chain(SMALL.robot, dtype=torch.float64)
    function = all_functions(fresh, "local")[name]
    compiled = torch.compile(function, fullgraph=True, dynamic=True, backend="eager")
    for n in (3, 7):
        q, dq = moving(fresh, n)
        torch.testing.assert_close(compiled(q, dq, POINT), function(q, dq, POINT), rtol=0, atol=1e-13)


def test_what_is_made_in_a_passing_mode_serves_other_calls():
    q, dq = moving(SMALL, 2)
    expected = SMALL.frame_velocity(q, dq, "d")
    fresh = Chain(SMALL.robot, dtype=torch.float64)
    with torch.inference_mode():
        fresh.frame_velocity(q, dq, "d")
    torch.func.jacrev(lambda x: fresh.frame_velocity(x, dq[0], "c"))(q[0])
    x = dq.clone().requires_grad_()
    for frame in ("c", "d"):
        torch.autograd.grad(fresh.frame_velocity(q, x, frame).sum(), x)
    assert torch.equal(fresh.frame_velocity(q, dq, "d"), expected)


def test_autocast_takes_no_digits():
    arm = panda(torch.float32)
    q, dq = moving(arm, 3)
    for reference in REFERENCES:
        for function in all_functions(arm, reference).values():
            expected = function(q, dq, POINT.float())
            with torch.autocast("cpu", dtype=torch.bfloat16):
                torch.testing.assert_close(function(q, dq, POINT.float()), expected, rtol=0, atol=1e-5)


@each_function
@each_reference
def test_float32_agrees_with_float64(name, reference):
    single = Chain(all_joint_types())
    q, dq = moving(EVERY, 50)
    expected = all_functions(EVERY, reference)[name](q, dq, POINT)
    got = all_functions(single, reference)[name](q.float(), dq.float(), POINT)
    assert got.dtype == torch.float32
    torch.testing.assert_close(got.double(), expected, rtol=1e-5, atol=2e-4)


# model parameters


@each_function
def test_rows_may_have_arms_of_their_own(name):
    arm = panda()
    q, dq = moving(arm, 4)
    origins = torch.eye(4, dtype=torch.float64).repeat(4, 1, 1)
    origins[:, :3, 3] = torch.randn(4, 3, dtype=torch.float64)
    got = all_functions(arm.with_parameters(origins={"panda_joint4": origins}), "world")[name](q, dq, POINT)
    for k in range(4):
        alone = arm.with_parameters(origins={"panda_joint4": origins[k]})
        expected = all_functions(alone, "world")[name](q[k : k + 1], dq[k : k + 1], POINT)
        torch.testing.assert_close(got[k : k + 1], expected, rtol=0, atol=1e-13)


@each_function
def test_gradients_reach_model_parameters(name):
    arm = SerialChain(chain("panda"), "panda_rightfinger", "panda_link6")
    q, dq = moving(arm, 1)

    def of_parameters(axis: Tensor, multiplier: Tensor) -> Tensor:
        zero = torch.zeros((), dtype=torch.float64)
        other = arm.with_parameters(axes={"panda_joint7": axis}, mimic={"panda_finger_joint2": (multiplier, zero)})
        return all_functions(other, "local")[name](q, dq, POINT)

    axis = torch.tensor([0.1, -0.2, 0.9], dtype=torch.float64, requires_grad=True)
    multiplier = torch.tensor(1.2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(of_parameters, (axis, multiplier))


# mimic joints, paths, roots


def test_a_mimic_joint_moves_as_if_it_were_driven():
    """Substitute: the followers become joints of their own, moved as the leader would move them."""
    ratios = (1.0, -0.5, 0.3)

    def fingers(*mimics):
        return Chain(
            robot(
                *(joint(f"j{k}", "revolute", f"l{k}", f"l{k + 1}", (0.6, 0.0, 0.8), **m) for k, m in enumerate(mimics))
            ),
            dtype=torch.float64,
        )

    led = fingers({}, dict(mimic=Mimic("j0", ratios[1], 0.2)), dict(mimic=Mimic("j0", ratios[2], -0.1)))
    free = fingers({}, {}, {})
    q, dq = moving(led, 4)
    ratio = torch.tensor(ratios, dtype=torch.float64)
    q_free, dq_free = q * ratio + torch.tensor([0.0, 0.2, -0.1], dtype=torch.float64), dq * ratio
    for reference in REFERENCES:
        here, there = (all_functions(c, reference) for c in (led, free))
        H = there["hessian"](q_free, dq_free, POINT)
        expected = {
            "jacobian": there["jacobian"](q_free, dq_free, POINT) @ ratio.unsqueeze(-1),
            "velocity": there["velocity"](q_free, dq_free, POINT),
            "rate": there["rate"](q_free, dq_free, POINT) @ ratio.unsqueeze(-1),
            "hessian": torch.einsum("bijk,j,k->bi", H, ratio, ratio)[..., None, None],
        }
        for name, value in expected.items():
            torch.testing.assert_close(here[name](q, dq, POINT), value, rtol=0, atol=1e-13)


@each_reference
def test_a_serial_chain_moves_as_the_chain_it_is_part_of(reference):
    whole, arm = chain("panda"), panda()
    q, dq = moving(arm, 5)
    full, dfull = (torch.cat([x, torch.zeros(5, 1, dtype=torch.float64)], -1) for x in (q, dq))
    frame = arm.end_frame
    pairs = (
        (arm.jacobian(q, POINT, reference=reference), whole.jacobian(full, frame, POINT, reference)[..., :7]),
        (arm.frame_velocity(q, dq, POINT, reference), whole.frame_velocity(full, dfull, frame, POINT, reference)),
        (arm.jacobian_dot(q, dq, POINT, reference), whole.jacobian_dot(full, dfull, frame, POINT, reference)[..., :7]),
        (
            arm.kinematic_hessian(q, POINT, reference),
            whole.kinematic_hessian(full, frame, POINT, reference)[..., :7, :7],
        ),
    )
    for got, expected in pairs:
        torch.testing.assert_close(got, expected, rtol=0, atol=1e-13)


def test_a_path_that_climbs_sees_the_twist_of_its_end_relative_to_its_root():
    whole = chain("panda")
    down = SerialChain(whole, "panda_hand", "panda_link3")
    up = SerialChain(whole, "panda_link3", "panda_hand")
    q, dq = moving(down, 5)
    back = q.flip(-1), dq.flip(-1)
    # V_ab of b in a, seen from a, is minus the twist of a in b, seen from the frame a itself
    there, again = down.frame_velocity(q, dq, reference="world"), up.frame_velocity(*back, reference="local")
    torch.testing.assert_close(there, -again, rtol=0, atol=1e-13)


def test_what_does_not_move_has_no_twist():
    fixed = SerialChain(chain("panda"), "panda_hand", "panda_link7")
    q, dq = torch.zeros(3, 0, dtype=torch.float64), torch.zeros(3, 0, dtype=torch.float64)
    for reference in REFERENCES:
        assert torch.equal(fixed.frame_velocity(q, dq, POINT, reference), torch.zeros(3, 6, dtype=torch.float64))
        assert fixed.jacobian(q, POINT, reference=reference).shape == (3, 6, 0)
        assert fixed.jacobian_dot(q, dq, POINT, reference).shape == (3, 6, 0)
        assert fixed.kinematic_hessian(q, POINT, reference).shape == (3, 6, 0, 0)
    q, dq = moving(EVERY, 2)
    assert torch.count_nonzero(EVERY.kinematic_hessian(q, "world")) == 0
    assert torch.count_nonzero(EVERY.frame_velocity(q, dq, "world")) == 0


# the door


def test_an_unknown_reference_is_refused_with_those_that_there_are():
    arm, whole = panda(), chain("panda")
    q, dq = moving(arm, 1)
    for call in (
        lambda: arm.jacobian(q, reference="LOCAL"),
        lambda: arm.frame_velocity(q, dq, reference="LOCAL"),
        lambda: arm.jacobian_dot(q, dq, reference="LOCAL"),
        lambda: arm.kinematic_hessian(q, reference="LOCAL"),
        lambda: whole.jacobian(whole.neutral(), "panda_hand", reference="LOCAL"),
    ):
        with pytest.raises(UnknownReference, match="'LOCAL'; valid: 'world', 'local', 'world_aligned'"):
            call()


def test_wrong_velocities_are_refused_by_name():
    q, dq = moving(EVERY, 2)
    with pytest.raises(ShapeError, match=r"dq has shape \(2, 3\)"):
        EVERY.frame_velocity(q, dq[:, :3], "tool")
    with pytest.raises(ShapeError, match="dq .* do not broadcast"):
        EVERY.jacobian_dot(q, dq[:1].expand(3, -1), "tool")
    with pytest.raises(TensorTypeError, match="dq is torch.float32"):
        EVERY.frame_velocity(q, dq.float(), "tool")
    with pytest.raises(UnknownLink, match="tooll.*tool"):
        EVERY.frame_velocity(q, dq, "tooll")


def test_velocities_may_be_a_list_and_shared_by_a_batch():
    arm = ur5e()
    q, dq = arm.random(3), [0.1, -0.2, 0.3, 0.4, -0.5, 0.6]
    rows = torch.tensor([dq] * 3, dtype=torch.float64)
    assert torch.equal(arm.frame_velocity(q, dq), arm.frame_velocity(q, rows))
    assert torch.equal(arm.integrate(q, dq), arm.integrate(q, rows))
    one = arm.jacobian_dot(q[0], rows)
    torch.testing.assert_close(one, arm.jacobian_dot(q[:1].expand(3, -1), rows), rtol=0, atol=1e-15)
