"""The report and its figures: drawn from hand-made curves, looked at through what matplotlib holds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from test_arena_findings import SETS, make_table

from labelwise.experiments.arena import Arena, Entrant, run_arena
from labelwise.experiments.arena_figures import (
    NEVER,
    draw_ranks,
    draw_savings,
    draw_seconds,
    draw_set_curves,
    savings_of,
)
from labelwise.experiments.arena_findings import leagues, rank, seconds_per_question
from labelwise.experiments.arena_report import report_arena
from labelwise.experiments.figures import as_png
from labelwise.experiments.simulate import Schedule
from labelwise.experiments.sources import Source


@pytest.fixture
def league():
    return leagues(make_table())[0]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_a_critical_difference_diagram_shows_every_rank_and_joins_what_is_close(league):
    ranking = rank(league, "macro_f1")
    (ax,) = draw_ranks({"macro_f1": ranking}, {}).axes
    for name, mean in zip(ranking.names, ranking.mean_ranks, strict=True):
        assert any(name in text and f"{mean:.1f}" in text for text in texts(ax))
    bars = [line for line in ax.lines if line.get_linewidth() == 3]
    assert len(bars) == len(ranking.groups()) > 0
    width = next(line for line in ax.lines if line.get_linewidth() == 1.4)
    assert np.ptp(width.get_xdata()) == pytest.approx(ranking.critical_difference)


def test_savings_are_a_dot_per_set_and_what_never_got_there_stands_apart(league):
    figure = draw_savings(savings_of(league, ["macro_f1"]), league.arms)
    ax = figure.axes[0]
    places = {arm: dots.get_offsets()[:, 0] for arm, dots in zip(league.arms, ax.collections, strict=False)}
    assert (places["m", "poor"] == NEVER).all() and len(places["m", "poor"]) == len(SETS)
    assert (places["m", "clever"] < 1).all()
    assert [label.get_text() for label in ax.get_xticklabels()][-1] == "never"
    widths = [bar.get_width() for bar in ax.patches if round(bar.get_height(), 6) == 0.62]
    shares = [s.share for s in savings_of(league, ["macro_f1"])["macro_f1"] if s.strategy == "clever"]
    assert widths[1] == pytest.approx(np.median(shares))


def test_curves_run_over_items_answered_in_full(league):
    figure = draw_set_curves(league, "macro_f1", "m")
    assert [ax.get_title("left") for ax in figure.axes[: len(SETS)]] == SETS
    lines = figure.axes[0].lines
    assert len(lines) == 4 and lines[0].get_xdata().tolist() == [10, 20, 30]
    assert lines[0].get_linewidth() > lines[1].get_linewidth()  # random
    assert len(figure.legends[0].get_texts()) == 4


def test_seconds_are_drawn_per_arm_and_set(league):
    seconds = seconds_per_question(league.table)
    (ax,) = draw_seconds(seconds).axes
    assert ax.get_xscale() == "log"
    assert [len(dots.get_offsets()) for dots in ax.collections] == [len(SETS)] * 4
    assert as_png(draw_seconds(seconds))[:4] == b"\x89PNG"


def test_the_report_of_an_arena_is_one_file_with_everything(tmp_path):
    entrants = (Entrant("binary_relevance", ("random", "uncertainty", "random_pairs")),)
    sources = (Source("gaussian", limit=90), Source("shapes", limit=90))
    arena = Arena(sources, entrants, (0, 1), Schedule(start=6, rounds=2, batch=4), "small & quick", ("macro_f1",))
    path = report_arena(run_arena(arena, tmp_path, jobs=1), tmp_path)
    html = path.read_text()
    assert "small &amp; quick" in html and "<script" not in html and "http" not in html.replace("http://www.w3.org", "")
    for words in ("Who won?", "How many labels does it save?", "Learning curves", "Time per question", "Set by set"):
        assert words in html
    assert html.count("<img") == 4
    assert {file.name for file in (tmp_path / "figures").iterdir()} == {
        "ranks.png",
        "savings.png",
        "curves-binary-relevance-macro-f1.png",
        "seconds.png",
    }
    apart = replace(arena, schedule=replace(arena.schedule, pair_batch=3))
    html = report_arena(run_arena(apart, tmp_path / "apart", jobs=1), tmp_path / "apart").read_text()
    assert "Who won (items)?" in html and "Who won (pairs)?" in html
