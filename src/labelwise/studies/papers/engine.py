"""What a reproduction is made of: plans of jobs, runs to select from, verdicts, claims, exhibits, papers.

A paper is a file with four parts: its data, the functions that its jobs run, its exhibits and its tables of claims.
A claim is added as a line of a table, an exhibit as one function below `@PAPER.exhibit("name of its jobs")`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from labelwise.studies.jobs import Job, Outcome
from labelwise.studies.report import Cell, Picture
from labelwise.studies.statistics import Estimate, paired_difference
from labelwise.views.plots import as_png

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Verdict = Literal["holds", "holds in part", "not shown", "does not hold"]
Outcomes = Mapping[str, Sequence[Outcome]]  # name of a group of jobs to what they returned
Plan = Mapping[str, Sequence[Job]]
Gains = Mapping[str, Estimate]  # name of a set to by how much one side is ahead on it
Measure = str | tuple[str | int, ...] | Callable[[Outcome], Any]  # a key, keys one inside the other, or a function
TableRow = tuple[str, Sequence[Cell]]
POINTS = 100  # scores are shares; differences are given in points, hundredths
LEAST_SEEDS = 5  # with fewer nothing is judged


# -- plans ------------------------------------------------------------------------------------------------------------


def every(function: Callable[..., Outcome], **settings: Any) -> list[Job]:
    """A job for each combination of the settings, the last varying first; a list, tuple or range has several values.

    >>> [dict(job.settings) for job in every(dict, name="yeast", seed=range(2))]
    [{'name': 'yeast', 'seed': 0}, {'name': 'yeast', 'seed': 1}]
    """
    axes = [value if isinstance(value, list | tuple | range) else [value] for value in settings.values()]
    return [Job(function, dict(zip(settings, values, strict=True))) for values in product(*axes)]


def with_files(folder: Path, files: Mapping[str, str], jobs: Iterable[Job]) -> list[Job]:
    """The same jobs with the path of the set that each one names."""
    return [replace(job, settings={"file": str(folder / files[job.settings["name"]]), **job.settings}) for job in jobs]


# -- runs -------------------------------------------------------------------------------------------------------------


def as_run(job: Job, outcome: Outcome) -> Outcome:
    """What a job was given, with the name of its set as `set`, and what came of it."""
    return {"set": job.settings.get("name"), **job.settings, **outcome}


class Runs(list[Outcome]):
    """The outcomes of jobs, in the order of the plan.

    >>> runs = Runs([{"set": "yeast", "seed": 0, "f1": 0.5}, {"set": "yeast", "seed": 1, "f1": 0.7}])
    >>> runs.where(seed=1).mean("f1"), runs.distinct("set"), runs.by_seed("f1")
    (0.7, ['yeast'], {0: 0.5, 1: 0.7})
    """

    def where(self, **wanted: Any) -> Runs:
        """Those that have all of these values."""
        return Runs(run for run in self if wanted.items() <= run.items())

    def distinct(self, key: str) -> list[Any]:
        """The values under a key, each once, in order of appearance."""
        return list(dict.fromkeys(run[key] for run in self))

    def by(self, key: str) -> dict[Any, Runs]:
        """The runs of each value under a key."""
        return {value: self.where(**{key: value}) for value in self.distinct(key)}

    def values(self, measure: Measure) -> list[Any]:
        """What is measured in each run."""
        return [measure(run) if callable(measure) else _within(run, measure) for run in self]

    def array(self, measure: Measure) -> npt.NDArray[np.floating]:
        """The same as an array, a row per run."""
        return np.array(self.values(measure))

    def mean(self, measure: Measure) -> float:
        """The mean over runs."""
        return float(np.mean(self.values(measure)))

    def by_seed(self, measure: Measure) -> dict[int, float]:
        """Seed to what is measured."""
        return dict(zip(self.values("seed"), self.values(measure), strict=True))

    def minus(self, others: Runs, measure: Measure, theirs: Measure | None = None) -> Estimate:
        """By how much these are ahead of others, seed by seed; `theirs` where others are measured otherwise."""
        return paired_difference(self.by_seed(measure), others.by_seed(measure if theirs is None else theirs))


def _within(run: Outcome, keys: str | tuple[str | int, ...]) -> Any:
    value: Any = run
    for key in (keys,) if isinstance(keys, str) else keys:
        value = value[key]
    return value


# -- words ------------------------------------------------------------------------------------------------------------


def points(difference: Estimate) -> str:
    """A difference in points with its standard error."""
    error = "" if np.isnan(difference.standard_error) else f" ± {POINTS * difference.standard_error:.1f}"
    return f"{POINTS * difference.value:+.1f}{error} points"


def in_points(gains: Gains) -> str:
    """Each difference in points with its standard error, after the name of its set.

    >>> in_points({"yeast": Estimate(0.02, 0.01, 0, 0.04, 5), "enron": Estimate(-0.01, 0.01, -0.03, 0.01, 5)})
    'yeast +2.0 ± 1.0, enron -1.0 ± 1.0 points'
    """
    return ", ".join(f"{name} {points(gain).removesuffix(' points')}" for name, gain in gains.items()) + " points"


def in_times(gains: Gains) -> str:
    """Each difference of logarithms as a factor, after the name of its set.

    >>> in_times({"yeast": Estimate(0.0, 0.1, -0.2, 0.2, 5)})
    'yeast 1.00 times'
    """
    return ", ".join(f"{name} {np.exp(gain.value):,.2f}" for name, gain in gains.items()) + " times"


def span(values: Sequence[float], form: str) -> str:
    """From the least to the largest; one number where they look alike.

    >>> span([0.5, 2], ".1f"), span([1, 1.01], ".1f")
    ('0.5 to 2.0', '1.0')
    """
    ends = [f"{end:{form}}" for end in (min(values), max(values))]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def with_error(values: Iterable[float], form: str = ".3f", digits: int = 3) -> str:
    """A mean with its standard error, which a single value has not."""
    estimate = Estimate.of(values)
    error = "" if np.isnan(estimate.standard_error) else f" ± {estimate.standard_error:.{digits}f}"
    return f"{estimate.value:{form}}{error}"


def cells(*values: float | str, form: str = ".3f") -> list[Cell]:
    """Numbers to three digits, words as they are."""
    return [Cell(value if isinstance(value, str) else f"{value:{form}}") for value in values]


def picture(name: str, figure: Figure, caption: str, instead: str = "") -> Picture:
    """A figure to be shown; `instead` is read where it cannot be seen."""
    return Picture(name.replace(" ", "-"), as_png(figure), caption, instead or caption)


# -- verdicts ---------------------------------------------------------------------------------------------------------


def beats(differences: Iterable[Estimate]) -> Verdict:
    """Whether one side is ahead beyond noise on every set that a claim names, each difference paired over seeds.

    Ahead on some and behind on none is "holds in part". Behind on one is "does not hold". "Not shown" is what noise may
    explain, and what has fewer than five seeds.
    """
    differences = list(differences)
    signs = [difference.sign for difference in differences]
    if any(difference.n < LEAST_SEEDS for difference in differences) or not any(signs):
        return "not shown"
    return "does not hold" if min(signs) < 0 else "holds" if all(signs) else "holds in part"


def as_good(differences: Iterable[Estimate], margin: float = 0.01) -> Verdict:
    """Whether one side is nowhere behind by more than the margin: not even the lower end of an interval is.

    It does not hold where an upper end is. What lies between is not shown.
    """
    differences = list(differences)
    if any(difference.n < LEAST_SEEDS for difference in differences):
        return "not shown"
    if any(difference.high < -margin for difference in differences):
        return "does not hold"
    near = [difference.low > -margin for difference in differences]
    return "holds" if all(near) else "holds in part" if any(near) else "not shown"


def holds_if(*tests: Any) -> Verdict:
    """Whether all, some or none of the tests are passed: for what has no noise, such as counts and sizes.

    >>> holds_if(True, False)
    'holds in part'
    """
    return "holds" if all(tests) else "holds in part" if any(tests) else "does not hold"


# -- claims -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Claim:
    """One claim: where it stands, what it says, the paper's figure, ours, and the verdict.

    "not shown" is for what noise may explain, and for what was run too few times to be judged.
    """

    where: str
    says: str
    paper: str
    ours: str
    verdict: Verdict


@dataclass(frozen=True)
class Versus:
    """A line of a table of claims: one side is said to beat, or by another rule to equal, the other."""

    where: str
    says: str
    paper: str
    ours: Any
    theirs: Any
    rule: Callable[[Iterable[Estimate]], Verdict] = beats


def judge(table: Iterable[Versus], measure: Callable[[Any, Any], Gains]) -> list[Claim]:
    """The claims of a table; `measure` gives the differences of both sides by set, none where one was not run."""
    judged = ((line, measure(line.ours, line.theirs)) for line in table)
    return [judge_one(line.where, line.says, line.paper, gains, line.rule) for line, gains in judged if gains]


def judge_one(
    where: str,
    says: str,
    paper: str,
    gains: Gains,
    rule: Callable[[Iterable[Estimate]], Verdict] = beats,
    words: Callable[[Gains], str] = in_points,
) -> Claim:
    """A claim by the differences on each set."""
    return Claim(where, says, paper, words(gains), rule(gains.values()))


# -- papers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Difference:
    """Where an experiment differs from the paper's: what the paper did, what is done here, and why."""

    paper: str
    here: str
    why: str


@dataclass(frozen=True)
class Exhibit:
    """One figure or table of a paper, done again; empty lines part the paragraphs of its text."""

    title: str
    text: str = ""
    protocol: Sequence[Difference] = ()
    pictures: Sequence[Picture] = ()
    header: Sequence[str] = ()
    rows: Sequence[TableRow] = ()
    note: str = ""
    claims: Sequence[Claim] = ()

    @property
    def paragraphs(self) -> list[str]:
        return self.text.split("\n\n") if self.text else []


@dataclass(frozen=True)
class ExhibitMaker:
    """The function that makes an exhibit, and the groups of jobs whose runs it is called with."""

    groups: tuple[str, ...]
    make: Callable[..., Exhibit]
    shows: tuple[str, ...]


@dataclass(frozen=True)
class Paper:
    """A paper to reproduce: `jobs` names the computations, functions marked by `exhibit` show what came of them.

    `jobs(quick, shared)` maps the name of each group to its jobs, where `shared` is the folder of the published data
    sets or None. An exhibit is shown where all of its groups have runs. `absent` has the figures and tables of the
    paper that are not done again, each with the reason.
    """

    name: str
    title: str
    jobs: Callable[[bool, Path | None], Plan]
    absent: Mapping[str, str] = field(default_factory=dict)
    makers: list[ExhibitMaker] = field(default_factory=list)

    def exhibit(
        self, *groups: str, shows: Sequence[str] = ()
    ) -> Callable[[Callable[..., Exhibit]], Callable[..., Exhibit]]:
        """Mark a function that makes an exhibit of the runs of these groups of jobs; shown in the order of marking.

        `shows` names the paper's figures and tables that it is about; none where it goes beyond the paper.
        """

        def mark(make: Callable[..., Exhibit]) -> Callable[..., Exhibit]:
            self.makers.append(ExhibitMaker(groups, make, tuple(shows)))
            return make

        return mark

    def exhibits(self, outcomes: Outcomes) -> list[Exhibit]:
        """What could be computed; the rest is left out."""
        return [
            maker.make(*(Runs(outcomes[group]) for group in maker.groups))
            for maker in self.makers
            if all(outcomes.get(group) for group in maker.groups)
        ]
