"""The published sets as the papers' jobs read them: which file, which part of it, which labels, prepared how."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.preprocessing import MultiLabelBinarizer, StandardScaler, normalize

from labelwise.data import count_texts, plain_stem, read
from labelwise.posterior import BoolArray, FloatArray
from labelwise.records import LabelData

FILES = {
    "yeast": "yeast/yeast.arff.gz",
    "medical": "medical/medical.arff",
    "enron": "enron/enron.arff.gz",
    "corel5k": "corel5k/Corel5k-sparse.arff.gz",
    "rcv1sub1": "rcv1sub1/rcv1sub1.arff.gz",
    "bibtex": "bibtex/bibtex.arff.gz",
    "delicious": "delicious/delicious.arff.gz",
}
REUTERS = "reuters21578"
LABEL_SHARE = {"corel5k": 0.005, "bibtex": 0.005, "delicious": 0.025}  # of the rows; 0.005 leaves delicious 589 labels
START_SHARE, POOL_SHARE = 0.01, 0.4
MOST_TEST_ROWS = 2000
FEWEST_POSITIVES = 20  # of a label among the items used, as in GP-B²M
MOST_TEST, MOST_POOL = 2000, 3000  # items of a published set; a third of a small one is the test set
N_DIMENSIONS = 300  # singular vectors of words
MADE_UP = "made up"
N_SEEN = {"delicious": 500, "mediamill": 50}  # labels told in the half-half experiments; otherwise half, rounded up
N_TRAIN = {"mediamill": 30993}  # first rows of a set that is at hand as one file
TAGGED_TEXTS = "eurlex57k"
N_WORDS, TRAIN_SHARE = 2000, 0.7  # most common words as features, and the share of the tagged texts to learn from

_DOCUMENT = re.compile(r"<REUTERS(.*?)>(.*?)</REUTERS>", re.DOTALL)
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
_TOPIC = re.compile(r"<D>(.*?)</D>")
_TEXT = re.compile(r"<TEXT[^>]*>(.*?)</TEXT>", re.DOTALL)
_MARKUP = re.compile(r"<[^>]+>|&#?\w+;")


class TrainTest(NamedTuple):
    """Items to learn from and items to test on."""

    train: LabelData
    test: LabelData


@dataclass(frozen=True, eq=False)
class WordRows:
    """Items of a set as counts of words; `is_test` where test rows are published."""

    X: Any  # (n, d) CSR
    Y: BoolArray  # (n, q)
    is_test: BoolArray | None = None


def available(folder: Path | None, names: Sequence[str]) -> list[str]:
    """Which of the sets are in the folder."""
    return [name for name in names if folder is not None and (folder / name).is_dir()]


def find_arff(folder: Path | str, name: str, stem: str) -> Path | None:
    """The ARFF file of a set, plain or compressed."""
    files = (Path(folder) / name / f"{stem}.arff{ending}" for ending in (".gz", ""))
    return next((file for file in files if file.exists()), None)


@lru_cache(maxsize=2)
def published_split(folder: str, name: str) -> TrainTest:
    """The published training and test items of a set, in two files or in one. A worker keeps the last two sets it read.

    Of one file the first rows, as many as published, are the training items.
    """
    train, test, whole = (find_arff(folder, name, stem) for stem in (f"{name}-train", f"{name}-test", name))
    if train is not None and test is not None:
        return TrainTest(read(train), read(test))
    if whole is None or name not in N_TRAIN:
        raise FileNotFoundError(f"{Path(folder) / name} needs {name}-train.arff.gz and {name}-test.arff.gz")
    rows = read(whole)
    cut = N_TRAIN[name]
    return TrainTest(rows.take(np.arange(cut)), rows.take(np.arange(cut, rows.n_items)))


def frequent_labels(data: LabelData, fewest: float, most_labels: int | None = None) -> LabelData:
    """The same items with the labels that at least so many of them have; at most the most frequent so many labels."""
    counts = np.asarray(data.Y.sum(axis=0)).ravel()
    kept = np.flatnonzero(counts >= fewest)
    if most_labels is not None:
        kept = np.sort(kept[np.argsort(-counts[kept], kind="stable")[:most_labels]])
    return replace(data, Y=sp.csr_array(data.Y[:, kept]), label_names=tuple(data.label_names[j] for j in kept))


def read_reuters(folder: Path) -> WordRows:
    """Reuters-21578, Distribution 1.0: the documents of the ModApte split, their words and topics."""
    texts: list[str] = []
    topics: list[list[str]] = []
    is_test: list[bool] = []
    for file in sorted(folder.glob("*.sgm.gz")):
        for attributes, body in _DOCUMENT.findall(gzip.decompress(file.read_bytes()).decode("latin-1")):
            part = re.search(r'LEWISSPLIT="(TRAIN|TEST)"', attributes)
            if 'TOPICS="YES"' not in attributes or part is None:
                continue
            text, topic = _TEXT.search(body), _TOPICS.search(body)
            texts.append(_MARKUP.sub(" ", text.group(1)) if text else "")
            topics.append(_TOPIC.findall(topic.group(1)) if topic else [])
            is_test.append(part.group(1) == "TEST")
    if not texts:
        raise ValueError(f"no document of the ModApte split in {folder}; expected files *.sgm.gz")
    X = CountVectorizer(token_pattern=r"[a-z][a-z]+", dtype=np.float64).fit_transform(texts)
    Y = MultiLabelBinarizer().fit_transform(topics).astype(bool)
    return WordRows(sp.csr_array(X), Y, np.array(is_test))


# -- a pool and a test set of unit rows (CS-BPCA-GP) ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class PoolSplit:
    """One shuffle: the pool with the rows to start from first, and the test set."""

    pool: LabelData
    n_start: int
    test: LabelData
    cardinality: float  # mean number of labels in the whole set, as the paper takes it

    @property
    def truth(self) -> BoolArray:
        return np.asarray(self.test.Y.toarray(), dtype=bool)


def load_unit_rows(file: str, name: str, *, n_labels: int | None = None, share: float | None = None) -> LabelData:
    """A set as the paper prepares it: labels on too few rows dropped, then rows without labels; rows of unit length.

    `n_labels` keeps only the most frequent ones, `share` is the least part of the rows that a label must be on.
    """
    data = read(Path(file))
    data = frequent_labels(data, (LABEL_SHARE[name] if share is None else share) * data.n_items, n_labels)
    rows = np.flatnonzero(np.diff(data.Y.indptr))
    X, Y = normalize(data.X[rows]), data.Y[rows]
    return LabelData.from_arrays(X, Y, item_ids=map(str, rows), label_names=data.label_names)


def split_pool(data: LabelData, seed: int) -> PoolSplit:
    """1 % to start from, 40 % to ask about, the first rows of the rest to test on."""
    order = np.random.default_rng([seed, 2]).permutation(data.n_items)
    n_start, n_pool = round(START_SHARE * data.n_items), round(POOL_SHARE * data.n_items)
    pool = data.take(order[: n_start + n_pool])
    return PoolSplit(pool, n_start, data.take(order[n_start + n_pool :][:MOST_TEST_ROWS]), data.cardinality)


# -- a pool with a start that has every label (GP-B²M) ----------------------------------------------------------------


@dataclass(frozen=True)
class Bench:
    """A pool whose first items are known, everything about the same pool, and a test set nobody asks about."""

    known: LabelData
    truth: LabelData
    test: LabelData


@lru_cache(maxsize=1)
def load_bench(file: str | Path, n_start: int, seed: int, n_used: int | None = None) -> Bench:
    """Labels that 20 items have; a random pool and test set; features prepared on the pool; a start with every label.

    Sparse rows (words) are weighted by tf-idf and projected on the pool's 300 leading singular vectors; dense features
    are standardised. Rows are then scaled to unit length. Of a large set `n_used` items are used, the same for every
    seed, so that its labels are, too. A worker keeps the last one.
    """
    data = _used_items(file, n_used)
    rng = np.random.default_rng([seed, 3])
    order, n_test = rng.permutation(data.n_items), min(data.n_items // 3, MOST_TEST)
    test, pool = data.take(order[:n_test]), data.take(order[n_test : n_test + MOST_POOL])
    X_pool, X_test = _prepared(pool.X, test.X)
    pool, test = (replace(part, X=X, feature_names=None) for part, X in ((pool, X_pool), (test, X_test)))
    return Bench(knowing(pool, covering_rows(pool.Y, n_start, rng)), pool, test)


@lru_cache(maxsize=1)
def _used_items(file: str | Path, n_used: int | None) -> LabelData:
    data = read(file)
    if n_used is not None:
        data = data.take(np.random.default_rng(0).permutation(data.n_items)[:n_used])
    return frequent_labels(data, FEWEST_POSITIVES)


def covering_rows(Y: sp.csr_array, n: int, rng: np.random.Generator) -> npt.NDArray[np.intp]:
    """n random rows that have every label where n rows can: first a random cover, then any.

    >>> Y = sp.csr_array(np.array([[1, 0], [1, 0], [1, 0], [0, 1]], dtype=bool))
    >>> all(3 in covering_rows(Y, 2, np.random.default_rng(seed)) for seed in range(9))
    True
    """
    order = rng.permutation(Y.shape[0])
    lacking = np.asarray(Y.sum(0) > 0).ravel()
    first = []
    for row in order:  # rows that bring a label not seen before
        labels = Y.indices[Y.indptr[row] : Y.indptr[row + 1]]
        if lacking[labels].any():
            first.append(row)
            lacking[labels] = False
    rest = order[~np.isin(order, first)]
    return np.concatenate([np.array(first, dtype=np.intp), rest])[:n]


def knowing(data: LabelData, rows: npt.NDArray[np.intp]) -> LabelData:
    """The same items, of which only these rows are known."""
    mask = np.zeros((data.n_items, 1), dtype=bool)
    mask[rows] = True
    observed = sp.csr_array(np.broadcast_to(mask, data.Y.shape))
    return replace(data, Y=sp.csr_array(data.Y.multiply(observed)), observed=observed)


def _prepared(pool: Any, test: Any) -> tuple[Any, Any]:
    if not sp.issparse(pool):
        scaler = StandardScaler().fit(pool)
        return normalize(scaler.transform(pool)), normalize(scaler.transform(test))
    weights = TfidfTransformer(sublinear_tf=False).fit(pool)
    dimensions = min(N_DIMENSIONS, *(size - 1 for size in pool.shape))
    leading = TruncatedSVD(dimensions, random_state=0).fit(weights.transform(pool))
    X_pool, X_test = (normalize(leading.transform(weights.transform(X))) for X in (pool, test))
    return X_pool, X_test


# -- labels told as a whole or not at all (ML-LCS) --------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LabelSplit:
    """Official training and test items, and which labels are told."""

    train: LabelData
    test: LabelData
    seen: Any  # label numbers
    unseen: Any

    @property
    def Y(self) -> BoolArray:
        return self.train.Y.toarray()

    @property
    def truth(self) -> BoolArray:
        return self.test.Y.toarray()

    @property
    def observed(self) -> BoolArray:
        told = np.zeros(self.train.Y.shape, dtype=bool)
        told[:, self.seen] = True
        return told

    def on_unseen(self, scores: FloatArray) -> tuple[FloatArray, BoolArray]:
        """(n, unseen) scores and truth of the test items for the labels that are not told."""
        return scores[:, self.unseen], self.truth[:, self.unseen]

    def counts(self) -> FloatArray:
        """(q, q) co-occurrence counts of all labels on the training items: all that is told of unseen labels."""
        return count_pairs(self.Y)


def count_pairs(Y: BoolArray) -> FloatArray:
    """(q, q) items that carry both labels."""
    sparse = sp.csr_array(Y.astype(np.float64))
    return np.asarray((sparse.T @ sparse).toarray())


def split_labels(folder: str, name: str, seed: int, share: float | None = None) -> LabelSplit:
    """A random half, or share, of the labels told."""
    train, test = load_split(folder, name)
    q = train.n_labels
    n_seen = int(np.ceil(q * share)) if share is not None else N_SEEN.get(name, -(-q // 2))
    order = np.random.default_rng(seed).permutation(q)
    return LabelSplit(train, test, order[:n_seen], order[n_seen:])


def split_items(folder: str, name: str, seed: int) -> LabelSplit:
    """All labels told: the published training and test items for seed 0, as many others drawn for the next seeds."""
    train, test = load_split(folder, name)
    every = np.arange(train.n_labels)
    if seed:
        X, Y = (sp.csr_array(sp.vstack([a, b])) for a, b in ((train.X, test.X), (train.Y, test.Y)))
        rows = np.random.default_rng(seed).permutation(X.shape[0])
        both = LabelData.from_arrays(X, Y, label_names=train.label_names)
        train, test = (both.take(part) for part in (rows[: train.n_items], rows[train.n_items :]))
    return LabelSplit(train, test, every, every[:0])


def load_split(folder: str, name: str) -> TrainTest:
    """Published training and test items, or made-up ones."""
    return made_up_split() if name == MADE_UP else published_split(folder, name)


def split_texts(folder: str, seed: int) -> tuple[LabelSplit, FloatArray]:
    """Tagged texts of which half of the labels are told, and the counts of all labels' names in other, untagged texts.

    Half of the texts, drawn at random, are the corpus: of these the tags are not looked at.
    """
    texts, tags, terms = read_tagged_texts(Path(folder) / TAGGED_TEXTS)
    rows = np.random.default_rng([seed, 31]).permutation(len(texts))
    corpus, tagged = np.split(rows, [len(texts) // 2])
    counts = count_texts((texts[i] for i in corpus), terms, stem=plain_stem).counts
    train, test = np.split(tagged, [int(TRAIN_SHARE * tagged.size)])
    words = TfidfVectorizer(max_features=N_WORDS, stop_words="english", sublinear_tf=True)
    words.fit([texts[i] for i in train])
    Y = MultiLabelBinarizer(classes=list(terms)).fit_transform(tags).astype(bool)
    parts = (
        LabelData.from_arrays(
            sp.csr_array(words.transform([texts[i] for i in part])), Y[part], label_names=tuple(terms)
        )
        for part in (train, test)
    )
    order = np.random.default_rng([seed, 32]).permutation(len(terms))
    return LabelSplit(*parts, *np.split(order, [-(-order.size // 2)])), np.asarray(counts)


@lru_cache(maxsize=1)
def read_tagged_texts(folder: Path) -> tuple[list[str], list[list[str]], dict[str, list[str]]]:
    """Texts, their labels, and what each label is called: its name, and the other names after "also:"."""
    with gzip.open(folder / "items.jsonl.gz", "rt", encoding="utf-8") as lines:
        items = [json.loads(line) for line in lines]
    described = json.loads((folder / "labels.json").read_text(encoding="utf-8"))
    terms = {}
    for name, description in described.items():
        also = re.search(r"also: ([^;]*)", description)
        terms[name] = [name, *(also.group(1).split(", ") if also else ())]
    return [item["text"] for item in items], [item["labels"] for item in items], terms


@lru_cache(maxsize=1)
def made_up_split(n: int = 700, seed: int = 0) -> TrainTest:
    """Short texts on a few themes, tagged by theme: for runs without the published sets."""
    rng = np.random.default_rng(seed)
    themes = rng.dirichlet(np.full(8, 0.15), size=n)  # (n, themes)
    words = themes @ rng.dirichlet(np.full(120, 0.1), size=8)  # (n, words)
    X = (rng.poisson(25 * words) > 0).astype(float)
    tags = themes @ rng.gamma(0.25, size=(8, 30)) * 1.2
    Y = rng.random((n, 30)) < np.minimum(tags, 0.9)
    data = LabelData.from_arrays(sp.csr_array(X), Y)
    return TrainTest(data.take(np.arange(n - 200)), data.take(np.arange(n - 200, n)))
