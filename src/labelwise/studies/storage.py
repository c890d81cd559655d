"""Finished runs on disk, one file each: named by what was run, written whole or not at all, checked when read."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from labelwise.data import ShardedFeatures
from labelwise.files import write_text
from labelwise.records import LabelData
from labelwise.studies.simulate import Result

RUN_FORMAT = 2  # part of every run's name: raise it when a run's content or meaning changes


def fingerprint(data: LabelData) -> str:
    """A digest of features, labels, masks and names: other data never pass for these.

    >>> data = LabelData.from_arrays([[0.0, 1.0]], [[1, 0]])
    >>> fingerprint(data) == fingerprint(LabelData.from_arrays([[0.0, 1.0]], [[1, 1]]))
    False
    """
    digest = hashlib.sha256()
    for matrix in (data.X, data.Y, data.observed):
        _feed(digest, matrix)
    for names in (data.item_ids, data.label_names):
        digest.update(json.dumps(names).encode())
    return digest.hexdigest()[:32]


def run_key(settings: Mapping[str, Any]) -> str:
    """The name of a run: a digest of everything that decides its outcome."""
    content = json.dumps({"format": RUN_FORMAT, **settings}, sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()[:32]


class RunStore:
    """A folder of finished runs.

    `load` gives None for a run that is missing, cut short, damaged or of another format, so that it is done again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def path(self, key: str) -> Path:
        return self.folder / f"{key}.json"

    def save(self, key: str, settings: Mapping[str, Any], result: Result) -> None:
        body = {"settings": settings, "rows": [_without_nan(row) for row in result.rows], "asked": result.asked}
        content = json.dumps(body)
        whole = f'{{"format": {RUN_FORMAT}, "digest": "{_digest(content)}", "body": {content}}}\n'
        self.folder.mkdir(parents=True, exist_ok=True)
        write_text(self.path(key), whole)

    def load(self, key: str) -> Result | None:
        try:
            whole = json.loads(self.path(key).read_text(encoding="utf-8"))
            body = whole["body"]
            if whole["format"] != RUN_FORMAT or whole["digest"] != _digest(json.dumps(body)):
                return None
            if run_key(body["settings"]) != key:
                return None
            rows = tuple({k: math.nan if v is None else v for k, v in row.items()} for row in body["rows"])
            return Result(rows, tuple(tuple((item, label) for item, label in batch) for batch in body["asked"]))
        except (OSError, ValueError, KeyError, TypeError):  # unreadable in any way: not there
            return None


def _without_nan(row: Mapping[str, Any]) -> dict[str, Any]:
    return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()


def _feed(digest: Any, matrix: Any) -> None:
    if matrix is None:
        digest.update(b"none")
        return
    digest.update(f"{matrix.shape} {matrix.dtype}".encode())
    if sp.issparse(matrix):
        matrix = sp.csr_array(matrix, copy=True)
        matrix.sum_duplicates()  # sorts the columns of each row, too
        for part in (matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data):
            digest.update(part.tobytes())
    elif isinstance(matrix, ShardedFeatures):
        for _, rows in matrix.blocks():
            _feed(digest, rows)
    else:
        digest.update(np.ascontiguousarray(matrix).tobytes())
