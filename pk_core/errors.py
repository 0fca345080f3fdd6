"""The errors of pk: each says what is wrong, where, and what would be valid."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class PkError(Exception):
    """Base of every error that pk raises on purpose."""


class ParseError(PkError, ValueError):
    """A robot description can't be read: says what, and where (file, line, element)."""

    def __init__(self, message: str, *, line: int | None = None, element: str = "", source: str = "") -> None:
        self.reason = message
        self.line = line
        self.element = element
        self.source = source
        place = [source] if source else []
        if line is not None:
            place.append(f"line {line}")
        if element:
            place.append(f"<{element}>")
        super().__init__(f"{', '.join(place)}: {message}" if place else message)


class ModelError(ParseError):
    """A robot that was read is not a proper tree: two roots, a cycle, a name used twice..."""


class UnknownName(PkError, KeyError):
    """A name that the robot does not have; the message lists close or valid names."""

    def __init__(self, kind: str, name: object, valid: Iterable[str], where: str = "") -> None:
        names = list(valid)
        close = difflib.get_close_matches(str(name), names, n=3)
        hint = f"did you mean {close}?" if close else f"valid: {_abridged(names)}"
        super().__init__(f"unknown {kind} {name!r}{f' in {where}' if where else ''}; {hint}")

    def __str__(self) -> str:  # KeyError would show the repr of the message
        return str(self.args[0])


class UnknownLink(UnknownName):
    """A link or frame that the robot does not have."""


class UnknownJoint(UnknownName):
    """A joint that the robot does not have."""


class ShapeError(PkError, ValueError):
    """An argument has the wrong shape; the message names the argument and the shape it should have."""


class TensorTypeError(PkError, TypeError):
    """A tensor of another dtype or device than the chain's; the message names the `.to(...)` that cures it."""


class UnsupportedError(PkError, NotImplementedError):
    """Something pk knows of but does not do; the message names it."""


class IKFailed(PkError, RuntimeError):
    """Raised by `IKResult.raise_if_failed` where a target has no converged solution."""


def _abridged(names: list[str], most: int = 20) -> str:
    return str(names) if len(names) <= most else f"{names[:most]} and {len(names) - most} more"
