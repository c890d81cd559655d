"""A project is a campaign with a store: the same data, settings and answers lead to the same questions and figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from labelwise import Answer, Campaign, LabelData
from labelwise.campaign.defaults import BATCH, START_OF, Choices
from labelwise.labelling import Project
from labelwise.numerics.metrics import METRICS, evaluate
from labelwise.studies import Answerer
from labelwise.studies.plans import Plan
from labelwise.studies.simulate import Result, Schedule, split
from labelwise.studies.study import run_study
from rest_slow import rest_slow

ROUNDS = {"items": 4, "pairs": 14}
FAST = {("items", 1), ("pairs", 0)}  # kinds and seeds of `make test`: one of either kind, with and without an estimate


def pool(seed: int, n_labels: int = 4, n_items: int = 60) -> LabelData:
    """Items whose labels follow from their features."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_items, 3))
    Y = X @ rng.standard_normal((3, n_labels)) + 0.3 * rng.standard_normal((n_items, n_labels)) > 0.3
    names = [f"label {number}" for number in range(n_labels)]
    return LabelData.from_arrays(X, Y, label_names=names, item_ids=[f"item {row}" for row in range(n_items)])


def labelled_alike(campaign: Campaign, project: Project, truth: LabelData, rounds: int) -> None:
    """Answer what both ask, round by round; they must ask the same."""
    answerer = Answerer(truth)
    for _ in range(rounds):
        project.refresh()
        leases = project.ask(BATCH, who="ann")
        asked = campaign.ask(BATCH)
        told = [(each.item, each.labels, each.reason) for each in asked]
        assert [(each.question.item, each.question.labels, each.question.reason) for each in leases] == told
        answers = [answerer.answer(question) for question in asked]
        campaign.tell(answers)
        for lease, answer in zip(leases, answers, strict=True):
            project.service.answer(lease.token, answer.values)


@pytest.mark.parametrize(
    ("target", "seed"),
    [
        pytest.param(target, seed, marks=[] if (target, seed) in FAST else pytest.mark.slow)
        for target in ("items", "pairs")
        for seed in range(10)
    ],
)
def test_a_project_asks_what_a_campaign_asks_and_stands_as_it_stands(tmp_path, target, seed):
    truth = pool(seed)
    start = 20 if seed % 2 else None  # enough random items to estimate F1, or the default
    settings = {"model": "binary_relevance", "strategy": target, "start": start, "random_state": seed}
    campaign = Campaign(truth.hide(), **settings)
    with Project.create(tmp_path / "project.db", truth.hide(), **settings) as project:
        labelled_alike(campaign, project, truth, ROUNDS[target])
        standing = campaign.status()
        assert project.standing() == standing
        assert standing.f1 is not None or (start is None and standing.random_items < 20)
        project.refresh()
        np.testing.assert_array_equal(project.campaign().predict(), campaign.predict())


def studied(data: LabelData, model: str, target: str, seed: int, folder: Path) -> tuple[Result, Schedule]:
    """The default campaign as a study runs it: its start, then rounds of one batch."""
    schedule = Schedule(start=START_OF[target], rounds=ROUNDS[target] - 1, batch=BATCH)
    plan = Plan((model,), (f"default_{target}",), (seed,), schedule)
    return run_study(data, plan, folder, jobs=1).results[model, f"default_{target}", seed], schedule


@pytest.mark.parametrize("target", ROUNDS)
@pytest.mark.parametrize("model", ["default", "binary_relevance"])
@pytest.mark.parametrize("seed", rest_slow(range(3)))
@pytest.mark.slow
def test_the_protocol_of_the_studies_through_a_project_gives_the_same_picks(tmp_path, model, target, seed):
    data = pool(seed, n_items=90)
    result, schedule = studied(data, model, target, seed, tmp_path / "study")
    asked_about, test = split(data, schedule, seed)
    answerer = Answerer(asked_about)
    settings = {"model": None if model == "default" else model, "strategy": target, "random_state": seed}
    with Project.create(tmp_path / "project.db", asked_about.hide(), **settings) as project:
        for number, batch in enumerate(result.asked):
            project.refresh()  # as after every round of a study
            for item, label in batch:
                open_labels = data.label_names if label is None else (label,)
                parts = [(name,) for name in open_labels] if target == "pairs" else [open_labels]
                for labels in parts:
                    [lease] = project.ask(who="ann")
                    assert (lease.question.item, lease.question.labels) == (item, labels), f"round {number}"
                    assert (lease.question.reason == "start") is (number == 0)
                    project.service.answer(lease.token, answerer.answer(lease.question).values)
        campaign = project.campaign()
        spent, last = campaign.spent(), result.rows[-1]
        paid = tuple(last[name] for name in ("items_read", "readings", "answers"))
        assert (spent.items, spent.readings, spent.answers) == paid
        beliefs = campaign.believe(test.X)
        figures = evaluate(beliefs.probabilities(), test.Y.toarray(), campaign.decide(beliefs))
        assert [figures[name] for name in METRICS] == pytest.approx([last[name] for name in METRICS], rel=1e-9)


def test_with_every_default(tmp_path):
    truth = pool(3)
    campaign = Campaign(truth.hide())
    with Project.create(tmp_path / "project.db", truth.hide()) as project:
        labelled_alike(campaign, project, truth, 3)
        assert project.standing() == campaign.status()


def test_with_labels_whose_names_say_something(tmp_path):
    """Names and descriptions are in the store: a project believes them as a campaign does, from the first item on."""
    rng = np.random.default_rng(0)
    words = ["football", "goal", "vote", "minister", "apple", "tree"]
    topic = rng.integers(3, size=60)
    X = (rng.random((60, 6)) < np.where(np.arange(6) // 2 == topic[:, None], 0.7, 0.1)).astype(float)
    labels = {"Football": "", "b47": "votes and ministers", "Apples": ""}
    truth = LabelData.from_arrays(X, topic[:, None] == np.arange(3), labels=labels, feature_names=words)
    settings = {"model": "binary_relevance", "strategy": "items"}
    campaign = Campaign(truth.hide(), **settings)
    with Project.create(tmp_path / "project.db", truth.hide(), **settings) as project:
        first = project.campaign()
        assert first.data.labels == truth.labels
        np.testing.assert_array_equal(first.believe().probabilities(), campaign.believe().probabilities())
        assert np.ptp(campaign.believe().probabilities()[:, 1]) > 0.1
        labelled_alike(campaign, project, truth, 4)
        project.refresh()
        np.testing.assert_array_equal(project.campaign().believe().probabilities(), campaign.believe().probabilities())
        assert project.predict().probabilities.shape == (60, 3)
        project.rename_label("b47", "politics")
        assert project.campaign().data.labels[1].description == "votes and ministers"
    with Project.create(tmp_path / "off.db", truth.hide(), hints=False, **settings) as project:
        assert np.ptp(project.campaign().believe().probabilities()) == 0


@pytest.mark.parametrize("n_labels", [6, 25])
def test_the_defaults_are_those_of_a_campaign(tmp_path, n_labels):
    data = pool(0, n_labels).hide()
    campaign, chosen = Campaign(data), Choices.of()
    with Project.create(tmp_path / "project.db", data) as project:
        of_project = project.campaign()
        for name in ("start", "control", "costs", "random_state"):
            assert getattr(of_project, name) == getattr(campaign, name), name
        assert repr(of_project.decision) == repr(campaign.decision)
        assert type(of_project.strategy) is type(campaign.strategy)
        assert type(of_project.model) is type(campaign.model)
        assert of_project.model.get_params() == campaign.model.get_params()
        assert (project.settings.strategy, project.settings.model) == (chosen.strategy, chosen.model)


def test_a_strategy_switches_the_other_defaults_off(tmp_path):
    data = pool(0).hide()
    campaign = Campaign(data, strategy="uncertainty")
    with Project.create(tmp_path / "project.db", data, strategy="uncertainty") as project:
        assert (project.campaign().control, project.campaign().start) == (campaign.control, campaign.start) == (0.0, 0)


def test_answers_are_learnt_from_whoever_drew_the_question(tmp_path):
    """The random share is no exception: honest figures come from models that the judged items were hidden from."""
    truth = pool(1)
    with Project.create(tmp_path / "project.db", truth.hide(), control=1.0, start=0) as project:
        project.refresh()
        lease = project.ask(who="ann")[0]
        assert lease.question.reason == "control"
        project.service.answer(lease.token, Answerer(truth).answer(lease.question).values)
        learnt = project.campaign().answers
        assert [answer.item for answer in learnt] == [lease.question.item]
        assert learnt[0] == Answer(lease.question.item, learnt[0].values, "control")
