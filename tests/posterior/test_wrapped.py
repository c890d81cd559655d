"""Wrappers of posteriors: whatever a model knows its wrapper knows, with the same answer where nothing was changed."""

import importlib
import inspect
import itertools
import pkgutil
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit

import labelwise
from labelwise import models
from labelwise.campaign.new_labels import Guess, GuessedPosterior
from labelwise.data import ShardedFeatures
from labelwise.models.hinted import HintedItems, HintedPosterior
from labelwise.numerics.feature_scaling import learn_features
from labelwise.numerics.gp.feature_spaces import Fourier
from labelwise.numerics.hint_weights import HintWeights
from labelwise.numerics.moved_beliefs import move_draws, move_labels, move_ranking
from labelwise.posterior import GivenPosterior, LabelPosterior, LimitedPosterior, MarginalPosterior, WrappedPosterior
from labelwise.posterior.tilted import RaisedItems, RaisedPosterior
from labelwise.posterior.wrapped import AveragePosterior, StreamedPosterior

N, D, Q = 24, 4, 5
EVERY, ALL = np.arange(N), np.arange(Q)
OWN = {"given", "blocks"}  # made of the wrapper's own beliefs: forwarding them would lose the change
NEW, SAID = 1, np.arange(N) < 9  # the label that is guessed, and the items of which something is told


def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    return X, X @ rng.normal(size=(D, Q)) + 0.5 * rng.normal(size=(N, Q)) > 0.4


@cache
def fitted(name, n_labels=Q):
    X, Y = problem()
    model = models.BY_NAME[name]()
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    return model.fit(X[:18], Y[:18, :n_labels])


def guessed(inner, X, share=0.4):
    guess = Guess(NEW, np.array([0.5, 0.0, -0.3, 0.1, 0.4]), 0.05, share)
    return GuessedPosterior.of(inner, (guess,), learn_features(X, "none"), X)


def hinted(inner, X):
    """Hints that speak of one label only; the others are left to the model."""
    one = (ALL == NEW).astype(float)
    weights = HintWeights(-0.5 * one, np.ones(Q), 0.7 * one[None])
    return HintedPosterior(inner, HintedItems(X, lambda rows: np.repeat(rows[None, :, :1], Q, axis=2), weights))


def raised(inner):
    """One label at least as probable as the first; the others are left to the model."""

    def at_least(p):
        p = np.array(p)
        p[:, NEW] = np.maximum(p[:, NEW], p[:, 0])
        return p

    return RaisedPosterior(inner, RaisedItems(at_least))


def told(seed=3):
    rng = np.random.default_rng(seed)
    observed = rng.random((N, Q)) < 0.4
    observed[:, 0] = True
    observed[~SAID] = False
    return rng.random((N, Q)) < 0.5, observed


# name: from a fitted model and items to the wrapper, and what it leaves as it was: items, labels
OTHERS = np.delete(ALL, NEW)
WRAPPERS = {
    "guessed": (lambda model, X: guessed(model.posterior(X), X), EVERY, OTHERS),
    "given": (lambda model, X: GivenPosterior(model.posterior(X), *told()), EVERY[~SAID], ALL),
    "given of guessed": (
        lambda model, X: GivenPosterior(guessed(model.posterior(X), X), *told()),
        EVERY[~SAID],
        OTHERS,
    ),
    "guessed and given": (lambda model, X: guessed(model.posterior(X), X).given(*told()), EVERY[~SAID], OTHERS),
    "streamed": (lambda model, X: StreamedPosterior(shards(X), Q, model.posterior), EVERY, ALL),
    "streamed guess": (
        lambda model, X: StreamedPosterior(shards(X), Q, lambda rows: guessed(model.posterior(rows), rows)),
        EVERY,
        OTHERS,
    ),
    "hinted": (lambda model, X: hinted(model.posterior(X), X), EVERY, OTHERS),
    "hinted and given": (lambda model, X: hinted(model.posterior(X), X).given(*told()), EVERY[~SAID], OTHERS),
    "streamed hint": (
        lambda model, X: StreamedPosterior(shards(X), Q, lambda rows: hinted(model.posterior(rows), rows)),
        EVERY,
        OTHERS,
    ),
    "raised": (lambda model, X: raised(model.posterior(X)), EVERY, OTHERS),
    "raised and given": (lambda model, X: raised(model.posterior(X)).given(*told()), EVERY[~SAID], OTHERS),
    "limited": (lambda model, X: LimitedPosterior(model.posterior(X), ALL != NEW), EVERY, OTHERS),
    "average of one": (lambda model, X: AveragePosterior([model.posterior(X)]), EVERY, ALL),
}


def shards(X):
    return ShardedFeatures.of(X[:7], X[7:8], X[8:])


def rng():
    return np.random.default_rng(11)


def covariance_arrays(covariance):
    if covariance is None:
        return None
    return {"noise": covariance.noise, "n": covariance.diagonal(), "nm": covariance.columns(np.array([3, 0]))}


def space_arrays(space):
    X, _ = problem()
    if space is None:
        return None
    phi, noise = space(X)
    phi = phi.toarray() if hasattr(phi, "toarray") else phi
    inner = np.linalg.solve(np.eye(len(space.known_gram)) + space.known_gram, np.eye(len(space.known_gram)))
    return {"nk": phi @ inner @ phi.T, "n": noise}


def group_arrays(groups):
    return [
        {"scales": g.scales, "noises": g.noises, "weights": g.weights, "n": g.covariance.diagonal()} for g in groups
    ]


LOOKS = {  # how to ask for what takes more than a call, and to turn it into arrays; the letters are their axes
    "probabilities": lambda b: {"nq": b.probabilities()},
    "ranking": lambda b: {"nq": b.ranking()},
    "sample_probabilities": lambda b: {"snq": b.sample_probabilities(6, rng())},
    "sample_labels": lambda b: {"snq": b.sample_labels(6, rng())},
    "label_covariances": lambda b: {"nqq": b.label_covariances().dense()},
    "label_counts": lambda b: {"n": b.label_counts()},
    "feature_variances": lambda b: {"n": b.feature_variances()},
    "item_covariance": lambda b: covariance_arrays(b.item_covariance()),
    "feature_space": lambda b: [space_arrays(b.feature_space()), space_arrays(b.feature_space(Fourier(8)))],
    "parts": lambda b: b.parts() and {"nd": np.concatenate([part.load() for part in b.parts()])},
    "target_groups": lambda b: group_arrays(b.target_groups()),
    "rough": lambda b: {"nq": b.rough().probabilities()},
    "rows": lambda b: {"nq": b.rows(np.arange(N)[::-1]).rows(slice(None, None, -1)).probabilities()},
    "given": lambda b: {"nq": b.given(*nothing()).probabilities()},
    "blocks": lambda b: {"nq": np.concatenate([some.probabilities() for _, some in b.blocks(5)])},
    "folded": lambda b: None,  # a step of `given`, with arguments of its own
}


def nothing():
    return np.zeros((N, Q), dtype=bool), np.zeros((N, Q), dtype=bool)


def public(beliefs):
    return sorted(name for name in dir(beliefs) if not name.startswith("_"))


def look(beliefs, name):
    value = getattr(beliefs, name)
    if name in LOOKS:
        return LOOKS[name](beliefs)
    answer = value() if callable(value) else value
    if isinstance(answer, tuple):
        return [{"nq" if np.ndim(each) == 2 else "k": np.asarray(each)} for each in answer]
    shape = np.shape(answer)
    axes = "nq" if shape == (N, Q) else "n" if shape[:1] == (N,) else "k"
    return {axes: np.asarray(answer)}


def assert_same(mine, theirs, items, labels, what):
    if isinstance(theirs, list):
        assert len(mine) == len(theirs), what
        for a, b in zip(mine, theirs, strict=True):
            assert_same(a, b, items, labels, what)
        return
    assert (mine is None) == (theirs is None), what
    for axes, answer in (theirs or {}).items():
        pick = [
            {"n": items, "q": labels}.get(letter, slice(None)) if axes in KNOWN_AXES else slice(None) for letter in axes
        ]
        other = np.asarray(mine[axes])
        for axis, places in enumerate(pick):
            if not isinstance(places, slice):
                other, answer = np.take(other, places, axis), np.take(answer, places, axis)
        assert_allclose(other, answer, rtol=1e-6, atol=1e-8, err_msg=what)


KNOWN_AXES = {"n", "nq", "nqq", "snq", "nm", "nk", "nd"}
AVERAGES = ("auto", "model_average")
RANDOM_ORDER = {
    "streamed",
    "streamed guess",
    "streamed hint",
}  # blocks take turns at the generator, so single draws differ


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("name", sorted(models.BY_NAME))
def test_what_a_model_knows_its_wrapper_knows(name, wrapper):
    X, _ = problem()
    model, (wrap, items, labels) = fitted(name), WRAPPERS[wrapper]
    inner, outer = model.posterior(X), wrap(model, X)
    changes_counts = any(part in wrapper for part in ("guess", "hint", "raised")) or wrapper == "limited"
    for method in public(inner):
        assert hasattr(outer, method), f"{wrapper} of {name} has lost {method}"
        if wrapper in RANDOM_ORDER and method in ("is_streamed", "sample_labels"):
            continue
        if wrapper in RANDOM_ORDER and method == "sample_probabilities" and not inner.joint_draws:
            continue
        if wrapper in RANDOM_ORDER and method == "parts" and inner.parts() is None:
            continue  # the pool has them
        if wrapper.endswith("ed and given") and method == "sample_labels" and name in AVERAGES:
            continue  # members that are told take more random numbers
        if changes_counts and method == "label_counts":
            continue  # against brute force below
        assert_same(look(outer, method), look(inner, method), items, labels, f"{wrapper} of {name}: {method}")


@pytest.mark.parametrize("name", sorted(models.BY_NAME))
def test_a_transfer_knows_what_its_base_knows(name):
    """The base has four labels, the transfer a fifth: what the base says of items is the same, of labels on four."""
    X, Y = problem()
    observed = np.ones((18, Q), dtype=bool)
    observed[:, -1] = False
    counts = Y.T.astype(float) @ Y
    counts[-1, -1] = np.nan
    base = models.BY_NAME[name]()
    if "random_state" in base.get_params():
        base.set_params(random_state=0)
    outer = models.CooccurrenceTransfer("moment", cooccurrence=counts, base=base).fit(X[:18], Y[:18], observed)
    beliefs, inner = outer.posterior(X), fitted(name, Q - 1).posterior(X)
    for method in ("probabilities", "sample_probabilities", "rough", "rows", "blocks"):
        axes = "snq" if method.startswith("sample") else "nq"
        mine = look_wide(beliefs, method)[..., :-1]
        assert_allclose(mine, look_wide(inner, method), rtol=1e-6, atol=1e-8, err_msg=f"{method} {axes}")
    for method in ("item_covariance", "feature_space", "feature_variances", "parts", "target_groups"):
        assert_same(look(beliefs, method), look(inner, method), EVERY, ALL, method)
    assert beliefs.joint_draws == inner.joint_draws
    assert beliefs.is_streamed == inner.is_streamed
    added = beliefs.probabilities()[:, -1]
    assert_allclose(beliefs.label_counts(), inner.label_counts() + added)
    for method in set(public(inner)) - set(public(beliefs)):
        assert not hasattr(beliefs, method), f"{method} of the base speaks of four labels"


def look_wide(beliefs, method):
    if method == "sample_probabilities":
        return beliefs.sample_probabilities(6, rng())
    if method == "rough":
        return beliefs.rough().probabilities()
    if method == "rows":
        return beliefs.rows(np.arange(N)[::-1]).probabilities()
    if method == "blocks":
        return np.concatenate([some.probabilities() for _, some in beliefs.blocks(5)])
    return beliefs.probabilities()


def test_several_models_have_no_words_of_one():
    X, _ = problem()
    one, other = (fitted(name).posterior(X) for name in ("label_gp", "orthogonal_target_gp"))
    beliefs = AveragePosterior([one, other], np.array([0.25, 0.75]))
    assert not hasattr(beliefs, "means") and not hasattr(beliefs, "target_means")
    assert_allclose(beliefs.label_counts(), 0.25 * one.label_counts() + 0.75 * other.label_counts())
    assert_array_equal(beliefs.ranking(), beliefs.probabilities())
    assert_same(look(beliefs, "target_groups"), look(one, "target_groups"), EVERY, ALL, "of the first with items")
    none = AveragePosterior([fitted("binary_relevance").posterior(X), other])
    assert len(none.target_groups()) == len(other.target_groups())
    online = fitted("online_bayes").posterior(X)
    assert AveragePosterior([online, online]).joint_draws and not AveragePosterior([online, one]).joint_draws


# -- nothing is forgotten ----------------------------------------------------------------------------------------------


def not_forwarded(base, wrapper):
    """Names of a posterior that its wrapper does not have a word for itself."""
    return sorted(name for name in vars(base) if not name.startswith("_") and name not in {*vars(wrapper), *OWN})


def test_everything_is_forwarded():
    assert not_forwarded(LabelPosterior, WrappedPosterior) == []


def test_the_check_sees_a_method_that_is_not_forwarded():
    class Wider(LabelPosterior):
        def probabilities(self):
            return None

        def calibration(self):
            return None

    assert not_forwarded(Wider, WrappedPosterior) == ["calibration"]


def subclasses(base):
    for info in pkgutil.walk_packages(labelwise.__path__, "labelwise."):
        if info.name.split(".")[1] in ("models", "posterior", "new_labels", "streamed_posterior", "guard", "standing"):
            importlib.import_module(info.name)
    found = set(base.__subclasses__())
    return found | {below for each in found for below in subclasses_of(each)}


def subclasses_of(base):
    found = set(base.__subclasses__())
    return found | {below for each in found for below in subclasses_of(each)}


def test_whoever_holds_another_posterior_is_a_wrapper():
    ours = {each for each in subclasses(LabelPosterior) if each.__module__.startswith("labelwise.")}
    holding = {
        each.__name__
        for each in ours
        if any("Posterior" in str(p.annotation) for p in inspect.signature(each.__init__).parameters.values())
    }
    wrappers = {each.__name__ for each in ours if issubclass(each, WrappedPosterior)}
    assert holding <= wrappers
    assert {"GuessedPosterior", "GivenPosterior", "StreamedPosterior", "AveragePosterior"} <= holding


def test_a_wrapper_can_be_copied_and_sent():
    import copy
    import pickle

    beliefs = GivenPosterior(MarginalPosterior(np.full((N, Q), 0.3)), *told())
    for other in (copy.copy(beliefs), pickle.loads(pickle.dumps(beliefs))):
        assert_array_equal(other.probabilities(), beliefs.probabilities())
    with pytest.raises(AttributeError, match="target_means"):
        beliefs.target_means  # noqa: B018 (the model has none)


# -- the right answer where it is changed ------------------------------------------------------------------------------


def test_a_guessed_label_counts_in_full():
    X, _ = problem()
    for name in ("label_gp", "orthogonal_target_gp"):
        inner = fitted(name).posterior(X)
        beliefs = guessed(inner, X)
        change = beliefs.probabilities()[:, NEW] - inner.probabilities()[:, NEW]
        assert_allclose(beliefs.label_counts(), np.clip(inner.label_counts() + change, 0, Q))
    inner = fitted("label_gp").posterior(X)
    assert_allclose(guessed(inner, X).label_counts(), guessed(inner, X).probabilities().sum(1))


@pytest.mark.parametrize("name", ["label_gp", "orthogonal_target_gp", "compressed_label_gp", "latent_factors"])
def test_a_guessed_label_is_ranked_where_its_probability_belongs(name):
    """Above as many of the other labels as are less probable, where the model ranks by probability in some scale."""
    X, _ = problem()
    inner = fitted(name).posterior(X)
    beliefs = guessed(inner, X)
    p, ranking = beliefs.probabilities(), beliefs.ranking()
    for i in range(N):
        same_order = np.array_equal(np.argsort(inner.probabilities()[i]), np.argsort(inner.ranking()[i]))
        if same_order:
            assert (ranking[i, OTHERS] < ranking[i, NEW]).sum() == (p[i, OTHERS] < p[i, NEW]).sum()
    if name == "label_gp":
        assert_array_equal(ranking, p)


def test_moved_rankings_by_hand():
    ranking = np.array([[10.0, -np.inf, 4.0, 6.0]])
    before, after = np.array([[0.8, 0.5, 0.2, 0.4]]), np.array([[0.8, 0.3, 0.2, 1.0]])
    moved = before != after
    assert_allclose(move_ranking(ranking, before, after, moved), [[10.0, 5.0, 4.0, 10.2]])
    low = np.array([[0.8, 0.1, 0.2, 0.4]])
    assert_allclose(move_ranking(ranking, before, low, np.array([[False, True, False, False]])), [[10, 3.9, 4, 6]])
    lost = np.full((1, 4), -np.inf)
    assert_allclose(move_ranking(lost, before, after, moved)[0, [1, 3]], [0.3, 1.0])


@pytest.mark.parametrize("name", ["label_gp", "online_bayes", "label_mixture_gp", "cooccurrence_factors"])
def test_draws_keep_their_mean_and_their_spread(name):
    X, _ = problem()
    inner = fitted(name).posterior(X)
    for beliefs in (guessed(inner, X), GivenPosterior(inner, *told())):
        p, drawn = beliefs.probabilities(), beliefs.sample_probabilities(400, rng())
        before = inner.sample_probabilities(400, rng())
        moved = p != inner.probabilities()
        assert_allclose(drawn.mean(0)[moved], p[moved], atol=2e-3)
        assert_array_equal(drawn[:, ~moved], before[:, ~moved])
        spread = drawn.std(0)[moved & (p > 0.05) & (p < 0.95)]
        assert np.all(spread > 0.1 * before.std(0)[moved & (p > 0.05) & (p < 0.95)])
        labels = beliefs.sample_labels(4000, rng())
        assert_allclose(labels.mean(0), p, atol=0.06)


def test_known_labels_are_drawn_as_they_are_known():
    X, _ = problem()
    values, observed = told()
    for name in ("online_bayes", "label_gp"):
        inner = fitted(name).posterior(X)
        for beliefs in (GivenPosterior(inner, values, observed), guessed(inner, X).given(values, observed)):
            for drawn in (beliefs.sample_probabilities(5, rng()), beliefs.sample_labels(5, rng())):
                assert_array_equal(drawn[:, observed], np.broadcast_to(values[observed], (5, observed.sum())))
            counts = beliefs.label_counts()
            assert np.all(counts >= (values & observed).sum(1)) and np.all(counts <= Q - (~values & observed).sum(1))


def test_moved_draws_and_labels_by_their_definition():
    draws = np.array([[[0.2, 0.5, 0.7]], [[0.4, 0.7, 0.9]]])
    before, after = draws.mean(0), np.array([[0.6, 1.0, 0.8]])
    moved = move_draws(draws.copy(), before, after)
    steps = logit(moved[:, 0, 0]) - logit(draws[:, 0, 0])
    assert_allclose(steps[0], steps[1], rtol=1e-6)
    assert_allclose(moved[:, 0, 0].mean(), 0.6, atol=1e-9)
    assert_array_equal(moved[:, 0, 1:], np.array([[1.0, 0.7], [1.0, 0.9]]))
    p, q = np.array([[0.5, 0.5, 0.0, 1.0]]), np.array([[0.1, 0.8, 0.3, 0.3]])
    sets = rng().random((40000, 1, 4)) < p
    flipped = move_labels(sets.copy(), p, q, np.random.default_rng(12))
    assert_allclose(flipped.mean(0), q, atol=0.01)
    assert not (flipped[..., 0] & ~sets[..., 0]).any() and not (~flipped[..., 1] & sets[..., 1]).any()


def test_given_answers_a_guessed_label_is_that_of_the_tilted_joint_belief():
    """Brute force over all label sets of a mixture, whose `given` is exact: tilt, condition, sum."""
    X, _ = problem()
    inner = fitted("label_mixture_gp").posterior(X)
    beliefs = guessed(inner, X)
    weights, theta = inner.component_weights(), inner._theta
    sets = np.array(list(itertools.product([False, True], repeat=Q)))  # (2^q, q)
    shift = logit(beliefs.probabilities()[:, NEW]) - logit(inner.probabilities()[:, NEW])
    values, observed = told()
    after = beliefs.given(values, observed).probabilities()
    for i in range(N):
        joint = (weights[i] * np.prod(np.where(sets[:, None], theta, 1 - theta), axis=2)).sum(1)
        tilted = joint * np.exp(shift[i] * sets[:, NEW])
        tilted /= tilted.sum()
        assert_allclose(tilted @ sets[:, NEW], beliefs.probabilities()[i, NEW], rtol=1e-9)
        fits = (sets == values[i])[:, observed[i]].all(1)
        known = joint * fits / (joint * fits).sum()
        odds = known @ sets[:, NEW]
        if observed[i, NEW]:
            assert after[i, NEW] == values[i, NEW]
        else:
            conditioned = tilted * fits / (tilted * fits).sum()
            assert_allclose(after[i, NEW], conditioned @ sets[:, NEW], rtol=1e-6)
            assert_allclose(after[i, NEW], expit(logit(odds) + shift[i]), rtol=1e-6)
        assert_allclose(after[i, OTHERS], np.where(observed[i], values[i], known @ sets)[OTHERS], rtol=1e-6, atol=1e-9)


def test_told_twice_is_told_at_once():
    X, _ = problem()
    (values, observed), (more, also) = told(), told(5)
    also = also & ~observed
    for name in ("label_mixture_gp", "latent_factors"):
        for make in (
            lambda model: guessed(model.posterior(X), X),
            lambda model: StreamedPosterior(shards(X), Q, model.posterior),
        ):
            beliefs = make(fitted(name))
            twice = beliefs.given(values, observed).given(more, also)
            once = beliefs.given(np.where(also, more, values), observed | also)
            assert_allclose(twice.probabilities(), once.probabilities(), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", ["label_mixture_gp", "latent_factors", "label_gp"])
def test_a_pool_in_shards_is_told_as_one_in_memory(name):
    X, _ = problem()
    model = fitted(name)
    memory, streamed = model.posterior(X), StreamedPosterior(shards(X), Q, model.posterior)
    mine, theirs = streamed.given(*told()), memory.given(*told())
    assert mine.is_streamed
    for method in ("probabilities", "ranking", "label_counts", "feature_variances"):
        assert_allclose(getattr(mine, method)(), getattr(theirs, method)(), rtol=1e-6, atol=1e-9)
    with pytest.raises(ValueError, match=r"observed has shape \(2, 2\), expected \(24, 5\)"):
        streamed.given(np.zeros((N, Q), bool), np.zeros((2, 2), bool))


def test_joint_draws_of_a_pool_in_shards_are_joint():
    X, _ = problem()
    model = fitted("online_bayes")
    streamed = StreamedPosterior(shards(X), Q, model.posterior)
    source, rival = rng(), rng()
    assert_array_equal(streamed.sample_probabilities(3, source), model.posterior(X).sample_probabilities(3, rival))
    assert source.random() == rival.random()


def test_campaigns_keep_the_targets_of_their_model_after_a_label_was_added():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(60, 4))
    Y = X @ rng.normal(size=(4, 5)) > 0.3
    names = list("abcde")
    data = labelwise.LabelData.from_arrays(X, label_names=names)
    campaign = labelwise.Campaign(data, model=labelwise.OrthogonalTargetGP(), strategy=labelwise.TargetEntropy())
    for question in campaign.ask(30):
        row = data.item_ids.index(question.item)
        present = {name for name, there in zip(names, Y[row], strict=True) if there}
        campaign.tell(labelwise.Answer.to(question, present=present))
    campaign.add_label("f", like={"a": 0.5})
    model = campaign.fitted()
    mine, theirs = campaign.believe().target_groups(), model.posterior(X).target_groups()
    assert sum(group.scales.size for group in mine) == sum(group.scales.size for group in theirs) > 1
    assert_same(group_arrays(mine), group_arrays(theirs), EVERY, ALL, "targets")
    old = [column for column in range(6) if column != 5]
    assert_allclose(campaign.believe().ranking()[:, old], model.posterior(X).ranking()[:, old])


def test_a_wrapper_of_wrappers_keeps_the_flags():
    X, _ = problem()
    inner = fitted("online_bayes").posterior(X)
    assert guessed(inner, X).joint_draws and GivenPosterior(guessed(inner, X), *told()).joint_draws
    assert not guessed(inner, X).is_streamed
    streamed = StreamedPosterior(shards(X), Q, fitted("online_bayes").posterior)
    assert streamed.joint_draws and GivenPosterior(streamed, *told()).is_streamed
    assert replace(guessed(inner, X)._items, told=None).columns == [NEW]
