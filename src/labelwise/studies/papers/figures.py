"""Figures of the reproductions: curves, panels of curves, verdicts, and what the components of a label mixture are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator
from scipy.ndimage import zoom

from labelwise.posterior import FloatArray
from labelwise.studies.figures import (
    FAINT,
    GREY,
    INK,
    LOOK,
    PALETTE,
    bare_plane,
    faint_grid,
    name_line_ends,
    panel_grid,
)
from labelwise.studies.findings import in_words
from labelwise.studies.papers.engine import Verdict

VERDICT_COLOURS: dict[Verdict, str] = {
    "holds": "#0a6640",
    "holds in part": "#8fc9a8",
    "not shown": "#d9d9d9",
    "does not hold": "#b5482f",
}
THRESHOLD_TICKS = (0, 0.25, 0.5, 0.75, 1)
LINE_STYLES = {  # colour and line; as published is dashed, and so is what is drawn beside a rule
    "coupled, class mass": (PALETTE[0], "-"),
    "coupled, 5 samples": (PALETTE[0], "--"),
    "independent, class mass": (PALETTE[1], "-"),
    "independent, 5 samples": (PALETTE[1], "--"),
    "PA, own thresholds": (PALETTE[2], "-"),
    "PA, the SVM's thresholds": (PALETTE[2], "--"),
    "PA, class mass": (PALETTE[2], ":"),
    "SVM, own thresholds": (GREY, "-"),
    "SVM, class mass": (GREY, ":"),
    "score noise 1, class mass": (PALETTE[4], "-"),
    "coupled": (PALETTE[0], "-"),
    "coupled, as published": (PALETTE[0], "--"),
    "independent, as published": (PALETTE[1], "--"),
    "passive-aggressive": (PALETTE[2], "-"),
    "scikit-learn's PA": (PALETTE[2], ":"),
    "SVM": (GREY, "-"),
    "as published": (PALETTE[0], "--"),
    "score noise 1, local bias variance 1": (PALETTE[0], "-"),
    "believed": (PALETTE[4], "-"),
    "real": (PALETTE[0], "-"),
    "5 samples": (PALETTE[4], "-"),
    "exact": (PALETTE[4], "--"),
    "believed, as published": (PALETTE[4], "--"),
    "real, as published": (PALETTE[0], "--"),
}
COMPONENT_COLOURS = (
    *PALETTE,
    "#8c564b",
    "#7f7f7f",
    "#17a2b8",
    "#a3a61c",
    "#9467bd",
    "#2f4b7c",
)  # a component has its own
MIN_PROBABILITY = 0.35  # a label names a component where it is at least so likely ...
MIN_LIFT = 1.25  # ... and so many times likelier than usual
FREQUENCY_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
OVERLAP_ZOOM = 4  # times as fine as the maps is the map of overlaps

# -- curves ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Line:
    """One curve: its name (in a panel one of `LINE_STYLES`), its places, and its values, a row per run or split."""

    name: str
    x: npt.NDArray[np.floating]  # (r,)
    values: npt.NDArray[np.floating]  # (runs, r)

    @property
    def mean(self) -> npt.NDArray[np.floating]:
        return self.values.mean(0)


def draw_lines(lines: Sequence[Line], x_label: str, y_label: str) -> Figure:
    """Means with a band of one standard error, each named at its end; random in grey."""
    with rc_context(LOOK):
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        ax = figure.subplots()
        colours = iter(PALETTE * 2)
        ends = []
        for line in lines:
            colour = GREY if line.name == "random" else next(colours)
            ax.plot(line.x, line.mean, color=colour, marker="o", markersize=3, lw=1.8)
            _draw_band(ax, line, colour, alpha=0.16)
            ends.append((float(line.x[-1]), float(line.mean[-1]), in_words(line.name), colour))
        ax.grid(axis="y", color=FAINT, linewidth=0.6)
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        ax.set_xlabel(x_label)
        ax.set_ylabel(y_label)
        name_line_ends(ax, ends)
    return figure


def _draw_band(ax: Axes, line: Line, colour: str, alpha: float) -> None:
    """One standard error either way, where there are several runs."""
    if len(line.values) > 1:
        error = line.values.std(0, ddof=1) / np.sqrt(len(line.values))
        ax.fill_between(line.x, line.mean - error, line.mean + error, color=colour, alpha=alpha, linewidth=0)


def draw_scatter(x: Sequence[float], y: Sequence[float], x_label: str, y_label: str) -> Figure:
    """Points against the line where both are equal."""
    with rc_context(LOOK):
        figure = Figure(figsize=(4.2, 3.8), layout="constrained")
        ax = figure.subplots()
        low, high = min(*x, *y), max(*x, *y)
        ax.plot([low, high], [low, high], color=FAINT, lw=1.2)
        ax.scatter(x, y, s=12, color=PALETTE[0], alpha=0.6, linewidths=0)
        ax.set_xlabel(x_label)
        ax.set_ylabel(y_label)
    return figure


# -- panels of curves, for BOMC ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CurvePanel:
    """Lines over common axes: numbers of rows on a logarithmic scale, or thresholds."""

    title: str
    lines: Sequence[Line]
    x_label: str = "training rows"
    y_label: str = ""
    x_scale: Literal["log", "linear"] = "log"
    y_scale: Literal["linear", "log"] = "linear"


def draw_panels(panels: Sequence[CurvePanel], columns: int, *, share_y: bool = False) -> Figure:
    """Means with a band of one standard error over splits."""
    return _draw_grid(panels, columns, share_y, _draw_lines)


def draw_differences(panels: Sequence[CurvePanel]) -> Figure:
    """Per panel and number of rows, one dot for each split beside a bar of their mean; above zero is better."""
    return _draw_grid(panels, 3, True, _draw_bars)


def _draw_grid(
    panels: Sequence[CurvePanel], columns: int, share_y: bool, draw: Callable[[Axes, CurvePanel], None]
) -> Figure:
    """The panels side by side; an axis is named at the border where all share it."""
    size: dict[str, Any] = {"panel": (3.2, 2.5), "margins": (0.3, 0.45), "xlabel": panels[0].x_label}
    with rc_context(LOOK):
        figure, axes = panel_grid(len(panels), columns, **size, sharey=share_y)
        for number, (panel, ax) in enumerate(zip(panels, axes, strict=True)):
            draw(ax, panel)
            ax.set_title(panel.title, fontweight="bold")
            if number % columns == 0 or not share_y:
                ax.set_ylabel(panel.y_label)
        _name_lines(figure, axes)
    return figure


def _draw_lines(ax: Axes, panel: CurvePanel) -> None:
    ax.set_xscale(panel.x_scale)
    ax.set_yscale(panel.y_scale)
    for line in panel.lines:
        colour, dashes = LINE_STYLES[line.name]
        weight = 1.7 if dashes == "-" else 1.2
        marker = "o" if dashes == "-" and panel.x_scale == "log" else None
        ax.plot(line.x, line.mean, color=colour, ls=dashes, lw=weight, marker=marker, markersize=3, label=line.name)
        _draw_band(ax, line, colour, alpha=0.15)
    faint_grid(ax, "y")
    if panel.y_scale == "linear":
        ax.yaxis.set_major_locator(MaxNLocator(5, steps=[1, 2, 5, 10]))
    else:
        ax.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))
    ticks, form = np.array(THRESHOLD_TICKS), "g"
    if panel.x_scale == "log":  # the numbers of rows themselves, but for those that would run into the next
        places = panel.lines[0].x
        ticks, form = places[np.append(places[1:] > 1.9 * places[:-1], True)], ",.0f"
    ax.set_xticks(ticks)
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{x:{form}}"))


def _draw_bars(ax: Axes, panel: CurvePanel) -> None:
    lines = panel.lines
    ax.axhline(0, color=GREY, lw=1)
    width = 0.8 / len(lines)
    for number, line in enumerate(lines):
        colour, dashes = LINE_STYLES[line.name]
        place = np.arange(len(line.x)) + (number - (len(lines) - 1) / 2) * width
        strength = 0.45 if dashes == "--" else 1.0
        ax.bar(place, line.mean, 0.86 * width, color=colour, label=line.name, linewidth=0, alpha=strength)
        ax.scatter(np.tile(place, len(line.values)), line.values.ravel(), s=7, color="black", alpha=0.55, linewidths=0)
    ax.set_xticks(np.arange(len(lines[0].x)), [f"{x:,.0f}" for x in lines[0].x])
    faint_grid(ax, "y")


def _name_lines(figure: Figure, axes: Iterable[Axes]) -> None:
    """One legend over all panels."""
    named: dict[str, Any] = {}
    for ax in axes:
        handles, names = ax.get_legend_handles_labels()
        named.update(zip(names, handles, strict=True))
    if len(named) > 1:
        columns = len(named) if sum(len(name) for name in named) < 60 else ceil(len(named) / 2)
        look: dict[str, Any] = {"ncols": columns, "frameon": False, "fontsize": 9}
        figure.legend(list(named.values()), list(named), loc="outside upper left", **look)


# -- verdicts ----------------------------------------------------------------------------------------------------------


def draw_verdicts(counts: Mapping[str, Mapping[Verdict, int]]) -> Figure:
    """A bar per paper, cut into its claims by verdict."""
    with rc_context(LOOK):
        figure = Figure(figsize=(8.4, 1.1 + 0.42 * len(counts)), layout="constrained")
        ax = figure.subplots()
        begins = np.zeros(len(counts))
        for verdict, colour in VERDICT_COLOURS.items():
            widths = np.array([of_paper.get(verdict, 0) for of_paper in counts.values()])
            bars = ax.barh(range(len(counts)), widths, left=begins, color=colour, height=0.66, label=verdict)
            inside = INK if verdict in ("holds in part", "not shown") else "white"
            ax.bar_label(bars, [str(width) if width else "" for width in widths], label_type="center", color=inside)
            begins += widths
        ax.set_yticks(range(len(counts)), list(counts), color=INK)
        ax.set_ylim(len(counts) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        ax.spines["left"].set_visible(False)
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        ax.set_xlabel("claims")
        figure.legend(loc="outside upper left", ncols=len(VERDICT_COLOURS), frameon=False)
    return figure


# -- components of a label mixture -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ComponentView:
    """What a figure shows of a component: its size in items, its likeliest labels, and its typical items."""

    size: float
    labels: Sequence[str]
    probabilities: Sequence[float]
    base_rates: Sequence[float]
    items: Sequence[str] = ()

    @property
    def name(self) -> str:
        """Its labels that are likely there, and likelier than elsewhere."""
        shown = zip(self.labels, self.probabilities, self.base_rates, strict=True)
        return ", ".join(label for label, p, rate in shown if p >= max(MIN_PROBABILITY, MIN_LIFT * rate)) or "no label"


@dataclass(frozen=True, eq=False)
class GateMaps:
    """The probability of every component on a square grid over the plane, and the training items on it."""

    probabilities: FloatArray  # (k, g, g), rows from bottom to top
    extent: tuple[float, float, float, float]  # left, right, bottom, top
    points: FloatArray  # (n, 2)
    typical: Sequence[npt.NDArray[np.intp]]  # per component, rows of points


class LabelGains(NamedTuple):
    """Average precision of every label, ours and a rival's, and how frequent the label is."""

    frequency: FloatArray  # (q,)
    ours: FloatArray  # (q,)
    theirs: FloatArray  # (q,)

    @property
    def gain(self) -> FloatArray:
        return self.ours - self.theirs

    @property
    def per_cent(self) -> FloatArray:
        return 100 * self.gain / np.maximum(self.theirs, 1e-12)

    @property
    def thirds_mean(self) -> list[float]:
        """Mean gain of the rarest, middle and commonest third."""
        return [float(self.gain[part].mean()) for part in thirds_by(self.frequency)]

    @property
    def thirds_median_per_cent(self) -> list[float]:
        return [float(np.median(self.per_cent[part])) for part in thirds_by(self.frequency)]

    @property
    def thirds_in_words(self) -> list[str]:
        pairs = zip(self.thirds_mean, self.thirds_median_per_cent, strict=True)
        return [f"{mean:+.3f} · {median:+.0f} %" for mean, median in pairs]


def draw_components(components: Sequence[ComponentView], columns: int = 4) -> Figure:
    """A panel per component: its likeliest labels with their probabilities, a tick where the label is on average."""
    most = max(len(c.labels) for c in components)
    with rc_context({**LOOK, "axes.titlesize": 9}):
        figure, axes = panel_grid(len(components), columns, panel=(2.7, 0.75 + 0.24 * most), sharex=True)
        for place, (ax, component) in enumerate(zip(axes, components, strict=True)):
            _draw_component(ax, component, most, COMPONENT_COLOURS[place % len(COMPONENT_COLOURS)])
    return figure


def _draw_component(ax: Axes, component: ComponentView, most: int, colour: str) -> None:
    places = np.arange(len(component.labels))
    ax.barh(places, component.probabilities, height=0.68, color=colour, alpha=0.85)
    ax.plot(component.base_rates, places, "|", color=INK, ms=10, mew=1.6)
    for place, p, rate in zip(places, component.probabilities, component.base_rates, strict=True):
        inside = p > 0.8
        at = p - 0.02 if inside else (rate if p <= rate < p + 0.2 else p) + 0.02  # not on the tick
        side, colour_of_text = ("right", "white") if inside else ("left", GREY)
        ax.text(at, float(place), f"{p:.2f}", va="center", ha=side, fontsize=7.5, color=colour_of_text)
    ax.set_yticks(places, [_short(label, 22) for label in component.labels], fontsize=8.5, color=INK)
    ax.set_ylim(most - 0.4, -0.6)
    ax.set_xlim(0, 1)
    ax.set_xticks([0, 0.5, 1])
    ax.tick_params(length=0)
    ax.spines["left"].set_visible(False)
    items = f" · like {', '.join(component.items)}" if component.items else ""
    ax.set_title(_short(f"{component.size:.0f} items{items}", 46), color=colour, fontweight="bold")


def draw_gates(maps: GateMaps, titles: Sequence[str], columns: int = 6) -> Figure:
    """A map per component: darker where it is likely, its most typical items ringed, the other items as dots."""
    with rc_context({**LOOK, "axes.titlesize": 9}):
        figure, axes = panel_grid(len(titles), columns, panel=(1.75, 2.0))
        low, high = float(maps.probabilities.min()), float(maps.probabilities.max())
        for place, ax in enumerate(axes):
            bare_plane(ax)
            colour = COMPONENT_COLOURS[place % len(COMPONENT_COLOURS)]
            shades = LinearSegmentedColormap.from_list("gate", ["white", colour])
            shown = ax.imshow(
                maps.probabilities[place], origin="lower", extent=maps.extent, cmap=shades, vmin=low, vmax=high
            )
            shown.set_interpolation("bilinear")
            ax.scatter(maps.points[:, 0], maps.points[:, 1], s=2, color="#9a9a9a", linewidths=0)
            x, y = maps.points[maps.typical[place]].T
            ax.scatter(x, y, s=18, facecolors="none", edgecolors=INK, linewidths=0.9)
            ax.set_title(_short(titles[place], 24), color=colour, fontweight="bold")
    return figure


def draw_overlap(maps: GateMaps, titles: Sequence[str]) -> Figure:
    """One map of the plane: each place in the colour of its likeliest component, pale where others are as likely."""
    fine = zoom(maps.probabilities, (1, OVERLAP_ZOOM, OVERLAP_ZOOM), order=1)  # (k, g, g)
    winner, share = fine.argmax(0), fine.max(0)  # (g, g)
    low, high = np.percentile(share, [2, 98])
    strength = np.clip((share - low) / max(high - low, 1e-9), 0.0, 1.0)[:, :, None]
    colours = np.array([to_rgb(COMPONENT_COLOURS[k % len(COMPONENT_COLOURS)]) for k in range(len(fine))])
    picture = 1 - (0.12 + 0.88 * strength) * (1 - colours[winner])
    shown = [k for k in range(len(fine)) if (winner == k).any()]
    with rc_context(LOOK):
        figure = Figure(figsize=(7.2, 5.0), layout="constrained")
        ax = figure.subplots()
        ax.set_anchor("W")
        ax.imshow(picture, origin="lower", extent=maps.extent)
        left, right, bottom, top = maps.extent
        lines = np.linspace(left, right, len(winner)), np.linspace(bottom, top, len(winner))
        for k in shown:
            ax.contour(*lines, (winner == k).astype(float), levels=[0.5], colors="white", linewidths=0.9)
        ax.scatter(maps.points[:, 0], maps.points[:, 1], s=5, color=INK, alpha=0.55, linewidths=0)
        bare_plane(ax)
        handles = [
            Patch(color=COMPONENT_COLOURS[k % len(COMPONENT_COLOURS)], label=_short(titles[k], 30)) for k in shown
        ]
        figure.legend(handles=handles, loc="outside right upper", frameon=False, handlelength=1.0, handleheight=1.0)
    return figure


def draw_label_maps(maps: Mapping[str, FloatArray], points: FloatArray, has: npt.NDArray[np.bool_]) -> Figure:
    """The items in the unit square, those with a label dark; then a (g, g) map of its probability by each model."""
    shades = LinearSegmentedColormap.from_list("label", ["white", PALETTE[0]])
    with rc_context({**LOOK, "axes.titlesize": 9}):
        figure, axes = panel_grid(1 + len(maps), 1 + len(maps), panel=(2.2, 2.45))
        for ax in axes:
            bare_plane(ax)
        axes[0].scatter(*points[~has].T, s=4, color=FAINT, linewidths=0)
        axes[0].scatter(*points[has].T, s=14, color=INK, linewidths=0)
        axes[0].set_title("items that have it", fontweight="bold")
        for ax, (name, p) in zip(axes[1:], maps.items(), strict=True):
            ax.imshow(p, origin="lower", extent=(0, 1, 0, 1), cmap=shades, vmin=0.0, vmax=float(p.max()))
            ax.scatter(*points[has].T, s=5, color=INK, linewidths=0)
            ax.set_title(_short(name, 34), fontweight="bold")
            ax.set_xlabel(f"up to {p.max():.2f}", fontsize=8.5)
    return figure


def draw_label_gains(gains: Mapping[str, LabelGains], rival: str) -> Figure:
    """Per set, a row: gain in average precision of every label, and the same in per cent, against its frequency.

    A line joins the means (left) and the medians (right) of the rarest, middle and commonest third.
    """
    with rc_context(LOOK):
        figure = Figure(figsize=(9.2, 2.3 * len(gains) + 0.3), layout="constrained")
        axes = figure.subplots(len(gains), 2, squeeze=False, sharex="row")
        for (name, found), (left, right) in zip(gains.items(), axes, strict=True):
            _draw_gains(left, found.frequency, found.gain, found.thirds_mean)
            _draw_gains(right, found.frequency, found.per_cent, found.thirds_median_per_cent)
            left.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+.2g}" if value else "0"))
            right.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:+.0f} %" if value else "0"))
            left.set_title(name, fontweight="bold")
        for ax, text in zip(axes[0], (f"gain in average precision over {rival}", "the same in per cent"), strict=True):
            ax.annotate(text, (0, 1), (0, 24), "axes fraction", "offset points", color=GREY)
        for ax in axes[-1]:
            ax.set_xlabel("share of the test items that have the label")
    return figure


def _draw_gains(ax: Axes, frequency: FloatArray, gain: FloatArray, middles: Sequence[float]) -> None:
    ax.axhline(0, color=GREY, lw=1)
    ax.scatter(frequency, gain, s=18, color=PALETTE[0], alpha=0.65, linewidths=0)
    centres = [float(np.exp(np.log(frequency[part]).mean())) for part in thirds_by(frequency)]
    ax.plot(centres, middles, color=PALETTE[1], marker="D", ms=5, lw=1.6)
    ax.set_xscale("log")
    ax.set_xticks(FREQUENCY_TICKS, [f"{100 * tick:g} %" for tick in FREQUENCY_TICKS])
    ax.set_xticks([], minor=True)
    ax.set_xlim(frequency.min() / 1.15, frequency.max() * 1.15)
    reach = float(np.percentile(np.abs(gain), 95)) * 1.15 or 1.0  # one tiny average precision may gain 1000 per cent
    ax.set_ylim(-reach, reach)
    ax.yaxis.set_major_locator(MaxNLocator(5))
    faint_grid(ax, "y")


def thirds_by(frequency: FloatArray) -> list[npt.NDArray[np.intp]]:
    """Places of the rarest, middle and commonest third of the labels.

    >>> [part.tolist() for part in thirds_by(np.array([0.5, 0.1, 0.3]))]
    [[1], [2], [0]]
    """
    return [part for part in np.array_split(np.argsort(frequency, kind="stable"), 3) if part.size]


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
