"""Codes of rows known in part: per-label regression for the identity, none for rows that are hardly known."""

import numpy as np

from labelwise.numerics.gp.kernels import Kernel
from labelwise.numerics.recovery.gaussian_recovery import LabelPrior, shrunk_label_prior
from labelwise.numerics.recovery.label_codes import KnownLabels, addressed_projection
from labelwise.numerics.recovery.row_completion import LEAST_SHARE, fill_codes


def problem(n=30, q=8, seed=0, share=0.6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    Y = X @ rng.standard_normal((4, q)) > 0.5
    observed = rng.random((n, q)) < share
    observed[:10] = True
    C = 0.2 * Kernel(rbf=1.0, bias=0.2, length_scale=2.0)(X) + 0.1 * np.eye(n)
    prior = shrunk_label_prior(Y, observed)
    return Y, observed, C, prior


def test_complete_rows_are_encoded_and_nothing_hidden_is_read():
    Y, observed, C, prior = problem()
    Phi = addressed_projection(5, 8, 0)
    found = fill_codes(KnownLabels(Y, observed), Phi, C, 0.1, prior)
    np.testing.assert_allclose(found.codes[:10], Y[:10] @ Phi.T, atol=1e-10)
    again = fill_codes(KnownLabels(Y ^ ~observed, observed), Phi, C, 0.1, prior)
    np.testing.assert_array_equal(again.codes, found.codes)
    whole = fill_codes(KnownLabels(Y, np.ones_like(observed)), Phi, C, 0.1, prior)
    np.testing.assert_allclose(whole.codes, Y @ Phi.T, atol=1e-12)


def test_labels_that_are_codes_are_regressed_on_their_own_rows():
    Y, observed, C, prior = problem()
    found = fill_codes(KnownLabels(Y, observed), np.eye(8), C, 0.1, prior)
    for j in range(8):
        on = observed[:, j]
        weights = np.linalg.solve(C[np.ix_(on, on)], Y[on, j] - prior.mean[j])
        believed = np.where(on, Y[:, j], prior.mean[j] + (C - 0.1 * np.eye(30))[:, on] @ weights)
        np.testing.assert_allclose(found.codes[:, j], believed[found.rows], atol=1e-6)
    assert found.labels.min() >= 0 and found.labels.max() <= 1


def test_rows_hardly_known_have_no_code_and_change_no_other():
    Y, observed, C, prior = problem()
    observed[20:] = False
    observed[20:, 0] = True
    assert LEAST_SHARE > 1 / 8
    Phi = addressed_projection(5, 8, 0)
    found = fill_codes(KnownLabels(Y, observed), Phi, C, 0.1, prior)
    alone = fill_codes(KnownLabels(Y[:20], observed[:20]), Phi, C[:20, :20], 0.1, prior)
    np.testing.assert_array_equal(found.rows, alone.rows)
    assert found.rows.max() < 20
    np.testing.assert_allclose(found.codes, alone.codes, atol=1e-12)


def test_rows_that_are_all_hardly_known_are_still_used():
    rng = np.random.default_rng(1)
    observed = np.zeros((6, 20), dtype=bool)
    observed[np.arange(6), rng.integers(20, size=6)] = True
    prior = LabelPrior(np.full(20, 0.2), 0.16 * np.eye(20))
    C = np.eye(6) + 0.2
    found = fill_codes(KnownLabels(observed, observed), addressed_projection(10, 20, 0), C, 0.5, prior)
    assert found.rows.size == 6 and np.all(np.isfinite(found.codes))
    assert not np.allclose(found.codes, found.codes[0])
