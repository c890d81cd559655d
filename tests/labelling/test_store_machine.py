"""People, leases, overlap, undo and changes of labels in any order, against a plain-Python model of the store."""

from __future__ import annotations

import shutil
import tempfile
from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from _store_model import LABELS, Findings, Sent, StoreModel, names_of, read_events, replay, sent_values
from labelwise import Answer, LabelData
from labelwise.labelling import Project
from labelwise.labelling.errors import AnswerRefused, ProjectError
from labelwise.labelling.records import Lease
from labelwise.labelling.training.chance import copies
from labelwise.records import Timing

PEOPLE = ("ann", "bob", "eve")
ITEMS = 5
LEASE_SECONDS = 30.0
VALUES = st.sampled_from([True, False, None])
WHO = st.sampled_from(PEOPLE)


@pytest.fixture(scope="module")
def templates(tmp_path_factory) -> dict[tuple[int, str], Path]:
    """A project with questions ready for each overlap and kind of question."""
    folder, made = tmp_path_factory.mktemp("templates"), {}
    X = np.random.default_rng(0).standard_normal((ITEMS, 2))
    data = LabelData.from_arrays(X, label_names=LABELS[:3], item_ids=[f"item {i}" for i in range(ITEMS)])
    for overlap in (1, 2, 3):
        for strategy in ("uncertainty", "uncertainty_pairs"):
            path = folder / f"{overlap}-{strategy}.db"
            how = {"model": "binary_relevance", "control": 0.2, "ready": 3 * ITEMS, "lease_seconds": LEASE_SECONDS}
            with Project.create(path, data, overlap=overlap, strategy=strategy, **how) as project:
                project.refresh()
            made[overlap, strategy] = path
    return made


class Clock:
    now = 1.7e9

    def __call__(self) -> float:
        self.now += 0.5
        return self.now


class StoreMachine(RuleBasedStateMachine):
    """What several people do; `templates` is set by the test."""

    templates: dict[tuple[int, str], Path]
    tokens = count()  # of leases: a run that is repeated gives the same ones

    @initialize(overlap=st.sampled_from([1, 2, 2, 3]), strategy=st.sampled_from(["uncertainty", "uncertainty_pairs"]))
    def begin(self, overlap: int, strategy: str) -> None:
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name) / "project.db"
        shutil.copy(self.templates[overlap, strategy], path)
        StoreMachine.tokens = count()
        self.project, self.model, self.clock = Project(path), StoreModel(), Clock()
        self.project.service._clock = self.clock
        self.held: dict[str, dict[str, Lease]] = {who: {} for who in PEOPLE}  # what each is known to have, by token
        self.done: dict[str, list[tuple[int, str, str | None, dict]]] = {who: [] for who in PEOPLE}
        self.renamed = 0

    # -- asking -------------------------------------------------------------------------------------------------------

    @rule(who=WHO, n=st.integers(1, 4), by_item=st.booleans())
    def ask(self, who: str, n: int, by_item: bool) -> None:
        asked = self.project.service.ask_about_items if by_item else self.project.service.ask
        leases = asked(who, n)
        labels = [(lease.question.item, name) for lease in leases for name in lease.question.labels]
        assert len(labels) == len(set(labels)), f"{who} is asked the same twice"
        assert len({lease.token for lease in leases}) == len(leases)
        for lease in leases:
            assert lease.who == who
            self.held[who][lease.token] = lease

    @rule(seconds=st.sampled_from([1.0, LEASE_SECONDS + 1, -50.0]))
    def time_passes(self, seconds: float) -> None:
        self.clock.now += seconds

    @rule()
    def train(self) -> None:
        self.project.refresh()

    # -- answering ----------------------------------------------------------------------------------------------------

    def lease(self, who: str, data: st.DataObject) -> Lease:
        return self.held[who][data.draw(st.sampled_from(list(self.held[who])))]

    @precondition(lambda self: any(self.held.values()))
    @rule(who=WHO, data=st.data())
    def answer(self, who: str, data: st.DataObject) -> None:
        if not self.held[who]:
            return
        lease = self.lease(who, data)
        if not lease.question.labels:
            return
        values = {name: data.draw(VALUES) for name in lease.question.labels}
        sent = Sent(who, lease.question.item, "answer", sent_values(values), lease.token, seconds=1.5)
        timing = data.draw(st.sampled_from([None, Timing(1.5), Timing(-1.0)]))
        before = next((said for _, _, token, said in self.done[who] if token == lease.token), None)
        try:
            receipt = self.project.service.answer(lease.token, values, who, timing=timing)
        except ProjectError:
            assert before != values or before is None, "the same answer sent twice is saved once, never refused"
            return
        assert before is None or before == values, "another answer to the same lease must be refused"
        self.model.acknowledge(receipt.event, sent)
        if before is None:
            self.done[who].append((receipt.event, lease.question.item, lease.token, values))

    @precondition(lambda self: any(self.held.values()))
    @rule(who=WHO, thief=WHO, data=st.data())
    def answer_what_another_was_given(self, who: str, thief: str, data: st.DataObject) -> None:
        if not self.held[who] or who == thief:
            return
        lease = self.lease(who, data)
        with pytest.raises(AnswerRefused):
            self.project.service.answer(lease.token, dict.fromkeys(lease.question.labels, True), thief)

    @precondition(lambda self: any(self.held.values()))
    @rule(who=WHO, data=st.data())
    def skip(self, who: str, data: st.DataObject) -> None:
        if not self.held[who]:
            return
        lease = self.lease(who, data)
        try:
            receipt = self.project.service.skip(lease.token, who)
        except AnswerRefused:
            return
        self.model.acknowledge(receipt.event, Sent(who, lease.question.item, "skip", lease=lease.token))
        if receipt.event not in [event for event, *_ in self.done[who]]:
            self.done[who].append((receipt.event, lease.question.item, lease.token, {}))

    @precondition(lambda self: any(self.done.values()))
    @rule(who=WHO)
    def undo(self, who: str) -> None:
        if not self.done[who]:
            return
        event, item, token, _ = self.done[who][-1]
        again = self.project.service.undo(who, event)
        self.done[who].pop()
        assert again.question.item == item
        assert again.token != token
        self.model.undone.append(Sent(who, item, "undo", undoes=event))
        self.held[who][again.token] = again
        if again.question.labels:
            assert self.project.service.undo(who, event).question.item == item, "sent twice, it is taken back once"

    @rule(who=WHO, item=st.integers(0, ITEMS - 1), correction=st.booleans(), data=st.data())
    def tell(self, who: str, item: int, correction: bool, data: st.DataObject) -> None:
        names = data.draw(st.lists(st.sampled_from(self.project.label_names()), min_size=1, unique=True))
        values = {name: data.draw(VALUES) for name in names}
        before = self.events()
        try:
            (receipt,) = self.project.service.tell([Answer(f"item {item}", values, correction=correction)], who)
        except ProjectError:
            assert self.events() == before, "what was refused must leave nothing"
            return
        if receipt.repeated:
            assert self.events() == before
            assert self.last_words(who, f"item {item}").items() >= dict(sent_values(values)).items(), "it did not stand"
            return
        lease = self.lease_of(receipt.event)
        self.model.acknowledge(receipt.event, Sent(who, f"item {item}", "answer", sent_values(values), lease))
        self.done[who].append((receipt.event, f"item {item}", lease, values))

    @rule(who=WHO, item=st.integers(0, ITEMS - 1), value=st.booleans(), data=st.data())
    def settle(self, who: str, item: int, value: bool, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(self.project.label_names()))
        receipt = self.project.service.settle(Answer(f"item {item}", {name: value}), who)
        sent = Sent(who, f"item {item}", "answer", sent_values({name: value}), is_settled=True)
        self.model.acknowledge(receipt.event, sent)
        self.done[who].append((receipt.event, f"item {item}", None, {name: value}))

    # -- labels -------------------------------------------------------------------------------------------------------

    @rule(data=st.data(), what=st.sampled_from(["rename", "merge", "retire", "add"]))
    def change_labels(self, data: st.DataObject, what: str) -> None:
        names = self.project.label_names()
        label = data.draw(st.sampled_from(names))
        if what == "rename":
            self.renamed += 1
            self.project.rename_label(label, f"{label.split('.')[0]}.{self.renamed}")
        elif what == "add":
            with self.project.store.reading() as connection:
                number = connection.exec_driver_sql("SELECT max(id) FROM labels").scalar_one()
            if number < 6:
                self.project.add_label(LABELS[number])
        elif len(names) > 2:
            if what == "merge":
                self.project.merge_labels(label, data.draw(st.sampled_from([name for name in names if name != label])))
            else:
                self.project.retire_label(label)

    # -- what must hold -----------------------------------------------------------------------------------------------

    def events(self) -> int:
        with self.project.store.reading() as connection:
            return connection.exec_driver_sql("SELECT count(*) FROM events").scalar_one()

    def last_words(self, who: str, item: str) -> dict[str, bool | None]:
        """What a person said of each label of an item, by a replay of the events."""
        with self.project.store.reading() as connection:
            votes = replay(read_events(connection), names_of(connection)[1], Findings())
        said = {label: voters[who][1] for (name, label), voters in votes.items() if name == item and who in voters}
        return {label: None if value < 0 else bool(value) for label, value in said.items()}

    def lease_of(self, event: int) -> str | None:
        with self.project.store.reading() as connection:
            return connection.exec_driver_sql(f"SELECT lease FROM events WHERE id = {event}").scalar()

    @invariant()
    def nobody_holds_a_question_twice_and_no_more_people_than_wanted(self) -> None:
        if not hasattr(self, "project"):
            return
        with self.project.store.reading() as connection:
            held = connection.exec_driver_sql("SELECT item, label, who FROM leases WHERE state = 'open'").all()
        assert len(held) == len({tuple(row) for row in held}), "two open leases of one person on one question"
        people: dict[tuple[int, int], int] = {}
        for item, label, _ in held:
            people[item, label] = people.get((item, label), 0) + 1
        for (item, label), number in people.items():
            assert number <= copies(self.project.settings, item, label) + 1  # one more where an answer was taken back

    @invariant()
    def the_store_holds_what_was_acknowledged(self) -> None:
        if hasattr(self, "project"):
            with self.project.store.reading() as connection:
                assert self.model.check(connection).all() == []

    def teardown(self) -> None:
        if hasattr(self, "project"):
            self.project.close()
            self.folder.cleanup()


def test_the_store_and_the_service_agree_with_the_model(templates, monkeypatch):
    StoreMachine.templates = templates
    monkeypatch.setattr("labelwise.labelling.service.secrets.token_hex", lambda _: f"{next(StoreMachine.tokens):016x}")
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
    n = 10 if settings.get_current_profile_name() == "repeatable" else 40  # fewer where they are the same every time
    how = settings(max_examples=n, stateful_step_count=25, deadline=None, suppress_health_check=quiet)
    run_state_machine_as_test(StoreMachine, settings=how)
