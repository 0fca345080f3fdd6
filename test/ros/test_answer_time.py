"""How long answers take to leave is learnt, and kept from the time of the solver."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("pinocchio", reason="pin is the judge of these tests")

from oracle import PANDA
from test_services import ik_request

from pk_ros.answer_time import AnswerTime
from pk_ros.ik_job import IKJob
from pk_ros.joint_states import JointTable
from pk_ros.requests import ErrorCode, Settings
from pk_ros.served_model import ServedModel, read_model

FAR = [0.75, 0.0, 0.333, 0.0, -(0.5**0.5), 0.0, 0.5**0.5]  # within any bound on reach, and never reached


@pytest.fixture(scope="module")
def model() -> ServedModel:
    return read_model(PANDA.read_text())


def job(model: ServedModel, seconds: float, now: list[float], answer_time: float) -> IKJob:
    timeout = SimpleNamespace(sec=0, nanosec=round(seconds * 1e9))
    joints = JointTable(model.columns, model.neutral).snapshot()
    request = ik_request(target_array=FAR * 20, timeout=timeout)
    return IKJob(
        model, joints, request, Settings(), now[0], now=lambda: now[0], answer_time=lambda rows: rows * answer_time / 20
    )


def test_the_time_of_an_answer_is_learnt_for_its_number_of_rows() -> None:
    learnt, noise = AnswerTime(), np.random.default_rng(0)
    for rows in noise.choice([1, 100, 1000, 10_000, 100_000], 2000):
        learnt.learn(int(rows), (4e-3 + 3e-7 * rows) * noise.uniform(0.8, 1.2))
    for rows in (1, 1000, 10_000, 100_000):
        assert learnt.expected(rows) == pytest.approx(4e-3 + 3e-7 * rows, rel=0.15)


def test_one_answer_that_took_long_changes_little_and_none_is_expected_before_its_time() -> None:
    learnt = AnswerTime()
    before = learnt.expected(1)
    learnt.learn(1, 60.0)
    assert before < learnt.expected(1) < before + 2e-3
    for _ in range(100):
        learnt.learn(1, -1.0)
        learnt.learn(100_000, -1.0)
    assert learnt.expected(1) == learnt.expected(100_000) == 0.0


def test_the_solver_stops_before_the_end_by_the_time_that_the_answer_takes(model: ServedModel) -> None:
    now = [5.0]
    begun = job(model, 1.0, now, answer_time=0.3)
    assert begun.deadline == pytest.approx(5.7)
    assert not begun.step()
    assert not begun.timed_out
    now[0] = 5.8
    assert begun.step()
    assert begun.timed_out
    assert begun.answer.error_code is ErrorCode.NO_IK_SOLUTION
    assert (begun.answer.status[:16] != 6).all()  # what was tried is told
    assert (begun.answer.status[16:] == 6).all()


def test_half_of_a_short_timeout_is_left_to_the_solver(model: ServedModel) -> None:
    assert job(model, 0.002, [5.0], answer_time=0.3).deadline == pytest.approx(5.001)
