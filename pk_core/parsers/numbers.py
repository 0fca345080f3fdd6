"""Numbers in descriptions: as C reads them in its own locale, and nothing more that Python's float() would take."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from ..errors import ParseError
from .xml import Element

# re.ASCII: float() also takes full-width digits, and underscores, which no other program does.
_DECIMAL = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_INFINITE = re.compile(r"[+-]?inf(?:inity)?", re.IGNORECASE)


def number(element: Element, attribute: str, default: float | None = None, *, infinite: bool = False) -> float:
    """Read one number from an attribute.

    Args:
        default: the value where the attribute is missing; None if it has to be there.
        infinite: whether inf and -inf are valid.

    Raises:
        ParseError: missing without a default, or no number.
    """
    if default is not None and attribute not in element.attributes:
        return default
    return numbers(_written(element, attribute), element, attribute, size=1, infinite=infinite)[0]


def vector(
    element: Element, attribute: str, size: int = 3, default: Sequence[float] | None = None
) -> tuple[float, ...]:
    """Read numbers separated by blanks, tabs or line ends from an attribute; raises ParseError as `number` does."""
    if default is not None and attribute not in element.attributes:
        return tuple(default)
    return numbers(_written(element, attribute), element, attribute, size=size)


def numbers(
    text: str, element: Element, what: str, *, size: int | None = None, infinite: bool = False
) -> tuple[float, ...]:
    """Read the numbers of a text that stands in an element.

    Args:
        what: names the text in errors: its attribute, or its element's tag.
        size: how many there must be; None for any number of them.

    Raises:
        ParseError: not so many, or something that is no number.
    """
    # All blanks of str.split() that XML allows are XML's own, if the text is ASCII; no other text holds numbers.
    values = [_number(word, text, element, what, infinite) for word in (text.split() if text.isascii() else [text])]
    if size is not None and len(values) != size:
        need = "1 number" if size == 1 else f"{size} numbers separated by blanks"
        raise element.error(f"{what} takes {need}, found {len(values)}: {_quoted(text)}")
    return tuple(values)


def _written(element: Element, attribute: str) -> str:
    return element.attributes[attribute] if attribute in element.attributes else element.required(attribute)


def _number(word: str, text: str, element: Element, what: str, infinite: bool) -> float:
    if not _DECIMAL.fullmatch(word) and not (infinite and _INFINITE.fullmatch(word)):
        raise _no_number(word, text, element, what)
    value = float(word)
    if math.isinf(value) and not infinite:
        raise element.error(f"{what}: {_quoted(word)} is too large for a float64")
    return value


def _no_number(word: str, text: str, element: Element, what: str) -> ParseError:
    whole = f" in {_quoted(text)}" if text.strip() != word else ""
    if "${" in text or "$(" in text:
        return element.error(f"{what}: unexpanded xacro expression {_quoted(text)}; expand the file with xacro first")
    return element.error(f"{what}: {_quoted(word)}{whole} is no finite number; valid are such as 1, -0.5, 2.5e-3")


def _quoted(text: str, most: int = 60) -> str:
    return repr(text if len(text) <= most else f"{text[:most]}...")
