"""`OnlineBayes` with labels under labels."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import ndtr

from comparison_ep import exact
from labelwise import OnlineBayes
from labelwise.records.label_tree import LabelTree

PARENTS = [-1, 0, 0, 1, -1]
Q = len(PARENTS)


def problem(n=60, seed=0, share=1.0):
    """Rows, label sets in which a child implies its parent, and which answers are known."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    Y = LabelTree(np.array(PARENTS)).upwards(X @ rng.normal(size=(4, Q)) > 0.7)
    return X, Y, rng.random(Y.shape) < share


@pytest.fixture(scope="module", params=["global", "independent"])
def fitted(request):
    X, Y, observed = problem(share=0.7)
    return exact(request.param, hierarchy=PARENTS).partial_fit(X, Y, observed), X


@pytest.mark.parametrize("coupling", ["global", "independent"])
def test_a_child_is_learnt_from_the_items_of_its_parent(coupling):
    X, Y, _observed = problem()
    of_parent = np.column_stack([np.ones(len(Y), bool) if p < 0 else Y[:, p] for p in PARENTS])
    tree = exact(coupling, hierarchy=PARENTS, skew_margin=False).partial_fit(X, Y).posterior(X).scores()
    masked = exact(coupling, skew_margin=False).partial_fit(X, Y, of_parent).posterior(X).scores()
    assert_allclose(tree[0], masked[0], rtol=1e-9, atol=1e-9)
    assert_allclose(tree[1], masked[1], rtol=1e-9)


@pytest.mark.parametrize("coupling", ["global", "independent"])
def test_a_hierarchy_without_parents_changes_nothing(coupling):
    X, Y, observed = problem(share=0.7)
    flat = exact(coupling, hierarchy=[-1] * Q).partial_fit(X, Y, observed)
    assert_array_equal(flat.predict_proba(X), exact(coupling).partial_fit(X, Y, observed).predict_proba(X))


def test_rare_children_win_by_a_margin_that_counts_the_items_of_their_parent():
    X, Y, _observed = problem()
    of_parent = np.column_stack([np.ones(len(Y), bool) if p < 0 else Y[:, p] for p in PARENTS])
    tree = exact("independent", hierarchy=PARENTS, random_state=0).fit(X, Y)
    masked = exact("independent", random_state=0).fit(X, Y, of_parent)
    assert_allclose(tree.posterior(X).scores()[0], masked.posterior(X).scores()[0], rtol=1e-9, atol=1e-9)
    assert_allclose(tree.label_shares_, Y.mean(0))  # of all items


def test_answers_that_follow_from_others_need_not_be_given():
    X, Y, _ = problem()
    given = np.ones(Y.shape, bool)
    given[:, 0] = ~(Y[:, 1] | Y[:, 2])  # a yes below says it
    given[:, 3] &= Y[:, 1]  # a no above says it
    whole = exact(hierarchy=PARENTS).partial_fit(X, Y)
    assert_array_equal(whole.predict_proba(X), exact(hierarchy=PARENTS).partial_fit(X, Y, given).predict_proba(X))


def test_a_no_below_an_unknown_parent_is_learnt_from():
    X, _Y, _observed = problem(n=1)
    no = np.zeros((1, Q))
    only_child = np.arange(Q)[None] == 1
    before = exact("independent", hierarchy=PARENTS).partial_fit(X, no, np.arange(Q)[None] == 4)
    after = exact("independent", hierarchy=PARENTS).partial_fit(X, no, only_child | (np.arange(Q)[None] == 4))
    was, now = (model.posterior(X).scores()[0][0] for model in (before, after))
    assert now[0] < was[0] and now[1] < was[1]
    assert_array_equal(now[[2, 3, 4]], was[[2, 3, 4]])


def test_probabilities_and_covariances_are_those_of_all_label_sets(fitted):
    model, X = fitted
    posterior = model.posterior(X[:5])
    mean, variance = posterior.scores()
    given = ndtr(mean / np.sqrt(variance + 1.0))  # chance given the parent
    sets = [y for y in itertools.product((0, 1), repeat=Q) if all(p < 0 or y[p] >= y[c] for c, p in enumerate(PARENTS))]
    Y = np.array(sets)  # (sets, q)
    free = np.array([[p >= 0 and y[p] == 0 for p in PARENTS] for y in sets])
    chance = np.where(free, 1.0, np.where(Y == 1, given[:, None], 1 - given[:, None])).prod(2)  # (n, sets)
    assert_allclose(chance.sum(1), 1)
    p = chance @ Y
    assert_allclose(posterior.probabilities(), p, rtol=1e-9)
    covariance = np.einsum("ns,sc,sk->nck", chance, Y, Y) - p[:, :, None] * p[:, None, :]
    assert_allclose(posterior.label_covariances().dense(), covariance, atol=1e-9)


def test_drawn_sets_keep_to_the_tree_and_have_the_right_shares(fitted):
    model, X = fitted
    posterior = model.posterior(X[:20])
    drawn = posterior.sample_labels(3000, np.random.default_rng(0))
    assert not (drawn[..., [1, 2, 3]] & ~drawn[..., [0, 0, 1]]).any()
    assert_allclose(drawn.mean(0), posterior.probabilities(), atol=0.05)
    chances = posterior.sample_probabilities(3000, np.random.default_rng(0))
    assert_allclose(chances.mean(0), posterior.probabilities(), atol=0.03)
    assert_allclose(posterior.rows(slice(3, 9)).probabilities(), posterior.probabilities()[3:9])


def test_the_shared_bias_hardly_moves_labels_of_a_path_together():
    """Probabilities of a path are multiplied as if its labels were independent; draws know that they share the bias."""
    X, Y, _observed = problem(n=200)
    posterior = exact(hierarchy=PARENTS).partial_fit(X, Y).posterior(X[:50])
    (mean, variance), (_b_mean, b_variance) = posterior.scores(), posterior._state.bias[0]
    t, weight = np.polynomial.hermite_e.hermegauss(40)
    given = ndtr((mean[..., None] - np.sqrt(b_variance) * t) / np.sqrt(variance - b_variance + 1)[..., None])
    path = (given[:, 0] * given[:, 1] * given[:, 3]) @ weight / weight.sum()
    assert_allclose(posterior.probabilities()[:, 3], path, atol=2e-3)


def test_saved_copied_and_grown(fitted, tmp_path):
    model, X = fitted
    model.save(tmp_path / "model.npz")
    again = OnlineBayes.load(tmp_path / "model.npz")
    assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.hierarchy == PARENTS
    grown = again.set_params(hierarchy=[*PARENTS, 4]).partial_fit(X, np.column_stack([np.zeros((60, Q)), X[:, 0] > 9]))
    assert grown.predict_proba(X).shape == (60, Q + 1)
    with pytest.raises(ValueError, match="hierarchy was"):
        grown.set_params(hierarchy=[-1] * 6).partial_fit(X, np.zeros((60, 6)))


def test_the_tree_of_the_data_is_taken_as_it_is():
    X, Y, _ = problem()
    tree = LabelTree(np.array(PARENTS))
    p = exact(hierarchy=tree).partial_fit(X, Y).predict_proba(X)
    assert_array_equal(p, exact(hierarchy=PARENTS).partial_fit(X, Y).predict_proba(X))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"hierarchy": [1, 0]}, "stands above itself"),
        ({"hierarchy": [5, -1]}, "must hold columns of parents below 2"),
        ({"hierarchy": [-1, 0, 0]}, "has 3 labels, Y has 2"),
        ({"hierarchy": [-1, 0], "coupling": "pairwise"}, "hierarchy goes with"),
        ({"hierarchy": [-1, 0], "block_size": 8}, "in one block"),
        ({"drift": -1.0}, "drift must be"),
        ({"window": 0}, "window must be"),
        ({"drift": 0.1, "half_life": 5.0}, "set one or the other"),
    ],
)
def test_settings_that_do_not_go_together(settings, words):
    with pytest.raises(ValueError, match=words):
        OnlineBayes(**settings).fit(np.eye(2), np.eye(2))


def test_in_a_window_with_weights_that_move():
    X, Y, observed = problem(share=0.6)
    model = exact(hierarchy=PARENTS, drift=1e-3, window=30).fit(X, Y, observed)
    p = model.predict_proba(X)
    assert (p[:, [1, 2, 3]] <= p[:, [0, 0, 1]]).all()
    assert ((p > 0.5) == Y).mean() > 0.8
