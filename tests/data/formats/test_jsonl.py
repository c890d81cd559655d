"""JSON lines."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelwise.data import FormatError, read, write
from labelwise.records import LabelData

LINES = """{"id": 7, "body": "hello world", "size": 1.5, "new": true, "vector": [1, 2.5], "labels": ["red", "round"]}
{"id": 8, "body": "world", "size": 2, "new": false, "vector": [0, 1], "labels": null}

{"id": 9, "body": "", "size": 3, "new": false, "vector": [3, 4], "labels": []}
{"id": 10, "body": "", "size": 3, "new": false, "vector": [3, 4]}
"""


def test_lists_null_and_empty_lists(file):
    data = read(file("x.jsonl", LINES))
    assert data.item_ids == ("7", "8", "9", "10")
    assert data.feature_names == ("size", "new")
    assert data.X.tolist() == [[1.5, 1], [2, 0], [3, 0], [3, 0]]
    assert data.Y.toarray().tolist() == [[True, True], *[[False, False]] * 3]
    assert data.observed.toarray().any(axis=1).tolist() == [True, False, True, False]
    assert data.items[0] == {"body": "hello world", "size": 1.5, "new": True, "vector": [1, 2.5]}


def test_lists_of_numbers_are_features_when_asked_for(file):
    data = read(file("x.jsonl", LINES), features=["vector", "size"])
    assert data.feature_names == ("vector[0]", "vector[1]", "size")
    assert data.X[0].tolist() == [1, 2.5, 1.5]


def test_labels_may_be_joined_numbers_or_truths(file):
    assert read(file("a.jsonl", '{"x": 1, "labels": "a;b"}\n')).label_names == ("a", "b")
    assert read(file("b.jsonl", '{"x": 1, "labels": [3, 12]}\n{"x": 1, "labels": 4}\n')).label_names == ("12", "3", "4")
    data = read(file("c.ndjson", '{"x": 1, "a": true, "b": 0}\n{"x": 2, "b": null, "a": false}\n'), labels=["a", "b"])
    assert data.Y.toarray().tolist() == [[True, False], [False, False]]
    assert data.observed.toarray().tolist() == [[True, True], [True, False]]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "the file is empty"),
        ('{"x": 1, "labels": []\n', {}, "line 1: found .* expected a JSON object"),
        ('{"x": 1, "labels": ["a"]}\n[1]\n', {}, r"line 2: found '\[1\]', expected a JSON object"),
        ('{"x": 1, "x": 2}\n', {}, "line 1: the key 'x' is there twice"),
        ('{"x": NaN}\n', {}, "line 1: found NaN, expected a finite number"),
        ('{"x": 1, "labels": ["a"]}\n\n{"labels": ["a"]}\n', {}, "line 3: column 'x': found a blank"),
        ('{"x": "1", "labels": ["a"]}\n', {"features": ["x"]}, "line 1: column 'x': found '1', expected a number"),
        ('{"x": 1e999, "labels": ["a"]}\n', {}, "expected a finite number"),
        ('{"x": 1, "labels": [null]}\n', {}, "expected a list of label names"),
        ('{"x": 1, "labels": ["a", "a"]}\n', {}, "the label 'a' is given twice"),
        ('{"x": 1, "labels": [""]}\n', {}, "holds an empty label name"),
        ('{"x": 1, "labels": {"a": 1}}\n', {}, "expected label names joined by ';' or a list"),
        ('{"x": 1, "text": null, "labels": "a"}\n', {"text": "text"}, "found None, expected a text"),
        (
            '{"v": [1], "labels": "a"}\n{"v": [1, 2], "labels": "a"}\n',
            {"features": ["v"]},
            "line 2: .* list of 1 numbers",
        ),
        ('{"v": [1, "2"], "labels": "a"}\n', {"features": ["v"]}, "found '2', expected a number"),
        ('{"id": 1.5, "x": 1, "labels": "a"}\n', {}, "found 1.5, expected an id"),
    ],
)
def test_wrong_lines(file, text, options, message):
    with pytest.raises(FormatError, match=message):
        read(file("x.jsonl", text), **options)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(), st.floats(allow_nan=False, allow_infinity=False)),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(st.text(), inner, max_size=2)),
    max_leaves=4,
)


@settings(max_examples=80, deadline=None)
@given(st.lists(json_values, min_size=3, max_size=3), st.integers(0, 2**32 - 1))
def test_round_trip(tmp_path_factory, assert_same, values, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3, 1)) * 10.0 ** rng.integers(-300, 300, (3, 1))
    Y = (rng.random((3, 3)) < 0.5).astype(float)
    Y[rng.integers(3)] = np.nan
    items = [{"value": value, "f": x} for value, x in zip(values, X[:, 0].tolist(), strict=True)]
    data = LabelData.from_arrays(
        X, Y, item_ids=["a", "b\n", "ü"], label_names=["u;v", " w", "x"], feature_names=["f"], items=items
    )
    path = tmp_path_factory.mktemp("jsonl") / "x.jsonl.bz2"
    write(data, path)
    assert_same(read(path, features=["f"], label_names=data.label_names), data)


def test_partial_answers_go_into_one_key_per_label(tmp_path, assert_same):
    data = LabelData.from_arrays([[1.0], [2.0]], [[1, np.nan], [np.nan, 0]], feature_names=["f"])
    path = tmp_path / "x.jsonl"
    with pytest.raises(FormatError, match="use labels=None"):
        write(data, path)
    write(data, path, labels=None)
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[0]) == {
        "id": "0",
        "f": 1.0,
        "label_0": 1,
        "label_1": None,
    }
    assert_same(read(path, labels=["label_0", "label_1"], items=[]), data)


def test_an_item_that_json_cannot_say(tmp_path):
    with pytest.raises(FormatError, match="an item holds what JSON cannot say"):
        write(LabelData.from_arrays([[1.0]], [[1]], items=[{"x": object()}]), tmp_path / "x.jsonl")
    assert list(tmp_path.iterdir()) == []
