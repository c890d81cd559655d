"""`labelwise simulate`: any data × models × strategies × seeds, on one set or many, to curves and a report."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table as Grid

from labelwise import campaign, models, queries
from labelwise._lazy import LateModule, names_built_in
from labelwise.cli._common import (
    AnswerCostOption,
    ClusterOption,
    PriceListOption,
    ReadCostOption,
    at_least_one,
    errors,
    label_option,
    listed,
    on_cluster,
    progress_bars,
    seconds,
    stoppable,
    user_errors,
)
from labelwise.files import write_text
from labelwise.views.wording import did_you_mean

if TYPE_CHECKING:
    from labelwise.studies import findings, plans, statistics
    from labelwise.studies import study as runs
else:  # loaded when the command runs, not when its help is shown
    parts = ("findings", "plans", "statistics", "study")
    findings, plans, statistics, runs = (LateModule(f"labelwise.studies.{name}") for name in parts)

# What the help lists of modules that take seconds to load; a test compares them.
BUILT_IN = "yeast, gaussian, shapes, digits, tickets, words"
DEFAULT_METRICS = "precision_at_1_3,macro_roc_auc,macro_average_precision,micro_f1"
VERDICT_MARKS = {
    "better": "[green]▲ better[/]",
    "worse": "[red]▼ worse[/]",
    "no difference": "= noise",
    "one seed": "? one seed",
}
FREE_OPTIONS = {"sources", "out", "jobs", "cluster", "seeds", "metric", "data_folder", "as_json"}  # with preset or file


@dataclass(frozen=True)
class Prepared:
    """What is to run, read and checked."""

    name: str
    metrics: Sequence[str]
    sets: Mapping[str, runs.StudySet]
    is_scaled: bool = False


def simulate(
    ctx: typer.Context,
    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="DATA...",
            help=f"Labelled files or built-in sets ({BUILT_IN}); a study file (.toml); "
            "or `arena quick`, `arena papers`.",
        ),
    ],
    model: Annotated[
        str, typer.Option(help=f"Models, by comma: {names_built_in(models.BY_NAME)}, default.")
    ] = "label_gp",
    strategy: Annotated[
        str,
        typer.Option(help=f"Strategies, by comma: {names_built_in(queries.BY_NAME)}, default_items, default_pairs."),
    ] = "random,uncertainty",
    rounds: Annotated[int, typer.Option(help="Rounds of questions after the start.")] = 10,
    batch: Annotated[int, typer.Option(help="Questions per round.")] = 25,
    pair_batch: Annotated[
        int | None, typer.Option(help="Questions per round of pairs; batch × labels has the cost of a round of items.")
    ] = None,
    start: Annotated[int, typer.Option(help="Random items answered in full before the first round.")] = 30,
    seeds: Annotated[int, typer.Option(help="Repetitions, each with its own test set and start.")] = 3,
    out: Annotated[Path | None, typer.Option(help="Folder for runs, tables and report. Default: runs/NAME.")] = None,
    test: Annotated[Path | None, typer.Option(help="Test file, instead of a random third of the data.")] = None,
    pool_limit: Annotated[int | None, typer.Option(help="Largest number of items to ask about.")] = None,
    price_list: PriceListOption = None,
    read_cost: ReadCostOption = None,
    answer_cost: AnswerCostOption = None,
    jobs: Annotated[int | None, typer.Option(help="Runs in parallel. Default: all cores.")] = None,
    cluster: ClusterOption = None,
    metric: Annotated[str, typer.Option(help="Metrics to show, by comma; all are saved.")] = DEFAULT_METRICS,
    labels: Annotated[
        str | None, typer.Option(help="Label column or columns by comma; for ARFF the XML file or a number.")
    ] = None,
    text: Annotated[str | None, typer.Option(help="Column of text to learn from.")] = None,
    id: Annotated[str | None, typer.Option(help="Column of item ids.")] = None,
    data_folder: Annotated[
        Path | None, typer.Option(help="Folder of published sets, for the arenas. Default: $LABELWISE_SHARED_DATA.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Simulate campaigns on labelled data: which strategy would have saved labels?

    Every model runs with every strategy and seed. The strategies of a seed share the test set and the start, so
    differences are paired. Each finished run is saved, and the same command continues a stopped study. Given several
    sets, a study file or an arena, the command also ranks over the sets.

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
    with user_errors():
        at_least_one("--seeds", seeds)
        at_least_one("--jobs", jobs)
        given = {name for name in ctx.params if _is_given(ctx, name)}
        several = len(sources) > 1 or sources[0] == "arena" or sources[0].endswith(".toml")
        prepared = _several_sets(sources, ctx.params, given) if several else _one_set(sources[0], ctx.params)
        folder = out or Path("runs") / prepared.name
        folder.mkdir(parents=True, exist_ok=True)
    stopped = f"stopped; finished runs are in {folder}: give the same command again to continue"
    with stoppable(lambda: stopped), on_cluster(cluster), progress_bars() as on_run:
        name, is_scaled = prepared.name, prepared.is_scaled
        study = runs.run_sets(name, prepared.sets, folder, jobs=jobs, on_run=on_run, is_scaled=is_scaled)
    from labelwise.studies.report import report_study  # matplotlib takes a second to load

    report = report_study(study, prepared.metrics, folder)
    content = json.dumps(_as_json(study, prepared.metrics, folder, report), indent=2, allow_nan=False)
    write_text(folder / "results.json", content + "\n")
    if as_json:
        typer.echo(content)
    else:
        print_results(study, prepared.metrics)
        typer.echo(f"\nTables: {folder / 'results.csv'}")
        typer.echo(f"Report: {report}")


def print_results(study: runs.Study, metrics: Sequence[str]) -> None:
    """The table on stdout, metric by metric, and what it says in a sentence or two."""
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=140)
    grid = Grid(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column("", no_wrap=True)
    over_sets = ("rank", "gained on") if len(study.sets) > 1 else ()
    for title in ("last", "mean of curve", "gain over random", *over_sets, "answers needed", "items"):
        grid.add_column(title, justify="right", no_wrap=True)
    grid.add_column("", no_wrap=True)
    comparisons = statistics.compare(study.table, metrics)
    for metric in metrics:
        grid.add_row(f"[bold]{findings.in_words(metric)}[/]")
        of_metric = [c for c in comparisons if c.metric == metric]
        for comparison in sorted(of_metric, key=lambda c: c.mean_rank) if over_sets else of_metric:
            grid.add_row(*_cells(comparison, len(study.sets)))
    console.print(grid)
    console.print(f"\n[bold]{findings.summary(comparisons)}[/]")


def _cells(c: statistics.Comparison, n_sets: int) -> list[str]:
    spread = f" ± {c.area.standard_error:.3f}" if c.area.n > 1 else ""
    return [
        f"  {findings.arm_name(c.model, c.strategy)}",
        f"{c.final.value:.3f}",
        f"{c.area.value:.3f}{spread}",
        "" if c.gain is None else findings.interval(c.gain),
        *((f"{c.mean_rank:.1f}", findings.sets_won(c)) if n_sets > 1 else ()),
        findings.percent(c.share),
        findings.percent(c.share_items),
        VERDICT_MARKS.get(c.verdict, ""),
    ]


def _is_given(ctx: typer.Context, name: str) -> bool:
    """Whether somebody chose the value of an option; by name, since Typer's enumeration has moved about."""
    return getattr(ctx.get_parameter_source(name), "name", "") in ("COMMANDLINE", "ENVIRONMENT", "DEFAULT_MAP")


def _one_set(source: str, options: Mapping[str, Any]) -> Prepared:
    """A study of one set, its features as they are."""
    metrics, schedule = _metrics(options["metric"]), _schedule(options)
    read = _source(source, options)
    data, test = read.load()
    models, strategies = listed(options["model"]), listed(options["strategy"])
    plan = plans.Plan(tuple(models), tuple(strategies), tuple(range(options["seeds"])), schedule, read.name)
    runs.check_plan(data, plan, test)
    equal_cost = schedule.pair_batch == schedule.batch * data.n_labels
    for strategy in strategies:
        control = plans.control_of(strategy)
        if control is not None and control not in strategies and not (equal_cost and "random" in strategies):
            errors.print(f"note: {strategy} has no random strategy to compare with; add {control} to --strategy")
    return Prepared(read.name, metrics, {read.name: runs.StudySet(plan, data, test)})


def _several_sets(sources: Sequence[str], options: Mapping[str, Any], given: set[str]) -> Prepared:
    """An arena: by preset, study file or flags."""
    if sources[0] != "arena" and not sources[0].endswith(".toml"):
        arena = _arena_of_flags(sources, options)
    else:
        fixed = sorted(given - FREE_OPTIONS)
        if fixed:
            what = "the study file" if sources[0] != "arena" else "the arena; write a study file to change it"
            raise ValueError(f"--{fixed[0].replace('_', '-')} is decided by {what}; leave the option out")
        arena = _preset(sources, options["data_folder"]) if sources[0] == "arena" else _file(sources)
        if "seeds" in given:
            arena = replace(arena, seeds=tuple(range(options["seeds"])))
    if "metric" in given:
        arena = replace(arena, metrics=tuple(listed(options["metric"])))
    folder = options["out"] or Path("runs") / arena.name
    errors.print(f"{len(arena.sources)} sets × {len(arena.arms())} pairings × {len(arena.seeds)} seeds, in {folder}")
    return Prepared(arena.name, arena.metrics, runs.load_arena(arena), arena.scale == "auto")


def _arena_of_flags(sources: Sequence[str], options: Mapping[str, Any]) -> plans.Arena:
    """Several sets with every model and strategy; what is read from files is read alike."""
    if options["test"] is not None:
        raise ValueError("--test goes with one set; a study file gives each set its own")
    entrants = tuple(plans.Entrant(model, tuple(listed(options["strategy"]))) for model in listed(options["model"]))
    read = tuple(_source(source, options) for source in sources)
    return plans.Arena(read, entrants, tuple(range(options["seeds"])), _schedule(options))


def _preset(sources: Sequence[str], folder: Path | None) -> plans.Arena:
    if len(sources) != 2 or sources[1] not in ("quick", "papers"):
        raise ValueError(f"there is no arena {' '.join(sources[1:])!r}; there are `arena quick` and `arena papers`")
    if folder is not None and not folder.is_dir():
        raise ValueError(f"there is no folder {folder}; --data-folder names the folder that holds yeast/, enron/, ...")
    named = os.environ.get("LABELWISE_SHARED_DATA")
    folder = folder or (Path(named) if named and Path(named).is_dir() else None)
    if sources[1] == "quick":
        return plans.quick_arena(folder)
    if folder is None:
        raise ValueError("arena papers needs the published sets: give their folder with --data-folder")
    return plans.papers_arena(folder)


def _file(sources: Sequence[str]) -> plans.Arena:
    if len(sources) > 1:
        raise ValueError(
            f"a study file cannot be combined with other sets; leave out {sources[1]!r} or write it into {sources[0]}"
        )
    return plans.read_arena(sources[0])


def _source(source: str, options: Mapping[str, Any]) -> plans.Source:
    labels = None if options["labels"] is None else label_option(options["labels"])
    return plans.Source(source, test=options["test"], labels=labels, text=options["text"], id=options["id"])


def _schedule(options: Mapping[str, Any]) -> plans.Schedule:
    given = {name: seconds(f"--{name}-cost", options[f"{name}_cost"]) for name in ("read", "answer")}
    own: dict[str, Any] = {name: price for name, price in given.items() if price is not None}
    named = options["price_list"]
    prices = campaign.Costs() if named is None else campaign.Costs.named(named)
    costs = replace(prices, **own) if own or named is not None else None
    sizes = {name: options[name] for name in ("start", "rounds", "batch", "pair_batch", "pool_limit")}
    return plans.Schedule(**sizes, costs=costs)


def _metrics(text: str) -> list[str]:
    names = listed(text)
    unknown = [name for name in names if name not in plans.METRICS]
    if unknown or not names:
        near = did_you_mean(unknown[0], plans.METRICS) if unknown else ""
        there = ", ".join(plans.METRICS)
        raise ValueError(f"there is no metric {', '.join(unknown) or text!r}{near}; there are {there}")
    return names


def _as_json(study: runs.Study, metrics: Sequence[str], folder: Path, report: Path) -> dict[str, Any]:
    sets = {name: one.facts["data"] for name, one in study.sets.items()}
    return {
        "name": study.name,
        **({"data": study.facts["data"] | {"name": study.name}} if len(sets) == 1 else {}),
        "sets": sets,
        "seeds": [seed for (seed,) in study.table.distinct("seed")],
        "results": findings.result_rows(study.table, metrics),
        "summary": findings.summary(statistics.compare(study.table, metrics)),
        "folder": str(folder),
        "report": str(report),
    }
