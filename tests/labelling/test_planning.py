"""Which questions are kept ready: the random share, what nobody was sure of, what others shall answer too."""

import numpy as np
import pytest

from labelwise import Answer
from labelwise.labelling import Settings
from labelwise.labelling.planning import Planner, copies, kept_apart


def planned(project, n=40, leased=()):
    return Planner(project.learner(), leased).plan(n)


def test_about_the_wanted_share_is_kept_apart_whatever_is_added():
    settings = Settings(control=0.1)
    ids = np.arange(20_000)
    assert 0.09 < kept_apart(settings, ids).mean() < 0.11
    assert np.array_equal(kept_apart(settings, ids)[:500], kept_apart(settings, ids[:500]))


def test_only_items_kept_apart_are_asked_at_random(make):
    project = make(control=0.4)
    project.tell(Answer("p39", {"left": True}))
    plan = planned(project)
    ids = np.array([question.item for question in plan])
    control = np.array([question.reason == "control" for question in plan])
    assert np.array_equal(kept_apart(project.settings, ids), control)
    assert 5 < control.sum() < 30


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
    again = planned(project, leased=[(first.item, first.label)])
    assert first.item not in {question.item for question in again}


def test_each_question_is_there_once_and_in_order(make):
    project = make(strategy="uncertainty_pairs", control=0.3, overlap=2)
    project.tell(Answer("p0", {"left": True, "low": False}))
    plan = planned(project, 60)
    assert len({(question.item, question.label) for question in plan}) == len(plan)
    assert [question.rank for question in plan] == list(range(len(plan)))


def test_the_share_of_overlap_is_about_what_was_asked_for():
    settings = Settings(overlap=3, overlap_share=0.25)
    numbers = [copies(settings, item, 0) for item in range(4000)]
    assert set(numbers) == {1, 3}
    assert 0.22 < numbers.count(3) / 4000 < 0.28
