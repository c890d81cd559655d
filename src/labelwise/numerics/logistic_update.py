"""What a few more answered rows would change in logistic regressions of many labels, without fitting any of them.

One Newton step for each label, from where it is: a regression with the penalty λ ‖w‖² / 2 that is at its optimum has
the gradient Xᵀ (y − p) once rows X with labels y join, and the curvature λ I + Σ p (1 − p) x xᵀ. Weights stay in the
span of the rows, so that everything is in their inner products K, which all labels share.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.numerics.linear_algebra import dense

FloatArray = npt.NDArray[np.floating[Any]]


def newton_change(
    K: FloatArray,
    cross: FloatArray,
    variances: FloatArray,
    residuals: FloatArray,
    penalty: float,
    *,
    tolerance: float = 1e-4,
) -> FloatArray:
    """(n, q) change of the log-odds at n rows.

    Of the t rows trained on, old and new, `K` (t, t) are the inner products and `variances` (t, q) the p (1 − p) of
    each label, zero where a label was not answered; `residuals` (t, q) are y − p of the new ones, zero of the old.
    `cross` (n, t) are inner products of the n rows and these. With S the roots of a label's variances, the weights are
    Xᵀ a, where a = r / λ − S c and (λ I + S K S) c = S K r / λ, solved to a relative residual of `tolerance`.
    """
    roots = np.sqrt(variances)
    c = _solve(K, roots, roots * (K @ residuals) / penalty, penalty, tolerance)
    return cross @ (residuals / penalty - roots * c)


def inner_products(X: Any, Z: Any) -> FloatArray:
    """(n, m) of rows followed by a constant 1, which stands for the intercept."""
    return dense(X @ Z.T).astype(np.float64) + 1.0


def _solve(K: FloatArray, roots: FloatArray, right: FloatArray, penalty: float, tolerance: float) -> FloatArray:
    """(t, q) solutions of (penalty · I + S K S) c = b for every label's S at once, by conjugate gradients."""
    scale = penalty + roots**2 * np.diag(K)[:, None]  # the diagonal, as preconditioner
    c, r = np.zeros_like(right), right
    z = r / scale
    p, rz = z, np.einsum("tq,tq->q", r, z)
    goal = tolerance * np.linalg.norm(right, axis=0)
    for _ in range(2 * len(K)):
        if np.all(np.linalg.norm(r, axis=0) <= goal):
            break
        Cp = penalty * p + roots * (K @ (roots * p))
        step = rz / np.maximum(np.einsum("tq,tq->q", p, Cp), np.finfo(float).tiny)
        c, r = c + step * p, r - step * Cp
        z = r / scale
        rz, before = np.einsum("tq,tq->q", r, z), rz
        p = z + rz / np.maximum(before, np.finfo(float).tiny) * p
    return c
