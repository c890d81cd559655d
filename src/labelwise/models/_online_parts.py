"""`OnlineBayes` in parts, for whoever learns it in several places: by labels, which is exact, or by rows, merged.

Pure functions from models to models: none changes what it is given, so a part that was lost can be done again.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from labelwise.models._online_settings import block_size, check_rows, check_settings, check_sizes, check_unchanged
from labelwise.models._online_state import LINE, OnlineState
from labelwise.models.base import BoolArray
from labelwise.models.online_bayes import OnlineBayes
from labelwise.numerics.gaussians import Gaussian, merge
from labelwise.numerics.online_ep import SMALLEST_VARIANCE
from labelwise.posterior import FloatArray

ROWS = 1024  # of weights that are merged at a time, in double precision


class PreparedRows(NamedTuple):
    """Rows that were checked and scaled once, ready to be learnt by any number of parts."""

    X: Any  # (n, d) CSR in the precision of the weights
    Y: sp.csr_array  # (n, q) of bool
    observed: BoolArray | None  # (n, q), or None: all of them
    n_features: int  # before they were folded


def prepare_rows(model: OnlineBayes, X: Any, Y: Any, observed: Any = None) -> PreparedRows:
    """Check rows and bring them into the form that learning reads; the model only says how."""
    trial: Any = clone(model)
    X, Y, observed = trial._check_training(X, Y, observed, may_be_unanswered=True)
    check_rows(model.coupling, Y, observed)
    check_sizes(model, X, learning=True)
    return PreparedRows(trial._prepare(X), sp.csr_array(Y), None if observed.all() else observed, X.shape[1])


def begin(model: OnlineBayes, n_labels: int, n_parts: int = 1) -> OnlineBayes:
    """A model ready to learn so many labels: what this one has learnt so far, or the prior.

    Independent labels come in `n_parts` blocks unless the model says otherwise; it makes no difference to them.
    """
    check_settings(model)
    twin: Any = copy(model)
    if hasattr(model, "state_"):
        check_unchanged(model, model._started_with)
        twin.state_ = model.state_.copy()
    else:
        share = -(-n_labels // (n_parts * LINE)) * LINE
        free = model.coupling == "independent" and model.block_size is None and share < n_labels
        twin._start(share if free else block_size(model, n_labels))
        twin.n_features_in_ = twin.n_labels_ = 0
    twin.n_labels_ = max(twin.n_labels_, n_labels)
    twin._grow(0, twin.n_labels_)
    return twin


def learn_rows(model: OnlineBayes, rows: PreparedRows, first_label: int = 0) -> OnlineBayes:
    """The model after these rows, of whose labels it has those from `first_label` on."""
    twin: Any = copy(model)
    twin.state_ = model.state_.copy()
    labels = slice(first_label, first_label + model.n_labels_)
    Y = rows.Y[:, labels].toarray()
    observed = np.ones(Y.shape, dtype=bool) if rows.observed is None else rows.observed[:, labels]
    twin.n_features_in_ = max(model.n_features_in_, rows.n_features)
    twin._grow(twin.n_features_in_, model.n_labels_)
    twin._learn(rows.X, np.ascontiguousarray(Y), np.ascontiguousarray(observed), None, prepared=True)
    return twin


# -- by labels --------------------------------------------------------------------------------------------------------


def split_labels(model: OnlineBayes, n_parts: int) -> list[tuple[int, OnlineBayes]]:
    """At most `n_parts` models of some blocks of labels each, and the first label of each.

    Blocks of labels share nothing, so the parts, learnt anywhere and joined, are bit by bit the model learnt at once.
    """
    n_blocks = len(model.state_.blocks)
    if n_blocks < min(n_parts, 2) and model.n_labels_ > LINE:  # fewer labels are one part
        if model.coupling == "independent":
            raise ValueError(
                f"this model was begun elsewhere, with all {model.n_labels_} labels in one block that cannot be split: "
                "begin it here, or with a block_size, or learn by rows"
            )
        raise ValueError(
            f"coupling={model.coupling!r} with block_size={model.block_size!r} has one block of {model.n_labels_} "
            "labels, which cannot be split: set block_size to a multiple of 8 below the number of labels (a bias for "
            "each block, which costs no F1), use coupling='independent', or learn by rows"
        )
    parts = []
    for numbers in np.array_split(np.arange(n_blocks), min(n_parts, n_blocks)):
        first = model.state_.blocks[numbers[0]].first
        parts.append((first, _with_blocks(model, slice(int(numbers[0]), int(numbers[-1]) + 1), first)))
    return parts


def _with_blocks(model: OnlineBayes, numbers: slice, first: int) -> OnlineBayes:
    twin: Any = copy(model)
    state = twin.state_ = model.state_.copy()
    state.blocks = state.blocks[numbers]
    state.bias = state.bias[numbers]
    state.n_labels = twin.n_labels_ = sum(block.n_labels for block in state.blocks)
    state.sweeps = model.state_.sweeps if first == 0 else 0  # counted once when joined
    for block in state.blocks:
        block.first -= first
    twin.classes_ = np.arange(twin.n_labels_)
    return twin


def join_labels(parts: Sequence[OnlineBayes]) -> OnlineBayes:
    """One model of the labels of all parts, which have learnt the same rows."""
    whole: Any = copy(parts[0])
    state = whole.state_ = parts[0].state_.copy()
    for part in parts[1:]:
        other = part.state_.copy()
        for block in other.blocks:
            block.first += state.n_labels
        state.blocks += other.blocks
        state.bias = np.vstack([state.bias, other.bias])
        state.n_labels += other.n_labels
        state.sweeps += other.sweeps
    whole.n_labels_ = state.n_labels
    whole.classes_ = np.arange(state.n_labels)
    return whole


# -- by rows ----------------------------------------------------------------------------------------------------------


def merge_rows(base: OnlineBayes, parts: Sequence[OnlineBayes]) -> OnlineBayes:
    """What models that all began at `base`, and have learnt different rows since, know together.

    Natural parameters of weights and biases add: base + Σ (part − base), so do counts. What a part does not know of
    the others' rows makes its steps larger than those of one model over all rows: merge often. Parts that forget
    (`half_life`) have no common base left and are refused.
    """
    if base.half_life is not None:
        raise ValueError(f"half_life={base.half_life!r}: models that forget cannot be merged; learn by labels")
    whole: Any = copy(base)
    state = whole.state_ = base.state_.copy()
    states = [part.state_ for part in parts]
    whole.n_features_in_ = max(base.n_features_in_, *(part.n_features_in_ for part in parts))
    whole._grow(max(other.n_features for other in states), base.n_labels_)
    for other in states:
        state.rows_for(other.feature_of())
    features = state.feature_of()
    for start in range(0, state.n_rows, ROWS):
        _merge_weights(state, states, features, slice(start, min(start + ROWS, state.n_rows)))
    if state.with_hubs:
        state.bias = np.column_stack(_moments(base.state_.bias.T, [other.bias.T for other in states]))
    counts = base.state_.counts
    state.set_counts(*(counts + sum(other.counts - counts for other in states)))
    state.seen += sum(other.seen - base.state_.seen for other in states)
    state.sweeps += sum(other.sweeps - base.state_.sweeps for other in states)
    return whole


def _merge_weights(state: OnlineState, parts: Sequence[OnlineState], features: Any, rows: slice) -> None:
    """Merge some rows of the weights, in place: they hold the base (new ones the prior)."""
    constant = rows.start == 0
    named = features[max(rows.start, 1) - 1 : rows.stop - 1]
    places = [part.row_of[np.minimum(named, part.n_features - 1)] for part in parts]
    places = [np.where(named < part.n_features, place, -1) for part, place in zip(parts, places, strict=True)]
    if constant:
        places = [np.concatenate([[0], place]) for place in places]
    for number, block in enumerate(state.blocks):
        base = block.weights[rows].astype(np.float64)  # (m, 2, columns)
        others = []
        for part, place in zip(parts, places, strict=True):
            learnt = part.blocks[number].weights[np.maximum(place, 0)]
            others.append(np.where((place >= 0)[:, None, None], learnt, base).swapaxes(0, 1))
        mean, variance = _moments(base.swapaxes(0, 1), others)
        block.weights[rows, 0], block.weights[rows, 1] = mean, np.maximum(variance, SMALLEST_VARIANCE)


def _moments(base: FloatArray, parts: Sequence[FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of the merged Gaussians; all are given by mean and variance."""
    merged = merge(Gaussian.from_moments(*base), [Gaussian.from_moments(*part) for part in parts])
    return merged.mean, merged.variance
