"""A part of a robot as a robot: what hangs from one link."""

from __future__ import annotations

from .errors import UnknownLink
from .model import Robot
from .validation import validate


def subtree(robot: Robot, root: str | int) -> Robot:
    """Give the links below one link, which becomes the root, with their joints and frames.

    Args:
        root: name of the link, or its number among those that have a name for users.

    Raises:
        UnknownLink: no such link.
        ModelError: a joint follows one that is left out.
    """
    names = [link.name for link in robot.links if not link.hidden]
    if isinstance(root, int) and 0 <= root < len(names):
        root = names[root]
    if root not in names:
        raise UnknownLink("link", root, names)
    inside = {root}
    for link, joint in robot.walk():  # parents come before their children
        if joint is not None and joint.parent in inside:
            inside.add(link.name)
    return validate(
        Robot(
            robot.name,
            tuple(link for link in robot.links if link.name in inside),
            tuple(joint for joint in robot.joints if joint.parent in inside),
            root,
            tuple(frame for frame in robot.frames if frame.link in inside),
        )
    )
