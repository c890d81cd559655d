"""The questions and answers of a campaign, between records and numbers: checked, and ready to learn from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.campaign.estimates import OpinionQuality
from labelwise.campaign.standing import AnswerArrays, RandomAnswers
from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.choosing import random_items, random_pairs
from labelwise.records import Answer, LabelData, PickCounts, Question
from labelwise.records.asking import CONTROL, START_REASON, SWEEP, VERIFY
from labelwise.records.costs import Costs, Spent
from labelwise.views.wording import did_you_mean

Bools = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Entry:
    """One answer in numbers: a row of the pool, the labels that were news, and what was said of them."""

    row: int
    labels: Rows
    values: Bools


class AnswerBook:
    """The answers to questions about some data, oldest first, and what follows from both.

    Labels observed in the data count as known from the start; a correction overrules what was said before.
    """

    def __init__(self, data: LabelData) -> None:
        self.answers: list[Answer] = []
        self.entries: list[Entry] = []
        self.random: list[bool] = []  # whether each answer is to a random question, or verifies one that is
        self.blind: list[bool] = []  # whether it is of the random share, which is asked without suggestions
        self._reasons: dict[str, str] = {}  # why an item was last asked about, other than to verify
        self.corrected = 0  # answers there were when the last correction came
        self.use(data)

    def __len__(self) -> int:
        return len(self.entries)

    def use(self, data: LabelData) -> None:
        """Go on with other data, in which the items and labels answered so far are at their old places."""
        self.data = data
        self.row_of = {item: row for row, item in enumerate(data.item_ids)}
        self.column_of = {name: column for column, name in enumerate(data.label_names)}
        self.tree = data.tree()
        started = np.arange(data.n_items) if data.observed is None else np.flatnonzero(np.diff(data.observed.indptr))
        self.start_rows: Rows = started.astype(np.intp)
        self._known: dict[int, tuple[Bools, Bools]] = {}
        for entry in self.entries:
            self._note(entry)

    def row(self, item: str) -> int:
        if item not in self.row_of:
            raise ValueError(f"there is no item {item!r} in the campaign{did_you_mean(item, self.row_of)}")
        return self.row_of[item]

    def column(self, name: str) -> int:
        if name not in self.column_of:
            raise ValueError(f"there is no label {name!r} in the campaign{did_you_mean(name, self.column_of)}")
        return self.column_of[name]

    # -- writing ------------------------------------------------------------------------------------------------------

    def add(self, answers: Iterable[Answer]) -> None:
        """Take in answers: all of them, or none where one is wrong.

        Of an answer that is told together with one that verifies some of its labels, the other labels are kept.
        """
        batch = list(answers)
        for answer in batch:
            if not isinstance(answer, Answer):
                raise TypeError(f"expected an Answer, got {answer!r}; write Answer('item', {{'label': True}})")
        batch = _without_verified(batch)
        said: dict[tuple[int, int], bool] = {}
        entries = [self._checked(answer, said) for answer in batch]
        for answer, entry in zip(batch, entries, strict=True):
            self.answers.append(answer)
            self.entries.append(entry)
            self._note(entry)
            if answer.reason != VERIFY:
                self._reasons[answer.item] = answer.reason
            reason = self._reasons.get(answer.item)
            self.random.append(reason in (CONTROL, START_REASON))
            self.blind.append(reason == CONTROL)
            if answer.correction:
                self.corrected = len(self.answers)

    def _checked(self, answer: Answer, said: dict[tuple[int, int], bool]) -> Entry:
        """The answer in numbers, checked against what is known and what the same batch `said` so far."""
        row = self.row(answer.item)
        if not answer.values:
            raise ValueError(f"the answer for item {answer.item!r} says nothing: it has no values")
        values, known = self._known.get(row) or self._initial(row)
        news: dict[int, bool] = {}  # what is said again is not counted twice
        for column, value in self._implied(answer, self._columns(answer)).items():
            before = said.get((row, column), bool(values[column]) if known[column] else None)
            if before is not None and before != value and not answer.correction:
                name = self.data.label_names[column]
                implied = "" if name in answer.values else f" (it follows from {_said(answer)})"
                raise ValueError(
                    f"label {name!r} of item {answer.item!r} was answered {before} before and now {value}{implied}; "
                    "use Answer(..., correction=True) to change it"
                )
            if before != value:
                said[row, column] = news[column] = value
        return Entry(row, np.array(list(news), dtype=np.intp), np.array(list(news.values()), dtype=bool))

    def _columns(self, answer: Answer) -> dict[int, bool]:
        """What was said, by column."""
        said: dict[int, bool] = {}
        for name, value in answer.values.items():
            column = self.column(name)
            if not isinstance(value, Real | np.bool_) or value not in (0, 1):
                raise ValueError(f"label {name!r} of item {answer.item!r} must be True or False, got {value!r}")
            said[column] = bool(value)
        return said

    def _implied(self, answer: Answer, said: dict[int, bool]) -> dict[int, bool]:
        """What was said and, where a label implies its parent, what follows from it.

        Of labels that were picked, those that were not are no contradiction: a yes wins. One that was said is refused.
        """
        if self.tree is None:
            return said
        yes, no = np.zeros(self.data.n_labels, dtype=bool), np.zeros(self.data.n_labels, dtype=bool)
        yes[[column for column, value in said.items() if value]] = True
        no[[column for column, value in said.items() if not value]] = True
        wrong = self.tree.upwards(yes) & no
        if wrong.any() and not answer.picked:
            name = self.data.label_names[int(np.argmax(wrong))]
            raise ValueError(
                f"the answer for item {answer.item!r} says no to {name!r} and yes to a label below it, which implies "
                "it; say yes to both or no to both"
            )
        yes, no = self.tree.close(yes, no)
        return dict.fromkeys(np.flatnonzero(yes).tolist(), True) | dict.fromkeys(np.flatnonzero(no).tolist(), False)

    def _note(self, entry: Entry) -> None:
        if entry.row not in self._known:
            self._known[entry.row] = self._initial(entry.row)
        values, known = self._known[entry.row]
        values[entry.labels], known[entry.labels] = entry.values, True

    def _initial(self, row: int) -> tuple[Bools, Bools]:
        """What the data itself say of one item: values and mask, (q,) each, fresh copies."""
        Y, observed = self.data.Y, self.data.observed
        values, known = np.zeros(Y.shape[1], dtype=bool), np.full(Y.shape[1], observed is None)
        values[Y.indices[Y.indptr[row] : Y.indptr[row + 1]]] = True
        if observed is not None:
            known[observed.indices[observed.indptr[row] : observed.indptr[row + 1]]] = True
        return values, known

    # -- reading ------------------------------------------------------------------------------------------------------

    @property
    def is_empty(self) -> bool:
        """Whether nothing is known at all, neither from answers nor from the data."""
        return not self.entries and self.start_rows.size == 0

    def training(self, n_answers: int | None = None) -> tuple[Rows, Bools, Bools]:
        """Rows with anything known after the first n answers, or all, with their labels and masks (rows, q)."""
        return self.training_on(self.told(n_answers))

    def labels_with_yes(self) -> Bools:
        """(q,) labels that some item is known to have."""
        return np.asarray(self.training()[1].any(axis=0), dtype=bool)

    def full_rows(self) -> Rows:
        """Items of which every label is known."""
        rows, _, observed = self.training()
        return rows[observed.all(axis=1)]

    def told(self, n_answers: int | None = None) -> AnswerArrays:
        """The first n answers, or all, label by label; a question is random where it was one of the random share."""
        entries = self.entries[:n_answers]
        sizes = np.array([entry.labels.size for entry in entries], dtype=np.intp)
        none = np.empty(0, dtype=np.intp)
        return AnswerArrays(
            np.repeat(np.array([entry.row for entry in entries], dtype=np.intp), sizes),
            np.concatenate([none, *(entry.labels for entry in entries)]),
            np.concatenate([none.astype(bool), *(entry.values for entry in entries)]),
            np.repeat(np.array(self.random[:n_answers], dtype=bool), sizes),
        )

    def random_counts(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """(q,) yes and (q,) no among the random answers to each label, as they stand now."""
        found = RandomAnswers.of(self.told(), self.data.n_labels)
        return found.Y.sum(axis=0), (found.known & ~found.Y).sum(axis=0)

    def judge(self, opinions: str) -> OpinionQuality:
        """A source of opinions, by what was said of items of the random share without having seen any suggestion."""
        sizes = [entry.labels.size for entry in self.entries]
        told = replace(self.told(), random=np.repeat(np.array(self.blind, dtype=bool), sizes))
        blind = RandomAnswers.of(told, self.data.n_labels)
        return OpinionQuality.of(opinions, self.data.opinions(opinions), blind.items, blind.Y, blind.known)

    def pick_counts(self) -> PickCounts:
        """Of each label, how often it was missed and found by picking, from the first item with a verified label on.

        Items without verified labels count, too: they were not asked about because what was likely was picked.
        """
        told, q = self.told(), self.data.n_labels
        sizes = np.array([entry.labels.size for entry in self.entries], dtype=np.intp)
        verifies = np.array([answer.reason == VERIFY for answer in self.answers], dtype=bool)
        first = max(int(np.argmax(verifies)) - 1, 0) if verifies.any() else verifies.size
        counted = np.repeat(np.arange(verifies.size) >= first, sizes) & told.values
        missed = np.repeat(verifies, sizes)
        return PickCounts(*(np.bincount(told.labels[counted & which], minlength=q) for which in (missed, ~missed)))

    def example_rates(self) -> FloatArray:
        """(q,) share of the items with an answer to each label that have it; as if one more had been found of each."""
        _, Y, observed = self.training()
        return np.asarray((1 + Y.sum(axis=0)) / (1 + observed.sum(axis=0)))

    def training_on(self, told: AnswerArrays) -> tuple[Rows, Bools, Bools]:
        """Rows with anything known from the data or from these answers, with their labels and masks (rows, q)."""
        rows = np.union1d(self.start_rows, told.rows)
        Y = self.data.Y[rows].toarray()
        observed = np.ones(Y.shape, dtype=bool) if self.data.observed is None else self.data.observed[rows].toarray()
        place = np.searchsorted(rows, told.rows)
        Y[place, told.labels] = told.values  # oldest first: corrections win
        observed[place, told.labels] = True
        return rows, Y, observed

    def added(self, begin: int) -> tuple[Rows, Bools, Bools]:
        """What answers from number `begin` on brought: a row of the pool, labels and mask (q,) for each with news."""
        later = [entry for entry in self.entries[begin:] if entry.labels.size]
        Y = np.zeros((len(later), self.data.n_labels), dtype=bool)
        observed = np.zeros_like(Y)
        for place, entry in enumerate(later):
            Y[place, entry.labels], observed[place, entry.labels] = entry.values, True
        return np.array([entry.row for entry in later], dtype=np.intp), Y, observed

    def closed(self, excluded: Iterable[str | tuple[str, str]] = ()) -> sp.csr_array:
        """(n, q) entries that may not be asked: answered ones, all of an excluded item, and excluded pairs."""
        rows, _, observed = self.training()
        left_out = list(excluded)
        if left_out:
            whole = np.array([self.row(item) for item in left_out if isinstance(item, str)], dtype=np.intp)
            pairs = [(self.row(pair[0]), self.column(pair[1])) for pair in left_out if not isinstance(pair, str)]
            pair_rows, pair_labels = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
            everything = np.unique(np.concatenate([rows, whole, pair_rows]))
            closed = np.zeros((everything.size, observed.shape[1]), dtype=bool)
            closed[np.searchsorted(everything, rows)] = observed
            closed[np.searchsorted(everything, whole)] = True
            closed[np.searchsorted(everything, pair_rows), pair_labels] = True
            rows, observed = everything, closed
        return embed_rows(observed, rows, self.data.Y.shape)

    def without(self, closed: sp.csr_array, asked: list[Question]) -> sp.csr_array:
        """The same with what these questions ask for closed, too."""
        if not asked:
            return closed
        rows = np.repeat([self.row_of[q.item] for q in asked], [len(q.labels) for q in asked])
        labels = [self.column_of[name] for q in asked for name in q.labels]
        taken = sp.csr_array((np.ones(rows.size, dtype=bool), (rows, labels)), shape=closed.shape)
        return (closed + taken).tocsr()

    def spent(self, costs: Costs) -> Spent:
        """What the answers cost; those about one item that follow one another take one reading.

        Where a label implies its parent, labels that follow from others of the same answer cost nothing.
        """
        rows, opened, events, seconds = self._event_costs(costs, len(self))
        return Spent(np.unique(rows).size, int(opened.sum()), events.size, float(seconds.sum()), costs.unit)

    def seconds(self, costs: Costs, n_answers: int) -> FloatArray:
        """(e,) what each label of the first n answers cost, in the order of `told`; labels of one answer share it."""
        *_, events, seconds = self._event_costs(costs, n_answers)
        return (seconds / np.maximum(np.bincount(events, minlength=seconds.size), 1))[events]

    def _event_costs(self, costs: Costs, n_answers: int) -> tuple[Rows, Bools, Rows, FloatArray]:
        """Of the first n answers with news: item, whether it was opened, and cost (m,); the one (e,) each label is of.

        In the order: items, opened, answer of each label, costs.
        """
        told, entries = self.told(n_answers), zip(self.entries[:n_answers], self.answers[:n_answers], strict=True)
        paid = [(e.row, e.labels.size, a.reason == VERIFY, a.reason == SWEEP) for e, a in entries if e.labels.size]
        rows, sizes, *kinds = np.array(paid, dtype=np.intp).reshape(-1, 4).T
        further, swept = (kind.astype(bool) for kind in kinds)
        events = np.repeat(np.arange(rows.size), sizes)
        opened = (np.diff(rows, prepend=-1) != 0) & ~further & ~swept
        prices = costs.of_labels(self.data.label_names)
        words = self.data.word_counts(rows) if costs.read_word else None
        how = {"opened": opened, "further": further, "swept": swept, "words": words}
        said = ~self._follows(events, told)
        cost = prices.of_answers(events[said], told.labels[said], told.values[said], **how)
        return rows, opened, events, cost

    def _follows(self, events: Rows, told: AnswerArrays) -> Bools:
        """(e,) labels that follow from another label of the same answer, and that nobody had to say."""
        if self.tree is None:
            return np.zeros(events.size, dtype=bool)
        q, above = self.data.n_labels, self.tree.parents[told.labels]
        here, parent = events * q + told.labels, np.where(above >= 0, events * q + above, -1)
        by_child = told.values & np.isin(here, parent[told.values])
        return by_child | (~told.values & np.isin(parent, here[~told.values]))


def _said(answer: Answer) -> str:
    return ", ".join(f"{name!r}: {value}" for name, value in list(answer.values.items())[:3])


def _without_verified(batch: list[Answer]) -> list[Answer]:
    """The same answers; a picked one says nothing of the labels that it does not have and that a later one verifies."""
    verified: dict[str, set[str]] = {}
    kept = []
    for answer in reversed(batch):
        if answer.reason == VERIFY and not answer.correction:
            verified.setdefault(answer.item, set()).update(answer.values)
        names = verified.pop(answer.item, set()) if answer.picked else set()
        left = {name: value for name, value in answer.values.items() if value or name not in names}
        if left or not names:
            kept.append(replace(answer, values=left) if names else answer)
    return kept[::-1]


def refit_point(n_answers: int, at_least: int = 0) -> int:
    """How many of the answers the last fit from scratch has seen: the largest of 0, 1, 2, 3, 5, 8, 12, 18, ... ≤ n.

    A function of the count alone, so that a campaign rebuilt from its answers fits where the unbroken one did.

    >>> [refit_point(n) for n in (0, 1, 6, 7, 100)]
    [0, 1, 5, 5, 93]
    >>> refit_point(100, at_least=97)
    97
    """
    point = 0
    while (following := max(point + 1, -(-3 * point // 2))) <= n_answers:
        point = following
    return max(point, at_least)


# -- questions: from rows and labels that were chosen to records -----------------------------------------------------


def embed_rows(rows_of: npt.NDArray[np.bool_], rows: npt.NDArray[np.intp], shape: tuple[int, int]) -> sp.csr_array:
    """A sparse (n, q) matrix whose given rows (rising) are these and whose other rows are empty."""
    counts = np.zeros(shape[0] + 1, dtype=np.int64)
    counts[rows + 1] = rows_of.sum(1)
    columns = np.nonzero(rows_of)[1]
    return sp.csr_array((np.ones(columns.size, dtype=bool), columns, np.cumsum(counts)), shape=shape)


def as_questions(data: LabelData, closed: sp.csr_array, chosen: tuple[Any, Any, Any], reason: str) -> list[Question]:
    """Rows, labels (or None: all that are open) and scores, as questions."""
    rows, labels, scores = chosen
    names = np.array(data.label_names, dtype=object)
    if labels is None:
        asked = [tuple(names[free]) for free in ~closed[rows].toarray()]
    else:
        asked = [(names[label],) for label in labels]
    ids = data.item_ids
    return [Question(ids[row], which, reason, float(s)) for row, which, s in zip(rows, asked, scores, strict=True)]


def interleave(control: list[Question], chosen: list[Question], drawn: npt.NDArray[np.bool_]) -> list[Question]:
    """Random questions at the places that were drawn for them, so that nobody can tell them by their position."""
    random, planned = iter(control), iter(chosen)
    merged = [next(random if is_random else planned, None) for is_random in drawn]
    return [question for question in (*merged, *random, *planned) if question is not None]


def by_item(questions: Iterable[Question]) -> list[Question]:
    """The same with all about one item together, at the place of the first.

    >>> asked = [Question("a", ("x",)), Question("b", ("x",)), Question("a", ("y",))]
    >>> [(question.item, *question.labels) for question in by_item(asked)]
    [('a', 'x'), ('a', 'y'), ('b', 'x')]
    """
    about: dict[str, list[Question]] = {}
    for question in questions:
        about.setdefault(question.item, []).append(question)
    return [question for group in about.values() for question in group]


def check_number(n: Any) -> None:
    """Refuse what is no number of questions."""
    if not isinstance(n, Integral) or n < 0:
        raise ValueError(f"n must be a whole number and not negative, got {n!r}")


def start_questions(
    data: LabelData,
    closed: sp.csr_array,
    full: npt.NDArray[np.intp],
    *,
    start: int,
    n: int,
    target: str,
    random_state: int,
) -> list[Question]:
    """Up to n questions about the random items of the start, in an order drawn once.

    Parameters
    ----------
    data : LabelData
    closed : (n, q) entries that may not be asked
    full : rows of which every label is known
    start : number of items of the start; none is asked once this number is known in full
    n : how many questions to ask
    target : "items", or "pairs": then every open label of an item in turn
    random_state : decides the order
    """
    missing = start - full.size
    if missing <= 0:
        return []
    order = np.random.default_rng([random_state, 0, 4]).permutation(data.n_items)
    order = order[~np.isin(order, full)]
    order = order[np.diff(closed.indptr)[order] < closed.shape[1]][:missing]
    if target == "items":
        order = order[:n]
        return as_questions(data, closed, (order, None, np.full(order.size, np.nan)), START_REASON)
    place, labels = np.nonzero(~closed[order].toarray())
    rows = order[place[:n]]
    return as_questions(data, closed, (rows, labels[:n], np.full(rows.size, np.nan)), START_REASON)


def random_questions(
    data: LabelData, closed: sp.csr_array, n: int, target: str, rng: np.random.Generator
) -> list[Question]:
    """Up to n questions of the random share: items, or pairs, drawn from what is open."""
    rows, labels = (random_items(closed, n, rng), None) if target == "items" else random_pairs(closed, n, rng)
    return as_questions(data, closed, (rows, labels, np.full(rows.size, np.nan)), CONTROL)
