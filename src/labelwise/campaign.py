"""The one learning loop: ask, tell, believe. A person and a simulation differ only in who answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone

from labelwise.new_labels import GuessLearner, NewLabel
from labelwise.numerics.choosing import random_items, random_pairs
from labelwise.posterior import IgnorantPosterior, LabelPosterior
from labelwise.questions import as_questions, did_you_mean, embed_rows, interleave
from labelwise.records import Answer, LabelData, Question, as_features


class Model(Protocol):
    """What a campaign needs of a model; `partial_fit(X, Y, observed=...)` is used where it exists.

    Answers added in pieces must then teach the same as in one batch, or a resumed campaign would ask otherwise.
    """

    def fit(self, X: Any, Y: Any, observed: Any = None) -> Any: ...

    def posterior(self, X: Any) -> LabelPosterior: ...


@dataclass(frozen=True, eq=False)
class _Entry:
    """One answer in numbers: a row of the pool, the labels answered, and what was said."""

    row: int
    labels: npt.NDArray[np.intp]
    values: npt.NDArray[np.bool_]


class Campaign:
    """Learn the labels of a pool of items by asking a few well-chosen questions.

    The state of a campaign is its data, its settings and the list of answers: one rebuilt from the same three
    believes the same and asks the same next question. The model is derived from them. It is fitted from scratch after
    1, 2, 3, 4, 5, 7, 9, 12, ... answers (each step a quarter more than the one before); in between, new answers are
    added by its `partial_fit`. A model without `partial_fit` is fitted on everything each time.

    Parameters
    ----------
    data : LabelData
        The pool. Labels that are observed in it count as known from the start.
    model : estimator with `fit(X, Y, observed=)` and `posterior(X)`
        Cloned; the one given is never fitted. A `random_state` left at None is set to the campaign's.
    strategy : object with `target` and `choose(posterior, closed, n, rng)`
        What to ask, see `labelwise.queries`. One with `looks_at_answers = True` is also handed `known`, the pool with
        its features and all answers.
    decision : object with `decide(posterior)`, optional
        How `predict` turns beliefs into label sets; by default the labels more likely present than not.
    control : float
        Share of the questions that is drawn at random instead, marked `reason="control"`: an honest sample of the pool
        for base rates and error estimates.
    random_state : int
    answers : answers told earlier, to go on where a campaign stopped

    Examples
    --------
    >>> import labelwise as lw
    >>> data = LabelData.from_arrays(np.eye(4), label_names=["a", "b"])
    >>> campaign = Campaign(data, model=lw.BinaryRelevance(), strategy=lw.Random(), random_state=0)
    >>> question = campaign.ask(1)[0]
    >>> question.labels, question.reason
    (('a', 'b'), 'cold start')
    >>> campaign.tell([Answer.to(question, present={"a"})])
    >>> campaign.believe().probabilities().round(2)[0]
    array([0.75, 0.25])
    """

    def __init__(
        self,
        data: LabelData,
        *,
        model: Any,
        strategy: Any,
        decision: Any = None,
        control: float = 0.0,
        random_state: int = 0,
        answers: Iterable[Answer] = (),
    ) -> None:
        if not 0 <= control <= 1:
            raise ValueError(f"control is the share of random questions, between 0 and 1, got {control!r}")
        self.model = model
        self.strategy = strategy
        self.decision = decision
        self.control = control
        self.random_state = random_state
        self._answers: list[Answer] = []
        self._entries: list[_Entry] = []
        self._corrected = 0  # answers there were when the last correction came
        self._new_labels: dict[str, NewLabel] = {}
        self._use(data)
        self.tell(answers)

    # -- what is known ------------------------------------------------------------------------------------------------

    @property
    def data(self) -> LabelData:
        """The pool as it was given, with the items and labels added since; the answers are not in it."""
        return self._data

    @property
    def answers(self) -> tuple[Answer, ...]:
        """Everything told so far, oldest first."""
        return tuple(self._answers)

    @property
    def new_labels(self) -> dict[str, NewLabel]:
        """What was said of labels to guess them by; give it again, by `guess_label`, to a campaign that is rebuilt."""
        return dict(self._new_labels)

    def labelled(self) -> LabelData:
        """The pool with every answer in it: what to save, to export, or to train something else on."""
        rows, Y, observed = self._training(len(self._entries))
        known = embed_rows(observed, rows, self._data.Y.shape)
        return replace(self._data, Y=embed_rows(Y, rows, known.shape), observed=known)

    # -- the loop -----------------------------------------------------------------------------------------------------

    def ask(self, n: int = 1, *, exclude: Iterable[str | tuple[str, str]] = ()) -> list[Question]:
        """The n questions most worth asking now, best first; fewer where fewer are open.

        Asking changes nothing: until the next `tell` the same call gives the same questions. Items, or (item, label)
        pairs, in `exclude` (already with somebody, or skipped) are left out.
        """
        if n < 0:
            raise ValueError(f"n must not be negative, got {n!r}")
        rng = np.random.default_rng([self.random_state, len(self._answers)])
        closed = self._closed(list(exclude))
        n = min(n, closed.shape[0] * closed.shape[1] - closed.nnz)
        drawn = rng.random(n) < self.control
        asked = self._random_questions(closed, int(drawn.sum()), rng)
        closed = self._without(closed, asked)
        model = self.fitted()
        beliefs = self._pool_posterior(model)
        extra = {"known": self.labelled()} if self._shows_answers else {}
        choice = self.strategy.choose(beliefs, closed, n - len(asked), rng, **extra)
        reason = "strategy" if model is not None else "cold start"
        chosen = as_questions(self._data, closed, (choice.rows, choice.labels, choice.scores), reason)
        return interleave(asked, chosen, drawn)

    def ask_about(self, items: LabelData, n: int) -> list[Question]:
        """The n questions most worth asking about these items, given what is known of their own labels.

        For items outside the pool, say the patients of today: what the campaign has learnt from the pool, and the
        labels observed in `items`, decide which label to pay for next. See `labelwise.queries.Diagnosis`.
        """
        self._data.check_alike(items)
        closed = items.observed_mask()
        beliefs = self.believe(items.X).given(items.Y, closed)
        rng = np.random.default_rng([self.random_state, len(self._answers), 1])
        extra = {"known": items} if self._shows_answers else {}
        choice = self.strategy.choose(beliefs, closed, n, rng, **extra)
        return as_questions(items, closed, (choice.rows, choice.labels, choice.scores), "strategy")

    def tell(self, answers: Answer | Iterable[Answer]) -> None:
        """Take in answers: all of them, or none where one is wrong.

        An answer that contradicts an earlier one needs `correction=True`; saying the same again changes nothing.
        """
        batch = [answers] if isinstance(answers, Answer) else list(answers)
        said: dict[tuple[int, int], bool] = {}
        entries = [self._checked(answer, said) for answer in batch]
        for answer, entry in zip(batch, entries, strict=True):
            self._answers.append(answer)
            self._entries.append(entry)
            self._note(entry)
            if answer.correction:
                self._corrected = len(self._answers)

    def believe(self, X: Any = None) -> LabelPosterior:
        """Beliefs about new items, or about the pool; before anything is known, one half for every label."""
        model = self.fitted()
        if X is None:
            return self._pool_posterior(model)
        if model is None:
            return IgnorantPosterior(as_features(X).shape[0], self._data.n_labels)
        return self._guessed(model, as_features(X))

    def predict(self, X: Any = None) -> npt.NDArray[np.bool_]:
        """(n, q) label sets of new items, or of the pool; in the pool, what was answered stands."""
        beliefs = self.believe(X)
        sets = beliefs.probabilities() > 0.5 if self.decision is None else np.array(self.decision.decide(beliefs))
        if X is None:
            rows, Y, observed = self._training(len(self._entries))
            sets[rows] = np.where(observed, Y, sets[rows])
        return sets

    # -- growing ------------------------------------------------------------------------------------------------------

    def add_label(
        self, name: str, *, like: Mapping[str, float] | None = None, counts: Mapping[str, float] | None = None
    ) -> Self:
        """One more label, unknown for every item so far; with `like` or `counts` it starts from a guess."""
        data = self._data.with_label(name)
        start = None if like is None and counts is None else NewLabel.of(name, data.label_names, like, counts)
        self._new_labels |= {} if start is None else {name: start}
        self._use(data)
        return self

    def guess_label(
        self, name: str, *, like: Mapping[str, float] | None = None, counts: Mapping[str, float] | None = None
    ) -> Self:
        """Guess a label that nobody was asked about yet from how it goes with others, until answers take over.

        `like`: for some labels, the share of their items that carry this one, too. `counts`: for some labels, how many
        items of the pool carry both.
        """
        self._column(name)
        self._new_labels[name] = NewLabel.of(name, self._data.label_names, like, counts)
        self._use(self._data)
        return self

    def add_items(self, more: LabelData) -> Self:
        """More items for the pool, with the same features and labels; labels observed in them count as known."""
        self._use(self._data.with_items(more))
        return self

    # -- inside: data and answers -------------------------------------------------------------------------------------

    def _use(self, data: LabelData) -> None:
        """(Re)build everything that follows from the data: look-ups, what is known, and the wish for a fresh model."""
        self._data = data
        self._row_of = {item: row for row, item in enumerate(data.item_ids)}
        self._column_of = {name: column for column, name in enumerate(data.label_names)}
        self._fit: tuple[Any, int, int] | None = None  # model, answers it was fitted on, answers it has seen
        self._guesses = GuessLearner(data, self._new_labels, self._fresh_model)
        started = np.arange(data.n_items) if data.observed is None else np.flatnonzero(np.diff(data.observed.indptr))
        self._known: dict[int, tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]] = {}
        self._start_rows = started.astype(np.intp)
        for entry in self._entries:
            self._note(entry)

    def _note(self, entry: _Entry) -> None:
        if entry.row not in self._known:
            self._known[entry.row] = self._initial(entry.row)
        values, known = self._known[entry.row]
        values[entry.labels], known[entry.labels] = entry.values, True

    def _initial(self, row: int) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """What the data itself say of one item: values and mask, (q,) each, fresh copies."""
        Y, observed = self._data.Y, self._data.observed
        values, known = np.zeros(Y.shape[1], dtype=bool), np.full(Y.shape[1], observed is None)
        values[Y.indices[Y.indptr[row] : Y.indptr[row + 1]]] = True
        if observed is not None:
            known[observed.indices[observed.indptr[row] : observed.indptr[row + 1]]] = True
        return values, known

    def _row(self, item: str) -> int:
        if item not in self._row_of:
            raise ValueError(f"there is no item {item!r} in the campaign{did_you_mean(item, self._row_of)}")
        return self._row_of[item]

    def _column(self, name: str) -> int:
        if name not in self._column_of:
            raise ValueError(f"there is no label {name!r} in the campaign{did_you_mean(name, self._column_of)}")
        return self._column_of[name]

    def _checked(self, answer: Answer, said: dict[tuple[int, int], bool]) -> _Entry:
        """The answer in numbers, checked against what is known and what the same batch `said` so far."""
        row = self._row(answer.item)
        if not answer.values:
            raise ValueError(f"the answer for item {answer.item!r} says nothing: it has no values")
        values, known = self._known.get(row) or self._initial(row)
        news: dict[int, bool] = {}  # what is said again is not counted twice
        for name, value in answer.values.items():
            column = self._column(name)
            if not isinstance(value, Real | np.bool_) or value not in (0, 1):
                raise ValueError(f"label {name!r} of item {answer.item!r} must be True or False, got {value!r}")
            before = said.get((row, column), bool(values[column]) if known[column] else None)
            if before is not None and before != bool(value) and not answer.correction:
                raise ValueError(
                    f"label {name!r} of item {answer.item!r} was answered {before} before and now {bool(value)}; "
                    "use Answer(..., correction=True) to change it"
                )
            if before != bool(value):
                said[row, column] = news[column] = bool(value)
        return _Entry(row, np.array(list(news), dtype=np.intp), np.array(list(news.values()), dtype=bool))

    def _training(self, n_answers: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Rows with anything known after the first n answers, with their labels and masks (rows, q)."""
        entries = self._entries[:n_answers]
        asked = np.array([entry.row for entry in entries], dtype=np.intp)
        rows = np.union1d(self._start_rows, asked)
        data = self._data
        Y = data.Y[rows].toarray()
        observed = np.ones(Y.shape, dtype=bool) if data.observed is None else data.observed[rows].toarray()
        if entries:
            place = np.repeat(np.searchsorted(rows, asked), [entry.labels.size for entry in entries])
            labels = np.concatenate([entry.labels for entry in entries])
            Y[place, labels] = np.concatenate([entry.values for entry in entries])  # oldest first: corrections win
            observed[place, labels] = True
        return rows, Y, observed

    def _closed(self, excluded: list[str | tuple[str, str]]) -> sp.csr_array:
        """(n, q) entries that may not be asked: answered ones, all of an excluded item, and excluded pairs."""
        rows, _, observed = self._training(len(self._entries))
        if excluded:
            whole = np.array([self._row(item) for item in excluded if isinstance(item, str)], dtype=np.intp)
            pairs = [(self._row(pair[0]), self._column(pair[1])) for pair in excluded if not isinstance(pair, str)]
            pair_rows, pair_labels = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
            everything = np.unique(np.concatenate([rows, whole, pair_rows]))
            closed = np.zeros((everything.size, observed.shape[1]), dtype=bool)
            closed[np.searchsorted(everything, rows)] = observed
            closed[np.searchsorted(everything, whole)] = True
            closed[np.searchsorted(everything, pair_rows), pair_labels] = True
            rows, observed = everything, closed
        return embed_rows(observed, rows, self._data.Y.shape)

    # -- inside: model and questions ----------------------------------------------------------------------------------

    def fitted(self) -> Any:
        """The model that follows from the answers so far, or None where nothing is known."""
        n = len(self._entries)
        if n == 0 and self._start_rows.size == 0:
            return None
        start = refit_point(n, self._corrected) if hasattr(self.model, "partial_fit") else n
        if self._fit is None or self._fit[1] != start:
            rows, Y, observed = self._training(start)
            self._fit = (self._fresh_model().fit(self._data.X[rows], Y, observed=observed), start, start)
        model, _, seen = self._fit
        if seen < n:
            self._fit = None  # a failure half-way must not leave a model that has seen some of it
            later = [entry for entry in self._entries[seen:] if entry.labels.size]
            Y = np.zeros((len(later), self._data.n_labels), dtype=bool)
            observed = np.zeros_like(Y)
            for place, entry in enumerate(later):
                Y[place, entry.labels], observed[place, entry.labels] = entry.values, True
            if later:
                model.partial_fit(self._data.X[[entry.row for entry in later]], Y, observed=observed)
            self._fit = (model, start, n)
        return model

    def _fresh_model(self) -> Any:
        model = clone(self.model)
        if "random_state" in model.get_params(deep=False) and model.random_state is None:
            model.set_params(random_state=self.random_state)
        return model

    def _pool_posterior(self, model: Any) -> LabelPosterior:
        if model is None:
            return IgnorantPosterior(self._data.n_items, self._data.n_labels)
        return self._guessed(model, self._data.X)

    def _guessed(self, model: Any, X: Any) -> LabelPosterior:
        """The model's beliefs, with guesses at labels that were added with one."""
        n = len(self._entries)
        return self._guesses.blend(model.posterior(X), X, model, self._training, n, refit_point(n, self._corrected))

    @property
    def _shows_answers(self) -> bool:
        return getattr(self.strategy, "looks_at_answers", False)

    def _random_questions(self, closed: sp.csr_array, n: int, rng: np.random.Generator) -> list[Question]:
        if self.strategy.target == "items":
            rows, labels = random_items(closed, n, rng), None
        else:
            rows, labels = random_pairs(closed, n, rng)
        return as_questions(self._data, closed, (rows, labels, np.full(rows.size, np.nan)), "control")

    def _without(self, closed: sp.csr_array, asked: list[Question]) -> sp.csr_array:
        if not asked:
            return closed
        rows = np.repeat([self._row_of[q.item] for q in asked], [len(q.labels) for q in asked])
        labels = [self._column_of[name] for q in asked for name in q.labels]
        taken = sp.csr_array((np.ones(rows.size, dtype=bool), (rows, labels)), shape=closed.shape)
        return (closed + taken).tocsr()


def refit_point(n_answers: int, at_least: int = 0) -> int:
    """How many of the answers the last fit from scratch has seen: the largest of 0, 1, 2, 3, 4, 5, 7, 9, 12, ... ≤ n.

    A function of the count alone, so that a campaign rebuilt from its answers fits where the unbroken one did.

    >>> [refit_point(n) for n in (0, 1, 6, 7, 100)]
    [0, 1, 5, 7, 94]
    >>> refit_point(100, at_least=97)
    97
    """
    point = 0
    while (following := max(point + 1, -(-5 * point // 4))) <= n_answers:
        point = following
    return max(point, at_least)
