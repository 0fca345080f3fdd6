"""`<include>` of SDF: models of other files, put where they are included. The caller decides which files are opened."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...errors import ParseError
from ..xml import MAX_ELEMENTS, Element
from .scopes import ModelSource
from .values import Version, child_text, relative_to, truth
from .versions import parse_document

ReadInclude = Callable[[str, str], tuple[str | bytes, str]]
"""Takes the uri and the name of the including file; gives text and name of the included one, or raises ParseError."""

MAX_INCLUDE_DEPTH: Final = 32

_HOLDS_INCLUDES = ("sdf", "gazebo", "world", "model")
_NO_MODELS = ("light", "actor")


def expand_includes(root: Element, version: Version, read: ReadInclude | None) -> dict[int, ModelSource]:
    """Put included models in the place of their `<include>`, in the tree below `root`.

    Returns:
        What is known of each included model, by `id` of its element.

    Raises:
        ParseError: nothing that reads includes was given, or a file can't be read, holds no model, or includes itself.
    """
    expander = _Expander(read)
    expander.expand(root, version)
    return expander.sources


class _Expander:
    def __init__(self, read: ReadInclude | None) -> None:
        self.read = read
        self.sources: dict[int, ModelSource] = {}
        self.size = 0

    def expand(self, root: Element, version: Version) -> None:
        stack: list[tuple[Element, Version, tuple[str, ...]]] = [(root, version, (root.source,))]
        while stack:
            parent, version, files = stack.pop()
            children = []
            for child in parent.children:
                if child.tag == "include":
                    model, model_version, file = self._included(child, version, files)
                    children += [] if model is None else [model]
                    stack += [] if model is None else [(model, model_version, (*files, file))]
                else:
                    children.append(child)
                    stack += [(child, version, files)] if child.tag in _HOLDS_INCLUDES else []
            parent.children[:] = children

    def _included(
        self, include: Element, version: Version, files: tuple[str, ...]
    ) -> tuple[Element | None, Version, str]:
        uri = child_text(include, "uri")
        if not uri:
            raise include.error("has no <uri>")
        if self.read is None:
            raise include.error(
                f"include of {uri!r}: text alone includes nothing; load the file, or tell what uris mean"
            )
        if len(files) > MAX_INCLUDE_DEPTH:
            raise include.error(f"include of {uri!r}: files include each other more than {MAX_INCLUDE_DEPTH} deep")
        try:
            data, file = self.read(uri, files[-1])
        except ParseError as error:
            raise include.error(f"include of {uri!r}: {error.reason}") from None
        if file in files:
            raise include.error(f"include of {uri!r}: the file includes itself")
        root, own_version = parse_document(data, source=file)
        self._count(root, include)
        model = _only_model(root, include, own_version)
        if model is None:
            return None, own_version, file
        changed = _changed(model, include, version)
        merged = truth(include.get("merge", ""), include, "merge")
        self.sources[id(changed)] = ModelSource(own_version, merged)
        return changed, own_version, file

    def _count(self, root: Element, include: Element) -> None:
        self.size += sum(1 for _ in root.walk())
        if self.size > MAX_ELEMENTS:
            raise include.error(f"included files have more than {MAX_ELEMENTS} elements together")


def _only_model(root: Element, include: Element, version: Version) -> Element | None:
    """Give the model of an included file, None where it holds a light or an actor only."""
    models = root.all("model")
    if not models and any(child.tag in _NO_MODELS for child in root.children):
        return None
    if len(models) != 1:
        raise include.error(f"an included file holds one <model>, {root.source!r} holds {len(models)}")
    pose = models[0].child("pose")
    if relative_to(pose, version):
        raise pose.error("relative_to: nothing is around a model that stands alone")
    return models[0]


def _changed(model: Element, include: Element, version: Version) -> Element:
    """Give a copy of the model with the name, pose and placement frame that the include gives it."""
    if any(child.tag == "experimental:params" for child in include.children):
        raise include.error("<experimental:params> would change the included model; write the model out instead")
    attributes = dict(model.attributes)
    name, placement = child_text(include, "name"), child_text(include, "placement_frame")
    pose = include.child("pose")
    relative_to(pose, version)  # refuses what SDF does not have
    if placement and pose is None:
        raise include.error("a <placement_frame> needs a <pose>")
    if name:
        attributes["name"] = name
    if placement:
        attributes["placement_frame"] = placement
    kept = [child for child in model.children if child.tag != "pose" or pose is None]
    children = kept if pose is None else [pose, *kept]
    return Element(model.tag, attributes, model.line, model.source, children, model.text)
