"""Choosing by score: masks, ties and blocks, with strategies small enough to check by hand."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chisquare

from labelwise.posterior import MarginalPosterior
from labelwise.queries import base
from labelwise.queries.base import ScoringStrategy, check_target


@dataclass(frozen=True)
class ByProbability(ScoringStrategy):
    """The score is the probability itself, so that the right choice can be read off the beliefs."""

    target: str = "pairs"

    def score(self, posterior, rng):
        return posterior.probabilities()


@dataclass(frozen=True)
class ByFirstLabel(ScoringStrategy):
    """Scores whole items only."""

    target: str = "items"

    def score(self, posterior, rng):
        return posterior.probabilities()[:, 0]


@dataclass(frozen=True)
class Fixed(ScoringStrategy):
    values: object = None
    target: str = "items"

    def score(self, posterior, rng):
        return self.values


def choose(strategy, p, closed=None, n=1000, seed=0):
    closed = np.zeros(p.shape, dtype=bool) if closed is None else closed
    return strategy.choose(MarginalPosterior(p), sp.csr_array(closed), n, np.random.default_rng(seed))


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    closed = rng.random((17, 4)) < 0.4
    closed[3], closed[16] = True, True
    return rng.random((17, 4)), closed


def test_pairs_are_chosen_best_first(problem):
    p, closed = problem
    choice = choose(ByProbability(), p, closed, n=9)
    by_hand = sorted(((p[i, j], i, j) for i, j in zip(*np.nonzero(~closed), strict=True)), reverse=True)[:9]
    assert list(zip(choice.scores, choice.rows, choice.labels, strict=True)) == by_hand


def test_items_are_chosen_by_the_sum_over_their_open_labels(problem):
    p, closed = problem
    choice = choose(ByProbability("items"), p, closed, n=6)
    sums = [p[i][~closed[i]].sum() if not closed[i].all() else -np.inf for i in range(17)]
    by_hand = sorted(range(17), key=lambda i: -sums[i])[:6]
    assert choice.rows.tolist() == by_hand and choice.labels is None
    np.testing.assert_allclose(choice.scores, np.array(sums)[by_hand])


def test_scores_of_whole_items_are_taken_as_they_are(problem):
    p, closed = problem
    choice = choose(ByFirstLabel(), p, closed, n=100)
    by_hand = sorted(np.flatnonzero(~closed.all(1)), key=lambda i: -p[i, 0])
    assert choice.rows.tolist() == by_hand


@pytest.mark.parametrize("target", ["items", "pairs"])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("size", [1, 3, 5])
def test_a_walk_in_blocks_chooses_as_the_whole(problem, monkeypatch, target, ties, size):
    p, closed = problem
    p = p.round(1) if ties else p
    for n in (1, 4, 30, 1000):
        monkeypatch.setattr(base, "BLOCK", 4096)
        whole = choose(ByProbability(target), p, closed, n)
        monkeypatch.setattr(base, "BLOCK", size)
        blocks = choose(ByProbability(target), p, closed, n)
        np.testing.assert_array_equal(blocks.rows, whole.rows)
        np.testing.assert_array_equal(blocks.scores, whole.scores)
        if target == "pairs":
            np.testing.assert_array_equal(blocks.labels, whole.labels)


def test_only_blocks_are_ever_looked_at(monkeypatch):
    monkeypatch.setattr(base, "BLOCK", 3)
    sizes = []

    class Watched(MarginalPosterior):
        def probabilities(self):
            sizes.append(self.n_items)
            return super().probabilities()

        def rows(self, rows):
            return Watched(self._probabilities[rows])

    beliefs = Watched(np.random.default_rng(0).random((8, 2)))
    ByProbability().choose(beliefs, sp.csr_array((8, 2), dtype=bool), 4, np.random.default_rng(0))
    assert sizes == [3, 3, 2]


@pytest.mark.parametrize("target", ["items", "pairs"])
def test_ties_are_broken_fairly_across_blocks(monkeypatch, target):
    monkeypatch.setattr(base, "BLOCK", 3)
    p = np.full((7, 2), 0.5)
    closed = np.zeros((7, 2), dtype=bool)
    closed[2] = True
    rng, counts = np.random.default_rng(0), np.zeros((7, 2))
    for _ in range(1500):
        choice = ByProbability(target).choose(MarginalPosterior(p), sp.csr_array(closed), 1, rng)
        counts[choice.rows, 0 if choice.labels is None else choice.labels] += 1
    assert counts[2].sum() == 0
    assert chisquare(counts[~closed] if target == "pairs" else counts[[0, 1, 3, 4, 5, 6], 0]).pvalue > 1e-3


def test_nothing_open_nothing_chosen():
    p = np.ones((4, 2))
    for target in ("items", "pairs"):
        choice = choose(ByProbability(target), p, np.ones((4, 2), dtype=bool))
        assert choice.rows.size == choice.scores.size == 0
        empty = choose(ByProbability(target), np.ones((0, 2)))
        assert empty.rows.size == 0


def test_what_cannot_be_scored_is_not_asked():
    p = np.array([[0.5, np.nan], [0.2, 0.1], [-np.inf, 0.3]])
    choice = choose(ByProbability(), p)
    assert list(zip(choice.rows, choice.labels, strict=True)) == [(0, 0), (2, 1), (1, 0), (1, 1)]
    assert choose(ByProbability("items"), p).rows.tolist() == [1]
    closed = np.array([[False, True], [False, False], [True, False]])  # what is closed spoils nothing
    assert choose(ByProbability("items"), p, closed).rows.tolist() == [0, 1, 2]


@pytest.mark.parametrize("shape", [(4, 1), (1, 2), (2,), (), (4, 2, 1)])
@pytest.mark.parametrize("target", ["items", "pairs"])
def test_scores_of_another_shape_are_refused(shape, target):
    """Broadcasting would turn them into a choice that means nothing."""
    with pytest.raises(ValueError, match=r"Fixed gave scores of shape"):
        choose(Fixed(np.zeros(shape), target), np.zeros((4, 2)))


def test_scores_of_items_cannot_choose_pairs():
    with pytest.raises(ValueError, match=r"ByFirstLabel gave scores of shape \(4,\); to ask for pairs"):
        choose(ByFirstLabel("pairs"), np.zeros((4, 2)))


def test_only_two_targets():
    check_target("items")
    check_target("pairs")
    with pytest.raises(ValueError, match='"items" or "pairs", got \'labels\''):
        choose(ByProbability("labels"), np.zeros((2, 2)))
