"""What the documents promise about requests, written from the documents alone."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from labelling.web.site_client import Person
from labelwise import Answer, LabelData
from labelwise.labelling import Project
from labelwise.labelling.safety.verify import verify
from labelwise.labelling.web.server import create_app
from rest_slow import rest_slow

NAMES = ("left", "low", "far", "red")
TABLES = ("sessions", "invitations", "tokens", "users", "events", "leases")


def points(n: int = 5) -> LabelData:
    X = np.random.default_rng(4).standard_normal((n, 2))
    return LabelData.from_arrays(X, label_names=list(NAMES), item_ids=[f"p{i}" for i in range(n)])


def team(project: Project) -> Callable[[str], Person]:
    """People by name; the admin is eve."""
    site, people = create_app(project), {}

    def person(name: str) -> Person:
        if name not in people:
            people[name] = Person(site)
            people[name].enter(project.people.add(name, "admin" if name == "eve" else "annotator"))
            assert people[name].csrf
        return people[name]

    return person


def known(project: Project) -> dict[tuple[str, str], bool]:
    data = project.labelled()
    rows, columns = data.observed_mask().toarray().nonzero()
    Y = data.Y.toarray()
    return {(data.item_ids[i], data.label_names[j]): bool(Y[i, j]) for i, j in zip(rows, columns, strict=True)}


def count(project: Project) -> dict[str, int]:
    with project.store.reading() as connection:
        return {name: connection.execute(sa.text(f"SELECT count(*) FROM {name}")).scalar_one() for name in TABLES}


# -- whole items where pairs are asked ---------------------------------------------------------------------------------


@pytest.fixture
def pairs(make, location) -> Project:
    project = make(location, data=points(), strategy="uncertainty_pairs", overlap=1, ready=40)
    project.refresh()
    return project


def test_a_whole_item_is_one_answer(pairs, location):
    ann = team(pairs)("ann")
    question = ann.ask()
    assert {label["name"] for label in question["whole"]} == set(NAMES)
    said = {"left": True, "low": False, "far": None, "red": False}
    sent = {"lease": question["lease"], "values": said}
    first = ann.post("/api/answer_item", sent)
    assert first.status_code == 200
    events = pairs.events()
    assert len(events) == 1 and dict(events[0].values) == said and events[0].who == "ann"
    again = ann.post("/api/answer_item", sent)
    assert again.status_code == 200 and again.json()["event"] == first.json()["event"] == events[0].id
    for values in ({**said, "left": False}, {"left": True, "low": True}, {"left": True}):
        assert ann.post("/api/answer_item", {**sent, "values": values}).status_code == 409
    assert pairs.events() == events
    item = question["item"]
    assert known(pairs) == {(item, name): value for name, value in said.items() if value is not None}
    for who in ("ann", "bob"):  # nothing is asked about this item any more
        reply = team_ask(pairs, who)
        assert item not in {question["item"] for question in reply}
    assert verify(location).state == "sound"
    back = ann.post("/api/undo", {"event": events[0].id})
    assert back.status_code == 200 and known(pairs) == {}
    assert ann.post("/api/undo", {"event": events[0].id}).status_code == 200
    assert [event.kind for event in pairs.events()] == ["answer", "undo"]
    assert verify(location).state == "sound"


def team_ask(project: Project, who: str) -> list[dict[str, Any]]:
    """Questions about up to ten items, and given back at once where they are new."""
    mine = project.service.ask_about_items(who, 10)
    return [{"item": lease.question.item} for lease in mine]


def test_nobody_answers_a_whole_item_by_the_lease_of_somebody_else(pairs):
    people = team(pairs)
    lease = people("ann").ask()["lease"]
    sent = {"lease": lease, "values": dict.fromkeys(NAMES, True)}
    assert people("bob").post("/api/answer_item", sent).status_code in (403, 409)
    assert people("eve").post("/api/answer_item", sent).status_code in (403, 409)
    assert pairs.events() == []


def test_a_label_that_is_none_is_refused_with_all_of_the_answer(pairs):
    ann = team(pairs)("ann")
    lease = ann.ask()["lease"]
    for values in (
        {"left": True, "none": True},
        {"left": "perhaps"},
        {"left": "yes"},
        {"left": 1},
        {"left": 1.5},
        {"left": []},
        {},
    ):
        assert 400 <= ann.post("/api/answer_item", {"lease": lease, "values": values}).status_code < 500
    assert pairs.events() == []


@pytest.mark.parametrize("overlap", rest_slow([2, 3]))
def test_whole_items_with_overlap_are_answered_once_by_each(make, location, overlap):
    project = make(location, data=points(4), strategy="uncertainty_pairs", overlap=overlap, ready=40)
    project.refresh()
    people, answered = team(project), []
    for _ in range(40):
        for who in ("ann", "bob", "cid"):
            project.refresh() if not team_ask(project, who) else None
            reply = people(who).post("/api/ask", {"items": 3}).json()["questions"]
            for item in {question["item"] for question in reply}:
                of_item = [question for question in reply if question["item"] == item]
                asked = [label["name"] for question in of_item for label in question["labels"]]
                assert len(asked) == len(set(asked))
                values = {name: (who, name) in {("ann", "left"), ("bob", "left"), ("cid", "low")} for name in NAMES}
                sent = {"lease": of_item[0]["lease"], "values": values}
                assert people(who).post("/api/answer_item", sent).status_code == 200
                answered.append((item, who))
    assert len(answered) == len(set(answered)) == 4 * overlap  # one answer of each person
    votes: dict[tuple[str, str], list[bool]] = {}
    for event in project.events():
        for name, value in event.values.items():
            votes.setdefault((event.item, name), []).append(bool(value))
    assert {len(said) for said in votes.values()} == {overlap}
    majority = {
        key: said[-1] if 2 * sum(said) == len(said) else 2 * sum(said) > len(said) for key, said in votes.items()
    }
    assert known(project) == majority
    assert verify(location).state == "sound"


# -- blind -------------------------------------------------------------------------------------------------------------

SEARCHES = (
    "/browse",
    "/browse?label=left&said=yes",
    "/browse?label=left&said=no",
    "/browse?label=left&said=open",
    "/browse?show=unanswered",
    "/browse?show=uncertain",
    "/browse?show=disputed",
    "/browse?who=bob",
    *(f"/browse/item?name=p{i}" for i in range(3)),
)


def plain(text: str) -> str:
    """A page without what differs between two servers: tokens, leases, times, names of files."""
    text = re.sub(r"[0-9a-f]{16,}", "", text)
    text = re.sub(r"made-\d+", "", text)
    return re.sub(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?|\"expires_at\":[0-9.]+", "", text)


@pytest.mark.parametrize("strategy", ["uncertainty", "uncertainty_pairs"])
@pytest.mark.parametrize("trained", rest_slow([True, False]))
@pytest.mark.parametrize("settle", rest_slow([True, False]))
@pytest.mark.slow
def test_an_annotator_cannot_tell_what_others_said(make, strategy, settle, trained):
    """Two projects that differ only in what others said look the same to who has not answered."""
    seen = []
    for value in (True, False):
        project = make(data=points(9), strategy=strategy, overlap=2, ready=60, model="label_gp")
        if trained:  # on the same answers in both
            project.tell([Answer(f"p{i}", {n: (i + j) % 2 == 0 for j, n in enumerate(NAMES)}) for i in range(3, 8)])
        project.refresh()
        people = team(project)
        people("eve"), people("bob")
        project.tell([Answer(f"p{i}", dict.fromkeys(NAMES, value)) for i in range(3)], who="bob")
        if settle:
            project.service.settle(Answer("p1", {"left": value}), "eve")
        ann = people("ann")
        pages = [plain(ann.get(path).text) for path in SEARCHES]
        pages.append(plain(ann.post("/api/ask", {"items": 10}).text))
        seen.append(pages)
    for path, yes, no in zip((*SEARCHES, "/api/ask"), *seen, strict=True):
        assert yes == no, path


@pytest.mark.parametrize("strategy", ["uncertainty", "uncertainty_pairs"])
def test_beliefs_that_follow_from_others_are_hidden(make, strategy):
    project = make(data=points(12), strategy=strategy, overlap=2, ready=60, model="label_gp")
    people = team(project)
    project.tell([Answer(f"p{i}", {n: (i + j) % 2 == 0 for j, n in enumerate(NAMES)}) for i in range(6)], who="bob")
    project.refresh()
    asked = people("ann").post("/api/ask", {"items": 10}).json()["questions"]
    told = [
        label["p"]
        for question in asked
        if question["item"] in {f"p{i}" for i in range(6)}
        for label in question["labels"]
    ]
    assert set(told) <= {None}
    for path in ("/browse/item?name=p1", "/browse/item?name=p5"):
        rows = re.findall(r'<td class="number">(.*?)</td>', people("ann").get(path).text, re.DOTALL)
        assert [row.strip() for row in rows] == [""] * len(NAMES)
        assert "answers are hidden" in people("ann").get(path).text
    assert "answers are hidden" not in people("eve").get("/browse/item?name=p1").text
    assert "bob" in people("eve").get("/browse/item?name=p1").text


def test_who_has_answered_sees_the_others_and_skipping_opens_nothing(make):
    project = make(data=points(2), overlap=2)
    project.refresh()
    people = team(project)
    project.tell([Answer(f"p{i}", dict.fromkeys(NAMES, True)) for i in range(2)], who="bob")
    ann = people("ann")
    first, second = ann.post("/api/ask", {"items": 2}).json()["questions"]
    ann.post("/api/skip", {"lease": first["lease"]})
    ann.post("/api/answer", {"lease": second["lease"], "values": dict.fromkeys(NAMES, False)})
    assert "bob" not in ann.get("/browse/item", params={"name": first["item"]}).text
    assert "bob" in ann.get("/browse/item", params={"name": second["item"]}).text
    event = project.events()[-1].id
    assert ann.post("/api/undo", {"event": event}).status_code == 200


def test_without_overlap_nothing_is_hidden(make):
    project = make(data=points(2), overlap=1)
    project.tell(Answer("p0", {"left": True}), who="bob")
    assert "bob" in team(project)("ann").get("/browse/item?name=p0").text


def test_only_admins_settle(make, location):
    project = make(location, data=points(2))
    project.tell(Answer("p0", {"left": False}), who="bob")
    project.tell(Answer("p0", {"left": False}), who="cid")
    people = team(project)
    page = people("eve").get("/browse/item?name=p0").text
    assert re.search(r'name="settle', page), "an admin has a way to settle"
    assert not re.search(r'name="settle', people("ann").get("/browse/item?name=p0").text)


# -- strangers ---------------------------------------------------------------------------------------------------------

POSTS = (
    "/enter",
    "/leave",
    "/browse/item",
    "/vocabulary",
    *(f"/api/{name}" for name in ("ask", "answer", "answer_item", "skip", "skip_item", "undo", "renew")),
    *(f"/label-studio/{name}" for name in ("setup", "predict", "webhook")),
)


def send(site: Any, path: str, headers: list[tuple[bytes, bytes]], method: str = "POST") -> tuple[int, int]:
    """Offer a body without an end: the status, and how many bytes were taken."""
    replies: list[Any] = []
    taken = [0]

    async def receive() -> Any:
        taken[0] += 4096
        assert taken[0] < 2**21, "far more than a form is read"
        return {"type": "http.request", "body": b"a" * 4096, "more_body": True}

    async def reply(message: Any) -> None:
        replies.append(message)

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "scheme": "http",
        "root_path": "",
        "client": ("10.9.9.9", 4000),
        "server": ("127.0.0.1", 8000),
        "headers": [(b"host", b"127.0.0.1:8000"), *headers],
    }
    asyncio.run(site(scope, receive, reply))
    return replies[0]["status"], taken[0]


@pytest.mark.parametrize("path", POSTS)
@pytest.mark.parametrize("method", rest_slow(["POST", "PUT", "GET"]))
def test_a_large_body_of_a_stranger_is_not_read(project, path, method):
    project.people.add("ann")
    site = create_app(project)
    before = count(project)
    for kind in (b"application/json", b"application/x-www-form-urlencoded", b"multipart/form-data; boundary=b"):
        status, taken = send(site, path, [(b"content-length", b"500000000"), (b"content-type", kind)], method)
        assert taken == 0 and (400 <= status < 500 or status == 303 or (method == "GET" and status == 200))
        status, taken = send(site, path, [(b"transfer-encoding", b"chunked"), (b"content-type", kind)], method)
        assert taken <= (5 * 4096 if path == "/enter" else 0)
        assert 400 <= status < 500 or status == 303 or (method == "GET" and status == 200)
    assert count(project) == before


def test_bodies_of_those_who_are_signed_in_have_limits_too(project):
    ann = team(project)("ann")
    ask = ann.ask()
    big = {"give_back": ["a" * 64] * 100, "have": [], "items": 1}
    assert ann.post("/api/ask", big).status_code == 200
    text = b'{"items": 1' + b" " * (2**20 + 1000) + b"}"
    headers = {"x-csrf-token": ann.csrf, "content-type": "application/json"}
    assert ann.client.post("/api/ask", content=text, headers=headers).status_code == 413
    answer = b'{"lease": "%s", "values": {"left": true}' % ask["lease"].encode() + b" " * (2**20 + 1000) + b"}"
    assert ann.client.post("/api/answer", content=answer, headers=headers).status_code == 200
    answer = answer[:-1] + b" " * (8 * 2**20) + b"}"
    assert ann.client.post("/api/answer", content=answer, headers=headers).status_code == 413


@pytest.mark.slow
def test_wrong_secrets_do_not_lock_out_right_ones(project):
    link, token = project.people.add("ann"), project.people.add_token("label-studio")
    site = create_app(project)
    stranger = Person(site)
    links = [stranger.client.post("/enter", data={"secret": f"wrong-{n}"}).status_code for n in range(40)]
    wrong = [
        stranger.get("/label-studio/health", headers={"authorization": f"Token wrong{n}"}).status_code
        for n in range(40)
    ]
    assert links[-1] == 429 and wrong[-1] == 429 and 429 not in links[:9] and 429 not in wrong[:9]
    assert stranger.get("/label-studio/health", headers={"authorization": f"Token {token}"}).status_code == 200
    ann = Person(site)  # the same address
    assert ann.enter(link).status_code == 200 and ann.csrf
    assert ann.get("/api/session").json()["who"] == "ann"
    assert Person(site).enter(link).status_code != 200 or not Person(site).csrf  # good once


@pytest.mark.slow
def test_looking_at_addresses_writes_no_session(project):
    link = project.people.add("ann")
    site = create_app(project)
    before = count(project)
    stranger = Person(site)
    paths = ["/", "/enter", f"/enter/{link}", "/enter/wrong", "/local/wrong", "/label", "/browse", "/progress"]
    for path in [*paths, "/vocabulary", "/help", "/api/session", "/api/status", "/label-studio/health", "/leave"]:
        for method in ("GET", "HEAD"):
            for _ in range(2):
                reply = stranger.client.request(method, path, follow_redirects=False)
                assert "set-cookie" not in reply.headers and reply.status_code < 500
    assert count(project) == before
    ann = Person(site)
    ann.enter(link)  # the preview did not use it up
    assert ann.csrf and count(project)["sessions"] == before["sessions"] + 1
    for path in ("/label", "/browse", "/progress", "/vocabulary", "/help", "/api/session", "/api/status"):
        assert ann.get(path).status_code == 200
    assert count(project)["sessions"] == before["sessions"] + 1


def test_the_address_of_one_who_works_alone_begins_no_session_by_looking(project):
    site = create_app(project, local_user="me")
    secret = site.state.site.local_secret
    before = count(project)
    stranger = Person(site)
    for _ in range(3):
        page = stranger.client.get(f"/local/{secret}", follow_redirects=False)
        assert page.status_code in (200, 303) and "set-cookie" not in page.headers
    assert stranger.client.get("/api/session").status_code == 401
    assert count(project) == before
    stranger.enter()
    assert count(project)["sessions"] == before["sessions"] + 1


@pytest.mark.parametrize("number", rest_slow([2**31, 2**63, -1, 2**31 - 1, 2**40, 2**62, 2**80, 0], 3))
def test_an_undo_of_any_number_is_refused_in_plain_words(make, location, number):
    project = make(location, data=points(2))
    project.refresh()
    reply = team(project)("ann").post("/api/undo", {"event": number})
    assert 400 <= reply.status_code < 500
    assert not re.search("psycopg|sqlite|postgres|SELECT|int8", reply.text)
