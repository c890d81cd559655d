"""Pages about the project: how far it is, and its labels, which admins describe, add, rename, merge and retire."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Form, Query, Request
from fastapi.responses import RedirectResponse, Response

from labelwise.labelling.errors import ProjectError
from labelwise.labelling.figures.report import (
    agreement_table,
    answers_by_label,
    calibration_plot,
    days_of_answers,
    expected_finds,
    learning_curve,
)
from labelwise.labelling.figures.status import NEXT, status_of
from labelwise.labelling.items.browse import Browser
from labelwise.labelling.served import ServedProject
from labelwise.labelling.store.labels import check_name, read_changes, read_labels
from labelwise.labelling.store.schema import NO, YES
from labelwise.labelling.texts import ENGLISH, Texts
from labelwise.labelling.web.access import AdminUser, CurrentUser, TheProject, render, trouble_of
from labelwise.labelling.web.browse_view import TheBrowser, when
from labelwise.labelling.web.texts import TheTexts, texts_of
from labelwise.records.labels import Label

LISTED = 50  # changes shown, the latest first
CHANGES = ("rename", "merge", "retire")
NAMED = 5  # labels in a sentence
DAYS_LISTED = 31  # in the table; the picture has them all
router = APIRouter(include_in_schema=False)

Name = Annotated[str, Form(max_length=1000)]
Asked = Annotated[str, Query(max_length=1000)]
Lines = Annotated[str, Form(max_length=100_000)]


# -- progress: pictures first, the figures beneath them; nothing is computed here -------------------------------------


@router.get("/progress")
def progress(request: Request, user: CurrentUser, project: TheProject, texts: TheTexts) -> Response:
    now = status_of(project, recount=False).seen_by(None if user.is_admin else user.name)
    latest = [(day, place) for place, day in enumerate(now.days) if any(row[place] for row in now.by_person.values())]
    return render(
        request,
        "progress.html.jinja",
        now=now,
        curve=learning_curve(now.curve, texts),
        days=days_of_answers(now.days, now.by_person, texts),
        by_label=answers_by_label(now.labels, texts),
        calibration=None if now.calibration is None else calibration_plot(now.calibration, texts),
        agreement=agreement_table(now.pairs, texts),
        expected=expected_finds(now.following.labels, now.following.number, texts),
        listed_days=[(_date(day), place) for day, place in reversed(latest[-DAYS_LISTED:])],
        trained_at=None if now.trained_at is None else when(now.trained_at),
        ahead=NEXT,
    )


def _date(day: int) -> str:
    return f"{datetime.fromtimestamp(day * 86400, UTC):%Y-%m-%d}"


# -- labels -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LabelsPage:
    """The page of one request."""

    request: Request
    project: ServedProject
    browser: Browser

    def changed(self, change: Callable[[], object], filled: Mapping[str, str] | None = None) -> Response:
        """Make a change and come back to the page; where it cannot be made, the page says why."""
        try:
            change()
        except ProjectError as error:
            return self.show(trouble_of(error), filled)
        return RedirectResponse("/vocabulary", 303)

    def show(self, trouble: str | None = None, filled: Mapping[str, str] | None = None) -> Response:
        texts = texts_of(self.request)
        names, yes, no, _ = self.browser.label_counts()
        with self.project.store.reading() as connection:
            changes, labels = read_changes(connection), read_labels(connection)
        said = [
            (when(each["at"]), each["who"], _in_words(each["what"], each["detail"], texts)) for each in changes[::-1]
        ]
        return render(
            self.request,
            "labels.html.jinja",
            400 if trouble else 200,
            labels=list(zip(names, yes.tolist(), no.tolist(), strict=True)),
            meanings={name: Label(name) for name in names} | {label.name: label for label in self.project.labels()},
            starts={name: _hint(said, texts) for name, said in labels.starts.items()},
            implies_parent=self.project.implies_parent,
            guidelines=self.project.guidelines(),
            changes=said[:LISTED],
            trouble=trouble,
            filled=filled or {"name": "", "like": "", "examples": ""},
        )


def page_of(request: Request, project: TheProject, browser: TheBrowser) -> LabelsPage:
    return LabelsPage(request, project, browser)


ThePage = Annotated[LabelsPage, Depends(page_of)]


@router.get("/vocabulary")
def vocabulary(user: CurrentUser, page: ThePage) -> Response:
    return page.show()


@router.post("/vocabulary/add")
def add(user: AdminUser, page: ThePage, name: Name, like: Lines = "", examples: Lines = "") -> Response:
    def change() -> None:
        items = [line.strip() for line in examples.splitlines() if line.strip()]
        page.project.add_label(name.strip(), like=_shares(like), examples=items, who=user.name)

    return page.changed(change, {"name": name, "like": like, "examples": examples})


@router.post("/vocabulary/describe")
def describe(
    user: AdminUser,
    page: ThePage,
    label: Name,
    description: Lines = "",
    keywords: Lines = "",
    aliases: Lines = "",
    parent: Annotated[str | None, Form(max_length=1000)] = None,
) -> Response:
    """Say what a label means; examples, which the page does not show, stay."""
    before = {each.name: each for each in page.project.labels()}.get(label, Label(label))
    said = {"description": description.strip(), "keywords": keywords, "aliases": aliases}
    said |= {} if parent is None else {"parent": parent.strip()}
    return page.changed(lambda: page.project.describe_labels([{**before.as_dict(), **said}], who=user.name))


@router.post("/vocabulary/imply")
def imply(user: AdminUser, page: ThePage, implies: Name = "") -> Response:
    """Say whether a label implies its parent."""
    return page.changed(lambda: page.project.imply_parents(implies == "yes", who=user.name))


@router.post("/vocabulary/guidelines")
def guidelines(user: AdminUser, page: ThePage, text: Lines = "") -> Response:
    """Say how to label."""
    return page.changed(lambda: page.project.write_guidelines(text.replace("\r\n", "\n")))


@router.get("/vocabulary/change")
def ask_about_change(user: AdminUser, page: ThePage, what: Asked, label: Asked, to: Asked = "") -> Response:
    """Say what a change would do before it is done."""
    try:
        effects = effects_of(page.browser, what, label, to.strip(), texts_of(page.request))
    except ProjectError as error:
        return page.show(trouble_of(error))
    return render(page.request, "change.html.jinja", what=what, label=label, to=to.strip(), effects=effects)


@router.post("/vocabulary/change")
def change(user: AdminUser, page: ThePage, what: Name, label: Name, to: Name = "") -> Response:
    def made() -> None:
        if check_change(what) == "rename":
            page.project.rename_label(label, to.strip(), who=user.name)
        elif what == "merge":
            page.project.merge_labels(label, to, who=user.name)
        else:
            page.project.retire_label(label, who=user.name)

    return page.changed(made)


def _shares(lines: str) -> dict[str, float]:
    """`label = share` on each line; a percent sign after the share is understood."""
    shares: dict[str, float] = {}
    for line in filter(None, (line.strip() for line in lines.splitlines())):
        label, _, share = line.rpartition("=")
        number = share.strip()
        try:
            value = float(number.removesuffix("%")) / (100 if number.endswith("%") else 1)
        except ValueError:
            raise ProjectError(f"write a label, = and a share on each line, say: cats = 0.4; got {line!r}") from None
        shares[label.strip()] = value
    return shares


def _hint(said: dict[str, dict[str, float]], t: Texts) -> str:
    ((kind, figures),) = said.items()
    if kind == "like":
        parts = [t.plain("labels.share_of", share=t.number(100 * share), label=name) for name, share in figures.items()]
    else:
        parts = [t.plain("labels.items_with", count=round(number), label=name) for name, number in figures.items()]
    return ", ".join(parts)


def _in_words(what: str, detail: dict[str, Any], t: Texts = ENGLISH) -> str:
    """A change as a sentence."""
    if what == "add labels":
        names, more = detail["names"], len(detail["names"]) - NAMED
        said = ", ".join(t.plain("script.quoted", text=name) for name in names[:NAMED])
        return t.plain("changes.added_more" if more > 0 else "changes.added", names=said, more=more)
    if what == "describe labels":
        return t.plain("changes.described", labels=t.plain("count.labels", count=len(detail["labels"])))
    if what == "add items":
        return t.plain("changes.added_items", items=t.plain("count.items", count=detail["number"]))
    if what == "imply parents":
        return t.plain("changes.implied" if detail["implies_parent"] else "changes.implied_nothing")
    key = what.replace(" ", "_")
    return t.plain(f"changes.{key}", **detail) if key in t.groups["changes"] else what


# -- what a change of the labels would do ------------------------------------------------------------------------------


def effects_of(browser: Browser, what: str, label: str, to: str = "", t: Texts = ENGLISH) -> list[str]:
    """Sentences on what renaming, merging or retiring a label does; an error if it cannot be done.

    Parameters
    ----------
    browser : Browser
    what : "rename", "merge" or "retire"
    label : a label in use
    to : the new name, or the label to merge into
    t : the language
    """
    names, yes, no, codes = browser.label_counts()
    check_change(what)
    column = _column(names, label)
    has = t.plain("effects.has", label=label, yes=_items(yes[column], t), no=_items(no[column], t))
    if what == "rename":
        if check_name(to) in names:
            raise ProjectError(f"there is a label {to!r} already; merge {label!r} into it instead")
        return [has, t.plain("effects.renamed", to=to)]
    if what == "retire":
        if len(names) == 1:
            raise ProjectError(f"label {label!r} is the last one; a project needs at least one")
        return [has, t.plain("effects.not_asked"), t.plain("effects.kept")]
    other = _column(names, to)
    if other == column:
        raise ProjectError(f"label {label!r} cannot be merged into itself")
    mine, theirs = codes[:, column], codes[:, other]
    gained = [_items(((mine == code) & (theirs < 0)).sum(), t) for code in (YES, NO)]
    against = _items(((mine == YES) & (theirs == NO)).sum(), t)
    return [
        has,
        t.plain("effects.has", label=to, yes=_items(yes[other], t), no=_items(no[other], t)),
        t.plain("effects.merged", label=label, to=to, yes=gained[0], no=gained[1]),
        t.plain("effects.against", label=label, to=to, items=against),
        t.plain("effects.gone", label=label),
    ]


def check_change(what: str) -> str:
    if what not in CHANGES:
        raise ProjectError(f"a label is changed by {', '.join(CHANGES)}, got {what!r}")
    return what


def _column(names: tuple[str, ...], label: str) -> int:
    if label not in names:
        raise ProjectError(f"there is no label {label!r} in use")
    return names.index(label)


def _items(number: int | np.integer, t: Texts) -> str:
    return t.plain("count.items_dative", count=int(number))
