"""Variational beliefs about a Bernoulli mixture of labels with Gaussian process gates: the updates and their bound.

Items n, components k, labels q. Gates are logistic-softmax, made conjugate by Gamma variables λ_n, Poisson counts
v_nk and Pólya-Gamma variables ω_nk. Every update is a function from a state to a state and never lowers
`evidence_bound`, which is valid in any state. Equation numbers are those of docs/mathematics/label_mixture_gp.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, digamma, gammaln, polygamma, softmax, xlogy

from labelwise.numerics.mixture_gates import Gates

FloatArray = npt.NDArray[np.floating[Any]]
BoolArray = npt.NDArray[np.bool_]

LEAST_PRECISION = 1e-12
NEWTON_STEPS = 5  # three reach rounding
EMPTY, PATIENCE = 1e-3, 2  # a component smaller than this for so many sweeps keeps its gate as it is


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
    def sizes(self) -> FloatArray:
        return self.responsibilities.sum(axis=0)  # (k,)


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
    state: MixtureState, gates: Gates, prior_mean: FloatArray, active: BoolArray | None = None
) -> MixtureState:
    """q(f), equations (5) to (7), of the `active` (k,) gates."""
    D = np.maximum((state.responsibilities + state.counts) * expected_omega(state.tilt), LEAST_PRECISION)
    r = 0.5 * (state.responsibilities - state.counts) - D * prior_mean
    mean, variance, weights = state.mean.copy(), state.variance.copy(), state.weights.copy()
    divergence, precision, workspace = state.divergence.copy(), state.precision.copy(), gates.workspace()
    for k in range(state.n_components):
        if active is None or active[k]:
            found = gates.infer(np.ascontiguousarray(D[:, k]), np.ascontiguousarray(r[:, k]), workspace)
            mean[:, k], variance[:, k] = prior_mean[k] + found.mean, found.variance
            weights[:, k], divergence[k], precision[:, k] = found.weights, found.divergence, D[:, k]
    return replace(state, mean=mean, variance=variance, weights=weights, divergence=divergence, precision=precision)


def sweep(
    state: MixtureState,
    labels: MixtureLabels,
    gates: Gates,
    prior_mean: FloatArray,
    *,
    printed: bool = False,
    active: BoolArray | None = None,
) -> MixtureState:
    """Every update once."""
    state = update_responsibilities(update_labels(state, labels), labels, printed=printed)
    return update_gates(update_counts(update_tilt(state)), gates, prior_mean, active)


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
class Schedule:
    """How long to sweep."""

    least: int = 6
    most: int = 60
    tolerance: float = 1e-5  # of the bound, relative
    printed: bool = False  # equation (9) of the paper as it is printed


def run_sweeps(
    state: MixtureState,
    labels: MixtureLabels,
    gates: Gates,
    prior_mean: FloatArray,
    schedule: Schedule,
    on_step: Callable[[int, float], None] | None = None,
) -> tuple[MixtureState, list[float]]:
    """Sweeps until the bound stands still, and the bound after each.

    The gate of a component that stays empty is left as it is: its update would cost as much as any other.
    """
    bounds: list[float] = []
    empty_for = np.zeros(state.n_components, dtype=int)
    for step in range(schedule.most):
        active = empty_for < PATIENCE
        state = sweep(state, labels, gates, prior_mean, printed=schedule.printed, active=active)
        empty_for = np.where(state.sizes < EMPTY, empty_for + 1, 0)
        bounds.append(evidence_bound(state, labels))
        if on_step is not None:
            on_step(step, bounds[-1])
        if step + 1 >= schedule.least and abs(bounds[-1] - bounds[-2]) < schedule.tolerance * abs(bounds[-1]):
            break
    return state, bounds


def expected_logs(state: MixtureState) -> tuple[FloatArray, FloatArray]:
    """(k, q) E[log θ] and E[log(1 − θ)]."""
    both = digamma(state.present + state.absent)
    return digamma(state.present) - both, digamma(state.absent) - both


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


def expected_omega(tilt: FloatArray) -> FloatArray:
    """E[ω] for ω ~ PG(1, c): tanh(c/2) / (2c). Polson, Scott & Windle, JASA 2013."""
    safe = np.where(tilt < 1e-4, 1.0, tilt)  # the formula is 0/0 at c = 0: use its series there
    return np.where(tilt < 1e-4, 0.25 - tilt**2 / 48, np.tanh(safe / 2) / (2 * safe))


def log_cosh(x: FloatArray) -> FloatArray:
    x = np.abs(x)
    return x + np.log1p(np.exp(-2 * x)) - np.log(2)


def _tilted(state: MixtureState) -> FloatArray:
    """(n, k) log 2 + log cosh(c/2) + ½ E[ω] (m² + s − c²): the Pólya-Gamma part of the bound for one count."""
    c = state.tilt
    slack = state.mean**2 + state.variance - c**2  # 0 with a fresh tilt
    return np.log(2) + log_cosh(c / 2) + 0.5 * expected_omega(c) * slack
