"""Common files of labels are read as they are meant, or refused with a cure; what was decided is said."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelwise.data import FormatError, read, write
from labelwise.data.formats.table.labels import SIGNS, TRUTH, UNKNOWN, find_separator, join_tags, parse_tags
from labelwise.records import LabelData


def table(*cells, name="tags"):
    """A csv with one feature and a column of these cells, all quoted."""
    return f"x,{name}\n" + "".join(f'{row},"{cell}"\n' for row, cell in enumerate(cells))


def known(data):
    """Labels of each item that is known, None where it is not."""
    rows = data.observed_mask().toarray().any(1)
    names = np.array(data.label_names)
    return [names[row].tolist() if seen else None for row, seen in zip(data.Y.toarray(), rows, strict=True)]


@pytest.mark.parametrize(
    ("yes", "no"), [("1", "0"), ("1.0", "0.0"), ("true", "false"), ("TRUE", "FALSE"), ("Yes", "no")]
)
def test_a_column_of_yes_and_no_is_one_label(file, yes, no):
    path = file("x.csv", table(yes, no, "", f" {yes} ", "NaN", name="animal"))
    with pytest.warns(UserWarning, match=r"'animal' is read as one label: 2 yes, 1 no, 2 blank \(unknown\)"):
        data = read(path, labels="animal")
    assert data.label_names == ("animal",)
    assert known(data) == [["animal"], [], None, ["animal"], None]


def test_a_column_of_yes_and_no_among_labels_that_are_given(file):
    path = file("x.csv", table("1", "0", name="animal"))
    with pytest.warns(UserWarning, match="one label"):
        data = read(path, labels="animal", label_names=["mood", "animal"])
    assert data.Y.toarray().tolist() == [[False, True], [False, False]]
    assert data.observed.toarray().tolist() == [[False, True]] * 2
    with pytest.raises(FormatError, match=r"which is not in label_names=; add 'animal' there"):
        read(path, labels="animal", label_names=["mood"])
    assert read(path, labels="animal", label_names=["0", "1"]).label_names == ("0", "1")  # they are labels here
    assert read(path, labels="animal", separator=";").label_names == ("0", "1")  # who names a separator means a list


@pytest.mark.parametrize("sign", SIGNS)
def test_the_separator_is_found(file, sign, recwarn):
    data = read(file("x.csv", table(f"a{sign} b", "b", f"c{sign}a", "", sign)), labels="tags")
    assert known(data) == [["a", "b"], ["b"], ["a", "c"], None, []]
    assert [str(warning.message) for warning in recwarn] == (
        [] if sign == ";" else [f"column 'tags': labels are divided by {sign!r} (separator={sign!r})"]
    )


def test_a_comma_may_be_part_of_a_name(file, recwarn):
    data = read(file("x.csv", table("Goods, other; food", "food", "Goods, other; wine")), labels="tags")
    assert data.label_names == ("Goods, other", "food", "wine")
    names = ["Goods, other", "food"]
    assert read(file("y.csv", table("Goods, other", "food")), labels="tags", label_names=names).label_names == (
        "Goods, other",
        "food",
    )
    assert not recwarn


@pytest.mark.parametrize("cells", [("a, b", "c"), ("a;b", "a, c"), ("a|b", "a, b"), ("x, y",)])
def test_what_cannot_be_told_is_refused_with_the_value_and_the_cure(file, cells):
    path = file("x.csv", table(*cells))
    doubtful = next(cell for cell in cells if "," in cell)
    with pytest.raises(
        FormatError,
        match=rf"line \d: column 'tags': found '{doubtful}', which may be one label or 2; say separator=','",
    ):
        read(path, labels="tags")
    assert read(path, labels="tags", separator=",").n_labels >= 2
    assert doubtful in read(path, labels="tags", separator=";").label_names


@pytest.mark.parametrize("word", sorted(UNKNOWN))
def test_a_word_for_nothing_is_not_a_label(file, word):
    path = file("x.csv", table("a;b", word, f" {word} "))
    data = read(path, labels="tags")
    assert data.label_names == ("a", "b") and known(data) == [["a", "b"], None, None]
    assert known(read(path, labels="tags", label_names=["a", "b", word]))[1] == [word]  # where it is one by name


@pytest.mark.parametrize("cell", ["['a', 'b']", '[""a"", ""b""]', '[""a"",""b""]'])
def test_a_list_as_programs_print_it(file, cell):
    assert known(read(file("x.csv", table(cell, "[]", "['c']")), labels="tags"))[0] == ["a", "b"]


def test_a_broken_list_is_refused(file):
    with pytest.raises(FormatError, match=r"line 2: column 'tags': found .*looks like a list and is none"):
        read(file("x.csv", table("['a' 'b']")), labels="tags", separator=";")


def test_counts_are_told(file):
    told = []
    text = "id,body,tags\n1,one,Red;round\n2, ,red\n3,one,\n4,one,NaN\n5,two,;\n"
    read(file("x.csv", text), text="body", labels="tags", notice=told.append)
    assert told == [
        "column 'tags': labels are divided by ';' (separator=';')",
        "column 'tags': 3 items with known labels, 1 of them with none; 2 blank (nothing is known of them)",
        "column 'tags': 'Red' and 'red' differ only in case; are they one?",
        "column 'body': 1 of 5 texts are blank",
        "2 texts of column 'body' are the same as an earlier one",
    ]
    told.clear()
    read(file("y.csv", "id,size,labels\na,1,x\nb,1,x\n"), notice=told.append)
    assert told[1:] == ["1 items are in all that is shown the same as an earlier one"]


NAMES = st.one_of(
    st.sampled_from([*UNKNOWN, *TRUTH, "a", "b", "a, b", "a|b", "Yes", "[]", "['a']"]), st.text(min_size=1)
).filter(lambda name: name == name.strip() and ";" not in name)


@settings(deadline=None)
@given(st.lists(st.lists(NAMES, unique=True, max_size=3), min_size=1, max_size=5))
def test_what_was_joined_is_read_the_same_without_a_word_on_the_separator(rows):
    try:
        cells = [join_tags(row, ";") for row in rows]
    except ValueError:
        return  # said to be impossible
    assert find_separator(cells, None) == ";"
    assert [parse_tags(cell, ";") for cell in cells] == rows


@pytest.mark.parametrize("names", [("0", "1"), ("yes", "no"), ("NaN", "null"), ("a, b", "a"), ("x|y", "x")])
def test_odd_names_come_back_from_a_file(tmp_path, assert_same, recwarn, names):
    data = LabelData.from_arrays([[1.0], [2.0], [3.0]], np.eye(3, 2), label_names=sorted(names), feature_names=["f"])
    write(data, tmp_path / "x.csv")
    assert_same(read(tmp_path / "x.csv", items=[]), data, but=["items"])
    assert not recwarn


def test_utf_16_and_spreadsheets_are_named(file):
    with pytest.raises(FormatError, match="this is UTF-16 text; save it as UTF-8"):
        read(file("x.csv", "x,labels\n1,a\n".encode("utf-16")))
    with pytest.raises(ValueError, match=r"a spreadsheet of this kind is not read; save it as \.xlsx, or as \.csv"):
        read(file("x.ods", b"PK"))
