"""csv and tsv tables."""

import csv
import io

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

from labelwise.data import FormatError, read, write
from labelwise.records import LabelData

TABLE = "id,note,size,weight,tags\na,hello world,1.5,2,red; round\nb,world,2.5,1e-3,\nc,,3,4,;\n"


def test_numeric_columns_and_one_column_of_labels(file):
    data = read(file("x.csv", TABLE), labels="tags")
    assert data.item_ids == ("a", "b", "c")
    assert data.feature_names == ("size", "weight")
    assert data.X.tolist() == [[1.5, 2], [2.5, 0.001], [3, 4]]
    assert data.label_names == ("red", "round")
    assert data.Y.toarray().tolist() == [[True, True], [False, False], [False, False]]
    assert data.observed.toarray().tolist() == [
        [True, True],
        [False, False],
        [True, True],
    ]  # blank is unknown, ; is none
    assert data.items[1] == {"note": "world", "size": "2.5", "weight": "1e-3"}


def test_columns_by_name(file):
    path = file("x.csv", TABLE)
    data = read(path, labels="tags", features=["weight"], id="size")
    assert data.item_ids == ("1.5", "2.5", "3")
    assert data.X.tolist() == [[2], [0.001], [4]]
    assert list(data.items[0]) == ["id", "note", "weight"]
    assert read(path, labels="tags", id=None, features=["size", "weight"]).item_ids == ("0", "1", "2")


def test_text_becomes_tf_idf(file):
    data = read(file("x.csv", TABLE), labels="tags", text="note")
    rival = TfidfVectorizer()
    assert np.array_equal(data.X.toarray(), rival.fit_transform(["hello world", "world", ""]).toarray())
    assert data.feature_names == tuple(rival.get_feature_names_out())
    assert isinstance(data.X, sp.csr_array)
    assert read(file("x.csv", TABLE), labels="tags", text="note", dtype=np.float32).X.dtype == np.float32


def test_a_given_vectorizer_is_fitted_once_and_then_only_applied(file):
    path, words = file("x.csv", TABLE), CountVectorizer()
    first = read(path, labels="tags", text="note", vectorizer=words)
    assert words.vocabulary_ == {"hello": 0, "world": 1}
    new = read(file("new.csv", "note\nnew hello\n"), labels=None, label_names=["red"], text="note", vectorizer=words)
    assert first.feature_names == new.feature_names == ("hello", "world")
    assert new.X.toarray().tolist() == [[1, 0]]
    assert new.n_observed == 0
    hashed = read(path, labels="tags", text="note", features=["size"], vectorizer=HashingVectorizer(n_features=8))
    assert hashed.X.shape == (3, 9)
    assert hashed.feature_names is None
    with pytest.raises(TypeError, match="vectorizer must be a scikit-learn transformer"):
        read(path, labels="tags", text="note", vectorizer="tfidf")


def test_text_and_numbers_together(file):
    data = read(file("x.csv", TABLE), labels="tags", text="note", features=["size"])
    assert data.feature_names == ("hello", "world", "size")
    assert data.X.toarray()[:, 2].tolist() == [1.5, 2.5, 3]


def test_one_column_per_label(file):
    text = "size,cat,dog\n1,0,1\n2,,1.0\n3,TRUE,\n"
    data = read(file("x.csv", text), labels=["dog", "cat"])
    assert data.label_names == ("dog", "cat")
    assert data.Y.toarray().tolist() == [[True, False], [True, False], [False, True]]
    assert data.observed.toarray().tolist() == [[True, True], [True, False], [False, True]]
    assert data.item_ids == ("0", "1", "2")
    assert data.items == ({"size": "1"}, {"size": "2"}, {"size": "3"})


def test_a_vocabulary_fixes_the_order_and_what_may_occur(file):
    path = file("x.csv", TABLE)
    names = file("names.txt", "round\nred\nblue\n")
    data = read(path, labels="tags", label_names=names)
    assert data.label_names == ("round", "red", "blue")
    assert data.Y.toarray()[0].tolist() == [True, True, False]
    with pytest.raises(FormatError, match=r"x\.csv, line 2: column 'tags': found the label 'round', which is not in"):
        read(path, labels="tags", label_names=["red"])
    with pytest.raises(FormatError, match="label_names= holds a name twice"):
        read(path, labels="tags", label_names=["red", "red"])


def test_what_is_shown(file):
    path = file("x.csv", TABLE)
    assert read(path, labels="tags", items="note").items == ("hello world", "world", "")
    assert read(path, labels="tags", items=["note"]).items[0] == {"note": "hello world"}
    assert read(path, labels="tags", items=[]).items is None


def test_other_delimiters_and_files_without_names(file):
    text = 'a "b" text\t0,3\tx1\nanother\t1\tx2\n'
    data = read(file("x.tsv", text), columns=["note", "tags", "id"], labels="tags", separator=",", text="note")
    assert data.items[0]["note"] == 'a "b" text'
    assert data.label_names == ("0", "1", "3")
    assert data.item_ids == ("x1", "x2")
    assert read(file("x.csv", "a|labels\n1|x\n"), delimiter="|").X.tolist() == [[1]]


def test_cells_may_hold_lines_and_be_long(file):
    long = "word " * 40_000
    before = csv.field_size_limit()
    data = read(file("x.csv", f'note,labels\n"two\nlines",a\n"{long}",b\n'), text="note")
    assert data.items[0]["note"] == "two\nlines"
    assert data.items[1]["note"] == long
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "the file is empty"),
        ("a,labels\n", {}, "there is no row"),
        ("a,labels\n1,x\n2\n", {}, "line 3: found 1 cells, expected 2"),
        ('a,labels\n"1\n",x\n2,y,z\n', {}, "line 4: found 3 cells"),
        ("a,a,labels\n1,2,x\n", {}, "line 1: the column 'a' is there twice"),
        (",labels\n1,x\n", {}, "line 1: column 1 has no name"),
        ('a,labels\n"1,x\n', {}, "line 2: the quotes are wrong"),
        ('a,labels\n"1"2,x\n', {}, "line 2: the quotes are wrong"),
        ("a,tags\n1,x\n", {}, r"there is no column 'labels', asked for by labels=; there are \['a', 'tags'\]"),
        ("a,labels\n1,x\n", {"text": "note"}, "no column 'note', asked for by text="),
        ("a,labels\n1,x\n", {"features": ["b"]}, "asked for by features="),
        ("a,labels\n1,x\n", {"items": ["b"]}, "asked for by items="),
        ("a,labels\n1,x\n", {"id": "b"}, "asked for by id="),
        ("a,labels\n1,x\n,y\n", {}, "line 3: column 'a': found a blank, expected a number"),
        ("a,labels\n1,x\nnan,y\n", {}, "line 3: column 'a': found 'nan', expected a finite number"),
        ("a,labels\n1,x\ninf,y\n", {}, "line 3: column 'a': found 'inf', expected a finite number"),
        ("a,labels\n1,x\n1e999,y\n", {}, "line 3: column 'a': found '1e999', which is too large"),
        ("a,labels\nx,x\ny,y\n", {}, "nothing to learn from: no column of .* is numeric"),
        ("a,labels\n1_0,x\n", {"features": ["a"]}, "found '1_0', expected a number"),
        ("a,b,labels\n1,red,x\n2,3,y\n", {"features": ["b"]}, "line 2: column 'b': found 'red', expected a number"),
        ("a,labels\n1,x;x\n", {}, "line 2: column 'labels': the label 'x' is given twice"),
        ("a,labels\n1,x;;y\n", {}, "holds an empty label name; ';' alone means no label"),
        ("a,labels\n1,\n2,;\n", {}, "holds no label at all; list the labels with label_names="),
        ("a,x\n1,2\n", {"labels": ["x"]}, r"line 2: column 'x': found '2', expected 0, 1 or blank \(unknown\)"),
        ("a,x\n1,1\n", {"labels": ["x", "x"]}, "labels= names a column twice"),
        ("id,a,labels\nk,1,x\nk,2,y\n", {}, "line 3: column 'id': the id 'k' is given twice"),
        ("id,a,labels\n ,1,x\n", {}, "line 2: column 'id': found ' ', expected an id"),
        ("a;labels\n1;x\n", {}, "no column 'labels'.*say delimiter=';'"),
        ("a;labels\n1;x,y\n", {}, "line 2: found 2 cells, expected 1.*say delimiter=';'"),
        ("body,labels\n,x\n,y\n", {"text": "body"}, "x.csv: column 'body': .*every text is empty"),
        ("body,labels\n!,x\n?,y\n", {"text": "body"}, "x.csv: column 'body': .*empty vocabulary"),
    ],
)
def test_wrong_tables(file, text, options, message):
    with pytest.raises(FormatError, match=message):
        read(file("x.csv", text), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": None}, "without labels= the label_names= must say"),
        ({"separator": ""}, "separator must not be empty"),
        ({"features": "a"}, "features must be a list of columns"),
        ({"labels": ["a"], "label_names": ["a"]}, "label_names= goes with one column"),
        ({"dtype": int}, "dtype must be float32 or float64"),
    ],
)
def test_options_that_make_no_sense(file, options, message):
    with pytest.raises(ValueError, match=message):
        read(file("x.csv", TABLE), **options)


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@settings(max_examples=80, deadline=None)
@given(st.lists(texts, min_size=3, max_size=3), st.integers(0, 2**32 - 1), st.booleans())
def test_round_trip_of_numbers_texts_and_unknowns(tmp_path_factory, assert_same, shown, seed, one_column):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3, 2)) * 10.0 ** rng.integers(-300, 300, (3, 2))
    Y = (rng.random((3, 4)) < 0.5).astype(float)
    if one_column:
        Y[rng.integers(3)] = np.nan
    else:
        Y[rng.random((3, 4)) < 0.3] = np.nan
    raw = [[repr(value).removesuffix(".0") for value in row] for row in X.tolist()]
    data = LabelData.from_arrays(
        X,
        Y,
        item_ids=["a", "b", "7"],
        label_names=["u", "v w", "x,y", '"'],
        feature_names=["f", "g\nh"],
        items=[{"text": f"t {text}", "f": row[0], "g\nh": row[1]} for text, row in zip(shown, raw, strict=True)],
    )
    path = tmp_path_factory.mktemp("csv") / "x.csv"
    write(data, path, labels="tags" if one_column else None)
    labels = {"labels": "tags", "label_names": data.label_names} if one_column else {"labels": list(data.label_names)}
    assert_same(read(path, **labels), data)


def test_round_trip_of_texts(tmp_path, assert_same, file):
    data = read(file("x.csv", TABLE), labels="tags", text="note")
    path = tmp_path / "again.csv.gz"
    write(data, path, labels="tags", text="note")
    assert_same(read(path, labels="tags", text="note"), data)
    bare = LabelData.from_arrays(data.X, data.Y, label_names=data.label_names, items=["one two", "two", "three"])
    write(bare, path, text="text")
    assert read(path, text="text", items="text").items == bare.items


def test_a_wide_table_is_written_in_pieces(tmp_path, assert_same):
    rng = np.random.default_rng(0)
    X = sp.random_array((2500, 5), density=0.2, rng=rng, format="csr")
    data = LabelData.from_arrays(X, rng.random((2500, 2)) < 0.5)
    write(data, tmp_path / "x.tsv", labels="labels")
    assert_same(read(tmp_path / "x.tsv", items=[]), data, but=("feature_names",))


def test_what_a_table_cannot_say_is_refused(tmp_path):
    path = tmp_path / "x.csv"
    partial = LabelData.from_arrays([[1.0]], [[1, np.nan]], item_ids=["doc7"])
    with pytest.raises(FormatError, match=r"only some labels of item 'doc7' are known.*use labels=None"):
        write(partial, path)
    with pytest.raises(FormatError, match="cannot be joined by ';'; choose another separator="):
        write(LabelData.from_arrays([[1.0]], [[1]], label_names=["a;b"]), path)
    with pytest.raises(FormatError, match="cannot be joined"):
        write(LabelData.from_arrays([[1.0]], [[1]], label_names=[" a"]), path)
    with pytest.raises(FormatError, match="the column 'id' would be there twice"):
        write(LabelData.from_arrays([[1.0]], [[1]], feature_names=["id"]), path)
    with pytest.raises(FormatError, match="text='note' is no field of items"):
        write(LabelData.from_arrays([[1.0]], [[1]]), path, text="note")
    with pytest.raises(FormatError, match="there is no item to write"):
        write(partial.take([]), path)
    with pytest.raises(FormatError, match=r"a cell of a \.tsv file holds no tab and no line end"):
        write(LabelData.from_arrays([[1.0]], [[1]], items=["a\tb"]), tmp_path / "x.tsv")
    assert list(tmp_path.iterdir()) == []
    write(LabelData.from_arrays([[1.0]], [[1]], label_names=["a;b"]), path, separator="|")
    assert read(path, separator="|").label_names == ("a;b",)


def test_fields_that_are_no_text_are_written_as_json(tmp_path):
    items = [{"n": 3, "flags": [True, None], "x": 0.5}, {"n": None}]
    write(LabelData.from_arrays([[1.0], [2.0]], [[1], [0]], items=items), tmp_path / "x.csv")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "x.csv").read_text(encoding="utf-8"))))
    assert [rows[0][name] for name in ("n", "flags", "x")] == ["3", "[true, null]", "0.5"]
    assert rows[1]["n"] == ""
    assert rows[1]["labels"] == ";"
