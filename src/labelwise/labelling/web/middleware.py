"""Before all routes: headers of every reply, hosts and proxies, and how much of a request is read, for how long."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from labelwise.labelling.errors import ProjectError
from labelwise.labelling.web.access import NAMED_BY_PROXY, SAFE_METHODS, NotSignedIn, current_user, shows_token, site_of
from labelwise.labelling.web.ml_backend import program_of
from labelwise.labelling.web.reach import LOOPBACK_NAMES, Reach, is_loopback

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "media-src 'self'; object-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # without any, browsers would not say where our own forms come from
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}
KIB, MIB = 2**10, 2**20
PROGRAMS = "/label-studio"
SIGNED_IN_BYTES = MIB
MAX_BYTES = {  # of the largest body, where it is not that
    "/enter": 16 * KIB,  # the one place where a body is read of somebody who is not known
    "/api/answer": 8 * MIB,  # the names of 100 000 labels
    PROGRAMS: 10 * MIB,  # read only once its token was found right
}
ANONYMOUS_SECONDS, SIGNED_IN_SECONDS = 8.0, 120.0  # for the whole of a body
ANONYMOUS_AT_ONCE, ANONYMOUS_WAITING = 4, 64  # requests without a session: those who are signed in come first


class SecurityHeaders:
    """A strict policy on everything; pages and answers are not kept by anybody, static files are."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class CheckHost:
    """A server for this machine does not answer to a name that another site made lead here."""

    def __init__(self, app: ASGIApp, reach: Reach) -> None:
        self.app, self.reach = app, reach

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and not self.reach.answers_to(Headers(scope=scope).get("host", "")):
            names = ", ".join((*LOOPBACK_NAMES, *self.reach.allow_hosts))
            message = f"this page answers to {names} only; labelwise serve --allow-host NAME adds a name"
            if not is_loopback(self.reach.host):
                message = "the Host header is no name"
            await PlainTextResponse(message, 400)(scope, receive, send)
            return
        await self.app(scope, receive, send)


class BehindProxy:
    """Take the address, the scheme and the host of a request from the headers of a proxy, if it is one that was named.

    From anybody else these headers mean nothing: they are taken out. So is the header that says who it is; its values
    are kept as `scope[NAMED_BY_PROXY]`, None if no named proxy sent the request.
    """

    def __init__(self, app: ASGIApp, reach: Reach) -> None:
        self.app, self.reach = app, reach

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope = self._as_the_browser_sent_it(scope)
        await self.app(scope, receive, send)

    def _as_the_browser_sent_it(self, scope: Scope) -> Scope:
        headers = Headers(scope=scope)
        trusted = self.reach.trust_header.lower().encode()
        kept = [
            (name, value)
            for name, value in scope["headers"]
            if not name.startswith(b"x-forwarded-") and name.lower() != trusted
        ]
        changed = {**scope, "headers": kept, NAMED_BY_PROXY: None}
        if not self.reach.is_proxy((scope.get("client") or ("",))[0]):
            return changed
        changed[NAMED_BY_PROXY] = [value for name, value in scope["headers"] if name.lower() == trusted]
        if (client := self._client(headers)) is not None:
            changed["client"] = (client, 0)
        proto = headers.get("x-forwarded-proto", "").rpartition(",")[2].strip().lower()
        if proto in ("http", "https"):
            changed["scheme"] = proto
        host = headers.get("x-forwarded-host", "").rpartition(",")[2].strip()
        if host:
            changed["headers"] = [pair for pair in kept if pair[0] != b"host"] + [(b"host", host.encode("latin-1"))]
        return changed

    def _client(self, headers: Headers) -> str | None:
        """The last address that no named proxy wrote about another: those before it are anybody's word."""
        said = ",".join(headers.getlist("x-forwarded-for")).split(",")
        found = None
        for address in reversed([each.strip() for each in said if each.strip()]):
            found = address
            if not self.reach.is_proxy(address):
                break
        return found


Refuse = Callable[[Request, Exception], Response]


class BodyLimits:
    """Pure ASGI, before all routes: limits the size of every body by its announced length and as it comes in.

    A request that needs somebody who is signed in is refused before its body is read. A connection whose body was not
    read to its end is closed with the reply.

    Parameters
    ----------
    app : the application
    refuse : the response to HTTPException, ProjectError and NotSignedIn
    """

    def __init__(self, app: ASGIApp, refuse: Refuse) -> None:
        self.app, self.refuse = app, refuse
        self._anonymous = asyncio.Semaphore(ANONYMOUS_AT_ONCE)
        self._waiting = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request, body = Request(scope), _Body(scope, receive)
        try:
            is_known = await self._check(request, body)
        except (HTTPException, ProjectError, NotSignedIn) as error:
            await self.refuse(request, error)(scope, receive, body.closing(send))
            return
        if is_known:
            await self.app(scope, body.receive, body.closing(send))
        else:
            await self._serve_anonymous(request, body, send)

    async def _check(self, request: Request, body: _Body) -> bool:
        """Whether somebody known asks; raises what the request is refused with."""
        path, is_safe = _path(request), request.method in SAFE_METHODS
        is_known = await _is_known(request)
        if is_safe and body.expected:
            raise HTTPException(413, f"a {request.method} request has no body")
        if not is_safe and not is_known and path != "/enter" and not _is_under(path, PROGRAMS):
            raise NotSignedIn
        body.most = next((most for place, most in MAX_BYTES.items() if _is_under(path, place)), SIGNED_IN_BYTES)
        body.seconds = SIGNED_IN_SECONDS if is_known else ANONYMOUS_SECONDS
        if body.length is not None and body.length > body.most:
            raise body.too_large()
        return is_known

    async def _serve_anonymous(self, request: Request, body: _Body, send: Send) -> None:
        try:
            if body.expected and _path(request) == "/enter":  # nobody else's is read at all
                await body.read_all()  # first: who sends it slowly must not keep the others waiting
            if self._waiting >= ANONYMOUS_WAITING:
                message = "too many visitors who are not signed in; try again in a moment"
                raise HTTPException(503, message, {"retry-after": "2"})
        except HTTPException as error:
            await self.refuse(request, error)(request.scope, body.receive, body.closing(send))
            return
        self._waiting += 1
        try:
            async with self._anonymous:
                await self.app(request.scope, body.receive, body.closing(send))
        finally:
            self._waiting -= 1


class _Body:
    """The body of one request as it comes in."""

    def __init__(self, scope: Scope, receive: Receive) -> None:
        headers = Headers(scope=scope)
        length = headers.get("content-length", "")
        self.length = int(length) if length.isascii() and length.isdigit() and len(length) < 19 else None
        self.expected = bool(self.length) or "transfer-encoding" in headers or (bool(length) and self.length is None)
        self.most, self.seconds = 0, ANONYMOUS_SECONDS
        self._receive = receive
        self._read = 0
        self._until: float | None = None
        self._done = not self.expected
        self._kept: Message | None = None

    async def receive(self) -> Message:
        """The next piece; HTTPException where there is too much of it or it takes too long."""
        if self._kept is not None:
            kept, self._kept = self._kept, None
            return kept
        if self._done:
            return await self._receive()
        message = await self._next()
        self._read += len(message.get("body", b""))
        if self._read > self.most:
            raise self.too_large()
        self._done = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    async def read_all(self) -> None:
        """Read it to its end and keep it for `receive`."""
        pieces = bytearray()
        message: Message = {"type": "http.request"}
        while not self._done:
            message = await self.receive()
            pieces += message.get("body", b"")
        gone = message["type"] != "http.request"
        self._kept = message if gone else {"type": "http.request", "body": bytes(pieces), "more_body": False}

    async def _next(self) -> Message:
        now = asyncio.get_running_loop().time()
        if self._until is None:
            self._until = now + self.seconds
        try:
            return await asyncio.wait_for(self._receive(), max(0.0, self._until - now))
        except TimeoutError:
            raise HTTPException(408, f"the request did not come in within {self.seconds:g} s; send it again") from None

    def too_large(self) -> HTTPException:
        return HTTPException(413, f"the request is too large: at most {self.most} bytes are taken here")

    def closing(self, send: Send) -> Send:
        """A `send` that ends the connection with the reply where the body was not read to its end."""

        async def send_and_close(message: Message) -> None:
            if message["type"] == "http.response.start" and not self._done:
                MutableHeaders(scope=message)["connection"] = "close"
            await send(message)

        return send_and_close


async def _is_known(request: Request) -> bool:
    """Whether the request has a good session or token; noted in it, so that the database is asked once."""
    if _is_under(_path(request), "/static"):
        return bool(request.cookies)  # nothing to be guarded: no database is asked for it
    if _is_under(_path(request), PROGRAMS):
        return "authorization" in request.headers and await run_in_threadpool(program_of, request) is not None
    if site_of(request).cookie not in request.cookies and not shows_token(request):
        return False
    try:
        await run_in_threadpool(current_user, request)
    except NotSignedIn:
        return False
    return True


def _path(request: Request) -> str:
    """What routes go by. The path of `request.url` can be forged by a Host header."""
    path: str = request.scope["path"]
    return path


def _is_under(path: str, place: str) -> bool:
    return path == place or path.startswith(f"{place}/")
