import numpy as np
import pytest
import scipy.sparse as sp

import labelwise as lw
from factor_problems import FAST, auc, topics
from labelwise.models import CooccurrenceFactors, LatentFactors
from labelwise.models.factors.cooccurrence_factors import PENALTIES, SWEEPS, mean_precision


@pytest.mark.parametrize("unseen", ["regression", "kernel", "fold_in"])
def test_labels_without_answers_are_ranked_by_their_counts(unseen):
    X, Y, observed, counts = topics()
    model = CooccurrenceFactors(cooccurrence=counts, unseen=unseen, **FAST).fit(X[:300], Y[:300], observed[:300])
    p = model.predict_proba(X[300:])
    found = [auc(p[:, j], Y[300:, j]) for j in range(16, 24) if 0 < Y[300:, j].sum() < 100]
    assert np.mean(found) > 0.65
    shuffled = counts[np.ix_(np.r_[:16, np.roll(np.arange(16, 24), 3)], np.r_[:16, np.roll(np.arange(16, 24), 3)])]
    wrong = CooccurrenceFactors(cooccurrence=shuffled, unseen=unseen, **FAST).fit(X[:300], Y[:300], observed[:300])
    p = wrong.predict_proba(X[300:])
    assert (
        np.mean([auc(p[:, j], Y[300:, j]) for j in range(16, 24) if 0 < Y[300:, j].sum() < 100]) < np.mean(found) - 0.05
    )


def test_labels_are_sorted_into_seen_unseen_and_untold():
    X, Y, observed, counts = topics()
    counts[20], counts[:, 20] = np.nan, np.nan
    observed[:, 3] = False
    model = CooccurrenceFactors(cooccurrence=counts, **FAST).fit(X, Y, observed)
    assert model.seen_.tolist() == [0, 1, 2, *range(4, 16)]
    assert model.unseen_.tolist() == [3, 16, 17, 18, 19, 21, 22, 23]
    assert model.untold_.tolist() == [20]
    beliefs = model.posterior(X)
    assert np.all(np.isneginf(beliefs.scores()[:, 20])) and np.isfinite(np.delete(beliefs.scores(), 20, axis=1)).all()
    rates = (Y[:, model.seen_].sum(0) + 0.5) / (len(Y) + 1)
    np.testing.assert_allclose(beliefs.probabilities()[:, 20], rates.mean(), rtol=1e-6)


def test_counts_of_the_seen_labels_with_all_are_enough():
    X, Y, observed, counts = topics()
    scores = [
        CooccurrenceFactors(**FAST, cooccurrence=given).fit(X, Y, observed).posterior(X).scores()
        for given in (counts, counts[:16], counts[:16] + np.triu(np.ones((16, 24)), 1))
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    assert np.isfinite(scores[2]).all() and not np.allclose(scores[0], scores[2])  # need not be symmetric


def test_label_factors_and_count_factors_have_their_own_penalties():
    """At the maximum λ_v and λ_b times the factors are the slopes of the likelihoods, written out here."""
    X, Y, observed, counts = topics(n=60)
    settings = {"feature_penalty": 0.3, "n_factors": 3, "solver": "exact", "precision": "float64", "scale": "none"}
    model = CooccurrenceFactors(
        **settings, n_iterations=1500, label_penalty=8.0, count_penalty=2.0, counts_weight=1.0, cooccurrence=counts
    ).fit(X, Y, observed)
    f, M = model.factors_, counts[:16]
    known = ~np.eye(16, 24, dtype=bool)
    gamma = f.labels @ f.columns.T + f.row_bias[:, None] + f.column_bias
    left = known * (M - (M + 5.0) / (1 + np.exp(-gamma)))
    np.testing.assert_allclose(left.T @ f.labels, 2.0 * f.columns, atol=1e-4)
    wrong = Y[:, :16] - 1 / (1 + np.exp(-(f.items @ f.labels.T + f.label_bias)))
    np.testing.assert_allclose(wrong.T @ f.items + left @ f.columns, 8.0 * f.labels, atol=1e-3)
    tied, same = (
        CooccurrenceFactors(**FAST, **more, cooccurrence=counts).fit(X, Y, observed).posterior(X).scores()
        for more in ({}, {"count_penalty": 10.0})
    )
    np.testing.assert_array_equal(tied, same)


def test_counts_of_other_labels_are_told():
    X, Y, observed, counts = topics(n=1500)
    order = np.random.default_rng(0).permutation(24)
    with pytest.warns(UserWarning, match="hardly agree with the training labels") as told:
        model = CooccurrenceFactors(**FAST, cooccurrence=counts[np.ix_(order, order)]).fit(X, Y, observed)
    assert told[0].filename == __file__ and model.count_correlation_ < 0.3
    assert CooccurrenceFactors(**FAST, cooccurrence=counts).fit(X, Y, observed).count_correlation_ > 0.99


def test_counts_of_the_training_labels_are_the_default():
    X, Y, _, _ = topics()
    own = CooccurrenceFactors(**FAST).fit(X, Y)
    given = CooccurrenceFactors(cooccurrence=Y.T.astype(float) @ Y, **FAST).fit(X, Y)
    np.testing.assert_array_equal(own.predict_proba(X), given.predict_proba(X))


def test_pairs_of_labels_nobody_was_asked_about_together_have_no_count():
    X, Y, _, _ = topics()
    observed = np.ones(Y.shape, dtype=bool)
    observed[:200, 0], observed[200:, 1] = False, False
    model = CooccurrenceFactors(**FAST).fit(X, Y, observed)
    known = model._learnt.fit.data.counts.known
    assert not known[0, 1] and known[0, 2] and known[1, 2] and not known.diagonal().any()


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (np.ones((3, 3)), "shape"),
        (-np.ones((24, 24)), "0 or more"),
        (np.triu(np.ones((24, 24))), "symmetric"),
    ],
)
def test_bad_counts_are_named(counts, words):
    X, Y, observed, _ = topics()
    with pytest.raises(ValueError, match=words):
        CooccurrenceFactors(cooccurrence=counts).fit(X, Y, observed)


@pytest.mark.parametrize(
    "wrong",
    [
        {"unseen": "guess"},
        {"inference": "gibbs"},
        {"label_penalty": 0.0},
        {"count_penalty": 0.0},
        {"bias_penalty": 0.0},
        {"feature_penalty": -1.0},
        {"feature_penalty": "big"},
        {"overdispersion": "auto"},
        {"n_iterations": 0},
        {"n_factors": 0},
        {"batch_size": 0},
    ],
)
def test_bad_parameters_are_named(wrong):
    X, Y, _, _ = topics(n=30)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        CooccurrenceFactors(**wrong).fit(X, Y)


def test_penalty_and_sweeps_are_chosen_where_there_is_enough_to_hide():
    X, Y, observed, counts = topics(n=120)
    model = CooccurrenceFactors(cooccurrence=counts, n_trials=1, random_state=0).fit(X, Y, observed)
    assert len(model.trial_scores_) == len(PENALTIES["map"]) * len(SWEEPS["map"])
    scores = dict(model.trial_scores_)
    assert max(scores.values()) == scores[model.feature_penalty_, model.n_iterations_]
    few = CooccurrenceFactors(cooccurrence=counts[:10, :10], random_state=0).fit(X, Y[:, :10], observed[:, :10])
    assert few.trial_scores_ and few.unseen_.size == 0  # then it is by held-out answers
    believed = CooccurrenceFactors(4, inference="variational", random_state=0).fit(X, Y[:, :10], observed[:, :10])
    assert len(believed.trial_scores_) == 4 and believed.n_iterations_ == 40
    observed[:, 5:] = False
    with pytest.warns(UserWarning, match="5 labels"):
        model = CooccurrenceFactors(cooccurrence=counts).fit(X, Y, observed)
    assert not model.trial_scores_ and model.n_iterations_ == 20


def test_choosing_pays_on_items_and_labels_never_seen():
    X, Y, observed, counts = topics(n=300, d=80)

    def quality(model):
        scores = model.fit(X[:200], Y[:200], observed[:200]).posterior(X[200:]).scores()[:, 16:]
        return mean_precision(scores, Y[200:, 16:], np.ones((100, 8), dtype=bool))

    chosen = quality(CooccurrenceFactors(cooccurrence=counts, random_state=0))
    assert chosen > quality(CooccurrenceFactors(cooccurrence=counts, feature_penalty=1e-3, n_iterations=40))


def test_mean_precision_is_that_of_a_brute_sort():
    rng = np.random.default_rng(0)
    scores, truth, known = rng.normal(size=(20, 7)), rng.random((20, 7)) < 0.4, rng.random((20, 7)) < 0.8
    total = 0.0
    for k in (1, 3, 5):
        for row, right, asked in zip(scores, truth, known, strict=True):
            ranked = sorted((j for j in range(7) if asked[j]), key=lambda j: -row[j])[:k]
            total += sum(right[j] for j in ranked) / k / 20
    np.testing.assert_allclose(mean_precision(scores, truth, known), total / 3)
    assert mean_precision(scores[:, :2], truth[:, :2], known[:, :2]) == pytest.approx(
        np.mean([truth[i, j] and known[i, j] for i, j in enumerate(np.where(known, scores, -9)[:, :2].argmax(1))])
    )


def test_solvers_and_precisions_agree():
    X, Y, observed, counts = topics()
    p = [
        CooccurrenceFactors(cooccurrence=counts, **FAST, **options).fit(X, Y, observed).predict_proba(X)
        for options in ({"solver": "exact"}, {"precision": "float64"}, {"precision": "float32"})
    ]
    np.testing.assert_allclose(p[2], p[1], atol=2e-3)
    np.testing.assert_allclose(p[1], p[0], atol=0.05)


def test_sweeps_are_reported_and_end_at_the_tolerance():
    X, Y, _, _ = topics()
    told = []
    model = CooccurrenceFactors(**FAST).fit(X, Y, on_step=lambda step, value: told.append((step, value)))
    assert [step for step, _ in told] == list(range(15))
    assert model.objective_ == [value for _, value in told] and np.all(np.diff(model.objective_) > 0)
    short = CooccurrenceFactors(feature_penalty=0.3, n_iterations=500, tolerance=0.01).fit(X, Y)
    assert len(short.objective_) < 100
    assert short.objective_[-1] - short.objective_[-2] < 0.01 * abs(short.objective_[-1])


def test_the_papers_model_has_no_biases():
    X, Y, observed, counts = topics()
    model = CooccurrenceFactors.paper(cooccurrence=counts, n_iterations=5).fit(X, Y, observed)
    f = model.factors_
    assert not f.label_bias.any() and not f.column_bias.any()
    assert model._learnt.fit.data.counts.known.all() and model.feature_penalty_ == 1.0


def test_overdispersion_is_learnt_when_asked():
    X, Y, observed, counts = topics()
    model = CooccurrenceFactors(cooccurrence=counts, overdispersion="learn", **FAST).fit(X, Y, observed)
    assert model.factors_.overdispersion != 5.0


def test_variational_beliefs_have_the_better_probabilities():
    X, Y, _, _ = topics(n=500, d=60)
    losses = []
    for inference in ("map", "variational"):
        model = CooccurrenceFactors(10, feature_penalty=0.05, n_iterations=40, inference=inference).fit(
            X[:200], Y[:200]
        )
        p = np.clip(model.predict_proba(X[200:]), 1e-9, 1 - 1e-9)
        losses.append(-np.mean(np.where(Y[200:], np.log(p), np.log1p(-p))))
    assert losses[1] < losses[0]
    assert np.all(np.diff(model.objective_) > 0) and model.posterior(X).variances().min() > 0


def test_without_counts_it_is_the_latent_factor_model():
    X, Y, _, _ = topics()
    weightless = CooccurrenceFactors(counts_weight=1e-12, **FAST).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(LatentFactors(**FAST).fit(X, Y).predict_proba(X), weightless, atol=1e-6)


def test_a_label_that_was_never_counted_is_one_of_which_nothing_is_known():
    X, Y, observed, counts = topics()
    counts[23, :], counts[:, 23] = 0.0, 0.0
    model = CooccurrenceFactors(cooccurrence=counts, **FAST).fit(X, Y, observed)
    np.testing.assert_array_equal(model.untold_, [23])
    share = model.predict_proba(X)[:, 23]
    np.testing.assert_allclose(share, np.mean((Y[:, :16].sum(0) + 0.5) / 401), atol=1e-9)


# -- learning on ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inference", ["map", "variational"])
def test_pieces_teach_what_one_batch_teaches(inference):
    X, Y, observed, counts = topics()
    model = {"cooccurrence": counts, "batch_size": 30, "inference": inference, **FAST}
    pieces = CooccurrenceFactors(**model).fit(X[:100], Y[:100], observed[:100])
    batch = CooccurrenceFactors(**model).fit(X[:100], Y[:100], observed[:100])
    for part in (slice(100, 101), slice(101, 155), slice(155, 220)):
        pieces.partial_fit(X[part], Y[part], observed[part])
    batch.partial_fit(X[100:220], Y[100:220], observed[100:220])
    np.testing.assert_array_equal(pieces.predict_proba(X), batch.predict_proba(X))
    np.testing.assert_array_equal(
        pieces.posterior(X).item_covariance().diagonal(), batch.posterior(X).item_covariance().diagonal()
    )


@pytest.mark.parametrize("inference", ["map", "variational"])
def test_one_more_item_hardly_moves_beliefs_that_have_settled(inference):
    X, Y, observed, counts = topics(n=401, d=5, q=7, unseen=2)
    settings = {"feature_penalty": 0.7, "n_iterations": 200, "solver": "exact", "inference": inference}
    model = CooccurrenceFactors(cooccurrence=counts, **settings).fit(X[:400], Y[:400], observed[:400])
    before = model.posterior(X)
    after = model.partial_fit(X[400:], Y[400:], observed[400:]).posterior(X)
    seen = model.seen_
    np.testing.assert_allclose(after.probabilities()[:, seen], before.probabilities()[:, seen], atol=0.02)
    np.testing.assert_allclose(after.variances()[:, seen], before.variances()[:, seen], rtol=0.1)


def test_factors_are_those_that_beliefs_follow_from():
    X, Y, observed, counts = topics()
    settings = {"scale": "none", "precision": "float64", "batch_size": 30, **FAST}
    model = CooccurrenceFactors(cooccurrence=counts, **settings).fit(X[:100], Y[:100], observed[:100])
    model.partial_fit(X[100:250], Y[100:250], observed[100:250])
    f = model.factors_
    log_odds = X @ f.weights @ f.labels.T + f.label_bias
    np.testing.assert_allclose(log_odds, model.posterior(X).log_odds()[:, model.seen_], atol=1e-9)
    assert f.items.shape == f.expected.shape == (0, f.labels.shape[1])


def test_learning_on_comes_near_learning_at_once():
    X, Y, _, _ = topics(n=900)

    def loss(model):
        p = np.clip(model.predict_proba(X[700:]), 1e-9, 1 - 1e-9)
        return -np.mean(np.where(Y[700:], np.log(p), np.log1p(-p)))

    model = CooccurrenceFactors(feature_penalty=1.0, n_iterations=15).fit(X[:100], Y[:100])
    before, at_once = loss(model), loss(CooccurrenceFactors(feature_penalty=1.0, n_iterations=15).fit(X[:700], Y[:700]))
    after = loss(model.partial_fit(X[100:700], Y[100:700]))
    assert after < before - 0.5 * (before - at_once)


def test_the_first_call_is_a_fit_and_features_are_known_better_with_more_items():
    X, Y, _, _ = topics()
    model = CooccurrenceFactors(**FAST).partial_fit(X[:200], Y[:200])
    few = model.posterior(X).feature_variances()
    np.testing.assert_array_equal(
        model.predict_proba(X), CooccurrenceFactors(**FAST).fit(X[:200], Y[:200]).predict_proba(X)
    )
    more = model.partial_fit(X[200:], Y[200:]).posterior(X).feature_variances()
    assert more.mean() < few.mean()


def test_answers_take_over_from_the_guess():
    X, Y, observed, counts = topics(n=600)
    model = CooccurrenceFactors(cooccurrence=counts, **FAST).fit(X[:200], Y[:200], observed[:200])
    guess = model.predict_proba(X)
    more = np.zeros((300, 24), dtype=bool)
    more[:, 20] = True
    model.partial_fit(X[200:500], Y[200:500], more)
    p = model.predict_proba(X)
    assert auc(p[500:, 20], Y[500:, 20]) > auc(guess[500:, 20], Y[500:, 20])
    assert abs(p[500:, 20].mean() - Y[500:, 20].mean()) < 0.1


# -- believing, asking ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inference", ["map", "variational"])
@pytest.mark.parametrize(
    "strategy", [lw.Uncertainty(), lw.Uncertainty("pairs"), lw.MutualInformation(), lw.MutualInformation("pairs")]
)
def test_strategies_ask_by_its_beliefs(inference, strategy):
    X, Y, _, _ = topics(n=60, q=6, unseen=0)
    data = lw.LabelData.from_arrays(sp.csr_array(X), Y)
    model = CooccurrenceFactors(inference=inference, **FAST)
    campaign = lw.Campaign(data.hide(), model=model, strategy=strategy, random_state=0)
    truth = dict(zip(data.item_ids, Y, strict=True))
    for _ in range(3):
        for question in campaign.ask(4):
            present = [name for name in question.labels if truth[question.item][data.label_names.index(name)]]
            campaign.tell(lw.Answer.to(question, present))
    assert len(campaign.answers) == 12 and np.isfinite(campaign.believe().probabilities()).all()


@pytest.mark.shared_data
def test_bibtex_with_half_of_its_labels_seen(shared_data):
    train, test = (lw.read(shared_data / "bibtex" / f"bibtex-{part}.arff.gz") for part in ("train", "test"))
    Y, truth = train.Y.toarray(), test.Y.toarray()
    order = np.random.default_rng(1).permutation(159)
    counts = Y.T.astype(float) @ Y
    counts[np.ix_(order[80:], order[80:])] = np.nan
    observed = np.zeros(Y.shape, dtype=bool)
    observed[:, order[:80]] = True
    model = CooccurrenceFactors(cooccurrence=counts, feature_penalty=1.5, n_iterations=20).fit(train.X, Y, observed)
    scores = model.posterior(test.X).scores()
    first = np.take_along_axis(truth, scores.argmax(1)[:, None], 1).mean()
    hidden = order[80:]
    first_hidden = np.take_along_axis(truth[:, hidden], scores[:, hidden].argmax(1)[:, None], 1).mean()
    assert first > 0.5 and first_hidden > 0.26
