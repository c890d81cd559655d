"""What people leave to be looked at: labels they disagree on, to settle, and notes on items, to answer."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import RedirectResponse, Response
from pydantic import BaseModel, Field

from labelwise.labelling.errors import ProjectError
from labelwise.labelling.items.browse import PAGE, Disagreement
from labelwise.labelling.items.pictures import located
from labelwise.labelling.notes import KINDS, LONGEST, Note
from labelwise.labelling.web.access import CurrentUser, ReviewingUser, TheProject, render, trouble_of
from labelwise.labelling.web.browse_view import TheBrowser, when
from labelwise.labelling.web.json_api import Body
from labelwise.labelling.web.label_view import shown_guidelines, shown_item
from labelwise.records.asking import Answer

router = APIRouter()


# -- disagreements ----------------------------------------------------------------------------------------------------


class Settled(BaseModel):
    """The button that was pressed beside a label: yes or no has its name. A note may come with it."""

    name: str = Field(max_length=4000)
    yes: str = Field("", max_length=1000)
    no: str = Field("", max_length=1000)
    note: str = Field("", max_length=LONGEST)
    names: bool = False
    start: int = Field(0, ge=0, le=10**9)


class ListForm(BaseModel):
    """Which part of the list, and whether names are shown."""

    names: bool = False
    start: int = Field(0, ge=0, le=10**9)


@router.get("/disagreements", include_in_schema=False)
def disagreements(
    request: Request,
    user: ReviewingUser,
    project: TheProject,
    browser: TheBrowser,
    asked: Annotated[ListForm, Query()],
) -> Response:
    number, found = browser.disagreements(asked.start)
    return render(
        request,
        "disagreements.html.jinja",
        number=number,
        rows=[_row(project, each) for each in found],
        asked=asked,
        page=PAGE,
        guidelines=shown_guidelines(project),
    )


@router.post("/disagreements", include_in_schema=False)
def settle(user: ReviewingUser, project: TheProject, said: Annotated[Settled, Form()]) -> Response:
    """Settle one label of one item, and come back to the list, of which it is gone."""
    values = {label: value for label, value in ((said.yes, True), (said.no, False)) if label}
    project.service.settle(Answer(said.name, values), user.name)
    if said.note.strip():
        project.notes.add(said.name, user.name, said.note)
    query = urlencode({"names": str(said.names).lower(), "start": said.start})
    return RedirectResponse(f"/disagreements?{query}", 303)


def _row(project: Any, each: Disagreement) -> dict[str, Any]:
    content = located(each.content, project.store.folder)
    votes = list(each.votes.values())
    return {
        "found": each,
        "shown": shown_item(each.item, content, project.settings.features),
        "address": f"/browse/item?{urlencode({'name': each.item})}",
        "counts": {"yes": votes.count(True), "no": votes.count(False), "unsure": votes.count(None)},
    }


# -- notes ------------------------------------------------------------------------------------------------------------


class NewNote(Body):
    """A note on an item, or a flag with or without a text."""

    item: Annotated[str, Field(min_length=1, max_length=4000)]
    kind: str = Field(default="note", max_length=40, description=f"One of {', '.join(KINDS)}")
    text: str = Field(default="", max_length=LONGEST)


class NoteForm(BaseModel):
    """The form of a note."""

    name: str = Field(max_length=4000)
    kind: str = Field("note", max_length=40)
    text: str = Field("", max_length=LONGEST)


class NoteAnswer(BaseModel):
    """What is answered to a note; or that it is to be open again."""

    number: int = Field(ge=1, le=2**62)
    text: str = Field("", max_length=LONGEST)
    reopen: bool = False
    every: bool = False


@router.get("/notes", include_in_schema=False)
def notes(request: Request, user: CurrentUser, project: TheProject, every: bool = False) -> Response:
    return _notes_page(request, project, every)


def _notes_page(request: Request, project: TheProject, every: bool, trouble: str | None = None) -> Response:
    found = [note for note in project.notes.all() if every or note.is_open]
    return render(
        request,
        "notes.html.jinja",
        400 if trouble else 200,
        rows=[(note, *_moments(note)) for note in reversed(found)],
        every=every,
        trouble=trouble,
    )


@router.post("/notes", include_in_schema=False)
def answer_note(
    request: Request, user: ReviewingUser, project: TheProject, said: Annotated[NoteAnswer, Form()]
) -> Response:
    try:
        if said.reopen:
            project.notes.reopen(said.number)
        else:
            project.notes.answer(said.number, user.name, said.text)
    except ProjectError as error:
        return _notes_page(request, project, said.every, trouble_of(error))
    return RedirectResponse(f"/notes{'?every=true' if said.every else ''}", 303)


@router.post("/notes/add", include_in_schema=False)
def add_note_by_form(user: CurrentUser, project: TheProject, said: Annotated[NoteForm, Form()]) -> Response:
    project.notes.add(said.name, user.name, said.text, said.kind)
    return RedirectResponse(f"/browse/item?{urlencode({'name': said.name})}#notes", 303)


@router.post("/api/note", tags=["labelling"])
def add_note(body: NewNote, user: CurrentUser, project: TheProject) -> dict[str, int]:
    """Leave a note or a flag on an item: its number."""
    return {"note": project.notes.add(body.item, user.name, body.text, body.kind).id}


def _moments(note: Note) -> tuple[str, str]:
    return when(note.at), "" if note.answered_at is None else when(note.answered_at)
