"""Sparse recovery of label vectors from their codes: by the paper's variational updates, corrected, and by pursuits.

Vasisht, Damianou, Varma & Kapoor (KDD 2014, section 4.1) print an update of α without the squared mean, under which
every label shrinks to zero, and no update of the mean. Both follow from the bound (6) and are used here. Equation
numbers are those of docs/mathematics/recovery.md. `fast_recovery` has the sequential form for many labels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import linprog

from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.numerics.recovery.label_codes import CompressedLabels, KnownLabels, explained_by_known

BLOCK_NUMBERS = 2**20  # numbers in one working array of a block of items: 8 MiB stay in cache
SMALL_TRIANGLE = 48  # below this, LAPACK on the whole triangle beats halving it

Form = Literal["auto", "compressed", "labels"]


@dataclass(frozen=True)
class SparsePrior:
    """yⱼ ~ N(0, 1/αⱼ) with αⱼ ~ Gamma(`shape`, `rate`) for every label of every item, equation (2).

    Examples
    --------
    >>> prior = SparsePrior(1e-3, 1e-3)
    >>> float(prior.precision(np.array(0.5))) == (1e-3 + 0.5) / (1e-3 + 0.25)
    True
    """

    shape: float = 1e-6
    rate: float = 1e-6

    def __post_init__(self) -> None:
        if self.shape <= 0 or self.rate <= 0:
            raise ValueError(f"shape and rate must be positive, got {self.shape!r} and {self.rate!r}")

    def precision(self, second_moment: FloatArray) -> FloatArray:
        """E[α] given E[y²] = μ² + Σⱼⱼ, equation (4)."""
        return (self.shape + 0.5) / (self.rate + 0.5 * second_moment)


PUBLISHED_PRIOR = SparsePrior()


@dataclass(frozen=True, eq=False)
class SparseRecovery:
    """A Gaussian belief about the labels of each item, and the prior precisions it was computed with.

    Known labels have their value as mean, variance 0 and infinite precision. `label_covariance` gives the full
    covariance of one item.
    """

    mean: FloatArray  # (n, q)
    variance: FloatArray  # (n, q), diagonal of Σ
    precision: FloatArray  # (n, q), α


def recover_vb(
    compressed: CompressedLabels,
    projection: FloatArray,
    *,
    known: KnownLabels | None = None,
    prior: SparsePrior = PUBLISHED_PRIOR,
    n_iterations: int = 12,
    form: Form = "auto",
) -> SparseRecovery:
    """Sparse label vectors from their codes by variational updates of y and α, equations (3) and (4).

    Parameters
    ----------
    compressed : CompressedLabels
        Codes of labels that are not centred: sparse is y, not y − ȳ. Add Φ ȳ to the mean of a centred regression.
    projection : (k, q) array
    known : KnownLabels, optional
        Labels that are clamped at their value.
    n_iterations : int
        From α = 1. More than 12 to 30 do not help ranking: α of an absent label grows only like the iteration.
        One is ridge regression.
    form : "auto", "compressed" or "labels"
        Solve k × k systems (3b), or systems over the unknown labels (3a); by default the smaller ones.

    Examples
    --------
    >>> codes = CompressedLabels(np.array([[1.0, 0.1]]), np.array([0.01]))
    >>> recover_vb(codes, np.eye(2), n_iterations=30).mean.round(2)
    array([[0.99, 0.01]])
    """
    return _iterate(compressed, projection, known, prior, n_iterations, form)


def recover_mean_field(
    regression_mean: FloatArray,
    projection: FloatArray,
    *,
    regression_noise: float,
    compression_noise: float,
    known: KnownLabels | None = None,
    prior: SparsePrior = PUBLISHED_PRIOR,
    n_iterations: int = 12,
) -> SparseRecovery:
    """The older inference (BML-CS; Kapoor, Viswanathan & Jain, NIPS 2012), factorised over codes and labels: (10).

    `regression_mean` (n, k) is the regression's mean with both noises, σ² and χ², in its kernel. At equal α the means
    are those of (3) with v = σ² + χ². The covariance sees χ² alone, so it is too small and knows nothing of how sure
    the regression is of an item.
    """
    if regression_noise <= 0 or compression_noise <= 0:
        raise ValueError(f"both noises must be positive, got {regression_noise!r} and {compression_noise!r}")
    trust = compression_noise / (regression_noise + compression_noise)  # in the regression, against Φ μ
    compressed = CompressedLabels(regression_mean, np.full(regression_mean.shape[0], compression_noise))
    return _iterate(compressed, projection, known, prior, n_iterations, "auto", trust)


def _iterate(
    compressed: CompressedLabels,
    projection: FloatArray,
    known: KnownLabels | None,
    prior: SparsePrior,
    n_iterations: int,
    form: Form,
    trust: float = 1.0,
) -> SparseRecovery:
    """Updates of y and α in turn; with `trust` below 1 the codes, too, move towards those of the labels."""
    if n_iterations < 1:
        raise ValueError(f"n_iterations must be at least 1, got {n_iterations!r}")
    explained, free = explained_by_known(compressed.mean, projection, known)
    step = _gaussian_step(projection, free, form)
    blocks = []
    for rows in _blocks(compressed.mean.shape[0], projection):
        codes = compressed.mean[rows]  # (b, k), E[z]
        next_variance = free[rows].astype(np.float64)  # (b, q): 1/α
        for _ in range(n_iterations):
            prior_variance = next_variance
            mean, variance = step(codes - explained[rows], compressed.variance[rows], prior_variance)
            next_variance = free[rows] / prior.precision(mean**2 + variance)
            if trust < 1:
                from_labels = mean @ projection.T + explained[rows]  # (b, k)
                codes = trust * compressed.mean[rows] + (1 - trust) * from_labels
        blocks.append((mean, variance, prior_variance))
    mean, variance, prior_variance = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    with np.errstate(divide="ignore"):
        precision = 1.0 / prior_variance
    return SparseRecovery(mean if known is None else mean + known.values(), variance, precision)


def label_covariance(projection: FloatArray, noise: float, precision: FloatArray) -> FloatArray:
    """Σ (q, q) of one item by (3b), from its noise v and its row of `SparseRecovery.precision`.

    Rows and columns of known labels (infinite precision) are 0.
    """
    scaled = projection / np.sqrt(precision)  # (k, q)
    G = scaled @ scaled.T + noise * np.eye(projection.shape[0])  # (k, k)
    T = _solve_lower(np.linalg.cholesky(G)[None], scaled[None].copy())[0] / np.sqrt(precision)
    return np.diag(1.0 / precision) - T.T @ T


class _Belief(NamedTuple):
    mean: FloatArray  # (b, q), 0 for known labels
    variance: FloatArray  # (b, q)


def _blocks(n: int, projection: FloatArray) -> Iterator[slice]:
    """Slices of items whose (b, k, q) working array stays small."""
    size = max(1, BLOCK_NUMBERS // projection.size)
    return (slice(start, start + size) for start in range(0, max(n, 1), size))  # no items: one empty block


def _gaussian_step(
    projection: FloatArray, free: BoolArray, form: Form
) -> Callable[[FloatArray, FloatArray, FloatArray], _Belief]:
    """The update (3) of all labels of a block of items, in the form with the smaller systems."""
    if form not in ("auto", "compressed", "labels"):
        raise ValueError(f"form must be 'auto', 'compressed' or 'labels', got {form!r}")
    largest = int(free.sum(1).max(initial=0))
    if form == "compressed" or (form == "auto" and largest > projection.shape[0]):
        return partial(_compressed_form, projection)
    return partial(_label_form, projection, projection.T @ projection)


def _compressed_form(
    projection: FloatArray, target: FloatArray, noise: FloatArray, prior_variance: FloatArray
) -> _Belief:
    """(3b): k × k systems; a prior variance of 0 clamps a label."""
    k = projection.shape[0]
    spread = np.sqrt(prior_variance)  # (b, q)
    W = projection * spread[:, None, :]  # (b, k, q)
    G = W @ W.swapaxes(1, 2)  # (b, k, k)
    G[:, np.arange(k), np.arange(k)] += noise[:, None]
    L = np.linalg.cholesky(G)
    whitened = _solve_lower(L, target[:, :, None].copy())  # (b, k, 1)
    T = _solve_lower(L, W)  # (b, k, q), in the place of W
    mean = spread * (whitened.swapaxes(1, 2) @ T)[:, 0]
    variance = prior_variance * np.maximum(1.0 - np.einsum("bkq,bkq->bq", T, T), 0.0)
    return _Belief(mean, variance)


def _label_form(
    projection: FloatArray, gram: FloatArray, target: FloatArray, noise: FloatArray, prior_variance: FloatArray
) -> _Belief:
    """(3a): systems over the unknown labels of each item, packed to the width of the item that has most."""
    free = prior_variance > 0
    width = int(free.sum(1).max(initial=0))
    packed = np.argsort(~free, axis=1, kind="stable")[:, :width]  # (b, w), padded with known labels: variance 0
    spread = np.sqrt(np.take_along_axis(prior_variance, packed, 1))  # (b, w)
    B = gram[packed[:, :, None], packed[:, None, :]]  # (b, w, w)
    B *= spread[:, :, None] * (spread / noise[:, None])[:, None, :]
    B[:, np.arange(width), np.arange(width)] += 1.0  # I + √g ΦᵀΦ √g / v: never worse conditioned than Σ
    L = np.linalg.cholesky(B)
    pull = spread * np.take_along_axis(target @ projection, packed, 1) / noise[:, None]  # (b, w)
    T = _solve_lower(L, np.broadcast_to(np.eye(width), B.shape).copy())  # (b, w, w)
    packed_mean = spread * (T.swapaxes(1, 2) @ (T @ pull[:, :, None]))[:, :, 0]
    mean, variance = np.zeros_like(prior_variance), np.zeros_like(prior_variance)
    np.put_along_axis(mean, packed, packed_mean, 1)
    np.put_along_axis(variance, packed, spread**2 * np.einsum("bij,bij->bj", T, T), 1)
    return _Belief(mean, variance)


def _solve_lower(L: FloatArray, B: FloatArray) -> FloatArray:
    """L⁻¹ B for a batch of lower triangles, in the place of B, by halving: numpy has no batched triangular solve."""
    k = L.shape[-1]
    if k <= SMALL_TRIANGLE:
        B[...] = np.linalg.solve(L, B)
        return B
    middle = k // 2
    top, bottom = B[:, :middle], B[:, middle:]
    _solve_lower(L[:, :middle, :middle], top)
    bottom -= L[:, middle:, :middle] @ top
    _solve_lower(L[:, middle:, middle:], bottom)
    return B


# -- without a belief: greedy choice of labels, convex programmes -----------------------------------------------------


RIDGE = 1e-9  # keeps the refit solvable when labels of the support have nearly the same code
COSAMP_ROUNDS = 15

PENALTY = 0.02  # η, price of a label
LASSO_ROUNDS = 60
MISFIT_PRICE = 20.0  # of a unit of code that the labels of the linear programme do not explain


def recover_omp(codes: FloatArray, projection: FloatArray, n_labels: int) -> FloatArray:
    """(n, q) scores by orthogonal matching pursuit: `n_labels` picks per item, the first scores highest, (24).

    Each pick has the largest correlation with what is left of the code; all picks are then refitted by least squares.

    >>> recover_omp(np.array([[0.0, 2.0, 1.0]]), np.eye(3), 2)
    array([[0., 2., 1.]])
    """
    n_labels = _checked(n_labels, projection)
    gram, target = projection.T @ projection, codes @ projection  # (q, q), (n, q)
    lengths = np.sqrt(np.maximum(gram.diagonal(), np.finfo(float).tiny))
    rows = np.arange(codes.shape[0])
    chosen = np.zeros((rows.size, n_labels), dtype=np.intp)
    scores = np.zeros_like(target)
    left = target.copy()
    taken = np.zeros(target.shape, dtype=bool)
    for step in range(n_labels):
        picks = np.argmax(np.where(taken, -np.inf, left / lengths), axis=1)
        chosen[:, step], taken[rows, picks] = picks, True
        scores[rows, picks] = n_labels - step
        support = chosen[:, : step + 1]
        weights = _refit(gram, target, support)  # (n, step + 1)
        left = target - np.einsum("ns,nsq->nq", weights, gram[support])
    return scores


def recover_binary_pursuit(codes: FloatArray, projection: FloatArray, n_labels: int) -> FloatArray:
    """(n, q) scores by matching pursuit with labels of weight 1: the pick lowers |r − Φ y|² most, and is subtracted.

    Good on exact codes, poor on predicted ones.
    """
    n_labels = _checked(n_labels, projection)
    gram, left = projection.T @ projection, codes @ projection
    rows, scores = np.arange(codes.shape[0]), np.zeros((codes.shape[0], projection.shape[1]))
    for step in range(n_labels):
        gain = np.where(scores > 0, -np.inf, left - 0.5 * gram.diagonal())
        picks = np.argmax(gain, axis=1)
        scores[rows, picks] = n_labels - step
        left = left - gram[picks]
    return scores


def recover_cosamp(codes: FloatArray, projection: FloatArray, n_labels: int) -> FloatArray:
    """(n, q) weights by CoSaMP (Needell & Tropp 2009): 2κ candidates join the support, the κ largest stay, (25).

    An item is done when its residual no longer falls; its best support counts.
    """
    n_labels = _checked(n_labels, projection)
    gram, target = projection.T @ projection, codes @ projection
    n, q = target.shape
    best, best_error = np.zeros((n, q)), np.full(n, np.inf)
    active, weights = np.arange(n), np.zeros((n, q))
    for _ in range(COSAMP_ROUNDS):
        left = target[active] - weights[active] @ gram
        candidates = _largest(np.abs(left), min(2 * n_labels, q))
        merged = candidates | (weights[active] > 0)
        fitted = np.maximum(_fit_on(gram, target[active], merged), 0.0)
        kept = _largest(fitted, n_labels)
        fresh = np.maximum(_fit_on(gram, target[active], kept), 0.0)  # (a, q)
        error = np.einsum("nq,nq->n", fresh @ gram - 2 * target[active], fresh)  # |r − Φ y|² − |r|²
        better = error < best_error[active] - 1e-12
        best[active[better]], best_error[active[better]] = fresh[better], error[better]
        weights[active] = fresh
        active = active[better]
        if active.size == 0:
            break
    return best


def _refit(gram: FloatArray, target: FloatArray, support: IntArray) -> FloatArray:
    """(n, s) least squares on each item's own support."""
    blocks = gram[support[:, :, None], support[:, None, :]]  # (n, s, s)
    blocks[:, np.arange(support.shape[1]), np.arange(support.shape[1])] += RIDGE
    return np.linalg.solve(blocks, np.take_along_axis(target, support, 1)[:, :, None])[:, :, 0]


def _fit_on(gram: FloatArray, target: FloatArray, mask: npt.NDArray[np.bool_]) -> FloatArray:
    """(n, q) least squares on the labels of each item's mask, 0 elsewhere; masks packed to a common width."""
    width = max(1, int(mask.sum(axis=1).max(initial=1)))
    packed = np.argsort(~mask, axis=1, kind="stable")[:, :width]  # (n, w)
    real = np.take_along_axis(mask, packed, 1)
    blocks = gram[packed[:, :, None], packed[:, None, :]] * (real[:, :, None] & real[:, None, :])
    blocks[:, np.arange(width), np.arange(width)] += np.where(real, RIDGE, 1.0)
    right = np.where(real, np.take_along_axis(target, packed, 1), 0.0)
    fitted = np.linalg.solve(blocks, right[:, :, None])[:, :, 0]
    result = np.zeros(target.shape)
    np.put_along_axis(result, packed, np.where(real, fitted, 0.0), 1)
    return result


def _largest(values: FloatArray, count: int) -> Any:
    """(n, q) mask of each row's `count` largest values, ties to the lower label."""
    falling = np.argsort(-values, axis=1, kind="stable")[:, :count]
    mask = np.zeros(values.shape, dtype=bool)
    np.put_along_axis(mask, falling, True, 1)
    return mask


def _checked(n_labels: int, projection: FloatArray) -> int:
    if n_labels < 1:
        raise ValueError(f"at least one label has to be picked, got {n_labels!r}")
    return min(n_labels, projection.shape[1])


def recover_box_lasso(
    codes: FloatArray,
    projection: FloatArray,
    *,
    penalty: float = PENALTY,
    rounds: int = LASSO_ROUNDS,
    fixed: tuple[FloatArray, BoolArray] | None = None,
) -> FloatArray:
    """(n, q) of min ½ |r − Φ y|² + η Σ y over 0 ≤ y ≤ 1, all items at once by FISTA (Beck & Teboulle 2009), (22).

    Parameters
    ----------
    codes : (n, c) array
        r, of labels that are not centred.
    projection : (c, q) array
    fixed : (n, q) values and mask, optional
        Labels that are held at their values.

    Examples
    --------
    >>> recover_box_lasso(np.array([[0.5, 3.0, -1.0]]), np.eye(3), penalty=0.1)
    array([[0.4, 1. , 0. ]])
    """
    gram = projection.T @ projection  # (q, q)
    step = 1 / max(float(np.linalg.eigvalsh(gram)[-1]), np.finfo(float).tiny)
    pull = step * (codes @ projection - penalty)  # (n, q)
    damped = np.eye(gram.shape[0]) - step * gram
    low, high = (0.0, 1.0) if fixed is None else (np.where(fixed[1], fixed[0], 0.0), np.where(fixed[1], fixed[0], 1.0))
    y = np.clip(np.zeros_like(pull), low, high)
    z, momentum = y, 1.0
    for _ in range(rounds):
        following = z @ damped
        following += pull
        np.clip(following, low, high, out=following)
        grown = 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
        z = following + (momentum - 1) / grown * (following - y)
        y, momentum = following, grown
    return y


def recover_basis_pursuit(
    codes: FloatArray, projection: FloatArray, *, misfit_price: float = MISFIT_PRICE
) -> FloatArray:
    """(n, q) of min Σ y + price · |r − Φ y|₁ over y ≥ 0, one linear programme per item (HiGHS), (23).

    With exact codes of few enough labels it recovers them exactly.

    >>> recover_basis_pursuit(np.array([[1.0, 1.0]]), np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])).round(6) + 0.0
    array([[1., 0., 0.]])
    """
    c, q = projection.shape
    cost = np.concatenate([np.ones(q), np.full(2 * c, misfit_price)])
    constraints = sp.hstack([sp.csr_array(projection), sp.eye_array(c), -sp.eye_array(c)], format="csr")
    result = np.zeros((codes.shape[0], q))
    for row, r in enumerate(codes):
        optimum = linprog(cost, A_eq=constraints, b_eq=r, bounds=(0, None), method="highs")
        if optimum.x is not None:
            result[row] = optimum.x[:q]
    return result
