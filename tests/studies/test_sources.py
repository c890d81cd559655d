from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.data import write
from labelwise.records import LabelData
from labelwise.studies.sources import BUILT_IN, PUBLISHED, Source, published, scaled
from labelwise.studies.study import fingerprint


def make_wide(n=30, d=20, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * np.arange(1, d + 1) + 5
    return LabelData.from_arrays(X, X[:, :2] > 5)


def test_a_limit_draws_the_same_items_each_time_and_keeps_their_order():
    whole, _ = Source("gaussian").load()
    few, _ = Source("gaussian", limit=50).load()
    again, _ = Source("gaussian", limit=50).load()
    assert few.item_ids == again.item_ids
    places = [whole.item_ids.index(item) for item in few.item_ids]
    assert len(places) == 50 and places == sorted(places) and places != list(range(50))


@pytest.mark.parametrize("name", [name for name in BUILT_IN if name != "yeast"])  # that one needs the extra demo
def test_a_built_in_set_is_whole_and_the_same_each_time(name):
    data, again = Source(name).load()[0], Source(name).load()[0]
    assert data.n_items >= 1000 and data.n_labels >= 8 and data.observed is None
    assert fingerprint(data) == fingerprint(again)
    assert (data.Y.sum(0) > 0).all()


def test_a_file_is_called_by_its_name_unless_it_is_given_one(tmp_path):
    write(make_wide(), tmp_path / "things.csv")
    source = Source(str(tmp_path / "things.csv"), labels=["label_0", "label_1"])
    assert source.name == "things" and not source.is_built_in
    assert Source(source.source, "other").name == "other"


def test_a_folder_of_the_name_of_a_built_in_set_is_not_that_set(tmp_path, monkeypatch):
    (tmp_path / "gaussian").mkdir()
    monkeypatch.chdir(tmp_path)
    assert Source("gaussian", limit=20).load()[0].n_items == 20


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (Source("nothing.csv"), "no file 'nothing.csv' and no built-in set of that name: yeast"),
        (Source("gaussian", labels=3), "the built-in set 'gaussian' takes no labels"),
    ],
)
def test_what_cannot_be_read_is_refused(source, words):
    with pytest.raises(ValueError, match=words):
        source.load()


def test_a_senseless_limit_is_refused():
    with pytest.raises(ValueError, match="limit must be at least 2, got 1"):
        Source("gaussian", limit=1)


def test_only_sets_that_are_there_are_published(tmp_path):
    assert published(tmp_path) == []
    for file in ("yeast/yeast.arff.gz", "scene/scene-train.arff.gz"):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).touch()
    assert [source.name for source in published(tmp_path)] == ["yeast"]  # scene lacks its test file
    (tmp_path / PUBLISHED["scene"][1]).touch()
    assert [(s.name, s.test and s.test.name) for s in published(tmp_path)] == [
        ("yeast", None),
        ("scene", "scene-test.arff.gz"),
    ]


def test_dense_features_are_standardised_and_then_of_unit_length():
    data = make_wide()
    X = scaled(data)[0].X
    standard = (data.X - data.X.mean(0)) / data.X.std(0)
    assert np.linalg.norm(X, axis=1) == pytest.approx(np.ones(30))
    assert standard / np.linalg.norm(standard, axis=1, keepdims=True) == pytest.approx(X)


def test_the_test_set_is_scaled_by_what_the_data_say():
    data, other = make_wide(seed=0), make_wide(seed=1)
    standard = (other.X - data.X.mean(0)) / data.X.std(0)
    expected = standard / np.linalg.norm(standard, axis=1, keepdims=True)
    found = scaled(data, other)[1].X
    assert found == pytest.approx(expected)


def test_sparse_rows_stay_sparse_and_a_plane_keeps_its_lengths():
    data = make_wide()
    rows = scaled(replace(data, X=sp.csr_array(data.X)))[0].X
    assert sp.issparse(rows) and rows.toarray() == pytest.approx(data.X / np.linalg.norm(data.X, axis=1)[:, None])
    plane = make_wide(d=2)
    assert np.std(np.linalg.norm(scaled(plane)[0].X, axis=1)) > 0.1
