"""KinematicsClient against the node in its own process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: no ROS here")
pytest.importorskip("pinocchio", reason="pin is the judge of these tests")

import rclpy
from bench import Bench, Program
from oracle import PANDA, Oracle, errors, matrix_row, row_matrix
from pk_ros.srv import SolveIK
from std_msgs.msg import Empty

from pk_ros.client import IKSolutions, KinematicsClient, RequestRefused, ServiceTimeout, ServiceUnavailable

TIP = "panda_hand"
READY = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle(PANDA)


@pytest.fixture(scope="module")
def targets(oracle: Oracle) -> np.ndarray:
    """Reachable poses of the tip (100, 4, 4)."""
    return np.array([oracle.poses(dict(zip(oracle.joints, q)))[TIP] for q in oracle.random(100)])


@pytest.fixture
def context() -> Iterator[object]:
    context = rclpy.Context()
    rclpy.init(context=context)
    yield context
    rclpy.shutdown(context=context)


@pytest.fixture
def client(panda_node: Program, context: object) -> Iterator[KinematicsClient]:
    assert panda_node.running, panda_node.output
    with KinematicsClient("/panda/kinematics", context=context, timeout=30.0) as client:
        yield client


def check(answer: IKSolutions, targets: np.ndarray, oracle: Oracle) -> None:
    """Each first solution puts the tip at its target, as Pinocchio sees it."""
    assert len(answer.positions) == len(targets)
    for q, T in zip(answer.positions[:, 0], targets):
        position_error, rotation_error = errors(oracle.poses(dict(zip(answer.joint_names, q)))[TIP], T)
        assert position_error <= 1e-4
        assert rotation_error <= 1e-3


def test_targets_are_solved_as_arrays(client: KinematicsClient, oracle: Oracle, targets: np.ndarray) -> None:
    answer = client.solve_ik(TIP, targets)
    assert answer.positions.shape == (100, 1, 7)
    assert answer.solved.all()
    assert answer.message == ""
    check(answer, targets, oracle)


def test_rows_and_transforms_mean_the_same(client: KinematicsClient, oracle: Oracle, targets: np.ndarray) -> None:
    rows = np.array([matrix_row(T) for T in targets[:3]])
    check(client.solve_ik(TIP, rows), targets[:3], oracle)
    for one in (rows[0], targets[0]):
        check(client.solve_ik(TIP, one), targets[:1], oracle)


def test_every_argument_reaches_the_node(client: KinematicsClient, oracle: Oracle) -> None:
    T = oracle.poses(dict(zip(oracle.joints, READY)))[TIP]
    answer = client.solve_ik(
        TIP,
        T,
        seeds=READY[::-1],
        seed_joint_names=[f"panda_joint{i}" for i in range(7, 0, -1)],
        position_tolerance=1e-6,
        rotation_tolerance=1e-6,
        solve_timeout=2.5,
        random_seed=7,
        nearest=True,
        num_solutions=2,
    )
    assert answer.positions.shape == (1, 2, 7)
    assert np.allclose(answer.positions[0, 0], READY, atol=1e-4)
    assert answer.position_errors[0, 0] <= 1e-6
    with pytest.raises(RequestRefused, match="weights"):
        client.solve_ik(TIP, T, weights=[1.0])
    with pytest.raises(RequestRefused, match="locked_joints"):
        client.solve_ik(TIP, T, locked_joints=["elbow"])
    with pytest.raises(RequestRefused, match="base_link"):
        client.solve_ik(TIP, T, base_link="nowhere")
    with pytest.raises(RequestRefused, match=r"header\.frame_id") as refusal:
        client.solve_ik(TIP, T, frame_id="map")
    assert refusal.value.code == SolveIK.Response.FRAME_TRANSFORM_FAILURE


def test_several_links_are_placed_together(client: KinematicsClient, oracle: Oracle) -> None:
    tips = (TIP, "panda_link4")
    poses = [oracle.poses(dict(zip(oracle.joints, q))) for q in oracle.random(10)]
    answer = client.solve_ik(tips, np.array([[each[tip] for tip in tips] for each in poses]))
    assert answer.solved.all(), answer.message
    for q, wanted in zip(answer.positions[:, 0], poses):
        found = oracle.poses(dict(zip(answer.joint_names, q)))
        for tip in tips:
            assert max(errors(found[tip], wanted[tip])) <= 1e-3


def test_a_target_out_of_reach_raises_nothing_and_is_not_solved(client: KinematicsClient, targets: np.ndarray) -> None:
    far = targets[:2].copy()
    far[1, 0, 3] = 5.0
    answer = client.solve_ik(TIP, far)
    assert answer.solved.tolist() == [True, False]
    assert "1 of 2" in answer.message


def test_no_targets_give_empty_arrays(client: KinematicsClient) -> None:
    for empty in (np.empty((0, 7)), np.empty((0, 4, 4)), []):
        answer = client.solve_ik(TIP, empty)
        assert answer.positions.shape == (0, 1, 7)
        assert answer.solved.shape == (0,)


@pytest.mark.parametrize("shape", [(6,), (3, 3), (2, 3, 4), (2, 2, 4, 4), (7, 2)])
def test_targets_of_another_shape_are_refused_here(client: KinematicsClient, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"\(N, 7\)"):
        client.solve_ik(TIP, np.zeros(shape))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_solutions", -1),
        ("num_solutions", 2**32),
        ("num_solutions", 1.5),
        ("random_seed", -1),
        ("random_seed", 2**64),
        ("solve_timeout", -1.0),
        ("solve_timeout", float("nan")),
        ("solve_timeout", 1e10),
        ("timeout", -1.0),
        ("timeout", float("nan")),
        ("timeout", float("inf")),
        ("position_tolerance", -1.0),
        ("rotation_tolerance", float("nan")),
    ],
)
def test_an_argument_out_of_its_range_is_refused_here_by_its_name(
    client: KinematicsClient, name: str, value: float
) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a"):
        client.solve_ik(TIP, np.eye(4), **{name: value})


def test_forward_kinematics_comes_as_an_array(client: KinematicsClient, oracle: Oracle) -> None:
    q = oracle.random(4)
    poses = client.compute_fk(q, [TIP, "panda_link3"], joint_names=oracle.joints)
    assert poses.shape == (4, 2, 7)
    for row, (hand, link3) in zip(q, poses):
        wanted = oracle.poses(dict(zip(oracle.joints, row)))
        assert np.allclose(row_matrix(hand), wanted[TIP], atol=1e-9)
        assert np.allclose(row_matrix(link3), wanted["panda_link3"], atol=1e-9)
    with pytest.raises(ValueError, match="links"):
        client.compute_fk(q, [])


def test_a_call_inside_a_callback_of_another_node_does_not_deadlock(panda_bench: Bench, targets: np.ndarray) -> None:
    with KinematicsClient("/panda/kinematics", context=panda_bench.context) as client:
        answers: list[object] = []
        panda_bench.node.create_subscription(Empty, "plan", lambda _: answers.append(client.solve_ik(TIP, targets)), 1)
        publisher = panda_bench.node.create_publisher(Empty, "plan", 1)
        panda_bench.wait_until(publisher.get_subscription_count, "the subscription")
        publisher.publish(Empty())
        panda_bench.wait_until(lambda: answers, "the answer in the callback")
        assert answers[0].solved.all()


def test_threads_take_turns(client: KinematicsClient, targets: np.ndarray) -> None:
    answers: list[np.ndarray] = []
    threads = [
        threading.Thread(target=lambda: answers.append(client.solve_ik(TIP, targets).positions)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 4
    assert all(np.array_equal(answer, answers[0]) for answer in answers)


def test_a_service_that_is_not_there_is_named(context: object) -> None:
    with KinematicsClient("/nobody/kinematics", context=context, timeout=0.3) as client:
        started = time.monotonic()
        with pytest.raises(ServiceUnavailable, match="/nobody/kinematics/solve_ik"):
            client.solve_ik(TIP, np.eye(4))
        with pytest.raises(ServiceUnavailable, match="kinematics"):
            client.wait_until_ready()
        assert time.monotonic() - started < 5.0


def test_a_service_that_does_not_answer_is_given_up_and_forgotten(context: object) -> None:
    with Bench("/silent") as silent, KinematicsClient("/silent/kinematics", context=context) as client:
        silent.node.create_service(SolveIK, "kinematics/solve_ik", lambda _, response: response)  # never spun
        for _ in range(3):
            with pytest.raises(ServiceTimeout, match=r"did not answer in 0\.5 s"):
                client.solve_ik(TIP, np.eye(4), timeout=0.5)
        assert not client._solve_ik._pending_requests


def test_a_node_that_drops_the_first_answer_is_asked_again(context: object) -> None:
    asked: list[int] = []

    def answer(request: SolveIK.Request, response: SolveIK.Response) -> SolveIK.Response:
        asked.append(len(request.target_array))
        response.error_code = SolveIK.Response.SUCCESS
        return response

    with Bench("/slow") as slow, KinematicsClient("/slow/kinematics", context=context, timeout=30.0) as client:
        slow.node.create_service(SolveIK, "kinematics/solve_ik", answer)
        thread = threading.Thread(target=lambda: client.solve_ik(TIP, np.eye(4)))
        thread.start()
        time.sleep(2.0)  # no answer comes to the first request, as if it had been dropped
        slow.wait_until(lambda: 7 in asked, "the targets")
        slow.spin_for(0.1)
        thread.join()
    assert asked[0] == 0
    assert asked.count(0) >= 2  # empty requests, until one was answered
    assert asked.count(7) == 1  # the targets went out once
