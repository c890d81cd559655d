"""The rows and runs of the BOMC reproduction against plain formulas, its plan, its verdicts, and a report."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import SGDClassifier

pytest.importorskip("jinja2", reason="needs the extra plots")
pytest.importorskip("matplotlib", reason="needs the extra plots")

from labelwise.decisions import ExpectedF1
from labelwise.models import OnlineBayes
from labelwise.studies.papers import bomc, load_paper, reproduce_paper
from labelwise.studies.papers.bomc import (
    BAYES,
    BOMC,
    MADE_UP,
    OURS,
    PA,
    SVM,
    PassiveAggressive,
    curve_run,
    cut,
    few_rows_run,
    jobs,
    load,
    threshold_run,
    time_run,
    training_sizes,
    weigh,
)
from labelwise.studies.papers.bomc_exhibits import Decided, two_or_three
from labelwise.studies.papers.sets import WordRows
from labelwise.studies.statistics import Estimate

SMALL = {"folder": "", "name": MADE_UP, "seed": 0, "most": 300}


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
    train, test = cut(rows, 0)
    return weigh(rows, train[:n], test[:300], by_rows=True)


@pytest.fixture(scope="module")
def as_published():
    data = small_cut()
    return data, OnlineBayes.paper(random_state=0).fit(data.X, data.Y).posterior(data.X_test)


def test_sizes():
    assert training_sizes(4930) == [100, 300, 1000, 3000, 4930]
    assert training_sizes(120) == [120]


def test_bayesian_learners_by_the_plain_formula(as_published):
    outcome = curve_run(**SMALL, learner=BOMC)
    assert outcome["rows"] == [100, 300]
    data, beliefs = as_published
    p = beliefs.probabilities()
    assert outcome["f1"][-1]["class mass"] == pytest.approx(plain_f1(largest(p, data.Y), data.truth), abs=1e-9)
    rule = ExpectedF1(method="samples", n_samples=5, thresholds=20, known_labels=data.Y.any(0))
    assert outcome["f1"][-1]["5 samples"] == pytest.approx(plain_f1(rule.decide(beliefs), data.truth), abs=1e-9)
    assert 0 < outcome["believed"][-1]["expected F1"] < 1
    assert outcome["sweeps"][-1] >= 2
    assert 0 < outcome["bias_variance"][-1] < outcome["bias_variance"][0]


# -- passive-aggressive ------------------------------------------------------------------------------------------------


def plain_passive_aggressive(data, C):
    """PA-I row by row: all weights after each row."""
    X = np.hstack([np.ones((data.X.shape[0], 1)), data.X.toarray()])
    weights, after = np.zeros((X.shape[1], data.Y.shape[1])), []
    for x, z in zip(X, np.where(data.Y, 1.0, -1.0), strict=True):
        step = np.minimum(C, np.maximum(0, 1 - z * (x @ weights)) / (x @ x))
        weights = weights + np.outer(x, step * z)
        after.append(weights)
    return after


@pytest.mark.parametrize("C", [0.05, 1.0])
def test_passive_aggressive_is_the_plain_update(C):
    data = small_cut(60)
    after = plain_passive_aggressive(data, C)
    for averaged, expected in ((False, after[-1]), (True, np.mean(after, axis=0))):
        for dtype, tolerance in ((np.float64, 1e-12), (np.float32, 1e-4)):
            model = PassiveAggressive(C, averaged, seed=None, dtype=dtype).fit(data.X, data.Y)
            np.testing.assert_allclose(model.weights_[:, :30], expected, atol=tolerance)
            assert not model.weights_[:, 30:].any()  # padding


def test_passive_aggressive_is_scikit_learns():
    data = small_cut(80)
    how = {"learning_rate": "pa1", "eta0": 0.3, "penalty": None, "max_iter": 1, "tol": None, "fit_intercept": False}
    X = np.hstack([np.ones((80, 1)), data.X.toarray()])
    ours = PassiveAggressive(0.3, seed=None, dtype=np.float64).fit(data.X, data.Y)
    for label in range(3):
        theirs = SGDClassifier(shuffle=False, **how).fit(X, data.Y[:, label])
        np.testing.assert_allclose(ours.weights_[:, label], theirs.coef_[0], atol=1e-10)


def test_cross_validation_by_the_svm_serves_passive_aggressive_learning(monkeypatch):
    """Thresholds and C are those that the SVM's folds choose; the scores are those of PA-I with that C."""
    monkeypatch.setattr(bomc, "PENALTIES", (0.3,))
    chosen = []
    fit = bomc.TunedThreshold.fit
    monkeypatch.setattr(
        bomc.TunedThreshold, "fit", lambda *given, **how: chosen.append(fit(*given, **how)) or chosen[-1]
    )
    outcome = curve_run(**SMALL | {"most": 140}, learner=SVM)
    data = small_cut(140)
    p = PassiveAggressive(0.3, seed=0).fit(data.X, data.Y).posterior(data.X_test).probabilities()[:140]
    f1 = plain_f1((p > chosen[-1].values) & data.Y.any(0), data.truth[:140])
    assert outcome["f1"][-1][bomc.PA_BATCH] == pytest.approx(f1, abs=1e-9)


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
    for learner in (OURS, PA):
        curve_run(**SMALL | {"most": 100}, learner=learner)
    tested = [sets for sets in kept.values() if sets.shape[1] == data.Y.shape[1] and not sets[:, unseen].any()]
    assert len(tested) == len(kept) >= 5


# -- figures 4, 5(c), 7 ------------------------------------------------------------------------------------------------


def test_thresholds_of_figure_4(as_published):
    outcome = threshold_run(**SMALL, learner=BOMC)
    data, beliefs = as_published
    p, judged = beliefs.probabilities(), data.truth.any(0) & data.Y.any(0)
    assert outcome["judged"]["all"] == judged.sum() >= outcome["judged"]["frequent"]
    real = np.array(
        [[plain_f1((p[:, [c]] > g / 20), data.truth[:, [c]]) for g in range(20)] for c in np.flatnonzero(judged)]
    )
    assert outcome["best"]["all"] == pytest.approx(real.max(1).mean())
    for rule in ("5 samples", "10 samples", "20 samples", "exact"):  # chosen among the same thresholds
        assert outcome["f1"]["all"][rule] <= outcome["best"]["all"] + 1e-12
    assert outcome["best"]["all"] <= outcome["finest"]["all"]
    assert outcome["f1"]["all"]["exact, every set"] <= outcome["finest"]["all"]
    label = int(np.flatnonzero(data.truth.sum(0) == outcome["positives"][0])[0])
    sets, true = p[:, label] > outcome["thresholds"][6], data.truth[:, label]
    assert outcome["curves"]["real"][0][6] == pytest.approx(2 * (sets & true).sum() / (sets.sum() + true.sum()))
    drawn = np.random.default_rng(0).random((4000, len(p))) < p[:, label]  # labels by their probabilities
    values = 2 * (drawn & sets).sum(1) / (drawn.sum(1) + sets.sum())
    assert outcome["curves"]["exact"][0][6] == pytest.approx(values.mean(), abs=0.01)
    rule = ExpectedF1(method="samples", n_samples=5, thresholds=20, known_labels=np.ones(30, dtype=bool))
    assert max(outcome["curves"]["5 samples"][0]) == pytest.approx(rule.decide_scored(beliefs).expected[label])


def test_few_test_rows_at_a_time(monkeypatch, as_published):
    monkeypatch.setattr(bomc, "FEW_TEST_ROWS", 70)
    monkeypatch.setattr(bomc, "FREQUENT", 10)
    outcome = few_rows_run(**SMALL, learner=BOMC)
    data, beliefs = as_published
    p, kept = beliefs.probabilities(), data.truth.sum(0) >= 10
    parts = [slice(start, start + 70) for start in (0, 70, 140, 210)]  # 20 rows are left over
    cuts = [largest(p[part], data.Y)[:, kept] for part in parts]
    truth = data.truth[:280][:, kept]
    assert outcome["judged"] == kept.sum() > 3
    few = np.mean([plain_f1(sets, truth[part]) for sets, part in zip(cuts, parts, strict=True)])
    assert outcome["few"]["class mass"] == pytest.approx(few)
    assert outcome["together"]["class mass"] == pytest.approx(plain_f1(np.vstack(cuts), truth))
    assert outcome["all"]["class mass"] == pytest.approx(plain_f1(largest(p[:280], data.Y)[:, kept], truth))


def test_times_grow_with_the_rows(monkeypatch):
    monkeypatch.setattr(bomc, "LIBLINEAR", {"tol": 1.0, "max_iter": 2})
    outcome = time_run(**SMALL | {"most": 160})
    assert outcome["rows"] == [100, 160]
    assert {PA, "scikit-learn's PA", SVM, BOMC, "independent, as published"} < set(outcome["seconds"])
    assert all(second > 0 for seconds in outcome["seconds"].values() for second in seconds)


# -- plan, verdicts, report --------------------------------------------------------------------------------------------


def test_plan_by_what_is_there(tmp_path):
    without = jobs(True, None)
    assert {job.settings["name"] for group in without.values() for job in group} == {MADE_UP}
    for name in bomc.SETS:
        (tmp_path / name).mkdir()
    quick, full = jobs(True, tmp_path), jobs(False, tmp_path)
    assert {job.settings["name"] for job in quick["curves"]} == {"enron", "bibtex"}
    assert all(job.settings["most"] == bomc.QUICK_ROWS < 1000 for job in quick["curves"])
    assert {job.settings["learner"] for job in full["curves"]} == {*BAYES, PA, SVM}
    for group in full.values():
        assert {job.settings["name"] for job in group} == set(bomc.SETS)
        assert len({job.settings["seed"] for job in group}) >= 5
    keys = [job.key for group in full.values() for job in group]
    assert len(set(keys)) == len(keys)


def test_rcv1_is_read_where_it_is(tmp_path):
    folder = tmp_path / "rcv1v2"
    folder.mkdir()
    assert "rcv1v2 topics" not in {job.settings["name"] for job in jobs(False, tmp_path)["curves"]}
    (folder / "lyrl2004_vectors_train.dat").write_text("2286  1:0.6 3:0.8\n")
    (folder / "lyrl2004_vectors_test_pt0.dat").write_text("2287  2:1\n")
    (folder / "rcv1-v2.topics.qrels").write_text("GCAT 2286 1\nECAT 2287 1\nCCAT 2287 1\n")
    assert [job.settings["name"] for job in jobs(False, tmp_path)["times"][-5:]] == ["rcv1v2 topics"] * 5
    rows = load(str(tmp_path), "rcv1v2 topics")
    np.testing.assert_allclose(rows.X.toarray(), [[0.6, 0, 0.8], [0, 1, 0]], rtol=1e-6)
    np.testing.assert_array_equal(rows.Y, [[False, False, True], [True, True, False]])


def test_stages_of_claims():
    run = {"f1": [{"class mass": 0.1}, {"class mass": 0.2}, {"class mass": 0.3}, {"class mass": 0.4}]}
    assert [Decided(BOMC, "class mass", at).f1(run) for at in range(3)] == [0.1, 0.3, 0.4]


@pytest.mark.parametrize(
    ("factors", "verdict"),
    [
        ([2.0, 2.9], "holds"),
        ([1.2, 2.0], "holds in part"),
        ([2.0, 5.0], "holds in part"),
        ([0.2, 2.0], "does not hold"),
    ],
)
def test_two_to_three_times_faster(factors, verdict):
    logs = [Estimate.of(np.log(factor) + np.array([-0.01, 0, 0.01, 0, 0.005])) for factor in factors]
    assert two_or_three(logs) == verdict


def test_report_from_made_up_rows(tmp_path, monkeypatch):
    rows = load("", MADE_UP)
    small = WordRows(sp.csr_array(rows.X[:450]), rows.Y[:450, :8])
    monkeypatch.setattr(bomc, "load", lambda folder, name: small)
    monkeypatch.setattr(bomc, "FEW_TEST_ROWS", 60)
    monkeypatch.setattr(bomc, "FREQUENT", 5)
    done = reproduce_paper(load_paper("bomc"), tmp_path, quick=True, n_jobs=1)
    text = done.report.read_text(encoding="utf-8")
    assert "made-up rows of words stand in" in text and "LaSVM" in text and "RCV1-v2" in text
    figures = {claim.where for claim in done.claims}
    assert {"Figure 4", "Figure 5", "Figure 5c, d", "Figure 6", "Figure 7"} <= figures
    names = [picture.name for exhibit in done.exhibits for picture in exhibit.pictures]
    assert len(set(names)) == len(names) == 5
    assert all(exhibit.protocol for exhibit in done.exhibits if exhibit.claims)
    assert {claim.verdict for claim in done.claims} == {"not shown"}  # a quick run judges nothing


# -- data --------------------------------------------------------------------------------------------------------------


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


def test_random_rows():
    rows = WordRows(sp.csr_array((9, 2)), np.zeros((9, 1), dtype=bool))
    train, test = cut(rows, 0)
    assert len(test) == 3 and sorted([*train, *test]) == list(range(9))
    assert not np.array_equal(test, cut(rows, 1)[1])


@pytest.mark.shared_data
def test_published_rows_of_enron(shared_data):
    rows = load(str(shared_data), "enron")
    assert (rows.X.shape, rows.Y.shape) == ((1702, 1001), (1702, 53))


def test_made_up_rows():
    rows = load("", MADE_UP)
    assert rows.X.shape[0] == rows.Y.shape[0] and rows.Y.shape[1] == bomc.MADE_UP_LABELS
