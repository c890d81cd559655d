"""What goes wrong with the database is told to clients in plain words that name no database, host, table or path."""

from __future__ import annotations

import logging
import os

import pytest

from labelling.web.site_client import Person
from labelwise.labelling import Project
from labelwise.labelling.web.server import create_app

PAGES = ("/", "/label", "/progress", "/browse", "/browse?words=a", "/browse/item?name=p0", "/vocabulary", "/enter")
TOLD = "the log of the server says why"


@pytest.fixture
def person(make, location, tmp_path, monkeypatch) -> Person:
    """Who works alone on a project of either database."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    project = make(location)
    project.refresh()
    entered = Person(create_app(project, local_user="me"))
    entered.enter()
    entered.project = project
    return entered


def words_of(project: Project) -> tuple[str, ...]:
    """What a client must not read."""
    store = project.store
    known = ("sqlite", "psycopg", "relation", "constraint", "_pkey", "select", "no such", "insert", ".db", "/tmp")
    where = (
        (store.location, str(store.folder)) if store.is_file else ("postgres", "with_c", "lwpg", "project_", "host=")
    )
    return known + where


def break_store(project: Project, *statements: str) -> None:
    with project.store.writing() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def check(reply, project: Project, status: int = 503) -> None:
    assert reply.status_code == status, reply.text
    text = reply.text.lower()
    assert not [word for word in words_of(project) if word.lower() in text], reply.text


@pytest.mark.parametrize("event", [2**31 - 1, 2**31, 2**40, 2**62])
def test_an_answer_that_cannot_be_is_not_taken_back(person, event):
    lease = person.ask()
    values = {label["name"]: True for label in lease["labels"]}
    person.post("/api/answer", {"lease": lease["lease"], "values": values})
    reply = person.post("/api/undo", {"event": event})
    assert (reply.status_code, reply.json()["detail"]) == (
        409,
        "something was answered since; only the last answer can be taken back",
    )
    assert [each.kind for each in person.project.events()] == ["answer"]


@pytest.mark.parametrize("event", [0, -1, 2**62 + 1, 2**63, 2**64, 10**400, 1.5, "x"])
def test_a_number_that_is_none_is_misunderstood(person, event):
    check(person.post("/api/undo", {"event": event}), person.project, 422)


@pytest.mark.parametrize("event", [0, -1, 2**63, 2**70])
def test_no_number_breaks_the_service(make, location, event):
    project = make(location)
    with pytest.raises(ValueError, match="has no answer to take back"):
        project.service.undo("ann", event)


def test_a_name_with_the_sign_nul_is_no_item(person):
    for path, data in (
        ("/browse/item", {"name": "p\0", "yes": "left", "csrf": person.csrf}),
        ("/vocabulary/add", {"name": "new", "examples": "p\0", "csrf": person.csrf}),
    ):
        reply = person.client.post(path, data=data)
        assert 400 <= reply.status_code < 500, reply.text


def test_a_broken_table_is_told_without_its_name(person, caplog):
    names = [word for word in words_of(person.project) if word not in ("select", "insert")]
    shown = person.get("/vocabulary", headers={"accept": "text/html"}).text
    assert person.project.store.name in shown, "who is signed in sees what the project is called"
    break_store(person.project, "DROP VIEW votes", "ALTER TABLE events RENAME TO lost")
    with caplog.at_level(logging.WARNING):
        for path in PAGES[1:-1]:
            for accept in ("text/html", "application/json"):
                reply = person.get(path, headers={"accept": accept})
                if reply.status_code != 200:
                    check(reply, person.project)
                    assert TOLD in reply.text and "events" not in reply.text
                    assert not [word for word in names if word in reply.text]
        for path, body in (("/api/ask", {}), ("/api/undo", {}), ("/api/undo", {"event": 1})):
            reply = person.post(path, body)
            check(reply, person.project)
            assert reply.json() == {"detail": f"the project cannot be read or written now; {TOLD}"}
        check(person.get("/api/status"), person.project)
    assert person.project.store.shown in caplog.text and "events" in caplog.text, "the log says what and where"


def test_a_row_that_is_there_twice_is_told_without_its_constraint(person, monkeypatch):
    person.ask()
    monkeypatch.setattr("secrets.token_hex", lambda n: "5" * 16)
    for _ in range(2):
        reply = person.post("/api/ask", {"items": 10})
    check(reply, person.project)
    assert TOLD in reply.text


def test_sessions_that_cannot_be_read_are_no_crash(person):
    """The page of the error looks for who is signed in, which fails for the same reason."""
    break_store(
        person.project, "ALTER TABLE sessions RENAME TO lost_sessions", "ALTER TABLE users RENAME TO lost_users"
    )
    stranger = Person(person.app)
    for somebody in (person, stranger):
        for path in PAGES:
            for accept in ("text/html", "application/json"):
                check(somebody.client.get(path, headers={"accept": accept}, follow_redirects=True), person.project)
    check(person.client.get("/pictures/p0"), person.project)
    check(person.post("/api/ask"), person.project)
    check(person.client.post("/enter", data={"secret": "x"}), person.project)


def test_label_studio_is_told_no_more(person):
    secret = person.project.people.add_token("label-studio")
    break_store(person.project, "DROP VIEW votes", "ALTER TABLE events RENAME TO lost")
    annotation = {"id": 1, "completed_by": 3, "created_at": "2024-05-01T10:00:00Z", "result": []}
    body = {
        "action": "ANNOTATION_CREATED",
        "annotation": annotation,
        "task": {"id": 1, "data": {"text": "point 0"}},
        "project": 1,
    }
    headers = {"authorization": f"Token {secret}"}
    check(person.client.post("/label-studio/webhook", json=body, headers=headers), person.project)
    tasks = {"tasks": [{"id": 1, "data": {"text": "point 0"}}]}
    check(person.client.post("/label-studio/predict", json=tasks, headers=headers), person.project)


def test_a_file_that_was_replaced_is_told_in_plain_words(project):
    person = Person(create_app(project, local_user="me"))
    person.enter()
    os.unlink(project.store.location)
    for reply in (person.post("/api/ask"), person.get("/browse"), Person(person.app).client.get("/")):
        check(reply, project)
        assert "replaced or deleted while it was open; nothing was saved; stop the server" in reply.text


def test_a_full_disk_is_told_with_its_cure(project, monkeypatch):
    import sqlite3

    person = Person(create_app(project, local_user="me"))
    person.enter()

    def full(connection, held):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("labelwise.labelling.service.open_lease", full)
    reply = person.post("/api/ask")
    check(reply, project)
    assert reply.json() == {"detail": "the disk is full: nothing was changed; make room and try again"}


def test_a_password_is_not_printed():
    from labelwise.labelling.store import Store

    assert "secret" not in Store("postgresql://me:secret@here/db?password=secret").shown
