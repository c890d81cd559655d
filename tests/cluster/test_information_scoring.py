"""Campaigns over shards that ask a cluster: the questions are those of one machine."""

from dataclasses import dataclass

import numpy as np
import pytest

import labelwise as lw
from labelwise.cluster import on_cluster
from labelwise.data import ShardedFeatures
from labelwise.queries.base import ScoringStrategy


def campaign(strategy, n=9000, *, opinions=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 6)).round(1).astype(np.float32)  # rounded: some items tie
    names = ["a", "b", "c"]
    pool = lw.LabelData.from_arrays(ShardedFeatures.of(X[: n // 3], X[n // 3 :]), label_names=names)
    said = X[:40] @ rng.normal(size=(6, 3)) > 0
    answers = [lw.Answer(str(row), dict(zip(names, one, strict=True))) for row, one in enumerate(said)]
    if opinions:
        pool = pool.with_opinions("gpt", np.where(rng.random((n, 3)) < 0.5, X[:, :3] > 0, np.nan))
    return lw.Campaign(pool, model=lw.LabelGP("linear"), strategy=strategy, random_state=0, answers=answers)


def asked(campaign, rounds=2):
    found = []
    for _ in range(rounds):
        questions = campaign.ask(15)
        found += [(question.item, question.labels) for question in questions]
        campaign.tell([lw.Answer(q.item, dict.fromkeys(q.labels, True)) for q in questions])
    return found


@pytest.mark.parametrize(
    "strategy",
    [lw.Uncertainty(), lw.Uncertainty(target="pairs"), lw.MutualInformation(), lw.MutualInformation("pairs")],
)
@pytest.mark.slow
def test_questions_are_those_of_one_machine(client, strategy):
    assert asked(campaign(on_cluster(strategy, client))) == asked(campaign(strategy))


def test_opinions_go_along(client):
    with_opinions = asked(campaign(on_cluster(lw.Uncertainty(), client), opinions=True))
    assert with_opinions == asked(campaign(lw.Uncertainty(), opinions=True))
    assert with_opinions != asked(campaign(lw.Uncertainty()))


def test_a_pool_in_memory_is_scored_here(client, monkeypatch):
    monkeypatch.setattr(client, "submit", None)
    data = lw.data.make_gaussian_labels(100, random_state=0)
    strategies = (lw.Uncertainty(), on_cluster(lw.Uncertainty(), client))
    here, there = (
        lw.Campaign(data, model=lw.LabelGP(), strategy=strategy, random_state=0).ask(5) for strategy in strategies
    )
    assert here == there


@dataclass(frozen=True)
class Dice(ScoringStrategy):
    target: str = "items"

    def score(self, posterior, rng):
        return rng.random(posterior.n_items)


def test_what_cannot_go_to_a_cluster_is_said(client):
    with pytest.raises(ValueError, match="LabelCovariance plans over the whole pool"):
        on_cluster(lw.LabelCovariance(), client)
    with pytest.raises(ValueError, match="Dice draws while it scores"):
        campaign(on_cluster(Dice(), client)).ask(3)


@pytest.mark.parametrize("wrong", [2, "tcp://127.0.0.1:8786", None])
def test_what_is_no_client_is_refused(wrong):
    with pytest.raises(ValueError, match=r"client must be an open distributed.Client, got .*connected\("):
        on_cluster(lw.MutualInformation(), wrong)
