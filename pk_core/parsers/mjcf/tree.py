"""The bodies of an MJCF model, with frames, copies and attached models: `<worldbody>` to `parts.py`.

https://mujoco.readthedocs.io/en/stable/XMLreference.html#body
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from ...pose import IDENTITY, Pose
from ..names import close_names
from ..xml import Element
from .attributes import Attributes, refuse_misspelt, refuse_unknown
from .joint import read_freejoint, read_joint
from .model import MAX_COPIES, Budget, Model, open_submodel, read_sections
from .parts import Body, Group, Part, SitePart
from .shapes import read_geom, read_inertial, read_pose

_log = logging.getLogger(__name__)

_RIDES_ALONG: Final = ("camera", "light", "plugin")


@dataclass(frozen=True)
class _Place:
    """Where elements are being read.

    Attributes:
        part: the body or group being read.
        outer: where it stands itself; None for the world.
        childclass: the class of elements that name none.
        world: whether the body is the world.
        copied: whether joints would be copied into the body around a `<replicate>`.
        copies: what takes the place of the group being read, once it is read.
    """

    model: Model
    part: Body | Group
    outer: _Place | None = None
    childclass: str = "main"
    world: bool = True
    copied: bool = False
    copies: tuple[Group, ...] = ()

    @property
    def content(self) -> list[Part]:
        """What the parts read are added to."""
        return self.part.content

    def is_inside(self, part: Part) -> bool:
        """Say whether a body or group is not read to its end."""
        place: _Place | None = self
        while place is not None and place.part is not part:
            place = place.outer
        return place is not None


_Entry = tuple[Iterator[Element], _Place]


def read_model(root: Element, path: str, budget: Budget, above: tuple[str, ...] = ()) -> Model:
    """Read a document with its bodies.

    Args:
        path: of its file, relative to the top file.
        above: the paths of the models that led here by attaching.

    Raises:
        ParseError: an element or attribute that can't be read, or is not MJCF.
    """
    model = read_sections(root, path, (*above, path), budget)
    for worldbody in model.worldbodies:
        _read_content(worldbody, _Place(model, model.world))
    return model


def _read_content(element: Element, place: _Place) -> None:
    stack: list[_Entry] = [(iter(element.children), place)]
    while stack:
        elements, place = stack[-1]
        child = next(elements, None)
        if child is None:
            stack.pop()
            if place.copies:
                stack[-1][1].content[-1:] = place.copies
        elif child.tag in _READERS:
            below = _READERS[child.tag](child, place)
            if below is not None:
                stack.append((iter(child.children), below))
        elif child.tag not in _RIDES_ALONG and ":" not in child.tag:
            refuse_misspelt(child, tuple(_READERS))
            raise child.error(f"unknown element of a body; valid: {', '.join(_READERS)}")


def _body(element: Element, place: _Place) -> _Place:
    refuse_unknown(element)
    attributes = Attributes.of(element)
    pose = place.model.compiler.pose(attributes)
    body = Body(element, element.get("name", ""), pose, mocap=attributes.flag("mocap"))
    return replace(_below(element, place, body), world=False, copied=False)


def _frame(element: Element, place: _Place) -> _Place:
    refuse_unknown(element)
    attributes = Attributes.of(element)
    if any(factor != 1.0 for name in ("scale", "massscale") for factor in attributes.numbers(name, None, ())):
        raise element.error("scale and massscale of a <frame> are not supported; save the model scaled")
    group = Group(element, element.get("name", ""), place.model.compiler.pose(attributes))
    return _below(element, place, group)


def _replicate(element: Element, place: _Place) -> _Place:
    """Make a group for each copy, all with the same content, which is read once."""
    refuse_unknown(element)
    attributes, compiler = Attributes.of(element), place.model.compiler
    count = attributes.numbers("count", 1)[0]
    if count != int(count) or not 1 <= count <= MAX_COPIES:
        raise element.error(f"count {count:g} is no whole number from 1 to {MAX_COPIES}")
    offset, euler = (attributes.numbers(name, 3, (0.0, 0.0, 0.0)) for name in ("offset", "euler"))
    place.model.budget.spend(element, int(count))
    once = Group(element, "")
    copies, xyz, width = [], (0.0, 0.0, 0.0), len(str(int(count)))
    for k in range(int(count)):
        # The offset is taken in the frame of the copy before; the angles are multiplied, not the turns.
        pose = Pose.from_xyz_wxyz(xyz, compiler.rotation([k * angle for angle in euler]))
        copies.append(replace(once, pose=pose, suffix=f"{element.get('sep', '')}{k:0{width}d}"))
        xyz = pose.apply(offset)
    return replace(_below(element, place, once), copied=True, copies=tuple(copies))


def _below(element: Element, place: _Place, part: Body | Group) -> _Place:
    place.content.append(part)
    childclass = element.get("childclass")
    return replace(
        place,
        part=part,
        outer=place,
        childclass=place.childclass if childclass is None else place.model.defaults.known(childclass, element),
        copies=(),
    )


def _attach(element: Element, place: _Place) -> None:
    refuse_unknown(element)
    if "prefix" not in element.attributes:
        element.required("prefix")
    group = Group(element, "", prefix=element.get("prefix", ""))
    wanted = [name for name in ("body", "frame") if element.get(name)]
    if len(wanted) > 1:
        raise element.error("both body and frame; write one of them")
    model = _model_to_attach(element, place.model) if element.get("model") else place.model
    if wanted:
        group.content.append(_part_to_attach(element, wanted[0], model, place))
    elif model is place.model:
        raise element.error("attach needs a model, or a body or frame of this one")
    else:
        group.content.extend(model.world.content)
    place.content.append(group)


def _model_to_attach(element: Element, model: Model) -> Model:
    found, root, path = open_submodel(model, element.required("model"), element)
    if found is None:
        found = read_model(root, path, model.budget, model.above)
        model.loaded[path] = found
    return found


def _part_to_attach(element: Element, kind: str, model: Model, place: _Place) -> Part:
    name = element.required(kind)
    found = model.find(Body if kind == "body" else Group, name)
    if found is None:
        parts = [part for part, _ in model.walk() if isinstance(part, Body if kind == "body" else Group)]
        where = f"model {element.get('model')!r}" if element.get("model") else "what this model holds so far"
        raise element.error(f"there is no {kind} {name!r} in {where}{close_names(name, [p.name for p in parts])}")
    part, scope = found
    if place.is_inside(part):
        raise element.error(f"{kind} {name!r} can't be attached inside itself")
    if not (scope.prefix or scope.suffix):
        return part
    return Group(element, "", IDENTITY, [part], scope.prefix, scope.suffix)


def _joint(element: Element, place: _Place) -> None:
    _refuse_joint(element, place)
    model = place.model
    joint = read_joint(model.defaults.attributes(element, place.childclass), model.compiler)
    place.content.append(replace(joint, owner=model))


def _freejoint(element: Element, place: _Place) -> None:
    _refuse_joint(element, place)
    place.content.append(replace(read_freejoint(element, place.model.compiler), owner=place.model))


def _refuse_joint(element: Element, place: _Place) -> None:
    if place.world:
        raise element.error("the world has no joints; put it into a <body>")
    if place.copied:
        raise element.error("a joint can't stand in a <replicate> itself; put it into a <body>")


def _site(element: Element, place: _Place) -> None:
    attributes = place.model.defaults.attributes(element, place.childclass)
    refuse_unknown(element)
    pose = read_pose(attributes, place.model.compiler)
    if element.get("name"):  # one without a name can't be asked for
        place.content.append(SitePart(element, element.required("name"), pose))


def _geom(element: Element, place: _Place) -> None:
    model = place.model
    place.content.append(read_geom(element, place.childclass, model.defaults, model.assets, model.compiler))


def _inertial(element: Element, place: _Place) -> None:
    part = read_inertial(element, place.model.compiler)
    if part is not None:
        place.content.append(part)


def _flexcomp(element: Element, _: _Place) -> None:
    _log.warning("%s", element.error("the particles of a <flexcomp> move no body, and are left out"))


def _composite(element: Element, _: _Place) -> None:
    raise element.error("<composite> is not supported, as in MuJoCo from 4.0 on; save the model with its bodies")


_READERS: dict[str, Callable[[Element, _Place], _Place | None]] = {
    "body": _body,
    "frame": _frame,
    "joint": _joint,
    "freejoint": _freejoint,
    "site": _site,
    "geom": _geom,
    "inertial": _inertial,
    "replicate": _replicate,
    "attach": _attach,
    "flexcomp": _flexcomp,
    "composite": _composite,
}
