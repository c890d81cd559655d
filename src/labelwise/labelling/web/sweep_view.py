"""One label, many items: a grid of pictures or a list of snippets, marked by keys or clicks and saved page by page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

import numpy as np
from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel, Field, StrictBool

from labelwise.labelling.items.browse import Browser
from labelwise.labelling.items.pictures import located
from labelwise.labelling.many_items import SWEEP_ORDERS, SweepPage, sweep_order, telling_words
from labelwise.labelling.store.items import items_by_number
from labelwise.labelling.web.access import CurrentUser, TheProject, render
from labelwise.labelling.web.browse_view import TheBrowser
from labelwise.labelling.web.json_api import REFUSED, Body, LabelName, LeaseToken, Media, TimeTaken
from labelwise.labelling.web.label_view import shown_item
from labelwise.labelling.web.texts import TheTexts
from labelwise.records.asking import SWEEP_PAGE, Timing

SNIPPETS = 12  # on a page; of pictures there are as many as a page of a sweep has
SHORT = 76  # characters of a snippet: some ten words, which are read in 3 s
UNTOLD = 0.02  # weight of a sentence without a word that tells; of a word of the label's name it is 1
MOST_SIMILAR = 500  # items that a sweep over those like one goes through
LONG = 2000  # of the text that is shown where a snippet does not tell
ITEM_NAME = Annotated[str, Field(min_length=1, max_length=4000)]
_WORD = re.compile(r"[^\W_]{2,}")
_LETTERS = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
router = APIRouter()


class SweepForm(BaseModel):
    """What to sweep: a label, over the items of a search, or over items like one."""

    label: str = Field("", max_length=1000)
    words: str = Field("", max_length=400)
    like: str = Field("", max_length=4000)
    order: Literal["likely", "unsure"] = "likely"


class AskSweep(Body):
    """The next page of a sweep; `have` are the pages that the asker has, others are given back."""

    label: LabelName
    words: str = Field(default="", max_length=400)
    like: str = Field(default="", max_length=4000)
    order: Literal["likely", "unsure"] = "likely"
    have: list[LeaseToken] = Field(default_factory=list, max_length=20)


class AnsweredSweep(Body):
    """What was said of the items of a page: names to true, false, or null for unsure; those left out stay open."""

    lease: LeaseToken = Field(description="The page")
    values: dict[ITEM_NAME, StrictBool | None] = Field(min_length=1, max_length=200)
    timing: TimeTaken | None = None


class UndoneSweep(Body):
    """A saved page to take back."""

    page: LeaseToken


class Tile(BaseModel):
    """An item of a page: what is shown of it, with the words that tell marked, and how likely it has the label."""

    item: str
    p: float | None
    pictures: list[str]
    media: list[Media] = Field(default_factory=list, description="A recording to play, or a PDF to open")
    snippet: list[tuple[str, bool]] = Field(description="The text in parts, and whether each is a word that tells")
    text: str = Field(description="More of the text; empty where the snippet is all of it")
    marked: bool = False


class ShownPage(BaseModel):
    """A page of a sweep; `page` is null where nothing is left."""

    page: str | None
    label: str
    tiles: list[Tile]
    left: int = Field(description="Items of which the label is not known, those on the page included")


class SavedPage(BaseModel):
    """The answers are on disk. `left_out`: items that somebody answered, or was asked about, meanwhile."""

    event: int
    saved: int
    left_out: list[str]


@router.get("/sweep", include_in_schema=False)
def sweep(
    request: Request, user: CurrentUser, project: TheProject, texts: TheTexts, asked: Annotated[SweepForm, Query()]
) -> Response:
    meanings = {each.name: each for each in project.labels()}
    trouble = None
    if asked.label and asked.label not in meanings:
        trouble = texts("sweep.no_label", label=repr(asked.label))
    return render(
        request,
        "sweep.html.jinja",
        400 if trouble else 200,
        asked=asked,
        meaning=meanings.get(asked.label),
        labels=list(meanings),
        orders=SWEEP_ORDERS,
        identity=project.identity,
        trouble=trouble,
    )


@router.post("/api/sweep", tags=["labelling"], responses=REFUSED)
def ask_sweep(body: AskSweep, user: CurrentUser, project: TheProject, browser: TheBrowser) -> ShownPage:
    """Items to look at for one label, likeliest or most telling first. They are yours for a while."""
    among = [name for name, _ in project.similar(body.like, MOST_SIMILAR)] if body.like else None
    numbers, p = sweep_order(browser, body.label, body.words.split()[:8], body.order, among)
    n = SWEEP_PAGE if project.settings.features["kind"] == "images" else SNIPPETS
    page = project.many.give_page(user.name, body.label, numbers.tolist(), n, body.have)
    believed = dict(zip(numbers.tolist(), p.tolist(), strict=True))
    return _shown(browser, page, believed, body.label)


@router.post("/api/answer_sweep", tags=["labelling"], responses=REFUSED)
def answer_sweep(body: AnsweredSweep, user: CurrentUser, project: TheProject) -> SavedPage:
    """Save a page. Sent twice, it is saved once."""
    timing = None if body.timing is None else Timing(**body.timing.model_dump())
    done = project.many.save_page(user.name, body.lease, body.values, timing)
    return SavedPage(event=done.event, saved=done.saved, left_out=list(done.left_out))


@router.post("/api/undo_sweep", tags=["labelling"], responses=REFUSED)
def undo_sweep(body: UndoneSweep, user: CurrentUser, project: TheProject, browser: TheBrowser) -> ShownPage:
    """Take a saved page back and get its items again. Sent twice, it is taken back once."""
    page = project.many.reopen_page(user.name, body.page)
    return _shown(browser, page, {}, page.label)


def _shown(browser: Browser, page: SweepPage | None, believed: Mapping[int, float], label: str) -> ShownPage:
    if page is None:
        return ShownPage(page=None, label=label, tiles=[], left=0)
    project, words = browser.project, telling_words(browser.project.store, page.label)
    with project.store.reading() as connection:
        found = items_by_number(connection, page.items)
    rows = [found[number] for number in page.items]
    folder, features = project.store.folder, project.settings.features
    shown = [shown_item(row.name, located(row.content, folder), features) for row in rows]
    texts = [each["text"] or " · ".join(f"{field}: {value}" for field, value in each["fields"]) for each in shown]
    tiles = []
    for number, row, each, text, parts in zip(page.items, rows, shown, texts, snippets(texts, words), strict=True):
        p = believed.get(number, float("nan"))
        whole = "" if "".join(part for part, _ in parts) == text else text[:LONG]
        likely = None if np.isnan(p) else round(p, 4)
        about = {"item": row.name, "p": likely, "pictures": each["pictures"][:1], "marked": number in page.marked}
        about["media"] = each["media"][:1]
        tiles.append(Tile(**about, snippet=parts, text=whole))
    return ShownPage(page=page.token, label=page.label, tiles=tiles, left=max(len(believed), len(page.items)))


def snippets(texts: Sequence[str], words: Mapping[str, float], most: int = SHORT) -> list[list[tuple[str, bool]]]:
    """Of each text the sentence that tells most, cut to a glance around its strongest word; in parts, telling or not.

    What several texts of a page have in common tells nobody which of them have the label: the weight of a sentence is
    divided by the square of the number of texts that have it, numbers and signs apart. So where nearly all have the
    same telling sentence, each shows the first one of its own.

    >>> snippets(["We came home. The parcel was late again."], {"late": 1.0})
    [[('The parcel was ', False), ('late', True), (' again.', False)]]
    >>> same = [f"{name} wrote. It was late." for name in ("Ann", "Bob", "Cid", "Dee", "Eve", "Flo", "Gil", "Hal")]
    >>> snippets(same, {"late": 1.0})[:2]
    [[('Ann wrote.', False)], [('Bob wrote.', False)]]
    """
    told = [_told(text, words) for text in texts]
    cuts = [[*_glances(text, of_text, most)] for text, of_text in zip(texts, told, strict=True)]
    keys = [[_in_common(text[start:stop]) for start, stop, _ in of] for text, of in zip(texts, cuts, strict=True)]
    number = Counter(key for of_text in keys for key in {*of_text})
    found = []
    for text, of_text, glances, of_glances in zip(texts, told, cuts, keys, strict=True):
        weights = [
            (weight + UNTOLD) / number[key] ** 2 for (_, _, weight), key in zip(glances, of_glances, strict=True)
        ]
        start, stop = glances[int(np.argmax(weights))][:2] if glances else (0, 0)
        found.append(_in_parts(text, of_text, start, stop))
    return found


def _told(text: str, words: Mapping[str, float]) -> list[tuple[int, int, float]]:
    """Where words of a text tell, and how much."""
    told = [(found.start(), found.end(), _weight(found[0], words)) for found in _WORD.finditer(text)]
    return [each for each in told if each[2] > 0]


def _glances(text: str, told: list[tuple[int, int, float]], most: int) -> Iterator[tuple[int, int, float]]:
    """The sentences of a text, each cut around its strongest word, with the weight of the words in it."""
    for found in _SENTENCE.finditer(text):
        start, stop = found.start() + len(found[0]) - len(found[0].lstrip()), found.start() + len(found[0].rstrip())
        if stop <= start:
            continue
        within = [each for each in told if start <= each[0] < stop]
        if stop - start > most:
            middle = max(within, key=lambda each: each[2], default=None)
            centre = start + most // 2 if middle is None else (middle[0] + middle[1]) // 2
            first = max(start, min(centre - most // 2, stop - most))
            start, stop = _whole_words(text, first, first + most, (start, stop))
        yield start, stop, sum(weight for left, right, weight in within if start <= left and right <= stop)


def _in_common(sentence: str) -> str:
    """What of a sentence is compared with others: its words, without numbers and signs."""
    return " ".join(_LETTERS.findall(sentence.lower()))


def _in_parts(text: str, told: list[tuple[int, int, float]], start: int, stop: int) -> list[tuple[str, bool]]:
    parts: list[tuple[str, bool]] = []
    end = start
    for left, right, _ in told:
        if start <= left and right <= stop:
            parts += [(text[end:left], False)] * (left > end) + [(text[left:right], True)]
            end = right
    return parts + [(text[end:stop], False)] * (stop > end)


def _whole_words(text: str, first: int, last: int, limits: tuple[int, int]) -> tuple[int, int]:
    """A part of a text that begins and ends between words."""
    if first > limits[0]:
        first = text.find(" ", first, last) + 1 or first
    if last < limits[1]:
        cut = text.rfind(" ", first, last)
        last = cut if cut > first else last
    return first, last


def _weight(word: str, words: Mapping[str, float]) -> float:
    small = word.lower()
    return max(words.get(small, 0.0), words.get(small.removesuffix("s"), 0.0))
