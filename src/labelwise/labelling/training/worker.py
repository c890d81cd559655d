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

from labelwise.campaign import refit_point
from labelwise.campaign.new_labels import GuessingModel
from labelwise.labelling.errors import ProjectFileReplaced, StoreError
from labelwise.labelling.figures.learning_curve import forecast_gain
from labelwise.labelling.figures.training_record import report_of, standing_report
from labelwise.labelling.figures.wording import counted
from labelwise.labelling.records import Settings
from labelwise.labelling.store import Store
from labelwise.labelling.store.engine import pieces
from labelwise.labelling.store.events import last_event, standing_skips
from labelwise.labelling.store.labels import last_change
from labelwise.labelling.store.questions import (
    Ready,
    drop_other_plans,
    expire,
    fewest_askable,
    highest_rank,
    left_open,
    open_leases,
    size_of_queue,
    trim_plan,
    write_plan,
)
from labelwise.labelling.store.trainings import (
    amend_report,
    begin_training,
    end_training,
    last_good,
    mark_killed,
    read_course,
    shorten_reports,
)
from labelwise.labelling.training.derived import MODEL, SNAPSHOT, derived_path
from labelwise.labelling.training.learner import Learner, Seen
from labelwise.labelling.training.locks import only_worker
from labelwise.labelling.training.model_files import TrainedLabeller
from labelwise.labelling.training.planning import Planner
from labelwise.labelling.training.snapshot import take_snapshot

POLL_SECONDS = 0.2  # between looks into the store while nothing is new
SAVE_SECONDS = 30  # between two files of the model while answers keep coming
SAVE_REST = 4  # times as long as writing them took, between two of them in pauses: questions come before files
AT_ONCE = 100  # questions written in one go
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.2  # seconds between two writes of one plan
FIRST_RETRY, LONGEST_RETRY = 0.5, 5.0  # seconds to wait for a database that cannot be read or written
STANDING = (
    "f1",
    "calibration",
    "standing",
    "forecast",
)  # parts of a report that stay until the next judgement
LOW_WATER = 0.5  # share of the questions to keep ready for everybody below which new ones are made


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
        self._planned: int | None = None  # questions of the last plan for the one who can be asked fewest of them
        self._askable: tuple[tuple[int, ...], int] = ((), 0)  # the same now, and the state of the queue that it is of

    def run(self, until: Callable[[], bool] = lambda: False, *, patient: bool = True) -> None:
        """Be the project's worker until told to stop.

        A database that is restarted, locked or out of space is waited for, unless `patient` is False. A project's file
        that was replaced or deleted ends the work: it would go where nobody looks.
        """
        retry = FIRST_RETRY
        while True:
            try:
                with only_worker(self.store) as check_lock:
                    self.begin()
                    while not until():
                        check_lock()
                        if not self.step():
                            time.sleep(POLL_SECONDS)
                        retry = FIRST_RETRY
                    return
            except ProjectFileReplaced:
                raise
            except StoreError as error:
                if not patient:
                    raise
                self._on_event(f"the project cannot be read or written, trying again: {error}")
            time.sleep(retry)
            retry = min(2 * retry, LONGEST_RETRY)

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
            leased = [(held.item, held.label, held.reason) for held in open_leases(connection)]
            skipped = [*standing_skips(connection), *left_open(connection)]
        try:
            self.learner.catch_up()
            planner = Planner(self.learner, leased, skipped)
            ready = planner.plan(self.settings.ready)
            report = {**report_of(self.learner), **self._last_standing(), "exhausted": planner.exhausted_}
        except StoreError:
            self.learner = Learner(self.store, self.settings)  # it may have stopped half-way
            raise
        except Exception as error:
            self._give_up(number, now, error)
            return True
        self._put_in_place(number, ready, report)
        self._judge(number, report)
        self._unsaved = True
        if time.time() - self._saved_at > SAVE_SECONDS:
            self.keep_model()
        self._on_event(f"{counted(report['answers'], 'answer')} learnt, {counted(len(ready), 'question')} ready")
        return True

    def _look(self) -> tuple[Seen, bool]:
        """Up to where the store goes now, and whether there is something to do about it."""
        with self.store.reading() as connection:
            now = Seen(last_event(connection), last_change(connection))
            good = last_good(connection)
            if good is None or (good.seen_event, good.seen_change) != (now.event, now.change):
                return now, True
            if (good.report or {}).get("exhausted", False):
                return now, False  # what people hold comes back by itself
            state = (now.event, now.change, good.id, *size_of_queue(connection))
            if self._askable[0] != state:
                self._askable = (state, fewest_askable(connection))
        askable = self._askable[1]
        can_be_bettered = self._planned is None or askable < self._planned
        return now, can_be_bettered and askable < LOW_WATER * self.settings.ready

    def _last_standing(self) -> dict[str, Any]:
        """How the campaign stood when it was last judged: what a report has until it is judged anew."""
        with self.store.reading() as connection:
            good = last_good(connection)
        report = {} if good is None else good.report or {}
        return {name: report[name] for name in STANDING if name in report}

    def _judge(self, number: int, report: dict[str, Any]) -> None:
        """How the campaign stands, whenever the answers have grown by a quarter: it takes some twenty fits.

        Questions are ready by then, so that nobody waits for it.
        """
        answers = len(self.learner.campaign.answers)
        before = (report.get("f1") or {}).get("answers", -1)
        if before >= 0 and refit_point(answers) == refit_point(before):
            return
        report |= standing_report(self.learner.campaign.status(), answers)
        with self.store.reading() as connection:
            course = [*read_course(connection), report]
        forecast = forecast_gain([{"answers": each["answers"], **(each.get("f1") or {})} for each in course])
        report["forecast"] = None if forecast is None else asdict(forecast)
        self._write(amend_report, number, report)

    def _put_in_place(self, number: int, ready: list[Ready], report: dict[str, Any]) -> None:
        """Bit by bit, so that no answer waits long; seen all at once when the training is marked as good."""
        for part in pieces(ready, AT_ONCE):
            self._write(write_plan, number, part)

        def switch(connection: sa.Connection) -> None:
            seen = self.learner.seen  # perhaps more than there was when the training began
            trim_plan(connection, number, seen.event)
            end_training(connection, number, "good", time.time(), report=report, seen=(seen.event, seen.change))
            shorten_reports(connection, number)
            self._planned = fewest_askable(connection)

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
    seen, learnt = learner.seen, learner.campaign.learnt_labels()
    return TrainedLabeller(model, learner.labels.names, learner.featurizer, seen.event, seen.change, learnt)


def model_path(store: Store) -> Path:
    """Where the last good model is kept: beside the file, or in the user's cache. May be deleted at any time."""
    return derived_path(store, MODEL)
