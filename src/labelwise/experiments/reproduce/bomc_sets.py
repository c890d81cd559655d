"""The sets of paper 5 (BOMC) as unit rows of weighted words, cut into training and test rows.

Words are weighted 1 + ln(count) times ln((1 + n)/(1 + rows with it)), counted on the training rows alone; the values of
rcv1sub1 are weighted as published and only scaled. Where no published sets are at hand, made-up rows stand in.
"""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import MultiLabelBinarizer, normalize

from labelwise.data import make_drifting_stream, read
from labelwise.posterior import BoolArray

Split = Literal["random", "official"]
ARFF = ("enron", "bibtex", "rcv1sub1", "delicious")
REUTERS, MADE_UP = "reuters21578", "made-up"
OFFICIAL = ("bibtex", "enron", REUTERS)  # have published training and test rows
MADE_UP_LABELS, MADE_UP_SHARE, MADE_UP_NOISE = 30, 0.04, 0.5

_DOCUMENT = re.compile(r"<REUTERS(.*?)>(.*?)</REUTERS>", re.DOTALL)
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
_TOPIC = re.compile(r"<D>(.*?)</D>")
_TEXT = re.compile(r"<TEXT[^>]*>(.*?)</TEXT>", re.DOTALL)
_MARKUP = re.compile(r"<[^>]+>|&#?\w+;")


@dataclass(frozen=True, eq=False)
class Rows:
    """Items of a set; `is_test` where test rows are published."""

    X: Any  # (n, d) CSR
    Y: BoolArray  # (n, q)
    is_test: BoolArray | None = None


@dataclass(frozen=True, eq=False)
class Cut:
    """Training and test rows, words weighted by what the training rows say."""

    X: Any
    Y: BoolArray
    X_test: Any
    truth: BoolArray


def available(shared: Path | None, names: tuple[str, ...]) -> list[str]:
    """Which of the sets are in the folder; made-up rows where none is."""
    there = [name for name in names if shared is not None and (shared / name).is_dir()]
    return there or [MADE_UP]


@lru_cache(maxsize=2)
def load(folder: str, name: str) -> Rows:
    """All rows of a set as published, words as counts. A worker keeps the last two sets it read."""
    if name == MADE_UP:
        data = make_drifting_stream(3000, MADE_UP_LABELS, share=MADE_UP_SHARE, noise=MADE_UP_NOISE, random_state=0)
        return Rows(sp.csr_array(data.X), data.Y.toarray())
    if name == REUTERS:
        return read_reuters(Path(folder) / name)
    if name not in OFFICIAL:
        data = read(Path(folder) / name / f"{name}.arff.gz")
        return Rows(sp.csr_array(data.X), data.Y.toarray())
    train, test = (read(Path(folder) / name / f"{name}-{part}.arff.gz") for part in ("train", "test"))
    is_test = np.repeat([False, True], [train.n_items, test.n_items])
    return Rows(sp.csr_array(sp.vstack([train.X, test.X])), np.vstack([train.Y.toarray(), test.Y.toarray()]), is_test)


def cut(rows: Rows, split: Split, seed: int, name: str) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Numbers of the training and of the test rows: as published, or a random third for testing."""
    order = np.random.default_rng([seed, 17]).permutation(rows.Y.shape[0])
    if split == "random":
        third = len(order) // 3
        return order[third:], order[:third]
    if rows.is_test is None:
        raise ValueError(f"no training and test rows are published for {name}")
    return order[~rows.is_test[order]], order[rows.is_test[order]]


def weigh(rows: Rows, train: npt.NDArray[np.intp], test: npt.NDArray[np.intp], *, by_rows: bool) -> Cut:
    """Unit rows; `by_rows` weighs words by how few training rows have them."""
    X, X_test = rows.X[train], rows.X[test]
    if by_rows:
        with_it = np.bincount(X.indices, minlength=X.shape[1])
        rarity = sp.diags_array(np.log((1 + len(train)) / (1 + with_it)))
        X, X_test = (_log_counts(part) @ rarity for part in (X, X_test))
    X, X_test = (sp.csr_array(normalize(sp.csr_array(part))) for part in (X, X_test))
    return Cut(X, rows.Y[train], X_test, rows.Y[test])


def read_reuters(folder: Path) -> Rows:
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
    return Rows(sp.csr_array(X), Y, np.array(is_test))


def _log_counts(X: Any) -> Any:
    logs = X.copy()
    logs.data = 1 + np.log(logs.data)
    return logs
