"""Serialised messages of the hot path, read and written as bytes. No rclpy.

To make Python objects of the poses of 60 links and to serialise them takes most of a millisecond; their numbers lie side
by side in the serialised message, so they are copied there instead. The format is the plain CDR of the OMG ("Common
Data Representation", DDS-XTypes 7.4, encoding version 1), which every ROS 2 middleware reads: 4 bytes say the byte order,
then each number stands at a multiple of its size, counted from there; a string is its length with the final zero, then
its bytes; a sequence is its length, then its elements.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

_BIG_ENDIAN, _LITTLE_ENDIAN = b"\x00\x00", b"\x00\x01"
_BEGIN = 4  # where positions are counted from


class CdrError(ValueError):
    """Bytes that are not what they should be."""


@dataclass(frozen=True)
class JointStateView:
    """What a sensor_msgs/JointState says; lengths are as they came.

    Attributes:
        stamp: [ns].
        names: the same object for messages that name the same joints one after the other.
        position, velocity: [rad] or [m], [rad/s] or [m/s].
    """

    stamp: int
    names: tuple[str, ...]
    position: np.ndarray
    velocity: np.ndarray


class JointStateReader:
    """Reads JointState messages; what the last one had before its numbers is not read again."""

    def __init__(self) -> None:
        self._prefix = b""
        self._names: tuple[str, ...] = ()

    def read(self, raw: bytes) -> JointStateView:
        """Read a serialised message.

        Raises:
            CdrError: it is cut off, or in another representation than plain CDR.
        """
        if raw[:2] not in (_LITTLE_ENDIAN, _BIG_ENDIAN):
            raise CdrError(f"the message is not in plain CDR: it begins with {raw[:4].hex()}")
        reader = _Reader(raw)
        seconds, nanoseconds = reader.numbers("iI")
        begin = reader.position
        if self._prefix and raw.startswith(self._prefix, begin):
            reader.position = begin + len(self._prefix)
        else:
            reader.string()
            self._names = tuple(reader.string() for _ in range(reader.count(4)))
            self._prefix = raw[begin : reader.position]
        return JointStateView(seconds * 10**9 + nanoseconds, self._names, reader.doubles(), reader.doubles())


class _Reader:
    """Walks through serialised bytes."""

    def __init__(self, raw: bytes) -> None:
        self.position = _BEGIN
        self._raw = raw
        self._order = "<" if raw[:2] == _LITTLE_ENDIAN else ">"

    def numbers(self, format: str) -> tuple[int, ...]:
        """Read 32-bit numbers by their letters of `struct`."""
        self._align(4)
        self._require(4 * len(format))
        values = struct.unpack_from(self._order + format, self._raw, self.position)
        self.position += 4 * len(format)
        return values

    def count(self, least_size: int) -> int:
        """Read the length of a sequence whose elements take at least so many bytes."""
        (count,) = self.numbers("I")
        self._require(count * least_size)
        return count

    def string(self) -> str:
        length = self.count(1)
        text = self._raw[self.position : self.position + max(length - 1, 0)].decode("utf-8", "replace")
        self.position += length
        return text

    def doubles(self) -> np.ndarray:
        count = self.count(8)
        if not count:
            return np.empty(0)
        self._align(8)
        self._require(8 * count)
        values = np.frombuffer(self._raw, self._order + "f8", count, self.position)
        self.position += 8 * count
        return values

    def _align(self, size: int) -> None:
        self.position += -(self.position - _BEGIN) % size

    def _require(self, size: int) -> None:
        if self.position + size > len(self._raw):
            raise CdrError(f"the message ends after {len(self._raw)} bytes, before what it says it holds")


class MessageWriter:
    """Writes a message once, with room for its stamps and numbers, which `Template.fill` writes again and again."""

    def __init__(self) -> None:
        self._bytes = bytearray(_LITTLE_ENDIAN + b"\x00\x00")
        self._stamps: list[int] = []
        self._rows: list[int] = []

    def count(self, value: int) -> None:
        """Write the length of a sequence."""
        self._align(4)
        self._bytes += struct.pack("<I", value)

    def string(self, text: str) -> None:
        data = text.encode()
        self.count(len(data) + 1)
        self._bytes += data + b"\x00"

    def strings(self, texts: tuple[str, ...]) -> None:
        self.count(len(texts))
        for text in texts:
            self.string(text)

    def header(self, frame_id: str) -> None:
        """Write a std_msgs/Header, with room for its stamp."""
        self._align(4)
        self._stamps.append(len(self._bytes))
        self._bytes += bytes(8)
        self.string(frame_id)

    def row(self, size: int) -> None:
        """Leave room for the numbers of one pose or twist."""
        self._align(8)
        self._rows.append(len(self._bytes))
        self._bytes += bytes(8 * size)

    def rows(self, count: int, size: int) -> None:
        """Write a sequence of rows."""
        self.count(count)
        for _ in range(count):
            self.row(size)

    def template(self, size: int) -> Template:
        """Give the message, whose rows have so many numbers."""
        return Template(bytes(self._bytes), _places(self._stamps, 8), _places(self._rows, 8 * size))

    def _align(self, size: int) -> None:
        self._bytes += bytes(-(len(self._bytes) - _BEGIN) % size)


class Template:
    """A serialised message whose stamps and rows of numbers can be changed."""

    def __init__(self, message: bytes, stamps: slice | np.ndarray, rows: slice | np.ndarray) -> None:
        self._bytes = np.frombuffer(bytearray(message), np.uint8)
        self._stamps, self._rows = stamps, rows

    def fill(self, stamp: int, rows: np.ndarray) -> bytes:
        """Give the message with its stamps at a time [ns] and its rows (n, size)."""
        numbers = np.ascontiguousarray(rows, dtype="<f8").view(np.uint8)
        self._bytes[self._rows] = numbers.reshape(-1) if isinstance(self._rows, slice) else numbers
        self._bytes[self._stamps] = np.frombuffer(struct.pack("<iI", *divmod(stamp, 10**9)), np.uint8)
        return self._bytes.tobytes()


def _places(starts: list[int], size: int) -> slice | np.ndarray:
    """Give the indices (n, size) of the bytes from each start on; a slice, which is faster, where they join."""
    if starts and starts == list(range(starts[0], starts[0] + size * len(starts), size)):
        return slice(starts[0], starts[0] + size * len(starts))
    return np.array(starts, dtype=np.intp)[:, None] + np.arange(size)
