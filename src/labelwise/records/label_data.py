"""The frozen records that cross borders: what is known of the items, what is asked, what is answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.numerics.blocks import OPINIONS, Block, Kind, blocks_in_words, check_blocks, in_shards, join_columns
from labelwise.numerics.user_input import as_numbers, is_frame, sparse_labels
from labelwise.records.label_tree import LabelTree
from labelwise.records.labels import Label, as_labels
from labelwise.records.opinions import Opinions, by_label, check_opinion_name, column_name
from labelwise.views.html import data_frame, of_data

SHOWN = 5  # labels in a repr
LOOKED_AT = 1000  # rows of features in shards by which they are taken for words or numbers
Features: TypeAlias = Any  # (n, d) float array, csr_array or rows in shards: scipy brings no types to tell them apart


@dataclass(frozen=True, eq=False, repr=False)
class LabelData:
    """Items, their features, and their known labels. `LabelData.from_arrays` builds one from what users usually hold.

    Parameters
    ----------
    X : (n, d) array or csr_array of float, or `labelwise.data.ShardedFeatures`
        Features, finite. Those in shards are checked when they are read.
    Y : (n, q) csr_array of bool
        True where the label is known to be present. Never True where the entry is not observed.
    observed : (n, q) csr_array of bool, or None
        True where the label was answered, yes or no. None means that every entry is known. Explicit False and repeated
        entries are removed from both, so that counting their entries counts labels.
    item_ids, label_names : tuples of unique str
    feature_names : tuple of str, or None
    items : tuple, or None
        What to show a person for each item: a text, a path, a mapping of fields.
    labels : tuple of Label
        What the labels mean, in the order of `label_names`. A label that nobody described has only a name.
    blocks : tuple of Block
        Columns of X of different kinds: words, vectors, numbers, categories, opinions. Empty: all are of one kind.
        Models see every block but opinions, which only hints read.
    implies_parent : bool
        Whether a label implies its parent (see `Label.parent`). Known labels are completed, a yes to those above, a no
        to those below; where both were said of an item, yes wins. Campaigns then keep to it.

    Examples
    --------
    >>> data = LabelData.from_arrays([[0.0, 1.0], [1.0, 0.0]], [[1, float("nan")], [0, 1]], label_names=["cat", "dog"])
    >>> data.n_items, data.n_labels, data.n_observed, data.hide().n_observed
    (2, 2, 3, 0)
    """

    X: Features
    Y: sp.csr_array
    observed: sp.csr_array | None
    item_ids: tuple[str, ...]
    label_names: tuple[str, ...]
    feature_names: tuple[str, ...] | None = None
    items: tuple[Any, ...] | None = None
    labels: tuple[Label, ...] = ()
    blocks: tuple[Block, ...] = ()
    implies_parent: bool = False
    _repr_html_, to_frame = of_data, data_frame

    def __post_init__(self) -> None:
        n, d = self.X.shape
        q = len(self.label_names)
        for what, names, size, of in (
            ("item_ids", self.item_ids, n, "rows"),
            ("items", self.items, n, "rows"),
            ("feature_names", self.feature_names, d, "columns"),
        ):
            if names is not None and len(names) != size:
                raise ValueError(f"{what} has {len(names)} entries, but X has {size} {of}")
        check_unique("item id", self.item_ids)
        check_unique("label name", self.label_names)
        object.__setattr__(self, "labels", _by_name(self.labels, self.label_names))
        object.__setattr__(self, "blocks", tuple(self.blocks))
        check_blocks(self.blocks, d)
        if not in_shards(self.X):
            _check_finite(self.X)
        object.__setattr__(self, "Y", _tidy("Y", self.Y, (n, q)))
        if self.observed is not None:
            object.__setattr__(self, "observed", _tidy("observed", self.observed, (n, q)))
            self._check_nothing_stray()
        tree = self.tree()
        if tree is not None:
            Y, observed = tree.close_sparse(self.Y, self.observed)
            object.__setattr__(self, "Y", _tidy("Y", Y, (n, q)))
            object.__setattr__(self, "observed", None if observed is None else _tidy("observed", observed, (n, q)))

    def _check_nothing_stray(self) -> None:
        stray = self.Y.astype(np.int8) - self.Y.multiply(self.observed).astype(np.int8)
        if stray.count_nonzero():
            row, column = (int(i[0]) for i in stray.nonzero())
            raise ValueError(
                f"Y is True at item {self.item_ids[row]!r}, label {self.label_names[column]!r}, "
                "which observed says was never answered; mark it as observed or clear it"
            )

    def __repr__(self) -> str:
        entries = self.n_items * self.n_labels
        known = f"{self.n_observed / entries:.0%} known" if entries else "nothing known"
        names = ", ".join(map(repr, self.label_names[:SHOWN])) + (", ..." if self.n_labels > SHOWN else "")
        return f"LabelData({self.n_items} items, {self.n_features} features, {self.n_labels} labels ({names}), {known})"

    @classmethod
    def from_arrays(  # noqa: PLR0913 (every part by its name)
        cls,
        X: Any,
        Y: Any = None,
        *,
        observed: Any = None,
        item_ids: Iterable[Any] | None = None,
        label_names: Iterable[str] | None = None,
        feature_names: Iterable[str] | None = None,
        items: Sequence[Any] | None = None,
        labels: Iterable[Any] | None = None,
        blocks: Iterable[Block] = (),
        implies_parent: bool = False,
    ) -> LabelData:
        """Build from dense arrays, sparse matrices or data frames; NaN in a dense Y, or Y=None, means unknown.

        `labels` may be given instead of `label_names`: `Label` records, mappings of their fields, or one mapping
        of names to descriptions. Entries of Y that `observed` hides are dropped. Ids and names that are not given come
        from data frames. Two data frames must have the same index, because rows are matched by position.
        """
        described = None if labels is None else as_labels(labels)
        if described is not None:
            label_names = [label.name for label in described] if label_names is None else label_names
        if label_names is None and hasattr(Y, "columns"):
            label_names = Y.columns
        if feature_names is None and hasattr(X, "columns"):
            feature_names = X.columns
        if is_frame(X) and is_frame(Y) and not X.index.equals(Y.index):
            raise ValueError("X and Y have different indices; use Y.reindex(X.index), or Y.to_numpy() if rows do match")
        if item_ids is None and is_frame(X):
            item_ids = X.index
        features = as_features(X)
        names = None if label_names is None else _checked_names(label_names)
        if Y is None:
            if names is None:
                raise ValueError("without Y, label_names must list the labels to learn")
            Y = sp.csr_array((features.shape[0], len(names)), dtype=bool)
            observed = sp.csr_array(Y.shape, dtype=bool) if observed is None else observed
        present, mask = sparse_labels(Y, observed)
        built = cls(
            X=features,
            Y=present,
            observed=mask,
            item_ids=tuple(map(str, range(features.shape[0]) if item_ids is None else item_ids)),
            label_names=names if names is not None else tuple(f"label_{j}" for j in range(present.shape[1])),
            feature_names=None if feature_names is None else tuple(map(str, feature_names)),
            items=None if items is None else tuple(items),
            blocks=tuple(blocks),
        )
        built = built if described is None else built.with_labels(described)
        return replace(built, implies_parent=implies_parent) if implies_parent else built

    def tree(self) -> LabelTree | None:
        """Which label implies which; None where none does."""
        tree = LabelTree.of(self.labels) if self.implies_parent else None
        return None if tree is None or tree.is_flat else tree

    @property
    def n_items(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_labels(self) -> int:
        return len(self.label_names)

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def n_observed(self) -> int:
        """Number of known entries among the n × q."""
        return self.n_items * self.n_labels if self.observed is None else int(self.observed.count_nonzero())

    @property
    def cardinality(self) -> float:
        """Mean number of labels known to be present on an item."""
        return float(self.Y.count_nonzero() / max(self.n_items, 1))

    def take(self, rows: npt.ArrayLike) -> LabelData:
        """The items at these positions, in this order."""
        rows = np.atleast_1d(np.asarray(rows))
        picked = np.arange(self.n_items)[rows if rows.size else rows.astype(np.intp)]  # [] is an array of float
        return replace(
            self,
            X=self.X[picked],
            Y=self.Y[picked],
            observed=None if self.observed is None else self.observed[picked],
            item_ids=tuple(self.item_ids[i] for i in picked.tolist()),
            items=None if self.items is None else tuple(self.items[i] for i in picked.tolist()),
        )

    def word_counts(self, rows: npt.NDArray[np.intp]) -> npt.NDArray[np.float64]:
        """(r,) words of the items at these positions: of a text, or of the texts of fields; NaN if there are none."""
        if self.items is None:
            return np.full(len(rows), np.nan)
        distinct, place = np.unique(rows, return_inverse=True)
        return np.array([word_count(self.items[row]) for row in distinct.tolist()], dtype=np.float64)[place]

    def hide(self) -> LabelData:
        """The same items with every label unknown: what a campaign starts from."""
        nothing = sp.csr_array(self.Y.shape, dtype=bool)
        return replace(self, Y=nothing, observed=nothing.copy())

    def with_label(self, name: str | Label) -> LabelData:
        """The same items with one more label, the last, unknown for all of them."""
        label = Label.of(name)
        column = sp.csr_array((self.n_items, 1), dtype=bool)
        return replace(
            self,
            Y=sp.hstack([self.Y, column], format="csr"),
            observed=sp.hstack([self.observed_mask(), column], format="csr"),
            label_names=(*self.label_names, label.name),
            labels=(*self.labels, label),
        )

    def with_labels(self, labels: Iterable[Any]) -> LabelData:
        """The same items and labels, described: `labels` has what is known of some or all of the labels, by name.

        >>> data = LabelData.from_arrays([[0.0], [1.0]], label_names=["joy", "fear"])
        >>> data.with_labels({"fear": "being afraid"}).labels[1].description
        'being afraid'
        """
        given = {label.name: label for label in as_labels(labels)}
        strange = [name for name in given if name not in set(self.label_names)]
        if strange:
            raise ValueError(f"there is a description of the label {strange[0]!r}, but no such label")
        return replace(self, labels=tuple(given.get(label.name, label) for label in self.labels))

    def with_block(
        self, X: Any, name: str, kind: Kind, *, feature_names: Iterable[str] | None = None, encoder: str = ""
    ) -> LabelData:
        """The same items with more columns X (n, k), a block of their own behind the others.

        Columns without names are called by the block: "minilm[0]", ... Features that had no blocks become the first
        one: words if sparse, otherwise numbers. Beside shards the new columns stay in memory, as a sparse matrix, or in
        files, as `ShardedFeatures`.

        >>> data = LabelData.from_arrays([[0.0], [1.0]], label_names=["joy"], feature_names=["size"])
        >>> [(block.name, block.kind) for block in data.with_block(np.eye(2), "mine", "vectors").blocks]
        [('numbers', 'numbers'), ('mine', 'vectors')]
        """
        columns = as_features(X)
        if columns.shape[0] != self.n_items:
            raise ValueError(f"block {name!r} has {columns.shape[0]} rows, but there are {self.n_items} items")
        d, width = self.n_features, columns.shape[1]
        if in_shards(columns) and d and not in_shards(self.X):
            raise ValueError(
                f"block {name!r} is in shards, but the features so far are in memory: read both from shards"
            )
        kind_so_far: Kind = "words" if getattr(self.X, "is_sparse", sp.issparse(self.X)) else "numbers"
        blocks = self.blocks or ((Block(kind_so_far, kind_so_far, 0, d),) if d else ())
        named = None
        if self.feature_names is not None or feature_names is not None:
            own = [f"{name}[{k}]" for k in range(width)] if feature_names is None else list(map(str, feature_names))
            named = (*(self.feature_names or (f"x{column}" for column in range(d))), *own)
        return replace(
            self,
            X=self.X.with_columns(columns) if in_shards(self.X) else join_columns([self.X, columns][not d :]),
            feature_names=named,
            blocks=(*blocks, Block(name, kind, d, d + width, encoder)),
        )

    def with_opinions(self, name: str, scores: Any) -> LabelData:
        """The same items with what a source says of them: a block of opinions, which hints read and models do not see.

        `scores` is an array (n, q) with NaN where nothing is said, a mapping of item ids to labels or scores, or
        `Opinions`, see there. Opinions of the same name are replaced.

        >>> data = LabelData.from_arrays([[0.0], [1.0]], label_names=["joy", "fear"])
        >>> data.with_opinions("gpt", {"0": ["joy"], "1": {"fear": 0.75}}).opinions("gpt").toarray().tolist()
        [[1.0, -1.0], [0.0, 0.5]]
        """
        said = Opinions.of(name, scores, self.item_ids, self.label_names)
        return self.with_opinion_columns(said.name, said.columns(self.item_ids, self.label_names))

    def with_opinion_columns(self, name: str, columns: sp.csr_array) -> LabelData:
        """The same from what `opinions` gives: (n, q) 1 yes, −1 no, 0 nothing is said."""
        named = [column_name(name, label) for label in self.label_names]
        check_opinion_name(name, (block.name for block in self.blocks if block.kind != OPINIONS))
        before = self.without_opinions(name)
        if not before.blocks and before.n_features:  # as hints take features without blocks: for words, if they can be
            some = self.X[:LOOKED_AT] if in_shards(self.X) else self.X
            is_words = sp.issparse(some) or (self.feature_names is not None and bool((some >= 0).all()))
            kind: Kind = "words" if is_words else "numbers"
            before = replace(before, blocks=(Block(kind, kind, 0, before.n_features),))
        own = columns.toarray() if isinstance(self.X, np.ndarray) and before.n_features else columns
        return before.with_block(own, name, OPINIONS, feature_names=named)

    @property
    def opinion_names(self) -> tuple[str, ...]:
        """The sources that there are opinions of."""
        return tuple(block.name for block in self.blocks if block.kind == OPINIONS)

    def opinions(self, name: str) -> sp.csr_array:
        """(n, q) what a source says: 1 yes, −1 no, between them less surely, and 0 where it says nothing."""
        if name not in self.opinion_names:
            raise ValueError(f"there are no opinions {name!r}; there are {', '.join(self.opinion_names) or 'none'}")
        block = next(block for block in self.blocks if block.name == name)
        names = () if self.feature_names is None else self.feature_names[block.start : block.stop]
        X = self.X.read_columns(block.start, block.stop) if in_shards(self.X) else block.of(self.X)
        return by_label(X, names, name, self.label_names)

    def without_opinions(self, name: str | None = None) -> LabelData:
        """The same items without the opinions of a source, or without any; itself where there are none."""
        gone = {each for each in self.opinion_names if name is None or each == name}
        if not gone:
            return self
        names, left = self.feature_names, [block for block in self.blocks if block.name not in gone]
        kept = np.concatenate([np.empty(0, dtype=np.intp), *(np.arange(b.start, b.stop) for b in left)])
        starts = np.cumsum([0, *(block.width for block in left)]).tolist()
        return replace(
            self,
            X=self.X.only_columns(kept) if in_shards(self.X) else self.X[:, kept],
            feature_names=None if names is None else tuple(names[column] for column in kept.tolist()),
            blocks=tuple(replace(b, start=at, stop=at + b.width) for b, at in zip(left, starts[:-1], strict=True)),
        )

    def with_items(self, more: LabelData) -> LabelData:
        """These items and then those of `more`, which has the same features and labels."""
        self.check_alike(more)
        all_known = self.observed is None and more.observed is None
        items = None
        if self.items is not None or more.items is not None:
            items = (self.items or (None,) * self.n_items) + (more.items or (None,) * more.n_items)
        return replace(
            self,
            X=_stack(self.X, more.X),
            Y=sp.vstack([self.Y, more.Y], format="csr"),
            observed=None if all_known else sp.vstack([self.observed_mask(), more.observed_mask()], format="csr"),
            item_ids=self.item_ids + more.item_ids,
            items=items,
        )

    def check_alike(self, more: LabelData) -> None:
        """Raise an error if other items have other labels or features than these."""
        _check_same_names("labels", more.label_names, self.label_names)
        if more.n_features != self.n_features:
            raise ValueError(f"the new items have {more.n_features} features, expected {self.n_features}")
        if self.feature_names is not None and more.feature_names is not None:
            _check_same_names("features", more.feature_names, self.feature_names)
        if more.blocks and self.blocks and more.blocks != self.blocks:
            raise ValueError(
                f"the new items have {blocks_in_words(more.blocks)}, expected {blocks_in_words(self.blocks)}: "
                "make their features alike"
            )

    def observed_mask(self) -> sp.csr_array:
        """The mask as a matrix even when everything is observed (then it has n × q entries)."""
        return sp.csr_array(np.ones(self.Y.shape, dtype=bool)) if self.observed is None else self.observed


def word_count(item: Any) -> float:
    """The words of what is shown of an item: a text, or the texts of its fields; NaN where there is none."""
    texts = [text for text in (item.values() if isinstance(item, Mapping) else (item,)) if isinstance(text, str)]
    return float(sum(len(text.split()) for text in texts)) if texts else float("nan")


def as_features(X: Any) -> Features:
    """X as a 2-D float array or csr_array, float32 and float64 kept."""
    if in_shards(X):
        return X
    X = X if sp.issparse(X) else as_numbers("X", X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions (items, features), got shape {X.shape}")
    X = sp.csr_array(X) if sp.issparse(X) else X
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


def features_by_name(X: Any, names: Sequence[str] | None, width: int, given: Sequence[Any] | None = None) -> Features:
    """X as features in the order of these names; its own are `given`, or the columns of a data frame. Where either has
    no names, or X has only numbers for names, the width has to fit.

    >>> features_by_name([[1.0, 2.0]], names=["size", "age"], width=2, given=["age", "size"])
    array([[2., 1.]])
    """
    columns, features = list(getattr(X, "columns", ()) if given is None else given), as_features(X)
    named = [str(name) for name in columns]
    if names is None or not columns or (columns == list(range(len(columns))) and named != list(names)):
        if features.shape[1] != width:
            raise ValueError(f"X has {features.shape[1]} features, expected {width}")
        return features
    return features if named == list(names) else features[:, _column_order(named, names)]


def _column_order(given: Sequence[str], expected: Sequence[str]) -> list[int]:
    """Where each expected column is; any that is missing, unexpected or there twice is refused."""
    place, wanted = {name: column for column, name in enumerate(given)}, set(expected)
    twice = sorted(name for name, times in Counter([*given]).items() if times > 1)
    missing, extra = [n for n in expected if n not in place], [n for n in given if n not in wanted]
    wrong = [
        f"{what} {', '.join(map(repr, names[:SHOWN]))}{', ...' if len(names) > SHOWN else ''}"
        for what, names in (("more than one", twice), ("no", missing), ("an unexpected", extra))
        if names
    ]
    if wrong or len(wanted) < len(expected):
        raise ValueError(
            f"X has {'; '.join(wrong) or 'columns that cannot be told apart by name'}: rename, add or drop columns "
            f"until it has each of the {len(expected)} features once, in any order"
        )
    return [place[name] for name in expected]


def check_unique(what: str, names: Sequence[str]) -> None:
    """Raise on the first name that stands twice.

    >>> check_unique("label", ["cat", "dog", "cat"])
    Traceback (most recent call last):
    ValueError: label 'cat' is given twice, at positions 0 and 2; make it unique
    """
    if len(set(names)) == len(names):
        return
    seen: dict[str, int] = {}
    for position, name in enumerate(names):
        if name in seen:
            raise ValueError(
                f"{what} {name!r} is given twice, at positions {seen[name]} and {position}; make it unique"
            )
        seen[name] = position


def _checked_names(names: Iterable[Any]) -> tuple[str, ...]:
    if isinstance(names, str):
        raise ValueError(f"label_names must be a list of names, got {names!r}; write [{names!r}]")
    listed = tuple(map(str, names))
    if not all(listed):
        raise ValueError(f"every label needs a name, got {list(listed)!r}")
    return listed


def _by_name(labels: Iterable[Label], names: tuple[str, ...]) -> tuple[Label, ...]:
    """What is known of the labels with these names; a name that nobody described stands for itself."""
    known = {label.name: label for label in labels}
    return tuple(known.get(name) or Label(name) for name in names)


def _check_same_names(what: str, got: tuple[str, ...], expected: tuple[str, ...]) -> None:
    if got == expected:
        return
    odd = sorted(set(got) ^ set(expected))
    detail = f"only one side has {odd[:5]}" if odd else "they are the same in another order"
    raise ValueError(f"the new items have {len(got)} {what}, expected {len(expected)}: {detail}")


def _check_shape(what: str, got: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if tuple(got) != expected:
        raise ValueError(f"{what} has shape {tuple(got)}, expected (items, labels) = {expected}")


def _tidy(what: str, mask: Any, shape: tuple[int, int]) -> sp.csr_array:
    """The same mask as csr_array with sorted columns, without explicit False and repeats; never changed in place."""
    if not sp.issparse(mask) or mask.dtype != bool:
        kind = f"{type(mask).__name__} of {getattr(mask, 'dtype', 'unknown type')}"
        raise TypeError(f"{what} must be a sparse array of bool, got {kind}; LabelData.from_arrays converts it")
    _check_shape(what, mask.shape, shape)
    mask = sp.csr_array(mask)
    if not (mask.has_canonical_format and mask.data.all()):
        mask = mask.copy()
        mask.sum_duplicates()
        mask.eliminate_zeros()
    return mask


def _stack(X: Features, more: Features) -> Features:
    """Rows of `more` under those of X, sparse or dense as X is; in shards if X is."""
    if in_shards(X):
        return X.append(more)
    if in_shards(more):
        raise ValueError("items in shards cannot be added to a pool in memory: read the pool from shards, too")
    if sp.issparse(X):
        return sp.vstack([X, sp.csr_array(more)], format="csr")
    return np.vstack([X, more.toarray() if sp.issparse(more) else more])


def _check_finite(X: Features) -> None:
    values = X.data if sp.issparse(X) else X
    wrong = ~np.isfinite(values)
    if wrong.any():
        entries = sp.coo_array(X) if sp.issparse(X) else None
        rows, columns = np.nonzero(wrong) if entries is None else (entries.row[wrong], entries.col[wrong])
        raise ValueError(f"X has NaN or infinity at row {rows[0]}, column {columns[0]}; fill or drop it first")
