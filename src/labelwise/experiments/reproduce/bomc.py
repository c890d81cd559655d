"""Paper 5, BOMC (AISTATS 2010), done again: what is computed. `bomc_exhibits` says what came of it.

Every learner sees the same rows of a split. The rivals are given their best form. One-pass learners get a constant
feature that learns as fast as the others: scikit-learn damps the intercept of sparse rows a hundredfold, which costs
passive-aggressive learning four points. Whether they average their steps, and the C of the support vector machine, is
what the cross-validation that sets their thresholds finds best, for each rule on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import KFold
from sklearn.svm import LinearSVC

from labelwise.decisions import ClassMass, ExpectedF1, ScoredSets, TunedThreshold, score_sets
from labelwise.experiments.jobs import Job, Outcome
from labelwise.experiments.metrics import macro_f1
from labelwise.experiments.reproduce.bomc_sets import (
    REUTERS,
    Cut,
    Split,
    available,
    cut,
    load,
    weigh,
)
from labelwise.models import BinaryRelevance, OnlineBayes
from labelwise.posterior import BoolArray, FloatArray, MarginalPosterior

BAYES: dict[str, Callable[[int], OnlineBayes]] = {
    "coupled": lambda seed: OnlineBayes(random_state=seed),
    "independent": lambda seed: OnlineBayes("independent", random_state=seed),
    "coupled, as published": lambda seed: OnlineBayes.paper(random_state=seed),
    "independent, as published": lambda seed: OnlineBayes.paper("independent", random_state=seed),
}
ONE_PASS: dict[str, Any] = {"max_iter": 1, "tol": None, "fit_intercept": False}
RIVALS: dict[str, tuple[Any, ...]] = {  # candidates to choose from by cross-validation
    "passive-aggressive": tuple(
        SGDClassifier(learning_rate="pa1", eta0=1.0, penalty=None, average=average, **ONE_PASS)
        for average in (False, True)
    ),
    "SGD": tuple(SGDClassifier(loss="log_loss", average=average, **ONE_PASS) for average in (False, True)),
    "SVM": tuple(LinearSVC(C=C, tol=0.1, max_iter=300) for C in (0.3, 1.0)),
}
UNTUNED = {"SVM, C = 1": (LinearSVC(tol=0.1, max_iter=300),)}
SETS = ("enron", "bibtex", "rcv1sub1", REUTERS, "delicious")
SIZES = (100, 300, 1000, 3000)
MOST_ROWS = {"delicious": 2000, REUTERS: 3000}  # where the rivals would take too long
QUICK_ROWS = 300
SPLITS = 3
PAPER_SAMPLES = (5, 20, 80)
THRESHOLDS = 48  # of figure 4, equal steps of the log-odds
SHOWN = 4  # labels of figure 4
FOLDS = 3


def jobs(quick: bool, shared: Path | None) -> Mapping[str, Sequence[Job]]:
    """Every exhibit's jobs, on the sets that are there; made-up rows where none is."""
    folder = str(shared or "")
    names = available(shared, ("enron", "bibtex") if quick else SETS)
    plan: dict[str, list[Job]] = {
        "curves": [
            Job(learning_run, {"folder": folder, "name": name, "seed": seed, "learner": learner, "most": most})
            for name in names
            for most in [QUICK_ROWS if quick else MOST_ROWS.get(name)]
            for seed in range(2 if quick else SPLITS)
            for learner in (*BAYES, *RIVALS)
        ],
        "thresholds": [
            Job(threshold_run, {"folder": folder, "name": name, "seed": seed, "learner": learner})
            for name in (["rcv1sub1"] if "rcv1sub1" in names else names[:1])  # has as many labels as the paper's
            for seed in range(2 if quick else SPLITS)
            for learner in ("coupled", "coupled, as published")
        ],
    }
    plan["official"] = [
        Job(learning_run, {"folder": folder, "name": name, "seed": seed, "learner": learner, "split": "official"})
        for name in (() if quick else ("bibtex", "enron"))
        if name in names
        for seed in range(SPLITS)
        for learner in ("coupled", "independent", "coupled, as published", *RIVALS, *UNTUNED)
    ]
    return plan


def learning_run(
    folder: str, name: str, seed: int, learner: str, *, split: Split = "random", most: int | None = None
) -> Outcome:
    """Figures 5, 6 and 7: macro-F1 on fixed test rows after more and more training rows, under each rule."""
    rows = load(folder, name)
    train, test = cut(rows, split, seed, name)
    test = test if most is None else test[:most]
    sizes = [len(train)] if split == "official" else training_sizes(min(len(train), most or len(train)))
    outcome: Outcome = {"set": name, "seed": seed, "learner": learner, "labels": rows.Y.shape[1], "rows": sizes}
    parts: list[Outcome] = []
    for n in sizes:
        data = weigh(rows, train[:n], test, by_rows=name != "rcv1sub1")
        parts.append(_bayes_part(data, learner, seed) if learner in BAYES else _rival_part(data, learner, seed))
    return outcome | {key: [part[key] for part in parts] for key in parts[0]}


def training_sizes(largest: int) -> list[int]:
    """100, 300, 1000, ... as far as all rows are at least half as many again, then all rows.

    >>> training_sizes(4930), training_sizes(1135)
    ([100, 300, 1000, 3000, 4930], [100, 300, 1135])
    """
    return [*(size for size in SIZES if 1.5 * size <= largest), largest]


def _bayes_part(data: Cut, learner: str, seed: int) -> Outcome:
    model = BAYES[learner](seed)
    clone(model).fit(data.X[:20], data.Y[:20])  # compiled before the clock runs
    began = process_time()
    model.fit(data.X, data.Y)
    seconds = process_time() - began
    beliefs = model.posterior(data.X_test)
    scored = {"class mass": ClassMass.from_labels(data.Y).decide_scored(beliefs)} | {
        "expected F1": _expected(data).decide_scored(beliefs),
        "expected F1, 5 samples": _expected(data, samples=5).decide_scored(beliefs),
    }
    state = model.state_
    shared = float(np.median(state.bias[:, 1])) if len(state.bias) else None
    return {
        "f1": {rule: macro_f1(result.sets, data.truth).value for rule, result in scored.items()},
        "believed": {rule: _believed(result, data) for rule, result in scored.items()},
        "seconds": seconds,
        "sweeps": state.sweeps / state.seen,
        "bias_variance": shared if shared is not None else float(np.median(state.local_bias()[1])),
    }


def _rival_part(data: Cut, learner: str, seed: int) -> Outcome:
    candidates = (RIVALS | UNTUNED)[learner]
    if not isinstance(candidates[0], LinearSVC):  # liblinear adds the constant feature itself
        data = Cut(_with_constant(data.X), data.Y, _with_constant(data.X_test), data.truth)
    shares = ClassMass.from_labels(data.Y)
    models = [BinaryRelevance(candidate, random_state=seed) for candidate in candidates]
    held_out = [_held_out(model, data, seed) for model in models]
    tuned = [TunedThreshold.fit(p, data.Y, min_positives=5) for p in held_out]
    by_mass = int(np.argmax([macro_f1(shares.decide(MarginalPosterior(p)), data.Y).value for p in held_out]))
    by_threshold = int(np.argmax([rule.held_out_score for rule in tuned]))
    fitted = {number: _timed_fit(models[number], data) for number in {by_mass, by_threshold}}
    sets = {
        "class mass": shares.decide(fitted[by_mass][0]),
        "cross-validated": tuned[by_threshold].decide(fitted[by_threshold][0]) & data.Y.any(0),
    }
    return {
        "f1": {rule: macro_f1(given, data.truth).value for rule, given in sets.items()},
        "seconds": fitted[by_mass][1],
    }


def _timed_fit(model: BinaryRelevance, data: Cut) -> tuple[MarginalPosterior, float]:
    """Beliefs about the test rows, and the seconds of the processor that learning took."""
    began = process_time()
    model.fit(data.X, data.Y)
    seconds = process_time() - began
    return MarginalPosterior(model.posterior(data.X_test).probabilities()), seconds


def _held_out(model: BinaryRelevance, data: Cut, seed: int) -> FloatArray:
    """(n, q) predictions for the training rows by models that have not seen them."""
    p = np.empty(data.Y.shape)
    for fit, rest in KFold(FOLDS, shuffle=True, random_state=seed).split(data.X):
        p[rest] = clone(model).fit(data.X[fit], data.Y[fit]).posterior(data.X[rest]).probabilities()
    return p


def threshold_run(folder: str, name: str, seed: int, learner: str) -> Outcome:
    """Figure 4: F1 against the threshold, as believed and as it is; the threshold chosen against the best there is."""
    rows = load(folder, name)
    data = weigh(rows, *cut(rows, "random", seed, name), by_rows=name != "rcv1sub1")
    beliefs = BAYES[learner](seed).fit(data.X, data.Y).posterior(data.X_test)
    p = MarginalPosterior(beliefs.probabilities())
    rules = {"independent": _expected(data)} | {f"{s} samples": _expected(data, samples=s) for s in PAPER_SAMPLES}
    scored = {rule: decision.decide_scored(beliefs) for rule, decision in rules.items()}
    judged = np.logical_and(data.truth.any(0), data.Y.any(0))
    shown = _spread_over_frequencies(data.truth, judged)
    thresholds = 1 / (1 + np.exp(-np.linspace(-8, 4, THRESHOLDS)))
    curves = [_at_threshold(p, data.truth, threshold, shown) for threshold in thresholds]
    return {
        "set": name,
        "seed": seed,
        "learner": learner,
        "judged": int(judged.sum()),
        "best": TunedThreshold.fit(p.probabilities()[:, judged], data.truth[:, judged]).held_out_score,
        "f1": {rule: macro_f1(result.sets[:, judged], data.truth[:, judged]).value for rule, result in scored.items()},
        "believed": {rule: float(result.expected[judged].mean()) for rule, result in scored.items()},
        "thresholds": thresholds.tolist(),
        "positives": data.truth[:, shown].sum(0).tolist(),
        "believed_curves": [[curve[0][i] for curve in curves] for i in range(len(shown))],
        "real_curves": [[curve[1][i] for curve in curves] for i in range(len(shown))],
    }


def _at_threshold(
    p: MarginalPosterior, truth: BoolArray, threshold: float, labels: npt.NDArray[np.intp]
) -> tuple[list[float], list[float]]:
    """F1 of the labels when all above a threshold are given: expected and real."""
    beliefs = MarginalPosterior(p.probabilities()[:, labels])
    sets = beliefs.probabilities() > threshold
    hits, total = (sets & truth[:, labels]).sum(0), sets.sum(0) + truth[:, labels].sum(0)
    return score_sets(beliefs, sets).expected.tolist(), (2 * hits / np.maximum(total, 1)).tolist()


def _spread_over_frequencies(truth: BoolArray, judged: BoolArray) -> npt.NDArray[np.intp]:
    """Labels from frequent to rare, in equal steps of rank among the more frequent three quarters."""
    falling = np.argsort(-np.where(judged, truth.sum(0), -1), kind="stable")[: int(judged.sum())]
    return falling[np.linspace(0, 0.75 * (len(falling) - 1), min(SHOWN, len(falling))).astype(int)]


def _expected(data: Cut, samples: int | None = None) -> ExpectedF1:
    seen = data.Y.any(0)  # a label without a positive would be given to all
    if samples is None:
        return ExpectedF1(known_labels=seen)
    return ExpectedF1(method="samples", n_samples=samples, known_labels=seen)


def _believed(result: ScoredSets, data: Cut) -> float:
    """What is expected of the labels that the test rows can judge."""
    return float(result.expected[data.truth.any(0)].mean())


def _with_constant(X: Any) -> Any:
    return sp.csr_array(sp.hstack([X, np.ones((X.shape[0], 1))]))
