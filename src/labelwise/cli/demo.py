"""`labelwise demo`: the first thing a newcomer runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from labelwise.cli._common import at_least_one, progress_bars, starting, stoppable, user_errors

if TYPE_CHECKING:
    from labelwise.records import LabelData
    from labelwise.studies.demo import Demo

N_KNOWN = 20  # items of each demo project that are labelled already


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and the runs.")] = Path("demo-report"),
    quick: Annotated[bool, typer.Option("--quick", help="A few tiny runs, to see that everything works.")] = False,
    jobs: Annotated[int | None, typer.Option(help="Runs in parallel. Default: all cores.")] = None,
    project: Annotated[
        Path | None, typer.Option(help="Make a project to label instead, and a second one with pictures.")
    ] = None,
) -> None:
    """Show what labelwise is for, in a minute or two: from tickets without tags to a tagger, and a report.

    A simulated person tags made-up support tickets. The default campaign is compared with the usual way, random tickets
    and one logistic regression per label, over minutes of that person's time. Nothing is downloaded. If it is stopped,
    the same command continues it.

    **Examples**

    ```
    labelwise demo
    labelwise demo --out first-look --quick
    labelwise demo --project demo.db
    ```
    """
    if project is not None:
        _make_projects(project)
        return
    with starting():
        from labelwise.studies.demo import run_demo  # seconds of start-up

    with user_errors():
        out.mkdir(parents=True, exist_ok=True)
        at_least_one("--jobs", jobs)
    began = perf_counter()
    stopped = f"stopped; finished runs are in {out}: give the same command again to continue"
    with stoppable(lambda: stopped), progress_bars() as on_run:
        done = run_demo(out, quick=quick, jobs=jobs, on_run=on_run)
    _print(done)
    typer.echo(f"\nReport: {done.report}  ({perf_counter() - began:.0f} s)")
    typer.echo("Tag such tickets yourself: labelwise demo --project demo.db; labelwise serve demo.db --open")


def _print(done: Demo) -> None:
    grid = Grid(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column("F1 on other tickets, after", no_wrap=True)
    for minutes, _ in next(iter(done.minutes.values())):
        grid.add_column(minutes, justify="right", no_wrap=True)
    for name, of_arm in done.minutes.items():
        grid.add_row(f"  {name}", *(f"{f1.value:.2f} ± {f1.high - f1.value:.2f}" for _, f1 in of_arm))
    console = Console(highlight=False, markup=False, width=100)
    console.print(grid)
    for text in done.findings:
        console.print(f"\n{text}")
    typer.secho("\nTickets that nobody was asked about, tagged by labelwise", bold=True)
    for ticket in done.tickets:
        missed = [name for name in ticket.right if name not in ticket.predicted]
        marked = [name if name in ticket.right else f"{name} (wrong)" for name in ticket.predicted]
        console.print(f"\n{ticket.text}")
        typer.secho("  " + ", ".join([*marked, *(f"{name} (missed)" for name in missed)]), fg="green")


def _make_projects(path: Path) -> None:
    """Tickets to read at this path, digits to look at beside it."""
    with user_errors():
        made = make_demo_projects(path)
    typer.echo(f"{made[0]}: support tickets with tags. Label them: labelwise serve {made[0]} --open")
    typer.echo(f"{made[1]}: handwritten digits as pictures, asked one label at a time")
    typer.echo(f"In the terminal: labelwise ask {made[0]} --tty")


def make_demo_projects(path: str | Path, random_state: int = 0) -> list[Path]:
    """Tickets at `path`, digits beside it; both with a few labels known and questions ready. The paths made."""
    from labelwise.data import make_digit_pictures, make_tickets
    from labelwise.labelling.project import Project  # seconds of start-up

    tickets = Path(path)
    digits = tickets.with_name(f"{tickets.stem}-digits{tickets.suffix}")
    texts, pictures = (_started(make(random_state=random_state)) for make in (make_tickets, make_digit_pictures))
    with Project.create(tickets, texts, text="text", strategy="items") as project:
        project.refresh()
    with Project.create(digits, pictures, images="image", strategy="uncertainty_pairs") as project:
        project.refresh()
    return [tickets, digits]


def _started(data: LabelData) -> LabelData:
    """The same items, with the labels of the first few known."""
    import numpy as np  # start-up
    from scipy.sparse import csr_array

    known = csr_array(np.broadcast_to(np.arange(data.n_items)[:, None] < N_KNOWN, data.Y.shape))
    return replace(data, Y=csr_array(data.Y.multiply(known)), observed=known)
