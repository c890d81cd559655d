"""`OnlineBayes` on two worker processes against the same rows learnt here."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise import OnlineBayes
from labelwise.cluster import fit_online
from labelwise.data import make_drifting_stream, write

LABELS = 24


def shards(n: int = 800, pieces: int = 8, observed: bool = False) -> list[tuple[np.ndarray, ...]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    Y = X @ rng.normal(size=(10, LABELS)) > 1
    arrays = (X, Y, rng.random(Y.shape) < 0.7) if observed else (X, Y)
    return list(zip(*(np.split(array, pieces) for array in arrays), strict=True))


def learnt_here(model: OnlineBayes, rows: list[tuple[np.ndarray, ...]]) -> OnlineBayes:
    for some in rows:
        model.partial_fit(*some)
    return model


def assert_same(one: OnlineBayes, other: OnlineBayes) -> None:
    for name, array in one.state_.arrays().items():
        if not name.startswith("weights"):
            np.testing.assert_array_equal(array, other.state_.arrays()[name], err_msg=name)
    features = np.arange(one.n_features_in_)
    for mine, theirs in zip(one.state_.weights_of(features), other.state_.weights_of(features), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert (one.n_seen_, one.n_labels_, one.state_.sweeps) == (other.n_seen_, other.n_labels_, other.state_.sweeps)


@pytest.mark.parametrize(
    "settings", [{"coupling": "independent"}, {"block_size": 8}, {"block_size": 8, "half_life": 50}]
)
def test_blocks_of_labels_are_bit_by_bit_those_of_one_machine(client, settings):
    rows = shards(observed=True)
    there = fit_online(OnlineBayes(**settings), rows, cluster=client)
    assert_same(learnt_here(OnlineBayes(**settings), rows), there)


def test_goes_on_from_a_model_and_leaves_it_alone(client):
    rows = shards()
    start = learnt_here(OnlineBayes(block_size=8), rows[:3])
    before = start.state_.arrays()
    there = fit_online(start, rows[3:], cluster=client)
    for name, array in start.state_.arrays().items():
        np.testing.assert_array_equal(array, before[name])
    assert_same(learnt_here(OnlineBayes(block_size=8), rows), there)


def test_files_are_read_by_the_workers(client, tmp_path):
    data, paths = make_drifting_stream(600, random_state=0), []
    for number, rows in enumerate(np.array_split(np.arange(600), 4)):
        paths.append(tmp_path / f"{number}.jsonl")
        write(data.take(rows), paths[-1])
    there = fit_online(OnlineBayes("independent"), paths, cluster=client, reading={"hashed_width": 64})
    assert there.n_seen_ == 600 and there.n_labels_ <= data.n_labels
    by_rows = fit_online(
        OnlineBayes("independent"), paths, cluster=client, by="rows", parts=2, merges=2, reading={"hashed_width": 64}
    )
    np.testing.assert_array_equal(by_rows.label_shares_, there.label_shares_)


@pytest.mark.parametrize("by", ["labels", "rows"])
def test_a_killed_worker_changes_nothing(client, kill_at, by):
    rows, settings = shards(), {"cluster": client, "by": by, "parts": 2, "merges": 4}
    unharmed = fit_online(OnlineBayes(block_size=8), rows, **settings)
    killed = kill_at("labelwise.cluster.online.near", 9)
    survived = fit_online(OnlineBayes(block_size=8), rows, **settings)
    assert killed
    assert_same(unharmed, survived)


@pytest.mark.slow
def test_rows_without_a_common_feature_merge_exactly(client):
    """Nothing is shared by two shards of disjoint features and no bias: merging is learning one after the other."""
    rng = np.random.default_rng(1)
    rows = []
    for number in range(4):
        X = np.zeros((50, 20))
        X[:, 5 * number : 5 * number + 5] = rng.normal(size=(50, 5))
        rows.append((sp.csr_array(X), np.eye(3, dtype=bool)[rng.integers(3, size=50)]))
    settings = {"coupling": "multiclass", "local_bias": False, "skew_margin": False, "dtype": "float64"}
    here = learnt_here(OnlineBayes(**settings), rows)
    there = fit_online(OnlineBayes(**settings), rows, cluster=client, by="rows", parts=2, merges=2)
    for mine, theirs in zip(here.state_.weights_of(np.arange(20)), there.state_.weights_of(np.arange(20)), strict=True):
        np.testing.assert_allclose(theirs, mine, rtol=1e-12)
    np.testing.assert_array_equal(there.state_.counts, here.state_.counts)


def test_merging_often_comes_close_to_one_pass(client):
    rows = shards(1600, 16)
    X = np.vstack([some[0] for some in rows])
    here = learnt_here(OnlineBayes("independent"), rows).predict_proba(X)
    gap = {
        merges: np.abs(
            fit_online(
                OnlineBayes("independent"), rows, cluster=client, by="rows", parts=2, merges=merges
            ).predict_proba(X)
            - here
        ).mean()
        for merges in (1, 8)
    }
    assert gap[8] < 0.6 * gap[1] < 0.05


@pytest.mark.parametrize(
    ("model", "options", "told"),
    [
        (OnlineBayes(), {"parts": 2}, "set block_size to a multiple of 8"),
        (OnlineBayes("independent"), {"by": "columns"}, 'by must be "labels" or "rows"'),
        (OnlineBayes("independent"), {"by": "rows", "parts": 2, "merges": 9}, "at least 18 shards"),
        (OnlineBayes("independent"), {"merges": 0}, "merges must be at least 1"),
        (OnlineBayes("independent", half_life=9), {"by": "rows", "merges": 1}, "models that forget"),
        (OnlineBayes("independent", drift=0.1), {"by": "rows", "merges": 1}, "models whose weights move"),
        (OnlineBayes("independent", hierarchy=[-1, 0]), {}, "labels of a hierarchy"),
    ],
)
def test_what_cannot_be_done_is_said(client, model, options, told):
    with pytest.raises(ValueError, match=told):
        fit_online(model, shards(), cluster=client, **options)


def test_shards_of_other_widths_are_named(client):
    X, Y = np.ones((10, 3)), np.ones((10, 16), dtype=bool)
    model = OnlineBayes("independent")
    with pytest.raises(ValueError, match="shard 1 has 7 features, the first has 3"):
        fit_online(model, [(X, Y), (np.ones((10, 7)), Y)], cluster=client)
    with pytest.raises(ValueError, match="shard 1 has 9 labels, the first has 16"):
        fit_online(model, [(X, Y), (X, Y[:, :9])], cluster=client)


def test_other_models_are_refused(client):
    X, Y = np.ones((10, 3)), np.ones((10, 2), dtype=bool)
    with pytest.raises(ValueError, match="model must be an OnlineBayes, got int"):
        fit_online(3, [(X, Y)], cluster=client)
