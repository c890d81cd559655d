"""Co-occurrence counts from elsewhere, brought to the scale of one's own training items."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelwise.numerics.arrays import FloatArray, IntArray

LOW_CORRELATION = 0.3  # of counts from outside with the own ones: below, they hardly speak of the same labels
SMOOTHING = 1.0  # items, with the new label's overall share, added to those of each known label


def rescale_counts(
    counts: FloatArray,
    totals: FloatArray,
    own_totals: FloatArray,
    shares: FloatArray | None = None,
    smoothing: float = SMOOTHING,
) -> FloatArray:
    """(s, u) counts as they would be among the own items: own m_ll · (m_lu + a π_u) / (m_ll + a).

    Parameters
    ----------
    counts : (s, u)
        Of known labels with new ones, elsewhere; NaN where unknown, which they stay.
    totals, own_totals : (s,)
        Items with each known label, elsewhere and here.
    shares : (u,), optional
        Of all items elsewhere that carry the new label, NaN where unknown; without them nothing is smoothed.
    smoothing : float
        The a above.

    A known label that has no items elsewhere says nothing: its counts are unknown where nothing is smoothed, and own
    m_ll · π_u where the share is known.

    Examples
    --------
    >>> rescale_counts(np.array([[30.0]]), totals=np.array([300.0]), own_totals=np.array([20.0]))
    array([[2.]])
    """
    share = np.full(counts.shape[1], np.nan) if shares is None else shares
    a = np.where(np.isnan(share), 0.0, smoothing)  # (u,)
    bottom = totals[:, None] + a
    top = own_totals[:, None] * (counts + a * np.nan_to_num(share))
    return np.divide(top, bottom, out=np.full(counts.shape, np.nan), where=bottom > 0)


def row_factors(counts: FloatArray, own: FloatArray) -> FloatArray:
    """(s,) one factor per known label, from regressing its own counts on those elsewhere over the other known labels.

    For counts without a diagonal. A label that meets none of the others elsewhere gets the factor of all together.
    """
    used = ~np.isnan(counts) & ~np.eye(counts.shape[0], dtype=bool)
    m, g = np.where(used, counts, 0.0), np.where(used, own, 0.0)
    top, bottom = (m * g).sum(axis=1), (m * m).sum(axis=1)
    overall = top.sum() / bottom.sum() if bottom.any() else 1.0
    return np.divide(top, bottom, out=np.full(top.shape, overall), where=bottom > 0)


def count_correlation(counts: FloatArray, own: FloatArray) -> float:
    """Correlation of two symmetric sets of counts off the diagonal, where both are known; NaN where it says nothing.

    >>> own = np.array([[5.0, 2.0, 0.0], [2.0, 9.0, 1.0], [0.0, 1.0, 3.0]])
    >>> round(count_correlation(10 * own, own), 6)
    1.0
    """
    i, j = np.triu_indices(counts.shape[0], k=1)
    a, b = counts[i, j], own[i, j]
    known = ~(np.isnan(a) | np.isnan(b))
    if known.sum() < 3 or np.ptp(a[known]) == 0 or np.ptp(b[known]) == 0:
        return float("nan")
    return float(np.corrcoef(a[known], b[known])[0, 1])


def warn_of_unlike_counts(correlation: float, own: FloatArray | None = None, *, stacklevel: int) -> None:
    """Warn of given counts that hardly agree with the own ones; not where those, by chance alone, would look alike.

    `own` (s, s) are the own counts where few answers make them: if less than half of their variance is more than that
    of chance, which is their mean, they say nothing about other counts.
    """
    if not correlation < LOW_CORRELATION:
        return
    if own is not None:
        counted = own[np.triu_indices(own.shape[0], k=1)]
        counted = counted[~np.isnan(counted)]
        if counted.var() < 2 * counted.mean():
            return
    warnings.warn(
        f"the counts in cooccurrence hardly agree with the training labels (correlation {correlation:.2f} "
        "over pairs of seen labels): are they in the order of the labels, and of the same labels?",
        stacklevel=stacklevel + 1,
    )


def check_counts(counts: Any, n_labels: int, seen: IntArray | None = None) -> FloatArray:
    """Counts as a symmetric (q, q) array of float, NaN where unknown; ValueError says what is wrong with others.

    A label all of whose counts are 0 was never counted, as one that no text names: nothing is known of it. A total of 0
    beside counts above 0 is no total. With `seen`, the labels with answers, (seen, q) counts of these are taken, too:
    they are their rows, symmetric or not, and all other rows are unknown.

    >>> check_counts([[4, 1, 0], [1, 2, 0], [0, 0, 0]], 3)
    array([[ 4.,  1., nan], [ 1.,  2., nan], [nan, nan, nan]])
    """
    checked = np.array(counts, dtype=np.float64)
    whole, rows = (n_labels, n_labels), None if seen is None else (len(seen), n_labels)
    if checked.shape not in (whole, rows):
        more = "" if rows is None else f", or (labels with answers, labels) = {rows}"
        raise ValueError(f"cooccurrence has shape {checked.shape}, expected (labels, labels) = {whole}{more}")
    if np.isinf(checked).any() or (checked < 0).any():
        wrong = checked[np.isinf(checked) | (checked < 0)][0]
        raise ValueError(f"cooccurrence must hold counts, 0 or more, and NaN where unknown; got {wrong!r}")
    if checked.shape == whole:
        _check_symmetric(checked)
    else:
        given, checked = checked, np.full(whole, np.nan)
        checked[seen] = given
    positive = checked > 0
    never = ~(positive.any(axis=1) | positive.any(axis=0))
    checked[never], checked[:, never] = np.nan, np.nan
    checked[np.diag_indices_from(checked)] = np.where(checked.diagonal() == 0, np.nan, checked.diagonal())
    return checked


def _check_symmetric(counts: FloatArray) -> None:
    if not np.allclose(counts, counts.T, equal_nan=True):
        i, j = (int(k[0]) for k in np.nonzero(~np.isclose(counts, counts.T, equal_nan=True)))
        raise ValueError(f"cooccurrence is not symmetric: {counts[i, j]} at ({i}, {j}), {counts[j, i]} at ({j}, {i})")


@dataclass(frozen=True, eq=False)
class OwnCounts:
    """Counts of unseen labels on the scale of the training items."""

    with_seen: FloatArray  # (s, u), NaN where unknown
    among_unseen: FloatArray  # (u, u), NaN where unknown
    shares: FloatArray | None  # (s, s) of the items with l (row) that have j elsewhere; None: counted on these items
    correlation: float  # of given and own counts over pairs of seen labels

    @classmethod
    def of(cls, given: FloatArray | None, seen: IntArray, unseen: IntArray, gram: FloatArray) -> OwnCounts:
        """From counts of any source (q, q); `gram` (s, s) has the own ones of the seen labels.

        Counts that agree with the own ones are taken for counted on the same items. Others are rescaled by the items
        with each seen label; those of a label whose items are unknown by a factor of its own.
        """
        if given is None or not unseen.size:
            return cls(np.zeros((seen.size, unseen.size)), np.full((unseen.size,) * 2, np.nan), None, float("nan"))
        block, counts = given[np.ix_(seen, seen)], given[np.ix_(seen, unseen)]
        among, correlation = given[np.ix_(unseen, unseen)], count_correlation(block, gram)
        known = ~np.isnan(block)
        if known.any() and np.allclose(block[known], gram[known]):
            return cls(counts, among, None, correlation)
        totals, own, factors = block.diagonal(), gram.diagonal(), row_factors(block, gram)
        counted = totals > 0  # an unknown total is not
        totals = np.where(counted, totals, np.divide(own, factors, out=np.zeros(own.shape), where=factors > 0))
        shares = np.minimum(rescale_counts(block, totals, np.ones(seen.size)), 1.0)
        off = shares[~np.eye(seen.size, dtype=bool)]
        factor = own[counted].sum() / totals[counted].sum() if counted.any() else np.median(factors)
        return cls(
            rescale_counts(counts, totals, own), among * factor, None if np.isnan(off).all() else shares, correlation
        )
