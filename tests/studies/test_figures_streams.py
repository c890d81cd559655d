"""Pictures of progressive validation show what they are given."""

import numpy as np

from labelwise.studies.figures import StreamPanel, draw_panels, draw_progress
from labelwise.studies.tables import Table
from labelwise.views.plots import as_png

CURVE = Table.from_rows(
    [{"rows": r, "micro_f1": r / 100, "macro_f1": 0.1, "precision_at_1": 1, "log_loss": 0.2} for r in (10, 20, 30)]
)


def test_a_panel_per_measure_with_the_numbers_of_the_curve():
    figure = draw_progress(CURVE)
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == ["micro F1", "macro F1", "precision@1", "log loss (lower is better)"]
    np.testing.assert_array_equal(figure.axes[0].lines[0].get_xydata(), [[10, 0.1], [20, 0.2], [30, 0.3]])
    assert as_png(figure)[:8] == b"\x89PNG\r\n\x1a\n"


def test_lines_are_named_and_events_marked():
    panel = StreamPanel("t", {"on": ([1, 2], [0.1, 0.2]), "off": ([1, 2], [0.3, 0.4])}, {5: "drift"})
    (ax,) = draw_panels([panel]).axes
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["on", "off"]
    assert [text.get_text() for text in ax.texts] == ["drift"]
    assert ax.lines[2].get_xdata()[0] == 5


def test_a_curve_of_one_window_is_a_dot_and_spare_panels_are_blank():
    figure = draw_panels([StreamPanel(name, {"": ([1], [0.5])}) for name in "abc"])
    assert figure.axes[0].lines[0].get_marker() == "o"
    assert not figure.axes[3].axison
