"""The XML reading that all formats share: encodings, lines, bounds, and numbers as C reads them."""

from __future__ import annotations

import math
import re
import time
import tracemalloc
from pathlib import Path
from xml.parsers import expat

import pytest

from pk_core.errors import ParseError
from pk_core.parsers.numbers import number, numbers, vector
from pk_core.parsers.xml import MAX_DEPTH, MAX_ELEMENTS, Element, parse_xml

ROBOTS = sorted((Path(__file__).parents[1] / "data" / "robots").glob("*"))


def attribute(text: str) -> Element:
    return parse_xml(f'<r>\n<e name="n" a="{text}"/></r>').children[0]


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("utf-8-sig", "utf-8"),
        ("utf-16", None),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16"),
        ("utf-16-be", None),
        ("utf-32", None),
        ("latin-1", "ISO-8859-1"),
        ("cp1252", "windows-1252"),
        ("shift_jis", "Shift_JIS"),
        ("utf-8", "US-ASCII"),
        ("utf-8", "UTF-16"),
    ],
)
def test_bytes_are_read_in_the_encoding_they_have(encoding: str, declared: str | None) -> None:
    name = "手" if encoding == "shift_jis" else "é"
    declaration = "" if declared is None else f'<?xml version="1.0" encoding="{declared}"?>\n'
    data = f'{declaration}<r name="{name}"/>'.encode(encoding)
    assert parse_xml(data).attributes == {"name": name}


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(
    "declaration", ['<?xml version="1.0" encoding="utf-16"?>', '<?xml version="0.0" ?>', "\n  <?xml version='1.1'?>"]
)
def test_text_may_declare_any_version_and_encoding_and_begin_with_blanks(mark: str, declaration: str) -> None:
    root = parse_xml(f'{mark}{declaration}\n<r name="é"/>')
    assert root.attributes == {"name": "é"}
    assert root.line == declaration.count("\n") + 2


@pytest.mark.parametrize("name", ["rot13", "utf-7", "unicode_escape", "idna", "zip", "nonsense"])
def test_an_encoding_that_is_none_of_text_is_refused(name: str) -> None:
    with pytest.raises(ParseError, match=f"line 1.*unknown encoding '{name}'"):
        parse_xml(f'<?xml version="1.0" encoding="{name}"?><r/>'.encode())


@pytest.mark.parametrize(
    ("data", "line"),
    [(b"<r>\r\n\r\n\xff</r>", 3), (b"<r>\r\r\xe9</r>", 3), (b"\xff\xfe<\x00r\x00>\x00\n\x00\x00\xd8", 2)],
)
def test_bytes_that_are_not_text_are_refused_with_their_line(data: bytes, line: int) -> None:
    with pytest.raises(ParseError, match=r"not utf-(8|16-le) text") as caught:
        parse_xml(data)
    assert caught.value.line == line


def test_half_a_character_in_a_text_is_refused_with_its_line() -> None:
    with pytest.raises(ParseError, match=r"line 2: not text: U\+D800"):
        parse_xml("<r>\n\ud800</r>")


@pytest.mark.parametrize("data", ["", b"", "\ufeff", " \n\t", b"\xef\xbb\xbf \n"])
def test_nothing_is_refused_as_empty(data: str | bytes) -> None:
    with pytest.raises(ParseError, match="empty"):
        parse_xml(data)


def test_something_else_than_text_or_bytes_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="str or bytes, not NoneType"):
        parse_xml(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("data", [bytearray(b"<r/>"), memoryview(b"<r/>")])
def test_whatever_holds_bytes_is_read(data: bytes) -> None:
    assert parse_xml(data).tag == "r"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_are_counted_whatever_ends_them(end: str) -> None:
    root = parse_xml(f"<r>{end}<a/>{end}{end}<b/></r>")
    assert [child.line for child in root.children] == [2, 4]


def test_lines_are_right_beyond_65535() -> None:
    blanks = "\n" * 70_000
    root = parse_xml(f"<r>{blanks}<a/>\n<b>\n</b><c/></r>")
    assert [child.line for child in root.children] == [70_001, 70_002, 70_003]
    with pytest.raises(ParseError) as caught:
        parse_xml(f"<r>{blanks}</a>")
    assert caught.value.line == 70_001


def test_the_line_of_an_element_is_that_of_its_opening_bracket() -> None:
    assert parse_xml('<r>\n<a\n b="1"\n/></r>').children[0].line == 2


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("<r>\n<a>\n</r>", 3, ["tag mismatch", "inside <a> opened in line 2"]),
        ("<r>\n<a", 2, ["end of Start Tag a", "'<a'"]),
        ("<r>\n<!-- ", 2, ["inside <r>"]),
        ('<r>\n<a b="1" b="2"/></r>', 2, ["Attribute b redefined"]),
        ("<r>\n<a b=1/></r>", 2, ["AttValue", "<a b=1/>"]),
        ("<r>\n&nbsp;</r>", 2, ["Entity 'nbsp' not defined"]),
        ("<r/>\n<s/>", 2, ["Extra content at the end", "<s/>", "after the end of <r>"]),
        ("robots/panda.urdf", 1, ["begins with <", "'robots/panda.urdf'"]),
    ],
)
def test_bad_syntax_is_refused_with_its_line_and_the_open_element(text: str, line: int, words: list[str]) -> None:
    with pytest.raises(ParseError) as caught:
        parse_xml(text, source="my.xml")
    assert caught.value.line == line
    assert all(word in str(caught.value) for word in ["my.xml", *words]), str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE r [<!ENTITY a "b">]><r/>',
        '<!DOCTYPE r [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]><r/>',
        "<!DOCTYPE r [%p;]><r/>",
        '<!DOCTYPE r SYSTEM "http://localhost/x.dtd"><r name="&a;"/>',
        '<!DOCTYPE r PUBLIC "p" "file:///etc/passwd"><r>&a;</r>',
    ],
)
def test_entities_are_refused(text: str) -> None:
    with pytest.raises(ParseError, match="entit"):
        parse_xml(text)


@pytest.mark.parametrize(
    ("declaration", "words"),
    [
        ('<!ENTITY a "b">', "entity 'a'"),
        ('<!ENTITY % p "b">', "entity 'p'"),
        ('<!ATTLIST r a CDATA "1">', "attributes of 'r'"),
        ("<!ELEMENT r ANY>", "element 'r'"),
        ('<!NOTATION n SYSTEM "<a">', "notation 'n'"),
    ],
)
def test_what_a_document_type_declares_is_refused_by_name_and_line(declaration: str, words: str) -> None:
    with pytest.raises(ParseError, match=f"line 3: the document type declares {words}"):
        parse_xml(f"<!-- a -->\n<!DOCTYPE r [\n{declaration}]><r/>")


def test_a_document_type_without_declarations_is_harmless_and_its_file_is_not_read() -> None:
    assert parse_xml('<!DOCTYPE r SYSTEM "file:///nowhere/x.dtd"><r>&amp;&#65;&#x42;</r>').text == "&AB"


ODD = """<?xml version="1.0"?>
<!-- <no> -->
<!DOCTYPE robot SYSTEM "<no" >
<?pi <no> ?><robot
  name = "ü" a='>"' > text <![CDATA[ <no/> ]]>
  <!-- <no a="'"> --><sensor:camera  sensor:a="1"/><手 b="&#13;&#10;\t
  &lt;"></手
  ><a></a >&amp;\r\n<b\r/>\r<c/>]]&gt;</robot><!-- end --> <?pi?>
"""


@pytest.mark.parametrize("data", [ODD, *ROBOTS], ids=lambda data: getattr(data, "name", "odd"))
def test_elements_are_those_that_expat_finds_where_it_finds_them(data: str | Path) -> None:
    text = data if isinstance(data, str) else data.read_text(encoding="utf-8")
    found = [(element.tag, element.attributes, element.line) for element in parse_xml(text).walk()]
    parser = expat.ParserCreate()
    expected: list[tuple[str, dict[str, str], int]] = []
    parser.StartElementHandler = lambda tag, attributes: expected.append((tag, attributes, parser.CurrentLineNumber))
    parser.Parse(text, True)
    assert found == expected


def test_a_document_is_read_in_pieces_as_in_one() -> None:
    tail = "<p:a b='手'/>手\n" * 100_000
    root = parse_xml(f"<r>{tail}</r>")
    assert [child.line for child in root.children] == list(range(1, 100_001))
    assert root.text == "手\n" * 100_000
    assert all(child.attributes == {"b": "手"} for child in root.children)
    with pytest.raises(ParseError) as caught:
        parse_xml(f"<r>{tail}</q>")
    assert caught.value.line == 100_001


@pytest.mark.parametrize("start", ["<!-- a", "<![CDATA[ a", "<?pi a"])
def test_what_is_opened_and_never_closed_is_refused_where_it_begins(start: str) -> None:
    with pytest.raises(ParseError, match=rf"line 2: .*near '{re.escape(start)}'; inside <r>"):
        parse_xml(f"<r>\n{start}\n<b/>\n\n</r>")


@pytest.mark.parametrize("text", ["￾<r/>", "<r>\0</r>", "<r a='\x0b'/>", "<r>\x1b</r>"])
def test_characters_that_xml_does_not_have_are_refused(text: str) -> None:
    with pytest.raises(ParseError, match=r"line 1: not text: U\+\w{4} is no character of XML"):
        parse_xml(text)


@pytest.mark.parametrize(
    "text", ["<r>" + "<!--" * 300_000, "<r>" + "<![CDATA[" * 300_000, "<!DOCTYPE'" * 300_000, "<r " * 300_000]
)
def test_what_never_ends_is_refused_in_linear_time(text: str) -> None:
    start = time.process_time()
    with pytest.raises(ParseError) as caught:
        parse_xml(text)
    assert len(str(caught.value)) < 1000
    assert time.process_time() - start < 5.0


def test_the_elements_that_are_allowed_fit_in_half_a_gigabyte() -> None:
    tracemalloc.start()
    try:
        parse_xml("<r>" + "<a name='n' xyz='1 2 3'/>\n" * 49_999 + "</r>")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak * MAX_ELEMENTS / 50_000 < 450e6


def test_elements_may_be_nested_thousands_deep_but_not_without_end() -> None:
    depth = MAX_DEPTH - 1
    root = parse_xml("<r>" + "<a>" * depth + "</a>" * depth + "</r>")
    assert sum(1 for _ in root.walk()) == MAX_DEPTH
    with pytest.raises(ParseError, match=f"line {MAX_DEPTH + 1}: elements nested deeper than {MAX_DEPTH}"):
        parse_xml("<a>\n" * 200_000)


def test_a_flood_of_elements_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_ELEMENTS >= 20_000 * 20
    monkeypatch.setattr("pk_core.parsers.xml.MAX_ELEMENTS", 1000)
    assert len(parse_xml("<r>" + "<a/>" * 999 + "</r>").children) == 999
    with pytest.raises(ParseError, match="more than 1000 elements"):
        parse_xml("<r>" + "<a/>" * 1000 + "</r>")


def test_text_in_many_pieces_is_joined_in_linear_time() -> None:
    start = time.process_time()
    root = parse_xml("<r>" + "1<!-- -->\n" * 200_000 + "</r>")
    assert len(root.text) == 400_000
    assert time.process_time() - start < 5.0


def test_a_prefix_needs_no_declaration_and_stays_in_the_tag() -> None:
    root = parse_xml('<r xmlns="http://x"><sensor:camera/></r>')
    assert (root.tag, root.children[0].tag) == ("r", "sensor:camera")


def test_names_and_namespaces_of_attributes_stay_as_written() -> None:
    start = '<r b="1" xmlns:p="urn:a" p:b="2" q:b="3" xmlns="urn:b">'
    root = parse_xml(f'{start}<p:s xmlns:p="urn:c" p:b="&lt;" xml:space="preserve"/></r>')
    assert list(root.attributes.items()) == [
        ("b", "1"),
        ("xmlns:p", "urn:a"),
        ("p:b", "2"),
        ("q:b", "3"),
        ("xmlns", "urn:b"),
    ]
    child = root.children[0]
    assert (child.tag, child.attributes) == ("p:s", {"xmlns:p": "urn:c", "p:b": "<", "xml:space": "preserve"})


@pytest.mark.parametrize("prefixes", [1, 50, 200])
@pytest.mark.parametrize(
    ("rest", "line", "words"),
    [
        ("</r>\n<s/>", 2, "Extra content"),
        ("</r>\nx", 2, "Extra content"),
        ("</s>", 1, "tag mismatch"),
        ("\n<b", 2, "end of Start Tag b"),
        ("", 1, "inside <r>"),
        ("\n&amp</r>", 2, "';'"),
    ],
)
def test_an_undeclared_prefix_hides_no_error(prefixes: int, rest: str, line: int, words: str) -> None:
    with pytest.raises(ParseError, match=re.escape(words)) as caught:
        parse_xml("<r>" + "<p:a/>" * prefixes + rest)
    assert caught.value.line == line


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<r>\n<a:b:c/></r>", "a:b:c"),
        ('<r xmlns:p="urn:a" xmlns:q="urn:a">\n<a p:x="1" q:x="2"/></r>', "redefined"),
        ("<r>\n<ä:b/></r>", "Namespace prefix ä"),
    ],
)
def test_names_that_no_namespace_explains_are_refused(text: str, words: str) -> None:
    with pytest.raises(ParseError, match=f"line 2: .*{words}"):
        parse_xml(text)


def test_hundreds_of_undeclared_prefixes_are_refused_by_name() -> None:
    with pytest.raises(ParseError, match=r"line 1: .*Namespace prefix p100 "):
        parse_xml("<r>" + "".join(f"<p{i}:a/>" for i in range(300)) + "</r>")


def test_walk_visits_elements_in_the_order_of_the_document() -> None:
    root = parse_xml("<a><b><c/></b><d/></a>")
    assert [element.tag for element in root.walk()] == ["a", "b", "c", "d"]


def test_text_between_children_belongs_to_the_parent() -> None:
    root = parse_xml("<a>1 <b>2</b> <![CDATA[<3>]]></a>")
    assert (root.text, root.children[0].text) == ("1  <3>", "2")


def test_one_child_of_two_is_refused_only_if_they_differ() -> None:
    assert parse_xml('<r><a x="1"/> <a x="1"> </a></r>').child("a").attributes == {"x": "1"}
    with pytest.raises(ParseError, match=r"line 2.*second <a>.*first in line 1"):
        parse_xml("<r><a>1</a>\n<a>2</a></r>").child("a")
    assert parse_xml("<r/>").child("a") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1.0), ("-0.5", -0.5), ("+.5e+01", 5.0), ("1.", 1.0), ("1E-3", 0.001), (" \t7&#10;", 7.0), ("1e-999", 0.0)],
)
def test_a_number_is_read_as_c_reads_it(text: str, value: float) -> None:
    assert number(attribute(text), "a") == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "1 2",
        "0x10",
        "1_0",
        "\uff11",
        "1,5",
        "1.0m",
        "nan",
        "inf",
        "1e",
        ".",
        "e5",
        "--1",
        "1\u00a0",
        "1e999",
        "1d0",
    ],
)
def test_what_only_python_or_nobody_reads_is_no_number(text: str) -> None:
    with pytest.raises(ParseError, match='line 2, <e name="n">: a') as caught:
        number(attribute(text), "a")
    assert len(str(caught.value)) < 200


def test_infinity_is_a_number_only_where_it_is_allowed() -> None:
    assert number(attribute("-Infinity"), "a", infinite=True) == -math.inf
    assert number(attribute("1e999"), "a", infinite=True) == math.inf
    with pytest.raises(ParseError, match="nan"):
        number(attribute("nan"), "a", infinite=True)


def test_a_missing_attribute_takes_its_default_or_is_named() -> None:
    assert number(attribute(""), "b", 2.5) == 2.5
    assert vector(attribute(""), "b", default=(1, 2, 3)) == (1, 2, 3)
    with pytest.raises(ParseError, match="attribute 'b' is missing"):
        number(attribute(""), "b")
    with pytest.raises(ParseError, match="'A' is missing; 'a' is not 'A'"):
        vector(attribute("1 2 3"), "A")


def test_a_vector_has_the_size_it_should_have() -> None:
    assert vector(attribute("1\t2&#13;&#10;3"), "a") == (1.0, 2.0, 3.0)
    with pytest.raises(ParseError, match="a takes 4 numbers separated by blanks, found 3: '1 2 3'"):
        vector(attribute("1 2 3"), "a", size=4)


def test_numbers_of_a_text_may_be_of_any_count() -> None:
    element = parse_xml("<pose>1 2 <!-- c -->\n3</pose>")
    assert numbers(element.text, element, "pose") == (1.0, 2.0, 3.0)
    assert numbers("", element, "pose") == ()


def test_a_long_wrong_number_is_quoted_in_part() -> None:
    with pytest.raises(ParseError) as caught:
        vector(attribute("x" * 100_000), "a")
    assert len(str(caught.value)) < 300
