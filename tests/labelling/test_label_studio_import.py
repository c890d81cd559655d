"""Annotations by webhook, by file and by Label Studio's interface: each counts once, and leaves when it is deleted."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest

from labelling.studio_payloads import CONFIG, PROJECT, annotation, created, deleted, task
from labelwise import Answer, LabelData
from labelwise.labelling import Project, ProjectError
from labelwise.labelling.exchange import label_studio_api, label_studio_transfer
from labelwise.labelling.exchange.label_studio import emails_in
from labelwise.labelling.exchange.label_studio_api import LabelStudio
from labelwise.labelling.exchange.label_studio_transfer import (
    Imported,
    export_tasks,
    follow_trainings,
    import_live,
    import_tasks,
    send_predictions,
)
from labelwise.labelling.exchange.transfer import import_answers, write_events
from labelwise.labelling.figures.status import status_of
from labelwise.labelling.items.browse import Browser
from labelwise.labelling.web.ml_backend import handle_webhook

LABELS = ("red", "round", "new")
TEXTS = [f"thing {i}" for i in range(6)]


def make_things(path: str | Path, texts=TEXTS) -> Project:
    data = LabelData.from_arrays(
        np.zeros((len(texts), 1)),
        label_names=LABELS,
        item_ids=[str(i) for i in range(len(texts))],
        items=[{"text": text} for text in texts],
    )
    return Project.create(path, data, text="text", control=0, model="binary_relevance")


@pytest.fixture
def things(location) -> Iterator[Project]:
    """Six texts, in both kinds of database."""
    with make_things(location) as project:
        yield project


@pytest.fixture
def alone(tmp_path) -> Iterator[Project]:
    """The same in a file."""
    with make_things(tmp_path / "alone.db") as project:
        yield project


@pytest.fixture
def file(tmp_path):
    """Writes tasks to a file as Label Studio exports them."""

    def write(*tasks: dict[str, Any]) -> str:
        path = tmp_path / "export.json"
        path.write_text(json.dumps(tasks), encoding="utf-8")
        return str(path)

    return write


def known(project: Project, item: int) -> dict[str, bool | None]:
    return {label.name: label.known for label in Browser(project).item(str(item)).labels}


def standing(project: Project) -> list[tuple[str, str, dict[str, bool | None]]]:
    undone = {event.undoes for event in project.events()}
    events = [event for event in project.events() if event.kind != "undo" and event.id not in undone]
    return [(event.item, event.who, dict(event.values)) for event in events]


RED = {"red": True, "round": False, "new": False}


# -- one annotation, three ways ----------------------------------------------------------------------------------------


def test_a_file_after_the_webhook_adds_nothing_and_the_other_way_round(things, file):
    first, second = task("thing 2", annotation(1)), task("thing 4", annotation(2, ["new"]), number=4)
    handle_webhook(things, created(first))
    done = import_tasks(things, file(first, second))
    assert (done.items, done.events, done.repeated, done.missing) == (0, 1, 1, 0)
    assert handle_webhook(things, created(second))["repeated"]
    assert standing(things) == [
        ("2", "label-studio:7", RED),
        ("4", "label-studio:7", {**RED, "red": False, "new": True}),
    ]


def test_a_deletion_takes_back_what_a_file_brought_and_an_old_file_does_not_bring_it_again(things, file):
    path = file(task("thing 2", annotation(1)))
    import_tasks(things, path)
    began = time.time()
    assert handle_webhook(things, deleted(1)) == {"taken_back": 1}
    undo = things.events()[-1]
    assert undo.kind == "undo" and began <= undo.at <= time.time(), "a deletion has its own time"
    done = import_tasks(things, path)
    assert (done.events, done.repeated) == (0, 1)
    assert known(things, 2) == dict.fromkeys(LABELS)


def test_a_deletion_that_comes_before_its_annotation_stands(things, file):
    found = task("thing 2", annotation(1))
    handle_webhook(things, deleted(1))
    assert handle_webhook(things, created(found))["ignored"] == "the annotation was deleted"
    import_tasks(things, file(found))
    assert standing(things) == []


def test_older_states_never_replace_newer_ones_by_any_way(things, file):
    old, newer = task("thing 2", annotation(1)), task("thing 2", annotation(1, ["new"], at="11:00:00"))
    handle_webhook(things, created(newer))
    import_tasks(things, file(old))
    assert handle_webhook(things, created(old))["ignored"] == "a later state of the annotation is known"
    assert known(things, 2)["new"] is True and len(standing(things)) == 1


def test_a_file_brings_the_later_state(things, file):
    handle_webhook(things, created(task("thing 2", annotation(1))))
    done = import_tasks(things, file(task("thing 2", annotation(1, ["new"], at="11:00:00"))))
    assert done.events == 1
    assert standing(things) == [("2", "label-studio:7", {"red": False, "round": False, "new": True})]


def test_a_later_state_that_says_the_same_adds_nothing(things):
    handle_webhook(things, created(task("thing 2", annotation(1))))
    before = things.events()
    assert handle_webhook(things, created(task("thing 2", annotation(1, at="12:00:00"))))["repeated"]
    assert things.events() == before


def test_what_is_missing_in_a_file_is_told_and_taken_back_only_if_wanted(things, file):
    for number, place in ((1, 2), (2, 4)):
        handle_webhook(things, created(task(f"thing {place}", annotation(number), number=place)))
    left = file(task("thing 2", annotation(1)), task("thing 4", number=4, updated_at="2024-05-01T12:00:00Z"))
    done = import_tasks(things, left)
    assert (done.missing, done.taken_back) == (1, 0) and len(standing(things)) == 2
    done = import_tasks(things, left, reconcile=True)
    assert (done.missing, done.taken_back) == (1, 1)
    assert standing(things) == [("2", "label-studio:7", RED)]
    back = file(task("thing 2", annotation(1)), task("thing 4", annotation(2), number=4))
    assert import_tasks(things, back).events == 1, "a file may have had only a part of them"
    assert len(standing(things)) == 2


def test_what_is_newer_than_the_file_is_not_missing(things, file):
    path = file(task("thing 2", annotation(1)))
    handle_webhook(things, created(task("thing 4", annotation(2, at="23:00:00"), number=4)))
    done = import_tasks(things, path, reconcile=True)
    assert (done.missing, done.taken_back) == (0, 0) and len(standing(things)) == 2


def test_another_project_there_is_another_matter(things, file):
    handle_webhook(things, created(task("thing 2", annotation(1))))
    other = task("thing 4", annotation(1, project=6), project=6)
    done = import_tasks(things, file(other), reconcile=True)
    assert (done.events, done.missing) == (1, 0)
    assert len(standing(things)) == 2


def test_two_label_studios_with_the_same_numbers_are_refused(things, file):
    handle_webhook(things, created(task("thing 2", annotation(1))))
    done = import_tasks(things, file(task("thing 4", annotation(1, at="12:00:00", unique_id="of another"), number=4)))
    assert done.events == 0 and "another Label Studio" in next(iter(done.refused))
    assert standing(things) == [("2", "label-studio:7", RED)]


def test_answers_that_came_as_answers_of_another_project_count_once(things, file, tmp_path):
    found = task("thing 2", annotation(1))
    with make_things(tmp_path / "first.db") as first:
        handle_webhook(first, created(found))
        write_events(first.events(), str(tmp_path / "answers.jsonl"))
    import_answers(things, str(tmp_path / "answers.jsonl"))
    assert import_tasks(things, file(found)).repeated == 1
    assert handle_webhook(things, deleted(1)) == {"taken_back": 1}


# -- tasks and labels --------------------------------------------------------------------------------------------------


def test_tasks_of_other_numbers_go_to_the_items_that_show_the_same(alone, file):
    import_tasks(alone, file(task("thing 0", annotation(1), number=4), task("thing 4", annotation(2), number=0)))
    assert [item for item, *_ in standing(alone)] == ["0", "4"]
    assert len(alone.item_names()) == 6


def test_new_tasks_become_items_under_names_that_are_free_and_are_known_again(alone, file):
    path = file(
        task("brand new", annotation(1), number=3), task("twin", annotation(2), number=40), task("twin", number=41)
    )
    done = import_tasks(alone, path)
    assert (done.items, done.events) == (3, 2)
    assert alone.item_names() - set("012345") == {"label-studio:5:3", "40", "41"}
    assert "3" not in [item for item, *_ in standing(alone)], "another item has that name"
    done = import_tasks(alone, path)
    assert (done.items, done.events, done.repeated, sum(done.refused.values())) == (0, 0, 2, 0)
    twin = task("twin", annotation(3, ["new"]), number=41)
    assert "event" in handle_webhook(alone, created(twin))
    assert known(alone, 41)["new"] is True and known(alone, 40)["new"] is False


def test_annotations_of_twins_are_refused_and_counted(tmp_path, file):
    with make_things(tmp_path / "twins.db", ["same", "same", "other"]) as project:
        done = import_tasks(
            project, file(task("same", annotation(1)), task("same", annotation(2), annotation(3), number=4))
        )
        assert done.refused == {"2 items of the project show the same as the task": 3}
        assert (done.items, done.events) == (0, 0)


def test_a_file_does_not_bring_merged_labels_back(alone, file):
    alone.merge_labels("new", "round")
    done = import_tasks(alone, file(task("thing 2", annotation(1, ["new"]))))
    assert done.labels == () and known(alone, 2) == {"red": False, "round": True}


def test_our_own_answers_that_were_imported_there_do_not_come_back_as_somebody_elses(alone, file, tmp_path):
    receipt = alone.tell(Answer("2", RED), who="ann")[0]
    path = str(tmp_path / "tasks.json")
    export_tasks(alone, path)
    tasks = json.loads(Path(path).read_text(encoding="utf-8"))
    assert all("completed_by" not in each for found in tasks for each in found["annotations"]), "it would be refused"
    assert {found["meta"]["project"] for found in tasks} == {alone.identity}
    echo = task("thing 2", annotation(1, import_id=receipt.event), meta=tasks[2]["meta"])
    done = import_tasks(alone, file(echo))
    assert (done.events, done.repeated) == (0, 1)
    changed = annotation(1, ["new"], at="11:00:00", import_id=receipt.event)
    assert import_tasks(alone, file(task("thing 2", changed, meta=tasks[2]["meta"]))).events == 1
    assert [who for _, who, _ in standing(alone)] == ["ann", "label-studio:7"]


def test_people_of_label_studio_are_told_to_it_as_it_knows_them(alone, tmp_path):
    handle_webhook(alone, created(task("thing 2", annotation(1))))
    export_tasks(alone, str(tmp_path / "tasks.json"))
    tasks = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    assert [each["completed_by"] for found in tasks for each in found["annotations"]] == [7]


# -- by its interface --------------------------------------------------------------------------------------------------


class FakeStudio:
    """Answers as Label Studio's interface does."""

    def __init__(self) -> None:
        self.tasks: list[dict[str, Any]] = []
        self.token, self.access = "Token legacy", "one"
        self.reply: tuple[int, bytes, dict[str, str]] | None = None
        self.asked: list[str] = []
        self.version, self.predictions, self.done = "labelwise", [], []
        studio = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                studio.asked.append(self.path)
                if studio.reply is not None:
                    self.send(*studio.reply)
                elif self.headers["authorization"] not in (studio.token, f"Bearer {studio.access}"):
                    self.send(401, b"{}")
                else:
                    self.send(*studio.get(self.path))

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if self.path != "/api/token/refresh/":
                    self.send(*(studio.reply or (201, studio.change(self.command, self.path, body))))
                    return
                good = self.path == "/api/token/refresh/" and body == {"refresh": "a.personal.token"}
                self.send(*((200, json.dumps({"access": studio.access}).encode()) if good else (401, b"{}")))

            do_PATCH = do_DELETE = do_POST

            def send(self, status: int, data: bytes, headers: dict[str, str] | None = None) -> None:
                self.send_response(status)
                for name, value in (headers or {}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def get(self, path: str) -> tuple[int, bytes]:
        parts = urlsplit(path)
        if parts.path == f"/api/projects/{PROJECT}/":
            found = {"id": PROJECT, "label_config": CONFIG, "model_version": self.version}
            return 200, json.dumps(found).encode()
        if parts.path == f"/api/projects/{PROJECT}/model-versions/":
            return 200, json.dumps(Counter(each["model_version"] for each in self.predictions)).encode()
        if parts.path != "/api/tasks" or parse_qs(parts.query)["project"] != [str(PROJECT)]:
            return 404, b"{}"
        page, size = (int(parse_qs(parts.query)[name][0]) for name in ("page", "page_size"))
        part = self.tasks[(page - 1) * size : page * size]
        return 200, json.dumps({"tasks": part, "total": len(self.tasks)}).encode()

    def change(self, method: str, path: str, body: Any) -> bytes:
        self.done.append((method, path.removeprefix(f"/api/projects/{PROJECT}/")))
        if method == "POST":
            self.predictions += body
        elif method == "PATCH":
            self.version = body["model_version"]
        else:
            self.predictions = [each for each in self.predictions if each["model_version"] != body["model_version"]]
        return b""


@pytest.fixture
def studio() -> Iterator[FakeStudio]:
    fake = FakeStudio()
    yield fake
    fake.server.shutdown()
    fake.server.server_close()


def read(project: Project, studio: FakeStudio, token: str = "legacy", **options: Any) -> Imported:
    return import_live(project, LabelStudio(studio.address, token), PROJECT, **options)


def test_answers_made_while_nobody_listened_are_read_page_by_page(alone, studio, monkeypatch):
    monkeypatch.setattr(label_studio_api, "PAGE", 2)
    studio.tasks = [task(text, annotation(i + 1), number=90 - i) for i, text in enumerate(TEXTS[:5])]
    handle_webhook(alone, created(studio.tasks[0]))
    done = read(alone, studio)
    assert (done.items, done.events, done.repeated) == (0, 4, 1)
    assert [item for item, *_ in standing(alone)] == ["0", "1", "2", "3", "4"]
    assert sum("/api/tasks" in path for path in studio.asked) == 3
    done = read(alone, studio, reconcile=True)
    assert (done.events, done.repeated, done.missing) == (0, 5, 0)


def test_what_is_gone_there_is_taken_back_if_wanted_and_comes_back_if_it_does(alone, studio):
    studio.tasks = [task("thing 1", annotation(1)), task("thing 2", annotation(2), number=4)]
    read(alone, studio)
    kept = studio.tasks.pop()
    assert (read(alone, studio).missing, len(standing(alone))) == (1, 2)
    assert (read(alone, studio, reconcile=True).taken_back, len(standing(alone))) == (1, 1)
    studio.tasks.append(kept)
    assert (read(alone, studio).events, len(standing(alone))) == (1, 2)
    handle_webhook(alone, deleted(2))
    assert (read(alone, studio).events, len(standing(alone))) == (1, 2), "asked now, it is there"


def test_an_annotation_that_comes_while_we_read_is_not_missing(alone, studio, monkeypatch):
    before = studio.get

    def meanwhile(path: str) -> tuple[int, bytes]:
        found = before(path)
        handle_webhook(alone, created(task("thing 1", annotation(1))))
        return found

    monkeypatch.setattr(studio, "get", meanwhile)
    assert read(alone, studio, reconcile=True).missing == 0
    assert len(standing(alone)) == 1


def test_what_is_deleted_while_we_read_stays_deleted(alone, studio, monkeypatch):
    studio.tasks = [task("thing 1", annotation(1))]
    read(alone, studio)
    before = studio.get

    def meanwhile(path: str) -> tuple[int, bytes]:
        handle_webhook(alone, deleted(1))
        return before(path)

    monkeypatch.setattr(studio, "get", meanwhile)
    assert read(alone, studio).events == 0 and standing(alone) == []


def test_unknown_choices_and_tasks_are_refused_and_add_nothing(alone, studio):
    studio.tasks = [
        task("thing 1", annotation(1, ["elsewhere"]), annotation(2, ["red", "elsewhere"])),
        task("nowhere", annotation(3), number=4),
        task("thing 2", annotation(4, meta={"who": "ann", "reason": "told"}), number=5),
    ]
    done = read(alone, studio)
    assert (done.items, done.events, done.unknown_labels) == (0, 2, {"elsewhere"})
    assert sorted(done.refused.values()) == [1, 1]
    assert standing(alone) == [("1", "label-studio:7", {"red": True}), ("2", "label-studio:7", RED)]
    assert alone.label_names() == list(LABELS) and len(alone.item_names()) == 6


def test_a_choice_that_becomes_a_label_is_taken_in_then(alone, studio):
    studio.tasks = [task("thing 1", annotation(1, ["red", "elsewhere"]))]
    read(alone, studio)
    alone.add_label("elsewhere")
    assert read(alone, studio).events == 1
    assert standing(alone) == [("1", "label-studio:7", {**RED, "elsewhere": True})]


def test_a_personal_token_is_changed_for_a_short_one_again_and_again(alone, studio, monkeypatch):
    monkeypatch.setattr(label_studio_api, "PAGE", 1)
    studio.token = "nothing"
    studio.tasks = [task("thing 1", annotation(1)), task("thing 2", annotation(2), number=4)]
    before = studio.get

    def ending(path: str) -> tuple[int, bytes]:
        studio.access = f"{len(studio.asked)}"  # what was given is over after each request
        return before(path)

    monkeypatch.setattr(studio, "get", ending)
    assert read(alone, studio, "a.personal.token").events == 2
    with pytest.raises(ProjectError, match="LABEL_STUDIO_TOKEN"):
        read(alone, studio, "another.personal.token")


def test_tasks_that_go_while_we_read_take_nothing_back(alone, studio, monkeypatch):
    monkeypatch.setattr(label_studio_api, "PAGE", 1)
    studio.tasks = [task(text, annotation(i + 1), number=i + 1) for i, text in enumerate(TEXTS)]
    read(alone, studio)
    before = studio.get

    def moving(path: str) -> tuple[int, bytes]:
        if "page=2" in path:
            studio.tasks.append(studio.tasks.pop(0))  # the pages shift: one task is seen twice, another never
        return before(path)

    monkeypatch.setattr(studio, "get", moving)
    with pytest.raises(ProjectError, match="came or went while the project was read"):
        read(alone, studio, reconcile=True)
    assert len(standing(alone)) == 6


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ((401, b"{}", {}), "the token is refused"),
        ((403, b"{}", {}), "may not do this"),
        ((404, b"{}", {}), "no such project"),
        ((500, b"{}", {}), "it answered 500"),
        ((302, b"", {"location": "http://elsewhere.example/"}), "sends on to 'http://elsewhere.example/'"),
        ((200, b"<html>", {}), "sent no JSON"),
        ((200, b"[]", {}), "does not answer as Label Studio does"),
        ((200, b"{}", {}), "does not answer as Label Studio does"),
    ],
)
def test_what_goes_wrong_is_told_and_changes_nothing(alone, studio, reply, words):
    studio.reply = reply
    with pytest.raises(ProjectError, match=words):
        read(alone, studio)
    assert alone.events() == []


def test_wrong_addresses_and_tokens_are_told(alone, studio):
    for address in ("localhost:8080", "file:///etc/passwd", ""):
        with pytest.raises(ProjectError, match="begins with http"):
            LabelStudio(address, "x")
    for token in ("", " ", "a\nb"):
        with pytest.raises(ProjectError, match="LABEL_STUDIO_TOKEN"):
            LabelStudio(studio.address, token)
    studio.server.server_close()
    studio.server.shutdown()
    with pytest.raises(ProjectError, match="cannot be reached"):
        LabelStudio(studio.address, "x").tasks(1)


def test_people_of_label_studio_count_as_people(alone):
    for i in range(6):
        alone.tell(Answer(str(i), {**RED, "red": i % 2 == 0}), who="ann")
        handle_webhook(alone, created(task(TEXTS[i], annotation(i + 1, ["red"] if i % 2 == 0 else []), number=i)))
    alone.refresh()
    assert status_of(alone).people == {"ann": 6, "label-studio:7": 6}
    (pair,) = status_of(alone).pairs
    assert {pair.first, pair.second} == {"ann", "label-studio:7"}
    assert status_of(alone).labels[0].agreement == 1.0


# -- predictions to a running one --------------------------------------------------------------------------------------


def teach(project: Project, *items: int) -> None:
    project.tell([Answer(str(i), {"red": i % 2 == 0, "round": True, "new": False}) for i in items], who="ann")


def test_predictions_are_given_in_pages_and_the_version_follows(alone, studio, monkeypatch):
    monkeypatch.setattr(label_studio_transfer, "PREDICTIONS_AT_ONCE", 2)
    studio.tasks = [task(text, number=70 + i, is_labeled=i == 1) for i, text in enumerate(TEXTS)]
    studio.predictions = [{"task": 70, "model_version": "of another model"}]
    teach(alone, 0, 1)
    there = LabelStudio(studio.address, "legacy")
    first, sent = send_predictions(alone, there, PROJECT)
    assert (studio.version, sent) == (first, 5), "tasks that are labelled need none"
    assert [step for step in studio.done if step[0] == "POST"] == [("POST", "import/predictions")] * 3
    ours = [each for each in studio.predictions if each["model_version"] == first]
    by_score = [TEXTS[each["task"] - 70] for each in sorted(ours, key=lambda each: each["score"])]
    asked = [alone.content_of(lease.question.item)["text"] for lease in alone.ask(4, who="bob")]
    assert by_score == [*asked, "thing 0"], "our questions in their order, then what is known"
    teach(alone, 3)
    second, _ = send_predictions(alone, there, PROJECT)
    assert second == studio.version != first
    assert {each["model_version"] for each in studio.predictions} == {second, "of another model"}
    assert studio.done[-1][0] == "DELETE" and studio.done[-2][0] == "PATCH", "the earlier ones stand until then"
    assert send_predictions(alone, there, PROJECT) == (second, 5)
    assert Counter(each["model_version"] for each in studio.predictions)[second] == 5, "none is there twice"


class Enough(Exception):
    """Ends a loop that has no end."""


def test_each_training_is_followed_and_what_failed_is_sent_later(alone, studio):
    studio.tasks = [task(text, number=70 + i) for i, text in enumerate(TEXTS)]
    told: list[str] = []
    versions: list[str] = []

    def wait(seconds: float) -> None:
        versions.append(studio.version)
        step = len(versions)
        if step in (1, 3):
            teach(alone, step)
            alone.refresh()
        studio.reply = (500, b"{}", {}) if step in (3, 4) else None
        if step == 7:
            raise Enough

    with pytest.raises(Enough):
        follow_trainings(alone, LabelStudio(studio.address, "legacy"), PROJECT, told=told.append, wait=wait)
    first, second, third = dict.fromkeys(versions)
    assert versions == [first, second, second, second, second, third, third]
    assert told[0] == f"6 predictions of {first}" and told[1] == f"6 predictions of {second}"
    assert "it answered 500; trying again" in told[2], "told once"
    assert told[3:] == [f"6 predictions of {third}"]


def test_exported_predictions_are_those_of_the_backend(alone, studio, tmp_path):
    """Label Studio takes the version of tasks that it imports, so its sampling follows our scores at once."""
    teach(alone, 0, 1)
    path = tmp_path / "tasks.json"
    export_tasks(alone, str(path), predictions=True)
    exported = json.loads(path.read_text(encoding="utf-8"))
    studio.tasks = [task(text, number=70 + i) for i, text in enumerate(TEXTS)]
    send_predictions(alone, LabelStudio(studio.address, "legacy"), PROJECT)
    assert [each["predictions"][0]["model_version"] for each in exported] == [studio.version] * 6
    assert [each["predictions"][0]["score"] for each in exported] == [each["score"] for each in studio.predictions]
    chosen = [
        [result["value"]["choices"] for result in each["result"] if result["type"] == "choices"]
        for each in ([one["predictions"][0] for one in exported], studio.predictions)
        for each in each
    ]
    assert chosen[:6] == chosen[6:]


def test_items_of_the_random_share_are_exported_without_prediction(tmp_path):
    data = LabelData.from_arrays(np.zeros((6, 1)), label_names=LABELS, items=[{"text": text} for text in TEXTS])
    with Project.create(
        tmp_path / "blind.db", data, text="text", start=0, control=1.0, model="binary_relevance"
    ) as project:
        project.tell(Answer("0", dict.fromkeys(LABELS, True)))
        export_tasks(project, str(tmp_path / "tasks.json"), predictions=True)
        asked = {lease.question.item for lease in project.ask(6)}
    tasks = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))
    without = {each["meta"]["item"] for each in tasks if not each["predictions"][0]["result"]}
    assert asked and asked <= without and "0" not in without


# -- who ---------------------------------------------------------------------------------------------------------------


def test_people_are_called_by_their_addresses_as_soon_as_label_studio_tells_them(things, file):
    handle_webhook(things, created(task("thing 0", annotation(1))))
    handle_webhook(things, created(task("thing 1", annotation(2, completed_by=8), number=4)))
    named = {"completed_by": {"id": 7, "email": "ann@example.org"}}
    import_tasks(things, file(task("thing 2", annotation(3, **named), number=5)))
    ann = "label-studio:ann@example.org"
    assert [who for _, who, _ in standing(things)] == [ann, "label-studio:8", ann]
    handle_webhook(things, created(task("thing 3", annotation(4), number=6)))
    assert standing(things)[-1][1] == ann, "later webhooks, too, which tell only the number"
    import_tasks(
        things, file(task("thing 4", annotation(5, **{"completed_by": {"id": 7, "email": "b@c.d"}}), number=7))
    )
    assert standing(things)[-1][1] == ann, "the first address stays"
    before = things.events()
    assert handle_webhook(things, created(task("thing 0", annotation(1))))["repeated"]
    handle_webhook(things, deleted(1))
    assert things.events()[len(before) :][0].who == ann


def test_a_running_label_studio_tells_addresses_and_old_files_are_not_counted_again(alone, studio, tmp_path):
    handle_webhook(alone, created(task("thing 0", annotation(1))))
    write_events(alone.events(), str(tmp_path / "old.jsonl"))
    export_tasks(alone, str(tmp_path / "old.json"))
    studio.tasks = [task("thing 0", annotation(1, created_username="Ann Lee ann@example.org, 7"))]
    read(alone, studio)
    assert standing(alone) == [("0", "label-studio:ann@example.org", RED)]
    assert import_answers(alone, str(tmp_path / "old.jsonl")) == (0, 1)
    assert import_tasks(alone, str(tmp_path / "old.json")).events == 0
    assert status_of(alone).answers == 1
    export_tasks(alone, str(tmp_path / "new.json"))
    (said,) = json.loads((tmp_path / "new.json").read_text(encoding="utf-8"))[0]["annotations"]
    assert said["completed_by"] == {"email": "ann@example.org"}


@pytest.mark.parametrize(
    "more",
    [
        {"completed_by": {"id": 7}},
        {"completed_by": {"email": "ann@example.org"}},
        {"completed_by": {"id": 7, "email": 3}},
        {"created_username": "ann@example.org, 8"},
        {"created_username": "ann, 7"},
        {"completed_by": None, "created_username": "ann@example.org, 7"},
    ],
)
def test_an_address_that_is_not_surely_that_of_the_number_is_not_taken(more):
    assert emails_in([task("thing 0", annotation(1, **more))]) == {}


def test_answers_of_ours_are_known_again_though_the_machine_was_slow(alone, file, tmp_path):
    """Label Studio notes two times of an annotation that it imports; a busy machine has moments between them."""
    teach(alone, 0)
    (event,) = alone.events()
    export_tasks(alone, str(tmp_path / "tasks.json"))
    found = json.loads((tmp_path / "tasks.json").read_text(encoding="utf-8"))[0]
    chosen = ["red", "round"]
    for at, new in (("10:00:00.900000", 0), ("10:00:05.000000", 1)):
        echo = annotation(31, chosen, at=at, import_id=event.id)
        back = {**task("thing 0", echo), "meta": found["meta"]}
        assert import_tasks(alone, file(back)).events == new, at
