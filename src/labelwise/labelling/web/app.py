"""The application: routers from their own modules, one layout, and the guards before all of them."""

from __future__ import annotations

import json
import logging
import secrets
from contextlib import suppress
from importlib.resources import files
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from labelwise import __version__
from labelwise.labelling.errors import AnswerRefused, ProjectError, StoreError
from labelwise.labelling.served import ServedProject
from labelwise.labelling.web import (
    access,
    browse_view,
    json_api,
    label_view,
    ml_backend,
    progress_view,
    vocabulary_view,
)
from labelwise.labelling.web.dependencies import NotSignedIn, csrf_protected, current_user, render, site_of
from labelwise.labelling.web.middleware import BehindProxy, BodyLimits, CheckHost, SecurityHeaders
from labelwise.labelling.web.reach import Reach
from labelwise.labelling.web.site import Site

# In the order of the navigation. A module has a `router`, and if it is a page, `NAVIGATION`: its title and address.
PAGES: tuple[Any, ...] = (label_view, progress_view, browse_view, vocabulary_view)
# Modules that guard themselves (signing in; what other programs call with a token of their own) come without the
# protection against posts from other sites, which looks for a session.
SELF_GUARDED: tuple[Any, ...] = (access, ml_backend)
FOR_PROGRAMS = ("/api/", "/label-studio")  # addresses that answer with JSON, whoever asks
_log = logging.getLogger(__name__)
STATUS_OF = {AnswerRefused: 409, StoreError: 503, ProjectError: 400}


def create_app(
    project: ServedProject,
    *,
    local_user: str | None = None,
    local_secret: str | None = None,
    reach: Reach | None = None,
) -> FastAPI:
    """The page of a project.

    Parameters
    ----------
    project : ServedProject
        A `Project`, or one opened without its models. It is not closed here.
    local_user : str or None
        Who works alone, without signing in, while the project has no users; only for a server that nobody else reaches.
    local_secret : str or None
        What he shows to come in, at /local/SECRET; None makes one, `app.state.site.local_secret`.
    reach : Reach or None
        How the server is reached; None is this machine with a `local_user`, else any name and no proxy.
    """
    if reach is None:
        reach = Reach("127.0.0.1" if local_user is not None else "")
    app = FastAPI(
        title="labelwise",
        version=__version__,
        summary="Questions out, answers in: the interface beneath the labelling page.",
        docs_url=None,  # they load scripts from elsewhere
        redoc_url=None,
        openapi_url="/api/openapi.json",
    )
    app.state.site = Site(
        project,
        local_user,
        tuple(page.NAVIGATION for page in PAGES),
        local_secret=local_secret or secrets.token_urlsafe(24),
        reach=reach,
    )
    for module in (*PAGES, json_api):
        app.include_router(module.router, dependencies=[Depends(csrf_protected)])
    for module in SELF_GUARDED:
        app.include_router(module.router)
    app.mount("/static", StaticFiles(directory=str(files("labelwise.labelling.web") / "static")), "static")
    app.add_exception_handler(NotSignedIn, _ask_to_sign_in)
    app.add_exception_handler(ProjectError, _project_error)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_middleware(BodyLimits, refuse=_error_response)  # the last one added is the first that a request meets
    app.add_middleware(CheckHost, reach=reach)
    app.add_middleware(BehindProxy, reach=reach)
    app.add_middleware(SecurityHeaders)
    return app


def _error_response(request: Request, error: Exception) -> Response:
    """What is refused before it comes to a route."""
    handler = {NotSignedIn: _ask_to_sign_in, HTTPException: _http_error}.get(type(error), _project_error)
    return handler(request, error)


def _ask_to_sign_in(request: Request, _: Exception) -> Response:
    if request.url.path.startswith("/api/"):
        return JSONResponse({"detail": "nobody is signed in here"}, 401)
    return RedirectResponse("/enter", 303)


def _project_error(request: Request, error: Exception) -> Response:
    """What a project cannot do, in its own words; where the database is, and what it said, is for the log alone."""
    status = next(status for kind, status in STATUS_OF.items() if isinstance(error, kind))
    message = str(error)
    if isinstance(error, StoreError):
        _log.warning("%s %s: %s", request.method, request.url.path, error)
        message = error.public
    if _wants_page(request):
        return _error_page(request, status, message)
    return JSONResponse({"detail": message}, status)


def _http_error(request: Request, error: Exception) -> Response:
    """An address that is none, or something that is not allowed."""
    assert isinstance(error, HTTPException)
    if _wants_page(request):
        message = "there is no such page" if error.detail == "Not Found" else str(error.detail)
        return _error_page(request, error.status_code, message)
    return JSONResponse({"detail": error.detail}, error.status_code, headers=error.headers)


def _wants_page(request: Request) -> bool:
    """Whether a person looks at the answer: browsers ask for pages so, programs and our own scripts do not."""
    return "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(FOR_PROGRAMS)


def _error_page(request: Request, status: int, message: str) -> Response:
    with suppress(NotSignedIn, StoreError):
        current_user(request)  # the layout shows the way to the other pages to those who are signed in
    title = site_of(request).public_title
    return render(request, "trouble.html.jinja", status, title=title, trouble=f"{message[:1].upper()}{message[1:]}.")


def _invalid_request(request: Request, error: Exception) -> Response:
    """Where a request is wrong and why; what was sent is not sent back, it may be anything."""
    assert isinstance(error, RequestValidationError)
    if _wants_page(request):
        wrong = [
            f"“{each['loc'][-1]}” is wrong ({each['msg'][:1].lower()}{each['msg'][1:]})" for each in error.errors()
        ]
        return _error_page(request, 422, f"this was not understood: {', '.join(wrong)}")
    problems = [{name: each[name] for name in ("loc", "msg", "type")} for each in error.errors()]
    return Response(json.dumps({"detail": problems}), 422, media_type="application/json")  # ASCII: half characters too
