"""The first look: from tickets without tags to a tagger, over minutes of a person's time, against the usual way."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from labelwise.campaign import Campaign
from labelwise.campaign.defaults import BATCH, START_OF
from labelwise.posterior import FloatArray
from labelwise.records import Costs, LabelData, Question
from labelwise.studies.figures import draw_arms
from labelwise.studies.plans import DEFAULT_MODEL, Plan
from labelwise.studies.report import Cell, Picture, Section, study_facts, write_report
from labelwise.studies.simulate import Answerer, Schedule, split
from labelwise.studies.sources import Source
from labelwise.studies.statistics import CONFIDENCE_LEVEL, Estimate, cost_to_reach
from labelwise.studies.study import Study, run_study
from labelwise.studies.tables import Arm, Table
from labelwise.views.plots import as_png

OURS: Arm = (DEFAULT_MODEL, "default_items")
WITHOUT_NAMES: Arm = ("semi_supervised", "default_items")
USUAL: Arm = ("binary_relevance", "random")
ARMS: dict[Arm, str] = {OURS: "labelwise", WITHOUT_NAMES: "labelwise without names", USUAL: "usual way"}
METRICS = {"macro_average_precision": "macro average precision", "micro_f1": "F1"}
PRICES = "short_text"
SHOWN_TICKETS = 4


@dataclass(frozen=True)
class PredictedTicket:
    """A ticket that nobody was asked about, its labels as predicted and as they are."""

    text: str
    predicted: tuple[str, ...]
    right: tuple[str, ...]


@dataclass(frozen=True)
class Demo:
    """What the demonstration leaves: the study, what it says, label sets that it predicts, and the report."""

    study: Study
    minutes: Mapping[str, list[tuple[str, Estimate]]]  # arm to F1 after so many minutes
    findings: tuple[str, ...]
    tickets: tuple[PredictedTicket, ...]
    report: Path


def run_demo(
    folder: str | Path,
    *,
    quick: bool = False,
    jobs: int | None = None,
    on_run: Callable[[str, int, int], None] | None = None,
) -> Demo:
    """Simulate a person who tags tickets, in three ways, and write `report.html` into the folder.

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
    data, _ = Source("tickets", limit=150 if quick else 900).load()
    plan = demo_plan(quick)
    study = run_study(data, plan, folder, jobs=jobs, on_run=lambda done, total: notify(plan.name, done, total))
    table = study.table
    demo = Demo(
        study,
        {name: f1_over_minutes(table, arm) for arm, name in ARMS.items()},
        tuple(finding(table, arm, metric) for arm in (OURS, WITHOUT_NAMES) for metric in METRICS),
        predicted_tickets(study, data),
        folder / "report.html",
    )
    _write(demo, data)
    return demo


def demo_plan(quick: bool = False) -> Plan:
    """The default campaign with and without the names of the labels, and the usual way, paired by seed."""
    costs = Costs.named(PRICES)
    schedule = Schedule(start=START_OF["items"], rounds=2 if quick else 9, batch=BATCH, costs=costs)
    models, strategies = (tuple(dict.fromkeys(arm[part] for arm in ARMS)) for part in (0, 1))
    return Plan(models, strategies, tuple(range(2 if quick else 6)), schedule, "tickets", pairings=tuple(ARMS))


def f1_over_minutes(table: Table, arm: Arm, metric: str = "micro_f1") -> list[tuple[str, Estimate]]:
    """A metric of an arm every ten minutes, or every five where there are few, as far as all seeds go."""
    seeds = [seed for (seed,) in table.distinct("seed")]
    curves = [_curve(table, arm, seed, metric) for seed in seeds]
    end = min(float(_curve(table, any_arm, seed, metric)[0][-1]) for any_arm in ARMS for seed in seeds) / 60
    step = 10 if end >= 20 else 5
    first = max(float(cost[0]) for cost, _ in curves) / 60
    times = [minutes for minutes in range(step, int(end) + 1, step) if minutes >= first]
    return [(f"{m} min", Estimate.of(float(np.interp(60 * m, cost, score)) for cost, score in curves)) for m in times]


def time_shares(table: Table, arm: Arm, metric: str) -> list[float]:
    """Seed by seed, the share of the usual way's time after which an arm stays as good as that is at its end."""
    shares = []
    for (seed,) in table.distinct("seed"):
        cost, score = _curve(table, arm, seed, metric)
        usual_cost, usual_score = _curve(table, USUAL, seed, metric)
        stays = np.minimum.accumulate(score[::-1])[::-1]  # the lowest that it will be from here on
        shares.append(cost_to_reach(cost, stays, float(usual_score[-1])) / float(usual_cost[-1]))
    return shares


def finding(table: Table, arm: Arm, metric: str) -> str:
    """How much of the usual way's time an arm needs to be as good, in words, whichever way it is."""
    shares = time_shares(table, arm, metric)
    ends = [_curve(table, USUAL, seed, metric) for (seed,) in table.distinct("seed")]
    minutes, level = np.mean([cost[-1] for cost, _ in ends]) / 60, np.mean([score[-1] for _, score in ends])
    name = "labelwise" if arm == OURS else "labelwise without the names of the labels"
    goal = (
        f"{METRICS[metric][:1].upper()}{METRICS[metric][1:]} {level:.2f}: the usual way takes {minutes:.0f} min, {name}"
    )
    never = int(np.isinf(shares).sum())
    if never:
        return f"{goal} does not get there with as many tickets in {never} of {len(shares)} runs."
    share = Estimate.of(shares)
    took = f"{goal} {share.value * minutes:.0f} min"
    if np.isnan(share.low):
        return f"{took}; one run cannot tell this from luck."
    verdict = "less" if share.high < 1 else "more" if share.low > 1 else ""
    bounds = f"{max(share.low, 0):.0%} to {share.high:.0%} of the time".replace("%", " %")
    return f"{took} ({bounds}): {f'{verdict} time, beyond noise' if verdict else 'not beyond noise'}."


def predicted_tickets(study: Study, data: LabelData, shown: int = SHOWN_TICKETS) -> tuple[PredictedTicket, ...]:
    """The first tickets of the first seed's test set, tagged by the default campaign as it was at its end."""
    plan, seed = study.plan, study.plan.seeds[0]
    pool, test = split(data, plan.schedule, seed)
    asked = [Question(item, pool.label_names) for item in study.results[(*OURS, seed)].items()]
    campaign = Campaign(pool.hide(), random_state=seed, answers=Answerer(pool).answers(asked))
    names, items = data.label_names, test.items or ()
    return tuple(
        PredictedTicket(str(item["text"]), _named(names, predicted), _named(names, right))
        for item, predicted, right in zip(
            items[:shown], campaign.predict(test.X[:shown]), test.Y[:shown].toarray(), strict=True
        )
    )


def _named(names: Sequence[str], present: Sequence[bool]) -> tuple[str, ...]:
    return tuple(name for name, there in zip(names, present, strict=True) if there)


def _curve(table: Table, arm: Arm, seed: int, metric: str) -> tuple[FloatArray, FloatArray]:
    of_run = table.where(model=arm[0], strategy=arm[1], seed=seed)
    return of_run["cost"].astype(float), of_run[metric].astype(float)


def _write(demo: Demo, data: LabelData) -> None:
    study, n_seeds = demo.study, len(demo.study.plan.seeds)
    last = study.table.where(round=study.table["round"].max())
    lead = (
        f"A simulated person tags support tickets of a made-up shop with {data.n_labels} labels, {n_seeds} times from "
        f"nothing. Each time {int(last['items_read'].max())} tickets are read. How good is the tagger after how many "
        f"minutes? Minutes are by the price list {PRICES}: published times of reading a word, opening a ticket and "
        "picking a label."
    )
    ways = [
        "labelwise: the default campaign. It asks for whole tickets that tell most about the others, and reads the "
        "names of the labels: a ticket with the word battery may be about the label battery.",
        "labelwise without names: the same, but labels are mere numbers to it.",
        "Usual way: random tickets, then one logistic regression for each label.",
    ]
    honest = (
        "These tickets are put together from some fifty sentences. Real ones are harder: nothing gets close to 1 on "
        "them; what the default saves on real sets is in docs/study.md. F1 is of the label sets with the highest "
        "expected F1, in all three ways."
    )
    caption = (
        f"On tickets that are never asked about: means over {n_seeds} runs, bands are {CONFIDENCE_LEVEL:.0%} intervals."
    ).replace("%", " %")
    drawn = Picture("tickets", as_png(draw_arms(study.table, ARMS, METRICS)), caption, "Scores over minutes")
    rows = [(name, [_cell(estimate) for _, estimate in of_arm]) for name, of_arm in demo.minutes.items()]
    tagged = [(ticket.text, [_tags(ticket)]) for ticket in demo.tickets]
    sections = [
        Section(
            title="From nothing to a tagger",
            paragraphs=[*ways, honest],
            headline=" ".join(demo.findings[: len(METRICS)]),
            pictures=[drawn],
            header=["F1 after", *(minutes for minutes, _ in demo.minutes[ARMS[OURS]])],
            rows=rows,
            table_note=f"Means ± half the width of a {CONFIDENCE_LEVEL:.0%} interval. ".replace("%", " %")
            + " ".join(demo.findings[len(METRICS) :]),
            facts=study_facts(study),
        ),
        Section(
            title="Labels of tickets that nobody was asked about",
            header=["ticket", "predicted labels"],
            rows=tagged,
            prose=True,
            table_note="By the default campaign of the first run, at its end.",
        ),
    ]
    write_report(demo.report, "From tickets to a tagger", lead, sections, study.facts["versions"])


def _cell(estimate: Estimate) -> Cell:
    spread = "" if np.isnan(estimate.low) else f" ± {estimate.high - estimate.value:.2f}"
    return Cell(f"{estimate.value:.2f}{spread}")


def _tags(ticket: PredictedTicket) -> Cell:
    wrong = [name for name in ticket.predicted if name not in ticket.right]
    missed = [name for name in ticket.right if name not in ticket.predicted]
    parts = [f"{what}: {', '.join(names)}" for what, names in (("wrong", wrong), ("missed", missed)) if names]
    return Cell(", ".join(ticket.predicted) or "no label", "; ".join(parts) or "all right")
