"""The application: routers from their own modules, one layout, and the guards before all of them."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
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
from labelwise.labelling.web.dependencies import NotSignedIn, csrf_protected
from labelwise.labelling.web.headers import only_loopback_names, put_headers
from labelwise.labelling.web.site import Site

# In the order of the navigation. A module has a `router`, and if it is a page, `NAVIGATION`: its title and address.
PAGES: tuple[Any, ...] = (label_view, progress_view, browse_view, labels_view)
# Modules that guard themselves (the door; what other programs call with a token of their own) come without the
# protection against posts from other sites, which looks for a session.
SELF_GUARDED: tuple[Any, ...] = (access, ml_backend)
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


def _told(_: Request, error: Exception) -> Response:
    """What a project cannot do, in its own words."""
    status = next(status for kind, status in STATUS_OF.items() if isinstance(error, kind))
    return JSONResponse({"detail": str(error)}, status)


def _misunderstood(_: Request, error: Exception) -> Response:
    """Where a request is wrong and why; what was sent is not sent back, it may be anything."""
    assert isinstance(error, RequestValidationError)
    told = [{name: each[name] for name in ("loc", "msg", "type")} for each in error.errors()]
    return Response(json.dumps({"detail": told}), 422, media_type="application/json")  # ASCII: half characters too
