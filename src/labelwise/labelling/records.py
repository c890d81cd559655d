"""The frozen records of labelling: settings, a lease, what a person did, and what was saved of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from labelwise.labelling.errors import ProjectError
from labelwise.records.asking import BY_RATE, RISK, Question, Suggestion, Timing, check_goals
from labelwise.views.wording import did_you_mean

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from labelwise.campaign import Costs

EVENT_KINDS = ("answer", "skip", "undo")
IN_WORDS: dict[str, bool | None] = {"yes": True, "no": False, "unsure": None}  # what can be said of a label
GIVEN = "given"  # the reason of labels that came with the items
TOLD = "told"  # the reason of answers nobody was asked for
SETTLED = "settled"  # the reason of answers that stand whatever others said
BULK = "bulk"  # the reason of answers to one label of many items that nobody was asked for


@dataclass(frozen=True)
class ExpectedLabels:
    """What a model expects of an item: the probability of each label, the label set that is predicted, and why."""

    probabilities: Mapping[str, float] = field(default_factory=dict)
    labels: frozenset[str] = frozenset()
    reasons: tuple[Suggestion, ...] = ()

    @classmethod
    def of(cls, names: Sequence[str], p: Iterable[float], present: Iterable[bool]) -> ExpectedLabels:
        """From a row of probabilities and a row of a label set.

        >>> sorted(ExpectedLabels.of(["a", "b"], [0.4, 0.1], [True, False]).labels)
        ['a']
        """
        predicted = (name for name, there in zip(names, present, strict=True) if there)
        return cls(dict(zip(names, p, strict=True)), frozenset(predicted))


@dataclass(frozen=True)
class Settings:
    """How a project asks, kept in it from its making; `Settings.of` has the defaults of a `Campaign`.

    Parameters
    ----------
    model, strategy : names in `labelwise.models.BY_NAME` and `labelwise.queries.BY_NAME`
        The strategy also says whether whole items or single (item, label) pairs are asked about.
    model_options : keyword arguments of the model
    features : mapping
        What the model sees: {"kind": "text", "field": ...}, {"kind": "images", "field": ...} or {"kind": "numbers"}.
        "formats" in it names the fields that are shown as Markdown or HTML, "id" the column of the items' ids.
    control : float
        Share of the questions that are drawn at random, for base rates and an unbiased error.
    guard : bool
        Whether the share rises where the strategy does not pay, see `labelwise.Guard`.
    overlap : int
        People who are asked the same question, 1 by default; `overlap_share` is the share of the questions that this
        applies to.
    lease_seconds : float
        How long a question belongs to the one who was given it.
    ready : int
        Questions the worker keeps ready.
    read_cost, answer_cost, label_costs : float, float, and mapping of label names to prices
        What reading an item and answering for a label cost, in seconds, see `labelwise.Costs`.
    price_list : str, optional
        The named list, as "long_text:high", that learning from people's times starts from where no price is chosen. By
        default that of short texts or of pictures.
    start : int
        Random items that are answered in full before the strategy takes over.
    verify : bool
        Whether a person who has picked the labels of a whole item is asked about likely ones that were not picked.
    hints : bool
        Whether what the names of the labels say of the items is believed, as far as the answers bear it out.
    random_state : int
    target_f1 : float, optional
        The F1 to reach: status, page and report say how much time that takes.
    worth_an_hour : float, optional
        The gain in F1 that makes an hour of people's time worth it.
    risk : float
        The advice is to stop where more time is worth it with a smaller probability than this.

    Examples
    --------
    >>> Settings.of().strategy, Settings.of(label_costs={"biopsy": 80.0}).target
    ('variance_reduction', 'pairs')
    """

    model: str
    strategy: str
    model_options: Mapping[str, Any] = field(default_factory=dict)
    features: Mapping[str, Any] = field(default_factory=lambda: {"kind": "numbers"})
    control: float = 0.0
    guard: bool = False
    overlap: int = 1
    overlap_share: float = 1.0
    lease_seconds: float = 600.0
    ready: int = 200
    read_cost: float = 0.0
    answer_cost: float = 1.0
    label_costs: Mapping[str, float] = field(default_factory=dict)
    price_list: str | None = None
    start: int = 0
    verify: bool = False
    hints: bool = True
    random_state: int = 0
    target_f1: float | None = None
    worth_an_hour: float | None = None
    risk: float = RISK

    @classmethod
    def of(
        cls,
        *,
        model: str | None = None,
        strategy: str | None = None,
        start: int | None = None,
        control: float | None = None,
        model_options: Mapping[str, Any] | None = None,
        **others: Any,
    ) -> Settings:
        """Settings in which None is replaced by the default of a campaign."""
        from labelwise.campaign import defaults  # loaded when needed: those who only ask and answer do without

        by_label = bool(others.get("label_costs"))
        name = defaults.strategy_name(strategy, by_label=by_label)
        cls(model or "auto", name).check_choices()
        chosen = defaults.Choices.of(model, strategy, start, control, by_label=by_label, model_options=model_options)
        made = cls(**asdict(chosen), **others)
        made.check_choices()
        return made

    def __post_init__(self) -> None:
        if not 0 <= self.control <= 1:
            raise ProjectError(f"control is the share of random questions, between 0 and 1, got {self.control!r}")
        if not 0 <= self.overlap_share <= 1:
            raise ProjectError(f"overlap_share must lie between 0 and 1, got {self.overlap_share!r}")
        for name in ("overlap", "ready"):
            if getattr(self, name) < 1:
                raise ProjectError(f"{name} must be at least 1, got {getattr(self, name)!r}")
        if self.start < 0:
            raise ProjectError(f"start must be 0 or more, got {self.start!r}")
        if not self.lease_seconds > 0:
            raise ProjectError(f"lease_seconds must be positive, got {self.lease_seconds!r}")
        if self.price_list is not None and self.has_prices:
            raise ProjectError("choose a price list, or prices of your own for reading, answers or labels, not both")
        try:
            check_goals(self.target_f1, self.worth_an_hour, self.risk)
        except ValueError as error:
            raise ProjectError(str(error)) from error

    def check_choices(self) -> None:
        """Whether there are such a model and such a strategy, and the prices are prices: asked once, at the making."""
        from labelwise import models, queries  # loaded when needed: those who only ask and answer do without

        for what, name, known in (("model", self.model, models.BY_NAME), ("strategy", self.strategy, queries.BY_NAME)):
            if name not in known:
                raise ProjectError(
                    f"there is no {what} {name!r}{did_you_mean(name, known)}; there are {', '.join(known)}"
                )
        try:
            self.costs(self.label_costs)
        except ValueError as error:
            raise ProjectError(str(error)) from error

    def costs(self, label_names: Iterable[str]) -> Costs:
        """The prices that were chosen, else those of texts or pictures; labels no longer in use are left out."""
        from labelwise.campaign import Costs  # loaded when needed, as above

        if not self.has_prices:
            return Costs.named(self.price_list or ("picture" if self.features["kind"] == "images" else "short_text"))
        own = {name: self.label_costs[name] for name in label_names if name in self.label_costs}
        return Costs(self.read_cost, self.answer_cost, own or None)

    @property
    def people_per_question(self) -> float:
        """In the mean."""
        return 1 + (self.overlap - 1) * self.overlap_share

    @property
    def has_prices(self) -> bool:
        """Whether somebody chose what reading and answering cost."""
        return bool(self.label_costs) or (self.read_cost, self.answer_cost) != (0.0, 1.0)

    @property
    def target(self) -> str:
        from labelwise import queries  # loaded when needed, as above

        return queries.BY_NAME[self.strategy]().target


def pack_reasons(marks: Sequence[tuple[str, int, float]], suggested: Iterable[Suggestion], names: Sequence[str]) -> str:
    """What spoke for and against labels of an item, as it is stored: JSON, with labels by their place."""
    place = {name: column for column, name in enumerate(names)}
    reasons = [[place[each.label], each.source, list(each.words)] for each in suggested if each.source != BY_RATE]
    return json.dumps({"marks": marks, "reasons": reasons}, ensure_ascii=False)


def unpack_reasons(
    stored: str | None, names: Sequence[str], p: Mapping[str, float]
) -> tuple[tuple[tuple[str, str, float], ...], dict[str, Suggestion]]:
    """Words with label and log-odds, and the reasons of the labels that there are probabilities of, by name.

    >>> stored = pack_reasons([("goal", 0, 1.5)], [Suggestion("sports", 0.6, "name", ("goal",))], ["sports"])
    >>> unpack_reasons(stored, ["sports"], {"sports": 0.6})[1]["sports"].words
    ('goal',)
    """
    kept = json.loads(stored) if stored and p else {}
    kept = {"marks": kept} if isinstance(kept, list) else kept  # leases of earlier versions have the words alone
    marks = tuple((word, names[place], weight) for word, place, weight in kept.get("marks", ()))
    reasons = {
        names[place]: Suggestion(names[place], p[names[place]], source, tuple(words))
        for place, source, words in kept.get("reasons", ())
        if names[place] in p
    }
    return marks, reasons


@dataclass(frozen=True)
class Lease:
    """A question that belongs to one person until `expires_at` (seconds since 1970).

    `content` is what to show of the item, `beliefs` the probability of each label asked about, as the last good model
    saw it; empty before there is one. `verify` are the labels of a whole item to ask about once more if they are not
    picked, likeliest first; see `Verified`. `rank` is the place of the question among those that were ready, `words`
    the words of a text that spoke for or against labels: word, label, log-odds. `reasons` has why likely labels are
    believed, by name.

    Examples
    --------
    >>> import tempfile, labelwise as lw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = lw.data.make_tickets(20, random_state=0).hide()
    ...     with lw.Project.create(f"{folder}/tickets.db", data, text="text") as project:
    ...         project.refresh()
    ...         lease = project.ask(1, who="ann")[0]
    ...         print(lease.who, lease.question.reason)
    ann start
    """

    token: str
    who: str
    question: Question
    content: Any
    expires_at: float
    beliefs: Mapping[str, float] = field(default_factory=dict)
    rank: int = 0
    words: tuple[tuple[str, str, float], ...] = ()
    verify: tuple[str, ...] = ()
    reasons: Mapping[str, Suggestion] = field(default_factory=dict)


@dataclass(frozen=True)
class Verified:
    """What a person said of likely labels that they had not picked, asked once more before the item was left.

    `values` maps label names to True, False, or None for unsure; `timing` is how long that took.
    """

    values: Mapping[str, bool | None]
    timing: Timing | None = None


@dataclass(frozen=True)
class Receipt:
    """The proof that an answer is on disk: its number among the events, and what should be said about it.

    `repeated` says that it was there already, and that nothing was added.

    Examples
    --------
    >>> import tempfile, labelwise as lw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     data = lw.data.make_tickets(20, random_state=0).hide()
    ...     with lw.Project.create(f"{folder}/tickets.db", data, text="text") as project:
    ...         project.refresh()
    ...         lease = project.ask(1, who="ann")[0]
    ...         print(project.service.answer(lease.token, {"billing": True}).event)
    1
    """

    event: int
    notices: tuple[str, ...] = ()
    repeated: bool = False


@dataclass(frozen=True)
class Event:
    """One thing that a person did: answered, skipped, or took an answer back (`undoes` is its number).

    `values` maps label names to True, False, or None for unsure; `asked` is the one label that was asked about, or None
    where it was the whole item. `timing` is how long it took, where that was measured. `taken_back` is the number of
    the event that took it back, where that was looked up.

    Examples
    --------
    >>> values = {"billing": True, "login": None}
    >>> event = Event(1, 1_700_000_000.0, "ann", "answer", "ticket 7", None, "control", values)
    >>> [label for label, value in event.values.items() if value is None]  # unsure
    ['login']
    """

    id: int
    at: float
    who: str
    kind: str
    item: str
    asked: str | None
    reason: str
    values: Mapping[str, bool | None]
    undoes: int | None = None
    timing: Timing | None = None
    taken_back: int | None = None


@dataclass(frozen=True, eq=False)
class Predictions:
    """Label sets (n, q) and probabilities (n, q) of items, by name, and how many answers the model had not learnt.

    `left_out` are the labels that were not predicted because nobody has said yes to them so far. `unheard` are the
    sources of opinions that the model has learnt to listen to and that say nothing of these items.
    """

    ids: tuple[str, ...]
    label_names: tuple[str, ...]
    sets: npt.NDArray[np.bool_]
    probabilities: npt.NDArray[np.floating[Any]]
    unlearnt: int = 0
    left_out: tuple[str, ...] = ()
    unheard: tuple[str, ...] = ()

    def to_frame(self) -> Any:
        """A row for each item as a pandas.DataFrame: its labels, the most likely first, and their probabilities."""
        from labelwise.views import frames  # loads pandas

        return frames.of_predictions(self.ids, self.label_names, self.sets, self.probabilities)
