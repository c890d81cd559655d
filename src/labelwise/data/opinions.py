"""Opinions about items in files: label sets or scores of a language model, a classifier, rules, a spreadsheet."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from labelwise.data.errors import FormatError
from labelwise.data.formats.rows import JSON_LINES, file_suffix, read_rows
from labelwise.files import AnyPath
from labelwise.records.labels import SEPARATOR
from labelwise.records.opinions import Opinions

ITEM, LABEL, LABELS, SCORE, SCORES = "item", "label", "labels", "score", "scores"


def read_opinions(path: AnyPath, name: str) -> Opinions:
    """What a source of this name says of items, from a jsonl, json or csv file.

    jsonl
        `{"item": "doc1", "labels": ["sports"]}`: it has these labels and no others; or
        `{"item": "doc2", "scores": {"sports": 0.2, "politics": 0.9}}`: of labels left out, or null, nothing is said.
    json
        A list of these, or an object of items: `{"doc1": ["sports"], "doc2": {"politics": 0.9}}`.
    csv
        The columns item, label and score, a line for each score; item and labels, separated by ";"; or item and one
        column of scores for each label, blank where nothing is said.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "gpt.jsonl"
    >>> _ = path.write_text('{"item": "doc1", "labels": ["sports"]}')
    >>> read_opinions(path, "gpt").scores
    {'doc1': ('sports',)}
    """
    kind = file_suffix(path)
    if kind not in (".csv", ".json", *JSON_LINES):
        raise FormatError("opinions are read from a .jsonl, .json or .csv file", path)
    try:
        said = _from_json(path) if kind == ".json" else dict(_from_rows(path, kind))
        return Opinions(name, said)
    except FormatError:
        raise
    except (ValueError, TypeError) as error:
        raise FormatError(f"no opinions can be read: {error}", path) from error


def _from_json(path: AnyPath) -> Mapping[str, Any]:
    found = json.loads(Path(os.fspath(path)).read_text(encoding="utf-8-sig"))
    if isinstance(found, Mapping):
        return found
    if not isinstance(found, list):
        raise ValueError(f"expected a list or an object, got {type(found).__name__}")
    return dict(_once((place, *_entry(entry)) for place, entry in enumerate(found, start=1)))


def _from_rows(path: AnyPath, kind: str) -> Iterator[tuple[str, Any]]:
    rows = read_rows(path, [ITEM])
    if kind == ".csv":
        return _from_table(list(rows), path)
    return _once((line, *_entry(row)) for line, row in rows)


def _entry(entry: Any) -> tuple[str, Any]:
    """The item and what is said of it."""
    if not isinstance(entry, Mapping) or ITEM not in entry:
        raise ValueError(f"expected an object with {ITEM!r}, got {entry!r}")
    if (LABELS in entry) == (SCORES in entry):
        raise ValueError(f"the entry of item {entry[ITEM]!r} needs either {LABELS!r} or {SCORES!r}")
    return str(entry[ITEM]), entry[LABELS] if LABELS in entry else entry[SCORES]


def _once(entries: Iterable[tuple[int, str, Any]]) -> Iterator[tuple[str, Any]]:
    seen: dict[str, int] = {}
    for place, item, said in entries:
        if item in seen:
            raise ValueError(f"item {item!r} is there twice, at {seen[item]} and {place}; leave one out")
        seen[item] = place
        yield item, said


def _from_table(rows: list[tuple[int, dict[str, str]]], path: AnyPath) -> Iterator[tuple[str, Any]]:
    columns = rows[0][1] if rows else {}
    if LABEL in columns and SCORE in columns:
        long: dict[str, dict[str, float]] = {}
        for line, row in rows:
            said = long.setdefault(row[ITEM], {})
            if row[LABEL] in said:
                raise FormatError(f"label {row[LABEL]!r} of item {row[ITEM]!r} has two scores; leave one", path, line)
            said |= _number(row[LABEL], row[SCORE], path, line)
        return iter(long.items())
    if LABELS in columns:
        split = ((line, row[ITEM], _listed(row[LABELS])) for line, row in rows)
        return _once(split)
    wide = ((line, row[ITEM], _numbers(row, path, line)) for line, row in rows)
    return _once(wide)


def _listed(text: str) -> list[str]:
    return [name.strip() for name in text.split(SEPARATOR) if name.strip()]


def _numbers(row: Mapping[str, str], path: AnyPath, line: int) -> dict[str, float]:
    said: dict[str, float] = {}
    for label, cell in row.items():
        if label != ITEM:
            said |= _number(label, cell, path, line)
    return said


def _number(label: str, cell: str, path: AnyPath, line: int) -> dict[str, float]:
    if not cell.strip():
        return {}
    try:
        return {label: float(cell)}
    except ValueError:
        raise FormatError(f"found {cell!r} for the label {label!r}, expected a score in [0, 1]", path, line) from None
