"""Decisions from outside: only what is documented, against every label set there is, every outcome, every threshold."""

import itertools
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import fbeta_score

import labelwise as lw
from labelwise import ClassMass, OnlineBayes, TunedThreshold
from labelwise.decisions import LabelTally, score_sets
from labelwise.posterior import MarginalPosterior

ExpectedF1 = partial(lw.ExpectedF1, cautious=False)  # the maximum, come what may

BETAS = (0.5, 1.0, 2.0, 3.7)


def all_sets(n):
    return np.array(list(itertools.product([False, True], repeat=n)))  # (2^n, n)


def f_score(chosen, truth, beta, empty):
    """F_β of every chosen set (a, n) for every truth (b, n)."""
    hits = chosen.astype(float) @ truth.T.astype(float)
    total = chosen.sum(1)[:, None] + beta**2 * truth.sum(1)
    return np.where(total == 0, empty, (1 + beta**2) * hits / np.where(total == 0, 1, total))


def expected_of_all_sets(p, beta=1.0, empty=0.0):
    """(2^n,) expected F_β of every set there is, entries being independent: summed over all outcomes."""
    sets = all_sets(len(p))
    chances = np.where(sets, p, 1 - p).prod(1)
    return sets, f_score(sets, sets, beta, empty) @ chances


def columns(*probabilities):
    return MarginalPosterior(np.column_stack(probabilities))


def odd_probabilities():
    rng = np.random.default_rng(0)
    return {
        "middling": rng.random(8),
        "rare": rng.random(8) ** 6 * 0.1,
        "tiny": 10.0 ** rng.uniform(-12, -3, 8),
        "sure": 1 - rng.random(7) ** 4 * 0.2,
        "ties": np.array([0.4, 0.4, 0.1, 0.4, 0.1, 0.1]),
        "certain": np.array([1.0, 0.0, 1.0, 0.0, 0.0]),
        "mixed": np.array([1.0, 0.0, 0.3, 1e-9, 0.999999, 0.5]),
        "one": np.array([0.02]),
        "never": np.zeros(4),
    }


# ---- the best sets, against all sets


@pytest.mark.parametrize("average", ["macro", "samples"])
@pytest.mark.parametrize("kind", odd_probabilities())
def test_no_set_has_a_higher_expected_score(kind, average):
    p = odd_probabilities()[kind]
    beliefs = columns(p) if average == "macro" else MarginalPosterior(p[None])
    for beta, empty in itertools.product(BETAS, (None, 0.0, 0.3, 1.0)):
        default = 0.0 if average == "macro" else 1.0
        sets, scores = expected_of_all_sets(p, beta, default if empty is None else empty)
        rule = ExpectedF1(average, beta=beta, empty_score=empty)
        result = rule.decide_scored(beliefs)
        assert_allclose(result.expected, scores.max(), rtol=1e-9, atol=1e-15)
        assert_allclose(scores[(sets == result.sets.ravel()).all(1)], scores.max(), rtol=1e-9, atol=1e-15)
        assert_array_equal(rule.decide(beliefs), result.sets)


def test_labels_and_items_are_decided_each_for_itself():
    p = np.random.default_rng(1).random((6, 5)) ** 2
    together = ExpectedF1().decide_scored(MarginalPosterior(p))
    for c in range(5):
        alone = ExpectedF1().decide_scored(columns(p[:, c]))
        assert_array_equal(together.sets[:, [c]], alone.sets)
        assert_allclose(together.expected[[c]], alone.expected)
    by_item = ExpectedF1("samples").decide_scored(MarginalPosterior(p))
    transposed = ExpectedF1("macro", empty_score=1.0).decide_scored(MarginalPosterior(p.T))
    assert_array_equal(by_item.sets, transposed.sets.T)
    assert_allclose(by_item.expected, transposed.expected)
    assert by_item.mean == pytest.approx(by_item.expected.mean())


def test_order_of_items_does_not_matter():
    p = np.random.default_rng(2).random((40, 3)) ** 3
    order = np.random.default_rng(3).permutation(40)
    before, after = (ExpectedF1().decide_scored(MarginalPosterior(rows)) for rows in (p, p[order]))
    assert_array_equal(after.sets, before.sets[order])
    assert_allclose(after.expected, before.expected)


def test_a_rare_label_is_given_below_one_half_and_one_unknown_to_everybody_is_left_out():
    p = np.column_stack([np.linspace(0.01, 0.2, 30), np.full(30, 0.03)])
    free = ExpectedF1().decide(MarginalPosterior(p))
    assert 1 <= free[:, 0].sum() < 30
    assert free[-1, 0]
    known = ExpectedF1(known_labels=[True, False]).decide_scored(MarginalPosterior(p))
    assert_array_equal(known.sets[:, 0], free[:, 0])
    assert not known.sets[:, 1].any()
    per_item = ExpectedF1("samples", empty_score=0.0, known_labels=[False, True]).decide(MarginalPosterior(p))
    assert not per_item[:, 0].any()
    assert per_item[:, 1].all()


def test_expected_f_of_many_items_is_the_mean_over_drawn_labels():
    rng = np.random.default_rng(4)
    p = rng.beta(0.2, 2.0, size=(500, 3))
    for beta in (0.5, 1.0, 2.0):
        result = ExpectedF1(beta=beta).decide_scored(MarginalPosterior(p))
        drawn = rng.random((3000, *p.shape)) < p
        for c in range(3):
            scores = f_score(result.sets[:, c][None], drawn[:, :, c], beta, 0.0)[0]
            assert abs(result.expected[c] - scores.mean()) < 5 * scores.std() / np.sqrt(3000)


# ---- sets of other rules


@pytest.mark.parametrize("beta", BETAS)
def test_score_of_any_sets_is_the_average_over_all_outcomes(beta):
    rng = np.random.default_rng(5)
    p = rng.random((7, 6)) ** 2
    chosen = rng.random((7, 6)) < 0.3
    chosen[:, 2], chosen[3] = False, False
    for average, entries, truth in (("macro", p.T, chosen.T), ("samples", p, chosen)):
        for empty in (0.0, 0.4, 1.0):
            expected = [
                f_score(own[None], all_sets(len(q)), beta, empty)[0] @ np.where(all_sets(len(q)), q, 1 - q).prod(1)
                for q, own in zip(entries, truth, strict=True)
            ]
            result = score_sets(MarginalPosterior(p), chosen, average=average, beta=beta, empty_score=empty)
            assert_allclose(result.expected, expected, rtol=1e-9, atol=1e-14)


def test_other_rules_promise_what_their_sets_are_worth():
    rng = np.random.default_rng(6)
    beliefs = MarginalPosterior(rng.random((8, 3)) ** 2)
    tuned = TunedThreshold.fit(rng.random((50, 3)), rng.random((50, 3)) < 0.3)
    for rule in (ClassMass([0.2, 0.5, 0.0]), tuned):
        result = rule.decide_scored(beliefs)
        assert_array_equal(result.sets, rule.decide(beliefs))
        assert_allclose(result.expected, score_sets(beliefs, result.sets).expected)
        assert np.all(result.expected <= ExpectedF1().decide_scored(beliefs).expected + 1e-12)


def test_class_mass_gives_the_rounded_share_to_the_most_probable_in_the_order_of_ties():
    p = np.array([[0.1, 0.5], [0.3, 0.5], [0.2, 0.5], [0.3, 0.5], [0.0, 0.5]])
    sets = ClassMass([0.3, 0.64]).decide(MarginalPosterior(p))  # 1.5 and 3.2 items of five; rint(1.5) = 2
    assert_array_equal(np.flatnonzero(sets[:, 0]), [1, 3])
    assert_array_equal(np.flatnonzero(sets[:, 1]), [0, 1, 2])
    assert_array_equal(ClassMass([0.0, 1.0]).decide(MarginalPosterior(p)).sum(0), [0, 5])
    Y = np.array([[1, 0, np.nan], [np.nan, 0, np.nan], [0, 1, np.nan]])
    assert_allclose(ClassMass.from_labels(Y).shares, [1 / 2, 1 / 3, 0])
    observed = ~np.isnan(Y)
    observed[0] = False
    assert_allclose(ClassMass.from_labels(Y, observed).shares, [0, 1 / 2, 0])


# ---- by draws


class Drawn(MarginalPosterior):
    """Beliefs whose draws are a fixed table of outcomes (s, n, q), so that what the rule should find can be counted."""

    def __init__(self, outcomes):
        super().__init__(outcomes.mean(0))
        self.outcomes = outcomes

    def rows(self, rows):
        return Drawn(self.outcomes[:, rows])

    def sample_probabilities(self, n_samples, rng):
        assert n_samples == len(self.outcomes)
        return self.outcomes.astype(float)

    def sample_labels(self, n_samples, rng):
        assert n_samples == len(self.outcomes)
        return self.outcomes


def naive_best(outcomes, p, beta, empty):
    """Equation (7) of the paper with its lost factor: the best mean over draws of F of what exceeds a threshold."""
    cuts = np.append(np.unique(p) if empty > 0 else np.unique(p)[:-1], -1.0)  # the highest of all leaves nothing
    return f_score(p > cuts[:, None], outcomes, beta, empty).mean(1).max()


@pytest.mark.parametrize("beta", BETAS)
@pytest.mark.parametrize("average", ["macro", "samples"])
def test_sampled_rule_equals_counting_over_the_draws(average, beta):
    rng = np.random.default_rng(7)
    s, entries, cases = 200, 12, 5
    shared = rng.normal(size=(s, 1, cases))
    outcomes = shared + rng.normal(size=(s, entries, cases)) + rng.normal(size=(entries, cases)) > 1.3  # (s, n, q)
    empty = 0.0 if average == "macro" else 1.0
    beliefs = Drawn(outcomes if average == "macro" else outcomes.swapaxes(1, 2))
    result = ExpectedF1(average, beta=beta, method="samples", n_samples=s).decide_scored(beliefs)
    sets = result.sets if average == "macro" else result.sets.T
    for case in range(cases):
        own = outcomes[:, :, case]
        best = naive_best(own, own.mean(0), beta, empty)
        assert result.expected[case] == pytest.approx(best, rel=1e-6)
        assert f_score(sets[:, case][None], own, beta, empty).mean() == pytest.approx(best, rel=1e-6)


def test_draws_see_dependence_that_marginals_hide():
    outcomes = np.zeros((100, 20, 1), bool)
    outcomes[:50] = True  # all or none, and nobody knows which
    sampled = ExpectedF1(method="samples", n_samples=100).decide_scored(Drawn(outcomes))
    assert sampled.sets.all()
    assert sampled.expected[0] == pytest.approx(0.5)
    assert ExpectedF1().decide_scored(Drawn(outcomes)).expected[0] > 0.6


def test_sampled_rule_agrees_with_the_exact_one_where_there_is_no_dependence():
    p = np.random.default_rng(8).beta(0.3, 1.0, size=(60, 4))
    for average in ("macro", "samples"):
        exact = ExpectedF1(average).decide_scored(MarginalPosterior(p))
        sampled = ExpectedF1(average, method="samples", n_samples=3000).decide_scored(MarginalPosterior(p))
        assert_allclose(sampled.expected, exact.expected, atol=0.03)
        worth = score_sets(MarginalPosterior(p), sampled.sets, average=average).expected
        assert np.all(worth > exact.expected - 0.02)


def test_sampled_rule_on_an_online_model_promises_what_its_own_draws_score():
    rng = np.random.default_rng(9)
    X = rng.normal(size=(80, 4))
    Y = X @ rng.normal(size=(4, 3)) + rng.normal(size=(80, 3)) > 1.5
    beliefs = OnlineBayes(random_state=0).fit(X[:40], Y[:40]).posterior(X[40:])
    result = ExpectedF1(method="samples", n_samples=400, random_state=3).decide_scored(beliefs)
    again = ExpectedF1(method="samples", n_samples=400, random_state=3).decide_scored(beliefs)
    assert_array_equal(result.sets, again.sets)
    draws = np.random.default_rng(10)
    p = beliefs.sample_probabilities(4000, draws)
    labels = draws.random(p.shape) < p
    for c in range(3):
        scores = f_score(result.sets[:, c][None], labels[:, :, c], 1.0, 0.0)[0]
        assert abs(result.expected[c] - scores.mean()) < 0.05


# ---- in a stream


def test_tallies_of_a_stream_choose_as_one_batch_would():
    p = np.random.default_rng(11).beta(0.2, 1.5, size=(700, 3))
    shares = [0.05, 0.31, 0.0]
    whole = MarginalPosterior(p)
    for cuts in ([0, 700], [0, 1, 3, 250, 699, 700]):
        parts = [MarginalPosterior(p[a:b]) for a, b in itertools.pairwise(cuts)]
        tally = LabelTally(n_labels=3)
        for part in parts:
            tally.add(part)
        f1, mass = tally.expected_f1(), tally.class_mass(shares)
        sets = np.concatenate([f1.decide(part) for part in parts])
        exact = ExpectedF1().decide_scored(whole)
        assert_allclose(f1.expected, exact.expected, atol=1e-4)
        assert_allclose(score_sets(whole, sets).expected, exact.expected, atol=1e-4)
        by_mass = np.concatenate([mass.decide(part) for part in parts])
        assert_array_equal(by_mass.sum(0), ClassMass(shares).decide(whole).sum(0))
        assert_allclose(score_sets(whole, by_mass).expected, ClassMass(shares).decide_scored(whole).expected, atol=5e-3)


def test_batches_too_large_to_be_ranked_lose_nothing_that_counts():
    p = np.random.default_rng(12).beta(0.1, 3.0, size=(2_100_000, 2))
    result = ExpectedF1().decide_scored(MarginalPosterior(p))
    for c in range(2):  # so many items that E F(top k) is the ratio of expectations to six digits
        ordered = np.sort(p[:, c])[::-1]
        ratio = 2 * np.cumsum(ordered) / (np.arange(1, len(p) + 1) + ordered.sum())
        assert result.expected[c] == pytest.approx(ratio.max(), abs=1e-4)
        assert ratio[result.sets[:, c].sum() - 1] == pytest.approx(ratio.max(), abs=1e-4)
    mass = ClassMass([0.02, 0.3]).decide(MarginalPosterior(p))
    assert_array_equal(mass.sum(0), [42_000, 630_000])


# ---- thresholds tuned on held-out rows


@pytest.mark.parametrize("beta", [0.5, 1.0, 2.0])
def test_no_threshold_is_better_on_the_held_out_rows(beta):
    rng = np.random.default_rng(13)
    p = np.round(rng.random((40, 3)), 2)
    Y = rng.random((40, 3)) < p * [0.9, 0.4, 0.1]
    rule = TunedThreshold.fit(p, Y, beta=beta)
    best = []
    for c in range(3):
        candidates = [-1.0, *p[:, c]]
        best.append(max(fbeta_score(Y[:, c], p[:, c] > cut, beta=beta, zero_division=0) for cut in candidates))
        own = fbeta_score(Y[:, c], p[:, c] > rule.values[c], beta=beta, zero_division=0)
        assert own == pytest.approx(best[-1])
    assert rule.held_out_score == pytest.approx(np.mean(best))
    assert_array_equal(rule.decide(MarginalPosterior(p)), p > rule.values)


def test_one_threshold_for_all_labels_is_the_best_per_item():
    rng = np.random.default_rng(14)
    p = np.round(rng.random((25, 6)), 2)
    Y = rng.random((25, 6)) < p**2
    rule = TunedThreshold.fit(p, Y, average="samples")

    def per_item(cut):
        return np.mean(
            [f_score((row > cut)[None], truth[None], 1.0, 1.0).item() for row, truth in zip(p, Y, strict=True)]
        )

    best = max(per_item(cut) for cut in [-1.0, *p.ravel()])
    assert len(set(rule.values)) == 1
    assert per_item(rule.values[0]) == pytest.approx(best)
    assert rule.held_out_score == pytest.approx(best)


def test_unknown_held_out_labels_have_no_say():
    rng = np.random.default_rng(15)
    p, Y = rng.random((60, 2)), rng.random((60, 2)) < 0.4
    observed = rng.random((60, 2)) < 0.6
    by_mask = TunedThreshold.fit(p, Y, observed)
    other = TunedThreshold.fit(p, Y ^ ~observed, observed)
    by_nan = TunedThreshold.fit(p, np.where(observed, Y, np.nan))
    assert_array_equal(by_mask.values, other.values)
    assert_array_equal(by_mask.values, by_nan.values)
    for c in range(2):
        alone = TunedThreshold.fit(p[observed[:, c]][:, [c]], Y[observed[:, c]][:, [c]])
        assert by_mask.values[c] == alone.values[0]


# ---- wrong input


def test_wrong_settings_are_refused_with_the_value():
    beliefs = MarginalPosterior(np.full((3, 2), 0.4))
    for settings, match in [
        ({"average": "micro"}, "micro"),
        ({"beta": 0.0}, r"beta .*0\.0"),
        ({"beta": -1.0}, "beta"),
        ({"method": "exact"}, "exact"),
        ({"n_samples": 0, "method": "samples"}, "n_samples"),
        ({"known_labels": [True]}, "known_labels"),
    ]:
        with pytest.raises(ValueError, match=match):
            ExpectedF1(**settings).decide(beliefs)
    for shares in ([0.1, 1.2], [-0.1, 0.0], [np.nan, 0.0], [0.1, 0.2, 0.3]):
        with pytest.raises(ValueError, match="shares"):
            ClassMass(shares).decide(beliefs)
    with pytest.raises(ValueError, match="shape"):
        score_sets(beliefs, np.ones((2, 2), bool))


@pytest.mark.parametrize("bad", [np.nan, -0.1, 1.1])
def test_beliefs_that_are_no_probabilities_are_refused(bad):
    p = np.full((4, 2), 0.3)
    p[2, 1] = bad
    with pytest.raises(ValueError, match="probabilit"):
        ExpectedF1().decide(MarginalPosterior(p))
    with pytest.raises(ValueError, match="probabilit"):
        ExpectedF1("samples").decide(MarginalPosterior(p))


def test_no_items_and_no_answers():
    nobody = MarginalPosterior(np.empty((0, 3)))
    for rule in (ExpectedF1(), ExpectedF1("samples"), ClassMass(0.3), ExpectedF1(method="samples")):
        assert rule.decide(nobody).shape == (0, 3)
