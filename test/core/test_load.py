"""`pk.load` and the includes of SDF: which files are opened, which are not, and what becomes of their models."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from sdf_samples import model, turned, where

import pk_core as pk
from pk_core.errors import ParseError, UnsupportedError
from pk_core.pose import Pose

ARM = """<sdf version="1.6"><model name="arm"><pose>0 0 9 0 0 0</pose><link name="base"/>
<link name="tip"><pose>0 0 1 0 0 0</pose></link></model></sdf>"""
URDF = '<robot name="r"><link name="a"/></robot>'


def include(inside: str, attributes: str = "") -> str:
    return model(f'<link name="a"/>\n<include {attributes}>{inside}</include>')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make a folder with arm.sdf, a model's folder `arm`, and beside it `secret.sdf`, which is above no file of it."""
    inside = tmp_path / "inside"
    (inside / "arm").mkdir(parents=True)
    (tmp_path / "secret.sdf").write_text(ARM)
    (inside / "arm.sdf").write_text(ARM)
    (inside / "arm" / "model.config").write_text(
        '<model><sdf version="1.4">old.sdf</sdf><sdf version="1.10">new.sdf</sdf><sdf version="1.9">a.sdf</sdf></model>'
    )
    (inside / "arm" / "new.sdf").write_text(ARM)
    return inside


@pytest.mark.parametrize("to_text", [str, bytes])
def test_a_format_is_known_by_its_root(to_text: type) -> None:
    for text in (
        URDF,
        f"\ufeff <?xml version='1.0'?><!-- <sdf> --><!DOCTYPE robot><?x <sdf>?>\n{URDF}",
        ARM,
        ARM.replace("sdf", "gazebo").replace("1.6", "1.2"),
    ):
        chain = pk.load(text if to_text is str else text.encode())
        assert chain.get_link_names()[0] in ("a", "base")
        assert (chain.dtype, chain.device.type) == (torch.float32, "cpu")


@pytest.mark.parametrize(
    "text", ["<a/>", "<!-- <robot> -->", "<!DOCTYPE robot [", "<?robot", "<", "<!-- -->" * 5000, "<a" * 200]
)
def test_a_root_of_no_format_is_refused_with_those_that_are_read(text: str) -> None:
    with pytest.raises(ParseError, match=r"<robot>.*<sdf>"):
        pk.load(text)


def test_a_path_is_a_file_whether_text_or_path(folder: Path) -> None:
    for path in (folder / "arm.sdf", str(folder / "arm.sdf")):
        assert pk.load(path, dtype=torch.float64).dtype == torch.float64
    with pytest.raises(FileNotFoundError):
        pk.load(folder / "none.sdf")
    (folder / "broken.urdf").write_text("<robot>\n<link/></robot>")
    with pytest.raises(ParseError, match=r"broken\.urdf, line 2"):
        pk.load(folder / "broken.urdf")


@pytest.mark.parametrize(
    "uri", ["arm.sdf", "./arm.sdf", "arm", "model://arm", "model://arm.sdf", "package://arm", "sub/../arm.sdf"]
)
def test_what_lies_in_the_folder_of_the_file_is_included(folder: Path, uri: str) -> None:
    (folder / "sub").mkdir()
    (folder / "top.sdf").write_text(include(f"<uri>{uri}</uri>"))
    robot = pk.load(folder / "top.sdf").robot
    assert [link.name for link in robot.links] == ["world", "a", "arm::base", "arm::tip"]
    assert where(robot, "arm::tip").is_close(Pose((0.0, 0.0, 10.0)))


def test_an_include_renames_and_places_a_model_whose_file_has_its_own_version(folder: Path) -> None:
    inside = """<uri>arm.sdf</uri><name>left</name><pose relative_to="a" degrees="1">1 0 0 0 0 90</pose>
    <placement_frame>tip</placement_frame>"""
    (folder / "top.sdf").write_text(include(inside))
    robot = pk.load(folder / "top.sdf").robot
    assert where(robot, "left::tip").is_close(turned(1, 0, 0, yaw=90))
    assert where(robot, "left::base").is_close(turned(1, 0, -1, yaw=90))


def test_the_axes_of_an_included_model_are_those_of_the_version_of_its_file(folder: Path) -> None:
    joint = (
        "<joint name='j' type='revolute'><parent>base</parent><child>tip</child><axis><xyz>0 1 0</xyz></axis></joint>"
    )
    old = (
        ARM.replace("1.6", "1.4")
        .replace("0 0 1 0 0 0", "0 0 1 0 0 1.5707963267948966")
        .replace("</model>", f"{joint}</model>")
    )
    (folder / "old.sdf").write_text(old)
    (folder / "top.sdf").write_text(include("<uri>old.sdf</uri>"))
    assert pk.load(folder / "top.sdf").robot.joint("arm::j").axis == pytest.approx((1.0, 0.0, 0.0))


def test_a_merged_include_joins_the_model_around_it(folder: Path) -> None:
    merged = model(
        """<pose>0 0 5 0 0 0</pose><link name="l"><pose>1 0 0 0 0 0</pose></link>
        <frame name="f" attached_to="__model__"><pose>0 1 0 0 0 0</pose></frame>
        <model name="n"><link name="l"/></model>"""
    )
    (folder / "part.sdf").write_text(merged)
    text = include('<uri>part.sdf</uri><pose relative_to="a">0 0 1 0 0 0</pose>', 'merge="true"').replace(
        "</model>", '<joint name="j" type="fixed"><parent>a</parent><child>l</child></joint></model>'
    )
    (folder / "top.sdf").write_text(text)
    robot = pk.load(folder / "top.sdf").robot
    assert [link.name for link in robot.links] == ["world", "a", "l", "n::l"]
    assert robot.joint("j").child == "l"
    assert [where(robot, name).xyz for name in ("l", "f", "n::l")] == [(1, 0, 1), (0, 1, 1), (0, 0, 1)]
    assert next(frame for frame in robot.frames if frame.name == "f").link == "l"


def test_lights_and_actors_are_no_models(folder: Path) -> None:
    (folder / "sun.sdf").write_text('<sdf version="1.6"><light name="sun"/></sdf>')
    (folder / "top.sdf").write_text(include("<uri>sun.sdf</uri>"))
    assert pk.load(folder / "top.sdf").get_link_names() == ["a"]


@pytest.mark.parametrize(
    "uri", ["../secret.sdf", "{above}/secret.sdf", "file://{above}/secret.sdf", "model://../secret.sdf", "link.sdf"]
)
def test_nothing_above_the_folder_of_the_file_is_opened_unless_the_caller_names_it(folder: Path, uri: str) -> None:
    (folder / "link.sdf").symlink_to(folder.parent / "secret.sdf")
    (folder / "top.sdf").write_text(include(f"<uri>{uri.format(above=folder.parent)}</uri>"))
    with pytest.raises(ParseError, match="no such file in") as caught:
        pk.load(folder / "top.sdf")
    assert caught.value.line == 4
    for search_path in (folder.parent, [str(folder.parent)]):
        assert len(pk.load(folder / "top.sdf", search_path=search_path).get_link_names()) == 3


def test_text_includes_what_resolve_and_search_path_give_and_nothing_else(folder: Path) -> None:
    text = include("<uri>model://arm</uri>")
    for arguments in ({"resolve": lambda uri: folder / uri.removeprefix("model://")}, {"search_path": folder}):
        assert len(pk.load(text, **arguments).get_link_names()) == 3
    with pytest.raises(ParseError, match="'model://arm'"):
        pk.load(text)
    with pytest.raises(ParseError, match="'model://arm'"):
        pk.load(text, resolve=lambda uri: None)
    with pytest.raises(ParseError, match="does not exist"):
        pk.load(text, resolve=lambda uri: folder / "none.sdf")


def test_a_model_that_resolve_gives_includes_what_lies_beside_it(folder: Path) -> None:
    (folder / "arm" / "new.sdf").write_text(ARM.replace("</model>", "<include><uri>part.sdf</uri></include></model>"))
    (folder / "arm" / "part.sdf").write_text(ARM.replace('"arm"', '"part"'))
    chain = pk.load(include("<uri>package://robots/arm</uri>"), resolve=lambda uri: folder / "arm")
    assert chain.get_link_names() == ["a", "arm::base", "arm::tip", "arm::part::base", "arm::part::tip"]


def _itself(folder: Path) -> None:
    (folder / "top.sdf").write_text(include("<uri>top.sdf</uri>"))


def _each_other(folder: Path) -> None:
    (folder / "top.sdf").write_text(include("<uri>b.sdf</uri>"))
    (folder / "b.sdf").write_text(include("<uri>top.sdf</uri>"))


def _many(folder: Path) -> None:
    for i in range(31):
        twice = "".join(f"<include><uri>f{i + 1}.sdf</uri><name>n{k}</name></include>" for k in range(2))
        (folder / f"f{i}.sdf").write_text(model(f'<link name="a"/>{twice if i < 30 else ""}{"<x/>" * 1000}'))
    (folder / "top.sdf").write_text(include("<uri>f0.sdf</uri>"))


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (_itself, "includes itself"),
        (_each_other, "includes itself"),
        (_many, "elements together"),
        (lambda folder: (folder / "top.sdf").write_text(include("<uri>none.sdf</uri>")), "no such file"),
        (lambda folder: (folder / "top.sdf").write_text(include("<uri>a\x7f</uri>")), "no such file"),
        (lambda folder: (folder / "top.sdf").write_text(include("<uri>https://example.org/x</uri>")), "no such file"),
        (lambda folder: (folder / "top.sdf").write_text(include("<uri>.</uri>")), "can't be read"),
        (
            lambda folder: (folder / "top.sdf").write_text(
                include("<uri>arm.sdf</uri><placement_frame>tip</placement_frame>")
            ),
            "needs a <pose>",
        ),
        (
            lambda folder: (folder / "top.sdf").write_text(
                include("<uri>arm.sdf</uri><experimental:params><x/></experimental:params>")
            ),
            "experimental:params",
        ),
    ],
)
def test_an_include_that_leads_nowhere_or_never_ends_is_refused(
    folder: Path, write: Callable[[Path], None], words: str
) -> None:
    write(folder)
    with pytest.raises(ParseError, match=words):
        pk.load(folder / "top.sdf")


@pytest.mark.parametrize(
    "content",
    [
        URDF,
        '<sdf version="1.9"/>',
        '<sdf version="1.9"><world name="w"/></sdf>',
        "no xml",
        ARM.replace("<pose>", '<pose relative_to="x">'),
    ],
)
def test_an_included_file_holds_one_model_and_the_error_names_it(folder: Path, content: str) -> None:
    (folder / "part.sdf").write_text(content)
    (folder / "top.sdf").write_text(include("<uri>part.sdf</uri>"))
    with pytest.raises(ParseError, match=r"part\.sdf"):
        pk.load(folder / "top.sdf")


def test_xacro_is_expanded_only_when_asked(tmp_path: Path) -> None:
    path = tmp_path / "r.urdf.xacro"
    path.write_text(
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
        '<xacro:property name="n" value="a"/><link name="${n}"/></robot>'
    )
    with pytest.raises(ParseError, match="expand the file with xacro"):
        pk.load(path)
    with pytest.raises(UnsupportedError, match="its path"):
        pk.load(path.read_text(), xacro=True)
    pytest.importorskip("xacro")
    assert pk.load(path, xacro=True).get_link_names() == ["a"]
    path.write_text(path.read_text().replace("${n}", "${m}"))
    with pytest.raises(ParseError, match="xacro"):
        pk.load(path, xacro=True)


def test_without_xacro_the_error_names_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xacro", None)
    (tmp_path / "r.xacro").write_text(URDF)
    with pytest.raises(UnsupportedError, match=r"pk\[xacro\]"):
        pk.load(tmp_path / "r.xacro", xacro=True)


def test_the_builders_of_sdf_give_the_tree_and_a_path_of_it() -> None:
    tree = pk.build_chain_from_sdf(ARM, dtype=torch.float64)
    assert (tree.get_link_names(), tree.dtype) == (["base", "tip"], torch.float64)
    path = pk.build_serial_chain_from_sdf(ARM.encode(), "tip")
    assert path.forward_kinematics([]).get_matrix()[0, :3, 3].tolist() == [0.0, 0.0, 10.0]
    below = pk.build_serial_chain_from_sdf(ARM, "tip", "base")
    assert below.forward_kinematics([]).get_matrix()[0, :3, 3].tolist() == [0.0, 0.0, 1.0]


def test_the_name_of_a_file_in_place_of_its_text_is_told_from_bad_text():
    for build in (pk.build_chain_from_urdf, pk.build_chain_from_sdf, pk.build_chain_from_mjcf):
        with pytest.raises(ParseError, match=r"'panda\.urdf'; to read a file of that name, use pk_core\.load"):
            build("panda.urdf")
