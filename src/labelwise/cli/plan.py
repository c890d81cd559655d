"""`labelwise plan`: what a campaign of a given size will take, and what to choose."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import partial
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from labelwise.cli._common import at_least_one, progress_bars, user_errors
from labelwise.experiments.findings import in_words
from labelwise.experiments.plan_advice import Advice, Machine, advise
from labelwise.experiments.plan_calibration import calibration
from labelwise.experiments.plan_costs import Workload


def plan(
    items: Annotated[int, typer.Option(help="Items in the pool.")],
    features: Annotated[int, typer.Option(help="Features of an item.")],
    labels: Annotated[int, typer.Option(help="Labels.")],
    budget: Annotated[
        int | None, typer.Option(help="Items that will have been answered at the end. Default: 1000, or all.")
    ] = None,
    nonzeros: Annotated[int | None, typer.Option(help="Features of an item that are not zero. Default: all.")] = None,
    batch: Annotated[int, typer.Option(help="Questions in a round.")] = 100,
    seconds: Annotated[float | None, typer.Option(help="Wanted for a round: how many workers does it take?")] = None,
    cores: Annotated[int | None, typer.Option(help="Cores of the machine. Default: this one's.")] = None,
    memory: Annotated[float | None, typer.Option(help="Memory of the machine in GiB. Default: this one's.")] = None,
    calibrate: Annotated[bool, typer.Option("--calibrate", help="Measure this machine again.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the expectations for machines.")] = False,
) -> None:
    """Expect memory and time of the usual models and strategies, for the last and dearest round of a campaign.

    What a campaign does by itself is among them, and recommended where it fits; models and strategies that are not in
    the table have no formulas yet. The first call measures this machine for half a minute and remembers what it found.

    **Examples**

    ```
    labelwise plan --items 1000000 --features 500 --labels 20 --budget 2000
    labelwise plan --items 10000000 --features 100000 --nonzeros 70 --labels 300 --budget 1000000 --seconds 60
    labelwise plan --items 50000 --features 300 --labels 40 --cores 16 --memory 64 --json
    ```
    """
    with user_errors():
        at_least_one("--cores", cores)
        for name, value in (("--memory", memory), ("--seconds", seconds)):
            if value is not None and not 0 < value < math.inf:
                raise ValueError(f"{name} must be positive, got {value:g}")
        budget = min(1000, max(items, 1)) if budget is None else budget
        workload = Workload(items, features, labels, budget, nonzeros, batch)
        machine = Machine.here()
        machine = replace(
            machine, cores=cores or machine.cores, memory=machine.memory if memory is None else memory * 2**30
        )
        with progress_bars() as update:
            constants = calibration(again=calibrate, on_step=partial(update, "measuring this machine"))
        advice = advise(workload, constants, machine=machine, seconds=seconds)
    if as_json:
        typer.echo(json.dumps(advice.as_plain(), indent=2))
    else:
        _print(advice)


def _print(advice: Advice) -> None:
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=120)
    grid = Grid(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("model", "strategy"):
        grid.add_column(title, no_wrap=True)
    for title in ("memory", "fit", "round", "workers"):
        grid.add_column(title, justify="right", no_wrap=True)
    for one in advice.expectations:
        memory = f"{one.memory / 2**30:,.1f} GiB"
        grid.add_row(
            in_words(one.model),
            in_words(one.strategy),
            memory if one.fits else f"[red]{memory}[/]",
            told_seconds(one.fit_seconds),
            told_seconds(one.round_seconds),
            ("—" if one.workers is None else f"{one.workers:,}") if advice.seconds is not None else "",
            style="bold green" if one == advice.chosen else None,
        )
    console.print(grid)
    if advice.chosen is None:
        console.print(f"\n[bold]Nothing to recommend:[/] {advice.why}")
    else:
        pair = f"{in_words(advice.chosen.model)} with {in_words(advice.chosen.strategy)}"
        console.print(f"\n[bold]Take {pair}[/]: {advice.why}")


def told_seconds(seconds: float) -> str:
    """Time in a unit that people read.

    >>> told_seconds(0.02), told_seconds(90), told_seconds(8000), told_seconds(1e7)
    ('0.02 s', '1.5 min', '2.2 h', '116 days')
    """
    for unit, size, most in (("s", 1, 60), ("min", 60, 3600), ("h", 3600, 86400)):
        if seconds < most:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds / 86400:,.0f} days"
