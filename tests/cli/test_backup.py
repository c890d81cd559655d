"""Backup, restore and verify by the command line, with exit codes that scripts can use."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing

import numpy as np
import pytest
from typer.testing import CliRunner

from labelwise import Answer, LabelData, Project
from labelwise.cli import app
from labelwise.cli._common import patient_bars


def run(*arguments: object, code: int = 0, typed: str | None = None):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], input=typed)
    assert done.exit_code == code, done.output + done.stderr
    assert "Traceback" not in done.output + done.stderr
    return done


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project p.db with ten items and a few answers, in the folder that the commands run in."""
    monkeypatch.chdir(tmp_path)
    points = np.arange(20.0).reshape(10, 2)
    data = LabelData.from_arrays(points, label_names=["red", "round"], item_ids=[f"d{n}" for n in range(10)])
    with Project.create("p.db", data, model="binary_relevance", overlap=2) as project:
        project.tell([Answer(f"d{n}", {"red": n % 2 == 0}) for n in range(4)], who="ann")
    return tmp_path


def double(item: int, first: dict[int, int], second: dict[int, int]) -> None:
    """Both copies of a question answered by one person within a second, past all rules of today."""
    event = "INSERT INTO events (at, who, kind, item, asked, reason) VALUES (?, '=bob', 'answer', ?, 0, 'strategy')"
    with closing(sqlite3.connect("p.db")) as connection, connection:
        for place, said in enumerate((first, second)):
            number = connection.execute(event, (time.time() - 100 + place / 10, item)).lastrowid
            for label, value in said.items():
                connection.execute("INSERT INTO event_values VALUES (?, ?, ?)", (number, label, value))


def test_there_and_back(folder):
    assert run("backup", "p.db", "b.db").stdout == "b.db: 10 items, 4 events\n"
    assert "b.db is there already" in run("backup", "p.db", "b.db", code=6).stderr
    run("backup", "p.db", "b.db", "--overwrite")
    run("verify", "b.db")
    run("restore", "b.db", "q.db")
    assert "is there already" in run("restore", "b.db", "q.db", code=6).stderr
    for name in ("p", "q"):
        run("export", f"{name}.db", f"{name}.jsonl", "--answers")
    assert (folder / "p.jsonl").read_text() == (folder / "q.jsonl").read_text()


def test_users_are_told_that_they_need_a_link(folder):
    run("user", "add", "p.db", "ann")
    run("backup", "p.db", "b.db")
    assert "labelwise user link q.db NAME" in run("restore", "b.db", "q.db").stdout


def test_a_folder_that_is_not_there(folder):
    assert "none" in run("backup", "p.db", "none/b.db", code=2).stderr
    assert "there is no file none.db" in run("backup", "none.db", "b.db", code=6).stderr
    assert "there is no file none.db" in run("restore", "none.db", "q.db", code=6).stderr
    assert not (folder / "b.db").exists() and not (folder / "q.db").exists()


def test_sound_damaged_and_suspicious_have_codes_of_their_own(folder):
    done = run("verify", "p.db")
    assert "p.db, 10 items, 4 events: sound" in done.stdout
    assert run("verify", "none.db", code=6).stderr.startswith("error: there is no file")
    double(8, {1: 1, 2: 1}, {1: 0, 2: 0})
    done = run("verify", "p.db", code=8)
    assert "p.db, 10 items, 6 events: suspicious" in done.stdout
    assert "answered twice at once: 1 item, by =bob" in done.stdout and "--repair takes it back" in done.stdout
    found = json.loads(run("verify", "p.db", "--json", "--doubled", "review.csv", code=8).stdout)
    assert found["state"] == "suspicious"
    assert [(each["item_name"], each["who"], each["take_back"]) for each in found["doubled"]] == [("d7", "=bob", 6)]
    assert len((folder / "review.csv").read_text().splitlines()) == 2
    with closing(sqlite3.connect("p.db")) as connection, connection:
        connection.execute("UPDATE event_values SET value = 5 WHERE event = 1")
    done = run("verify", "p.db", code=7)
    assert "p.db, 10 items, 6 events: damaged" in done.stdout and "restore the last backup" in done.stdout
    assert "is damaged" in run("verify", "p.db", "--repair", "--yes", code=7).stderr
    run("backup", "p.db", "b.db")  # every byte of it, for whoever looks into it
    assert "b.db is damaged, nothing was restored" in run("restore", "b.db", "q.db", code=7).stderr
    run("restore", "b.db", "q.db", "--accept-damage")


def test_repair_asks_backs_up_and_takes_back(folder):
    double(8, {1: 1, 2: 1}, {1: 0, 2: 0})
    run("verify", "p.db", "--repair", code=8, typed="n\n")
    with Project("p.db") as project:
        assert len(project.events()) == 6, "nothing was done"
    done = run("verify", "p.db", "--repair", "--backup", "before.db", typed="y\n")
    assert "backup: before.db; taken back: 1 answer" in done.stderr
    run("verify", "before.db", code=8)
    with Project("p.db") as project:
        known = project.labelled()
        assert known.Y[[7]].toarray().tolist() == [[True, True]]
    assert "there is nothing to repair" in run("verify", "p.db", "--repair").stderr


def test_where_both_copies_were_filled_in_a_person_decides(folder):
    double(8, {1: 1, 2: 0}, {1: 0, 2: 1})
    done = run("verify", "p.db", code=8)
    assert "in 1 case both may be meant" in done.stdout
    assert "there is nothing to repair" in run("verify", "p.db", "--repair", "--yes", code=8).stderr


def test_a_file_that_is_no_database_is_damaged(folder):
    (folder / "notes.db").write_bytes(b"dear diary, " * 1000)
    assert "notes.db: damaged" in run("verify", "notes.db", code=7).stdout


def test_bars_are_shown_only_where_it_takes_long(capsys):
    for seconds, shown in ((60.0, False), (-1.0, True)):
        with patient_bars(seconds) as update:
            update("rows", 1, 2)
        assert ("rows" in capsys.readouterr().err) == shown
