"""Rows in files against the same rows in one array."""

import os
import pickle
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from labelwise.data import FormatError, ShardedFeatures
from labelwise.data.shard_files import FileShard
from labelwise.records import LabelData

CUTS = (0, 4, 5, 12)


def whole(dtype=np.float64):
    return np.random.default_rng(0).standard_normal((12, 3)).astype(dtype)


def write_shards(folder, X, kind):
    """X in three files of 4, 1 and 7 rows."""
    for number, (start, stop) in enumerate(pairwise(CUTS)):
        path, rows = folder / f"{number}.{kind.partition(' ')[0]}", X[start:stop]
        if kind == "npy":
            np.save(path, rows)
        elif kind == "npz":
            np.savez(path, X=rows)
        elif kind in ("npz sparse", "npz sparse, mapped"):
            sp.save_npz(path, sp.csr_array(rows), compressed=kind == "npz sparse")
        elif kind == "parquet":
            pq.write_table(pa.table({f"f{j}": rows[:, j] for j in range(3)}), path, row_group_size=2)
        elif kind == "parquet lists":
            pq.write_table(pa.table({"x": list(rows)}), path, row_group_size=3)
    return sorted(folder.iterdir())


def dense(rows):
    return rows.toarray() if sp.issparse(rows) else rows


KINDS = ["npy", "npz", "npz sparse", "npz sparse, mapped", "parquet", "parquet lists"]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_those_of_the_array(tmp_path, kind, dtype):
    X = whole(dtype)
    shards = ShardedFeatures.open(write_shards(tmp_path, X, kind))
    assert shards.shape == (12, 3) and len(shards) == 12
    assert shards.dtype == dtype
    assert shards.is_sparse == kind.startswith("npz sparse")
    for rows in (slice(None), slice(3, 9), slice(1, 12, 4), slice(5, 5), [11, 0, 4, 4], [], X[:, 0] > 0, np.array([7])):
        got = shards[rows]
        assert got.dtype == dtype
        assert_array_equal(dense(got), X[np.array(rows, dtype=int) if isinstance(rows, list) else rows])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [1, 3, 100, None])
def test_blocks_are_the_pool_in_order_and_none_reaches_over_a_file(tmp_path, kind, size):
    X = whole()
    shards = ShardedFeatures.open(write_shards(tmp_path, X, kind))
    parts = list(shards.blocks(size))
    assert_array_equal(np.concatenate([dense(rows) for _, rows in parts]), X)
    assert [part.start for part, _ in parts] == [0] + [part.stop for part, _ in parts[:-1]]
    assert all(part.stop - part.start <= (size or 100) for part, _ in parts)
    assert set(CUTS[1:]) <= {part.stop for part, _ in parts}


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_can_be_sent_away_and_loads_there(tmp_path, kind):
    X = whole()
    parts = ShardedFeatures.open(write_shards(tmp_path, X, kind)).parts(3)
    sent = pickle.loads(pickle.dumps(parts[-1]))
    assert_array_equal(dense(sent.load()), X[sent.start :])
    assert_array_equal(dense(sent.load(np.array([0]))), X[[sent.start]])


def test_a_npy_file_is_mapped_each_time_and_not_kept_open(tmp_path):
    np.save(tmp_path / "x.npy", whole())
    shards = ShardedFeatures.open([tmp_path / "x.npy"])
    assert isinstance(shards.shards[0], FileShard)
    assert not np.shares_memory(shards[2:4], shards[2:4])
    assert isinstance(shards[2:4].base, np.memmap)


def test_arrays_and_integers_serve_too():
    shards = ShardedFeatures.of(np.ones((2, 2), dtype=np.float32), np.zeros((1, 2), dtype=np.int64))
    assert shards.dtype == np.float64
    assert_array_equal(shards[:], [[1, 1], [1, 1], [0, 0]])


def test_more_rows_are_appended():
    first = ShardedFeatures.of(np.ones((2, 2)))
    assert_array_equal(first.append(np.zeros((1, 2)))[:], [[1, 1], [1, 1], [0, 0]])
    assert_array_equal(first.append(first)[:], np.ones((4, 2)))


def test_label_data_takes_shards(tmp_path):
    X = whole()
    data = LabelData.from_arrays(ShardedFeatures.open(write_shards(tmp_path, X, "npy")), label_names=["a"])
    assert (data.n_items, data.n_features) == (12, 3)
    assert_array_equal(data.take([3, 1]).X, X[[3, 1]])
    more = data.with_items(LabelData.from_arrays(X[:2], label_names=["a"], item_ids=["p", "q"]))
    assert more.n_items == 14
    assert_array_equal(more.X[12:], X[:2])
    with pytest.raises(ValueError, match="read the pool from shards"):
        LabelData.from_arrays(X, label_names=["a"]).with_items(data)


def test_they_are_not_turned_into_an_array_by_accident():
    with pytest.raises(TypeError, match=r"3 × 2 features are in shards .* X\[rows\]"):
        np.asarray(ShardedFeatures.of(np.ones((3, 2))))


@pytest.mark.parametrize("kinds", [("npy", "npz sparse, mapped"), ("npz sparse", "npy"), ("npy", "parquet")])
def test_columns_of_other_shards_stand_beside(tmp_path, kinds):
    X, more = whole(np.float32), np.random.default_rng(1).random((12, 3)).astype(np.float32).round()
    for name, rows, kind in (("left", X, kinds[0]), ("right", more, kinds[1])):
        (tmp_path / name).mkdir()
        write_shards(tmp_path / name, rows, kind)
    left, right = (ShardedFeatures.open(sorted((tmp_path / name).iterdir())) for name in ("left", "right"))
    right = ShardedFeatures((*right.shards[1:], right.shards[0]))  # cut elsewhere
    both, expected = left.with_columns(right), np.hstack([X, more[[*range(4, 12), *range(4)]]])
    assert both.shape == (12, 6) and both.dtype == np.float32
    assert both.is_sparse == any("sparse" in kind for kind in kinds)
    for rows in (slice(None), slice(3, 9), [11, 0, 4, 4], X[:, 0] > 0, []):
        assert_array_equal(dense(both[rows]), expected[np.array(rows, int) if isinstance(rows, list) else rows])
    assert_array_equal(dense(pickle.loads(pickle.dumps(both))[[7]]), expected[[7]])


def test_columns_are_taken_without_the_files_of_others(tmp_path):
    X = whole()
    write_shards(tmp_path, X, "npy")
    files = sorted(tmp_path.iterdir())
    wide = ShardedFeatures.open(files).with_columns(ShardedFeatures.of(X[:7], X[7:]))
    for columns in (slice(1, 4), slice(0, 6, 2), slice(2, 2), [5, 0], [0, 1], slice(4, 6)):
        assert_array_equal(wide[:, columns][:], np.hstack([X, X])[:, columns])
        assert_array_equal(wide[:, columns][[8, 1]], np.hstack([X, X])[[8, 1]][:, columns])
    for file in files:
        file.unlink()
    assert_array_equal(wide[:, 3:5][:], X[:, :2])
    assert_array_equal(wide.read_columns(4, 6).toarray(), X[:, 1:])
    with pytest.raises(IndexError, match="take columns of all rows"):
        wide[:3, :3]
    with pytest.raises(ValueError, match="there are 12 rows, but 3 of the new columns"):
        wide.with_columns(ShardedFeatures.of(X[:3]))


# ---- errors ----


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no shard '.*7\.npy'"):
        ShardedFeatures.open([tmp_path / "7.npy"])
    files = write_shards(tmp_path, whole(), "npy")
    shards = ShardedFeatures.open(files)
    files[1].unlink()
    assert shards[:4].shape == (4, 3)
    with pytest.raises(FileNotFoundError, match=r"'.*1\.npy' is gone: put it back"):
        shards[4:6]


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_named(tmp_path, kind):
    files = write_shards(tmp_path, whole(), kind)
    whole_file = files[2].read_bytes()
    files[2].write_bytes(whole_file[: len(whole_file) // 2])
    with pytest.raises(FormatError, match=r"2\.\w+: this is not a whole \.?\w+ file .*; write the shard again"):
        ShardedFeatures.open(files)


def test_a_file_of_another_width_is_named(tmp_path):
    files = write_shards(tmp_path, whole(), "npy")
    np.save(files[1], np.ones((1, 4)))
    with pytest.raises(FormatError, match=r"1\.npy: this shard has 4 features, the first has 3"):
        ShardedFeatures.open(files)


def test_a_file_that_changed_is_named(tmp_path):
    files = write_shards(tmp_path, whole(), "npy")
    shards = ShardedFeatures.open(files)
    np.save(files[2], np.ones((9, 3)))
    with pytest.raises(FormatError, match=r"2\.npy: this shard has changed since the pool was opened; open the pool"):
        shards[11:]


def test_dense_and_sparse_do_not_mix(tmp_path):
    files = write_shards(tmp_path, whole(), "npz")
    sp.save_npz(files[2], sp.csr_array(np.ones((2, 3))))
    with pytest.raises(FormatError, match=r"2\.npz: this shard is sparse, the first is dense: convert one"):
        ShardedFeatures.open(files)


@pytest.mark.parametrize(
    ("array", "words"),
    [(np.ones(3), r"float64 of shape \(3,\)"), (np.array([["a"]]), r"numbers in two dimensions .* found <U1")],
)
def test_what_is_no_table_of_numbers_is_refused(tmp_path, array, words):
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(FormatError, match=words):
        ShardedFeatures.open([tmp_path / "x.npy"])


def test_a_blank_in_a_column_is_refused(tmp_path):
    pq.write_table(pa.table({"f": [1.0, None]}), tmp_path / "x.parquet")
    with pytest.raises(FormatError, match=r"the column 'f' of row group 0 holds blanks or no numbers"):
        ShardedFeatures.open([tmp_path / "x.parquet"])


def test_other_errors_say_the_cure(tmp_path):
    (tmp_path / "x.txt").write_text("1")
    with pytest.raises(FormatError, match=r"must be a file of \.npy, \.npz, \.parquet"):
        ShardedFeatures.open([tmp_path / "x.txt"])
    with pytest.raises(ValueError, match="no shards"):
        ShardedFeatures(())
    with pytest.raises(IndexError, match=r"rows must lie in 0\.\.2, got 3\.\.3"):
        ShardedFeatures.of(np.ones((3, 1))).rows(np.array([3]))
    np.savez(tmp_path / "two.npz", X=np.ones((1, 1)), Z=np.ones((1, 1)))
    with pytest.raises(FormatError, match="found the arrays X, Z, expected one"):
        ShardedFeatures.open([tmp_path / "two.npz"])


@pytest.mark.parametrize("suffix", ["npy", "npz", "parquet"])
def test_a_shard_with_other_numbers_and_the_same_size_has_changed(tmp_path, suffix):
    path = tmp_path / f"0.{suffix}"

    def save(value):
        rows = np.full((4, 2), value)
        if suffix == "parquet":
            pq.write_table(pa.table({"a": rows[:, 0], "b": rows[:, 1]}), path)
        else:
            (np.save if suffix == "npy" else np.savez)(path, rows)

    save(1.0)
    X = ShardedFeatures.open([path])
    there = pickle.loads(pickle.dumps(X))  # a copy on another machine may have another time
    size = path.stat().st_size
    save(2.0)
    os.utime(path, ns=(0, 1_000_000_000))
    assert path.stat().st_size == size
    with pytest.raises(FormatError, match="has changed since the pool was opened"):
        X[[0]]
    assert_array_equal(there[[0]], [[2.0, 2.0]])
