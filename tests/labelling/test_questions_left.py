"""Questions are made as they are needed, and nobody is told that nothing is left while something is."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from labelwise import Answer, LabelData
from labelwise.labelling import Project, Service
from labelwise.labelling.leases import MAKING, MOST_HELD, NOTHING, WITH_OTHERS, held_most
from labelwise.labelling.texts import Texts
from labelwise.labelling.web.json_api import _listed

LABELS = ("left", "low", "far")


def points(n: int) -> LabelData:
    X = np.random.default_rng(0).standard_normal((n, 2))
    return LabelData.from_arrays(X, label_names=LABELS, item_ids=[f"p{i}" for i in range(n)])


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr("labelwise.labelling.training.worker.SHORTEST_PAUSE", 0.0)


def test_people_who_take_all_that_is_ready_leave_questions_for_others(make, location):
    project = make(location, points(300), ready=200)
    project.refresh()
    taken = [lease.question.item for who in ("ann", "eve") for lease in project.service.ask(who, 100)]
    assert len(set(taken)) == 200 and project.service.ask("bob") == []
    assert project.service.left_for("bob") == MAKING
    bob = project.ask(5, who="bob")
    assert len(bob) == 5 and not {lease.question.item for lease in bob} & set(taken)


def test_one_person_holds_so_many_questions_and_is_told(make):
    project = make(data=points(300), ready=200)
    held = project.ask(200, who="ann")
    assert len(held) == MOST_HELD
    assert [lease.token for lease in project.ask(200, who="ann")] == [lease.token for lease in held]
    assert len(project.ask(5, who="bob")) == 5
    listed = _listed(project, "ann", held, [], Texts("en"))
    assert listed["limit"] == held_most(MOST_HELD) and "answer or skip some" in listed["limit"]
    assert _listed(project, "ann", held[:1], [], Texts("en"))["limit"] is None
    project.service.answer(held[0].token, {"left": True})
    assert len(project.ask(200, who="ann")) == MOST_HELD


def test_a_worker_that_runs_refills_the_queue_without_an_answer(make, location):
    project = make(location, points(60), ready=20)
    worker = project.worker()
    worker.step()
    for who in ("ann", "bob", "eve"):
        assert len(project.service.ask(who, 20)) == 20
        worker.step()
        assert not worker.step(), "once is enough"
    assert project.service.ask("joe") == [] and project.service.left_for("joe") == WITH_OTHERS


@pytest.mark.parametrize("control", [0.0, 0.4])
def test_who_skips_everything_is_asked_everything_once(make, location, control):
    project = make(location, points(12), ready=3, control=control)
    skipped = []
    while leases := project.ask(who="ann"):
        skipped.append(leases[0].question.item)
        project.service.skip(leases[0].token)
    assert sorted(skipped) == sorted(f"p{i}" for i in range(12))
    assert project.service.left_for("ann") == NOTHING
    assert project.ask(who="bob"), "what one person skipped is there for others"


@pytest.mark.parametrize("strategy", ["uncertainty", "uncertainty_pairs"])
@pytest.mark.parametrize(("overlap", "control"), [(1, 0.0), pytest.param(1, 0.4, marks=pytest.mark.slow), (2, 0.4)])
def test_one_person_alone_comes_to_every_question(make, strategy, overlap, control):
    project = make(data=points(8), ready=4, strategy=strategy, overlap=overlap, control=control)
    asked = []
    while leases := project.ask(3, who="ann"):
        for lease in leases:
            asked += [(lease.question.item, label) for label in lease.question.labels]
            project.service.answer(lease.token, dict.fromkeys(lease.question.labels, len(asked) % 2 == 0))
    assert sorted(asked) == sorted((f"p{i}", label) for i in range(8) for label in LABELS)
    assert project.service.left_for("ann") == NOTHING
    others = [lease.question.item for lease in project.ask(100, who="bob")]
    assert len(others) == (overlap - 1) * (8 if strategy == "uncertainty" else 24)


def test_labels_that_came_with_the_items_neither_close_them_nor_lengthen_the_plan(make):
    Y = np.zeros((30, 3), dtype=bool)
    known = np.broadcast_to(np.array([True, False, False]), Y.shape)
    data = LabelData.from_arrays(
        np.random.default_rng(0).standard_normal((30, 2)), Y, observed=known, label_names=LABELS
    )
    project = make(data=data, ready=5)
    assert project.ask()[0].question.labels == ("low", "far"), "the owner, under whose name they were added, is asked"
    assert len(project.service.ask("ann", 30)) == 4


def test_answers_in_part_do_not_hide_what_is_open(make):
    project = make(data=points(10), ready=3, overlap=2)
    for who in ("ann", "bob"):
        project.tell([Answer(f"p{i}", {"left": True}) for i in range(6)], who=who)
    items = set()
    while leases := project.ask(3, who="eve"):
        items |= {lease.question.item for lease in leases}
        for lease in leases:
            project.service.answer(lease.token, dict.fromkeys(lease.question.labels, True))
    assert items == {f"p{i}" for i in range(6, 10)}


@pytest.mark.parametrize("strategy", ["uncertainty", "uncertainty_pairs"])
def test_what_somebody_holds_is_there_for_a_second_opinion(make, strategy):
    project = make(data=points(4), ready=30, overlap=2, strategy=strategy)
    held = project.ask(12, who="ann")
    project.rebuild()
    again = project.ask(12, who="bob")
    assert {(each.question.item, each.question.labels) for each in held} == {
        (each.question.item, each.question.labels) for each in again
    }
    assert project.ask(who="eve") == [] and project.service.left_for("eve") == WITH_OTHERS


def test_what_others_give_back_is_asked(make, location):
    project = make(location, points(4), ready=30, lease_seconds=60)
    clock = SimpleNamespace(now=4e9)
    service = Service(project.store, project.settings, lambda: clock.now)
    project.refresh()
    assert len(service.ask("ann", 10)) == 4
    assert service.ask("bob") == [] and service.left_for("bob") == WITH_OTHERS
    clock.now += 61
    assert len(service.ask("bob", 10)) == 4


def test_the_first_questions_about_pairs_go_on_to_other_labels(make):
    project = make(data=points(5), ready=15, strategy="uncertainty_pairs")
    assert len({(each.question.item, each.question.labels) for each in project.ask(15, who="ann")}) == 15


def test_the_message_follows_what_is_left(make, monkeypatch):
    project = make(data=points(3), ready=10)
    assert "no worker is running" in _listed(project, "ann", [], [], Texts("en"))["waiting"]
    with monkeypatch.context() as patch:  # one is started beside the server, a little later
        patch.setattr(project, "starts_worker", True)
        assert "being made ready" in _listed(project, "ann", [], [], Texts("en"))["waiting"]
    monkeypatch.setattr("labelwise.labelling.web.json_api.worker_is_running", lambda store: True)
    assert "being made ready" in _listed(project, "ann", [], [], Texts("en"))["waiting"]
    project.ask(3, who="bob")
    assert "Others are answering" in _listed(project, "ann", [], [], Texts("en"))["waiting"]
    project.tell([Answer(f"p{i}", dict.fromkeys(LABELS, True)) for i in range(3)], who="bob")
    project.refresh()
    assert "Nothing is left" in _listed(project, "ann", [], [], Texts("en"))["waiting"]


def test_a_project_of_an_older_version_makes_questions_once(make):
    """Its last training does not say whether there were more."""
    project: Project = make(data=points(3), ready=10)
    project.refresh()
    with project.store.writing() as connection:
        connection.exec_driver_sql("UPDATE trainings SET report = NULL")
    assert project.service.left_for("ann") == MAKING
    worker = project.worker()
    assert worker.step() and not worker.step()
