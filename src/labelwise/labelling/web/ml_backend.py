"""The interface of a Label Studio machine learning backend: health, setup, predict, webhook. Guarded by a token.

Label Studio sends the token as the password of basic authentication, webhooks as a header `Authorization: Token ...`.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from math import ceil
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from labelwise.labelling.derived import MODEL, derived_path
from labelwise.labelling.errors import ProjectError
from labelwise.labelling.label_studio_live import Config, predictions_of, take_in
from labelwise.labelling.served import ServedProject
from labelwise.labelling.store.trainings import last_good
from labelwise.labelling.web.browse_view import browser_of
from labelwise.labelling.web.dependencies import project_of, site_of

LARGEST = 10 * 2**20  # bytes of a request
NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")  # as JSON writes it; after a backslash that is text, it is text


class Told(BaseModel):
    """What is wrong with a request."""

    detail: str


class Health(BaseModel):
    status: str = "UP"
    model_class: str = "labelwise"


class Version(BaseModel):
    model_version: str


class Predictions(Version):
    """A prediction for each task, in their order; the lowest score is to be asked first."""

    results: list[dict[str, Any]]


class Taken(BaseModel):
    """What became of an annotation: the number of its event, or why nothing was done."""

    event: int | None = None
    repeated: bool = False
    taken_back: int = 0
    ignored: str | None = None
    unknown_labels: list[str] = Field(default_factory=list)


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Told, "description": words}
    for status, words in (
        (400, "not what Label Studio sends"),
        (401, "no token, or a wrong one"),
        (413, f"more than {LARGEST} bytes"),
        (429, "too many wrong tokens"),
    )
}
OBJECT = {"requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}}


def token_holder(request: Request) -> str:
    """The program whose token the request shows; 401 without one. Wrong tokens are limited as wrong links are."""
    site, address = site_of(request), request.client.host if request.client else ""
    wait = site.logins.wait(address)
    if wait > 0:
        raise HTTPException(429, "too many wrong tokens came from here", {"retry-after": str(ceil(wait))})
    secret = _secret(request.headers.get("authorization", ""))
    name = site.project.people.has_token(secret) if secret else None
    if name is None:
        if secret:
            site.logins.failed(address)
        needed = {"www-authenticate": 'Basic realm="labelwise", charset="UTF-8"'}
        raise HTTPException(401, "show a token: labelwise user token PROJECT NAME makes one", needed)
    return name


def _secret(header: str) -> str:
    """The token of `Basic` (its password), `Bearer` or `Token` authorization."""
    kind, _, rest = header.partition(" ")
    if kind.lower() in ("bearer", "token"):
        return rest.strip()
    if kind.lower() != "basic":
        return ""
    try:
        return base64.b64decode(rest, validate=True).decode().partition(":")[2]
    except (binascii.Error, ValueError):
        return ""


async def posted(request: Request) -> dict[str, Any]:
    """The JSON object of a request; refused where it is too large or is none."""
    data = b""
    async for part in request.stream():
        data += part
        if len(data) > LARGEST:
            raise HTTPException(413, f"at most {LARGEST} bytes are taken")
    try:
        body = json.loads(data)
        json.dumps(body, ensure_ascii=False).encode()  # halves of signs cannot be written anywhere
    except (ValueError, RecursionError):
        raise HTTPException(400, "the request holds no JSON") from None
    if not isinstance(body, dict):
        raise HTTPException(400, "the request must hold a JSON object")
    if NUL.search(data):
        raise HTTPException(400, "the sign NUL cannot be kept; leave it out")
    return body


router = APIRouter(
    prefix="/label-studio", tags=["Label Studio"], dependencies=[Depends(token_holder)], responses=REFUSALS
)
Posted = Annotated[dict[str, Any], Depends(posted)]


@router.get("/health")
@router.get("/", include_in_schema=False)
def health() -> Health:
    """Whether the backend is there."""
    return Health()


@router.post("/setup", openapi_extra=OBJECT)
async def setup(request: Request, body: Posted) -> Version:
    """The version of the model; it changes with each training, so that Label Studio asks for new predictions."""
    return Version(model_version=await run_in_threadpool(_version, project_of(request)))


@router.post("/predict", openapi_extra=OBJECT)
async def predict(request: Request, body: Posted) -> Predictions:
    """Labels of tasks, and when to ask about each: Label Studio's sampling by score takes the lowest first."""
    tasks = body.get("tasks")
    if not isinstance(tasks, list):
        raise HTTPException(400, "the request has no list of tasks")
    return await run_in_threadpool(_predict, request, tasks, body.get("label_config"))


@router.post("/webhook", openapi_extra=OBJECT)
async def webhook(request: Request, body: Posted) -> Taken:
    """Annotations made, changed and deleted become answers, changed answers and answers taken back."""
    return Taken(**await run_in_threadpool(take_in, project_of(request), body))


def _predict(request: Request, tasks: list[Any], label_config: Any) -> Predictions:
    browser, project = browser_of(request), project_of(request)
    config = Config.read(label_config, project.label_names())
    if not hasattr(request.app.state, "strangers"):
        request.app.state.strangers = Strangers(project)
    version = _version(project)
    results = predictions_of(browser, tasks, config, request.app.state.strangers.believe)
    return Predictions(results=[{**each, "model_version": version} for each in results], model_version=version)


def _version(project: ServedProject) -> str:
    with project.store.reading() as connection:
        good = last_good(connection)
    return f"labelwise-{project.identity[:8]}-{0 if good is None else good.id}"


class Strangers:
    """Beliefs about tasks that are no items of the project, by the model that the worker wrote last."""

    def __init__(self, project: ServedProject) -> None:
        self._features = project.settings.features
        self._path = derived_path(project.store, MODEL)
        self._loaded: tuple[Any, Any] = (None, None)

    def believe(self, contents: Sequence[Any]) -> list[Mapping[str, float]]:
        """Probabilities of each label, for contents that hold the project's text; nothing for others."""
        texts = {i: content for i, content in enumerate(contents) if self._is_text(content)}
        found: list[Mapping[str, float]] = [{} for _ in contents]
        labeller = self._labeller() if texts else None
        if labeller is not None:
            p = labeller.probabilities(list(texts.values()))
            for i, row in zip(texts, p.tolist(), strict=True):
                found[i] = dict(zip(labeller.label_names, row, strict=True))
        return found

    def _is_text(self, content: Any) -> bool:
        field = self._features.get("field")
        if self._features["kind"] != "text":
            return False
        return isinstance(content.get(field) if isinstance(content, Mapping) and field else content, str)

    def _labeller(self) -> Any:
        from labelwise.labelling.model_files import TrainedLabeller  # loaded when needed: it brings the models along

        try:
            found = self._path.stat()
            stamp = (found.st_ino, found.st_mtime_ns)
            if self._loaded[0] != stamp:
                self._loaded = (stamp, TrainedLabeller.load(self._path))
        except (OSError, ProjectError):  # derived: none is there yet, or it is being written
            return None
        return self._loaded[1]
