"""Requests to the page, in this process: scripts of them over every route, and cases that schemathesis makes up.

A script is one request per line: method, address, body. `{lease}`, `{item}`, `{label}` and `{event}` stand for what the
page gave last, so that changed scripts still reach what lies behind them.
"""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio.to_thread
import numpy as np

HOST = "127.0.0.1:8000"
MOST_REQUESTS = 12  # of one script
FORM = b"application/x-www-form-urlencoded"
GIVEN = re.compile(r"\{(lease|item|label|event)\}")
SIGNED = re.compile(r"\{[^}]*\}")  # a part of an address that a route fills in


class Page:
    """A project of its own behind an application, and what it gave last."""

    def __init__(self) -> None:
        from labelwise import LabelData
        from labelwise.labelling import Project
        from labelwise.labelling.web.access import csrf_protected
        from labelwise.labelling.web.server import create_app

        self.folder = tempfile.TemporaryDirectory()
        X = np.random.default_rng(0).standard_normal((300, 2))
        data = LabelData.from_arrays(X, label_names=["left", "<low>"], items=[f"text {n}" for n in range(300)])
        self.project = Project.create(Path(self.folder.name) / "p.db", data, model="binary_relevance")
        self.project.refresh()
        self.app = create_app(self.project, local_user="me")
        self.app.dependency_overrides[csrf_protected] = lambda: None
        self.cookies: dict[str, str] = {}
        self.given = {"lease": "none", "item": "0", "label": "left", "event": "1"}
        self.loop = asyncio.new_event_loop()
        anyio.to_thread.run_sync = _at_once  # in this thread, where it is traced

    def send(self, method: str, address: str, body: bytes, kind: bytes) -> tuple[int, bytes]:
        """One request; its status and what came back. An error inside the application comes through."""
        path, _, query = address.partition("?")
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        headers = [(b"host", HOST.encode()), (b"content-type", kind), (b"origin", f"http://{HOST}".encode())]
        headers += [(b"content-length", str(len(body)).encode()), (b"cookie", cookies.encode("latin-1", "replace"))]
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode("utf-8", "replace"),
            "query_string": query.encode("utf-8", "replace"),
            "root_path": "",
            "headers": headers,
            "client": ("127.0.0.1", 50000),
            "server": ("127.0.0.1", 8000),
            "state": {},
        }
        status, parts = self.loop.run_until_complete(asyncio.wait_for(self._talk(scope, body), 20))
        return status, parts

    async def _talk(self, scope: dict[str, Any], body: bytes) -> tuple[int, bytes]:
        said: list[dict[str, Any]] = [{"type": "http.request", "body": body, "more_body": False}]
        status, parts = 0, []
        over = asyncio.Event()

        async def receive() -> dict[str, Any]:
            if said:
                return said.pop()
            await over.wait()
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._keep_cookies(message["headers"])
            else:
                parts.append(message.get("body", b""))
                if not message.get("more_body"):
                    over.set()

        await self.app(scope, receive, send)
        return status, b"".join(parts)

    def sign_in(self) -> None:
        """A session, where the last script has ended it."""
        name = self.app.state.site.cookie
        if self.cookies.keys() != {name} or not self.cookies[name].strip('"'):
            self.cookies = {name: self.project.people.begin_local("me")[1]}

    def _keep_cookies(self, headers: Any) -> None:
        for name, value in headers:
            if name.lower() == b"set-cookie":
                key, _, rest = value.decode("latin-1").partition("=")
                self.cookies[key] = rest.partition(";")[0]

    def run(self, script: str) -> None:
        """The requests of a script, in order."""
        self.sign_in()
        for line in script.split("\n")[:MOST_REQUESTS]:
            method, _, rest = GIVEN.sub(lambda found: self.given[found[1]], line).partition(" ")
            address, _, body = rest.partition(" ")
            if not method.isascii() or not method.isalpha() or not address.startswith("/") or "\x00" in address:
                continue  # no server lets it come so far
            form = "=" in body and not body.startswith("{")
            kind = FORM if form else b"application/json"
            self._remember(self.check(method, address, body.encode("utf-8", "replace"), kind))

    def check(self, method: str, address: str, body: bytes, kind: bytes) -> bytes:
        """Send a request that must not break anything; what came back."""
        status, came = self.send(method, address, body, kind)
        if status >= 500 or status == 0:
            raise AssertionError(f"{method} {address[:100]} gave {status}: {came[:200]!r}")
        return came

    def _remember(self, came: bytes) -> None:
        try:
            found = json.loads(came)
        except ValueError:
            return
        if isinstance(found, dict):
            for lease in found.get("questions") or found.get("leases") or []:
                if isinstance(lease, dict):
                    self.given |= {"lease": str(lease.get("lease", "none")), "item": str(lease.get("item", "0"))}
            if "event" in found:
                self.given["event"] = str(found["event"])


async def _at_once(call: Callable[..., Any], *arguments: Any, **_: Any) -> Any:
    return call(*arguments)


class Scripts:
    """The page, made in the process that sends the requests."""

    def __init__(self) -> None:
        self.page: Page | None = None
        self.cases: list[Callable[[bytes], Any]] = []

    def prepare(self) -> None:
        self.page = Page()
        self.page.sign_in()

    def prepare_cases(self) -> None:
        """One test of schemathesis for each operation that the page describes."""
        import requests
        import schemathesis
        from hypothesis import HealthCheck, given, settings

        self.prepare()
        page = self.page
        assert page is not None
        description = schemathesis.openapi.from_asgi("/api/openapi.json", page.app, headers={"host": HOST})
        always = settings(deadline=None, suppress_health_check=list(HealthCheck), database=None)

        def send(case: Any) -> None:
            case.headers = {**(case.headers or {}), "host": HOST}
            case.cookies = dict(page.cookies)
            wanted = case.as_transport_kwargs(base_url=f"http://{HOST}")
            names = ("method", "url", "headers", "params", "json", "data", "files")
            ready = requests.Request(**{name: wanted[name] for name in names if name in wanted}).prepare()
            body = ready.body or b""
            body = body.encode("utf-8", "replace") if isinstance(body, str) else bytes(body)
            kind = str(ready.headers.get("content-type", "application/json")).encode("latin-1", "replace")
            page.sign_in()
            page.check(str(ready.method), str(ready.path_url), body, kind)

        for operation in description.get_all_operations():
            test = always(given(case=operation.ok().as_strategy())(send))
            self.cases.append(test.hypothesis.fuzz_one_input)

    def read(self, path: Path) -> None:
        assert self.page is not None
        self.page.run(path.read_bytes().decode("utf-8", "replace"))

    def read_case(self, path: Path) -> None:
        data = path.read_bytes() or b"\x00"
        self.cases[data[0] % len(self.cases)](data[1:])

    def seeds(self, folder: Path) -> list[bytes]:
        """A request to every route, and the ways that people go."""
        from labelwise.labelling.web.server import GUARDED, SELF_GUARDED

        seeds = [
            'GET /api/ask\nPOST /api/ask {}\nPOST /api/answer {"lease": "{lease}", "values": {"left": true}}',
            'POST /api/ask {"items": 2}\nPOST /api/skip {"lease": "{lease}"}\nPOST /api/undo {"event": {event}}',
            'POST /api/ask {}\nPOST /api/renew {"lease": "{lease}"}\nGET /api/status\nGET /browse?q=text&page=2',
        ]
        for route in (route for module in (*GUARDED, *SELF_GUARDED) for route in module.router.routes):
            for method in sorted(getattr(route, "methods", None) or ("GET",)):
                address = SIGNED.sub("1", str(getattr(route, "path", "/")))
                seeds.append(f"{method} {address} {'{}' if method == 'POST' else ''}")
                if method == "POST":
                    seeds.append(f"{method} {address} name=left&label=left&new=x&item=1&values=left&csrf_token=x")
        return [seed.encode() for seed in (*seeds, "GET /static/page.js", "GET /api/openapi.json")]
