"""Bayesian linear classifiers of all labels at once, learnt in one pass over a stream by expectation propagation."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from labelwise.models import _online_files
from labelwise.models._online_posterior import OnlinePosterior
from labelwise.models._online_settings import (
    GRAPHS,
    SHAPING,
    bias_variance,
    block_size,
    check_rows,
    check_settings,
    check_sizes,
    check_unchanged,
)
from labelwise.models._online_state import LabelBlock, OnlineState
from labelwise.models.base import BoolArray, LabelModel
from labelwise.numerics.feature_hashing import hash_columns
from labelwise.numerics.message_passing import Likelihood
from labelwise.numerics.online_ep import SMALLEST_VARIANCE, Counting, Prior, learn, scale_rows
from labelwise.numerics.truncated import table
from labelwise.posterior import FloatArray

BLOCK = 4096  # rows prepared at a time


class OnlineBayes(LabelModel):
    """Linear classifiers with a Gaussian belief about every weight, for streams of sparse rows and many labels.

    Each row is learnt once, by expectation propagation on a small factor graph (Zhang, Graepel & Herbrich, AISTATS
    2010). Time per row is that of visiting the weights of its non-zero features about twice; memory is 8 bytes per
    label and feature seen. Labels may be known in part: a label without an answer sends no message. New labels (more
    columns in `Y`) and new features (a wider sparse `X`) may come with any call of `partial_fit`.

    Parameters
    ----------
    coupling : {"global", "independent", "multiclass", "pairwise"}
        Scores of relevant labels lie above, those of irrelevant ones below one bias shared by all labels (the paper's
        model); or a bias of each label's own, so that labels are learnt separately; or the score of the one true
        label above all others; or every relevant score above every irrelevant one (at most 200 labels).
    score_noise : float
        Standard deviation of the noise on a score. Kept in the probabilities. The paper has 0.01; 1 is better by 2
        to 3 points of macro-F1 on long streams.
    weight_variance, bias_variance : float
        Of the prior. By default a bias shared by all labels has 1e4 (1 if answers may be flipped), the bias of an
        independent label 1. The local bias of another coupling is a weight and has the variance of one.
    margin : float
        By how much a comparison has to be won.
    skew_margin : bool
        A relevant label has to win by margin · ln(e + negatives/positives): rare labels by more.
    label_prior : (positives, negatives), optional
        Answers per label imagined before the first, for the skew margin. `fit` counts the answers before it learns;
        `partial_fit` counts as they come.
    local_bias : bool
        Give every label a bias of its own besides the coupling ("independent" always has one).
    block_size : int, optional
        Labels that are learnt together, a multiple of 8: blocks go to different threads. With `coupling="global"`
        each block has a bias of its own, which costs no F1; None is one block. With "independent" it changes nothing
        but the speed; None is a block per thread, of at least 64 labels. The other couplings have one block.
    flip_probability : float
        Share of wrong answers to expect. Needs margin=0 and a bias variance of order 1.
    half_life : float, optional
        Rows after which half of what was learnt is forgotten: natural parameters decay towards the prior. None never.
    tolerance, max_sweeps : float, int
        Messages are exchanged until the bias moves by less than `tolerance` standard deviations, or this often.
    normalize : {"l2", None}
        Scale rows to unit length, for which the defaults are tuned. Standardise dense features first.
    hash_features : int, optional
        Fold the columns of X into this many, with signs; for feature spaces that are too large or have no end.
    dtype : {"float32", "float64"}
        Of the weights.
    n_jobs : int, optional
        Threads, as in joblib. The result does not depend on it.
    random_state : int, RandomState, Generator or None
        For the order in which `fit` goes through the rows. `partial_fit` keeps the order given.

    Attributes
    ----------
    state_ : OnlineState
        Weights, biases and counts.
    n_seen_ : int
        Rows learnt.
    label_shares_ : (q,) array
        Share of yes among the answers to each label.

    Notes
    -----
    The probabilities of rare labels stay far below one half: choose label sets with a rule made for that
    (`labelwise.decisions`) rather than with `predict`. Going through the same rows twice counts them twice: variances
    shrink too far and F1 falls.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.1, 0.9], [0.0, 1.0]] * 10)
    >>> Y = X > 0.5
    >>> model = OnlineBayes(random_state=0).fit(X, Y)
    >>> model.predict(X[:3])
    array([[1, 0], [1, 0], [0, 1]])
    >>> wider = model.partial_fit(X, np.column_stack([Y, X[:, 0] < 0.05]))  # a third label turns up
    >>> wider.predict_proba(X).shape
    (40, 3)

    References
    ----------
    X. Zhang, T. Graepel, R. Herbrich: Bayesian Online Learning for Multi-label and Multi-variate Performance Measures,
    AISTATS 2010. See docs/mathematics/online_bayes.md for what differs here.
    """

    n_features_in_: int

    def __init__(
        self,
        coupling: str = "global",
        *,
        score_noise: float = 1.0,
        weight_variance: float = 1.0,
        bias_variance: float | None = None,
        margin: float = 1.0,
        skew_margin: bool = True,
        label_prior: tuple[float, float] | None = None,
        local_bias: bool = True,
        block_size: int | None = None,
        flip_probability: float = 0.0,
        half_life: float | None = None,
        tolerance: float = 1e-3,
        max_sweeps: int = 30,
        normalize: str | None = "l2",
        hash_features: int | None = None,
        dtype: str = "float32",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.coupling = coupling
        self.score_noise = score_noise
        self.weight_variance = weight_variance
        self.bias_variance = bias_variance
        self.margin = margin
        self.skew_margin = skew_margin
        self.label_prior = label_prior
        self.local_bias = local_bias
        self.block_size = block_size
        self.flip_probability = flip_probability
        self.half_life = half_life
        self.tolerance = tolerance
        self.max_sweeps = max_sweeps
        self.normalize = normalize
        self.hash_features = hash_features
        self.dtype = dtype
        self.n_jobs = n_jobs
        self.random_state = random_state

    @classmethod
    def paper(cls, coupling: str = "global", **settings: Any) -> Self:
        """The settings of the paper: hardly any noise, a vague bias, and no bias per label besides the shared one."""
        given = {"score_noise": 0.01, "bias_variance": 1e4, "local_bias": False, **settings}
        return cls(coupling, **given)

    # -- learning -----------------------------------------------------------------------------------------------------

    def fit(self, X: Any, Y: Any, observed: Any = None) -> Self:
        """One pass over the rows in random order, from the prior."""
        check_settings(self)
        X, Y, observed = self._check_training(X, Y, observed)
        check_rows(self.coupling, Y, observed)
        check_sizes(self, X, learning=True)
        self._start(block_size(self, Y.shape[1]))
        self._grow(X.shape[1], Y.shape[1])
        self.state_.set_counts((observed & ~Y).sum(0), Y.sum(0))
        self._learn(X, Y, observed, order=self._generator().permutation(X.shape[0]))
        return self

    def partial_fit(self, X: Any, Y: Any, observed: Any = None, *, classes: Any = None) -> Self:
        """Go on learning, in the order given. More columns than before are new labels, or (sparse X) new features.

        Rows without any answer change nothing.
        `classes` is taken for scikit-learn's sake; the classes of a label are always 0 and 1.
        """
        check_settings(self)
        if hasattr(self, "state_"):
            check_unchanged(self, self._started_with)
            X, Y, observed = self._check_more(X, Y, observed)
        else:
            X, Y, observed = self._check_training(X, Y, observed, may_be_unanswered=True)
            check_rows(self.coupling, Y, observed)
            check_sizes(self, X, learning=True)
            self._start(block_size(self, Y.shape[1]))
        self._grow(X.shape[1], Y.shape[1])
        self._learn(X, Y, observed, order=None)
        return self

    def _start(self, block_size: int | None) -> None:
        independent = self.coupling == "independent"
        local = bias_variance(self) if independent else self.weight_variance
        precisions = (1 / self.weight_variance, 1 / local, 1 / bias_variance(self))
        prior = Prior(*precisions, half_life=float(self.half_life or 0), local_bias=self.local_bias or independent)
        self.state_ = OnlineState(prior, block_size, self.coupling == "global", self.dtype)
        self._started_with = {name: getattr(self, name) for name in SHAPING}

    def _grow(self, n_features: int, n_labels: int) -> None:
        self.state_.grow(self.hash_features or n_features, n_labels)
        self.classes_ = np.arange(n_labels)

    def _learn(
        self,
        X: Any,
        Y: BoolArray,
        observed: BoolArray,
        order: npt.NDArray[np.intp] | None,
        *,
        prepared: bool = False,
    ) -> None:
        """Learn the rows in this order (None: as they come, counting answers on the way)."""
        state = self.state_
        likelihood = Likelihood(
            table(),
            noise=max(float(self.score_noise) ** 2, SMALLEST_VARIANCE),  # empty rows contradict each other without any
            margin=float(self.margin),
            skew=bool(self.skew_margin),
            flip=float(self.flip_probability),
            tolerance=float(self.tolerance),
            max_sweeps=int(self.max_sweeps),
        )
        positive, negative = self.label_prior or (0.0, 0.0)
        counting = Counting(running=order is None, negative=float(negative), positive=float(positive))
        threads = min(effective_n_jobs(self.n_jobs), len(state.blocks))
        with ThreadPoolExecutor(max_workers=max(threads - 1, 1)) as pool:  # the calling thread works too
            for start in range(0, X.shape[0], BLOCK):
                rows = slice(start, start + BLOCK) if order is None else order[start : start + BLOCK]
                whole = order is None and X.shape[0] <= BLOCK
                some = X if whole else X[rows]
                items = state.admit(some if prepared else self._prepare(some))
                answers = Y[rows], observed[rows]
                same = (likelihood, state.prior, counting, GRAPHS[self.coupling])
                left = iter([(items, answers, *own, same) for own in zip(state.blocks, state.beliefs(), strict=True)])
                others = [pool.submit(_learn_blocks, left) for _ in range(threads - 1)]
                state.sweeps += _learn_blocks(left) + sum(other.result() for other in others)

    # -- believing ----------------------------------------------------------------------------------------------------

    def posterior(self, X: Any) -> OnlinePosterior:
        """Beliefs about items; a sparse X may have features never seen, which are at the prior."""
        check_is_fitted(self)
        if sp.issparse(X):
            X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32))
        else:
            X = self._check_items(X)
        check_sizes(self, X)
        return OnlinePosterior(
            self.state_, self._prepare(X), float(self.score_noise) ** 2, one_label=self.coupling == "multiclass"
        )

    @property
    def n_seen_(self) -> int:
        return self.state_.seen

    @property
    def label_shares_(self) -> FloatArray:
        negative, positive = self.state_.counts
        return positive / np.maximum(negative + positive, 1)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, NumPy's npz with the settings as JSON inside; replaced only when complete."""
        check_is_fitted(self)
        _online_files.save(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """A model written by `save`, bit for bit as it was. No code is run from the file."""
        return _online_files.load(cls, path)

    # -- checks -------------------------------------------------------------------------------------------------------

    def _prepare(self, X: Any) -> Any:
        """A CSR copy in the weights' precision: folded if asked for, without zeros and doubles, rows of unit length."""
        X = sp.csr_array(X, copy=True)
        X.sum_duplicates()
        if self.hash_features is not None:
            X = hash_columns(X, self.hash_features)
        if not X.data.all():
            X.eliminate_zeros()
        if self.normalize == "l2":
            scale_rows(X.indptr, X.data)  # before the precision is cut: the squares of 1e20 are beyond float32
        X.data = X.data.astype(self.dtype, copy=False)
        return X

    def _check_more(self, X: Any, Y: Any, observed: Any) -> tuple[Any, BoolArray, BoolArray]:
        """`_check_training` for rows that may bring new labels and, where X is sparse, any number of columns."""
        known = self.n_features_in_, self.n_labels_
        if sp.issparse(X):
            self.n_features_in_ = max(X.shape[1], known[0])
            X = sp.csr_array(X)
            X = sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], self.n_features_in_))
        if len(np.shape(Y)) == 2:
            self.n_labels_ = max(np.shape(Y)[1], known[1])
        try:
            X, Y, observed = self._check_training(X, Y, observed, reset=False, may_be_unanswered=True)
            check_rows(self.coupling, Y, observed)
            check_sizes(self, X, learning=True)
        except ValueError:
            self.n_features_in_, self.n_labels_ = known  # as if nothing had come
            raise
        return X, Y, observed


def _learn_blocks(left: Iterator[tuple[Any, ...]]) -> int:
    """Learn the blocks that no other thread has taken yet; the number of sweeps."""
    sweeps = 0
    for items, answers, block, beliefs, same in left:
        sweeps += learn(items, _signs(answers, block), beliefs, *same)
    return sweeps


def _signs(answers: tuple[BoolArray, BoolArray], block: LabelBlock) -> npt.NDArray[np.int8]:
    """Of the labels of a block: +1 relevant, -1 irrelevant, 0 no answer, padded with zeros."""
    Y, observed = answers
    signs = np.zeros((Y.shape[0], block.columns), dtype=np.int8)
    present, known = Y.view(np.int8)[:, block.labels], observed.view(np.int8)[:, block.labels]
    np.multiply(2 * present - 1, known, out=signs[:, : block.n_labels])
    return signs
