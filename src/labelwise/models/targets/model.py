"""Label vectors compressed to codes, codes turned into targets, one Gaussian process per target."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from labelwise.models.base import LabelModel
from labelwise.models.compressed.code import FEW_LABELS
from labelwise.models.compressed.label_decoders import DECODERS, DecoderName
from labelwise.models.targets.posterior import OrthogonalTargetPosterior, PoolMemory
from labelwise.models.targets.regression import Optimizer, SearchOptions
from labelwise.models.targets.state import (
    LearntTargets,
    TargetSearch,
    TargetSettings,
    TargetState,
    full_rows,
    grow_products,
    learn_targets,
)
from labelwise.models.training_rows import TrainingRows
from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.feature_scaling import learn_scaling
from labelwise.numerics.gp.direct_search import Acquisition
from labelwise.numerics.gp.kernels import inner_products
from labelwise.numerics.gp.target_kernel import Products
from labelwise.numerics.linear_algebra import stack_rows
from labelwise.numerics.recovery.label_codes import (
    KnownLabels,
    addressed_projection,
    given_projection,
    identity_projection,
)
from labelwise.numerics.user_input import check_at_least, check_choices, check_positive

CHOICES = {
    "projection": ("auto", "gaussian", "rademacher", "identity"),
    "bpca": (False, True, "evb", "vb", "pca"),
    "gp": ("shared", "separate"),
    "kernel": ("sum", "linear"),
    "optimizer": ("lbfgs", "simplex", "bayes", "gradient"),
    "acquisition": ("ei", "truncated_ei", "clipped_ucb"),
    "decoder": DECODERS,
    "scale": ("auto", "none"),
}
MOST_SEARCHES = 8  # one `partial_fit` searches at most so often; with more rows at once, only at the end


@dataclass(eq=False, repr=False)
class OrthogonalTargetGP(LabelModel):
    """Compressed labels, optionally rotated and cut by Bayesian PCA, and one Gaussian process per target.

    A label vector y is compressed to r = Φ y; targets are the codes in units of their spread, or their coordinates
    along the directions that Bayesian PCA keeps. Every target is regressed on the features with a kernel of rbf,
    linear and constant parts: one shape for all targets with a scale and noise of its own each, or a kernel each.
    A decoder turns predicted codes back into labels. `docs/mathematics/orthogonal_target_gp.md` has the formulas.

    The defaults gave the best results in our measurements; `OrthogonalTargetGP.paper()` is the paper's model. Rows may
    be added one by one with `partial_fit`: `TargetEntropy` then scores a pool at the cost of one row. Training rows may
    be partially known; a row counts as an answer only for targets about which it says something. With one or two rows
    no hyper-parameters are learnt: the kernel is the centre of their prior.

    Parameters
    ----------
    projection : "auto", "gaussian", "rademacher", "identity" or (c, q) array
        Φ. "auto" is the identity for up to 64 labels, unless `n_compressed` is given, and gaussian for more.
    n_compressed : int or float, optional
        c, or as a float the share of the labels. Default: half of them for a random Φ. Several labels get at least two
        codes.
    bpca : False, True, "evb", "vb" or "pca"
        Whether and how targets are directions of the codes instead of the codes: Bayesian PCA in closed form ("evb",
        or True), iterated ("vb"), or plain PCA with `n_targets` directions.
    n_targets : int, optional
        Number of directions of plain PCA. Default: all.
    gp : "shared" or "separate"
        One kernel shape for all targets, or five hyper-parameters for each.
    kernel : "sum" or "linear"
        The paper's rbf + linear + constant, or linear + constant: Bayesian ridge regression.
    noise_ratio : float, optional
        Noise relative to the rbf part of the kernel, or to the linear one of `kernel="linear"`; the rest of the kernel
        is searched under it. By default each target's own, by evidence.
    optimizer : "lbfgs", "simplex", "bayes" or "gradient"
        How hyper-parameters are searched: with gradients, by Nelder–Mead, by expected improvement on a grid, or by
        gradient ascent with `restarts` further starts.
    acquisition : "ei", "truncated_ei" or "clipped_ucb"
        Of "bayes".
    restarts : int
    refit_every : int
        Rows that are new or have new answers after which `partial_fit` learns targets and hyper-parameters again,
        starting from their current values.
    kernel_every : int, optional
        Rows after which hyper-parameters are searched where targets are learnt again; in between, targets keep the
        hyper-parameters of the directions that they continue. The paper's kernel update period. Default: as often as
        targets are learnt.
    decoder : "lasso", "lp", "omp", "binary_mp", "cosamp", "l2", "correlation", "linear", "scaled_linear" or "sparse"
        How scores of labels are found. "scaled_linear" is the one for macro-F1.
    labels_per_item : int, optional
        Labels that "omp", "binary_mp" and "cosamp" choose. Default: the average of the known rows.
    scale : "auto" or "none"
        How features are prepared. "auto": columns of dense features standardised, unless they look like principal
        axes, then rows scaled to unit length; rows of at most ten dense features keep their lengths.
    max_rows : int
        Largest number of rows to fit on, drawn at random; rows that `partial_fit` adds are extra. Hyper-parameters are
        always searched on at most 600 rows, drawn at random.
    random_state : int, RandomState, Generator or None
        Draws Φ; the same seed gives the same Φ.

    Attributes
    ----------
    projection_ : (c, q) array
    directions_ : Directions
        Basis and variances of the targets.
    n_targets_ : int
    target_weights_ : (k,) array
        Share of the codes' variance that each target has.
    kernels_ : tuple of Kernel
        One, or one per target.
    log_posterior_ : float
        Log evidence of the rows searched on, at most 600, plus log prior of the hyper-parameters, in nats; NaN where
        nothing was searched.
    thresholds_ : (q,) array
        Thresholds for F1 by leave-one-out probabilities, for `labelwise.Threshold(model.thresholds_)`.
    n_items_ : int
        Distinct rows learnt from.

    References
    ----------
    Shi & Yu, Fast direct search in an optimally compressed continuous target space for efficient multi-label active
    learning, ICML 2019.

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]])
    >>> Y = np.array([[0, 1], [0, 1], [0, 1], [1, 0], [1, 0], [1, np.nan]])
    >>> model = OrthogonalTargetGP(random_state=0).fit(X, Y)
    >>> model.predict(X).tolist()
    [[0, 1], [0, 1], [0, 1], [1, 0], [1, 0], [1, 0]]
    >>> model.partial_fit([[5.0]], [[np.nan, 0]]).n_items_
    6
    """

    projection: Any = "auto"
    _: KW_ONLY
    n_compressed: int | float | None = None
    bpca: bool | Literal["evb", "vb", "pca"] = False
    n_targets: int | None = None
    gp: Literal["shared", "separate"] = "shared"
    kernel: Literal["sum", "linear"] = "sum"
    noise_ratio: float | None = None
    optimizer: Optimizer = "lbfgs"
    acquisition: Acquisition = "ei"
    restarts: int = 0
    refit_every: int = 10
    kernel_every: int | None = None
    decoder: DecoderName = "lasso"
    labels_per_item: int | None = None
    scale: Literal["auto", "none"] = "auto"
    max_rows: int = 2000
    random_state: Any = None

    @classmethod
    def paper(cls, **parameters: Any) -> Self:
        """The paper's CS-BPCA-GP: half as many Gaussian codes as labels, iterated Bayesian PCA, a kernel per target by
        the simplex method after every row. `parameters` add to these settings or replace them."""
        stated: dict[str, Any] = {
            "projection": "gaussian",
            "n_compressed": 0.5,
            "bpca": "vb",
            "gp": "separate",
            "optimizer": "simplex",
            "refit_every": 1,
        }
        return cls(**(stated | parameters))

    @classmethod
    def ridge(cls, **parameters: Any) -> Self:
        """CS-RR, a rival of the paper: ridge regression of Gaussian codes with penalty 1. Ask at random."""
        rival: dict[str, Any] = {"projection": "gaussian", "n_compressed": 0.5, "kernel": "linear", "noise_ratio": 1.0}
        return cls(**(rival | parameters))

    @classmethod
    def bayesian_ridge(cls, **parameters: Any) -> Self:
        """CS-BR, a rival of the paper: Bayesian ridge regression of Gaussian codes, each with its own penalty by
        evidence. Ask with `TargetEntropy(measure="variance")`."""
        return cls.ridge(**({"noise_ratio": None} | parameters))

    def fit(self, X: Any, Y: Any, observed: Any = None) -> Self:
        """Learn from items X (n, d) and labels Y (n, q) of 0 and 1; unknown entries are NaN or not `observed`."""
        self._check_parameters()
        X, Y, observed = self._check_training(X, Y, observed)
        rng = self._generator()
        projection = self._make_projection(self.n_labels_, int(rng.integers(2**62)))
        scaling = learn_scaling(X, self.scale)
        rows, is_new = TrainingRows.none(self.n_labels_).add(X, Y, observed)
        X = X[is_new]
        if len(rows) > self.max_rows:
            kept = np.sort(rng.permutation(len(rows))[: self.max_rows])
            rows, X = rows.take(kept), X[kept]
        prepared, priority = scaling(X), rng.random(len(rows))
        products = Products.of(inner_products(prepared))
        settings = self._settings()
        learnt = learn_targets(settings, KnownLabels(rows.Y, rows.observed), products, projection, None, rng)
        full = full_rows(rows.observed, np.empty(0, dtype=np.intp))
        search = TargetSearch(rows.observed.sum(axis=1))
        self._pools = PoolMemory()
        return self._keep(
            TargetState(settings, scaling, rows, prepared, projection, *learnt, products, full, priority, search)
        )

    def partial_fit(self, X: Any, Y: Any, observed: Any = None, *, classes: Any = None) -> Self:
        """Add answers. Targets and hyper-parameters do not change until `refit_every` rows are new or have new
        answers; then they are learnt again. Rows without known labels change nothing.

        Adding rows one by one or together gives the same result, unless more than eight searches would be due at once:
        then there is one, at the end. `classes` is there for scikit-learn only.
        """
        if not hasattr(self, "_state"):
            return self.fit(X, Y, observed)
        X, Y, observed = self._check_training(X, Y, observed, reset=False, may_be_unanswered=True)
        start = 0
        while start < len(Y):
            size = self._until_search(len(Y) - start)
            part = slice(start, start + size)
            state = self._extended(X[part], Y[part], observed[part])
            if state.n_waiting >= self.refit_every:
                state = self._searched(state)
            self._keep(state)
            start += size
        return self

    def posterior(self, X: Any) -> OrthogonalTargetPosterior:
        """Beliefs about the items X; unaffected by what the model learns later."""
        X = self._check_items(X)
        return OrthogonalTargetPosterior(self._state, X, self._pools)

    @property
    def thresholds_(self) -> FloatArray:
        return self._state.calibration[1]

    @property
    def target_weights_(self) -> FloatArray:
        return self._state.target_weights

    def _until_search(self, n_left: int) -> int:
        """How many of the rows to come are added before the next search may be due."""
        if n_left > MOST_SEARCHES * self.refit_every:
            return n_left
        return min(n_left, max(1, self.refit_every - self._state.n_waiting))

    def _extended(self, X: Any, Y: Any, observed: Any) -> TargetState:
        """The state with more answers and nothing learnt from them yet."""
        old = self._state
        rows, is_new = old.rows.add(X, Y, observed)
        added = X if is_new.size == X.shape[0] else X[is_new]
        prepared = stack_rows(old.X, old.scaling(added)) if is_new.size else old.X
        priority = np.concatenate([old.priority, self._later(len(old.rows), is_new.size)])
        full = full_rows(rows.observed, old.full)
        return replace(old, rows=rows, X=prepared, full=full, priority=priority)

    def _searched(self, state: TargetState) -> TargetState:
        """The state with targets and kernels learnt from all its rows, starting from the present ones.

        Where the kernels' own period is not over, targets keep the kernels that a search would start from."""
        products = grow_products(state.products, state.X)
        before = LearntTargets(state.directions, state.groups)
        rng = np.random.default_rng([len(state.rows), 1])
        n_waiting = state.search.n_since_kernels + state.n_waiting
        keep = n_waiting < (self.kernel_every or 1)
        settings = state.settings._replace(options=state.settings.options._replace(optimizer="none"))
        learnt = learn_targets(
            settings if keep else state.settings, state.labels, products, state.projection, before, rng
        )
        search = TargetSearch(state.rows.observed.sum(axis=1), n_waiting if keep else 0)
        return replace(state, **learnt._asdict(), products=products, search=search)

    def _later(self, n_before: int, n: int) -> FloatArray:
        """Priorities of rows that come later: by their number alone, so that pieces equal one batch."""
        return np.array([np.random.default_rng([n_before + i, 0]).random() for i in range(n)])

    def _keep(self, state: TargetState) -> Self:
        self._state = state
        self.projection_, self.directions_ = state.projection, state.directions
        self.n_targets_ = state.directions.variances.size
        self.kernels_ = tuple(group.kernel for group in state.groups)
        self.log_posterior_ = -float(sum(group.loss for group in state.groups))
        self.n_items_ = len(state.rows)
        return self

    def _make_projection(self, q: int, seed: int) -> FloatArray:
        if not isinstance(self.projection, str):
            return given_projection(self.projection, q)
        few = self.projection == "auto" and q <= FEW_LABELS and self.n_compressed is None
        if self.projection == "identity" or few or q == 1:
            if self.projection == "identity" and self.n_compressed is not None:
                raise ValueError(
                    f'projection="identity" keeps every label; it cannot have n_compressed={self.n_compressed!r}'
                )
            return identity_projection(q)
        share = 0.5 if self.n_compressed is None else self.n_compressed
        c = int(share) if isinstance(share, (int, np.integer)) else int(np.ceil(share * q))
        return addressed_projection(max(2, c), q, seed, "rademacher" if self.projection == "rademacher" else "gaussian")

    def _settings(self) -> TargetSettings:
        bpca = self.bpca if isinstance(self.bpca, str) else "evb" if self.bpca else "none"
        options = SearchOptions(self.gp, self.kernel, self.optimizer, self.acquisition, self.restarts, self.noise_ratio)
        return TargetSettings(bpca, self.n_targets, self.decoder, self.labels_per_item, options)

    def _check_parameters(self) -> None:
        check_choices(self, **CHOICES)
        check_positive(self, "n_compressed", "noise_ratio", "n_targets", "labels_per_item")
        if isinstance(self.n_compressed, float) and self.n_compressed > 1:
            raise ValueError(f"n_compressed as a float is a share of at most 1, got {self.n_compressed!r}")
        for name, least in (("refit_every", 1), ("kernel_every", 1), ("restarts", 0), ("max_rows", 3)):
            check_at_least(self, least, name)
