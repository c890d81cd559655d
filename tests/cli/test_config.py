"""Options by the environment and by a file, and which of them counts."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from labelwise.cli import _by_parameter, app

DEPLOY = Path(__file__).parents[2] / "deploy"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """The command in a folder of its own, with one small table of items there."""
    monkeypatch.chdir(tmp_path)
    rows = [f"i{n},a text about {'red' if n % 2 else 'blue'} things,{'red' if n % 2 else 'blue'}" for n in range(6)]
    (tmp_path / "items.csv").write_text("\n".join(["id,body,tags", *rows]) + "\n")

    def invoke(*words, **environment):
        return CliRunner().invoke(app, list(words), env=environment)

    return invoke


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_command_line_counts_before_the_environment_and_that_before_the_file(run, tmp_path):
    file = write(tmp_path / "labelwise.toml", '[cooccurrence]\nout = "by-file.csv"\nlabels = "tags"\n')
    words = ("cooccurrence", "items.csv")
    assert "by-file.csv" in run("--config", file, *words).stdout
    assert "by-file.csv" in run(*words, LABELWISE_CONFIG=file).stdout
    by_variable = {"LABELWISE_CONFIG": file, "LABELWISE_COOCCURRENCE_OUT": "by-variable.csv"}
    assert "by-variable.csv" in run(*words, **by_variable).stdout
    assert "by-word.csv" in run(*words, "--out", "by-word.csv", **by_variable).stdout


def test_options_are_spelt_as_on_the_command_line_and_may_be_lists(run, tmp_path):
    text = '[stream.train]\nhalf-life = 20.0\n[serve]\nallow-host = ["a.org", "b.org"]\nlog-format = "xml"\n'
    done = run("--config", write(tmp_path / "c.toml", text), "serve", "no.db")
    assert done.exit_code == 2 and "--log-format is text or json" in done.output
    done = run("serve", "no.db", LABELWISE_SERVE_ALLOW_HOST="a.org b.org:80", LABELWISE_SERVE_PORT="8123")
    assert done.exit_code == 2 and "'b.org:80'" in done.output


def test_the_project_comes_from_the_environment_or_the_file(run, tmp_path, monkeypatch):
    monkeypatch.setenv("LABELWISE_PROJECT", "")  # so that what the command sets is taken back
    monkeypatch.delenv("LABELWISE_PROJECT")
    file = write(tmp_path / "c.toml", 'project = "things.db"\n[status]\njson = true\n')
    made = run("new", "things.db", "--items", "items.csv", "--text", "body", "--known", "tags")
    assert made.exit_code == 0, made.output
    assert json.loads(run("status", "--json", LABELWISE_PROJECT="things.db").stdout)["items"] == 6
    assert json.loads(run("--config", file, "status").stdout)["items"] == 6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[serv]\nport = 1\n", "did you mean 'serve'?"),
        ("[serve]\nprot = 1\n", "did you mean 'port'?"),
        ("[user.ad]\nrole = 'admin'\n", "did you mean 'add'?"),
        ("serve = 3\n", "expected a table of options, got 3"),
        ("[serve\n", "line 1"),
    ],
)
def test_what_is_wrong_in_the_file_is_told_in_one_line(run, tmp_path, text, words):
    done = run("--config", write(tmp_path / "c.toml", text), "user", "--help")
    assert done.exit_code == 2 and words in done.stderr and done.stderr.count("\n") == 1


def test_a_file_that_is_not_there_is_told(run):
    done = run("--config", "none.toml", "status", "no.db")
    assert done.exit_code == 2 and "none.toml: No such file" in done.stderr


OTHERS = {"LABELWISE_PROJECT", "LABELWISE_CONFIG", "LABELWISE_NAME"}  # the last is of compose alone


def test_what_is_deployed_names_options_that_are_there():
    """A variable that no option reads would be passed over in silence."""
    group = typer.main.get_command(app)
    names = {
        f"LABELWISE_{command}_{option.name}".replace("-", "_").upper()
        for command in ("serve", "serve-worker")
        for option in group.get_command(None, command).params
    }
    texts = [path.read_text(encoding="utf-8") for path in DEPLOY.iterdir() if path.is_file()]
    used = {name for text in texts for name in re.findall(r"LABELWISE_[A-Z_]+", text)} - OTHERS
    used -= {"LABELWISE_SERVE_"} | {name for name in used if name.endswith("_FOR_LABELWISE")}
    assert {"LABELWISE_SERVE_HOST", "LABELWISE_SERVE_BEHIND_PROXY"} <= used <= names
    given = tomllib.loads((DEPLOY / "labelwise.toml").read_text(encoding="utf-8"))
    assert _by_parameter(given, group, "labelwise.toml")["serve"]["allow_host"] == ["label.example.org"]


def test_a_variable_named_version_is_nothing_to_the_command(run):
    assert "cooccurrence" in run("--help", LABELWISE_VERSION="1.2").stdout
