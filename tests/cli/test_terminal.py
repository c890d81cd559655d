"""Labelling in the terminal: a scripted person at a real one, and every key."""

from __future__ import annotations

import io
import itertools
import os
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from rich.console import Console

from labelwise import LabelData, Project
from labelwise.cli._terminal import TerminalLabeller, as_text
from labelwise.labelling.exchange.transfer import read_events_file, write_events


def desk(project: Project, keys: str) -> tuple[TerminalLabeller, io.StringIO]:
    """A person who presses these keys, and what the screen shows."""
    screen = io.StringIO()
    presses = iter(keys)

    def press() -> str:
        try:
            return next(presses)
        except StopIteration:
            raise EOFError from None

    return TerminalLabeller(project, "ann", press, Console(file=screen, width=100), lambda: False), screen


@pytest.fixture
def project(tmp_path):
    data = LabelData.from_arrays(
        np.random.default_rng(0).standard_normal((30, 2)), label_names=["red", "[round]"], items=list("abcdefghij" * 3)
    )
    with Project.create(tmp_path / "p.db", data, control=0, model="binary_relevance") as made:
        made.refresh()
        yield made


@pytest.fixture
def pairs(tmp_path):
    data = LabelData.from_arrays(np.random.default_rng(0).standard_normal((10, 2)), label_names=["red", "round"])
    settings = {"strategy": "uncertainty_pairs", "control": 0, "model": "binary_relevance"}
    with Project.create(tmp_path / "pairs.db", data, **settings) as made:
        made.refresh()
        yield made


def test_keys_toggle_labels_and_enter_saves(project):
    person, screen = desk(project, "1\r" + "22\r" + "\n" + "q")
    assert person.work() == 3
    said = [dict(event.values) for event in project.events()]
    assert said == [{"red": True, "[round]": False}, {"red": False, "[round]": None}, {"red": False, "[round]": False}]
    assert "[round]" in screen.getvalue() and "everything answered is saved" in screen.getvalue()


def test_a_label_is_found_by_typing(project):
    person, screen = desk(project, "/rou\x7f\x7found\n\n" + "/zzz\n" + "q")
    assert person.work() == 1
    assert project.events()[0].values == {"red": False, "[round]": True}
    assert "no label has 'zzz' in it" in screen.getvalue()


def test_skip_and_back(project):
    person, screen = desk(project, "b" + "s" + "1\r" + "b" + "\r")
    assert person.work() == 1
    assert [event.kind for event in project.events()] == ["skip", "answer", "undo", "answer"]
    assert project.events()[3].item == project.events()[1].item
    assert "has no answer to take back" in screen.getvalue()


def test_likely_labels_that_were_not_picked_are_asked_about_once_more(tmp_path):
    names = ["red", "round", "soft", "big"]
    Y = np.zeros((30, 4), dtype=bool)
    Y[:10, :3] = True
    observed = np.repeat(np.arange(30) < 10, 4).reshape(30, 4)
    data = LabelData.from_arrays(
        np.random.default_rng(0).standard_normal((30, 2)), Y, observed=observed, label_names=names
    )
    with Project.create(tmp_path / "v.db", data, model="binary_relevance", strategy="random", verify=True) as made:
        made.refresh()
        person, screen = desk(made, "\r" + "1" + "22" + "\r" + "1\r" + "b" + "\r" + "\r" + "q")
        assert person.work() == 2
        told = [event for event in made.events() if event.reason != "given"]
    assert screen.getvalue().count("also?") == 3 and [event.reason for event in told[1::2]] == ["verify", "verify"]
    first, second = told[1], told[3]
    assert list(first.values.values()) == [True, False, False] and not any(second.values.values())
    assert told[0].values == {"big": False} and told[2].item == told[3].item != told[0].item
    assert (told[0].timing.question, first.timing.question, first.timing.by_suggestion) == ("item", "further", 1)


def test_one_label_at_a_time(pairs):
    person, _ = desk(pairs, "yxnu" + "s")
    assert person.work(most=3) == 3
    assert [list(event.values.values()) for event in pairs.events()] == [[True], [False], [None]]


def test_an_answer_that_comes_too_late_is_told_and_the_next_question_comes(project, monkeypatch):
    person, screen = desk(project, "\r" + "\r" + "q")
    save = project.service.answer_and_ask

    def late(token, values, **timed):
        monkeypatch.setattr(project.service, "answer_and_ask", save)
        project.service.skip(token)
        return save(token, values, **timed)

    monkeypatch.setattr(project.service, "answer_and_ask", late)
    assert person.work() == 1
    assert "not saved: the question was answered or skipped already" in screen.getvalue()


def test_the_time_between_keys_is_measured_and_a_pause_counts_for_a_minute(project, monkeypatch):
    keys, presses = "1\r" + "1\r" + "2\r" + "\r" + "q", (9.0, 3.0, 9.0, 3.0, 9.0, 3.0, 8 * 3600.0, 1.0)
    clock = itertools.accumulate(itertools.chain.from_iterable((0.0, wait) for wait in presses))
    monkeypatch.setattr("labelwise.cli._terminal.time", SimpleNamespace(monotonic=lambda: next(clock)))
    taken = []
    save = project.service.answer_and_ask
    monkeypatch.setattr(
        project.service,
        "answer_and_ask",
        lambda *said, timing, **more: (taken.append(timing), save(*said, timing=timing, **more))[1],
    )
    assert desk(project, keys)[0].work() == 4
    assert [each.seconds for each in taken] == [12.0, 12.0, 12.0, 60.0]
    assert [each.by_key for each in taken] == [1, 1, 1, 0] and {each.question for each in taken} == {"item"}


def test_the_end_is_told(project):
    person, screen = desk(project, "\r" * 40)
    assert person.work() == 30
    assert "no worker is running" in screen.getvalue()
    project.refresh()
    assert person.work() == 30
    assert "nothing is left to ask" in screen.getvalue()


def test_pictures_are_named_and_fields_listed():
    assert as_text({"title": "a", "image": "data:image/png;base64," + "A" * 500}).count("\n") == 1
    assert "the page shows it" in as_text("data:image/png;base64,AAAA")
    assert as_text(None) == ""


@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
@pytest.mark.slow
def test_a_thousand_items_labelled_to_two_hundred_answers(tmp_path):
    """A scripted person at a real terminal; then exported, and imported into a new project: equal."""
    pexpect = pytest.importorskip("pexpect", reason="needs the package pexpect")
    rows = [f"d{n},{['red', 'green'][n % 2]} {['apple', 'car', 'house'][n % 3]} number {n}" for n in range(1000)]
    (tmp_path / "docs.csv").write_text("id,body\n" + "\n".join(rows), encoding="utf-8")
    (tmp_path / "labels.txt").write_text("red\nvehicle\n", encoding="utf-8")
    command = f"{sys.executable} -c 'from labelwise.cli import main; main()'"
    options = f"new p.db --items {tmp_path / 'docs.csv'} --text body --labels {tmp_path / 'labels.txt'}"
    shell = {"cwd": str(tmp_path), "encoding": "utf-8", "timeout": 60, "env": {**os.environ, "COLUMNS": "100"}}
    _, status = pexpect.run(f"{command} {options} --model online_bayes", withexitstatus=True, **shell)
    assert status == 0
    child = pexpect.spawn(f"{command} ask p.db --tty --who ann -n 200", **shell)
    for number in range(1, 201):
        child.expect(r"body: (\w+) (\w+) number")
        colour, thing = child.match.groups()
        child.expect("q quit")
        keys = dict(re.findall(r"(\d) \[ \][ \d%]* (red|vehicle)", child.before))
        by_name = {name: key for key, name in keys.items()}
        child.send((by_name["red"] if colour == "red" else "") + (by_name["vehicle"] if thing == "car" else "") + "\r")
        child.expect(rf"saved \({number}\)")
    child.expect("200 answers saved")
    child.expect(pexpect.EOF)
    with Project(tmp_path / "p.db") as project:
        labelled = project.labelled()
        assert labelled.n_observed == 400
        write_events(project.events(), str(tmp_path / "answers.jsonl"))
        _, status = pexpect.run(f"{command} {options.replace('p.db', 'q.db')}", withexitstatus=True, **shell)
        with Project(tmp_path / "q.db") as copy:
            copy.record(read_events_file(str(tmp_path / "answers.jsonl")))
            assert copy.events() == project.events()
            assert (copy.labelled().Y != labelled.Y).nnz == 0
            assert (copy.labelled().observed != labelled.observed).nnz == 0
    truth = {f"d{n}": (n % 2 == 0, n % 3 == 1) for n in range(1000)}
    for row in np.flatnonzero(np.diff(labelled.observed.indptr)):
        assert tuple(labelled.Y.toarray()[row]) == truth[labelled.item_ids[row]]


def test_likely_labels_are_shown_with_why_before_anything_was_answered(tmp_path):
    texts = ["the goal of the football match", "a minister lost the vote", "football and a goal", "the party vote"] * 5
    data = LabelData.from_arrays(
        np.zeros((20, 1)), label_names=["football", "voting"], items=[{"text": each} for each in texts]
    )
    with Project.create(tmp_path / "texts.db", data, text="text", start=0, control=0, strategy="uncertainty") as made:
        made.refresh()
        person, screen = desk(made, "q")
        person.work()
        lease = made.ask(who="ann")[0]
    shown = re.sub(r"\s+", " ", screen.getvalue())
    is_sport = "football" in lease.content["text"]
    assert re.search(r"\d+% " + ("football by its name: football" if is_sport else "voting by its name: vote"), shown)
