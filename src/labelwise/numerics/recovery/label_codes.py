"""Codes for label vectors, z = Φ (y − ȳ), and the directions of a cloud of codes that stand out of its noise.

Every projection Φ is a (k, q) array, so that any other code of the same shape may be used in its place. Equation
numbers are those of docs/mathematics/recovery.md, for Bayesian PCA those of docs/mathematics/orthogonal_target_gp.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, minimize_scalar
from scipy.special import gammaln, psi

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.counter_random import standard_normals

RANK_TOLERANCE = 1e-10  # eigen- and singular values below this share of the largest are rounding, not directions


@dataclass(frozen=True, eq=False)
class CompressedLabels:
    """What a regression believes about the codes of n items: Φ yᵢ ~ N(`mean`ᵢ, `variance`ᵢ I), equation (1).

    One variance serves all k dimensions of an item, and it includes the noise of the regression.

    Examples
    --------
    >>> CompressedLabels(np.zeros((2, 3)), np.array([0.1, 0.0]))
    Traceback (most recent call last):
    ...
    ValueError: variance must be positive for every item, got 0.0 at item 1
    """

    mean: FloatArray  # (n, k)
    variance: FloatArray  # (n,), positive

    def __post_init__(self) -> None:
        if self.mean.ndim != 2 or self.variance.shape != self.mean.shape[:1]:
            raise ValueError(
                f"mean must be (items, dimensions) with one variance per item, got {self.mean.shape} and "
                f"{self.variance.shape}"
            )
        wrong = np.flatnonzero(~(self.variance > 0))
        if wrong.size:
            raise ValueError(
                f"variance must be positive for every item, got {float(self.variance[wrong[0]])} at item {wrong[0]}"
            )


@dataclass(frozen=True, eq=False)
class KnownLabels:
    """The labels of n items that are already known: `labels` counts only where `observed` is True.

    Examples
    --------
    >>> known = KnownLabels(np.array([[1, 1, 0]]), np.array([[True, False, True]]))
    >>> known.values()
    array([[1., 0., 0.]])
    """

    labels: npt.NDArray[Any]  # (n, q)
    observed: BoolArray  # (n, q)

    def __post_init__(self) -> None:
        if self.labels.shape != self.observed.shape or self.observed.dtype != bool:
            raise ValueError(
                f"labels and a boolean mask of the same shape are needed, got {self.labels.shape} and "
                f"{self.observed.shape} of {self.observed.dtype}"
            )

    def values(self) -> FloatArray:
        """(n, q) labels as numbers, 0 where they are not known."""
        return np.where(self.observed, self.labels, 0).astype(np.float64)


def gaussian_projection(n_compressed: int, n_labels: int, rng: np.random.Generator) -> FloatArray:
    """Random Φ (k, q) with independent entries N(0, 1/k), so that every column has unit length on average.

    The paper leaves the scale open; the noise the evidence chooses follows it, so only this convention is needed
    for E[ΦᵀΦ] = I.
    """
    _check_sizes(n_compressed, n_labels)
    return rng.standard_normal((n_compressed, n_labels)) / np.sqrt(n_compressed)


def orthogonal_projection(n_compressed: int, n_labels: int, rng: np.random.Generator) -> FloatArray:
    """Random Φ (k, q) with orthonormal rows, uniform over all such (the QR factor of a Gaussian matrix).

    >>> Phi = orthogonal_projection(2, 5, np.random.default_rng(0))
    >>> np.allclose(Phi @ Phi.T, np.eye(2))
    True
    """
    _check_sizes(n_compressed, n_labels)
    if n_compressed > n_labels:
        raise ValueError(f"at most n_labels = {n_labels} orthonormal rows exist, got n_compressed = {n_compressed}")
    basis, R = np.linalg.qr(rng.standard_normal((n_labels, n_compressed)))
    return (basis * np.where(np.diag(R) < 0, -1.0, 1.0)).T  # QR fixes the signs by its own rule: undo it


def addressed_projection(
    n_compressed: int, n_labels: int, seed: int, kind: Literal["gaussian", "rademacher"] = "gaussian"
) -> FloatArray:
    """Random Φ (k, q) whose column j depends on the seed and j alone: a label added later leaves the others' codes.

    Entries are N(0, 1/k), or ±1/√k where `kind` is "rademacher".

    >>> np.array_equal(addressed_projection(3, 5, seed=1)[:, :4], addressed_projection(3, 4, seed=1))
    True
    """
    _check_sizes(n_compressed, n_labels)
    normal = standard_normals(np.arange(n_labels), n_compressed, seed=seed, sample=0, kind=0).astype(np.float64)
    entries = np.where(normal < 0, -1.0, 1.0) if kind == "rademacher" else normal
    return entries.T / np.sqrt(n_compressed)


def given_projection(projection: Any, n_labels: int) -> FloatArray:
    """A user's own Φ (k, q), checked."""
    Phi: FloatArray = np.asarray(projection, dtype=np.float64)
    if Phi.ndim != 2 or Phi.shape[1] != n_labels or Phi.shape[0] == 0 or not np.isfinite(Phi).all():
        raise ValueError(f"projection must be a finite (k, {n_labels}) array, one column per label, got {Phi.shape}")
    return Phi


def identity_projection(n_labels: int) -> FloatArray:
    """Φ = I: every label is its own dimension."""
    _check_sizes(n_labels, n_labels)
    return np.eye(n_labels)


def pca_projection(
    centred_labels: FloatArray, *, n_compressed: int | None = None, variance_share: float = 0.95
) -> FloatArray:
    """Φ (k, q) whose rows are the leading eigenvectors of the label covariance (PLST; Tai & Lin 2012), equation (15).

    k is `n_compressed`, or the fewest that hold `variance_share` of the variance; it is cut to the rank (at most
    n − 1), and is at least 1. The smaller of the n × n and q × q products of `centred_labels` is formed, never both.

    Parameters
    ----------
    centred_labels : (n, q) array
        From `centre_labels`.

    Examples
    --------
    >>> Y = np.array([[1, 1, 0], [0, 0, 0], [1, 1, 0], [0, 0, 1]])
    >>> pca_projection(centre_labels(Y, observed_means(Y)), n_compressed=1).round(2)
    array([[ 0.64,  0.64, -0.41]])
    """
    n, q = centred_labels.shape
    if n_compressed is not None:
        _check_sizes(n_compressed, q)
    if not 0 < variance_share <= 1:
        raise ValueError(f"variance_share must lie in (0, 1], got {variance_share!r}")
    wide = n < q
    product = centred_labels @ centred_labels.T if wide else centred_labels.T @ centred_labels
    rising, vectors = np.linalg.eigh(product)
    eigenvalues = rising[::-1]
    rank = int((eigenvalues > RANK_TOLERANCE * max(float(eigenvalues[0]), np.finfo(float).tiny)).sum())
    if rank == 0:
        return np.eye(1, q)  # all rows are equal: any direction holds all of the variance, which is none
    if n_compressed is None:
        share = np.cumsum(eigenvalues[:rank]) / eigenvalues[:rank].sum()
        n_compressed = int(np.searchsorted(share, variance_share - RANK_TOLERANCE)) + 1
    basis = vectors[:, ::-1][:, : min(n_compressed, rank)]  # (n or q, k)
    if wide:  # right singular vectors; QR, as dividing by small singular values costs them their right angles
        basis = np.linalg.qr(centred_labels.T @ basis).Q
    return with_fixed_signs(basis.T)


def observed_means(labels: npt.NDArray[Any], observed: BoolArray | None = None) -> FloatArray:
    """(q,) share of positives among the observed entries of each label, 0 where none is observed.

    >>> observed_means(np.array([[1, 0], [0, 1]]), np.array([[True, False], [True, True]]))
    array([0.5, 1. ])
    """
    if observed is None:
        return labels.mean(axis=0, dtype=np.float64)
    positives = np.where(observed, labels, 0).sum(axis=0, dtype=np.float64)
    return positives / np.maximum(observed.sum(axis=0), 1)


def centre_labels(labels: npt.NDArray[Any], label_mean: FloatArray, observed: BoolArray | None = None) -> FloatArray:
    """(n, q) y − ȳ, and 0 where the label is not observed."""
    centred = labels - label_mean
    return centred if observed is None else np.where(observed, centred, 0.0)


def encode(labels: npt.NDArray[Any], projection: FloatArray, label_mean: FloatArray | None = None) -> FloatArray:
    """Codes Z = (Y − ȳ) Φᵀ (n, k) of complete rows, equation (1).

    Every code mixes all labels of its row, so one unknown label spoils it: fill incomplete rows first, for instance
    by `labelwise.numerics.recovery.row_completion.complete_rows`.
    """
    codes = labels @ projection.T
    return codes if label_mean is None else codes - projection @ label_mean


def back_project(codes: FloatArray, projection: FloatArray, label_mean: FloatArray | None = None) -> FloatArray:
    """ȳ + Z Φ (n, q): the inverse of `encode` on the span of orthonormal rows, and a crude score for any other Φ."""
    labels = codes @ projection
    return labels if label_mean is None else labels + label_mean


def explained_by_known(
    codes: FloatArray, projection: FloatArray, known: KnownLabels | None
) -> tuple[FloatArray, BoolArray]:
    """Φ_O y_O (n, k), what the known labels explain of the codes, and the mask of labels that are not known."""
    n, q = codes.shape[0], projection.shape[1]
    if projection.shape[0] != codes.shape[1]:
        raise ValueError(f"codes have {codes.shape[1]} dimensions, but the projection has {projection.shape[0]}")
    if known is None:
        return np.zeros_like(codes, dtype=np.float64), np.ones((n, q), dtype=bool)
    if known.observed.shape != (n, q):
        raise ValueError(f"known labels have shape {known.observed.shape}, expected (items, labels) = {(n, q)}")
    return known.values() @ projection.T, ~known.observed


def with_fixed_signs(rows: FloatArray) -> FloatArray:
    """Make the entry of largest size in each row positive, so that equal inputs give equal codes everywhere."""
    largest = np.abs(rows).argmax(axis=1)
    return rows * np.where(rows[np.arange(rows.shape[0]), largest] < 0, -1.0, 1.0)[:, None]


def _check_sizes(n_compressed: int, n_labels: int) -> None:
    if n_compressed < 1 or n_labels < 1:
        raise ValueError(f"at least one label and one dimension are needed, got q = {n_labels}, k = {n_compressed}")


# -- Bayesian PCA: how many directions of a cloud of codes stand out of its noise, and which --------------------------


# Three ways to the same record: plain PCA with a given number of directions, the global optimum of the factorised
# model in closed form, and the iterated variational form with a precision per direction.


SHAPE = RATE = MEAN_PRECISION = 1e-3  # a₀, b₀ of the Gamma priors and b_μ: hardly any opinion
GRID = 60  # noise variances tried before the one-dimensional search; the objective has kinks
LEAST_ROUNDS = 50  # of the iterated form, however little the bound moves


@dataclass(frozen=True, eq=False)
class Directions:
    """Orthonormal directions of codes, the variance of the codes along each, and the noise around them."""

    centre: FloatArray  # (c,)
    basis: FloatArray  # (c, k), orthonormal columns, the largest variance first
    variances: FloatArray  # (k,) λ, positive
    noise: float

    def targets(self, codes: FloatArray) -> FloatArray:
        """U (n, k): coordinates along the directions in units of their spread, equation (5)."""
        return (codes - self.centre) @ (self.basis / np.sqrt(self.variances))

    def codes(self, targets: FloatArray) -> FloatArray:
        """(n, c) the codes of targets, back: what lies off the directions is lost."""
        return targets @ (self.basis * np.sqrt(self.variances)).T + self.centre


def plain_pca(codes: FloatArray, n_directions: int | None = None) -> Directions:
    """The leading `n_directions` of PCA, all of them by default, at most the rank.

    >>> found = plain_pca(np.array([[3.0, 0.0], [-3.0, 0.0], [0.0, 1.0], [0.0, -1.0]]), 1)
    >>> np.abs(found.basis.ravel()), found.variances
    (array([1., 0.]), array([4.5]))
    """
    if n_directions is not None and n_directions < 1:
        raise ValueError(f"n_directions must be at least 1, got {n_directions!r}")
    centre, gamma, V = _singular(codes)
    rank = _rank(gamma)
    k = rank if n_directions is None else min(n_directions, rank)
    return _leading(codes, (centre, gamma, V), k)


def empirical_pca(codes: FloatArray) -> Directions:
    """The number of directions and the noise that maximise the free energy, in closed form, equations (9) to (12).

    The factorised variational posterior with empirical Bayes scales has its global optimum at a threshold on singular
    values. Nakajima, Sugiyama, Babacan & Tomioka, Global analytic solution of fully-observed variational Bayesian
    matrix factorization, JMLR 2013. The last singular value is left out of the search, for centring costs one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> R = rng.standard_normal((300, 3)) @ rng.standard_normal((3, 20)) + 0.3 * rng.standard_normal((300, 20))
    >>> found = empirical_pca(R)
    >>> found.variances.size, round(found.noise, 2)
    (3, 0.09)
    """
    centre, gamma, V = _singular(codes)
    n, c = codes.shape
    L, M = min(n, c), max(n, c)
    ratio = L / M
    x_star = detection_threshold(ratio)[1]
    squares = gamma[: max(L - 1, 1)] ** 2 / M  # (h,)
    total = float(squares.sum())
    if total <= 0 or squares.size < 2:
        return _leading(codes, (centre, gamma, V), 1)

    def energy(log_noise: float) -> float:
        return _free_energy(squares / np.exp(log_noise), ratio, x_star)

    high = np.log(total / squares.size * 1.001)
    low = min(np.log(max(float(squares[-1]) / x_star, 1e-12 * total)), high - 1e-6)
    grid = np.linspace(low, high, GRID)
    best = int(np.argmin([energy(x) for x in grid]))
    bounds = grid[max(best - 1, 0)], grid[min(best + 1, GRID - 1)]
    minimum = minimize_scalar(energy, bounds=bounds, method="bounded", options={"xatol": 1e-10})
    noise = float(np.exp(minimum.x))
    k = int((squares > noise * x_star).sum())
    return _leading(codes, (centre, gamma, V), min(max(1, k), _rank(gamma)), noise)


def detection_threshold(ratio: float) -> tuple[float, float]:
    """t* and x* of equation (9): a direction counts when γ² > M σ² x*, with L / M = `ratio` ≤ 1.

    >>> [round(x, 4) for x in detection_threshold(1.0)]
    [2.5129, 4.9108]
    """

    def phi(z: float) -> float:
        return np.log1p(z) / z - 0.5

    t = float(brentq(lambda t: phi(t) + phi(t / ratio), 1e-9, 10.0, xtol=1e-14))
    return t, (1 + t) * (1 + ratio / t)


def _free_energy(x: FloatArray, ratio: float, x_star: float) -> float:
    """The part of −2 × the free energy that depends on the noise, over M; x = γ²/(M σ²), equation (11)."""
    kept = x > x_star
    b = x[kept] - (1 + ratio)
    t = 0.5 * (b + np.sqrt(np.maximum(b * b - 4 * ratio, 0.0)))
    gain = np.log1p(t) + ratio * np.log1p(t / ratio) - t
    return float((x - np.log(x)).sum() + gain.sum())


@dataclass(frozen=True, eq=False)
class VariationalPCA:
    """What the iterated form ends in: its directions, the variational bound per round, and the rounds taken."""

    directions: Directions
    bounds: FloatArray  # (rounds,), comparable only between rounds with the same number of directions
    n_directions: npt.NDArray[np.intp]  # (rounds,)


def variational_pca(
    codes: FloatArray, *, prune: float = 1e-6, tolerance: float = 1e-6, max_rounds: int = 500
) -> VariationalPCA:
    """Mean-field updates with a precision per direction; directions whose precision runs away are pruned, (7), (8).

    Bishop, Variational principal components, ICANN 1999. It does not return orthogonal columns: an SVD of the mean of
    W does, at the end.

    Parameters
    ----------
    codes : (n, c) array
    prune : float
        A direction is dropped when |w|² falls below this share of the largest; 0 keeps all, and then the bound rises.
    tolerance : float
        Relative change of the bound that ends the rounds, though not before LEAST_ROUNDS of them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> R = rng.standard_normal((200, 2)) @ rng.standard_normal((2, 8)) + 0.1 * rng.standard_normal((200, 8))
    >>> variational_pca(R, prune=1e-2).directions.variances.size
    2
    """
    state = _Variational.start(codes)
    bounds, sizes = [-np.inf], []
    for step in range(max_rounds):
        state.update()
        if prune > 0:
            state.prune(prune)
        bounds.append(state.bound())
        sizes.append(state.W.shape[1])
        settled = abs(bounds[-1] - bounds[-2]) <= tolerance * abs(bounds[-1])
        if step + 1 >= LEAST_ROUNDS and settled and sizes[-1] == sizes[-2]:
            break
    E, _, _ = np.linalg.svd(state.W, full_matrices=False)  # (c, k)
    along = ((codes - state.mu) @ E).var(axis=0)
    order = np.argsort(-along, kind="stable")
    directions = Directions(state.mu, with_fixed_signs(E[:, order].T).T, np.maximum(along[order], 1e-12), 1 / state.tau)
    return VariationalPCA(directions, np.array(bounds[1:]), np.array(sizes))


class _Variational:
    """The factors of the variational posterior, updated in place round by round; letters are those of (7)."""

    def __init__(self, R: FloatArray, W: FloatArray, tau: float) -> None:
        n, c = R.shape
        self.R, self.W, self.tau = R, W, tau
        self.S_W = 1e-6 * np.eye(W.shape[1])
        self.alpha = c / np.maximum((W**2).sum(axis=0), 1e-12)
        self.mu, self.s_mu = R.mean(axis=0), 1 / (MEAN_PRECISION + n * tau)
        self.U, self.S_U = np.zeros((n, W.shape[1])), np.eye(W.shape[1])
        self.omega = np.zeros(W.shape[1])
        self.err = 0.0

    @classmethod
    def start(cls, R: FloatArray) -> _Variational:
        n, c = R.shape
        _, gamma, V = _singular(R)
        eigenvalues = np.zeros(c)
        eigenvalues[: gamma.size] = gamma**2 / n
        k = max(1, min(c, n) - 1)
        left_over = eigenvalues[k:].mean() if k < c else 0.0
        noise = max(float(left_over), 1e-3 * float(eigenvalues.mean()), 1e-12)
        spread = np.sqrt(np.maximum(eigenvalues[:k] - noise, max(1e-3 * eigenvalues[0], 1e-12)))
        return cls(R, V[:, :k] * spread, 1 / noise)

    def update(self) -> None:
        n, c = self.R.shape
        WW = self.W.T @ self.W + c * self.S_W
        self.S_U = np.linalg.inv(np.eye(WW.shape[0]) + self.tau * WW)
        self.U = self.tau * (self.R - self.mu) @ self.W @ self.S_U  # (n, k)
        UU = self.U.T @ self.U + n * self.S_U
        self.s_mu = 1 / (MEAN_PRECISION + n * self.tau)
        self.mu = self.tau * self.s_mu * (self.R.sum(axis=0) - self.W @ self.U.sum(axis=0))
        centred = self.R - self.mu
        self.S_W = np.linalg.inv(np.diag(self.alpha) + self.tau * UU)
        self.W = self.tau * centred.T @ self.U @ self.S_W  # (c, k)
        self.omega = (self.W**2).sum(axis=0) + c * self.S_W.diagonal()
        self.alpha = (SHAPE + c / 2) / (RATE + self.omega / 2)
        WW = self.W.T @ self.W + c * self.S_W
        self.err = float(
            (centred**2).sum() + n * c * self.s_mu - 2 * ((centred @ self.W) * self.U).sum() + (WW * UU).sum()
        )
        self.tau = (SHAPE + n * c / 2) / (RATE + self.err / 2)

    def prune(self, share: float) -> None:
        lengths = (self.W**2).sum(axis=0)
        keep = lengths >= share * lengths.max()
        if keep.all():
            return
        self.W, self.U, self.alpha, self.omega = self.W[:, keep], self.U[:, keep], self.alpha[keep], self.omega[keep]
        self.S_W, self.S_U = self.S_W[np.ix_(keep, keep)], self.S_U[np.ix_(keep, keep)]

    def bound(self) -> float:
        """Equation (8)."""
        (n, c), k = self.R.shape, self.W.shape[1]
        a_tau, b_tau = SHAPE + n * c / 2, RATE + self.err / 2
        a_alpha, b_alpha = np.full(k, SHAPE + c / 2), RATE + self.omega / 2
        log_tau, log_alpha = psi(a_tau) - np.log(b_tau), psi(a_alpha) - np.log(b_alpha)
        UU_trace = (self.U**2).sum() + n * np.trace(self.S_U)
        value = n * c / 2 * (log_tau - np.log(2 * np.pi)) - self.tau * self.err / 2
        value += -UU_trace / 2 + n / 2 * np.linalg.slogdet(self.S_U)[1] + n * k / 2
        value += (c / 2 * log_alpha - self.alpha * self.omega / 2).sum()
        value += c / 2 * np.linalg.slogdet(self.S_W)[1] + c * k / 2
        value += -MEAN_PRECISION / 2 * ((self.mu**2).sum() + c * self.s_mu)
        value += c / 2 * (np.log(MEAN_PRECISION) + np.log(self.s_mu) + 1)
        return float(value + _gamma_terms(np.append(a_alpha, a_tau), np.append(b_alpha, b_tau)).sum())


def _gamma_terms(a: FloatArray, b: FloatArray) -> FloatArray:
    """Minus the divergence of Gamma(a, b) from the prior, each."""
    expected_log = psi(a) - np.log(b)
    prior = SHAPE * np.log(RATE) - gammaln(SHAPE)
    return (SHAPE - a) * expected_log + prior + gammaln(a) - a * np.log(b) - (RATE - b) * a / b


def _singular(codes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The mean (c,), singular values (h,) and right vectors (c, h) of the centred codes."""
    centre = codes.mean(axis=0)
    _, gamma, Vt = np.linalg.svd(codes - centre, full_matrices=False)
    return centre, gamma, Vt.T


def _rank(gamma: FloatArray) -> int:
    return max(1, int((gamma > RANK_TOLERANCE * max(float(gamma[0]), np.finfo(float).tiny)).sum()))


def _leading(
    codes: FloatArray, parts: tuple[FloatArray, FloatArray, FloatArray], k: int, noise: float | None = None
) -> Directions:
    centre, gamma, V = parts
    n, c = codes.shape
    variances = gamma**2 / n
    if noise is None:
        noise = float(variances[k:].sum() / max(c - k, 1))
    return Directions(centre, with_fixed_signs(V[:, :k].T).T, np.maximum(variances[:k], 1e-12), noise)
