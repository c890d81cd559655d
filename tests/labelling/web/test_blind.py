"""A second opinion is given blind: others' answers are hidden before one has given one's own."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlencode

import numpy as np
import pytest

from labelling.web.site_client import Person
from labelwise import Answer, LabelData
from labelwise.labelling import Project
from labelwise.labelling.items.browse import Browser, ItemSearch
from labelwise.labelling.texts import ENGLISH
from labelwise.labelling.web.server import create_app

LABELS = ("left", "low", "far")
SAID = {"left": True, "low": False, "far": True}
ESCAPED = str(ENGLISH("browse.others_hidden"))


@pytest.fixture(params=["uncertainty", "uncertainty_pairs"])
def project(request, make) -> Project:
    """Bob said something of four items, two people shall answer each question; trained."""
    X = np.random.default_rng(0).standard_normal((12, 2))
    data = LabelData.from_arrays(X, label_names=LABELS, item_ids=[f"p{i}" for i in range(12)])
    made = make(data=data, overlap=2, strategy=request.param, model="label_gp")
    made.tell([Answer(f"p{i}", SAID) for i in range(4)], who="bob")
    made.refresh()
    return made


@pytest.fixture
def team(project) -> Callable[[str], Person]:
    app = create_app(project)
    people = {}
    for name, role in (("ann", "annotator"), ("bob", "annotator"), ("adm", "admin")):
        people[name] = Person(app)
        people[name].enter(project.people.add(name, role))
    return people.__getitem__


def item_page(person: Person, name: str) -> str:
    answer = person.get("/browse/item", params={"name": name})
    assert answer.status_code == 200
    return answer.text.partition("</head>")[2]  # its head has all texts that scripts may show


def found(person: Person, **search: str) -> list[str]:
    page = person.get(f"/browse?{urlencode(search)}")
    assert page.status_code == 200
    return re.findall(r'<h2[^>]*><a href="[^"]*">([^<]*)</a></h2>', page.text)


def table_of(page: str) -> str:
    return page[page.index('<tbody id="label-rows">') :]


def test_who_has_not_answered_sees_neither_votes_nor_what_follows_from_them(team):
    page = item_page(team("ann"), "p1")
    assert ESCAPED in page
    assert "bob" not in page and "answered" not in page.replace(ESCAPED, "")
    assert 'class="said' not in page and " %" not in table_of(page), "nothing known, nothing believed"
    listed = team("ann").get("/browse").text
    cards = dict(
        re.findall(
            r'<h2[^>]*><a href="[^"]*">(p\d+)</a></h2>(.*?)</li>\s*(?=<li class="card">|</ul>\s*$|</ul>)', listed, re.S
        )
    )
    assert ESCAPED in cards["p1"] and "answered by" not in cards["p1"] and "0 of 3 labels known" in cards["p1"]
    assert "chip" not in cards["p1"].replace("chips", "") and "bits" not in cards["p1"]
    assert ESCAPED not in cards["p7"]


def test_an_admin_and_who_has_answered_see_them(team):
    for name in ("adm", "bob"):
        page = item_page(team(name), "p1")
        assert ESCAPED not in page and '<span class="vote">bob' in page and "answered" in page
        assert {"p0", "p1", "p2", "p3"} == set(found(team(name), label="left", said="yes"))


def test_ones_own_answer_opens_what_others_said_of_that_label(team):
    ann = team("ann")
    done = ann.client.post("/browse/item", data={"name": "p1", "no": "left", "csrf": ann.csrf})
    assert done.status_code == 200
    rows = re.findall(r'<th scope="row"[^>]*>(\w+)</th>.*?<td class="people">(.*?)</td>', done.text, re.S)
    people = dict(rows)
    assert "bob" in people["left"] and "bob" not in people["low"] + people["far"]
    assert ESCAPED in done.text and "far <span" not in done.text, "the history, too"
    assert found(ann, label="left", said="any") == ["p1"] and found(ann, label="far", said="any") == []


@pytest.mark.parametrize(
    "search",
    [
        {"label": "left", "said": "yes"},
        {"label": "low", "said": "no"},
        {"label": "left"},
        {"who": "bob"},
        {"who": "bob", "show": "unanswered"},
        {"show": "disagree"},
        {"show": "uncertain"},
    ],
)
def test_searches_do_not_give_them_away(team, search):
    assert not {"p0", "p1", "p2", "p3"} & set(found(team("ann"), **search))


def test_what_is_hidden_counts_as_open_and_unanswered(team):
    everything = [f"p{i}" for i in range(12)]
    assert found(team("ann"), label="left", said="open") == everything == found(team("ann"), show="unanswered")
    assert found(team("ann"), words="p1", show="unanswered") == ["p1", "p10", "p11"]
    assert found(team("adm"), show="unanswered") == everything[4:]


def test_the_question_for_a_second_opinion_comes_without_what_the_model_learnt_from_the_first(team, project):
    seconds = [
        question
        for question in team("ann").post("/api/ask", {"items": 10}).json()["questions"]
        if question["item"] in ("p0", "p1", "p2", "p3")
    ]
    assert seconds
    for question in seconds:
        assert [label["p"] for label in question["labels"]] == [None] * len(question["labels"])
        assert question["show"]["words"] == []
    new = [lease for lease in project.service.ask("adm", 100) if lease.question.item not in ("p0", "p1", "p2", "p3")]
    assert new and all(lease.beliefs for lease in new), "the first to answer is helped as ever"


def test_a_skip_opens_nothing(team, project):
    ann = team("ann")
    question = next(q for q in ann.post("/api/ask", {"items": 10}).json()["questions"] if q["item"] in ("p0", "p1"))
    assert ann.post("/api/skip", {"lease": question["lease"]}).status_code == 200
    assert ESCAPED in item_page(ann, question["item"])


def test_labels_that_came_with_the_items_are_nobodys_answers(make):
    Y = np.zeros((5, 3), dtype=bool)
    Y[:, 0] = True
    data = LabelData.from_arrays(
        np.eye(5), Y, observed=np.broadcast_to(np.array([True, False, False]), (5, 3)), label_names=LABELS
    )
    project = make(data=data, overlap=2)
    project.tell([Answer("1", {"low": True})], who="bob")
    page = Browser(project).item("1", viewer="ann")
    assert [(label.known, label.hidden) for label in page.labels] == [(True, False), (None, True), (None, False)]
    assert Browser(project).find(ItemSearch(label="left", said="yes"), viewer="ann").total == 5


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_only_questions_that_several_people_are_asked_are_hidden(make, share):
    project = make(overlap=2, overlap_share=share)
    project.tell([Answer(f"p{i}", SAID) for i in range(40)], who="bob")
    hides = {
        item.name: item.hides for page in (1, 2) for item in Browser(project).find(ItemSearch(), page, "ann").items
    }
    from labelwise.labelling.training.chance import copies

    assert hides == {f"p{i}": copies(project.settings, i + 1, 0) == 2 for i in range(40)}
    assert sum(hides.values()) in {0.0: [0], 1.0: [40]}.get(share, range(8, 33))


def test_without_overlap_everybody_sees_everything(make):
    project = make()
    project.tell([Answer("p1", SAID)], who="bob")
    assert not Browser(project).item("p1", viewer="ann").hides
    assert Browser(project).find(ItemSearch(who="bob"), viewer="ann").total == 1


def test_in_both_databases_the_same_is_hidden(make, location):
    project = make(location, overlap=2)
    project.tell([Answer("p1", SAID), Answer("p2", {"left": True})], who="bob")
    project.tell([Answer("p2", {"left": False})], who="ann")
    browser = Browser(project)
    assert [label.hidden for label in browser.item("p1", "ann").labels] == [True] * 3
    assert not browser.item("p2", "ann").hides and not browser.item("p1", "bob").hides
    assert [event.who for event in browser.item("p1", "ann").events] == []
    assert browser.find(ItemSearch(show="unanswered"), viewer="ann").total == 39
