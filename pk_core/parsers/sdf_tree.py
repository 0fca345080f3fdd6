"""From the links and joints of an SDF file to one tree below the world: what hangs on nothing hangs on the world."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ..errors import ModelError
from ..model import Axis, Joint, JointType, Link, Mimic
from ..pose import Pose

WORLD: Final = "world"  # no link of SDF has this name

_ONE_WAY = (JointType.BALL, JointType.UNIVERSAL)  # their inverse motion is no joint of the same type


def hang_on_world(
    links: Sequence[Link], joints: Sequence[Joint], at_rest: Mapping[str, Pose], source: str
) -> list[Joint]:
    """Give the joints of one tree with the world as root.

    A joint whose child is the world is turned round with those above it. A link that is no joint's child then is fixed
    to the world where it rests, by a hidden joint.

    Args:
        at_rest: `T_world_link` of each link.

    Raises:
        ModelError: a link is the child of two joints, or a joint can't be turned round.
    """
    joints = _turned_to_world(joints, source)
    held = _parents(joints, source)
    hidden = [_hidden_joint(link, at_rest[link.name]) for link in links if link.name not in held]
    return _in_order_of_links(links, joints, hidden)


def _turned_to_world(joints: Sequence[Joint], source: str) -> list[Joint]:
    """Turn every joint round that has the world as child, and those between its parent and that one's root."""
    if all(joint.child != WORLD for joint in joints):
        return list(joints)
    above = {joint.child: index for index, joint in enumerate(joints)}
    turned = list(joints)
    for index, joint in enumerate(joints):
        if joint.child != WORLD:
            continue
        at: int | None = index
        while at is not None and turned[at] is joints[at]:
            turned[at] = _reversed(joints[at], source)
            at = above.get(joints[at].parent)
    return turned


def _reversed(joint: Joint, source: str) -> Joint:
    """Swap parent and child: the inverse of a motion about an axis is the same motion about the negated axis."""
    if joint.type in _ONE_WAY:
        message = f"{joint.type.value} joint {joint.name!r} leads up to the world; make the world its parent"
        raise _error(joint, message, source)
    axes = tuple(replace(axis, direction=tuple(-c for c in axis.direction)) for axis in joint.axes)
    origin, offset = joint.child_offset.inverse(), joint.origin.inverse()
    return replace(joint, parent=joint.child, child=joint.parent, origin=origin, axes=axes, child_offset=offset)


def _parents(joints: Iterable[Joint], source: str) -> dict[str, Joint]:
    parents: dict[str, Joint] = {}
    for joint in joints:
        first = parents.setdefault(joint.child, joint)
        if first is not joint:
            message = (
                f"joint {joint.name!r} closes a loop: link {joint.child!r} is the child of joint {first.name!r} too; "
                "a tree has one joint above each link"
            )
            raise _error(joint, message, source)
    return parents


def _hidden_joint(link: Link, at_rest: Pose) -> Joint:
    name = f"__{WORLD}_{link.name}__"  # names of this form are reserved
    return Joint(name, JointType.FIXED, WORLD, link.name, origin=at_rest, hidden=True, line=link.line)


def _in_order_of_links(links: Sequence[Link], joints: Sequence[Joint], hidden: Sequence[Joint]) -> list[Joint]:
    """Put the hidden joints where the children of the world are in the order of their links, as far as they can be."""
    position = {link.name: index for index, link in enumerate(links)}
    waiting = list(hidden[::-1])
    ordered: list[Joint] = []
    for joint in joints:
        while joint.parent == WORLD and waiting and position[waiting[-1].child] < position[joint.child]:
            ordered.append(waiting.pop())
        ordered.append(joint)
    return ordered + waiting[::-1]


def split_followers(links: Sequence[Link], joints: Sequence[Joint]) -> tuple[list[Link], list[Joint]]:
    """Make two revolute joints of each universal joint of which one axis follows another joint and one moves by itself.

    Their names are those of its coordinates, `joint/0` and `joint/1`; the link between them is hidden.
    """
    halves = {joint.name: _halves(joint) for joint in joints if _follows_by_half(joint)}
    if not halves:
        return list(links), list(joints)
    between = [Link(first.child, hidden=True, line=first.line) for first, _ in halves.values()]
    split = [part for joint in joints for part in halves.get(joint.name, (joint,))]
    return [*links, *between], [_with_leaders(joint, halves) for joint in split]


def _follows_by_half(joint: Joint) -> bool:
    return len({axis.mimic is None for axis in joint.axes}) == 2


def _halves(joint: Joint) -> tuple[Joint, Joint]:
    middle = f"__{joint.name}__"  # names of this form are reserved
    first, second = (
        replace(joint, name=f"{joint.name}/{index}", type=JointType.REVOLUTE, axes=(axis,))
        for index, axis in enumerate(joint.axes)
    )
    return replace(first, child=middle, child_offset=Pose()), replace(second, parent=middle, origin=Pose())


def _with_leaders(joint: Joint, halves: Mapping[str, tuple[Joint, Joint]]) -> Joint:
    """Let followers follow the halves of a joint that was split."""

    def renamed(axis: Axis) -> Axis:
        mimic = axis.mimic
        if mimic is None or mimic.joint not in halves:
            return axis
        return replace(axis, mimic=Mimic(halves[mimic.joint][mimic.axis].name, mimic.multiplier, mimic.offset))

    return replace(joint, axes=tuple(map(renamed, joint.axes)))


def _error(joint: Joint, message: str, source: str) -> ModelError:
    return ModelError(message, line=joint.line, element=f'joint name="{joint.name}"', source=source)
