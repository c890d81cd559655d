"""Sign-in by a header of a trusted proxy: who is believed, who is not, and whose session is whose."""

from __future__ import annotations

import re
from typing import Any

import pytest

from labelling.web.site_client import Person
from labelwise.labelling import Project, ProjectError
from labelwise.labelling.web import server
from labelwise.labelling.web.reach import Reach
from labelwise.labelling.web.server import create_app

HEADER = "X-Forwarded-User"
PROXY, ELSEWHERE = "127.0.0.1", "10.0.0.1"


class Named(Person):
    """A browser behind the proxy, which names somebody with each request."""

    def __init__(self, app: Any, name: str | None, address: str = PROXY, header: str = HEADER) -> None:
        super().__init__(app, address)
        if name is not None:
            self.client.headers.encoding = "utf-8"
            self.client.headers[header] = name

    def begin(self) -> Any:
        return self.enter("")


@pytest.fixture
def project(make) -> Project:
    return make()


@pytest.fixture
def app(project) -> Any:
    project.people.add("ann", "admin")
    project.people.add("bob")
    return create_app(project, reach=Reach.read(trust_header=HEADER))


def test_the_proxy_names_somebody_who_has_the_role_of_the_project(app):
    ann = Named(app, "ann")
    door = ann.get("/label")
    assert door.url.path == "/enter" and "ann" in door.text and not ann.client.cookies, "looking begins no session"
    assert ann.begin().url.path == "/label"
    assert ann.get("/api/session").json()["who"] == "ann" and ann.get("/api/session").json()["role"] == "admin"
    assert ann.post("/api/ask").status_code == 200
    assert "New link" not in ann.get("/people").text
    bob = Named(app, "bob")
    bob.begin()
    assert bob.get("/api/session").json()["role"] == "annotator"


def test_the_header_is_not_believed_from_elsewhere(app, project):
    for address in (ELSEWHERE, "::ffff:10.0.0.1", "testclient", ""):
        liar = Named(app, "ann", address)
        liar.client.headers["x-forwarded-for"] = PROXY
        for path in ("/label", "/enter", "/api/session", "/people"):
            reply = liar.get(path)
            assert reply.status_code == 403 and "through its proxy only" in reply.text, path
        assert liar.begin().status_code == 403 and not liar.client.cookies
    assert liar.enter(project.people.link("ann")).status_code == 403, "nor is a link good there"


def test_headers_with_other_names_are_none(app):
    liar = Named(app, "ann", header="X_Forwarded_User")
    assert liar.get("/api/session").status_code == 403 and liar.begin().status_code == 403


def test_a_session_is_no_good_without_the_proxy(app, project):
    ann = Named(app, "ann")
    ann.begin()
    cookies, csrf = dict(ann.client.cookies), ann.csrf
    for name, address in ((None, PROXY), ("ann", ELSEWHERE), (None, ELSEWHERE)):
        thief = Named(app, name, address)
        thief.client.cookies.update(cookies)
        thief.csrf = csrf
        assert thief.get("/api/session").status_code == 403 and thief.post("/api/ask").status_code == 403


def test_nobody_uses_the_session_of_another(app):
    ann, bob = Named(app, "ann"), Named(app, "bob")
    ann.begin()
    bob.client.cookies.update(dict(ann.client.cookies))
    bob.csrf = ann.csrf
    assert bob.get("/api/session").status_code == 401 and bob.post("/api/ask").status_code == 401
    assert bob.begin().url.path == "/label"
    assert bob.get("/api/session").json()["who"] == "bob"
    bob.csrf = ann.csrf
    assert bob.post("/api/ask").status_code == 403
    assert ann.post("/api/ask").status_code == 200


def test_a_missing_or_empty_header_is_refused(app):
    for name in (None, "", "  "):
        somebody = Named(app, name)
        for path in ("/label", "/enter", "/api/session"):
            reply = somebody.get(path)
            assert reply.status_code == 403 and f"must send the header {HEADER}" in reply.text
        assert somebody.begin().status_code == 403
    page = somebody.get("/label", headers={"accept": "text/html"})
    assert page.status_code == 403 and "<h1" in page.text and "did not say who you are" in page.text


def test_a_header_that_names_two_is_refused(app):
    ann = Person(app, PROXY)
    for headers in ([(HEADER, "ann"), (HEADER, "bob")], [(HEADER, "ann"), (HEADER, "")], [(HEADER, "bob, ann")]):
        reply = ann.client.get("/api/session", headers=headers)
        assert reply.status_code == 400 and "named several people" in reply.text
        assert ann.client.post("/enter", headers=headers).status_code == 400 and not ann.client.cookies


def test_odd_names_are_nobody(app, project):
    app = create_app(project, reach=Reach.read(trust_header=HEADER, new_role="annotator"))
    for name in ("label-studio:7", "a\x01b", "\u202eann", "a\u200bnn", "x" * 201):
        odd = Named(app, name)
        assert odd.client.post("/enter", headers={"accept": "text/html"}).status_code == 400 and not odd.client.cookies
        assert odd.client.get("/api/session").status_code == 400
    assert [user.name for user in project.people.all()] == ["ann", "bob"]
    page = Named(app, "<b>ann</b>").begin()  # a name like any other, and text on the page
    assert page.url.path == "/label" and "<b>" not in page.text and "&lt;b&gt;ann" in page.text


def test_what_is_no_text_is_nobody(app):
    async def sends_latin_1(scope: Any, receive: Any, send: Any) -> None:
        headers = [*scope["headers"], (HEADER.lower().encode(), "Zoë".encode("latin-1"))] if "headers" in scope else []
        await app({**scope, "headers": headers}, receive, send)

    reply = Person(sends_latin_1, PROXY).get("/api/session")
    assert reply.status_code == 400 and "is not UTF-8" in reply.text


def test_names_are_exact(app, project):
    project.people.add("Zoë Müller")
    assert Named(app, "Zoë Müller").begin().url.path == "/label"
    for name in ("Ann", "ANN", "аnn", "ann.", "an n"):  # the third has a Cyrillic letter
        assert Named(app, name).begin().status_code == 403
    assert Named(app, " ann ").begin().url.path == "/label", "space around a header is none of its value"


def test_people_nobody_added_are_refused_or_get_the_role_that_was_said(app, project):
    eve = Named(app, "eve")
    assert eve.get("/enter").status_code == 403 and "user add PROJECT NAME" in eve.get("/enter").text
    assert eve.begin().status_code == 403 and not eve.client.cookies
    open_to_all = create_app(project, reach=Reach.read(trust_header=HEADER, new_role="viewer"))
    eve = Named(open_to_all, "eve")
    assert eve.get("/enter").status_code == 200
    assert [user.name for user in project.people.all()] == ["ann", "bob"], "looking adds nobody"
    assert eve.begin().status_code == 200 and eve.get("/api/session").json()["role"] == "viewer"
    assert {user.name: user.role for user in project.people.all()}["eve"] == "viewer"
    ann = Named(open_to_all, "ann")
    ann.begin()
    assert ann.get("/api/session").json()["role"] == "admin", "the table comes first"


def test_who_was_removed_stays_out(project):
    project.people.add("ann", "admin")
    app = create_app(project, reach=Reach.read(trust_header=HEADER, new_role="annotator"))
    eve = Named(app, "eve")
    eve.begin()
    project.people.remove("eve")
    assert eve.get("/api/session").status_code == 401
    assert eve.begin().status_code == 403 and eve.get("/api/session").status_code == 401
    project.people.add("eve")
    assert eve.begin().url.path == "/label"


def test_the_rules_against_other_sites_stay(app, project):
    ann = Named(app, "ann")
    assert ann.client.post("/enter", headers={"origin": "https://evil.example"}).status_code == 403
    ann.begin()
    assert ann.client.post("/api/ask", json={}).status_code == 403, "a cookie and the header are no token"
    assert ann.post("/api/ask", {}, origin="https://evil.example").status_code == 403
    left = ann.client.post("/leave", data={"csrf": ann.csrf})
    assert left.url.path == "/enter" and "Begin" in left.text and ann.get("/api/session").status_code == 401


def test_other_proxies_are_named_and_replace_this_machine(project):
    project.people.add("ann")
    app = create_app(project, reach=Reach.read("0.0.0.0", proxies=("10.0.0.0/24",), trust_header="Remote-User"))
    assert Named(app, "ann", "10.0.0.9", "Remote-User").begin().url.path == "/label"
    for address in ("10.0.1.9", PROXY):
        assert Named(app, "ann", address, "Remote-User").begin().status_code == 403
    assert Named(app, "ann", "10.0.0.9", HEADER).begin().status_code == 403, "another header"


def test_without_the_option_the_header_means_nothing(project):
    project.people.add("ann", "admin")
    app = create_app(project, reach=Reach.read("0.0.0.0", proxies=(PROXY,)))
    assert Named(app, "ann").begin().status_code == 403
    assert Named(app, "ann").get("/api/session").status_code == 401


def test_what_is_no_header_for_a_name_is_refused():
    for header in ("", "X Forwarded User", "X-User:", "Cookie", "host", "X-Forwarded-For", "é"):
        with pytest.raises(ProjectError, match="--trust-header takes the name of a header"):
            Reach.read(trust_header=header)


def test_admins_are_added_by_name_only():
    for role in ("admin", "owner", ""):
        with pytest.raises(ProjectError, match=re.escape("annotator, reviewer, viewer")):
            Reach.read(trust_header=HEADER, new_role=role)
    with pytest.raises(ProjectError, match="--trust-header or --oidc-issuer, too"):
        Reach.read(new_role="viewer")


def test_a_project_without_users_is_not_served_so(project, monkeypatch):
    monkeypatch.setattr(server.Server, "run", lambda self, sockets: pytest.fail("it was served"))
    with pytest.raises(ProjectError, match="the project has no users"):
        server.serve_project(project, reach=Reach.read(trust_header=HEADER), local_user="me", worker=False)
