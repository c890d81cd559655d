"""Kernel and noise for all labels at once, by evidence with a weak prior."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from labelwise.numerics.arrays import BoolArray, FloatArray, distinct_columns
from labelwise.numerics.gp.kernels import Kernel, inner_products, squared_distances

KernelName = Literal["linear", "rbf", "rbf+linear"]

EFFECTIVE_LABELS = 2.0  # labels depend on one another: together they count as this many, or the prior would vanish
MAX_PATTERNS = 16  # distinct sets of answered rows that take part in the search
MIN_SHARED = 0.75  # of a label's answered rows on average: where all labels share so many, the others are left out
NOISE_SD, LENGTH_SD, SHARE_SD = 0.5, 0.7, 1.5  # of the priors on log noise, log length-scale, log-odds of the share
NOISE_GRID = np.logspace(-4, 3, 57)  # relative to the kernel's mean diagonal
FINER_GRIDS, FINER_SIZE = 2, 25  # noise levels between the two neighbours of the best so far
LENGTH_STEP, MAX_CLIMB = 0.5 * np.log(2.0), 8  # in log length-scale from the prior's centre on, and how many
RATIOS = np.logspace(-6, 4, 101)  # noise over amplitude, relative to the mean diagonal of K₀
SHARE_GRID = (0.25, 0.5, 0.75)
SHORTER_BY = 0.5  # in log length-scale: the rbf part beside a linear one


@dataclass(frozen=True)
class Fixed:
    """What the user has decided; None is searched."""

    noise: float | None = None
    length_scale: float | None = None
    linear_share: float | None = None
    bias: float = 1.0

    def decide(self, name: str) -> ChosenKernel | None:
        """The kernel and noise where nothing is left to search, without a score."""
        shares = {"linear": 1.0, "rbf": 0.0, "rbf+linear": self.linear_share}
        share = shares.get(name)
        length = 1.0 if name == "linear" else self.length_scale
        if self.noise is None or share is None or length is None:
            return None
        return ChosenKernel(Kernel(1 - share, share, self.bias, length), self.noise, np.nan)


@dataclass(frozen=True)
class ChosenKernel:
    """A kernel, its noise and the log evidence (with prior) that chose them."""

    kernel: Kernel
    noise: float
    score: float


@dataclass(frozen=True, eq=False)
class SearchPart:
    """Labels seen on the same few rows."""

    inner: FloatArray  # (n, n)
    distances: FloatArray  # (n, n), squared
    targets: FloatArray  # (n, q), centred

    def kernel_matrix(self, kernel: Kernel) -> FloatArray:
        return kernel.of_products(self.inner, self.distances)


def weighted_parts(by_block: Sequence[Sequence[SearchPart]], shares: FloatArray) -> list[SearchPart]:
    """The parts of rows that are made of blocks, each times the square root of its share: products and squared
    distances add up. `by_block` has the parts of each block, of the same rows and labels."""
    return [
        SearchPart(
            np.add.reduce([share * part.inner for share, part in zip(shares, parts, strict=True)]),
            np.add.reduce([share * part.distances for share, part in zip(shares, parts, strict=True)]),
            parts[0].targets,
        )
        for parts in zip(*by_block, strict=True)
    ]


def choose_parts(X: Any, Y: BoolArray, observed: BoolArray, n_rows: int, priority: FloatArray) -> list[SearchPart]:
    """The rows and labels to search on, at no more than the price of one eigendecomposition of `n_rows` rows.

    Labels with the same answered rows go together and keep the rows of least `priority`. Where there are many sets of
    rows, MAX_PATTERNS of them take part, from the one with most positives to the one with fewest in equal steps: rare
    labels need another noise than frequent ones. Nothing depends on the order of the labels.
    """
    distinct = distinct_columns(shared_rows(observed))
    groups = distinct.groups()
    limit = max(2, int(n_rows / min(len(groups), MAX_PATTERNS) ** 0.5))
    candidates = []
    for kind, labels in enumerate(groups):
        rows = np.flatnonzero(distinct.columns[:, kind])
        rows = rows[np.argsort(priority[rows])[:limit]]
        positives = Y[np.ix_(rows, labels)].sum(axis=0)
        labels = labels[(positives > 0) & (positives < rows.size)]
        if labels.size:
            candidates.append((-int(positives.sum()), float(priority[rows].sum()), rows, labels))
    candidates.sort(key=lambda each: each[:2])
    steps = np.unique(np.linspace(0, len(candidates) - 1, min(len(candidates), MAX_PATTERNS)).round().astype(int))
    parts = []
    for _, _, rows, labels in (candidates[step] for step in steps):
        y = Y[np.ix_(rows, labels)]
        parts.append(SearchPart(inner_products(X[rows]), squared_distances(X[rows]), y - y.mean(axis=0)))
    return parts


def shared_rows(observed: BoolArray) -> BoolArray:
    """Only the rows that all labels share, where those are most of every label's: one set of rows instead of many.

    So it is after items answered in full and then a few pairs: searching on the set of every label would cost many
    times as much and tell hardly more. A label that was never answered has no say.

    >>> shared_rows(np.array([[1, 1], [1, 1], [1, 1], [1, 0]], dtype=bool)).sum(axis=0)
    array([3, 3])
    >>> shared_rows(np.array([[1, 1], [1, 0], [0, 1]], dtype=bool)).sum(axis=0)
    array([2, 2])
    """
    answered = observed.any(axis=0)  # (q,)
    shared = np.asarray(observed[:, answered].all(axis=1))  # (n,)
    few = shared.sum() < MIN_SHARED * observed[:, answered].sum(axis=0).mean() if answered.any() else True
    return observed if few else shared[:, None] & answered


class KernelSearch:
    """Maximises `weight` · Σ log evidence + log prior, one eigendecomposition per kernel shape and part."""

    def __init__(self, parts: list[SearchPart], fixed: Fixed) -> None:
        self.parts, self.fixed = parts, fixed
        n_labels = sum(part.targets.shape[1] for part in parts)
        self.weight = min(1.0, EFFECTIVE_LABELS / max(n_labels, 1))
        # Logistic regression weighs an answer by p (1 − p): rare labels need more noise, or a few odd rows rule them.
        spreads = [4 * (part.targets**2).mean(axis=0) for part in parts]
        self.rarity = float(np.sqrt(np.concatenate(spreads).mean())) if spreads else 1.0
        self.length_centre = self._length_centre()
        self._seen: dict[tuple[float, float], ChosenKernel] = {}

    def best(self, name: str) -> ChosenKernel:
        """The best kernel of the family, or of all three where `name` is "auto"."""
        families: dict[str, Callable[[], ChosenKernel]] = {
            "linear": lambda: self._evaluate(0.0, 1.0),
            "rbf": lambda: self._best_length(0.0),
            "rbf+linear": self._best_sum,
        }
        names = list(families) if name == "auto" else [name]
        return max((families[each]() for each in names), key=lambda found: found.score)

    def _best_sum(self) -> ChosenKernel:
        if self.fixed.linear_share is not None:
            return self._best_length(self.fixed.linear_share)
        alone = self._best_length(0.0).kernel.length_scale
        best = max((self._evaluate(np.log(alone), share) for share in SHARE_GRID), key=lambda found: found.score)
        if self.fixed.length_scale is not None:
            return best
        shorter = self._evaluate(np.log(alone) - SHORTER_BY, best.kernel.linear)  # the linear part takes the long range
        return max(best, shorter, key=lambda found: found.score)

    def _best_length(self, share: float) -> ChosenKernel:
        if self.fixed.length_scale is not None:
            return self._evaluate(np.log(self.fixed.length_scale), share)

        def score(log_length: float) -> float:
            return self._evaluate(log_length, share).score

        best = climb(score, float(np.log(self.length_centre)), LENGTH_STEP, MAX_CLIMB)
        around = best + LENGTH_STEP * np.arange(-1, 2)
        between = parabola_peak(around, np.array([score(float(at)) for at in around]))
        return max(self._evaluate(best, share), self._evaluate(between, share), key=lambda found: found.score)

    def _evaluate(self, log_length: float, share: float) -> ChosenKernel:
        """The best noise for one shape of the kernel; remembered, for families share shapes."""
        shape = (float(log_length), float(share))
        if shape not in self._seen:
            self._seen[shape] = self._best_noise(*shape)
        return self._seen[shape]

    def _best_noise(self, log_length: float, share: float) -> ChosenKernel:
        kernel = Kernel(1 - share, share, self.fixed.bias, float(np.exp(log_length)) if share < 1 else 1.0)
        matrices = [part.kernel_matrix(kernel) for part in self.parts]
        diagonal = float(np.mean([K.diagonal().mean() for K in matrices])) if matrices else 1.0
        centre = 0.5 * diagonal / self.rarity
        spectra = [Spectrum.of(K, part.targets) for K, part in zip(matrices, self.parts, strict=True)]

        def score(noise: FloatArray) -> FloatArray:
            total = -0.5 * (np.log(noise / centre) / NOISE_SD) ** 2
            return total + self.weight * sum(spectrum.log_evidence(noise).sum(axis=1) for spectrum in spectra)

        noise = self.fixed.noise if self.fixed.noise is not None else _best_noise(score, diagonal, centre)
        return ChosenKernel(kernel, noise, float(score(np.array([noise]))[0]) + self._log_prior(kernel))

    def _log_prior(self, kernel: Kernel) -> float:
        log_prior = 0.0
        if kernel.rbf:
            log_prior -= 0.5 * (np.log(kernel.length_scale / self.length_centre) / LENGTH_SD) ** 2
            if kernel.linear:
                log_prior -= 0.5 * (np.log(kernel.linear / kernel.rbf) / SHARE_SD) ** 2
        return float(log_prior)

    def _length_centre(self) -> float:
        """Half the median distance between different rows, 1 where there is none."""
        distances = [part.distances[np.triu_indices_from(part.distances, 1)] for part in self.parts]
        median = float(np.sqrt(np.median(np.concatenate(distances)))) if distances else 0.0
        return median / 2 if median > 0 else 1.0


def _best_noise(score: Callable[[FloatArray], FloatArray], diagonal: float, centre: float) -> float:
    """On a grid, then twice on a finer one around the best: many values at once cost hardly more than one."""
    grid = np.log(np.sort(np.append(diagonal * NOISE_GRID, centre)))
    scores = score(np.exp(grid))
    for _ in range(FINER_GRIDS):
        best = int(np.argmax(scores))
        grid = np.linspace(grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)], FINER_SIZE)
        scores = score(np.exp(grid))
    middle = int(np.clip(np.argmax(scores), 1, grid.size - 2))
    return float(np.exp(parabola_peak(grid[middle - 1 : middle + 2], scores[middle - 1 : middle + 2])))


def parabola_peak(x: FloatArray, y: FloatArray) -> float:
    """Where the parabola through three points in equal steps peaks; the best of the three where it does not in between.

    >>> parabola_peak(np.array([0.0, 1.0, 2.0]), np.array([-4.0, -1.0, 0.0]))
    2.0
    >>> parabola_peak(np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0, 1.0])).__round__(4)
    1.1667
    """
    bend = y[0] - 2 * y[1] + y[2]
    slope = y[2] - y[0]
    if not bend < 0 or abs(slope) > -2 * bend:
        return float(x[np.argmax(y)])
    return float(x[1] - 0.5 * (x[1] - x[0]) * slope / bend)


def climb(function: Callable[[float], float], start: float, step: float, limit: int) -> float:
    """The highest of start, start ± step, start ± 2 step, ..., going uphill while it lasts, at most `limit` steps.

    >>> climb(lambda x: -abs(x - 4.2), 0.0, 1.0, limit=10)
    4.0
    """
    if function(start - step) > function(start + step):
        step = -step
    at = start
    for _ in range(limit):
        if function(at + step) <= function(at):
            break
        at += step
    return at


def golden_section(function: Callable[[float], float], low: float, high: float, steps: int) -> float:
    """Where a function with one peak in [low, high] is largest, to within 0.618^steps of the interval.

    >>> round(golden_section(lambda x: -(x - 1) ** 2, 0.0, 3.0, steps=40), 6)
    1.0
    """
    ratio = (5**0.5 - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = function(a), function(b)
    for _ in range(steps):
        if at_a >= at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = function(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = function(b)
    return a if at_a >= at_b else b


@dataclass(frozen=True, eq=False)
class Spectrum:
    """K = U diag(λ) Uᵀ seen from the targets: all that the evidence of K + noise I depends on.

    Examples
    --------
    >>> K, y = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[1.0], [-0.5]])
    >>> Spectrum.of(K, y).log_evidence(np.array([0.5])).round(4)
    array([[-2.7327]])
    """

    eigenvalues: FloatArray  # (n,)
    energies: FloatArray  # (n, q) (Uᵀ y)²

    @classmethod
    def of(cls, K: FloatArray, targets: FloatArray) -> Spectrum:
        eigenvalues, U = np.linalg.eigh(K)
        return cls(np.maximum(eigenvalues, 0.0), (U.T @ targets) ** 2)

    def log_evidence(self, noise: FloatArray) -> FloatArray:
        """(g, q) of max over b of log N(y_j; 0, b (K + noise I)), for g noise levels.

        The best amplitude is b = yᵀ (K + noise I)⁻¹ y / n, whatever the scale of y, so a rare label counts as much as
        a frequent one.
        """
        n = self.eigenvalues.size
        spread = self.eigenvalues + np.asarray(noise)[:, None]  # (g, n)
        amplitude = (1 / spread) @ self.energies / n  # (g, q)
        return -0.5 * (n * (1 + np.log(2 * np.pi * amplitude)) + np.log(spread).sum(axis=1)[:, None])


LEAST_AMPLITUDE, LEAST_NOISE = 1e-9, 1e-6  # codes of 0/1 labels have variances of 0.01 and more


# -- one process for many outputs -------------------------------------------------------------------------------------


# `gp_evidence` gives every label an amplitude of its own; here all outputs have one covariance amp (K₀ + r I), as the
# codes of label vectors do, and the best amplitude has a closed form (docs/mathematics/compressed_label_gp.md).


@dataclass(frozen=True)
class SharedOptimum:
    """The best amplitude and noise variance for one kernel shape, and log p(Z) there."""

    amplitude: float
    noise: float
    log_evidence: float


@dataclass(frozen=True, eq=False)
class SharedSpectrum:
    """Outputs known on the same rows: K₀ = U diag(λ) Uᵀ, and how much of all of them lies along each column of U."""

    eigenvalues: FloatArray  # (n,) λ
    energies: FloatArray  # (n,) Σ over outputs of (Uᵀ z)²
    n_outputs: int

    @classmethod
    def of(cls, K: FloatArray, Z: FloatArray, row_variance: FloatArray | None = None) -> SharedSpectrum:
        """From K₀ (n, n) and Z (n, k); `row_variance` (n,) is the summed variance of the outputs of rows that are
        themselves estimates, which the expected squares have to include."""
        eigenvalues, U = np.linalg.eigh(K)
        energies = ((U.T @ Z) ** 2).sum(axis=1)
        if row_variance is not None:
            energies = energies + (U**2).T @ row_variance
        return cls(np.maximum(eigenvalues, 0.0), energies, Z.shape[1])


def log_evidence(spectra: Sequence[SharedSpectrum], amplitude: FloatArray, noise: FloatArray) -> FloatArray:
    """(g,) log p(Z) under amp K₀ + noise I for g pairs of amplitude and noise, equation (3)."""
    total = np.zeros(np.shape(amplitude))
    for spectrum in spectra:
        variances = np.multiply.outer(amplitude, spectrum.eigenvalues) + noise[:, None]  # (g, n)
        total -= 0.5 * ((spectrum.energies / variances).sum(1) + spectrum.n_outputs * np.log(variances).sum(1))
        total -= 0.5 * spectrum.n_outputs * spectrum.eigenvalues.size * np.log(2 * np.pi)
    return total


def best_amplitude(spectra: Sequence[SharedSpectrum], ratio: FloatArray) -> FloatArray:
    """(g,) the amplitude of highest evidence for each ratio of noise to amplitude, equation (4)."""
    n_numbers = sum(spectrum.n_outputs * spectrum.eigenvalues.size for spectrum in spectra)
    energy = sum((s.energies / np.add.outer(ratio, s.eigenvalues)).sum(1) for s in spectra)
    return np.maximum(energy / max(n_numbers, 1), LEAST_AMPLITUDE) * np.ones_like(ratio)


def maximise_evidence(spectra: Sequence[SharedSpectrum], noise: float | None = None) -> SharedOptimum:
    """Amplitude and noise of highest evidence, or the amplitude alone where the noise is given.

    One dimension is searched, the ratio of both, on a grid and then by golden section.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> K = np.diag([9.0, 4.0, 1.0, 0.0] * 250)
    >>> Z = rng.standard_normal((1000, 5)) * np.sqrt(2.0 * K.diagonal() + 0.5)[:, None]
    >>> best = maximise_evidence([SharedSpectrum.of(K, Z)])
    >>> round(best.amplitude, 1), round(best.noise, 1)
    (2.0, 0.5)
    """

    def at(log_ratio: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        ratio = np.exp(log_ratio)
        amplitude = best_amplitude(spectra, ratio) if noise is None else noise / ratio
        level = np.maximum(amplitude * ratio, LEAST_NOISE) if noise is None else np.full_like(ratio, noise)
        return amplitude, level, log_evidence(spectra, amplitude, level)

    size = sum(float(s.eigenvalues.sum()) for s in spectra) / max(sum(s.eigenvalues.size for s in spectra), 1)
    grid = np.log(RATIOS * (size if size > 0 else 1.0))
    best = int(np.argmax(at(grid)[2]))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, grid.size - 1)]
    peak = golden_section(lambda x: float(at(np.array([x]))[2][0]), low, high, steps=40)
    amplitude, level, score = at(np.array([peak]))
    return SharedOptimum(float(amplitude[0]), float(level[0]), float(score[0]))
