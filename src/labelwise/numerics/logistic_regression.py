"""Logistic regressions of many labels on the same rows, solved together by Newton's method.

Label j minimises ½‖w‖² + ½b² + C Σ log(1 + exp(−s f)) over its own answered rows, with f = x·w + b and s = ±1.
Liblinear minimises the same: the intercept is the weight of a constant feature and is penalised like the others. The
labels share every matrix product; where each was answered is only a weight of 0 or C, so partial labels cost nothing.

Newton's systems (I + Xᵀ D X) δ = −gradient are solved by conjugate gradients, in one of two coordinates. Weights of
features take two products by X a step; weights of rows, w = Xᵀ α, take one product by K = X Xᵀ. Both walk the same
path. The Hessian is at least the identity, so a gradient of norm ε means weights within ε of the optimum.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit, log_softmax
from sklearn.exceptions import ConvergenceWarning

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.gp.kernels import squared_norms
from labelwise.numerics.linear_algebra import dense, solve_columns

TOLERANCE = 1e-6  # of every margin on the training rows
ROUNDING = 1e-13  # a gradient this far below the first one is rounding
MAX_STEPS, MAX_INNER, MAX_HALVINGS = 100, 300, 40
MAX_KERNEL_ROWS = 4000
BLAS_OVER_SPARSE = 8  # how many more products a second a dense matrix takes than a sparse one


class Coordinates(Protocol):
    """Where the weights live; `images` are margins (n, q) of coordinates, `gradient` goes the other way."""

    def image(self, V: FloatArray) -> FloatArray: ...

    def gradient(self, slopes: FloatArray) -> FloatArray: ...

    def dot(self, A: FloatArray, B: FloatArray, image_B: FloatArray) -> FloatArray: ...

    def weights(self, V: FloatArray) -> tuple[FloatArray, FloatArray]: ...


@dataclass(frozen=True, eq=False)
class RowWeights:
    """w = Xᵀ α, b = 1ᵀ α, by the kernel matrix X Xᵀ + 1: for fewer rows than features."""

    X: Any  # (n, d)
    K: FloatArray  # (n, n)

    @classmethod
    def of(cls, X: Any) -> RowWeights:
        return cls(X, dense(X @ X.T) + 1.0)

    def image(self, V: FloatArray) -> FloatArray:
        return self.K @ V

    def gradient(self, slopes: FloatArray) -> FloatArray:
        return slopes

    def dot(self, A: FloatArray, B: FloatArray, image_B: FloatArray) -> FloatArray:
        return np.einsum("nk,nk->k", A, image_B)

    def weights(self, V: FloatArray) -> tuple[FloatArray, FloatArray]:
        return np.asarray(self.X.T @ V), V.sum(axis=0)


@dataclass(frozen=True, eq=False)
class FeatureWeights:
    """w itself, with b in the last row."""

    X: Any  # (n, d)

    def image(self, V: FloatArray) -> FloatArray:
        return np.asarray(self.X @ V[:-1]) + V[-1]

    def gradient(self, slopes: FloatArray) -> FloatArray:
        return np.vstack([self.X.T @ slopes, slopes.sum(axis=0)])

    def dot(self, A: FloatArray, B: FloatArray, image_B: FloatArray) -> FloatArray:
        return np.einsum("dk,dk->k", A, B)

    def weights(self, V: FloatArray) -> tuple[FloatArray, FloatArray]:
        return V[:-1], V[-1]


def fit_logistic(X: Any, Y: BoolArray, observed: BoolArray | FloatArray, C: float) -> tuple[FloatArray, FloatArray]:
    """Weights (d, q) and intercepts (q,) of one logistic regression per label, each on the rows it was answered on.

    `observed` may also have weights: how often a row counts for a label.

    >>> X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[0, 0, 1, 1]], dtype=bool).T
    >>> weights, intercepts = fit_logistic(X, Y, np.ones_like(Y), C=10.0)
    >>> weights.round(3), intercepts.round(3)
    (array([[1.767]]), array([-2.234]))
    """
    space = choose_coordinates(X)
    targets, strength = Y.astype(np.float64), C * observed  # (n, q)
    V = space.gradient(np.zeros(Y.shape))
    goal = TOLERANCE / np.sqrt(max(1.0, 1.0 + float(squared_norms(X).max(initial=0.0))))
    active = np.arange(Y.shape[1])
    state = _State.start(space, targets, strength)
    limit = np.maximum(goal, ROUNDING * state.gradient_norm)
    for _ in range(MAX_STEPS):
        going = state.gradient_norm > limit
        V[:, active[~going]] = state.V[:, ~going]
        active, limit, state = active[going], limit[going], state.columns(going)
        if active.size == 0:
            return space.weights(V)
        state = state.step(limit)
    V[:, active] = state.V
    warnings.warn(
        f"{active.size} of {Y.shape[1]} logistic regressions did not converge in {MAX_STEPS} steps; "
        "scaled features would help",
        ConvergenceWarning,
        stacklevel=2,
    )
    return space.weights(V)


def choose_coordinates(X: Any) -> Coordinates:
    """The cheaper of the two: n² against 2 · (non-zeros) multiplications a step, dense ones being faster."""
    n = X.shape[0]
    entries = X.nnz * BLAS_OVER_SPARSE if sp.issparse(X) else X.size
    return RowWeights.of(X) if n <= MAX_KERNEL_ROWS and n * n <= 2 * entries else FeatureWeights(X)


@dataclass(frozen=True, eq=False)
class _State:
    """Where the labels that are not done yet stand."""

    space: Coordinates
    targets: FloatArray  # (n, k) 0 and 1
    strength: FloatArray  # (n, k) C, or 0 where not answered
    V: FloatArray  # coordinates
    F: FloatArray  # (n, k) margins
    p: FloatArray  # (n, k) their probabilities
    gradient: FloatArray  # coordinates
    gradient_image: FloatArray  # (n, k)
    gradient_norm: FloatArray  # (k,)
    loss: FloatArray  # (k,) without the penalty

    @classmethod
    def start(cls, space: Coordinates, targets: FloatArray, strength: FloatArray) -> _State:
        zero = np.zeros(targets.shape)
        return cls._at(space, targets, strength, space.gradient(zero), zero, strength.sum(axis=0) * np.log(2))

    @classmethod
    def _at(
        cls,
        space: Coordinates,
        targets: FloatArray,
        strength: FloatArray,
        V: FloatArray,
        F: FloatArray,
        loss: FloatArray,
    ) -> _State:
        p = expit(F)
        gradient = V + space.gradient(strength * (p - targets))
        image = space.image(gradient)
        norm = np.sqrt(np.maximum(space.dot(gradient, gradient, image), 0.0))
        return cls(space, targets, strength, V, F, p, gradient, image, norm, loss)

    def columns(self, kept: BoolArray) -> _State:
        if kept.all():
            return self
        by_column = {name: getattr(self, name)[..., kept] for name in self.__dataclass_fields__ if name != "space"}
        return _State(self.space, **by_column)

    def step(self, limit: FloatArray) -> _State:
        """One Newton step, shortened label by label until the objective falls enough."""
        delta, delta_F = self._direction(limit)
        slope = self.space.dot(delta, self.gradient, self.gradient_image)  # (k,) negative
        V_delta = self.space.dot(delta, self.V, self.F)
        delta_delta = self.space.dot(delta, delta, delta_F)
        length = np.ones(slope.size)
        for _ in range(MAX_HALVINGS):
            F = self.F + length * delta_F
            loss = self._loss_at(F)
            change = loss - self.loss + length * V_delta + 0.5 * length**2 * delta_delta
            # near the optimum the change drowns in rounding, and Newton's full step is right there
            short = change > 1e-4 * length * slope + 1e-12 * self.loss
            if not short.any():
                break
            length = np.where(short, 0.5 * length, length)
        return _State._at(self.space, self.targets, self.strength, self.V + length * delta, F, loss)

    def _loss_at(self, F: FloatArray) -> FloatArray:
        """(k,) C Σ log(1 + exp(−s f)), which is log(1 + exp(−|f|)) + max(f, 0) − y f."""
        each = np.log(1 + np.exp(-np.abs(F)))  # a sum of values: the last digit of a tiny one, log1p's, does not count
        each += np.maximum(F, 0)
        each -= self.targets * F
        return np.einsum("nk,nk->k", self.strength, each)

    def _direction(self, limit: FloatArray) -> tuple[FloatArray, FloatArray]:
        """δ with (I + Xᵀ D X) δ ≈ −gradient, and its margins; the closer to the optimum, the more exact."""
        space = self.space
        D = self.strength * self.p * (1 - self.p)  # (n, k)
        r, r_F = -self.gradient, -self.gradient_image
        rr = self.gradient_norm**2
        share = np.minimum(0.1, np.sqrt(self.gradient_norm / (self.gradient_norm + 1.0)))
        enough = np.maximum(share * self.gradient_norm, 0.1 * limit) ** 2
        x, x_F, d, d_F = np.zeros_like(r), np.zeros_like(r_F), r.copy(), r_F.copy()
        for _ in range(MAX_INNER):
            Hd = d + space.gradient(D * d_F)
            going = rr > enough
            # 0 where a label is done, while others go on
            length = np.divide(rr, space.dot(Hd, d, d_F), out=np.zeros_like(rr), where=going)
            x += length * d
            x_F += length * d_F
            r -= length * Hd
            r_F = space.image(r)
            rr_next = np.maximum(space.dot(r, r, r_F), 0.0)
            if (rr_next <= enough).all():
                break
            ratio = np.divide(rr_next, rr, out=np.zeros_like(rr), where=going)
            d *= ratio
            d += r
            d_F *= ratio
            d_F += r_F
            rr = rr_next
        return x, x_F


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
        minimum = minimize(
            objective, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": 500, "gtol": 1e-6}
        )
        table = minimum.x.reshape(d + 1, k)
        return cls(classes, table[:d], table[d])

    def predict(self, X: FloatArray) -> npt.NDArray[Any]:
        return self.classes[np.argmax(X @ self.weights + self.intercepts, axis=1)]


def newton_change(
    K: FloatArray,
    cross: FloatArray,
    variances: FloatArray,
    residuals: FloatArray,
    penalty: float,
    *,
    tolerance: float = 1e-4,
) -> FloatArray:
    """(n, q) change of the log-odds at n rows once a few more were answered, without fitting any label.

    One Newton step for each label, from where it is. A regression with the penalty λ ‖w‖² / 2 is at its optimum, and
    rows X with labels y join: the gradient is Xᵀ (y − p) then, and the curvature λ I + Σ p (1 − p) x xᵀ. Weights stay
    in the span of the rows, so that everything is in their inner products K, which all labels share.

    Of the t rows trained on, old and new, `K` (t, t) are the inner products. `variances` (t, q) are the p (1 − p) of
    each label, zero where a label was not answered. `residuals` (t, q) are y − p of the new rows, zero of the old.
    `cross` (n, t) are inner products of the n rows and these. With S the roots of a label's variances, the weights are
    Xᵀ a, where a = r / λ − S c and (λ I + S K S) c = S K r / λ. This is solved to a relative residual of `tolerance`.
    """
    roots = np.sqrt(variances)
    diagonal = penalty + roots**2 * np.diag(K)[:, None]  # (t, q)

    def multiply(p: FloatArray) -> FloatArray:
        return penalty * p + roots * (K @ (roots * p))

    c = solve_columns(multiply, roots * (K @ residuals) / penalty, diagonal, steps=2 * len(K), tolerance=tolerance)
    return cross @ (residuals / penalty - roots * c)


def inner_products(X: Any, Z: Any) -> FloatArray:
    """(n, m) of rows followed by a constant 1, which stands for the intercept."""
    return dense(X @ Z.T).astype(np.float64) + 1.0
