"""The services as functions of plain data; Pinocchio judges poses and solutions."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("pinocchio", reason="pin is the judge of these tests")

from oracle import PANDA, UR5E, Oracle, errors, matrix_row, row_matrix

import pk_core as pk
from pk_ros.answers import FKAnswer, IKAnswer, fill_fk_response, fill_ik_response
from pk_ros.conversions import wxyz_rows
from pk_ros.fk_job import FKJob
from pk_ros.ik_job import IKJob
from pk_ros.joint_states import JointSnapshot, JointTable
from pk_ros.requests import ErrorCode, Settings
from pk_ros.served_model import ServedModel, read_model, warm_up
from pk_ros.solutions import pose_rows

TIP = "panda_hand"
READY = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]


@pytest.fixture(scope="module")
def model() -> ServedModel:
    model = read_model(PANDA.read_text())
    warm_up(model)  # no test's timeout shall count the compiler's time
    return model


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle(PANDA)


@pytest.fixture(scope="module")
def unseen(model: ServedModel) -> JointSnapshot:
    """No joint_states have come yet."""
    return JointTable(model.columns, model.neutral).snapshot()


@pytest.fixture(scope="module")
def ready(model: ServedModel) -> JointSnapshot:
    """The arm stands ready, and the fingers are open."""
    table = JointTable(model.columns, model.neutral)
    table.merge(model.columns, [*READY, 0.04])
    return table.snapshot()


def ik_request(**fields: Any) -> SimpleNamespace:
    """A SolveIK request, fields left out as a message has them."""
    request = SimpleNamespace(
        header=SimpleNamespace(frame_id=""),
        tip_link=TIP,
        tip_links=[],
        targets=[],
        target_array=[],
        seed_joint_names=[],
        seeds=[],
        base_link="",
        weights=[],
        locked_joints=[],
        preference=0,
        position_tolerance=0.0,
        rotation_tolerance=0.0,
        num_solutions=0,
        timeout=SimpleNamespace(sec=0, nanosec=0),
        random_seed=0,
    )
    vars(request).update(fields)
    return request


def fk_request(**fields: Any) -> SimpleNamespace:
    request = SimpleNamespace(header=SimpleNamespace(frame_id=""), links=[TIP], joint_names=[], positions=[])
    vars(request).update(fields)
    return request


def header(frame_id: str) -> SimpleNamespace:
    return SimpleNamespace(frame_id=frame_id)


def reachable(oracle: Oracle, n: int, tip: str = TIP) -> np.ndarray:
    """Poses (n, 4, 4) of the tip at random configurations."""
    return np.array([oracle.poses(dict(zip(oracle.joints, q)))[tip] for q in oracle.random(n)])


def rows(Ts: np.ndarray) -> list[float]:
    return np.array([matrix_row(T) for T in Ts]).ravel().tolist()


def answer_ik(
    model: ServedModel,
    joints: JointSnapshot,
    request: SimpleNamespace,
    settings: Settings | None = None,
    arrived: float = 0.0,
    now: Callable[[], float] = lambda: 0.0,
) -> IKAnswer:
    job = IKJob(model, joints, request, settings or Settings(), arrived, now=now)
    while not job.step():
        assert job.n_done < job.weight
    return job.answer


def answer_fk(
    model: ServedModel, joints: JointSnapshot, request: SimpleNamespace, settings: Settings | None = None
) -> FKAnswer:
    job = FKJob(model, joints, request, settings or Settings())
    while not job.step():
        pass
    return job.answer


def solve(model: ServedModel, joints: JointSnapshot, settings: Settings | None = None, **fields: Any) -> IKAnswer:
    return answer_ik(model, joints, ik_request(**fields), settings)


def check_solutions(oracle: Oracle, answer: IKAnswer, Ts: np.ndarray, tip: str = TIP) -> None:
    """Every row converged, to what Pinocchio says is the target, inside the limits."""
    assert answer.error_code == ErrorCode.SUCCESS, answer.message
    assert (answer.status[:, 0] == 0).all()
    low, high = np.array([oracle.limits[name] for name in answer.joint_names]).T
    assert (answer.positions >= low).all()
    assert (answer.positions <= high).all()
    for q, T in zip(answer.positions[:, 0], Ts):
        position_error, rotation_error = errors(oracle.poses(dict(zip(answer.joint_names, q)))[tip], T)
        assert position_error <= 1e-4
        assert rotation_error <= 1e-3


# --- inverse kinematics -----------------------------------------------------------------------------------------------


def test_reachable_targets_are_solved_inside_the_limits(
    model: ServedModel, unseen: JointSnapshot, oracle: Oracle
) -> None:
    Ts = reachable(oracle, 100)
    answer = solve(model, unseen, target_array=rows(Ts))
    check_solutions(oracle, answer, Ts)
    assert answer.joint_names == tuple(f"panda_joint{i}" for i in range(1, 8))
    assert answer.positions.shape == (100, 1, 7)
    assert (answer.num_found == 1).all()
    assert answer.message == ""


def test_pose_messages_mean_the_same_as_the_flat_array(
    model: ServedModel, unseen: JointSnapshot, oracle: Oracle
) -> None:
    flat = rows(reachable(oracle, 5))
    poses = [
        SimpleNamespace(position=SimpleNamespace(x=x, y=y, z=z), orientation=SimpleNamespace(x=qx, y=qy, z=qz, w=qw))
        for x, y, z, qx, qy, qz, qw in np.reshape(flat, (-1, 7)).tolist()
    ]
    by_poses, by_array = solve(model, unseen, targets=poses), solve(model, unseen, target_array=flat)
    assert by_array.positions.shape == (5, 1, 7)
    assert np.array_equal(by_poses.positions, by_array.positions)


def test_no_targets_are_an_empty_success_even_without_a_tip(model: ServedModel, unseen: JointSnapshot) -> None:
    for tip in ("", TIP):
        answer = solve(model, unseen, tip_link=tip)
        assert answer.error_code == ErrorCode.SUCCESS
        assert answer.positions.size == answer.status.size == answer.num_found.size == 0


def test_the_parameter_tip_stands_in_for_an_empty_tip_link(
    model: ServedModel, unseen: JointSnapshot, oracle: Oracle
) -> None:
    Ts = reachable(oracle, 3)
    check_solutions(oracle, solve(model, unseen, Settings(tip=TIP), tip_link="", target_array=rows(Ts)), Ts)


def test_a_target_out_of_reach_is_not_called_solved_and_the_others_are(
    model: ServedModel, unseen: JointSnapshot, oracle: Oracle
) -> None:
    Ts = reachable(oracle, 3)
    Ts[1, :3, 3] = (5.0, 0.0, 0.0)
    answer = solve(model, unseen, target_array=rows(Ts))
    assert answer.error_code == ErrorCode.NO_IK_SOLUTION
    assert (answer.status[:, 0] == 0).tolist() == [True, False, True]
    assert answer.num_found.tolist() == [1, 0, 1]
    assert "1 of 3" in answer.message
    assert answer.positions.shape == (3, 1, 7)


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1, 2**63, 2**64 - 1])
def test_every_random_seed_of_64_bits_is_taken(model: ServedModel, unseen: JointSnapshot, seed: int) -> None:
    answer = solve(model, unseen, target_array=[0.4, 0.0, 0.4, 1.0, 0.0, 0.0, 0.0], random_seed=seed)
    assert answer.error_code == ErrorCode.SUCCESS, answer.message


@pytest.mark.parametrize("matrix", [np.zeros((4, 4)), np.diag([2.0, 2, 2, 1]), np.diag([1.0, 1, -1, 1])])
def test_a_matrix_that_is_no_transform_is_refused_by_the_client(matrix: np.ndarray) -> None:
    with pytest.raises(ValueError, match="target 1 is no rigid transform"):
        pose_rows(np.stack([np.eye(4), matrix]))


def test_a_target_without_a_solution_is_nan_and_not_found(model: ServedModel, unseen: JointSnapshot) -> None:
    near, far = [0.4, 0.0, 0.4, 1.0, 0.0, 0.0, 0.0], [5.0, 0.0, 0.4, 1.0, 0.0, 0.0, 0.0]
    answer = solve(model, unseen, target_array=[*near, *far])
    assert answer.error_code == ErrorCode.NO_IK_SOLUTION
    assert answer.status[:, 0].tolist() == [0, 1]
    assert np.isfinite(answer.positions[0]).all() and np.isnan(answer.positions[1]).all()
    assert answer.num_found.tolist() == [1, 0] and answer.position_errors[1, 0] > 1.0
    assert "1 of 2 targets" in answer.message and "1 UNREACHABLE" in answer.message


@pytest.mark.parametrize("row", [[np.nan] * 7, [0.3, 0.0, 0.5, 0.0, 0.0, 0.0, 0.0], [np.inf, 0, 0, 0, 0, 0, 1]])
def test_a_row_that_is_no_pose_is_invalid_input_and_the_others_are_solved(
    model: ServedModel, ready: JointSnapshot, oracle: Oracle, row: list[float]
) -> None:
    flat = rows(reachable(oracle, 1)) + row
    for frame_id in ("", "panda_link4"):  # moved to another frame it is still none
        answer = solve(model, ready, target_array=flat, header=header(frame_id))
        assert answer.error_code == ErrorCode.NO_IK_SOLUTION
        assert answer.status[1, 0] == 7
    answer = solve(model, ready, target_array=flat)
    assert answer.status[0, 0] == 0


def test_several_solutions_of_a_target_are_distinct_or_not_found(
    model: ServedModel, unseen: JointSnapshot, oracle: Oracle
) -> None:
    answer = solve(model, unseen, target_array=rows(reachable(oracle, 4)), num_solutions=3)
    assert answer.positions.shape == (4, 3, 7)
    assert answer.iterations.shape == answer.status.shape == answer.position_errors.shape == (4, 3)
    assert answer.error_code == ErrorCode.SUCCESS
    assert np.array_equal((answer.status == 0).sum(axis=1), answer.num_found)
    assert np.isnan(answer.positions[answer.status == 1]).all()


def test_equal_requests_get_equal_answers(model: ServedModel, unseen: JointSnapshot, oracle: Oracle) -> None:
    flat = rows(reachable(oracle, 10))
    first, second = (solve(model, unseen, target_array=flat, random_seed=2**64 - 1) for _ in range(2))
    assert first.positions.shape == (10, 1, 7)
    assert np.array_equal(first.positions, second.positions)


def test_slices_give_the_bits_of_one_call(model: ServedModel, unseen: JointSnapshot, oracle: Oracle) -> None:
    Ts = reachable(oracle, 500)
    answer = solve(model, unseen, target_array=rows(Ts), num_solutions=2, seeds=oracle.random(500)[:, :7].ravel())
    targets = torch.from_numpy(wxyz_rows(np.reshape(rows(Ts), (-1, 7))))
    seeds = torch.from_numpy(oracle.random(500)[:, :7])
    whole = pk.solve_ik(model.serial(TIP, model.root), targets, num_solutions=2, seeds=seeds)
    converged = whole.converged.numpy()
    assert np.array_equal(answer.status == 0, converged)
    assert np.array_equal(answer.positions[converged], whole.solutions.numpy()[converged])
    assert np.array_equal(answer.num_found, whole.n_solutions.numpy())
    assert np.array_equal(answer.position_errors, whole.position_error.numpy(), equal_nan=True)
    assert np.array_equal(answer.rotation_errors, whole.rotation_error.numpy(), equal_nan=True)
    assert np.array_equal(answer.iterations[:, 1], whole.iterations.numpy())


def test_a_canceled_job_keeps_what_it_has_and_says_so(
    model: ServedModel, unseen: JointSnapshot, oracle: Oracle
) -> None:
    request = ik_request(target_array=rows(reachable(oracle, 100)) * 100)
    job = IKJob(model, unseen, request, Settings(), 0.0, now=lambda: 0.0)
    for _ in range(3):
        assert not job.step()
    done = job.n_done
    assert 0 < done < 10_000 and job.n_solved == done
    job.cancel()
    assert job.step()
    assert job.answer.error_code == ErrorCode.PREEMPTED
    assert job.answer.message == f"canceled after {done} of 10000 targets"
    assert (job.answer.status[:done] == 0).all() and (job.answer.status[done:] == 8).all()
    assert np.isnan(job.answer.positions[done:]).all() and np.isnan(job.answer.position_errors[done:]).all()


def test_a_job_canceled_before_it_began_has_a_status_for_each_row(model: ServedModel, unseen: JointSnapshot) -> None:
    job = IKJob(model, unseen, ik_request(target_array=[0.4, 0.0, 0.4, 1.0, 0.0, 0.0, 0.0] * 3), Settings(), 0.0)
    job.cancel()
    assert job.step()
    assert (job.answer.error_code, job.answer.status[:, 0].tolist()) == (ErrorCode.PREEMPTED, [8, 8, 8])


def test_fewer_solutions_than_asked_for_are_told(model: ServedModel, unseen: JointSnapshot) -> None:
    answer = solve(  # a finger has one position for one place
        model, unseen, tip_link="panda_leftfinger", base_link="panda_hand", header=header("panda_hand"),
        target_array=[0.0, 0.02, 0.0584, 0, 0, 0, 1] * 2, num_solutions=3,
    )  # fmt: skip
    assert answer.error_code == ErrorCode.SUCCESS
    assert answer.status.tolist() == [[0, 1, 1]] * 2
    assert answer.num_found.tolist() == [1, 1]
    assert answer.message == "2 of 2 targets have fewer than 3 distinct solutions"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"target_array": np.zeros(7 * 10**7)}, "10000000 targets are more than the 1000"),
        ({"target_array": np.zeros(7 * 1001)}, "requests.max_targets"),
        ({"targets": [None] * 1001}, "1001 targets"),
        ({"target_array": np.zeros(7 * 101), "num_solutions": 100}, "more than 10000 solutions"),
    ],
)
def test_a_request_over_the_maximum_is_refused_before_it_is_queued(
    model: ServedModel, unseen: JointSnapshot, fields: dict[str, Any], words: str
) -> None:
    job = IKJob(model, unseen, ik_request(**fields), Settings(max_targets=1000), 0.0)
    assert job.answer.error_code == ErrorCode.INVALID_GOAL_CONSTRAINTS
    assert words in job.answer.message
    assert job.answer.positions.size == 0


def test_the_largest_request_is_taken(model: ServedModel, unseen: JointSnapshot) -> None:
    request = ik_request(target_array=np.zeros(7 * 1000), num_solutions=10)
    assert IKJob(model, unseen, request, Settings(max_targets=1000), 0.0).answer is None


def test_too_many_configurations_or_poses_are_refused(model: ServedModel, unseen: JointSnapshot) -> None:
    settings = Settings(max_targets=1000)
    for fields, taken in (
        ({"positions": np.zeros(8 * 1000)}, True),
        ({"positions": np.zeros(8 * 1001)}, False),
        ({"positions": np.zeros(8 * 1000), "links": []}, False),
        ({"positions": np.zeros(1000), "joint_names": ["panda_joint1"], "links": [TIP] * 11}, False),
    ):
        answer = FKJob(model, unseen, fk_request(**fields), settings).answer
        assert (answer is None) == taken
        if not taken:
            assert answer.error_code == ErrorCode.INVALID_ROBOT_STATE
            assert "at most 1000 configurations" in answer.message and "10000 poses" in answer.message


# --- frames -----------------------------------------------------------------------------------------------------------


def test_targets_in_a_frame_that_moves_stand_where_the_joints_put_it(
    model: ServedModel, ready: JointSnapshot, oracle: Oracle
) -> None:
    T_root_link4 = oracle.poses(dict(zip(oracle.joints, [*READY, 0.04])))["panda_link4"]
    Ts_root = reachable(oracle, 5)
    Ts_link4 = np.linalg.inv(T_root_link4) @ Ts_root
    answer = solve(model, ready, target_array=rows(Ts_link4), header=header("panda_link4"))
    check_solutions(oracle, answer, Ts_root)


def test_a_frame_that_moves_with_unseen_joints_is_refused_with_their_names(
    model: ServedModel, unseen: JointSnapshot
) -> None:
    answer = solve(model, unseen, target_array=[0, 0, 0, 0, 0, 0, 1], header=header("panda_link2"))
    assert answer.error_code == ErrorCode.FRAME_TRANSFORM_FAILURE
    assert "panda_joint1" in answer.message
    assert "panda_joint3" not in answer.message


def test_a_frame_that_is_fixed_to_the_base_needs_no_joint_states(model: ServedModel, unseen: JointSnapshot) -> None:
    answer = solve(
        model, unseen, tip_link="panda_leftfinger", base_link="panda_hand", header=header("panda_hand_tcp"),
        target_array=[0.0, 0.02, -0.0450, 0, 0, 0, 1],
    )  # fmt: skip
    assert answer.joint_names == ("panda_finger_joint1",)
    assert answer.error_code == ErrorCode.SUCCESS, (answer.message, answer.positions, answer.status)
    assert answer.positions.ravel() == pytest.approx([0.02], abs=1e-4)


def test_a_base_link_leaves_only_the_joints_from_it_to_the_tip(
    model: ServedModel, unseen: JointSnapshot, oracle: Oracle
) -> None:
    q = oracle.random(1)[0]
    poses = oracle.poses(dict(zip(oracle.joints, q)))
    T_base_tip = np.linalg.inv(poses["panda_link3"]) @ poses[TIP]
    row = matrix_row(T_base_tip).tolist()
    answer = solve(model, unseen, base_link="panda_link3", header=header("panda_link3"), target_array=row)
    assert answer.joint_names == tuple(f"panda_joint{i}" for i in range(4, 8))
    assert answer.error_code == ErrorCode.SUCCESS
    solved = oracle.poses(dict(zip(answer.joint_names, answer.positions[0, 0])))
    position_error, rotation_error = errors(np.linalg.inv(solved["panda_link3"]) @ solved[TIP], T_base_tip)
    assert position_error <= 1e-4
    assert rotation_error <= 1e-3


def test_an_empty_frame_is_the_root_whatever_the_base(model: ServedModel, ready: JointSnapshot, oracle: Oracle) -> None:
    poses = oracle.poses(dict(zip(oracle.joints, [*READY, 0.04])))
    answer = solve(model, ready, base_link="panda_link3", target_array=matrix_row(poses[TIP]).tolist())
    assert answer.error_code == ErrorCode.SUCCESS
    q = dict(zip(oracle.joints, [*READY, 0.04])) | dict(zip(answer.joint_names, answer.positions[0, 0]))
    assert errors(oracle.poses(q)[TIP], poses[TIP])[0] <= 1e-4


# --- seeds and options ------------------------------------------------------------------------------------------------


def test_a_seed_at_the_solution_is_the_solution(model: ServedModel, unseen: JointSnapshot, oracle: Oracle) -> None:
    q = np.array([READY, oracle.random(1)[0][:7]])
    Ts = np.array([oracle.poses(dict(zip(oracle.joints, row)))[TIP] for row in q])
    answer = solve(model, unseen, target_array=rows(Ts), seeds=q.ravel().tolist())
    assert np.allclose(answer.positions[:, 0], q, atol=1e-3)


def test_seeds_are_put_in_order_by_their_names(model: ServedModel, unseen: JointSnapshot, oracle: Oracle) -> None:
    T = oracle.poses(dict(zip(oracle.joints, READY)))[TIP]
    names = [f"panda_joint{i}" for i in range(7, 0, -1)]
    answer = solve(model, unseen, target_array=rows([T]), seed_joint_names=names, seeds=READY[::-1])
    assert np.allclose(answer.positions[0, 0], READY, atol=1e-3)


def test_one_seed_row_serves_all_targets(model: ServedModel, unseen: JointSnapshot, oracle: Oracle) -> None:
    T = oracle.poses(dict(zip(oracle.joints, READY)))[TIP]
    answer = solve(model, unseen, target_array=rows([T, T, T]), seeds=READY)
    assert np.allclose(answer.positions[:, 0], READY, atol=1e-3)


def test_locked_joints_stay_at_the_seed_or_are_refused_by_name(
    model: ServedModel, unseen: JointSnapshot, oracle: Oracle
) -> None:
    T = oracle.poses(dict(zip(oracle.joints, READY)))[TIP]
    answer = solve(model, unseen, target_array=rows([T]), seeds=READY, locked_joints=["panda_joint3"])
    if answer.error_code == ErrorCode.FAILURE:
        assert "locked_joints" in answer.message
    else:
        assert answer.error_code == ErrorCode.SUCCESS
        assert answer.positions[0, 0, 2] == READY[2]


def test_weights_free_an_axis_or_are_refused_by_name(model: ServedModel, unseen: JointSnapshot, oracle: Oracle) -> None:
    T = reachable(oracle, 1)[0]
    answer = solve(model, unseen, target_array=rows([T]), weights=[1, 1, 1, 0, 0, 0])
    if answer.error_code == ErrorCode.FAILURE:
        assert "weights" in answer.message
    else:
        q = dict(zip(answer.joint_names, answer.positions[0, 0]))
        assert errors(oracle.poses(q)[TIP], T)[0] <= 1e-4


def test_the_nearest_solution_is_no_farther_than_any(model: ServedModel, unseen: JointSnapshot, oracle: Oracle) -> None:
    Ts = reachable(oracle, 10)
    any_, nearest = (solve(model, unseen, target_array=rows(Ts), seeds=READY, preference=p) for p in (0, 1))
    if nearest.error_code == ErrorCode.FAILURE:
        assert "prefer" in nearest.message
    else:
        distances = [np.linalg.norm(answer.positions[:, 0] - READY, axis=1).mean() for answer in (any_, nearest)]
        assert distances[1] <= distances[0]


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({"tip_link": ""}, ErrorCode.INVALID_LINK_NAME, "panda_leftfinger"),
        ({"tip_link": "panda_hnd"}, ErrorCode.INVALID_LINK_NAME, "panda_hand"),
        ({"tip_link": "x" * 100_000}, ErrorCode.INVALID_LINK_NAME, "tip_link"),
        ({"base_link": "nowhere"}, ErrorCode.INVALID_GROUP_NAME, "base_link"),
        ({"header": header("map")}, ErrorCode.FRAME_TRANSFORM_FAILURE, "header.frame_id"),
        ({"target_array": [0.0] * 8}, ErrorCode.INVALID_GOAL_CONSTRAINTS, "N x 7"),
        ({"targets": [None]}, ErrorCode.INVALID_GOAL_CONSTRAINTS, "both"),
        ({"seeds": [0.0] * 6}, ErrorCode.INVALID_ROBOT_STATE, "seeds"),
        ({"seeds": [0.0] * 21}, ErrorCode.INVALID_ROBOT_STATE, "2 rows"),
        ({"seeds": [0.0], "seed_joint_names": ["elbow"]}, ErrorCode.INVALID_GROUP_NAME, "seed_joint_names"),
        (
            {"seeds": [0.0] * 2, "seed_joint_names": ["panda_joint1"] * 2},
            ErrorCode.INVALID_GROUP_NAME,
            "seed_joint_names",
        ),
        ({"locked_joints": ["elbow"]}, ErrorCode.INVALID_GROUP_NAME, "locked_joints"),
        ({"weights": [1.0] * 5}, ErrorCode.INVALID_GOAL_CONSTRAINTS, "weights"),
        ({"weights": [1, 1, 1, 1, 1, -1]}, ErrorCode.INVALID_GOAL_CONSTRAINTS, "weights"),
        ({"weights": [np.nan] * 6}, ErrorCode.INVALID_GOAL_CONSTRAINTS, "weights"),
        ({"weights": [0.0] * 6}, ErrorCode.INVALID_GOAL_CONSTRAINTS, "weights"),
        ({"preference": 9}, ErrorCode.INVALID_GOAL_CONSTRAINTS, "preference"),
        ({"position_tolerance": -1.0}, ErrorCode.INVALID_GOAL_CONSTRAINTS, "position_tolerance"),
        ({"rotation_tolerance": np.nan}, ErrorCode.INVALID_GOAL_CONSTRAINTS, "rotation_tolerance"),
        ({"num_solutions": 2**32 - 1}, ErrorCode.INVALID_GOAL_CONSTRAINTS, "num_solutions"),
        ({"timeout": SimpleNamespace(sec=-1, nanosec=0)}, ErrorCode.INVALID_GOAL_CONSTRAINTS, "timeout"),
    ],
)
def test_what_can_not_be_meant_is_refused_by_the_name_of_its_field(
    model: ServedModel, unseen: JointSnapshot, fields: dict[str, Any], code: ErrorCode, words: str
) -> None:
    two = [0.4, 0.0, 0.4, 1.0, 0.0, 0.0, 0.0] * 2
    answer = solve(model, unseen, **({"target_array": two} | fields))
    assert answer.error_code == code, answer.message
    assert words in answer.message
    assert len(answer.message) < 2000
    assert answer.positions.size == answer.status.size == answer.num_found.size == 0


def test_a_request_whose_time_is_over_is_not_solved(model: ServedModel, unseen: JointSnapshot) -> None:
    request = ik_request(target_array=[0.4, 0.0, 0.4, 1.0, 0.0, 0.0, 0.0], timeout=SimpleNamespace(sec=1, nanosec=0))
    answer = answer_ik(model, unseen, request, Settings(), arrived=0.0, now=lambda: 1.5)
    assert answer.error_code == ErrorCode.TIMED_OUT
    assert answer.positions.size == 0


def test_without_a_timeout_of_its_own_a_request_has_time_for_each_target(
    model: ServedModel, unseen: JointSnapshot
) -> None:
    settings = Settings(timeout=1.0, timeout_per_target=0.1)
    for n_targets, code in ((1, ErrorCode.TIMED_OUT), (10, ErrorCode.SUCCESS)):
        request = ik_request(target_array=[0.4, 0.0, 0.4, 1.0, 0.0, 0.0, 0.0] * n_targets)
        assert answer_ik(model, unseen, request, settings, arrived=0.0, now=lambda: 1.5).error_code == code


def test_a_timeout_ends_the_search_with_a_status_for_each_row(
    model: ServedModel, unseen: JointSnapshot, oracle: Oracle
) -> None:
    flat = rows(reachable(oracle, 50)) * 200
    request = ik_request(target_array=flat, timeout=SimpleNamespace(sec=0, nanosec=2_000_000))
    answer = answer_ik(model, unseen, request, Settings(), arrived=0.0, now=lambda: 0.0)
    assert answer.error_code == ErrorCode.NO_IK_SOLUTION
    assert len(answer.status) == 10_000
    assert (answer.status == 6).any()


def test_a_request_that_breaks_the_rules_of_its_type_is_answered_too(model: ServedModel, unseen: JointSnapshot) -> None:
    answer = answer_ik(model, unseen, SimpleNamespace(), Settings(), arrived=0.0)
    assert answer.error_code == ErrorCode.FAILURE
    assert "AttributeError" in answer.message
    assert answer_fk(model, unseen, SimpleNamespace()).error_code == ErrorCode.FAILURE


# --- forward kinematics -----------------------------------------------------------------------------------------------


def test_poses_are_those_of_pinocchio(model: ServedModel, unseen: JointSnapshot, oracle: Oracle) -> None:
    q = oracle.random(5)
    answer = answer_fk(
        model, unseen, fk_request(links=oracle.links, joint_names=oracle.joints, positions=q.ravel().tolist())
    )
    assert answer.error_code == ErrorCode.SUCCESS
    assert answer.poses.shape == (5, len(oracle.links), 7)
    for row, poses in zip(q, answer.poses):
        wanted = oracle.poses(dict(zip(oracle.joints, row)))
        for link, pose in zip(oracle.links, poses):
            assert np.allclose(row_matrix(pose), wanted[link], atol=1e-9), link


def test_poses_can_be_given_in_a_link_that_moves_along(
    model: ServedModel, unseen: JointSnapshot, oracle: Oracle
) -> None:
    q = oracle.random(3)
    request = fk_request(joint_names=oracle.joints, positions=q.ravel().tolist(), header=header("panda_link3"))
    for row, pose in zip(q, answer_fk(model, unseen, request).poses[:, 0]):
        wanted = oracle.poses(dict(zip(oracle.joints, row)))
        assert np.allclose(row_matrix(pose), np.linalg.inv(wanted["panda_link3"]) @ wanted[TIP], atol=1e-9)


def test_no_links_mean_every_link_and_no_names_every_joint(
    model: ServedModel, unseen: JointSnapshot, oracle: Oracle
) -> None:
    answer = answer_fk(model, unseen, fk_request(links=[], positions=[0.0] * 16))
    assert answer.poses.shape == (2, len(oracle.links), 7)


def test_joints_not_named_stand_as_they_were_last_seen(
    model: ServedModel, unseen: JointSnapshot, ready: JointSnapshot, oracle: Oracle
) -> None:
    request = fk_request(joint_names=["panda_joint1"], positions=[0.5])
    for joints, others in ((ready, [*READY, 0.04]), (unseen, [0.0] * 8)):
        q = dict(zip(oracle.joints, others)) | {"panda_joint1": 0.5}
        pose = answer_fk(model, joints, request).poses[0, 0]
        assert np.allclose(row_matrix(pose), oracle.poses(q)[TIP], atol=1e-9)


def test_a_row_that_is_not_finite_gives_a_nan_row(model: ServedModel, unseen: JointSnapshot) -> None:
    request = fk_request(joint_names=["panda_joint1"], positions=[0.1, np.nan, 0.1])
    poses = answer_fk(model, unseen, request).poses[:, 0]
    assert np.isnan(poses[1]).any()
    assert np.isfinite(poses[[0, 2]]).all()


def test_many_configurations_are_answered_as_one_by_one(model: ServedModel, unseen: JointSnapshot) -> None:
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (5000, 8))  # more than are held in memory at once
    answer = answer_fk(model, unseen, fk_request(positions=q.ravel().tolist()))
    for i in (0, 4095, 4096, 4999):
        alone = answer_fk(model, unseen, fk_request(positions=q[i].tolist()))
        assert np.array_equal(alone.poses[0], answer.poses[i])


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({"links": ["panda_hnd"]}, ErrorCode.INVALID_LINK_NAME, "panda_hand"),
        ({"header": header("map")}, ErrorCode.FRAME_TRANSFORM_FAILURE, "header.frame_id"),
        ({"joint_names": ["elbow"]}, ErrorCode.INVALID_ROBOT_STATE, "joint_names"),
        ({"joint_names": ["panda_finger_joint2"]}, ErrorCode.INVALID_ROBOT_STATE, "joint_names"),
        ({"joint_names": ["panda_joint1"] * 2}, ErrorCode.INVALID_ROBOT_STATE, "twice"),
        ({"positions": [0.0] * 7}, ErrorCode.INVALID_ROBOT_STATE, "N x 8"),
    ],
)
def test_a_pose_that_can_not_be_meant_is_refused_by_the_name_of_its_field(
    model: ServedModel, unseen: JointSnapshot, fields: dict[str, Any], code: ErrorCode, words: str
) -> None:
    answer = answer_fk(model, unseen, fk_request(**fields))
    assert answer.error_code == code
    assert words in answer.message
    assert answer.poses.size == 0


# --- what is served ---------------------------------------------------------------------------------------------------


def test_links_behind_an_unseen_joint_are_not_visible(model: ServedModel) -> None:
    seen = np.array([name != "panda_joint5" for name in model.columns])
    names = {name for name, visible in zip(model.frame_names, model.visible(seen)) if visible}
    assert names == {f"panda_link{i}" for i in range(5)}


def test_a_follower_is_visible_once_its_leader_is_seen(model: ServedModel) -> None:
    seen = np.array([name != "panda_finger_joint1" for name in model.columns])
    hidden = {name for name, visible in zip(model.frame_names, model.visible(seen)) if not visible}
    assert hidden == {"panda_leftfinger", "panda_rightfinger"}


def test_tree_joints_lead_from_the_root_to_every_link(model: ServedModel, oracle: Oracle) -> None:
    fixed, moving = model.tree_joints(fixed=True), model.tree_joints(fixed=False)
    assert set(fixed.children) | set(moving.children) == set(oracle.links) - {oracle.root}
    assert not set(fixed.children) & set(moving.children)
    assert "panda_rightfinger" in moving.children  # a mimic moves too


def test_an_answer_fills_the_message_as_it_is(model: ServedModel, unseen: JointSnapshot, oracle: Oracle) -> None:
    answer = solve(model, unseen, target_array=rows(reachable(oracle, 2)), num_solutions=2)
    response = fill_ik_response(SimpleNamespace(), copy.copy(answer))
    assert np.array_equal(np.reshape(response.positions, (2, 2, 7)), answer.positions, equal_nan=True)
    assert list(response.status) == answer.status.ravel().tolist()
    assert list(response.iterations) == answer.iterations.ravel().tolist()
    assert (response.error_code, response.message) == (1, "")
    fk = answer_fk(model, unseen, fk_request(positions=[0.0] * 8))
    assert list(fill_fk_response(SimpleNamespace(), fk).poses) == fk.poses.ravel().tolist()


def test_another_robot_is_solved_too() -> None:
    oracle, model = Oracle(UR5E), read_model(UR5E.read_text())
    unseen = JointTable(model.columns, model.neutral).snapshot()
    Ts = reachable(oracle, 50, "tool0")
    check_solutions(oracle, solve(model, unseen, tip_link="tool0", target_array=rows(Ts)), Ts, "tool0")
