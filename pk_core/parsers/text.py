"""Bytes or text of a description, in whatever encoding, to plain text without its XML declaration.

lxml could decode bytes by itself, but lines are counted in the text, `str` may declare any encoding, and libxml2
refuses two usual slips: US-ASCII that is UTF-8, and `<?xml version="0.0"?>`.
"""

from __future__ import annotations

import codecs
import re

from ..errors import ParseError

# Longest first: the mark of UTF-32 (little endian) begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_BARE_OPENINGS = ((b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))  # UTF-16 without a mark
_DECLARATION = re.compile(r"\s*<\?xml\s[^>]*\?>")
_DECLARED_ENCODING = re.compile(rb"""\s*<\?xml\s[^>]*?encoding\s*=\s*["']([A-Za-z][A-Za-z0-9._-]*)["']""")
# Python knows more codecs than are encodings of text (rot13, idna, unicode_escape): only these may be named by a file.
_TEXT_ENCODINGS = re.compile(r"utf|iso8859|latin|ascii|cp\d|koi8|mac|gb|big5|euc|shift_jis|hz|johab|tis|kz|ptcp")
_ALL_OF_ASCII = {"ascii": "utf-8"}  # UTF-8 holds US-ASCII, and such files often have a stray accent in a comment
_NO_CHARACTER = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # in XML 1.0


def decode(data: str | bytes, source: str = "") -> str:
    """Give the text of a description, its byte order mark and XML declaration removed, its lines kept and ended by LF.

    Args:
        data: text, whatever encoding it declares; or bytes in the encoding that their byte order mark or declaration
            says, UTF-8 without either.
        source: name of the file, for errors.

    Raises:
        ParseError: empty, not text in its encoding, or with characters that XML does not allow.
        TypeError: neither text nor bytes.
    """
    if isinstance(data, (bytes, bytearray, memoryview)):
        data = _decode_bytes(bytes(data), source)
    if not isinstance(data, str):
        raise TypeError(f"a description is str or bytes, not {type(data).__name__}")
    text = _with_lf(data.lstrip("\ufeff"))
    if not text or text.isspace():
        raise ParseError("empty: a description is an XML document", source=source)
    _refuse_no_characters(text, source)
    return _without_declaration(text)


def encoding_of(data: bytes, source: str = "") -> str:
    """Name the encoding of a description: as its byte order mark or declaration says, UTF-8 without either.

    Raises:
        ParseError: it declares one that Python does not know.
    """
    for mark, encoding in _BYTE_ORDER_MARKS + _BARE_OPENINGS:
        if data.startswith(mark):
            return encoding
    declared = _DECLARED_ENCODING.match(data[:1000])
    if declared is None:
        return "utf-8"
    name = declared.group(1).decode("ascii")
    try:
        known = codecs.lookup(name).name
    except LookupError:
        known = ""
    if not _TEXT_ENCODINGS.match(known) or known == "utf-7":
        raise ParseError(f"unknown encoding {name!r}; write the file in UTF-8", line=1, element="?xml", source=source)
    # Whoever declares UTF-16 in bytes that begin with plain `<?xml` has not written UTF-16.
    return "utf-8" if known.startswith(("utf-16", "utf-32")) else _ALL_OF_ASCII.get(known, known)


def line_at(text: str, position: int) -> int:
    """Give the line number, from 1, of a position in a text whose lines end with LF."""
    return text.count("\n", 0, position) + 1


def _with_lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _without_declaration(text: str) -> str:
    # Its version and encoding say nothing that matters any more (bullet3 writes version="0.0"), and blanks before it,
    # usual in Python strings, are harmless. A blank in its place makes a second one an error.
    match = _DECLARATION.match(text)
    return text if match is None else " " + "\n" * match.group().count("\n") + text[match.end() :]


def _decode_bytes(data: bytes, source: str) -> str:
    encoding = encoding_of(data, source)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        before = _with_lf(data[: error.start].decode(encoding, errors="replace"))
        found = f"byte 0x{data[error.start]:02x}" if error.start < len(data) else "the end"
        reason = f"not {encoding} text: {found} ({error.reason})"
        raise ParseError(reason, line=line_at(before, len(before)), source=source) from None


def _refuse_no_characters(text: str, source: str) -> None:
    found = _NO_CHARACTER.search(text)
    if found is not None:
        reason = f"not text: U+{ord(found.group()):04X} is no character of XML"
        raise ParseError(reason, line=line_at(text, found.start()), source=source)
