"""Where items come from: any file `labelwise.read` knows, or a folder of pictures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import HashingVectorizer

from labelwise.data import FormatError, read, read_labels
from labelwise.data.formats.datasets import is_dataset
from labelwise.data.formats.rows import TABLES, file_suffix, read_lines
from labelwise.data.skos import VOCABULARIES
from labelwise.labelling.errors import ProjectError
from labelwise.labelling.records import Settings
from labelwise.labelling.store.labels import check_name
from labelwise.records import Label, LabelData, features_by_name
from labelwise.records.labels import as_labels

PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp", ".tif", ".tiff")
PICTURES_FIELD = "image"  # the field of a picture's content
NAME_COLUMNS = {"name", "label", "uri"}  # of a csv that says what labels mean


def read_pool(
    path: str,
    *,
    text: str | None = None,
    labels: Iterable[Any] | None = None,
    known: str | Sequence[str] | None = None,
    id: str | None = None,
    notice: Callable[[str], None] | None = None,
    **csv: Any,
) -> LabelData:
    """Items for a project, with the labels that are known of them.

    Parameters
    ----------
    path : a file, or a folder of pictures
    text : column of text
    labels : the labels to ask about, names or records; may be left out where the file says which there are
    known : column that lists the labels of an item, or one or several columns of 0, 1 and blank: what is known already
    id : column of ids
    notice : called with each sentence about what was found in a table
    csv : options of tables: encoding, delimiter (csv), separator (of labels in one cell)
    """
    described = None if labels is None else as_labels(labels)
    names = None if described is None else [label.name for label in described]
    data = _read_items(path, names, text=text, known=known, id=id, notice=notice, **csv)
    return data if described is None else data.with_labels(described)


def _read_items(
    path: str,
    labels: Sequence[str] | None,
    *,
    text: str | None,
    known: str | Sequence[str] | None,
    id: str | None,
    notice: Callable[[str], None] | None,
    **csv: Any,
) -> LabelData:
    if is_folder(path):
        return _pictures(Path(path), labels)
    if not _is_table(path):
        number = isinstance(known, str) and known.lstrip("-").isdigit()  # so many attributes of an ARFF file
        where: dict[str, Any] = {} if known is None else {"labels": int(str(known)) if number else known}
        return _with_labels(read(path, **where, **csv), labels)
    options: dict[str, Any] = {"labels": known, "notice": notice} | ({} if id is None else {"id": id or None}) | csv
    if text is not None:
        options |= {"text": text, "vectorizer": HashingVectorizer(n_features=2)}  # a project makes its own features
    if isinstance(known, str) or known is None:
        if known is None and labels is None:
            raise ProjectError("which labels are there? Give a list of labels, or the column that holds known ones")
        return read(path, **options, label_names=None if labels is None else list(labels))
    return _with_labels(read(path, **options), labels)


def read_new(
    path: str,
    settings: Settings,
    label_names: Sequence[str],
    id: str | None = None,
    *,
    notice: Callable[[str], None] | None = None,
    **csv: Any,
) -> LabelData:
    """More items for a project, or items to predict: read as the project's features need them.

    `id` is the column of their ids, "" to number them; None is the column that the project's own came from.
    """
    kind = settings.features["kind"]
    if kind == "images" and is_folder(path):
        return _pictures(Path(path), label_names)
    if not _is_table(path):
        data = read(path, **csv)
        return as_the_project(data, settings) if kind == "numbers" else data
    options: dict[str, Any] = {"labels": None, "label_names": list(label_names), "notice": notice} | csv
    column = id_column(settings, id)
    options |= {} if column is None else {"id": column or None}
    if kind == "numbers":
        options |= {"features": settings.features.get("names")}
    else:
        field = settings.features.get("field")
        options |= {"text": field or "text", "vectorizer": HashingVectorizer(n_features=2)}
    try:
        return read(path, **options)
    except FormatError as error:
        if id is None and "asked for by id=" in error.problem:
            cure = "it has the ids of the project's own items; name another by id=, or number the rows by id=''"
            raise FormatError(f"{error.problem}: {cure}", error.path) from None
        raise


def id_column(settings: Settings, given: str | None) -> str | None:
    """The column of the ids of more items: as it is given, or that of the project's own items."""
    return settings.features.get("id") if given is None else given


def as_the_project(data: LabelData, settings: Settings) -> LabelData:
    """The same items with their numbers in the order of the project's features; ProjectError where these differ."""
    names, width = settings.features.get("names"), settings.features["width"]
    if data.n_features != width:
        raise ProjectError(f"the items have {data.n_features} features, the project {width}")
    try:
        X = features_by_name(data.X, names, width, data.feature_names)
    except ValueError as error:
        raise ProjectError(str(error)) from None
    return replace(data, X=X, feature_names=data.feature_names if names is None else tuple(names))


def read_label_list(given: str) -> tuple[Label, ...]:
    """The labels of a file, or, where there is no such file, those named by comma.

    A file has one label per line; json, jsonl, and csv with a column `name`, may say what they mean, see
    `labelwise.data.read_labels`.
    """
    if not os.path.exists(given):
        if given.endswith((".txt", ".csv", ".json", ".jsonl", *VOCABULARIES)):
            raise ProjectError(f"there is no file {given!r} with the labels")
        labels = as_labels(name.strip() for name in given.split(",") if name.strip())
    else:
        kind, lines = file_suffix(given), read_lines(given)
        is_table = kind == ".csv" and bool(lines) and not NAME_COLUMNS.isdisjoint(lines[0].lower().split(","))
        labels = read_labels(given) if is_table or kind in (".json", ".jsonl", *VOCABULARIES) else as_labels(lines)
    if not labels:
        raise ProjectError(f"{given!r} names no label; write one per line")
    for label in labels:
        check_name(label.name)
    return labels


def is_folder(path: str) -> bool:
    """Whether it is a folder of pictures: any but a Hugging Face dataset."""
    return Path(path).is_dir() and not is_dataset(path)


def _is_table(path: str) -> bool:
    return file_suffix(path) in TABLES or is_dataset(path)


def _with_labels(data: LabelData, labels: Sequence[str] | None) -> LabelData:
    for name in labels or ():
        if name not in data.label_names:
            data = data.with_label(name)
    return data


def _pictures(folder: Path, labels: Sequence[str] | None) -> LabelData:
    pictures = sorted(path for path in folder.rglob("*") if path.suffix.lower() in PICTURES)
    if not pictures:
        raise ProjectError(f"there is no picture in {folder}; looked for {', '.join(PICTURES)}")
    if not labels:
        raise ProjectError("which labels are there? Give a list of labels")
    return LabelData.from_arrays(
        np.zeros((len(pictures), 1)),  # a project makes its own features of pictures
        label_names=labels,
        item_ids=[path.relative_to(folder).as_posix() for path in pictures],
        items=[{PICTURES_FIELD: str(path.resolve())} for path in pictures],
    )
