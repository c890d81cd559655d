"""Campaign: what it promises of asking, telling, believing and predicting."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chisquare

from campaign_toys import (
    LABELS,
    Counting,
    Diary,
    InOrder,
    Refitted,
    Ridge,
    assert_same_state,
    known_pairs,
    make_pool,
    make_truth,
    reply,
    start,
)
from labelwise import (
    Answer,
    BinaryRelevance,
    Campaign,
    Costs,
    ExpectedF1,
    LabelData,
    Question,
    Random,
    Threshold,
    TopLabels,
    Uncertainty,
)
from labelwise.data import make_gaussian_labels
from labelwise.posterior import MarginalPosterior
from labelwise.queries.base import Choice
from labelwise.studies import Answerer


def asked_with_seed(campaign, seed, n):
    """What the same campaign would ask had it been given another seed."""
    campaign.random_state = seed
    return campaign.ask(n)


# -- asking ------------------------------------------------------------------------------------------------------------


def test_a_cold_start_asks_whole_items_at_random():
    campaign = start()
    questions = campaign.ask(5)
    assert len({question.item for question in questions}) == 5
    assert {(question.labels, question.reason) for question in questions} == {(LABELS, "cold start")}
    first = [asked_with_seed(campaign, seed, 1)[0].item for seed in range(1000)]
    assert chisquare([first.count(str(i)) for i in range(24)]).pvalue > 1e-3


def test_a_cold_start_asks_pairs_at_random():
    questions = start(strategy=Uncertainty("pairs")).ask(50)
    assert len({(question.item, question.labels) for question in questions}) == 50
    assert {len(question.labels) for question in questions} == {1}


def test_asking_changes_nothing():
    diary = Diary()
    campaign = start(model=Ridge(diary), control=0.3)
    for _ in range(3):
        questions = campaign.ask(6)
        assert campaign.ask(6) == questions
        campaign.ask(2)
        campaign.believe()
        assert campaign.ask(6) == questions
        campaign.tell(reply(questions, make_truth()))
    assert diary == [("fit", 3 * 5), ("partial_fit", 3), ("fit", 3 * 12)]  # after 6 and after 12 answers, once each


def test_after_the_first_answer_the_strategy_asks_what_it_wants():
    truth, campaign = make_truth(), start(strategy=Uncertainty("pairs"))
    campaign.tell(Answer(str(i), {name: truth[i, j] for j, name in enumerate(LABELS)}) for i in range(5))
    p = campaign.believe().probabilities()
    wanted = sorted((abs(p[i, j] - 0.5), str(i), LABELS[j]) for i in range(5, 24) for j in range(3))[:7]
    questions = campaign.ask(7)
    order = list(dict.fromkeys(i for _, i, _ in wanted))  # an item is read once, where its first question stands
    wanted.sort(key=lambda entry: order.index(entry[1]))
    assert [(question.item, question.labels[0]) for question in questions] == [(i, name) for _, i, name in wanted]
    assert {question.reason for question in questions} == {"strategy"}


@pytest.mark.parametrize("target", ["items", "pairs"])
@pytest.mark.parametrize("control", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("n", [10_000, 10**15])
def test_asking_for_more_than_is_open_gives_every_open_question_once(target, control, n):
    truth, campaign = make_truth(), start(strategy=Random(target), control=control)
    campaign.tell([Answer("3", {"a": True}), Answer("4", dict.fromkeys(LABELS, False))])
    questions = campaign.ask(n)
    pairs = [(question.item, name) for question in questions for name in question.labels]
    every = {(str(i), name) for i in range(24) for name in LABELS}
    assert len(set(pairs)) == len(pairs)
    assert set(pairs) == every - {("3", "a"), ("4", "a"), ("4", "b"), ("4", "c")}
    campaign.tell(reply(questions, truth))
    assert campaign.ask(5) == [] and campaign.ask(0) == []


def test_open_labels_only():
    campaign = start()
    campaign.tell(Answer("7", {"b": True}))
    asked = {question.item: question.labels for question in campaign.ask(24)}
    assert asked["7"] == ("a", "c") and asked["6"] == LABELS


@pytest.mark.parametrize("target", ["items", "pairs"])
@pytest.mark.parametrize("control", [0.0, 0.5])
def test_excluded_items_are_not_asked(target, control):
    campaign = start(strategy=Uncertainty(target), control=control)
    campaign.tell(Answer("0", {"a": True}))
    skipped = {str(i) for i in range(20)}
    questions = campaign.ask(100, exclude=skipped)
    assert {question.item for question in questions} == {"20", "21", "22", "23"}
    assert sum(len(question.labels) for question in questions) == 12
    assert campaign.ask(3, exclude=[str(i) for i in range(24)]) == []
    assert {question.item for question in campaign.ask(100)} >= skipped - {"0"}  # nothing is remembered


def test_bad_requests_are_named():
    campaign = start()
    with pytest.raises(ValueError, match="not negative, got -1"):
        campaign.ask(-1)
    with pytest.raises(ValueError, match="no item '77' in the campaign; did you mean '7'"):
        campaign.ask(1, exclude=["77"])
    for control in (-0.1, 1.5, float("nan")):
        with pytest.raises(ValueError, match="between 0 and 1"):
            start(control=control)


def test_an_empty_pool_asks_nothing():
    empty = LabelData.from_arrays(np.empty((0, 3)), label_names=LABELS)
    for target in ("items", "pairs"):
        campaign = start(empty, strategy=Uncertainty(target), control=0.5)
        assert campaign.ask(3) == [] and campaign.predict().shape == (0, 3)
    campaign.add_items(make_pool())
    assert len(campaign.ask(3)) == 3


# -- the random share --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["items", "pairs"])
def test_the_control_share_is_marked_and_right(target):
    pool = make_pool(400)
    campaign = start(pool, strategy=Uncertainty(target), control=0.2)
    drawn = total = 0
    for step in range(30):
        questions = campaign.ask(40)
        assert len(questions) == 40
        assert len({(q.item, q.labels) for q in questions}) == 40
        assert {q.reason for q in questions} <= {"control", "strategy" if step else "cold start"}
        assert all(np.isnan(q.score) == (q.reason == "control") for q in questions)
        drawn, total = drawn + sum(q.reason == "control" for q in questions), total + 40
        campaign.tell(Answer(questions[0].item, dict.fromkeys(questions[0].labels, True)))
    assert binomtest(drawn, total, 0.2).pvalue > 1e-3


def test_one_question_at_a_time_has_the_control_share_too():
    campaign, drawn = start(make_pool(300), strategy=InOrder(), control=0.3), 0
    for _ in range(250):
        (question,) = campaign.ask(1)
        drawn += question.reason == "control"
        campaign.tell(Answer(question.item, {"a": True}, question.reason))
    assert binomtest(drawn, 250, 0.3).pvalue > 1e-3
    assert drawn == sum(answer.reason == "control" for answer in campaign.answers)


def test_control_questions_are_uniform_over_the_open_items_and_stand_anywhere():
    items, places, campaign = np.zeros(24), np.zeros(6), start(strategy=InOrder(), control=0.25)
    for seed in range(1000):
        for place, question in enumerate(asked_with_seed(campaign, seed, 6)):
            if question.reason == "control":
                items[int(question.item)] += 1
                places[place] += 1
    assert chisquare(items).pvalue > 1e-3
    assert chisquare(places).pvalue > 1e-3
    assert binomtest(int(items.sum()), 6000, 0.25).pvalue > 1e-3


def test_control_pairs_are_uniform_over_the_open_pairs():
    campaign, counts = start(make_pool(4), strategy=Uncertainty("pairs"), control=1.0), np.zeros((4, 3))
    campaign.tell([Answer("0", {"a": True, "b": True}), Answer("2", {"c": False})])
    for seed in range(1000):
        (question,) = asked_with_seed(campaign, seed, 1)
        assert question.reason == "control"
        counts[int(question.item), LABELS.index(question.labels[0])] += 1
    closed = np.array([[1, 1, 0], [0, 0, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    assert counts[closed].sum() == 0
    assert chisquare(counts[~closed]).pvalue > 1e-3


def test_the_rest_of_a_batch_is_the_strategys_best():
    campaign = start(strategy=InOrder(), control=0.4, random_state=3)
    questions = campaign.ask(10)
    drawn = {q.item for q in questions if q.reason == "control"}
    planned = [q.item for q in questions if q.reason != "control"]
    assert 0 < len(drawn) < 10
    assert planned == [str(i) for i in range(24) if str(i) not in drawn][: len(planned)]


# -- telling -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [True, 1, 1.0, np.True_, np.int64(1), np.uint8(1), np.float32(1)], ids=repr)
def test_yes_in_every_number(value):
    campaign = start()
    campaign.tell(Answer("0", {"a": value}))
    assert known_pairs(campaign.labelled()) == {("0", "a"): True}


@pytest.mark.parametrize("value", ["yes", "1", None, 2, 0.5, float("nan"), [1]], ids=repr)
def test_what_is_neither_yes_nor_no_is_refused(value):
    campaign = start()
    with pytest.raises(ValueError, match=r"label 'a' of item '0' must be True or False"):
        campaign.tell(Answer("0", {"a": value}))
    assert campaign.answers == ()


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (Answer("item", {"a": True}), "no item 'item'"),
        (Answer("222", {"a": True}), "no item '222' in the campaign; did you mean '22'"),
        (Answer(2, {"a": True}), "no item 2 in the campaign; did you mean '2'"),
        (Answer("3", {"aa": True}), "no label 'aa' in the campaign; did you mean 'a'"),
        (Answer("3", {"b": True, "a": "?"}), "must be True or False"),
        (Answer("3", {}), "says nothing"),
        (
            Answer("0", {"b": True, "a": False}),
            "'a' of item '0' was answered True before and now False.*correction=True",
        ),
        (Answer("1", {"a": True}), "'a' of item '1' was answered False before"),  # earlier in the same batch
    ],
)
def test_one_bad_answer_and_nothing_is_taken(bad, words):
    campaign, untouched = start(), start()
    for both in (campaign, untouched):
        both.tell(Answer("0", {"a": True}))
        both.ask(2)
    with pytest.raises(ValueError, match=words):
        campaign.tell(
            [Answer("1", {"a": False}), Answer("5", dict.fromkeys(LABELS, True)), bad, Answer("6", {"a": True})]
        )
    assert_same_state(campaign, untouched)
    campaign.tell(Answer("1", {"a": True}))  # the refused batch is not held against later answers
    assert known_pairs(campaign.labelled())["1", "a"] is True


def test_answers_come_singly_in_lists_and_from_generators():
    answers = reply([Question(str(i), LABELS) for i in range(4)], make_truth())
    singly, listed, generated = start(), start(), start()
    for answer in answers:
        singly.tell(answer)
    listed.tell(answers)
    generated.tell(answer for answer in answers)
    assert_same_state(singly, listed)
    assert_same_state(singly, generated)
    assert singly.answers == tuple(answers)


@pytest.mark.parametrize("model", [Ridge, Counting, Refitted])
def test_saying_the_same_again_teaches_nothing(model):
    once, twice = start(model=model()), start(model=model())
    answers = reply([Question(str(i), LABELS) for i in range(8)], make_truth())
    once.tell(answers)
    for answer in answers:
        twice.tell([answer, answer])
        twice.ask(1)
    twice.tell(Answer("0", {"a": answers[0].values["a"]}))
    np.testing.assert_allclose(twice.believe().probabilities(), once.believe().probabilities(), rtol=1e-9)
    assert len(twice.answers) == 17  # said is said: the list is append-only
    assert known_pairs(twice.labelled()) == known_pairs(once.labelled())


@pytest.mark.parametrize("model", [Ridge, Counting, Refitted])
def test_a_correction_leaves_no_trace_of_the_error(model):
    answers = reply([Question(str(i), LABELS) for i in range(10)], make_truth())
    wrong = [Answer("4", {name: not value for name, value in answers[4].values.items()}), *answers[5:]]
    right, corrected = start(model=model()), start(model=model())
    right.tell(answers)
    corrected.tell(answers[:4])
    for answer in wrong:
        corrected.tell(answer)
        corrected.ask(1)
    corrected.tell(Answer("4", answers[4].values, correction=True))
    np.testing.assert_allclose(corrected.believe().probabilities(), right.believe().probabilities(), rtol=1e-9)
    assert known_pairs(corrected.labelled()) == known_pairs(right.labelled())
    assert len(corrected.answers) == 11


def test_a_correction_within_a_batch_and_back_again():
    campaign = start()
    campaign.tell([Answer("0", {"a": True}), Answer("0", {"a": False}, correction=True), Answer("0", {"b": True})])
    assert known_pairs(campaign.labelled()) == {("0", "a"): False, ("0", "b"): True}
    campaign.tell(Answer("0", {"a": True}, correction=True))
    assert known_pairs(campaign.labelled())["0", "a"] is True
    with pytest.raises(ValueError, match="answered True before"):
        campaign.tell(Answer("0", {"a": False}))


@dataclass(frozen=True)
class Said:
    """One thing said, for hypothesis to draw."""

    item: int
    label: int
    value: bool
    correction: bool


spoken = st.lists(st.builds(Said, st.integers(0, 3), st.integers(0, 2), st.booleans(), st.booleans()), max_size=25)


@settings(max_examples=60, deadline=None)
@given(spoken, st.integers(1, 7))
def test_what_is_known_is_what_was_said_last(sayings, size):
    """Against a plain dictionary, one answer at a time; then the accepted ones again in batches of any size."""
    pool, said = make_pool(4), {}
    campaign = start(pool)
    for saying in sayings:
        key = (str(saying.item), LABELS[saying.label])
        answer = Answer(key[0], {key[1]: saying.value}, correction=saying.correction)
        if said.get(key, saying.value) != saying.value and not saying.correction:
            with pytest.raises(ValueError, match="before and now"):
                campaign.tell(answer)
        else:
            campaign.tell(answer)
            said[key] = saying.value
    assert known_pairs(campaign.labelled()) == said
    again = start(pool)
    for begin in range(0, len(campaign.answers), size):
        again.tell(campaign.answers[begin : begin + size])
    assert_same_state(campaign, again)
    assert_same_state(campaign, start(pool, answers=campaign.answers))


# -- believing and predicting ------------------------------------------------------------------------------------------


def test_before_anything_is_known_every_label_is_as_likely_as_not():
    campaign = start()
    for beliefs in (campaign.believe(), campaign.believe(np.zeros((5, 3))), campaign.believe(sp.csr_array((5, 3)))):
        assert np.all(beliefs.probabilities() == 0.5) and beliefs.n_labels == 3
    assert not campaign.predict().any() and campaign.predict(np.zeros((5, 3))).shape == (5, 3)


def test_what_was_answered_stands_in_the_pool_but_not_elsewhere():
    truth, campaign = make_truth(), start()
    campaign.tell(reply([Question(str(i), LABELS[:2]) for i in range(12)], truth))
    p = campaign.believe().probabilities()
    expected = np.zeros(p.shape, dtype=bool)
    expected[:, :2] = ExpectedF1("samples", empty_score=0.5).decide(MarginalPosterior(p[:, :2]))  # of the third no yes
    assert np.any(expected[:12, :2] != truth[:12, :2])  # beliefs alone err on some
    np.testing.assert_array_equal(campaign.predict(campaign.data.X), expected)
    expected[:12, :2] = truth[:12, :2]
    np.testing.assert_array_equal(campaign.predict(), expected)


def test_the_decision_decides():
    truth = make_truth()
    answers = reply([Question(str(i), LABELS) for i in range(12)], truth)
    new = np.random.default_rng(3).normal(size=(7, 3))
    for decision in (Threshold([0.9, 0.1, 0.5]), TopLabels(1)):
        campaign = start(decision=decision, answers=answers)
        np.testing.assert_array_equal(campaign.predict(new), decision.decide(campaign.believe(new)))
        np.testing.assert_array_equal(campaign.predict()[:12], truth[:12])
        np.testing.assert_array_equal(campaign.predict()[12:], decision.decide(campaign.believe())[12:])


def test_excluded_pairs_are_not_asked_and_the_rest_of_their_items_is():
    data = LabelData.from_arrays(np.eye(6), label_names=["a", "b", "c"])
    whole = Campaign(data, model=BinaryRelevance(), strategy=Random(), random_state=0)
    asked = {q.item: q.labels for q in whole.ask(10, exclude=["1", ("2", "b"), ("2", "c")])}
    assert asked == {item: ("a",) if item == "2" else ("a", "b", "c") for item in "02345"}
    pairs = Campaign(data, model=BinaryRelevance(), strategy=Random(target="pairs"), random_state=0)
    kept = {(q.item, *q.labels) for q in pairs.ask(100, exclude=["1", ("2", "b"), ("2", "c")])}
    assert kept == {(item, label) for item in "02345" for label in "abc"} - {("2", "b"), ("2", "c")}
    with pytest.raises(ValueError, match="there is no label 'z'"):
        pairs.ask(1, exclude=[("2", "z")])


@dataclass(frozen=True)
class Curious:
    """Asks for the first open item, and keeps what it was shown."""

    seen: list
    target: str = "items"
    looks_at_answers: bool = True

    def choose(self, posterior, closed, n, rng, *, known):
        self.seen.append(known)
        rows = np.flatnonzero(closed.toarray().sum(1) < closed.shape[1])[:n]
        return Choice(rows, None, np.zeros(rows.size))


def test_a_strategy_that_looks_at_answers_is_shown_the_pool_with_all_of_them():
    pool = make_pool()
    seen = []
    campaign = Campaign(pool, model=Ridge(), strategy=Curious(seen))
    first = campaign.ask(1)[0]
    assert seen[0].observed_mask().nnz == 0
    campaign.tell(Answer.to(first, present={"b"}))
    campaign.ask(1)
    row = pool.item_ids.index(first.item)
    assert seen[1].Y[[row]].toarray().tolist() == [[False, True, False]]
    assert seen[1].observed_mask().nnz == 3
    assert seen[1].X is pool.X
    campaign.ask_about(pool.take([2]), 1)
    assert seen[2].item_ids == (pool.item_ids[2],)


def test_status_judges_by_the_random_questions():
    data = make_gaussian_labels(n_items=300, random_state=0)
    campaign = Campaign(data.hide(), model=BinaryRelevance(), strategy=Uncertainty(), control=0.3, random_state=0)
    assert campaign.status().f1 is None
    answerer = Answerer(data)
    for _ in range(4):
        campaign.tell(answerer.answers(campaign.ask(25)))
    before = campaign.ask(3)
    status = campaign.status()
    random = [answer.item for answer in campaign.answers if answer.reason == "control"]
    assert status.random_items == len(random) and status.spent == campaign.spent()
    assert 0 < status.f1.low <= status.f1.value <= status.f1.high <= 1
    assert status.over_random is not None and status.advice.split(":")[0] in ("go on", "stop")
    assert status == campaign.status() and campaign.ask(3) == before  # looking changes nothing
    truth = data.Y.toarray()
    rest = np.setdiff1d(np.arange(data.n_items), [data.item_ids.index(answer.item) for answer in campaign.answers])
    predicted = campaign.predict(data.X[rest])
    f1 = 2 * (predicted & truth[rest]).sum() / (predicted.sum() + truth[rest].sum())
    assert status.f1.low - 0.1 <= f1 <= status.f1.high + 0.1  # it learnt from a third more than it was judged with


# -- what newcomers try ------------------------------------------------------------------------------------------------


def test_the_pool_must_be_label_data():
    with pytest.raises(TypeError, match=r"got ndarray; see labelwise.LabelData.from_arrays"):
        Campaign(np.zeros((3, 3)))


@pytest.mark.parametrize("given", [("0", {"red": True}), {"0": {"red": True}}, [("0", {"red": True})]])
def test_only_answers_are_told(given):
    campaign = start()
    with pytest.raises(TypeError, match=r"expected an Answer, got .*write Answer\("):
        campaign.tell(given)
    assert campaign.answers == ()


@pytest.mark.parametrize("n", [1.5, "2", -1, None])
def test_the_number_of_questions_is_a_whole_one(n):
    with pytest.raises(ValueError, match="n must be a whole number"):
        start().ask(n)


def test_a_price_for_a_label_that_is_not_there_is_refused_at_once():
    with pytest.raises(ValueError, match="cost for the label 'zzz'"):
        start(costs=Costs(labels={"zzz": 2}))


def test_a_campaign_shows_its_size():
    campaign = start()
    campaign.tell(reply(campaign.ask(2), make_truth()))
    assert repr(campaign) == f"Campaign({campaign.data!r}, Ridge, Uncertainty, 2 answers)"
