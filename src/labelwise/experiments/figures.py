"""Figures of studies and of data with two features. One look for all: a strategy has its colour wherever it appears.

Every function returns a matplotlib `Figure` that belongs to no window; `as_png` turns it into a file's content.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from math import ceil, isnan
from typing import Any, Literal

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.spatial import cKDTree

from labelwise import queries
from labelwise.experiments.findings import in_words
from labelwise.experiments.metrics import LOWER_IS_BETTER
from labelwise.experiments.statistics import Comparison, Currency, Curve, learning_curves
from labelwise.experiments.tables import Table
from labelwise.records import LabelData

try:
    from matplotlib import rc_context
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator
except ImportError as error:
    raise ImportError("figures need matplotlib: pip install labelwise[plots]") from error

GREY, FAINT, INK = "#6b6b6b", "#d9d9d9", "#222222"
PALETTE = (  # Okabe & Ito, then Tol: safe for the colour-blind
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"),
    *("#332288", "#882255", "#999933", "#44aa99"),
)
GRID = 160  # points each way when label regions are outlined
MARKERS = ("o", "s", "^", "D")
LOOK: dict[Any, Any] = {
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": GREY,
    "axes.labelcolor": GREY,
    "xtick.color": GREY,
    "ytick.color": GREY,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "figure.facecolor": "white",
}
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


def is_plane(data: LabelData) -> bool:
    """Whether the items can be drawn as points of a map: two features, dense."""
    return data.n_features == 2 and isinstance(data.X, np.ndarray)


def as_png(figure: Figure, dots_per_inch: int = 144) -> bytes:
    """The figure as the content of a PNG file."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=dots_per_inch)
    return buffer.getvalue()


def draw_curves(table: Table, metrics: Sequence[str], cost: Currency = "items_read") -> Figure:
    """Learning curves, mean over seeds with a band of one standard error: a column per model, a row per metric.

    With a single model the metrics stand two in a row.
    """
    models = [model for (model,) in table.distinct("model")]
    columns = len(models) if len(models) > 1 else min(2, len(metrics))
    panels = [(metric, model) for metric in metrics for model in models]
    with rc_context(LOOK):
        figure, axes = _grid(ceil(len(panels) / columns), columns, panel=(4.6, 2.5))
        curves = {metric: learning_curves(table, metric, cost) for metric in metrics}
        for (metric, model), ax in zip(panels, axes.ravel(), strict=False):
            ax.set_ylim(*_limits(curves[metric]))
            _draw_panel(ax, [curve for curve in curves[metric] if curve.model == model])
            ax.set_title(in_words(metric) + _hint(metric), fontweight="bold")
        for ax in axes.ravel()[max(0, len(panels) - columns) : len(panels)]:
            ax.set_xlabel(COST_NAMES[cost])
        for ax in axes.ravel()[len(panels) :]:
            ax.axis("off")
        for model, ax in zip(models, axes[0], strict=False):
            ax.annotate(in_words(model), (0, 1), (0, 26), "axes fraction", "offset points", color=GREY, fontsize=12)
    return figure


def draw_differences(comparisons: Sequence[Comparison]) -> Figure:
    """Gain in area over random with its interval, better to the right; filled where the interval leaves out zero."""
    shown = [c for c in comparisons if c.difference is not None]
    if not shown:
        raise ValueError("nothing to draw: no strategy of the study has a random control beside it")
    arms = list(dict.fromkeys((c.model, c.strategy) for c in shown))
    metrics = list(dict.fromkeys(c.metric for c in shown))
    columns = min(len(metrics), 2)
    rows = ceil(len(metrics) / columns)
    with rc_context(LOOK):
        figure, axes = _grid(rows, columns, panel=(4.6, 0.85 + 0.36 * len(arms)), sharey=True)
        for metric, ax in zip(metrics, axes.ravel(), strict=False):
            _draw_gains(ax, {(c.model, c.strategy): c for c in shown if c.metric == metric}, arms)
            ax.set_title(in_words(metric), fontweight="bold")
        for ax in axes.ravel()[len(metrics) :]:
            ax.axis("off")
        for ax in axes[:, 0]:
            ax.set_yticks(range(len(arms)), [f"{in_words(s)} · {in_words(m)}" for m, s in arms], color=INK)
            ax.set_ylim(len(arms) - 0.4, -0.6)
        for ax in axes.ravel()[max(0, len(metrics) - columns) : len(metrics)]:
            ax.set_xlabel("gain over random, mean over the curve")
    return figure


def draw_regions(data: LabelData) -> Figure:
    """Items with two features, darker with more labels, and the outline of each label."""
    _check_plane(data)
    counts = np.diff(data.Y.indptr)
    with rc_context(LOOK):
        figure, axes = _grid(1, 1, panel=(5.6, 5.2))
        ax = axes[0, 0]
        _outlines(ax, data)
        dots = ax.scatter(*data.X.T, c=counts, s=9, cmap="Blues", vmin=-2, linewidths=0, zorder=2)
        bar = figure.colorbar(dots, ax=ax, shrink=0.6, boundaries=np.arange(-0.5, counts.max() + 1))
        bar.set_label("labels of an item")
        bar.outline.set_visible(False)
        bar.locator = MaxNLocator(integer=True)
        _plane(ax)
        ax.set_title(f"{data.n_items} items, {data.n_labels} labels, {data.cardinality:.1f} per item")
    return figure


def draw_labels(data: LabelData, columns: int = 6) -> Figure:
    """One small map per label of data with two features: the items that have it, over all items."""
    _check_plane(data)
    with rc_context({**LOOK, "axes.titlesize": 9}):
        figure, axes = _grid(ceil(data.n_labels / columns), columns, panel=(1.6, 1.75))
        for label, ax in enumerate(axes.ravel()):
            if label >= data.n_labels:
                ax.axis("off")
                continue
            present = data.Y[:, [label]].toarray().ravel()
            ax.scatter(*data.X[~present].T, s=1.5, color=FAINT, linewidths=0)
            ax.scatter(*data.X[present].T, s=2.5, color=PALETTE[0], linewidths=0)
            _plane(ax)
            ax.set_title(data.label_names[label])
    return figure


def draw_chosen(pool: LabelData, chosen: Mapping[str, Iterable[str]], start: Iterable[str]) -> Figure:
    """Which items each strategy asked about, over the label regions: a panel per strategy."""
    _check_plane(pool)
    rows = {item: row for row, item in enumerate(pool.item_ids)}
    first = np.array([rows[item] for item in start], dtype=int)
    with rc_context(LOOK):
        columns = 2 if len(chosen) in (2, 4) else min(len(chosen), 3)
        size = 9.2 / max(columns, 2)
        figure, axes = _grid(ceil(len(chosen) / columns), columns, panel=(size, size))
        for ax in axes.ravel()[len(chosen) :]:
            ax.axis("off")
        for (strategy, items), ax in zip(chosen.items(), axes.ravel(), strict=False):
            style = style_of(strategy)
            asked = np.setdiff1d([rows[item] for item in items], first)
            _outlines(ax, pool)
            ax.scatter(*pool.X.T, s=4, color="#b5b5b5", linewidths=0, zorder=2)
            ax.scatter(*pool.X[first].T, s=26, facecolors="white", edgecolors=INK, linewidths=1, zorder=3)
            look: dict[str, Any] = {
                "s": 30 if asked.size <= 150 else 12,
                "color": style.colour,
                "edgecolors": "white",
                "linewidths": 0.6,
            }
            ax.scatter(*pool.X[asked].T, marker=style.marker, zorder=4, **look)
            _plane(ax)
            ax.set_title(f"{in_words(strategy)}: {asked.size} items", color=style.colour, fontweight="bold")
    return figure


def _grid(rows: int, columns: int, panel: tuple[float, float], **share: Any) -> tuple[Figure, Any]:
    figure = Figure(figsize=(panel[0] * columns, panel[1] * rows), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **share)


def _hint(metric: str) -> str:
    return " (lower is better)" if metric in LOWER_IS_BETTER else ""


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
        style = style_of(curve.strategy)
        ax.plot(curve.cost, curve.mean, style.line, color=style.colour, marker=style.marker, markersize=3, lw=1.8)
        if curve.n_seeds > 1:
            low, high = curve.mean - curve.standard_error, curve.mean + curve.standard_error
            ax.fill_between(curve.cost, low, high, color=style.colour, alpha=0.16, linewidth=0)
        ends.append((curve.cost[-1], curve.mean[-1], in_words(curve.strategy), style.colour))
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.yaxis.set_major_locator(MaxNLocator(5))
    name_line_ends(ax, ends)


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


def _draw_gains(ax: Axes, by_arm: Mapping[tuple[str, str], Comparison], arms: Sequence[tuple[str, str]]) -> None:
    ax.axvline(0, color=GREY, lw=1)
    for place, arm in enumerate(arms):
        comparison = by_arm.get(arm)
        if comparison is None or comparison.difference is None:
            continue
        difference, colour = comparison.difference, style_of(arm[1]).colour
        sense = -1 if comparison.metric in LOWER_IS_BETTER else 1
        if not isnan(difference.low):
            ax.plot([sense * difference.low, sense * difference.high], [place] * 2, color=colour, lw=2)
        fill = colour if difference.sign else "white"
        ax.plot(sense * difference.value, place, style_of(arm[1]).marker, color=colour, mfc=fill, ms=7, mew=1.8)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.xaxis.set_major_locator(MaxNLocator(5))


def _outlines(ax: Axes, data: LabelData) -> None:
    """The region of each label: where most of the nearest items have it, smoothed a little."""
    low, high = data.X.min(0), data.X.max(0)
    lines = [np.linspace(low[axis], high[axis], GRID) for axis in (0, 1)]
    places = np.stack(np.meshgrid(*lines), axis=-1)  # (GRID, GRID, 2)
    tree = cKDTree(data.X)
    k = min(5, data.n_items)
    distance, nearest = (found.reshape(GRID, GRID, k) for found in tree.query(places, k=k))
    share = data.Y.toarray()[nearest].mean(2)  # (GRID, GRID, q)
    spacing = np.median(tree.query(data.X, k=k)[0].reshape(-1, k)[:, -1])
    share[distance[:, :, 0] > 2 * spacing] = 0.0  # nobody knows what lies where no item is near
    share = gaussian_filter(share, sigma=(GRID / 100, GRID / 100, 0))
    ground = (share > 0.5).sum(2)  # labels that cover a place
    extent = (low[0], high[0], low[1], high[1])
    ax.imshow(ground, origin="lower", extent=extent, cmap="Greys", vmin=0, vmax=3 * max(1, ground.max()), zorder=0)
    for label in range(data.n_labels):
        if share[:, :, label].max() > 0.5:
            ax.contour(*lines, share[:, :, label], levels=[0.5], colors="#c2c2c2", linewidths=0.7, zorder=1)


def _plane(ax: Axes) -> None:
    ax.set_aspect("equal")
    ax.use_sticky_edges = False  # room for the dots at the rim
    ax.margins(0.02)
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)


def _check_plane(data: LabelData) -> None:
    if not is_plane(data):
        raise ValueError(f"only data with two dense features can be drawn as a map, these have {data.n_features}")
