"""Maps of data with two features: the items, the regions of their labels, and what strategies chose."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from scipy.ndimage import gaussian_filter
from scipy.spatial import cKDTree

from labelwise.records import LabelData
from labelwise.studies.figures import bare_plane, panel_grid, style_of
from labelwise.studies.findings import in_words
from labelwise.views.plots import FAINT, INK, LOOK, PALETTE

GRID_POINTS = 160  # each way when label regions are outlined


def is_plane(data: LabelData) -> bool:
    """Whether the items can be drawn as points of a map: two features, dense."""
    return data.n_features == 2 and isinstance(data.X, np.ndarray)


def draw_regions(data: LabelData) -> Figure:
    """Items with two features, darker with more labels, and the outline of each label."""
    _check_plane(data)
    counts = np.diff(data.Y.indptr)
    with rc_context(LOOK):
        figure, (ax,) = panel_grid(1, 1, panel=(5.6, 5.2))
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
        figure, axes = panel_grid(data.n_labels, columns, panel=(1.6, 1.75))
        for label, ax in enumerate(axes):
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
        figure, axes = panel_grid(len(chosen), columns, panel=(size, size))
        for (strategy, items), ax in zip(chosen.items(), axes, strict=True):
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


def _outlines(ax: Axes, data: LabelData) -> None:
    """The region of each label: where most of the nearest items have it, smoothed a little."""
    low, high = data.X.min(0), data.X.max(0)
    lines = [np.linspace(low[axis], high[axis], GRID_POINTS) for axis in (0, 1)]
    places = np.stack(np.meshgrid(*lines), axis=-1)  # (GRID, GRID, 2)
    tree = cKDTree(data.X)
    k = min(5, data.n_items)
    distance, nearest = (found.reshape(GRID_POINTS, GRID_POINTS, k) for found in tree.query(places, k=k))
    share = data.Y.toarray()[nearest].mean(2)  # (GRID, GRID, q)
    spacing = np.median(tree.query(data.X, k=k)[0].reshape(-1, k)[:, -1])
    share[distance[:, :, 0] > 2 * spacing] = 0.0  # nobody knows what lies where no item is near
    share = gaussian_filter(share, sigma=(GRID_POINTS / 100, GRID_POINTS / 100, 0))
    ground = (share > 0.5).sum(2)  # labels that cover a place
    extent = (low[0], high[0], low[1], high[1])
    ax.imshow(ground, origin="lower", extent=extent, cmap="Greys", vmin=0, vmax=3 * max(1, ground.max()), zorder=0)
    for label in range(data.n_labels):
        if share[:, :, label].max() > 0.5:
            ax.contour(*lines, share[:, :, label], levels=[0.5], colors="#c2c2c2", linewidths=0.7, zorder=1)


def _plane(ax: Axes) -> None:
    bare_plane(ax)
    ax.use_sticky_edges = False  # room for the dots at the rim
    ax.margins(0.02)


def _check_plane(data: LabelData) -> None:
    if not is_plane(data):
        raise ValueError(f"only data with two dense features can be drawn as a map, these have {data.n_features}")
