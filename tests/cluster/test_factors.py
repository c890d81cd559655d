"""The sweeps of `CooccurrenceFactors` over parts of the items against those of one machine."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise import CooccurrenceFactors
from labelwise.cluster import fit_factors

SETTINGS = {"feature_penalty": 0.3, "n_iterations": 4, "n_factors": 5}


def problem(n=200, q=9, d=6):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    truth = X @ rng.normal(size=(d, q)) + 0.5 > 0
    Y = truth.astype(float)
    Y[rng.random(Y.shape) < 0.2] = np.nan
    Y[:, -1] = np.nan  # a label that only the counts know
    return X, Y, (truth.T.astype(float) @ truth)


def assert_close(here, there, tolerance):
    for name in ("items", "labels", "columns", "weights", "label_bias", "row_bias", "column_bias", "expected"):
        mine, theirs = getattr(here.factors_, name), getattr(there.factors_, name)
        np.testing.assert_allclose(theirs, mine, rtol=tolerance, atol=tolerance, err_msg=name)
    np.testing.assert_allclose(there.objective_, here.objective_, rtol=tolerance)


@pytest.mark.parametrize(("settings", "parts"), [({}, 1), ({"overdispersion": "learn"}, 3), ({"bias": False}, 3)])
def test_exact_updates_do_not_depend_on_the_parts(client, settings, parts):
    X, Y, counts = problem()
    model = CooccurrenceFactors(cooccurrence=counts, solver="exact", tolerance=1e-12, **SETTINGS, **settings)
    there = fit_factors(model, X, Y, cluster=client, parts=parts)
    assert_close(CooccurrenceFactors(**model.get_params()).fit(X, Y), there, 1e-8)
    np.testing.assert_allclose(there.predict_proba(X), model.fit(X, Y).predict_proba(X), rtol=1e-6)


def test_conjugate_gradients_in_the_parts_of_one_machine(client, monkeypatch):
    """Preconditioners belong to chunks of items and of labels: with the same chunks the fit is the same."""
    monkeypatch.setattr("labelwise.numerics.weighted_ridge.CHUNK", 900)
    X, Y, counts = problem()
    model = CooccurrenceFactors(cooccurrence=counts, **SETTINGS)
    there = fit_factors(model, X, Y, cluster=client)
    assert_close(model.fit(X, Y), there, 1e-8)
    monkeypatch.undo()
    assert abs(model.fit(X, Y).objective_[-1] - there.objective_[-1]) > 1e-6  # other chunks, another path


def test_other_parts_raise_the_objective_as_well(client):
    X, Y, counts = problem()
    told = []
    model = CooccurrenceFactors(cooccurrence=counts, **SETTINGS)
    fit_factors(model, X, Y, cluster=client, parts=4, on_step=lambda step, value: told.append(value))
    assert len(told) == 4 and np.all(np.diff(told) > 0)
    assert not hasattr(model, "factors_")  # the one given stays as it is


def test_many_sparse_features_by_conjugate_gradients(client, monkeypatch):
    monkeypatch.setattr("labelwise.cluster.factors.LARGEST_FACTOR", 3)
    X, Y, counts = problem()
    model = CooccurrenceFactors(cooccurrence=counts, solver="exact", scale="none", **SETTINGS)
    there = fit_factors(model, sp.csr_array(X), Y, cluster=client, parts=3)
    assert_close(model.fit(X, Y), there, 1e-4)


@pytest.mark.slow
def test_a_killed_worker_changes_nothing(client, kill_at):
    X, Y, counts = problem()
    model = CooccurrenceFactors(cooccurrence=counts, **SETTINGS)
    unharmed = fit_factors(model, X, Y, cluster=client, parts=4)
    killed = kill_at("labelwise.cluster.factors.near", 80)
    survived = fit_factors(model, X, Y, cluster=client, parts=4)
    assert killed
    assert_close(unharmed, survived, 1e-12)


@pytest.mark.parametrize(
    ("settings", "parts", "told"),
    [({"inference": "variational"}, None, 'use inference="map"'), ({}, 0, "parts must be")],
)
def test_what_cannot_be_done_is_said(settings, parts, told):
    with pytest.raises(ValueError, match=told):
        fit_factors(CooccurrenceFactors(**settings), *problem()[:2], cluster=2, parts=parts)
