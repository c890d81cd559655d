"""Tables that went to a spreadsheet and came back, waits that are told, and what a new project says it will ask."""

import csv
import time

import numpy as np
import pytest
from typer.testing import CliRunner

from labelwise import Answer, LabelData, Project
from labelwise.cli import _common, app


def run(*arguments: object, code: int = 0):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output + done.stderr
    return done


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project p.db of six texts and three labels, one item answered by ann."""
    monkeypatch.chdir(tmp_path)
    data = LabelData.from_arrays(
        np.zeros((6, 1)),
        label_names=["red", "car", "=odd; name"],
        item_ids=[f"d{n}" for n in range(6)],
        items=[{"body": f"=red car {n}"} for n in range(6)],
    )
    with Project.create("p.db", data, text="body", model="binary_relevance") as project:
        project.tell(Answer("d0", {"red": True, "car": False, "=odd; name": False}), who="ann")
    return tmp_path


def edit_csv(path, changes):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    names = list(rows[0])
    for row in rows:
        row.update({name: value for (item, name), value in changes.items() if row["id"] == item})
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)


def edit_workbook(path, changes):
    openpyxl = pytest.importorskip("openpyxl", reason="needs the extra spreadsheets")
    book = openpyxl.load_workbook(path)
    sheet = book.active
    names = [cell.value for cell in sheet[1]]
    for row in sheet.iter_rows(min_row=2):
        for (item, name), value in changes.items():
            if row[names.index("id")].value == item:
                row[names.index(name.lstrip("'"))].value = value if value == "" else int(value)
    book.save(path)


def told(folder):
    with Project(folder / "p.db") as project:
        return {(event.item, event.who): dict(event.values) for event in project.events()}


@pytest.mark.parametrize(
    ("name", "edit", "odd"), [("x.csv", edit_csv, "'=odd; name"), ("x.xlsx", edit_workbook, "=odd; name")]
)
def test_a_corrected_spreadsheet_gives_exactly_those_answers(folder, name, edit, odd):
    if name == "x.xlsx":
        pytest.importorskip("openpyxl", reason="needs the extra spreadsheets")
    run("export", "p.db", name)
    before = told(folder)
    assert run("tell", "p.db", name, "--who", "bob").stdout.strip() == ""  # nothing was changed, nothing is said
    assert told(folder) == before
    changes = {("d0", "car"): "1", ("d1", "red"): "1", ("d1", odd): "0", ("d4", "car"): "0", ("d0", "red"): ""}
    edit(folder / name, changes)
    assert "saved: 3" in run("tell", "p.db", name, "--who", "bob").stdout
    expected = {
        ("d0", "bob"): {"car": True},
        ("d1", "bob"): {"red": True, "=odd; name": False},
        ("d4", "bob"): {"car": False},
    }
    assert told(folder) == before | expected
    with Project("p.db") as project:
        assert [event.item for event in project.events() if event.who == "bob"] == ["d0", "d1", "d4"]


def test_what_is_wrong_in_a_table_of_answers(folder):
    (folder / "x.csv").write_text("id,red\nd1,1\nd11,1\n")
    assert "there is no item 'd11' in the project; did you mean" in run("tell", "p.db", "x.csv", code=2).stderr
    (folder / "x.csv").write_text("id,red\nd1,maybe\n")
    assert (
        "item 'd1', column 'red': found 'maybe', expected 0, 1 or blank" in run("tell", "p.db", "x.csv", code=2).stderr
    )
    (folder / "x.csv").write_text("id,blue\nd1,1\n")
    assert "has no column that is a label of the project; it has 'blue'" in run("tell", "p.db", "x.csv", code=2).stderr
    assert len(told(folder)) == 1  # all or nothing


def test_status_shows_the_labels_with_most_yes(folder):
    shown = run("status", "p.db", "--top", 1).stdout
    assert "red" in shown and "=odd" not in shown and "2 more labels" in shown
    assert "--top must be at least 1, got 0" in run("status", "p.db", "--top", 0, code=2).stderr


def test_a_new_project_says_what_it_asks_and_what_that_costs(folder):
    rows = "\n".join(f"{n},{'word ' * 40}" for n in range(300))
    (folder / "docs.csv").write_text(f"id,body\n{rows}\n")
    made = ["--items", "docs.csv", "--text", "body", "--labels", "red,car"]
    said = run("new", "q.db", *made).stdout
    assert "it asks about whole items, 10 random items first" in said
    # 40 words of 0.25 s, 3 s to open and save, two labels of 4 s: 21 s an item
    assert "100 items take about 35 min, all 300 about 1 h 40 min of a person's time, if an item has 2 labels" in said
    assert "it asks about whole items" in run("new", "items.db", *made, "--strategy", "items").stdout
    pairs = run("new", "r.db", *made, "--strategy", "pairs").stdout
    assert "one label of one item at a time" in pairs and "100 questions take about" in pairs


def test_names_that_are_nearly_right(folder):
    (folder / "docs.csv").write_text("id,body\n1,red car\n")
    made = ["--items", "docs.csv", "--labels", "red"]
    assert "did you mean 'label_gp'?" in run("new", "q.db", *made, "--model", "labelgp", code=2).stderr
    assert "did you mean 'uncertainty'?" in run("new", "q.db", *made, "--strategy", "uncertanty", code=2).stderr
    assert "did you mean 'body'?" in run("new", "q.db", *made, "--text", "bdy", code=2).stderr


def test_a_long_wait_is_told_and_a_short_one_is_not(capsys):
    with _common.waiting("counting sheep", seconds=5):
        pass
    assert capsys.readouterr().err == ""
    with _common.waiting("counting sheep", seconds=0.01):
        time.sleep(0.1)
    assert capsys.readouterr().err == "counting sheep …\n"
