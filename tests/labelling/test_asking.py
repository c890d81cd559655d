"""Nobody has a question twice: overlap, tabs, undoing, leases that are over, in any order."""

from __future__ import annotations

from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labelwise import Answer, LabelData
from labelwise.labelling import AnswerRefused, Lease, Project, ProjectError, Service
from labelwise.labelling.store.questions import StoredLease, open_lease, open_leases
from rest_slow import rest_slow

LABELS = ("left", "low", "far")
STRATEGIES = ("uncertainty", "uncertainty_pairs")
FAR_OFF = 4e9  # a clock that the worker's own never reaches: only the tests end leases


@pytest.fixture
def clock() -> SimpleNamespace:
    return SimpleNamespace(now=FAR_OFF)


@pytest.fixture
def desk(make, location, clock):
    """Make a project with questions ready, and a service of it with a clock that can be moved."""

    def open_desk(**options) -> tuple[Project, Service]:
        project = make(location, lease_seconds=60, **options)
        project.refresh()
        return project, Service(project.store, project.settings, lambda: clock.now)

    return open_desk


def asked(leases: list[Lease]) -> list[tuple[str, str]]:
    """Item and label of everything that leases ask about."""
    return [(lease.question.item, label) for lease in leases for label in lease.question.labels]


def yes(lease: Lease) -> dict[str, bool]:
    return dict.fromkeys(lease.question.labels, True)


@pytest.mark.parametrize("overlap", [2, 3])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_overlap_gives_each_person_one_copy_of_a_question(desk, strategy, overlap):
    _, service = desk(strategy=strategy, overlap=overlap)
    given = {who: asked(service.ask_about_items(who, 3)) for who in ("ann", "bob", "eve", "joe")}
    for each in given.values():
        assert len(set(each)) == len(each)
    copies = Counter(entry for each in given.values() for entry in each)
    assert set(given["ann"]) == set(given["bob"]) != set()
    assert max(copies.values()) == overlap


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_with_overlap_what_is_marked_is_what_is_known(desk, strategy):
    project, service = desk(strategy=strategy, overlap=2, ready=60)
    said = set()
    for _ in range(20):
        lease = service.ask_about_items("ann", 3)[0]
        service.answer(lease.token, yes(lease))
        said |= set(asked([lease]))
    votes = Counter(value for event in project.events() for value in event.values.values())
    assert votes == {True: len(said)}
    assert project.labelled().n_observed == project.labelled().Y.nnz == len(said)


def test_an_answer_by_another_lease_to_the_same_question_is_refused(desk, clock):
    project, service = desk(overlap=2)
    first = service.ask("ann")[0]
    clock.now += 61
    second = service.ask("ann")[0]  # in another tab, as the time of the first is over
    assert (second.question.item, second.token != first.token) == (first.question.item, True)
    assert "after its time" in service.answer(first.token, yes(first)).notices[0]
    for values in (yes(second), {"left": False}):
        with pytest.raises(AnswerRefused, match=r"answered this question .* already .* nothing was saved. Undo that"):
            service.answer(second.token, values)
    assert [event.values for event in project.events()] == [yes(first)]
    assert asked(service.ask("bob")) == asked([first]), "the other copy is still there"
    assert first.question.item not in {item for item, _ in asked(service.ask("ann", 10))}


def test_the_store_refuses_a_lease_on_what_a_person_holds_or_has_answered(desk):
    project, service = desk(overlap=2)
    lease = service.ask("ann")[0]
    with Project(project.store.location) as other:
        with other.store.writing() as connection:
            (held,) = [each for each in open_leases(connection) if each.token == lease.token]
            twin = StoredLease(**{**vars(held), "token": "feed"})
            assert not open_lease(connection, twin), "a second lease on what one holds"
            assert open_lease(connection, StoredLease(**{**vars(twin), "who": "bob"}))
        service.answer(lease.token, yes(lease))
        with other.store.writing() as connection:
            assert not open_lease(connection, StoredLease(**{**vars(held), "token": "fade"})), "what one has answered"


def test_leases_held_twice_by_an_older_version_are_shown_once(desk):
    project, service = desk(overlap=2)
    lease = service.ask("ann")[0]
    with project.store.writing() as connection:
        connection.execute(
            sa.text(
                "INSERT INTO leases SELECT 'twin', item, label, who, reason, score, rank, beliefs, given_at, "
                "expires_at, state, words FROM leases"
            )
        )
    mine = service.ask_about_items("ann", 1)
    assert len(mine) == 1 and asked(mine) == asked([lease])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_was_told_elsewhere_is_not_asked_again(desk, strategy):
    """A whole item told in a project of pairs, and the leases on its labels."""
    _, service = desk(strategy=strategy, ready=120)
    held = service.ask_about_items("ann", 2)
    item = held[0].question.item
    service.tell([Answer(item, dict.fromkeys(LABELS, True))], "ann")
    assert item not in {lease.question.item for lease in service.ask_about_items("ann", 5)}
    for lease in held[1:]:
        if lease.question.item == item:
            with pytest.raises(AnswerRefused, match=r"already|before"):
                service.answer(lease.token, {lease.question.labels[0]: False})


def test_a_late_whole_answer_does_not_turn_what_was_said_of_a_label(desk, clock):
    """A tab with the whole item, and a word on one label told in the meantime."""
    project, service = desk()
    lease = service.ask("ann")[0]
    clock.now += 61
    service.ask("nobody", 1)  # ends the lease
    service.skip(service.ask("nobody", 1)[0].token)
    project.add_label("new", examples=[lease.question.item], who="ann")
    with pytest.raises(AnswerRefused, match=r"'ann' said yes to 'new' .* nothing was saved"):
        service.answer(lease.token, {"left": True, "new": False})
    service.answer(lease.token, {"left": True, "new": True})


def test_a_correction_that_is_taken_back_can_be_made_anew(desk):
    project, service = desk()
    lease = service.ask("ann")[0]
    service.answer(lease.token, yes(lease))
    service.tell([Answer(lease.question.item, {"left": False}, correction=True)], "ann")
    again = service.undo("ann")
    assert again.question.labels == ("left",), "what else he said stands"
    assert [held.token for held in service.ask("ann")] == [again.token]
    with pytest.raises(AnswerRefused, match=r"'ann' said yes to 'low'"):
        service.answer(again.token, {"left": None, "low": False})
    service.answer(again.token, {"left": None})
    assert project.events()[-1].values == {"left": None}


def test_undo_gives_the_lease_that_one_has_and_no_second_one(desk):
    _, service = desk(strategy="uncertainty_pairs", ready=120)
    lease = service.ask("ann")[0]
    other = next(name for name in LABELS if name not in lease.question.labels)
    service.tell([Answer(lease.question.item, {name: True for name in LABELS if name != other})], "ann")
    again = service.undo("ann")
    mine = asked(service.ask_about_items("ann", 3))
    assert set(asked([again])) <= set(mine) and len(set(mine)) == len(mine)


# -- any order of everything ------------------------------------------------------------------------------------------

PEOPLE = ("ann", "bob", "eve")
who = st.sampled_from(PEOPLE)
number = st.integers(0, 5)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), who, number),
        st.tuples(st.just("about"), who, number),
        st.tuples(st.just("answer"), who, number),
        st.tuples(st.just("answer"), who, number),
        st.tuples(st.just("tell"), who, number),
        st.tuples(st.just("skip"), who, number),
        st.tuples(st.just("undo"), who, number),
        st.tuples(st.just("expire"), who, number),
        st.tuples(st.just("train"), who, number),
    ),
    min_size=4,
    max_size=30,
)


def train(project: Project) -> None:
    """What the worker does, without the files of the model."""
    worker = project.worker()
    while worker.step():
        pass


class Room:
    """People who do things in any order with two servers; what they said and were asked is checked after each step."""

    def __init__(self, project: Project) -> None:
        self.project, self.now = project, FAR_OFF
        self.servers = [Service(project.store, project.settings, lambda: self.now) for _ in range(2)]
        self.seen: dict[str, list[Lease]] = {name: [] for name in PEOPLE}

    def do(self, step: str, name: str, k: int) -> None:
        service = self.servers[k % 2]
        known = self.seen[name]
        lease = known[-1 - k] if k < len(known) else None
        try:
            if step in ("ask", "about"):
                self.take(name, service.ask(name, k + 1) if step == "ask" else service.ask_about_items(name, k % 3 + 1))
            elif step == "answer" and lease is not None:
                service.answer(lease.token, {label: (k + i) % 2 == 0 for i, label in enumerate(lease.question.labels)})
            elif step == "tell":
                service.tell([Answer(f"p{k % 4}", dict.fromkeys(LABELS[: k % 3 + 1], True))], name)
            elif step == "skip" and lease is not None:
                service.skip(lease.token, name)
            elif step == "undo":
                self.take(name, [service.undo(name)])
            elif step == "expire":
                self.now += 61
            elif step == "train":
                train(self.project)
        except ProjectError:
            pass  # refused: it must have changed nothing, which the checks see
        self.check()

    def take(self, name: str, leases: list[Lease]) -> None:
        """What was given now was not answered or skipped by this person, unless he took that back."""
        new = [lease for lease in leases if lease.token not in {old.token for old in self.seen[name]}]
        said = self.standing(name)
        for lease in leases:
            assert not set(asked([lease])) & said.keys(), "asked what he answered"
        entries = asked(leases)
        assert len(set(entries)) == len(entries), "asked the same twice at once"
        self.seen[name] += new

    def standing(self, name: str) -> dict[tuple[str, str], bool | None]:
        """The last word of this person on each label of each item, unless he took it back."""
        last: dict[tuple[str, str], tuple[int, bool | None]] = {}
        undone = set()
        for event in self.project.events():
            if event.who == name:
                undone.add(event.undoes)
                for label, value in event.values.items():
                    number, before = last.get((event.item, label), (None, value))
                    assert number in undone or before == value, "an answer was turned"
                    last[event.item, label] = event.id, value
        return {entry: value for entry, (number, value) in last.items() if number not in undone}

    def check(self) -> None:
        with self.project.store.reading() as connection:
            held = open_leases(connection)
        assert max(Counter((each.who, each.item, each.label) for each in held).values(), default=1) == 1
        wholes = {(each.who, each.item) for each in held if each.label == 0}
        assert not any((each.who, each.item) in wholes for each in held if each.label != 0)
        for name in PEOPLE:
            self.standing(name)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("overlap", rest_slow([2, 1, 3]))
def test_in_any_order_nobody_holds_or_is_asked_a_question_twice(make, location, monkeypatch, strategy, overlap):
    monkeypatch.setattr("labelwise.labelling.training.worker.SHORTEST_PAUSE", 0.0)
    data = LabelData.from_arrays(np.eye(4), label_names=LABELS, item_ids=[f"p{i}" for i in range(4)])
    project = make(location, data, strategy=strategy, overlap=overlap, lease_seconds=60, ready=6)

    @settings(max_examples=15 if project.store.is_file else 5, deadline=None, suppress_health_check=list(HealthCheck))
    @given(steps=STEPS)
    def run(steps) -> None:
        with project.store.writing() as connection:
            for table in ("leases", "event_values", "events", "questions", "trainings"):
                connection.exec_driver_sql(f"DELETE FROM {table}")
        train(project)
        room = Room(project)
        for step in steps:
            room.do(*step)

    run()
