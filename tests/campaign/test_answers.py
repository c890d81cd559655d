"""What was paid, and that a campaign hands prices to whoever asks for them. What is learnt is tested by campaigns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest

from campaign_toys import InOrder, make_pool, start
from labelwise import Answer, BalancedPairs, Costs, Diagnosis, LabelData
from labelwise.campaign.answers import AnswerBook


def test_readings_are_runs_of_answers_about_one_item():
    book = AnswerBook(make_pool())
    book.add([Answer("3", {"a": True}), Answer("3", {"b": False}), Answer("5", {"a": True, "c": True})])
    book.add([Answer("3", {"c": True})])
    spent = book.spent(Costs(read=10.0, labels={"c": 4.0}))
    assert (spent.items, spent.readings, spent.answers) == (2, 3, 5)
    assert spent.cost == pytest.approx(3 * 10 + 2 * 1 + 1 * 1 + 2 * 4)


def test_nothing_told_costs_nothing_and_the_same_again_neither():
    book = AnswerBook(make_pool())
    assert book.spent(Costs(read=1.0)).cost == 0
    book.add([Answer("3", {"a": True}), Answer("4", {"a": True}), Answer("3", {"a": True})])
    assert book.spent(Costs(read=1.0)).readings == 2 and book.spent(Costs()).answers == 2


def test_what_answers_brought_since_is_what_training_gains():
    book = AnswerBook(make_pool())
    book.add([Answer("3", {"a": True}), Answer("7", {"b": True, "c": False})])
    _, before, _ = book.training()
    book.add([Answer("3", {"c": True}), Answer("7", {"b": True}), Answer("1", {"a": False})])
    rows, Y, observed = book.added(2)
    assert rows.tolist() == [3, 1]  # saying the same again brings nothing
    assert observed.tolist() == [[False, False, True], [True, False, False]] and Y.tolist()[0][2]
    assert before.sum() == 2 and book.training()[1].sum() == 3


def test_picked_labels_and_words_make_the_time_of_whole_items():
    texts = tuple("word " * n for n in range(10))
    book = AnswerBook(replace(make_pool(), items=(*texts, *({"title": "two words", "page": 3},) * 14)))
    book.add([Answer("4", {"a": True, "b": False, "c": True}), Answer("9", {"a": False}), Answer("20", {"b": True})])
    costs = Costs.short_text()
    pairs = costs.switch * costs.pair(9) + costs.pair(2)
    assert book.spent(costs).seconds == pytest.approx(costs.whole_item(2, words=4) + pairs)


def test_costs_are_the_campaigns_then_the_strategys_then_those_of_short_texts():
    dear = BalancedPairs(costs=Costs(read=7.0))
    assert start(strategy=dear).costs == Costs(read=7.0)
    assert start(strategy=dear, costs=Costs(read=2.0)).costs == Costs(read=2.0)
    assert start(strategy=Diagnosis(costs=[1.0, 0.0, 3.0])).costs.prices(3).tolist() == [1.0, 0.0, 3.0]
    assert start().costs == start(strategy=BalancedPairs()).costs == Costs.short_text()


def test_prices_that_nobody_chose_do_not_change_what_is_asked():
    asked = [start(strategy=BalancedPairs(), **given).ask(9) for given in ({}, {"costs": Costs()})]
    assert asked[0] == asked[1]


@dataclass(frozen=True)
class Curious(InOrder):
    """Keeps what it was shown."""

    looks_at_costs = True

    def choose(self, posterior, closed, n, rng, *, costs):
        assert costs.prices(3).tolist() == [1.0, 9.0, 1.0]
        return super().choose(posterior, closed, n, rng)


def test_a_strategy_that_looks_at_costs_sees_them_by_label_number():
    campaign = start(strategy=Curious(), costs=Costs(labels={"b": 9.0}))
    assert [question.item for question in campaign.ask(2)] == ["0", "1"]
    campaign.tell(Answer("0", {"b": True}))
    assert campaign.spent().cost == 9.0


def test_base_rates_come_from_random_answers_alone():
    campaign = start()
    for item, reason, value in (("0", "control", True), ("1", "start", False), ("2", "strategy", True)):
        campaign.tell(Answer(item, {"a": value, "b": True}, reason))
    assert campaign.base_rates()[:2].tolist() == [0.5, 1.0] and np.isnan(campaign.base_rates()[2])


def test_labels_that_follow_from_others_cost_nothing():
    labels = [{"name": "science"}, {"name": "physics", "parent": "science"}, {"name": "optics", "parent": "physics"}]
    data = LabelData.from_arrays(np.eye(4), labels=[*labels, {"name": "art"}], implies_parent=True)
    costs = Costs(read=10.0, open=3.0, pick=4.0, answer=1.0, switch=1.0)
    book = AnswerBook(data)
    book.add([Answer("0", {"science": False, "physics": False, "optics": True, "art": True})])
    assert book.spent(costs).cost == 10 + 3 + 2 * 4  # two were picked, and two more are known
    book.add([Answer("1", {"optics": True})])
    assert book.spent(costs).cost == 21 + 10 + 1  # one yes, which says three things
    book.add([Answer("2", {"science": False})])
    assert book.spent(costs).cost == 32 + 10 + 1
    book.add([Answer("3", {"science": True})])
    book.add([Answer("3", {"optics": True})])
    assert book.spent(costs).cost == 43 + 10 + 1 + 1
    each = book.seconds(costs, len(book))
    assert each.size == book.told().labels.size and each.sum() == pytest.approx(55)
    book = AnswerBook(data)
    book.add([Answer("0", dict.fromkeys(["science", "physics", "optics", "art"], True))])  # said, though implied
    assert book.spent(costs).cost == 10 + 3 + 2 * 4
    prices = Costs(read=0.0, labels={"optics": 5.0, "science": 7.0})
    assert book.spent(prices).cost == 5 + 1
