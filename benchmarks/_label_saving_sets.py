"""The sets of `label_saving.py` and `time_saving.py`: pool and test set of a seed, features as published or tf-idf."""

import gzip
import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

import labelwise as lw
from labelwise.studies.papers.sets import read_reuters

FILES = {
    "bibtex": "bibtex/bibtex.arff.gz",
    "medical": "medical/medical.arff",
    "corel5k": "corel5k/Corel5k-sparse.arff.gz",
    "enron": "enron/enron.arff.gz",
    "delicious": "delicious/delicious.arff.gz",
    "tmc2007-500": "tmc2007-500/tmc2007-500.arff.gz",
    "imdb": "imdb/Imdb.arff.bz2",
    "rcv1sub1": "rcv1sub1/rcv1sub1.arff.gz",
    "yeast": "yeast/yeast.arff.gz",
    "emotions": "emotions/emotions.arff.gz",
    "scene": "scene/scene-train.arff.gz",
    "goemotions": "goemotions/train.tsv.gz",
    "reuters21578": "reuters21578",
    **{name: f"{name}/items.jsonl.gz" for name in ("eurlex57k", "movies_omdb", "valueeval", "cei_exposure")},
}
POOL, TEST = 3000, 1000
MOST_LABELS = {"delicious": 150, "eurlex57k": 150}  # the most frequent ones: nearly a thousand take hours


def available(folder: Path, names: tuple[str, ...]) -> list[str]:
    return [name for name in names if (folder / FILES[name]).exists()]


def load(folder: Path, name: str) -> lw.LabelData:
    """The set with every label, or the most frequent of too many."""
    path = folder / FILES[name]
    if name == "reuters21578":
        rows = read_reuters(path)
        kept = np.flatnonzero(rows.Y.any(axis=1))
        X, Y = _tf_idf_counts(rows.X[kept]), rows.Y[kept]
    elif name == "goemotions":
        X, Y = _tf_idf(*_read_go_emotions(path))
    elif path.name == "items.jsonl.gz":
        X, Y = _tf_idf(*_read_texts(path))
    else:
        data = lw.read(path)
        X, Y = data.X, data.Y.toarray()
    counts = Y.sum(axis=0)
    Y = Y[:, np.sort(np.argsort(-counts, kind="stable")[: MOST_LABELS.get(name)])]
    return lw.LabelData.from_arrays(sp.csr_array(X) if sp.issparse(X) else X, Y)


def split(data: lw.LabelData, seed: int, pool: int = POOL) -> tuple[lw.LabelData, lw.LabelData]:
    """A pool of at most 3000 items, or as given, and a test set of at most 1000, by the seed alone."""
    order = np.random.default_rng(seed).permutation(data.n_items)
    n_test = min(TEST, data.n_items // 3)
    return data.take(np.sort(order[n_test : n_test + pool])), data.take(np.sort(order[:n_test]))


def _read_go_emotions(path: Path) -> tuple[list[str], np.ndarray]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    labels = [[int(number) for number in row[1].split(",")] for row in rows]
    Y = np.zeros((len(rows), 1 + max(max(each) for each in labels)), dtype=bool)
    for row, each in enumerate(labels):
        Y[row, each] = True
    return [row[0] for row in rows], Y


def _read_texts(path: Path) -> tuple[list[str], np.ndarray]:
    names = list(json.loads(path.with_name("labels.json").read_text(encoding="utf-8")))
    column = {name: number for number, name in enumerate(names)}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    Y = np.zeros((len(rows), len(names)), dtype=bool)
    for number, row in enumerate(rows):
        Y[number, [column[name] for name in row["labels"]]] = True
    return [row["text"] for row in rows], Y


def _tf_idf(texts: list[str], Y: np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
    return TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(texts), Y


def _tf_idf_counts(counts: sp.csr_array) -> sp.csr_array:
    X = counts.tocsr(copy=True)
    X.data = 1 + np.log(X.data)
    with_it = np.bincount(X.indices, minlength=X.shape[1])
    return sp.csr_array(X @ sp.diags_array(1 + np.log((1 + X.shape[0]) / (1 + with_it))))
