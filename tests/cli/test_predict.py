"""`labelwise predict` on young projects and on files whose columns are in another order."""

from __future__ import annotations

import csv

import numpy as np
import pytest
from typer.testing import CliRunner

import labelwise as lw
from labelwise import Answer, LabelData, Project
from labelwise.cli import app
from labelwise.labelling import ProjectError, TrainedLabeller
from labelwise.labelling.training.worker import model_path


def run(*arguments: object, code: int = 0):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output + done.stderr
    return done


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


# -- a young project ---------------------------------------------------------------------------------------------------

N_LABELS = 230


def texts(n, rng):
    """Texts of three topics each; a topic is a label and has words of its own."""
    topics = [rng.choice(N_LABELS, 3, replace=False) for _ in range(n)]
    words = [" ".join(f"topic{t}word{rng.integers(3)}" for t in each for _ in range(3)) for each in topics]
    return words, [{f"label {t}" for t in each} for each in topics]


@pytest.fixture
def young(tmp_path, monkeypatch):
    """A project of 60 texts and 230 labels of which two items were answered in full, two more labels for a third."""
    monkeypatch.chdir(tmp_path)
    body, truth = texts(60, np.random.default_rng(0))
    (tmp_path / "items.csv").write_text("id,text\n" + "".join(f"t{i},{text}\n" for i, text in enumerate(body)))
    names = [f"label {t}" for t in range(N_LABELS)]
    (tmp_path / "labels.txt").write_text("\n".join(names) + "\n")
    (tmp_path / "new.csv").write_text(f"text\n{body[0]}\n")
    run("new", "p.db", "--items", "items.csv", "--text", "text", "--labels", "labels.txt", "--id", "id")
    with Project("p.db") as project:
        said = [Answer(f"t{i}", {name: name in truth[i] for name in names[: 200 if i else 230]}) for i in (0, 1)]
        project.tell(said)
    return tmp_path, truth


def test_one_line_of_text_gets_few_labels_and_what_was_left_out_is_told(young):
    folder, truth = young
    done = run("predict", "p.db", "new.csv", "--out", "out.csv", "--top", 8)
    found = rows_of(folder / "out.csv")[0]
    labels = [name for name in found["labels"].split(";") if name]
    assert len(labels) <= 6
    assert set(labels) & truth[0]
    left_out = N_LABELS - len(truth[0] | truth[1])
    assert f"{left_out} of 230 labels were left out, because they have no yes so far" in done.stderr
    assert "--every-label includes them" in done.stderr
    assert len(found["top_labels"].split(";")) == len(truth[0] | truth[1])
    assert set(found["top_labels"].split(";")) == truth[0] | truth[1]


def test_labels_nobody_said_yes_to_can_be_had(young):
    folder, _ = young
    done = run("predict", "p.db", "new.csv", "--out", "out.csv", "--every-label", "--threshold", 0.0)
    assert len(rows_of(folder / "out.csv")[0]["labels"].split(";")) == N_LABELS
    assert "left out" not in done.stderr
    few = run("predict", "p.db", "new.csv", "--out", "few.csv", "--threshold", 0.0)
    assert 3 <= len(rows_of(folder / "few.csv")[0]["labels"].split(";")) <= 6
    assert "left out" in few.stderr


def test_a_model_file_from_before_predicts_every_label(young):
    folder, truth = young
    with Project("p.db") as project:
        project.refresh()
        labeller = TrainedLabeller.load(model_path(project.store))
        assert labeller.learnt_labels().sum() == len(truth[0] | truth[1])
        assert not labeller.label_sets([{"text": "topic1word1"}], threshold=0.0)[0, ~labeller.learnt_labels()].any()
        del labeller.learnt  # files had no such field
        labeller.save(folder / "before.skops")
    assert TrainedLabeller.load(folder / "before.skops").learnt_labels().all()


# -- columns by name ---------------------------------------------------------------------------------------------------


@pytest.fixture
def numbers(tmp_path, monkeypatch):
    """A project whose items are numbers, x, y and z; the label is the sign of x, and y has the largest numbers."""
    monkeypatch.chdir(tmp_path)
    X = np.random.default_rng(0).normal(size=(40, 3)) * [1, 50, 1]
    data = LabelData.from_arrays(X, X[:, :1] > 0, label_names=["right"], feature_names=["x", "y", "z"])
    Project.create("n.db", data, model="label_gp").close()
    return tmp_path, X


def write_csv(path, X, columns):
    place = {name: column for column, name in enumerate("xyz")}
    lines = [",".join(repr(float(row[place[name]])) if name in place else "7" for name in columns) for row in X]
    path.write_text(",".join(columns) + "\n" + "\n".join(lines) + "\n", encoding="utf-8")


def probabilities(folder, file):
    run("predict", "n.db", file, "--out", "out.jsonl", "--threshold", 0.0)
    return (folder / "out.jsonl").read_text(encoding="utf-8")


def test_csv_columns_in_another_order_give_the_same_predictions(numbers):
    folder, X = numbers
    write_csv(folder / "straight.csv", X[:10], ["x", "y", "z"])
    write_csv(folder / "turned.csv", X[:10], ["z", "x", "y"])
    write_csv(folder / "more.csv", X[:10], ["z", "note", "x", "y"])  # a file may say more than the model asks for
    straight = probabilities(folder, "straight.csv")
    assert probabilities(folder, "turned.csv") == straight
    assert probabilities(folder, "more.csv") == straight
    write_csv(folder / "renamed.csv", X[:10], ["x", "y", "w"])
    assert "'z'" in run("predict", "n.db", "renamed.csv", "--out", "out.csv", code=2).stderr


def test_other_formats_go_by_names_too(numbers):
    folder, X = numbers
    for name, order in (("straight", [0, 1, 2]), ("turned", [2, 0, 1])):
        names = ["xyz"[column] for column in order]
        lw.write(
            LabelData.from_arrays(X[:10][:, order], np.zeros((10, 1)), label_names=["right"], feature_names=names),
            folder / f"{name}.arff",
        )
    assert probabilities(folder, "turned.arff") == probabilities(folder, "straight.arff")


def test_items_added_in_another_order_are_stored_in_the_projects(numbers):
    _, X = numbers
    turned = LabelData.from_arrays(
        X[:2][:, [2, 0, 1]], label_names=["right"], item_ids=["n1", "n2"], feature_names=["z", "x", "y"]
    )
    with Project("n.db") as project:
        project.add_items(turned)
        stored = project.labelled()
        np.testing.assert_array_equal(stored.X[-2:], X[:2])
        other = LabelData.from_arrays(X[:1], label_names=["right"], item_ids=["n3"], feature_names=["x", "y", "w"])
        with pytest.raises(ProjectError, match="X has no 'z'; an unexpected 'w'"):
            project.add_items(other)
        with pytest.raises(ProjectError, match="the items have 2 features, the project 3"):
            project.add_items(LabelData.from_arrays(X[:1, :2], label_names=["right"], item_ids=["n4"]))
        assert project.labelled().n_items == 42


# -- the column of ids -------------------------------------------------------------------------------------------------


def test_new_items_have_their_ids_in_the_column_of_the_projects_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"p{i},{'red' if i % 2 else 'blue'} car {i},{'red' if i % 2 else 'blue'}\n" for i in range(8))
    (tmp_path / "items.csv").write_text(f"package,body,tags\n{rows}")
    (tmp_path / "new.csv").write_text("package,body,number\nq1,red car,7\n")
    (tmp_path / "plain.csv").write_text("body\nblue car\n")
    run("new", "p.db", "--items", "items.csv", "--text", "body", "--known", "tags", "--id", "package")

    def ids(*options):
        run("predict", "p.db", *options, "--out", "out.csv")
        return [row["id"] for row in rows_of(tmp_path / "out.csv")]

    assert ids("new.csv") == ["q1"]
    assert ids("new.csv", "--id", "number") == ["7"]
    assert ids("plain.csv", "--id", "") == ["0"]
    refused = run("predict", "p.db", "plain.csv", code=2).stderr
    assert "there is no column 'package', asked for by --id; there are" in refused and "number the rows by" in refused
    (tmp_path / "more.csv").write_text("package,body,tags\nr1,red car,red\n")
    run("import", "p.db", "new.csv")
    run("import", "p.db", "more.csv", "--known", "tags")
    with Project("p.db") as project:
        assert {"q1", "r1"} <= set(project.labelled().item_ids)
