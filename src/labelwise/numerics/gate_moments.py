"""Mean and variance of a mixture's gates, π_k = σ(f_k) / Σ_j σ(f_j) for independent normal f, by three rules.

The integrals over f factorise once 1/Σσ is written as ∫ exp(−λ Σσ) dλ. Equation numbers are those of
docs/mathematics/label_mixture_gp.md.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit
from scipy.special import expit, log_expit

FloatArray = npt.NDArray[np.floating[Any]]

FEW_NODES, MANY_NODES = 16, 32  # of Gauss-Hermite in every f; many where a variance is WIDE
WIDE = 4.0
STEP = 0.5 * np.log(2.0)  # of the trapezium rule in log λ: two steps double λ, so that exp(−λσ) is squared
REFRESH = 8  # squarings before exp is taken anew: each doubles the relative error
BELOW, ABOVE = 13.0, 3.5  # how far log λ goes beyond −log k and −log of the least Σσ
HIGHEST = 700.0  # and at most, so that λ is a number
NEGLIGIBLE = 40.0  # an integrand below exp(−40) from here on
LEAST = 1e-150  # of Σσ: its square is still a number
SAMPLE_BLOCK = 2**22  # numbers drawn gates may take at once


class GateMoments(NamedTuple):
    """E[π] and Var[π] of every item and gate."""

    mean: FloatArray  # (n, k), rows sum to one
    variance: FloatArray  # (n, k)


def integrated_moments(mean: FloatArray, variance: FloatArray) -> GateMoments:
    """By quadrature, equation (9): right to 1e-5 for variances below 4, to 1e-3 up to 20, to 1e-2 up to 100.

    >>> moments = integrated_moments(np.zeros((1, 4)), np.ones((1, 4)))
    >>> moments.mean.round(6)
    array([[0.25, 0.25, 0.25, 0.25]])
    """
    first, second = np.empty(mean.shape), np.empty(mean.shape)
    f = np.ascontiguousarray(mean, dtype=np.float64), np.ascontiguousarray(np.sqrt(variance), dtype=np.float64)
    _integrate(*f, _hermite(FEW_NODES), _hermite(MANY_NODES), first, second)
    return GateMoments(first, np.maximum(second - first**2, 0.0))


def probit_moments(mean: FloatArray, variance: FloatArray) -> GateMoments:
    """By the probit shortcut, equation (10): some hundred times as fast, right to a few per cent."""
    shrink = 1 / np.sqrt(1 + np.pi * variance / 8)  # (n, k)
    e, p = expit(shrink * mean), logistic_softmax(shrink * mean)
    v = e * (1 - e) * (1 - shrink)
    total = np.maximum(e.sum(axis=1, keepdims=True), LEAST)  # (n, 1)
    spread = ((1 - 2 * p) * v + p**2 * v.sum(axis=1, keepdims=True)) / total**2
    return GateMoments(p, np.clip(spread, 0.0, p * (1 - p)))  # no share of one varies more


def sampled_moments(mean: FloatArray, variance: FloatArray, normals: FloatArray) -> GateMoments:
    """By the draws f = mean + sd · normals, the same standard normals (s, k) for every item."""
    first, second = np.empty(mean.shape), np.empty(mean.shape)
    size = max(1, SAMPLE_BLOCK // normals.size)
    for start in range(0, mean.shape[0], size):
        part = slice(start, start + size)
        gates = logistic_softmax(mean[part] + np.sqrt(variance[part]) * normals[:, None, :])  # (s, n, k)
        first[part], second[part] = gates.mean(axis=0), gates.var(axis=0)
    return GateMoments(first, second)


def logistic_softmax(f: FloatArray) -> FloatArray:
    """σ(f_k) / Σ_j σ(f_j) over the last axis, however small the σ are."""
    log_sigma = log_expit(f)
    log_sigma -= log_sigma.max(axis=-1, keepdims=True)
    sigma = np.exp(log_sigma, out=log_sigma)
    sigma /= sigma.sum(axis=-1, keepdims=True)
    return sigma


@lru_cache
def _hermite(n_nodes: int) -> tuple[FloatArray, FloatArray]:
    """Nodes, rising, and weights of the standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n_nodes)
    return nodes, weights / weights.sum()


@njit(cache=True, nogil=True, error_model="numpy")
def _log_sigma(f: float) -> float:
    return -np.log1p(np.exp(-f)) if f > 0 else f - np.log1p(np.exp(f))


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _integrate(mean: Any, deviation: Any, few: Any, many: Any, first: Any, second: Any) -> None:
    n, k = mean.shape
    sigma, decay = np.empty((k, MANY_NODES)), np.empty((k, MANY_NODES))
    ratios = np.empty((2, k))
    for i in range(n):
        wide = False
        for j in range(k):
            wide = wide or deviation[i, j] ** 2 > WIDE
        nodes, weights = many if wide else few
        largest = -np.inf  # log σ of all: only ratios of the σ matter, so that they are made to reach one
        for j in range(k):
            largest = max(largest, _log_sigma(mean[i, j] + deviation[i, j] * nodes[nodes.size - 1]))
        least = 0.0  # Σ_k of the least σ_k
        for j in range(k):
            for t in range(nodes.size):
                sigma[j, t] = np.exp(_log_sigma(mean[i, j] + deviation[i, j] * nodes[t]) - largest)
            least += sigma[j, 0]
            first[i, j] = second[i, j] = 0.0
        low, high = -np.log(k) - BELOW, min(max(0.0, -np.log(least)) + ABOVE, HIGHEST)
        for phase in range(2):  # log λ = low, low + 2 STEP, ... and the points between
            _integrate_chain(low + phase * STEP, high, (sigma, decay, weights), ratios, first[i], second[i])
        total = 0.0
        for j in range(k):
            total += first[i, j]
        for j in range(k):
            first[i, j] /= total
            second[i, j] /= total


@njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
def _integrate_chain(log_rate: Any, high: Any, tables: Any, ratios: Any, first: Any, second: Any) -> None:
    """Adds λ A1_k Π_{j≠k} A0_j and λ² A2_k Π_{j≠k} A0_j at λ, 2λ, 4λ, ... up to exp(high); λ goes with σ, as λσ."""
    sigma, decay, weights = tables
    k, q, doublings = sigma.shape[0], weights.size, 0
    while log_rate <= high:
        rate, log_product = np.exp(log_rate), 0.0
        fresh = doublings % REFRESH == 0
        for j in range(k):
            if fresh:
                for t in range(q):
                    decay[j, t] = np.exp(-rate * sigma[j, t])
            else:
                for t in range(q):
                    decay[j, t] *= decay[j, t]
            a0, a1, a2 = 0.0, 0.0, 0.0
            for t in range(q):
                e, x = decay[j, t] * weights[t], rate * sigma[j, t]
                a0 += e
                a1 += e * x
                a2 += e * x * x
            log_product += np.log(a0)
            ratios[0, j], ratios[1, j] = a1 / a0, a2 / a0
        if log_product + high < -NEGLIGIBLE:  # the product only falls, and λ is at most exp(high)
            break
        product = np.exp(log_product)
        for j in range(k):
            first[j] += product * ratios[0, j]
            second[j] += product * ratios[1, j]
        log_rate += 2 * STEP
        doublings += 1
