"""Cooccurrence: counts against a plain count, order and scale, csv there and back, wrong files named."""

import numpy as np
import pytest

import labelwise as lw
from labelwise.data import Cooccurrence, FormatError, read_cooccurrence, write_cooccurrence
from labelwise.models import CooccurrenceTransfer
from labelwise.records import LabelData

NAMES = ("a", "b", "c", "d")


@pytest.fixture
def labels():
    return np.random.default_rng(0).random((60, 4)) < 0.4


def plain(Y, known, i, j):
    both = known[:, i] & known[:, j]
    return np.sum(Y[both, i] & Y[both, j]) if both.any() else np.nan


def test_counts_of_a_labelled_set(labels):
    data = LabelData.from_arrays(np.zeros((60, 1)), labels, label_names=NAMES)
    found = Cooccurrence.from_labels(data)
    known = np.ones(labels.shape, dtype=bool)
    for i in range(4):
        for j in range(4):
            assert found.counts[i, j] == plain(labels, known, i, j)
    assert found.n_items == 60


def test_pairs_never_known_together_are_unknown(labels):
    observed = np.ones(labels.shape, dtype=bool)
    observed[:30, 0], observed[30:, 1] = False, False
    found = Cooccurrence.from_labels(LabelData.from_arrays(np.zeros((60, 1)), labels, observed=observed))
    assert np.isnan(found.counts[0, 1]) and not np.isnan(found.counts[0, 2])
    assert found.counts[0, 2] == plain(labels, observed, 0, 2)


def test_align_reorders_and_says_what_is_unknown(labels):
    counts = labels.T.astype(float) @ labels
    found = Cooccurrence(NAMES, counts).align(["c", "x", "a"])
    assert found.names == ("c", "x", "a")
    assert found.counts[0, 2] == counts[2, 0] and np.isnan(found.counts[1]).all()
    assert found.without_counts() == ("x",)
    alone = counts.copy()
    alone[3, :3], alone[:3, 3] = 0.0, 0.0
    assert Cooccurrence(NAMES, alone).without_counts() == ("d",)


def test_shares_are_conditional(labels):
    counts = labels.T.astype(float) @ labels
    shares = Cooccurrence(NAMES, counts).shares_of("b")
    assert set(shares) == {"a", "c", "d"}
    assert shares["a"] == pytest.approx(np.mean(labels[labels[:, 0], 1]))
    with pytest.raises(ValueError, match="no counts of label 'z'"):
        Cooccurrence(NAMES, counts).shares_of("z")


def test_shares_are_of_the_items_that_were_asked(labels):
    """Through reordering and adding."""
    observed = np.ones(labels.shape, dtype=bool)
    observed[20:, 1] = False
    data = LabelData.from_arrays(np.zeros((60, 1)), labels, observed=observed, label_names=NAMES)
    found = Cooccurrence.from_labels(data)
    expected = {name: labels[:20, 1][labels[:20, j]].mean() for j, name in enumerate(NAMES) if name != "b"}
    assert found.shares_of("b") == pytest.approx(expected)
    assert found.align(["d", "b", "x"]).shares_of("b") == pytest.approx({"d": expected["d"]})
    assert (found + found).shares_of("b") == pytest.approx(expected)
    whole = Cooccurrence(NAMES, labels.T.astype(float) @ labels)
    mixed = (labels[:, 0] & labels[:, 1]).sum() + (labels[:20, 0] & labels[:20, 1]).sum()
    assert (found + whole).shares_of("b")["a"] == pytest.approx(mixed / (labels[:, 0].sum() + labels[:20, 0].sum()))
    assert found.shares_of("a") == pytest.approx(whole.shares_of("a") | {"b": found.shares_of("a")["b"]})


def test_sources_add_up(labels):
    halves = [
        Cooccurrence.from_labels(LabelData.from_arrays(np.zeros((30, 1)), part, label_names=NAMES))
        for part in (labels[:30], labels[30:])
    ]
    whole = halves[0] + halves[1]
    np.testing.assert_array_equal(whole.counts, labels.T.astype(float) @ labels)
    assert whole.n_items == 60
    more = halves[0] + Cooccurrence(("a", "e"), np.array([[5.0, 2.0], [2.0, 3.0]]))
    assert more.names == (*NAMES, "e") and more.counts[0, 0] == halves[0].counts[0, 0] + 5
    assert more.counts[0, 4] == 2 and np.isnan(more.counts[1, 4]) and more.n_items is None


@pytest.mark.parametrize("name", ["counts.csv", "counts.csv.gz"])
def test_csv_there_and_back(tmp_path, name):
    counts = np.array([[4.0, 0.0, np.nan], [0.0, 2.5, 1.0], [np.nan, 1.0, np.nan]])
    path = tmp_path / name
    write_cooccurrence(Cooccurrence(("a", 'say "b", c', "ü"), counts, 100), path)
    found = read_cooccurrence(path)
    assert found.names == ("a", 'say "b", c', "ü") and found.n_items == 100
    np.testing.assert_array_equal(found.counts, counts)


@pytest.mark.parametrize("name", [" a", "a ", "\ta"])
def test_blanks_that_belong_to_a_name_come_back(tmp_path, name):
    path = tmp_path / "counts.csv"
    write_cooccurrence(Cooccurrence((name, "b"), np.array([[4.0, 1.0], [1.0, np.nan]]), 9), path)
    found = read_cooccurrence(path)
    assert found.names == (name, "b") and found.n_items == 9
    np.testing.assert_array_equal(found.counts, [[4.0, 1.0], [1.0, np.nan]])


def test_blanks_around_names_that_somebody_wrote_do_not_count(tmp_path):
    path = tmp_path / "counts.csv"
    path.write_text("label, other, count\ncats , cats, 4\ncats, dogs ,1\n")
    assert read_cooccurrence(path).names == ("cats", "dogs")


def test_pairs_alone_leave_the_rest_unknown(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("Label,Other,Count\ncats,kittens,12\ncats,cats,40\n\ndogs,dogs,5\n")
    found = read_cooccurrence(path).align(["cats", "dogs", "kittens"])
    np.testing.assert_array_equal(found.counts, [[40, 0, 12], [0, 5, np.nan], [12, np.nan, np.nan]])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n", "line 1: found the columns"),
        ("", "line 1: found the columns None"),
        ("label,other,count\na,b\n", "line 2: found 2 fields"),
        ("label,other,count\na,b,many\n", "line 2: found the count 'many'"),
        ("label,other,count\na,b,-1\n", "line 2: found the count '-1'"),
        ("label,other,count\na,,3\n", "line 2: found a count with one label only"),
        ("label,other,count\na,b,3\nb,a,3\n", "line 3: the pair 'b', 'a' is listed twice"),
    ],
)
def test_wrong_files_are_named(tmp_path, text, words):
    path = tmp_path / "counts.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=words):
        read_cooccurrence(path)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (np.ones((2, 2)), "shape"),
        (-np.ones((4, 4)), "0 or more"),
        (np.triu(np.ones((4, 4))), "symmetric"),
    ],
)
def test_wrong_counts_are_named(counts, words):
    with pytest.raises(ValueError, match=words):
        Cooccurrence(NAMES, counts)


def test_counts_go_into_a_model_and_a_campaign(labels):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3))
    outside = Cooccurrence(NAMES, labels.T.astype(float) @ labels)
    data = LabelData.from_arrays(X, labels[:, :3], label_names=NAMES[:3])
    Y = np.column_stack([labels[:, :3], np.full(60, np.nan)])
    counts = outside.align(NAMES).counts
    assert CooccurrenceTransfer(cooccurrence=counts).fit(X, Y).predict_proba(X)[:, 3].std() > 0
    campaign = lw.Campaign(data, model=lw.LabelGP(), strategy=lw.Random()).add_label("d", like=outside.shares_of("d"))
    assert campaign.believe().probabilities()[:, 3].std() > 0
