"""RCV1-v2's published files, made up small: vectors and topics, in one file or several, and what is wrong with them."""

import gzip
from dataclasses import replace

import numpy as np
import pytest

from labelwise.data import FormatError, read, write
from labelwise.data.formats import rcv1

VECTORS = "2286  1:0.5 4:0.25\n2287  2:1e-1\n2290\n"
TOPICS = "GCAT 2287 1\nECAT 2286 1\nGCAT 2286 1\nE12 99 1\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "lyrl2004_vectors_train.dat").write_text(VECTORS)
    (tmp_path / "rcv1-v2.topics.qrels").write_text(TOPICS)
    return tmp_path


def test_vectors_and_topics(folder):
    data = read(folder / "lyrl2004_vectors_train.dat")
    assert data.item_ids == ("2286", "2287", "2290") and data.label_names == ("E12", "ECAT", "GCAT")
    np.testing.assert_array_equal(data.X.toarray(), [[0.5, 0, 0, 0.25], [0, 0.1, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(data.Y.toarray(), [[0, 1, 1], [0, 0, 1], [0, 0, 0]])
    assert data.n_observed == 9  # what is not listed is absent
    assert read(folder, format="rcv1", dtype="float32").X.dtype == np.float32


def test_a_folder_of_packed_parts_and_another_group(folder):
    with gzip.open(folder / "lyrl2004_vectors_test_pt1.dat.gz", "wt") as file:
        file.write("12  7:2\n")
    with gzip.open(folder / "lyrl2004_vectors_test_pt0.dat.gz", "wt") as file:
        file.write("2300  1:3\n")
    with gzip.open(folder / "rcv1-v2.regions.qrels.gz", "wt") as file:
        file.write("UK 12 1\nUK 2300 1\nUSA 2286 1\n")
    assert [file.name[17:] for file in rcv1.vector_files(folder)] == ["train.dat", "test_pt0.dat.gz", "test_pt1.dat.gz"]
    data = read(folder, format="rcv1", labels="regions")
    assert data.item_ids == ("2286", "2287", "2290", "2300", "12") and data.X.shape == (5, 7)
    np.testing.assert_array_equal(data.Y.toarray(), [[0, 1], [0, 0], [0, 0], [1, 0], [1, 0]])
    named = read(folder / "lyrl2004_vectors_test_pt1.dat.gz", labels=str(folder / "rcv1-v2.topics.qrels"))
    assert named.label_names == ("E12", "ECAT", "GCAT") and named.Y.nnz == 0


def test_large_files_by_compiled_loops(tmp_path):
    rng = np.random.default_rng(0)
    terms = [np.sort(rng.choice(5000, 60, replace=False)) + 1 for _ in range(2500)]
    lines = [f"{3 * i + 5}  " + " ".join(f"{t}:{(t % 7 + 1) / 8}" for t in row) for i, row in enumerate(terms)]
    (tmp_path / "lyrl2004_vectors_train.dat").write_text("\n".join(lines) + "\n")
    (tmp_path / "rcv1-v2.topics.qrels").write_text("".join(f"T{i % 9} {3 * i + 5} 1\n" for i in range(2500)))
    data = read(tmp_path / "lyrl2004_vectors_train.dat")
    assert data.X.shape == (2500, 5000) and data.item_ids[-1] == "7502"
    np.testing.assert_array_equal(data.X[[77]].indices, terms[77] - 1)
    np.testing.assert_array_equal(data.X[[77]].data, (terms[77] % 7 + 1) / 8)
    np.testing.assert_array_equal(data.Y.indices, np.arange(2500) % 9)


@pytest.mark.parametrize(
    ("vectors", "topics", "message"),
    [
        ("1 2:0.5\n3:1\n", "A 1 1\n", r"\.dat: row 2 has 0 document numbers, expected one and then its terms like"),
        ("1,2 2:0.5\n", "A 1 1\n", r"row 1 has 2 document numbers"),
        ("1 2:0.5\n1 3:1\n", "A 1 1\n", "the document 1 is there twice"),
        ("1 0:0.5\n", "A 1 1\n", r"line 1: found feature 0, expected 1 to"),
        ("1 2:x\n", "A 1 1\n", r"\.dat, line 1: found 'x'"),
        ("1 2:1\n", "A 1 1\nB 1\n", r"qrels, line 2: found 'B 1', expected a label, the number of a document and 1"),
        ("1 2:1\n", "A 1 1\nB 1 0\n", r"line 2: found 'B 1 0', expected a label"),
        ("1 2:1\n", "A one 1\n", r"line 1: found 'A one 1'"),
        ("1 2:1\n", "A 1\nB 2 1 1\n", r"line 1: found 'A 1'"),
        ("1 2:1\n", "", r"qrels: the file is empty, expected lines like GCAT 2286 1"),
        ("1 2:1\n", None, r"there is no file rcv1-v2\.topics\.qrels or \.qrels\.gz beside it; give labels="),
    ],
)
def test_what_is_wrong_is_named(tmp_path, vectors, topics, message):
    (tmp_path / "lyrl2004_vectors_train.dat").write_text(vectors)
    if topics is not None:
        (tmp_path / "rcv1-v2.topics.qrels").write_text(topics)
    with pytest.raises(FormatError, match=message):
        read(tmp_path / "lyrl2004_vectors_train.dat")


def test_an_empty_folder(tmp_path):
    with pytest.raises(FormatError, match=r"there is no file lyrl2004_vectors_\*\.dat or \.dat\.gz in this folder"):
        read(tmp_path, format="rcv1")


@pytest.mark.parametrize("packed", ["", ".gz"])
def test_what_is_written_comes_back(folder, packed, assert_same):
    (folder / "rcv1-v2.topics.qrels").write_text(TOPICS.replace("E12 99 1\n", ""))
    data = read(folder, format="rcv1")
    (folder / "there").mkdir()
    write(data, folder / "there" / f"set.dat{packed}")
    assert (folder / "there" / f"rcv1-v2.topics.qrels{packed}").exists()
    assert_same(read(folder / "there" / f"set.dat{packed}"), data)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"item_ids": ("a", "2", "3")}, "found the id 'a', expected whole numbers"),
        ({"label_names": ("x y", "z", "w")}, "the label 'x y' has blanks"),
        ({}, "no item has the label 'E12', which RCV1 text cannot say"),
    ],
)
def test_what_cannot_be_written(folder, change, message):
    data = replace(read(folder, format="rcv1"), **change)
    with pytest.raises(FormatError, match=message):
        write(data, folder / "out.dat")
