"""`labelwise new`: make a project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from labelwise import models, queries
from labelwise._lazy import names_built_in
from labelwise.cli._common import (
    CSV,
    AnswerCostOption,
    Delimiter,
    Encoding,
    LabelSeparator,
    PriceListOption,
    ProjectPlace,
    ReadCostOption,
    Risk,
    TargetF1,
    WorthAnHour,
    csv_options,
    listed,
    print_notice,
    seconds,
    starting,
    user_errors,
    waiting,
)

if TYPE_CHECKING:
    from labelwise.labelling import Project
    from labelwise.records import LabelData

LOOKED_AT = 1000  # items whose words are counted
USUAL_LABELS = 2  # of an item, as long as nothing is known
FORETOLD = 100  # questions whose hours are told


def new(
    project: ProjectPlace,
    items: Annotated[
        str,
        typer.Option(
            help="csv, xlsx, jsonl, parquet, ARFF, libsvm, Label Studio .json, ... or a folder: pictures, a dataset."
        ),
    ],
    labels: Annotated[
        str | None, typer.Option(help="File of labels, or names by comma. csv, json, SKOS: see docs.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Column of text to learn from.")] = None,
    markdown: Annotated[
        str | None, typer.Option(help="Columns, by comma, that are Markdown and are shown so. Default: none.")
    ] = None,
    html: Annotated[
        str | None, typer.Option(help="Columns, by comma, that are HTML and are shown so, sanitised. Default: none.")
    ] = None,
    embed: Annotated[
        str | None, typer.Option(help="Encoder of the text: minilm, or package.module:name. Made by the worker.")
    ] = None,
    embeddings: Annotated[
        str | None, typer.Option(help="Vectors of the items: .npy, .npz, .parquet or a column of lists.")
    ] = None,
    known: Annotated[
        str | None, typer.Option(help="Column that lists known labels, or 0/1/blank columns by comma.")
    ] = None,
    id: Annotated[str | None, typer.Option(help="Column of item ids. Default: id, or row numbers.")] = None,
    model: Annotated[
        str | None, typer.Option(help=f"One of {names_built_in(models.BY_NAME)}. Default: chosen by the strategy.")
    ] = None,
    strategy: Annotated[
        str, typer.Option(help=f"auto, items, pairs or one of {names_built_in(queries.BY_NAME)}.")
    ] = "auto",
    start: Annotated[
        int | None,
        typer.Option(
            help="Random items answered in full first. Default: 10, where pairs are asked 20; 0 if you pass a strategy."
        ),
    ] = None,
    control: Annotated[
        float | None,
        typer.Option(
            help="Share of random questions, to estimate F1. Default: 0.05, more if the strategy does not pay; "
            "0 if you pass a strategy."
        ),
    ] = None,
    overlap: Annotated[int, typer.Option(help="People who are asked the same question.")] = 1,
    overlap_share: Annotated[float, typer.Option(help="Share of the questions that --overlap applies to.")] = 1.0,
    verify: Annotated[
        bool,
        typer.Option(
            "--also/--no-also", help="After the labels of an item are picked, ask about likely ones that were not."
        ),
    ] = False,
    lease: Annotated[float, typer.Option(help="Minutes for which a question belongs to the person who got it.")] = 10.0,
    price_list: PriceListOption = None,
    read_cost: ReadCostOption = None,
    answer_cost: AnswerCostOption = None,
    target_f1: TargetF1 = None,
    worth_an_hour: WorthAnHour = None,
    risk: Risk = None,
    seed: Annotated[int, typer.Option(help="Seed of everything that is drawn at random.")] = 0,
    encoding: Encoding = None,
    delimiter: Delimiter = None,
    label_separator: LabelSeparator = None,
) -> None:
    """Make a project from a file of items and a list of labels.

    Labels that are known already, wholly or in part, are kept and learnt from. Strategies that end in _pairs ask for
    one label of one item at a time, the others for whole items; auto asks for whole items. If you pass a strategy, the
    other defaults are switched off.

    A blank cell of known labels (or NaN, NA, null) means that nothing is known about the item, not that it has no
    label.

    Texts are shown as they are, unless --markdown or --html name their column. Fields that hold the path of a picture,
    a recording or a PDF are shown as that.

    Tasks of a Label Studio export (.json) are items, and its annotations are answers. The labels are those that they
    name, and those of --labels.

    Vectors by --embed are made in pauses of the worker; the campaign begins with words, and vectors join when all are
    ready. With --embeddings, --embed says which encoder made them.

    **Examples**

    ```
    labelwise new tickets.db --items tickets.csv --text body --labels labels.txt
    labelwise new tickets.db --items tickets.csv --text body --labels labels.txt --embed minilm
    labelwise new tickets.db --items tickets.csv --text body --labels labels.txt --markdown body,steps
    labelwise new photos.db --items photos/ --labels cat,dog,outdoors
    labelwise new tickets.db --items label-studio-export.json
    labelwise new genes.db --items yeast.arff --strategy uncertainty_pairs
    labelwise new postgresql://me@server/tickets --items tickets.jsonl --text body --known tags
    ```
    """
    with starting():
        from labelwise.data import with_vectors  # slow to import
        from labelwise.labelling import Project, ProjectError, Settings  # slow, too
        from labelwise.labelling.exchange.label_studio_transfer import TaskPool
        from labelwise.labelling.exchange.sources import PICTURES_FIELD, is_folder, read_label_list, read_pool
        from labelwise.labelling.figures.wording import counted

    with user_errors(labels="--known", label_names="--labels", **CSV):
        prices = {"read_cost": seconds("--read-cost", read_cost), "answer_cost": seconds("--answer-cost", answer_cost)}
        settings: dict[str, Any] = {
            "model": model,
            "strategy": strategy,
            "start": start,
            "control": control,
            "overlap": overlap,
            "overlap_share": overlap_share,
            "lease_seconds": 60 * lease,
            "verify": verify,
            "price_list": price_list,
            **{name: given for name, given in (prices | {"risk": risk}).items() if given is not None},
            "target_f1": target_f1,
            "worth_an_hour": worth_an_hour,
            "random_state": seed,
        }
        Settings.of(**settings)  # told before a large file is read
        columns = None if known is None else listed(known)
        formats = _formats(markdown or "", html or "")
        asked_about, tasks = None if labels is None else read_label_list(labels), None
        with waiting(f"reading {items}"):
            if items.endswith(".json"):
                if known is not None or id is not None:
                    raise ProjectError("--known and --id are for tables; annotations of Label Studio are answers")
                tasks = TaskPool.read(items, labels=asked_about, text=text)
                data, text = tasks.data, tasks.text
            else:
                data = read_pool(
                    items,
                    text=text,
                    labels=asked_about,
                    known=columns[0] if columns and len(columns) == 1 else columns,
                    id=id,
                    notice=print_notice,
                    **csv_options(encoding, delimiter, label_separator),
                )
        if embeddings is not None:
            data = with_vectors(data, embeddings, encoder=embed or "")
        images = PICTURES_FIELD if is_folder(items) else None
        made_here = embed if embeddings is None else None
        made_of = {"text": text, "images": images, "embed": made_here}
        with Project.create(project, data, formats=formats, id=id, **made_of, **settings) as made:
            where, asked = made.store.shown, _asked(made, data)
            imported = None if tasks is None else tasks.take_answers(made)
            with waiting("preparing the first questions"):
                made.prepare()
    known_entries = f", {counted(data.n_observed, 'label')} known" if data.n_observed else ""
    typer.echo(f"{where}: {counted(data.n_items, 'item')}, {counted(data.n_labels, 'label')}{known_entries}")
    if imported is not None:
        typer.echo(imported.in_words())
    typer.echo(asked)
    typer.echo(f"label them in the browser: labelwise serve {where}")
    typer.echo(f"or in the terminal: labelwise ask {where} --tty")


def _formats(markdown: str, html: str) -> dict[str, str]:
    """How columns are shown, by their names."""
    formats = dict.fromkeys(listed(markdown), "markdown")
    for column in listed(html):
        if column in formats:
            raise ValueError(f"the column {column!r} is Markdown or HTML, not both; name it once")
        formats[column] = "html"
    return formats


def _asked(project: Project, data: LabelData) -> str:
    """What will be asked, and the hours that takes by the prices of the project."""
    import numpy as np  # most of this command's help does without

    from labelwise.labelling.figures.wording import counted, roughly

    settings = project.settings
    costs, by_item = settings.costs(data.label_names), settings.target == "items"
    words = data.word_counts(np.arange(min(data.n_items, LOOKED_AT)))
    usual = float(words[~np.isnan(words)].mean()) if (~np.isnan(words)).any() else None
    each = float(costs.whole_item(picked=USUAL_LABELS, words=usual) if by_item else costs.pair(usual))
    what = "whole items" if by_item else "one label of one item at a time"
    begin = f", {counted(settings.start, 'random item')} first" if settings.start else ""
    chosen = f"it asks about {what}{begin} (model {settings.model}, strategy {settings.strategy})"
    if costs.unit != "s":
        return chosen
    number = data.n_items if by_item else data.n_items * data.n_labels
    some = min(number, FORETOLD)
    noun = "item" if by_item else "question"
    hours = f"{counted(some, noun)} take about {roughly(each * some)}"
    hours += f", all {number:,} about {roughly(each * number)}" if number > some else ""
    with_labels = f", if an item has {USUAL_LABELS} labels" if by_item else ""
    return f"{chosen}; by the usual times {hours} of a person's time{with_labels}"
