"""Decision rules by name, for streams: on a window of rows, and on a whole file in one or two passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from labelwise.decisions import ClassMass, Decision, ExpectedF1, LabelTally, Threshold, TopLabels
from labelwise.posterior import BoolArray, FloatArray, LabelPosterior

NAMES = ("class_mass", "expected_f1", "expected_f1_per_item", "threshold", "top_labels")
TWO_PASSES = ("class_mass", "expected_f1")  # which label an item gets depends on all other items


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
        if name not in NAMES or (colon and name not in ("threshold", "top_labels")):
            raise ValueError(
                f"there is no decision {text!r}; there are {', '.join(NAMES)}, and threshold:0.3, top_labels:5"
            )
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
        return 2 if self.name in TWO_PASSES else 1

    def decide(self, posterior: LabelPosterior, shares: FloatArray) -> BoolArray:
        """The label sets of a window; labels without a share were never seen and are not predicted by their share."""
        rule: Decision = self.per_item() if self.passes == 1 else self._on_window(shares)
        return rule.decide(posterior)

    def _on_window(self, shares: FloatArray) -> Decision:
        return ClassMass(shares) if self.name == "class_mass" else ExpectedF1(known_labels=shares > 0)

    def per_item(self) -> Decision:
        """The rule itself, where it looks at one item at a time."""
        value: Any = self.value
        if self.name == "threshold":
            return Threshold(value)
        return TopLabels(value) if self.name == "top_labels" else ExpectedF1(average="samples")

    def over_stream(self, tally: LabelTally, shares: FloatArray) -> Decision:
        """The rule for the second pass over a file whose first pass was counted."""
        return tally.class_mass(shares) if self.name == "class_mass" else tally.expected_f1(known_labels=shares > 0)
