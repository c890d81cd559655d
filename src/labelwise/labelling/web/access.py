"""The door: one-time links, the session cookie, and the way out."""

from __future__ import annotations

from math import ceil
from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.responses import RedirectResponse, Response

from labelwise.labelling.people import SESSION_SECONDS
from labelwise.labelling.web.dependencies import check_origin, csrf_protected, render, site_of

router = APIRouter(include_in_schema=False)


@router.get("/enter")
def enter(request: Request) -> Response:
    """Where one comes without a session: who works alone is let in at once, others are told how to get a link."""
    if works_alone(request):
        return let_in(request)
    return render(request, "enter.html.jinja", secret=None, trouble=None)


@router.get("/enter/{secret}")
def door(request: Request, secret: str) -> Response:
    """What a one-time link shows: a button, so that programs that only look at links do not use it up."""
    return render(request, "enter.html.jinja", secret=secret, trouble=None)


@router.post("/enter")
def sign_in(request: Request, secret: Annotated[str, Form()]) -> Response:
    check_origin(request)
    site, address = site_of(request), request.client.host if request.client else ""
    wait = site.logins.wait(address)
    if wait > 0:
        told = f"Too many wrong links came from here. Try again in {ceil(wait)} s."
        response = render(request, "enter.html.jinja", 429, secret=None, trouble=told)
        response.headers["retry-after"] = str(ceil(wait))
        return response
    entered = site.project.people.redeem(secret)
    if entered is None:
        site.logins.failed(address)
        told = "This link was used already, is too old, or never was one."
        return render(request, "enter.html.jinja", 403, secret=None, trouble=told)
    return _with_session(request, entered[1])


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
    """Whether this machine alone is served, and nobody has to sign in."""
    site = site_of(request)
    return site.local_user is not None and not site.project.people.there_are_some()


def let_in(request: Request, address: str = "/label") -> Response:
    """A session for the one who works alone, and on to where he wanted to go."""
    site = site_of(request)
    _, session = site.project.people.begin_local(site.local_user or "")
    return _with_session(request, session, address)


def _with_session(request: Request, session: str, address: str = "/label") -> Response:
    response = RedirectResponse(address, 303)
    response.set_cookie(
        site_of(request).cookie,
        session,
        max_age=int(SESSION_SECONDS),
        httponly=True,
        samesite="lax",
        secure=request.url.scheme == "https",
    )
    return response
