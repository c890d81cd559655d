"""A small project of every version of the tables that there was: it opens, verifies, and loses nothing on any way.

A new version needs a file more and no change here, see versions/make_version.py.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from labelwise.labelling import Project
from labelwise.labelling.exchange.transfer import read_events_file, write_events
from labelwise.labelling.safety.backup import backup, restore
from labelwise.labelling.safety.verify import verify
from labelwise.labelling.store import schema

VERSIONS = {int(path.stem.rpartition("_")[2]): path for path in Path(__file__).with_name("versions").glob("*.sql")}


@pytest.fixture(params=sorted(VERSIONS))
def old(request, tmp_path) -> Path:
    """A project file as that version left it."""
    path = tmp_path / f"version-{request.param}.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.executescript(VERSIONS[request.param].read_text(encoding="utf-8"))
    return path


def version_of(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])


def answers_of(path: Path) -> list:
    return read_events_file(str(VERSIONS[version_of(path)].with_suffix(".jsonl")))


def problems(location) -> dict[str, list[str]]:
    return {check.name: check.examples for check in verify(location).checks if check.number}


def assert_same_answers(location, old: Path, folder: Path) -> None:
    with Project(location) as project:
        out = folder / "again.jsonl"
        write_events(project.events(), str(out))
        assert read_events_file(str(out)) == answers_of(old)


def test_there_is_a_file_of_every_version():
    assert sorted(VERSIONS) == list(range(1, schema.VERSION + 1)), "run versions/make_version.py"


def test_it_verifies_as_it_is_and_is_not_touched(old):
    before = old.read_bytes()
    verdict = verify(old)
    assert problems(old) == {} and all(check.done for check in verdict.checks)
    assert (verdict.state, verdict.version) == ("sound", version_of(old))
    assert verdict.is_older == (version_of(old) < schema.VERSION)
    assert verdict.rows["events"] == len(answers_of(old)) > 20
    assert old.read_bytes() == before


def test_it_opens_and_says_the_same(old, tmp_path):
    with Project(old) as project:
        known = project.labelled()
        assert known.n_observed > 20
        assert project.ask(who="zoe")
    assert_same_answers(old, old, tmp_path)
    assert (verify(old).version, problems(old)) == (schema.VERSION, {})


@pytest.mark.slow
def test_it_is_backed_up_as_it_is_and_restored_up_to_date(old, location, tmp_path):
    before = old.read_bytes()
    copy = tmp_path / "backup.db"
    assert backup(old, copy).version == version_of(old)
    assert old.read_bytes() == before
    assert (verify(copy).version, problems(copy)) == (version_of(old), {})
    assert restore(copy, location).version == schema.VERSION
    assert problems(location) == {}
    assert_same_answers(location, old, tmp_path)
    with Project(old) as first, Project(location) as second:
        assert first.labelled().Y.toarray().tolist() == second.labelled().Y.toarray().tolist()
        assert [each.name for each in first.people.all()] == [each.name for each in second.people.all()]


def test_a_lost_answer_is_found(old):
    """The same checks are not blind: one value less, one more vote than events give."""
    with closing(sqlite3.connect(old)) as connection, connection:
        connection.execute("DELETE FROM event_values WHERE event = 1")
    assert "events" in problems(old)
