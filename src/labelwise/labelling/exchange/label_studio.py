"""Label Studio JSON: tasks with annotations and predictions, out and in.

An annotation's choices named "labels" are the labels present. Where only some labels were asked about, or somebody was
unsure, two more choices say so: "absent" lists those that are not there, "unsure" those nobody could tell. What is in
none of the three was not asked. Without them an annotation is a whole one: labels it does not list are absent. A
skipped task is a cancelled annotation.

People of Label Studio are named "label-studio:" and their email address, or their number there as long as Label Studio
did not tell the address, so that nobody there can speak as somebody here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from labelwise.data.errors import FormatError
from labelwise.labelling.exchange.label_studio_tasks import SUGGESTIONS, plain, task_key
from labelwise.labelling.records import TOLD, Event
from labelwise.labelling.store.schema import STUDIO
from labelwise.records.asking import Timing

EMAIL_AND_NUMBER = re.compile(r"(\S+@\S+), (\d+)$")  # as Label Studio ends its `created_username`
FIELDS = ("text", "image")  # where Label Studio's own templates look for what to show


@dataclass(frozen=True)
class Annotation:
    """One annotation of Label Studio.

    Parameters
    ----------
    event : what it says; by when it was last changed
    source, number : its project there and its own number; blank where it does not say, or where it is no annotation of
        Label Studio but an answer that a project of ours exported
    created_at : when it was made; untouched since if that is (within a moment) the time of the event
    unique_id : tells it from one of the same numbers in another Label Studio
    import_id : where it was imported there, the number it had in that file
    """

    event: Event
    source: str = ""
    number: str = ""
    created_at: float = 0.0
    unique_id: str | None = None
    import_id: int | None = None


@dataclass(frozen=True)
class Task:
    """One task of a Label Studio file: what it calls itself, what it shows, and what people did."""

    item: str
    content: Any
    annotations: tuple[Annotation, ...]
    source: Mapping[str, Any]  # as it is in the file


def to_label_studio(
    contents: Mapping[str, Any],
    events: Sequence[Event],
    label_names: Sequence[str],
    project: str = "",
) -> list[dict[str, Any]]:
    """Tasks with annotations; what was taken back is left out, as Label Studio keeps no history.

    Parameters
    ----------
    contents : what to show of each item, by its name
    events : what people did
    label_names : labels in use
    project : the identity of the project, by which it knows its tasks again
    """
    undone = {event.undoes for event in events if event.undoes is not None}
    by_item: dict[str, list[Event]] = {}
    for event in events:
        if event.kind != "undo" and event.id not in undone:
            by_item.setdefault(event.item, []).append(event)
    tasks = []
    for number, (item, content) in enumerate(contents.items(), start=1):
        data = dict(content) if isinstance(content, Mapping) else {"text": content}
        field = shown_field(data)
        tasks.append(
            {
                "id": number,
                "data": data,
                "meta": {"item": item, "bare": not isinstance(content, Mapping), "project": project},
                "annotations": [_annotation(event, field, label_names) for event in by_item.get(item, ())],
                "predictions": [],
            }
        )
    return tasks


def labelling_interface(label_names: Sequence[str], field: str = "text") -> str:
    """The labelling interface that fits exported tasks: what they show, the labels, and a box for why they are likely.

    The choices that are not shown keep which labels were absent or unsure in answers that were given in part.

    >>> print(labelling_interface(["late", "R&D"]).splitlines()[4].strip())
    <Choice value="R&amp;D"/>
    """
    to_name, kind = quoteattr(field), "Image" if field == "image" else "Text"
    choices = [f"    <Choice value={quoteattr(name)}/>" for name in label_names]

    def control(name: str, more: str = "") -> list[str]:
        return [f'  <Choices name="{name}" toName={to_name} choice="multiple"{more}>', *choices, "  </Choices>"]

    lines = [
        "<View>",
        f"  <{kind} name={to_name} value={quoteattr('$' + field)}/>",
        *control("labels", ' showInline="true"'),
        f'  <TextArea name="suggestions" toName={to_name} editable="false" maxSubmissions="1" rows="1"/>',
        '  <View style="display: none">',
        *control("absent"),
        *control("unsure"),
        "  </View>",
        "</View>",
    ]
    return "\n".join(lines) + "\n"


def from_label_studio(tasks: Any, label_names: Sequence[str], *, is_live: bool = False) -> list[Task]:
    """Tasks of a Label Studio export; labels it does not know are added to `label_names` by the caller.

    A file may also be an export of ours, with the names of people here; what a Label Studio says itself (`is_live`) may
    not name them.
    """
    if not isinstance(tasks, list):
        raise FormatError("expected a list of tasks, as Label Studio exports with the format JSON")
    found = []
    for place, task in enumerate(tasks, start=1):
        if not isinstance(task, dict) or not isinstance(task.get("data"), dict):
            raise FormatError(f"task {place} has no data")
        said = task.get("meta")
        meta = said if isinstance(said, dict) else {}
        item = str(meta.get("item") or task.get("id") or place)
        data = {name: value for name, value in task["data"].items() if name != SUGGESTIONS}
        content = data.get("text") if meta.get("bare") else data
        annotations = task.get("annotations") or []
        if not isinstance(annotations, list):
            raise FormatError(f"task {place} has no list of annotations")
        if is_live:
            annotations = [{**each, "meta": None} if isinstance(each, dict) else each for each in annotations]
        read = [_annotation_of(each, task, item, label_names, f"of task {place}") for each in annotations]
        found.append(Task(item, content, tuple(read), task))
    return found


def _annotation_of(
    annotation: Any, task: Mapping[str, Any], item: str, label_names: Sequence[str], where: str
) -> Annotation:
    """An annotation of a file: of Label Studio, or of our own export, which says why and by whom it was answered."""
    meta = annotation.get("meta") if isinstance(annotation, Mapping) else None
    if isinstance(meta, Mapping) and "reason" in meta:
        return Annotation(_own_event(annotation, read_annotation(annotation, item, label_names, where)))
    read = studio_annotation(annotation, item, label_names, where)
    key = task_key(task)
    return replace(read, source=key[0] if key is not None else "")


def studio_annotation(annotation: Any, item: str, label_names: Sequence[str], where: str) -> Annotation:
    """An annotation that Label Studio sent; when it was last changed is when it was said."""
    if not isinstance(annotation, Mapping):
        raise FormatError(f"an annotation {where} (item {item!r}) cannot be read: {annotation!r}")
    event = read_annotation(annotation, item, label_names, where)
    unique_id, import_id = annotation.get("unique_id"), annotation.get("import_id")
    return Annotation(
        event=event,
        source=plain(annotation.get("project")),
        number=plain(annotation.get("id")),
        created_at=moment_of(annotation.get("created_at")) or event.at,
        unique_id=unique_id[:80] if isinstance(unique_id, str) else None,
        import_id=import_id if isinstance(import_id, int) else None,
    )


def _own_event(annotation: Mapping[str, Any], event: Event) -> Event:
    """The answer that one of our projects exported, with the person's name as it was there."""
    meta, named = annotation["meta"], annotation.get("completed_by", "somebody")
    who = meta.get("who", named if isinstance(named, str) else event.who)
    return replace(event, who=str(who), asked=meta.get("asked"), reason=str(meta["reason"]))


def labels_in(tasks: Any) -> list[str]:
    """Every label that an annotation of the tasks names, in order of appearance."""
    names: dict[str, None] = {}
    for task in tasks if isinstance(tasks, list) else ():
        for annotation in _listed(task, "annotations"):
            for result in _listed(annotation, "result"):
                value = result.get("value") if isinstance(result, dict) else None
                names |= dict.fromkeys(name for name in _listed(value, "choices") if isinstance(name, str))
    return list(names)


def emails_in(tasks: Any) -> dict[str, str]:
    """The email addresses of people who annotated, by their numbers in Label Studio, where it tells both.

    >>> emails_in([{"annotations": [{"completed_by": 7, "created_username": " ann@example.org, 7"}]}])
    {'7': 'ann@example.org'}
    """
    found: dict[str, str] = {}
    for task in tasks if isinstance(tasks, list) else ():
        for annotation in _listed(task, "annotations"):
            by = annotation.get("completed_by") if isinstance(annotation, dict) else None
            if isinstance(by, dict):
                number, email = plain(by.get("id")), by.get("email")
            else:
                said = EMAIL_AND_NUMBER.search(str(annotation.get("created_username"))) if by is not None else None
                number, email = (said[2], said[1]) if said is not None else ("", None)
                number = number if number == plain(by) else ""
            if number.isdecimal() and isinstance(email, str) and "@" in email and email.isprintable():
                found.setdefault(number, email[:200])
    return found


def _listed(found: Any, key: str) -> list[Any]:
    """The list of an object at a key; empty if it is no list, which is reported when the object is read."""
    value = found.get(key) if isinstance(found, dict) else None
    return value if isinstance(value, list) else []


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
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets in thousands of brackets
        raise FormatError(f"this JSON is too large or too deep to read: {error}", path) from None


def _annotation(event: Event, field: str, label_names: Sequence[str]) -> dict[str, Any]:
    said = {kind: [name for name, value in event.values.items() if value is kind] for kind in (True, False, None)}
    parts = {"labels": said[True]}
    if event.kind == "answer" and (said[None] or not set(label_names) <= event.values.keys()):
        parts |= {"absent": said[False], "unsure": said[None]}
    return {
        "id": event.id,
        **_completed_by(event.who),
        "created_at": datetime.fromtimestamp(event.at, UTC).isoformat(timespec="microseconds"),
        "was_cancelled": event.kind == "skip",
        "result": [_choices(name, names, field) for name, names in parts.items() if event.kind == "answer"],
        **({} if event.timing is None else {"lead_time": event.timing.seconds}),
        "meta": {"who": event.who, "reason": event.reason, "asked": event.asked, **_time_meta(event.timing)},
    }


def _time_meta(timing: Timing | None) -> dict[str, Any]:
    return {} if timing is None else {"timing": {k: v for k, v in asdict(timing).items() if k != "seconds"}}


def _choices(name: str, names: Sequence[str], field: str) -> dict[str, Any]:
    return {"from_name": name, "to_name": field, "type": "choices", "value": {"choices": list(names)}}


def shown_field(data: Mapping[str, Any]) -> str:
    """The field of a task that an interface made for it shows."""
    return next((name for name in FIELDS if name in data), next(iter(data), "text"))


def read_annotation(annotation: Any, item: str, label_names: Sequence[str], where: str) -> Event:
    """What somebody did to a task; `where` says in errors which annotation it is."""
    try:
        parts = _parts(annotation.get("result") or [])
        at = _moment(annotation.get("updated_at") or annotation["created_at"])
        who, number = person_there(annotation.get("completed_by")), int(annotation.get("id") or 0)
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise FormatError(f"an annotation {where} (item {item!r}) cannot be read: {error!r}") from None
    skipped = bool(annotation.get("was_cancelled"))
    return Event(
        id=number,
        at=at,
        who=who,
        kind="skip" if skipped else "answer",
        item=item,
        asked=None,
        reason=TOLD,
        values={} if skipped else _values(parts, label_names),
        timing=_lead_time(annotation),
    )


def _lead_time(annotation: Mapping[str, Any]) -> Timing | None:
    """How long Label Studio says it took, within reason; what our own export says of the question, too."""
    seconds, meta = annotation.get("lead_time"), annotation.get("meta")
    if not isinstance(seconds, int | float) or isinstance(seconds, bool):
        return None
    said = meta.get("timing") if isinstance(meta, Mapping) else None
    known = said if isinstance(said, Mapping) else {}
    picks = {name: known.get(name) for name in ("by_key", "by_search", "by_suggestion")}
    counts = {name: number for name, number in picks.items() if isinstance(number, int)}
    return Timing(float(seconds), str(known.get("question", "item")), **counts).clamped()


def person_there(completed_by: Any) -> str:
    """The name here of somebody who answers in Label Studio.

    >>> person_there(7), person_there({"id": 7, "email": "ann@example.org"}), person_there(None)
    ('label-studio:7', 'label-studio:7', 'label-studio:unknown')
    """
    if isinstance(completed_by, Mapping):
        completed_by = completed_by.get("id") or completed_by.get("email")
    name = "unknown" if completed_by is None or isinstance(completed_by, bool) else str(completed_by)[:200]
    if not name.strip() or not name.isprintable():
        raise ValueError(f"completed_by must be a number or an email address, got {name!r}")
    return STUDIO + name


def _completed_by(who: str) -> dict[str, Any]:
    """Who answered as Label Studio takes it: only people of its own, others it would refuse.

    >>> _completed_by("label-studio:7"), _completed_by("label-studio:ann@example.org"), _completed_by("ann")
    ({'completed_by': 7}, {'completed_by': {'email': 'ann@example.org'}}, {})
    """
    name = who.removeprefix(STUDIO)
    if name == who:
        return {}
    if name.isdecimal():
        return {"completed_by": int(name)}
    return {"completed_by": {"email": name}} if "@" in name else {}


def moment_of(text: Any) -> float:
    """Seconds since 1970 of a time as Label Studio writes it; 0 where it is none."""
    try:
        return _moment(text)
    except (TypeError, AttributeError, ValueError, OverflowError):
        return 0.0


def _moment(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def _parts(results: Any) -> dict[str, list[str]]:
    """Choices by the name of the control that they were made in."""
    parts: dict[str, list[str]] = {}
    for result in results:
        if result.get("type") == "choices":
            choices = result["value"]["choices"]
            if not isinstance(choices, list):
                raise TypeError(f"expected a list of choices, got {choices!r}")
            parts.setdefault(str(result["from_name"]), []).extend(str(choice) for choice in choices)
    return parts


def _values(parts: dict[str, list[str]], label_names: Sequence[str]) -> dict[str, bool | None]:
    present = [name for kind, names in parts.items() if kind not in ("absent", "unsure") for name in names]
    if "absent" in parts or "unsure" in parts:
        said: dict[str, bool | None] = dict.fromkeys(parts.get("absent", ()), False)
        said |= dict.fromkeys(parts.get("unsure", ()), None)
    else:
        said = dict.fromkeys(label_names, False)
    return said | dict.fromkeys(present, True)
