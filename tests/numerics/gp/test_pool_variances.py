"""Variances grown row by row against fresh factors; the lazy maximum against the plain one."""

import numpy as np
import pytest

from labelwise.numerics.gp.kernels import Kernel
from labelwise.numerics.gp.pool_variances import PoolVariances, lazy_argmax


def pool_of(n=350, d=6, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, d))
    return X, Kernel(rbf=1.0, linear=0.3, bias=0.1, length_scale=2.0)


def grown(kernel, X, known, noise, steps):
    pool = PoolVariances.start(kernel.diagonal(X), noise)
    done = 0
    for step in steps:
        old, new = known[:done], known[done : done + step]
        pool = pool.append(kernel(X[old], X[new]), kernel(X[new]), kernel(X[new], X))
        done += step
    return pool


def fresh(kernel, X, known, noise):
    C = kernel(X[known]) + noise * np.eye(len(known))
    cross = kernel(X[known], X)
    return kernel.diagonal(X) - np.einsum("ij,ij->j", cross, np.linalg.solve(C, cross))


def test_two_hundred_appends_equal_a_fresh_factor():
    X, kernel = pool_of()
    known = np.random.default_rng(1).permutation(len(X))[:200]
    pool = grown(kernel, X, known, 0.4, [1] * 200)
    np.testing.assert_allclose(pool.variances, fresh(kernel, X, known, 0.4), atol=1e-10)
    C = kernel(X[known]) + 0.4 * np.eye(200)
    np.testing.assert_allclose(pool.L @ pool.L.T, C, atol=1e-10)
    np.testing.assert_allclose(pool.L, np.linalg.cholesky(C), atol=1e-10)


@pytest.mark.parametrize("steps", [[60], [1, 2, 3, 14, 40], [30, 1, 1, 28]])
def test_blocks_of_any_size_give_the_same(steps):
    X, kernel = pool_of(120)
    known = np.arange(60)
    np.testing.assert_allclose(grown(kernel, X, known, 0.2, steps).variances, fresh(kernel, X, known, 0.2), atol=1e-10)


def test_what_was_handed_out_never_changes():
    X, kernel = pool_of(60)
    first = grown(kernel, X, np.arange(10), 0.2, [10])
    before = first.variances.copy(), first.L.copy(), first.T.copy()
    branches = []
    for new in ([20], [30]):  # two ways on from the same state must not write over each other
        row = np.array(new)
        branches.append(first.append(kernel(X[:10], X[row]), kernel(X[row]), kernel(X[row], X)))
    for now, then in zip((first.variances, first.L, first.T), before, strict=True):
        np.testing.assert_array_equal(now, then)
    for branch, new in zip(branches, (20, 30), strict=True):
        known = np.array([*range(10), new])
        np.testing.assert_allclose(branch.variances, fresh(kernel, X, known, 0.2), atol=1e-10)
        np.testing.assert_allclose(branch.L @ branch.L.T, kernel(X[known]) + 0.2 * np.eye(11), atol=1e-10)


def test_variances_never_rise():
    X, kernel = pool_of(80)
    pool = PoolVariances.start(kernel.diagonal(X), 0.1)
    for i in range(40):
        following = pool.append(kernel(X[:i], X[[i]]), kernel(X[[i]]), kernel(X[[i]], X))
        assert np.all(following.variances <= pool.variances)
        pool = following


@pytest.mark.parametrize("block", [1, 7, 500])
def test_lazy_maximum_is_the_maximum(block):
    rng = np.random.default_rng(0)
    for _ in range(30):
        values = rng.standard_normal(300)
        bounds = values + rng.exponential(0.5, 300)
        bounds[rng.random(300) < 0.2] = -np.inf  # may not be chosen
        allowed = np.isfinite(bounds)
        top, computed = lazy_argmax(bounds.copy(), lambda i, v=values: v[i], block=block)
        assert top.tolist() == [int(np.argmax(np.where(allowed, values, -np.inf)))]
        assert computed <= allowed.sum()


def test_lazy_maximum_computes_few_and_tightens_bounds():
    values = np.linspace(0, 1, 1000)
    bounds = values + 0.01
    _, computed = lazy_argmax(bounds, lambda i: values[i], block=4)
    assert computed < 30
    assert (bounds == values).sum() == computed


def test_lazy_maximum_gives_all_ties_and_nothing_where_nothing_is_open():
    values = np.array([1.0, 3.0, 3.0, 2.0])
    top, _ = lazy_argmax(values + 1, lambda i: values[i], block=1, slack=1e-9)
    assert top.tolist() == [1, 2]
    top, computed = lazy_argmax(np.full(3, -np.inf), lambda i: values[i])
    assert top.size == computed == 0
