"""`labelwise diagnose`: which label of an item to pay for next."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.console import Console
from rich.table import Table as Grid

from labelwise import campaign as campaigns
from labelwise import models, queries
from labelwise._lazy import names_built_in
from labelwise.cli._common import at_least_one, fail, load, user_errors
from labelwise.views.wording import did_you_mean

if TYPE_CHECKING:
    from labelwise.campaign import Campaign
    from labelwise.queries import Diagnosis
    from labelwise.queries.diagnosis import Rule
    from labelwise.records import LabelData

RULES = "auto, near_threshold, variance, total_variance, mi"  # as in queries.diagnosis: a test compares them


def diagnose(
    known: Annotated[str, typer.Argument(metavar="KNOWN", help="Items to learn from, labelled in full or in part.")],
    items: Annotated[Path, typer.Argument(metavar="ITEMS", help="Items to ask about, with the labels known so far.")],
    buy: Annotated[int, typer.Option(help="Labels to suggest for each item.")] = 3,
    costs: Annotated[Path | None, typer.Option(help="csv with the columns label and cost; others cost 1.")] = None,
    rule: Annotated[str, typer.Option(help=f"How to choose: {RULES}.")] = "auto",
    model: Annotated[str, typer.Option(help=f"One of {names_built_in(models.BY_NAME)}.")] = "label_gp",
    seed: Annotated[int, typer.Option(help="Seed of ties and of the model's random numbers.")] = 0,
    labels: Annotated[str | None, typer.Option(help="Label column or columns by comma; for ARFF the XML file.")] = None,
    text: Annotated[str | None, typer.Option(help="Column of text to learn from.")] = None,
    id: Annotated[str | None, typer.Option(help="Column of item ids.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the suggestions as JSON.")] = False,
) -> None:
    """List the labels of given items that are most worth paying for, from the known labels and the cost of each.

    The model learns from KNOWN how labels depend on features and on each other. For every item of ITEMS the command
    then prints the `--buy` most useful labels per unit of cost, best first. Blanks are unknown, in both files.

    **Examples**

    ```
    labelwise diagnose patients.csv today.csv --labels flu,cold,covid --buy 2
    labelwise diagnose enron-train.arff enron-today.arff --rule variance --json
    ```
    """
    with user_errors():
        at_least_one("--buy", buy)
        if model not in models.BY_NAME:
            near, there = did_you_mean(model, models.BY_NAME), ", ".join(models.BY_NAME)
            raise ValueError(f"there is no model {model!r}{near}; there are {there}")
        _, learnt, asked = load(known, items, labels=labels, text=text, id=id)
        if asked is None:
            raise fail(f"no items could be read from {items}")
        strategy = queries.Diagnosis(labels_per_item=buy, rule=cast("Rule", rule), costs=_read_costs(costs, learnt))
        campaign = campaigns.Campaign(learnt, model=models.BY_NAME[model](), strategy=strategy, random_state=seed)
        rows = _suggestions(campaign, asked, buy, strategy)
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
    else:
        _print(rows)


def _suggestions(campaign: Campaign, asked: LabelData, buy: int, strategy: Diagnosis) -> list[dict[str, Any]]:
    questions = campaign.ask_about(asked, buy * asked.n_items)
    p = campaign.believe(asked.X).given(asked.Y, asked.observed_mask()).probabilities()
    row_of = {item: row for row, item in enumerate(asked.item_ids)}
    column_of = {name: column for column, name in enumerate(asked.label_names)}
    costs = strategy.label_costs(asked.n_labels)
    suggested = [
        {
            "item": question.item,
            "label": question.labels[0],
            "probability": round(float(p[row_of[question.item], column_of[question.labels[0]]]), 4),
            "cost": float(costs[column_of[question.labels[0]]]),
            "score": round(question.score, 6),
        }
        for question in questions
    ]
    return sorted(suggested, key=lambda row: row_of[row["item"]])  # stable: within an item, best first


def _read_costs(path: Path | None, data: LabelData) -> list[float] | None:
    if path is None:
        return None
    with path.open(newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        if set(reader.fieldnames or ()) < {"label", "cost"}:
            raise ValueError(f"{path}: expected the columns label and cost, found {reader.fieldnames}")
        costs = {}
        for number, row in enumerate(reader, start=2):
            if row["label"] not in data.label_names:
                near = did_you_mean(row["label"], data.label_names)
                raise ValueError(f"{path}, line {number}: there is no label {row['label']!r} in the data{near}")
            try:
                costs[row["label"]] = float(row["cost"])
            except (TypeError, ValueError):
                raise ValueError(f"{path}, line {number}: the cost {row['cost']!r} is no number") from None
    return [costs.get(name, 1.0) for name in data.label_names]


def _print(rows: list[dict[str, Any]]) -> None:
    grid = Grid("item", "ask for", "believed", "cost", "worth")
    before = None
    for row in rows:
        item = "" if row["item"] == before else row["item"]
        grid.add_row(item, row["label"], f"{row['probability']:.0%}", f"{row['cost']:g}", f"{row['score']:.3f}")
        before = row["item"]
    Console(highlight=False).print(grid)
