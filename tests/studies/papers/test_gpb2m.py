"""The reproduction of GP-B²M: preparation against its definitions, jobs on small data, exhibits on made-up outcomes."""

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("jinja2", reason="needs the extra plots")

from labelwise.data import make_shapes, write
from labelwise.records import LabelData
from labelwise.studies.papers import gpb2m as paper
from labelwise.studies.papers import load_paper, sets
from labelwise.studies.papers.gpb2m import PAPER
from labelwise.studies.papers.sets import covering_rows, knowing, load_bench


def sparse_data(n=90, d=40, q=6, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.csr_array((rng.random((n, d)) < 0.15) * 1.0)
    Y = rng.random((n, q)) < np.linspace(0.05, 0.6, q)
    return LabelData.from_arrays(X, Y)


@pytest.mark.parametrize("seed", range(5))
def test_the_start_has_every_label(seed):
    Y = sp.csr_array(np.random.default_rng(seed).random((300, 20)) < 0.03)
    rows = covering_rows(Y, 40, np.random.default_rng(seed))
    assert len(set(rows)) == 40
    np.testing.assert_array_equal(Y[rows].toarray().any(0), Y.toarray().any(0))
    assert set(rows) != set(covering_rows(Y, 40, np.random.default_rng(seed + 100)))


def test_only_the_start_is_known():
    data = sparse_data()
    known = knowing(data, np.array([3, 50]))
    assert known.n_observed == 2 * data.n_labels
    np.testing.assert_array_equal(known.Y[[3, 50]].toarray(), data.Y[[3, 50]].toarray())


def test_a_bench_keeps_test_items_apart_and_prepares_on_the_pool(monkeypatch):
    monkeypatch.setattr(sets, "N_TEST", 30)
    monkeypatch.setattr(sets, "read", lambda file: sparse_data())
    bench = load_bench("made", 5, seed=1)
    assert bench.test.n_items == 30 and bench.truth.n_items == 60
    assert not set(bench.test.item_ids) & set(bench.truth.item_ids)
    assert bench.known.n_observed == 40 * bench.truth.n_labels
    np.testing.assert_allclose(np.linalg.norm(bench.truth.X, axis=1), 1, atol=1e-9)
    again = load_bench("made", 5, seed=1)
    np.testing.assert_array_equal(again.truth.X, bench.truth.X)


def test_dense_features_are_standardised_by_the_pool_and_rows_have_unit_length(tmp_path):
    data = make_shapes(700, random_state=0)
    write(data, tmp_path / "shapes.jsonl")
    bench = load_bench(tmp_path / "shapes.jsonl", 5, seed=0)
    rows = [[data.item_ids.index(item) for item in part.item_ids] for part in (bench.truth, bench.test)]
    pool, test = (np.asarray(data.X)[each] for each in rows)
    expected = (test - pool.mean(0)) / pool.std(0)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(bench.test.X, expected, atol=1e-9)


@pytest.mark.parametrize("arm", [("label_gp", "random"), ("mixture", "scheduled")])
def test_a_campaign_grows_by_ten(tmp_path, monkeypatch, arm):
    monkeypatch.setattr(paper, "CAMPAIGN_MIXTURE", {"n_components": 4, "restarts": 1, "max_sweeps": 6})
    write(make_shapes(620, random_state=0), tmp_path / "shapes.jsonl")
    model, questions = arm
    run = paper.campaign_run(str(tmp_path / "shapes.jsonl"), 10, "shapes", 0, 1, model, questions)
    assert run["items"] == [40, 50] and len(run["macro_roc_auc"]) == 2
    assert 0.5 < run["macro_roc_auc"][-1] <= 1
    assert len(run["average_precision"]) == len(run["frequency"]) == run["labels"]


def test_shapes_are_judged_by_kind(monkeypatch):
    monkeypatch.setattr(paper, "N_PLANE_TEST", 300)
    run = paper.shapes_run(0, "linear")
    assert set(run["auc"]) == {"G", "C", "O", "E"}
    assert run["ceiling"]["G"] == 1 and run["auc"]["E"] < 0.65 < run["auc"]["G"]


def test_the_components_of_the_plane(monkeypatch):
    monkeypatch.setattr(paper, "GRID", 8)
    monkeypatch.setattr(paper, "N_TRAIN", 60)
    run = paper.components_run(0)
    maps = np.array(run["maps"])
    np.testing.assert_allclose(maps.sum(0), 1, atol=1e-2)  # rounded
    sizes = [part["size"] for part in run["components"]]
    assert sizes == sorted(sizes, reverse=True) and sum(sizes) == pytest.approx(60)
    assert maps.shape == (len(sizes), 8, 8)


def test_the_plan_needs_no_data(tmp_path):
    assert set(paper.jobs(True, None)) == {"shapes", "components", "sizes"}
    whole = paper.jobs(False, tmp_path)
    assert {job.settings["name"] for job in whole["curves"]} == {"enron", "yeast", "corel5k", "bibtex", "delicious"}
    keys = [job.key for jobs in whole.values() for job in jobs]
    assert len(set(keys)) == len(keys)


def made_up(seed, model, questions, name, level):
    rng = np.random.default_rng([seed, len(name)])
    return {
        "set": name,
        "seed": seed,
        "model": model,
        "questions": questions,
        "items": [40, 50, 60],
        **{measure: [level - 0.02, level - 0.01, level + 0.01 * seed] for measure in paper.MEASURES},
        "frequency": rng.uniform(0.01, 0.5, 9).tolist(),
        "average_precision": np.clip(rng.uniform(0.1, 0.5, 9) + level - 0.6, 0.01, 1).tolist(),
    }


@pytest.fixture
def outcomes():
    levels = {("mixture", "scheduled"): 0.66, ("mixture", "random"): 0.6}
    names, seeds = ("enron", "yeast", "corel5k"), range(2)
    curves = [made_up(s, *arm, n, levels.get(arm, 0.58)) for n in names for s in seeds for arm in paper.ARMS]
    kinds = ("exploring_only", "raw", "entropy")
    weights = [made_up(s, "mixture", kind, "enron", 0.58) for s in seeds for kind in kinds]
    auc = {"G": 0.9, "C": 0.8, "O": 0.9, "E": 0.5}
    better = {"G": 0.95, "C": 0.81, "O": 0.99, "E": 0.8}
    shapes = [
        {"seed": 0, "model": m, "auc": better if m == "mixture" else auc, "macro": 0.8, "ceiling": better}
        for m in (*paper.MIXTURES, *paper.RIVALS)
    ]
    sizes = [
        {"seed": 0, "n_train": n, "n_components": k, "prune_ratio": ratio, "kept": 3, "macro": 0.8 + k / 100 - ratio}
        for n in (60, paper.N_TRAIN)
        for k in (5, 10)
        for ratio in (0.0, 0.6)
    ]
    return {"shapes": shapes, "sizes": sizes, "curves": curves, "weights": weights}


def test_verdicts_follow_the_figures(outcomes):
    claims = {claim.says: claim for exhibit in PAPER.exhibits(outcomes) for claim in exhibit.claims}
    beaten = claims["the mixture beats linear binary relevance on every kind of label"]
    assert beaten.ours == "+0.050 G, +0.010 C, +0.090 O, +0.300 E" and beaten.verdict == "holds in part"
    assert claims["and is at most 0.02 below the best non-linear rival"].verdict == "holds"
    assert claims["fewer components are better at first"].verdict == "does not hold"
    assert claims["dropping small components (ρ = 0.6) helps"].verdict == "does not hold"
    wins = claims["with the schedule the area is larger on at least three sets of four"]
    assert wins.ours == "on 3 of 3; +6.0 ± 0.0 points over 6 runs" and wins.verdict == "holds"
    lost = claims["covariance only beats random in the same model (enron, yeast, corel5k)"]
    assert lost.verdict == "does not hold" and lost.ours.startswith("-2.0, -2.0, -2.0 points")
    assert claims["η = 1 on the raw terms matters"].verdict == "does not hold"
    assert "rare labels gain over logistic regression" in claims


def test_tables_have_every_arm(outcomes):
    curves = next(exhibit for exhibit in PAPER.exhibits(outcomes) if exhibit.title.startswith("Figure 6:"))
    assert len(curves.rows) == 3 * len(paper.ARMS) and len(curves.pictures) == 3
    gains = {name: cells[4].text for name, cells in curves.rows}
    assert gains["enron · scheduled"] == "+6.0 ± 0.0 points" and gains["enron · random"] == "—"
    assert dict(curves.rows)["enron · scheduled"][5].text == "+6.0 +6.0"


def test_it_is_registered():
    assert load_paper("gpb2m").jobs is paper.jobs
