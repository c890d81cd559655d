"""Paper 4, ML-LCS (UAI 2017), done again: what is computed. `mllcs_exhibits` says what came of it.

Labels are told or not told as a whole; of those not told, the co-occurrence counts on the training items are known.
Precision is measured over all test items, also those without any unseen label.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from labelwise.experiments.jobs import Job, Outcome
from labelwise.experiments.metrics import precision_at
from labelwise.experiments.reproduce.mllcs_data import MADE_UP, SETS, Split, count, load, split
from labelwise.experiments.reproduce.mllcs_new_labels import label_plan
from labelwise.models import BinaryRelevance, CooccurrenceFactors, CooccurrenceTransfer, LatentFactors
from labelwise.posterior import FloatArray

CUTS = (1, 3, 5)
SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
SWEEPS = (1, 3, 8, 20, 100)
KEPT = (0.03, 0.1, 0.3)
FEW_SWEEPS = 10  # near where predictions are best
TUNED_STANDARD = {"feature_penalty": 0.5, "n_iterations": 20}  # for rows of unit length
FACTORS: dict[str, dict[str, Any]] = {"delicious": {"n_factors": 100, "n_iterations": 15}}
TUNED: dict[str, dict[str, Any]] = {"delicious": {"n_factors": 100, "feature_penalty": 0.5, "n_iterations": 15}}
Maker = Callable[[FloatArray | None, str], Any]


def _transfer(rule: str) -> Maker:
    def make(counts: FloatArray | None, name: str) -> CooccurrenceTransfer:
        return CooccurrenceTransfer(rule, cooccurrence=counts, random_state=0)  # type: ignore[arg-type]  # from METHODS

    return make


METHODS: dict[str, Maker] = {
    "LFM-SL": lambda counts, name: LatentFactors.paper(**FACTORS.get(name, {})),
    "COSTA on factors": lambda counts, name: CooccurrenceTransfer(
        "costa", cooccurrence=counts, base=LatentFactors.paper(**FACTORS.get(name, {}))
    ),
    "COSTA on classifiers": lambda counts, name: CooccurrenceTransfer(
        "costa", cooccurrence=counts, base=BinaryRelevance()
    ),
    "ML-LCS": lambda counts, name: CooccurrenceFactors.paper(cooccurrence=counts, **FACTORS.get(name, {})),
    "ML-LCS tuned": lambda counts, name: CooccurrenceFactors(
        cooccurrence=counts, random_state=0, **TUNED.get(name, {})
    ),
    "LFM tuned": lambda counts, name: LatentFactors(random_state=0, **TUNED.get(name, {})),
    "conditional": _transfer("conditional"),
    "moment": _transfer("moment"),
    "sketched GP": _transfer("sketched_gp"),
    "ridge, seen only": lambda counts, name: CooccurrenceTransfer(label_weight=0.0, noise_variance=0.3),
    "ridge, told everything": lambda counts, name: CooccurrenceTransfer(label_weight=0.0, noise_variance=0.3),
}
RANKS_UNSEEN_LAST = ("LFM-SL", "LFM tuned", "ridge, seen only")


def jobs(quick: bool, shared: Path | None) -> Mapping[str, Sequence[Job]]:
    """Every exhibit's jobs; without the published sets, a made-up one shows how it goes."""
    sets, folder = ((MADE_UP,), "") if shared is None else (SETS, str(shared))
    first = sets[0]
    return {
        "halves": [
            Job(half_run, {"folder": folder, "name": name, "seed": seed, "method": method})
            for name in sets
            for method in METHODS
            for seed in range(n_splits(name, method, quick))
        ],
        "new labels": label_plan(folder, sets, quick),
        "shares": [
            Job(half_run, {"folder": folder, "name": first, "seed": seed, "method": method, "share": share})
            for share in (SHARES[::3] if quick else SHARES)
            for method in ("LFM-SL", "COSTA on factors", "ML-LCS", "sketched GP")
            for seed in range(2 if quick else 5)
        ],
        "sweeps": [
            Job(sweeps_run, {"folder": folder, "name": first, "seed": seed, "most": 20 if quick else 100})
            for seed in range(1 if quick else 5)
        ],
        "standard": [
            Job(standard_run, {"folder": folder, "name": name, "method": method})
            for name in sets[: 1 if quick else 2]
            for method in ("LFM-SL", "ML-LCS", "LFM tuned", "ML-LCS tuned")
            if not ("tuned" in method and (quick or name == "delicious"))
        ],
        "missing": [
            Job(missing_run, {"folder": folder, "name": first, "seed": seed, "kept": kept})
            for kept in KEPT
            for seed in range(2 if quick else 5)
        ],
        "time": [Job(time_run, {"folder": folder, "name": name}) for name in sets[: 1 if quick else 2]],
    }


def n_splits(name: str, method: str, quick: bool) -> int:
    """Closed forms are cheap; the factor models on many labels are not, and liblinear even less."""
    if method == "LFM tuned":  # for the standard setting
        return 0
    if name == "delicious":
        if quick:
            return int(method == "sketched GP")
        return 0 if method == "COSTA on classifiers" else 5
    if quick:
        return 0 if "tuned" in method else 2
    return 10 if method in ("sketched GP", "moment") else 5


def half_run(folder: str, name: str, seed: int, method: str, share: float | None = None) -> Outcome:
    """Tables 2 and 3, Figure 2: some labels told, the others known by their counts."""
    problem = split(folder, name, seed, share)
    model = METHODS[method](problem.counts(), name)
    if share is not None:  # fewer sweeps: there are many shares
        known = model.get_params()
        model.set_params(**{key: FEW_SWEEPS for key in ("n_iterations", "base__n_iterations") if key in known})
    told = np.ones(problem.Y.shape, dtype=bool) if method == "ridge, told everything" else problem.observed
    began = perf_counter()
    model.fit(problem.train.X, problem.Y, told)
    fitted = perf_counter()
    scores = ranking(model.posterior(problem.test.X))
    if method in RANKS_UNSEEN_LAST:
        scores[:, problem.unseen] = -np.inf
    return {
        "set": name,
        "seed": seed,
        "method": method,
        "share": share,
        "seconds": fitted - began,
        "joint": precisions(scores, problem.truth),
        "unseen": None if method in RANKS_UNSEEN_LAST else unseen_precisions(scores, problem),
        "unseen_first": float(np.isin(scores.argmax(axis=1), problem.unseen).mean()),
    }


def sweeps_run(folder: str, name: str, seed: int, most: int) -> Outcome:
    """Figure 3: precision at 1 against the number of sweeps."""
    problem = split(folder, name, seed)
    counts, found = problem.counts(), []
    steps = [n for n in SWEEPS if n <= most]
    for n in steps:
        model = CooccurrenceFactors.paper(cooccurrence=counts, n_iterations=n)
        scores = ranking(model.fit(problem.train.X, problem.Y, problem.observed).posterior(problem.test.X))
        found.append((precisions(scores, problem.truth)[0], unseen_precisions(scores, problem)[0]))
    joint, unseen = zip(*found, strict=True)
    return {"set": name, "seed": seed, "sweeps": steps, "joint": list(joint), "unseen": list(unseen)}


def standard_run(folder: str, name: str, method: str) -> Outcome:
    """Table 4: all labels told."""
    train, test = load(folder, name)
    model = METHODS[method](None, name)
    if "tuned" in method:
        model.set_params(**TUNED_STANDARD)
    elif name not in FACTORS:
        model.set_params(n_iterations=20)
    scores = ranking(model.fit(train.X, train.Y.toarray()).posterior(test.X))
    return {"set": name, "method": method, "joint": precisions(scores, test.Y.toarray())}


def missing_run(folder: str, name: str, seed: int, kept: float) -> Outcome:
    """Only a share of all (item, label) entries told: without counts, with those of all entries, with those told."""
    train, test = load(folder, name)
    rng = np.random.default_rng([seed, 11])
    rows = np.sort(rng.permutation(train.n_items)[:1500])
    common = np.argsort(-np.asarray(train.Y.sum(axis=0)).ravel(), kind="stable")[:40]
    Y, truth = train.Y[rows].toarray()[:, common], test.Y.toarray()[:, common]
    observed = rng.random(Y.shape) < kept
    models = {
        "without counts": LatentFactors.paper(n_iterations=20),
        "counts of all": CooccurrenceFactors.paper(cooccurrence=count(Y), n_iterations=20),
        "counts of those told": CooccurrenceFactors.paper(cooccurrence=count(Y & observed), n_iterations=20),
    }
    found = {
        label: precisions(ranking(model.fit(train.X[rows], Y, observed).posterior(test.X)), truth)
        for label, model in models.items()
    }
    return {"set": name, "seed": seed, "kept": kept, "found": found}


def time_run(folder: str, name: str) -> Outcome:
    """CPU seconds per sweep with and without counts, and of the sketched GP in all."""
    problem = split(folder, name, 0)
    counts = problem.counts()
    k = FACTORS.get(name, {}).get("n_factors", 80)
    found = {}
    for label, make in {
        "LFM-SL": lambda n: LatentFactors.paper(n_factors=k, n_iterations=n),
        "ML-LCS": lambda n: CooccurrenceFactors.paper(n_factors=k, n_iterations=n, cooccurrence=counts),
    }.items():
        _seconds(make(1), problem)  # the first time compiles
        seconds = [_seconds(make(n), problem) for n in (2, 17)]
        found[label] = (seconds[1] - seconds[0]) / 15
    sketched = _seconds(CooccurrenceTransfer(cooccurrence=counts, random_state=0), problem)
    return {"set": name, "n_factors": k, "per_sweep": found, "sketched": sketched}


def _seconds(model: Any, problem: Split) -> float:
    began = process_time()  # other processes may be at work
    model.fit(problem.train.X, problem.Y, problem.observed)
    return process_time() - began


def ranking(posterior: Any) -> FloatArray:
    """(n, q) what a model ranks labels by: log-odds of the factor models, 0/1 scores of transfer."""
    for name in ("scores", "means"):
        if hasattr(posterior, name):
            return np.array(getattr(posterior, name)())
    return np.array(posterior.probabilities())


def precisions(scores: FloatArray, truth: Any) -> list[float]:
    return [precision_at(scores, truth, k) for k in CUTS]


def unseen_precisions(scores: FloatArray, problem: Split) -> list[float]:
    return precisions(scores[:, problem.unseen], problem.truth[:, problem.unseen])
