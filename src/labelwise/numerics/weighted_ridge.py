"""Many ridge regressions that share their rows F and differ in weights: (Fᵀ diag(ω_i) F + λI) a_i = right side i.

This is what every update of a factor model asks for: items against labels, labels against items and counts. The
unknowns are the rows of A (rows, k), the shared rows are factors of the other side, and the weights are Pólya-Gamma
means. Two solvers: exact Gram matrices, 2·rows·f·k² flops, and a few preconditioned conjugate gradient steps for all
rows at once. The two products per step of the latter are plain matrix products, and no k × k matrix per row is built.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from labelwise.numerics.arrays import FloatArray
from labelwise.numerics.polya_gamma import gradients_and_weights

CHUNK = 2**21  # weights held at a time: the rows are independent, so n × q is never in memory at once
GRAM_CHUNK = 2**24  # numbers in the Gram matrices of a chunk of rows


@dataclass(frozen=True, eq=False)
class View:
    """Evidence about some rows: ψ = A Fᵀ + row_offset + column_offset, seen through successes out of trials."""

    factors: FloatArray  # (f, k)
    successes: Any  # (rows, f)
    trials: Any  # (rows, f)
    row_offset: FloatArray  # (rows,)
    column_offset: FloatArray  # (f,)

    def rows(self, part: slice) -> View:
        return View(self.factors, self.successes[part], self.trials[part], self.row_offset[part], self.column_offset)

    def psi(self, A: FloatArray) -> FloatArray:
        psi = A @ self.factors.T  # (rows, f)
        psi += self.column_offset
        psi += self.row_offset[:, None]
        return psi

    def slopes(self, A: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(rows, f) gradients of the log-likelihood in ψ, and the weights of its bound."""
        return gradients_and_weights(self.psi(A), self.successes, self.trials)


@dataclass(frozen=True)
class RowSolver:
    """How the systems of an update are solved.

    `method` "cg" takes `steps` preconditioned conjugate gradient steps from where the rows are. Each lowers the bound,
    so the objective rises although no system is solved to the end. "exact" solves by Gram matrices, through the f × f
    dual where there are fewer shared rows than factors.
    """

    method: Literal["cg", "exact"] = "cg"
    steps: int = 3

    def improve(
        self, A: FloatArray, views: Sequence[View], penalty: float, prior_mean: FloatArray | None = None
    ) -> FloatArray:
        """Rows that raise Σ log-likelihood − λ/2 |a − prior mean|²; with "exact" its bound is at its maximum."""
        better = np.empty_like(A)
        solve = _conjugate_gradients if self.method == "cg" else _exact
        for part in row_chunks(A.shape[0], sum(view.factors.shape[0] for view in views)):
            start, some = A[part], [view.rows(part) for view in views]
            residual = -penalty * (start if prior_mean is None else start - prior_mean[part])  # (rows, k)
            systems = []
            for view in some:
                slope, weights = view.slopes(start)
                residual += slope @ view.factors
                systems.append((weights, view.factors))
            better[part] = start + solve(systems, residual.astype(A.dtype, copy=False), penalty, self.steps)
        return better


def row_chunks(n_rows: int, width: int) -> Iterator[slice]:
    """Slices of rows with about CHUNK entries each, all of nearly the same size."""
    pieces = max(1, -(-n_rows * width // CHUNK))
    size = -(-n_rows // pieces)
    for start in range(0, n_rows, max(size, 1)):
        yield slice(start, min(start + size, n_rows))


System = tuple[FloatArray, FloatArray]  # weights (rows, f), factors (f, k)


def _conjugate_gradients(systems: list[System], right: FloatArray, penalty: float, steps: int) -> FloatArray:
    """A few steps from zero on every row at once, preconditioned by the system of the mean weights."""
    lead = penalty * np.eye(right.shape[1])
    for weights, F in systems:
        lead += mean_gram(weights, F)
    inverse = np.linalg.inv(lead).astype(right.dtype)  # (k, k)

    def multiply(p: FloatArray) -> FloatArray:
        Hp = penalty * p
        for weights, F in systems:
            Hp += weighted_products(weights, F, p)
        return Hp

    return conjugate_gradients(right, multiply, lambda r: r @ inverse, steps)


def mean_gram(weights: FloatArray, F: FloatArray) -> FloatArray:
    """(k, k) Fᵀ diag(mean of the weights over rows) F; over parts of the shared rows it adds up."""
    return (F * weights.mean(axis=0)[:, None]).T @ F


def weighted_products(weights: FloatArray, F: FloatArray, p: FloatArray) -> FloatArray:
    """(rows, k) of Fᵀ diag(ω_i) F p_i; over parts of the shared rows it adds up."""
    along = p @ F.T
    along *= weights
    return along @ F


def conjugate_gradients(
    right: FloatArray,
    multiply: Callable[[FloatArray], FloatArray],
    precondition: Callable[[FloatArray], FloatArray],
    steps: int,
) -> FloatArray:
    """A few steps from zero on the systems of all rows at once, each row with its own step length."""
    tiny = np.finfo(right.dtype).tiny
    solution = np.zeros_like(right)
    z = precondition(right)
    p, rz = z, np.einsum("ik,ik->i", right, z)
    for step in range(steps):
        Hp = multiply(p)
        length = rz / np.maximum(np.einsum("ik,ik->i", p, Hp), tiny)  # 0 where a row is exact already
        solution += length[:, None] * p
        if step + 1 == steps:
            break
        right = right - length[:, None] * Hp
        z = precondition(right)
        rz, before = np.einsum("ik,ik->i", right, z), rz
        p = z + (rz / np.maximum(before, tiny))[:, None] * p
    return solution


def _exact(systems: list[System], right: FloatArray, penalty: float, steps: int) -> FloatArray:
    """Every row's own system solved, by chunks of Gram matrices."""
    F = np.vstack([factors for _, factors in systems])  # (f, k)
    weights = np.hstack([some for some, _ in systems])  # (rows, f)
    (f, k), dual = F.shape, F.shape[0] < F.shape[1]
    size = max(1, GRAM_CHUNK // (f * f if dual else k * k))
    outer = None if dual else (F[:, :, None] * F[:, None, :]).reshape(f, k * k)
    solution = np.empty_like(right)
    for start in range(0, len(right), size):
        part = slice(start, start + size)
        if outer is None:
            solution[part] = _dual(weights[part], F, right[part], penalty)
            continue
        gram = (weights[part] @ outer).reshape(-1, k, k)  # (rows, k, k)
        gram[:, np.arange(k), np.arange(k)] += penalty
        solution[part] = np.linalg.solve(gram, right[part][:, :, None])[:, :, 0]
    return solution


def _dual(weights: FloatArray, F: FloatArray, right: FloatArray, penalty: float) -> FloatArray:
    """Woodbury: with G = Ω^½ F the solution is (r − Gᵀ (λI + G Gᵀ)⁻¹ G r) / λ."""
    root = np.sqrt(weights)  # (rows, f)
    inner = root[:, :, None] * (F @ F.T) * root[:, None, :]  # (rows, f, f)
    inner[:, np.arange(len(F)), np.arange(len(F))] += penalty
    inside = np.linalg.solve(inner, (root * (right @ F.T))[:, :, None])[:, :, 0]
    return (right - (root * inside) @ F) / penalty
