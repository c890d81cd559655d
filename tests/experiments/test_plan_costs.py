"""Formulas of memory against what is held at the peak; constants recovered from made-up times."""

import tracemalloc

import numpy as np
import pytest

from labelwise import Campaign, LabelData, models, queries
from labelwise.campaign import PAIRS_FROM
from labelwise.experiments.plan_advice import Machine, advise, model_bytes, workers_for
from labelwise.experiments.plan_calibration import Calibration, calibration, problem, solve
from labelwise.experiments.plan_costs import MODELS, STRATEGIES, Workload

FACTOR = 2.5  # within which a formula of memory holds
SIZES = [Workload(4096, 100, 20, 600), Workload(4096, 30, 60, 900), Workload(2000, 600, 10, 400)]


@pytest.mark.parametrize(
    "name", ["auto", "label_gp", "binary_relevance", "online_bayes", "cooccurrence_transfer", "compressed_label_gp"]
)
@pytest.mark.parametrize("workload", SIZES, ids=str)
def test_memory_is_as_the_formula_says(name, workload):
    X, Y, pool = problem(workload)
    model = models.BY_NAME[name]()
    model.fit(X[:50], Y[:50]).posterior(X[:50]).probabilities()  # tables and compiled code are held for good
    tracemalloc.start()
    try:
        X, Y = X.copy(), Y.copy()  # answers are held as well
        model.fit(X, Y).posterior(pool).probabilities()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    expected = model_bytes(name, workload)
    assert expected / FACTOR < peak < expected * FACTOR, f"{peak / 1e6:.1f} MB held, {expected / 1e6:.1f} MB expected"


@pytest.mark.parametrize("name", MODELS)
def test_constants_are_found_again(name):
    terms = MODELS[name].fit
    truth = np.linspace(1, 2, len(terms)) / [term(SIZES[0]) for term in terms]
    sizes = [*SIZES, Workload(500, 7, 3, 50), Workload(500, 50, 90, 333), Workload(5000, 50, 9, 1500)]
    times = [sum(c * term(w) for c, term in zip(truth, terms, strict=True)) for w in sizes]
    np.testing.assert_allclose(solve(terms, sizes, times), truth, rtol=1e-6)


def test_workers_share_what_can_be_shared():
    alone, parted = MODELS["label_gp"], MODELS["online_bayes"]
    assert workers_for(10.0, 90.0, alone, None) == 1
    assert workers_for(10.0, 90.0, alone, 100.0) == 1
    assert workers_for(10.0, 80.0, alone, 20.0) == 10  # ten seconds for 80, at four fifths
    assert workers_for(10.0, 80.0, alone, 10.0) is None
    assert workers_for(80.0, 0.0, parted, 10.0) == 10


@pytest.fixture
def constants():
    terms = {f"{name}.{part}": getattr(cost, part) for name, cost in MODELS.items() for part in ("fit", "believe")}
    terms |= {f"{name}.choose": cost.choose for name, cost in STRATEGIES.items()}
    return Calibration({name: [1e-9] * len(of) for name, of in terms.items()}, {})


def test_advice_goes_by_memory_and_time(constants):
    small = Workload(10_000, 50, 10, 500)
    roomy, narrow = Machine(4, 16e9), Machine(4, 1e9)
    chosen = advise(small, constants, machine=roomy).chosen
    assert (chosen.model, chosen.strategy) == ("auto", "label_covariance")
    wide = Workload(100_000, 50, 10, 20_000)
    chosen = advise(wide, constants, machine=narrow).chosen
    assert chosen.model == "binary_relevance" and chosen.memory < 0.7e9
    assert advise(small, constants, machine=Machine(4, 1e8)).chosen is None
    hopeless = advise(small, constants, machine=roomy, seconds=1e-12)
    assert hopeless.chosen is None or hopeless.chosen.workers > 1
    one, four = (advise(small, constants, machine=Machine(cores, 16e9)).expectations[0] for cores in (1, 4))
    assert one.fit_seconds == pytest.approx(3.4 * four.fit_seconds)


@pytest.mark.parametrize("n_labels", [PAIRS_FROM - 1, PAIRS_FROM])
def test_what_a_campaign_does_by_itself_is_advised(constants, n_labels):
    chosen = advise(Workload(10_000, 50, n_labels, 500), constants, machine=Machine(4, 16e9)).chosen
    campaign = Campaign(LabelData.from_arrays(np.eye(4), label_names=map(str, range(n_labels))))
    assert type(models.BY_NAME[chosen.model]()) is type(campaign.model)
    assert type(queries.BY_NAME[chosen.strategy]()) is type(campaign.strategy)


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ({"items": 0}, "items must be at least 1"),
        ({"budget": 11}, "budget must be at most items=10"),
        ({"nonzeros": 6}, "nonzeros must lie between 1 and features=5"),
    ],
)
def test_impossible_sizes_are_refused(sizes, told):
    with pytest.raises(ValueError, match=told):
        Workload(**({"items": 10, "features": 5, "labels": 2, "budget": 3} | sizes))


def test_constants_are_kept_for_the_machine(tmp_path, monkeypatch, constants):
    calls = []
    monkeypatch.setattr(
        "labelwise.experiments.plan_calibration.measure", lambda on_step: calls.append(1) or dict(constants.constants)
    )
    cache = tmp_path / "deep" / "plan.json"
    first, second = calibration(cache), calibration(cache)
    assert len(calls) == 1 and first.constants == second.constants
    calibration(cache, again=True)
    cache.write_text("{", encoding="utf-8")
    calibration(cache)
    monkeypatch.setattr("labelwise.experiments.plan_calibration.VERSION", 99)
    calibration(cache)
    assert len(calls) == 4
