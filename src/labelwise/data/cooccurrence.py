"""How often labels occur together: counted in another labelled set, in texts, or read from a csv."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.data.errors import FormatError, shown
from labelwise.data.formats.cells import escape_formula, unescape_formula
from labelwise.data.reading import text_lines
from labelwise.files import AnyPath, writing
from labelwise.records import LabelData, check_unique

FloatArray = npt.NDArray[np.floating[Any]]
HEADER = ["label", "other", "count"]


@dataclass(frozen=True, eq=False)
class Cooccurrence:
    """Counts of items that carry both of two labels; on the diagonal, of items that carry the label.

    Parameters
    ----------
    names : labels, unique
    counts : (q, q) array
        Symmetric, 0 or more, NaN where unknown.
    n_items : float, optional
        Items, documents or windows that were counted.
    asked : (q, q) array, optional
        Items that carry the row's label and were asked about the column's, for sets with partial answers; by default
        all that carry it. A csv does not keep them.

    Examples
    --------
    >>> data = LabelData.from_arrays(np.eye(3), [[1, 1], [1, 0], [0, 1]], label_names=["cats", "dogs"])
    >>> found = Cooccurrence.from_labels(data)
    >>> found.counts
    array([[2., 1.],
           [1., 2.]])
    >>> found.align(["dogs", "birds", "cats"]).without_counts()
    ('birds',)
    >>> found.shares_of("dogs")
    {'cats': 0.5}
    """

    names: tuple[str, ...]
    counts: FloatArray
    n_items: float | None = None
    asked: FloatArray | None = None

    def __post_init__(self) -> None:
        check_unique("label name", self.names)
        counts = np.array(self.counts, dtype=np.float64)
        q = len(self.names)
        if counts.shape != (q, q):
            raise ValueError(f"counts has shape {counts.shape}, expected {(q, q)} for {q} names")
        if (counts < 0).any() or np.isinf(counts).any():
            raise ValueError("counts must be 0 or more, and NaN where unknown")
        if not np.allclose(counts, counts.T, equal_nan=True):
            raise ValueError("counts must be symmetric: the items with a and b are those with b and a")
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)

    @classmethod
    def from_labels(cls, data: LabelData) -> Cooccurrence:
        """Counted in a labelled set, over the items where both labels are known; NaN where there is none."""
        Y = sp.csr_array(data.Y, dtype=np.float64)
        counts = (Y.T @ Y).toarray()
        if data.observed is None:
            return cls(data.label_names, counts, float(data.n_items))
        known = sp.csr_array(data.observed, dtype=np.float64)
        counts[(known.T @ known).toarray() == 0] = np.nan
        return cls(data.label_names, counts, float(data.n_items), (Y.T @ known).toarray())

    @property
    def totals(self) -> FloatArray:
        """(q,) items that carry each label."""
        return self.counts.diagonal()

    def align(self, label_names: Iterable[str]) -> Cooccurrence:
        """The counts in the order of these labels, as models want them; NaN for labels that are not in here."""
        names = tuple(label_names)
        place = {name: j for j, name in enumerate(self.names)}
        mine = np.array([place.get(name, -1) for name in names], dtype=np.intp)
        found = np.flatnonzero(mine >= 0)

        def placed(values: FloatArray) -> FloatArray:
            aligned = np.full((len(names), len(names)), np.nan)
            aligned[np.ix_(found, found)] = values[np.ix_(mine[found], mine[found])]
            return aligned

        asked = None if self.asked is None else placed(self.asked)
        return Cooccurrence(names, placed(self.counts), self.n_items, asked)

    def without_counts(self) -> tuple[str, ...]:
        """Labels that occur with no other, or of which that is unknown: nothing can be learnt of them from here."""
        off = np.nan_to_num(self.counts).copy()
        np.fill_diagonal(off, 0.0)
        return tuple(name for name, row in zip(self.names, off, strict=True) if not row.any())

    def shares_of(self, name: str) -> dict[str, float]:
        """For every other label, the share of its items that carry this one: what `campaign.add_label(like=...)` takes.

        Of the items that were asked about this one, where answers are partial. Labels that were never counted are left
        out.
        """
        if name not in self.names:
            raise ValueError(f"there are no counts of label {name!r}")
        at = self.names.index(name)
        row, totals = self.counts[at], self._asked()[:, at]
        known = ~np.isnan(row) & (totals > 0)
        known[at] = False
        return {self.names[j]: float(min(row[j] / totals[j], 1.0)) for j in np.flatnonzero(known)}

    def _asked(self) -> FloatArray:
        """(q, q) with the items of each label where nothing else is known, NaN where the count is unknown."""
        every = np.broadcast_to(self.totals[:, None], self.counts.shape) if self.asked is None else self.asked
        return np.where(np.isnan(self.counts), np.nan, every)

    def __add__(self, other: Cooccurrence) -> Cooccurrence:
        """Counts of two sources together, over the labels of both; unknown in one is taken from the other."""
        names = (*self.names, *(name for name in other.names if name not in set(self.names)))
        a, b = self.align(names), other.align(names)
        n_items = None if self.n_items is None or other.n_items is None else self.n_items + other.n_items
        return Cooccurrence(names, _sum(a.counts, b.counts), n_items, _sum(a._asked(), b._asked()))


def _sum(a: FloatArray, b: FloatArray) -> FloatArray:
    """a + b, and where one is unknown the other."""
    return np.where(np.isnan(a), b, np.where(np.isnan(b), a, a + b))


def write_cooccurrence(counts: Cooccurrence, path: AnyPath) -> None:
    """As csv with the columns label, other and count.

    First every label with itself, in order, then each pair whose count is not 0, once; an unknown count is blank. A
    line with neither label has the number of items. All is quoted where a name begins or ends with a blank.

    Examples
    --------
    >>> import tempfile
    >>> counts = count_texts(["the cat and the dog", "a dog alone"], ["cat", "dog"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_cooccurrence(counts, f"{folder}/counts.csv")
    ...     print(read_cooccurrence(f"{folder}/counts.csv").names)
    ('cat', 'dog')
    """
    blanks = any(name != name.strip() for name in counts.names)
    with writing(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        table = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL if blanks else csv.QUOTE_MINIMAL)
        table.writerow(HEADER)
        if counts.n_items is not None:
            table.writerow(["", "", _number(counts.n_items)])
        names = list(map(escape_formula, counts.names))
        table.writerows([name, name, _number(total)] for name, total in zip(names, counts.totals, strict=True))
        listed = np.argwhere(np.triu(np.isnan(counts.counts) | (counts.counts > 0), k=1))
        table.writerows([names[i], names[j], _number(counts.counts[i, j])] for i, j in listed.tolist())
        text.flush()
        text.detach()


def read_cooccurrence(path: AnyPath) -> Cooccurrence:
    """From a csv with the columns label, other and count, as `write_cooccurrence` has it.

    Pairs that are not listed are 0 where both labels are listed with themselves, and unknown otherwise. Blanks around
    names do not count, unless the header is in quotes.

    Examples
    --------
    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/counts.csv"
    >>> write_cooccurrence(Cooccurrence(("a", "b"), np.array([[3.0, 1.0], [1.0, np.nan]])), path)
    >>> read_cooccurrence(path).counts
    array([[ 3.,  1.],
           [ 1., nan]])
    """
    lines = text_lines(path, "utf-8")
    first = next(lines, "")
    trim = str if first.startswith('"') else str.strip
    rows = csv.reader(chain([first] if first else [], lines))
    header = next(_rows_of(rows, path), None)
    if header is None or [name.strip().lower() for name in header] != HEADER:
        raise FormatError(f"found the columns {shown(header)}, expected {', '.join(HEADER)}", path, 1)
    pairs: dict[tuple[str, str], float] = {}
    n_items = None
    for row in _rows_of(rows, path):
        line = rows.line_num
        if not row:
            continue
        if len(row) != 3:
            raise FormatError(f"found {len(row)} fields, expected {', '.join(HEADER)}", path, line)
        label, other = unescape_formula(trim(row[0])), unescape_formula(trim(row[1]))
        count = _parse(row[2], path, line)
        if not label and not other:
            n_items = count
            continue
        if not label or not other:
            raise FormatError("found a count with one label only, expected label and other", path, line)
        if (label, other) in pairs or (other, label) in pairs:
            raise FormatError(f"the pair {label!r}, {other!r} is listed twice", path, line)
        pairs[label, other] = count
    names = tuple(dict.fromkeys(name for pair in pairs for name in pair))
    return Cooccurrence(names, _matrix(names, pairs), n_items)


def _rows_of(rows: Any, path: AnyPath) -> Iterator[list[str]]:
    """The rows of a csv reader; errors name the line."""
    try:
        yield from rows
    except csv.Error as error:
        raise FormatError(f"the line cannot be divided into cells ({error})", path, rows.line_num) from None


def _matrix(names: Sequence[str], pairs: dict[tuple[str, str], float]) -> FloatArray:
    place = {name: j for j, name in enumerate(names)}
    known = np.array([(name, name) in pairs for name in names], dtype=bool)
    counts = np.where(known[:, None] & known, 0.0, np.nan)
    for (label, other), count in pairs.items():
        counts[place[label], place[other]] = counts[place[other], place[label]] = count
    return counts


def _parse(text: str, path: AnyPath, line: int) -> float:
    if not text.strip():
        return float("nan")
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise FormatError(f"found the count {shown(text)}, expected a number, 0 or more, or nothing", path, line)
    return value


def _number(value: float) -> str:
    if np.isnan(value):
        return ""
    return str(int(value)) if value == int(value) else repr(float(value))


# -- labels counted in texts ------------------------------------------------------------------------------------------


WORD = re.compile(r"\w+(?:'\w+)?")
BATCH = 20_000  # documents or windows whose labels are added up at once
VOWEL = re.compile(r"[aeiouy]")


def count_texts(
    texts: Iterable[str],
    terms: Mapping[str, Iterable[str]] | Iterable[str],
    *,
    window: int | None = None,
    match_case: bool = False,
    stem: Callable[[str], str] | None = None,
) -> Cooccurrence:
    """Count in how many documents, or windows of words, labels are named together.

    Parameters
    ----------
    texts : iterable of str
        Documents, read one by one: they may be more than fit into memory.
    terms : mapping of label to words and phrases that stand for it, or labels alone
        A label alone stands for itself, as it is written and with "_" and "-" read as blanks.
    window : int, optional
        Words after which a document is cut, and what follows counted as another; by default documents are whole.
    match_case : bool
        Whether "Apple" and "apple" differ.
    stem : function of a word, optional
        Applied to words of texts and terms alike, `plain_stem` or your own.

    Examples
    --------
    >>> found = count_texts(["A cat and two dogs.", "Dogs bark.", "New York cats"], ["cat", "dog", "new_york"], \
stem=plain_stem)
    >>> found.counts
    array([[2., 1., 1.],
           [1., 2., 0.],
           [1., 0., 1.]])
    >>> found.n_items
    3.0
    """
    if window is not None and window < 1:
        raise ValueError(f"window must be at least one word, or None for whole documents, got {window!r}")
    finder = Finder.of(terms, match_case=match_case, stem=stem)
    q = len(finder.names)
    counts, n_units = np.zeros((q, q)), 0
    indices: list[int] = []
    indptr = [0]
    for labels in _units(texts, finder, window):
        n_units += 1
        indices += labels
        indptr.append(len(indices))
        if len(indptr) > BATCH:
            counts += _gram(indices, indptr, q)
            indices, indptr = [], [0]
    return Cooccurrence(finder.names, counts + _gram(indices, indptr, q), float(n_units))


@dataclass(frozen=True)
class Finder:
    """Finds labels in lists of words: phrases by their first word, so that a text costs one look-up per word."""

    names: tuple[str, ...]
    phrases: Mapping[str, Sequence[tuple[tuple[str, ...], int]]]  # first word: its phrases with the label they name
    match_case: bool = False
    stem: Callable[[str], str] | None = None
    _stems: dict[str, str] = field(default_factory=dict)  # words come again and again

    @classmethod
    def of(
        cls,
        terms: Mapping[str, Iterable[str]] | Iterable[str],
        *,
        match_case: bool = False,
        stem: Callable[[str], str] | None = None,
    ) -> Finder:
        by_label = terms if isinstance(terms, Mapping) else {name: _forms(name) for name in terms}
        phrases: dict[str, list[tuple[tuple[str, ...], int]]] = {}
        finder = cls(tuple(by_label), phrases, match_case, stem)
        for label, (name, words) in enumerate(by_label.items()):
            if isinstance(words, str):
                raise TypeError(f"the terms of label {name!r} must be a list of words, got the text {words!r}")
            for term in words:
                found = tuple(finder.words(term))
                if not found:
                    raise ValueError(f"the term {term!r} of label {name!r} has no word in it; give it a synonym")
                phrases.setdefault(found[0], []).append((found, label))
        return finder

    def words(self, text: str) -> list[str]:
        """The words of a text as they are compared."""
        found = WORD.findall(text if self.match_case else text.lower())
        if self.stem is None:
            return found
        known = self._stems
        for word in set(found) - known.keys():
            known[word] = self.stem(word)
        return [known[word] for word in found]

    def places(self, words: Sequence[str]) -> Iterator[tuple[int, int]]:
        """(place, label) of every phrase."""
        phrases = self.phrases
        for place in [i for i, word in enumerate(words) if word in phrases]:
            for phrase, label in phrases[words[place]]:
                if len(phrase) == 1 or tuple(words[place : place + len(phrase)]) == phrase:
                    yield place, label


def open_text(path: AnyPath) -> Iterator[str]:
    """The lines of a text file, plain or compressed, one by one: a document each.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "corpus.txt")
    ...     _ = path.write_text("the cat and the dog")
    ...     print(list(open_text(path)))
    ['the cat and the dog']
    """
    return text_lines(path, "utf-8")


def plain_stem(word: str) -> str:
    """An English word without plural, possessive, -ed and -ing; rough, but the same for texts and terms.

    >>> [plain_stem(word) for word in ("dogs", "studies", "tagging", "tagged", "glass", "string", "dog's")]
    ['dog', 'study', 'tag', 'tag', 'glass', 'string', 'dog']
    """
    word = word.removesuffix("'s")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for suffix in ("ing", "ed"):
        left = word.removesuffix(suffix)
        if left != word and len(left) > 2 and VOWEL.search(left):
            doubled = left[-1] == left[-2] and left[-1] not in "lsz"
            return left[:-1] if doubled else left
    return word


def _forms(name: str) -> list[str]:
    """The name in words, and, where texts may hold it as one word, as it is written."""
    return [re.sub(r"[_-]+", " ", name), *([name] if "_" in name else [])]


def _units(texts: Iterable[str], finder: Finder, window: int | None) -> Iterator[list[int]]:
    """The labels named in each document or window, once each."""
    for text in texts:
        words = finder.words(text)
        if window is None:
            yield sorted({label for _, label in finder.places(words)})
            continue
        cut: dict[int, set[int]] = {}
        for place, label in finder.places(words):
            cut.setdefault(place // window, set()).add(label)
        for number in range(max(1, -(-len(words) // window))):
            yield sorted(cut.get(number, ()))


def _gram(indices: list[int], indptr: list[int], q: int) -> np.ndarray:
    Y = sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(indptr) - 1, q))
    return (Y.T @ Y).toarray()
