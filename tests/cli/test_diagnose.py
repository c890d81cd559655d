import json

import numpy as np
import pytest

pytest.importorskip("typer", reason="needs the extra cli")

from typer.testing import CliRunner

from labelwise.cli import app

LABELS = ["fever", "cough", "rash"]


@pytest.fixture
def files(tmp_path):
    """Fever and cough always come together; rash is rare and alone."""
    rng = np.random.default_rng(0)
    rows = ["age,weight,fever,cough,rash"]
    for _ in range(60):
        flu, rash = rng.random() < 0.5, rng.random() < 0.1
        rows.append(f"{rng.normal():.3f},{rng.normal():.3f},{int(flu)},{int(flu)},{int(rash)}")
    (tmp_path / "known.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "today.csv").write_text("age,weight,fever,cough,rash\n0.1,0.2,1,,\n0.3,-0.1,,,\n")
    return tmp_path


def run(files, *options):
    arguments = ["diagnose", str(files / "known.csv"), str(files / "today.csv"), "--labels", ",".join(LABELS)]
    return CliRunner().invoke(app, [*arguments, *map(str, options)])


def test_known_labels_tell_about_the_others(files):
    done = run(files, "--buy", 3, "--json")
    assert done.exit_code == 0, done.output
    rows = json.loads(done.stdout)
    of = {(row["item"], row["label"]): row for row in rows}
    assert ("0", "fever") not in of  # it is known
    assert len(of) == 2 + 3
    assert of["0", "cough"]["probability"] > of["1", "cough"]["probability"] + 0.2


def test_costs_decide(files):
    (files / "costs.csv").write_text("label,cost\nfever,1000\ncough,1000\n")
    first = json.loads(run(files, "--buy", 1, "--json").stdout)
    dear = json.loads(run(files, "--buy", 1, "--costs", files / "costs.csv", "--json").stdout)
    assert first[1]["label"] in ("fever", "cough")
    assert dear[1]["label"] == "rash" and dear[1]["cost"] == 1


def test_table_for_people(files):
    done = run(files, "--buy", 1)
    assert done.exit_code == 0
    assert "ask for" in done.stdout and "fever" in done.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--rule", "magic"], "rule must be one of"),
        (["--buy", "0"], "--buy"),
        (["--model", "oracle"], "there is no model 'oracle'"),
        (["--costs", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_errors_are_one_line_and_exit_code_2(files, options, words):
    done = run(files, *options)
    assert done.exit_code == 2
    assert words in done.stderr
    assert "Traceback" not in done.output


def test_a_price_for_a_label_that_is_not_there(files):
    (files / "costs.csv").write_text("label,cost\nflu,2\n")
    done = run(files, "--costs", files / "costs.csv")
    assert done.exit_code == 2 and "line 2" in done.stderr and "'flu'" in done.stderr


def test_a_cost_that_is_no_number_is_told_with_its_line(files):
    (files / "costs.csv").write_text("label,cost\nfever,2\nrash,abc\n", encoding="utf-8")
    done = run(files, "--costs", files / "costs.csv")
    assert done.exit_code == 2 and "costs.csv, line 3: the cost 'abc' is no number" in done.stderr
