"""ML-LCS done again: the jobs against plain computations, the plan with and without data, a report on a made-up set."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

pytest.importorskip("jinja2", reason="needs the extra plots")
pytest.importorskip("matplotlib", reason="needs the extra plots")

from labelwise.models import CooccurrenceFactors, CooccurrenceTransfer, LatentFactors
from labelwise.posterior import MarginalPosterior
from labelwise.studies.papers import load_paper, mllcs, reproduce_paper, sets
from labelwise.studies.papers.mllcs import (
    AboutOneLabel,
    half_run,
    jobs,
    label_run,
    missing_run,
    path_run,
    standard_run,
    text_run,
)
from labelwise.studies.papers.sets import MADE_UP, count_pairs, made_up_split, split_items, split_labels

SMALL = {"folder": "", "name": MADE_UP}


def plain_precision(scores, truth, k):
    """Share of hits among the k best, item by item."""
    return np.mean([truth[i, np.argsort(-row, kind="stable")[:k]].mean() for i, row in enumerate(scores)])


def three(scores, truth):
    return [plain_precision(scores, truth, k) for k in (1, 3, 5)]


@pytest.fixture(scope="module")
def path():
    return path_run(**SMALL, seed=0, most=5)


def test_a_split_tells_half_of_the_labels_and_counts_all():
    problem = split_labels("", MADE_UP, 0)
    assert problem.seen.size == 15 and problem.unseen.size == 15
    assert sorted([*problem.seen, *problem.unseen]) == list(range(30))
    np.testing.assert_array_equal(problem.observed.any(axis=0), np.isin(np.arange(30), problem.seen))
    assert split_labels("", MADE_UP, 0, 0.8).seen.size == 24
    Y = problem.Y
    assert problem.counts()[3, 5] == np.sum(Y[:, 3] & Y[:, 5])
    np.testing.assert_array_equal(count_pairs(Y).diagonal(), Y.sum(axis=0))


def test_other_items_are_drawn_for_all_seeds_but_the_first():
    train, test = made_up_split()
    published, drawn = (split_items("", MADE_UP, seed) for seed in (0, 1))
    assert published.train is train and published.unseen.size == 0
    assert (drawn.train.n_items, drawn.test.n_items) == (train.n_items, test.n_items)
    assert not np.array_equal(drawn.Y, published.Y)
    both = np.vstack([drawn.Y, drawn.truth])
    np.testing.assert_array_equal(both.sum(axis=0), (train.Y.sum(axis=0) + test.Y.sum(axis=0)))


def test_half_runs_measure_all_and_unseen_labels():
    outcome = half_run(**SMALL, seed=1, method="sketched GP")
    problem = split_labels("", MADE_UP, 1)
    model = CooccurrenceTransfer(cooccurrence=problem.counts(), random_state=0)
    scores = model.fit(problem.train.X, problem.Y, problem.observed).posterior(problem.test.X).means()
    u = problem.unseen
    assert outcome["joint"] == pytest.approx(three(scores, problem.truth))
    assert outcome["unseen"] == pytest.approx(three(scores[:, u], problem.truth[:, u]))
    assert outcome["unseen_first"] == pytest.approx(np.isin(scores.argmax(1), u).mean())


def test_models_without_counts_put_unseen_labels_last():
    floor = half_run(**SMALL, seed=0, method="ridge, seen only")
    ceiling = half_run(**SMALL, seed=0, method="ridge, told everything")
    assert floor["unseen"] is None and floor["unseen_first"] == 0
    assert ceiling["joint"][0] > floor["joint"][0]


def test_a_path_has_what_separate_fits_have(path):
    """LFM-SL, COSTA and ML-LCS after five sweeps, each fitted on its own; COSTA by its own class."""
    problem = split_labels("", MADE_UP, 0)
    counts, u = problem.counts(), problem.unseen
    assert path["n_factors"] == 15 and path["sizes"] == [500, 200, 120, 15, 15]
    assert path["steps"] == [1, 3, 5] and set(path["seconds"]) == {"LFM-SL", "ML-LCS"}
    base = LatentFactors.paper(n_factors=15, n_iterations=5)
    models = {
        "COSTA on factors": CooccurrenceTransfer("costa", cooccurrence=counts, base=base),
        "ML-LCS": CooccurrenceFactors.paper(cooccurrence=counts, n_factors=15, n_iterations=5),
    }
    for name, model in models.items():
        scores = mllcs.ranking(model.fit(problem.train.X, problem.Y, problem.observed).posterior(problem.test.X))
        assert path["found"][name][-1]["joint"] == pytest.approx(three(scores, problem.truth))
        assert path["found"][name][-1]["unseen"] == pytest.approx(three(scores[:, u], problem.truth[:, u]))
    alone = base.fit(problem.train.X, problem.Y, problem.observed).posterior(problem.test.X).scores()
    lfm = path["found"]["LFM-SL"][-1]
    assert lfm["joint"] == pytest.approx(three(alone, problem.truth)) and lfm["unseen"] is None


def test_factors_beyond_the_told_labels_change_nothing():
    """The paper's 80 % of all labels are more than the half that is told: the others stay 0 from this start."""
    problem = split_labels("", MADE_UP, 0)
    scores = [
        CooccurrenceFactors.paper(cooccurrence=problem.counts(), n_factors=k, n_iterations=4, precision="float64")
        .fit(problem.train.X, problem.Y, problem.observed)
        .posterior(problem.test.X)
        .scores()
        for k in (15, 24)
    ]
    np.testing.assert_allclose(*scores, rtol=1e-8, atol=1e-10)


def test_with_all_labels_told_the_paper_s_number_of_factors_is_used():
    told = standard_run(**SMALL, seed=0, most=3)
    assert told["n_factors"] == 24 and set(told["found"]) == {"LFM-SL", "ML-LCS"}
    train, test = made_up_split()
    model = LatentFactors.paper(n_factors=24, n_iterations=3).fit(train.X, train.Y.toarray())
    assert told["found"]["LFM-SL"][-1]["joint"] == pytest.approx(
        three(model.posterior(test.X).scores(), test.Y.toarray())
    )
    assert set(told["tuned"]) == {"LFM tuned", "ML-LCS tuned"}


def test_where_little_is_told_a_constant_guess_is_beside_the_models(monkeypatch):
    monkeypatch.setattr(mllcs, "STEPS", (1, 3))
    found = missing_run(**SMALL, seed=0, kept=(0.3, 400))["found"]
    assert len(found) == 7 and "ours, counts of those told" in found and "paper, without counts" in found
    train, test = made_up_split()
    rng = np.random.default_rng([0, 11])
    rows = np.sort(rng.permutation(train.n_items)[:400])
    common = np.argsort(-np.asarray(train.Y.sum(axis=0)).ravel(), kind="stable")[:40]
    Y = train.Y.toarray()[np.ix_(rows, common)]
    told = rng.random(Y.shape) < 0.3
    shares = np.array([Y[told[:, j], j].mean() for j in range(Y.shape[1])])
    truth = test.Y.toarray()[:, common]
    assert found["constant"] == pytest.approx(three(np.tile(shares, (len(truth), 1)), truth))


@pytest.fixture
def laws(tmp_path):
    """Texts that name their tags: "wheat" and "flour" go together, and "ship" with "port"."""
    folder = tmp_path / sets.TAGGED_TEXTS
    folder.mkdir()
    rng = np.random.default_rng(0)
    groups = [("wheat", "flour", "bread", "grain", "corn"), ("ship", "port", "sea", "crew", "cargo")]
    items = []
    for i in range(160):
        tags = [str(t) for t in rng.choice(groups[i % 2], 3, replace=False)]
        items.append({"id": str(i), "text": " ".join([*tags, "law", f"word{i % 7}"]), "labels": tags})
    with gzip.open(folder / "items.jsonl.gz", "wt") as file:
        file.write("".join(json.dumps(item) + "\n" for item in items))
    names = {name: "" for group in groups for name in group} | {"ship": "also: vessel, boat; under: transport"}
    (folder / "labels.json").write_text(json.dumps(names))
    return tmp_path


@pytest.mark.filterwarnings("ignore:.*too few to choose")
def test_counts_of_names_in_other_texts_find_unseen_labels(laws):
    outcome = text_run(str(laws), sets.TAGGED_TEXTS, 0)
    found = outcome["found"]
    assert outcome["named"] == 1.0 and len(found) == 7
    assert found["sketched GP · texts"][0] > found["constant"][0]
    problem, counts = sets.split_texts(str(laws), 0)
    assert problem.seen.size == 5 and problem.train.n_items == 56 and problem.test.n_items == 24
    names = problem.train.label_names
    assert counts[names.index("wheat"), names.index("port")] == 0 < counts[names.index("ship"), names.index("port")]
    assert counts.diagonal().sum() == 3 * 80  # three tags are named in each text of the corpus
    assert sets.read_tagged_texts(laws / sets.TAGGED_TEXTS)[2]["ship"] == ["ship", "vessel", "boat"]


def test_mediamill_is_run_where_its_file_is(tmp_path, monkeypatch):
    assert "mediamill" not in {job.settings["name"] for job in jobs(False, tmp_path)["paths"]}
    (tmp_path / "mediamill").mkdir()
    rows = "\n".join(f"{i},{i % 2},{i % 3 % 2}" for i in range(8))
    (tmp_path / "mediamill" / "mediamill.arff").write_text(
        f"@relation m\n@attribute P1 numeric\n@attribute Class1 {{0,1}}\n@attribute Class2 {{0,1}}\n@data\n{rows}\n"
    )
    xml = '<labels xmlns="http://mulan.sourceforge.net/labels"><label name="Class1"/><label name="Class2"/></labels>'
    (tmp_path / "mediamill" / "mediamill.xml").write_text(xml)
    plan = jobs(False, tmp_path)
    most = {job.settings["most"] for job in plan["paths"] if job.settings["name"] == "mediamill"}
    assert most == {500} and "mediamill" in {job.settings["name"] for job in plan["halves"]}
    monkeypatch.setitem(sets.N_TRAIN, "mediamill", 5)
    train, test = sets.published_split(str(tmp_path), "mediamill")
    assert (train.n_items, test.n_items, train.n_labels) == (5, 3, 2)
    np.testing.assert_array_equal(test.Y.toarray()[:, 0], [1, 0, 1])


def test_a_set_without_its_files_is_an_error_that_names_them(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"bibtex-train.arff.gz"):
        sets.published_split(str(tmp_path), "bibtex")


def test_questions_are_about_the_last_label_alone():
    p = np.random.default_rng(0).random((12, 3))
    closed = np.zeros((12, 3), dtype=bool)
    closed[:4, 2] = True
    choice = AboutOneLabel().choose(MarginalPosterior(p), sp.csr_array(closed), 5, np.random.default_rng(0))
    assert set(choice.labels) == {2}
    best = 4 + np.argsort(np.abs(p[4:, 2] - 0.5))[:5]
    assert set(choice.rows) == set(best)


def test_a_new_label_is_followed_with_and_without_a_start(monkeypatch):
    monkeypatch.setattr(mllcs, "ANSWERS_AFTER", 20)
    outcome = label_run(**SMALL, seed=0)
    assert outcome["answers"] == [0, 20]
    assert len(outcome["guess"]) == len(outcome["nothing"]) == 2
    assert outcome["nothing"][0] == pytest.approx(outcome["share"], abs=1e-9)  # nothing known: every order is as good
    assert outcome["guess"][0] > outcome["nothing"][0]


def test_the_plan_has_the_papers_sweeps_and_enough_splits(tmp_path):
    plan = jobs(False, tmp_path)
    most = {(job.settings["name"], job.settings["seed"]): job.settings["most"] for job in plan["paths"]}
    assert {seed for name, seed in most if name == "bibtex"} == set(range(5))
    assert all(n == (500 if name == "bibtex" else 100 if seed == 0 else 40) for (name, seed), n in most.items())
    assert {job.settings["most"] for job in plan["shares"]} == {100}
    assert {job.settings["share"] for job in plan["shares"]} | {0.5} == {0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}
    for group in ("shares", "standard", "missing"):
        assert {job.settings["seed"] for job in plan[group]} >= set(range(5))
        assert {job.settings["name"] for job in plan[group]} == {"bibtex"}
    labels = [job.settings["name"] for job in plan["new labels"]]
    assert labels.count("bibtex") >= 20 and labels.count("delicious") >= 20
    assert not plan["texts"]
    (tmp_path / sets.TAGGED_TEXTS).mkdir()
    assert len(jobs(False, tmp_path)["texts"]) == 5
    for name, pieces in jobs(True, tmp_path).items():
        assert 0 < len(pieces) < len(jobs(False, tmp_path)[name])


def test_the_report_on_a_made_up_set(tmp_path, monkeypatch):
    monkeypatch.setattr(mllcs, "STEPS", (1, 3, 5))
    plan = {name: pieces for name, pieces in jobs(True, None).items() if name not in ("new labels", "texts")}
    plan["halves"] = [job for job in plan["halves"] if job.settings["method"] == "sketched GP"]
    small = replace(load_paper("mllcs"), jobs=lambda quick, shared: plan)
    done = reproduce_paper(small, tmp_path, quick=True, n_jobs=1)
    text = done.report.read_text()
    assert "Tables 2 and 3" in text and "Few labels told" in text and "Mediamill" in text
    places = {claim.where for claim in done.claims}
    assert places >= {"Table 2", "Table 3", "Table 4", "Figure 2", "Figure 3", "Section 6.4", "Abstract"}
    assert {claim.verdict for claim in done.claims} == {"not shown"}


def path_row(seed, at_last, sweeps=(10, 100, 500)):
    """The same after all sweeps but the first, where everything is 0.1 higher; by method joint and unseen."""
    found = {
        method: [
            {"joint": [v + 0.1 * (n == 0) for v in joint], "unseen": unseen, "unseen_first": 0.2}
            for n in range(len(sweeps))
        ]
        for method, (joint, unseen) in at_last.items()
    }
    seconds = {"LFM-SL": 0.03, "ML-LCS": 0.04}
    common = {"set": "bibtex", "seed": seed, "share": None, "n_factors": 80, "sizes": [4880, 2515, 1836, 80, 79]}
    return {**common, "steps": list(sweeps), "found": found, "seconds": seconds}


def test_every_precision_of_a_table_is_judged():
    """ML-LCS a point above LFM-SL at 1 on every split, equal at 3 and below at 5; below COSTA on unseen labels."""
    rows = []
    for seed in range(5):
        level, noise = 0.4 + 0.05 * seed, 0.001 * seed
        lcs = [level + 0.01 + noise, 0.2, 0.1 - 0.02 - noise], [0.10 + noise, 0.1, 0.1]
        lfm, costa = ([level, 0.2, 0.1], None), ([level, 0.2, 0.1], [0.2, 0.1, 0.1])
        rows.append(path_row(seed, {"LFM-SL": lfm, "COSTA on factors": costa, "ML-LCS": lcs}))
    other = {"set": "bibtex", "seconds": 1.0, "unseen_first": 0.1, "unseen": [0.3, 0.3, 0.3]}
    others = [{**other, "seed": s, "method": "sketched GP", "joint": [0.5, 0.5, 0.5]} for s in range(5)]
    exhibits = load_paper("mllcs").exhibits({"paths": rows, "halves": others})
    claims = {claim.says: claim for exhibit in exhibits for claim in exhibit.claims}
    first = claims["ML-LCS beats LFM-SL at 1 on all labels (bibtex)"]
    assert first.verdict == "holds" and first.paper == ".51 against .42"
    assert first.ours == "0.512 against 0.500, +1.2 ± 0.1 points, 5 splits"
    assert claims["ML-LCS beats LFM-SL at 3 on all labels (bibtex)"].verdict == "not shown"
    fifth = claims["ML-LCS beats LFM-SL at 5 on all labels (bibtex)"]
    assert fifth.verdict == "does not hold" and fifth.paper == ".30 against .17"
    assert claims["ML-LCS beats COSTA on factors at 1 on unseen labels (bibtex)"].paper == ".34 against .23"
    assert claims["ML-LCS beats COSTA on factors at 1 on unseen labels (bibtex)"].verdict == "does not hold"
    assert not any("tuned" in says for says in claims)  # what was not run is not claimed
    same = claims["ML-LCS converges in about 100 sweeps: precision at 1 is the same later (all labels)"]
    assert same.verdict == "holds" and same.ours == "+0.0 ± 0.0 points after 100 against 500 sweeps"
    assert claims["the sets have the paper's sizes (bibtex)"].verdict == "holds"
    (costs,) = (claim for says, claim in claims.items() if "costs little more with counts" in says)
    assert (costs.ours, costs.verdict) == ("bibtex 1.33 times", "holds")


def test_precision_that_still_moves_after_100_sweeps_has_not_converged():
    same = ([0.4, 0.3, 0.2], [0.2, 0.1, 0.1])
    rows = [path_row(s, dict.fromkeys(("LFM-SL", "COSTA on factors", "ML-LCS"), same), (100, 500)) for s in range(5)]
    for row in rows:
        row["found"]["ML-LCS"][0]["joint"][0] += 0.002 * row["seed"]
    claims = [c for each in load_paper("mllcs").exhibits({"paths": rows}) for c in each.claims if c.where == "Figure 3"]
    assert [claim.verdict for claim in claims] == ["does not hold", "holds"]


def test_verdict_on_new_labels_is_paired():
    rows = [
        {"set": "bibtex", "seed": s, "answers": [0, 50, 100], "guess": [0.2 + 0.1 * s] * 3, "nothing": [0.1 * s] * 3}
        for s in range(5)
    ]
    rows[0]["guess"] = [0.21] * 3
    (exhibit,) = load_paper("mllcs").exhibits({"new labels": rows})
    assert exhibit.claims[0].verdict == "holds"
    assert "ahead for 5 of 5 labels" in exhibit.claims[0].ours
