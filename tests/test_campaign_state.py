"""Campaign: resumed is unbroken; what models are taught and when; pools that know labels, that grow, that are large."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from campaign_toys import (
    LABELS,
    Counting,
    Diary,
    LinearPosterior,
    Refitted,
    Ridge,
    assert_same_state,
    known_pairs,
    make_pool,
    make_truth,
    reply,
    start,
)
from labelwise import Answer, BinaryRelevance, LabelData, Question, Uncertainty
from labelwise.campaign import refit_point
from rest_slow import rest_slow

# -- resuming ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [Ridge(), Counting(), Refitted(), BinaryRelevance()], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("target", ["items", "pairs"])
def test_a_resumed_campaign_is_the_unbroken_one_at_every_answer(model, target):
    """Partial answers, repeats and corrections included; the unbroken one is asked after every answer."""
    truth, drop, options = make_truth(), np.random.default_rng(9), {"control": 0.2, "random_state": 5}
    pool = make_pool(Y=np.where(np.arange(72).reshape(24, 3) < 5, truth.astype(float), np.nan))
    campaign = start(pool, model, Uncertainty(target), **options)
    for step in range(9):
        batch = reply(campaign.ask(3), truth, drop)
        if step in (3, 6):
            item, values = campaign.answers[step].item, campaign.answers[step].values
            flipped = {name: not value for name, value in values.items()}
            batch[1:1] = [Answer(item, flipped, correction=True), Answer(item, flipped)]
            truth[int(item)] ^= [name in values for name in LABELS]
        for answer in batch:
            campaign.tell(answer)
            assert_same_state(campaign, start(pool, model, Uncertainty(target), answers=campaign.answers, **options))


def test_the_schedule_does_not_depend_on_when_the_campaign_was_asked_or_how_the_answers_came():
    """The same fits from scratch behind the same answers, also with a correction inside a batch."""
    answers = reply([Question(str(i), LABELS) for i in range(20)], make_truth())
    answers[10:10] = [Answer("2", {"a": not answers[2].values["a"]}, correction=True)]
    diaries = []
    for sizes in ([1] * 21, [21], [4, 10, 7], [11, 10]):
        diary, rest = Diary(), list(answers)
        campaign = start(model=Ridge(diary))
        for size in sizes:
            campaign.tell(rest[:size])
            del rest[:size]
            if size == 1:
                campaign.ask(1)
        campaign.ask(1)
        last_fit = max(i for i, (verb, _) in enumerate(diary) if verb == "fit")
        diaries.append((diary[last_fit], sum(count for _, count in diary[last_fit + 1 :])))
    assert set(diaries) == {(("fit", 3 * 17), 3 * 3)}  # 18 answers, one of them a correction, then three more


def test_fits_from_scratch_come_at_the_stated_counts_and_additions_between():
    diary = Diary()
    campaign = start(model=Ridge(diary))
    for i, answer in enumerate(reply([Question(str(i), LABELS) for i in range(13)], make_truth()), start=1):
        before = len(diary)
        campaign.tell(answer)
        assert len(diary) == before  # telling alone teaches nothing: the next ask does
        campaign.ask(1)
        expected = ("fit", 3 * i) if i in (1, 2, 3, 5, 8, 12) else ("partial_fit", 3)
        assert diary[before:] == [expected]


def test_refit_points_grow_by_half():
    points = sorted({refit_point(n) for n in range(1000)})
    assert points[:12] == [0, 1, 2, 3, 5, 8, 12, 18, 27, 41, 62, 93]
    assert all(later - point <= max(1, -(-point // 2)) for point, later in pairwise(points))
    assert all(refit_point(n) <= n for n in range(1000)) and all(refit_point(p) == p for p in points)
    assert [refit_point(100, at_least=k) for k in (0, 92, 93, 94, 100)] == [93, 93, 93, 94, 100]


def test_a_model_without_partial_fit_is_fitted_on_everything():
    diary = Diary()
    campaign = start(model=Refitted(diary))
    for i in range(8):
        campaign.tell(Answer(str(i), dict.fromkeys(LABELS, i % 2 == 0)))
        campaign.ask(1)
    assert diary == [("fit", 3 * i) for i in range(1, 9)]


def test_a_failed_addition_leaves_no_half_taught_model():
    class Failing(Ridge):
        broken = True

        def partial_fit(self, X, Y, observed=None):
            super().partial_fit(X, Y, observed)
            if Failing.broken:
                raise MemoryError("no room")
            return self

    answers = reply([Question(str(i), LABELS) for i in range(6)], make_truth())
    campaign = start(model=Failing(), answers=answers)
    with pytest.raises(MemoryError):
        campaign.ask(1)
    Failing.broken = False
    assert_same_state(campaign, start(model=Ridge(), answers=answers))


@pytest.mark.parametrize("target", ["items", "pairs"])
def test_the_same_seed_asks_the_same_and_another_asks_otherwise(target):
    def session(seed):
        campaign, asked = start(strategy=Uncertainty(target), control=0.3, random_state=seed), []
        for _ in range(4):
            asked += campaign.ask(4)
            campaign.tell(reply(asked[-4:], make_truth()))
        return asked

    assert session(1) == session(1)
    assert session(1) != session(2)


def test_the_model_given_is_never_fitted_and_takes_the_campaigns_seed():
    model = Ridge()
    campaign = start(model=model, random_state=11, answers=[Answer("0", {"a": True})])
    campaign.ask(1)
    assert not hasattr(model, "gram_") and model.random_state is None
    seeds = []

    class Seeded(Ridge):
        def fit(self, X, Y, observed=None):
            seeds.append(self.random_state)
            return super().fit(X, Y, observed)

    for given_seed in (None, 4):
        start(model=Seeded(random_state=given_seed), random_state=11, answers=[Answer("0", {"a": True})]).ask(1)
    assert seeds == [11, 4]


# -- what the data know already ----------------------------------------------------------------------------------------


def test_labels_in_the_data_are_known_from_the_start():
    Y = np.full((24, 3), np.nan)
    Y[0], Y[1, 0] = [1, 0, 1], 0
    diary = Diary()
    campaign = start(make_pool(Y=Y), Ridge(diary))
    questions = {question.item: question for question in campaign.ask(24)}
    assert diary == [("fit", 4)]
    assert set(questions) == {str(i) for i in range(1, 24)} and questions["1"].labels == ("b", "c")
    assert {question.reason for question in questions.values()} == {"strategy"}
    with pytest.raises(ValueError, match="'a' of item '1' was answered False before"):
        campaign.tell(Answer("1", {"a": True}))
    campaign.tell([Answer("1", {"a": False}), Answer("0", {"b": True}, correction=True)])
    assert known_pairs(campaign.labelled()) == {("0", "a"): True, ("0", "b"): True, ("0", "c"): True, ("1", "a"): False}
    assert campaign.predict()[0].all()
    assert campaign.data.n_observed == 4 and campaign.data.Y.nnz == 2  # the data given stay as they were


def test_a_pool_that_is_known_entirely_asks_nothing_and_predicts_it():
    truth = make_truth()
    campaign = start(make_pool(Y=truth))
    assert campaign.ask(3) == []
    np.testing.assert_array_equal(campaign.predict(), truth)
    assert campaign.labelled().n_observed == 72
    np.testing.assert_array_equal(campaign.labelled().Y.toarray(), truth)


def test_a_mask_with_explicit_false_knows_nothing():
    stated = sp.csr_array((np.zeros(2, dtype=bool), (np.array([0, 3]), np.array([0, 1]))), shape=(24, 3))
    data = LabelData(np.ones((24, 3)), stated, stated.copy(), tuple(map(str, range(24))), LABELS)
    for campaign in (start(data), start(data, BinaryRelevance())):
        assert {(q.labels, q.reason) for q in campaign.ask(24)} == {(LABELS, "cold start")}
        np.testing.assert_array_equal(campaign.believe().probabilities(), np.full((24, 3), 0.5))


@pytest.mark.parametrize("model", [Ridge(), BinaryRelevance(scale="none")], ids=["ridge", "binary relevance"])
def test_sparse_pools_ask_as_dense_ones(model):
    def coordinates(X):
        made = sp.coo_array(X)
        return sp.csr_array((made.data, (made.row.astype(np.int64), made.col.astype(np.int64))), shape=X.shape)

    dense, sparse = (start(make_pool(kind=kind), model, random_state=2) for kind in (np.asarray, coordinates))
    for _ in range(5):
        questions = dense.ask(2)
        assert sparse.ask(2) == questions
        for campaign in (dense, sparse):
            campaign.tell(reply(questions, make_truth()))
    np.testing.assert_allclose(sparse.believe().probabilities(), dense.believe().probabilities(), rtol=1e-6)


# -- growing -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [Ridge(), Refitted(), BinaryRelevance()], ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("target", ["items", "pairs"])
def test_growing_in_mid_campaign(model, target):
    truth = np.hstack([make_truth(40), np.arange(40)[:, None] % 2 == 0])
    names = (*LABELS, "d")

    def answers_to(questions):
        return [
            Answer(q.item, {name: bool(truth[int(q.item), names.index(name)]) for name in q.labels}, q.reason)
            for q in questions
        ]

    campaign = start(make_pool(), model, Uncertainty(target), control=0.1)
    for _ in range(3):
        campaign.tell(answers_to(campaign.ask(4)))
    assert campaign.add_label("d") is campaign
    more = make_pool(40, seed=5).take(np.arange(24, 40)).with_label("d")
    campaign.add_items(more)
    assert campaign.data.n_items == 40 and campaign.data.label_names == names
    assert campaign.believe().probabilities().shape == (40, 4) and campaign.predict().shape == (40, 4)
    for _ in range(6):
        resumed = start(campaign.data, model, Uncertainty(target), control=0.1, answers=campaign.answers)
        assert_same_state(campaign, resumed)
        campaign.tell(answers_to(campaign.ask(4)))
    asked = {(q.item, name) for q in campaign.ask(1000) for name in q.labels}
    told = {(a.item, name) for a in campaign.answers for name in a.values}
    assert asked | told == {(str(i), name) for i in range(40) for name in names} and not asked & told


def test_a_new_label_reopens_answered_items_for_that_label_alone():
    campaign = start(answers=reply([Question("5", LABELS)], make_truth()))
    assert "5" not in {question.item for question in campaign.ask(100)}
    campaign.add_label("d")
    assert {q.item: q.labels for q in campaign.ask(100)}["5"] == ("d",)
    with pytest.raises(ValueError, match="no label 'e'"):
        campaign.tell(Answer("5", {"e": True}))
    campaign.tell(Answer("5", {"d": True}))
    assert known_pairs(campaign.labelled())["5", "d"] is True
    full = start(make_pool(Y=make_truth())).add_label("d")
    assert {q.labels for q in full.ask(100)} == {("d",)}


def test_labels_known_of_new_items_count():
    campaign = start(answers=reply([Question("5", LABELS)], make_truth()))
    Y = np.array([[1.0, np.nan, 0.0], [np.nan] * 3])
    campaign.add_items(LabelData.from_arrays(np.ones((2, 3)), Y, item_ids=["x", "y"], label_names=LABELS))
    known = known_pairs(campaign.labelled())
    assert known["x", "a"] is True and known["x", "c"] is False and len(known) == 5
    assert {q.item: q.labels for q in campaign.ask(100)}["x"] == ("b",)
    with pytest.raises(ValueError, match="'a' of item 'x' was answered True"):
        campaign.tell(Answer("x", {"a": False}))


def test_growth_that_does_not_fit_changes_nothing():
    answers = reply([Question("5", LABELS)], make_truth())
    campaign, untouched = start(answers=answers), start(answers=answers)
    with pytest.raises(ValueError, match="label name 'b' is given twice"):
        campaign.add_label("b")
    for X, changes, words in (
        (np.ones((1, 3)), {"item_ids": ["5"], "label_names": LABELS}, "item id '5' is given twice"),
        (np.ones((1, 2)), {"item_ids": ["x"], "label_names": LABELS}, "2 features, expected 3"),
        (np.ones((1, 3)), {"item_ids": ["x"], "label_names": LABELS[::-1]}, "labels"),
    ):
        with pytest.raises(ValueError, match=words):
            campaign.add_items(LabelData.from_arrays(X, **changes))
    assert_same_state(campaign, untouched)


# -- large pools -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", rest_slow(["pairs", "items"]))
def test_a_large_pool_is_walked_in_blocks(target):
    """200 000 items × 200 labels would be 320 MB of probabilities: only blocks of them may ever exist."""
    n, q, sizes = 200_000, 200, []

    class Watched(LinearPosterior):
        def probabilities(self):
            sizes.append(self.n_items)
            return np.full((self.n_items, self.n_labels), 0.3) + 0.1 * self._X

        def rows(self, rows):
            return Watched(self._X[rows], self._W)

    class Cheap(BaseEstimator):
        def fit(self, X, Y, observed=None):
            self.n_labels_ = Y.shape[1]
            return self

        def posterior(self, X):
            check_is_fitted(self)
            return Watched(X, np.empty((1, self.n_labels_)))

    X = np.random.default_rng(0).random((n, 1))
    data = LabelData.from_arrays(X, label_names=map(str, range(q)))
    tracemalloc.start()
    campaign = start(data, Cheap(), Uncertainty(target), control=0.5)
    campaign.tell(Answer("7", {"3": True}))
    questions = campaign.ask(20)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    strategic = [question for question in questions if question.reason == "strategy"]
    assert len(questions) == 20 and len(strategic) not in (0, 20)
    assert strategic[0].item == str(X.argmax())
    assert sum(sizes) == n and max(sizes) <= 4096
    assert peak < 100e6
