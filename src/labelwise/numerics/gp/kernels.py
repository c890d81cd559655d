"""Kernels between rows of features, dense or csr; of sparse features only a few rows are ever made dense."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from numba import njit

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.blocks import join_columns

FAR = 1e3  # times their spread: rows so far from the origin are moved to it before distances are taken
IN_CACHE = 2**15  # numbers of a block that is gone over several times
DENSITY, DENSE_ENTRIES = 1 / 50, 2**23  # rows with more non-zeros, and no more entries, multiply faster when dense
FREQUENT = 1 / 8  # columns that more of the rows have multiply faster when dense


@dataclass(frozen=True)
class Kernel:
    """κ(x, x') = `rbf` · exp(−|x − x'|² / (2 `length_scale`²)) + `linear` · x·x' + `bias`.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> Kernel(linear=1.0, bias=1.0)(X)
    array([[ 1.,  1.], [ 1., 26.]])
    >>> Kernel(rbf=1.0, length_scale=5.0)(X).round(3)
    array([[1.   , 0.607], [0.607, 1.   ]])
    """

    rbf: float = 0.0
    linear: float = 0.0
    bias: float = 0.0
    length_scale: float = 1.0

    def __call__(self, A: Any, B: Any = None) -> FloatArray:
        """(n, m) between the rows of A and of B, or (n, n) among the rows of A."""
        K = inner_products(A, B)  # (n, m)
        if not self.rbf:
            K *= self.linear
            K += self.bias
            return K
        for rows, near in _distance_blocks(K, A, B):
            near *= -0.5 / self.length_scale**2
            np.exp(near, out=near)
            near *= self.rbf
            near += self.bias
            if self.linear:
                K[rows] *= self.linear
                K[rows] += near
            else:
                K[rows] = near
        return K

    def of_products(self, inner: FloatArray, distances: FloatArray) -> FloatArray:
        """(n, m) from inner products and squared distances that are at hand."""
        K = self.linear * inner + self.bias
        if self.rbf:
            K += self.rbf * np.exp(distances / (-2 * self.length_scale**2))
        return K

    def diagonal(self, A: Any) -> FloatArray:
        """(n,) of κ(x, x)."""
        norms = squared_norms(A) if self.linear else np.zeros(A.shape[0])
        return self.rbf + self.linear * norms + self.bias

    def features(self, A: Any) -> Any:
        """Φ (n, d + 1) with Φ Φᵀ equal to the kernel, dense or csr as A is; only without the rbf part."""
        if self.rbf:
            raise ValueError(f"a kernel with an rbf part has no finite feature space, got rbf={self.rbf!r}")
        scaled = A * np.sqrt(self.linear)
        if not self.bias:
            return scaled
        return join_columns([scaled, np.full((A.shape[0], 1), np.sqrt(self.bias))])


def inner_products(A: Any, B: Any = None) -> FloatArray:
    """(n, m) of x·x', for dense or csr rows alike, as a new dense array."""
    right = A if B is None else B
    if sp.issparse(A) and sp.issparse(right):
        entries = right.shape[0] * right.shape[1]
        if entries <= DENSE_ENTRIES and right.nnz > DENSITY * entries:
            return sparse_times_dense(A, right.T.toarray(order="C"))
        counts = np.bincount(sp.csr_array(right).indices, minlength=right.shape[1])  # (d,)
        frequent = counts > FREQUENT * right.shape[0]
        if frequent.any():  # vectors beside words, and frequent words
            rare = A[:, ~frequent] @ right[:, ~frequent].T
            return inner_products(A[:, frequent].toarray(), right[:, frequent].toarray()) + rare
    product = A @ right.T
    return product.toarray() if sp.issparse(product) else np.asarray(product)


def squared_norms(A: Any) -> FloatArray:
    """(n,) of x·x."""
    if sp.issparse(A):
        if A.format == "csr" and A.has_canonical_format:  # no entry is stated in parts: scipy's products cost ten times
            return sp.csr_array((A.data**2, A.indices, A.indptr), shape=A.shape) @ np.ones(A.shape[1])
        return np.asarray(A.multiply(A).sum(axis=1), dtype=float).ravel()
    return np.einsum("nd,nd->n", A, A)


def squared_distances(A: Any, B: Any = None) -> FloatArray:
    """(n, m) of |x − x'|²; exactly zero on the diagonal when B is left out."""
    distances = inner_products(A, B)
    for rows, block in _distance_blocks(distances, A, B):
        distances[rows] = block
    return distances


def _distance_blocks(inner: FloatArray, A: Any, B: Any) -> Iterator[tuple[slice, FloatArray]]:
    """Squared distances in blocks of rows that stay in cache, in memory used again; the blocks may be changed.

    Rows far from the origin are moved there first: |x|² + |x'|² − 2 x·x' would lose what they differ by.
    """
    left = squared_norms(A)
    right = left if B is None else squared_norms(B)
    if not (sp.issparse(A) or sp.issparse(B)) and inner.size:
        rows, norms = (A, left) if B is None or len(A) >= len(B) else (B, right)
        centre = rows.mean(axis=0)
        if centre @ centre > FAR**2 * max(norms.mean() - centre @ centre, 0.0):
            A, B = A - centre, None if B is None else B - centre
            inner, left = inner_products(A, B), squared_norms(A)
            right = left if B is None else squared_norms(B)
    n, m = inner.shape
    size = min(n, max(1, IN_CACHE // max(m, 1)))
    memory = np.empty((size, m))
    for start in range(0, n, max(size, 1)):
        part = slice(start, min(start + size, n))
        block = memory[: part.stop - start]
        np.multiply(inner[part], -2, out=block)
        block += left[part, None]
        block += right
        np.maximum(block, 0, out=block)  # rounding may leave −1e-16
        if B is None:
            block[np.arange(len(block)), np.arange(part.start, part.stop)] = 0
        yield part, block


def median_distance(A: Any) -> float:
    """The median distance between different rows; 1 where it would be zero or there is one row only."""
    distances = squared_distances(A)
    median = float(np.sqrt(np.median(distances[np.triu_indices(A.shape[0], 1)]))) if A.shape[0] > 1 else 0.0
    return median if median > 0 else 1.0


def sparse_times_dense(A: sp.csr_array, B: npt.NDArray[Any]) -> FloatArray:
    """A @ B for csr rows A (n, d) and B (d, m), in double precision; other precisions go the ordinary way.

    >>> sparse_times_dense(sp.csr_array(np.eye(2)), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[1., 2.],
           [3., 4.]])
    """
    if A.format != "csr" or A.dtype != np.float64 or B.dtype != np.float64 or B.ndim != 2:
        return np.asarray(A @ B)
    product = np.empty((A.shape[0], B.shape[1]))
    _multiply(A.data, A.indices, A.indptr, np.ascontiguousarray(B), product)
    return product


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _multiply(data: Any, indices: Any, indptr: Any, B: Any, product: Any) -> None:
    """Four entries of a row at a time: a row of the product is read and written a quarter as often."""
    m = B.shape[1]
    for i in range(product.shape[0]):
        row = product[i]
        row[:] = 0.0
        at, stop = indptr[i], indptr[i + 1]
        while at + 3 < stop:
            a, b, c, d = data[at], data[at + 1], data[at + 2], data[at + 3]
            B_a, B_b, B_c, B_d = B[indices[at]], B[indices[at + 1]], B[indices[at + 2]], B[indices[at + 3]]
            for j in range(m):
                row[j] += a * B_a[j] + b * B_b[j] + c * B_c[j] + d * B_d[j]
            at += 4
        while at < stop:
            a, B_a = data[at], B[indices[at]]
            for j in range(m):
                row[j] += a * B_a[j]
            at += 1
