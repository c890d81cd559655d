"""`labelwise reproduce`: the papers' tables and figures, done again with ours beside them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table as Grid

from labelwise.cli._common import (
    ClusterOption,
    at_least_one,
    errors,
    on_cluster,
    progress_bars,
    stoppable,
    user_errors,
)
from labelwise.views.wording import did_you_mean

if TYPE_CHECKING:
    from labelwise.studies.papers import Account

VERDICT_COLOURS = {"holds": "green", "holds in part": "yellow", "not shown": "dim", "does not hold": "red"}


def reproduce(
    paper: Annotated[str, typer.Argument(help="Which paper: miml, bomc, csbpca, mllcs, gpb2m, or all.")],
    out: Annotated[Path | None, typer.Option(help="Folder for results and report. Default: runs/reproduce.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A small version of everything, in minutes.")] = False,
    data: Annotated[
        Path | None, typer.Option(help="Folder of the published data sets. Default: $LABELWISE_SHARED_DATA.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(help="Computations in parallel. Default: all cores.")] = None,
    cluster: ClusterOption = None,
    saved: Annotated[
        bool, typer.Option("--saved", help="Compute nothing: report what is in the folder so far.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print claims and tables as JSON.")] = False,
) -> None:
    """Repeat a paper's experiments: each claim, the figure in the paper, ours, and the verdict.

    Every finished piece is saved, and the same command continues a stopped one. Experiments whose published data set is
    missing are left out, and the report says so. `all` runs one paper after the other and writes one report.

    **Examples**

    ```
    labelwise reproduce miml --quick
    labelwise reproduce bomc --data ~/multilabel-data --out runs/bomc
    labelwise reproduce all --quick
    labelwise reproduce all --saved --json
    ```
    """
    from labelwise.studies.papers import (  # seconds of start-up
        PAPERS,
        account_for,
        load_paper,
        report_together,
        reproduce_paper,
    )
    from labelwise.studies.papers.reproduction import as_plain

    with user_errors():
        at_least_one("--jobs", jobs)
        wanted = list(PAPERS) if paper == "all" else [paper]
        if paper not in (*PAPERS, "all"):
            near = did_you_mean(paper, PAPERS)
            raise ValueError(f"there is no paper {paper!r}{near}; there are {', '.join(PAPERS)} and all")
        shared = _data_folder(data)
    folder = out or Path("runs") / "reproduce"

    def gather() -> tuple[list[Account], Path]:
        """What the folder holds of each paper, and the report of it; that of several papers is written here."""
        accounts = [account_for(load_paper(name), folder / name, quick=quick, shared=shared) for name in wanted]
        if paper != "all":
            return accounts, accounts[0].report
        return accounts, report_together(accounts, folder / "report.html", quick=quick)

    if shared is None:
        errors.print("no folder of published data sets: what needs them is left out (see --data)")

    def stopped() -> str:
        if paper == "all":
            gather()
        return f"stopped; finished pieces are in {folder}: give the same command again to continue"

    for name in wanted if not saved else ():
        with stoppable(stopped), on_cluster(cluster), progress_bars() as update:
            reproduce_paper(load_paper(name), folder / name, quick=quick, shared=shared, n_jobs=jobs, on_job=update)
    accounts, report = gather()
    if as_json:
        content = as_plain(accounts, report)
        one = {"paper": paper, **{name: content["papers"][0][name] for name in ("claims", "tables")}}
        typer.echo(json.dumps(content if paper == "all" else one, indent=2))
        return
    _print_accounts(accounts)
    typer.echo(f"Report: {report}")


def _print_accounts(accounts: Sequence[Account]) -> None:
    """Every claim with its verdict, paper by paper, and the count of verdicts."""
    from labelwise.studies.papers.reproduction import verdicts_in_words  # needs the extras

    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=130)
    for account in accounts:
        state = "" if account.state == "finished" else f" ({account.state})"
        grid = Grid("claim", "paper", "here", "verdict", title=account.paper.title + state)
        for claim in account.claims:
            verdict = f"[{VERDICT_COLOURS[claim.verdict]}]{claim.verdict}[/]"
            grid.add_row(f"{claim.where}: {claim.says}", claim.paper, claim.ours, verdict)
        console.print(grid)
    console.print(f"\n[bold]{verdicts_in_words(accounts)}[/]")


def _data_folder(given: Path | None) -> Path | None:
    """The folder given, or that of the environment; None where there is none."""
    if given is not None:
        if not given.is_dir():
            raise ValueError(f"there is no folder {given}; --data names the folder that holds yeast/, enron/, ...")
        return given
    named = os.environ.get("LABELWISE_SHARED_DATA")
    if named and Path(named).is_dir():
        return Path(named)
    beside = Path("..") / "shared" / "data"
    return beside.resolve() if beside.is_dir() else None
