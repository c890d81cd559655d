"""Signing in and out: one-time links, the address of the one who works alone, and the session cookie.

A session begins by POST only: looking at an address, or a picture on another site that leads here, writes nothing.
"""

from __future__ import annotations

import hmac
from math import ceil
from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from labelwise.labelling.people import SESSION_SECONDS
from labelwise.labelling.web.dependencies import (
    NotSignedIn,
    check_origin,
    csrf_protected,
    current_user,
    render,
    site_of,
)
from labelwise.labelling.web.limits import limiter_keys

router = APIRouter(include_in_schema=False)


@router.get("/enter")
def enter(request: Request) -> Response:
    """Where one comes without a session: how to get in."""
    return _sign_in_page(request)


@router.get("/enter/{secret}")
def one_time_link(request: Request, secret: str) -> Response:
    """What a one-time link shows: a button, so that programs that only look at links do not use it up."""
    return _sign_in_page(request, secret=secret)


@router.get("/local/{secret}")
def local_link(request: Request, secret: str) -> Response:
    """The address that `labelwise serve` prints: a form that sends itself, so the secret leaves the address bar."""
    try:
        current_user(request)
    except NotSignedIn:
        return _sign_in_page(request, secret=secret) if works_alone(request) else RedirectResponse("/enter", 303)
    return RedirectResponse("/label", 303)


@router.post("/enter")
def sign_in(request: Request, secret: Annotated[str, Form()]) -> Response:
    """Begin a session. A right secret is always good; wrong ones are counted by address and by how they begin."""
    check_origin(request)
    site, session = site_of(request), _begin(request, secret)
    if session is not None:
        return _with_session(request, session)
    wait = site.logins.failed(*limiter_keys(request.client.host if request.client else "", secret))
    if wait > 0:
        response = _sign_in_page(request, 429, f"Too many wrong links came from here. Try again in {ceil(wait)} s.")
        response.headers["retry-after"] = str(ceil(wait))
        return response
    return _sign_in_page(request, 403, "This link was used already, is too old, or never was one.")


@router.post("/leave")
async def sign_out(request: Request) -> Response:
    await csrf_protected(request)
    site = site_of(request)
    session = request.cookies.get(site.cookie)
    if session is None:
        raise HTTPException(400, "nobody is signed in")
    site.project.people.end(session)
    response = RedirectResponse("/enter", 303)
    response.delete_cookie(site.cookie)
    return response


def works_alone(request: Request) -> bool:
    """Whether only this machine is served, so that nobody has to sign in by a link."""
    site = site_of(request)
    return site.local_user is not None and not site.project.people.has_users()


def _begin(request: Request, secret: str) -> str | None:
    """The session that a secret opens, None where it opens none."""
    site = site_of(request)
    if site.local_user is not None and hmac.compare_digest(secret.encode(errors="replace"), site.local_secret.encode()):
        return site.project.people.begin_local(site.local_user)[1] if works_alone(request) else None
    entered = site.project.people.redeem(secret)
    return None if entered is None else entered[1]


def _sign_in_page(
    request: Request, status: int = 200, trouble: str | None = None, secret: str | None = None
) -> Response:
    return render(request, "enter.html.jinja", status, secret=secret, trouble=trouble, alone=works_alone(request))


def _with_session(request: Request, session: str) -> Response:
    response = RedirectResponse("/label", 303)
    by_https = request.url.scheme == "https" or request.headers.get("origin", "").startswith("https://")
    response.set_cookie(
        site_of(request).cookie,
        session,
        max_age=int(SESSION_SECONDS),
        httponly=True,
        samesite="lax",
        secure=by_https,
    )
    return response
