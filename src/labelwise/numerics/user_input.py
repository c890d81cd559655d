"""What a user gives: Y, NaN and `observed` as arrays, parameters of models and strategies; what is wrong is named."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from labelwise.numerics.arrays import BoolArray


def is_frame(values: Any) -> bool:
    """Whether it is a data frame.

    >>> import pandas as pd
    >>> is_frame(pd.DataFrame({"size": [1.0]})), is_frame([[1.0]])
    (True, False)
    """
    return hasattr(values, "columns") and hasattr(values, "index")


def as_numbers(what: str, values: Any) -> npt.NDArray[Any]:
    """A dense array of float or bool; None, NaN and pandas' NA become NaN."""
    try:
        array = np.asarray(values)
        if array.dtype in (np.bool_, np.float32, np.float64):
            return array
        if is_frame(values):
            return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
        return array.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{what} must hold numbers: {error}") from error


def dense_labels(Y: Any, observed: Any = None) -> tuple[BoolArray, BoolArray]:
    """A user's Y (NaN for unknown) and mask as two (n, q) boolean arrays of their own; Y is False where unknown.

    >>> dense_labels(np.array([[1, np.nan]]))
    (array([[ True, False]]), array([[ True, False]]))
    """
    values = Y.toarray() if sp.issparse(Y) else _dense(Y)
    _check_matrix(values)
    known = np.ones(values.shape, dtype=bool) if values.dtype == bool else ~np.isnan(values)
    if observed is not None:
        mask = np.asarray(observed.toarray() if sp.issparse(observed) else observed).astype(bool)
        _check_same_shape(mask, values)
        known &= mask
    elif values.dtype == bool:
        return values.copy(), known
    _check_zero_one(values[known])
    return known & (values == 1), known


def sparse_labels(Y: Any, observed: Any = None) -> tuple[sp.csr_array, sp.csr_array | None]:
    """A user's Y and mask, as in `dense_labels`, as sparse booleans; None where every entry is known."""
    if not sp.issparse(Y):
        labels, known = dense_labels(Y, observed)
        everything = observed is None and bool(known.all())
        return sp.csr_array(labels), None if everything else sp.csr_array(known)
    _check_matrix(Y)
    values = sp.csr_array(Y, copy=True)
    values.sum_duplicates()
    if np.isnan(values.data).any():
        raise ValueError("a sparse Y cannot hold NaN; give the mask of known entries as observed")
    mask = None
    if observed is not None:
        mask = sp.csr_array(observed).astype(bool)
        _check_same_shape(mask, values)
        values = values.multiply(mask).tocsr()
    _check_zero_one(values.data)
    return values.astype(bool), mask


def _dense(Y: Any) -> npt.NDArray[Any]:
    """A dense array; for lists of label names the error says how to make one."""
    try:
        return as_numbers("Y", Y)
    except ValueError as error:
        rows = (
            [row for row in Y if isinstance(row, list | tuple | set | frozenset)] if isinstance(Y, list | tuple) else []
        )
        names = [value for row in rows for value in row if isinstance(value, str)]
        if not names:
            raise
        raise ValueError(
            f"Y must hold numbers, a column of 0 and 1 per label, but it lists names such as {names[0]!r}; with "
            "scikit-learn's MultiLabelBinarizer() as binarizer: "
            "Y=binarizer.fit_transform(Y), label_names=binarizer.classes_"
        ) from error


def _check_matrix(Y: Any) -> None:
    if Y.ndim != 2:
        cure = "; use Y.reshape(-1, 1) for a single label" if Y.ndim == 1 else ""
        raise ValueError(f"Y must be a matrix (items, labels) with one column per label, got shape {Y.shape}{cure}")


def _check_same_shape(mask: Any, Y: Any) -> None:
    if mask.shape != Y.shape:
        raise ValueError(f"observed has shape {mask.shape}, but Y has {Y.shape}")


def _check_zero_one(values: npt.NDArray[Any]) -> None:
    if values.dtype == bool or values.size == 0:
        return
    wrong = values[(values != 0) & (values != 1)]
    if wrong.size:
        raise ValueError(f"Y must hold 0 and 1 (NaN for unknown), got {wrong[0].item()!r}")


# -- parameters of models and strategies ------------------------------------------------------------------------------


def check_choices(of: Any, **choices: Collection[Any]) -> None:
    """Refuse a word or a number that is not among the choices; arrays and other objects are for others to check.

    >>> from types import SimpleNamespace
    >>> check_choices(SimpleNamespace(scale="big"), scale=("auto", "none"))
    Traceback (most recent call last):
    ValueError: scale must be one of 'auto', 'none', got 'big'
    """
    for name, allowed in choices.items():
        value = getattr(of, name)
        if isinstance(value, str | int | float | None) and value not in allowed:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, allowed))}, got {value!r}")


def check_positive(of: Any, *names: str) -> None:
    """Refuse what is not above 0; None, where a parameter may be left out, passes."""
    for name in names:
        value = getattr(of, name)
        if value is not None and not value > 0:
            raise ValueError(f"{name} must be positive, got {value!r}")


def check_at_least(of: Any, least: float, *names: str) -> None:
    """Refuse what is below `least`; None, where a parameter may be left out, passes."""
    for name in names:
        value = getattr(of, name)
        if value is not None and not value >= least:
            raise ValueError(f"{name} must be at least {least}, got {value!r}")
