"""Looking for items, and one item with its history, where an answer can be corrected."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Form, HTTPException, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field

from labelwise.labelling.errors import ProjectError
from labelwise.labelling.items.browse import SAID_KINDS, SHOWS, Browser, FoundItem, ItemSearch
from labelwise.labelling.many_items import MOST_ITEMS
from labelwise.labelling.notes import KINDS as NOTE_KINDS
from labelwise.labelling.people import User
from labelwise.labelling.records import IN_WORDS
from labelwise.labelling.texts import Texts
from labelwise.labelling.web.access import AdminUser, CurrentUser, TheProject, project_of, render, site_of, trouble_of
from labelwise.labelling.web.label_view import shown_item
from labelwise.labelling.web.texts import texts_of
from labelwise.records.asking import Answer

SNIPPET = 280  # characters of a text in the list
TABLE_PAGE, TABLE_SNIPPET = 50, 90  # items on a page of the table, and characters of a text
SHOWN_LABELS = 12  # of each kind in the list
SHOWN_SIMILAR = 5  # items beside one
NOT_SEARCHED = {"page", "done", "saved", "assigned", "person"}  # of the form: which page, and what was just done
router = APIRouter(include_in_schema=False)


class SearchForm(BaseModel):
    """The search form."""

    words: str = Field("", max_length=400)
    label: str = Field("", max_length=400)
    said: str = Field("any", max_length=10)
    who: str = Field("", max_length=400)
    show: str = Field("all", max_length=10)
    similar: str = Field("", max_length=4000)
    view: Literal["cards", "table"] = "cards"
    page: int = Field(1, ge=1, le=10**9)
    done: str = Field("", pattern="^[0-9a-f]{0,64}$")
    saved: int = Field(0, ge=0, le=10**9)
    assigned: int = Field(0, ge=0, le=10**9)
    person: str = Field("", max_length=200)

    def search(self) -> ItemSearch:
        return ItemSearch(self.words, self.label or None, self.said, self.who or None, self.show, self.similar or None)

    def query(self) -> str:
        """The same search as an address, without the page."""
        said = self.model_dump(include={*SearchForm.model_fields} - NOT_SEARCHED, exclude_defaults=True)
        return urlencode({key: value for key, value in said.items() if value})


class BulkForm(SearchForm):
    """Items to change: those with a check, or all that the search finds; and the label to add or to remove."""

    item: list[Annotated[str, Field(max_length=4000)]] = Field(default_factory=list, max_length=MOST_ITEMS)
    every: bool = False
    what: Literal["add", "remove"] = "add"
    to: str = Field("", max_length=1000)
    token: str = Field("", pattern="^[0-9a-f]{0,64}$")

    def names(self, browser: Browser, viewer: str | None) -> list[str]:
        names = browser.names_found(self.search(), viewer) if self.every else list(dict.fromkeys(self.item))
        if not names:
            raise ProjectError("no item is chosen; check some, or choose all that were found")
        return names


class Correction(BaseModel):
    """The button that was pressed beside a label: one of the three has its name."""

    name: str = Field(max_length=4000)
    yes: str = Field("", max_length=1000)
    no: str = Field("", max_length=1000)
    unsure: str = Field("", max_length=1000)
    settle: bool = False

    def answer(self) -> Answer:
        said = {"yes": self.yes, "no": self.no, "unsure": self.unsure}
        values = {label: IN_WORDS[word] for word, label in said.items() if label}
        return Answer(self.name, values, correction=True)  # type: ignore[arg-type]  # None is unsure: projects take it


def browser_of(request: Request) -> Browser:
    """One for all requests: it keeps the snapshot that it read."""
    if not hasattr(request.app.state, "browser"):
        request.app.state.browser = Browser(project_of(request))
    browser: Browser = request.app.state.browser
    return browser


TheBrowser = Annotated[Browser, Depends(browser_of)]


@router.get("/browse")
def browse(request: Request, user: CurrentUser, browser: TheBrowser, asked: Annotated[SearchForm, Query()]) -> Response:
    trouble, found = None, None
    try:
        size = {"per_page": TABLE_PAGE} if asked.view == "table" else {}
        found = browser.find(asked.search(), asked.page, viewer_of(user), **size)
    except ProjectError as error:
        trouble = trouble_of(error)
    return render(
        request,
        "browse.html.jinja",
        400 if trouble else 200,
        asked=asked,
        found=found,
        rows=[] if found is None else [_row(request, item, asked.view == "table") for item in found.items],
        people=browser.people(),
        labels=browser.project.label_names(),
        shows=SHOWS,
        saids=SAID_KINDS,
        query=asked.query(),
        most=SHOWN_LABELS,
        assignable=[each.name for each in browser.project.people.all()] if user.is_admin else [],
        trouble=trouble,
    )


# -- one label of many items ------------------------------------------------------------------------------------------


@router.post("/browse/bulk")
def ask_about_bulk(
    request: Request, user: CurrentUser, project: TheProject, browser: TheBrowser, asked: Annotated[BulkForm, Form()]
) -> Response:
    """Say how many items a change is about, and what was said of them, before it is done."""
    trouble, preview, names = None, None, []
    try:
        names = asked.names(browser, viewer_of(user))
        preview = project.many.preview(user.name, asked.to, asked.what == "add", names)
    except ProjectError as error:
        trouble = trouble_of(error)
    return render(
        request,
        "bulk.html.jinja",
        400 if trouble else 200,
        asked=asked,
        preview=preview,
        shown=names[:SHOWN_LABELS],
        query=asked.query(),
        token=secrets.token_hex(8),
        trouble=trouble,
    )


@router.post("/browse/bulk/save")
def save_bulk(
    request: Request, user: CurrentUser, project: TheProject, browser: TheBrowser, asked: Annotated[BulkForm, Form()]
) -> Response:
    names = asked.names(browser, viewer_of(user))
    if asked.every and len(names) != asked.saved:
        raise ProjectError(f"the search found {asked.saved} items before and {len(names)} now; go back and look again")
    done = project.many.change(user.name, asked.to, asked.what == "add", names, asked.token or secrets.token_hex(8))
    told = urlencode({"done": done.token, "saved": done.saved})
    return RedirectResponse(f"/browse?{asked.query()}&{told}", 303)


@router.post("/browse/bulk/undo")
def undo_bulk(user: CurrentUser, project: TheProject, asked: Annotated[BulkForm, Form()]) -> Response:
    project.many.take_back(user.name, asked.token)
    return RedirectResponse(f"/browse?{asked.query()}", 303)


@router.post("/browse/assign")
def assign(
    request: Request, user: AdminUser, project: TheProject, browser: TheBrowser, asked: Annotated[BulkForm, Form()]
) -> Response:
    """Give the chosen items to a person, besides what they have, and come back to the list."""
    number = project.people.assign_items(asked.person, asked.names(browser, None))
    told = urlencode({"assigned": number, "person": asked.person})
    return RedirectResponse(f"/browse?{asked.query()}&{told}", 303)


@router.get("/browse/item")
def item(
    request: Request, user: CurrentUser, browser: TheBrowser, name: Annotated[str, Query(max_length=4000)]
) -> Response:
    return _item_page(request, browser, name)


@router.post("/browse/item")
def correct(
    request: Request, user: CurrentUser, project: TheProject, browser: TheBrowser, said: Annotated[Correction, Form()]
) -> Response:
    """Say yes, no or unsure to the label whose button was pressed, and come back to the item."""
    if said.settle and not user.may_settle:
        raise HTTPException(403, "only a reviewer or an admin can settle a label against what others said")
    try:
        if said.settle:
            project.service.settle(said.answer(), user.name)
        else:
            project.service.tell([said.answer()], user.name)
    except ProjectError as error:
        return _item_page(request, browser, said.name, trouble_of(error))
    return RedirectResponse(_address(said.name), 303)


def _item_page(request: Request, browser: Browser, name: str, trouble: str | None = None) -> Response:
    user: User = request.state.user
    try:
        found = browser.item(name, viewer_of(user))
    except ProjectError as error:
        raise HTTPException(404, trouble_of(error)) from None
    labels = sorted(
        found.labels,
        key=lambda each: (each.known is not True, each.known is False, -(each.probability or 0), each.name),
    )
    return render(
        request,
        "item.html.jinja",
        400 if trouble else 200,
        item=found,
        labels=labels,
        shown=_shown(request, found.name, found.content),
        events=[(each, when(each.at)) for each in reversed(found.events)],
        reasons={each.reason: _reason(each.reason, texts_of(request)) for each in found.events},
        notes=[(note, when(note.at)) for note in browser.project.notes.all(found.name)],
        note_kinds=NOTE_KINDS,
        mine={each.name: each.votes[user.name] for each in found.labels if user.name in each.votes},
        similar=[(each, _address(each)) for each, _ in browser.project.similar(found.name, SHOWN_SIMILAR)],
        more_similar=f"/browse?{urlencode({'similar': found.name})}",
        trouble=trouble,
    )


def _reason(reason: str, texts: Texts) -> str:
    """Why an answer was given, in words; a reason that has none as it is.

    >>> _reason("cold start", Texts("de")), _reason("new one", Texts("de"))
    ('Anfang', 'new one')
    """
    words: str = texts.groups["reasons"].get(reason.replace(" ", "_"), reason)
    return words


def viewer_of(user: User) -> str | None:
    """Whose view it is where others' answers are hidden; those who settle them, or only look, see all."""
    return None if user.sees_all else user.name


def _row(request: Request, item: FoundItem, is_short: bool = False) -> dict[str, Any]:
    shown, most = _shown(request, item.name, item.content), TABLE_SNIPPET if is_short else SNIPPET
    text = shown["text"] or " · ".join(f"{field}: {value}" for field, value in shown["fields"])
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return {"item": item, "text": cut, "pictures": shown["pictures"][:1], "address": _address(item.name)}


def _address(name: str) -> str:
    return f"/browse/item?{urlencode({'name': name})}"


def _shown(request: Request, name: str, content: Any) -> dict[str, Any]:
    return shown_item(name, content, site_of(request).project.settings.features)


def when(at: float) -> str:
    """A moment as people read it, in UTC."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"
