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


def test_of_a_joint_named_twice_the_last_counts_and_it_is_told(table: JointTable) -> None:
    merge = table.merge(["a1", "a2", "a1"], [1.0, 2.0, 3.0])
    assert table.q[:2].tolist() == [3.0, 2.0]
    assert "named more than once" in merge.problem
    assert "a1" in merge.problem


@pytest.mark.parametrize("absurd", [1e300, -1e7, 1.1e6])
def test_a_number_that_no_joint_can_have_is_left_out_and_told(table: JointTable, absurd: float) -> None:
    merge = table.merge(ARM, [1.0, absurd, 3.0])
    assert merge.used == 2
    assert "a2 = " in merge.problem
    assert table.missing() == ["a2", "finger"]


def test_velocities_count_as_long_as_each_position_brings_its_own(table: JointTable) -> None:
    table.merge(["a3", "a1"], [3.0, 1.0], [0.3, 0.1])
    assert table.v.tolist() == [0.1, 0.0, 0.3, 0.0]
    assert table.moving.tolist() == [True, False, True, False]
    table.merge(["a1"], [1.1])
    assert table.moving.tolist() == [False, False, True, False]


@pytest.mark.parametrize("velocity", [[1.0], [1.0, np.nan, 2.0], [1.0] * 4])
def test_velocities_that_can_not_be_right_are_told_and_the_positions_count(
    table: JointTable, velocity: list[float]
) -> None:
    merge = table.merge(ARM, [1.0, 2.0, 3.0], velocity)
    assert merge.used == 3
    assert "velocities" in merge.problem
    assert not table.moving.any()


def test_parts_of_a_quaternion_have_no_rate_of_their_own() -> None:
    table = JointTable(
        ["b/qw", "b/qx", "b/qy", "b/qz", "a"], np.array([1.0, 0, 0, 0, 0]), (), np.array([-1] * 4 + [3]), 4
    )
    table.merge(["a", "b/qw"], [0.5, 1.0], [7.0, 8.0])
    assert table.v.tolist() == [0.0, 0.0, 0.0, 7.0]
    assert table.moving.tolist() == [False] * 4 + [True]


def test_a_message_that_was_overtaken_changes_nothing_that_is_known_from_a_later_one(table: JointTable) -> None:
    table.merge(["a1"], [1.0], stamp=10_000)
    merge = table.merge(["a1", "a2"], [5.0, 2.0], stamp=9_000)
    assert merge.used == 1
    assert "older" in merge.problem
    assert table.q[:2].tolist() == [1.0, 2.0]
    assert table.merge(["a1"], [1.5], stamp=10_000).used == 1  # as old as it is not older
    assert table.merge(["a1"], [6.0], stamp=9_000).used == 0
    assert table.merge(["a1"], [7.0]).used == 1  # whatever its age


def test_time_that_was_set_back_is_taken_as_it_is(table: JointTable) -> None:
    table.merge(ARM, [1.0, 2.0, 3.0], stamp=100 * 10**9)
    merge = table.merge(["a1"], [9.0], stamp=90 * 10**9)
    assert (merge.used, merge.problem, merge.time_went_back) == (1, "", True)
    merge = table.merge(["a2"], [8.0], stamp=91 * 10**9)  # the others count anew, too
    assert (merge.used, merge.time_went_back) == (1, False)
    table.forget_time()
    assert table.merge(["a1"], [7.0], stamp=90 * 10**9 - 1).used == 1


def test_joints_that_are_no_longer_heard_of_are_stale(table: JointTable) -> None:
    table.merge(ARM, [1.0, 2.0, 3.0], now=10.0)
    table.merge(["a2"], [2.0], now=11.5)
    assert table.named(table.is_stale(now=11.6, after=1.0)) == [
        "a1",
        "a3",
    ]  # the finger was never seen: missing, not stale
    assert not table.is_stale(now=11.0, after=1.0).any()


def test_what_is_forgotten_was_never_seen(table: JointTable) -> None:
    table.merge([*ARM, "wheel"], [1.0, 2.0, 3.0, 4.0], [1.0] * 4, stamp=10, now=10.0)
    table.forget()
    assert table.missing() == [*ARM, "finger"]
    assert table.q.tolist() == [0.0, 0.1, 0.2, 0.3]
    assert not table.moving.any()
    assert not table.unknown
    assert table.merge(["a1"], [1.0], stamp=1).used == 1


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
