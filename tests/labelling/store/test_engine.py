"""Where a project lives: what is wrong with a place is told in one line, and nothing is lost or half done."""

from __future__ import annotations

import sqlite3
import threading

import pytest

from labelwise import Answer
from labelwise.labelling import Project, StoreError
from labelwise.labelling.store import Store, schema
from labelwise.labelling.store.engine import _Job, read_value, write_value


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(StoreError, match=r"there is no project .*none.db; make one with: labelwise new"):
        Project(tmp_path / "none.db")


def test_a_folder(tmp_path):
    with pytest.raises(StoreError, match="is a folder, a project is one file"):
        Project(tmp_path)


def test_a_place_that_is_taken(make, pool):
    project = make()
    with pytest.raises(StoreError, match="is there already"):
        Project.create(project.store.location, pool)


def test_a_database_that_has_a_project(make, postgres, pool):
    make(postgres)
    with pytest.raises(StoreError, match="there is a project in this database already"):
        Project.create(postgres, pool)


def test_a_foreign_file_is_told_and_not_touched(tmp_path):
    path = tmp_path / "notes.db"
    path.write_bytes(b"dear diary, " * 1000)
    with pytest.raises(StoreError, match="this is no database file"):
        Project(path)
    assert path.read_bytes() == b"dear diary, " * 1000


def test_a_foreign_database_is_told_and_not_touched(tmp_path):
    path = tmp_path / "music.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE songs (name TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="is a database, but holds no labelwise project"):
        Project(path)
    assert path.read_bytes() == before


def test_a_file_cut_short(make):
    project = make()
    project.close()
    path = project.store.location
    with open(path, "r+b") as file:
        file.truncate(file.seek(0, 2) // 2)
    with pytest.raises(StoreError, match="damaged or was cut short"):
        Project(path).labelled()


def test_an_empty_file(tmp_path):
    (tmp_path / "empty.db").touch()
    with pytest.raises(StoreError, match="its making was cut short"):
        Project(tmp_path / "empty.db")


def test_a_newer_schema(make, location):
    project = make(location)
    with project.store.writing() as connection:
        write_value(connection, "version", schema.VERSION + 1)
    with pytest.raises(StoreError, match=r"written by a newer labelwise .* update labelwise"):
        Project(location)


def test_an_older_schema_is_brought_up_to_date(make, location, monkeypatch):
    project = make(location)
    project.tell(Answer("p0", {"left": True}))

    def add_column(connection):
        connection.exec_driver_sql("ALTER TABLE items ADD COLUMN note TEXT")

    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    monkeypatch.setitem(schema.MIGRATIONS, schema.VERSION - 1, add_column)
    with Project(location) as opened, opened.store.reading() as connection:
        assert read_value(connection, "version") == schema.VERSION
        assert connection.exec_driver_sql("SELECT count(note) FROM items").scalar() == 0
    with Project(location) as again:
        assert len(again.events()) == 1


def test_a_failed_migration_leaves_the_old_version(make, location, monkeypatch):
    make(location)

    def break_down(connection):
        connection.exec_driver_sql("ALTER TABLE items ADD COLUMN note TEXT")
        connection.exec_driver_sql("SELECT x FROM nowhere")

    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    monkeypatch.setitem(schema.MIGRATIONS, schema.VERSION - 1, break_down)
    with pytest.raises(StoreError, match="nowhere"):
        Project(location)
    monkeypatch.undo()
    with Project(location) as project, project.store.reading() as connection:
        assert read_value(connection, "version") == schema.VERSION


def test_a_full_disk_acknowledges_nothing_and_loses_nothing(make):
    project = make()
    project.tell(Answer("p0", {"left": True}))

    def fill(connection):
        connection.exec_driver_sql("PRAGMA max_page_count = 1")  # becomes the present size: no page can be added
        connection.exec_driver_sql("INSERT INTO labels (id, name) VALUES (99, hex(zeroblob(100000)))")

    with pytest.raises(StoreError, match="the disk is full: nothing was changed; make room"):
        project.store.write(fill)
    project.store.close()  # and a new connection finds room again
    assert [event.values for event in project.events()] == [{"left": True}]
    project.tell(Answer("p1", {"left": False}))
    assert len(project.events()) == 2


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("database or disk is full", "the disk is full: nothing was changed"),
        ("attempt to write a readonly database", "is read-only"),
        ("could not extend file: No space left on device", "the disk is full"),
        ("database is locked", "somebody else has been writing"),
    ],
)
def test_what_the_database_says_becomes_a_cure(make, said, told):
    project = make()
    with pytest.raises(StoreError, match=told), project.store.writing():
        raise sqlite3.OperationalError(said)


def test_a_folder_that_cannot_be_written(tmp_path, pool):
    with pytest.raises(StoreError, match="is the folder there, and may you write in it"):
        Project.create(tmp_path / "not" / "there.db", pool)


def test_a_file_that_cannot_be_written(make):
    project = make()

    def write(connection):
        connection.exec_driver_sql("PRAGMA query_only = ON")
        connection.exec_driver_sql("DELETE FROM items")

    with pytest.raises(StoreError, match="read-only"):
        project.store.write(write)


@pytest.mark.parametrize("address", ["mysql://me@here/db", "://", "redis://x"])
def test_other_databases_are_refused(address):
    with pytest.raises(StoreError, match=r"projects live in SQLite|is no address"):
        Store(address)


def test_a_server_that_is_not_there_and_no_password_in_the_message():
    with pytest.raises(StoreError) as raised:
        Project("postgresql://me:secret@localhost:1/db")
    assert "secret" not in str(raised.value)


def test_one_who_goes_away_while_it_is_his_turn_leaves_nobody_waiting(make):
    store = make().store
    release, began, results = threading.Event(), threading.Event(), []

    def slow(connection):
        began.set()
        release.wait(10)

    leader = threading.Thread(target=store.write, args=(slow,))
    leader.start()
    began.wait(10)
    gone = _Job(lambda connection: results.append("gone"))
    store._waiting.append(gone)  # he waits first, so he is to lead next
    other = threading.Thread(target=lambda: results.append(store.write(lambda connection: "done")))
    other.start()
    while len(store._waiting) < 2:
        pass
    release.set()
    leader.join()
    assert gone.woken.is_set() and not gone.done
    store._give_up(gone)
    other.join(10)
    assert results == ["done"]


def test_tasks_saved_together_fail_alone(make, location):
    store = make(location).store
    release, began = threading.Event(), threading.Event()
    results: dict[int, object] = {}

    def slow(connection):
        began.set()
        release.wait(10)

    def task(number: int) -> None:
        def write(connection):
            connection.exec_driver_sql(f"INSERT INTO labels (id, name) VALUES ({100 + number}, 'label {number}')")
            if number == 2:
                raise ValueError("not this one")
            return number

        try:
            results[number] = store.write(write)
        except ValueError as error:
            results[number] = str(error)

    first = threading.Thread(target=store.write, args=(slow,))
    first.start()
    began.wait(10)
    others = [threading.Thread(target=task, args=(number,)) for number in range(5)]
    for thread in others:
        thread.start()
    while len(store._waiting) < 5:
        pass
    release.set()
    for thread in [first, *others]:
        thread.join()
    assert results == {0: 0, 1: 1, 2: "not this one", 3: 3, 4: 4}
    with store.reading() as connection:
        saved = connection.exec_driver_sql("SELECT id FROM labels WHERE id >= 100 ORDER BY id").scalars().all()
    assert saved == [100, 101, 103, 104]
