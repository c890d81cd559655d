"""The rules that look at all items of a label at once, for streams: a first pass counts, a second one decides."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from labelwise.decisions.base import BIN_REACH, BINS, check_measure, checked, empty_value, without_flat
from labelwise.numerics.arrays import BoolArray, FloatArray, IntegerArray
from labelwise.numerics.expected_f1 import (
    add_to_bins,
    best_prefixes,
    bin_groups,
    expected_scores,
    logit_codes,
    take_in_order,
)
from labelwise.posterior import LabelPosterior

NO_CODES = np.empty((0, 0), dtype=np.uint16)


class LabelTally:
    """How many items of a stream lie in each bin of each label's probability: all that a macro rule needs to know.

    Memory is 32 kilobytes per label, whatever the length of the stream. The sets are those that `ExpectedF1` and
    `ClassMass` choose for a batch too large to be ranked: probabilities within 2 % of each other's odds are alike.

    Parameters
    ----------
    n_labels : int

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> stream = [MarginalPosterior(np.array([[0.9], [0.1]])), MarginalPosterior(np.array([[0.6], [0.2]]))]
    >>> tally = LabelTally(n_labels=1)
    >>> for batch in stream:
    ...     tally.add(batch)
    >>> rule = tally.class_mass([0.5])
    >>> [rule.decide(batch).ravel().tolist() for batch in stream]
    [[True, False], [True, False]]
    """

    def __init__(self, n_labels: int) -> None:
        self.n_items = 0
        self._sums, self._counts = np.zeros((n_labels, BINS)), np.zeros((n_labels, BINS))

    def add(self, posterior: LabelPosterior) -> None:
        """Count a batch of items."""
        p = checked(posterior.probabilities())
        if p.shape[1] != len(self._sums):
            raise ValueError(f"the batch has {p.shape[1]} labels, the tally was begun with {len(self._sums)}")
        add_to_bins(logit_codes(p, BINS, BIN_REACH), p, self._sums, self._counts)
        self.n_items += len(p)

    def expected_f1(self, beta: float = 1.0, known_labels: npt.ArrayLike | None = None) -> StreamedCuts:
        """The sets of highest expected macro-F_β, as a cautious `ExpectedF1` chooses them of a large batch."""
        check_measure("macro", beta)
        sums = self._sums
        if known_labels is not None:
            sums = np.where(np.asarray(known_labels, dtype=bool)[:, None], sums, 0.0)  # as good as absent
        groups = bin_groups(NO_CODES, sums, self._counts)
        empty = empty_value("macro", None)
        taken, expected = best_prefixes(groups.probability, groups.count, beta, empty)
        if known_labels is None:
            taken, expected = without_flat(groups, taken, expected, empty)
        return StreamedCuts(taken, np.zeros(len(taken), dtype=np.int64), expected)

    def class_mass(self, shares: npt.ArrayLike) -> StreamedCuts:
        """Each label's most probable items, as many as its share says, as `ClassMass` chooses them."""
        given = np.asarray(shares, dtype=float)
        if given.shape != (len(self._sums),) or not np.all((given >= 0) & (given <= 1)):
            raise ValueError(f"shares must be {len(self._sums)} numbers between 0 and 1, got {shares!r}")
        groups = bin_groups(NO_CODES, self._sums, self._counts)
        cut, inside = groups.cuts(np.rint(self.n_items * given).astype(np.int64))
        chosen = np.where(np.arange(BINS) < cut[:, None], groups.count, 0.0)  # (q, g)
        partial = np.flatnonzero(inside)
        chosen[partial, cut[partial]] = inside[partial]
        expected = expected_scores(groups.probability, groups.count, chosen, 1.0, 0.0)
        return StreamedCuts(cut, inside, expected)


class StreamedCuts:
    """Cuts chosen by a `LabelTally`; shows each label's items down to its cut, batch after batch, in the same order.

    Attributes
    ----------
    expected : (q,) array
        F that the beliefs expect of each label over the whole stream.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> tally, batch = LabelTally(n_labels=1), MarginalPosterior(np.array([[1.0], [0.0]]))
    >>> tally.add(batch)
    >>> cuts = tally.expected_f1()
    >>> cuts.decide(batch).tolist(), cuts.expected.round(3).tolist()
    ([[True], [False]], [1.0])
    """

    def __init__(self, cut: IntegerArray, inside: IntegerArray, expected: FloatArray) -> None:
        self.expected = expected
        self._cut, self._left = cut, inside.copy()  # bins taken whole; items yet to be taken of the bin at the cut

    def decide(self, posterior: LabelPosterior) -> BoolArray:
        """The label sets of the next batch of the stream."""
        codes = logit_codes(checked(posterior.probabilities()), BINS, BIN_REACH)
        return take_in_order(codes, self._cut, self._left)
