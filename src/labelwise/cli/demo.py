"""`labelwise demo`: the first thing a newcomer runs."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Annotated

import typer

from labelwise.cli._common import INTERRUPTED, at_least_one, errors, fail, progress_bars, user_errors
from labelwise.cli._projects import check_extras
from labelwise.cli.simulate import print_results
from labelwise.studies.findings import DEFAULT_METRICS

NEEDED = {"matplotlib": "plots", "jinja2": "plots", "river": "demo"}


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the report and the runs.")] = Path("demo-report"),
    quick: Annotated[bool, typer.Option("--quick", help="A few tiny runs, to see that everything works.")] = False,
    jobs: Annotated[int | None, typer.Option(help="Runs in parallel. Default: all cores.")] = None,
    project: Annotated[
        Path | None, typer.Option(help="Make a project to label instead, and a second one with pictures.")
    ] = None,
) -> None:
    """Show what labelwise does, in a minute or two: two simulated campaigns and a report with pictures.

    One campaign is in the plane, where you can see the chosen items; one is on real data (yeast genes). Nothing is
    downloaded. If it is stopped, the same command continues it.

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
    missing = {extra: package for package, extra in NEEDED.items() if find_spec(package) is None}
    if missing:
        raise fail(f"the demo needs {', '.join(missing.values())}: pip install 'labelwise[{','.join(missing)}]'")
    from labelwise.studies.demo import run_demo  # needs the extras just looked for

    with user_errors():
        out.mkdir(parents=True, exist_ok=True)
        at_least_one("--jobs", jobs)
    began = perf_counter()
    try:
        with progress_bars() as on_run:
            done = run_demo(out, quick=quick, jobs=jobs, on_run=on_run)
    except KeyboardInterrupt:
        errors.print(f"stopped; finished runs are in {out}: give the same command again to continue")
        raise typer.Exit(INTERRUPTED) from None
    for study in done.studies:
        typer.secho(f"\n{study.name}", bold=True)
        print_results(study, DEFAULT_METRICS)
    typer.echo(f"\nReport: {done.report}  ({perf_counter() - began:.0f} s)")


def _make_projects(path: Path) -> None:
    """Tickets to read at this path, digits to look at beside it."""
    check_extras()
    from labelwise.labelling.demo import make_demo_projects  # needs the extras just looked for

    with user_errors():
        made = make_demo_projects(path)
    typer.echo(f"{made[0]}: support tickets with tags. Label them: labelwise serve {made[0]} --open")
    typer.echo(f"{made[1]}: handwritten digits as pictures, asked one label at a time")
    typer.echo(f"In the terminal: labelwise ask {made[0]} --tty")
