"""Bayesian linear classifiers of all labels at once, learnt in one pass over a stream by expectation propagation."""

from __future__ import annotations

import errno
import json
import os
import zipfile
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import KW_ONLY, dataclass
from os import PathLike
from tokenize import TokenError
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from labelwise.files import writing
from labelwise.models.base import LabelModel
from labelwise.models.online.settings import (
    GRAPHS,
    SHAPING,
    bias_variance,
    block_size,
    check_rows,
    check_settings,
    check_sizes,
    check_unchanged,
    parents_of,
    tree_of,
)
from labelwise.models.online.state import LabelBlock, OnlinePosterior, OnlineState
from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.ep.message_passing import Likelihood, close_answers
from labelwise.numerics.ep.online_learning import (
    SMALLEST_VARIANCE,
    Counting,
    Links,
    Prior,
    learn,
    learn_linked,
    scale_rows,
)
from labelwise.numerics.ep.truncated import table
from labelwise.numerics.ep.windows import learn_window
from labelwise.numerics.feature_scaling import hash_columns

BLOCK = 4096  # rows prepared at a time
FORMAT = "labelwise.OnlineBayes"
VERSION = 1

Model = TypeVar("Model")


@dataclass(eq=False, repr=False)
class OnlineBayes(LabelModel):
    """Linear classifiers with a Gaussian belief about every weight, for streams of sparse rows and many labels.

    Each row is learnt once, by expectation propagation on a small factor graph (Zhang, Graepel & Herbrich, AISTATS
    2010). Time per row is that of visiting the weights of its non-zero features about twice; memory is 8 bytes per
    label and feature seen. Labels may be known in part: a label without an answer sends no message. New labels (more
    columns in `Y`) and new features (a wider sparse `X`) may come with any call of `partial_fit`.

    Parameters
    ----------
    coupling : {"global", "independent", "multiclass", "pairwise"}
        "global": scores of relevant labels lie above one bias that all labels share, those of irrelevant ones below
        (the paper's model). "independent": each label has its own bias, so that labels are learnt separately.
        "multiclass": the score of the one true label lies above all others. "pairwise": every relevant score lies above
        every irrelevant one (at most 200 labels).
    score_noise : float
        Standard deviation of the noise on a score. Kept in the probabilities. The paper has 0.01; 1 is better by 2
        to 3 points of macro-F1 on long streams.
    weight_variance, bias_variance : float
        Of the prior. By default a bias shared by all labels has 1e4 (1 if answers may be flipped), the bias of an
        independent label 1. The local bias of another coupling is a weight and has the variance of one.
    margin : float
        The difference of scores that a comparison requires.
    skew_margin : bool
        A relevant label has to win by margin · ln(e + negatives/positives): rare labels by more.
    label_prior : (positives, negatives), optional
        Pseudo-answers per label, for the skew margin. `fit` counts the answers before it learns; `partial_fit` counts
        them as they arrive.
    local_bias : bool
        Give every label a bias of its own besides the coupling ("independent" always has one).
    block_size : int, optional
        Labels that are learnt together, a multiple of 8: blocks go to different threads. With `coupling="global"`
        each block has a bias of its own, which costs no F1; None is one block. With "independent" it changes nothing
        but the speed; None is a block per thread, of at least 64 labels. The other couplings have one block.
    flip_probability : float
        Share of wrong answers to expect. Needs margin=0 and a bias variance of order 1.
    hierarchy : LabelTree or (q,) parents, optional
        The column of each label's parent, −1 for a label without one; `LabelData.tree()` has it. A child implies its
        parent. Answers are completed (a yes holds for all labels above, a no for all below), and a child is learnt
        from the items for which its parent is relevant, or may be. Its probability is the product along its path. With
        `coupling` "global" or "independent". Labels that turn up later have no parent unless it is set by then.
    drift : float
        Variance of the step that every weight and bias takes from a row to the next. `fit` then keeps the order of the
        rows. 0: weights do not move.
    window : int, optional
        Rows that are gone through forth and back together, so that each is learnt against all others of its window,
        before it and after it. A call of `partial_fit` begins a new window. None: every row is met once, in its turn.
    window_passes : int
        How often a window is gone through back and forth, after the first time forth.
    half_life : float, optional
        Rows after which half of what was learnt is forgotten: natural parameters decay towards the prior, and counted
        answers (`label_shares_`, the skew margin) fade at the same pace. None never.
    tolerance, max_sweeps : float, int
        Messages are exchanged until the bias moves by less than `tolerance` standard deviations, or this often.
    normalize : {"l2", None}
        Scale rows to unit length, for which the defaults are tuned. Standardise dense features first.
    hash_features : int, optional
        Fold the columns of X into this number, with signs; for feature spaces that are too large or unbounded.
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
        Share of yes among the answers to each label; with a `half_life`, of recent answers: one that is k rows old
        counts 2^(−k / half_life). `fit` takes rows in random order, so there all answers count alike.

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

    A label under another: its answers say nothing where the parent is irrelevant, and it is never the likelier one.

    >>> Y = np.column_stack([X[:, 0] > 0.5, X[:, 0] > 0.95])
    >>> p = OnlineBayes(hierarchy=[-1, 0], random_state=0).fit(X, Y).predict_proba(X)
    >>> bool((p[:, 1] <= p[:, 0]).all())
    True

    Weights that move, and two hundred rows learnt together, each against all others:

    >>> moving = OnlineBayes(drift=1e-3, window=200).fit(X, Y)

    References
    ----------
    X. Zhang, T. Graepel, R. Herbrich: Bayesian Online Learning for Multi-label and Multi-variate Performance Measures,
    AISTATS 2010. See docs/mathematics/online_bayes.md for what differs here.
    """

    coupling: str = "global"
    _: KW_ONLY
    score_noise: float = 1.0
    weight_variance: float = 1.0
    bias_variance: float | None = None
    margin: float = 1.0
    skew_margin: bool = True
    label_prior: tuple[float, float] | None = None
    local_bias: bool = True
    block_size: int | None = None
    flip_probability: float = 0.0
    hierarchy: Any = None
    drift: float = 0.0
    window: int | None = None
    window_passes: int = 2
    half_life: float | None = None
    tolerance: float = 1e-3
    max_sweeps: int = 30
    normalize: str | None = "l2"
    hash_features: int | None = None
    dtype: str = "float32"
    n_jobs: int | None = None
    random_state: Any = None

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
        n = X.shape[0]
        self._learn(X, Y, observed, order=np.arange(n) if self.drift > 0 else self._generator().permutation(n))
        if self.half_life is not None:
            self.state_.set_counts(*(self.state_.counts * mean_weight(X.shape[0], self.half_life)))
        return self

    def partial_fit(self, X: Any, Y: Any, observed: Any = None, *, classes: Any = None) -> Self:
        """Learn more rows, in the given order. More columns than before are new labels, or (sparse X) new features.

        Rows without any answer change nothing.
        `classes` is there for scikit-learn only: the classes of a label are always 0 and 1.
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
        prior = prior._replace(drift=float(self.drift))
        self.state_ = OnlineState(prior, block_size, self.coupling == "global", self.dtype)
        self._started_with = {name: getattr(self, name) for name in SHAPING}
        self._started_with["hierarchy"] = parents_of(self.hierarchy)

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
            size = self.window or BLOCK
            for start in range(0, X.shape[0], size):
                rows = slice(start, start + size) if order is None else order[start : start + size]
                whole = order is None and X.shape[0] <= size
                some = X if whole else X[rows]
                items = state.admit(some if prepared else self._prepare(some))
                answers = Y[rows], observed[rows]
                same = (likelihood, state.prior, counting)
                left = iter(
                    [
                        (items, answers, block, beliefs, same, self._links(block) or GRAPHS[self.coupling])
                        for block, beliefs in zip(state.blocks, state.beliefs(), strict=True)
                    ]
                )
                others = [pool.submit(_learn_blocks, left) for _ in range(threads - 1)]
                state.sweeps += _learn_blocks(left) + sum(other.result() for other in others)

    def _links(self, block: LabelBlock) -> Links | None:
        """Hierarchy of a block and passes over a window; None where neither is there and weights stand still."""
        if self.hierarchy is None and self.drift == 0 and self.window is None:
            return None
        tree = tree_of(self.hierarchy, 0 if self.hierarchy is None else block.columns)
        return Links(GRAPHS[self.coupling], tree, self.window_passes if self.window else 0)

    # -- believing ----------------------------------------------------------------------------------------------------

    def posterior(self, X: Any) -> OnlinePosterior:
        """Beliefs about items; features of a sparse X that the model has never seen are at the prior."""
        check_is_fitted(self)
        if sp.issparse(X):
            X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32))
        else:
            X = self._check_items(X)
        check_sizes(self, X)
        return OnlinePosterior(
            self.state_,
            self._prepare(X),
            float(self.score_noise) ** 2,
            one_label=self.coupling == "multiclass",
            tree=None if self.hierarchy is None else tree_of(self.hierarchy, self.n_labels_),
        )

    @property
    def n_seen_(self) -> int:
        return self.state_.seen

    @property
    def label_shares_(self) -> FloatArray:
        negative, positive = self.state_.counts
        answers = negative + positive
        return positive / np.where(answers > 0, answers, 1)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, NumPy's npz with the settings as JSON inside; replaced only when complete."""
        check_is_fitted(self)
        write_model(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """A model written by `save`, bit for bit as it was. No code is run from the file."""
        return _read(cls, path)

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

    def _check_training(self, X: Any, Y: Any, observed: Any, **how: Any) -> tuple[Any, BoolArray, BoolArray]:
        """As for every model; in a hierarchy, with the answers that follow from others."""
        X, Y, observed = super()._check_training(X, Y, observed, **how)
        if self.hierarchy is None:
            return X, Y, observed
        signs = np.where(observed, np.where(Y, 1, -1), 0).astype(np.int8)
        close_answers(signs, tree_of(self.hierarchy, Y.shape[1]))
        return X, signs > 0, signs != 0

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


def mean_weight(n_rows: int, half_life: float) -> float:
    """Of n rows of a stream of which that of k rows ago counts 2^(−k / half_life).

    >>> mean_weight(2, 1.0)
    0.75
    """
    return float(np.mean(2.0 ** (-np.arange(n_rows) / half_life)))


def _learn_blocks(left: Iterator[tuple[Any, ...]]) -> int:
    """Learn the blocks that no other thread has taken yet; the number of sweeps."""
    sweeps = 0
    for items, answers, block, beliefs, same, links in left:
        way: Any = learn if isinstance(links, int) else learn_window if links.passes else learn_linked
        sweeps += way(items, _signs(answers, block), beliefs, *same, links)
    return sweeps


def _signs(answers: tuple[BoolArray, BoolArray], block: LabelBlock) -> npt.NDArray[np.int8]:
    """Of the labels of a block: +1 relevant, -1 irrelevant, 0 no answer, padded with zeros."""
    Y, observed = answers
    signs = np.zeros((Y.shape[0], block.columns), dtype=np.int8)
    present, known = Y.view(np.int8)[:, block.labels], observed.view(np.int8)[:, block.labels]
    np.multiply(2 * present - 1, known, out=signs[:, : block.n_labels])
    return signs


def write_model(model: Any, path: str | os.PathLike[str], **more: Any) -> None:
    """One npz file with the settings in it as JSON; nothing in it can run. Arrays of others may be kept in it, too."""
    state = model.state_
    header = {
        "format": FORMAT,
        "version": VERSION,
        "settings": _plain(model.get_params(deep=False)),
        "block_size": state.block_size,
        "n_features_in": int(model.n_features_in_),
        "feature_names": [str(name) for name in getattr(model, "feature_names_in_", ())],
        **{name: int(getattr(state, name)) for name in ("n_features", "n_labels", "seen", "sweeps")},
    }
    words = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    with writing(path) as file:
        np.savez(file, header=words, **state.arrays(), **more)


def _read(cls: type[Model], path: str | os.PathLike[str]) -> Model:
    header, arrays = _read_arrays(path)
    if (header.get("format"), header.get("version")) != (FORMAT, VERSION):
        raise ValueError(f"{os.fspath(path)} is no {FORMAT} file of version {VERSION}; write one with save(path)")
    settings = header["settings"]
    if settings["label_prior"] is not None:
        settings["label_prior"] = tuple(settings["label_prior"])
    model: Any = cls(**settings)
    model._start(header["block_size"])
    model.n_features_in_, model.n_labels_ = header["n_features_in"], header["n_labels"]
    if header["feature_names"]:
        model.feature_names_in_ = np.array(header["feature_names"], dtype=object)
    model._grow(header["n_features"], header["n_labels"])
    model.state_.restore(arrays)
    model.state_.seen, model.state_.sweeps = header["seen"], header["sweeps"]
    return model


def _read_arrays(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Header and arrays of a file; the header is empty where there is none or the file is no complete npz."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        return json.loads(arrays.pop("header").tobytes()), arrays
    except (ValueError, KeyError, AttributeError, EOFError, TokenError, RecursionError, zipfile.BadZipFile, zlib.error):
        return {}, {}
    except OSError as error:
        if error.errno != errno.EINVAL:  # a damaged archive says that a part of it begins before the file
            raise
        return {}, {}


def _plain(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings as JSON knows them."""
    plain = {}
    for name, value in settings.items():
        plain[name] = value.item() if isinstance(value, np.generic) else value
        if name == "hierarchy" and value is not None:
            plain[name] = list(parents_of(value) or ())
        if name == "random_state" and not isinstance(plain[name], int | None):
            raise ValueError(f"random_state must be an int or None to be saved, got {value!r}; use set_params")
    return plain
