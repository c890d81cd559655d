"""`labelwise reproduce` with small papers in place of the real ones."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

pytest.importorskip("jinja2", reason="needs the extra plots")

from labelwise.cli import app
from labelwise.studies import papers
from labelwise.studies.jobs import Job
from labelwise.studies.papers import Claim, Exhibit, Paper


def double(value):
    return {"value": 2 * value}


def interrupt(value):
    raise KeyboardInterrupt


def make_paper(name, verdict, work=double):
    def plan(quick, shared):
        return {"numbers": [Job(work, {"value": v}) for v in range(2 if quick else 3)]}

    paper = Paper(name, f"The paper {name}", plan)

    @paper.exhibit("numbers")
    def shown(runs):
        return Exhibit("Table 1", claims=[Claim("Table 1", "it doubles", "6", str(sum(runs.values("value"))), verdict)])

    return paper


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("LABELWISE_SHARED_DATA", raising=False)
    small = {name: make_paper(name, verdict) for name, verdict in (("miml", "holds"), ("bomc", "not shown"))}
    monkeypatch.setattr(papers, "PAPERS", small)
    monkeypatch.setattr(papers, "load_paper", small.__getitem__)
    return tmp_path


def run(*arguments: str):
    return CliRunner().invoke(app, ["reproduce", *arguments, "--jobs", "1"])


def test_one_paper_is_told_with_its_report(here):
    done = run("miml")
    assert done.exit_code == 0, done.stderr
    assert "The paper miml" in done.stdout and "Of one claim 1 holds" in done.stdout
    assert "Report: runs/reproduce/miml/report.html" in done.stdout
    assert (here / "runs/reproduce/miml/report.html").exists()
    assert json.loads(run("miml", "--json").stdout) == {
        "paper": "miml",
        "claims": [
            {"where": "Table 1", "says": "it doubles", "paper": "6", "ours": "6", "verdict": "holds"},
        ],
        "tables": [],
    }


def test_all_papers_make_one_report_and_one_json(here):
    done = run("all", "--out", "o")
    assert done.exit_code == 0, done.stderr
    assert "The paper miml" in done.stdout and "The paper bomc" in done.stdout
    assert "Of 2 claims 1 holds, 0 hold in part, 1 is not shown, 0 do not hold." in done.stdout
    assert "Report: o/report.html" in done.stdout
    told = json.loads(run("all", "--out", "o", "--json").stdout)
    assert [paper["state"] for paper in told["papers"]] == ["finished", "finished"]
    assert told["verdicts"]["holds"] == 1
    assert json.loads(run("all", "--out", "o", "--quick", "--json").stdout)["papers"][0]["claims"][0]["ours"] == "2"


def test_what_is_saved_is_told_without_computing(here, monkeypatch):
    assert run("miml", "--out", "o").exit_code == 0
    monkeypatch.setattr("labelwise.studies.jobs._finish", lambda *a: pytest.fail("computed"))
    done = run("all", "--out", "o", "--saved")
    assert done.exit_code == 0, done.stderr
    assert "The paper bomc (not run yet)" in done.stdout and "Not whole: bomc (not run yet)." in done.stdout
    assert "Nothing to show: not run yet." in (here / "o" / "report.html").read_text()


def test_a_stopped_run_leaves_the_report_of_what_is_done(here, monkeypatch):
    monkeypatch.setitem(papers.PAPERS, "bomc", make_paper("bomc", "holds", work=interrupt))
    done = run("all")
    assert done.exit_code == 130
    assert "stopped; finished pieces are in runs/reproduce: give the same command again to continue" in done.stderr
    text = (here / "runs/reproduce/report.html").read_text()
    assert "it doubles" in text and "Nothing to show: not run yet." in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["mimll"], "there is no paper 'mimll'; did you mean 'miml'?; there are"),
        (["alexnet"], "there is no paper 'alexnet'; there are miml, bomc and all"),
        (["all", "--data", "none"], "there is no folder none; --data names the folder that holds yeast/"),
    ],
)
def test_wrong_input_is_one_line_and_exit_code_2(here, arguments, words):
    done = run(*arguments)
    assert done.exit_code == 2
    assert done.stderr.startswith("error: ") and words in done.stderr
