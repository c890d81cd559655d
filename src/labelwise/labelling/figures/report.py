"""The pictures of a project, and one self-contained HTML page: where it stands and how it got there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from os import PathLike
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from labelwise.files import write_text
from labelwise.labelling.figures.status import LabelStatus, PairFigures, status_of
from labelwise.labelling.figures.wording import standing_lines, why_no_f1
from labelwise.labelling.served import ServedProject
from labelwise.labelling.texts import ENGLISH, Texts
from labelwise.records.learning_curve import HOUR, LearningCurve
from labelwise.views.wording import counted, duration


def write_report(
    project: ServedProject,
    path: str | PathLike[str],
    *,
    target_f1: float | None = None,
    worth_an_hour: float | None = None,
    risk: float | None = None,
) -> None:
    """Write the page; the file is replaced as a whole. The goals are those of the project unless they are given."""
    templates = Environment(
        loader=PackageLoader("labelwise.labelling.figures", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    templates.filters |= {
        "counted": counted,
        "duration": duration,
        "standing_lines": standing_lines,
        "why_no_f1": why_no_f1,
    }
    page = templates.get_template("report.html.jinja")
    now = status_of(project, target_f1=target_f1, worth_an_hour=worth_an_hour, risk=risk)
    text = page.render(
        title=project.store.name,
        status=now,
        settings=project.settings,
        curve=learning_curve(now.curve),
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    write_text(path, text)


# -- pictures, as SVG: tags without style or script; colours are in the stylesheet of the page ------------------------


SERIES = 6  # people with a colour of their own; the others share one
BARS = 60  # days drawn one by one; beyond that weeks, then months
ROW = 22.0  # height of a row of bars
MOST_ROWS = 25
MOST_PEOPLE = 10  # in the table of who agrees with whom
WIDTH = 640.0  # of every drawing, in its own units; the page scales it


def learning_curve(curve: LearningCurve | None, t: Texts = ENGLISH) -> Markup | None:
    """The estimated F1 over people's time with its interval, and where more of it is expected to lead."""
    if curve is None or not curve.points:
        return None
    begin, stop = curve.points[-1].seconds, curve.seconds + min(curve.seconds, HOUR)
    ahead = np.linspace(begin, stop, 20) if curve.curves else np.empty(0)
    end = float(max(curve.seconds, ahead.max(initial=0.0)))
    unit, per_unit = ("drawn.hours", 3600.0) if end >= 2 * HOUR else ("drawn.minutes", 60.0)
    frame = Frame((0, end / per_unit), (0, 1), height=280)
    across, up = (ticked(0, top, t) for top in (end / per_unit, 1))
    marks = [frame.axes(across, up, (t.plain(unit), "F1"))]
    line = [(point.seconds / per_unit, point.f1) for point in curve.points]
    lower, upper = ([(p.seconds / per_unit, getattr(p, side)) for p in curve.points] for side in ("low", "high"))
    marks += [frame.band(lower, upper, "band"), frame.line(line, "curve")]
    last = curve.points[-1]
    said = _reached(last.f1, last.low, last.high, last.seconds, t)
    if ahead.size:
        low, middle, high = np.quantile(curve.at(ahead), [0.05, 0.5, 0.95], axis=0)
        x = (ahead / per_unit).tolist()
        marks.append(frame.band([*zip(x, low, strict=True)], [*zip(x, high, strict=True)], "band ahead"))
        marks.append(frame.line([line[-1], *zip(x, middle, strict=True)], "curve ahead"))
        words = t.plain("drawn.expected_f1", said=_reached(middle[-1], low[-1], high[-1], end, t))
        marks.append(frame.dot(x[-1], middle[-1], 4, words, "dot ahead"))
        said += f"; {words}"
    said = t.plain("drawn.now_f1", said=said)
    marks.append(frame.dot(*line[-1], 5, said))
    return picture(280, t.plain("drawn.f1"), f"{said}.", marks)


def _reached(f1: float, low: float, high: float, seconds: float, t: Texts) -> str:
    figures = {"f1": t.number(f1, 2), "low": t.number(low, 2), "high": t.number(high, 2)}
    return t.plain("drawn.reached", **figures, time=t.duration(seconds))


def days_of_answers(days: range, by_person: Mapping[str, Sequence[int]], t: Texts = ENGLISH) -> Markup | None:
    """Bars of the answers per day (or week, or month), by person."""
    if not days:
        return None
    people = sorted(by_person, key=lambda who: (-sum(by_person[who]), who))
    groups = [[who] for who in people[:SERIES]] + ([people[SERIES:]] if people[SERIES:] else [])
    starts, bins, unit = _binned(days)
    counts = [[sum(by_person[who][i] for who in group for i in inside) for inside in bins] for group in groups]
    totals = [sum(column) for column in zip(*counts, strict=True)]
    rows = -(-len(groups) // 3)
    height = 240.0 + 18 * rows
    frame = Frame((0, len(bins)), (0, max(totals)), height=height, bottom=40 + 18 * rows)
    shown = range(0, len(bins), max(1, -(-len(bins) // 8)))
    across = [(i + 0.5, t.day(starts[i])) for i in shown]
    marks = [frame.axes(across, ticked(0, max(totals), t), ("", t.plain(f"drawn.per_{unit}")))]
    width = (frame.x(1) - frame.x(0)) * 0.8
    below = [0] * len(bins)
    for series, (group, numbers) in enumerate(zip(groups, counts, strict=True)):
        name = group[0] if series < SERIES else t.plain("drawn.others", count=len(group))
        for i, number in enumerate(numbers):
            if number:
                top, foot = frame.y(below[i] + number), frame.y(below[i])
                words = tag("title", f"{starts[i]:%Y-%m-%d}: {name} {number}")
                box = {"x": frame.x(i + 0.1), "y": top, "width": width, "height": foot - top}
                marks.append(tag("rect", words, **box, class_=f"s{series}"))
                below[i] += number
        marks += _legend(series, name, frame.left + 190 * (series % 3), height - 18 * (rows - series // 3) + 8)
    answers, persons = (
        t.plain(f"count.{what}", count=n) for what, n in (("answers", sum(totals)), ("people", len(people)))
    )
    said = t.plain("drawn.since", answers=answers, people=persons, day=f"{starts[0]:%Y-%m-%d}", most=max(totals))
    return picture(height, t.plain("drawn.over_time"), f"{said} ({t.plain(f'drawn.per_{unit}')}).", marks)


def answers_by_label(labels: Sequence[LabelStatus], t: Texts = ENGLISH) -> Markup | None:
    """For the labels answered most: how often yes, no and unsure."""
    answered = [label for label in labels if label.yes + label.no + label.unsure]
    chosen = sorted(answered, key=lambda label: -(label.yes + label.no + label.unsure))[:MOST_ROWS]
    if not chosen:
        return None
    most = max(label.yes + label.no + label.unsure for label in chosen)
    rows = []
    for label in chosen:
        parts = [(label.yes, "yes"), (label.no, "no"), (label.unsure, "unsure")]
        counts = [t.plain(f"script.counted_{kind}", count=number) for number, kind in parts]
        words = f"{label.name}: {', '.join(counts)}"
        rows.append((label.name, [(number / most, kind) for number, kind in parts], counts[0], words))
    said = t.plain("drawn.most", most=most)
    if len(chosen) < len(answered):
        said += " " + t.plain("drawn.most_of", shown=len(chosen), answered=len(answered))
    legend = [(kind, t.plain(f"script.{kind}")) for kind in ("yes", "no", "unsure")]
    return _rows_of_bars(t.plain("progress.per_label"), said, rows, legend)


def expected_finds(labels: Sequence[tuple[str, float]], questions: int, t: Texts = ENGLISH) -> Markup | None:
    """For the labels found most among the next questions: how often yes is expected."""
    if not labels:
        return None
    most = max(number for _, number in labels)
    rows = []
    for name, number in labels:
        written = t.number(number, 1)
        words = t.plain("drawn.expected_of", name=name, number=written)
        rows.append((name, [(number / most, "likely")], written, words))
    among = t.plain("drawn.among", questions=t.plain("count.questions", count=questions))
    return _rows_of_bars(t.plain("drawn.expected"), among, rows, [])


def calibration_plot(calibration: Mapping[str, Any], t: Texts = ENGLISH) -> Markup | None:
    """How often labels are there, against how likely they were believed to be; on the line, beliefs are right."""
    bins = calibration["bins"]
    if not bins:
        return None
    frame = Frame((0, 1), (0, 1), height=300)
    steps = ticked(0, 1, t)
    marks = [frame.axes(steps, steps, (t.plain("drawn.believed"), t.plain("drawn.there")))]
    marks.append(frame.line([(0, 0), (1, 1)], "ideal"))
    largest = max(each["entries"] for each in bins)
    for each in bins:
        marks.append(frame.whisker(each["believed"], each["low"], each["high"]))
        figures = {"believed": t.number(each["believed"], 2), "share": t.number(each["share"], 2)}
        words = t.plain("drawn.bin", **figures, entries=each["entries"])
        marks.append(frame.dot(each["believed"], each["share"], 3 + 5 * (each["entries"] / largest) ** 0.5, words))
    said = t.plain("drawn.off_by", error=t.number(calibration["error"], 3))
    return picture(300, t.plain("drawn.calibration"), said, marks)


def agreement_table(pairs: Sequence[PairFigures], t: Texts = ENGLISH) -> Markup | None:
    """Who agrees with whom: the share of common answers that are the same, darker where it is higher."""
    if not pairs:
        return None
    common: dict[str, int] = {}
    for pair in pairs:
        for who in (pair.first, pair.second):
            common[who] = common.get(who, 0) + pair.both
    people = sorted(sorted(common, key=lambda who: -common[who])[:MOST_PEOPLE])
    share = {frozenset((pair.first, pair.second)): pair for pair in pairs}
    side, left = min((WIDTH - 150) / len(people), 64.0), 140.0
    height = 40 + 32 * len(people)
    marks = []
    for i, who in enumerate(people):
        marks.append(tag("text", _cut(who, 15), x=left - 8, y=54.0 + 32 * i, text_anchor="end", class_="tick"))
        head = left + side * (i + 0.5)
        marks.append(tag("text", _cut(who, int(side // 9)), x=head, y=26.0, text_anchor="middle", class_="tick"))
        for j, other in enumerate(people):
            agreement = share.get(frozenset((who, other))) if i != j else None
            marks += _cell(agreement, (left + side * j, 34.0 + 32 * i), (side - 2, 30.0), t)
    worst = min(pairs, key=lambda pair: pair.share)
    said = t.plain("drawn.least", first=worst.first, second=worst.second, share=_common(worst, t))
    return picture(height, t.plain("drawn.agreement"), said, marks)


def _common(pair: PairFigures, t: Texts) -> str:
    return t.plain("drawn.common", percent=t.number(100 * pair.share), both=pair.both)


def _cell(pair: PairFigures | None, corner: tuple[float, float], size: tuple[float, float], t: Texts) -> list[Markup]:
    shade = "none" if pair is None else f"a{min(int(10 * pair.share), 9)}"
    words = t.plain("drawn.none_common") if pair is None else _common(pair, t)
    name = "" if pair is None else f"{pair.first}, {pair.second}: "
    box = {"x": corner[0], "y": corner[1], "width": size[0], "height": size[1], "rx": 3}
    marks = [tag("rect", tag("title", name + words), **box, class_=f"cell {shade}")]
    if pair is not None:
        middle = {"x": corner[0] + size[0] / 2, "y": corner[1] + 20, "text_anchor": "middle"}
        marks.append(tag("text", f"{100 * pair.share:.0f} %", **middle, class_=f"inside {shade}"))
    return marks


Bars = Sequence[
    tuple[str, Sequence[tuple[float, str]], str, str]
]  # name, (length, kind) of parts, at the end, in words


def _rows_of_bars(title: str, description: str, rows: Bars, legend: Sequence[tuple[str, str]]) -> Markup:
    left, right, top = 180.0, 70.0, 26.0 if legend else 6.0
    height = top + ROW * len(rows) + 6
    marks = []
    for place, (kind, text) in enumerate(legend):
        marks += _legend(kind, text, left + 90 * place, 14.0)
    for row, (name, parts, at_end, words) in enumerate(rows):
        y, x = top + ROW * row, left
        label = tag("title", name)
        marks.append(tag("text", label, _cut(name, 18), x=left - 8, y=y + 15, text_anchor="end", class_="tick"))
        for length, kind in parts:
            width = (WIDTH - left - right) * length
            if width > 0:
                said = tag("title", words)
                marks.append(tag("rect", said, x=x, y=y + 3, width=width, height=ROW - 6, class_=f"bar {kind}"))
            x += width
        marks.append(tag("text", at_end, x=x + 6, y=y + 15, class_="tick"))
    return picture(height, title, description, marks)


def _legend(series: int | str, name: str, x: float, y: float) -> list[Markup]:
    kind = f"s{series}" if isinstance(series, int) else f"bar {series}"
    return [
        tag("rect", x=x, y=y - 10, width=12, height=12, rx=2, class_=kind),
        tag("text", _cut(name, 22), x=x + 18, y=y, class_="tick"),
    ]


def _binned(days: range) -> tuple[list[date], list[list[int]], str]:
    """First days of the bars, the places of the days in each, and what a bar is."""
    dates = [datetime.fromtimestamp(day * 86400, UTC).date() for day in days]
    for unit in ("day", "week", "month"):
        bins: dict[date, list[int]] = {}
        for place, each in enumerate(dates):
            first = {"day": each, "week": date.fromordinal(each.toordinal() - each.weekday())}.get(
                unit, each.replace(day=1)
            )
            bins.setdefault(first, []).append(place)
        if len(bins) <= BARS:
            break
    return list(bins), list(bins.values()), unit


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: max(most - 1, 1)] + "…"


# -- the marks; their colours are in the stylesheet of the page --------------------------------------------------------


def tag(name: str, *content: object, **attributes: object) -> Markup:
    """An element; text is escaped, attributes are named with _ for -.

    >>> str(tag("text", "a < b", x=1.25, text_anchor="end", class_="tick"))
    '<text x="1.2" text-anchor="end" class="tick">a &lt; b</text>'
    """
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_short(value))}"' for key, value in attributes.items()
    )
    return Markup(f"<{name}{said}>{''.join(map(escape, content))}</{name}>")  # all that comes from outside is escaped


def picture(height: float, title: str, description: str, marks: Iterable[Markup]) -> Markup:
    """The whole drawing, with what it says in words."""
    return tag(
        "svg",
        tag("title", title),
        tag("desc", description),
        Markup("").join(marks),
        viewBox=f"0 0 {WIDTH:g} {height:g}",
        role="img",
        aria_label=f"{title}. {description}",
        class_="drawing",
    )


@dataclass(frozen=True)
class Frame:
    """Where data lie in a drawing: from (x0, y0) at the lower left to (x1, y1) of the data, inside margins.

    >>> frame = Frame((0, 10), (0, 1), height=200, left=40, right=10, top=10, bottom=30)
    >>> frame.x(10), frame.y(0)
    (630.0, 170.0)
    """

    across: tuple[float, float]
    up: tuple[float, float]
    height: float
    left: float = 48
    right: float = 16
    top: float = 28
    bottom: float = 40

    def x(self, value: float) -> float:
        low, high = self.across
        return self.left + (WIDTH - self.left - self.right) * (value - low) / ((high - low) or 1)

    def y(self, value: float) -> float:
        low, high = self.up
        return self.height - self.bottom - (self.height - self.top - self.bottom) * (value - low) / ((high - low) or 1)

    def line(self, points: Iterable[tuple[float, float]], class_: str) -> Markup:
        return tag("polyline", points=self._points(points), class_=class_)

    def band(self, lower: Sequence[tuple[float, float]], upper: Sequence[tuple[float, float]], class_: str) -> Markup:
        return tag("polygon", points=self._points([*upper, *reversed(lower)]), class_=class_)

    def whisker(self, at: float, low: float, high: float, class_: str = "whisker") -> Markup:
        return tag("line", x1=self.x(at), x2=self.x(at), y1=self.y(low), y2=self.y(high), class_=class_)

    def dot(self, at: float, value: float, radius: float, said: str, class_: str = "dot") -> Markup:
        """A point that says what it is when pointed at."""
        return tag("circle", tag("title", said), cx=self.x(at), cy=self.y(value), r=radius, class_=class_)

    def axes(
        self, across: Sequence[tuple[float, str]], up: Sequence[tuple[float, str]], names: tuple[str, str]
    ) -> Markup:
        """Ticks with their texts, lines for those of the upright axis, and what the axes are."""
        ground, right = self.height - self.bottom, WIDTH - self.right
        marks = [
            tag("line", x1=self.left, x2=right, y1=self.y(value), y2=self.y(value), class_="grid") for value, _ in up
        ]
        marks += [
            tag("text", text, x=self.left - 6, y=self.y(value) + 4, text_anchor="end", class_="tick")
            for value, text in up
        ]
        marks.append(tag("line", x1=self.left, x2=right, y1=ground, y2=ground, class_="axis"))
        marks += [
            tag("text", text, x=self.x(value), y=ground + 16, text_anchor="middle", class_="tick")
            for value, text in across
        ]
        middle = (self.left + right) / 2
        marks.append(tag("text", names[0], x=middle, y=self.height - 6, text_anchor="middle", class_="name"))
        marks.append(tag("text", names[1], x=8, y=12, class_="name"))
        return Markup("").join(marks)

    def _points(self, points: Iterable[tuple[float, float]]) -> str:
        return " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """About this number of round numbers between low and high.

    >>> ticks(0, 37)
    [0.0, 10.0, 20.0, 30.0]
    >>> ticks(0.42, 0.58)
    [0.45, 0.5, 0.55]
    """
    span = high - low
    if span <= 0:
        return [low]
    rough = span / about
    size = 10.0 ** _floor_log10(rough)
    step = next(factor * size for factor in (1, 2, 5, 10) if factor * size >= rough * (1 - 1e-9))
    first = -(-low // step)
    return [round(number * step, 10) for number in range(int(first), int(high / step + 1e-9) + 1)]


def ticked(low: float, high: float, t: Texts) -> list[tuple[float, str]]:
    """Ticks with their texts.

    >>> ticked(0, 1, Texts("de"))[:2]
    [(0.0, '0'), (0.2, '0,2')]
    """
    return [(x, t.number(x, len(f"{x:g}".partition(".")[2]))) for x in ticks(low, high)]


def _floor_log10(value: float) -> int:
    return int(f"{value:e}".partition("e")[2])


def _short(value: object) -> object:
    """Coordinates need one digit after the point."""
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, float) else value
