"""Names, quotes and declarations at the head of ARFF files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelwise.data import FormatError
from labelwise.data.errors import Problem
from labelwise.data.formats.arff.header import Attribute, parse_attribute, quote, read_header, split_cells, unquote


@given(st.text())
def test_any_name_survives_quoting(name):
    assert unquote(quote(name)) == name
    assert parse_attribute(f"{quote(name)} numeric") == Attribute(name, None)


@given(st.lists(st.text(), min_size=1, unique=True))
def test_any_values_survive_quoting(values):
    declaration = f"x {{{', '.join(map(quote, values))}}}"
    assert parse_attribute(declaration) == Attribute("x", tuple(values))


@given(st.lists(st.text(), min_size=1))
def test_cells_split_only_outside_quotes(values):
    assert [unquote(cell) for cell in split_cells(",".join(map(quote, values)))] == values


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        ("x real", Attribute("x", None)),
        ("x\tINTEGER", Attribute("x", None)),
        ("x numeric % a comment", Attribute("x", None)),
        ("x{0,1}", Attribute("x", ("0", "1"))),
        ("x { a , 'b, }c' } % why", Attribute("x", ("a", "b, }c"))),
        (r"TAG_m\'usica {0,1}", Attribute("TAG_m'usica", ("0", "1"))),
        ('"a \\"b\\"" numeric', Attribute('a "b"', None)),
        ("0; {0,1}", Attribute("0;", ("0", "1"))),
    ],
)
def test_declarations_as_they_occur(declaration, expected):
    assert parse_attribute(declaration) == expected


@pytest.mark.parametrize(
    ("declaration", "message"),
    [
        ("x string", "attribute 'x' is of type string, expected numeric or nominal"),
        ("x date 'yyyy-MM-dd'", "is of type date"),
        ("x relational", "is of type relational"),
        ("x float", "has type 'float', expected numeric, real, integer or"),
        ("x", "has type ''"),
        ("x {}", "empty list of values"),
        ("x {a,b,a}", "lists the value 'a' twice"),
        ("x {a,b", r"expected \{a,b,...\} closed"),
        ("{0,1}", "expected @attribute NAME TYPE"),
        ("'x numeric", "expected @attribute NAME TYPE"),
        ("x {a'b}", r"expected \{a,b,...\} closed"),
        ("x {'a'b}", "expected nothing behind the closing quote"),
    ],
)
def test_wrong_declarations(declaration, message):
    with pytest.raises(Problem, match=message):
        parse_attribute(declaration)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "file: the file is empty"),
        (b"@relation x\n@attribute a numeric\n", "line 2: the file ends without a @data line"),
        (b"@attribute a numeric\n@data\n", "line 2: found @data, expected @relation before it"),
        (b"@relation x\n@data\n", "line 2: found @data, expected at least one @attribute"),
        (b"@relation x\n\n@atribute a numeric\n", "line 3: found '@atribute a numeric', expected @relation"),
        (b"@relation x\n@attribute a real\n@attribute 'a' {0,1}\n", "line 3: attribute 'a' is declared twice"),
        (b"@relation x\n@attribute caf\xe9 real\n", "line 2: found the byte"),
    ],
)
def test_wrong_heads_name_the_line(text, message):
    with pytest.raises(FormatError, match=message):
        read_header("file", iter([text]), "utf-8")


def test_a_head_may_span_blocks_and_keeps_what_follows():
    blocks = iter(
        [b"\xef\xbb\xbf% a comment\r\n@RELATION 'my set: -C 1'\r\n@attribute a real\r\n", b"@Data\n1\n2\n", b"3\n"]
    )
    header, rest = read_header("file", blocks, "utf-8")
    assert (header.relation, header.attributes, header.first_line) == ("my set: -C 1", (Attribute("a", None),), 5)
    assert (rest, next(blocks)) == (b"1\n2\n", b"3\n")
