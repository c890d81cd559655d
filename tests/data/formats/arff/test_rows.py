"""The Python parser, which defines the rows of ARFF, and the compiled one, which must agree with it in everything."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from labelwise.data import FormatError
from labelwise.data.formats.arff.header import Attribute, Header, quote
from labelwise.data.formats.arff.rows import BlockParser, RowParser
from labelwise.data.formats.compiled import CompiledBlockParser

ATTRIBUTES = (
    Attribute("size", None),
    Attribute("word", ("0", "1")),
    Attribute("colour", ("red", "light blue", "?", "0", "")),
    Attribute("weight", None),
    Attribute("label", ("0", "1")),
    Attribute("truth", ("true", "false")),
    Attribute("number label", None),
)
LABELS = [4, 5, 6]


def parsers(attributes=ATTRIBUTES, labels=LABELS):
    rows = RowParser.of(Header("x", attributes, 1), labels)
    return [BlockParser(rows, "file", "utf-8"), CompiledBlockParser(rows, "file", "utf-8")]


def outcome(parse, block, line=1):
    """What a parser gives, in a form that can be compared, or its complaint."""
    try:
        found = parse(block, line)
    except FormatError as error:
        return str(error)
    parts = found if isinstance(found, tuple) else (found,)
    return [(part.shape, part.dtype, part.tobytes()) for part in parts]


numbers = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-5, 5).map(str),
    st.sampled_from(["0.1", "+1", "-0", "5.", ".5", "1e-7", "1E5", "0.30000000000000004", "9007199254740993", "1e22"]),
    st.sampled_from(["123456789012345678901234567890", "1e23", "4.9e-324", "1e-400", "000000000000000000001.5"]),
)
wrong = st.sampled_from(["?", "2", "'a", "b\\", "{", "}", "''", "ü", "1e400", "nan", "x", "", "1_0", "1 2", "1e", "0."])
blanks = st.sampled_from(["", "", "", " ", "\t", "  "])


@st.composite
def cells(draw, position):
    """A cell of an attribute: right nearly always, sometimes quoted or unknown, and wrong now and then."""
    values, choice = ATTRIBUTES[position].values, draw(st.integers(0, 39))
    if choice == 0:
        return draw(wrong)
    if choice < 4 and position in LABELS:
        return "?"
    if values is not None:
        value = draw(st.sampled_from(values))
        return quote(value) if choice < 10 or value in ("", "?", "light blue") else value
    return draw(numbers if position not in LABELS else st.sampled_from(["0", "1", "1.0", "0e5"]))


@st.composite
def dense_rows(draw):
    row = [draw(cells(position)) for position in range(len(ATTRIBUTES))]
    if draw(st.integers(0, 19)) == 0:
        row.pop()
    return ",".join(draw(blanks) + cell + draw(blanks) for cell in row)


@st.composite
def sparse_rows(draw):
    size = len(ATTRIBUTES)
    chosen = draw(st.lists(st.integers(0, size - 1), unique=True, max_size=size))
    if draw(st.integers(0, 4)):
        chosen.sort()
    chosen += draw(st.lists(st.integers(0, size + 1), max_size=1)) if draw(st.integers(0, 19)) == 0 else []
    pairs = [f"{k} {draw(cells(k % size))}" for k in chosen]
    return "{" + ",".join(draw(blanks) + pair + draw(blanks) for pair in pairs) + draw(blanks) + "}"


def blocks_of(rows):
    odd = st.sampled_from(["", "   ", "% a comment, with {0 1}", "\t"])
    lines = st.lists(st.one_of(rows, rows, odd), min_size=1, max_size=8)
    ends = st.sampled_from(["\n", "\r\n"])
    return st.builds(lambda parts, end, last: (end.join(parts) + end * last).encode(), lines, ends, st.booleans())


@settings(max_examples=200, deadline=None)
@given(blocks_of(sparse_rows()))
@example(b"{0 1e999}\n")
@example(b"{6 0.00000000000000000000000000000001}")
@example(b"{2 }\n{2 0 }")
@example(b"{2\rred}")
def test_both_parsers_agree_on_sparse_rows(block):
    python, compiled = parsers()
    assert outcome(compiled.sparse, block, 7) == outcome(python.sparse, block, 7)


@settings(max_examples=200, deadline=None)
@given(blocks_of(dense_rows()))
@example(b"1,0,,2,1,true,1")
def test_both_parsers_agree_on_dense_rows(block):
    python, compiled = parsers()
    assert outcome(compiled.dense, block, 7) == outcome(python.dense, block, 7)


@settings(max_examples=200, deadline=None)
@given(blocks_of(sparse_rows()), st.integers(0, 200), st.sampled_from(list("{},'\"\\? \t\n\r0129eE+-.%x")))
def test_both_parsers_agree_on_damaged_rows(block, place, sign):
    place %= len(block) + 1
    damaged = block[:place] + sign.encode() + block[place + 1 :]
    python, compiled = parsers()
    assert outcome(compiled.sparse, damaged) == outcome(python.sparse, damaged)
    assert outcome(compiled.dense, damaged) == outcome(python.dense, damaged)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.one_of(st.floats(allow_nan=False, allow_infinity=False), st.decimals(-1000, 1000, places=9).map(float)))
)
def test_compiled_numbers_are_rounded_as_python_does(values):
    text = ",".join(["0", *map(repr, values)]).encode()
    _, compiled = parsers(tuple(Attribute(f"x{k}", None) for k in range(len(values) + 1)), [])
    assert compiled.dense(text, 1)[0].tolist() == [0.0, *values]


@settings(max_examples=200, deadline=None)
@given(st.from_regex(r"\A[+-]?([0-9]{1,25}\.[0-9]{0,25}|\.[0-9]{1,25}|[0-9]{1,25})([eE][+-]?[0-9]{1,3})?\Z"))
def test_compiled_numbers_in_any_spelling(text):
    python, compiled = parsers((Attribute("x", None),), [])
    assert outcome(compiled.dense, text.encode()) == outcome(python.dense, text.encode())


def test_many_numbers_that_need_float_overflow_no_table():
    values = [f"{k}e-30" for k in range(1, 2000)]  # far shorter than the 16 bytes foreseen
    _, compiled = parsers((Attribute("x", None),), [])
    found = compiled.dense("\n".join(values).encode(), 1)
    assert found[:, 0].tolist() == [float(value) for value in values]


def test_cells_are_numbers_positions_or_unknown():
    for parser in parsers():
        block = parser.sparse(b"{0 2.5,2 'light blue',4 ?,5 false}\n{}\n{6 1, 4 1}\n", 1)
        assert block.lengths.tolist() == [4, 0, 2]
        assert block.attributes.tolist() == [0, 2, 4, 5, 4, 6]
        assert np.array_equal(block.values, [2.5, 1, np.nan, 1, 1, 1], equal_nan=True)
        row = parser.dense(b'1e-3, 1, "light blue", 7, ?, true, ?\n', 1)
        assert np.array_equal(row, [[0.001, 1, 1, 7, np.nan, 0, np.nan]], equal_nan=True)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("{0 1", "found '{0 1' at the end of the row, expected }"),
        ("1,2", "found '1,2', expected a row in braces"),
        ("{7 1}", "found the index 7, expected 0 to 6"),
        ("{3 1,3 2}", r"index 3 \('weight'\) is given twice"),
        ("{3 1,0 2,3 1}", r"index 3 \('weight'\) is given twice"),
        ("{3}", "found '3', expected an attribute's index, a space and its value"),
        ("{x 1}", "found 'x', expected the index of an attribute"),
        ("{0 ?}", r"found \? \(missing\) for the feature 'size', expected a value"),
        ("{2 ?}", r"found \? \(missing\) for the feature 'colour'"),
        ("{2 green}", "found 'green' for 'colour', expected one of .'red', 'light blue'"),
        ("{0 nan}", "attribute 'size': found 'nan', expected a finite number"),
        ("{0 one}", "attribute 'size': found 'one', expected a number"),
        ("{6 2}", "found 2 for the label 'number label', expected 0, 1 or"),
        ("{2 'red}", "found a quote that is never closed"),
    ],
)
def test_wrong_sparse_rows_name_the_line(compiled, row, message):
    parser = parsers()[compiled]
    with pytest.raises(FormatError, match=f"^file, line 12: {message}"):
        parser.sparse(f"{{0 1}}\n% fine\n{row}\n{{}}\n".encode(), 10)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("1,0,red,2,1,true", "found 6 values, expected 7, one per attribute"),
        ("1,0,red,2,1,true,1,1", "found 8 values, expected 7"),
        ("{0 1}", "found a sparse row"),
        ("1;0,red,2,1,true,1,1", "attribute 'size': found '1;0', expected a number"),
        ("1,2,red,2,1,true,1", "found '2' for 'word', expected one of"),
        ("1,?,red,2,1,true,1", r"found \? \(missing\) for the feature 'word'"),
    ],
)
def test_wrong_dense_rows_name_the_line(compiled, row, message):
    parser = parsers()[compiled]
    with pytest.raises(FormatError, match=f"^file, line 11: {message}"):
        parser.dense(f"1,0,red,2,1,true,1\n{row}\n".encode(), 10)
