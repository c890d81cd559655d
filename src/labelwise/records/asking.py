"""What is asked and what is answered: the records of asking, which need no arrays and load in no time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Question:
    """Ask a person about `labels` of `item`: all its open labels, or a single one.

    `reason` says why: "strategy", "cold start" (nothing is known yet) or "control" (the random share);
    `score` is the strategy's score, higher means more worth asking; it is ignored when questions are compared.
    """

    item: str
    labels: tuple[str, ...]
    reason: str = "strategy"
    score: float = field(default=float("nan"), compare=False)


@dataclass(frozen=True)
class Answer:
    """A person's answer about one item: label name to True (present) or False (absent); the other labels stay unknown.

    `reason` is copied from the question, so that answers to random questions can be recognised later; `correction`
    allows the answer to replace an earlier, different one.

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

    @classmethod
    def to(cls, question: Question, present: str | Iterable[str]) -> Answer:
        """Answer a question in full: the labels in `present` are present, its other labels are absent."""
        present = {present} if isinstance(present, str) else set(present)
        strange = sorted(present - set(question.labels))
        if strange:
            raise ValueError(f"labels {strange} were not asked about for item {question.item!r}")
        return cls(question.item, {name: name in present for name in question.labels}, question.reason)
