"""MMC against a transcription of its formula by loops, and against another package's choice."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from labelwise import BinaryRelevance, Campaign, ExpectedLossReduction, LabelData
from labelwise.posterior import IgnorantPosterior, MarginalPosterior
from rival_problems import Problem, campaign_picks, exact_logistic, problem


def shares(row):
    ordered = sorted(row, reverse=True)
    return [value / sum(ordered) for value in ordered]


def naive(it: Problem, *, values="probability", C=1.0):
    """{row: score}: train on items answered in full, then item by item and label by label."""
    complete = [i for i in range(len(it.p)) if it.observed[i].all()]
    counter = LogisticRegression(C=C, max_iter=1000)
    counter.fit([shares(it.p[i]) for i in complete], [it.Y[i].sum() for i in complete])
    found = {}
    for i in it.open_rows:
        row = it.believed[i]
        count = counter.predict([shares(row)])[0]
        top = sorted(range(len(row)), key=lambda j: -row[j])[:count]
        total = 0.0
        for j in range(len(row)):
            if it.observed[i, j]:
                continue
            f = 2 * row[j] - 1 if values == "probability" else np.log(row[j] / (1 - row[j]))
            total += (1 - (1 if j in top else -1) * f) / 2
        found[i] = total
    return found


@pytest.mark.parametrize("values", ["probability", "decision"])
@pytest.mark.parametrize("partial", [0, 15])
def test_against_the_formula(values, partial):
    it = problem(partial=partial)
    expected = naive(it, values=values)
    got = it.scores(ExpectedLossReduction(values))
    assert got.keys() == expected.keys()
    np.testing.assert_allclose([got[i] for i in expected], list(expected.values()), rtol=1e-6)


def test_the_count_matters():
    it = problem(n=200, complete=60)
    one, all_labels = np.zeros_like(it.Y), np.ones_like(it.Y)
    one[:, 0] = True
    lonely = Problem(it.p, one, it.observed, it.X).scores(ExpectedLossReduction())[150]
    full = Problem(it.p, all_labels, it.observed, it.X).scores(ExpectedLossReduction())[150]
    np.testing.assert_allclose(full, (1 - it.p[150]).sum())  # every answered item had all labels: (1 − f) / 2 = 1 − p
    np.testing.assert_allclose(lonely, it.p[150].sum() + 1 - 2 * it.p[150].max())  # or a single one each


def test_blocks_do_not_matter(monkeypatch):
    it = problem(n=100)
    whole = it.scores(ExpectedLossReduction())
    monkeypatch.setattr("labelwise.queries.expected_loss_reduction.BLOCK", 7)
    parts = it.scores(ExpectedLossReduction())
    assert whole.keys() == parts.keys()
    np.testing.assert_allclose([parts[i] for i in whole], list(whole.values()))


def test_order_of_labels_and_items_does_not_matter():
    it = problem()
    scores = it.scores(ExpectedLossReduction())
    turned = it.relabelled(np.array([3, 1, 4, 0, 2])).scores(ExpectedLossReduction())
    np.testing.assert_allclose([turned[i] for i in scores], list(scores.values()), rtol=1e-5)
    order = np.random.default_rng(5).permutation(len(it.p))
    moved = it.reordered(order).scores(ExpectedLossReduction())
    place = {int(row): new for new, row in enumerate(order)}
    np.testing.assert_allclose([moved[place[i]] for i in scores], list(scores.values()), rtol=1e-5)


def test_without_items_answered_in_full_the_model_counts():
    it = problem(complete=0, partial=30)
    assert not it.observed.all(1).any()
    got = it.scores(ExpectedLossReduction())
    row = 50
    count = round(it.p[row].sum())
    top = np.argsort(-it.p[row])[:count]
    sign = np.where(np.isin(np.arange(5), top), 1, -1)
    assert got[row] == pytest.approx(((1 - sign * (2 * it.p[row] - 1)) / 2).sum())


def test_everything_alike_is_asked_at_random():
    it = problem(n=40, complete=4, partial=0)
    same = Problem(np.full(it.p.shape, 0.3), it.Y, it.observed, it.X)
    first = {int(same.choose(ExpectedLossReduction(), 1, seed=seed).rows[0]) for seed in range(30)}
    assert len(first) > 10


def test_before_any_answer_it_asks_at_random():
    nothing = sp.csr_array((30, 3), dtype=bool)
    known = LabelData.from_arrays(np.eye(30), label_names=["a", "b", "c"])
    picks = {
        int(
            ExpectedLossReduction()
            .choose(IgnorantPosterior(30, 3), nothing, 1, np.random.default_rng(seed), known=known)
            .rows[0]
        )
        for seed in range(30)
    }
    assert len(picks) > 10


def test_one_label_few_open_and_all_closed():
    it = problem(q=1, n=12, complete=10, partial=0)
    assert sorted(it.choose(ExpectedLossReduction(), 5).rows.tolist()) == [10, 11]
    done = it.choose(ExpectedLossReduction(), 5, closed=np.ones((12, 1), dtype=bool))
    assert done.rows.size == 0
    certain = Problem(np.zeros((12, 1)), it.Y, it.observed, it.X)
    assert np.isfinite(certain.choose(ExpectedLossReduction(values="decision"), 2).scores).all()


def test_in_a_campaign_with_partial_answers():
    it = problem(n=80)
    campaign = Campaign(it.known, model=BinaryRelevance(), strategy=ExpectedLossReduction(), random_state=0)
    questions = campaign.ask(5)
    assert len({q.item for q in questions}) == 5
    assert all(np.isfinite(q.score) for q in questions)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"values": "svm"}, "got 'svm'"),
        ({"C": 0}, "must be positive, got 0"),
        ({"target": "pairs"}, "got target='pairs'"),
    ],
)
def test_wrong_options_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        problem().choose(ExpectedLossReduction(**options), 1)


def test_answers_about_another_pool_are_refused():
    it = problem()
    with pytest.raises(ValueError, match=r"\(60, 5\).*\(59, 5\)"):
        ExpectedLossReduction().choose(
            MarginalPosterior(it.p[1:]), sp.csr_array(it.observed[1:]), 1, np.random.default_rng(0), known=it.known
        )


def test_against_alipy():
    """The picks of ALiPy 1.2.5 (`QueryMultiLabelMMC`, scikit-learn 1.5.2) on the same pool, 20 items known at first.

    libact 0.1.6 is no measure here: it puts hard predictions for f and indexes the sorted labels by item.
    """
    picks = [26, 35, 44, 77, 68, 59, 50, 41, 32, 23, 73, 75]
    assert campaign_picks(ExpectedLossReduction(), exact_logistic(), 20, 12) == picks
