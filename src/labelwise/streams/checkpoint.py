"""A model in training on disk: one npz file that is both a saved `OnlineBayes` and the place to go on from."""

from __future__ import annotations

import hashlib
import json
import math
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from labelwise.data import FormatError, Position
from labelwise.data.errors import UNREADABLE
from labelwise.data.reading import check_archive
from labelwise.models import OnlineBayes
from labelwise.models.online.model import write_model as save_model
from labelwise.streams.judge import RunningShares, Score

ARCHIVE_MEMBER = "stream"
CHECKPOINT_VERSION = 1
FINGERPRINT_BYTES = 1 << 16  # bytes by which a file is known again


class CheckpointVersionError(ValueError):
    """A checkpoint that this version of labelwise does not read."""


@dataclass(frozen=True)
class FileStart:
    """A file known by how it begins, so that one that has grown since is still the same."""

    bytes: int = 0
    digest: str = ""

    @classmethod
    def of(cls, path: Path) -> FileStart:
        with path.open("rb") as file:
            head = file.read(FINGERPRINT_BYTES)
        return cls(len(head), hashlib.sha256(head).hexdigest())

    def is_beginning_of(self, path: Path) -> bool:
        if self.bytes == 0:
            return False
        with path.open("rb") as file:
            return hashlib.sha256(file.read(self.bytes)).hexdigest() == self.digest


@dataclass(eq=False)
class Checkpoint:
    """Everything about a training that must survive: the model, its labels, the place in the file, the scores."""

    model: OnlineBayes
    label_names: list[str] = field(default_factory=list)
    reading: dict[str, Any] = field(default_factory=dict)  # format and options of `open_stream`
    source: FileStart = FileStart()
    position: Position | None = None  # in the source
    rows_before: int = 0  # of other sources, learnt earlier
    score: Score = field(default_factory=Score)  # of all windows
    shares: RunningShares = field(default_factory=RunningShares)
    curve: list[dict[str, float]] = field(default_factory=list)  # one row per window

    def reading_of(self, format: str) -> dict[str, Any]:
        """What was said of the file learnt so far that holds for another one of this format."""
        known = self.reading.get("format")
        if format == "xmc" and "text" in self.reading:
            raise ValueError(
                f"the model learnt the text of column {self.reading['text']!r}, and an xmc file has none; "
                "give it a jsonl or parquet file with that column"
            )
        alike = known == format or "xmc" not in (known, format)  # tables of either format are read alike
        return {**self.reading, "format": format} if alike else {"format": format}

    @property
    def rows(self) -> int:
        """Rows read in all."""
        return self.rows_before + (0 if self.position is None else self.position.row)

    def save(self, path: Path) -> None:
        """Write the file whole or not at all: whatever happens, a whole checkpoint is found."""
        saved = {
            "version": CHECKPOINT_VERSION,
            "label_names": self.label_names,
            "reading": self.reading,
            "source": asdict(self.source),
            "position": None if self.position is None else asdict(self.position),
            "rows_before": self.rows_before,
            "score": self.score.to_json(),
            "shares": self.shares.to_json(),
            "curve": [{key: None if math.isnan(value) else value for key, value in row.items()} for row in self.curve],
        }
        content = np.frombuffer(json.dumps(saved, allow_nan=False).encode(), dtype=np.uint8)
        save_model(self.model, path, **{ARCHIVE_MEMBER: content})

    @classmethod
    def load(cls, path: Path) -> Checkpoint:
        """A checkpoint, or a model saved by itself, whose labels then are called by their numbers."""
        if not zipfile.is_zipfile(path):
            raise ValueError(f"{path} is no saved model; train one with labelwise stream train")
        try:
            check_archive(path)
            return cls._of(path)
        except (FormatError, CheckpointVersionError):
            raise
        except UNREADABLE as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise  # the disk's fault, not the file's
            reason = next(iter(str(error).splitlines()), type(error).__name__)
            raise ValueError(f"{path} is damaged or no model of ours ({reason}); train it again") from None

    @classmethod
    def _of(cls, path: Path) -> Checkpoint:
        model, saved = OnlineBayes.load(path), _read(path)
        if saved is None:
            return _of_model(model)
        if saved["version"] != CHECKPOINT_VERSION:
            raise CheckpointVersionError(f"{path} was written by another version of labelwise; train it again")
        return cls(
            model=model,
            label_names=saved["label_names"],
            reading=saved["reading"],
            source=FileStart(**saved["source"]),
            position=None if saved["position"] is None else Position(**saved["position"]),
            rows_before=saved["rows_before"],
            score=Score.from_json(saved["score"]),
            shares=RunningShares.from_json(saved["shares"]),
            curve=[{key: math.nan if value is None else value for key, value in row.items()} for row in saved["curve"]],
        )


def _read(path: Path) -> Mapping[str, Any] | None:
    with np.load(path, allow_pickle=False) as file:
        found: Mapping[str, Any] | None = json.loads(file[ARCHIVE_MEMBER].tobytes()) if ARCHIVE_MEMBER in file else None
    return found


def _of_model(model: OnlineBayes) -> Checkpoint:
    shares = RunningShares(model.half_life)
    negative, positive = model.state_.counts[:, : model.n_labels_]
    shares.positives, shares.answers = positive.astype(float), (negative + positive).astype(float)
    shares.seen = positive > 0
    return Checkpoint(model, [str(label) for label in range(model.n_labels_)], rows_before=model.n_seen_, shares=shares)
