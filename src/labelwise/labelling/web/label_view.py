"""The page to label on, and what it shows of a question: text, pictures and fields, beliefs, and why it is asked.

It is filled in by the modules of `static/label`, which speak to the JSON interface.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import PurePath
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request
from fastapi.responses import FileResponse, RedirectResponse, Response
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool

from labelwise.labelling.errors import ProjectError, StoreError
from labelwise.labelling.items.markup import plain_text, rendered
from labelwise.labelling.items.pictures import (
    PictureCache,
    PictureTooLarge,
    is_picture,
    media_kind,
    media_of,
    needs_conversion,
    picture_bytes,
    shown_picture,
)
from labelwise.labelling.records import Lease, Settings
from labelwise.labelling.served import ServedProject
from labelwise.labelling.store.trainings import last_good
from labelwise.labelling.texts import ENGLISH, Texts
from labelwise.labelling.training.derived import derived_path
from labelwise.labelling.web.access import CurrentUser, TheProject, render
from labelwise.labelling.web.texts import TheTexts
from labelwise.records.asking import BY_MODEL, BY_NAME, BY_RATE, CONTROL, START_REASON, WORTH_ASKING, Suggestion

MOST_ALSO = 3  # labels that are asked about once more: as many as one look takes in
CHOSEN = {  # why a strategy asks about an item, by the beginning of its name: a text of the group "why"
    **dict.fromkeys(("variance_reduction", "label_covariance", "mutual_information"), "tells_much"),
    "uncertainty": "unsure",
    "diverse_uncertainty": "unsure_and_unlike",
    "balanced_pairs": "balanced",
    "random": "by_chance",
}
SOURCES = {BY_MODEL: "by_model", BY_NAME: "by_name", BY_RATE: "by_rate"}  # what speaks for a label
WHY = {CONTROL: "control", START_REASON: "start", "cold start": "cold_start", "overlap": "overlap"}
router = APIRouter(include_in_schema=False)


@router.get("/")
def start() -> Response:
    return RedirectResponse("/label", 303)


@router.get("/label")
def label(request: Request, user: CurrentUser, project: TheProject, texts: TheTexts) -> Response:
    if not user.may_answer:
        return RedirectResponse("/progress", 303)
    shown: dict[str, Any] = {"lease_seconds": project.settings.lease_seconds, "most_verified": MOST_ALSO}
    shown |= {"identity": project.identity, "guidelines": shown_guidelines(project)}
    shown["commands"] = texts.groups["commands"]
    shown["sweep"] = _worth_a_sweep(project)
    return render(request, "label.html.jinja", **shown)


def _worth_a_sweep(project: ServedProject) -> dict[str, Any] | None:
    """The label that a page of a sweep is worth most for, if that is far more than whole items bring."""
    with project.store.reading() as connection:
        good = last_good(connection)
    standing = {} if good is None else (good.report or {}).get("standing") or {}
    return next((each for each in standing.get("sweeps", ()) if each["times"] >= WORTH_ASKING), None)


@router.get("/help")
def help_page(request: Request, user: CurrentUser) -> Response:
    return render(request, "help.html.jinja")


# -- what is shown of a question and of an item ------------------------------------------------------------------------


def shown_question(
    lease: Lease,
    settings: Settings,
    whole: Lease | None = None,
    *,
    is_repeated: bool = False,
    texts: Texts = ENGLISH,
) -> dict[str, Any]:
    """A leased question as the page gets it; plain text throughout, the page escapes it.

    `whole` is the same question as if it asked about all of the item; `is_repeated` leaves its labels out, as another
    question of the same reply has them.
    """
    question = lease.question
    by_chance = question.reason == CONTROL  # an opinion given beforehand would spoil the estimate
    beliefs = {} if by_chance else lease.beliefs
    return {
        "lease": lease.token,
        "item": question.item,
        "labels": _shown_labels(question.labels, beliefs, lease.reasons, texts),
        "whole": [] if is_repeated else None if whole is None else _whole_labels(whole, lease, by_chance, texts),
        "also": list(lease.verify),
        "reason": question.reason,
        "why": why_asked(lease, settings, texts),
        "expires_at": lease.expires_at,
        "show": {
            **shown_item(question.item, lease.content, settings.features),
            "words": [] if by_chance else lease.words,
        },
    }


def _shown_labels(
    names: Iterable[str], beliefs: Mapping[str, float], reasons: Mapping[str, Suggestion], texts: Texts
) -> list[dict[str, Any]]:
    """Labels with their probabilities and, of those that there are beliefs of, why."""
    why = {name: why_suggested(each, texts) for name, each in reasons.items() if name in beliefs}
    return [{"name": name, "p": _rounded(beliefs.get(name)), "why": why.get(name)} for name in names]


def _whole_labels(whole: Lease, asked: Lease, by_chance: bool, texts: Texts) -> list[dict[str, Any]]:
    """All open labels of an item, and those asked about, whether they are open or not."""
    names = dict.fromkeys([*whole.question.labels, *asked.question.labels])
    beliefs = {} if by_chance else {**asked.beliefs, **whole.beliefs}
    return _shown_labels(names, beliefs, {**asked.reasons, **whole.reasons}, texts)


def why_asked(lease: Lease, settings: Settings, texts: Texts) -> str:
    """The reason of a question in one sentence."""
    question = lease.question
    if question.reason in WHY:
        return texts.plain(f"why.{WHY[question.reason]}")
    name = settings.strategy.removesuffix("_pairs")
    because = texts.plain(f"why.{CHOSEN.get(name, 'strategy')}", name=name.replace("_", " "))
    return texts.plain("why.asked", because=because, number=lease.rank + 1)


def why_suggested(suggested: Suggestion, texts: Texts) -> str:
    """What speaks for a label, and by which words of the item.

    >>> why_suggested(Suggestion("sports", 0.62, "name", ("goal", "match")), ENGLISH)
    'by its name: goal, match'
    """
    source = texts.plain(f"why.{SOURCES.get(suggested.source, 'by_source')}", source=suggested.source)
    return f"{source}: {', '.join(suggested.words)}" if suggested.words else source


def shown_item(name: str, content: Any, features: Mapping[str, Any]) -> dict[str, Any]:
    """The content of an item sorted by how it is shown: a text, addresses of pictures and media, a table of fields.

    Texts are plain throughout; `html` has, sanitised, those that are Markdown or HTML: by field, "" for the text.
    """
    shown: dict[str, Any] = {"text": None, "pictures": [], "media": [], "fields": [], "html": {}}
    if content is None:
        return shown
    fields = content.items() if isinstance(content, Mapping) else [(None, content)]
    kind, main, formats = features.get("kind"), features.get("field"), features.get("formats", {})
    for field, value in fields:
        is_main, form = field == main, formats.get(field or "")
        is_text, place = kind == "text" and is_main, f"{quote(name, safe='')}?field={quote(str(field or ''), safe='')}"
        if not is_text and (is_picture(value) or (kind == "images" and is_main)):
            shown["pictures"].append(f"/pictures/{place}")
        elif not is_text and (medium := media_kind(value)) is not None:
            file = "" if value.startswith("data:") else PurePath(value).name
            shown["media"].append(
                {"kind": medium, "address": f"/media/{place}", "field": str(field or ""), "file": file}
            )
        elif isinstance(value, str) and (field is None or is_text):
            shown["text"] = plain_text(value, form)
            shown["html"] |= {} if form is None else {"": Markup(rendered(value, form))}
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            shown["fields"].append([str(field), plain_text(text, form)])
            shown["html"] |= {} if form is None else {str(field): Markup(rendered(text, form))}
    return shown


def shown_guidelines(project: ServedProject) -> Markup:
    """How to label, as HTML; empty where nothing was written."""
    return Markup(rendered(project.guidelines(), "markdown", level=2))


def _rounded(p: float | None) -> float | None:
    return None if p is None or p != p else round(p, 4)


# -- pictures and media: by the item's name and the field they are in, never by a path --------------------------------


ALONE = {"content-security-policy": "default-src 'none'; sandbox"}
IN_A_FRAME = {  # a PDF is shown in a frame of our page, and nowhere else; browsers show none in a sandbox
    "content-security-policy": "default-src 'none'; frame-ancestors 'self'",
    "x-frame-options": "SAMEORIGIN",
}
CONVERTED = "pictures"  # the folder of derived files
MOST_WAITING, WAIT_SECONDS = 100, 60.0  # for a conversion


class FieldOfItem:
    """A field of an item by name, as pictures, recordings and PDFs are asked for."""

    def __init__(
        self,
        project: TheProject,
        user: CurrentUser,
        item: Annotated[str, Path(max_length=4000)],
        field: Annotated[str, Query(max_length=1000)] = "",
    ) -> None:
        self.project, self.item, self.field = project, item, field

    def value(self) -> Any:
        content = self.project.content_of(self.item)
        return content.get(self.field) if isinstance(content, Mapping) else content

    def picture(self, cache: PictureCache, *, may_convert: bool) -> tuple[bytes, str] | None:
        """The picture as a browser is sent it; None where it must be converted first and may not be."""
        data = picture_bytes(self.value(), self.project.picture_folders())
        return None if not may_convert and needs_conversion(data, cache) else shown_picture(data, cache)

    def media(self) -> tuple[Any, str]:
        """The bytes or the path of a recording or a PDF, and what it is."""
        return media_of(self.value(), self.project.picture_folders())


AskedField = Annotated[FieldOfItem, Depends()]


@contextmanager
def refused_as_missing() -> Iterator[None]:
    """What cannot be shown is not there, whyever; but where the store fails, nobody knows whether there is one."""
    try:
        yield
    except PictureTooLarge as error:
        raise HTTPException(422, str(error)) from error
    except StoreError:
        raise
    except ProjectError as error:
        raise HTTPException(404, "there is no such picture, recording or PDF") from error


def _headers(kind: str) -> dict[str, str]:
    return {"cache-control": "private, max-age=3600", **(IN_A_FRAME if kind == "application/pdf" else ALONE)}


@router.get("/pictures/{item:path}")
async def picture(request: Request, asked: AskedField) -> Response:
    queue = _queue_of(request, asked.project)
    with refused_as_missing():
        found = await run_in_threadpool(asked.picture, queue.cache, may_convert=False)
        if found is None:
            async with queue.turn():
                found = await run_in_threadpool(asked.picture, queue.cache, may_convert=True)
    assert found is not None  # where it may be converted, it is, or there is no picture
    return Response(found[0], media_type=found[1], headers=_headers(found[1]))


@router.get("/media/{item:path}")
def media(request: Request, asked: AskedField) -> Response:
    """A recording or a PDF, whole or in parts, for the browser's own viewer."""
    with refused_as_missing():
        found, kind = asked.media()
    headers = _headers(kind)
    if not isinstance(found, bytes):
        return FileResponse(found, media_type=kind, headers=headers)
    status, part, where = _part(found, request.headers.get("range", ""))
    headers |= {"accept-ranges": "bytes", **({"content-range": where} if where else {})}
    return Response(part, status, headers, kind)


def _part(data: bytes, wanted: str) -> tuple[int, bytes, str]:
    """The status, the bytes and where they are, for a Range header that asks for one part; otherwise all of it.

    >>> _part(b"abcdef", "bytes=1-2"), _part(b"abcdef", "bytes=-2"), _part(b"abc", "")
    ((206, b'bc', 'bytes 1-2/6'), (206, b'ef', 'bytes 4-5/6'), (200, b'abc', ''))
    """
    found = re.fullmatch(r"bytes=(\d{1,15})?-(\d{1,15})?", wanted)
    if found is None or found.groups() == (None, None):
        return 200, data, ""
    first, last = found[1], found[2]
    start = max(len(data) - int(last), 0) if first is None else int(first)
    stop = min(int(last) + 1, len(data)) if first is not None and last is not None else len(data)
    return (206, data[start:stop], f"bytes {start}-{stop - 1}/{len(data)}") if start < stop else (200, data, "")


class ConversionQueue:
    """One picture is converted at a time; who waits for it keeps no thread from those who ask and answer."""

    def __init__(self, cache: PictureCache) -> None:
        self.cache = cache
        self._one = asyncio.Semaphore(1)
        self._waiting = 0

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        if self._waiting >= MOST_WAITING:
            raise HTTPException(
                503, "too many pictures are being converted; try again in a moment", {"retry-after": "5"}
            )
        self._waiting += 1
        try:
            await asyncio.wait_for(self._one.acquire(), WAIT_SECONDS)
        except TimeoutError:
            raise HTTPException(503, "other pictures are being converted; try again", {"retry-after": "5"}) from None
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._one.release()


def _queue_of(request: Request, project: ServedProject) -> ConversionQueue:
    if not hasattr(request.app.state, "conversions"):
        request.app.state.conversions = ConversionQueue(PictureCache(derived_path(project.store, CONVERTED)))
    queue: ConversionQueue = request.app.state.conversions
    return queue
