"""A feature space of fixed size for features without end: signed hashing of column numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def hash_columns(X: Any, n_buckets: int) -> Any:
    """The rows of a CSR array over `n_buckets` columns; what falls into one bucket is added with a sign of its own.

    The sign keeps inner products unbiased (Weinberger et al., ICML 2009). The mix of bits is the finaliser of
    SplitMix64 (Steele, Lea & Flood, OOPSLA 2014), so that the same column always goes to the same bucket.

    >>> hash_columns(sp.csr_array([[0.0, 2.0, 0.0, 1.0]]), 3).toarray()
    array([[ 1.,  0., -2.]])
    """
    word = X.indices.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        word = (word ^ (word >> np.uint64(shift))) * np.uint64(factor)
    word ^= word >> np.uint64(31)
    sign = np.where(word >> np.uint64(63), -1, 1).astype(X.dtype)
    bucket = (word % np.uint64(n_buckets)).astype(np.int64)
    hashed = sp.csr_array((X.data * sign, bucket, X.indptr.copy()), shape=(X.shape[0], n_buckets))
    hashed.sum_duplicates()
    return hashed
