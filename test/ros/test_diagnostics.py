"""What the node says of itself."""

from __future__ import annotations

import pytest

from pk_ros.diagnostics import Diagnosis, Facts, Level, abridged, diagnose, named
from pk_ros.node_log import Announcer, NodeLog


def serving(**changes: object) -> Facts:
    facts = {"robot": "panda", "source": "a file", "columns": 8, "last_message": 100.0, "messages": 5}
    return Facts(**(facts | changes))


@pytest.mark.parametrize(
    ("facts", "level", "words"),
    [
        (Facts(), Level.WARN, "waiting for a robot_description"),
        (Facts(loading=True), Level.WARN, "warming up"),
        (Facts(refused="line 3: no link"), Level.ERROR, "line 3: no link"),
        (serving(refused="line 3: no link"), Level.WARN, "line 3: no link"),
        (serving(last_message=None), Level.WARN, "waiting for joint_states"),
        (serving(missing=["finger"]), Level.WARN, "never seen in joint_states: finger"),
        (serving(last_message=98.0), Level.WARN, "joint_states have stopped"),
        (serving(stale=["finger"]), Level.WARN, "no longer heard of: finger"),
        (serving(outside=["finger"]), Level.WARN, "outside their limits: finger"),
        (serving(notes=["tip: no link 'tool'"]), Level.WARN, "tip: no link 'tool'"),
        (serving(unknown=["wheel"]), Level.OK, "wheel"),
        (
            Facts(notes=["device 'cuda' can't be used here"], refused="it"),
            Level.ERROR,
            "device 'cuda' can't be used here",
        ),
        (Facts(state="unconfigured"), Level.WARN, "configure it"),
        (Facts(state="unconfigured", refused="line 3: no link"), Level.ERROR, "line 3: no link"),
        (serving(state="inactive"), Level.WARN, "activate it"),
        (serving(state="active"), Level.OK, "serving panda"),
        (serving(last_message=98.0, stale_after=5.0), Level.OK, "serving panda"),
        (serving(), Level.OK, "serving panda"),
        (serving(columns=0, last_message=None), Level.OK, "serving panda"),
    ],
)
def test_the_node_says_what_it_waits_for(facts: Facts, level: Level, words: str) -> None:
    diagnosis = diagnose(facts, now=100.5)
    assert diagnosis.level is level
    assert words in diagnosis.message


def test_time_alone_does_not_make_it_a_new_diagnosis() -> None:
    assert diagnose(serving(), now=100.1) == diagnose(serving(messages=6), now=100.9)
    assert diagnose(serving(), now=100.1) != diagnose(serving(), now=102.0)


def test_the_values_tell_counts_ages_and_names() -> None:
    values = diagnose(serving(rejected=2, last_problem="no joints at all", missing=["a", "b"]), now=100.25).values
    assert values["joint_states messages"] == "5"
    assert values["joint_states rejected"] == "2"
    assert values["joint_states age [s]"] == "0.250"
    assert values["joint_states problem"] == "no joints at all"
    assert values["joints never seen"] == "a, b"
    assert values["description from"] == "a file"
    assert values["kernels warm"] == "yes"
    assert values["targets solved [%]"] == values["pose time p50 p95 p99 [ms]"] == "none"


def test_the_values_tell_rates_and_times() -> None:
    facts = serving(
        rate=499.96, requests=8, refused_requests=1, targets=4, solved=3, request_times=[0.001, 0.0105, 2.0], waiting=3
    )
    values = diagnose(facts, now=100.25).values
    assert values["joint_states rate [Hz]"] == "500.0"
    assert (values["requests refused"], values["targets"], values["targets solved [%]"]) == ("1", "4", "75.0")
    assert values["request time p50 p95 p99 [ms]"] == "1.00 10.50 2000.00"
    assert values["requests waiting"] == "3"


def test_only_what_has_changed_is_news_and_no_sentence_twice_in_a_minute() -> None:
    announcer = Announcer()
    good, bad, worse = Diagnosis(Level.OK, "good"), Diagnosis(Level.WARN, "bad"), Diagnosis(Level.WARN, "worse")
    told = [announcer.is_news(diagnosis, now) for now, diagnosis in enumerate([good, good, bad, bad, worse, bad, good])]
    assert told == [True, False, True, False, True, False, True]
    assert not announcer.is_news(Diagnosis(Level.OK, "good", {"age": "1"}), 8.0)
    announcer.is_news(bad, 9.0)
    assert announcer.is_news(worse, 100.0)


def test_what_strangers_send_is_cut_to_a_length_that_a_log_bears() -> None:
    assert len(abridged("x" * 10_000)) < 400
    assert named([f"joint{i}" for i in range(50)]).endswith("joint19 and 30 more")
    assert len(named(["x" * 10_000])) < 100


class Lines:
    """A logger."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.info = self.warning = self.error = self.lines.append


def test_a_flood_fills_no_log() -> None:
    logger, time = Lines(), 0.0
    log = NodeLog(logger, lambda: time)
    for i in range(3000):
        time = 0.01 * i
        log.complain("bad message")
    assert len(logger.lines) == 6
    time = 1000.0
    for i in range(3000):
        log.say(Level.ERROR, f"bad description {i}")
    assert len(logger.lines) == 66
    assert "further lines are left out" in logger.lines[-1]
    time += 61.0
    log.say(Level.OK, "all is well")
    assert logger.lines[-1] == "all is well"
