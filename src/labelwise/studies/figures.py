"""Figures of studies. One look for all: a strategy has its colour wherever it appears.

Every function returns a matplotlib `Figure` that belongs to no window; `as_png` of
`labelwise.views.plots` turns it into a file's content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, isinf, isnan
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator
from scipy.stats import t as student

from labelwise import queries
from labelwise.studies.findings import arm_name, in_words, metric_title
from labelwise.studies.ranking import Ranking
from labelwise.studies.statistics import CONFIDENCE_LEVEL, Comparison, Currency, Curve, learning_curves
from labelwise.studies.tables import Arm, Table
from labelwise.views.plots import FAINT, GREY, INK, LOOK, PALETTE, faint_grid

NEVER_AT = 1.16  # where sets that were never reached stand on the axis of shares
MARKERS = ("o", "s", "^", "D")
COST_NAMES = {"items_read": "items read", "answers": "answers given", "cost": "cost of reading and answering"}


@dataclass(frozen=True)
class Style:
    """How a strategy is drawn: random in grey, each other in its colour, those that ask for pairs dashed."""

    colour: str
    line: Literal["-", "--"]
    marker: str


def style_of(strategy: str) -> Style:
    """The style of a strategy, fixed by its place in the registry; one outside it is drawn as the next to come.

    >>> style_of("random").colour == style_of("random_pairs").colour == GREY
    True
    >>> style_of("uncertainty").line, style_of("uncertainty_pairs").line
    ('-', '--')
    """
    line: Literal["-", "--"] = "--" if strategy.endswith("_pairs") else "-"
    family = strategy.removesuffix("_pairs")
    if family in queries.BY_NAME and isinstance(queries.BY_NAME[family](), queries.Random):
        return Style(GREY, line, "o")
    families = [name for name in queries.BY_NAME if not isinstance(queries.BY_NAME[name](), queries.Random)]
    families = list(dict.fromkeys([*(name.removesuffix("_pairs") for name in families), family]))
    place = families.index(family)
    return Style(PALETTE[place % len(PALETTE)], line, MARKERS[place // len(PALETTE) % len(MARKERS)])


def draw_curves(table: Table, metrics: Sequence[str], cost: Currency = "items_read") -> Figure:
    """Learning curves, mean over seeds with a band of one standard error: a column per model, a row per metric.

    With a single model the metrics stand two in a row.
    """
    models = [model for (model,) in table.distinct("model")]
    columns = len(models) if len(models) > 1 else min(2, len(metrics))
    panels = [(metric, model) for metric in metrics for model in models]
    with rc_context(LOOK):
        figure, axes = panel_grid(len(panels), columns, panel=(4.6, 2.5), xlabel=COST_NAMES[cost])
        curves = {metric: learning_curves(table, metric, cost) for metric in metrics}
        for (metric, model), ax in zip(panels, axes, strict=True):
            ax.set_ylim(*_limits(curves[metric]))
            _draw_panel(ax, [curve for curve in curves[metric] if curve.model == model])
            ax.set_title(metric_title(metric), fontweight="bold")
        for model, ax in zip(models, axes, strict=False):
            ax.annotate(in_words(model), (0, 1), (0, 26), "axes fraction", "offset points", color=GREY, fontsize=12)
    return figure


def draw_arms(table: Table, arms: Mapping[Arm, str], metrics: Mapping[str, str]) -> Figure:
    """Some arms by their names over minutes of a person's time, mean over seeds with a band: a panel per metric.

    The band is the interval of the mean. Random questions are grey.
    """
    palette = iter(PALETTE)
    colours = {arm: GREY if style_of(arm[1]).colour == GREY else next(palette) for arm in arms}
    with rc_context(LOOK):
        xlabel = "minutes of a person's time"
        figure, axes = panel_grid(len(metrics), 2, panel=(4.6, 2.8), margins=(0, 0.35), xlabel=xlabel)
        for (metric, title), ax in zip(metrics.items(), axes, strict=True):
            curves = {(curve.model, curve.strategy): curve for curve in learning_curves(table, metric, "cost")}
            for arm, colour in colours.items():
                curve, reach = curves[arm], _reach(curves[arm])
                minutes, low, high = curve.cost / 60, curve.mean - reach, curve.mean + reach
                ax.plot(minutes, curve.mean, color=colour, marker="o", markersize=3, lw=1.8)
                ax.fill_between(minutes, low, high, color=colour, alpha=0.16, linewidth=0)
            ax.set_ylim(0, 1.02)
            ax.set_xlim(0)
            _curve_axes(ax, ticks=6)
            ax.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
            ax.set_title(title, fontweight="bold")
        handles = [Line2D([], [], color=colour, marker="o", markersize=4) for colour in colours.values()]
        figure.legend(handles, list(arms.values()), loc="outside upper left", ncols=len(arms), frameon=False)
    return figure


def _reach(curve: Curve) -> npt.NDArray[np.floating[Any]]:
    """Half the width of the interval of a curve's mean; 0 for a single seed."""
    factor = float(student.ppf(0.5 + CONFIDENCE_LEVEL / 2, max(curve.n_seeds - 1, 1)))
    return factor * np.nan_to_num(curve.standard_error)


def draw_gains(comparisons: Sequence[Comparison]) -> Figure:
    """Gain in area over random with its interval, better to the right; filled where the interval leaves out zero."""
    shown = [c for c in comparisons if c.gain is not None]
    if not shown:
        raise ValueError("nothing to draw: no strategy of the study has a random strategy to compare with")
    metrics, arms = _metrics_and_arms(shown)
    size, xlabel = (4.6, 0.85 + 0.36 * len(arms)), "gain over random, mean over the curve"
    with rc_context(LOOK):
        figure, axes = panel_grid(len(metrics), 2, panel=size, xlabel=xlabel, sharey=True)
        for metric, ax in zip(metrics, axes, strict=True):
            ax.axvline(0, color=GREY, lw=1)
            for comparison in (c for c in shown if c.metric == metric):
                _draw_gain(ax, arms.index((comparison.model, comparison.strategy)), comparison)
            faint_grid(ax, "x")
            ax.xaxis.set_major_locator(MaxNLocator(5))
            _arm_rows(ax, arms)
            ax.set_title(in_words(metric), fontweight="bold")
    return figure


def _draw_gain(ax: Axes, place: int, comparison: Comparison) -> None:
    gain, style = comparison.gain, style_of(comparison.strategy)
    assert gain is not None
    if not isnan(gain.low):
        ax.plot([gain.low, gain.high], [place] * 2, color=style.colour, lw=2)
    fill = style.colour if gain.sign else "white"
    ax.plot(gain.value, place, style.marker, color=style.colour, mfc=fill, ms=7, mew=1.8)


def _metrics_and_arms(comparisons: Sequence[Comparison]) -> tuple[list[str], list[Arm]]:
    arms = dict.fromkeys((c.model, c.strategy) for c in comparisons)
    return list(dict.fromkeys(c.metric for c in comparisons)), list(arms)


def draw_ranks(rankings: Mapping[str, Ranking]) -> Figure:
    """Critical-difference diagrams, one per metric: best on the left, joined where noise may explain the difference."""
    k = max(len(ranking.names) for ranking in rankings.values())
    rows = ceil(k / 2)
    heights = [1.0 + 0.24 * rows + 0.13 * len(ranking.groups()) for ranking in rankings.values()]
    with rc_context(LOOK):
        figure = Figure(figsize=(9.4, sum(heights)), layout="constrained")
        axes = figure.subplots(len(rankings), 1, squeeze=False, height_ratios=heights)
        for (metric, ranking), ax in zip(rankings.items(), axes.ravel(), strict=True):
            _draw_ranking(ax, ranking)
            ax.set_title(in_words(metric), fontweight="bold", pad=18)
    return figure


def _draw_ranking(ax: Axes, ranking: Ranking) -> None:
    k, order = len(ranking.names), ranking.best_first()
    rank_of = dict(zip(ranking.names, ranking.mean_ranks.tolist(), strict=True))
    groups = ranking.groups() if ranking.n_sets > 1 else []
    ax.plot([1, k], [0, 0], color=GREY, lw=1)
    for tick in range(1, k + 1):
        ax.plot([tick, tick], [0, 0.14], color=GREY, lw=1)
        ax.annotate(str(tick), (tick, 0.2), ha="center", va="bottom", color=GREY, fontsize=8)
    for level, group in enumerate(groups):
        ends = [rank_of[group[0]] - 0.04, rank_of[group[-1]] + 0.04]
        ax.plot(ends, [-0.25 - 0.3 * level] * 2, color=INK, lw=3, solid_capstyle="round")
    top = 0.55 + 0.3 * len(groups)
    n_left = ceil(k / 2)
    for place, name in enumerate(order):
        left = place < n_left
        depth = -top - 0.52 * (place if left else k - 1 - place)
        edge, colour = (0.9 if left else k + 0.1), style_of(name.partition(" · ")[0]).colour
        ax.plot([rank_of[name], rank_of[name], edge], [0, depth, depth], color=colour, lw=1)
        ax.annotate(
            f"{in_words(name)}  {rank_of[name]:.1f}" if left else f"{rank_of[name]:.1f}  {in_words(name)}",
            (edge, depth),
            xytext=(-4 if left else 4, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
            fontsize=8.5,
            color=colour,
        )
    if not isinf(ranking.critical_difference) and ranking.critical_difference < k - 1:
        ax.plot([1, 1 + ranking.critical_difference], [0.95, 0.95], color=INK, lw=1.4)
        ax.annotate("critical difference", (1 + ranking.critical_difference, 0.95), (5, 0), "data", "offset points")
        ax.texts[-1].set(va="center", fontsize=8, color=GREY)
    ax.set_xlim(1 - 0.42 * k, k + 0.42 * k)
    ax.set_ylim(-top - 0.52 * n_left, 1.2)
    ax.axis("off")


def draw_savings(comparisons: Sequence[Comparison]) -> Figure:
    """Share of random's answers needed to reach its end: a dot per set, a bar at the median, a column for never."""
    metrics, arms = _metrics_and_arms(comparisons)
    with rc_context(LOOK):
        size = 4.7, 1.0 + 0.27 * len(arms)
        figure, axes = panel_grid(len(metrics), 2, panel=size, margins=(1.6, 0.0), sharey=True, sharex=True)
        for metric, ax in zip(metrics, axes, strict=True):
            for comparison in (c for c in comparisons if c.metric == metric and c.answer_shares):
                _draw_shares(ax, arms.index((comparison.model, comparison.strategy)), comparison)
            ax.axvline(1, color=GREY, lw=1)
            ax.axvspan(NEVER_AT - 0.08, NEVER_AT + 0.08, color=FAINT, alpha=0.45, lw=0)
            ax.set_title(in_words(metric), fontweight="bold")
            ax.set_xlim(0, NEVER_AT + 0.1)
            ax.set_xticks([0, 0.25, 0.5, 0.75, 1, NEVER_AT], ["0", "25 %", "50 %", "75 %", "all", "never"])
            ax.tick_params(axis="x", labelbottom=True)
            _arm_rows(ax, arms)
    return figure


def _draw_shares(ax: Axes, place: int, comparison: Comparison) -> None:
    style, shares, median = style_of(comparison.strategy), comparison.answer_shares, comparison.share
    width, alpha = (NEVER_AT, 0.12) if isinf(median) else (median, 0.32)
    ax.barh(place, width, height=0.62, color=style.colour, alpha=alpha, lw=0)
    spread = np.linspace(-0.18, 0.18, len(shares)) if len(shares) > 1 else np.zeros(1)
    places = [NEVER_AT if isinf(share) else share for share in shares]
    faces = ["white" if isinf(share) else style.colour for share in shares]
    ax.scatter(places, place + spread, s=15, marker=style.marker, c=faces, edgecolors=style.colour, lw=0.9, zorder=3)


def draw_set_curves(table: Table, metric: str, model: str) -> Figure:
    """One panel per set: every strategy with this model against answers, counted in items answered in full.

    Random strategies are drawn thick.
    """
    table = table.where(model=model)
    sets, strategies = ([name for (name,) in table.distinct(column)] for column in ("data", "strategy"))
    columns = min(3, len(sets))
    with rc_context(LOOK):
        legend = max(0.0, 7.0 - 3.3 * columns), 0.35 + 0.24 * ceil(len(strategies) / 4)
        figure, axes = panel_grid(len(sets), columns, panel=(3.3, 2.3), margins=legend, xlabel="answers ÷ labels")
        for data, ax in zip(sets, axes, strict=True):
            of_set = table.where(data=data)
            first = of_set.where(round=0)
            per_item = float(first["answers"][0] / first["items_read"][0])
            for curve in learning_curves(of_set, metric, "answers"):
                is_control = curve.strategy in of_set["control"]
                _draw_curve(ax, curve, width=2.6 if is_control else 1.3, per_item=per_item)
            ax.set_title(data, fontweight="bold")
            _curve_axes(ax, ticks=5)
        names = [in_words(strategy) for strategy in strategies]
        handles = [_handle(strategy) for strategy in strategies]
        figure.legend(handles, names, loc="outside upper left", ncols=4, frameon=False, fontsize=9)
    return figure


def _handle(strategy: str) -> Line2D:
    style = style_of(strategy)
    return Line2D([], [], color=style.colour, linestyle=style.line, marker=style.marker, markersize=4)


def draw_seconds(seconds: Mapping[Arm, Mapping[str, float]]) -> Figure:
    """Seconds of asking and learning per question, on a logarithmic scale: a dot per set, a line at the median."""
    arms = list(seconds)
    with rc_context(LOOK):
        figure = Figure(figsize=(8.4, 0.9 + 0.27 * len(arms)), layout="constrained")
        ax = figure.subplots()
        for place, arm in enumerate(arms):
            style, values = style_of(arm[1]), list(seconds[arm].values())
            ax.scatter(values, [place] * len(values), s=18, color=style.colour, marker=style.marker, alpha=0.75, lw=0)
            ax.plot([np.median(values)] * 2, [place - 0.32, place + 0.32], color=style.colour, lw=2.4)
        ax.set_xscale("log")
        faint_grid(ax, "x")
        ax.set_xlabel("seconds per question")
        _arm_rows(ax, arms)
    return figure


def panel_grid(
    n: int,
    columns: int,
    *,
    panel: tuple[float, float],
    margins: tuple[float, float] = (0.0, 0.0),
    xlabel: str = "",
    **share: Any,
) -> tuple[Figure, list[Any]]:
    """A figure with n panels of this size, `columns` side by side; the lowest ones name the horizontal axis."""
    columns = min(n, columns)
    rows = ceil(n / columns)
    figure = Figure(figsize=(panel[0] * columns + margins[0], panel[1] * rows + margins[1]), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False, **share).ravel().tolist()
    for ax in axes[n:]:
        ax.axis("off")
    for ax in axes[max(0, n - columns) : n]:
        ax.set_xlabel(xlabel)
    return figure, axes[:n]


def bare_plane(ax: Axes) -> None:
    """A map: both axes in the same unit, without ticks and frame."""
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)


def _arm_rows(ax: Axes, arms: Sequence[Arm]) -> None:
    """A row per arm, the first one on top."""
    ax.set_yticks(range(len(arms)), [arm_name(*arm) for arm in arms], color=INK, fontsize=9)
    ax.set_ylim(len(arms) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)


def _limits(curves: Sequence[Curve]) -> tuple[float, float]:
    """Room for every curve with its band, the same for all models, so that panels of a row can be compared."""
    edges = [c.mean + side * np.nan_to_num(c.standard_error) for c in curves for side in (-1, 1)]
    known = np.concatenate(edges)
    known = known[np.isfinite(known)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    margin = 0.06 * (high - low) or 0.01
    return low - margin, high + margin


def _draw_panel(ax: Axes, curves: Sequence[Curve]) -> None:
    ends = []
    for curve in curves:
        _draw_curve(ax, curve, width=1.8)
        ends.append((curve.cost[-1], curve.mean[-1], in_words(curve.strategy), style_of(curve.strategy).colour))
    _curve_axes(ax, ticks=6)
    name_line_ends(ax, ends)


def _draw_curve(ax: Axes, curve: Curve, width: float, per_item: float = 1.0) -> None:
    style, x = style_of(curve.strategy), curve.cost / per_item
    ax.plot(
        x, curve.mean, style.line, color=style.colour, marker=style.marker, markersize=3, lw=width, zorder=1 + width
    )
    if curve.n_seeds > 1:
        low, high = curve.mean - curve.standard_error, curve.mean + curve.standard_error
        ax.fill_between(x, low, high, color=style.colour, alpha=0.16, linewidth=0)


def _curve_axes(ax: Axes, ticks: int) -> None:
    faint_grid(ax, "y")
    ax.xaxis.set_major_locator(MaxNLocator(ticks, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(5))


def name_line_ends(ax: Axes, ends: Sequence[tuple[float, float, str, str]]) -> None:
    """Write each curve's name right of its end, moved apart where names of curves that end together would overlap."""
    low, high = ax.get_ylim()
    gap = 0.09 * (high - low)
    reach = max((x for x, *_ in ends), default=0.0)
    groups: dict[int, list[tuple[float, float, str, str]]] = {}
    for end in sorted(ends, key=lambda end: end[1]):
        groups.setdefault(round(8 * end[0] / (reach or 1)), []).append(end)
    for group in groups.values():
        places = _apart([y for _, y, _, _ in group], gap, ceiling=high)
        for (x, _, text, colour), place in zip(group, places, strict=True):
            ax.annotate(
                text,
                (x, place),
                xytext=(7, 0),
                textcoords="offset points",
                color=colour,
                va="center",
                fontsize=9,
                fontweight="bold",
                annotation_clip=False,
            )


def _apart(places: Sequence[float], gap: float, ceiling: float) -> list[float]:
    """Rising places moved as little as needed to be `gap` apart: upwards, then down again from the ceiling.

    >>> _apart([1.0, 1.0, 5.0], 1.0, ceiling=9.0), _apart([1.0, 4.9, 5.0], 1.0, ceiling=5.0)
    ([1.0, 2.0, 5.0], [1.0, 4.0, 5.0])
    """
    spread = list(places)
    for i in range(1, len(spread)):
        spread[i] = max(spread[i], spread[i - 1] + gap)
    spread[-1] = min(spread[-1], max(ceiling, places[-1]))
    for i in range(len(spread) - 2, -1, -1):
        spread[i] = min(spread[i], spread[i + 1] - gap)
    return spread


# -- streams ----------------------------------------------------------------------------------------------------------

STREAM_METRICS = ("micro_f1", "macro_f1", "precision_at_1", "log_loss")


@dataclass(frozen=True)
class StreamPanel:
    """Lines over the rows of a stream, and upright lines where something happened."""

    title: str
    lines: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]]  # name to rows and values
    marks: Mapping[int, str] = field(default_factory=dict)  # row to words


def draw_progress(curve: Table, metrics: Sequence[str] = STREAM_METRICS) -> Figure:
    """The curve of a `Training`, a panel per measure."""
    lines = {metric: {"": (curve["rows"], curve[metric])} for metric in metrics}
    return draw_panels([StreamPanel(metric_title(metric), lines[metric]) for metric in metrics])


def draw_panels(panels: Sequence[StreamPanel]) -> Figure:
    """Panels side by side, two in a row; a legend where there is more than one line."""
    with rc_context(LOOK):
        figure, axes = panel_grid(len(panels), 2, panel=(4.8, 2.8), xlabel="rows of the stream")
        for panel, ax in zip(panels, axes, strict=True):
            _draw(ax, panel)
    return figure


def _draw(ax: Axes, panel: StreamPanel) -> None:
    for (name, (rows, values)), colour in zip(panel.lines.items(), PALETTE, strict=False):
        marker = "o" if len(rows) == 1 else None  # type: ignore[arg-type]  # any sequence has a length
        ax.plot(rows, values, color=colour, lw=1.8, label=name, marker=marker)
    ax.margins(y=0.12 if panel.marks else None)  # words stand above the lines
    for row, words in panel.marks.items():
        ax.axvline(row, color=GREY, lw=1, ls=":", zorder=0)
        ax.annotate(
            words, (row, 1), (3, -2), ("data", "axes fraction"), "offset points", va="top", color=GREY, fontsize=8
        )
    named = len(panel.lines) > 1
    ax.set_title(panel.title, fontweight="bold", pad=20 if named else None)
    faint_grid(ax, "y")
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda row, _: f"{row:,.0f}"))
    ax.yaxis.set_major_locator(MaxNLocator(5))
    if named:  # between title and panel, where no line can run through it
        place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2, "borderpad": 0}
        ax.legend(frameon=False, fontsize=9, labelcolor="linecolor", ncols=len(panel.lines), handlelength=1.2, **place)
