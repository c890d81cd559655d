"""Figures of an arena: critical differences, labels saved, learning curves of many sets, time per question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, isinf
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from labelwise.experiments.arena_findings import Arm, League, arm_name
from labelwise.experiments.figures import FAINT, GREY, INK, LOOK, style_of
from labelwise.experiments.findings import in_words
from labelwise.experiments.label_saving import Saving, label_savings
from labelwise.experiments.ranking import Ranking
from labelwise.experiments.statistics import Curve, learning_curves

NEVER = 1.16  # where sets that were never reached stand, right of the whole
COLUMNS = 3  # panels of sets beside one another


def draw_ranks(rankings: Mapping[str, Ranking], colours: Mapping[str, str]) -> Figure:
    """Critical-difference diagrams, one per metric: best on the left, joined where noise may explain the difference."""
    k = max(len(ranking.names) for ranking in rankings.values())
    rows = ceil(k / 2)
    heights = [1.0 + 0.24 * rows + 0.13 * len(ranking.groups()) for ranking in rankings.values()]
    with rc_context(LOOK):
        figure = Figure(figsize=(9.4, sum(heights)), layout="constrained")
        axes = figure.subplots(len(rankings), 1, squeeze=False, height_ratios=heights)
        for (metric, ranking), ax in zip(rankings.items(), axes.ravel(), strict=True):
            _draw_ranking(ax, ranking, colours)
            ax.set_title(in_words(metric), fontweight="bold", pad=18)
    return figure


def _draw_ranking(ax: Axes, ranking: Ranking, colours: Mapping[str, str]) -> None:
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
    half = ceil(k / 2)
    for place, name in enumerate(order):
        left = place < half
        depth = -top - 0.52 * (place if left else k - 1 - place)
        edge, colour = (0.9 if left else k + 0.1), colours.get(name, INK)
        ax.plot([rank_of[name], rank_of[name], edge], [0, depth, depth], color=colour, lw=1)
        ax.annotate(
            f"{name}  {rank_of[name]:.1f}" if left else f"{rank_of[name]:.1f}  {name}",
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
    ax.set_ylim(-top - 0.52 * half, 1.2)
    ax.axis("off")


def draw_savings(savings: Mapping[str, Sequence[Saving]], arms: Sequence[Arm]) -> Figure:
    """Share of random's answers needed to reach its end: a dot per set, a bar at the median, a column for never."""
    columns = min(2, len(savings))
    rows = ceil(len(savings) / columns)
    with rc_context(LOOK):
        figure = Figure(figsize=(4.7 * columns + 1.6, rows * (1.0 + 0.27 * len(arms))), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, sharey=True, sharex=True)
        for (metric, found), ax in zip(savings.items(), axes.ravel(), strict=False):
            for place, arm in enumerate(arms):
                _draw_shares(ax, place, arm, [s.share for s in found if (s.model, s.strategy) == arm])
            ax.axvline(1, color=GREY, lw=1)
            ax.axvspan(NEVER - 0.08, NEVER + 0.08, color=FAINT, alpha=0.45, lw=0)
            ax.set_title(in_words(metric), fontweight="bold")
        for ax in axes.ravel()[len(savings) :]:
            ax.axis("off")
        for ax in axes[:, 0]:
            ax.set_yticks(range(len(arms)), [arm_name(*arm) for arm in arms], color=INK, fontsize=9)
            ax.set_ylim(len(arms) - 0.4, -0.6)
        for ax in axes.ravel():
            ax.set_xlim(0, NEVER + 0.1)
            ax.set_xticks([0, 0.25, 0.5, 0.75, 1, NEVER], ["0", "25 %", "50 %", "75 %", "all", "never"])
            ax.tick_params(axis="y", length=0)
            ax.tick_params(axis="x", labelbottom=True)
            ax.spines["left"].set_visible(False)
    return figure


def _draw_shares(ax: Axes, place: int, arm: Arm, shares: Sequence[float]) -> None:
    if not shares:
        return
    style = style_of(arm[1])
    middle = sorted(shares)[len(shares) // 2]
    width = NEVER if isinf(middle) else float(np.median(shares))
    ax.barh(place, width, height=0.62, color=style.colour, alpha=0.12 if isinf(middle) else 0.32, lw=0)
    spread = np.linspace(-0.18, 0.18, len(shares)) if len(shares) > 1 else np.zeros(1)
    places = [NEVER if isinf(share) else share for share in shares]
    faces = ["white" if isinf(share) else style.colour for share in shares]
    ax.scatter(places, place + spread, s=15, marker=style.marker, c=faces, edgecolors=style.colour, lw=0.9, zorder=3)


def draw_set_curves(league: League, metric: str, model: str) -> Figure:
    """One panel per set: every strategy with this model against answers, counted in items answered in full."""
    sets = [data for data in league.sets if len(league.table.where(data=data, model=model))]
    columns = min(COLUMNS, len(sets))
    rows = ceil(len(sets) / columns)
    strategies = [s for m, s in league.arms if m == model]
    legend_rows = ceil(len(strategies) / 4)
    with rc_context(LOOK):
        figure = Figure(figsize=(max(3.3 * columns, 7.0), 2.3 * rows + 0.35 + 0.24 * legend_rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
        for data, ax in zip(sets, axes.ravel(), strict=False):
            table = league.table.where(data=data, model=model)
            first = table.where(round=0)
            per_item = float(first["answers"][0] / first["items_read"][0])
            for curve in learning_curves(table, metric, "answers"):
                _draw_curve(ax, curve, per_item, bold=curve.strategy == league.reference)
            ax.set_title(data, fontweight="bold")
            ax.grid(axis="y", color=FAINT, linewidth=0.6)
            ax.set_axisbelow(True)
            ax.xaxis.set_major_locator(MaxNLocator(5, integer=True))
            ax.yaxis.set_major_locator(MaxNLocator(5))
        for ax in axes.ravel()[len(sets) :]:
            ax.axis("off")
        for ax in axes.ravel()[max(0, len(sets) - columns) : len(sets)]:
            ax.set_xlabel("answers ÷ labels")
        handles = [_handle(strategy) for strategy in strategies]
        names = [in_words(strategy) for strategy in strategies]
        figure.legend(handles, names, loc="outside upper left", ncols=4, frameon=False, fontsize=9)
    return figure


def _draw_curve(ax: Axes, curve: Curve, per_item: float, bold: bool) -> None:
    style, x = style_of(curve.strategy), curve.cost / per_item
    look: dict[str, Any] = {"color": style.colour, "marker": style.marker, "markersize": 3.4 if bold else 2.8}
    ax.plot(x, curve.mean, style.line, lw=2.6 if bold else 1.3, zorder=3 if bold else 2, **look)
    if curve.n_seeds > 1:
        low, high = curve.mean - curve.standard_error, curve.mean + curve.standard_error
        ax.fill_between(x, low, high, color=style.colour, alpha=0.2 if bold else 0.1, linewidth=0)


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
        ax.set_yticks(range(len(arms)), [arm_name(*arm) for arm in arms], color=INK, fontsize=9)
        ax.set_ylim(len(arms) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.grid(axis="x", color=FAINT, linewidth=0.6)
        ax.set_axisbelow(True)
        ax.set_xlabel("seconds per question")
    return figure


def savings_of(league: League, metrics: Sequence[str]) -> dict[str, list[Saving]]:
    """Metric to the savings of every arm on every set, in answers."""
    return {metric: label_savings(league.table, metric, "answers", league.reference) for metric in metrics}
