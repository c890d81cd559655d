"""From attributes to columns, against liac-arff and a loop over cells."""

import arff as liac
import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.data import FormatError, read
from labelwise.data._arff import read_arff

DECLARED = {
    "size": "NUMERIC",
    "word": ["0", "1"],
    "colour": ["red", "light blue", "green"],
    "back": ["1", "0"],
    "two": ["a", "b"],
    "one": ["only"],
    "tag": ["0", "1"],
    "gat": ["1", "0"],
    "true": ["FALSE", "TRUE"],
}
LABELS = ["tag", "gat", "true"]
COLUMNS = ["size", "word", "colour=red", "colour=light blue", "colour=green", "back", "two=a", "two=b", "one=only"]


def random_rows(n, rng, left_out):
    """Rows as {attribute: value}; a sparse row leaves attributes out, which then have 0 or their first value."""
    rows = []
    for _ in range(n):
        row = {}
        for position, values in enumerate(DECLARED.values()):
            if rng.random() >= left_out:
                value = round(rng.standard_normal(), 6) if values == "NUMERIC" else values[rng.integers(len(values))]
                row[position] = None if position >= 6 and rng.random() < 0.1 else value
        rows.append(row)
    return rows


def expected_arrays(rows):
    """X, and Y with NaN for unknown, cell by cell."""
    X, Y = np.zeros((len(rows), len(COLUMNS))), np.zeros((len(rows), len(LABELS)))
    for r, row in enumerate(rows):
        for position, (name, values) in enumerate(DECLARED.items()):
            value = row.get(position, 0.0 if values == "NUMERIC" else values[0])
            if name in LABELS:
                Y[r, LABELS.index(name)] = np.nan if value is None else value in ("1", "TRUE")
            elif f"{name}={value}" in COLUMNS:
                X[r, COLUMNS.index(f"{name}={value}")] = 1
            else:
                X[r, COLUMNS.index(name)] = float(value)
    return X, Y


def matrix(data):
    return data.X.toarray() if sp.issparse(data.X) else data.X


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("left_out", [0.0, 0.5])
def test_columns_against_liac_and_a_loop(tmp_path, compiled, left_out):
    rows = random_rows(60, np.random.default_rng(3), left_out)
    table = {"relation": "x", "attributes": list(DECLARED.items())}
    table["data"] = rows if left_out else [[row[k] for k in range(len(DECLARED))] for row in rows]
    text = liac.dumps(table)
    path = tmp_path / "x.arff"
    path.write_text(text, encoding="utf-8")

    def labels(header):
        return [k for k, attribute in enumerate(header.attributes) if attribute.name in LABELS]

    data = read_arff(path, labels, compiled=compiled)
    X, Y = expected_arrays(rows)
    assert data.feature_names == tuple(COLUMNS)
    assert data.label_names == tuple(LABELS)
    assert sp.issparse(data.X) == bool(left_out)
    assert np.array_equal(matrix(data), X)
    assert np.array_equal(data.Y.toarray(), Y == 1)
    assert np.array_equal(data.observed_mask().toarray(), ~np.isnan(Y))
    if left_out:
        assert data.X.has_canonical_format
        assert data.X.indices.dtype == np.int32

    back = liac.loads(text, return_type=liac.LOD if left_out else liac.DENSE)["data"]
    back = back if left_out else [dict(enumerate(row)) for row in back]
    assert np.array_equal(expected_arrays(back)[0], X)


@pytest.mark.parametrize("text", ["{0 0,1 1}\n{0 0.0}\n", "0,1\n0,0\n"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dtype_and_explicit_zeros(file, text, dtype):
    data = read(
        file("x.arff", f"@relation x\n@attribute a real\n@attribute l {{0,1}}\n@data\n{text}"),
        labels=["l"],
        dtype=dtype,
    )
    assert data.X.dtype == dtype
    assert not sp.issparse(data.X) or data.X.nnz == 0
    assert data.observed is None
    assert data.Y.toarray().tolist() == [[True], [False]]


def test_a_label_with_other_values_is_refused(file):
    path = file("x.arff", "@relation x\n@attribute a real\n@attribute l {no,yes,maybe}\n@data\n1,no\n")
    with pytest.raises(FormatError, match=r"x\.arff: label 'l' has values \('no', 'yes', 'maybe'\), expected {0,1}"):
        read(path, labels=["l"])
