"""Attacks, each tried twice: with the guard in place it fails, with the guard taken out the same attack succeeds."""

from __future__ import annotations

import base64
import html
import io
import re
from pathlib import Path

import numpy as np
import pytest
from fastapi import FastAPI

from labelling.web.site_client import Person
from labelwise import LabelData
from labelwise.labelling import ProjectError
from labelwise.labelling.items import pictures as picture_files
from labelwise.labelling.service import Service
from labelwise.labelling.store.questions import find_lease
from labelwise.labelling.web import label_view, reach, server, site
from labelwise.labelling.web.access import AdminUser, csrf_protected
from labelwise.labelling.web.reach import Reach
from labelwise.labelling.web.server import create_app
from labelwise.labelling.web.site import Limiter, Site, _templates

YES = {"left": True}
SCRIPT = "<script>alert(1)</script>"


@pytest.fixture(params=[True, False], ids=["guarded", "unguarded"])
def guarded(request) -> bool:
    return request.param


def test_a_post_from_another_site_changes_nothing(guarded, project, monkeypatch):
    monkeypatch.setattr(server, "FastAPI", FastAPI)  # with routes of its own, whose guard can be taken away
    alone = Person(create_app(project, local_user="me"))
    if not guarded:
        alone.app.dependency_overrides[csrf_protected] = lambda: None
    alone.enter()
    lease = alone.ask()["lease"]
    cookies_alone = {"origin": "https://evil.example", "content-type": "application/json"}  # what a browser would add
    reply = alone.client.post("/api/answer", json={"lease": lease, "values": YES}, headers=cookies_alone)
    assert (reply.status_code, len(project.events())) == ((403, 0) if guarded else (200, 1))


def test_the_token_alone_guards_where_no_origin_is_sent(alone, project):
    lease = alone.ask()["lease"]
    for token in ({}, {"x-csrf-token": ""}, {"x-csrf-token": "0" * 32}):
        assert alone.client.post("/api/skip", json={"lease": lease}, headers=token).status_code == 403
    assert alone.post("/api/skip", {"lease": lease}, origin="https://evil.example").status_code == 403
    assert project.events() == []
    assert alone.post("/api/skip", {"lease": lease}, origin="http://127.0.0.1:8000").status_code == 200


def test_the_token_of_another_session_is_no_good(sign_in):
    ann, bob = sign_in("ann"), sign_in("bob")
    ann.csrf = bob.csrf
    assert ann.post("/api/ask").status_code == 403


def test_nobody_answers_for_somebody_else(guarded, sign_in, project, monkeypatch):
    ann, bob = sign_in("ann"), sign_in("bob")
    lease = ann.ask()["lease"]
    if not guarded:
        monkeypatch.setattr(Service, "_held", lambda self, connection, token, who: find_lease(connection, token))
    reply = bob.post("/api/answer", {"lease": lease, "values": YES})
    assert (reply.status_code, len(project.events())) == ((409, 0) if guarded else (200, 1))
    if guarded:
        for path in ("/api/skip", "/api/renew"):
            assert bob.post(path, {"lease": lease}).status_code == 409


@pytest.mark.parametrize("cookie", ["", "x", "0" * 43, "' OR 1=1 --", "\x7f"])
def test_a_session_that_was_never_given_is_none(project, sign_in, cookie):
    app = sign_in("ann").app
    stranger = Person(app)
    stranger.client.cookies.set(app.state.site.cookie, cookie)
    assert stranger.get("/api/session").status_code == 401
    assert stranger.get("/label", follow_redirects=False).headers["location"] == "/enter"


def test_a_removed_user_and_one_who_left_are_out(sign_in, project):
    ann, bob = sign_in("ann"), sign_in("bob")
    project.people.remove("ann")
    assert ann.get("/api/session").status_code == 401 and bob.get("/api/session").status_code == 200
    stolen = dict(bob.client.cookies)
    assert bob.client.post("/leave", data={"csrf": bob.csrf}).url.path == "/enter"
    bob.client.cookies.update(stolen)
    assert bob.get("/api/session").status_code == 401


def test_working_alone_ends_when_there_are_users(alone, project):
    assert alone.get("/api/session").status_code == 200
    project.people.add("ann")
    assert alone.get("/api/session").status_code == 401
    alone.enter()
    assert alone.get("/api/session").status_code == 401


def test_the_cookie_is_kept_from_scripts_and_other_sites(project):
    person = Person(create_app(project, local_user="me"))
    secret = {"secret": person.app.state.site.local_secret}
    given = person.client.post("/enter", data=secret, follow_redirects=False).headers["set-cookie"].lower()
    assert "httponly" in given and "samesite=lax" in given and "secure" not in given
    safe = Person(person.app, base="https://127.0.0.1")
    assert "secure" in safe.client.post("/enter", data=secret, follow_redirects=False).headers["set-cookie"].lower()


def test_wrong_links_have_to_wait_never_write_and_keep_nobody_out(guarded, sign_in, project, monkeypatch):
    person = sign_in("ann", address="10.0.0.2")
    limiter = Limiter() if guarded else Limiter(tries=10**9)
    person.app.state.site = Site(project, None, logins=limiter)
    right = project.people.link("ann")
    written, write = [], project.store.write
    monkeypatch.setattr(project.store, "write", lambda change: written.append(change) or write(change))
    guesser = Person(person.app, address="6.6.6.6")
    replies = [guesser.client.post("/enter", data={"secret": f"{i:08} guess"}) for i in range(100)]
    assert [reply.status_code for reply in replies].count(429) == (90 if guarded else 0) and written == []
    if not guarded:
        return
    assert int(replies[-1].headers["retry-after"]) > 0
    assert guesser.enter(right).url.path == "/label" and written, "the right one always opens, also from there"
    later = limiter._clock() + 301
    limiter._clock = lambda: later
    assert guesser.client.post("/enter", data={"secret": "one more"}).status_code == 403


def test_the_limiter_remembers_no_more_than_it_may(monkeypatch):
    monkeypatch.setattr(site, "REMEMBERED", 50)
    limiter = Limiter()
    for i in range(1000):
        limiter.failed(*site.limiter_keys(str(i) + "x" * 10_000, f"{i:06}" + "y" * 10_000, "z" * 10_000 + str(i)))
    assert len(limiter._failures) == 50 and max(map(len, limiter._failures)) <= 64


def test_a_link_opens_once_and_looking_at_it_does_not_use_it_up(project, sign_in):
    app = sign_in("bob").app
    secret = project.people.add("ann")
    for _ in range(3):
        assert "Sign in" in Person(app).get(f"/enter/{secret}").text
    assert Person(app).enter(secret).url.path == "/label"
    assert Person(app).enter(secret).status_code == 403
    late = project.people.link("ann")
    next_week = project.people._clock() + 8 * 24 * 3600
    project.people._clock = lambda: next_week
    assert Person(app).enter(late).status_code == 403


def test_a_sign_in_from_another_site_is_refused(project, sign_in):
    person = Person(sign_in("bob").app)
    secret = project.people.add("ann")
    reply = person.client.post("/enter", data={"secret": secret}, headers={"origin": "https://evil.example"})
    assert reply.status_code == 403 and not person.client.cookies


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.7", "label.example.org", ""])
def test_a_project_without_users_is_not_shown_to_the_network(guarded, project, host, monkeypatch):
    begun = []
    monkeypatch.setattr(server.Server, "run", lambda self, sockets: begun.append(self.config.host))
    where = Reach(host)
    if not guarded:
        monkeypatch.setattr(server, "check_reach", lambda project, reach: None)
        server.serve_project(project, reach=where, local_user="me", worker=False)
        assert begun == [host]
        return
    with pytest.raises(ProjectError, match=r"can be reached by others, and the project has no users.*user add"):
        server.serve_project(project, reach=where, local_user="me", worker=False)
    assert begun == []
    project.people.add("ann")
    server.serve_project(project, reach=where, local_user="me", worker=False)
    assert begun == [host]


def test_where_others_reach_the_page_nobody_is_let_in_without_a_link(project, monkeypatch):
    project.people.add("ann")
    made = []
    monkeypatch.setattr(server.Server, "run", lambda self, sockets: made.append(self.config.app))
    server.serve_project(project, reach=Reach("0.0.0.0"), local_user="me", worker=False)
    project.people.remove("ann")  # no users again, but others can still reach it
    stranger = Person(made[0])
    assert stranger.enter().url.path == "/enter" and stranger.get("/api/session").status_code == 401


def test_a_name_that_leads_to_this_machine_is_not_answered(guarded, project, monkeypatch):
    if not guarded:
        monkeypatch.setattr(reach, "LOOPBACK_NAMES", ("127.0.0.1", "evil.example"))
    person = Person(create_app(project, local_user="me"), base="http://evil.example:8000")
    assert person.enter().status_code == (400 if guarded else 200)


def picture_project(make, content) -> Person:
    data = LabelData.from_arrays(np.zeros((2, 1)), label_names=["a"], item_ids=["../../x", "ok"], items=content)
    project = make(data=data)
    person = Person(create_app(project, local_user="me"))
    person.enter()
    return person


def png() -> bytes:
    image = pytest.importorskip("PIL.Image", reason="needs Pillow")
    out = io.BytesIO()
    image.new("L", (4, 4)).save(out, "PNG")
    return out.getvalue()


def test_no_picture_outside_of_the_project_is_read(guarded, make, tmp_path, monkeypatch):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "picture.png").write_bytes(png())
    (inside / "link.png").symlink_to(outside / "picture.png")
    person = picture_project(make, [{"image": str(inside / "picture.png")}, {"image": str(inside / "link.png")}])
    assert person.get("/pictures/..%2F..%2Fx", params={"field": "image"}).content == png()  # its name is only a name
    if not guarded:
        monkeypatch.setattr(picture_files, "_path_of", lambda value, *_: Path(value))
    assert person.get("/pictures/ok", params={"field": "image"}).status_code == (404 if guarded else 200)
    content = {"image": f"{inside}/../outside/picture.png"}
    monkeypatch.setattr(person.app.state.site.project, "content_of", lambda item: content)
    assert person.get("/pictures/ok", params={"field": "image"}).status_code == (404 if guarded else 200)


@pytest.mark.parametrize(
    "path",
    [
        "/pictures/..%2f..%2f..%2fetc%2fpasswd",
        "/pictures/nothing",
        "/pictures/%00",
        "/pictures/" + "x" * 5000,
        "/static/..%2fapp.py",
        "/static/%2e%2e/app.py",
    ],
)
def test_paths_in_addresses_lead_nowhere(alone, path):
    assert alone.get(path).status_code in (404, 422)


def test_what_is_no_picture_is_not_shown(guarded, make, tmp_path, monkeypatch):
    page, drawing = tmp_path / "page.png", "data:image/svg+xml;base64," + base64.b64encode(b"<svg/>").decode()
    page.write_text(f"<html>{SCRIPT}</html>")
    person = picture_project(make, [{"image": str(page)}, {"image": drawing}])
    if not guarded:
        monkeypatch.setattr(label_view, "shown_picture", lambda data, cache: (data, "text/html"))
    for item in ("..%2F..%2Fx", "ok"):
        assert person.get(f"/pictures/{item}", params={"field": "image"}).status_code == (404 if guarded else 200)


def test_pictures_come_with_their_own_type_and_for_those_signed_in_only(make, tmp_path):
    (tmp_path / "a.png").write_bytes(b"GIF89a" + bytes(20))
    person = picture_project(make, [{"image": str(tmp_path / "a.png")}, None])
    reply = person.get("/pictures/..%2F..%2Fx?field=image")
    assert reply.headers["content-type"] == "image/gif"  # by its bytes, whatever its name
    assert (
        reply.headers["x-content-type-options"] == "nosniff" and "sandbox" in reply.headers["content-security-policy"]
    )
    stranger = Person(person.app)
    assert stranger.get("/pictures/..%2F..%2Fx?field=image", follow_redirects=False).status_code == 303


WAV = b"RIFF\x24\x00\x00\x00WAVEfmt " + bytes(range(100))


@pytest.mark.parametrize("is_data", [False, True])
def test_recordings_and_pdfs_come_with_safe_headers_and_in_parts(make, tmp_path, is_data):
    pdf = b"%PDF-1.4 nothing"
    (tmp_path / "a.wav").write_bytes(WAV)
    (tmp_path / "a.pdf").write_bytes(pdf)
    content = {"call": str(tmp_path / "a.wav"), "paper": str(tmp_path / "a.pdf")}
    if is_data:
        address = {"call": "data:audio/wav;base64,", "paper": "data:application/pdf;base64,"}
        given = {"call": WAV, "paper": pdf}
        content = {name: address[name] + base64.b64encode(data).decode() for name, data in given.items()}
    person = picture_project(make, [content, {"call": None}])
    whole = person.get("/media/..%2F..%2Fx?field=call")
    assert (whole.status_code, whole.content, whole.headers["content-type"]) == (200, WAV, "audio/wav")
    assert whole.headers["accept-ranges"] == "bytes" and whole.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in whole.headers["content-security-policy"] and whole.headers["x-frame-options"] == "DENY"
    part = person.get("/media/..%2F..%2Fx?field=call", headers={"range": "bytes=20-29"})
    assert (part.status_code, part.content) == (206, WAV[20:30])
    assert part.headers["content-range"] == f"bytes 20-29/{len(WAV)}"
    rest = person.get("/media/..%2F..%2Fx?field=call", headers={"range": "bytes=100-"})
    assert (rest.status_code, rest.content) == (206, WAV[100:])
    paper = person.get("/media/..%2F..%2Fx?field=paper")
    assert (paper.content, paper.headers["content-type"]) == (pdf, "application/pdf")
    assert "frame-ancestors 'self'" in paper.headers["content-security-policy"]
    assert paper.headers["x-frame-options"] == "SAMEORIGIN" and paper.headers["x-content-type-options"] == "nosniff"
    assert person.get("/media/ok?field=call").status_code == person.get("/media/ok?field=none").status_code == 404
    assert Person(person.app).get("/media/..%2F..%2Fx?field=call", follow_redirects=False).status_code == 303


def test_no_other_file_is_sent_as_a_recording_or_a_pdf(guarded, make, tmp_path, monkeypatch):
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
    (outside / "a.wav").write_bytes(WAV)
    (inside / "page.pdf").write_bytes(b"<script>alert(1)</script>%PDF-")
    (inside / "link.wav").symlink_to(outside / "a.wav")
    person = picture_project(make, [{"paper": str(inside / "page.pdf")}, {"call": str(inside / "link.wav")}])
    assert person.get("/media/..%2F..%2Fx?field=paper").status_code == 404  # by its bytes, whatever its name
    if not guarded:
        monkeypatch.setattr(picture_files, "_path_of", lambda value, *_: Path(value))
    assert person.get("/media/ok?field=call").status_code == (404 if guarded else 200)


def test_names_are_escaped_on_pages(guarded, make, tmp_path):
    project = make(str(tmp_path / "<b>.db"))
    app = create_app(project)
    if not guarded:
        templates = _templates()
        templates.autoescape, templates.bytecode_cache = False, None
        app.state.site = Site(project, None, templates=templates)
    person = Person(app)
    page = person.enter(project.people.add(SCRIPT)).text
    assert (SCRIPT in page) is not guarded
    assert (html.escape(SCRIPT) in page) is guarded


def test_every_response_has_a_strict_policy(alone):
    for path in ("/label", "/help", "/enter", "/nothing", "/static/label/label.js", "/api/session", "/api/nothing"):
        policy = alone.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy and "script-src 'self'" in policy and "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert "http" not in policy and "*" not in policy  # nothing from elsewhere
        assert alone.get(path).headers["x-content-type-options"] == "nosniff"


def test_templates_have_nothing_that_the_policy_would_stop():
    folder = Path(server.__file__).parent
    for template in (folder / "templates").glob("*.jinja"):
        text = template.read_text(encoding="utf-8")
        assert " style=" not in text and " on" + "click" not in text and "javascript:" not in text, template.name
        assert text.count("<script") == len(re.findall(r'<script [^>]*src="/static/', text)), template.name
        assert "|safe" not in text.replace(" ", ""), template.name
        assert "://" not in text, f"{template.name} names another server"
    for script in (folder / "static").rglob("*.js"):
        text = script.read_text(encoding="utf-8")
        assert "innerHTML" not in text and "insertAdjacentHTML" not in text and "://" not in text, script.name


def test_admins_are_let_where_annotators_are_not(sign_in):
    ann, eve = sign_in("ann", "admin"), sign_in("eve")

    @ann.app.get("/only-admins")
    def only_admins(user: AdminUser) -> str:
        return user.name

    assert ann.get("/only-admins").json() == "ann"
    assert eve.get("/only-admins").status_code == 403
