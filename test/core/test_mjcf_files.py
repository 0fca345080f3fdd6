"""MJCF in several files: what is included stands where it is included, what is attached keeps its own meaning."""

from __future__ import annotations

import pytest
from mujoco_oracle import GEOM, assert_as_in_mujoco, world

from pk_core.errors import ParseError
from pk_core.parsers import parse_mjcf

KID = f"""
<mujoco model="kid"><compiler angle="radian" eulerseq="XYZ" autolimits="false"/>
<default><joint axis="1 0 0"/><default class="c"><joint axis="0 1 0" ref="0.5"/></default></default>
<worldbody><site name="s" pos="9 9 9"/>
<frame name="F" pos="1 0 0"><frame name="G" pos="0 2 0" euler="0.1 0.2 0.3">
<body name="A" pos="0 0 3" childclass="c">{GEOM}<joint name="j" limited="true" range="-1 1"/>
<body name="B" pos="0 0 1">{GEOM}<joint/></body></body></frame></frame>
<replicate count="2" offset="1 0 0"><body name="R">{GEOM}<joint name="r"/></body></replicate>
<body name="C" pos="5 5 5">{GEOM}<freejoint/></body>
</worldbody></mujoco>
""".encode()

ASSET = '<asset><model name="kid" file="kid.xml"/></asset>'

ATTACHED = {
    "a_body_without_the_frames_around_it": '<body pos="0 0 9"><attach model="kid" body="A" prefix="x_"/></body>',
    "a_frame_without_the_frames_around_it": '<body pos="0 0 9"><attach model="kid" frame="G" prefix="x_"/></body>',
    "a_frame_with_the_frames_in_it": '<frame euler="0 0 90"><attach model="kid" frame="F" prefix="x_"/></frame>',
    "all_of_a_model": '<frame pos="0 0 9"><attach model="kid" prefix="x_"/></frame>',
    "a_model_twice": '<attach model="kid" prefix="x_"/><frame pos="1 0 0"><attach model="kid" prefix="y_"/></frame>',
    "a_body_below_another": '<attach model="kid" body="B" prefix="x_"/><attach model="kid" body="B" prefix="y_"/>',
    "a_replica": '<attach model="kid" body="R1" prefix="x_"/>',
    "into_a_replica": '<replicate count="2" offset="0 0 1"><attach model="kid" body="A" prefix="x_"/></replicate>',
    "without_the_class_of_what_it_is_put_into": '<body childclass="c"><attach model="kid" body="R0" prefix="x/"/></body>',
    "a_free_body": '<attach model="kid" body="C" prefix="x_"/>',
}


@pytest.mark.parametrize("name", ATTACHED)
def test_what_is_attached_stands_where_mujoco_puts_it(name: str) -> None:
    main = world(ATTACHED[name], ASSET + '<default><default class="c"><joint axis="0 0 7"/></default></default>')
    assert_as_in_mujoco(main, {"kid.xml": KID})


def test_a_model_attaches_models_that_attach_others() -> None:
    middle = world('<body name="m" pos="0 1 0"><attach model="kid" body="A" prefix="k_"/></body>', ASSET)
    top = world('<attach model="mid" prefix="m_"/>', '<asset><model name="mid" file="mid.xml"/></asset>')
    chain = assert_as_in_mujoco(top, {"kid.xml": KID, "mid.xml": middle.encode()})
    assert chain.get_joint_names() == ["m_k_j", "#joint1"]


def test_a_model_without_a_name_is_known_by_its_own() -> None:
    main = world('<attach model="kid" body="A" prefix="x_"/>', '<asset><model file="kid.xml"/></asset>')
    assert_as_in_mujoco(main, {"kid.xml": KID})


def test_sections_and_bodies_can_be_included() -> None:
    main = """<mujoco><include file="./common/head.xml"/><worldbody><body name="a"><include file="parts.xml"/></body>
    </worldbody></mujoco>"""
    head = (
        b"""<mujocoinclude><compiler angle="radian"/><default><include file="class.xml"/></default></mujocoinclude>"""
    )
    classes = b"""<any><default class="k"><joint axis="1 0 0" ref="1"/></default></any>"""
    parts = f"""<mujoco><geom size="1"/><joint class="k"/><body name="b" euler="1 2 3"><joint/>{GEOM}</body></mujoco>"""
    assets = {"common/head.xml": head, "common/class.xml": classes, "parts.xml": parts.encode()}
    assert_as_in_mujoco(main, assets)


@pytest.mark.parametrize("key", ["common/x.xml", "./common/x.xml", "x.xml", "elsewhere/x.xml"])
@pytest.mark.parametrize("file", ["common/x.xml", "./common/../common/x.xml"])
def test_an_asset_is_found_by_its_path_or_its_name(key: str, file: str) -> None:
    robot = parse_mjcf(world(f'<include file="{file}"/>'), assets={key: b'<x><body name="a"/></x>'})
    assert [link.name for link in robot.links] == ["world", "a"]


def test_an_include_is_looked_for_beside_the_main_file_then_beside_its_own() -> None:
    def read_file(path: str) -> bytes:
        if path not in files:
            raise FileNotFoundError("no such file")
        return files[path]

    files = {
        "sub/x.xml": b'<x><include file="y.xml"/><include file="z.xml"/></x>',
        "y.xml": b'<x><body name="top"/></x>',
    }
    files |= {"sub/y.xml": b'<x><body name="sub"/></x>', "sub/z.xml": b'<x><body name="z"/></x>'}
    robot = parse_mjcf(world('<include file="sub/x.xml"/>'), read_file=read_file)
    assert [link.name for link in robot.links] == ["world", "top", "z"]


def test_a_model_looks_for_its_files_beside_itself() -> None:
    files = {"kid/kid.xml": world('<include file="leg.xml"/>').encode(), "kid/leg.xml": b'<x><body name="leg"/></x>'}
    main = world('<attach model="k" prefix="k_"/>', '<asset><model name="k" file="kid/kid.xml"/></asset>')
    robot = parse_mjcf(main, read_file=files.__getitem__)
    assert [link.name for link in robot.links] == ["world", "k_leg"]


def test_a_model_that_is_not_attached_need_not_be_there() -> None:
    assert parse_mjcf(world('<body name="a"/>', ASSET)).joints


REFUSED = {  # name: (content of the worldbody, assets, line, words)
    "included_twice": (
        '<include file="a.xml"/>\n<include file="./a.xml"/>',
        {"a.xml": b"<x><site/></x>"},
        2,
        ["a.xml", "once"],
    ),
    "including_itself": (
        '<include file="a.xml"/>',
        {"a.xml": b'<x>\n\n<include file="a.xml"/></x>'},
        3,
        ["a.xml", "once"],
    ),
    "nothing_included": ('\n<include file="a.xml"/>', {"a.xml": b"<x>text</x>"}, 2, ["a.xml", "no element"]),
    "not_there": ('\n<include file="dir/a.xml"/>', {}, 2, ["dir/a.xml", "assets"]),
    "ambiguous": ('<include file="a.xml"/>', {"b/a.xml": b"<x/>", "c/a.xml": b"<x/>"}, 1, ["b/a.xml", "c/a.xml"]),
    "children_of_an_include": (
        '<include file="a.xml"><body/></include>',
        {"a.xml": b"<x><body/></x>"},
        1,
        ["children"],
    ),
    "not_xml": ('<include file="a.xml"/>', {"a.xml": b"<x>\n<body>"}, 2, ["a.xml", "XML"]),
    "an_error_in_an_include": ('<include file="a.xml"/>', {"a.xml": b"<x>\n<body pos='1'/></x>"}, 2, ["a.xml", "pos"]),
    "attached_without_a_prefix": ('<attach model="kid"/>', {"kid.xml": KID}, 1, ["prefix"]),
    "attached_without_a_name": ('<attach prefix="x_"/>', {}, 1, ["model"]),
    "an_unknown_model": ('<attach model="kit" prefix="x_"/>', {"kid.xml": KID}, 1, ["'kit'", "'kid'"]),
    "an_unknown_body": ('<attach model="kid" body="AA" prefix="x_"/>', {"kid.xml": KID}, 1, ["'AA'", "'kid'"]),
    "an_unknown_frame": ('<attach model="kid" frame="A" prefix="x_"/>', {"kid.xml": KID}, 1, ["frame 'A'", "'kid'"]),
    "both_body_and_frame": ('<attach model="kid" body="A" frame="F" prefix="x_"/>', {"kid.xml": KID}, 1, ["both"]),
    "a_body_that_comes_later": ('<attach body="a" prefix="x_"/><body name="a"/>', {}, 1, ["'a'", "so far"]),
    "a_body_inside_of_itself": (
        '<body name="a">\n<attach body="a" prefix="x_"/></body>',
        {},
        2,
        ["'a'", "inside itself"],
    ),
    "the_world_in_itself": ('\n<attach body="world" prefix="x_"/>', {}, 2, ["'world'", "inside itself"]),
    "a_name_used_already": (
        '<body name="x_A"/>\n<attach model="kid" body="A" prefix="x_"/>',
        {"kid.xml": KID},
        6,
        ["x_A"],
    ),
    "a_free_body_below_another": (
        '<body><attach model="kid" body="C" prefix="x_"/></body>',
        {"kid.xml": KID},
        9,
        ["free"],
    ),
    "a_model_that_is_urdf": ('<attach model="kid" prefix="x_"/>', {"kid.xml": b"<robot/>"}, 1, ["kid.xml", "URDF"]),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_can_not_be_included_or_attached_is_refused_with_its_line(name: str) -> None:
    content, assets, line, words = REFUSED[name]
    with pytest.raises(ParseError) as caught:
        parse_mjcf(f"<mujoco>{ASSET}<worldbody>{content}</worldbody></mujoco>", assets=assets, source="top.xml")
    assert caught.value.line == line, caught.value
    assert all(word in str(caught.value) for word in words), caught.value


def test_models_that_attach_each_other_are_refused() -> None:
    a, b = (
        world(f'<attach model="{other}" prefix="x_"/>', f'<asset><model name="{other}" file="{other}.xml"/></asset>')
        for other in "ba"
    )
    with pytest.raises(ParseError, match=r"cycle of models: .*b\.xml -> a\.xml -> b\.xml"):
        parse_mjcf(a, assets={"a.xml": a.encode(), "b.xml": b.encode()}, source="a.xml")


def test_a_model_that_attaches_its_own_file_is_refused() -> None:
    own = world('<attach model="me" body="a" prefix="p_"/>', '<asset><model name="me" file="me.xml"/></asset>')
    with pytest.raises(ParseError, match="cycle of models: me.xml -> me.xml"):
        parse_mjcf(own, assets={"me.xml": own.encode()}, path="me.xml")


def test_a_long_chain_of_models_is_refused() -> None:
    def model(k: int) -> str:
        return world(f'<attach model="m" prefix="{k}_"/>', f'<asset><model name="m" file="{k + 1}.xml"/></asset>')

    with pytest.raises(ParseError, match="more than 20 deep"):
        parse_mjcf(model(0), assets={f"{k}.xml": model(k).encode() for k in range(1, 100)})


@pytest.mark.parametrize(
    "content",
    [
        '<replicate count="40000"><body name="a"><site name="b"/></body></replicate>',
        '<replicate count="300"><replicate count="300"><body/></replicate></replicate>',
        '<body name="0"/>'
        + "".join(
            f'<frame name="{k + 1}"><attach {"frame" if k else "body"}="{k}" prefix="x{k}"/>'
            f'<attach {"frame" if k else "body"}="{k}" prefix="y{k}"/></frame>'
            for k in range(60)
        ),
    ],
    ids=["wide", "nested", "doubling"],
)
def test_copies_of_copies_have_a_bound(content: str) -> None:
    with pytest.raises(ParseError, match="more than"):
        parse_mjcf(world(content))
