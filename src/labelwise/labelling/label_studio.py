"""Label Studio JSON: tasks with annotations and predictions, out and in.

An annotation's choices named "labels" are the labels present. Where only some labels were asked about, or somebody was
unsure, two more choices say so: "absent" lists those that are not there, "unsure" those nobody could tell; what is in
none of the three was not asked. Without them an annotation is a whole one: labels it does not list are absent. A
skipped task is a cancelled annotation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from labelwise.data.errors import FormatError
from labelwise.labelling.terms import TOLD, Event

FIELDS = ("text", "image")  # where Label Studio's own templates look for what to show


@dataclass(frozen=True)
class Task:
    """One task of a Label Studio file: the item, and what people did."""

    item: str
    content: Any
    events: tuple[Event, ...]


def to_label_studio(
    contents: Mapping[str, Any],
    events: Sequence[Event],
    label_names: Sequence[str],
    predictions: Mapping[str, Mapping[str, float]] | None = None,
) -> list[dict[str, Any]]:
    """Tasks with annotations and predictions; what was taken back is left out, as Label Studio keeps no history.

    Parameters
    ----------
    contents : what to show of each item, by its name
    events : what people did
    label_names : labels in use
    predictions : label to probability for items the model has an opinion of
    """
    undone = {event.undoes for event in events if event.undoes is not None}
    by_item: dict[str, list[Event]] = {}
    for event in events:
        if event.kind != "undo" and event.id not in undone:
            by_item.setdefault(event.item, []).append(event)
    tasks = []
    for number, (item, content) in enumerate(contents.items(), start=1):
        data = dict(content) if isinstance(content, Mapping) else {"text": content}
        believed = (predictions or {}).get(item)
        tasks.append(
            {
                "id": number,
                "data": data,
                "meta": {"item": item, "bare": not isinstance(content, Mapping)},
                "annotations": [_annotation(event, _shown_field(data), label_names) for event in by_item.get(item, ())],
                "predictions": [] if believed is None else [_prediction(believed, _shown_field(data))],
            }
        )
    return tasks


def from_label_studio(tasks: Any, label_names: Sequence[str]) -> list[Task]:
    """Items and events of a Label Studio export; labels it does not know are added to `label_names` by the caller."""
    if not isinstance(tasks, list):
        raise FormatError("expected a list of tasks, as Label Studio exports with the format JSON")
    found = []
    for place, task in enumerate(tasks, start=1):
        if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
            raise FormatError(f"task {place} has no data")
        meta = task.get("meta") or {}
        item = item_of_task(task) or str(place)
        content = task["data"]["text"] if meta.get("bare") else task["data"]
        annotations = task.get("annotations") or []
        events = [read_annotation(annotation, item, label_names, f"of task {place}") for annotation in annotations]
        found.append(Task(item, content, tuple(events)))
    return found


def labels_in(tasks: Any) -> list[str]:
    """Every label that an annotation of the tasks names, in order of appearance."""
    names: dict[str, None] = {}
    for task in tasks if isinstance(tasks, list) else ():
        for annotation in (task.get("annotations") or []) if isinstance(task, dict) else ():
            for result in annotation.get("result") or []:
                names |= dict.fromkeys(result.get("value", {}).get("choices", ()))
    return list(names)


def read_tasks(path: str) -> Any:
    """The JSON of a Label Studio file."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except UnicodeDecodeError as error:
        raise FormatError(
            f"found the byte {error.object[error.start : error.start + 1]!r}, not utf-8 text", path
        ) from None
    except json.JSONDecodeError as error:
        raise FormatError(f"this is no JSON: {error.msg}", path, error.lineno) from None


def _annotation(event: Event, field: str, label_names: Sequence[str]) -> dict[str, Any]:
    said = {kind: [name for name, value in event.values.items() if value is kind] for kind in (True, False, None)}
    parts = {"labels": said[True]}
    if event.kind == "answer" and (said[None] or not set(label_names) <= event.values.keys()):
        parts |= {"absent": said[False], "unsure": said[None]}
    return {
        "id": event.id,
        "completed_by": event.who,
        "created_at": datetime.fromtimestamp(event.at, UTC).isoformat(timespec="microseconds"),
        "was_cancelled": event.kind == "skip",
        "result": [_choices(name, names, field) for name, names in parts.items() if event.kind == "answer"],
        "meta": {"reason": event.reason, "asked": event.asked},
    }


def _prediction(believed: Mapping[str, float], field: str) -> dict[str, Any]:
    present = {name: p for name, p in believed.items() if p > 0.5}
    result = _choices("labels", list(present), field)
    scores = {name: round(float(p), 6) for name, p in believed.items()}
    return {
        "model_version": "labelwise",
        "score": min(present.values(), default=0.0),
        "result": [result],
        "meta": scores,
    }


def _choices(name: str, names: Sequence[str], field: str) -> dict[str, Any]:
    return {"from_name": name, "to_name": field, "type": "choices", "value": {"choices": list(names)}}


def _shown_field(data: Mapping[str, Any]) -> str:
    return next((name for name in FIELDS if name in data), next(iter(data), "text"))


def item_of_task(task: Mapping[str, Any]) -> str:
    """The item that a task is: the one it says it is, or else its number; blank where it has neither.

    >>> item_of_task({"id": 7, "meta": {"item": "T0001"}}), item_of_task({"id": 7}), item_of_task({})
    ('T0001', '7', '')
    """
    meta = task.get("meta")
    name = meta.get("item", task.get("id")) if isinstance(meta, Mapping) else task.get("id")
    return "" if name is None else str(name)


def read_annotation(annotation: Any, item: str, label_names: Sequence[str], where: str) -> Event:
    """What somebody did to a task; `where` says in errors which annotation it is."""
    try:
        parts = {
            str(result["from_name"]): [str(choice) for choice in result["value"]["choices"]]
            for result in annotation.get("result") or []
            if result.get("type") == "choices"
        }
        at = datetime.fromisoformat(annotation["created_at"].replace("Z", "+00:00")).timestamp()
        who = annotation.get("completed_by", "label studio")
        who = str(who.get("email", who.get("id"))) if isinstance(who, dict) else str(who)
        number, meta = int(annotation.get("id", 0)), dict(annotation.get("meta") or {})
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise FormatError(f"an annotation {where} (item {item!r}) cannot be read: {error!r}") from None
    skipped = bool(annotation.get("was_cancelled"))
    return Event(
        id=number,
        at=at,
        who=who,
        kind="skip" if skipped else "answer",
        item=item,
        asked=meta.get("asked"),
        reason=meta.get("reason", TOLD),
        values={} if skipped else _values(parts, label_names),
    )


def _values(parts: dict[str, list[str]], label_names: Sequence[str]) -> dict[str, bool | None]:
    present = [name for kind, names in parts.items() if kind not in ("absent", "unsure") for name in names]
    if "absent" in parts or "unsure" in parts:
        said: dict[str, bool | None] = dict.fromkeys(parts.get("absent", ()), False)
        said |= dict.fromkeys(parts.get("unsure", ()), None)
    else:
        said = dict.fromkeys(label_names, False)
    return said | dict.fromkeys(present, True)
