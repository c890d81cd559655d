from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.campaign import Costs
from labelwise.decisions import Threshold
from labelwise.models import BinaryRelevance, LabelGP
from labelwise.numerics.metrics import evaluate
from labelwise.queries import BY_NAME, BalancedPairs, Random, Uncertainty
from labelwise.records import LabelData, Question
from labelwise.studies.simulate import Answerer, Schedule, simulate, split
from rest_slow import rest_slow


def figures(result):
    """Rows without the seconds, which no seed can fix."""
    return [{k: v for k, v in row.items() if not k.startswith("seconds")} for row in result.rows]


def run(data, strategy, seed=0, test=None, model=None, **schedule):
    plan = Schedule(**{"start": 6, "rounds": 3, "batch": 5, **schedule})
    return simulate(data, model=model or BinaryRelevance(), strategy=strategy, schedule=plan, seed=seed, test=test)


def test_the_same_seed_gives_the_same_curve_and_another_seed_another(small):
    first, again, other = run(small, Uncertainty()), run(small, Uncertainty()), run(small, Uncertainty(), seed=1)
    assert figures(first) == figures(again)
    assert first.asked == again.asked
    assert figures(first) != figures(other)


@pytest.mark.parametrize("name", rest_slow(BY_NAME, 8))
def test_every_strategy_of_a_seed_starts_and_is_tested_alike(small, name):
    strategy = BY_NAME[name]()
    at_random = Random(target=strategy.target)
    whole, baseline = run(small, Random(), model=LabelGP()), run(small, at_random, model=LabelGP())
    result = run(small, strategy, model=LabelGP())
    assert result.asked[0] == whole.asked[0] and len(result.asked[0]) == 6
    assert figures(result)[0] == figures(baseline)[0]
    assert result.rows[0]["answers"] == whole.rows[0]["answers"] == 18


def test_the_seed_alone_draws_test_set_pool_and_start(small):
    schedule = Schedule(start=4, test_share=0.25, pool_limit=30)
    pool, test = split(small, schedule, seed=3)
    assert (test.n_items, pool.n_items) == (22, 30)
    assert not set(pool.item_ids) & set(test.item_ids)
    again, _ = split(small, schedule, seed=3)
    assert again.item_ids == pool.item_ids
    assert split(small, schedule, seed=4)[1].item_ids != test.item_ids


def test_costs_are_counted_in_both_currencies(small):
    whole = run(small, Random())
    assert [(row["items_read"], row["answers"]) for row in whole.rows] == [(6, 18), (11, 33), (16, 48), (21, 63)]
    pairs = run(small, Random(target="pairs"), pair_batch=15)
    assert [row["answers"] for row in pairs.rows] == [18, 33, 48, 63]
    assert pairs.rows[-1]["items_read"] == len(pairs.items())
    assert all(label in small.label_names for batch in pairs.asked[1:] for _, label in batch)
    assert run(small, Random(target="pairs")).rows[-1]["answers"] == 18 + 3 * 5


def test_questions_are_counted_round_by_round(small):
    assert [row["questions"] for row in run(small, Random()).rows] == [6, 5, 5, 5]
    assert [row["questions"] for row in run(small, Random(target="pairs"), pair_batch=15).rows] == [6, 15, 15, 15]


def test_a_test_set_is_cut_to_its_limit(small):
    whole, test = split(small, Schedule(), 3)
    pool, fewer = split(small, Schedule(test_limit=7), 3)
    assert pool.item_ids == whole.item_ids  # who is asked about does not depend on it
    assert fewer.n_items == 7 and set(fewer.item_ids) < set(test.item_ids)
    _, given = split(whole, Schedule(test_limit=7), 3, test=test)
    assert given.n_items == 7 and set(given.item_ids) < set(test.item_ids)


def test_nothing_is_asked_twice_and_nothing_of_the_test_set(small):
    result = run(small, Uncertainty(target="pairs"), pair_batch=20)
    _, test = split(small, Schedule(), 0)
    asked = [pair for batch in result.asked[1:] for pair in batch]
    start = {item for item, _ in result.asked[0]}
    assert len(asked) == len(set(asked))
    assert not any(item in start for item, _ in asked)
    assert not {item for item, _ in asked} & set(test.item_ids)


def test_the_last_row_is_what_a_model_fitted_by_hand_on_the_asked_items_scores(small):
    result = run(small, Random())
    pool, test = split(small, Schedule(), 0)
    rows = [pool.item_ids.index(item) for item in result.items()]
    model = BinaryRelevance(random_state=0).fit(pool.X[rows], pool.Y[rows])
    expected = evaluate(model.predict_proba(test.X), test.Y.toarray(), model.predict(test.X))  # the default decision
    got = {name: result.rows[-1][name] for name in expected}
    assert got == pytest.approx(expected, rel=1e-3)  # liblinear stops early, and the order of rows differs


def test_a_published_test_set_is_used_whatever_the_seed(small):
    train, test = small.take(np.arange(60)), small.take(np.arange(60, 90))
    result = run(train, Random(), test=test)
    model = BinaryRelevance(random_state=0).fit(*_rows(train, result.items()))
    assert result.rows[-1]["log_loss"] == pytest.approx(
        evaluate(model.predict_proba(test.X), test.Y.toarray())["log_loss"], rel=1e-3
    )


def _rows(data, items):
    rows = [data.item_ids.index(item) for item in items]
    return data.X[rows], data.Y[rows]


def test_a_decision_of_your_own_is_what_f1_judges(small):
    plan, pool_and_test = Schedule(start=6, rounds=0), split(small, Schedule(), 0)
    result = simulate(small, model=BinaryRelevance(), strategy=Random(), schedule=plan, decision=Threshold(0.5))
    model = BinaryRelevance(random_state=0).fit(*_rows(pool_and_test[0], result.items()))
    p, truth = model.predict_proba(pool_and_test[1].X), pool_and_test[1].Y.toarray()
    assert result.rows[0]["micro_f1"] == pytest.approx(evaluate(p, truth, p > 0.5)["micro_f1"])


def test_the_answerer_says_the_truth_about_what_is_asked_and_no_more(small):
    answer = Answerer(small).answer(Question(small.item_ids[7], ("rough",), "control"))
    assert answer.values == {"rough": bool(small.Y[[7]].toarray()[0, 2])}
    assert answer.reason == "control"
    told = Answerer(small).answers(Question(item, small.label_names) for item in small.item_ids)
    assert [list(each.values.values()) for each in told] == small.Y.toarray().tolist()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": 0}, "start must be at least 1, got 0"),
        ({"rounds": -1}, "rounds must be at least 0"),
        ({"pair_batch": 0}, "pair_batch must be at least 1"),
        ({"test_share": 1.0}, "test_share must lie between 0 and 1, got 1.0"),
    ],
)
def test_a_senseless_schedule_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Schedule(**change)


def test_more_questions_than_the_pool_holds_are_refused_before_the_first_fit(small):
    with pytest.raises(ValueError, match="do not fit a pool of 60 items with 3 labels; lower"):
        run(small, Random(), rounds=11)
    with pytest.raises(ValueError, match="do not fit"):
        run(small, Random(target="pairs"), pair_batch=55)


def test_unknown_labels_cannot_be_simulated():
    data = LabelData.from_arrays(np.eye(4), [[1, np.nan]] * 4)
    with pytest.raises(ValueError, match="4 labels of the data are unknown"):
        run(data, Random())


def test_a_test_set_of_another_kind_is_refused(small):
    other = LabelData.from_arrays(small.X, small.Y, label_names=["red", "round", "big"])
    with pytest.raises(ValueError, match=r"same labels: only one of them has .*big.*rough"):
        run(small, Random(), test=other)
    narrow = LabelData.from_arrays(small.X[:, :2], small.Y, label_names=small.label_names)
    with pytest.raises(ValueError, match="2 features, but the data have 4"):
        run(small, Random(), test=narrow)


def test_sparse_features_give_the_curve_of_dense_ones(small):
    sparse = LabelData.from_arrays(sp.csr_array(small.X), small.Y, label_names=small.label_names)
    model = BinaryRelevance(scale="none")  # "auto" prepares dense features in another way than sparse ones
    dense_rows, sparse_rows = (figures(run(data, Random(), model=model)) for data in (small, sparse))
    assert dense_rows[-1]["log_loss"] == pytest.approx(sparse_rows[-1]["log_loss"], rel=1e-3)


def test_rows_sum_up_what_reading_and_answering_cost(small):
    result = run(small, BalancedPairs(), start=4, rounds=2, batch=6, costs=Costs(read=3.0, answer=0.5))
    for row in result.rows:
        assert row["cost"] == pytest.approx(3.0 * row["readings"] + 0.5 * row["answers"])
    last = result.rows[-1]
    assert last["items_read"] <= last["readings"] <= 4 + 12


def test_an_answerer_forgets_when_it_picks_and_not_when_it_is_asked():
    rng = np.random.default_rng(0)
    truth = LabelData.from_arrays(rng.normal(size=(300, 2)), rng.random((300, 6)) < 0.4)
    forgetful = Answerer(truth, recall=0.8, random_state=3)
    whole = [forgetful.answer(Question(item, truth.label_names)) for item in truth.item_ids]
    said = np.array([[answer.values[name] for name in truth.label_names] for answer in whole])
    Y = truth.Y.toarray()
    assert not (said & ~Y).any()  # nothing is made up
    assert said.sum() / Y.sum() == pytest.approx(0.8, abs=4 * (0.16 / Y.sum()) ** 0.5)
    assert forgetful.answer(Question(truth.item_ids[7], truth.label_names)) == whole[7]  # missed again
    row, label = np.argwhere(Y & ~said)[0]
    asked = Question(truth.item_ids[row], (truth.label_names[label],))
    assert forgetful.answer(asked).values == {truth.label_names[label]: True}
    with pytest.raises(ValueError, match="recall"):
        Answerer(truth, recall=0.0)
