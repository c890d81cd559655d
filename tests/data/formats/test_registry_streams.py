"""Streams against the readers of whole files: the same rows, from any place on, and the same complaints."""

import bz2
import gzip
import json
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.data import FormatError, read, write
from labelwise.data.formats.registry import Position, open_stream, stream_format
from labelwise.data.reading import BLOCK
from labelwise.records import LabelData


def random_data(n=230, d=30, q=7, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.2, rng=rng, format="csr")
    return LabelData.from_arrays(X, sp.csr_array(rng.random((n, q)) < 0.2))


def collected(batches, stream):
    """All rows of a stream as dense arrays, labels in the order of `stream.label_names`."""
    batches = list(batches)
    d, q = max(batch.X.shape[1] for batch in batches), len(stream.label_names)
    X, Y = np.zeros((0, d)), np.zeros((0, q), dtype=bool)
    for batch in batches:
        X = np.vstack([X, np.pad(batch.X.toarray(), ((0, 0), (0, d - batch.X.shape[1])))])
        Y = np.vstack([Y, np.pad(batch.Y.toarray(), ((0, 0), (0, q - batch.Y.shape[1])))])
    return X, Y


def assert_is(stream, data, names=None):
    batches = list(stream)
    X, Y = collected(batches, stream)
    np.testing.assert_array_equal(X, data.X.toarray()[:, : X.shape[1]])
    assert not data.X.toarray()[:, X.shape[1] :].any()
    wanted = [str(label) for label in range(data.n_labels)] if names is None else list(names)
    order = [wanted.index(name) for name in stream.label_names]
    np.testing.assert_array_equal(Y, data.Y.toarray()[:, order])
    assert [name for batch in batches for name in batch.ids] == list(data.item_ids)
    return batches


# -- XMC and libsvm ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".libsvm.bz2"])
@pytest.mark.parametrize("batch", [1, 64, 1000])
def test_xmc_gives_the_rows_of_the_reader(tmp_path, suffix, batch):
    data, path = random_data(), tmp_path / f"x{suffix}"
    write(data, path)
    batches = assert_is(open_stream(path, batch=batch), read(path))
    assert max(one.n_rows for one in batches) <= batch
    assert {one.Y.shape[1] for one in batches} == {7} and {one.X.shape[1] for one in batches} == {30}


@pytest.mark.slow
def test_compiled_and_python_parsing_agree_across_blocks(tmp_path):
    data = random_data(n=3500, d=500)
    path = tmp_path / "large.txt"
    write(data, path)
    assert path.stat().st_size > 2 * BLOCK  # so that batches reach over the edges of blocks
    assert_is(open_stream(path, batch=1017), data)
    small = tmp_path / "small.txt"
    small.write_text("".join(["200 500 7\n", *path.read_text().splitlines(keepends=True)[1:201]]))
    for one, other in zip(open_stream(small, batch=50), open_stream(path, batch=50, limit=200), strict=True):
        assert (one.X != other.X).nnz == 0 and (one.Y != other.Y).nnz == 0


@pytest.mark.parametrize("suffix", [".txt", ".txt.gz", ".jsonl", ".jsonl.bz2", ".parquet"])
def test_a_stream_goes_on_from_the_end_of_any_batch(tmp_path, suffix):
    data, path = random_data(), tmp_path / f"x{suffix}"
    write(data, path)
    stream = open_stream(path, batch=40)
    names_then, batches = [], []
    for batch in stream:
        batches.append(batch)
        names_then.append(list(stream.label_names))
    assert len(batches) == 6
    for done, (batch, names) in enumerate(zip(batches, names_then, strict=True), start=1):
        rest = open_stream(path, batch=40, start=batch.end, seen_labels=names)
        for again, first in zip(rest, batches[done:], strict=True):
            assert again.end == first.end and again.ids == first.ids
            np.testing.assert_array_equal(again.X.toarray(), first.X.toarray())
            np.testing.assert_array_equal(again.Y.toarray(), first.Y.toarray())
        assert rest.label_names == stream.label_names


def test_labels_are_known_from_their_first_batch_in_order_of_appearance(file):
    path = file("x.libsvm", "9 1:1\n4,9 1:1\n# a remark\n4 2:1\n1000000,2 7:1\n")
    stream = open_stream(path, one_based=True, batch=2)
    shapes = [(batch.X.shape, batch.Y.shape) for batch in stream]
    assert shapes == [((2, 1), (2, 2)), ((1, 2), (1, 2)), ((1, 7), (1, 4))]  # the remark is a line and no row
    assert stream.label_names == ["9", "4", "2", "1000000"]


def test_labels_are_called_as_in_the_file_or_by_name(file):
    path = file("x.txt", "2 3 3\n1,3 1:1\n2 2:1\n")
    stream = open_stream(path, one_based=True, one_based_labels=True)
    assert next(iter(stream)).Y.toarray().tolist() == [[True, False, True], [False, True, False]]
    assert stream.label_names == ["1", "2", "3"]
    named = open_stream(path, one_based=True, one_based_labels=True, label_names=["a", "b", "c"])
    assert next(iter(named)).Y.shape == (2, 3) and named.label_names == ["a", "b", "c"]
    with pytest.raises(FormatError, match="found 3 labels, but 2 names"):
        open_stream(path, label_names=["a", "b"])
    bare = file("bare.txt", "0 1:1\n2 2:1\n")
    with pytest.raises(FormatError, match="line 2: found label 2, expected 0 to 1"):
        list(open_stream(bare, label_names=["a", "b"]))


def test_the_limit_counts_rows_of_the_file(file):
    path = file("x.txt", "0 1:1\n# no row\n1 1:1\n0 1:1\n1 2:1\n")
    assert [batch.end.row for batch in open_stream(path, batch=3, limit=3)] == [2, 3]
    assert list(open_stream(path, limit=0)) == []
    stream = open_stream(path, batch=3, limit=3)
    end = list(stream)[-1].end
    rest = list(open_stream(path, start=end, seen_labels=stream.label_names))
    assert [batch.ids for batch in rest] == [("3",)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1:1\n0 1:1\n0 1:x\n", "line 3: found 'x', expected a number"),
        ("0 1:1\n1 4:1 4:2\n", "line 2: feature 4 is given twice"),
        ("3 2 2\n0 1:1\n1 5:1\n0 1:1\n", "line 3: found feature 5, expected 0 to 1"),
        ("3 2 2\n0 1:1\n1 1:1\n", "found 2 rows, expected 3 as the header says"),
        ("0 1:1\n\n0 1:1\n", "line 2: found a blank line"),
        ("", "the file is empty"),
    ],
)
def test_errors_of_text_name_file_and_line(file, text, message):
    path = file("bad.txt", text)
    with pytest.raises(FormatError, match=message) as caught:
        list(open_stream(path, batch=1))
    assert str(caught.value).startswith(str(path))


def test_lines_are_counted_on_after_resuming(file):
    path = file("x.txt", "4 2 2\n0 1:1\n1 1:1\n0 1:1\n0 1;1\n")
    end = next(iter(open_stream(path, batch=2))).end
    assert end == Position(row=2, line=4, offset=18)
    with pytest.raises(FormatError, match="line 5: "):
        list(open_stream(path, batch=2, start=end))


def test_a_compressed_file_cut_short_is_told(tmp_path):
    path = tmp_path / "x.txt.gz"
    write(random_data(), path)
    end = next(iter(open_stream(path, batch=200))).end
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(FormatError, match="cut short"):
        list(open_stream(path, start=Position(end.row, end.line, 10**6)))


# -- tables ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".jsonl", ".jsonl.gz", ".parquet"])
@pytest.mark.parametrize("labels", ["labels", None])
def test_tables_give_the_rows_of_the_reader(tmp_path, suffix, labels):
    data, path = random_data(n=90), tmp_path / f"x{suffix}"
    write(data, path, labels=labels)
    option = {} if labels else {"labels": list(data.label_names)}
    stream = open_stream(path, batch=32, **option)
    assert_is(stream, data, data.label_names)


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_unknown_labels_are_a_mask(tmp_path, suffix):
    Y = np.random.default_rng(0).choice([0.0, 1.0, np.nan], (50, 3))
    data = LabelData.from_arrays(np.arange(100.0).reshape(50, 2), Y, label_names=["a", "b", "c"])
    write(data, tmp_path / f"x{suffix}", labels=None)
    batches = list(open_stream(tmp_path / f"x{suffix}", batch=20, labels=["a", "b", "c"]))
    np.testing.assert_array_equal(np.vstack([batch.observed.toarray() for batch in batches]), ~np.isnan(Y))
    np.testing.assert_array_equal(np.vstack([batch.Y.toarray() for batch in batches]), Y == 1)


def test_a_row_of_jsonl_can_be_unknown_or_without_labels(file):
    path = file("x.jsonl", '{"x": 1, "labels": null}\n\n{"x": 2, "labels": []}\n{"x": 3}\n{"x": 4, "labels": ["a"]}\n')
    (batch,) = open_stream(path)
    assert batch.observed.toarray().ravel().tolist() == [False, True, False, True]
    assert batch.Y.toarray().ravel().tolist() == [False, False, False, True]
    assert [batch.observed for batch in open_stream(file("y.jsonl", '{"x": 1, "labels": ["a"]}\n'))] == [None]


def test_text_is_hashed_alike_in_every_batch(file):
    rows = [{"body": text, "labels": ["x"]} for text in ("a goal", "a vote", "a goal")]
    path = file("x.jsonl", "\n".join(map(json.dumps, rows)))
    batches = list(open_stream(path, batch=1, text="body", hashed_width=64))
    assert [batch.X.shape for batch in batches] == [(1, 64)] * 3
    assert (batches[0].X != batches[2].X).nnz == 0 and (batches[0].X != batches[1].X).nnz > 0


def test_mappings_are_hashed_with_their_values(file):
    rows = [{"id": 7, "f": {"red": 2.0, "blue": -1}, "labels": ["x"]}, {"id": 8, "f": {"red": 4}, "labels": ["x"]}]
    (batch,) = open_stream(file("x.jsonl", "\n".join(map(json.dumps, rows))), hashed_width=32)
    X = batch.X.toarray()
    assert batch.ids == ("7", "8")
    assert sorted(np.abs(X[0][X[0] != 0])) == [1.0, 2.0]
    red = np.flatnonzero(X[1])
    np.testing.assert_array_equal(X[1, red], 2 * X[0, red])


def test_lists_numbers_and_text_stand_side_by_side(file):
    rows = [{"v": [1, 2, 3], "n": 4, "t": "word", "labels": []} for _ in range(2)]
    path = file("x.jsonl", "\n".join(map(json.dumps, rows)))
    (batch,) = open_stream(path, text="t", features=["v", "n"], hashed_width=8)
    assert batch.X.shape == (2, 12) and batch.X.toarray()[0, 8:].tolist() == [1, 2, 3, 4]


def test_sparse_maps_of_parquet_are_columns(tmp_path):
    arrow, parquet = (
        pytest.importorskip("pyarrow", reason="needs the extra io"),
        pytest.importorskip("pyarrow.parquet", reason="needs the extra io"),
    )
    maps = [[(3, 1.5), (0, 2.0)], [], [(5, -1.0)], [(1, 1.0)]] * 5
    kind = arrow.map_(arrow.int32(), arrow.float32())
    table = arrow.table({"f": arrow.array(maps, kind), "tags": [["a"], [], ["b", "a"], None] * 5})
    parquet.write_table(table, tmp_path / "x.parquet", row_group_size=6)
    dense = np.zeros((20, 6))
    for row, cells in enumerate(maps):
        for column, value in cells:
            dense[row, column] = value
    for batch_size in (4, 5, 100):
        stream = open_stream(tmp_path / "x.parquet", batch=batch_size, labels="tags")
        batches = list(stream)
        np.testing.assert_array_equal(collected(batches, stream)[0], dense)
        assert [batch.end.row for batch in batches][-1] == 20
    assert [batch.end.row for batch in batches] == [6, 12, 18, 20]  # a batch ends with its row group
    doubled = arrow.table({"f": arrow.array([[(1, 1.0), (1, 2.0)]], kind), "labels": [["a"]]})
    parquet.write_table(doubled, tmp_path / "twice.parquet")
    with pytest.raises(FormatError, match="holds a column twice"):
        list(open_stream(tmp_path / "twice.parquet"))


def test_names_that_are_given_are_all_there_are(file):
    path = file("x.jsonl", '{"x": 1, "labels": ["b"]}\n{"x": 1, "labels": ["c"]}\n')
    stream = open_stream(path, batch=1, label_names=["a", "b"])
    assert next(iter(stream)).Y.toarray().tolist() == [[False, True]]
    with pytest.raises(FormatError, match="line 2: column 'labels': found the label 'c', which is not in label_names"):
        list(stream)
    with pytest.raises(ValueError, match="not those learnt so far"):
        open_stream(path, label_names=["a", "b"], seen_labels=["a"])


def test_without_labels_only_the_features_are_read(tmp_path, file):
    path = file("x.jsonl", '{"x": 1, "labels": 5.5}\n{"x": 2}\n')
    (batch,) = open_stream(path, labelled=False, seen_labels=["a", "b"])
    assert batch.X.toarray().ravel().tolist() == [1, 2] and batch.Y.shape == (2, 2)
    assert batch.observed.nnz == 0
    (batch,) = open_stream(file("x.txt", "5 1:1\n"), labelled=False, seen_labels=["a", "b"])
    assert batch.Y.shape == (1, 2) and batch.Y.nnz == 0


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (
            '{"x": 1, "labels": []}\n{"x": "?", "labels": []}\n',
            {},
            "line 2: column 'x': found '\\?', expected a number",
        ),
        ('{"x": 1, "labels": []}\n{"labels": []}\n', {}, "line 2: column 'x': found a blank"),
        (
            '{"x": [1, 2], "labels": []}\n{"x": [1], "labels": []}\n',
            {"features": ["x"]},
            "line 2: .*list of 2",
        ),
        (
            '{"x": {"a": 1}, "labels": []}\n{"x": {"a": "b"}, "labels": []}\n',
            {},
            "line 2: .*'b' for 'a'",
        ),
        ('{"x": {"a": 1}, "labels": []}\n{"x": 1, "labels": []}\n', {}, "line 2: .*expected a mapping"),
        ('{"x": 1, "labels": []}\n[1]\n', {}, "line 2: found '\\[1\\]', expected a JSON object"),
        ('{"x": 1, "labels": ["a", "a"]}\n', {}, "line 1: column 'labels': the label 'a' is given twice"),
        ('{"x": 1, "tags": []}\n', {}, "no column 'labels', asked for by labels="),
        ('{"x": "words", "labels": []}\n', {}, "nothing to learn from"),
        ("\n", {}, "there is no row"),
    ],
)
@pytest.mark.parametrize("batch", [1, 10])
def test_errors_of_jsonl_name_file_and_line(file, text, options, message, batch):
    with pytest.raises(FormatError, match=message):
        list(open_stream(file("bad.jsonl", text), batch=batch, **options))


def test_errors_of_parquet_name_the_row(tmp_path):
    arrow, parquet = (
        pytest.importorskip("pyarrow", reason="needs the extra io"),
        pytest.importorskip("pyarrow.parquet", reason="needs the extra io"),
    )
    path = tmp_path / "x.parquet"
    parquet.write_table(arrow.table({"x": [1.0] * 7 + [None], "labels": [["a"]] * 8}), path, row_group_size=3)
    with pytest.raises(FormatError, match="row 8: column 'x': found a blank"):
        list(open_stream(path, batch=2))
    path.write_bytes(b"PAR1 nothing")
    with pytest.raises(FormatError, match="not a valid parquet file"):
        open_stream(path)


# -- the door ----------------------------------------------------------------------------------------------------------


def test_the_format_goes_by_the_suffix_or_as_said(file):
    assert stream_format("a.SVM.gz") == "xmc" and stream_format("a.dat", "jsonl") == "jsonl"
    assert open_stream(file("x.dat", "0 1:1\n"), format="xmc").format == "xmc"
    for name in ("a.arff", "a.csv", "a.dat"):
        with pytest.raises(ValueError, match="cannot be read as a stream"):
            stream_format(name)


def test_wrong_options_are_told(file):
    path = file("x.txt", "0 1:1\n")
    with pytest.raises(TypeError, match="xmc streams have no option 'text'; they have shape"):
        open_stream(path, text="body")
    with pytest.raises(ValueError, match="batch must be at least 1, got 0"):
        open_stream(path, batch=0)
    with pytest.raises(ValueError, match="limit must not be negative"):
        open_stream(path, limit=-1)
    with pytest.raises(FormatError, match="has the header"):
        open_stream(file("y.txt", "1 2 3\n0 1:1\n"), shape=(1, 2, 3))
    with pytest.raises(ValueError, match="write \\['x'\\]"):
        open_stream(file("y.jsonl", "{}"), features="x")


@pytest.mark.parametrize("opener", [gzip.open, bz2.open])
def test_how_much_is_done(tmp_path, file, opener):
    path = file("x.txt", "0 1:1\n1 1:1\n0 1:1\n1 1:1\n")
    stream = open_stream(path, batch=2)
    assert [stream.fraction(batch.end) for batch in stream] == [0.5, 1.0]
    packed = tmp_path / ("x.txt.gz" if opener is gzip.open else "x.txt.bz2")
    with opener(packed, "wb") as target:
        target.write(path.read_bytes())
    stream = open_stream(packed, batch=2)
    assert [stream.fraction(batch.end) for batch in stream] == [None, None]  # the packed size says nothing
    stated = open_stream(file("z.txt.gz", gzip.compress(b"2 2 2\n0 1:1\n1 1:1\n")), batch=1)
    assert [stated.fraction(batch.end) for batch in stated] == [0.5, 1.0]


# -- memory ------------------------------------------------------------------------------------------------------------


def test_memory_does_not_grow_with_the_file(file):
    line = "3,5 " + " ".join(f"{column}:0.5" for column in range(0, 400, 4))
    path = file("large.txt", f"{line}\n" * 20_000)
    next(iter(open_stream(path)))  # loads what it needs
    sizes = {}
    for limit in (4_000, 20_000):
        tracemalloc.start()
        rows = sum(batch.n_rows for batch in open_stream(path, batch=500, limit=limit))
        sizes[limit] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert rows == limit
    assert path.stat().st_size > 14 * BLOCK
    assert sizes[20_000] < 1.1 * sizes[4_000] < 0.5 * path.stat().st_size, sizes
