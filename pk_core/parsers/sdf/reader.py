"""Read SDF (SDFormat) 1.0 to 1.12, as http://sdformat.org/spec and libsdformat define it.

`docs/formats.md` says what is read, what is ignored because it can't move a link, and what is refused.
"""

from __future__ import annotations

from ...model import Frame, Link, Robot
from ...validation import assemble
from ..xml import Element
from .frames import Frames
from .include import ReadInclude, expand_includes
from .joints import read_joint
from .link import read_link
from .scopes import MODEL_FRAME, ModelSource, Names, read_model, read_world
from .tree import WORLD, hang_on_world, split_followers
from .values import SEPARATOR, relative_to
from .versions import parse_document


def parse_sdf(data: str | bytes, *, source: str = "", read_include: ReadInclude | None = None) -> Robot:
    """Read a robot from the text of an SDF file with one `<model>` or one `<world>`.

    The root is the world: a hidden link and a frame called "world". Links that no joint holds are fixed to it.

    Args:
        data: text or bytes of the file.
        source: name of the file, for errors and for `read_include`.
        read_include: gives what an `<include>` names; without it includes are refused.

    Raises:
        ParseError: not XML, or not SDF: with file, line and element.
        ModelError: a name that is used twice or means nothing, a cycle of poses, joints that close a loop...
    """
    root, version = parse_document(data, source=source)
    sources = expand_includes(root, version, read_include)
    top = _top_element(root)
    if top.tag == "world":
        names = read_world(top, version, sources)
        if not names.of_kind("model"):
            raise top.error("the world has no model")
    else:
        _refuse_relative_pose(top, sources.get(id(top), ModelSource(version)))
        names = read_model(top, version, sources)
    return _assemble(top.get("name", "").strip(), names, source)


def _top_element(root: Element) -> Element:
    """Give the one `<model>` or `<world>` of a file."""
    tops = [child for child in root.children if child.tag in ("model", "world")]
    if not tops:
        raise root.error("holds no <model> and no <world>")
    if len(tops) > 1:
        found = ", ".join(f"{top.tag} {top.get('name', '')!r}" for top in tops[:10])
        raise tops[1].error(f"a file holds one <model> or one <world>, found {len(tops)}: {found}")
    return tops[0]


def _refuse_relative_pose(model: Element, source: ModelSource) -> None:
    pose = model.child("pose")
    name = relative_to(pose, source.version)
    if name:
        raise pose.error(f"relative_to {name!r}: nothing is around a model that stands alone")


def _assemble(name: str, names: Names, source: str) -> Robot:
    frames = Frames(names)
    items = names.of_kind("link")
    at_rest = {item.name: frames.in_world(item) for item in items}
    links = [read_link(item, frames) for item in items]
    joints = [read_joint(item, frames) for item in names.of_kind("joint")]
    joints = hang_on_world(links, joints, at_rest, source)
    links, joints = split_followers([Link(WORLD, hidden=True), *links], joints)
    return assemble(name, links, joints, [Frame(WORLD, WORLD), *_extra_frames(names, frames)], source=source)


def _extra_frames(names: Names, frames: Frames) -> list[Frame]:
    extra = []
    for item in names.of_kind("frame"):
        if item.name.split(SEPARATOR)[-1] != MODEL_FRAME:  # a nested model that was written flat
            body = frames.body(item)
            extra.append(Frame(item.name, body.name, frames.between(body, item)))
    return extra
