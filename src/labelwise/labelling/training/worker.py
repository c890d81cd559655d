"""The worker: reads new answers, trains, and keeps questions ready. Nothing it holds is the only copy.

A training that fails, or a worker that is killed at any moment, leaves the questions and the model of the last good
training in place. What happened is in the record of trainings.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sqlalchemy as sa

from labelwise.campaign import refit_point
from labelwise.campaign.defaults import BATCH
from labelwise.labelling.errors import ProjectFileReplaced, StoreError
from labelwise.labelling.figures.wording import counted
from labelwise.labelling.records import Settings, pack_reasons
from labelwise.labelling.store import Store
from labelwise.labelling.store.engine import pieces, write_value
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
from labelwise.labelling.store.schema import WHOLE_ITEM
from labelwise.labelling.store.trainings import (
    amend_report,
    begin_training,
    end_training,
    last_good,
    mark_killed,
    shorten_reports,
)
from labelwise.labelling.training.chance import copies
from labelwise.labelling.training.derived import MODEL, SIMILAR, SNAPSHOT, derived_path
from labelwise.labelling.training.learner import Learner, Seen, report_of, standing_report
from labelwise.labelling.training.locks import only_worker
from labelwise.labelling.training.model_files import labeller_of
from labelwise.labelling.training.similar import SimilarItems
from labelwise.labelling.training.snapshot import take_snapshot
from labelwise.labelling.training.vectors import ENCODING, BackgroundEncoder
from labelwise.labelling.training.votes import UNKNOWN
from labelwise.records.asking import CONTROL, START_REASON, Question

Entry = tuple[int, int]  # an item and a label, or WHOLE_ITEM, by number
LEAST_SUGGESTED, MOST_SUGGESTED = 0.1, 8  # probability and number of the labels of an item whose reasons are kept


@dataclass(frozen=True)
class Planned:
    """A question by numbers, and why it is asked."""

    item: int
    label: int  # or WHOLE_ITEM
    reason: str
    score: float | None = None


class Planner:
    """The next questions of a learner, in order; without regard to who will be asked.

    Parameters
    ----------
    learner : Learner
    leased : item, label and reason of every question that somebody has now
    skipped : person, item and label of every skip that was not taken back

    Attributes
    ----------
    exhausted_ : whether the last plan holds every question that is open and that nobody has
    """

    def __init__(
        self,
        learner: Learner,
        leased: Iterable[tuple[int, int, str]] = (),
        skipped: Iterable[tuple[str, int, int]] = (),
    ) -> None:
        self.learner = learner
        self.settings = learner.settings
        self.pairs = learner.settings.target == "pairs"
        self.leased = list(leased)
        self.skipped = list(skipped)
        self.exhausted_ = False
        self.ids = np.array(learner.items.ids, dtype=np.int64)

    def plan(self, n: int, *, believe: bool = True) -> list[Ready]:
        """About n questions for everybody, best first: after them, as many as somebody has had and others may get.

        Without `believe` they come without suggestions.
        """
        planned = [*self._unfinished(), *self._next(n)]
        had = self._closed_to_one()
        if had and not self.exhausted_:
            planned += self._next(n + had)
        first: dict[Entry, Planned] = {}
        for each in planned:
            first.setdefault((each.item, each.label), each)
        beliefs, words = self._beliefs([item for item, _ in first] if believe else [])
        return [
            Ready(
                each.item,
                each.label,
                rank,
                each.reason,
                each.score,
                self._remaining(each.item, each.label),
                beliefs.get(each.item),
                words.get(each.item),
            )
            for rank, each in enumerate(first.values())
        ]

    def _next(self, n: int) -> list[Planned]:
        """The campaign's next questions: first those of one batch, as a study asks them, then more."""
        campaign, excluded = self.learner.campaign, self._excluded()
        asked = campaign.ask(min(n, BATCH), exclude=excluded)
        if n > BATCH:
            asked += campaign.ask(n - len(asked), exclude=[*excluded, *map(self._as_excluded, asked)])
        self.exhausted_ = len(asked) < n
        if self.pairs and asked and asked[-1].reason == START_REASON:  # the rest about the last item: it is read once
            more = campaign.ask(len(self.learner.labels.ids), exclude=[*excluded, *map(self._as_excluded, asked)])
            asked += [each for each in more if (each.item, each.reason) == (asked[-1].item, START_REASON)]
        id_of = dict(zip(self.learner.items.names, self.learner.items.ids, strict=True))
        label_of = dict(zip(self.learner.labels.names, self.learner.labels.ids, strict=True))

        def planned(question: Question) -> Planned:
            label = label_of[question.labels[0]] if self.pairs else WHOLE_ITEM
            score = float(question.score)
            return Planned(id_of[question.item], label, question.reason, score if np.isfinite(score) else None)

        return [planned(question) for question in asked]

    def _as_excluded(self, question: Question) -> Any:
        """A question as `exclude` of `Campaign.ask` takes it."""
        return (question.item, question.labels[0]) if self.pairs else question.item

    def _closed_to_one(self) -> int:
        """The largest number of open questions that one person has skipped or answered in part."""
        had = {(who, item, label) for who, item, label in self.skipped if self._may_be_planned(item, label)}
        if not self.pairs:
            for item, votes in self.learner.history.items.items():
                if self._is_open(item, WHOLE_ITEM):
                    spoke = votes.read_by()
                    had |= {(who, item, WHOLE_ITEM) for who, row in votes.people.items() if spoke[row]}
        return max(Counter(who for who, _, _ in had).values(), default=0)

    def _may_be_planned(self, item: int, label: int) -> bool:
        """Whether a question is of the kind that is asked, and open."""
        is_asked = label in self.learner.labels.column_of if self.pairs else label == WHOLE_ITEM
        return is_asked and self._is_open(item, label)

    # -- what others shall answer too ---------------------------------------------------------------------------------

    def _unfinished(self) -> list[Planned]:
        """Questions that some but not all of the people who shall be asked have answered, or have now."""
        if self.settings.overlap == 1:
            return []
        found = self._shared()
        for item, votes in self.learner.history.items.items():
            asked = np.flatnonzero((votes.voters() > 0) & ~votes.given)
            if not self.pairs and not votes.read_by().any():
                continue
            labels = [self.learner.labels.ids[column] for column in asked.tolist()] if self.pairs else [WHOLE_ITEM]
            reason = CONTROL if votes.is_random.any() else "overlap"
            found += [
                Planned(item, label, reason) for label in labels if asked.size and self._remaining(item, label) > 0
            ]
        return found

    def _shared(self) -> list[Planned]:
        """Questions that somebody has now and that others shall be asked, too."""
        counted = Counter((item, label) for item, label, _ in self.leased)
        reasons = {(item, label): reason for item, label, reason in self.leased}
        return [
            Planned(item, label, CONTROL if reasons[item, label] == CONTROL else "overlap")
            for (item, label), number in counted.items()
            if self._may_be_planned(item, label) and self._remaining(item, label) > number
        ]

    # -- what is open -------------------------------------------------------------------------------------------------

    def _remaining(self, item: int, label: int) -> int:
        """How many people may still be asked."""
        votes = self.learner.history.items.get(item)
        had = 0
        if votes is not None and self.pairs:
            had = int(votes.voters()[self.learner.labels.column_of[label]])
        elif votes is not None:
            had = int(votes.read_by().sum())
            if self.settings.overlap == 1 and self._is_open(item, label):
                had = 0  # an answer in part leaves the rest to be asked
        return copies(self.settings, item, label) - had

    def _is_open(self, item: int, label: int) -> bool:
        votes = self.learner.history.items.get(item)
        if votes is None:
            return True
        silent = votes.voters() == 0
        return bool(silent.any() if label == WHOLE_ITEM else silent[self.learner.labels.column_of[label]])

    def _excluded(self) -> list[Any]:
        """What the campaign must not ask: what is being answered, and labels nobody was sure of."""
        learner = self.learner
        name_of, labels = learner.history.names, learner.labels
        excluded: list[Any] = []
        for item, label, _ in self.leased:
            if label == WHOLE_ITEM:
                excluded.append(name_of[item])
            elif label in labels.all_names and labels.all_names[label] in labels.names:
                excluded.append((name_of[item], labels.all_names[label]))
        for item, votes in learner.history.items.items():
            if not self.pairs and self._remaining(item, WHOLE_ITEM) <= 0:
                excluded.append(name_of[item])  # answered in part by as many people as shall be asked
            unsure = np.flatnonzero((votes.known == UNKNOWN) & (votes.voters() > 0))
            excluded += [(name_of[item], labels.names[column]) for column in unsure.tolist()]
        return excluded

    def _beliefs(self, items: list[int]) -> tuple[dict[int, bytes], dict[int, str]]:
        """The probabilities of every label of these items and why they are believed, as they are stored."""
        learner = self.learner
        if not items or not learner.believes:
            return {}, {}
        distinct = sorted(set(items))
        believed = learner.campaign.believed(np.searchsorted(self.ids, distinct))
        p = np.where(learner.believed_labels(), believed.probabilities[: len(distinct)], np.nan)  # (m, q)
        beliefs = {item: row.astype("<f4").tobytes() for item, row in zip(distinct, p, strict=True)}
        suggested = believed.suggest(len(distinct), learner.labels.names, LEAST_SUGGESTED, MOST_SUGGESTED)
        told = zip(distinct, believed.marks(len(distinct)), suggested, strict=True)
        return beliefs, {item: pack_reasons(marks, of_item, learner.labels.names) for item, marks, of_item in told}


TELL_SECONDS = 2.0  # between two notes of how many texts have vectors
ENCODING_SHARE = 0.5  # of the time that a training took: vectors are made for as long before the next one
POLL_SECONDS = 0.2  # between looks into the store while nothing is new
SAVE_SECONDS = 30  # between two files of the model while answers keep coming
SAVE_REST = 4  # times as long as writing them took, between two of them in pauses: questions come before files
AT_ONCE = 100  # questions written in one go
SHORTEST_PAUSE, LONGEST_PAUSE = 0.02, 0.2  # seconds between two writes of one plan
FIRST_RETRY, LONGEST_RETRY = 0.5, 5.0  # seconds to wait for a database that cannot be read or written
STANDING = ("f1", "calibration", "standing", "curve")  # parts of a report that stay until the next judgement
PREPARED = "prepared"  # in the report of a training that was none: see `Worker.prepare`
LOW_WATER = 0.5  # share of the questions to keep ready for everybody below which new ones are made


class Worker:
    """Keeps one project's questions ready; one step at a time, so that tests and single users need no process.

    `on_event` is called with a line of text for whoever watches.

    >>> import tempfile, labelwise as lw
    >>> data = lw.data.make_shapes(20, random_state=0).hide()
    >>> with tempfile.TemporaryDirectory() as folder, lw.Project.create(f"{folder}/shapes.db", data) as project:
    ...     worker = project.worker()
    ...     worker.step(), worker.step()  # questions are made, then there is nothing to do
    (True, False)
    """

    def __init__(self, store: Store, settings: Settings, on_event: Callable[[str], None] = lambda line: None) -> None:
        self.store = store
        self.settings = settings
        self.learner = Learner(store, settings)
        self._on_event = on_event
        self._failed_at: Seen | None = None  # not tried again before something changes
        self._unsaved, self._saved_at, self._save_took = False, 0.0, 0.0
        self._compared: Any = None  # the features of the items that similar ones were written of
        self._told_of: dict[str, object] | None = None  # how far vectors were, and when, as the store has it
        self._told_at = 0.0
        self._planned: int | None = None  # questions of the last plan for the one who can be asked fewest of them
        self._askable: tuple[tuple[int, ...], int] = ((), 0)  # the same now, and the state of the queue that it is of

    def run(self, until: Callable[[], bool] = lambda: False, *, patient: bool = True) -> None:
        """Be the project's worker until `until` says stop.

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
                        began = time.monotonic()
                        if self.step():
                            self.encode_for(ENCODING_SHARE * (time.monotonic() - began))
                        elif not self.encode_some():
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
        if self.learner.encoder is not None:
            self._tell_of_vectors(self.learner.encoder)
        self._unsaved = True
        if time.time() - self._saved_at > SAVE_SECONDS:
            self.keep_model()
        self._on_event(f"{counted(report['answers'], 'answer')} learnt, {counted(len(ready), 'question')} ready")
        return True

    def prepare(self) -> bool:
        """Put the first questions of a new project in place, where they need no model; whether they do not.

        They are those that the first training would ask first, without suggestions. It puts its own in their place.
        """
        learner, start = self.learner, self.settings.start
        learner.catch_up()
        n = min(BATCH, self.settings.ready, start * (len(learner.labels.ids) if self.settings.target == "pairs" else 1))
        if n == 0:
            return False
        planner, seen = Planner(learner), learner.seen
        ready = planner.plan(n, believe=False)
        with self.store.writing() as connection:
            number = begin_training(connection, seen.event, seen.change, time.time())
        self._put_in_place(number, ready, {**report_of(learner), PREPARED: True})
        return True

    @property
    def is_encoding(self) -> bool:
        """Whether vectors are still to be made, or to be learnt from."""
        encoder = self.learner.encoder
        return encoder is not None and encoder.trouble is None and not self.learner.featurizer.has_vectors

    def encode_some(self) -> bool:
        """Make vectors of a few texts, where the project wants them; whether it did."""
        if self.learner.encoder is None:
            return False
        did = self.learner.encoder.encode_some()
        self._tell_of_vectors(self.learner.encoder)
        return did

    def encode_for(self, seconds: float) -> None:
        """Make vectors for so long, unless people run short of questions. It follows each training, so that vectors are
        made even if people answer without a pause."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.encode_some():
            with self.store.reading() as connection:
                if fewest_askable(connection) < LOW_WATER * self.settings.ready:
                    return

    def _tell_of_vectors(self, encoder: BackgroundEncoder) -> None:
        """Note in the store how many texts have vectors, every now and then and at the end."""
        is_over, report = encoder.is_ready or encoder.trouble is not None, encoder.as_report()
        if report == self._told_of or not (is_over or time.time() - self._told_at > TELL_SECONDS):
            return
        self._told_of, self._told_at = report, time.time()
        self.store.write(lambda connection: write_value(connection, ENCODING, report))
        if encoder.trouble is not None:
            self._on_event(f"no vectors can be made, words are learnt from: {encoder.trouble}")
        elif is_over:
            self._on_event("all texts have vectors, which are learnt from now on")

    def _look(self) -> tuple[Seen, bool]:
        """Up to where the store goes now, and whether there is something to do about it."""
        with self.store.reading() as connection:
            now = Seen(last_event(connection), last_change(connection))
            good = last_good(connection)
            if self.learner.vectors_are_new:
                return now, True
            if good is None or (good.seen_event, good.seen_change) != (now.event, now.change):
                return now, True
            if (good.report or {}).get(PREPARED, False):
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
        """How the campaign stands, whenever the answers have grown by a quarter: it takes some forty fits.

        Questions are ready by then, so that nobody waits for it.
        """
        answers = len(self.learner.campaign.answers)
        before = (report.get("f1") or {}).get("answers", -1)
        if before >= 0 and refit_point(answers) == refit_point(before):
            return
        report |= standing_report(self.learner.campaign.status(), answers)
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
            if self._compared is not self.learner.X:
                SimilarItems.of(self.learner).save(derived_path(self.store, SIMILAR))
                self._compared = self.learner.X
            if labeller is not None:
                labeller.save(model_path(self.store))
        except (OSError, ValueError) as error:  # derived: whoever needs it can train again
            self._on_event(f"the model was not kept: {error}")
        self._saved_at = time.time()
        self._save_took = self._saved_at - began


def model_path(store: Store) -> Path:
    """Where the last good model is kept: beside the file, or in the user's cache. May be deleted at any time."""
    return derived_path(store, MODEL)
