"""XMC and multi-label libsvm text, against scikit-learn's libsvm reader."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from labelwise.data import FormatError, read, write
from labelwise.data.formats.compiled import CompiledXmcParser
from labelwise.data.formats.xmc import XmcParser, read_block
from labelwise.records import LabelData

PARSERS = {False: XmcParser, True: CompiledXmcParser}


def random_data(n=40, d=9, q=5, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.3, rng=rng, format="csr")
    return LabelData.from_arrays(X, sp.csr_array(rng.random((n, q)) < 0.3))


@pytest.mark.parametrize("compiled", [False, True])
def test_against_scikit_learn(tmp_path, compiled):
    data = random_data()
    path = tmp_path / "x.svm"
    Y = sp.csr_matrix(data.Y.astype(int))
    dump_svmlight_file(data.X, Y, str(path), multilabel=True, zero_based=False, comment="c")
    X, labels = load_svmlight_file(str(path), multilabel=True, zero_based=False, n_features=9)
    _, block = read_block(path, (None, 9, 5), (1, 0), compiled)
    assert np.array_equal(np.split(block.labels, np.cumsum(block.label_counts))[3], np.array(labels[3], int))
    assert sum(map(len, labels)) == len(block.labels)
    found = read(path, one_based=True, shape=(None, 9, 5))
    assert np.array_equal(found.X.toarray(), X.toarray())
    assert np.array_equal(found.Y.toarray(), data.Y.toarray())


@pytest.mark.parametrize("options", [{}, {"header": False}, {"one_based": True}, {"one_based_labels": True}])
def test_round_trip(tmp_path, assert_same, options):
    data = random_data(2100)
    path = tmp_path / "x.txt.gz"
    if "header" in options:
        data = data.take(np.flatnonzero(np.diff(data.X.indptr) + np.diff(data.Y.indptr)))
        data = LabelData.from_arrays(data.X, data.Y)
        options, shape = {}, {"shape": (None, 9, 5)}
        write(data, path, header=False)
    else:
        shape = {}
        write(data, path, **options)
    assert_same(read(path, **options, **shape), data)


def test_items_without_labels_or_features(file):
    data = read(file("x.txt", "4 3 2\n0,1 0:1.5 2:-2\n 1:1\n1:3\n1\n"))
    assert data.X.toarray().tolist() == [[1.5, 0, -2], [0, 1, 0], [0, 3, 0], [0, 0, 0]]
    assert data.Y.toarray().tolist() == [[True, True], [False, False], [False, False], [False, True]]
    assert data.label_names == ("label_0", "label_1")
    assert read(file("x.txt", "2 1 1\n\n0 0:1\n")).X.toarray().tolist() == [[0], [1]]


def test_sizes_without_a_header_come_from_shape_names_or_the_largest_index(file):
    path = file("x.libsvm", "1 0:1 3:2 # the first\n# nothing\n0 1:1\n")
    assert read(path).X.shape == (2, 4)
    assert read(path, shape=(2, 7, 3)).Y.shape == (2, 3)
    data = read(path, label_names=["a", "b", "c"], feature_names=list("stuvw"))
    assert (data.label_names, data.feature_names, data.X.shape) == (("a", "b", "c"), tuple("stuvw"), (2, 5))
    names = file("names.txt", "yes\nno\n")
    assert read(path, label_names=names).label_names == ("yes", "no")
    with pytest.raises(FormatError, match="found 2 labels, but 1 names"):
        read(path, label_names=["a"])


def test_dtype(file):
    assert read(file("x.txt", "0 0:0.1\n"), dtype=np.float32).X.dtype == np.float32


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0 1", "found '1', expected a feature like 12:0.5"),
        ("0 1:", "found '', expected a number"),
        ("0 a:1", "found 'a', expected the index of a feature"),
        ("x 1:1", "found 'x', expected the number of a label"),
        ("0,,1 1:1", "found '', expected the number of a label"),
        ("0,0 1:1", "label 0 is given twice"),
        ("1,0,1 1:1", "label 1 is given twice"),
        ("0 1:1 1:2", "feature 1 is given twice"),
        ("0 2:1 1:1 2:1", "feature 2 is given twice"),
        ("0 4:1", r"found feature 4, expected 0 to 3 \(the first feature is called 0\)"),
        ("2 1:1", "found label 2, expected 0 to 1"),
        ("0 1:nan", "found 'nan', expected a finite number"),
        ("0 99999999999:1", "found feature 99999999999, expected 0 to 3"),
    ],
)
def test_wrong_rows_name_the_line(compiled, row, message):
    parser = PARSERS[compiled]("file", (9, 4, 2), (0, 0))
    with pytest.raises(FormatError, match=f"^file, line 12: {message}"):
        parser.block(f"0 1:1\n1 2:2\n{row}\n0 0:1".encode(), 10)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "the file is empty"),
        ("3 2 1\n0 0:1\n", {}, "found 1 rows, expected 3 as the header says"),
        ("0 2 1\n", {}, "there is no row"),
        ("1 2 1\n0 0:1\n", {"shape": (1, 2, 1)}, r"it has the header \(1, 2, 1\), so shape="),
        ("0 0:1\n\n0 1:1\n", {}, "line 2: found a blank line"),
        ("0 0:1\n", {"one_based": True}, "found feature 0, expected 1 to 999999999"),
        ("0 1:1\n", {"one_based_labels": True}, "found label 0, expected 1"),
    ],
)
def test_wrong_files(file, text, options, message):
    with pytest.raises(FormatError, match=message):
        read(file("x.txt", text), **options)


def test_what_xmc_cannot_say_is_refused(tmp_path):
    path = tmp_path / "x.txt"
    with pytest.raises(FormatError, match="XMC text cannot say that a label is unknown"):
        write(LabelData.from_arrays([[1.0]], [[np.nan, 1]]), path)
    with pytest.raises(FormatError, match="XMC text has no place for feature_names and label_names; pass lossy=True"):
        write(LabelData.from_arrays([[1.0]], [[1]], label_names=["a"], feature_names=["f"]), path)
    nothing = LabelData.from_arrays(np.zeros((2, 1)), [[1], [0]], item_ids=["a", "b"])
    with pytest.raises(FormatError, match="item 'b' has neither labels nor features"):
        write(nothing, path, header=False, lossy=True)
    assert list(tmp_path.iterdir()) == []
    write(nothing, path, lossy=True)
    assert read(path).Y.toarray().tolist() == [[True], [False]]
    full = LabelData.from_arrays([[1.0]], [[1, 0]], observed=np.ones((1, 2)))
    write(full, path)
    assert read(path).observed is None


tokens = st.one_of(
    st.builds("{}:{}".format, st.integers(0, 12), st.one_of(st.integers(-3, 3), st.floats(allow_nan=False))),
    st.sampled_from(["3:", ":1", "4", "x", "5:nan", "2:1e-400", "#", "1:1#2", "7:+.5", "1:1:1"]),
)
rows = st.builds(
    lambda labels, parts, space: ",".join(map(str, labels)) + space + space.join(parts),
    st.lists(st.integers(0, 7), max_size=3),
    st.lists(tokens, max_size=4),
    st.sampled_from([" ", " ", "  ", "\t"]),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(rows, min_size=1, max_size=6), st.sampled_from([None, (6, 10, 6), (None, 10, 6)]), st.booleans())
@example(["0:1"], None, False)
@example(["1,2:3"], None, True)
def test_both_parsers_agree(rows, shape, one_based):
    block = "\n".join(rows).encode()
    found = []
    for compiled in (False, True):
        try:
            parts = PARSERS[compiled]("file", shape, (int(one_based), 0)).block(block, 3)
            found.append([(part.shape, part.dtype, part.tobytes()) for part in parts])
        except FormatError as error:
            found.append(str(error))
    assert found[0] == found[1]
