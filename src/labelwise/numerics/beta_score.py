"""Beta scoring rules: losses of a probability, what a wrong probability costs, and what an answer is expected to gain.

The weight w(t) = t^(α−1) (1 − t)^(β−1) says how much a mistake costs whose threshold is at t. α = β = 1 is half the
Brier score, α = β = 0 the logarithmic score, and α < β weighs rare labels higher.

Source: Buja, Stuetzle & Shen, Loss functions for binary class probability estimation and classification, 2005.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
from scipy.special import beta as beta_function
from scipy.special import betainc, betaincc, kl_div, roots_jacobi

from labelwise.numerics.arrays import BoolArray, FloatArray

NEAR, FAR = 1.1, 2.0  # up to these ratios of two probabilities FEW and MANY points integrate between them
FEW, MANY = 4, 9
MOST_POWERS = 8  # of a polynomial that is multiplied out


def beta_losses(p: Any, alpha: float, beta: float) -> tuple[FloatArray, FloatArray]:
    """Loss of the probability p where the label is absent, ∫₀ᵖ t w(t) dt, and where it is present, ∫ₚ¹ (1 − t) w(t) dt.

    >>> absent, present = beta_losses(np.array([0.2, 0.6]), 1, 1)  # half the Brier score
    >>> absent.round(3), present.round(3)
    (array([0.02, 0.18]), array([0.32, 0.08]))
    """
    _check_weight(alpha, beta)
    p = np.asarray(p, dtype=np.float64)
    if alpha == 0:
        with np.errstate(divide="ignore"):
            return -np.log1p(-p), -np.log(p)
    absent = beta_function(alpha + 1, beta) * betainc(alpha + 1, beta, p)
    return absent, beta_function(alpha, beta + 1) * betaincc(alpha, beta + 1, p)


def beta_regret(truth: Any, belief: Any, alpha: float, beta: float) -> FloatArray:
    """Expected loss of believing b rather than a, where a is true: d(a, b) = ∫ (a − t) w(t) dt from b to a.

    It is never below 0. With α = β = 0 it is the Kullback-Leibler divergence. Between probabilities within a factor of
    two it is integrated by Gauss-Jacobi, with (a − b)² taken out, so that nothing cancels; otherwise by incomplete beta
    functions.

    >>> beta_regret(0.5, np.array([0.5, 0.4, 0.2]), 1, 1)
    array([0.   , 0.005, 0.045])
    """
    _check_weight(alpha, beta)
    a, b = np.broadcast_arrays(np.asarray(truth, dtype=np.float64), np.asarray(belief, dtype=np.float64))
    if alpha == beta == 1:
        return 0.5 * (a - b) ** 2
    near, medium = _within(a, b, NEAR, alpha, beta), _within(a, b, FAR, alpha, beta)
    result = np.zeros(a.shape)
    for chosen, integrate in (
        (near, lambda x, y: _by_quadrature(x, y, alpha, beta, FEW)),
        (medium & ~near, lambda x, y: _by_quadrature(x, y, alpha, beta, MANY)),
        (~medium & (a != b), lambda x, y: _by_integrals(x, y, alpha, beta)),
    ):
        if chosen.all():
            return integrate(a, b)
        if chosen.any():
            result[chosen] = integrate(a[chosen], b[chosen])
    return result


def expected_regret(
    p_asked: FloatArray, p_reference: FloatArray, covariance: FloatArray, alpha: float, beta: float
) -> FloatArray:
    """(n, m, q) how much the score of label j at a reference item is expected to rise by its answer at an asked item.

    An answer moves the mean p̄ at the reference item to p̄ + C / P(yes) or to p̄ − C / P(no), C the covariance of the two
    probabilities: exact for any belief. The gain is the expected regret of not having moved.

    Parameters
    ----------
    p_asked : (n, q)
    p_reference : (m, q)
    covariance : (n, m, q) of the probabilities of the label at both items, by what the model does not know

    >>> p, C = np.array([[0.5]]), np.array([[[0.05]]])
    >>> expected_regret(p, p, C, 1, 1)  # C² / (2 p (1 − p))
    array([[[0.005]]])
    """
    yes, reference = np.broadcast_to(p_asked[:, None, :], covariance.shape), p_reference[None]
    present, absent = means_after_answers(p_asked, p_reference, covariance)
    return yes * beta_regret(present, reference, alpha, beta) + (1 - yes) * beta_regret(absent, reference, alpha, beta)


def means_after_answers(
    p_asked: FloatArray, p_reference: FloatArray, covariance: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """(n, m, q) probabilities at the reference items after yes and after no; unchanged where one of both is certain."""
    yes, shape = p_asked[:, None, :], covariance.shape
    is_open = (yes > 0) & (yes < 1) & (p_reference > 0) & (p_reference < 1)
    rise = np.divide(covariance, yes, out=np.zeros(shape), where=is_open)
    fall = np.divide(covariance, 1 - yes, out=np.zeros(shape), where=is_open)
    return np.clip(p_reference + rise, 0.0, 1.0), np.clip(p_reference - fall, 0.0, 1.0)


def _within(a: FloatArray, b: FloatArray, ratio: float, alpha: float, beta: float) -> BoolArray:
    """Where a and b are within this ratio, seen from every end at which w is no polynomial, and different from it."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    near = np.ones(a.shape, dtype=bool)
    if alpha != 1:
        near &= (high <= ratio * low) & (low > 0)
    if beta != 1:
        near &= (1 - low <= ratio * (1 - high)) & (high < 1)
    return near


def _by_quadrature(a: FloatArray, b: FloatArray, alpha: float, beta: float, points: int) -> FloatArray:
    """(a − b)² ∫₀¹ (1 − u) w(b + u (a − b)) du."""
    nodes, weights = roots_jacobi(points, 1, 0)
    gap, total = a - b, 0.0
    for node, weight in zip((nodes + 1) / 2, weights / 4, strict=True):
        t = b + node * gap
        log_w = 0.0 if alpha == 1 else (alpha - 1) * np.log(t)
        log_w = log_w if beta == 1 else log_w + (beta - 1) * np.log1p(-t)
        total = total + weight * np.exp(log_w)
    return gap**2 * total


def _by_integrals(a: FloatArray, b: FloatArray, alpha: float, beta: float) -> FloatArray:
    """a [J(a) − J(b)] − [J₁(a) − J₁(b)], seen from the end that is nearer: there both are small, and little cancels."""
    if alpha == 0:
        return kl_div(a, b) + kl_div(1 - a, 1 - b)  # each has + belief − truth besides the logarithm
    lower = np.full(a.shape, beta == 1) if 1 in (alpha, beta) else a + b < 1
    result = np.empty(a.shape)
    for half, x, y, first, second in ((lower, a, b, alpha, beta), (~lower, 1 - a, 1 - b, beta, alpha)):
        if half.any():
            by = _by_powers if float(second).is_integer() and second <= MOST_POWERS else _by_incomplete_beta
            result[half] = by(x[half], y[half], first, second)
    return np.maximum(result, 0.0)


def _by_powers(a: FloatArray, b: FloatArray, alpha: float, beta: float) -> FloatArray:
    """With (1 − t)^(β−1) multiplied out, for a whole number β."""
    total = np.zeros(a.shape)
    from_a, from_b = a**alpha, b**alpha
    for k in range(round(beta)):
        power = alpha + k
        inner, outer = from_a - from_b, a * from_a - b * from_b
        total += (-1) ** k * comb(round(beta) - 1, k) * (a * inner / power - outer / (power + 1))
        from_a, from_b = a * from_a, b * from_b
    return total


def _by_incomplete_beta(a: FloatArray, b: FloatArray, alpha: float, beta: float) -> FloatArray:
    inner = beta_function(alpha, beta) * (betainc(alpha, beta, a) - betainc(alpha, beta, b))
    outer = beta_function(alpha + 1, beta) * (betainc(alpha + 1, beta, a) - betainc(alpha + 1, beta, b))
    return a * inner - outer


def _check_weight(alpha: float, beta: float) -> None:
    if not (alpha == beta == 0 or (alpha > 0 and beta > 0)):
        raise ValueError(f"alpha and beta must be positive, or both 0, got {alpha!r} and {beta!r}")


def released_losses(p: Any, alpha: float, beta: float) -> tuple[FloatArray, FloatArray]:
    """`beta_losses` as the released code of BESRA and CRAB has them: β is cut to a whole number, and sums lack a term.

    The sums are those of (1 − t)^(β−1) and (1 − t)^β multiplied out; beyond β = 1 the last term of each is left out.

    >>> [float(loss(0.7, 0.1, 3)[0].round(3)) for loss in (beta_losses, released_losses)]
    [0.271, 0.164]
    """
    if alpha == beta == 0:
        return beta_losses(p, alpha, beta)
    if beta < 1 or alpha <= 0:
        raise ValueError(f"the released form is known for alpha above 0 and beta from 1, got {alpha!r} and {beta!r}")
    p, whole = np.asarray(p, dtype=np.float64), int(beta)
    lacking = 1 if whole > 1 else 0
    absent, present = np.zeros(p.shape), np.zeros(p.shape)
    for k in range(whole - lacking):
        absent = absent + (-1) ** k * comb(whole - 1, k) * p ** (alpha + 1 + k) / (alpha + 1 + k)
    for k in range(whole + 1 - lacking):
        present = present + (-1) ** k * comb(whole, k) * (1 - p ** (alpha + k)) / (alpha + k)
    return absent, present
