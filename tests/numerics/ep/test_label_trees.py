"""Messages between labels and the labels above them, against all label sets and integrals."""

import numpy as np
import pytest

from labelwise.numerics.ep import message_passing
from labelwise.numerics.ep.message_passing import Likelihood, Tree, close_answers, make_branches, make_work, set_roles
from labelwise.numerics.ep.truncated import table
from labelwise.records.label_tree import LabelTree
from tree_beliefs import exact_scores, label_sets, settle

TREES = [
    [-1, 0],
    [-1, 0, 1, 2],  # a path
    [-1, 0, 0, 0],  # a fan
    [1, -1, 1, 0, 0, -1],  # children before their parents, and a label on its own
]
MARGIN = 0.4


def tree_of(parents):
    return Tree(np.array(parents), np.argsort(LabelTree(np.array(parents)).depth, kind="stable"))


def problem(parents, seed):
    """Scores, margins of a yes, and answers (1, 0, None) that some label set agrees with."""
    rng, q = np.random.default_rng(seed), len(parents)
    while True:
        answers = [[None, None, 0, 1][k] for k in rng.integers(4, size=q)]
        if 0 in answers and any(label_sets(parents, answers)):
            return rng.normal(0, 1.5, q), rng.uniform(0.3, 3, q), rng.uniform(0.4, 2, q), answers


def propagate(mean, variance, margin_yes, answers, parents, hub=None):
    tree, q = tree_of(parents), len(mean)
    z = np.array([[0 if a is None else 2 * a - 1 for a in answers]], dtype=np.int8)
    close_answers(z, tree)
    work, branches = make_work(q, np.empty(0), False), make_branches(q)
    how = Likelihood(table(), 1.0, MARGIN, True, 0.0, 1e-12, 3000)
    is_open = set_roles(branches, z[0], tree)
    work.m[:], work.u[:] = mean, variance
    work.e[:] = np.where(z[0] > 0, margin_yes, MARGIN)
    if hub is None:
        message_passing.open_independent(work, branches, tree, how)
    else:
        message_passing.open_star(work, branches, tree, hub, how)
    return mean + variance * work.g, variance - variance**2 * work.h, is_open


@pytest.mark.parametrize("parents", TREES)
@pytest.mark.parametrize("seed", range(4))
def test_moments_without_a_hub_are_exact(parents, seed):
    mean, variance, margin_yes, answers = problem(parents, seed)
    found = propagate(mean, variance, margin_yes, answers, parents)
    truth = exact_scores(mean, variance, parents, answers, margin_yes, MARGIN)
    np.testing.assert_allclose(found[0], truth[0], rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found[1], truth[1], rtol=1e-8)


@pytest.mark.parametrize("parents", TREES)
@pytest.mark.parametrize("seed", range(3))
def test_messages_to_a_hub_settle_where_moment_matching_does(parents, seed):
    mean, variance, margin_yes, answers = problem(parents, seed)
    hub = np.array([0.3, 0.8])
    found = propagate(mean, variance, margin_yes, answers, parents, hub)
    truth = settle(mean, variance, parents, answers, margin_yes, MARGIN, (0.3, 0.8))
    np.testing.assert_allclose(found[0], truth[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found[1], truth[1], rtol=1e-6)
    np.testing.assert_allclose(hub, truth[2:], rtol=1e-6)


def test_some_of_these_cases_have_labels_that_are_not_known():
    is_open = [propagate(*problem(parents, seed), parents)[2] for parents in TREES for seed in range(4)]
    assert 4 <= sum(is_open) < len(is_open)


def test_a_no_below_an_unknown_parent_is_blamed_on_the_less_likely_of_both():
    mean, variance = np.array([2.0, 0.0]), np.ones(2)
    after, _, is_open = propagate(mean, variance, np.full(2, 0.4), [None, 0], [-1, 0])
    assert is_open and after[0] < mean[0] and after[1] < mean[1]
    assert mean[1] - after[1] > mean[0] - after[0]


def test_an_unknown_label_without_a_no_below_it_says_nothing():
    mean, variance = np.array([0.5, 1.0, -0.3]), np.ones(3)
    after, shrunk, is_open = propagate(mean, variance, np.full(3, 0.4), [1, None, None], [-1, 0, 1])
    assert not is_open
    np.testing.assert_array_equal(after[1:], mean[1:])
    np.testing.assert_array_equal(shrunk[1:], 1)


@pytest.mark.parametrize("parents", TREES)
def test_answers_are_closed_as_by_the_tree_of_records(parents):
    rng = np.random.default_rng(0)
    signs = rng.integers(-1, 2, size=(200, len(parents))).astype(np.int8)
    yes, no = LabelTree(np.array(parents)).close(signs > 0, signs < 0)
    close_answers(signs, tree_of(parents))
    np.testing.assert_array_equal(signs, yes.astype(int) - no)


def test_far_tails_stay_finite():
    tree = tree_of([-1, 0, 1])
    for far in (-1e5, 1e5):
        mean, variance = np.array([far, -far, far]), np.full(3, 1e-2)
        for hub in (None, np.array([0.0, 1e4])):
            after = propagate(mean, variance, np.ones(3), [None, None, 0], tree.parents, hub)
            assert np.isfinite(after[0]).all() and (after[1] > 0).all()
