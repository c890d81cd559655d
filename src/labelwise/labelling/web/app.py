"""The application: routers from their own modules, one layout, and the guards before all of them."""

from __future__ import annotations

import json
from contextlib import suppress
from importlib.resources import files
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.staticfiles import StaticFiles

from labelwise import __version__
from labelwise.labelling.errors import AnswerRefused, ProjectError, StoreError
from labelwise.labelling.served import ServedProject
from labelwise.labelling.web import (
    access,
    browse_view,
    json_api,
    label_view,
    labels_view,
    ml_backend,
    pictures_view,
    progress_view,
)
from labelwise.labelling.web.dependencies import NotSignedIn, csrf_protected, current_user, render
from labelwise.labelling.web.headers import only_loopback_names, put_headers
from labelwise.labelling.web.site import Site

# In the order of the navigation. A module has a `router`, and if it is a page, `NAVIGATION`: its title and address.
PAGES: tuple[Any, ...] = (label_view, progress_view, browse_view, labels_view)
# Modules that guard themselves (the door; what other programs call with a token of their own) come without the
# protection against posts from other sites, which looks for a session.
SELF_GUARDED: tuple[Any, ...] = (access, ml_backend)
FOR_PROGRAMS = ("/api/", "/label-studio")  # addresses that answer with JSON, whoever asks
STATUS_OF = {AnswerRefused: 409, StoreError: 503, ProjectError: 400}


def create_app(project: ServedProject, *, local_user: str | None = None) -> FastAPI:
    """The page of a project.

    Parameters
    ----------
    project : ServedProject
        A `Project`, or one opened without its models. It is not closed here.
    local_user : str or None
        Who works alone, without signing in, while the project has no users; only for a server that nobody else reaches.
    """
    app = FastAPI(
        title="labelwise",
        version=__version__,
        summary="Questions out, answers in: the interface beneath the labelling page.",
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.site = Site(project, local_user, tuple(page.NAVIGATION for page in PAGES))
    for module in (*PAGES, json_api, pictures_view):
        app.include_router(module.router, dependencies=[Depends(csrf_protected)])
    for module in SELF_GUARDED:
        app.include_router(module.router)
    app.mount("/static", StaticFiles(directory=str(files("labelwise.labelling.web") / "static")), "static")
    app.add_exception_handler(NotSignedIn, _to_the_door)
    app.add_exception_handler(ProjectError, _told)
    app.add_exception_handler(RequestValidationError, _misunderstood)
    app.add_exception_handler(HTTPException, _refused)
    if local_user is not None:
        app.add_middleware(BaseHTTPMiddleware, dispatch=only_loopback_names)
    app.add_middleware(BaseHTTPMiddleware, dispatch=put_headers)
    return app


def _to_the_door(request: Request, _: Exception) -> Response:
    if request.url.path.startswith("/api/"):
        return JSONResponse({"detail": "nobody is signed in here"}, 401)
    if request.method == "GET" and access.works_alone(request):
        return access.let_in(request, str(request.url.replace(scheme="", netloc="")))
    return RedirectResponse("/enter", 303)


def _told(request: Request, error: Exception) -> Response:
    """What a project cannot do, in its own words."""
    status = next(status for kind, status in STATUS_OF.items() if isinstance(error, kind))
    if _wants_page(request):
        return _trouble_page(request, status, str(error))
    return JSONResponse({"detail": str(error)}, status)


def _refused(request: Request, error: Exception) -> Response:
    """An address that is none, or something that is not allowed."""
    assert isinstance(error, HTTPException)
    if _wants_page(request):
        told = "there is no such page" if error.detail == "Not Found" else str(error.detail)
        return _trouble_page(request, error.status_code, told)
    return JSONResponse({"detail": error.detail}, error.status_code, headers=error.headers)


def _wants_page(request: Request) -> bool:
    """Whether a person looks at the answer: browsers ask for pages so, programs and our own scripts do not."""
    return "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(FOR_PROGRAMS)


def _trouble_page(request: Request, status: int, told: str) -> Response:
    with suppress(NotSignedIn):
        current_user(request)  # the layout shows the way to the other pages to those who are signed in
    return render(request, "trouble.html.jinja", status, trouble=f"{told[:1].upper()}{told[1:]}.")


def _misunderstood(request: Request, error: Exception) -> Response:
    """Where a request is wrong and why; what was sent is not sent back, it may be anything."""
    assert isinstance(error, RequestValidationError)
    if _wants_page(request):
        wrong = [
            f"“{each['loc'][-1]}” is wrong ({each['msg'][:1].lower()}{each['msg'][1:]})" for each in error.errors()
        ]
        return _trouble_page(request, 422, f"this was not understood: {', '.join(wrong)}")
    told = [{name: each[name] for name in ("loc", "msg", "type")} for each in error.errors()]
    return Response(json.dumps({"detail": told}), 422, media_type="application/json")  # ASCII: half characters too
