"""The JSON interface: what goes out, what comes in, and that repeating oneself does no harm."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from labelling.web.site_client import Person
from labelwise import Answer
from labelwise.labelling.web.server import create_app

TESTS = Path(__file__).parents[2]
HERE = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), str(TESTS.parent / "src")])}
YES = {"left": True, "low": False, "far": None}


def test_a_question_has_its_item_its_labels_and_why_it_is_asked(alone):
    question = alone.ask()
    assert [label["name"] for label in question["labels"]] == ["left", "low", "far"]
    assert question["show"]["text"] == question["item"].replace("p", "point ")
    assert question["reason"] == "cold start" and "drawn at random" in question["why"]


def test_after_training_questions_have_probabilities_and_a_rank(alone, project):
    for _ in range(6):
        question = alone.ask()
        alone.post("/api/answer", {"lease": question["lease"], "values": {"left": True, "low": False, "far": False}})
    project.refresh()
    alone.post("/api/skip", {"lease": alone.ask()["lease"]})  # given before the training
    question = alone.ask()
    assert all(0 <= label["p"] <= 1 for label in question["labels"])
    assert question["why"].startswith("Asked because the model is unsure of its labels. No. ")


def test_what_the_model_believes_of_the_random_share_is_not_shown(make):
    project = make(control=0.99)
    project.tell(Answer("p0", YES), who="ann")
    project.refresh()
    person = Person(create_app(project, local_user="me"))
    person.enter()
    question = person.ask()
    assert project.ask(who="me")[0].beliefs  # they are there
    assert question["reason"] == "control" and [label["p"] for label in question["labels"]] == [None] * 3
    assert "Random share" in question["why"]


def test_an_answer_is_saved_and_the_next_question_given(alone, project):
    first = alone.post("/api/ask", {"items": 2}).json()
    lease = first["questions"][0]["lease"]
    have = [question["lease"] for question in first["questions"]]
    reply = alone.post("/api/answer", {"lease": lease, "values": YES, "items": 2, "have": have}).json()
    event = project.events()[-1]
    assert (event.id, event.who, dict(event.values)) == (reply["event"], "me", YES)
    assert len(reply["yours"]) == 2 and reply["yours"][0] == have[1]
    assert [question["lease"] for question in reply["questions"]] == reply["yours"][1:]  # the other one is known


def test_an_answer_sent_twice_is_saved_once(alone, project):
    lease = alone.ask()["lease"]
    replies = [alone.post("/api/answer", {"lease": lease, "values": YES}).json()["event"] for _ in range(2)]
    assert replies[0] == replies[1] and len(project.events()) == 1
    other = alone.post("/api/answer", {"lease": lease, "values": {"left": False}})
    assert other.status_code == 409 and len(project.events()) == 1


def test_a_skip_sent_twice_is_one_skip(alone, project):
    lease = alone.ask()["lease"]
    assert {alone.post("/api/skip", {"lease": lease}).json()["event"] for _ in range(2)} == {1}
    assert [event.kind for event in project.events()] == ["skip"]


def test_an_undo_sent_twice_takes_back_one_answer(alone, project):
    events = []
    for _ in range(2):
        question = alone.ask()
        events.append(alone.post("/api/answer", {"lease": question["lease"], "values": YES}).json()["event"])
    again = [alone.post("/api/undo", {"event": events[1]}).json() for _ in range(2)]
    assert again[0] == again[1] and again[0]["item"] == question["item"]
    assert [event.kind for event in project.events()] == ["answer", "answer", "undo"]
    assert alone.post("/api/undo", {"event": events[0]}).status_code == 200  # now it is the last
    alone.post("/api/answer", {"lease": again[0]["lease"], "values": YES})
    assert alone.post("/api/undo", {"event": events[1]}).status_code == 409  # answered again since


def test_undo_needs_something_to_take_back(alone):
    assert alone.post("/api/undo").status_code == 400


def test_a_lease_is_renewed(alone, project):
    question = alone.ask()
    project.service._clock = lambda: question["expires_at"] - 1
    assert alone.post("/api/renew", {"lease": question["lease"]}).json()["expires_at"] > question["expires_at"]


@pytest.mark.parametrize(
    "body",
    [
        {"lease": "ab", "values": {}},
        {"lease": "ab", "values": {"left": 3}},
        {"lease": "../x", "values": {"left": True}},
        {"values": {"left": True}},
        {"lease": "ab", "values": {"left": True}, "who": "bob"},
        {"lease": "ab", "values": {"\ud800": True}},  # half a character
    ],
)
def test_a_wrong_body_is_told_and_saves_nothing(alone, project, body):
    headers = {"x-csrf-token": alone.csrf, "content-type": "application/json"}
    reply = alone.client.post("/api/answer", content=json.dumps(body), headers=headers)
    assert reply.status_code == 422 and reply.json()["detail"][0]["loc"][0] == "body"
    assert project.events() == []


def test_status_and_session(alone, project):
    alone.post("/api/answer", {"lease": alone.ask()["lease"], "values": YES})
    status = alone.get("/api/status").json()
    assert (status["answers"], status["items"], status["people"]) == (1, 40, {"me": 1})
    assert alone.get("/api/session").json()["who"] == "me"


def test_pairs_about_one_item_come_together_and_are_answered_one_by_one(make, pool):
    project = make(strategy="uncertainty_pairs", ready=60)
    for item in range(8):
        project.tell(Answer(f"p{item}", {"left": bool(item % 2), "low": False, "far": True}), who="ann")
    project.refresh()
    person = Person(create_app(project, local_user="me"))
    person.enter()
    asked = person.post("/api/ask").json()["questions"]
    assert len({question["item"] for question in asked}) == 1 < len(asked)
    assert all(len(question["labels"]) == 1 for question in asked)
    (label,) = asked[0]["labels"]
    reply = person.post("/api/answer", {"lease": asked[0]["lease"], "values": {label["name"]: True}}).json()
    assert reply["yours"] == [question["lease"] for question in asked[1:]]


def test_all_labels_of_an_item_come_once_and_are_answered_in_one_request(make):
    project = make(strategy="uncertainty_pairs", start=2, ready=60)
    project.refresh()
    person = Person(create_app(project, local_user="me"))
    person.enter()
    reply = person.post("/api/ask", {"items": 2}).json()["questions"]
    asked = [question for question in reply if question["item"] == reply[0]["item"]]
    assert [len(question["labels"]) for question in asked] == [1, 1, 1]
    every = [{"name": name, "p": None, "why": None} for name in ("left", "low", "far")]
    assert [question["whole"] for question in asked] == [every, [], []]
    have = [question["lease"] for question in reply]
    sent = {"lease": have[0], "values": YES, "items": 2, "have": have}
    replies = [person.post("/api/answer_item", sent).json() for _ in range(2)]
    assert replies[0]["event"] == replies[1]["event"] and len(project.events()) == 1
    assert not set(replies[0]["yours"]) & {question["lease"] for question in asked}
    again = person.post("/api/undo").json()
    assert [label["name"] for label in again["labels"]] == ["left", "low", "far"] and again["whole"] is None
    other = person.post("/api/answer_item", {**sent, "values": {"left": False}})
    assert other.status_code == 409 and "answered or skipped already" in other.json()["detail"]
    assert person.post("/api/skip_item", {"lease": again["lease"]}).json()["event"] == project.events()[-1].id


def test_where_whole_items_are_asked_their_labels_come_once(alone):
    assert alone.ask()["whole"] is None


def test_the_beliefs_of_a_whole_item_come_with_its_first_question(make):
    project = make(strategy="uncertainty_pairs", ready=60)
    project.tell([Answer(f"p{i}", {"left": bool(i % 2), "low": False, "far": True}) for i in range(8)], who="ann")
    project.refresh()
    person = Person(create_app(project, local_user="me"))
    person.enter()
    question = person.ask()
    assert [label["name"] for label in question["whole"]] == ["left", "low", "far"]
    assert all(0 <= label["p"] <= 1 for label in question["whole"])
    (asked,) = question["labels"]
    assert asked in question["whole"]


def test_a_lease_given_back_is_gone_and_another_question_comes(alone, project):
    lease = alone.ask()["lease"]
    reply = alone.post("/api/ask", {"give_back": [lease, "ab"]}).json()
    assert lease not in reply["yours"] and len(reply["yours"]) == 1 and project.events() == []


def test_items_of_the_start_are_told_from_those_of_the_strategy(make):
    project = make(strategy="balanced_pairs", start=2)
    project.refresh()
    person = Person(create_app(project, local_user="me"))
    person.enter()
    question = person.ask()
    assert question["reason"] == "start" and question["why"].startswith("Start: one of the random items")


def test_words_that_told_come_with_texts(make, pool):
    texts = ["late parcel", "late order", "nice bike", "nice bell"] * 5
    data = type(pool).from_arrays(
        np.zeros((20, 1)), label_names=["delay", "praise"], item_ids=[f"t{i}" for i in range(20)], items=texts
    )
    project = make(data=data, text="")
    for item in range(8):
        late = item % 4 < 2
        project.tell(Answer(f"t{item}", {"delay": late, "praise": not late}), who="ann")
    project.refresh()
    person = Person(create_app(project, local_user="me"))
    person.enter()
    for question in person.post("/api/ask", {"items": 6}).json()["questions"]:
        weight = {(word, label): value for word, label, value in question["show"]["words"]}
        key = ("late", "delay") if "late" in question["show"]["text"] else ("nice", "praise")
        assert weight[key] > 0 > weight[key[0], "praise" if key[1] == "delay" else "delay"]


def test_no_request_loads_anything_to_train_with(tmp_path, project):
    code = (
        "import sys; from labelling.web.site_client import Person\n"
        "from labelwise.labelling.served import ServedProject; from labelwise.labelling.web.server import create_app\n"
        f"person = Person(create_app(ServedProject({project.store.location!r}), local_user='me')); person.enter()\n"
        "question = person.ask()\n"
        "values = {label['name']: True for label in question['labels']}\n"
        "replies = [person.post('/api/answer', {'lease': question['lease'], 'values': values}),\n"
        "           person.post('/api/undo'), person.post('/api/renew', {'lease': 'ab'}), person.get('/label')]\n"
        "print([reply.status_code for reply in replies])\n"
        "print([name for name in ('sklearn', 'numba', 'labelwise.campaign') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, env=HERE)
    assert done.stdout.split("\n")[:2] == ["[200, 200, 409, 200]", "[]"], done.stderr


@pytest.mark.parametrize("seconds", [12.0, -3.0, 1e300])
def test_no_time_keeps_an_answer_from_being_saved(alone, project, seconds):
    body = {"lease": alone.ask()["lease"], "values": YES, "timing": {"seconds": seconds, "by_key": -2, "by_search": 1}}
    assert alone.post("/api/answer", body).status_code == 200
    kept = project.events()[-1].timing
    if seconds < 0:
        assert kept is None
    else:  # at most the age of the question
        assert 0 <= kept.seconds < 10 and (kept.question, kept.by_key, kept.by_search) == ("item", 0, 1)
    refused = alone.post("/api/answer", {**body, "timing": {"seconds": 1, "question": "essay"}})
    assert refused.status_code == 422


def test_how_long_others_take_is_for_admins(project, sign_in):
    people = {who: sign_in(who, role) for who, role in (("ann", "annotator"), ("bob", "annotator"), ("eve", "admin"))}
    for who in ("ann", "bob"):
        body = {"lease": people[who].ask()["lease"], "values": YES, "timing": {"seconds": 0.0001}}
        assert people[who].post("/api/answer", body).status_code == 200
    times = {who: {each["who"] for each in person.get("/api/status").json()["times"]} for who, person in people.items()}
    assert times == {"ann": {"ann"}, "bob": {"bob"}, "eve": {"ann", "bob"}}
    pages = {who: person.get("/progress").text.partition("<h2>Time</h2>")[2] for who, person in people.items()}
    table = {who: page.partition("</table>")[0] for who, page in pages.items()}
    assert "ann" in table["ann"] and "bob" not in table["ann"] and "bob" in table["eve"]


def test_labels_come_with_what_they_mean_and_how_common_they_are(alone, project):
    project.describe_labels([{"name": "low", "description": "Below.", "aliases": ["deep"]}])
    project.tell([Answer(f"p{i}", {"left": True, "low": i > 0}) for i in range(3)], who="ann")
    project.refresh()
    found = {each["name"]: each for each in alone.get("/api/labels").json()}
    assert {name: each["items"] for name, each in found.items()} == {"left": 3, "low": 2, "far": 0}
    assert (found["low"]["description"], found["low"]["aliases"], found["far"]["description"]) == (
        "Below.",
        ["deep"],
        "",
    )
