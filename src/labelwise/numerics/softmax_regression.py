"""Multinomial logistic regression with a penalty on its weights: a small classifier for strategies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from scipy.special import log_softmax

FloatArray = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, eq=False)
class SoftmaxRegression:
    """Classes, weights and intercepts that minimise Σ −ln p(class) + ‖weights‖² / (2 C)."""

    classes: npt.NDArray[Any]  # (k,)
    weights: FloatArray  # (d, k)
    intercepts: FloatArray  # (k,)

    @classmethod
    def fit(cls, X: FloatArray, y: npt.NDArray[Any], *, C: float = 1.0) -> SoftmaxRegression:
        """From rows X (n, d) and their classes y (n,); a single class is always predicted."""
        classes, place = np.unique(y, return_inverse=True)
        n, d, k = len(X), X.shape[1], classes.size
        chosen = np.eye(k)[place]  # (n, k)

        def objective(flat: FloatArray) -> tuple[float, FloatArray]:
            table = flat.reshape(d + 1, k)
            log_p = log_softmax(X @ table[:d] + table[d], axis=1)
            residuals = np.exp(log_p) - chosen
            slope = np.vstack([X.T @ residuals + table[:d] / C, residuals.sum(0)])
            loss = -log_p[np.arange(n), place].sum() + (table[:d] ** 2).sum() / (2 * C)
            return loss / n, slope.ravel() / n

        start = np.zeros((d + 1, k))
        start[d] = np.log(chosen.mean(0))  # the optimum without features
        found = minimize(objective, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 500, "gtol": 1e-6})
        table = found.x.reshape(d + 1, k)
        return cls(classes, table[:d], table[d])

    def predict(self, X: FloatArray) -> npt.NDArray[Any]:
        return self.classes[np.argmax(X @ self.weights + self.intercepts, axis=1)]
