"""Paper 5, BOMC (AISTATS 2010), done again: the data and the runs. `bomc_exhibits` shows what came of them.

Items are unit rows of weighted words: 1 + ln(count) times ln((1 + n)/(1 + rows with it)), counted on the training rows
alone. The values of rcv1sub1 are weighted as published and only scaled. Where no published sets are at hand, made-up
rows stand in.

Every learner sees the same rows of a split. The rivals are given their best form. One-pass learners get a constant
feature that learns as fast as the others: scikit-learn damps the intercept of sparse rows a hundredfold, which costs
passive-aggressive learning four points. Whether they average their steps, and the C of the support vector machine, is
what the cross-validation that sets their thresholds finds best, for each rule on its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from time import process_time
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import KFold
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from labelwise.data import make_drifting_stream, read
from labelwise.decisions import ClassMass, ExpectedF1, TunedThreshold, score_sets
from labelwise.models import BinaryRelevance, OnlineBayes
from labelwise.numerics.metrics import macro_f1
from labelwise.posterior import BoolArray, FloatArray, MarginalPosterior
from labelwise.studies.jobs import Outcome
from labelwise.studies.papers.engine import Plan, every
from labelwise.studies.papers.sets import FILES, REUTERS, WordRows, available, published_split, read_reuters

SplitKind = Literal["random", "official"]
Numbers = npt.NDArray[np.intp]
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
UNTUNED: dict[str, tuple[Any, ...]] = {"SVM, C = 1": (LinearSVC(tol=0.1, max_iter=300),)}
MADE_UP, MADE_UP_LABELS = "made-up", 30
PUBLISHED_SPLITS = ("bibtex", "enron")
SETS = ("enron", "bibtex", "rcv1sub1", REUTERS, "delicious")
TRAINING_SIZES = (100, 300, 1000, 3000)
MOST_ROWS = {"delicious": 2000, REUTERS: 3000}  # where the rivals would take too long
QUICK_ROWS = 300
N_SPLITS = 3
SAMPLE_SIZES = (5, 20, 80)  # of posterior samples, in figure 4
N_THRESHOLDS = 48  # of figure 4, equal steps of the log-odds
LABELS_SHOWN = 4  # in figure 4
N_FOLDS = 3


def jobs(quick: bool, shared: Path | None) -> Plan:
    """Every exhibit's jobs, on the sets that are there; made-up rows where none is."""
    folder, seeds = str(shared or ""), range(2 if quick else N_SPLITS)
    names = available(shared, ("enron", "bibtex") if quick else SETS) or [MADE_UP]
    most = {name: QUICK_ROWS if quick else MOST_ROWS.get(name) for name in names}
    official = [] if quick else [name for name in PUBLISHED_SPLITS if name in names]
    compared = ("coupled", "independent", "coupled, as published", *RIVALS, *UNTUNED)
    return {
        "curves": [
            job
            for name in names
            for job in every(
                learning_run, folder=folder, name=name, seed=seeds, learner=(*BAYES, *RIVALS), most=most[name]
            )
        ],
        "thresholds": every(
            threshold_run,
            folder=folder,
            name="rcv1sub1" if "rcv1sub1" in names else names[0],  # has as many labels as the paper's
            seed=seeds,
            learner=("coupled", "coupled, as published"),
        ),
        "official": every(learning_run, folder=folder, name=official, seed=seeds, learner=compared, split="official"),
    }


# -- data -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WeightedSplit:
    """Training and test rows, words weighted by what the training rows say."""

    X: Any  # (n, d) CSR
    Y: BoolArray  # (n, q)
    X_test: Any
    truth: BoolArray


@lru_cache(maxsize=2)
def load(folder: str, name: str) -> WordRows:
    """All rows of a set as published, words as counts. A worker keeps the last two sets it read."""
    if name == MADE_UP:
        data = make_drifting_stream(3000, MADE_UP_LABELS, share=0.04, noise=0.5, random_state=0)
    elif name == REUTERS:
        return read_reuters(Path(folder) / name)
    elif name in PUBLISHED_SPLITS:
        train, test = published_split(folder, name)
        is_test = np.repeat([False, True], [train.n_items, test.n_items])
        return WordRows(sp.csr_array(sp.vstack([train.X, test.X])), sp.vstack([train.Y, test.Y]).toarray(), is_test)
    else:
        data = read(Path(folder) / FILES[name])
    return WordRows(sp.csr_array(data.X), data.Y.toarray())


def cut(rows: WordRows, split: SplitKind, seed: int, name: str) -> tuple[Numbers, Numbers]:
    """Numbers of the training and of the test rows: as published, or a random third for testing."""
    order = np.random.default_rng([seed, 17]).permutation(rows.Y.shape[0])
    if split == "random":
        third = len(order) // 3
        return order[third:], order[:third]
    if rows.is_test is None:
        raise ValueError(f"no training and test rows are published for {name}")
    return order[~rows.is_test[order]], order[rows.is_test[order]]


def weigh(rows: WordRows, train: Numbers, test: Numbers, *, by_rows: bool) -> WeightedSplit:
    """Unit rows; `by_rows` weighs words by how few training rows have them."""
    X, X_test = rows.X[train], rows.X[test]
    if by_rows:
        with_it = np.bincount(X.indices, minlength=X.shape[1])
        rarity = sp.diags_array(np.log((1 + len(train)) / (1 + with_it)))
        X, X_test = (_log_counts(part) @ rarity for part in (X, X_test))
    X, X_test = (sp.csr_array(normalize(sp.csr_array(part))) for part in (X, X_test))
    return WeightedSplit(X, rows.Y[train], X_test, rows.Y[test])


def _log_counts(X: Any) -> Any:
    logs = X.copy()
    logs.data = 1 + np.log(logs.data)
    return logs


# -- runs -------------------------------------------------------------------------------------------------------------


def learning_run(
    folder: str, name: str, seed: int, learner: str, *, split: SplitKind = "random", most: int | None = None
) -> Outcome:
    """Figures 5, 6 and 7: macro-F1 on fixed test rows after more and more training rows, under each rule."""
    rows = load(folder, name)
    train, test = cut(rows, split, seed, name)
    test = test if most is None else test[:most]
    sizes = [len(train)] if split == "official" else training_sizes(min(len(train), most or len(train)))
    outcome: Outcome = {"labels": rows.Y.shape[1], "rows": sizes}
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
    return [*(size for size in TRAINING_SIZES if 1.5 * size <= largest), largest]


def _bayes_part(data: WeightedSplit, learner: str, seed: int) -> Outcome:
    model = BAYES[learner](seed)
    clone(model).fit(data.X[:20], data.Y[:20])  # compiled before the clock runs
    seconds = _seconds_to_fit(model, data)
    beliefs = model.posterior(data.X_test)
    scored = {"class mass": ClassMass.from_labels(data.Y).decide_scored(beliefs)} | {
        "expected F1": _expected(data).decide_scored(beliefs),
        "expected F1, 5 samples": _expected(data, samples=5).decide_scored(beliefs),
    }
    state, judged = model.state_, data.truth.any(0)  # the labels that the test rows can judge
    shared = float(np.median(state.bias[:, 1])) if len(state.bias) else None
    return {
        "f1": {rule: macro_f1(result.sets, data.truth).value for rule, result in scored.items()},
        "believed": {rule: float(result.expected[judged].mean()) for rule, result in scored.items()},
        "seconds": seconds,
        "sweeps": state.sweeps / state.seen,
        "bias_variance": shared if shared is not None else float(np.median(state.local_bias()[1])),
    }


def _rival_part(data: WeightedSplit, learner: str, seed: int) -> Outcome:
    candidates = (RIVALS | UNTUNED)[learner]
    if not isinstance(candidates[0], LinearSVC):  # liblinear adds the constant feature itself
        data = replace(data, X=_with_constant(data.X), X_test=_with_constant(data.X_test))
    shares = ClassMass.from_labels(data.Y)
    models = [BinaryRelevance(candidate, random_state=seed) for candidate in candidates]
    held_out = [_held_out(model, data, seed) for model in models]
    tuned = [TunedThreshold.fit(p, data.Y, min_positives=5) for p in held_out]
    by_mass = int(np.argmax([macro_f1(shares.decide(MarginalPosterior(p)), data.Y).value for p in held_out]))
    by_threshold = int(np.argmax([rule.held_out_score for rule in tuned]))
    seconds = {number: _seconds_to_fit(models[number], data) for number in {by_mass, by_threshold}}
    beliefs = {number: MarginalPosterior(models[number].posterior(data.X_test).probabilities()) for number in seconds}
    sets = {
        "class mass": shares.decide(beliefs[by_mass]),
        "cross-validated": tuned[by_threshold].decide(beliefs[by_threshold]) & data.Y.any(0),
    }
    return {
        "f1": {rule: macro_f1(given, data.truth).value for rule, given in sets.items()},
        "seconds": seconds[by_mass],
    }


def _seconds_to_fit(model: BinaryRelevance | OnlineBayes, data: WeightedSplit) -> float:
    began = process_time()
    model.fit(data.X, data.Y)
    return process_time() - began


def _held_out(model: BinaryRelevance, data: WeightedSplit, seed: int) -> FloatArray:
    """(n, q) predictions for the training rows by models that have not seen them."""
    p = np.empty(data.Y.shape)
    for fit, rest in KFold(N_FOLDS, shuffle=True, random_state=seed).split(data.X):
        p[rest] = clone(model).fit(data.X[fit], data.Y[fit]).posterior(data.X[rest]).probabilities()
    return p


def threshold_run(folder: str, name: str, seed: int, learner: str) -> Outcome:
    """Figure 4: F1 against the threshold, as believed and as it is; the threshold chosen against the best there is."""
    rows = load(folder, name)
    data = weigh(rows, *cut(rows, "random", seed, name), by_rows=name != "rcv1sub1")
    beliefs = BAYES[learner](seed).fit(data.X, data.Y).posterior(data.X_test)
    p = MarginalPosterior(beliefs.probabilities())
    rules = {"independent": _expected(data)} | {f"{s} samples": _expected(data, samples=s) for s in SAMPLE_SIZES}
    scored = {rule: decision.decide_scored(beliefs) for rule, decision in rules.items()}
    judged = np.logical_and(data.truth.any(0), data.Y.any(0))
    shown = _spread_over_frequencies(data.truth, judged)
    thresholds = 1 / (1 + np.exp(-np.linspace(-8, 4, N_THRESHOLDS)))
    curves = [_at_threshold(p, data.truth, threshold, shown) for threshold in thresholds]
    return {
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
    p: MarginalPosterior, truth: BoolArray, threshold: float, labels: Numbers
) -> tuple[list[float], list[float]]:
    """F1 of the labels when all above a threshold are given: expected and real."""
    beliefs = MarginalPosterior(p.probabilities()[:, labels])
    sets = beliefs.probabilities() > threshold
    hits, total = (sets & truth[:, labels]).sum(0), sets.sum(0) + truth[:, labels].sum(0)
    return score_sets(beliefs, sets).expected.tolist(), (2 * hits / np.maximum(total, 1)).tolist()


def _spread_over_frequencies(truth: BoolArray, judged: BoolArray) -> Numbers:
    """Labels from frequent to rare, in equal steps of rank among the more frequent three quarters."""
    falling = np.argsort(-np.where(judged, truth.sum(0), -1), kind="stable")[: int(judged.sum())]
    return falling[np.linspace(0, 0.75 * (len(falling) - 1), min(LABELS_SHOWN, len(falling))).astype(int)]


def _expected(data: WeightedSplit, samples: int | None = None) -> ExpectedF1:
    seen = data.Y.any(0)  # a label without a positive would be given to all
    if samples is None:
        return ExpectedF1(known_labels=seen)
    return ExpectedF1(method="samples", n_samples=samples, known_labels=seen)


def _with_constant(X: Any) -> Any:
    return sp.csr_array(sp.hstack([X, np.ones((X.shape[0], 1))]))
