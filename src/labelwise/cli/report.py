"""`labelwise report`: one HTML page about a project."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from labelwise.cli._common import fail
from labelwise.cli._projects import ProjectPlace, TargetF1, WorthAnHour, opened


def report(
    project: ProjectPlace,
    out: Annotated[Path, typer.Option(help="The page to write.")] = Path("report.html"),
    target_f1: TargetF1 = None,
    worth_an_hour: WorthAnHour = None,
) -> None:
    """Write one self-contained HTML page: figures, labels, agreement, people, and the estimated F1 over people's time.

    **Examples**

    ```
    labelwise report tickets.db --out tickets.html
    ```
    """
    if find_spec("jinja2") is None:
        raise fail("reports need jinja2: pip install 'labelwise[plots]'")
    with opened(project) as found:
        from labelwise.labelling.figures.report import write_report

        write_report(found, out, target_f1=target_f1, worth_an_hour=worth_an_hour)
    typer.echo(f"Report: {out}")
