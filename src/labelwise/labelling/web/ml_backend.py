"""The interface of a Label Studio machine learning backend: health, setup, predict, webhook. Guarded by a token.

Label Studio sends the token as the password of basic authentication, webhooks as a header `Authorization: Token ...`.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
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
    choices_of,
    delete_all,
    suggestions_box,
    take_all,
)
from labelwise.labelling.exchange.label_studio_tasks import plain
from labelwise.labelling.items.browse import Browser, LabelOfItem
from labelwise.labelling.records import ExpectedLabels
from labelwise.labelling.served import ServedProject
from labelwise.labelling.store.engine import pieces
from labelwise.labelling.store.trainings import last_good
from labelwise.labelling.training.derived import MODEL, derived_path
from labelwise.labelling.web.access import project_of, shown_token, site_of, wrong_token
from labelwise.labelling.web.browse_view import browser_of

LARGEST = 10 * 2**20  # bytes of a request
NUL = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")  # as JSON writes it; after a backslash that is text, it is text
OBJECT = {"requestBody": {"required": True, "content": {"application/json": {"schema": {"type": "object"}}}}}
MOST_TASKS, TASKS_AT_ONCE = 20_000, 1000  # of one request; of one look at the project
MOST_ANNOTATIONS = 100_000  # of one request
WRITTEN = ("ANNOTATION_CREATED", "ANNOTATION_UPDATED", "ANNOTATIONS_CREATED")
DELETED = "ANNOTATIONS_DELETED"
ASKED_FIRST = 0.5  # scores below are questions that are ready, above are the other tasks


class ErrorDetail(BaseModel):
    """What is wrong with a request."""

    detail: str


class Health(BaseModel):
    status: str = "UP"
    model_class: str = "labelwise"


class Version(BaseModel):
    model_version: str


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
    return Version(model_version=await run_in_threadpool(_version, project_of(request)))


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
    version = _version(project)
    results = predictions_of(browser, tasks, config, request.app.state.unknown_tasks.expect)
    return TaskPredictions(results=[{**each, "model_version": version} for each in results], model_version=version)


def _version(project: ServedProject) -> str:
    with project.store.reading() as connection:
        good = last_good(connection)
    return f"labelwise-{project.identity[:8]}-{0 if good is None else good.id}"


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


# -- what Label Studio is told of its tasks, and what its annotations tell the project ---------------------------------


log = logging.getLogger(__name__)

Expect = Callable[[Sequence[Any]], Sequence[ExpectedLabels]]  # of contents that are none of ours


@dataclass(frozen=True)
class Config:
    """The choices of a labelling interface: their name, what they are about, and which there are (None: unknown).

    `box` is the name and object of a `TextArea` for suggestions, where the interface has one.
    """

    from_name: str = "labels"
    to_name: str = "text"
    choices: frozenset[str] | None = None
    box: tuple[str, str] | None = None

    @classmethod
    def read(cls, text: Any, labels: Sequence[str]) -> Config:
        """From the XML of a labelling interface: its `Choices` with most of our labels; the default where it has none.

        >>> Config.read('<View><Choices name="t" toName="x"><Choice value="a"/></Choices></View>', ["a", "b"])
        Config(from_name='t', to_name='x', choices=frozenset({'a'}), box=None)
        """
        best, most = cls(), -1
        for name, about, values in choices_of(text):
            common = len(values & set(labels))
            if common > most:
                best, most = cls(name, about, values or None), common
        return replace(best, box=suggestions_box(text))


def predictions_of(browser: Browser, tasks: Sequence[Any], config: Config, expect: Expect) -> list[dict[str, Any]]:
    """A prediction for each task, in their order.

    What is expected of tasks that are no items of the project follows from their data, by `expect`; not where several
    items show the same, because one of them may be of the random share.
    """
    if len(tasks) > MOST_TASKS:
        raise ProjectError(f"at most {MOST_TASKS} tasks can be predicted at once, got {len(tasks)}")
    return [each for part in pieces(tasks, TASKS_AT_ONCE) for each in _predicted(browser, part, config, expect)]


def _predicted(browser: Browser, tasks: Sequence[Any], config: Config, expect: Expect) -> list[dict[str, Any]]:
    items = browser.project.task_items.find(tasks)
    names = [item.name or None for item in items]
    ours = browser.standing_of([name for name in names if name is not None])
    strange = [i for i, name in enumerate(names) if name not in ours]
    contents = [None if items[i].is_ambiguous else _get(tasks[i], "data") for i in strange]
    guessed = dict(zip(strange, expect(contents), strict=True))
    found = []
    for i, name in enumerate(names):
        if name in ours:
            labels, rank = ours[name]
            found.append(_prediction(_expected(labels), _score(labels, rank), config))
        else:
            p = list(guessed[i].probabilities.values())
            found.append(_prediction(guessed[i], ASKED_FIRST + _certainty(p) / 2, config))
    return found


def _expected(labels: Sequence[LabelOfItem]) -> ExpectedLabels:
    """What is known stands; of the rest what is believed, where there is a belief."""
    p = {each.name: each.probability if each.known is None else float(each.known) for each in labels}
    present = frozenset(each.name for each in labels if (each.predicted if each.known is None else each.known))
    reasons = sorted(
        (each.reason for each in labels if each.known is None and each.reason), key=lambda r: -r.probability
    )
    return ExpectedLabels({name: value for name, value in p.items() if value is not None}, present, tuple(reasons))


def _score(labels: Sequence[LabelOfItem], rank: float | None) -> float:
    """Lowest first: the place among the ready questions, then what is open, then what is known."""
    if rank is not None:
        return ASKED_FIRST * rank
    still_open = [label.probability for label in labels if label.known is None]
    if not still_open:
        return 1.0
    return ASKED_FIRST + _certainty([p for p in still_open if p is not None]) / 2 * 0.99


def _certainty(p: Sequence[float]) -> float:
    """0 where all is open, 1 where nothing is: how far probabilities are from one half, on average."""
    return float(np.abs(2 * np.asarray(p, dtype=np.float64) - 1).mean()) if len(p) else 0.0


def _prediction(expected: ExpectedLabels, score: float, config: Config) -> dict[str, Any]:
    p = expected.probabilities
    usable = {name: p[name] for name in p if config.choices is None or name in config.choices}
    chosen = [name for name in usable if name in expected.labels]
    result = {
        "from_name": config.from_name,
        "to_name": config.to_name,
        "type": "choices",
        "value": {"choices": chosen},
        "score": round(_certainty(list(usable.values())), 4),
    }
    results = [result] if chosen else []
    if expected.reasons and config.box is not None:
        name, about = config.box
        told = {"text": [str(reason) for reason in expected.reasons]}
        results.append({"from_name": name, "to_name": about, "type": "textarea", "value": told})
    return {"result": results, "score": round(score, 6)}


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
