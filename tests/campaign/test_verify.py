"""Likely labels that were not picked: which are asked about, and what becomes of the answers."""

from __future__ import annotations

import numpy as np
import pytest

from labelwise import Answer, BinaryRelevance, Campaign, Costs, LabelData, Random
from labelwise.campaign.answers import AnswerBook
from labelwise.records.asking import VERIFY
from labelwise.records.missed import USUAL_MISS_RATE
from labelwise.studies import Answerer

NAMES = ("a", "b", "c", "d", "e")


def pool(n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    return LabelData.from_arrays(X, X @ rng.standard_normal((3, 5)) > 0.3, label_names=NAMES)


def begun(truth, n=12, **options):
    campaign = Campaign(truth.hide(), model=BinaryRelevance(), strategy=Random(), **options)
    campaign.tell(Answerer(truth).answers(campaign.ask(n)))
    return campaign


def by_hand(campaign, answer):
    """The labels to verify, by plain loops over Bayes' rule."""
    row = campaign.data.item_ids.index(answer.item)
    p = campaign.believe().probabilities()[row]
    missed, found = dict.fromkeys(NAMES, 0), dict.fromkeys(NAMES, 0)
    items = [each.item for each in campaign.answers if each.reason == VERIFY]
    counts = False
    for each in campaign.answers:
        counts = counts or each.item in items[:1]
        for name, there in each.values.items():
            if there and counts:
                (missed if each.reason == VERIFY else found)[name] += 1
    m, f = sum(missed.values()), sum(found.values())
    prior = (5 * USUAL_MISS_RATE + m) / (5 + m + f)
    chance = {}
    for label, name in enumerate(NAMES):
        rate = (5 * prior + missed[name]) / (5 + missed[name] + found[name])
        if not answer.values[name]:
            chance[name] = p[label] * rate / (p[label] * rate + 1 - p[label])
    known = campaign.labelled()
    yes, asked = known.Y.toarray().sum(0), known.observed_mask().toarray().sum(0)
    rates = [(1 + yes[label]) / (1 + asked[label]) for label in range(5)]
    worth = {name: chance[name] / rates[NAMES.index(name)] ** 0.5 for name in chance}
    return tuple(sorted((name for name in worth if chance[name] >= 0.003), key=lambda name: -worth[name])[:4])


def test_the_likeliest_labels_that_were_not_picked_are_asked_about():
    truth = pool()
    campaign, forgetful = begun(truth), Answerer(truth, recall=0.5, random_state=1)
    asked = 0
    for _ in range(15):
        answer = forgetful.answer(campaign.ask(1)[0])
        further, expected = campaign.verify(answer), by_hand(campaign, answer)
        assert (further.labels if further else ()) == expected
        if further:
            assert (further.item, further.reason) == (answer.item, VERIFY)
            asked += 1
        campaign.tell([answer, *([forgetful.answer(further)] if further else [])])
    assert asked > 8 and campaign.pick_counts().missed.sum() > 2


def test_nothing_is_verified_where_nothing_was_picked():
    truth = pool()
    whole = Answerer(truth).answer(Campaign(truth.hide(), strategy=Random()).ask(1)[0])
    assert Campaign(truth.hide(), model=BinaryRelevance(), strategy=Random()).verify(whole) is None  # no answers yet
    campaign = begun(truth)
    assert campaign.verify(Answer(whole.item, {"a": False})) is None  # one label is a yes or no already
    assert campaign.verify(Answer(whole.item, dict.fromkeys(NAMES, True))) is None  # all were picked
    assert campaign.verify(Answer(whole.item, dict.fromkeys(NAMES, False), VERIFY)) is None
    one_by_one = begun(truth, costs=Costs(read=3.0))
    assert one_by_one.verify(Answer(whole.item, dict.fromkeys(NAMES, False))) is None
    assert begun(truth).verify(Answer(whole.item, dict.fromkeys(NAMES, False))) is not None
    for wrong in (Answer("elsewhere", {"a": True, "b": False}), Answer(whole.item, {"zzz": False, "a": False})):
        with pytest.raises(ValueError, match="there is no"):
            campaign.verify(wrong)


def test_what_was_verified_stands_in_place_of_what_was_not_picked():
    told = [Answer("3", {"a": True, "b": False, "c": False}), Answer("3", {"b": True}, VERIFY)]
    together, apart = AnswerBook(pool().hide()), AnswerBook(pool().hide())
    together.add(told)
    assert [dict(answer.values) for answer in together.answers] == [{"a": True, "c": False}, {"b": True}]
    assert together.corrected == 0  # nothing was unsaid: the model can go on from where it is
    apart.add(told[:1])
    with pytest.raises(ValueError, match="correction=True"):
        apart.add(told[1:])
    apart.add([Answer("3", {"b": True}, VERIFY, correction=True)])
    for one, other in zip(together.training(), apart.training(), strict=True):
        assert np.array_equal(one, other)
    again = AnswerBook(pool().hide())
    again.add(together.answers)
    assert again.answers == together.answers


def test_a_label_that_was_picked_cannot_be_unsaid_by_verifying_it():
    book = AnswerBook(pool().hide())
    with pytest.raises(ValueError, match="was answered True before"):
        book.add([Answer("3", {"a": True, "b": False}), Answer("3", {"a": False}, VERIFY)])
    with pytest.raises(ValueError, match="says nothing"):
        book.add([Answer("3", {})])
    assert len(book) == 0


def test_an_answer_of_which_every_label_was_verified_is_the_verified_one():
    book = AnswerBook(pool().hide())
    book.add([Answer("3", {"a": False, "b": False}), Answer("3", {"a": True, "b": False}, VERIFY)])
    assert [answer.reason for answer in book.answers] == [VERIFY] and book.labels_with_yes().tolist()[0]


@pytest.mark.parametrize(("reason", "random"), [("control", True), ("start", True), ("strategy", False)])
def test_verified_labels_are_as_random_as_the_answer_they_belong_to(reason, random):
    book = AnswerBook(pool().hide())
    book.add([Answer("3", dict.fromkeys("abcd", False), reason), Answer("3", {"b": True, "c": False}, VERIFY)])
    assert book.told().random.tolist() == [random] * 4
    yes, no = book.random_counts()
    assert (yes.tolist(), no.tolist()) == (([0, 1, 0, 0, 0], [1, 0, 1, 1, 0]) if random else ([0] * 5, [0] * 5))


def test_verifying_costs_its_answers_and_no_reading():
    costs, book = Costs.short_text("high"), AnswerBook(pool().hide())
    book.add([Answer("3", dict.fromkeys("abcd", False)), Answer("3", {"b": True, "c": False}, VERIFY)])
    book.add([Answer("4", {"a": True, "b": True, "c": False})])
    spent = book.spent(costs)
    assert spent.seconds == pytest.approx(costs.whole_item(0) + costs.further(2) + costs.whole_item(2))
    assert (spent.items, spent.readings, spent.answers) == (2, 2, 7)
    assert book.seconds(costs, 2).sum() == pytest.approx(costs.whole_item(0) + costs.further(2))


@pytest.mark.parametrize("recall", [1.0, 0.8])
def test_the_miss_rate_comes_close_to_the_truth_and_who_forgets_nothing_is_hardly_asked(recall):
    truth = pool(300)
    campaign, person = begun(truth, 20), Answerer(truth, recall=recall)
    asked = []
    for _ in range(12):
        answers = person.answers(campaign.ask(20), campaign.verify)
        asked.append(sum(len(answer.values) for answer in answers if answer.reason == VERIFY))
        campaign.tell(answers)
    rate, low, high = campaign.pick_counts().overall()
    assert low < rate < high and rate == pytest.approx(1 - recall, abs=0.08)
    assert sum(asked[6:]) < sum(asked[:6]) / 10 if recall == 1 else sum(asked[6:]) > 60


def test_a_campaign_rebuilt_from_its_answers_asks_the_same():
    truth = pool(60)
    campaign, forgetful = begun(truth), Answerer(truth, recall=0.6, random_state=2)
    for _ in range(3):
        campaign.tell(forgetful.answers(campaign.ask(4), campaign.verify))
    again = Campaign(truth.hide(), model=BinaryRelevance(), strategy=Random(), answers=campaign.answers)
    question = campaign.ask(1)[0]
    assert again.ask(1)[0] == question
    assert again.verify(forgetful.answer(question)) == campaign.verify(forgetful.answer(question))
    assert np.array_equal(again.pick_counts().missed, campaign.pick_counts().missed)
