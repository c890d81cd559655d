"""Figures that the reproductions share, in the look of all our figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from labelwise.experiments.figures import FAINT, GREY, INK, LOOK, PALETTE, name_line_ends
from labelwise.experiments.findings import in_words
from labelwise.experiments.reproduce.claims import Verdict

VERDICT_COLOURS: dict[Verdict, str] = {
    "holds": "#0a6640",
    "holds in part": "#8fc9a8",
    "undecided": "#d9d9d9",
    "does not hold": "#b5482f",
}


@dataclass(frozen=True, eq=False)
class Line:
    """One curve: its name, its places, and its values, a row per run."""

    name: str
    x: npt.NDArray[np.floating]  # (r,)
    values: npt.NDArray[np.floating]  # (runs, r)


def draw_lines(lines: Sequence[Line], x_label: str, y_label: str) -> Figure:
    """Means with a band of one standard error, each named at its end; random in grey."""
    with rc_context(LOOK):
        figure = Figure(figsize=(6.4, 3.6), layout="constrained")
        ax = figure.subplots()
        colours = iter(PALETTE * 2)
        ends = []
        for line in lines:
            colour = GREY if line.name == "random" else next(colours)
            mean, n = line.values.mean(0), line.values.shape[0]
            ax.plot(line.x, mean, color=colour, marker="o", markersize=3, lw=1.8)
            if n > 1:
                error = line.values.std(0, ddof=1) / np.sqrt(n)
                ax.fill_between(line.x, mean - error, mean + error, color=colour, alpha=0.16, linewidth=0)
            ends.append((float(line.x[-1]), float(mean[-1]), in_words(line.name), colour))
        ax.grid(axis="y", color=FAINT, linewidth=0.6)
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        ax.set_xlabel(x_label)
        ax.set_ylabel(y_label)
        name_line_ends(ax, ends)
    return figure


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


def draw_verdicts(counts: Mapping[str, Mapping[Verdict, int]]) -> Figure:
    """A bar per paper, cut into its claims by verdict."""
    with rc_context(LOOK):
        figure = Figure(figsize=(8.4, 1.1 + 0.42 * len(counts)), layout="constrained")
        ax = figure.subplots()
        begins = np.zeros(len(counts))
        for verdict, colour in VERDICT_COLOURS.items():
            widths = np.array([of_paper.get(verdict, 0) for of_paper in counts.values()])
            bars = ax.barh(range(len(counts)), widths, left=begins, color=colour, height=0.66, label=verdict)
            inside = INK if verdict in ("holds in part", "undecided") else "white"
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
