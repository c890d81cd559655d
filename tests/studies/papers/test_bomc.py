"""BOMC done again: the jobs against plain computations, the plan with and without data, a report from made-up rows."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

pytest.importorskip("jinja2", reason="needs the extra plots")
pytest.importorskip("matplotlib", reason="needs the extra plots")

from labelwise.models import OnlineBayes
from labelwise.studies.papers import bomc, load_paper, reproduce_paper
from labelwise.studies.papers.bomc import (
    BAYES,
    MADE_UP,
    RIVALS,
    cut,
    jobs,
    learning_run,
    load,
    threshold_run,
    training_sizes,
    weigh,
)
from labelwise.studies.papers.sets import WordRows

SMALL = {"folder": "", "name": MADE_UP, "seed": 0}


def plain_f1(sets, truth):
    """Macro-F1 over labels with a positive, one label after the other."""
    values = []
    for chosen, true in zip(sets.T, truth.T, strict=True):
        if true.any():
            values.append(2 * np.sum(chosen & true) / (chosen.sum() + true.sum()))
    return np.mean(values)


def largest(p, Y):
    """Class mass, plainly: each label to as many items as its training share says."""
    sets = np.zeros(p.shape, dtype=bool)
    for c in range(p.shape[1]):
        sets[np.argsort(-p[:, c], kind="stable")[: int(np.rint(len(p) * Y[:, c].mean()))], c] = True
    return sets


def small_cut(n=300):
    rows = load("", MADE_UP)
    train, test = cut(rows, "random", 0, "")
    return weigh(rows, train[:n], test[:300], by_rows=True)


def test_sizes():
    assert training_sizes(4930) == [100, 300, 1000, 3000, 4930]
    assert training_sizes(120) == [120]


def test_bayesian_learners_by_the_plain_formula():
    outcome = learning_run(**SMALL, learner="coupled", most=300)
    assert outcome["rows"] == [100, 300]
    data = small_cut()
    p = OnlineBayes(random_state=0).fit(data.X, data.Y).predict_proba(data.X_test)
    assert outcome["f1"][-1]["class mass"] == pytest.approx(plain_f1(largest(p, data.Y), data.truth), abs=1e-9)
    assert 0 < outcome["believed"][-1]["expected F1"] < 1
    assert outcome["sweeps"][-1] >= 2 and outcome["seconds"][-1] > 0
    assert 0 < outcome["bias_variance"][-1] < outcome["bias_variance"][0]


def test_passive_aggressive_is_the_plain_update(monkeypatch):
    """One pass of w += min(C, hinge/‖x‖²) z x with a constant feature, C = 1, rows as they come."""
    plain = SGDClassifier(learning_rate="pa1", eta0=1.0, penalty=None, shuffle=False, **bomc.ONE_PASS)
    monkeypatch.setitem(bomc.RIVALS, "passive-aggressive", (plain,))
    outcome = learning_run(**SMALL, learner="passive-aggressive", most=300)
    data = small_cut()
    X, X_test = (np.hstack([part.toarray(), np.ones((part.shape[0], 1))]) for part in (data.X, data.X_test))
    weights = np.zeros((X.shape[1], data.Y.shape[1]))
    for x, z in zip(X, np.where(data.Y, 1.0, -1.0), strict=True):
        step = np.minimum(1.0, np.maximum(0, 1 - z * (x @ weights)) / (x @ x))
        weights += np.outer(x, step * z)
    f1 = plain_f1(largest(X_test @ weights, data.Y), data.truth)
    assert outcome["f1"][-1]["class mass"] == pytest.approx(f1, abs=1e-9)


def test_labels_without_a_positive_are_given_to_nobody(monkeypatch):
    data = small_cut(100)
    unseen = ~data.Y.any(0) & data.truth.any(0)
    assert unseen.any()
    kept = {}

    def keep(sets, truth):
        kept[len(kept)] = sets
        return bomc_f1(sets, truth)

    bomc_f1 = bomc.macro_f1
    monkeypatch.setattr(bomc, "macro_f1", keep)
    for learner in ("coupled", "SGD"):
        learning_run(**SMALL, learner=learner, most=100)
    tested = [sets for sets in kept.values() if sets.shape[1] == data.Y.shape[1] and not sets[:, unseen].any()]
    assert len(tested) == len(kept) >= 5


def test_thresholds_of_figure_4():
    outcome = threshold_run(**SMALL, learner="coupled")
    chosen, best = outcome["f1"]["independent"], outcome["best"]
    assert 0.3 < chosen <= best <= 1
    rows = load("", MADE_UP)
    data = weigh(rows, *cut(rows, "random", 0, ""), by_rows=True)
    p = OnlineBayes(random_state=0).fit(data.X, data.Y).predict_proba(data.X_test)
    label = int(np.flatnonzero(data.truth.sum(0) == outcome["positives"][0])[0])
    sets = p[:, label] > outcome["thresholds"][20]
    true = data.truth[:, label]
    assert outcome["real_curves"][0][20] == pytest.approx(2 * (sets & true).sum() / (sets.sum() + true.sum()))
    drawn = np.random.default_rng(0).random((4000, len(p))) < p[:, label]  # labels by their probabilities
    values = 2 * (drawn & sets).sum(1) / (drawn.sum(1) + sets.sum())
    assert outcome["believed_curves"][0][20] == pytest.approx(values.mean(), abs=0.01)


def test_plan_by_what_is_there(tmp_path):
    without = jobs(True, None)
    assert {job.settings["name"] for group in without.values() for job in group} == {MADE_UP}
    assert not without["official"]
    for name in ("enron", "bibtex", "rcv1sub1", "reuters21578", "delicious"):
        (tmp_path / name).mkdir()
    quick, full = jobs(True, tmp_path), jobs(False, tmp_path)
    assert {job.settings["name"] for job in quick["curves"]} == {"enron", "bibtex"}
    assert all(job.settings["most"] == bomc.QUICK_ROWS < 1000 for job in quick["curves"])
    assert {job.settings["name"] for job in full["curves"]} == set(bomc.SETS)
    assert {job.settings["learner"] for job in full["curves"]} == {*BAYES, *RIVALS}
    assert len({job.settings["seed"] for job in full["curves"]}) >= 3
    assert {job.settings["split"] for job in full["official"]} == {"official"}
    keys = [job.key for group in full.values() for job in group]
    assert len(set(keys)) == len(keys)


def test_report_from_made_up_rows(tmp_path, monkeypatch):
    rows = load("", MADE_UP)
    small = WordRows(sp.csr_array(rows.X[:450]), rows.Y[:450, :8])
    monkeypatch.setattr(bomc, "load", lambda folder, name: small)
    done = reproduce_paper(load_paper("bomc"), tmp_path, quick=True, n_jobs=1)
    text = done.report.read_text(encoding="utf-8")
    assert "made-up rows of words stand in" in text
    figures = {claim.where for claim in done.claims}
    assert {"Figure 4", "Figure 5", "Figure 6", "Figure 7"} <= figures
    names = [picture.name for exhibit in done.exhibits for picture in exhibit.pictures]
    assert len(set(names)) == len(names) == 5
    assert all(claim.verdict in ("holds", "holds in part", "not shown", "does not hold") for claim in done.claims)


def test_words_are_weighted_by_training_rows_alone():
    counts = np.array([[1, 2, 0], [1, 0, 0], [3, 0, 4], [0, 1, 1]])
    rows = WordRows(sp.csr_array(counts.astype(float)), np.eye(4, 2, dtype=bool))
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
    rows = WordRows(sp.csr_array((9, 2)), np.zeros((9, 1), dtype=bool), is_test=np.arange(9) > 6)
    train, test = cut(rows, "random", 0, "x")
    assert len(test) == 3 and sorted([*train, *test]) == list(range(9))
    assert not np.array_equal(test, cut(rows, "random", 1, "x")[1])
    train, test = cut(rows, "official", 0, "x")
    assert sorted(train) == list(range(7)) and sorted(test) == [7, 8]
    with pytest.raises(ValueError, match="no training and test rows are published for x"):
        cut(WordRows(rows.X, rows.Y), "official", 0, "x")


@pytest.mark.shared_data
def test_published_rows_of_bibtex(shared_data):
    rows = load(str(shared_data), "bibtex")
    train, test = cut(rows, "official", 0, "bibtex")
    assert (len(train), len(test), rows.Y.shape[1]) == (4880, 2515, 159)


def test_made_up_rows():
    rows = load("", MADE_UP)
    assert rows.X.shape[0] == rows.Y.shape[0] and rows.Y.shape[1] == bomc.MADE_UP_LABELS
