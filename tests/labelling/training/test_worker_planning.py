"""Which questions are kept ready: the random share, what nobody was sure of, what others shall answer too."""

import numpy as np
import pytest

from labelwise import Answer, LabelData
from labelwise.campaign.defaults import BATCH
from labelwise.labelling import Settings
from labelwise.labelling.training.worker import Planner, copies


def planned(project, n=40, leased=()):
    return Planner(project.learner(), leased).plan(n)


def test_about_the_wanted_share_is_asked_at_random(make):
    X = np.random.default_rng(0).standard_normal((400, 2))
    project = make(data=LabelData.from_arrays(X, label_names=["left", "low"]), control=0.4)
    project.tell(Answer("39", {"left": True}))
    plan = planned(project, 300)
    assert 0.3 < np.mean([question.reason == "control" for question in plan]) < 0.5
    assert {question.reason for question in plan} == {"control", "strategy"}


def test_the_first_batch_is_that_of_the_campaign(make):
    project = make(control=0.4, strategy="uncertainty_pairs")
    project.tell(Answer("p39", {"left": True}))
    learner = project.learner()
    names, labels = dict(zip(learner.items.ids, learner.items.names, strict=True)), learner.labels.all_names
    plan = [(names[each.item], (labels[each.label],), each.reason) for each in planned(project)]
    assert plan[:BATCH] == [(each.item, each.labels, each.reason) for each in learner.campaign.ask(BATCH)]


@pytest.mark.parametrize("strategy", ["uncertainty", "uncertainty_pairs"])
def test_what_somebody_was_unsure_of_is_not_asked_again(make, strategy):
    project = make(strategy=strategy)
    project.tell(Answer("p0", {"left": True, "low": True, "far": None}))
    project.tell(Answer("p1", {"left": None}))
    entries = {(question.item, question.label) for question in planned(project, 200)}
    if strategy == "uncertainty":
        assert (1, 0) not in entries and (2, 0) in entries
    else:
        assert (1, 3) not in entries and (2, 1) not in entries
        assert {(2, 2), (2, 3)} <= entries
        assert len(entries) == 120 - 4


def test_leased_questions_are_left_out(make):
    project = make()
    project.tell(Answer("p0", {"left": True}))
    first = planned(project)[0]
    again = planned(project, leased=[(first.item, first.label, first.reason)])
    assert first.item not in {question.item for question in again}


def test_each_question_is_there_once_and_in_order(make):
    project = make(strategy="uncertainty_pairs", control=0.3, overlap=2)
    project.tell(Answer("p0", {"left": True, "low": False}))
    plan = planned(project, 60)
    assert len({(question.item, question.label) for question in plan}) == len(plan)
    assert [question.rank for question in plan] == list(range(len(plan)))


def test_the_share_of_overlap_is_about_what_was_asked_for():
    settings = Settings("binary_relevance", "uncertainty", overlap=3, overlap_share=0.25)
    numbers = [copies(settings, item, 0) for item in range(4000)]
    assert set(numbers) == {1, 3}
    assert 0.22 < numbers.count(3) / 4000 < 0.28


@pytest.mark.parametrize(("strategy", "start"), [("balanced_pairs", 6), ("uncertainty_pairs", 0)])
def test_all_about_one_item_is_planned_together(make, strategy, start):
    data = LabelData.from_arrays(
        np.random.default_rng(0).standard_normal((60, 2)), label_names=[f"label {j}" for j in range(25)]
    )
    project = make(data=data, strategy=strategy, start=start, control=0.2)
    project.tell(Answer("0", {"label 0": True, "label 1": False}))
    plan = planned(project, 110)
    for batch in (plan[:BATCH], plan[BATCH:]):
        items = [question.item for question in batch]
        runs = [item for place, item in enumerate(items) if place == 0 or items[place - 1] != item]
        assert len(runs) == len(set(items)) > 0
    items = [question.item for question in plan]
    if start:
        numbers = {item: items.count(item) for item in items if plan[items.index(item)].reason == "start"}
        assert len(numbers) == 5 and set(numbers.values()) <= {25, 23}  # no item is cut where the plan ends


def test_items_of_the_start_are_read_once_while_it_is_planned_anew(make):
    data = LabelData.from_arrays(
        np.random.default_rng(0).standard_normal((60, 2)), label_names=[f"label {j}" for j in range(25)]
    )
    project = make(data=data, strategy="balanced_pairs", start=6, control=0.1, ready=60)
    project.refresh()
    read, answers = [], 0
    leases = project.service.ask_about_items("ann", 3)
    while leases[0].question.reason in ("start", "control"):
        together = [lease for lease in leases if lease.question.item == leases[0].question.item]
        if leases[0].question.reason == "start":
            assert len(together) == 25
            read.append(leases[0].question.item)
        for lease in together:
            project.service.answer(lease.token, {lease.question.labels[0]: answers % 3 == 0})
            answers += 1
            if answers % 40 == 0:
                project.refresh()
        leases = project.service.ask_about_items("ann", 3)
    assert len(read) == len(set(read)) >= 6


def test_of_many_labels_an_item_is_given_in_parts_and_nobody_holds_too_much(make):
    data = LabelData.from_arrays(np.eye(20), label_names=[f"label {j}" for j in range(150)])
    project = make(data=data, strategy="balanced_pairs", start=3, ready=600)
    project.refresh()
    held = [len(project.service.ask_about_items("ann", 3)) for _ in range(4)]
    assert held == [100] * 4
