"""Kernels against their formulas row by row, dense and sparse."""

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.numerics.gp import kernels
from labelwise.numerics.gp.kernels import (
    Kernel,
    inner_products,
    median_distance,
    sparse_times_dense,
    squared_distances,
    squared_norms,
)

rng = np.random.default_rng(0)
A = np.where(rng.random((7, 5)) < 0.5, rng.normal(size=(7, 5)), 0.0)
A[3] = 0.0
B = np.where(rng.random((4, 5)) < 0.5, rng.normal(size=(4, 5)), 0.0)
KERNELS = [
    Kernel(linear=0.7, bias=0.3),
    Kernel(rbf=1.3, length_scale=0.8),
    Kernel(rbf=0.6, linear=0.4, bias=1.0, length_scale=2.0),
]


def formula(kernel, x, z):
    return (
        kernel.rbf * np.exp(-((x - z) ** 2).sum() / (2 * kernel.length_scale**2)) + kernel.linear * x @ z + kernel.bias
    )


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csr_matrix])
def test_kernel_against_its_formula(kernel, kind):
    np.testing.assert_allclose(kernel(kind(A), kind(B)), [[formula(kernel, x, z) for z in B] for x in A], atol=1e-14)
    among = kernel(kind(A))
    np.testing.assert_allclose(among, [[formula(kernel, x, z) for z in A] for x in A], atol=1e-14)
    np.testing.assert_allclose(kernel.diagonal(kind(A)), among.diagonal())
    assert isinstance(among, np.ndarray)


@pytest.mark.parametrize("bias", [0.0, 0.3])
def test_features_span_the_kernel(bias):
    kernel = Kernel(linear=0.7, bias=bias)
    phi = kernel.features(A)
    np.testing.assert_allclose(phi @ phi.T, kernel(A))
    sparse = kernel.features(sp.csr_array(A))
    assert sp.issparse(sparse)
    np.testing.assert_allclose(sparse.toarray(), phi)


def test_an_rbf_kernel_has_no_finite_features():
    with pytest.raises(ValueError, match=r"no finite feature space, got rbf=0\.5"):
        Kernel(rbf=0.5).features(A)


def test_kernels_do_not_change_their_input():
    before = A.copy()
    for kernel in KERNELS:
        kernel(A, A)
    np.testing.assert_array_equal(A, before)


def test_distances_and_norms():
    direct = ((A[:, None] - A[None]) ** 2).sum(2)
    distances = squared_distances(A)
    np.testing.assert_allclose(distances, direct, atol=1e-14)
    assert not distances.diagonal().any()
    np.testing.assert_allclose(squared_norms(sp.csr_array(A)), (A**2).sum(1))
    upper = direct[np.triu_indices(7, 1)]
    assert median_distance(A) == pytest.approx(np.sqrt(np.median(upper)))
    assert median_distance(np.ones((3, 2))) == 1.0  # all alike: nothing to measure
    assert median_distance(A[:1]) == 1.0


@pytest.mark.parametrize(("density", "entries"), [(0.0, 2**23), (1.0, 2**23), (0.0, 0)])
def test_sparse_rows_made_dense_or_not_give_the_same_products(monkeypatch, density, entries):
    monkeypatch.setattr(kernels, "DENSITY", density)
    monkeypatch.setattr(kernels, "DENSE_ENTRIES", entries)
    for product in (inner_products(sp.csr_array(A), sp.csr_array(B)), inner_products(sp.csr_array(A), B)):
        assert isinstance(product, np.ndarray)
        np.testing.assert_allclose(product, A @ B.T, atol=1e-15)
    np.testing.assert_allclose(inner_products(sp.csr_array(A)), A @ A.T, atol=1e-15)


def test_norms_of_entries_stated_in_parts():
    halves = sp.csr_array((np.array([1.5, 1.5, 4.0]), np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 2))
    np.testing.assert_allclose(squared_norms(halves), [25.0])
    np.testing.assert_allclose(squared_norms(sp.csc_array(A)), (A**2).sum(axis=1))


@pytest.mark.parametrize("shift", [1e3, 1e7])
@pytest.mark.parametrize("other", [None, B])
def test_distances_do_not_depend_on_where_the_origin_is(shift, other):
    exact = np.array([[((x - z) ** 2).sum() for z in (A if other is None else other)] for x in A])
    moved = squared_distances(A + shift, None if other is None else other + shift)
    np.testing.assert_allclose(moved, exact, atol=1e-12 * shift)
    assert np.linalg.eigvalsh(Kernel(rbf=1.0, length_scale=2.0)(A + shift)).min() > -1e-9


@pytest.mark.parametrize("density", [0.0, 0.05, 0.5, 1.0])
@pytest.mark.parametrize("columns", [0, 1, 7])
def test_every_number_of_entries_in_a_row(density, columns):
    A = sp.random_array((40, 23), density=density, format="csr", random_state=rng)
    B = rng.standard_normal((23, columns))
    np.testing.assert_allclose(sparse_times_dense(A, B), A @ B, atol=1e-13)


def test_transposed_matrices_wide_indices_and_unsorted_entries():
    A = sp.random_array((30, 12), density=0.4, format="csr", random_state=rng)
    B = np.asfortranarray(rng.standard_normal((12, 5)))
    wide = sp.csr_array((A.data, A.indices.astype(np.int64), A.indptr.astype(np.int64)), shape=A.shape)
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in zip(A.indptr[:-1], A.indptr[1:], strict=True)])
    turned = sp.csr_array((A.data[order], A.indices[order], A.indptr), shape=A.shape)
    for same in (A, wide, turned):
        np.testing.assert_allclose(sparse_times_dense(same, B), A @ B, atol=1e-13)


def test_other_precisions_keep_theirs():
    A = sp.random_array((6, 4), density=0.5, format="csr", random_state=rng, dtype=np.float32)
    assert sparse_times_dense(A, np.ones((4, 2), dtype=np.float32)).dtype == np.float32


@pytest.mark.parametrize("same", [True, False])
def test_frequent_columns_are_multiplied_apart(monkeypatch, same):
    monkeypatch.setattr("labelwise.numerics.gp.kernels.DENSE_ENTRIES", 0)
    rng = np.random.default_rng(0)
    left, right = (
        np.hstack([rng.random((n, 90)) * (rng.random((n, 90)) < 0.05), rng.random((n, 9))]) for n in (40, 30)
    )
    found = inner_products(sp.csr_array(left), None if same else sp.csr_array(right))
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, left @ (left if same else right).T, rtol=1e-12)
