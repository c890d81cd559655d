"""The application (routers, one layout, the guards before all), and serving it: connections, the worker beside it."""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from subprocess import Popen
from typing import Any

import uvicorn
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse, Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from uvicorn.protocols.http.h11_impl import H11Protocol

from labelwise import __version__
from labelwise.labelling.errors import AnswerRefused, ProjectError, StoreError
from labelwise.labelling.served import ServedProject
from labelwise.labelling.training.derived import derived_path
from labelwise.labelling.training.locks import worker_is_running
from labelwise.labelling.training.worker_process import start_worker
from labelwise.labelling.web import (
    access,
    browse_view,
    json_api,
    label_view,
    ml_backend,
    oidc,
    operations,
    people_view,
    project_view,
    review_view,
    sweep_view,
    texts,
)
from labelwise.labelling.web.access import NotSignedIn, csrf_protected, current_user, render, site_of
from labelwise.labelling.web.middleware import BehindProxy, BodyLimits, CheckHost, SecurityHeaders
from labelwise.labelling.web.reach import BACKLOG, SECRET_FILE, Reach, local_secret
from labelwise.labelling.web.site import Site

NAVIGATION = ("/label", "/sweep", "/progress", "/browse", "/vocabulary", "/disagreements", "/notes", "/people")
GUARDED: tuple[Any, ...] = (label_view, browse_view, project_view, sweep_view, review_view, people_view, json_api)
# Modules that guard themselves (signing in; what other programs call with a token of their own) come without the
# protection against posts from other sites, which looks for a session.
SELF_GUARDED: tuple[Any, ...] = (access, oidc, ml_backend, operations, texts)
FOR_PROGRAMS = ("/api/", "/label-studio", "/metrics", "/healthz")  # addresses that answer with JSON, whoever asks
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
        The secret to sign in with, at /local/SECRET; None makes one, `app.state.site.local_secret`.
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
        NAVIGATION,
        local_secret=local_secret or secrets.token_urlsafe(24),
        reach=reach,
        openid=None if reach.provider is None else oidc.OpenIdClient(reach.provider),
    )
    for module in GUARDED:
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
    operations.observe(app, [route.path for module in (*GUARDED, *SELF_GUARDED) for route in module.router.routes])
    return app


def _error_response(request: Request, error: Exception) -> Response:
    """What is refused before it comes to a route."""
    if isinstance(error, HTTPException):
        return _http_error(request, error)
    return _ask_to_sign_in(request, error) if isinstance(error, NotSignedIn) else _project_error(request, error)


def _ask_to_sign_in(request: Request, _: Exception) -> Response:
    if request.url.path.startswith(FOR_PROGRAMS):
        return JSONResponse({"detail": texts.texts_of(request).message("nobody is signed in here")}, 401)
    return RedirectResponse("/enter", 303)


def _project_error(request: Request, error: Exception) -> Response:
    """What a project cannot do, in its own words; where the database is, and what it said, is for the log alone."""
    status = next(status for kind, status in STATUS_OF.items() if isinstance(error, kind))
    message, said = str(error), texts.texts_of(request).message
    if isinstance(error, StoreError):
        _log.warning("%s %s: %s", request.method, request.url.path, error)
        message = error.public
    if _wants_page(request):
        return _error_page(request, status, said(message))
    return JSONResponse({"detail": said(message)}, status)


def _http_error(request: Request, error: Exception) -> Response:
    """An address that is none, or something that is not allowed."""
    assert isinstance(error, HTTPException)
    said, wants_page = texts.texts_of(request).message, _wants_page(request)
    detail = "there is no such page" if wants_page and error.detail == "Not Found" else str(error.detail)
    if wants_page:
        return _error_page(request, error.status_code, said(detail))
    return JSONResponse({"detail": said(detail)}, error.status_code, headers=error.headers)


def _wants_page(request: Request) -> bool:
    """Whether a person looks at the answer: browsers ask for pages so, programs and our own scripts do not."""
    return "text/html" in request.headers.get("accept", "") and not request.url.path.startswith(FOR_PROGRAMS)


def _error_page(request: Request, status: int, message: str) -> Response:
    with suppress(NotSignedIn, HTTPException, ProjectError):
        current_user(request)  # the layout shows the way to the other pages to those who are signed in
    title = site_of(request).public_title
    return render(request, "trouble.html.jinja", status, title=title, trouble=f"{message[:1].upper()}{message[1:]}.")


def _invalid_request(request: Request, error: Exception) -> Response:
    """Where a request is wrong and why; what was sent is not sent back, it may be anything."""
    assert isinstance(error, RequestValidationError)
    if _wants_page(request):
        fields = ", ".join(f"“{each['loc'][-1]}”" for each in error.errors())
        return _error_page(request, 422, texts.texts_of(request).plain("page.not_understood", fields=fields))
    problems = [{name: each[name] for name in ("loc", "msg", "type")} for each in error.errors()]
    return Response(json.dumps({"detail": problems}), 422, media_type="application/json")  # ASCII: half characters too


WORKER_DELAY = 2.0  # seconds: loading what it trains with takes both cores, and the first question goes first
LONGEST_DELAY = 60.0  # seconds before a worker that dies again and again is started once more
LONGEST_STORE_DELAY = 4.0  # ... where it died because the database could not be read or written
LIVED_WELL = 60.0  # seconds after which a worker's death is no longer counted with those before
ACCEPTED_AT_ONCE = 16  # connections, before what they send is read and those are closed that are one too many
HEAD_SECONDS = 8.0  # from the connection, or the first byte of its next request, to the end of the head
STALLED_SECONDS = 20.0  # without a byte taken of a reply
SWEEP_SECONDS = 1.0
MOST_OPEN, MOST_PER_ADDRESS = 400, 100
RESERVED_FILES = 200  # for the database, pictures and connections that are being closed
READ_BYTES = 64 * 1024  # taken of a connection at a time
CLOSED_FIRST = ("incomplete", "idle", "returning")
HEAD_BYTES = 32 * 1024  # of a request line and its headers


def check_reach(project: ServedProject, reach: Reach) -> None:
    """Refuse to show a project to the network while anybody there could label as anybody."""
    if not reach.is_local and not project.people.has_users():
        place = ", ".join(reach.allow_hosts) or reach.host or "every address"
        raise ProjectError(
            f"{place} can be reached by others, and the project has no users: anybody could read and answer. Add users "
            "first (labelwise user add PROJECT NAME), or leave --host, --allow-host and --behind-proxy out to serve "
            "only this machine"
        )


def secret_folder(project: ServedProject) -> Path:
    """Where the secret in the address of a project without users is kept."""
    return derived_path(project.store, SECRET_FILE).parent


class Server(uvicorn.Server):
    """A uvicorn server that says when it takes requests."""

    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(BACKLOG)  # asyncio has just made it as short as what it takes at once
        if self.started:
            self._on_ready()


def serve_project(
    project: ServedProject,
    *,
    reach: Reach | None = None,
    port: int = 8000,
    listening: socket.socket | None = None,
    local_user: str,
    worker: bool = True,
    on_ready: Callable[[], None] = lambda: None,
) -> None:
    """Serve the page until stopped by a signal; start a worker unless `worker` is False or one is running.

    Parameters
    ----------
    project : ServedProject
    reach, port : where to listen, by default on this machine; anything but that only for projects with users
    listening : a socket that does so already, from `reach.listen`, optional
    local_user : the name of the one who works alone, where the project has no users and only this machine is served
    worker : whether to start a worker
    on_ready : called when requests are taken
    """
    reach = reach or Reach()
    check_reach(project, reach)
    app = create_app(
        project,
        local_user=local_user if reach.is_local else None,
        local_secret=local_secret(secret_folder(project)) if reach.is_local else None,
        reach=reach,
    )
    config = server_config(app, reach, port)
    keeper = WorkerKeeper(project) if worker else None
    try:
        Server(config, on_ready).run(sockets=None if listening is None else [listening])
    finally:
        if keeper is not None:
            keeper.stop()


def server_config(app: Any, reach: Reach, port: int) -> uvicorn.Config:
    """How uvicorn serves us: forwarded headers are our own business, and connections are bounded in number and time."""
    return uvicorn.Config(
        app,
        reach.host,
        port,
        log_level="error",  # anybody could fill a log with requests that are none
        access_log=False,
        proxy_headers=False,
        server_header=False,
        http=Connections(reach).protocol,  # type: ignore[arg-type]  # it is called as the class would be
        ws="none",
        backlog=ACCEPTED_AT_ONCE,
        h11_max_incomplete_event_size=HEAD_BYTES,
        timeout_graceful_shutdown=3,
    )


class WorkerKeeper:
    """Keeps a worker running beside the server: starts it a little later, and again if it dies.

    Parameters
    ----------
    project : ServedProject
    """

    def __init__(self, project: ServedProject) -> None:
        self._project = project
        project.starts_worker = True
        self._process: Popen[Any] | None = None
        self._began = 0.0
        self._delay = WORKER_DELAY  # between a death and the next start
        self._trouble = ""
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="worker keeper", daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        while not self._stopped.wait(min(self._delay, WORKER_DELAY)):
            try:
                self._ensure_worker()
                self._trouble = ""
            except (StoreError, OSError) as error:  # the database or the machine is in trouble: look again
                self._say(str(error))

    def _ensure_worker(self) -> None:
        """Start a worker where there is none; one that died soon after its start waits longer each time."""
        if self._process is not None:
            code = self._process.poll()
            if code is None:
                return
            self._note_death(code)
        if time.monotonic() < self._began + self._delay:
            return
        store = self._project.store
        store.check()  # a worker beside a file that was replaced would train for another project
        if not worker_is_running(store):
            self._process, self._began = start_worker(store), time.monotonic()

    def _note_death(self, code: int) -> None:
        self._process = None
        if time.monotonic() - self._began > LIVED_WELL:
            self._delay = WORKER_DELAY
        else:
            longest = LONGEST_STORE_DELAY if code == StoreError.exit_code else LONGEST_DELAY
            self._delay = min(2 * self._delay, longest)
        self._say(f"the worker ended with code {code}; it is started again in {self._delay:.0f} s")

    def _say(self, trouble: str) -> None:
        """Once for each kind of trouble, not every time that it is looked at."""
        if trouble != self._trouble:
            _log.warning("%s", trouble)
            self._trouble = trouble

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait()


# -- connections -------------------------------------------------------------------------------------------------------


def most_open() -> int:
    """How many connections there may be, well below the number of files that the process may open."""
    if sys.platform == "win32":
        return MOST_OPEN
    import resource

    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return MOST_OPEN if soft == resource.RLIM_INFINITY else max(20, min(MOST_OPEN, (soft - RESERVED_FILES) // 2))


class Connections:
    """All open connections of a server, bounded in number and time; `protocol` is what uvicorn makes for each.

    uvicorn has no limit on the time that the head of a request takes, and none per address. A connection is
    *incomplete* until a whole request has come in, *busy* until it is answered, then *idle*, and *returning* while its
    next request is coming in. Where there is no room for a new one, the oldest incomplete connection is closed, then
    the oldest idle one, then the oldest returning one; busy ones never are.

    Parameters
    ----------
    reach : whose named proxies may have any number of connections
    most, per_address : of open connections; None takes as many as the system's limit allows
    """

    def __init__(self, reach: Reach, most: int | None = None, per_address: int = MOST_PER_ADDRESS) -> None:
        self.reach = reach
        self.most = most_open() if most is None else most
        self.per_address = per_address
        self._states: dict[str, dict[GuardedProtocol, None]]  # each in the order in which they became so
        self._states = {state: {} for state in (*CLOSED_FIRST, "busy")}
        self._by_address: dict[str, int] = {}
        self._sweeper: asyncio.TimerHandle | None = None

    def protocol(self, *arguments: Any, **named: Any) -> GuardedProtocol:
        made = GuardedProtocol(*arguments, **named)
        made.guard = self
        return made

    def __len__(self) -> int:
        return sum(map(len, self._states.values()))

    def add(self, new: GuardedProtocol) -> None:
        """Take a new connection, at the cost of another one where there are too many; or close it."""
        self._by_address[new.address] = self._by_address.get(new.address, 0) + 1
        self._states["incomplete"][new] = None
        if self._by_address[new.address] > self.per_address and not self.reach.is_proxy(new.address):
            self._make_room(new, new.address)
        elif len(self) > self.most:
            self._make_room(new, None)
        if self._sweeper is None:
            self._sweeper = new.loop.call_later(SWEEP_SECONDS, self._sweep, new.loop)

    def move(self, connection: GuardedProtocol, state: str) -> None:
        """Note what a connection is now."""
        if connection in self._states[state]:
            return  # where it was in order
        for others in self._states.values():
            others.pop(connection, None)
        self._states[state][connection] = None

    def drop(self, gone: GuardedProtocol) -> None:
        for connections in self._states.values():
            if gone in connections:
                del connections[gone]
                self._by_address[gone.address] -= 1
                if not self._by_address[gone.address]:
                    del self._by_address[gone.address]

    def _make_room(self, new: GuardedProtocol, address: str | None) -> None:
        for state in CLOSED_FIRST:
            for found in self._states[state]:
                if found is not new and address in (None, found.address):
                    self._close(found)
                    return
        self._close(new)

    def _close(self, connection: GuardedProtocol) -> None:
        self.drop(connection)
        connection.transport.abort()

    def _sweep(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for connection in [each for connections in self._states.values() for each in connections]:
            if connection.is_overdue(now):
                self._close(connection)
        self._sweeper = loop.call_later(SWEEP_SECONDS, self._sweep, loop) if len(self) else None


class GuardedProtocol(H11Protocol):
    """uvicorn's protocol, which tells `guard` how far its request is."""

    guard: Connections

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # narrower, as uvicorn calls it
        super().connection_made(transport)
        if hasattr(transport, "max_size"):
            transport.max_size = READ_BYTES  # asyncio's own reads 256 KiB, for each of hundreds of connections
        self.address = self.client[0] if self.client else ""
        self._head_since: float | None = self.loop.time()
        self._unsent = (0, self.loop.time())
        self._was_answered = False
        self.guard.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.guard.drop(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        self._note(has_begun=True)

    def on_response_complete(self) -> None:
        if self.conn.trailing_data[0] and not self.transport.is_closing():
            self.transport.close()  # the next request, sent before the reply came: no browser does that
        self._was_answered = True
        super().on_response_complete()
        self._note(has_begun=False)

    def _note(self, has_begun: bool) -> None:
        """Where in a request we are; `has_begun`: something came that no request was answered for."""
        if self.transport.is_closing():
            return
        coming_in = "returning" if self._was_answered else "incomplete"
        if self.cycle is not None and not self.cycle.response_complete:
            self._head_since = None
            self.guard.move(self, coming_in if self.cycle.more_body else "busy")
        elif has_begun:
            self._head_since = self._head_since or self.loop.time()
            self.guard.move(self, coming_in)
        else:
            self.guard.move(self, "idle")

    def is_overdue(self, now: float) -> bool:
        """Whether the head of a request, or the taking of a reply, takes too long."""
        if self._head_since is not None and now - self._head_since > HEAD_SECONDS:
            return True
        unsent = self.transport.get_write_buffer_size()
        if unsent == 0 or unsent != self._unsent[0]:
            self._unsent = (unsent, now)
        return now - self._unsent[1] > STALLED_SECONDS
