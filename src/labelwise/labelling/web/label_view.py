"""The page to label on. It is filled in by `static/label.js`, which speaks to the JSON interface."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from labelwise.labelling.web.dependencies import CurrentUser, TheProject, render

NAVIGATION = ("Label", "/label")
router = APIRouter(include_in_schema=False)


@router.get("/")
def start() -> Response:
    return RedirectResponse("/label", 303)


@router.get("/label")
def label(request: Request, user: CurrentUser, project: TheProject) -> Response:
    return render(request, "label.html.jinja", lease_seconds=project.settings.lease_seconds, identity=project.identity)


@router.get("/help")
def help_page(request: Request, user: CurrentUser) -> Response:
    return render(request, "help.html.jinja")
