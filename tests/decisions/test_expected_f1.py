"""ExpectedF1: exhaustive search, dependence that only samples see, draws by block, bins, and the odd cases."""

from functools import partial
from itertools import product

import numpy as np
import pytest

import labelwise as lw
from labelwise.decisions import base, expected_f1, score_sets, streamed
from labelwise.numerics.counter_random import uniforms
from labelwise.numerics.expected_f1 import logit_codes
from labelwise.posterior import IgnorantPosterior, LabelPosterior, MarginalPosterior

ExpectedF1 = partial(lw.ExpectedF1, cautious=False)  # the maximum, come what may

ALL = [(average, method) for average in ("macro", "samples") for method in ("independent", "samples")]


class Mixture(LabelPosterior):
    """A finite mixture: with the given chances the probabilities are those of one of a few tables."""

    def __init__(self, tables, chances):
        super().__init__(*tables.shape[1:])
        self.tables, self.chances = tables, chances  # (cases, n, q), (cases,)

    def probabilities(self):
        return np.tensordot(self.chances, self.tables, 1)

    def rows(self, rows):
        return Mixture(self.tables[:, rows], self.chances)

    def sample_probabilities(self, n_samples, rng):
        return self.tables[rng.choice(len(self.chances), n_samples, p=self.chances)]

    def sample_labels(self, n_samples, rng):
        p = self.sample_probabilities(n_samples, rng)
        return rng.random(p.shape) < p

    def expected_f1(self, sets, empty):
        """(q,) exact expected F1 of (n, q) sets, per label, by summing over every outcome of every case."""
        n, q = sets.shape
        outcomes = np.array(list(product([0, 1], repeat=n)))  # (2ⁿ, n)
        value = np.zeros(q)
        for table, chance in zip(self.tables, self.chances, strict=True):
            weight = np.prod(np.where(outcomes[:, :, None] == 1, table, 1 - table), axis=1)  # (2ⁿ, q)
            total = outcomes.sum(1)[:, None] + sets.sum(0)
            f = np.where(total > 0, 2 * (outcomes @ sets) / np.maximum(total, 1), empty)
            value += chance * (weight * f).sum(0)
        return value


def beliefs(n=7, q=4, seed=0, power=2):
    return MarginalPosterior(np.random.default_rng(seed).random((n, q)) ** power)


def per_item(posterior):
    """The same beliefs with items and labels exchanged, so that macro and sample-wise problems can be compared."""
    return MarginalPosterior(np.ascontiguousarray(posterior.probabilities().T))


def every_set(n):
    return [np.array(chosen) for chosen in product([False, True], repeat=n)]


@pytest.mark.parametrize("empty", [0.0, 1.0])
def test_macro_sets_are_the_best_of_all_sets(empty):
    posterior = beliefs()
    exact = Mixture(posterior.probabilities()[None], np.ones(1))
    values = np.array([exact.expected_f1(np.tile(s[:, None], 4).astype(int), empty) for s in every_set(7)])  # (2⁷, q)
    result = ExpectedF1(empty_score=empty).decide_scored(posterior)
    np.testing.assert_allclose(result.expected, values.max(0), rtol=1e-11)
    np.testing.assert_allclose(exact.expected_f1(result.sets.astype(int), empty), values.max(0), rtol=1e-11)
    assert result.average == "macro" and result.mean == pytest.approx(values.max(0).mean())


def test_sample_wise_is_macro_with_items_and_labels_exchanged():
    posterior = beliefs(n=30, q=6)
    rows = ExpectedF1("samples", beta=0.7, empty_score=0.2).decide_scored(posterior)
    columns = ExpectedF1("macro", beta=0.7, empty_score=0.2).decide_scored(per_item(posterior))
    np.testing.assert_array_equal(rows.sets, columns.sets.T)
    np.testing.assert_allclose(rows.expected, columns.expected, rtol=1e-12)


def test_default_for_nothing_predicted_and_nothing_there():
    faint = MarginalPosterior(np.full((1, 3), 0.01))
    per_label, per_row = ExpectedF1().decide_scored(faint), ExpectedF1("samples").decide_scored(faint)
    assert per_label.sets.all()  # 0/0 counts 0: a label with any chance is predicted somewhere
    assert not per_row.sets.any()  # 0/0 counts 1: an item without labels is a success
    np.testing.assert_allclose(per_label.expected, 0.01)
    np.testing.assert_allclose(per_row.expected, 0.99**3)
    assert not ExpectedF1(empty_score=0.5).decide(faint).any()


# -- samples -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("average", ["macro", "samples"])
@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_many_samples_agree_with_the_exact_rule_where_labels_are_independent(average, beta):
    posterior = beliefs(n=40, q=5)
    exact = ExpectedF1(average, beta=beta).decide_scored(posterior)
    sampled = ExpectedF1(average, beta=beta, method="samples", n_samples=4000).decide_scored(posterior)
    np.testing.assert_allclose(sampled.expected, exact.expected, atol=0.03)  # at most ½/√4000, times 4
    truth = score_sets(posterior, sampled.sets, average=average, beta=beta)
    assert truth.expected.min() > 0 and np.all(truth.expected > exact.expected - 0.02)


def test_sample_wise_draws_see_labels_that_come_together():
    together = Mixture(np.stack([np.ones((1, 5)), np.zeros((1, 5))]), np.array([0.3, 0.7]))  # all labels, or none
    blind = ExpectedF1("samples").decide(together)
    seeing = ExpectedF1("samples", method="samples", n_samples=2000).decide_scored(together)
    assert blind.any()  # 0.3 each, apart: an item without any would be rare
    assert not seeing.sets.any()
    assert seeing.expected[0] == pytest.approx(0.7, abs=0.04)


class Joint(Mixture):
    """One whose draws are the same case for all blocks of items."""

    joint_draws = True

    def rows(self, rows):
        return Joint(self.tables[:, rows], self.chances)


@pytest.mark.parametrize(("kind", "entries"), [(Mixture, 2**22), (Joint, 2**22), (Joint, 2 * 3000)])
def test_macro_draws_see_items_that_come_together(kind, entries, monkeypatch):
    monkeypatch.setattr(expected_f1, "SAMPLE_ENTRIES", entries)  # the last: blocks of two items
    high = np.array([0.9, 0.9, 0.8, 0.8, 0.7, 0.7, 0.7, 0.7])[:, None]
    posterior = kind(np.stack([high, high / 50]), np.array([0.5, 0.5]))
    sampled = ExpectedF1(method="samples", n_samples=3000).decide_scored(posterior)
    values = [posterior.expected_f1(np.arange(8)[:, None] < k, 0.0)[0] for k in range(9)]
    assert sampled.mean == pytest.approx(max(values), abs=0.03)
    assert posterior.expected_f1(sampled.sets.astype(int), 0.0)[0] > max(values) - 0.01
    assert abs(ExpectedF1().decide_scored(posterior).mean - max(values)) > 0.08  # what independence would promise


@pytest.mark.parametrize("entries", [2**22, 5 * 3 * 6])  # one block, and blocks of six items
def test_macro_statistics_equal_the_naive_formula_on_the_same_draws(monkeypatch, entries):
    monkeypatch.setattr(expected_f1, "SAMPLE_ENTRIES", entries)
    posterior = beliefs(n=20, q=3)
    rule = ExpectedF1(method="samples", n_samples=5, random_state=11)
    p, drawn = posterior.probabilities(), []
    for t in range(5):
        drawn.append(uniforms(0, *p.shape, seed=11, sample=t, kind=streamed.LABEL_DRAWS) < p)
    y = np.array(drawn)  # (s, n, q), all draws kept
    result = rule.decide_scored(posterior)
    codes = logit_codes(p, streamed.CUTS, streamed.CUT_REACH)
    for j in range(3):
        values = []
        for cut in np.unique(codes[:, j]):
            chosen = codes[:, j] <= cut
            values.append(np.mean([2 * (t & chosen).sum() / max(t.sum() + chosen.sum(), 1) for t in y[:, :, j]]))
        assert result.expected[j] == pytest.approx(max(values), rel=1e-12)
        np.testing.assert_array_equal(result.sets[:, j], codes[:, j] <= np.unique(codes[:, j])[np.argmax(values)])


@pytest.mark.parametrize("method", ["independent", "samples"])
def test_a_grid_of_thresholds_is_searched_as_printed(method):
    posterior = beliefs(n=40, q=4)
    p = posterior.probabilities()
    result = ExpectedF1(method=method, n_samples=7, thresholds=20, beta=1.5).decide_scored(posterior)
    y = np.array([uniforms(0, *p.shape, seed=0, sample=t, kind=streamed.LABEL_DRAWS) < p for t in range(7)])
    for j in range(4):
        values, grid = [], np.arange(20) / 20
        for threshold in grid:
            chosen = p[:, j] > threshold
            if method == "independent":
                values.append(score_sets(posterior, p > threshold, beta=1.5).expected[j])
            else:
                found = [3.25 * (t & chosen).sum() / max(2.25 * t.sum() + chosen.sum(), 1) for t in y[:, :, j]]
                values.append(np.mean(found))
        assert result.expected[j] == pytest.approx(max(values), rel=1e-9)
        np.testing.assert_array_equal(result.sets[:, j], p[:, j] > grid[len(grid) - 1 - np.argmax(values[::-1])])


@pytest.mark.parametrize(("average", "thresholds"), [("macro", 1), ("macro", 10**5), ("samples", 20)])
def test_thresholds_that_are_none(average, thresholds):
    with pytest.raises(ValueError, match='thresholds must be None or between 2 and 65536, with average="macro"'):
        ExpectedF1(average, thresholds=thresholds).decide(beliefs(n=12, q=2))


@pytest.mark.parametrize("average", ["macro", "samples"])
def test_seed_decides_the_draws(average):
    posterior = beliefs(n=30, q=4)

    def expected(seed):
        rule = ExpectedF1(average, method="samples", n_samples=5, random_state=seed)
        return rule.decide_scored(posterior).expected

    np.testing.assert_array_equal(expected(1), expected(1))
    assert not np.array_equal(expected(1), expected(2))


def test_blocks_have_draws_of_their_own(monkeypatch):
    monkeypatch.setattr(expected_f1, "SAMPLE_ENTRIES", 5)
    same = MarginalPosterior(np.full((40, 1), 0.5))
    found = ExpectedF1("samples", method="samples", n_samples=5).decide_scored(same).expected
    assert len(set(found)) > 2


# -- large batches -----------------------------------------------------------------------------------------------------


def test_bins_lose_next_to_nothing(monkeypatch):
    rng = np.random.default_rng(5)
    posterior = MarginalPosterior(rng.beta([0.02, 0.2, 1.0], [2.0, 2.0, 3.0], (6000, 3)))
    exact = ExpectedF1().decide_scored(posterior)
    monkeypatch.setattr(base, "EXACT_ENTRIES", 100)
    monkeypatch.setattr(base, "BLOCK_ENTRIES", 1000)
    binned = ExpectedF1().decide_scored(posterior)
    np.testing.assert_allclose(binned.expected, exact.expected, atol=1e-4)
    by_bins = score_sets(posterior, exact.sets)
    monkeypatch.undo()
    np.testing.assert_allclose(score_sets(posterior, binned.sets).expected, exact.expected, atol=1e-4)
    np.testing.assert_allclose(by_bins.expected, exact.expected, atol=1e-4)


def test_a_large_batch_is_never_asked_for_as_a_whole(monkeypatch):
    class Blocks(MarginalPosterior):
        def probabilities(self):
            assert self.n_items <= 50, "the whole batch at once"
            return super().probabilities()

        def rows(self, rows):
            return Blocks(self._probabilities[rows])

    for module, name in ((base, "EXACT_ENTRIES"), (base, "BLOCK_ENTRIES"), (expected_f1, "SAMPLE_ENTRIES")):
        monkeypatch.setattr(module, name, 200)
    posterior = Blocks(np.random.default_rng(0).random((300, 4)))
    for average, method in ALL:
        assert ExpectedF1(average, method=method, n_samples=2).decide(posterior).shape == (300, 4)
    assert score_sets(posterior, np.ones((300, 4), dtype=bool)).expected.shape == (4,)


# -- every average and method ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("average", "method"), ALL)
def test_expected_scores_are_those_of_the_sets_returned(average, method):
    posterior = beliefs(n=25, q=6)
    result = ExpectedF1(average, method=method, n_samples=3000).decide_scored(posterior)
    tolerance = 1e-11 if method == "independent" else 0.04
    np.testing.assert_allclose(
        score_sets(posterior, result.sets, average=average).expected, result.expected, atol=tolerance
    )
    np.testing.assert_array_equal(ExpectedF1(average, method=method, n_samples=3000).decide(posterior), result.sets)


@pytest.mark.parametrize("average", ["macro", "samples"])
def test_order_of_items_and_labels_does_not_matter(average):
    posterior = beliefs(n=30, q=5)
    items, labels = np.random.default_rng(1).permutation(30), np.array([4, 2, 0, 1, 3])
    moved = MarginalPosterior(posterior.probabilities()[items][:, labels])
    straight = ExpectedF1(average).decide(posterior)
    np.testing.assert_array_equal(ExpectedF1(average).decide(moved), straight[items][:, labels])


@pytest.mark.parametrize(("average", "method"), ALL)
def test_equal_probabilities(average, method):
    same = MarginalPosterior(np.full((6, 6), 0.4))
    result = ExpectedF1(average, method=method, empty_score=0.0, n_samples=500).decide_scored(same)
    assert result.sets.all()  # one more of the same is worth it as long as p > F/2
    sure = MarginalPosterior(np.where(np.eye(6) == 1, 1.0, 0.2))
    np.testing.assert_array_equal(ExpectedF1(average, method=method, n_samples=500).decide(sure), np.eye(6, dtype=bool))


@pytest.mark.parametrize(("average", "method"), ALL)
def test_impossible_entries_are_never_chosen(average, method):
    p = np.random.default_rng(2).random((12, 4))
    p[:, 1], p[5] = 0.0, 0.0
    sets = ExpectedF1(average, method=method, n_samples=50).decide(MarginalPosterior(p))
    assert not sets[p == 0].any() and sets.any()


@pytest.mark.parametrize(("average", "method"), ALL)
def test_certain_beliefs_are_followed(average, method):
    truth = np.random.default_rng(3).random((9, 5)) < 0.4
    truth[0] = False
    result = ExpectedF1(average, method=method, n_samples=3, empty_score=1.0).decide_scored(
        MarginalPosterior(truth.astype(float))
    )
    np.testing.assert_array_equal(result.sets, truth)
    np.testing.assert_allclose(result.expected, 1.0, rtol=1e-12)


@pytest.mark.parametrize(("average", "method"), ALL)
def test_labels_that_are_not_known_are_left_out(average, method):
    posterior = beliefs(n=20, q=4)
    known = np.array([True, False, True, True])
    part = ExpectedF1(average, method=method, known_labels=known, n_samples=60).decide(posterior)
    assert not part[:, 1].any() and part.any()
    if method == "independent":
        others = ExpectedF1(average).decide(MarginalPosterior(posterior.probabilities()[:, known]))
        np.testing.assert_array_equal(part[:, known], others)


@pytest.mark.parametrize(("average", "method"), ALL)
def test_a_batch_without_items(average, method):
    result = ExpectedF1(average, method=method).decide_scored(MarginalPosterior(np.zeros((0, 3))))
    assert result.sets.shape == (0, 3) and result.sets.dtype == bool
    if average == "macro":
        np.testing.assert_array_equal(result.expected, np.zeros(3))
    else:
        assert result.expected.shape == (0,) and np.isnan(result.mean)


def test_beta_widens_the_sets():
    posterior = beliefs(n=60, q=5)
    for average in ("macro", "samples"):
        sizes = [ExpectedF1(average, beta=beta).decide(posterior).sum() for beta in (0.01, 0.5, 1.0, 2.0, 100.0)]
        assert sizes == sorted(sizes) and sizes[0] < sizes[2] < sizes[4]


def test_ignorance_is_accepted():
    assert ExpectedF1().decide(IgnorantPosterior(5, 3)).all()


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"average": "micro"}, "average must be one of .*micro"),
        ({"beta": 0.0}, "beta must be positive and finite, got 0.0"),
        ({"beta": float("nan")}, "beta"),
        ({"method": "exact"}, "method must be .*exact"),
        ({"empty_score": 2.0}, "empty_score must lie between 0 and 1, got 2.0"),
        ({"known_labels": [True]}, r"known_labels has shape \(1,\), expected \(4,\)"),
        ({"method": "samples", "n_samples": 0}, "n_samples must be positive"),
        ({"method": "samples", "random_state": -1}, "random_state not negative"),
    ],
)
def test_wrong_settings_are_named(wrong, words):
    with pytest.raises(ValueError, match=words):
        ExpectedF1(**wrong).decide(beliefs())


@pytest.mark.parametrize("bad", [1.5, -0.1, np.nan])
def test_wrong_probabilities_are_named(bad):
    p = np.full((3, 2), 0.5)
    p[1, 1] = bad
    for average, method in ALL:
        with pytest.raises(ValueError, match="probabilities must lie between 0 and 1"):
            ExpectedF1(average, method=method).decide(MarginalPosterior(p))


def test_sets_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"sets has shape \(2, 2\), expected \(7, 4\)"):
        score_sets(beliefs(), np.ones((2, 2)))


# -- caution where F1 is no guide --------------------------------------------------------------------------------------


def young(n, seed=0):
    """230 labels: of six something is known, of the others only that they are rare."""
    rng = np.random.default_rng(seed)
    p = np.full((n, 230), 1 / 6)
    p[:, :6] = rng.uniform(0.2, 0.9, (n, 6))
    return MarginalPosterior(p)


@pytest.mark.parametrize("method", ["independent", "samples"])
@pytest.mark.parametrize("average", ["macro", "samples"])
@pytest.mark.parametrize("n", [1, 3, 9, 10, 200])
def test_labels_of_which_nothing_is_known_are_not_given_to_everything(n, average, method):
    bold = lw.ExpectedF1(average, method=method, cautious=False).decide(young(n))
    sets = lw.ExpectedF1(average, method=method).decide(young(n))
    assert bold[:, 6:].mean() > 0.9
    assert not sets[:, 6:].any()
    assert sets[:, :6].sum(axis=1).mean() > 2


@pytest.mark.parametrize("method", ["independent", "samples"])
def test_a_few_items_are_decided_one_by_one(method):
    p = np.random.default_rng(1).uniform(0, 0.3, (9, 40))
    few = lw.ExpectedF1(method=method).decide_scored(MarginalPosterior(p))
    alone = lw.ExpectedF1("samples", method=method).decide_scored(MarginalPosterior(p))
    np.testing.assert_array_equal(few.sets, alone.sets)
    assert few.average == "samples" and few.expected.shape == (9,)
    many = lw.ExpectedF1(method=method).decide_scored(MarginalPosterior(np.vstack([p, p[:1]])))
    assert many.average == "macro" and many.expected.shape == (40,)


@pytest.mark.parametrize("method", ["independent", "samples"])
def test_flat_labels_are_given_where_they_are_known_to_be_learnt_or_likely(method):
    p = np.column_stack([np.full(20, 0.3), np.full(20, 0.6), np.linspace(0.1, 0.4, 20)])
    rule = lw.ExpectedF1(method=method)
    assert rule.decide(MarginalPosterior(p)).any(axis=0).tolist() == [False, True, True]
    known = lw.ExpectedF1(method=method, known_labels=[True, True, True]).decide(MarginalPosterior(p))
    assert known[:, :2].all()
    scored = rule.decide_scored(MarginalPosterior(p))
    assert scored.expected[0] == 0.0


def test_an_item_gets_no_more_labels_than_it_can_be_believed_to_have():
    """The number of an item's labels, and the F of what is left, by brute force over all label sets."""
    rng = np.random.default_rng(5)
    p = rng.uniform(0.02, 0.12, (30, 10))
    outcomes = np.array(list(product([0, 1], repeat=10)), dtype=bool)
    for row in p:
        result = lw.ExpectedF1("samples", empty_score=0.0).decide_scored(MarginalPosterior(row[None]))
        weight = np.prod(np.where(outcomes, row, 1 - row), axis=1)
        size = outcomes.sum(1)
        most = max(1, int(weight @ size + 2 * np.sqrt(weight @ size**2 - (weight @ size) ** 2)))
        chosen = result.sets[0]
        assert 1 <= chosen.sum() <= most
        f = 2 * (outcomes & chosen).sum(1) / (size + chosen.sum())
        np.testing.assert_allclose(result.expected[0], weight @ f, rtol=1e-9)
        best = max(
            weight @ (2 * (outcomes & (row >= cut)).sum(1) / np.maximum(size + (row >= cut).sum(), 1))
            for cut in np.sort(row)[::-1][:most]
        )
        np.testing.assert_allclose(result.expected[0], best, rtol=1e-9)  # of all sets of a size that can be believed


def test_caution_changes_nothing_where_a_model_knows_its_labels():
    rng = np.random.default_rng(6)
    p = np.where(rng.random((50, 30)) < 0.1, rng.uniform(0.6, 0.95, (50, 30)), rng.uniform(0.001, 0.02, (50, 30)))
    for average in ("macro", "samples"):
        bold, careful = (lw.ExpectedF1(average, cautious=how).decide(MarginalPosterior(p)) for how in (False, True))
        np.testing.assert_array_equal(bold, careful)
