"""Read descriptions in the background: parsing and compiling take seconds in which the node must go on. No rclpy."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pk_core as pk

from .served_model import ServedModel, read_model, warm_up


@dataclass(frozen=True)
class Outcome:
    """What became of a description.

    Attributes:
        source: where it came from, in words.
        model: ready to serve, None where it could not be read.
        reason: why not.
    """

    source: str
    model: ServedModel | None = None
    reason: str = ""


class DescriptionReader:
    """Turns texts into models, one after the other, on a thread of its own."""

    def __init__(self, device: str, wake: Callable[[], None]) -> None:
        """Start.

        Args:
            device: where the models compute.
            wake: called on the reading thread when there is something to `take`.
        """
        self._device = device
        self._wake = wake
        self._latest = ""
        self._asked = self._taken = 0
        self._outcomes: deque[Outcome] = deque()
        self._thread = ThreadPoolExecutor(1, "pk_reader")

    @property
    def busy(self) -> bool:
        """Whether a description is on its way."""
        return self._asked > self._taken

    def offer(self, text: str, source: str) -> None:
        """Read a text, unless it is the one offered last: sent again it changes nothing."""
        if text != self._latest:
            self._latest = text
            self._asked += 1
            self._thread.submit(self._read, text, source)

    def take(self) -> list[Outcome]:
        """Give what has been read since, in the order of the offers."""
        outcomes = [self._outcomes.popleft() for _ in range(len(self._outcomes))]
        self._taken += len(outcomes)
        return outcomes

    def close(self) -> None:
        """Begin nothing more; what is being read is not waited for."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _read(self, text: str, source: str) -> None:
        try:
            model = read_model(text, self._device)
            warm_up(model)
            self._outcomes.append(Outcome(source, model))
        except pk.PkError as error:
            self._outcomes.append(Outcome(source, reason=str(error)))
        except Exception as error:  # whatever it is, the node goes on with the model it has, and tells
            self._outcomes.append(Outcome(source, reason=f"{type(error).__name__}: {error}"))
        self._wake()
