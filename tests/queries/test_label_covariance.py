"""LabelCovariance against dense determinants, hand-made columns and full exact scoring."""

from math import exp, inf, log

import numpy as np
import pytest
import scipy.sparse as sp

import labelwise.queries.label_covariance as module
from joint_beliefs import JointBeliefs
from labelwise import models, queries
from labelwise.campaign import Campaign
from labelwise.posterior import IgnorantPosterior, MarginalPosterior
from labelwise.queries import LabelCovariance, Uncertainty
from labelwise.queries.label_covariance import _Covariances, greedy_reduction, variance_reductions
from labelwise.records import Answer, LabelData


class Varied(JointBeliefs):
    """Joint beliefs whose features tell little of some items."""

    def feature_variances(self):
        return 1e-3 * (1 + np.sin(3 * self.places))

    def rows(self, rows):
        return Varied(self._probabilities[rows], self.places[rows], loadings=self.loadings)


class Hasty(Varied):
    """Beliefs with a rough form, that note how many items were looked at closely and at most at a time."""

    def __init__(self, *given, noise=0.0, log=None, **options):
        super().__init__(*given, **options)
        self.noise_of_rough, self.log = noise, log if log is not None else []

    def rows(self, rows):
        return Hasty(self._probabilities[rows], self.places[rows], loadings=self.loadings, log=self.log)

    def label_covariances(self):
        self.log.append(self.n_items)
        return super().label_covariances()

    def rough(self):
        shifted = self._probabilities + self.noise_of_rough * np.sin(1e4 * self._probabilities)
        return Varied(np.clip(shifted, 0.01, 0.99), self.places, loadings=self.loadings)


def beliefs(n=40, q=5, seed=0, kind=Varied, **options):
    rng = np.random.default_rng(seed)
    loadings = rng.normal(size=(q, 2))
    return kind(rng.uniform(0.05, 0.95, (n, q)), rng.uniform(0, 6, n), loadings=loadings, **options)


def nothing(posterior):
    return sp.csr_array((posterior.n_items, posterior.n_labels), dtype=bool)


def ranking(strategy, posterior, closed=None, n=None, seed=0):
    closed = nothing(posterior) if closed is None else sp.csr_array(closed)
    return strategy.choose(posterior, closed, n or posterior.n_items, np.random.default_rng(seed))


def published(*args, **options):
    return LabelCovariance.paper(**dict(zip(["measure"], args, strict=False)), **options)


def z(column):
    return (column - column.mean()) / column.std()


def dense_logdets(posterior):
    return np.array([np.linalg.slogdet(C)[1] for C in posterior.label_covariances().dense()])


def assert_ranks(choice, expected):
    np.testing.assert_array_equal(choice.rows, np.argsort(-expected)[: choice.rows.size])
    np.testing.assert_allclose(choice.scores, np.sort(expected)[::-1][: choice.rows.size], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("weight", [0.0, 0.7, 4.0])
def test_the_score_is_that_of_the_definition(weight):
    posterior = beliefs()
    expected = z(dense_logdets(posterior)) + weight * z(posterior.feature_variances())
    assert_ranks(ranking(published(weight=weight), posterior), expected)


def test_an_infinite_weight_asks_by_features_alone():
    posterior = beliefs()
    assert_ranks(ranking(published(weight=inf), posterior), z(posterior.feature_variances()))


def test_raw_terms():
    posterior = beliefs()
    expected = dense_logdets(posterior) + 500 * posterior.feature_variances()
    assert_ranks(ranking(published(weight=500, standardise=False), posterior), expected)


def test_entropy_and_trace():
    posterior = beliefs()
    p = posterior.probabilities()
    entropy = np.array([sum(-x * log(x) - (1 - x) * log(1 - x) for x in row) for row in p])
    assert_ranks(ranking(published("entropy", weight=0), posterior), z(entropy))
    trace = np.array([np.trace(C) for C in posterior.label_covariances().dense()])
    assert_ranks(ranking(published("trace", weight=0), posterior), z(trace))


def test_the_weight_falls_with_the_items_answered():
    posterior = beliefs(n=60)
    closed = np.zeros((60, 5), dtype=bool)
    closed[:20] = True
    left = posterior.rows(np.arange(20, 60))
    for start, answered in ((0, 20), (5, 15), (30, 0)):
        eta = 4 * exp(-answered / 30)  # 4 e^(−r / 3), r counted in rounds of ten
        expected = z(dense_logdets(left)) + eta * z(left.feature_variances())
        choice = ranking(published(start=start), posterior, closed, n=40)
        np.testing.assert_array_equal(choice.rows, 20 + np.argsort(-expected))
    assert published(decay=inf).weight_after(1000) == 4
    assert LabelCovariance(weight=inf).weight_after(1000) == inf


def test_scores_are_standardised_over_what_can_be_asked():
    posterior = beliefs(n=50)
    closed = np.zeros((50, 5), dtype=bool)
    closed[::2] = True
    choice = ranking(published(weight=0), posterior, closed, n=25)
    assert choice.scores.mean() == pytest.approx(0, abs=1e-9) and choice.scores.std() == pytest.approx(1)


def test_constant_columns_do_not_count():
    """A model that does not know how little features tell, then one whose labels are alike everywhere, then both."""
    flat = MarginalPosterior(beliefs().probabilities())
    expected = z(np.log(flat.probabilities() * (1 - flat.probabilities())).sum(1))
    assert_ranks(ranking(published(), flat), expected)
    places = np.random.default_rng(1).uniform(0, 6, 40)
    alike = Varied(np.full((40, 5), 0.3), places)
    assert_ranks(ranking(published(weight=1), alike), z(alike.feature_variances()))
    first = {int(ranking(published(), IgnorantPosterior(9, 3), seed=s, n=1).rows[0]) for s in range(60)}
    assert first == set(range(9))  # nothing known: at random


def test_one_label_is_uncertainty_sampling():
    posterior = beliefs(q=1, kind=JointBeliefs)
    chosen = ranking(published(weight=0), posterior).rows
    rival = Uncertainty().choose(posterior, nothing(posterior), posterior.n_items, np.random.default_rng(0))
    np.testing.assert_array_equal(chosen, rival.rows)


def test_answered_labels_count_as_certain():
    posterior = beliefs(n=12)
    closed = np.random.default_rng(3).random((12, 5)) < 0.4
    closed[:, 0] = False
    dense = posterior.label_covariances().dense()
    expected = np.empty(12)
    for i, free in enumerate(~closed):
        left = dense[i][np.ix_(free, free)]
        expected[i] = np.linalg.slogdet(left)[1] + (~free).sum() * log(module.KNOWN)
    assert_ranks(ranking(published(weight=0), posterior, closed), z(expected))
    variances = np.where(closed, 0.0, dense.diagonal(axis1=1, axis2=2))
    assert_ranks(ranking(published("trace", weight=0), posterior, closed), z(variances.sum(1)))
    p = posterior.probabilities()
    entropies = np.where(closed, 0.0, -p * np.log(p) - (1 - p) * np.log(1 - p))
    assert_ranks(ranking(published("entropy", weight=0), posterior, closed), z(entropies.sum(1)))


def test_blocks_do_not_matter(monkeypatch):
    posterior = beliefs(n=60)
    closed = np.random.default_rng(2).random((60, 5)) < 0.5
    whole = ranking(published(), posterior, closed, n=20)
    monkeypatch.setattr(module, "BLOCK", 35)
    parts = ranking(published(), posterior, closed, n=20)
    np.testing.assert_array_equal(parts.rows, whole.rows)
    np.testing.assert_allclose(parts.scores, whole.scores, rtol=1e-10)


def test_two_passes_find_what_exact_scoring_finds(monkeypatch):
    monkeypatch.setattr(module, "SAMPLE", 400)
    monkeypatch.setattr(module, "BLOCK", 500)
    posterior = beliefs(n=3000, kind=Hasty, noise=0.01)
    closed = np.zeros((3000, 5), dtype=bool)
    closed[:100] = True
    strategy = published(exact_share=0.1, weight=1, decay=inf)
    exact = ranking(published(exact_share=1.0, weight=1, decay=inf), posterior, closed, n=40)
    posterior.log.clear()
    chosen = ranking(strategy, posterior, closed, n=40)
    assert 400 < sum(posterior.log) <= 400 + 400  # the shortlist and the sample
    assert max(posterior.log) <= 100
    assert len(set(chosen.rows) & set(exact.rows)) >= 36
    assert not closed[chosen.rows].any()
    rough = ranking(published(weight=1, decay=inf), posterior.rough(), closed, n=40)
    assert len(set(rough.rows) & set(exact.rows)) < len(set(chosen.rows) & set(exact.rows))


def reductions(posterior, rows, reference, given=()):
    """What an answer about each row takes from the summed variance of the reference items, by dense conditioning."""
    C = posterior.columns(np.arange(posterior.n_items))

    def left(known):
        K = C[np.ix_(known, known)] + posterior.noise * np.eye(len(known))
        cross = C[np.ix_(reference, known)]
        return (C.diagonal()[reference] - np.einsum("rk,rk->r", cross, np.linalg.solve(K, cross.T).T)).sum()

    return np.array([left(list(given)) - left([*given, row]) for row in rows])


def test_one_question_by_what_it_tells_of_the_pool():
    posterior = beliefs()
    everything = np.arange(40)
    expected = z(dense_logdets(posterior)) + 3 * z(reductions(posterior, everything, everything))
    choice = ranking(LabelCovariance(weight=3), posterior, n=1)
    assert choice.rows.tolist() == [np.argmax(expected)]
    assert choice.scores[0] == pytest.approx(expected.max())


@pytest.mark.parametrize("weight", [3.0, inf])
def test_batches_count_what_earlier_items_tell(weight):
    posterior = beliefs()
    closed = np.zeros((40, 5), dtype=bool)
    closed[::4] = True
    rows = np.flatnonzero(~closed.all(1))
    first = reductions(posterior, rows, rows)
    measure = z(dense_logdets(posterior)[rows])
    chosen = []
    for _ in range(6):
        value = (reductions(posterior, rows, rows, chosen) - first.mean()) / first.std()
        score = value if weight == inf else measure + weight * value
        score[np.isin(rows, chosen)] = -np.inf
        chosen.append(int(rows[np.argmax(score)]))
    choice = ranking(LabelCovariance(weight=weight, decay=inf), posterior, closed, n=6)
    assert choice.rows.tolist() == chosen


def test_large_pools_are_judged_by_a_sample(monkeypatch):
    """The sample stands for the pool: what is chosen takes nearly as much variance away as the exact choice."""
    posterior = beliefs(n=300)
    everything = np.arange(300)
    exact = ranking(LabelCovariance(weight=inf), posterior, n=5).rows
    monkeypatch.setattr(module, "REFERENCE", 60)
    sampled = ranking(LabelCovariance(weight=inf), posterior, n=5).rows
    taken = [
        sum(reductions(posterior, [r], everything, rows[:i])[0] for i, r in enumerate(rows))
        for rows in (exact, sampled)
    ]
    at_random = sum(reductions(posterior, [r], everything, range(r))[0] for r in range(5))
    assert at_random < 0.9 * taken[0] and taken[1] > 0.97 * taken[0]


def test_candidates_are_drawn_and_scored_as_a_pool_of_their_own():
    posterior = beliefs(n=300)
    closed = np.zeros((300, 5), dtype=bool)
    closed[::3] = True
    drawn = {}
    for seed in range(3):
        choice = ranking(LabelCovariance(weight=3, candidates=40), posterior, closed, n=4, seed=seed)
        rows = np.sort(np.random.default_rng(seed).choice(np.flatnonzero(~closed[:, 0]), 40, replace=False))
        eta = LabelCovariance(weight=3).weight_after(100)
        alone = ranking(LabelCovariance(weight=eta, decay=inf), posterior.rows(rows), n=4)
        assert choice.rows.tolist() == rows[alone.rows].tolist()
        drawn[seed] = choice.rows.tolist()
    assert len({tuple(rows) for rows in drawn.values()}) == 3
    many = ranking(LabelCovariance(candidates=10), posterior, n=20)  # at least ten times as many as are asked for
    assert many.rows.size == 20
    assert LabelCovariance.paper().candidates is None


def test_long_batches_end_by_own_scores(monkeypatch):
    posterior = beliefs()
    planned = ranking(LabelCovariance(weight=3), posterior, n=4)
    scores = z(dense_logdets(posterior)) + 3 * z(reductions(posterior, np.arange(40), np.arange(40)))
    monkeypatch.setattr(module, "PLANNED", 4)
    choice = ranking(LabelCovariance(weight=3), posterior, n=7)
    rest = [row for row in np.argsort(-scores) if row not in planned.rows][:3]
    assert choice.rows.tolist() == [*planned.rows.tolist(), *rest]
    np.testing.assert_allclose(choice.scores[4:], scores[rest])


def test_without_item_covariances_own_variances_count():
    class Alone(Varied):
        def item_covariance(self):
            return None

        def rows(self, rows):
            return Alone(self._probabilities[rows], self.places[rows], loadings=self.loadings)

    posterior = beliefs(kind=Alone)
    expected = z(dense_logdets(posterior)) + 2 * z(posterior.feature_variances())
    assert_ranks(ranking(LabelCovariance(weight=2), posterior), expected)


def test_small_pools_are_scored_exactly():
    posterior = beliefs(n=200, kind=Hasty, noise=0.05)
    expected = z(dense_logdets(posterior)) + 4 * z(posterior.feature_variances())
    assert_ranks(ranking(published(), posterior), expected)


def test_it_is_registered():
    assert isinstance(queries.BY_NAME["label_covariance"](), LabelCovariance)


@pytest.mark.parametrize("name", sorted(models.BY_NAME))
def test_every_model_can_be_asked_about(name):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    Y = X[:, [0, 1, 2]] > 0.2
    data = LabelData.from_arrays(X, Y)
    campaign = Campaign(data.hide(), model=models.BY_NAME[name](), strategy=LabelCovariance(), random_state=0)
    rows = {item: row for row, item in enumerate(data.item_ids)}
    for _ in range(2):
        questions = campaign.ask(8)
        assert len({q.item for q in questions}) == 8
        assert all(np.isfinite(q.score) for q in questions)
        campaign.tell([Answer.to(q, {data.label_names[j] for j in np.flatnonzero(Y[rows[q.item]])}) for q in questions])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"measure": "det"}, "measure must be one of"),
        ({"weight": -1.0}, "weight must be at least 0, got -1.0"),
        ({"weight": float("nan")}, "weight must be"),
        ({"decay": 0.0}, "decay must be positive"),
        ({"explore": "everything"}, "explore must be one of"),
        ({"exact_share": 0.0}, "exact_share must be above 0"),
        ({"candidates": 0}, "candidates must be at least 1, got 0"),
        ({"target": "pairs"}, 'asks for "items"'),
    ],
)
def test_wrong_wishes(options, words):
    with pytest.raises(ValueError, match=words):
        LabelCovariance(**options).choose(beliefs(), nothing(beliefs()), 3, np.random.default_rng(0))


def covariance(n=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 4, (n, 1))
    return np.exp(-0.5 * (X - X.T) ** 2)


def total_variance(C, reference, noise, given):
    """Σ_j var(j | noisy answers about the given items), from the definition."""
    given = list(given)
    if not given:
        return C.diagonal()[reference].sum()
    K = C[np.ix_(given, given)] + noise * np.eye(len(given))
    cross = C[np.ix_(reference, given)]
    return (C.diagonal()[reference] - np.einsum("rg,rg->r", cross, np.linalg.solve(K, cross.T).T)).sum()


def test_the_reduction_is_what_conditioning_takes_away():
    C, reference = covariance(), np.array([0, 3, 4, 9])
    found = variance_reductions(C[:, reference], C.diagonal(), 0.3)
    before = total_variance(C, reference, 0.3, [])
    np.testing.assert_allclose(found, [before - total_variance(C, reference, 0.3, [i]) for i in range(12)])


class Dense:
    """A covariance between items as a matrix."""

    def __init__(self, C, noise):
        self.C, self.noise = C, noise

    def columns(self, rows):
        return self.C[:, rows]

    def diagonal(self):
        return self.C.diagonal()


def greedy(C, reference, noise, *rest):
    everything = _Covariances(Dense(C, noise), np.arange(len(C)), C[:, reference], C.diagonal())
    return greedy_reduction(everything, reference, *rest)


@pytest.mark.parametrize(("slope", "seed"), [(1.0, 0), (0.2, 1), (0.0, 2)])
def test_greedy_choices_are_those_of_the_definition(slope, seed):
    rng = np.random.default_rng(seed)
    C, reference, base = covariance(seed=seed), np.arange(2, 12), rng.normal(size=12)
    base[5] = -np.inf
    found, scores = greedy(C, reference, 0.2, base, slope, 5, np.zeros(12))
    chosen = []
    for score in scores:
        before = total_variance(C, reference, 0.2, chosen)
        values = {
            i: base[i] + slope * (before - total_variance(C, reference, 0.2, [*chosen, i]))
            for i in range(12)
            if i not in chosen
        }
        pick = max(values, key=values.get)
        assert score == pytest.approx(values[pick])
        chosen.append(pick)
    assert found.tolist() == chosen


def test_it_stops_when_nothing_is_left_and_leaves_its_input_alone():
    C = covariance(4)
    before = C.copy()
    base = np.array([0, -np.inf, 0, 0.0])
    found, scores = greedy(C, np.arange(4), 0.1, base, 1.0, 9, np.arange(4.0))
    assert sorted(found) == [0, 2, 3] and scores.size == 3
    np.testing.assert_array_equal(C, before)
    np.testing.assert_array_equal(base, [0, -np.inf, 0, 0])
