"""What random questions say of a campaign, against figures made by hand and by refitting."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise.campaign.standing import MIN_RANDOM_ITEMS, AnswerArrays, measure_standing
from labelwise.posterior import MarginalPosterior
from labelwise.records.costs import Spent

N, Q = 400, 3


class Noisy:
    """Knows the truth of each entry with a chance that rises with what it was taught; X holds the row numbers."""

    def __init__(self, truth, chance):
        self.truth, self.chance = truth, chance

    def posterior(self, X):
        rows = X[:, 0].astype(int)
        wrong = np.random.default_rng(5).random(self.truth.shape)[rows] > self.chance
        return MarginalPosterior(np.where(self.truth[rows] ^ wrong, 0.9, 0.1))


def campaign(n_items=120, share=0.5, seed=0):
    """Whole items answered in a random order, a share of them by random questions."""
    rng = np.random.default_rng(seed)
    truth = rng.random((N, Q)) < 0.4
    items = rng.permutation(N)[:n_items]
    rows, labels = np.repeat(items, Q), np.tile(np.arange(Q), n_items)
    random = np.repeat(rng.random(n_items) < share, Q)
    return truth, AnswerArrays(rows, labels, truth[rows, labels], random)


def above_half(beliefs):
    return beliefs.probabilities() > 0.5


def judge(truth, told, learn, seed=0, seconds=None, unit="s"):
    X = np.arange(N)[:, None].astype(float)
    seconds = np.ones(told.rows.size) if seconds is None else seconds
    spent = Spent(0, 0, 0, float(seconds.sum()), unit)
    return measure_standing(told, spent, seconds, X, learn, above_half, np.random.default_rng(seed))


def test_no_item_is_judged_by_a_model_that_learnt_from_it():
    truth, told = campaign()
    seen: list[set[int]] = []

    class Spy(Noisy):
        def posterior(self, X):
            assert not self.taught & set(X[:, 0].astype(int).tolist())
            seen.append(set(X[:, 0].astype(int).tolist()))
            return super().posterior(X)

    def learn(allowed):
        model = Spy(truth, 1.0)
        model.taught = set(told.rows[allowed].tolist())
        return model

    judge(truth, told, learn)
    assert set.union(*seen) == set(told.rows[told.random].tolist())


def test_f1_is_that_of_the_random_answers():
    truth, told = campaign()
    model = Noisy(truth, 0.8)
    found = judge(truth, told, lambda allowed: model)
    items = np.unique(told.rows[told.random])
    predicted = model.posterior(items[:, None].astype(float)).probabilities() > 0.5
    tp = (predicted & truth[items]).sum()
    assert found.f1.value == pytest.approx(2 * tp / (predicted.sum() + truth[items].sum()))
    assert found.f1.low < found.f1.value < found.f1.high
    assert (found.random_items, found.random_answers) == (items.size, items.size * Q)


def test_the_interval_holds_the_truth_about_as_often_as_it_says():
    held = 0
    for seed in range(60):
        truth, told = campaign(n_items=100, share=0.6, seed=seed)
        everything = np.arange(N)[:, None].astype(float)
        model = Noisy(truth, 0.75)
        predicted = model.posterior(everything).probabilities() > 0.5
        f1 = 2 * (predicted & truth).sum() / (predicted.sum() + truth.sum())
        estimate = judge(truth, told, lambda allowed, model=model: model, seed).f1
        held += estimate.low <= f1 <= estimate.high
    assert 46 <= held <= 60  # nine in ten of 60 is 54, and items of a finite pool vary a little less


@pytest.mark.parametrize(("worth", "sign"), [(3.0, 1), (1 / 3, -1), (1.0, 0)])
def test_the_strategy_is_compared_with_equally_many_random_answers(worth, sign):
    truth, told = campaign(n_items=200)

    def learn(allowed):  # one answer of the strategy teaches as much as `worth` random ones
        amount = (allowed & told.random).sum() + worth * (allowed & ~told.random).sum()
        return Noisy(truth, 0.5 + 0.5 * amount / (amount + 150))

    found = judge(truth, told, learn)
    assert np.sign(round(found.over_random.value, 6)) == sign
    if sign > 0:
        assert found.over_random.low > 0 and found.saved.value == pytest.approx(1 / 3, abs=0.12)
    if sign < 0:
        assert found.over_random.high < 0 and found.saved.value == pytest.approx(-1 / 2, abs=0.2)


def test_where_every_model_is_as_good_nothing_was_saved():
    truth, told = campaign(n_items=200)
    found = judge(truth, told, lambda allowed: Noisy(truth, 0.9))
    assert (found.over_random.value, found.saved.value, found.saved.low, found.saved.high) == (0.0, 0.0, 0.0, 0.0)


def test_it_advises_to_stop_when_the_second_half_brought_nothing():
    truth, told = campaign()
    assert judge(truth, told, lambda allowed: Noisy(truth, 0.9)).advice.startswith("stop: ")
    growing = judge(truth, told, lambda allowed: Noisy(truth, 0.5 + 0.4 * allowed.mean()))
    assert growing.advice.startswith("go on: ") and growing.per_doubling.low > 0


def test_it_says_so_where_little_or_nothing_is_known():
    truth, told = campaign(share=0.0)
    nothing = judge(truth, told, lambda allowed: Noisy(truth, 1.0))
    assert nothing.f1 is None and "labelwise new --control 0.1 (control=0.1)" in nothing.advice
    truth, told = campaign(n_items=MIN_RANDOM_ITEMS - 1, share=1.0)
    little = judge(truth, told, lambda allowed: Noisy(truth, 1.0))
    assert little.f1 is None and little.over_random is None and f"{MIN_RANDOM_ITEMS} are needed" in little.advice
    empty = AnswerArrays(told.rows, told.labels, told.values & False, told.random)
    assert judge(truth, empty, lambda allowed: None).f1 is None


def test_a_correction_counts_wherever_it_came_from():
    truth, told = campaign(share=1.0)
    first, label = told.rows[0], told.labels[0]
    flipped = AnswerArrays(
        *(
            np.append(a, b)
            for a, b in zip(
                (told.rows, told.labels, told.values, told.random), (first, label, ~told.values[0], False), strict=True
            )
        )
    )
    right = judge(truth, told, lambda allowed: Noisy(truth, 1.0))
    wrong = judge(truth, flipped, lambda allowed: Noisy(truth, 1.0))
    assert right.f1.value == 1.0 and wrong.f1.value < 1.0 and wrong.random_items == right.random_items


@pytest.mark.parametrize(("dearer", "saved"), [(1.0, 1 / 4), (4.0, -1 / 3)])
def test_the_strategy_is_compared_in_time_not_in_answers(dearer, saved):
    """By hand: random answers learnt 1/2 + 1/2 of what they have, the strategy is there after 1/2 + 1/4 of the time.

    An answer of the strategy teaches as much as two random ones, but takes as long as `dearer` of them."""
    truth, told = campaign(n_items=200)

    def learn(allowed):
        amount = (allowed & told.random).sum() + 2 * (allowed & ~told.random).sum()
        return Noisy(truth, 0.5 + 0.5 * amount / (amount + 150))

    found = judge(truth, told, learn, seconds=np.where(told.random, 10.0, 10.0 * dearer))
    assert np.sign(found.over_random.value) == np.sign(saved)
    assert found.saved.value == pytest.approx(saved, abs=0.12)


def test_the_curve_is_that_of_models_taught_by_the_first_part_of_the_time():
    truth, told = campaign(n_items=200)
    seconds = np.linspace(30.0, 5.0, told.rows.size)  # people get faster
    taught = []

    def learn(allowed):
        taught.append(float(seconds[allowed].sum()))
        return Noisy(truth, 0.5 + 0.4 * allowed.mean())

    found = judge(truth, told, learn, seconds=seconds)
    points = found.curve.points
    assert [point.seconds for point in points] == sorted(point.seconds for point in points)
    assert points[-1].f1 == pytest.approx(found.f1.value, abs=1e-4) and points[0].f1 < points[-1].f1
    for point in points:  # what is said to be learnt from was learnt from, to within an answer in each of the folds
        assert np.abs(np.array(taught) - point.seconds).min() < 0.05 * seconds.sum()
    assert found.curve.seconds == pytest.approx(seconds.sum()) and points[-1].seconds < seconds.sum()
    assert found.per_doubling.value == pytest.approx(points[-1].f1 - points[3].f1, abs=1e-3)


def test_what_an_hour_is_worth_decides_the_advice():
    truth, told = campaign(n_items=200)
    grows = judge(truth, told, lambda allowed: Noisy(truth, 0.5 + 0.4 * allowed.mean()), seconds=np.full(600, 20.0))
    assert grows.outlook.next_hour.value > 0.01 and grows.outlook.to_target is None
    worth_it = "more time is worth it with a probability of "
    assert grows.asked_for(worth_an_hour=0.01).advice.startswith(f"go on: {worth_it}9"), "of more than 90 %"
    assert grows.asked_for(worth_an_hour=0.9).advice.startswith(f"stop: {worth_it}0 %, less than the risk of 20 %; the")
    assert grows.asked_for(worth_an_hour=0.9, risk=0.0).advice.startswith("go on: "), "no risk, no stop"
    assert grows.asked_for(target_f1=0.4).outlook.to_target.value == 0
    with pytest.raises(ValueError, match=r"write 0\.8 for 80 %"):
        grows.asked_for(target_f1=80)


@pytest.mark.parametrize("bad", ["free", "money"])
def test_without_times_there_is_a_standing_but_no_curve(bad):
    truth, told = campaign(n_items=200)
    prices = np.zeros(600) if bad == "free" else np.ones(600)
    found = judge(
        truth,
        told,
        lambda allowed: Noisy(truth, 0.5 + 0.4 * allowed.mean()),
        seconds=prices,
        unit="s" if bad == "free" else "EUR",
    )
    assert found.f1 is not None and found.saved is not None
    assert found.curve is None and found.outlook is None
    assert found.asked_for(0.8, 0.01) == found
