"""The progress page: pictures first, the figures beneath them. Nothing is computed here."""

from __future__ import annotations

from datetime import UTC, datetime

from fastapi import APIRouter, Request
from fastapi.responses import Response

from labelwise.labelling.figures.report import (
    agreement_table,
    answers_by_label,
    calibration_plot,
    days_of_answers,
    expected_finds,
    learning_curve,
)
from labelwise.labelling.figures.status import NEXT, status_of
from labelwise.labelling.web.access import CurrentUser, TheProject, render

NAVIGATION = ("Progress", "/progress")
DAYS_LISTED = 31  # in the table; the picture has them all
router = APIRouter(include_in_schema=False)


@router.get("/progress")
def progress(request: Request, user: CurrentUser, project: TheProject) -> Response:
    now = status_of(project, recount=False).seen_by(None if user.is_admin else user.name)
    latest = [(day, place) for place, day in enumerate(now.days) if any(row[place] for row in now.by_person.values())]
    return render(
        request,
        "progress.html.jinja",
        now=now,
        curve=learning_curve(now.curve),
        days=days_of_answers(now.days, now.by_person),
        by_label=answers_by_label(now.labels),
        calibration=None if now.calibration is None else calibration_plot(now.calibration),
        agreement=agreement_table(now.pairs),
        expected=expected_finds(now.following.labels, now.following.number),
        listed_days=[(_date(day), place) for day, place in reversed(latest[-DAYS_LISTED:])],
        trained_at=None if now.trained_at is None else f"{datetime.fromtimestamp(now.trained_at, UTC):%Y-%m-%d %H:%M}",
        ahead=NEXT,
    )


def _date(day: int) -> str:
    return f"{datetime.fromtimestamp(day * 86400, UTC):%Y-%m-%d}"
