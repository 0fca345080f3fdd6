"""Read the messages that the node serialises, by the rules of CDR: little-endian, numbers at multiples of their size."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np


@dataclass
class Stamped:
    """What one header says, and the rows after it."""

    stamp: int
    frame_id: str
    names: list[str]
    rows: np.ndarray


class Walk:
    def __init__(self, message: bytes) -> None:
        assert message[:4] == b"\x00\x01\x00\x00"
        self._body = message[4:]
        self._at = 0

    def number(self, format: str) -> int | float:
        size = struct.calcsize(format)
        self._at += -self._at % size
        (value,) = struct.unpack_from(f"<{format}", self._body, self._at)
        self._at += size
        return value

    def string(self) -> str:
        length = self.number("I")
        text = self._body[self._at : self._at + length]
        self._at += length
        assert text.endswith(b"\x00")
        return text[:-1].decode()

    def header(self) -> tuple[int, str]:
        seconds, nanoseconds = self.number("i"), self.number("I")
        return seconds * 10**9 + nanoseconds, self.string()

    def row(self, size: int) -> list[float]:
        return [self.number("d") for _ in range(size)]

    def end(self) -> None:
        assert self._at == len(self._body)


def read_named(message: bytes, size: int) -> Stamped:
    """Read a LinkPoses (size 7) or LinkTwists (size 6)."""
    walk = Walk(message)
    stamp, frame_id = walk.header()
    names = [walk.string() for _ in range(walk.number("I"))]
    rows = np.array([walk.row(size) for _ in range(walk.number("I"))]).reshape(-1, size)
    walk.end()
    return Stamped(stamp, frame_id, names, rows)


def read_pose_array(message: bytes) -> Stamped:
    walk = Walk(message)
    stamp, frame_id = walk.header()
    rows = np.array([walk.row(7) for _ in range(walk.number("I"))]).reshape(-1, 7)
    walk.end()
    return Stamped(stamp, frame_id, [], rows)


def read_transforms(message: bytes) -> list[Stamped]:
    """Read a TFMessage: the child frame is the one name, the transform the one row."""
    walk = Walk(message)
    transforms = []
    for _ in range(walk.number("I")):
        stamp, parent = walk.header()
        child = walk.string()
        transforms.append(Stamped(stamp, parent, [child], np.array(walk.row(7))))
    walk.end()
    return transforms
