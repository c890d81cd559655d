"""What a campaign pays: for every item read, and for every yes or no."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import Self

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Costs:
    """The prices of reading an item and of answering for one of its labels, in any one currency.

    A person who reads a document pays for the reading and a little for each label; a clinic pays per label. Strategies
    weigh what a question is worth against its price, campaigns and reports sum up what was paid.

    Parameters
    ----------
    read : float
        Of reading an item, whatever is then asked about it. Answers about one item that follow one another are one
        reading.
    answer : float
        Of one yes or no.
    labels : mapping of label names to prices, or (q,) prices in the order of the labels, optional
        Labels whose answers have a price of their own; the others of a mapping cost `answer`.

    Examples
    --------
    >>> Costs(read=5).total(readings=2, answers=[3, 3])
    16.0
    >>> Costs(read=1, labels={"biopsy": 80}).of_labels(["fever", "biopsy"]).prices(2)
    array([ 1., 80.])
    """

    read: float = 0.0
    answer: float = 1.0
    labels: Mapping[str, float] | Sequence[float] | None = None

    def __post_init__(self) -> None:
        if not (self.read >= 0 and isfinite(self.read)):
            raise ValueError(f"the cost of reading an item must be 0 or more, got {self.read!r}")
        named = self.labels if isinstance(self.labels, Mapping) else dict(enumerate(self.labels or ()))
        for name, price in {"an answer": self.answer, **{f"label {name!r}": p for name, p in named.items()}}.items():
            if not (price > 0 and isfinite(price)):
                raise ValueError(f"the cost of {name} must be more than 0, got {price!r}")

    def of_labels(self, names: Iterable[str]) -> Self:
        """The same with the prices of these labels in their order; a price for a label that is not there is refused."""
        names = list(names)
        if not isinstance(self.labels, Mapping):
            self.prices(len(names))
            return self
        unknown = [name for name in self.labels if name not in set(names)]
        if unknown:
            raise ValueError(f"there is a cost for the label {unknown[0]!r}, but no such label")
        return replace(self, labels=tuple(self.labels.get(name, self.answer) for name in names))

    def prices(self, n_labels: int) -> npt.NDArray[np.float64]:
        """(q,) the price of an answer to each label."""
        if isinstance(self.labels, Mapping):
            raise ValueError("costs by label names need the names: use costs.of_labels(names)")
        if self.labels is None:
            return np.full(n_labels, float(self.answer))
        if len(self.labels) != n_labels:
            raise ValueError(f"there are costs of {len(self.labels)} labels, but {n_labels} labels")
        return np.array(self.labels, dtype=np.float64)

    def total(self, readings: int, answers: npt.ArrayLike) -> float:
        """What so many readings and so many answers to each label, (q,), cost."""
        counts = np.asarray(answers)
        return float(self.read * readings + counts @ self.prices(counts.size))


@dataclass(frozen=True)
class Spent:
    """What was paid so far: distinct items, readings of them, single answers, and the sum of their prices."""

    items: int
    readings: int
    answers: int
    cost: float
