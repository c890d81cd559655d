"""Which settings and rows `OnlineBayes` takes, and what is wrong with the others."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from joblib import effective_n_jobs

from labelwise.models.online.state import LINE
from labelwise.numerics.arrays import BoolArray
from labelwise.numerics.ep.message_passing import Tree
from labelwise.numerics.ep.online_learning import INDEPENDENT, MULTI_CLASS, PAIRWISE, STAR
from labelwise.numerics.user_input import check_at_least, check_choices, check_positive

GRAPHS = {"global": STAR, "independent": INDEPENDENT, "multiclass": MULTI_CLASS, "pairwise": PAIRWISE}
SHAPING = (
    "coupling",
    "weight_variance",
    "bias_variance",
    "local_bias",
    "block_size",
    "half_life",
    "drift",
    "hash_features",
    "dtype",
)
MOST_PAIRWISE_LABELS = 200
MOST_FEATURES = 2**28
LEAST_SHARE = 64  # labels worth a thread


def bias_variance(model: Any) -> float:
    """The prior variance of the bias: as set, or vague where all labels hold it in place."""
    if model.bias_variance is not None:
        return float(model.bias_variance)
    return 1e4 if model.coupling == "global" and model.flip_probability == 0 else 1.0


def block_size(model: Any, n_labels: int) -> int | None:
    """Labels to a block, None for all: as set, or where labels are independent a block for each thread."""
    if model.hierarchy is not None:
        return None
    if model.coupling == "independent" and model.block_size is None:
        share = -(-n_labels // effective_n_jobs(model.n_jobs))
        return max(-(-share // LINE) * LINE, LEAST_SHARE) if share < n_labels else None
    return None if model.coupling in ("multiclass", "pairwise") else model.block_size


def check_settings(model: Any) -> None:
    check_choices(model, coupling=sorted(GRAPHS), normalize=("l2", None), dtype=("float32", "float64"))
    check_positive(model, "weight_variance", "bias_variance", "half_life", "tolerance")
    check_at_least(model, 0, "score_noise", "margin", "drift")
    check_at_least(model, 1, "max_sweeps", "hash_features", "window", "window_passes")
    check_at_least(model, LINE, "block_size")
    if model.block_size is not None and model.block_size % LINE:
        raise ValueError(f"block_size must be a multiple of {LINE}, got {model.block_size!r}")
    if model.label_prior is not None and (len(model.label_prior) != 2 or min(model.label_prior) < 0):
        raise ValueError(f"label_prior must be two counts, positives and negatives, got {model.label_prior!r}")
    if model.n_jobs == 0:
        raise ValueError("n_jobs must be a number of threads, or -1 for all cores, got 0")
    _check_flips(model)
    _check_links(model)


def parents_of(hierarchy: Any) -> tuple[int, ...] | None:
    """The column of each label's parent, from a `LabelTree` or as given."""
    if hierarchy is None:
        return None
    return tuple(int(parent) for parent in np.asarray(getattr(hierarchy, "parents", hierarchy)).ravel())


def tree_of(hierarchy: Any, n_columns: int) -> Tree:
    """For the compiled code: parents of this many columns, and an order in which they come first."""
    given = parents_of(hierarchy) or ()
    if n_columns == 0:
        given = ()
    if len(given) > n_columns:
        raise ValueError(f"hierarchy has {len(given)} labels, Y has {n_columns}: give one parent per column of Y")
    parents = np.full(n_columns, -1, dtype=np.int64)
    parents[: len(given)] = given
    return Tree(parents, np.argsort(_depths(parents), kind="stable"))


def _depths(parents: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """How many labels stand above each."""
    above, depth = parents, np.zeros_like(parents)
    for _ in range(parents.size + 1):
        has = above >= 0
        if not has.any():
            return depth
        depth += has
        above = np.where(has, parents[above], -1)
    raise ValueError(f"label {int(np.argmax(above >= 0))} of the hierarchy stands above itself: take one parent away")


def _check_links(model: Any) -> None:
    """Which settings go with a hierarchy, and with weights that move."""
    if model.hierarchy is not None:
        parents = np.array(parents_of(model.hierarchy), dtype=np.int64)
        if parents.size and not -1 <= parents.min() <= parents.max() < parents.size:
            raise ValueError(f"hierarchy must hold columns of parents below {parents.size}, or -1, got {parents.max()}")
        _depths(parents)
        if model.coupling not in ("global", "independent"):
            raise ValueError(f"hierarchy goes with coupling 'global' or 'independent', not {model.coupling!r}")
        if model.block_size is not None or model.flip_probability > 0:
            raise ValueError(
                f"hierarchy needs all labels in one block and answers that are right, got "
                f"block_size={model.block_size!r} and flip_probability={model.flip_probability!r}; leave them out"
            )
    if model.half_life is not None and (model.drift > 0 or model.window is not None):
        raise ValueError(
            f"half_life={model.half_life!r} forgets, drift={model.drift!r} and window={model.window!r} follow weights "
            "that move: set one or the other"
        )


def _check_flips(model: Any) -> None:
    """With a margin some scores allow neither answer; under a vague bias both sides of a factor weigh alike."""
    if not 0 <= model.flip_probability < 0.5:
        raise ValueError(f"flip_probability must be in [0, 0.5), got {model.flip_probability!r}")
    if model.flip_probability == 0:
        return
    if model.coupling not in ("global", "independent"):
        raise ValueError(f"flip_probability goes with coupling 'global' or 'independent', not {model.coupling!r}")
    if model.margin != 0 or bias_variance(model) > 100:
        raise ValueError(
            f"flip_probability > 0 learns nothing with margin={model.margin!r} and a bias variance of "
            f"{bias_variance(model):g}; set margin=0 and leave bias_variance at its default"
        )


def check_unchanged(model: Any, before: dict[str, Any]) -> None:
    """What shapes the weights stays as it was at the first row."""
    for name, value in before.items():
        if name == "hierarchy":
            now = parents_of(model.hierarchy)
            if (now is None) != (value is None) or (now or ())[: len(value or ())] != (value or ()):
                raise ValueError(f"hierarchy was {value!r} at the first row and is {now!r} now; call fit")
        elif getattr(model, name) != value:
            raise ValueError(f"{name} was {value!r} at the first row and is {getattr(model, name)!r} now; call fit")


def check_rows(coupling: str, Y: BoolArray, observed: BoolArray) -> None:
    if coupling == "pairwise" and Y.shape[1] > MOST_PAIRWISE_LABELS:
        raise ValueError(
            f"coupling='pairwise' compares all pairs and takes at most {MOST_PAIRWISE_LABELS} labels, "
            f"got {Y.shape[1]}; use coupling='global'"
        )
    if coupling == "multiclass":
        true = Y.sum(1)
        wrong = np.flatnonzero((true > 1) | ((true == 0) & observed.all(1)))
        if wrong.size:
            raise ValueError(
                f"coupling='multiclass' needs exactly one label per row, row {wrong[0]} has {true[wrong[0]]}; "
                "use coupling='global' for label sets"
            )


def check_sizes(model: Any, X: Any, *, learning: bool = False) -> None:
    """A table with 4 bytes per column finds the features, and the squares of unscaled values must not overflow."""
    if learning and model.hash_features is None and X.shape[1] > MOST_FEATURES:
        raise ValueError(
            f"X has {X.shape[1]:,} columns, and features are found by a table of at most {MOST_FEATURES:,}; "
            "fold them into fewer columns, with hash_features=2**22 for one"
        )
    values = X.data if sp.issparse(X) else X
    if model.normalize is not None or values.size == 0:
        return
    largest = max(float(values.max()), -float(values.min()))
    if largest > 1e-4 * math.sqrt(float(np.finfo(model.dtype).max) / max(model.weight_variance, 1.0)):
        raise ValueError(
            f"X holds a value of size {largest:.3g}, too large for weights in {model.dtype} with normalize=None; "
            "standardise the features, or use normalize='l2'"
        )
