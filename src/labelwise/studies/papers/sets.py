"""The published sets as the papers' jobs read them: which file, which part of it, which labels."""

from __future__ import annotations

import gzip
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import MultiLabelBinarizer

from labelwise.data import read
from labelwise.posterior import BoolArray
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


@lru_cache(maxsize=2)
def published_split(folder: str, name: str) -> TrainTest:
    """The published training and test items of a set. A worker keeps the last two sets it read."""
    train, test = (read(Path(folder) / name / f"{name}-{part}.arff.gz") for part in ("train", "test"))
    return TrainTest(train, test)


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
