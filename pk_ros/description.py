"""Read descriptions in the background: parsing and compiling take seconds in which the node must go on. No rclpy."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pk_core as pk

from .served_model import ServedModel, read_model, warm_up

MOST_CHARACTERS = 32 * 2**20
"""A longer description is refused: no robot's is, and reading it would hold up the node."""


@dataclass(frozen=True)
class Description:
    """A text to be read, or the path of a file, in any format that pk reads.

    Attributes:
        content: the text; or the path, beside which the files that it includes may lie. A text may include none.
        source: where it came from, in words.
        device: where its model shall compute, as torch names it.
    """

    content: str | Path
    source: str
    device: str = "cpu"

    def read(self) -> ServedModel:
        """Read it into a model, which is not warm yet.

        Raises:
            PkError: why it can't be served.
        """
        try:
            text = self.content if isinstance(self.content, str) else _text_of(self.content)
        except (OSError, UnicodeDecodeError) as error:
            raise pk.ParseError(f"can't be read: {error}") from error
        if not text.strip():
            raise pk.ParseError("it is empty")
        if len(text) > MOST_CHARACTERS:
            raise pk.ParseError(f"it has more than {MOST_CHARACTERS} characters, the most that are read")
        path = self.content if isinstance(self.content, Path) else None
        return read_model(text, self.device, path)

    def problem(self) -> str:
        """Say why it can't be served, empty where it can."""
        try:
            self.read()
        except Exception as error:  # whatever it is, a description must not end the node
            return reason(error)
        return ""


def _text_of(path: Path) -> str:
    """Read a file, but no more than is taken: a pipe or a device may have no end."""
    if path.exists() and not path.is_file():
        raise OSError(f"{path} is no file")
    with path.open(encoding="utf-8-sig") as file:
        return file.read(MOST_CHARACTERS + 1)


@dataclass(frozen=True)
class Outcome:
    """What became of a description.

    Attributes:
        model: ready to serve, None where it could not be read.
        reason: why not.
    """

    description: Description
    model: ServedModel | None = None
    reason: str = ""


class DescriptionReader:
    """Turns descriptions into warm models on a thread of its own; of those that wait, the latest alone is read."""

    def __init__(self, wake: Callable[[], None]) -> None:
        """Start.

        Args:
            wake: called on the reading thread when there is something to `take`.
        """
        self._wake = wake
        self._lock = threading.Lock()
        self._latest: Description | None = None
        self._waiting: Description | None = None
        self._reading = False
        self._outcomes: list[Outcome] = []
        self._thread = ThreadPoolExecutor(1, "pk_reader")

    @property
    def busy(self) -> bool:
        """Whether a description is on its way."""
        with self._lock:
            return self._reading or self._waiting is not None or bool(self._outcomes)

    def offer(self, description: Description) -> None:
        """Read a description, unless it is the text offered last: sent again it changes nothing. A file is read anew."""
        with self._lock:
            if description == self._latest and isinstance(description.content, str):
                return
            self._latest = self._waiting = description
        self._thread.submit(self._read)

    def take(self) -> list[Outcome]:
        """Give what has been read since, in the order of the offers."""
        with self._lock:
            outcomes, self._outcomes = self._outcomes, []
        return outcomes

    def close(self) -> None:
        """Begin nothing more; what is being read is not waited for."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _read(self) -> None:
        with self._lock:
            description, self._waiting = self._waiting, None
            self._reading = description is not None
        if description is None:  # a call before this one has read the latest
            return
        outcome = make_ready(description)
        with self._lock:
            self._outcomes.append(outcome)
            self._reading = False
        self._wake()


def make_ready(description: Description) -> Outcome:
    """Read a description and warm its model up; raises nothing."""
    try:
        model = description.read()
        warm_up(model)
    except Exception as error:  # whatever it is, the node goes on with the model it has, and tells
        return Outcome(description, reason=reason(error))
    return Outcome(description, model)


def reason(error: Exception) -> str:
    """Say what went wrong: pk's own words, or what it was that nobody foresaw."""
    return str(error) if isinstance(error, pk.PkError) else f"{type(error).__name__}: {error}"
