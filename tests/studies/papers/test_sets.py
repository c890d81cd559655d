"""The published sets: documents read, what is there, which labels are kept."""

import gzip

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="needs the extra plots")
pytest.importorskip("jinja2", reason="needs the extra plots")

from labelwise.records import LabelData
from labelwise.studies.papers.sets import available, frequent_labels, read_reuters

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


def test_what_is_there(tmp_path):
    assert available(None, ("enron", "bibtex")) == available(tmp_path, ("enron", "bibtex")) == []
    (tmp_path / "bibtex").mkdir()
    assert available(tmp_path, ("enron", "bibtex")) == ["bibtex"]


def test_frequent_labels_are_those_with_enough_positives():
    Y = np.random.default_rng(0).random((90, 6)) < np.linspace(0.05, 0.6, 6)
    data = LabelData.from_arrays(np.eye(90), Y)
    kept = frequent_labels(data, 20)
    counts = Y.sum(0)
    assert kept.label_names == tuple(name for name, count in zip(data.label_names, counts, strict=True) if count >= 20)
    np.testing.assert_array_equal(kept.Y.toarray(), Y[:, counts >= 20])
    most = frequent_labels(data, 20, most_labels=2)
    assert most.label_names == tuple(data.label_names[j] for j in np.sort(np.argsort(-counts, kind="stable")[:2]))


@pytest.mark.shared_data
@pytest.mark.slow
def test_reuters_as_counted_in_the_literature(shared_data):
    """ModApte: 9603 training and 3299 test documents."""
    rows = read_reuters(shared_data / "reuters21578")
    assert (int((~rows.is_test).sum()), int(rows.is_test.sum())) == (9603, 3299)
    assert (int(rows.Y[~rows.is_test].any(1).sum()), int(rows.Y[rows.is_test].any(1).sum())) == (7775, 3019)
