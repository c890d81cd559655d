"""Backups: what was acknowledged is in them, whatever goes on beside; half of one never has its name."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from labelling.conftest import run_sql
from labelling.store.test_migration import BACK_TO_THE_FIRST
from labelwise import Answer
from labelwise.labelling import Project, StoreError
from labelwise.labelling.safety.backup import backup, restore
from labelwise.labelling.safety.verify import Damaged, verify
from labelwise.labelling.store import Store, copying, schema
from labelwise.labelling.store.engine import read_value
from labelwise.labelling.training.derived import derived_path


def state_of(location) -> tuple[str, dict[str, list[str]]]:
    verdict = verify(location)
    return verdict.state, {check.name: check.examples for check in verdict.checks if check.number}


def rows_of(location, but: tuple[str, ...] = ()) -> dict[str, list]:
    """Every row of every table that is copied."""
    store = Store.open(location)
    with closing(store), store.reading() as connection:
        return {
            table.name: sorted(map(repr, connection.execute(table.select()).all()))
            for table in copying.copied_tables()
            if table.name not in but
        }


def fill(project: Project) -> None:
    """Something in every table."""
    for number in range(5):
        lease = project.ask(who="ann")[0]
        said = dict.fromkeys(lease.question.labels, number % 2 == 0)
        project.service.answer(lease.token, said)
    project.service.undo("ann")
    project.service.skip(project.ask(who="bob")[0].token)
    project.tell([Answer("p1", {"left": True}), Answer("p2", {"far": None, "low": False})], who="cid")
    project.service.settle(Answer("p1", {"left": False}), "eve")
    project.add_label("new", like={"left": 0.5})
    project.merge_labels("low", "new")  # a label refers to a later one
    project.people.add("ann")
    project.people.redeem(project.people.add("eve", "admin"))
    project.people.add_token("label-studio")


@pytest.fixture
def filled(make, location) -> Project:
    project = make(location, control=0.1)
    fill(project)
    return project


@pytest.mark.parametrize("into", ["sqlite", "postgresql"])
def test_a_backup_restores_into_both_kinds_with_every_row(filled, location, into, tmp_path, request):
    copy = tmp_path / "backup.db"
    done = backup(location, copy)
    assert state_of(copy) == ("sound", {})
    back = str(tmp_path / "back.db")
    if into == "postgresql":
        address = request.getfixturevalue("postgres")
        name = f"restored_{time.time_ns()}"
        run_sql(address, f"CREATE SCHEMA {name}")
        back = f"{address}&options=-csearch_path%3D{name}"
    assert restore(copy, back).rows == done.rows | {"labelwise_project": done.rows["labelwise_project"] + 1}
    assert state_of(back) == ("sound", {})
    assert rows_of(back, ("labelwise_project",)) == rows_of(location, ("labelwise_project",))
    with Project(back) as again:
        assert again.events() == filled.events() and again.identity == filled.identity
        assert again.settings == filled.settings
        numbers = [receipt.event for receipt in again.tell([Answer("p9", {"left": True})], who="new")]
        assert numbers == [filled.events()[-1].id + 1], "numbers go on where they were"
        again.add_label("later")
        again.refresh()
        assert again.ask(who="new")


def test_a_backup_lets_nobody_in(filled, location, tmp_path):
    copy, back = tmp_path / "backup.db", str(tmp_path / "back.db")
    with filled.store.reading() as connection:
        secrets = [row.digest for table in copying.CREDENTIALS for row in connection.execute(table.select())]
    assert len(secrets) >= 3
    backup(location, copy)
    assert not [digest for digest in secrets if digest.encode() in copy.read_bytes()], "not in the free pages either"
    restore(copy, back)
    with Project(back) as again:
        with again.store.reading() as connection:
            assert not [row for table in copying.CREDENTIALS for row in connection.execute(table.select())]
        assert [each.name for each in again.people.all()] == ["ann", "eve"]


def test_a_number_once_given_is_never_given_again(filled, location, tmp_path):
    """The last training is gone from its table; its number stays taken in the restored project."""
    with filled.store.writing() as connection:
        last = connection.execute(schema.trainings.select().order_by(schema.trainings.c.id.desc())).first().id
        connection.execute(schema.trainings.delete())
    backup(location, tmp_path / "backup.db")
    restore(tmp_path / "backup.db", tmp_path / "back.db")
    with Project(tmp_path / "back.db") as again:
        again.refresh()
        with again.store.reading() as connection:
            assert min(row.id for row in connection.execute(schema.trainings.select())) > last


def test_a_copy_has_an_identity_of_its_own(filled, location, tmp_path):
    backup(location, tmp_path / "backup.db")
    restore(tmp_path / "backup.db", tmp_path / "copy.db", copy=True)
    with Project(tmp_path / "copy.db") as again:
        assert again.identity != filled.identity


def test_while_four_people_answer_everything_acknowledged_before_is_in_it(make, location, tmp_path):
    project = make(location)
    acknowledged: list[int] = []
    stop = threading.Event()
    trouble: list[BaseException] = []

    def work(who: str) -> None:
        number = 0
        while not stop.is_set():
            said = {name: (number + len(who)) % 2 == 0 for name in ("left", "low", "far")}
            try:
                receipt = project.tell(Answer(f"p{number % 40}", said, correction=True), who=who)[0]
            except BaseException as error:
                trouble.append(error)
                return
            acknowledged.append(receipt.event)
            number += 1

    threads = [threading.Thread(target=work, args=(f"person{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    try:
        for attempt in range(3):
            while len(acknowledged) < 40 * (attempt + 1) and not trouble:
                time.sleep(0.01)
            before = set(acknowledged)
            copy = tmp_path / f"backup-{attempt}.db"
            backup(location, copy)
            assert state_of(copy) == ("sound", {})
            with closing(sqlite3.connect(copy)) as connection:
                assert before <= {row[0] for row in connection.execute("SELECT id FROM events")}
                assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        verdict = verify(location)
        assert (verdict.state, verdict.doubled) == ("sound", ()), "verified while people answer"
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert trouble == [] and len(acknowledged) > 120


SLOW = """
import sys, time
from labelwise.labelling.safety.backup import backup
from labelwise.labelling.store import copying
copying.PAGES_AT_ONCE, copying.ROWS_AT_ONCE = 1, 1
def wait(*_):
    print("going", flush=True)
    time.sleep(60)
backup(sys.argv[1], sys.argv[2], overwrite=True, progress=wait)
"""


@pytest.mark.parametrize("is_there", [False, True])
@pytest.mark.slow
def test_killed_in_mid_backup_the_name_has_what_it_had(filled, location, tmp_path, is_there):
    copy = tmp_path / "folder" / "backup.db"
    copy.parent.mkdir()
    if is_there:
        backup(location, copy)
    before = copy.read_bytes() if is_there else None
    with subprocess.Popen([sys.executable, "-c", SLOW, location, str(copy)], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"going\n"
        process.send_signal(signal.SIGKILL)
    assert copy.exists() == is_there
    if is_there:
        assert copy.read_bytes() == before
    project = Project(location)
    with closing(project):
        project.tell(Answer("p3", {"left": True}), who="dan")  # and nobody is locked out
    backup(location, copy, overwrite=True)
    assert state_of(copy) == ("sound", {})


FULL = """
import resource, signal, sys
from labelwise.labelling.safety.backup import backup
from labelwise.labelling.errors import StoreError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    backup(sys.argv[1], sys.argv[2])
except (StoreError, OSError) as error:
    print("told:", error)
"""


@pytest.mark.skipif(os.name == "nt", reason="needs limits on the size of files, which Windows has not")
def test_no_room_for_the_backup_leaves_nothing(filled, location, tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", FULL, location, str(folder / "backup.db")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("told:")
    assert list(folder.iterdir()) == []


def test_what_is_there_is_not_overwritten(filled, location, tmp_path):
    copy = tmp_path / "backup.db"
    copy.write_text("my notes")
    with pytest.raises(StoreError, match="is there already; choose another name"):
        backup(location, copy)
    assert copy.read_text() == "my notes"
    backup(location, copy, overwrite=True)
    assert state_of(copy) == ("sound", {})
    with pytest.raises(StoreError, match="is there already"):
        restore(copy, copy)
    with pytest.raises(StoreError, match=r"is there already|is not empty"):
        restore(copy, location)
    assert sorted(each.name for each in tmp_path.iterdir() if "part" in each.name) == []


def test_a_project_in_use_is_not_overwritten_by_a_backup(make, tmp_path):
    used, other = make(), make()
    fill(used)
    for target in (used, other):  # its log would be taken for that of the new file
        with pytest.raises(StoreError, match=r"in use as a project|is the project itself"):
            backup(used.store.location, target.store.location, overwrite=True)


def test_a_file_that_appears_at_the_last_moment_is_kept(filled, location, tmp_path, monkeypatch):
    copy = tmp_path / "backup.db"
    original = os.link

    def link(*arguments) -> None:
        copy.write_text("somebody else's")
        original(*arguments)

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(StoreError, match="is there already"):
        backup(location, copy)
    assert copy.read_text() == "somebody else's"


@pytest.mark.parametrize("broken", ["verify_in", "verify"])
def test_a_restore_that_fails_leaves_nothing(filled, location, tmp_path, monkeypatch, request, broken):
    copy = tmp_path / "backup.db"
    backup(location, copy)
    where = str(tmp_path / "back.db")
    if broken == "verify_in":
        address, name = request.getfixturevalue("postgres"), f"failed_{time.time_ns()}"
        run_sql(address, f"CREATE SCHEMA {name}")
        where = f"{address}&options=-csearch_path%3D{name}"
    calls = []

    def fail(*arguments):
        calls.append(arguments)
        if broken == "verify" and len(calls) == 1:
            return verify(*arguments)  # of the backup, before anything is written
        raise RuntimeError("the power went")

    monkeypatch.setattr(f"labelwise.labelling.safety.backup.{broken}", fail)
    with pytest.raises(RuntimeError, match="the power went"):
        restore(copy, where)
    monkeypatch.undo()
    assert [each for each in tmp_path.iterdir() if each.name.startswith((".back", "back.db"))] == []
    restore(copy, where)
    assert state_of(where) == ("sound", {})


def test_what_was_derived_from_an_earlier_project_of_that_name_is_gone(make, tmp_path):
    project = make()
    fill(project)
    backup(project.store.location, tmp_path / "backup.db")
    stale = derived_path(Store(tmp_path / "back.db"), "model.skops")
    stale.parent.mkdir()
    stale.write_bytes(b"of another project")
    restore(tmp_path / "backup.db", tmp_path / "back.db")
    assert not stale.exists()


def test_a_damaged_backup_is_not_restored(make, tmp_path):
    project = make()
    fill(project)
    copy = tmp_path / "backup.db"
    backup(project.store.location, copy)
    with closing(sqlite3.connect(copy)) as connection, connection:
        connection.execute("UPDATE events SET who = 'mallory' WHERE id = 1")
    with pytest.raises(Damaged, match="nothing was restored"):
        restore(copy, tmp_path / "back.db")
    assert not (tmp_path / "back.db").exists()
    restore(copy, tmp_path / "back.db", accept_damage=True)
    assert (tmp_path / "back.db").exists()


def test_a_damaged_project_gives_no_backup_and_keeps_the_old_one(make, tmp_path):
    project = make()
    fill(project)
    copy = tmp_path / "backup.db"
    backup(project.store.location, copy)
    before = copy.read_bytes()
    project.close()
    path = Path(project.store.location)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        page = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events'").fetchone()[0]
    data = bytearray(path.read_bytes())
    data[(page - 1) * size : page * size] = bytes(size)
    path.write_bytes(data)
    with pytest.raises(Damaged, match="no backup was written"):
        backup(path, copy, overwrite=True)
    assert copy.read_bytes() == before


def test_a_database_of_the_first_version_is_backed_up_and_left_as_it_is(make, postgres, tmp_path):
    name = f"first_{time.time_ns()}"
    run_sql(postgres, f"CREATE SCHEMA {name}")
    location = f"{postgres}&options=-csearch_path%3D{name}"
    project = make(location)
    project.tell(Answer("p1", {"left": True}), who="ann")
    with project.store.writing() as connection:
        for statement in BACK_TO_THE_FIRST:
            connection.exec_driver_sql(statement)
    assert (verify(location).version, state_of(location)) == (1, ("sound", {}))
    assert backup(location, tmp_path / "backup.db").version == schema.VERSION
    assert state_of(tmp_path / "backup.db") == ("sound", {})
    with project.store.reading() as connection:
        assert read_value(connection, "version") == 1
    with Project(tmp_path / "backup.db") as again:
        assert [event.who for event in again.events()] == ["ann"]


def test_a_backup_opens_as_a_project(filled, location, tmp_path):
    backup(location, tmp_path / "backup.db")
    assert not (tmp_path / "backup.db-wal").exists(), "one file"
    with Project(tmp_path / "backup.db") as again:
        again.tell(Answer("p7", {"left": True}), who="dan")
    assert state_of(tmp_path / "backup.db") == ("sound", {}), "the seal is of what was there"
