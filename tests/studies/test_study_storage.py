from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.data import ShardedFeatures
from labelwise.records import LabelData
from labelwise.studies.simulate import Result
from labelwise.studies.study import RUN_FORMAT, RunStore, fingerprint, run_key

SETTINGS = {"model": "m", "seed": 1, "schedule": {"start": 3}}
RESULT = Result(({"round": 0, "f1": 0.1 + 0.2, "auc": math.nan},), ((("a", None), ("b", "red")),))


@pytest.fixture
def store(tmp_path):
    store = RunStore(tmp_path / "runs")
    store.save(run_key(SETTINGS), SETTINGS, RESULT)
    return store


def test_a_run_comes_back_as_it_was_to_the_last_digit(store):
    back = store.load(run_key(SETTINGS))
    assert back.rows[0]["f1"] == 0.1 + 0.2
    assert math.isnan(back.rows[0]["auc"])
    assert back.asked == RESULT.asked
    json.loads(store.path(run_key(SETTINGS)).read_text(), parse_constant=pytest.fail)  # strict JSON: no NaN in it


def test_a_run_that_was_never_saved_is_none(store):
    assert store.load("0" * 32) is None


def test_a_file_cut_short_anywhere_is_none(store):
    path = store.path(run_key(SETTINGS))
    whole = path.read_bytes()
    for length in range(0, len(whole) - 1, 7):
        path.write_bytes(whole[:length])
        assert store.load(run_key(SETTINGS)) is None, length


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"round": 0', b'"round": 1'),
        (b'"seed": 1', b'"seed": 2'),
        (f'"format": {RUN_FORMAT}'.encode(), b'"format": 1'),
    ],
)
def test_a_changed_figure_setting_or_format_is_none(store, old, new):
    path = store.path(run_key(SETTINGS))
    content = path.read_bytes()
    assert old in content
    path.write_bytes(content.replace(old, new))
    assert store.load(run_key(SETTINGS)) is None


def test_a_run_under_the_name_of_another_is_none(store):
    other = {**SETTINGS, "seed": 2}
    store.path(run_key(SETTINGS)).rename(store.path(run_key(other)))
    assert store.load(run_key(other)) is None


def test_the_key_depends_on_every_setting_but_not_on_their_order():
    assert run_key(SETTINGS) == run_key(dict(reversed(SETTINGS.items())))
    changed = [{**SETTINGS, "seed": 2}, {**SETTINGS, "schedule": {"start": 4}}, {**SETTINGS, "more": None}]
    assert len({run_key(s) for s in (SETTINGS, *changed)}) == 4


def test_the_fingerprint_sees_every_part_of_the_data(small):
    X, Y = np.array(small.X), small.Y.toarray()
    X[3, 1] += 1e-9
    Y[5, 0] ^= True
    observed = np.ones(Y.shape, dtype=bool)
    observed[~Y] = False
    changed = [
        replace(small, X=X),
        replace(small, X=small.X.astype(np.float32)),
        replace(small, Y=sp.csr_array(Y)),
        LabelData.from_arrays(small.X, small.Y, observed=small.Y, label_names=small.label_names),
        replace(small, label_names=("red", "round", "big")),
        replace(small, item_ids=tuple(f"i{i}" for i in range(small.n_items))),
    ]
    assert len({fingerprint(data) for data in (small, *changed)}) == 7
    assert fingerprint(small) == fingerprint(small.take(np.arange(small.n_items)))


def test_the_fingerprint_of_sparse_features_ignores_how_they_are_kept(small):
    csr = sp.csr_array(small.X * (small.X > 0))
    shuffled = csr.copy()
    for start, stop in zip(csr.indptr, csr.indptr[1:], strict=False):
        shuffled.indices[start:stop] = csr.indices[start:stop][::-1]
        shuffled.data[start:stop] = csr.data[start:stop][::-1]
    shuffled.has_sorted_indices = False
    assert fingerprint(replace(small, X=csr)) == fingerprint(replace(small, X=shuffled))


def test_the_fingerprint_of_a_pool_in_shards_sees_every_row():
    X = np.arange(12.0).reshape(6, 2)
    other = X.copy()
    other[5, 1] += 1.0
    pools = [
        LabelData.from_arrays(ShardedFeatures.of(rows[:4], rows[4:]), np.eye(6, 2), label_names=["a", "b"])
        for rows in (X, X.copy(), other)
    ]
    same, again, changed = map(fingerprint, pools)
    assert same == again != changed
