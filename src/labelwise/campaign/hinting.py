"""The hints of a campaign: found when they are first needed, and put into the beliefs of its model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from labelwise.hints.base import DEFAULT_HINTS, PoolHints, PoolWords, checked_hints, learn_hints
from labelwise.models.hinted import HintedModel
from labelwise.posterior import IgnorantPosterior, LabelPosterior
from labelwise.posterior.wrapped import StreamedPosterior
from labelwise.records import LabelData, in_shards


class HintLearner:
    """What is believed of labels before they are answered, by their names; a function of the pool and its labels alone.

    Parameters
    ----------
    hints : "auto", None, or names in `labelwise.hints.BY_NAME` and objects with `fit`
    """

    def __init__(self, hints: str | Iterable[Any] | None) -> None:
        self._chosen = checked_hints(DEFAULT_HINTS if isinstance(hints, str) and hints == "auto" else hints or ())
        self._pool: tuple[Any, PoolWords | None] = (None, None)  # features, and what was learnt of them
        self._found: tuple[LabelData | None, PoolHints | None] = (None, None)

    def of(self, data: LabelData) -> PoolHints | None:
        """The hints of this pool; None where none has anything to say. What only follows from the items is kept."""
        if not self._chosen:
            return None
        if self._found[0] is not data:
            if self._pool[0] is not data.X:
                self._pool = (data.X, PoolWords.of(data))
            pool = self._pool[1]
            self._found = (data, None if pool is None else learn_hints(data, self._chosen, pool))
        return self._found[1]

    def wrap(self, model: Any, data: LabelData) -> Any:
        """An unfitted model with the hints of the pool in its beliefs; the model itself where there are none."""
        hints = self.of(data)
        return model if hints is None else HintedModel(model, hints)

    def before_answers(self, X: Any, data: LabelData) -> LabelPosterior:
        """Beliefs about items X before anything is known: by hints alone, or one half for every label."""
        hints = self.of(data)
        if hints is None:
            return IgnorantPosterior(X.shape[0], data.n_labels)
        believe = HintedModel(None, hints).before_answers
        return StreamedPosterior(X, data.n_labels, believe) if in_shards(X) else believe(X)
