"""The reproduction of GP-B²M: preparation against its definitions, jobs on small data, exhibits on made-up outcomes."""

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("jinja2", reason="needs the extra plots")

from labelwise.data import make_shapes, write
from labelwise.records import LabelData
from labelwise.studies.papers import gpb2m, load_paper, sets
from labelwise.studies.papers import gpb2m_exhibits as paper
from labelwise.studies.papers.gpb2m_exhibits import PAPER
from labelwise.studies.papers.sets import covering_rows, knowing, load_bench


@pytest.fixture(autouse=True)
def no_kept_benches():
    load_bench.cache_clear()
    sets._used_items.cache_clear()


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
    monkeypatch.setattr(sets, "read", lambda file: sparse_data())
    bench = load_bench("made", 40, seed=1)
    assert bench.test.n_items == 30 and bench.truth.n_items == 60
    assert not set(bench.test.item_ids) & set(bench.truth.item_ids)
    assert bench.known.n_observed == 40 * bench.truth.n_labels
    np.testing.assert_allclose(np.linalg.norm(bench.truth.X, axis=1), 1, atol=1e-9)
    load_bench.cache_clear()
    again = load_bench("made", 40, seed=1)
    np.testing.assert_array_equal(again.truth.X, bench.truth.X)


@pytest.mark.parametrize("n_used", [None, 60])
def test_labels_are_filtered_by_the_items_used_which_do_not_depend_on_the_seed(monkeypatch, n_used):
    data = sparse_data()
    monkeypatch.setattr(sets, "read", lambda file: data)
    benches = [load_bench("made", 20, seed, n_used) for seed in (0, 1)]
    used = [set(bench.truth.item_ids) | set(bench.test.item_ids) for bench in benches]
    assert used[0] == used[1] and len(used[0]) == (n_used or 90)
    assert benches[0].truth.item_ids != benches[1].truth.item_ids
    rows = [data.item_ids.index(item) for item in used[0]]
    enough = data.Y.toarray()[rows].sum(0) >= 20
    assert 0 < enough.sum() < data.n_labels
    assert benches[0].truth.label_names == tuple(np.array(data.label_names)[enough])


def test_dense_features_are_standardised_by_the_pool_and_rows_have_unit_length(tmp_path):
    data = make_shapes(700, random_state=0)
    write(data, tmp_path / "shapes.jsonl")
    bench = load_bench(tmp_path / "shapes.jsonl", 40, seed=0)
    rows = [[data.item_ids.index(item) for item in part.item_ids] for part in (bench.truth, bench.test)]
    pool, test = (np.asarray(data.X)[each] for each in rows)
    expected = (test - pool.mean(0)) / pool.std(0)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(bench.test.X, expected, atol=1e-9)


@pytest.mark.parametrize("arm", [("label_gp", "random"), ("mixture", "scheduled")])
def test_a_campaign_grows_by_25(tmp_path, monkeypatch, arm):
    small = {"n_components": 4, "restarts": 1, "max_sweeps": 6}
    monkeypatch.setitem(gpb2m.MODELS, "mixture", lambda seed: gpb2m.mixture(seed, **small))
    monkeypatch.setitem(gpb2m.START, "shapes", 40)
    learnt = []
    fit = gpb2m.Campaign.fitted
    monkeypatch.setattr(gpb2m.Campaign, "fitted", lambda self: learnt.append(self.labelled().n_observed) or fit(self))
    write(make_shapes(300, random_state=0), tmp_path / "shapes.jsonl")
    run = gpb2m.campaign_run(str(tmp_path / "shapes.jsonl"), "shapes", 0, 2, *arm)
    assert run["items"] == [40, 65, 90] and len(run["macro_roc_auc"]) == 3 and run["lacking"] == 0
    assert sorted({n // run["labels"] for n in learnt}) == [40, 65, 90]
    assert 0.5 < run["macro_roc_auc"][-1] <= 1
    assert len(run["average_precision"]) == len(run["roc_auc"]) == len(run["frequency"]) == run["labels"]
    assert np.mean(run["roc_auc"]) == pytest.approx(run["macro_roc_auc"][-1])
    assert run["kept"] == ([4, 4, 4] if arm[0] == "mixture" else [0, 0, 0])


def test_shapes_are_judged_by_kind(monkeypatch):
    monkeypatch.setattr(gpb2m, "N_PLANE_TEST", 300)
    run = gpb2m.shape_kinds_run(0, "linear")
    assert set(run["auc"]) == {"G", "C", "O", "E", "E4"}
    assert run["ceiling"]["G"] == 1 and run["auc"]["E"] < 0.65 < run["auc"]["G"]


@pytest.fixture
def small_plane(monkeypatch):
    monkeypatch.setattr(gpb2m, "GRID", 8)
    monkeypatch.setattr(gpb2m, "N_TRAIN", 60)
    monkeypatch.setattr(gpb2m, "N_PLANE_TEST", 100)


def test_the_components_of_the_plane(small_plane):
    run = gpb2m.plane_components_run(0)
    maps = np.array(run["maps"])
    np.testing.assert_allclose(maps.sum(0), 0.25, atol=1e-2)  # one restart of four; rounded
    sizes = [part["size"] for part in run["components"]]
    assert sizes == sorted(sizes, reverse=True) and sum(sizes) == pytest.approx(60)
    assert maps.shape == (len(sizes), 8, 8)
    assert 0 <= run["told_in_e4"] <= 1 and 0 <= run["new_in_e4"] <= 1


def test_top_components_are_counted_within_each_restart():
    weights = np.array([[0.1, 0.4, 0.3, 0.2], [0.3, 0.2, 0.1, 0.4]])  # tops: 1 and 2, 0 and 3
    assert gpb2m._top_share(weights, np.array([0, 0, 1, 1]), np.array([True, False, True, False])) == 0.5
    assert gpb2m._top_share(weights, np.array([0, 0, 1, 1]), np.array([True, True, True, False])) == 0.75


def test_the_maps_of_a_label(small_plane):
    run = gpb2m.label_maps_run(0)
    assert set(run["maps"]) == {*gpb2m.MAPPED, "exact"}
    exact = np.array(run["maps"]["exact"])
    assert exact.shape == (8, 8) and set(exact.ravel()) == {0, 0.21} and exact[4, 4] == 0.21 and exact[0, 0] == 0
    assert sum(run["has"]) > 0 and len(run["points"]) == 60


def test_the_plan_needs_no_data(tmp_path):
    assert set(paper.jobs(True, None)) == {"shapes", "components", "label maps"}
    whole = paper.jobs(False, tmp_path)
    curves = whole["curves"]
    assert {job.settings["name"] for job in curves} == {"enron", "yeast", "corel5k", "bibtex", "delicious"}
    assert len(curves) == 5 * 5 * len(gpb2m.ARMS) and len({job.settings["seed"] for job in curves}) == 5
    keys = [job.key for jobs in whole.values() for job in jobs]
    assert len(set(keys)) == len(keys)


NAMES, SEEDS = ("enron", "yeast", "corel5k"), range(5)


def made_up(seed, arm, name, level):
    rng = np.random.default_rng([seed, len(name)])
    wobble = np.random.default_rng([seed, len(name), *map(ord, "".join(arm))]).normal(0, 0.001)
    curve = [level - 0.02 + wobble, *[level] * 5, level + 0.01 * seed + wobble]
    frequency, base = rng.uniform(0.01, 0.5, 9), rng.uniform(0.3, 0.5, 9)
    rare = np.where(frequency <= np.sort(frequency)[2], level - 0.6, 0.0) + wobble
    return {
        **{"set": name, "seed": seed, "model": arm[0], "questions": arm[1]},
        **{
            "labels": 9,
            "lacking": 0,
            "n_pool": 300,
            "n_test": 100,
            "kept": [80] * 7,
            "items": list(range(40, 180, 20)),
        },
        **dict.fromkeys(paper.MEASURES, curve),
        "frequency": frequency.tolist(),
        "average_precision": (base + rare).tolist(),
        "roc_auc": (base + 0.2 + rare).tolist(),
    }


@pytest.fixture(scope="module")
def outcomes():
    levels = {paper.OURS: 0.66, paper.RANDOM: 0.62, paper.VARIANCE: 0.64}
    curves = [made_up(s, arm, n, levels.get(arm, 0.6)) for n in NAMES for s in SEEDS for arm in gpb2m.ARMS]
    more = {
        group: [made_up(s, arm, "enron", levels.get(arm, 0.6)) for s in SEEDS for arm in arms if arm != paper.OURS]
        for group, arms in {"weights": gpb2m.WEIGHT_ARMS, "sizes": gpb2m.SIZE_ARMS}.items()
    }
    auc = {"G": 0.9, "C": 0.8, "O": 0.9, "E": 0.5, "E4": 0.5}
    better = {"G": 0.95, "C": 0.8, "O": 0.99, "E": 0.8, "E4": 0.8}
    rng = np.random.default_rng(0)
    shapes = [
        {
            **{"seed": seed, "model": m, "macro": 0.8, "ceiling": better},
            "auc": {k: v + rng.normal(0, 0.002) for k, v in (better if m == "mixture" else auc).items()},
        }
        for seed in SEEDS
        for m in gpb2m.IN_THE_PLANE
    ]
    return {"shapes": shapes, "curves": curves, **more}


@pytest.fixture(scope="module")
def exhibits(outcomes):
    return PAPER.exhibits(outcomes)


def test_verdicts_follow_the_figures(exhibits):
    claims = {claim.says: claim for exhibit in exhibits for claim in exhibit.claims}
    verdicts = {says: claim.verdict for says, claim in claims.items()}
    linear = "logistic regression, one per label"
    beaten = claims[f"the label mixture beats {linear} on every kind"]
    assert beaten.ours.startswith("G +5.1 ± 0.1, C ") and beaten.verdict == "holds in part"
    assert verdicts["the label mixture is at most 0.02 below the best rival on every kind"] == "holds"
    assert verdicts["the default questions beat random"] == "holds"
    assert claims["the default questions beat random"].ours.startswith("enron +4.0 ± 0.0, yeast +4.0")
    assert verdicts["the paper's questions beat random, its gate"] in ("not shown", "holds in part")
    assert verdicts["the paper's questions beat random, default gate"] == "does not hold"
    assert verdicts["the mixture by default beats CS-GP"] == "holds"
    assert verdicts[f"the label mixture beats {linear}, both asking at random"] == "holds"
    rare = "the rarest third gains over logistic regression, default against random questions, "
    assert verdicts[rare + "average precision"] == verdicts[rare + "ROC-AUC"] == "holds"
    assert verdicts["own uncertainty alone is ahead of label covariance alone early"] == "holds"
    assert verdicts["label covariance alone is ahead of own uncertainty alone late"] == "does not hold"
    assert verdicts["early, fewer components are better: large ρ (0.9)"] == "does not hold"
    assert verdicts["late, more components are better than K = 5"] == "holds"
    assert all(exhibit.protocol for exhibit in exhibits)


def test_nothing_is_judged_with_fewer_than_five_seeds(outcomes, monkeypatch):
    monkeypatch.setattr(paper, "picture", lambda *_: None)
    monkeypatch.setattr(paper, "draw_lines", lambda *_: None)
    few = {name: [run for run in runs if run["seed"] < 4] for name, runs in outcomes.items()}
    claims = [claim for exhibit in PAPER.exhibits(few) for claim in exhibit.claims]
    assert len(claims) > 20 and {claim.verdict for claim in claims} == {"not shown"}


def test_tables_have_every_arm_and_every_set(exhibits):
    curves = next(exhibit for exhibit in exhibits if exhibit.title.startswith("Figure 6:"))
    assert len(curves.rows) == 3 * len(gpb2m.ARMS) and len(curves.pictures) == 3
    gains = {name: cells[4].text for name, cells in curves.rows}
    assert gains["enron · scheduled"].startswith("+4.0 ± 0.0") and gains["enron · random"] == "—"
    assert "enron: 9 labels, 40 items to start from, 300 in the pool, 100 to test on" in curves.text
    assert all(name in claim.ours for claim in curves.claims for name in NAMES)


def test_a_third_is_that_of_the_rarest_labels():
    run = {"frequency": [0.5, 0.1, 0.3, 0.2, 0.4, 0.6], "roc_auc": [1, 0.2, 1, np.nan, 1, 0.7]}
    assert paper._third(run, "roc_auc", 0) == 0.2 and paper._third(run, "roc_auc", 2) == pytest.approx(0.85)


def test_it_is_registered():
    assert load_paper("gpb2m").jobs is paper.jobs
