"""One HTML file that tells what was run, what came of it and how far to trust it; it needs no network and no script."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labelwise.experiments.figures import (
    as_png,
    draw_chosen,
    draw_curves,
    draw_differences,
    draw_labels,
    draw_regions,
    is_plane,
)
from labelwise.experiments.findings import Finding, clear_winners, find, in_words, summary
from labelwise.experiments.metrics import LOWER_IS_BETTER
from labelwise.experiments.simulate import split, starting_items
from labelwise.experiments.statistics import LEVEL, Comparison, compare
from labelwise.experiments.storage import replacing
from labelwise.experiments.study import Study
from labelwise.records import LabelData

try:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined
except ImportError as error:
    raise ImportError("reports need jinja2: pip install labelwise[plots]") from error

TEMPLATE = "report.html.jinja"
MAPPED = 24  # labels that still get a map each; more are outlined on one


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
    with replacing(path) as part:
        part.write_text(html, encoding="utf-8")
    for picture in (picture for section in sections for picture in section.pictures):
        file = path.parent / "figures" / f"{picture.name}.png"
        file.parent.mkdir(exist_ok=True)
        with replacing(file) as part:
            part.write_bytes(picture.png)


def report_study(study: Study, metrics: Sequence[str], folder: Path, data: LabelData) -> Path:
    """The report of one study of these data, as `report.html` in the folder; returns its path."""
    path = folder / "report.html"
    lead = (
        f"Simulated campaigns on {study.plan.name}: {', '.join(map(in_words, study.plan.strategies))} "
        f"with {', '.join(map(in_words, study.plan.models))}."
    )
    section = study_section(study, metrics, "Did any strategy beat random?", data)
    write_report(path, f"Which questions save labels on {study.plan.name}?", lead, [section], study.facts["versions"])
    return path


def study_section(
    study: Study, metrics: Sequence[str], title: str, data: LabelData, paragraphs: Sequence[str] = ()
) -> Section:
    """Findings, curves, gains, table and settings of a study; maps, too, where its data lie in the plane."""
    comparisons = compare(study.table, metrics)
    level = f"{LEVEL:.0%}"
    return Section(
        title=title,
        paragraphs=paragraphs,
        headline=summary(comparisons),
        findings=find(comparisons),
        pictures=[*_maps(study, data), *_curves(study, metrics), *_gains(study, comparisons)],
        header=["", *(in_words(metric) + _hint(metric) for metric in metrics)],
        rows=_rows(study, comparisons, clear_winners(study.table, metrics)),
        table_note=(
            "Mean over the learning curve ± one standard error over seeds; in small type the last evaluation. "
            f"Bold: better than every other row that asks for the same, seed by seed, beyond a {level} interval. "
            "No bold in a column means that noise may explain its order."
        ),
        facts=_facts(study),
    )


def _maps(study: Study, data: LabelData) -> list[Picture]:
    """The set and what each strategy chose of it, for data with two features."""
    if not is_plane(data):
        return []
    name, model, seed = _file_name(study.plan.name), study.plan.models[0], study.plan.seeds[0]
    pool, _ = split(data, study.plan.schedule, seed)
    start = starting_items(pool, study.plan.schedule, seed)
    chosen = {s: study.results[m, s, seed].items() for m, s in study.plan.arms() if m == model}
    few = data.n_labels <= MAPPED
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


def _curves(study: Study, metrics: Sequence[str]) -> list[Picture]:
    n = len(study.plan.seeds)
    spread = f"mean over {n} seeds, band: one standard error" if n > 1 else "one seed, so no error bands"
    pairs = "pairs" in set(study.table["target"])
    q = study.facts["data"]["labels"]
    price = "" if pairs else f" Every item read costs {q} answers, one per label."
    caption = f"Scores on the test set against items read: {spread}.{price}"
    name = _file_name(study.plan.name)
    instead = "Learning curves of " + ", ".join(in_words(s) for s in study.plan.strategies)
    pictures = [Picture(f"{name}-curves-items", as_png(draw_curves(study.table, metrics)), caption, instead)]
    if pairs:
        caption = f"The same against answers given, one answer being yes or no to one label of one item: {spread}."
        drawn = as_png(draw_curves(study.table, metrics, "answers"))
        pictures.append(Picture(f"{name}-curves-answers", drawn, caption, instead + " against answers"))
    costs = study.plan.schedule.costs
    if costs is not None:
        caption = (
            f"The same against what it costs, {costs.read:g} for reading and {costs.answer:g} per answer: {spread}."
        )
        drawn = as_png(draw_curves(study.table, metrics, "cost"))
        pictures.append(Picture(f"{name}-curves-cost", drawn, caption, instead + " against cost"))
    return pictures


def _gains(study: Study, comparisons: Sequence[Comparison]) -> list[Picture]:
    if all(c.difference is None for c in comparisons):
        return []
    n = len(study.plan.seeds)
    bars = f"bars: {LEVEL:.0%} Student-t interval over {n} seeds" if n > 1 else "one seed, so no intervals"
    caption = (
        f"Gain over random in the mean of the learning curve, paired by seed, better to the right; {bars}. "
        "Filled: the interval leaves out zero. Hollow: noise may explain it."
    )
    drawn = as_png(draw_differences(comparisons))
    return [Picture(f"{_file_name(study.plan.name)}-gains", drawn, caption, "Gain of each strategy over random")]


def _rows(
    study: Study, comparisons: Sequence[Comparison], winners: set[tuple[str, str, str]]
) -> list[tuple[str, list[Cell]]]:
    rows: dict[tuple[str, str], list[Cell]] = {}
    for c in comparisons:
        error = f" ± {c.area.standard_error:.3f}" if c.area.n > 1 else ""
        bold = (c.model, c.strategy, c.metric) in winners
        cell = Cell(f"{c.area.value:.3f}{error}", f"last {c.final.value:.3f}", bold)
        rows.setdefault((c.model, c.strategy), []).append(cell)
    return [(f"{in_words(strategy)} · {in_words(model)}", cells) for (model, strategy), cells in rows.items()]


def _facts(study: Study) -> dict[str, str]:
    data, test, schedule = study.facts["data"], study.facts["test"], study.plan.schedule
    tested = (
        f"{test['items']} items given" if test else f"a random {schedule.test_share:.0%} of the items, anew per seed"
    )
    limit = f", at most {schedule.pool_limit} kept in the pool" if schedule.pool_limit else ""
    pairs = f" ({schedule.pair_batch} for pairs)" if schedule.pair_batch else ""
    seconds = study.table["seconds_asking"].sum() + study.table["seconds_fitting"].sum()
    return {
        "Data": f"{study.plan.name}: {data['items']} items, {data['features']} features, {data['labels']} labels, "
        f"{data['labels_per_item']:.2f} labels per item{limit}",
        "Test set": f"{tested}; never asked about",
        "Start": f"{schedule.start} random items answered in full, the same for every model and strategy of a seed",
        "Then": f"{schedule.rounds} rounds of {schedule.batch} questions{pairs}, an evaluation after each",
        "Seeds": ", ".join(map(str, study.plan.seeds)),
        "Models": ", ".join(_with_options(study, model) for model in study.plan.models),
        "Label sets": "labels with probability above one half",
        "Left out": _left_out(study),
        "Time": f"{seconds:.0f} s of fitting and asking in {len(study.results)} runs",
    }


def _with_options(study: Study, model: str) -> str:
    given = ", ".join(f"{name}={value!r}" for name, value in study.plan.options.get(model, {}).items())
    return f"{in_words(model)} with {given}" if given else f"{in_words(model)} with its defaults"


def _left_out(study: Study) -> str:
    """How many labels the macro averages could not judge."""
    absent, everywhere = (int(study.table[f"labels_without_{kind}"].max()) for kind in ("positives", "negatives"))
    parts = [f"up to {absent} labels that no test item has, of macro F1, AP and AUC"] if absent else []
    parts += [f"up to {everywhere} labels that every test item has, of macro AUC"] if everywhere else []
    return "; ".join(parts) or "no label: each is present and absent somewhere in every test set"


def _hint(metric: str) -> str:
    return " (lower is better)" if metric in LOWER_IS_BETTER else ""


def _file_name(name: str) -> str:
    return "".join(sign if sign.isalnum() else "-" for sign in name).strip("-").lower() or "study"
