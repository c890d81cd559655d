"""Answers about whole items where single labels are asked about: one event, one undo, nothing asked twice."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest

from labelwise import Answer, LabelData
from labelwise.labelling import AnswerRefused, ProjectError
from labelwise.labelling.safety.verify import verify
from labelwise.labelling.store.questions import (
    Ready,
    StoredLease,
    count_ready,
    find_lease,
    trim_plan,
    withdraw,
    write_plan,
)
from labelwise.labelling.store.schema import leases
from labelwise.labelling.store.trainings import begin_training, end_training

NAMES = tuple(f"label {j}" for j in range(12))
ALL_NO = dict.fromkeys(NAMES, False)


@pytest.fixture
def pairs(make, location):
    """A project that asks about single labels, several of each item."""

    def make_pairs(**settings):
        X = np.random.default_rng(0).standard_normal((6, 2))
        data = LabelData.from_arrays(X, label_names=NAMES, item_ids=[f"p{i}" for i in range(6)])
        options = {"strategy": "uncertainty_pairs", "start": 4, "ready": 60, **settings}
        project = make(location, data=data, **options)
        project.refresh()
        return project

    return make_pairs


def answers(project) -> list:
    undone = {event.undoes for event in project.events()}
    return [event for event in project.events() if event.kind == "answer" and event.id not in undone]


def of_one_item(leases) -> list:
    return [lease for lease in leases if lease.question.item == leases[0].question.item]


def asked_of(project, who: str, item: str) -> set[str]:
    """The labels of an item that a person would be asked about now."""
    leases = project.service.ask_about_items(who, 6)
    project.service.give_back([lease.token for lease in leases], who)
    return {name for lease in leases if lease.question.item == item for name in lease.question.labels}


def find(project, token: str) -> StoredLease:
    with project.store.reading() as connection:
        held = find_lease(connection, token)
    assert held is not None
    return held


def test_an_answer_about_the_item_is_one_event_and_ends_all_leases_on_it(pairs):
    project = pairs()
    leases = of_one_item(project.service.ask_about_items("ann", 2))
    item = leases[0].question.item
    assert len(leases) > 3
    values = {**ALL_NO, "label 3": True, "label 9": None}
    receipt, following = project.service.answer_item_and_ask_about_items(leases[1].token, values, "ann", 2)
    (event,) = project.events()
    assert (event.id, event.item, event.asked, dict(event.values)) == (receipt.event, item, None, values)
    assert item not in {lease.question.item for lease in following}
    project.refresh()
    assert item not in {lease.question.item for lease in project.service.ask_about_items("ann", 6)}


def test_sent_twice_it_is_saved_once_and_with_other_values_refused(pairs):
    project = pairs()
    token = project.service.ask("ann")[0].token
    receipts = {project.service.answer_item(token, ALL_NO, "ann").event for _ in range(3)}
    assert len(receipts) == len(project.events()) == 1
    for other in ({**ALL_NO, "label 1": True}, {"label 1": False}):
        with pytest.raises(AnswerRefused, match="answered or skipped already"):
            project.service.answer_item(token, other, "ann")
    with pytest.raises(AnswerRefused, match="no question with the lease"):
        project.service.answer_item(token, ALL_NO, "bob")


def test_it_is_taken_back_as_one_and_asked_again_as_a_whole(pairs):
    project = pairs()
    lease = project.service.ask_about_items("ann", 1)[0]
    event = project.service.answer_item(lease.token, ALL_NO, "ann").event
    again = [project.service.undo("ann", event) for _ in range(2)]
    assert again[0].token == again[1].token
    assert (again[0].question.item, again[0].question.labels) == (lease.question.item, NAMES)
    assert answers(project) == []
    project.service.answer_item(again[0].token, {**ALL_NO, "label 0": True}, "ann")
    assert [event.values["label 0"] for event in answers(project)] == [True]


def test_labels_said_are_not_asked_of_anybody_else_and_labels_left_open_are(pairs):
    project = pairs()
    mine = of_one_item(project.service.ask_about_items("ann", 1))
    item, left, said = mine[0].question.item, mine[0].question.labels[0], mine[1].question.labels[0]
    project.service.answer_item(mine[1].token, {said: True}, "ann")
    project.service.give_back([lease.token for lease in project.service.ask("ann", 100)], "ann")
    assert left not in asked_of(project, "ann", item)
    assert left in asked_of(project, "bob", item) and said not in asked_of(project, "bob", item)


def test_with_an_overlap_another_person_is_still_asked_and_the_same_one_is_not(pairs):
    project = pairs(overlap=2)
    lease = project.service.ask("ann")[0]
    item = lease.question.item
    project.service.answer_item(lease.token, ALL_NO, "ann")
    asked = {who: {each.question.item for each in project.service.ask(who, 60)} for who in ("ann", "bob")}
    assert item not in asked["ann"] and item in asked["bob"]


def test_a_label_added_to_an_answer_leaves_the_other_questions_open(pairs):
    project = pairs()
    mine = of_one_item(project.service.ask_about_items("ann", 1))
    first, second = (lease.question.labels[0] for lease in mine[:2])
    project.tell(Answer("p5" if mine[0].question.item != "p5" else "p4", {"label 0": True}), who="bob")
    said = {first: False, second: True}
    project.service.answer_item(mine[0].token, said, "ann", whole=False)
    assert [(event.asked, dict(event.values)) for event in answers(project)[1:]] == [(first, said)]
    held = {lease.token for lease in project.service.ask("ann", 100)}
    assert {lease.token for lease in mine[2:]} <= held and not {lease.token for lease in mine[:2]} & held


def test_labels_that_somebody_picks_are_no_part_of_the_random_share(pairs):
    project = pairs(control=0.99, start=0)
    reasons = {}
    for values in ({"label 0": True, "label 1": True}, ALL_NO):
        lease = project.service.ask("ann")[0]
        assert lease.question.reason == "control"
        project.service.answer_item(lease.token, {lease.question.labels[0]: False, **values}, "ann")
        reasons[len(values)] = answers(project)[-1].reason
    assert reasons == {2: "told", len(NAMES): "control"}


def test_what_one_said_before_is_neither_overwritten_nor_said_twice(pairs):
    project = pairs()
    lease = project.service.ask("ann")[0]
    item, asked = lease.question.item, lease.question.labels[0]
    other = next(name for name in NAMES if name != asked)
    project.tell(Answer(item, {other: True, **{n: True for n in NAMES if n not in (asked, other)}}), who="ann")
    token = next(each.token for each in project.service.ask("ann", 100) if each.question.item == item)
    with pytest.raises(AnswerRefused, match=r"another answer to .* meanwhile; nothing was saved"):
        project.service.answer_item(token, ALL_NO, "ann")
    before = len(project.events())
    with pytest.raises(AnswerRefused, match="said all of this"):
        project.service.answer_item(token, {other: True}, "ann")
    assert len(project.events()) == before
    receipt = project.service.answer_item(token, {asked: False, other: True}, "ann")
    assert dict(answers(project)[-1].values) == {asked: False}
    assert project.service.answer_item(token, {asked: False, other: True}, "ann") == receipt


def test_what_waits_about_an_item_is_not_asked_of_one_who_left_it_open(pairs):
    """More questions about the item than he was given are ready: they go to others."""
    project = pairs()
    (lease,) = project.service.ask("ann")
    item, asked = lease.question.item, lease.question.labels[0]
    project.service.answer_item(lease.token, {asked: True, "label 11": True}, "ann")
    assert asked_of(project, "ann", item) == set()
    assert asked_of(project, "bob", item) == set(NAMES) - {asked, "label 11"}


def test_a_skip_of_the_item_is_one_event_and_others_are_asked(pairs):
    project = pairs()
    mine = of_one_item(project.service.ask_about_items("ann", 1))
    item = mine[0].question.item
    project.service.give_back([lease.token for lease in mine[4:]], "ann")  # ready, and not hers when she skips
    events = {project.service.skip_item(mine[0].token, "ann").event for _ in range(2)}
    assert asked_of(project, "ann", item) == set()
    assert len(events) == 1 and [event.kind for event in project.events()] == ["skip"]
    asked = {each.question.labels[0] for each in project.service.ask("bob", 60) if each.question.item == item}
    assert {lease.question.labels[0] for lease in mine} <= asked
    again = project.service.undo("ann")
    assert again.question.item == item and again.question.labels == NAMES
    with pytest.raises(AnswerRefused, match="no question with the lease"):
        project.service.skip_item(mine[0].token, "bob")


def test_a_question_given_back_goes_to_somebody_else_and_nothing_is_noted(make, location):
    project = make(location)
    project.refresh()
    (mine,) = project.service.ask("ann")
    project.service.give_back([mine.token], "bob")  # not his
    assert project.service.ask("ann")[0].token == mine.token
    project.service.give_back([mine.token, mine.token, "ab"], "ann")
    assert project.service.ask("bob")[0].question == mine.question
    assert project.events() == []


def test_a_second_copy_of_a_question_is_left_to_somebody_else(pairs):
    """Two leases of one person on one question: one is answered, the other goes back."""
    project = pairs(overlap=2, start=1, ready=12)
    (mine,) = project.service.ask("ann")
    held = find(project, mine.token)
    with project.store.writing() as connection:
        connection.execute(leases.insert().values(asdict(replace(held, token="c0"))))  # as earlier versions gave it
        withdraw(connection, held.item, held.label)
    assert asked_of(project, "bob", mine.question.item) == set(NAMES) - set(mine.question.labels)
    project.service.answer_item(mine.token, ALL_NO, "ann")
    assert find(project, "c0").state == "expired" and len(project.events()) == 1
    assert asked_of(project, "bob", mine.question.item) == set(NAMES)


def test_what_nobody_knows_is_refused(pairs):
    project = pairs()
    token = project.service.ask("ann")[0].token
    with pytest.raises(ProjectError, match="there is no label"):
        project.service.answer_item(token, {"nothing like it": True}, "ann")
    assert project.events() == []


def test_a_plan_made_meanwhile_leaves_out_what_was_said(pairs):
    """Questions that a training writes while somebody answers the whole item are not asked of others."""
    project = pairs()
    lease = project.service.ask("ann")[0]
    with project.store.writing() as connection:
        number = begin_training(connection, 0, 0, 0.0)
        item = find_lease(connection, lease.token).item
        write_plan(connection, number, [Ready(item, j + 1, j, "start", None, 1, None) for j in range(len(NAMES))])
    project.service.answer_item(lease.token, ALL_NO, "ann")
    with project.store.writing() as connection:
        trim_plan(connection, number, 0)
        end_training(connection, number, "good", 1.0)
        assert count_ready(connection) == 0


@pytest.mark.parametrize("start", [0, 4])
def test_verify_finds_whole_items_that_were_answered_and_skipped_in_order(pairs, start):
    project = pairs(start=start)
    service = project.service
    for turn in range(4):
        held = of_one_item(service.ask_about_items("ann", 3))
        asked = held[0].question.labels[0]
        said = [ALL_NO, {"label 3": True, asked: False}, {asked: None}, {}][turn]
        if said:
            service.answer_item(held[-1].token, said, "ann", whole=turn < 2)
        else:
            service.skip_item(held[0].token, "ann")
        if turn % 2:
            service.undo("ann")
    with project.store.reading() as connection:
        states = set(connection.execute(leases.select().with_only_columns(leases.c.state)).scalars())
    assert {"answered", "left"} <= states
    assert [(check.name, check.examples) for check in verify(project.store.location).checks if check.number] == []


def test_verify_misses_the_event_of_a_question_that_was_left_open(pairs):
    project = pairs(start=0)
    held = project.service.ask_about_items("ann", 1)
    project.service.answer_item(held[0].token, {"label 3": True}, "ann")
    with project.store.writing() as connection:
        connection.execute(leases.update().where(leases.c.state == "left").values(who="bob"))
    found = {check.name for check in verify(project.store.location).checks if check.number}
    assert found == {"leases"}
