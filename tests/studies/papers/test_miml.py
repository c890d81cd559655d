"""MIML done again: the plan with and without data, a run in the plane, exhibits from made-up outcomes."""

import numpy as np
import pytest

pytest.importorskip("jinja2", reason="needs the extra plots")
pytest.importorskip("matplotlib", reason="needs the extra plots")

from labelwise.studies.papers.miml import PAPER, REVEALS, RULES, jobs, toy_run

LEVELS = {"mutual_information": 0.7, "uncertainty": 0.69, "random": 0.6}


def test_the_plan_needs_no_data(tmp_path):
    assert set(jobs(True, None)) == set(jobs(False, None)) == {"toy"}
    quick, full = jobs(True, tmp_path), jobs(False, tmp_path)
    assert set(quick) == set(full) and all(len(quick[group]) < len(full[group]) for group in full)
    published = {job.settings["name"] for job in full["sets"] if job.settings["decoder"] == "published"}
    assert published == {"yeast", "medical", "enron"}  # the large ones would take too long
    assert full["sets"][0].settings["file"] == str(tmp_path / "yeast" / "yeast.arff.gz")
    for group in full.values():  # one group may use another's runs, as the projections do
        assert len({job.key for job in group}) == len(group)


def test_a_run_in_the_plane_asks_about_25_items_after_20():
    run = toy_run(0, "identity", "random")
    assert run["items_read"] == [20, 25, 30, 35, 40, 45] and len(run["score"]) == 6
    assert len(set(run["items"])) == 45
    assert run["items"][:20] == toy_run(0, "identity", "mutual_information")["items"][:20]


def curve(strategy, seed, **more):
    level = LEVELS[strategy] + 0.1 * seed + (0.001 * seed if strategy == "mutual_information" else 0)
    costs = {"items_read": [20, 25], "answers": [40, 50]}
    return {"strategy": strategy, "seed": seed, **costs, "score": [level - 0.1, level], **more}


def claims_of(**outcomes):
    return {claim.says: claim for exhibit in PAPER.exhibits(outcomes) for claim in exhibit.claims}


def test_learning_curves_are_judged_seed_by_seed():
    items = [str(i) for i in range(45)]
    runs = [curve(s, seed, decoder="identity", items=items) for s in LEVELS for seed in range(3)]
    (exhibit,) = PAPER.exhibits({"toy": runs})
    gain, small = exhibit.claims
    assert gain.ours == "+10.1 ± 0.1 points at the end, +10.1 ± 0.1 points in area, 3 runs" and gain.verdict == "holds"
    assert small.ours == "+1.1 ± 0.1 points in area" and small.verdict == "holds"
    assert dict(exhibit.rows)["random · identity"][2].text == "—"
    assert [shown.name for shown in exhibit.pictures] == ["miml-toy-chosen", "miml-toy-identity"]
    on_sets = [run | {"set": name, "decoder": "identity"} for name in ("yeast", "enron") for run in runs]
    best = claims_of(sets=on_sets)["mutual information is best on every set"]
    assert best.ours.startswith("beyond noise better on 2 and worse on 0 of 2") and best.verdict == "holds"


def test_verdicts_follow_the_figures():
    precision = {f"precision_at_{k}": 0.7 for k in (1, 2, 3)}
    projections = [{"decoder": d, "seed": 0} | precision for d in ("identity", "pca")]
    projections.append({"decoder": "published", "seed": 0} | precision | {"precision_at_1": 0.6})
    lists = {"means": [[0.1, 0.2], [0.1, 0.3]], "logs": [[1.0, 2.0], [1.0, 1.5]]}
    inference = [
        {"set": "yeast", "seed": s, "correlation": 0.99, "larger": 0.9, "ratio": 0.5, "spread": spread, **lists}
        for s, spread in enumerate(([2.0, 1.0], [1.0, 2.0]))
    ]
    time = [
        {"set": "yeast", "labels": 14, "pool": 2000, "fit": 0.1, "choose": 0.1},
        {"set": "delicious", "labels": 983, "pool": 4000, "fit": 0.2, "choose": 2.0},
    ]
    claims = claims_of(projections=projections, inference=inference, time=time)
    half = claims["half the label space is enough (yeast, precision at 1)"]
    assert half.ours == "identity 0.70, pca 0.70, published 0.60" and half.verdict == "does not hold"
    assert claims["means of both inferences agree"].verdict == "holds"
    assert claims["variances are larger when integrated out"].verdict == "does not hold"
    assert claims["variances spread more widely when integrated out"].verdict == "holds in part"
    assert (
        claims["time hardly grows with the labels"].verdict == "does not hold"
    )  # twenty times, for a pool twice as large


def test_diagnosis_is_judged_after_the_last_reveal():
    level = dict.fromkeys(RULES, 0.8) | {"mi": 0.9, "random": 0.6}
    runs = [
        {
            "set": "enron",
            "rule": rule,
            "seed": s,
            "f1": np.linspace(0.3, level[rule] + 0.001 * s * (rule == "mi"), REVEALS + 1).tolist(),
        }
        for rule in RULES
        for s in range(3)
    ]
    claims = claims_of(diagnosis=runs)
    best = claims["choosing labels beats random (enron, after 20)"]
    assert best.ours == "mutual information 0.901, random 0.600" and best.verdict == "holds"
    assert claims["mutual information is better than variance (enron, after 20)"].verdict == "holds"
