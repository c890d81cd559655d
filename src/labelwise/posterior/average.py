"""The mean of several beliefs about the same items."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.posterior.base import LabelCovariances, LabelPosterior, Rows
from labelwise.posterior.wrapped import WrappedPosterior


class AveragePosterior(WrappedPosterior):
    """One of several beliefs is right, each with the same probability or with that of its weight.

    What is not averaged, the covariance between items and all that goes with it, is that of the first member which has
    one. Names of one model alone are forwarded only where there is one member.
    """

    def __init__(self, members: Sequence[LabelPosterior], weights: FloatArray | None = None) -> None:
        super().__init__(members[0])
        self._members = list(members)
        self._weights: FloatArray = np.full(len(self._members), 1 / len(self._members)) if weights is None else weights

    @cached_property
    def _leader(self) -> LabelPosterior:
        having = (member for member in self._members if member.item_covariance() is not None)
        return self._members[0] if len(self._members) == 1 else next(having, self._members[0])

    @property
    def _inner(self) -> LabelPosterior:
        return self._leader

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or len(self._members) > 1:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self._members[0], name)

    @property
    def is_streamed(self) -> bool:
        return any(member.is_streamed for member in self._members)

    @property
    def joint_draws(self) -> bool:
        """Only where every member has them: another takes more or fewer random numbers, by the size of a block."""
        return all(member.joint_draws for member in self._members)

    def probabilities(self) -> FloatArray:
        return sum(w * member.probabilities() for w, member in zip(self._weights, self._members, strict=True))

    def rows(self, rows: Rows) -> AveragePosterior:
        return AveragePosterior([member.rows(rows) for member in self._members], self._weights)

    def rough(self) -> AveragePosterior:
        rough = [member.rough() for member in self._members]
        same = all(a is b for a, b in zip(rough, self._members, strict=True))
        return self if same else AveragePosterior(rough, self._weights)

    def label_covariances(self) -> LabelCovariances:
        """The mean covariance, plus that of the members' means: the law of total covariance."""
        inside = [member.label_covariances() for member in self._members]
        means = np.stack([member.probabilities() for member in self._members], axis=2)  # (n, q, members)
        apart = (means - (means @ self._weights)[:, :, None]) * np.sqrt(self._weights)
        factors = [np.sqrt(w) * each.factor for w, each in zip(self._weights, inside, strict=True)]
        diagonal = sum(w * each.diagonal for w, each in zip(self._weights, inside, strict=True))
        return LabelCovariances(diagonal, np.concatenate([*factors, apart], axis=2))

    def ranking(self) -> FloatArray:
        """The probabilities: what several models rank by is not on one scale."""
        return self._members[0].ranking() if len(self._members) == 1 else self.probabilities()

    def label_counts(self) -> FloatArray:
        return sum(w * member.label_counts() for w, member in zip(self._weights, self._members, strict=True))

    def given(self, values: Any, observed: Any) -> AveragePosterior:
        """Every member is told; which of them is right stays as open as it was."""
        return AveragePosterior([member.given(values, observed) for member in self._members], self._weights)

    def sample_labels(self, n_samples: int, rng: np.random.Generator) -> BoolArray:
        return self._sample(n_samples, rng, "sample_labels", bool)

    def sample_probabilities(self, n_samples: int, rng: np.random.Generator) -> FloatArray:
        return self._sample(n_samples, rng, "sample_probabilities", np.float64)

    def _sample(self, n_samples: int, rng: np.random.Generator, method: str, dtype: Any) -> npt.NDArray[Any]:
        """(s, n, q), every draw that of a member drawn first."""
        if len(self._members) == 1:
            return np.asarray(getattr(self._members[0], method)(n_samples, rng))
        which = rng.choice(len(self._members), p=self._weights, size=n_samples)
        drawn = np.empty((n_samples, self.n_items, self.n_labels), dtype=dtype)
        for number, member in enumerate(self._members):
            samples = np.flatnonzero(which == number)
            drawn[samples] = getattr(member, method)(samples.size, rng)
        return drawn
