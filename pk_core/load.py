"""Load a robot from a file or a text in any format that pk reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final
from xml.parsers.expat import ExpatError

import torch

from .chain import Chain
from .description_files import DescriptionFiles, PathLike, Resolve
from .errors import ParseError, UnsupportedError
from .model import Robot
from .parsers import parse_mjcf, parse_sdf, parse_urdf
from .parsers.text import decode

Reader = Callable[[bytes | str, str, DescriptionFiles], Robot]


def load(
    description: PathLike | bytes,
    *,
    resolve: Resolve | None = None,
    search_path: PathLike | Iterable[PathLike] | None = None,
    xacro: bool = False,
    dtype: torch.dtype = torch.float32,
    device: torch.device | str = "cpu",
) -> Chain:
    """Load a robot; its format is known by the root element of the description.

    Args:
        description: path of a file; or the text itself, which begins with `<`, or its bytes.
        resolve: tells what uris such as model://arm or package://arm/arm.sdf mean: takes one, gives a path or None.
        search_path: folders in which included files may be found, beside the folder of the top file and those in it.
        xacro: expand the file with xacro first. It evaluates expressions and opens any file: for files you trust only.
        dtype, device: of the chain.

    Raises:
        ParseError, ModelError: not a description that can be read.
        UnsupportedError: xacro is asked for and not installed.
        OSError: no such file.
    """
    path = None if isinstance(description, bytes) or _is_text(description) else Path(description)
    source = "" if path is None else str(path)
    if xacro:
        data = _expand_xacro(path)
    else:
        data = description if path is None else path.read_bytes()
    read = _reader(data, source)
    return Chain(read(data, source, DescriptionFiles(path, resolve, search_path)), dtype=dtype, device=device)


def _is_text(description: PathLike) -> bool:
    return isinstance(description, str) and description.lstrip("\ufeff \t\r\n").startswith("<")


def _read_urdf(data: bytes | str, source: str, files: DescriptionFiles) -> Robot:
    return parse_urdf(data, source=source)


def _read_sdf(data: bytes | str, source: str, files: DescriptionFiles) -> Robot:
    return parse_sdf(data, source=source, read_include=files.read_include if files.opens_any else None)


def _read_mjcf(data: bytes | str, source: str, files: DescriptionFiles) -> Robot:
    return parse_mjcf(data, source=source, read_file=files.read, path=Path(source).name)


_READERS: Final[dict[str, Reader]] = {"robot": _read_urdf, "sdf": _read_sdf, "gazebo": _read_sdf, "mujoco": _read_mjcf}


def _reader(data: bytes | str, source: str) -> Reader:
    tag = _root_tag(decode(data, source))
    if tag not in _READERS:
        known = ", ".join(f"<{name}>" for name in _READERS)
        raise ParseError(f"the root element is <{tag}>; pk reads {known}", source=source)
    return _READERS[tag]


def _root_tag(text: str) -> str:
    """Give the tag of the root element, "" where none begins; what is wrong before it is left to the reader."""
    position = 0
    while (position := text.find("<", position)) >= 0:
        if text.startswith("<!--", position):
            position = text.find("-->", position)
        elif text.startswith("<!DOCTYPE", position):
            position = _end_of_doctype(text, position)
        elif text.startswith("<?", position):
            position = text.find("?>", position)
        else:
            end = position + 1
            while end < len(text) and end < position + 100 and text[end] not in " \t\r\n/><":
                end += 1
            return text[position + 1 : end]
        if position < 0:
            break
        position += 1
    return ""


def _end_of_doctype(text: str, position: int) -> int:
    """Give where a document type ends, -1 if nowhere; quotes in it are left to the reader."""
    close, bracket = text.find(">", position), text.find("[", position)
    if 0 <= bracket < close:
        inner = text.find("]", bracket)
        return -1 if inner < 0 else text.find(">", inner)
    return close


def _expand_xacro(path: Path | None) -> str:
    if path is None:
        raise UnsupportedError("xacro=True expands a file: give its path, not its text")
    try:
        from xacro import XacroException, process_file
    except ImportError:
        raise UnsupportedError("xacro=True needs the package xacro: pip install 'pk[xacro]'") from None
    try:
        return process_file(str(path)).toxml()
    except (XacroException, ExpatError) as error:
        raise ParseError(f"xacro: {error}", source=str(path)) from None
