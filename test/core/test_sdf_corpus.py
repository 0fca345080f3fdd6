"""Every SDF robot of the shared corpus reads and moves as other programs read and move it."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import corpus
import pytest
import torch

from pk_core import Chain
from pk_core.model import Mimic, Robot
from pk_core.parsers import parse_sdf

ROBOTS = pytest.mark.parametrize("name", [entry["name"] for entry in corpus.entries("sdf")])


@cache
def read(name: str) -> Robot:
    entry = corpus.entry(name)
    return parse_sdf(corpus.path(entry).read_bytes(), source=entry["file"])


def configurations(reference: dict[str, Any], dtype: torch.dtype) -> dict[str, torch.Tensor]:
    """Stack the configurations of a reference: joint -> (n,) or (n, k)."""
    return {joint: torch.tensor([q[joint] for q in reference["q"]], dtype=dtype) for joint in reference["q"][0]}


def largest_error(found: dict[str, torch.Tensor], reference: dict[str, Any]) -> float:
    worst = 0.0
    for k, poses in enumerate(reference["poses"]):
        for link, entries in poses.items():
            stack = found[link]
            pose = stack[k if len(stack) > 1 else 0].double()
            error = (pose.reshape(16) - torch.tensor(entries, dtype=torch.float64).reshape(16)).abs().max().item()
            worst = error if not error <= worst else worst  # NaN counts as worse
    return worst


@ROBOTS
def test_a_robot_has_the_names_of_its_reference_in_their_order(name: str) -> None:
    robot, reference = read(name), corpus.load_reference(name)
    assert [link.name for link in robot.links if not link.hidden] == reference["links"]
    assert [joint.name for joint in robot.joints if not joint.hidden] == reference["joints"]
    assert [frame.name for frame in robot.frames] == ["world", *reference.get("frames", {})]
    assert robot.root == "world"
    held = {joint.child for joint in robot.joints if joint.parent == "world" and joint.hidden}
    joined = {joint.child for joint in robot.joints if joint.parent == "world" and not joint.hidden}
    assert held | joined == set(reference["tree_roots"])


@ROBOTS
def test_a_joint_has_the_type_ends_and_limits_of_its_reference(name: str) -> None:
    robot, reference = read(name), corpus.load_reference(name)
    for joint in robot.joints:
        if joint.hidden:
            continue
        info = reference["joint_info"][joint.name]
        assert (joint.type.value, joint.parent, joint.child) == (info["type"], info["parent"], info["child"])
        limits = reference["limits"].get(joint.name, [])
        pairs = [limits] if len(joint.axes) == 1 else limits
        assert [(axis.lower, axis.upper) for axis in joint.axes] == [
            (-math.inf if lower is None else lower, math.inf if upper is None else upper) for lower, upper in pairs
        ]


@ROBOTS
def test_a_follower_follows_as_in_its_reference(name: str) -> None:
    robot, reference = read(name), corpus.load_reference(name)
    assert sum(joint.mimic is not None for joint in robot.joints) == corpus.entry(name)["n_mimic"]
    for joint in robot.joints:
        info = reference["joint_info"].get(joint.name, {}).get("mimic")
        if info is not None:
            offset = info["offset"] - info["multiplier"] * info["reference"]
            assert joint.mimic == Mimic(info["joint"], info["multiplier"], offset)


@ROBOTS
def test_a_robot_stands_where_other_programs_put_it(name: str) -> None:
    reference, chain = corpus.load_reference(name), Chain(read(name), dtype=torch.float64)
    assert chain.nv == corpus.entry(name)["dof"]
    poses = chain.forward_kinematics(configurations(reference, torch.float64))
    assert largest_error({link: pose.get_matrix() for link, pose in poses.items()}, reference) < 1e-9


@ROBOTS
def test_extra_frames_stand_where_other_programs_put_them_and_move_with_their_links(name: str) -> None:
    robot, reference = read(name), corpus.load_reference(name)
    chain = Chain(robot, dtype=torch.float64)
    at_rest = chain.forward_kinematics(chain.neutral())
    for frame in robot.frames[1:]:
        expected = reference["frames"][frame.name]
        found = at_rest[frame.name].get_matrix()[0].reshape(16)
        assert found.numpy() == pytest.approx(expected["pose"], abs=1e-9)
        assert frame.link == expected["attached_link"]


@ROBOTS
def test_the_tensor_of_poses_in_single_precision_is_as_exact_as_it_can_be(name: str) -> None:
    reference, chain = corpus.load_reference(name), Chain(read(name))
    poses = chain.forward_kinematics_tensor(configurations(reference, torch.float32))
    found = {frame: poses[row] for frame, row in chain.frame_to_idx.items()}
    size = max(1.0, poses[:, :, :3, 3].abs().max().item())
    assert largest_error(found, reference) < 2e-5 * size
