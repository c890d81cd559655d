"""What every response carries, and which hosts are answered at all."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
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
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")

Next = Callable[[Request], Awaitable[Response]]


async def put_headers(request: Request, call_next: Next) -> Response:
    """A strict policy on everything; pages and answers are not kept by anybody, static files are."""
    response = await call_next(request)
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)
    response.headers.setdefault("cache-control", "no-store")
    return response


async def only_loopback_names(request: Request, call_next: Next) -> Response:
    """Where nobody signs in, another site must not reach us under a name of its own that leads to this machine."""
    host = request.headers.get("host", "")
    name = host if host.endswith("]") else host.rpartition(":")[0] or host
    if name not in LOOPBACK_NAMES:
        return PlainTextResponse(f"this page answers to {', '.join(LOOPBACK_NAMES)} only", 400)
    return await call_next(request)
