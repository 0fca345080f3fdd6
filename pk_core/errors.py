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
        close = _close_names(str(name), names)
        hint = f"did you mean {close}?" if close else f"valid: {_abridged(names)}"
        super().__init__(f"unknown {kind} {_shortened(name)!r}{f' in {where}' if where else ''}; {hint}")

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


class UnknownReference(PkError, ValueError):
    """A reference of velocities that there is not; the message lists those that there are."""


class UnsupportedError(PkError, NotImplementedError):
    """Something pk knows of but does not do; the message names it."""


class IKFailed(PkError, RuntimeError):
    """Raised by `IKResult.raise_if_failed` where a target has no converged solution."""


def _close_names(name: str, names: list[str], most: int = 500, longest: int = 100) -> list[str]:
    # Long names and tens of thousands take too long to compare letter by letter: of many, only those are compared that
    # begin and end most alike, as after a slip or two.
    if len(name) > longest:
        return []
    likely = [other for other in names if len(other) <= longest]
    if len(likely) > most:
        likely.sort(key=lambda other: _common(name, other) + _common(name[::-1], other[::-1]), reverse=True)
    return difflib.get_close_matches(name, likely[:most], n=3)


def _common(one: str, other: str) -> int:
    """Count the letters that two names begin with alike."""
    return next((i for i, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))


def _abridged(names: list[str], most: int = 20) -> str:
    shown = [_shortened(name) for name in names[:most]]
    return str(shown) if len(names) <= most else f"{shown} and {len(names) - most} more"


def _shortened(name: object, longest: int = 100) -> object:
    return f"{name[:longest]}..." if isinstance(name, str) and len(name) > longest else name
