"""Latent factors of labels and of their co-occurrence counts, for labels with few answers or none."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from labelwise.models.base import LabelModel
from labelwise.models.factors.posterior import FactorPosterior, FittedFactors
from labelwise.models.factors.stream import Batch, FactorStream
from labelwise.models.factors.training import (
    FactorProblem,
    FactorSettings,
    Learnt,
    SweepSchedule,
    check_settings,
    count_labels,
    first_factors,
    learn_factors,
    learn_preparation,
    precision_of,
    prepare_fit,
    seen_counts,
    sweeps,
    to_precision,
    transfer,
    with_feature_penalty,
)
from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.numerics.calibration import base_rates
from labelwise.numerics.factors.count_scaling import check_counts, count_correlation, warn_of_unlike_counts
from labelwise.numerics.factors.model import Penalties
from labelwise.numerics.feature_scaling import FeatureScaling, PreparedFeatures
from labelwise.numerics.metrics import precision_at
from labelwise.numerics.weighted_ridge import RowSolver

CHOICES = {
    "inference": ("map", "variational"),
    "unseen": ("regression", "kernel", "fold_in"),
    "solver": ("cg", "exact"),
    "scale": ("auto", "none"),
    "precision": ("auto", "float32", "float64"),
}
STEP_EXPONENT = 0.6  # of the steps so far: by how much a batch moves the averages of online EM
PENALTIES = {"map": (0.15, 0.5, 1.5, 5.0), "variational": (0.02, 0.06, 0.2, 0.6)}  # × mean squared length of a row
SWEEPS = {"map": (5, 10, 20, 40), "variational": (40,)}  # beliefs do not overfit: nothing is gained by stopping early
FALLBACK = {"map": (0.5, 20), "variational": (0.1, 40)}
FEWEST_LABELS = 8  # below, hiding half of them says nothing
FEWEST_ITEMS = 20
HELD_OUT = 5  # one item in so many
PAPER_PRECISION_AT = (1, 3, 5)  # precision@k for the k that the paper reports
Learn = Callable[[FactorProblem, FactorSettings, SweepSchedule], tuple[Learnt, list[float]]]
OnStep = Callable[[int, float], None]  # number of the sweep, objective
POSITIVE = ("item_penalty", "label_penalty", "count_penalty", "bias_penalty", "transfer_penalty", "counts_weight")


@dataclass(frozen=True, eq=False)
class FactorTask:
    """Everything a fit needs, chosen and prepared, and what predictions need besides the factors."""

    problem: FactorProblem
    settings: FactorSettings
    choice: FactorChoice
    scaling: FeatureScaling | PreparedFeatures
    rate: float  # mean share of yes


@dataclass(eq=False, repr=False)
class LatentFactors(LabelModel):
    """Logistic factors of the labels with u ≈ Wᵀx, and nothing else: `CooccurrenceFactors` without the counts.

    The LFM-SL of the experiments of Gaure, Gupta, Verma & Rai, UAI 2017. A label without any answer has no score: it
    ranks last in `posterior(X).scores()`, and its probability is the mean share of yes.

    Parameters
    ----------
    n_factors, feature_penalty, n_iterations, item_penalty, label_penalty, bias_penalty, bias, solver, \
tolerance, scale, precision, n_trials, random_state
        As in `CooccurrenceFactors`.

    Attributes
    ----------
    factors_, seen_, feature_penalty_, n_iterations_, trial_scores_, objective_
        As in `CooccurrenceFactors`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 4))
    >>> Y = X @ rng.normal(size=(4, 6)) > 0
    >>> model = LatentFactors(feature_penalty=0.1).fit(X, Y)
    >>> bool((model.predict(X) == Y).mean() > 0.9)
    True
    """

    n_factors: int | None = None
    _: KW_ONLY
    feature_penalty: float | Literal["auto"] = "auto"
    n_iterations: int | Literal["auto"] = "auto"
    item_penalty: float = 1.0
    label_penalty: float = 10.0
    bias_penalty: float = 0.01
    bias: bool = True
    solver: Literal["cg", "exact"] = "cg"
    tolerance: float | None = None
    scale: Literal["auto", "none"] = "auto"
    precision: Literal["auto", "float32", "float64"] = "auto"
    n_trials: int = 3
    random_state: Any = None

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """All precisions 1, no biases, features as they are; `parameters` add to these settings or replace them.

        The paper has 80 % of all labels as `n_factors` (at most 100 of those with answers here) and 500 sweeps (40
        here): give them to have them.
        """
        stated: dict[str, Any] = dict.fromkeys(("feature_penalty", "item_penalty", "label_penalty"), 1.0)
        return cls(**(stated | {"bias": False, "scale": "none", "n_iterations": 40} | parameters))

    def fit(self, X: Any, Y: Any, observed: Any = None, *, on_step: OnStep | None = None) -> Self:
        """Learn from items X (n, d) and labels Y (n, q) of 0 and 1; unknown entries are NaN or not `observed`.

        `on_step(sweep, objective)` is called after every sweep.
        """
        self._learn(learn_factors, X, Y, observed, on_step)
        return self

    def staged_fit(self, X: Any, Y: Any, observed: Any = None, *, at: Iterable[int]) -> Iterator[Self]:
        """Fit once, and yield this model after each of these numbers of sweeps: predictions against sweeps.

        `n_iterations` and `tolerance` play no part. Only for `inference="map"`.

        Examples
        --------
        >>> X = np.random.default_rng(0).normal(size=(50, 3))
        >>> stages = LatentFactors(feature_penalty=0.1, n_iterations=1).staged_fit(X, X > 0, at=(1, 5, 20))
        >>> [(model.n_iterations_, model.predict(X).shape) for model in stages]
        [(1, (50, 3)), (5, (50, 3)), (20, (50, 3))]
        """
        if getattr(self, "inference", "map") != "map":
            raise ValueError('staged_fit is for inference="map"; fit once for each n_iterations instead')
        wanted = sorted(set(at))
        task = self._prepare(X, Y, observed)
        fit = prepare_fit(task.problem, task.settings)
        start = first_factors(task.problem, task.settings, fit)
        for step, factors in enumerate(sweeps(task.settings, fit, start, wanted[-1]), 1):
            if step in wanted:
                self.objective_ = [fit.objective(factors)]
                self._keep(task, Learnt(fit, factors, transfer(task.settings, fit, factors)), step)
                yield self

    def posterior(self, X: Any) -> FactorPosterior:
        """Beliefs about the items X."""
        X = self._check_items(X)
        return FactorPosterior(self._fitted, X)

    def _learn(self, learn: Learn, X: Any, Y: Any, observed: Any, on_step: OnStep | None) -> None:
        """Prepare, choose what is left to choose, let `learn` do the sweeps, and keep what came of it."""
        task = self._prepare(X, Y, observed)
        schedule = SweepSchedule(task.choice.n_iterations, self.tolerance, on_step)
        learnt, self.objective_ = learn(task.problem, task.settings, schedule)
        self._keep(task, learnt, task.choice.n_iterations)

    def _prepare(self, X: Any, Y: Any, observed: Any) -> FactorTask:
        check_settings(self, CHOICES, POSITIVE)
        X, Y, observed = self._check_training(X, Y, observed)
        scaling, settings = learn_preparation(X, self.scale), self._settings()
        answered = observed.any(axis=0)
        size = Y.shape[0] * int(answered.sum())
        dtype = np.float64 if settings.inference == "variational" else precision_of(self.precision, size)
        problem = self._problem(to_precision(scaling(X), dtype), Y, observed)
        choice = choose(self, problem, settings)
        rate = float(base_rates(Y[:, answered], observed[:, answered]).mean())
        return FactorTask(problem, with_feature_penalty(settings, choice.penalty), choice, scaling, rate)

    def _keep(self, task: FactorTask, learnt: Learnt, n_iterations: int) -> None:
        self.feature_penalty_, self.n_iterations_ = task.choice.penalty, n_iterations
        self.trial_scores_, self.factors_ = tuple(task.choice.scores.items()), learnt.factors
        labels = (self.seen_, self.unseen_, self.n_labels_)
        self._fitted = FittedFactors.of(learnt, task.settings, labels, task.rate, task.scaling)

    def _problem(self, X: Any, Y: BoolArray, observed: BoolArray) -> FactorProblem:
        answered: BoolArray = np.asarray(observed.any(axis=0))
        self.seen_, self.unseen_ = np.flatnonzero(answered), np.empty(0, dtype=np.intp)
        return FactorProblem(X, Y[:, answered], observed[:, answered], None)

    def _settings(self) -> FactorSettings:
        penalties = Penalties(items=self.item_penalty, labels=self.label_penalty, biases=self.bias_penalty)
        return FactorSettings(self.n_factors, penalties, bias=self.bias, solver=RowSolver(self.solver))


@dataclass(eq=False, repr=False)
class CooccurrenceFactors(LatentFactors):
    """Logistic factors of the labels and negative binomial factors of their co-occurrence counts, learnt together.

    An item's log-odds of a label are u·v + b with u ≈ Wᵀx. The count of items with labels l and j has the log-mean
    v_l·β_j + a_l + c_j (up to a constant). Both share the label factors v, so counts help if answers are few. For a
    label without answers, v and b are regressed on its β and c. The model is learnt by expectation maximisation with
    Pólya-Gamma expectations. `docs/mathematics/cooccurrence_factors.md` has the formulas, and what differs from the
    paper.

    Parameters
    ----------
    n_factors : int, optional
        k. By default the number of labels with answers, at most 100.
    cooccurrence : (q, q) or (s, q) array, optional
        Counts ≥ 0 of items that have both labels, in the order of the labels, NaN if unknown: of all labels, symmetric,
        or of the s labels with answers (rows) with all labels. They may come from other items; a warning says if they
        hardly agree with the training labels. A label whose counts are all 0 was never counted: nothing is known about
        it. By default the training labels are counted, which says nothing about a label without answers.
    feature_penalty : float or "auto"
        λ_w, the most important penalty. "auto": chosen together with the number of sweeps by hiding some of the items
        and, if there are labels without answers, half of the labels.
    n_iterations : int or "auto"
        Sweeps. The best predictions come long before the objective's maximum.
    item_penalty, label_penalty, bias_penalty : float
        λ_u, λ_v and λ_0: precisions of the priors of u around Wᵀx, of v, and of the biases.
    count_penalty : float, optional
        λ_b: precision of the prior of β, the factors of a label in the counts. By default that of v.
    counts_weight : float
        Weight of a count relative to an answer, α.
    overdispersion : float or "learn"
        r of the negative binomial: the variance of a count is its mean + mean² / r.
    count_diagonal : bool
        Whether the count of a label with itself is used.
    unseen : "regression", "kernel" or "fold_in"
        How a label without answers gets v and b: a linear or an rbf ridge regression on β and c, or by its own row of
        counts.
    transfer_penalty : float
        λ_ψ of that regression.
    bias : bool
        Whether labels and counts have biases. The paper has none.
    inference : "map" or "variational"
        One best value of every factor, or Gaussian beliefs about them. Beliefs give better probabilities, variances of
        the log-odds for `sample_probabilities`, and fewer right first labels. They take k² numbers per item, so k is at
        most 32 unless asked for.
    solver : "cg" or "exact"
        A few conjugate gradient steps for all rows at once, or each row's own system.
    tolerance : float, optional
        Stop when the objective rises by less than this share of itself; needs the objective at every sweep.
    scale : "auto" or "none"
        How features are prepared. "auto": sparse features without negative values are weighted by how rare they are,
        dense columns standardised; then rows scaled to unit length.
    precision : "auto", "float32" or "float64"
        "auto" is single precision for more than 200 000 entries of Y.
    n_trials : int
        How often items and labels are hidden for a choice.
    batch_size : int
        Items that `partial_fit` learns at a time.
    random_state : int, RandomState, Generator or None
        Draws what is hidden. The fit itself draws nothing.

    Attributes
    ----------
    factors_ : Factors
        U, V, B, W, biases and over-dispersion, labels with answers first. After `partial_fit` those of the labels in
        `seen_`, without the items'.
    seen_, unseen_, untold_ : arrays of label numbers
        With answers; without answers but with counts; with neither.
    feature_penalty_, n_iterations_ : float, int
        In use.
    trial_scores_ : tuple
        ((feature penalty, sweeps), score on what was hidden) of each trial; empty where nothing was chosen.
    objective_ : list of float
        The last value of the log-posterior, or that of every sweep with `tolerance` or `on_step`.
    count_correlation_ : float
        Of the counts given with those of the training labels, over pairs of seen labels; NaN where unknown.

    References
    ----------
    Gaure, Gupta, Verma & Rai, A probabilistic framework for zero-shot multi-label learning, UAI 2017.
    Polson, Scott & Windle, Bayesian inference for logistic models using Pólya-Gamma latent variables, JASA 2013.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> truth = (X @ rng.normal(size=(4, 6)) > 0).astype(float)
    >>> Y = truth.copy()
    >>> Y[:, 5] = np.nan  # nobody was ever asked about the last label
    >>> model = CooccurrenceFactors(cooccurrence=truth.T @ truth, feature_penalty=0.1, n_iterations=20).fit(X, Y)
    >>> bool((model.predict(X)[:, 5] == truth[:, 5]).mean() > 0.7)
    True
    """

    _: KW_ONLY
    cooccurrence: Any = None
    count_penalty: float | None = None
    counts_weight: float = 0.3
    overdispersion: float | Literal["learn"] = 5.0
    count_diagonal: bool = False
    unseen: Literal["regression", "kernel", "fold_in"] = "regression"
    transfer_penalty: float = 0.5
    inference: Literal["map", "variational"] = "map"
    batch_size: int = 100

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """The paper's precisions, all 1, its over-dispersion, no biases, features as they are, and 40 sweeps.

        The paper has 500 sweeps, and 80 % of all labels as `n_factors` (at most 100 of those with answers here): give
        them to have them. It overfits after some ten sweeps. `parameters` add to these settings or replace them.
        """
        counts = {"counts_weight": 1.0, "overdispersion": 5.0, "count_diagonal": True, "transfer_penalty": 1.0}
        return super().paper(**(counts | parameters))

    def fit(self, X: Any, Y: Any, observed: Any = None, *, on_step: OnStep | None = None) -> Self:
        return self._fit(X, Y, observed, learn_factors, on_step)

    def _fit(self, X: Any, Y: Any, observed: Any, learn: Learn, on_step: OnStep | None = None) -> Self:
        self._learn(learn, X, Y, observed, on_step)
        return self

    def _keep(self, task: FactorTask, learnt: Learnt, n_iterations: int) -> None:
        super()._keep(task, learnt, n_iterations)
        self._learnt = learnt
        self._stream: FactorStream | None = None

    def partial_fit(self, X: Any, Y: Any, observed: Any = None, *, classes: Any = None) -> Self:
        """Learn from more items by online EM; the first call is a `fit`.

        Rows are learnt in batches of `batch_size`, whatever pieces they come in. A label that had no answers at the fit
        starts from its counts, and its answers take over. Variational beliefs stay variational: second moments are
        averaged. `classes` is there for scikit-learn only.
        """
        if not hasattr(self, "_fitted"):
            return self.fit(X, Y, observed)
        check_settings(self, CHOICES, POSITIVE)
        X, Y, observed = self._check_training(X, Y, observed, reset=False)
        if self._stream is None:
            self._stream = FactorStream.after(self._learnt, self._fitted, self.batch_size, STEP_EXPONENT)
        X = to_precision(self._fitted.scaling(X), np.float64)
        self._stream = self._stream.add(Batch(X, Y, observed))
        self._fitted, self.factors_ = self._stream.fitted(self._fitted)
        return self

    def _problem(self, X: Any, Y: BoolArray, observed: BoolArray) -> FactorProblem:
        """Labels sorted into seen, unseen and untold, and the counts of the former with all that have any."""
        answered: BoolArray = np.asarray(observed.any(axis=0))
        self.seen_ = np.flatnonzero(answered)
        self.count_correlation_ = float("nan")
        if self.cooccurrence is None:
            given = count_labels(Y, observed)
        else:
            given = check_counts(self.cooccurrence, self.n_labels_, self.seen_)
            own = count_labels(Y[:, answered], observed[:, answered])
            self.count_correlation_ = count_correlation(given[np.ix_(self.seen_, self.seen_)], own)
            warn_of_unlike_counts(self.count_correlation_, own, stacklevel=6)
        told = ~np.isnan(given[answered]).all(axis=0)
        self.unseen_, self.untold_ = np.flatnonzero(~answered & told), np.flatnonzero(~answered & ~told)
        counts = seen_counts(given, self.seen_, self.unseen_, diagonal=self.count_diagonal)
        return FactorProblem(X, Y[:, answered], observed[:, answered], counts)

    def _settings(self) -> FactorSettings:
        plain = super()._settings()
        return replace(
            plain,
            penalties=replace(
                plain.penalties,
                columns=self.label_penalty if self.count_penalty is None else self.count_penalty,
                counts_weight=self.counts_weight,
            ),
            transfer_penalty=self.transfer_penalty,
            overdispersion=5.0 if self.overdispersion == "learn" else self.overdispersion,
            learn_overdispersion=self.overdispersion == "learn",
            unseen=self.unseen,
            inference=self.inference,
        )


# -- the choice of feature penalty and sweeps, by what is hidden from the fit -----------------------------------------


@dataclass(frozen=True)
class FactorChoice:
    """The feature penalty and the number of sweeps to use, and what each candidate scored."""

    penalty: float
    n_iterations: int
    scores: dict[tuple[float, int], float]


def choose(model: Any, problem: FactorProblem, settings: FactorSettings) -> FactorChoice:
    """Penalty and sweeps as the parameters have them; "auto" by hiding, or by habit where that is impossible."""
    unit = problem.scale()
    free = model.feature_penalty == "auto", model.n_iterations == "auto"
    penalties = tuple(unit * p for p in PENALTIES[settings.inference]) if free[0] else (float(model.feature_penalty),)
    n_sweeps = SWEEPS[settings.inference] if free[1] else (int(model.n_iterations),)
    if not any(free):
        return FactorChoice(penalties[0], n_sweeps[0], {})
    chosen = choose_by_hiding(problem, settings, penalties, n_sweeps, model.n_trials, model._generator())
    if chosen is not None:
        return chosen
    if problem.n_unseen:
        n, labels = problem.Y.shape
        warnings.warn(
            f"{labels} labels with answers and {n} items are too few to choose feature_penalty and n_iterations by "
            f"({FEWEST_LABELS} and {FEWEST_ITEMS} are needed); usual values are used, or give them",
            stacklevel=6,  # the caller of fit
        )
    usual = FALLBACK[settings.inference]
    return FactorChoice(unit * usual[0] if free[0] else penalties[0], usual[1] if free[1] else n_sweeps[0], {})


def choose_by_hiding(
    problem: FactorProblem,
    settings: FactorSettings,
    penalties: tuple[float, ...],
    n_sweeps: tuple[int, ...],
    n_trials: int,
    rng: np.random.Generator,
) -> FactorChoice | None:
    """The best of the grid on a fifth of the items; None where there is too little to hide.

    Where there are labels to be learnt from counts alone, half of the seen ones are hidden too, and the precision among
    those plus that among all labels decides. Otherwise the log-likelihood of the held-out answers does.
    """
    n, s = problem.Y.shape
    among_unseen = problem.n_unseen > 0
    if n < FEWEST_ITEMS or (among_unseen and s < FEWEST_LABELS):
        return None
    scores: dict[tuple[float, int], list[float]] = {(p, t): [] for p in penalties for t in n_sweeps}
    for _ in range(n_trials if among_unseen else 1):  # all answers of a fifth of the items are enough to go by
        items = rng.permutation(n)[: n // HELD_OUT]
        labels = np.sort(rng.permutation(s)[: s // 2]) if among_unseen else np.empty(0, dtype=np.intp)
        trial = problem.hide(items, labels)
        for penalty in penalties:
            own = with_feature_penalty(settings, penalty)
            for step, value in _try(problem, trial, items, labels, own, n_sweeps).items():
                scores[penalty, step].append(value)
    means = {key: float(np.mean(values)) for key, values in scores.items()}
    best = max(means, key=lambda key: (means[key], key[0], -key[1]))  # ties: the stronger penalty, the fewer sweeps
    return FactorChoice(best[0], best[1], means)


def _try(
    problem: FactorProblem,
    trial: FactorProblem,
    items: IntArray,
    labels: IntArray,
    settings: FactorSettings,
    n_sweeps: tuple[int, ...],
) -> dict[int, float]:
    """The score on what was hidden from a trial after each of these numbers of sweeps."""
    kept = np.delete(np.arange(problem.Y.shape[1]), labels)
    order = np.concatenate([kept, labels])
    truth, known = problem.Y[np.ix_(items, order)], problem.observed[np.ix_(items, order)]
    fit = prepare_fit(trial, settings)
    scores_after = {}
    for step, factors in enumerate(sweeps(settings, fit, first_factors(trial, settings, fit), max(n_sweeps)), 1):
        if step not in n_sweeps:
            continue
        scores = Learnt(fit, factors, transfer(settings, fit, factors)).scores(problem.X[items])  # (held, s)
        if labels.size:
            hidden = slice(kept.size, None)
            scores_after[step] = mean_precision(scores, truth, known)
            scores_after[step] += mean_precision(scores[:, hidden], truth[:, hidden], known[:, hidden])
        else:
            scores_after[step] = float((scores * truth - np.logaddexp(0, scores))[known].mean())
    return scores_after


def mean_precision(scores: FloatArray, truth: BoolArray, known: BoolArray) -> float:
    """The mean of precision at 1, 3 and 5 among the entries that are known."""
    scores, truth = np.where(known, scores, -np.inf), truth & known
    return float(np.mean([precision_at(scores, truth, k) for k in PAPER_PRECISION_AT if k <= scores.shape[1]]))
