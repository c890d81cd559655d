"""Train on a stream in one pass, with progressive validation, and go on after whatever stopped it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from labelwise.data import StreamBatch, open_stream
from labelwise.data.formats.registry import stream_format
from labelwise.files import remove_unfinished
from labelwise.models import OnlineBayes
from labelwise.numerics.user_input import check_at_least
from labelwise.posterior import BoolArray, FloatArray
from labelwise.streams.checkpoint import Checkpoint, FileStart
from labelwise.streams.judge import Judge, RunningShares, Score, StreamRule
from labelwise.studies.tables import Table

Item = TypeVar("Item")


@dataclass(frozen=True)
class StreamPlan:
    """How a stream is gone through.

    Parameters
    ----------
    batch : rows predicted, then learnt, at a time
    window : rows that are judged together, at least; a window ends with a batch
    checkpoint_every : rows after which the model is saved, at least; at the end of a window, and at the end
    decision : rule for the label sets that are judged, see `StreamRule.parse`; None leaves the judging out
    limit : rows of the file to stop after

    Examples
    --------
    >>> StreamPlan(batch=500, decision="expected_f1").window
    5000
    """

    batch: int = 1000
    window: int = 5000
    checkpoint_every: int = 100_000
    decision: str | None = "class_mass"
    limit: int | None = None

    def __post_init__(self) -> None:
        check_at_least(self, 1, "batch", "window", "checkpoint_every", "limit")
        if self.decision is not None:
            StreamRule.parse(self.decision)


@dataclass(frozen=True)
class Window:
    """The rows judged together that end at `rows`."""

    rows: int
    score: Score


@dataclass(frozen=True)
class StreamProgress:
    """Where a training is: rows read in all, share of the file (None where unknown), and the last window."""

    rows: int
    fraction: float | None
    window: Window | None


@dataclass(frozen=True, eq=False)
class Training:
    """What came of a training; the model is saved, too."""

    model: OnlineBayes
    label_names: list[str]
    rows: int  # read in all
    new_rows: int  # read by this call
    curve: Table  # one row per window: rows, labels, measures
    measures: dict[str, float]  # over all windows


def train_stream(
    path: str | os.PathLike[str],
    model_path: str | os.PathLike[str],
    *,
    settings: Mapping[str, Any] | None = None,
    reading: Mapping[str, Any] | None = None,
    plan: StreamPlan | None = None,
    fresh: bool = False,
    on_batch: Callable[[StreamProgress], None] | None = None,
) -> Training:
    """One pass over a file: predict each batch, judge the predictions, learn it, save now and then.

    A model file that is there already is continued. The same file is read on behind the last checkpoint. A run that was
    killed ends with the very weights of one that was not, and of a file that has grown the new rows are learnt. Another
    file is read from its beginning. Rows are never learnt twice.

    Parameters
    ----------
    path : file to learn, in a format of `open_stream`
    model_path : where the model is, or is going to be: an npz file, which `OnlineBayes.load` reads as well
    settings : of `OnlineBayes`; those of a model begun earlier can be left out, and must not differ if they are not
    reading : format and options of `open_stream`, likewise
    plan : StreamPlan, optional
    fresh : start again, whatever `model_path` holds
    on_batch : called after each batch

    Examples
    --------
    >>> import tempfile
    >>> from labelwise.data import make_drifting_stream, write
    >>> folder = tempfile.mkdtemp()
    >>> write(make_drifting_stream(600, random_state=0), f"{folder}/news.libsvm")
    >>> plan = StreamPlan(batch=100, window=200)
    >>> done = train_stream(f"{folder}/news.libsvm", f"{folder}/news.npz", plan=plan)
    >>> done.rows, len(done.label_names), done.curve["micro_f1"][-1] > done.curve["micro_f1"][0]
    (600, 12, np.True_)
    """
    plan, source, target = plan or StreamPlan(), Path(path), Path(model_path)
    remove_unfinished(target.parent, target.name)  # of a run that was killed: one run writes a model at a time
    run = _Run(_begin(source, target, settings or {}, dict(reading or {}), fresh), plan, target)
    at = run.checkpoint
    stream = open_stream(
        source, batch=plan.batch, start=at.position, limit=plan.limit, seen_labels=at.label_names, **at.reading
    )
    already = at.rows
    for batch in ahead(stream):
        run.take(batch, stream.label_names)
        if on_batch is not None:
            on_batch(StreamProgress(at.rows, stream.fraction(batch.end), run.window))
    run.finish(already)
    return Training(
        at.model, at.label_names, at.rows, at.rows - already, Table.from_rows(at.curve), at.score.measures()
    )


def _begin(source: Path, target: Path, settings: Mapping[str, Any], reading: dict[str, Any], fresh: bool) -> Checkpoint:
    """The checkpoint to go on from: that of the model file, or a new one."""
    name = stream_format(source, reading.pop("format", None))
    given = {key: os.fspath(value) if isinstance(value, os.PathLike) else value for key, value in reading.items()}
    here = FileStart.of(source)
    if fresh or not target.exists():
        shares = RunningShares(settings.get("half_life"))
        return Checkpoint(OnlineBayes(**settings), reading={"format": name, **given}, source=here, shares=shares)
    checkpoint = Checkpoint.load(target)
    known = checkpoint.model.get_params()
    for key, value in settings.items():
        if key == "n_jobs":
            checkpoint.model.set_params(n_jobs=value)
        elif known.get(key) != value:
            raise ValueError(
                f"the model in {target} was begun with {key}={known.get(key)!r}, got {value!r}; "
                "leave it out, take another model file, or start again (fresh)"
            )
    merged = {**checkpoint.reading_of(name), **given}
    if checkpoint.source.is_beginning_of(source):
        if merged != checkpoint.reading:
            raise ValueError(
                f"{source} was begun to be read with {checkpoint.reading}, got {given}; "
                "say the same, or start again (fresh)"
            )
        return checkpoint
    checkpoint.rows_before, checkpoint.position = checkpoint.rows, None
    checkpoint.source, checkpoint.reading = here, merged
    return checkpoint


class _Run:
    """A training under way: what is in memory beside the checkpoint."""

    def __init__(self, checkpoint: Checkpoint, plan: StreamPlan, target: Path) -> None:
        self.checkpoint, self.plan, self.target = checkpoint, plan, target
        self.window: Window | None = None
        self._rule = None if plan.decision is None else StreamRule.parse(plan.decision)
        self._judge: Judge | None = None  # of the window under way
        self._window_began = self._saved_at = checkpoint.rows

    def take(self, batch: StreamBatch, names: list[str]) -> None:
        at = self.checkpoint
        truth: BoolArray = batch.Y.toarray()
        observed: BoolArray | None = None if batch.observed is None else batch.observed.toarray()
        if self._rule is not None and hasattr(at.model, "state_"):
            self._judge = self._judge or Judge(self._rule, at.shares.shares(len(at.label_names)))
            self._judge.add(beliefs(at.model, batch.X), truth, observed)
        if truth.shape[1] and (observed is None or observed.any()):
            at.model.partial_fit(batch.X, truth, observed)
        at.shares.add(truth, observed)
        at.label_names = names[: truth.shape[1]]  # the reader may be ahead
        at.position = batch.end
        if at.rows - self._window_began >= self.plan.window:
            self._close_window()
            if at.rows - self._saved_at >= self.plan.checkpoint_every:
                self._save()

    def _close_window(self) -> None:
        at = self.checkpoint
        if self._judge is not None:
            score = self._judge.close()
            at.score += score
            at.curve.append({"rows": at.rows, "labels": len(at.label_names), **score.measures()})
            self.window = Window(at.rows, score)
        self._judge, self._window_began = None, at.rows

    def _save(self) -> None:
        self.checkpoint.save(self.target)
        self._saved_at = self.checkpoint.rows

    def finish(self, already: int) -> None:
        """Judge what is left of the last window and save, if anything was read."""
        if not hasattr(self.checkpoint.model, "state_"):
            raise ValueError("there was nothing to learn: no row has a known label; is the label column the right one?")
        if self.checkpoint.rows > already:
            self._close_window()
            self._save()


def beliefs(model: OnlineBayes, X: Any) -> FloatArray:
    """(n, q) probabilities; features that the model has never seen are taken as they come."""
    p: FloatArray = model.posterior(X).probabilities()
    return p


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The same items, each prepared in a thread while the one before it is at work."""
    iterator, end = iter(items), object()
    with ThreadPoolExecutor(1) as pool:
        following = pool.submit(next, iterator, end)
        while (item := following.result()) is not end:
            following = pool.submit(next, iterator, end)
            yield item  # type: ignore[misc]  # not `end`, so one of the items
