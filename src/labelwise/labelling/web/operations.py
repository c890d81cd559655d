"""For those who run the server: whether it is well, figures for Prometheus, and logs that programs read.

Nothing here names a person, an item or a label.
"""

from __future__ import annotations

import json
import logging
import sys
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from threading import Lock
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Request
from fastapi.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from labelwise import __version__
from labelwise.labelling.served import ServedProject
from labelwise.labelling.store.events import last_event, voters_count
from labelwise.labelling.store.items import count_items
from labelwise.labelling.store.people import count_users
from labelwise.labelling.store.trainings import count_trainings, last_good, last_training
from labelwise.labelling.training.locks import worker_is_running
from labelwise.labelling.web.access import CurrentUser, TheProject

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)  # seconds
METHODS = ("GET", "HEAD", "POST", "OPTIONS")
TWO_PARTS = ("api", "label-studio")  # below these the second part of an address says what was asked
OTHER = "other"
requests_log = logging.getLogger("labelwise.requests")
router = APIRouter(include_in_schema=False)


@router.get("/healthz")
def healthz(project: TheProject) -> Response:
    """Whether the server answers and its project can be read: 200, or 503 by way of `StoreError`."""
    project.store.check()
    return PlainTextResponse("ok\n")


class Requests:
    """How many requests there were and how long they took, by place and status.

    A place is a known address without what comes after it: no name and no secret is kept.

    >>> requests = Requests(["/label", "/api/ask", "/enter/{secret}"])
    >>> requests.place_of("/api/ask"), requests.place_of("/enter/s3cret"), requests.place_of("/wp-login.php")
    ('/api/ask', '/enter', 'other')
    """

    def __init__(self, addresses: Iterable[str]) -> None:
        self._places = {"/static"} | {_place(address) for address in addresses if "{" not in address.split("/")[1]}
        self._lock = Lock()
        self._counts: Counter[tuple[str, str, int]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._buckets: dict[str, list[int]] = {}

    def place_of(self, path: str) -> str:
        place = _place(path)
        return place if place in self._places else OTHER

    def add(self, method: str, path: str, status: int, seconds: float) -> None:
        place = self.place_of(path)
        with self._lock:
            self._counts[method if method in METHODS else OTHER, place, status] += 1
            self._seconds[place] += seconds  # type: ignore[assignment]  # a Counter adds any numbers
            self._buckets.setdefault(place, [0] * (len(BUCKETS) + 1))[bisect_left(BUCKETS, seconds)] += 1

    def lines(self) -> Iterator[str]:
        with self._lock:
            counts, seconds = dict(self._counts), dict(self._seconds)
            buckets = {place: list(found) for place, found in self._buckets.items()}
        yield from _head("labelwise_requests_total", "counter", "Requests answered.")
        for (method, place, status), n in sorted(counts.items()):
            yield f'labelwise_requests_total{{method="{method}",place="{place}",status="{status}"}} {n}'
        yield from _head("labelwise_request_seconds", "histogram", "Seconds from a request to the end of its answer.")
        for place, found in sorted(buckets.items()):
            for position, limit in enumerate((*BUCKETS, "+Inf")):
                n = sum(found[: position + 1])
                yield f'labelwise_request_seconds_bucket{{place="{place}",le="{limit}"}} {n}'
            yield f'labelwise_request_seconds_sum{{place="{place}"}} {seconds[place]:.6f}'
            yield f'labelwise_request_seconds_count{{place="{place}"}} {sum(found)}'


def _place(path: str) -> str:
    parts = path.split("/")[1:]
    kept = parts[:2] if parts and parts[0] in TWO_PARTS and "{" not in path else parts[:1]
    return "/" + "/".join(kept)


class Observed:
    """Before everything else: counts and times requests, and logs them where `labelwise.requests` is listened to."""

    def __init__(self, app: ASGIApp, requests: Requests) -> None:
        self.app, self.requests = app, requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noting)
        finally:
            seconds = time.perf_counter() - began
            self.requests.add(scope["method"], scope["path"], status, seconds)
            if requests_log.isEnabledFor(logging.INFO):
                facts = {"method": scope["method"], "place": self.requests.place_of(scope["path"]), "status": status}
                requests_log.info("request", extra={"facts": facts | {"seconds": round(seconds, 4)}})


def requests_of(request: Request) -> Requests:
    found: Requests = request.app.state.requests
    return found


Counted = Annotated[Requests, Depends(requests_of)]


@router.get("/metrics")
def metrics(user: CurrentUser, project: TheProject, requests: Counted) -> Response:
    """Figures in the text format of Prometheus, for a token of any scope or somebody who is signed in."""
    return PlainTextResponse("\n".join([*project_lines(project), *requests.lines(), ""]), media_type=PROMETHEUS)


def project_lines(project: ServedProject) -> Iterator[str]:
    """How a project stands, from a few counts of the database."""
    with project.store.reading() as connection:
        answers, people, items = voters_count(connection), count_users(connection), count_items(connection)
        trainings, good, last = count_trainings(connection), last_good(connection), last_training(connection)
        behind = last_event(connection) - (0 if good is None else good.seen_event)
    yield from _one("info", "gauge", "The version that is running.", 1, f'{{version="{__version__}"}}')
    yield from _one("items", "gauge", "Items of the project.", items)
    yield from _one("answers", "gauge", "Answers by people that stand.", sum(answers.values()))
    yield from _one("people", "gauge", "People who may sign in.", people)
    yield from _one("people_answered", "gauge", "People with an answer that stands.", len(answers))
    yield from _one("worker_running", "gauge", "1 if a worker is there.", int(worker_is_running(project.store)))
    yield from _one(
        "training", "gauge", "1 while a model is trained.", int(last is not None and last.state == "running")
    )
    yield from _one(
        "events_unlearnt", "gauge", "Answers, skips and undos since the last good training saw them.", behind
    )
    yield from _head("labelwise_trainings_total", "counter", "Trainings by how they ended.")
    for state, n in sorted(trainings.items()):
        yield f'labelwise_trainings_total{{state="{state}"}} {n}'
    if good is not None and good.finished_at is not None:
        yield from _one(
            "last_training_seconds", "gauge", "Length of the last good one.", good.finished_at - good.started_at
        )
        yield from _one("last_training_timestamp_seconds", "gauge", "When it ended.", good.finished_at)


def _one(name: str, kind: str, meaning: str, value: float, labels: str = "") -> Iterator[str]:
    yield from _head(f"labelwise_{name}", kind, meaning)
    yield f"labelwise_{name}{labels} {value}"


def _head(name: str, kind: str, meaning: str) -> Iterator[str]:
    yield f"# HELP {name} {meaning}"
    yield f"# TYPE {name} {kind}"


def observe(app: FastAPI, addresses: Iterable[str]) -> None:
    """Count the requests of an application that has these addresses; the last layer to be added."""
    app.state.requests = Requests(addresses)
    app.add_middleware(Observed, requests=app.state.requests)


# -- logs --------------------------------------------------------------------------------------------------------------


class JsonLines(logging.Formatter):
    """One JSON object a line: time, level, logger, message, and what a record has beside it."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False)


def log_as_json(requests: bool) -> None:
    """Everything that is logged to stderr as JSON, a line each; with `requests` every request, too."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in ("labelwise", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
    logging.getLogger("labelwise").setLevel(logging.WARNING)
    requests_log.setLevel(logging.INFO if requests else logging.WARNING)
