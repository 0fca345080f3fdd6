"""Look up in the text of an XML document what lxml's events don't tell: start tags, names as written, declarations."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Final

from ..errors import ParseError
from .text import line_at

MAX_UNDECLARED_PREFIXES: Final = 100

_DECLARATION = re.compile(r"<!(ENTITY|ATTLIST|ELEMENT|NOTATION)\b[\s%]*([^\s>]*)")
_ENTITY = re.compile(r"""[&%](?!(?:amp|lt|gt|quot|apos);)[^\s#&%;<>"']+;""")

# What may hold a < that begins no element comes first. What does not end goes on to the end of the text: so searching
# takes linear time, and lxml refuses it.
_QUOTED = r"""(?:"[^"]*(?:"|\Z)|'[^']*(?:'|\Z))"""
_MARKUP = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)"
    rf"|<!DOCTYPE(?:[^\"'>\[]+|{_QUOTED}){{0,9}}|<([^\s/>!?]+)",
    re.DOTALL | re.ASCII,
)
_ENDS = ("-->", "]]>", "?>")
_ATTRIBUTE = re.compile(rf"\s+([^\s=]+)\s*=\s*({_QUOTED})", re.ASCII)
_PREFIXED_ELEMENT = re.compile(r"<([A-Za-z_][\w.-]*):", re.ASCII)
_PREFIXED_ATTRIBUTE = re.compile(r"""\s(?!xmlns:)([^\s:=<>"'/]+):[^\s:=<>"'/]+\s*=\s*["']""", re.ASCII)
_PREFIX = re.compile(r"(?!xml(?:ns)?$)[A-Za-z_][\w.-]*", re.ASCII)


def start_tags(text: str) -> Iterator[re.Match[str]]:
    """Find the start tags of a document in order; a match begins at the bracket and ends with the name, its group 1."""
    for match in _MARKUP.finditer(text):
        if match[1] is not None:
            yield match


def unfinished_markup(text: str, position: int) -> int | None:
    """Give where the comment, CDATA section or processing instruction begins that has no end, if there is one."""
    last = next(iter(deque(_MARKUP.finditer(text, position), maxlen=1)), None)
    if last is None or last[1] is not None or last.end() < len(text) or last[0].endswith(_ENDS):
        return None
    return last.start()


def refuse_declarations(text: str, source: str) -> None:
    """Refuse a document type that declares anything; and entities, which libxml2 may drop beside a document type."""
    if "<!DOCTYPE" not in text:
        return
    found = _DECLARATION.search(text)
    if found is not None:
        kind = {"ENTITY": "entity", "ATTLIST": "attributes of", "ELEMENT": "element", "NOTATION": "notation"}[found[1]]
        what = f"the document type declares {kind} {found[2][:80]!r}: no declarations are read"
    else:
        found = _ENTITY.search(text)
        if found is None:
            return
        what = f"entity {found[0][:80]!r}: entities are refused, except &amp; &lt; &gt; &quot; &apos;"
    raise ParseError(what, line=line_at(text, found.start()), source=source)


def has_prefixed_attributes(text: str) -> bool:
    """Tell whether an attribute has a prefix, declarations of namespaces aside."""
    return _PREFIXED_ATTRIBUTE.search(text) is not None


def missing_declarations(text: str) -> tuple[int, str]:
    """Give the declarations of prefixes that the root of a document lacks, and where in its start tag they go.

    Many a robot has a `<sensor:camera>` without one, and libxml2 calls that an error.
    """
    prefixes: dict[str, None] = {}  # in order
    for pattern in (_PREFIXED_ELEMENT, _PREFIXED_ATTRIBUTE):
        prefixes |= dict.fromkeys(match[1] for match in pattern.finditer(text) if _PREFIX.fullmatch(match[1]))
    root = next(start_tags(text), None) if prefixes else None
    if root is None:
        return 0, ""
    declared = {name.removeprefix("xmlns:") for name in attribute_spans(text, root.end()) if name.startswith("xmlns:")}
    missing = [prefix for prefix in prefixes if prefix not in declared][:MAX_UNDECLARED_PREFIXES]
    return root.end(), "".join(f' xmlns:{prefix}="urn:{prefix}"' for prefix in missing)


def attributes_as_written(
    text: str, position: int, attributes: Mapping[str, str], namespaces: Mapping[str, str]
) -> dict[str, str]:
    """Give attributes under their names in the text, declarations of namespaces among them.

    Args:
        text: the document.
        position: the end of the element's name in its start tag.
        attributes: as lxml gives them, in the order of the text, namespaces in place of prefixes.
        namespaces: URIs by prefix that the start tag declares, as lxml gives them.
    """
    values = iter(attributes.values())
    uris = {f"xmlns:{prefix}" if prefix else "xmlns": uri for prefix, uri in namespaces.items()}
    written = {}
    for name in attribute_spans(text, position):
        is_namespace = name == "xmlns" or name.startswith("xmlns:")
        # Where one is missing lxml has logged an error, and the document will be refused.
        written[name] = uris.get(name) or "" if is_namespace else next(values, "")
    return written


def attribute_spans(text: str, position: int) -> dict[str, tuple[int, int]]:
    """Give where the values of the attributes stand between their quotes, by name in order.

    Args:
        position: the end of the element's name in its start tag.
    """
    spans: dict[str, tuple[int, int]] = {}
    while match := _ATTRIBUTE.match(text, position):
        position = match.end()
        spans[match[1]] = (match.start(2) + 1, position - 1)
    return spans
