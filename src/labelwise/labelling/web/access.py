"""Who is signed in, signing in and out, and what every route may ask for: the project, the user, a page to fill in.

A route that takes a `CurrentUser` is closed to everybody else. Every request that may change something is checked
against posts from other sites by `csrf_protected`, which `create_app` puts before all routers. A session begins by POST
only: looking at an address, or a picture on another site that leads here, writes nothing.
"""

from __future__ import annotations

import base64
import binascii
import hmac
from math import ceil
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Form, HTTPException, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from labelwise.labelling.errors import ProjectError, StoreError
from labelwise.labelling.people import METRICS, SESSION_SECONDS, User, check_local
from labelwise.labelling.served import ServedProject
from labelwise.labelling.web.reach import host_name
from labelwise.labelling.web.site import Site, limiter_keys
from labelwise.labelling.web.texts import texts_of

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
CSRF_HEADER, CSRF_FIELD = "x-csrf-token", "csrf"
NAMED_BY_PROXY = "labelwise.named_by_proxy"  # in the scope of a request: what the trusted header said
LONGEST_NAME = 200
FOR_TOKENS = ("/api/", "/metrics")  # where programs come that act for a person
router = APIRouter(include_in_schema=False)


class NotSignedIn(Exception):
    """Nobody is signed in: a page leads to /enter, the JSON interface says 401."""


def site_of(request: Request) -> Site:
    site: Site = request.app.state.site
    return site


def project_of(request: Request) -> ServedProject:
    return site_of(request).project


def current_user(request: Request) -> User:
    """Who is signed in; raises `NotSignedIn`. The database is asked once per request.

    Where a proxy says who it is, a session is good only for the person whom this very request names.
    """
    if not hasattr(request.state, "user"):
        site, named = site_of(request), proxy_person(request)
        session = request.cookies.get(site.cookie)
        found: User | None
        if shows_token(request):
            found = _user_of_token(request)
        else:
            found = site.project.people.user_of_session(session, site.is_local) if session else None
        request.state.user = None if found and named not in (None, found.name) else found
    user: User | None = request.state.user
    if user is None:
        raise NotSignedIn
    return user


def shows_token(request: Request) -> bool:
    """Whether a program asks, by a token of its own: only where programs may, and then no cookie counts."""
    return "authorization" in request.headers and request.scope["path"].startswith(FOR_TOKENS)


def _user_of_token(request: Request) -> User:
    _, secret = shown_token(request)
    site = site_of(request)
    found = site.project.people.user_of_token(secret, site.is_local) if secret else None
    if found is None:
        raise wrong_token(request, "Bearer")
    if found.scope == METRICS and request.scope["path"] != "/metrics":
        raise HTTPException(403, "this token is for /metrics alone; labelwise user token --scope read makes another")
    return found


def shown_token(request: Request) -> tuple[str, str]:
    """The user name, "" where there is none, and the token of `Basic` (its password), `Bearer` or `Token`."""
    kind, _, rest = request.headers.get("authorization", "").partition(" ")
    if kind.lower() in ("bearer", "token"):
        return "", rest.strip()
    if kind.lower() != "basic":
        return "", ""
    try:
        account, _, secret = base64.b64decode(rest, validate=True).decode().partition(":")
    except (binascii.Error, ValueError):
        return "", ""
    return account, secret


def wrong_token(request: Request, kind: str) -> HTTPException:
    """The refusal of a request without a right token: 401, or 429 after too many wrong ones."""
    account, secret = shown_token(request)
    address = request.client.host if request.client else ""
    wait = site_of(request).tokens.failed(*limiter_keys(address, secret, account)) if secret else 0.0
    if wait > 0:
        return HTTPException(429, "too many wrong tokens came from here", {"retry-after": str(ceil(wait))})
    needed = {"www-authenticate": f'{kind} realm="labelwise", charset="UTF-8"'}
    return HTTPException(401, "show a token: labelwise user token PROJECT NAME makes one", needed)


def proxy_person(request: Request) -> str | None:
    """Whom the trusted header names; None where no header is trusted. Anything but one good name is refused."""
    header = site_of(request).reach.trust_header
    if not header:
        return None
    said: list[bytes] | None = request.scope[NAMED_BY_PROXY]
    if said is None:
        raise HTTPException(
            403,
            "this page is reached through its proxy only, and the request came from elsewhere; open the address of the "
            "proxy (labelwise serve --behind-proxy names proxies that are not on this machine)",
        )
    if not any(value.strip() for value in said):
        raise HTTPException(403, f"the proxy did not say who you are: it must send the header {header} every time")
    if len(said) > 1 or b"," in said[0]:
        raise HTTPException(400, f"the proxy named several people: it must replace the header {header}, not add to it")
    try:
        name = said[0].decode().strip()
    except UnicodeDecodeError:
        raise HTTPException(400, f"the name in the header {header} is not UTF-8") from None
    return vouched_name(name, f"the header {header}")


def vouched_name(name: str, source: str) -> str:
    """A name that a proxy or a provider says, checked."""
    if len(name) > LONGEST_NAME:
        raise ProjectError(f"the name in {source} has more than {LONGEST_NAME} characters")
    return check_local(name)


def admin_user(request: Request) -> User:
    """The person who is signed in, if they may manage the project; else 403."""
    user = current_user(request)
    if not user.is_admin:
        raise HTTPException(403, "this is for admins; ask one")
    return user


def reviewing_user(request: Request) -> User:
    """The person who is signed in, if what they say may stand against others; else 403."""
    user = current_user(request)
    if not user.may_settle:
        raise HTTPException(403, "this is for reviewers and admins; ask one")
    return user


async def csrf_protected(request: Request) -> None:
    """Refuse what another site made this browser send: the origin must be ours, and the session's token be there.

    Whoever may only look is refused, too, but for leaving.
    """
    if request.method in SAFE_METHODS:
        return
    check_origin(request)
    user = current_user(request)
    if not user.may_answer and user.scope is not None:
        raise HTTPException(403, "this token may only read; labelwise user token --scope answer makes one that answers")
    if not user.may_answer and request.url.path != "/leave":
        raise HTTPException(403, "you may look at everything here and change nothing; ask an admin for another role")
    if user.scope is not None:
        return  # no browser sends a token by itself
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
    """A page from a template of `templates/`, with what the layout needs: navigation, who is signed in, the token.

    What went wrong, `trouble`, is said in the language of the page.
    """
    site, user, texts = site_of(request), getattr(request.state, "user", None), texts_of(request)
    if values.get("trouble"):
        values["trouble"] = texts.message(values["trouble"])
    page = site.templates.get_template(template)
    hidden = () if user is None else _hidden_pages(user)
    text = page.render(
        t=texts,
        navigation=[address for address in site.navigation if address not in hidden],
        here=request.url.path,
        back=_address(request) if request.method == "GET" else "/",
        title=title or (site.public_title if user is None else site.title),
        user=user,
        **values,
    )
    return HTMLResponse(text, status)


def _address(request: Request) -> str:
    return f"{request.url.path}?{request.url.query}" if request.url.query else request.url.path


def _hidden_pages(user: User) -> tuple[str, ...]:
    """The pages that somebody of this role can do nothing on."""
    return (() if user.may_settle else ("/disagreements",)) + (() if user.may_answer else ("/label", "/sweep"))


def trouble_of(error: ProjectError) -> str:
    """What a page says of an error; one of the store has a page of its own, without where the database is."""
    if isinstance(error, StoreError):
        raise error
    return str(error)


CurrentUser = Annotated[User, Depends(current_user)]
AdminUser = Annotated[User, Depends(admin_user)]
ReviewingUser = Annotated[User, Depends(reviewing_user)]
TheProject = Annotated[ServedProject, Depends(project_of)]


# -- signing in and out: one-time links, the address of the one who works alone, the session cookie -------------------


@router.get("/enter")
def enter(request: Request) -> Response:
    """Where one comes without a session: how to get in."""
    named, site = proxy_person(request), site_of(request)
    if named is not None:
        try:
            site.project.people.check_named(named, site.reach.new_role)
        except ProjectError as error:
            return sign_in_page(request, 403, trouble_of(error))
    return sign_in_page(request)


@router.get("/enter/{secret}")
def one_time_link(request: Request, secret: str) -> Response:
    """What a one-time link shows: a button, so that programs that only look at links do not use it up."""
    return sign_in_page(request, secret=secret)


@router.get("/local/{secret}")
def local_link(request: Request, secret: str) -> Response:
    """The address that `labelwise serve` prints: a form that sends itself, so the secret leaves the address bar."""
    try:
        current_user(request)
    except NotSignedIn:
        return sign_in_page(request, secret=secret) if works_alone(request) else RedirectResponse("/enter", 303)
    return RedirectResponse("/label", 303)


@router.post("/enter")
def sign_in(request: Request, secret: Annotated[str, Form()] = "") -> Response:
    """Begin a session. A right secret is always good; wrong ones are counted by address and by how they begin.

    Where a proxy says who it is, that is all it takes, and links are no good.
    """
    check_origin(request)
    named, site = proxy_person(request), site_of(request)
    if named is not None:
        return begin_named(request, named)
    session = _begin(request, secret)
    if session is not None:
        return _with_session(request, session)
    wait = site.logins.failed(*limiter_keys(request.client.host if request.client else "", secret))
    if wait > 0:
        response = sign_in_page(request, 429, texts_of(request)("door.too_many", seconds=ceil(wait)))
        response.headers["retry-after"] = str(ceil(wait))
        return response
    return sign_in_page(request, 403, texts_of(request)("door.bad_link"))


def begin_named(request: Request, name: str) -> Response:
    """The first page for somebody whom a proxy or a provider vouches for, or why they may not come in."""
    site = site_of(request)
    try:
        session = site.project.people.begin_named(name, site.reach.new_role)
    except ProjectError as error:
        return sign_in_page(request, 403, trouble_of(error))
    return _with_session(request, session)


@router.post("/leave")
async def sign_out(request: Request) -> Response:
    await csrf_protected(request)
    site = site_of(request)
    session = request.cookies.get(site.cookie)
    if session is None:
        raise HTTPException(400, "nobody is signed in")
    site.project.people.end(session)
    response = RedirectResponse("/enter?left" if site.openid else "/enter", 303)
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


def sign_in_page(
    request: Request, status: int = 200, trouble: str | None = None, secret: str | None = None
) -> Response:
    site, base = site_of(request), f"{request.url.scheme}://{request.headers.get('host', '')}"
    return render(
        request,
        "enter.html.jinja",
        status,
        secret=secret,
        trouble=trouble,
        alone=works_alone(request),
        named=proxy_person(request),
        provider=site.reach.provider,
        sign_out=site.openid.sign_out_address(f"{base}/enter")
        if site.openid and "left" in request.query_params
        else None,
    )


def _with_session(request: Request, session: str) -> Response:
    return begin_session(request, RedirectResponse("/label", 303), session)


def begin_session(request: Request, response: Response, session: str | None) -> Response:
    """The same response with the cookie of a session, if one has begun."""
    if session is None:
        return response
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
