"""Verify finds what is wrong with a project, says so in words, and changes nothing."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from labelwise import Answer
from labelwise.labelling import Project, StoreError
from labelwise.labelling.safety.backup import backup
from labelwise.labelling.safety.doubled import repair
from labelwise.labelling.safety.verify import CHECKS, verify
from labelwise.labelling.store import schema
from labelwise.labelling.store.checking import EventRow
from labelwise.labelling.store.events import NewEvent, add_event
from labelwise.labelling.store.read_only import ReadOnlyStore
from rest_slow import rest_slow


def problems(location) -> dict[str, list[str]]:
    return {check.name: check.examples for check in verify(location).checks if check.number}


def live(project: Project) -> None:
    """Answers, an undo, a skip, a correction, changed labels, an admin who settles, and a question that is open."""
    for number in range(4):
        for who in ("ann", "bob"):
            lease = project.ask(who=who)[0]
            project.service.answer(lease.token, dict.fromkeys(lease.question.labels, number % 2 == 0))
    project.service.undo("ann")
    project.service.skip(project.ask(who="bob")[0].token)
    project.tell([Answer(f"p{n}", {"left": n % 2 == 0, "far": None}) for n in range(30, 36)], who="cid")
    project.tell(Answer("p30", {"left": False}, correction=True), who="cid")
    project.service.settle(Answer("p31", {"left": True}), "eve")
    project.add_label("new")
    project.rename_label("far", "far away")
    project.merge_labels("low", "new")
    assert project.ask(who="dan")


@pytest.fixture
def project(make, location) -> Project:
    made = make(location, overlap=2)
    live(made)
    return made


def test_a_project_that_people_used_is_sound(project, location):
    verdict = verify(location)
    assert problems(location) == {}
    assert (verdict.state, verdict.exit_code, verdict.version) == ("sound", 0, schema.VERSION)
    assert [check.name for check in verdict.checks if check.done] == list(CHECKS)
    assert verdict.rows["events"] == len(project.events())
    json.dumps(verdict.as_dict())


TAMPERED = {  # what was done to the tables: the check that finds it
    "UPDATE event_values SET value = 7 WHERE event = 1 AND label = 1": "events",
    "DELETE FROM event_values WHERE event = 1": "events",
    "INSERT INTO event_values SELECT id, 1, 1 FROM events WHERE kind = 'skip'": "events",
    "UPDATE events SET kind = 'guess' WHERE id = 1": "events",
    "UPDATE events SET asked = 99 WHERE id = 1": "events",
    "UPDATE events SET who = '' WHERE id = 1": "events",
    "UPDATE events SET who = 'zoe' WHERE kind = 'undo'": "events",
    "UPDATE events SET item = item + 1 WHERE kind = 'undo'": "events",
    "UPDATE events SET undoes = NULL WHERE kind = 'undo'": "events",
    "UPDATE events SET undoes = 1 WHERE kind = 'skip'": "events",
    "UPDATE events SET at = 'Infinity' WHERE id = 1": "events",
    "UPDATE events SET at = 5.0 WHERE id = 1": "times",
    "UPDATE events SET at = 99999999999.0 WHERE id = 1": "times",
    "UPDATE events SET who = 'zoe' WHERE id = 1": "leases",
    "UPDATE events SET lease = NULL WHERE id = 1": "leases",
    "UPDATE leases SET state = 'open' WHERE state = 'answered'": "leases",
    "UPDATE leases SET state = 'answered' WHERE state = 'open'": "leases",
    "UPDATE leases SET state = 'lost' WHERE state = 'answered'": "leases",
    "UPDATE labels SET name = 'right' WHERE id = 1": "labels",
    "UPDATE labels SET name = ' ' WHERE id = 1": "labels",
    "UPDATE labels SET retired_at = 1.6e9 WHERE id = 1": "labels",
    "UPDATE labels SET merged_into = 2 WHERE id = 4": "labels",
    "DELETE FROM changes WHERE id = 2": "labels",
    "UPDATE items SET name = '' WHERE id = 1": "items",
    "DELETE FROM labelwise_project WHERE key = 'identity'": "settings",
    "UPDATE labelwise_project SET value = '{\"model\": 3, \"shoe\": 4}' WHERE key = 'settings'": "settings",
    "UPDATE labelwise_project SET value = '\"two\"' WHERE key = 'version'": "tables",
    "DROP VIEW votes": "tables",
    "DROP TABLE tokens": "tables",
    "ALTER TABLE leases DROP COLUMN words": "tables",
    "DROP INDEX events_by_person": "tables",
}


@pytest.mark.parametrize("statement", rest_slow(TAMPERED, 8))
def test_what_was_tampered_with_is_found(project, location, statement):
    check = TAMPERED[statement]
    if location.startswith("postgresql") is False:
        statement = statement.replace("'Infinity'", "9e999")
    with project.store.writing() as connection:
        connection.exec_driver_sql(statement)
    found = problems(location)
    assert check in found, found
    assert verify(location).state == ("suspicious" if check == "times" else "damaged")


def test_a_view_that_says_something_else_is_found_by_the_replay(project, location):
    query = schema.VIEWS["votes"].replace("WHERE latest = 1", "WHERE latest = 1 AND label <> 1")
    assert query != schema.VIEWS["votes"]
    with project.store.writing() as connection:
        connection.exec_driver_sql("DROP VIEW votes")
        connection.exec_driver_sql(f"CREATE VIEW votes AS {query}")
    found = problems(location)
    if location.startswith("postgresql"):
        assert "votes" in found, found
    else:
        assert found == {"tables": ["there is the view votes, which was changed"]}


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE events SET item = 999 WHERE id = 2",
        "INSERT INTO event_values VALUES (998, 1, 1)",
        "UPDATE labels SET merged_into = 77 WHERE id = 1",
    ],
)
def test_a_reference_to_nothing_is_found(make, statement):
    project = make()
    live(project)
    with closing(sqlite3.connect(project.store.location)) as connection, connection:  # which looks after none
        connection.execute(statement)
    assert "references" in problems(project.store.location)


def test_a_view_of_an_earlier_version_is_strange_in_this_one(make):
    project = make()
    with project.store.writing() as connection:
        connection.exec_driver_sql("CREATE VIEW current_labels AS SELECT 1")
    assert problems(project.store.location) == {"tables": ["there is the view current_labels"]}


def test_a_trigger_is_found(project, location):
    with project.store.writing() as connection:
        if location.startswith("postgresql"):
            connection.exec_driver_sql(
                "CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
            )
            connection.exec_driver_sql(
                "CREATE TRIGGER spoil BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION spoil()"
            )
        else:
            connection.exec_driver_sql("CREATE TRIGGER spoil AFTER INSERT ON events BEGIN DELETE FROM leases; END")
    assert problems(location) == {"tables": ["there is the trigger spoil"]}


def test_it_changes_nothing(make, tmp_path):
    made = make()
    live(made)
    made.close()
    path = Path(made.store.location)
    before = path.read_bytes()
    assert verify(path).state == "sound"
    assert path.read_bytes() == before


def test_what_is_in_the_log_is_read_and_left_there(make, tmp_path):
    """As after a kill: the last answers are in the log only, and belong to whoever opens the project."""
    made = make()
    live(made)
    paths = [tmp_path / "killed.db", tmp_path / "killed.db-wal"]
    for path in paths:
        shutil.copy(made.store.location + path.name.removeprefix("killed.db"), path)
    before = [path.read_bytes() for path in paths]
    assert len(before[1]) > 0
    verdict = verify(paths[0])
    assert (verdict.state, verdict.rows["events"]) == ("sound", len(made.events()))
    assert [path.read_bytes() for path in paths] == before


def test_what_is_opened_to_be_read_refuses_to_be_written(project, location):
    store = ReadOnlyStore(location)
    with closing(store), pytest.raises(StoreError), store.writing() as connection:
        connection.exec_driver_sql("UPDATE events SET who = 'zoe'")
    assert problems(location) == {}


def test_in_a_folder_that_cannot_be_written_to(make, tmp_path):
    made = make()
    live(made)
    made.close()
    folder = tmp_path / "read-only"
    folder.mkdir()
    path = folder / "p.db"
    shutil.copy(made.store.location, path)
    path.chmod(0o444)
    folder.chmod(0o555)
    try:
        assert verify(path).state == "sound"
    finally:
        folder.chmod(0o755)


# -- files that are not there, not ours, or damaged --------------------------------------------------------------------


def test_what_is_no_project_is_told(tmp_path):
    with pytest.raises(StoreError, match="there is no file"):
        verify(tmp_path / "none.db")
    with pytest.raises(StoreError, match="is a folder"):
        verify(tmp_path)
    (tmp_path / "empty.db").touch()
    with pytest.raises(StoreError, match="is empty"):
        verify(tmp_path / "empty.db")
    with closing(sqlite3.connect(tmp_path / "music.db")) as connection:
        connection.execute("CREATE TABLE songs (name TEXT)")
    with pytest.raises(StoreError, match="holds no labelwise project"):
        verify(tmp_path / "music.db")


def test_a_newer_version_is_told(make):
    project = make()
    with project.store.writing() as connection:
        connection.exec_driver_sql("UPDATE labelwise_project SET value = '99' WHERE key = 'version'")
    with pytest.raises(StoreError, match="newer labelwise"):
        verify(project.store.location)


def test_a_database_that_cannot_be_reached_is_not_called_damaged():
    pytest.importorskip("psycopg", reason="needs the extra postgres")
    with pytest.raises(StoreError):
        verify("postgresql://nobody@127.0.0.1:1/none?connect_timeout=1")


def truth_of(path: Path) -> dict[str, list]:
    """What people did, and about what."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        return {
            name: connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall()
            for name in ("items", "events", "event_values", "changes")
        }


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_flipped_bytes_never_pass_for_sound_in_a_backup(make, tmp_path, seed):
    """100 files with a few flipped bytes each: never another error, and sound only where the truth is unchanged."""
    made = make()
    live(made)
    copy, broken = tmp_path / "backup.db", tmp_path / "broken.db"
    backup(made.store.location, copy)
    original, truth = copy.read_bytes(), truth_of(copy)
    rng = random.Random(seed)
    damaged = 0
    for _ in range(100):
        data = bytearray(original)
        for _ in range(rng.choice([1, 1, 3, 20])):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        broken.write_bytes(data)
        try:
            verdict = verify(broken)
        except StoreError:  # no project is left of it, or one of a newer version
            continue
        if verdict.state == "sound":
            assert truth_of(broken) == truth
        damaged += verdict.state == "damaged"
    assert damaged > 20


@pytest.mark.parametrize("length", [10, 100, 4096, 20_000])
def test_a_file_cut_short_is_damaged(make, tmp_path, length):
    made = make()
    live(made)
    copy = tmp_path / "backup.db"
    backup(made.store.location, copy)
    copy.write_bytes(copy.read_bytes()[:length])
    assert verify(copy).state == "damaged"


def test_a_word_changed_in_a_backup_is_found(make, tmp_path):
    made = make()
    live(made)
    copy = tmp_path / "backup.db"
    backup(made.store.location, copy)
    data = copy.read_bytes()
    assert data.count(b'"point 17"') == 1
    copy.write_bytes(data.replace(b'"point 17"', b'"point 71"'))
    assert set(problems(copy)) == {"seal"}


def test_a_backup_whose_seal_is_lost_is_damaged(make, tmp_path):
    made = make()
    copy = tmp_path / "backup.db"
    backup(made.store.location, copy)
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("DELETE FROM labelwise_project WHERE key = 'backup'")
    assert set(problems(copy)) == {"seal"}


# -- questions that one person answered twice at once ------------------------------------------------------------------


def doubled_events(project: Project, item: int, first: dict, second: dict, who: str = "ann", **options) -> list[int]:
    """Both copies of a question answered by one person, as the page did with overlap 2; past all rules of today."""
    apart, asked = options.get("apart", 0.05), options.get("asked", 0)
    common = {"who": who, "item": item, "asked": asked, "reason": "strategy"}
    numbers = []
    with project.store.writing() as connection:
        for place, said in enumerate((first, second)):
            at, kind = time.time() - 3600 + 10 * item + apart * place, "answer" if said else "skip"
            done = connection.execute(schema.events.insert().values(at=at, kind=kind, **common))
            numbers.append(done.inserted_primary_key[0])
            for label, value in said.items():
                row = schema.event_values.insert().values(event=numbers[-1], label=label, value=value)
                connection.execute(row)
    return numbers


ALL_NO = {1: 0, 2: 0, 3: 0}


def test_answers_falsified_by_a_second_copy_are_found_and_repaired(make, location):
    project = make(location, overlap=2)
    marked = {item: {1: 1, 2: item % 2, 3: 0} for item in range(1, 21)}
    for item, said in marked.items():
        doubled_events(project, item, said, ALL_NO)
    assert project.labelled().Y.sum() == 0, "every yes was turned into a no"
    verdict = verify(location)
    assert (verdict.state, verdict.exit_code) == ("suspicious", 8)
    assert set(problems(location)) == {"doubled"}
    assert len(verdict.doubled) == 20 and all(each.contradicts for each in verdict.doubled)
    assert verdict.names[3] == "p2" and {each.who for each in verdict.doubled} == {"ann"}
    undone = repair(project.store, verdict.doubled, "admin")
    assert undone == [each.second for each in verdict.doubled]
    data = project.labelled()
    assert data.n_observed == 60
    assert data.Y.toarray()[:20].astype(int).tolist() == [list(said.values()) for said in marked.values()]
    assert verify(location).state == "sound"
    assert len(project.events()) == 60, "nothing was deleted"
    assert repair(project.store, verdict.doubled, "admin") == [], "once"
    project.refresh()
    assert any(lease.question.item in {f"p{n}" for n in range(20)} for lease in project.ask(40, who="bob"))


def test_real_leases_given_twice_at_once_are_found_however_slowly_they_were_saved(make):
    project = make(overlap=2)
    numbers = doubled_events(project, 1, {1: 1, 2: 0}, {1: 1, 2: 0}, apart=30.0)
    assert verify(project.store.location).state == "sound", "half a minute apart, and no leases: nothing odd"
    with project.store.writing() as connection:
        for place, number in enumerate(numbers):
            token = f"lease{place}"
            held = {"token": token, "item": 1, "label": 0, "who": "ann", "reason": "strategy", "rank": 0}
            times = {"given_at": 1.7e9 + 0.001 * place, "expires_at": 1.7e9 + 600, "state": "answered"}
            connection.execute(schema.leases.insert().values(**held, **times))
            connection.execute(schema.events.update().where(schema.events.c.id == number).values(lease=token))
    assert [each.take_back for each in verify(project.store.location).doubled] == [numbers[1]]


@pytest.mark.parametrize(
    ("first", "second", "apart", "back"),
    [
        ({1: 1, 2: 0}, {1: 0, 2: 0}, 0.1, 1),  # the marks, then the noes of the copy left alone
        ({1: 0, 2: 0}, {1: 1, 2: 0}, 0.1, 0),  # marked in the second copy
        ({1: 1, 2: 0}, {1: 1, 2: 0}, 0.1, 1),  # the same twice
        ({1: 1, 2: 0}, {1: 0, 2: 1}, 0.1, None),  # marks in both
        ({1: -1, 2: 0}, {1: 0, 2: 0}, 0.1, 1),
        ({1: 1}, {}, 0.1, 1),  # a skip of the copy
        ({}, {1: 0}, 0.1, 0),
    ],
)
def test_the_copy_that_nobody_filled_in_is_the_one_to_take_back(make, first, second, apart, back):
    project = make(overlap=2)
    numbers = doubled_events(project, 1, first, second, apart=apart)
    (found,) = verify(project.store.location).doubled
    assert found.take_back == (None if back is None else numbers[back])
    repair(project.store, [found], "admin")
    assert verify(project.store.location).state == ("suspicious" if back is None else "sound")


def test_what_was_answered_anew_since_is_not_suspicious(make):
    project = make(overlap=2)
    doubled_events(project, 1, {1: 1, 2: 0}, {1: 0, 2: 1})
    assert verify(project.store.location).state == "suspicious"
    project.tell(Answer("p0", {"left": True, "low": False}, correction=True), who="ann")
    assert verify(project.store.location).state == "sound"


def test_two_parts_of_an_item_are_no_copies(project):
    numbers = doubled_events(project, 1, {1: 0}, {2: 0})
    verdict = verify(project.store.location)
    assert verdict.doubled == () and repair(project.store, verdict.doubled, "admin") == []
    numbers = doubled_events(project, 2, {1: 0, 2: 0}, {2: 0})  # one label is there twice
    assert [each.take_back for each in verify(project.store.location).doubled] == [numbers[1]]


def test_what_is_no_double_is_not_found(make):
    project = make(overlap=2, strategy="uncertainty_pairs")
    doubled_events(project, 1, {1: 1}, {1: 0}, apart=5.0, asked=1)  # a change of mind
    doubled_events(project, 2, {1: 1}, {1: 1}, asked=1)
    with project.store.writing() as connection:
        connection.exec_driver_sql("UPDATE events SET who = 'bob' WHERE id = 4")  # a second opinion
    with project.store.writing() as connection:
        for label in (1, 2, 3):  # the pairs of one item, saved together
            event = NewEvent(time.time(), "ann", 3, asked=label, values={label: 1})
            add_event(connection, event)
    for value in (True, False, True):  # corrected by a program
        project.tell(Answer("p9", {"left": value}, correction=True), who="ann")
    assert problems(project.store.location) == {}


def test_a_repair_leaves_what_changed_meanwhile(make):
    project = make(overlap=2)
    numbers = doubled_events(project, 1, {1: 1}, {1: 0})
    found = verify(project.store.location).doubled
    project.service.undo("ann")
    assert repair(project.store, found, "admin") == []
    assert [event.undoes for event in project.events() if event.kind == "undo"] == [numbers[1]]


@pytest.mark.slow
def test_rows_of_any_type_are_told_not_stumbled_over(make):
    """A file holds whatever was written into it: text for numbers, numbers for text."""
    project = make()
    live(project)
    path = project.store.location
    columns = [name for name in EventRow.__dataclass_fields__ if name not in ("given_at", "values", "id")]
    for name in columns:
        for value in ("'text'", "x'00ff'", "-1", "1.5", "''", "9e999"):
            with closing(sqlite3.connect(path)) as connection:
                before = connection.execute(f"SELECT {name} FROM events WHERE id = 3").fetchone()[0]
                connection.execute(f"UPDATE events SET {name} = {value} WHERE id = 3")
                connection.commit()
                assert verify(path).state in ("damaged", "suspicious", "sound")
                connection.execute(f"UPDATE events SET {name} = ? WHERE id = 3", (before,))
                connection.commit()
    assert verify(path).state == "sound"
