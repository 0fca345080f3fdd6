"""What the node says of itself on /diagnostics and in its log: facts in, words out. No rclpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum

_STALE_AFTER = 1.0  # [s]


class Level(IntEnum):
    """The values of diagnostic_msgs/DiagnosticStatus."""

    OK = 0
    WARN = 1
    ERROR = 2


@dataclass
class Facts:
    """What the node has counted; times on one monotonic clock [s].

    Attributes:
        robot: name of the robot served, empty while there is none.
        source: where its description came from.
        loading: a description is being read and warmed up.
        refused: why the latest description could not be used, empty if it could.
        columns: coordinates of the robot.
        missing: those never seen in joint_states.
        unknown: names in joint_states that the robot does not have.
        messages, rejected: joint_states received, and those of which nothing could be used.
        last_message: when the latest usable joint_states came, None for never.
        last_problem: what was wrong with the latest joint_states that was not right.
        requests, refusals: service calls answered, and those of them refused.
    """

    device: str = "cpu"
    robot: str = ""
    source: str = ""
    loading: bool = False
    refused: str = ""
    columns: int = 0
    missing: Sequence[str] = ()
    unknown: Sequence[str] = ()
    messages: int = 0
    rejected: int = 0
    last_message: float | None = None
    last_problem: str = ""
    requests: int = 0
    refusals: int = 0


@dataclass(frozen=True)
class Diagnosis:
    """A level, what it means in a sentence, and the numbers behind it."""

    level: Level
    message: str
    values: dict[str, str] = field(default_factory=dict, compare=False)


def diagnose(facts: Facts, now: float) -> Diagnosis:
    """Say how the node is, and what it waits for. The sentence stays the same while nothing changes but time."""
    level, message = _verdict(facts, now)
    age = "never" if facts.last_message is None else f"{now - facts.last_message:.3f}"
    values = {
        "robot": facts.robot or "none",
        "description from": facts.source or "none",
        "description refused": facts.refused or "no",
        "device": facts.device,
        "joint_states messages": str(facts.messages),
        "joint_states rejected": str(facts.rejected),
        "joint_states age [s]": age,
        "joint_states problem": abridged(facts.last_problem) or "none",
        "joints never seen": named(facts.missing) or "none",
        "joints unknown": named(facts.unknown) or "none",
        "requests": str(facts.requests),
        "requests refused": str(facts.refusals),
    }
    return Diagnosis(level, message, values)


def named(names: Sequence[str], most: int = 20) -> str:
    """List names, the first few of many, none longer than a line."""
    shown = ", ".join(abridged(name, 80) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def abridged(text: str, most: int = 300) -> str:
    """Cut a text that a stranger chose to a length that a log bears."""
    return text if len(text) <= most else f"{text[:most]}..."


def _verdict(facts: Facts, now: float) -> tuple[Level, str]:
    if not facts.robot:
        if facts.refused:
            return Level.ERROR, f"waiting for a robot_description that is right; the latest: {abridged(facts.refused)}"
        if facts.loading:
            return Level.WARN, "reading the robot_description and warming up"
        return Level.WARN, "waiting for a robot_description (parameter, or latched topic)"
    if facts.refused:
        return Level.WARN, f"serving {facts.robot}; a newer description was refused: {abridged(facts.refused)}"
    if facts.columns and facts.last_message is None:
        return Level.WARN, f"serving {facts.robot}; waiting for joint_states"
    if facts.missing:
        return Level.WARN, f"serving {facts.robot}; joints never seen in joint_states: {named(facts.missing)}"
    if facts.columns and now - facts.last_message > _STALE_AFTER:
        return Level.WARN, f"serving {facts.robot}; joint_states have stopped"
    if facts.unknown:
        return Level.OK, f"serving {facts.robot}; joint_states name joints it does not have: {named(facts.unknown)}"
    return Level.OK, f"serving {facts.robot}"
