"""The commands about projects, from new to report, with exit codes that scripts can use."""

from __future__ import annotations

import base64
import csv
import json
import shutil
import sqlite3
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from labelwise import Answer, Campaign, LabelData, Project, SemiSupervised
from labelwise.cli import app
from labelwise.data.bundled import make_digit_pictures
from labelwise.labelling import TrainedLabeller
from labelwise.labelling.exchange.label_studio_answers import Interface
from labelwise.labelling.exchange.label_studio_predictions import Config
from labelwise.labelling.exchange.transfer import read_events_file
from labelwise.labelling.store.labels import read_changes
from labelwise.labelling.training.locks import only_worker
from labelwise.labelling.training.worker import model_path

TEXTS = [
    f"{colour} {thing} {n}" for n in range(6) for colour in ("red", "green") for thing in ("apple", "car", "car key")
]


def run(*arguments: object, code: int = 0):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output + done.stderr
    return done


MADE = ["--items", "docs.csv", "--text", "body", "--labels", "labels.txt"]
MADE += ["--control", "0.2", "--model", "binary_relevance"]


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("made")
    rows = [f"d{n},{text},{'red;' if text.startswith('red') else ''}" for n, text in enumerate(TEXTS)]
    (tmp_path / "docs.csv").write_text("id,body,tags\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "labels.txt").write_text("red\nvehicle\nodd; name, this\n", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        run("new", "p.db", *MADE)
    return tmp_path


@pytest.fixture
def folder(made_once, tmp_path, monkeypatch):
    """Items, labels, and a project p.db."""
    shutil.copytree(made_once, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def answer(n: int, who: str = "ann", project: str = "p.db") -> None:
    """Answer n questions by the command line alone."""
    for _ in range(n):
        question = json.loads(run("ask", project, "--json", "--who", who).stdout)[0]
        text = question["content"]["body"]
        said = [*(["--yes", "red"] if "red" in text else []), *(["--yes", "vehicle"] if "car" in text else [])]
        run("tell", project, "--lease", question["lease"], *said, "--others-no", "--who", who)


@pytest.mark.slow
def test_status_and_report_tell_how_long_a_goal_takes(folder):
    run("new", "many.db", *MADE, "--start", 20)  # random items enough to judge by
    answer(26, project="many.db")
    run("serve-worker", "many.db", "--once")
    shown = run("status", "many.db", "--target-f1", 0.9, "--worth-an-hour", 0, "--risk", 0.1).stdout
    for words in ("time spent: about ", "next hour: ", "saving: ", "F1 0.90", "advice: "):
        assert words in shown
    found = json.loads(run("status", "many.db", "--json", "--target-f1", 0.9).stdout)
    assert found["outlook"]["target_f1"] == 0.9 and len(found["learning_curve"]) == 6
    assert "F1 0.90" not in run("status", "many.db").stdout
    run("report", "many.db", "--out", "r.html", "--target-f1", 0.9)
    page = (folder / "r.html").read_text(encoding="utf-8")
    assert "F1 0.90" in page and "minutes of people&#39;s time" in page
    for wrong in (["status", "many.db", "--target-f1", 80], ["new", "q.db", "--items", "docs.csv", "--target-f1", 80]):
        assert "got 80.0; write 0.8 for 80 %" in run(*wrong, code=2).stderr


@pytest.mark.parametrize("n_labels", [3, 30])
def test_left_alone_it_asks_for_whole_items(folder, n_labels):
    model, strategy, start = "semi_supervised", "variance_reduction", 10
    names = ",".join(f"label{j}" for j in range(n_labels))
    run("new", "auto.db", "--items", "docs.csv", "--text", "body", "--labels", names)
    with Project("auto.db") as project:
        assert (project.settings.model, project.settings.strategy) == (model, strategy)
        assert project.settings.start == start
        own = Campaign(LabelData.from_arrays(np.eye(30), label_names=names.split(","))).model
        assert type(project.campaign().model) is type(own) is SemiSupervised
        asked = project.ask(3)
    assert {(lease.question.reason, len(lease.question.labels)) for lease in asked} == {("start", n_labels)}


def test_from_new_to_the_model(folder):
    answer(12)
    status = json.loads(run("status", "p.db", "--json").stdout)
    assert (status["items"], status["answers"], status["people"]) == (36, 12, {"ann": 12})
    shown = run("status", "p.db").stdout
    assert "12 answers on 12 of 36 items: ann 12" in shown and "odd; name, this" in shown
    run("serve-worker", "p.db", "--once")
    (folder / "more.csv").write_text("id,body\nx1,red car\nx2,green apple\n", encoding="utf-8")
    for out in ("more-out.parquet", "more-out.jsonl"):
        run("predict", "p.db", "more.csv", "--out", out, "--top", 3, "--threshold", 0.5)
    done = run("predict", "p.db", "more.csv", "--out", "more-out.csv", "--top", 3, "--every-label", code=2)
    assert "cannot be joined by ';'" in done.stderr and not (folder / "more-out.csv").exists()
    run("predict", "p.db", "more.csv", "--out", "more-out.csv", "--threshold", 0.5)
    rows = [json.loads(line) for line in (folder / "more-out.jsonl").read_text(encoding="utf-8").splitlines()]
    assert set(rows[0]["labels"]) == {"red", "vehicle"} and rows[1]["labels"] == []
    run("predict", "p.db", "--out", "own.jsonl")
    own = [json.loads(line) for line in (folder / "own.jsonl").read_text(encoding="utf-8").splitlines()]
    with Project("p.db") as project:
        data = project.labelled()
    for row in np.flatnonzero(np.diff(data.observed.indptr)):  # what was answered stands
        assert set(own[row]["labels"]) == {data.label_names[column] for column in data.Y[[row]].indices}
    run("export", "p.db", "model.skops", "--model")
    model = TrainedLabeller.load("model.skops")
    assert model.label_sets([{"body": "a red car"}], threshold=0.5).tolist() == [[True, True, False]]
    run("report", "p.db", "--out", "report.html")
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "odd; name, this" in page and "12 answers on 12 of 36 items" in page


def test_predictions_come_from_all_answers_and_what_is_not_learnt_is_told(folder):
    answer(2)
    run("serve-worker", "p.db", "--once")
    lines = [json.dumps({"item": f"d{n}", "values": {"vehicle": "car" in text}}) for n, text in enumerate(TEXTS)]
    (folder / "bulk.jsonl").write_text("\n".join(lines[:30]), encoding="utf-8")
    run("tell", "p.db", "bulk.jsonl", "--who", "bob")
    assert "the model has not learnt the last 30 answers: labelwise predict" in run("status", "p.db").stdout
    (folder / "more.csv").write_text("id,body\nx1,green car\nx2,green apple\n", encoding="utf-8")
    with only_worker(Project("p.db").store):  # then it is the worker's to learn them
        done = run("predict", "p.db", "more.csv", "--out", "beside.jsonl", "--threshold", 0.5)
    assert "the model has not learnt the last 30 answers; see labelwise status p.db" in done.stderr
    done = run("predict", "p.db", "more.csv", "--out", "after.jsonl", "--threshold", 0.5)
    rows = [json.loads(line) for line in (folder / "after.jsonl").read_text(encoding="utf-8").splitlines()]
    assert ["vehicle" in row["labels"] for row in rows] == [True, False] and "not learnt" not in done.stderr
    assert "not learnt" not in run("status", "p.db").stdout


def test_a_model_older_than_its_training_is_trained_again(folder):
    answer(3)
    run("serve-worker", "p.db", "--once")
    with Project("p.db") as project:
        old = model_path(project.store).read_bytes()
        project.tell(Answer("d20", {"vehicle": True}), who="bob")
        project.refresh()
        model_path(project.store).write_bytes(old)  # the worker was killed before it wrote it
        assert project.predict().unlearnt == 0


def test_tables_out_and_a_new_project_from_them(folder):
    answer(5)
    run("export", "p.db", "labelled.csv")
    known = "red,vehicle"
    run("new", "again.db", "--items", "labelled.csv", "--text", "body", "--known", known, "--labels", "labels.txt")
    with Project("p.db") as first, Project("again.db") as second:
        one, two = first.labelled(), second.labelled()
        columns = [two.label_names.index(name) for name in ("red", "vehicle")]
        assert np.array_equal(one.Y.toarray()[:, :2], two.Y.toarray()[:, columns])
        assert np.array_equal(one.observed.toarray()[:, :2], two.observed.toarray()[:, columns])


def test_answers_out_and_in(folder):
    answer(4)
    run("tell", "p.db", "--undo", "--who", "ann")
    run("export", "p.db", "answers.jsonl", "--answers")
    run("export", "p.db", "tasks.json")
    run("new", "q.db", "--items", "docs.csv", "--text", "body", "--labels", "labels.txt")
    assert "5 new events" in run("import", "q.db", "answers.jsonl", "--answers").stdout
    assert "0 new events" in run("import", "q.db", "answers.jsonl", "--answers").stdout
    with Project("p.db") as first, Project("q.db") as second:
        assert first.events() == second.events()
    run("new", "r.db", "--items", "docs.csv", "--text", "body", "--labels", "labels.txt")
    assert "0 new items, 3 new events" in run("import", "r.db", "tasks.json").stdout


def test_a_label_studio_file_is_taken_in_once_and_told(folder):
    annotation = {"id": 1, "completed_by": 7, "created_at": "2024-05-01T10:00:00Z", "project": 5}
    chosen = {"from_name": "t", "to_name": "body", "type": "choices", "value": {"choices": ["red", "odd"]}}
    with Project("p.db") as project:
        name = min(project.item_names())
        data = dict(project.content_of(name))
    task = {"id": 99, "data": data, "project": 5, "annotations": [{**annotation, "result": [chosen]}]}
    (folder / "ls.json").write_text(json.dumps([task]), encoding="utf-8")
    told = run("import", "p.db", "ls.json").stdout
    assert "0 new items, 1 new event" in told and "1 new label: odd" in told
    assert "0 new events, 1 known already" in run("import", "p.db", "ls.json").stdout
    with Project("p.db") as project:
        (event,) = project.events()
    assert (event.item, event.who) == (name, "label-studio:7")
    gone = {**task, "annotations": [], "updated_at": "2024-05-01T11:00:00Z"}
    (folder / "ls.json").write_text(json.dumps([gone]), encoding="utf-8")
    assert "--reconcile takes them back" in run("import", "p.db", "ls.json").stdout
    assert "took back 1 answer" in run("import", "p.db", "ls.json", "--reconcile").stdout


STUDIO_TASKS = [
    {
        "id": 40 + n,
        "project": 5,
        "data": {"text": text, "from": "shop"},
        "annotations": [
            {
                "id": n + 1,
                "completed_by": {"id": 7, "email": "ann@example.org"},
                "created_at": f"2024-05-01T10:00:0{n}Z",
                "result": [{"from_name": "t", "to_name": "text", "type": "choices", "value": {"choices": chosen}}],
            }
        ]
        if chosen
        else [],
    }
    for n, (text, chosen) in enumerate(
        [("late again", ["late"]), ("broken cup", ["broken", "R&D"]), ("late again", []), ("thanks", [])]
    )
]


def told_by(project: str) -> list[tuple[str, str, dict[str, bool | None]]]:
    with Project(project) as made:
        return [(event.item, event.who, dict(event.values)) for event in made.events()]


def test_a_label_studio_export_is_a_new_project_with_its_answers(folder):
    (folder / "ls.json").write_text(json.dumps(STUDIO_TASKS), encoding="utf-8")
    (folder / "names.csv").write_text("name,description\nlate,came after the date\npraise,\n", encoding="utf-8")
    told = run("new", "a.db", "--items", "ls.json", "--labels", "names.csv").stdout
    assert "4 items, 4 labels" in told and "4 new items, 2 new events" in told
    no = dict.fromkeys(("late", "praise", "broken", "R&D"), False)
    said = [("40", {**no, "late": True}), ("41", {**no, "broken": True, "R&D": True})]
    assert told_by("a.db") == [(item, "label-studio:ann@example.org", values) for item, values in said]
    with Project("a.db") as made:
        assert made.settings.features["field"] == "text"
        assert made.labelled().labels[0].description == "came after the date"
    assert "0 new items, 0 new events, 2 known already" in run("import", "a.db", "ls.json").stdout
    run("new", "b.db", "--items", "ls.json", "--text", "from")
    told = run("import", "c.db", "ls.json").stdout
    assert told.startswith("c.db: a new project\n4 new items, 2 new events")
    assert told_by("b.db") == told_by("c.db")
    del no["praise"]
    assert [values.keys() for *_, values in told_by("c.db")] == [no.keys()] * 2
    assert "4 items" not in run("import", "c.db", "ls.json").stdout, "the second time it is there"


def test_an_export_of_ours_is_a_new_project_with_the_people_here(folder):
    answer(3)
    run("export", "p.db", "tasks.json", "--predictions")
    run("new", "copy.db", "--items", "tasks.json", "--text", "body", "--labels", "labels.txt")
    with Project("p.db") as first, Project("copy.db") as second:
        said = [[(e.item, e.who, e.at, dict(e.values)) for e in each.events()] for each in (first, second)]
        assert said[0] == said[1] and {who for _, who, *_ in said[0]} == {"ann"}
        assert first.labelled().items == second.labelled().items


@pytest.mark.parametrize(
    ("tasks", "more", "words"),
    [
        ([{**STUDIO_TASKS[3]}], [], "name them by labelwise new --items ... --labels"),
        ([{**STUDIO_TASKS[0], "data": {"one": "x", "two": "y"}}], [], "they have 'one', 'two'"),
        ([{**STUDIO_TASKS[0], "data": {"size": 7}}], [], "labelwise new --items ... --text; they have 'size'"),
        ([], ["--reconcile"], "there is no project none.db"),
        ([], ["--answers"], "there is no project none.db"),
    ],
)
def test_what_makes_no_project_of_a_label_studio_file_is_told(folder, tasks, more, words):
    (folder / "ls.json").write_text(json.dumps(tasks), encoding="utf-8")
    code = 6 if more else 2
    assert words in " ".join(run("import", "none.db", "ls.json", *more, code=code).stderr.split())
    assert not (folder / "none.db").exists()


def test_a_label_studio_file_has_no_columns(folder):
    (folder / "ls.json").write_text(json.dumps(STUDIO_TASKS), encoding="utf-8")
    for option in ("--known", "--id"):
        assert "are for tables" in run("new", "n.db", "--items", "ls.json", option, "from", code=2).stderr
    (folder / "none.json").write_text("[]", encoding="utf-8")
    assert "has no task" in run("new", "n.db", "--items", "none.json", "--labels", "a,b", code=2).stderr


def test_the_interface_of_exported_tasks_is_read_back(folder):
    run("export", "p.db", "interface.xml")
    text = (folder / "interface.xml").read_text(encoding="utf-8")
    with Project("p.db") as project:
        names = project.label_names()
    config = Config.read(text, names)
    assert (config.from_name, config.to_name, config.is_single) == ("labels", "body", False)
    assert config.choices == set(names) and config.box == ("suggestions", "body")
    assert Interface.read(text, names).asked == tuple(names)


def test_what_is_missing_to_give_predictions_to_label_studio_is_told(folder, monkeypatch):
    monkeypatch.delenv("LABEL_STUDIO_TOKEN", raising=False)
    live = ("export", "p.db", "--to-label-studio", "http://127.0.0.1:1")
    assert "give a file to write, or --to-label-studio" in run("export", "p.db", code=2).stderr
    assert "give a file to write" in run("export", "p.db", "x.csv", "--follow", code=2).stderr
    assert "Give --project" in run(*live, code=2).stderr
    assert "LABEL_STUDIO_TOKEN" in run(*live, "--project", "1", code=2).stderr
    monkeypatch.setenv("LABEL_STUDIO_TOKEN", "x")
    assert "not both" in run(*live, "--project", "1", "tasks.json", code=2).stderr
    assert "cannot be reached" in run(*live, "--project", "1", code=2).stderr


def test_what_is_missing_to_read_from_label_studio_is_told(folder, monkeypatch):
    monkeypatch.delenv("LABEL_STUDIO_TOKEN", raising=False)
    live = ("import", "p.db", "--from-label-studio", "http://127.0.0.1:1")
    assert "give a file, or --from-label-studio" in run("import", "p.db", code=2).stderr
    assert "Give --project" in run(*live, code=2).stderr
    assert "LABEL_STUDIO_TOKEN" in run(*live, "--project", "1", code=2).stderr
    assert "not both" in run(*live, "--project", "1", "ls.json", code=2).stderr
    assert "--reconcile is for Label Studio" in run("import", "p.db", "x.csv", "--reconcile", code=2).stderr
    monkeypatch.setenv("LABEL_STUDIO_TOKEN", "x")
    assert "cannot be reached" in run(*live, "--project", "1", code=2).stderr


def test_more_items_with_known_labels(folder):
    (folder / "more.csv").write_text("id,body,tags\nx1,red car,red;vehicle\nx2,green apple,\n", encoding="utf-8")
    run("import", "p.db", "more.csv", "--known", "tags")
    with Project("p.db") as project:
        assert project.labelled().n_observed == 3
    assert "0 new items; 2 were there already" in run("import", "p.db", "more.csv", "--known", "tags").stdout
    with Project("p.db") as project:
        assert project.labelled().n_observed == 3
    (folder / "more.csv").write_text("id,body\nx3,new\nx1,blue car\n", encoding="utf-8")
    refused = run("import", "p.db", "more.csv", code=2).stderr
    assert "the item 'x1' is in the project already, with other 'body'" in refused
    with Project("p.db") as project:
        assert "x3" not in project.item_names()


def test_labels_of_items_that_are_there_can_be_brought_later(folder):
    assert "36 were there already" in run("import", "p.db", "docs.csv").stdout
    run("import", "p.db", "docs.csv", "--known", "tags")
    with Project("p.db") as project:
        assert project.labelled().n_observed == 18 * 3
        n_events = len(project.events())
    run("import", "p.db", "docs.csv", "--known", "tags")
    with Project("p.db") as project:
        assert len(project.events()) == n_events


def test_a_file_told_twice_counts_once(folder):
    lines = [json.dumps({"item": f"d{n}", "values": {"red": n % 2 == 0}}) for n in range(20)]
    (folder / "answers.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert run("tell", "p.db", "answers.jsonl", "--who", "ann").stdout == "saved: 20\n"
    assert run("tell", "p.db", "answers.jsonl", "--who", "ann").stdout == "saved: 0; there already: 20\n"
    assert run("tell", "p.db", "answers.jsonl", "--who", "bob").stdout == "saved: 20\n"
    with Project("p.db") as project:
        assert len(project.events()) == 40
    run("export", "p.db", "events.csv", "--answers")
    assert run("import", "p.db", "events.csv", "--answers").stdout == "0 new events; 40 were there already\n"


def test_common_csv_files_are_not_misread(folder):
    rows = ["id,body,animal,tags", '1,a cat,1,"animal, mood"', "2,a car,0,NaN", "3,a hat,,mood", "4,,1,animal"]
    (folder / "mine.csv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    new = ("--items", "mine.csv", "--text", "body")
    told = run("new", "a.db", *new, "--known", "animal").stderr
    assert "column 'animal' is read as one label: 2 yes, 1 no, 1 blank (unknown)" in told
    assert "column 'body': 1 of 4 texts are blank" in told
    told = run("new", "b.db", *new, "--known", "tags").stderr
    assert "labels are divided by ',' (--label-separator ',')" in told and "1 blank" in told
    run("new", "c.db", *new, "--known", "tags", "--label-separator", ";")
    for name, labels in (("a", ("animal",)), ("b", ("animal", "mood")), ("c", ("animal", "animal, mood", "mood"))):
        with Project(f"{name}.db") as project:
            assert tuple(sorted(project.label_names())) == labels
    told = run("import", "b.db", "mine.csv", "--known", "body", code=2).stderr
    assert "which is not in the labels of the project" in told
    (folder / "doubt.csv").write_text('id,body,tags\n1,a cat,"animal, mood"\n', encoding="utf-8")
    told = run("new", "d.db", "--items", "doubt.csv", "--text", "body", "--known", "tags", code=2).stderr
    assert "found 'animal, mood', which may be one label or 2; say --label-separator ','" in told


def test_labels_in_mid_campaign(folder):
    run("labels", "add", "p.db", "new one")
    run("labels", "rename", "p.db", "new one", "newer")
    run("labels", "merge", "p.db", "newer", "vehicle")
    run("labels", "retire", "p.db", "odd; name, this")
    with Project("p.db") as project:
        assert project.label_names() == ["red", "vehicle"]
    assert "is retired" in run("tell", "p.db", "--item", "d0", "--yes", "odd; name, this", code=5).stderr
    run("tell", "p.db", "--item", "d0", "--yes", "red", "--who", "ann")
    assert (
        "mark the answer as a correction"
        in run("tell", "p.db", "--item", "d0", "--no", "red", "--who", "ann", code=2).stderr
    )
    run("tell", "p.db", "--item", "d0", "--no", "red", "--who", "ann", "--correct")


def test_a_label_added_with_what_it_goes_with(folder):
    run("labels", "add", "p.db", "a=b", "--example", "d0", "--who", "ann")
    run("labels", "add", "p.db", "wine", "--like", "red=0.4", "--like", "a=b=0.25")
    with Project("p.db") as project:
        assert project.campaign().new_labels["wine"].like == {"red": 0.4, "a=b": 0.25}
        event = project.events()[-1]
        assert (event.who, event.item, event.values) == ("ann", "d0", {"a=b": True})
    for wrong, told in (("red", "must be LABEL=SHARE"), ("rad=0.4", "not a known label"), ("red=4", "between 0 and 1")):
        assert told in run("labels", "add", "p.db", "x", "--like", wrong, code=2).stderr
    assert "no item 'nobody'" in run("labels", "add", "p.db", "x", "--example", "nobody", code=2).stderr


def test_a_new_label_starts_from_counts_of_elsewhere(folder):
    Path("counts.csv").write_text(
        "label,other,count\nred,red,50\nport,port,20\nport,red,10\nelse,else,9\nelse,port,9\nfar,far,3\n",
        encoding="utf-8",
    )
    assert "by its shares of 1 label\n" in run("labels", "add", "p.db", "port", "--counts", "counts.csv").stdout
    with Project("p.db") as project:
        assert project.campaign().new_labels["port"].like == {"red": 0.2}
    for name, more, told in (
        ("x", [], "no counts of label 'x'"),
        ("else", ["--like", "red=0.4"], "give one of them"),
    ):
        assert told in run("labels", "add", "p.db", name, "--counts", "counts.csv", *more, code=2).stderr
    Path("other.csv").write_text("label,other,count\nfar,far,3\nfog,fog,3\nfar,fog,1\n", encoding="utf-8")
    assert "with no label of the project" in run("labels", "add", "p.db", "fog", "--counts", "other.csv", code=2).stderr


def test_a_token_for_another_program(folder):
    token = run("user", "token", "p.db", "label-studio").stdout.strip()
    with Project("p.db") as project:
        assert project.people.owner_of_token(token) == "label-studio"
        run("user", "token", "p.db", "label-studio", "--remove")
        assert project.people.owner_of_token(token) is None
    assert "there is no token" in run("user", "token", "p.db", "label-studio", "--remove", code=2).stderr


def test_numbers_pictures_and_other_formats(folder):
    rng = np.random.default_rng(0)
    lines = ["a,b,tag,id", *(f"{x},{y},{int(x > 0)},n{i}" for i, (x, y) in enumerate(rng.standard_normal((20, 2))))]
    (folder / "numbers.csv").write_text("\n".join(lines), encoding="utf-8")
    assert "expected 0, 1 or blank" in run("new", "n.db", "--items", "numbers.csv", "--known", "tag,b", code=2).stderr
    run("new", "n.db", "--items", "numbers.csv", "--known", "tag", "--labels", "0,1")
    arff = "@relation 'x: -C 1'\n@attribute y {0,1}\n@attribute f numeric\n@data\n1,2.5\n0,1.5\n"
    (folder / "small.arff").write_text(arff, encoding="utf-8")
    run("new", "a.db", "--items", "small.arff", "--known", "1", "--labels", "z")
    with Project("a.db") as project:
        assert (project.label_names(), project.labelled().n_observed) == (["y", "z"], 2)
    (folder / "pictures").mkdir()
    for item, content in zip(range(4), make_digit_pictures(4).items, strict=True):
        (folder / "pictures" / f"{item}.png").write_bytes(base64.b64decode(content["image"].partition(",")[2]))
    run("new", "i.db", "--items", "pictures", "--labels", "even,odd", "--strategy", "uncertainty_pairs")
    question = json.loads(run("ask", "i.db", "--json").stdout)[0]
    assert question["content"]["image"].endswith(".png") and len(question["labels"]) == 1


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["ask", "none.db"], 6, "there is no project none.db"),
        (["ask", "docs.csv"], 6, "this is no database file"),
        (["ask", "music.db"], 6, "holds no labelwise project"),
        (["new", "p.db", "--items", "docs.csv", "--text", "body", "--labels", "labels.txt"], 6, "is there already"),
        (["new", "x.db", "--items", "docs.csv", "--text", "body"], 2, "which labels are there?"),
        (["new", "x.db", "--items", "docs.csv", "--text", "body", "--labels", "no.txt"], 2, "no file 'no.txt'"),
        (["new", "x.db", "--items", "twice.csv", "--text", "body", "--labels", "a"], 2, "the id 'd1' is given twice"),
        (["new", "x.db", "--items", "latin.csv", "--text", "body", "--labels", "a"], 2, "not utf-8 text"),
        (["new", "x.db", "--items", "docs.csv", "--text", "body", "--labels", "a,a"], 2, "'a'"),
        (["new", "x.db", "--items", "docs.csv", "--text", "body", "--labels", "a", "--model", "m"], 2, "no model 'm'"),
        (["new", "no/x.db", "--items", "docs.csv", "--text", "body", "--labels", "a"], 6, "is the folder there"),
        (["tell", "p.db", "--lease", "gone", "--yes", "red"], 5, "no question with the lease"),
        (["tell", "p.db", "--yes", "red"], 2, "give one of"),
        (["tell", "p.db", "--item", "d0", "--yes", "rod"], 2, "did you mean 'red'"),
        (["tell", "p.db", "--item", "d0", "--yes", "red", "--no", "red"], 2, "'red' is given as yes and as no"),
        (["predict", "p.db", "--out", "x.csv"], 4, "nothing was answered"),
        (["predict", "p.db", "--out", "x.txt"], 2, "predictions are written to .jsonl, .csv or .parquet"),
        (["ask", "p.db", "--tty"], 2, "--tty needs a terminal"),
        (["ask", "p.db", "-n", "0"], 2, "-n must be at least 1"),
        (["import", "p.db", "labels.txt"], 2, ""),
        (["export", "p.db", "out.xyz"], 2, "says no format"),
        (["export", "p.db", "docs.csv", "--model"], 2, "a model is written to a .skops file, got 'docs.csv'"),
        (
            ["new", "x.db", "--items", "docs.csv", "--text", "body", "--labels", "a", "--strategy", "nope"],
            2,
            "there is no strategy 'nope'",
        ),
        (["new", "x.db", "--items", "latin.csv", "--text", "body", "--labels", "a"], 2, "say --encoding 'latin-1'"),
        (["new", "x.db", "--items", "latin.csv", "--labels", "a", "--encoding", "u8x"], 2, "no encoding 'u8x'"),
        (["new", "x.db", "--items", "cut.csv", "--text", "body", "--labels", "a"], 2, "say --delimiter ';'"),
        (["new", "x.db", "--items", "tabs.csv", "--text", "body", "--labels", "a"], 2, "say --delimiter '\\t'"),
        (["new", "x.db", "--items", "docs.csv", "--labels", "a"], 2, "is numeric; give --text\n"),
        (["new", "x.db", "--items", "docs.csv", "--text", "body", "--known", "no"], 2, "asked for by --known;"),
        (["new", "x.db", "--items", "docs.csv", "--text", "body", "--known", "a,b", "--labels", "a"], 2, "by --known;"),
        (["predict", "p.db", "--threshold", "2"], 2, "lies between 0 and 1, got 2.0"),
        (["predict", "p.db", "--out", "no/x.csv"], 2, "/no: there is no such folder"),
    ],
)
def test_what_goes_wrong_is_one_line_and_an_exit_code(folder, arguments, code, words):
    (folder / "twice.csv").write_text("id,body\nd1,a\nd1,b\n", encoding="utf-8")
    (folder / "latin.csv").write_bytes("id,body\nd1,caf\xe9\n".encode("latin-1"))
    (folder / "cut.csv").write_text("id;body\nd1;a, b\n", encoding="utf-8")
    (folder / "tabs.csv").write_text("id\tbody\nd1\ta\n", encoding="utf-8")
    before = (folder / "docs.csv").read_bytes()
    with sqlite3.connect(folder / "music.db") as connection:
        connection.execute("CREATE TABLE songs (name TEXT)")
    done = run(*arguments, code=code)
    said = [line for line in done.stderr.splitlines() if not line.endswith(" …")]  # a busy machine tells of waits, too
    assert words in done.stderr and len(said) == 1
    assert not (folder / "x.db").exists() and (folder / "docs.csv").read_bytes() == before


def test_csv_files_in_other_dialects(folder):
    table = "id;body;tags\nd1;caf\xe9 noir;a\nd2;th\xe9 vert;\n".encode("latin-1")
    (folder / "old.csv").write_bytes(table)
    (folder / "tabs.csv").write_bytes(table.replace(b";", b"\t").replace(b"d1", b"d3").replace(b"d2", b"d4"))
    semicolons, tabs = (("--encoding", "latin-1", "--delimiter", sign) for sign in (";", "\\t"))
    done = run(
        "new", "old.db", "--items", "old.csv", "--text", "body", "--labels", "a,b", "--known", "tags", *semicolons
    )
    assert "labelwise serve" in done.stdout and "labelwise ask" in done.stdout
    run("import", "old.db", "tabs.csv", *tabs)
    with Project("old.db") as project:
        assert [item["body"] for item in project.labelled().items] == ["café noir", "thé vert"] * 2
    run("predict", "old.db", "old.csv", "--out", "new.csv", *semicolons)
    assert (folder / "new.csv").read_text(encoding="utf-8").count("\n") == 3


def test_nobody_answers_or_skips_by_the_lease_of_another(folder):
    lease = json.loads(run("ask", "p.db", "--json", "--who", "ann").stdout)[0]["lease"]
    for said in (("--yes", "red"), ("--skip",)):
        done = run("tell", "p.db", "--lease", lease, *said, "--who", "bob", code=5)
        assert f"no question with the lease '{lease}' for bob" in done.stderr
    with Project("p.db") as project:
        assert project.events() == []
    run("tell", "p.db", "--lease", lease, "--yes", "red")  # without a name it is for whom it was given to
    with Project("p.db") as project:
        assert [event.who for event in project.events()] == ["ann"]


def test_a_second_worker_has_an_exit_code_of_its_own(folder):
    with Project("p.db") as project, only_worker(project.store):
        assert "one is enough" in run("serve-worker", "p.db", "--once", code=3).stderr


def test_when_everything_is_answered_the_exit_code_says_so(folder):
    with Project("p.db") as project:
        every = dict.fromkeys(project.label_names(), False)
        project.tell([Answer(f"d{n}", every) for n in range(36)], who="ann")
    assert "nothing left to ask" in run("ask", "p.db", "--who", "ann", code=4).stderr


def test_demo_projects_are_ready(tmp_path):
    done = run("demo", "--project", tmp_path / "demo.db")
    assert "demo-digits.db" in done.stdout
    ticket = json.loads(run("ask", tmp_path / "demo.db", "--json").stdout)[0]
    assert len(ticket["content"]["text"]) > 20 and len(ticket["labels"]) >= 20
    digit = json.loads(run("ask", tmp_path / "demo-digits.db", "--json").stdout)[0]
    assert digit["content"]["image"].startswith("data:image/png") and len(digit["labels"]) == 1
    assert "is there already" in run("demo", "--project", tmp_path / "demo.db", code=6).stderr


@pytest.mark.parametrize("raw", [False, True])
def test_exported_tables_hold_no_formulas_unless_wanted(folder, raw):
    run("labels", "add", "p.db", "=1+1", "--example", "d0")
    run("tell", "p.db", "--item", "d1", "--yes", "=1+1", "--who", "@ann")
    option = ["--raw-csv"] if raw else []
    run("export", "p.db", "labelled.csv", *option)
    run("export", "p.db", "answers.csv", "--answers", *option)
    for name in ("labelled.csv", "answers.csv"):
        with open(name, newline="", encoding="utf-8") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        assert any(cell.startswith(("=", "@")) for cell in cells) is raw, name
        assert any(cell.startswith(("'=", "'@")) for cell in cells) is not raw, name
    if not raw:
        back = read_events_file("answers.csv")[-1]
        assert (back.who, dict(back.values)) == ("@ann", {"=1+1": True})


def test_labels_are_described_shown_and_read_again(folder):
    run("labels", "describe", "p.db", "vehicle", "Cars; and keys of cars", "--keyword", "car", "--alias", "auto")
    assert "vehicle: Cars; and keys of cars\n" in run("labels", "show", "p.db").output
    there = json.loads(run("labels", "show", "p.db", "--json").output)
    about = {"name": "vehicle", "description": "Cars; and keys of cars", "keywords": ["car"], "aliases": ["auto"]}
    assert there == [{"name": "red"}, about, {"name": "odd; name, this"}]
    (folder / "labels.json").write_text(json.dumps(there), encoding="utf-8")
    assert "0 described anew" in run("labels", "read", "p.db", "labels.json").output
    run("labels", "describe", "p.db", "vehicle", "Cars")  # in place of what was said before
    assert "1 described anew" in run("labels", "read", "p.db", "labels.json").output
    with Project("p.db") as project:
        assert [label.as_dict() for label in project.labels()] == there
        assert project.campaign().data.labels[1].keywords == ("car",)
        with project.store.reading() as connection:
            assert [change["what"] for change in read_changes(connection)].count("describe labels") == 3
    run("labels", "describe", "p.db", "nothing", "x", code=2)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("meant.csv", "name,description\nred,the colour\nvehicle,\n"),
        ("meant.jsonl", '{"name": "red", "description": "the colour"}\n"vehicle"\n'),
        ("meant.json", '{"red": "the colour", "vehicle": ""}'),
        ("plain.csv", "red\nvehicle\n"),
    ],
)
def test_a_new_project_learns_from_the_file_what_its_labels_mean(folder, name, content):
    (folder / name).write_text(content, encoding="utf-8")
    run("new", "q.db", "--items", "docs.csv", "--text", "body", "--labels", name)
    with Project("q.db") as project:
        said = [(label.name, label.description) for label in project.labels()]
    assert said == [("red", "the colour" if name.startswith("meant") else ""), ("vehicle", "")]


def test_vectors_by_an_encoder_or_from_a_file(folder):
    made = ("--items", "docs.csv", "--text", "body", "--labels", "labels.txt")
    run("new", "embedded.db", *made, "--embed", "letter_encoder:Letters")
    assert (
        "0 of 36 texts have vectors; until all have, the model learns from words" in run("status", "embedded.db").stdout
    )
    run("serve-worker", "embedded.db", "--once")
    assert "have vectors" not in run("status", "embedded.db").stdout
    with Project("embedded.db") as project:
        assert [block.kind for block in project.campaign().data.blocks] == ["words", "vectors"]
    np.savez("v.npz", vectors=np.eye(36)[::-1], ids=[f"d{n}" for n in range(36)][::-1])
    run("new", "given.db", *made, "--embeddings", "v.npz")
    with Project("given.db") as project:
        block = project.campaign().data.blocks[1]
        np.testing.assert_array_equal(block.of(project.campaign().data.X).toarray(), np.eye(36))
    np.save("short.npy", np.eye(3))
    refused = run("new", "refused.db", *made, "--embeddings", "short.npy", code=2)
    assert "there are 3 vectors for 36 items" in refused.stderr and not (folder / "refused.db").exists()
