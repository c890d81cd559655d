"""How a project stands, in figures: what `labelwise status`, the report and the page show. No model is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from itertools import groupby
from typing import Any

import numpy as np
import sqlalchemy as sa

from labelwise.labelling.figures.agreement import krippendorff_alpha
from labelwise.labelling.missed import MissRates
from labelwise.labelling.records import Settings
from labelwise.labelling.served import ServedProject
from labelwise.labelling.store.browsing import (
    DAY,
    answers_by_day,
    count_answered_items,
    done_between,
    next_questions,
)
from labelwise.labelling.store.engine import read_value
from labelwise.labelling.store.events import read_given_answers, read_votes, recent_times, time_totals, voters_count
from labelwise.labelling.store.items import count_items
from labelwise.labelling.store.labels import StoredLabels, read_labels
from labelwise.labelling.store.questions import count_ready, open_leases
from labelwise.labelling.store.schema import NO, UNSURE, WHOLE_ITEM, YES
from labelwise.labelling.store.trainings import last_good, last_training, read_course
from labelwise.labelling.training.locks import worker_is_running
from labelwise.labelling.training.vectors import ENCODING
from labelwise.records.asking import CONTROL, check_goals
from labelwise.records.learning_curve import LearningCurve, Outlook
from labelwise.views.html import card
from labelwise.views.wording import counted, duration, first_few

NEXT = 100  # questions to look ahead
QUESTIONS_IN_WORDS = {"item": "whole items", "pair": "single labels", "further": "further labels", "sweep": "sweeps"}


@dataclass(frozen=True)
class LabelStatus:
    """One label: how often it was answered each way, Krippendorff's alpha, and its share by the random questions."""

    name: str
    yes: int
    no: int
    unsure: int
    agreement: float | None
    base_rate: Mapping[str, float] | None


@dataclass(frozen=True)
class PersonMisses:
    """One person's picking, where it was checked: labels found and missed, and the miss rate with its interval."""

    who: str
    found: int
    missed: int
    rate: float
    low: float
    high: float


@dataclass(frozen=True)
class PersonTime:
    """One person and one kind of question: how many were timed, the seconds in all, and the median of the latest."""

    who: str
    question: str
    timed: int
    seconds: float
    median: float | None

    @property
    def questions(self) -> str:
        return QUESTIONS_IN_WORDS.get(self.question, self.question)


@dataclass(frozen=True)
class PairFigures:
    """Two people: the labels both said yes or no to, the share they agree on, and Cohen's kappa."""

    first: str
    second: str
    both: int
    share: float
    kappa: float | None


@dataclass(frozen=True)
class NextQuestions:
    """The questions to be asked next: how many, how many of them at random, and the yes that is expected of them."""

    number: int
    at_random: int
    yes: float | None
    labels: tuple[tuple[str, float], ...]  # those with most yes expected, most first


@dataclass(frozen=True)
class Status:
    """A project at one moment. What the worker found is as of its last good training, at `trained_at`.

    Parameters
    ----------
    people : answers of each person, the busiest first
    readings, cost : items read, counted once for answers in a row of one person, and what readings and answers cost by
        the settings; None where they were not counted, or nobody chose a price
    misses : how often each person missed labels when picking, of what was checked until the last good training
    seconds, times : the time that people were measured to spend, in all, and by person and kind of question
    f1 : the estimate by the random questions, with its interval and the number of answers it is of
    opinions : what each source of opinions is worth, by the random share, see `labelwise.campaign.estimates`
    standing : what the strategy gains over random questions, and whether to go on, as in `labelwise.Campaign.status`
    course : F1 whenever the campaign was judged
    curve : F1 over the seconds that people spent, as of the last judgement, see `labelwise.records.learning_curve`
    outlook : what the next hour is expected to bring, and the time to the F1 that is to be reached
    unseen : answers that came after the last good training
    trouble : what is wrong, if anything is
    days : days since 1970 (UTC), every one from the first to the last answer
    by_person : for each person, as many numbers of answers
    encoding : how many ("done") of how many texts ("of") have vectors, and why no more get any ("trouble"), until all
        have them; None where the project wants none
    """

    items: int
    answers: int
    answered_items: int
    readings: int | None
    cost: float | None
    seconds: float
    times: tuple[PersonTime, ...]
    misses: tuple[PersonMisses, ...]
    opinions: tuple[dict[str, Any], ...]
    people: Mapping[str, int]
    labels: tuple[LabelStatus, ...]
    f1: dict[str, Any] | None
    standing: dict[str, Any] | None
    course: tuple[dict[str, Any], ...]
    ready: int
    leased: int
    worker: bool
    unseen: int
    trouble: str | None
    days: range
    by_person: Mapping[str, tuple[int, ...]]
    pairs: tuple[PairFigures, ...]
    calibration: Mapping[str, Any] | None
    curve: LearningCurve | None
    outlook: Outlook | None
    following: NextQuestions
    trained_at: float | None
    encoding: Mapping[str, Any] | None

    def seen_by(self, who: str | None) -> Status:
        """The same with the times and misses of one person alone, beside the sum; None sees everybody's."""
        if who is None:
            return self
        times = tuple(each for each in self.times if each.who == who)
        return replace(self, times=times, misses=tuple(each for each in self.misses if each.who == who))

    def _repr_html_(self) -> str:
        return self.as_html("Status")

    def as_html(self, title: str) -> str:
        """Progress, people, labels and F1 for a notebook."""
        by_yes = sorted(self.labels, key=lambda label: -label.yes)
        f1 = {} if self.f1 is None else self.f1
        rows: list[tuple[str, object]] = [
            ("answered", f"{self.answered_items:,} of {counted(self.items, 'item')}"),
            ("people", first_few([f"{who} {number:,}" for who, number in self.people.items()], 5)),
            ("yes, by label", first_few([f"{label.name} {label.yes:,}" for label in by_yes], 8)),
            ("time measured", duration(self.seconds)),
        ]
        if f1.get("f1") is not None:
            rows.append(("F1", f"{f1['f1']:.3f} ({f1['low']:.3f} to {f1['high']:.3f})"))
        rows += [("trouble", self.trouble)] if self.trouble else []
        return card(title, rows)

    def to_frame(self) -> Any:
        """A row for each label as a pandas.DataFrame: yes, no, unsure, agreement, and its share of the items."""
        import pandas as pd  # status alone loads without

        rows = [asdict(label) | {"base_rate": (label.base_rate or {}).get("rate")} for label in self.labels]
        return pd.DataFrame(rows, columns=[field.name for field in fields(LabelStatus)])

    def as_dict(self) -> dict[str, Any]:
        """What the JSON of command and interface has: all but what only the page draws."""
        drawn = ("days", "by_person", "pairs", "calibration", "curve", "following", "trained_at")
        shown = {key: value for key, value in asdict(self).items() if key not in drawn}
        points = [asdict(point) for point in self.curve.points] if self.curve is not None else []
        return finite(shown | {"learning_curve": points})


def finite(value: Any) -> Any:
    """The same with None for every number that JSON cannot hold.

    >>> finite({"high": float("inf"), "low": 3.0})
    {'high': None, 'low': 3.0}
    """
    if isinstance(value, dict):
        return {key: finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [finite(each) for each in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def status_of(
    project: ServedProject,
    *,
    recount: bool = True,
    target_f1: float | None = None,
    worth_an_hour: float | None = None,
    risk: float | None = None,
) -> Status:
    """Look at a project; one consistent view of the store.

    `target_f1`, `worth_an_hour` and `risk` are by default those of the project's settings.

    With `recount`, all answers are read to count labels, readings and cost as of now. Without, labels are as of the
    last good training, the course is thinned, and the time it takes does not grow with the answers of an item.
    """
    running, settings = worker_is_running(project.store), project.settings
    goal = settings.target_f1 if target_f1 is None else target_f1
    worth = settings.worth_an_hour if worth_an_hour is None else worth_an_hour
    risk = settings.risk if risk is None else risk
    check_goals(goal, worth, risk)
    with project.store.reading() as connection:
        good, labels = last_good(connection), read_labels(connection)
        report = (good.report or {}) if good is not None else {}
        curve = LearningCurve.from_dict(report["curve"]) if report.get("curve") else None
        outlook = None if curve is None else curve.outlook(goal, worth, risk)
        days, by_person = _by_day(answers_by_day(connection))
        people = {who: sum(numbers) for who, numbers in by_person.items()}
        times = _time_spent(connection)
        readings, cost = _paid(connection, labels, project.settings) if recount else (None, None)
        return Status(
            items=count_items(connection),
            answers=sum(people.values()),
            answered_items=count_answered_items(connection),
            readings=readings,
            cost=cost,
            seconds=round(sum(each.seconds for each in times), 3),
            times=times,
            misses=_misses(MissRates.read(report, labels)),
            opinions=tuple(report.get("opinions", ())),
            people=dict(sorted(people.items(), key=lambda pair: (-pair[1], pair[0]))),
            labels=_labels(labels, _counts(connection, labels) if recount else report.get("labels", {}), report),
            f1=report.get("f1"),
            standing=_standing(report, outlook, settings.control),
            course=_course(read_course(connection, None) if recount else read_course(connection)),
            ready=count_ready(connection),
            leased=len(open_leases(connection)),
            worker=running,
            unseen=sum(voters_count(connection, 0 if good is None else good.seen_event).values()),
            trouble=_trouble(last_training(connection)),
            days=days,
            by_person=by_person,
            pairs=tuple(_pair(*figures) for figures in report.get("pairs", ())),
            calibration=report.get("calibration"),
            curve=curve,
            outlook=outlook,
            following=_following(connection, labels),
            trained_at=None if good is None else good.finished_at,
            encoding=_encoding(connection, settings),
        )


def _encoding(connection: sa.Connection, settings: Settings) -> dict[str, Any] | None:
    if "embed" not in settings.features:
        return None
    return read_value(connection, ENCODING) or {"done": 0, "of": count_items(connection), "trouble": None}


def _by_day(counted: list[tuple[int, str, int]]) -> tuple[range, dict[str, tuple[int, ...]]]:
    if not counted:
        return range(0), {}
    days = range(counted[0][0], counted[-1][0] + 1)
    table: dict[str, list[int]] = {who: [0] * len(days) for who in sorted({who for _, who, _ in counted})}
    for day, who, number in counted:
        table[who][day - days.start] = number
    return days, {who: tuple(numbers) for who, numbers in table.items()}


def _misses(rates: MissRates) -> tuple[PersonMisses, ...]:
    """Of each person, the most checked first."""
    sums = (rates.counts.found.sum(axis=1).tolist(), rates.counts.missed.sum(axis=1).tolist())
    rounded = [[round(value, 4) for value in summary] for summary in rates.counts.by_person()]
    table = [PersonMisses(*row[:3], *row[3]) for row in zip(rates.people, *sums, rounded, strict=True)]
    return tuple(sorted(table, key=lambda each: (-each.found - each.missed, each.who)))


def _paid(connection: sa.Connection, labels: StoredLabels, settings: Settings) -> tuple[int, float | None]:
    """Readings and cost of what people answered, of labels that are no longer in use, too: what was paid stays paid.

    An item of a sweep is a tile of a page, and not read.
    """
    answered = read_given_answers(connection)
    said = [list(group) for _, group in groupby(answered, key=lambda row: (row.who, row.event))]
    read = [(each[0].who, each[0].item) for each in said]
    swept = np.array([each[0].swept == each[0].event for each in said], dtype=bool)
    opened = np.array([now != last for now, last in zip(read, [None, *read], strict=False)], dtype=bool) & ~swept
    if not settings.has_prices:
        return int(opened.sum()), None
    names, place = list(labels.all_names.values()), {label: i for i, label in enumerate(labels.all_names)}
    events = np.repeat(np.arange(len(said)), [len(each) for each in said])
    columns = np.array([place[row.label] for row in answered], dtype=np.intp)
    costs = settings.costs(names).of_labels(names)
    picked = np.zeros(columns.size, dtype=bool)  # own prices are of answers, whatever they say
    return int(opened.sum()), float(costs.of_answers(events, columns, picked, opened=opened, swept=swept).sum())


def _counts(connection: sa.Connection, labels: StoredLabels) -> dict[str, tuple[int, int, int, float | None]]:
    """Yes, no, unsure and agreement of each label as of now, by its number; a training's report has the same."""
    votes = read_votes(connection)
    counts = {}
    for label in labels.ids:
        mine = votes.label == label
        values = votes.value[mine]
        _, place = np.unique(votes.item[mine], return_inverse=True)
        yes, no = (np.bincount(place[values == code], minlength=place.max(initial=-1) + 1) for code in (YES, NO))
        alpha = krippendorff_alpha(yes, no)
        agreement = None if np.isnan(alpha) else round(alpha, 4)
        counts[str(label)] = (int(yes.sum()), int(no.sum()), int((values == UNSURE).sum()), agreement)
    return counts


def _labels(labels: StoredLabels, counts: Mapping[str, Any], report: Mapping[str, Any]) -> tuple[LabelStatus, ...]:
    rates = report.get("base_rates", {})
    table = []
    for label, name in zip(labels.ids, labels.names, strict=True):
        yes, no, unsure, alpha = counts.get(str(label), (0, 0, 0, None))
        table.append(LabelStatus(name, yes, no, unsure, alpha, rates.get(name)))
    return tuple(table)


def _course(reports: Iterable[Mapping[str, Any]]) -> tuple[dict[str, Any], ...]:
    return tuple(
        {"answers": report["answers"], **report["f1"]}
        for report in reports
        if (report.get("f1") or {}).get("f1") is not None
    )


def _standing(report: Mapping[str, Any], outlook: Outlook | None, control: float) -> dict[str, Any] | None:
    """As it was judged; the advice follows what an hour is worth, if somebody said so.

    Where random questions are asked, and none is answered yet, that is what there is to say.
    """
    kept: dict[str, Any] | None = report.get("standing")
    if kept is None:
        return None
    advice, f1 = None if outlook is None else outlook.advice, report.get("f1")
    if advice is None and control > 0 and f1 is not None and not f1["items"]:
        advice = f"go on: no random item is answered yet, {f1['needed']} are needed to judge by"
    return kept if advice is None else {**kept, "advice": advice}


def _pair(first: str, second: str, both: int, same: int, kappa: float | None) -> PairFigures:
    return PairFigures(first, second, both, same / both, kappa)


def _following(connection: sa.Connection, labels: StoredLabels) -> NextQuestions:
    """What the stored beliefs expect of the next questions: the probabilities of the labels asked about, summed."""
    asked = next_questions(connection, NEXT)
    at_random = sum(row.reason == CONTROL for row in asked)
    expected, any_beliefs = np.zeros(len(labels.ids)), False
    for row in asked:
        p = np.frombuffer(row.beliefs or b"", dtype="<f4")
        if p.size == expected.size:
            any_beliefs = True
            where = slice(None) if row.label == WHOLE_ITEM else labels.column_of[row.label]
            expected[where] += np.nan_to_num(p[where])  # NaN: nothing is believed of the label
    most = np.argsort(-expected, kind="stable")[:10]
    expected_most = tuple(
        (labels.names[column], float(expected[column])) for column in most.tolist() if expected[column] > 0
    )
    return NextQuestions(len(asked), at_random, float(expected.sum()) if any_beliefs else None, expected_most)


def _time_spent(connection: sa.Connection) -> tuple[PersonTime, ...]:
    """Of each person and kind of question, the most time first."""
    latest: dict[tuple[str, str], list[float]] = {}
    for row in recent_times(connection):
        latest.setdefault((row.who, row.question), []).append(row.seconds)
    found = []
    for who, question, timed, seconds in time_totals(connection):
        times = latest.get((who, question))
        median = None if times is None else round(float(np.median(times)), 2)
        found.append(PersonTime(who, question, timed, round(seconds, 3), median))
    return tuple(sorted(found, key=lambda each: (-each.seconds, each.who, each.question)))


@dataclass(frozen=True)
class PersonDay:
    """What one person did on one day (UTC): distinct items answered about, and the seconds that were measured."""

    items: int
    seconds: float

    @property
    def pace(self) -> float | None:
        """Items an hour; None where no time was measured."""
        return 3600 * self.items / self.seconds if self.seconds > 0 else None


@dataclass(frozen=True)
class PersonDays:
    """Two days of one person."""

    today: PersonDay
    yesterday: PersonDay


def person_days(connection: sa.Connection, who: str, now: float) -> PersonDays:
    """What a person did today and yesterday, in UTC."""
    start = DAY * (now // DAY)
    return PersonDays(
        *(PersonDay(*done_between(connection, who, begin, begin + DAY)) for begin in (start, start - DAY))
    )


def _trouble(last: sa.Row | None) -> str | None:
    if last is None or last.state not in ("failed", "killed"):
        return None
    return f"the last training {'failed' if last.state == 'failed' else 'was killed'}: {last.message}"
