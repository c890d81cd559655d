"""A first look: a campaign one can see, and one on real data, in a minute or two and one report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from labelwise.data import load_yeast, make_gaussian_labels
from labelwise.studies.findings import DEFAULT_METRICS
from labelwise.studies.plans import Plan
from labelwise.studies.report import study_section, write_report
from labelwise.studies.simulate import Schedule
from labelwise.studies.study import Study, run_study


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
    notify = on_run or (lambda name, done, total: None)
    plane = make_gaussian_labels(300 if quick else 1500, random_state=0)
    in_plane, on_yeast = (
        run_study(data, plan, folder / plan.name, jobs=jobs, on_run=partial(notify, plan.name))
        for data, plan in ((plane, _plane_plan(quick)), (load_yeast(), _yeast_plan(quick)))
    )
    about_plane = (
        f"{plane.n_items} items in the plane, {plane.n_labels} overlapping labels, all made by a known recipe. The "
        "model is shown a few answered items and asks for more; the score is kept on items it never asks about."
    )
    about_yeast = (
        "Each gene has micro-array measurements and several of 14 functional classes: a hard, noisy set, on which the "
        "choice of the model matters more than the choice of the questions."
    )
    sections = [
        study_section(in_plane, DEFAULT_METRICS, "1. A campaign one can see", [about_plane]),
        study_section(on_yeast, DEFAULT_METRICS, "2. Real data: what yeast genes do", [about_yeast]),
    ]
    lead = (
        "Two simulated campaigns: one in the plane, where the chosen items can be seen, one on real data. "
        "Random questions are the rival to beat, and often they are not beaten."
    )
    path = folder / "report.html"
    write_report(path, "A first look at labelwise", lead, sections, in_plane.facts["versions"])
    return Demo((in_plane, on_yeast), path)


def _plane_plan(quick: bool) -> Plan:
    schedule = Schedule(start=10, rounds=2 if quick else 8, batch=5)
    as_they_are = {"label_gp": {"scale": "none"}}  # scaled to unit length, the plane would become a circle
    strategies = ("random", "uncertainty", "mutual_information")
    return Plan(("label_gp",), strategies, tuple(range(2 if quick else 10)), schedule, "gaussian", as_they_are)


def _yeast_plan(quick: bool) -> Plan:
    schedule = Schedule(start=20, rounds=1, batch=20) if quick else Schedule(start=30, rounds=8, batch=25)
    models, seeds = ("label_gp", "binary_relevance"), tuple(range(2 if quick else 5))
    return Plan(models, ("random", "uncertainty"), seeds, schedule, "yeast")
