"""`labelwise simulate`: any data × models × strategies × seeds, to curves and a report."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as Grid

from labelwise.campaign import Costs
from labelwise.cli._arena import arena_of, is_arena, play
from labelwise.cli._clusters import ClusterOption, on_cluster
from labelwise.cli._common import INTERRUPTED, at_least_one, errors, listed, load, progress_bars, user_errors
from labelwise.experiments import Plan, Schedule, Study, run_study
from labelwise.experiments.findings import DEFAULT_METRICS, in_words, result_rows, signed, summary
from labelwise.experiments.metrics import METRICS
from labelwise.experiments.sources import BUILT_IN
from labelwise.experiments.statistics import compare
from labelwise.experiments.study import check_plan, control_of, model_names, strategy_names
from labelwise.records import LabelData

MARKS = {
    "better": "[green]▲ better[/]",
    "worse": "[red]▼ worse[/]",
    "no difference": "= noise",
    "one seed": "? one seed",
}


def simulate(
    ctx: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA...",
            help=f"Labelled files or built-in sets ({', '.join(BUILT_IN)}); a study file (.toml); "
            "or `arena quick`, `arena papers`.",
        ),
    ],
    model: Annotated[str, typer.Option(help=f"Models, by comma: {', '.join(model_names())}.")] = "label_gp",
    strategy: Annotated[
        str, typer.Option(help=f"Strategies, by comma: {', '.join(strategy_names())}.")
    ] = "random,uncertainty",
    rounds: Annotated[int, typer.Option(help="Rounds of questions after the start.")] = 10,
    batch: Annotated[int, typer.Option(help="Questions per round.")] = 25,
    pair_batch: Annotated[
        int | None, typer.Option(help="Questions per round where pairs are asked; batch × labels costs as much.")
    ] = None,
    start: Annotated[int, typer.Option(help="Random items answered in full before the first round.")] = 30,
    seeds: Annotated[int, typer.Option(help="Repetitions, each with its own test set and start.")] = 3,
    out: Annotated[Path | None, typer.Option(help="Folder for runs, tables and report. Default: runs/NAME.")] = None,
    test: Annotated[Path | None, typer.Option(help="Test file, instead of a random third of the data.")] = None,
    pool_limit: Annotated[int | None, typer.Option(help="Keep at most so many items to ask about.")] = None,
    read_cost: Annotated[float, typer.Option(help="Price of reading an item; pair strategies weigh it.")] = 0.0,
    answer_cost: Annotated[float, typer.Option(help="Price of one yes or no.")] = 1.0,
    jobs: Annotated[int | None, typer.Option(help="Runs side by side. Default: all cores.")] = None,
    cluster: ClusterOption = None,
    metric: Annotated[str, typer.Option(help="Metrics to show, by comma; all are saved.")] = ",".join(DEFAULT_METRICS),
    labels: Annotated[
        str | None, typer.Option(help="Label column or columns by comma; for ARFF the XML file or a number.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Column of text to learn from.")] = None,
    id: Annotated[str | None, typer.Option(help="Column of item ids.")] = None,
    data_folder: Annotated[
        Path | None, typer.Option(help="Folder of published sets, for the arenas. Default: $LABELWISE_SHARED_DATA.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results for machines.")] = False,
) -> None:
    """Simulate campaigns on labelled data: which strategy would have saved labels?

    Every model runs with every strategy and seed. The strategies of a seed share the test set and the start, so they
    are compared pair by pair. Each finished run is saved: the same command goes on where a stopped one was. Several
    sets, a study file or an arena are ranked over all their sets.

    **Examples**

    ```
    labelwise simulate yeast
    labelwise simulate enron.arff --model label_gp,binary_relevance --seeds 5
    labelwise simulate tickets.csv --text body --labels tags --strategy random_pairs,uncertainty_pairs
    labelwise simulate medical-train.arff --test medical-test.arff --rounds 8 --json
    labelwise simulate yeast gaussian enron.arff --strategy random,uncertainty,balanced_pairs
    labelwise simulate study.toml
    labelwise simulate arena quick
    labelwise simulate arena papers --cluster tcp://10.0.0.5:8786
    labelwise simulate arena papers --data-folder ~/multilabel-data
    ```
    """
    if is_arena(sources):
        with user_errors():
            arena = arena_of(ctx, sources)
        with on_cluster(cluster):
            play(arena, out or Path("runs") / arena.name, jobs=jobs, as_json=as_json)
        return
    source = sources[0]
    with user_errors():
        costs = Costs(read_cost, answer_cost) if (read_cost, answer_cost) != (0.0, 1.0) else None
        schedule = Schedule(start, rounds, batch, pair_batch, pool_limit=pool_limit, costs=costs)
        metrics = _metrics(metric)
        at_least_one("--seeds", seeds)
        at_least_one("--jobs", jobs)
        name, data, test_data = load(source, test, labels=labels, text=text, id=id)
        plan = Plan(tuple(listed(model)), tuple(listed(strategy)), tuple(range(seeds)), schedule, name)
        check_plan(data, plan, test_data)
        _note_missing_controls(plan)
        folder = out or Path("runs") / name
        folder.mkdir(parents=True, exist_ok=True)
    try:
        with on_cluster(cluster), progress_bars() as update:
            on_run = partial(update, name)
            study = run_study(data, plan, folder, test=test_data, jobs=jobs, on_run=on_run)
    except KeyboardInterrupt:
        errors.print(f"stopped; finished runs are in {folder}: give the same command again to go on")
        raise typer.Exit(INTERRUPTED) from None
    report = _write_report(study, metrics, folder, data)
    if as_json:
        typer.echo(json.dumps(_as_json(study, metrics, folder, report), indent=2, allow_nan=False))
    else:
        print_results(study, metrics)
        typer.echo(f"\nTables: {folder / 'results.csv'}" + (f"\nReport: {report}" if report else ""))


def print_results(study: Study, metrics: list[str]) -> None:
    """The table on stdout, metric by metric, and what it says in one sentence."""
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=120)
    grid = Grid(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("model", "strategy"):
        grid.add_column(title, no_wrap=True)
    for title in ("last", "mean of curve", "gain over random", "95 % interval"):
        grid.add_column(title, justify="right", no_wrap=True)
    grid.add_column("", no_wrap=True)
    rows = result_rows(study.table, metrics)
    for metric in metrics:
        grid.add_row(f"[bold]{in_words(metric)}[/]")
        for row in (row for row in rows if row["metric"] == metric):
            grid.add_row(*_cells(row))
    console.print(grid)
    console.print(f"\n[bold]{summary(compare(study.table, metrics))}[/]")


def _cells(row: dict[str, Any]) -> list[str]:
    spread = f" ± {row['area_standard_error']:.3f}" if row["seeds"] > 1 else ""
    cells = [
        f"  {in_words(row['model'])}",
        in_words(row["strategy"]),
        f"{row['final']:.3f}",
        f"{row['area']:.3f}{spread}",
    ]
    if row["difference"] is None:
        return cells
    low, high = row["difference_low"], row["difference_high"]
    interval = f"{signed(low)} to {signed(high)}" if row["seeds"] > 1 else ""
    return [*cells, signed(row["difference"]), interval, MARKS.get(row["verdict"], "")]


def _note_missing_controls(plan: Plan) -> None:
    for strategy in plan.strategies:
        control = control_of(strategy)
        if control is not None and control not in plan.strategies:
            errors.print(f"note: {strategy} will have no random control; add {control} to --strategy to have it judged")


def _metrics(text: str) -> list[str]:
    names = listed(text)
    unknown = [name for name in names if name not in METRICS]
    if unknown or not names:
        raise ValueError(f"there is no metric {', '.join(unknown) or text!r}; there are {', '.join(METRICS)}")
    return names


def _write_report(study: Study, metrics: list[str], folder: Path, data: LabelData) -> Path | None:
    """The report, where the extra for it is installed; the results are saved anyway."""
    try:
        from labelwise.experiments.report import report_study  # needs an extra: missing, the command still works
    except ImportError as error:
        errors.print(f"no report was written: {error}")
        return None
    return report_study(study, metrics, folder, data)


def _as_json(study: Study, metrics: list[str], folder: Path, report: Path | None) -> dict[str, Any]:
    rows = result_rows(study.table, metrics)
    plain = [{key: None if value != value else value for key, value in row.items()} for row in rows]  # NaN to null
    return {
        "data": study.facts["data"] | {"name": study.plan.name},
        "results": plain,
        "summary": summary(compare(study.table, metrics)),
        "folder": str(folder),
        "report": None if report is None else str(report),
    }
