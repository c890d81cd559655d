"""Pólya-Gamma facts: what makes a logistic or negative binomial likelihood a weighted square.

Both likelihoods are aψ − b log(1 + e^ψ): successes a out of b trials. A label has a = y, b = 1; a count m under a
negative binomial of over-dispersion r has a = m, b = m + r. An entry nobody observed has a = b = 0, and every formula
then gives it no say. Polson, Scott & Windle, JASA 2013.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from labelwise.numerics.arrays import FloatArray

SERIES_BELOW = 1e-3  # below this the quotient tanh(ψ/2)/2ψ loses digits: use its series, exact to ψ⁴/480


def polya_gamma_mean(trials: Any, psi: Any) -> FloatArray:
    """E[ω] for ω ~ PG(b, ψ): b tanh(ψ/2) / 2ψ, and b/4 at ψ = 0.

    >>> polya_gamma_mean(1.0, np.array([0.0, 2.0])).round(4)
    array([0.25  , 0.1904])
    """
    size = np.abs(psi)
    safe = np.where(size < SERIES_BELOW, 1.0, size)
    return trials * np.where(size < SERIES_BELOW, 0.25 - size**2 / 48, np.tanh(safe / 2) / (2 * safe))


def log_likelihood(successes: Any, trials: Any, psi: Any) -> FloatArray:
    """aψ − b log(1 + e^ψ), entry by entry."""
    return successes * psi - trials * np.logaddexp(0, psi)


def log_two_cosh(t: Any) -> FloatArray:
    """log 2cosh(t), without overflow; t = c/2 is the bound's share of a trial."""
    size = np.abs(t)
    return size + np.log1p(np.exp(-2 * size))


def gradients_and_weights(psi: FloatArray, successes: Any, trials: Any) -> tuple[FloatArray, FloatArray]:
    """(rows, columns) a − b s(ψ), the slope of the likelihood, and E[ω], the curvature of its bound.

    With them the bound's minimiser is a Newton step from where we are: κ − ωψ = a − b s(ψ). ψ is overwritten and
    returned as the slope.
    """
    decay = np.exp(-np.abs(psi))  # numpy's exp is vectorised where numba's is not
    _combine(psi, decay, successes, trials)
    return psi, decay


@numba.njit(cache=True, nogil=True, fastmath={"contract", "reassoc", "nsz"}, error_model="numpy")
def _combine(psi: FloatArray, decay: FloatArray, successes: Any, trials: Any) -> None:
    """In place: ψ becomes the slope, e^−|ψ| the weight. One pass, so that each entry is read from memory once."""
    one, half, small = decay.dtype.type(1), decay.dtype.type(0.5), decay.dtype.type(SERIES_BELOW)
    quarter, curve = decay.dtype.type(0.25), decay.dtype.type(1 / 48)
    for i in range(psi.shape[0]):
        for j in range(psi.shape[1]):
            t, e = psi[i, j], decay[i, j]
            size = abs(t)
            share = one / (one + e)
            b = decay.dtype.type(trials[i, j])
            sigmoid = share if t >= 0 else one - share
            psi[i, j] = decay.dtype.type(successes[i, j]) - b * sigmoid
            ratio = half * (one - e) * share / max(size, small)
            decay[i, j] = b * (quarter - curve * size * size if size < small else ratio)
