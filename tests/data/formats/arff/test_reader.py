"""ARFF by whatever names its labels."""

import arff as liac
import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.data import FormatError, read
from labelwise.data.formats.arff.reader import read_arff

TEXT = "@relation {}\n@attribute a {{0,1}}\n@attribute b real\n@attribute c {{0,1}}\n@data\n1,2,0\n"
XML = '<labels><label name="c"/></labels>'


def test_the_xml_beside_the_file_goes_before_the_relation_name(file):
    path = file("x.arff", TEXT.format("'x: -C 1'"))
    assert read(path).label_names == ("a",)
    xml = file("x.xml", XML)
    assert read(path).label_names == ("c",)
    assert read(path, format="meka").label_names == ("a",)
    xml.unlink()
    other = file("other.xml", XML)
    assert read(path, labels=str(other)).label_names == ("c",)


def test_labels_as_names_or_number(file):
    path = file("x.arff", TEXT.format("x"))
    assert read(path, labels=["c", "a"]).label_names == ("a", "c")
    assert read(path, labels=1).label_names == ("a",)
    assert read(path, labels=-1).label_names == ("c",)
    with pytest.raises(FormatError, match=r"labels named in labels= are no attribute here: \['d'\]"):
        read(path, labels=["d"])
    with pytest.raises(FormatError, match="the label 'c' is named twice in labels="):
        read(path, labels=["c", "c"])


def test_nothing_names_the_labels(file):
    with pytest.raises(
        FormatError, match=r"nothing says which attributes are labels.*x-test\.xml, x\.xml.*give labels="
    ):
        read(file("x-test.arff", TEXT.format("x")))


def test_no_row(file):
    with pytest.raises(FormatError, match="there is no row behind @data"):
        read(file("x.arff", "@relation x\n@attribute a {0,1}\n@data\n% nothing\n\n"), labels=1)


def test_latin_1(file):
    text = "@relation x\n@attribute café {0,1}\n@attribute l {0,1}\n@data\n1,1\n".encode("latin-1")
    path = file("x.arff", text)
    with pytest.raises(FormatError, match=r"line 2: .*say encoding='latin-1'"):
        read(path, labels=-1)
    assert read(path, labels=-1, encoding="latin-1").feature_names == ("café",)


@pytest.mark.parametrize("row", ["1,2,0", "{0 1,1 2}"])
@pytest.mark.slow
def test_large_files_take_the_compiled_way_and_number_their_lines(file, monkeypatch, row):
    head = TEXT.format("'x: -C 1'").removesuffix("1,2,0\n")
    monkeypatch.setattr("labelwise.data.formats.arff.reader.line_blocks", lambda path: _small_blocks(path))
    path = file("x.arff", head + f"{row}\n" * 3000)
    data = read(path)
    assert data.X.shape == (3000, 2)
    assert data.Y.sum() == 3000
    path.write_text(head + f"{row}\n" * 2500 + row.replace("2", "two") + f"\n{row}\n" * 20, encoding="utf-8")
    with pytest.raises(FormatError, match="line 2506: attribute 'b': found 'two', expected a number") as caught:
        read(path)
    assert caught.value.line == 2506


def _small_blocks(path):
    lines = path.read_bytes().splitlines(keepends=True)
    for start in range(0, len(lines), 700):
        yield b"".join(lines[start : start + 700])


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
