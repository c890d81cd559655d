"""A client of a served project: a script or a service that asks and answers for a person, over HTTP."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from labelwise.labelling.errors import ProjectError
from labelwise.records.labels import Label

TOKEN = "LABELWISE_TOKEN"
# The server saves what is sent twice once, so a request whose answer was lost may be sent again.
AGAIN = Retry(total=3, backoff_factor=0.2, status_forcelist=(503,), allowed_methods=None, raise_on_status=False)


class ClientError(ProjectError):
    """What the server refused: its status and, as the message, what it said. The status is 0 if there is no server.

    Examples
    --------
    >>> try:
    ...     raise ClientError(403, "this token may not answer")
    ... except ClientError as error:
    ...     print(error.status, error)
    403 this token may not answer
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class AskedQuestion:
    """A question that is yours until `expires_at` (seconds since 1970): an item, and the labels that are open.

    `labels` has their believed probabilities, None where there is none or it must not be seen.

    Examples
    --------
    >>> labels = {"billing": 0.8, "login": None}
    >>> question = AskedQuestion("a1b2", "ticket 7", labels, "Charged twice", {}, "strategy", 1_700_000_000.0)
    >>> [label for label, p in question.labels.items() if p is not None and p > 0.5]
    ['billing']
    """

    lease: str
    item: str
    labels: Mapping[str, float | None]
    text: str | None
    fields: Mapping[str, str]
    reason: str
    expires_at: float


@dataclass(frozen=True)
class SavedAnswer:
    """An answer that is on disk, by its number; `undo` takes it back. `notices` are what a person should be told of it.

    Examples
    --------
    >>> SavedAnswer(event=12, notices=()).event
    12
    """

    event: int
    notices: tuple[str, ...]


class Client:
    """Ask and answer at a page that `labelwise serve` serves.

    Parameters
    ----------
    address : str
        Of the page, such as "https://label.example.org".
    token : str or None
        What `labelwise user token PROJECT NAME --as USER --scope answer` printed; None reads LABELWISE_TOKEN.
    timeout : float
        Seconds to wait for an answer of the server.

    Examples
    --------
    >>> client = Client("http://127.0.0.1:8000", "the token")
    >>> with client:  # doctest: +SKIP
    ...     for question in client.ask(3):
    ...         client.answer(question, {name: "refund" in name for name in question.labels})
    """

    def __init__(self, address: str, token: str | None = None, timeout: float = 30.0) -> None:
        token = token or os.environ.get(TOKEN)
        if not token:
            raise ValueError(
                f"a token is needed: labelwise user token PROJECT NAME --as USER --scope answer prints one; "
                f"give it as token= or in {TOKEN}"
            )
        self.address, self.timeout = address.rstrip("/"), timeout
        self._session = requests.Session()
        self._session.headers["authorization"] = f"Bearer {token}"
        self._session.mount(self.address, HTTPAdapter(max_retries=AGAIN))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._session.close()

    def who(self) -> tuple[str, str]:
        """For whom the token acts, and as what."""
        found = self._get("/api/session")
        return found["who"], found["role"]

    def ask(self, n_items: int = 1) -> list[AskedQuestion]:
        """Questions about so many items, at most 10: those you have, then new ones. Asking twice gives the same."""
        return [_question(each) for each in self._post("/api/ask", items=n_items)["questions"]]

    def answer(
        self, question: AskedQuestion, values: Mapping[str, bool | None], seconds: float | None = None
    ) -> SavedAnswer:
        """Save an answer: labels to True, False, or None for unsure; those left out stay open.

        `seconds`: the time that a person took, for prices and figures.
        """
        body: dict[str, Any] = {"lease": question.lease, "values": dict(values)}
        if seconds is not None:
            body["timing"] = {"seconds": seconds, "question": "item" if len(question.labels) != 1 else "pair"}
        return _saved(self._post("/api/answer", **body))

    def skip(self, question: AskedQuestion) -> SavedAnswer:
        """Leave a question to somebody else."""
        return _saved(self._post("/api/skip", lease=question.lease))

    def undo(self, saved: SavedAnswer) -> AskedQuestion:
        """Take an answer or a skip back: it is asked again."""
        return _question(self._post("/api/undo", event=saved.event))

    def labels(self) -> list[Label]:
        """The labels in use and what they mean."""
        found = self._get("/api/labels")
        return [Label(**{key: value for key, value in each.items() if key != "items"}) for each in found]

    def status(self) -> dict[str, Any]:
        """How the project stands, in figures."""
        found: dict[str, Any] = self._get("/api/status")
        return found

    def metrics(self) -> str:
        """The figures for Prometheus."""
        return self._send("GET", "/metrics").text

    def _get(self, path: str) -> Any:
        return self._send("GET", path).json()

    def _post(self, path: str, **body: Any) -> Any:
        return self._send("POST", path, body).json()

    def _send(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> requests.Response:
        try:
            reply = self._session.request(
                method, f"{self.address}{path}", json=body, timeout=self.timeout, allow_redirects=False
            )
        except requests.RequestException as error:
            raise ClientError(0, f"{self.address} cannot be reached: {error}") from error
        if reply.status_code == 200:
            return reply
        raise ClientError(reply.status_code, _refusal(reply))


def _refusal(reply: requests.Response) -> str:
    if reply.is_redirect:
        return f"the page leads to {reply.headers.get('location', '')!r}; is the address right, and https?"
    try:
        detail = reply.json()["detail"]
    except (ValueError, KeyError, TypeError):
        return f"the server said {reply.status_code} {reply.reason}"
    if isinstance(detail, str):
        return detail
    return "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in detail)


def _question(shown: Mapping[str, Any]) -> AskedQuestion:
    labels = {each["name"]: each["p"] for each in shown["labels"]}
    show = shown["show"]
    fields = dict(show["fields"])
    return AskedQuestion(
        shown["lease"], shown["item"], labels, show["text"], fields, shown["reason"], shown["expires_at"]
    )


def _saved(reply: Mapping[str, Any]) -> SavedAnswer:
    return SavedAnswer(reply["event"], tuple(reply["notices"]))
