"""From the links and joints of an SDF file to one tree below the world: what hangs on nothing hangs on the world."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from ...errors import ModelError
from ...model import Axis, Joint, JointType, Link, Mimic
from ...pose import Pose

WORLD: Final = "world"  # no link of SDF has this name

_ONE_WAY = (JointType.BALL, JointType.UNIVERSAL)  # their inverse motion is no joint of the same type


def hang_on_world(
    links: Sequence[Link], joints: Sequence[Joint], at_rest: Mapping[str, Pose], source: str
) -> list[Joint]:
    """Give the joints of one tree with the world as root.

    Of links that joints join to each other but not to the world, the first that is no joint's child is fixed to the world
    where it rests, by a hidden joint. A joint whose parent then stands below its child is turned round.

    Args:
        at_rest: `T_world_link` of each link.

    Raises:
        ModelError: joints close a loop, or a joint can't be turned round.
    """
    _refuse_loops(joints, source)
    ends: dict[str, list[int]] = {}
    for index, joint in enumerate(joints):
        ends.setdefault(joint.parent, []).append(index)
        ends.setdefault(joint.child, []).append(index)
    oriented, hidden = list(joints), []
    reached: set[str] = set()
    children = {joint.child for joint in joints}
    _orient(WORLD, ends, oriented, reached, source)
    for link in links:
        if link.name not in children and link.name not in reached:
            hidden.append(_hidden_joint(link, at_rest[link.name]))
            _orient(link.name, ends, oriented, reached, source)
    return _in_order_of_links(links, oriented, hidden)


def _orient(root: str, ends: Mapping[str, Sequence[int]], joints: list[Joint], reached: set[str], source: str) -> None:
    """Turn the joints that lead away from a root so that their parents are nearer to it."""
    reached.add(root)
    stack = [root]
    while stack:
        link = stack.pop()
        for index in ends.get(link, ()):
            joint = joints[index]
            other = joint.child if joint.parent == link else joint.parent
            if other not in reached:
                reached.add(other)
                stack.append(other)
                if joint.parent != link:
                    joints[index] = _reversed(joint, source)


def _refuse_loops(joints: Iterable[Joint], source: str) -> None:
    """Join links into groups joint by joint, and refuse the first joint whose ends are in one group already."""
    group: dict[str, str] = {}

    def find(link: str) -> str:
        way = []
        while group.get(link, link) != link:
            way.append(link)
            link = group[link]
        group.update(dict.fromkeys(way, link))
        return link

    for joint in joints:
        parent, child = find(joint.parent), find(joint.child)
        if parent == child:
            message = (
                f"joint {joint.name!r} closes a loop: joints lead from {joint.parent!r} to {joint.child!r} already; "
                "leave one of them out, a tree has one way to each link"
            )
            raise _error(joint, message, source)
        group[child] = parent


def _reversed(joint: Joint, source: str) -> Joint:
    """Swap parent and child: the inverse of a motion about an axis is the same motion about the negated axis."""
    if joint.type in _ONE_WAY:
        message = f"{joint.type.value} joint {joint.name!r} leads up to {joint.child!r}; swap its parent and child"
        raise _error(joint, message, source)
    axes = tuple(replace(axis, direction=tuple(-c for c in axis.direction)) for axis in joint.axes)
    origin, offset = joint.child_offset.inverse(), joint.origin.inverse()
    return replace(joint, parent=joint.child, child=joint.parent, origin=origin, axes=axes, child_offset=offset)


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
