"""What every route may ask for: the project, who is signed in, a page to fill in; and what guards them all.

A route that takes a `CurrentUser` is closed to everybody else. Every request that may change something is checked
against posts from other sites by `csrf_protected`, which `create_app` puts before all routers.
"""

from __future__ import annotations

import hmac
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Request
from fastapi.responses import HTMLResponse

from labelwise.labelling.errors import ProjectError, StoreError
from labelwise.labelling.people import User
from labelwise.labelling.served import ServedProject
from labelwise.labelling.web.reach import host_name
from labelwise.labelling.web.site import Site

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
CSRF_HEADER, CSRF_FIELD = "x-csrf-token", "csrf"


class NotSignedIn(Exception):
    """Nobody is signed in: a page leads to /enter, the JSON interface says 401."""


def site_of(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


def project_of(request: Request) -> ServedProject:
    return site_of(request).project


def current_user(request: Request) -> User:
    """Who is signed in; raises `NotSignedIn`. The database is asked once per request."""
    if not hasattr(request.state, "user"):
        site = site_of(request)
        session = request.cookies.get(site.cookie)
        request.state.user = site.project.people.user_of_session(session, site.is_local) if session else None
    user: User | None = request.state.user
    if user is None:
        raise NotSignedIn
    return user


def admin_user(request: Request) -> User:
    """The person who is signed in, if they may manage the project; else 403."""
    user = current_user(request)
    if not user.is_admin:
        raise HTTPException(403, "this is for admins; ask one")
    return user


async def csrf_protected(request: Request) -> None:
    """Refuse what another site made this browser send: the origin must be ours, and the session's token be there."""
    if request.method in SAFE_METHODS:
        return
    check_origin(request)
    user = current_user(request)
    token = request.headers.get(CSRF_HEADER)
    if token is None and "form" in request.headers.get("content-type", ""):
        token = str((await request.form()).get(CSRF_FIELD, ""))
    if not hmac.compare_digest((token or "").encode(), user.csrf.encode()):
        raise HTTPException(403, "the request did not come from this page; load the page again")


def check_origin(request: Request) -> None:
    """Browsers say where a request comes from; a script that is no browser may leave it out.

    Behind a proxy that puts its own Host in, the origin is one of the names that the owner allowed.
    """
    origin = request.headers.get("origin")
    if origin is None:
        return
    host = origin.partition("://")[2]
    if host != request.headers.get("host") and host_name(host) not in site_of(request).reach.allow_hosts:
        raise HTTPException(403, f"requests from {origin[:80]} are not taken")


def render(
    request: Request, template: str, status: int = 200, *, title: str | None = None, **values: Any
) -> HTMLResponse:
    """A page from a template of `templates/`, with what the layout needs: navigation, who is signed in, the token."""
    site, user = site_of(request), getattr(request.state, "user", None)
    page = site.templates.get_template(template)
    text = page.render(
        navigation=site.navigation,
        here=request.url.path,
        title=title or (site.public_title if user is None else site.title),
        user=user,
        **values,
    )
    return HTMLResponse(text, status)


def trouble_of(error: ProjectError) -> str:
    """What a page says of an error; one of the store has a page of its own, without where the database is."""
    if isinstance(error, StoreError):
        raise error
    return str(error)


CurrentUser = Annotated[User, Depends(current_user)]
AdminUser = Annotated[User, Depends(admin_user)]
TheProject = Annotated[ServedProject, Depends(project_of)]
