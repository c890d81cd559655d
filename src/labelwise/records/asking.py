"""What is asked and what is answered: the records of asking, which need no arrays and load in no time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from labelwise.views.html import of_answer, of_question

QUESTION_KINDS = ("item", "pair", "further", "sweep")
MAX_SECONDS = 1800.0  # nobody looks at one item for longer: the tab was left open
CONTROL = "control"  # the reason of a question of the random share
START_REASON = "start"  # the reason of a question about the random items that are answered in full at first
VERIFY = "verify"  # the reason of a question about likely labels that were not picked
SWEEP = "sweep"  # the reason of a question about one label of many items on one page
SWEEP_PAGE = 24  # items on a page of a sweep, where nothing else is said
WORTH_ASKING = 2.0  # times as much as whole items, from which on a campaign with `sweeps` asks for one
MAX_PICKS = 100_000  # labels in one answer
RISK = 0.2  # of stopping although more time is worth it, where the user says nothing else
BY_MODEL, BY_NAME, BY_RATE = "model", "name", "base rate"  # sources of suggestions, beside the names of opinions
IN_WORDS = {BY_MODEL: "by the answers", BY_NAME: "by its name", BY_RATE: "by its base rate"}


@dataclass(frozen=True)
class Question:
    """Ask a person about `labels` of `item`: all its open labels, or a single one.

    `reason` says why: "strategy", "cold start" (nothing is known yet), "control" (the random share), "verify" (labels
    that were not picked, but are likely) or "sweep" (one label of many items on one page). `score` is the strategy's
    score: the higher, the more worth asking. It is ignored when questions are compared.

    Examples
    --------
    >>> question = Question("ticket 7", ("billing", "delivery"))
    >>> question.labels, question.reason
    (('billing', 'delivery'), 'strategy')
    """

    item: str
    labels: tuple[str, ...]
    reason: str = "strategy"
    score: float = field(default=float("nan"), compare=False)

    def _repr_html_(self) -> str:
        return of_question(self)


@dataclass(frozen=True)
class Answer:
    """A person's answer about one item: label name to True (present) or False (absent); the other labels stay unknown.

    `reason` is copied from the question, so that answers to random questions can be recognised later; `correction`
    allows the answer to replace an earlier, different one. An answer about several labels is `picked`: the person
    names those that apply and may forget some. About one label, or about labels to verify, each yes and no was said.

    Examples
    --------
    >>> Answer("doc7", {"sports": True, "politics": False}).values["sports"]
    True
    >>> question = Question("doc7", ("sports", "politics"))
    >>> Answer.to(question, present={"sports"}) == Answer("doc7", {"sports": True, "politics": False})
    True
    """

    item: str
    values: Mapping[str, bool] = field(default_factory=dict)
    reason: str = "strategy"
    correction: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.values, Mapping):
            raise TypeError(f"values must map label names to True or False, got {self.values!r}; see also Answer.to")
        object.__setattr__(self, "values", dict(self.values))  # a copy: what was said stays said

    @property
    def picked(self) -> bool:
        """Whether a no may be a label that was forgotten.

        >>> Answer("doc7", {"sports": True, "politics": False}).picked, Answer("doc7", {"sports": False}).picked
        (True, False)
        """
        return len(self.values) > 1 and self.reason != VERIFY

    def _repr_html_(self) -> str:
        return of_answer(self)

    @classmethod
    def to(cls, question: Question, present: str | Iterable[str]) -> Answer:
        """Answer a question in full: the labels in `present` are present, its other labels are absent."""
        present = {present} if isinstance(present, str) else set(present)
        strange = sorted(present - set(question.labels))
        if strange:
            raise ValueError(f"labels {strange} were not asked about for item {question.item!r}")
        return cls(question.item, {name: name in present for name in question.labels}, question.reason)


@dataclass(frozen=True)
class Suggestion:
    """A label that an item may have, how probable it is, and why.

    Parameters
    ----------
    label : str
    probability : float
    source : str
        What speaks most for it: "model" (what was learnt from the answers), "name" (the label's name and description),
        the name of an opinion, or "base rate" where nothing speaks for it in particular.
    words : words of the item that speak for it, the strongest first; empty where there are none

    Examples
    --------
    >>> print(Suggestion("sports", 0.62, "name", ("goal", "match")))
    sports 62 %, by its name: goal, match
    """

    label: str
    probability: float
    source: str
    words: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """The source and the words, for a person to read."""
        source = IN_WORDS.get(self.source, f"by {self.source}")
        return f"{source}: {', '.join(self.words)}" if self.words else source

    def __str__(self) -> str:
        return f"{self.label} {self.probability:.0%}, {self.why}".replace("%", " %", 1)


@dataclass(frozen=True)
class Timing:
    """How long a person took for an answer, for what kind of question, and how the labels that apply were picked.

    Parameters
    ----------
    seconds : float
        Active time from when the item was shown to when the answer was saved.
    question : str
        "item" (a whole item), "pair" (one label or a few, of an item opened for it), "further" (more labels of an item
        that was open anyway) or "sweep" (one label of many items).
    by_key, by_search, by_suggestion : int
        Labels picked by a key or a click, by typing a part of their name, and from those that the model suggested.

    Examples
    --------
    >>> Timing(12.5, by_key=1, by_suggestion=2).question
    'item'
    """

    seconds: float
    question: str = "item"
    by_key: int = 0
    by_search: int = 0
    by_suggestion: int = 0

    def clamped(self, longest: float = MAX_SECONDS) -> Timing | None:
        """The same within reason, whatever a clock said: at most `longest`; None where it says nothing.

        >>> Timing(1e9, by_key=-3).clamped()
        Timing(seconds=1800.0, question='item', by_key=0, by_search=0, by_suggestion=0)
        >>> Timing(-5.0).clamped(), Timing(float("nan")).clamped(), Timing(2.0, "essay").clamped()
        (None, None, None)
        """
        if self.question not in QUESTION_KINDS or not 0 <= self.seconds <= float("inf"):
            return None
        longest = min(longest, MAX_SECONDS) if longest > 0 else MAX_SECONDS  # a clock that jumped back knows no age
        counts = (min(max(int(count), 0), MAX_PICKS) for count in (self.by_key, self.by_search, self.by_suggestion))
        return Timing(float(min(self.seconds, longest)), self.question, *counts)


def check_goals(target_f1: float | None, worth_an_hour: float | None, risk: float = RISK) -> None:
    """Refuse an F1 to reach, a gain in F1 to make an hour worth it, and a risk of stopping too soon, that are none.

    >>> check_goals(80, None)
    Traceback (most recent call last):
    ValueError: target_f1 must lie above 0 and be at most 1, got 80; write 0.8 for 80 %
    """
    if target_f1 is not None and not 0 < target_f1 <= 1:
        raise ValueError(f"target_f1 must lie above 0 and be at most 1, got {target_f1!r}; write 0.8 for 80 %")
    if worth_an_hour is not None and not 0 <= worth_an_hour <= 1:
        raise ValueError(
            f"worth_an_hour is a gain in F1, from 0 to 1, got {worth_an_hour!r}; write 0.01 for one point an hour"
        )
    if not 0 <= risk <= 1:
        raise ValueError(f"risk is a probability, from 0 to 1, got {risk!r}; write 0.2 for 20 %")
