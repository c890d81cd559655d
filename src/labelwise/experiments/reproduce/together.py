"""Several papers in one account: how far each is, every claim with its verdict, and one report with all pictures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, get_args

from labelwise.experiments.figures import as_png
from labelwise.experiments.jobs import Outcome, saved_outcome
from labelwise.experiments.report import Cell, Picture, Section, write_report
from labelwise.experiments.reproduce.claims import Claim, Exhibit, Paper, Verdict, as_section, claims_section, versions
from labelwise.experiments.reproduce.figures import draw_verdicts

VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


@dataclass(frozen=True)
class Account:
    """How far the reproduction of a paper is, and what it says so far.

    `unfinished` names the exhibits of which some pieces are missing; nothing is said of those.
    """

    paper: Paper
    exhibits: Sequence[Exhibit]
    finished: int
    pieces: int
    unfinished: Sequence[str] = ()

    @property
    def claims(self) -> list[Claim]:
        return [claim for exhibit in self.exhibits for claim in exhibit.claims]

    @property
    def state(self) -> str:
        """In words, for tables."""
        if self.pieces == 0:
            return "needs the published sets"
        if self.finished == 0:
            return "not run yet"
        return "finished" if self.finished == self.pieces else f"{self.finished} of {self.pieces} pieces"


def account_for(paper: Paper, folder: Path, *, quick: bool = False, shared: Path | None = None) -> Account:
    """What the folder holds of a paper; nothing is computed."""
    outcomes: dict[str, list[Outcome]] = {}
    finished = pieces = 0
    unfinished = []
    for name, jobs in paper.jobs(quick, shared).items():
        found = [outcome for job in jobs if (outcome := saved_outcome(job, folder / "jobs")) is not None]
        finished, pieces = finished + len(found), pieces + len(jobs)
        outcomes[name] = found if len(found) == len(jobs) else []
        unfinished += [name] if len(found) < len(jobs) else []
    exhibits = paper.exhibits(outcomes) if finished else []
    return Account(paper, exhibits, finished, pieces, unfinished)


def count_verdicts(claims: Sequence[Claim]) -> dict[Verdict, int]:
    """How many claims have each verdict, in the order from "holds" to "does not hold"."""
    return {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in VERDICTS}


def report_together(accounts: Sequence[Account], path: Path, *, quick: bool = False) -> Path:
    """Write the report of all papers: the verdicts at a glance, then each paper with its claims and pictures."""
    lead = "Every claim of the papers that was tried again: its figure, ours, and whether it holds."
    if quick:
        lead += " A quick run: few repetitions, so differences of a few points may be noise."
    sections = [_glance(accounts)]
    for account in accounts:
        sections.append(_opening(account))
        name = account.paper.title.partition(":")[0]
        sections += [as_section(replace(exhibit, title=f"{name} · {exhibit.title}")) for exhibit in account.exhibits]
    write_report(path, "The papers, done again", lead, sections, versions())
    return path


def as_plain(accounts: Sequence[Account], report: Path) -> dict[str, Any]:
    """The same for machines."""
    return {
        "papers": [
            {
                "paper": account.paper.name,
                "title": account.paper.title,
                "state": account.state,
                "finished": account.finished,
                "pieces": account.pieces,
                "claims": [asdict(claim) for claim in account.claims],
                "tables": [_plain_table(exhibit) for exhibit in account.exhibits if exhibit.rows],
            }
            for account in accounts
        ],
        "verdicts": count_verdicts([claim for account in accounts for claim in account.claims]),
        "report": str(report),
    }


def _plain_table(exhibit: Exhibit) -> dict[str, Any]:
    rows = [[name, *(cell.text for cell in cells)] for name, cells in exhibit.rows]
    return {"title": exhibit.title, "header": list(exhibit.header), "rows": rows}


def told(accounts: Sequence[Account]) -> str:
    """The verdicts in a sentence, and what is missing in another.

    >>> told([])
    'No claim was tried yet.'
    """
    claims = [claim for account in accounts for claim in account.claims]
    if not claims:
        return "No claim was tried yet."
    counts = ", ".join(f"{count} {_plural(verdict, count)}" for verdict, count in count_verdicts(claims).items())
    missing = [f"{a.paper.name} ({a.state})" for a in accounts if a.state != "finished"]
    of = f"Of {len(claims)} claims" if len(claims) > 1 else "Of one claim"
    return f"{of} {counts}." + (f" Not whole: {', '.join(missing)}." if missing else "")


def _glance(accounts: Sequence[Account]) -> Section:
    counts = {account.paper.name: count_verdicts(account.claims) for account in accounts}
    pictures = []
    if any(account.claims for account in accounts):
        caption = "Claims by verdict. Undecided: the paper's way, but noise may explain it."
        pictures.append(Picture("verdicts", as_png(draw_verdicts(counts)), caption, "Verdicts by paper"))
    rows = [
        (
            account.paper.title,
            [Cell(account.state), *(Cell(str(count)) for count in counts[account.paper.name].values())],
        )
        for account in accounts
    ]
    return Section(
        title="The verdicts",
        headline=told(accounts),
        pictures=pictures,
        header=["Paper", "state", *VERDICTS],
        rows=rows,
        table_note="Pieces are computations that are saved one by one; an exhibit is judged when all of its are there.",
        prose=True,
    )


def _opening(account: Account) -> Section:
    if not account.claims:
        return Section(title=account.paper.title, headline=f"Nothing to show: {account.state}.")
    opening = claims_section(account.claims, title=account.paper.title)
    if not account.unfinished:
        return opening
    left = f"{account.finished} of {account.pieces} pieces are finished; left out: {', '.join(account.unfinished)}."
    return replace(opening, paragraphs=[left])


def _plural(verdict: Verdict, count: int) -> str:
    if verdict == "undecided":
        return "is undecided" if count == 1 else "are undecided"
    return verdict if count == 1 else verdict.replace("holds", "hold").replace("does", "do")
