"""Bayesian PCA: how many directions of a cloud of codes stand out of its noise, and which.

Three ways to the same record: plain PCA with a given number of directions, the global optimum of the factorised model
in closed form, and the iterated variational form with a precision per direction. Equation numbers are those of
docs/mathematics/orthogonal_target_gp.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq, minimize_scalar
from scipy.special import gammaln, psi

from labelwise.numerics.arrays import FloatArray

SHAPE = RATE = MEAN_PRECISION = 1e-3  # a₀, b₀ of the Gamma priors and b_μ: hardly any opinion
GRID = 60  # noise variances tried before the one-dimensional search; the objective has kinks
RANK_TOLERANCE = 1e-10  # singular values below this share of the largest are rounding
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
    found = minimize_scalar(energy, bounds=bounds, method="bounded", options={"xatol": 1e-10})
    noise = float(np.exp(found.x))
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
    found = Directions(state.mu, _fixed_signs(E[:, order]), np.maximum(along[order], 1e-12), 1 / state.tau)
    return VariationalPCA(found, np.array(bounds[1:]), np.array(sizes))


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
    return Directions(centre, _fixed_signs(V[:, :k]), np.maximum(variances[:k], 1e-12), noise)


def _fixed_signs(columns: FloatArray) -> FloatArray:
    """The entry of largest size in each column made positive, so that equal codes give equal directions everywhere."""
    largest = np.abs(columns).argmax(axis=0)
    return columns * np.where(columns[largest, np.arange(columns.shape[1])] < 0, -1.0, 1.0)
