"""The order of letters is the database's own affair: nothing that a project says depends on it."""

from __future__ import annotations

import random

import numpy as np

from labelwise import Answer, LabelData
from labelwise.labelling import Project
from labelwise.labelling.figures.status import status_of
from labelwise.labelling.store.browsing import answers_by_day, find_items
from labelwise.labelling.store.engine import begins_with
from labelwise.labelling.store.events import NewEvent, add_event, read_given_answers
from labelwise.labelling.store.schema import events
from labelwise.labelling.web.ml_backend import handle_webhook

PEOPLE = ("zoe", "Bob", "ann", "_x", "Éva", "eva", "ann b", "annb", "Ann", "a-b", "ab", "A b")


def annotation(at: str, choices: tuple[str, ...], number: object = 5) -> dict:
    result = [{"from_name": "labels", "to_name": "text", "type": "choices", "value": {"choices": list(choices)}}]
    said = {"id": number, "completed_by": 3, "created_at": at, "updated_at": at, "result": result}
    task = {"id": 1, "data": {"text": "point 3"}}
    return {"action": "ANNOTATION_UPDATED", "annotation": said, "task": task, "project": {"id": 1}}


def deleted(number: object = 5) -> dict:
    return {"action": "ANNOTATIONS_DELETED", "annotations": [{"id": number}], "project": {"id": 1}}


def standing(project: Project) -> list[dict[str, bool | None]]:
    """The answers to an item that were not taken back."""
    undone = {event.undoes for event in project.events()}
    return [dict(event.values) for event in project.events() if event.kind == "answer" and event.id not in undone]


def test_a_webhook_is_filed_under_its_annotation(make, everywhere):
    project = make(everywhere)
    first = handle_webhook(project, annotation("2024-05-01T10:01:00Z", ("left",)))
    assert handle_webhook(project, annotation("2024-05-01T10:01:00Z", ("left",))) == {**first, "repeated": True}
    handle_webhook(project, annotation("2024-05-01T10:02:00Z", ("low",)))
    assert "later state" in handle_webhook(project, annotation("2024-05-01T10:00:00Z", ("far",)))["ignored"]
    assert standing(project) == [{"left": False, "low": True, "far": False}]
    assert handle_webhook(project, deleted()) == {"taken_back": 1}
    assert handle_webhook(project, deleted()) == {"taken_back": 0}
    assert standing(project) == []


def test_a_beginning_is_compared_letter_by_letter(make, everywhere):
    leases = [
        *("a:1:5:", "a:1:5:1", "a:1:50:", "a:1:5;", "A:1:5:1", "a:1:4:9", "a_1:5", "a%1:5", "a*1", "a?1", "a[1]x"),
        *("a[2", "a\\1", "éa", "e\u0301a", "ea", "Éa", "a/1", "axx", "a1", "a-1:5", ""),
    ]
    project = make(everywhere)
    with project.store.writing() as connection:
        for lease in leases:
            add_event(connection, NewEvent(1.0, "ann", 1, "skip", lease=lease))
    with project.store.reading() as connection:
        for prefix in ("a:1:5:", "a_1", "a%", "a*", "a?", "a[1]", "a[", "a\\", "A:1", "é", "a/"):
            mine = events.select().where(begins_with(connection, events.c.lease, prefix)).order_by(events.c.id)
            found = [row.lease for row in connection.execute(mine)]
            assert found == [lease for lease in leases if lease.startswith(prefix)], prefix


def test_people_are_listed_in_one_order(make, everywhere):
    project = make(everywhere)
    for who in random.Random(0).sample(PEOPLE, len(PEOPLE)):
        project.tell(Answer("p0", {"left": True}), who=who)
        project.tell(Answer("p1", {"left": True, "low": False}), who=who)
        project.people.add(who)
    with project.store.reading() as connection:
        by_day, given = answers_by_day(connection), read_given_answers(connection)
    assert [who for _, who, _ in by_day] == sorted(PEOPLE)
    assert [row.who for row in given] == sorted(row.who for row in given) and len(given) == 3 * len(PEOPLE)
    for who in PEOPLE:
        assert [row.event for row in given if row.who == who] == sorted(row.event for row in given if row.who == who)
    assert [user.name for user in project.people.all()] == sorted(PEOPLE)
    assert list(status_of(project).by_person) == sorted(PEOPLE)
    assert set(status_of(project).as_dict()["people"]) == set(PEOPLE)


def test_names_that_sort_alike_are_different_items_and_people(make, everywhere):
    names = ["straße", "strasse", "STRASSE", "é", "e\u0301", "e", "co-op", "coop", "a b", "ab", "\u200bab"]
    data = LabelData.from_arrays(
        np.zeros((len(names), 1)), label_names=["left", "Left", "lëft"], item_ids=names, items=names
    )
    project = make(everywhere, data)
    assert project.item_names() == set(names)
    for number, name in enumerate(names):
        project.tell(Answer(name, {"Left": number % 2 == 0}), who=name if name.isprintable() else "zero")
    assert {event.item: event.values["Left"] for event in project.events()} == {
        name: number % 2 == 0 for number, name in enumerate(names)
    }


def test_a_search_finds_the_same(make, everywhere):
    expected = {"ÉTÉ": [1, 2], "été": [1, 2], "Ete": [3], "100%": [4], "a_b": [5], "co-op": [7], "WORLD": [6]}
    texts = ["un été", "UN ÉTÉ", "un ete", "100% of it", "x a_b y", "hello World", "the Co-op", "1000 axb coop"]
    data = LabelData.from_arrays(
        np.zeros((8, 1)), label_names=["left"], item_ids=[f"t{i}" for i in range(8)], items=texts
    )
    with make(everywhere, data).store.reading() as connection:
        assert {word: find_items(connection, [word]).tolist() for word in expected} == expected


def test_what_was_moved_with_a_label_is_nobodys_answer(make, everywhere):
    project = make(everywhere)
    project.tell(Answer("p0", {"left": True}), who="ann")
    project.merge_labels("left", "low")
    with project.store.reading() as connection:
        assert [row.who for row in read_given_answers(connection)] == ["ann"]
    assert len(project.events()) == 2
