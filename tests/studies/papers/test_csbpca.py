"""Paper 2 done again: the protocol on a small made-up set, and exhibits from outcomes that are known."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

import labelwise as lw
from labelwise.posterior import MarginalPosterior
from labelwise.queries import TargetEntropy
from labelwise.studies.papers import csbpca_exhibits
from labelwise.studies.papers.csbpca import (
    METHODS,
    QUERIES,
    TYPE_ONE,
    TYPE_TWO,
    PrintedSign,
    at_the_end,
    campaign_run,
    data_run,
    jobs,
    kernel_period_run,
    lift,
    macro,
    ranking,
    search_run,
    top_sets,
)
from labelwise.studies.papers.csbpca_exhibits import PAPER
from labelwise.studies.papers.engine import as_run, every
from labelwise.studies.papers.sets import FILES, load_unit_rows, split_pool


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """400 items, 12 labels of which one is on a single row."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 20))
    Y = X @ rng.standard_normal((20, 12)) / 4 + 0.3 * rng.standard_normal((400, 12)) > 1.2
    Y[:, 11] = np.arange(400) == 0
    path = tmp_path_factory.mktemp("csbpca") / "small.jsonl"
    lw.write(lw.LabelData.from_arrays(X, Y), path)
    return str(path)


def test_rare_labels_and_then_empty_rows_are_dropped(file):
    data = load_unit_rows(file, "corel5k")
    assert data.n_labels == 11  # one row of 400 is less than half a percent
    assert np.diff(data.Y.indptr).min() >= 1
    assert load_unit_rows(file, "corel5k", n_labels=5).n_labels == 5
    np.testing.assert_allclose(np.linalg.norm(np.asarray(data.X), axis=1), 1.0)


def test_splits_do_not_overlap_and_follow_the_seed(file):
    data = load_unit_rows(file, "corel5k")
    parts = split_pool(data, 3)
    assert parts.n_start == round(0.01 * data.n_items)
    assert parts.pool.n_items == parts.n_start + round(0.4 * data.n_items)
    assert not set(parts.pool.item_ids) & set(parts.test.item_ids)
    assert split_pool(data, 3).pool.item_ids == parts.pool.item_ids != split_pool(data, 4).pool.item_ids


def test_top_sets_and_macro_f1():
    scores = np.array([[0.3, 0.9, 0.1], [0.5, 0.2, 0.4]])
    sets = top_sets(scores, np.array([1, 2]))
    assert sets.tolist() == [[False, True, False], [True, False, True]]
    truth = np.array([[False, True, False], [True, False, False]])
    assert macro(sets, truth) == pytest.approx((1 + 1 + 0) / 3)  # the label without positives counts 0


def test_the_printed_sign_asks_for_the_most_certain(file):
    data = load_unit_rows(file, "corel5k")
    model = METHODS["codes"].model(random_state=0).fit(data.X[:30], data.Y[:30])
    beliefs, nothing = model.posterior(data.X), sp.csr_array(data.Y.shape, dtype=bool)
    variances = beliefs.target_groups()[0].covariance.diagonal()
    for strategy, row in ((PrintedSign(), np.argmin(variances)), (TargetEntropy(), np.argmax(variances))):
        assert strategy.choose(beliefs, nothing, 1, np.random.default_rng(0)).rows.tolist() == [row]


def test_one_lift_serves_codes_and_classifiers(file):
    """Rows in the order of the model's own scaled decoder for codes; for classifiers, what the definition says."""
    data = load_unit_rows(file, "corel5k")
    coded = METHODS["codes"].model(random_state=0).fit(data.X[:60], data.Y[:60]).posterior(data.X)
    expected = coded.scores("linear")
    rates = expected.mean(0)
    np.testing.assert_allclose(ranking(coded, "lifted"), (expected - rates) / np.sqrt(rates * (1 - rates)))
    assert np.corrcoef(ranking(coded, "lifted").ravel(), coded.scores("scaled_linear").ravel())[0, 1] > 0.95
    p = MarginalPosterior(np.array([[0.9, 0.01], [0.7, 0.09]]))
    np.testing.assert_array_equal(ranking(p, "neutral"), p.probabilities())
    assert ranking(p, "lifted")[1].argmax() == 1  # nine times as probable as in the other row
    assert np.isfinite(lift(np.zeros((2, 3)))).all()


def test_labels_that_are_never_recovered_are_counted_by_both_treatments(file):
    parts = split_pool(load_unit_rows(file, "corel5k"), 0)
    q = parts.test.n_labels
    p = np.tile(np.linspace(0.9, 0.1, q), (parts.test.n_items, 1))
    p[0, -1] = 0.2  # the only item on which a label is more probable than elsewhere
    found = at_the_end(MarginalPosterior(p), parts)["recall"]
    average = max(1, round(parts.cardinality))
    assert sum(recall == 0 for recall in found["neutral"]) == q - average  # always the same labels
    assert found["neutral"] != found["lifted"]


@pytest.fixture(scope="module")
def outcomes(file):
    one, both = {"file": file, "name": "corel5k"}, {"file": file, "name": "corel5k", "seed": (0, 1), "queries": 6}
    jobs = {
        "data": every(data_run, **one),
        "learning": every(campaign_run, **both, method=TYPE_ONE),
        "long": every(campaign_run, **both, method=("paper", "cs_rr")),
        "period": every(kernel_period_run, **both, period=(1, 50)),
        "rates": every(campaign_run, **both, method="codes", n_compressed=0.25),
        "type_two": every(campaign_run, **both, method=("paper", "codes", *TYPE_TWO), n_labels=6),
        "times": every(search_run, **one, seed=(0, 1), n_rows=30),
    }
    made = {group: [as_run(job, job.function(**job.settings)) for job in each] for group, each in jobs.items()}
    return json.loads(json.dumps(made))  # as they come back from disk


@pytest.mark.slow
def test_every_exhibit_has_rows_and_every_claim_a_verdict(outcomes):
    made = PAPER.exhibits(outcomes)
    assert [exhibit.title.partition(":")[0] for exhibit in made] == [
        "Table 1",
        "Figure 2",
        "Figure 3",
        "Figure 4",
        "Figure 5",
        "Figure 5, to its end",
        "Figures 6 and 7",
        "Table 2",
    ]
    for exhibit in made:
        assert exhibit.claims and exhibit.protocol
        assert all(len(cells) == len(exhibit.header) - 1 for _, cells in exhibit.rows)
    assert PAPER.exhibits({}) == []


def test_curves_have_seven_points_whatever_the_number_of_questions(file):
    run = campaign_run(file, "corel5k", 0, "binary_relevance", 10, n_labels=4)
    assert [point["queries"] for point in run["curve"]] == [0, 2, 3, 5, 7, 8, 10]


@pytest.mark.slow
def test_methods_of_a_seed_start_from_the_same_rows_and_code(outcomes):
    starts = {run["method"]: run["curve"][0] for run in outcomes["learning"] if run["seed"] == 0}
    assert starts["codes"] == starts["codes_random"]
    assert starts["evb"] == starts["evb_printed_sign"]
    assert starts["paper"] == starts["paper_random"]


def made_up_run(method, seed, neutral, lifted, n_missed=(0, 0), own=0.0, **more):
    point = {"queries": 10, "neutral": neutral, "lifted": lifted, "own": own, "micro": neutral, "rate": 0.5}
    recall = [[0.0] * missed + [0.5] * (10 - missed) for missed in n_missed]
    end = {"sweep": {str(k): neutral + 0.01 * (k == 3) for k in (1, 2, 3, 4)}, "inferred": 0.1, "same_on_average": 0.1}
    plain = {"set": "corel5k", "method": method, "seed": seed, "curve": 3 * [point], "cpu_seconds": 1.0}
    return plain | end | {"average_count": 3, "recall": dict(zip(("neutral", "lifted"), recall, strict=True))} | more


@pytest.fixture
def verdicts(monkeypatch):
    """Claim to verdict of outcomes, without the pictures, which take seconds."""
    monkeypatch.setattr(csbpca_exhibits, "draw_lines", lambda *_: None)
    monkeypatch.setattr(csbpca_exhibits, "picture", lambda *_: None)
    return lambda **outcomes: {claim.says: claim.verdict for part in PAPER.exhibits(outcomes) for claim in part.claims}


def test_verdicts_follow_the_figures(verdicts):
    """The paper's recipe is judged, by either treatment; the closed form beside it is not."""
    level = {"paper": (0.02, 0.08), "evb": (0.9, 0.9), "cs_rr": (0.05, 0.07), "codes": (0.02, 0.08)}
    runs = [made_up_run(m, s, a + 0.001 * s, b + 0.001 * s) for m, (a, b) in level.items() for s in range(5)]
    runs += [made_up_run("cs_miml", s, 0.5, 0.5, own=0.01) for s in range(5)]
    found = verdicts(learning=runs)
    assert found["CS-BPCA-GP beats CS-MIML, neutral"] == "does not hold"
    assert found["CS-BPCA-GP beats CS-MIML, each by its own decoder"] == "holds"
    assert found["CS-BPCA-GP beats CS-RR, neutral"] == "does not hold"
    assert found["CS-BPCA-GP beats CS-RR, lifted"] == "holds"
    assert found["the average number of labels is the best to recover"] == "holds"
    assert found["a number of labels inferred per item beats the same number for all"] == "not shown"
    few = verdicts(learning=[run for run in runs if run["seed"] < 4])
    assert set(few.values()) == {"not shown"}


def test_missed_labels_are_judged_by_equal_treatment(verdicts):
    runs = [made_up_run("paper", s, 0.1, 0.1, (5, 4)) for s in range(5)]
    runs += [made_up_run("adaptive", s, 0.1, 0.1, (7, 2)) for s in range(5)]
    found = verdicts(type_two=runs)
    assert found["CS-BPCA-GP misses fewer labels altogether than Adaptive, neutral"] == "holds"
    assert found["CS-BPCA-GP misses fewer labels altogether than Adaptive, lifted"] == "does not hold"


def test_periods_and_rates_are_judged_over_sets_and_seeds(verdicts):
    runs = [made_up_run("", s, 0.1 - 0.01 * (p == 50), 0.1, period=p) for p in (1, 10, 50) for s in range(5)]
    found = verdicts(period=runs)
    assert found["kernels searched after every answer beat those of every 50 answers, neutral"] == "holds"
    assert found["kernels searched after every answer beat those of every 10 answers, neutral"] == "not shown"
    learning = [made_up_run(m, s, a, a) for m, a in (("paper", 0.2), ("codes", 0.3)) for s in range(5)]
    learning += [made_up_run(m, s, 0.1, 0.1) for m in ("vb", "evb") for s in range(5)]
    fixed = [made_up_run("codes", s, 0.1, 0.1, n_compressed=0.1) for s in range(5)]
    found = verdicts(learning=learning, rates=fixed)
    assert found["the rate that Bayesian PCA finds beats codes, rate 0.1, neutral"] == "holds"
    assert found["the rate that Bayesian PCA finds beats codes, rate 0.5, neutral"] == "does not hold"


def test_without_the_published_sets_there_is_nothing_to_do(tmp_path):
    assert jobs(True, None) == {}
    quick, full = jobs(True, tmp_path), jobs(False, tmp_path)
    assert set(full) - set(quick) == {"long"}
    assert sum(map(len, quick.values())) < sum(map(len, full.values()))
    keys = [job.key for part in full.values() for job in part]
    assert len(set(keys)) == len(keys)
    settings = [job.settings for job in full["learning"] if job.settings["method"] == "cs_miml"]
    assert {(each["name"], each["seed"]) for each in settings} == {
        (name, seed) for name in QUERIES for seed in range(5)
    }


@pytest.mark.shared_data
def test_macro_f1_on_corel5k_after_sixty_questions(shared_data):
    run = campaign_run(str(shared_data / FILES["corel5k"]), "corel5k", 0, "codes", 60)
    assert run["curve"][-1]["neutral"] > 0.03  # .040 when this was written, .027 before the first question
    assert run["curve"][-1]["lifted"] > 0.05
