"""Attributes of MJCF elements: what an element writes itself, on top of what its default class writes for it.

https://mujoco.readthedocs.io/en/stable/modeling.html#default-settings
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ..names import close_names, meant_tag
from ..numbers import numbers
from ..xml import Element

ORIENTATIONS: Final = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
_OWN: Final = ("name", "class")  # never inherited
_WITH_CLASSES: Final = ("joint", "geom", "site", "equality", "mesh", "material")
_NEVER_IN_CLASSES: Final = ("body", "frame", "freejoint", "inertial", "replicate", "attach", "worldbody")

_POSE: Final = ("name", "pos", *ORIENTATIONS)
KNOWN: Final[
    dict[str, tuple[str, ...]]
] = {  # the attributes of elements that place links, those of old versions included
    "compiler": (
        *(
            "angle",
            "eulerseq",
            "autolimits",
            "coordinate",
            "alignfree",
            "fusestatic",
            "meshdir",
            "assetdir",
            "texturedir",
        ),
        *("boundmass", "boundinertia", "settotalmass", "balanceinertia", "inertiafromgeom", "inertiagrouprange"),
        *("strippath", "fitaabb", "discardvisual", "usethread", "conflict", "passthrough"),
        *("saveinertial", "savecompiled", "savecanonical", "convexhull", "exactmeshinertia"),
    ),
    "worldbody": (),
    "body": (*_POSE, "childclass", "mocap", "gravcomp", "sleep", "simple", "fuse", "user"),
    "frame": (*_POSE, "childclass", "scale", "scaling", "massscale"),
    "site": (*_POSE, "class", "type", "mesh", "group", "fromto", "material", "size", "rgba", "user"),
    "joint": (
        *("name", "class", "type", "group", "pos", "axis", "ref", "range", "limited", "user"),
        *("actuatorfrcrange", "actuatorfrclimited", "actuatorgravcomp", "actuatorforcerange", "actuatorforcelimited"),
        *("springdamper", "springref", "springyield", "stiffness", "damping", "frictionloss", "armature", "margin"),
        *("solreflimit", "solimplimit", "solreffriction", "solimpfriction"),
    ),
    "freejoint": ("name", "group", "align"),
    "replicate": ("count", "sep", "offset", "euler", "childclass"),
    "attach": ("model", "body", "frame", "prefix"),
    "include": ("file",),
}

Values = dict[str, tuple[str, Element]]  # attribute -> its text, and the element that wrote it


@dataclass(frozen=True)
class Attributes:
    """The attributes of an element, those inherited included; errors name the element that wrote the wrong one."""

    element: Element
    values: Values

    @staticmethod
    def of(element: Element) -> Attributes:
        """Take what an element writes itself."""
        return Attributes(element, {name: (text, element) for name, text in element.attributes.items()})

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def numbers(
        self, name: str, size: int | None, default: Sequence[float] | None = None, *, infinite: bool = False
    ) -> tuple[float, ...]:
        """Read so many numbers, any number of them for None; raises ParseError, also where there is no default."""
        if name not in self.values:
            if default is None:
                self.element.required(name)
            return tuple(default or ())
        text, writer = self.values[name]
        return numbers(text, writer, name, size=size, infinite=infinite)

    def number(self, name: str, default: float) -> float:
        """Read one number; raises ParseError."""
        return self.numbers(name, 1, (default,))[0]

    def keyword(self, name: str, valid: Sequence[str], default: str) -> str:
        """Read one of several words; raises ParseError."""
        text, writer = self.values.get(name, (default, self.element))
        if text not in valid:
            raise writer.error(f"{name}: unknown keyword {text[:60]!r}; valid: {', '.join(valid)}")
        return text

    def flag(self, name: str, default: bool = False) -> bool:
        """Read `true` or `false`; raises ParseError."""
        return self.keyword(name, ("false", "true"), "true" if default else "false") == "true"

    def text(self, name: str) -> str:
        """Give an attribute as written, "" where there is none."""
        return self.values[name][0] if name in self.values else ""


@dataclass
class Defaults:
    """The default classes of one model; `main` is what every other one starts from."""

    classes: dict[str, dict[str, Values]] = field(default_factory=lambda: {"main": {}})

    def attributes(self, element: Element, childclass: str, tag: str = "") -> Attributes:
        """Give an element's attributes over those of its class: its own, else the one that its parents ask for.

        Args:
            tag: how classes call such an element, if not by its tag.

        Raises:
            ParseError: an unknown class.
        """
        name = element.get("class")
        values = self.classes[childclass if name is None else self.known(name, element)]
        return Attributes(element, _overlaid(values.get(tag or element.tag, {}), element))

    def known(self, name: str, element: Element) -> str:
        """Give back the name of a class; raises ParseError where there is no such class."""
        if name not in self.classes:
            raise element.error(f"unknown default class {name!r}{close_names(name, self.classes)}")
        return name


def read_defaults(sections: Sequence[Element]) -> Defaults:
    """Read the `<default>`s of a model.

    A class starts from what its parent says where the class begins; the top-level ones all add to `main`, one after the
    other, whatever they call themselves.

    Raises:
        ParseError: a nested class without a name, or with one used before.
    """
    defaults = Defaults()
    for section in sections:
        table = defaults.classes["main"]
        defaults.classes.setdefault(section.get("class") or "main", table)
        if defaults.classes[section.get("class") or "main"] is not table:
            raise section.error(f"class {section.get('class')!r} is defined twice")
        pending = [(section, table)]
        while pending:
            element, table = pending.pop()
            _add_own(element, table)
            # Nested classes come last, wherever they stand: they inherit all that their parent says.
            nested = [(child, _new_class(child, table, defaults)) for child in element.all("default")]
            pending += reversed(nested)
    return defaults


def _add_own(section: Element, table: dict[str, Values]) -> None:
    for child in section.children:
        if child.tag in _WITH_CLASSES:
            if child.tag in KNOWN:
                refuse_unknown(child)
            table[child.tag] = _overlaid(table.get(child.tag, {}), child)
        elif child.tag in _NEVER_IN_CLASSES:
            raise child.error(f"<{child.tag}> has no default; valid: {', '.join(_WITH_CLASSES)} and what moves nothing")
        elif child.tag != "default":
            refuse_misspelt(child, (*_WITH_CLASSES, "default"))


def _new_class(element: Element, parent: dict[str, Values], defaults: Defaults) -> dict[str, Values]:
    name = element.get("class")
    if not name:
        raise element.error("a nested <default> needs a class to be known by: <default class=...>")
    if name in defaults.classes:
        raise element.error(f"class {name!r} is defined twice")
    defaults.classes[name] = dict(parent)
    return defaults.classes[name]


def _overlaid(inherited: Mapping[str, tuple[str, Element]], element: Element) -> Values:
    own = {name: (text, element) for name, text in element.attributes.items() if name not in _OWN}
    if any(name in own for name in ORIENTATIONS):  # one orientation replaces another, however both are written
        inherited = {name: value for name, value in inherited.items() if name not in ORIENTATIONS}
    return {**inherited, **own}


def refuse_unknown(element: Element) -> None:
    """Refuse an attribute that MJCF does not have there: it may be meant to move a link, and would be ignored."""
    known = KNOWN[element.tag]
    for name in element.attributes:
        if name not in known and ":" not in name and name != "xmlns":
            close = difflib.get_close_matches(name[:40].lower(), known, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f"; valid: {', '.join(known) or 'none'}"
            raise element.error(f"unknown attribute {name[:60]!r}{hint}")


def refuse_misspelt(element: Element, known: tuple[str, ...]) -> None:
    """Refuse an element whose tag is a known one but for upper and lower case, or a letter."""
    meant = meant_tag(element.tag, known)
    if meant:
        raise element.error(f"unknown element; did you mean <{meant}>?")
