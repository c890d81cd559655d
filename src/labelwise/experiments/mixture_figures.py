"""Figures of a label mixture: what its components are, where they are likely, where they overlap, what they gain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import numpy.typing as npt
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap, to_rgb
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, MaxNLocator
from scipy.ndimage import zoom

from labelwise.experiments.figures import FAINT, GREY, INK, LOOK, PALETTE
from labelwise.posterior import FloatArray

COLOURS = (*PALETTE, "#8c564b", "#7f7f7f", "#17a2b8", "#a3a61c", "#9467bd", "#2f4b7c")  # a component has its own
LIKELY, LIFT = 0.35, 1.25  # a label names a component where it is at least so likely, and so much likelier than usual
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # of label frequencies
FINER = 4  # times as fine as the maps is the map of overlaps


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
        return ", ".join(label for label, p, rate in shown if p >= max(LIKELY, LIFT * rate)) or "no label"


@dataclass(frozen=True, eq=False)
class GateMaps:
    """The probability of every component on a square grid over the plane, and the training items on it."""

    probabilities: FloatArray  # (k, g, g), rows from bottom to top
    extent: tuple[float, float, float, float]  # left, right, bottom, top
    points: FloatArray  # (n, 2)
    typical: Sequence[npt.NDArray[np.intp]]  # per component, rows of points


def draw_components(components: Sequence[ComponentView], columns: int = 4) -> Figure:
    """A panel per component: its likeliest labels with their probabilities, a tick where the label is on average."""
    most = max(len(c.labels) for c in components)
    rows = ceil(len(components) / columns)
    with rc_context({**LOOK, "axes.titlesize": 9}):
        figure = Figure(figsize=(2.7 * columns, rows * (0.75 + 0.24 * most)), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False, sharex=True)
        for place, (ax, component) in enumerate(zip(axes.ravel(), components, strict=False)):
            _draw_bars(ax, component, most, COLOURS[place % len(COLOURS)])
        for ax in axes.ravel()[len(components) :]:
            ax.axis("off")
    return figure


def _draw_bars(ax: Axes, component: ComponentView, most: int, colour: str) -> None:
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
    k = len(titles)
    rows = ceil(k / columns)
    with rc_context({**LOOK, "axes.titlesize": 9}):
        figure = Figure(figsize=(1.75 * columns, 2.0 * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
        low, high = float(maps.probabilities.min()), float(maps.probabilities.max())
        for place, ax in enumerate(axes.ravel()):
            _bare(ax)
            if place >= k:
                ax.axis("off")
                continue
            colour = COLOURS[place % len(COLOURS)]
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
    fine = zoom(maps.probabilities, (1, FINER, FINER), order=1)  # (k, g, g)
    winner, share = fine.argmax(0), fine.max(0)  # (g, g)
    low, high = np.percentile(share, [2, 98])
    strength = np.clip((share - low) / max(high - low, 1e-9), 0.0, 1.0)[:, :, None]
    colours = np.array([to_rgb(COLOURS[k % len(COLOURS)]) for k in range(len(fine))])
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
        _bare(ax)
        handles = [Patch(color=COLOURS[k % len(COLOURS)], label=_short(titles[k], 30)) for k in shown]
        figure.legend(handles=handles, loc="outside right upper", frameon=False, handlelength=1.0, handleheight=1.0)
    return figure


def draw_label_gains(gains: Mapping[str, tuple[FloatArray, FloatArray, FloatArray]], rival: str) -> Figure:
    """Per set, a row: gain in average precision of every label, and the same in per cent, against its frequency.

    `gains` maps a set to (frequency, our average precision, the rival's), one value per label each. A line joins the
    means (left) and the medians (right) of the rarest, middle and commonest third.
    """
    with rc_context(LOOK):
        figure = Figure(figsize=(9.2, 2.3 * len(gains) + 0.3), layout="constrained")
        axes = figure.subplots(len(gains), 2, squeeze=False, sharex="row")
        for (name, (frequency, ours, theirs)), (left, right) in zip(gains.items(), axes, strict=True):
            thirds = thirds_by(frequency)
            gain, per_cent = ours - theirs, 100 * (ours - theirs) / np.maximum(theirs, 1e-12)
            _draw_gains(left, frequency, gain, [float(gain[part].mean()) for part in thirds])
            _draw_gains(right, frequency, per_cent, [float(np.median(per_cent[part])) for part in thirds])
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
    ax.set_xticks(TICKS, [f"{100 * tick:g} %" for tick in TICKS])
    ax.set_xticks([], minor=True)
    ax.set_xlim(frequency.min() / 1.15, frequency.max() * 1.15)
    reach = float(np.percentile(np.abs(gain), 95)) * 1.15 or 1.0  # one tiny average precision may gain 1000 per cent
    ax.set_ylim(-reach, reach)
    ax.yaxis.set_major_locator(MaxNLocator(5))
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)


def thirds_by(frequency: FloatArray) -> list[npt.NDArray[np.intp]]:
    """Places of the rarest, middle and commonest third of the labels.

    >>> [part.tolist() for part in thirds_by(np.array([0.5, 0.1, 0.3]))]
    [[1], [2], [0]]
    """
    return [part for part in np.array_split(np.argsort(frequency, kind="stable"), 3) if part.size]


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"


def _bare(ax: Axes) -> None:
    ax.set_aspect("equal")
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)
