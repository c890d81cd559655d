"""One HTML file with the set-up of a study, its results and how far to trust them; without network and scripts."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from labelwise.files import write_bytes, write_text
from labelwise.posterior import FloatArray
from labelwise.studies.figures import (
    draw_curves,
    draw_gains,
    draw_ranks,
    draw_savings,
    draw_seconds,
    draw_set_curves,
)
from labelwise.studies.findings import (
    Finding,
    arm_name,
    clear_winners,
    find,
    in_words,
    interval,
    metric_title,
    percent,
    sets_won,
    summary,
)
from labelwise.studies.maps import draw_chosen, draw_labels, draw_regions, is_plane
from labelwise.studies.ranking import Ranking
from labelwise.studies.simulate import split
from labelwise.studies.statistics import (
    CONFIDENCE_LEVEL,
    MIN_SETS,
    Comparison,
    Currency,
    Estimate,
    compare,
    seconds_per_question,
)
from labelwise.studies.study import SetResult, Study
from labelwise.studies.tables import Arm
from labelwise.views.plots import as_png

TEMPLATE = "report.html.jinja"
MAX_LABEL_MAPS = 24  # more labels are outlined on one map


@dataclass(frozen=True)
class Picture:
    """A figure as PNG, with what to read below it and what to read instead of it."""

    name: str
    png: bytes
    caption: str
    instead: str

    @property
    def address(self) -> str:
        """The picture itself as an address, to be embedded."""
        return "data:image/png;base64," + b64encode(self.png).decode("ascii")


@dataclass(frozen=True)
class Cell:
    """One figure of a table: text, a smaller second line, and whether it stands out."""

    text: str
    small: str = ""
    bold: bool = False


@dataclass(frozen=True)
class Section:
    """A part of a report; whatever is left empty is left out. The cells of a table in prose are words, not figures."""

    title: str
    paragraphs: Sequence[str] = ()
    headline: str = ""
    findings: Sequence[Finding] = ()
    pictures: Sequence[Picture] = ()
    header: Sequence[str] = ()
    rows: Sequence[tuple[str, Sequence[Cell]]] = ()
    table_note: str = ""
    prose: bool = False
    differences: Sequence[tuple[str, str, str]] = ()  # from a paper: what it did, what is done here, why
    facts: Mapping[str, str] = field(default_factory=dict)


def write_report(path: Path, title: str, lead: str, sections: Sequence[Section], versions: Mapping[str, str]) -> None:
    """Write the report and, in a folder `figures` beside it, its pictures as files of their own."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["words"] = in_words
    html = environment.get_template(TEMPLATE).render(title=title, lead=lead, sections=sections, versions=versions)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, html)
    for picture in (picture for section in sections for picture in section.pictures):
        file = path.parent / "figures" / f"{picture.name}.png"
        file.parent.mkdir(exist_ok=True)
        write_bytes(file, picture.png)


def report_study(study: Study, metrics: Sequence[str], folder: Path) -> Path:
    """The report of a study, as `report.html` in the folder, its pictures beside it; returns its path."""
    path, first = folder / "report.html", next(iter(study.sets.values()))
    lead = (
        f"{_n_runs(study)} simulated campaigns: {len(first.plan.arms())} pairings of a model with a strategy, "
        f"{len(first.plan.seeds)} seeds, on {', '.join(study.sets)}."
    )
    sections = [
        study_section(study, metrics, "Did any strategy beat random?"),
        _savings_section(compare(study.table, metrics)),
        _seconds_section(study),
        *(_sets_section(study, metric) for metric in metrics if len(study.sets) > 1),
    ]
    write_report(path, f"Which questions save labels? {study.name}", lead, sections, first.facts["versions"])
    return path


def _n_runs(study: Study) -> int:
    return sum(len(one.results) for one in study.sets.values())


def study_section(study: Study, metrics: Sequence[str], title: str, paragraphs: Sequence[str] = ()) -> Section:
    """Findings, curves, gains, table and settings; of many sets ranks, of one in the plane maps."""
    comparisons = compare(study.table, metrics)
    pictures = [*_curves(study, metrics), *_gains(study, comparisons)]
    if len(study.sets) == 1:
        pictures = [*_maps(study.only), *pictures]
        cells = _area_cells(comparisons, clear_winners(study.table, metrics))
        note = (
            "Mean over the learning curve ± one standard error over seeds; in small type the last evaluation. Bold: "
            "better than every other row that asks for the same, seed by seed, "
            f"beyond a {CONFIDENCE_LEVEL:.0%} interval. "
            "No bold in a column means that noise may explain its order."
        )
    else:
        pictures = [*_ranks(comparisons), *pictures]
        cells = [_gain_cell(c) for c in comparisons]
        note = (
            "Gain over random with the same model in the mean of the learning curve. Small: its interval, the mean "
            "rank, and on how many sets the mean gain is positive. Bold: the interval leaves out zero. "
            f"Interval: {_interval(study)}."
        )
    return Section(
        title=title,
        paragraphs=paragraphs,
        headline=summary(comparisons),
        findings=find(comparisons),
        pictures=pictures,
        header=["", *map(metric_title, metrics)],
        rows=_by_arm(comparisons, cells),
        table_note=note,
        facts=study_facts(study),
    )


def _by_arm(comparisons: Sequence[Comparison], cells: Sequence[Cell]) -> list[tuple[str, list[Cell]]]:
    rows: dict[Arm, list[Cell]] = {}
    for c, cell in zip(comparisons, cells, strict=True):
        rows.setdefault((c.model, c.strategy), []).append(cell)
    return [(arm_name(*arm), of_arm) for arm, of_arm in rows.items()]


def _area_cells(comparisons: Sequence[Comparison], winners: set[tuple[str, str, str]]) -> list[Cell]:
    cells = []
    for c in comparisons:
        error = f" ± {c.area.standard_error:.3f}" if c.area.n > 1 else ""
        bold = (c.model, c.strategy, c.metric) in winners
        cells.append(Cell(f"{c.area.value:.3f}{error}", f"last {c.final.value:.3f}", bold))
    return cells


def _gain_cell(c: Comparison) -> Cell:
    """The gain; small, so that four metrics fit beside one another, its interval, the rank and the sets."""
    ranked = "" if isnan(c.mean_rank) else f"rank {c.mean_rank:.1f}"
    if c.gain is None:
        return Cell("—", ranked)
    value, _, bounds = interval(c.gain).partition(" ")
    small = "; ".join(part for part in (bounds, ranked, f"gained on {sets_won(c)}") if part)
    return Cell(value, small, bold=c.verdict in ("better", "worse"))


def _maps(one: SetResult) -> list[Picture]:
    """The set and what each strategy chose of it, for data with two features."""
    data, plan = one.data, one.plan
    if not is_plane(data):
        return []
    name, model, seed = _file_name(plan.name), plan.models[0], plan.seeds[0]
    pool, _ = split(data, plan.schedule, seed)
    results = {s: one.results[m, s, seed] for m, s in plan.arms() if m == model}
    chosen = {strategy: result.items() for strategy, result in results.items()}
    start = next(iter(results.values())).items(slice(1))  # the same for all
    few = data.n_labels <= MAX_LABEL_MAPS
    the_set = (
        "The set, label by label: the items that have it, in blue, among all."
        if few
        else "The set: each dot is an item, each outline the region of one label. Regions overlap, so an item has as "
        "many labels as regions cover it."
    )
    the_choice = (
        f"What each strategy asked about with {in_words(model)}, seed {seed}. Ringed: the {len(start)} random items "
        "that all start from. Darker ground: more labels."
    )
    drawn = draw_labels(data) if few else draw_regions(data)
    return [
        Picture(f"{name}-set", as_png(drawn), the_set, "Map of the items and their labels"),
        Picture(f"{name}-chosen", as_png(draw_chosen(pool, chosen, start)), the_choice, "Map of the chosen items"),
    ]


def _ranks(comparisons: Sequence[Comparison]) -> list[Picture]:
    """Critical-difference diagrams, one picture for all that may be compared."""
    pictures, controls = [], dict.fromkeys(c.control for c in comparisons)
    for control in controls:
        rankings = {c.metric: c.ranking for c in comparisons if c.control == control and c.ranking is not None}
        if not rankings:
            continue
        tests = "; ".join(f"{in_words(metric)} {_p(ranking)}" for metric, ranking in rankings.items())
        caption = (
            "Mean rank over sets by the mean of the learning curve, best on the left. Bars join those closer than "
            f"Nemenyi's critical difference. Friedman's test that all are alike: {tests}."
        )
        name = "ranks" if len(controls) == 1 else f"ranks-{_file_name(control)}"
        pictures.append(Picture(name, as_png(draw_ranks(rankings)), caption, "Critical-difference diagrams"))
    return pictures


def _p(ranking: Ranking) -> str:
    return "unknown" if isnan(ranking.p_value) else f"p = {ranking.p_value:.2g}"


def _curves(study: Study, metrics: Sequence[str]) -> list[Picture]:
    n = len(study.table.distinct("seed"))
    spread = f"mean over {n} seeds, band: one standard error" if n > 1 else "one seed, so no error bands"
    if len(study.sets) > 1:
        return [
            Picture(
                f"curves-{model}-{metric}".replace("_", "-"),
                as_png(draw_set_curves(study.table, metric, model), 110),
                f"{in_words(metric)[:1].upper()}{in_words(metric)[1:]} with {in_words(model)} against answers, in "
                f"items answered in full: {spread}. Thick: random.",
                f"Learning curves of {in_words(metric)} with {in_words(model)}",
            )
            for metric in metrics
            for (model,) in study.table.distinct("model")
        ]
    pairs, costs = "pairs" in study.table["target"], study.plan.schedule.costs
    price = "" if pairs else f" Every item read costs {study.facts['data']['labels']} answers, one per label."
    axes: dict[Currency, str] = {"items_read": f"Scores on the test set against items read: {spread}.{price}"}
    if pairs:
        axes["answers"] = f"The same against answers, each yes or no to one label of one item: {spread}."
    if costs is not None:
        prices = f"{float(costs.reading()):g} for reading and {costs.answer:g} per answer"
        prices += f", {costs.pick:g} for a label picked" if costs.picks else ""
        axes["cost"] = f"The same against what it costs, {prices}, in {costs.unit}: {spread}."
    instead = "Learning curves of " + ", ".join(in_words(s) for s in study.plan.strategies)
    return [
        Picture(
            f"{_file_name(study.name)}-curves-{axis.removesuffix('_read')}",
            as_png(draw_curves(study.table, metrics, axis)),
            caption,
            f"{instead} against {in_words(axis)}",
        )
        for axis, caption in axes.items()
    ]


def _gains(study: Study, comparisons: Sequence[Comparison]) -> list[Picture]:
    if all(c.gain is None for c in comparisons):
        return []
    caption = (
        "Gain over random in the mean of the learning curve, paired by seed, better to the right; bars: "
        f"{_interval(study)}. Filled: the interval leaves out zero. Hollow: noise may explain it."
    )
    name = f"{_file_name(study.name)}-gains" if len(study.sets) == 1 else "gains"
    return [Picture(name, as_png(draw_gains(comparisons)), caption, "Gain of each strategy over random")]


def _savings_section(comparisons: Sequence[Comparison]) -> Section:
    pictures = []
    if any(c.answer_shares for c in comparisons):
        caption = (
            "Answers needed to reach the score that random reaches at the end, as a share of the answers that took: a "
            "dot per set, the bar at the median over sets, faint where that is never. The row of random itself shows "
            "how early a curve gets there by luck."
        )
        pictures.append(Picture("savings", as_png(draw_savings(comparisons)), caption, "Labels saved by each strategy"))
    return Section(
        title="How many labels does it save?",
        pictures=pictures,
        header=["", *dict.fromkeys(in_words(c.metric) for c in comparisons)],
        rows=_by_arm(comparisons, [_share_cell(c) for c in comparisons]),
        table_note=(
            "Median over sets of the share of answers needed; small: of the items read, and the sets on which the "
            "score was reached at all. Curves are means over seeds, straight between evaluations; no share can be "
            "below that of the start."
        ),
    )


def _share_cell(c: Comparison) -> Cell:
    if isnan(c.share):
        return Cell("—")
    return Cell(percent(c.share), f"items {percent(c.share_items)}; {c.reached} of {c.n_sets} sets")


def _seconds_section(study: Study) -> Section:
    caption = (
        "Seconds of choosing and of learning from the answers, per question of a batch: a dot per set, the line at the "
        "median. A question about an item has as many answers as open labels, one about a pair has one."
    )
    seconds = seconds_per_question(study.table)
    pictures = [Picture("seconds", as_png(draw_seconds(seconds)), caption, "Time per question")] if seconds else []
    return Section("Time per question", pictures=pictures)


def _sets_section(study: Study, metric: str) -> Section:
    """The last evaluation of every arm on every set."""
    last = study.table.where(round=study.table["round"].max())
    rows = []
    for model, strategy in study.table.distinct("model", "strategy"):
        found = [last.where(model=model, strategy=strategy, data=data)[metric] for data in study.sets]
        rows.append((arm_name(model, strategy), [_value_cell(values) for values in found]))
    return Section(
        title=f"Set by set: {in_words(metric)} at the end",
        header=["", *study.sets],
        rows=rows,
        table_note="Mean over seeds; small: one standard error.",
    )


def _value_cell(values: FloatArray) -> Cell:
    if not values.size:
        return Cell("—")
    estimate = Estimate.of(values)
    return Cell(f"{estimate.value:.3f}", f"± {estimate.standard_error:.3f}" if estimate.n > 1 else "")


def study_facts(study: Study) -> dict[str, str]:
    """How a study was run, for its reader."""
    first = next(iter(study.sets.values()))
    plan, schedule = first.plan, first.plan.schedule
    seconds = study.table["seconds_asking"].sum() + study.table["seconds_fitting"].sum()
    limits = f", at most {schedule.pool_limit} kept in the pool" if schedule.pool_limit else ""
    limits += f", at most {schedule.test_limit} in the test set" if schedule.test_limit else ""
    return {
        "Data": "; ".join(_described(name, one) for name, one in study.sets.items()) + limits,
        **({"Features": "dense columns standardised, rows of unit length"} if study.is_scaled else {}),
        "Test set": f"{_tested(study)}; never asked about",
        "Start": f"{schedule.start} random items answered in full, the same for every model and strategy of a seed",
        "Then": f"{schedule.rounds} rounds of {schedule.batch} questions{_pairs(study)}, an evaluation after each",
        "Seeds": ", ".join(map(str, plan.seeds)),
        "Costs": "of short texts, in seconds" if schedule.costs is None else str(schedule.costs),
        "Models": ", ".join(_with_options(model, plan.options.get(model, {})) for model in plan.models),
        "Label sets": "of the highest expected F1, item by item: the default decision",
        "Left out": _left_out(study),
        "Time": f"{seconds:.0f} s of fitting and asking in {_n_runs(study)} runs",
    }


def _described(name: str, one: SetResult) -> str:
    data = one.facts["data"]
    sizes = f"{data['items']} items, {data['features']} features, {data['labels']} labels"
    return f"{name}: {sizes}, {data['labels_per_item']:.2f} labels per item"


def _tested(study: Study) -> str:
    share = next(iter(study.sets.values())).plan.schedule.test_share
    given = [f"{one.facts['test']['items']} items given" for one in study.sets.values() if one.facts["test"]]
    drawn = f"a random {share:.0%} of the items, anew per seed"
    return ", ".join(given + [drawn] * (len(given) < len(study.sets)))


def _pairs(study: Study) -> str:
    """How many pairs are asked in a round, where the schedule says it."""
    batches = {one.plan.schedule.pair_batch for one in study.sets.values()}
    if batches == {None}:
        return ""
    if len(batches) > 1:
        return ", for pairs as many answers as in whole items"
    return f" ({batches.pop()} for pairs)"


def _with_options(model: str, options: Mapping[str, Any]) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in options.items())
    return f"{in_words(model)} with {given or 'its defaults'}"


def _left_out(study: Study) -> str:
    """How many labels the macro averages could not judge."""
    absent, everywhere = (int(study.table[f"labels_without_{kind}"].max()) for kind in ("positives", "negatives"))
    parts = [f"up to {absent} labels that no test item has, of macro F1, AP and AUC"] if absent else []
    parts += [f"up to {everywhere} labels that every test item has, of macro AUC"] if everywhere else []
    return "; ".join(parts) or "no label: each is present and absent somewhere in every test set"


def _interval(study: Study) -> str:
    """What the interval of a gain is about."""
    n_sets, n_seeds = len(study.sets), len(study.table.distinct("seed"))
    if n_sets >= MIN_SETS:
        return (
            f"{CONFIDENCE_LEVEL:.0%} interval by drawing sets, then seeds, anew (paired bootstrap); p by Wilcoxon's "
            "signed ranks over sets, adjusted by Holm"
        )
    if n_seeds == 1:
        return "none, of one seed"
    few = "" if n_sets == 1 else f" on these {n_sets} sets, too few to tell of others"
    return f"{CONFIDENCE_LEVEL:.0%} Student-t interval over {n_seeds} seeds{few}"


def _file_name(name: str) -> str:
    return "".join(sign if sign.isalnum() else "-" for sign in name).strip("-").lower() or "study"
