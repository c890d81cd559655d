"""The fault harness of benchmarks/: it finds what is wrong, and in short histories nothing is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from _store_model import Sent, StoreModel, majority, sent_values
from labelwise import LabelData
from labelwise.labelling import Project
from rest_slow import rest_slow

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
DISK = """
import random, sqlite3, sys
from _simulated_disk import SimulatedDisk

disk = SimulatedDisk(random.Random(0))
disk.install()


def rows_after_a_power_loss(synchronous, keep_some):
    disk.load({})
    connection = sqlite3.connect("/nowhere.db", isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("CREATE TABLE t (n)")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute(f"PRAGMA synchronous={synchronous}")
    for n in range(20):
        connection.execute("INSERT INTO t VALUES (?)", (n,))
    disk.is_off = True
    connection.close()
    disk.power_loss(keep_some=keep_some)
    again = sqlite3.connect("/nowhere.db")
    assert again.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    found = again.execute("SELECT count(*) FROM t").fetchone()[0]
    again.close()
    return found


for how in (("FULL", False), ("FULL", True), ("OFF", False)):
    print(rows_after_a_power_loss(*how))
"""


def run(*arguments: str) -> str:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, cwd=BENCHMARKS, check=True)
    return done.stdout


def test_the_simulated_disk_keeps_what_was_synced_and_nothing_else():
    assert run("-c", DISK).split() == ["20", "20", "0"]


@pytest.mark.parametrize("n", rest_slow([15, 60]))
def test_short_histories_lose_double_and_falsify_nothing(n):
    found = json.loads(run("faults.py", "--only", "histories", "--histories", str(n)).splitlines()[-1])
    assert found["histories"]["histories"] == n
    assert found["faults"] > n // 3
    assert found["acknowledged"] > n
    assert [found[kind] for kind in ("lost", "doubled", "falsified", "wrong_author")] == [0, 0, 0, 0]


@pytest.fixture
def answered(tmp_path) -> tuple[Project, StoreModel]:
    """A project with two answers, both in the model."""
    data = LabelData.from_arrays([[0.0], [1.0], [2.0]], label_names=["a", "b"], item_ids=["x", "y", "z"])
    project, model = Project.create(tmp_path / "p.db", data, model="binary_relevance", control=0.0), StoreModel()
    for lease in project.ask(2, who="ann"):
        values = {"a": True, "b": False}
        sent = Sent("ann", lease.question.item, "answer", sent_values(values), lease.token)
        model.acknowledge(project.service.answer(lease.token, values).event, sent)
    return project, model


@pytest.mark.parametrize(
    ("harm", "kind"),
    [
        ("UPDATE event_values SET value = 0 WHERE event = 1 AND label = 1", "falsified"),
        ("UPDATE events SET who = 'bob' WHERE id = 1", "wrong_author"),
        ("DELETE FROM event_values WHERE event = 2; DELETE FROM events WHERE id = 2", "lost"),
        ("UPDATE events SET item = (SELECT item FROM events WHERE id = 2) WHERE id = 1", "falsified"),
        (
            "INSERT INTO events (at, who, kind, item, asked, reason, lease)"
            " SELECT at, who, kind, item, asked, reason, 'another' FROM events WHERE id = 1;"
            "INSERT INTO event_values VALUES (3, 1, 1)",
            "doubled",
        ),
        (
            "INSERT INTO events (at, who, kind, item, asked, reason) VALUES (1, 'eve', 'skip', 1, 0, 'told')",
            "falsified",
        ),
    ],
)
def test_the_model_finds_what_was_done_to_a_store(answered, harm, kind):
    project, model = answered
    with project.store.reading() as connection:
        assert model.check(connection).all() == []
    with project.store.writing() as connection:
        for statement in harm.split(";"):
            connection.exec_driver_sql(statement)
    with project.store.reading() as connection:
        assert model.check(connection).counts()[kind] > 0


def test_the_majority_by_hand():
    assert majority({"ann": (1, 1, False), "bob": (2, 0, False)}) == 0  # as many: the last to speak
    assert majority({"ann": (1, 1, True), "bob": (2, 0, False), "eve": (3, 0, False)}) == 1
    assert majority({"ann": (1, 1, True), "bob": (2, 0, True), "eve": (3, 1, False)}) == 0  # the last that settles
    assert majority({"ann": (1, -1, False)}) is None
