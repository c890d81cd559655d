from __future__ import annotations

import pytest
from typer.testing import CliRunner

from labelwise.cli import app


def test_the_quick_demo_prints_what_it_found_and_the_path_of_the_report(tmp_path):
    done = CliRunner().invoke(app, ["demo", "--quick", "--jobs", "1", "--out", str(tmp_path / "first")])
    assert done.exit_code == 0, done.stderr
    for words in (
        "F1 on other tickets, after",
        "10 min",
        "usual way",
        "labelwise without names",
        "Report: ",
        "serve demo.db",
    ):
        assert words in done.stdout
    assert (tmp_path / "first" / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "words"), [(["--jobs", "0"], "--jobs must be at least 1"), (["--out", "f"], "f:")]
)
def test_wrong_options_are_one_line_and_exit_code_2(tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f").write_text("a file")
    done = CliRunner().invoke(app, ["demo", *arguments])
    assert done.exit_code == 2
    assert words in done.stderr and done.stderr.count("\n") == 1
