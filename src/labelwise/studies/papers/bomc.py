"""Paper 5, BOMC (AISTATS 2010), done again: the data and the runs. `bomc_exhibits` shows what came of them.

Items are unit rows of weighted words: 1 + ln(count) times ln((1 + n)/(1 + rows with it)), counted on the training rows
alone. The values of RCV1-v2 and of its sample rcv1sub1 are weighted as published and only scaled. Where no published
sets are at hand, made-up rows stand in.

Every learner sees the same rows of a split. The rivals are given their best form: passive-aggressive learning a
constant feature that learns as fast as the others, and its C and whether it averages its steps by the cross-validation
that sets its thresholds; the support vector machine its C, likewise. Each rule chooses on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import process_time
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import expit
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import KFold
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from labelwise.data import make_drifting_stream, read
from labelwise.data.formats import rcv1
from labelwise.decisions import ClassMass, ExpectedF1, SampleTally, TunedThreshold, score_sets
from labelwise.models import BinaryRelevance, OnlineBayes
from labelwise.numerics.ep.message_passing import compiled
from labelwise.numerics.metrics import macro_f1
from labelwise.posterior import BoolArray, FloatArray, LabelPosterior, MarginalPosterior
from labelwise.studies.jobs import Job, Outcome
from labelwise.studies.papers.engine import Plan, every
from labelwise.studies.papers.sets import FILES, REUTERS, WordRows, available, read_reuters

Numbers = npt.NDArray[np.intp]
PA, SVM = "passive-aggressive", "SVM"
BAYES: dict[str, Callable[[int], OnlineBayes]] = {
    "coupled": lambda seed: OnlineBayes(random_state=seed),
    "independent": lambda seed: OnlineBayes("independent", random_state=seed),
    "coupled, as published": lambda seed: OnlineBayes.paper(random_state=seed),
    "independent, as published": lambda seed: OnlineBayes.paper("independent", random_state=seed),
}
OURS, SINGLE, BOMC, SINGLE_BOMC = BAYES
MASS, EXPECTED, SAMPLED, TUNED = "class mass", "expected F1", "5 samples", "cross-validated"
PA_BATCH = "PA, cross-validated by the SVM"
AGGRESSIVENESS = (0.1, 0.3, 1.0)  # C of passive-aggressive learning
PENALTIES = (0.3, 1.0)  # C of the support vector machine
LIBLINEAR: dict[str, Any] = {"tol": 0.1, "max_iter": 300}
SKLEARN_PA = SGDClassifier(
    learning_rate="pa1", eta0=1.0, penalty=None, max_iter=1, tol=None, fit_intercept=False
)  # given the constant feature, because it damps the intercept of sparse rows a hundredfold
MADE_UP, MADE_UP_LABELS = "made-up", 30
RCV1 = "rcv1v2"
GROUPS = ("industries", "regions", "topics")  # of RCV1-v2's labels
SETS = ("enron", "bibtex", "rcv1sub1", REUTERS, "delicious")
WEIGHTED = ("rcv1sub1", *(f"{RCV1} {group}" for group in GROUPS))  # published as weights
TRAINING_SIZES = (100, 300, 1000, 3000)
MOST_ROWS = {"delicious": 2000, REUTERS: 3000}  # where the rivals would take too long
MOST_RCV1 = 10_000
QUICK_ROWS = 300
N_SPLITS = 5
N_SAMPLES, N_THRESHOLDS = 5, 20  # of posterior samples and of thresholds, as in the paper
MORE_SAMPLES = (10, 20)
FEW_TEST_ROWS = 200
FREQUENT = 20  # test positives
LABELS_SHOWN = 4  # in figure 4
N_FOLDS = 3
REPEATS = 3  # of a training that is timed


def jobs(quick: bool, shared: Path | None) -> Plan:
    """Every exhibit's jobs, on the sets that are there; made-up rows where none is."""
    folder, seeds = str(shared or ""), range(2 if quick else N_SPLITS)
    names = available(shared, ("enron", "bibtex") if quick else SETS) or [MADE_UP]
    if not quick:
        names += rcv1_groups(shared)
    most = {name: QUICK_ROWS if quick else MOST_ROWS.get(name, MOST_RCV1) for name in names}
    learners = (*BAYES, PA, SVM)

    def on_each(function: Callable[..., Outcome], **settings: Any) -> list[Job]:
        return [
            job
            for name in names
            for job in every(function, folder=folder, name=name, seed=seeds, most=most[name], **settings)
        ]

    return {
        "curves": on_each(curve_run, learner=learners),
        "thresholds": on_each(threshold_run, learner=(BOMC, OURS)),
        "test sizes": on_each(few_rows_run, learner=(BOMC, OURS)),
        "times": on_each(time_run),
    }


def rcv1_groups(shared: Path | None) -> list[str]:
    """Sets of RCV1-v2, one for each group of labels whose file is in the folder."""
    if shared is None or not rcv1.vector_files(shared / RCV1):
        return []
    return [f"{RCV1} {group}" for group in GROUPS if rcv1.judgements(shared / RCV1, group) is not None]


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
    elif name.startswith(RCV1):
        data = rcv1.read(Path(folder) / RCV1, labels=name.removeprefix(f"{RCV1} "), dtype=np.float32)
    else:
        data = read(Path(folder) / FILES[name])
    return WordRows(sp.csr_array(data.X), data.Y.toarray())


def cut(rows: WordRows, seed: int) -> tuple[Numbers, Numbers]:
    """Numbers of the training rows and, a random third, of the test rows."""
    order = np.random.default_rng([seed, 17]).permutation(rows.Y.shape[0])
    third = len(order) // 3
    return order[third:], order[:third]


def split_rows(folder: str, name: str, seed: int, most: int) -> WeightedSplit:
    """A random third to test on and the rest to learn from, at most so many each."""
    rows = load(folder, name)
    train, test = cut(rows, seed)
    return weigh(rows, train[:most], test[:most], by_rows=name not in WEIGHTED)


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


# -- rivals -----------------------------------------------------------------------------------------------------------


@compiled
def _one_pass(
    indptr: Any, rows: Any, values: Any, signs: Any, weights: FloatArray, delays: FloatArray, C: float
) -> None:
    """w += min(C, hinge/‖x‖²) z x for all labels, row by row; `delays`, if it has rows, adds steps times their row.

    The layout is that of `numerics.ep.online_learning`: all labels of a feature side by side, the constant one first.
    """
    step = np.empty(weights.shape[1], weights.dtype)
    for i in range(indptr.size - 1):
        square = weights.dtype.type(1)
        for c in range(step.size):
            step[c] = weights[0, c]
        k, end = indptr[i], indptr[i + 1]
        while k + 3 < end:  # as `online_learning` takes them
            x0, x1, x2, x3 = values[k], values[k + 1], values[k + 2], values[k + 3]
            square += x0 * x0 + x1 * x1 + x2 * x2 + x3 * x3
            a, b, d, e = weights[rows[k]], weights[rows[k + 1]], weights[rows[k + 2]], weights[rows[k + 3]]
            for c in range(step.size):
                step[c] += x0 * a[c] + x1 * b[c] + x2 * d[c] + x3 * e[c]
            k += 4
        while k < end:
            x0, a = values[k], weights[rows[k]]
            square += x0 * x0
            for c in range(step.size):
                step[c] += x0 * a[c]
            k += 1
        most, none = weights.dtype.type(C), weights.dtype.type(0)
        for c in range(step.size):
            z = weights.dtype.type(signs[i, c])
            step[c] = z * min(most, max(none, 1 - z * step[c]) / square)
        _add(weights, step, indptr, rows, values, i, weights.dtype.type(1))
        if delays.shape[0] > 0:
            _add(delays, step, indptr, rows, values, i, weights.dtype.type(i))


@compiled
def _add(to: FloatArray, step: FloatArray, indptr: Any, rows: Any, values: Any, i: int, times: float) -> None:
    row = to[0]
    for c in range(step.size):
        row[c] += times * step[c]
    for k in range(indptr[i], indptr[i + 1]):
        row, x = to[rows[k]], times * values[k]
        for c in range(step.size):
            row[c] += x * step[c]


@dataclass
class PassiveAggressive:
    """PA-I (Crammer et al., 2006) of all labels in one pass over the rows, with a constant feature.

    `averaged` predicts with the mean of the weights after each row.
    """

    C: float = 1.0
    averaged: bool = False
    seed: int | None = 0  # of the order of the rows; None takes them as they come
    dtype: npt.DTypeLike = np.float32

    def fit(self, X: Any, Y: BoolArray) -> Self:
        n, q = Y.shape
        order = np.arange(n) if self.seed is None else np.random.default_rng(self.seed).permutation(n)
        X, width = sp.csr_array(X)[order], -(-q // 16) * 16
        signs = np.zeros((n, width), dtype=np.int8)
        signs[:, :q] = np.where(Y[order], 1, -1)
        self.weights_ = np.zeros((X.shape[1] + 1, width), dtype=self.dtype)
        delays = np.zeros(self.weights_.shape if self.averaged else (0, width), dtype=self.dtype)
        rows, values = X.indices.astype(np.int32) + np.int32(1), X.data.astype(self.dtype)
        _one_pass(X.indptr.astype(np.int64), rows, values, signs, self.weights_, delays, self.C)
        if self.averaged:
            self.weights_ -= delays / np.asarray(n, dtype=self.dtype)
        self.n_labels_ = q
        return self

    def posterior(self, X: Any) -> MarginalPosterior:
        """Scores by the logistic function, as `BinaryRelevance` gives those of classifiers without probabilities."""
        weights = self.weights_[:, : self.n_labels_]
        return MarginalPosterior(expit(np.asarray(X @ weights[1:] + weights[0], dtype=np.float64)))


Rival = PassiveAggressive | BinaryRelevance


def candidates(learner: str, seed: int) -> Sequence[Rival]:
    """What the cross-validation of a rival chooses from."""
    if learner == PA:
        return [PassiveAggressive(C, averaged, seed) for C in AGGRESSIVENESS for averaged in (False, True)]
    return [BinaryRelevance(LinearSVC(C=C, **LIBLINEAR), random_state=seed) for C in PENALTIES]


# -- runs -------------------------------------------------------------------------------------------------------------


def curve_run(folder: str, name: str, seed: int, learner: str, most: int) -> Outcome:
    """Figures 5 and 6: macro-F1 on fixed test rows after more and more training rows, under each rule."""
    rows = load(folder, name)
    train, test = cut(rows, seed)
    sizes = training_sizes(min(len(train), most))
    parts: list[Outcome] = []
    for n in sizes:
        data = weigh(rows, train[:n], test[:most], by_rows=name not in WEIGHTED)
        parts.append(_bayes_part(data, learner, seed) if learner in BAYES else _rival_part(data, learner, seed))
    return {"labels": rows.Y.shape[1], "rows": sizes} | {key: [part[key] for part in parts] for key in parts[0]}


def training_sizes(largest: int) -> list[int]:
    """100, 300, 1000, ... as far as all rows are at least half as many again, then all rows.

    >>> training_sizes(4930), training_sizes(1135)
    ([100, 300, 1000, 3000, 4930], [100, 300, 1135])
    """
    return [*(size for size in TRAINING_SIZES if 1.5 * size <= largest), largest]


def _bayes_part(data: WeightedSplit, learner: str, seed: int) -> Outcome:
    model = BAYES[learner](seed).fit(data.X, data.Y)
    beliefs = model.posterior(data.X_test)
    scored = {rule: decision.decide_scored(beliefs) for rule, decision in bayes_rules(data).items()}
    state, judged = model.state_, data.truth.any(0)  # the labels that the test rows can judge
    shared = float(np.median(state.bias[:, 1])) if len(state.bias) else None
    return {
        "f1": {rule: macro_f1(result.sets, data.truth).value for rule, result in scored.items()},
        "believed": {rule: float(result.expected[judged].mean()) for rule, result in scored.items()},
        "sweeps": state.sweeps / state.seen,
        "bias_variance": shared if shared is not None else float(np.median(state.local_bias()[1])),
    }


def bayes_rules(data: WeightedSplit) -> dict[str, Any]:
    """Class mass, exact expected F1, and the paper's: 5 samples on 20 thresholds."""
    return {
        MASS: ClassMass.from_labels(data.Y),
        EXPECTED: _expected(data),
        SAMPLED: _expected(data, N_SAMPLES, N_THRESHOLDS),
    }


def _rival_part(data: WeightedSplit, learner: str, seed: int) -> Outcome:
    shares, seen, models = ClassMass.from_labels(data.Y), data.Y.any(0), candidates(learner, seed)
    held_out = [_held_out(model, data, seed) for model in models]
    tuned = [TunedThreshold.fit(p, data.Y, min_positives=5) for p in held_out]
    by_mass = int(np.argmax([macro_f1(shares.decide(MarginalPosterior(p)), data.Y).value for p in held_out]))
    by_threshold = int(np.argmax([rule.held_out_score for rule in tuned]))
    beliefs = {number: models[number].fit(data.X, data.Y).posterior(data.X_test) for number in {by_mass, by_threshold}}
    sets = {MASS: shares.decide(beliefs[by_mass]), TUNED: tuned[by_threshold].decide(beliefs[by_threshold]) & seen}
    if learner == SVM:  # its cross-validation serves passive-aggressive learning, too
        given = PassiveAggressive(PENALTIES[by_threshold], seed=seed).fit(data.X, data.Y).posterior(data.X_test)
        sets[PA_BATCH] = tuned[by_threshold].decide(given) & seen
    return {"f1": {rule: macro_f1(given, data.truth).value for rule, given in sets.items()}}


def _held_out(model: Rival, data: WeightedSplit, seed: int) -> FloatArray:
    """(n, q) predictions for the training rows by models that have not seen them."""
    p = np.empty(data.Y.shape)
    for fit, rest in KFold(N_FOLDS, shuffle=True, random_state=seed).split(data.X):
        p[rest] = deepcopy(model).fit(data.X[fit], data.Y[fit]).posterior(data.X[rest]).probabilities()
    return p


def time_run(folder: str, name: str, seed: int, most: int) -> Outcome:
    """Figure 7: seconds of the processor to train on more and more rows, least of a few repetitions."""
    data = split_rows(folder, name, seed, most)
    constant = sp.csr_array(sp.hstack([data.X, np.ones((data.X.shape[0], 1))]))
    trained: dict[str, tuple[Any, Callable[[], Any]]] = {
        BOMC: (data.X, lambda: BAYES[BOMC](seed)),
        SINGLE_BOMC: (data.X, lambda: BAYES[SINGLE_BOMC](seed)),
        OURS: (data.X, lambda: BAYES[OURS](seed)),
        PA: (data.X, lambda: PassiveAggressive(seed=seed)),
        "scikit-learn's PA": (constant, lambda: BinaryRelevance(SKLEARN_PA, random_state=seed)),
        SVM: (data.X, lambda: BinaryRelevance(LinearSVC(**LIBLINEAR), random_state=seed)),
    }
    sizes = training_sizes(data.X.shape[0])
    seconds = {learner: [_seconds(make, X[:n], data.Y[:n]) for n in sizes] for learner, (X, make) in trained.items()}
    return {"labels": data.Y.shape[1], "rows": sizes, "seconds": seconds}


def _seconds(make: Callable[[], Any], X: Any, Y: BoolArray) -> float:
    repeats = REPEATS if not isinstance(make(), BinaryRelevance) else 1  # nothing is compiled there
    if repeats > 1:
        make().fit(X[:20], Y[:20])  # compiled before the clock runs
    least = np.inf
    for _ in range(repeats):
        model, began = make(), process_time()
        model.fit(X, Y)
        least = min(least, process_time() - began)  # other work on the machine only adds
    return float(least)


def few_rows_run(folder: str, name: str, seed: int, learner: str, most: int) -> Outcome:
    """Figure 5(c) and (d): the same beliefs decided on and judged with few test rows at a time, and with all.

    "together" are the sets of few rows at a time, judged as one: what changes is then the batch of the decision alone.
    Labels with 20 test positives.
    """
    data = split_rows(folder, name, seed, most)
    beliefs, frequent = BAYES[learner](seed).fit(data.X, data.Y).posterior(data.X_test), data.truth.sum(0) >= FREQUENT
    parts = [slice(i, i + FEW_TEST_ROWS) for i in range(0, beliefs.n_items - FEW_TEST_ROWS + 1, FEW_TEST_ROWS)]
    outcome: Outcome = {"rows": beliefs.n_items, "judged": int(frequent.sum()), "few": {}, "together": {}, "all": {}}
    if len(parts) < 2 or not frequent.any():
        return outcome
    rows = slice(0, parts[-1].stop)
    for rule, decision in bayes_rules(data).items():
        cuts = [decision.decide(beliefs.rows(part))[:, frequent] for part in parts]
        whole = decision.decide(beliefs.rows(rows))[:, frequent]
        truth = data.truth[:, frequent]
        scores = [macro_f1(sets, truth[part]).value for part, sets in zip(parts, cuts, strict=True)]
        outcome["few"][rule] = float(np.mean(scores))
        outcome["together"][rule] = macro_f1(np.vstack(cuts), truth[rows]).value
        outcome["all"][rule] = macro_f1(whole, truth[rows]).value
    return outcome


def threshold_run(folder: str, name: str, seed: int, learner: str, most: int) -> Outcome:
    """Figure 4: F1 against the paper's 20 thresholds, as believed and as it is; the chosen against the best of them."""
    data = split_rows(folder, name, seed, most)
    beliefs = BAYES[learner](seed).fit(data.X, data.Y).posterior(data.X_test)
    p, judged = beliefs.probabilities(), np.logical_and(data.truth.any(0), data.Y.any(0))
    rules = {f"{s} samples": _expected(data, s, N_THRESHOLDS) for s in (N_SAMPLES, *MORE_SAMPLES)} | {
        "exact": _expected(data, thresholds=N_THRESHOLDS),
        "5 samples, 256 thresholds": _expected(data, N_SAMPLES),
        "exact, every set": _expected(data),
    }
    scored = {rule: decision.decide_scored(beliefs) for rule, decision in rules.items()}
    grid = np.arange(N_THRESHOLDS) / N_THRESHOLDS
    sampled, exact, real = believed_curves(beliefs), exact_curves(p, grid), real_curves(p, data.truth, grid)  # (q, 20)
    finest = [TunedThreshold.fit(p[:, [c]], data.truth[:, [c]]).held_out_score for c in np.flatnonzero(judged)]
    shown = _spread_over_frequencies(data.truth, judged)
    groups = {"all": judged, "frequent": judged & (data.truth.sum(0) >= FREQUENT)}
    return {
        "judged": {group: int(labels.sum()) for group, labels in groups.items()},
        "f1": {
            group: {rule: _mean_f1(result.sets, data.truth, labels) for rule, result in scored.items()}
            for group, labels in groups.items()
        },
        "best": {group: _mean(real.max(1)[labels]) for group, labels in groups.items()},
        "finest": {group: _mean(np.array(finest)[labels[judged]]) for group, labels in groups.items()},
        "believed": {rule: _mean(result.expected[judged]) for rule, result in scored.items()},
        "trend": {
            group: {"5 samples": _trend(sampled[labels], real[labels]), "exact": _trend(exact[labels], real[labels])}
            for group, labels in groups.items()
        },
        "thresholds": grid.tolist(),
        "positives": data.truth[:, shown].sum(0).tolist(),
        "curves": {
            kind: curves[shown].tolist() for kind, curves in (("5 samples", sampled), ("exact", exact), ("real", real))
        },
    }


def believed_curves(beliefs: LabelPosterior) -> FloatArray:
    """(q, 20) F1 expected of each label above each threshold, by 5 samples as printed."""
    tally = SampleTally(beliefs.n_labels, N_SAMPLES, thresholds=N_THRESHOLDS)
    tally.add(beliefs)
    return tally.curves()[:, ::-1]


def exact_curves(p: FloatArray, grid: FloatArray) -> FloatArray:
    """The same where labels are independent given the probabilities, without samples."""
    return np.stack([score_sets(MarginalPosterior(p), p > threshold).expected for threshold in grid], axis=1)


def real_curves(p: FloatArray, truth: BoolArray, grid: FloatArray) -> FloatArray:
    """(q, 20) F1 that each label has above each threshold."""
    sets = [p > threshold for threshold in grid]
    return np.stack([_label_f1(each, truth) for each in sets], axis=1)


def _label_f1(sets: BoolArray, truth: BoolArray) -> FloatArray:
    return 2 * (sets & truth).sum(0) / np.maximum(sets.sum(0) + truth.sum(0), 1)


def _mean_f1(sets: BoolArray, truth: BoolArray, labels: BoolArray) -> float:
    return _mean(_label_f1(sets[:, labels], truth[:, labels]))


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if values.size else 0.0


def _trend(believed: FloatArray, real: FloatArray) -> float:
    """Mean correlation of both curves of a label over the thresholds, of labels where neither is constant."""
    varies = (np.ptp(believed, axis=1) > 0) & (np.ptp(real, axis=1) > 0)
    pairs = zip(believed[varies], real[varies], strict=True)
    return _mean(np.array([np.corrcoef(one, other)[0, 1] for one, other in pairs]))


def _spread_over_frequencies(truth: BoolArray, judged: BoolArray) -> Numbers:
    """Labels from frequent to rare, in equal steps of rank among the more frequent three quarters."""
    falling = np.argsort(-np.where(judged, truth.sum(0), -1), kind="stable")[: int(judged.sum())]
    return falling[np.linspace(0, 0.75 * (len(falling) - 1), min(LABELS_SHOWN, len(falling))).astype(int)]


def _expected(data: WeightedSplit, samples: int | None = None, thresholds: int | None = None) -> ExpectedF1:
    seen = data.Y.any(0)  # a label without a positive would be given to all
    how: dict[str, Any] = {} if samples is None else {"method": "samples", "n_samples": samples}
    return ExpectedF1(known_labels=seen, thresholds=thresholds, **how)
