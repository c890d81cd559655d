"""What models and strategies cost: how time grows with the size of a problem, and how much memory is held.

Time is a sum of terms, each a product of sizes; what a unit of a term costs is measured on the machine in question
(`plan_calibration`). Memory is counted in bytes from what the code holds at its peak, without the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

BLOCK = 4096  # items that are believed about at a time
DOUBLE, SINGLE = 8, 4  # bytes of a number
RANK = 500  # of the features in which information is computed, at most
CANDIDATES = 2**25  # bytes of the rows that the streamed engine holds while a walk brings in others
FACTOR_CHUNK = 2**21  # entries of weights that a sweep of a factor model holds
COMPONENTS = 20  # of a mixture, about
MOST = 10**18  # of anything
SAMPLE = 1000  # items that stand for the pool where what an answer takes from its variance is weighed


@dataclass(frozen=True)
class Workload:
    """The size of a campaign.

    Parameters
    ----------
    items, features, labels : of the pool
    budget : items that will have been answered at the end, which is where a round costs most
    nonzeros : of an item; by default all features
    batch : questions in a round

    Examples
    --------
    >>> Workload(items=1_000_000, features=500, labels=20, budget=2_000).width
    500
    """

    items: int
    features: int
    labels: int
    budget: int
    nonzeros: int | None = None
    batch: int = 100

    def __post_init__(self) -> None:
        for name in ("items", "features", "labels", "budget", "batch"):
            value = getattr(self, name)
            if not isinstance(value, int):
                raise ValueError(f"{name} must be a whole number, got {value!r}")
            if value < 1:
                raise ValueError(f"{name} must be at least 1, got {value!r}")
            if value > MOST:
                raise ValueError(f"{name} must be at most 10**18, got a number of {len(str(value))} digits")
        if self.nonzeros is not None and not 1 <= self.nonzeros <= self.features:
            raise ValueError(f"nonzeros must lie between 1 and features={self.features}, got {self.nonzeros!r}")
        if self.budget > self.items:
            raise ValueError(f"budget must be at most items={self.items}, got {self.budget!r}")

    @property
    def width(self) -> int:
        """Numbers that an item has."""
        return self.nonzeros or self.features

    @property
    def rank(self) -> int:
        return min(self.features, RANK)

    @property
    def item_bytes(self) -> int:
        """Of one item: 4 bytes for the place of each number where most are zero."""
        return self.width * (DOUBLE if self.nonzeros is None else DOUBLE + SINGLE)


Terms = tuple[Callable[[Workload], float], ...]


@dataclass(frozen=True)
class ModelCost:
    """How a model's costs grow: terms of a fit and of beliefs about the whole pool, and bytes of each."""

    fit: Terms
    believe: Terms
    fit_bytes: Callable[[Workload], float]
    believe_bytes: Callable[[Workload], float]
    splits: str = ""  # how a fit is shared by workers; empty where it stays on one machine


@dataclass(frozen=True)
class StrategyCost:
    """What a round of questions costs besides beliefs about the pool."""

    choose: Terms
    choose_bytes: Callable[[Workload], float]
    believes: bool = True  # whether it needs beliefs about every item
    models: tuple[str, ...] = ()  # those it works with; empty for all


def _one(w: Workload) -> float:
    return 1.0


def _kernel(w: Workload) -> float:
    return float(w.budget**2 * (w.width + w.labels))


def _cube(w: Workload) -> float:
    return float(w.budget**3)


def _search(rows: int) -> Callable[[Workload], float]:
    """Hyper-parameters are searched on at most so many rows."""
    return lambda w: float(min(w.budget, rows) ** 3)


def _answers(w: Workload) -> float:
    return float(w.budget * w.labels)


def _visits(w: Workload) -> float:
    return float(w.budget * w.width * w.labels)


def _pool_kernel(w: Workload) -> float:
    return float(w.items * w.budget * (w.width + w.labels))


def _pool_variance(w: Workload) -> float:
    return float(w.items * w.budget**2)


def _pool_linear(w: Workload) -> float:
    return float(w.items * w.width * w.labels)


def _pool_entries(w: Workload) -> float:
    return float(w.items * w.labels)


def _feature_cube(w: Workload) -> float:
    return float(min(w.features, w.budget) ** 2 * max(w.width, min(w.features, w.budget)))


def _sweeps(w: Workload) -> float:
    return float(w.budget * w.labels * min(w.labels, 100))


def _pool_gram(w: Workload) -> float:
    return float(w.items * w.rank**2)


def _picks(w: Workload) -> float:
    """Walks lower the bounds of rows by the picks that these have missed."""
    return float(w.batch * w.items * w.rank)


def _pool_sample(w: Workload) -> float:
    """Every item's covariance with the sample, given the items answered."""
    return float(w.items * min(w.items, SAMPLE) * (w.width + w.budget))


def _planned(w: Workload) -> float:
    """Items of a batch one after the other, of twice the sample."""
    return float(min(w.batch, SAMPLE // 2) * min(w.items, SAMPLE) ** 2)


def _beliefs(w: Workload, copies: int = 2, held: float = 0.0) -> float:
    """A block's rows, prepared in so many copies, what they become, and the probabilities of their labels."""
    block = min(w.items, BLOCK)
    return block * (copies * w.item_bytes + 3 * DOUBLE * w.labels + held) + DOUBLE * w.items


def _kernel_bytes(w: Workload, matrices: float) -> float:
    """So many kernel matrices of all rows, and three of those on which hyper-parameters are searched."""
    searched = min(w.budget, 1000)
    return DOUBLE * (matrices * w.budget**2 + 3 * searched**2) + 2 * w.budget * (w.item_bytes + 2 * DOUBLE * w.labels)


def _kernel_beliefs(w: Workload) -> float:
    return _beliefs(w, 1, DOUBLE * w.budget) + DOUBLE * w.budget**2


def _linear_bytes(w: Workload) -> float:
    """Logistic regressions of all labels together: rows, scores with their derivatives, directions of the search."""
    return 2 * w.budget * w.item_bytes + 12 * DOUBLE * w.budget * w.labels + 8 * DOUBLE * w.features * w.labels


def _pair_bytes(w: Workload) -> float:
    return 6 * DOUBLE * (BLOCK * w.labels + w.batch)


def _covariance_bytes(w: Workload) -> float:
    """A block's covariance with the sample, what the answered items take from it, and the plan of a batch."""
    block, sample = min(w.items, BLOCK) + SAMPLE, min(w.items, SAMPLE)
    return DOUBLE * (block * (3 * sample + 2 * w.budget + w.width) + 4 * (2 * sample) ** 2 + 6 * w.items)


MODELS: Mapping[str, ModelCost] = MappingProxyType(
    {
        "auto": ModelCost(  # both of label_gp and binary_relevance, and of thirds of at most 600 rows
            (_one, _search(1000), _kernel, _cube, _visits),
            (_one, _pool_kernel, _pool_variance, _pool_linear),
            lambda w: max(_kernel_bytes(w, 1), DOUBLE * w.budget**2 + _linear_bytes(w)) + w.budget * w.item_bytes,
            lambda w: _kernel_beliefs(w) + DOUBLE * w.features * w.labels,
        ),
        "label_gp": ModelCost(
            (_one, _search(1000), _kernel, _cube),
            (_one, _pool_kernel, _pool_variance),
            lambda w: _kernel_bytes(w, 1),
            _kernel_beliefs,
        ),
        "compressed_label_gp": ModelCost(
            (_one, _search(1000), _kernel, _cube),
            (_one, _pool_kernel, _pool_variance),
            lambda w: _kernel_bytes(w, 1),
            _kernel_beliefs,
        ),
        "orthogonal_target_gp": ModelCost(
            (_one, _search(600), _kernel, _cube),
            (_one, _pool_kernel, _pool_variance),
            lambda w: _kernel_bytes(w, 2),
            _kernel_beliefs,
        ),
        "label_mixture_gp": ModelCost(
            (_one, _kernel, _cube),
            (_one, _pool_kernel, _pool_variance),
            lambda w: _kernel_bytes(w, COMPONENTS),
            lambda w: _kernel_beliefs(w) + COMPONENTS * DOUBLE * w.budget**2,
        ),
        "binary_relevance": ModelCost(
            (_one, _answers, _visits),
            (_one, _pool_entries, _pool_linear),
            _linear_bytes,
            lambda w: _beliefs(w) + DOUBLE * w.features * w.labels,
        ),
        "online_bayes": ModelCost(
            (_one, _answers, _visits),
            (_one, _pool_entries, _pool_linear),
            lambda w: (
                2 * SINGLE * (w.features + 1) * w.labels
                + 2 * SINGLE * w.features
                + min(w.budget, BLOCK) * (4 * w.item_bytes + 3 * w.labels)
            ),
            lambda w: _beliefs(w, 4) + 2 * SINGLE * w.features * w.labels,
            splits="blocks of labels",
        ),
        "cooccurrence_factors": ModelCost(
            (_one, _answers, _sweeps, _feature_cube),
            (_one, _pool_entries, _pool_linear),
            lambda w: (
                6 * w.budget * w.labels
                + 2 * w.budget * w.item_bytes
                + 6 * DOUBLE * w.budget * min(w.labels, 100)
                + 4 * DOUBLE * min(w.budget * w.labels, FACTOR_CHUNK)
                + 3 * DOUBLE * min(w.features, w.budget) ** 2
            ),
            lambda w: _beliefs(w) + DOUBLE * w.features * min(w.labels, 100),
            splits="rows",
        ),
        "cooccurrence_transfer": ModelCost(
            (_one, _answers, _visits, _feature_cube),
            (_one, _pool_entries, _pool_linear),
            lambda w: (
                2 * w.budget * w.item_bytes
                + 12 * DOUBLE * w.budget * w.labels
                + 3 * DOUBLE * min(w.features, w.budget) ** 2
                + 3 * DOUBLE * w.labels**2
            ),
            lambda w: _beliefs(w, 3) + DOUBLE * w.features * w.labels,
        ),
    }
)
STRATEGIES: Mapping[str, StrategyCost] = MappingProxyType(
    {
        "random": StrategyCost((_one,), lambda w: 2 * DOUBLE * w.items, believes=False),
        "uncertainty": StrategyCost((_one, _pool_entries), lambda w: 4 * DOUBLE * (BLOCK * w.labels + w.batch)),
        "uncertainty_pairs": StrategyCost((_one, _pool_entries), _pair_bytes),
        "balanced_pairs": StrategyCost((_one, _pool_entries), _pair_bytes),
        "label_covariance": StrategyCost(
            (_one, _pool_kernel, _pool_variance, _pool_sample, _planned),
            _covariance_bytes,
            believes=False,  # what it needs of them is counted with the choice
            models=("auto", "label_gp"),  # of those with a covariance between items, the ones it was measured with
        ),
        "mutual_information": StrategyCost(
            (_one, _pool_gram, _picks),
            lambda w: (
                CANDIDATES
                + 6 * DOUBLE * w.items
                + 8 * DOUBLE * w.rank**2
                + 3 * min(w.items, BLOCK) * (w.item_bytes + DOUBLE * w.rank)
            ),
            believes=False,
            models=("label_gp", "compressed_label_gp"),  # they have a covariance between items
        ),
    }
)
PREFERRED = ("label_gp", "compressed_label_gp", "binary_relevance", "online_bayes")  # the best first that fits
