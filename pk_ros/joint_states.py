"""What is known of the joints: joint_states messages merged by name. Plain data, no rclpy."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

_MOST_LAYOUTS = 64  # a message's list of names is looked up once; a sender that changes it forever must not fill memory


@dataclass(frozen=True)
class JointSnapshot:
    """The joints at one instant; not written to by anyone.

    Attributes:
        q: (nq,) latest coordinates, the neutral ones where nothing was seen [rad] or [m].
        seen: (nq,) which coordinates have been seen.
    """

    q: np.ndarray
    seen: np.ndarray


@dataclass(frozen=True)
class Merge:
    """What became of one message.

    Attributes:
        used: how many coordinates it gave.
        problem: why some or all of it was left out, empty if nothing was.
    """

    used: int
    problem: str = ""


@dataclass(frozen=True)
class _Layout:
    """Where the entries of a message go: `q[columns] = position[entries]`."""

    columns: np.ndarray
    entries: np.ndarray
    unknown: tuple[str, ...]


class JointTable:
    """The latest coordinate of every joint, and which were ever seen.

    Attributes:
        q: (nq,) latest coordinates [rad] or [m].
        seen: (nq,) bool; what was seen once stays seen.
        unknown: names of messages that the robot does not have.
    """

    def __init__(self, columns: Sequence[str], neutral: np.ndarray, silent: Iterable[str] = ()) -> None:
        """Start with nothing seen.

        Args:
            columns: names of the coordinates, in order.
            neutral: (nq,) coordinates to stand in for those never seen.
            silent: joints of the robot that are no coordinate (mimics, fixed joints): skipped without a word.
        """
        self.q = np.array(neutral, dtype=np.float64)
        self.seen = np.zeros(len(columns), dtype=bool)
        self.unknown: set[str] = set()
        self._columns = {name: column for column, name in enumerate(columns)}
        self._silent = frozenset(silent)
        self._layouts: dict[tuple[str, ...], _Layout] = {}

    def merge(self, names: Sequence[str], position: Sequence[float] | np.ndarray) -> Merge:
        """Take what one message says. Entries that are not finite or not of the robot are left out, the rest counts.

        A message whose names and positions differ in number says nothing that can be trusted: all of it is left out.
        """
        if len(names) != len(position):
            return Merge(0, f"{len(names)} names but {len(position)} positions")
        if not names:
            return Merge(0, "no joints at all")
        layout = self._layouts.get(tuple(names)) or self._learn(tuple(names))
        values = np.asarray(position, dtype=np.float64)[layout.entries]
        if np.isfinite(values).all():
            columns, problem = layout.columns, ""
        else:
            finite = np.isfinite(values)
            columns, values = layout.columns[finite], values[finite]
            problem = f"not finite: {[names[entry] for entry in layout.entries[~finite]]}"
        self.q[columns] = values
        self.seen[columns] = True
        return Merge(len(columns), problem or (f"unknown joints {list(layout.unknown)}" if layout.unknown else ""))

    def missing(self) -> list[str]:
        """Name the coordinates never seen, in the robot's order."""
        return [name for name, column in self._columns.items() if not self.seen[column]]

    def snapshot(self) -> JointSnapshot:
        """Copy the present state."""
        return JointSnapshot(self.q.copy(), self.seen.copy())

    def _learn(self, names: tuple[str, ...]) -> _Layout:
        # of a name given twice the last counts
        known = {name: entry for entry, name in enumerate(names) if name in self._columns}
        unknown = tuple(name for name in names if name not in self._columns and name not in self._silent)
        layout = _Layout(
            columns=np.array([self._columns[name] for name in known], dtype=np.intp),
            entries=np.array(list(known.values()), dtype=np.intp),
            unknown=unknown,
        )
        if len(self._layouts) >= _MOST_LAYOUTS:
            self._layouts.clear()
        self._layouts[names] = layout
        self._remember(unknown)
        return layout

    def _remember(self, unknown: tuple[str, ...]) -> None:
        room = _MOST_LAYOUTS - len(self.unknown)
        self.unknown.update(unknown[: max(room, 0)])
