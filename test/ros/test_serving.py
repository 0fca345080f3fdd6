"""The services and the action under load and faults: the node and its clients are processes of their own."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed: no ROS here")
pytest.importorskip("pinocchio", reason="pin is the judge of these tests")

from action_msgs.msg import GoalStatus
from bench import REPOSITORY, Bench, Program, held, kinematics_node
from oracle import PANDA, Oracle, errors, matrix_row
from pk_ros.action import SolveIKBatch
from pk_ros.srv import ComputeFK, SolveIK
from rclpy.action import ActionClient
from rclpy.qos import QoSProfile

TIP = "panda_hand"
ARM = [f"panda_joint{i}" for i in range(1, 8)]
TARGET = [0.4, 0.0, 0.4, 1.0, 0.0, 0.0, 0.0]
HARD = [0.75, 0.0, 0.333, 0.0, -(0.5**0.5), 0.0, 0.5**0.5]  # stretched and looking back: no arm can


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle(PANDA)


def reachable(oracle: Oracle, n: int) -> np.ndarray:
    """Poses (n, 4, 4) of the tip at random configurations."""
    return np.array([oracle.poses(dict(zip(oracle.joints, q)))[TIP] for q in oracle.random(n)])


def rows(Ts: np.ndarray) -> np.ndarray:
    return np.array([matrix_row(T) for T in Ts])


def check(oracle: Oracle, positions: np.ndarray, Ts: np.ndarray) -> None:
    for q, T in zip(positions.reshape(-1, 7), Ts, strict=True):
        position_error, rotation_error = errors(oracle.poses(dict(zip(ARM, q)))[TIP], T)
        assert position_error <= 1e-4
        assert rotation_error <= 1e-3


def clients(folder: Path, targets: np.ndarray, node: str, n: int, seconds: float, timeout: float) -> Program:
    """Start a program of clients."""
    np.save(folder / "rows.npy", targets)
    paths = [str(Path(__file__).parent), str(REPOSITORY), *filter(None, [os.environ.get("PYTHONPATH")])]
    log = folder / f"clients{time.monotonic_ns()}.log"
    arguments = [node, str(folder / "rows.npy"), str(n), str(seconds), str(timeout)]
    return Program(log, "clients", *arguments, environment={"PYTHONPATH": os.pathsep.join(paths)})


def wait_for(condition: Callable[[], Any], what: str, patience: float = 120.0) -> Any:
    deadline = time.monotonic() + patience
    while not (found := condition()):
        assert time.monotonic() < deadline, f"waited in vain for {what}"
        time.sleep(0.02)
    return found


def said(program: Program) -> dict[str, Any]:
    """Give what a program of clients found."""
    assert program.wait() == 0, program.output
    return json.loads(program.output.splitlines()[-1])


# --- the action -------------------------------------------------------------------------------------------------------


class Goal:
    """A goal of SolveIKBatch on its way."""

    def __init__(self, bench: Bench, client: ActionClient, goal: SolveIKBatch.Goal) -> None:
        self._bench = bench
        self.feedback: list[SolveIKBatch.Feedback] = []
        future = client.send_goal_async(goal, lambda message: self.feedback.append(message.feedback))
        bench.wait_until(future.done, "the goal's acceptance")
        self.handle = future.result()
        assert self.handle.accepted
        self._result = self.handle.get_result_async()

    def result(self) -> tuple[int, SolveIKBatch.Result]:
        """Wait for the status and the result."""
        self._bench.wait_until(self._result.done, "the goal's result")
        answer = self._result.result()
        return answer.status, answer.result


@pytest.fixture
def action(panda_bench: Bench) -> ActionClient:
    client = ActionClient(panda_bench.node, SolveIKBatch, "kinematics/solve_ik_batch")
    panda_bench.wait_until(client.server_is_ready, "the action")
    yield client
    client.destroy()


def test_a_batch_tells_how_far_it_is_and_ends_with_all_rows(
    panda_bench: Bench, action: ActionClient, oracle: Oracle
) -> None:
    Ts = reachable(oracle, 20)
    request = SolveIKBatch.Goal(tip_link=TIP, target_array=(rows(Ts).ravel().tolist() + HARD * 4000))
    request.timeout.sec = 100  # the default is short of what hard targets take on a slow machine
    goal = Goal(panda_bench, action, request)
    status, result = goal.result()
    assert status == GoalStatus.STATUS_SUCCEEDED
    assert result.error_code == SolveIKBatch.Result.NO_IK_SOLUTION
    assert Counter(result.status[:20]) == {0: 20}
    assert Counter(result.status[20:]) == {1: 4000}
    assert "4000 of 4020 targets did not converge" in result.message
    check(oracle, np.array(result.positions)[: 20 * 7], Ts)
    done = [feedback.done for feedback in goal.feedback]
    assert done == sorted(done) and done
    assert all(feedback.targets == 4020 and 0 < feedback.done < 4020 for feedback in goal.feedback)
    assert all(feedback.solved <= 20 for feedback in goal.feedback)


def test_a_batch_can_be_canceled_and_keeps_what_it_has(panda_bench: Bench, action: ActionClient) -> None:
    request = SolveIKBatch.Goal(tip_link=TIP, target_array=TARGET + HARD * 50_000)
    request.timeout.sec = 3600
    goal = Goal(panda_bench, action, request)
    panda_bench.wait_until(lambda: goal.feedback, "feedback")
    goal.handle.cancel_goal_async()
    status, result = goal.result()
    assert status == GoalStatus.STATUS_CANCELED
    assert result.error_code == SolveIKBatch.Result.PREEMPTED
    assert "of 50001 targets" in result.message
    assert len(result.status) == 50_001
    assert result.status[0] == SolveIKBatch.Result.CONVERGED
    assert result.status[-1] == SolveIKBatch.Result.CANCELED


def test_a_goal_that_is_refused_is_aborted_with_the_reason(panda_bench: Bench, action: ActionClient) -> None:
    status, result = Goal(panda_bench, action, SolveIKBatch.Goal(tip_link="panda_hnd", target_array=TARGET)).result()
    assert status == GoalStatus.STATUS_ABORTED
    assert result.error_code == SolveIKBatch.Result.INVALID_LINK_NAME
    assert "panda_hand" in result.message


# --- limits and time --------------------------------------------------------------------------------------------------


def test_a_request_over_the_maximum_is_refused_and_one_below_it_is_solved(panda_bench: Bench) -> None:
    too_many = SolveIK.Request(tip_link=TIP, target_array=TARGET * 100_001)
    response = panda_bench.call(SolveIK, "kinematics/solve_ik", too_many)
    assert response.error_code == SolveIK.Response.INVALID_GOAL_CONSTRAINTS
    assert "100001 targets are more than the 100000 of one request" in response.message
    too_many_poses = ComputeFK.Request(positions=[0.0] * (8 * 100_000))
    response = panda_bench.call(ComputeFK, "kinematics/compute_fk", too_many_poses)
    assert response.error_code == ComputeFK.Response.INVALID_ROBOT_STATE
    most = SolveIK.Request(tip_link=TIP, target_array=TARGET * 100_000)
    response = panda_bench.call(SolveIK, "kinematics/solve_ik", most)
    assert response.error_code == SolveIK.Response.SUCCESS, response.message
    assert len(response.status) == 100_000


def test_a_timeout_leaves_what_was_solved_and_a_status_for_each_row(panda_bench: Bench, oracle: Oracle) -> None:
    Ts = reachable(oracle, 10)
    request = SolveIK.Request(tip_link=TIP, target_array=rows(Ts).ravel().tolist() + HARD * 20_000)
    request.timeout.nanosec = 500_000_000
    response = panda_bench.call(SolveIK, "kinematics/solve_ik", request)
    assert response.error_code == SolveIK.Response.NO_IK_SOLUTION
    assert list(response.status[:10]) == [SolveIK.Response.CONVERGED] * 10
    check(oracle, np.array(response.positions)[:70], Ts)
    assert set(response.status[10:]) == {SolveIK.Response.NOT_FOUND, SolveIK.Response.TIMEOUT}
    assert np.isnan(response.positions[70:]).all()
    assert 0.0 < response.solver_time


def test_a_timeout_of_a_nanosecond_is_over_before_its_turn_comes(panda_bench: Bench) -> None:
    request = SolveIK.Request(tip_link=TIP, target_array=TARGET)
    request.timeout.nanosec = 1
    response = panda_bench.call(SolveIK, "kinematics/solve_ik", request)
    assert response.error_code == SolveIK.Response.TIMED_OUT
    assert len(response.status) == 0


def test_sigterm_ends_the_node_in_the_middle_of_a_long_batch(tmp_path: Path) -> None:
    with Bench("/term") as bench, kinematics_node(tmp_path, "/term", robot_file=str(PANDA)) as program:
        client = bench.node.create_client(SolveIK, "kinematics/solve_ik")
        bench.wait_until(client.service_is_ready, "the service")
        request = SolveIK.Request(tip_link=TIP, target_array=HARD * 100_000)  # minutes of work
        request.timeout.sec = 3600
        future = client.call_async(request)
        bench.spin_for(1.0)
        assert not future.done()
        assert program.stop(signal.SIGTERM, timeout=20.0) == 0, program.output
        assert "Traceback" not in program.output


# --- many clients, and clients and nodes that are killed ----------------------------------------------------------------


def test_ten_clients_get_every_answer_from_a_node_that_is_killed_and_restarted(tmp_path: Path, oracle: Oracle) -> None:
    Ts = reachable(oracle, 50)
    with kinematics_node(tmp_path, "/kill", robot_file=str(PANDA)) as first:
        program = clients(tmp_path, rows(Ts), "/kill/kinematics", 10, seconds=6.0, timeout=100.0)
        with program:
            wait_for(lambda: "begun" in program.output or not program.running, "the clients")
            time.sleep(1.0)
            assert first.stop(signal.SIGKILL) == -signal.SIGKILL
            with kinematics_node(tmp_path, "/kill", robot_file=str(PANDA)) as second:
                found = said(program)
                assert second.running
    assert found["errors"] == []
    assert min(found["counts"]) >= 2
    (answer,) = found["answers"]
    check(oracle, np.array(answer), Ts)


def test_a_client_that_is_killed_while_it_waits_harms_nobody_and_leaves_nothing_behind(
    panda_node: Program, panda_bench: Bench, tmp_path: Path
) -> None:
    before = held(panda_node.pid)
    with clients(tmp_path, np.tile(HARD, (1000, 1)), "/panda/kinematics", 2, seconds=60.0, timeout=60.0) as doomed:
        wait_for(lambda: "begun" in doomed.output or not doomed.running, "the client to kill")
        time.sleep(0.5)
        assert doomed.running, doomed.output
        doomed.stop(signal.SIGKILL)
    response = panda_bench.call(SolveIK, "kinematics/solve_ik", SolveIK.Request(tip_link=TIP, target_array=TARGET))
    assert response.error_code == SolveIK.Response.SUCCESS
    wait_for(lambda: panda_bench.diagnosis("panda")["requests waiting"] == "0", "the end of what it had asked for")
    panda_bench.wait_until(
        lambda: (
            held(panda_node.pid)["files"] <= before["files"] and held(panda_node.pid)["threads"] <= before["threads"]
        ),
        "the end of what the node held for it",
    )
    assert panda_node.running


def test_a_hundred_clients_at_once_get_their_own_answers(panda_bench: Bench, oracle: Oracle) -> None:
    Ts = reachable(oracle, 100)
    service_clients = [
        panda_bench.node.create_client(SolveIK, "kinematics/solve_ik", qos_profile=QoSProfile(depth=1000)) for _ in Ts
    ]
    panda_bench.wait_until(lambda: all(client.service_is_ready() for client in service_clients), "the service")
    hands = [client.call_async(SolveIK.Request()) for client in service_clients]
    again_at = time.monotonic() + 2.0

    def all_shaken() -> bool:  # a server may drop its first answer to a new client
        nonlocal again_at
        if time.monotonic() > again_at:
            again_at = time.monotonic() + 2.0
            for i, client in enumerate(service_clients):
                if not hands[i].done():
                    hands[i] = client.call_async(SolveIK.Request())
        return all(hand.done() for hand in hands)

    panda_bench.wait_until(all_shaken, "the first answers")
    for _ in range(3):
        futures = [
            client.call_async(SolveIK.Request(tip_link=TIP, target_array=row.tolist()))
            for client, row in zip(service_clients, rows(Ts))
        ]
        panda_bench.wait_until(lambda: all(future.done() for future in futures), "all answers")  # noqa: B023
        assert all(future.result().error_code == SolveIK.Response.SUCCESS for future in futures)
        check(oracle, np.array([future.result().positions for future in futures]), Ts)
