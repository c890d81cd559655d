"""ARFF with the number of labels in the relation name."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.data import FormatError, read, write
from labelwise.data.formats.arff.meka import label_count
from labelwise.records import LabelData


def text(relation):
    return f"@relation {relation}\n@attribute a {{0,1}}\n@attribute b {{0,1}}\n@attribute c real\n@data\n1,0,2\n0,1,1\n"


@pytest.mark.parametrize(
    ("relation", "labels"),
    [("'set: -C 2'", ("a", "b")), ("'set: -C 1 -I 0'", ("a",)), ("set-C-1:-C 1", ("a",)), ('"x -C 2"', ("a", "b"))],
)
def test_the_first_attributes_are_labels(file, relation, labels):
    assert read(file("x.arff", text(relation))).label_names == labels


def test_a_negative_number_counts_from_the_end(file):
    path = file(
        "x.arff",
        text("'set: -C -1'").replace("c real", "c {0,1}").replace("1,0,2", "1,0,0"),
    )
    data = read(path)
    assert (data.label_names, data.feature_names) == (("c",), ("a", "b"))
    assert data.Y.toarray().tolist() == [[False], [True]]
    assert read(path, labels=-2).label_names == ("b", "c")
    assert read(path, format="meka", labels=2).label_names == ("a", "b")


@pytest.mark.parametrize(("count", "message"), [(0, "found -C 0"), (4, "between 1 and 3"), (-4, "found -C -4")])
def test_impossible_numbers(file, count, message):
    with pytest.raises(FormatError, match=message):
        read(file("x.arff", text(f"'set: -C {count}'")))


def test_a_label_without_a_name(file):
    path = file("x.arff", text("'set: -C 2'").replace("attribute b", "attribute ''"))
    with pytest.raises(FormatError, match=r"x\.arff.*: found '' as the name of a label"):
        read(path)


def test_no_number(file):
    with pytest.raises(FormatError, match=r"found the relation name 'weather', expected -C"):
        read(file("x.arff", text("weather")), format="meka")
    assert label_count("set -Cost 3") is None


@pytest.mark.parametrize("sparse", [False, True])
def test_round_trip(tmp_path, assert_same, sparse):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((2500, 3)) < 0.3, rng.standard_normal((2500, 3)), 0)
    Y = np.where(rng.random((2500, 4)) < 0.1, np.nan, rng.random((2500, 4)) < 0.3)
    data = LabelData.from_arrays(
        sp.csr_array(X) if sparse else X, Y, feature_names=["x", "y y", "z"], label_names=["a", "b", "it's", "d"]
    )
    path = tmp_path / "set.arff.bz2"
    write(data, path, format="meka")
    assert_same(read(path), data)
    assert [file.name for file in tmp_path.iterdir()] == ["set.arff.bz2"]
