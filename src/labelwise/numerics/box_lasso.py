"""Labels from codes by convex programmes: few labels, none below 0, and for the lasso none above 1.

Equation numbers are those of docs/mathematics/orthogonal_target_gp.md.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from labelwise.numerics.label_codes import BoolArray, FloatArray

PENALTY = 0.02  # η, price of a label
ROUNDS = 60
MISFIT_PRICE = 20.0  # of a unit of code that the labels of the linear programme do not explain


def recover_box_lasso(
    codes: FloatArray,
    projection: FloatArray,
    *,
    penalty: float = PENALTY,
    rounds: int = ROUNDS,
    fixed: tuple[FloatArray, BoolArray] | None = None,
) -> FloatArray:
    """(n, q) of min ½ |r − Φ y|² + η Σ y over 0 ≤ y ≤ 1, all items at once by FISTA (Beck & Teboulle 2009), (22).

    Parameters
    ----------
    codes : (n, c) array
        r, of labels that are not centred.
    projection : (c, q) array
    fixed : (n, q) values and mask, optional
        Labels that are held at their values.

    Examples
    --------
    >>> recover_box_lasso(np.array([[0.5, 3.0, -1.0]]), np.eye(3), penalty=0.1)
    array([[0.4, 1. , 0. ]])
    """
    gram = projection.T @ projection  # (q, q)
    step = 1 / max(float(np.linalg.eigvalsh(gram)[-1]), np.finfo(float).tiny)
    pull = step * (codes @ projection - penalty)  # (n, q)
    damped = np.eye(gram.shape[0]) - step * gram
    low, high = (0.0, 1.0) if fixed is None else (np.where(fixed[1], fixed[0], 0.0), np.where(fixed[1], fixed[0], 1.0))
    y = np.clip(np.zeros_like(pull), low, high)
    z, momentum = y, 1.0
    for _ in range(rounds):
        following = z @ damped
        following += pull
        np.clip(following, low, high, out=following)
        grown = 0.5 * (1 + np.sqrt(1 + 4 * momentum**2))
        z = following + (momentum - 1) / grown * (following - y)
        y, momentum = following, grown
    return y


def recover_basis_pursuit(
    codes: FloatArray, projection: FloatArray, *, misfit_price: float = MISFIT_PRICE
) -> FloatArray:
    """(n, q) of min Σ y + price · |r − Φ y|₁ over y ≥ 0, one linear programme per item (HiGHS), (23).

    With exact codes of few enough labels it recovers them exactly.

    >>> recover_basis_pursuit(np.array([[1.0, 1.0]]), np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 1.0]])).round(6) + 0.0
    array([[1., 0., 0.]])
    """
    c, q = projection.shape
    cost = np.concatenate([np.ones(q), np.full(2 * c, misfit_price)])
    constraints = sp.hstack([sp.csr_array(projection), sp.eye_array(c), -sp.eye_array(c)], format="csr")
    result = np.zeros((codes.shape[0], q))
    for row, r in enumerate(codes):
        solved = linprog(cost, A_eq=constraints, b_eq=r, bounds=(0, None), method="highs")
        if solved.x is not None:
            result[row] = solved.x[:q]
    return result
