"""One self-contained HTML page about a project: where it stands and how it got there."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from os import PathLike
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from labelwise.files import write_text
from labelwise.labelling.figures.status import status_of
from labelwise.labelling.figures.wording import counted, standing_lines, why_no_f1
from labelwise.labelling.project import Project

WIDTH, HEIGHT, MARGIN = 640, 240, 36  # of the drawing, in its own units


def write_report(project: Project, path: str | PathLike[str]) -> None:
    """Write the page; the file is replaced as a whole."""
    templates = Environment(
        loader=PackageLoader("labelwise.labelling.figures", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
    )
    templates.filters |= {"counted": counted, "standing_lines": standing_lines, "why_no_f1": why_no_f1}
    page = templates.get_template("report.html.jinja")
    now = status_of(project)
    text = page.render(
        title=project.store.name,
        status=now,
        settings=project.settings,
        course=curve(now.course),
        made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
    )
    write_text(path, text)


def curve(course: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The estimated F1 over answers as points of a drawing: a line, a band for the interval, and ticks.

    >>> points = [{"answers": n, "f1": f, "low": f - 0.1, "high": f + 0.1} for n, f in ((0, 0.2), (10, 0.6))]
    >>> curve(points)["line"]
    '36.0,170.4 604.0,103.2'
    >>> curve(points[:1]) is None
    True
    """
    if len(course) < 2:
        return None
    last = max(max(point["answers"] for point in course), 1)

    def place(answers: float, value: float) -> str:
        x = MARGIN + (WIDTH - 2 * MARGIN) * answers / last
        y = HEIGHT - MARGIN - (HEIGHT - 2 * MARGIN) * min(max(value, 0.0), 1.0)
        return f"{x:.1f},{y:.1f}"

    upper = [place(point["answers"], point["high"]) for point in course]
    lower = [place(point["answers"], point["low"]) for point in reversed(course)]
    return {
        "line": " ".join(place(point["answers"], point["f1"]) for point in course),
        "band": " ".join(upper + lower),
        "last": last,
        "width": WIDTH,
        "height": HEIGHT,
        "margin": MARGIN,
    }
