"""The arena of `labelwise simulate`: what to run, by preset, file or flags; running it; telling what came of it."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer
from rich.console import Console
from rich.table import Table as Grid

from labelwise.campaign import Costs
from labelwise.cli._common import (
    INTERRUPTED,
    at_least_one,
    errors,
    label_option,
    listed,
    progress_bars,
    user_errors,
)
from labelwise.experiments.arena import Arena, ArenaResult, Entrant, load_arena, run_loaded
from labelwise.experiments.arena_files import read_arena
from labelwise.experiments.arena_findings import (
    arm_name,
    as_plain,
    headline,
    leagues,
    stand,
    told,
    told_sets,
    told_share,
)
from labelwise.experiments.findings import in_words
from labelwise.experiments.presets import papers_arena, quick_arena
from labelwise.experiments.simulate import Schedule
from labelwise.experiments.sources import Source

FREE = (
    "sources",
    "out",
    "jobs",
    "cluster",
    "seeds",
    "metric",
    "data_folder",
    "as_json",
)  # what may be given with preset or file
COLOURS = {"better": "green", "worse": "red"}


def is_arena(sources: Sequence[str]) -> bool:
    """Whether more than one set is meant: several names, a preset or a study file."""
    return len(sources) > 1 or sources[0] == "arena" or sources[0].endswith(".toml")


def arena_of(ctx: typer.Context, sources: Sequence[str]) -> Arena:
    """The arena that the arguments and options of `labelwise simulate` describe."""
    given = {name for name in ctx.params if _is_given(ctx, name)}
    at_least_one("--seeds", ctx.params["seeds"])
    at_least_one("--jobs", ctx.params["jobs"])
    if sources[0] != "arena" and not sources[0].endswith(".toml"):
        return _by_flags(sources, ctx.params, given)
    fixed = sorted(given.difference(FREE))
    if fixed:
        what = "the study file" if sources[0] != "arena" else "the arena; write a study file to change it"
        raise ValueError(f"--{fixed[0].replace('_', '-')} is decided by {what}; leave the option out")
    arena = _preset(sources, ctx.params["data_folder"]) if sources[0] == "arena" else _file(sources)
    if "seeds" in given:
        arena = replace(arena, seeds=tuple(range(ctx.params["seeds"])))
    return replace(arena, metrics=tuple(listed(ctx.params["metric"]))) if "metric" in given else arena


def play(arena: Arena, folder: Path, *, jobs: int | None, as_json: bool) -> None:
    """Run the arena with bars, write its report, and print what came of it."""
    with user_errors():
        errors.print(
            f"{len(arena.sources)} sets × {len(arena.arms())} pairings × {len(arena.seeds)} seeds, in {folder}"
        )
        loaded = load_arena(arena)
        folder.mkdir(parents=True, exist_ok=True)
    try:
        with progress_bars() as update:
            result = run_loaded(arena, loaded, folder, jobs=jobs, on_run=update)
    except KeyboardInterrupt:
        errors.print(f"stopped; finished runs are in {folder}: give the same command again to go on")
        raise typer.Exit(INTERRUPTED) from None
    report = _write_report(result, folder)
    content = _as_json(result, folder, report)
    (folder / "arena.json").write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    if as_json:
        typer.echo(json.dumps(content, indent=2, allow_nan=False))
        return
    print_arena(result)
    typer.echo(f"\nTables: {folder / 'results.csv'}" + (f"\nReport: {report}" if report else ""))


def print_arena(result: ArenaResult) -> None:
    """Per metric: ranks, gains over random, labels needed; then what they say in a sentence or two."""
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=130)
    for league in leagues(result.table):
        standings = [s for metric in result.arena.metrics for s in stand(league, metric)]
        grid = Grid(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
        grid.add_column("", no_wrap=True)
        for title in ("rank", "end", f"gain over {in_words(league.reference)}", "gained on", "answers needed", "items"):
            grid.add_column(title, justify="right", no_wrap=True)
        for metric in result.arena.metrics:
            grid.add_row(f"[bold]{in_words(metric)}[/]")
            for s in sorted((s for s in standings if s.metric == metric), key=lambda s: s.mean_rank):
                colour = COLOURS.get(s.verdict)
                gain = f"[{colour}]{told(s)}[/]" if colour else told(s)
                shares = (told_share(s.share), told_share(s.share_items))
                figures = (f"{s.mean_rank:.1f}", f"{s.final:.3f}", gain, told_sets(s), *shares)
                grid.add_row(f"  {arm_name(s.model, s.strategy)}", *figures)
        console.print(grid)
        console.print(f"\n[bold]{headline(standings)}[/]")


def _is_given(ctx: typer.Context, name: str) -> bool:
    """Whether an option was written on the command line; by name, since Typer's enumeration has moved about."""
    return getattr(ctx.get_parameter_source(name), "name", "") == "COMMANDLINE"


def _preset(sources: Sequence[str], folder: Path | None) -> Arena:
    if len(sources) != 2 or sources[1] not in ("quick", "papers"):
        raise ValueError(f"there is no arena {' '.join(sources[1:])!r}; there are `arena quick` and `arena papers`")
    if folder is not None and not folder.is_dir():
        raise ValueError(f"there is no folder {folder}; --data-folder names the folder that holds yeast/, enron/, ...")
    named = os.environ.get("LABELWISE_SHARED_DATA")
    folder = folder or (Path(named) if named and Path(named).is_dir() else None)
    if sources[1] == "quick":
        return quick_arena(folder)
    if folder is None:
        raise ValueError("arena papers needs the published sets: give their folder with --data-folder")
    return papers_arena(folder)


def _file(sources: Sequence[str]) -> Arena:
    if len(sources) > 1:
        raise ValueError(f"a study file stands alone; leave out {sources[1]!r} or write it into {sources[0]}")
    return read_arena(sources[0])


def _by_flags(sources: Sequence[str], options: dict[str, Any], given: set[str]) -> Arena:
    """Several sets with every model and strategy; what is read from files is read alike."""
    if options["test"] is not None:
        raise ValueError("--test goes with one set; a study file gives each set its own")
    labels = None if options["labels"] is None else label_option(options["labels"])
    read = [Source(source, labels=labels, text=options["text"], id=options["id"]) for source in sources]
    prices = Costs(options["read_cost"], options["answer_cost"]) if given & {"read_cost", "answer_cost"} else None
    sizes = {name: options[name] for name in ("start", "rounds", "batch", "pair_batch", "pool_limit")}
    entrants = [Entrant(model, tuple(listed(options["strategy"]))) for model in listed(options["model"])]
    metrics: dict[str, Any] = {"metrics": tuple(listed(options["metric"]))} if "metric" in given else {}
    return Arena(
        tuple(read),
        tuple(entrants),
        tuple(range(options["seeds"])),
        Schedule(**sizes, costs=prices),
        "arena",
        **metrics,
    )


def _write_report(result: ArenaResult, folder: Path) -> Path | None:
    """The report, where the extra for it is installed; the results are saved anyway."""
    try:
        from labelwise.experiments.arena_report import report_arena  # needs an extra: missing, the command still works
    except ImportError as error:
        errors.print(f"no report was written: {error}")
        return None
    return report_arena(result, folder)


def _as_json(result: ArenaResult, folder: Path, report: Path | None) -> dict[str, Any]:
    arena, found = result.arena, leagues(result.table)
    standings = [s for league in found for metric in arena.metrics for s in stand(league, metric)]
    return {
        "name": arena.name,
        "sets": {name: study.facts["data"] for name, study in result.studies.items()},
        "seeds": list(arena.seeds),
        "results": [row for league in found for row in as_plain(league, arena.metrics)],
        "summary": headline(standings),
        "folder": str(folder),
        "report": None if report is None else str(report),
    }
