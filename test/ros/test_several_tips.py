"""Requests that place several links together, as functions of plain data; Pinocchio judges the solutions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("pinocchio", reason="pin is the judge of these tests")

from oracle import Oracle, errors, matrix_row
from test_services import header, ik_request
from two_arms import ARMS, HANDS, TORSO, two_arms

from pk_ros.answers import IKAnswer
from pk_ros.ik_job import IKJob
from pk_ros.joint_states import JointTable
from pk_ros.requests import ErrorCode, Settings
from pk_ros.served_model import ServedModel, read_model
from pk_ros.solutions import pose_rows_together


@pytest.fixture(scope="module")
def oracle(tmp_path_factory: pytest.TempPathFactory) -> Oracle:
    path = tmp_path_factory.mktemp("robots") / "two_arms.urdf"
    path.write_text(two_arms())
    return Oracle(path)


@pytest.fixture(scope="module")
def model(oracle: Oracle) -> ServedModel:
    return read_model(oracle.text)


def solve(model: ServedModel, q: np.ndarray | None = None, **fields: Any) -> IKAnswer:
    """Solve a request for both hands from the torso, with the joints at q."""
    table = JointTable(model.columns, model.neutral)
    if q is not None:
        table.merge(model.columns, q)
    fields = {"tip_link": "", "tip_links": list(HANDS), "base_link": "torso", "header": header("torso")} | fields
    job = IKJob(model, table.snapshot(), ik_request(**fields), Settings(), 0.0, now=lambda: 0.0)
    while not job.step():
        pass
    return job.answer


def targets(oracle: Oracle, q: np.ndarray, base: str) -> np.ndarray:
    """Give the poses of the hands in a base at configurations (N, 16): (N, 2, 4, 4)."""
    poses = [oracle.poses(dict(zip(oracle.joints, row))) for row in q]
    return np.array([[np.linalg.inv(each[base]) @ each[hand] for hand in HANDS] for each in poses])


def flat(Ts: np.ndarray) -> list[float]:
    return np.concatenate([matrix_row(T) for T in Ts.reshape(-1, 4, 4)]).tolist()


@pytest.mark.parametrize(("base", "joints"), [("torso", set(ARMS)), ("ground", {*TORSO, *ARMS})])
def test_a_batch_places_both_hands_inside_the_limits(
    model: ServedModel, oracle: Oracle, base: str, joints: set[str]
) -> None:
    Ts = targets(oracle, oracle.random(60), base)
    answer = solve(model, oracle.random(1, seed=9)[0], target_array=flat(Ts), base_link=base, header=header(base))
    assert answer.error_code is ErrorCode.SUCCESS, answer.message
    assert set(answer.joint_names) == joints
    assert answer.positions.shape == (60, 1, len(joints))
    for row, wanted in zip(answer.positions[:, 0], Ts):
        found = dict(zip(answer.joint_names, row))
        assert all(oracle.limits[name][0] <= value <= oracle.limits[name][1] for name, value in found.items())
        poses = oracle.poses(found)
        for hand, T in zip(HANDS, wanted):
            position_error, rotation_error = errors(np.linalg.inv(poses[base]) @ poses[hand], T)
            assert position_error <= 1e-4
            assert rotation_error <= 1e-3


def test_a_row_gets_the_same_bits_alone_and_in_a_batch(model: ServedModel, oracle: Oracle) -> None:
    Ts = targets(oracle, oracle.random(30), "torso")
    batch, alone = solve(model, target_array=flat(Ts)), solve(model, target_array=flat(Ts[29]))
    assert np.array_equal(batch.positions[29], alone.positions[0])


def test_seeds_and_locked_joints_are_those_of_the_joints_that_solve(model: ServedModel, oracle: Oracle) -> None:
    q = oracle.random(5, seed=4)
    columns = [oracle.joints.index(name) for name in ARMS]
    given = {"seed_joint_names": list(ARMS), "seeds": q[:, columns].ravel().tolist()}
    answer = solve(model, target_array=flat(targets(oracle, q, "torso")), **given)
    order = [answer.joint_names.index(name) for name in ARMS]
    assert np.allclose(answer.positions[:, 0, order], q[:, columns], atol=1e-9)
    moved = targets(oracle, q + 0.05 * np.isin(oracle.joints, ARMS[1:]), "torso")
    held = solve(model, target_array=flat(moved), locked_joints=[ARMS[0]], num_solutions=1, **given)
    assert np.allclose(held.positions[held.status[:, 0] == 0, 0][:, order[0]], q[held.status[:, 0] == 0, columns[0]])
    assert (held.status[:, 0] == 0).sum() >= 3
    seeds = solve(model, target_array=flat(moved), seed_joint_names=["waist"], seeds=[0.0])
    assert (seeds.error_code, "waist" in seeds.message) == (ErrorCode.INVALID_GROUP_NAME, True)


def test_the_error_of_a_row_is_that_of_the_worse_hand(model: ServedModel, oracle: Oracle) -> None:
    Ts = targets(oracle, oracle.random(1, seed=5), "torso")
    Ts[0, 1, 0, 3] += 9.0  # the right hand's is far away
    answer = solve(model, target_array=flat(Ts))
    assert answer.error_code is ErrorCode.NO_IK_SOLUTION
    assert answer.position_errors[0, 0] > 5.0
    assert np.isnan(answer.positions).all()


@pytest.mark.parametrize(
    ("fields", "code", "words"),
    [
        ({"tip_link": "left_hand"}, ErrorCode.INVALID_LINK_NAME, "both filled"),
        ({"tip_links": ["left_hand"] * 2}, ErrorCode.INVALID_LINK_NAME, "twice"),
        ({"tip_links": ["left_hand", "tail"]}, ErrorCode.INVALID_LINK_NAME, "tail"),
        ({"base_link": "left_link_1"}, ErrorCode.INVALID_GROUP_NAME, "not above ['right_hand']"),
        ({"target_array": [0.0] * 21}, ErrorCode.INVALID_GOAL_CONSTRAINTS, "3 poses are no whole number"),
        ({"target_array": range(7 * 10**7)}, ErrorCode.INVALID_GOAL_CONSTRAINTS, "requests.max_targets"),
    ],
)
def test_what_can_not_be_meant_is_refused_with_the_reason(
    model: ServedModel, fields: dict[str, Any], code: ErrorCode, words: str
) -> None:
    answer = solve(model, **fields)
    assert answer.error_code is code
    assert words in answer.message


def test_joints_that_move_the_base_as_well_as_the_tips_are_refused() -> None:
    text = two_arms().replace(
        '<joint name="left_1" type="revolute">', '<joint name="left_1" type="revolute"><mimic joint="waist"/>'
    )
    answer = solve(read_model(text), target_array=[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0] * 2)
    assert answer.error_code is ErrorCode.INVALID_GROUP_NAME
    assert "['waist'] move the base 'torso'" in answer.message


def test_a_client_s_targets_of_several_links_keep_their_order() -> None:
    rows = np.arange(42.0).reshape(3, 2, 7)
    assert np.array_equal(pose_rows_together(rows, 2), rows.reshape(6, 7))
    for wrong in (rows[0], rows.reshape(2, 3, 7), rows[..., :6]):
        with pytest.raises(ValueError, match=r"\(N, 2, 7\)"):
            pose_rows_together(wrong, 2)
