"""Figures are looked at by people; here only what they claim is checked: what is drawn where, in which colour."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from labelwise import queries
from labelwise.experiments import figures
from labelwise.experiments.simulate import Schedule, split, starting_items
from labelwise.experiments.statistics import compare
from labelwise.experiments.study import run_study
from labelwise.records import LabelData


@pytest.fixture(scope="module")
def plane() -> LabelData:
    rng = np.random.default_rng(0)
    X = rng.random((120, 2))
    return LabelData.from_arrays(X, np.column_stack([X[:, 0] > 0.5, X[:, 1] > 0.7]), label_names=["right", "high"])


@pytest.fixture
def study(tmp_path, small, plan):
    return run_study(small, plan, tmp_path, jobs=1)


def test_curves_have_a_row_per_metric_and_a_name_at_every_end(study):
    figure = figures.draw_curves(study.table, ["macro_f1", "log_loss"])
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["macro F1", "log loss (lower is better)"]
    for ax in figure.axes:
        assert {"random", "uncertainty"} <= {text.get_text() for text in ax.texts}
        assert len(ax.collections) == 2  # the bands
    assert figure.axes[-1].get_xlabel() == "items read"
    drawn = {line.get_color(): line for line in figure.axes[0].lines}
    means = [study.table.where(strategy="uncertainty", round=r)["macro_f1"].mean() for r in range(4)]
    assert drawn[figures.style_of("uncertainty").colour].get_ydata() == pytest.approx(means)
    assert drawn[figures.GREY].get_xdata().tolist() == [6, 11, 16, 21]


def test_curves_against_answers_count_answers(study):
    figure = figures.draw_curves(study.table, ["macro_f1"], "answers")
    assert figure.axes[0].lines[0].get_xdata().tolist() == [18, 33, 48, 63]


def test_gains_are_better_to_the_right_and_filled_only_beyond_noise(study):
    comparisons = compare(study.table, ["macro_f1", "log_loss"])
    figure = figures.draw_differences(comparisons)
    for ax, comparison in zip(figure.axes, [c for c in comparisons if c.difference], strict=True):
        dot = ax.lines[-1]
        sense = -1 if comparison.metric == "log_loss" else 1
        assert dot.get_xdata()[0] == pytest.approx(sense * comparison.difference.value)
        hollow = dot.get_markerfacecolor() == "white"
        assert hollow == (comparison.verdict == "no difference")


def test_without_a_control_there_are_no_gains_to_draw(study):
    comparisons = [c for c in compare(study.table, ["macro_f1"]) if c.difference is None]
    with pytest.raises(ValueError, match="no strategy of the study has a random control"):
        figures.draw_differences(comparisons)


def test_the_chosen_items_are_drawn_where_they_are(plane):
    schedule = Schedule(start=5)
    pool, _ = split(plane, schedule, 0)
    start = starting_items(pool, schedule, 0)
    chosen = [item for item in pool.item_ids if item not in start][:7]
    figure = figures.draw_chosen(pool, {"random": [*start, *chosen], "uncertainty": start}, start)
    first, second = figure.axes
    dots = first.collections[-1].get_offsets()
    rows = [pool.item_ids.index(item) for item in chosen]
    assert np.allclose(np.sort(np.asarray(dots), axis=0), np.sort(pool.X[rows], axis=0))
    assert first.get_title(loc="left") == "random: 7 items"
    assert second.get_title(loc="left") == "uncertainty: 0 items"


def test_maps_show_each_label_and_every_item(plane):
    by_label = figures.draw_labels(plane, columns=3)
    assert [ax.get_title(loc="left") for ax in by_label.axes] == ["right", "high", ""]
    drawn = np.asarray(by_label.axes[0].collections[1].get_offsets())
    assert (drawn[:, 0] > 0.5).all() and len(drawn) == plane.Y[:, [0]].count_nonzero()
    whole = figures.draw_regions(plane)
    assert max(len(c.get_offsets()) for c in whole.axes[0].collections) == plane.n_items


def test_only_a_plane_can_be_drawn(small):
    for draw in (figures.draw_regions, figures.draw_labels):
        with pytest.raises(ValueError, match="two dense features can be drawn as a map, these have 4"):
            draw(small)


def test_every_registered_strategy_has_a_look_of_its_own():
    looks = [figures.style_of(name) for name in queries.BY_NAME]
    assert len(set(looks)) == len(looks)
    assert (
        figures.style_of("not_yet_written") not in looks
    )  # there are more strategies than colours: marker and line count


def test_a_figure_is_a_png(study):
    assert figures.as_png(figures.draw_curves(study.table, ["macro_f1"])).startswith(b"\x89PNG")


def test_without_matplotlib_the_message_says_what_to_install():
    code = "import sys; sys.modules['matplotlib'] = None; import labelwise.experiments.figures"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "ImportError: figures need matplotlib: pip install labelwise[plots]" in done.stderr
