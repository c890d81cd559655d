"""The JSON interface beneath the page: ask, answer, skip, undo, renew, status. Described at /api/openapi.json.

A request reads and writes a few rows; it never trains and never loads a model.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StrictBool

from labelwise.labelling.figures.status import status_of
from labelwise.labelling.leases import NOTHING, WITH_OTHERS, held_most
from labelwise.labelling.records import Lease, Verified
from labelwise.labelling.served import ServedProject
from labelwise.labelling.store.labels import read_labels
from labelwise.labelling.store.trainings import last_good
from labelwise.labelling.texts import Texts
from labelwise.labelling.training.locks import worker_is_running
from labelwise.labelling.web.access import CurrentUser, TheProject
from labelwise.labelling.web.label_view import shown_question
from labelwise.labelling.web.texts import TheTexts
from labelwise.records.asking import Timing

router = APIRouter(
    prefix="/api",
    tags=["labelling"],
    responses={
        400: {"description": "The project cannot do that; `detail` says why and what to do"},
        401: {"description": "Nobody is signed in"},
        403: {"description": "The token against requests from other sites is missing or wrong"},
    },
)
REFUSED: dict[int | str, dict[str, Any]] = {
    409: {"description": "Refused: the question went to somebody else, was answered, or its label is gone"}
}

LeaseToken = Annotated[str, Field(pattern="^[0-9a-f]{1,64}$", description="The lease that came with the question")]
Tokens = Annotated[list[LeaseToken], Field(max_length=200)]  # more than anybody is given
LabelName = Annotated[str, Field(min_length=1, max_length=1000)]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Ask(Body):
    """How many items to have questions about, and the leases that the asker knows already."""

    items: int = Field(default=1, ge=1, le=10)
    have: Tokens = Field(default_factory=list)


class AskedFor(Ask):
    """Also leases that the asker has no use for: their questions go to somebody else, and nothing is noted."""

    give_back: Tokens = Field(default_factory=list)


class TimeTaken(Body):
    """How long it took. Figures that cannot be are cut to what can; they never keep an answer from being saved."""

    seconds: float = Field(description="Active time from when the item was shown to when the answer was given")
    question: Literal["item", "pair", "further", "sweep"] = Field(
        default="item",
        description="A whole item; one label; more labels of an item that was open anyway; one label of many items",
    )
    by_key: int = Field(default=0, description="Labels picked by a key or a click")
    by_search: int = Field(default=0, description="Labels found by typing")
    by_suggestion: int = Field(default=0, description="Labels picked from those that the model suggested")


class Timed(Ask):
    lease: LeaseToken
    timing: TimeTaken | None = None

    def taken(self) -> Timing | None:
        return None if self.timing is None else Timing(**self.timing.model_dump())


class VerifiedLabels(Body):
    """What was said of labels in `also` of a question, asked about once more after the others were picked."""

    values: dict[LabelName, StrictBool | None] = Field(min_length=1, max_length=1000)
    timing: TimeTaken | None = None


class Answered(Timed):
    """An answer: label names to true, false, or null for unsure. Labels left out stay open."""

    values: dict[LabelName, StrictBool | None] = Field(min_length=1, max_length=100_000)


class AnsweredQuestion(Answered):
    """An answer to a question, with what was said of its labels in `also`, if they were asked about."""

    verified: VerifiedLabels | None = None

    def further(self) -> Verified | None:
        if self.verified is None:
            return None
        timing = self.verified.timing
        return Verified(self.verified.values, None if timing is None else Timing(**timing.model_dump()))


class AnsweredItem(Answered):
    """An answer that also says something of labels that were not asked about.

    `whole`: it is about the whole item and ends all your leases on it. Otherwise only `lease` and those on labels in
    `values` end.
    """

    whole: bool = True


class Skipped(Timed):
    """A question, or all about its item, that somebody else shall answer."""


class Renewed(Body):
    lease: LeaseToken


class Undone(Body):
    """The number of the answer to take back, as its receipt gave it; without it, the last one."""

    event: int | None = Field(default=None, ge=1, le=2**62)


class ShownLabel(BaseModel):
    name: str
    p: float | None = Field(description="Believed probability; null where there is none or it must not be seen")
    why: str | None = Field(default=None, description="What speaks for it, by which words; null where nothing does")


class LabelMeaning(BaseModel):
    """A label in use and what was said of it."""

    name: str
    items: int = Field(default=0, description="Items that are known to have it")
    description: str = ""
    examples: list[str] = Field(default_factory=list)
    keywords: list[str] = Field(default_factory=list)
    aliases: list[str] = Field(default_factory=list, description="Other names, found as the name is")
    parent: str = Field(default="", description="A more general label")


class Media(BaseModel):
    """A recording or a PDF: its address here, the field that names it, and the name of the file."""

    kind: Literal["audio", "pdf"]
    address: str
    field: str
    file: str


class Show(BaseModel):
    text: str | None
    pictures: list[str]
    media: list[Media]
    fields: list[tuple[str, str]]
    html: dict[str, str] = Field(
        description="Sanitised HTML of fields that are Markdown or HTML, by their names; the text is the field ''"
    )
    words: list[tuple[str, str, float]] = Field(description="Word, label, log-odds that it speaks for the label")


class ShownQuestion(BaseModel):
    """A question and the lease that makes it yours until `expires_at` (seconds since 1970)."""

    lease: str
    item: str
    labels: list[ShownLabel]
    whole: list[ShownLabel] | None = Field(
        description="All open labels of the item. Null: `labels` has them. Empty: another question of the item has them"
    )
    also: list[str] = Field(description="Labels to ask about once more if they are not picked, likeliest first")
    reason: str
    why: str
    expires_at: float
    show: Show


class Questions(BaseModel):
    """New questions, and the leases of all that are yours now, in order. None: `waiting` says what for.

    `limit` says so where you hold as many questions as one person can, and get no more before you answer or skip some.
    """

    questions: list[ShownQuestion]
    yours: list[str]
    waiting: str | None = None
    limit: str | None = None


class Saved(Questions):
    """The answer is on disk as event number `event`."""

    event: int
    notices: list[str]


class Session(BaseModel):
    """Who is signed in, and what requests that change something carry in the header X-CSRF-Token."""

    who: str
    role: str
    csrf: str


@router.get("/session")
def session(user: CurrentUser) -> Session:
    """Who is signed in."""
    return Session(who=user.name, role=user.role, csrf=user.csrf)


@router.post("/ask")
def ask(body: AskedFor, user: CurrentUser, project: TheProject, texts: TheTexts) -> Questions:
    """Questions for you: those you have, then new ones. Asking twice gives the same."""
    if body.give_back:
        project.service.give_back(body.give_back, user.name)
    leases = project.service.ask_about_items(user.name, body.items)
    return Questions(**_listed(project, user.name, leases, body.have, texts))


@router.post("/answer", responses=REFUSED)
def answer(body: AnsweredQuestion, user: CurrentUser, project: TheProject, texts: TheTexts) -> Saved:
    """Save an answer and get what comes next. Sent twice, it is saved once."""
    receipt, leases = project.service.answer_and_ask_about_items(
        body.lease, body.values, user.name, body.items, timing=body.taken(), verified=body.further()
    )
    notices = [texts.message(each) for each in receipt.notices]
    return Saved(event=receipt.event, notices=notices, **_listed(project, user.name, leases, body.have, texts))


@router.post("/answer_item", responses=REFUSED)
def answer_item(body: AnsweredItem, user: CurrentUser, project: TheProject, texts: TheTexts) -> Saved:
    """Save an answer about a whole item, whatever was asked about it, and get what comes next. Sent twice, it is saved
    once."""
    receipt, leases = project.service.answer_item_and_ask_about_items(
        body.lease, body.values, user.name, body.items, whole=body.whole, timing=body.taken()
    )
    notices = [texts.message(each) for each in receipt.notices]
    return Saved(event=receipt.event, notices=notices, **_listed(project, user.name, leases, body.have, texts))


@router.post("/skip", responses=REFUSED)
def skip(body: Skipped, user: CurrentUser, project: TheProject, texts: TheTexts) -> Saved:
    """Give a question to somebody else and get what comes next. Sent twice, it is skipped once."""
    receipt = project.service.skip(body.lease, user.name, timing=body.taken())
    leases = project.service.ask_about_items(user.name, body.items)
    return Saved(event=receipt.event, notices=[], **_listed(project, user.name, leases, body.have, texts))


@router.post("/skip_item", responses=REFUSED)
def skip_item(body: Skipped, user: CurrentUser, project: TheProject, texts: TheTexts) -> Saved:
    """Give all your questions about the item of a lease to somebody else. Sent twice, they are skipped once."""
    receipt = project.service.skip_item(body.lease, user.name, timing=body.taken())
    leases = project.service.ask_about_items(user.name, body.items)
    return Saved(event=receipt.event, notices=[], **_listed(project, user.name, leases, body.have, texts))


@router.post("/undo", responses=REFUSED)
def undo(body: Undone, user: CurrentUser, project: TheProject, texts: TheTexts) -> ShownQuestion:
    """Take your last answer or skip back: it is asked again. Sent twice with its number, it is taken back once."""
    (question,) = _shown(project, [project.service.undo(user.name, body.event)], texts)
    return ShownQuestion(**question)


@router.post("/renew", responses=REFUSED)
def renew(body: Renewed, user: CurrentUser, project: TheProject) -> dict[str, float]:
    """More time for a question: until when."""
    return {"expires_at": project.service.renew(body.lease, user.name).expires_at}


@router.get("/labels")
def labels(user: CurrentUser, project: TheProject) -> list[LabelMeaning]:
    """The labels in use: how common they were at the last training, and what they mean."""
    with project.store.reading() as connection:
        good, known = last_good(connection), read_labels(connection)
    counts = {} if good is None else (good.report or {}).get("labels", {})
    items = {name: counts.get(str(number), [0])[0] for number, name in zip(known.ids, known.names, strict=True)}
    return [LabelMeaning(**label.as_dict(), items=items.get(label.name, 0)) for label in project.labels()]


@router.get("/status")
def status(user: CurrentUser, project: TheProject) -> dict[str, Any]:
    """How the project stands, in figures. How long others take is for admins."""
    return status_of(project).seen_by(None if user.is_admin else user.name).as_dict()


def _listed(project: ServedProject, who: str, leases: list[Lease], have: list[str], texts: Texts) -> dict[str, Any]:
    new = [lease for lease in leases if lease.token not in have]
    return {
        "questions": _shown(project, new, texts),
        "yours": [lease.token for lease in leases],
        "waiting": None if leases else texts.plain(f"waiting.{_waiting(project, who)}"),
        "limit": None if (limit := held_most(len(leases))) is None else texts.message(limit),
    }


def _shown(project: ServedProject, leases: list[Lease], texts: Texts) -> list[dict[str, Any]]:
    """Questions as the page gets them; all labels of an item come with the first of the questions about it."""
    first = {lease.question.item: lease.token for lease in reversed(leases) if len(lease.question.labels) < 2}
    wholes = project.service.whole_items(first.values()) if first else {}

    def shown(lease: Lease) -> dict[str, Any]:
        asks_label = first.get(lease.question.item) in wholes and len(lease.question.labels) < 2
        is_repeated = asks_label and lease.token not in wholes
        return shown_question(lease, project.settings, wholes.get(lease.token), is_repeated=is_repeated, texts=texts)

    return [shown(lease) for lease in leases]


def _waiting(project: ServedProject, who: str) -> str:
    """What for: a text of the group "waiting"."""
    left = project.service.left_for(who)
    if left == NOTHING:
        return "nothing"
    if left == WITH_OTHERS:
        return "with_others"
    return "ready_soon" if project.starts_worker or worker_is_running(project.store) else "no_worker"
