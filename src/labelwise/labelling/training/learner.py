"""A campaign over a project: read from the store, kept up to date with it, and asked for the next questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import sqlalchemy as sa

from labelwise import models
from labelwise.campaign import Campaign, Guard
from labelwise.campaign.estimates import base_rate
from labelwise.campaign.standing import MIN_RANDOM_ITEMS, Standing
from labelwise.labelling.figures.agreement import Tally
from labelwise.labelling.items.features import Featurizer
from labelwise.labelling.items.pictures import located
from labelwise.labelling.missed import as_report
from labelwise.labelling.records import Settings
from labelwise.labelling.store import Store
from labelwise.labelling.store.events import last_event, read_votes, recent_times, votes_since
from labelwise.labelling.store.items import StoredItems, read_items
from labelwise.labelling.store.labels import StoredLabels, last_change, read_labels, read_meanings, read_tree
from labelwise.labelling.store.opinions import read_opinions
from labelwise.labelling.training.guesses import add_hints
from labelwise.labelling.training.vectors import BackgroundEncoder
from labelwise.labelling.training.votes import UNKNOWN, History
from labelwise.records import Features, LabelData
from labelwise.records.asking import SWEEP
from labelwise.records.costs import Costs, MeasuredTimes, learn_costs
from labelwise.records.label_data import word_count


@dataclass(frozen=True)
class Seen:
    """Up to where a learner has read: the last event and the last change."""

    event: int = 0
    change: int = 0


class Learner:
    """Everything that is derived from a store, in memory: features, votes, campaign. Never written back.

    Built from the same store it always believes and asks the same, whether it followed the answers one by one or read
    them all at once.
    """

    def __init__(self, store: Store, settings: Settings) -> None:
        self.store = store
        self.settings = settings
        self.seen = Seen()
        self._items: StoredItems | None = None
        self.featurizer = Featurizer(settings.features)
        name = settings.features.get("embed")
        self.encoder = None if name is None else BackgroundEncoder(name)

    def catch_up(self) -> bool:
        """Read what is new in the store; whether there was anything."""
        with self.store.reading() as connection:
            now = Seen(last_event(connection), last_change(connection))
            if now == self.seen and self._items is not None and not self.vectors_are_new:
                return False
            is_new = self._items is None or now.change != self.seen.change or self.vectors_are_new
            if is_new or not self._follow(connection):
                self._rebuild(connection)
            self._learn_costs(connection)
            self.seen = now
        return True

    @property
    def vectors_are_new(self) -> bool:
        """Whether all texts have a vector by now that the features do not have."""
        return self.encoder is not None and self.encoder.is_ready and not self.featurizer.has_vectors

    def _follow(self, connection: sa.Connection) -> bool:
        """Tell the campaign what was said since; False where something said before is no longer so."""
        votes = votes_since(connection, self.seen.event)
        answers = None if votes is None else self.history.add(votes)
        if answers is None:
            return False
        self.campaign.tell(answers)
        return True

    def _rebuild(self, connection: sa.Connection) -> None:
        items, folder = read_items(connection), self.store.folder
        items = replace(items, contents=tuple(located(content, folder) for content in items.contents))
        is_new = self._items is None or items.ids != self._items.ids
        if is_new and self.encoder is not None:
            self.encoder.use(self.featurizer.texts(items.contents))
        if is_new or self.vectors_are_new:
            if self.encoder is not None:
                self.featurizer.has_vectors = self.encoder.is_ready
            self.X: Features = self.featurizer.fit(items.contents).transform(items.contents, items.numbers)
        self._items = items
        self.labels: StoredLabels = read_labels(connection)
        self.meanings = read_meanings(connection, self.labels)
        self.opinions = read_opinions(connection, items.ids, self.labels)
        self.tree = read_tree(connection, self.labels)
        self.history = History(self.labels, dict(zip(items.ids, items.names, strict=True)), self.tree)
        self.history.add(read_votes(connection))
        settings = self.settings
        data = self.data(given_only=True)
        for source, said in self.opinions.items():
            data = data.with_opinion_columns(source, said)
        self.campaign = Campaign(
            data,
            model=models.BY_NAME[settings.model]().set_params(**settings.model_options),
            strategy=settings.strategy,
            start=settings.start,
            control=Guard(settings.control) if settings.guard else settings.control,
            hints="auto" if settings.hints else None,
            random_state=settings.random_state,
            answers=self.history.answers,
        )
        add_hints(self.campaign, self.labels)

    def _learn_costs(self, connection: sa.Connection) -> None:
        """What people really need, from their times; what was chosen, or what is usual, where there are none."""
        rows, prior = recent_times(connection), self.settings.costs(self.labels.names)
        place = {number: row for row, number in enumerate(self.items.ids)}
        times = measured_times(rows, lambda item: word_count(self.items.contents[place[item]]))
        self.costs, self.costs_of = costs_of_people(times, [row.who for row in rows], prior)
        counted = self.costs.times(self.settings.people_per_question)
        self.campaign.use_costs(counted, weigh=bool(rows) or self.settings.has_prices)

    @property
    def items(self) -> StoredItems:
        assert self._items is not None, "catch_up comes first"
        return self._items

    def data(self, *, given_only: bool = False) -> LabelData:
        """The pool with what is known of it: everything, or only what came with the items."""
        rows, codes = self.history.table(self.items.ids, "given" if given_only else "known")
        return LabelData(
            X=self.X,
            Y=_entries(rows, codes == 1, (len(self.items.ids), len(self.labels.ids))),
            observed=_entries(rows, codes != UNKNOWN, (len(self.items.ids), len(self.labels.ids))),
            item_ids=self.items.names,
            label_names=self.labels.names,
            items=self.items.contents,
            feature_names=self.featurizer.feature_names() if given_only else None,
            labels=self.meanings,
            blocks=self.featurizer.blocks(),
            implies_parent=self.tree is not None,
        )

    @property
    def believes(self) -> bool:
        """Whether anything is believed of items: by answers, or by what the labels are called."""
        return bool(self.believed_labels().any())

    def believed_labels(self) -> npt.NDArray[np.bool_]:
        """(q,) labels of which anything is believed: all of them once something was answered."""
        return self.campaign.hinted_labels() | (not self.knows_nothing)

    @property
    def knows_nothing(self) -> bool:
        """Whether there is no label to learn from yet."""
        return not self.history.answers and self.history.n_given == 0


def _entries(rows: np.ndarray, mask: np.ndarray, shape: tuple[int, int]) -> sp.csr_array:
    """A sparse (n, q) matrix that is True where `mask`, the part of it for these rows, is."""
    place, columns = np.nonzero(mask)
    return sp.csr_array((np.ones(place.size, dtype=bool), (rows[place], columns)), shape=shape)


# -- what a training finds out, for the record ------------------------------------------------------------------------


def report_of(learner: Learner) -> dict[str, Any]:
    """Counts, base rates by the random questions, and agreement: what costs no model."""
    yes, no = (counts.tolist() for counts in learner.campaign.random_counts())
    rates = {
        name: base_rate(yes[column], no[column])
        for column, name in enumerate(learner.labels.names)
        if yes[column] + no[column] > 0
    }
    missed = {"picks": as_report(learner.history.picks, learner.labels), "examples": _examples(learner)}
    judged = [asdict(each) for each in learner.campaign.opinion_quality()]
    answers = {"answers": len(learner.history.answers), "base_rates": rates, **missed, "opinions": judged}
    return answers | agreement_of(learner.history.tally, learner.labels)


def _examples(learner: Learner) -> dict[str, Any]:
    """What verifying is weighed by: the share of yes among the answers to each label."""
    yes, no, _ = learner.history.tally.said
    rates = np.round((1 + yes) / (1 + yes + no), 6).tolist()
    return {"rates": dict(zip(map(str, learner.labels.ids), rates, strict=True))}


def standing_report(standing: Standing, answers: int) -> dict[str, Any]:
    """How the campaign stood after this number of answers, as it is kept with a training."""
    f1: dict[str, float | None] = {"f1": None, "low": None, "high": None}
    if standing.f1 is not None:
        values = {"f1": standing.f1.value, "low": standing.f1.low, "high": standing.f1.high}
        f1 |= {name: round(value, 4) for name, value in values.items()}
    rests_on = {"items": standing.random_items, "entries": standing.random_answers, "found": standing.random_labels}
    kept = {name: asdict(standing)[name] for name in ("over_random", "saved", "per_doubling", "sweeps", "advice")}
    return {
        "f1": {"answers": answers, **f1, **rests_on, "needed": MIN_RANDOM_ITEMS},
        "calibration": standing.calibration,
        "standing": kept,
        "curve": None if standing.curve is None else standing.curve.as_dict(),
    }


def agreement_of(tally: Tally, labels: StoredLabels) -> dict[str, Any]:
    """Counts of each label (by number: yes, no, unsure, Krippendorff's alpha) and of each two people."""
    alphas = [None if np.isnan(alpha) else round(float(alpha), 4) for alpha in tally.alphas()]
    by_label = zip(labels.ids, *tally.said.tolist(), alphas, strict=True)
    return {
        "labels": {str(label): figures for label, *figures in by_label},
        "pairs": [[*names, counts.both, counts.same, counts.kappa] for names, counts in sorted(tally.pairs.items())],
    }


def measured_times(rows: Sequence[sa.Row], words_of: Callable[[int], float]) -> MeasuredTimes:
    """Stored times as columns; `words_of` says how long an item is, by its number.

    The answers of one page of a sweep, saved by one person in one moment, share the time of the page evenly; here it
    is one time again. The others of the page stay in their places, as times of nothing.
    """
    lengths = {item: words_of(item) for item in {row.item for row in rows}}
    seconds = np.array([row.seconds for row in rows], dtype=np.float64)
    answers = np.array([row.answers for row in rows], dtype=np.intp)
    pages: dict[tuple[str, float], list[int]] = {}
    for place, row in enumerate(rows):
        if row.question == SWEEP:
            pages.setdefault((row.who, row.at), []).append(place)
    for first, *others in pages.values():
        seconds[first], answers[first] = seconds[[first, *others]].sum(), 1 + len(others)
        seconds[others] = 0.0  # which is no time
    return MeasuredTimes(
        seconds=seconds,
        question=np.array([row.question for row in rows], dtype=np.str_),
        words=np.array([lengths[row.item] for row in rows], dtype=np.float64),
        answers=answers,
        picked=np.array([row.by_key + row.by_search for row in rows], dtype=np.intp),
        accepted=np.array([row.by_suggestion for row in rows], dtype=np.intp),
    )


def costs_of_people(times: MeasuredTimes, who: Sequence[str], prior: Costs) -> tuple[Costs, dict[str, Costs]]:
    """The list of everybody together, close to `prior` while there is little, and of each, close to that of all."""
    common = learn_costs(times, prior)
    names = np.array(who, dtype=np.str_)
    return common, {name: learn_costs(times.only(names == name), common) for name in dict.fromkeys(who)}
