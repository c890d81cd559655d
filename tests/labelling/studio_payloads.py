"""What Label Studio 1.23.2 sends, by webhook, in its export and by its interface; cut down to what is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

CONFIG = """<View><Text name="text" value="$text"/><Choices name="topic" toName="text" choice="multiple">
<Choice value="red"/><Choice value="round"/><Choice value="new"/><Choice value="elsewhere"/></Choices></View>"""
PROJECT = 5


def annotation(
    number: int = 1, choices: Sequence[str] = ("red",), at: str = "10:00:00.000030", **more: Any
) -> dict[str, Any]:
    """An annotation; new ones are written twice within microseconds, so that their two times differ."""
    return {
        "id": number,
        "completed_by": 7,
        "result": [
            {"from_name": "topic", "to_name": "text", "type": "choices", "value": {"choices": list(choices)}},
        ],
        "was_cancelled": False,
        "created_at": "2024-05-01T10:00:00.000010Z",
        "updated_at": f"2024-05-01T{at}Z",
        "unique_id": f"4984e312-4453-44b4-88f6-{number:012d}",
        "import_id": None,
        "task": 3,
        "project": PROJECT,
        "updated_by": 7,
        **more,
    }


def task(
    text: str, *annotations: dict[str, Any], number: int = 3, meta: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    """A task as the export and the interface write it."""
    return {
        "id": number,
        "data": {"text": text},
        "meta": meta or {},
        "created_at": "2024-05-01T08:00:00.000000Z",
        "updated_at": "2024-05-01T08:00:00.000000Z",
        "project": PROJECT,
        "annotations": [{**each, "task": number} for each in annotations],
        **more,
    }


def webhook(action: str, found: dict[str, Any], annotation: dict[str, Any]) -> dict[str, Any]:
    """A webhook about an annotation; its task comes without annotations."""
    bare = {key: value for key, value in found.items() if key != "annotations"}
    return {
        "action": action,
        "annotation": annotation,
        "task": bare,
        "project": {"id": PROJECT, "label_config": CONFIG},
    }


def created(found: dict[str, Any]) -> dict[str, Any]:
    """The webhook of the only annotation of a task."""
    return webhook("ANNOTATION_CREATED", found, found["annotations"][0])


def deleted(*numbers: int) -> dict[str, Any]:
    return {
        "action": "ANNOTATIONS_DELETED",
        "annotations": [{"id": number} for number in numbers],
        "project": {"id": PROJECT, "label_config": CONFIG},
    }
