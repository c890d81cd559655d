"""Papers done again: run what is missing, tell how far everything is, write the report of one paper or of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

from labelwise.studies.jobs import run_jobs, saved_outcome
from labelwise.studies.papers.engine import Claim, Exhibit, Paper, Verdict, as_run, picture
from labelwise.studies.papers.figures import draw_verdicts
from labelwise.studies.report import Cell, Section, write_report
from labelwise.studies.study import package_versions

PAPERS = {
    "miml": "miml_exhibits",
    "bomc": "bomc_exhibits",
    "gpb2m": "gpb2m_exhibits",
    "csbpca": "csbpca_exhibits",
    "mllcs": "mllcs_exhibits",
}  # to modules
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
QUICK = " A quick run: everything is tried and nothing is judged, because there are too few repetitions."


@dataclass(frozen=True)
class Account:
    """How far the reproduction of a paper is, what it says so far, and where its report is.

    `unfinished` names the groups of jobs of which some are missing; nothing is said of their exhibits.
    """

    paper: Paper
    exhibits: Sequence[Exhibit]
    finished: int
    pieces: int
    unfinished: Sequence[str]
    report: Path

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


def load_paper(name: str) -> Paper:
    """One of `PAPERS`. The others, with all that they compare with, are not loaded."""
    paper: Paper = import_module(f"labelwise.studies.papers.{PAPERS[name]}").PAPER
    return paper


def reproduce_paper(
    paper: Paper,
    folder: Path,
    *,
    quick: bool = False,
    shared: Path | None = None,
    n_jobs: int | None = None,
    on_job: Callable[[str, int, int], None] | None = None,
) -> Account:
    """Do what is not yet in the folder and write `report.html` there."""
    for name, jobs in paper.jobs(quick, shared).items():
        run_jobs(jobs, folder / "jobs", n_jobs=n_jobs, on_job=partial(on_job, name) if on_job else None)
    done = account_for(paper, folder, quick=quick, shared=shared)
    lead = "Every claim of the paper that was tried again: its figure, ours, and whether it holds."
    sections = [_claims_section(done.claims), *map(_as_section, done.exhibits), *_absent_section(paper)]
    write_report(done.report, paper.title, lead + QUICK * quick, sections, package_versions())
    return done


def account_for(paper: Paper, folder: Path, *, quick: bool = False, shared: Path | None = None) -> Account:
    """What the folder holds of a paper; nothing is computed."""
    plan = paper.jobs(quick, shared)
    found = {
        name: [as_run(job, outcome) for job in jobs if (outcome := saved_outcome(job, folder / "jobs")) is not None]
        for name, jobs in plan.items()
    }
    unfinished = [name for name, jobs in plan.items() if len(found[name]) < len(jobs)]
    finished = sum(map(len, found.values()))
    exhibits = paper.exhibits({name: runs for name, runs in found.items() if name not in unfinished})
    if quick:
        exhibits = [replace(each, claims=[replace(c, verdict="not shown") for c in each.claims]) for each in exhibits]
    return Account(paper, exhibits, finished, sum(map(len, plan.values())), unfinished, folder / "report.html")


def count_verdicts(claims: Sequence[Claim]) -> dict[Verdict, int]:
    """How many claims have each verdict, in the order from "holds" to "does not hold"."""
    return {verdict: sum(claim.verdict == verdict for claim in claims) for verdict in VERDICTS}


def report_together(accounts: Sequence[Account], path: Path, *, quick: bool = False) -> Path:
    """Write the report of all papers: the verdicts at a glance, then each paper with its claims and pictures."""
    lead = "Every claim of the papers that was tried again: its figure, ours, and whether it holds."
    sections = [_verdicts_section(accounts)]
    for account in accounts:
        sections.append(_paper_section(account))
        name = account.paper.title.partition(":")[0]
        sections += [_as_section(replace(exhibit, title=f"{name} · {exhibit.title}")) for exhibit in account.exhibits]
        sections += _absent_section(account.paper)
    write_report(path, "The papers, done again", lead + QUICK * quick, sections, package_versions())
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
                "absent": dict(account.paper.absent),
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


def verdicts_in_words(accounts: Sequence[Account]) -> str:
    """The verdicts in a sentence, and what is missing in another.

    >>> verdicts_in_words([])
    'No claim was tried yet.'
    """
    claims = [claim for account in accounts for claim in account.claims]
    if not claims:
        return "No claim was tried yet."
    counts = ", ".join(f"{count} {_plural(verdict, count)}" for verdict, count in count_verdicts(claims).items())
    missing = [f"{a.paper.name} ({a.state})" for a in accounts if a.state != "finished"]
    of = f"Of {len(claims)} claims" if len(claims) > 1 else "Of one claim"
    return f"{of} {counts}." + (f" Not whole: {', '.join(missing)}." if missing else "")


def _plural(verdict: Verdict, count: int) -> str:
    if verdict == "not shown":
        return "is not shown" if count == 1 else "are not shown"
    return verdict if count == 1 else verdict.replace("holds", "hold").replace("does", "do")


# -- sections of a report ---------------------------------------------------------------------------------------------


def _verdicts_section(accounts: Sequence[Account]) -> Section:
    counts = {account.paper.name: count_verdicts(account.claims) for account in accounts}
    pictures = []
    if any(account.claims for account in accounts):
        caption = "Claims by verdict. Not shown: noise may explain it, or there are too few repetitions."
        pictures.append(picture("verdicts", draw_verdicts(counts), caption, "Verdicts by paper"))
    return Section(
        title="The verdicts",
        headline=verdicts_in_words(accounts),
        pictures=pictures,
        header=["Paper", "state", *VERDICTS],
        rows=[
            (a.paper.title, [Cell(a.state), *(Cell(str(count)) for count in counts[a.paper.name].values())])
            for a in accounts
        ],
        table_note="Pieces are computations that are saved one by one; an exhibit is judged when all of its are there.",
        prose=True,
    )


def _paper_section(account: Account) -> Section:
    if not account.claims:
        return Section(title=account.paper.title, headline=f"Nothing to show: {account.state}.")
    section = _claims_section(account.claims, title=account.paper.title)
    if not account.unfinished:
        return section
    left = f"{account.finished} of {account.pieces} pieces are finished; left out: {', '.join(account.unfinished)}."
    return replace(section, paragraphs=[left])


def _claims_section(claims: Sequence[Claim], title: str = "Claims and verdicts") -> Section:
    return Section(
        title=title,
        header=["Claim", "paper", "here", "verdict"],
        rows=[
            (f"{claim.where}: {claim.says}", [Cell(claim.paper), Cell(claim.ours), Cell(claim.verdict, bold=True)])
            for claim in claims
        ],
        table_note="Figures of the paper are as printed there; ours were measured in this run.",
        prose=True,
    )


def _as_section(exhibit: Exhibit) -> Section:
    parts = {name: getattr(exhibit, name) for name in ("title", "paragraphs", "pictures", "header", "rows")}
    protocol = [(each.paper, each.here, each.why) for each in exhibit.protocol]
    return Section(**parts, table_note=exhibit.note, differences=protocol)


def _absent_section(paper: Paper) -> list[Section]:
    if not paper.absent:
        return []
    name = paper.title.partition(":")[0]
    rows = [(what, [Cell(why)]) for what, why in paper.absent.items()]
    return [Section(title=f"{name}: what is not here", header=["", "reason"], rows=rows, prose=True)]
