"""Any encoder by one door: a name, an import path, an object with `encode`, or a scikit-learn transformer."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

Vectors = npt.NDArray[np.float32]
GIVEN: dict[str, NamedEncoder] = {}  # encoders that were given as objects, by name, in this process


@dataclass(frozen=True, eq=False)
class NamedEncoder:
    """An encoder by its name, which says who made a vector. It is loaded when it is first used.

    Examples
    --------
    >>> class Lengths:
    ...     def encode(self, texts):
    ...         return [[len(text)] for text in texts]
    >>> as_encoder(Lengths()).encode(["a", "abc"])
    array([[1.], [3.]], dtype=float32)
    """

    name: str
    load: Callable[[], Any]
    is_lasting: bool  # whether the name stands for the same vectors tomorrow: those are cached

    def encode(self, items: Sequence[Any]) -> Vectors:
        """(n, w) finite vectors of texts, or of what else the encoder takes."""
        encoder = self.load()
        found = encoder.encode(list(items)) if hasattr(encoder, "encode") else encoder.transform(list(items))
        found = found.toarray() if sp.issparse(found) else found
        try:
            vectors = np.asarray(found, dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise ValueError(f"the encoder {self.name!r} gave no array of numbers: {error}") from None
        if vectors.ndim != 2 or len(vectors) != len(items):
            raise ValueError(
                f"the encoder {self.name!r} gave an array of shape {vectors.shape} for {len(items)} items; "
                "expected one vector for each, all of one length"
            )
        wrong = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
        if wrong.size:
            raise ValueError(
                f"the encoder {self.name!r} gave NaN or infinity for {str(items[wrong[0]])[:80]!r}; "
                "leave the item out, or let the encoder return zeros for it"
            )
        return vectors


def as_encoder(given: Any) -> NamedEncoder:
    """The encoder that is meant, with its name.

    Parameters
    ----------
    given : a name in `labelwise.encoders.BY_NAME`; "package.module:name" of an object or a class without arguments; or
        an object. An object has `encode(list of texts)`, or is a scikit-learn transformer that needs no more fitting.
        If it has a `name`, its vectors are cached under it.
    """
    if isinstance(given, NamedEncoder):
        return given
    if isinstance(given, str):
        found = find_encoder(given)
        if found is None:
            from labelwise.encoders import BY_NAME  # which lists the encoders that import this module

            raise ValueError(
                f"an encoder is one of {', '.join(BY_NAME)}, 'package.module:name' of one of your own, or an object "
                f"with `encode`, got {given!r}"
            )
        return found
    _check(given, repr(given))
    name = str(getattr(given, "name", "") or type(given).__name__)
    GIVEN[name] = NamedEncoder(name, lambda: given, is_lasting=bool(getattr(given, "name", "")))
    return GIVEN[name]


def find_encoder(name: str) -> NamedEncoder | None:
    """The encoder of this name: built in, given before in this process, or at an import path; None if there is none."""
    from labelwise.encoders import BY_NAME  # which lists the encoders that import this module

    if name in BY_NAME:
        return NamedEncoder(name, lambda: _built_in(name), is_lasting=True)
    if name in GIVEN:
        return GIVEN[name]
    return NamedEncoder(name, lambda: _imported(name), is_lasting=True) if ":" in name else None


LOADED: dict[str, Any] = {}  # built in or imported, by name


def _built_in(name: str) -> Any:
    from labelwise.encoders import BY_NAME  # as above

    if name not in LOADED:
        LOADED[name] = BY_NAME[name]()
    return LOADED[name]


def _imported(path: str) -> Any:
    if path not in LOADED:
        module, _, name = path.partition(":")
        try:
            found: Any = importlib.import_module(module)
            for part in name.split("."):
                found = getattr(found, part)
        except (ImportError, AttributeError, ValueError) as error:
            raise ValueError(f"there is no encoder at {path!r}: {error}; write package.module:name") from error
        found = found() if isinstance(found, type) else found
        _check(found, repr(path))
        LOADED[path] = found
    return LOADED[path]


def _check(encoder: Any, shown: str) -> None:
    if isinstance(encoder, type) or not (hasattr(encoder, "encode") or hasattr(encoder, "transform")):
        raise TypeError(f"an encoder is an object with `encode` or `transform`, got {shown}")
    if not hasattr(encoder, "encode"):
        from sklearn.exceptions import NotFittedError  # slow to import, and mostly not needed
        from sklearn.utils.validation import check_is_fitted

        try:
            check_is_fitted(encoder)
        except NotFittedError:
            raise ValueError(
                f"the encoder {shown} is not fitted: fit it, so that items added later get vectors of the same kind"
            ) from None
