"""Labels added in mid-campaign: the guess, how answers take over, and that a rebuilt campaign asks the same."""

import numpy as np
import pytest
from scipy.special import expit, logit

import labelwise as lw
from campaign_toys import Refitted, Ridge, assert_same_state
from labelwise import Answer, Campaign, LabelData, queries
from labelwise.campaign.new_labels import NewLabel, blended, share_likelihoods
from labelwise.numerics.metrics import macro_average_precision
from labelwise.posterior import MarginalPosterior

KNOWN = tuple(f"known{j}" for j in range(8))


def make_world(n=500, seed=0):
    """Eight labels that share causes, and a ninth that goes with them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 6))
    causes = X[:, :4] + 0.3 * rng.normal(size=(n, 4))
    return X, causes @ rng.normal(size=(4, 9)) > 2.2


def true_shares(truth):
    counts = truth.T.astype(float) @ truth
    return {name: float(counts[j, 8] / counts[j, j]) for j, name in enumerate(KNOWN)}


def start(X, truth, model=None, n_answered=60, strategy=None):
    data = LabelData.from_arrays(X, label_names=KNOWN)
    campaign = Campaign(data, model=model or lw.LabelGP(), strategy=strategy or lw.Uncertainty("pairs"))
    campaign.tell([Answer(str(i), dict(zip(KNOWN, truth[i, :8].tolist(), strict=True))) for i in range(n_answered)])
    return campaign


def precision(campaign, X, truth):
    p = campaign.believe(X).probabilities()[:, 8:]
    return macro_average_precision(p, truth[:, 8:]).value


@pytest.fixture(scope="module")
def world():
    X, truth = make_world()
    return X[:300], truth[:300], X[300:], truth[300:]


@pytest.mark.parametrize(
    "model", [lw.LabelGP(), lw.BinaryRelevance(), Ridge(), Refitted()], ids=lambda m: type(m).__name__
)
def test_a_new_label_starts_from_its_guess_under_any_model(world, model):
    X, truth, X_new, truth_new = world
    campaign = start(X, truth, model)
    before = campaign.believe(X_new).probabilities()
    campaign.add_label("new", like=true_shares(truth))
    base_rate = truth_new[:, 8].mean()
    assert precision(campaign, X_new, truth_new) > 3 * base_rate
    np.testing.assert_allclose(campaign.believe(X_new).probabilities()[:, :8], before, atol=1e-9)
    assert start(X, truth, model).add_label("new").believe(X_new).probabilities()[:, 8].std() < 1e-9


def with_counts(truth, kind):
    counts = truth[:, :8].T.astype(float) @ truth[:, :8]
    if kind == "transfer":
        return lw.CooccurrenceTransfer(cooccurrence=counts)
    factors = lw.CooccurrenceFactors(cooccurrence=counts, feature_penalty=0.5, n_iterations=5)
    return factors if kind == "factors" else lw.AutoModel([lw.BinaryRelevance(), factors])


@pytest.mark.parametrize("kind", ["transfer", "factors", "several"])
@pytest.mark.parametrize("guessed", [True, False])
@pytest.mark.slow
def test_counts_a_model_was_given_leave_room_for_a_new_label(world, kind, guessed):
    X, truth, _, _ = world
    model = with_counts(truth, kind)
    campaign = start(X, truth, model)
    campaign.believe()
    campaign.add_label("new", like=true_shares(truth) if guessed else None).add_label("newer")
    assert campaign.believe().probabilities().shape == (300, 10) and len(campaign.ask(2)) == 2
    campaign.tell([Answer(str(i), {"new": bool(truth[i, 8])}) for i in range(60)])
    assert np.all(np.isfinite(campaign.believe().probabilities()))
    if kind == "transfer":
        assert model.cooccurrence.shape == (8, 8)  # what was given stays
        assert np.isnan(campaign.model.cooccurrence[8:]).all()
    again = Campaign(campaign.data, model=campaign.model, strategy=campaign.strategy, answers=campaign.answers)
    for name, said in campaign.new_labels.items():
        again.guess_label(name, like=said.like)
    assert again.ask(2) == campaign.ask(2)


def test_counts_of_the_wrong_size_are_still_refused(world):
    X, truth, _, _ = world
    campaign = start(X, truth, lw.CooccurrenceTransfer(cooccurrence=np.ones((5, 5)))).add_label("new")
    with pytest.raises(ValueError, match="expected"):
        campaign.believe()


def test_counts_in_the_pool_are_shares_by_the_label_totals_there(world):
    X, truth, X_new, truth_new = world
    counts = {name: float((truth[:, j] & truth[:, 8]).sum()) for j, name in enumerate(KNOWN)}
    campaign = start(X, truth).add_label("new", counts=counts)
    assert precision(campaign, X_new, truth_new) > 3 * truth_new[:, 8].mean()
    sketch = NewLabel.of("new", KNOWN, counts={"known0": 6.0}).sketch(KNOWN, np.full(8, 10.0), np.full(8, 30.0))
    np.testing.assert_allclose(sketch, [2.0, *[np.nan] * 7])


def test_a_guess_given_later_is_that_given_at_once(world):
    X, truth, X_new, _ = world
    at_once = start(X, truth).add_label("new", like=true_shares(truth))
    later = start(X, truth).add_label("new").guess_label("new", like=true_shares(truth))
    np.testing.assert_array_equal(at_once.believe(X_new).probabilities(), later.believe(X_new).probabilities())
    assert at_once.new_labels == later.new_labels


def ask_about_the_new_label(campaign, truth, rounds, batch=5):
    """The most uncertain items for the new label, as a pair strategy that cares for nothing else."""
    told = set()
    for _ in range(rounds):
        p = campaign.believe().probabilities()[:, 8]
        order = [i for i in np.argsort(np.abs(p - 0.5), kind="stable") if i not in told][:batch]
        told |= set(order)
        campaign.tell([Answer(str(i), {"new": bool(truth[i, 8])}) for i in order])
    return campaign


def test_answers_improve_on_the_guess_and_the_guess_on_answers(world):
    X, truth, X_new, truth_new = world
    guessed = start(X, truth).add_label("new", like=true_shares(truth))
    at_first = precision(guessed, X_new, truth_new)
    ask_about_the_new_label(guessed, truth, rounds=6)
    without = ask_about_the_new_label(start(X, truth).add_label("new"), truth, rounds=6)
    assert precision(guessed, X_new, truth_new) > at_first - 0.02
    assert precision(guessed, X_new, truth_new) > precision(without, X_new, truth_new) - 0.02


def test_a_wrong_guess_is_overcome_by_answers(world):
    X, truth, X_new, truth_new = world
    wrong = {name: 1 - share for name, share in true_shares(truth).items()}
    misled = start(X, truth).add_label("new", like=wrong)
    at_first = precision(misled, X_new, truth_new)
    rows = np.random.default_rng(0).permutation(300)[:150]
    misled.tell([Answer(str(i), {"new": bool(truth[i, 8])}) for i in rows])
    plain = start(X, truth).add_label("new")
    plain.tell([Answer(str(i), {"new": bool(truth[i, 8])}) for i in rows])
    assert at_first < 0.5 * precision(plain, X_new, truth_new)
    assert precision(misled, X_new, truth_new) > 0.9 * precision(plain, X_new, truth_new)


@pytest.mark.parametrize("model", [lw.LabelGP(), Ridge(), Refitted()], ids=lambda m: type(m).__name__)
def test_a_rebuilt_campaign_asks_the_same(world, model):
    X, truth, _, _ = world
    like = true_shares(truth)
    campaign = start(X, truth, model, n_answered=20).add_label("new", like=like)
    for _ in range(4):
        for question in campaign.ask(4):
            row = int(question.item)
            names = (*KNOWN, "new")
            campaign.tell(Answer(question.item, {n: bool(truth[row, names.index(n)]) for n in question.labels}))
        again = Campaign(campaign.data, model=model, strategy=lw.Uncertainty("pairs"), answers=campaign.answers)
        for name, said in campaign.new_labels.items():
            again.guess_label(name, like=said.like or None, counts=said.counts or None)
        assert_same_state(campaign, again)


@pytest.mark.parametrize("name", sorted(queries.BY_NAME))
def test_every_strategy_can_ask_with_a_guess(world, name):
    X, truth, _, _ = world
    campaign = start(X, truth, strategy=queries.BY_NAME[name]()).add_label("new", like=true_shares(truth))
    assert len(campaign.ask(3)) == 3 and campaign.ask(3) == campaign.ask(3)


def test_it_asks_about_the_new_label(world):
    X, truth, _, _ = world
    campaign = start(X, truth, n_answered=150).add_label("new", like=true_shares(truth))
    assert any("new" in question.labels for question in campaign.ask(20))


def test_beliefs_with_a_guess_are_whole(world):
    """Blocks, covariances and draws agree with the blended probabilities; the other labels are the model's."""
    X, truth, X_new, _ = world
    campaign = start(X, truth)
    inner = campaign.add_label("new").believe(X_new)
    beliefs = campaign.guess_label("new", like=true_shares(truth)).believe(X_new)
    p = beliefs.probabilities()
    np.testing.assert_allclose(np.vstack([b.probabilities() for _, b in beliefs.blocks(64)]), p, atol=1e-10)
    np.testing.assert_allclose(beliefs.label_covariances().variances()[:, 8], (p * (1 - p))[:, 8], atol=1e-9)
    np.testing.assert_allclose(
        beliefs.label_covariances().dense()[:3, :8, :8], inner.label_covariances().dense()[:3, :8, :8]
    )
    drawn = beliefs.sample_probabilities(200, np.random.default_rng(0))
    np.testing.assert_allclose(drawn[:, :, :8], inner.sample_probabilities(200, np.random.default_rng(0))[:, :, :8])
    np.testing.assert_allclose(drawn.mean(0)[:, 8], p[:, 8], atol=1e-3)
    assert drawn[:, :, 8].std(0).mean() > 0.01  # what the model does not know is still drawn
    np.testing.assert_allclose(beliefs.rough().probabilities(), p)
    labels = beliefs.sample_labels(4000, np.random.default_rng(0))
    np.testing.assert_allclose(labels.mean(0), p, atol=0.05)


def test_blending_and_its_likelihood():
    model, guess, y = np.array([0.9, 0.2]), np.array([0.6, 0.3]), np.array([1.0, 0.0])
    np.testing.assert_allclose(blended(model, guess, 0.25), 0.25 * logit(model) + 0.75 * logit(guess))
    p = expit(0.5 * logit(model) + 0.5 * logit(guess))
    np.testing.assert_allclose(share_likelihoods(model, guess, y)[5], np.log(p[0]) + np.log(1 - p[1]))


class Oracle(Ridge):
    """Knows the ninth label as soon as it has any answer of it."""

    def posterior(self, X):
        p = np.full((X.shape[0], self.target_.shape[0]), 0.3)
        if p.shape[1] == 9 and self.target_[8].any():
            p[:, 8] = np.where(X[:, 5] > 0, 0.95, 0.05)
        return MarginalPosterior(p)


def test_a_model_that_knows_better_gets_the_say():
    X, truth = make_world()
    truth[:, 8] = X[:, 5] > 0  # nothing to do with the other labels
    campaign = start(X, truth, Oracle()).add_label("new", like=true_shares(truth))
    shares = []
    for stop in (70, 100, 160):
        rows = range(60 + 10 * (stop > 70) + 30 * (stop > 100), stop)
        campaign.tell([Answer(str(i), {"new": bool(truth[i, 8])}) for i in rows])
        campaign.believe()
        shares.append(campaign._guesses._shares[1].get("new", 0.0))
    assert shares[-1] > 0.8 and shares[-1] >= shares[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"like": {"known9": 0.5}}, r"names 'known9', which is not a known label; did you mean 'known\d'"),
        ({"like": {"new": 0.5}}, "names 'new', which is not a known label"),
        ({"like": {"known1": 1.5}}, "1.5 for 'known1', expected a share between 0 and 1"),
        ({"counts": {"known1": -1}}, "expected a number of items"),
        ({"counts": {"known1": float("nan")}}, "nan for 'known1'"),
        ({"like": {}}, "is empty; name at least one"),
        ({"like": {"known1": 0.5}, "counts": {"known1": 3}}, "both like and counts"),
    ],
)
def test_wrong_starts_are_named_and_change_nothing(world, options, words):
    X, truth, _, _ = world
    campaign = start(X, truth, Ridge())
    with pytest.raises(ValueError, match=words):
        campaign.add_label("new", **options)
    assert campaign.data.label_names == KNOWN and campaign.new_labels == {}
    with pytest.raises(ValueError, match="there is no label 'knwn1'"):
        campaign.guess_label("knwn1", like={"known1": 0.5})


@pytest.mark.shared_data
@pytest.mark.slow
def test_labels_of_bibtex_start_well_ahead(shared_data):
    """Ten labels, each added after 150 answered items with counts from other items; paired with no start."""
    train, test = (lw.read(shared_data / "bibtex" / f"bibtex-{part}.arff.gz") for part in ("train", "test"))
    rng = np.random.default_rng(0)
    rows = rng.permutation(train.n_items)
    pool, Y = train.take(rows[:400]), train.Y.toarray()
    counts = Y[rows[400:]].T.astype(float) @ Y[rows[400:]]
    common = np.flatnonzero(test.Y.sum(0) >= 30)
    gains = []
    for label in rng.permutation(common)[:10]:
        others = [name for j, name in enumerate(train.label_names) if j != label]
        kept = np.delete(np.arange(159), label)
        truth = pool.Y.toarray()
        data = LabelData.from_arrays(pool.X, label_names=others)
        like = {others[i]: counts[j, label] / max(counts[j, j], 1.0) for i, j in enumerate(kept)}
        answers = [Answer(str(i), dict(zip(others, truth[i, kept].tolist(), strict=True))) for i in range(150)]
        found = []
        for start_from in (like, None):
            model = lw.LabelGP("linear", noise_ratio=1.0)
            campaign = Campaign(data, model=model, strategy=lw.Random(), answers=answers)
            campaign.add_label(train.label_names[label], like=start_from)
            scores = []
            for i in (150, 170):
                p = campaign.believe(test.X).probabilities()[:, -1:]
                scores.append(macro_average_precision(p, test.Y.toarray()[:, [label]]).value)
                name = train.label_names[label]
                campaign.tell([Answer(str(k), {name: bool(truth[k, label])}) for k in range(i, i + 20)])
            found.append(np.mean(scores))
        gains.append(found[0] - found[1])
    assert np.mean(gains) > 0.05 and np.sum(np.array(gains) > 0) >= 8
