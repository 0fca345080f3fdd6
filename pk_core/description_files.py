"""The files that a robot description names: which of them may be opened, and where they are looked for.

Nothing above the folder of the top file is opened, through links either, except in folders that the caller names and
for uris whose meaning the caller tells.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from urllib.parse import unquote

from .errors import ParseError
from .parsers.xml import parse_xml

PathLike = str | os.PathLike[str]
Resolve = Callable[[str], PathLike | None]
"""Takes a uri such as model://arm or package://arm/arm.sdf; gives the path of a file or folder, or None."""

_URI = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)


class DescriptionFiles:
    """Opens what a description includes.

    Args:
        top: the top file; None where the description is text.
        resolve: tells what uris mean; what it gives may lie anywhere.
        search_path: folders in which files may be opened beside the top file's.
    """

    def __init__(
        self,
        top: Path | None = None,
        resolve: Resolve | None = None,
        search_path: PathLike | Iterable[PathLike] | None = None,
    ) -> None:
        named = [search_path] if isinstance(search_path, (str, os.PathLike)) else list(search_path or ())
        self._folders = [Path(folder).resolve() for folder in named]
        if top is not None:
            self._folders.insert(0, top.resolve().parent)
        self._resolve = resolve

    @property
    def opens_any(self) -> bool:
        """Whether there is any file that may be opened."""
        return bool(self._folders) or self._resolve is not None

    def read(self, path: str) -> bytes:
        """Give the content of a file by its path relative to the top file, or to a folder of the search path.

        Raises:
            OSError: no such file, or one that may not be opened.
        """
        for folder in self._folders:
            found = self._allowed(folder / path)
            if found is not None and found.is_file():
                return found.read_bytes()
        raise FileNotFoundError(f"no such file in {self._where()}")

    def read_include(self, uri: str, including: str) -> tuple[bytes, str]:
        """Give the content and the path of the file that an SDF `<include>` names.

        Args:
            uri: a path relative to the including file, file://, or what `resolve` knows; of a file or a model's folder.
            including: path of the including file, "" for text.

        Raises:
            ParseError: no such file, or one that may not be opened.
        """
        try:
            path = self._find(uri, including)
            if path is None:
                hint = "" if self._resolve or not _URI.fullmatch(uri) else "; resolve=... can tell what it means"
                raise ParseError(f"no such file in {self._where()}{hint}")
            path = _model_file(path) if path.is_dir() else path
            return path.read_bytes(), str(path)
        except (OSError, ValueError) as error:
            if isinstance(error, ParseError):
                raise
            raise ParseError(f"can't be read: {error.__class__.__name__}") from None

    def _find(self, uri: str, including: str) -> Path | None:
        parts = _URI.fullmatch(uri)
        told = self._resolve(uri) if parts and self._resolve is not None else None
        if told is not None:
            path = Path(told).resolve()
            if not path.exists():
                raise ParseError(f"resolve gave {str(path)!r}, which does not exist")
            self._folders.append(path if path.is_dir() else path.parent)
            return path
        allowed = (self._allowed(candidate) for candidate in self._candidates(uri, parts, including))
        return next((path for path in allowed if path is not None and path.exists()), None)

    def _candidates(self, uri: str, parts: re.Match[str] | None, including: str) -> Iterator[Path]:
        if parts is None:
            if including:
                yield Path(including).parent / uri
            yield from (folder / uri for folder in self._folders)
        elif parts[1].lower() == "file":
            yield Path(unquote(parts[2]))
        elif parts[1].lower() in ("model", "package"):
            yield from (folder / parts[2] for folder in self._folders)

    def _allowed(self, path: Path) -> Path | None:
        """Follow links and `..`; give the path if it is in one of the folders."""
        real = path.resolve()
        return real if any(real.is_relative_to(folder) for folder in self._folders) else None

    def _where(self) -> str:
        return ", ".join(map(repr, map(str, self._folders))) if self._folders else "any folder: none may be opened"


def _model_file(folder: Path) -> Path:
    """Give the SDF file of a model's folder: the newest that its model.config names, else model.sdf."""
    config = folder / "model.config"
    if not config.is_file():
        return folder / "model.sdf"
    names = [(entry.get("version", ""), entry.text.strip()) for entry in parse_xml(config.read_bytes()).all("sdf")]
    if not names:
        raise ParseError("its model.config names no <sdf> file")
    newest = max(names, key=lambda name: [int(part) for part in re.findall(r"\d{1,9}", name[0])])[1]
    path = (folder / newest).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise ParseError("its model.config names a file outside its folder")
    return path
