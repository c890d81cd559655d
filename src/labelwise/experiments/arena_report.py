"""The report of an arena: who won, what it saves, how the curves run, what a question takes."""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from pathlib import Path

import numpy as np

from labelwise.experiments.arena import ArenaResult
from labelwise.experiments.arena_figures import draw_ranks, draw_savings, draw_seconds, draw_set_curves, savings_of
from labelwise.experiments.arena_findings import (
    ENOUGH_SETS,
    League,
    Standing,
    arm_name,
    headline,
    leagues,
    rank,
    seconds_per_question,
    stand,
    told,
    told_sets,
    told_share,
)
from labelwise.experiments.figures import as_png, style_of
from labelwise.experiments.findings import in_words
from labelwise.experiments.ranking import Ranking
from labelwise.experiments.report import Cell, Picture, Section, write_report
from labelwise.experiments.statistics import Estimate


def report_arena(result: ArenaResult, folder: Path) -> Path:
    """Write `report.html` into the folder, its pictures beside it; returns its path."""
    arena, path = result.arena, folder / "report.html"
    found = leagues(result.table)
    sections = []
    for league in found:
        of = f" ({league.table['target'][0]})" if len(found) > 1 else ""
        sections += _league_sections(league, arena.metrics, of)
    sections.append(Section("How it was run", facts=_facts(result)))
    lead = (
        f"{len(result.studies)} sets, {len(arena.arms())} pairings of a model with a strategy, {len(arena.seeds)} "
        f"seeds: {sum(len(study.results) for study in result.studies.values())} simulated campaigns."
    )
    versions = next(iter(result.studies.values())).facts["versions"]
    write_report(path, f"Which questions save labels? {arena.name}", lead, sections, versions)
    return path


def _league_sections(league: League, metrics: Sequence[str], of: str) -> list[Section]:
    standings = {metric: stand(league, metric) for metric in metrics}
    return [
        _ranks_section(league, standings, of),
        _savings_section(league, standings, of),
        _curves_section(league, metrics, of),
        _seconds_section(league, of),
        *(_sets_section(league, metric, of) for metric in metrics),
    ]


def _ranks_section(league: League, standings: dict[str, list[Standing]], of: str) -> Section:
    rankings = {metric: ranking for metric in standings if (ranking := rank(league, metric)) is not None}
    pictures = []
    if rankings and len(league.sets) > 1:
        colours = {arm_name(*arm): style_of(arm[1]).colour for arm in league.arms}
        tests = "; ".join(f"{in_words(m)} {_p(r)}" for m, r in rankings.items())
        caption = (
            f"Mean rank over {len(league.sets)} sets by the mean of the learning curve, best on the left. Bars join "
            f"those closer than Nemenyi's critical difference. Friedman's test that all are alike: {tests}."
        )
        drawn = as_png(draw_ranks(rankings, colours))
        pictures.append(Picture(f"ranks{_tag(of)}", drawn, caption, "Critical-difference diagrams"))
    return Section(
        title=f"Who won{of}?",
        headline=headline([s for of_metric in standings.values() for s in of_metric]),
        pictures=pictures,
        header=["", *(in_words(metric) for metric in standings)],
        rows=[
            (arm_name(*arm), [_gain_cell(of_metric[place]) for of_metric in standings.values()])
            for place, arm in enumerate(league.arms)
        ],
        table_note=(
            f"Gain over {in_words(league.reference)} with the same model in the mean of the learning curve, with a "
            f"95 % interval {_interval_by(league)}. Small: the interval, the mean rank, and on how many sets the mean "
            "gain is positive. "
            "Bold: the interval leaves out zero."
        ),
    )


def _savings_section(league: League, standings: dict[str, list[Standing]], of: str) -> Section:
    pictures = []
    if any(not isnan(s.share) for of_metric in standings.values() for s in of_metric):
        caption = (
            f"Answers needed to reach the score that {in_words(league.reference)} reaches at the end, as a share "
            "of the answers that took: a dot per set, the bar at the median over sets, faint where that is never. "
            f"The row of {in_words(league.reference)} itself shows how early a curve gets there by luck."
        )
        drawn = as_png(draw_savings(savings_of(league, list(standings)), league.arms))
        pictures.append(Picture(f"savings{_tag(of)}", drawn, caption, "Labels saved by each strategy"))
    return Section(
        title=f"How many labels does it save{of}?",
        pictures=pictures,
        header=["", *(in_words(metric) for metric in standings)],
        rows=[
            (arm_name(*arm), [_share_cell(of_metric[place]) for of_metric in standings.values()])
            for place, arm in enumerate(league.arms)
        ],
        table_note=(
            "Median over sets of the share of answers needed; small: of the items read, and the sets on which the "
            "score was reached at all. Curves are means over seeds, straight between evaluations; no share can be "
            "below that of the start."
        ),
    )


def _curves_section(league: League, metrics: Sequence[str], of: str) -> Section:
    models = [model for (model,) in league.table.distinct("model")]
    n = len(league.table.distinct("seed"))
    spread = f"mean over {n} seeds, band: one standard error" if n > 1 else "one seed, so no bands"
    pictures = [
        Picture(
            f"curves-{model}-{metric}{_tag(of)}".replace("_", "-"),
            as_png(draw_set_curves(league, metric, model), 110),
            f"{in_words(metric)[:1].upper()}{in_words(metric)[1:]} with {in_words(model)} against answers, in items "
            f"answered in full: {spread}. Thick: {in_words(league.reference)}.",
            f"Learning curves of {in_words(metric)} with {in_words(model)}",
        )
        for metric in metrics
        for model in models
    ]
    return Section(title=f"Learning curves{of}", pictures=pictures)


def _seconds_section(league: League, of: str) -> Section:
    seconds = seconds_per_question(league.table)
    caption = (
        "Seconds of choosing and of learning from the answers, per question of a batch: a dot per set, the line at the "
        "median. A question about an item has as many answers as open labels, one about a pair has one."
    )
    drawn = as_png(draw_seconds(seconds))
    return Section(
        title=f"Time per question{of}", pictures=[Picture(f"seconds{_tag(of)}", drawn, caption, "Time per question")]
    )


def _sets_section(league: League, metric: str, of: str) -> Section:
    """The last evaluation of every arm on every set."""
    last = league.table.where(round=league.table["round"].max())
    rows = []
    for model, strategy in league.arms:
        cells = []
        for data in league.sets:
            values = last.where(model=model, strategy=strategy, data=data)[metric]
            cells.append(_value_cell(Estimate.of(values)) if values.size else Cell("—"))
        rows.append((arm_name(model, strategy), cells))
    return Section(
        title=f"Set by set{of}: {in_words(metric)} at the end",
        header=["", *league.sets],
        rows=rows,
        table_note="Mean over seeds; small: one standard error.",
    )


def _facts(result: ArenaResult) -> dict[str, str]:
    arena = result.arena
    schedule = arena.schedule
    pairs = (
        f"{schedule.pair_batch} pairs"
        if schedule.pair_batch
        else "as many answers where pairs are asked as in whole items"
    )
    sets = []
    for name, study in result.studies.items():
        data = study.facts["data"]
        sets.append(f"{name} ({data['items']} × {data['features']}, {data['labels']} labels)")
    limits = f"pool at most {schedule.pool_limit}, test set at most {schedule.test_limit} items"
    options = [f"{in_words(e.model)} with {dict(e.options)}" for e in arena.entrants if e.options]
    seconds = result.table["seconds_asking"].sum() + result.table["seconds_fitting"].sum()
    return {
        "Sets": ", ".join(sets),
        "Limits": limits.replace("at most None", "whole"),
        "Features": "dense columns standardised, rows of unit length" if arena.scale == "auto" else "as they are",
        "Start": f"{schedule.start} random items answered in full, the same for all pairings of a seed",
        "Then": f"{schedule.rounds} rounds of {schedule.batch} items, {pairs}",
        "Costs": "one per answer" if schedule.costs is None else str(schedule.costs),
        "Models": "; ".join(options) or "with their defaults",
        "Time": f"{seconds:.0f} s of fitting and asking",
    }


def _interval_by(league: League) -> str:
    if len(league.sets) < ENOUGH_SETS:
        return f"over seeds on these {len(league.sets)} sets, too few to tell of others"
    return (
        "by drawing sets, then seeds, anew (paired bootstrap); p by Wilcoxon's signed ranks over sets, adjusted by Holm"
    )


def _gain_cell(standing: Standing) -> Cell:
    """The gain; small, so that four metrics fit beside one another, its interval, the rank and the sets."""
    ranked = "" if isnan(standing.mean_rank) else f"rank {standing.mean_rank:.1f}"
    if standing.gain is None:
        return Cell("—", ranked)
    value, _, bounds = told(standing).partition(" ")
    small = "; ".join(part for part in (bounds, ranked, f"gained on {told_sets(standing)}") if part)
    return Cell(value, small, bold=standing.verdict in ("better", "worse"))


def _share_cell(standing: Standing) -> Cell:
    if isnan(standing.share):
        return Cell("—")
    small = f"items {told_share(standing.share_items)}; {standing.reached} of {standing.n_sets} sets"
    return Cell(told_share(standing.share), small)


def _value_cell(estimate: Estimate) -> Cell:
    error = "" if np.isnan(estimate.standard_error) else f"± {estimate.standard_error:.3f}"
    return Cell(f"{estimate.value:.3f}", error)


def _p(ranking: Ranking) -> str:
    return "untold" if isnan(ranking.p_value) else f"p = {ranking.p_value:.2g}"


def _tag(of: str) -> str:
    return "".join(sign for sign in of.replace(" ", "-") if sign.isalnum() or sign == "-")
