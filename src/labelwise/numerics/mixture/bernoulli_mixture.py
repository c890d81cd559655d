"""Variational beliefs about a Bernoulli mixture of labels with Gaussian process gates: the updates and their bound.

Items n, components k, labels q. Gates are logistic-softmax, made conjugate by Gamma variables λ_n, Poisson counts
v_nk and Pólya-Gamma variables ω_nk. Every update is a function from a state to a state and never lowers
`evidence_bound`, which is valid in any state. The label covariance of an item with weights π, p = π θ and
u_l = Σ_k π_k θ_kl (1 − θ_kl) is diag(u) + Θ̃ᵀ diag(π) Θ̃ with Θ̃ = θ − 1 pᵀ. The first is what a label has of its own,
the second what it shares through the component. Equation numbers are those of docs/mathematics/label_mixture_gp.md.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaln, digamma, gammaln, polygamma, softmax, xlogy

from labelwise.numerics.arrays import BoolArray, FloatArray, IntArray
from labelwise.numerics.mixture.gates import Gates
from labelwise.numerics.polya_gamma import log_two_cosh, polya_gamma_mean

LEAST_PRECISION = 1e-12
NEWTON_STEPS = 5  # three reach rounding
LEAST_VARIANCE = 1e-12
BLOCK_NUMBERS = 2**21  # of small matrices held at once


@dataclass(frozen=True, eq=False)
class MixtureLabels:
    """Known labels, and the Beta prior of the components' probabilities for each label."""

    present: FloatArray  # (n, q) 1 where known to be there
    absent: FloatArray  # (n, q) 1 where known not to be
    prior_present: FloatArray  # (q,) a₀
    prior_absent: FloatArray  # (q,) b₀

    @classmethod
    def of(cls, Y: BoolArray, observed: BoolArray, prior: tuple[FloatArray, FloatArray]) -> MixtureLabels:
        return cls((Y & observed).astype(np.float64), (~Y & observed).astype(np.float64), *prior)

    def take(self, rows: IntArray) -> MixtureLabels:
        return replace(self, present=self.present[rows], absent=self.absent[rows])


@dataclass(frozen=True, eq=False)
class MixtureState:
    """All variational parameters."""

    responsibilities: FloatArray  # (n, k) φ of q(z)
    present: FloatArray  # (k, q) a of q(θ)
    absent: FloatArray  # (k, q) b
    mean: FloatArray  # (n, k) m of q(f)
    variance: FloatArray  # (n, k) s
    tilt: FloatArray  # (n, k) c of q(ω | z, v)
    shape: FloatArray  # (n,) α of q(λ) = Gamma(α, k)
    counts: FloatArray  # (n, k) γ of q(v) = Poisson(γ)
    precision: FloatArray  # (n, k) D that q(f) was made with
    weights: FloatArray  # (n, k) or (m, k) of q(f)
    divergence: FloatArray  # (k,) KL(q(f_k) ‖ p(f_k))

    @classmethod
    def start(
        cls, responsibilities: FloatArray, labels: MixtureLabels, gates: Gates, prior_mean: FloatArray
    ) -> MixtureState:
        """Gates at their prior; labels, tilts and counts at their best for the given responsibilities (n, k)."""
        n, k = responsibilities.shape
        none = np.zeros((n, k))
        mean = np.broadcast_to(prior_mean, (n, k))
        variance = np.repeat(gates.prior_variance[:, None], k, axis=1)
        weights = np.zeros((gates.n_weights, k))
        beta = np.zeros((k, labels.prior_present.size))
        bare = cls(responsibilities, beta, beta, mean, variance, none, none[:, 0], none, none, weights, np.zeros(k))
        return update_counts(update_tilt(update_labels(bare, labels)))

    def keep(self, chosen: BoolArray) -> MixtureState:
        """Without the components that are not chosen (k,); the others take over their items."""
        phi = self.responsibilities[:, chosen]
        total = phi.sum(axis=1, keepdims=True)
        by_item = ("mean", "variance", "tilt", "counts", "precision", "weights")
        part = {name: getattr(self, name)[:, chosen] for name in by_item}
        by_label = {name: getattr(self, name)[chosen] for name in ("present", "absent", "divergence")}
        phi = np.where(total > 0, phi / np.where(total > 0, total, 1.0), 1 / phi.shape[1])
        return update_counts(replace(self, responsibilities=phi, **part, **by_label))

    @property
    def n_components(self) -> int:
        return self.divergence.size

    @property
    def strengths(self) -> FloatArray:
        """(k,) Σ_l a_kl + b_kl: what the paper calls effective posterior observations, those of the prior included."""
        return (self.present + self.absent).sum(axis=1)


def update_labels(state: MixtureState, labels: MixtureLabels) -> MixtureState:
    """q(θ), equation (1)."""
    phi = state.responsibilities
    return replace(
        state,
        present=labels.prior_present + phi.T @ labels.present,
        absent=labels.prior_absent + phi.T @ labels.absent,
    )


def update_responsibilities(state: MixtureState, labels: MixtureLabels, *, printed: bool = False) -> MixtureState:
    """q(z), equation (2); `printed` leaves out what equation (9) of the paper leaves out."""
    if printed:
        e1, _ = expected_logs(state)
        return replace(state, responsibilities=softmax(labels.present @ e1.T + state.mean / 2, axis=1))
    return replace(state, responsibilities=softmax(expected_fit(state, labels) + state.mean / 2 - _tilted(state), 1))


def update_tilt(state: MixtureState) -> MixtureState:
    """q(ω | z, v), equation (3)."""
    return replace(state, tilt=np.sqrt(state.mean**2 + state.variance))


def update_counts(state: MixtureState) -> MixtureState:
    """q(λ) and q(v) jointly, equation (4); one after the other they would converge slowly."""
    log_surrogate = -state.mean / 2 - _tilted(state)  # (n, k) of a surrogate of E[σ(−f)], below 0 with a fresh tilt
    share = np.exp(log_surrogate).mean(axis=1)  # (n,)
    shape = gamma_shape(share)
    log_rate = digamma(shape) - np.log(state.n_components)  # (n,) E[log λ]
    return replace(state, shape=shape, counts=np.exp(log_rate[:, None] + log_surrogate))


def update_gates(
    state: MixtureState, gates: Gates, prior_mean: FloatArray, *, least_change: float = 0.0, n_threads: int = 1
) -> MixtureState:
    """q(f), equations (5) to (7), of the gates whose D has changed by the share `least_change` since their last update;
    by default of all."""
    D = np.maximum((state.responsibilities + state.counts) * polya_gamma_mean(1.0, state.tilt), LEAST_PRECISION)
    r = 0.5 * (state.responsibilities - state.counts) - D * prior_mean
    changed = np.abs(D - state.precision).sum(axis=0) >= least_change * state.precision.sum(axis=0)  # (k,)
    mean, variance, weights = state.mean.copy(), state.variance.copy(), state.weights.copy()
    divergence, precision = state.divergence.copy(), state.precision.copy()

    def update(components: IntArray) -> None:
        workspace = gates.workspace()
        for k in components:
            beliefs = gates.infer(np.ascontiguousarray(D[:, k]), np.ascontiguousarray(r[:, k]), workspace)
            mean[:, k], variance[:, k] = prior_mean[k] + beliefs.mean, beliefs.variance
            weights[:, k], divergence[k], precision[:, k] = beliefs.weights, beliefs.divergence, D[:, k]

    shares = np.array_split(np.flatnonzero(changed), n_threads)
    with ThreadPoolExecutor(n_threads) if n_threads > 1 else nullcontext() as threads:
        list(map(update, shares) if threads is None else threads.map(update, shares))
    return replace(state, mean=mean, variance=variance, weights=weights, divergence=divergence, precision=precision)


def sweep(
    state: MixtureState,
    labels: MixtureLabels,
    gates: Gates,
    prior_mean: FloatArray,
    *,
    printed: bool = False,
    least_change: float = 0.0,
    n_threads: int = 1,
) -> MixtureState:
    """Every update once."""
    state = update_counts(update_tilt(update_responsibilities(update_labels(state, labels), labels, printed=printed)))
    return update_gates(state, gates, prior_mean, least_change=least_change, n_threads=n_threads)


def evidence_bound(state: MixtureState, labels: MixtureLabels) -> float:
    """A lower bound of log p(Y), equation (8)."""
    phi, gamma, alpha = state.responsibilities, state.counts, state.shape
    tilted = _tilted(state)
    from_labels = (phi * (expected_fit(state, labels) + state.mean / 2 - tilted)).sum() - xlogy(phi, phi).sum()
    log_rate = digamma(alpha) - np.log(state.n_components)  # (n,)
    from_counts = (gamma * (log_rate[:, None] + 1 - state.mean / 2 - tilted)).sum() - xlogy(gamma, gamma).sum()
    from_rates = (gammaln(alpha) + (1 - alpha) * digamma(alpha) - np.log(state.n_components)).sum()
    return float(from_labels + from_counts + from_rates - beta_divergence(state, labels) - state.divergence.sum())


@dataclass(frozen=True)
class MixtureSchedule:
    """How long to sweep."""

    least: int = 6
    most: int = 60
    tolerance: float = 1e-5  # of the bound, relative
    printed: bool = False  # equation (9) of the paper as it is printed
    least_change: float = 0.03  # share of its precisions by which a gate has to change before it is updated again
    n_threads: int = 1  # over the gates, with one thread of LAPACK each


def run_sweeps(
    state: MixtureState,
    labels: MixtureLabels,
    gates: Gates,
    prior_mean: FloatArray,
    schedule: MixtureSchedule,
    on_step: Callable[[int, float], None] | None = None,
) -> tuple[MixtureState, list[float]]:
    """Sweeps until the bound stands still, and the bound after each.

    A gate costs far more than all labels together. After a few sweeps most components have settled, and only gates that
    still change are updated: whichever they are, no sweep lowers the bound.
    """
    bounds: list[float] = []
    for step in range(schedule.most):
        state = sweep(
            state,
            labels,
            gates,
            prior_mean,
            printed=schedule.printed,
            least_change=schedule.least_change if step else 0.0,  # at first all: kernel or prior mean may be new
            n_threads=schedule.n_threads,
        )
        bounds.append(evidence_bound(state, labels))
        if on_step is not None:
            on_step(step, bounds[-1])
        if step + 1 >= schedule.least and abs(bounds[-1] - bounds[-2]) < schedule.tolerance * abs(bounds[-1]):
            break
    return state, bounds


def expected_logs(state: MixtureState) -> tuple[FloatArray, FloatArray]:
    """(k, q) E[log θ] and E[log(1 − θ)]."""
    digamma_total = digamma(state.present + state.absent)
    return digamma(state.present) - digamma_total, digamma(state.absent) - digamma_total


def expected_fit(state: MixtureState, labels: MixtureLabels) -> FloatArray:
    """(n, k) expected log-likelihood of each item's known labels under each component."""
    e1, e0 = expected_logs(state)
    return labels.present @ e1.T + labels.absent @ e0.T


def beta_divergence(state: MixtureState, labels: MixtureLabels) -> float:
    """KL(q(θ) ‖ p(θ)), summed over components and labels."""
    a, b, a0, b0 = state.present, state.absent, labels.prior_present, labels.prior_absent
    e1, e0 = expected_logs(state)
    return float((betaln(a0, b0) - betaln(a, b) + (a - a0) * e1 + (b - b0) * e0).sum())


def gamma_shape(share: FloatArray) -> FloatArray:
    """α with α − 1 = share · exp(ψ(α)), for shares in (0, 1), by Newton's method.

    The function is rising and concave, so that it converges from every α ≥ 1.
    """
    share = np.minimum(share, 1 - 1e-12)
    alpha = (1 - share / 2) / (1 - share)
    for _ in range(NEWTON_STEPS):
        e = share * np.exp(digamma(alpha))
        alpha = np.maximum(1.0, alpha - (alpha - 1 - e) / (1 - e * polygamma(1, alpha)))
    return alpha


def _tilted(state: MixtureState) -> FloatArray:
    """(n, k) log 2 + log cosh(c/2) + ½ E[ω] (m² + s − c²): the Pólya-Gamma part of the bound for one count."""
    c = state.tilt
    slack = state.mean**2 + state.variance - c**2  # 0 with a fresh tilt
    return log_two_cosh(c / 2) + 0.5 * polya_gamma_mean(1.0, c) * slack


def own_variances(weights: FloatArray, theta: FloatArray) -> FloatArray:
    """(n, q) u: the variance of a label once the component is known."""
    return np.maximum(weights @ (theta * (1 - theta)), LEAST_VARIANCE)


def mixture_factor(weights: FloatArray, theta: FloatArray) -> FloatArray:
    """(n, q, k) of (θ_kl − p_l) √π_k."""
    departures = theta.T - (weights @ theta)[:, :, None]  # (n, q, k)
    departures *= np.sqrt(weights)[:, None, :]
    return departures


def mixture_log_determinants(weights: FloatArray, theta: FloatArray) -> FloatArray:
    """(n,) log-determinants of the covariances, equation (14), or (15) where labels are fewer than components.

    Either way the small matrices of all items come out of one matrix product with θ_kl θ_k'l, made once, and not out
    of n products with θ. θ is centred first, which changes nothing but the rounding.
    """
    centred = theta - theta.mean(axis=0)  # (k, q)
    k, q = theta.shape
    by_labels = q < k
    small = q if by_labels else k
    i, j = np.tril_indices(small)
    products = centred[:, i] * centred[:, j] if by_labels else (centred[i] * centred[j]).T  # (k or q, pairs)
    log_determinants = np.empty(weights.shape[0])
    size = max(1, BLOCK_NUMBERS // small**2)
    for start in range(0, weights.shape[0], size):
        part = slice(start, start + size)
        form = _by_labels if by_labels else _by_components
        pi, u = weights[part], own_variances(weights[part], theta)
        log_determinants[part] = form(pi, u, centred, products)
    return log_determinants


def _by_components(pi: FloatArray, u: FloatArray, centred: FloatArray, products: FloatArray) -> FloatArray:
    """log|u| + log|I + √π Θ̃ u⁻¹ Θ̃ᵀ √π|."""
    inverse = 1 / u  # (n, q)
    p = pi @ centred  # (n, q)
    cross = (p * inverse) @ centred.T  # (n, k)
    level = (p**2 * inverse).sum(axis=1)  # (n,)
    inner = _symmetric(inverse @ products, centred.shape[0])  # (n, k, k)
    inner -= cross[:, :, None]
    inner += (level[:, None] - cross)[:, None, :]
    root = np.sqrt(pi)
    inner *= root[:, :, None]
    inner *= root[:, None, :]
    return np.log(u).sum(axis=1) + _log_determinants(inner, np.ones_like(pi))


def _by_labels(pi: FloatArray, u: FloatArray, centred: FloatArray, products: FloatArray) -> FloatArray:
    """log|diag(u) + Σ_k π_k δ_k δ_kᵀ − p pᵀ|, δ and p centred."""
    p = pi @ centred  # (n, q)
    shared = _symmetric(pi @ products, centred.shape[1])  # (n, q, q)
    shared -= p[:, :, None] * p[:, None, :]
    return _log_determinants(shared, u)


def _symmetric(lower: FloatArray, size: int) -> FloatArray:
    """(n, size, size) whose lower triangles are the rows of `lower`; Cholesky reads no more of them."""
    full = np.zeros((lower.shape[0], size, size))
    i, j = np.tril_indices(size)
    full[:, i, j] = lower
    return full


def _log_determinants(matrices: FloatArray, diagonal: FloatArray) -> FloatArray:
    """(n,) of matrices + diag(diagonal)."""
    size = matrices.shape[1]
    matrices.reshape(len(matrices), -1)[:, :: size + 1] += diagonal
    factors = np.linalg.cholesky(matrices)
    return 2 * np.log(factors.reshape(len(factors), -1)[:, :: size + 1]).sum(axis=1)
