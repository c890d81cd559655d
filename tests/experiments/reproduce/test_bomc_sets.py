"""Rows of the BOMC sets: documents read, words weighted by the training rows alone, nothing missing goes unsaid."""

import gzip

import numpy as np
import pytest
import scipy.sparse as sp

from labelwise.experiments.reproduce import bomc_sets
from labelwise.experiments.reproduce.bomc_sets import MADE_UP, Rows, available, cut, load, read_reuters, weigh

SGML = """<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" NEWID="1">
<TOPICS><D>cocoa</D><D>trade</D></TOPICS><PLACES><D>usa</D></PLACES>
<TEXT>&#2;
<TITLE>Cocoa &amp; more</TITLE><BODY>Cocoa prices rose 3 pct.
&#3;</BODY></TEXT>
</REUTERS>
<REUTERS TOPICS="YES" LEWISSPLIT="TEST" NEWID="2">
<TOPICS></TOPICS><TEXT TYPE="BRIEF">prices</TEXT>
</REUTERS>
<REUTERS TOPICS="NO" LEWISSPLIT="TRAIN" NEWID="3"><TOPICS></TOPICS><TEXT>left out</TEXT></REUTERS>
<REUTERS TOPICS="YES" LEWISSPLIT="NOT-USED" NEWID="4"><TOPICS><D>gold</D></TOPICS><TEXT>left out</TEXT></REUTERS>
"""


def test_documents_of_the_split(tmp_path):
    (tmp_path / "reut2-000.sgm.gz").write_bytes(gzip.compress(SGML.encode("latin-1")))
    rows = read_reuters(tmp_path)
    words = ["cocoa", "more", "pct", "prices", "rose"]  # in alphabetical order, without entities and numbers
    np.testing.assert_array_equal(rows.X.toarray(), [[2, 1, 1, 1, 1], [0, 0, 0, 1, 0]], err_msg=str(words))
    np.testing.assert_array_equal(rows.Y, [[True, True], [False, False]])
    np.testing.assert_array_equal(rows.is_test, [False, True])


def test_a_folder_without_documents_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"expected files \*\.sgm\.gz"):
        read_reuters(tmp_path)


def test_words_are_weighted_by_training_rows_alone():
    counts = np.array([[1, 2, 0], [1, 0, 0], [3, 0, 4], [0, 1, 1]])
    rows = Rows(sp.csr_array(counts.astype(float)), np.eye(4, 2, dtype=bool))
    train, test = np.array([0, 1]), np.array([2, 3])
    data = weigh(rows, train, test, by_rows=True)
    log_counts = np.where(counts > 0, 1 + np.log(np.maximum(counts, 1)), 0.0)
    expected = log_counts * np.log(3 / (1 + np.array([2, 1, 0])))  # a word of every training row tells nothing
    expected /= np.maximum(np.linalg.norm(expected, axis=1, keepdims=True), 1e-12)
    np.testing.assert_allclose(data.X.toarray(), expected[:2])
    np.testing.assert_allclose(data.X_test.toarray(), expected[2:])
    as_published = weigh(rows, train, test, by_rows=False)
    np.testing.assert_allclose(as_published.X.toarray(), counts[:2] / np.linalg.norm(counts[:2], axis=1)[:, None])
    np.testing.assert_array_equal(data.truth, rows.Y[2:])


def test_random_and_published_rows():
    rows = Rows(sp.csr_array((9, 2)), np.zeros((9, 1), dtype=bool), is_test=np.arange(9) > 6)
    train, test = cut(rows, "random", 0, "x")
    assert len(test) == 3 and sorted([*train, *test]) == list(range(9))
    assert not np.array_equal(test, cut(rows, "random", 1, "x")[1])
    train, test = cut(rows, "official", 0, "x")
    assert sorted(train) == list(range(7)) and sorted(test) == [7, 8]
    with pytest.raises(ValueError, match="no training and test rows are published for x"):
        cut(Rows(rows.X, rows.Y), "official", 0, "x")


def test_what_is_there(tmp_path):
    assert available(None, ("enron", "bibtex")) == [MADE_UP]
    assert available(tmp_path, ("enron", "bibtex")) == [MADE_UP]
    (tmp_path / "bibtex").mkdir()
    assert available(tmp_path, ("enron", "bibtex")) == ["bibtex"]
    rows = load("", MADE_UP)
    assert rows.X.shape[0] == rows.Y.shape[0] and rows.Y.shape[1] == bomc_sets.MADE_UP_LABELS


@pytest.mark.shared_data
def test_reuters_as_counted_in_the_literature(shared_data):
    """ModApte: 9603 training and 3299 test documents."""
    rows = read_reuters(shared_data / "reuters21578")
    assert (int((~rows.is_test).sum()), int(rows.is_test.sum())) == (9603, 3299)
    assert (int(rows.Y[~rows.is_test].any(1).sum()), int(rows.Y[rows.is_test].any(1).sum())) == (7775, 3019)


@pytest.mark.shared_data
def test_published_rows_of_bibtex(shared_data):
    rows = load(str(shared_data), "bibtex")
    train, test = cut(rows, "official", 0, "bibtex")
    assert (len(train), len(test), rows.Y.shape[1]) == (4880, 2515, 159)
