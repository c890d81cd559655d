"""`labelwise cooccurrence`: counts of a labelled set and of texts, added up; labels without any are listed."""

import numpy as np
import pytest

pytest.importorskip("typer", reason="needs the extra cli")

from typer.testing import CliRunner

from labelwise.cli import app
from labelwise.data import read_cooccurrence


def run(*arguments):
    return CliRunner().invoke(app, ["cooccurrence", *map(str, arguments)])


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "texts.txt").write_text("A cat and a dog\nDogs!\nkitty cats in New York\n", encoding="utf-8")
    (tmp_path / "names.txt").write_text("cat\ndog\nnew_york\nunicorn\n\n", encoding="utf-8")
    (tmp_path / "synonyms.csv").write_text("label,term\ncat,kitty\n", encoding="utf-8")
    (tmp_path / "set.csv").write_text("x,cat,dog\n0.5,1,1\n0.1,0,1\n0.2,1,0\n", encoding="utf-8")
    return tmp_path


def test_texts(folder):
    options = ("--names", folder / "names.txt", "--synonyms", folder / "synonyms.csv", "--out", folder / "counts.csv")
    done = run(folder / "texts.txt", *options)
    assert done.exit_code == 0, done.output
    assert "4 labels in 3 texts" in done.output and "unicorn" in done.output
    found = read_cooccurrence(folder / "counts.csv")
    np.testing.assert_array_equal(found.counts[:3, :3], [[2, 1, 1], [1, 1, 0], [1, 0, 1]])
    stemmed = run(folder / "texts.txt", *options, "--stem", "--window", 3)
    assert stemmed.exit_code == 0
    found = read_cooccurrence(folder / "counts.csv")
    assert found.counts[1, 1] == 2 and found.counts[0, 1] == 0  # "dogs" is a dog now, and four words from the cat


def test_a_labelled_set_added_to_earlier_counts(folder):
    first = run(folder / "set.csv", "--labels", "cat,dog", "--out", folder / "counts.csv")
    assert first.exit_code == 0, first.output
    assert "2 labels in 3 items" in first.output
    np.testing.assert_array_equal(read_cooccurrence(folder / "counts.csv").counts, [[2, 1], [1, 2]])
    again = run(folder / "set.csv", "--labels", "cat,dog", "--add", folder / "counts.csv", "--out", folder / "sum.csv")
    assert again.exit_code == 0
    found = read_cooccurrence(folder / "sum.csv")
    np.testing.assert_array_equal(found.counts, [[4, 2], [2, 4]])
    assert found.n_items == 6


def test_counting_needs_no_features(folder):
    (folder / "tags.csv").write_text("body,tags\nmiaow,cat\nboth,cat;dog\n", encoding="utf-8")
    done = run(folder / "tags.csv", "--labels", "tags", "--out", folder / "counts.csv")
    assert done.exit_code == 0, done.output
    np.testing.assert_array_equal(read_cooccurrence(folder / "counts.csv").counts, [[2, 1], [1, 1]])
    wrong = run(folder / "tags.csv", "--out", folder / "counts.csv")
    assert wrong.exit_code == 2 and "asked for by --labels;" in wrong.output


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--stem"], "are for texts"),
        (["--names", "empty.txt"], "lists no labels"),
        (["--names", "names.txt", "--synonyms", "wrong.csv"], "there is no label 'horse' in names.txt"),
        (["--names", "names.txt", "--window", "0"], "--window must be at least 1"),
    ],
)
def test_wrong_options_are_one_line(folder, options, words, monkeypatch):
    monkeypatch.chdir(folder)
    (folder / "empty.txt").write_text("\n")
    (folder / "wrong.csv").write_text("label,term\nhorse,pony\n")
    done = run("texts.txt", *options, "--out", "counts.csv")
    assert done.exit_code == 2 and words in " ".join(done.output.split())
    assert not (folder / "counts.csv").exists()
