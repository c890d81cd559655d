"""The rules that look at all items of a label at once, for streams: a first pass counts, a second one decides."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from labelwise.decisions.base import BIN_REACH, BINS, block_rows, check_measure, checked, empty_value, without_flat
from labelwise.numerics.arrays import BoolArray, FloatArray, IntegerArray
from labelwise.numerics.counter_random import uniforms
from labelwise.numerics.expected_f1 import (
    add_counts,
    add_hits,
    add_to_bins,
    best_prefixes,
    bin_groups,
    cut_scores,
    expected_scores,
    highest,
    is_flat,
    logit_codes,
    take_in_order,
    threshold_codes,
)
from labelwise.posterior import LabelPosterior

NO_CODES = np.empty((0, 0), dtype=np.uint16)
CUTS, CUT_REACH = 256, 12.0  # candidate thresholds of the sampled rule, equal steps of the logit
SAMPLE_ENTRIES = 2**22  # draws of so many (sample, item, label) entries are held at a time
SHARED_BLOCK = 2**64 - 1  # in place of a block's number: draws that all blocks share
LOGIT_BINS = partial(logit_codes, n_bins=BINS, reach=BIN_REACH)
LABEL_DRAWS = 9  # kind of the numbers that turn drawn probabilities into drawn labels


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
        add_to_bins(LOGIT_BINS(p), p, self._sums, self._counts)
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


class SampleTally:
    """How many positives of each posterior sample lie between each label's thresholds: sampled expected F1 in one pass.

    The sets are those of `ExpectedF1(method="samples")` on all items at once, of which it is the one implementation.
    Samples are not kept: they are made again for every batch from their counters. So where a model draws its weights,
    as `OnlineBayes` does, sample t has the same weights for all items of the stream, and batches of any size give the
    same sets. Other models draw anew for every batch. Memory is a kilobyte per label and sample.

    Parameters
    ----------
    n_labels : int
    n_samples : int
    thresholds : int, optional
        So many equal thresholds 0, 1/n, 2/n, ... of the probability. By default 256 in equal steps of the log-odds,
        which tell rare labels apart.
    random_state : int
        Seed of the draws.

    Examples
    --------
    >>> import labelwise as lw
    >>> data = lw.data.make_drifting_stream(300, random_state=0)
    >>> beliefs = lw.OnlineBayes().fit(data.X, data.Y).posterior(data.X)
    >>> tally = SampleTally(data.n_labels, n_samples=5)
    >>> for start in (0, 100, 200):
    ...     tally.add(beliefs.rows(slice(start, start + 100)))
    >>> sets = tally.expected_f1().decide(beliefs)
    >>> bool((sets == lw.ExpectedF1(method="samples", n_samples=5).decide(beliefs)).all())
    True

    References
    ----------
    Zhang, Graepel & Herbrich, AISTATS 2010, section 4.3.
    """

    def __init__(
        self, n_labels: int, n_samples: int = 5, *, thresholds: int | None = None, random_state: int = 0
    ) -> None:
        if n_samples < 1 or random_state < 0:
            raise ValueError(
                f"n_samples must be positive and random_state not negative, got {n_samples!r} and {random_state!r}"
            )
        if thresholds is not None and not 2 <= thresholds <= 2**16:
            raise ValueError(f"thresholds must be None or between 2 and 65536, got {thresholds!r}")
        self.n_items, self._blocks, self._seed = 0, 0, random_state
        self._code = _coder(thresholds)
        groups = CUTS if thresholds is None else thresholds
        self._hits = np.zeros((n_samples, n_labels, groups), dtype=np.int32)
        self._counts = np.zeros((n_labels, groups))
        self._lowest, self._highest = np.ones(n_labels), np.zeros(n_labels)

    def add(self, posterior: LabelPosterior) -> None:
        """Count a batch of items."""
        s, q, _ = self._hits.shape
        if posterior.n_labels != q:
            raise ValueError(f"the batch has {posterior.n_labels} labels, the tally was begun with {q}")
        for _, block in posterior.blocks(block_rows(s * q, SAMPLE_ENTRIES)):
            self.add_block(block)

    def add_block(self, block: LabelPosterior) -> IntegerArray:
        """Count items whose draws fit into memory; (n, q) between which thresholds their probabilities lie."""
        believed = checked(block.probabilities())
        codes = self._code(believed)
        source = block_generator(self._seed, SHARED_BLOCK if block.joint_draws else self._blocks)
        drawn = np.empty((len(self._hits), *believed.shape), dtype=bool)  # (s, n, q)
        for t, p in enumerate(block.sample_probabilities(len(drawn), source)):
            draws = uniforms(self.n_items, *believed.shape, seed=self._seed, sample=t, kind=LABEL_DRAWS)
            np.less(draws, p, out=drawn[t])
        add_hits(codes, drawn, self._hits)
        add_counts(codes, np.ones(codes.shape, dtype=bool), self._counts)
        self._lowest = np.minimum(self._lowest, believed.min(0, initial=1.0))
        self._highest = np.maximum(self._highest, believed.max(0, initial=0.0))
        self.n_items += len(believed)
        self._blocks += 1
        return codes

    def curves(self, beta: float = 1.0) -> FloatArray:
        """(q, thresholds) expected F where each label goes to all items above a threshold, the highest first."""
        check_measure("macro", beta)
        return cut_scores(self._hits, self._counts, beta, 0.0)[:, 1:]

    def expected_f1(
        self,
        beta: float = 1.0,
        known_labels: npt.ArrayLike | None = None,
        *,
        empty_score: float | None = None,
        cautious: bool = True,
    ) -> StreamedCuts:
        """The sets of highest expected macro-F_β over the samples; options as of `ExpectedF1`."""
        check_measure("macro", beta, empty_score)
        hits = self._hits if known_labels is None else self._hits * np.asarray(known_labels, dtype=bool)[:, None]
        scores = cut_scores(hits, self._counts, beta, empty_value("macro", empty_score))
        taken, expected = highest(scores)
        if cautious and known_labels is None:
            flat = is_flat(self._lowest, self._highest)
            taken, expected = np.where(flat, 0, taken), np.where(flat, scores[:, 0], expected)
        return StreamedCuts(taken, np.zeros(len(taken), dtype=np.int64), expected, self._code)


def _coder(thresholds: int | None) -> Callable[[FloatArray], IntegerArray]:
    if thresholds is None:
        return partial(logit_codes, n_bins=CUTS, reach=CUT_REACH)
    return partial(threshold_codes, n=thresholds)


def block_generator(seed: int, number: int) -> np.random.Generator:
    """The generator of a block of items: the same in every pass, so that no draw need be kept."""
    return np.random.Generator(np.random.Philox(key=np.array([seed, number], dtype=np.uint64)))


class StreamedCuts:
    """Cuts chosen by a `LabelTally` or a `SampleTally`; shows each label's items down to its cut.

    Batches come in the same order as they were counted.

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

    def __init__(
        self,
        cut: IntegerArray,
        inside: IntegerArray,
        expected: FloatArray,
        code: Callable[[FloatArray], IntegerArray] = LOGIT_BINS,
    ) -> None:
        self.expected, self.code = expected, code
        self._cut, self._left = cut, inside.copy()  # bins taken whole; items yet to be taken of the bin at the cut

    def decide(self, posterior: LabelPosterior) -> BoolArray:
        """The label sets of the next batch of the stream."""
        return self.decide_coded(self.code(checked(posterior.probabilities())))

    def decide_coded(self, codes: IntegerArray) -> BoolArray:
        """The same for (n, q) bins of the probabilities."""
        return take_in_order(codes, self._cut, self._left)
