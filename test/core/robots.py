"""Chains that several tests stand on: the embedded robots, and tiny ones named for what they isolate."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import torch

from pk_core import Chain, Robot, SerialChain, parse_urdf, validate
from pk_core.model import Axis, Frame, Joint, JointType, Link, Mimic
from pk_core.pose import Pose

ROBOTS = Path(__file__).parents[2] / "config" / "robots"


@cache
def text(name: str) -> str:
    """Read an embedded robot's URDF."""
    return (ROBOTS / f"{name}.urdf").read_text()


def chain(name: str, dtype: torch.dtype = torch.float64) -> Chain:
    """Build an embedded robot."""
    return Chain(parse_urdf(text(name)), dtype=dtype)


def panda(dtype: torch.dtype = torch.float64) -> SerialChain:
    """Build the Panda's arm up to its hand."""
    return SerialChain(chain("panda", dtype), "panda_hand_tcp")


def ur5e(dtype: torch.dtype = torch.float64) -> SerialChain:
    """Build the UR5e's arm up to its tool."""
    return SerialChain(chain("ur5e", dtype), "tool0")


def robot(*joints: Joint, frames: tuple[Frame, ...] = ()) -> Robot:
    """Make a robot of joints; the links are those they name, the root is the first joint's parent."""
    names = dict.fromkeys(name for joint in joints for name in (joint.parent, joint.child))
    return validate(Robot("tiny", tuple(Link(name) for name in names), joints, joints[0].parent, frames))


def joint(
    name: str,
    kind: str,
    parent: str,
    child: str,
    axis=(0.0, 0.0, 1.0),
    xyz=(0.1, 0.2, 0.3),
    rpy=(0.4, -0.5, 0.6),
    **more,
):
    """Make a joint whose origin is nothing special; `more` goes to its first axis."""
    kind = JointType(kind)
    pitch = more.pop("pitch", 0.0)
    offset = more.pop("child_offset", Pose())
    axes = {JointType.FIXED: 0, JointType.BALL: 0, JointType.FLOATING: 0}.get(kind, 1)
    second = (Axis((0.0, 1.0, 0.0)),) if kind is JointType.UNIVERSAL else ()
    return Joint(
        name, kind, parent, child, Pose.from_xyz_rpy(xyz, rpy), (Axis(axis, **more),) * axes + second, offset, pitch
    )


def all_joint_types() -> Robot:
    """A tree with every type of joint, mimics of a mimic and of a leader below, an anchor and a reference."""
    diagonal = (0.6, 0.0, 0.8)
    return robot(
        joint("float", "floating", "world", "body"),
        joint("turn", "revolute", "body", "a", diagonal, lower=-2.0, upper=1.5),
        joint("slide", "prismatic", "a", "b", (0.0, 0.6, 0.8), lower=-0.2, upper=0.3),
        joint("screw", "screw", "b", "c", diagonal, pitch=0.05),
        joint("ball", "ball", "c", "d", child_offset=Pose.from_xyz_rpy((0.0, -0.1, 0.2), (0.3, 0.0, 0.0))),
        joint("plane", "planar", "a", "e", diagonal),
        joint("cardan", "universal", "e", "f", (1.0, 0.0, 0.0)),
        joint("follower", "revolute", "f", "g", (0.0, 1.0, 0.0), mimic=Mimic("second", -0.5, 0.2)),
        joint("second", "prismatic", "g", "h", (1.0, 0.0, 0.0), mimic=Mimic("leader", 0.4, -0.1)),
        joint("leader", "continuous", "h", "i", (0.0, 0.0, -1.0), reference=0.3),
        joint("weld", "fixed", "i", "j"),
        frames=(Frame("tool", "j", Pose.from_xyz_rpy((0.1, 0.0, 0.0), (0.0, 1.0, 0.0))),),
    )


def every_kind_of_node() -> Robot:
    """A short chain with every kind of node of the flat tree: quick to differentiate, trace and compile."""
    return robot(
        joint("float", "floating", "world", "a"),
        joint("screw", "screw", "a", "b", (0.6, 0.0, 0.8), pitch=0.05),
        joint("ball", "ball", "b", "c"),
        joint("follower", "prismatic", "c", "d", (0.0, 0.6, 0.8), mimic=Mimic("screw", -0.5, 0.2)),
        joint("weld", "fixed", "d", "tool"),
    )
