"""Progressive validation: every row of a stream is predicted before it is learnt, and the predictions are judged.

A `StreamRule` decides on label sets, on a window of rows or on a whole file in one or two passes.

A `Score` is a set of sums, so that scores of parts add up to the score of the whole. Rows are judged in windows: rules
that look at many items at once need many, and a label rarer than one in a window is never predicted by its share.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from labelwise.decisions import ClassMass, Decision, ExpectedF1, LabelTally, Threshold, TopLabels
from labelwise.numerics.metrics import log_loss, precision_at
from labelwise.posterior import BoolArray, FloatArray, LabelPosterior, MarginalPosterior
from labelwise.views.wording import did_you_mean

STREAM_PRECISION_AT = (1, 3)  # precision@k for these k
RULE_NAMES = ("class_mass", "expected_f1", "expected_f1_per_item", "threshold", "top_labels")
TWO_PASS_RULES = ("class_mass", "expected_f1")  # which label an item gets depends on all other items
Counts = npt.NDArray[np.float64]


def _none() -> Counts:
    return np.zeros(0)


@dataclass(frozen=True)
class StreamRule:
    """A rule and its one setting: the probability of `threshold`, the number of `top_labels`.

    Examples
    --------
    >>> StreamRule.parse("threshold:0.3"), StreamRule.parse("top_labels").value
    (StreamRule(name='threshold', value=0.3), 'expected')
    """

    name: str
    value: float | int | str | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """`class_mass`, `expected_f1`, `expected_f1_per_item`, `threshold[:p]`, `top_labels[:count]`."""
        name, colon, setting = text.partition(":")
        if name not in RULE_NAMES or (colon and name not in ("threshold", "top_labels")):
            near, there = did_you_mean(name, RULE_NAMES) if name not in RULE_NAMES else "", ", ".join(RULE_NAMES)
            raise ValueError(f"there is no decision {text!r}{near}; there are {there}, and threshold:0.3, top_labels:5")
        value: float | int | str | None = None
        try:
            if name == "threshold":
                value = float(setting) if colon else 0.5
            if name == "top_labels":
                value = int(setting) if colon and setting != "expected" else "expected"
        except ValueError:
            raise ValueError(f"the setting of {text!r} is no number; write threshold:0.3 or top_labels:5") from None
        if isinstance(value, float) and not 0 <= value <= 1:
            raise ValueError(f"threshold is compared with probabilities and must lie between 0 and 1, got {value!r}")
        if isinstance(value, int) and value < 1:
            raise ValueError(f"top_labels needs at least one label per row, got {value!r}")
        return cls(name, value)

    @property
    def passes(self) -> int:
        """How often a whole file has to be gone through."""
        return 2 if self.name in TWO_PASS_RULES else 1

    def decide(self, posterior: LabelPosterior, shares: FloatArray) -> BoolArray:
        """The label sets of a window; labels without a share were never seen and are not predicted by their share."""
        rule: Decision = self.per_item() if self.passes == 1 else self._on_window(shares)
        return rule.decide(posterior)

    def _on_window(self, shares: FloatArray) -> Decision:
        return ClassMass(shares) if self.name == "class_mass" else ExpectedF1(known_labels=shares > 0, cautious=False)

    def per_item(self) -> Decision:
        """The rule itself, where it looks at one item at a time."""
        value: Any = self.value
        if self.name == "threshold":
            return Threshold(value)
        return TopLabels(value) if self.name == "top_labels" else ExpectedF1(average="samples")

    def over_stream(self, tally: LabelTally, shares: FloatArray) -> Decision:
        """The rule for the second pass over a file whose first pass was counted."""
        return tally.class_mass(shares) if self.name == "class_mass" else tally.expected_f1(known_labels=shares > 0)


@dataclass(frozen=True, eq=False)
class Score:
    """What was found among judged rows. Adding two judges their rows together.

    Examples
    --------
    >>> Y = np.array([[True, False], [True, True]])
    >>> half = set_score(Y[:1], Y[:1]) + set_score(Y[1:] & False, Y[1:])
    >>> half.measures()["micro_f1"]
    0.5
    """

    rows: int = 0
    hits: Counts = field(default_factory=_none)  # (q,)
    predicted: Counts = field(default_factory=_none)  # (q,)
    present: Counts = field(default_factory=_none)  # (q,)
    loss: float = 0.0  # −log p(truth), summed
    entries: int = 0  # of which the loss is the sum
    top_hits: Counts = field(default_factory=lambda: np.zeros(len(STREAM_PRECISION_AT)))
    top_rows: Counts = field(default_factory=lambda: np.zeros(len(STREAM_PRECISION_AT)))

    def __add__(self, other: Score) -> Score:
        parts = {name: getattr(self, name) + getattr(other, name) for name in ("rows", "loss", "entries")}
        parts |= {name: _sum(getattr(self, name), getattr(other, name)) for name in _ARRAYS}
        return Score(**parts)

    def label_f1(self) -> FloatArray:
        """(q,) F1 of each label; NaN where no judged row has it."""
        size = self.predicted + self.present
        return np.where(self.present > 0, 2 * self.hits / np.maximum(size, 1), np.nan)

    def measures(self) -> dict[str, float]:
        """Micro- and macro-F1 (over labels that occur), precision@k, log loss; NaN for what cannot be said."""
        size = self.predicted.sum() + self.present.sum()
        f1 = self.label_f1()
        known = f1[~np.isnan(f1)]
        at_k = [hits / rows if rows else math.nan for hits, rows in zip(self.top_hits, self.top_rows, strict=True)]
        return {
            "micro_f1": float(2 * self.hits.sum() / size) if size else math.nan,
            "macro_f1": float(known.mean()) if known.size else math.nan,
            **{f"precision_at_{k}": float(value) for k, value in zip(STREAM_PRECISION_AT, at_k, strict=True)},
            "log_loss": self.loss / self.entries if self.entries else math.nan,
        }

    def to_json(self) -> dict[str, Any]:
        arrays = {name: getattr(self, name).tolist() for name in _ARRAYS}
        return {"rows": self.rows, "loss": self.loss, "entries": self.entries, **arrays}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        arrays = {name: np.array(found[name], dtype=float) for name in _ARRAYS}
        return cls(rows=found["rows"], loss=found["loss"], entries=found["entries"], **arrays)


_ARRAYS = ("hits", "predicted", "present", "top_hits", "top_rows")


def set_score(sets: BoolArray, truth: BoolArray, observed: BoolArray | None = None) -> Score:
    """The part of a score that depends on label sets; entries that are not observed do not count."""
    if observed is not None:
        sets, truth = sets & observed, truth & observed
    sums = [part.sum(0).astype(float) for part in (sets & truth, sets, truth)]
    return Score(len(sets), *sums)


def belief_score(probabilities: FloatArray, truth: BoolArray, observed: BoolArray | None = None) -> Score:
    """The part of a score that depends on probabilities alone.

    Labels beyond the columns of `probabilities` were unknown when they were computed. They rank last in precision@k,
    which takes only rows that are known in full, and do not count in the log loss.
    """
    n, q = truth.shape
    own = slice(0, probabilities.shape[1])
    known = np.ones((n, probabilities.shape[1]), dtype=bool) if observed is None else observed[:, own]
    entries = int(known.sum())
    loss = log_loss(probabilities[known], truth[:, own][known]) * entries if entries else 0.0
    full = slice(None) if observed is None else observed.all(1)
    ranked = padded(probabilities, q, -1.0)[full]
    cuts = [k for k in STREAM_PRECISION_AT if k <= probabilities.shape[1] and len(ranked)]
    hits = [precision_at(ranked, truth[full], k) * len(ranked) if k in cuts else 0.0 for k in STREAM_PRECISION_AT]
    rows = [len(ranked) if k in cuts else 0 for k in STREAM_PRECISION_AT]
    return Score(loss=loss, entries=entries, top_hits=np.array(hits), top_rows=np.array(rows, dtype=float))


class RunningShares:
    """Share of rows that have each label, counted from behind its first appearance; with a half-life, of recent rows.

    To count from there, and not the first appearance itself, is right for rare labels and for new ones. The rows before
    it say how rare a rare label is; of a new one they only say that it had not begun.
    """

    def __init__(self, half_life: float | None = None) -> None:
        self.half_life = half_life
        self.positives, self.answers = np.zeros(0), np.zeros(0)  # (q,)
        self.seen: BoolArray = np.zeros(0, dtype=bool)  # (q,)

    def add(self, truth: BoolArray, observed: BoolArray | None) -> None:
        n, q = truth.shape
        self.positives, self.answers, self.seen = (padded(a, q) for a in (self.positives, self.answers, self.seen))
        first = np.where(self.seen, -1, np.where(truth.any(0), truth.argmax(0), n))  # (q,)
        counted = np.arange(n)[:, None] > first  # (n, q)
        if observed is not None:
            counted &= observed
        keep = 1.0 if self.half_life is None else 0.5 ** (n / self.half_life)
        self.positives = keep * self.positives + (truth & counted).sum(0)
        self.answers = keep * self.answers + counted.sum(0)
        self.seen |= truth.any(0)

    def shares(self, q: int) -> FloatArray:
        """(q,) with 0 for labels that nobody has seen twice."""
        return padded(self.positives / np.maximum(self.answers, 1e-300), q)

    def to_json(self) -> dict[str, Any]:
        lists = {name: getattr(self, name).tolist() for name in ("positives", "answers", "seen")}
        return {"half_life": self.half_life, **lists}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Self:
        made = cls(found["half_life"])
        made.positives, made.answers = np.array(found["positives"], float), np.array(found["answers"], float)
        made.seen = np.array(found["seen"], dtype=bool)
        return made


class Judge:
    """Collects predictions until a window is full, then decides on label sets and scores them."""

    def __init__(self, rule: StreamRule, shares: FloatArray) -> None:
        self._rule, self._shares = rule, shares  # the shares before the window: those inside are what is asked for
        self._beliefs: list[FloatArray] = []
        self._truths: list[tuple[BoolArray, BoolArray | None]] = []
        self._score = Score()

    def add(self, probabilities: FloatArray, truth: BoolArray, observed: BoolArray | None) -> None:
        """A batch that is yet to be learnt."""
        self._score += belief_score(probabilities, truth, observed)
        self._beliefs.append(probabilities.astype(np.float32))
        self._truths.append((truth, observed))

    def close(self) -> Score:
        """The score of the window, which must not be empty."""
        q = max(truth.shape[1] for truth, _ in self._truths)
        p = np.vstack([padded(block, q) for block in self._beliefs])
        sets = self._rule.decide(MarginalPosterior(p), padded(self._shares, q))
        score, start = self._score, 0
        for truth, observed in self._truths:
            stop, width = start + len(truth), truth.shape[1]
            score += set_score(sets[start:stop, :width], truth, observed)
            start = stop
        return replace(score, rows=start)


def padded(values: npt.NDArray[Any], width: int, value: float = 0.0) -> npt.NDArray[Any]:
    """The last axis widened to `width` entries."""
    missing = max(0, width - values.shape[-1])
    return np.pad(values, [*[(0, 0)] * (values.ndim - 1), (0, missing)], constant_values=value)


def _sum(one: Counts, other: Counts) -> Counts:
    width = max(len(one), len(other))
    return padded(one, width) + padded(other, width)
