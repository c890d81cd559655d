"""What `labelwise reproduce` tells of papers done again; importing it needs the extra `plots`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table as Grid

from labelwise.experiments.reproduce import PAPERS, Account, account_for, report_together, reproduce_paper
from labelwise.experiments.reproduce.together import as_plain, told

__all__ = ["PAPERS", "as_plain", "gather", "print_accounts", "reproduce_paper"]
COLOURS = {"holds": "green", "holds in part": "yellow", "undecided": "dim", "does not hold": "red"}


def gather(wanted: Sequence[str], folder: Path, *, quick: bool, shared: Path | None) -> tuple[list[Account], Path]:
    """What the folder holds of each paper, and the report of it; that of several papers is written here."""
    accounts = [account_for(PAPERS[name], folder / name, quick=quick, shared=shared) for name in wanted]
    if len(wanted) == 1:
        return accounts, folder / wanted[0] / "report.html"
    return accounts, report_together(accounts, folder / "report.html", quick=quick)


def print_accounts(accounts: Sequence[Account]) -> None:
    """Every claim with its verdict, paper by paper, and the count of verdicts."""
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=130)
    for account in accounts:
        state = "" if account.state == "finished" else f" ({account.state})"
        grid = Grid("claim", "paper", "here", "verdict", title=account.paper.title + state)
        for claim in account.claims:
            verdict = f"[{COLOURS[claim.verdict]}]{claim.verdict}[/]"
            grid.add_row(f"{claim.where}: {claim.says}", claim.paper, claim.ours, verdict)
        console.print(grid)
    console.print(f"\n[bold]{told(accounts)}[/]")
