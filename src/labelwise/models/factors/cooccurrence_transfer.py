"""Labels that nobody ever answered, predicted from how often they occur with labels that were."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone

from labelwise.models.base import LabelModel
from labelwise.models.factors.cooccurrence_factors import LatentFactors
from labelwise.models.factors.transfer_choice import (
    FEWEST_ITEMS,
    FEWEST_LABELS,
    Answers,
    TransferChoice,
    TransferSource,
    UnseenLink,
    candidate_weights,
    choose_settings,
    draw_trials,
    learn_link,
)
from labelwise.models.factors.transfer_posterior import (
    FittedTransfer,
    MixtureRule,
    SketchRule,
    Trained,
    TransferPosterior,
)
from labelwise.models.label_gp.model import LabelGP
from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.calibration import base_rates
from labelwise.numerics.factors.count_scaling import OwnCounts, check_counts, warn_of_unlike_counts
from labelwise.numerics.feature_scaling import learn_features
from labelwise.numerics.recovery.label_sketches import (
    SketchSettings,
    SketchSums,
    average_weights,
    conditional_weights,
    moment_coefficients,
    sketch_rows,
    solve_sketches,
)
from labelwise.numerics.user_input import check_at_least, check_choices, check_positive

RULES = ("sketched_gp", "moment", "conditional", "costa")
SCARCE = 0.2  # of the answers that the best answered label has: a label with fewer is better off with its counts
FALLBACK = SketchSettings()
MOMENT_RIDGE = 3.0


@dataclass(eq=False, repr=False)
class CooccurrenceTransfer(LabelModel):
    """Predict labels without answers from their co-occurrence counts with answered labels.

    A base model learns the labels with answers. A rule predicts a label without answers from its counts with those; if
    it has no counts either, it gets the mean share of yes. With the default rule a label that has counts and only a few
    answers is regressed on both. Nothing iterates: a fit is a few sums over the items and one Cholesky factor.
    `docs/mathematics/label_sketches.md` has the formulas.

    Parameters
    ----------
    rule : "sketched_gp", "moment", "conditional" or "costa"
        "sketched_gp" takes the counts for linear measurements of the missing label column and regresses on the
        features with them as data. "moment" fits the unseen label on the seen ones by its normal equations.
        "conditional" adds up p(seen) · share of its items that have the unseen label, which may exceed 1. "costa"
        averages the log-odds of the seen labels by their counts (Mensink, Gavves & Snoek, CVPR 2014). An unknown count
        adds nothing to either; the first two leave its label out of their equations.
    cooccurrence : (q, q) array, optional
        Symmetric counts of items that have both labels, on the diagonal of items that have the label; NaN if unknown.
        They may come from other items: they are scaled to the training items. A label whose counts are all 0 was never
        counted: nothing is known about it. By default the training labels are counted, which says nothing about a label
        without answers.
    base : LabelModel, optional
        Of the labels with answers. By default a ridge regression on the same features for "sketched_gp", "moment" and
        "conditional", and `LatentFactors()` for "costa", where averaging log-odds is averaging factors;
        `base=BinaryRelevance()` is the original COSTA.
    scale : "auto" or "none"
        How features are prepared for the ridge and the sketch. "auto": sparse features without negative values are
        weighted by how rare they are, dense columns standardised; then rows scaled to unit length. Under both a
        constant of 0.3 is appended, the intercept of the sketch.
    label_weight, noise_variance : float, optional
        Of the sketched GP: variance of the weights of seen labels, and of the noise, both relative to that of the
        features' weights. What you do not give is chosen on seen labels treated as unseen; the ridge predicts the other
        labels of their items, even if you pass another `base`. With more than 4000 features no weight of labels is
        tried. With fewer than 8 seen labels or 20 items nothing is tried: the values are 0 and 0.3, with a warning.
    count_noise : float
        Variance of a count.
    ridge : float
        Penalty of the ridge base, and of "moment" (there three times it).
    n_trials : int
        How often labels and items are hidden for the choice.
    random_state : int, RandomState, Generator or None
        Draws what is hidden.

    Attributes
    ----------
    base_ : the fitted base model
    seen_, unseen_, untold_ : arrays of label numbers
        With answers; with counts, and without answers or only few; with neither.
    settings_ : SketchSettings
        In use by the sketched GP.
    trial_scores_ : tuple
        ((label_weight, noise_variance), mean of precision at 1, 3 and 5 on hidden labels) of each trial; empty where
        nothing was chosen.
    count_correlation_ : float
        Of the counts given with those of the training items, over pairs of seen labels; NaN where unknown.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> truth = (X @ rng.normal(size=(4, 9)) > 0).astype(float)
    >>> Y = truth.copy()
    >>> Y[:, 8] = np.nan  # nobody was ever asked about the last label
    >>> model = CooccurrenceTransfer(cooccurrence=truth.T @ truth, random_state=0).fit(X, Y)
    >>> bool((model.predict(X)[:, 8] == truth[:, 8]).mean() > 0.8)
    True
    """

    rule: Literal["sketched_gp", "moment", "conditional", "costa"] = "sketched_gp"
    _: KW_ONLY
    cooccurrence: Any = None
    base: Any = None
    scale: Literal["auto", "none"] = "auto"
    label_weight: float | None = None
    noise_variance: float | None = None
    count_noise: float = 0.1
    ridge: float = 1.0
    n_trials: int = 3
    random_state: Any = None

    def fit(self, X: Any, Y: Any, observed: Any = None) -> Self:
        """Learn from items X (n, d) and labels Y (n, q) of 0 and 1; unknown entries are NaN or not `observed`."""
        self._check_parameters()
        X, Y, observed = self._check_training(X, Y, observed)
        given = None if self.cooccurrence is None else check_counts(self.cooccurrence, self.n_labels_)
        answered = observed.any(axis=0) & ~self._scarce(observed, given)
        self.seen_ = np.flatnonzero(answered)
        known = np.zeros(self.n_labels_, dtype=bool) if given is None else ~np.isnan(given[:, answered]).all(axis=1)
        self.unseen_, self.untold_ = np.flatnonzero(~answered & known), np.flatnonzero(~answered & ~known)
        prepare = learn_features(X, self.scale)
        prepared = prepare(X)
        self.base_, base_features = self._fit_base(X, prepared, prepare, Y[:, answered], observed[:, answered])
        filled = self._filled(base_features is prepare, X, prepared, Y[:, answered], observed[:, answered])
        span = sketch_rows(observed[:, answered])
        counts = self._own_counts(given, filled[span])
        source = TransferSource(
            prepared[span], filled[span], observed[np.ix_(span, answered)], counts.shares, self.ridge
        )
        few = Answers(prepared, Y[:, self.unseen_], observed[:, self.unseen_])
        rule = self._fit_rule(source, counts, few)
        rate = float(base_rates(Y[:, answered], observed[:, answered]).mean())
        trained = Trained(source.X, source.Y, counts)
        self._fitted = FittedTransfer(
            self.base_, base_features, prepare, (self.seen_, self.unseen_, self.untold_), rule, rate, trained
        )
        return self

    def posterior(self, X: Any) -> TransferPosterior:
        """Beliefs about the items X."""
        X = self._check_items(X)
        return TransferPosterior(self._fitted, X)

    def _fit_base(self, X: Any, prepared: Any, prepare: Any, Y: BoolArray, observed: BoolArray) -> tuple[Any, Any]:
        """The base model, and what turns rows into its features."""
        if self.base is None and self.rule != "costa":
            ridge = LabelGP("linear", scale="none", noise_ratio=self.ridge, bias=0.0, random_state=0)
            return ridge.fit(prepared, Y, observed), prepare
        base = LatentFactors(random_state=0) if self.base is None else clone(self.base)
        return base.fit(X, Y, observed=observed), unchanged

    def _filled(self, on_prepared: bool, X: Any, prepared: Any, Y: BoolArray, observed: BoolArray) -> FloatArray:
        """(n, s) labels, with what the base believes where they are unknown."""
        if observed.all():
            return Y.astype(np.float64)
        believed = self.base_.posterior(prepared if on_prepared else X).probabilities()
        return np.where(observed, Y, believed)

    def _own_counts(self, given: FloatArray | None, filled: FloatArray) -> OwnCounts:
        own = OwnCounts.of(given, self.seen_, self.unseen_, filled.T @ filled)
        self.count_correlation_ = own.correlation
        warn_of_unlike_counts(own.correlation, stacklevel=3)
        return own

    def _scarce(self, observed: BoolArray, given: FloatArray | None) -> BoolArray:
        """(q,) labels with answers, but so few that counts given for them say more."""
        answers = observed.sum(axis=0)
        scarce = (answers > 0) & (answers < SCARCE * answers.max())
        if given is None or self.rule != "sketched_gp":
            return np.zeros_like(scarce)
        return scarce & ~np.isnan(given[:, (answers > 0) & ~scarce]).all(axis=1)

    def _fit_rule(self, source: TransferSource, counts: OwnCounts, few: Answers) -> SketchRule | MixtureRule:
        self.settings_ = FALLBACK
        self.trial_scores_: tuple[tuple[tuple[float, float], float], ...] = ()
        m, gram = counts.with_seen, source.Y.T @ source.Y
        if self.rule == "moment":
            return MixtureRule(moment_coefficients(gram, m, MOMENT_RIDGE * self.ridge))
        if self.rule == "conditional":
            return MixtureRule(conditional_weights(m, gram.diagonal()), on_probabilities=True)
        if self.rule == "costa":
            return MixtureRule(average_weights(m), on_log_odds=True)
        choice = self._choose(source)
        self.settings_, self.trial_scores_ = choice.settings, tuple(choice.scores.items())
        sums = SketchSums.of(source.X, source.Y)
        coefficients = solve_sketches(sums, m, choice.settings)
        rates = self._unseen_rates(source, sums, coefficients, counts)
        weights = few.regress(sums, m, choice.settings)
        return SketchRule(sums, coefficients, choice.settings, choice.link.for_rates(rates), m, few, weights)

    def _choose(self, source: TransferSource) -> TransferChoice:
        names = ("label_weight", "noise_variance")
        free = [name for name in names if getattr(self, name) is None]
        values = {name: getattr(self, name) for name in names if name not in free}
        given = replace(FALLBACK, count_noise=self.count_noise, **values)
        if not self.unseen_.size:
            return TransferChoice(given, UnseenLink.default(), {})
        rng = self._generator()
        with_ridge = any(weight > 0 for weight in candidate_weights(source, given, free))
        trials = draw_trials(source, self.n_trials, rng, with_ridge=with_ridge)
        if free and trials:
            return choose_settings(source, given, free, trials)
        if free:
            n, labels = source.Y.shape
            warnings.warn(
                f"{labels} labels with answers and {n} items are too few to choose {' and '.join(free)} by "
                f"({FEWEST_LABELS} and {FEWEST_ITEMS} are needed); usual values are used, or give them",
                stacklevel=4,
            )
        return TransferChoice(given, learn_link(trials, given), {})

    def _unseen_rates(
        self, source: TransferSource, sums: SketchSums, coefficients: FloatArray, counts: OwnCounts
    ) -> FloatArray:
        """(u,) share of the items that carry each unseen label: counted where that is known, else the mean score."""
        n = source.Y.shape[0]
        mean_item = np.asarray(source.X.mean(axis=0)).reshape(1, -1)
        mean_score = sums.scores(mean_item, source.Y.mean(axis=0)[None], coefficients, self.settings_)[0]
        totals = counts.among_unseen.diagonal()
        expected = np.where(np.isnan(totals), n * np.clip(mean_score, 0.0, 1.0), np.minimum(totals, n))
        return (expected + 0.5) / (n + 1)

    def _check_parameters(self) -> None:
        check_choices(self, rule=RULES, scale=("auto", "none"))
        check_positive(self, "noise_variance", "count_noise", "ridge")
        check_at_least(self, 0, "label_weight")
        check_at_least(self, 1, "n_trials")


def unchanged(X: Any) -> Any:
    """The features of a base model that was handed them as they are."""
    return X
