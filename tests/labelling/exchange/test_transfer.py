"""Events to files and back, with everything that makes files go wrong."""

import pytest

from labelwise import Answer
from labelwise.data import FormatError
from labelwise.labelling import Event
from labelwise.labelling.exchange.transfer import read_events_file, write_events

EVENTS = [
    Event(1, 1.7e9 + 0.123456, "ann; b, c", "answer", 'p"1', None, "strategy", {"a;b": True, "c,d": False, "e": None}),
    Event(2, 1.7e9 + 1.0, "bob", "skip", "p2", "a;b", "control", {}),
    Event(3, 1.7e9 + 2.5, "ann; b, c", "undo", 'p"1', None, "strategy", {}, undoes=1),
]
HEAD = "event,at,who,kind,item,asked,reason,undoes,label,value\n"


@pytest.mark.parametrize("name", ["events.csv", "events.jsonl", "events.jsonl.gz", "events.csv.bz2"])
def test_what_is_written_is_read_back(tmp_path, name):
    write_events(EVENTS, str(tmp_path / name))
    assert read_events_file(str(tmp_path / name)) == EVENTS


@pytest.mark.parametrize("suffix", [".csv", ".jsonl"])
def test_a_project_imported_into_a_new_one_is_equal(make, tmp_path, suffix):
    project, copy = make(), make()
    for number, who in enumerate(["ann", "bob", "ann"]):
        project.tell(Answer(f"p{number}", {"left": number == 1, "low": None}), who=who)
    lease = project.ask(who="eve")[0]
    project.service.skip(lease.token)
    project.service.undo("bob")
    path = str(tmp_path / f"answers{suffix}")
    write_events(project.events(), path)
    copy.record(read_events_file(path))
    assert copy.events() == project.events()
    assert (copy.labelled().observed != project.labelled().observed).nnz == 0
    assert (copy.labelled().Y != project.labelled().Y).nnz == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("event,at\n1,2\n", "there is no 'who'"),
        (HEAD + "1,2020-01-01T00:00:00+00:00,ann,shout,p1,,strategy,,a,yes\n", "line 2: found the kind 'shout'"),
        (HEAD + "1,2020-01-01T00:00:00,ann,answer,p1,,strategy,,a,yes\n", "without a zone"),
        (HEAD + "1,2020-01-01T00:00:00+00:00,ann,answer,p1,,strategy,,a,perhaps\n", "expected yes, no, unsure"),
        (HEAD + "x,2020-01-01T00:00:00+00:00,ann,answer,p1,,strategy,,a,yes\n", "line 2: invalid literal"),
        (HEAD + "1,2020-01-01T00:00:00+00:00,ann\n", "found 3 cells, expected 10"),
        ("", "the file is empty"),
    ],
)
def test_a_wrong_file_names_the_line(tmp_path, text, words):
    path = tmp_path / "answers.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FormatError, match=words):
        read_events_file(str(path))


def test_an_event_told_in_two_ways_is_refused(tmp_path):
    rows = "1,2020-01-01T00:00:00+00:00,{},answer,p1,,strategy,,{},yes\n"
    path = tmp_path / "answers.csv"
    path.write_text(HEAD + rows.format("ann", "a") + rows.format("bob", "b"), encoding="utf-8")
    with pytest.raises(FormatError, match="line 3: event 1 is listed with two contents"):
        read_events_file(str(path))
