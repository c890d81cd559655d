"""Labels in files: names, descriptions, keywords, aliases, parents; from lists, tables and SKOS-like JSON."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from labelwise.data.errors import FormatError
from labelwise.files import AnyPath, split_name
from labelwise.records.label_data import check_unique
from labelwise.records.labels import Label, as_labels

FIELDS = tuple(field.name for field in fields(Label))
SKOS = {  # property: field
    "prefLabel": "name",
    "altLabel": "aliases",
    "hiddenLabel": "keywords",
    "definition": "description",
    "scopeNote": "description",
    "example": "examples",
    "broader": "parent",
}
OTHER_NAMES = {
    "label": "name",
    "definition": "description",
    "alias": "aliases",
    "keyword": "keywords",
    "broader": "parent",
}


def read_labels(source: AnyPath | Iterable[Any] | Mapping[str, str], *, language: str = "en") -> tuple[Label, ...]:
    """Labels from a file, or from what is at hand: names, mappings, or one mapping of names to descriptions.

    A csv has a column `name` and any of description, examples, keywords, aliases, parent; lists are separated by ";".
    A jsonl has one such object, or one name, on each line. A json is a list of these, an object of names and
    descriptions, or SKOS-like: concepts with prefLabel, altLabel, hiddenLabel, definition, scopeNote, example and
    broader, in `@graph`, `concepts` or a list. Any other file has one name on each line. Where SKOS says something in
    several languages, `language` decides.

    Examples
    --------
    >>> [label.name for label in read_labels({"joy": "being glad", "fear": "being afraid"})]
    ['joy', 'fear']
    """
    if not isinstance(source, str | os.PathLike):
        return _checked(as_labels(source))
    path = Path(os.fspath(source))
    kind = split_name(path)[1]
    try:
        text = path.read_text(encoding="utf-8-sig")
        if kind == ".csv":
            found: Iterable[Any] = _rows(text, path)
        elif kind == ".jsonl":
            found = [_plain(json.loads(line)) for line in text.splitlines() if line.strip()]
        elif kind == ".json":
            found = _from_json(json.loads(text), language)
        else:
            found = [line.strip() for line in text.splitlines() if line.strip()]
        return _checked(as_labels(found))
    except (ValueError, TypeError) as error:  # that of JSON is a ValueError, too
        raise FormatError(f"no labels can be read: {error}", path) from error


def _checked(labels: tuple[Label, ...]) -> tuple[Label, ...]:
    if not labels:
        raise ValueError("there is no label in it")
    check_unique("label name", [label.name for label in labels])
    return labels


def _rows(text: str, path: Path) -> list[Any]:
    rows = list(csv.DictReader(text.splitlines()))
    if rows and None in rows[0]:
        raise ValueError("a row has more cells than the first line names")
    return [_plain({key: cell for key, cell in row.items() if cell}) for row in rows]


def _plain(entry: Any) -> Any:
    """A name, or the fields that a label has, by their usual names."""
    if not isinstance(entry, Mapping):
        return entry
    named = {OTHER_NAMES.get(key.strip().lower(), key.strip().lower()): value for key, value in entry.items()}
    return {key: value for key, value in named.items() if key in FIELDS}


def _from_json(content: Any, language: str) -> Any:
    if isinstance(content, Mapping):
        concepts = content.get("@graph", content.get("concepts"))
        if concepts is None:
            return content  # names and descriptions
        content = list(concepts.values()) if isinstance(concepts, Mapping) else concepts
    if not isinstance(content, list):
        raise ValueError(f"expected a list of labels or an object, got {content!r}")
    if not any(isinstance(entry, Mapping) and "prefLabel" in map(_local, entry) for entry in content):
        return [_plain(entry) for entry in content]
    return _from_skos([entry for entry in content if isinstance(entry, Mapping)], language)


def _from_skos(concepts: list[Mapping[str, Any]], language: str) -> list[dict[str, Any]]:
    found, name_of = [], {}
    for concept in concepts:
        said: dict[str, Any] = {}
        for key, value in concept.items():
            field = SKOS.get(_local(key))
            if field is None:
                continue
            texts = _texts(value, language)
            if field in ("name", "parent"):
                said.setdefault(field, texts[0] if texts else "")
            elif field == "description":
                said[field] = " ".join([said.get(field, ""), *texts]).strip()
            else:
                said[field] = (*said.get(field, ()), *texts)
        if said.get("name"):
            name_of[str(concept.get("@id", concept.get("id", concept.get("uri", said["name"]))))] = said["name"]
            found.append(said)
    for said in found:
        said["parent"] = name_of.get(said.get("parent", ""), "")  # one that is not in the file has no name
    return found


def _local(key: str) -> str:
    """The last part of "skos:prefLabel" or of a whole address."""
    return key.replace("#", ":").replace("/", ":").rsplit(":", 1)[-1]


def _texts(value: Any, language: str) -> list[str]:
    """Texts in the language, or in the first one there is."""
    if isinstance(value, str):
        return [value]
    if isinstance(value, Mapping):
        if "@value" in value:
            return [str(value["@value"])]
        if "@id" in value or "uri" in value:
            return [str(value.get("@id", value.get("uri")))]
        return _texts(value.get(language, next(iter(value.values()), [])), language)
    entries = list(value or ())
    spoken = [each for each in entries if isinstance(each, Mapping) and each.get("@language", language) == language]
    return [text for each in (spoken or entries) for text in _texts(each, language)]
