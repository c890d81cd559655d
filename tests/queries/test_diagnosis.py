import numpy as np
import pytest
import scipy.sparse as sp

from joint_beliefs import JointBeliefs, conditional_variance, naive_information
from labelwise.posterior import MarginalPosterior
from labelwise.queries import Diagnosis


def beliefs(n=4, q=6, seed=0):
    rng = np.random.default_rng(seed)
    return JointBeliefs(rng.uniform(0.05, 0.95, (n, q)), rng.uniform(0, 6, n), loadings=rng.normal(size=(q, 2)))


def labels_of(rule, posterior, closed=None, **options):
    closed = np.zeros((posterior.n_items, posterior.n_labels), dtype=bool) if closed is None else closed
    rows, labels, scores = Diagnosis(rule=rule, **options).labels_of(
        posterior, sp.csr_array(closed), np.random.default_rng(0)
    )
    return [labels[rows == row].tolist() for row in range(posterior.n_items)], scores


def test_near_threshold():
    posterior = beliefs()
    found, _ = labels_of("near_threshold", posterior, labels_per_item=3, threshold=0.3)
    p = posterior.probabilities()
    assert found == [np.argsort(np.abs(row - 0.3))[:3].tolist() for row in p]


def test_variance_is_given_what_was_asked_before():
    posterior = beliefs()
    found, _ = labels_of("variance", posterior, labels_per_item=3)
    for row, C in enumerate(posterior.label_covariances().dense()):
        chosen = []
        for _ in range(3):
            left = [j for j in range(6) if j not in chosen]
            chosen.append(max(left, key=lambda j: conditional_variance(C, j, chosen)))
        assert found[row] == chosen


def test_mutual_information_is_that_of_the_definition():
    posterior = beliefs()
    found, _ = labels_of("mi", posterior, labels_per_item=2)
    assert found == [naive_information(C, 2) for C in posterior.label_covariances().dense()]


def test_total_variance_is_what_an_answer_takes_away():
    posterior = beliefs()
    found, scores = labels_of("total_variance", posterior)
    for row, C in enumerate(posterior.label_covariances().dense()):
        taken = [np.trace(C) - sum(conditional_variance(C, i, [j]) for i in range(6)) for j in range(6)]
        assert found[row] == [int(np.argmax(taken))]
        assert scores[row] == pytest.approx(max(taken))


def test_known_labels_are_not_asked_and_full_items_are_left_out():
    posterior = beliefs()
    closed = np.zeros((4, 6), dtype=bool)
    closed[0], closed[1, :4] = True, True
    for rule in ("near_threshold", "variance", "total_variance", "mi", "auto"):
        found, _ = labels_of(rule, posterior, closed, labels_per_item=9)
        assert found[0] == []
        assert sorted(found[1]) == [4, 5]
        assert sorted(found[2]) == list(range(6))


def test_auto_goes_over_to_variance():
    posterior = beliefs(n=2, q=14)
    closed = np.zeros((2, 14), dtype=bool)
    closed[1, :10] = True
    found, _ = labels_of("auto", posterior, closed)
    assert found[0] == labels_of("near_threshold", posterior, closed)[0][0]
    assert found[1] == labels_of("variance", posterior, closed)[0][1]


@pytest.mark.parametrize("rule", ["near_threshold", "total_variance", "mi", "variance"])
def test_a_dear_label_is_asked_last(rule):
    posterior = beliefs()
    first = labels_of(rule, posterior)[0]
    for row in range(4):
        costs = np.ones(6)
        costs[first[row]] = 1e6
        assert labels_of(rule, posterior, costs=costs)[0][row] != first[row]


def test_choose_puts_the_best_item_first_and_keeps_an_item_together():
    posterior = beliefs()
    nothing = sp.csr_array((4, 6), dtype=bool)
    diagnosis = Diagnosis(rule="near_threshold", labels_per_item=2)
    choice = diagnosis.choose(posterior, nothing, 5, np.random.default_rng(0))
    gap = np.abs(posterior.probabilities() - 0.5).min(1)
    order = np.argsort(gap)
    assert choice.rows.tolist() == [order[0], order[0], order[1], order[1], order[2]]


@pytest.mark.parametrize(
    ("options", "words"),
    [({"rule": "best"}, "rule"), ({"labels_per_item": 0}, "at least 1"), ({"costs": [1, 2]}, "6 numbers of 0 or more")],
)
def test_bad_options_are_named(options, words):
    with pytest.raises(ValueError, match=words):
        Diagnosis(**options).labels_of(beliefs(), sp.csr_array((4, 6), dtype=bool), np.random.default_rng(0))


@pytest.mark.parametrize("rule", ["near_threshold", "variance", "total_variance", "mi"])
def test_a_free_label_is_asked_first(rule):
    beliefs = MarginalPosterior(np.array([[0.5, 0.5, 0.3]]))
    choice = Diagnosis(rule=rule, costs=[5.0, 2.0, 0.0]).choose(
        beliefs, sp.csr_array((1, 3), dtype=bool), 1, np.random.default_rng(0)
    )
    assert choice.labels.tolist() == [2]
