"""XML text to a tree of plain elements, each with its line and its file: the reading that all formats share.

lxml reads, as events (its target interface): no second tree is built, and libxml2 does not stop at 2048 nested
elements, which an arm in MJCF may pass. Two things its events don't tell: in which line an element begins, and how its
names were written, prefixes included. Both are looked up in the text: its next start tag is that of the next event.

What an attacker may send: a document type that declares something is refused before lxml sees it, so nothing expands;
no file and no connection is opened; depth and number of elements are bounded; nothing here recurses.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from sys import intern
from typing import Final

from lxml import etree

from ..errors import ParseError
from .markup import (
    attributes_as_written,
    has_prefixed_attributes,
    missing_declarations,
    refuse_declarations,
    start_tags,
    unfinished_markup,
)
from .text import decode, line_at

MAX_DEPTH: Final = 20_000
MAX_ELEMENTS: Final = 500_000  # about 300 MB

_CHUNK: Final = 1 << 18  # characters handed to lxml at a time: it copies them


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
    refuse_declarations(text, source)
    builder = _Builder(text, source)
    parser = etree.XMLParser(
        target=builder, encoding="utf-8", huge_tree=True, resolve_entities=False, no_network=True, load_dtd=False
    )
    try:
        for chunk in builder.chunks():
            parser.feed(chunk.encode())
            builder.refuse_errors(parser.feed_error_log)
        parser.close()
    except etree.XMLSyntaxError as error:
        builder.refuse_errors(parser.feed_error_log)
        raise builder.explain(error.msg, error.lineno, 0) from None
    builder.refuse_errors(parser.feed_error_log)
    assert builder.root is not None, "lxml reports a document without an element"
    return builder.root


class _Builder:
    """Collects the events of lxml into a tree."""

    def __init__(self, document: str, source: str) -> None:
        self.document = document
        self.source = source
        self.root: Element | None = None
        self.open: list[Element] = []
        self.texts: list[list[str]] = []  # of the open elements
        self.count = 0
        self.start_tags = start_tags(document)
        self.position = 0  # of the last start tag
        self.line = 1
        self.has_prefixed_attributes = has_prefixed_attributes(document)
        self.declarations_at, self.declarations = missing_declarations(document)

    def chunks(self) -> Iterator[str]:
        """Give the document piece by piece, with a declaration in its root of each prefix that has none."""
        text = self.document
        if self.declarations:
            text = text[: self.declarations_at] + self.declarations + text[self.declarations_at :]
        for begin in range(0, len(text), _CHUNK):
            yield text[begin : begin + _CHUNK]

    def start(self, _tag: str, attributes: Mapping[str, str], namespaces: Mapping[str, str]) -> None:
        match = next(self.start_tags)
        position = match.start()
        self.line += self.document.count("\n", self.position, position)
        self.position = position
        if namespaces or self.has_prefixed_attributes:
            attributes = attributes_as_written(self.document, match.end(), attributes, namespaces)
        element = Element(intern(match[1]), attributes or {}, self.line, self.source, [], "")
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)
        self.texts.append([])
        self.count += 1
        if self.count > MAX_ELEMENTS or len(self.open) > MAX_DEPTH:
            raise self._too_large()

    def end(self, _tag: str) -> None:
        self.open.pop().text = "".join(self.texts.pop())

    def data(self, text: str) -> None:
        self.texts[-1].append(text)

    def close(self) -> None:
        """Do what lxml asks for at the end and after errors: nothing."""

    def _too_large(self) -> ParseError:
        what = f"more than {MAX_ELEMENTS} elements"
        if len(self.open) > MAX_DEPTH:
            what = f"elements nested deeper than {MAX_DEPTH}"
        return ParseError(what, line=self.line, source=self.source)

    def refuse_errors(self, log: etree._ListErrorLog) -> None:
        """Raise the first error that lxml logged.

        It raises only some of them by itself: after an error of namespaces libxml2 reads on, and may miss others.
        """
        error = next(iter(log.filter_from_errors()), None)
        if error is not None:
            raise self.explain(_abridged(error.message.partition("\n")[0]), error.line, error.column)

    def explain(self, reason: str, line: int, column: int) -> ParseError:
        """Say what is wrong with the XML, which text is there and which element is open."""
        near = self._near(line, column)
        unfinished = unfinished_markup(self.document, self.position)
        if unfinished is not None and line == line_at(self.document, len(self.document)):
            line = line_at(self.document, unfinished)
            near = self.document[unfinished : unfinished + 60].partition("\n")[0]
        if self.open:
            context = f"inside <{self.open[-1].label}> opened in line {self.open[-1].line}"
        elif self.root is not None:
            context = f"after the end of <{self.root.label}>"
        else:
            context = f"an XML document begins with <, this one with {_abridged(self.document.lstrip(), 40)!r}"
            if self.document.strip().lower().endswith((".urdf", ".sdf", ".xml", ".xacro", ".mjcf", ".world")):
                context += "; to read a file of that name, use pk_core.load"
        there = f" near {near!r}" if near else ""
        return ParseError(f"not well-formed XML: {reason}{there}; {context}", line=line, source=self.source)

    def _near(self, line: int, column: int) -> str:
        if self.declarations and line == line_at(self.document, self.declarations_at):
            column -= len(self.declarations)
        text = self.document.split("\n", line)[line - 1]
        return text[max(0, column - 40) : max(0, column) + 20].strip()


def _other_case(name: str, names: dict[str, str]) -> str:
    """Hint at a name that differs in upper and lower case only."""
    for other in names:
        if other.lower() == name.lower():
            return f"; {other!r} is not {name!r}: upper and lower case matter"
    return ""


def _abridged(text: str, most: int = 80) -> str:
    return text if len(text) <= most else f"{text[:most]}..."
