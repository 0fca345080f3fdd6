"""What the node says of itself on /diagnostics and in its log: facts in, words out. No rclpy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum


class Level(IntEnum):
    """The values of diagnostic_msgs/DiagnosticStatus."""

    OK = 0
    WARN = 1
    ERROR = 2


@dataclass
class Facts:
    """What the node has counted; times on one monotonic clock [s].

    Attributes:
        state: of the lifecycle, empty for a node that is not managed.
        robot: name of the robot served, empty while there is none.
        source, hash: where its description came from, and which it is.
        loading: a description is being read and warmed up.
        refused: why the latest description could not be used, empty if it could.
        notes: what is set that does not fit the robot, or the machine.
        columns: coordinates of the robot.
        missing: those never seen in joint_states.
        stale: those not heard of for `stale_after`.
        outside: those seen outside their limits.
        unknown: names in joint_states that the robot does not have.
        messages, rejected: joint_states received, and those of which nothing could be used.
        rate: joint_states received a second, of late [Hz].
        last_message: when the latest usable joint_states came, None for never.
        last_problem: what was wrong with the latest joint_states that was not right.
        times_back: how often stamps or the clock were set back.
        pose_times: the percentiles 50, 95 and 99 of the time from joint_states to poses [s]; none for no poses.
        requests, refused_requests: requests answered, and those of them refused.
        targets, solved: targets of inverse kinematics answered, and those of them with a solution.
        request_times: the percentiles 50, 95 and 99 of the time to their answers [s].
        waiting: requests that are not answered yet.
    """

    device: str = "cpu"
    state: str = ""
    robot: str = ""
    source: str = ""
    hash: str = ""
    loading: bool = False
    refused: str = ""
    notes: Sequence[str] = ()
    columns: int = 0
    missing: Sequence[str] = ()
    stale: Sequence[str] = ()
    outside: Sequence[str] = ()
    unknown: Sequence[str] = ()
    messages: int = 0
    rejected: int = 0
    rate: float = 0.0
    last_message: float | None = None
    last_problem: str = ""
    times_back: int = 0
    stale_after: float = 1.0
    pose_times: Sequence[float] = ()
    requests: int = 0
    refused_requests: int = 0
    targets: int = 0
    solved: int = 0
    request_times: Sequence[float] = ()
    waiting: int = 0


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
        "description hash": facts.hash or "none",
        "description refused": abridged(facts.refused) or "no",
        "lifecycle state": facts.state or "not managed",
        "device": facts.device,
        "kernels warm": "being compiled or loaded" if facts.loading else "yes" if facts.robot else "no",
        "joint_states messages": str(facts.messages),
        "joint_states rejected": str(facts.rejected),
        "joint_states rate [Hz]": f"{facts.rate:.1f}",
        "joint_states age [s]": age,
        "joint_states problem": abridged(facts.last_problem) or "none",
        "joints never seen": named(facts.missing) or "none",
        "joints stale": named(facts.stale) or "none",
        "joints outside limits": named(facts.outside) or "none",
        "joints unknown": named(facts.unknown) or "none",
        "time set back": str(facts.times_back),
        "pose time p50 p95 p99 [ms]": _milliseconds(facts.pose_times),
        "requests": str(facts.requests),
        "requests waiting": str(facts.waiting),
        "requests refused": str(facts.refused_requests),
        "targets": str(facts.targets),
        "targets solved [%]": f"{100.0 * facts.solved / facts.targets:.1f}" if facts.targets else "none",
        "request time p50 p95 p99 [ms]": _milliseconds(facts.request_times),
    }
    return Diagnosis(level, message, values)


def _milliseconds(times: Sequence[float]) -> str:
    return " ".join(f"{1e3 * time:.2f}" for time in times) or "none"


def named(names: Sequence[str], most: int = 20) -> str:
    """List names, the first few of many, none longer than a line."""
    shown = ", ".join(abridged(name, 80) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def abridged(text: str, most: int = 300) -> str:
    """Cut a text that a stranger chose to a length that a log bears."""
    return text if len(text) <= most else f"{text[:most]}..."


def _verdict(facts: Facts, now: float) -> tuple[Level, str]:
    if not facts.robot:
        if facts.notes:
            return Level.ERROR, abridged("; ".join(facts.notes))
        if facts.state == "unconfigured" and not facts.refused:
            return Level.WARN, "unconfigured: configure it to read a robot_description"
        if facts.refused:
            return Level.ERROR, f"waiting for a robot_description that is right; the latest: {abridged(facts.refused)}"
        if facts.loading:
            return Level.WARN, "reading the robot_description and warming up"
        return Level.WARN, "waiting for a robot_description (parameter, or latched topic)"
    if facts.state not in ("", "active"):
        return Level.WARN, f"{facts.state}, with {facts.robot}: activate it to serve"
    serving = f"serving {facts.robot}"
    if facts.refused:
        return Level.WARN, f"{serving}; a newer description was refused: {abridged(facts.refused)}"
    if facts.notes:
        return Level.WARN, f"{serving}; {abridged('; '.join(facts.notes))}"
    if facts.columns and facts.last_message is None:
        return Level.WARN, f"{serving}; waiting for joint_states"
    if facts.missing:
        return Level.WARN, f"{serving}; joints never seen in joint_states: {named(facts.missing)}"
    if facts.columns and now - facts.last_message > facts.stale_after:
        return Level.WARN, f"{serving}; joint_states have stopped"
    if facts.stale:
        return Level.WARN, f"{serving}; joints no longer heard of: {named(facts.stale)}"
    if facts.outside:
        return Level.WARN, f"{serving}; joints outside their limits: {named(facts.outside)}"
    if facts.unknown:
        return Level.OK, f"{serving}; joint_states name joints it does not have: {named(facts.unknown)}"
    return Level.OK, serving
