from itertools import pairwise

import numpy as np
import pytest
from scipy.special import expit

from labelwise.numerics import weighted_ridge
from labelwise.numerics.polya_gamma import log_likelihood, polya_gamma_mean
from labelwise.numerics.weighted_ridge import RowSolver, View, row_chunks

LAMBDA = 1.7


def views(rng, rows=9, sizes=(30, 12), k=6, dtype=np.float64):
    """Labels with gaps and counts with gaps, about the same rows."""
    made = []
    for place, f in enumerate(sizes):
        F = rng.normal(size=(f, k)).astype(dtype)
        known = rng.random((rows, f)) < 0.7
        values = rng.integers(0, 2 if place == 0 else 30, size=(rows, f))
        trials = np.where(known, 1 if place == 0 else values + 5.0, 0.0).astype(dtype)
        offsets = rng.normal(size=rows).astype(dtype), rng.normal(size=f).astype(dtype)
        made.append(View(F, np.where(known, values, 0).astype(dtype), trials, *offsets))
    return made


def by_least_squares(A, some, prior_mean):
    """Row by row: the square that touches the likelihood at A, as one weighted least squares problem."""
    found = np.empty_like(A)
    for i in range(len(A)):
        rows, targets = [np.sqrt(LAMBDA) * np.eye(A.shape[1])], [np.sqrt(LAMBDA) * prior_mean[i]]
        for v in some:
            psi = A[i] @ v.factors.T + v.row_offset[i] + v.column_offset
            omega = polya_gamma_mean(v.trials[i], psi)
            kappa = v.successes[i] - v.trials[i] / 2
            used = omega > 0
            root = np.sqrt(omega[used])
            rows.append(root[:, None] * v.factors[used])
            targets.append((kappa[used] - omega[used] * (v.row_offset[i] + v.column_offset)[used]) / root)
        found[i] = np.linalg.lstsq(np.vstack(rows), np.concatenate(targets), rcond=None)[0]
    return found


@pytest.mark.parametrize("sizes", [(30, 12), (3, 2)], ids=["primal", "dual"])
def test_exact_rows_are_least_squares(sizes):
    rng = np.random.default_rng(0)
    some, A, prior = views(rng, sizes=sizes), rng.normal(size=(9, 6)), rng.normal(size=(9, 6))
    found = RowSolver("exact").improve(A, some, LAMBDA, prior)
    np.testing.assert_allclose(found, by_least_squares(A, some, prior), rtol=1e-11, atol=1e-12)


def test_as_many_steps_as_factors_are_exact():
    rng = np.random.default_rng(1)
    some, A = views(rng), rng.normal(size=(9, 6))
    exact = RowSolver("exact").improve(A, some, LAMBDA)
    np.testing.assert_allclose(RowSolver("cg", 6).improve(A, some, LAMBDA), exact, rtol=1e-9, atol=1e-11)
    few = RowSolver("cg", 3).improve(A, some, LAMBDA)
    assert 1e-6 < np.linalg.norm(few - exact) < 0.5 * np.linalg.norm(A - exact)


def objective(A, some):
    total = -LAMBDA / 2 * np.sum(A**2)
    for v in some:
        psi = A @ v.factors.T + v.row_offset[:, None] + v.column_offset
        total += log_likelihood(v.successes, v.trials, psi).sum()
    return total


@pytest.mark.parametrize("solver", [RowSolver("cg", 1), RowSolver("cg", 3), RowSolver("exact")], ids=str)
def test_every_improvement_improves(solver):
    rng = np.random.default_rng(2)
    some, A = views(rng), 3 * rng.normal(size=(9, 6))
    values = [objective(A, some)]
    for _ in range(30):
        A = solver.improve(A, some, LAMBDA)
        values.append(objective(A, some))
    assert np.all(np.diff(values) >= -1e-10 * np.abs(values[1:]))


def test_the_end_of_improving_is_the_maximum():
    rng = np.random.default_rng(3)
    some, A = views(rng), np.zeros((9, 6))
    for _ in range(400):
        A = RowSolver().improve(A, some, LAMBDA)
    gradient = -LAMBDA * A
    for v in some:
        psi = A @ v.factors.T + v.row_offset[:, None] + v.column_offset
        gradient += (v.successes - v.trials * expit(psi)) @ v.factors
    assert np.abs(gradient).max() < 1e-6


def test_a_row_without_evidence_is_its_prior():
    rng = np.random.default_rng(4)
    some, prior = views(rng), rng.normal(size=(9, 6))
    for v in some:
        v.trials[2], v.successes[2] = 0, 0
    for solver in (RowSolver("cg", 6), RowSolver("exact")):
        np.testing.assert_allclose(solver.improve(np.ones((9, 6)), some, LAMBDA, prior)[2], prior[2], rtol=1e-9)


def test_exact_rows_do_not_depend_on_chunks(monkeypatch):
    rng = np.random.default_rng(5)
    some, A = views(rng), rng.normal(size=(9, 6))
    whole = RowSolver("exact").improve(A, some, LAMBDA)
    monkeypatch.setattr(weighted_ridge, "CHUNK", 60)
    monkeypatch.setattr(weighted_ridge, "GRAM_CHUNK", 40)
    np.testing.assert_allclose(RowSolver("exact").improve(A, some, LAMBDA), whole, rtol=1e-12)
    assert len(list(row_chunks(9, 42))) > 3


@pytest.mark.parametrize(("n", "width"), [(0, 5), (1, 1), (7, 10**7), (10**6, 100)])
def test_chunks_cover_the_rows_once(n, width):
    parts = list(row_chunks(n, width))
    assert sum(part.stop - part.start for part in parts) == n
    assert all(a.stop == b.start for a, b in pairwise(parts))


def test_single_precision_is_close():
    double, single = (views(np.random.default_rng(6), dtype=dtype) for dtype in (np.float64, np.float32))
    A = np.random.default_rng(7).normal(size=(9, 6))
    found = RowSolver().improve(A.astype(np.float32), single, LAMBDA)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, RowSolver().improve(A, double, LAMBDA), atol=2e-4)
