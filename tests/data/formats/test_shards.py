"""Folders of shards as pools, and back."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

import labelwise
from labelwise.data import FormatError, ShardedFeatures
from labelwise.records import LabelData


def sample(sparse=False, **more):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((9, 4)) < 0.6, rng.standard_normal((9, 4)), 0.0).astype(np.float32)
    Y = np.where(rng.random((9, 2)) < 0.3, np.nan, rng.random((9, 2)) < 0.5)
    ids = [f"doc {k}" for k in range(9)]
    return LabelData.from_arrays(sp.csr_array(X) if sparse else X, Y, item_ids=ids, label_names=["b", "ä"], **more)


def in_memory(data):
    """The same data with its features loaded."""
    X = data.X[:]
    return LabelData(X, data.Y, data.observed, data.item_ids, data.label_names, data.feature_names, data.items)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("rows", [1, 4, None])
def test_what_was_written_is_read_back(tmp_path, assert_same, sparse, rows):
    data = sample(sparse, feature_names=list("wxyz"), items=[{"text": f"line\n{k}"} for k in range(9)])
    labelwise.write(data, tmp_path / "pool", format="shards", rows=rows)
    read = labelwise.read(tmp_path / "pool")
    assert isinstance(read.X, ShardedFeatures) and read.X.dtype == np.float32
    assert len(read.X.shards) == -(-9 // (rows or 9))
    assert_same(in_memory(read), data)
    assert read.items == data.items


def test_a_pool_in_shards_can_be_written_again(tmp_path, assert_same):
    labelwise.write(sample(), tmp_path / "first", format="shards", rows=2)
    labelwise.write(labelwise.read(tmp_path / "first"), tmp_path / "second", format="shards", rows=5)
    assert_same(in_memory(labelwise.read(tmp_path / "second")), sample())


def test_everything_known_stays_known(tmp_path):
    data = LabelData.from_arrays(np.ones((2, 1)), [[1], [0]])
    labelwise.write(data, tmp_path / "pool", format="shards")
    assert labelwise.read(tmp_path / "pool").observed is None


def test_files_of_somebody_else_are_a_pool_without_labels(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros((2, 3)))
    np.save(tmp_path / "b.npy", np.ones((1, 3)))
    data = labelwise.read(tmp_path, label_names=["x", "y"])
    assert data.n_observed == 0
    assert data.item_ids == ("0", "1", "2")
    assert_array_equal(data.X[2:], np.ones((1, 3)))
    with pytest.raises(FormatError, match="nothing says which labels to learn: give label_names="):
        labelwise.read(tmp_path)


def test_parquet_shards_bring_labels_and_ids(tmp_path):
    for number in range(2):
        table = {"id": [f"{number}a", f"{number}b"], "f": [0.5, 1.5], "g": [number, 2], "tags": [["red"], None]}
        pq.write_table(
            pa.table(table | ({"tags": [["red", "blue"], []]} if number else {})), tmp_path / f"{number}.parquet"
        )
    data = labelwise.read(tmp_path, labels="tags", id="id")
    assert data.label_names == ("red", "blue")
    assert data.item_ids == ("0a", "0b", "1a", "1b")
    assert_array_equal(data.Y.toarray(), [[1, 0], [0, 0], [1, 1], [0, 0]])
    assert_array_equal(data.observed.toarray(), [[1, 1], [0, 0], [1, 1], [1, 1]])
    assert_array_equal(data.X[:], [[0.5, 0], [1.5, 2], [0.5, 1], [1.5, 2]])
    only = labelwise.read(tmp_path, labels="tags", id="id", features=["f"])
    assert only.n_features == 1
    with pytest.raises(FormatError, match="found the label 'blue', which is not in label_names="):
        labelwise.read(tmp_path, labels="tags", id="id", label_names=["red"])
    with pytest.raises(FormatError, match=r"0\.parquet: there is no column 'names'"):
        labelwise.read(tmp_path, labels="tags", id="names", features=["f"])


def test_what_is_wrong_with_a_folder_is_said(tmp_path):
    with pytest.raises(FormatError, match=r"there is no shard in this folder; shards are files of \.npy"):
        labelwise.read(tmp_path)
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    (tmp_path / "names.json").write_text("{")
    with pytest.raises(FormatError, match=r"names\.json: this is not valid JSON"):
        labelwise.read(tmp_path)
    (tmp_path / "names.json").write_text("[1]")
    with pytest.raises(FormatError, match=r"names\.json: expected an object"):
        labelwise.read(tmp_path)
    (tmp_path / "names.json").unlink()
    sp.save_npz(tmp_path / "labels.npz", sp.csr_array(np.ones((5, 1), dtype=bool)))
    with pytest.raises(FormatError, match=r"labels\.npz: found shape \(5, 1\), expected \(items, labels\) = \(2, 1\)"):
        labelwise.read(tmp_path, label_names=["x"])
    (tmp_path / "labels.npz").write_bytes(b"PK")
    with pytest.raises(FormatError, match=r"labels\.npz: this is not a whole sparse \.npz file"):
        labelwise.read(tmp_path, label_names=["x"])
    np.savez(tmp_path / "b.npz", X=np.ones((1, 3)))
    with pytest.raises(FormatError, match=r"of one kind, found a\.npy and b\.npz"):
        labelwise.read(tmp_path, label_names=["x"])
    with pytest.raises(FormatError, match="this folder is not empty: give a new one"):
        labelwise.write(sample(), tmp_path, format="shards")
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        labelwise.read(tmp_path / "nowhere", format="shards")


def test_blocks_are_kept_beside_the_shards_and_opinions_are_written_nowhere_else(tmp_path):
    data = sample(True, feature_names=list("wxyz")).with_block(np.ones((9, 1)), "gpt", "opinions")
    labelwise.write(data, tmp_path / "pool", format="shards")
    read = labelwise.read(tmp_path / "pool")
    assert read.blocks == data.blocks and read.take([1, 2]).blocks == data.blocks
    labelwise.write(data, tmp_path / "pool.csv", labels=None)
    assert labelwise.read(tmp_path / "pool.csv", labels=["b", "ä"]).feature_names == tuple("wxyz")
    names = tmp_path / "pool" / "names.json"
    names.write_text(names.read_text(encoding="utf-8").replace("opinions", "rumours"), encoding="utf-8")
    with pytest.raises(FormatError, match="rumours"):
        labelwise.read(tmp_path / "pool")
