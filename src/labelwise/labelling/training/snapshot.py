"""What was believed and known of every item when the worker last wrote it down: so that a page needs no model."""

from __future__ import annotations

import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from labelwise.files import writing
from labelwise.labelling.store import Store
from labelwise.labelling.training.derived import SNAPSHOT, DerivedReader

if TYPE_CHECKING:
    from labelwise.labelling.training.learner import Learner

AT_ONCE = 4096  # items whose beliefs are asked for in one go
MOST_ENTRIES = 60_000_000  # items × labels beyond which beliefs are not written: they would fill the memory of a page


@dataclass(frozen=True, eq=False)
class Snapshot:
    """Items and labels by number; row i of every array about items is `items[i]`, column j is `labels[j]`.

    Attributes
    ----------
    items, labels : (n,) and (q,), rising
    probabilities : (n, q) float16, NaN of labels of which nothing is believed; (0, q) where that is all of them, or
        where there are too many
    predicted : (n, ⌈q / 8⌉) the label sets of the campaign's decision, as bits, see `label_sets`; (0, ...) likewise
    uncertainty : (n,) bits that are open: the entropy of the labels not known yet, summed
    rows, codes : (m,) the rows of items that anything is known of, and (m, q) what: 1, 0, -1 for unknown
    seen : the last event and the last change it follows from
    at : when, in seconds since 1970
    """

    items: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]
    probabilities: npt.NDArray[np.float16]
    predicted: npt.NDArray[np.uint8]
    uncertainty: npt.NDArray[np.float32]
    rows: npt.NDArray[np.int64]
    codes: npt.NDArray[np.int8]
    seen: npt.NDArray[np.int64]
    at: npt.NDArray[np.float64]

    def __len__(self) -> int:
        return self.items.size

    @property
    def has_beliefs(self) -> bool:
        return self.probabilities.shape[0] > 0

    def label_sets(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.bool_]:
        """(k, q) the predicted sets of these rows; what was answered since is not in them."""
        return np.unpackbits(self.predicted[rows], axis=1, count=self.labels.size).astype(bool)

    def save(self, path: Path) -> None:
        """Write one file, which takes its name only once it is complete."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with writing(path) as file:
            np.savez(file, **{each.name: getattr(self, each.name) for each in fields(self)})

    @classmethod
    def load(cls, path: Path) -> Snapshot:
        with np.load(path, allow_pickle=False) as stored:
            return cls(**{each.name: stored[each.name] for each in fields(cls)})


def snapshot_reader(store: Store) -> DerivedReader[Snapshot]:
    """The latest snapshot of a project."""
    return DerivedReader(store, SNAPSHOT, Snapshot.load)


def take_snapshot(learner: Learner) -> Snapshot:
    """What the learner believes and knows now."""
    n, q = len(learner.items.ids), len(learner.labels.ids)
    rows, codes = learner.history.table(learner.items.ids)
    kept = 0 if not learner.believes or n * q > MOST_ENTRIES else n
    probabilities, uncertainty = np.zeros((kept, q), dtype=np.float16), np.zeros(n, dtype=np.float32)
    predicted = np.zeros((kept, -(-q // 8)), dtype=np.uint8)
    open_ = np.ones((n, q) if kept else (0, q), dtype=bool)
    if kept:
        open_[rows] = codes < 0
        beliefs = learner.campaign.believe()
        for start in range(0, n, AT_ONCE):
            part = slice(start, min(start + AT_ONCE, n))
            of_part = beliefs.rows(part)
            p = of_part.probabilities()
            probabilities[part] = np.where(learner.believed_labels(), p, np.nan)
            predicted[part] = np.packbits(learner.campaign.decide(of_part), axis=1)
            uncertainty[part] = (_bits(p) * open_[part]).sum(1)
    return Snapshot(
        items=np.array(learner.items.ids, dtype=np.int64),
        labels=np.array(learner.labels.ids, dtype=np.int64),
        probabilities=probabilities,
        predicted=predicted,
        uncertainty=uncertainty,
        rows=rows.astype(np.int64),
        codes=codes,
        seen=np.array([learner.seen.event, learner.seen.change], dtype=np.int64),
        at=np.array(time.time()),
    )


def _bits(p: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The entropy of yes or no."""
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return -(p * np.log2(p) + (1 - p) * np.log2(1 - p))
