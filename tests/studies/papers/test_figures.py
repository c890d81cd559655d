"""Figures of the papers: what is on them is what was given."""

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="needs the extra plots")

from matplotlib.colors import to_rgb

from labelwise.studies.papers.figures import (
    COMPONENT_COLOURS,
    VERDICT_COLOURS,
    ComponentView,
    CurvePanel,
    GateMaps,
    LabelGains,
    Line,
    draw_components,
    draw_differences,
    draw_gates,
    draw_label_gains,
    draw_label_maps,
    draw_lines,
    draw_overlap,
    draw_panels,
    draw_verdicts,
    thirds_by,
)
from labelwise.studies.papers.reproduction import VERDICTS
from labelwise.views.plots import as_png


def views():
    return [
        ComponentView(12.4, ["cat", "dog"], [0.9, 0.2], [0.5, 0.3], ["a", "b"]),
        ComponentView(3.6, ["bird", "cat"], [0.4, 0.38], [0.1, 0.5]),
        ComponentView(1.0, ["cat", "dog"], [0.1, 0.1], [0.5, 0.3]),
    ]


def maps():
    """Component 0 on the left, 1 on the right, 2 nowhere."""
    left = np.tile(np.linspace(0.9, 0.1, 20), (20, 1))
    points = np.random.default_rng(0).random((15, 2))
    gates = np.stack([left * 0.95, (1 - left) * 0.95, np.full((20, 20), 0.05)])
    return GateMaps(gates, (0.0, 1.0, 0.0, 1.0), points, [np.array([0, 1]), np.array([2]), np.array([3])])


def test_a_component_is_named_by_labels_that_are_likely_and_unusual():
    assert [view.name for view in views()] == ["cat", "bird", "no label"]


def test_bars_have_the_probabilities():
    figure = draw_components(views(), columns=2)
    axes = figure.axes[:3]
    for ax, view in zip(axes, views(), strict=True):
        assert [bar.get_width() for bar in ax.patches] == view.probabilities
        assert [label.get_text() for label in ax.get_yticklabels()] == view.labels
        np.testing.assert_allclose(ax.lines[0].get_xdata(), view.base_rates)
    assert axes[0].get_title(loc="left") == "12 items · like a, b"
    assert as_png(figure).startswith(b"\x89PNG")


def test_maps_show_the_gates_and_the_typical_items():
    given = maps()
    figure = draw_gates(given, ["cat", "bird", "no label"], columns=3)
    for ax, gate, rows in zip(figure.axes, given.probabilities, given.typical, strict=True):
        np.testing.assert_array_equal(ax.images[0].get_array(), gate)
        np.testing.assert_array_equal(ax.collections[1].get_offsets(), given.points[rows])
    assert as_png(figure).startswith(b"\x89PNG")


def test_overlaps_have_the_colour_of_the_likeliest_and_are_pale_between():
    figure = draw_overlap(maps(), ["cat", "bird", "no label"])
    picture = np.asarray(figure.axes[0].images[0].get_array())
    middle = picture.shape[0] // 2
    np.testing.assert_allclose(picture[middle, 0], to_rgb(COMPONENT_COLOURS[0]), atol=0.02)
    np.testing.assert_allclose(picture[middle, -1], to_rgb(COMPONENT_COLOURS[1]), atol=0.02)
    assert picture[middle, picture.shape[1] // 2].min() > 0.8
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["cat", "bird"]


def test_gains_are_differences_and_their_thirds():
    frequency = np.array([0.5, 0.02, 0.1, 0.03, 0.3, 0.05])
    ours, theirs = np.linspace(0.2, 0.7, 6), np.full(6, 0.4)
    figure = draw_label_gains({"pets": LabelGains(frequency, ours, theirs)}, "a rival")
    left, right = figure.axes
    np.testing.assert_allclose(left.collections[0].get_offsets(), np.column_stack([frequency, ours - theirs]))
    np.testing.assert_allclose(right.collections[0].get_offsets()[:, 1], 100 * (ours / theirs - 1))
    thirds = [[1, 3], [5, 2], [4, 0]]
    assert [part.tolist() for part in thirds_by(frequency)] == thirds
    np.testing.assert_allclose(left.lines[1].get_ydata(), [(ours - theirs)[part].mean() for part in thirds])
    np.testing.assert_allclose(right.lines[1].get_ydata(), [0.0, 37.5, 0.0], atol=1e-9)
    assert "a rival" in "".join(text.get_text() for text in left.texts)


def some_lines():
    x = np.array([100.0, 300.0, 1000.0])
    return [
        Line("coupled", x, np.array([[0.2, 0.4, 0.6], [0.4, 0.6, 0.8]])),
        Line("SVM", x, np.array([[0.5, 0.5, 0.5]])),
    ]


def test_curves_are_means_with_a_band_where_there_are_several_runs():
    (ax,) = draw_lines(some_lines(), "rows", "F1").axes
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [0.3, 0.5, 0.7])
    assert len(ax.collections) == 1  # the band of the first alone
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("rows", "F1")


def test_panels_share_a_legend_and_name_their_axes_at_the_border():
    panels = [CurvePanel(title, some_lines(), y_label="F1") for title in ("a", "b", "c")]
    figure = draw_panels(panels, columns=2, share_y=True)
    shown = figure.axes[:3]
    assert [ax.get_title(loc="left") for ax in shown] == ["a", "b", "c"]
    assert [ax.get_ylabel() for ax in shown] == ["F1", "", "F1"]
    assert [ax.get_xlabel() for ax in shown] == ["", "training rows", "training rows"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["coupled", "SVM"]
    bars = draw_differences(panels).axes[0]
    np.testing.assert_allclose([bar.get_height() for bar in bars.patches[:3]], [0.3, 0.5, 0.7])


def test_every_verdict_has_its_part_of_the_bar():
    assert tuple(VERDICT_COLOURS) == VERDICTS
    counts = {"a": {"holds": 3, "not shown": 2}, "b": {"does not hold": 1}}
    (ax,) = draw_verdicts(counts).axes
    widths = [[bar.get_width() for bar in bars] for bars in ax.containers]
    assert widths == [[3, 0], [0, 0], [2, 0], [0, 1]]
    assert ax.containers[2][0].get_x() == 3  # after those that hold


def test_a_label_is_mapped_once_per_model_each_on_its_own_scale():
    points, has = np.array([[0.1, 0.2], [0.5, 0.5], [0.9, 0.1]]), np.array([False, True, False])
    maps = {"linear": np.full((4, 4), 0.1), "mixture": np.linspace(0, 0.5, 16).reshape(4, 4)}
    items, *panels = draw_label_maps(maps, points, has).axes[:3]
    np.testing.assert_allclose(items.collections[1].get_offsets(), [[0.5, 0.5]])
    for panel, (name, p) in zip(panels, maps.items(), strict=True):
        np.testing.assert_allclose(panel.images[0].get_array(), p)
        assert panel.get_title(loc="left") == name and panel.get_xlabel() == f"up to {p.max():.2f}"
