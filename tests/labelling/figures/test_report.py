"""Drawings: where marks lie, what they say in words, and that nothing in them can run."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from labelwise.labelling.figures import report as figures
from labelwise.labelling.figures.report import Frame, picture, tag, ticks
from labelwise.labelling.figures.status import LabelStatus, PairFigures
from labelwise.records.learning_curve import CurvePoint, LearningCurve

EVIL = '<script>alert("x")</script>&"\''
POINTS = tuple(CurvePoint(seconds, 0.3 + seconds / 18000, 0.1, 0.5) for seconds in (450, 900, 1800))
CURVE = LearningCurve(1800.0, POINTS, tuple((0.4, 0.2, rate) for rate in (0.5, 1.0, 1.0, 1.0, 1.5)))
CALIBRATION = {
    "bins": [{"entries": 30, "believed": 0.05, "share": 0.1, "low": 0.0, "high": 0.2}],
    "error": 0.05,
}
DRAWN = {
    "curve": lambda name: figures.learning_curve(CURVE),
    "days": lambda name: figures.days_of_answers(range(20000, 20003), {name: [1, 0, 5], "bob": [2, 2, 0]}),
    "labels": lambda name: figures.answers_by_label([LabelStatus(name, 3, 2, 1, None, None)]),
    "calibration": lambda name: figures.calibration_plot(CALIBRATION),
    "agreement": lambda name: figures.agreement_table([PairFigures(name, "bob", 20, 0.85, 0.7)]),
    "expected": lambda name: figures.expected_finds([(name, 4.5), ("other", 1.0)], 40),
}


@pytest.mark.parametrize("kind", DRAWN)
@pytest.mark.parametrize("name", ["plain", EVIL])
def test_every_drawing_is_a_picture_with_words_and_runs_nothing(kind, name):
    text = str(DRAWN[kind](name))
    root = ElementTree.fromstring(text)
    assert root.tag == "svg" and root.get("role") == "img"
    assert root.find("title").text and root.find("desc").text
    assert root.get("aria-label").startswith(root.find("title").text)
    assert not re.search(r"<script|\sstyle=|\son\w+=|href", text)
    for element in root.iter():
        for key in ("x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height"):
            assert element.get(key) is None or -1 <= float(element.get(key)) <= 1500


@pytest.mark.parametrize(
    "drawn",
    [
        figures.learning_curve(None),
        figures.learning_curve(LearningCurve(60.0)),
        figures.days_of_answers(range(0), {}),
        figures.answers_by_label([LabelStatus("a", 0, 0, 0, None, None)]),
        figures.calibration_plot({"bins": [], "error": 0.0}),
        figures.agreement_table([]),
        figures.expected_finds([], 0),
    ],
)
def test_where_there_is_nothing_nothing_is_drawn(drawn):
    assert drawn is None


def test_the_curve_goes_through_its_points():
    text = str(figures.learning_curve(CURVE))
    frame = Frame((0, 60), (0, 1), height=280)  # half an hour, and as long again
    for point in POINTS:
        assert f"{frame.x(point.seconds / 60):.1f},{frame.y(point.f1):.1f}" in text
    assert "0.40 (0.10 to 0.50) after 30 min" in text and "minutes of people&#39;s time" in text
    assert f"{frame.x(60):.1f},{frame.y(0.4 + 0.2 * (1 - 1 / 2)):.1f}" in text  # the middle curve, after an hour
    assert re.search(r"expected 0\.50 \(0\.4\d to 0\.5\d\) after 1 h", text)
    assert "expected" not in str(figures.learning_curve(LearningCurve(1800.0, POINTS)))
    assert "hours of people&#39;s time" in str(figures.learning_curve(LearningCurve(9000.0, POINTS)))


def test_bars_are_as_high_as_their_numbers():
    root = ElementTree.fromstring(str(figures.days_of_answers(range(20000, 20002), {"ann": [4, 1], "bob": [0, 3]})))
    heights = {rect.find("title").text: float(rect.get("height")) for rect in root.iter("rect") if len(rect)}
    assert set(heights) == {"2024-10-04: ann 4", "2024-10-05: ann 1", "2024-10-05: bob 3"}
    assert heights["2024-10-04: ann 4"] == pytest.approx(4 * heights["2024-10-05: ann 1"], abs=0.3)
    assert heights["2024-10-05: bob 3"] == pytest.approx(3 * heights["2024-10-05: ann 1"], abs=0.3)


@pytest.mark.parametrize(("days", "unit", "bars"), [(60, "day", 60), (61, "week", 10), (700, "month", 24)])
def test_long_times_are_drawn_in_weeks_and_months(days, unit, bars):
    text = str(figures.days_of_answers(range(20000, 20000 + days), {"ann": [1] * days}))
    assert f"answers per {unit}" in text and f"{days} answers by 1 person" in text
    assert abs(text.count("<rect") - 1 - bars) <= 1


def test_many_people_share_the_last_colour():
    text = str(figures.days_of_answers(range(20000, 20001), {f"p{i}": [i + 1] for i in range(9)}))
    assert "3 others" in text and 'class="s6"' in text and 'class="s7"' not in text


def test_calibration_dots_lie_where_they_should():
    root = ElementTree.fromstring(str(figures.calibration_plot(CALIBRATION)))
    frame = Frame((0, 1), (0, 1), height=300)
    dot = next(root.iter("circle"))
    assert (float(dot.get("cx")), float(dot.get("cy"))) == pytest.approx((frame.x(0.05), frame.y(0.1)), abs=0.06)
    assert dot.find("title").text == "believed 0.05, there 0.10 of 30"


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 7), (0, 12345), (0.42, 0.58), (0, 0.003), (5, 5)])
def test_ticks_are_round_and_inside(low, high):
    found = ticks(low, high)
    assert 1 <= len(found) <= 7
    assert all(low - 1e-9 <= tick <= high + 1e-9 for tick in found)
    assert found == sorted(found)


def test_attributes_and_texts_are_escaped():
    text = str(picture(10, EVIL, EVIL, [tag("text", EVIL, class_=EVIL)]))
    assert "<script" not in text
    assert ElementTree.fromstring(text).find("text").text == EVIL
