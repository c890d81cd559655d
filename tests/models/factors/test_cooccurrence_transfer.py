"""CooccurrenceTransfer: unseen labels against brute force, rules against one another, counts from elsewhere."""

import warnings

import numpy as np
import pytest

import labelwise as lw
from labelwise.models import BinaryRelevance, CooccurrenceTransfer
from labelwise.numerics.metrics import macro_roc_auc, precision_at

UNSEEN = np.arange(12, 16)


def make_problem(n=400, q=16, seed=0):
    """Labels that share a few causes, so that they occur together; the last four were never asked about."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    causes = X[:, :5] + 0.3 * rng.normal(size=(n, 5))
    truth = causes @ rng.normal(size=(5, q)) + 0.5 * rng.normal(size=(n, q)) > 1.5
    observed = np.ones(truth.shape, dtype=bool)
    observed[:, UNSEEN] = False
    return X, truth, observed


def counts_of(truth):
    return truth.T.astype(float) @ truth


@pytest.fixture(scope="module")
def problem():
    X, truth, observed = make_problem()
    return X[:300], truth[:300], observed[:300], X[300:], truth[300:]


def test_unseen_scores_are_the_regression_of_counts_written_out(problem):
    X, truth, observed, X_new, _ = problem
    options = {"scale": "none", "label_weight": 0.2, "noise_variance": 0.5}
    model = CooccurrenceTransfer(cooccurrence=counts_of(truth), **options, random_state=0).fit(X, truth, observed)
    beliefs = model.posterior(X_new)
    P, P_new = (np.hstack([Z, np.full((len(Z), 1), 0.3)]) for Z in (X, X_new))
    Y = truth[:, :12].astype(float)
    K = P @ P.T + 0.2 * Y @ Y.T + 0.5 * np.eye(300)
    A = Y.T @ K @ Y + 0.1 * np.eye(12)
    cross = P_new @ P.T @ Y + 0.2 * beliefs.means()[:, :12] @ Y.T @ Y
    expected = cross @ np.linalg.solve(A, Y.T @ truth[:, UNSEEN])
    np.testing.assert_allclose(beliefs.means()[:, UNSEEN], expected, atol=1e-9)
    seen = lw.LabelGP("linear", scale="none", noise_ratio=1.0, bias=0.09).fit(X, truth[:, :12]).posterior(X_new)
    np.testing.assert_allclose(beliefs.means()[:, :12], seen.means(), atol=1e-9)
    prior = np.einsum("nd,nd->n", P_new, P_new) + 0.2 * (beliefs.means()[:, :12] ** 2).sum(1)
    expected = prior - np.einsum("ns,st,nt->n", cross, np.linalg.inv(A), cross)
    np.testing.assert_allclose(beliefs.variances()[:, UNSEEN], np.tile(expected[:, None], 4), atol=1e-8)


def test_unseen_labels_are_found_nearly_as_well_as_answered_ones(problem):
    X, truth, observed, X_new, truth_new = problem
    auc = {}
    for rule in ("sketched_gp", "moment", "conditional", "costa"):
        base = BinaryRelevance() if rule == "costa" else None
        model = CooccurrenceTransfer(rule, cooccurrence=counts_of(truth), base=base, random_state=0)
        p = model.fit(X, truth, observed).predict_proba(X_new)
        assert np.all((p > 0) & (p < 1))
        auc[rule] = macro_roc_auc(p[:, UNSEEN], truth_new[:, UNSEEN]).value
    everything = lw.LabelGP("linear").fit(X, truth).predict_proba(X_new)
    ceiling = macro_roc_auc(everything[:, UNSEEN], truth_new[:, UNSEEN]).value
    assert auc["sketched_gp"] > ceiling - 0.05
    assert auc["sketched_gp"] > max(auc["conditional"], auc["costa"])
    assert min(auc.values()) > 0.6


def test_the_link_is_calibrated_on_labels_it_never_saw():
    X, truth, observed = make_problem(2300)
    X_new, truth_new, X, truth, observed = X[300:], truth[300:], X[:300], truth[:300], observed[:300]
    model = CooccurrenceTransfer(cooccurrence=counts_of(truth), random_state=0).fit(X, truth, observed)
    p, t = model.predict_proba(X_new)[:, UNSEEN], truth_new[:, UNSEEN]
    assert abs(p.mean() - t.mean()) < 0.05
    loss = -np.where(t, np.log(p), np.log(1 - p)).mean()
    rates = truth[:, UNSEEN].mean(0)
    assert loss < 0.8 * -(np.where(t, np.log(rates), np.log(1 - rates))).mean()


def test_costa_is_the_average_of_the_bases_log_odds_by_counts(problem):
    X, truth, observed, X_new, _ = problem
    counts = counts_of(truth)
    model = CooccurrenceTransfer("costa", cooccurrence=counts, base=BinaryRelevance()).fit(X, truth, observed)
    base = BinaryRelevance().fit(X, truth[:, :12]).predict_proba(X_new)
    weights = counts[:12, 13] / counts[:12, 13].sum()
    expected = 1 / (1 + np.exp(-np.log(base / (1 - base)) @ weights))
    np.testing.assert_allclose(model.predict_proba(X_new)[:, 13], expected)
    np.testing.assert_allclose(model.predict_proba(X_new)[:, :12], base)


def test_a_label_that_occurs_with_none_comes_last_under_costa(problem):
    X, truth, observed, X_new, _ = problem
    counts = counts_of(truth)
    counts[15, :15], counts[:15, 15] = 0.0, 0.0
    p = CooccurrenceTransfer("costa", cooccurrence=counts, base=BinaryRelevance()).fit(X, truth, observed)
    means = p.posterior(X_new).means()
    assert np.all(means[:, 15] < means[:, :15].min(1))


def test_labels_without_counts_get_the_mean_share(problem):
    X, truth, observed, X_new, _ = problem
    counts = counts_of(truth)
    counts[14, :], counts[:, 14] = np.nan, np.nan
    model = CooccurrenceTransfer(cooccurrence=counts, random_state=0).fit(X, truth, observed)
    np.testing.assert_array_equal(model.untold_, [14])
    rates = (truth[:, :12].sum(0) + 0.5) / 301
    np.testing.assert_allclose(model.predict_proba(X_new)[:, 14], rates.mean())
    nothing = CooccurrenceTransfer().fit(X, truth, observed)
    np.testing.assert_array_equal(nothing.untold_, UNSEEN)
    never = 3 * counts_of(truth)
    never[14, :], never[:, 14] = 0.0, 0.0  # as texts that never name a label count it
    model = CooccurrenceTransfer(cooccurrence=never, random_state=0).fit(X, truth, observed)
    np.testing.assert_array_equal(model.untold_, [14])


def test_counts_from_ten_times_as_many_items_say_the_same(problem):
    X, truth, observed, X_new, _ = problem
    options = {"label_weight": 0.0, "noise_variance": 0.3, "random_state": 0}
    own = CooccurrenceTransfer(cooccurrence=counts_of(truth), **options).fit(X, truth, observed)
    more = CooccurrenceTransfer(cooccurrence=10 * counts_of(truth), **options).fit(X, truth, observed)
    np.testing.assert_allclose(more.posterior(X_new).means(), own.posterior(X_new).means(), atol=1e-9)


def test_counts_of_other_items_serve_nearly_as_well():
    X, truth, observed = make_problem(1600)
    others, X, truth, observed = truth[400:], X[:400], truth[:400], observed[:400]
    X, X_new, truth, truth_new, observed = X[:300], X[300:], truth[:300], truth[300:], observed[:300]
    found = []
    for counts in (counts_of(truth), counts_of(others)):
        model = CooccurrenceTransfer(cooccurrence=counts, random_state=0).fit(X, truth, observed)
        found.append(macro_roc_auc(model.posterior(X_new).means()[:, UNSEEN], truth_new[:, UNSEEN]).value)
    assert found[1] > found[0] - 0.05


def test_counts_in_the_wrong_order_are_warned_about(problem):
    X, truth, observed, _, _ = problem
    order = np.r_[np.random.default_rng(3).permutation(12), UNSEEN]
    counts = counts_of(truth)[np.ix_(order, order)]
    with pytest.warns(UserWarning, match="hardly agree"):
        CooccurrenceTransfer(cooccurrence=counts, random_state=0).fit(X, truth, observed)


def test_missing_answers_of_seen_labels_are_filled_by_the_base(problem):
    X, truth, observed, X_new, truth_new = problem
    some = observed & (np.random.default_rng(2).random(observed.shape) < 0.7)
    model = CooccurrenceTransfer(cooccurrence=counts_of(truth), random_state=0).fit(X, truth, some)
    auc = macro_roc_auc(model.posterior(X_new).means()[:, UNSEEN], truth_new[:, UNSEEN]).value
    assert auc > 0.8


def test_a_few_answers_join_the_counts(problem):
    X, truth, observed, X_new, _ = problem
    few = observed.copy()
    few[:30, 13] = True
    counts = counts_of(truth)
    options = {"scale": "none", "label_weight": 0.0, "noise_variance": 1.0}
    model = CooccurrenceTransfer(cooccurrence=counts, **options).fit(X, truth, few)
    np.testing.assert_array_equal(model.unseen_, UNSEEN)
    P, P_new = (np.hstack([Z, np.full((len(Z), 1), 0.3)]) for Z in (X, X_new))
    Y = truth[:, :12].astype(float)
    F = np.vstack([Y.T @ P, P[:30]])  # counts and answers are F w + noise
    noise = np.zeros((42, 42))
    noise[:12, :12], noise[12:, 12:] = Y.T @ Y + 0.1 * np.eye(12), np.eye(30)
    data = np.r_[counts[:12, 13], truth[:30, 13]]
    expected = P_new @ F.T @ np.linalg.solve(F @ F.T + noise, data)
    np.testing.assert_allclose(model.posterior(X_new).means()[:, 13], expected, atol=1e-8)
    without = CooccurrenceTransfer(cooccurrence=counts, **options).fit(X, truth, observed)
    others = [0, 5, 12, 14]
    np.testing.assert_allclose(
        model.posterior(X_new).means()[:, others], without.posterior(X_new).means()[:, others], atol=1e-9
    )
    few[:200, 13] = True
    assert 13 in CooccurrenceTransfer(cooccurrence=counts, **options).fit(X, truth, few).seen_


def test_settings_given_are_kept_and_the_others_chosen(problem):
    X, truth, observed, _, _ = problem
    counts = counts_of(truth)
    chosen = CooccurrenceTransfer(cooccurrence=counts, random_state=0).fit(X, truth, observed)
    assert len(chosen.trial_scores_) >= 9
    assert {key[1] for key, _ in chosen.trial_scores_ if key[0] == 0} == {0.1, 0.3, 1.0, 3.0, 10.0, 30.0}
    assert {key[0] for key, _ in chosen.trial_scores_} == {0.0, 0.03, 0.3, 3.0}
    best = max(chosen.trial_scores_, key=lambda trial: trial[1])[0]
    assert best == (chosen.settings_.label_weight, chosen.settings_.noise_variance)
    half = CooccurrenceTransfer(cooccurrence=counts, label_weight=0.3, random_state=0).fit(X, truth, observed)
    assert {key[0] for key, _ in half.trial_scores_} == {0.3} and len(half.trial_scores_) == 6
    given = CooccurrenceTransfer(cooccurrence=counts, label_weight=0.3, noise_variance=2.0).fit(X, truth, observed)
    assert given.trial_scores_ == () and given.settings_.noise_variance == 2.0


def test_too_few_labels_to_choose_by_are_warned_about(problem):
    X, truth, observed, _, _ = problem
    few, counts = np.r_[:5, 12], counts_of(truth)
    options = {"cooccurrence": counts[np.ix_(few, few)], "random_state": 0}
    with pytest.warns(UserWarning, match="5 labels with answers and 300 items are too few to choose label_weight and"):
        model = CooccurrenceTransfer(**options).fit(X, truth[:, few], observed[:, few])
    assert (model.settings_.label_weight, model.settings_.noise_variance) == (0.0, 0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        CooccurrenceTransfer(label_weight=0.0, noise_variance=0.3, **options).fit(X, truth[:, few], observed[:, few])


def test_conditional_adds_up_probabilities_times_shares(problem):
    X, truth, observed, X_new, _ = problem
    counts = counts_of(truth)
    beliefs = CooccurrenceTransfer("conditional", cooccurrence=counts).fit(X, truth, observed).posterior(X_new)
    p = beliefs.probabilities()
    expected = sum(p[:, [seen]] * counts[seen, UNSEEN] / counts[seen, seen] for seen in range(12))
    np.testing.assert_allclose(beliefs.means()[:, UNSEEN], expected)
    np.testing.assert_array_equal(beliefs.means()[:, :12], p[:, :12])  # ranked together: on one scale


def test_a_seen_label_that_was_never_counted_is_as_good_as_unknown():
    """Under the default rule; taken for never together, the twin of the unseen label would speak against it."""
    X, truth, observed = make_problem()
    truth[:, 15] = truth[:, 0] ^ (np.random.default_rng(0).random(400) < 0.03)
    means = []
    for value in (0.0, np.nan):
        counts = counts_of(truth)
        counts[0, :], counts[:, 0] = value, value
        model = CooccurrenceTransfer(cooccurrence=counts, random_state=0).fit(X, truth, observed)
        means.append(model.posterior(X).means())
    np.testing.assert_array_equal(means[0], means[1])
    assert macro_roc_auc(means[0][:, [15]], truth[:, [15]]).value > 0.75


def test_label_covariances_see_what_occurs_together(problem):
    X, truth, observed, X_new, _ = problem
    twin = truth.copy()
    twin[:, 12] = twin[:, 0] & (np.random.default_rng(0).random(300) < 0.95)
    model = CooccurrenceTransfer(cooccurrence=counts_of(twin), random_state=0).fit(X, twin, observed)
    beliefs = model.posterior(X_new)
    covariances = beliefs.label_covariances()
    p = beliefs.probabilities()
    np.testing.assert_allclose(covariances.variances(), p * (1 - p), atol=1e-9)
    dense = covariances.dense()[0]
    correlation = dense / np.sqrt(np.outer(dense.diagonal(), dense.diagonal()))
    assert correlation[0, 12] > 0.3
    assert correlation[0, 12] == np.max(np.delete(correlation[0], 0))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rule": "magic"}, "rule must be one of"),
        ({"scale": "big"}, "scale must be"),
        ({"noise_variance": 0.0}, "noise_variance must be positive"),
        ({"label_weight": -1.0}, "label_weight"),
        ({"n_trials": 0}, "n_trials"),
        ({"cooccurrence": np.ones((2, 2))}, "expected"),
    ],
)
def test_bad_parameters_are_named(problem, options, words):
    X, truth, observed, _, _ = problem
    with pytest.raises(ValueError, match=words):
        CooccurrenceTransfer(**options).fit(X, truth, observed)


@pytest.mark.shared_data
def test_half_of_the_labels_of_bibtex_unseen(shared_data):
    """The mean over ten splits is .51 and .28 with a spread of .04; the moment rule is well below, split by split."""
    train, test = (lw.read(shared_data / "bibtex" / f"bibtex-{part}.arff.gz") for part in ("train", "test"))
    Y, truth = train.Y.toarray(), test.Y.toarray()
    order = np.random.default_rng(0).permutation(159)
    observed = np.ones(Y.shape, dtype=bool)
    observed[:, order[80:]] = False
    scores = {}
    for rule in ("sketched_gp", "moment"):
        model = CooccurrenceTransfer(rule, cooccurrence=counts_of(Y), label_weight=0.0, noise_variance=0.3)
        model.fit(train.X, Y, observed)
        scores[rule] = model.posterior(test.X).means()
    joint = {rule: precision_at(found, truth, 1) for rule, found in scores.items()}
    unseen = {rule: precision_at(found[:, order[80:]], truth[:, order[80:]], 1) for rule, found in scores.items()}
    assert joint["sketched_gp"] > 0.49 and unseen["sketched_gp"] > 0.22
    assert joint["sketched_gp"] > joint["moment"] and unseen["sketched_gp"] > unseen["moment"] + 0.03
