"""MJCF documents: the file itself, what it includes, and the models that it attaches; no file is opened here.

Whoever calls the parser says how a file is read (`ReadFile`): from a dictionary, or from the disk beneath some folder.
Paths are relative to the folder of the top file, with `/` between their parts.
https://mujoco.readthedocs.io/en/stable/XMLreference.html#include
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from ..xml import MAX_ELEMENTS, Element, parse_xml
from .attributes import refuse_unknown

ReadFile = Callable[[str], bytes]
"""Give the content of a file by its path relative to the top file; raises OSError where it can't."""

MAX_FILES: Final = 1000


def from_assets(assets: Mapping[str, bytes] | None) -> ReadFile:
    """Read files from a dictionary: by their path, else by the one key that ends in the same file name."""
    files = {posixpath.normpath(name): content for name, content in (assets or {}).items()}
    keys: dict[str, list[str]] = {}
    for name in files:
        keys.setdefault(posixpath.basename(name), []).append(name)

    def read(path: str) -> bytes:
        if path in files:
            return files[path]
        # MuJoCo knows the files of its virtual file system by their last part alone.
        alike = keys.get(posixpath.basename(path), [])
        if len(alike) == 1:
            return files[alike[0]]
        if len(alike) > 1:
            raise FileNotFoundError(f"it may be any of the assets {sorted(alike)[:5]}")
        raise FileNotFoundError("it is not among the assets; give them as assets={...}, or load the model by its path")

    return read


@dataclass
class Files:
    """Reads documents and counts what they hold together.

    Attributes:
        read_file: how a file is read.
        n_elements, n_files: read so far.
    """

    read_file: ReadFile
    n_elements: int = 0
    n_files: int = 0

    def document(self, data: str | bytes, path: str, source: str) -> Element:
        """Read a document and put what it includes in place of its `<include>`s.

        Args:
            path: of the file, relative to the top file; "" where it has none.
            source: its name in errors.

        Raises:
            ParseError: not XML, or an include that is missing, empty or repeated.
        """
        root = self._parse(data, source)
        home = posixpath.dirname(path)
        included = {path} - {""}
        pending = [(root, home)]
        while pending:
            element, folder = pending.pop()
            queue = [(child, folder) for child in reversed(element.children)]
            if all(child.tag != "include" for child, _ in queue):
                pending += queue
                continue
            children = []
            while queue:
                child, folder = queue.pop()
                if child.tag == "include":
                    found, folder = self._included(child, home, folder, included)
                    queue += [(part, folder) for part in reversed(found)]
                else:
                    children.append(child)
                    pending.append((child, folder))
            element.children[:] = children
        return root

    def open(self, element: Element, home: str, folder: str) -> tuple[bytes, str]:
        """Read the file that an element names: beside the main file of its model, else beside the file it stands in.

        Returns:
            its content and its path.

        Raises:
            ParseError: no such file, or one that may not be read.
        """
        name = element.required("file")
        reason: OSError | None = None
        for beside in dict.fromkeys((home, folder)):
            path = posixpath.normpath(posixpath.join(beside, name))
            try:
                return self.read_file(path), path
            except OSError as error:
                reason = reason or error
        raise element.error(f"can't read file {name[:200]!r}: {reason}")

    def _included(self, element: Element, home: str, folder: str, included: set[str]) -> tuple[list[Element], str]:
        """Give the elements to stand in place of an `<include>`, and the folder of their file."""
        refuse_unknown(element)
        if element.children:
            raise element.error("an <include> has no children; they would be ignored")
        data, path = self.open(element, home, folder)
        if path in included:
            raise element.error(f"file {path!r} is included already; a file can be included once")
        included.add(path)
        children = self._parse(data, path).children
        if not children:
            raise element.error(f"file {path!r} holds no element to include")
        return children, posixpath.dirname(path)

    def _parse(self, data: str | bytes, source: str) -> Element:
        root = parse_xml(data, source=source)
        self.n_files += 1
        self.n_elements += sum(1 for _ in root.walk())
        if self.n_files > MAX_FILES or self.n_elements > MAX_ELEMENTS:
            raise root.error(f"more than {MAX_FILES} files or {MAX_ELEMENTS} elements in them together")
        return root
