"""Figures of paper 5 (BOMC): panels side by side under one legend, each learner in its colour wherever it appears."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullLocator

from labelwise.experiments.figures import FAINT, GREY, LOOK, PALETTE

THRESHOLD_TICKS = (0.001, 0.01, 0.1, 0.5, 0.9)
STYLES = {  # colour and line; as published is dashed
    "coupled": (PALETTE[0], "-"),
    "coupled, as published": (PALETTE[0], "--"),
    "independent": (PALETTE[1], "-"),
    "independent, as published": (PALETTE[1], "--"),
    "passive-aggressive": (PALETTE[2], "-"),
    "SGD": (PALETTE[3], "-"),
    "SVM": (GREY, "-"),
    "as published": (PALETTE[0], "--"),
    "score noise 1, local bias variance 1": (PALETTE[0], "-"),
    "believed": (PALETTE[4], "-"),
    "real": (PALETTE[0], "-"),
    "believed, as published": (PALETTE[4], "--"),
    "real, as published": (PALETTE[0], "--"),
}


@dataclass(frozen=True, eq=False)
class Line:
    """One curve: its name in `STYLES`, its places, and its values, a row per split."""

    name: str
    x: npt.NDArray[np.floating]  # (r,)
    values: npt.NDArray[np.floating]  # (splits, r)


@dataclass(frozen=True)
class Panel:
    """Lines over common axes: numbers of rows on a logarithmic scale, or thresholds on that of the log-odds."""

    title: str
    lines: Sequence[Line]
    x_label: str = "training rows"
    y_label: str = ""
    x_scale: Literal["log", "logit"] = "log"
    y_scale: Literal["linear", "log"] = "linear"


def draw_panels(panels: Sequence[Panel], columns: int, *, share_y: bool = False) -> Figure:
    """Means with a band of one standard error over splits."""
    columns = min(columns, len(panels))
    rows = ceil(len(panels) / columns)
    with rc_context(LOOK):
        figure = Figure(figsize=(3.2 * columns + 0.3, 2.5 * rows + 0.45), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, sharey=share_y).ravel()
        for ax in axes[len(panels) :]:
            ax.axis("off")
        for panel, ax in zip(panels, axes, strict=False):
            _draw_lines(ax, panel)
        for number, (panel, ax) in enumerate(zip(panels, axes, strict=False)):
            if number % columns == 0 or not share_y:
                ax.set_ylabel(panel.y_label)
            if number >= len(panels) - columns:
                ax.set_xlabel(panel.x_label)
        _name_lines(figure, axes[: len(panels)])
    return figure


def draw_differences(titles: Sequence[str], panels: Sequence[Sequence[Line]], y_label: str) -> Figure:
    """Per panel and number of rows, one dot for each split beside a bar of their mean; above zero is better."""
    columns = min(3, len(panels))
    rows = ceil(len(panels) / columns)
    with rc_context(LOOK):
        figure = Figure(figsize=(3.2 * columns + 0.3, 2.5 * rows + 0.45), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()
        for ax in axes[len(panels) :]:
            ax.axis("off")
        for number, (title, lines, ax) in enumerate(zip(titles, panels, axes, strict=False)):
            _draw_bars(ax, lines)
            ax.set_title(title, fontweight="bold")
            ax.set_xlabel("training rows" if number >= len(panels) - columns else "")
            ax.set_ylabel(y_label if number % columns == 0 else "")
        _name_lines(figure, axes[: len(panels)])
    return figure


def _draw_lines(ax: Axes, panel: Panel) -> None:
    ax.set_xscale(panel.x_scale)
    ax.set_yscale(panel.y_scale)
    for line in panel.lines:
        colour, dashes = STYLES[line.name]
        mean, n = line.values.mean(0), line.values.shape[0]
        weight = 1.7 if dashes == "-" else 1.2
        marker = "o" if dashes == "-" and panel.x_scale == "log" else None
        ax.plot(line.x, mean, color=colour, ls=dashes, lw=weight, marker=marker, markersize=3, label=line.name)
        if n > 1:
            error = line.values.std(0, ddof=1) / np.sqrt(n)
            ax.fill_between(line.x, mean - error, mean + error, color=colour, alpha=0.15, linewidth=0)
    ax.set_title(panel.title, fontweight="bold")
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
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


def _draw_bars(ax: Axes, lines: Sequence[Line]) -> None:
    ax.axhline(0, color=GREY, lw=1)
    width = 0.8 / len(lines)
    for number, line in enumerate(lines):
        colour, dashes = STYLES[line.name]
        place = np.arange(len(line.x)) + (number - (len(lines) - 1) / 2) * width
        strength = 0.45 if dashes == "--" else 1.0
        ax.bar(place, line.values.mean(0), 0.86 * width, color=colour, label=line.name, linewidth=0, alpha=strength)
        ax.scatter(np.tile(place, len(line.values)), line.values.ravel(), s=7, color="black", alpha=0.55, linewidths=0)
    ax.set_xticks(np.arange(len(lines[0].x)), [f"{x:,.0f}" for x in lines[0].x])
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)


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
