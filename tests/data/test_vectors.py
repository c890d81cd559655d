"""Vectors of items from arrays, files and columns, in any order of ids; mixed tables; what is refused."""

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import labelwise as lw
from labelwise.data import FormatError, with_vectors
from labelwise.hints import learn_hints
from letter_encoder import Letters

VECTORS = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 4.0]])


@pytest.fixture
def data():
    return lw.LabelData.from_arrays(np.eye(3)[:, :1], label_names=["a", "b"], item_ids=["x", "y", "z"])


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "tickets.jsonl"
    lines = [
        '{"id": "x", "body": "a cab", "price": 3, "colour": "red", "vec": [1, 0], "labels": ["a"]}',
        '{"id": "y", "body": "a bbb", "price": 5, "colour": "blue", "vec": [0, 2], "labels": ["b"]}',
        '{"id": "z", "body": "b cab", "price": 4, "colour": "red", "vec": [3, 4], "labels": []}',
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def in_file(path, ids=None, order=slice(None)):
    vectors = VECTORS[order]
    if path.suffix == ".npy":
        np.save(path, vectors)
    elif path.suffix == ".npz":
        np.savez(path, vectors=vectors, **({} if ids is None else {"ids": np.array(ids)}))
    else:
        columns = {"vector": vectors.tolist()} | ({} if ids is None else {"id": ids})
        pd.DataFrame(columns).to_parquet(path)
    return path


@pytest.mark.parametrize("name", ["v.npy", "v.npz", "v.parquet"])
def test_files_in_the_order_of_the_items(data, tmp_path, name):
    found = with_vectors(data, in_file(tmp_path / name), encoder="minilm")
    assert_array_equal(found.X[:, 1:], VECTORS)
    assert [(b.name, b.kind, b.encoder) for b in found.blocks][1] == ("vectors", "vectors", "minilm")


@pytest.mark.parametrize("name", ["v.npz", "v.parquet"])
def test_files_with_ids_in_another_order(data, tmp_path, name):
    found = with_vectors(data, in_file(tmp_path / name, ["z", "x", "y"], [2, 0, 1]))
    assert_array_equal(found.X[:, 1:], VECTORS)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (VECTORS[:2], "there are 2 vectors for 3 items; give one for each"),
        (VECTORS[:, 0], r"got \(3,\)"),
        (np.where(VECTORS > 3, np.nan, VECTORS), "the vector of item 'z' has NaN or infinity, 1 of 3 have"),
        ([[1, 2], [3], [4, 5]], "the vector of item 'y' has 1 numbers, the first has 2"),
        ([[1, 2], None, [4, 5]], "the vector of item 'y' has no list of numbers"),
        ({"x": [1], "y": [2]}, "1 ids have no vector, such as 'z'"),
        ({"x": [1], "y": [2], "z": [3], "w": [4]}, "1 ids of the vectors are not those of any item, such as 'w'"),
        ([["a", "b"]] * 3, "expected numbers"),
    ],
)
def test_bad_vectors_are_refused(data, source, message):
    with pytest.raises(ValueError, match=message):
        with_vectors(data, source)


def test_bad_files_are_refused(data, tmp_path):
    with pytest.raises(ValueError, match="id of a vector 'x' is given twice"):
        with_vectors(data, in_file(tmp_path / "v.npz", ["x", "x", "y"]))
    with pytest.raises(FileNotFoundError, match=r"there is no file .*nothing.npy"):
        with_vectors(data, tmp_path / "nothing.npy")
    with pytest.raises(FormatError, match=re.escape("read from files of .npy, .npz, .parquet, not of '.txt'")):
        with_vectors(data, tmp_path / "v.txt")
    (tmp_path / "cut.npy").write_bytes(b"\x93NUMPY")
    with pytest.raises(FormatError, match="no vectors can be read"):
        with_vectors(data, tmp_path / "cut.npy")
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object))
    with pytest.raises(FormatError, match="without objects"):
        with_vectors(data, tmp_path / "objects.npy")
    np.savez(tmp_path / "other.npz", X=VECTORS)
    with pytest.raises(FormatError, match="there is no array 'vectors' in it, only X"):
        with_vectors(data, tmp_path / "other.npz")


def test_text_and_embedding(table):
    letters = Letters()
    data = lw.read(table, text="body", embed=letters)
    assert [(b.name, b.kind, b.encoder) for b in data.blocks] == [
        ("words", "words", ""),
        ("letters", "vectors", "letters"),
    ]
    assert_array_equal(data.blocks[1].of(data.X).toarray(), letters.encode(["a cab", "a bbb", "b cab"]))
    assert data.feature_names[-3:] == ("letters[0]", "letters[1]", "letters[2]")
    hints = learn_hints(data)
    assert hints.names[-1] == "Encoder"
    scores = [np.array([2, 1, 1]) @ [1, 0, 0] / 6**0.5, 1 / np.sqrt(10), 1 / 6**0.5]
    expected = (scores - np.mean(scores)) / np.std(scores)
    assert_allclose(hints(data.X)[-1][:, 0], expected, atol=1e-6)


def test_text_numbers_categories_and_lists_are_blocks(table):
    data = lw.read(table, text="body", features=["price", "colour", "vec"])
    assert [(b.name, b.kind, b.width) for b in data.blocks][1:] == [
        ("numbers", "numbers", 1),
        ("categories", "categories", 2),
        ("vec", "vectors", 2),
    ]
    assert data.feature_names[-5:] == ("price", "colour=blue", "colour=red", "vec[0]", "vec[1]")
    assert_array_equal(data.X.toarray()[:, -5:], [[3, 0, 1, 1, 0], [5, 1, 0, 0, 2], [4, 0, 1, 3, 4]])
    same = lw.read(table, text="body", embeddings="vec")
    assert_array_equal(same.blocks[1].of(same.X).toarray(), VECTORS)
    assert "vec" not in same.items[0] and same.items[0]["body"] == "a cab"


def test_text_alone_has_no_blocks(table):
    assert lw.read(table, text="body").blocks == () and lw.read(table, features=["price"]).blocks == ()


def frame(n=40):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "body": [f"text {k} about {'refunds' if k % 2 else 'parcels'}" for k in range(n)],
            "price": rng.random(n),
            "urgent": rng.random(n) < 0.5,
            "colour": pd.Categorical(rng.choice(["red", "blue", None], n)),
            "when": pd.date_range("2026-01-01", periods=n),
            "labels": [["refund"] if k % 2 else [] for k in range(n)],
        },
        index=[f"t{k}" for k in range(n)],
    )


def test_a_mixed_data_frame_just_works():
    data = lw.read(frame(), text="body")
    assert [(b.name, b.kind, b.width) for b in data.blocks][1:] == [
        ("numbers", "numbers", 2),
        ("categories", "categories", 2),
    ]
    assert data.feature_names[-4:] == ("price", "urgent", "colour=blue", "colour=red")
    assert data.item_ids[:2] == ("t0", "t1") and data.label_names == ("refund",)
    blank = frame()["colour"].isna().to_numpy()
    assert_array_equal(data.blocks[2].of(data.X).toarray().sum(axis=1), 1.0 * ~blank)
    assert lw.Campaign(data, hints=None, random_state=0).fitted().blocks == data.blocks
    assert sp.issparse(data.X)


def test_data_frames_that_do_not_work():
    with pytest.raises(FormatError, match=r"column 'body' has 1,500 different values, too many for categories"):
        lw.read(frame(1500), features=["body"])
    with pytest.raises(TypeError, match="data frames have no option 'delimiter'"):
        lw.read(frame(), delimiter=";")
    with pytest.raises(ValueError, match="item 't0' has no text in None to encode"):
        lw.read(frame(), embed=Letters())
    odd = frame()
    odd["price"] = odd["price"].astype(object)
    odd.loc["t3", "price"] = "dear"
    with pytest.raises(FormatError, match="row 4: column 'price': found 'dear', expected a number"):
        lw.read(odd, text="body", features=["price"])
