"""A project and Label Studio: tasks and answers out and in, by files and by a running one; predictions to it."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import Any

import numpy as np

from labelwise.files import write_text
from labelwise.labelling.errors import ProjectError
from labelwise.labelling.exchange.label_studio import (
    Task,
    emails_in,
    from_label_studio,
    labelling_interface,
    labels_in,
    moment_of,
    read_tasks,
    shown_field,
    to_label_studio,
)
from labelwise.labelling.exchange.label_studio_answers import (
    Interface,
    PlacedAnnotation,
    TakenAnnotation,
    forget_absent,
    missing,
    take_all,
)
from labelwise.labelling.exchange.label_studio_api import LabelStudio
from labelwise.labelling.exchange.label_studio_predictions import (
    TASKS_AT_ONCE,
    Config,
    expected_of,
    prediction,
    predictions_of,
    version_of,
    version_prefix,
)
from labelwise.labelling.exchange.label_studio_tasks import SUGGESTIONS, data_digest, task_key
from labelwise.labelling.items.browse import Browser
from labelwise.labelling.project import Project
from labelwise.labelling.records import Event, ExpectedLabels
from labelwise.labelling.served import OWNER
from labelwise.labelling.store.annotations import name_people, write_tasks
from labelwise.labelling.store.engine import pieces
from labelwise.labelling.store.items import item_ids
from labelwise.labelling.store.schema import STUDIO
from labelwise.labelling.training.locks import worker_is_running
from labelwise.records import LabelData
from labelwise.records.labels import as_labels
from labelwise.views.wording import counted

PREDICTIONS_AT_ONCE = 500  # of one request to Label Studio
FOLLOW_SECONDS = 3.0  # between two looks for a new training
SEND_SECONDS = 20.0  # at least between two times that predictions are sent: Label Studio writes them all
TEXT_FIELDS = ("text", "body", "content")  # of tasks, where nobody says which field is the text


# -- tasks and predictions out -----------------------------------------------------------------------------------------


def export_tasks(project: Project, out: str, *, predictions: bool = False) -> int:
    """Label Studio tasks, with annotations and, if wanted, the model's predictions.

    Predictions are those that the backend gives, with its version and scores: Label Studio takes the version of the
    tasks that it imports, and its uncertainty sampling asks our next questions first.
    """
    learner = project.learner()
    contents = dict(zip(learner.items.names, learner.items.contents, strict=True))
    tasks = to_label_studio(contents, project.events(), learner.labels.names, project.identity)
    if predictions:
        _learn(project)
        browser = Browser(project)
        version = version_of(browser)
        for part in pieces(tasks, TASKS_AT_ONCE):
            for task, (expected, score) in zip(part, expected_of(browser, part, _nothing), strict=True):
                _add_prediction(task, expected, score, version)
    write_text(out, json.dumps(tasks, ensure_ascii=False, indent=1))
    return len(tasks)


def _add_prediction(task: dict[str, Any], expected: ExpectedLabels, score: float, version: str) -> None:
    """A prediction in a task that is exported; why labels are likely is a field of the task, to be shown beside it."""
    found = prediction(expected, score, Config(to_name=shown_field(task["data"])))
    probabilities = {name: round(float(p), 6) for name, p in expected.probabilities.items()}
    task["predictions"] = [{**found, "model_version": version, "meta": probabilities}]
    if expected.reasons:
        task["data"][SUGGESTIONS] = "\n".join(map(str, expected.reasons))


def export_interface(project: Project, out: str) -> int:
    """The labelling interface for exported tasks, to be pasted into Label Studio; how many labels it has."""
    names = project.label_names()
    write_text(out, labelling_interface(names, project.settings.features.get("field") or "text"))
    return len(names)


def send_predictions(project: Project, studio: LabelStudio, number: int) -> tuple[str, int]:
    """Give a project of a running Label Studio our predictions of its unanswered tasks; their version, and how many.

    What was answered since the last training is learnt first, unless a worker does that. The project there then shows
    this version and samples by it, and our earlier predictions are deleted. Until all have arrived it goes on with the
    earlier ones.
    """
    _learn(project)
    return _send(project, studio, number)


def follow_trainings(
    project: Project,
    studio: LabelStudio,
    number: int,
    *,
    told: Callable[[str], object],
    wait: Callable[[float], object] = time.sleep,
) -> None:
    """Send predictions now, and those of each new training of the project's worker, until interrupted.

    `told` gets a line for each, and for what went wrong; what could not be sent is sent as soon as it can be.
    """
    browser, problem = Browser(project), ""
    sent, n = send_predictions(project, studio, number)
    told(f"{counted(n, 'prediction')} of {sent}")
    pause = SEND_SECONDS
    while True:
        wait(pause)
        pause = FOLLOW_SECONDS
        try:
            if version_of(browser) != sent:
                sent, n = _send(project, studio, number)
                told(f"{counted(n, 'prediction')} of {sent}")
                pause = SEND_SECONDS
            problem = ""
        except ProjectError as error:
            if str(error) != problem:
                told(f"{error}; trying again")
            problem = str(error)


def _send(project: Project, studio: LabelStudio, number: int) -> tuple[str, int]:
    config = Config.read(studio.label_config(number), project.label_names())
    tasks, browser = [task for task in studio.tasks(number) if not task.get("is_labeled")], Browser(project)
    version = version_of(browser)
    prefix, before = version_prefix(project), studio.model_versions(number)
    if version in before:  # a part of them was sent before, or Label Studio asked for some itself
        studio.delete_predictions(number, version)
    sent = 0
    for part in pieces(tasks, PREDICTIONS_AT_ONCE):
        found = predictions_of(browser, part, config, _nothing)
        rows = [{**each, "task": task["id"], "model_version": version} for task, each in zip(part, found, strict=True)]
        studio.add_predictions(number, rows)
        sent += len(rows)
    if sent:
        studio.choose_version(number, version)
        for earlier in before:
            if earlier.startswith(prefix) and earlier != version:
                studio.delete_predictions(number, earlier)
    return version, sent


def _learn(project: Project) -> None:
    """Learn what was answered since the last training, unless a worker does."""
    if not worker_is_running(project.store):
        project.refresh(encode=False)


def _nothing(contents: Sequence[Any]) -> list[ExpectedLabels]:
    """Tasks that are no items of the project are not believed."""
    return [ExpectedLabels() for _ in contents]


# -- tasks and answers in ----------------------------------------------------------------------------------------------


@dataclass
class Imported:
    """What became of the tasks and annotations of an import.

    Parameters
    ----------
    items, events : how many are new
    labels : those that are new
    repeated : annotations that were known already, in this state or a later one, or were deleted
    refused : how many annotations were not taken, by why
    unknown_labels : choices that are no labels here
    missing : annotations that are known from there and are not in the import
    taken_back : answers taken back because their annotations are missing
    """

    items: int = 0
    events: int = 0
    labels: tuple[str, ...] = ()
    repeated: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    unknown_labels: set[str] = field(default_factory=set)
    missing: int = 0
    taken_back: int = 0

    def add(self, taken: TakenAnnotation) -> None:
        if taken.is_new:
            self.events += 1
        elif taken.refused:
            self.refused[taken.refused] += 1
        else:
            self.repeated += 1
        self.unknown_labels |= set(taken.unknown_labels)

    def in_words(self) -> str:
        """What was new, and a line for everything that is not here afterwards."""
        lines = [f"{counted(self.items, 'new item')}, {counted(self.events, 'new event')}"]
        if self.repeated:
            lines[0] += f", {self.repeated} known already"
        if self.labels:
            lines.append(f"{counted(len(self.labels), 'new label')}: {', '.join(self.labels)}")
        lines += [f"refused {counted(number, 'annotation')}: {why}" for why, number in self.refused.items()]
        if self.unknown_labels:
            lines.append(f"no labels here: {', '.join(sorted(self.unknown_labels))}; labelwise labels add makes one")
        if self.taken_back:
            lines.append(f"took back {counted(self.taken_back, 'answer')}: the annotations are gone in Label Studio")
        elif self.missing:
            lines.append(
                f"{counted(self.missing, 'annotation')} known from there not found now: --reconcile takes them back"
            )
        return "\n".join(lines)


def import_tasks(project: Project, path: str, *, reconcile: bool = False) -> Imported:
    """Label Studio tasks of a file: items, labels and annotations that are new.

    With `reconcile` the file is taken to have all annotations of its Label Studio project. What is known from there and
    is not in the file is taken back, unless it is newer than everything in the file.
    """
    found = read_tasks(path)
    names = project.label_names()
    known = {*names, *project.gone_labels()}
    fresh = [name for name in labels_in(found) if name not in known]
    tasks = from_label_studio(found, [*names, *fresh])
    _name_people(project, found)
    result = Imported(labels=tuple(fresh))
    result.items = _add_tasks(project, tasks, [*names, *fresh])
    if not result.items:
        for name in fresh:
            project.add_label(name)
    _take_annotations(project, tasks, result)
    _reconcile(project, tasks, result, reconcile=reconcile, as_of=None)
    return result


@dataclass(frozen=True)
class TaskPool:
    """The tasks of a Label Studio file for a new project.

    Parameters
    ----------
    data : the items and labels
    text : the field that is the text; "" where the items are texts
    tasks : by the names of their items
    """

    data: LabelData
    text: str
    tasks: Mapping[str, Task]

    @classmethod
    def read(cls, path: str, *, labels: Iterable[Any] | None = None, text: str | None = None) -> TaskPool:
        """From a file that Label Studio exported as JSON, or `labelwise export`.

        Labels that annotations name are added to `labels`, and do where none are given. Without `text` it is looked
        for.
        """
        found = read_tasks(path)
        described = as_labels(labels or ())
        names = [label.name for label in described]
        names += [name for name in labels_in(found) if name not in names]
        if not names:
            raise ProjectError(f"which labels are there? No annotation of {path} names one; name them by labels=")
        new = _named(from_label_studio(found, names), set())
        if not new:
            raise ProjectError(f"{path} has no task; export the tasks from Label Studio as JSON")
        data = _data_of(new, names).with_labels(described)
        return cls(data, _text_field(list(new.values())) if text is None else text, new)

    def take_answers(self, project: Project) -> Imported:
        """The annotations as answers of the project that was made of the items."""
        _note_tasks(project, self.tasks)
        _name_people(project, [task.source for task in self.tasks.values()])
        result = Imported(items=len(self.tasks))
        _take_annotations(project, list(self.tasks.values()), result)
        return result


def _text_field(tasks: Sequence[Task]) -> str:
    """The field that is a text in all tasks: one of the usual name, or the only one; "" where tasks are texts."""
    contents = [task.content for task in tasks]
    if all(isinstance(content, str) for content in contents):
        return ""
    fields = [content for content in contents if isinstance(content, Mapping)]
    texts = [name for name in (fields[0] if fields else ()) if all(isinstance(each.get(name), str) for each in fields)]
    usual = [name for name in TEXT_FIELDS if name in texts] or texts
    if len(fields) < len(contents) or not texts or (len(usual) > 1 and usual[0] not in TEXT_FIELDS):
        there = ", ".join(map(repr, dict.fromkeys(name for each in fields for name in each))) or "nothing"
        raise ProjectError(f"which field of the tasks is the text to learn from? Say it by text=; they have {there}")
    return usual[0]


def import_live(project: Project, studio: LabelStudio, number: int, *, reconcile: bool = False) -> Imported:
    """The annotations of a project of a running Label Studio; tasks that are no items here are refused.

    Taken in again and again they count once: this is how answers are got that were made while nobody listened to the
    webhook. With `reconcile`, answers whose annotations are no longer there are taken back.
    """
    as_of = time.time()
    interface = Interface.read(studio.label_config(number), project.label_names())
    listed = [_relevant(task, interface) for task in studio.tasks(number)]
    tasks = from_label_studio(listed, interface.asked, is_live=True)
    _name_people(project, listed)
    result = Imported()
    _take_annotations(project, tasks, result, as_of)
    _reconcile(project, tasks, result, reconcile=reconcile, as_of=as_of, source=str(number))
    return result


def _name_people(project: Project, tasks: Any) -> None:
    """Call people by their email addresses, where Label Studio tells them."""
    emails = emails_in(tasks)
    if emails:
        project.store.write(lambda connection: name_people(connection, emails, OWNER, time.time()))


def _relevant(task: Any, interface: Interface) -> Any:
    annotations = task.get("annotations") if isinstance(task, dict) else None
    if not isinstance(annotations, list):
        return task
    return {**task, "annotations": [interface.relevant(a) if isinstance(a, dict) else a for a in annotations]}


def _add_tasks(project: Project, tasks: Sequence[Task], label_names: Sequence[str]) -> int:
    """Make items of the tasks that are none yet; how many."""
    places = project.task_items.find([task.source for task in tasks])
    unknown = [t for t, place in zip(tasks, places, strict=True) if place.number is None and not place.is_ambiguous]
    new = _named(unknown, set(project.item_names()))
    if new:
        project.add_items(_data_of(new, label_names, project.settings.features.get("width", 1)))
        _note_tasks(project, new)
    return len(new)


def _named(tasks: Sequence[Task], taken: set[str]) -> dict[str, Task]:
    """Tasks by names for their items that are not taken."""
    new: dict[str, Task] = {}
    for task in tasks:
        name = _free_name(task, taken)
        taken.add(name)
        new[name] = task
    return new


def _data_of(new: Mapping[str, Task], label_names: Sequence[str], width: int = 1) -> LabelData:
    return LabelData.from_arrays(
        np.zeros((len(new), width)),
        label_names=label_names,
        item_ids=list(new),
        items=[task.content for task in new.values()],
    )


def _free_name(task: Task, taken: Set[str]) -> str:
    """A task's own name, or one after its project and number where another item has that name."""
    if task.item not in taken:
        return task.item
    base = STUDIO + ":".join(task_key(task.source) or (task.item,))
    return next(name for name in chain([base], (f"{base} ({i})" for i in count(2))) if name not in taken)


def _note_tasks(project: Project, new: Mapping[str, Task]) -> None:
    """New items are known again by their tasks, also where several show the same."""
    with project.store.writing() as connection:
        numbers = item_ids(connection, new)
        keys = {name: task_key(task.source) for name, task in new.items()}
        rows = [(*key, numbers[name], data_digest(new[name].source)) for name, key in keys.items() if key is not None]
        write_tasks(connection, rows)


def _take_annotations(project: Project, tasks: Sequence[Task], result: Imported, as_of: float | None = None) -> None:
    """The annotations of tasks: of Label Studio by their numbers, of our own exports by person and moment."""
    live: list[PlacedAnnotation] = []
    own: list[Event] = []
    for task, place in zip(tasks, project.task_items.find([task.source for task in tasks]), strict=True):
        is_ours = _get_meta(task).get("project") == project.identity
        for each in task.annotations:
            if place.number is None:
                result.refused[place.why] += 1
            elif each.source and each.number:
                live.append(PlacedAnnotation(each, place.number, as_of, is_ours))
            else:
                own.append(replace(each.event, item=place.name))
    own.sort(key=lambda event: (event.at, event.id))
    recorded = project.record(own) if own else 0
    result.events += recorded
    result.repeated += len(own) - recorded
    live.sort(key=lambda found: (found.annotation.event.at, found.annotation.number))
    for taken in take_all(project.store, live):
        result.add(taken)


def _get_meta(task: Task) -> Mapping[str, Any]:
    meta = task.source.get("meta")
    return meta if isinstance(meta, Mapping) else {}


def _reconcile(
    project: Project,
    tasks: Sequence[Task],
    result: Imported,
    *,
    reconcile: bool,
    as_of: float | None,
    source: str = "",
) -> None:
    """Tell, and take back if wanted, the answers whose annotations the tasks no longer have."""
    seen: dict[str, set[str]] = {source: set()} if source else {}
    for task in tasks:
        key = task_key(task.source)
        if key is not None:
            seen.setdefault(key[0], set()).update(each.number for each in task.annotations)
    newest = max((moment for task in tasks for moment in _moments(task)), default=0.0)
    for there, numbers in seen.items():
        gone = missing(project.store, there, numbers, as_of=as_of, newest=newest)
        result.missing += len(gone)
        if reconcile:
            result.taken_back += forget_absent(project.store, there, gone)


def _moments(task: Task) -> list[float]:
    said = [task.source.get("updated_at"), task.source.get("created_at")]
    return [each.event.at for each in task.annotations] + [moment_of(text) for text in said]
