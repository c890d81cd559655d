"""Figures of campaigns: learning curve, label shares, calibration; and the one look of all figures.

Every function returns a `Drawing`, a matplotlib figure that belongs to no window and shows itself in a notebook.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any, Literal

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["Drawing", "draw_calibration", "draw_campaign", "draw_label_shares", "draw_learning_curve"]

GREY, FAINT, INK = "#6b6b6b", "#d9d9d9", "#222222"
PALETTE = (  # Okabe & Ito, then Tol: safe for the colour-blind
    *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"),
    *("#332288", "#882255", "#999933", "#44aa99"),
)
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
HOUR = 3600.0
MOST_LABELS = 20  # in a figure


class Drawing(Figure):
    """A figure that a notebook shows without a window system."""

    def _repr_png_(self) -> bytes:
        return as_png(self)


def as_png(figure: Figure, dots_per_inch: int = 144) -> bytes:
    """The figure as the content of a PNG file."""
    buffer = BytesIO()
    figure.savefig(buffer, format="png", dpi=dots_per_inch)
    return buffer.getvalue()


def faint_grid(ax: Axes, axis: Literal["x", "y"]) -> None:
    """Lines to read values by, behind everything else."""
    ax.grid(axis=axis, color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)


def draw_learning_curve(standing: Any) -> Drawing:
    """F1 over people's time with its interval, and where more time is expected to lead; of a `Standing`."""
    with rc_context(LOOK):
        figure = Drawing(figsize=(4.8, 3.2), layout="constrained")
        _learning_curve(figure.subplots(), standing)
    return figure


def draw_label_shares(campaign: Any, most: int = MOST_LABELS) -> Drawing:
    """The share of the items that are believed to have each label; with dots, the share among random answers."""
    with rc_context(LOOK):
        figure = Drawing(figsize=(4.8, 0.9 + 0.22 * min(most, campaign.data.n_labels)), layout="constrained")
        _label_shares(figure.subplots(), campaign, most)
    return figure


def draw_calibration(standing: Any) -> Drawing:
    """How often labels are there, against how probable they were believed to be; of a `Standing`."""
    with rc_context(LOOK):
        figure = Drawing(figsize=(3.6, 3.4), layout="constrained")
        _calibration(figure.subplots(), standing)
    return figure


def draw_campaign(campaign: Any, standing: Any = None, most: int = MOST_LABELS) -> Drawing:
    """The three figures side by side; without a `standing`, the campaign's status is asked for."""
    standing = campaign.status() if standing is None else standing
    height = max(3.2, 0.9 + 0.22 * min(most, campaign.data.n_labels))
    with rc_context(LOOK):
        figure = Drawing(figsize=(12.0, height), layout="constrained")
        curve, shares, calibration = figure.subplots(1, 3)
        _learning_curve(curve, standing)
        _label_shares(shares, campaign, most)
        _calibration(calibration, standing)
    return figure


def _learning_curve(ax: Axes, standing: Any) -> None:
    ax.set_title("F1 on random items", fontweight="bold")
    curve = standing.curve
    if curve is None or not curve.points:
        return _say(ax, standing.advice)
    begin, stop = curve.points[-1].seconds, curve.seconds + min(curve.seconds, HOUR)
    unit, per_unit = ("hours", HOUR) if stop >= 2 * HOUR else ("minutes", 60.0)
    x = np.array([point.seconds for point in curve.points]) / per_unit
    low, f1, high = (np.array([getattr(point, part) for point in curve.points]) for part in ("low", "f1", "high"))
    ax.fill_between(x, low, high, color=PALETTE[0], alpha=0.16, linewidth=0)
    ax.plot(x, f1, color=PALETTE[0], marker="o", markersize=4, lw=1.8, label="so far, 90 % interval")
    if curve.curves:
        ahead = np.linspace(begin, stop, 20)
        below, middle, above = np.quantile(curve.at(ahead), [0.05, 0.5, 0.95], axis=0)
        ax.fill_between(ahead / per_unit, below, above, color=GREY, alpha=0.16, linewidth=0)
        ax.plot(ahead / per_unit, middle, color=GREY, ls="--", lw=1.5, label="expected")
        ax.legend(loc="lower right", frameon=False)
    ax.set_ylim(0, 1.02)
    ax.set_xlim(0)
    ax.set_xlabel(f"{unit} of people's time")
    faint_grid(ax, "y")


def _label_shares(ax: Axes, campaign: Any, most: int) -> None:
    ax.set_title("Share of the items", fontweight="bold")
    names = campaign.data.label_names
    believed = np.asarray(campaign.believe().probabilities()).mean(axis=0)
    order = np.argsort(-believed, kind="stable")[:most]
    place = np.arange(order.size)
    ax.barh(place, 100 * believed[order], color=PALETTE[0], alpha=0.75, label="believed")
    ax.plot(100 * campaign.base_rates()[order], place, "o", color=PALETTE[1], ms=5, label="random answers")
    ax.set_yticks(place, [_short(names[label]) for label in order])
    ax.invert_yaxis()
    ax.set_xlim(0)
    ax.set_xlabel("%" if order.size == len(names) else f"%, {order.size} of {len(names)} labels")
    ax.legend(loc="lower right", frameon=False)
    faint_grid(ax, "x")


def _calibration(ax: Axes, standing: Any) -> None:
    ax.set_title("Calibration on random items", fontweight="bold")
    found = standing.calibration
    if not found or not found["bins"]:
        return _say(ax, standing.advice)
    bins = found["bins"]
    ax.plot([0, 1], [0, 1], color=GREY, lw=1)
    largest = max(each["entries"] for each in bins)
    for each in bins:
        ax.plot([each["believed"]] * 2, [each["low"], each["high"]], color=PALETTE[0], lw=1.5, alpha=0.6)
        size = 4 + 6 * (each["entries"] / largest) ** 0.5
        ax.plot(each["believed"], each["share"], "o", color=PALETTE[0], ms=size)
    ax.set_xlim(0, 1.02)
    ax.set_ylim(0, 1.02)
    ax.set_xlabel("believed probability")
    ax.set_ylabel("share that is there")
    faint_grid(ax, "y")


def _say(ax: Axes, sentence: str) -> None:
    """In the place of a figure that there is nothing for yet."""
    ax.set_axis_off()
    ax.text(0, 0.5, sentence, transform=ax.transAxes, wrap=True, color=GREY)


def _short(name: str) -> str:
    return name if len(name) <= 24 else name[:23] + "…"
