"""Predict a stream with a trained model: to a file, or against the labels that the stream has."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from labelwise.data import Stream, StreamBatch, open_stream
from labelwise.data.formats.registry import stream_format
from labelwise.data.predictions import prediction_columns, writing_predictions
from labelwise.decisions import LabelTally, StreamedCuts
from labelwise.posterior import BoolArray, FloatArray, MarginalPosterior
from labelwise.streams.checkpoint import Checkpoint
from labelwise.streams.judge import Score, StreamRule, belief_score, padded, set_score
from labelwise.streams.train import ahead, beliefs

AnyPath = str | os.PathLike[str]
OnBatch = Callable[[int, float | None], None]  # rows decided, share of all passes over the file


@dataclass(frozen=True)
class Predicted:
    """How many rows were predicted, how many labels given, and the macro-F1 that the beliefs expect, if they do.

    Believed F1 is as good as the beliefs: a model of few rows promises too little, one of many too much.
    """

    rows: int
    labels_given: int
    believed_macro_f1: float | None


def predict_stream(
    path: AnyPath,
    model_path: AnyPath,
    out: AnyPath,
    *,
    decision: str = "class_mass",
    top: int = 0,
    reading: Mapping[str, Any] | None = None,
    on_batch: OnBatch | None = None,
) -> Predicted:
    """Write the label sets of a file, however long, with the probabilities of their labels.

    Parameters
    ----------
    path : file to predict; its labels, if it has any, are not looked at
    model_path : a model trained by `train_stream`, or saved by `OnlineBayes.save`
    out : .jsonl, .csv or .parquet file
    decision : see `StreamRule.parse`; "class_mass" and "expected_f1" look at all rows and go through the file twice
    top : also write this many most probable labels of each row
    reading : format and options of `open_stream`; those of the training where left out
    on_batch : called with the rows decided and the share of the work done (None where unknown)

    Examples
    --------
    >>> import tempfile
    >>> from labelwise.data import make_drifting_stream, read, write
    >>> from labelwise.streams.train import train_stream
    >>> folder = tempfile.mkdtemp()
    >>> for name, seed in (("train", 0), ("new", 1)):
    ...     write(make_drifting_stream(500, random_state=seed), f"{folder}/{name}.txt")
    >>> _ = train_stream(f"{folder}/train.txt", f"{folder}/model.npz")
    >>> predict_stream(f"{folder}/new.txt", f"{folder}/model.npz", f"{folder}/new.jsonl").rows
    500
    """
    trained, walk = _prepare(path, model_path, decision, reading, labelled=False)
    if top < 0:
        raise ValueError(f"top must not be negative, got {top!r}")
    rows = given = 0
    with writing_predictions(out) as append:
        for batch, p, sets in walk.decided(on_batch):
            append(prediction_columns(batch.ids, sets, p, trained.label_names, top))
            rows, given = rows + batch.n_rows, given + int(sets.sum())
    return Predicted(rows, given, walk.believed_macro_f1)


def score_stream(
    path: AnyPath,
    model_path: AnyPath,
    *,
    decision: str = "class_mass",
    reading: Mapping[str, Any] | None = None,
    on_batch: OnBatch | None = None,
) -> Score:
    """Predict a labelled file as `predict_stream` does and compare; a label the model never saw counts as missed.

    Examples
    --------
    >>> import tempfile, labelwise as lw
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, seed in (("train", 0), ("new", 1)):
    ...         lw.data.write(lw.data.make_drifting_stream(500, random_state=seed), f"{folder}/{name}.txt")
    ...     _ = lw.streams.train_stream(f"{folder}/train.txt", f"{folder}/model.npz")
    ...     score_stream(f"{folder}/new.txt", f"{folder}/model.npz").rows
    500
    """
    _, walk = _prepare(path, model_path, decision, reading, labelled=True)
    score = Score()
    for batch, p, sets in walk.decided(on_batch):
        truth: BoolArray = batch.Y.toarray()
        observed = None if batch.observed is None else batch.observed.toarray()
        score += belief_score(p, truth, observed)
        score += set_score(padded(sets, truth.shape[1]), truth, observed)
    return score


def _prepare(
    path: AnyPath, model_path: AnyPath, decision: str, reading: Mapping[str, Any] | None, labelled: bool
) -> tuple[Checkpoint, _Walk]:
    rule = StreamRule.parse(decision)
    if not Path(model_path).exists():
        raise FileNotFoundError(2, "there is no such model; train one with labelwise stream train", str(model_path))
    trained = Checkpoint.load(Path(model_path))
    given = dict(reading or {})
    name = stream_format(path, given.pop("format", None))
    not_carried_over = ("shape",) if labelled else ("shape", "label_names")  # which belong to the file that was learnt
    saved = {key: value for key, value in trained.reading_of(name).items() if key not in not_carried_over}
    options = {**saved, **given}

    def open_again() -> Stream:
        return open_stream(path, seen_labels=trained.label_names, labelled=labelled, **options)

    return trained, _Walk(open_again, trained, rule)


class _Walk:
    """One or two passes over a file, as the rule needs them."""

    def __init__(self, open_again: Callable[[], Stream], trained: Checkpoint, rule: StreamRule) -> None:
        self._open, self._trained, self._rule = open_again, trained, rule
        self.believed_macro_f1: float | None = None

    def decided(self, on_batch: OnBatch | None) -> Iterator[tuple[StreamBatch, FloatArray, BoolArray]]:
        """Batches with their probabilities and label sets."""
        notify = on_batch or (lambda rows, share: None)
        rule, passes = self._rule.per_item() if self._rule.passes == 1 else None, self._rule.passes
        if rule is None:
            shares = self._trained.shares.shares(len(self._trained.label_names))
            tally = LabelTally(len(shares))
            for _, p, share in self._pass():
                tally.add(MarginalPosterior(p))
                notify(0, None if share is None else share / passes)
            rule = self._rule.over_stream(tally, shares)
            self.believed_macro_f1 = _mean_expected(rule, shares)
        rows = 0
        for batch, p, share in self._pass():
            yield batch, p, rule.decide(MarginalPosterior(p))
            rows += batch.n_rows
            notify(rows, None if share is None else (passes - 1 + share) / passes)

    def _pass(self) -> Iterator[tuple[StreamBatch, FloatArray, float | None]]:
        stream = self._open()
        for batch in ahead(stream):
            yield batch, beliefs(self._trained.model, batch.X), stream.fraction(batch.end)


def _mean_expected(rule: Any, shares: FloatArray) -> float | None:
    """Over labels that were ever seen."""
    seen = shares > 0
    return float(np.mean(rule.expected[seen])) if isinstance(rule, StreamedCuts) and seen.any() else None
