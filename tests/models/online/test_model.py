"""OnlineBayes: streams in pieces, partial labels, new labels and features, drift, threads, and its rivals."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from labelwise.data import read
from labelwise.decisions import ClassMass
from labelwise.models.online.model import OnlineBayes

COUPLINGS = ["global", "independent", "multiclass", "pairwise"]


def stream(n=300, d=30, q=6, seed=0, noise=0.2):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.3, random_state=rng, format="csr")
    scores = X @ rng.normal(size=(d, q)) + noise * rng.normal(size=(n, q))
    return X, scores > np.quantile(scores, 0.7)


def one_label(Y):
    return np.arange(Y.shape[1]) == Y.argmax(1)[:, None]


def separate(model, X, Y, **settings):
    return np.hstack(
        [clone(model).set_params(**settings).fit(X, Y[:, [c]]).predict_proba(X) for c in range(Y.shape[1])]
    )


# -- the stream -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coupling", COUPLINGS)
@pytest.mark.parametrize("half_life", [None, 40.0])
def test_pieces_equal_one_call_bit_for_bit(coupling, half_life):
    X, Y = stream()
    Y = one_label(Y) if coupling == "multiclass" else Y
    make = OnlineBayes(coupling, half_life=half_life)
    whole, pieces = clone(make).partial_fit(X, Y), clone(make)
    for start, stop in [(0, 1), (1, 50), (50, 51), (51, 300)]:
        pieces.partial_fit(X[start:stop], Y[start:stop])
    for name, array in whole.state_.arrays().items():
        np.testing.assert_array_equal(pieces.state_.arrays()[name], array, err_msg=name)
    assert pieces.n_seen_ == 300


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_it_learns(coupling):
    X, Y = stream(n=1500)
    Y = one_label(Y) if coupling == "multiclass" else Y
    p = OnlineBayes(coupling, random_state=0).fit(X[:1000], Y[:1000]).predict_proba(X[1000:])
    truth = Y[1000:]
    above = np.mean([(p[truth[:, c], c][:, None] > p[~truth[:, c], c]).mean() for c in range(Y.shape[1])])
    assert above > 0.85  # area under the curve, averaged over labels


@pytest.mark.slow
def test_one_label_coupled_equals_independent():
    X, Y = stream(q=1)
    settings = {"bias_variance": 3.0, "random_state": 0, "tolerance": 1e-9, "dtype": "float64"}
    coupled = OnlineBayes("global", local_bias=False, **settings).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(OnlineBayes("independent", **settings).fit(X, Y).predict_proba(X), coupled, atol=1e-8)


def test_independent_labels_are_separate_models():
    X, Y = stream()
    model = OnlineBayes("independent", random_state=0)
    np.testing.assert_allclose(model.fit(X, Y).predict_proba(X), separate(model, X, Y), atol=1e-6)


def test_coupling_is_felt():
    X, Y = stream()
    model = OnlineBayes("global", random_state=0)
    assert np.abs(model.fit(X, Y).predict_proba(X) - separate(model, X, Y)).max() > 0.05


@pytest.mark.slow
def test_single_precision_is_enough():
    X, Y = stream(n=1000)
    single = OnlineBayes(random_state=0).fit(X, Y).predict_proba(X)
    double = OnlineBayes(random_state=0, dtype="float64").fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(single, double, atol=2e-4)


def test_scale_of_features_and_weights_may_be_exchanged():
    X, Y = stream()
    plain = OnlineBayes(normalize=None, local_bias=False, dtype="float64", random_state=0)
    scaled = clone(plain).set_params(weight_variance=1 / 100)
    expected = plain.fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(scaled.fit(10 * X, Y).predict_proba(10 * X), expected, rtol=1e-9)


def test_rows_are_scaled_to_unit_length():
    X, Y = stream()
    lengths = sp.diags_array(np.random.default_rng(0).uniform(0.1, 9, 300))
    expected = OnlineBayes(random_state=0).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(OnlineBayes(random_state=0).fit(lengths @ X, Y).predict_proba(X), expected, atol=1e-4)


def test_hopeless_noise_gives_one_half():
    X, Y = stream()
    p = OnlineBayes(score_noise=1e4, bias_variance=1.0, random_state=0).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(p, 0.5, atol=1e-3)


def test_fit_does_not_depend_on_what_came_before():
    X, Y = stream()
    model = OnlineBayes(random_state=0).partial_fit(X, Y)
    again = model.fit(X, Y).predict_proba(X)
    np.testing.assert_array_equal(again, OnlineBayes(random_state=0).fit(X, Y).predict_proba(X))


def test_paper_settings():
    model = OnlineBayes.paper("independent", max_sweeps=3)
    assert (model.score_noise, model.bias_variance, model.local_bias, model.max_sweeps) == (0.01, 1e4, False, 3)
    X, Y = stream()
    assert np.all(np.isfinite(OnlineBayes.paper(random_state=0).fit(X, Y).predict_proba(X)))


# -- the margin of rare labels ----------------------------------------------------------------------------------------


def test_running_counts_come_close_to_counts_known_before():
    X, Y = stream(n=3000, q=8)
    Y &= np.random.default_rng(1).random(Y.shape) < np.linspace(0.05, 1, 8)  # some labels are rare
    known = OnlineBayes(random_state=0).fit(X[:2000], Y[:2000]).predict_proba(X[2000:])
    running = OnlineBayes().partial_fit(X[:2000], Y[:2000]).predict_proba(X[2000:])
    assert abs(rate_matched_f1(known, Y) - rate_matched_f1(running, Y)) < 0.02


def rate_matched_f1(p, Y):
    """Macro-F1 on the last rows when each label is given as often as it was in the first 2000."""
    truth, f1 = Y[2000:], []
    for c in range(Y.shape[1]):
        chosen = np.zeros(len(p), bool)
        chosen[np.argsort(-p[:, c], kind="stable")[: round(len(p) * Y[:2000, c].mean())]] = True
        f1.append(2 * (chosen & truth[:, c]).sum() / max(chosen.sum() + truth[:, c].sum(), 1))
    return np.mean(f1)


def test_skew_margin_lifts_rare_labels():
    X, Y = stream(n=600)
    Y[:, 0] &= np.random.default_rng(0).random(600) < 0.1
    with_margin = OnlineBayes(random_state=0).fit(X, Y)
    without = OnlineBayes(skew_margin=False, random_state=0).fit(X, Y)
    positive = Y[:, 0]
    assert with_margin.predict_proba(X[positive])[:, 0].mean() > without.predict_proba(X[positive])[:, 0].mean() + 0.05
    np.testing.assert_allclose(with_margin.label_shares_, Y.mean(0))


def test_imagined_counts_set_the_first_margin():
    """One row, one label: a margin of ln(e + 99) by imagined answers is the same as that margin set outright."""
    X, Y = np.array([[1.0]]), np.array([[1]])
    imagined = OnlineBayes("independent", label_prior=(0.0, 99.0)).partial_fit(X, Y)
    outright = OnlineBayes("independent", skew_margin=False, margin=np.log(np.e + 99)).partial_fit(X, Y)
    np.testing.assert_allclose(imagined.predict_proba(X), outright.predict_proba(X), rtol=1e-6)


# -- partial labels, new labels, new features -------------------------------------------------------------------------


@pytest.mark.parametrize("coupling", ["global", "independent", "pairwise"])
def test_a_label_never_answered_changes_nothing_for_the_others(coupling):
    X, Y = stream()
    observed = np.ones(Y.shape, dtype=bool)
    observed[:, 2] = False
    others = np.arange(6) != 2
    model = OnlineBayes(coupling, random_state=0, dtype="float64")
    masked = clone(model).fit(X, Y, observed=observed).predict_proba(X)[:, others]
    np.testing.assert_allclose(masked, clone(model).fit(X, Y[:, others]).predict_proba(X), atol=1e-9)


def test_answers_may_come_label_by_label():
    """Independent labels: one row with two answers equals two rows with one each, apart from the noise of a row."""
    X, Y = stream(n=60)
    model = OnlineBayes("independent")
    whole = clone(model).partial_fit(X, Y)
    parts = clone(model)
    for c in range(6):
        parts.partial_fit(X, Y, observed=np.tile(np.arange(6) == c, (60, 1)))
    np.testing.assert_allclose(parts.predict_proba(X), whole.predict_proba(X), atol=1e-6)


def test_a_label_that_turns_up_half_way_is_learnt():
    X, Y = stream(n=3000, q=6)
    model = OnlineBayes().partial_fit(X[:1000], Y[:1000, :5])
    assert model.predict_proba(X).shape == (3000, 5)
    model.partial_fit(X[1000:2000], Y[1000:2000])
    p, truth = model.predict_proba(X[2000:])[:, 5], Y[2000:, 5]
    assert (p[truth][:, None] > p[~truth]).mean() > 0.85
    assert model.n_labels_ == 6 and len(model.classes_) == 6


def test_many_new_labels_keep_the_old():
    X, Y = stream(q=40)
    model = OnlineBayes("independent").partial_fit(X, Y[:, :10])
    before = model.predict_proba(X)
    observed = np.zeros(Y.shape, dtype=bool)
    observed[:, 10:] = True
    after = model.partial_fit(X, Y, observed=observed).predict_proba(X)  # beyond the padding of the first ten
    np.testing.assert_array_equal(after[:, :10], before)
    alone = OnlineBayes("independent").partial_fit(X, Y[:, 10:]).predict_proba(X)
    np.testing.assert_allclose(after[:, 10:], alone, atol=1e-6)


@pytest.mark.parametrize("half_life", [None, 100.0])
def test_features_that_turn_up_later_were_at_the_prior(half_life):
    X, Y = stream(d=30)
    X = X.tolil()
    X[:150, 20:] = 0
    X = X.tocsr()
    model = OnlineBayes(half_life=half_life)
    wide = clone(model).partial_fit(X, Y)
    growing = clone(model).partial_fit(X[:150, :20], Y[:150])
    ahead = growing.predict_proba(X)  # features never seen may be asked about
    np.testing.assert_array_equal(ahead, clone(model).partial_fit(X[:150], Y[:150]).predict_proba(X))
    growing.partial_fit(X[150:], Y[150:])
    np.testing.assert_array_equal(growing.predict_proba(X), wide.predict_proba(X))
    assert growing.n_features_in_ == 30
    np.testing.assert_array_equal(growing.predict_proba(X[:150, :20]), wide.predict_proba(X[:150]))  # and left out


def test_memory_only_for_features_seen():
    X = sp.csr_array(([1.0, 1.0], ([0, 1], [3, 4_999_999])), shape=(2, 5_000_000))
    model = OnlineBayes().partial_fit(X, np.eye(2, dtype=int))
    assert model.state_.arrays()["weights"].shape == (3, 2, 8)
    np.testing.assert_array_equal(model.state_.arrays()["features"], [3, 4_999_999])


def test_hashed_features_come_close():
    X, Y = stream(n=1500, d=200)
    plain = OnlineBayes(random_state=0).fit(X[:1000], Y[:1000]).predict_proba(X[1000:])
    hashed = OnlineBayes(random_state=0, hash_features=2**14).fit(X[:1000], Y[:1000])
    assert hashed.state_.n_features == 2**14
    correlation = np.corrcoef(plain.ravel(), hashed.predict_proba(X[1000:]).ravel())[0, 1]
    assert correlation > 0.99
    far = sp.csr_array((X.data, X.indices.astype(np.int64) + 10**12, X.indptr), shape=(1500, 10**12 + 200))
    hashed.partial_fit(far[:10], Y[:10])  # no feature is too far away
    assert hashed.state_.n_features == 2**14


# -- drift ------------------------------------------------------------------------------------------------------------


def test_forgetting_follows_a_change():
    X, Y = stream(n=4000, q=4)
    Y[2000:] = ~Y[2000:]  # everything turns round
    X_test, truth = X[3000:], Y[3000:]
    scores = {}
    for half_life in (None, 300.0):
        model = OnlineBayes("independent", half_life=half_life).partial_fit(X[:3000], Y[:3000])
        scores[half_life] = (model.predict(X_test) == truth).mean()
    assert scores[300.0] > 0.8 > scores[None] + 0.1


def test_endless_memory_is_no_forgetting_and_none_is_the_prior():
    X, Y = stream()
    plain = OnlineBayes("independent", dtype="float64").partial_fit(X, Y)
    endless = OnlineBayes("independent", dtype="float64", half_life=1e12).partial_fit(X, Y)
    np.testing.assert_allclose(endless.predict_proba(X), plain.predict_proba(X), atol=1e-7)
    oblivious = OnlineBayes("independent", dtype="float64", half_life=1e-2).partial_fit(X, Y)
    last = OnlineBayes("independent", dtype="float64", label_prior=tuple(_counts(Y, 0))).partial_fit(X[-1:], Y[-1:])
    np.testing.assert_allclose(oblivious.predict_proba(X)[:, 0], last.predict_proba(X)[:, 0], atol=1e-9)


def _counts(Y, label):
    return Y[:-1, label].sum(), (~Y[:-1, label]).sum()


# -- noise ------------------------------------------------------------------------------------------------------------


def test_flipped_answers_do_less_harm_when_expected():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 5))
    Y = X @ rng.normal(size=(5, 3)) > 0
    flipped = Y ^ (rng.random(Y.shape) < 0.2)
    settings = {"coupling": "independent", "margin": 0.0, "score_noise": 0.1}
    wrong = np.zeros(2)  # trusting, wary: over four orders of the rows
    for seed in range(4):
        for place, flips in enumerate((0.0, 0.2)):
            model = OnlineBayes(flip_probability=flips, random_state=seed, **settings)
            wrong[place] += (model.fit(X[:1000], flipped[:1000]).predict(X[1000:]) != Y[1000:]).mean() / 4
    assert wrong[1] < 0.5 * wrong[0] and wrong[1] < 0.02


# -- threads ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", [{"coupling": "independent"}, {"block_size": 16}, {"block_size": 64}])
def test_threads_do_not_change_the_result(settings):
    X, Y = stream(q=150)
    one = OnlineBayes(random_state=0, **settings).fit(X, Y)
    three = OnlineBayes(random_state=0, n_jobs=3, **settings).fit(X, Y)
    assert len(three.state_.blocks) > 2
    np.testing.assert_array_equal(three.state_.weights_of(np.arange(30)), one.state_.weights_of(np.arange(30)))
    np.testing.assert_array_equal(three.state_.bias, one.state_.bias)
    np.testing.assert_array_equal(three.predict_proba(X), one.predict_proba(X))


def test_blocks_of_independent_labels_are_a_matter_of_speed():
    X, Y = stream(q=40)
    plain, blocks = OnlineBayes("independent"), OnlineBayes("independent", block_size=16)
    for model in (plain, blocks):
        model.partial_fit(X[:100], Y[:100, :20]).partial_fit(X[100:], Y[100:])
    assert [block.n_labels for block in blocks.state_.blocks] == [16, 16, 8]
    np.testing.assert_array_equal(blocks.predict_proba(X), plain.predict_proba(X))
    np.testing.assert_array_equal(blocks.state_.counts, plain.state_.counts)


def test_blocks_are_models_of_their_own():
    X, Y = stream(q=40)
    p = OnlineBayes(block_size=16, random_state=0).fit(X, Y)
    assert p.state_.bias.shape == (3, 2)
    for part in (slice(0, 16), slice(16, 32), slice(32, 40)):
        alone = OnlineBayes(random_state=0).fit(X, Y[:, part])
        np.testing.assert_allclose(p.predict_proba(X)[:, part], alone.predict_proba(X), atol=1e-6)


# -- published data -------------------------------------------------------------------------------------------------


@pytest.mark.shared_data
def test_bibtex_in_one_pass(shared_data):
    """Official split, inverse document frequencies from the training rows; macro-F1 over labels of the test rows."""
    train, test = (read(shared_data / "bibtex" / f"bibtex-{part}.arff.gz") for part in ("train", "test"))
    Y, truth = train.Y.toarray() > 0, test.Y.toarray() > 0
    idf = np.log((1 + len(Y)) / (1 + np.bincount(train.X.nonzero()[1], minlength=train.X.shape[1])))
    X, X_test = (sp.csr_array(data.X) @ sp.diags_array(idf) for data in (train, test))
    f1 = {}
    for name, model in (("default", OnlineBayes(random_state=0)), ("paper", OnlineBayes.paper(random_state=0))):
        sets = ClassMass.from_labels(Y).decide(model.fit(X, Y).posterior(X_test))
        f1[name] = (2 * (sets & truth).sum(0) / np.maximum(sets.sum(0) + truth.sum(0), 1))[truth.any(0)].mean()
    assert f1["default"] > 0.41
    assert f1["default"] > f1["paper"] + 0.01


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"coupling": "none"}, "coupling must be one of"),
        ({"score_noise": -1}, "score_noise must be at least 0, got -1"),
        ({"weight_variance": 0}, "weight_variance must be positive, got 0"),
        ({"block_size": 20}, "multiple of 8"),
        ({"label_prior": (1,)}, "two counts"),
        ({"normalize": "l1"}, "normalize"),
        ({"dtype": "float16"}, "dtype"),
        ({"half_life": 0}, "half_life must be positive"),
        ({"flip_probability": 0.6}, "in \\[0, 0.5\\)"),
        ({"flip_probability": 0.1}, "set margin=0"),
        ({"flip_probability": 0.1, "margin": 0, "bias_variance": 1e4}, "learns nothing"),
        ({"flip_probability": 0.1, "coupling": "pairwise"}, "goes with coupling"),
    ],
)
def test_wrong_settings_are_named(settings, words):
    with pytest.raises(ValueError, match=words):
        OnlineBayes(**settings).fit(np.eye(2), np.eye(2))


@pytest.mark.parametrize(
    "change",
    [{"coupling": "global"}, {"block_size": 16}, {"dtype": "float64"}, {"half_life": 3.0}, {"hash_features": 9}],
)
def test_what_shapes_the_weights_cannot_change_in_mid_stream(change):
    X, Y = stream(n=20)
    model = OnlineBayes("independent").partial_fit(X, Y)
    with pytest.raises(ValueError, match=f"{next(iter(change))} was .* at the first row"):
        model.set_params(**change).partial_fit(X, Y)
    model.fit(X, Y)
    model.set_params(score_noise=0.5).partial_fit(X, Y)


def test_wrong_rows_are_named():
    X = np.eye(3)
    with pytest.raises(ValueError, match="row 1 has 2"):
        OnlineBayes("multiclass").fit(X, [[1, 0], [1, 1], [0, 1]])
    with pytest.raises(ValueError, match="row 0 has 0"):
        OnlineBayes("multiclass").fit(X, [[0, 0], [1, 0], [0, 1]])
    with pytest.raises(ValueError, match="at most 200 labels, got 201"):
        OnlineBayes("pairwise").fit(X, np.ones((3, 201)))
    model = OnlineBayes().fit(X, np.eye(3))
    with pytest.raises(ValueError, match="2 labels"):
        model.partial_fit(X, np.ones((3, 2)))
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(sp.csr_array([[np.nan, 0, 0, 1.0]]), np.ones((1, 5)))
    with pytest.raises(ValueError, match="row 0 has 2"):
        OnlineBayes("multiclass").fit(X, np.eye(3)).partial_fit(X[:1], [[1, 0, 0, 1]])
    assert (model.n_features_in_, model.n_labels_) == (3, 3)  # a refused row leaves no trace
    assert model.predict_proba(X).shape == (3, 3)


def test_unfinished_multi_class_rows():
    """A row that only says what its label is not carries no message; it is no error."""
    X, Y = np.eye(3), np.array([[1.0, 0, 0], [0, np.nan, np.nan], [0, 0, 1]])
    model = OnlineBayes("multiclass").partial_fit(X, Y)
    without = OnlineBayes("multiclass").partial_fit(X[[0, 2]], Y[[0, 2]])
    np.testing.assert_array_equal(model.predict_proba(X), without.predict_proba(X))


# -- forgetting: counts, too ----------------------------------------------------------------------------------------


def faded_counts(Y, observed, half_life):
    """(2, q) negative and positive answers, that of k rows ago counted 2^(-k / half_life): row by row."""
    counts = np.zeros((2, Y.shape[1]))
    for age, (y, seen) in enumerate(zip(Y[::-1], observed[::-1], strict=True)):
        for c in range(Y.shape[1]):
            counts[int(y[c]), c] += seen[c] * 2.0 ** (-age / half_life)
    return counts


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_counts_and_shares_fade_with_the_half_life(coupling):
    X, Y = stream(n=200)
    Y = one_label(Y) if coupling == "multiclass" else Y
    observed = np.random.default_rng(1).random(Y.shape) < 0.7
    observed[:, 0] |= ~observed.any(1)  # rows without an answer are left out
    model = OnlineBayes(coupling, half_life=20.0)
    for part in (slice(0, 150), slice(150, 151), slice(151, 200)):
        model.partial_fit(X[part], Y[part], observed=observed[part])
    negative, positive = faded_counts(Y, observed, 20.0)
    np.testing.assert_allclose(model.state_.counts, [negative, positive], rtol=1e-10)
    np.testing.assert_allclose(model.label_shares_, positive / (negative + positive), rtol=1e-10)


def test_shares_follow_a_label_that_becomes_rare():
    rng = np.random.default_rng(0)
    X, Y = (
        sp.csr_array(np.ones((4000, 1))),
        rng.random((4000, 1)) < np.r_[np.full(2000, 0.5), np.full(2000, 0.02)][:, None],
    )
    model = OnlineBayes(half_life=100.0).partial_fit(X, Y)
    assert abs(model.label_shares_[0] - 0.02) < 0.03  # 0.26 if all answers counted alike


def test_the_skew_margin_follows_the_faded_counts():
    """A label that was common and is rare now has to win by as much as one that was always so rare, by its counts."""
    X = sp.csr_array(np.zeros((400, 2)))  # nothing but the label's own bias learns
    Y = np.r_[np.ones(200), np.zeros(200)][:, None]
    for half_life in (5.0, 50.0):
        model = OnlineBayes("independent", half_life=half_life, dtype="float64").partial_fit(X, Y)
        negative, positive = faded_counts(np.r_[Y, [[1.0]]], np.ones((401, 1), bool), half_life)[:, 0]
        margin = np.log(np.e + negative / max(positive, 0.5))
        fixed = clone(model).set_params(skew_margin=False, margin=margin)
        fixed.partial_fit(X[:1], Y[:1])  # the same state, with a margin fixed at what the counts say
        fixed.state_.restore({name: array.copy() for name, array in model.state_.arrays().items()})
        fixed.state_.seen = model.state_.seen
        for each in (model, fixed):
            each.partial_fit(X[:1], [[1]])
        np.testing.assert_allclose(model.predict_proba(X[:1]), fixed.predict_proba(X[:1]), rtol=1e-10)


def test_fit_counts_all_answers_alike_and_all_together_as_a_stream_would():
    X, Y = stream(n=300)
    model = OnlineBayes(half_life=30.0, random_state=0).fit(X, Y)
    np.testing.assert_allclose(model.label_shares_, Y.mean(0))
    np.testing.assert_allclose(model.state_.counts.sum(0), sum(2.0 ** (-k / 30.0) for k in range(300)))


def test_a_file_with_counts_that_never_faded_still_loads_and_fades_from_there(tmp_path):
    X, Y = stream(n=100)
    model = OnlineBayes(half_life=10.0).partial_fit(X, Y)
    model.state_.set_counts((~Y).sum(0).astype(float), Y.sum(0).astype(float))  # as they were counted once
    model.save(tmp_path / "before.npz")
    loaded = OnlineBayes.load(tmp_path / "before.npz").partial_fit(X[:10], Y[:10])
    later = faded_counts(Y[:10], np.ones((10, 6), bool), 10.0)
    np.testing.assert_allclose(loaded.state_.counts, np.array([(~Y).sum(0), Y.sum(0)]) / 2 + later)
