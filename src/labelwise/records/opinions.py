"""What others say of the items: a language model, an older classifier, rules, a spreadsheet. Never taken as answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.numerics.blocks import KINDS
from labelwise.records.asking import IN_WORDS

Scores = Mapping[str, float]


@dataclass(frozen=True)
class Opinions:
    """Scores of (item, label) pairs by one source: 0 says no, 1 says yes, one half says nothing.

    Parameters
    ----------
    name : str
        Of the source, as people will see it.
    scores : mapping of item ids to what is said of the item
        A mapping of label names to scores in [0, 1], True or False. Or a list of the labels that the item has: it then
        has none of the others. Items that are left out, labels that a mapping leaves out, None and NaN: nothing is said
        of them.

    Examples
    --------
    >>> Opinions("rules", {"doc1": ["sports"], "doc2": {"sports": 0.2, "politics": 0.9}}).items
    ('doc1', 'doc2')
    """

    name: str
    scores: Mapping[str, Scores | tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        name = self.name
        if not isinstance(name, str) or not name.strip() or name != name.strip() or not name.isprintable():
            raise ValueError(f"opinions need a name without blanks around it, got {name!r}")
        if name in IN_WORDS or name in KINDS:
            raise ValueError(f"{name!r} cannot be the name of opinions: it has a meaning of its own; take another")
        if not isinstance(self.scores, Mapping):
            raise TypeError(
                f"opinions {name!r} must map item ids to labels or scores, got {type(self.scores).__name__}"
            )
        said = {str(item): _checked(name, item, each) for item, each in self.scores.items()}
        object.__setattr__(self, "scores", said)

    @classmethod
    def of(cls, name: str, given: Any, item_ids: Sequence[str], label_names: Sequence[str]) -> Opinions:
        """From a mapping, or from an array (n, q) of scores in the order of the items and labels, NaN for nothing."""
        if isinstance(given, Opinions):
            return given
        if isinstance(given, Mapping):
            return cls(name, given)
        S = given.toarray() if sp.issparse(given) else np.asarray(given, dtype=np.float64)
        if S.shape != (len(item_ids), len(label_names)):
            expected = (len(item_ids), len(label_names))
            raise ValueError(f"opinions {name!r} have shape {S.shape}, expected (items, labels) = {expected}")
        return cls(
            name,
            {item: dict(zip(label_names, row, strict=True)) for item, row in zip(item_ids, S.tolist(), strict=True)},
        )

    @property
    def items(self) -> tuple[str, ...]:
        return tuple(self.scores)

    def labels(self) -> set[str]:
        """Every label that is spoken of by name."""
        return {label for said in self.scores.values() for label in said}

    def check(self, item_ids: Iterable[str], label_names: Sequence[str]) -> None:
        """Raise where they are about items or labels that are not there."""
        for what, known, spoken in (("item", set(item_ids), self.items), ("label", set(label_names), self.labels())):
            strange = sorted(name for name in spoken if name not in known)
            if strange:
                close = get_close_matches(strange[0], list(known)[:10_000], n=1)
                hint = f"; did you mean {close[0]!r}?" if close else ""
                more = f" and {len(strange) - 1} more" if len(strange) > 1 else ""
                raise ValueError(
                    f"opinions {self.name!r} speak of the {what} {strange[0]!r}{more}, which is not there{hint}"
                )

    def columns(self, item_ids: Sequence[str], label_names: Sequence[str]) -> sp.csr_array:
        """(n, q) 2 s − 1 of each score s: 1 says yes, −1 says no, and 0, which is not stored, says nothing."""
        self.check(item_ids, label_names)
        place = {name: column for column, name in enumerate(label_names)}
        columns: list[int] = []
        values: list[float] = []
        ends = [0]
        everything = range(len(label_names))
        for item in item_ids:
            said = self.scores.get(item, {})
            if isinstance(said, Mapping):
                columns += [place[label] for label in said]
                values += [2 * score - 1 for score in said.values()]
            else:
                there = {place[label] for label in said}
                columns += everything
                values += [1.0 if column in there else -1.0 for column in everything]
            ends.append(len(columns))
        shape = (len(item_ids), len(label_names))
        found = sp.csr_array((np.array(values, dtype=np.float64), np.array(columns, dtype=np.int32), ends), shape=shape)
        found.sort_indices()
        found.eliminate_zeros()
        return found


def check_opinion_name(name: str, blocks: Iterable[str]) -> None:
    """Raise where the features of the items have a block of this name."""
    if name in set(blocks):
        raise ValueError(f"opinions cannot be called {name!r}: features of the items are; take another name")


def column_name(source: str, label: str) -> str:
    """What the column is called that holds the opinions of a source on a label."""
    return f"{source}: {label}"


def by_label(columns: Any, names: Sequence[str], source: str, label_names: Sequence[str]) -> sp.csr_array:
    """(n, q) columns with these names in the order of the labels; 0 for labels that were added later."""
    place = {each: column for column, each in enumerate(names)}
    wanted = [place.get(column_name(source, label), -1) for label in label_names]
    X = sp.csr_array(columns)
    said = sp.csr_array(sp.hstack([X, sp.csr_array((X.shape[0], 1))], format="csr"))
    return sp.csr_array(said[:, wanted])  # the last column is of labels that were added later


def _checked(name: str, item: Any, said: Any) -> Scores | tuple[str, ...]:
    if isinstance(said, str):
        raise TypeError(f"opinions {name!r} on item {item!r} must be a list of labels or a mapping, got {said!r}")
    if not isinstance(said, Mapping):
        labels = tuple(dict.fromkeys(said))
        wrong = next((label for label in labels if not isinstance(label, str)), None)
        if wrong is not None:
            raise TypeError(f"opinions {name!r} on item {item!r} must list names of labels, got {wrong!r}")
        return labels
    scores: dict[str, float] = {}
    for label, score in said.items():
        if score is None:
            continue
        if not isinstance(score, Real | np.bool_):
            raise TypeError(f"opinions {name!r} on item {item!r}, label {label!r}: a score is a number, got {score!r}")
        number = float(score)
        if number != number:  # NaN: nothing is said
            continue
        if not 0 <= number <= 1:
            raise ValueError(
                f"opinions {name!r} on item {item!r}, label {label!r}: a score lies in [0, 1], got {number!r}; "
                "turn log-odds or percentages into probabilities first"
            )
        scores[str(label)] = number
    return scores
