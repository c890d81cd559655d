"""Labels before they are answered: hints by their names, and for labels added in mid-campaign a guess by co-occurrence.

A person may say how often a new label occurs together with known ones. That, and the first answers about the label,
are data of one regression (`numerics.recovery.label_sketches`). The campaign's own model learns the label too. The two
are averaged; the weight of each depends on how well it predicts answers that it has not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import BaseEstimator, clone

from labelwise.hints.base import DEFAULT_HINTS, Pool, PoolHints, checked_hints, learn_hints
from labelwise.hints.reasons import ExplainedBeliefs
from labelwise.models.hinted import HintedModel, HintedPosterior
from labelwise.numerics.arrays import BoolArray, FloatArray
from labelwise.numerics.blocks import OPINIONS, model_columns
from labelwise.numerics.feature_scaling import PreparedFeatures, learn_features
from labelwise.numerics.moved_beliefs import log_odds
from labelwise.numerics.recovery.label_sketches import (
    SketchSettings,
    SketchSums,
    as_probabilities,
    log_likelihoods,
    regress_answers,
    sketch_rows,
)
from labelwise.posterior import IgnorantPosterior
from labelwise.posterior.base import LabelPosterior, Rows
from labelwise.posterior.tilted import RaisedPosterior, TiltedPosterior
from labelwise.posterior.wrapped import StreamedPosterior
from labelwise.records import LabelData, Opinions, in_shards
from labelwise.views.wording import did_you_mean


@dataclass(frozen=True, eq=False)
class Guess:
    """A linear guess at one label, and the weight of the model beside it."""

    column: int
    weights: FloatArray  # (d,) of prepared features
    floor: float
    model_share: float = 0.0

    def probabilities(self, prepared: Any) -> FloatArray:
        return as_probabilities(np.asarray(prepared @ self.weights), self.floor)


@dataclass(frozen=True, eq=False)
class GuessedItems:
    """Guesses, and what they need to know of some items."""

    guesses: tuple[Guess, ...]
    prepare: PreparedFeatures
    X: Any  # (n, d) as the user gave them
    shifts: FloatArray | None = None  # (n, g) log-odds to add to the model's; None: not computed yet
    told: BoolArray | None = None  # (n, g) labels that were answered, where the guess has no say

    @property
    def columns(self) -> list[int]:
        return [guess.column for guess in self.guesses]

    def of(self, rows: Rows) -> GuessedItems:
        shifts = None if self.shifts is None else self.shifts[rows]
        told = None if self.told is None else self.told[rows]
        return replace(self, X=self.X[rows], shifts=shifts, told=told)

    def log_odds(self, p: FloatArray) -> FloatArray:
        """(n, g) of the guessed labels, blended with the model's probabilities (n, q)."""
        if self.shifts is not None:
            return log_odds(p[:, self.columns]) + self.shifts
        prepared = self.prepare(self.X)
        return np.stack(
            [blended(p[:, g.column], g.probabilities(prepared), g.model_share) for g in self.guesses], axis=1
        )


class GuessedPosterior(TiltedPosterior):
    """A model's beliefs in which the log-odds of some labels are drawn to those of a guess."""

    _items: GuessedItems

    @classmethod
    def of(
        cls, inner: LabelPosterior, guesses: tuple[Guess, ...], prepare: PreparedFeatures, X: Any
    ) -> GuessedPosterior:
        return cls(inner, GuessedItems(guesses, prepare, X))

    @cached_property
    def _log_odds(self) -> FloatArray:
        """(n, g) of the guessed labels, blended."""
        return self._items.log_odds(self._inner.probabilities())

    def _shifts(self) -> FloatArray:
        return self._log_odds - log_odds(self._tilted(self._inner.probabilities()))

    def _tilted(self, labels: Any) -> Any:
        return labels[:, self._items.columns]

    def probabilities(self) -> FloatArray:
        p = np.array(self._inner.probabilities())
        told, guessed = self._items.told, expit(self._log_odds)
        p[:, self._items.columns] = guessed if told is None else np.where(told, self._tilted(p), guessed)
        return p


def parts_of(beliefs: LabelPosterior) -> tuple[FloatArray, Any, Any]:
    """What the log-odds of beliefs are made of: (n, q) the model's part, hints and their weights, None without any."""
    inner = beliefs._inner if isinstance(beliefs, RaisedPosterior) else beliefs
    inner = inner._inner if isinstance(inner, GuessedPosterior) else inner
    if isinstance(inner, HintedPosterior):
        return inner.summands()
    return log_odds(beliefs.probabilities()), None, None


def blended(model: FloatArray, guess: FloatArray, share: float) -> FloatArray:
    """Log-odds of a label, `share` of them the model's."""
    return share * log_odds(model) + (1 - share) * log_odds(guess)


SETTINGS = SketchSettings(label_weight=0.0, noise_variance=1.0)  # answers want more noise than counts alone
FEWEST_ANSWERS = 5  # of yes, and of no, before the model may have a say
ENOUGH_ANSWERS = 3000  # counts say nothing beside these
SHARES = np.linspace(0.0, 1.0, 11)  # of the model in the log-odds
MODEL_HANDICAP = 2.0  # nats by which the model has to be better, in full
WORD_SAMPLE = 500  # items from which it is told what a word says
SAMPLE = 2000  # pool items from which the share of a known label is estimated

Training = tuple[npt.NDArray[np.intp], BoolArray, BoolArray]  # rows of the pool, their labels and masks (rows, q)


@dataclass(frozen=True)
class NewLabel:
    """What was said of a label when it was added.

    Exactly one is given. `like`: for some known labels, the share of their items that carry the new one, too. `counts`:
    for some known labels, how many items of the pool carry both.

    Examples
    --------
    >>> NewLabel.of("kittens", ("cats", "dogs"), like={"cats": 0.4}).like
    {'cats': 0.4}
    """

    like: Mapping[str, float] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        name: str,
        known: tuple[str, ...],
        like: Mapping[str, float] | None = None,
        counts: Mapping[str, float] | None = None,
    ) -> NewLabel:
        """Checked against the labels known before; ValueError says what is wrong."""
        if like is not None and counts is not None:
            raise ValueError(f"label {name!r} has both like and counts; give the one you know better")
        what, given = ("like", like) if like is not None else ("counts", counts)
        if not given:
            raise ValueError(f"{what} of label {name!r} is empty; name at least one known label, or leave it out")
        for other, value in given.items():
            if other not in known or other == name:
                hint = did_you_mean(other, known)
                raise ValueError(f"{what} of label {name!r} names {other!r}, which is not a known label{hint}")
            if not np.isfinite(value) or value < 0 or (like is not None and value > 1):
                kind = "a share between 0 and 1" if like is not None else "a number of items, 0 or more"
                raise ValueError(f"{what} of label {name!r} says {value!r} for {other!r}, expected {kind}")
        values = {str(other): float(value) for other, value in given.items()}
        return cls(like=values) if like is not None else cls(counts=values)

    def sketch(self, names: tuple[str, ...], totals: FloatArray, pool_totals: FloatArray) -> FloatArray:
        """(q,) counts with known labels on the scale of the training rows, NaN where nothing was said.

        `totals` and `pool_totals` (q,) are the items with each label among the training rows and in the pool.
        """
        found = np.full(len(names), np.nan)
        for column, name in enumerate(names):
            if name in self.like:
                found[column] = self.like[name] * totals[column]
            elif name in self.counts:
                share = self.counts[name] / pool_totals[column] if pool_totals[column] > 0 else 0.0
                found[column] = min(share, 1.0) * totals[column]
        return found


class GuessingModel:
    """A fitted model whose beliefs have guesses in them: what a campaign believes, to be kept without the campaign.

    Parameters
    ----------
    model : fitted estimator with `posterior(X)`
    guesses : Guess of each label that is guessed
    prepare : PreparedFeatures of the guesses
    """

    def __init__(self, model: Any, guesses: tuple[Guess, ...], prepare: PreparedFeatures) -> None:
        self.model = model
        self.guesses = guesses
        self.prepare = prepare

    @classmethod
    def of(cls, model: Any, beliefs: LabelPosterior) -> Any:
        """The model with the guesses that are in beliefs of its campaign; the model itself where there are none."""
        beliefs = beliefs._inner if isinstance(beliefs, RaisedPosterior) else beliefs
        if not isinstance(beliefs, GuessedPosterior):
            return model
        return cls(model, beliefs._items.guesses, beliefs._items.prepare)

    def posterior(self, X: Any) -> LabelPosterior:
        return GuessedPosterior.of(self.model.posterior(X), self.guesses, self.prepare, X)


class GuessLearner:
    """Turns what was said of new labels, and the answers so far, into guesses; a function of both alone."""

    def __init__(self, data: LabelData, new_labels: Mapping[str, NewLabel], fresh_model: Callable[[], Any]) -> None:
        self._data, self._new, self._fresh_model = data, dict(new_labels), fresh_model
        self._shares: tuple[int, dict[str, float]] = (-1, {})  # answers they were learnt from
        self._latest: tuple[int, tuple[Guess, ...]] = (-1, ())

    def __len__(self) -> int:
        """Labels there is something to guess by."""
        return len(self._new)

    @cached_property
    def _prepare(self) -> PreparedFeatures:
        X, blocks = self._data.X, self._data.blocks
        sample = X[spread_rows(X.shape[0])] if in_shards(X) else X
        return replace(learn_features(model_columns(sample, blocks), "auto"), blocks=blocks)

    def blend(
        self, beliefs: LabelPosterior, X: Any, model: Any, training: Callable[[int], Training], n: int, refit: int
    ) -> LabelPosterior:
        """The model's beliefs about items X with the guesses in them, after n answers.

        `training(k)` has what was known after the first k answers. The model's shares are learnt from the first `refit`
        of them only, since that takes two more fits.
        """
        if not self._new:
            return beliefs
        if self._latest[0] != n:
            if self._shares[0] != refit:
                self._shares = (refit, self._model_shares(model, training(refit)))
            self._latest = (n, tuple(self._learn(model, training(n), self._shares[1])))
        return GuessedPosterior.of(beliefs, self._latest[1], self._prepare, X)

    def _learn(self, model: Any, training: Training, shares: Mapping[str, float]) -> list[Guess]:
        rows, Y, observed = training
        X = self._data.X[rows]
        prepared, spanning = self._prepare(X), sketch_rows(observed)
        filled = np.where(observed, Y, model.posterior(X).probabilities())[spanning]
        sums, totals = SketchSums.of(prepared[spanning], filled), filled.sum(axis=0)
        pool_totals = self._pool_totals(model)
        guesses = []
        for name, new in self._new.items():
            column = self._data.label_names.index(name)
            counts = new.sketch(self._data.label_names, totals, pool_totals)
            answered = np.flatnonzero(observed[:, column])
            y = Y[answered, column].astype(np.float64)
            guesses.append(guess_label(column, sums, counts, (prepared, answered, y), shares.get(name, 0.0)))
        return guesses

    def _pool_totals(self, model: Any) -> FloatArray:
        """(q,) items of the pool with each label, as the model believes of a sample of it; zeros where nobody asks."""
        if not any(new.counts for new in self._new.values()):
            return np.zeros(self._data.n_labels)
        n = self._data.n_items
        return n * model.posterior(self._data.X[spread_rows(n)]).probabilities().mean(axis=0)

    def _model_shares(self, model: Any, training: Training) -> dict[str, float]:
        """By each half of the items predicted from the other: the share whose log-odds have the best likelihood."""
        rows, Y, observed = training
        columns = {name: self._data.label_names.index(name) for name in self._new}
        enough = {name: c for name, c in columns.items() if _has_both(Y[:, c], observed[:, c])}
        shares = {name: 1.0 for name, c in columns.items() if observed[:, c].sum() >= ENOUGH_ANSWERS}
        enough = {name: c for name, c in enough.items() if name not in shares}
        if not enough:
            return shares
        in_first_half = (
            np.random.default_rng(0).random(self._data.n_items)[rows] < 0.5
        )  # an item's half is its own for good
        gains = dict.fromkeys(enough, -MODEL_HANDICAP * SHARES)
        for fit in (in_first_half, ~in_first_half):
            if not observed[fit].any() or not observed[~fit].any():
                continue
            fitted = self._fresh_model().fit(self._data.X[rows[fit]], Y[fit], observed=observed[fit])
            hidden = observed.copy()
            hidden[np.ix_(~fit, np.array(list(columns.values()), dtype=np.intp))] = (
                False  # the guess may see the other half's known labels
            )
            guesses = self._learn(model, (rows, Y, hidden), {})
            test = self._data.X[rows[~fit]]
            p, prepared = fitted.posterior(test).probabilities(), self._prepare(test)
            by_column = {guess.column: guess for guess in guesses}
            for name, c in enough.items():
                told = observed[~fit, c]
                guessed = by_column[c].probabilities(prepared)[told]
                gains[name] = gains[name] + share_likelihoods(p[told, c], guessed, Y[~fit, c][told].astype(float))
        return shares | {name: float(SHARES[np.argmax(gain)]) for name, gain in gains.items()}


def with_room(model: Any, n_labels: int) -> Any:
    """The model, unfitted, for one label more: counts that it, or a model in it, was given have that label unknown."""
    grown = clone(model)
    for name, value in grown.get_params(deep=False).items():
        if name == "cooccurrence" and np.shape(value) == (n_labels - 1, n_labels - 1):
            counts = np.asarray(value, dtype=np.float64)
            grown.set_params(cooccurrence=np.pad(counts, (0, 1), constant_values=np.nan))
        elif isinstance(value, BaseEstimator):
            grown.set_params(**{name: with_room(value, n_labels)})
        elif isinstance(value, list | tuple):
            parts = (with_room(part, n_labels) if isinstance(part, BaseEstimator) else part for part in value)
            grown.set_params(**{name: type(value)(parts)})
    return grown


def spread_rows(n: int, most: int = SAMPLE) -> npt.NDArray[np.intp]:
    """A sample of n rows, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))


def guess_label(
    column: int,
    sums: SketchSums,
    counts: FloatArray,
    told: tuple[Any, npt.NDArray[np.intp], FloatArray],
    model_share: float,
) -> Guess:
    """The guess at one label: its counts and its answers in one regression.

    `told` has prepared features of the training rows, which of them were answered for the label, and the answers.
    """
    prepared, answered, y = told
    weights = regress_answers(sums, counts, prepared[answered], y, SETTINGS)
    expected = float(np.mean(np.clip(np.asarray(prepared @ weights), 0.0, 1.0)))
    floor = max(expected, 0.5 / (prepared.shape[0] + 1)) / 2
    return Guess(column, weights, floor, model_share)


def share_likelihoods(model: FloatArray, guess: FloatArray, answers: FloatArray) -> FloatArray:
    """Log-likelihood of the answers for each of SHARES."""
    return np.array([log_likelihoods(expit(blended(model, guess, share)), answers).sum() for share in SHARES])


def _has_both(values: BoolArray, observed: BoolArray) -> bool:
    yes = int((values & observed).sum())
    return FEWEST_ANSWERS <= yes <= int(observed.sum()) - FEWEST_ANSWERS


def with_all_opinions(data: LabelData, opinions: Iterable[Opinions]) -> LabelData:
    """The data with what these sources say."""
    for each in opinions:
        if not isinstance(each, Opinions):
            raise TypeError(f"opinions must be a list of Opinions, got {each!r}; write Opinions('gpt', {{...}})")
        data = data.with_opinions(each.name, each)
    return data


class HintLearner:
    """What is believed of labels before they are answered, by their names; a function of the pool and its labels alone.

    Parameters
    ----------
    hints : "auto", None, or names in `labelwise.hints.BY_NAME` and objects with `fit`
        Opinions that the data hold are read in any case.
    """

    def __init__(self, hints: str | Iterable[Any] | None) -> None:
        chosen = checked_hints(DEFAULT_HINTS if isinstance(hints, str) and hints == "auto" else hints or ())
        has_opinions = any(getattr(hint, "kind", "words") == OPINIONS for hint in chosen)
        self._chosen = chosen if has_opinions else (*chosen, *checked_hints(["opinions"]))
        self._pool: tuple[Any, Pool | None] = (None, None)  # features, and what was learnt of them
        self._found: tuple[LabelData | None, PoolHints | None] = (None, None)

    def of(self, data: LabelData) -> PoolHints | None:
        """The hints of this pool; None where none has anything to say. What only follows from the items is kept."""
        if not self._chosen:
            return None
        if self._found[0] is not data:
            self._found = (data, learn_hints(data, self._chosen, self.pool(data)))
        return self._found[1]

    def pool(self, data: LabelData) -> Pool:
        """What was learnt of the items, with hints or without; kept while the features stay."""
        if self._pool[0] is not data.X or self._pool[1] is None:
            self._pool = (data.X, Pool.of(data))
        assert self._pool[1] is not None
        return self._pool[1]

    def believed(
        self, data: LabelData, rows: npt.NDArray[np.intp], believe: Callable[[Any], LabelPosterior]
    ) -> ExplainedBeliefs:
        """What is believed of these rows of the pool, and then of a sample, with the parts that it is made of."""
        X = data.X[np.concatenate([rows, spread_rows(data.n_items, WORD_SAMPLE)])]
        beliefs = believe(X)
        model, hints, weights = parts_of(beliefs)
        words = self.pool(data).words(data.feature_names)
        return ExplainedBeliefs(
            X, np.asarray(beliefs.probabilities()), model - model.mean(axis=0), words, hints, weights
        )

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
