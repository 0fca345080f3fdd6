"""One MJCF document as a model: its compiler settings, classes, assets and bodies, and the models it attaches."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from ..names import close_names
from ..xml import Element
from .attributes import Defaults, read_defaults, refuse_misspelt, refuse_unknown
from .compiler import Compiler, read_compiler
from .files import Files
from .parts import Body, Group, Part, Scope
from .shapes import Assets, read_assets

MAX_COPIES: Final = 50_000
MAX_VISITS: Final = 200_000
MAX_MODELS_DEEP: Final = 20

_SECTIONS: Final = (
    *("compiler", "option", "size", "statistic", "visual", "default", "extension", "custom", "asset", "worldbody"),
    *("deformable", "contact", "equality", "tendon", "actuator", "sensor", "keyframe"),
)


@dataclass
class Budget:
    """Bounds what copies of copies may come to: parts of the robot, and parts visited in search of names."""

    files: Files
    n_parts: int = 0
    n_visits: int = 0

    def spend(self, element: Element, n: int = 1) -> None:
        """Count parts; raises ParseError where they are many more than what the files hold."""
        self.n_parts += n
        if self.n_parts > self.files.n_elements + MAX_COPIES:
            raise element.error(f"more than {MAX_COPIES} elements are added by <replicate> and <attach>")

    def visit(self, element: Element) -> None:
        """Count one visit; raises ParseError where they are too many."""
        self.n_visits += 1
        if self.n_visits > MAX_VISITS:
            raise element.error(f"more than {MAX_VISITS} elements visited in search of what to attach")


@dataclass(eq=False)
class Model:
    """What one document says, its bodies being read into `world`.

    Attributes:
        path: of its file, relative to the top file.
        source: the same file, as errors name it.
        above: the paths of the models that led here by attaching, its own included.
        equalities: its `<equality>` sections' elements.
        submodels: the `<model>` elements that say what may be attached.
    """

    name: str
    path: str
    source: str
    above: tuple[str, ...]
    budget: Budget
    compiler: Compiler
    defaults: Defaults
    assets: Assets
    world: Body
    worldbodies: list[Element]
    equalities: list[Element]
    submodels: list[Element]
    loaded: dict[str, Model] = field(default_factory=dict)

    def find(self, kind: type[Body] | type[Group], name: str) -> tuple[Body | Group, Scope] | None:
        """Find a body or frame among what is read so far by its full name, with the scope that gave it this name."""
        for part, scope in self.walk():
            if isinstance(part, kind) and part.name and scope.rename(part.name) == name:
                return part, scope
        return None

    def walk(self) -> Iterator[tuple[Part, Scope]]:
        """Visit everything that is read so far, copies included, with the scope of its name."""
        scope = Scope()
        yield self.world, scope
        stack = [(iter(self.world.content), scope)]
        while stack:
            content, scope = stack[-1]
            part = next(content, None)
            if part is None:
                stack.pop()
                continue
            self.budget.visit(part.element)
            yield part, scope
            if isinstance(part, Body):
                stack.append((iter(part.content), scope))
            elif isinstance(part, Group):
                stack.append((iter(part.content), scope.inside(part)))


def read_sections(root: Element, path: str, above: tuple[str, ...], budget: Budget) -> Model:
    """Read everything of a document but its bodies.

    Raises:
        ParseError: not MJCF, or an unknown section, keyword or class.
    """
    if root.tag != "mujoco":
        raise root.error(f"the root of an MJCF file is <mujoco>, found <{root.tag}>{_format_hint(root.tag)}")
    for section in root.children:
        if section.tag not in _SECTIONS and ":" not in section.tag:
            refuse_misspelt(section, _SECTIONS)
            raise section.error(f"unknown section of <mujoco>; valid: {', '.join(_SECTIONS)}")
    compiler = read_compiler(root.all("compiler"))
    defaults = read_defaults(root.all("default"))
    worldbodies = root.all("worldbody")
    for worldbody in worldbodies:
        refuse_unknown(worldbody)
    return Model(
        name=root.get("model", ""),
        path=path,
        source=root.source,
        above=above,
        budget=budget,
        compiler=compiler,
        defaults=defaults,
        assets=read_assets(root.all("asset"), defaults, compiler),
        world=Body(worldbodies[0] if worldbodies else root, "world"),
        worldbodies=worldbodies,
        equalities=[child for section in root.all("equality") for child in section.children],
        submodels=[child for section in root.all("asset") for child in section.all("model")],
    )


def open_submodel(model: Model, name: str, element: Element) -> tuple[Model | None, Element, str]:
    """Find what an `<attach model=...>` names: a model read before, or the root of its document and its path.

    Raises:
        ParseError: no such `<model>`, no such file, or a model that attaches itself.
    """
    unnamed = [asset for asset in model.submodels if not asset.get("name")]
    for asset in [asset for asset in model.submodels if asset.get("name") == name] + unnamed:
        home = posixpath.dirname(model.path)
        beside = home if asset.source == model.source else posixpath.dirname(asset.source)  # the file is included
        data, path = model.budget.files.open(asset, home, beside)
        if path in model.above:
            raise asset.error(f"a cycle of models: {' -> '.join([*model.above, path])}")
        if len(model.above) > MAX_MODELS_DEEP:
            raise asset.error(f"models attached within models, more than {MAX_MODELS_DEEP} deep")
        if path in model.loaded and name in (asset.get("name"), model.loaded[path].name):
            return model.loaded[path], element, path
        root = model.budget.files.document(data, path, path)
        if name in (asset.get("name"), root.get("model")):
            return None, root, path
    names = [asset.get("name") or "" for asset in model.submodels]
    raise element.error(f"there is no <asset><model name={name!r}>{close_names(name, names)}")


def _format_hint(tag: str) -> str:
    if tag == "mujocoinclude":
        return ": this is a part for other files to <include>; load the file that does"
    if tag.lower() == "mujoco":
        return "; upper and lower case matter"
    formats = {"sdf": "SDF", "robot": "URDF"}
    return f": this is {formats[tag]}" if tag in formats else ""
