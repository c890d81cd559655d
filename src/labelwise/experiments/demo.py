"""A first look: a campaign one can see, and one on real data, in a minute or two and one report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from labelwise.data import load_yeast, make_gaussian_labels
from labelwise.experiments.findings import DEFAULT_METRICS
from labelwise.experiments.report import Section, study_section, write_report
from labelwise.experiments.simulate import Schedule
from labelwise.experiments.study import Plan, Study, run_study
from labelwise.records import LabelData

METRICS = DEFAULT_METRICS
ON_THE_PLANE = ("random", "uncertainty", "mutual_information")
ON_YEAST = ("random", "uncertainty")


@dataclass(frozen=True)
class Demo:
    """What the demonstration leaves: two studies and the path of the report."""

    studies: tuple[Study, Study]
    report: Path


def run_demo(
    folder: str | Path,
    *,
    quick: bool = False,
    jobs: int | None = None,
    on_run: Callable[[str, int, int], None] | None = None,
) -> Demo:
    """Run both studies and write `report.html` into the folder; `quick` takes less of everything.

    Parameters
    ----------
    folder : path
    quick : bool
        A few small runs, to see that everything works.
    jobs : int, optional
        As in `run_study`.
    on_run : callable, optional
        Called with the name of the set, the runs finished and all its runs.
    """
    folder = Path(folder)
    jobs = 1 if quick and jobs is None else jobs  # starting workers would take longer than the runs
    tell = on_run or (lambda name, done, total: None)

    def study(data: LabelData, plan: Plan) -> Study:
        return run_study(data, plan, folder / plan.name, jobs=jobs, on_run=lambda *n: tell(plan.name, *n))

    plane = make_gaussian_labels(300 if quick else 1500, random_state=0)
    yeast = load_yeast()
    in_plane = study(plane, _plane_plan(quick))
    on_yeast = study(yeast, _yeast_plan(quick))
    path = folder / "report.html"
    sections = [_plane_section(plane, in_plane), _yeast_section(yeast, on_yeast)]
    lead = (
        "Two simulated campaigns: one in the plane, where the chosen items can be seen, one on real data. "
        "Random questions are the rival to beat, and often they are not beaten."
    )
    write_report(path, "A first look at labelwise", lead, sections, in_plane.facts["versions"])
    return Demo((in_plane, on_yeast), path)


def _plane_plan(quick: bool) -> Plan:
    schedule = Schedule(start=10, rounds=2, batch=5) if quick else Schedule(start=10, rounds=8, batch=5)
    seeds = tuple(range(2 if quick else 10))
    as_they_are = {"label_gp": {"scale": "none"}}  # scaled to unit length, the plane would become a circle
    return Plan(("label_gp",), ON_THE_PLANE, seeds, schedule, "gaussian", as_they_are)


def _yeast_plan(quick: bool) -> Plan:
    schedule = Schedule(start=20, rounds=1, batch=20) if quick else Schedule(start=30, rounds=8, batch=25)
    models = ("label_gp", "binary_relevance")
    return Plan(models, ON_YEAST, tuple(range(2 if quick else 5)), schedule, "yeast")


def _plane_section(data: LabelData, study: Study) -> Section:
    told = (
        f"{data.n_items} items in the plane, {data.n_labels} overlapping labels, all made by a known recipe. The model "
        "is shown a few answered items and asks for more; the score is kept on items it never asks about."
    )
    return study_section(study, METRICS, "1. A campaign one can see", data, [told])


def _yeast_section(data: LabelData, study: Study) -> Section:
    told = (
        "Each gene has micro-array measurements and several of 14 functional classes: a hard, noisy set, on which the "
        "choice of the model matters more than the choice of the questions."
    )
    return study_section(study, METRICS, "2. Real data: what yeast genes do", data, [told])
