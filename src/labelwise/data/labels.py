"""Labels in files: names, descriptions, keywords, aliases, parents; from lists, tables and SKOS."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any

from labelwise.data.errors import FormatError
from labelwise.data.skos import VOCABULARIES, read_concepts, write_turtle
from labelwise.files import AnyPath, split_name, write_text
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
    """Labels from a file, or from memory: names, mappings, or one mapping of names to descriptions.

    A csv has a column `name` and any of description, examples, keywords, aliases, parent; lists are separated by ";".
    A jsonl has one such object, or one name, on each line. A json is a list of these, an object of names and
    descriptions, or SKOS-like: concepts with prefLabel, altLabel, hiddenLabel, definition, scopeNote, example and
    broader, in `@graph`, `concepts` or a list. SKOS in Turtle (.ttl), N-Triples (.nt) and RDF/XML (.rdf, .xml) is
    read, and so are Annif's tables of subjects: .tsv with an address and a name, .csv with columns `uri` and
    `label_en`. Any other file has one name on each line. Of several languages, `language` is read.

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
            found: Iterable[Any] = _rows(text, language)
        elif kind == ".jsonl":
            found = [_plain(json.loads(line), language) for line in text.splitlines() if line.strip()]
        elif kind == ".json":
            found = _from_json(json.loads(text), language)
        elif kind in VOCABULARIES:
            found = _from_skos(read_concepts(text, kind), language)
        else:
            found = [line.strip() for line in text.splitlines() if line.strip()]
        return _checked(as_labels(found))
    except (ValueError, TypeError) as error:  # that of JSON is a ValueError, too
        raise FormatError(f"no labels can be read: {error}", path) from error


def write_labels(labels: Iterable[Any], path: AnyPath, *, language: str = "en") -> None:
    """Write labels so that `read_labels` gives the same back: .csv, .jsonl, or SKOS as .json or .ttl.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/labels.ttl"
    >>> write_labels([Label("joy", aliases=("delight",), parent="emotion"), Label("emotion")], path)
    >>> read_labels(path)[0].aliases, read_labels(path)[0].parent
    (('delight',), 'emotion')
    """
    kept, kind = _checked(as_labels(labels)), split_name(path)[1]
    if kind == ".ttl":
        write_text(path, write_turtle(kept, language))
    elif kind == ".json":
        property_of = {field: name for name, field in SKOS.items() if name != "scopeNote"}
        concepts = [{property_of[key]: value for key, value in label.as_dict().items()} for label in kept]
        write_text(path, json.dumps({"concepts": concepts}, ensure_ascii=False, indent=1))
    elif kind == ".jsonl":
        write_text(path, "".join(json.dumps(label.as_dict(), ensure_ascii=False) + "\n" for label in kept))
    elif kind == ".csv":
        _check_lists(kept, path)
        rows = [[cell if isinstance(cell, str) else "; ".join(cell) for cell in astuple(label)] for label in kept]
        text = io.StringIO()
        csv.writer(text).writerows([FIELDS, *rows])
        write_text(path, text.getvalue())
    else:
        raise FormatError("labels are written to .csv, .jsonl, .json or .ttl files", path)


def _check_lists(labels: Iterable[Label], path: AnyPath) -> None:
    for label in labels:
        for text in (*label.examples, *label.keywords, *label.aliases):
            if ";" in text:
                raise FormatError(f"{text!r} of the label {label.name!r} has a ; in it; use .jsonl", path)


def _checked(labels: tuple[Label, ...]) -> tuple[Label, ...]:
    if not labels:
        raise ValueError("there is no label in it")
    check_unique("label name", [label.name for label in labels])
    return labels


def _rows(text: str, language: str) -> list[Any]:
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    if rows and None in rows[0]:
        raise ValueError("a row has more cells than the first line names")
    return [_plain({key: cell for key, cell in row.items() if cell}, language) for row in rows]


def _plain(entry: Any, language: str = "en") -> Any:
    """A name, or the fields that a label has, by their usual names."""
    if not isinstance(entry, Mapping):
        return entry
    names = OTHER_NAMES | {f"label_{language}": "name"}  # as Annif calls its columns
    named = {names.get(key.strip().lower(), key.strip().lower()): value for key, value in entry.items()}
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
        return [_plain(entry, language) for entry in content]
    return _from_skos([entry for entry in content if isinstance(entry, Mapping)], language)


def _from_skos(concepts: Sequence[Mapping[str, Any]], language: str) -> list[dict[str, Any]]:
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
