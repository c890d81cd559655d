"""Paper 1, MIML (KDD 2014), done again: what is computed. `miml_exhibits` says what came of it.

Everything runs through `Campaign`, with a fixed test set; the paper tests small sets on what was not selected, which
favours strategies that take the odd items away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from labelwise.data import make_gaussian_labels, read
from labelwise.experiments.jobs import Job, Outcome
from labelwise.experiments.metrics import sample_f1
from labelwise.experiments.simulate import Schedule, simulate
from labelwise.models import CompressedLabelGP
from labelwise.posterior import BoolArray, FloatArray, LabelPosterior
from labelwise.queries import Diagnosis, MutualInformation, Random, Strategy, Uncertainty
from labelwise.queries.diagnosis import Rule
from labelwise.records import LabelData

SCORE = "precision_at_1_3"
DECODERS: dict[str, Callable[..., CompressedLabelGP]] = {
    "published": CompressedLabelGP.published,
    "identity": lambda **options: CompressedLabelGP(projection="identity", **options),
    "pca": lambda **options: CompressedLabelGP(projection="pca", **options),
}
STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "mutual_information": MutualInformation,
    "uncertainty": lambda: MutualInformation(criterion="entropy"),
    "random": Random,
    "label_entropy": Uncertainty,
}
PAIR_STRATEGIES: dict[str, Callable[[], Strategy]] = {
    "mutual_information": lambda: MutualInformation(target="pairs", diagnosis=Diagnosis(labels_per_item=30, rule="mi")),
    "near_threshold": lambda: MutualInformation(
        target="pairs", diagnosis=Diagnosis(labels_per_item=30, rule="near_threshold")
    ),
    "uncertainty": lambda: Uncertainty(target="pairs"),
    "random": lambda: Random(target="pairs"),
}
FILES = {
    "yeast": "yeast/yeast.arff.gz",
    "medical": "medical/medical.arff",
    "enron": "enron/enron.arff.gz",
    "delicious": "delicious/delicious.arff.gz",
    "rcv1sub1": "rcv1sub1/rcv1sub1.arff.gz",
    "bibtex": "bibtex/bibtex.arff.gz",
}
RULES = ("mi", "variance", "total_variance", "near_threshold", "auto", "random")
REVEALS = 20


def jobs(quick: bool, shared: Path | None) -> Mapping[str, Sequence[Job]]:
    """Every exhibit's jobs; those on published sets only where `shared` has them."""
    runs = 4 if quick else 30
    plan: dict[str, list[Job]] = {
        "toy": [
            Job(toy_run, {"seed": seed, "decoder": decoder, "strategy": strategy})
            for seed in range(runs)
            for decoder in (("identity",) if quick else ("identity", "published"))
            for strategy in ("mutual_information", "uncertainty", "random")
        ]
    }
    if shared is None:
        return plan
    seeds = range(2 if quick else 5)
    small = ("medical", "yeast") if quick else ("yeast", "medical", "enron")
    sets = small if quick else (*small, "rcv1sub1", "delicious")
    decoders = {
        name: ("identity",) if quick or name in ("rcv1sub1", "delicious") else ("identity", "published")
        for name in sets
    }
    plan["sets"] = [
        Job(set_run, {"file": _file(shared, name), "name": name, "seed": seed, "decoder": decoder, "strategy": s})
        for name in sets
        for seed in seeds
        for decoder in decoders[name]
        for s in ("mutual_information", "uncertainty", "random")
    ]
    plan["projections"] = [
        Job(set_run, {"file": _file(shared, "yeast"), "name": "yeast", "seed": s, "decoder": d, "strategy": "random"})
        for s in seeds
        for d in ("identity", "pca", "published")
    ]
    plan["inference"] = [
        Job(inference_run, {"file": _file(shared, name), "name": name, "seed": s})
        for name in ("medical", "yeast")
        for s in range(1 if quick else 3)
    ]
    plan["time"] = [
        Job(time_run, {"file": _file(shared, name), "name": name, "n_pool": 2000 if name == "yeast" else 4000})
        for name in (("yeast",) if quick else ("yeast", "rcv1sub1", "bibtex", "delicious"))
    ]
    plan["diagnosis"] = [
        Job(diagnosis_run, {"file": _file(shared, name), "name": name, "seed": s, "rule": rule})
        for name in ("medical", "enron")
        for s in range(2 if quick else 8)
        for rule in RULES
    ]
    plan["generalised"] = [
        Job(generalised_run, {"file": _file(shared, name), "name": name, "seed": s, "strategy": strategy})
        for name in (("medical",) if quick else ("medical", "enron"))
        for s in range(2 if quick else 5)
        for strategy in PAIR_STRATEGIES
    ]
    return plan


def toy_run(seed: int, decoder: str, strategy: str) -> Outcome:
    """Figure 2: 20 random items, then 25 chosen ones of 1000, in the plane."""
    data = make_gaussian_labels(1300, n_labels=35, mean_labels=7, random_state=seed)
    pool, test = data.take(np.arange(1000)), data.take(np.arange(1000, 1300))
    model = DECODERS[decoder](kernel="rbf", scale="none", random_state=seed)
    schedule = Schedule(start=20, rounds=5, batch=5)
    result = simulate(pool, model=model, strategy=STRATEGIES[strategy](), schedule=schedule, seed=seed, test=test)
    return _curve(result.rows) | {"decoder": decoder, "strategy": strategy, "seed": seed, "items": result.items()}


def set_run(file: str, name: str, seed: int, decoder: str, strategy: str) -> Outcome:
    """Figure 3: 200 random items, then 100 chosen ones, on a published set."""
    data = read(file)
    large = name in ("delicious", "rcv1sub1")
    schedule = Schedule(start=200, rounds=4, batch=25, pool_limit=2000 if large else None)
    test = None
    if large:  # a test set of a third would be most of the run
        data, test = _halves(data, 400, seed)
    model = DECODERS[decoder](kernel="linear", random_state=seed)
    result = simulate(data, model=model, strategy=STRATEGIES[strategy](), schedule=schedule, seed=seed, test=test)
    last = {k: result.rows[-1][k] for k in ("precision_at_1", "precision_at_2", "precision_at_3")}
    return _curve(result.rows) | {"set": name, "decoder": decoder, "strategy": strategy, "seed": seed} | last


def inference_run(file: str, name: str, seed: int) -> Outcome:
    """Figures 4a and 4b: the same projection and rows, marginal against mean-field inference."""
    train, test = _halves(read(file), 80, seed, n_train=300)
    beliefs = [
        CompressedLabelGP.published(kernel="linear", inference=inference, random_state=seed)
        .fit(train.X, train.Y)
        .posterior(test.X)
        for inference in ("marginal", "mean_field")
    ]
    means = [b.means() for b in beliefs]
    variances = [b.variances() for b in beliefs]
    logs = [-np.log(v) for v in variances]
    return {
        "set": name,
        "seed": seed,
        "correlation": float(np.corrcoef(means[0].ravel(), means[1].ravel())[0, 1]),
        "larger": float((variances[0] > variances[1]).mean()),
        "ratio": float(np.median(variances[1] / variances[0])),
        "spread": [float(np.ptp(np.percentile(log[:, 0], [5, 95]))) for log in logs],
        "means": [m[:5].ravel().tolist() for m in means],
        "logs": [log[:, 0].tolist() for log in logs],
    }


def time_run(file: str, name: str, n_pool: int) -> Outcome:
    """Table 2: seconds to fit on 200 items and to choose 250 of the pool."""
    data, _ = _halves(read(file), 10, 0)
    train, pool = data.take(np.arange(200)), data.take(np.arange(200, 200 + n_pool))
    model = CompressedLabelGP(kernel="linear", random_state=0)
    for n in (1, 250):  # the first time compiles
        began = perf_counter()
        beliefs = model.fit(train.X, train.Y).posterior(pool.X)
        fitted = perf_counter()
        MutualInformation().choose(beliefs, sp.csr_array(pool.Y.shape, dtype=bool), n, np.random.default_rng(0))
        chosen = perf_counter()
    return {"set": name, "labels": data.n_labels, "pool": n_pool, "fit": fitted - began, "choose": chosen - fitted}


def diagnosis_run(file: str, name: str, seed: int, rule: str) -> Outcome:
    """Figure 4c: reveal the labels of 30 new items one by one; F1 of the items' label sets after each."""
    train, test = _halves(read(file), 30, seed, n_train=100)
    model = CompressedLabelGP(projection="gaussian", label_prior="covariance", kernel="linear", random_state=seed)
    beliefs = model.fit(train.X, train.Y).posterior(test.X)
    truth = test.Y.toarray()
    known = np.zeros_like(truth)
    rng = np.random.default_rng([seed, 7])
    curve = []
    for reveal in range(REVEALS + 1):
        now = beliefs.given(truth, known) if reveal else beliefs
        curve.append(float(sample_f1(_sets(now, model.thresholds_, truth, known), truth)))
        rows, labels = _next_labels(rule, now, known, model.thresholds_, rng)
        known[rows, labels] = True
    return {"set": name, "rule": rule, "seed": seed, "f1": curve}


def generalised_run(file: str, name: str, seed: int, strategy: str) -> Outcome:
    """Figure 4d: 100 items in full, then 30 labels of one item after the other."""
    data = read(file)
    schedule = Schedule(start=100, rounds=6, batch=1, pair_batch=150)
    model = CompressedLabelGP(projection="identity", kernel="linear", random_state=seed)
    result = simulate(data, model=model, strategy=PAIR_STRATEGIES[strategy](), schedule=schedule, seed=seed)
    return _curve(result.rows) | {
        "set": name,
        "strategy": strategy,
        "seed": seed,
        "f1": [r["sample_f1"] for r in result.rows],
    }


def _next_labels(
    rule: str, beliefs: LabelPosterior, known: BoolArray, thresholds: FloatArray, rng: np.random.Generator
) -> tuple[Any, Any]:
    """One more label of every item."""
    if rule == "random":
        return np.arange(len(known)), np.argmax(np.where(known, -1.0, rng.random(known.shape)), axis=1)
    diagnosis = Diagnosis(rule=cast(Rule, rule), threshold=thresholds)
    rows, labels, _ = diagnosis.labels_of(beliefs, sp.csr_array(known), rng)
    return rows, labels


def _sets(beliefs: LabelPosterior, thresholds: FloatArray, truth: BoolArray, known: BoolArray) -> BoolArray:
    return np.where(known, truth, beliefs.probabilities() > thresholds)


def _halves(data: LabelData, n_test: int, seed: int, n_train: int | None = None) -> tuple[LabelData, LabelData]:
    """Different random items to learn from and to test on."""
    order = np.random.default_rng([seed, 5]).permutation(data.n_items)
    return data.take(order[n_test : None if n_train is None else n_test + n_train]), data.take(order[:n_test])


def _curve(rows: Sequence[Mapping[str, Any]]) -> Outcome:
    return {
        "items_read": [r["items_read"] for r in rows],
        "answers": [r["answers"] for r in rows],
        "score": [r[SCORE] for r in rows],
    }


def _file(shared: Path, name: str) -> str:
    return str(shared / FILES[name])
