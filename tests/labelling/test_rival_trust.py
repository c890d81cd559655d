"""What the documents promise about answers, written from the documents alone and computed again in plain Python."""

from __future__ import annotations

import csv
import itertools
import json
import math
import random
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa
from typer.testing import CliRunner

import labelwise as lw
from labelling.postgres_server import run_sql
from labelwise import Answer, LabelData
from labelwise.cli import app
from labelwise.data import FormatError
from labelwise.labelling import AnswerRefused, Event, Lease, Project, Service
from labelwise.labelling.items.browse import Browser
from labelwise.labelling.safety.backup import backup, restore
from labelwise.labelling.safety.verify import verify
from rest_slow import rest_slow

PEOPLE = ("ann", "bob", "cid")
NAMES = ("left", "low", "far")
_numbers = itertools.count()


# -- plain Python ------------------------------------------------------------------------------------------------------


def standing(events: Iterable[Event]) -> list[Event]:
    """The answers that nobody took back."""
    events = list(events)
    undone = {event.undoes for event in events}
    return [event for event in events if event.kind == "answer" and event.id not in undone]


def by_hand(events: Iterable[Event]) -> dict[tuple[str, str], bool]:
    """What is known: the last settlement, else the majority of last words, else the last to speak."""
    words: dict[tuple[str, str], dict[str, tuple[int, bool | None]]] = defaultdict(dict)
    settled: dict[tuple[str, str], bool | None] = {}
    for event in standing(events):
        for label, value in event.values.items():
            words[event.item, label][event.who] = (event.id, value)
            if event.reason == "settled":
                settled[event.item, label] = value
    known: dict[tuple[str, str], bool] = {}
    for key, said in words.items():
        votes = sorted((number, value) for number, value in said.values() if value is not None)
        yes = sum(value for _, value in votes)
        if votes:
            known[key] = votes[-1][1] if 2 * yes == len(votes) else 2 * yes > len(votes)
        if settled.get(key) is not None:
            known[key] = bool(settled[key])
    return known


def by_view(project: Project) -> dict[tuple[str, str], bool]:
    data = project.labelled()
    Y, seen = data.Y.toarray(), data.observed_mask().toarray()
    return {
        (item, name): bool(Y[i, j])
        for i, item in enumerate(data.item_ids)
        for j, name in enumerate(data.label_names)
        if seen[i, j]
    }


def by_browse(project: Project) -> dict[tuple[str, str], bool]:
    browser = Browser(project)
    pages = [browser.item(name) for name in sorted(project.item_names())]
    return {(page.name, label.name): label.known for page in pages for label in page.labels if label.known is not None}


def by_export(project: Project, location: str, folder: Path) -> dict[tuple[str, str], bool]:
    out = folder / f"known-{next(_numbers)}.csv"
    run("export", location, out)
    with out.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = project.label_names()
    assert {row[name] for row in rows for name in names} <= {"0", "1", ""}
    return {(row["id"], name): row[name] == "1" for row in rows for name in names if row[name]}


def run(*arguments: object, code: int = 0, typed: str | None = None):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], input=typed)
    assert done.exit_code == code, done.output + done.stderr
    return done


def opinion(who: str, item: str, label: str) -> bool | None:
    """What a person thinks, always the same: yes, no, now and then unsure."""
    return random.Random(f"{who} {item} {label}").choice([True, True, False, False, None])


def small(n: int = 6, labels: Iterable[str] = NAMES) -> LabelData:
    X = np.random.default_rng(3).standard_normal((n, 2))
    return LabelData.from_arrays(X, label_names=list(labels), item_ids=[f"p{i}" for i in range(n)])


def questions(leases: Iterable[Lease]) -> list[tuple[str, str]]:
    return [(lease.question.item, label) for lease in leases for label in lease.question.labels]


def ask_all(project: Project, who: str, how: int) -> list[Lease]:
    if how % 3 == 2:
        project.ask(who=who)  # questions are made where none are ready
        return project.service.ask_about_items(who, 2)
    return project.ask(1 + 3 * (how % 3), who=who)


def label_until_done(project: Project, seed: int = 0) -> dict[tuple[str, str], list[str]]:
    """Everybody answers all that he is asked; who answered each question, in order."""
    chance, asked = random.Random(seed), defaultdict(list)
    left = list(PEOPLE)
    for turn in range(2000):
        if not left:
            return asked
        who = chance.choice(left)
        leases = ask_all(project, who, turn)
        assert len(set(questions(leases))) == len(questions(leases)), "a label is asked twice at once"
        if not leases:
            left.remove(who)
            continue
        left = list(PEOPLE)
        for lease in leases[: chance.randint(1, len(leases))]:
            assert lease.who == who
            item = lease.question.item
            project.service.answer(lease.token, {name: opinion(who, item, name) for name in lease.question.labels})
            for name in lease.question.labels:
                asked[item, name].append(who)
    raise AssertionError("they never come to an end")


@pytest.fixture
def place(request, tmp_path) -> Callable[[str], str]:
    """Another new location, in a file or in a PostgreSQL database."""

    def new_place(kind: str) -> str:
        if kind == "sqlite":
            return str(tmp_path / f"other-{next(_numbers)}.db")
        address, name = request.getfixturevalue("postgres"), f"rival_{next(_numbers)}"
        run_sql(address, f"CREATE SCHEMA {name}")
        return f"{address}&options=-csearch_path%3D{name}"

    return new_place


def execute(location: str, *statements: str) -> None:
    """Change the tables behind the back of labelwise."""
    address = location if "://" in location else f"sqlite:///{location}"
    engine = sa.create_engine(address.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)
    engine.dispose()


# -- overlap -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["uncertainty", "uncertainty_pairs"])
@pytest.mark.parametrize("overlap", rest_slow([2, 1, 3]))
def test_each_question_goes_to_as_many_people_as_the_overlap_says(make, location, strategy, overlap, tmp_path):
    project = make(location, data=small(), strategy=strategy, overlap=overlap, ready=7)
    asked = label_until_done(project)
    assert len(asked) == 6 * 3
    for people in asked.values():
        assert len(people) == len(set(people)) == overlap
    hand = by_hand(project.events())
    assert hand == by_view(project) == by_browse(project) == by_export(project, location, tmp_path)
    assert {event.who for event in project.events()} == set(PEOPLE)
    assert verify(location).state == "sound"
    assert [ask_all(project, who, 0) for who in PEOPLE] == [[]] * 3


@pytest.mark.parametrize("strategy", ["uncertainty", "uncertainty_pairs"])
def test_only_the_share_is_asked_of_several(make, location, strategy):
    n = 60 if strategy == "uncertainty" else 20
    project = make(location, data=small(n), strategy=strategy, overlap=2, overlap_share=0.4, ready=15)
    asked = label_until_done(project)
    assert len(asked) == 3 * n and all(len(set(people)) == len(people) for people in asked.values())
    of_items = {item: len(people) for (item, _), people in asked.items()} if strategy == "uncertainty" else {}
    counts = list(of_items.values()) or [len(people) for people in asked.values()]
    assert set(counts) == {1, 2}
    share, spread = counts.count(2) / 60, math.sqrt(0.4 * 0.6 / 60)
    assert abs(share - 0.4) < 4 * spread  # drawn one by one at most
    assert by_hand(project.events()) == by_view(project)


@pytest.mark.parametrize("strategy", ["uncertainty", "uncertainty_pairs"])
def test_a_second_answer_is_refused_and_a_correction_counts(make, location, strategy):
    project = make(location, data=small(), strategy=strategy, overlap=2)
    leases = [project.ask(who=who)[0] for who in ("ann", "bob")]
    for lease in leases:
        project.service.answer(lease.token, dict.fromkeys(lease.question.labels, True))
    lease = leases[0]
    item, label = lease.question.item, lease.question.labels[0]
    before = project.events()
    with pytest.raises(AnswerRefused):
        project.service.answer(lease.token, dict.fromkeys(lease.question.labels, False))
    with pytest.raises(ValueError, match="correct"):
        project.tell(Answer(item, {label: False}), who="ann")
    assert project.tell(Answer(item, {label: True}), who="ann")[0].repeated
    assert project.service.answer(lease.token, dict.fromkeys(lease.question.labels, True)).event == before[0].id
    assert project.events() == before
    project.tell(Answer(item, {label: False}, correction=True), who="ann")
    assert by_view(project)[item, label] is False  # one yes, one no (or one no alone), the last to speak
    assert by_hand(project.events()) == by_view(project)
    assert len(project.events()) == len(before) + 1


@pytest.mark.parametrize("strategy", ["uncertainty", "uncertainty_pairs"])
def test_a_question_given_again_is_answered_once(make, location, strategy):
    """The lease ran out, the same person was given the question again and answered by both."""
    project = make(location, data=small(2, ["left"]), strategy=strategy, overlap=2)
    project.refresh()
    now = [1_700_000_000.0]
    service = Service(project.store, project.settings, clock=lambda: now[0])
    other = Service(project.store, project.settings, clock=lambda: now[0])
    first = service.ask("ann")[0]
    now[0] += 10_000
    again = {lease.question.item: lease for lease in other.ask("ann", 5)}[first.question.item]
    other.answer(again.token, {"left": True})
    if again.token != first.token:
        with pytest.raises(AnswerRefused):
            service.answer(first.token, {"left": False})
    assert [dict(event.values) for event in project.events()] == [{"left": True}]


def test_a_late_answer_counts_only_while_nobody_else_has_the_question(make, location):
    project = make(location, data=small(1, ["left"]))
    project.refresh()
    now = [1_700_000_000.0]
    service = Service(project.store, project.settings, clock=lambda: now[0])
    late = service.ask("ann")[0]
    now[0] += 601
    taken = service.ask("bob")[0]
    assert taken.question.item == late.question.item
    with pytest.raises(AnswerRefused):
        service.answer(late.token, {"left": True})
    now[0] += 601
    assert service.answer(taken.token, {"left": False}).event == 1


def test_a_skipped_question_goes_to_others_and_not_to_the_same_person(make, location):
    project = make(location, data=small(3), overlap=1)
    lease = project.ask(who="ann")[0]
    project.service.skip(lease.token)
    seen = set()
    while mine := project.ask(who="ann"):
        seen.add(mine[0].question.item)
        project.service.answer(mine[0].token, dict.fromkeys(mine[0].question.labels, True))
    assert seen == {"p0", "p1", "p2"} - {lease.question.item}
    assert project.ask(who="bob")[0].question.item == lease.question.item


# -- settled -----------------------------------------------------------------------------------------------------------


def settle_and_vote(project: Project, seed: int) -> None:
    """Votes, corrections, settlements and undone ones in any order."""
    chance = random.Random(seed)
    for _ in range(40):
        item, label = chance.choice(["p0", "p1"]), chance.choice(["left", "low"])
        who, value = chance.choice([*PEOPLE, "eve", "max"]), chance.choice([True, False])
        if chance.random() < 0.2 and any(event.who == who for event in standing(project.events())):
            project.service.undo(who)
        elif who in ("eve", "max"):
            project.service.settle(Answer(item, {label: value}), who)
        else:
            project.tell(Answer(item, {label: value}, correction=True), who=who)


@pytest.mark.parametrize("seed", rest_slow(range(4)))
def test_the_last_settlement_stands_everywhere(make, location, seed, tmp_path):
    project = make(location, data=small(3))
    settle_and_vote(project, seed)
    hand = by_hand(project.events())
    assert hand == by_view(project)
    assert hand == by_browse(project)
    assert hand == by_export(project, location, tmp_path)
    assert verify(location).state == "sound"


def test_an_undone_settlement_gives_way_to_the_votes_and_to_the_settlement_before(make, location, tmp_path):
    project = make(location, data=small(2))
    project.tell(Answer("p0", {"left": False}), who="ann")
    project.tell(Answer("p0", {"left": False}), who="bob")
    first = project.service.settle(Answer("p0", {"left": True}), "eve")
    second = project.service.settle(Answer("p0", {"left": False}), "max")
    third = project.service.settle(Answer("p0", {"left": True}), "eve")
    assert by_view(project)["p0", "left"] is True
    for who, event, stands in (("eve", third, False), ("max", second, True), ("eve", first, False)):
        lease = project.service.undo(who, event.event)
        assert by_view(project)["p0", "left"] is stands
        assert by_browse(project) == by_view(project) == by_hand(project.events())
        if "left" in lease.question.labels and who == "max":  # asked again, he answers as anybody
            project.service.answer(lease.token, {"left": False})
            assert by_view(project)["p0", "left"] is True  # the answer is no settlement
    assert by_export(project, location, tmp_path) == by_view(project)
    assert verify(location).state == "sound"


# -- undo after changes of labels --------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["uncertainty", "uncertainty_pairs"])
@pytest.mark.parametrize("change", rest_slow(["merge and rename", "merge", "merge back", "rename", "retire"], 2))
def test_undo_after_the_labels_changed(make, location, strategy, change, tmp_path):
    project = make(location, data=small(3), strategy=strategy, overlap=2)
    lease = project.ask(who="ann")[0]
    item, labels = lease.question.item, lease.question.labels
    label = labels[0]
    rest = [name for name in NAMES if name != label]
    project.service.answer(lease.token, dict.fromkeys(labels, True))
    project.tell(Answer(item, {rest[0]: False}, correction=True), who="bob")
    if change == "merge":
        project.merge_labels(label, rest[0])
    elif change == "merge back":
        project.merge_labels(rest[0], label)
    elif change == "rename":
        project.rename_label(label, "new name")
    elif change == "retire":
        project.retire_label(label)
    else:
        project.merge_labels(label, rest[0])
        project.rename_label(rest[0], "new name")
    before = len(project.events())
    project.service.undo("ann")
    events = project.events()
    assert {(event.kind, event.who) for event in events[before:]} == {("undo", "ann")}
    kept = {label if (change, name) == ("merge back", rest[0]) else name for name in [rest[0]]}
    kept = {"new name"} if change == "merge and rename" else kept
    assert by_view(project) == {(item, name): False for name in kept}  # what bob said, and nothing of ann
    assert by_browse(project) == by_view(project) == by_export(project, location, tmp_path)
    assert verify(location).state == "sound"


def test_an_undone_answer_is_asked_again_and_counts_again(make, location):
    project = make(location, data=small(2, ["left"]))
    lease = project.ask(who="ann")[0]
    receipt = project.service.answer(lease.token, {"left": True})
    again = project.service.undo("ann", receipt.event)
    assert again.question.item == lease.question.item and by_view(project) == {}
    assert project.service.undo("ann", receipt.event).question == again.question  # once, however often it is sent
    assert [event.kind for event in project.events()] == ["answer", "undo"]
    with pytest.raises((AnswerRefused, ValueError)):
        project.service.undo("bob", receipt.event)
    project.service.answer(again.token, {"left": False})
    assert by_view(project) == {(lease.question.item, "left"): False}


def test_merged_labels_count_each_person_once(make, location):
    """Yes to either is yes, person by person, then the majority."""
    project = make(location, data=small(2))
    said = {"ann": (True, False), "bob": (False, False), "cid": (False, True)}
    for who, (left, low) in said.items():
        project.tell(Answer("p0", {"left": left, "low": low}), who=who)
    project.merge_labels("left", "low")
    votes = Browser(project).item("p0").labels
    low = next(label for label in votes if label.name == "low")
    assert low.votes["ann"] is True and low.votes["bob"] is False and low.votes["cid"] is True
    assert by_view(project) == {("p0", "low"): True}  # of each label alone most said no
    assert verify(location).state == "sound"


# -- backup and restore ------------------------------------------------------------------------------------------------


def history(project: Project) -> list[tuple]:
    return [(e.id, e.at, e.who, e.kind, e.item, e.asked, e.reason, dict(e.values), e.undoes) for e in project.events()]


def busy(project: Project) -> None:
    """Some of everything, with texts that are hard to write."""
    label_until_done(project, seed=5)
    project.service.undo("ann")
    project.service.settle(Answer("p1", {"left": False}), "eve")
    project.tell(Answer("p2", {"low": None}, correction=True), who="Zoë =1+1")
    project.add_label('new, "label"; é', like={"left": 0.25})
    project.tell(Answer("p0", {'new, "label"; é': True}), who="bob")
    project.rename_label("far", "=far")
    project.merge_labels("low", "left")


@pytest.mark.slow
@pytest.mark.parametrize("into", rest_slow(["sqlite", "postgresql"]))
def test_a_restored_project_exports_the_same(make, location, into, place, tmp_path):
    project = make(location, data=small(), strategy="uncertainty_pairs", overlap=2)
    busy(project)
    there, copy = place(into), tmp_path / "copy.db"
    backup(location, copy)
    restore(copy, there)
    assert [verify(where).state for where in (location, copy, there)] == ["sound"] * 3
    for number, options in enumerate(
        [["known.csv"], ["known.jsonl"], ["a.jsonl", "--answers"], ["a.csv", "--answers"]]
    ):
        written = []
        for where in (location, str(copy), there):
            out = tmp_path / f"{number}-{len(written)}-{options[0]}"
            run("export", where, out, *options[1:])
            written.append(out.read_bytes())
        assert written[0] == written[1] == written[2] and len(written[0]) > 100
    with closing(Project(there)) as back:
        assert history(back) == history(project)
        in_use = project.label_names()
        hand = {key: value for key, value in by_hand(project.events()).items() if key[1] in in_use}
        assert by_view(back) == by_view(project) == hand
        assert back.label_names() == project.label_names() and back.settings == project.settings
        receipt = back.tell(Answer("p0", {"left": True}), who="new person")[0]
        assert receipt.event > max(event.id for event in project.events())  # numbers go on


def test_a_restored_project_lets_nobody_in(make, location, tmp_path):
    project = make(location, data=small(2))
    link, token = project.people.add("ann"), project.people.add_token("label-studio")
    _, session = project.people.redeem(project.people.add("eve", "admin"))
    backup(location, tmp_path / "copy.db")
    restore(tmp_path / "copy.db", tmp_path / "back.db")
    with closing(Project(str(tmp_path / "back.db"))) as back:
        assert {user.name for user in back.people.all()} >= {"ann", "eve"}
        assert back.people.redeem(link) is None and back.people.owner_of_token(token) is None
        assert back.people.user_of_session(session) is None
        assert back.people.redeem(back.people.link("ann")) is not None


# -- verify ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def answered(make, location) -> Project:
    project = make(location, data=small(4), overlap=2)
    for who in ("ann", "bob"):
        for _ in range(2):
            lease = project.ask(who=who)[0]
            project.service.answer(lease.token, dict.fromkeys(lease.question.labels, True))
    project.service.undo("ann")
    return project


FAULTS = {
    "a value that is none": ["UPDATE event_values SET value = 5 WHERE event = 1"],
    "an event deleted": ["DELETE FROM event_values WHERE event = 3", "DELETE FROM events WHERE id = 3"],
    "an undo of another's answer": ["UPDATE events SET undoes = 3 WHERE kind = 'undo'"],
    "an undo by somebody else": ["UPDATE events SET who = 'bob' WHERE kind = 'undo'"],
    "the author changed": ["UPDATE events SET who = 'cid' WHERE id = 3"],
    "an unknown kind": ["UPDATE events SET kind = 'said' WHERE id = 4"],
}


@pytest.mark.parametrize("fault", rest_slow(FAULTS, 3))
def test_verify_finds_what_was_done_to_the_tables(answered, location, fault):
    run("verify", location)
    execute(location, *FAULTS[fault])
    assert verify(location).exit_code == 7, fault
    run("verify", location, code=7)
    told = json.loads(run("verify", location, "--json", code=7).stdout)
    assert told["state"] == "damaged"


@pytest.mark.parametrize(
    "changed",
    rest_slow(
        [
            "UPDATE event_values SET value = 1 - value WHERE event = 3 AND label = 2",
            "UPDATE items SET content = '\"other\"' WHERE id = 2",
            "UPDATE events SET reason = 'settled' WHERE id = 3",
            "UPDATE events SET at = at + 0.001 WHERE id = 4",
            "DELETE FROM event_values WHERE event = 4 AND label = 1",
        ],
        2,
    ),
)
def test_the_digest_of_a_backup_finds_a_value_turned_round(answered, location, tmp_path, changed):
    copy = tmp_path / "copy.db"
    run("backup", location, copy)
    run("verify", copy)
    execute(str(copy), changed)
    run("verify", copy, code=7)
    run("restore", copy, tmp_path / "back.db", code=7)
    assert not (tmp_path / "back.db").exists()


def test_a_restored_project_still_knows_its_digest_after_more_answers(answered, location, place, tmp_path):
    """In a project restored from a backup, not one of the answers of then has changed since."""
    kind = "postgresql" if "://" in location else "sqlite"
    there = place(kind)
    backup(location, tmp_path / "copy.db")
    restore(tmp_path / "copy.db", there)
    with closing(Project(there)) as back:
        back.tell(Answer("p3", {"far": False}, correction=True), who="new")
    assert verify(there).state == "sound"
    execute(there, "UPDATE event_values SET value = 1 - value WHERE event = 3 AND label = 2")
    assert verify(there).state == "damaged"


@pytest.mark.parametrize("others", [0, 1])
def test_verify_knows_answers_to_several_questions_at_once(make, location, others, tmp_path):
    """Leases on single labels of one item end by one answer; what is told at once may answer several of them."""
    project = make(location, data=small(3), strategy="uncertainty_pairs", overlap=1 + others, ready=20)
    project.refresh()
    held = project.service.ask_about_items("ann", 1)
    assert len(held) > 1
    item = held[0].question.item
    project.tell(Answer(item, dict.fromkeys(NAMES, True)), who="ann")
    run("verify", location)
    project.service.undo("ann")
    run("verify", location)
    backup(location, tmp_path / "copy.db")
    restore(tmp_path / "copy.db", tmp_path / "back.db")


def double(location: str, first: dict[int, int], second: dict[int, int]) -> None:
    """Both copies of the question about item 4, answered by bob within a second, as the page of then made them."""
    at = 1_700_000_000.0
    for copy, said in enumerate((first, second)):
        execute(
            location,
            "INSERT INTO events (at, who, kind, item, asked, reason) "
            f"VALUES ({at + copy / 10}, 'bob', 'answer', 4, 0, 'strategy')",
            *(
                f"INSERT INTO event_values SELECT max(id), {label}, {value} FROM events"
                for label, value in said.items()
            ),
        )


def test_verify_finds_and_repairs_a_doubled_answer(make, location, tmp_path):
    project = make(location, data=small(4), overlap=2)
    item = "p3"
    double(location, {1: 1, 2: 0, 3: 1}, {1: 0, 2: 0, 3: 0})
    assert by_view(project) == {(item, name): False for name in NAMES}  # the fault: yes became no
    assert verify(location).exit_code == 8
    run("verify", location, code=8)
    before = project.events()
    run("verify", location, "--repair", "--yes", "--backup", tmp_path / "before.db")
    assert by_view(project) == {(item, "left"): True, (item, "low"): False, (item, "far"): True}
    after = project.events()
    assert after[: len(before)] == before  # nothing is deleted
    assert [(e.kind, e.who, e.undoes) for e in after[len(before) :]] == [("undo", "bob", before[-1].id)]
    run("verify", location)
    run("verify", tmp_path / "before.db", code=8)


def test_a_doubled_answer_with_both_copies_filled_is_for_people(make, location, tmp_path):
    project = make(location, data=small(4), overlap=2)
    double(location, {1: 1, 2: 0, 3: 0}, {1: 0, 2: 1, 3: 0})
    run("verify", location, "--doubled", tmp_path / "review.csv", code=8)
    with (tmp_path / "review.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert any("p3" in row and "bob" in row for row in rows[1:])
    before = history(project)
    CliRunner().invoke(app, ["verify", location, "--repair", "--yes", "--backup", str(tmp_path / "b.db")])
    assert history(project) == before
    project.tell(Answer("p3", {"left": True, "low": True, "far": False}, correction=True), who="bob")
    run("verify", location)


def test_exit_codes_of_backup_and_restore(answered, location, tmp_path):
    execute(location, *FAULTS["an undo of another's answer"])
    assert CliRunner().invoke(app, ["backup", location, str(tmp_path / "b.db")]).exit_code in (0, 7)
    run("verify", tmp_path / "none.db", code=6)
    (tmp_path / "text.db").write_text("no project at all")
    done = CliRunner().invoke(app, ["verify", str(tmp_path / "text.db")])
    assert done.exit_code in (6, 7) and "Traceback" not in done.output


# -- tell and import, twice --------------------------------------------------------------------------------------------


def test_a_file_of_answers_told_twice_adds_nothing(make, location, tmp_path):
    project = make(location, data=small())
    rows = [{"item": f"p{n}", "values": {"left": n % 2 == 0, "far": False}} for n in range(6)]
    file = tmp_path / "answers.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    run("tell", location, file, "--who", "ann")
    events = project.events()
    told = run("tell", location, file, "--who", "ann")
    assert project.events() == events and len(events) == 6
    assert "6" in told.output
    run("tell", location, file, "--who", "bob")  # another person says the same: that counts
    assert len(project.events()) == 12


def test_exit_codes_of_ask_and_tell(make, location):
    project = make(location, data=small(2))
    first = json.loads(run("ask", location, "--json", "--who", "ann").stdout)[0]
    assert json.loads(run("ask", location, "--json", "--who", "ann").stdout)[0]["lease"] == first["lease"]
    lease = ("tell", location, "--lease", first["lease"])
    run(*lease, "--yes", "left", "--others-no", "--who", "bob", code=5)  # somebody else's
    run(*lease, "--yes", "nothing of the kind", "--who", "ann", code=2)
    run(*lease, "--yes", "left", "--no", "left", "--who", "ann", code=2)
    assert project.events() == []
    for _ in range(2):
        run(*lease, "--yes", "left", "--others-no", "--who", "ann")
    run(*lease, "--no", "left", "--others-no", "--who", "ann", code=5)
    assert [dict(event.values) for event in project.events()] == [{"left": True, "low": False, "far": False}]
    item = ("tell", location, "--item", first["item"], "--who", "ann")
    assert CliRunner().invoke(app, [*item, "--no", "left"]).exit_code in (2, 5)
    assert len(project.events()) == 1
    run(*item, "--no", "left", "--correct")
    assert by_view(project)[first["item"], "left"] is False
    run("tell", location, "--undo", "--who", "ann")
    assert by_view(project)[first["item"], "left"] is True
    project.retire_label("far")
    run(*item, "--yes", "far", code=5)
    second = json.loads(run("ask", location, "--json", "--who", "bob").stdout)[0]
    run("tell", location, "--lease", second["lease"], "--yes", "left", "--others-no", "--who", "bob")
    run("tell", location, "--undo", "--who", "nobody", code=2)
    run("ask", location, "--json", "--who", "cid", code=4)


def test_answers_imported_twice_add_nothing(make, location, place, tmp_path):
    project = make(location, data=small(), overlap=2)
    label_until_done(project)
    project.service.undo("ann")
    project.service.settle(Answer("p1", {"left": False}), "eve")
    file = tmp_path / "answers.jsonl"
    run("export", location, file, "--answers")
    other = place("sqlite")
    Project.create(other, small(), model="binary_relevance", control=0).close()
    run("import", other, file, "--answers")
    with closing(Project(other)) as opened:
        first = history(opened)
        assert by_view(opened) == by_view(project)
    run("import", other, file, "--answers")
    run("import", location, file, "--answers")
    with closing(Project(other)) as opened:
        assert history(opened) == first and len(first) == len(project.events())
        assert by_hand(project.events()) == by_view(project) == by_view(opened)


def test_items_imported_twice_add_nothing(tmp_path):
    (tmp_path / "items.csv").write_text(
        "id,body,tags\na,one word,x;y\nb,two words,\nc,three words,;\n", encoding="utf-8"
    )
    (tmp_path / "more.csv").write_text("id,body,tags\nb,two words,x\nd,four words,y\n", encoding="utf-8")
    project = tmp_path / "p.db"
    run("new", project, "--items", tmp_path / "items.csv", "--text", "body", "--known", "tags")
    with closing(Project(str(project))) as opened:
        first = by_view(opened)
    assert first == {("a", "x"): True, ("a", "y"): True, ("c", "x"): False, ("c", "y"): False}
    for _ in range(2):
        run("import", project, tmp_path / "more.csv", "--known", "tags")
        with closing(Project(str(project))) as opened:
            known = by_view(opened)
            events = len(opened.events())
            assert opened.item_names() == {"a", "b", "c", "d"}
        assert known == {
            **first,
            ("b", "x"): True,
            ("b", "y"): False,
            ("d", "x"): False,
            ("d", "y"): True,
        }
    run("import", project, tmp_path / "more.csv", "--known", "tags")
    with closing(Project(str(project))) as opened:
        assert len(opened.events()) == events


# -- label cells -------------------------------------------------------------------------------------------------------


def read_tags(tmp_path: Path, cells: list[str], **options) -> tuple[tuple[str, ...], list[dict[str, bool]]]:
    """The labels, and of each row what is known, of a csv file whose column `tags` has these cells."""
    path = tmp_path / "tags.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["size", "tags"], *([str(n), cell] for n, cell in enumerate(cells))])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = lw.read(path, labels="tags", **options)
    Y, seen = data.Y.toarray(), data.observed_mask().toarray()
    rows = [{name: bool(Y[i, j]) for j, name in enumerate(data.label_names) if seen[i, j]} for i in range(data.n_items)]
    return data.label_names, rows


NONE: dict[str, bool] = {}
A, B, AB, NOT = {"a": True, "b": False}, {"a": False, "b": True}, {"a": True, "b": True}, {"a": False, "b": False}


@pytest.mark.parametrize(
    ("cells", "options", "expected"),
    [
        (["a;b", "a", "", ";"], {}, [AB, A, NONE, NOT]),
        (["a|b", "b", "|", "NaN"], {}, [AB, B, NOT, NONE]),
        (["a, b", "a", "N/A"], {}, [AB, A, NONE]),
        (["a,b", " b ", "null"], {}, [AB, B, NONE]),
        (['["a", "b"]', "['a']", "[]", "NULL"], {}, [AB, A, NOT, NONE]),
        (["a b", "a"], {"separator": " "}, [AB, A]),
        (["a/b", "b", "/"], {"separator": "/"}, [AB, B, NOT]),
        (["a; b ;", "#N/A", "<NA>", "n/a", "None", "nan", "NA"], {}, [AB, *[NONE] * 6]),
        (["a,b", ""], {"label_names": ["a", "b"]}, [AB, NONE]),
    ],
)
def test_cells_that_list_labels(tmp_path, cells, options, expected):
    assert read_tags(tmp_path, cells, **options) == (("a", "b"), expected)


@pytest.mark.parametrize(
    "cells", [["1", "0", ""], ["true", "false", "NaN"], ["yes", "no", ""], ["True", "False", ""], ["1", "0", " "]]
)
def test_a_column_of_yes_and_no_is_one_label(tmp_path, cells):
    assert read_tags(tmp_path, cells) == (("tags",), [{"tags": True}, {"tags": False}, {}])


def test_zero_and_one_are_labels_where_they_are_listed(tmp_path):
    names, rows = read_tags(tmp_path, ["1", "0"], label_names=["0", "1"])
    assert names == ("0", "1") and rows == [{"0": False, "1": True}, {"0": True, "1": False}]
    assert read_tags(tmp_path, ["1", "0"], separator=";") == (names, rows)


def test_na_is_a_label_where_it_is_listed_and_case_counts(tmp_path):
    assert read_tags(tmp_path, ["NA", "x"], label_names=["NA", "x"])[1] == [
        {"NA": True, "x": False},
        {"NA": False, "x": True},
    ]
    assert read_tags(tmp_path, ["Red;red", "red"])[0] == ("Red", "red")


@pytest.mark.parametrize("cells", [["Goods, other", "x"], ["a;b", "a, c"]])
def test_what_may_be_one_label_or_two_is_an_error(tmp_path, cells):
    with pytest.raises(FormatError) as error:
        read_tags(tmp_path, cells)
    assert ", " in str(error.value) and "separator" in str(error.value)


def test_what_is_found_out_is_told(tmp_path):
    told: list[str] = []
    read_tags(tmp_path, ["a|b", "", "a|b"], notice=told.append)
    text = " ".join(told)
    assert "|" in text and "blank" in text and len(told) >= 2


FORMULAS = ["=1+1", "+SUM(A1)", "-a", "@x", "\tx", "\rx", "'=1", "''", "'", "-5", "+3.5", "-1e5", "a=1", "'+x", "plain"]


@pytest.mark.parametrize("raw", [False, True])
def test_formulas_are_written_escaped_and_read_back(tmp_path, raw):
    data = LabelData.from_arrays(
        np.zeros((len(FORMULAS), 1)),
        np.ones((len(FORMULAS), 1)),
        label_names=["x"],
        item_ids=[f"i{n}" for n in range(len(FORMULAS))],
        items=[{"body": text} for text in FORMULAS],
        feature_names=["size"],
    )
    path = tmp_path / "out.csv"
    lw.write(data, path, labels=None, raw_csv=raw)
    with path.open(encoding="utf-8", newline="") as file:
        cells = [row["body"] for row in csv.DictReader(file)]
    for text, cell in zip(FORMULAS, cells, strict=True):
        if raw:
            assert cell == text
        else:
            number = text in ("-5", "+3.5", "-1e5")
            assert number or cell[0] not in "=+-@\t\r\n"
            assert cell == text if number or text[0] in "ap" else cell.endswith(text)
    if not raw:
        again = lw.read(path, labels=["x"], features=["size"], id="id", items=["body"])
        assert [item["body"] for item in again.items] == FORMULAS


def test_answers_with_formulas_go_out_and_come_back(make, location, place, tmp_path):
    labels = ["=cmd|' /C calc'!A0", "@home", "-a"]
    project = make(location, data=small(3, labels))
    project.tell(Answer("p0", dict.fromkeys(labels, True)), who="=1+1")
    out = tmp_path / "answers.csv"
    run("export", location, out, "--answers")
    with out.open(encoding="utf-8", newline="") as file:
        cells = [cell for row in csv.reader(file) for cell in row]
    assert not [cell for cell in cells if cell[:1] in tuple("=+-@\t\r")]
    other = place("sqlite")
    Project.create(other, small(3, labels), model="binary_relevance", control=0).close()
    run("import", other, out, "--answers")
    with closing(Project(other)) as opened:
        assert [(e.who, dict(e.values)) for e in opened.events()] == [("=1+1", dict.fromkeys(labels, True))]
