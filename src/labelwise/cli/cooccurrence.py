"""`labelwise cooccurrence`: how often labels occur together elsewhere, as a csv."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwise import data
from labelwise.cli._common import at_least_one, errors, label_option, load, user_errors
from labelwise.views.wording import did_you_mean

if TYPE_CHECKING:
    from labelwise.records import LabelData

SHOWN = 10


def cooccurrence(
    source: Annotated[
        str, typer.Argument(help="A labelled set, or, with --names, a text file with one document per line.")
    ],
    out: Annotated[Path, typer.Option(help="The csv to write: label, other, count.")],
    names: Annotated[Path | None, typer.Option(help="Labels to look for in the texts, one per line.")] = None,
    synonyms: Annotated[
        Path | None, typer.Option(help="csv with the columns label and term: more words for a label.")
    ] = None,
    window: Annotated[
        int | None, typer.Option(help="Count in windows of this number of words. Default: documents.")
    ] = None,
    match_case: Annotated[bool, typer.Option("--case", help="Distinguish upper and lower case.")] = False,
    stem: Annotated[bool, typer.Option("--stem", help="Count forms of an English word as one word.")] = False,
    add: Annotated[Path | None, typer.Option(help="Counts of an earlier run, to which the new ones are added.")] = None,
    labels: Annotated[str | None, typer.Option(help="Of a labelled set: label column or columns, or XML file.")] = None,
) -> None:
    """Count how often labels occur together: in another labelled set, or by their names in a text corpus.

    With the counts a model predicts labels that have no answer (see `CooccurrenceTransfer`), and a label that is added
    to a campaign starts from them. The command lists labels without any count.

    **Examples**

    ```
    labelwise cooccurrence other-set.arff --out counts.csv
    labelwise cooccurrence wikipedia.txt.gz --names labels.txt --stem --window 50 --out counts.csv
    ```
    """
    with user_errors():
        at_least_one("--window", window)
        if names is None and (synonyms or window or match_case or stem):
            raise ValueError("--synonyms, --window, --case and --stem are for texts: give the labels as --names FILE")
        if names is None:
            found = data.Cooccurrence.from_labels(_labelled(source, labels))
        else:
            terms = read_terms(names, synonyms)
            texts = data.open_text(source)
            stemmer = data.plain_stem if stem else None
            found = data.count_texts(texts, terms, window=window, match_case=match_case, stem=stemmer)
        if add is not None:
            found = data.read_cooccurrence(add) + found
        data.write_cooccurrence(found, out)
    missing = found.without_counts()
    items = "" if found.n_items is None else f" in {found.n_items:.0f} {'items' if names is None else 'texts'}"
    typer.echo(f"{len(found.names)} labels{items}; counts: {out}")
    if missing:
        more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
        errors.print(f"{len(missing)} labels occur with no other: {', '.join(missing[:SHOWN])}{more}")


def _labelled(source: str, labels: str | None) -> LabelData:
    """A set by its name or path; of a table the labels alone, as counting needs no features."""
    from labelwise.data.formats.rows import TABLES, file_suffix  # start-up

    if file_suffix(source) in TABLES and Path(source).is_file():
        columns: dict[str, Any] = {} if labels is None else {"labels": label_option(labels)}
        return data.read(source, features=[], **columns)
    return load(source, None, labels=labels, text=None, id=None)[1]


def read_terms(names: Path, synonyms: Path | None) -> dict[str, list[str]]:
    """Every label with the words that stand for it: its own name, and its synonyms."""
    listed = [line.strip() for line in data.open_text(names)]
    terms = {name: [name.replace("_", " ").replace("-", " ")] for name in listed if name}
    if not terms:
        raise ValueError(f"{names} lists no labels")
    for line, label, term in _synonyms(synonyms):
        if label not in terms:
            near = did_you_mean(label, terms)
            raise ValueError(f"{synonyms}, line {line}: there is no label {label!r} in {names}{near}")
        terms[label].append(term)
    return terms


def _synonyms(path: Path | None) -> Iterator[tuple[int, str, str]]:
    if path is None:
        return
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if not {"label", "term"} <= set(reader.fieldnames or ()):
            raise ValueError(f"{path}: expected the columns label and term, found {reader.fieldnames}")
        for row in reader:
            yield reader.line_num, row["label"], row["term"]
