"""What the page shows of a question: text, pictures and fields of its item, beliefs, and why it is asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from labelwise.labelling.pictures import is_picture
from labelwise.labelling.terms import CONTROL, START, Lease, Settings

INFORMATION = {"uncertainty": "doubt about its labels", "mutual_information": "expected information"}
WHY = {
    CONTROL: "Random share: drawn by chance, to measure how good the model is. What it believes is not shown here.",
    START: "Start: one of the random items that are answered in full before the strategy chooses.",
    "cold start": "Little is known yet: by its features, this item tells most about the others.",
    "overlap": "A second opinion: somebody else answers this too, to see how far you agree.",
}


def shown_question(lease: Lease, settings: Settings) -> dict[str, Any]:
    """A leased question as the page gets it; plain text throughout, the page escapes it."""
    question = lease.question
    by_chance = question.reason == CONTROL  # an opinion given beforehand would spoil the estimate
    beliefs = {} if by_chance else lease.beliefs
    return {
        "lease": lease.token,
        "item": question.item,
        "labels": [{"name": name, "p": _rounded(beliefs.get(name))} for name in question.labels],
        "reason": question.reason,
        "why": why_asked(lease, settings),
        "expires_at": lease.expires_at,
        "show": {
            **shown_item(question.item, lease.content, settings.features),
            "words": [] if by_chance else lease.words,
        },
    }


def why_asked(lease: Lease, settings: Settings) -> str:
    """The reason of a question in one sentence."""
    question = lease.question
    if question.reason in WHY:
        return WHY[question.reason]
    name = settings.strategy.removesuffix("_pairs")
    told = f"Worth asking: no. {lease.rank + 1} by {name.replace('_', ' ')}"
    if question.score != question.score:  # NaN: no score was given
        return f"{told}."
    if name in INFORMATION:
        return f"{told}, {INFORMATION[name]} {question.score:.3g} nats."
    return f"{told}, score {question.score:.3g}."


def shown_item(name: str, content: Any, features: Mapping[str, Any]) -> dict[str, Any]:
    """The content of an item sorted by how it is shown: a text, addresses of pictures, and a table of fields."""
    shown: dict[str, Any] = {"text": None, "pictures": [], "fields": []}
    if content is None:
        return shown
    fields = content.items() if isinstance(content, Mapping) else [(None, content)]
    main = features.get("field") if features.get("kind") == "text" else None
    for field, value in fields:
        if is_picture(value) or (features.get("kind") == "images" and field == features.get("field")):
            shown["pictures"].append(f"/pictures/{quote(name, safe='')}?field={quote(str(field or ''), safe='')}")
        elif shown["text"] is None and (field == main or field is None) and isinstance(value, str):
            shown["text"] = value
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            shown["fields"].append([str(field), text])
    return shown


def _rounded(p: float | None) -> float | None:
    return None if p is None or p != p else round(p, 4)
