"""Parquet tables."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.data import FormatError, read, write
from labelwise.records import LabelData

arrow = pytest.importorskip("pyarrow", reason="needs the extra io")
parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra io")


def table(tmp_path, **columns):
    path = tmp_path / "x.parquet"
    parquet.write_table(arrow.table(columns), path)
    return path


def test_typed_columns(tmp_path):
    path = table(
        tmp_path,
        id=[1, 2, 3],
        body=["hello", "world", ""],
        size=np.array([1.5, 2, 3], np.float32),
        vector=[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]],
        labels=[["b", "a"], None, []],
    )
    data = read(path)
    assert data.item_ids == ("1", "2", "3")
    assert data.feature_names == ("size",)
    assert data.X.dtype == np.float64
    assert data.observed.toarray().tolist() == [[True, True], [False, False], [True, True]]
    assert data.items[0] == {"body": "hello", "size": 1.5, "vector": [1.0, 2.0]}
    assert read(path, features=["vector"]).X.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert read(path, text="body").feature_names == ("hello", "world")


def test_label_columns_of_any_type(tmp_path):
    path = table(tmp_path, x=[1, 2, 3], a=[True, False, None], b=[1.0, float("nan"), 0.0], c=[0, 1, 1])
    data = read(path, labels=["a", "b", "c"])
    assert data.Y.toarray().tolist() == [[True, True, False], [False, False, True], [False, False, True]]
    assert data.observed.toarray().tolist() == [[True, True, True], [True, False, True], [False, True, True]]


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ({"x": [1.0, None], "labels": ["a", "b"]}, {}, "row 2: column 'x': found a blank"),
        ({"x": [1.0, float("inf")], "labels": ["a", "b"]}, {}, "row 2: column 'x': found 'inf', expected a finite"),
        ({"x": [1.0, 2.0], "labels": ["a", "b;b"]}, {}, "row 2: column 'labels': the label 'b' is given twice"),
        ({"v": [[1.0], [1.0, 2.0]], "labels": ["a", "b"]}, {"features": ["v"]}, "row 2: .* a list of 1 numbers"),
        ({"x": [], "labels": []}, {}, "there is no row"),
    ],
)
def test_wrong_tables(tmp_path, columns, options, message):
    with pytest.raises(FormatError, match=message):
        read(table(tmp_path, **columns), **options)


def test_wrong_files(file):
    with pytest.raises(FormatError, match="this is not a valid parquet file"):
        read(file("x.parquet", "PAR1 or not"))
    with pytest.raises(FormatError, match="a parquet file is compressed inside"):
        read(file("x.parquet.gz", b""))


@pytest.mark.parametrize("sparse", [False, True])
def test_round_trip(tmp_path, assert_same, sparse):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2)) * 10.0 ** rng.integers(-300, 300, (30, 2))
    Y = (rng.random((30, 3)) < 0.5).astype(float)
    data = LabelData.from_arrays(
        sp.csr_array(X) if sparse else X,
        np.where(rng.random((30, 1)) < 0.3, np.nan, Y),
        item_ids=[f"doc{k}" for k in range(30)],
        label_names=["c", "b;", "a"],
        feature_names=["f", "g"],
        items=[{"note": f"text {k}", "tags": ["x"] * (k % 3), "f": X[k, 0], "g": X[k, 1]} for k in range(30)],
    )
    path = tmp_path / "x.parquet"
    write(data, path)
    assert_same(read(path, label_names=data.label_names), data)
    write(data, path, labels=None)
    assert_same(read(path, labels=list(data.label_names)), data)


def test_fields_of_mixed_types_are_refused(tmp_path):
    data = LabelData.from_arrays([[1.0], [2.0]], [[1], [0]], items=[{"x": 1}, {"x": "one"}])
    with pytest.raises(FormatError, match="the field 'x' of items does not fit one type"):
        write(data, tmp_path / "x.parquet")
    assert list(tmp_path.iterdir()) == []
