"""A project's file that is replaced, copied over or deleted while it is open: no answer is acknowledged and lost."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from labelwise import Answer
from labelwise.labelling import Project, StoreError
from labelwise.labelling.errors import ProjectFileReplaced
from labelwise.labelling.store import open_file
from labelwise.labelling.store.engine import read_value
from labelwise.labelling.training.worker_process import start_worker
from rest_slow import rest_slow

pytestmark = pytest.mark.skipif(os.name != "posix", reason="elsewhere a file that is open cannot be replaced")
REFUSED = "replaced or deleted while it was open; nothing was saved; stop the server"


def answer(project: Project, *numbers: int) -> None:
    for number in numbers:
        project.tell(Answer(f"p{number}", {"left": True}))


LOOK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
print(connection.execute("SELECT count(*) FROM events").fetchone()[0])
"""


def in_file(path: str) -> int:
    """The answers that another process finds in the file, which must be whole."""
    return int(subprocess.run([sys.executable, "-c", LOOK, path], capture_output=True, text=True, check=True).stdout)


def checkpoint(project: Project) -> None:
    """Write the pages in the log into the file, as SQLite does now and then."""
    with project.store._engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)")


def rename_over(path: str, backup: str) -> None:
    shutil.copy(backup, f"{path}.new")
    os.replace(f"{path}.new", path)


def copy_over(path: str, backup: str) -> None:
    subprocess.run(["cp", backup, path], check=True)  # by another process: closing a file drops a process's locks


REPLACING = [rename_over, copy_over]


@pytest.fixture
def served(make, tmp_path) -> tuple[Project, str, str]:
    """A project with a backup of its first 5 answers, and 10 more after it."""
    project = make()
    path, backup = project.store.location, str(tmp_path / "backup.db")
    answer(project, *range(5))
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(backup)) as target:
        source.backup(target)
    answer(project, *range(5, 10))
    checkpoint(project)
    answer(project, *range(10, 15))
    return project, path, backup


@pytest.mark.parametrize("replace", rest_slow(REPLACING))
def test_a_backup_put_in_its_place_stops_the_work_and_stays_whole(served, replace: Callable[[str, str], None]):
    project, path, backup = served
    replace(path, backup)
    for number in range(15, 30):
        with pytest.raises(StoreError, match=REFUSED):
            answer(project, number)
    with pytest.raises(StoreError, match=REFUSED):
        project.events()
    assert in_file(path) == 5, "also before the server is stopped"
    project.close()
    assert in_file(path) == 5, "also after that"
    code = f"""
from labelwise import Answer
from labelwise.labelling.served import ServedProject
with ServedProject({path!r}) as project:
    project.service.tell([Answer("p20", {{"left": True}})], "ann")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert in_file(path) == 6, "and it can be worked with"


@pytest.mark.parametrize("replace", REPLACING)
@pytest.mark.slow
def test_a_backup_is_not_written_to_by_a_process_that_ends(served, replace: Callable[[str, str], None]):
    """It had the file open, and nobody asked it for anything since."""
    project, path, backup = served
    project.close()
    code = f"""
import sys
from labelwise import Answer
from labelwise.labelling.served import ServedProject
with ServedProject({path!r}) as project:
    project.service.tell([Answer("p20", {{"left": True}})], "ann")
    print("open", flush=True)
    sys.stdin.readline()
"""
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None and other.stdout.readline() == "open\n"
        replace(path, backup)
        other.communicate("\n", timeout=60)
    assert other.returncode == 0
    with Project(path) as again:
        assert len(again.events()) == 5
    assert in_file(path) == 5


def test_the_log_of_the_old_file_is_kept(served):
    project, path, backup = served
    os.rename(path, f"{path}.moved")
    shutil.copy(backup, path)
    with pytest.raises(StoreError, match=r"newest answers to the old file may be in .*-wal\.replaced-1"):
        answer(project, 20)
    project.close()
    os.rename(f"{path}-wal.replaced-1", f"{path}.moved-wal")
    assert in_file(f"{path}.moved") == 15


def test_a_file_that_is_deleted_stops_the_work_and_is_not_made_anew(served):
    project, path, _ = served
    os.unlink(path)
    for _ in range(3):
        with pytest.raises(StoreError, match=REFUSED):
            answer(project, 20)
    project.store._engine.dispose()  # a new connection has to be opened
    with pytest.raises(ProjectFileReplaced, match=REFUSED):
        project.events()
    project.close()
    assert not os.path.exists(path)


def test_a_file_that_comes_back_has_lost_nothing(served):
    project, path, _ = served
    os.rename(path, f"{path}.away")
    with pytest.raises(StoreError, match=REFUSED):
        answer(project, 20)
    os.rename(f"{path}.away", path)
    answer(project, 20)
    assert len(project.events()) == 16
    project.close()
    assert in_file(path) == 16


@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
def test_a_log_that_is_deleted_stops_the_work_and_what_was_saved_stays(served, suffix):
    project, path, _ = served
    os.unlink(path + suffix)
    with pytest.raises(StoreError, match=REFUSED):
        answer(project, 20)
    with pytest.raises(StoreError, match=REFUSED):
        project.events()
    project.close()
    assert in_file(path) == 15


@pytest.mark.parametrize("replace", [*REPLACING, lambda path, _: os.unlink(path)])
def test_what_is_replaced_while_it_is_being_saved_is_not_acknowledged(served, replace):
    project, path, backup = served

    def save(connection):
        connection.exec_driver_sql("UPDATE labels SET name = 'right' WHERE name = 'left'")
        replace(path, backup)

    with pytest.raises(ProjectFileReplaced, match=REFUSED):
        project.store.write(save)
    with pytest.raises(ProjectFileReplaced, match=REFUSED), project.store.writing():
        pass


def test_a_connection_made_later_does_not_lead_to_the_new_file(served):
    project, path, backup = served
    rename_over(path, backup)
    project.store._engine.dispose()  # as if all connections were in use
    with pytest.raises(ProjectFileReplaced, match=REFUSED):
        answer(project, 20)
    assert in_file(path) == 5


def test_another_project_copied_over_it_is_noticed(served, make):
    project, path, _ = served
    other = make()
    answer(other, *range(20))
    other.close()
    copy_over(path, other.store.location)
    with pytest.raises(ProjectFileReplaced, match=REFUSED):
        answer(project, 20)
    project.close()
    assert in_file(path) == 20


PACK = """
import sqlite3, sys
sqlite3.connect(sys.argv[1], isolation_level=None).execute(sys.argv[2])
"""


def test_a_packed_copy_copied_over_it_is_noticed(make, tmp_path):
    """Its tables are at other pages: the pages in the log of the old file would destroy it."""
    project, copy = make(), str(tmp_path / "packed.db")
    path = project.store.location
    answer(project, *range(5))
    subprocess.run([sys.executable, "-c", PACK, path, f"VACUUM INTO '{copy}'"], check=True)
    answer(project, *range(5, 10))
    copy_over(path, copy)
    for number in range(10, 15):
        with pytest.raises(ProjectFileReplaced, match=REFUSED):
            answer(project, number)
    project.close()
    assert in_file(path) == 5


def test_a_file_that_is_packed_in_its_place_goes_on(make):
    project = make()
    path = project.store.location
    answer(project, *range(5))
    project.store.close()
    answer(project, *range(5, 10))
    before = open_file._read_content(path)
    subprocess.run([sys.executable, "-c", PACK, path, "VACUUM"], check=True)
    answer(project, *range(10, 15))
    checkpoint(project)
    assert before.has_moved(open_file._read_content(path))
    answer(project, *range(15, 20))
    project.close()
    assert in_file(path) == 20


def test_other_processes_may_write_into_the_file(served):
    project, path, _ = served
    code = f"""
from labelwise import Answer
from labelwise.labelling.served import ServedProject
with ServedProject({path!r}) as project:
    for number in range(20, 40):
        project.service.tell([Answer(f"p{{number}}", {{"left": True}})], "ann")
    with project.store._engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
"""
    answer(project, 15)
    subprocess.run([sys.executable, "-c", code], check=True)
    answer(project, 16)
    assert len(project.events()) == 37
    project.close()
    assert in_file(path) == 37


def test_looking_at_the_file_keeps_the_locks_on_it(served):
    project, path, _ = served
    code = f"""
import sqlite3
try:
    sqlite3.connect({path!r}, timeout=0.2, isolation_level=None).execute("BEGIN IMMEDIATE")
except sqlite3.OperationalError as error:
    print(error)
"""
    with project.store.writing():
        assert open_file._read_content(path).numbers["events"] >= 10
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout == "database is locked\n"


def test_a_file_that_was_closed_may_be_replaced(served):
    project, path, backup = served
    project.store.close()
    rename_over(path, backup)
    assert len(project.events()) == 5


@pytest.mark.slow
def test_the_worker_stops_and_leaves_the_new_file_alone(served, make):
    project, path, backup = served
    process = start_worker(project.store)
    while not project.is_settled:
        assert process.poll() is None
        time.sleep(0.1)
    rename_over(path, backup)
    assert process.wait(60) == StoreError.exit_code
    with Project(path) as again, again.store.reading() as connection:
        assert len(again.events()) == 5
        assert read_value(connection, "identity")
        assert connection.exec_driver_sql("SELECT count(*) FROM trainings").scalar() == 0
    assert not Path(f"{path}-wal").exists()


def die_in_a_checkpoint(path: str, folder: Path) -> None:
    """As if a process had been killed when it had written the first of the pages that are in the log.

    Done by another process than the one that has the file open: closing a file drops a process's locks.
    """
    copy = folder / "copy.db"
    for suffix in ("", "-wal"):
        shutil.copy(path + suffix, f"{copy}{suffix}")
    with closing(sqlite3.connect(copy)) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
    assert pages * size > os.path.getsize(path), "the file grows by this checkpoint"
    command = ["dd", f"if={copy}", f"of={path}", f"bs={size}", "count=1", "conv=notrunc"]
    subprocess.run(command, check=True, capture_output=True)


@pytest.mark.slow
def test_a_checkpoint_that_was_cut_short_is_no_other_file(make, tmp_path, monkeypatch):
    """The log makes the file whole: it stays beside it, and nothing that was acknowledged is lost."""
    monkeypatch.setattr(open_file, "PATIENCE", 0.1)
    project = make()
    path, acknowledged = project.store.location, 0
    checkpoint(project)
    for person in range(15):
        project.tell([Answer(f"p{i}", {"left": True, "low": False}) for i in range(38)], who=f"person {person}")
        acknowledged += 38
    copied = subprocess.run(
        [sys.executable, "-c", DIES, str(Path(__file__).parent), path, str(tmp_path)], capture_output=True, text=True
    )
    assert copied.returncode == 0, copied.stderr
    with closing(sqlite3.connect(f"file:{path}?immutable=1", uri=True)) as alone, pytest.raises(sqlite3.DatabaseError):
        alone.execute("SELECT count(*) FROM sqlite_master").fetchone()
    answer(project, 38, 39)
    assert not list(tmp_path.glob("*replaced*")) and not project.store._file.is_overwritten
    assert len(project.events()) == acknowledged + 2 == in_file(path)


DIES = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_open_file import die_in_a_checkpoint
die_in_a_checkpoint(sys.argv[2], Path(sys.argv[3]))
"""
