"""The mixture's variational updates against their bound, brute force, loops and symmetries."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from scipy.special import betaln, digamma, expit, logsumexp

from labelwise.numerics.gp.kernels import Kernel
from labelwise.numerics.mixture.bernoulli_mixture import (
    MixtureLabels,
    MixtureSchedule,
    MixtureState,
    evidence_bound,
    gamma_shape,
    mixture_factor,
    mixture_log_determinants,
    own_variances,
    run_sweeps,
    sweep,
    update_counts,
    update_gates,
    update_labels,
    update_responsibilities,
    update_tilt,
)
from labelwise.numerics.mixture.gates import InducingGates, KernelGates
from labelwise.numerics.polya_gamma import log_two_cosh

KERNEL = Kernel(rbf=4.0, length_scale=0.7)


def problem(n=30, k=4, q=6, seed=0, share=0.8, mean=-1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    Y = X @ rng.normal(size=(2, q)) + 0.3 * rng.normal(size=(n, q)) > 0.3
    observed = rng.random((n, q)) < share
    prior = rng.uniform(0.3, 2.0, q), rng.uniform(0.3, 2.0, q)
    labels, gates = MixtureLabels.of(Y, observed, prior), KernelGates.on(KERNEL, X)
    prior_mean = mean + 0.2 * rng.normal(size=k)
    return MixtureState.start(rng.dirichlet(np.ones(k), n), labels, gates, prior_mean), labels, gates, prior_mean


def updates(labels, gates, prior_mean):
    return [
        lambda state: update_labels(state, labels),
        lambda state: update_responsibilities(state, labels),
        update_tilt,
        update_counts,
        lambda state: update_gates(state, gates, prior_mean),
    ]


@pytest.mark.parametrize("seed", range(3))
def test_no_single_update_lowers_the_bound(seed):
    state, labels, gates, prior_mean = problem(seed=seed)
    steps, rng = updates(labels, gates, prior_mean), np.random.default_rng(seed)
    bound = evidence_bound(state, labels)
    for step in rng.integers(len(steps), size=200):  # in any order: a tilt may be stale when others are updated
        state = steps[step](state)
        now = evidence_bound(state, labels)
        assert now >= bound - 1e-9 * abs(bound)
        bound = now


def test_inducing_gates_keep_it_a_bound_that_never_falls():
    _, labels, gates, prior_mean = problem()
    sparse = InducingGates.on(KERNEL, gates.X[:5], gates.X)
    state = MixtureState.start(np.random.default_rng(0).dirichlet(np.ones(4), 30), labels, sparse, prior_mean)
    bound, bounds = -np.inf, []
    for _ in range(15):
        for step in updates(labels, sparse, prior_mean):
            state = step(state)
            assert evidence_bound(state, labels) >= bound - 1e-9 * abs(bound)
            bound = evidence_bound(state, labels)
        bounds.append(bound)
    assert bounds[-1] > bounds[0] + 1


def normalised(phi):
    return phi / phi.sum(1, keepdims=True)


def test_nothing_raises_the_bound_at_the_fixed_point():
    state, labels, gates, prior_mean = problem(n=15)
    for _ in range(600):
        state = sweep(state, labels, gates, prior_mean)
    state = update_counts(update_tilt(update_responsibilities(update_labels(state, labels), labels)))
    best, rng = evidence_bound(state, labels), np.random.default_rng(1)

    def jolt(x):
        return x * np.exp(1e-3 * rng.standard_normal(x.shape))

    for name in ("responsibilities", "present", "absent", "tilt", "counts", "shape"):
        for _ in range(10):
            value = jolt(getattr(state, name))
            moved = replace(state, **{name: normalised(value) if name == "responsibilities" else value})
            assert evidence_bound(moved, labels) < best, name
    for _ in range(10):  # other Gaussians: those of other pseudo-observations
        shift = state.weights + state.precision * (state.mean - prior_mean)
        found = gates.infer(jolt(state.precision[:, 0]), jolt(shift[:, 0]))
        mean, variance, divergence = state.mean.copy(), state.variance.copy(), state.divergence.copy()
        mean[:, 0], variance[:, 0], divergence[0] = prior_mean[0] + found.mean, found.variance, found.divergence
        moved = replace(state, mean=mean, variance=variance, divergence=divergence)
        assert evidence_bound(moved, labels) < best


@pytest.mark.parametrize("mean", [0.0, -1.0])
def test_the_bound_is_below_the_evidence_by_brute_force(mean):
    n, k, q = 4, 2, 3
    state, labels, gates, _ = problem(n, k, q, seed=2)
    prior_mean = np.full(k, mean)
    state, _ = run_sweeps(state, labels, gates, prior_mean, MixtureSchedule(50, 200, 1e-9))
    rng = np.random.default_rng(0)
    f = mean + rng.standard_normal((20_000, k, n)) @ np.linalg.cholesky(gates.K + 1e-9 * np.eye(n)).T
    pi = expit(f) / expit(f).sum(1, keepdims=True)  # (s, k, n)
    terms = []
    for z in product(range(k), repeat=n):
        own = np.eye(k)[list(z)]  # (n, k)
        a, b = labels.prior_present + own.T @ labels.present, labels.prior_absent + own.T @ labels.absent
        fit = (betaln(a, b) - betaln(labels.prior_present, labels.prior_absent)).sum()
        terms.append(fit + np.log(np.prod(pi[:, list(z), np.arange(n)], axis=1).mean()))
    evidence = logsumexp(terms)
    bound = evidence_bound(state, labels)
    assert evidence - 8 < bound < evidence


def test_responsibilities_are_those_of_a_loop():
    state, labels, gates, prior_mean = problem(n=7)
    state = sweep(state, labels, gates, prior_mean)  # leaves the tilt stale
    full, printed = np.empty((2, 7, 4))
    for i in range(7):
        for k in range(4):
            a, b, m, s, c = state.present[k], state.absent[k], state.mean[i, k], state.variance[i, k], state.tilt[i, k]
            yes, no = labels.present[i], labels.absent[i]
            printed[i, k] = yes @ (digamma(a) - digamma(a + b)) + m / 2
            full[i, k] = printed[i, k] + no @ (digamma(b) - digamma(a + b)) - np.log(np.cosh(c / 2))
            full[i, k] -= 0.5 * np.tanh(c / 2) / (2 * c) * (m**2 + s - c**2)
    found = update_responsibilities(state, labels).responsibilities
    np.testing.assert_allclose(found, normalised(np.exp(full)), rtol=1e-10)
    found = update_responsibilities(state, labels, printed=True).responsibilities
    np.testing.assert_allclose(found, normalised(np.exp(printed)), rtol=1e-10)


def test_the_full_equation_reaches_a_higher_bound_than_the_printed_one():
    state, labels, gates, prior_mean = problem(n=60, seed=4)
    _, full = run_sweeps(state, labels, gates, prior_mean, MixtureSchedule())
    _, printed = run_sweeps(state, labels, gates, prior_mean, MixtureSchedule(printed=True))
    assert full[-1] > printed[-1] + 1
    assert np.all(np.diff(full) > -1e-9 * abs(full[-1]))


def test_sweeps_end_when_the_bound_stands_still():
    state, labels, gates, prior_mean = problem()
    seen = []
    _, bounds = run_sweeps(
        state, labels, gates, prior_mean, MixtureSchedule(), lambda step, bound: seen.append((step, bound))
    )
    assert 6 <= len(bounds) < 60
    assert abs(bounds[-1] - bounds[-2]) < 1e-5 * abs(bounds[-1]) <= abs(bounds[-2] - bounds[-3]) or len(bounds) == 6
    assert seen == list(enumerate(bounds))


class CountingGates:
    """Gates that count how often one of them is inferred."""

    def __init__(self, gates):
        self.gates, self.calls = gates, 0
        self.n_weights, self.prior_variance, self.workspace = gates.n_weights, gates.prior_variance, gates.workspace

    def infer(self, precision, shift, workspace):
        self.calls += 1
        return self.gates.infer(precision, shift, workspace)


def test_only_gates_whose_items_changed_are_updated():
    state, labels, gates, prior_mean = problem()
    state, _ = run_sweeps(state, labels, gates, prior_mean, MixtureSchedule(60, 60, least_change=0.0))
    counting = CountingGates(gates)
    update_gates(state, counting, prior_mean, least_change=0.03)
    assert counting.calls == 0  # converged
    moved = state.responsibilities.copy()
    moved[:, [1, 2]] = moved[:, [2, 1]]
    found = update_gates(replace(state, responsibilities=moved), counting, prior_mean, least_change=0.03)
    assert counting.calls == 2
    np.testing.assert_array_equal(found.mean[:, [0, 3]], state.mean[:, [0, 3]])
    np.testing.assert_array_equal(found.precision[:, [0, 3]], state.precision[:, [0, 3]])
    assert not np.allclose(found.mean[:, 1], state.mean[:, 1])
    update_gates(state, counting, prior_mean)
    assert counting.calls == 6  # by default all, for instance with another kernel


def test_sweeps_that_leave_settled_gates_alone_end_at_the_same_bound_with_less_work():
    state, labels, gates, prior_mean = problem()
    every, some = CountingGates(gates), CountingGates(gates)
    _, full = run_sweeps(state, labels, every, prior_mean, MixtureSchedule(60, 60, least_change=0.0))
    _, bounds = run_sweeps(state, labels, some, prior_mean, MixtureSchedule(60, 60, least_change=0.03))
    assert every.calls == 60 * 4
    assert some.calls < every.calls / 3
    assert np.all(np.diff(bounds) > -1e-9 * abs(bounds[-1]))
    assert bounds[-1] == pytest.approx(full[-1], rel=1e-3)


@pytest.mark.parametrize("n_threads", [2, 9])
def test_threads_over_gates_change_nothing(n_threads):
    state, labels, gates, prior_mean = problem()
    alone, together = (sweep(state, labels, gates, prior_mean, n_threads=threads) for threads in (1, n_threads))
    for name in ("mean", "variance", "weights", "divergence", "precision"):
        np.testing.assert_array_equal(getattr(together, name), getattr(alone, name))


def test_flipping_a_label_with_its_prior_changes_nothing_else():
    state, labels, gates, prior_mean = problem()
    flip = np.array([True, False, True, False, False, False])
    swapped = MixtureLabels(
        np.where(flip, labels.absent, labels.present),
        np.where(flip, labels.present, labels.absent),
        np.where(flip, labels.prior_absent, labels.prior_present),
        np.where(flip, labels.prior_present, labels.prior_absent),
    )
    end, bounds = run_sweeps(state, labels, gates, prior_mean, MixtureSchedule(8, 8))
    start = MixtureState.start(state.responsibilities, swapped, gates, prior_mean)
    other, flipped = run_sweeps(start, swapped, gates, prior_mean, MixtureSchedule(8, 8))
    np.testing.assert_allclose(flipped, bounds, rtol=1e-12)
    np.testing.assert_allclose(
        (other.present / (other.present + other.absent))[:, 0], (end.absent / (end.present + end.absent))[:, 0]
    )


def test_components_and_labels_may_be_permuted():
    state, labels, gates, prior_mean = problem()
    order, of_labels = np.array([2, 0, 3, 1]), np.array([5, 1, 0, 2, 4, 3])
    end, bounds = run_sweeps(state, labels, gates, prior_mean, MixtureSchedule(8, 8))
    parts = (labels.present, labels.absent, labels.prior_present, labels.prior_absent)
    permuted = MixtureLabels(*(each[..., of_labels] for each in parts))
    start = MixtureState.start(state.responsibilities[:, order], permuted, gates, prior_mean[order])
    other, again = run_sweeps(start, permuted, gates, prior_mean[order], MixtureSchedule(8, 8))
    np.testing.assert_allclose(again, bounds, rtol=1e-12)
    np.testing.assert_allclose(other.responsibilities, end.responsibilities[:, order], atol=1e-9)
    np.testing.assert_allclose(other.present, end.present[order][:, of_labels], rtol=1e-9)


def test_an_unknown_label_is_a_label_removed():
    state, labels, gates, prior_mean = problem(share=1.0)
    hidden = replace(labels, present=labels.present.copy(), absent=labels.absent.copy())
    hidden.present[:, 5], hidden.absent[:, 5] = 0.0, 0.0
    removed = MixtureLabels(
        labels.present[:, :5], labels.absent[:, :5], labels.prior_present[:5], labels.prior_absent[:5]
    )
    found = []
    for each in (hidden, removed):
        start = MixtureState.start(state.responsibilities, each, gates, prior_mean)
        end, bounds = run_sweeps(start, each, gates, prior_mean, MixtureSchedule(10, 10))
        found.append((end.responsibilities, bounds))
    np.testing.assert_allclose(found[0][0], found[1][0], atol=1e-12)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-12)


def test_dropping_components_hands_their_items_on():
    state, labels, gates, prior_mean = problem()
    state = sweep(state, labels, gates, prior_mean)
    kept = state.keep(np.array([True, False, True, True]))
    assert kept.n_components == 3
    np.testing.assert_allclose(kept.responsibilities.sum(1), 1.0)
    np.testing.assert_allclose(kept.shape, 1 + kept.counts.sum(1))
    np.testing.assert_array_equal(kept.present, state.present[[0, 2, 3]])


@pytest.mark.parametrize("share", [1e-12, 1e-3, 0.2, 0.7, 0.99, 1 - 1e-8])
def test_gamma_shape_solves_its_equation(share):
    alpha = gamma_shape(np.array([share]))[0]
    assert alpha - 1 == pytest.approx(share * np.exp(digamma(alpha)), rel=1e-7)
    if share < 0.99:  # what alternating updates of λ and v come to in the end
        slow = 1.0
        for _ in range(3000):
            slow = 1 + share * np.exp(digamma(slow))
        assert alpha == pytest.approx(slow, rel=1e-12)


def test_counts_and_shape_belong_together():
    state, *_ = problem()
    np.testing.assert_allclose(state.shape, 1 + state.counts.sum(1), rtol=1e-12)


def test_stable_forms_are_the_plain_ones():
    c = np.array([0.0, 1e-9, 9e-5, 1.1e-4, 0.3, 5.0, 80.0, 2000.0])
    np.testing.assert_allclose(log_two_cosh(c[:-1]), np.log(2 * np.cosh(c[:-1])), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(log_two_cosh(-c), log_two_cosh(c))
    assert log_two_cosh(c[-1]) == pytest.approx(2000)


def mixture(n, k, q, seed=0):
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.ones(k), n), rng.beta(0.3, 2.0, (k, q)) * 0.98 + 0.01


def dense_covariance(weights, theta):
    """E[y yᵀ] − p pᵀ, with E[y_l y_l'] = Σ π θ_l θ_l' off the diagonal."""
    p = weights @ theta
    second = np.einsum("nk,kl,km->nlm", weights, theta, theta)
    second[:, np.arange(theta.shape[1]), np.arange(theta.shape[1])] = p
    return second - p[:, :, None] * p[:, None, :]


@pytest.mark.parametrize(("k", "q"), [(4, 9), (9, 4), (1, 3), (5, 1)])
def test_diagonal_and_factor_make_the_covariance(k, q):
    weights, theta = mixture(6, k, q)
    factor = mixture_factor(weights, theta)
    found = factor @ factor.swapaxes(1, 2)
    found[:, np.arange(q), np.arange(q)] += own_variances(weights, theta)
    np.testing.assert_allclose(found, dense_covariance(weights, theta), atol=1e-14)
    p = weights @ theta
    np.testing.assert_allclose(found.diagonal(axis1=1, axis2=2), p * (1 - p), rtol=1e-12)
    assert np.linalg.eigvalsh(found).min() > 0


@pytest.mark.parametrize(("k", "q"), [(12, 300), (30, 14), (6, 6), (1, 5), (7, 1)])
def test_log_determinants_are_those_of_dense_matrices(k, q):
    weights, theta = mixture(40, k, q)
    expected = np.linalg.slogdet(dense_covariance(weights, theta))[1]
    np.testing.assert_allclose(mixture_log_determinants(weights, theta), expected, rtol=1e-12, atol=1e-9)


def test_labels_that_are_nearly_certain_keep_their_digits():
    rng = np.random.default_rng(0)
    weights, theta = rng.dirichlet(np.ones(5), 8), 1 - 1e-6 * rng.random((5, 20))
    theta[:, :10] = 1e-6 * rng.random((5, 10))
    expected = np.linalg.slogdet(dense_covariance(weights, 1 - theta))[1]  # the same but for a change of sign
    np.testing.assert_allclose(mixture_log_determinants(weights, theta), expected, rtol=1e-9)


def test_one_label_is_uncertainty():
    weights, theta = mixture(9, 4, 1)
    p = (weights @ theta)[:, 0]
    np.testing.assert_allclose(mixture_log_determinants(weights, theta), np.log(p * (1 - p)), rtol=1e-12)


def test_block_size_does_not_matter(monkeypatch):
    weights, theta = mixture(23, 4, 9)
    whole = mixture_log_determinants(weights, theta)
    monkeypatch.setattr("labelwise.numerics.mixture.bernoulli_mixture.BLOCK_NUMBERS", 48)
    np.testing.assert_allclose(mixture_log_determinants(weights, theta), whole, rtol=1e-13)


def test_covariance_is_that_of_simulated_labels():
    """Label probabilities drawn from Betas, a component, then labels: their doubt adds nothing to the covariance."""
    rng = np.random.default_rng(0)
    a, b, weights = rng.uniform(0.5, 4, (3, 4)), rng.uniform(0.5, 4, (3, 4)), rng.dirichlet(np.ones(3), 1)
    component = rng.choice(3, size=400_000, p=weights[0])
    labels = rng.random((400_000, 4)) < rng.beta(a[component], b[component])
    factor = mixture_factor(weights, a / (a + b))[0]
    expected = factor @ factor.T + np.diag(own_variances(weights, a / (a + b))[0])
    np.testing.assert_allclose(np.cov(labels.T.astype(float)), expected, atol=4 * 0.25 / np.sqrt(400_000))
