"""Pictures of progressive validation: how well each window of a stream was predicted before it was learnt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from labelwise.studies.figures import FAINT, GREY, LOOK, PALETTE, panel_grid
from labelwise.studies.findings import metric_title
from labelwise.studies.tables import Table

try:
    from matplotlib import rc_context
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, MaxNLocator
except ImportError as error:
    raise ImportError("figures need matplotlib: pip install labelwise[plots]") from error

DEFAULT_METRICS = ("micro_f1", "macro_f1", "precision_at_1", "log_loss")


@dataclass(frozen=True)
class StreamPanel:
    """Lines over the rows of a stream, and upright lines where something happened."""

    title: str
    lines: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]]  # name to rows and values
    marks: Mapping[int, str] = field(default_factory=dict)  # row to words


def draw_progress(curve: Table, metrics: Sequence[str] = DEFAULT_METRICS) -> Figure:
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
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    ax.set_axisbelow(True)
    ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda row, _: f"{row:,.0f}"))
    ax.yaxis.set_major_locator(MaxNLocator(5))
    if named:  # between title and panel, where no line can run through it
        place: dict[str, Any] = {"loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.2, "borderpad": 0}
        ax.legend(frameon=False, fontsize=9, labelcolor="linecolor", ncols=len(panel.lines), handlelength=1.2, **place)
