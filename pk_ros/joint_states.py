"""What is known of the joints: joint_states messages merged by name. Plain data, no rclpy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

_MOST_LAYOUTS = 64  # a message's list of names is looked up once; a sender that changes it forever must not fill memory
_MOST_POSITION = 1e6  # [rad] or [m]; beyond it a number is no position of a joint
_JUMP = (
    10**9
)  # [ns]; stamps that go back by more mean that time was set back, by less that messages overtook each other


@dataclass(frozen=True)
class JointSnapshot:
    """The joints at one instant; not written to by anyone.

    Attributes:
        q: (nq,) latest coordinates, the neutral ones where nothing was seen [rad] or [m].
        seen: (nq,) which coordinates are known.
    """

    q: np.ndarray
    seen: np.ndarray


@dataclass(frozen=True)
class Merge:
    """What became of one message.

    Attributes:
        used: how many coordinates it gave.
        problem: why some or all of it was left out, empty if nothing was.
        time_went_back: its stamp is so much older than the latest that time must have been set back.
    """

    used: int
    problem: str = ""
    time_went_back: bool = False


@dataclass(frozen=True)
class _Layout:
    """Where the entries of a message go: `q[columns] = position[entries]`, `v[rates] = velocity[rate_entries]`."""

    columns: np.ndarray
    entries: np.ndarray
    rates: np.ndarray
    rate_entries: np.ndarray
    problem: str


class JointTable:
    """The latest coordinate of every joint, and which were ever seen.

    Attributes:
        q: (nq,) latest coordinates [rad] or [m].
        seen: (nq,) bool; what was seen once stays seen.
        v: (nv,) latest velocities [rad/s] or [m/s].
        moving: (nq,) bool, the coordinates whose velocity came with their latest position.
        unknown: names of messages that the robot does not have.
    """

    def __init__(
        self,
        columns: Sequence[str],
        neutral: np.ndarray,
        silent: Iterable[str] = (),
        rates: np.ndarray | None = None,
        nv: int | None = None,
    ) -> None:
        """Start with nothing seen.

        Args:
            columns: names of the coordinates, in order.
            neutral: (nq,) coordinates to stand in for those never seen.
            silent: joints of the robot that are no coordinate (mimics, fixed joints): skipped without a word.
            rates: (nq,) which of the nv velocities is the rate of each coordinate, -1 for parts of a quaternion's joint;
                None: each is its own.
        """
        self.q = np.array(neutral, dtype=np.float64)
        self.unknown: set[str] = set()
        self._neutral = self.q.copy()
        self._rates = np.arange(len(self.q)) if rates is None else rates
        self.v = np.zeros(len(self.q) if nv is None else nv)
        self._columns = {name: column for column, name in enumerate(columns)}
        self._silent = frozenset(silent)
        self._layouts: dict[tuple[str, ...], _Layout] = {}
        self.forget()

    def forget(self) -> None:
        """Start anew, with nothing seen."""
        n = len(self.q)
        self.q[:], self.v[:] = self._neutral, 0.0
        self.seen, self.moving = np.zeros(n, dtype=bool), np.zeros(n, dtype=bool)
        self._stamps = np.full(n, np.iinfo(np.int64).min)
        self._heard = np.full(n, -np.inf)
        self.unknown.clear()

    def forget_time(self) -> None:
        """Take stamps of any age again: the clock was set back."""
        self._stamps[:] = np.iinfo(np.int64).min

    def merge(
        self,
        names: Sequence[str],
        position: Sequence[float] | np.ndarray,
        velocity: Sequence[float] | np.ndarray = (),
        *,
        stamp: int | None = None,
        now: float = 0.0,
    ) -> Merge:
        """Take what one message says. Entries that can't be right or are not of the robot are left out, the rest counts.

        A message whose names and positions differ in number says nothing that can be trusted: all of it is left out.

        Args:
            velocity: one for each name, or none.
            stamp: of the message [ns]; coordinates that are known from a later one are left out. None: whatever its age.
            now: when it came, on a monotonic clock [s].
        """
        if len(names) != len(position):
            return Merge(0, f"{len(names)} names but {len(position)} positions")
        if not names:
            return Merge(0, "no joints at all")
        layout = self._layouts.get(tuple(names)) or self._learn(tuple(names))
        columns, values = layout.columns, np.asarray(position, dtype=np.float64)[layout.entries]
        good = np.abs(values) <= _MOST_POSITION
        problem, went_back = layout.problem, False
        if not good.all():
            problem = f"not positions of joints: {_told(names, layout.entries, values, ~good)}"
        if stamp is not None and len(columns) and stamp < (newest := self._stamps[columns].max()):
            if went_back := bool(newest - stamp > _JUMP):
                self.forget_time()
            else:
                good = good & (self._stamps[columns] <= stamp)
                problem = problem or f"older than what is known by {(newest - stamp) * 1e-9:.3g} s"
        if not good.all():
            columns, values = columns[good], values[good]
        self.put(columns, values, stamp=stamp, now=now)
        return Merge(len(columns), self._merge_rates(layout, columns, names, velocity) or problem, went_back)

    def put(
        self, columns: np.ndarray | slice, values: Sequence[float] | np.ndarray, *, stamp: int | None, now: float
    ) -> None:
        """Set coordinates as seen now, and as not known to move."""
        self.q[columns] = values
        self.seen[columns], self.moving[columns] = True, False
        self._heard[columns] = now
        if stamp is not None:
            self._stamps[columns] = stamp

    def missing(self) -> list[str]:
        """Name the coordinates never seen, in the robot's order."""
        return [name for name, column in self._columns.items() if not self.seen[column]]

    def is_stale(self, now: float, after: float) -> np.ndarray:
        """Say which coordinates (nq,) were seen, but not since a time [s] before now."""
        return self.seen & (now - self._heard > after)

    def named(self, mask: np.ndarray) -> list[str]:
        """Name the coordinates of a mask (nq,)."""
        return [name for name, column in self._columns.items() if mask[column]]

    def snapshot(self, known: np.ndarray | None = None) -> JointSnapshot:
        """Copy the present state; `known` (nq,) in place of what was ever seen."""
        return JointSnapshot(self.q.copy(), (self.seen if known is None else known).copy())

    def _merge_rates(
        self, layout: _Layout, columns: np.ndarray, names: Sequence[str], velocity: Sequence[float] | np.ndarray
    ) -> str:
        if not len(velocity):
            return ""
        if len(velocity) != len(names):
            return f"{len(names)} names but {len(velocity)} velocities"
        values = np.asarray(velocity, dtype=np.float64)[layout.rate_entries]
        if not np.isfinite(values).all():
            return f"velocities that are not finite: {_told(names, layout.rate_entries, values, ~np.isfinite(values))}"
        self.v[layout.rates] = values
        self.moving[columns] = self._rates[columns] >= 0
        return ""

    def _learn(self, names: tuple[str, ...]) -> _Layout:
        # of a name given twice the last counts
        known = {name: entry for entry, name in enumerate(names) if name in self._columns}
        unknown = tuple(name for name in names if name not in self._columns and name not in self._silent)
        columns = np.array([self._columns[name] for name in known], dtype=np.intp)
        entries = np.array(list(known.values()), dtype=np.intp)
        has_rate = self._rates[columns] >= 0
        layout = _Layout(
            columns=columns,
            entries=entries,
            rates=self._rates[columns][has_rate],
            rate_entries=entries[has_rate],
            problem=_problem(names, unknown),
        )
        if len(self._layouts) >= _MOST_LAYOUTS:
            self._layouts.clear()
        self._layouts[names] = layout
        self._remember(unknown)
        return layout

    def _remember(self, unknown: tuple[str, ...]) -> None:
        room = _MOST_LAYOUTS - len(self.unknown)
        self.unknown.update(unknown[: max(room, 0)])


def _problem(names: tuple[str, ...], unknown: tuple[str, ...]) -> str:
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1}) if len(names) < 1000 else []
        return f"joints named more than once, of which the last counts: {twice or 'many'}"
    return f"unknown joints {list(unknown)}" if unknown else ""


def _told(names: Sequence[str], entries: np.ndarray, values: np.ndarray, mask: np.ndarray) -> str:
    told = [f"{names[entry]} = {value:g}" for entry, value in zip(entries[mask], values[mask])]
    return ", ".join(told[:10]) + (f" and {len(told) - 10} more" if len(told) > 10 else "")
