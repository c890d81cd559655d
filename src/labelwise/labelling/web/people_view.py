"""People: what each has done, today and yesterday, how far they agree; and links and roles, for admins."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from labelwise.labelling.errors import ProjectError
from labelwise.labelling.figures.status import person_days, status_of
from labelwise.labelling.items.browse import Browser, ItemSearch
from labelwise.labelling.people import ADMIN, ANNOTATOR, LINK_SECONDS, ROLES, User
from labelwise.labelling.web.access import (
    AdminUser,
    CurrentUser,
    TheProject,
    begin_session,
    render,
    site_of,
    trouble_of,
)
from labelwise.labelling.web.texts import texts_of

router = APIRouter(include_in_schema=False)
Name = Annotated[str, Form(max_length=200)]


@router.get("/people")
def people(request: Request, user: CurrentUser, project: TheProject) -> Response:
    return _page(request, user, project)


@router.post("/people/add")
def add(request: Request, user: AdminUser, project: TheProject, name: Name, role: Name = ANNOTATOR) -> Response:
    """Add somebody. Whoever works alone here becomes the first admin, and stays signed in."""
    secrets: list[tuple[str, str]] = []
    session = None
    try:
        if user.is_local:
            if name.strip() == user.name:
                raise ProjectError(f"you are {user.name!r} yourself, and become an admin with the first other person")
            entered = project.people.redeem(project.people.add(user.name, ADMIN))
            session = None if entered is None else entered[1]
            user = user if entered is None else entered[0]
            request.state.user = user
        secrets.append((name.strip(), project.people.add(name.strip(), role)))
    except ProjectError as error:
        return begin_session(request, _page(request, user, project, trouble_of(error)), session)
    return begin_session(request, _page(request, user, project, links=secrets), session)


@router.post("/people/change")
def change(
    request: Request, user: AdminUser, project: TheProject, name: Name, what: Name, role: Name = ANNOTATOR
) -> Response:
    """Another role, another link, or nobody by this name any more."""
    links = []
    try:
        if what == "role":
            project.people.change_role(name, role)
        elif what == "link":
            links.append((name, project.people.link(name)))
        elif what == "remove":
            if name == user.name:
                raise ProjectError("you cannot remove yourself; ask another admin")
            project.people.remove(name)
        else:
            raise ProjectError(f"a person is changed by role, link or remove, got {what!r}")
    except ProjectError as error:
        return _page(request, user, project, trouble_of(error))
    return _page(request, user, project, links=links)


@router.post("/people/assign")
def assign(
    request: Request,
    user: AdminUser,
    project: TheProject,
    name: Name,
    what: Name,
    share: Annotated[str, Form(max_length=20)] = "",
    words: Annotated[str, Form(max_length=1000)] = "",
) -> Response:
    """Give somebody a share of the items, in percent, or all items with some words."""
    try:
        if what == "share":
            try:
                part = float(share) / 100
            except ValueError:
                raise ProjectError(f"a share is a number of percent, got {share!r}") from None
            number = project.people.assign_share(name, part)
        else:
            search = ItemSearch(words=words)
            if not search.parts:
                raise ProjectError("say which words the items have, or give a share")
            number = project.people.assign_items(name, Browser(project).names_found(search))
    except ProjectError as error:
        return _page(request, user, project, trouble_of(error))
    return _page(request, user, project, notice=texts_of(request)("people.assigned", count=number, name=name))


def _page(
    request: Request,
    user: User,
    project: TheProject,
    trouble: str | None = None,
    links: list[tuple[str, str]] | None = None,
    notice: str | None = None,
) -> Response:
    now = status_of(project, recount=False).seen_by(None if user.is_admin else user.name)
    mine = [pair for pair in now.pairs if user.name in (pair.first, pair.second)]
    with project.store.reading() as connection:
        days = person_days(connection, user.name, time.time())
    by_proxy = bool(site_of(request).reach.trust_header)
    base = f"{request.url.scheme}://{request.headers.get('host', '')}"
    return render(
        request,
        "people.html.jinja",
        400 if trouble else 200,
        days=days,
        pairs=[(pair, pair.second if pair.first == user.name else pair.first) for pair in mine],
        total=now.people.get(user.name, 0),
        users=project.people.all() if user.is_admin else [],
        roles=ROLES,
        links=[] if by_proxy else [(name, f"{base}/enter/{secret}") for name, secret in links or ()],
        by_proxy=by_proxy,
        assigned=project.people.assigned(),
        notice=notice,
        link_days=round(LINK_SECONDS / 86400),
        trouble=trouble,
    )
