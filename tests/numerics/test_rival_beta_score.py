"""The Beta score from outside: losses by quadrature, gains by going through both answers with weighted draws."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import multivariate_normal

from labelwise.numerics.beta_score import beta_losses, beta_regret, expected_regret, means_after_answers
from labelwise.numerics.gp.bivariate_normal import normal_excess

POWERS = [(0.1, 1.0), (0.1, 3.0), (1.0, 1.0), (0.5, 0.5), (2.5, 1.7), (1.0, 4.0), (3.0, 0.2)]  # α, β
LOG = (0.0, 0.0)
inside = st.floats(1e-3, 1 - 1e-3)
powers = st.sampled_from([*POWERS, LOG])


def integral(f, low, high):
    """∫ f; the ends 0 and 1, where the weight may be infinite, are reached by t = u^20 or 1 − u^20."""

    def reach(u):  # near 0
        return f(u**20, 1 - u**20) * 20 * u**19

    def reach_back(u):  # near 1
        return f(1 - u**20, u**20) * 20 * u**19

    middle = float(np.clip(0.5, low, high))
    below = quad(reach, low**0.05, middle**0.05, epsabs=1e-13, epsrel=1e-11, limit=200)[0]
    above = quad(reach_back, (1 - high) ** 0.05, (1 - middle) ** 0.05, epsabs=1e-13, epsrel=1e-11, limit=200)[0]
    return below + above


def loss_if_absent(p, alpha, beta):
    """∫_0^p t · t^(α−1) (1−t)^(β−1) dt."""
    return integral(lambda t, rest: t**alpha * rest ** (beta - 1), 0.0, p)


def loss_if_present(p, alpha, beta):
    """∫_p^1 (1−t) · t^(α−1) (1−t)^(β−1) dt."""
    return integral(lambda t, rest: t ** (alpha - 1) * rest**beta, p, 1.0)


def regret(truth, belief, alpha, beta):
    """What is lost by saying `belief`, by quadrature of ∫ (truth − t) w(t) dt between the two: one sign throughout."""
    low, high = min(truth, belief), max(truth, belief)
    return integral(lambda t, rest: abs(truth - t) * t ** (alpha - 1) * rest ** (beta - 1), low, high)


def draws(s, n, q, seed):
    """(s, n, q) probabilities, rare and common ones."""
    rng = np.random.default_rng(seed)
    return 1 / (1 + np.exp(-rng.normal(0, 1.5, (s, 1, q)) * rng.normal(size=(1, n, q)) - rng.normal(-1, 1, (s, n, q))))


def covariances(p):
    """(n, n, q) over draws, divided by their number."""
    centred = p - p.mean(0)
    return np.einsum("siq,skq->ikq", centred, centred) / len(p)


def gains_by_answers(p, alpha, beta, distance=regret):
    """(n, n, q): for each item, each reference and each label, both answers, with the draws weighted by likelihood."""
    _, n, q = p.shape
    found = np.zeros((n, n, q))
    for i in range(n):
        for j in range(q):
            for answer in (0, 1):
                likelihood = p[:, i, j] if answer else 1 - p[:, i, j]
                weights = likelihood / likelihood.sum()
                for k in range(n):
                    after = float(weights @ p[:, k, j])
                    before = float(p[:, k, j].mean())
                    found[i, k, j] += likelihood.mean() * distance(after, before, alpha, beta)
    return found


def entropy(p):
    return -sum(x * np.log(x) for x in p if x > 0)


# ---- losses


@pytest.mark.parametrize("powers", POWERS)
@pytest.mark.parametrize("p", [1e-6, 0.03, 0.3, 0.7, 0.999])
def test_losses_by_quadrature(p, powers):
    """Section 1, score: ℓ₀(p) = ∫_0^p t w dt and ℓ₁(p) = ∫_p^1 (1−t) w dt with w = t^(α−1) (1−t)^(β−1)."""
    absent, present = beta_losses(np.array([p]), *powers)
    assert_allclose(absent, loss_if_absent(p, *powers), rtol=1e-8, atol=1e-13)
    assert_allclose(present, loss_if_present(p, *powers), rtol=1e-8, atol=1e-13)


def test_the_whole_sum_of_the_pitfall():
    """Section 1, pitfalls: ℓ₀(0.7) at α = 0.1, β = 3 is 0.271; a sum without its last term has 0.164."""
    assert_allclose(beta_losses(np.array([0.7]), 0.1, 3.0)[0], 0.271, atol=5e-4)


def test_powers_that_are_not_whole_are_not_rounded():
    """Section 1, pitfalls: β that is not an integer is not to be cut off, and α counts where β < 1."""
    p = np.array([0.4])
    for one, other in [((0.1, 2.5), (0.1, 2.0)), ((0.1, 0.5), (1.0, 0.5))]:
        for first, second in zip(beta_losses(p, *one), beta_losses(p, *other), strict=True):
            assert abs(first[0] - second[0]) > 0.01


@given(powers, st.lists(inside, min_size=2, max_size=6, unique=True))
@settings(deadline=None, max_examples=60)
def test_losses_grow_with_the_error(powers, p):
    """Section 1, score: the first loss grows with p and the second falls; both are never negative."""
    absent, present = beta_losses(np.sort(p), *powers)
    assert (absent >= 0).all() and (present >= 0).all()
    assert (np.diff(absent) >= 0).all() and (np.diff(present) <= 0).all()
    assert absent[-1] > absent[0] or np.ptp(p) < 1e-6


def test_brier_and_logarithm():
    """Section 1, score: α = β = 1 is half Brier; α = β = 0 are the logarithms."""
    p = np.linspace(0.01, 0.99, 23).reshape(1, 23)
    absent, present = beta_losses(p, 1.0, 1.0)
    assert_allclose(absent, p**2 / 2, rtol=1e-12)
    assert_allclose(present, (1 - p) ** 2 / 2, rtol=1e-12)
    absent, present = beta_losses(p, *LOG)
    assert_allclose(absent, -np.log1p(-p), rtol=1e-12)
    assert_allclose(present, -np.log(p), rtol=1e-12)


@pytest.mark.parametrize("powers", POWERS)
def test_losses_at_the_ends(powers):
    """Section 1, score: no loss where the belief was certain and right; where wrong, the whole integral."""
    alpha, beta = powers
    absent, present = beta_losses(np.array([0.0, 1.0]), alpha, beta)
    assert_allclose([absent[0], present[1]], 0.0, atol=1e-15)
    assert_allclose(absent[1], loss_if_absent(1.0, alpha, beta), rtol=1e-8)
    assert_allclose(present[0], loss_if_present(0.0, alpha, beta), rtol=1e-8)


# ---- regret


@given(powers, inside, inside)
@settings(deadline=None, max_examples=150)
def test_regret_by_quadrature(powers, truth, belief):
    """Section 1, score: d(a, b) by J, which is ∫ (a−t) w dt from b to a; where nearly equal, up to rounding."""
    got = beta_regret(np.array([truth]), np.array([belief]), *powers)
    assert_allclose(got, regret(truth, belief, *powers), rtol=1e-7, atol=1e-12)


@given(powers, inside, inside)
@settings(deadline=None, max_examples=100)
def test_regret_is_the_expected_loss_too_much(powers, truth, belief):
    """Section 1, score: d(a, b) is E[loss of b] − E[loss of a] where a is the truth."""
    (absent, present), (best_absent, best_present) = (beta_losses(np.array([x]), *powers) for x in (belief, truth))
    expected = truth * (present - best_present) + (1 - truth) * (absent - best_absent)
    assert_allclose(beta_regret(np.array([truth]), np.array([belief]), *powers), expected, rtol=1e-6, atol=1e-12)


@given(powers, st.lists(inside, min_size=3, max_size=8), st.integers(0, 1000))
@settings(deadline=None, max_examples=60)
def test_regret_is_proper(powers, p, seed):
    """Section 1, score: no belief is better than the truth, and of Σ w d(a, b) the mean of the truths is the best b.

    The rest is the identity of Bregman distances, Σ w d(a, b) = Σ w d(a, ā) + d(ā, b).
    """
    truth, weights = np.array(p), np.random.default_rng(seed).dirichlet(np.ones(len(p)))
    mean = np.full(len(p), weights @ truth)
    assert_allclose(beta_regret(truth, truth, *powers), 0.0, atol=1e-14)
    for belief in (0.01, 0.3, 0.9):
        there = np.full(len(p), belief)
        left = weights @ beta_regret(truth, there, *powers)
        right = weights @ beta_regret(truth, mean, *powers) + beta_regret(mean, there, *powers)[0]
        assert_allclose(left, right, rtol=1e-8, atol=1e-12)
        assert (beta_regret(truth, there, *powers) >= 0).all()


@pytest.mark.parametrize("powers", [*POWERS, LOG])
@pytest.mark.parametrize("belief", [1e-7, 0.02, 0.5, 0.97])
def test_regret_of_a_small_step_is_half_its_square(belief, powers):
    """Section 1, score: near b, d(a, b) = w(b) (a − b)² / 2, with no digits lost to the difference of two J's."""
    weight = belief ** (powers[0] - 1) * (1 - belief) ** (powers[1] - 1)
    step = 1e-6 * min(belief, 1 - belief)
    got = beta_regret(np.array([belief + step, belief - step]), np.array([belief, belief]), *powers)
    exact_steps = (np.array([belief + step, belief - step]) - belief) ** 2
    assert_allclose(got, weight * exact_steps / 2, rtol=1e-4)


@pytest.mark.parametrize("powers", [*POWERS, LOG])
def test_regret_turned_round(powers):
    """Section 1, score: w of (β, α) is that of (α, β) with t turned into 1 − t, so d is, too."""
    a, b = np.random.default_rng(0).uniform(0.01, 0.99, (2, 40))
    assert_allclose(beta_regret(a, b, *powers), beta_regret(1 - a, 1 - b, *powers[::-1]), rtol=1e-8, atol=1e-13)


def test_regret_of_known_scores():
    """Section 1, score: α = β = 1 gives (a − b)² / 2, α = β = 0 the Kullback-Leibler divergence."""
    a, b = np.random.default_rng(1).uniform(0.001, 0.999, (2, 6, 7))
    assert_allclose(beta_regret(a, b, 1.0, 1.0), (a - b) ** 2 / 2, rtol=1e-9, atol=1e-14)
    divergence = a * np.log(a / b) + (1 - a) * np.log((1 - a) / (1 - b))
    assert_allclose(beta_regret(a, b, *LOG), divergence, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("powers", POWERS)
def test_regret_of_a_certain_truth_is_its_loss(powers):
    """Section 1, score: d(0, b) = ℓ₀(b) and d(1, b) = ℓ₁(b), as the losses of the truth are 0."""
    b = np.array([0.02, 0.5, 0.97])
    absent, present = beta_losses(b, *powers)
    assert_allclose(beta_regret(np.zeros(3), b, *powers), absent, rtol=1e-9)
    assert_allclose(beta_regret(np.ones(3), b, *powers), present, rtol=1e-9)


def test_a_small_alpha_weighs_rare_labels():
    """Section 1, idea: the same step counts more where labels are rare, and where α = 0.1, β = 3 much more."""
    rare, common = (beta_regret(np.array([a]), np.array([b]), 0.1, 3.0)[0] for a, b in [(0.03, 0.01), (0.99, 0.97)])
    assert rare > 100 * common
    assert_allclose(
        beta_regret(np.array([0.03]), np.array([0.01]), 1.0, 1.0),
        beta_regret(np.array([0.99]), np.array([0.97]), 1.0, 1.0),
        rtol=1e-9,
    )


# ---- gains


@pytest.mark.parametrize("powers", [(0.1, 1.0), (0.1, 3.0), (0.5, 0.5)])
def test_gains_of_three_draws_through_both_answers(powers):
    """Section 1, tests: brute force with S = 3 and n = 4 over both answers, every distance by quadrature."""
    p = draws(3, 4, 2, 0)
    got = expected_regret(p.mean(0), p.mean(0), covariances(p), *powers)
    assert_allclose(got, gains_by_answers(p, *powers), rtol=1e-6, atol=1e-12)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 5), st.integers(1, 3), powers)
@settings(deadline=None, max_examples=60)
def test_gains_of_any_draws(seed, s, n, q, powers):
    """Section 1, gain and shortcut: means and covariances suffice; gains are never negative; one draw has none."""

    def distance(a, b, alpha, beta):
        return beta_regret(np.array([a]), np.array([b]), alpha, beta)[0]

    p = draws(s, n, q, seed)
    got = expected_regret(p.mean(0), p.mean(0), covariances(p), *powers)
    assert got.shape == (n, n, q)
    assert_allclose(got, gains_by_answers(p, *powers, distance), rtol=1e-6, atol=1e-12)
    assert (got >= -1e-15).all()
    if s == 1:
        assert_allclose(got, 0.0, atol=1e-15)


def test_means_after_answers_by_weighted_draws():
    """Section 1, shortcut and tests: p̂¹ = p̄ + C / p̄_i and p̂⁰ = p̄ − C / (1 − p̄_i), and Σ_y P(y) p̂ʸ = p̄."""
    p = draws(5, 4, 2, 9)
    mean = p.mean(0)
    yes, no = means_after_answers(mean, mean, covariances(p))
    for i in range(4):
        for j in range(2):
            assert_allclose(yes[i, :, j], p[:, i, j] @ p[:, :, j] / p[:, i, j].sum(), rtol=1e-10)
            assert_allclose(no[i, :, j], (1 - p[:, i, j]) @ p[:, :, j] / (1 - p[:, i, j]).sum(), rtol=1e-10)
            assert_allclose(mean[i, j] * yes[i, :, j] + (1 - mean[i, j]) * no[i, :, j], mean[:, j], rtol=1e-12)


def test_references_may_be_other_items():
    """Section 1, notation: reference items k are m others; r is (n, m, q), asked items first."""
    p = draws(5, 7, 2, 3)
    every = expected_regret(p.mean(0), p.mean(0), covariances(p), 0.1, 3.0)
    some = expected_regret(p[:, :3].mean(0), p[:, 3:].mean(0), covariances(p)[:3, 3:], 0.1, 3.0)
    assert some.shape == (3, 4, 2)
    assert_allclose(some, every[:3, 3:], rtol=1e-12)
    assert np.abs(every - every.swapaxes(0, 1)).max() > 0.01 * every.max()  # so the order of the two matters


@pytest.mark.parametrize("powers", [*POWERS, LOG])
def test_no_covariance_no_gain(powers):
    """Section 1, tests: C = 0 or identical samples give r = 0, also where a label is certain."""
    p = np.array([[0.2, 0.0], [0.9, 1.0], [0.5, 0.4]])
    got = expected_regret(p, p, np.zeros((3, 3, 2)), *powers)
    assert_allclose(got, 0.0, atol=1e-14)


def test_brier_gain():
    """Section 1, shortcut: with α = β = 1, r = C² / (2 p̄ (1 − p̄)) of the item that is asked."""
    p = draws(6, 5, 3, 4)
    C, mean = covariances(p), p.mean(0)
    expected = C**2 / (2 * mean * (1 - mean))[:, None, :]
    assert_allclose(expected_regret(mean, mean, C, 1.0, 1.0), expected, rtol=1e-9, atol=1e-15)


def test_log_gain_is_the_mutual_information_of_two_labels():
    """Section 1, shortcut: with α = β = 0, r is I(y_i; y_k) of the four joint probabilities, p̄_i p̄_k + C and so on."""
    p = draws(6, 4, 2, 5)
    mean = p.mean(0)
    got = expected_regret(mean, mean, covariances(p), *LOG)
    for i in range(4):
        for k in range(4):
            for j in range(2):
                both, one, other = (p[:, i, j] * p[:, k, j]).mean(), mean[i, j], mean[k, j]
                joint = [both, one - both, other - both, 1 - one - other + both]
                expected = entropy([one, 1 - one]) + entropy([other, 1 - other]) - entropy(joint)
                assert_allclose(got[i, k, j], expected, rtol=1e-7, atol=1e-13)


def test_log_gain_of_an_item_about_another_is_mutual():
    """Section 1, shortcut: information is mutual, so that r of the logarithm is symmetric."""
    p = draws(8, 5, 2, 6)
    got = expected_regret(p.mean(0), p.mean(0), covariances(p), *LOG)
    assert_allclose(got, got.swapaxes(0, 1), rtol=1e-7, atol=1e-14)


@pytest.mark.parametrize("powers", [(0.1, 3.0), (1.0, 1.0), LOG])
@pytest.mark.parametrize(("a", "b"), [(0.3, 4.0), (2.0, 2.0), (7.0, 1.5)])
def test_gain_of_a_beta_rate_in_a_cell(a, b, powers):
    """Section 1, posteriors: a shared rate Beta(a, b) has C = ab / ((a+b)² (a+b+1)), and after an answer the mean
    (a+1) / (a+b+1) or a / (a+b+1); nothing between cells."""
    mean, total = a / (a + b), a + b
    C = np.array([[[a * b / (total**2 * (total + 1))], [0.0]]])  # (1, 2, 1): the own cell and another
    got = expected_regret(np.array([[mean]]), np.array([[mean], [mean]]), C, *powers)
    expected = mean * regret((a + 1) / (total + 1), mean, *powers) + (1 - mean) * regret(a / (total + 1), mean, *powers)
    assert_allclose(got[0, :, 0], [expected, 0.0], rtol=1e-7, atol=1e-13)


def test_an_item_as_its_own_reference():
    """Section 1, tests: an item as its own reference has C = Var; a label known up to its answer has p̂ = 1 and 0."""
    p = np.array([[0.0], [0.0], [1.0], [0.0]])[:, :, None]  # (4, 1, 1) draws that are certain each
    got = expected_regret(p.mean(0), p.mean(0), covariances(p), 0.1, 3.0)
    expected = 0.25 * loss_if_present(0.25, 0.1, 3.0) + 0.75 * loss_if_absent(0.25, 0.1, 3.0)
    assert_allclose(got[0, 0, 0], expected, rtol=1e-8)


@pytest.mark.parametrize("powers", [(0.1, 1.0), (0.1, 3.0), LOG])
def test_gains_tell_items_apart(powers):
    """Section 2, pitfalls: the released score is the same for all items; r is not, and grows with |C|."""
    shares = np.array([0.1, 0.3, 0.6, 1.0])
    p = np.full((4, 1), 0.3)
    C = (shares * 0.3 * 0.7)[:, None, None]  # (4, 1, 1) of four items with one reference
    got = expected_regret(p, p[:1], C, *powers)[:, 0, 0]
    assert (np.diff(got) > 0).all() and got[-1] > 10 * got[0]


def test_gain_against_simulated_answers():
    """Section 1, gain: the expected rise of the score itself, by drawing truths of both items from one draw."""
    rng = np.random.default_rng(7)
    p = draws(5, 2, 1, 8)[:, :, 0]  # (5, 2)
    mean, alpha, beta = p.mean(0), 0.1, 3.0
    drawn = rng.integers(0, 5, 400_000)
    asked, other = rng.random((2, drawn.size)) < p[drawn].T
    after = np.array([(1 - p[:, 0]) @ p[:, 1] / (1 - p[:, 0]).sum(), p[:, 0] @ p[:, 1] / p[:, 0].sum()])
    losses = np.array([beta_losses(np.array([x]), alpha, beta) for x in (mean[1], *after)])[:, :, 0]  # (3, 2)
    saved = losses[0, other.astype(int)] - losses[1 + asked.astype(int), other.astype(int)]
    C = covariances(p[:, :, None])
    got = expected_regret(mean[:1, None], mean[1:, None], C[:1, 1:], alpha, beta)[0, 0, 0]
    assert abs(got - saved.mean()) < 4 * saved.std() / np.sqrt(saved.size)
    assert got > 8 * saved.std() / np.sqrt(saved.size)  # so that 0 would be noticed


# ---- covariances of Gaussian beliefs


def test_covariance_of_gaussian_beliefs_by_quadrature():
    """Section 1, posteriors: E[p_i p_k] − p̄_i p̄_k = Φ₂(z_i, z_k; ρ) − Φ(z_i) Φ(z_k) with p = Φ(f), z = mean / √(1+v)
    and ρ = c / √((1+v_i)(1+v_k)), against Gauss-Hermite quadrature over both latents."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    rng = np.random.default_rng(10)
    for _ in range(20):
        root, mean = rng.normal(size=(2, 2)), rng.normal(size=2)
        V = root @ root.T
        L = np.linalg.cholesky(V)
        f = mean[0] + L[0, 0] * nodes[:, None], mean[1] + L[1, 0] * nodes[:, None] + L[1, 1] * nodes
        p = [np.broadcast_to(ndtr(g), (80, 80)) for g in f]
        first, second, both = (weights @ g @ weights for g in (*p, p[0] * p[1]))
        z, scale = mean / np.sqrt(1 + np.diag(V)), np.sqrt((1 + V[0, 0]) * (1 + V[1, 1]))
        assert_allclose(ndtr(z), [first, second], atol=1e-9)
        assert_allclose(normal_excess(z[0], z[1], V[0, 1] / scale), both - first * second, atol=1e-7)


@given(st.floats(-4, 4), st.floats(-4, 4), st.floats(-0.999, 0.999))
@settings(deadline=None, max_examples=80)
def test_excess_of_two_normals(a, b, correlation):
    """Section 1, posteriors: Φ₂ − ΦΦ by scipy's Φ₂; no more than labels allow, the sign that of the correlation."""
    got = float(np.squeeze(normal_excess(a, b, correlation)))
    both = multivariate_normal([0, 0], [[1, correlation], [correlation, 1]]).cdf([a, b])
    assert_allclose(got, both - ndtr(a) * ndtr(b), atol=2e-7)
    assert got * correlation >= -1e-15
    assert got <= min(ndtr(a), ndtr(b)) - ndtr(a) * ndtr(b) + 1e-12


def test_excess_at_the_ends_of_the_correlation():
    """Section 1, tests: an item as its own reference (ρ = 1) and as its opposite (ρ = −1); none without correlation."""
    a, b = np.array([-2.0, 0.0, 0.7]), np.array([0.3, 0.0, 1.5])
    assert_allclose(normal_excess(a, b, 1.0), np.minimum(ndtr(a), ndtr(b)) - ndtr(a) * ndtr(b), atol=1e-9)
    assert_allclose(normal_excess(a, b, -1.0), np.maximum(ndtr(a) + ndtr(b) - 1, 0) - ndtr(a) * ndtr(b), atol=1e-9)
    assert_allclose(normal_excess(a, b, 0.0), 0.0, atol=1e-15)
