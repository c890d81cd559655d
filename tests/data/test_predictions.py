"""Files of predictions are read back by the readers of labelled files."""

import gzip
import json

import numpy as np
import pytest

from labelwise.data import FormatError, read
from labelwise.data.predictions import prediction_columns, writing_predictions

NAMES = ["sun", "rain, heavy", "fög"]


def batches(n=50, seed=0):
    rng = np.random.default_rng(seed)
    for start in (0, n, 2 * n):
        p = rng.random((n, 3))
        yield [f"row {i}" for i in range(start, start + n)], p > rng.random((n, 1)), p


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet", ".jsonl.gz", ".csv.bz2"])
def test_sets_come_back(tmp_path, suffix):
    path = tmp_path / f"p{suffix}"
    with writing_predictions(path) as append:
        for ids, sets, p in batches():
            append(prediction_columns(ids, sets, p, NAMES))
            assert not path.exists()
    data = read(path, text="id", label_names=NAMES)
    np.testing.assert_array_equal(data.Y.toarray(), np.vstack([sets for _, sets, _ in batches()]))
    assert data.item_ids == tuple(f"row {i}" for i in range(150))


def test_labels_stand_with_their_probabilities_most_probable_first(tmp_path):
    path = tmp_path / "p.jsonl.gz"
    (ids, sets, p), *_ = batches()
    with writing_predictions(path) as append:
        append(prediction_columns(ids, sets, p, NAMES, top=2))
    rows = [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]
    for row, one_set, one_p in zip(rows, sets, p, strict=True):
        assert set(row["labels"]) == {name for name, chosen in zip(NAMES, one_set, strict=True) if chosen}
        assert row["probabilities"] == sorted(row["probabilities"], reverse=True)
        assert row["top_labels"] == [NAMES[label] for label in np.argsort(-one_p)[:2]]
        for kind in ("", "top_"):
            for name, value in zip(row[f"{kind}labels"], row[f"{kind}probabilities"], strict=True):
                assert value == pytest.approx(one_p[NAMES.index(name)], abs=5e-7)


def test_more_top_labels_than_labels_are_all_of_them():
    p = np.array([[0.1, 0.3, 0.2]])
    assert prediction_columns(["a"], p > 1, p, NAMES, top=9)["top_labels"] == [["rain, heavy", "fög", "sun"]]


def test_an_error_leaves_no_file(tmp_path):
    def write_and_fail():
        ids, sets, p = next(batches())
        with writing_predictions(tmp_path / "p.parquet") as append:
            append(prediction_columns(ids, sets, p, NAMES))
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        write_and_fail()
    assert list(tmp_path.iterdir()) == []


def test_wrong_names_are_told(tmp_path):
    for name in ("p.txt", "p", "p.parquet.gz"):
        with pytest.raises(ValueError, match=r"written to \.jsonl"), writing_predictions(tmp_path / name):
            pass
    p = np.array([[0.9]])
    refused = pytest.raises(FormatError, match=r"cannot be joined by ';'.*or write \.jsonl")
    with refused, writing_predictions(tmp_path / "p.csv") as append:
        append(prediction_columns(["a"], p > 0.5, p, ["a;b"]))
