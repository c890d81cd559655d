"""Notes and flags on items: kept, answered once, exported."""

from __future__ import annotations

import pytest

from labelwise.data.formats.rows import read_rows
from labelwise.labelling.errors import ProjectError
from labelwise.labelling.exchange.transfer import export_notes


def test_notes_are_kept_answered_once_and_exported(make, location, tmp_path):
    project = make(location)
    first = project.notes.add("p1", "ann", "  what is this? ")
    second = project.notes.add("p2", "bob", kind="unreadable")
    assert [note.text for note in project.notes.all()] == ["what is this?", ""]
    assert project.notes.all("p2") == [second] and all(note.is_open for note in project.notes.all())
    project.notes.answer(first.id, "eve", "a point")
    with pytest.raises(ProjectError, match="no open note"):
        project.notes.answer(first.id, "cid", "a line")
    assert [(n.is_open, n.answer, n.answered_by) for n in project.notes.all("p1")] == [(False, "a point", "eve")]
    assert export_notes(project, str(tmp_path / "notes.csv")) == 2
    rows = list(read_rows(str(tmp_path / "notes.csv"), ["item", "kind", "text", "answer"]))
    assert [(row["item"], row["kind"], row["answer"] or None) for *_, row in rows] == [
        ("p1", "note", "a point"),
        ("p2", "unreadable", None),
    ]
    project.notes.reopen(first.id)
    assert sum(note.is_open for note in project.notes.all()) == 2


def test_notes_that_say_nothing_or_are_on_nothing_are_refused(make):
    project = make()
    for wrong, message in (
        ({"item": "p1", "text": " "}, "says nothing"),
        ({"item": "p1", "text": "x" * 4001}, "at most 4000"),
        ({"item": "p1", "text": "x", "kind": "joke"}, "got 'joke'"),
        ({"item": "nowhere", "text": "x"}, "no item 'nowhere'"),
    ):
        with pytest.raises(ProjectError, match=message):
            project.notes.add(who="ann", **wrong)
    with pytest.raises(ProjectError, match="no answered note"):
        project.notes.reopen(7)
