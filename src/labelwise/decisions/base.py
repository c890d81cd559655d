"""What the rules that know about F share: the record they return, the walk over beliefs, the checks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import numpy as np
import numpy.typing as npt

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.expected_f1 import Groups, add_to_bins, bin_groups, expected_scores, logit_codes, rank_groups
from labelwise.posterior import LabelPosterior

Average = Literal["macro", "samples"]
EXACT_ENTRIES = 2**22  # up to so many (item, label) entries are ranked; more are binned, in two bytes per entry
BINS, BIN_REACH = 2048, 24.0  # neighbours in a bin differ by 2 % of their odds; odds beyond e^±24 are alike
BLOCK_ENTRIES = 2**21  # beliefs about so many entries are held at a time


class Decision(Protocol):
    """What a campaign needs of a decision rule.

    Examples
    --------
    >>> import labelwise as lw
    >>> rule: Decision = lw.ExpectedF1()
    >>> rule.decide(lw.LabelGP().fit([[0.0], [1.0]], [[0, 1], [1, 0]]).posterior([[0.9]])).shape
    (1, 2)
    """

    def decide(self, posterior: LabelPosterior) -> BoolArray: ...


@dataclass(frozen=True, eq=False)
class ScoredSets:
    """Label sets and the F that the beliefs they were chosen from expect of them.

    The expectation is as good as the beliefs. A model that is too sure of itself promises too much, and a rule that
    searched for the highest expectation promises more than any other. It ranks rules and settings for one model; it is
    no substitute for a score on held-out labels.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> result = score_sets(MarginalPosterior(np.array([[0.5], [0.5]])), np.array([[True], [False]]))
    >>> result.expected.round(4), round(result.mean, 4)
    (array([0.4167]), 0.4167)
    """

    sets: BoolArray  # (n, q)
    expected: FloatArray  # (q,) for macro, (n,) for samples
    average: Average

    @property
    def mean(self) -> float:
        """Expected macro-F or sample-wise F of the batch; NaN where there is nothing to average."""
        return float(self.expected.mean()) if self.expected.size else float("nan")


def score_sets(
    posterior: LabelPosterior,
    sets: npt.ArrayLike,
    *,
    average: Average = "macro",
    beta: float = 1.0,
    empty_score: float | None = None,
) -> ScoredSets:
    """Any rule's label sets with the F that is expected of them, labels being independent given the items.

    Parameters
    ----------
    posterior : LabelPosterior
    sets : (n, q) array of bool
    average, beta, empty_score
        As in `ExpectedF1`.

    Examples
    --------
    >>> import labelwise as lw
    >>> data = lw.data.make_shapes(60, random_state=0)
    >>> beliefs = lw.LabelGP().fit(data.X, data.Y.toarray()).posterior(data.X)
    >>> scored = score_sets(beliefs, lw.Threshold(0.5).decide(beliefs))
    >>> type(scored).__name__
    'ScoredSets'
    """
    check_measure(average, beta, empty_score)
    empty = empty_value(average, empty_score)
    chosen = np.asarray(sets, dtype=bool)
    if chosen.shape != (posterior.n_items, posterior.n_labels):
        raise ValueError(f"sets has shape {chosen.shape}, expected {(posterior.n_items, posterior.n_labels)}")
    if average == "macro":
        return ScoredSets(chosen, score_groups(label_groups(posterior), chosen, beta, empty), average)
    expected = np.empty(posterior.n_items)
    for part, p in probability_blocks(posterior):
        expected[part] = score_groups(rank_groups(p.T), chosen[part].T, beta, empty)
    return ScoredSets(chosen, expected, average)


def score_groups(groups: Groups, sets: BoolArray, beta: float, empty: float) -> FloatArray:
    return expected_scores(groups.probability, groups.count, groups.count_of(sets), beta, empty)


def without_flat(
    groups: Groups, taken: npt.NDArray[Any], expected: FloatArray, empty: float
) -> tuple[npt.NDArray[Any], FloatArray]:
    """The groups taken of each label and the F expected of them, where flat labels are given to no item."""
    flat = groups.flat()
    nothing = expected_scores(groups.probability, groups.count, np.zeros_like(groups.count), 1.0, empty)
    return np.where(flat, 0, taken), np.where(flat, nothing, expected)


def label_groups(posterior: LabelPosterior, known: BoolArray | None = None) -> Groups:
    """Each label's items by falling probability: ranked in a small batch, binned block by block in a large one."""
    n, q = posterior.n_items, posterior.n_labels
    if n * q <= EXACT_ENTRIES:
        return rank_groups(checked(posterior.probabilities(), known))
    codes = np.empty((n, q), dtype=np.uint16)
    sums, counts = np.zeros((q, BINS)), np.zeros((q, BINS))
    for part, p in probability_blocks(posterior, known):
        codes[part] = logit_codes(p, BINS, BIN_REACH)
        add_to_bins(codes[part], p, sums, counts)
    return bin_groups(codes, sums, counts)


def probability_blocks(posterior: LabelPosterior, known: BoolArray | None = None) -> Iterator[tuple[slice, FloatArray]]:
    """Slices of the batch with their (block, q) probabilities, checked."""
    for part, block in posterior.blocks(block_rows(posterior.n_labels, BLOCK_ENTRIES)):
        yield part, checked(block.probabilities(), known)


def block_rows(entries_per_row: int, budget: int) -> int:
    """Items to take at a time so that no more than `budget` entries are held."""
    return int(np.clip(budget // max(entries_per_row, 1), 1, 4096))


def checked(p: FloatArray, known: BoolArray | None = None) -> FloatArray:
    """Probabilities that are probabilities; labels that are not `known` count as absent."""
    p = np.asarray(p, dtype=float)
    if p.size and not (p.min() >= 0 and p.max() <= 1):  # false for NaN as well
        raise ValueError(f"probabilities must lie between 0 and 1, got {float(p.min())!r} to {float(p.max())!r}")
    return p if known is None else np.where(known, p, 0.0)


def check_measure(average: str, beta: float, empty_score: float | None = None) -> None:
    if average not in get_args(Average):
        raise ValueError(f"average must be one of {get_args(Average)}, got {average!r}")
    if not 0 < beta < np.inf:
        raise ValueError(f"beta must be positive and finite, got {beta!r}; 1 weighs precision and recall alike")
    if empty_score is not None and not 0 <= empty_score <= 1:
        raise ValueError(f"empty_score must lie between 0 and 1, got {empty_score!r}")


def empty_value(average: Average, empty_score: float | None) -> float:
    """What F = 0/0 counts: unless given, 0 for a label without positives and 1 for an item without labels."""
    return float(average == "samples") if empty_score is None else float(empty_score)
