"""The worker: reads new answers, trains, and keeps questions ready. Nothing it holds is the only copy.

A training that fails, or a worker that is killed at any moment, leaves the questions and the model of the last good
training in place; what happened is in the record of trainings.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from labelwise.labelling.derived import MODEL, SNAPSHOT, derived_path
from labelwise.labelling.errors import StoreError
from labelwise.labelling.estimates import report_of
from labelwise.labelling.learner import Learner, Seen
from labelwise.labelling.learning_curve import forecast_gain
from labelwise.labelling.locks import only_worker
from labelwise.labelling.model_files import TrainedLabeller
from labelwise.labelling.planning import Planner
from labelwise.labelling.snapshot import take_snapshot
from labelwise.labelling.store import Store
from labelwise.labelling.store.engine import pieces
from labelwise.labelling.store.events import last_event
from labelwise.labelling.store.labels import last_change
from labelwise.labelling.store.questions import (
    Ready,
    count_ready,
    drop_other_plans,
    expire,
    highest_rank,
    open_leases,
    trim_plan,
    write_plan,
)
from labelwise.labelling.store.trainings import (
    begin_training,
    end_training,
    last_good,
    mark_killed,
    read_course,
    shorten_reports,
)
from labelwise.labelling.terms import Settings
from labelwise.labelling.wording import counted
from labelwise.new_labels import GuessingModel

POLL_SECONDS = 0.2  # between looks into the store while nothing is new
SAVE_SECONDS = 30  # between two files of the model while answers keep coming
SAVE_REST = 4  # times as long as writing them took, between two of them in pauses: questions come before files
AT_ONCE = 100  # questions written in one go
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.2  # seconds between two writes of one plan
LOW_WATER = 0.5  # share of the questions to keep ready below which new ones are made


class Worker:
    """Keeps one project's questions ready; one step at a time, so that tests and single users need no process.

    Parameters
    ----------
    store : Store
    settings : Settings
    on_event : called with a line of text for whoever watches
    """

    def __init__(self, store: Store, settings: Settings, on_event: Callable[[str], None] = lambda line: None) -> None:
        self.store = store
        self.settings = settings
        self.learner = Learner(store, settings)
        self._on_event = on_event
        self._failed_at: Seen | None = None  # not tried again before something changes
        self._unsaved, self._saved_at, self._save_took = False, 0.0, 0.0
        self._planned = 0  # questions the last plan came to: where fewer than wanted, more is not to be had

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Be the project's worker until told to stop."""
        with only_worker(self.store):
            self.begin()
            while not until():
                if not self.step():
                    time.sleep(POLL_SECONDS)

    def begin(self) -> None:
        """Note what a killed predecessor left behind."""
        with self.store.writing() as connection:
            killed = mark_killed(connection, time.time())
        if killed:
            self._on_event("a training was killed; its questions were never shown, the last good ones still are")

    def step(self) -> bool:
        """Do what there is to do, if anything: train on new answers, or make more questions; whether it did."""
        now, due = self._look()
        if now == self._failed_at or not due:
            if time.time() - self._saved_at > SAVE_REST * self._save_took:
                self.keep_model()
            return False
        with self.store.writing() as connection:
            expire(connection, time.time())
            number = begin_training(connection, now.event, now.change, time.time())
            leased = [(held.item, held.label) for held in open_leases(connection)]
        try:
            self.learner.catch_up()
            ready = Planner(self.learner, leased).plan(self.settings.ready)
            report = report_of(self.learner)
            report["forecast"] = self._forecast(report)
        except StoreError:
            raise
        except Exception as error:
            self._give_up(number, now, error)
            return True
        self._put_in_place(number, ready, report)
        self._planned, self._unsaved = len(ready), True
        if time.time() - self._saved_at > SAVE_SECONDS:
            self.keep_model()
        self._on_event(f"{counted(report['answers'], 'answer')} learnt, {counted(len(ready), 'question')} ready")
        return True

    def _look(self) -> tuple[Seen, bool]:
        """Up to where the store goes now, and whether there is something to do about it."""
        with self.store.reading() as connection:
            now = Seen(last_event(connection), last_change(connection))
            good = last_good(connection)
            ready = count_ready(connection)
        if good is None or (good.seen_event, good.seen_change) != (now.event, now.change):
            return now, True
        return now, ready < LOW_WATER * min(self.settings.ready, self._planned)

    def _forecast(self, report: dict[str, Any]) -> dict[str, Any] | None:
        """What more answers are expected to bring, by the course of the estimate up to now."""
        with self.store.reading() as connection:
            course = [*read_course(connection), report]
        found = forecast_gain([{"answers": each["answers"], **(each.get("f1") or {})} for each in course])
        return None if found is None else asdict(found)

    def _put_in_place(self, number: int, ready: list[Ready], report: dict[str, Any]) -> None:
        """Bit by bit, so that no answer waits long; seen all at once when the training is marked as good."""
        for part in pieces(ready, AT_ONCE):
            self._write(write_plan, number, part)

        def switch(connection: sa.Connection) -> None:
            seen = self.learner.seen  # perhaps more than there was when the training began
            trim_plan(connection, number, seen.event)
            end_training(connection, number, "good", time.time(), report=report, seen=(seen.event, seen.change))
            shorten_reports(connection, number)

        self._write(switch)
        with self.store.reading() as connection:
            last = highest_rank(connection)
        for start in range(0, last + 1, AT_ONCE):
            self._write(drop_other_plans, number, range(start, start + AT_ONCE))

    def _write(self, task: Callable[..., None], *arguments: Any) -> None:
        """Write, then let others in for as long: a lock taken again at once would never be theirs."""
        began = time.perf_counter()
        self.store.write(lambda connection: task(connection, *arguments))
        time.sleep(min(max(time.perf_counter() - began, SHORTEST_PAUSE), LONGEST_PAUSE))

    def _give_up(self, number: int, now: Seen, error: Exception) -> None:
        message = f"{type(error).__name__}: {error}"
        with self.store.writing() as connection:
            end_training(connection, number, "failed", time.time(), message=message)
        self._failed_at = now
        self.learner = Learner(self.store, self.settings)  # what broke half-way is not gone on with
        self._on_event(f"training failed, the last good model stays: {message}")

    def keep_model(self) -> None:
        """Write the model and its beliefs for those who predict or browse, unless they are written already."""
        if not self._unsaved:
            return
        self._unsaved, began = False, time.time()
        labeller = labeller_of(self.learner)
        try:
            take_snapshot(self.learner).save(derived_path(self.store, SNAPSHOT))
            if labeller is not None:
                labeller.save(model_path(self.store))
        except (OSError, ValueError) as error:  # derived: whoever needs it can train again
            self._on_event(f"the model was not kept: {error}")
        self._saved_at = time.time()
        self._save_took = self._saved_at - began


def labeller_of(learner: Learner) -> TrainedLabeller | None:
    """The learner's model, ready for a file; None where nothing is known yet."""
    model = None if learner.knows_nothing else learner.campaign.fitted()
    if model is None:
        return None
    model = GuessingModel.of(model, learner.campaign.believe(learner.X[:1]))
    seen = learner.seen
    return TrainedLabeller(model, learner.labels.names, learner.featurizer, seen.event, seen.change)


def model_path(store: Store) -> Path:
    """Where the last good model is kept: beside the file, or in the user's cache. May be deleted at any time."""
    return derived_path(store, MODEL)
