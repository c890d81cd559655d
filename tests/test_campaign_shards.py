"""A campaign on a pool in shards asks what one in memory asks, and reads what it needs."""

from dataclasses import dataclass, field

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import labelwise
from labelwise import (
    Answer,
    BalancedPairs,
    Campaign,
    CompressedLabelGP,
    LabelData,
    LabelGP,
    LabelMixtureGP,
    ModelAverage,
    MutualInformation,
    OnlineBayes,
    OrthogonalTargetGP,
    Random,
    Uncertainty,
)
from labelwise.data import ShardedFeatures
from labelwise.hints import learn_hints

N, D, Q = 240, 8, 3
NAMES = tuple("abc")
LARGE = {"max_dense": 50, "rank": 30}  # so that the pool counts as one that cannot be loaded
STRATEGIES = {
    "entropy": Uncertainty(),
    "variance of pairs": Uncertainty("pairs", measure="variance"),
    "balanced pairs": BalancedPairs(),
    "random": Random(),
    "information": MutualInformation(**LARGE),
    "information by entropy": MutualInformation(criterion="entropy", **LARGE),
    "information of pairs": MutualInformation("pairs", **LARGE),
    "information of joint pairs": MutualInformation("pairs", pairs="joint", **LARGE),
    "information by waves": MutualInformation(approximation="fourier", **LARGE),
    "information, loaded": MutualInformation(),
}
MODELS = {
    "linear": lambda: LabelGP("linear"),
    "rbf": lambda: LabelGP("rbf"),
    "compressed": lambda: CompressedLabelGP(),
    "online": lambda: OnlineBayes(),
    "average": lambda: ModelAverage([LabelGP("rbf"), LabelMixtureGP(n_components=3)]),
    "mixture": lambda: LabelMixtureGP(n_components=3),
    "targets": lambda: OrthogonalTargetGP(),
}


def features(sparse=False, dtype=np.float64):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    X = (np.where(rng.random(X.shape) < 0.5, X, 0.0) if sparse else X).astype(dtype)
    return sp.csr_array(X) if sparse else X


def shards_of(X, folder):
    for number, (start, stop) in enumerate([(0, 100), (100, 101), (101, N)]):
        part = X[start:stop]
        if sp.issparse(part):
            sp.save_npz(folder / f"{number}.npz", part)
        else:
            np.save(folder / f"{number}.npy", part)
    return labelwise.read(folder, label_names=NAMES)


def asked_by(data, model, strategy, truth, rounds=3):
    campaign = Campaign(data, model=model, strategy=strategy, control=0.2, random_state=0)
    asked = []
    for _ in range(rounds):
        questions = campaign.ask(6)
        asked += [(question.item, question.labels, question.reason) for question in questions]
        campaign.tell(
            [
                Answer(question.item, {name: truth[int(question.item), NAMES.index(name)] for name in question.labels})
                for question in questions
            ]
        )
    return asked, campaign


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("model", ["linear", "rbf"])
def test_it_asks_what_a_campaign_in_memory_asks(tmp_path, model, strategy):
    X = features(dtype=np.float32)
    truth = X @ np.random.default_rng(1).standard_normal((D, Q)) > 0.3
    memory = LabelData.from_arrays(X, label_names=NAMES)
    expected, in_memory = asked_by(memory, MODELS[model](), STRATEGIES[strategy], truth)
    asked, in_shards = asked_by(shards_of(X, tmp_path), MODELS[model](), STRATEGIES[strategy], truth)
    assert asked == expected
    assert_allclose(in_shards.believe().probabilities(), in_memory.believe().probabilities(), atol=1e-9)
    assert_array_equal(in_shards.predict(), in_memory.predict())


@pytest.mark.parametrize("strategy", ["entropy", "information", "information of pairs", "balanced pairs"])
@pytest.mark.parametrize("model", ["linear", "compressed", "online"])
def test_sparse_pools_and_other_models(tmp_path, model, strategy):
    if model == "online" and strategy.startswith("information"):
        strategy = "information, loaded"
    X = features(sparse=True)
    truth = X @ np.random.default_rng(1).standard_normal((D, Q)) > 0.2
    memory = LabelData.from_arrays(X, label_names=NAMES)
    expected, _ = asked_by(memory, MODELS[model](), STRATEGIES[strategy], truth)
    asked, _ = asked_by(shards_of(X, tmp_path), MODELS[model](), STRATEGIES[strategy], truth)
    assert asked == expected


@pytest.mark.parametrize("model", ["average", "mixture", "targets"])
def test_models_that_lend_their_covariance(tmp_path, model):
    X = features()
    truth = X @ np.random.default_rng(1).standard_normal((D, Q)) > 0.2
    memory = LabelData.from_arrays(X, label_names=NAMES)
    expected, _ = asked_by(memory, MODELS[model](), STRATEGIES["information"], truth, rounds=2)
    asked, _ = asked_by(shards_of(X, tmp_path), MODELS[model](), STRATEGIES["information"], truth, rounds=2)
    assert asked == expected


@dataclass(frozen=True, eq=False)
class Counting(ShardedFeatures):
    """Shards that note how many rows were read at a time, and which single rows."""

    at_once: list = field(default_factory=list)
    single: list = field(default_factory=list)

    def _range(self, start, stop):
        self.at_once.append(max(0, stop - start))
        return super()._range(start, stop)

    def rows(self, indices):
        self.single.extend(np.asarray(indices).tolist())
        return super().rows(indices)


@pytest.mark.parametrize("strategy", [Uncertainty(), Uncertainty("pairs"), BalancedPairs(), Random()])
def test_only_blocks_and_chosen_rows_are_read(monkeypatch, strategy):
    for module in ("base", "balanced_pairs"):
        monkeypatch.setattr(f"labelwise.queries.{module}.BLOCK", 20)
    X = features()
    counted = Counting(ShardedFeatures.of(X).shards)
    truth = X @ np.random.default_rng(1).standard_normal((D, Q)) > 0.3
    asked, _ = asked_by(LabelData.from_arrays(counted, label_names=NAMES), LabelGP("linear"), strategy, truth)
    assert max(counted.at_once, default=0) <= 20
    assert set(counted.single) <= {int(item) for item, _, _ in asked}
    assert len(counted.single) > 0


def test_information_walks_the_pool_once_for_a_batch(monkeypatch):
    """So few are asked that the candidates of one walk are enough; beside it only the labelled rows are read."""
    monkeypatch.setattr("labelwise.data.sharded.BLOCK_BYTES", 20 * D * 8)
    X = features()
    counted = Counting(ShardedFeatures.of(X).shards)
    data = LabelData.from_arrays(counted, label_names=NAMES)
    campaign = Campaign(data, model=LabelGP("linear"), strategy=MutualInformation(**LARGE), random_state=0)
    campaign.tell([Answer(str(row), {"a": True, "b": False, "c": bool(row % 2)}) for row in range(4)])
    campaign.ask(5)
    assert max(counted.at_once, default=0) <= 20
    assert sum(size for size in counted.at_once if size == 20) == N  # one walk
    assert set(counted.single) - {0} == {1, 2, 3}


def test_a_label_can_be_added_with_a_guess(tmp_path):
    X = features()
    truth = X @ np.random.default_rng(1).standard_normal((D, Q)) > 0.3
    campaigns = []
    for data in (LabelData.from_arrays(X, label_names=NAMES), shards_of(X, tmp_path)):
        _, campaign = asked_by(data, LabelGP("linear"), Uncertainty(), truth)
        campaigns.append(campaign.add_label("d", like={"a": 0.9, "b": 0.1}))
    in_memory, in_shards = (campaign.believe().probabilities() for campaign in campaigns)
    assert_allclose(in_shards, in_memory, atol=1e-9)
    assert [q.item for q in campaigns[0].ask(5)] == [q.item for q in campaigns[1].ask(5)]


def test_items_can_be_added_to_a_pool_in_shards(tmp_path):
    X = features()
    more = LabelData.from_arrays(X[:3], label_names=NAMES, item_ids=["p", "q", "r"])
    campaign = Campaign(shards_of(X, tmp_path), model=LabelGP("linear"), strategy=Uncertainty(), random_state=0)
    campaign.tell([Answer("0", {"a": True, "b": False, "c": True}), Answer("1", {"a": False, "b": True, "c": True})])
    campaign.add_items(more)
    beliefs = campaign.believe().probabilities()
    assert beliefs.shape == (N + 3, Q)
    assert_allclose(beliefs[N:], beliefs[:3], atol=1e-9)


def test_a_model_that_cannot_be_walked_by_features_is_refused(tmp_path):
    X = features()
    truth = X @ np.random.default_rng(1).standard_normal((D, Q)) > 0.3
    with pytest.raises(ValueError, match=r"open items of this pool are in shards, .* use LabelGP"):
        asked_by(shards_of(X, tmp_path), OnlineBayes(), MutualInformation(**LARGE), truth)


@pytest.mark.parametrize("sparse", [False, True])
def test_opinions_beside_shards_are_those_beside_a_matrix(tmp_path, sparse):
    X = np.abs(features(sparse))
    truth = X @ np.random.default_rng(1).standard_normal((D, Q)) > 0.3
    rng = np.random.default_rng(2)
    said = np.where(rng.random(truth.shape) < 0.8, np.where(rng.random(truth.shape) < 0.85, truth, ~truth), np.nan)
    memory = LabelData.from_arrays(X, label_names=NAMES).with_opinions("gpt", said)
    shards = shards_of(X, tmp_path).with_opinions("gpt", said)
    assert isinstance(shards.X, ShardedFeatures) and shards.X.is_sparse == sparse
    assert_allclose(shards.opinions("gpt").toarray(), memory.opinions("gpt").toarray())
    rows = np.array([0, 99, 100, 101, 239])
    for some in (rows, slice(98, 103), rows[:0]):
        found, expected = shards.X[some], memory.X[some]
        assert_allclose(found.toarray() if sparse else found, expected.toarray() if sparse else expected)
    assert_allclose(learn_hints(shards)(shards.X[rows]), learn_hints(memory)(memory.X[rows]))
    again = shards.with_opinions("rules", 1 - said).with_opinions("gpt", 1 - said)
    assert again.opinion_names == ("rules", "gpt")
    assert_allclose(again.opinions("gpt").toarray(), -shards.opinions("gpt").toarray())
    left = again.without_opinions().X[rows]
    assert_allclose(left.toarray() if sparse else left, X[rows].toarray() if sparse else X[rows])
    with pytest.raises(ValueError, match="240 rows, but 3"):
        shards.X.with_columns(np.ones((3, 1)))


@pytest.mark.parametrize("sparse", [False, True])
def test_a_campaign_on_shards_believes_opinions_before_and_after_answers(tmp_path, sparse):
    X = np.abs(features(sparse))
    truth = np.random.default_rng(1).random((N, Q)) < 0.4  # features say nothing of it
    opinions = labelwise.Opinions("gpt", {str(i): [NAMES[j] for j in np.flatnonzero(truth[i])] for i in range(0, N, 2)})
    campaign = Campaign(shards_of(X, tmp_path), model=LabelGP("linear"), strategy=Uncertainty(), opinions=[opinions])
    assert (campaign.believe().probabilities()[::2] > 0.5)[truth[::2]].all()
    campaign.tell([Answer(str(i), dict(zip(NAMES, truth[i].tolist(), strict=True))) for i in range(40)])
    p = campaign.believe().probabilities()[40::2]
    assert p[truth[40::2]].mean() > 0.6 > 0.3 > p[~truth[40::2]].mean()
    assert len(campaign.ask(3)) == 3
    alone = Campaign(labelwise.read(tmp_path, label_names=NAMES), model=LabelGP("linear"), strategy=Uncertainty())
    alone.tell(campaign.answers)
    worse = alone.believe().probabilities()[40::2]
    assert p[truth[40::2]].mean() > worse[truth[40::2]].mean() + 0.15
