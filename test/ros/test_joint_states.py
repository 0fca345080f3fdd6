"""joint_states messages merged by name."""

from __future__ import annotations

from array import array

import numpy as np
import pytest

from pk_ros.joint_states import JointTable

ARM = ["a1", "a2", "a3"]


@pytest.fixture
def table() -> JointTable:
    """A robot of an arm and a finger; the other finger follows it."""
    return JointTable([*ARM, "finger"], np.array([0.0, 0.1, 0.2, 0.3]), silent=["follower", "weld"])


def test_nothing_is_seen_at_the_start_and_neutral_stands_in(table: JointTable) -> None:
    assert table.missing() == [*ARM, "finger"]
    assert table.q.tolist() == [0.0, 0.1, 0.2, 0.3]


def test_arm_and_gripper_that_publish_apart_are_put_together(table: JointTable) -> None:
    assert table.merge(ARM, array("d", [1.0, 2.0, 3.0])).used == 3
    assert table.missing() == ["finger"]
    assert table.merge(["finger"], array("d", [0.04])).used == 1
    assert table.missing() == []
    assert table.q.tolist() == [1.0, 2.0, 3.0, 0.04]


def test_joints_are_found_by_name_in_any_order(table: JointTable) -> None:
    table.merge(["a3", "finger", "a1"], [3.0, 0.04, 1.0])
    assert table.q.tolist() == [1.0, 0.1, 3.0, 0.04]
    table.merge(["a1", "a3"], [-1.0, -3.0])
    assert table.q.tolist() == [-1.0, 0.1, -3.0, 0.04]


def test_unknown_joints_are_named_and_the_others_count(table: JointTable) -> None:
    merge = table.merge(["wheel", "a1"], [9.0, 1.0])
    assert merge.used == 1
    assert "wheel" in merge.problem
    assert table.q[0] == 1.0
    assert table.unknown == {"wheel"}


def test_followers_and_fixed_joints_are_no_news_and_no_problem(table: JointTable) -> None:
    merge = table.merge(["finger", "follower", "weld"], [0.04, 0.04, 0.0])
    assert (merge.used, merge.problem) == (1, "")
    assert table.unknown == set()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_not_finite_is_left_out_and_its_joint_named(table: JointTable, bad: float) -> None:
    merge = table.merge(ARM, array("d", [1.0, bad, 3.0]))
    assert merge.used == 2
    assert "a2" in merge.problem
    assert table.q.tolist() == [1.0, 0.1, 3.0, 0.3]
    assert table.missing() == ["a2", "finger"]


def test_a_bad_number_does_not_undo_what_was_seen(table: JointTable) -> None:
    table.merge(["a1"], [1.0])
    table.merge(["a1"], [np.nan])
    assert table.q[0] == 1.0
    assert table.seen[0]


@pytest.mark.parametrize("position", [[], [1.0, 2.0], [1.0, 2.0, 3.0, 4.0]])
def test_a_message_of_unequal_lengths_is_left_out_whole(table: JointTable, position: list[float]) -> None:
    merge = table.merge(ARM, position)
    assert merge.used == 0
    assert f"3 names but {len(position)} positions" in merge.problem
    assert not table.seen.any()


def test_an_empty_message_says_nothing(table: JointTable) -> None:
    assert table.merge([], array("d")).used == 0


def test_of_a_joint_named_twice_the_last_counts(table: JointTable) -> None:
    table.merge(["a1", "a2", "a1"], [1.0, 2.0, 3.0])
    assert table.q[:2].tolist() == [3.0, 2.0]


def test_a_snapshot_does_not_change_with_later_messages(table: JointTable) -> None:
    before = table.snapshot()
    table.merge(["a1"], [1.0])
    assert before.q[0] == 0.0
    assert not before.seen.any()


def test_a_sender_of_ever_new_names_does_not_fill_the_memory(table: JointTable) -> None:
    for i in range(1000):
        table.merge([f"stranger{i}", "a1"], [0.0, float(i)])
    assert table.q[0] == 999.0
    assert len(table.unknown) <= 64
    assert len(table._layouts) <= 64
