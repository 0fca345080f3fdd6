"""Frames of SDF: where every model, link, joint and frame is at rest, and which link it moves with.

Source: http://sdformat.org/tutorials?tut=pose_frame_semantics and its proposal; libsdformat for what they leave open.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import ParseError
from ...pose import IDENTITY, Pose
from ..xml import Element
from .scopes import Item, Names
from .values import child_text, read_pose, relative_to, truth


class Frames:
    """The poses of all items of a file, and the links that carry them.

    Raises, when made:
        ParseError: a reference to a name that is not there, a cycle of references, a pose that can't be read.
    """

    def __init__(self, names: Names) -> None:
        self.names = names
        self._bases: dict[Item, Item] = {}
        self._edges: dict[Item, Pose] = {}
        self._in_owner: dict[Item, Pose] = {}
        self._in_world: dict[Item, Pose] = {names.world: IDENTITY}
        self._bodies: dict[Item, Item] = {names.world: names.world}
        for item in names.items:
            self._place(item)
        for item in names.items:
            self.body(item)

    def in_world(self, item: Item) -> Pose:
        """Give `T_world_item` with all joints at zero."""
        way = []
        while item not in self._in_world:
            way.append(item)
            item = item.scope.owner
        for lower in reversed(way):
            self._in_world[lower] = _times(self._in_world[lower.scope.owner], self._in_owner[lower])
        return self._in_world[way[0] if way else item]

    def between(self, a: Item, b: Item) -> Pose:
        """Give `T_a_b` of two items; as it is written, where the pose of one is relative to the other."""
        written = self._written(a, b)
        if written is not None:
            return written
        written = self._written(b, a)
        if written is not None:
            return _inverse(written)
        if a.scope is b.scope:  # without the model's own pose there is less to round
            return _times(_inverse(self._in_owner[a]), self._in_owner[b])
        return _times(_inverse(self.in_world(a)), self.in_world(b))

    def _written(self, a: Item, b: Item, most: int = 3) -> Pose | None:
        """Multiply the poses of the file from a to b, None where b is not relative to a in a few steps."""
        pose = IDENTITY
        for _ in range(most):
            if a is b or b not in self._bases:
                break
            pose, b = _times(self._edges[b], pose), self._bases[b]
        return pose if a is b else None

    def body(self, item: Item) -> Item:
        """Give the link that an item moves with, or the world."""
        way: dict[Item, None] = {}
        while item.kind != "link" and item not in self._bodies:
            if item in way:
                path = list(way)
                raise item.model_error(f"a cycle of attachments: {_round(path[path.index(item) :])}")
            way[item] = None
            item = self._carrier(item)
        body = self._bodies.get(item, item)
        self._bodies.update(dict.fromkeys(way, body))
        return body

    def reference(self, item: Item, name: str, element: Element, what: str) -> Item:
        """Find what a name in the declaration of an item refers to.

        Args:
            element: where the name stands, for errors.
            what: what it is there, for errors: `relative_to`, `child`...

        Raises:
            ModelError: no such thing in the item's scope.
        """
        found = self.names.find(item.scope, name)
        if found is None:
            message = f"{what} {name!r} of {item.label} is no link, joint, frame or model in {item.scope.owner.label}"
            message += self.names.hint(item.scope, name)
            raise item.model_error(message, element)
        return found

    def _carrier(self, item: Item) -> Item:
        """Give what an item is attached to: a joint to its child, a model to its canonical link."""
        if item.kind == "joint":
            return self.child(item)
        if item.kind == "frame":
            name = item.element.get("attached_to", "").strip()
            return self.reference(item, name, item.element, "attached_to") if name else item.scope.owner
        return self._canonical(item)

    def child(self, joint: Item) -> Item:
        """Give the frame that a joint's `<child>` names."""
        return self._joint_end(joint, "child")

    def parent(self, joint: Item) -> Item:
        """Give the frame that a joint's `<parent>` names."""
        return self._joint_end(joint, "parent")

    def _joint_end(self, joint: Item, which: str) -> Item:
        element = joint.element.child(which)
        name = "" if element is None else element.text.strip()
        if not name:
            raise (joint.element if element is None else element).error(f"{joint.label} has no <{which}>")
        if name == "world":
            return self.names.world
        return self.reference(joint, name, element, which)

    def _canonical(self, model: Item) -> Item:
        """Give a model's canonical link: the one it names, else its first link, else that of its first nested model."""
        element = model.element
        name = element.get("canonical_link", "").strip()
        if name:
            link = self.names.find(model.inside, name)
            if link is None or link.kind != "link":
                raise model.model_error(f"canonical_link {name!r} of {model.label} is no link of it")
            return link
        first = _first_part(element, self.names)
        if first is None and not truth(child_text(element, "static"), element, "static"):
            raise model.model_error(f"{model.label} has no link; only a static model may have none")
        return self.names.world if first is None else first

    def _place(self, start: Item) -> None:
        """Compute `T_owner_item` of an item, and before of all that it needs; owner is the model it is declared in."""
        open_: dict[Item, None] = {}
        stack = [start]
        while stack:
            item = stack[-1]
            missing = [] if item in self._in_owner else [n for n in self._needs(item) if n not in self._in_owner]
            cycle = next((other for other in missing if other in open_ or other is item), None)
            if cycle is not None:
                raise self._cycle(item, cycle, list(open_))
            if missing:
                open_[item] = None
                stack.extend(missing)
                continue
            stack.pop()
            open_.pop(item, None)
            if item not in self._in_owner:
                self._in_owner[item] = self._compose(item)

    def _cycle(self, item: Item, first: Item, path: list[Item]) -> ParseError:
        cycle = path[path.index(first) :] if first in path else []
        cycle = list(dict.fromkeys([*cycle, item]))
        return item.model_error(f"a cycle of poses: {_round(cycle)}", item.element.child("pose"))

    def _needs(self, item: Item) -> list[Item]:
        needs = self._chain(self._base(item), item.scope.owner)
        placement = self._placement(item)
        return needs if placement is None else needs + self._chain(placement, item)

    def _compose(self, item: Item) -> Pose:
        edge = read_pose(item.element.child("pose"))
        placement = self._placement(item)
        if placement is not None:
            # The pose of a model with a placement frame F is that of F: T_base_model = T_base_F @ T_model_F^-1.
            edge = _times(edge, _inverse(self._up(placement, item)))
        self._edges[item] = edge
        return _times(self._up(self._base(item), item.scope.owner), edge)

    def _chain(self, item: Item, owner: Item) -> list[Item]:
        """Give the items whose poses, each in its own model, make up the pose of an item in a model around it."""
        if item.kind == "world":  # a joint with the world as child stands in it, whatever model declares it
            item, owner = owner, item
        chain = []
        while item is not owner:
            chain.append(item)
            item = item.scope.owner
        return chain

    def _up(self, item: Item, owner: Item) -> Pose:
        """Give `T_owner_item`."""
        if item.kind == "world" and owner is not item:
            return _inverse(self._up(owner, item))
        pose = IDENTITY
        for part in self._chain(item, owner):
            pose = _times(self._in_owner[part], pose)
        return pose

    def _placement(self, item: Item) -> Item | None:
        name = item.element.get("placement_frame", "").strip() if item.kind == "model" else ""
        if not name:
            return None
        found = self.names.find(item.inside, name)
        if found is None:
            hint = self.names.hint(item.inside, name)
            raise item.model_error(f"placement_frame {name!r} of {item.label} is nothing in it{hint}")
        return found

    def _base(self, item: Item) -> Item:
        """Give what the `<pose>` of an item is relative to."""
        if item not in self._bases:
            pose = item.element.child("pose")
            name = relative_to(pose, item.scope.version)
            if name:
                base = self.reference(item, name, pose, "relative_to")
            elif item.kind in ("joint", "frame"):
                base = self._carrier(item)
            else:
                base = item.scope.owner
            self._bases[item] = base
        return self._bases[item]


def _first_part(element: Element, names: Names) -> Item | None:
    """Give the first link of a model, what is merged into it included, else its first nested model."""
    models = []
    stack = [element]
    while stack:
        part = stack.pop()
        item = names.item_of(part)
        if item.kind == "link":
            return item
        if part is element or item.inside.joins:
            stack.extend(child for child in reversed(part.children) if child.tag in ("link", "model"))
        else:
            models.append(item)
    return models[0] if models else None


def _round(cycle: Sequence[Item], most: int = 10) -> str:
    labels = [item.label for item in cycle]
    shown = labels if len(labels) <= most else [*labels[:most], f"{len(labels) - most} more"]
    return " -> ".join([*shown, labels[0]])


def _times(a: Pose, b: Pose) -> Pose:
    return b if a is IDENTITY else a if b is IDENTITY else a @ b


def _inverse(pose: Pose) -> Pose:
    return IDENTITY if pose == IDENTITY else pose.inverse()
