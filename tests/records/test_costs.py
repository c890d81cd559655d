from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from labelwise import Costs
from labelwise.records.asking import SWEEP_PAGE
from labelwise.records.costs import Level, Spent, divisors

LISTS = [make(level) for make in (Costs.short_text, Costs.long_text, Costs.picture) for level in get_args(Level)]


def priced_one_by_one(costs, events, words, further=()):
    """What of_answers says, by the formulas of the docstring and plain loops."""
    paid, before, was_whole = [], None, None
    for place, ((item, said), n_words) in enumerate(zip(events, words, strict=True)):
        if place in further:
            paid.append(sum(costs.prices(4)[label] for label in said))
            continue
        whole = len(said) > 1 or place + 1 in further
        seconds = costs.read + costs.read_word * n_words if item != before else 0.0
        if whole and costs.pick is not None and costs.labels is None:
            seconds += costs.open + costs.pick * sum(said.values())
        else:
            seconds += (costs.open if whole else 0.0) + sum(costs.prices(4)[label] for label in said)
        paid.append(seconds * (costs.switch if was_whole not in (None, whole) else 1.0))
        before, was_whole = item, whole
    return paid


@pytest.mark.parametrize("costs", [*LISTS, Costs(), Costs(read=3, answer=0.5), Costs.laboratory((5.0, 0.0, 2.0, 9.0))])
def test_a_log_of_answers_costs_what_its_answers_cost_one_by_one(costs):
    rng = np.random.default_rng(0)
    log = [
        (int(rng.integers(3)), {int(label): bool(rng.random() < 0.5) for label in rng.permutation(4)[:size]})
        for size in rng.choice([1, 1, 2, 4], 40)
    ]
    words = rng.integers(0, 300, 40)
    items = np.array([item for item, _ in log])
    seconds = costs.of_answers(
        np.repeat(np.arange(40), [len(said) for _, said in log]),
        np.concatenate([list(said) for _, said in log]),
        np.concatenate([list(said.values()) for _, said in log]),
        opened=np.diff(items, prepend=-1) != 0,
        words=words,
    )
    assert seconds.tolist() == pytest.approx(priced_one_by_one(costs, log, words))


def test_further_labels_of_an_open_item_cost_their_answers_alone():
    log = [
        (0, {0: True, 1: False}),
        (0, {2: True, 3: False}),
        (1, {0: False}),
        (1, {1: True, 2: True, 3: False}),
        (2, {1: True}),
    ]
    for costs in (*LISTS, Costs(read=3, answer=0.5)):
        seconds = costs.of_answers(
            np.repeat(np.arange(5), [len(said) for _, said in log]),
            np.concatenate([list(said) for _, said in log]),
            np.concatenate([list(said.values()) for _, said in log]),
            opened=np.array([True, False, True, False, True]),
            further=np.array([False, True, False, True, False]),
            words=[40] * 5,
        )
        assert seconds.tolist() == pytest.approx(priced_one_by_one(costs, log, [40] * 5, further={1, 3}))
        assert seconds[1] == pytest.approx(costs.further(2))


def test_an_item_of_a_sweep_costs_a_cell_and_its_part_of_a_page():
    log = [{0: True, 1: False}, {2: True}, {2: False}, {2: False}, {1: True}]
    for costs in LISTS:
        seconds = costs.of_answers(
            np.repeat(np.arange(5), [len(said) for said in log]),
            np.concatenate([list(said) for said in log]),
            np.concatenate([list(said.values()) for said in log]),
            opened=np.ones(5, dtype=bool),
            swept=np.array([False, True, True, True, False]),
            words=[40] * 5,
        )
        tile = costs.cell + costs.open / SWEEP_PAGE
        alone = (costs.read + costs.read_word * 40 + costs.answer) * costs.switch
        assert seconds[1:].tolist() == pytest.approx([tile * costs.switch, tile, tile, alone])
    tests = Costs.laboratory((5.0, 0.0, 2.0))
    priced = tests.of_answers(
        np.arange(2), np.array([0, 2]), np.ones(2, bool), opened=np.zeros(2, bool), swept=np.ones(2, bool)
    )
    assert priced.tolist() == [5.0, 2.0]


def test_the_published_item_of_200_labels():
    """Fifty words, 2.5 labels: all yes or no takes 352 s, picking 25 s, ten suggestions and typing the rest 24 s."""
    costs = Costs.short_text()
    assert costs.reading(50) + costs.further(200) == pytest.approx(352, abs=1)
    assert costs.whole_item(2.5, words=50) == pytest.approx(25, abs=1)
    assert costs.whole_item(0.5, words=50, accepted=2, looked=10) == pytest.approx(24, abs=0.5)


def test_every_kind_is_priced_for_many_items_at_once():
    costs, words = Costs.short_text("high"), np.array([0.0, 10.0, 1000.0])
    assert costs.reading(words) == pytest.approx(0.34 * words)
    assert costs.pair(words) == pytest.approx(0.34 * words + 2.7)
    one_by_one = [costs.whole_item(n, words=w, accepted=1, looked=4) for n, w in zip((2, 0, 1), words, strict=True)]
    assert costs.whole_item([2, 0, 1], words=words, accepted=1, looked=4) == pytest.approx(np.array(one_by_one))
    assert costs.sweep([1, 12]) == pytest.approx([5 + 6, 5 + 12 * 6])


def test_levels_are_in_order_and_length_makes_the_long_text_dear():
    for make in (Costs.short_text, Costs.long_text, Costs.picture):
        low, mid, high = (make(level).whole_item(3, looked=5) for level in get_args(Level))
        assert low < mid < high
    assert Costs.long_text().whole_item(2) > Costs.short_text().whole_item(2) > Costs.picture().whole_item(2)
    assert Costs.long_text().whole_item(2, words=40) == Costs.short_text().whole_item(2, words=40)


def test_a_list_that_lacks_a_kind_takes_the_nearest_one():
    bare = Costs(read=2.0, answer=1.5)
    assert bare.whole_item(3, looked=8) == 2 + 3 * 1.5 and bare.sweep(4) == 4 * 3.5
    assert Costs(pick=4.0).whole_item(1, accepted=1) == 8.0
    assert not bare.picks and Costs(pick=4.0).picks and not Costs(pick=4.0, labels=(1.0,)).picks
    assert Costs().of_answers(*(np.zeros(5, dtype=t) for t in (int, int, bool)), opened=np.array([True])).tolist() == [
        5
    ]


def test_a_length_that_is_not_known_is_a_typical_one():
    costs = Costs.long_text()
    assert costs.reading([np.nan, 10.0]).tolist() == [costs.reading(), costs.reading(10)]
    with pytest.raises(ValueError, match="0 words or more, got -3"):
        costs.reading([4, -3])


def test_free_labels_are_the_cheapest_to_divide_by():
    assert Costs.laboratory({"a": 0, "b": 3}).of_labels("ab").prices(2).tolist() == [0, 3]
    assert divisors(np.array([0.0, 3.0])).tolist() == pytest.approx([0.003, 3.0])
    assert divisors(np.zeros(3)).tolist() == [1, 1, 1] and Costs.laboratory((0.0, 0.0)).answer == 1


def test_a_list_by_its_name():
    assert Costs.named("long-text:high") == Costs.long_text("high") and Costs.named("picture") == Costs.picture()
    for wrong in ("text", "picture:huge", ""):
        with pytest.raises(ValueError, match="there is no price list"):
            Costs.named(wrong)
    with pytest.raises(ValueError, match="level must be one of low, mid, high, got 'huge'"):
        Costs.picture("huge")


def test_money_is_not_time():
    assert Spent(1, 1, 1, 5.0).seconds == 5.0 and np.isnan(Spent(1, 1, 1, 5.0, "EUR").seconds)


def test_names_become_positions_and_positions_stay():
    by_name = Costs(labels={"b": 4.0, "a": 2.0})
    assert by_name.of_labels(["a", "c", "b"]).prices(3).tolist() == [2.0, 1.0, 4.0]
    by_place = Costs(labels=(1.0, 2.0))
    assert by_place.of_labels(["x", "y"]) == by_place
    assert Costs(answer=3).of_labels("xy") == Costs(answer=3)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"read": -1}, "reading an item must be 0 or more, got -1"),
        ({"read": float("nan")}, "reading an item"),
        ({"answer": 0}, "an answer must be more than 0, got 0"),
        ({"answer": float("inf")}, "an answer"),
        ({"labels": {"b": -2}}, "label 'b' must be 0 or more, got -2"),
        ({"labels": (1.0, float("inf"))}, "label 1 must be 0 or more"),
        ({"switch": 0.5}, "switching must be 1 or more, got 0.5"),
        ({"pick": -1}, "picking a label must be 0 or more, got -1"),
    ],
)
def test_prices_that_make_no_sense_are_refused(options, told):
    with pytest.raises(ValueError, match=told):
        Costs(**options)


def test_prices_for_other_labels_are_refused():
    with pytest.raises(ValueError, match="cost for the label 'z', but no such"):
        Costs(labels={"z": 1.0}).of_labels("ab")
    with pytest.raises(ValueError, match="costs of 2 labels, but 3"):
        Costs(labels=(1.0, 1.0)).of_labels("abc")
    with pytest.raises(ValueError, match=r"use costs\.of_labels"):
        Costs(labels={"a": 1.0}).prices(1)
