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
from labelwise.decisions.streamed import SAMPLE_ENTRIES, SampleTally, block_generator
from labelwise.numerics.arrays import BoolArray, FloatArray, IntegerArray
from labelwise.numerics.expected_f1 import (
    Groups,
    believable_sizes,
    best_prefixes,
    best_sampled_prefixes,
    expected_scores,
    highest,
    rank_groups,
    sampled_scores,
)
from labelwise.posterior import LabelPosterior

MIN_ITEMS = 10  # a smaller batch is no batch


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
    thresholds : int, optional
        Macro only: the sets are those above one of n equal thresholds 0, 1/n, 2/n, ... of the probability, as in the
        paper, which takes 20. By default "independent" looks at every set, and "samples" at 256 thresholds in equal
        steps of the log-odds: labels whose probabilities are all below 1/n are otherwise given to all items or none.

    Notes
    -----
    Batches of more than 4 million (item, label) entries are read block by block into 2048 bins of the log-odds per
    label, two bytes per entry. Expected F1 then differs from the exact optimum by less than 1e-4. The sampled macro
    rule works on 256 candidate thresholds and keeps counts alone, again one pass: two bytes per entry, and a kilobyte
    per label and sample; `SampleTally` is the same for streams.

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
    thresholds: int | None = None

    def decide(self, posterior: LabelPosterior) -> BoolArray:
        return self.decide_scored(posterior).sets

    def decide_scored(self, posterior: LabelPosterior) -> ScoredSets:
        """The sets, and the F1 expected of each label (macro) or item (samples, and cautious macro of a few items)."""
        check_measure(self.average, self.beta, self.empty_score)
        if self.method not in ("independent", "samples"):
            raise ValueError(f'method must be "independent" or "samples", got {self.method!r}')
        if self.thresholds is not None and (self.average != "macro" or not 2 <= self.thresholds <= 2**16):
            raise ValueError(
                f'thresholds must be None or between 2 and 65536, with average="macro", got {self.thresholds!r} with '
                f"average={self.average!r}"
            )
        if self.average == "macro" and self.cautious and 0 < posterior.n_items < MIN_ITEMS:
            return replace(self, average="samples", thresholds=None).decide_scored(posterior)
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
        if self.thresholds is None:
            taken, expected = best_prefixes(groups.probability, groups.count, self.beta, empty)
        else:
            taken, expected = self._best_above_thresholds(groups, self.thresholds, empty)
        if self.cautious and known is None:
            taken, expected = without_flat(groups, taken, expected, empty)
        return groups.sets(taken), expected

    def _best_above_thresholds(self, groups: Groups, thresholds: int, empty: float) -> tuple[IntegerArray, FloatArray]:
        p, above = groups.probability, np.arange(1, thresholds + 1)[::-1] / thresholds  # from nothing to all
        sizes = np.stack([(p > threshold).sum(1) for threshold in [*above, 0.0]], axis=1)  # (q, thresholds + 1)
        chosen = [np.where(np.arange(p.shape[1]) < size[:, None], groups.count, 0.0) for size in sizes.T]
        scores = [expected_scores(p, groups.count, each, self.beta, empty) for each in chosen]
        best, expected = highest(np.stack(scores, axis=1))
        return sizes[np.arange(len(p)), best], expected

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
        tally = SampleTally(q, self.n_samples, thresholds=self.thresholds, random_state=self.random_state)
        codes = np.empty((n, q), dtype=np.uint16)
        for part, block in posterior.blocks(block_rows(self.n_samples * q, SAMPLE_ENTRIES)):
            codes[part] = tally.add_block(block)
        cuts = tally.expected_f1(self.beta, known, empty_score=empty, cautious=self.cautious)
        return cuts.decide_coded(codes), cuts.expected

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
            yield part, block, block_generator(self.random_state, number)


def _room(posterior: LabelPosterior) -> tuple[BoolArray, FloatArray]:
    return np.zeros((posterior.n_items, posterior.n_labels), dtype=bool), np.zeros(posterior.n_items)
