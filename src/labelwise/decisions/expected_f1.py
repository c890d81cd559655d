"""Choose the label sets whose expected F1 is highest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from labelwise.decisions.base import (
    Average,
    ScoredSets,
    block_rows,
    check_measure,
    checked,
    empty_value,
    label_groups,
    probability_blocks,
    without_flat,
)
from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.expected_f1 import (
    add_hits,
    add_to_bins,
    believable_sizes,
    best_cuts,
    best_prefixes,
    best_sampled_prefixes,
    bin_groups,
    expected_scores,
    logit_codes,
    rank_groups,
    sampled_scores,
)
from labelwise.posterior import LabelPosterior

SAMPLE_ENTRIES = 2**22  # draws of so many (sample, item, label) entries are held at a time
SHARED_BLOCK = 2**64 - 1  # in place of a block's number: draws that all blocks share
MIN_ITEMS = 10  # a smaller batch is no batch
CUTS, CUT_REACH = 256, 12.0  # candidate thresholds of the sampled macro rule, equal steps of the logit


@dataclass(frozen=True, eq=False)
class ExpectedF1:
    """Choose the sets that maximise expected F_β: per label over the batch (macro), or per item over its labels.

    Parameters
    ----------
    average : "macro" or "samples"
        Macro-F1 is a property of a batch: how many items get a label depends on how many others are more likely to have
        it. So decide on all items at once, never one by one; see `cautious`. The sample-wise rule looks at one item at
        a time.
    beta : float
        Above 1 recall weighs more, below 1 precision.
    method : "independent" or "samples"
        "independent" takes the labels of different items, and of one item, as independent given the probabilities, and
        is then exact. "samples" averages F over draws from the posterior and keeps the dependence they have. Labels of
        one item depend on each other through `sample_labels` (sample-wise F), items through `sample_probabilities`
        (macro-F). That is over the whole batch where the model's draws are joint, as those of `OnlineBayes` are, else
        within a block of items. The candidates are the same: the most probable items, or labels, down to some
        threshold. A model without an opinion on dependence gains nothing from it.
    empty_score : float, optional
        What counts when nothing is predicted and nothing is there, 0/0. By default 0 for macro, so that every label
        with some chance is predicted somewhere, and 1 for samples, so that an item can be left without labels: as
        `labelwise.studies` measures them. Above 0 a macro rule leaves hopeless labels empty.
    known_labels : (q,) array of bool, optional
        Labels that may be predicted; the others count as absent. A label that nobody ever answered with yes has
        the same small probability everywhere, and the macro rule would give it to every item. `Campaign.predict` knows
        which these are.
    cautious : bool
        Whether F1 is left alone where it is no guide. Macro: a label without positives scores 0 whatever is predicted,
        so false positives are free where none is expected: one item would get every label that is not impossible.
        Batches of fewer than 10 items are therefore decided item by item, by the sample-wise rule. And unless
        `known_labels` are given, a label that is equally probable, below one half, for all items of the batch is given
        to none. Nothing was learnt about it but how rare it is. Sample-wise: where a model knows next to nothing, so
        that hundreds of labels are equally probable, all of them together have the highest expected F1, a very low one.
        An item therefore gets no more labels than it can be believed to have: their expected number and two standard
        deviations. Of labels that are equally probable it gets all or none. False maximises expected F1 come what may.
    n_samples : int
        Draws for method "samples".
    random_state : int
        Seed of the draws. Each block of items has a generator of its own, made from seed and block number. Joint draws
        come from one that is made anew for every block, so they need not be kept.

    Notes
    -----
    Batches of more than 4 million (item, label) entries are read block by block into 2048 bins of the log-odds per
    label, two bytes per entry. Expected F1 then differs from the exact optimum by less than 1e-4. The sampled macro
    rule works on 256 candidate thresholds and keeps counts alone, again one pass: a byte per entry, and a kilobyte per
    label and sample.

    Examples
    --------
    >>> from labelwise.posterior import MarginalPosterior
    >>> beliefs = MarginalPosterior(np.array([[0.9, 0.04], [0.6, 0.3], [0.2, 0.02]]))
    >>> ExpectedF1(cautious=False).decide(beliefs)  # three items are few
    array([[ True, False],
           [ True,  True],
           [False, False]])
    >>> ExpectedF1("samples").decide_scored(beliefs).expected.round(2)
    array([0.89, 0.54, 0.78])

    References
    ----------
    Zhang, Graepel & Herbrich, "Bayesian online learning for multi-label and multi-variate performance measures",
    AISTATS 2010, section 4. Jansche, "A maximum expected utility framework for binary sequence labeling", ACL 2007.
    """

    average: Average = "macro"
    beta: float = 1.0
    method: Literal["independent", "samples"] = "independent"
    empty_score: float | None = None
    known_labels: npt.ArrayLike | None = None
    n_samples: int = 100
    random_state: int = 0
    cautious: bool = True

    def decide(self, posterior: LabelPosterior) -> BoolArray:
        return self.decide_scored(posterior).sets

    def decide_scored(self, posterior: LabelPosterior) -> ScoredSets:
        """The sets, and the F1 expected of each label (macro) or item (samples, and cautious macro of a few items)."""
        check_measure(self.average, self.beta, self.empty_score)
        if self.method not in ("independent", "samples"):
            raise ValueError(f'method must be "independent" or "samples", got {self.method!r}')
        if self.average == "macro" and self.cautious and 0 < posterior.n_items < MIN_ITEMS:
            return replace(self, average="samples").decide_scored(posterior)
        known = self._known(posterior.n_labels)
        if self.method == "independent":
            choose = self._macro if self.average == "macro" else self._per_item
        else:
            if self.n_samples < 1 or self.random_state < 0:
                raise ValueError(
                    f"n_samples must be positive and random_state not negative, got {self.n_samples!r} and "
                    f"{self.random_state!r}"
                )
            choose = self._sampled_macro if self.average == "macro" else self._sampled_per_item
        return ScoredSets(*choose(posterior, known, empty_value(self.average, self.empty_score)), self.average)

    def _known(self, n_labels: int) -> BoolArray | None:
        if self.known_labels is None:
            return None
        known = np.asarray(self.known_labels, dtype=bool)
        if known.shape != (n_labels,):
            raise ValueError(f"known_labels has shape {known.shape}, expected ({n_labels},)")
        return known

    def _macro(self, posterior: LabelPosterior, known: BoolArray | None, empty: float) -> tuple[BoolArray, FloatArray]:
        groups = label_groups(posterior, known)
        taken, expected = best_prefixes(groups.probability, groups.count, self.beta, empty)
        if self.cautious and known is None:
            taken, expected = without_flat(groups, taken, expected, empty)
        return groups.sets(taken), expected

    def _per_item(
        self, posterior: LabelPosterior, known: BoolArray | None, empty: float
    ) -> tuple[BoolArray, FloatArray]:
        sets, expected = _room(posterior)
        for part, p in probability_blocks(posterior, known):
            groups = rank_groups(p.T)
            taken, best = best_prefixes(groups.probability, groups.count, self.beta, empty)
            if self.cautious:
                taken = believable_sizes(groups.probability, taken, empty)
                chosen = (np.arange(p.shape[1]) < taken[:, None]).astype(float)
                best = expected_scores(groups.probability, groups.count, chosen, self.beta, empty)
            sets[part], expected[part] = groups.sets(taken).T, best
        return sets, expected

    def _sampled_macro(
        self, posterior: LabelPosterior, known: BoolArray | None, empty: float
    ) -> tuple[BoolArray, FloatArray]:
        n, q = posterior.n_items, posterior.n_labels
        codes = np.empty((n, q), dtype=np.uint8)
        hits = np.zeros((self.n_samples, q, CUTS), dtype=np.int32)
        sums, counts = np.zeros((q, CUTS)), np.zeros((q, CUTS))
        for part, block, rng in self._sampling_blocks(posterior):
            believed = checked(block.probabilities(), known)
            codes[part] = logit_codes(believed, CUTS, CUT_REACH)
            source = self._generator(SHARED_BLOCK) if posterior.joint_draws else rng
            p = block.sample_probabilities(self.n_samples, source)  # (s, block, q), dependent over items
            drawn = rng.random(p.shape) < p
            add_hits(codes[part], drawn if known is None else drawn & known, hits)
            add_to_bins(codes[part], believed, sums, counts)
        taken, expected = best_cuts(hits, counts, self.beta, empty)
        if self.cautious and known is None:
            groups = bin_groups(codes, sums, counts)
            taken, expected = without_flat(groups, taken, expected, empty)
        return codes < taken, expected

    def _sampled_per_item(
        self, posterior: LabelPosterior, known: BoolArray | None, empty: float
    ) -> tuple[BoolArray, FloatArray]:
        sets, expected = _room(posterior)
        for part, block, rng in self._sampling_blocks(posterior):
            groups = rank_groups(checked(block.probabilities(), known).T)
            rank = groups.code.T  # (block, q)
            drawn = block.sample_labels(self.n_samples, rng)  # (s, block, q), dependent over labels
            drawn = drawn if known is None else drawn & known
            taken, expected[part] = best_sampled_prefixes(rank, drawn, self.beta, empty)
            if self.cautious:
                taken = believable_sizes(groups.probability, taken, empty)
                expected[part] = sampled_scores(rank < taken[:, None], drawn, self.beta, empty)
            sets[part] = rank < taken[:, None]
        return sets, expected

    def _sampling_blocks(
        self, posterior: LabelPosterior
    ) -> Iterator[tuple[slice, LabelPosterior, np.random.Generator]]:
        """Blocks of items with a counter-based generator each: the same draws in every pass, none of them kept."""
        rows = block_rows(self.n_samples * posterior.n_labels, SAMPLE_ENTRIES)
        for number, (part, block) in enumerate(posterior.blocks(rows)):
            yield part, block, self._generator(number)

    def _generator(self, number: int) -> np.random.Generator:
        return np.random.Generator(np.random.Philox(key=np.array([self.random_state, number], dtype=np.uint64)))


def _room(posterior: LabelPosterior) -> tuple[BoolArray, FloatArray]:
    return np.zeros((posterior.n_items, posterior.n_labels), dtype=bool), np.zeros(posterior.n_items)
