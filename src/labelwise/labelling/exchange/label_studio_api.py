"""A running Label Studio over HTTP: the interface of a project, its tasks and annotations; predictions to it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from labelwise.labelling.errors import ProjectError

PAGE = 100  # tasks of one request
LARGEST = 256 * 2**20  # bytes of one reply
TIMEOUT = 60.0  # seconds without a byte
TRIES = 3  # where tasks come or go while we read
TOKEN = "LABEL_STUDIO_TOKEN"
CURES = {
    401: f"the token is refused; give a good one in {TOKEN}",
    403: f"the owner of the token in {TOKEN} may not do this",
    404: "there is no such project, or the owner of the token may not see it",
}


class LabelStudio:
    """A Label Studio to read from, and to give predictions to.

    Parameters
    ----------
    address : such as http://localhost:8080
    token : a legacy token (40 letters and digits) or a personal access token
    """

    def __init__(self, address: str, token: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ProjectError(f"the address of Label Studio begins with http:// or https://, got {address!r}")
        if not token.strip() or not token.isascii() or not token.isprintable():
            raise ProjectError(f"set {TOKEN} to a token of Label Studio: Account & Settings, Access Token")
        self._address = address.rstrip("/")
        self._token = token.strip()
        self._opener = build_opener(NoRedirects)
        self._authorization = ""

    def label_config(self, project: int) -> str:
        """The labelling interface of a project."""
        found = self._ask(f"/api/projects/{project}/")
        return str(found.get("label_config") or "") if isinstance(found, Mapping) else ""

    def tasks(self, project: int) -> list[dict[str, Any]]:
        """All tasks of a project with their annotations."""
        for _ in range(TRIES):
            found, total = self._all_pages(project)
            if len(found) == total:
                return list(found.values())
        raise ProjectError(
            f"tasks came or went while the project was read ({len(found)} of {total}); nothing was changed, try again"
        )

    def choose_version(self, project: int, version: str) -> None:
        """Show the predictions of this version, and sample by them."""
        self._ask(f"/api/projects/{project}/", {"model_version": version}, "PATCH")

    def model_versions(self, project: int) -> list[str]:
        """The versions of all predictions of a project."""
        found = self._ask(f"/api/projects/{project}/model-versions/")
        return [str(name) for name in found] if isinstance(found, Mapping | list) else []

    def add_predictions(self, project: int, predictions: Sequence[Mapping[str, Any]]) -> None:
        """Predictions of tasks, each with the number of its task, its version, score and result."""
        self._ask(f"/api/projects/{project}/import/predictions", list(predictions), "POST")

    def delete_predictions(self, project: int, version: str) -> None:
        """Delete all predictions of a version."""
        self._ask(f"/api/projects/{project}/model-versions/", {"model_version": version}, "DELETE")

    def _all_pages(self, project: int) -> tuple[dict[Any, dict[str, Any]], int]:
        found: dict[Any, dict[str, Any]] = {}
        page, total = 1, 1
        while page == 1 or (page - 1) * PAGE < total:
            query = urlencode({"project": project, "fields": "all", "page": page, "page_size": PAGE})
            reply = self._ask(f"/api/tasks?{query}")
            if not isinstance(reply, Mapping) or not isinstance(reply.get("tasks"), list):
                raise ProjectError(f"{self._address} does not answer as Label Studio does; is the address right?")
            total = int(reply.get("total") or 0)
            found |= {task.get("id"): task for task in reply["tasks"] if isinstance(task, dict)}
            page += 1
        return found, total

    def _ask(self, path: str, body: Any = None, method: str | None = None) -> Any:
        if not self._authorization:
            self._authorization = self._authorize()
        try:
            return self._call(path, {"authorization": self._authorization}, body, method)
        except _Unauthorized:
            if self._authorization.startswith("Token"):
                raise
        self._authorization = self._authorize()  # what a personal access token is changed for ends after minutes
        return self._call(path, {"authorization": self._authorization}, body, method)

    def _authorize(self) -> str:
        """The header: a personal access token, which has three parts, is changed for a short-lived one."""
        if self._token.count(".") != 2:
            return f"Token {self._token}"
        reply = self._call("/api/token/refresh/", {}, {"refresh": self._token})
        access = reply.get("access") if isinstance(reply, Mapping) else None
        if not isinstance(access, str):
            raise ProjectError(CURES[401])
        return f"Bearer {access}"

    def _call(self, path: str, headers: Mapping[str, str], body: Any = None, method: str | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        sent = {"accept": "application/json", "content-type": "application/json", **headers}
        try:
            with self._opener.open(Request(self._address + path, data, sent, method=method), timeout=TIMEOUT) as reply:
                text = reply.read(LARGEST + 1)
        except HTTPError as error:
            raise _http_problem(error, self._address) from None
        except (URLError, OSError, ValueError) as error:
            reason = getattr(error, "reason", error)
            raise ProjectError(f"{self._address} cannot be reached: {reason}; is Label Studio running there?") from None
        if len(text) > LARGEST:
            raise ProjectError(f"{self._address} sent more than {LARGEST} bytes at once; export a file and import that")
        try:
            return json.loads(text or b"null")  # what is done without a word
        except (ValueError, RecursionError):
            raise ProjectError(f"{self._address} sent no JSON; is the address that of Label Studio?") from None


class _Unauthorized(ProjectError):
    """The token is refused, or its time is over."""


class NoRedirects(HTTPRedirectHandler):
    """The token is not sent on to another address."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _http_problem(error: HTTPError, address: str) -> ProjectError:
    if 300 <= error.code < 400:
        return ProjectError(f"{address} sends on to {error.headers.get('location', '?')!r}; give that address")
    words = CURES.get(error.code, f"it answered {error.code}")
    return (_Unauthorized if error.code == 401 else ProjectError)(f"{address}: {words}")
