"""From MJCF to chains: whole, from one body, along a path, of files on disk."""

from __future__ import annotations

from pathlib import Path

import corpus
import numpy as np
import pytest
import torch
from mujoco_oracle import GEOM, world

import pk_core as pk
from pk_core.parsers import parse_mjcf

ARM = world(
    f"""<body name="a" pos="0 0 1"><joint name="j"/>{GEOM}
    <body name="b" pos="1 0 0" euler="0 0 90"><joint name="k" axis="1 0 0"/><joint name="l" axis="0 1 0"/>{GEOM}
    <site name="s" pos="0 0 1"/><body name="c" pos="0 1 0">{GEOM}</body></body></body>
    <body name="d"><freejoint/>{GEOM}</body>"""
)


def pose(chain: pk.Chain, frame: str, q: list[float]) -> np.ndarray:
    return chain.forward_kinematics(q)[frame].get_matrix()[0].numpy()


def test_a_chain_can_start_at_a_body_by_name_or_number() -> None:
    whole = pk.build_chain_from_mjcf(ARM, dtype=torch.float64)
    part = pk.build_chain_from_mjcf(ARM, "a", dtype=torch.float64)
    assert part.get_frame_names() == ["a", "b", "c", "s"] and part.get_joint_names() == ["k", "l"]
    assert pk.build_chain_from_mjcf(ARM, body=1).robot == part.robot
    q = [0.3, 0.4, 0.5]
    expected = np.linalg.inv(pose(whole, "a", [*q, *whole.neutral()[3:]])) @ pose(
        whole, "c", [*q, *whole.neutral()[3:]]
    )
    assert pose(part, "c", q[1:]) == pytest.approx(expected)


def test_a_body_that_is_not_there_is_an_error_that_lists_close_names() -> None:
    with pytest.raises(pk.UnknownLink, match="'b'"):
        pk.build_chain_from_mjcf(ARM, body="bb")
    for number in (5, -1):
        with pytest.raises(pk.UnknownLink):
            pk.build_chain_from_mjcf(ARM, body=number)


def test_a_serial_chain_runs_between_bodies_and_sites() -> None:
    whole = pk.build_chain_from_mjcf(ARM, dtype=torch.float64)
    serial = pk.build_serial_chain_from_mjcf(ARM, "s", dtype=torch.float64)
    assert serial.get_joint_names() == ["j", "k", "l"]
    q = [0.3, 0.4, 0.5]
    expected = pose(whole, "s", [*q, *whole.neutral()[3:]])
    assert serial.forward_kinematics(q).get_matrix()[0].numpy() == pytest.approx(expected)
    assert pk.build_serial_chain_from_mjcf(ARM, "s", "b").get_joint_names() == []
    assert pk.build_serial_chain_from_mjcf(ARM, "c", "a").get_joint_names() == ["k", "l"]


def test_the_tree_is_drawn_without_the_links_between_joints_of_one_body() -> None:
    text = pk.build_chain_from_mjcf(ARM).print_tree(do_print=False)
    assert text == "world\n├── a\n│   └── b\n│       └── c\n└── d\n"


def test_assets_can_be_given_to_the_builders() -> None:
    main, part = world('<include file="part.xml"/>'), b'<x><body name="a"><joint name="j"/></body></x>'
    assert pk.build_chain_from_mjcf(main, None, {"part.xml": part}).get_joint_names() == ["j"]
    assert pk.build_serial_chain_from_mjcf(main, "a", assets={"part.xml": part}).get_joint_names() == ["j"]


def test_files_are_found_beside_the_file_and_not_above_it(tmp_path: Path) -> None:
    (tmp_path / "robot" / "parts").mkdir(parents=True)
    (tmp_path / "robot" / "parts" / "arm.xml").write_text('<x><body name="arm"><include file="hand.xml"/></body></x>')
    (tmp_path / "robot" / "parts" / "hand.xml").write_text('<x><body name="hand"><joint name="j"/></body></x>')
    (tmp_path / "kid.xml").write_text(world('<body name="kid"/>'))
    top = tmp_path / "robot" / "robot.xml"
    top.write_text(world('<include file="parts/arm.xml"/>'))
    assert pk.load(top).get_link_names() == ["world", "arm", "hand"]
    top.write_text(world('<attach model="k" prefix="k_"/>', '<asset><model name="k" file="../kid.xml"/></asset>'))
    with pytest.raises(pk.ParseError, match=r"line 1, <model.*\.\./kid\.xml"):
        pk.load(top)
    assert pk.load(str(top), search_path=tmp_path).get_link_names() == ["world", "k_kid"]
    top.write_text('<mujoco>\n<include file="robot.xml"/></mujoco>')
    with pytest.raises(pk.ParseError, match=r"robot\.xml, line 2, <include>: .*robot\.xml.* once"):
        pk.load(top)


def test_text_is_loaded_by_its_root_element() -> None:
    assert pk.load(ARM, dtype=torch.float64).robot == parse_mjcf(ARM)
    with pytest.raises(pk.ParseError, match="a.xml"):
        pk.load(world('<include file="a.xml"/>').encode())


@pytest.mark.parametrize("name", ["dm_fish", "dm_cheetah", "gym_hand_reach_include", "hammock_attach"])
def test_robots_of_several_files_are_loaded_by_their_path(name: str) -> None:
    entry = corpus.entry(name)
    chain = pk.load(corpus.path(entry), search_path=corpus.path(entry).parents[1], dtype=torch.float64)
    assert chain.get_link_names() == corpus.load_reference(entry)["links"]


@pytest.mark.parametrize(
    "name", ["mjcf_include_traversal", "mjcf_include_self", "mjcf_include_missing", "mjcf_attach_recursive"]
)
def test_hostile_files_are_refused_when_loaded_by_their_path(name: str) -> None:
    with pytest.raises(pk.ParseError, match=f"{name}.xml, line 2, <(include|model)"):
        pk.load(corpus.path({"file": f"malformed/{name}.xml"}))
