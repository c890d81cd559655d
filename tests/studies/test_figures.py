"""Figures are looked at by people; here only what they claim is checked: what is drawn where, in which colour."""

from __future__ import annotations

import numpy as np
import pytest
from test_statistics_sets import SETS, make_table

from labelwise import queries
from labelwise.studies import figures
from labelwise.studies.statistics import compare, label_savings, leagues, seconds_per_question
from labelwise.studies.study import run_study
from labelwise.views.plots import as_png


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
    figure = figures.draw_gains(comparisons)
    for ax, comparison in zip(figure.axes, [c for c in comparisons if c.difference], strict=True):
        dot = ax.lines[-1]
        sense = -1 if comparison.metric == "log_loss" else 1
        assert dot.get_xdata()[0] == pytest.approx(sense * comparison.difference.value)
        hollow = dot.get_markerfacecolor() == "white"
        assert hollow == (comparison.verdict == "no difference")


def test_without_a_control_there_are_no_gains_to_draw(study):
    comparisons = [c for c in compare(study.table, ["macro_f1"]) if c.difference is None]
    with pytest.raises(ValueError, match="no strategy of the study has a random strategy to compare with"):
        figures.draw_gains(comparisons)


def test_every_registered_strategy_has_a_look_of_its_own():
    looks = [figures.style_of(name) for name in queries.BY_NAME]
    assert len(set(looks)) == len(looks)
    assert (
        figures.style_of("not_yet_written") not in looks
    )  # there are more strategies than colours: marker and line count


def test_a_figure_is_a_png(study):
    assert as_png(figures.draw_curves(study.table, ["macro_f1"])).startswith(b"\x89PNG")


@pytest.fixture
def league():
    return leagues(make_table())[0]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_a_critical_difference_diagram_shows_every_rank_and_joins_what_is_close(league):
    ranking = compare(league.table, ["macro_f1"])[0].ranking
    (ax,) = figures.draw_ranks({"macro_f1": ranking}).axes
    for name, mean in zip(ranking.names, ranking.mean_ranks, strict=True):
        assert any(name in text and f"{mean:.1f}" in text for text in texts(ax))
    bars = [line for line in ax.lines if line.get_linewidth() == 3]
    assert len(bars) == len(ranking.groups()) > 0
    width = next(line for line in ax.lines if line.get_linewidth() == 1.4)
    assert np.ptp(width.get_xdata()) == pytest.approx(ranking.critical_difference)


def test_savings_are_a_dot_per_set_and_what_never_got_there_stands_apart(league):
    figure = figures.draw_savings(compare(league.table, ["macro_f1"]))
    ax = figure.axes[0]
    places = {arm: dots.get_offsets()[:, 0] for arm, dots in zip(league.arms, ax.collections, strict=False)}
    assert (places["m", "poor"] == figures.NEVER_AT).all() and len(places["m", "poor"]) == len(SETS)
    assert (places["m", "clever"] < 1).all()
    assert [label.get_text() for label in ax.get_xticklabels()][-1] == "never"
    widths = [bar.get_width() for bar in ax.patches if round(bar.get_height(), 6) == 0.62]
    shares = [s.share for s in label_savings(league.table, "macro_f1") if s.strategy == "clever"]
    assert widths[1] == pytest.approx(np.median(shares))


def test_curves_run_over_items_answered_in_full(league):
    figure = figures.draw_set_curves(league.table, "macro_f1", "m")
    assert [ax.get_title("left") for ax in figure.axes[: len(SETS)]] == SETS
    lines = figure.axes[0].lines
    assert len(lines) == 4 and lines[0].get_xdata().tolist() == [10, 20, 30]
    assert lines[0].get_linewidth() > lines[1].get_linewidth()  # random
    assert len(figure.legends[0].get_texts()) == 4


def test_seconds_are_drawn_per_arm_and_set(league):
    seconds = seconds_per_question(league.table)
    (ax,) = figures.draw_seconds(seconds).axes
    assert ax.get_xscale() == "log"
    assert [len(dots.get_offsets()) for dots in ax.collections] == [len(SETS)] * 4
    assert as_png(figures.draw_seconds(seconds))[:4] == b"\x89PNG"
