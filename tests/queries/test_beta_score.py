"""BetaScore against its formulas by loops, by samples, and against pools where the answer is plain."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.special import ndtri
from scipy.stats import multivariate_normal

from joint_beliefs import JointBeliefs
from labelwise import Answer, BetaScore, Campaign, LabelGP
from labelwise.data import ShardedFeatures, make_shapes
from labelwise.numerics.beta_score import beta_losses, beta_regret
from labelwise.posterior import MarginalPosterior
from labelwise.posterior.wrapped import StreamedPosterior
from labelwise.queries import beta_score
from labelwise.queries.beta_score import Reference, released_besra


def nothing(n, q):
    return sp.csr_array((n, q), dtype=bool)


def line(n=9, q=3, seed=0):
    """Items at places on a line, between which the covariance falls with the distance."""
    rng = np.random.default_rng(seed)
    return JointBeliefs(rng.uniform(0.02, 0.7, (n, q)), rng.uniform(0, 4, n))


class Samples(MarginalPosterior):
    """Beliefs that are joint draws and nothing else."""

    joint_draws = True

    def __init__(self, drawn):
        super().__init__(drawn.mean(0))
        self.drawn = drawn  # (s, n, q)

    def rows(self, rows):
        return Samples(self.drawn[:, rows])

    def sample_probabilities(self, n_samples, rng):
        assert n_samples <= len(self.drawn)
        return self.drawn[rng.permutation(len(self.drawn))[:n_samples]]


def gains_by_loops(beliefs, alpha, beta):
    """(n, n, q) by Φ₂ of scipy and by quadrature of w between the means before and after."""
    p, (n, q) = beliefs.probabilities(), beliefs.probabilities().shape
    C, found = beliefs.dense(), np.zeros((n, n, q))
    for i, k, j in np.ndindex(n, n, q):
        rho = (C[i, k] - 0.1 * (i == k)) / np.sqrt(C[i, i] * C[k, k])
        both = multivariate_normal(cov=[[1, rho], [rho, 1]]).cdf(ndtri([p[i, j], p[k, j]]))
        covariance, before = both - p[i, j] * p[k, j], p[k, j]
        for chance, after in (
            (p[i, j], before + covariance / p[i, j]),
            (1 - p[i, j], before - covariance / (1 - p[i, j])),
        ):
            weight = lambda t, a: (a - t) * t ** (alpha - 1) * (1 - t) ** (beta - 1)  # noqa: E731
            found[i, k, j] += chance * quad(weight, before, after, args=(after,))[0]
    return found


@pytest.mark.parametrize(("alpha", "beta"), [(0.1, 1.0), (1.0, 1.0), (0.0, 0.0), (0.1, 3.0)])
def test_scores_are_the_gains_summed(alpha, beta):
    beliefs, expected = line(), gains_by_loops(line(), alpha, beta)
    strategy = BetaScore(alpha, beta, top_share=1)
    choice = strategy.choose(beliefs, nothing(9, 3), 9, np.random.default_rng(0))
    assert_allclose(choice.scores, expected.sum((1, 2))[choice.rows], rtol=1e-4)
    assert np.all(np.diff(choice.scores) <= 0)
    one = strategy.choose(beliefs, nothing(9, 3), 1, np.random.default_rng(0))
    assert one.rows.tolist() == [expected.sum((1, 2)).argmax()]
    pairs = BetaScore(alpha, beta, top_share=1, target="pairs").choose(
        beliefs, nothing(9, 3), 27, np.random.default_rng(0)
    )
    assert_allclose(pairs.scores, expected.sum(1)[pairs.rows, pairs.labels], rtol=1e-4)


def test_what_is_known_neither_counts_nor_gains():
    beliefs, closed = line(), np.zeros((9, 3), dtype=bool)
    closed[2, [0, 1]], closed[5], closed[7, 2] = True, True, True
    expected = gains_by_loops(beliefs, 0.1, 1.0)
    expected[:, 5] = 0  # an item that is answered is no reference
    expected *= ~closed[:, None] & ~closed[None]
    for target, totals in (("items", expected.sum((1, 2))), ("pairs", expected.sum(1))):
        strategy = BetaScore(top_share=1, target=target)
        choice = strategy.choose(beliefs, sp.csr_array(closed), 100, np.random.default_rng(0))
        places = choice.rows if target == "items" else (choice.rows, choice.labels)
        assert_allclose(choice.scores, totals[places], rtol=1e-4)
        assert not (closed[choice.rows].all(1) if target == "items" else closed[places]).any()
        assert choice.rows.size == (8 if target == "items" else (~closed).sum())


def test_a_batch_has_one_item_of_each_direction():
    """Three groups of near-twins; by totals alone all would come from the group that says most."""
    places = np.concatenate([np.full(8, 0.0), np.full(8, 50.0), np.full(8, 100.0)]) + 1e-3 * np.arange(24)
    beliefs = JointBeliefs(np.repeat([0.5, 0.4, 0.3], 8)[:, None], places)
    strategy = BetaScore(1, 1, top_share=1)
    three = strategy.choose(beliefs, nothing(24, 1), 3, np.random.default_rng(0))
    assert sorted(three.rows // 8) == [0, 1, 2]
    assert strategy.choose(beliefs, nothing(24, 1), 1, np.random.default_rng(0)).rows[0] < 8
    top = BetaScore(1, 1, top_share=1 / 3).choose(beliefs, nothing(24, 1), 3, np.random.default_rng(0))
    assert np.all(top.rows < 8)


def test_without_a_covariance_the_loss_of_its_own_counts():
    p = np.random.default_rng(0).random((40, 2))
    absent, present = beta_losses(p, 0.1, 1.0)
    expected = ((1 - p) * absent + p * present).sum(1)
    choice = BetaScore().choose(MarginalPosterior(p), nothing(40, 2), 6, np.random.default_rng(0))
    assert_array_equal(choice.rows, np.argsort(-expected)[:6])
    half = BetaScore(1, 1, target="pairs").choose(MarginalPosterior(p), nothing(40, 2), 1, np.random.default_rng(0))
    assert abs(p[half.rows, half.labels] - 0.5) == np.abs(p - 0.5).min()


def test_joint_draws_are_enough():
    """Items that move with many others, against items of their own, equally uncertain each."""
    rng, s = np.random.default_rng(0), beta_score.SAMPLES
    shared, own = rng.random((s, 1, 1)), rng.random((s, 20, 1))
    drawn = np.concatenate([np.broadcast_to(shared, (s, 10, 1)), own], axis=1)
    choice = BetaScore().choose(Samples(drawn), nothing(30, 1), 1, rng)
    assert choice.rows[0] < 10
    deviations = drawn[:, :10, 0] - drawn[:, :10, 0].mean(0)
    mean = drawn[:, 0, 0].mean()
    moved = np.array([(deviations[:, 0] ** 2).mean() / mean, -(deviations[:, 0] ** 2).mean() / (1 - mean)])
    gain = np.array([mean, 1 - mean]) @ beta_regret(mean + moved, mean, 0.1, 1.0)
    assert choice.scores[0] >= 10 * gain * (1 - 1e-9)


@pytest.mark.parametrize("target", ["items", "pairs"])
def test_blocks_change_nothing(target, monkeypatch):
    beliefs, strategy = line(40, 3), BetaScore(references=7, target=target)
    closed = sp.csr_array(np.random.default_rng(3).random((40, 3)) < 0.2)
    whole = strategy.choose(beliefs, closed, 40, np.random.default_rng(0))
    monkeypatch.setattr(beta_score, "GAIN_BLOCK", 5 * 7 * 3)
    monkeypatch.setattr(beta_score, "BELIEF_BLOCK", 11)
    blocks = strategy.choose(beliefs, closed, 40, np.random.default_rng(0))
    order = [
        np.lexsort((choice.labels if target == "pairs" else choice.rows, choice.rows)) for choice in (whole, blocks)
    ]
    assert_array_equal(whole.rows[order[0]], blocks.rows[order[1]])
    assert_allclose(whole.scores[order[0]], blocks.scores[order[1]])


def test_the_highest_are_kept_with_their_own_vectors(monkeypatch):
    beliefs = line(40, 2)
    gains = beta_score.Gains.of(
        beliefs, nothing(40, 2), np.arange(6), beta_score.GainRule(0.1, 1.0), np.random.default_rng(0)
    )
    every = gains.highest(np.arange(40), 40, "items", np.random.default_rng(0))
    monkeypatch.setattr(beta_score, "GAIN_BLOCK", 1)
    few = gains.highest(np.arange(40), 9, "items", np.random.default_rng(0))
    assert_array_equal(few.places, every.places[:9])
    assert_allclose(few.vectors, every.vectors[:9])
    assert_allclose(few.vectors.sum(1), few.totals)


def test_candidates_are_drawn_and_shards_are_read():
    data = make_shapes(120, random_state=0)
    model = LabelGP(random_state=0).fit(data.X[:30], data.Y[:30].toarray())
    closed = nothing(90, data.n_labels)
    strategy = BetaScore(candidates=15, top_share=1)
    drawn = [
        strategy.choose(model.posterior(data.X[30:]), closed, 1, np.random.default_rng(s)).rows[0] for s in range(6)
    ]
    assert len(set(drawn)) > 1  # of all of them one item is the best whatever the seed
    shards = ShardedFeatures.of(data.X[30:70], data.X[70:])
    streamed = StreamedPosterior(shards, data.n_labels, model.posterior)
    inside, outside = (
        BetaScore().choose(b, closed, 5, np.random.default_rng(0)) for b in (model.posterior(data.X[30:]), streamed)
    )
    assert_array_equal(inside.rows, outside.rows)


def test_the_released_form_is_no_divergence():
    """With α = β = 0 it is the mean over draws and answers of log((1 − p) / (1 − p̂)), which may be negative."""
    drawn = np.random.default_rng(0).uniform(0.05, 0.9, (6, 4, 1))
    mean = drawn.mean(0)
    covariance = np.einsum("snq,smq->nmq", drawn - mean, drawn - mean) / 6
    found = released_besra(mean, covariance, Reference(mean, drawn), 0, 0)
    for i, k in np.ndindex(4, 4):
        yes = (drawn[:, i, 0] * drawn[:, k, 0]).mean() / mean[i, 0]
        no = ((1 - drawn[:, i, 0]) * drawn[:, k, 0]).mean() / (1 - mean[i, 0])
        logs = [np.log((1 - drawn[:, k, 0]) / (1 - after)).mean() for after in (yes, no)]
        assert_allclose(found[i, k, 0], mean[i, 0] * logs[0] + (1 - mean[i, 0]) * logs[1])
    assert found.min() < 0


def test_the_released_form_adds_the_same_to_every_item():
    data = make_shapes(90, random_state=0)
    beliefs = LabelGP(random_state=0).fit(data.X[:30], data.Y[:30].toarray()).posterior(data.X[30:])
    right, released = (
        BetaScore(top_share=1, form=form).choose(beliefs, nothing(60, 18), 60, np.random.default_rng(0))
        for form in ("regret", "released")
    )
    spread = [np.ptp(choice.scores) / np.abs(choice.scores).mean() for choice in (right, released)]
    assert spread[1] < spread[0] / 3


def test_a_campaign_asks_by_it():
    data = make_shapes(80, random_state=1)
    campaign = Campaign(data.hide(), model=LabelGP(random_state=0), strategy="beta_score", random_state=0)
    for _ in range(3):
        for question in campaign.ask(5):
            present = data.Y[[int(question.item)]].indices
            campaign.tell(Answer.to(question, {data.label_names[j] for j in present}))
    assert len({question.item for question in campaign.ask(5)}) == 5


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"alpha": 0.0}, "both 0"),
        ({"top_share": 0.0}, "top_share"),
        ({"references": 0}, "references"),
        ({"form": "paper"}, "form"),
        ({"target": "labels"}, "target"),
        ({"form": "released", "beta": 0.5}, "beta from 1"),
    ],
)
def test_what_is_wrong_is_named(options, words):
    with pytest.raises(ValueError, match=words):
        BetaScore(**options).choose(line(), nothing(9, 3), 1, np.random.default_rng(0))
