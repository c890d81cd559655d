"""Training beside the people: failures and deaths change nothing, one worker is enough, questions do not run out."""

from __future__ import annotations

import os
import signal
import time

import pytest

from labelwise import Answer
from labelwise.labelling import Project, WorkerBusy
from labelwise.labelling.figures.status import status_of
from labelwise.labelling.training.locks import only_worker, worker_is_running
from labelwise.labelling.training.worker_process import start_worker
from labelwise.models import BinaryRelevance

SAID = {"left": True, "low": False, "far": False}


def ready_items(project: Project, who: str = "somebody") -> list[str]:
    return [lease.question.item for lease in project.service.ask(who, 40)]


def test_a_step_is_done_once_and_then_there_is_nothing_to_do(make):
    worker = make().worker()
    assert worker.step()
    assert not worker.step()


@pytest.mark.parametrize("strategy", ["uncertainty", "uncertainty_pairs"])
def test_the_first_questions_need_no_training_and_give_way_to_it(make, strategy, monkeypatch):
    project = make(strategy=strategy, start=4, ready=12)
    wanted = [(each.item, each.labels) for each in project.campaign().ask(4)]
    with monkeypatch.context() as patch:  # whatever is believed takes long
        patch.setattr("labelwise.labelling.training.learner.Learner.believed_labels", None)
        assert project.prepare()
    first = project.service.ask("ann", 4)
    assert [(lease.question.item, lease.question.labels) for lease in first] == wanted
    assert {lease.question.reason for lease in first} == {"start"}
    worker = project.worker()
    assert worker.step() and not worker.step()
    assert len(project.service.ask("ann", 12)) == 12
    assert not make(start=0).prepare()


def test_a_failed_training_changes_nothing_and_is_reported(make, location, monkeypatch):
    project = make(location)
    worker = project.worker()
    worker.step()
    project.tell(Answer("p0", SAID))

    def fail(self, *_, **__):
        raise RuntimeError("not today")

    monkeypatch.setattr(BinaryRelevance, "fit", fail)
    assert worker.step()
    assert not worker.step(), "it is not tried again before something changes"
    assert status_of(project).trouble == "the last training failed: RuntimeError: not today"
    assert len(ready_items(project)) == 10
    monkeypatch.undo()
    project.tell(Answer("p1", SAID))
    assert worker.step()
    assert status_of(project).trouble is None


def test_items_that_cannot_be_read_any_more_are_reported_and_the_worker_goes_on(make, location, monkeypatch):
    project = make(location)
    project.refresh()
    worker = project.worker()
    project.tell(Answer("p0", SAID))

    def fail(self, *_):
        raise FileNotFoundError("the pictures have moved")

    monkeypatch.setattr("labelwise.labelling.items.features.Featurizer.transform", fail)
    assert worker.step()
    assert not worker.step()
    assert "the pictures have moved" in status_of(project).trouble
    assert len(ready_items(project)) >= 9
    monkeypatch.undo()
    project.tell(Answer("p1", SAID))
    assert worker.step()
    assert project.is_settled and status_of(project).trouble is None


def test_a_killed_training_is_reported_and_the_last_good_questions_stay(make, location):
    project = make(location)
    project.refresh()
    project.tell(Answer("p0", SAID))
    worker = project.worker()

    class Killed(BaseException):
        """Stands in for SIGKILL: nothing of the step after it is done."""

    def die(_):
        raise Killed

    worker.learner.catch_up()
    worker.learner.campaign.strategy = type("Dies", (), {"target": "items", "choose": lambda *_: die(_)})()
    with pytest.raises(Killed):
        worker.step()
    assert len(ready_items(project)) == 10
    told = []
    following = project.worker(on_event=told.append)
    following.begin()
    assert "a training was killed" in told[0]
    assert "was killed" in status_of(project).trouble
    assert following.step()


def test_a_second_worker_stops(make, location):
    project = make(location)
    with only_worker(project.store):
        assert worker_is_running(project.store)
        with Project(project.store.location) as other, pytest.raises(WorkerBusy, match="one is enough"):
            other.worker().run()
    assert not worker_is_running(project.store)


def test_questions_are_made_anew_before_they_run_out(make):
    project = make(ready=6)
    worker = project.worker()
    worker.step()
    leases = project.service.ask("ann", 4)
    assert worker.step()
    assert len(project.service.ask("ann", 40)) == 4 + 6
    assert leases[0].question.item not in ready_items(project)


def test_what_is_answered_while_questions_are_made_is_not_asked_again(make, monkeypatch):
    project = make(ready=40)
    worker = project.worker()
    worker.step()
    held, answered = project.service.ask("ann", 2)
    plan = type(worker.learner.campaign).ask

    def ask_slowly(self, *args, **options):
        questions = plan(self, *args, **options)
        project.service.answer(answered.token, SAID)
        return questions

    project.tell(Answer("p0", SAID), who="bob")
    monkeypatch.setattr(type(worker.learner.campaign), "ask", ask_slowly)
    worker.step()
    again = ready_items(project, "eve")
    assert answered.question.item not in again
    assert held.question.item not in again


def test_a_worker_in_a_process_of_its_own_trains_and_dies_without_a_trace(make, location):
    project = make(location)
    process = start_worker(project.store)
    try:
        deadline = time.monotonic() + 60
        while not project.is_settled and time.monotonic() < deadline:
            time.sleep(0.05)
        assert project.is_settled
        assert worker_is_running(project.store)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    deadline = time.monotonic() + 30
    while worker_is_running(project.store) and time.monotonic() < deadline:
        time.sleep(0.05)  # a server takes a moment to see that its client is gone
    assert not worker_is_running(project.store)
    assert len(ready_items(project)) == 10
