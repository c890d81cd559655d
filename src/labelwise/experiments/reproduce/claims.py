"""What a paper says, what we measured, and whether the one bears out the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from labelwise.experiments.jobs import Job, Outcome, run_jobs
from labelwise.experiments.report import Cell, Picture, Section, write_report

Verdict = Literal["holds", "holds in part", "undecided", "does not hold"]
Outcomes = Mapping[str, list[Outcome]]
PACKAGES = ("labelwise", "numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True)
class Claim:
    """One claim: where it stands, what it says, the paper's figure, ours, and the verdict.

    "undecided" is for a difference that points the paper's way but that noise may explain.
    """

    where: str
    says: str
    paper: str
    ours: str
    verdict: Verdict


@dataclass(frozen=True)
class Exhibit:
    """One figure or table of a paper, done again."""

    title: str
    paragraphs: Sequence[str] = ()
    pictures: Sequence[Picture] = ()
    header: Sequence[str] = ()
    rows: Sequence[tuple[str, Sequence[Cell]]] = ()
    note: str = ""
    claims: Sequence[Claim] = ()


@dataclass(frozen=True)
class Paper:
    """A paper to reproduce: `jobs` names the computations, `exhibits` turns their outcomes into figures and claims.

    `jobs(quick, shared)` maps the name of each exhibit to its jobs, where `shared` is the folder of the published data
    sets or None; an exhibit whose data are missing has no jobs and says so.
    """

    name: str
    title: str
    jobs: Callable[[bool, Path | None], Mapping[str, Sequence[Job]]]
    exhibits: Callable[[Outcomes], Sequence[Exhibit]]


@dataclass(frozen=True)
class Reproduction:
    """What a reproduction leaves: its exhibits and the path of the report."""

    paper: Paper
    exhibits: Sequence[Exhibit]
    report: Path
    claims: Sequence[Claim] = field(default_factory=list)


def reproduce_paper(
    paper: Paper,
    folder: Path,
    *,
    quick: bool = False,
    shared: Path | None = None,
    n_jobs: int | None = None,
    on_job: Callable[[str, int, int], None] | None = None,
) -> Reproduction:
    """Do what is not yet in the folder and write `report.html` there."""
    tell = on_job or (lambda name, done, total: None)
    outcomes: dict[str, list[Outcome]] = {}
    for name, jobs in paper.jobs(quick, shared).items():

        def on_one(done: int, total: int, name: str = name) -> None:
            tell(name, done, total)

        outcomes[name] = run_jobs(jobs, folder / "jobs", n_jobs=n_jobs, on_job=on_one)
    exhibits = paper.exhibits(outcomes)
    claims = [claim for exhibit in exhibits for claim in exhibit.claims]
    report = folder / "report.html"
    lead = "Every claim of the paper that was tried again: its figure, ours, and whether it holds."
    if quick:
        lead += " A quick run: few repetitions, so differences of a few points may be noise."
    sections = [claims_section(claims), *(as_section(exhibit) for exhibit in exhibits)]
    write_report(report, paper.title, lead, sections, versions())
    return Reproduction(paper, exhibits, report, claims)


def versions() -> dict[str, str]:
    """Of what a reproduction depends on."""
    return {name: version(name) for name in PACKAGES}


def claims_section(claims: Sequence[Claim], title: str = "Claims and verdicts") -> Section:
    """Each claim with the paper's figure, ours and the verdict."""
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


def as_section(exhibit: Exhibit) -> Section:
    """An exhibit as a part of a report."""
    return Section(
        title=exhibit.title,
        paragraphs=exhibit.paragraphs,
        pictures=exhibit.pictures,
        header=exhibit.header,
        rows=exhibit.rows,
        table_note=exhibit.note,
    )
