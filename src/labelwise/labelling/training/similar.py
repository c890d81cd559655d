"""Which items are alike, by their vectors or, without, by their words: written by the worker, read by the page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.files import writing

if TYPE_CHECKING:
    from labelwise.labelling.training.learner import Learner

MOST_ENTRIES = 60_000_000  # numbers beyond which it is not written: they would fill the memory of a page


@dataclass(frozen=True, eq=False)
class SimilarItems:
    """Features of all items in rows of unit length, so that an inner product is a cosine.

    Attributes
    ----------
    items : (n,) their numbers
    rows : (n, d) csr_array or array of float32
    """

    items: npt.NDArray[np.int64]
    rows: Any

    @classmethod
    def of(cls, learner: Learner) -> SimilarItems:
        """The items of a project: by vectors if they have any, otherwise by words, or by standardised numbers."""
        from sklearn.preprocessing import StandardScaler, normalize  # a page that only reads opens without it

        X, made = learner.X, learner.featurizer
        blocks = () if made.spec["kind"] == "images" and not made.has_vectors else made.blocks()  # both histograms
        chosen = next((block for kind in ("vectors", "words") for block in blocks if block.kind == kind), None)
        X = X if chosen is None else chosen.of(X)
        if chosen is None and made.spec["kind"] == "numbers" and not sp.issparse(X):
            X = StandardScaler().fit_transform(X)
        return cls(np.array(learner.items.ids, dtype=np.int64), normalize(X).astype(np.float32))

    def scores(self, item: int) -> npt.NDArray[np.float32]:
        """(n,) cosines between an item, by its number, and all others; (0,) where the item is not among them."""
        row = np.flatnonzero(self.items == item)
        if not row.size:
            return np.zeros(0, dtype=np.float32)
        one = self.rows[row]
        return np.asarray((self.rows @ one.T).toarray() if sp.issparse(one) else self.rows @ one.T)[:, 0]

    def save(self, path: Path) -> None:
        """Write one file, which takes its name only once it is complete; nothing where it would be too large."""
        rows = self.rows
        if (rows.nnz if sp.issparse(rows) else rows.size) > MOST_ENTRIES:
            path.unlink(missing_ok=True)
            return
        parts: dict[str, Any] = {"dense": rows} if not sp.issparse(rows) else {"data": rows.data}
        parts = {name: values.astype(np.float16) for name, values in parts.items()}
        if sp.issparse(rows):
            parts |= {"indices": rows.indices, "indptr": rows.indptr, "shape": rows.shape}
        path.parent.mkdir(parents=True, exist_ok=True)
        with writing(path) as file:
            np.savez(file, items=self.items, **parts)

    @classmethod
    def load(cls, path: Path) -> SimilarItems:
        with np.load(path, allow_pickle=False) as stored:
            if "dense" in stored:
                return cls(stored["items"], stored["dense"].astype(np.float32))
            parts = (stored["data"].astype(np.float32), stored["indices"], stored["indptr"])
            return cls(stored["items"], sp.csr_array(parts, shape=tuple(stored["shape"].tolist())))
