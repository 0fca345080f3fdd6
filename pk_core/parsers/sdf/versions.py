"""Versions of SDF: which one a file is written in, and the first ones put into the words of the later ones."""

from __future__ import annotations

import logging
import re
from typing import Final

from ..xml import Element, parse_xml
from .values import Version

NEWEST: Final[Version] = (1, 12)

_ELEMENTS_SINCE: Final[Version] = (1, 2)  # before, values stood in attributes
_SDF_ROOT_SINCE: Final[Version] = (1, 3)  # before, the root was called gazebo
_KEPT_ATTRIBUTES = ("name", "type", "version", "filename")

_log = logging.getLogger(__name__)


def parse_document(data: str | bytes, *, source: str = "") -> tuple[Element, Version]:
    """Read a document of any version of SDF 1, its values in elements; give its root and its version.

    Raises:
        ParseError: not XML, another root than `<sdf>`, no version or an unknown one.
    """
    root = parse_xml(data, source=source)
    if root.tag not in ("sdf", "gazebo"):
        raise root.error(f"the root of an SDF file is <sdf>, found <{root.tag}>{_format_hint(root.tag)}")
    version = _read_version(root)
    if root.tag == "gazebo" and version >= _SDF_ROOT_SINCE:
        raise root.error("the root <gazebo> is called <sdf> since SDF 1.3")
    if version < _ELEMENTS_SINCE:
        _attributes_to_elements(root)
    return root, version


def _format_hint(tag: str) -> str:
    if tag.lower() == "sdf":
        return "; upper and lower case matter"
    formats = {"robot": "URDF", "mujoco": "MJCF", "mujocoinclude": "MJCF"}
    return f": this is {formats[tag]}" if tag in formats else ""


def _read_version(root: Element) -> Version:
    written = root.required("version").strip()
    match = re.fullmatch(r"(\d{1,9})\.(\d{1,9})(\.\d+)?", written, re.ASCII)
    if match is None or match[1] != "1":
        raise root.error(f"unknown version {written!r} of SDF; versions 1.0 to {NEWEST[0]}.{NEWEST[1]} are read")
    version = (1, int(match[2]))
    if version > NEWEST:
        _log.warning("%s", root.error(f"version {written} of SDF is newer than pk; read as {NEWEST[0]}.{NEWEST[1]}"))
    return version


def _attributes_to_elements(root: Element) -> None:
    """Write SDF 1.0 and 1.1 as 1.2: `<origin pose="..."/>` as `<pose>`, `<axis xyz="0 0 1"/>` as `<axis><xyz>`..."""
    for element in root.walk():
        if element.tag == "origin":
            element.tag, element.text = "pose", element.attributes.pop("pose", "")
        elif element.tag in ("parent", "child"):
            element.text = element.attributes.pop("link", element.text)
        for attribute in [key for key in element.attributes if key not in _KEPT_ATTRIBUTES and ":" not in key]:
            text = element.attributes.pop(attribute)
            element.children.append(Element(attribute, {}, element.line, element.source, [], text))
