"""Other numbers into the text of a URDF: only those that differ are written, every other byte stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from ...errors import UnknownJoint, UnsupportedError
from ...pose import IDENTITY, Pose, Vector
from ..markup import attribute_spans, start_tags
from ..numbers import vector
from ..text import encoding_of
from ..xml import Element, parse_xml
from .parts import read_origin
from .reader import parse_urdf

UNCHANGED: Final = 1e-12
"""A number that differs by less [m], [rad] from the one in the text leaves the text alone."""

Edit = tuple[int, int, str]  # from, to, what stands there then
Description = TypeVar("Description", str, bytes)


def rewrite_urdf(
    data: Description,
    *,
    origins: Mapping[str, Pose] | None = None,
    axes: Mapping[str, Vector] | None = None,
    mimic: Mapping[str, tuple[float, float]] | None = None,
) -> Description:
    """Write values of joints into a URDF: comments, layout, order and spelling of all else stay, byte by byte.

    Args:
        data: the file as text or bytes; what comes back is of the same kind, bytes in the same encoding.
        origins: joint -> `T_parent_joint`, written as xyz and rpy, or quat_xyzw where that stands.
        axes: joint -> direction in the joint frame.
        mimic: joint -> (multiplier, offset).

    Raises:
        ParseError, ModelError: `data` is no URDF that can be read.
        UnknownJoint: it has no such joint, or one that mimics nothing.
        UnsupportedError: its bytes are in an encoding that does not give them back.
    """
    parse_urdf(data)
    text, encoding = (data, "") if isinstance(data, str) else _decode(data)
    joints = dict(_joints(data, text))
    edits: list[Edit] = []
    for name, pose in (origins or {}).items():
        edits += _origin_edits(_find(joints, name), pose)
    for name, axis in (axes or {}).items():
        edits += _axis_edits(_find(joints, name), axis)
    for name, (multiplier, offset) in (mimic or {}).items():
        edits += _mimic_edits(_find(joints, name), multiplier, offset)
    edited = _apply(text, edits)
    return edited.encode(encoding) if encoding else edited


@dataclass(frozen=True, eq=False)
class _Tag:
    """An element and where its start tag stands in the text."""

    element: Element
    text: str
    start: int
    name_end: int
    children: tuple[_Tag, ...] = ()

    def all(self, tag: str) -> list[_Tag]:
        return [child for child in self.children if child.element.tag == tag]

    def numbers(self, attribute: str, values: Sequence[float], default: Sequence[float] | None) -> list[Edit]:
        """Give the edits that make an attribute hold these values: of single numbers where they are plainly written."""
        written = vector(self.element, attribute, len(values), default)
        if _same(written, values):
            return []
        spans = attribute_spans(self.text, self.name_end)
        if attribute not in spans:
            end = max((end + 1 for _, end in spans.values()), default=self.name_end)
            return [(end, end, f' {attribute}="{_numerals(values)}"')]
        start, end = spans[attribute]
        words = list(re.finditer(r"\S+", self.text[start:end]))
        if len(words) != len(values) or "&" in self.text[start:end]:
            return [(start, end, _numerals(values))]
        return [
            (start + word.start(), start + word.end(), _numerals([new]))
            for word, old, new in zip(words, written, values)
            if not _same([old], [new])
        ]

    def with_first_child(self, markup: str) -> list[Edit]:
        """Put an element before the first child, on a line of its own if that has one."""
        at = self.children[0].start
        blank = at - len(self.text[:at].rstrip())
        return [(at, at, markup + self.text[at - blank : at])]


def _joints(data: str | bytes, text: str) -> Iterator[tuple[str, _Tag]]:
    root = parse_xml(data)
    places = {id(element): match for element, match in zip(root.walk(), start_tags(text), strict=True)}

    def tag(element: Element, *children: _Tag) -> _Tag:
        match = places[id(element)]
        return _Tag(element, text, match.start(), match.end(), children)

    for joint in root.all("joint"):
        yield joint.required("name"), tag(joint, *(tag(child) for child in joint.children))


def _find(joints: Mapping[str, _Tag], name: str) -> _Tag:
    if name not in joints:
        raise UnknownJoint("joint", name, joints, "the URDF")
    return joints[name]


def _origin_edits(joint: _Tag, pose: Pose) -> list[Edit]:
    written = read_origin(joint.element)
    rotates = not all(map(_same, pose.rotation, written.rotation))
    if not joint.all("origin"):
        if pose.is_close(IDENTITY, UNCHANGED):
            return []
        turn = f' rpy="{_numerals(pose.rpy())}"' if rotates else ""
        return joint.with_first_child(f'<origin xyz="{_numerals(pose.xyz)}"{turn}/>')
    edits = []
    for origin in joint.all("origin"):  # the same element may stand there twice
        edits += origin.numbers("xyz", pose.xyz, (0.0, 0.0, 0.0))
        if rotates and "quat_xyzw" in origin.element.attributes:
            w, x, y, z = pose.wxyz()
            edits += origin.numbers("quat_xyzw", (x, y, z, w), None)
        elif rotates:
            edits += origin.numbers("rpy", pose.rpy(), (0.0, 0.0, 0.0))
    return edits


def _axis_edits(joint: _Tag, axis: Vector) -> list[Edit]:
    size = sum(c * c for c in axis) ** 0.5
    unit = [c / size for c in axis]
    tags = joint.all("axis")
    written = vector(tags[0].element, "xyz") if tags else (1.0, 0.0, 0.0)
    length = sum(c * c for c in written) ** 0.5
    if _same([c / length for c in written], unit):
        return []
    if not tags:
        return joint.with_first_child(f'<axis xyz="{_numerals(unit)}"/>')
    return [edit for tag in tags for edit in tag.numbers("xyz", unit, None)]


def _mimic_edits(joint: _Tag, multiplier: float, offset: float) -> list[Edit]:
    tags = joint.all("mimic")
    if not tags:
        name = joint.element.required("name")
        raise UnsupportedError(f"joint {name!r} mimics nothing in the URDF: there is no <mimic> to write to")
    pairs = (("multiplier", multiplier, 1.0), ("offset", offset, 0.0))
    return [edit for tag in tags for name, value, usual in pairs for edit in tag.numbers(name, [value], [usual])]


def _same(a: Sequence[float], b: Sequence[float]) -> bool:
    return all(abs(x - y) <= UNCHANGED for x, y in zip(a, b, strict=True))


def _numerals(values: Sequence[float]) -> str:
    """Write numbers so that they read back as the same float64."""
    return " ".join(repr(float(value)).removesuffix(".0") if value else "0" for value in values)


def _decode(data: bytes) -> tuple[str, str]:
    encoding = encoding_of(bytes(data))
    text = bytes(data).decode(encoding)
    if text.encode(encoding) != data:
        raise UnsupportedError(f"bytes in {encoding} that it writes in another way; convert the file to UTF-8 first")
    return text, encoding


def _apply(text: str, edits: Sequence[Edit]) -> str:
    pieces, done = [], 0
    for start, end, new in sorted(edits, key=lambda edit: edit[:2]):  # a stable sort: insertions stay in their order
        pieces += [text[done:start], new]
        done = end
    return "".join([*pieces, text[done:]])
