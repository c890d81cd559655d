"""Published data sets have the sizes that are known of them, part by part and as a whole."""

import hashlib
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import HashingVectorizer

from labelwise.data import read

pytestmark = pytest.mark.shared_data

# file (or files, read one after the other), instances, features, labels, cardinality, unlabelled, distinct label sets
WHOLE = [
    (["yeast/yeast.arff.gz"], 2417, 103, 14, 4.237, 0, 198),
    (["emotions/emotions.arff.gz"], 593, 72, 6, 1.868, 0, 27),
    (["scene/scene-train.arff.gz", "scene/scene-test.arff.gz"], 2407, 294, 6, 1.074, 0, 15),
    (["medical/medical.arff"], 978, 1449, 45, 1.245, 0, 94),
    (["enron/enron.arff.gz"], 1702, 1001, 53, 3.378, 0, 753),
    (["corel5k/Corel5k-sparse.arff.gz"], 5000, 499, 374, 3.522, 0, 3175),
    (["bibtex/bibtex.arff.gz"], 7395, 1836, 159, 2.402, 0, 2856),
    (["delicious/delicious.arff.gz"], 16105, 500, 983, 19.020, 14, 15806),
    (["tmc2007-500/tmc2007-500.arff.gz"], 28596, 500, 22, 2.158, 0, 1341),
    (["imdb/Imdb.arff.bz2"], 120919, 1001, 28, 2.000, 0, 4503),
    (["rcv1sub1/rcv1sub1.arff.gz"], 6000, 47236, 101, 2.880, 0, 1028),
]
PARTS = [
    ("yeast/yeast{}.arff.gz", 1500, 917),
    ("emotions/emotions{}.arff", 391, 202),
    ("medical/medical{}.arff", 333, 645),
    ("enron/enron{}.arff.gz", 1123, 579),
    ("corel5k/Corel5k{}-sparse.arff", 4500, 500),
    ("bibtex/bibtex{}.arff.gz", 4880, 2515),
    ("delicious/delicious{}.arff.gz", 12920, 3185),
    ("tmc2007-500/tmc2007-500{}.arff.gz", 21519, 7077),
]


def row_prints(data):
    """A fingerprint of features and labels per row."""
    X = sp.csr_array(data.X)
    prints = [hashlib.sha1(usedforsecurity=False) for _ in range(data.n_items)]
    for matrix in (X, data.Y):
        for row, (start, stop) in enumerate(zip(matrix.indptr, matrix.indptr[1:], strict=False)):
            prints[row].update(matrix.indices[start:stop].tobytes() + matrix.data[start:stop].tobytes() + b"|")
    return Counter(mark.digest() for mark in prints)


def present(folder, name):
    """The file, packed or not: only the large ones are."""
    path = folder / name
    return path if path.exists() else path.with_name(f"{path.name}.gz")


@pytest.mark.parametrize(
    ("names", "n", "d", "q", "cardinality", "unlabelled", "label_sets"), WHOLE, ids=lambda v: str(v)[:24]
)
def test_sizes(shared_data, names, n, d, q, cardinality, unlabelled, label_sets):
    parts = [read(shared_data / name) for name in names]
    Y = sp.csr_array(sp.vstack([part.Y for part in parts]))
    assert {part.label_names for part in parts} == {parts[0].label_names}
    assert (Y.shape, parts[0].n_features) == ((n, q), d)
    assert round(Y.count_nonzero() / n, 3) == cardinality
    counts = np.diff(Y.indptr)
    assert (counts == 0).sum() == unlabelled
    assert len({Y.indices[a:b].tobytes() for a, b in zip(Y.indptr, Y.indptr[1:], strict=False)}) == label_sets
    assert all(part.observed is None for part in parts)


@pytest.mark.parametrize(("name", "n_train", "n_test"), PARTS)
def test_a_set_is_the_union_of_its_official_parts(shared_data, name, n_train, n_test):
    whole, train, test = (read(present(shared_data, name.format(part))) for part in ("", "-train", "-test"))
    assert (train.n_items, test.n_items) == (n_train, n_test)
    assert whole.label_names == train.label_names == test.label_names
    assert row_prints(train) + row_prints(test) == row_prints(whole)


def test_names_that_are_known(shared_data):
    assert {"TAG_dise~no", "TAG_m'usica"} <= set(read(shared_data / "delicious" / "delicious-test.arff.gz").label_names)
    assert read(shared_data / "emotions" / "emotions-test.arff").label_names[0] == "amazed-suprised"


def test_a_raw_text_set(shared_data):
    columns = ["text", "tags", "id"]
    options = {"labels": "tags", "separator": ",", "text": "text", "vectorizer": HashingVectorizer(n_features=16)}
    parts = [
        read(shared_data / "goemotions" / f"{p}.tsv.gz", columns=columns, **options) for p in ("train", "dev", "test")
    ]
    assert [part.n_items for part in parts] == [43410, 5426, 5427]
    assert {part.n_labels for part in parts} == {28}
    assert round(sum(part.Y.count_nonzero() for part in parts) / 54263, 3) == 1.176
