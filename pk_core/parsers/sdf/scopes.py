"""The names of an SDF file: which models, links, joints and frames there are, and what a name means where it stands.

Names are those that libsdformat gives: `nested::link`, in a world `model::link`; a model that stands alone leaves its
own name out.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from ...errors import ModelError
from ..names import close_names
from ..xml import Element
from .values import SEPARATOR, Version, read_name, refuse_children

MODEL_FRAME: Final = "__model__"
UNIQUE_SIBLINGS_SINCE: Final[Version] = (1, 7)  # before, a link and a joint of a model could share a name
MAX_NAME_LENGTH: Final = 4096
MAX_NAMES_LENGTH: Final = 50_000_000  # of all together: deep nesting makes every name below longer

_MOST_HINTS, _MOST_NAMES_COMPARED = 10, 2000  # they are compared letter by letter
_KINDS = ("link", "joint", "frame")  # in the order in which libsdformat gives out a name that several have
_IN_MODEL = ("link", "joint", "frame", "model", "pose", "include")
_IN_WORLD = ("model", "joint", "frame", "include")
_FOREIGN = ("origin", "body", "robot")


@dataclass(frozen=True)
class ModelSource:
    """What is known of an included `<model>`: the version of its file, and whether its contents join its parent's."""

    version: Version
    merged: bool = False


@dataclass(eq=False, repr=False)
class Item:
    """A model, link, joint or frame, or the world.

    Attributes:
        kind: "world", "model", "link", "joint" or "frame".
        name: its scoped name.
        scope: where it is declared; its references are looked up there. None for the world.
        inside: of a model or the world: the scope of what is declared in it.
    """

    kind: str
    name: str
    element: Element
    scope: Scope | None
    inside: Scope | None = None

    @property
    def label(self) -> str:
        """Name the item in errors."""
        return "the world" if self.kind == "world" else f"{self.kind} {self.name!r}"

    def model_error(self, message: str, element: Element | None = None) -> ModelError:
        """Build, for the caller to raise, an error that says where the item, or an element of it, stands."""
        element = self.element if element is None else element
        return ModelError(message, line=element.line, element=element.label, source=element.source)


@dataclass(eq=False, repr=False)
class Scope:
    """The inside of a model or of the world.

    Attributes:
        owner: the model or the world, whose frame poses in it are relative to unless they say otherwise.
        prefix: what its names begin with.
        version: of the file it is written in.
        joins: whether its names are those of the scope around it (a merged include).
    """

    owner: Item
    prefix: str
    version: Version
    joins: bool = False


class Names:
    """All items of a file, found by name or by element.

    Attributes:
        items: models before what is in them, a model's own links, joints and frames before its nested models.
    """

    def __init__(self, element: Element, version: Version) -> None:
        self.world = Item("world", "world", element, None)
        self.world.inside = Scope(self.world, "", version)
        self.items: list[Item] = []
        self._by_name: dict[str, Item] = {}
        self._by_element: dict[int, Item] = {}
        self._length = 0
        self._hints = _MOST_HINTS

    def of_kind(self, kind: str) -> list[Item]:
        """Give the items of one kind, in order."""
        return [item for item in self.items if item.kind == kind]

    def item_of(self, element: Element) -> Item:
        """Give the item that an element declares."""
        return self._by_element[id(element)]

    def named(self, name: str) -> Item | None:
        """Give the item with exactly this scoped name."""
        return self._by_name.get(name)

    def find(self, scope: Scope, name: str) -> Item | None:
        """Find what a reference means in a scope: `link`, `nested::link`, `nested` (its model frame), `__model__`."""
        owner = scope.owner
        if name == MODEL_FRAME:
            return None if owner.kind == "world" else owner
        if name == "world":
            return self.world if owner.kind == "world" else None
        full = scope.prefix + name
        # Files of before 1.8 write a nested model flat, its own frame as a frame called `nested::__model__`.
        item = self.named(full) or self.named(full + SEPARATOR + MODEL_FRAME)
        if item is None and name.endswith(SEPARATOR + MODEL_FRAME):
            model = self.named(full.removesuffix(SEPARATOR + MODEL_FRAME))
            item = model if model is not None and model.kind == "model" else None
        # A flat name or a merged include may lead out of the model.
        return item if item is not None and _is_inside(item, scope) else None

    def hint(self, scope: Scope, name: str) -> str:
        """Give a hint at a close name that a reference in a scope may mean, "" where there is none."""
        self._hints -= 1  # a file with many wrong shapes, each a warning, would take long
        if self._hints < 0 or len(self._by_name) > _MOST_NAMES_COMPARED:
            return ""
        return close_names(name, [n.removeprefix(scope.prefix) for n in self._by_name if n.startswith(scope.prefix)])

    def add(self, item: Item, *, named: bool = True) -> None:
        """Add an item; raises ModelError where its name is taken, ParseError where it is too long."""
        self.items.append(item)
        self._by_element[id(item.element)] = item
        self._length += len(item.name)
        if len(item.name) > MAX_NAME_LENGTH:
            raise item.element.error(f"its name with those of its models is longer than {MAX_NAME_LENGTH} characters")
        if self._length > MAX_NAMES_LENGTH:
            raise item.element.error(f"the names of the file are longer than {MAX_NAMES_LENGTH} characters together")
        if named:
            first = self._by_name.setdefault(item.name, item)
            if first is not item:
                where = f"first in line {first.element.line}"
                raise item.model_error(f"duplicate name {item.name!r}, {where} as that of a {first.kind}")


def read_world(element: Element, version: Version, sources: Mapping[int, ModelSource]) -> Names:
    """Collect the names of a `<world>`.

    Args:
        version: of the file.
        sources: what is known of included models, by `id` of their elements.

    Raises:
        ParseError: a missing, reserved or overlong name, an element that would move links and is ignored.
        ModelError: a name used twice.
    """
    names = Names(element, version)
    refuse_children(element, _IN_WORLD, _FOREIGN)
    scope = names.world.inside
    _read_models(names, [(model, scope) for model in element.all("model")], sources)
    for kind in ("joint", "frame"):
        _read_kind(names, scope, element, kind)
    return names


def read_model(element: Element, version: Version, sources: Mapping[int, ModelSource]) -> Names:
    """Collect the names of a `<model>` that stands alone; arguments and errors as of `read_world`."""
    names = Names(element, version)
    _read_models(names, [(element, names.world.inside)], sources, alone=True)
    return names


def _read_models(
    names: Names, models: list[tuple[Element, Scope]], sources: Mapping[int, ModelSource], *, alone: bool = False
) -> None:
    stack = models[::-1]
    while stack:
        element, scope = stack.pop()
        model = _add_model(names, element, scope, sources.get(id(element)), alone)
        alone = False
        refuse_children(element, _IN_MODEL, _FOREIGN)
        nested = {read_name(child, model.inside.version) for child in element.all("model")}
        for kind in _KINDS:
            _read_kind(names, model.inside, element, kind, nested)
        stack.extend((child, model.inside) for child in reversed(element.all("model")))


def _add_model(names: Names, element: Element, scope: Scope, source: ModelSource | None, alone: bool) -> Item:
    source = source or ModelSource(scope.version)
    model = Item("model", scope.prefix + read_name(element, source.version), element, scope)
    unnamed = alone or source.merged
    prefix = scope.prefix if unnamed else model.name + SEPARATOR
    model.inside = Scope(model, prefix, source.version, source.merged)
    names.add(model, named=not unnamed)
    return model


def _read_kind(names: Names, scope: Scope, parent: Element, kind: str, models: Collection[str] = ()) -> None:
    written: set[str] = set()
    for element in parent.all(kind):
        name = read_name(element, scope.version)
        # An old file may give one name to elements of different kinds, never to two of one kind.
        unique = name if name in written else _unique_name(names, scope, name, kind, models)
        names.add(Item(kind, scope.prefix + unique, element, scope))
        written.add(name)


def _unique_name(names: Names, scope: Scope, name: str, kind: str, models: Collection[str]) -> str:
    """Add `_link`, `_joint` or `_frame` to a name that another kind has, as libsdformat does before 1.7."""
    if scope.version >= UNIQUE_SIBLINGS_SINCE:
        return name
    unique, count = name, -1
    while unique in models or names.named(scope.prefix + unique) is not None:
        unique = f"{name}_{kind}{count if count >= 0 else ''}"
        count += 1
    return unique


def _is_inside(item: Item, scope: Scope) -> bool:
    while item.scope is not None and item.scope is not scope:
        item = item.scope.owner
    return item.scope is scope
