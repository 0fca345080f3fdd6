"""XML text to a tree of plain elements, each with its line and its file: the reading that all formats share.

The parser is the expat of Python's own library. lxml would not do: its libxml2 (2.14 was tried) stops at 2048 nested
elements whatever its options, and MJCF nests a body for each link of an arm; its line numbers are wrong above 65535;
and it refuses the undeclared prefixes of many a robot's `<sensor:camera>`.

What an attacker may send: a document that declares an entity or a default attribute is refused at the declaration, so
nothing expands; expat opens no file and no connection; depth and number of elements are bounded; nothing here recurses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

from ..errors import ParseError
from .text import decode

MAX_DEPTH: Final = 20_000
MAX_ELEMENTS: Final = 500_000  # about 200 MB

_ENTITY = re.compile(r"""[&%](?!(?:amp|lt|gt|quot|apos);)[^\s#&%;<>"']+;""")


@dataclass(eq=False, repr=False)
class Element:
    """One XML element.

    Attributes:
        tag: as written, prefix included (`sensor:camera`).
        attributes: as written, in order.
        line: where its start tag begins, from 1.
        source: the file it stands in, "" if unknown.
        text: the characters directly in it, those between children included.
    """

    __slots__ = ("attributes", "children", "line", "source", "tag", "text")
    tag: str
    attributes: dict[str, str]
    line: int
    source: str
    children: list[Element]
    text: str

    def __repr__(self) -> str:
        return f"<{self.label} line {self.line}>"

    @property
    def label(self) -> str:
        """Name the element for a reader: its tag, and its name where it has one."""
        name = self.attributes.get("name")
        return self.tag if name is None else f'{self.tag} name="{_abridged(name)}"'

    def error(self, message: str) -> ParseError:
        """Build, for the caller to raise, an error that says where this element stands."""
        return ParseError(message, line=self.line, element=self.label, source=self.source)

    def get(self, attribute: str, default: str | None = None) -> str | None:
        """Give an attribute as written, or the default."""
        return self.attributes.get(attribute, default)

    def required(self, attribute: str) -> str:
        """Give an attribute that must be there and not be empty; raises ParseError."""
        value = self.attributes.get(attribute)
        if value:
            return value
        if value == "":
            raise self.error(f"attribute {attribute!r} is empty")
        raise self.error(f"attribute {attribute!r} is missing{_other_case(attribute, self.attributes)}")

    def all(self, tag: str) -> list[Element]:
        """Give the children with a tag, in order."""
        return [child for child in self.children if child.tag == tag]

    def child(self, tag: str) -> Element | None:
        """Give the only child with a tag, None without one.

        Raises:
            ParseError: there are several and they differ, so that one would have to be ignored.
        """
        found = self.all(tag)
        for other in found[1:]:
            if other.attributes != found[0].attributes or other.text.split() != found[0].text.split():
                raise other.error(f"a second <{tag}> in <{self.label}>, unlike the first in line {found[0].line}")
        return found[0] if found else None

    def walk(self) -> Iterator[Element]:
        """Visit this element and all below it in the order of the document."""
        stack = [self]
        while stack:
            element = stack.pop()
            yield element
            stack.extend(reversed(element.children))


def parse_xml(data: str | bytes, *, source: str = "") -> Element:
    """Read a document and give its root element.

    Args:
        data: text (any encoding declaration in it is ignored) or bytes (UTF-8 unless they say otherwise).
        source: name of the file, for errors.

    Raises:
        ParseError: not well-formed, in a wrong encoding, too deep or too large, or it declares entities.
    """
    text = decode(data, source)
    builder = _Builder(text, source)
    try:
        builder.parser.Parse(text, True)
    except expat.ExpatError as error:
        raise builder.explain(error) from None
    assert builder.root is not None, "expat reports a document without an element"
    return builder.root


@dataclass
class _Builder:
    """Collects the events of expat into a tree."""

    document: str
    source: str
    root: Element | None = None
    open: list[Element] = field(default_factory=list)
    texts: list[list[str]] = field(default_factory=list)
    count: int = 0

    def __post_init__(self) -> None:
        self.parser = parser = expat.ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._characters
        parser.EndDoctypeDeclHandler = self._end_doctype
        parser.EntityDeclHandler = self._refuse_entity
        parser.AttlistDeclHandler = self._refuse_default

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if len(self.open) >= MAX_DEPTH:
            raise self._error(f"elements nested deeper than {MAX_DEPTH}")
        if self.count > MAX_ELEMENTS:
            raise self._error(f"more than {MAX_ELEMENTS} elements")
        element = Element(tag, attributes, self.parser.CurrentLineNumber, self.source, [], "")
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        self.texts.append([])

    def _end(self, _tag: str) -> None:
        self.open.pop().text = "".join(self.texts.pop())

    def _characters(self, text: str) -> None:
        self.texts[-1].append(text)

    def _end_doctype(self) -> None:
        # With a document type expat would drop an entity that it does not know without a word.
        entity = _ENTITY.search(self.document)
        if entity is not None:
            raise self._error(f"entity {entity.group()!r}: entities are refused, except &amp; &lt; &gt; &quot; &apos;")

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise self._error(f"the document type declares entity {name!r}: entities are refused")

    def _refuse_default(self, element: str, attribute: str, *_: object) -> None:
        raise self._error(f"the document type declares attribute {attribute!r} of <{element}>: write it there")

    def _error(self, message: str) -> ParseError:
        return ParseError(message, line=self.parser.CurrentLineNumber, source=self.source)

    def explain(self, error: expat.ExpatError) -> ParseError:
        """Say what is wrong with the XML, which text is there and which element is open."""
        reason = expat.ErrorString(error.code).removeprefix("not well-formed ").strip("()")
        there = self.document.encode()[self.parser.ErrorByteIndex :][:40].decode(errors="ignore").partition("\n")[0]
        near = f" at {there!r}" if there else ""
        if self.open:
            context = f"; inside <{self.open[-1].label}> opened in line {self.open[-1].line}"
        elif self.root is not None:
            context = f"; after the end of <{self.root.label}>"
        else:
            context = f"; an XML document begins with <, this one with {_abridged(self.document.lstrip(), 40)!r}"
        return ParseError(f"not well-formed XML: {reason}{near}{context}", line=error.lineno, source=self.source)


def _other_case(name: str, names: dict[str, str]) -> str:
    """Hint at a name that differs in upper and lower case only."""
    for other in names:
        if other.lower() == name.lower():
            return f"; {other!r} is not {name!r}: upper and lower case matter"
    return ""


def _abridged(text: str, most: int = 80) -> str:
    return text if len(text) <= most else f"{text[:most]}..."
