"""`labelwise status` and `labelwise report`: how a project stands, as text and as one HTML page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from labelwise.cli._common import AsJson, ProjectPlace, Risk, TargetF1, WorthAnHour, at_least_one, opened, waiting

if TYPE_CHECKING:
    from labelwise.labelling.figures.status import Status


def status(
    project: ProjectPlace,
    target_f1: TargetF1 = None,
    worth_an_hour: WorthAnHour = None,
    risk: Risk = None,
    top: Annotated[int | None, typer.Option(help="Show the labels with most yes only, so many.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show answers per label, time spent, the estimated F1, the time that is saved, what the next hour brings.

    F1 and the shares of the labels come from the random questions: these items are hidden in turn and judged by models
    that have not learnt from them. Agreement is Krippendorff's alpha; it needs questions that several people answered.

    **Examples**

    ```
    labelwise status tickets.db
    labelwise status tickets.db --target-f1 0.8 --worth-an-hour 0.01 --risk 0.1
    labelwise status tickets.db --top 10
    labelwise status tickets.db --json
    ```
    """
    with opened(project) as found:
        at_least_one("--top", top)
        from labelwise.labelling.figures.status import status_of

        with waiting("estimating how good the labels are"):
            now = status_of(found, target_f1=target_f1, worth_an_hour=worth_an_hour, risk=risk)
    if as_json:
        typer.echo(json.dumps(now.as_dict(), indent=2, ensure_ascii=False))
        return
    _print(now, top)


def report(
    project: ProjectPlace,
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    target_f1: TargetF1 = None,
    worth_an_hour: WorthAnHour = None,
    risk: Risk = None,
) -> None:
    """Write one self-contained HTML page: figures, labels, agreement, people, and the estimated F1 over people's time.

    **Examples**

    ```
    labelwise report tickets.db --out tickets.html
    ```
    """
    with opened(project) as found:
        from labelwise.labelling.figures.report import write_report

        with waiting(f"writing {out}"):
            write_report(found, out, target_f1=target_f1, worth_an_hour=worth_an_hour, risk=risk)
    typer.echo(f"Report: {out}")


def _print(now: Status, top: int | None = None) -> None:
    from labelwise.labelling.figures.wording import (
        counted,
        encoding_line,
        interval,
        miss_line,
        opinion_line,
        roughly,
        standing_lines,
        unlearnt,
        why_no_f1,
    )

    grid = Grid("label", "yes", "no", "unsure", "share", "agreement")
    most = now.labels if top is None else sorted(now.labels, key=lambda label: -label.yes)[:top]
    for label in most:
        share = "" if label.base_rate is None else interval(label.base_rate, "rate")
        agreement = "" if label.agreement is None else f"{label.agreement:.2f}"
        grid.add_row(label.name, str(label.yes), str(label.no), str(label.unsure), share, agreement)
    Console(highlight=False, markup=False).print(grid)
    if len(most) < len(now.labels):
        typer.echo(f"{len(now.labels) - len(most):,} more labels; the table has those with most yes")
    people = ", ".join(f"{who} {n}" for who, n in now.people.items())
    answers, items = counted(now.answers, "answer"), counted(now.items, "item")
    typer.echo(f"{answers} on {now.answered_items} of {items}" + (f": {people}" if people else ""))
    if now.readings is not None:
        cost = "" if now.cost is None else f"; cost so far {now.cost:g}"
        typer.echo(f"{counted(now.readings, 'reading')} of an item{cost}")
    if now.times:
        _print_times(now)
    elif now.curve is not None:
        typer.echo(f"time spent: about {roughly(now.curve.seconds)} by the usual prices; nobody's time was measured")
    for misses in now.misses:
        typer.echo(miss_line(misses))
    for judged in now.opinions:
        typer.echo(opinion_line(judged))
    if now.f1 is None or now.f1["f1"] is None:
        typer.echo(f"estimated F1: {why_no_f1(now.f1)}")
    else:
        typer.echo(f"estimated F1: {interval(now.f1, 'f1')} on {now.f1['items']} items asked at random")
    for line in standing_lines(now.standing, now.outlook):
        typer.echo(line)
    state = "running" if now.worker else "not running"
    typer.echo(f"worker {state}; {counted(now.ready, 'question')} ready, {now.leased} being answered")
    if now.unseen:
        cure = (
            "the worker is at it"
            if now.worker
            else "labelwise predict learns them first, and so does serve-worker --once"
        )
        typer.echo(f"{unlearnt(now.unseen)}: {cure}")
    if (progress := encoding_line(now.encoding)) is not None:
        typer.echo(progress)
    if now.trouble:
        typer.secho(now.trouble, fg="red")


def _print_times(now: Status) -> None:
    from labelwise.views.wording import counted, duration

    typer.echo(f"time spent: {duration(now.seconds)}")
    for each in now.times:
        usual = "" if each.median is None else f", usually {duration(each.median)} each"
        timed = counted(each.timed, "time")
        typer.echo(f"  {each.who}, {each.questions}: {duration(each.seconds)} over {timed}{usual}")
