"""The interface of a Label Studio machine learning backend: health, setup, predict, webhook. Guarded by a token.

Label Studio sends the token as the password of basic authentication, webhooks as a header `Authorization: Token ...`.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Request
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from labelwise.data.errors import FormatError
from labelwise.labelling.errors import ProjectError
from labelwise.labelling.exchange.label_studio import Annotation, studio_annotation
from labelwise.labelling.exchange.label_studio_answers import (
    Interface,
    PlacedAnnotation,
    TakenAnnotation,
    delete_all,
    take_all,
)
from labelwise.labelling.exchange.label_studio_predictions import Config, predictions_of, version_of
from labelwise.labelling.exchange.label_studio_tasks import plain
from labelwise.labelling.records import ExpectedLabels
from labelwise.labelling.served import ServedProject
from labelwise.labelling.training.derived import MODEL, derived_path
from labelwise.labelling.web.access import project_of, shown_token, site_of, wrong_token
from labelwise.labelling.web.browse_view import browser_of

LARGEST = 10 * 2**20  # bytes of a request
NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")  # as JSON writes it; after a backslash that is text, it is text
OBJECT = {"requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}}
MOST_ANNOTATIONS = 100_000  # of one request
WRITTEN = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_CREATED")
DELETED = "ANNOTATIONS_DELETED"


class ErrorDetail(BaseModel):
    """What is wrong with a request."""

    detail: str


class Health(BaseModel):
    status: str = "UP"
    model_class: str = "labelwise"


class Version(BaseModel):
    model_version: str


class Versions(BaseModel):
    versions: list[str]


class TaskPredictions(Version):
    """A prediction for each task, in their order; the lowest score is to be asked first."""

    results: list[dict[str, Any]]


class WebhookReply(BaseModel):
    """What became of an annotation: the number of its event, or why nothing was done; of several, how many are new."""

    event: int | None = None
    taken: int = 0
    repeated: bool = False
    taken_back: int = 0
    ignored: str | None = None
    unknown_labels: list[str] = Field(default_factory=list)


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorDetail, "description": words}
    for status, words in (
        (400, "not what Label Studio sends"),
        (401, "no token, or a wrong one"),
        (413, f"more than {LARGEST} bytes"),
        (429, "too many wrong tokens"),
    )
}


def token_holder(request: Request) -> str:
    """The program whose token the request shows; 401 without one. Wrong tokens are limited, a right one never is."""
    name = program_of(request)
    if name is not None:
        return name
    raise wrong_token(request, "Basic")


def program_of(request: Request) -> str | None:
    """The program whose token the request shows, None without a right one. The database is asked once per request."""
    if not hasattr(request.state, "program"):
        _, secret = shown_token(request)
        request.state.program = site_of(request).project.people.owner_of_token(secret) if secret else None
    program: str | None = request.state.program
    return program


async def posted(request: Request) -> dict[str, Any]:
    """The JSON object of a request; refused where it is too large or is none."""
    data = bytearray()
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
    return Version(model_version=await run_in_threadpool(version_of, browser_of(request)))


@router.get("/versions")
def versions(request: Request) -> Versions:
    """The versions that can be predicted by: the present one."""
    return Versions(versions=[version_of(browser_of(request))])


@router.post("/predict", openapi_extra=OBJECT)
async def predict(request: Request, body: Posted) -> TaskPredictions:
    """Labels of tasks, and when to ask about each: Label Studio's sampling by score takes the lowest first."""
    tasks = body.get("tasks")
    if not isinstance(tasks, list):
        raise HTTPException(400, "the request has no list of tasks")
    return await run_in_threadpool(_predict, request, tasks, body.get("label_config"))


@router.post("/webhook", openapi_extra=OBJECT)
async def webhook(request: Request, body: Posted) -> WebhookReply:
    """Annotations made, changed and deleted become answers, changed answers and answers taken back."""
    return WebhookReply(**await run_in_threadpool(handle_webhook, project_of(request), body))


def _predict(request: Request, tasks: list[Any], label_config: Any) -> TaskPredictions:
    browser, project = browser_of(request), project_of(request)
    config = Config.read(label_config, project.label_names())
    if not hasattr(request.app.state, "unknown_tasks"):
        request.app.state.unknown_tasks = UnknownTasks(project)
    version = version_of(browser)
    results = predictions_of(browser, tasks, config, request.app.state.unknown_tasks.expect)
    return TaskPredictions(results=[{**each, "model_version": version} for each in results], model_version=version)


class UnknownTasks:
    """What is expected of tasks that are no items of the project, by the model that the worker wrote last."""

    def __init__(self, project: ServedProject) -> None:
        self._features = project.settings.features
        self._path = derived_path(project.store, MODEL)
        self._loaded: tuple[Any, Any] = (None, None)

    def expect(self, contents: Sequence[Any]) -> list[ExpectedLabels]:
        """Probabilities and label sets, for contents that hold the project's text; nothing for others."""
        texts = {i: content for i, content in enumerate(contents) if self._is_text(content)}
        found = [ExpectedLabels() for _ in contents]
        labeller = self._labeller() if texts else None
        if labeller is not None:
            beliefs = labeller.posterior(list(texts.values()))
            sets = labeller.decide(beliefs).tolist()
            for i, p, present in zip(texts, beliefs.probabilities().tolist(), sets, strict=True):
                found[i] = ExpectedLabels.of(labeller.label_names, p, present)
        return found

    def _is_text(self, content: Any) -> bool:
        field = self._features.get("field")
        if self._features["kind"] != "text":
            return False
        return isinstance(content.get(field) if isinstance(content, Mapping) and field else content, str)

    def _labeller(self) -> Any:
        from labelwise.labelling.training.model_files import (
            TrainedLabeller,  # loaded when needed: it brings the models along
        )

        try:
            found = self._path.stat()
            stamp = (found.st_ino, found.st_mtime_ns)
            if self._loaded[0] != stamp:
                self._loaded = (stamp, TrainedLabeller.load(self._path))
        except (OSError, ProjectError):  # derived: none is there yet, or it is being written
            return None
        return self._loaded[1]


# -- what annotations tell the project ---------------------------------------------------------------------------------


log = logging.getLogger(__name__)


def handle_webhook(project: ServedProject, body: Mapping[str, Any]) -> dict[str, Any]:
    """What a webhook says: annotations made, changed or deleted. Said twice, it counts once; the latest stands.

    Nobody reads the reply in Label Studio, so what was not taken in is also logged.
    """
    action = body.get("action")
    if action in WRITTEN:
        taken = _take_annotations(project, _written(body), body.get("project"))
        return _reply(taken)
    if action == DELETED:
        listed = body.get("annotations")
        numbers = [_number(each) for each in (listed if isinstance(listed, list) else [body.get("annotation")])]
        _check_size(numbers)
        return {"taken_back": delete_all(project.store, _source(body.get("project")), numbers)}
    return {"ignored": "nothing to do: training follows the answers by itself"}


def _written(body: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Each annotation of a webhook with its task; there are several where they were made in bulk."""
    annotations, tasks = body.get("annotation"), body.get("task")
    pairs = [(annotations, tasks)]
    if isinstance(annotations, list) and isinstance(tasks, list):
        _check_size(annotations)
        by_number = {plain(task.get("id")): task for task in tasks if isinstance(task, Mapping)}
        pairs = [(each, by_number.get(plain(_get(each, "task")))) for each in annotations]
    found = [(a, task) for a, task in pairs if isinstance(a, Mapping) and isinstance(task, Mapping)]
    if len(found) < len(pairs):
        raise ProjectError("the webhook has no task or no annotation; turn its payload on in Label Studio")
    return found


def _take_annotations(
    project: ServedProject, pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]], there: Any
) -> list[TakenAnnotation]:
    source, numbers = _source(there), [_number(annotation) for annotation, _ in pairs]
    tasks = [{**task, "project": source} for _, task in pairs]
    interface = Interface.read(_get(there, "label_config"), project.label_names())
    taken: dict[int, TakenAnnotation] = {}
    found: dict[int, PlacedAnnotation] = {}
    for place, (item, (annotation, _)) in enumerate(zip(project.task_items.find(tasks), pairs, strict=True)):
        read = _read(interface.relevant(annotation), item.name, interface.asked)
        if item.number is None:
            taken[place] = TakenAnnotation(
                refused=f"{item.why}; task {plain(_get(tasks[place], 'id'))!r} is passed over"
            )
        else:
            found[place] = PlacedAnnotation(replace(read, source=source, number=numbers[place]), item.number)
    taken |= zip(found, take_all(project.store, list(found.values())), strict=True)
    for place, number in enumerate(numbers):
        log_refusal(taken[place], number)
    return [taken[place] for place in range(len(pairs))]


def log_refusal(taken: TakenAnnotation, number: str) -> None:
    """A line on the server's output where something of an annotation was not saved."""
    unknown = f"; no labels here: {', '.join(map(repr, taken.unknown_labels))[:400]}" if taken.unknown_labels else ""
    if taken.refused:
        log.warning("Label Studio annotation %s refused: %s%s", number, taken.refused, unknown)
    elif unknown:
        log.warning("Label Studio annotation %s taken in part%s", number, unknown)


def _reply(taken: Sequence[TakenAnnotation]) -> dict[str, Any]:
    if len(taken) == 1:
        return taken[0].reply()
    unknown = sorted({name for each in taken for name in each.unknown_labels})
    refused = [each for each in taken if each.refused]
    reply: dict[str, Any] = {"taken": sum(each.is_new for each in taken), "unknown_labels": unknown}
    return reply | ({"ignored": f"{len(refused)} of {len(taken)}: {refused[0].refused}"} if refused else {})


def _read(annotation: Mapping[str, Any], name: str, asked: Sequence[str]) -> Annotation:
    try:
        return studio_annotation(annotation, name, asked, "of the webhook")
    except FormatError as error:
        raise ProjectError(str(error)) from None


def _check_size(listed: Sequence[Any]) -> None:
    if len(listed) > MOST_ANNOTATIONS:
        raise ProjectError(f"at most {MOST_ANNOTATIONS} annotations are taken in one request, got {len(listed)}")


def _source(project: Any) -> str:
    """The Label Studio project an annotation is of, as part of a key."""
    return plain(project.get("id") if isinstance(project, Mapping) else project)


def _number(annotation: Any) -> str:
    number = plain(annotation.get("id") if isinstance(annotation, Mapping) else annotation)
    if not number:
        raise ProjectError("the annotation has no id")
    return number


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None
